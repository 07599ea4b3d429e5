"""Secrets leave a text before any sink sees it: keys, tokens, card numbers; counted, never kept.

Applied once, where words enter the engine. It is no anonymiser: names, addresses and mail stay, for they are
what a memory is made of.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

Redact = Callable[[str], tuple[str, dict[str, int]]]

PATTERNS: dict[str, re.Pattern[str]] = {
    "private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S),
    "api key": re.compile(
        r"(?<![A-Za-z0-9])(?:sk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}"
        r"|(?:ghp|gho|ghs|ghu)_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}|glpat-[A-Za-z0-9_-]{20,}"
        r"|xox[abprs]-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{30,}|[sr]k_live_[A-Za-z0-9]{20,})"
    ),
    "token": re.compile(
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
        r"|(?<=[Bb]earer )[A-Za-z0-9._~+/-]{20,}=*"
    ),
}  # fmt: skip
# In groups as on the card, or in one; what follows may be its date or its code, and is no part of it.
CARD = re.compile(
    r"(?<!\d)(?<!\d\.)(?:[2-6]\d{3}([ -])(?:\d{4}\1\d{4}\1\d{4}|\d{6}\1\d{4,5})|[2-6]\d{12,18})([ -]\d{3})?(?!\d|\.\d)"
)


def redact(text: str) -> tuple[str, dict[str, int]]:
    """The text without its secrets, and how many of which sort were taken out.

    >>> redact("card 4111 1111 1111 1111, thanks")
    ('card [card number removed], thanks', {'card number': 1})
    """
    counts: Counter[str] = Counter()
    for sort, pattern in PATTERNS.items():
        text, n = pattern.subn(f"[{sort} removed]", text)
        counts[sort] += n

    def card(found: re.Match[str]) -> str:
        whole, tail = found[0], found[2] or ""
        for number, rest in ((whole, ""), (whole.removesuffix(tail), tail)):
            if _luhn([int(c) for c in number if c.isdigit()]):
                counts["card number"] += 1
                return f"[card number removed]{rest}"
        return whole

    text = CARD.sub(card, text)
    return text, {sort: n for sort, n in counts.items() if n}


def clean(text: str) -> str:
    """Halves of a surrogate pair joined, or replaced where the other half is missing: no sink takes them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _luhn(digits: list[int]) -> bool:
    doubled = [d if i % 2 == 0 else (d * 2 - 9 if d > 4 else d * 2) for i, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0 and len(set(digits)) > 1
