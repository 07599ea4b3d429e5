"""Vectors of texts, kept so that no text is embedded twice: `vectors.sqlite` beside the truth.

A row is (embedder, hash of the text) → float32 numbers; no word stands in it. It is derived, and dear: hours of an
embedder's time. So rebuilding leaves it alone, and a deletion takes out what no remaining text needs (`prune`).

The store knows which embedder made its vectors. Whoever asks with another one is told so, and gets no empty answer.
Not here: which texts have vectors (searchable.py), searching them (vectors.py).
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memory.errors import ModelError, OtherEmbedder, StaleAppend, StoreDamaged, StoreReadOnly
from memory.show import Shown, rows
from memory.stores.files import BUSY_MS, CACHE_FILE, translated, uri_of
from memory.stores.searchable import digest, rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from memory.stores.sql import Store

logger = logging.getLogger(__name__)

Vector = NDArray[np.float32]
Progress = Callable[[Iterable[Any], str], Iterable[Any]]  # hands things out and shows how far it is

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS embedder (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    dims INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vector (n INTEGER PRIMARY KEY AUTOINCREMENT, embedder INTEGER NOT NULL, hash TEXT NOT NULL,
    numbers BLOB NOT NULL, UNIQUE (embedder, hash));
"""
BATCH = 32  # texts embedded between two commits: what a kill costs
AT_ONCE = 500  # hashes in one query
_ONE = threading.Lock()  # one embedding at a time a process: two on two busy cores are slower than one after the other


class Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...


class Embeds(Named, Protocol):
    """What makes vectors: see memory.models.embedding.Embedder."""

    @property
    def dims(self) -> int: ...
    def passages(self, texts: Sequence[str], /) -> Vector: ...
    def queries(self, texts: Sequence[str], /) -> Vector: ...


@dataclass(frozen=True, slots=True)
class Maker:
    """The embedder that the store's vectors are of."""

    id: int
    identity: str
    name: str
    dims: int


@dataclass(frozen=True)
class Reindexed(Shown):
    """What a reindex did."""

    embedder: str  # identity
    texts: int  # that want a vector
    known: int  # that had one
    made: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __repr__(self) -> str:
        return f"<Reindexed: {self.made:,} vectors made by {self.embedder}, {self.known:,} were there>"

    def _html(self) -> str:
        return rows(self.embedder, {"texts": self.texts, "vectors there": self.known, "vectors made": self.made})


# ── asking ────────────────────────────────────────────────────────────────────────────────────────────


def maker(store: Store) -> Maker | None:
    """Whose vectors the store holds; None: it has none yet."""
    with _reading(store) as db:
        return None if db is None else _maker(db)


def vectors_of(store: Store, embedder: Embeds, texts: Sequence[str], *, question: bool = False) -> list[Vector | None]:
    """The kept vector of each text, None where there is none. Raises OtherEmbedder."""
    with _reading(store) as db:
        made_by = _maker(db) if db is not None else None
        if db is None or made_by is None:
            return [None] * len(texts)
        check_same(made_by, embedder)
        return _found(db, made_by, texts, question)


def newest(store: Store) -> tuple[str, int]:
    """Identity of the store's embedder, and the number of the newest vector: both change when there is news."""
    with _reading(store) as db:
        made_by = _maker(db) if db is not None else None
        return ("", 0) if db is None or made_by is None else (made_by.identity, _last(db))


def vectors_by(store: Store, texts: Sequence[str]) -> dict[str, Vector]:
    """Of these texts, those that have a vector by the store's own embedder, whichever that is."""
    with _reading(store) as db:
        made_by = _maker(db) if db is not None else None
        if db is None or made_by is None:
            return {}
        found = zip(texts, _found(db, made_by, texts, question=False), strict=True)
        return {text: vector for text, vector in found if vector is not None}


def _found(db: sqlite3.Connection, made_by: Maker, texts: Sequence[str], question: bool) -> list[Vector | None]:
    hashes = [digest(text, question=question) for text in texts]
    known = _known(db, made_by, hashes)
    return [_numbers(known[h], made_by) if h in known else None for h in hashes]


