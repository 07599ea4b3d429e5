"""Sentences that somebody may correct, mark, forget, erase or undo: in groups, each with where it comes from.

A row brings its own acts; what was done comes back as one dictionary: `{"do": "correct", "key": 3, "value": "…"}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.components import part
from workbench.words import Words, visible

_entries = part("entries")

ACTS = ("mark", "correct", "release", "undo", "forget", "erase")


@dataclass(frozen=True, slots=True)
class Line:
    key: int
    text: str
    about: tuple[str, ...] = ()  # small print: since when, last used
    quote: str = ""
    quoted: str = ""  # who said it, and where
    acts: tuple[str, ...] = ()
    marked: bool = False
    value: str = ""  # what a correction begins with
    quiet: bool = False  # it is over, or undone


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    title: str
    lines: tuple[Line, ...]
    says: str = ""


def entries(groups: Sequence[Group], say: Words, on_act: Callable[[], None], key: str, label: str) -> Any:
    return _entries(
        key=key,
        data={"groups": [_group(g) for g in groups], "label": label, "words": _words(say)},
        on_act_change=on_act,
    )


def _words(say: Words) -> Mapping[str, str]:
    own = ("unmark", "save", "cancel", "value", "until_now", "forget.says", "erase.says")
    return {name: say(f"review.do.{name}") for name in (*ACTS, *own)}


def _group(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "title": group.title,
        "count": len(group.lines),
        "says": group.says,
        "lines": [
            {
                "key": line.key,
                "text": visible(line.text, 1_000),
                "about": [visible(each, 200) for each in line.about],
                "quote": visible(line.quote, 600),
                "quoted": visible(line.quoted, 200),
                "acts": list(line.acts),
                "marked": line.marked,
                "value": visible(line.value, 1_000),
                "quiet": line.quiet,
            }
            for line in group.lines
        ],
    }
