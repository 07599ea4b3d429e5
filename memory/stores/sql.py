"""The truth: one SQLite file in WAL mode with the log of events, the words, and what is folded from them.

Any number of processes may read; one writes at a time, so the order of `seq` is the order of commits. Every
read and write names a user. Nothing else in the program writes these tables.

Not a cache and not analytical: charts and `workbench sql` ask DuckDB (log.py), which follows this file.
"""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
from platformdirs import user_data_path
from sqlalchemy import Connection, create_engine, delete, event, func, insert, select, text, update
from sqlalchemy import Engine as SqlEngine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, QueuePool

from memory.errors import (
    NotFound,
    StaleAppend,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreOnNetwork,
    StoreReadOnly,
    StoreTooNew,
)
from memory.events import Body, ConversationBranched, Event, GuestLeft, StepAbandoned, decode, encode
from memory.journal import Clock, utc_now
from memory.scope import RECORDED, Scope
from memory.state import FOLD_VERSION, State, apply, dump, fold, load
from memory.stores import migrations
from memory.stores.tables import (
    EventRow,
    LeaseRow,
    MetaRow,
    MigrationRow,
    SnapshotRow,
    StreamRow,
    TextRow,
)

FILE = "memory.sqlite"
SNAPSHOT_STEPS = 200
ID_BLOCK = 256
BUSY_MS = 5_000
NETWORK = {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afpfs", "ncpfs", "9p", "sshfs", "fuse.sshfs",
           "davfs", "fuse.davfs", "glusterfs", "fuse.glusterfs", "ceph", "fuse.ceph", "lustre", "afs"}  # fmt: skip


def default_path() -> Path:
    """The platform's place for a user's data."""
    return user_data_path("memory-workbench", appauthor=False) / "store"


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


