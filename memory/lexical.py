"""The words of one conversation: which page holds those of a question, and how much of them.

BM25 (Robertson and Zaragoza 2009) over turns that lend each other their words: a turn counts with those around it on
its page, the farther the less, and a page scores by its best turn. An index grows turn by turn. It is a projection:
to take text out, build it anew.

It knows no vectors and weighs no words against meaning: that is retrieval.py.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import fsum, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.language import is_cjk, terms

# On LoCoMo, pages of ten turns, n = 1,982: windows of two turns name the right page first for .65, these for .68.
K1 = 1.0  # how soon repeats of a term stop counting
B = 0.4  # how much a long turn is marked down
AROUND: Mapping[int, float] = {-3: 0.1, -2: 0.3, -1: 0.5, 1: 0.3, 2: 0.2}  # turns away: how much its words count
REACH = max(map(abs, AROUND))
MISSES = 50
SHORT = 32  # values in a run
KEPT = 4_000_000  # turns in the spreads that are kept until the next turn comes: 50 MB

# A question about a time is answered by a turn that tells one: its score counts this much more.
TIMELY = 0.5
WHEN = "(when)"  # how that stands among the terms of a hit
_ASKS_WHEN = re.compile(
    r"^\W*(?:(?:since |until )?when|how long|how often"
    r"|(?:(?:on|in|at) )?(?:what|which) (?:date|day|week|month|year|time))\b"
    r"|什么时候|什么时间|何时|哪天|哪一天|几月|几号|几点|哪年|哪一年|多久|星期几|周几",
    re.IGNORECASE,
)
_TELLS_WHEN = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|since|until|recently|morning|weekends?|days?|weeks?|months?|years?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|\d{4}|\d{1,2}:\d{2})\b"
    r"|[今昨明前后去][天年晚早]|[上下]个?(?:周|月|星期|礼拜)|周[一二三四五六日末]|星期|\d\s*[年月日号点]|刚才|最近",
    re.IGNORECASE,
)

# Share of the question's idf mass. Measured on LoCoMo: 0.2 turns away 42 % of the questions that belong to another
# conversation and costs .004 of hit@3, 0.25 63 % and .011, 0.3 77 % and .018. Wording is what costs: a question in
# other words than the page's covers little.
MIN_COVERAGE = 0.2

_ENDS_ASKING = re.compile(r"[?？][\s\"'”’)]*(?:\[image[^\]]*\]\s*)?$")

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Hit:
    page: int
    turn: int  # of the page's best one
    score: float  # BM25; comparable within one ranking only
    terms: tuple[tuple[str, float], ...]  # what each matched term adds to the score, biggest first
    dropped: str = ""  # why it is a miss


@dataclass(frozen=True, slots=True)
class TextRanking:
    question_terms: tuple[str, ...]
    hits: tuple[Hit, ...] = ()  # best first, at most k
    misses: tuple[Hit, ...] = ()  # the next best, at most 50, each with its reason
    coverage: float = 0.0  # 0..1, share of the question's idf mass that the best page's best turn matches
    note: str = ""


@dataclass(frozen=True)
class Scores:
    """A question against every turn. A turn that holds no word of it is in no part."""

    asked: tuple[str, ...]
    parts: tuple[tuple[Ints, Floats], ...]  # by term: the units that it adds to, ascending, and how much to each
    idf: Floats  # by term; 0 for WHEN, which is no word of the question
    total: Floats  # by unit

    def at(self, units: Ints) -> Floats:
        """(units, asked): what each term adds to each of these."""
        found = np.zeros((len(units), len(self.asked)), dtype=np.float32)
        for nth, (held, adds) in enumerate(self.parts):
            if len(held):
                place = np.minimum(held.searchsorted(units), len(held) - 1)
                np.copyto(found[:, nth], adds[place], where=held[place] == units)
        return found

    def coverage(self, unit: int) -> float:
        """0..1: the share of the question's idf mass that this unit matches."""
        held = [_stands(unit, units) for units, _ in self.parts]
        return float(self.idf @ np.array(held, dtype=np.bool_) / max(float(self.idf.sum()), 1e-9))

    def matched(self, units: Ints) -> list[tuple[tuple[str, float], ...]]:
        """For each of these units: what each matched term adds to its score, biggest first, of equal ones by name."""
        adds = self.at(units)
        by_name = np.array(sorted(range(len(self.asked)), key=self.asked.__getitem__), dtype=np.int64)
        order = by_name[np.argsort(-adds[:, by_name], axis=1, kind="stable")]
        names = np.array(self.asked, dtype=object)[order].tolist()
        shares = np.take_along_axis(adds, order, axis=1).tolist()
        ends = (adds > 0).sum(axis=1).tolist()
        return [tuple(zip(n[:end], a[:end], strict=True)) for n, a, end in zip(names, shares, ends, strict=True)]