def embedded(
    store: Store, embedder: Embeds, texts: Sequence[str], *, question: bool = False, generation: int | None = None
) -> Vector:
    """The vectors of these texts, (n, dims): the kept ones, the others made now and kept as `put` keeps them.

    Raises OtherEmbedder, ModelError.
    """
    found = vectors_of(store, embedder, texts, question=question)
    missing = list(dict.fromkeys(t for t, v in zip(texts, found, strict=True) if v is None))
    made: dict[str, Vector] = {}
    if missing:
        vectors = _made(embedder, missing, question)
        made = dict(zip(missing, vectors, strict=True))
        if not store.readonly:
            put(store, embedder, missing, vectors, question=question, generation=generation)
    all_of_them = [made[t] if v is None else v for t, v in zip(texts, found, strict=True)]
    return np.stack(all_of_them) if all_of_them else np.zeros((0, embedder.dims), np.float32)


def put(
    store: Store,
    embedder: Embeds,
    texts: Sequence[str],
    vectors: Vector,
    *,
    question: bool = False,
    generation: int | None = None,
) -> int:
    """Keep vectors, (n, dims). Returns how many are new.

    `generation`: the store's when the texts were read. Raises StaleAppend if words were deleted since, OtherEmbedder,
    ModelError for vectors of another shape.
    """
    if vectors.shape[:1] != (len(texts),) or vectors.ndim != 2:
        raise ModelError(f"{embedder.name} gave an array of shape {vectors.shape} for {len(texts)} texts")
    with _writing(store) as db:
        if generation is not None and generation != store.generation():
            raise StaleAppend("words were deleted meanwhile; read the texts again, then embed them")
        made_by = _maker(db) or _become(db, embedder.name, embedder.identity, vectors.shape[1])
        check_same(made_by, embedder, vectors.shape[1])
        return _keep(db, made_by, [digest(text, question=question) for text in texts], vectors)


def adopt(store: Store, identity: str, name: str, hashes: Sequence[str], vectors: Vector) -> int:
    """Take vectors that this embedder made elsewhere, named by the hash of their text. Returns how many are new.

    A store whose vectors are of another embedder takes none.
    """
    with _writing(store) as db:
        made_by = _maker(db) or _become(db, name, identity, vectors.shape[1])
        if (made_by.identity, made_by.dims) != (identity, vectors.shape[1]):
            return 0
        return _keep(db, made_by, hashes, vectors)


def _keep(db: sqlite3.Connection, made_by: Maker, hashes: Sequence[str], vectors: Vector) -> int:
    rows = zip(hashes, np.ascontiguousarray(vectors, dtype="<f4"), strict=True)
    before = db.total_changes
    kept = [(made_by.id, name, row.tobytes()) for name, row in rows]
    db.executemany("INSERT OR IGNORE INTO vector (embedder, hash, numbers) VALUES (?, ?, ?)", kept)
    return db.total_changes - before


def _made(embedder: Embeds, texts: Sequence[str], question: bool) -> Vector:
    with _ONE:
        return embedder.queries(texts) if question else embedder.passages(texts)


def _numbers(raw: bytes, made_by: Maker) -> Vector:
    if len(raw) != 4 * made_by.dims:
        raise StoreDamaged(f"{CACHE_FILE} holds a vector of {len(raw)} bytes, not of {made_by.dims} numbers; {MEND}")
    return np.frombuffer(raw, dtype="<f4").astype(np.float32, copy=False)


MEND = f"delete {CACHE_FILE}, then run `workbench reindex`"


# ── whose vectors ─────────────────────────────────────────────────────────────────────────────────────


def _maker(db: sqlite3.Connection) -> Maker | None:
    row = db.execute(
        "SELECT e.id, e.identity, e.name, e.dims FROM embedder e "
        "JOIN meta m ON m.key = 'embedder' AND m.value = e.identity"
    ).fetchone()
    return None if row is None else Maker(*row)


def _become(db: sqlite3.Connection, name: str, identity: str, dims: int) -> Maker:
    """From now on the store's vectors are of this embedder; those of another one stay, in case it comes back."""
    db.execute("INSERT OR IGNORE INTO embedder (identity, name, dims) VALUES (?, ?, ?)", (identity, name, dims))
    db.execute("INSERT OR REPLACE INTO meta VALUES ('embedder', ?)", (identity,))
    made_by = _maker(db)
    assert made_by is not None
    return made_by


