"""The small frozen rows that views are made of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory.look import PageRow, Segment, StubRow

__all__ = ["ChatRow", "FeedRow", "Metric", "PageRow", "Segment", "StubRow"]


@dataclass(frozen=True, slots=True)
class FeedRow:
    """Something that happened; its sentence is `feed.<kind>` of the catalogue, filled with `values`."""

    seq: int
    at: datetime
    step: int
    kind: str  # one of feed.KINDS
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
