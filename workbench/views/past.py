"""What a view of a past turn asks of a run: the store answers from disk, a replay in memory answers the same.

And what several views of a page ask alike, kept until the run goes on or words are taken from the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from memory.events import Event
from memory.scope import Scope
from memory.state import State
from memory.stores.sql import Store, Stream


class Past(Protocol):
    def require(self, scope: Scope) -> Stream:
        """The head of the run. Raises NotFound."""

    def events(
        self, scope: Scope, *, after: int = 0, upto: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Event]:
        """Versions in (after, upto], in order."""

    def state(self, scope: Scope, version: int | None = None) -> State:
        """The fold up to and with `version`."""

    def version_at(self, scope: Scope, turn: int) -> int:
        """The version at the end of the step that holds this turn. Raises NotFound."""

    def words(self, scope: Scope, ids: Sequence[int] | None = None) -> dict[int, str]:
        """Words by their ids; those that are not there are left out."""


def state_at(store: Store, scope: Scope, version: int) -> State:
    """The fold up to and with `version`, worked out once for the views of a turn."""
    return _state(store, scope, version, store.require(scope).id, store.generation())


def records(store: Store, scope: Scope, kinds: Sequence[str], upto: int) -> list[Event]:
    """Versions up to `upto` of these kinds: of the whole run they are read once, whichever turn is shown."""
    stream = store.require(scope)
    known = _records(store, scope, tuple(kinds), stream.version, stream.id, store.generation())
    return [event for event in known if event.version <= upto]


@lru_cache(maxsize=4)
def _state(store: Store, scope: Scope, version: int, stream: int, generation: int) -> State:
    return store.state(scope, version)


@lru_cache(maxsize=4)
def _records(
    store: Store, scope: Scope, kinds: tuple[str, ...], version: int, stream: int, generation: int
) -> list[Event]:
    return store.events(scope, upto=version, kinds=kinds)
