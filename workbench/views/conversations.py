"""Which conversations a store holds, and which runs of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select

from memory.scope import Scope
from memory.stores.sql import Store, Stream, main_of
from memory.stores.tables import TEXT

AT_ONCE = 500  # ids in one query


@dataclass(frozen=True, slots=True)
class RunRow:
    run: str  # live, recorded, replay-<hash of its settings>
    turns: int
    steps: int
    version: int
    running: bool
    settings: str
    last_at: datetime


@dataclass(frozen=True, slots=True)
class ConversationRow:
    user: str
    conversation: str
    title: str
    source: str  # live, or the format it was imported from
    turns: int  # of its main run
    main: str  # the run to show unasked
    runs: tuple[RunRow, ...]  # newest first
    started_at: datetime
    last_at: datetime

    @property
    def scope(self) -> Scope:
        return Scope(self.user, self.conversation, self.main)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def conversations(store: Store, user: str | None = None) -> tuple[ConversationRow, ...]:
    """All of them, or one user's; the one that changed last comes first. Three queries, however many there are."""
    streams = store.streams(user)
    titles = _titles(store, streams)
    grouped: dict[tuple[str, str], list[Stream]] = {}
    for stream in streams:
        grouped.setdefault((stream.scope.user, stream.scope.conversation), []).append(stream)
    return tuple(_row(runs, titles) for runs in grouped.values())


def _row(streams: Sequence[Stream], titles: Mapping[int, str]) -> ConversationRow:
    main = main_of(streams)
    scope = main.scope
    return ConversationRow(
        user=scope.user,
        conversation=scope.conversation,
        title=titles.get(main.title, "") or scope.conversation,
        source=next((s.source for s in streams if s.source not in ("", "live")), main.source or "live"),
        turns=main.turns,
        main=scope.run,
        runs=tuple(
            RunRow(s.scope.run, s.turns, s.steps, s.version, s.open_step, s.settings, s.last_at) for s in streams
        ),
        started_at=min(s.started_at for s in streams),
        last_at=max(s.last_at for s in streams),
    )


def _titles(store: Store, streams: Iterable[Stream]) -> dict[int, str]:
    """By their ids; each of the conversation that bears it."""
    owners = {stream.title: (stream.scope.user, stream.scope.conversation) for stream in streams if stream.title}
    ids, found = list(owners), {}
    columns = (TEXT.c.id, TEXT.c.user, TEXT.c.conversation, TEXT.c.content)
    with store.read() as connection:
        for start in range(0, len(ids), AT_ONCE):
            query = select(*columns).where(TEXT.c.id.in_(ids[start : start + AT_ONCE]))
            for row in connection.execute(query):
                if owners[row.id] == (row.user, row.conversation):
                    found[row.id] = row.content
    return found
