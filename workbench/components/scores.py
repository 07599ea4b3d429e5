"""The scorecard as a table whose marks open what they count; questions pinned, replies rated, the bill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from memory.errors import EngineError
from sessions.bill import Bill
from sessions.bill import Line as BillLine
from sessions.questions import Pinned, file_of, pin, read, unpin
from sessions.scores import PROFILES, Score, figure
from sessions.scores import ratings as rated
from workbench import live, state
from workbench.charts import spark
from workbench.components.export import export
from workbench.components.facts import facts
from workbench.components.grid import Cell, Column, Line, grid
from workbench.components.lab import honesty
from workbench.state import Missing, Place
from workbench.views.scores import SHOWN, ScoresView, bill, scores
from workbench.views.turn import TurnView
from workbench.words import Words, visible

UNASKED = 600  # turns that are counted as soon as a page is opened; of a longer run somebody asks for it
COUNTED = "_scores_counted"  # session: what was asked for, by part and scope
TONES = {5: "ok", 4: "ok", 3: "quiet", 2: "warn", 1: "bad"}


# ── the scorecard ─────────────────────────────────────────────────────────────────────────────────────


def scorecard(here: Place, say: Words) -> None:
    """Of the sidebar's conversation, as a profile weighs it; a row opens the turns that count against it."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"##### :material/scoreboard: {say('scores.title')}", help=say("scores.says"), width="content")
        if here.has_decisions and here.stream.turns:
            export(lambda: _seen(here).card.to_dict()["scores"], "scores", say, drawing=lambda: _seen(here))
    if not here.has_decisions or not here.stream.turns:
        st.caption(say("no_decisions") if here.stream.turns else say("trace.none"))
        return
    _profiles(say)
    if not _wanted("scores", here, say):
        return
    view = _seen(here)
    _overall(view, say)
    _marks(view, say)
    name = st.query_params.get("score", "")
    if name in {score.name for score in view.card.scores}:
        _opened(view, name, here, say)
    honesty(view.card.honesty, say, "scores_worth")


def _wanted(part: str, here: Place, say: Words) -> bool:
    """Whether to count at once; a long run takes seconds, so there is a button first."""
    asked: set[tuple[object, ...]] = st.session_state.setdefault(COUNTED, set())
    key = (part, here.scope)
    if here.stream.turns <= UNASKED or key in asked:
        return True
    st.button(
        say("scores.count", turns=here.stream.turns), key=f"count_{part}", icon=":material/calculate:",
        help=say("scores.count.says"), on_click=asked.add, args=(key,),
    )  # fmt: skip
    return False


def _profile() -> str:
    asked = st.query_params.get("profile", "")
    if asked and asked not in PROFILES:
        raise Missing("profile", list(PROFILES), name=asked)
    return asked or next(iter(PROFILES))


def _seen(here: Place) -> ScoresView:
    return state.view(scores, here, _profile(), here.turn)


def _profiles(say: Words) -> None:
    chosen = _profile()
    widget = f"profile_{chosen}_{say.language}"
    st.pills(
        say("scores.profile"), list(PROFILES), default=chosen, key=widget, label_visibility="collapsed",
        format_func=lambda name: say.term("profile", name),
        on_change=lambda: state.go(profile=st.session_state[widget]),
    )  # fmt: skip


def _overall(view: ScoresView, say: Words) -> None:
    card = view.card
    overall = say("scores.undefined") if card.overall is None else say("scores.of_5", mark=say.score(card.overall))
    pins = say("scores.none_asked") if not view.asked else say("scores.won", won=view.held, n=view.asked)
    facts(
        [
            (say("scores.overall"), overall),
            (say("scores.measured"), say.amount(round(card.measured, 3), "ratio")),
            (say("scores.steps"), say.number(card.steps)),
            (say("scores.pinned"), pins if view.pinned else say("scores.none_pinned")),
        ],
        key="scores_overall",
    )


def _marks(view: ScoresView, say: Words) -> None:
    columns = [
        Column("name", say("scores.score"), "long"),
        Column("mark", say("scores.mark")),
        Column("figure", say("scores.figure"), "num"),
        Column("n", "n", "num", says=say("scores.n.says")),
        Column("trend", say("scores.trend"), says=say("scores.trend.says")),
        Column("against", say("scores.against"), "num", says=say("scores.against.says")),
    ]
    lines = [Line(s.name, _cells(s, view, say), f"overview?score={s.name}") for s in view.card.scores]
    opened = live.on("scores_marks", "open", lambda name: state.go(score=None if _is_open(name) else name))
    grid(columns, lines, say, "scores_marks", say("scores.title"), on_open=opened)


def _is_open(name: str) -> bool:
    return st.query_params.get("score", "") == name


def _figure(value: float, unit: str, say: Words) -> str:
    return say.amount(value, "ratio") if unit == "ratio" else say("scores.unit.steps", n=round(value, 2))


def _cells(score: Score, view: ScoresView, say: Words) -> tuple[Cell, ...]:
    mark = f"{'●' * score.mark}{'○' * (5 - score.mark)} {score.mark}" if score.mark else "–"
    told = say("scores.undefined") if score.value is None else _figure(round(score.value, 3), score.unit, say)
    return (
        Cell(say(f"score.{score.name}"), say(f"score.{score.name}.says"), tone=TONES.get(score.mark or 0, "")),
        Cell(mark),
        Cell(told, says=figure(score)),
        Cell(say.number(score.n) if score.n else "–"),
        Cell("" if view.card.course(score.name) else "–", says=view.course(score), shape=_shape(view, score)),
        Cell(say.number(len(score.against)) if score.n else "–"),
    )


