"""What a page shows where it has nothing to show: an empty store, a wrong address, a store that cannot be read."""

from __future__ import annotations

import streamlit as st

from memory import errors
from memory.errors import EngineError
from workbench import state
from workbench.review_link import LinkRefused
from workbench.words import Words, escaped, visible

TROUBLES: tuple[tuple[type[EngineError], str], ...] = (
    (errors.StoreTooNew, "too_new"),
    (errors.StoreDamaged, "damaged"),
    (errors.StoreReadOnly, "readonly"),
    (errors.StoreFull, "full"),
    (errors.StoreOnNetwork, "network"),
    (errors.StoreLocked, "locked"),
)


def trouble(error: EngineError, say: Words) -> None:
    """One of our errors, with what to do; the error's own words tell the rest."""
    if isinstance(error, state.Missing):
        missing(error, say)
        return
    if isinstance(error, LinkRefused):
        refused(error, say)
        return
    name = next((name for kind, name in TROUBLES if isinstance(error, kind)), "other")
    with st.container(border=True, key="trouble"):
        st.markdown(f"#### :material/error: {say(f'error.{name}')}")
        st.caption(say("error.nothing_lost"))
        st.code(visible(str(error), 4_000), language=None, wrap_lines=True)
        st.button(say("error.retry"), icon=":material/refresh:", key="retry")


def refused(error: LinkRefused, say: Words) -> None:
    """A review link that lets nobody in: why, and what to do."""
    with st.container(border=True, key="refused"):
        st.markdown(f"#### :material/key_off: {say(f'review.link.{error.why}')}")
        st.markdown(say(f"review.link.{error.why}.says"))


def missing(error: state.Missing, say: Words) -> None:
    """The address names what is not there: say what is, and lead there."""
    with st.container(border=True, key="missing"):
        st.markdown(f"#### :material/search_off: {escaped(say(f'missing.{error.what}', **error.values))}")
        if error.known:
            shown = ", ".join(error.known[:12]) + ("…" if len(error.known) > 12 else "")
            st.text(say("missing.known", known=shown))
        st.button(say("missing.go"), icon=":material/arrow_back:", key="go_back", on_click=_leave, args=(error.what,))


def _leave(what: str) -> None:
    """Take what is wrong, and what depends on it, out of the address."""
    depends = {"user": ("user", "conv", "run", "turn", "page"), "conversation": ("conv", "run", "turn", "page"),
               "run": ("run", "turn", "page"), "page": ("page",), "page_number": ("page",),
               "fact": ("fact", "beside"), "fact_number": ("fact", "beside"),
               "beside_number": ("beside",), "lanes_number": ("lanes",), "layer": ("layer",), "state": ("state",),
               "kinds": ("kinds",), "behind": ("behind",), "depth": ("depth",), "day": ("since", "until"),
               "axis": ("axis",), "valid_moment": ("valid",), "recorded_moment": ("recorded",),
               "symptom": ("symptom",)}  # fmt: skip
    state.go(**dict.fromkeys(depends.get(what, ("turn", "page")), None))


def empty(say: Words) -> None:
    """A store without a conversation: what to do."""
    with st.container(border=True, key="empty"):
        st.markdown(f"#### :material/inbox: {say('empty.title')}")
        st.markdown(say("empty.body"))
        for command, says in (
            ("workbench open --demo", say("empty.demo")),
            ("workbench import FILE", say("empty.import")),
        ):
            left, right = st.columns([1.2, 1], vertical_alignment="center", gap="medium")
            left.code(command, language=None)
            right.caption(says)
        st.caption(say("empty.python"))
        st.code(
            "from memory import Engine\n"
            f'engine = Engine.open({str(state.store_path())!r}, user="ana", conversation="trip")\n'
            'engine.say("My budget for the trip is 5,000 euros.")',
            language="python",
        )


def quiet(title: str, says: str) -> None:
    with st.container(border=True, key="quiet"):
        st.markdown(f"#### :material/inbox: {title}")
        st.markdown(says)
