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
from math import fsum, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.language import is_cjk, terms

# On LoCoMo, pages of ten turns, n = 1,982: windows of two turns name the right page first for .65, these for .68.
K1 = 1.0  # how soon repeats of a term stop counting
B = 0.4  # how much a long turn is marked down
AROUND: Mapping[int, float] = {-3: 0.1, -2: 0.3, -1: 0.5, 1: 0.3, 2: 0.2}  # turns away: how much its words count
MISSES = 50

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
    """A question against every turn."""

    asked: tuple[str, ...]
    by_term: Floats  # (asked, turns): what each term adds
    idf: Floats  # by term; 0 for WHEN, which is no word of the question
    total: Floats  # by turn

    def coverage(self, turns: Ints) -> Floats:
        """0..1 for each of these turns: the share of the question's idf mass that it matches."""
        shares: Floats = self.idf @ (self.by_term[:, turns] > 0) / max(float(self.idf.sum()), 1e-9)
        return shares

    def matched(self, turn: int) -> tuple[tuple[str, float], ...]:
        """What each matched term adds to the score of this turn, biggest first."""
        found = zip(self.asked, self.by_term[:, turn].tolist(), strict=True)
        return tuple(sorted((each for each in found if each[1]), key=lambda each: (-each[1], each[0])))


class _Posting(NamedTuple):
    """The turns that hold a term, ascending, and how many times each does."""

    units: array[int]
    times: array[int]