class Store:
    """A folder with the truth and what is derived from it.

    >>> store = Store.open("store")            # doctest: +SKIP
    >>> store.streams(user="ana")              # doctest: +SKIP
    """

    def __init__(self, path: Path, sql: SqlEngine, *, readonly: bool, clock: Clock) -> None:
        self.path = path
        self.sql = sql
        self.readonly = readonly
        self.clock = clock

    # ── open and close ────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(cls, path: str | Path | None = None, *, readonly: bool = False, clock: Clock = utc_now) -> Store:
        """Open the store in this folder, made if it is not there. Closes steps that a crash left open.

        Raises StoreOnNetwork, StoreReadOnly, StoreDamaged, StoreTooNew; the folder is then as it was.
        """
        folder = Path(path).expanduser().resolve() if path else default_path()
        _refuse_network(folder)
        file = folder / FILE
        _check_file(file, folder, readonly)
        store = cls(folder, _connect(file, readonly), readonly=readonly, clock=clock)
        with _translated(file):
            store._bring_up_to_date()
            if not readonly:
                store._abandon_open_steps()
        return store

    def close(self) -> None:
        self.sql.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {str(self.path)!r}: {len(self.streams())} conversation runs, {self.last_seq()} events>"

    @property
    def file(self) -> Path:
        return self.path / FILE

    def _bring_up_to_date(self) -> None:
        with self.write() if not self.readonly else self.read() as connection:
            has = connection.scalar(text("SELECT count(*) FROM sqlite_master WHERE name = 'migration'"))
            others = connection.scalar(text("SELECT count(*) FROM sqlite_master WHERE type = 'table'"))
            if not has and others:
                raise StoreDamaged(f"{self.file} is an SQLite file of another program; give another folder")
            if not has and self.readonly:
                raise NotFound(f"there is no store in {self.path}; make one with `workbench import`")
            if not has:
                MigrationRow.__table__.create(connection)  # type: ignore[attr-defined]
            known, found = len(migrations.MIGRATIONS), migrations.applied(connection)
            if found > known:
                raise StoreTooNew(
                    f"{self.path} was written by a newer version (schema {found}; this one knows {known}): "
                    "update memory-workbench, or give another folder"
                )
            todo = migrations.pending(connection)
            if todo and self.readonly:
                raise StoreReadOnly(f"{self.path} has schema {found} and needs {known}; open it writable once")
            if todo and found:
                self.backup(self.path / "backups" / f"before-schema-{known}-{self._stamp()}.sqlite")
            for number, change in todo:
                migrations.apply_one(connection, number, change, to_us(self.clock()))

    def _abandon_open_steps(self) -> None:
        """A step that nobody holds a lease on was cut by a crash: say so in the log."""
        for stream in [s for s in self.streams() if s.open_step]:
            if self._leased(stream.id):
                continue
            journal = SqlJournal(self, stream)
            state = journal.load()
            bodies: list[Body] = [GuestLeft(p.number, False) for p in state.guests]
            bodies.append(StepAbandoned("the program ended in the middle of the step"))
            after = state
            for body in bodies:
                after = apply(after, Event(0, after.version + 1, state.step, self.clock(), body))
            journal.commit(bodies, state.step, after)

    def _leased(self, stream: int) -> bool:
        with self.read() as connection:
            until = connection.scalar(select(LeaseRow.until_us).where(LeaseRow.stream == stream))
        return until is not None and until > to_us(self.clock())

    def _stamp(self) -> str:
        return self.clock().strftime("%Y%m%dT%H%M%S%f")

    # ── transactions ──────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with _translated(self.file), self.sql.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, durable: bool = True) -> Iterator[Connection]:
        """One transaction that holds the write lock from its begin.

        Not `durable`: it survives the end of the process, and the next durable one carries it to the disk.
        """
        if self.readonly:
            raise StoreReadOnly(f"{self.path} was opened read-only")
        with _translated(self.file), self.sql.connect() as connection:
            connection = connection.execution_options(writes=True, durable=durable)
            with connection.begin():
                yield connection

    # ── streams ───────────────────────────────────────────────────────────────────────────────────────

    def streams(self, user: str | None = None, conversation: str | None = None) -> list[Stream]:
        """Heads, the newest first; of one user or, for whoever runs the store, of all."""
        query = select(StreamRow).order_by(StreamRow.last_us.desc(), StreamRow.id.desc())  # type: ignore[attr-defined, union-attr]
        if user is not None:
            query = query.where(StreamRow.user == user)  # type: ignore[arg-type]
        if conversation is not None:
            query = query.where(StreamRow.conversation == conversation)  # type: ignore[arg-type]
        with self.read() as connection:
            return [_stream(row) for row in connection.execute(query)]

    def stream(self, scope: Scope) -> Stream | None:
        found = [s for s in self.streams(scope.user, scope.conversation) if s.scope == scope]
        return found[0] if found else None

    def require(self, scope: Scope) -> Stream:
        found = self.stream(scope)
        if found is None:
            known = sorted({s.scope.conversation for s in self.streams(scope.user)})
            runs = sorted(s.scope.run for s in self.streams(scope.user, scope.conversation))
            hint = f"its runs are {', '.join(runs)}" if runs else f"known: {', '.join(known[:12]) or 'none'}"
            raise NotFound(f"no run {scope.run!r} of conversation {scope.conversation!r} of user {scope.user!r}; {hint}")
        return found

    def main_run(self, user: str, conversation: str) -> Scope:
        """The run that a page shows unasked: the live one, else the newest replay, else the recording."""
        runs = self.streams(user, conversation)
        if not runs:
            raise NotFound(f"no conversation {conversation!r} of user {user!r} in {self.path}")
        order = sorted(runs, key=lambda s: (s.scope.run == RECORDED, s.scope.run != "live"))
        return order[0].scope

    def open_stream(self, scope: Scope, parent: Stream | None = None, cause: str = "") -> SqlJournal:
        """The journal of this run, begun if it is new; a new one with a `parent` continues that."""
        found = self.stream(scope)
        if found is None:
            now = to_us(self.clock())
            row = {"user": scope.user, "conversation": scope.conversation, "run": scope.run, "version": 0,
                   "turns": 0, "steps": 0, "open_step": False, "title": 0, "source": "", "settings": "",
                   "parent": None, "parent_version": 0, "started_us": now, "last_us": now}  # fmt: skip
            if parent is not None:
                row |= {"parent": parent.id, "parent_version": parent.version, "version": parent.version}
            with self.write() as connection:
                connection.execute(insert(StreamRow).prefix_with("OR IGNORE"), [row])
            found = self.require(scope)
            if parent is not None and found.version == parent.version:
                journal = SqlJournal(self, found)
                branched = ConversationBranched(str(parent.scope), parent.version, cause)
                before = journal.load()
                after = apply(before, Event(0, before.version + 1, before.step, self.clock(), branched))
                journal.commit([branched], before.step, after)
                return journal
        return SqlJournal(self, found)

    def journal(self, scope: Scope) -> SqlJournal:
        return SqlJournal(self, self.require(scope))

    # ── reading the log ───────────────────────────────────────────────────────────────────────────────

    def events(
        self, scope: Scope, *, after: int = 0, upto: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Event]:
        """Events of a run in order, those of the run it branched from included; versions in (after, upto]."""
        return self._events(self.require(scope), after, upto, kinds)

    def _events(self, stream: Stream, after: int, upto: int | None, kinds: Sequence[str] = ()) -> list[Event]:
        inherited: list[Event] = []
        if stream.parent is not None and after < stream.parent_version:
            limit = stream.parent_version if upto is None else min(upto, stream.parent_version)
            inherited = self._events(self._by_id(stream.parent), after, limit, kinds)
        e = EventRow
        query = select(e.seq, e.version, e.step, e.at_us, e.kind, e.kind_version, e.body).where(  # type: ignore[call-overload]
            e.stream == stream.id, e.version > after
        )
        if upto is not None:
            query = query.where(e.version <= upto)
        if kinds:
            query = query.where(e.kind.in_(kinds))  # type: ignore[attr-defined]
        with self.read() as connection:
            rows = connection.execute(query.order_by(e.version)).all()
        return inherited + [_event(*row) for row in rows]

    def _by_id(self, stream: int) -> Stream:
        with self.read() as connection:
            row = connection.execute(select(StreamRow).where(StreamRow.id == stream)).first()  # type: ignore[arg-type]
        if row is None:
            raise StoreDamaged(f"a branch continues stream {stream}, which is not in {self.path}")
        return _stream(row)

    def state(self, scope: Scope, version: int | None = None) -> State:
        """The fold of a run up to and with `version`; from the nearest snapshot."""
        return self._state(self.require(scope), version)

    def _state(self, stream: Stream, version: int | None = None, near: State | None = None) -> State:
        at = stream.version if version is None else version
        base = near if near is not None and near.version <= at else None
        snapshot = self._snapshot(stream, at)
        if snapshot is not None and (base is None or snapshot.version > base.version):
            base = snapshot
        if base is None and stream.parent is not None:
            base = self._state(self._by_id(stream.parent), min(at, stream.parent_version))
        return fold(self._events(stream, base.version if base else 0, at), base)

    def _snapshot(self, stream: Stream, at: int) -> State | None:
        query = (
            select(SnapshotRow.state)  # type: ignore[call-overload]
            .where(SnapshotRow.stream == stream.id, SnapshotRow.version <= at)
            .where(SnapshotRow.fold_version == FOLD_VERSION)
            .order_by(SnapshotRow.version.desc())  # type: ignore[attr-defined]
            .limit(1)
        )
        with self.read() as connection:
            raw = connection.scalar(query)
        return load(raw) if raw is not None else None

    def version_at(self, scope: Scope, turn: int) -> int:
        """The version at the end of the step that holds this turn."""
        return self._version_at(self.require(scope), turn)

    def _version_at(self, stream: Stream, turn: int) -> int:
        with self.read() as connection:
            step = connection.scalar(
                select(func.max(EventRow.step)).where(EventRow.stream == stream.id, EventRow.turn == turn)  # type: ignore[arg-type]
            )
            if step is not None:
                last = connection.scalar(
                    select(func.max(EventRow.version)).where(EventRow.stream == stream.id, EventRow.step == step)  # type: ignore[arg-type]
                )
                return int(last or 0)
        if stream.parent is not None:
            return min(stream.parent_version, self._version_at(self._by_id(stream.parent), turn))
        raise NotFound(f"no turn {turn} in {stream.scope}; turns go from 1 to {stream.turns}")

    # ── words ─────────────────────────────────────────────────────────────────────────────────────────

    def words(self, scope: Scope, ids: Sequence[int] | None = None) -> dict[int, str]:
        """Words of one user's conversation by their ids; all of them without `ids`."""
        query = select(TextRow.id, TextRow.content).where(  # type: ignore[call-overload]
            TextRow.user == scope.user, TextRow.conversation == scope.conversation
        )
        found: dict[int, str] = {}
        with self.read() as connection:
            if ids is None:
                return {row.id: row.content for row in connection.execute(query)}
            wanted = [i for i in dict.fromkeys(ids) if i]
            for start in range(0, len(wanted), 500):
                part = query.where(TextRow.id.in_(wanted[start : start + 500]))  # type: ignore[attr-defined]
                found |= {row.id: row.content for row in connection.execute(part)}
        return found

    # ── what derived stores and pages follow ──────────────────────────────────────────────────────────

    def last_seq(self) -> int:
        with self.read() as connection:
            return int(connection.scalar(select(func.max(EventRow.seq))) or 0)

    def generation(self) -> int:
        """Grows with everything that takes words away; caches of an older generation are void."""
        with self.read() as connection:
            return int(connection.scalar(select(MetaRow.value).where(MetaRow.key == "generation")) or 0)  # type: ignore[arg-type]

    def watcher(self) -> Callable[[], int]:
        """A cheap number that changes whenever another connection commits."""
        connection = sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, check_same_thread=False)
        return lambda: int(connection.execute("PRAGMA data_version").fetchone()[0])

    # ── care ──────────────────────────────────────────────────────────────────────────────────────────

    def backup(self, to: str | Path) -> Path:
        """A consistent copy of the truth while others go on writing; what is derived can be rebuilt from it."""
        target = Path(to).expanduser().resolve()
        if target.exists():
            raise StoreError(f"{target} exists; a backup never overwrites: give another name")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(target.parent).free
            if free < self.file.stat().st_size * 1.1:
                raise StoreFull(f"a backup needs {self.file.stat().st_size:,} bytes; {free:,} are free at {target.parent}")
        except PermissionError as error:
            raise StoreReadOnly(f"cannot write to {target.parent}: {error.strerror}") from error
        with _translated(target), sqlite3.connect(self.file) as source, sqlite3.connect(target) as copy:
            source.backup(copy)
        copy.close()
        source.close()
        return target

    def delete(self, user: str, conversation: str) -> int:
        """Take a conversation and all its runs out of the store, words and all. Returns the events removed.

        Bytes are overwritten, not just unlinked; the derived store is dropped and made anew when asked next.
        """
        ids = [s.id for s in self.streams(user, conversation)]
        if not ids:
            known = sorted({s.scope.conversation for s in self.streams(user)})
            raise NotFound(f"no conversation {conversation!r} of user {user!r}; known: {', '.join(known[:12]) or 'none'}")
        with self.write() as connection:
            for table in (EventRow, SnapshotRow, LeaseRow):
                gone = connection.execute(delete(table).where(table.stream.in_(ids)))  # type: ignore[attr-defined]
                removed = gone.rowcount if table is EventRow else removed
            for owned in (TextRow, StreamRow):
                here = (owned.user == user, owned.conversation == conversation)
                connection.execute(delete(owned).where(*here))  # type: ignore[arg-type]
            self._next_generation(connection)
        self._compact()
        return int(removed)

    def _next_generation(self, connection: Connection) -> None:
        one_more = text("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation'")
        connection.execute(one_more)

    def _compact(self) -> None:
        """Nothing that was deleted stays readable in the file or its log."""
        with _translated(self.file):
            connection = sqlite3.connect(self.file, isolation_level=None, timeout=BUSY_MS / 1000)
            try:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                connection.close()

    def check(self) -> list[str]:
        """Everything that contradicts itself in the truth: the file, gaps in streams, heads, missing words."""
        with self.read() as connection:
            faults = [f"file: {row[0]}" for row in connection.execute(text("PRAGMA integrity_check")) if row[0] != "ok"]
        for stream in self.streams():
            faults += self._check_stream(stream)
        return faults

    def _check_stream(self, stream: Stream) -> list[str]:
        name, faults = str(stream.scope), []
        events = self._events(stream, 0, None)
        versions = [e.version for e in events]
        if versions != list(range(1, len(events) + 1)):
            gap = next((i for i, v in enumerate(versions, 1) if i != v), len(versions))
            faults.append(f"{name}: version {gap} is missing in the log")
        state = fold(events)
        head = (stream.version, stream.turns, stream.steps, stream.open_step)
        told = (state.version, state.turn, state.step, state.open_step)
        if head != told:
            faults.append(f"{name}: its head says (version, turns, steps, open) {head}, the log says {told}")
        near = self._snapshot(stream, stream.version)
        if near is not None and near != fold([e for e in events if e.version <= near.version]):
            faults.append(f"{name}: the snapshot at version {near.version} differs from the log; run `workbench rebuild`")
        said = {t.text for p in state.pages.values() for t in p.turns}
        lost = said - set(self.words(stream.scope, sorted(said)))
        if lost:
            faults.append(f"{name}: {len(lost)} turns have no words, the first is text {min(lost)}")
        return faults

    def rebuild_heads(self) -> int:
        """Make heads and snapshots from the log again. Returns how many streams."""
        streams = self.streams()
        for stream in streams:
            state = fold(self._events(stream, 0, None))
            with self.write() as connection:
                connection.execute(delete(SnapshotRow).where(SnapshotRow.stream == stream.id))  # type: ignore[arg-type]
                connection.execute(_head(stream.id, state))
        return len(streams)