def _stands(unit: int, units: Ints) -> bool:
    place = int(units.searchsorted(unit))
    return place < len(units) and int(units[place]) == unit


class Spans:
    """Runs of values that stand side by side, `[first, end)` each, none of them empty: each one's highest, its mean."""

    def __init__(self, numbers: Ints) -> None:
        """`numbers`: what each value belongs to, those of a run equal."""
        self.firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
        self.ends = np.append(self.firsts[1:], len(numbers))[: len(self.firsts)]
        longest = int((self.ends - self.firsts).max(initial=0))
        # Where runs are short and of like length, as pages are, this is twice as fast as maximum.reduceat.
        even = longest <= SHORT and longest * len(self.firsts) <= 2 * len(numbers)
        self._grid = self._spread_out(np.arange(len(self.firsts))).T.copy() if even else None

    def highest(self, values: Floats) -> Floats:
        if not len(self.firsts):
            return values
        if self._grid is not None:
            best: Floats = values.take(self._grid).max(axis=0)
            return best
        return np.maximum.reduceat(values, self.firsts)

    def means(self, values: Floats) -> Floats:
        sums: Floats = np.add.reduceat(values, self.firsts) if len(self.firsts) else values
        means: Floats = np.divide(sums, (self.ends - self.firsts).astype(np.float32))
        return means

    def places(self, values: Floats, runs: Ints) -> Ints:
        """Of these runs: where the highest value stands, the first of equal ones."""
        return self.firsts[runs] + values[self._spread_out(runs)].argmax(axis=1) if len(runs) else runs

    def _spread_out(self, runs: Ints) -> Ints:
        """A row of places for each run, as long as the longest: a shorter one repeats its last."""
        firsts, ends = self.firsts[runs, None], self.ends[runs, None]
        longest = int((ends - firsts).max(initial=0))
        places: Ints = np.minimum(firsts + np.arange(longest), ends - 1)
        return places


@dataclass(frozen=True)
class Layout:
    """What stands where, as long as no turn comes. A page's units stand side by side."""

    pages: Ints  # by unit, ascending, and so the next six
    turns: Ints
    lengths: Floats  # in terms
    asking: Floats  # 1: it ends with a question
    timely: Floats  # 1: it tells a time
    room: NDArray[np.int8]  # (2, units): how many units of its page stand before it, and after it, up to REACH
    norm: Floats  # what its length marks it down by
    spans: Spans  # a page's units
    numbers: Ints  # pages, ascending


class _Posting(NamedTuple):
    """The turns that hold a term, ascending, and how many times each does."""

    units: array[int]
    times: array[int]


_NOWHERE = _Posting(array("q"), array("q"))


class _Spread(NamedTuple):
    """A term with what turns lend each other: what it would add to each turn, were it as rare as can be."""

    units: Ints  # ascending
    adds: Floats
    pages: int  # that hold the term


