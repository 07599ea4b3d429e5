"""DuckDB over the log: `events.duckdb` follows the truth, and every analytical question is asked of a copy of it.

DuckDB lets no second process open a file that one holds for writing, so nobody keeps it open: `drain` opens,
appends what is missing and closes; a reader loads the file once into memory and from then on follows SQLite.
What is there says what is missing (`max(seq)`, `max(rev)`), so nothing comes twice, whatever died in between.

Not the truth: a file that is damaged, of another schema, or older than a deletion is dropped and made anew.
"""

# ruff: noqa: S608 # names in SQL are constants of this file and of views.py; values are bound

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from memory.errors import BadQuery, StoreLocked
from memory.show import Shown, table, text
from memory.stores import views
from memory.stores.files import LOG_FILE, derived_lock, drop_log, first_line
from memory.stores.tables import generation_of
from memory.stores.views import ABOUT, VIEWS

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from sqlalchemy import Connection

    from memory.stores.sql import Store

__all__ = ["ABOUT", "VIEWS", "Drained", "Log", "Result", "compare", "drain"]

logger = logging.getLogger(__name__)

BATCH = 50_000  # events read from SQLite at once
READING_WAIT_S = 30.0  # for whoever writes the file meanwhile
ALLOWED = "SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE, SHOW and EXPLAIN"

STREAMS = {"id": pa.int32(), "user": pa.string(), "conversation": pa.string(), "run": pa.string(),
           "parent": pa.int32(), "parent_version": pa.int32()}  # fmt: skip
EVENTS = {"seq": pa.int64(), "stream": pa.int32(), "version": pa.int32(), "step": pa.int32(), "turn": pa.int32(),
          "kind": pa.string(), "happened_at": pa.timestamp("us", "UTC"), "body": pa.string()}  # fmt: skip
WORDS = {"rev": pa.int64(), "id": pa.int64(), "content": pa.string()}
READ_STREAMS = 'SELECT id, "user", conversation, run, parent, parent_version FROM stream WHERE id > ? ORDER BY id'
READ_EVENTS = "SELECT seq, stream, version, step, turn, kind, at_us, body FROM event WHERE seq > ? ORDER BY seq LIMIT ?"
READ_WORDS = "SELECT rev, id, content FROM text WHERE rev > ? ORDER BY rev LIMIT ?"


@dataclass(frozen=True, slots=True)
class Drained:
    """What a drain did. `rebuilt`: why the file was made anew; `skipped`: why nothing was done."""

    events: int = 0
    words: int = 0
    rebuilt: str = ""
    skipped: str = ""


