"""Which bookmarks stand in the window one by one, and which fold into range stubs such as `[p3-p41:…]`.

Bookmarks have a budget of their own. It decides nothing about pages: who is evicted is known, and what a single
bookmark says is bookmarks.py's. A conversation of thousands of turns has a thousand of them at each step, so what a
page's keywords amount to is worked out once (shelf.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np

from memory.bookmarks import range_stub
from memory.events import RangeStub, StubsArranged
from memory.pages import CHUNK, Page
from memory.state import State
from memory.turns import Words

RANGE_TOKENS = 24  # the longest range stub
OPENED = 12  # stubs that opening a range shows at once
NAMED = 6  # pages of a range that give it a keyword, at the most
MATCH = 2.0  # what a word shared with the message is worth beside weight and recency
NOTICED = 8  # bookmarks that a message brings forward: each one among hidden ones costs another range as well

KEPT_RANGES = 500  # that were made: most steps make the ones of the step before

Write = Callable[[str], int]
Ranges = dict[tuple[int, int, int, tuple[str, ...]], tuple[str, int]]  # first, last, longest, keywords: text and tokens


class _Part(NamedTuple):
    """A chunk of the page table: which of its pages stand in the window, and which left a bookmark."""

    chunk: tuple[Page, ...]
    inside: list[int]
    gone: list[Page]


class Gone:
    """The bookmarked pages that left the window, in order, and what arranging them asks of each.

    Most steps change none of a thousand, so this is made anew only where one changed: `gone.now(state)`.
    """

    def __init__(self, parts: Sequence[_Part] = (), ranges: Ranges | None = None) -> None:
        self._parts = parts
        self.ranges: Ranges = {} if ranges is None or len(ranges) > KEPT_RANGES else ranges
        self.pages = [page for part in parts for page in part.gone]
        marks = [page.bookmark for page in self.pages if page.bookmark]
        self.sizes = [mark.tokens + 1 for mark in marks]  # each with its line break
        self.tokens = sum(self.sizes)
        self.weight = np.array([mark.weight for mark in marks], float)
        self.importance = np.array([page.importance for page in self.pages], float)
        self.number = np.array([page.number for page in self.pages], float)
        self.place = {page.number: i for i, page in enumerate(self.pages)}

    def now(self, state: State) -> Gone:
        inside: dict[int, list[int]] = {}
        for number in state.resident:
            inside.setdefault((number - 1) // CHUNK, []).append(number)
        parts = [self._part(i, chunk, inside.get(i, [])) for i, chunk in enumerate(state.pages.chunks)]
        if [part.gone for part in parts] != [part.gone for part in self._parts]:
            return Gone(parts, self.ranges)
        self._parts = parts
        return self

    def _part(self, place: int, chunk: tuple[Page, ...], inside: list[int]) -> _Part:
        if place < len(self._parts) and self._parts[place].chunk is chunk and self._parts[place].inside == inside:
            return self._parts[place]
        return _Part(chunk, inside, [page for page in chunk if page.bookmark and page.number not in inside])

    def weightiest(self, run: range) -> list[Page]:
        """Those that give a range its keywords, in the order of the conversation.

        Where all weigh the same the newest are the ones, and nothing after them has to be moved.
        """
        within = slice(run.start, run.stop)
        chosen = np.lexsort((self.importance[within], self.weight[within]))[-NAMED:]
        return [self.pages[run.start + i] for i in sorted(chosen.tolist())]


def arrange_stubs(
    state: State, matches: Mapping[int, int], words: Words, write: Write, gone: Gone | None = None
) -> StubsArranged | None:
    """The bookmarks that stand one by one, and the ranges of the others; None if nothing changes.

    All stand while they fit the budget. Then the best stay (match with the message, weight, recency), the rest
    fold into ranges between them. Deterministic; ties go to the newer page.
    `matches`: by page, how many words its bookmark shares with the message. `gone`: as of this state, if known.
    """
    gone = gone or Gone().now(state)
    budget = state.settings.stub_budget
    if gone.tokens <= budget:
        arranged = StubsArranged(tuple(p.number for p in gone.pages), (), gone.tokens, budget)
        return None if arranged == state.stubs else arranged
    order, sizes, length = _by_worth(gone, matches, len(state.pages)), gone.sizes, len(gone.sizes)
    shown = set(order[: _how_many(order, sizes, budget)])
    shown |= {run[0] for run in _runs(length, shown) if len(run) == 1 and sizes[run[0]] <= RANGE_TOKENS + 1}
    longest = state.settings.stub_tokens
    if not shown and budget < RANGE_TOKENS + 1:
        longest = max(8, min(longest, budget - 1))  # one range, as short as it must be
    ranges = [range_of(gone, run, words, write, longest) for run in _runs(length, shown)]
    tokens = sum(sizes[i] for i in shown) + sum(r.tokens + 1 for r in ranges)
    arranged = StubsArranged(tuple(sorted(gone.pages[i].number for i in shown)), tuple(ranges), tokens, budget)
    return None if arranged == state.stubs else arranged


def _by_worth(gone: Gone, matches: Mapping[int, int], pages: int) -> list[int]:
    """Places in `gone`, the most worth showing first. Only the best matches count: many share a word or two."""
    worths = gone.weight + gone.number / pages
    best = nlargest(NOTICED, ((shared, page) for page, shared in matches.items() if page in gone.place))
    for shared, page in best:
        worths[gone.place[page]] += MATCH * shared
    order: list[int] = np.argsort(worths, kind="stable")[::-1].tolist()  # among equals the newer one first
    return order


def _how_many(order: Sequence[int], sizes: Sequence[int], budget: int) -> int:
    """The largest number of the best that fits: each costs its stub, and each gap between them one range."""
    spent = [0]
    for i in order:
        spent.append(spent[-1] + sizes[i])
        if spent[-1] > budget:
            break
    low, high = 0, len(spent) - 1
    while low < high:
        middle = (low + high + 1) // 2
        fits = spent[middle] + _gaps(sorted(order[:middle]), len(sizes)) * (RANGE_TOKENS + 1) <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _gaps(places: Sequence[int], length: int) -> int:
    """How many runs these places leave of a sequence.

    >>> _gaps([2, 3, 6], 8)
    3
    """
    edges = (-1, *places, length)
    return sum(after - before > 1 for before, after in pairwise(edges))


def _runs(length: int, shown: set[int]) -> Iterator[range]:
    """The places between those that are shown."""
    for before, after in pairwise((-1, *sorted(shown), length)):
        if after - before > 1:
            yield range(before + 1, after)


def range_of(gone: Gone, run: range, words: Words, write: Write, longest: int) -> RangeStub:
    """One stub for several bookmarked pages: a keyword each of its weightiest and newest ones, as many as fit."""
    keywords: dict[str, None] = {}
    for page in gone.weightiest(run):
        if page.bookmark and page.bookmark.keywords:
            keywords[words(page.bookmark.keywords).split(",")[0]] = None
    first, last = gone.pages[run.start].number, gone.pages[run.stop - 1].number
    key = (first, last, longest, tuple(keywords))
    if key not in gone.ranges:
        gone.ranges[key] = range_stub(first, last, key[3], min(RANGE_TOKENS, longest))
    text, tokens = gone.ranges[key]
    return RangeStub(first, last, write(text), tokens)


def open_range(state: State, first: int, last: int, words: Words, write: Write) -> tuple[RangeStub, ...]:
    """The level below a range stub: single stubs if they are few, else equal parts of it."""
    found = [p for p in state.evicted if first <= p.number <= last and p.bookmark]
    gone = Gone([_Part((), [], found)])
    count = len(gone.pages)
    if count <= OPENED:
        return tuple(
            RangeStub(p.number, p.number, p.bookmark.stub, p.bookmark.tokens) for p in gone.pages if p.bookmark
        )
    size, longest = ceil(count / OPENED), state.settings.stub_tokens
    parts = (range(i, min(i + size, count)) for i in range(0, count, size))
    return tuple(range_of(gone, part, words, write, longest) for part in parts)
