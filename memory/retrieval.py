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
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import NamedTuple

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


class _Posting(NamedTuple):
    """The units that hold a term, ascending, and how many times each does."""

    units: array[int]
    times: array[int]


_NOWHERE = _Posting(array("q"), array("q"))


class TextIndex:
    """The words of one conversation.

    >>> index = TextIndex()
    >>> index.add(page=1, turn=1, text="今天玩成语接龙游戏")
    >>> index.search("成语接龙", k=3).hits[0].page
    1
    """

    def __init__(self) -> None:
        self._postings: dict[str, _Posting] = {}
        self._pairs: dict[str, list[str]] = {}  # a CJK character -> the indexed bigrams that hold it
        self._pages: array[int] = array("q")  # by unit, and so the next three
        self._turns: array[int] = array("q")
        self._lengths: array[int] = array("q")  # in terms
        self._hashes: array[int] = array("q")  # of the text: tells a repeat from a change
        self._last: list[str] = []
        self._on_page: dict[int, set[str]] = {}  # page -> the terms of its turns

    def __len__(self) -> int:
        """Turns indexed."""
        return len(self._turns)

    def __repr__(self) -> str:
        return f"<TextIndex of {len(self)} turns, {len(self._postings)} terms>"

    def add(self, page: int, turn: int, text: str) -> None:
        """Index a turn, or a piece of a long one, on its page. They come in order; the same again changes nothing.

        Raises ValueError for one out of order, or one that is known with another text.
        """
        if not self._follows(page, turn):
            self._check_repeat(page, turn, text)
            return
        own = terms(text)
        self._on_page.setdefault(page, set()).update(own)
        # The window stays on its page: what a hit matched is then always on the page that it brings.
        window = self._last + own if self._pages and self._pages[-1] == page else own
        unit = len(self._turns)
        for term, times in Counter(window).items():
            posting = self._postings.get(term) or self._posted(term)
            posting.units.append(unit)
            posting.times.append(times)
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
        shares, idf = self._shares(asked, norm)
        scores = shares.sum(axis=0)
        best = self._best_units(scores, among)[: k + MISSES]
        if not len(best):
            return Ranking(asked, note="no candidate page holds a word of the question")
        coverage = float(idf[shares[:, best[0]] > 0].sum() / idf.sum())
        return _cut(asked, self._hits(asked, best, scores, shares), k, coverage, min_coverage)

    def _follows(self, page: int, turn: int) -> bool:
        if not self._turns:
            return True
        if page == self._pages[-1]:
            return turn > self._turns[-1]
        return page > self._pages[-1] and turn >= self._turns[-1]

    def shares(self, text: str, among: Collection[int]) -> dict[int, float]:
        """How much of a text's rare words stands on each of these pages: 0..1, by page, those with none left out.

        Rarity is told by how many of the pages hold a word; a word that none of them holds says nothing.
        """
        asked = set(terms(text))
        held = {page: asked & self._on_page.get(page, set()) for page in among}
        spread = Counter(term for found in held.values() for term in found)
        weights = {term: log(1 + len(held) / n) for term, n in spread.items()}
        total = sum(weights.values())
        return {page: sum(weights[t] for t in found) / total for page, found in held.items() if found}

    def _check_repeat(self, page: int, turn: int, text: str) -> None:
        unit = bisect_left(range(len(self)), (page, turn), key=lambda u: (self._pages[u], self._turns[u]))
        place = f"turn {turn} of page {page}"
        if unit == len(self) or (self._pages[unit], self._turns[unit]) != (page, turn):
            last = f"turn {self._turns[-1]} of page {self._pages[-1]}"
            raise ValueError(f"{place} cannot come after {last}; add turns and pages in order")
        if self._hashes[unit] != hash(text):
            raise ValueError(f"{place} is indexed with another text; build the index anew")

    def _posted(self, term: str) -> _Posting:
        if (posting := self._postings.get(term)) is None:
            posting = self._postings[term] = _Posting(array("q"), array("q"))
            if len(term) == 2 and is_cjk(term):
                for character in set(term):
                    self._pairs.setdefault(character, []).append(term)
        return posting

    def _shares(self, asked: Sequence[str], norm: Floats) -> tuple[Floats, Floats]:
        """What each term adds to each unit's score, one row a term; and each term's idf. All terms at once."""
        found = [self._held(term) for term in asked]
        units, times = array("q"), array("q")
        for posting in found:
            units.extend(posting.units)
            times.extend(posting.times)
        held = np.array([len(posting.units) for posting in found])
        idf = np.log(1 + (len(self) - held + 0.5) / (held + 0.5))
        rows, columns, counts = np.repeat(np.arange(len(asked)), held), np.array(units), np.array(times)
        shares = np.zeros((len(asked), len(self)))
        shares[rows, columns] = idf[rows] * (K1 + 1) * counts / (counts + norm[columns])
        return shares, idf

    def _held(self, term: str) -> _Posting:
        """A single CJK character matches every bigram that holds it: within a run the index has only pairs."""
        if not (pairs := self._pairs.get(term)):
            return self._postings.get(term, _NOWHERE)
        total: Counter[int] = Counter()
        for name in (term, *pairs):
            posting = self._postings.get(name, _NOWHERE)
            total.update(dict(zip(posting.units, posting.times, strict=True)))
        return _Posting(array("q", total.keys()), array("q", total.values()))

    def _best_units(self, scores: Floats, among: Collection[int] | None) -> Ints:
        """One unit a page, best first; of equal units the earlier, of equal pages the newer."""
        if not len(self):
            return np.array([], dtype=np.int64)
        pages = np.array(self._pages, dtype=np.int64)  # ascending: a page's units stand side by side
        firsts = np.flatnonzero(np.diff(pages, prepend=-1))
        tops = np.maximum.reduceat(scores, firsts).tolist()
        ends = [*firsts[1:].tolist(), len(self)]
        wanted = None if among is None else set(among)
        best = [
            (-top, -page, first + int(scores[first:end].argmax()))
            for top, page, first, end in zip(tops, pages[firsts].tolist(), firsts.tolist(), ends, strict=True)
            if top and (wanted is None or page in wanted)
        ]
        return np.array([unit for _, _, unit in sorted(best)], dtype=np.int64)

    def _hits(self, asked: Sequence[str], units: Ints, scores: Floats, shares: Floats) -> list[Hit]:
        columns = shares[:, units].T.tolist()
        return [
            Hit(self._pages[unit], self._turns[unit], score, _matched(asked, column))
            for unit, score, column in zip(units.tolist(), scores[units].tolist(), columns, strict=True)
        ]


def _matched(names: Sequence[str], shares: Sequence[float]) -> tuple[tuple[str, float], ...]:
    matched = [(name, share) for name, share in zip(names, shares, strict=True) if share]
    return tuple(sorted(matched, key=lambda each: (-each[1], each[0])))


def _cut(asked: tuple[str, ...], ranked: list[Hit], k: int, coverage: float, min_coverage: float) -> Ranking:
    if coverage < min_coverage:
        reason = f"coverage {coverage:.2f} < min_coverage {min_coverage:g}"
        misses = tuple(replace(hit, dropped=reason) for hit in ranked[:MISSES])
        return Ranking(asked, (), misses, coverage, f"no page covers enough of the question: {reason}")
    misses = tuple(replace(hit, dropped=f"rank {rank} > k={k}") for rank, hit in enumerate(ranked[k:], k + 1))
    return Ranking(asked, tuple(ranked[:k]), misses, coverage)