def check_same(made_by: Maker, embedder: Named, dims: int = 0) -> None:
    if embedder.identity != made_by.identity:
        raise OtherEmbedder(
            f"the vectors of this store are of {made_by.identity}, not of {embedder.identity}: use "
            f"embedder {made_by.name!r}, or make them anew with `workbench reindex --embedder {embedder.name}`"
        )
    if dims not in (0, made_by.dims):
        raise OtherEmbedder(
            f"{embedder.identity} made vectors of {made_by.dims} numbers before and makes some of {dims} now: "
            f"it is another model under the same name; {MEND}"
        )


# ── making what is missing ────────────────────────────────────────────────────────────────────────────


def reindex(store: Store, embedder: Embeds, progress: Progress | None = None) -> Reindexed:
    """Give every text that wants one a vector by this embedder, which is the store's from now on.

    A batch is kept as soon as it is made: killed in the middle and run again, it goes on. Raises ModelError.
    """
    _heal(store)
    generation = store.generation()
    wanted = wanted_texts(store)
    with _writing(store) as db:
        made_by = _maker(db)
        if embedder.dims and (made_by is None or made_by.identity != embedder.identity):
            made_by = _become(db, embedder.name, embedder.identity, embedder.dims)
        mine = made_by is not None and made_by.identity == embedder.identity
        known = _known(db, made_by, list(wanted)).keys() if made_by is not None and mine else set()
    missing = [(text, question) for h, (text, question) in wanted.items() if h not in known]
    made = 0
    for texts, question in (progress or _silently)(list(_batches(missing)), "embedding"):
        vectors = _made(embedder, texts, question)
        if not made and not mine:  # a model that did not say how many numbers it makes
            with _writing(store) as db:
                _become(db, embedder.name, embedder.identity, vectors.shape[1])
        made += put(store, embedder, texts, vectors, question=question, generation=generation)
    return Reindexed(embedder.identity, len(wanted), len(wanted) - len(missing), made)


def wanted_texts(store: Store) -> dict[str, tuple[str, bool]]:
    """By hash: every text that wants a vector, and whether it is a question."""
    found: dict[str, tuple[str, bool]] = {}
    for stream in store.streams(own=True):
        found.update({row.hash: (row.embeds, row.question) for row in rows_of(store, stream) if row.embeds})
    return found


def _silently(things: Iterable[Any], label: str) -> Iterable[Any]:
    return things


def _batches(missing: Sequence[tuple[str, bool]]) -> Iterator[tuple[list[str], bool]]:
    for question in (False, True):
        texts = [text for text, asks in missing if asks is question]
        for start in range(0, len(texts), BATCH):
            yield texts[start : start + BATCH], question


# ── what others follow ────────────────────────────────────────────────────────────────────────────────


def last(store: Store) -> int:
    """The number of the newest vector; 0: none."""
    with _reading(store) as db:
        return 0 if db is None else _last(db)


