"""Amounts as bars, each with its words and its figure: a list that reads the same without the bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.components import part
from workbench.words import visible

_bars = part("bars")


@dataclass(frozen=True, slots=True)
class Bar:
    key: str
    label: str
    value: str
    amount: float
    says: str = ""
    tone: str = ""  # far: hatched, in another colour; quiet: grey, beside one that is meant


def bars(rows: Sequence[Bar], key: str, label: str) -> Any:
    top = max((row.amount for row in rows), default=0) or 1
    told = [
        {"key": r.key, "label": visible(r.label, 120), "value": r.value, "says": visible(r.says, 300), "tone": r.tone,
         "width": round(100 * r.amount / top, 1)}
        for r in rows
    ]  # fmt: skip
    return _bars(key=key, data={"rows": told, "label": label})
