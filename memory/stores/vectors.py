"""LanceDB beside the truth: `vectors.lance` finds turns, pages, bookmarks, facts and the like by text or vector.

It follows the log by seq, a batch at a time (`feed`), and the vectors by their number in the cache (embedded.py). How
far it came stands in a small file inside the folder, written after Lance succeeded: whatever died in between, the
batch comes again and replaces itself. Every search names a user, and the filter comes before the search.

Not the truth, and not the ranker of a conversation (memory/retrieval.py): this one searches across conversations.
A folder that is damaged, of another embedder, or older than a deletion is dropped and made anew.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import lancedb
import numpy as np
import orjson
import pyarrow as pa
from lancedb.index import FTS, Bitmap, BTree

from memory.errors import BadQuery, NotFound, OtherEmbedder, StoreDamaged, StoreError, UnknownName
from memory.language import in_other_script
from memory.show import Shown, rows
from memory.stores import embedded
from memory.stores.files import CACHE_FILE, INDEX_FOLDER, INDEX_MARK, derived_lock, drop_index, first_line
from memory.stores.searchable import TABLES, Row, rows_between, rows_of
from memory.stores.tables import generation_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike
    from sqlalchemy import Connection

    from memory.stores.embedded import Embeds, Maker, Vector
    from memory.stores.sql import Store

__all__ = ["TABLES", "Fed", "Health", "compare", "feed", "is_behind", "questions_like", "search"]

logger = logging.getLogger(__name__)

SCHEMA = 2  # grows with any change of the tables: a folder of another number is made anew
BATCH = 5_000  # events, or vectors, between two marks: how long the lock is held
FRAGMENTS = 50  # files of a table, or rows that its indexes lack, before it is put in order
UNINDEXED = 5_000
OLD = timedelta(minutes=10)  # how long a reader may still be at an earlier version
AT_ONCE = 500  # values in one filter
LANCE_ERRORS = (RuntimeError, ValueError, OSError)  # lance's own words come as these

_OWN = {"id": pa.string(), "seq": pa.int64(), "user": pa.string(), "conversation": pa.string(), "run": pa.string(),
        "stream": pa.int32(), "step": pa.int32(), "happened_at": pa.timestamp("us", "UTC")}  # fmt: skip
_COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "turns": {"turn": pa.int32(), "page": pa.int32(), "part": pa.int32(), "last_turn": pa.int32(),
              "role": pa.string(), "speaker": pa.string(), "said_at": pa.timestamp("us", "UTC")},
    "pages": {"page": pa.int32(), "first_turn": pa.int32(), "last_turn": pa.int32(), "rule": pa.string(),
              "importance": pa.float64()},
    "bookmarks": {"page": pa.int32(), "keywords": pa.string(), "stub": pa.string(), "origin": pa.string(),
                  "weight": pa.float64()},
    "retrievals": {"version": pa.int32(), "asked_by": pa.string(), "strategy": pa.string(),
                   "chosen": pa.list_(pa.int32()), "considered": pa.int32(), "note": pa.string()},
    "evictions": {"version": pa.int32(), "page": pa.int32(), "policy": pa.string(), "score": pa.float64(),
                  "freed_tokens": pa.int32(), "decided_by": pa.string()},
    "facts": {"fact": pa.int32(), "layer": pa.string(), "state": pa.string(), "kind": pa.string(),
              "attribute": pa.string(), "value": pa.string(), "importance": pa.float64(), "believed": pa.bool_(),
              "version": pa.int32()},
}  # fmt: skip
WITH_VECTORS = ("turns", "bookmarks", "retrievals", "facts")  # a page is as near as the nearest exchange on it
# What tells two rows apart for a reader: a recording and its replays hold the same turns.
_SAME: dict[str, tuple[str, ...]] = {
    "turns": ("conversation", "turn"),
    "pages": ("conversation", "first_turn", "last_turn"),
    "bookmarks": ("conversation", "page", "text"),
}


@dataclass(frozen=True, slots=True)
class Fed:
    """What a feed did. `rebuilt`: why the folder was made anew; `skipped`: why nothing was done."""

    events: int = 0  # that the mark moved over
    rows: int = 0  # added or replaced
    vectors: int = 0  # that rows got later
    rebuilt: str = ""
    skipped: str = ""
    more: bool = False  # there is another batch


@dataclass(frozen=True)
class Health(Shown):
    """How many of the rows that want a vector have one."""

    embedder: str = ""  # identity; "": nothing was embedded yet
    wanted: int = 0
    there: int = 0
    other: int = 0  # of another embedder
    changed: int = 0  # of this one, and not the numbers that the cache holds

    @property
    def missing(self) -> int:
        return self.wanted - self.there - self.other - self.changed

    def __repr__(self) -> str:
        told = f", {self.other:,} of another embedder" if self.other else ""
        return f"<Health: {self.there:,} of {self.wanted:,} vectors by {self.embedder or 'nobody'}{told}>"

    def _html(self) -> str:
        counted = {"wanted": self.wanted, "there": self.there, "missing": self.missing, "other": self.other,
                   "changed": self.changed}  # fmt: skip
        return rows(self.embedder or "no embedder", counted)


@dataclass(frozen=True, slots=True)
class _Mark:
    """How far the folder came, and what it follows."""

    schema: int
    generation: int
    embedder: str  # identity; "": its tables have no vectors
    dims: int
    seq: int = 0
    last: tuple[Any, ...] = ()  # that event: stream, version, kind, when
    vectors: int = 0  # number of the last vector in the cache that was looked at


class _Outdated(Exception):
    """The folder is of another schema, generation or embedder, or of another store."""


# ── following the truth ───────────────────────────────────────────────────────────────────────────────


def is_behind(store: Store) -> bool:
    """Whether there is something to take up; costs two small queries."""
    mark = _read_mark(store.path)
    if mark is None:
        return store.last_seq() > 0
    return mark.seq < store.last_seq() or mark.vectors < embedded.last(store) or mark.generation != store.generation()


def feed(store: Store, most: int = BATCH) -> Fed:
    """Take up the next batch of events and of vectors. Only under the lock (sync.py). Raises nothing of Lance's."""
    try:
        return _feed(store, most)
    except _Outdated as outdated:
        why, level = str(outdated), logging.INFO
    except LANCE_ERRORS as error:
        if not threading.main_thread().is_alive():  # Python ends, and with it what Lance runs on
            return Fed(skipped="the program ends")
        why, level = f"it cannot be used ({first_line(error)})", logging.WARNING
    logger.log(level, "%s is made anew: %s", store.path / INDEX_FOLDER, why)
    drop_index(store.path)
    try:
        return replace(_feed(store, most), rebuilt=why)
    except (_Outdated, *LANCE_ERRORS) as error:  # a full disk, or a deletion meanwhile: the next feed tries again
        logger.warning("%s could not be made: %s", store.path / INDEX_FOLDER, first_line(error))
        drop_index(store.path)
        return Fed(rebuilt=why, skipped=first_line(error))


