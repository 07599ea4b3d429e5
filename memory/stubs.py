"""Which bookmarks stand in the window one by one, and which fold into range stubs such as `[p3-p41:…]`.

Bookmarks have a budget of their own. It decides nothing about pages: who is evicted is known, and what a single
bookmark says is bookmarks.py's. A conversation of thousands of turns has a thousand of them at each step, so what a
page's keywords amount to is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from heapq import nsmallest
from itertools import accumulate, pairwise
from math import ceil

from memory.bookmarks import range_stub
from memory.events import RangeStub, StubsArranged
from memory.language import terms
from memory.pages import Page
from memory.state import State
from memory.turns import Words

RANGE_TOKENS = 24  # the longest range stub
OPENED = 12  # stubs that opening a range shows at once
NAME_TOKENS = 6  # of `[p3-p41:` and `]`, at the least
NAMED = 6  # pages of a range that give it a keyword, at the most
MATCH = 2.0  # what a word shared with the message is worth beside weight and recency

Write = Callable[[str], int]
Count = Callable[[str], int]


def arrange_stubs(state: State, message: str, words: Words, write: Write, count: Count) -> StubsArranged | None:
    """The bookmarks that stand one by one, and the ranges of the others; None if nothing changes.

    All stand while they fit the budget. Then the best stay (match with the message, weight, recency), the rest
    fold into ranges between them. Deterministic; ties go to the newer page.
    """
    gone = [p for p in state.evicted if p.bookmark]
    budget = state.settings.stub_budget
    total = sum(map(_tokens, gone))
    if total <= budget:
        arranged = StubsArranged(tuple(p.number for p in gone), (), total, budget)
        return None if arranged == state.stubs else arranged
    order = _by_worth(gone, message, words, len(state.pages))
    shown = set(order[: _how_many(order, gone, budget)])
    shown |= {i for run in _runs(gone, shown) for i in run if len(run) == 1 and _tokens(gone[i]) <= RANGE_TOKENS + 1}
    longest = state.settings.stub_tokens
    if not shown and budget < RANGE_TOKENS + 1:
        longest = max(8, min(longest, budget - 1))  # one range, as short as it must be
    ranges = [range_of([gone[i] for i in run], words, write, count, longest) for run in _runs(gone, shown)]
    tokens = sum(_tokens(gone[i]) for i in shown) + sum(r.tokens + 1 for r in ranges)
    arranged = StubsArranged(tuple(sorted(gone[i].number for i in shown)), tuple(ranges), tokens, budget)
    return None if arranged == state.stubs else arranged


def _tokens(page: Page) -> int:
    assert page.bookmark is not None
    return page.bookmark.tokens + 1  # its line break


def _by_worth(gone: Sequence[Page], message: str, words: Words, pages: int) -> list[int]:
    """Places in `gone`, the most worth showing first."""
    asked = frozenset(terms(message))

    def worth(page: Page) -> float:
        mark = page.bookmark
        assert mark is not None
        match = len(asked & keyword_terms(words(mark.keywords))) if asked and mark.keywords else 0
        return MATCH * match + mark.weight + page.number / pages

    worths = [worth(page) for page in gone]
    return sorted(range(len(gone)), key=lambda i: (-worths[i], -i))


@lru_cache(maxsize=50_000)
def keyword_terms(keywords: str) -> frozenset[str]:
    return frozenset(terms(keywords))


def _how_many(order: Sequence[int], gone: Sequence[Page], budget: int) -> int:
    """The largest number of the best that fits: each costs its stub, and each gap between them one range."""
    spent = [0, *accumulate(_tokens(gone[i]) for i in order)]
    low, high = 0, next((k for k, tokens in enumerate(spent) if tokens > budget), len(order))
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


def range_of(run: Sequence[Page], words: Words, write: Write, count: Count, longest: int) -> RangeStub:
    """One stub for several pages: a keyword each of its weightiest and newest ones, as many as fit."""

    def rank(page: Page) -> tuple[float, float, int]:
        return -(page.bookmark.weight if page.bookmark else 0), -page.importance, -page.number

    keywords: dict[str, None] = {}
    for page in sorted(nsmallest(NAMED, run, key=rank), key=lambda p: p.number):
        if page.bookmark and page.bookmark.keywords:
            keywords[words(page.bookmark.keywords).split(",")[0]] = None
    first, last = run[0].number, run[-1].number
    text, tokens = _range_text(first, last, tuple(keywords), min(RANGE_TOKENS, longest), count)
    return RangeStub(first, last, write(text), tokens)


@lru_cache(maxsize=20_000)
def _range_text(first: int, last: int, keywords: tuple[str, ...], longest: int, count: Count) -> tuple[str, int]:
    """What is surely too long is left out before the whole is counted: counting is what costs here."""
    room = longest - NAME_TOKENS
    spent = accumulate(count(keyword) + 1 for keyword in keywords)
    fitting = [keyword for keyword, so_far in zip(keywords, spent, strict=True) if so_far <= room]
    text = range_stub(first, last, fitting, longest)
    return text, count(text)


def open_range(
    state: State, first: int, last: int, words: Words, write: Write, count: Count
) -> tuple[RangeStub, ...]:
    """The level below a range stub: single stubs if they are few, else equal parts of it."""
    run = [p for p in state.evicted if first <= p.number <= last and p.bookmark]
    if len(run) <= OPENED:
        return tuple(RangeStub(p.number, p.number, p.bookmark.stub, p.bookmark.tokens) for p in run if p.bookmark)
    size, longest = ceil(len(run) / OPENED), state.settings.stub_tokens
    return tuple(
        range_of(run[i : i + size], words, write, count, longest) for i in range(0, len(run), size)
    )
