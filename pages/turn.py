"""One step, whole: what came in, what left and came back and why, what the model read, said and cost."""

import streamlit as st

from workbench import live, state
from workbench.components import trace
from workbench.components.chat import chat
from workbench.components.export import export
from workbench.components.heading import heading
from workbench.components.prompt import prompt
from workbench.components.reading import beside
from workbench.components.scores import rating
from workbench.components.scrubber import scrubber
from workbench.components.whatif import whatif
from workbench.state import Place
from workbench.views.turn import TurnView
from workbench.words import Words


@live.page(turns=True)
def step(here: Place, say: Words) -> None:
    view, acts = state.trace(here, trace.chosen_round(here)), live.Acts(here, say)
    heading(say("trace.title", step=view.step), here.row.title, trace.badges(view, say), say)
    scrubber(here.at, view.turns, view.step, view.steps, say, acts.walk("scrubber"))
    if not here.has_decisions:
        live.transcript(view, here, say)
        trace.filed(view, say)
        return
    trace.sums(view, say)
    trace.notices(view, say)
    came_in(view, here, say, acts)
    left_and_came_back(view, say, acts)
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            trace.section(say("trace.ask"), "search")
            state.door("why", say("why.door"), "troubleshoot")
        trace.ask(here, say, acts)
    known_and_kept(view, say)
    read_and_said(view, here, say)
    with st.container(border=True):
        whatif(here, say)
    afterwards(view, say, acts)
    state.ahead(here, view)


def came_in(view: TurnView, here: Place, say: Words, acts: live.Acts) -> None:
    left, right = st.columns([1, 1], gap="medium")
    with left.container(border=True, height="stretch"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            trace.section(say("trace.input"), "forum")
            state.door("live", say("trace.window"), "monitoring")
        rows = state.with_marks(view.messages, here)
        chat(rows, say, acts.mark("chat"), acts.read("chat"), evidence=view.evidence, at_end=False)
        trace.evidence(view, say)
        trace.filed(view, say)
        rating(view, here, say)
    with right.container(border=True, height="stretch"):
        beside(here, say, acts, lambda: trace.events(view, say, acts))


def left_and_came_back(view: TurnView, say: Words, acts: live.Acts) -> None:
    left, right = st.columns([1, 1], gap="medium")
    with left.container(border=True, height="stretch"):
        trace.section(say("trace.evictions"), "logout", str(len(view.evictions)))
        trace.each(trace.eviction, view.evictions, say, acts, say("trace.no_evictions"))
    with right.container(border=True, height="stretch"):
        trace.section(say("trace.recalls"), "history", str(len(view.recalls)))
        trace.each(trace.recall, view.recalls, say, acts, say("trace.no_recalls"))
        trace.each(trace.retrieved, view.retrievals, say, acts, "")


def known_and_kept(view: TurnView, say: Words) -> None:
    left, right = st.columns([1, 1], gap="medium")
    with left.container(border=True, height="stretch"):
        trace.section(say("trace.known"), "lightbulb", str(len(view.facts)), say("trace.known.says"))
        trace.known(view, say)
    with right.container(border=True, height="stretch"):
        trace.section(say("trace.kept"), "inventory_2", str(len(view.kept)), say("trace.kept.says"))
        trace.kept(view, say)


def read_and_said(view: TurnView, here: Place, say: Words) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            trace.section(say("trace.prompt"), "notes", say("tokens", tokens=view.prompt_tokens))
            export(view.to_df, f"turn {here.at} {here.row.conversation}", say, key="turn", drawing=view)
        trace.rounds(view, say, here)
        trace.sections(view, say)
        prompt(view.prompt, say, key="prompt")
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            trace.section(say("trace.calls"), "smart_toy", str(len(view.calls)))
            state.door("replay", say("fork.door"), "call_split", fork=";")
        trace.calls(view, say)


def afterwards(view: TurnView, say: Words, acts: live.Acts) -> None:
    left, right = st.columns([1, 1], gap="medium")
    with left.container(border=True, height="stretch"):
        trace.section(say("trace.used"), "format_quote", str(len(view.used)))
        trace.used(view, say, acts)
        trace.section(say("trace.bookmarks"), "bookmarks", str(len(view.bookmarks)))
        trace.bookmarks(view, say)
    with right.container(border=True, height="stretch"):
        trace.section(say("trace.latency"), "timer")
        trace.latency(view, say)


step()
