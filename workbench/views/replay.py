"""A replay at a turn, beside the run that it is compared with; and all runs of a conversation, with what tells them
apart.

The window is the one that every other view shows, read from the replay in memory. Figures count from the beginning up
to the end of the turn's step, the same way in a replay, a live run and a fork: pages, not turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from memory import show
from memory.errors import NotFound
from memory.scope import LIVE, RECORDED, Scope, is_fork
from memory.settings import Settings
from memory.show import Shown
from memory.state import State
from memory.stores import census
from memory.stores.sql import Store, Stream
from sessions.replayed import Replayed
from workbench.views.conversations import RunRow
from workbench.views.window import WindowView, window

Differs = Mapping[str, tuple[Any, Any]]  # by setting: there, here


@dataclass(frozen=True, slots=True)
class Figures:
    """From the beginning to the end of one step."""

    turn: int
    prompt: int  # tokens of the step's last prompt
    pages: int
    resident: int
    evictions: int
    recalls: int
    faults: int  # pages that were wanted and not resident
    hits: int  # and that were
    recalled_tokens: int
    thrash: int
    refused: int


NAMES = tuple(each.name for each in fields(Figures) if each.name != "turn")


def figures(state: State) -> Figures:
    c = state.counts
    return Figures(
        turn=state.turn, prompt=state.prompt_estimate, pages=len(state.pages), resident=len(state.resident),
        evictions=c.evictions, recalls=c.recalls, faults=c.faults, hits=c.hits, recalled_tokens=c.recalled_tokens,
        thrash=c.thrash, refused=c.refused,
    )  # fmt: skip


@dataclass(frozen=True)
class ReplayView(Shown):
    window: WindowView
    figures: Figures
    beside_run: str  # the run that it is compared with
    beside: Figures | None  # there at the same turn; None: it made no decisions, or does not reach so far
    differs: Differs  # settings that are others there
    settings: Settings
    turns: int  # of the replay
    all_turns: int  # of the recording: more where the replay was stopped
    kept: str  # the run that it is kept as, "" if it is not

    def rows(self) -> list[tuple[str, int | None, int]]:
        """Each figure there and here."""
        other = asdict(self.beside) if self.beside else {}
        return [(name, other.get(name), getattr(self.figures, name)) for name in NAMES]

    def __repr__(self) -> str:
        f = self.figures
        return (
            f"<Replay of {self.window.scope.conversation} at turn {self.window.turn} of {self.turns}: {f.evictions} "
            f"evictions, {f.faults} faults, settings {self.settings.hash}, beside {self.beside_run}>"
        )

    def _html(self) -> str:
        lines = [[name.replace("_", " "), "–" if a is None else f"{a:,}", f"{b:,}"] for name, a, b in self.rows()]
        changed = [[name, a, b] for name, (a, b) in self.differs.items()]
        return (
            self.window._html()
            + show.table(["up to this turn", self.beside_run, "this replay"], lines)
            + (show.table(["setting", self.beside_run, "this replay"], changed) if changed else "")
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures; the window has its own."""
        return {
            "run": self.window.scope.run,
            "turn": self.window.turn,
            "settings": self.settings.hash,
            "differs": {name: list(pair) for name, pair in self.differs.items()},
            "beside_run": self.beside_run,
            "figures": {name: {"beside": a, "replay": b} for name, a, b in self.rows()},
        }

    def to_df(self) -> Any:
        """One row a figure."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=["figure", "beside", "replay"])


def replay(store: Store, beside: Scope, played: Replayed, turn: int) -> ReplayView:
    """The replay at `turn`, its last one where it does not reach so far; `beside` is any run of the conversation."""
    done = played.replay
    shown = min(turn, done.turns)
    seen = window(played, played.scope, shown)
    end = played.state(played.scope, played.version_at(played.scope, shown))
    other = _beside(store, beside, shown)
    return ReplayView(
        window=seen,
        figures=figures(end),
        beside_run=beside.run,
        beside=figures(other) if other else None,
        differs=differs(other.settings, done.settings) if other else {},
        settings=done.settings,
        turns=done.turns,
        all_turns=len(done.recording.turns),
        kept=kept_as(store, played),
    )


def _beside(store: Store, scope: Scope, turn: int) -> State | None:
    if scope.run == RECORDED or store.require(scope).turns < turn:
        return None
    return store.state(scope, store.version_at(scope, turn))


def differs(there: Settings, here: Settings) -> dict[str, tuple[Any, Any]]:
    """
    >>> differs(Settings.of(eviction="lfu"), Settings())
    {'eviction': ('lfu', 'lru')}
    """
    one, other = there.to_dict(), here.to_dict()
    return {name: (one[name], other[name]) for name in one if one[name] != other[name]}


def kept_as(store: Store, played: Replayed) -> str:
    """The run of this name that is as long, "" if there is none."""
    found = store.stream(played.scope)
    return found.scope.run if found and found.turns >= played.replay.turns else ""


# ── all runs ──────────────────────────────────────────────────────────────────────────────────────────

KINDS = ("live", "recorded", "replay", "fork")


@dataclass(frozen=True, slots=True)
class RunLine:
    run: str
    kind: str  # of KINDS; a replay's replies are recorded, a fork's were asked for anew
    turns: int
    steps: int
    settings: str  # hash; "" for a recording, which has none
    differs: Differs  # from the run that all are compared with: there, here
    figures: Figures | None  # at its end; None for a recording
    read_tokens: int  # the last prompt of each step, summed
    cost_usd: float  # what it paid itself
    parent: str = ""  # the run that it goes on from
    from_turn: int = 0  # its first turn of its own
    version: int = 0


@dataclass(frozen=True)
class RunsView(Shown):
    user: str
    conversation: str
    compared_with: str  # a run
    runs: tuple[RunLine, ...]  # newest first

    def of(self, run: str) -> RunLine:
        found = next((line for line in self.runs if line.run == run), None)
        if found is None:
            raise NotFound(f"no run {run!r}; there are {', '.join(line.run for line in self.runs)}")
        return found

    def __repr__(self) -> str:
        kinds = [f"{n} {kind}" for kind in KINDS if (n := sum(line.kind == kind for line in self.runs))]
        return f"<Runs of {self.user}/{self.conversation}: {', '.join(kinds)}>"

    def _html(self) -> str:
        lines = [list(row.values()) for row in self.rows()]
        return f"<code>{show.text(repr(self))}</code>" + show.table(list(self.rows()[0]), lines)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "run": line.run,
                "kind": line.kind,
                "turns": line.turns,
                "settings": line.settings,
                "differs": ", ".join(f"{name} {a} → {b}" for name, (a, b) in line.differs.items()),
                "evictions": line.figures.evictions if line.figures else None,
                "faults": line.figures.faults if line.figures else None,
                "recalled_tokens": line.figures.recalled_tokens if line.figures else None,
                "read_tokens": line.read_tokens,
                "cost_usd": line.cost_usd,
                "parent": line.parent,
                "from_turn": line.from_turn or None,
            }
            for line in self.runs
        ]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """One row a run."""
        import pandas as pd

        return pd.DataFrame(self.rows())


def kind_of(run: str) -> str:
    if run in (LIVE, RECORDED):
        return run
    return "fork" if is_fork(run) else "replay"


def runs(store: Store, scope: Scope, known: Sequence[RunRow] = ()) -> RunsView:
    """All runs of the conversation against `scope`, which is one of them; of those that are `known` if any are."""
    names = {row.run for row in known}
    streams = {s.scope.run: s for s in store.streams(scope.user, scope.conversation)}
    by_id = {s.id: s for s in streams.values()}
    base = store.state(scope).settings if store.require(scope).settings else None
    wanted = [s for run, s in streams.items() if not names or run in names]
    lines = tuple(_line(store, stream, by_id, base) for stream in wanted)
    return RunsView(scope.user, scope.conversation, scope.run, lines)


def _line(store: Store, stream: Stream, by_id: Mapping[int, Stream], base: Settings | None) -> RunLine:
    kind = kind_of(stream.scope.run)
    state = None if kind == RECORDED else store.state(stream.scope)
    parent = by_id.get(stream.parent or 0)
    before = store.state(parent.scope, stream.parent_version) if parent else State()
    return RunLine(
        run=stream.scope.run,
        kind=kind,
        turns=stream.turns,
        steps=stream.steps,
        settings=stream.settings,
        differs=differs(base, state.settings) if base and state else {},
        figures=figures(state) if state else None,
        read_tokens=sum(_prompts(store, stream, by_id).values()),
        cost_usd=round(state.counts.cost_usd - before.counts.cost_usd, 6) if state else 0.0,
        parent=parent.scope.run if parent else "",
        from_turn=before.turn + 1 if parent else 0,
        version=stream.version,
    )


def _prompts(store: Store, stream: Stream, by_id: Mapping[int, Stream]) -> dict[int, int]:
    """Tokens of the last prompt, by step; a branch has its parent's up to where it left."""
    own = dict(census.prompt_tokens(store, stream))
    before = by_id.get(stream.parent or 0)
    if before is None:
        return own
    left_at = store.state(before.scope, stream.parent_version).step
    return {step: n for step, n in _prompts(store, before, by_id).items() if step <= left_at} | own
