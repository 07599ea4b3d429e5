"""A table of our own figures: sorted and paged by the server, so a thousand rows cost the browser a screenful.

A row may lead somewhere: its first cell is then a link with an address of its own, which a click follows in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.components import part
from workbench.words import Words, visible

_grid = part("grid")


@dataclass(frozen=True, slots=True)
class Column:
    key: str
    label: str
    kind: str = "text"  # num: to the right; long: may take lines; act: a button with the cell's words
    sorts: bool = False
    says: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    sub: str = ""
    says: str = ""
    tone: str = ""  # ok, quiet, warn, bad: a mark before the words
    shape: dict[str, str] = field(default_factory=dict)  # of charts.spark


@dataclass(frozen=True, slots=True)
class Line:
    key: str
    cells: tuple[Cell, ...]  # one a column
    href: str = ""  # relative, as "live?user=ana"


@dataclass(frozen=True, slots=True)
class Pager:
    first: int  # from 0
    shown: int
    all: int
    size: int

    def told(self, say: Words) -> dict[str, Any]:
        text = say("grid.rows", first=self.first + 1, last=self.first + self.shown, all=self.all)
        before = max(0, self.first - self.size) if self.first else -1
        after = self.first + self.size if self.first + self.shown < self.all else -1
        return {"text": text, "before": before, "after": after, "labels": [say("grid.before"), say("grid.after")]}


def _nothing() -> None: ...


def grid(
    columns: Sequence[Column],
    lines: Sequence[Line],
    say: Words,
    key: str,
    label: str,
    *,
    empty: str = "",
    sort: tuple[str, bool] = ("", False),
    pager: Pager | None = None,
    on_open: Callable[[], None] = _nothing,
    on_sort: Callable[[], None] = _nothing,
    on_page: Callable[[], None] = _nothing,
    on_act: Callable[[], None] = _nothing,
) -> Any:
    """`sort`: by which column, and whether the largest stands first. Fires keys, and a row to begin at."""
    return _grid(
        key=key,
        data={
            "label": label,
            "empty": empty,
            "columns": [
                {"key": c.key, "label": c.label, "kind": c.kind, "sorts": c.sorts, "says": c.says,
                 "sorted": ("down" if sort[1] else "up") if c.key == sort[0] else ""}
                for c in columns
            ],
            "rows": [
                {"key": line.key, "href": line.href,
                 "cells": [
                     {"text": visible(c.text, 300), "sub": visible(c.sub, 400), "says": visible(c.says, 600),
                      "tone": c.tone, "shape": c.shape}
                     for c in line.cells
                 ]}
                for line in lines
            ],
            "pager": pager.told(say) if pager is not None and pager.all > pager.shown else None,
        },
        on_open_change=on_open, on_sort_change=on_sort, on_page_change=on_page, on_act_change=on_act,
    )  # fmt: skip
