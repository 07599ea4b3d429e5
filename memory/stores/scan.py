"""Whether words still stand anywhere in a store: every table decoded, and every byte of every file looked through.

It proves an erase, so it must find the same words before it. Decoded are all rows of SQLite (the truth, the cache of
vectors, backups in the folder), DuckDB and each version of LanceDB, and whether a vector of such a text is left. Then
the bytes of all files are searched for the words as UTF-8, UTF-16 and in JSON's escapes.

Others may have said the same: what stands in their rows is counted, never shown, and explains bytes; so do words that
only contain the topic's. What nothing explains is a finding. Packed bytes (DuckDB, LanceDB) hide words from a search of
bytes; that is what decoding is for.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.show import Shown, rows, table
from memory.stores.embedded import kept_hashes, wanted_texts
from memory.stores.files import BUSY_MS, CACHE_FILE, FILE, INDEX_FOLDER, LOG_FILE, translated, uri_of
from memory.topic import Topic

if TYPE_CHECKING:
    from memory.stores.sql import Store

BLOCK = 4 << 20  # bytes of a file read at once
# Packed, indexed, or a log: a row that may stand may do so many times there.
REPEATING = (LOG_FILE, INDEX_FOLDER, FILE)
_WHOSE = ("user", "conversation", "run")
_NAMES = dict.fromkeys(("stream", "event", "text", "job"), _WHOSE)


@dataclass(frozen=True)
class Scan(Shown):
    """Where one user's words about a topic stand, and how often."""

    user: str
    topic: str
    cells: int  # that were decoded
    size: int  # bytes that were looked through
    rows: dict[str, int]  # by place: decoded cells of the user that name the topic
    files: dict[str, int]  # by file: places in its bytes
    unexplained: dict[str, int]  # by file: those that no row accounts for which may stand
    vectors: int  # of texts that name it, or of texts that are no more
    names: dict[str, int]  # by place: names of users and conversations that hold it; an erase leaves them
    others: dict[str, int] = field(default_factory=dict)  # by place: cells of other users; they stay

    @property
    def clean(self) -> bool:
        """Nothing of this user's is left."""
        return not (self.rows or self.unexplained or self.vectors)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"clean": self.clean}

    @property
    def summary(self) -> str:
        looked = f"{self.cells:,} cells and {self.size:,} bytes looked through"
        if self.clean:
            return f"nothing found; {looked}"
        found = [f"{n:,} in {place}" for place, n in self.rows.items()]
        found += [f"{n:,} in the bytes of {file}" for file, n in self.unexplained.items()]
        found += [f"{self.vectors:,} vectors"] if self.vectors else []
        return f"found {', '.join(found)}; {looked}"

    def __repr__(self) -> str:
        return f"<Scan of {self.user} for {self.topic!r}: {self.summary}>"

    def _html(self) -> str:
        places = [[p, n, "row"] for p, n in self.rows.items()] + [[f, n, "bytes"] for f, n in self.unexplained.items()]
        told = "Nothing found" if self.clean else "Found"
        looked = {"cells": f"{self.cells:,}", "bytes": f"{self.size:,}", "vectors": self.vectors}
        return rows(f"{told}: {self.topic}", looked) + table(["where", "how often", "as"], places)


@dataclass
class _Tally:
    topic: Topic
    user: str
    cells: int = 0
    mine: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)  # by file: what stands there and may

    @cached_property
    def _needles(self) -> list[bytes]:
        return [each for name, all_ in needles(self.topic).items() for each in all_ if name != "utf-16"]

    def times(self, content: str) -> int:
        """How often a search of bytes would meet it in this cell."""
        raw = content.encode("utf-8", "surrogatepass").lower()
        return sum(raw.count(each) for each in self._needles)

    def add(self, file: str, place: str, user: str, content: str, *, name: bool = False) -> None:
        self.cells += 1
        times = self.times(content)
        if not times:
            return
        at = f"{file}: {place}"
        if content not in self.topic:
            self.explained[file] += times  # a longer word
        elif name:
            self.names[at] += 1
            self.explained[file] += times
        elif user == self.user:
            self.mine[at] += 1
        else:
            self.others[at] += 1
            self.explained[file] += times


def scan(store: Store, user: str, topic: Topic) -> Scan:
    """Look through the whole store. Reads only; on a big store it takes as long as reading all of it."""
    tally = _Tally(topic, user)
    _fold_log(store)
    owner, whose = _truth(store, tally)
    for file in (copies := store.copies()):
        _sqlite(file, store.name_of(file), tally)
    _derived(store, tally, owner, whose)
    found, size = _bytes(store, [file for file in copies if not file.is_relative_to(store.path)], topic)
    left = {f: n - tally.explained[f] for f, n in found.items() if n > tally.explained[f]}
    for each in REPEATING:
        if tally.explained[each]:
            left = {f: n for f, n in left.items() if not f.startswith(each) or f == FILE}
    return Scan(
        user, str(topic), tally.cells, size, dict(tally.mine), found, left, _vectors(store, topic), dict(tally.names),
        dict(tally.others),
    )  # fmt: skip


