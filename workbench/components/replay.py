"""The parts of the Replay page: settings to try, how far a replay is, its figures beside a run, and all runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

import streamlit as st

from memory.bookmarks import BOOKMARKS
from memory.boundaries import BOUNDARIES
from memory.errors import EngineError
from memory.eviction import EVICTION
from memory.settings import Settings
from sessions.presets import PRESETS
from workbench import live, state
from workbench.assigned import changed_from, from_address, to_address
from workbench.components.export import export
from workbench.components.facts import facts
from workbench.components.grid import Cell, Column, Line, grid
from workbench.components.heading import Badge
from workbench.state import Place
from workbench.words import Words, escaped, visible

if TYPE_CHECKING:
    from workbench.replaying import Playing
    from workbench.views.replay import Differs, ReplayView, RunLine, RunsView

BASES = ("run", "defaults", *PRESETS)
NAMED: dict[str, Iterable[str]] = {"eviction": EVICTION, "boundary": BOUNDARIES, "bookmarks": BOOKMARKS}
NUMBERS = ("window_tokens", "page_turns", "high_watermark", "low_watermark", "guest_steps")
LOOK_S = 0.5
ASKED_TO_DELETE = "_replay_delete"
PLACE_OF = ("user", "conv")


# ── settings to try ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Tried:
    base: Settings
    settings: Settings

    @property
    def changes(self) -> dict[str, Any]:
        return changed_from(self.base, self.settings)


def asked_for(here: Place) -> Tried:
    """By the address: `set` changes the shown run's settings, the defaults, or a preset of these. Raises BadSetting."""
    from memory.engine import resolved

    named = st.query_params.get("base", BASES[0])
    of_run = named not in BASES[1:] and here.has_decisions
    base = resolved(state.settings_of(here) if of_run else Settings().but(**PRESETS.get(named, {})))
    return Tried(base, resolved(base.but(**from_address(st.query_params.get("set", "")))))


def choose(here: Place, tried: Tried, say: Words) -> None:
    """Widgets that show the address and change it; each is another one for each value, as the sidebar's are."""
    first, second = st.columns(4, gap="small"), st.columns(5, gap="small")
    base = st.query_params.get("base", BASES[0])
    base = base if base in BASES else BASES[0]
    _select(
        first[0], "base", say("replay.base"), BASES, base,
        lambda name: say(f"tune.preset.{name}" if name in PRESETS else f"replay.base.{name}"),
        lambda name: state.go(base=None if name == BASES[0] else name),
    )  # fmt: skip
    for column, (name, known) in zip(first[1:], NAMED.items(), strict=True):
        value = getattr(tried.settings, name)
        options = sorted({*known, value})
        _select(column, name, say(f"replay.set.{name}"), options, value, lambda each: each, _setter(tried, name))
    for column, name in zip(second, NUMBERS, strict=True):
        _number(column, name, tried, say)
    known = {*NAMED, *NUMBERS}
    others = {name: value for name, value in tried.changes.items() if name not in known}
    _others(others, tried, say)


def _setter(tried: Tried, name: str) -> Callable[[Any], None]:
    def changed(value: Any) -> None:
        now = {**tried.changes, name: value}
        if value == getattr(tried.base, name):
            now.pop(name, None)
        state.go(set=to_address(now) or None)

    return changed


def _select(
    column: Any, name: str, label: str, options: Sequence[str], value: str, shown: Callable[[str], str],
    changed: Callable[[str], None],
) -> None:  # fmt: skip
    widget = f"replay_{name}_{value}"
    column.selectbox(
        label, options, options.index(value), key=widget, format_func=shown,
        on_change=lambda: changed(st.session_state[widget]),
    )  # fmt: skip


def _number(column: Any, name: str, tried: Tried, say: Words) -> None:
    entry = next(f for f in fields(Settings) if f.name == name)
    value = getattr(tried.settings, name)
    is_whole, low, high = entry.type == "int", entry.metadata["low"], entry.metadata["high"]
    widget, change = f"replay_{name}_{value}", _setter(tried, name)
    kind: Callable[[float], float] = int if is_whole else float
    column.number_input(
        say(f"replay.set.{name}"), kind(low), kind(high), kind(value), kind(_step(name)), key=widget,
        on_change=lambda: change(st.session_state[widget]),
    )  # fmt: skip


