"""Evictions as a table: what left, by which score, who might have left instead, what it cost later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from workbench.components.table import rows as table_rows
from workbench.components.trace import section
from workbench.views.evictions import EvictionCost, EvictionsView
from workbench.words import Words, visible

SHOWN = 200  # rows


def figures(view: EvictionsView, say: Words) -> list[tuple[str, str]]:
    return [
        (say("evictions.figure.all"), say.number(len(view.rows))),
        (say("evictions.figure.freed"), say.number(view.freed_tokens)),
        (say("evictions.figure.back"), say.number(view.came_back)),
        (say("evictions.figure.tokens"), say.number(view.recalled_tokens)),
        (say("evictions.figure.regret"), say.number(view.regretted)),
    ]


def head(view: EvictionsView, say: Words) -> None:
    section(say("evictions.each"), "logout", str(len(view.rows)), say("evictions.says"))


def table(view: EvictionsView, say: Words, on_page: Callable[[], None], key: str = "costs_table") -> Any:
    if not view.rows:
        st.caption(say("trace.no_evictions"))
        return None
    if len(view.rows) > SHOWN:
        st.caption(say("evictions.capped", shown=SHOWN, all=len(view.rows)))
    shown = view.rows[:SHOWN]
    top = max((row.recalled_tokens for row in shown), default=0) or 1
    heads = [say("candidates.page"), say("evictions.cost"), say("candidates.why")]
    return table_rows(
        [_row(i, row, top, say) for i, row in enumerate(shown)], heads, say("evictions.each"), key, on_page
    )


def _row(index: int, row: EvictionCost, top: int, say: Words) -> dict[str, Any]:
    return {
        "key": f"{index}.{row.page}",
        "page": row.page,
        "stub": visible(row.stub, 160),
        "turn": say("evictions.at", turn=row.turn, step=row.step),
        "score": say("tokens", tokens=row.recalled_tokens),
        "parts": say("evictions.freed", tokens=row.freed_tokens),
        "width": round(100 * row.recalled_tokens / top, 1),
        "chosen": not row.back_step,
        "why": " · ".join(_told(row, say)),
    }


def _told(row: EvictionCost, say: Words) -> list[str]:
    by = say.term("decided_by", row.decided_by) if row.decided_by else say.term("policy", row.policy)
    told = [say("evictions.by", by=by, score=row.score, candidates=row.candidates)]
    if row.why:
        told.append(say.reason(row.why))
    if row.runner_up:
        told.append(say("evicted.runner_up", page=f"p{row.runner_up}", score=row.runner_up_score))
    if not row.back_step:
        return [*told, say("evictions.never")]
    asked = say("evictions.asked", question=row.question) if row.question else ""
    told.append(say("evictions.back", step=row.back_step, faults=row.faults, asked=asked))
    if row.better:
        when = say("evictions.better.step", step=row.better_step) if row.better_step else say("evictions.better.never")
        told.append(say("evictions.better", page=f"p{row.better}", when=when))
    return told