def _feed(store: Store, most: int) -> Fed:
    made_by = embedded.maker(store)
    mark = _read_mark(store.path)
    if mark is None:
        mark = _begin(store, made_by)
    if (mark.embedder, mark.dims) != ((made_by.identity, made_by.dims) if made_by else ("", 0)):
        raise _Outdated(f"the vectors are of {made_by.identity if made_by else 'nobody'} now")
    _check_same(store, mark)
    with store.read() as truth:
        if generation_of(truth) != mark.generation:
            raise _Outdated("words were taken away")
        seq, last, top = _target(truth, mark.seq, most)
        found = rows_between(truth, mark.seq, seq)
    index = _Index(store, made_by)
    for name in TABLES:
        index.replace(name, [row for row in found if row.table == name])
    newer = embedded.since(store, made_by, mark.vectors, most) if made_by else []
    late = index.give({name: numbers for _, name, numbers in newer})
    more = seq < top or len(newer) == most
    if not more:
        index.tidy()
    after = replace(mark, seq=seq, last=last or mark.last, vectors=newer[-1][0] if newer else mark.vectors)
    if after != mark:
        _write_mark(store.path, after)
    return Fed(seq - mark.seq, len(found), late, more=more)


def _begin(store: Store, made_by: Maker | None) -> _Mark:
    """An empty folder; what the cache holds by now, rows find there when they are made."""
    drop_index(store.path)
    mark = _Mark(
        SCHEMA, store.generation(), made_by.identity if made_by else "", made_by.dims if made_by else 0,
        vectors=embedded.last(store),
    )  # fmt: skip
    db = _connect(store.path)
    for name in TABLES:
        table = db.create_table(name, schema=_schema(name, mark.dims))
        table.create_index("user", config=Bitmap())
        table.create_index("id", config=BTree())
        table.create_index("text", config=FTS(base_tokenizer="icu"))
        if name in WITH_VECTORS:
            table.create_index("hash", config=BTree())
    _write_mark(store.path, mark)
    return mark


