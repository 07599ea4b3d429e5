"""Nodes one below the other, or the edges of one: a sign of the kind, the words, what goes with them; for keys too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workbench.components import part
from workbench.words import visible

_list = part("node_list")


@dataclass(frozen=True, slots=True)
class Row:
    id: str  # what a click names
    kind: str  # of the node
    text: str
    meta: str
    before: str = ""  # the edge that leads there
    over: bool = False


def node_list(rows: Sequence[Row], label: str, selected: str, on_node: Callable[[], None], key: str) -> Any:
    """`node` of the result is the row that was chosen."""
    shown = [
        asdict(r) | {"key": f"{i}.{r.id}", "text": visible(r.text, 200), "meta": visible(r.meta, 300),
                     "before": visible(r.before, 80)}
        for i, r in enumerate(rows)
    ]  # fmt: skip
    return _list(key=key, data={"rows": shown, "label": label, "selected": selected}, on_node_change=on_node)