class SqlJournal:
    """One run of a conversation in a store; implements `memory.journal.Journal`."""

    def __init__(self, store: Store, stream: Stream) -> None:
        self.store = store
        self.stream = stream
        self.scope = stream.scope
        self.lease: tuple[str, int] | None = None  # owner, fence: set while a lease is held
        self.durable = True
        self._state: State | None = None
        self._generation = store.generation()
        self._texts: dict[int, str] = {}
        self._all_loaded = False
        self._by_content: dict[str, int] = {}
        self._unsaved: dict[int, str] = {}
        self._ids: Iterator[int] = iter(())

    def load(self) -> State:
        generation = self.store.generation()
        if generation != self._generation:
            self._generation, self._state = generation, None
            self._texts, self._by_content, self._all_loaded = {}, {}, False
        self.stream = self.store.require(self.scope)
        if self._state is None or self._state.version != self.stream.version:
            self._state = self.store._state(self.stream, near=self._state)
        return self._state

    def words(self, text: int) -> str:
        found = self._texts.get(text)
        if found is None and not self._all_loaded:
            self._texts |= self.store.words(self.scope)
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
        self._texts[text_id] = self._unsaved[text_id] = content
        return text_id

    def _reserve(self, block: int = ID_BLOCK) -> Iterator[int]:
        """Ids that nobody else will give out; gaps are harmless."""
        sql = "UPDATE meta SET value = CAST(value AS INTEGER) + :n WHERE key = 'next_text' RETURNING value"
        with self.store.write(durable=False) as connection:
            end = int(connection.scalar(text(sql), {"n": block}))
        return iter(range(end - block, end))

    def commit(self, bodies: Sequence[Body], step: int, after: State) -> list[Event]:
        now, first = to_us(self.store.clock()), after.version - len(bodies) + 1
        rows = [self._row(body, first + i, step, now) for i, body in enumerate(bodies)]
        words = [
            {"id": i, "user": self.scope.user, "conversation": self.scope.conversation, "content": content}
            for i, content in self._unsaved.items()
        ]
        with self.store.write(self.durable) as connection:
            self._check(connection, first - 1)
            if words:
                connection.execute(insert(TextRow), words)
            connection.execute(insert(EventRow), rows)
            connection.execute(_head(self.stream.id, after, now))
            if not after.open_step and after.step and after.step % SNAPSHOT_STEPS == 0:
                self._snapshot(connection, after)
            last = int(connection.scalar(text("SELECT max(seq) FROM event")))
        self._unsaved = {}
        self._state = after
        at = from_us(now)
        seqs = count(last - len(bodies) + 1)
        return [Event(next(seqs), first + i, step, at, body) for i, body in enumerate(bodies)]

    def _row(self, body: Body, version: int, step: int, now: int) -> dict[str, Any]:
        turn = getattr(body, "turn", None)
        return {
            "stream": self.stream.id,
            "version": version,
            "user": self.scope.user,
            "conversation": self.scope.conversation,
            "step": step,
            "turn": getattr(turn, "number", None),
            "kind": body.kind,
            "kind_version": body.version,
            "at_us": now,
            "body": encode(body),
        }

    def _check(self, connection: Connection, expected: int) -> None:
        version = connection.scalar(select(StreamRow.version).where(StreamRow.id == self.stream.id))  # type: ignore[arg-type]
        if version is None:
            raise StaleAppend(f"{self.scope} was deleted meanwhile; nothing was written")
        if version != expected:
            raise StaleAppend(f"{self.scope} is at version {version}, not {expected}: read it again, then write")
        if self.lease is not None:
            held = connection.execute(
                select(LeaseRow.owner, LeaseRow.fence).where(LeaseRow.stream == self.stream.id)  # type: ignore[call-overload]
            ).first()
            if held is None or tuple(held) != self.lease:
                raise StaleAppend(f"another process took {self.scope} over; this step's rest was not written")

    def _snapshot(self, connection: Connection, state: State) -> None:
        row = {"stream": self.stream.id, "version": state.version, "fold_version": FOLD_VERSION, "state": dump(state)}
        connection.execute(insert(SnapshotRow).prefix_with("OR REPLACE"), [row])


