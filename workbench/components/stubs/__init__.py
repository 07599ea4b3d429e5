"""The bookmarks that stand in the window for pages that left; each can be read, and recalled for the next step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.components import part
from workbench.views.rows import StubRow
from workbench.words import Words, visible

_stubs = part("stubs")


def stubs(
    rows: Sequence[StubRow],
    say: Words,
    selected: int | None,
    on_page: Callable[[], None],
    on_recall: Callable[[], None],
    may_recall: bool,
    key: str = "stubs",
) -> Any:
    """`page` is the page to read, `recall` the name (p3 or p3-p41) to bring back."""
    return _stubs(
        key=key,
        data={
            "rows": [_row(row, say) for row in rows],
            "selected": selected,
            "may_recall": may_recall,
            "recall": say("stubs.recall"),
            "empty": say("stubs.empty"),
            "label": say("stubs.label"),
        },
        on_page_change=on_page,
        on_recall_change=on_recall,
    )


def _row(row: StubRow, say: Words) -> dict[str, Any]:
    is_range = row.last > row.first
    return {
        "name": row.name,
        "page": 0 if is_range else row.first,
        "keywords": [visible(word, 60) for word in row.keywords],
        "marked": row.origin == "user",
        "title": say("stubs.range", pages=row.last - row.first + 1, tokens=row.tokens)
        if is_range
        else say("stubs.single", origin=say.term("origin", row.origin), weight=row.weight, tokens=row.tokens),
        "recall": say("stubs.recall_one", page=row.name) if not is_range else say("stubs.open_range", pages=row.name),
        "range": is_range,
    }