@dataclass(frozen=True)
class Result(Shown):
    """The answer to one query."""

    columns: tuple[str, ...]
    types: tuple[str, ...]  # DuckDB's
    rows: list[tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_df(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(self.columns))

    def __repr__(self) -> str:
        return f"<Result: {len(self.rows):,} rows of {', '.join(self.columns)}>"

    def _html(self) -> str:
        rows = [["" if cell is None else cell for cell in row] for row in self.rows[:100]]
        return f"<small>{text(f'{len(self.rows):,} rows')}</small>{table(self.columns, rows)}"


class _Outdated(Exception):
    """The file is of another schema, another generation, or another store."""


# ── following the truth ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Marks:
    """How far a copy has come."""

    seq: int = 0
    rev: int = 0
    stream: int = 0


@dataclass(frozen=True, slots=True)
class _Batch:
    streams: pa.Table
    words: pa.Table
    events: pa.Table

    def __bool__(self) -> bool:
        return bool(self.streams.num_rows or self.words.num_rows or self.events.num_rows)


def _read(truth: Connection, sql: str, params: Sequence[Any], columns: Mapping[str, pa.DataType]) -> pa.Table:
    """Rows of SQLite as Arrow columns."""
    rows = truth.exec_driver_sql(sql, tuple(params)).cursor.fetchall()
    values: Iterable[Sequence[Any]] = zip(*rows, strict=True) if rows else [()] * len(columns)
    arrays = [pa.array(column, kind) for column, kind in zip(values, columns.values(), strict=True)]
    return pa.table(arrays, names=list(columns))


def _missing(store: Store, generation: int, marks: _Marks) -> _Batch:
    """The next rows that a copy lacks, all of one moment: no record comes before its words."""
    with store.read() as truth:
        if generation_of(truth) != generation:
            raise _Outdated("words were taken away")
        words = _read(truth, READ_WORDS, [marks.rev, BATCH], WORDS)
        return _Batch(
            _read(truth, READ_STREAMS, [marks.stream], STREAMS),
            words,
            _read(truth, READ_EVENTS, [marks.seq, 0 if words.num_rows == BATCH else BATCH], EVENTS),
        )


def _marks(db: duckdb.DuckDBPyConnection) -> _Marks:
    return _Marks(*(_one(db, f"SELECT coalesce(max({column}), 0) FROM raw.{name}")
                    for name, column in (("event", "seq"), ("word", "rev"), ("stream", "id"))))  # fmt: skip


def _one(db: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = db.execute(sql).fetchone()
    return int(row[0]) if row and row[0] is not None else 0


def _create(db: duckdb.DuckDBPyConnection, generation: int) -> None:
    db.execute(views.CREATE_TABLES)
    db.execute("INSERT INTO raw.about VALUES (?, ?)", [views.SCHEMA, generation])


def _append(db: duckdb.DuckDBPyConnection, batch: _Batch) -> None:
    """One transaction: the rows, and what is taken from them."""
    db.execute("BEGIN")
    try:
        for name, rows in (("stream", batch.streams), ("word", batch.words), ("event", batch.events)):
            if rows.num_rows:
                db.register("batch", rows)
                db.execute(f"INSERT INTO raw.{name} BY NAME FROM batch")
        if batch.events.num_rows:
            _take_apart(db, set(batch.events["kind"].to_pylist()))
            db.execute(views.ADD_STEP_PARTS, {"first": batch.events["seq"][0].as_py()})
        db.execute("COMMIT")
    except duckdb.Error:
        db.execute("ROLLBACK")
        raise
    finally:
        db.unregister("batch")


def _take_apart(db: duckdb.DuckDBPyConnection, kinds: set[str]) -> None:
    """`batch`, the new events, into the narrow tables."""
    branches = _branches(db) if "ConversationBranched" in kinds else []
    for taken in views.TAKEN:
        if kinds.intersection(taken.kinds):
            db.execute(taken.insert)
        if taken in views.HANDED_DOWN:
            for branch in branches:
                db.execute(views.inherit(taken.table), branch)


def _branches(db: duckdb.DuckDBPyConnection) -> list[dict[str, int]]:
    """Branches that begin in `batch`, each after the one that it continues."""
    found = db.execute(
        "SELECT id, parent, parent_version FROM raw.stream WHERE parent IS NOT NULL AND id IN "
        "(SELECT stream FROM batch WHERE kind = 'ConversationBranched') ORDER BY id"
    ).fetchall()
    return [{"child": child, "parent": parent, "version": version} for child, parent, version in found]


def _follow(db: duckdb.DuckDBPyConnection, store: Store, generation: int, marks: _Marks) -> tuple[_Marks, int, int]:
    """Append everything that is missing. Returns how far it is now, and the events and words that came."""
    events = words = 0
    while batch := _missing(store, generation, marks):
        _append(db, batch)
        events, words = events + batch.events.num_rows, words + batch.words.num_rows
        marks = _Marks(
            _last(batch.events["seq"], marks.seq),
            _last(batch.words["rev"], marks.rev),
            _last(batch.streams["id"], marks.stream),
        )
    return marks, events, words


def _last(column: pa.ChunkedArray, otherwise: int) -> int:
    return int(column[-1].as_py()) if len(column) else otherwise


def _check_same(db: duckdb.DuckDBPyConnection, store: Store, prefix: str = "") -> int:
    """The generation of a copy that follows this very truth; raises _Outdated if it does not."""
    about = db.execute(f"SELECT schema_number, generation FROM {prefix}raw.about").fetchone()
    if about is None or about[0] != views.SCHEMA:
        raise _Outdated("it is of another schema")
    last = db.execute(
        f"SELECT seq, stream, version, kind, epoch_us(happened_at) FROM {prefix}raw.event "
        f"WHERE seq = (SELECT max(seq) FROM {prefix}raw.event)"
    ).fetchone()
    with store.read() as truth:
        if generation_of(truth) != about[1]:
            raise _Outdated("words were taken away")
        if last is not None:
            same = truth.exec_driver_sql(
                "SELECT seq, stream, version, kind, at_us FROM event WHERE seq = ?", (last[0],)
            ).first()
            if same is None or tuple(same) != last:
                raise _Outdated("the truth beside it is another one")
    return int(about[1])


# ── the file ──────────────────────────────────────────────────────────────────────────────────────────


def drain(store: Store) -> Drained:
    """Append to `events.duckdb` what it lacks. Only under the lock (sync.py). Raises nothing of DuckDB's."""
    try:
        return _drain(store)
    except _Outdated as outdated:
        why = str(outdated)
    except duckdb.Error as error:
        if _is_taken(error):
            return Drained(skipped="another program or thread has it open")
        why = f"it cannot be used ({first_line(error)})"
    return _anew(store, why)


def _anew(store: Store, why: str) -> Drained:
    logger.warning("%s is made anew: %s", store.path / LOG_FILE, why)
    drop_log(store.path)
    try:
        done = _drain(store)
    except (_Outdated, duckdb.Error) as error:  # a full disk, or a deletion meanwhile: the next drain tries again
        logger.warning("%s could not be made: %s", store.path / LOG_FILE, first_line(error))
        drop_log(store.path)
        return Drained(rebuilt=why, skipped=first_line(error))
    return Drained(done.events, done.words, rebuilt=why)


def _drain(store: Store) -> Drained:
    file = store.path / LOG_FILE
    new = not file.exists()
    with closing(_connect(file)) as db:
        if new:
            db.execute("BEGIN")
            _create(db, store.generation())
            db.execute("COMMIT")
        generation = _check_same(db, store)
        _, events, words = _follow(db, store, generation, _marks(db))
    return Drained(events, words)


def _is_taken(error: duckdb.Error) -> bool:
    """By another program, or by another thread of this one that only reads it: no damage either way."""
    return any(said in str(error) for said in ("lock on file", "different configuration"))


@contextmanager
def _opened(store: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    """The file for reading, while nobody writes it: within one process, too, DuckDB opens a file in one way at a time.

    Raises StoreLocked where another one is at it for longer than `READING_WAIT_S`.
    """
    with derived_lock(store.path, READING_WAIT_S) as ours:
        if not ours and os.access(store.path, os.W_OK):
            raise StoreLocked(f"another process writes {LOG_FILE} for more than {READING_WAIT_S:g} s; try again")
        with closing(_connect(store.path / LOG_FILE, read_only=True)) as db:
            yield db


def compare(store: Store) -> tuple[int, int, list[str]]:
    """Events and words in `events.duckdb`, and where they differ from the truth. Being behind is no fault."""
    if not (store.path / LOG_FILE).exists():
        return 0, 0, []
    try:
        with _opened(store) as db:
            _check_same(db, store)
            marks = _marks(db)
            faults = [
                *_differences(db, store, "event", "seq", "kind, body", marks.seq),
                *_differences(db, store, "word", "rev", "id, content", marks.rev),
                *_untaken(db),
            ]
            return _one(db, "SELECT count(*) FROM raw.event"), _one(db, "SELECT count(*) FROM raw.word"), faults
    except (_Outdated, duckdb.Error) as error:
        return 0, 0, [f"{LOG_FILE}: {first_line(error)}; run `workbench rebuild`"]


def texts(store: Store) -> Iterator[tuple[str, int, str]]:
    """Every text in `events.duckdb`, cell by cell: table, stream or id of the words (`word`), text."""
    if not (store.path / LOG_FILE).exists():
        return
    with _opened(store) as db:
        for (name,) in db.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw'").fetchall():
            whole = db.cursor().execute(f"SELECT * FROM raw.{name}")
            key = next((i for i, c in enumerate(whole.description or ()) if c[0] in ("stream", "id")), -1)
            while lines := whole.fetchmany(BATCH):
                for line in lines:
                    yield from ((name, line[key] if key >= 0 else 0, str(c)) for c in line if isinstance(c, str | list))


def _differences(
    db: duckdb.DuckDBPyConnection, store: Store, name: str, key: str, columns: str, upto: int
) -> list[str]:
    """Both sides in the order of `key`, digested; where the digests differ, the first row that does."""
    ours = db.cursor().execute(f"SELECT {key}, {columns} FROM raw.{name} ORDER BY {key}")
    table_name = "text" if name == "word" else name
    with store.read() as truth:
        theirs = truth.exec_driver_sql(
            f"SELECT {key}, {columns} FROM {table_name} WHERE {key} <= ? ORDER BY {key}",
            (upto,),
        ).cursor
        assert theirs is not None  # a SELECT has rows
        while True:
            left, right = ours.fetchmany(BATCH), theirs.fetchmany(BATCH)
            if left != right:
                at = next(i for i in range(BATCH) if left[i : i + 1] != right[i : i + 1])
                where = (left[at : at + 1] or right[at : at + 1])[0][0]
                return [f"{LOG_FILE}: {name} {where} differs from the truth; run `workbench rebuild`"]
            if not left:
                return []


def _untaken(db: duckdb.DuckDBPyConnection) -> list[str]:
    """Tables that hold more or fewer rows than there are records of their kinds, and sums that are not theirs."""
    faults = []
    for taken in views.TAKEN:
        if taken.each:
            continue
        kinds = ", ".join(f"'{kind}'" for kind in taken.kinds)
        records = _one(db, f"SELECT count(*) FROM raw.event WHERE kind IN ({kinds})")
        rows = _one(db, f"SELECT count(*) FROM raw.{taken.table} WHERE NOT inherited")
        if rows != records:
            faults.append(f"{LOG_FILE}: {rows} rows in {taken.table} of {records} records; run `workbench rebuild`")
    for summed, table_name in views.SUMMED.items():
        told = _one(db, f"SELECT sum({summed}) FROM raw.step_part")
        rows = _one(db, f"SELECT count(*) FROM raw.{table_name}")
        if told != rows:
            faults.append(f"{LOG_FILE}: {told} {summed} in the sums of steps, {rows} in all; run `workbench rebuild`")
    return faults


# ── the reader ────────────────────────────────────────────────────────────────────────────────────────


class Log:
    """The log of a store in memory, as the views of `VIEWS`; each query first takes up what is new.

    Safe to share between threads. `wait_s`: how long to wait for another process that writes the file; without
    it, everything is read from SQLite, which is slower once and no less true.
    """

    def __init__(self, store: Store, wait_s: float = 5.0) -> None:
        self.store = store
        self._wait_s = wait_s
        self._lock = threading.RLock()
        self._db: duckdb.DuckDBPyConnection | None = None
        self._marks = _Marks()
        self._generation = 0
        self._hollow = 0  # up to this seq the records have no body yet

    @property
    def seq(self) -> int:
        """The last event that it holds."""
        return self._marks.seq

    def refresh(self) -> int:
        """Take up what was committed since. Returns the last seq."""
        with self._lock:
            self._refreshed()
            return self.seq

    def query(self, sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> Result:
        """Ask about everything committed so far. Raises BadQuery."""
        values = params if isinstance(params, Mapping) else list(params)
        with self._lock:
            cursor = self._refreshed().cursor()
        with closing(cursor), _told():
            if _allowed(cursor, sql) is duckdb.StatementType.SELECT:
                self._fill(cursor, sql, values)
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            cursor.execute(sql, values)
            head = cursor.description or []
            return Result(tuple(c[0] for c in head), tuple(str(c[1]) for c in head), cursor.fetchall())

    def parquet(self, sql: str, params: Sequence[Any], to: Path, words: Callable[[str], str]) -> int:
        """Write the answer to a query as a Parquet file, every text in it through `words`. Returns the rows.

        Raises BadQuery.
        """
        found = self.query(sql, params)
        columns = [[_worded(cell, words) for cell in column] for column in zip(*found.rows, strict=True)]
        with self._lock:
            cursor = self._refreshed().cursor()
        with closing(cursor), _told():
            empty = cursor.sql(f"SELECT * FROM ({sql}) LIMIT 0", params=list(params)).to_arrow_table().schema
        arrays = [pa.array(c, kind) for c, kind in zip(columns or [[]] * len(empty), empty.types, strict=True)]
        quoted = str(to).replace("'", "''")
        with closing(_in_memory()) as db, _told():
            db.register("found", pa.table(arrays, schema=empty))
            db.execute(f"COPY found TO '{quoted}' (FORMAT parquet, COMPRESSION zstd)")
        return len(found)

    def close(self) -> None:
        """A query that runs meanwhile, in another thread, ends well: the database lives as long as its last cursor."""
        with self._lock:
            self._db, self._marks = None, _Marks()  # closed by hand, it would refuse while one of its cursors works

    def _refreshed(self) -> duckdb.DuckDBPyConnection:
        try:
            return self._followed()
        except _Outdated:  # a deletion: what we hold is void
            self.close()
            return self._followed()

    def _followed(self) -> duckdb.DuckDBPyConnection:
        db = self._db if self._db is not None else self._load()
        self._marks, _, _ = _follow(db, self.store, self._generation, self._marks)
        return db

    def _load(self) -> duckdb.DuckDBPyConnection:
        if self.store.readonly:
            db = self._copy_or_begin()
        else:
            with derived_lock(self.store.path, self._wait_s) as ours:
                db = self._copy_of_drained() if ours else self._copy_or_begin()
        db.execute(views.CREATE_VIEWS)
        db.execute("SET enable_external_access = false")
        db.execute("SET lock_configuration = true")
        self._db, self._marks = db, _marks(db)
        return db

    def _copy_of_drained(self) -> duckdb.DuckDBPyConnection:
        drain(self.store)
        try:
            return self._copy()
        except duckdb.Error as error:  # damage in a part that the drain did not touch
            if not _is_taken(error):
                _anew(self.store, f"it cannot be read ({first_line(error)})")
        except _Outdated:
            pass  # a deletion right now
        return self._copy_or_begin()

    def _copy_or_begin(self) -> duckdb.DuckDBPyConnection:
        """A copy of the file; an empty one to be filled from SQLite where the file cannot be had."""
        try:
            return self._copy()
        except (_Outdated, duckdb.Error) as error:
            logger.info("the log is read from SQLite, for %s: %s", LOG_FILE, first_line(error))
        db = _in_memory()
        self._hollow, self._generation = 0, self.store.generation()
        _create(db, self._generation)
        return db

    def _fill(self, cursor: duckdb.DuckDBPyConnection, sql: str, values: Any) -> None:
        """The bodies of records, most of what the log weighs, are loaded when a query first reads them."""
        if not self._hollow or "events" not in sql.lower():
            return
        plan = cursor.execute(f"EXPLAIN (FORMAT json) {sql}", values).fetchall()
        if "body" not in str(plan):
            return
        with self._lock:
            if self._hollow and self._db is not None:
                _fill_bodies(self._db, self.store, self._hollow)
                self._hollow = 0

    def _copy(self) -> duckdb.DuckDBPyConnection:
        file = self.store.path / LOG_FILE
        if not file.exists():
            raise _Outdated("there is none")
        db = _in_memory()
        quoted = str(file).replace("'", "''")
        db.execute(f"ATTACH '{quoted}' AS file (READ_ONLY)")
        self._generation = _check_same(db, self.store, "file.")
        db.execute(views.CREATE_TABLES)
        for name in views.TABLES:
            columns = "* REPLACE (NULL AS body)" if name == "event" else "*"
            db.execute(f"INSERT INTO raw.{name} SELECT {columns} FROM file.raw.{name}")
        db.execute("DETACH file")
        self._hollow = _marks(db).seq
        return db


def _worded(cell: Any, words: Callable[[str], str]) -> Any:
    """A cell with every text in it, also within lists and records, as `words` gives it."""
    if isinstance(cell, str):
        return words(cell)
    if isinstance(cell, list | tuple):
        return [_worded(each, words) for each in cell]
    return {key: _worded(each, words) for key, each in cell.items()} if isinstance(cell, dict) else cell


def _in_memory() -> duckdb.DuckDBPyConnection:
    # Without replacements a name in SQL is a view, never a variable of the Python program around it.
    return _connect(":memory:", config={"python_enable_replacements": "false", "temp_directory": ""})


def _connect(place: str | Path, **options: Any) -> duckdb.DuckDBPyConnection:
    db = duckdb.connect(str(place), **options)
    db.execute("SET GLOBAL TimeZone = 'UTC'")  # of its cursors as well: days are cut by it, and times shown
    db.execute("SET enable_progress_bar = false")  # notebooks and `python -c` would have one amid their own output
    return db


def _fill_bodies(db: duckdb.DuckDBPyConnection, store: Store, upto: int) -> None:
    """The records up to this seq again, whole."""
    db.execute("CREATE OR REPLACE TABLE raw.filled AS FROM raw.event LIMIT 0")
    for rows in _whole_events(store, upto):
        db.register("rows", rows)
        db.execute("INSERT INTO raw.filled BY NAME FROM rows")
        db.unregister("rows")
    db.execute("INSERT INTO raw.filled FROM raw.event WHERE seq > ?", [upto])
    db.execute("BEGIN; DROP TABLE raw.event; ALTER TABLE raw.filled RENAME TO event; COMMIT")


def _whole_events(store: Store, upto: int) -> Iterator[pa.Table]:
    """From the file, which is several times faster; from SQLite where it cannot be had."""
    file, after = store.path / LOG_FILE, 0
    try:
        with closing(_connect(file, read_only=True)) as source:
            whole = source.sql("SELECT * FROM raw.event WHERE seq <= $upto ORDER BY seq", params={"upto": upto})
            for part in whole.to_arrow_reader(BATCH):
                yield pa.Table.from_batches([part])
                after = part["seq"][-1].as_py()
    except duckdb.Error as error:
        logger.info("records are read from SQLite, for %s: %s", file, first_line(error))
    while after < upto:
        with store.read() as truth:
            rows = _read(truth, READ_EVENTS, [after, min(BATCH, upto - after)], EVENTS)
        after = _last(rows["seq"], upto)
        yield rows.filter([seq <= upto for seq in rows["seq"].to_pylist()])


def _allowed(cursor: duckdb.DuckDBPyConnection, sql: str) -> duckdb.StatementType:
    """One statement, and one that only reads. What hides behind it meets a read-only transaction."""
    statements = cursor.extract_statements(sql)
    if len(statements) != 1:
        raise BadQuery(f"give one statement at a time, not {len(statements)}")
    kind = statements[0].type
    if kind not in {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}:
        raise BadQuery(f"{kind.name} is not allowed here; the log is read-only: use {ALLOWED}")
    return kind


@contextmanager
def _told() -> Iterator[None]:
    """DuckDB's errors, with what there is where a name was not found."""
    try:
        yield
    except duckdb.CatalogException as error:
        raise BadQuery(f"{error}\nThe views are: {', '.join(VIEWS)}.") from error
    except duckdb.TransactionException as error:
        raise BadQuery(f"the log is read-only: use {ALLOWED} ({first_line(error)})") from error
    except duckdb.Error as error:
        raise BadQuery(str(error)) from error