def new_owner() -> str:
    return uuid.uuid4().hex


def _head(stream: int, state: State, now_us: int | None = None) -> Any:
    values: dict[str, Any] = {
        "version": state.version,
        "turns": state.turn,
        "steps": state.step,
        "open_step": state.open_step,
        "title": state.title,
        "source": state.source,
        "settings": state.settings.hash,
    }
    if now_us is not None:
        values["last_us"] = now_us
    return update(StreamRow).where(StreamRow.id == stream).values(**values)  # type: ignore[arg-type]


def _stream(row: Any) -> Stream:
    return Stream(
        row.id, Scope(row.user, row.conversation, row.run), row.parent, row.parent_version, row.version, row.turns,
        row.steps, bool(row.open_step), row.title, row.source, row.settings, from_us(row.started_us), from_us(row.last_us),
    )  # fmt: skip


def _event(seq: int, version: int, step: int, at_us: int, kind: str, kind_version: int, body: str) -> Event:
    record, extra = decode(kind, body, kind_version)
    return Event(seq, version, step, from_us(at_us), record, extra)


# ── the file ──────────────────────────────────────────────────────────────────────────────────────────


def _connect(file: Path, readonly: bool) -> SqlEngine:
    mode = "ro" if readonly else "rwc"

    def open_file() -> sqlite3.Connection:
        return sqlite3.connect(
            f"file:{file}?mode={mode}", uri=True, isolation_level=None, timeout=BUSY_MS / 1000, check_same_thread=False
        )

    sql = create_engine("sqlite://", creator=open_file, poolclass=NullPool if readonly else QueuePool)

    @event.listens_for(sql, "connect")
    def _prepare(connection: Any, record: Any) -> None:
        pragmas = [f"busy_timeout={BUSY_MS}", "foreign_keys=ON", "secure_delete=ON"]
        if not readonly:
            pragmas += ["journal_mode=WAL", "synchronous=FULL"]
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(sql, "begin")
    def _begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if options.get("writes"):
            # In WAL mode NORMAL loses nothing when a process dies; FULL also survives the machine's end.
            connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if options.get('durable') else 'NORMAL'}")
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # a deferred one may fail at its first write
        else:
            connection.exec_driver_sql("BEGIN")

    return sql


