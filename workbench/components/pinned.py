"""Questions pinned onto a conversation, won and lost by what is tried; pinning one, and finding what wins it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from memory.errors import EngineError
from sessions.effect import Effect
from sessions.pinned import Moved, Outcome
from sessions.questions import Pinned, pin
from workbench import live, state, tuning
from workbench.components.export import export
from workbench.components.grid import Cell, Column, Line, grid
from workbench.components.lab import honesty
from workbench.components.replay import Tried
from workbench.components.trace import section
from workbench.components.tune import go
from workbench.state import Place
from workbench.words import Words, visible

UNSAID = "written"  # the stage of a question that no setting can win: nobody said it
QUESTION, EXPECT = "tune_pin_question", "tune_pin_expect"


def pinned(made: Effect, tried: Tried, here: Place, say: Words) -> None:
    """Each pinned question before and after; those that moved first."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        section(say("tune.pinned"), "keep", str(len(made.pinned)) if made.pinned else "", say("tune.pinned.says"))
        _pinning(here, say)
        if made.pinned:
            export(made.to_dict()["pinned"], f"pinned {made.conversation}", say, key="tune_pinned")
    if not made.pinned:
        st.caption(say("tune.pinned.none"))
        return
    by_name = {each.asked.name: each for each in made.pinned}

    def find(key: str) -> None:
        _find(by_name[key].asked, tried, here, say)

    def why(key: str) -> None:
        state.lead("why", **_why(by_name[key].asked, here))

    outcomes(
        made, say, lambda asked: f"why?{urlencode(_why(asked, here))}",
        on_act=live.on("tune_pins", "act", find), on_open=live.on("tune_pins", "open", why),
    )  # fmt: skip
    honesty(made.pinned_honesty, say, "tune_pinned_worth")
    st.caption(say("tune.pinned.ci"))


def _nothing() -> None: ...


def outcomes(
    made: Effect, say: Words, leads: Callable[[Pinned], str] | None = None, *,
    on_act: Callable[[], None] = _nothing, on_open: Callable[[], None] = _nothing,
) -> None:  # fmt: skip
    """Those that moved first; each leads somewhere, and may be found a setting for, where a page is listening."""
    moved = sorted(made.pinned, key=lambda each: (not (each.is_won or each.is_lost), each.after.won))
    columns = [Column("q", say("tune.question"), "long"), Column("before", say("tune.before"), "long"),
               Column("after", say("tune.after"), "long"), *([Column("act", "", "act")] if leads else [])]  # fmt: skip
    lines = [_line(each, say, leads) for each in moved]
    grid(columns, lines, say, "tune_pins", say("tune.pinned"), on_act=on_act, on_open=on_open)


def _line(each: Moved, say: Words, leads: Callable[[Pinned], str] | None) -> Line:
    words = ", ".join((*each.asked.expect, *(f"#{n}" for n in each.asked.evidence)))
    return Line(
        each.asked.name,
        (
            Cell(visible(each.asked.question, 160), sub=visible(words, 120)),
            _cell(each.before, say, moved=False),
            _cell(each.after, say, moved=each.is_won or each.is_lost),
            *([_finds(each, say)] if leads else []),
        ),
        leads(each.asked) if leads else "",
    )


def _finds(each: Moved, say: Words) -> Cell:
    can_win = not each.after.won and each.after.stage != UNSAID
    return Cell(say("tune.pinned.find") if can_win else "", says=say("tune.pinned.find.says") if can_win else "")


def _cell(outcome: Outcome, say: Words, *, moved: bool) -> Cell:
    if outcome.won:
        return Cell(say("tune.pinned.won"), tone="ok")
    told = say("tune.pinned.lost", stage=say.term("tune.pinned.stage", outcome.stage))
    return Cell(told, sub=visible(say.reason(outcome.says), 240), tone="bad" if moved else "warn")


def _why(asked: Pinned, here: Place) -> dict[str, Any]:
    words = (*asked.expect, *asked.never, asked.question)[0]
    place = {"user": asked.user, "conv": asked.conversation, "run": here.scope.run, "q": asked.question}
    return {**place, "expect": words, **({"turn": asked.turn} if asked.turn else {})}


def _find(asked: Pinned, tried: Tried, here: Place, say: Words) -> None:
    try:
        found = tuning.winning(here, tried, asked)
    except EngineError as error:
        live.note(f"{say('error.other')}: {visible(str(error), 300)}", "error")
        return
    if found is None:
        live.note(say("tune.pinned.unwon", question=visible(asked.question, 80)), "target")
        return
    live.note(say("tune.pinned.wins", change=", ".join(f"{name}={value}" for name, value in found.items())), "target")
    go(tried, found)


def _pinning(here: Place, say: Words) -> None:
    """A question and the words that a right prompt holds."""
    readonly = state.open_store().readonly
    box = st.popover(say("pinned.pin"), icon=":material/keep:", type="tertiary", disabled=readonly)
    with box.form("tune_pin", border=False, clear_on_submit=True):
        st.text_input(say("tune.question"), key=QUESTION, max_chars=400)
        st.text_input(say("tune.pinned.expect"), key=EXPECT, max_chars=200, help=say("tune.pinned.expect.says"))
        st.form_submit_button(say("pinned.pin"), icon=":material/keep:", disabled=readonly, on_click=_pin,
                                  args=(here, say))  # fmt: skip


def _pin(here: Place, say: Words) -> None:
    question, expect = (st.session_state[key].strip() for key in (QUESTION, EXPECT))
    words = tuple(each.strip() for each in expect.split(";") if each.strip())
    try:
        kept = pin(state.open_store(), Pinned(question, here.row.user, here.row.conversation, expect=words))
        live.note(say("pinned.kept", question=visible(kept.question, 80)), "keep")
    except EngineError as error:
        live.note(f"{say('error.other')}: {visible(str(error), 300)}", "error")
