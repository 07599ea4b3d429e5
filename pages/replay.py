"""A recorded conversation under other settings: walked through and played, beside the run that was recorded."""

import streamlit as st

from memory.errors import BadSetting, BudgetTooSmall, UnknownName
from workbench import live, replaying, state
from workbench.components import replay as parts
from workbench.components.feed import feed
from workbench.components.forks import forks
from workbench.components.heading import heading
from workbench.components.page_list import page_list
from workbench.components.player import player
from workbench.components.scrubber import scrubber
from workbench.components.stubs import stubs
from workbench.components.token_bar import token_bar
from workbench.replaying import Playing
from workbench.state import Place
from workbench.views.replay import ReplayView, runs
from workbench.views.replay import replay as at_turn
from workbench.words import Words


@live.page(turns=True)
def again(here: Place, say: Words) -> None:
    store = state.open_store()
    try:
        tried = parts.asked_for(here)
        playing = replaying.playing(store, replaying.source_of(store, here.scope), tried.settings)
        playing.wait(replaying.at_once_s(here.stream.turns))
        view = None if playing.is_under_way else at_turn(store, here.scope, playing.played(), here.at)
    except (BadSetting, BudgetTooSmall, UnknownName) as error:
        heading(say("replay.title"), here.row.title, [], say)
        parts.wrong(error, say)
        return
    heading(say("replay.title"), here.row.title, parts.badges(view, say) if view else [], say)
    if view is None:
        parts.under_way(playing, say)
        return
    with st.container(border=True):
        parts.choose(here, tried, say)
        parts.told(tried, view, say)
    if not playing.is_done:
        parts.stopped(playing, say)
    walked(view, playing, here, say)
    forks(here, tried, say, may_write=live.may_keep())
    kept_runs(here, say)


def walked(view: ReplayView, playing: Playing, here: Place, say: Words) -> None:
    acts, now = live.Acts(here, say), view.window
    scrubber(now.turn, view.turns, now.step, now.steps, say, acts.walk("scrubber"))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        player(now.turn, view.turns, say("replay.free"), say, acts.walk("player"))
        parts.keep(view, say, lambda: live.keep_replay(here, playing.played(), say), may_write=live.may_keep())
    with st.container(border=True):
        token_bar(now, say, None, lambda: None)
    left, right = st.columns([1, 1], gap="medium")
    with left.container(border=True, height="stretch"):
        st.markdown(f"##### :material/compare_arrows: {say('replay.figures')}")
        parts.beside(view, say)
    with right.container(border=True, height="stretch"):
        st.markdown(f"##### :material/bolt: {say('replay.feed')}")
        feed(now.feed, say, height=400)
    with st.container(border=True):
        st.markdown(f"##### :material/layers: {say('live.pages')} :gray-badge[{len(now.pages)}]")
        page_list(now.pages, say, None, lambda: None)
    with st.container(border=True):
        st.markdown(f"##### :material/bookmarks: {say('live.stubs')} :gray-badge[{say('live.gone', gone=now.gone)}]")
        stubs(now.stubs, say, None, lambda: None, lambda: None, may_recall=False)


def kept_runs(here: Place, say: Words) -> None:
    view = state.view(runs, here, here.row.runs)
    with st.container(border=True):
        parts.sure(view, say, lambda line: live.delete_run(here, line.run, say))
        parts.runs(view, here, say, may_write=live.may_keep())
    with st.container(border=True):
        st.markdown(f"##### :material/compare: {say('replay.compare')}")
        parts.compare(view, here, say)


again()
