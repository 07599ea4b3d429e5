"""A question to a model on a page: what it may take, the button that asks, how far it is, and why none came."""

from __future__ import annotations

import streamlit as st

from memory.errors import EngineError
from workbench import asking, live
from workbench.asking import Question
from workbench.background import Background
from workbench.components.facts import facts
from workbench.components.forks import LOOK_S, cost
from workbench.words import Words, escaped, visible


def replies(of: Question, say: Words, key: str) -> tuple[str, str] | None:
    """Both, once they are there; until then what stands in their place is drawn."""
    of.wait(asking.AT_ONCE_S)
    if of.is_begun:
        of.replies.wait(asking.AT_ONCE_S)
    for each, told in ((of, "fork.estimating"), (of.replies, "asked.under_way")):
        if each.is_under_way:
            st.fragment(_under_way, run_every=LOOK_S)(each, say(told), say, key)
            return None
    if of.error is not None:
        st.warning(escaped(visible(str(of.error), 400)), icon=":material/error:")
        return None
    if of.is_begun and of.replies.error is None:
        return of.replies.made()
    _takes(of, say, key)
    if of.is_begun and of.replies.error is not None and not of.replies.is_stopped:
        _no_reply(of.replies.error, say)
    st.button(say("fork.yes"), key=f"{key}_ask", icon=":material/smart_toy:", type="primary", on_click=of.ask)
    return None


def _takes(of: Question, say: Words, key: str) -> None:
    found = of.made()
    facts([(say("fork.llm"), visible(found.llm, 60)), (say("asked.calls"), say.number(2)),
           (say("fork.takes.in"), say.number(sum(found.tokens))),
           (say("asked.out"), say.number(2 * found.reply_tokens)),
           (say("asked.cost"), cost(of.cost_usd, say))], key=f"{key}_takes", large=True)  # fmt: skip


def _under_way(each: Background, told: str, say: Words, key: str) -> None:
    if not each.is_under_way:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key=f"{key}_under_way"):
        st.markdown(f":material/hourglass_top: {told}", width="content")
        st.button(say("lab.cancel"), icon=":material/stop_circle:", key=f"{key}_stop", on_click=each.stop)


def _no_reply(error: EngineError, say: Words) -> None:
    st.warning(escaped(visible(str(error), 400)), icon=":material/error:")
    st.caption(say(f"chat.advice.{live.advice(error)}"))