class TextIndex:
    """The words of one conversation. A turn's place in the index is its `unit`, from 0.

    >>> index = TextIndex()
    >>> index.add(page=1, turn=1, text="今天玩成语接龙游戏")
    >>> index.search("成语接龙", k=3).hits[0].page
    1
    """

    def __init__(self) -> None:
        self._postings: dict[str, _Posting] = {}
        self._pairs: dict[str, list[str]] = {}  # a CJK character -> the indexed bigrams that hold it
        self._pages: array[int] = array("q")  # by unit, and so the next five
        self._turns: array[int] = array("q")
        self._lengths: array[int] = array("q")  # in terms
        self._hashes: array[int] = array("q")  # of the text: tells a repeat from a change
        self._timely: array[int] = array("b")  # 1: the turn tells a time
        self._asking: array[int] = array("b")  # 1: it ends with a question
        self._on_page: dict[int, set[str]] = {}  # page -> the terms of its turns
        self._overlaps: dict[tuple[int, int], float] = {}  # of pages that were compared since the last turn came
        self._cjk: Counter[int] = Counter()  # page -> its turns in Chinese, Japanese or Korean, less the others
        self._layout: Layout | None = None
        self._spreads: dict[str, _Spread] = {}  # of terms that were asked for since the last turn came
        self._kept = 0  # turns in them
        self._waiting: list[tuple[Sequence[str], str]] = []  # terms and text of the last turns, not posted yet

    def __len__(self) -> int:
        """Turns indexed."""
        return len(self._turns)

    def __repr__(self) -> str:
        return f"<TextIndex of {len(self)} turns on {len(self._on_page)} pages>"

    @property
    def layout(self) -> Layout:
        """Every turn's place, as of now."""
        if self._layout is None or len(self._layout.pages) != len(self):
            self._post()
            self._spreads, self._kept = {}, 0  # a turn more, and each one's length counts otherwise
            self._layout = _laid_out(self._pages, self._turns, self._lengths, self._asking, self._timely)
        return self._layout

    def knows(self, page: int) -> bool:
        """Whether a turn of this page is indexed."""
        return page in self._on_page

    def is_cjk(self, page: int) -> bool:
        """Whether most turns of this page are Chinese, Japanese or Korean."""
        return self._cjk[page] > 0

    def overlap(self, page: int, other: int) -> float:
        """0..1: the terms that two pages share, of all that either has."""
        pair = (page, other) if page < other else (other, page)
        found = self._overlaps.get(pair)
        if found is None:
            one, two = self._on_page[page], self._on_page[other]
            shared = len(one & two)
            found = self._overlaps[pair] = shared / ((len(one) + len(two) - shared) or 1)
        return found

    def add(self, page: int, turn: int, text: str, label: str = "") -> None:
        """Index a turn, or a piece of a long one, on its page.

        `label` is found as well, but is nothing that the turn says: who spoke, and on which day.

        They come in order; the same again changes nothing. Raises ValueError for one out of order, or one that
        is known with another text.
        """
        if not self._follows(page, turn):
            self._check_repeat(page, turn, label + text)
            return
        own = terms(label) + terms(text)
        self._overlaps.clear()
        self._on_page.setdefault(page, set()).update(own)
        self._cjk[page] += 1 if is_cjk(text) else -1
        self._pages.append(page)
        self._turns.append(turn)
        self._hashes.append(hash(label + text))
        self._waiting.append((own, text))

    def _post(self) -> None:
        """Make the postings of the turns that came since the last search: most steps of a replay ask nothing."""
        for unit, (own, text) in enumerate(self._waiting, len(self._lengths)):
            for term, times in Counter(own).items():
                posting = self._postings.get(term) or self._posted(term)
                posting.units.append(unit)
                posting.times.append(times)
            self._lengths.append(len(own))
            self._timely.append(bool(_TELLS_WHEN.search(text)))
            self._asking.append(bool(_ENDS_ASKING.search(text)))
        self._waiting.clear()

    def search(
        self, question: str, k: int, among: Collection[int] | None = None, min_coverage: float = MIN_COVERAGE
    ) -> TextRanking:
        """The `k` best pages, out of `among` if given; none where the best one covers too little of the question."""
        scores = self.scores(question)
        if not scores.asked:
            return TextRanking((), note="the question has no searchable words")
        best = self._best_units(scores.total, among, k + MISSES)
        if not len(best):
            return TextRanking(scores.asked, note="no candidate page holds a word of the question")
        pages, turns = self.layout.pages[best].tolist(), self.layout.turns[best].tolist()
        ranked = list(map(Hit, pages, turns, scores.total[best].tolist(), scores.matched(best)))
        return _cut(scores.asked, ranked, k, scores.coverage(int(best[0])), min_coverage)

    def scores(self, question: str) -> Scores:
        """The question against every turn; no term asked where it has no searchable words."""
        layout, asked = self.layout, tuple(dict.fromkeys(terms(question)))
        spreads = [self._spread(term) for term in asked]
        # Rare is what few pages hold: what stands on all of them, however seldom, tells none from another. A word that
        # none holds is taken to be a little rarer than what one does, so that in a short talk it does not weigh alone.
        holders = np.maximum([spread.pages for spread in spreads], 0.5)
        idf = np.log(1 + (len(self._on_page) - holders + 0.5) / (holders + 0.5)).astype(np.float32)
        total = np.zeros(len(self), dtype=np.float32)
        parts = []
        for spread, weight in zip(spreads, (K1 + 1) * idf, strict=True):
            parts.append((spread.units, spread.adds * weight))
            np.add.at(total, *parts[-1])  # each unit stands once in it: twice as fast as total[units] += adds
        if asked and _ASKS_WHEN.search(question):
            units = np.flatnonzero(total * layout.timely)
            parts.append((units, TIMELY * total[units]))
            np.add.at(total, *parts[-1])
            idf, asked = np.append(idf, np.float32(0)), (*asked, WHEN)
        return Scores(asked, tuple(parts), idf, total)

    def shares(self, text: str, among: Collection[int]) -> dict[int, float]:
        """How much of a text's rare words stands on each of these pages: 0..1, by page, those with none left out.

        Rarity is told by how many of the pages hold a word; a word that none of them holds says nothing.
        """
        asked = set(terms(text))
        held = {page: asked & self._on_page.get(page, set()) for page in among}
        spread = Counter(chain.from_iterable(held.values()))
        weights = {term: log(1 + len(held) / n) for term, n in spread.items()}
        total = fsum(weights.values())  # exact: sets have no order, and the same words must give the same share
        return {page: fsum([weights[t] for t in found]) / total for page, found in held.items() if found}

    def _follows(self, page: int, turn: int) -> bool:
        if not self._turns:
            return True
        if page == self._pages[-1]:
            return turn > self._turns[-1]
        return page > self._pages[-1] and turn >= self._turns[-1]

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

    def _held(self, term: str) -> _Posting:
        """A single CJK character matches every bigram that holds it: within a run the index has only pairs."""
        if not (pairs := self._pairs.get(term)):
            return self._postings.get(term, _NOWHERE)
        total: Counter[int] = Counter()
        for name in (term, *pairs):
            posting = self._postings.get(name, _NOWHERE)
            total.update(dict(zip(posting.units, posting.times, strict=True)))
        units = sorted(total)
        return _Posting(array("q", units), array("q", [total[unit] for unit in units]))

    def _spread(self, term: str) -> _Spread:
        if (known := self._spreads.get(term)) is not None:
            return known
        posting, layout = self._held(term), self.layout
        units = np.array(posting.units, dtype=np.int64)
        lent, times = _lent(units, np.array(posting.times, dtype=np.float32), layout)
        holders = np.count_nonzero(np.diff(layout.pages[units], prepend=-1))
        made = _Spread(lent, times / (times + layout.norm[lent]), int(holders))
        if self._kept > KEPT:
            self._spreads, self._kept = {}, 0
        self._spreads[term] = made
        self._kept += len(lent)
        return made

    def _best_units(self, scores: Floats, among: Collection[int] | None, most: int) -> Ints:
        """One unit a page, best first; of equal units the earlier, of equal pages the newer."""
        layout = self.layout
        tops = layout.spans.highest(scores)
        wanted = tops > 0
        if among is not None:
            wanted &= np.isin(layout.numbers, np.fromiter(among, dtype=np.int64, count=len(among)))
        return layout.spans.places(scores, best_places(tops, wanted, most))


