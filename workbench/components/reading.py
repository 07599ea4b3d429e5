"""One page, read: what it says, what it is remembered by, and when and why it came and left."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from workbench import state
from workbench.components.chat import chat
from workbench.components.facts import facts
from workbench.components.feed import feed
from workbench.live import Acts
from workbench.views.window import PageView
from workbench.words import Words


def beside(here: state.Place, say: Words, acts: Acts, else_: Callable[[], None]) -> None:
    """The page that the reader opened; without one, what stands here otherwise."""
    opened = state.page(here)
    if opened is None:
        else_()
    else:
        reading(opened, here, say, acts.mark("page_chat"), acts.close)


def reading(
    view: PageView, here: state.Place, say: Words, on_mark: Callable[[], None] | None, on_close: Callable[[], None]
) -> None:
    row = view.row
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"##### :material/auto_stories: {row.name} · {say(f'state.{row.state}')}", width="content")
        st.button("✕", help=say("page.close"), on_click=on_close, key="close_page", type="tertiary")
    importance = (
        f"{say.score(row.importance)} · {say.reason(view.why_important)}"
        if view.why_important
        else say.score(row.importance)
    )
    facts(
        [
            (say("page.turns"), f"{row.first}–{row.last}"),
            (say("page.tokens"), say.number(row.tokens)),
            (say("page.closed"), say.term("rule", view.boundary) if view.boundary else say("page.open")),
            (say("page.use"), say("page.use.value", hits=row.hits, faults=row.faults)),
            (say("page.last"), say("page.last.value", step=row.used_at)),
            (say("page.importance"), importance),
            (say("page.bookmark"), row.stub or say("page.none")),
            *([(say("page.summary"), view.summary)] if view.summary else []),
        ],
        key="page_facts",
        chips=view.keywords,
    )
    history, words = st.tabs([say("page.read"), say("page.history")], key="page_tabs")
    with history:
        chat(state.with_marks(view.turns, here), say, on_mark, key="page_chat", height=330, at_end=False)
    with words:
        feed(view.history, say, key="page_history", height=330, steps=True)
