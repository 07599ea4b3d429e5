"""What is found against what it costs: one dot a cell, those on the front joined; the same as a table below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.charts import scatter
from workbench.components import part
from workbench.words import Words, visible

_front = part("front")
KINDS = ("front", "other", "oracle")


@dataclass(frozen=True, slots=True)
class Dot:
    key: str
    tokens: float
    ratio: float
    kind: str
    says: str
    cells: tuple[str, ...]  # of its row in the table
    chosen: bool = False


def front(
    dots: Sequence[Dot], head: Sequence[str], say: Words, key: str, label: str, alt: str, on_cell: Callable[[], None]
) -> Any:
    """`label` names the table; `alt` tells the drawing in words."""
    plot = scatter([(d.tokens, d.ratio) for d in dots])
    shown: list[dict[str, Any]] = [
        {"key": d.key, "left": left, "top": top, "kind": d.kind, "says": visible(d.says, 400), "chosen": d.chosen,
         "cells": [visible(cell, 120) for cell in d.cells]}
        for d, (left, top) in zip(dots, plot.dots, strict=True)
    ]  # fmt: skip
    ordered = sorted((d for d in shown if d["kind"] == "front"), key=lambda d: d["left"])
    return _front(
        key=key,
        data={
            "alt": alt,
            "label": label,
            "dots": shown,
            "line": " ".join(f"{d['left']},{d['top']}" for d in ordered),
            "across": [{"left": left, "label": say.short(n)} for left, n in plot.across],
            "up": [{"top": top, "label": f"{value:.1f}"} for top, value in plot.up],
            "axes": [say("lab.front.across"), say("lab.front.up")],
            "legend": [{"kind": kind, "label": say(f"lab.front.{kind}")} for kind in KINDS],
            "more": say("lab.front.table", n=len(shown)),
            "head": list(head),
            "rows": sorted(shown, key=lambda d: (KINDS.index(d["kind"]), d["left"])),
        },
        on_cell_change=on_cell,
    )
