"""Where an engine writes: words get ids, records become events. The seam between the core and the stores.

`MemoryJournal` keeps everything in memory, for replay and tests; the store's own journal is in stores/sql.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from types import MappingProxyType
from typing import Protocol

from memory.errors import NotFound, StaleAppend
from memory.events import Body, Event
from memory.state import State

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


class Journal(Protocol):
    """One stream of events and the words they mention."""

    def load(self) -> State:
        """The fold of everything committed so far, by anybody."""

    def words(self, text: int) -> str:
        """The words behind an id; NotFound if there are none."""

    def write(self, content: str) -> int:
        """An id for words that the engine made; the same words get the same id."""

    def said(self, content: str) -> int:
        """A new id for what a person or a model said: words that may be erased one by one."""

    def commit(self, bodies: Sequence[Body], step: int, after: State) -> list[Event]:
        """Append all or none, with the words written since; `after` is their fold.

        Raises StaleAppend if the stream moved on meanwhile.
        """


class MemoryJournal:
    """Everything in memory. `known` are words of a store that this journal may mention but never writes."""

    def __init__(
        self,
        state: State | None = None,
        known: Callable[[int], str] | Mapping[int, str] = MappingProxyType({}),
        clock: Clock = utc_now,
        first_id: int = 1 << 40,
    ) -> None:
        self.events: list[Event] = []
        self.texts: dict[int, str] = {}
        self._state = state or State()
        self._known = known if callable(known) else known.__getitem__
        self._ids = count(first_id)
        self._by_content: dict[str, int] = {}
        self._clock = clock

    def load(self) -> State:
        return self._state

    def words(self, text: int) -> str:
        found = self.texts.get(text)
        if found is not None:
            return found
        try:
            return self._known(text)
        except KeyError:
            raise NotFound(f"no text with id {text}") from None

    def write(self, content: str) -> int:
        known = self._by_content.get(content)
        if known is None:
            known = self._by_content[content] = self.said(content)
        return known

    def said(self, content: str) -> int:
        text = next(self._ids)
        self.texts[text] = content
        return text

    def commit(self, bodies: Sequence[Body], step: int, after: State) -> list[Event]:
        at, version = self._clock(), self._state.version
        if after.version != version + len(bodies):
            expected = after.version - len(bodies)
            raise StaleAppend(f"the log is at version {version}, not {expected}: read it again, then write")
        events = [Event(0, version + i, step, at, body) for i, body in enumerate(bodies, 1)]
        self.events += events
        self._state = after
        return events
