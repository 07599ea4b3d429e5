"""Secrets leave a text before any sink sees it: keys, tokens, passwords, PINs, the numbers of cards and of identity
papers; counted, never kept.

Applied once, where words enter the engine; a store may add patterns of its own. E-mail addresses and phone numbers
stay, for they are what a memory is made of: they leave where words go to somebody else (`SHARED`). It is no
anonymiser: names and addresses stay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from memory.errors import BadSetting
from memory.show import small

Redact = Callable[[str], tuple[str, dict[str, int]]]
Span = tuple[int, int]  # of characters, half-open
Find = Callable[[str], Iterable[Span]]  # what has to go of a text: spans in order, none overlapping
Sorts = Mapping[str, Find]  # by the name that stands in its place

# A group is the secret, where what stands around it tells what it is. Each begins with few characters, and looks back
# only from those: every word that comes in passes here.
PATTERNS: dict[str, re.Pattern[str]] = {
    "private key": re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
        r"|AGE-SECRET-KEY-1[0-9A-Z]{50,}",
        re.S,
    ),
    # Of models; clouds; code; chat and mail; payment; told by how they begin.
    "api key": re.compile(
        r"(?<![A-Za-z0-9])(?=[1-9AGMNOSdghklnprswxy])(?:sk-[A-Za-z0-9_-]{20,}|(?:gsk|hf|r8|npm)_[A-Za-z0-9]{30,}"
        r"|(?:pplx|xai)-[A-Za-z0-9]{30,}|lsv2_[ps][kt]_[A-Za-z0-9_]{20,}|AIza[0-9A-Za-z_-]{35}|A[KS]IA[0-9A-Z]{16}"
        r"|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}|do[opr]_v1_[a-f0-9]{40,}|dckr_pat_[A-Za-z0-9_-]{20,}"
        r"|gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}|glpat-[A-Za-z0-9_-]{20,}|pypi-[A-Za-z0-9_-]{40,}"
        r"|xox[abeprs][.-][A-Za-z0-9.-]{10,}|xapp-[A-Za-z0-9-]{20,}|hooks\.slack\.com/services/[A-Za-z0-9/]{20,}"
        r"|[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}|[1-9]\d{7,9}:AA[A-Za-z0-9_-]{33}"
        r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|(?:SK|key-)[0-9a-f]{32}(?![0-9a-f])"
        r"|[prs]k_(?:live|test)_[A-Za-z0-9]{20,}|whsec_[A-Za-z0-9+/]{20,}=*|shp(?:at|ca|pa|ss)_[a-f0-9]{32,})"
    ),
    "token": re.compile(
        r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
        r"|[Bb]earer ([A-Za-z0-9._~+/-]{20,}=*)|[Aa]uthorization\W{1,6}Basic ([A-Za-z0-9+/]{8,}={0,2})"
    ),
    "password": re.compile(r"://[^\s/:@?#\[\]]{0,100}:([^\s/@\[\]]{1,200})@"),
}  # fmt: skip
# `DB_PASSWORD=…`, `"api_key": "…"`, `?token=…`: letters and digits together, for code says `token=settings.token`.
GIVES = re.compile(r"[=:](?<=[dDeEtTnNyY\"' ].)\s{0,3}\\?[\"']?")
SECRET_NAME = re.compile(
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|(?:api|access|account|private|secret)[ _-]?key)\\?[\"']?\s{0,2}\Z",
    re.I,
)
GIVEN = re.compile(
    r"(?=[^\s\d\"'&;,<>(){}\[\]$\\]{0,60}\d)(?=[^\sA-Za-z]{0,60}[A-Za-z])[^\s\"'&;,<>(){}\[\]$\\]{8,}"
)
# "my password is hunter2", 密码是…: said in a sentence. Letters alone are told only by quotation marks, for a password
# may also be "wrong" or "expired"; in Chinese those are no Latin letters.
_PASSWORD = ("ssw", "SSW", "scode", "SCODE", "sphrase", "SPHRASE", "PIN", "密码", "口令")
_OF_WHAT = r"(?:[^\S\n]{1,2}(?:for|of|to|on|in|at)[^\S\n][\w'’ -]{1,40}?)?"
_BEING = (
    r"[^\S\n]{0,2}(?:[:：]|\bis\b|\bwas\b|就?是|为|叫|(?:改|换|设)(?:成|为))"
    r"(?:[^\S\n](?:now|still|just|set to|:))?[^\S\n]{0,3}"
)
_OF_IT = r"[A-Za-z0-9!#%&*+./:?@^_~-]"
SPOKEN = re.compile(
    rf"(?:pass(?:word|code|phrase|wort)|密码|口令){_OF_WHAT}{_BEING}"
    r"(?:[\"'“‘「]([^\s\"'”’」]{4,64})[\"'”’」]"
    rf"|(?={_OF_IT}{{0,60}}\d)({_OF_IT}{{3,63}}[A-Za-z0-9#%&*+@^_~/-])(?!{_OF_IT}{{0,60}}[A-Za-z0-9]|\()"
    r"(?!\S{0,3}[^\S\n](?:characters|chars|letters|digits|symbols|words|minutes|hours|days|weeks|months|years)\b))"
    rf"|(?:密码|口令){_BEING}([A-Za-z][\w!@#%^&*.-]{{3,63}})"
    rf"|(?-i:\bPIN\b)(?:[^\S\n]number|(?P<code>[^\S\n]code))?码?{_OF_WHAT}{_BEING}[\"'“]?"
    r"(\d{4}(?(code)|(?:\d{2})?))(?![\d.,:/-]?\d)",  # six digits are the PIN code of a place in India
    re.I,
)
# American, after its name; Chinese, by its day and its check digit.
IDENTITY = re.compile(
    r"(?:SSN(?<!\wSSN)\b|[Ss]ocial [Ss]ecurity(?: [Nn]umber| [Nn]o\.?)?)\W{0,3}(?:is|was)?\W{0,3}"
    r"(\d{3}[- ]?\d{2}[- ]?\d{4})(?!\d)"
    r"|[1-9](?<![\dA-Za-z][1-9])\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![\dA-Za-z])"
)
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)  # GB 11643
# In groups as on the card, also where JSON spells out the space between them, or in one; what follows may be its date
# or its code, and is no part of it.
CARD = re.compile(
    r"[2-6](?<!\d[2-6])(?<!\d\.[2-6])"
    r"\d{3}(?:([ .\u00a0-]|\\{1,8}u00a0)(?:\d{4}\1\d{4}\1\d{4}|\d{6}\1\d{4,5})|\d{9,15})([ -]\d{3})?(?!\d|\.\d)"
)
MAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}"
    r"(?![A-Za-z0-9])"
)
# With the country before it; as dialled within a country that begins with 0; North American; Chinese mobile.
PHONE = re.compile(
    r"(?<![A-Za-z0-9_.,:/+-])(?:"
    r"(?:\+|00)[1-9]\d{0,2}(?:[ ./-]?\(?\d{1,5}\)?){2,6}"
    r"|\(?0\d{1,4}\)?(?:[ ./-]{0,2}\d{2,8}){1,4}"
    r"|(?:1[ .-])?\(?[2-9]\d{2}\)?[ .-]\d{3}[ .-]\d{4}"
    r"|1[3-9]\d[ -]?\d{4}[ -]?\d{4}"
    r")(?![A-Za-z0-9_]|[.,:/-]\d)"
)
DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}")


def redact(text: str) -> tuple[str, dict[str, int]]:
    """The text without its secrets, and how many of which sort were taken out.

    >>> redact("card 4111 1111 1111 1111, thanks")
    ('card [card number removed], thanks', {'card number': 1})
    """
    return _taken_out(text, SECRETS)


def redactor(*groups: Sorts) -> Redact:
    """What takes these sorts out of a text, in their order.

    >>> redactor(SECRETS, SHARED)("ana@example.org or +49 30 1234567")
    ('[e-mail address removed] or [phone number removed]', {'e-mail address': 1, 'phone number': 1})
    """
    sorts = {name: find for group in groups for name, find in group.items()}
    return lambda text: _taken_out(text, sorts)


def clean(text: str) -> str:
    """Halves of a surrogate pair joined, or replaced where the other half is missing: no sink takes them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _taken_out(text: str, sorts: Sorts) -> tuple[str, dict[str, int]]:
    counts: dict[str, int] = {}
    for sort, find in sorts.items():
        if spans := list(find(text)):
            text, counts[sort] = _replaced(text, spans, sort), len(spans)
    return text, counts


