"""One turn's prompt once more, otherwise: another budget or policy, without a fact or a page; and each part left out.

What is asked stands in the address (`if=window_tokens=4000;-f3`). Nothing is written, and a model is asked both prompts
only where the reader says so to a cost that is shown.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from memory.errors import EngineError
from memory.eviction import EVICTION
from memory.scope import Scope
from memory.stores.sql import Store
from sessions.counterfactual import LeftOut, WhatIf, what_if
from workbench import live, state
from workbench.asking import question
from workbench.assigned import BETWEEN, from_address, to_address
from workbench.components import asked
from workbench.components.export import export
from workbench.components.facts import facts
from workbench.components.grid import Cell, Column, Line, grid
from workbench.components.replies import Side, replies
from workbench.components.trace import section
from workbench.state import Place
from workbench.words import Words, escaped, visible

ADDRESS = "if"
OUT = "-"  # before what is left out
Changes = tuple[tuple[str, Any], ...]
NO_PART = ("stubs", "facts")  # sections of many parts: what is left out is a page or a fact


def whatif(here: Place, say: Words) -> None:
    """Closed until it is asked for: a rehearsal of a long run takes its time."""
    wanted = st.query_params.get(ADDRESS, "")
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        section(say("whatif.title"), "alt_route", says=say("whatif.says"))
        if not wanted:
            st.button(say("whatif.begin"), key="whatif_begin", icon=":material/alt_route:", type="tertiary",
                      on_click=state.go, kwargs={ADDRESS: BETWEEN})  # fmt: skip
    if not wanted:
        return
    try:
        changes, without = _asked(wanted)
        made = state.view(_made, here, here.at, tuple(changes.items()), without)
    except EngineError as error:
        st.warning(escaped(visible(str(error), 400)), icon=":material/error:")
        st.button(say("whatif.reset"), key="whatif_reset", on_click=state.go, kwargs={ADDRESS: BETWEEN})
        return
    _form(made, changes, without, say)
    _came_of_it(made, say)
    if made.moved:
        _answered(made, here, say)
    _left_out(made, changes, without, say)


def _made(
    store: Store, scope: Scope, turn: int, changes: tuple[tuple[str, Any], ...], without: tuple[str, ...]
) -> WhatIf:
    return what_if(store, scope, turn, settings=dict(changes), without=without)


def _asked(text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Settings, and what is left out. Raises BadSetting."""
    parts = [part.strip() for part in text.split(BETWEEN) if part.strip()]
    without = tuple(part.removeprefix(OUT) for part in parts if part.startswith(OUT))
    return from_address(BETWEEN.join(part for part in parts if not part.startswith(OUT))), without


def _go(changes: dict[str, Any], without: tuple[str, ...]) -> None:
    told = [to_address(changes)] if changes else []
    state.go(**{ADDRESS: BETWEEN.join([*told, *(f"{OUT}{name}" for name in without)]) or BETWEEN})


def _names(made: WhatIf) -> list[str]:
    return [row.name for row in made.table if row.name not in NO_PART]


def _form(made: WhatIf, changes: dict[str, Any], without: tuple[str, ...], say: Words) -> None:
    key = f"whatif_{made.turn}_{changes}_{without}"  # another widget for another address
    with st.form(key, border=False):
        budget, policy, rest = st.columns([1, 1, 2], gap="small")
        tokens = budget.number_input(
            say("whatif.budget"), min_value=1, max_value=10_000_000, step=500, key=f"{key}_budget",
            value=int(changes["window_tokens"]) if "window_tokens" in changes else None,
            placeholder=say("whatif.as_it_was"),
        )  # fmt: skip
        chosen = policy.selectbox(
            say("whatif.policy"), sorted(EVICTION), key=f"{key}_policy", placeholder=say("whatif.as_it_was"),
            index=sorted(EVICTION).index(changes["eviction"]) if changes.get("eviction") in EVICTION else None,
        )  # fmt: skip
        names = _names(made)
        gone = rest.multiselect(
            say("whatif.without"), list(dict.fromkeys((*without, *names))), default=list(without),
            key=f"{key}_without", placeholder=say("whatif.without.none"),
        )  # fmt: skip
        if st.form_submit_button(say("whatif.rebuild"), icon=":material/refresh:", type="primary"):
            wanted = {name: value for name, value in changes.items() if name not in ("window_tokens", "eviction")}
            wanted |= {} if tokens is None else {"window_tokens": tokens}
            wanted |= {} if chosen is None else {"eviction": chosen}
            _go(wanted, tuple(gone))
            st.rerun()


