"""A heat map that is a table: every cell says its figure, the colour only repeats it; a cell may be chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.components import part
from workbench.words import visible

_heat = part("heat")


@dataclass(frozen=True, slots=True)
class Cell:
    key: str
    text: str
    sub: str
    says: str
    level: float  # 0..1: how strong its colour is
    mark: str = ""  # after the figure
    chosen: bool = False


def heat(
    corner: str,
    columns: Sequence[tuple[str, str, bool]],
    rows: Sequence[tuple[str, str, Sequence[Cell]]],
    key: str,
    label: str,
    note: str,
    on_cell: Callable[[], None],
) -> Any:
    """`columns`: name, what it says, whether it stands apart from the others; `rows`: name, what it says, cells."""
    return _heat(
        key=key,
        data={
            "label": label,
            "note": note,
            "corner": corner,
            "columns": [{"name": visible(n, 60), "says": visible(s, 300), "apart": apart} for n, s, apart in columns],
            "rows": [
                {"name": visible(name, 60), "says": visible(says, 300),
                 "cells": [{"key": c.key, "text": c.text, "sub": c.sub, "says": visible(c.says, 500), "mark": c.mark,
                            "level": round(100 * c.level), "chosen": c.chosen, "apart": columns[n][2]}
                           for n, c in enumerate(cells)]}
                for name, says, cells in rows
            ],
        },
        on_cell_change=on_cell,
    )  # fmt: skip
