"""The parts of the Tune page: the dials, what moving them did, the way to keep it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from memory.errors import EngineError
from memory.settings import Settings
from sessions.effect import Answer, Effect
from sessions.presets import PRESETS, as_json, as_toml, preset
from sessions.thresholds import Suggestion, Thresholds
from workbench import live, state
from workbench.assigned import changed_from, to_address
from workbench.components.dials import range_of
from workbench.components.diff import diff
from workbench.components.export import export
from workbench.components.facts import facts
from workbench.components.grid import Cell, Line, grid
from workbench.components.grid import Column as GridColumn
from workbench.components.histogram import Spread, spread
from workbench.components.lab import honesty
from workbench.components.replay import Tried
from workbench.components.strip import MOST, Column, strip
from workbench.components.trace import section
from workbench.state import Place
from workbench.views import tune as view
from workbench.views.tune import Dial
from workbench.words import Words, escaped, visible

MOVED = "moved"
FIND, GROUP = "tune_find", "tune_group"
BESIDE = "tune_beside"  # the dials; app.css keeps them in sight while what came of them is read
BEFORE = "_tune_before"  # session: what was in force before the reader applied something


# ── the dials ─────────────────────────────────────────────────────────────────────────────────────────


def dials(tried: Tried, say: Words) -> None:
    """Presets, a search, groups, and the settings of one of them as sliders."""
    all_ = view.dials(tried.base, tried.settings)
    moved = sum(dial.is_moved for dial in all_)
    section(say("tune.dials"), "tune", str(moved) if moved else "", say("tune.dials.says"))
    with st.container(horizontal=True, gap="small"):
        for name in PRESETS:
            st.button(
                say(f"tune.preset.{name}"), key=f"tune_preset_{name}", help=_told(preset(name), say),
                on_click=go, args=(tried, dict(preset(name))),
            )  # fmt: skip
    words = st.text_input(say("tune.find"), key=FIND, placeholder=say("tune.find.example"),
                          icon=":material/search:", label_visibility="collapsed", max_chars=80)  # fmt: skip
    groups = [*view.GROUPS, *([MOVED] if moved else [])]
    if st.session_state.get(GROUP) not in (None, *groups):
        st.session_state[GROUP] = groups[0]
    group = st.pills(
        say("tune.groups"), groups, default=groups[0], key=GROUP, format_func=lambda each: say(f"tune.group.{each}"),
        label_visibility="collapsed", disabled=bool(words.strip()),
    )  # fmt: skip
    shown = view.found(all_, words, group or groups[0])
    if not shown:
        st.caption(say("tune.find.none"))
    for dial in shown:
        _dial(dial, tried, say)
    if tried.changes:
        st.button(say("tune.reset"), key="tune_reset", icon=":material/restart_alt:", type="tertiary",
                  on_click=state.go, kwargs={"set": None})  # fmt: skip


def _told(changes: Mapping[str, Any], say: Words) -> str:
    return escaped(say("tune.preset.says", settings=", ".join(f"{name}={value}" for name, value in changes.items())))


def go(tried: Tried, changes: Mapping[str, Any]) -> None:
    """The address with these changes; what is as in the run is left out of it."""
    wanted = {**tried.changes, **changes}
    base = tried.base.to_dict()
    kept = {name: value for name, value in wanted.items() if base[name] != value}
    state.go(set=to_address(kept) or None)


def _dial(dial: Dial, tried: Tried, say: Words) -> None:
    key = f"tune_{dial.name}"
    label = f"{dial.name} :blue-badge[{say('tune.moved')}]" if dial.is_moved else dial.name
    if not dial.shows:
        label += f" :gray-badge[{say('tune.unseen')}]"
    elif dial.shows == "questions":
        label += f" :gray-badge[{say('tune.in_questions')}]"
    told = escaped(f"{dial.says} {range_of(dial, say)}")
    if st.session_state.get(key) != dial.value:  # the address rules; the widget stays the same one
        st.session_state[key] = dial.value

    def moved() -> None:
        go(tried, {dial.name: st.session_state[key]})

    common: dict[str, Any] = {"key": key, "help": told, "on_change": moved}
    if dial.kind == "name":
        st.selectbox(label, dial.choices, **common)
    elif dial.kind == "text":
        st.text_input(label, max_chars=400, **common)
    elif dial.choices:
        st.select_slider(label, dial.choices, format_func=lambda n: f"{n:,}", **common)
    elif dial.kind == "int":
        st.slider(label, int(dial.low), int(dial.high), step=1, **common)
    else:
        st.slider(label, float(dial.low), float(dial.high), step=dial.step, **common)


# ── what it did ───────────────────────────────────────────────────────────────────────────────────────


def figures(made: Effect, say: Words) -> None:
    """Before, after, by how much; and what that comes to in prompts and questions."""
    n = len(made.answers)
    told = [(say("tune.figure.changed"), say("tune.of", n=len(made.turns), of=made.steps))]
    if pins := len(made.pinned):
        told += [
            (say("tune.figure.pinned_won"), say("tune.of", n=sum(p.is_won for p in made.pinned), of=pins)),
            (say("tune.figure.pinned_lost"), say("tune.of", n=sum(p.is_lost for p in made.pinned), of=pins)),
        ]
    if n:
        told += [
            (say("tune.figure.won"), say("tune.of", n=len(made.won), of=n)),
            (say("tune.figure.lost"), say("tune.of", n=len(made.lost), of=n)),
        ]
    facts(told, key="tune_told", large=True)
    heads = [GridColumn("name", say("tune.figure"), "long"), GridColumn("before", say("tune.before"), "num"),
             GridColumn("after", say("tune.after"), "num"), GridColumn("by", say("tune.by"), "num")]  # fmt: skip
    lines = [
        Line(name, (Cell(say(f"tune.figure.{name}")), *map(Cell, _row(name, before, after, say))))
        for name, before, after in made.figures()
        if name != "cost_usd" or before
    ]
    grid(heads, lines, say, "tune_figures", say("tune.figures"))


def _row(name: str, before: float | None, after: float | None, say: Words) -> tuple[str, str, str]:
    unit = {"hit_ratio": "ratio", "cost_usd": "usd"}.get(name, "count")
    if before is None or after is None:
        return "–", "–", "–"
    by = after - before
    moved = f"{'+' if by > 0 else '−'}{say.amount(abs(by), unit)}" if by else "0"
    return say.amount(before, unit), say.amount(after, unit), moved


def turns(made: Effect, chosen: int | None, say: Words) -> None:
    """The strip of steps, and the diff of the one that was chosen."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        section(say("tune.turns"), "difference", f"{len(made.turns)}", say("tune.turns.says"))
        export(made.to_df, f"tuned {made.conversation}", say, key="tune_turns", drawing=made)
    if not made.turns:
        st.caption(say("tune.turns.none" if made.changed else "tune.nothing"))
        if not made.changed:
            return
    strip(columns(made, say), first_of(made, chosen), say, "tune_strip", say("tune.turns"),
          live.on("tune_strip", "turn", lambda turn: state.go(turn=int(turn))))  # fmt: skip
    at = first_of(made, chosen)
    if at is None:
        return
    step = next(each for each in made.turns if each.turn == at)
    st.markdown(f"**{say.turns(step.turn, step.last_turn)}** · {escaped(because(step.why, say))}")
    found = view.difference(made, at)
    if found is not None:
        diff(found, say, key="tune_diff", layout="changes")


