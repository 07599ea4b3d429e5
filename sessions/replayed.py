"""A replay, read as a run of a store is read: what a view asks of a run has its answer in memory.

Every turn is had from the state at the end of the step before it and the few records since, so walking through a
replay costs no reading and no folding from the beginning. Nothing here writes, and nothing touches a store.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime

from memory.errors import NotFound
from memory.events import Event
from memory.scope import Scope
from memory.state import State, fold
from memory.stores.sql import Stream
from sessions.replay import Replay, run_name


class Replayed:
    """The replay as its one run, which is named as `save` would name it."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        recording = replay.recording
        self.scope = Scope(recording.user, recording.conversation, run_name(replay.settings))
        self._ends = [step.state.version for step in replay.steps]
        self._first = [step.first_turn for step in replay.steps]

    def __repr__(self) -> str:
        return f"<Replayed {self.scope}: {self.replay.turns} turns, {len(self.replay.events)} events>"

    def require(self, scope: Scope) -> Stream:
        """Raises NotFound for any other run."""
        if scope != self.scope:
            raise NotFound(f"this replay is {self.scope}, and not {scope}")
        state, turns = self.replay.state, self.replay.recording.turns
        began, ended = turns[0].said_at, _said_last(self.replay)
        return Stream(
            id=0, scope=scope, parent=None, parent_version=0, version=state.version, turns=state.turn, steps=state.step,
            open_step=False, title=state.title, source=state.source, settings=self.replay.settings.hash,
            started_at=began, last_at=ended,
        )  # fmt: skip

    def events(
        self, scope: Scope, *, after: int = 0, upto: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Event]:
        """Versions in (after, upto]; versions are places in the log, from 1."""
        self.require(scope)
        found = self.replay.events[after:upto]
        return [event for event in found if event.kind in kinds] if kinds else list(found)

    def state(self, scope: Scope, version: int | None = None) -> State:
        self.require(scope)
        at = self._ends[-1] if version is None else version
        known = bisect_right(self._ends, at)
        base = self.replay.steps[known - 1].state if known else State()
        return fold(self.replay.events[base.version : at], base)

    def version_at(self, scope: Scope, turn: int) -> int:
        """At the end of the step that holds this turn. Raises NotFound."""
        self.require(scope)
        if not 1 <= turn <= self.replay.turns:
            raise NotFound(f"no turn {turn} in {scope}; turns go from 1 to {self.replay.turns}")
        return self._ends[bisect_right(self._first, turn) - 1]

    def words(self, scope: Scope, ids: Sequence[int] | None = None) -> dict[int, str]:
        """By their ids; what nothing in the replay says is left out, as in a store."""
        self.require(scope)
        if ids is None:
            own = {turn.text_id: turn.text for turn in self.replay.recording.turns}
            return own | dict(self.replay.texts)
        found = {}
        for each in ids:
            try:
                found[each] = self.replay.words(each)
            except NotFound:
                continue
        return found


def _said_last(replay: Replay) -> datetime:
    return replay.recording.turns[replay.turns - 1].said_at
