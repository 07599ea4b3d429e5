"""Why something was not recalled, stage by stage, and the smallest change that brings it back: tried, and made."""

import streamlit as st

from workbench import live, state
from workbench.components import why
from workbench.components.earlier import like
from workbench.components.export import export
from workbench.components.heading import heading
from workbench.components.histogram import histogram
from workbench.components.reading import beside
from workbench.components.scores import pinning
from workbench.components.scrubber import scrubber
from workbench.components.stages import stages
from workbench.components.trace import section
from workbench.components.way import way
from workbench.state import Place
from workbench.views.why import WhyView
from workbench.words import Words


@live.page(turns=True)
def asked(here: Place, say: Words) -> None:
    acts, window = live.Acts(here, say), state.window(here)
    heading(say("why.title"), here.row.title, [], say)
    if not here.has_decisions:
        st.info(say("no_decisions"), icon=":material/info:")
        return
    with st.container(border=True):
        why.ask(here, say)
        why.examples(state.why_examples(here), say)
    scrubber(here.at, here.stream.turns, window.step, window.steps, say, acts.walk("scrubber"))
    view = why.diagnosed(here, say)
    if view is not None:
        found(view, here, say, acts)
        with st.container(border=True):
            section(say("why.way"), "timeline", says=say("why.way.says"))
            way(view.way, window.step, window.steps, say, state.link)
        with st.container(border=True):
            like(here, view.verdict.question, say, "why_like")


def found(view: WhyView, here: Place, say: Words, acts: live.Acts) -> None:
    with st.container(border=True):
        why.answer(view, say)
        pinning(here, view.verdict.question, view.verdict.expected, say)
    why.tried(view, here, say, acts)
    left, right = st.columns([1.2, 1], gap="medium")
    with left.container(border=True, height="stretch"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            section(say("why.stages"), "stacks", says=say("why.stages.says"))
            export(
                lambda: view.verdict.remedies, f"why {here.at} {here.row.conversation}", say, key="why", drawing=view
            )
        stages(view.verdict, say, state.link, acts.read("stages"))
    with right.container(border=True, height="stretch"):
        beside(here, say, acts, lambda: measured(view, say, acts))


def measured(view: WhyView, say: Words, acts: live.Acts) -> None:
    for scores in view.scores:
        section(say(f"why.scores.{scores.of}"), "bar_chart", str(scores.count), say(f"why.scores.{scores.of}.says"))
        histogram(scores, say, acts.read(f"scores_{scores.of}"), f"scores_{scores.of}")
        if not scores.asked:
            st.caption(say("why.not_asked"))
    if not view.scores:
        section(say("why.scores.pages"), "bar_chart")
        st.caption(say("why.scores.none"))
    why.remedies(view, say)


asked()
