"""One run of a conversation in a store, as the engine writes it: `memory.journal.Journal` over SQLite.

The state kept here is a cache: `load` folds what others committed, and a commit checks that nobody did since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, insert, text

from memory.errors import NotFound, StaleAppend
from memory.events import Body, Event, encode
from memory.redaction import clean
from memory.stores import folds
from memory.stores.files import raw
from memory.stores.tables import GIVE_BACK, SNAPSHOT, Stream, from_us, stream_of, to_us

if TYPE_CHECKING:
    from memory.stores.sql import Store

ID_BLOCK = 256

Along = Callable[[Connection, Sequence[Body], Any], None]  # what is appended, and its fold

# As text, for every step runs them several times: built anew, they cost more than SQLite takes to answer.
HEAD = """
SELECT (SELECT value FROM meta WHERE key = 'generation') AS generation, stream.*
FROM stream WHERE user = :user AND conversation = :conversation AND run = :run"""
MOVE_HEAD = """
UPDATE stream SET version = :version, turns = :turns, steps = :steps, open_step = :open_step, title = :title,
    source = :source, settings = :settings, last_us = :last_us
WHERE id = :id AND version = :expected AND (:owner = '' OR EXISTS
    (SELECT 1 FROM lease WHERE stream = :id AND owner = :owner AND fence = :fence))"""
ADD_TEXT = "INSERT INTO text (id, user, conversation, content) VALUES (:id, :user, :conversation, :content)"
ADD_EVENT = """
INSERT INTO event (stream, version, user, conversation, step, turn, kind, kind_version, at_us, body)
VALUES (:stream, :version, :user, :conversation, :step, :turn, :kind, :kind_version, :at_us, :body)"""


class SqlJournal:
    def __init__(self, store: Store, stream: Stream) -> None:
        self.store = store
        self.stream = stream
        self.scope = stream.scope
        self.fold = folds.fold_for(stream.scope)
        self.lease: tuple[str, int] | None = None  # owner, fence: set while a lease is held
        self.durable = True
        self.last = False  # the next commit ends the step: it gives the lease back as well
        self.along: Along | None = None  # written in the same transaction as every commit
        self._head: Any = None
        self._state: Any = None
        self.generation = store.generation()  # as of the last `load`: caches of another one are void
        self._texts: dict[int, str] = {}
        self._all_loaded = False
        self._by_content: dict[str, int] = {}
        self._unsaved: dict[int, str] = {}
        self._ids: Iterator[int] = iter(())

    def load(self) -> Any:
        """The fold of everything committed. Words that no commit took with it are dropped."""
        self._forget_unsaved()
        self._read_head()
        if self._state is None or self._state.version != self.stream.version:
            self._state = self.store.fold_of(self.stream, near=self._state)
        return self._state

    def last_known(self) -> Any:
        """The fold as of the last `load`: where others wrote since, a commit on top of it raises StaleAppend."""
        if self._state is None:
            return self.load()
        self._forget_unsaved()
        return self._state

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Load and commit with nobody writing in between: all that is committed meanwhile stands, or nothing does."""
        whole = False
        try:
            with self.store.alone(durable=self.durable):
                yield
            whole = True
        finally:
            if not whole:
                self._forget_all()  # it may hold what was rolled back

    def look(self, connection: Connection) -> None:
        """Read the run's head in a transaction that is open anyhow; the next `load` takes it."""
        named = {"user": self.scope.user, "conversation": self.scope.conversation, "run": self.scope.run}
        found = raw(connection).execute(HEAD, named)
        row = found.fetchone()
        names = [column[0] for column in found.description]
        self._head = row and SimpleNamespace(**dict(zip(names, row, strict=True)))

    def _read_head(self) -> None:
        if self._head is None:
            with self.store.read() as connection:
                self.look(connection)
        head, self._head = self._head, None
        if head is None or int(head.generation or 0) != self.generation:
            self._forget_all()
            self.generation = self.store.generation()
        self.stream = self.store.require(self.scope) if head is None else stream_of(head)

    def _forget_all(self) -> None:
        self._state, self._head, self._ids = None, None, iter(())
        self._texts, self._by_content, self._unsaved, self._all_loaded = {}, {}, {}, False

    def _forget_unsaved(self) -> None:
        for text_id, content in self._unsaved.items():
            self._texts.pop(text_id, None)
            if self._by_content.get(content) == text_id:
                del self._by_content[content]
        self._unsaved = {}

    # ── words ─────────────────────────────────────────────────────────────────────────────────────────

    def words(self, text: int) -> str:
        found = self._texts.get(text)
        if found is None and not self._all_loaded:
            self._texts = self.store.words(self.scope) | self._texts
            self._all_loaded = True
            found = self._texts.get(text)
        if found is None:
            found = self.store.words(self.scope, [text]).get(text)
        if found is None:
            raise NotFound(f"no text with id {text} in {self.scope.user}/{self.scope.conversation}")
        self._texts[text] = found
        return found

    def write(self, content: str) -> int:
        known = self._by_content.get(content)
        if known is None:
            known = self._by_content[content] = self.said(content)
        return known

    def said(self, content: str) -> int:
        text_id = next(self._ids, None)
        if text_id is None:
            self._ids = self._reserve()
            text_id = next(self._ids)
        content = clean(content)
        self._texts[text_id] = self._unsaved[text_id] = content
        return text_id

    def _reserve(self, block: int = ID_BLOCK) -> Iterator[int]:
        """Ids that nobody else will give out; gaps are harmless."""
        sql = "UPDATE meta SET value = CAST(value AS INTEGER) + :n WHERE key = 'next_text' RETURNING value"
        with self.store.write(durable=False) as connection:
            end = int(connection.scalar(text(sql), {"n": block}))
        return iter(range(end - block, end))

    # ── records ───────────────────────────────────────────────────────────────────────────────────────

    def commit(self, bodies: Sequence[Body], step: int, after: Any) -> list[Event]:
        """Append all or none, with the words written since; `after` is their fold.

        Raises StaleAppend if the run moved on, was deleted, or was taken over by another owner of its lease.
        """
        return self.append([(step, body) for body in bodies], after)

    def append(self, records: Sequence[tuple[int, Body]], after: Any) -> list[Event]:
        """`commit` for several steps at once: each record with its own."""
        if not records:
            return []
        now, first = to_us(self.store.clock()), after.version - len(records) + 1
        rows = [self._row(body, first + i, step, now) for i, (step, body) in enumerate(records)]
        snapshots = self._snapshots(records, after)
        with self.store.write(durable=self.durable) as connection:
            self._move_head(connection, first - 1, after, now)
            last = self._append(connection, rows, snapshots)
            if self.along is not None:
                self.along(connection, [body for _, body in records], after)
            if self.last and self.lease is not None:
                owner, fence = self.lease
                raw(connection).execute(GIVE_BACK, {"stream": self.stream.id, "owner": owner, "fence": fence})
        if self.last:
            self.lease = None
        self._unsaved = {}
        self._state = after
        at, seqs = from_us(now), count(last - len(records) + 1)
        return [Event(next(seqs), first + i, step, at, body) for i, (step, body) in enumerate(records)]

    def _snapshots(self, records: Sequence[tuple[int, Body]], after: Any) -> dict[int, bytes]:
        """By version; an import appends many steps at once, and each of its turns shall be near, too."""
        fold, state, at = self.fold, self._state, self.store.clock()
        if state is None or records[-1][0] - records[0][0] < folds.SNAPSHOT_STEPS:
            return {after.version: fold.dump(after)} if fold.is_due(state or fold.empty(), after) else {}
        kept: dict[int, bytes] = {}
        for step, body in records:
            before, state = state, fold.apply(state, Event(0, state.version + 1, step, at, body))
            if fold.is_due(before, state):
                kept[state.version] = fold.dump(state)
        return kept

    def _append(self, connection: Connection, rows: list[dict[str, Any]], snapshots: dict[int, bytes]) -> int:
        """Write words, records and what follows from them. Returns the last seq."""
        words = [
            {"id": i, "user": self.scope.user, "conversation": self.scope.conversation, "content": content}
            for i, content in self._unsaved.items()
        ]
        for version, state in snapshots.items():
            save_snapshot(connection, self.stream.id, version, self.fold.version, state)
        db = raw(connection)
        db.executemany(ADD_TEXT, words)
        db.executemany(ADD_EVENT, rows)
        return int(db.execute("SELECT last_insert_rowid()").fetchone()[0])

    def _row(self, body: Body, version: int, step: int, now_us: int) -> dict[str, Any]:
        turn = getattr(body, "turn", None)  # a message's; in the user's own stream the number of the one looked at
        return {
            "stream": self.stream.id,
            "version": version,
            "user": self.scope.user,
            "conversation": self.scope.conversation,
            "step": step,
            "turn": turn if self.scope.is_own else getattr(turn, "number", None),
            "kind": body.kind,
            "kind_version": body.version,
            "at_us": now_us,
            "body": encode(body),
        }

    def _move_head(self, connection: Connection, expected: int, after: Any, now_us: int) -> None:
        """Claim the place of these records in the run, if nobody was faster and the lease is still ours."""
        owner, fence = self.lease or ("", 0)
        head = self.fold.head(after) | {"id": self.stream.id, "last_us": now_us, "expected": expected}
        moved = raw(connection).execute(MOVE_HEAD, head | {"owner": owner, "fence": fence})
        if not moved.rowcount:
            raise StaleAppend(self._why_stale(connection, expected))

    def _why_stale(self, connection: Connection, expected: int) -> str:
        version = connection.scalar(text("SELECT version FROM stream WHERE id = :id"), {"id": self.stream.id})
        if version is None:
            return f"{self.scope} was deleted meanwhile; nothing was written"
        if version != expected:
            return f"{self.scope} is at version {version}, not {expected}: read it again, then write"
        return f"another process took {self.scope} over; this step's rest was not written"


def save_snapshot(connection: Connection, stream: int, version: int, fold_version: int, state: bytes) -> None:
    row = {"stream": stream, "version": version, "fold_version": fold_version, "state": state}
    connection.execute(insert(SNAPSHOT).prefix_with("OR REPLACE"), [row])
