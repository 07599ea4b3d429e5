"""A fork from the page: what is to be otherwise, what it would take, the question before any model is asked, and how
far those under way are.

What is asked stands in the address (`fork=llm=gpt-4o-mini;f3=The budget is 9,000 euros;-f4`); the settings are those
of the Replay page. Nothing is written, and no model asked, before the reader says yes to a cost that is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import streamlit as st

from memory.errors import BadSetting, EngineError
from memory.scope import Scope
from memory.settings import Settings
from memory.stores.sql import Store
from sessions.fork import Estimate, Forking
from workbench import forking, live, state
from workbench.assigned import BETWEEN, PLAIN
from workbench.components.facts import facts
from workbench.components.replay import BASES, PLACE_OF, Tried, run_name
from workbench.components.trace import section
from workbench.forking import Asking
from workbench.state import Place
from workbench.words import Words, escaped, visible

ADDRESS, OUT, LLM = "fork", "-", "llm"
LOOK_S = 0.5
SURE = "_fork_sure"  # session: the fork that was asked for and not agreed to yet
CHOSEN = "fork_fact"  # session: the fact that is being edited
LONGEST = 2_000  # characters of a fact


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the address asks for."""

    llm: str
    facts: tuple[tuple[int, str], ...]  # number and words; "" is left out

    @property
    def edits(self) -> dict[int, str]:
        return dict(self.facts)


def wanted(text: str) -> Wanted:
    """
    >>> wanted("llm=gpt-4o-mini;f3=The budget is 9,000 euros;-f4")
    Wanted(llm='gpt-4o-mini', facts=((3, 'The budget is 9,000 euros'), (4, '')))
    """
    llm, edits = "", {}
    for part in (unquote(each).strip() for each in text.split(BETWEEN)):
        name, _, value = part.partition("=")
        if name == LLM:
            llm = value.strip()
        elif part.startswith(OUT):
            edits[_number(part.removeprefix(OUT))] = ""
        elif part:
            edits[_number(name)] = value.strip()
    return Wanted(llm, tuple(sorted(edits.items())))


def address(llm: str, edits: Mapping[int, str]) -> str:
    """
    >>> address("", {3: "a;b", 4: ""})
    'f3=a%3Bb;-f4'
    """
    parts = [f"{LLM}={llm}"] if llm else []
    parts += [f"f{n}={text}" if text else f"{OUT}f{n}" for n, text in sorted(edits.items())]
    return BETWEEN.join(quote(part, safe=PLAIN) for part in parts) or BETWEEN


def _number(name: str) -> int:
    digits = name.removeprefix("f")
    if not (name.startswith("f") and digits.isascii() and digits.isdigit() and len(digits) < 9):
        raise BadSetting(f"{name!r} is no fact; facts are named f1, f2, …")
    return int(digits)


def forks(here: Place, tried: Tried, say: Words, *, may_write: bool) -> None:
    """Those that were begun; and one more, closed until it is asked for."""
    for asked in forking.begun(state.open_store(), here.row.user, here.row.conversation):
        _begun(asked, say, may_write=may_write)
    with st.container(border=True, key="fork_box"):
        text = st.query_params.get(ADDRESS, "")
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            section(say("fork.title", turn=here.at), "call_split", says=say("fork.title.says"))
            st.button(
                say("fork.close" if text else "fork.begin"), key="fork_begin", type="tertiary",
                icon=":material/close:" if text else ":material/call_split:",
                on_click=state.go, kwargs={ADDRESS: None if text else BETWEEN},
            )  # fmt: skip
        if text:
            _form(text, here, tried, say, may_write=may_write)


def _form(text: str, here: Place, tried: Tried, say: Words, *, may_write: bool) -> None:
    if not here.has_decisions:
        st.info(say("fork.no_decisions"), icon=":material/info:")
        return
    try:
        asked_for = wanted(text)
        made = _forking(here, tried, asked_for)
    except EngineError as error:
        st.warning(escaped(visible(str(error), 400)), icon=":material/error:")
        st.button(say("fork.reset"), key="fork_reset", on_click=state.go, kwargs={ADDRESS: BETWEEN})
        return
    placed = state.view(_placed, here, made)
    _choose(made, asked_for, placed, say)
    _otherwise(made, placed, say)
    asked = forking.asking(made)
    if not asked.is_begun:
        asked.wait(forking.AT_ONCE_S)
        _estimated(asked, here, say, may_write=may_write)


