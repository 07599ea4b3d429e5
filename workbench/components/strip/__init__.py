"""One column a step: tokens of its prompt before and after; those that changed stand out and lead to their turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.components import part
from workbench.words import Words, visible

_strip = part("strip")
MOST = 240  # columns; longer conversations share them


@dataclass(frozen=True, slots=True)
class Column:
    turn: int  # where a click leads
    before: int  # tokens
    after: int
    changed: int  # steps of it whose prompt changed
    says: str


def strip(
    columns: Sequence[Column], chosen: int | None, say: Words, key: str, label: str, on_turn: Callable[[], None]
) -> Any:
    """`turn` of the result is the one that was chosen."""
    top = max((max(c.before, c.after) for c in columns), default=0) or 1
    return _strip(
        key=key,
        data={
            "label": label,
            "legend": [[kind, say(f"tune.strip.{kind}")] for kind in ("before", "after", "same")],
            "ticks": [say.turns(c.turn, c.turn) for c in (columns[0], columns[-1])] if columns else [],
            "columns": [
                {"key": str(n), "turn": c.turn, "before": round(100 * c.before / top, 1),
                 "after": round(100 * c.after / top, 1), "changed": bool(c.changed), "chosen": c.turn == chosen,
                 "says": visible(c.says, 400)}
                for n, c in enumerate(columns)
            ],
        },
        on_turn_change=on_turn,
    )  # fmt: skip