def _shape(view: ScoresView, score: Score) -> dict[str, str]:
    course = view.card.course(score.name)
    return spark(course) if len(course) > 1 else {}


def _opened(view: ScoresView, name: str, here: Place, say: Words) -> None:
    rows = view.against(name)
    st.markdown(f"**{say('scores.opened', score=say(f'score.{name}'), n=len(rows))}**")
    if not rows:
        st.caption(say("scores.nothing_against"))
        return
    if len(rows) > SHOWN:
        st.caption(say("scores.capped", shown=SHOWN, all=len(rows)))
    _turns(rows[:SHOWN], here, say)


def _turns(rows: Sequence[dict[str, Any]], here: Place, say: Words) -> None:
    columns = [Column("turn", say("scores.turn")), Column("says", say("scores.why"), "long")]
    lines = [
        Line(
            str(n), (Cell(say("turn.one", turn=row["turn"])), Cell(say.reason(row["says"]))), f"turn?turn={row['turn']}"
        )
        for n, row in enumerate(rows)
    ]

    def led(key: str) -> None:
        if key.isdigit() and int(key) < len(rows):
            scope = here.scope
            state.lead("turn", user=scope.user, conv=scope.conversation, run=scope.run, turn=rows[int(key)]["turn"])

    grid(columns, lines, say, "scores_turns", say("scores.against"), on_open=live.on("scores_turns", "open", led))


# ── pinning ───────────────────────────────────────────────────────────────────────────────────────────


def pinning(here: Place, question: str, expected: str, say: Words) -> None:
    """A button that pins this question onto the conversation, or takes it out again."""
    if not question or not expected:
        return
    wanted = Pinned(question, here.row.user, here.row.conversation, expect=(expected,), turn=here.turn or 0)
    readonly = state.open_store().readonly
    is_pinned = wanted.name in {each.name for each in read(file_of(state.open_store()))}
    told = say("scope.readonly") if readonly else say("pinned.unpin.says" if is_pinned else "pinned.pin.says")
    st.button(
        say("pinned.unpin" if is_pinned else "pinned.pin"), key="pin_question", help=told, disabled=readonly,
        icon=":material/keep_off:" if is_pinned else ":material/keep:", on_click=_pin, args=(wanted, is_pinned, say),
    )  # fmt: skip


def _pin(wanted: Pinned, is_pinned: bool, say: Words) -> None:
    store = state.open_store()
    try:
        unpin(store, wanted.name) if is_pinned else pin(store, wanted)
        live.note(say("pinned.gone" if is_pinned else "pinned.kept", question=visible(wanted.question, 80)), "keep")
    except EngineError as error:
        live.note(f"{say('error.other')}: {visible(str(error), 300)}", "error")


# ── rating ────────────────────────────────────────────────────────────────────────────────────────────


def rating(view: TurnView, here: Place, say: Words) -> None:
    """Thumbs for the step's last reply; the same thumb again takes it back."""
    replies = [row.turn for row in view.messages if row.role == "assistant"]
    if not replies or not here.has_decisions:
        return
    turn = replies[-1]
    before = state.view(rated, here).get(turn, 0)
    readonly = state.open_store().readonly
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="rating"):
        st.caption(say("rate.says"), width="content")
        for value, icon, name in ((1, "thumb_up", "rate.up"), (-1, "thumb_down", "rate.down")):
            st.button(
                say(name), key=f"rate_{value}_{turn}", icon=f":material/{icon}:", disabled=readonly,
                type="primary" if before == value else "secondary",
                help=say("scope.readonly") if readonly else say("rate.undo" if before == value else name),
                on_click=live.rate, args=(here, turn, 0 if before == value else value, say),
            )  # fmt: skip


# ── the bill ──────────────────────────────────────────────────────────────────────────────────────────


def spent(here: Place, say: Words) -> None:
    """What each page and fact cost to carry, the most wasted first."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"##### :material/receipt_long: {say('bill.title')}", help=say("bill.says"), width="content")
        if not _wanted("bill", here, say):
            return
        found = state.view(bill, here, here.turn)
        if found.lines:
            export(lambda: found.lines, f"bill {here.row.conversation}", say, key="bill", drawing=found)
    if not found.lines:
        st.caption(say("bill.none"))
        return
    _sums(found, say)
    if len(found.lines) > SHOWN:
        st.caption(say("scores.capped", shown=SHOWN, all=len(found.lines)))
    columns = [
        Column("what", say("bill.what"), "long"),
        *(Column(name, say(f"bill.{name}"), "num", says=say(f"bill.{name}.says"))
          for name in ("prompts", "tokens", "used", "waste", "cost")),
    ]  # fmt: skip
    grid(columns, [_line(each, say) for each in found.lines[:SHOWN]], say, "bill", say("bill.title"))
    honesty(found.honesty, say, "bill_worth")


def _sums(found: Bill, say: Words) -> None:
    share = found.tokens / found.prompt_tokens if found.prompt_tokens else 0.0
    facts(
        [
            (say("bill.tokens"), say.number(found.tokens)),
            (say("bill.share"), say.amount(round(share, 3), "ratio")),
            (say("bill.waste"), say.number(found.waste)),
            (say("bill.cost"), say("bill.no_price") if found.cost_usd is None else say.amount(found.cost_usd, "usd")),
        ],
        key="bill_sums",
    )


def _line(each: BillLine, say: Words) -> Line:
    return Line(
        each.name,
        (
            Cell(each.name, each.says),
            Cell(say.number(each.prompts)),
            Cell(say.number(each.tokens)),
            Cell(say.number(each.used), tone="" if each.used else "warn"),
            Cell(say.number(each.waste)),
            Cell("–" if each.cost_usd is None else say.amount(each.cost_usd, "usd")),
        ),
    )