def _step(name: str) -> float:
    return {"window_tokens": 500, "page_turns": 1, "guest_steps": 1}.get(name, 0.05)


def _others(others: dict[str, Any], tried: Tried, say: Words) -> None:
    text = to_address(others)
    widget = f"replay_others_{text}"

    def changed() -> None:
        kept = {name: value for name, value in tried.changes.items() if name not in others}
        told = to_address(kept)
        more = st.session_state[widget].strip()
        state.go(set=";".join(filter(None, (told, more))) or None)

    st.text_input(
        say("replay.others"), text, key=widget, on_change=changed, placeholder="retrieve_k=2;min_coverage=0.3",
        help=say("replay.others.says"), max_chars=2_000,
    )  # fmt: skip


def wrong(error: EngineError, say: Words) -> None:
    """Settings in the address that cannot be: what is wrong, and a way back."""
    with st.container(border=True, key="replay_wrong"):
        st.markdown(f"**:material/error: {say('replay.wrong')}**")
        st.text(visible(str(error), 600))
        st.button(say("replay.reset"), key="replay_reset", on_click=lambda: state.go(set=None, base=None))


def told(tried: Tried, view: ReplayView, say: Words) -> None:
    """What is tried, in chips; and its hash, by which a run of it is named."""
    chips = _chips(view.differs)
    note = say("replay.same") if not chips and view.beside else ""
    facts([], key="replay_differs", title=say("replay.differs", run=run_name(view.beside_run, say)) if chips else "",
          chips=chips, note=note)  # fmt: skip


def _chips(differs: Differs) -> list[str]:
    return [f"{name}: {a} → {b}" for name, (a, b) in differs.items()]


def run_name(run: str, say: Words) -> str:
    from workbench.app import run_name as named

    return named(run, say)


# ── how far it is ─────────────────────────────────────────────────────────────────────────────────────


class Moving(Protocol):
    """Work under way, and how far it is."""

    @property
    def is_under_way(self) -> bool: ...
    @property
    def turn(self) -> int: ...
    @property
    def turns(self) -> int: ...
    def stop(self) -> None: ...


def under_way(playing: Moving, say: Words) -> None:
    st.fragment(_under_way, run_every=LOOK_S)(playing, say)


def _under_way(playing: Moving, say: Words) -> None:
    if not playing.is_under_way:
        st.rerun()
    with st.container(border=True, key="replay_progress"):
        share = playing.turn / playing.turns if playing.turns else 0.0
        st.progress(share, how_far(playing, say))
        st.button(say("replay.cancel"), icon=":material/stop_circle:", key="replay_cancel", on_click=playing.stop)


def how_far(work: Moving, say: Words) -> str:
    if work.turn >= work.turns:  # replayed: what is left is asked of it
        return say("tune.comparing")
    return say("replay.progress", turn=work.turn, turns=work.turns)


def stopped(playing: Playing, say: Words) -> None:
    """One that does not reach the last turn: it is shown up to where it came, and goes on when asked to."""
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="replay_stopped"):
        st.markdown(f":material/pause_circle: {say('replay.stopped', turn=playing.turn, turns=playing.turns)}")
        st.button(say("replay.resume"), icon=":material/play_arrow:", key="replay_resume", on_click=playing.start)


# ── the figures ───────────────────────────────────────────────────────────────────────────────────────


def badges(view: ReplayView, say: Words) -> list[Badge]:
    kept = Badge(say("replay.is_kept"), "check", view.kept) if view.kept else Badge(say("replay.not_kept"), "quiet")
    return [
        Badge(say("replay.badge"), "recall", say("replay.badge.says")),
        Badge(say("replay.hash", hash=view.settings.hash), "quiet", say("replay.hash.says")),
        kept,
    ]


