"""Replays under way and replays that were made: each in a thread of its own, kept in memory by what it was made of.

The same recording under the same settings is replayed once a process; whoever walks through it waits for nothing.
One that was stopped goes on where it stopped. Nothing is written: keeping a run is `sessions.replay.save`.
"""

from __future__ import annotations

from collections.abc import Callable

from memory.scope import LIVE, RECORDED, Scope
from memory.settings import Settings
from memory.stores.sql import Store
from sessions.replay import Running
from sessions.replayed import Replayed
from sessions.transcript import steps_of
from workbench.background import Background, Kept

KEPT = 8  # replays in memory; those of 10,000 turns take some 100 MB each
AT_ONCE_S = 1.0  # so long a page waits before it shows how far the replay is
LONG, SOON_S = 2_000, 0.1  # turns: the replay of a longer conversation takes seconds, and a page does not wait for it


class Playing(Background):
    """One replay: begun, perhaps stopped, gone on with, done."""

    def __init__(self, store: Store, source: Scope, settings: Settings) -> None:
        super().__init__("replay")
        self._make: Callable[[], Running] = lambda: Running((store, source), settings)
        self._running: Running | None = None
        self._played: Replayed | None = None
        self.step = self.steps = 0
        self.turn = self.turns = 0

    @property
    def is_done(self) -> bool:
        return bool(self.steps) and self.step == self.steps

    def start(self) -> None:
        """Begin, or go on; nothing where it runs or is done."""
        with self._lock:
            self._let_it_stop()
            if not self.is_under_way and not self.is_done:
                self._played = None
                self._begin(self._play)

    def _play(self) -> None:
        running = self._running = self._running or self._make()
        turns = running.recording.turns
        self.steps, self.turns = sum(1 for _ in steps_of(turns)), len(turns)
        for step in running.steps():
            self.step, self.turn = self.step + 1, step.last_turn
            if self.is_told_to_stop:
                break

    def played(self) -> Replayed:
        """What was replayed, up to where it stands. Raises the error that ended it, NotFound before its first step."""
        if self.error is not None and not self.is_under_way:
            raise self.error
        with self._lock:
            if self._played is None:
                assert self._running is not None  # a thread that ended without an error had made it
                self._played = Replayed(self._running.result())
            return self._played


_PLAYING: Kept[tuple[str, Scope, int, int, str], Playing] = Kept(KEPT)


def at_once_s(turns: int) -> float:
    """So long a page waits for a replay of a conversation with so many turns."""
    return AT_ONCE_S if turns <= LONG else SOON_S


def source_of(store: Store, scope: Scope) -> Scope:
    """What a conversation is replayed from: its live run, else its recording, else the run at hand."""
    runs = {s.scope.run for s in store.streams(scope.user, scope.conversation)}
    return scope.at(next((run for run in (LIVE, RECORDED) if run in runs), scope.run))


def playing(store: Store, source: Scope, settings: Settings) -> Playing:
    """The replay of this run as it is now under these settings: begun by whoever asks for it first."""
    key = (str(store.path), source, store.require(source).version, store.generation(), settings.hash)

    def begun() -> Playing:
        made = Playing(store, source, settings)
        made.start()
        return made

    return _PLAYING.get(key, begun)


def forget() -> None:
    """Drop all of them, and stop those under way."""
    _PLAYING.forget()
