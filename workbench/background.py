"""Work that a page waits for, in a thread of its own: begun, watched, stopped, gone on with; and which of it is kept.

A thread is a daemon: the end of the server ends it, so work keeps what it has as it goes. Not here: what is worked
on (labs.py, replaying.py, forking.py), and any drawing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from memory.errors import EngineError


class Background:
    """One piece of work, in one thread at a time.

    `error`, once it is no more under way, is what ended it; None: it ended well, or never began. A subclass calls
    `_begin` with `_lock` held, and looks at `is_told_to_stop` between its parts.
    """

    def __init__(self, name: str) -> None:
        self.error: EngineError | None = None
        self._name = name
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_under_way(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_told_to_stop(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        """After the part that it is in."""
        self._stop.set()

    def wait(self, at_most_s: float | None) -> None:
        if self._thread is not None:
            self._thread.join(at_most_s)

    def _let_it_stop(self) -> None:
        """What was told to stop and is still within its part would end after it, whoever wants it to go on."""
        if self.is_told_to_stop:
            self.wait(None)

    def _begin(self, work: Callable[[], None]) -> None:
        self._stop.clear()
        # Until it ends otherwise: a fault of ours prints itself where the server runs.
        self.error = EngineError(f"the {self._name} ended unexpectedly; see the server's output")
        name = f"workbench-{self._name}"
        self._thread = threading.Thread(target=self._guarded, args=(work,), name=name, daemon=True)
        self._thread.start()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
            self.error = None
        except EngineError as error:
            self.error = error


class Stopped(EngineError):
    """Somebody asked it to."""


Value = TypeVar("Value")


class Making(Background, Generic[Value]):
    """One value, made by a function that is given a way to say which part it is at; stopped, it begins anew."""

    def __init__(self, name: str, make: Callable[[Callable[[str], None]], Value]) -> None:
        super().__init__(name)
        self.at = ""  # the part
        self._make = make
        self._made: tuple[Value] | None = None

    @property
    def is_stopped(self) -> bool:
        return not self.is_under_way and isinstance(self.error, Stopped)

    def start(self) -> None:
        """Nothing where it runs or is made."""
        with self._lock:
            self._let_it_stop()
            if not self.is_under_way and self._made is None:
                self._begin(self._work)

    def made(self) -> Value:
        """Raises the error that ended it, EngineError while there is nothing."""
        if self._made is None:
            raise self.error or EngineError(f"the {self._name} was not begun")
        return self._made[0]

    def _work(self) -> None:
        self._made = (self._make(self._told),)

    def _told(self, part: str) -> None:
        self.at = part
        if self.is_told_to_stop:
            raise Stopped("stopped")


Key = TypeVar("Key", bound=Hashable)
Each = TypeVar("Each", bound=Background)


class Kept(Generic[Key, Each]):
    """The work of this process by what it is made of: whoever asks first makes it, `most` are kept, and one that must
    make room, the longest unasked-for first, is stopped.

    `may_go`: which may make room; where too few may, more are kept.
    """

    def __init__(self, most: int, may_go: Callable[[Each], bool] = lambda _: True) -> None:
        self._most, self._may_go = most, may_go
        self._kept: OrderedDict[Key, Each] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], Each], is_gone: Callable[[Each], bool] = lambda _: False) -> Each:
        """`is_gone`: what is kept stands for nothing any more, and is made anew."""
        with self._lock:
            found = self._kept.get(key)
            if found is None or is_gone(found):
                found = self._kept[key] = make()
            self._kept.move_to_end(key)
            may_go = [old for old, each in self._kept.items() if old != key and self._may_go(each)]
            for old in may_go[: max(0, len(self._kept) - self._most)]:
                self._kept.pop(old).stop()
        return found

    def newest_first(self) -> list[tuple[Key, Each]]:
        with self._lock:
            return list(reversed(self._kept.items()))

    def forget(self) -> None:
        """Drop all of them, and stop those under way."""
        with self._lock:
            for each in self._kept.values():
                each.stop()
            self._kept.clear()