def _fold_log(store: Store) -> None:
    """What stands in SQLite's log as well as in its file is looked at once, where nobody reads it meanwhile."""
    if not store.readonly:
        with translated(store.file), closing(sqlite3.connect(store.file, timeout=BUSY_MS / 1000)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


# ── decoded ───────────────────────────────────────────────────────────────────────────────────────────


def _truth(store: Store, tally: _Tally) -> tuple[dict[int, str], dict[int, str]]:
    """Users by stream and by text, for what is derived names neither everywhere."""
    _sqlite(store.file, FILE, tally)
    with store.read() as truth:
        owner = {row.id: row.user for row in truth.exec_driver_sql("SELECT id, user FROM stream")}
        whose = {row.id: row.user for row in truth.exec_driver_sql("SELECT id, user FROM text")}
    if (store.path / CACHE_FILE).exists():
        _sqlite(store.path / CACHE_FILE, CACHE_FILE, tally)
    return owner, whose


def _sqlite(file: Path, name: str, tally: _Tally) -> None:
    """Every cell that holds text, also as bytes; numbers of vectors are no text."""
    address = uri_of(file, readonly=True)
    with translated(file), closing(sqlite3.connect(address, uri=True, timeout=BUSY_MS / 1000)) as db:
        tables = [t for (t,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for each in tables:
            found = db.execute(f'SELECT * FROM "{each}"')  # noqa: S608 - a name that SQLite told
            columns = [c[0] for c in found.description]
            owners = _owners(db, tables) if "stream" in columns and "user" not in columns else {}
            for row in found:
                line = dict(zip(columns, row, strict=True))
                user = line.get("user") or owners.get(line.get("stream"), "")
                for column, cell in line.items():
                    if column == "numbers" or not isinstance(cell, str | bytes):
                        continue
                    content = cell if isinstance(cell, str) else cell.decode("utf-8", "replace")
                    tally.add(name, each, user, content, name=column in _NAMES.get(each, ()))


def _owners(db: sqlite3.Connection, tables: list[str]) -> dict[Any, str]:
    return dict(db.execute("SELECT id, user FROM stream").fetchall()) if "stream" in tables else {}


def _derived(store: Store, tally: _Tally, owner: dict[int, str], whose: dict[int, str]) -> None:
    if (store.path / LOG_FILE).exists():
        from memory.stores.log import texts as logged  # loads duckdb

        named = {*owner.values()} | {s.scope.conversation for s in store.streams(own=True)}
        for place, key, content in logged(store):
            user = whose.get(key, "") if place == "word" else owner.get(key, "")
            tally.add(LOG_FILE, place, user, content, name=place == "stream" and content in named)
    if (store.path / INDEX_FOLDER).exists():
        from memory.stores.vectors import texts as indexed  # loads lancedb

        conversations = {s.scope.conversation for s in store.streams(own=True)}
        for place, user, content in indexed(store):
            tally.add(INDEX_FOLDER, place, user, content, name=content == user or content in conversations)


def _vectors(store: Store, topic: Topic) -> int:
    """Kept vectors of texts that name the topic, and of texts that nobody has any more, which may have."""
    wanted = wanted_texts(store)
    telling = {name for name, (content, _) in wanted.items() if content in topic}
    kept = kept_hashes(store)
    return len(kept & telling) + len(kept - wanted.keys())


# ── bytes ─────────────────────────────────────────────────────────────────────────────────────────────


def needles(topic: Topic) -> dict[str, list[bytes]]:
    """By encoding, the words as bytes, in small letters.

    >>> sorted(needles(Topic.of("花生")))
    ['json', 'utf-16', 'utf-8']
    """
    found: dict[str, list[bytes]] = {"utf-8": [], "utf-16": [], "json": []}
    for phrase in topic.phrases:
        for form in dict.fromkeys((phrase.lower(), phrase.upper(), phrase)):
            found["utf-8"].append(form.encode())
            found["utf-16"] += [form.encode("utf-16-le"), form.encode("utf-16-be")]
            if not form.isascii():
                found["json"].append(json.dumps(form)[1:-1].encode())
    return {name: sorted({each.lower() for each in all_}) for name, all_ in found.items() if all_}


def _bytes(store: Store, elsewhere: Iterable[Path], topic: Topic) -> tuple[dict[str, int], int]:
    """By file, how often the words stand in its bytes; and the size of all."""
    wanted = [each for all_ in needles(topic).values() for each in all_]
    longest, found, size = max(map(len, wanted)), {}, 0
    for file in (*sorted(p for p in store.path.rglob("*") if p.is_file()), *elsewhere):
        times = 0
        for before, block in _blocks(file, longest):
            times += sum((before + block).count(each) - before.count(each) for each in wanted)
            size += len(block)
        if times:
            found[store.name_of(file)] = times
    return found, size


def _blocks(file: Path, overlap: int) -> Iterator[tuple[bytes, bytes]]:
    """The file piece by piece in small letters, each with the end of the one before it."""
    before = b""
    for raw in _read(file):
        block = raw.lower()
        yield before, block
        before = (before + block)[-(overlap - 1) :] if overlap > 1 else b""


_KEPT: dict[tuple[int, int], int] = {}  # by device and inode: descriptors of SQLite's files


def _read(file: Path) -> Iterator[bytes]:
    """In blocks. SQLite's files by a descriptor that stays open: closing it would drop this process's locks."""
    if ".sqlite" not in file.name or not hasattr(os, "pread"):  # locks of Windows belong to a descriptor
        with file.open("rb") as opened:
            while block := opened.read(BLOCK):
                yield block
        return
    known = file.stat()
    place = (known.st_dev, known.st_ino)
    if place not in _KEPT:
        for gone in [each for each, kept in _KEPT.items() if not os.fstat(kept).st_nlink]:
            os.close(_KEPT.pop(gone))  # of a file that was deleted since: nobody can come to hold a lock of it
        _KEPT[place] = os.open(file, os.O_RDONLY)
    at = 0
    while block := os.pread(_KEPT[place], BLOCK, at):
        yield block
        at += len(block)
