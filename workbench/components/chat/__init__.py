"""The conversation as messages: who said what, on which page, whether the model still sees it. Each can be marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.components import part
from workbench.views.rows import ChatRow
from workbench.words import Words, visible

_chat = part("chat")
SHOWN = 20_000  # characters of one message


def chat(
    rows: Sequence[ChatRow],
    say: Words,
    on_mark: Callable[[], None] | None = None,
    on_page: Callable[[], None] | None = None,
    key: str = "chat",
    height: int = 460,
    evidence: Sequence[int] = (),
    at_end: bool = True,
) -> Any:
    """`mark` is `{turn, important}` of the star that was clicked; without `on_mark` there are no stars.
    `at_end`: begin with the last message in sight, as a chat does."""
    return _chat(
        key=key,
        data={
            "rows": [_row(row, say, row.turn in evidence) for row in rows],
            "may_mark": on_mark is not None,
            "may_read": on_page is not None,
            "height": height,
            "at_end": at_end,
            "words": {name: say(f"chat.{name}") for name in ("mark", "unmark", "more", "less", "empty", "label")},
        },
        on_mark_change=on_mark or (lambda: None),
        on_page_change=on_page or (lambda: None),
    )


def waiting(text: str, reply: str, state: str, say: Words, key: str = "waiting") -> None:
    """The message under way: what was said, and the reply as far as it came."""
    rows = [
        {"turn": -2, "role": "user", "speaker": say("chat.you"), "text": visible(text, SHOWN), "resident": True},
        {
            "turn": -1,
            "role": "assistant",
            "speaker": state,
            "text": visible(reply, SHOWN),
            "resident": True,
            "typing": True,
        },
    ]
    words = {name: say(f"chat.{name}") for name in ("more", "less", "empty", "label")}
    _chat(
        key=key,
        data={"rows": rows, "at_end": True, "may_mark": False, "may_read": False, "height": 460, "words": words},
    )


def _row(row: ChatRow, say: Words, is_evidence: bool) -> dict[str, Any]:
    recalled = ", ".join(f"p{n}" for n in row.recalled)
    return {
        "turn": row.turn,
        "number": f"#{row.turn}",
        "role": row.role,
        "speaker": say.term("role", row.speaker) if row.speaker == row.role else visible(row.speaker, 60),
        "time": say.moment(row.said_at),
        "text": visible(row.text, SHOWN),
        "page": row.page,
        "page_label": f"p{row.page}",
        "resident": row.resident,
        "where": say("chat.resident") if row.resident else say("chat.gone"),
        "where_title": say("chat.resident.says", page=row.page)
        if row.resident
        else say("chat.gone.says", page=row.page),
        "marked": row.marked,
        "recalled": say("chat.recalled", pages=recalled) if recalled else "",
        "evidence": say("chat.evidence") if is_evidence else "",
        "tokens": say("tokens", tokens=row.tokens),
    }
