"""The files of a store: where they may lie, how they are opened, and what is said when they cannot be.

`memory.sqlite` is the truth; everything else in the folder is derived from it, but for the backups.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock, Timeout
from platformdirs import user_data_path
from sqlalchemy import Connection, create_engine, event
from sqlalchemy import Engine as SqlEngine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, QueuePool

from memory.errors import NotFound, StoreDamaged, StoreError, StoreFull, StoreLocked, StoreOnNetwork, StoreReadOnly

FILE = "memory.sqlite"
LOG_FILE = "events.duckdb"
INDEX_FOLDER = "vectors.lance"
INDEX_MARK = "at.json"  # in it: how far it came
CACHE_FILE = "vectors.sqlite"  # costs hours to make, so only words that are deleted take their vectors out of it
BACKUPS = "backups"
BUSY_MS = 5_000
WRITES = "writes"  # in a connection's info while the transaction that begins is to write: whether it shall be durable
NETWORK = {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afpfs", "ncpfs", "9p", "sshfs", "fuse.sshfs",
           "davfs", "fuse.davfs", "glusterfs", "fuse.glusterfs", "ceph", "fuse.ceph", "lustre", "afs"}  # fmt: skip

Mount = tuple[str, str]  # where, and the type of file system


def default_path() -> Path:
    """The platform's place for a user's data."""
    return user_data_path("memory-workbench", appauthor=False) / "store"


# ── where a store may lie ─────────────────────────────────────────────────────────────────────────────


def refuse_network(folder: Path, mounts: Iterable[Mount] | None = None) -> None:
    """SQLite's locks do not hold on network file systems; two writers would damage the file."""
    if mounts is None:
        mounts = [(part.mountpoint, part.fstype) for part in psutil.disk_partitions(all=True)]
    try:
        existing = next(p for p in (folder, *folder.parents) if p.exists())
    except OSError as error:  # a folder above it that may not be entered
        raise of_os(error, folder) from error
    around = [mount for mount in mounts if existing.is_relative_to(mount[0])]
    if not around:
        return
    where, kind = max(around, key=lambda mount: len(mount[0]))
    if kind.lower() in NETWORK:
        raise StoreOnNetwork(
            f"{folder} is on a network file system ({kind} at {where}), where locks do not hold: "
            "use a local folder, and copy backups there with `workbench backup`"
        )


def check_place(file: Path, *, readonly: bool) -> None:
    """The folder can be used, made if need be.

    The file itself is SQLite's alone to open: a descriptor of our own, once closed, would take away every lock that
    this process holds on it, and the next process to leave would delete the write-ahead log under our hands.
    """
    folder = file.parent
    try:
        if not readonly:
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
                raise StoreReadOnly(f"cannot write in {folder}: give another folder, or open it with readonly=True")
        elif not file.exists():
            raise NotFound(f"there is no store in {folder}; make one with `workbench import`")
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreReadOnly(f"{folder} is no folder; give another one") from error
    except OSError as error:
        raise of_os(error, folder) from error


