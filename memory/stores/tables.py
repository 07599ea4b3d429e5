"""The rows of the truth. Every row has a user, and a conversation; words stand in `text` and nowhere else."""

from __future__ import annotations

from sqlalchemy import Index, LargeBinary, UniqueConstraint
from sqlmodel import Column, Field, SQLModel


class MetaRow(SQLModel, table=True):
    """What the store knows of itself: schema, generation, the next free text id, the program that made it."""

    __tablename__ = "meta"
    key: str = Field(primary_key=True)
    value: str


class StreamRow(SQLModel, table=True):
    """One run of one conversation: the live one, its recording, or a saved replay. Its head is a projection."""

    __tablename__ = "stream"
    __table_args__ = (UniqueConstraint("user", "conversation", "run"),)
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


class EventRow(SQLModel, table=True):
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


class TextRow(SQLModel, table=True):
    """`rev` is the order of arrival, by which derived stores follow; `id` is what events mention."""

    __tablename__ = "text"
    __table_args__ = (Index("text_by_conversation", "user", "conversation"), {"sqlite_autoincrement": True})
    rev: int | None = Field(default=None, primary_key=True)
    id: int = Field(unique=True)
    user: str
    conversation: str
    content: str


class SnapshotRow(SQLModel, table=True):
    """The fold at a version, so that any past turn is near. Derived; ignored when the fold has changed."""

    __tablename__ = "snapshot"
    stream: int = Field(primary_key=True, foreign_key="stream.id")
    version: int = Field(primary_key=True)
    fold_version: int = Field(primary_key=True)
    state: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class LeaseRow(SQLModel, table=True):
    """Who may step a conversation now. `fence` grows with each owner: a late one's commit is refused."""

    __tablename__ = "lease"
    stream: int = Field(primary_key=True, foreign_key="stream.id")
    owner: str
    fence: int
    until_us: int


class MigrationRow(SQLModel, table=True):
    __tablename__ = "migration"
    number: int = Field(primary_key=True)
    name: str
    applied_us: int
