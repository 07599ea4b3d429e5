"""What happened, newest first: a sentence each, with its time, an icon and a colour; a row about a page reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.components import part
from workbench.views.rows import FeedRow
from workbench.words import Words

_feed = part("feed")


def feed(
    rows: Sequence[FeedRow],
    say: Words,
    on_page: Callable[[], None] | None = None,
    key: str = "feed",
    height: int = 432,
    steps: bool = False,
) -> Any:
    """`steps`: tell the step instead of the time of day, for the course of one page."""
    return _feed(
        key=key,
        data={
            "rows": [_row(row, say, steps) for row in rows if row.kind != "finished" or row.values["ms"]],
            "empty": say("feed.empty"),
            "label": say("feed.label"),
            "height": height,
            "may_read": on_page is not None,
        },
        on_page_change=on_page or (lambda: None),
    )


def _row(row: FeedRow, say: Words, steps: bool) -> dict[str, Any]:
    return {
        "key": f"{row.seq}.{row.kind}",
        "time": say("feed.step", step=row.step) if steps else say.clock(row.at),
        "title": f"{say.moment(row.at)} · {say('feed.step', step=row.step)} · #{row.seq}",
        "tone": row.tone,
        "kind": say(f"kind.{row.kind}"),
        "text": say.sentence(row.kind, row.values),
        "page": row.page,
    }
