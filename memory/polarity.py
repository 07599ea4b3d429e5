"""Whether a claim turns its source around: "not spicy" must not become "likes spicy".

Per clause: is it negated, and about which terms. A claim flips where clauses of the source about the same terms all say
the opposite. Rules over words, no understanding: it catches a lost or an added "not", 不, "no longer", hate for love;
it knows no irony and no opposites such as "mild" and "hot". An empty answer is no proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory.language import terms

ALIKE = 0.5  # of the shorter clause's terms that both hold: below that they speak of different things


class Clause(NamedTuple):
    negated: bool
    terms: frozenset[str]  # what it is about, as search terms, verbs of liking and negations aside


_NO_NEGATION = re.compile(
    r"\bnot (?:only|just|merely)\b|\bno (?:doubt|problem|wonder|worries)\b|\bwhy not\b|\bnot bad\b|\bcan['’]?t wait\b"
    r"|不仅|不但|不只|不光|不错|不得不|没问题|不好意思|不客气|不过(?!敏)|差不多|不管|不论|无论|特别|别的|分别|区别|个别"
    r"|别人|不同|不久|不少",
    re.IGNORECASE,
)
_NEGATIONS = re.compile(
    r"\b(?:can(?:not|['’]t| not) (?:stand|bear)|no longer|not any ?more|not|never|no|none|neither|nor|without|hardly"
    r"|cannot|hates?|hated|dislikes?|disliked|detests?|despises?|loathes?|avoids?|refuses?|refused|stopped|quit|gave up"
    r"|given up|cancel(?:s|led|ed)?|rejects?|rejected|declined?|denies|denied)\b|\w*n['’]t\b"
    r"|不再|再也不|从不|从来不|受不了|讨厌|厌恶|反感|拒绝|取消|戒掉?|不要|不能|不会|不是|没有|不|没|无|别|非(?!常)",
    re.IGNORECASE,
)
_LIGHT = re.compile(  # who, and verbs that many things share: "eats fish" is no answer to "eats no meat"
    r"\b(?:likes?|loves?|enjoys?|adores?|prefers?|wants?|needs?|fan of|fond of|eats?|eating|drinks?|drinking|the user"
    r"|user['’]?s?|said|says|does|do|really|very)\b"
    r"|喜欢|喜爱|热爱|爱|吃|喝|用户的?|想要|需要|我的?|他的?|她的?|很|非常|特别|了|的|说|对",
    re.IGNORECASE,
)
_BREAKS = re.compile(
    r"[;.!?\n。！？；，：]+|,|\b(?:but|however|although|though|while|whereas|instead|because)\b"
    r"|\band (?=(?:I|he|she|they|we|you|now|also|likes?|loves?|hates?|prefers?|does|is|has|not|never|wants?)\b)"
    r"|但是?|可是|不过(?!敏)|然而|而是|而(?=[不喜讨爱])|却|因为|所以",
    re.IGNORECASE,
)
_MORE = r"(?:more than|over|above|beyond|past|exceed\w*)"
# "not more than 250" bounds what it speaks of, and denies only that it is more
_LIMIT = re.compile(
    rf"\b(?:not|no|never|cannot|\w*n['’]?t)\b(?: \w+){{0,5}}? {_MORE}(?=[^\w,.;]*\d)"
    r"|[不别](?:能|要|想|得|会|可以?|应该?)?(?:再|花|用)*(?:超过|超出|多于|高于)",
    re.IGNORECASE,
)
_BEYOND = re.compile(rf"\b{_MORE}\b|超过|超出|多于|高于", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z]+|[\u4e00-\u9fff]")
_NUMBERED = re.compile(r"(?<=\d),(?=\d{3})|(?<=\d)\.(?=\d)")
_DATED = re.compile(r"[（(][^（()）]{0,40}\d{4}-\d\d-\d\d[^（()）]{0,10}[)）]")


def polarity(text: str) -> tuple[Clause, ...]:
    """Each clause of `text` that is about something.

    >>> [(c.negated, sorted(c.terms)) for c in polarity("I don't like coffee, but I love tea")]
    [(True, ['coffe']), (False, ['tea'])]
    """
    return tuple(_clauses(_DATED.sub(" ", text)))


def _clauses(text: str) -> Iterator[Clause]:
    """A few words without a verb of their own go on with what was said: "no meat, fish or eggs"."""
    before = False
    at = 0
    plain = _NUMBERED.sub("", text)
    for m in (*_BREAKS.finditer(plain), None):
        words, turns = plain[at : m.start()] if m else plain[at:], at and plain[:at].rstrip()[-1:] not in ",，、"
        at = m.end() if m else at
        bare = _NO_NEGATION.sub(" ", words)
        count = len(_NEGATIONS.findall(bare))
        about = frozenset(terms(_LIGHT.sub(" ", _NEGATIONS.sub(_gap, bare)))) - {"not"}
        if not about:
            before = bool(count % 2) if count else before
            continue
        goes_on = not count and not turns and len(_WORDS.findall(words)) <= 4 and not _LIGHT.search(words)
        before = before if goes_on else bool(count % 2)
        yield Clause(before, about)


def _gap(m: re.Match[str]) -> str:
    """Chinese closes up, for its terms are pairs: 花生不过敏 and 花生过敏 share theirs."""
    return " " if m[0].isascii() else ""


def flips(claim: str, source: str) -> str:
    """Why `claim` says the opposite of `source`; "" where no rule sees it, or they speak of different things.

    >>> flips("The user likes spicy food", "Please, not spicy food!")
    "the claim affirms what the source negates: 'food', 'spici'"
    >>> flips("The user does not like coffee.", "I don't like coffee, but I love tea.")
    ''
    >>> flips("budget: 250 euros", "I don't want to spend more than 250 euros.")
    ''
    """
    said = polarity(source if _BEYOND.search(claim) else _LIMIT.sub(" ", source))
    for clause in polarity(claim if _BEYOND.search(source) else _LIMIT.sub(" ", claim)):
        near = [(each, shared) for each in said if (shared := _shared(clause, each))]
        if not near or any(each.negated == clause.negated for each, _ in near):
            continue
        about = ", ".join(repr(term) for term in sorted(near[0][1]))
        way = "negates what the source affirms" if clause.negated else "affirms what the source negates"
        return f"the claim {way}: {about}"
    return ""


def _shared(one: Clause, other: Clause) -> frozenset[str]:
    shared = one.terms & other.terms
    return shared if len(shared) >= ALIKE * min(len(one.terms), len(other.terms)) else frozenset()
