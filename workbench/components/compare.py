"""Choosing the two sides of a diff, and what they come to in figures."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from workbench import state
from workbench.components.export import export
from workbench.components.facts import facts
from workbench.state import Place
from workbench.views.diff import DiffView
from workbench.words import Words

LAYOUTS = ("changes", "unified", "beside")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Turn `a` of run `run_a` against turn `b` of the run that the sidebar names."""

    a: int
    b: int
    run_a: str


def choose(here: Place, say: Words) -> Chosen:
    """From the address (`a`, `b`, `vs`); without it the shown turn against the step before."""
    runs = [run.run for run in here.row.runs if run.run != "recorded"] or [here.scope.run]
    a, b = sides(here)
    run_a = st.query_params.get("vs", here.scope.run)
    left, right, other = st.columns([1, 1, 1.4], gap="medium")
    with left:
        _turn("a", say("diff.a"), a, here.stream.turns)
    with right:
        _turn("b", say("diff.b"), b, here.stream.turns)
    with other:
        if len(runs) > 1:
            _run(say("diff.run_a"), runs, run_a if run_a in runs else here.scope.run, say)
    return Chosen(a, b, run_a if run_a in runs else here.scope.run)


def sides(here: Place) -> tuple[int, int]:
    b = _number("b", here.at, here.stream.turns)
    return _number("a", max(1, b - 2), here.stream.turns), b


def _number(key: str, default: int, most: int) -> int:
    given = st.query_params.get(key, "")
    return min(max(1, int(given)), most) if given.isdecimal() and len(given) < 9 else min(max(1, default), most)


def _turn(key: str, label: str, value: int, most: int) -> None:
    widget = f"diff_{key}_{value}"

    def changed() -> None:
        state.go(**{key: int(st.session_state[widget])})

    st.number_input(label, 1, most, value, key=widget, on_change=changed)


def _run(label: str, runs: list[str], chosen: str, say: Words) -> None:
    from workbench.app import run_name

    widget = f"diff_vs_{chosen}"
    names = {run: run_name(run, say) for run in runs}

    def changed() -> None:
        state.go(vs=st.session_state[widget])

    st.selectbox(label, runs, runs.index(chosen), key=widget, format_func=names.__getitem__, on_change=changed)


def figures(view: DiffView, say: Words) -> list[tuple[str, str]]:
    moved = view.b.tokens - view.a.tokens
    return [
        (say("diff.figure.before"), f"{view.a.tokens:,}"),
        (say("diff.figure.after"), f"{view.b.tokens:,}"),
        (say("diff.figure.moved"), f"{moved:+,}"),
        (say("diff.figure.cost"), _cost(view, say)),
        (say("diff.figure.changes"), say.number(view.changes)),
        (say("diff.figure.same"), say.number(view.same)),
    ]


def _cost(view: DiffView, say: Words) -> str:
    """In money, and by how much it moved; nothing where a price is not known."""
    a, b = view.a.cost_usd, view.b.cost_usd
    return say("trace.figure.none") if a is None or b is None else f"{say.amount(b, 'usd')} ({b - a:+.4f})"


def told_settings(view: DiffView, say: Words) -> None:
    if view.settings:
        chips = [f"{name}: {a} → {b}" for name, (a, b) in view.settings.items()]
        facts([], key="diff_settings", title=say("diff.settings"), chips=chips)


def head(view: DiffView, name: str, say: Words) -> str:
    """The title of the list, how its words are laid out, and the list as a file called `name`."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"##### :material/difference: {say('diff.by_cause')} :gray-badge[{view.changes}]", width="content")
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            chosen = _layout(say)
            export(view.to_df, name, say, key="diff", drawing=view)
    return chosen


def _layout(say: Words) -> str:
    """As the address has it. Raises Missing."""
    chosen = st.query_params.get("layout", "") or LAYOUTS[0]
    if chosen not in LAYOUTS:
        raise state.Missing("layout", LAYOUTS, name=chosen)
    widget = f"diff_layout_{chosen}_{say.language}"

    def changed() -> None:
        picked = st.session_state[widget] or LAYOUTS[0]
        state.go(layout=None if picked == LAYOUTS[0] else picked)

    st.segmented_control(
        say("diff.layout"), LAYOUTS, default=chosen, key=widget, label_visibility="collapsed", on_change=changed,
        format_func=lambda layout: say(f"diff.layout.{layout}"),
    )  # fmt: skip
    return chosen
