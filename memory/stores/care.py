"""Copies of the truth, and taking words out of it for good."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, delete, select, text

from memory.errors import NotFound, StoreError, StoreFull, StoreLocked
from memory.stores.files import (
    BACKUPS,
    BUSY_MS,
    CACHE_FILE,
    FILE,
    LOG_FILE,
    derived_lock,
    drop_derived,
    of_os,
    translated,
    uri_of,
)
from memory.stores.tables import EVENT, JOB, LEASE, META, MIGRATION, SNAPSHOT, STREAM, TEXT

WIPE = "wipe"  # in `meta` while deleted words may still lie in the file's unused bytes
WIPE_S = 10.0
NOTED = "backup:"  # in `meta`, before the path of a backup outside of the store's folder


def backup(source: Path, target: Path) -> Path:
    """A consistent copy of an SQLite file while others go on writing. Never overwrites; all of it or no file."""
    if target.exists():
        raise StoreError(f"{target} exists; a backup never overwrites: give another name")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _room_for(source, target.parent)
        with translated(part):
            _copy(source, part)
        os.link(part, target)  # fails where a file of this name came meanwhile
    except FileExistsError as error:
        raise StoreError(f"{target} exists; a backup never overwrites: give another name") from error
    except OSError as error:
        raise of_os(error, target.parent) from error
    finally:
        part.unlink(missing_ok=True)
    return target


def _room_for(source: Path, folder: Path) -> None:
    log = source.with_name(source.name + "-wal")
    need = source.stat().st_size + (log.stat().st_size if log.exists() else 0)
    free = shutil.disk_usage(folder).free
    if free < need * 1.1:
        raise StoreFull(f"a backup needs {need:,} bytes; {free:,} are free at {folder}")


def _copy(source: Path, part: Path) -> None:
    with (
        closing(sqlite3.connect(uri_of(source, readonly=True), uri=True)) as origin,
        closing(sqlite3.connect(part)) as copy,
    ):
        origin.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # a single file, readable from a read-only medium


def delete_conversation(connection: Connection, user: str, conversation: str) -> int:
    """Rows, words and all, in the caller's transaction. Returns the events removed."""
    mine = (STREAM.c.user == user, STREAM.c.conversation == conversation)
    streams = list(connection.scalars(select(STREAM.c.id).where(*mine)))
    if not streams:
        known = sorted(set(connection.scalars(select(STREAM.c.conversation).where(STREAM.c.user == user))))
        raise NotFound(f"no conversation {conversation!r} of user {user!r}; known: {', '.join(known[:12]) or 'none'}")
    for table in (SNAPSHOT, LEASE):
        connection.execute(delete(table).where(table.c.stream.in_(streams)))
    removed = connection.execute(delete(EVENT).where(EVENT.c.stream.in_(streams))).rowcount
    for table in (TEXT, JOB):
        connection.execute(delete(table).where(table.c.user == user, table.c.conversation == conversation))
    connection.execute(delete(STREAM).where(*mine))
    begin_wipe(connection)
    return removed


def delete_run(
    connection: Connection, stream: int, user: str, conversation: str, run: str, texts: Iterable[int]
) -> int:
    """One run's rows, and these words, in the caller's transaction. Returns the events removed."""
    for table in (SNAPSHOT, LEASE):
        connection.execute(delete(table).where(table.c.stream == stream))
    removed = connection.execute(delete(EVENT).where(EVENT.c.stream == stream)).rowcount
    mine = (JOB.c.user == user, JOB.c.conversation == conversation, JOB.c.run == run)
    connection.execute(delete(JOB).where(*mine))
    ids = list(texts)
    for start in range(0, len(ids), 500):
        some = TEXT.c.id.in_(ids[start : start + 500])
        connection.execute(delete(TEXT).where(some, TEXT.c.user == user, TEXT.c.conversation == conversation))
    connection.execute(delete(STREAM).where(STREAM.c.id == stream))
    begin_wipe(connection)
    return removed


def begin_wipe(connection: Connection) -> None:
    """In the transaction that takes words away: whoever holds copies of them drops these, and bytes wait for `wipe`."""
    connection.execute(text("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation'"))
    connection.execute(META.insert().prefix_with("OR REPLACE"), [{"key": WIPE, "value": "1"}])


