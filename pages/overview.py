"""The start: what this is, the conversations, the users, and whether the store is well."""

import streamlit as st

from workbench import live, state
from workbench.components import blind, overview
from workbench.components.heading import heading
from workbench.components.scores import scorecard
from workbench.components.seek import seek
from workbench.components.symptoms import symptoms
from workbench.state import Place
from workbench.words import Words


def begun(say: Words) -> None:
    """Nothing to look over: the page that a conversation begins on."""
    st.switch_page(state.pages_folder() / "live.py", query_params=state.link())


@live.page(nothing=begun)
def start(here: Place, say: Words) -> None:
    heading(say("overview.title"), say("overview.says"), [], say)
    if seek(here, say):
        return
    view, found = state.overview(), overview.looked()
    overview.latest(view, say)
    overview.figures(view, found, say)
    with st.container(border=True):
        overview.conversations(view, say)
    with st.container(border=True):
        scorecard(here, say)
    if here.has_decisions and here.stream.turns:
        with st.container(border=True):
            blind.compared(here, say)
    with st.container(border=True):
        symptoms(here, say)
    left, right = st.columns([1, 1], gap="medium")
    with left.container(border=True, height="stretch"):
        overview.well(view, found, say)
    with right.container(border=True, height="stretch"):
        overview.users(view, say)
        overview.folder(view, found, say)
    if found.failed:
        with st.container(border=True):
            overview.failures(found, say)


start()
