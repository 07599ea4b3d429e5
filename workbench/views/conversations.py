"""Which conversations a store holds, and which runs of each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from memory.scope import Scope
from memory.stores.sql import Store, Stream


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
    """All of them, or one user's; the one that changed last comes first."""
    grouped: dict[tuple[str, str], list[Stream]] = {}
    for stream in store.streams(user):
        grouped.setdefault((stream.scope.user, stream.scope.conversation), []).append(stream)
    return tuple(_row(store, streams) for streams in grouped.values())


def _row(store: Store, streams: list[Stream]) -> ConversationRow:
    scope = store.main_run(streams[0].scope.user, streams[0].scope.conversation)
    main = next(s for s in streams if s.scope == scope)
    titles = store.words(scope, [s.title for s in streams if s.title])
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
