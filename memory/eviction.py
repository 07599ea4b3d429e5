"""Which resident page leaves when the window is full.

A policy is a score: keep the high, evict the low; ties go by age, the older page first. It does not decide
*when* to evict (window.py does). One tick is one step. Names follow libCacheSim; recency_frequency is LRFU
(Lee et al. 2001); hyperbolic is Blankstein et al., ATC'17; Belady's MIN (1966) is the oracle that replay
compares against: optimal for pages of one size only, so a strong reference, not a bound.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import inf, log
from types import MappingProxyType

from memory.errors import UnknownName
from memory.pages import Page

Score = Callable[[Page, int], float]
Figures = Mapping[int, float]  # by page

NONE: Figures = MappingProxyType({})
STEP = 1e-6  # of a score that recency decides between equals
UNDECIDED = 3.0
PROMISE = 15.0  # steps of age that e times the promise is worth


def fifo(page: Page, now: int) -> float:
    return page.loaded_at


def lru(page: Page, now: int) -> float:
    return page.used_at


def lfu(page: Page, now: int) -> float:
    return page.hits


def recency_frequency(page: Page, now: int) -> float:
    """Each use counts one, and half as much after every 20 steps."""
    return page.heat_at(now)


def hyperbolic(page: Page, now: int) -> float:
    """Uses per step of residence."""
    return page.hits / (now - page.loaded_at + 1)


def importance(page: Page, now: int) -> float:
    """As important as it was found when it closed; among equals the warmer stays."""
    return page.importance + 0.01 * min(1.0, page.heat_at(now))


def relevance(page: Page, now: int, relevant: Figures = NONE) -> float:
    """As much as the page has to do with the new message, 0..1; among equals the recently used stays.

    The pager gives `relevant`, for a page does not know the message; pages that it does not name have nothing to do
    with it.
    """
    return relevant.get(page.number, 0.0) + STEP * page.used_at


def promising(page: Page, now: int, promise: Figures = NONE) -> float:
    """Midway between when it came and when it was last used, and the later the more of its words will be asked for.

    The pager gives `promise`, by page (bookmarks.promise). On LoCoMo it closes .04 to .09 of the gap between LRU and
    the oracle reference; where talk only moves on, first in, first out is better (notebooks/LOG.md).
    """
    return (page.loaded_at + page.used_at) / 2 + PROMISE * log(1 + promise.get(page.number, 0.0))


def cooperative(page: Page, now: int, verdicts: Figures = NONE) -> float:
    """As rules and the model decided (cooperative.py); where nobody did, the least recently used leaves first."""
    return verdicts.get(page.number, UNDECIDED) + STEP * page.used_at


def belady(demands: Mapping[int, Sequence[int]]) -> Score:
    """The oracle: evict the page used farthest in the future.

    `demands` maps a turn's number to the steps, ascending, that ask for it.
    """

    def score(page: Page, now: int) -> float:
        return -min((_next(demands.get(turn.number, ()), now) for turn in page.turns), default=inf)

    return score


def _next(steps: Sequence[int], now: int) -> float:
    i = bisect_right(steps, now)
    return steps[i] if i < len(steps) else inf


EVICTION: dict[str, Score] = {
    f.__name__: f
    for f in (fifo, lru, lfu, recency_frequency, hyperbolic, importance, relevance, promising, cooperative)
}


def named(policy: str | Score) -> Score:
    if callable(policy):
        return policy
    if policy not in EVICTION:
        raise UnknownName("eviction policy", policy, EVICTION)
    return EVICTION[policy]


def ranked(pages: Sequence[Page], score: Score, now: int) -> list[tuple[float, Page]]:
    """Who leaves first: lowest score, then the oldest."""
    return sorted(((float(score(p, now)), p) for p in pages), key=lambda s: (s[0], s[1].number))