def _refuse_network(folder: Path) -> None:
    """SQLite's locks do not hold on network file systems; two writers would damage the file."""
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    mounts = [m for m in psutil.disk_partitions(all=True) if existing.is_relative_to(m.mountpoint)]
    if not mounts:
        return
    mount = max(mounts, key=lambda m: len(m.mountpoint))
    if mount.fstype.lower() in NETWORK:
        raise StoreOnNetwork(
            f"{folder} is on a network file system ({mount.fstype} at {mount.mountpoint}), where locks do not hold: "
            "use a local folder, and copy backups there with `workbench backup`"
        )


def _check_file(file: Path, folder: Path, readonly: bool) -> None:
    try:
        if not readonly:
            folder.mkdir(parents=True, exist_ok=True)
        elif not file.exists():
            raise NotFound(f"there is no store in {folder}; make one with `workbench import`")
        if file.exists() and file.stat().st_size:
            with file.open("rb") as opened:
                head = opened.read(16)
            if head != b"SQLite format 3\0":
                raise StoreDamaged(
                    f"{file} is no SQLite file (it begins with {head[:8]!r}): restore a backup, or give another folder"
                )
        if not readonly:
            probe = folder / f".probe-{uuid.uuid4().hex}"
            probe.touch()
            probe.unlink()
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise StoreReadOnly(f"cannot write in {folder}: {error.strerror}; give another folder with --store") from error
    except OSError as error:
        raise _of_os(error, folder) from error


def _of_os(error: OSError, folder: Path) -> StoreError:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"no space left at {folder}; what was written before is safe: free some, then try again")
    if error.errno == errno.EROFS:
        return StoreReadOnly(f"{folder} is on a read-only file system; give another folder with --store")
    return StoreError(f"cannot use {folder}: {error}")


@contextmanager
def _translated(file: Path) -> Iterator[None]:
    """SQLite's own words become an error that says what to do."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise _of_sqlite(str(getattr(error, "orig", error)), file) from error


def _of_sqlite(said: str, file: Path) -> StoreError:
    low = said.lower()
    if "full" in low:
        return StoreFull(f"the disk is full; what was committed before is safe in {file}: free some space, then try again")
    if "readonly" in low or "unable to open" in low:
        return StoreReadOnly(f"{file} cannot be written ({said}): check its permissions, or give another folder")
    if "locked" in low or "busy" in low:
        return StoreLocked(f"another process holds the write lock of {file} for more than {BUSY_MS / 1000:g} s; try again")
    if "malformed" in low or "not a database" in low or "corrupt" in low or "disk i/o" in low:
        return StoreDamaged(f"{file} is damaged ({said}): run `workbench verify`, restore a backup from its backups folder")
    return StoreError(f"{file}: {said}")
