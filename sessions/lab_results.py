"""What a grid of paging policies came to, over all conversations: shares with their n and interval, a front, a table.

Not here: how an outcome comes about (paging.py), and the grid on its way (lab.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from memory import show
from memory.show import Shown, many
from sessions.honesty import OWN, SHIPPED, Honesty
from sessions.paging import ORACLE, RECALLS, Cell, Outcome

RESAMPLES = 500


@dataclass(frozen=True)
class Result:
    """What a cell came to over all conversations."""

    cell: Cell
    outcomes: tuple[Outcome, ...]
    regret: int = 0  # questions with a resident page under the oracle reference, less those here; may be negative

    @property
    def n(self) -> int:
        return len(self.outcomes)

    @property
    def faults(self) -> int:
        return sum(not o.resident for o in self.outcomes)

    def end_to_end(self, recalls: int = 1) -> float:
        """Share of the questions that have a page with evidence before them, resident or recalled."""
        return _share(o.right(recalls) for o in self.outcomes)

    @property
    def precision(self) -> float | None:
        """Of the questions without such a page, those whose first recalled page is right; None: there are none."""
        return _share(o.right(1) for o in self.outcomes if not o.resident) if self.faults else None

    @property
    def spent(self) -> float:
        """Tokens a question: the window's room, and the first page that is recalled."""
        recalled = mean(o.tokens[0] for o in self.outcomes)
        return recalled + (self.cell.budget if not self.cell.pages else 0)

    def split(self, recalls: int = 3) -> dict[str, int]:
        found = Counter("resident" if o.resident else "recallable" if o.right(recalls) else "lost"
                        for o in self.outcomes)  # fmt: skip
        return {name: found[name] for name in ("resident", "recallable", "lost")}

    @property
    def categories(self) -> dict[str, dict[str, Any]]:
        """By category: n, end to end with one page and the interval of that."""
        return {name: interval([o.right(1) for o in self.outcomes if o.category == name])
                for name in sorted({o.category for o in self.outcomes})}  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        recalled = [o.tokens for o in self.outcomes]
        return asdict(self.cell) | {
            "n": self.n,
            "end_to_end": {str(k): interval([o.right(k) for o in self.outcomes]) for k in RECALLS},
            "precision": None if self.precision is None else round(self.precision, 4),
            "whole": round(_share(o.whole for o in self.outcomes), 4),
            "split": self.split(), "faults": self.faults, "regret": self.regret, "spent": round(self.spent, 1),
            "recalled_tokens": {str(k): round(mean(each[i] for each in recalled), 1) for i, k in enumerate(RECALLS)},
            "candidates": round(mean(o.candidates for o in self.outcomes), 1),
            "by_category": self.categories,
        }  # fmt: skip


@dataclass(frozen=True)
class Lab(Shown):
    """A grid of cells over conversations."""

    results: tuple[Result, ...]
    conversations: int
    corpus_tokens: int  # of all pages, a conversation on average
    sizes: tuple[int, ...] = ()  # questions of each conversation, in the order of the outcomes
    labels: str = OWN
    wrong_labels: int | None = None
    tuned: str = SHIPPED

    def __repr__(self) -> str:
        best, of = self.best, f"{many(len(self.results), 'cell')} over {many(self.conversations, 'conversation')}"
        return f"<Lab of {of}, n = {best.n}: best {best.end_to_end():.3f} with one page, {best.cell.name}>"

    @property
    def real(self) -> tuple[Result, ...]:
        """Without the oracle, which knows what will be asked; with it where there is nothing else."""
        return tuple(r for r in self.results if r.cell.eviction != ORACLE) or self.results

    @property
    def best(self) -> Result:
        return max(self.real, key=Result.end_to_end)

    @property
    def front(self) -> tuple[Result, ...]:
        """Cells than which none has more questions right with one page at as few tokens for pages and recall."""
        front: list[Result] = []
        for each in sorted(self.real, key=lambda r: (r.spent, -r.end_to_end())):
            if not front or each.end_to_end() > front[-1].end_to_end():
                front.append(each)
        return tuple(front)

    @property
    def held_out(self) -> dict[str, Any] | None:
        """The best cell chosen on all conversations but one, on that one, for each in turn; None of a single one."""
        if len(self.sizes) < 2:
            return None
        ends = list(accumulate(self.sizes))
        right: list[bool] = []
        chosen: Counter[str] = Counter()
        for start, end in zip((0, *ends), ends, strict=False):
            best = max(self.real, key=lambda r: sum(o.right(1) for o in (*r.outcomes[:start], *r.outcomes[end:])))
            chosen[best.cell.name] += 1
            right += [o.right(1) for o in best.outcomes[start:end]]
        return interval(right) | {"chosen": dict(chosen)}

    @property
    def honesty(self) -> Honesty:
        """What a figure of this lab is worth."""
        budgets = [r.cell.budget for r in self.results if not r.cell.pages] or [0]
        candidates = mean(o.candidates for r in self.results for o in r.outcomes)
        return Honesty(self.best.n, self.conversations, max(RECALLS), candidates, (min(budgets), max(budgets)),
                       self.corpus_tokens, self.labels, self.wrong_labels, self.tuned)  # fmt: skip

    HEAD = ("cell", "n", "right with 1", "interval", "with 3", "with 5", "first page", "resident", "recallable", "lost",
            "recalled tokens", "regret")  # fmt: skip

    def lines(self, results: Sequence[Result] | None = None) -> list[list[Any]]:
        """For a table, as HEAD names them; of all cells, or of these."""
        return [_line(r) for r in (self.results if results is None else results)]

    def _html(self) -> str:
        return show.rows("policy lab", self.honesty.to_dict()) + show.table(self.HEAD, self.lines())

    def to_dict(self) -> dict[str, Any]:
        return {"honesty": self.honesty.to_dict(), "best": self.best.cell.name, "held_out": self.held_out,
                "front": [r.cell.name for r in self.front],
                "cells": [r.to_dict() for r in self.results]}  # fmt: skip

    def to_df(self) -> Any:
        """One row a cell."""
        import pandas as pd

        return pd.DataFrame([dict(zip(self.HEAD, line, strict=True)) for line in self.lines()])


def result(cell: Cell, outcomes: Sequence[Outcome], oracle: Sequence[Outcome]) -> Result:
    regret = sum(o.resident for o in oracle) - sum(o.resident for o in outcomes)
    return Result(cell, tuple(outcomes), regret)


def _line(r: Result) -> list[Any]:
    told = interval([o.right(1) for o in r.outcomes])
    return [
        r.cell.name, r.n, f"{r.end_to_end():.3f}", f"{told['low']:.2f} to {told['high']:.2f}",
        f"{r.end_to_end(3):.3f}", f"{r.end_to_end(5):.3f}", "–" if r.precision is None else f"{r.precision:.3f}",
        *r.split().values(), round(mean(o.tokens[0] for o in r.outcomes)), r.regret,
    ]  # fmt: skip


def _share(values: Iterable[bool]) -> float:
    return mean(map(float, values))


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def interval(values: Sequence[bool]) -> dict[str, Any]:
    """Share, n, and where 95 of 100 bootstrap samples of the questions lie."""
    right = np.random.default_rng(1).binomial(len(values), _share(values), RESAMPLES) / len(values)
    low, high = np.quantile(right, [0.025, 0.975])
    return {"value": round(_share(values), 4), "low": round(float(low), 4), "high": round(float(high), 4),
            "n": len(values)}  # fmt: skip
