"""The conversation as a file for somebody else: a case file, or one page; made when asked for, offered to be saved.

What was taken out is told beside the file. A file is offered while the store says what it said when it was made: words
that were erased since are not to be had from it. A reviewer is offered none. Not here: what goes into it
(sessions/cases.py, case_page.py).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from memory.errors import EngineError
from workbench import state
from workbench.components.export import file_name
from workbench.components.overview import size
from workbench.state import Place
from workbench.words import Words, visible

KINDS = {"memcase": "application/zip", "html": "text/html"}
TAKEN = "_taken"  # session: the last file that was made, and of what


@dataclass(frozen=True, slots=True)
class Taken:
    """A file that was made, for whoever saves it."""

    kind: str
    made: bytes
    turns: int
    removed: Mapping[str, int]  # by sort


def take(here: Place, say: Words) -> None:
    """A small button that opens onto both files."""
    if state.reviewer() is not None:
        return
    with st.popover(say("take"), icon=":material/ios_share:", type="tertiary", help=say("take.says"), key="take"):
        st.caption(say("take.about"))
        with st.container(horizontal=True, gap="small"):
            asked = [
                kind for kind in KINDS
                if st.button(say(f"take.{kind}"), key=f"take_{kind}", help=say(f"take.{kind}.says"))
            ]  # fmt: skip
        for kind in asked:
            _make(kind, here, say)
        _offered(here, say)


def _make(kind: str, here: Place, say: Words) -> None:
    st.session_state.pop(TAKEN, None)
    try:
        with st.spinner(say("take.making")):
            st.session_state[TAKEN] = _key(here, say), made(kind, here, say.language)
    except (EngineError, OSError) as error:
        st.error(say("take.failed"), icon=":material/error:")
        st.code(visible(str(error), 1_000), language=None, wrap_lines=True)


def made(kind: str, here: Place, language: str) -> Taken:
    """Write the file in a folder that is gone afterwards. Raises as `make_case` and `write_page`."""
    from sessions.cases import make_case
    from workbench.case_page import write_page

    store = state.open_store()
    with tempfile.TemporaryDirectory(prefix="memcase-") as place:
        to = Path(place) / f"case.{kind}"
        if kind == "html":
            page = write_page(store, here.scope, to, language)
            return Taken(kind, to.read_bytes(), page.turns, page.removed)
        case = make_case(store, here.row.user, [here.row.conversation], to)
        return Taken(kind, to.read_bytes(), case.turns, case.removed)


def _offered(here: Place, say: Words) -> None:
    key, taken = st.session_state.get(TAKEN, (None, None))
    if taken is None or key != _key(here, say):
        return
    gone = ", ".join(f"{n} × {say.term('sort', sort)}" for sort, n in taken.removed.items())
    st.markdown(say("take.made", turns=taken.turns, size=size(len(taken.made), say)))
    st.caption(say("take.removed", counts=gone) if gone else say("take.removed.none"))
    st.download_button(
        say("take.save"), taken.made, file_name(here.row.conversation, taken.kind), KINDS[taken.kind],
        key="take_save", icon=":material/download:", type="primary", on_click="ignore",
    )  # fmt: skip


def _key(here: Place, say: Words) -> tuple[object, ...]:
    """Another one when anything moved that the file was made of."""
    return str(state.open_store().path), here.scope, here.row, here.own_version, here.generation, say.language
