"""What was considered, with scores: what was chosen stands first and is ticked, the rest says why it was dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.components import part
from workbench.views.retrieval import CandidateRow
from workbench.words import Words, visible

_table = part("table")


def candidates(
    considered: Sequence[CandidateRow],
    say: Words,
    key: str,
    on_page: Callable[[], None] | None = None,
    chosen: str = "candidates.chosen",
    score: str = "candidates.score",
    channels: Sequence[str] = (),
) -> Any:
    top = max((abs(row.score) for row in considered), default=0) or 1
    lines = [
        {
            "key": f"{i}.{row.page}",
            "page": row.page,
            "stub": visible(row.stub, 160) or f"[p{row.page}]",
            "turn": say("candidates.turn", turn=row.turn) if row.turn else "",
            "score": say.score(row.score),
            "parts": _parts(row, channels, say),
            "width": round(100 * abs(row.score) / top, 1),
            "chosen": not row.dropped,
            "why": say.reason(row.dropped) if row.dropped else say(chosen),
        }
        for i, row in enumerate(considered)
    ]
    head = [say("candidates.page"), say(score), say("candidates.why")]
    return rows(lines, head, say("candidates.label"), key, on_page)


def rows(
    lines: Sequence[dict[str, Any]], head: Sequence[str], label: str, key: str, on_page: Callable[[], None] | None
) -> Any:
    """A table of pages: a name that opens the page, a figure with a bar, a tick or a cross with the reason."""
    return _table(
        key=key,
        data={"head": list(head), "label": label, "rows": list(lines), "may_read": on_page is not None},
        on_page_change=on_page or (lambda: None),
    )


def _parts(row: CandidateRow, channels: Sequence[str], say: Words) -> str:
    """What each channel said, and what that adds to the score."""
    told = zip(channels, row.raw, row.shares, strict=False)
    return " · ".join(
        say("candidates.part", channel=say.term("channel", name), raw=say.score(raw), share=f"{share:+.2f}")
        for name, raw, share in told
    )