def best_places(values: Floats, wanted: NDArray[np.bool_], most: int) -> Ints:
    """The places of the highest of the wanted values, best first, at most so many; of equal ones the last first."""
    places = np.flatnonzero(wanted)[::-1]
    if len(places) > most > 0:  # none below the last that can come is sorted
        held = values[places]
        places = places[held >= np.partition(held, -most)[-most]]
    return places[np.argsort(-values[places], kind="stable")][:most]


def _laid_out(
    pages: array[int], turns: array[int], lengths: array[int], asking: array[int], timely: array[int]
) -> Layout:
    page, length = np.array(pages, dtype=np.int64), np.array(lengths, dtype=np.float32)
    spans = Spans(page)
    room = np.zeros((2, len(page)), dtype=np.int8)
    for n in range(1, REACH + 1):
        beside = page[n:] == page[:-n]
        room[0, n:] += beside
        room[1, :-n] += beside
    lent = length.copy()
    for away, weight in AROUND.items():
        if away < 0:
            lent[-away:] += (np.float32(weight) * (room[0, -away:] >= -away)) * length[:away]
        else:
            lent[:-away] += (np.float32(weight) * (room[1, :-away] >= away)) * length[away:]
    return Layout(
        page,
        np.array(turns, dtype=np.int64),
        length,
        np.array(asking, dtype=np.float32),
        np.array(timely, dtype=np.float32),
        room,
        K1 * (1 - B + B * lent / max(float(lent.mean()), 1)) if len(lent) else lent,
        spans,
        page[spans.firsts],
    )


def _lent(units: Ints, times: Floats, layout: Layout) -> tuple[Ints, Floats]:
    """The units that hold a term or are lent it, ascending, and how many times each has it then.

    A page's ends are walls: the words of a hit are on its page.
    """
    if not len(units):
        return units, times
    row = np.zeros(len(layout.pages), dtype=np.float32)
    row[units] = times
    behind, ahead = layout.room[:, units]
    reached = [units]
    for away, weight in AROUND.items():
        lends = ahead >= -away if away < 0 else behind >= away
        reached.append(units[lends] - away)
        row[reached[-1]] += np.float32(weight) * times[lends]
    many = len(reached) * len(units) > len(row) // 20
    lent = np.flatnonzero(row) if many else np.unique(np.concatenate(reached))
    return lent, row[lent]


def _cut(asked: tuple[str, ...], ranked: list[Hit], k: int, coverage: float, min_coverage: float) -> TextRanking:
    if coverage < min_coverage:
        reason = f"coverage {coverage:.2f} < min_coverage {min_coverage:g}"
        misses = tuple(replace(hit, dropped=reason) for hit in ranked[:MISSES])
        return TextRanking(asked, (), misses, coverage, f"no page covers enough of the question: {reason}")
    misses = tuple(replace(hit, dropped=f"rank {rank} > k={k}") for rank, hit in enumerate(ranked[k:], k + 1))
    return TextRanking(asked, tuple(ranked[:k]), misses, coverage)
