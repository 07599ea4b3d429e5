"""Which page answers a question, by its words.

BM25 (Robertson and Zaragoza 2009) over two-turn windows: a unit is a turn with the one before it on the same page,
and a page scores by its best unit. On LoCoMo, pages of ten turns, that names the right page first for .65 of 1,982
questions, and among three for .83. An index holds one conversation and grows turn by turn. It is a projection: to
take text out, build it anew.

It knows no vectors and fuses nothing. Every number that decides is in the `Ranking`: "why not this page?" has an
answer.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from memory.language import is_cjk, terms

K1 = 1.2  # how soon repeats of a term stop counting
B = 0.75  # how much a long unit is marked down
MISSES = 50

# Share of the question's idf mass. Measured on LoCoMo: 0.2 turns away 56 % of the questions that belong to another
# conversation and costs .016 of hit@3, 0.25 75 % and .039, 0.3 86 % and .068. Wording is what costs: a question in
# other words than the page's covers little.
MIN_COVERAGE = 0.2

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Hit:
    page: int
    turn: int  # of the page's best unit
    score: float  # BM25; comparable within one ranking only
    terms: tuple[tuple[str, float], ...]  # what each matched term adds to the score, biggest first
    dropped: str = ""  # why it is a miss


@dataclass(frozen=True, slots=True)
class Ranking:
    question_terms: tuple[str, ...]
    hits: tuple[Hit, ...] = ()  # best first, at most k
    misses: tuple[Hit, ...] = ()  # the next best, at most 50, each with its reason
    coverage: float = 0.0  # 0..1, share of the question's idf mass that the best page's best unit matches
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Match:
    """One term of the question: the units that hold it, ascending, and what it adds to each one's score."""

    term: str
    idf: float
    units: Ints
    shares: Floats

    def shares_of(self, units: Ints) -> Floats:
        if not len(self.units):
            return np.zeros(len(units))
        at = np.searchsorted(self.units, units).clip(max=len(self.units) - 1)
        return np.where(self.units[at] == units, self.shares[at], 0.0)


