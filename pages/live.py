"""The live window: what the model sees now, what left, what stayed behind, and a box to say something."""

import streamlit as st

from workbench import live, state
from workbench.components import notice
from workbench.components.chat import chat
from workbench.components.export import export
from workbench.components.feed import feed
from workbench.components.figures import figures
from workbench.components.heading import heading
from workbench.components.page_list import page_list
from workbench.components.reading import beside
from workbench.components.scrubber import scrubber
from workbench.components.stubs import stubs
from workbench.components.take import take
from workbench.components.token_bar import token_bar
from workbench.state import Place
from workbench.views.window import WindowView
from workbench.words import Words


def happened(view: WindowView, say: Words, acts: live.Acts) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"##### :material/bolt: {say('live.feed')}", width="content")
        state.door("turn", say("live.trace"), "account_tree")
    feed(view.feed, say, acts.read("feed"), height=max(330, min(432, 68 * len(view.pages))))


def begins(say: Words) -> None:
    notice.empty(say)
    live.box(None, say)


@live.page(nothing=begins)
def window(here: Place, say: Words) -> None:
    view, acts = state.window(here), live.Acts(here, say)
    heading(say("live.title"), view.title, live.badges(view, here, say), say)
    scrubber(here.at, view.turns, view.step, view.steps, say, acts.walk("scrubber"))
    if not here.has_decisions:
        take(here, say)
        live.transcript(view, here, say)
        return
    figures(view.metrics, say)
    with st.container(border=True):
        token_bar(view, say, here.page, acts.read("bar"))
    left, right = st.columns([1.25, 1], gap="medium")
    with left.container(border=True, height="stretch"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"##### :material/layers: {say('live.pages')} :gray-badge[{len(view.pages)}]", width="content")
            with st.container(horizontal=True, width="content", gap="small"):
                export(view.to_df, f"window {here.at} {here.row.conversation}", say, key="window", drawing=view)
                take(here, say)
        page_list(view.pages, say, here.page, acts.read("pages"))
    with right.container(border=True, height="stretch"):
        beside(here, say, acts, lambda: happened(view, say, acts))
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(
                f"##### :material/bookmarks: {say('live.stubs')} :gray-badge[{say('live.gone', gone=view.gone)}]",
                help=say("live.stubs.says"), width="content",
            )  # fmt: skip
            state.door("why", say("why.door"), "troubleshoot")
        stubs(view.stubs, say, here.page, acts.read("stubs"), acts.recall("stubs"), acts.may_recall)
    with st.container(border=True):
        st.markdown(f"##### :material/forum: {say('live.chat')}")
        chat(state.with_marks(view.chat, here), say, acts.mark("chat"), acts.read("chat"))
        live.reply_under_way(here, say, view)
        live.box(here, say)
    if not view.running:
        state.ahead(here, view)


window()