def _schema(name: str, dims: int) -> pa.Schema:
    columns = {**_OWN, **_COLUMNS[name], "text": pa.string()}
    if name in WITH_VECTORS:
        columns["hash"] = pa.string()
        if dims:
            columns |= {"embedder": pa.string(), "vector": pa.list_(pa.float32(), dims)}
    return pa.schema(list(columns.items()))


def _target(truth: Connection, after: int, most: int) -> tuple[int, tuple[Any, ...], int]:
    """The seq to come to, the event there, and the last seq of all."""
    sql = "SELECT seq, stream, version, kind, at_us FROM event WHERE seq > ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
    top = int(truth.exec_driver_sql("SELECT coalesce(max(seq), 0) FROM event").scalar_one())
    while after < top:
        row = truth.exec_driver_sql(sql, (after, after + most)).first()
        if row is not None:
            return row[0], tuple(row[1:]), top
        after += most  # a gap: a deletion took these
    return after, (), top


def _check_same(store: Store, mark: _Mark) -> None:
    """Raises _Outdated if the folder does not follow this very truth."""
    if mark.schema != SCHEMA:
        raise _Outdated("it is of another schema")
    with store.read() as truth:
        if generation_of(truth) != mark.generation:
            raise _Outdated("words were taken away")
        if mark.last:
            sql = "SELECT stream, version, kind, at_us FROM event WHERE seq = ?"
            same = truth.exec_driver_sql(sql, (mark.seq,)).first()
            if same is None or tuple(same) != mark.last:
                raise _Outdated("the truth beside it is another one")


def _read_mark(folder: Path) -> _Mark | None:
    try:
        raw = orjson.loads((folder / INDEX_FOLDER / INDEX_MARK).read_bytes())
        return _Mark(**raw | {"last": tuple(raw["last"])})
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None  # none, or one that cannot be read: the folder is made anew


def _write_mark(folder: Path, mark: _Mark) -> None:
    """All of it or the one before; only after Lance has what it stands for."""
    place = folder / INDEX_FOLDER / INDEX_MARK
    part = place.with_suffix(".part")
    with part.open("wb") as file:
        file.write(orjson.dumps(asdict(mark)))
        file.flush()
        os.fsync(file.fileno())
    part.replace(place)


def _connect(folder: Path) -> Any:
    # Without an interval a connection never sees what another process writes.
    return lancedb.connect(str(folder / INDEX_FOLDER), read_consistency_interval=timedelta(0))