def _last(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT coalesce(max(n), 0) FROM vector").fetchone()[0])


def since(store: Store, made_by: Maker, n: int, limit: int) -> list[tuple[int, str, Vector]]:
    """Vectors in the order they came, after the one with number `n`: number, hash, numbers."""
    with _reading(store) as db:
        if db is None:
            return []
        found = db.execute(
            "SELECT n, hash, numbers FROM vector WHERE n > ? AND embedder = ? ORDER BY n LIMIT ?",
            (n, made_by.id, limit),
        ).fetchall()
    return [(number, name, _numbers(raw, made_by)) for number, name, raw in found]


def by_hash(store: Store, made_by: Maker, hashes: Sequence[str]) -> dict[str, Vector]:
    with _reading(store) as db:
        known = {} if db is None else _known(db, made_by, hashes)
    return {name: _numbers(raw, made_by) for name, raw in known.items()}


def kept_hashes(store: Store) -> set[str]:
    """Of every vector there is, the hash of its text."""
    with _reading(store) as db:
        return set() if db is None else {name for (name,) in db.execute("SELECT hash FROM vector")}


def raw_of(store: Store, made_by: Maker, hashes: Sequence[str]) -> dict[str, bytes]:
    """As the file has them, whatever their size: for a check."""
    with _reading(store) as db:
        return {} if db is None else _known(db, made_by, hashes)


def _known(db: sqlite3.Connection, made_by: Maker, hashes: Sequence[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for start in range(0, len(hashes), AT_ONCE):
        part = hashes[start : start + AT_ONCE]
        sql = f"SELECT hash, numbers FROM vector WHERE embedder = ? AND hash IN ({', '.join('?' * len(part))})"  # noqa: S608 - marks
        found.update(db.execute(sql, (made_by.id, *part)).fetchall())
    return found


# ── the file ──────────────────────────────────────────────────────────────────────────────────────────


def prune(store: Store) -> int:
    """After a deletion: take out, byte for byte, the vectors that no remaining text needs. Returns how many."""
    file = store.path / CACHE_FILE
    if not file.exists():
        return 0
    with _writing(store) as db:
        generation = str(store.generation())
        if _meta(db, "generation") == generation:
            return 0
        db.execute("CREATE TEMP TABLE wanted (hash TEXT PRIMARY KEY) WITHOUT ROWID")
        db.executemany("INSERT INTO wanted VALUES (?)", [(name,) for name in wanted_texts(store)])
        gone = db.execute("DELETE FROM vector WHERE hash NOT IN (SELECT hash FROM wanted)").rowcount
        db.execute("INSERT OR REPLACE INTO meta VALUES ('generation', ?)", (generation,))
    with translated(file), closing(_connect(file)) as db:
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return gone


def _meta(db: sqlite3.Connection, key: str) -> str:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return "" if row is None else str(row[0])


def _heal(store: Store) -> None:
    """A file that cannot be read holds nothing worth keeping: it is made anew."""
    try:
        with _writing(store) as db:
            faults = db.execute("PRAGMA quick_check").fetchone()[0]
    except StoreDamaged as error:
        faults = str(error)
    if faults != "ok":
        logger.warning("%s is made anew: %s", store.path / CACHE_FILE, faults)
        for tail in ("", "-wal", "-shm"):
            (store.path / f"{CACHE_FILE}{tail}").unlink(missing_ok=True)


@contextmanager
def _reading(store: Store) -> Iterator[sqlite3.Connection | None]:
    """None where there is no file yet."""
    file = store.path / CACHE_FILE
    if not file.exists():
        yield None
        return
    with _told(file), closing(sqlite3.connect(uri_of(file, readonly=True), uri=True, timeout=BUSY_MS / 1000)) as db:
        has_tables = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'vector'").fetchone()[0]
        yield db if has_tables else None


@contextmanager
def _writing(store: Store) -> Iterator[sqlite3.Connection]:
    """One transaction that holds the write lock from its begin; the file is made if it is not there."""
    if store.readonly:
        raise StoreReadOnly(f"{store.path} was opened read-only; open it writable to keep vectors")
    file = store.path / CACHE_FILE
    new = not file.exists()
    with _told(file), closing(_connect(file)) as db:
        db.executescript(SCHEMA)
        db.execute("BEGIN IMMEDIATE")
        try:
            if new or not _meta(db, "generation"):
                db.execute("INSERT OR IGNORE INTO meta VALUES ('generation', ?)", (str(store.generation()),))
            yield db
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")


def _connect(file: Path) -> sqlite3.Connection:
    db = sqlite3.connect(file, isolation_level=None, timeout=BUSY_MS / 1000)
    # NORMAL: a power cut may cost the last vectors, never the file; they are made again.
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
        db.execute(f"PRAGMA {pragma}")
    return db


@contextmanager
def _told(file: Path) -> Iterator[None]:
    try:
        with translated(file):
            yield
    except StoreDamaged as error:
        if isinstance(error.__cause__, sqlite3.Error):  # this file's, not the truth's
            raise StoreDamaged(f"{file} is damaged ({error.__cause__}); {MEND}") from error
        raise
