"""Facts over time, in the world's and in ours; one of them whole; and what cannot all be true, to be decided."""

import streamlit as st

from workbench import live
from workbench.components import timeline
from workbench.components.heading import heading
from workbench.deciding import Decisions
from workbench.state import Place
from workbench.words import Words


@live.page()
def over_time(here: Place, say: Words) -> None:
    want, acts = timeline.chosen(say), Decisions(here, say)
    view, one = timeline.lanes_of(here, want.asked), timeline.story_of(here, want)
    heading(say("timeline.title"), say("timeline.of", user=here.row.user), timeline.badges(view, want, say), say)
    acts.told()
    with st.container(border=True):
        timeline.sliders(view, want, say)
    timeline.filters(view, want, say)
    timeline.not_yet(one, want, say)
    left, right = st.columns([1.75, 1], gap="medium") if one else (st.container(), None)
    with left.container(border=True):
        timeline.lanes(view, want, say)
    if one and right:
        with right.container(border=True):
            timeline.story(one, here, want, acts, say)
    with st.container(border=True):
        timeline.inbox(timeline.inbox_of(here, want), want, acts, say)


over_time()