class _Index:
    """The tables, for whoever holds the lock."""

    def __init__(self, store: Store, made_by: Maker | None) -> None:
        self._store = store
        self._made_by = made_by
        self._db = _connect(store.path)
        self._tables: dict[str, Any] = {}

    def table(self, name: str) -> Any:
        if name not in self._tables:
            self._tables[name] = self._db.open_table(name)
        return self._tables[name]

    def replace(self, name: str, found: Sequence[Row]) -> None:
        """Each row in place of the one with its id."""
        if found:
            newest = {row.values["id"]: row for row in found}
            self._write(name, self._arrow(name, list(newest.values())))

    def _arrow(self, name: str, found: Sequence[Row]) -> pa.Table:
        dims = self._made_by.dims if self._made_by else 0
        hashes = [row.hash for row in found] if name in WITH_VECTORS else []
        known = embedded.by_hash(self._store, self._made_by, [h for h in hashes if h]) if self._made_by else {}
        lines = []
        for row, hash_ in zip(found, hashes or [""] * len(found), strict=True):
            line = dict(row.values)
            if name in WITH_VECTORS:
                line["hash"] = hash_ or None
                if self._made_by and hash_ in known:
                    line |= {"vector": known[hash_], "embedder": self._made_by.identity}
            lines.append(line)
        return pa.Table.from_pylist(lines, schema=_schema(name, dims))

    def _write(self, name: str, arrow: pa.Table) -> None:
        table = self.table(name)
        if table.count_rows() == 0:  # several times as fast
            table.add(arrow)
            return
        merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(arrow, on_bad_vectors="null")  # a row without a vector is "bad" to it

    def give(self, vectors: Mapping[str, Vector]) -> int:
        """Rows that waited for these vectors, by the hash of their text, get them. Returns how many."""
        if not vectors or self._made_by is None:
            return 0
        given, names = 0, list(vectors)
        for table in WITH_VECTORS:
            for start in range(0, len(names), AT_ONCE):
                waiting = self._rows_with(table, names[start : start + AT_ONCE])
                lines = waiting.to_pylist()
                for line in lines:
                    line |= {"vector": vectors[line["hash"]], "embedder": self._made_by.identity}
                if lines:
                    self._write(table, pa.Table.from_pylist(lines, schema=_schema(table, self._made_by.dims)))
                given += len(lines)
        return given

    def _rows_with(self, table: str, hashes: Sequence[str]) -> pa.Table:
        where = f"hash IN ({', '.join(map(_quoted, hashes))})"
        columns = [name for name in _schema(table, 0).names if name not in ("vector", "embedder")]
        count = self.table(table).count_rows(where)
        return self.table(table).search().where(where).select(columns).limit(max(count, 1)).to_arrow()

    def tidy(self) -> None:
        """Many small files and rows outside the indexes make searches slow."""
        for name in TABLES:
            table = self.table(name)
            small = table.stats()["fragment_stats"]["num_small_fragments"]
            outside = max((index.num_unindexed_rows or 0 for index in table.list_indices()), default=0)
            if small > FRAGMENTS or outside > UNINDEXED:
                table.checkout_latest()
                table.optimize(cleanup_older_than=OLD)


# ── searching ─────────────────────────────────────────────────────────────────────────────────────────


def search(
    store: Store,
    *,
    user: str,
    text: str = "",
    vector: ArrayLike | None = None,
    embedder: Embeds | None = None,
    table: str = "turns",
    k: int = 10,
    conversation: str | None = None,
    run: str | None = None,
) -> list[dict[str, Any]]:
    """The k rows of one user that match a text (BM25) or a vector (cosine) best, best first, each with its `score`.

    What was committed is found, where the store can be written. Without a run, what several runs of a conversation
    share comes once. `vector`: of unit length; `embedder`, where given, must be the one of the store's vectors. A
    page is as near as the nearest exchange on it. No match, no row: a text without a word to search for finds nothing.
    Facts are the user's, so `conversation` takes none away: it adds the working facts of that one.

    Raises OtherEmbedder for vectors that cannot be compared with the store's, BadQuery, StoreDamaged.
    """
    if table not in TABLES:
        raise UnknownName("table", table, TABLES)
    if not user:
        raise BadQuery("a search needs a user: memory of all users together is never searched")
    if bool(text) == (vector is not None):
        raise BadQuery("give either a text or a vector to search for")
    if k < 1:
        raise BadQuery(f"k must be at least 1, not {k}")
    with _searching(store) as mark:
        where = _where(user=user, conversation=conversation, run=run)
        if table == "facts":
            mine = f" OR conversation = {_quoted(conversation)}" if conversation else ""
            where = f"{_where(user=user)} AND (layer <> 'working'{mine})"
        if text:
            return _by_text(store, table, text, where, k, merged=run is None)
        numbers = _checked(store, mark, vector, embedder, table)
        if numbers is None:
            return []
        if table == "pages":
            return _pages_near(store, numbers, where, k, merged=run is None)
        found = _by_vector(store, table, numbers, where, k, merged=run is None)
        return _with_words(store, found) if table == "turns" else found


