"""What left the window, why, and what each eviction cost later."""

import streamlit as st

from workbench import live, state
from workbench.components import costs
from workbench.components.export import export
from workbench.components.facts import facts
from workbench.components.heading import heading
from workbench.components.reading import beside
from workbench.components.scores import spent
from workbench.state import Place
from workbench.words import Words


@live.page(turns=True)
def left(here: Place, say: Words) -> None:
    view, acts = state.evictions(here), live.Acts(here, say)
    heading(say("evictions.title"), here.row.title, [], say)
    facts(costs.figures(view, say), key="costs", large=True)
    rows, page = st.columns([1.5, 1], gap="medium") if here.page else (st.container(), None)
    with rows.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            costs.head(view, say)
            with st.container(horizontal=True, width="content", vertical_alignment="center"):
                state.door("why", say("why.door"), "troubleshoot")
                export(lambda: view.rows, f"evictions {here.row.conversation}", say, key="evictions", drawing=view)
        costs.table(view, say, acts.read("costs_table"))
    if page is not None:
        with page.container(border=True):
            beside(here, say, acts, lambda: None)
    with st.container(border=True):
        spent(here, say)


left()