_NOWHERE = _Posting(array("q"), array("q"))


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
        self._cjk: Counter[int] = Counter()  # page -> its turns in Chinese, Japanese or Korean, less the others
        self._around: tuple[dict[int, Floats], Floats] = ({}, np.zeros(0, dtype=np.float32))
        self._waiting: list[tuple[Sequence[str], str]] = []  # terms and text of the last turns, not posted yet

    def __len__(self) -> int:
        """Turns indexed."""
        return len(self._turns)

    def __repr__(self) -> str:
        return f"<TextIndex of {len(self)} turns on {len(self._on_page)} pages>"

    @property
    def pages(self) -> Ints:
        """Page by unit, ascending."""
        return np.array(self._pages, dtype=np.int64)

    @property
    def turns(self) -> Ints:
        """Turn number by unit."""
        return np.array(self._turns, dtype=np.int64)

    @property
    def lengths(self) -> Floats:
        """Terms by unit, its label's with them."""
        self._post()
        return np.array(self._lengths, dtype=np.float32)

    @property
    def asking(self) -> Floats:
        """1 by unit where the turn ends with a question."""
        self._post()
        return np.array(self._asking, dtype=np.float32)

    def knows(self, page: int) -> bool:
        """Whether a turn of this page is indexed."""
        return page in self._on_page

    def is_cjk(self, page: int) -> bool:
        """Whether most turns of this page are Chinese, Japanese or Korean."""
        return self._cjk[page] > 0

    def overlap(self, page: int, other: int) -> float:
        """0..1: the terms that two pages share, of all that either has."""
        one, two = self._on_page[page], self._on_page[other]
        return len(one & two) / (len(one | two) or 1)

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
        best = self._best_units(scores.total, among)[: k + MISSES]
        if not len(best):
            return TextRanking(scores.asked, note="no candidate page holds a word of the question")
        ranked = [
            Hit(self._pages[unit], self._turns[unit], float(scores.total[unit]), scores.matched(unit))
            for unit in best.tolist()
        ]
        return _cut(scores.asked, ranked, k, float(scores.coverage(best[:1])[0]), min_coverage)

    def scores(self, question: str) -> Scores:
        """The question against every turn; no term asked where it has no searchable words."""
        self._post()
        asked = tuple(dict.fromkeys(terms(question)))
        by_term = np.zeros((len(asked), len(self)), dtype=np.float32)
        holders = np.zeros(len(asked))
        pages, (walls, norm) = self.pages, self._surroundings()
        for nth, (row, posting) in enumerate(zip(by_term, map(self._held, asked), strict=True)):
            units = np.array(posting.units, dtype=np.int64)
            holders[nth] = np.count_nonzero(np.diff(pages[units], prepend=-1))
            row[units] = posting.times
            _lend(row, walls)
            row /= row + norm
        # Rare is what few pages hold: what stands on all of them, however seldom, tells none from another. A word that
        # none holds is taken to be a little rarer than what one does, so that in a short talk it does not weigh alone.
        holders = np.maximum(holders, 0.5)
        idf = np.log(1 + (len(self._on_page) - holders + 0.5) / (holders + 0.5)).astype(np.float32)
        by_term *= (K1 + 1) * idf[:, None]
        if asked and _ASKS_WHEN.search(question):
            timely = TIMELY * by_term.sum(axis=0) * np.array(self._timely, dtype=np.float32)
            by_term, idf, asked = np.vstack([by_term, timely]), np.append(idf, np.float32(0)), (*asked, WHEN)
        return Scores(asked, by_term, idf, by_term.sum(axis=0))

    def shares(self, text: str, among: Collection[int]) -> dict[int, float]:
        """How much of a text's rare words stands on each of these pages: 0..1, by page, those with none left out.

        Rarity is told by how many of the pages hold a word; a word that none of them holds says nothing.
        """
        asked = set(terms(text))
        held = {page: asked & self._on_page.get(page, set()) for page in among}
        spread = Counter(term for found in held.values() for term in found)
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

    def _surroundings(self) -> tuple[dict[int, Floats], Floats]:
        """Whom each turn lends its words, and what its length marks them down by; until another turn comes."""
        if len(self._around[1]) != len(self):
            pages, lengths = self.pages, self.lengths
            walls = {
                away: (pages[: -abs(away)] == pages[abs(away) :]) * np.float32(weight)
                for away, weight in AROUND.items()
            }
            _lend(lengths, walls)
            self._around = walls, K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1))
        return self._around

    def _best_units(self, scores: Floats, among: Collection[int] | None) -> Ints:
        """One unit a page, best first; of equal units the earlier, of equal pages the newer."""
        if not len(self):
            return np.array([], dtype=np.int64)
        pages = self.pages  # ascending: a page's units stand side by side
        firsts = np.flatnonzero(np.diff(pages, prepend=-1))
        tops = np.maximum.reduceat(scores, firsts)
        wanted = tops > 0
        if among is not None:
            wanted &= np.isin(pages[firsts], np.fromiter(among, dtype=np.int64, count=len(among)))
        ends = np.append(firsts[1:], len(self))
        order = np.flatnonzero(wanted)[::-1]
        order = order[np.argsort(-tops[order], kind="stable")]
        return np.array([firsts[i] + int(scores[firsts[i] : ends[i]].argmax()) for i in order], dtype=np.int64)


def _lend(row: Floats, walls: Mapping[int, Floats]) -> None:
    """Add to each turn what those around it lend. A page's ends are walls: the words of a hit are on its page."""
    own = row.copy()
    for away, weights in walls.items():
        n = abs(away)
        if away < 0:
            row[n:] += weights * own[:-n]
        else:
            row[:-n] += weights * own[n:]


def _cut(asked: tuple[str, ...], ranked: list[Hit], k: int, coverage: float, min_coverage: float) -> TextRanking:
    if coverage < min_coverage:
        reason = f"coverage {coverage:.2f} < min_coverage {min_coverage:g}"
        misses = tuple(replace(hit, dropped=reason) for hit in ranked[:MISSES])
        return TextRanking(asked, (), misses, coverage, f"no page covers enough of the question: {reason}")
    misses = tuple(replace(hit, dropped=f"rank {rank} > k={k}") for rank, hit in enumerate(ranked[k:], k + 1))
    return TextRanking(asked, tuple(ranked[:k]), misses, coverage)