def _replaced(text: str, spans: Iterable[Span], sort: str) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], f"[{sort} removed]"]
        at = end
    return "".join([*parts, text[at:]])


def gives_secret(words: str, attribute: str = "") -> bool:
    """Whether it says what a password, a PIN or an identity number is, be it left in the text or taken out of it.

    >>> gives_secret("The user's password is swordfish."), gives_secret("The user wants to change the password.")
    (True, False)
    """
    return bool(" removed]" in words or _SECRET_NOUN.search(attribute) or _TELLS.search(words))


_SECRET_NOUN = re.compile(
    r"pass(?:word|code|phrase)|\bpin\b|\bcvv\b|\bcvc\b|\bssn\b|social security|密码|口令|身份证", re.I
)
_TELLS = re.compile(rf"(?:pass(?:word|code|phrase)|密码|口令|(?-i:\bPIN\b)){_OF_WHAT}{_BEING}\S", re.I)


# ── the sorts ─────────────────────────────────────────────────────────────────────────────────────────


def _by(pattern: re.Pattern[str]) -> Find:
    return lambda text: (found.span(found.lastindex or 0) for found in pattern.finditer(text))


def _passwords(text: str) -> Iterator[Span]:
    """In an address, in a sentence, and given by name."""
    spans = [found.span(1) for found in PATTERNS["password"].finditer(text)]
    if any(map(text.__contains__, _PASSWORD)):  # a look for letters costs a tenth of a search
        spans += [found.span(found.lastindex or 0) for found in SPOKEN.finditer(text)]
    at = 0
    for gives in GIVES.finditer(text):
        if gives.end() < at or not SECRET_NAME.search(text, max(0, gives.start() - 30), gives.start()):
            continue
        if found := GIVEN.match(text, gives.end()):
            at = found.end()
            spans.append(found.span())
    yield from _joined(sorted(spans))


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Those that meet as one."""
    begin = end = -1
    for start, stop in spans:
        if start > end:
            if end > begin:
                yield begin, end
            begin = start
        end = max(end, stop)
    if end > begin:
        yield begin, end


def _identities(text: str) -> Iterator[Span]:
    for found in IDENTITY.finditer(text):
        if found[1] or _checked(found[0]) == found[0][-1].upper():
            yield found.span(found.lastindex or 0)


def _checked(number: str) -> str:
    """The check digit that a Chinese identity number should end with (GB 11643)."""
    return "10X98765432"[sum(weight * int(digit) for weight, digit in zip(_WEIGHTS, number, strict=False)) % 11]


def _cards(text: str) -> Iterator[Span]:
    for found in CARD.finditer(text):
        whole, tail = found[0], found[2] or ""
        for number in (whole, whole.removesuffix(tail)):
            if _luhn([int(c) for c in number.replace("u00a0", "") if c.isdigit()]):
                yield found.start(), found.start() + len(number)
                break


def _phones(text: str) -> Iterator[Span]:
    for found in PHONE.finditer(text):
        if 7 <= sum(c.isdigit() for c in found[0]) <= 15 and not DATE.fullmatch(found[0].strip("()")):
            yield found.span()


def phones_of(texts: Iterable[str]) -> Find:
    """Phone numbers, and the digits of those in these texts, as keywords have them without their signs.

    >>> redactor({"phone number": phones_of(["call +49 30 1234567"])})("49 30 1234567 or 1234567")[0]
    '[phone number removed] or [phone number removed]'
    """
    said = {tuple(re.findall(r"\d+", text[start:end])) for text in texts for start, end in _phones(text)}
    if not said:
        return _phones
    bare = re.compile(rf"(?<!\d)\+?(?:{'|'.join(map(_bare, sorted(said)))})(?!\d)")
    return lambda text: _joined(sorted([*_phones(text), *(found.span() for found in bare.finditer(text))]))


def _bare(groups: tuple[str, ...]) -> str:
    """The number as a pattern; its beginning may be missing as long as six digits are left."""
    pattern = ""
    for i, group in enumerate(groups, 1):
        piece = group + r"\D{0,3}" * (i < len(groups))
        pattern += f"(?:{piece})?" if sum(map(len, groups[i:])) >= 6 else piece
    return pattern


def _luhn(digits: list[int]) -> bool:
    doubled = [d if i % 2 == 0 else (d * 2 - 9 if d > 4 else d * 2) for i, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0 and len(set(digits)) > 1


SECRETS: Sorts = MappingProxyType(
    {
        **{sort: _by(p) for sort, p in PATTERNS.items()},
        "password": _passwords,
        "identity number": _identities,
        "card number": _cards,
    }
)
SHARED: Sorts = MappingProxyType({"e-mail address": _by(MAIL), "phone number": _phones})


# ── patterns of one's own ─────────────────────────────────────────────────────────────────────────────

NAME = re.compile(r"[^\W_][\w -]{0,39}")
MOST = 100  # patterns
LONGEST = 1_000  # characters of one
TIME_S = 1.0  # of the processor, for one pattern on one text


def own_patterns(lines: str, where: str = "") -> Sorts:
    """The sorts that a text names, one a line: `customer number: KD-\\d{6}`. Lines that begin with `#` say nothing.

    Raises BadSetting, with the line, for what is no regular expression, and for one that would take out nothing or
    its own replacement. One that does not end within a second on a text raises BadSetting then, and the text goes
    nowhere.
    """
    sorts: dict[str, Find] = {}
    for number, line in enumerate(lines.removeprefix("\ufeff").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, pattern = (part.strip() for part in line.partition(":"))
        at = f"{where or 'patterns'}, line {number}"
        if not colon or not pattern or not NAME.fullmatch(name):
            raise BadSetting(
                f"{at}: a line is `name: regular expression`, as `order: KD-\\d{{6}}`, not {small(line, 60)!r}"
            )
        if name in sorts or name in SECRETS or name in SHARED:
            raise BadSetting(f"{at}: there is a pattern named {name!r} already; give this one another name")
        if len(sorts) == MOST:
            raise BadSetting(f"{at}: at most {MOST} patterns; join some with |")
        sorts[name] = _own(name, pattern, at)
    return MappingProxyType(sorts)


def _own(name: str, pattern: str, at: str) -> Find:
    import regex  # unlike re it can be told to stop

    if len(pattern) > LONGEST:
        raise BadSetting(f"{at}: the pattern {name!r} has {len(pattern):,} characters; at most {LONGEST:,}")
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise BadSetting(f"{at}: {pattern!r} is no regular expression: {error}") from error

    def find(text: str) -> list[Span]:
        try:
            return [found.span() for found in compiled.finditer(text, timeout=TIME_S) if found.end() > found.start()]
        except TimeoutError as error:
            raise BadSetting(
                f"{at}: the pattern {name!r} does not end within {TIME_S:g} s on a text of {len(text):,} characters; "
                "what repeats within what repeats takes so long: write it simpler"
            ) from error

    if compiled.match("", timeout=TIME_S):
        raise BadSetting(f"{at}: the pattern {name!r} also fits where nothing stands; say what must be there")
    if find(f"[{name} removed]"):
        raise BadSetting(f"{at}: the pattern {name!r} fits `[{name} removed]`, which stands in its place: rename it")
    return find


# ── what would go ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Going:
    """One place in a text that has to go."""

    sort: str
    line: int  # of the text, from 1
    shown: str  # its first characters, and how long it is: never the whole of it
    around: str  # the words around it, everything that has to go replaced

    def __str__(self) -> str:
        return f"line {self.line}: {self.sort}, {self.shown}"


def preview(text: str, sorts: Sorts, around: int = 30) -> list[Going]:
    """Every place that `redactor(sorts)` would take out of a text, in the order of the sorts.

    >>> print(*preview("write to ana@example.org", SHARED))
    line 1: e-mail address, ana… (15 characters)
    """
    going: list[Going] = []
    clear = redactor(sorts)
    for sort, find in sorts.items():
        spans = list(find(text))
        for start, end in spans:
            word = text[start:end]
            before, after = clear(text[max(0, start - 500) : start])[0], clear(text[end : end + 500])[0]
            near = f"{before[-around:]}[{sort} removed]{after[:around]}"
            start_of = f"{word[: min(3, len(word) // 4)]}… ({len(word)} characters)"
            going.append(Going(sort, text.count("\n", 0, start) + 1, start_of, " ".join(near.split())))
        text = _replaced(text, spans, sort)  # its line breaks are gone with a key, as they would be
    return going


def counted(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Several counts as one.

    >>> counted([{"api key": 1}, {"api key": 2, "token": 1}])
    {'api key': 3, 'token': 1}
    """
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)
