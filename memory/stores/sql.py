"""The truth: one SQLite file in WAL mode with the log of events, the words, and what is folded from them.

Any number of processes may read; one writes at a time, so the order of `seq` is the order of commits. Every
read and write names a user. Nothing else in the program writes these tables.

Not a cache and not analytical: charts and `workbench sql` ask DuckDB (log.py), which follows this file.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property, reduce
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection, func, insert, select, text
from sqlalchemy import Engine as SqlEngine

from memory.errors import (
    ConversationBusy,
    EngineError,
    NotFound,
    StaleAppend,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreTooNew,
)
from memory.events import Body, ConversationBranched, Event, GuestLeft, StepAbandoned, encode
from memory.fact_events import TurnRemembered
from memory.journal import Clock, utc_now
from memory.knowledge import Knowledge
from memory.redaction import Redact
from memory.scope import LIVE, OWN, RECORDED, Scope, is_fork
from memory.state import State, apply
from memory.stores import care, embedded, lines, migrations
from memory.stores.files import (
    BACKUPS,
    FILE,
    WRITES,
    check_place,
    connect,
    default_path,
    refuse_network,
    translated,
    uri_of,
)
from memory.stores.folds import CONVERSATION, Fold, fold_for
from memory.stores.journal import SqlJournal
from memory.stores.lease import is_held, leased
from memory.stores.own_patterns import redactor_of
from memory.stores.tables import (
    EVENT,
    META,
    MIGRATION,
    SNAPSHOT,
    STREAM,
    TEXT,
    Stream,
    event_of,
    from_us,
    generation_of,
    stream_of,
    to_us,
)

if TYPE_CHECKING:
    from memory.stores.log import Log, Result

__all__ = ["SqlJournal", "Store", "Stream", "Watcher", "default_path", "from_us", "main_of", "to_us"]

KNOWN = 4  # users whose knowledge is kept at hand
# All ids as one value: thousands of parameters take longer than the words. `+`: by their ids, not by the conversation.
WORDS = text(
    "SELECT id, content FROM text WHERE id IN (SELECT value FROM json_each(:ids))"
    " AND +user = :user AND +conversation IN (:conversation, :own)"
)
EVENT_COLUMNS = [EVENT.c[name] for name in ("seq", "version", "step", "at_us", "kind", "kind_version", "body")]


class Store:
    """A folder with the truth and what is derived from it.

    >>> store = Store.open("store")            # doctest: +SKIP
    >>> store.streams(user="ana")              # doctest: +SKIP
    >>> store.sql("SELECT count(*) FROM turns")     # doctest: +SKIP
    """

    def __init__(self, path: Path, engine: SqlEngine, *, readonly: bool, clock: Clock) -> None:
        self.path = path
        self.readonly = readonly
        self.clock = clock
        self._engine = engine
        self._log: Log | None = None
        self._lock = threading.Lock()
        self._mine = threading.local()  # `kept`: this thread's open connection; `joined`: its open transaction
        self._watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()
        self._known: dict[tuple[str, int], Knowledge] = {}  # by user and generation: thousands of facts take a while

    # ── open and close ────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(cls, path: str | Path | None = None, *, readonly: bool = False, clock: Clock = utc_now) -> Store:
        """Open the store in this folder, made if it is not there. Closes steps that a crash left open.

        Raises StoreOnNetwork, StoreReadOnly, StoreDamaged, StoreTooNew; the folder is then as it was.
        """
        folder = Path(path).expanduser().resolve() if path else default_path()
        refuse_network(folder)
        file = folder / FILE
        check_place(file, readonly=readonly)
        with translated(file):
            found = _schema(file)
        if readonly and found < len(migrations.MIGRATIONS):
            raise StoreReadOnly(
                f"{folder} has schema {found} and needs {len(migrations.MIGRATIONS)}: open it writable once"
            )
        store = cls(folder, connect(file, readonly=readonly), readonly=readonly, clock=clock)
        try:
            if not readonly:
                store._bring_up_to_date(found)
                store._clean_up()
        except EngineError:
            store.close()
            raise
        return store

    def close(self) -> None:
        for watcher in list(self._watchers):
            watcher.close()
        if self._log is not None:
            self._log.close()
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {str(self.path)!r}: {len(self.streams())} conversation runs, {self.last_seq()} events>"

    @property
    def file(self) -> Path:
        return self.path / FILE

    @cached_property
    def redactor(self) -> Redact:
        """What takes secrets out of every text before it is kept: known ones, and those of `redaction.txt`."""
        return redactor_of(self.path)

    def _bring_up_to_date(self, found: int) -> None:
        if found == len(migrations.MIGRATIONS):
            return
        if found:
            known, now = len(migrations.MIGRATIONS), self.clock().strftime("%Y%m%dT%H%M%S%f")
            self.backup(self.path / BACKUPS / f"before-schema-{known}-{now}.sqlite")
        with self.write() as connection:  # another process may have been faster: what it applied is not pending
            MIGRATION.create(connection, checkfirst=True)
            migrations.apply_all(connection, to_us(self.clock()))

    def _clean_up(self) -> None:
        """What a crash left: steps cut off in the middle, deleted words not wiped yet."""
        for stream in self.streams():
            if stream.open_step and not is_held(self, stream.id):
                self._abandon(SqlJournal(self, stream))
        with self.read() as connection:
            wipe = connection.scalar(select(META.c.value).where(META.c.key == care.WIPE))
        if wipe:
            with suppress(StoreFull, StoreLocked):  # at the next opening, then
                care.wipe(self.file)
        with suppress(StoreError):  # whoever asks for vectors next meets the same, and tells it
            embedded.prune(self)

    def _abandon(self, journal: SqlJournal) -> None:
        """A step that nobody holds a lease on was cut by a crash: say so in the log."""
        try:
            with leased(journal, wait_s=0):
                state = journal.load()
                if not state.open_step:
                    return
                bodies: list[Body] = [GuestLeft(p.number, used=False) for p in state.guests]
                bodies.append(StepAbandoned("the program ended in the middle of the step"))
                after = state
                for body in bodies:
                    after = apply(after, Event(0, after.version + 1, state.step, self.clock(), body))
                journal.commit(bodies, state.step, after)
        except (ConversationBusy, StaleAppend, NotFound):
            pass  # another process takes care of it
        except (StoreFull, StoreLocked):
            pass  # whoever steps this conversation next closes it first; until then it can be read

    # ── transactions ──────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction: everything read in it is of one moment."""
        if joined := getattr(self._mine, "joined", None):
            yield joined
            return
        with translated(self.file), self._connection() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """One transaction that holds the write lock from its begin.

        Not `durable`: it survives the end of the process, and the next durable one carries it to the disk.
        """
        if self.readonly:
            raise StoreReadOnly(f"{self.path} was opened read-only")
        if joined := getattr(self._mine, "joined", None):
            yield joined
            return
        with translated(self.file), self._connection() as connection:
            connection.info[WRITES] = durable
            try:
                with connection.begin():
                    yield connection
            finally:
                del connection.info[WRITES]

    @contextmanager
    def alone(self, *, durable: bool = True) -> Iterator[None]:
        """One transaction for all that this thread reads and writes meanwhile; nobody else writes until it ends.

        For whoever lost the race to others too often: what is decided in it cannot be stale. All of it or nothing.
        """
        with self.write(durable=durable) as connection:
            self._mine.joined = connection
            try:
                yield
            finally:
                self._mine.joined = None

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """This thread's transactions meanwhile share one connection: taking one each time cost a tenth of a step."""
        if getattr(self._mine, "kept", None) is not None:
            yield
            return
        with translated(self.file), self._engine.connect() as connection:
            self._mine.kept = connection
            try:
                yield
            finally:
                self._mine.kept = None

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        kept = getattr(self._mine, "kept", None)
        if kept is not None and not kept.in_transaction():
            yield kept
            return
        with self._engine.connect() as connection:
            yield connection

    # ── streams ───────────────────────────────────────────────────────────────────────────────────────

    def streams(self, user: str | None = None, conversation: str | None = None, *, own: bool = False) -> list[Stream]:
        """Heads of conversations, the newest first; of one user or, for whoever runs the store, of all.

        With `own` also the streams of what is remembered about users.
        """
        query = select(STREAM).order_by(STREAM.c.last_us.desc(), STREAM.c.id.desc())
        if user is not None:
            query = query.where(STREAM.c.user == user)
        if conversation is not None:
            query = query.where(STREAM.c.conversation == conversation)
        if not own:
            query = query.where(STREAM.c.conversation != OWN)
        with self.read() as connection:
            return [stream_of(row) for row in connection.execute(query)]

    def stream(self, scope: Scope) -> Stream | None:
        query = select(STREAM).where(
            STREAM.c.user == scope.user, STREAM.c.conversation == scope.conversation, STREAM.c.run == scope.run
        )
        with self.read() as connection:
            row = connection.execute(query).first()
        return None if row is None else stream_of(row)

    def require(self, scope: Scope) -> Stream:
        found = self.stream(scope)
        if found is None:
            known = sorted({s.scope.conversation for s in self.streams(scope.user)})
            runs = sorted(s.scope.run for s in self.streams(scope.user, scope.conversation))
            hint = f"its runs are {', '.join(runs)}" if runs else f"known: {', '.join(known[:12]) or 'none'}"
            what = f"run {scope.run!r} of conversation {scope.conversation!r} of user {scope.user!r}"
            raise NotFound(f"no {what}; {hint}")
        return found

    def main_run(self, user: str, conversation: str) -> Scope:
        """The run that a page shows unasked: the live one, else the newest replay, else the recording."""
        runs = self.streams(user, conversation)
        if not runs:
            raise NotFound(f"no conversation {conversation!r} of user {user!r} in {self.path}")
        return main_of(runs).scope

    def open_stream(
        self, scope: Scope, parent: Stream | None = None, cause: str = "", after: int | None = None
    ) -> SqlJournal:
        """The journal of this run, begun if it is new; a new one with a `parent` continues that.

        It leaves the parent `after` this version of it, at its end without one.
        """
        if self.stream(scope) is None:
            self._begin(scope, parent, cause, after)
        return SqlJournal(self, self.require(scope))

    def _begin(self, scope: Scope, parent: Stream | None, cause: str, after_version: int | None) -> None:
        """The run and, for a branch, its first record: both or none; nothing where another process was faster."""
        now = to_us(self.clock())
        row: dict[str, Any] = {
            "user": scope.user,
            "conversation": scope.conversation,
            "run": scope.run,
            "parent": None,
            "parent_version": 0,
            "started_us": now,
            "last_us": now,
            **fold_for(scope).head(fold_for(scope).empty()),
        }
        if parent is None:
            with self.write() as connection:
                connection.execute(insert(STREAM).prefix_with("OR IGNORE"), [row])
            return
        if (parent.scope.user, parent.scope.conversation) != (scope.user, scope.conversation):
            raise StoreError(f"{scope} cannot continue {parent.scope}: a branch stays within its conversation")
        before = self.fold_of(parent, after_version)
        branched = ConversationBranched(str(parent.scope), before.version, cause)
        after = apply(before, Event(0, before.version + 1, before.step, self.clock(), branched))
        row |= {"parent": parent.id, "parent_version": before.version, **CONVERSATION.head(after)}
        first = {"version": after.version, "user": scope.user, "conversation": scope.conversation,
                 "step": before.step, "turn": None, "kind": branched.kind, "kind_version": branched.version,
                 "at_us": now, "body": encode(branched)}  # fmt: skip
        with self.write() as connection:
            begun = connection.execute(insert(STREAM).prefix_with("OR IGNORE").values(row))
            if begun.rowcount:
                connection.execute(insert(EVENT), [{**first, "stream": begun.lastrowid}])

    def journal(self, scope: Scope) -> SqlJournal:
        return SqlJournal(self, self.require(scope))

    # ── reading the log ───────────────────────────────────────────────────────────────────────────────

    def events(
        self, scope: Scope, *, after: int = 0, upto: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Event]:
        """Events of a run in order, those of the run it branched from included; versions in (after, upto]."""
        return self.events_of(self.require(scope), after, upto, kinds)

    def events_of(
        self, stream: Stream, after: int = 0, upto: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Event]:
        inherited: list[Event] = []
        if stream.parent is not None and after < stream.parent_version:
            limit = stream.parent_version if upto is None else min(upto, stream.parent_version)
            inherited = self.events_of(self._by_id(stream.parent), after, limit, kinds)
        query = select(*EVENT_COLUMNS).where(EVENT.c.stream == stream.id, EVENT.c.version > after)
        if upto is not None:
            query = query.where(EVENT.c.version <= upto)
        if kinds:
            query = query.where(EVENT.c.kind.in_(kinds))
        with self.read() as connection:
            rows = connection.execute(query.order_by(EVENT.c.version)).all()
        return inherited + [event_of(row) for row in rows]

    def newest(self, stream: Stream, kind: str, most: int) -> list[Event]:
        """A run's own last events of one kind, the newest first."""
        query = select(*EVENT_COLUMNS).where(EVENT.c.stream == stream.id, EVENT.c.kind == kind)
        with self.read() as connection:
            rows = connection.execute(query.order_by(EVENT.c.version.desc()).limit(most)).all()
        return [event_of(row) for row in rows]

    def _by_id(self, stream: int) -> Stream:
        with self.read() as connection:
            row = connection.execute(select(STREAM).where(STREAM.c.id == stream)).first()
        if row is None:
            raise StoreDamaged(f"a branch continues stream {stream}, which is not in {self.path}")
        return stream_of(row)

    def state(self, scope: Scope, version: int | None = None) -> State:
        """The fold of a run up to and with `version`; from the nearest snapshot."""
        found: State = self.fold_of(self.require(scope), version)
        return found

    def knowledge(self, user: str, version: int | None = None) -> Knowledge:
        """What is remembered about this user, as of a version of that; an empty one if nothing ever was."""
        stream = self.stream(Scope.own(user))
        if stream is None:
            return Knowledge()
        name = (user, self.generation())  # what was erased is in no older one
        found: Knowledge = self.fold_of(stream, version, near=self._known.get(name))
        if version is None:
            others = [each for each in list(self._known.items()) if each[0] != name]
            self._known = dict([*others[1 - KNOWN :], (name, found)])
        return found

    def ledger(self, user: str, conversation: str, first: int, last: int) -> list[TurnRemembered]:
        """What was kept of turns `first` to `last` of a conversation, in the order in which they were looked at."""
        stream = self.stream(Scope.own(user))
        if stream is None:
            return []
        query = (
            select(*EVENT_COLUMNS)
            .where(EVENT.c.stream == stream.id, EVENT.c.turn >= first, EVENT.c.turn <= last)
            .order_by(EVENT.c.version)
        )
        with self.read() as connection:
            found = [event_of(row).body for row in connection.execute(query)]
        return [b for b in found if isinstance(b, TurnRemembered) and b.conversation == conversation]

    def fold_of(self, stream: Stream, version: int | None = None, near: Any = None) -> Any:
        """The same for a head at hand; `near` is a state of this run that is known already."""
        folding = fold_for(stream.scope)
        at = stream.version if version is None else version
        base = near if near is not None and near.version <= at else None
        snapshot = self._snapshot(stream, folding, at, above=base.version if base else 0)
        if snapshot is not None:
            base = snapshot
        if base is None and stream.parent is not None:
            base = self.fold_of(self._by_id(stream.parent), min(at, stream.parent_version))
        return reduce(folding.apply, self.events_of(stream, base.version if base else 0, at), base or folding.empty())

    def _snapshot(self, stream: Stream, folding: Fold, at: int, above: int = 0) -> Any:
        query = (
            select(SNAPSHOT.c.state)
            .where(SNAPSHOT.c.stream == stream.id, SNAPSHOT.c.version <= at, SNAPSHOT.c.version > above)
            .where(SNAPSHOT.c.fold_version == folding.version)
            .order_by(SNAPSHOT.c.version.desc())
            .limit(1)
        )
        with self.read() as connection:
            raw = connection.scalar(query)
        return folding.load(raw) if raw is not None else None

    def version_at(self, scope: Scope, turn: int) -> int:
        """The version at the end of the step that holds this turn."""
        return self._version_at(self.require(scope), turn)

    def _version_at(self, stream: Stream, turn: int) -> int:
        mine = EVENT.c.stream == stream.id
        with self.read() as connection:
            step = connection.scalar(select(func.max(EVENT.c.step)).where(mine, EVENT.c.turn == turn))
            if step is not None:
                return int(connection.scalar(select(func.max(EVENT.c.version)).where(mine, EVENT.c.step == step)) or 0)
        if stream.parent is not None:
            return min(stream.parent_version, self._version_at(self._by_id(stream.parent), turn))
        raise NotFound(f"no turn {turn} in {stream.scope}; turns go from 1 to {stream.turns}")

    # ── words ─────────────────────────────────────────────────────────────────────────────────────────

    def words(self, scope: Scope, ids: Sequence[int] | None = None) -> dict[int, str]:
        """Words of one user's conversation by their ids; all of them without `ids`.

        With `ids` also those of what is remembered about the user, which prompts mention.
        """
        with self.read() as connection:
            if ids is None:
                mine = (TEXT.c.user == scope.user) & (TEXT.c.conversation == scope.conversation)
                return dict(connection.execute(select(TEXT.c.id, TEXT.c.content).where(mine)).all())
            wanted = orjson.dumps([i for i in dict.fromkeys(ids) if i]).decode()
            asked = {"ids": wanted, "user": scope.user, "conversation": scope.conversation, "own": OWN}
            return dict(connection.execute(WORDS, asked).all())

    # ── what derived stores and pages follow ──────────────────────────────────────────────────────────

    def last_seq(self) -> int:
        with self.read() as connection:
            return int(connection.scalar(select(func.max(EVENT.c.seq))) or 0)

    def generation(self) -> int:
        """Grows with everything that takes words away; caches of an older generation are void."""
        with self.read() as connection:
            return generation_of(connection)

    def watcher(self) -> Watcher:
        """A cheap number that changes whenever another connection commits."""
        watcher = Watcher(self.file)
        self._watchers.add(watcher)
        return watcher

    def sql(self, query: str, params: Sequence[Any] | dict[str, Any] = ()) -> Result:
        """Ask DuckDB over the log: `store.sql("SELECT kind, count(*) FROM events GROUP BY kind").to_df()`.

        The views are listed by `workbench sql --views`. Raises BadQuery.
        """
        from memory.stores.log import Log  # loads duckdb

        with self._lock:
            log = self._log = self._log or Log(self)
        return log.query(query, params)

    # ── care ──────────────────────────────────────────────────────────────────────────────────────────

    def backup(self, to: str | Path) -> Path:
        """A consistent copy of the truth while others go on writing; what is derived can be rebuilt from it.

        Where it was written is noted, for an erase takes the words out of it as well.
        """
        made = care.backup(self.file, Path(to).expanduser().resolve())
        if not self.readonly and not made.is_relative_to(self.path):
            with self.write() as connection:
                care.note_backup(connection, made)
        return made

    def delete(self, user: str, conversation: str) -> int:
        """Take a conversation and all its runs out of the store, words and all. Returns the events removed.

        Bytes are overwritten, not just unlinked; the derived store is dropped and made anew when asked next.
        Backups keep what they hold: `copies()` names those that are where they were made.
        """
        with self.write() as connection:
            removed = care.delete_conversation(connection, user, conversation)
        mine = {"user": user, "conversation": conversation}
        lines.take_out(self.path, lambda raw, _: mine.items() <= raw.items())
        care.wipe(self.file)
        embedded.prune(self)
        return removed

    def delete_run(self, scope: Scope) -> int:
        """Take a kept replay or a fork out of the store, with the words that nothing else mentions.

        Returns the events removed; bytes are overwritten as by `delete`. Raises StoreError for the live run, for the
        recording and for a run that another one goes on from; ConversationBusy while somebody writes to it.
        """
        from memory.stores.verify import words_of

        if scope.run in (LIVE, RECORDED) or scope.is_own:
            raise StoreError(f"{scope} is no replay and no fork: `workbench delete` takes a conversation out whole")
        with self.alone():
            stream = self.require(scope)
            others = [s for s in self.streams(scope.user, scope.conversation) if s.id != stream.id]
            if children := [s.scope.run for s in others if s.parent == stream.id]:
                raise StoreError(f"{', '.join(children)} goes on from {scope.run}, which is needed for it")
            if is_held(self, stream.id):
                raise ConversationBusy(f"{scope} is being written to; wait until that is over")
            texts = {i for e in self.events_of(stream, after=stream.parent_version) for i in words_of(e.body)}
            for other in others:
                texts -= {i for e in self.events_of(other, after=other.parent_version) for i in words_of(e.body)}
            with self.write() as connection:
                removed = care.delete_run(connection, stream.id, scope.user, scope.conversation, scope.run, texts)
        care.wipe(self.file)
        embedded.prune(self)
        return removed

    def copies(self) -> list[Path]:
        """Backups of this store in its folder, and those that are where `backup` wrote them."""
        with self.read() as connection:
            return care.copies(self.path, connection)

    def lost_copies(self) -> list[Path]:
        """Backups that are not where `backup` wrote them, are a store by now, or cannot be written to."""
        with self.read() as connection:
            noted = care.noted_backups(connection)
        here = {file for file in self.copies() if os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)}
        return [file for file in noted if file not in here]

    def name_of(self, copy: Path) -> str:
        """Of a backup: its place in the store's folder, or its path."""
        return copy.relative_to(self.path).as_posix() if copy.is_relative_to(self.path) else str(copy)

    def check(self) -> list[str]:
        """Everything that contradicts itself in the truth: the file, gaps in streams, heads, missing words."""
        from memory.stores.verify import check

        return check(self)

    def rebuild_heads(self) -> int:
        """Make heads and snapshots from the log again. Returns how many streams."""
        from memory.stores.verify import rebuild_heads

        return rebuild_heads(self)