def questions_like(
    store: Store,
    question: str | ArrayLike,
    *,
    user: str,
    conversation: str | None = None,
    embedder: Embeds | None = None,
    k: int = 10,
) -> list[dict[str, Any]]:
    """Earlier retrievals whose question was like this one, each with what it found: `chosen` pages, best first.

    A question in words is compared by meaning where an embedder is given, else by its words.
    """
    if not isinstance(question, str):
        vector: ArrayLike | None = question
    else:
        vector = embedded.embedded(store, embedder, [question], question=True)[0] if embedder and question else None
    words = question if isinstance(question, str) and vector is None else ""
    if not words and vector is None:
        return []
    return search(
        store, user=user, text=words, vector=vector, embedder=embedder, table="retrievals", k=k,
        conversation=conversation,
    )  # fmt: skip


@contextmanager
def _searching(store: Store) -> Iterator[_Mark]:
    """The folder brought up to date, and Lance's words as an error that says what to do."""
    if not store.readonly and is_behind(store):
        with derived_lock(store.path, 5.0) as ours:
            while ours and feed(store).more:
                pass
    mark = _read_mark(store.path)
    if mark is None:
        if store.last_seq():
            raise NotFound(f"{store.path} has no {INDEX_FOLDER} yet: run `workbench rebuild`")
        mark = _Mark(SCHEMA, store.generation(), "", 0)
    elif mark.generation != store.generation():
        raise StoreError(
            f"{INDEX_FOLDER} is older than a deletion: open the store writable, or run `workbench rebuild`"
        )
    try:
        yield mark
    except LANCE_ERRORS as error:
        raise StoreDamaged(
            f"{store.path / INDEX_FOLDER} cannot be searched ({first_line(error)}); run `workbench rebuild`"
        ) from error


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _where(**equal: str | None) -> str:
    return " AND ".join(f"`{name}` = {_quoted(value)}" for name, value in equal.items() if value is not None)


def _checked(store: Store, mark: _Mark, vector: ArrayLike | None, embedder: Embeds | None, table: str) -> Vector | None:
    """The vector, comparable with the store's; None where the store is empty."""
    if table == "evictions":
        raise BadQuery("evictions have no vectors; search them by text")
    numbers = np.asarray(vector, dtype=np.float32)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise BadQuery(f"a vector is one row of finite numbers, not an array of shape {numbers.shape}")
    if not mark.dims:
        if mark.seq:
            raise OtherEmbedder(f"{store.path} holds no vectors yet: make them with `workbench reindex`")
        return None
    if embedder is not None and embedder.identity != mark.embedder:
        raise OtherEmbedder(
            f"the vectors of this store are of {mark.embedder}, not of {embedder.identity}: embed the question with "
            f"the same, or make them anew with `workbench reindex --embedder {embedder.name}`"
        )
    if len(numbers) != mark.dims:
        raise OtherEmbedder(
            f"the vectors of this store have {mark.dims} numbers ({mark.embedder}), this one has {len(numbers)}: "
            "embed the question with the same embedder, or make them anew with `workbench reindex --embedder NAME`"
        )
    return numbers


def _by_text(store: Store, table: str, text: str, where: str, k: int, *, merged: bool) -> list[dict[str, Any]]:
    opened = _opened(store, table)
    columns = [name for name in opened.schema.names if name not in ("vector", "embedder", "hash")] if opened else []

    def matching(words: str, n: int) -> list[dict[str, Any]]:
        found = opened.search(words, query_type="fts", fts_columns="text").where(where, prefilter=True)
        rows_ = found.select([*columns, "_score"]).limit(n).to_list()
        return [_scored(row, row.pop("_score")) for row in rows_]

    def best(n: int) -> list[dict[str, Any]]:
        found = matching(text, n)
        for written in in_other_script(text):  # Lance indexes words as they are written
            found += matching(written, n)
        first: dict[str, dict[str, Any]] = {}
        for row in sorted(found, key=lambda row: -row["score"]):
            first.setdefault(row["id"], row)
        return list(first.values())[:n]

    return _merged(best, table, k, merged=merged) if opened else []


