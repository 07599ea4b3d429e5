"""Replays under way and replays that were made: each in a thread of its own, kept in memory by what it was made of.

The same recording under the same settings is replayed once a process; whoever walks through it waits for nothing.
One that was stopped goes on where it stopped. Nothing is written: keeping a run is `sessions.replay.save`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from memory.errors import EngineError
from memory.scope import LIVE, RECORDED, Scope
from memory.settings import Settings
from memory.stores.sql import Store
from sessions.replay import Running
from sessions.replayed import Replayed
from sessions.transcript import steps_of

KEPT = 8  # replays in memory; those of 10,000 turns take some 100 MB each
AT_ONCE_S = 1.0  # so long a page waits before it shows how far the replay is
UNEXPECTED = "the replay ended unexpectedly; see the server's output"


class Playing:
    """One replay: begun, perhaps stopped, gone on with, done."""

    def __init__(self, store: Store, source: Scope, settings: Settings) -> None:
        self._make: Callable[[], Running] = lambda: Running((store, source), settings)
        self._running: Running | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._played: Replayed | None = None
        self.error: EngineError | None = None
        self.step = self.steps = 0
        self.turn = self.turns = 0

    @property
    def is_under_way(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_done(self) -> bool:
        return bool(self.steps) and self.step == self.steps

    def start(self) -> None:
        """Begin, or go on; nothing where it runs or is done."""
        with self._lock:
            if self.is_under_way or self.is_done:
                return
            self._stop.clear()
            self._played = None
            self.error = EngineError(UNEXPECTED)  # until it ends otherwise
            self._thread = threading.Thread(target=self._play, name="workbench-replay", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """After the step that it is in."""
        self._stop.set()

    def wait(self, at_most_s: float) -> None:
        if self._thread is not None:
            self._thread.join(at_most_s)

    def _play(self) -> None:
        try:
            running = self._running = self._running or self._make()
            turns = running.recording.turns
            self.steps, self.turns = sum(1 for _ in steps_of(turns)), len(turns)
            for step in running.steps():
                self.step, self.turn = self.step + 1, step.last_turn
                if self._stop.is_set():
                    break
            self.error = None
        except EngineError as error:
            self.error = error

    def played(self) -> Replayed:
        """What was replayed, up to where it stands. Raises the error that ended it, NotFound before its first step."""
        if self.error is not None and not self.is_under_way:
            raise self.error
        with self._lock:
            if self._played is None:
                assert self._running is not None  # a thread that ended without an error had made it
                self._played = Replayed(self._running.result())
            return self._played


_PLAYING: OrderedDict[tuple[str, Scope, int, int, str], Playing] = OrderedDict()
_ALL = threading.Lock()


def source_of(store: Store, scope: Scope) -> Scope:
    """What a conversation is replayed from: its live run, else its recording, else the run at hand."""
    runs = {s.scope.run for s in store.streams(scope.user, scope.conversation)}
    return scope.at(next((run for run in (LIVE, RECORDED) if run in runs), scope.run))


def playing(store: Store, source: Scope, settings: Settings) -> Playing:
    """The replay of this run as it is now under these settings: begun by whoever asks for it first."""
    key = (str(store.path), source, store.require(source).version, store.generation(), settings.hash)
    with _ALL:
        found = _PLAYING.get(key)
        if found is None:
            found = _PLAYING[key] = Playing(store, source, settings)
            found.start()
        _PLAYING.move_to_end(key)
        while len(_PLAYING) > KEPT:
            _, oldest = _PLAYING.popitem(last=False)
            oldest.stop()
    return found


def forget() -> None:
    """Drop all of them, and stop those under way."""
    with _ALL:
        for each in _PLAYING.values():
            each.stop()
        _PLAYING.clear()
