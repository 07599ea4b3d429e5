"""One thread of the process that keeps what is held from running out, while it is held: leases of steps and of jobs.

A thread each would cost every step a millisecond, and nearly every step is over before its first beat.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

REST_S = 1.0  # how long it looks away at the most: what beats less often needs no waking


@dataclass(eq=False, slots=True)
class _Beat:
    act: Callable[[], None]
    every_s: float
    due: float
    over: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)  # held during a beat

    def now(self) -> None:
        with self.lock:
            if not self.over:
                self.act()
        self.due = time.monotonic() + self.every_s

    def end(self) -> None:
        """From here on no beat comes, and none is under way."""
        with self.lock:
            self.over = True


class _Heart:
    def __init__(self) -> None:
        self._held: set[_Beat] = set()
        self._changed = threading.Condition()
        threading.Thread(target=self._run, name="heart", daemon=True).start()

    def add(self, beat: _Beat) -> None:
        with self._changed:
            self._held.add(beat)
            if beat.every_s < 2 * REST_S:
                self._changed.notify()

    def drop(self, beat: _Beat) -> None:
        beat.end()
        with self._changed:
            self._held.discard(beat)

    def _run(self) -> None:
        while True:
            with self._changed:
                due = min((beat.due for beat in self._held), default=float("inf"))
                self._changed.wait(max(0.0, min(REST_S, due - time.monotonic())))
                ready = [beat for beat in self._held if beat.due <= time.monotonic()]
            for beat in ready:
                beat.now()


@cache
def _heart(process: int) -> _Heart:
    """A fork takes the locks along and leaves the thread behind: each process has one of its own."""
    return _Heart()


@contextmanager
def beating(act: Callable[[], None], every_s: float) -> Iterator[None]:
    """Call `act` every so often, in another thread, until the block ends; it must raise nothing."""
    heart, beat = _heart(os.getpid()), _Beat(act, every_s, time.monotonic() + every_s)
    heart.add(beat)
    try:
        yield
    finally:
        heart.drop(beat)
