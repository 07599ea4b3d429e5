"""The small frozen rows that views are made of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the token bar."""

    id: str  # "system", "stubs", "p12" (a page), "new"
    section: str  # system, stubs, recalled, resident, new, reply
    label: str
    tokens: int


@dataclass(frozen=True, slots=True)
class PageRow:
    """One page, in the window or out of it."""

    number: int
    name: str  # p12
    title: str  # one readable sentence of it
    first: int  # turns
    last: int
    tokens: int
    state: str  # growing, pinned, resident, guest (recalled for this step), gone
    heat: float  # 0..1, recency and frequency of use
    hits: int
    faults: int
    importance: float
    marked: bool  # a message on it is marked as important
    stub: str  # "[p12:…]", "" before it has one
    origin: str  # of the bookmark
    loaded_at: int  # step
    used_at: int  # step
    left_at: int  # step, 0: never left


@dataclass(frozen=True, slots=True)
class StubRow:
    """What stands in the window for one page that left, or for a range of them."""

    name: str  # p3 or p3-p41
    first: int  # pages
    last: int
    keywords: tuple[str, ...]
    text: str
    tokens: int
    weight: float  # 0 for a range
    origin: str


@dataclass(frozen=True, slots=True)
class FeedRow:
    """Something that happened; its sentence is `feed.<kind>` of the string catalogue, filled with `values`."""

    seq: int
    at: datetime
    step: int
    kind: str  # said, replied, evicted, recalled, refused, fault, left, bookmark, called, failed, abandoned, marked, folded, redacted, settings
    tone: str  # turn, evict, recall, bookmark, model, error, mark, quiet: the colour
    page: int  # 0: none
    turn: int  # 0: none
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure with its course over the last steps, oldest first."""

    name: str  # tokens, pages, evictions, hit_ratio, utilisation, faults, cost
    value: float
    unit: str  # tokens, pages, ratio, usd, count
    change: float | None  # against the step before
    trend: tuple[float, ...]
    better: str  # up, down, neither


@dataclass(frozen=True, slots=True)
class ChatRow:
    """One message as the chat shows it; pieces of a long one are one row again."""

    turn: int
    role: str
    speaker: str
    text: str
    said_at: datetime
    page: int
    resident: bool  # stands in the window at the shown turn
    marked: bool
    tokens: int
    recalled: tuple[int, ...]  # pages that came back before this reply
