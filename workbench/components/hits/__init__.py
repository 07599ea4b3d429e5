"""What a search found, in groups: each a link to where it stands, with the words around what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.components import part
from workbench.words import visible

_hits = part("hits")


@dataclass(frozen=True, slots=True)
class Row:
    key: str
    name: str
    where: str
    state: str  # "" where nothing is to be told apart
    words: tuple[str, str, str]  # before, found, after
    href: str  # relative


@dataclass(frozen=True, slots=True)
class Section:
    key: str
    label: str
    icon: str
    note: str  # that there are others
    rows: Sequence[Row]


def hits(sections: Sequence[Section], label: str, key: str, on_open: Callable[[], None]) -> Any:
    """`open` of the result is the key of a section and of a row in it; a click with Ctrl follows the address."""
    told = [
        {"key": s.key, "label": s.label, "icon": s.icon, "note": s.note, "rows": [
            {"key": r.key, "name": visible(r.name, 80), "where": visible(r.where, 120), "state": r.state,
             "words": [visible(piece, 400) for piece in r.words], "href": r.href} for r in s.rows]}
        for s in sections
    ]  # fmt: skip
    return _hits(key=key, data={"label": label, "sections": told}, on_open_change=on_open)
