"""Every setting as a dial: the conversation is replayed as one is moved, and what that changes is shown at once."""

import streamlit as st

from memory.errors import BadSetting, BudgetTooSmall, UnknownName
from workbench import live, tuning
from workbench.components import pinned, tune
from workbench.components import replay as parts
from workbench.components.heading import Badge, heading
from workbench.components.replay import Tried
from workbench.components.trace import section
from workbench.state import Place
from workbench.words import Words


@live.page(turns=True)
def tuned(here: Place, say: Words) -> None:
    badges = [Badge(say("tune.badge"), "recall", say("tune.badge.says"))]
    heading(say("tune.title"), here.row.title, badges, say)
    try:
        tried = parts.asked_for(here)
    except (BadSetting, UnknownName) as error:
        parts.wrong(error, say)
        return
    left, right = st.columns([1, 1.9], gap="medium")
    with left.container(border=True, key=tune.BESIDE):
        tune.dials(tried, say)
    with right:
        came_of_it(tried, here, say)


def came_of_it(tried: Tried, here: Place, say: Words) -> None:
    told = st.empty()

    def tell(work: parts.Moving) -> None:
        told.progress(work.turn / max(1, work.turns), parts.how_far(work, say))

    try:
        before, after = tuning.both(here, tried)
        tuning.await_all((before, after), here.stream.turns, tell)
        if under_way := [each for each in (before, after) if each.is_under_way]:
            parts.under_way(under_way[0], say)
            return
        if stopped := [each for each in (before, after) if each.error is None and not each.is_done]:
            parts.stopped(stopped[0], say)
            return
        comparing = tuning.effect_of(here, tried, before.played(), after.played())
        tuning.await_all((comparing,), here.stream.turns, tell)
        told.empty()
        if comparing.is_under_way:
            parts.under_way(comparing, say)
            return
        made = comparing.made()
    except (BadSetting, BudgetTooSmall, UnknownName) as error:
        tune.refused(error, say)
        return
    with st.container(border=True):
        tune.keep(tried, here, say)
        tune.figures(made, say)
    with st.container(border=True):
        tune.turns(made, here.turn, say)
    with st.container(border=True):
        pinned.pinned(made, tried, here, say)
    with st.container(border=True):
        tune.questions(made, say)
    with st.container(border=True):
        section(say("tune.lines"), "straighten", says=say("tune.lines.says"))
        if st.toggle(say("tune.lines.show"), key="tune_lines_shown"):
            tune.lines(tuning.lines_of(after.played()), tried, say)


tuned()
