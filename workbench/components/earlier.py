"""Questions of the past that are like one: what each brought, and whether the reply used it. A click shows its turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from memory.earlier import Earlier
from memory.errors import EngineError
from workbench import state
from workbench.components.table import rows as table_rows
from workbench.state import Place
from workbench.words import Words, escaped, visible


def like(here: Place, question: str, say: Words, key: str) -> None:
    """Questions of the past like this one, once the reader wants them: the search takes a second to load."""
    if not question.strip() or not st.toggle(say("like.show"), key=f"{key}_shown", help=say("like.says")):
        return
    try:
        with st.spinner(say("why.working"), show_time=True):
            found = state.earlier(here, question)
    except EngineError as error:
        st.warning(escaped(visible(str(error), 400)))
        return
    how = (
        say("like.by_meaning", embedder=found.embedder)
        if found.embedder
        else say("like.by_words", why=say.reason(found.note))
    )
    st.caption(escaped(how))
    if not found.rows:
        st.caption(say("like.none"))
        return
    top = max(abs(r.score) for r in found.rows) or 1.0
    lines = [_line(n, r, top, here, say) for n, r in enumerate(found.rows)]
    head = [say("like.question"), say("like.score"), say("like.came_of_it")]
    table_rows(lines, head, say("like.show"), key, _opened(key, found.rows))


def _line(n: int, row: Earlier, top: float, here: Place, say: Words) -> dict[str, object]:
    there = "" if row.conversation == here.row.conversation else f"{visible(row.conversation, 60)} · "
    pages = {name: ", ".join(f"p{p}" for p in getattr(row, name)) for name in ("found", "came", "used")}
    return {
        "key": f"{n}.{row.turn}", "page": n, "stub": visible(row.question, 160),
        "turn": f"{there}{say('turn.one', turn=row.turn)}", "score": say.score(row.score), "parts": "",
        "width": round(100 * abs(row.score) / top, 1), "chosen": bool(row.used),
        "why": say(f"like.{row.outcome}", **pages),
    }  # fmt: skip


def _opened(key: str, rows: Sequence[Earlier]) -> Callable[[], None]:
    """A click shows that turn."""

    def fired() -> None:
        n = (st.session_state.get(key) or {}).get("page")
        if n is not None and 0 <= n < len(rows):
            state.go(conv=rows[n].conversation, run=rows[n].run, turn=rows[n].turn, page=None)

    return fired