def beside(view: ReplayView, say: Words) -> None:
    columns = [
        Column("what", say("replay.figure"), "long"),
        Column("there", visible(run_name(view.beside_run, say), 40), "num"),
        Column("here", say("replay.here"), "num"),
        Column("moved", say("replay.moved"), "num"),
    ]
    lines = [
        Line(name, (
            Cell(say(f"replay.of.{name}"), says=say(f"replay.of.{name}.says")),
            Cell("–" if there is None else say.number(there)),
            Cell(say.number(ours)),
            Cell("–" if there is None else _moved(ours - there, say)),
        ))
        for name, there, ours in view.rows()
    ]  # fmt: skip
    grid(columns, lines, say, "replay_figures", say("replay.figures"))
    if view.beside is None:
        st.caption(say("replay.nothing_beside"))
    else:
        st.caption(say("replay.no_facts"))


def _moved(by: float, say: Words) -> str:
    return f"+{say.number(by)}" if by > 0 else f"−{say.number(-by)}" if by else "0"


# ── all runs ──────────────────────────────────────────────────────────────────────────────────────────


def runs(view: RunsView, here: Place, say: Words, *, may_write: bool) -> None:
    columns = [
        Column("run", say("replay.runs.run")),
        Column("kind", say("replay.runs.kind"), "long"),
        Column("differs", say("replay.runs.differs"), "long"),
        *(
            Column(name, say(f"replay.of.{name}"), "num")
            for name in ("turns", "evictions", "faults", "recalled_tokens")
        ),
        Column("read", say("replay.runs.read"), "num", says=say("replay.runs.read.says")),
        *([Column("act", "", "act")] if may_write else []),
    ]
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"##### :material/list: {say('replay.runs')} :gray-badge[{len(view.runs)}]", width="content")
        export(view.rows, f"runs of {view.conversation}", say, key="replay_runs")
    lines = [_line(line, view, here, say, may_write=may_write) for line in view.runs]
    by_key = {line.run: line for line in view.runs}

    def delete(run: str) -> None:
        if run in by_key and may_delete(by_key[run], view):
            st.session_state[ASKED_TO_DELETE] = run

    grid(
        columns, lines, say, "replay_runs", say("replay.runs"),
        on_open=live.on("replay_runs", "open", lambda run: state.lead("live", **_where(here, run))),
        on_act=live.on("replay_runs", "act", delete),
    )  # fmt: skip


def _where(here: Place, run: str) -> dict[str, str]:
    return {"user": here.row.user, "conv": here.row.conversation, "run": run}


def may_delete(line: RunLine, view: RunsView) -> bool:
    """A replay or fork that nothing goes on from."""
    return line.kind in ("replay", "fork") and all(other.parent != line.run for other in view.runs)


def _line(line: RunLine, view: RunsView, here: Place, say: Words, *, may_write: bool) -> Line:
    f = line.figures
    none = Cell("–")
    from_ = say("fork.from", turn=line.from_turn, run=line.parent) if line.kind == "fork" else ""
    tone = {"fork": "warn", "live": "ok"}.get(line.kind, "quiet")
    same = say("replay.runs.base") if line.run == view.compared_with else say("replay.runs.same") if f else "–"
    cells = [
        Cell(run_name(line.run, say), line.settings),
        Cell(say(f"replay.kind.{line.kind}"), from_, say(f"replay.kind.{line.kind}.says"), tone),
        Cell(", ".join(_chips(line.differs)) or same),
        Cell(say.number(line.turns)),
        *((Cell(say.number(f.evictions)), Cell(say.number(f.faults)), Cell(say.number(f.recalled_tokens))) if f
          else (none, none, none)),
        Cell(say.number(line.read_tokens) if f else "–"),
    ]  # fmt: skip
    if may_write:
        cells.append(Cell(say("replay.delete") if may_delete(line, view) else ""))
    return Line(line.run, tuple(cells), f"live?{urlencode(_where(here, line.run))}")


