"""Conversations as cards: what each is, the course of its prompts, and doors into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.components import part
from workbench.words import visible

_cards = part("cards")


@dataclass(frozen=True, slots=True)
class Card:
    key: str
    title: str
    says: str
    shape: dict[str, str]  # of charts.spark
    course: str  # what the drawing shows, in words
    figures: tuple[tuple[str, str], ...]
    doors: tuple[tuple[str, str, str], ...]  # name, label, address


def cards(shown: Sequence[Card], key: str, label: str, on_open: Callable[[], None]) -> Any:
    """Fires `[key, door]` where a door is opened in place."""
    return _cards(
        key=key,
        data={
            "label": label,
            "cards": [
                {"key": c.key, "title": visible(c.title, 120), "says": visible(c.says, 160), "shape": c.shape,
                 "course": c.course, "figures": [list(pair) for pair in c.figures],
                 "doors": [list(door) for door in c.doors]}
                for c in shown
            ],
        },
        on_open_change=on_open,
    )  # fmt: skip