def _came_of_it(made: WhatIf, say: Words) -> None:
    if not made.changes:
        return
    by = made.after_tokens - made.before_tokens
    facts([(say("tune.before"), say("tokens", tokens=made.before_tokens)),
           (say("tune.after"), say("tokens", tokens=made.after_tokens)),
           (say("tune.by"), f"{'+' if by > 0 else '−' if by else ''}{say.number(abs(by))}"),
           (say("whatif.moved"), say.number(len(made.moved)))], key="whatif_told", large=True)  # fmt: skip
    if not made.moved:
        st.caption(say("whatif.same"))
        return
    columns = [Column("name", say("whatif.part")), Column("section", say("whatif.section")),
               Column("state", ""), Column("before", say("tune.before"), "num"),
               Column("after", say("tune.after"), "num")]  # fmt: skip
    lines = [
        Line(f"{p.name} {p.section}", (
            Cell(p.name), Cell(say.term("section", p.section)), Cell(say.term("whatif.state", p.state)),
            Cell(say.number(p.before)), Cell(say.number(p.after)),
        ))
        for p in made.moved
    ]  # fmt: skip
    grid(columns, lines, say, "whatif_moved", say("whatif.moved"))


def _answered(made: WhatIf, here: Place, say: Words) -> None:
    """What a model says to both prompts, word by word; folded away until it is asked for."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        section(say("whatif.ask"), "smart_toy", says=say("whatif.ask.says"))
        is_open = st.toggle(say("whatif.ask.open"), key=f"whatif_ask_{made.turn}")
    if not is_open:
        return
    llm = st.text_input(say("fork.llm"), key="whatif_llm", max_chars=200, width=320,
                        placeholder=visible(made.settings.llm, 60)).strip()  # fmt: skip
    twice = made.twice(llm)
    of = question(("what if", here.scope, here.generation, repr(twice.prompts), twice.llm), lambda: twice)
    said = asked.replies(of, say, "whatif_model")
    if said is None:
        return
    replies([Side(say("tune.before"), said[0]), Side(say("tune.after"), said[1])], "whatif_replies",
            say("whatif.ask"), is_diff=True)  # fmt: skip
    told = "whatif.ask.same" if said[0] == said[1] else "whatif.ask.differ"
    st.caption(escaped(say(told, llm=visible(twice.llm, 60))))


def _left_out(made: WhatIf, changes: dict[str, Any], without: tuple[str, ...], say: Words) -> None:
    """One part after the other, the most tokens first; a button leaves it out above."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        section(say("whatif.table"), "playlist_remove", str(len(made.table)), say("whatif.table.says"))
        export(made.to_df, f"left out at turn {made.turn}", say, key="whatif", drawing=made)
    columns = [Column("says", say("whatif.part"), "long"), Column("section", say("whatif.section")),
               Column("saved", say("whatif.saved"), "num"), Column("lost", say("whatif.lost")),
               Column("used", say("whatif.used"), "num"), Column("act", "", "act")]  # fmt: skip

    def take(name: str) -> None:
        _go(changes, (*without, name))

    grid(columns, [_row(row, without, say) for row in made.table], say, "whatif_left_out", say("whatif.table"),
         on_act=live.on("whatif_left_out", "act", take))  # fmt: skip


def _row(row: LeftOut, without: tuple[str, ...], say: Words) -> Line:
    lost = ", ".join(f"#{n}" for n in row.evidence)
    can_go = row.name not in (*NO_PART, *without)
    return Line(
        row.name,
        (
            Cell(row.name, sub=visible(row.says, 160)), Cell(say.term("section", row.section)),
            Cell(say.number(row.tokens)), Cell(lost or "–", tone="bad" if lost else ""),
            Cell(say.amount(row.used_ratio, "ratio")), Cell(say("whatif.leave_out") if can_go else ""),
        ),
    )  # fmt: skip
