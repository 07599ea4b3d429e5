"""What is remembered about a user, for that user: look, search, correct, forget, erase, undo, pause, take away."""

import streamlit as st

from workbench import live, reviewing, state
from workbench.components import notice, review

FOLLOW_S = 3.0


@st.fragment(run_every=FOLLOW_S)
def moved(user: str, seen: tuple[int, ...]) -> None:
    """By looking, for what /events tells is not for reviewers."""
    if state.remembered_at(user) != seen:
        st.rerun()


@st.fragment(key=live.WINDOW)
def remembered() -> None:
    say = state.words()
    live.begin()
    with state.told():
        mine, user = state.reviewer(), state.whose()
        if user is None:
            notice.empty(say)
            return
        view, may_write = state.review(user), not state.open_store().readonly
        acts = reviewing.Acts(user, view.version, say)
        review.head(view, say, acts, mine.until if mine else None, may_write=may_write)
        review.told(say, acts)
        preview = reviewing.asked_to_erase(user)
        if preview is not None:
            review.ask(preview, say, acts)
        if view.nothing:
            notice.quiet(say("review.none"), say("review.none.says"))
        else:
            review.questions(view.questions, say, acts, may_write=may_write)
            found = review.search(view, say, acts, may_write=may_write)
            tab = st.segmented_control(
                say("review.title"), review.TABS, default="now", key="review_tab", label_visibility="collapsed",
                format_func=lambda name: say(f"review.tab.{name}"),
            )  # fmt: skip
            shown = {"past": review.past, "changes": review.changes}.get(tab or "now", review.remembered)
            shown(found, say, acts, may_write=may_write)
        moved(user, state.remembered_at(user))


remembered()