def _forking(here: Place, tried: Tried, asked_for: Wanted) -> Forking:
    """With the settings of this turn as they were and what is tried of them; or a base of its own, whole."""
    of_run = st.query_params.get("base", BASES[0]) not in BASES[1:]
    whole = None if of_run else tried.settings
    changes = tuple(tried.changes.items()) if of_run else ()
    return state.view(_made, here, here.at, asked_for, whole, changes)


def _made(
    store: Store, scope: Scope, turn: int, asked_for: Wanted, whole: Settings | None,
    changes: tuple[tuple[str, Any], ...],
) -> Forking:  # fmt: skip
    said = {**dict(changes), **({LLM: asked_for.llm} if asked_for.llm else {})}
    return Forking(store, scope, turn, settings=whole, facts=asked_for.edits, **said)


def _placed(_store: Store, _scope: Scope, made: Forking) -> dict[int, str]:
    return made.placed


# ── what is to be otherwise ───────────────────────────────────────────────────────────────────────────


def _choose(made: Forking, asked_for: Wanted, placed: Mapping[int, str], say: Words) -> None:
    model, which, words = st.columns([1, 1.5, 2], gap="small", vertical_alignment="bottom")
    widget = f"fork_llm_{asked_for.llm}"

    def named() -> None:
        """A browser tells of a box that is gone as of a changed one: only another name is a change."""
        llm = st.session_state[widget].strip()
        if llm != asked_for.llm:
            state.go(**{ADDRESS: address(llm, asked_for.edits)})

    model.text_input(
        say("fork.llm"), asked_for.llm, key=widget, max_chars=200, placeholder=visible(made.settings.llm, 60),
        help=say("fork.llm.says"),
        on_change=named,
    )  # fmt: skip
    numbers = sorted({*placed, *asked_for.edits})
    chosen = which.selectbox(
        say("fork.fact"), numbers, None, key=CHOSEN, disabled=not numbers,
        format_func=lambda n: visible(f"f{n} · {placed.get(n, '')}", 90),
        placeholder=say("fork.fact.which" if numbers else "fork.fact.none"), help=say("fork.fact.says"),
    )  # fmt: skip
    if chosen is not None:
        with words:
            _edit(chosen, asked_for, placed, say)


def _edit(number: int, asked_for: Wanted, placed: Mapping[int, str], say: Words) -> None:
    was, now = placed.get(number, ""), asked_for.edits.get(number)
    shown = was if now is None else now
    widget = f"fork_words_{number}_{shown}"

    def changed() -> None:
        text = st.session_state[widget].strip()
        if text == shown:
            return
        rest = {n: words for n, words in asked_for.edits.items() if n != number}
        state.go(**{ADDRESS: address(asked_for.llm, rest if text == was else rest | {number: text})})

    st.text_input(
        say("fork.words"), shown, key=widget, on_change=changed, max_chars=LONGEST, help=say("fork.words.says")
    )


def _otherwise(made: Forking, placed: Mapping[int, str], say: Words) -> None:
    """What this fork is otherwise than the run it leaves."""
    before, after = made.store.state(made.parent.scope, made.after).settings.to_dict(), made.settings.to_dict()
    chips = [f"{name}: {before[name]} → {value}" for name, value in after.items() if value != before[name]]
    for n, text in sorted(made.facts.items()):
        chips.append(f"f{n}: {text}" if text else say("fork.without", fact=f"f{n}", words=placed.get(n, "")))
    run = run_name(made.parent.scope.run, say)
    facts([], key="fork_differs", chips=chips, title=say("fork.differs", run=run) if chips else "",
          note="" if chips else say("fork.same", run=run))  # fmt: skip


# ── what it takes, and the question ───────────────────────────────────────────────────────────────────


def _estimated(asked: Asking, here: Place, say: Words, *, may_write: bool) -> None:
    if asked.is_done:
        st.markdown(f":material/check: {say('fork.made')}")
        _door(asked, say)
    elif asked.is_under_way:
        st.fragment(_estimating, run_every=LOOK_S)(asked, say)
    elif asked.estimate is None:
        st.warning(escaped(visible(str(asked.error), 400)), icon=":material/error:")
    else:
        takes(asked.estimate, say)
        _ask(asked, asked.estimate, here, say, may_write=may_write)


def _estimating(asked: Asking, say: Words) -> None:
    if not asked.is_under_way:
        st.rerun()
    st.caption(f":material/hourglass_top: {say('fork.estimating')}")


