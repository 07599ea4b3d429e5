"""Which words of a page somebody will ask for: what is asserted, of the speaker's own life, with a time beside it.

`rarity` takes the words that tell a page from the others; a question does not ask for those, but for what happened. So
each word gets the odds that a question about its page says it, from how it was said: how often, in a question, in the
first person, after a form of *be*. The weights are a logistic regression on LoCoMo's labelled questions (sessions/
askable_bench.py fits them and tests each conversation with the weights of the other nine); they hold no words, and no
model is asked. What is likely *and* rare, for its price in tokens, is packed into three runs of words: a word after a
blank is one token where one after a comma is two.

Measured as the others in bookmarks.py, each conversation with weights of the other nine: .51 name the right page first
where all pages are known, .48 where only those before it are (`rarity` .35 and .33). n = 1,982.

It is no phrase finder: the words of a keyword stand in the order in which the page says them, and may be turns apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from math import exp, fsum, log
from typing import NamedTuple

from memory.language import clauses, sentences
from memory.tokens import count

KEYWORDS = 3  # runs of words; with two one word more fits, with five two fewer
TRIED = 60  # words, the best first
MISSES = 6  # words that do not fit, before the stub is taken to be full
RARE, CHEAP = 0.75, 0.75  # powers of the idf and of the price; between .5 and 1 the figures differ by .01

SIGNS = ("often", "rare", "often and rare", "asked", "own", "timed", "opens", "of be", "fixed", "name", "figures",
         "pictured")  # fmt: skip
_NAME = SIGNS.index("name") - SIGNS.index("asked")
# In front the constant, then as in SIGNS. Fitted on all ten conversations (31,355 words, 2,968 of them asked for).
WEIGHTS = (-3.02, 1.05, -0.09, 0.22, 1.08, 0.72, 1.12, -0.51, -0.69, 0.25, 1.27, 0.91, -0.77)

_OWN = re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur)\b|我|咱")
_TIMED = re.compile(
    r"\b(?:yesterday|last|ago|weeks?|months?|years?|weekend|next|recently|since)\b|[昨今明前去]天|[去今明]年|上[周个]|下[周个]|最近"
)
_FIGURES = re.compile(r"\d")
_ASKS = re.compile(r"[?？][\s\"'”’)]*$")
_BRACKETS = re.compile(r"\[[^\[\]]*\]")  # a picture's description, as importers write it
_BEING = "is are was were am i'm i’m be been so very really super such"
_FIXING = "a an the my your our their his her this that some of in on at for with"
_BE, _FIXES = frozenset(_BEING.split()), frozenset(_FIXING.split())

Word = Callable[[str], str | None]  # a surface word as pages are compared by it; None: no keyword
Write = Callable[[Sequence[str]], str]  # keywords as a stub


@dataclass
class Told:
    """How a page says a word."""

    key: str
    first: tuple[int, int] = (0, 0)  # turn and place in it
    surfaces: dict[str, None] = field(default_factory=dict)
    said: list[tuple[bool, ...]] = field(default_factory=list)  # each time: SIGNS from `asked` on


class Candidate(NamedTuple):
    told: Told
    rarity: float  # ln(pages / those that hold it), smoothed

    @property
    def signs(self) -> tuple[float, ...]:
        """In the order of SIGNS; from `asked` on shares of the times it was said, but of `name`: whether ever."""
        times = len(self.told.said)
        shares = [sum(column) / times for column in zip(*self.told.said, strict=True)]
        shares[_NAME] = float(shares[_NAME] > 0)
        return (log(times), self.rarity, log(times) * self.rarity, *shares)


def told(texts: Sequence[str], word: Word) -> list[Told]:
    """The words of a page, one text a turn, in order.

    >>> [each.key for each in told(["I like tea.", "Green tea?"], str.lower)]
    ['i', 'like', 'tea', 'green']
    """
    found: dict[str, Told] = {}
    for turn, text in enumerate(texts):
        for place, (surface, signs) in enumerate(_said(text)):
            if key := word(surface):
                each = found.setdefault(key, Told(key, (turn, place)))
                each.surfaces.setdefault(surface)
                each.said.append(signs)
    return list(found.values())


@lru_cache(maxsize=4_096)
def _said(text: str) -> tuple[tuple[str, tuple[bool, ...]], ...]:
    """Every word of a turn, and how it is said."""
    pictures = [(found.start(), found.end()) for found in _BRACKETS.finditer(text)]
    words = []
    for start, end in sentences(text):
        line = text[start:end]
        pictured = any(a <= start < b or a < end <= b for a, b in pictures)
        asked, timed, figures = (bool(mark.search(line)) for mark in (_ASKS, _TIMED, _FIGURES))
        own = bool(_OWN.search(line)) and not pictured
        for nth, clause in enumerate(clauses(line)):
            for at, word in enumerate(clause):
                before = clause[at - 1].lower() if at else ""
                name = word[0].isupper() and bool(nth or at)
                words.append((word, (asked, own, timed, not before, before in _BE, before in _FIXES, name, figures,
                                     pictured)))  # fmt: skip
    return tuple(words)


def odds(signs: Sequence[float], weights: Sequence[float] = WEIGHTS) -> float:
    """0..1: how likely a question about the page says the word."""
    return 1 / (1 + exp(-weights[0] - fsum(w * sign for w, sign in zip(weights[1:], signs, strict=True))))


def keywords(
    candidates: Iterable[Candidate], write: Write, longest: int, weights: Sequence[float] = WEIGHTS
) -> tuple[str, ...]:
    """Up to three runs of words whose stub takes at most `longest` tokens, the best run first."""
    priced = [_priced(odds(each.signs, weights) * each.rarity**RARE, each.told) for each in candidates]
    chosen: list[_Priced] = []
    misses = 0
    for each in sorted(priced, key=lambda found: -found[0])[:TRIED]:  # stable: the first said wins a tie
        if count(write(_runs([*chosen, each]))) <= longest:
            chosen.append(each)
        elif (misses := misses + 1) == MISSES:
            break
    return _runs(chosen)


_Priced = tuple[float, str, tuple[int, int]]  # worth for its price, spelling, place


def _priced(value: float, each: Told) -> _Priced:
    spelling = min(each.surfaces, key=_price)  # the first said of equal ones
    return value / _price(spelling) ** CHEAP, spelling, each.first


def _price(word: str) -> int:
    return count(f" {word}")


def _runs(chosen: Sequence[_Priced]) -> tuple[str, ...]:
    """Three runs in the order of the page, the best first: what does not fit a shorter stub is the last one."""
    ordered = sorted(chosen, key=lambda each: each[2])
    size = min(KEYWORDS, len(ordered))
    cuts = [round(n * len(ordered) / size) for n in range(size + 1)] if size else []
    runs = [ordered[a:b] for a, b in pairwise(cuts)]
    runs.sort(key=lambda run: -fsum(each[0] for each in run) / len(run))
    return tuple(" ".join(_cheap_first([each[1] for each in run])) for run in runs)


def _cheap_first(words: list[str]) -> list[str]:
    """In front the word that costs least more without a blank before it, the others in order."""
    head = min(words, key=lambda word: count(f",{word}") - _price(word))
    words.remove(head)
    return [head, *words]
