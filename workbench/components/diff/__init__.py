"""What changed between two prompts: one block a cause, the things that changed under it, their words on demand."""

from __future__ import annotations

from typing import Any

from workbench.components import part
from workbench.views.diff import Cause, Change, DiffView, Piece
from workbench.words import Words, visible

_diff = part("diff")
SIGNS = {"gone": "−", "new": "+", "changed": "±"}
SHOWN = 8_000  # characters of one text


def diff(view: DiffView, say: Words, key: str, layout: str) -> Any:
    """`layout`: unified, beside, or changes only."""
    return _diff(
        key=key,
        data={
            "causes": [_cause(i, cause, say) for i, cause in enumerate(view.causes)],
            "layout": layout,
            "empty": say("diff.same"),
            "label": say("diff.title"),
        },
    )


def _cause(index: int, cause: Cause, say: Words) -> dict[str, Any]:
    values = dict(cause.values)
    if "why" in values:
        values["why"] = say.reason(values["why"])
    if "cause" in values:
        values["cause"] = say.term("timeline.cause", values["cause"])
    return {
        "key": f"{index}.{cause.kind}",
        "kind": cause.kind,
        "title": say(f"cause.{cause.kind}", **values),
        "tokens": say("diff.tokens", tokens=f"{cause.tokens:+,}"),
        "changes": [_change(i, change, say) for i, change in enumerate(cause.changes)],
    }


def _change(index: int, change: Change, say: Words) -> dict[str, Any]:
    return {
        "key": f"{index}.{change.section}.{change.name}",
        "kind": change.kind,
        "sign": SIGNS[change.kind],
        "sign_label": say(f"diff.{change.kind}"),
        "section": change.section,
        "section_label": say(f"section.{change.section}"),
        "name": change.name,
        "tokens": f"{change.tokens:+,}",
        "before": visible(change.before, SHOWN),
        "after": visible(change.after, SHOWN),
        "pieces": [_piece(p) for p in change.pieces] or _whole(change),
    }


def _piece(piece: Piece) -> list[str]:
    return [piece.kind, visible(piece.text, SHOWN)]


def _whole(change: Change) -> list[list[str]]:
    return [[change.kind, visible(change.after or change.before, SHOWN)]]
