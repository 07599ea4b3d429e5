"""Bookmarks as a cloud of buttons: the larger the more they were used; a sign and a colour say what came of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.components import part
from workbench.views.bookmarks import SIGNS, BookmarkRow, size
from workbench.words import Words, visible

_cloud = part("cloud")

SHOWN = 400  # buttons
WORDS = 3  # keywords on a button


def cloud(
    rows: Sequence[BookmarkRow], most: int, say: Words, selected: int | None, on_pick: Callable[[], None],
    key: str = "cloud",
) -> Any:  # fmt: skip
    """`most`: uses of the most used bookmark of all; fires `pick` with the page."""
    return _cloud(
        key=key,
        data={
            "rows": [_row(row, most, say) for row in rows[:SHOWN]],
            "selected": selected or 0,
            "label": say("bookmarks.cloud"),
            "empty": say("bookmarks.none_such"),
        },
        on_pick_change=on_pick,
    )


def _row(row: BookmarkRow, most: int, say: Words) -> dict[str, Any]:
    words = " · ".join(visible(word, 40) for word in row.keywords[:WORDS])
    outcome = say(f"bookmarks.{row.outcome}")
    told = say("bookmarks.button", outcome=outcome, n=len(row.uses), origin=say.term("origin", row.origin))
    return {
        "page": row.page,
        "name": f"p{row.page}",
        "words": words or say("bookmarks.bare"),
        "sign": SIGNS[row.outcome],
        "outcome": row.outcome,
        "size": round(size(len(row.uses), most), 3),
        "edited": row.origin == "edited",
        "title": f"{visible(row.stub, 200)}\n{told}",
        "says": f"p{row.page}, {words}: {told}",
    }