def first_of(made: Effect, chosen: int | None) -> int | None:
    """The step that holds the chosen turn, if its prompt changed; else the first that did."""
    held = [t.turn for t in made.turns if chosen is not None and t.turn <= chosen <= t.last_turn]
    return held[0] if held else made.turns[0].turn if made.turns else None


def because(why: Sequence[Any], say: Words) -> str:
    return "; ".join(say(f"tune.why.{m.kind}", parts=m.parts, tokens=m.tokens) for m in why)


def columns(made: Effect, say: Words) -> list[Column]:
    """At most MOST: of a long conversation each stands for several steps, and leads to the first that changed."""
    before, after = (each.steps for each in made.replays)
    changed = {t.step: t for t in made.turns}
    width = -(-len(before) // MOST)
    found = []
    for start in range(0, len(before), width):
        a, b = before[start : start + width], after[start : start + width]
        moved = [changed[s.number] for s in a if s.number in changed]
        tokens = [max((s.prompts[-1] for s in each if s.prompts), default=0) for each in (a, b)]
        says = say("tune.strip.says", turns=say.turns(a[0].first_turn, a[-1].last_turn), before=tokens[0],
                   after=tokens[1])  # fmt: skip
        if moved:
            says += f" · {because(moved[0].why, say)}"
        found.append(Column(moved[0].turn if moved else a[0].first_turn, tokens[0], tokens[1], len(moved), says))
    return found


def questions(made: Effect, say: Words) -> None:
    """Those that moved; with their outcome before and after."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        section(say("tune.questions"), "quiz", str(len(made.answers)), say("tune.questions.says"))
        export([_answer_row(a) for a in made.answers], f"questions {made.conversation}", say, key="tune_questions")
    if not made.answers:
        st.caption(say("tune.questions.none"))
        return
    honesty(made.honesty, say, "tune_worth")
    if not any(a.moved for a in made.answers):
        st.caption(say("tune.questions.same", n=len(made.answers)))
        return
    moved_questions(made, say)


def moved_questions(made: Effect, say: Words) -> None:
    """The lost ones first."""
    moved = sorted((a for a in made.answers if a.moved), key=lambda a: a.moved)
    heads = [GridColumn("q", say("tune.question"), "long"), GridColumn("turn", say("tune.turn"), "num"),
             GridColumn("before", say("tune.before"), "long"),
             GridColumn("after", say("tune.after"), "long")]  # fmt: skip
    lines = [
        Line(str(n), (
            Cell(visible(a.posed.question, 160)),
            Cell(f"#{a.posed.turn}" if a.posed.turn else say("tune.end")),
            Cell(say(f"tune.at.{a.before}")),
            Cell(say(f"tune.at.{a.after}"), tone="ok" if a.moved > 0 else "bad"),
        ))
        for n, a in enumerate(moved)
    ]  # fmt: skip
    grid(heads, lines, say, "tune_moved", say("tune.questions"))


def _answer_row(a: Answer) -> dict[str, Any]:
    return {"question": a.posed.question, "turn": a.posed.turn, "by": a.posed.by, "evidence": list(a.posed.evidence),
            "before": a.before, "after": a.after}  # fmt: skip


def lines(found: Thresholds, tried: Tried, say: Words) -> None:
    """A line of retrieval: what each of its values would have done, and one that is suggested."""
    setting = st.segmented_control(
        say("tune.line"), list(found.curves), default=next(iter(found.curves)), key="tune_line",
        label_visibility="collapsed",
    ) or next(iter(found.curves))  # fmt: skip
    st.caption(say("tune.lines.n", n=len(found.open), needless=len(found.needless), near=len(found.near_misses)))
    honesty(found.honesty, say, "tune_lines_worth")
    _spread(found, setting, say)
    suggestion = next((s for s in found.suggestions if s.setting == setting), None)
    if suggestion is None:
        st.caption(say("tune.lines.few"))
    else:
        told = say(f"tune.suggested.{suggestion.held_out}", setting=setting, value=f"{suggestion.value:g}",
                   missed=suggestion.missed, n=suggestion.n, needless=suggestion.needless)  # fmt: skip
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(escaped(told), width="stretch")
            st.button(
                say("tune.take", change=f"{setting}={suggestion.value:g}"), key="tune_take",
                disabled=suggestion.value == suggestion.now, on_click=go, args=(tried, {setting: _whole(suggestion)}),
            )  # fmt: skip
    names = ("value", "found", "missed", "recall", "precision", "needless")
    heads = [GridColumn(name, say(f"tune.line.{name}"), "num") for name in names]
    now = getattr(found.settings, setting)
    rows = [
        Line(f"{p.value:g}", (
            Cell(f"{p.value:g}", sub=say("tune.line.now") if p.value == now else "",
                 tone="ok" if p.value == now else ""),
            Cell(say.number(p.found)), Cell(say.number(p.missed)), Cell(_ratio(p.recall, say)),
            Cell(_ratio(p.precision, say)), Cell(say.number(p.needless)),
        ))
        for p in found.curves[setting]
    ]  # fmt: skip
    grid(heads, rows, say, "tune_curve", say("tune.lines"))
    export(found.to_df, "lines of retrieval", say, key="tune_lines", drawing=found)
    _near(found, tried, say)


def _spread(found: Thresholds, setting: str, say: Words) -> None:
    """Where what answers lies, and where what does not, against the line as it stands."""
    bins = found.histogram(setting)
    n, other = sum(b.relevant for b in bins), sum(b.other for b in bins)
    if not n + other:
        return
    is_rank, now = setting == "recall_k", float(getattr(found.settings, setting))
    words = Spread(
        alt=say("tune.spread.alt", setting=setting, now=f"{now:g}", n=n, other=other),
        axis=say(f"tune.spread.{setting}"), line=f"{setting} = {now:g}",
        relevant=say("tune.spread.answers" if is_rank else "tune.spread.questions"),
        other=say("tune.spread.others" if is_rank else "tune.spread.needless"),
        ticks=(1.0, 4.0, 8.0, 12.0) if is_rank else (0.0, 0.25, 0.5, 0.75, 1.0),
        at=lambda b: f"{round(b.high - 0.5)}" if is_rank else f"{b.low:g}–{b.high:g}", to_the_left=is_rank,
    )  # fmt: skip
    st.caption(words.axis)
    spread(bins, now + 0.5 if is_rank else now, words, say, "tune_spread")


def _near(found: Thresholds, tried: Tried, say: Words) -> None:
    """Questions that a slightly other line would have answered; a row tries it."""
    near = found.near_misses
    if not near:
        return
    section(say("tune.near"), "target", str(len(near)), say("tune.near.says"))
    heads = [GridColumn("q", say("tune.question"), "long"), GridColumn("turn", say("tune.turn"), "num"),
             GridColumn("place", say("tune.near.place"), "num"),
             GridColumn("coverage", say("tune.near.coverage"), "num"),
             GridColumn("try", say("tune.near.with"), "act")]  # fmt: skip
    changes = [found.nearly(each) for each in near]
    rows = [
        Line(str(n), (
            Cell(visible(each.posed.question, 160)),
            Cell(f"#{each.posed.turn}" if each.posed.turn else say("tune.end")),
            Cell(str(each.place)), Cell(f"{each.coverage:.2f}"),
            Cell(", ".join(f"{name}={value:g}" for name, value in change.items()) or "–"),
        ))
        for n, (each, change) in enumerate(zip(near, changes, strict=True))
    ]  # fmt: skip

    def take(key: str) -> None:
        if change := changes[int(key)]:
            go(tried, change)

    grid(heads, rows, say, "tune_near", say("tune.near"), on_act=live.on("tune_near", "act", take))


def _whole(suggestion: Suggestion) -> float:
    return int(suggestion.value) if suggestion.setting == "recall_k" else suggestion.value


def _ratio(value: float | None, say: Words) -> str:
    return "–" if value is None else say.amount(value, "ratio")


# ── keeping it ────────────────────────────────────────────────────────────────────────────────────────


def keep(tried: Tried, here: Place, say: Words) -> None:
    """Apply it to the live conversation, take that back, or take it along as a file."""
    now = Settings.stored(state.settings_now(here))
    wanted = {name: value for name, value in tried.changes.items() if getattr(now, name) != value}
    readonly = state.open_store().readonly
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            say("tune.apply"), key="tune_apply", type="primary", icon=":material/check:",
            disabled=readonly or not wanted, on_click=_apply, args=(here, wanted, now, say),
            help=say("scope.readonly") if readonly else escaped(say("tune.apply.says", changes=_list(now, wanted))),
        )  # fmt: skip
        before = st.session_state.get(BEFORE, {}).get((here.row.user, here.row.conversation))
        if before:
            told = ", ".join(f"{name}={value}" for name, value in before.items())
            st.button(say("tune.undo"), key="tune_undo", icon=":material/undo:", disabled=readonly,
                      on_click=_undo, args=(here, before, say), help=escaped(told))  # fmt: skip
        with st.popover(say("tune.file"), icon=":material/download:", type="tertiary"):
            st.caption(say("tune.file.says"))
            with st.container(horizontal=True, gap="small"):
                for kind, made in (("toml", as_toml), ("json", as_json)):
                    st.download_button(f"settings.{kind}", made(tried.settings), f"settings.{kind}", "text/plain",
                                       key=f"tune_{kind}", on_click="ignore")  # fmt: skip
            st.code("workbench replay --settings settings.toml", language=None)
            st.code('from sessions.presets import load\nEngine.open(…, settings=load("settings.toml"))',
                    language="python")  # fmt: skip
        state.door("replay", say("tune.walk"), "replay")
    if not wanted and (tried.changes or before):  # once it is applied, both sides may be compared under it
        st.caption(say("tune.in_force"))


def _list(now: Settings, wanted: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {getattr(now, name)} → {value}" for name, value in wanted.items()) or "–"


def _apply(here: Place, wanted: Mapping[str, Any], now: Settings, say: Words) -> None:
    kept = st.session_state.setdefault(BEFORE, {})
    kept[here.row.user, here.row.conversation] = changed_from(now.but(**wanted), now)
    live.change(here, dict(wanted), say)


def _undo(here: Place, before: Mapping[str, Any], say: Words) -> None:
    st.session_state[BEFORE].pop((here.row.user, here.row.conversation), None)
    live.change(here, dict(before), say)


def refused(error: EngineError, say: Words) -> None:
    """Settings that cannot be, or leave no room: said, with the dials still there to put it right."""
    st.warning(escaped(f"{say('tune.refused')}: {visible(str(error), 400)}"), icon=":material/error:")