def main_of(runs: Sequence[Stream]) -> Stream:
    """Of one conversation's runs, the newest first: the live one, else the newest replay, else the recording.

    A fork is shown only where it is asked for, or where nothing else is left.
    """
    return min(runs, key=lambda s: (is_fork(s.scope.run), s.scope.run == RECORDED, s.scope.run != LIVE))


class Watcher:
    """Call it for SQLite's `data_version`: another number than before means that somebody else committed.

    Whoever looks and whoever closes the store may be two threads: a connection that is closed while a query runs on it
    takes the whole process down.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        with translated(file):
            self._connection: sqlite3.Connection | None = sqlite3.connect(
                uri_of(file, readonly=True), uri=True, check_same_thread=False
            )

    def __call__(self) -> int:
        """Raises StoreClosed once it or its store was closed."""
        with self._lock, translated(self._file):
            if self._connection is None:
                raise StoreClosed(f"{self._file.parent} was closed: nothing is watched there any more")
            return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None


def _schema(file: Path) -> int:
    """The schema number of the file, found without changing a byte of it; 0: nothing there yet."""
    if not file.exists():
        return 0
    with closing(sqlite3.connect(uri_of(file, readonly=True), uri=True)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            return 0
        if "migration" not in tables:
            raise StoreDamaged(f"{file} is an SQLite file of another program; give another folder")
        found = int(connection.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0])
    if found > len(migrations.MIGRATIONS):
        raise StoreTooNew(
            f"{file.parent} was written by a newer version (schema {found}; this one knows "
            f"{len(migrations.MIGRATIONS)}): update memory-workbench, or give another folder"
        )
    return found
