"""What is wrong, by symptom: a choice, and what each check of the log found, with its figures and what to try."""

from __future__ import annotations

import streamlit as st

from memory.diagnosis import SYMPTOMS, Diagnosis, diagnose
from memory.finding import NOT_MEASURED, OK, SUSPECT
from memory.scope import Scope
from memory.stores.sql import Store
from workbench import state
from workbench.components.export import export
from workbench.components.grid import Cell, Column, Line, grid
from workbench.findings import worded
from workbench.state import Missing, Place
from workbench.words import Words, escaped, visible

TONES = {OK: "ok", SUSPECT: "warn", NOT_MEASURED: "quiet"}


def chosen() -> str:
    """The symptom of the address, "" without one. Raises Missing for one that is not known."""
    asked = st.query_params.get("symptom", "")
    if asked and asked not in SYMPTOMS:
        raise Missing("symptom", list(SYMPTOMS), name=asked)
    return asked


def symptoms(here: Place, say: Words) -> None:
    asked = chosen()
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"##### :material/stethoscope: {say('symptoms.title')}", help=say("symptoms.says"), width="content")
        if asked and here.has_decisions:
            export(lambda: [f.to_dict() for f in _found(here, asked).findings], "diagnosis", say)
    widget = f"symptom_{asked}_{say.language}"
    st.pills(
        say("symptoms.title"), list(SYMPTOMS), default=asked or None, key=widget, label_visibility="collapsed",
        format_func=lambda name: say.term("symptom", name),
        on_change=lambda: state.go(symptom=st.session_state[widget]),
    )  # fmt: skip
    if not asked:
        return
    if not here.has_decisions:
        st.caption(say("no_decisions"))
        return
    with st.spinner(say("symptoms.looking")):
        found = _found(here, asked)
    found = worded(found, say)
    st.markdown(f"**{escaped(visible(found.says, 600))}**")
    _checks(found, say)


def _found(here: Place, symptom: str) -> Diagnosis:
    return state.view(_diagnosed, here, symptom)


def _diagnosed(store: Store, scope: Scope, symptom: str) -> Diagnosis:
    return diagnose(store, scope, symptom)


def _checks(found: Diagnosis, say: Words) -> None:
    columns = [
        Column("name", say("symptoms.check"), "long"),
        Column("says", say("symptoms.measured"), "long"),
        Column("try", say("symptoms.try"), "long"),
    ]
    lines = [
        Line(
            finding.name,
            (
                Cell(finding.name, tone=TONES[finding.verdict], says=say(f"symptoms.{TONES[finding.verdict]}")),
                Cell(finding.says, finding.compared_as(say("symptoms.limit")), "\n".join(finding.evidence)),
                Cell(finding.remedy),
            ),
        )
        for finding in found.findings
    ]
    grid(columns, lines, say, "symptom_checks", say("symptoms.title"))
