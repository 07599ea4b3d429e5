"""Forks from the page: what one would take, and those under way, each in a thread of its own.

Nothing is asked before `start`: `look` works out what a fork would take, without a model. Each answer is in the store
when it is counted here; one that was stopped, or failed, goes on where it stopped. Not here: what a fork is
(sessions/fork.py), and any drawing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from memory.errors import EngineError
from memory.stores.sql import Store
from sessions.fork import Estimate, Forking

KEPT = 24  # of this process; those under way are never dropped
AT_ONCE_S = 1.0  # so long a page waits for an estimate before it says that one is made
UNEXPECTED = "the fork ended unexpectedly; see the server's output"


class Asking:
    """One fork: estimated, and, once somebody said so, asked for; perhaps stopped, gone on with, done."""

    def __init__(self, made: Forking) -> None:
        self.made = made
        self.done, self.steps = made.done, made.steps_in_all
        self.estimate: Estimate | None = None
        self.error: EngineError | None = None
        self.cost_usd: float | None = 0.0  # of what was asked here; None: some of it has no known price
        self.is_begun = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def is_under_way(self) -> bool:
        """It works: on the estimate, or on the fork."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_done(self) -> bool:
        return self.done >= self.steps

    def look(self) -> None:
        """Work out what it would take; no model is asked."""
        with self._lock:
            if self.estimate is None and self.error is None and not self.is_under_way:
                self._run(self._estimate)

    def start(self) -> None:
        """Ask the model, or go on; nothing where it runs or is done."""
        with self._lock:
            if not self.is_under_way and not self.is_done:
                self.is_begun = True
                self._stop.clear()
                self._run(self._ask)

    def stop(self) -> None:
        """After the message that it is at, whose answer is kept."""
        self._stop.set()

    def wait(self, at_most_s: float) -> None:
        if self._thread is not None:
            self._thread.join(at_most_s)

    def _run(self, work: Callable[[], None]) -> None:
        self.error = EngineError(UNEXPECTED)  # until it ends otherwise
        self._thread = threading.Thread(target=self._guarded, args=(work,), name="workbench-fork", daemon=True)
        self._thread.start()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
            self.error = None
        except EngineError as error:
            self.error = error

    def _estimate(self) -> None:
        self.estimate = self.made.estimate

    def _ask(self) -> None:
        for reply in self.made.steps():
            self.done += 1
            paid = reply.cost_usd
            self.cost_usd = None if paid is None or self.cost_usd is None else self.cost_usd + paid
            if self._stop.is_set():
                break


_ASKING: OrderedDict[tuple[str, str, str, str], Asking] = OrderedDict()
_ALL = threading.Lock()


def asking(made: Forking) -> Asking:
    """The one of this fork, whoever asked for it first; its estimate is being made."""
    scope = made.scope
    key = (str(made.store.path), scope.user, scope.conversation, scope.run)
    with _ALL:
        found = _ASKING.get(key)
        if found is None or _is_gone(found):
            found = _ASKING[key] = Asking(made)
        _ASKING.move_to_end(key)
        for old in [k for k, each in _ASKING.items() if not each.is_under_way][: max(0, len(_ASKING) - KEPT)]:
            del _ASKING[old]
    found.look()
    return found


def _is_gone(asked: Asking) -> bool:
    """Its run was deleted since: what was answered is to be asked again."""
    return not asked.is_under_way and asked.made.done < asked.done


def begun(store: Store, user: str, conversation: str) -> list[Asking]:
    """Of this conversation, those that were started here and not put aside; the newest first."""
    with _ALL:
        of = (str(store.path), user, conversation)
        return [each for key, each in reversed(_ASKING.items()) if key[:3] == of and each.is_begun]


def put_aside(asked: Asking) -> None:
    """Tell of it no more; its run stays in the store."""
    asked.is_begun = False


def forget() -> None:
    """Drop all of them, and stop those under way."""
    with _ALL:
        for each in _ASKING.values():
            each.stop()
        _ASKING.clear()