def wipe(file: Path, wait_s: float = WIPE_S) -> None:
    """Nothing that was deleted stays readable: not in the file, not in its log, not in what is derived.

    Raises StoreLocked where a long reader keeps the log alive; it is tried again when the store is next opened.
    """
    deadline = time.monotonic() + wait_s
    with translated(file), closing(sqlite3.connect(file, isolation_level=None, timeout=BUSY_MS / 1000)) as connection:
        connection.execute("VACUUM")
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > deadline:
                raise StoreLocked(
                    f"deleted, but {file.name}-wal still holds the words while another program reads the store: "
                    "close it, then open the store again, which wipes them"
                )
            time.sleep(0.05)
    with derived_lock(file.parent, wait_s) as ours:
        if not ours:
            raise StoreLocked(f"deleted, but another process writes {LOG_FILE}: open the store again later")
        drop_derived(file.parent)
    with translated(file), closing(sqlite3.connect(file, isolation_level=None, timeout=BUSY_MS / 1000)) as connection:
        connection.execute("DELETE FROM meta WHERE key = ?", (WIPE,))


def note_backup(connection: Connection, file: Path) -> None:
    """A backup was written to a place of its own: an erase looks for it there."""
    connection.execute(META.insert().prefix_with("OR REPLACE"), [{"key": f"{NOTED}{file}", "value": "1"}])


def noted_backups(connection: Connection) -> list[Path]:
    keys = connection.scalars(select(META.c.key).where(META.c.key.startswith(NOTED)))
    return sorted(Path(key.removeprefix(NOTED)) for key in keys)


def copies(folder: Path, connection: Connection) -> list[Path]:
    """Backups of this store in its folder and where they were noted: they hold also what was deleted since.

    The store's own files are not touched: whoever opens one and closes it drops this process's locks on it.
    """
    beside = (each for each in folder.glob("*") if not each.name.startswith((FILE, LOG_FILE, CACHE_FILE)))
    found = {*beside, *(folder / BACKUPS).rglob("*"), *noted_backups(connection)}
    began = connection.execute(select(MIGRATION.c.name, MIGRATION.c.applied_us).where(MIGRATION.c.number == 1)).one()
    return sorted(file for file in found if file.is_file() and _began(file) == tuple(began))


def _began(file: Path) -> tuple[object, ...] | None:
    """When the store was made that this file is a backup of; None: it is none, or somebody opened it as a store."""
    with closing(sqlite3.connect(uri_of(file, readonly=True), uri=True)) as connection:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
                return None
            found = connection.execute("SELECT name, applied_us FROM migration WHERE number = 1").fetchone()
            return found and tuple(found)
        except sqlite3.DatabaseError:  # of another program
            return None


def clean_copy(
    file: Path, user: str, texts: Mapping[int, str], records: Mapping[int, str], without: Callable[[str], str]
) -> bool:
    """Erased words leave a backup as they leave the truth: these rows, and what `without` shortens. True if any did.

    A copy holds rows that the truth has no more, of conversations that were deleted since; so every text is looked at.
    """
    with translated(file), closing(sqlite3.connect(file, isolation_level=None, timeout=BUSY_MS / 1000)) as copy:
        copy.execute("PRAGMA secure_delete=ON")
        mine = copy.execute("SELECT id, content FROM text WHERE user = ?", (user,)).fetchall()
        new = {i: texts.get(i, without(content)) for i, content in mine}
        changed = [(new[i], i, user) for i, content in mine if new[i] != content]
        copy.execute("BEGIN IMMEDIATE")
        before = copy.total_changes
        copy.executemany("UPDATE text SET content = ? WHERE id = ? AND user = ?", changed)
        rows = [(body, seq, user, body) for seq, body in records.items()]
        copy.executemany("UPDATE event SET body = ? WHERE seq = ? AND user = ? AND body <> ?", rows)
        if copy.total_changes > before:
            copy.execute("DELETE FROM snapshot WHERE stream IN (SELECT id FROM stream WHERE user = ?)", (user,))
        copy.execute("COMMIT")
        if copy.total_changes > before:
            copy.execute("VACUUM")
        return copy.total_changes > before
