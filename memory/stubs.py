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
from operator import attrgetter

from memory.bookmarks import range_stub
from memory.events import RangeStub, StubsArranged
from memory.pages import Page
from memory.state import State
from memory.turns import Words

RANGE_TOKENS = 24  # the longest range stub
OPENED = 12  # stubs that opening a range shows at once
NAMED = 6  # pages of a range that give it a keyword, at the most
RANK = attrgetter("bookmark.weight", "importance", "number")
MATCH = 2.0  # what a word shared with the message is worth beside weight and recency
NOTICED = 8  # bookmarks that a message brings forward: each one among hidden ones costs another range as well

Write = Callable[[str], int]


def arrange_stubs(state: State, matches: Mapping[int, int], words: Words, write: Write) -> StubsArranged | None:
    """The bookmarks that stand one by one, and the ranges of the others; None if nothing changes.

    All stand while they fit the budget. Then the best stay (match with the message, weight, recency), the rest
    fold into ranges between them. Deterministic; ties go to the newer page.
    `matches`: by page, how many words its bookmark shares with the message.
    """
    gone = [p for p in state.evicted if p.bookmark]
    budget = state.settings.stub_budget
    total = sum(map(_tokens, gone))
    if total <= budget:
        arranged = StubsArranged(tuple(p.number for p in gone), (), total, budget)
        return None if arranged == state.stubs else arranged
    order = _by_worth(gone, matches, len(state.pages))
    shown = set(order[: _how_many(order, gone, budget)])
    shown |= {i for run in _runs(gone, shown) for i in run if len(run) == 1 and _tokens(gone[i]) <= RANGE_TOKENS + 1}
    longest = state.settings.stub_tokens
    if not shown and budget < RANGE_TOKENS + 1:
        longest = max(8, min(longest, budget - 1))  # one range, as short as it must be
    runs = [gone[run.start : run.stop] for run in _runs(gone, shown)]
    ranges = [range_of(run, words, write, longest) for run in runs]
    tokens = sum(_tokens(gone[i]) for i in shown) + sum(r.tokens + 1 for r in ranges)
    arranged = StubsArranged(tuple(sorted(gone[i].number for i in shown)), tuple(ranges), tokens, budget)
    return None if arranged == state.stubs else arranged


def _tokens(page: Page) -> int:
    assert page.bookmark is not None
    return page.bookmark.tokens + 1  # its line break


def _by_worth(gone: Sequence[Page], matches: Mapping[int, int], pages: int) -> list[int]:
    """Places in `gone`, the most worth showing first. Only the best matches count: many share a word or two."""
    numbers = {page.number for page in gone}
    best = nlargest(NOTICED, ((shared, page) for page, shared in matches.items() if page in numbers))
    match = {page: MATCH * shared for shared, page in best}
    worths = [
        (match.get(page.number, 0) + (page.bookmark.weight if page.bookmark else 0) + page.number / pages, i)
        for i, page in enumerate(gone)
    ]
    return [i for _, i in sorted(worths, reverse=True)]


def _how_many(order: Sequence[int], gone: Sequence[Page], budget: int) -> int:
    """The largest number of the best that fits: each costs its stub, and each gap between them one range."""
    spent = [0]
    for i in order:
        spent.append(spent[-1] + _tokens(gone[i]))
        if spent[-1] > budget:
            break
    low, high = 0, len(spent) - 1
    while low < high:
        middle = (low + high + 1) // 2
        fits = spent[middle] + _gaps(sorted(order[:middle]), len(gone)) * (RANGE_TOKENS + 1) <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _gaps(places: Sequence[int], length: int) -> int:
    """How many runs these places leave of a sequence.

    >>> _gaps([2, 3, 6], 8)
    3
    """
    edges = (-1, *places, length)
    return sum(after - before > 1 for before, after in pairwise(edges))


def _runs(gone: Sequence[Page], shown: set[int]) -> Iterator[range]:
    """The places between those that are shown."""
    for before, after in pairwise((-1, *sorted(shown), len(gone))):
        if after - before > 1:
            yield range(before + 1, after)


def range_of(run: Sequence[Page], words: Words, write: Write, longest: int) -> RangeStub:
    """One stub for several bookmarked pages: a keyword each of its weightiest and newest ones, as many as fit."""
    keywords: dict[str, None] = {}
    # Backwards, for where all weigh the same the newest are the ones, and nothing after them has to be moved.
    for page in sorted(nlargest(NAMED, reversed(run), key=RANK), key=attrgetter("number")):
        if page.bookmark and page.bookmark.keywords:
            keywords[words(page.bookmark.keywords).split(",")[0]] = None
    first, last = run[0].number, run[-1].number
    text, tokens = range_stub(first, last, tuple(keywords), min(RANGE_TOKENS, longest))
    return RangeStub(first, last, write(text), tokens)


def open_range(state: State, first: int, last: int, words: Words, write: Write) -> tuple[RangeStub, ...]:
    """The level below a range stub: single stubs if they are few, else equal parts of it."""
    run = [p for p in state.evicted if first <= p.number <= last and p.bookmark]
    if len(run) <= OPENED:
        return tuple(RangeStub(p.number, p.number, p.bookmark.stub, p.bookmark.tokens) for p in run if p.bookmark)
    size, longest = ceil(len(run) / OPENED), state.settings.stub_tokens
    return tuple(
        range_of(run[i : i + size], words, write, longest) for i in range(0, len(run), size)
    )