def compare(view: RunsView, here: Place, say: Words) -> None:
    """Two runs: the settings in which they differ, their figures, and the way to their prompts."""
    known = [line for line in view.runs if line.figures]
    if len(known) < 2:
        st.caption(say("replay.compare.none"))
        return
    names = [line.run for line in known]
    left, right, way = st.columns([1, 1, 0.8], gap="medium", vertical_alignment="bottom")
    shown = {run: run_name(run, say) for run in names}
    a = left.selectbox(say("replay.compare.a"), names, 0, key="replay_a", format_func=lambda run: shown.get(run, run))
    b = right.selectbox(say("replay.compare.b"), names, 1, key="replay_b", format_func=lambda run: shown.get(run, run))
    one, other = view.of(a), view.of(b)
    with way:
        turn = min(one.turns, other.turns, here.at)
        state.door("diff", say("replay.compare.door"), "difference", run=b, vs=a, a=turn, b=turn, turn=turn)
    between = _between(one, other)
    facts([], key="replay_ab", title=say("replay.compare.settings") if between else "", chips=_chips(between),
          note="" if between else say("replay.compare.same"))  # fmt: skip
    columns = [Column("what", say("replay.figure"), "long"), Column("a", visible(shown[a], 40), "num"),
               Column("b", visible(shown[b], 40), "num"), Column("moved", say("replay.moved"), "num")]  # fmt: skip
    grid(columns, [_pair(name, one, other, say) for name in _compared()], say, "replay_ab_figures",
         say("replay.compare"))  # fmt: skip


def _compared() -> tuple[str, ...]:
    from workbench.views.replay import NAMES

    return ("turns", *(name for name in NAMES if name != "prompt"), "read_tokens")


def _pair(name: str, a: RunLine, b: RunLine, say: Words) -> Line:
    one, other = _figure(a, name), _figure(b, name)
    cells = (Cell(say(f"replay.of.{name}"), says=say(f"replay.of.{name}.says")), Cell(say.number(one)),
             Cell(say.number(other)), Cell(_moved(other - one, say)))  # fmt: skip
    return Line(name, cells)


def _figure(line: RunLine, name: str) -> float:
    value: float = getattr(line, name) if hasattr(line, name) else getattr(line.figures, name, 0)
    return value


def _between(a: RunLine, b: RunLine) -> dict[str, tuple[Any, Any]]:
    """Both are told against the same third run."""
    names = [*a.differs, *(name for name in b.differs if name not in a.differs)]
    base = {name: pair[0] for differs in (a.differs, b.differs) for name, pair in differs.items()}
    values = {
        name: (a.differs.get(name, (0, base[name]))[1], b.differs.get(name, (0, base[name]))[1]) for name in names
    }
    return {name: pair for name, pair in values.items() if pair[0] != pair[1]}


# ── keeping and deleting ──────────────────────────────────────────────────────────────────────────────


def keep(view: ReplayView, say: Words, act: Callable[[], None], *, may_write: bool) -> None:
    if view.kept:
        return
    st.button(say("replay.keep"), icon=":material/save:", key="replay_keep", on_click=act, disabled=not may_write,
              help=say("replay.keep.says") if may_write else say("scope.readonly"))  # fmt: skip


def sure(view: RunsView, say: Words, act: Callable[[RunLine], None]) -> None:
    """What a deletion takes away, before it does."""
    line = next((line for line in view.runs if line.run == st.session_state.get(ASKED_TO_DELETE)), None)
    if line is None:
        return

    def leave() -> None:
        st.session_state.pop(ASKED_TO_DELETE, None)

    def go() -> None:
        leave()
        act(line)

    with st.container(border=True, key="replay_sure"):
        name = escaped(run_name(line.run, say))
        st.markdown(f"**:material/delete: {say('replay.sure', turns=line.turns)} {name}**")
        st.caption(say(f"replay.sure.{line.kind}"))
        with st.container(horizontal=True):
            st.button(say("replay.delete"), key="replay_delete_now", on_click=go, type="primary")
            st.button(say("replay.leave"), key="replay_delete_not", on_click=leave)
