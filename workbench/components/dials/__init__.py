"""Every setting as a slider, a list or a field, with presets, a search and what may be done with the result.

For a notebook: Streamlit's page has sliders of its own. What a dial is comes from views/tune.py; a value that was moved
stands here at once, and is told when its reader pauses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.components import part
from workbench.views.tune import GROUPS, Dial
from workbench.words import Words, visible

_dials = part("dials")
WORDS = {
    "label": "tune.dials", "find": "tune.find.example", "none": "tune.find.none", "groups": "tune.groups",
    "moved": "tune.group.moved", "apply": "tune.apply", "undo": "tune.undo", "reset": "tune.reset",
    "file": "tune.file", "file_says": "tune.file.says",
}  # fmt: skip


def dials(
    shown: Sequence[Dial], presets: Mapping[str, Mapping[str, Any]], say: Words, *, heard: int, told: str,
    may: Mapping[str, bool], files: Mapping[str, str], is_refused: bool = False,
) -> Any:  # fmt: skip
    """`heard`: the number of the last move that was taken up; `may`: which of apply, undo and reset can be done."""
    return _dials(
        key="dials",
        data={
            "dials": [_dial(each, say) for each in shown],
            "presets": [[name, say(f"tune.preset.{name}"), _told(changes, say)] for name, changes in presets.items()],
            "groups": [[name, say(f"tune.group.{name}")] for name in GROUPS],
            "words": {name: say(key) for name, key in WORDS.items()},
            "heard": heard,
            "told": visible(told, 400),
            "refused": is_refused,
            "may": dict(may),
            "files": dict(files),
        },
    )


def _dial(dial: Dial, say: Words) -> dict[str, Any]:
    mark = {"": say("tune.unseen"), "questions": say("tune.in_questions")}.get(dial.shows, "")
    return {
        "name": dial.name, "group": dial.group, "kind": dial.kind, "value": dial.value, "moved": dial.is_moved,
        "low": dial.low, "high": dial.high, "step": dial.step, "choices": list(dial.choices), "mark": mark,
        "unit": "" if dial.kind in ("name", "text") else dial.unit, "says": dial.says, "range": range_of(dial, say),
    }  # fmt: skip


def _told(changes: Mapping[str, Any], say: Words) -> str:
    return say("tune.preset.says", settings=", ".join(f"{name}={value}" for name, value in changes.items()))


def range_of(dial: Dial, say: Words) -> str:
    if dial.kind not in ("int", "float"):
        return say("tune.range.name", default=dial.default or "—")
    return say("tune.range", low=f"{dial.low:,}", high=f"{dial.high:,}", unit=dial.unit, default=f"{dial.default:,}")
