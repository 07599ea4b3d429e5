"""A grid of paging policies as a page shows it: a heat map at one budget, the front over all of them, one cell whole.

The figures are sessions/lab.py's. The oracle knows what will be asked: it stands beside the others, and on no front.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory import show
from memory.errors import UnknownName
from memory.show import Shown
from sessions.lab import grid
from sessions.lab_results import Lab, Result, interval
from sessions.paging import CONTENT, MESSAGELESS, MODELLESS, ORACLE, Cell

Metric = Callable[[Result], float]
BUDGETS = (2_000, 4_000, 8_000)
KINDS = ("fixed_5", "fixed_10", "fixed_20", "exchange_5")
ALL_KINDS = (*KINDS, "tokens_800", "idle_6+fixed_20", "topic_shift")
GRIDS: Mapping[str, Callable[[], tuple[Cell, ...]]] = {
    "quick": lambda: grid(boundaries=KINDS, evictions=("fifo", "lru", "lfu", ORACLE), budgets=BUDGETS),
    "wide": lambda: grid(
        boundaries=ALL_KINDS, evictions=(*MESSAGELESS, ORACLE), recalls=(CONTENT, *MODELLESS), budgets=BUDGETS
    ),
    "pages": lambda: grid(boundaries=KINDS, evictions=("fifo", "lru", "lfu", ORACLE), pages=(3, 5, 10)),
}
METRICS: Mapping[str, Metric] = {
    "right1": lambda r: r.end_to_end(1),
    "right3": lambda r: r.end_to_end(3),
    "right5": lambda r: r.end_to_end(5),
    "resident": lambda r: 1 - r.faults / r.n,
    "recalled": lambda r: sum(o.tokens[0] for o in r.outcomes) / r.n,
    "regret": lambda r: float(r.regret),
}
LESS_IS_BETTER = ("recalled", "regret")


@dataclass(frozen=True, slots=True)
class HeatCell:
    """`level`: 0 the worst shown, 1 the best."""

    index: int  # among the results of the lab
    value: float
    low: float | None  # 95 of 100 samples; None where the metric is no share
    high: float | None
    level: float
    is_best: bool  # of those that can be had: the oracle is no choice
    is_front: bool
    result: Result


@dataclass(frozen=True)
class LabView(Shown):
    """`room` is a budget, or pages; `by` what a recall goes by."""

    lab: Lab
    metric: str
    by: str
    room: int
    chosen: int  # index of the cell that is shown whole
    boundaries: tuple[str, ...]
    evictions: tuple[str, ...]
    heat: tuple[tuple[HeatCell, ...], ...]  # a row a boundary

    @property
    def is_by_pages(self) -> bool:
        return bool(self.lab.results[0].cell.pages)

    @property
    def rooms(self) -> tuple[int, ...]:
        return tuple(sorted({_room(r.cell) for r in self.lab.results}))

    @property
    def recalls(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(r.cell.recall for r in self.lab.results))

    @property
    def cell(self) -> Result:
        return self.lab.results[self.chosen]

    @property
    def points(self) -> list[tuple[int, Result, str]]:
        """Index, cell, and front, oracle or other. Pages of unequal size have no price in tokens: then none."""
        if self.is_by_pages:
            return []
        front = set(map(id, self.lab.front))
        return [(n, r, "oracle" if r.cell.eviction == ORACLE else "front" if id(r) in front else "other")
                for n, r in enumerate(self.lab.results)]  # fmt: skip

    def __repr__(self) -> str:
        room = f"{self.room} pages" if self.is_by_pages else f"{self.room:,} tokens"
        return f"<LabView {self.metric} at {room}, recall by {self.by}: {self.lab!r}>"

    def _html(self) -> str:
        told = [[boundary, *(f"{cell.value:.3g}" for cell in row)]
                for boundary, row in zip(self.boundaries, self.heat, strict=True)]  # fmt: skip
        front = [(r.cell.name, f"{r.spent:,.0f}", f"{r.end_to_end():.3f}") for r in self.lab.front]
        return (
            show.rows(repr(self)[1:-1], self.lab.honesty.to_dict())
            + show.table((self.metric, *self.evictions), told)
            + show.table(("on the front", "tokens a question", "right with one page"), front)
        )

    def to_dict(self) -> dict[str, Any]:
        return {"metric": self.metric, "by": self.by, "room": self.room, "cell": self.cell.to_dict(),
                **self.lab.to_dict()}  # fmt: skip

    def to_df(self) -> Any:
        """One row a cell of the whole grid."""
        return self.lab.to_df()


def lab_view(
    lab: Lab, *, metric: str = "right1", by: str = "", room: int | None = None, chosen: int | None = None
) -> LabView:
    """What is not said: recall by the first way, the middle room, the best cell there. What is not in the grid is
    taken as not said. Raises UnknownName for a metric."""
    if metric not in METRICS:
        raise UnknownName("metric of the lab", metric, METRICS)
    recalls = [r.cell.recall for r in lab.results]
    rooms = sorted({_room(r.cell) for r in lab.results})
    by = by if by in recalls else recalls[0]
    room = room if room in rooms else rooms[len(rooms) // 2]
    shown = [(n, r) for n, r in enumerate(lab.results) if r.cell.recall == by and _room(r.cell) == room]
    boundaries = tuple(dict.fromkeys(r.cell.boundary for _, r in shown))
    evictions = tuple(dict.fromkeys(r.cell.eviction for _, r in shown))
    cells = _heat(shown, lab, metric)
    heat = tuple(tuple(cells[b, e] for e in evictions) for b in boundaries)
    if chosen is None or not 0 <= chosen < len(lab.results):
        chosen = next((c.index for c in cells.values() if c.is_best), shown[0][0])
    return LabView(lab, metric, by, room, chosen, boundaries, evictions, heat)


def _room(cell: Cell) -> int:
    return cell.pages or cell.budget


def _heat(shown: Sequence[tuple[int, Result]], lab: Lab, metric: str) -> dict[tuple[str, str], HeatCell]:
    sign = -1 if metric in LESS_IS_BETTER else 1
    values = {n: METRICS[metric](r) for n, r in shown}
    ranks = {n: sign * value for n, value in values.items()}
    real = [n for n, r in shown if r.cell.eviction != ORACLE] or list(values)
    least, most = min(ranks[n] for n in real), max(ranks[n] for n in real)

    def level(rank: float) -> float:
        return min(1.0, max(0.0, (rank - least) / (most - least))) if most > least else 0.0

    best = max(real, key=lambda n: ranks[n])
    front = set() if lab.results[0].cell.pages else set(map(id, lab.front))
    return {
        (r.cell.boundary, r.cell.eviction): HeatCell(
            n, values[n], *_interval(r, metric), level(ranks[n]),
            n == best, id(r) in front, r,
        )
        for n, r in shown
    }  # fmt: skip


def _interval(r: Result, metric: str) -> tuple[float | None, float | None]:
    if metric not in ("right1", "right3", "right5", "resident"):
        return None, None
    recalls = int(metric[-1]) if metric[-1].isdigit() else 0
    told = interval([o.right(recalls) if recalls else o.resident for o in r.outcomes])
    return told["low"], told["high"]
