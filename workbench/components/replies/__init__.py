"""Two replies beside each other: the same words plain, those of one side alone marked. Words are text, no Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.components import part
from workbench.views.diff import words_diff
from workbench.words import visible

_replies = part("replies")
LONGEST = 12_000  # characters of one
MARKS = ("gone", "new")  # of the first, of the second


@dataclass(frozen=True, slots=True)
class Side:
    title: str
    text: str
    note: str = ""


def replies(sides: Sequence[Side], key: str, label: str, *, is_diff: bool) -> Any:
    """`is_diff`: what one says in the place of the other is marked."""
    pieces = [[["same", side.text]] for side in sides]
    if is_diff:
        both = list(words_diff(*(side.text for side in sides), whole=True))
        pieces = [[[p.kind, p.text] for p in both if p.kind in ("same", mark)] for mark in MARKS]
    told = [
        {"title": visible(side.title, 120), "note": visible(side.note, 200),
         "pieces": [[kind, visible(text, LONGEST)] for kind, text in own]}
        for side, own in zip(sides, pieces, strict=True)
    ]  # fmt: skip
    return _replies(key=key, data={"sides": told, "label": label})
