"""Two replies to one question without their names, the memory's and a plain window's: chosen, recorded, then told."""

from __future__ import annotations

import secrets
from collections import Counter

import streamlit as st

from memory.errors import EngineError
from memory.events import RepliesCompared
from memory.scope import Scope
from memory.stores.sql import Store
from sessions import blind
from sessions.blind import MEMORY, NEITHER, PLAIN, Pair
from sessions.twice import Twice
from workbench import live, state
from workbench.asking import question
from workbench.components import asked
from workbench.components.facts import facts
from workbench.components.replies import Side, replies
from workbench.components.trace import section
from workbench.state import Place
from workbench.words import Words, visible

COINS = "_blind_coins"  # session: by question, whether the memory's reply stands second
QUESTION, LLM = "blind_question", "blind_llm"
LONGEST = 2_000


def compared(here: Place, say: Words) -> None:
    """Of the sidebar's conversation; what was chosen so far, and one more."""
    readonly = state.open_store().readonly
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        section(say("blind.title"), "visibility_off", says=say("blind.says"))
        is_open = st.toggle(say("blind.open"), key="blind_open", disabled=readonly,
                            help=say("scope.readonly") if readonly else None)  # fmt: skip
    _so_far(state.view(_chosen, here), say)
    if not is_open or readonly:
        return
    words, model = st.columns([3, 1], gap="small")
    text = words.text_input(say("blind.question"), key=QUESTION, max_chars=LONGEST,
                            placeholder=say("blind.question.example")).strip()  # fmt: skip
    own = state.settings_of(here).llm
    llm = model.text_input(say("fork.llm"), key=LLM, max_chars=200, placeholder=visible(own, 60)).strip() or own
    if text:
        _one(here, text, llm, say)


def _chosen(store: Store, scope: Scope) -> tuple[RepliesCompared, ...]:
    return tuple(blind.choices(store, scope))


def _so_far(made: tuple[RepliesCompared, ...], say: Words) -> None:
    if not made:
        st.caption(say("blind.none"))
        return
    counted = Counter(each.chosen for each in made)
    facts([(say(f"blind.chosen.{name}"), say.number(counted[name])) for name in (MEMORY, PLAIN, NEITHER)],
          key="blind_so_far", large=True)  # fmt: skip


def _one(here: Place, text: str, llm: str, say: Words) -> None:
    store, scope = state.open_store(), here.scope

    def pose() -> Twice:
        return blind.posed(store, scope, text, llm=llm)

    key = ("blind", str(store.path), scope, here.stream.version, here.own_version, here.generation, text, llm)
    of = question(key, pose)
    said = asked.replies(of, say, "blind_model")
    if said is None:
        return
    coins: dict[object, bool] = st.session_state.setdefault(COINS, {})
    pair = blind.shown(text, of.made(), said, is_swapped=coins.setdefault(key, bool(secrets.randbelow(2))))
    replies([Side(say("blind.reply", n=n), reply) for n, reply in enumerate(pair.replies, 1)], "blind_replies",
            say("blind.title"), is_diff=False)  # fmt: skip
    with st.container(horizontal=True):
        for choice in (1, 2, 0):
            st.button(say(f"blind.choose.{choice}"), key=f"blind_{choice}", on_click=_choose,
                      args=(here, pair, choice, say))  # fmt: skip


def _choose(here: Place, pair: Pair, choice: int, say: Words) -> None:
    try:
        made = blind.choose(state.open_store(), here.scope, pair, choice)
    except EngineError as error:
        live.note(f"{say('error.other')}: {visible(str(error), 300)}", "error")
        return
    st.session_state[QUESTION] = ""  # it is answered; the same words would be another question now
    live.note(
        say("blind.told", chosen=say(f"blind.name.{made.chosen}"), first=say(f"blind.name.{made.first}"),
            second=say(f"blind.name.{made.second}"), memory=made.memory_tokens, plain=made.plain_tokens),
        "visibility",
    )  # fmt: skip