def of_os(error: OSError, folder: Path) -> StoreError:
    """What the system's own words mean for a store."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StoreFull(f"no space left at {folder}; what was written before is safe: free some, then try again")
    if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM}:
        return StoreReadOnly(f"cannot use {folder}: {error.strerror}; give another folder with --store")
    return StoreError(f"cannot use {folder}: {error}")


# ── SQLite ────────────────────────────────────────────────────────────────────────────────────────────


def connect(file: Path, *, readonly: bool) -> SqlEngine:
    def open_file() -> sqlite3.Connection:
        return sqlite3.connect(
            uri_of(file, readonly=readonly),
            uri=True,
            isolation_level=None,
            timeout=BUSY_MS / 1000,
            check_same_thread=False,
        )

    if readonly:
        sql = create_engine("sqlite://", creator=open_file, poolclass=NullPool)
    else:  # as many connections as threads ask for; those above the pool's five are closed after use
        sql = create_engine("sqlite://", creator=open_file, poolclass=QueuePool, max_overflow=-1)

    @event.listens_for(sql, "connect")
    def _prepare(connection: Any, record: Any) -> None:
        pragmas = [f"busy_timeout={BUSY_MS}", "foreign_keys=ON", "secure_delete=ON"]
        if not readonly:
            pragmas += ["journal_mode=WAL", "synchronous=FULL"]
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(sql, "begin")
    def _begin(connection: Connection) -> None:
        known, db = connection.info, raw(connection)
        if WRITES in known:
            # In WAL mode NORMAL loses nothing when a process dies; FULL also survives the machine's end.
            wanted = "FULL" if known[WRITES] else "NORMAL"
            if known.get("synchronous") != wanted:
                db.execute(f"PRAGMA synchronous={wanted}")
                known["synchronous"] = wanted
            db.execute("BEGIN IMMEDIATE")  # a deferred one may fail at its first write
        else:
            db.execute("BEGIN")

    return sql


def raw(connection: Connection) -> sqlite3.Connection:
    """SQLite itself, in the transaction that is open: for what every step runs, where the way there costs the most."""
    found = connection.connection.driver_connection
    assert isinstance(found, sqlite3.Connection)
    return found


def uri_of(file: Path, *, readonly: bool) -> str:
    """SQLite's address of the file.

    In a folder where nothing can be made, a WAL file needs `immutable`: right only while nobody writes, and
    nobody can where there is no log beside it.
    """
    if not readonly:
        return f"{file.as_uri()}?mode=rwc"
    alone = not os.access(file.parent, os.W_OK) and not file.with_name(file.name + "-wal").exists()
    return f"{file.as_uri()}?mode=ro{'&immutable=1' if alone else ''}"


@contextmanager
def translated(file: Path) -> Iterator[None]:
    """SQLite's own words become an error that says what to do."""
    try:
        yield
    except DBAPIError as error:
        raise of_sqlite(error.orig, file) from error
    except sqlite3.Error as error:
        raise of_sqlite(error, file) from error


def of_sqlite(error: BaseException | None, file: Path) -> StoreError:
    name, said = getattr(error, "sqlite_errorname", ""), str(error)
    if name.startswith("SQLITE_FULL"):
        return StoreFull(f"the disk is full; what was committed is safe in {file}: free some space, then try again")
    if name in {"SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_SHMSIZE"}:
        return StoreFull(
            f"the system refuses to write to {file} (quota, file size limit, or a failing disk); "
            "what was committed before is safe: make room, then try again"
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StoreReadOnly(f"{file} cannot be written ({said}): check its permissions, or give another folder")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreLocked(f"another process holds the lock of {file} for more than {BUSY_MS / 1000:g} s; try again")
    if name.startswith("SQLITE_NOTADB"):
        return StoreDamaged(f"{file} is no SQLite file ({said}): restore a backup, or give another folder")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_IOERR")) or "no such" in said:
        return StoreDamaged(f"{file} is damaged ({said}): run `workbench verify`, restore a backup of it")
    if name.startswith("SQLITE_CONSTRAINT"):
        return StoreDamaged(f"{file} contradicts itself ({said}): run `workbench verify`, then `workbench rebuild`")
    return StoreError(f"{file}: {said}")


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


# ── what is derived ───────────────────────────────────────────────────────────────────────────────────


@contextmanager
def derived_lock(folder: Path, wait_s: float) -> Iterator[bool]:
    """One process at a time writes what is derived. False where another one does, or the folder is read-only."""
    if not os.access(folder, os.W_OK):
        yield False
        return
    lock = FileLock(folder / "derived.lock", timeout=wait_s)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def drop_derived(folder: Path) -> None:
    """Take away what holds words and can be made anew. Only under the lock."""
    drop_log(folder)
    drop_index(folder)


def drop_log(folder: Path) -> None:
    for name in (LOG_FILE, f"{LOG_FILE}.wal"):
        (folder / name).unlink(missing_ok=True)


def drop_index(folder: Path) -> None:
    """The mark of how far it came goes first: a folder without one is never taken for a whole one."""
    place = folder / INDEX_FOLDER
    (place / INDEX_MARK).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.rmtree(place)