def _by_vector(store: Store, table: str, numbers: Vector, where: str, k: int, *, merged: bool) -> list[dict[str, Any]]:
    opened = _opened(store, table)
    columns = [name for name in opened.schema.names if name not in ("vector", "embedder", "hash")] if opened else []

    def best(n: int) -> list[dict[str, Any]]:
        near = opened.search(numbers, vector_column_name="vector").distance_type("dot")
        filtered = near.where(f"{where} AND `vector` IS NOT NULL", prefilter=True).bypass_vector_index()
        rows_ = filtered.select([*columns, "_distance"]).limit(n).to_list()
        return [_scored(row, 1 - row.pop("_distance")) for row in rows_]

    return _merged(best, table, k, merged=merged) if opened else []


def _pages_near(store: Store, numbers: Vector, where: str, k: int, *, merged: bool) -> list[dict[str, Any]]:
    """Closed pages by their nearest exchange: measured twice as good as one vector a page."""
    opened = _opened(store, "pages")
    if opened is None:
        return []
    columns = [name for name in opened.schema.names if name != "hash"]
    n = 8 * k
    while True:
        turns = _by_vector(store, "turns", numbers, where, n, merged=False)
        nearest: dict[str, dict[str, Any]] = {}
        for turn in turns:
            nearest.setdefault(f"{turn['stream']}:{turn['page']}", turn)
        ids = ", ".join(map(_quoted, nearest))
        found = opened.search().where(f"id IN ({ids})").select(columns).limit(len(nearest)).to_list() if ids else []
        scored = [row | {"score": nearest[row["id"]]["score"], "turn": nearest[row["id"]]["turn"]} for row in found]
        best = sorted(scored, key=lambda row: -row["score"])
        best = _once(best, "pages") if merged else best
        if len(best) >= k or len(turns) < n:
            return best[:k]
        n *= 4


