"""Paging policies side by side at equal token budgets, on this conversation's own questions or on everybody's."""

import streamlit as st

from memory.errors import RecordingError
from sessions.funnel import funnel
from workbench import labs, live, state
from workbench.components import lab as parts
from workbench.components import notice, simpler
from workbench.components.heading import Badge, heading
from workbench.state import Place
from workbench.views.lab import LabView
from workbench.words import Words


@live.page(turns=True)
def compared(here: Place, say: Words) -> None:
    heading(say("lab.title"), here.row.title, [Badge(say("lab.badge"), "recall", say("lab.badge.says"))], say)
    asked = parts.wanted()
    with st.container(border=True):
        parts.choices(asked, say)
    try:
        run, left_out = labs.asked(state.open_store(), here.scope, asked.over, asked.grid)
    except RecordingError:
        notice.quiet(say("lab.unasked"), say("lab.unasked.says"))
    else:
        gridded(run, left_out, asked, here, say)
    if asked.over == parts.OVER[0]:
        with st.container(border=True):
            simpler.compared(here, say)


def gridded(run: labs.Working, left_out: int, asked: parts.Wanted, here: Place, say: Words) -> None:
    run.wait(parts.AT_ONCE_S)
    if run.is_under_way:
        parts.under_way(run, say)
    elif run.is_stopped:
        parts.stopped(run, say)
    else:
        told(parts.view_of(run, asked), say)
        if left_out:
            st.caption(say("lab.left_out", n=left_out))
    if asked.over == parts.OVER[0]:
        of_the_conversation(here, say)


def told(view: LabView, say: Words) -> None:
    left, right = parts.beside(1.25)
    with left.container(border=True):
        parts.heat(view, say)
        parts.held_out(view, say)
    with left.container(border=True):
        parts.one(view, say)
    with right.container(border=True):
        parts.front(view, say)
    with right.container(border=True):
        parts.worth_of(view.lab.honesty, say)


def of_the_conversation(here: Place, say: Words) -> None:
    left, right = parts.beside(1)
    with left.container(border=True, height="stretch"):
        parts.shape(labs.shape(state.open_store(), here.scope), say)
    with right.container(border=True, height="stretch"):
        parts.funnel(state.view(funnel, here), say)


compared()
