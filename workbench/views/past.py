"""What a view of a past turn asks of a run: the store answers from disk, a replay in memory answers the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memory.events import Event
from memory.scope import Scope
from memory.state import State
from memory.stores.sql import Stream


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