def takes(found: Estimate, say: Words) -> None:
    """What a fork would take, before anybody is asked whether it is to be made."""
    facts([(say("fork.takes.messages"), say.number(found.steps)),
           (say("fork.takes.calls"), say.number(found.calls)),
           (say("fork.takes.in"), say.number(found.prompt_tokens)),
           (say("fork.takes.out"), say.number(found.completion_tokens)),
           (say("fork.takes.cost"), cost(found.cost_usd, say))], key="fork_takes", large=True)  # fmt: skip
    st.caption(say("fork.takes.says"))
    if found.tool_steps:
        st.caption(f":material/build: {say('fork.tools', steps=found.tool_steps)}")


def cost(usd: float | None, say: Words) -> str:
    return say("fork.no_price") if usd is None else f"${usd:.4f}" if usd else "$0"


def _ask(asked: Asking, found: Estimate, here: Place, say: Words, *, may_write: bool) -> None:
    name = asked.made.scope.run
    if st.session_state.get(SURE) != name:
        st.button(say("fork.ask"), icon=":material/call_split:", key="fork_ask", disabled=not may_write,
                  help=None if may_write else say("scope.readonly"),
                  on_click=st.session_state.__setitem__, args=(SURE, name))  # fmt: skip
        return

    def leave() -> None:
        st.session_state.pop(SURE, None)

    def go() -> None:
        leave()
        asked.start()
        state.go(run=here.scope.run, **{ADDRESS: None})  # the newest run is shown unasked: the reader stays with this

    with st.container(border=True, key="fork_sure"):
        told = say("fork.sure", llm=visible(found.llm, 60), messages=found.steps, cost=cost(found.cost_usd, say))
        st.markdown(f"**:material/call_split: {escaped(told)}**")
        st.caption(say("fork.sure.says"))
        with st.container(horizontal=True):
            st.button(say("fork.yes"), key="fork_now", on_click=go, type="primary", disabled=not may_write)
            st.button(say("fork.no"), key="fork_not", on_click=leave)


# ── how far it is ─────────────────────────────────────────────────────────────────────────────────────


def _begun(asked: Asking, say: Words, *, may_write: bool) -> None:
    with st.container(border=True, key=f"fork_{asked.made.scope.run}"):
        if asked.is_under_way:
            st.fragment(_under_way, run_every=LOOK_S)(asked, say)
        else:
            _ended(asked, say, may_write=may_write)


def _named(asked: Asking, say: Words) -> str:
    run = asked.made.scope.run
    from_ = say("fork.from", turn=asked.made.turn, run=run_name(asked.made.parent.scope.run, say))
    return f"{visible(run_name(run, say), 60)} · {from_} · {visible(asked.made.settings.llm, 60)}"


def _under_way(asked: Asking, say: Words) -> None:
    if not asked.is_under_way:
        st.rerun()
    st.markdown(f":material/call_split: {escaped(_named(asked, say))}")
    st.progress(asked.done / asked.steps, say("fork.progress", done=asked.done, steps=asked.steps))
    st.button(say("replay.cancel"), icon=":material/stop_circle:", key=f"fork_stop_{asked.made.scope.run}",
              on_click=asked.stop)  # fmt: skip


def _ended(asked: Asking, say: Words, *, may_write: bool) -> None:
    name = asked.made.scope.run
    icon = "error" if asked.error else "check" if asked.is_done else "pause_circle"
    paid = say("fork.paid", cost=cost(asked.cost_usd, say))
    st.markdown(f":material/{icon}: {escaped(_named(asked, say))}")
    st.caption(escaped(f"{say('fork.progress', done=asked.done, steps=asked.steps)} · {paid}"))
    if asked.error is not None:
        st.text(visible(str(asked.error), 600))
        st.caption(say(f"chat.advice.{live.advice(asked.error)}"))
    with st.container(horizontal=True, vertical_alignment="center"):
        if not asked.is_done:
            st.button(say("fork.go_on"), icon=":material/play_arrow:", key=f"fork_go_on_{name}", on_click=asked.start,
                      disabled=not may_write)  # fmt: skip
        if asked.done:
            _door(asked, say)
        st.button(say("fork.put_aside"), key=f"fork_aside_{name}", type="tertiary", on_click=forking.put_aside,
                  args=(asked,))  # fmt: skip


def _door(asked: Asking, say: Words) -> None:
    scope = asked.made.scope
    of = dict(zip(PLACE_OF, (scope.user, scope.conversation), strict=True))
    state.door("live", say("fork.open"), "open_in_new", **of, run=scope.run, turn=None, fork=None)
