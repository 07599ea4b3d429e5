"""What is remembered as a graph: filtered, a neighbourhood at a time, and what stands behind an answer."""

import streamlit as st

from workbench import live
from workbench.components import graph
from workbench.components.heading import heading
from workbench.state import Place
from workbench.words import Words


@live.page()
def remembered(here: Place, say: Words) -> None:
    want, view = graph.chosen(), graph.whole(here, say)
    why = graph.behind(here, want)
    shown = graph.drawing(view, want, why)
    heading(say("graph.title"), here.row.title, graph.badges(view, say), say)
    with st.container(border=True):
        graph.whose(here, want, say)
        graph.about(why, want, say)
        graph.filters(view, want, shown, say)
    left, right = st.columns([1.9, 1], gap="medium") if want.node else (st.container(), None)
    with left.container(border=True):
        graph.notes(shown, view, say)
        if shown.nodes:
            graph.draw(shown, want, say)
    if right is not None:
        with right.container(border=True, height=690):
            graph.panel(here, view, want, why, say)
    if shown.nodes:
        with st.container(border=True):
            graph.twin(shown, view, want, say)


remembered()
