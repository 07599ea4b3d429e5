"""The rows of the truth. Every row has a user, and a conversation; words stand in `text` and nowhere else.

The classes say what a row is; queries go through the tables below them (`EVENT.c.seq`), which are typed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Index, LargeBinary, Table, UniqueConstraint
from sqlalchemy.orm import registry
from sqlmodel import Column, Field, SQLModel

import memory.fact_events  # noqa: F401 - its kinds are known from here on
from memory.events import Event, decode
from memory.scope import Scope


class Row(SQLModel, registry=registry()):
    """A registry of our own: a program around us may have a table class named `event`, too."""


class MetaRow(Row, table=True):
    """What the store knows of itself: its generation, the next free text id, whether words wait to be wiped."""

    __tablename__ = "meta"
    key: str = Field(primary_key=True)
    value: str


class StreamRow(Row, table=True):
    """One run of one conversation: the live one, its recording, or a saved replay. Its head is a projection."""

    __tablename__ = "stream"
    __table_args__ = (
        UniqueConstraint("user", "conversation", "run"),
        {"sqlite_autoincrement": True},  # a late writer of a deleted run must not meet another run under its id
    )
    id: int | None = Field(default=None, primary_key=True)
    user: str
    conversation: str
    run: str
    parent: int | None = None  # a branch continues this stream …
    parent_version: int = 0  # … after this version of it
    version: int = 0
    turns: int = 0
    steps: int = 0
    open_step: bool = False
    title: int = 0
    source: str = ""
    settings: str = ""  # hash
    started_us: int = 0
    last_us: int = 0


class EventRow(Row, table=True):
    __tablename__ = "event"
    __table_args__ = (
        UniqueConstraint("stream", "version"),
        Index("event_by_turn", "stream", "turn"),
        {"sqlite_autoincrement": True},  # a seq is never given twice, not even after a delete
    )
    seq: int | None = Field(default=None, primary_key=True)
    stream: int = Field(foreign_key="stream.id")
    version: int
    user: str
    conversation: str
    step: int
    turn: int | None = None  # of messages only: the turn that was said
    kind: str
    kind_version: int
    at_us: int  # microseconds since 1970, UTC
    body: str  # JSON; ids of words, never words


class TextRow(Row, table=True):
    """`rev` is the order of arrival, by which derived stores follow; `id` is what events mention."""

    __tablename__ = "text"
    __table_args__ = (Index("text_by_conversation", "user", "conversation"), {"sqlite_autoincrement": True})
    rev: int | None = Field(default=None, primary_key=True)
    id: int = Field(unique=True)
    user: str
    conversation: str
    content: str


class SnapshotRow(Row, table=True):
    """The fold at a version, so that any past turn is near. Derived; ignored when the fold has changed."""

    __tablename__ = "snapshot"
    stream: int = Field(primary_key=True, foreign_key="stream.id")
    version: int = Field(primary_key=True)
    fold_version: int = Field(primary_key=True)
    state: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class LeaseRow(Row, table=True):
    """Who may step a conversation now. `fence` grows with each owner: a late one's commit is refused."""

    __tablename__ = "lease"
    stream: int = Field(primary_key=True, foreign_key="stream.id")
    owner: str
    fence: int
    until_us: int


class JobRow(Row, table=True):
    """Work to be done after the reply: claimed under a lease, done at least once, the same job never queued twice."""

    __tablename__ = "job"
    __table_args__ = (
        UniqueConstraint("kind", "user", "conversation", "run", "key", "version"),
        Index("job_by_due", "state", "due_us"),
        {"sqlite_autoincrement": True},
    )
    id: int | None = Field(default=None, primary_key=True)
    kind: str
    user: str
    conversation: str
    run: str
    key: str  # on what: a page's number, say
    version: str  # of what: another version of the same is another job
    state: str = "queued"  # running, done, failed
    tries: int = 0
    due_us: int
    owner: str = ""  # whoever runs it …
    until_us: int = 0  # … until then, unless its heart beats on
    reason: str = ""  # why it failed the last time
    queued_us: int
    ended_us: int = 0


class MigrationRow(Row, table=True):
    __tablename__ = "migration"
    number: int = Field(primary_key=True)
    name: str
    applied_us: int


TABLES: dict[str, Table] = dict(Row.metadata.tables)
META, STREAM, EVENT, TEXT, SNAPSHOT, LEASE, JOB, MIGRATION = (
    TABLES[name] for name in ("meta", "stream", "event", "text", "snapshot", "lease", "job", "migration")
)


def generation_of(truth: Connection) -> int:
    """As of the transaction that is open; it grows with everything that takes words away."""
    row = truth.exec_driver_sql("SELECT value FROM meta WHERE key = 'generation'").first()
    return int(row[0]) if row else 0


GIVE_BACK = "UPDATE lease SET until_us = 0 WHERE stream = :stream AND owner = :owner AND fence = :fence"


# ── rows as values ────────────────────────────────────────────────────────────────────────────────────


def to_us(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000)


def from_us(us: int) -> datetime:
    return datetime.fromtimestamp(us / 1_000_000, UTC)


@dataclass(frozen=True, slots=True)
class Stream:
    """The head of one run of a conversation."""

    id: int
    scope: Scope
    parent: int | None
    parent_version: int
    version: int
    turns: int
    steps: int
    open_step: bool
    title: int
    source: str
    settings: str
    started_at: datetime
    last_at: datetime


def stream_of(row: Any) -> Stream:
    return Stream(
        id=row.id,
        scope=Scope(row.user, row.conversation, row.run),
        parent=row.parent,
        parent_version=row.parent_version,
        version=row.version,
        turns=row.turns,
        steps=row.steps,
        open_step=bool(row.open_step),
        title=row.title,
        source=row.source,
        settings=row.settings,
        started_at=from_us(row.started_us),
        last_at=from_us(row.last_us),
    )


def event_of(row: Any) -> Event:
    record, extra = decode(row.kind, row.body, row.kind_version)
    return Event(row.seq, row.version, row.step, from_us(row.at_us), record, extra)