def _with_words(store: Store, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A later part of a long turn was near: the words stand on the row of its beginning."""
    without = [row for row in found if row["text"] is None]
    if without:
        places = " OR ".join(f"(stream = {row['stream']} AND turn = {row['turn']})" for row in without)
        whole = _opened(store, "turns").search().where(f"({places}) AND text IS NOT NULL")
        texts = whole.select(["stream", "turn", "text"]).limit(len(without)).to_list()
        words = {(row["stream"], row["turn"]): row["text"] for row in texts}
        for row in without:
            row["text"] = words.get((row["stream"], row["turn"]))
    return found


def _opened(store: Store, table: str) -> Any:
    return _connect(store.path).open_table(table) if _read_mark(store.path) else None


def _scored(row: dict[str, Any], score: float) -> dict[str, Any]:
    return row | {"score": float(score)}


def _merged(best: Any, table: str, k: int, *, merged: bool) -> list[dict[str, Any]]:
    """The k best; of rows that are the same to a reader, the first."""
    n = k if not merged or table not in _SAME else 3 * k
    while True:
        found: list[dict[str, Any]] = best(n)
        different = _once(found, table) if merged else found
        if len(different) >= k or len(found) < n:
            return different[:k]
        n *= 4


def _once(found: Sequence[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    if table not in _SAME:
        return list(found)
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in found:
        seen.setdefault(tuple(row[name] for name in _SAME[table]), row)
    return list(seen.values())


# ── against the truth ─────────────────────────────────────────────────────────────────────────────────


def compare(store: Store) -> tuple[dict[str, int], Health, list[str]]:
    """Rows by table, the health of the vectors, and where the folder differs from the truth.

    Being behind is no fault, and neither is a vector that was not made yet.
    """
    mark = _read_mark(store.path)
    if mark is None:
        there = (store.path / INDEX_FOLDER).exists()
        return {}, Health(), [f"{INDEX_FOLDER}: it has no mark; run `workbench rebuild`"] if there else []
    made_by = embedded.maker(store)
    try:
        _check_same(store, mark)
        expected = _expected(store, mark.seq)
        counts, faults, health = {}, [], Health(made_by.identity if made_by else "")
        for name in TABLES:
            table = _connect(store.path).open_table(name)
            held = _Digest()
            for batch in _batches(table, name, mark.dims):
                held.add(batch.select(_plain(name)).to_pylist())
                if name in WITH_VECTORS:
                    health = _health(store, made_by, batch, health)
            counts[name] = held.rows
            if held != expected[name]:
                faults.append(
                    f"{INDEX_FOLDER}: {name} differ from the truth ({held.rows} rows there, {expected[name].rows} in "
                    "the log, or other words); run `workbench rebuild`"
                )
    except (_Outdated, *LANCE_ERRORS) as error:
        return {}, Health(), [f"{INDEX_FOLDER}: {first_line(error)}; run `workbench rebuild`"]
    if health.changed:
        faults.append(
            f"{INDEX_FOLDER}: {health.changed} vectors are not those of {CACHE_FILE}; run `workbench rebuild`"
        )
    return counts, health, faults


def texts(store: Store) -> Iterator[tuple[str, str, str]]:
    """Every text in `vectors.lance`, in all the versions that it keeps: table, user, text."""
    if not (store.path / INDEX_FOLDER).exists():
        return
    db = _connect(store.path)
    for name in TABLES:
        table = db.open_table(name)
        for version in [each["version"] for each in table.list_versions()]:
            table.checkout(version)
            columns = [c.name for c in table.schema if pa.types.is_string(c.type)]
            for line in table.search().select(columns).limit(max(table.count_rows(), 1)).to_list():
                yield from ((name, str(line.get("user", "")), line[c]) for c in columns if line[c])


@dataclass(slots=True)
class _Digest:
    """Of rows in any order."""

    rows: int = 0
    total: int = 0

    def add(self, lines: Sequence[Mapping[str, Any]]) -> None:
        for line in lines:
            said = repr(sorted(line.items())).encode("utf-8", "surrogatepass")
            self.rows += 1
            self.total = (self.total + int.from_bytes(blake2b(said, digest_size=16).digest())) % 2**128


def _plain(name: str) -> list[str]:
    return [column for column in _schema(name, 0).names if column not in ("vector", "embedder")]


def _expected(store: Store, upto: int) -> dict[str, _Digest]:
    found = {name: _Digest() for name in TABLES}
    for stream in store.streams(own=True):
        rows_ = rows_of(store, stream, upto)
        for name in TABLES:
            mine = [row for row in rows_ if row.table == name]
            lines = [row.values | ({"hash": row.hash or None} if name in WITH_VECTORS else {}) for row in mine]
            found[name].add(pa.Table.from_pylist(lines, schema=_schema(name, 0)).select(_plain(name)).to_pylist())
    return found


def _batches(table: Any, name: str, dims: int) -> Iterator[pa.RecordBatch]:
    columns = _schema(name, dims).names
    yield from table.search().select(columns).limit(max(table.count_rows(), 1)).to_batches(2_048)


def _health(store: Store, made_by: Maker | None, batch: pa.RecordBatch, before: Health) -> Health:
    hashes = batch["hash"].to_pylist()
    wanted = sum(h is not None for h in hashes)
    if made_by is None or "vector" not in batch.schema.names:
        return replace(before, wanted=before.wanted + wanted)
    known = embedded.by_hash(store, made_by, [h for h in hashes if h])
    counts = Counter(
        "other" if maker != made_by.identity else "there" if h in known and known[h].tolist() == vector else "changed"
        for h, vector, maker in zip(hashes, batch["vector"].to_pylist(), batch["embedder"].to_pylist(), strict=True)
        if vector is not None
    )
    now = {name: getattr(before, name) + counts[name] for name in ("there", "other", "changed")}
    return replace(before, wanted=before.wanted + wanted, **now)