class TextIndex:
    """The words of one conversation.

    >>> index = TextIndex()
    >>> index.add(page=1, turn=1, text="今天玩成语接龙游戏")
    >>> index.search("成语接龙", k=3).hits[0].page
    1
    """

    def __init__(self) -> None:
        self._postings: dict[str, array[int]] = {}  # term -> units, one entry for each time it occurs
        self._pairs: dict[str, list[str]] = {}  # a CJK character -> the indexed bigrams that hold it
        self._pages: array[int] = array("q")  # by unit, and so the next three
        self._turns: array[int] = array("q")
        self._lengths: array[int] = array("q")  # in terms
        self._hashes: array[int] = array("q")  # of the text: tells a repeat from a change
        self._last: list[str] = []

    def __len__(self) -> int:
        """Turns indexed."""
        return len(self._turns)

    def __repr__(self) -> str:
        return f"<TextIndex of {len(self)} turns, {len(self._postings)} terms>"

    def add(self, page: int, turn: int, text: str) -> None:
        """Index a turn, or a piece of a long one, on its page. They come in order; the same again changes nothing.

        Raises ValueError for one out of order, or one that is known with another text or on another page.
        """
        if self._turns and (page, turn) <= (self._pages[-1], self._turns[-1]):
            self._check_repeat(page, turn, text)
            return
        own = terms(text)
        # The window stays on its page: what a hit matched is then always on the page that it brings.
        window = self._last + own if self._pages and self._pages[-1] == page else own
        unit = len(self._turns)
        for term in window:
            self._posted(term).append(unit)
        self._pages.append(page)
        self._turns.append(turn)
        self._lengths.append(len(window))
        self._hashes.append(hash(text))
        self._last = own

    def search(
        self, question: str, k: int, among: Collection[int] | None = None, min_coverage: float = MIN_COVERAGE
    ) -> Ranking:
        """The `k` best pages, out of `among` if given; none where the best one covers too little of the question."""
        asked = tuple(dict.fromkeys(terms(question)))
        if not asked:
            return Ranking((), note="the question has no searchable words")
        lengths = np.array(self._lengths, dtype=np.float64)
        norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1)) if len(lengths) else lengths
        matches = [self._match(term, norm) for term in asked]
        scores = np.zeros(len(self))
        for match in matches:
            scores[match.units] += match.shares
        best = self._best_units(scores, among)[: k + MISSES]
        if not len(best):
            return Ranking(asked, note="no candidate page holds a word of the question")
        return _cut(asked, self._hits(best, scores, matches), k, _coverage(matches, best[:1]), min_coverage)

    def _check_repeat(self, page: int, turn: int, text: str) -> None:
        unit = bisect_left(range(len(self)), (page, turn), key=lambda u: (self._pages[u], self._turns[u]))
        if self._turns[unit] != turn and turn not in self._turns:
            raise ValueError(f"turn {turn} comes after turn {self._turns[-1]}; add turns in order")
        if (self._pages[unit], self._turns[unit], self._hashes[unit]) != (page, turn, hash(text)):
            raise ValueError(
                f"turn {turn} is indexed on page {self._pages[unit]}, with another text or page than given now; "
                "build the index anew"
            )

    def _posted(self, term: str) -> array[int]:
        if (units := self._postings.get(term)) is None:
            units = self._postings[term] = array("q")
            if len(term) == 2 and is_cjk(term):
                for character in set(term):
                    self._pairs.setdefault(character, []).append(term)
        return units

    def _match(self, term: str, norm: Floats) -> _Match:
        # A single CJK character matches every bigram that holds it: within a run the index has only pairs.
        names = [term, *self._pairs.get(term, ())]
        held = np.concatenate([np.array(self._postings.get(name, array("q")), dtype=np.int64) for name in names])
        times = np.bincount(held, minlength=len(self))
        units = np.flatnonzero(times)
        idf = log(1 + (len(self) - len(units) + 0.5) / (len(units) + 0.5))
        shares = idf * (K1 + 1) * times[units] / (times[units] + norm[units])
        return _Match(term, idf, units, shares)

    def _best_units(self, scores: Floats, among: Collection[int] | None) -> Ints:
        """One unit a page, best first; of equal units the earlier, of equal pages the newer."""
        units = np.flatnonzero(scores)
        pages = np.array(self._pages, dtype=np.int64)
        if among is not None:
            units = units[np.isin(pages[units], list(among))]
        by_score = units[np.argsort(-scores[units], kind="stable")]
        _, firsts = np.unique(pages[by_score], return_index=True)
        best = by_score[firsts]
        return best[np.lexsort((-pages[best], -scores[best]))]

    def _hits(self, units: Ints, scores: Floats, matches: Sequence[_Match]) -> list[Hit]:
        names = [match.term for match in matches]
        columns = zip(*(match.shares_of(units).tolist() for match in matches), strict=True)
        return [
            Hit(self._pages[unit], self._turns[unit], score, _matched(names, shares))
            for unit, score, shares in zip(units.tolist(), scores[units].tolist(), columns, strict=True)
        ]


def _matched(names: Sequence[str], shares: Sequence[float]) -> tuple[tuple[str, float], ...]:
    matched = [(name, share) for name, share in zip(names, shares, strict=True) if share]
    return tuple(sorted(matched, key=lambda each: (-each[1], each[0])))


def _coverage(matches: Sequence[_Match], best: Ints) -> float:
    return sum(m.idf for m in matches if m.shares_of(best).any()) / sum(m.idf for m in matches)


def _cut(asked: tuple[str, ...], ranked: list[Hit], k: int, coverage: float, min_coverage: float) -> Ranking:
    if coverage < min_coverage:
        reason = f"coverage {coverage:.2f} < min_coverage {min_coverage:g}"
        misses = tuple(replace(hit, dropped=reason) for hit in ranked[:MISSES])
        return Ranking(asked, (), misses, coverage, f"no page covers enough of the question: {reason}")
    misses = tuple(replace(hit, dropped=f"rank {rank} > k={k}") for rank, hit in enumerate(ranked[k:], k + 1))
    return Ranking(asked, tuple(ranked[:k]), misses, coverage)
