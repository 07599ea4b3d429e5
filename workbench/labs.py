"""The runs of the lab for a page: each in a thread of its own, kept in memory, and on disk where the store is written.

Not here: what is run (sessions/lab.py), and any drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path

from memory.errors import RecordingError
from memory.scope import Scope
from memory.stores.sql import Store
from sessions.lab import lab
from sessions.lab_results import Lab
from sessions.meaning import Means, by_default, by_store
from sessions.paging import MESSAGELESS, Cell, Talk, talk_of
from sessions.questions import Pinned, file_of, of_conversation, read
from sessions.replay import identified
from sessions.topology import Topology, topology
from workbench.background import Kept, Making, Stopped
from workbench.replaying import source_of
from workbench.views.conversations import conversations
from workbench.views.lab import GRIDS

FOLDER = "lab"  # in the store's folder: results by numbers, no word of anybody
KEPT = 6


class Working(Making[Lab]):
    """One grid: under way, stopped, or done. What was worked out is kept, so one that is begun again goes on."""

    def __init__(
        self, talks: Sequence[Talk], cells: Sequence[Cell], folder: Path | None, meaning: Means = by_default
    ) -> None:
        super().__init__("lab", lambda _: lab(talks, cells, folder, progress=self._counted, meaning=meaning))
        self.done, self.of = 0, 1

    def _counted(self, done: int, of: int) -> None:
        self.done, self.of = done, of
        if self.is_told_to_stop and done < of:
            raise Stopped("stopped")


_WORKING: Kept[tuple[str, tuple[str, ...], tuple[Cell, ...]], Working] = Kept(KEPT)


def working(store: Store, talks: Sequence[Talk], cells: tuple[Cell, ...]) -> Working:
    """The run of this grid over these conversations: begun by whoever asks for it first."""

    def begun() -> Working:
        made = Working(talks, cells, None if store.readonly else store.path / FOLDER, partial(by_store, store))
        made.start()
        return made

    return _WORKING.get((str(store.path), tuple(each.digest for each in talks), cells), begun)


def talk(store: Store, scope: Scope) -> Talk:
    """What a conversation asks, with what is pinned onto it. Raises RecordingError where it asks nothing."""
    source = source_of(store, scope)
    pinned = of_conversation(read(file_of(store)), scope.user, scope.conversation)
    return _talk(store, source, store.require(source).version, store.generation(), tuple(pinned))


@lru_cache(maxsize=32)
def _talk(store: Store, source: Scope, version: int, generation: int, pinned: tuple[Pinned, ...]) -> Talk:
    return talk_of(identified((store, source)), pinned)


def talks(store: Store, user: str | None = None, conversation: str | None = None) -> tuple[list[Talk], list[str]]:
    """Of every conversation that is meant and asks something; and why others are left out."""
    found, left_out = [], []
    for row in conversations(store, user):
        if conversation in (None, row.conversation):
            try:
                found.append(talk(store, row.scope))
            except RecordingError as error:
                left_out.append(str(error))
    return found, left_out


def asked(store: Store, scope: Scope, over: str, grid: str) -> tuple[Working, int]:
    """The run of a named grid over this conversation, or over all; and how many ask nothing. Raises RecordingError
    where none asks anything."""
    if over == "this":
        return working(store, [talk(store, scope)], GRIDS[grid]()), 0
    found, left_out = talks(store)
    if not found:
        raise RecordingError("no conversation has a labelled or pinned question")
    return working(store, found, GRIDS[grid]()), len(left_out)


def shape(store: Store, scope: Scope) -> Topology:
    """Of a conversation, at its own settings as far as the lab can run them. Raises RecordingError."""
    settings = store.state(scope).settings
    current = settings.eviction if settings.eviction in MESSAGELESS else "lru"
    return _shape(talk(store, scope), settings.window_tokens - settings.reply_tokens, current)


@lru_cache(maxsize=32)
def _shape(each: Talk, budget: int, current: str) -> Topology:
    return topology(each, budget=budget, current=current)


def forget() -> None:
    """Drop all of them, and stop those under way."""
    _WORKING.forget()
    _talk.cache_clear()
    _shape.cache_clear()
