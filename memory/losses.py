"""What a shorter text leaves out: names, numbers, dates, denials, and whatever else nobody says any more.

Whoever retires remembered entries shows this first (consolidation.py). It reads words, not meaning: it would rather
name a detail too many than one too few, so `8,000` and `8000` are the same, but `3 March` and `2026-03-03` are not.
Whether a text turns its source round is polarity.py's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from memory.language import CHINESE_STOP, ENGLISH_STOP, is_cjk, surface_words, terms, zipf
from memory.polarity import polarity

KINDS = ("name", "number", "date", "denial", "words")
RARE = 3.0  # zipf: a Chinese word that is rarer is taken for a name, for nothing in its writing says so
COMMON = 4.0  # zipf: an English word that begins a sentence is no name if it is as common
SUPPORTED = 0.5  # of a text's words its sources must hold

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}:\d{2}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}\b(?:,? \d{{4}})?"
    rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?"
    rf"|\b{_MONTH} \d{{4}}\b|\b(?:Jan|Febr)uary\b|\b(?:April|June|July|August|September|October|November|December)\b"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b"
    r"|(?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号])?|\d{4}年|(?:周|星期|礼拜)[一二三四五六日天]|\d{1,2}点(?:半|\d{1,2}分)?"
)
_NUMBER = re.compile(
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|[零一二两三四五六七八九十百千万亿]{2,}"
    r"|[零一二两三四五六七八九十](?=[元块岁次天年本位名口只条间])"
)
_QUOTED = re.compile(r"《([^《》]{1,30})》|「([^「」]{1,30})」|“([^“”]{2,30})”|\"([^\"\n]{2,30})\"")
_CAPITAL = re.compile(r"(?<![\w'’])[A-Z\u00c0-\u00de][\w'’&.-]*")
_POSSESSIVE = re.compile(r"['’]s?$|\.$")
_NO_NAME = frozenset(["i", "user", "the", "ok", "yes", "no", "用户"])
_START = re.compile(r"(?:^|[.!?。！？:：;；\n]\s*[\"'“(]?)$")


_SAID = re.compile(r"[（(][^（()）]{0,40}\d{4}-\d\d-\d\d[^（()）]{0,10}[)）]")  # (said 2026-03-02): no part of an entry


class Detail(NamedTuple):
    kind: str  # one of KINDS
    what: str  # as it is compared


@dataclass(frozen=True, slots=True)
class Loss:
    """A detail of `fact` that no remaining text carries."""

    fact: int
    kind: str
    what: str
    where: str = "text"  # or source: the entry did not say it, the turn that it came from does

    def __str__(self) -> str:
        return f"{self.kind} {self.what!r} of f{self.fact}" + (" (in its source)" if self.where == "source" else "")


class Leaving(NamedTuple):
    """An entry that is to go, in words."""

    fact: int
    text: str
    quotes: tuple[str, ...] = ()  # the spans of the turns that it came from


def losses(leaving: Iterable[Leaving], remaining: Sequence[str]) -> tuple[Loss, ...]:
    """What the `remaining` texts do not carry of those that leave; checked against the sources as well.

    >>> [str(loss) for loss in losses([Leaving(3, "No peanuts for Mia", ())], ["Mia likes hiking"])]
    ["denial 'no mia peanut' of f3"]
    """
    kept = frozenset(detail for text in remaining for detail in details(text))
    words = frozenset(term for text in remaining for term in content(text))
    found: list[Loss] = []
    for fact, text, quotes in leaving:
        said = details(text)
        gone = [d for d in said if not _kept(d, kept)]
        found += [Loss(fact, d.kind, d.what) for d in gone]
        quoted = dict.fromkeys(d for quote in quotes for d in details(quote) if d not in said)
        found += [Loss(fact, d.kind, d.what, "source") for d in quoted if not _kept(d, kept)]
        named = {term for d in gone for term in terms(d.what)}
        if rest := [t for t in dict.fromkeys(content(text)) if t not in words and t not in named]:
            found.append(Loss(fact, "words", " ".join(rest)))
    return tuple(found)


def _kept(detail: Detail, kept: frozenset[Detail]) -> bool:
    """A denial is kept where another one denies as much; the rest must be the same."""
    if detail.kind != "denial":
        return detail in kept
    mine = set(detail.what.split())
    return any(mine <= set(other.what.split()) for other in kept if other.kind == "denial")


@lru_cache(maxsize=4_096)
def content(text: str) -> tuple[str, ...]:
    """Words that say something of the entry, stemmed; whom it is about ("the user") is the same in all of them."""
    text = _SAID.sub(" ", text)
    if not is_cjk(text):
        return tuple(term for term in terms(text) if term not in _NO_NAME)
    words = (word for word in surface_words(text) if word not in CHINESE_STOP and word not in _NO_NAME)
    return tuple(term for word in words for term in ((word,) if is_cjk(word) else terms(word)))


@lru_cache(maxsize=4_096)
def details(text: str) -> tuple[Detail, ...]:
    """Its names, numbers, dates and denials, each once, in order of kind.

    >>> details("Ana's budget is 8,000 euros, not 5000, due on 3 March")[1:4]
    (Detail(kind='number', what='8000'), Detail(kind='number', what='5000'), Detail(kind='date', what='3 march'))
    """
    text = unicodedata.normalize("NFKC", _SAID.sub(" ", text))
    dates = [m[0] for m in _DATE.finditer(text)]
    undated = _DATE.sub(lambda m: " " * len(m[0]), text)
    numbers = [m[0].replace(",", "") for m in _NUMBER.finditer(undated)]
    return tuple(
        dict.fromkeys(
            [
                *(Detail("name", name) for name in _names(undated)),
                *(Detail("number", number) for number in numbers),
                *(Detail("date", date.casefold()) for date in dates),
                *(Detail("denial", denial) for denial in _denials(text)),
            ]
        )
    )


def _names(text: str) -> list[str]:
    found = [next(filter(None, m.groups())) for m in _QUOTED.finditer(text)]
    for m in _CAPITAL.finditer(text):
        word = _POSSESSIVE.sub("", m[0])
        first = _START.search(text[: m.start()]) is not None
        if not (first and word[1:].islower() and (zipf(word.lower()) >= COMMON or word.lower() in ENGLISH_STOP)):
            found.append(word)
    if is_cjk(text):
        found += [word for word in surface_words(text) if _is_rare(word)]
    return [name.casefold() for name in found if name.casefold() not in _NO_NAME]


def _is_rare(word: str) -> bool:
    if is_cjk(word):
        return len(word) > 1 and word not in CHINESE_STOP and zipf(word) < RARE and not _NUMBER.search(word)
    return word[0].isalpha() and zipf(word.lower()) < COMMON


def _denials(text: str) -> list[str]:
    """What is denied, by clause."""
    return [" ".join(["no", *sorted(clause.terms)]) for clause in polarity(text) if clause.negated]


# ── support ───────────────────────────────────────────────────────────────────────────────────────────


def unsupported(claim: str, sources: Sequence[str]) -> str:
    """Why no source says so: a name, a number or most words of the claim stand in none; "" if they do.

    >>> unsupported("The user wants to be called Nono", ["I moved to Porto"])
    "no source says 'nono'"
    """
    said = "\n".join(sources)
    if not said.strip():
        return "it has no source"
    told = set(details(said))
    plain = unicodedata.normalize("NFKC", said).casefold().replace(",", "")
    for kind, what in details(claim):
        if kind in ("name", "number") and (kind, what) not in told and what not in plain:
            return f"no source says {what!r}"
    mine = set(content(claim))
    shared = mine & set(content(said))
    if len(shared) < SUPPORTED * len(mine):
        return f"its sources hold {len(shared)} of its {len(mine)} words"
    return ""


def by_kind(found: Iterable[Loss]) -> Mapping[str, int]:
    """How many of each kind."""
    counts = dict.fromkeys(KINDS, 0)
    for loss in found:
        counts[loss.kind] += 1
    return {kind: n for kind, n in counts.items() if n}
