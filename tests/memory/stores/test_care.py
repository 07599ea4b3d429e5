"""Backups, deletion, migrations, and everything a disk does to a store."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from store_by_hand import SCRIPT, Hand, open_hand

from memory.errors import (
    NotFound,
    StaleAppend,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreOnNetwork,
    StoreReadOnly,
    StoreTooNew,
)
from memory.scope import Scope
from memory.stores import migrations
from memory.stores.files import FILE, LOG_FILE, refuse_network
from memory.stores.jobs import jobs
from memory.stores.sql import Store
from memory.stores.sync import sync
from memory.stores.verify import verify

LIVE = Scope("ana", "trip")


def files_with(folder: Path, words: str) -> list[str]:
    return sorted(f.name for f in folder.rglob("*") if f.is_file() and words.encode() in f.read_bytes())


# ── deletion ──────────────────────────────────────────────────────────────────────────────────────────


def test_deleted_words_are_gone_from_every_byte_in_the_folder(store: Store, folder: Path):
    open_hand(store, LIVE).talk(30, about="CANARY-9041")
    open_hand(store, Scope("ana", "work")).talk(5, about="KEPT-WORK")
    open_hand(store, Scope("bo", "trip")).talk(5, about="KEPT-BO")
    events = len(store.events(LIVE))
    sync(store)
    assert any(name.startswith(FILE) for name in files_with(folder, "CANARY-9041"))
    assert files_with(folder, "CANARY-9041")
    assert store.delete("ana", "trip") == events
    assert files_with(folder, "CANARY-9041") == []
    assert [s.scope for s in store.streams()] == [Scope("bo", "trip"), Scope("ana", "work")]
    for scope, words in ((Scope("ana", "work"), "KEPT-WORK"), (Scope("bo", "trip"), "KEPT-BO")):
        assert words in repr(store.words(scope))
    assert verify(store).ok
    assert store.sql("SELECT count(*) FROM turns WHERE text LIKE '%CANARY%'").rows == [(0,)]


def test_other_processes_drop_what_they_know_of_a_deleted_conversation(store: Store, folder: Path):
    with Store.open(folder) as other:
        open_hand(store, LIVE).talk(3, about="CANARY-1")
        elsewhere = open_hand(other, LIVE)
        words = [elsewhere.journal.words(t.text) for p in elsewhere.state.pages.values() for t in p.turns]
        assert "CANARY-1" in repr(words)
        assert other.sql("SELECT count(*) FROM turns").rows == [(6,)]
        before = other.generation()
        store.delete("ana", "trip")
        assert other.generation() == before + 1
        assert other.sql("SELECT count(*) FROM turns").rows == [(0,)]
        with pytest.raises(StaleAppend, match="deleted meanwhile"):
            elsewhere.step("goes on as if nothing had happened")
        with pytest.raises(NotFound):
            elsewhere.refresh()


def test_a_late_writer_does_not_meet_another_run_under_the_old_number(store: Store, hand: Hand):
    hand.start()
    store.delete("ana", "trip")
    open_hand(store, Scope("bo", "secret")).start()
    with pytest.raises(StaleAppend):
        hand.step("lands nowhere")
    assert store.check() == []


def test_deleting_what_is_not_there_says_what_is(store: Store, hand: Hand):
    hand.start()
    with pytest.raises(NotFound, match="known: trip"):
        store.delete("ana", "tripp")
    with pytest.raises(NotFound, match="known: none"):
        store.delete("bo", "trip")


def test_a_deletion_that_a_crash_cut_off_is_finished_at_the_next_opening(store: Store, hand: Hand, folder: Path):
    from memory.stores import care

    hand.talk(10, about="CANARY-77")
    sync(store)
    with store.write() as connection:
        care.delete_conversation(connection, "ana", "trip")
    assert files_with(folder, "CANARY-77")
    store.close()
    Store.open(folder).close()
    assert files_with(folder, "CANARY-77") == []


# ── backup ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_backup_made_while_another_writes_opens_and_verifies(folder: Path, tmp_path: Path, spawn):
    writer = spawn("write", folder, "ana", "trip", 1_000)
    for _ in range(3):
        writer.stdout.readline()
    with Store.open(folder) as store:
        copies = [store.backup(tmp_path / f"copy{n}" / FILE) for n in range(3)]
        with pytest.raises(StoreError, match="never overwrites"):
            store.backup(copies[0])
    writer.kill()
    for copy in copies:
        with Store.open(copy.parent) as restored:
            assert verify(restored).ok
            assert restored.streams()
    assert not list(tmp_path.rglob("*.part"))


# ── schema ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_newer_schema_is_refused_and_the_file_unchanged(store: Store, hand: Hand, folder: Path):
    hand.start()
    store.close()
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as raw:
        raw.execute("INSERT INTO migration VALUES (99, 'from_the_future', 0)")
        raw.execute("PRAGMA journal_mode = DELETE")
    before = (folder / FILE).read_bytes()
    with pytest.raises(StoreTooNew, match="schema 99"):
        Store.open(folder)
    assert (folder / FILE).read_bytes() == before


def test_a_migration_that_fails_half_way_changes_nothing_and_leaves_a_backup(
    store: Store, hand: Hand, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    hand.talk(2)
    store.close()

    def broken(connection) -> None:
        connection.execute(text("ALTER TABLE event ADD COLUMN mood TEXT"))
        raise RuntimeError("the power went out")

    monkeypatch.setattr(migrations, "MIGRATIONS", [*migrations.MIGRATIONS, broken])
    with pytest.raises(RuntimeError, match="power"):
        Store.open(folder)
    monkeypatch.undo()
    with Store.open(folder) as again:
        assert verify(again).ok
        assert len(again.copies()) == 1
        with again.read() as connection:
            assert "mood" not in [row[1] for row in connection.execute(text("PRAGMA table_info(event)"))]


def test_a_migration_runs_once_with_its_record(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch):
    store.close()

    def add_mood(connection) -> None:
        connection.execute(text("ALTER TABLE event ADD COLUMN mood TEXT"))

    monkeypatch.setattr(migrations, "MIGRATIONS", [*migrations.MIGRATIONS, add_mood])
    for _ in range(2):
        Store.open(folder).close()
    with Store.open(folder) as again, again.read() as connection:
        assert connection.execute(text("SELECT number, name FROM migration")).all()[-1] == (3, "add_mood")


BACK = {2: "DROP TABLE job"}  # what undoes each migration: a store as the program before it left one


@pytest.mark.parametrize("known", range(1, len(migrations.MIGRATIONS)))
def test_a_store_of_an_earlier_schema_opens_with_all_that_it_held(store: Store, hand: Hand, folder: Path, known: int):
    hand.talk(2)
    before = store.events(LIVE)
    store.close()
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as raw:
        for number in range(len(migrations.MIGRATIONS), known, -1):
            raw.execute(BACK[number])
            raw.execute("DELETE FROM migration WHERE number = ?", (number,))
    with Store.open(folder) as again:
        newest = len(migrations.MIGRATIONS)
        with again.read() as connection:
            assert migrations.applied(connection) == newest
        assert again.events(LIVE) == before
        assert verify(again).ok
        assert jobs(again) == []
        assert [copy.name.rpartition("-")[0] for copy in again.copies()] == [f"before-schema-{newest}"]
        open_hand(again, LIVE).step("and on it goes")


# ── damage ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def filled(folder: Path) -> Path:
    """A closed store of a few hundred events; its SQLite file."""
    with Store.open(folder) as store:
        open_hand(store, LIVE).talk(80)
    with closing(sqlite3.connect(folder / FILE)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder / FILE


def told_of(folder: Path) -> str:
    """How the damage is told: by an error at opening, or by verify."""
    try:
        with Store.open(folder) as store:
            return repr(verify(store).faults)
    except StoreDamaged as error:
        return str(error)


def test_garbage_in_place_of_the_header_is_named(filled: Path):
    filled.write_bytes(b"GARBAGE!" + filled.read_bytes()[8:])
    with pytest.raises(StoreDamaged, match="no SQLite file"):
        Store.open(filled.parent)


def test_a_file_cut_in_the_middle_is_named(filled: Path):
    os.truncate(filled, filled.stat().st_size // 2 // 4096 * 4096)
    assert "malformed" in told_of(filled.parent) or "damaged" in told_of(filled.parent)


def test_a_flipped_page_is_named(filled: Path):
    raw = bytearray(filled.read_bytes())
    for at in range(len(raw) // 8192 * 4096, len(raw), 4096):
        raw[at : at + 64] = bytes(b ^ 0xFF for b in raw[at : at + 64])
    filled.write_bytes(raw)
    assert told_of(filled.parent) != "()"


def test_another_programs_file_is_left_alone(folder: Path):
    folder.mkdir()
    with closing(sqlite3.connect(folder / FILE)) as raw:
        raw.execute("CREATE TABLE bookmarks_of_a_browser (url TEXT)")
    before = (folder / FILE).read_bytes()
    with pytest.raises(StoreDamaged, match="another program"):
        Store.open(folder)
    assert (folder / FILE).read_bytes() == before


# ── no room, no right, no lock ────────────────────────────────────────────────────────────────────────


def test_a_full_disk_in_the_middle_of_a_step_loses_nothing_and_works_again_later(store: Store, hand: Hand):
    hand.talk(3)
    with store.read() as connection:
        pages = connection.scalar(text("PRAGMA page_count"))
    from sqlalchemy import event

    def limit(connection, record, proxy) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages + 20}")

    event.listen(store._engine, "checkout", limit)
    hand.receive("this one is acknowledged")
    before = store.state(LIVE)
    with pytest.raises(StoreFull, match="free"):
        hand.answer("x" * 1_000_000)
    assert store.state(LIVE) == before
    assert "this one is acknowledged" in store.words(LIVE).values()
    event.remove(store._engine, "checkout", limit)
    with store.read() as connection:
        connection.execute(text("PRAGMA max_page_count = 4294967294"))
    hand.refresh()
    hand.answer("and now it fits")
    assert verify(store).ok


def test_a_file_size_limit_is_told_as_no_room(folder: Path):
    limited = f"import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); " \
              f"resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000)); " \
              f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import store_by_hand; " \
              f"store_by_hand.write({str(folder)!r}, 'ana', 'trip', '2000')"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, timeout=120, check=False)
    assert "StoreFull" in done.stderr
    with Store.open(folder) as store:
        assert {*done.stdout.splitlines()} <= {*store.words(LIVE).values()}
        assert verify(store).ok
        hand = open_hand(store, LIVE)
        hand.step("there is room again")


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="users and permissions of POSIX")
def test_a_read_only_folder_is_refused_for_writing_and_can_be_read(filled: Path):
    """As another user, for root may write anywhere."""
    folder = Path(tempfile.mkdtemp()) / "store"  # pytest's own folders may not be entered by others
    shutil.copytree(filled.parent, folder)
    for leftover in ("-wal", "-shm"):
        (folder / (FILE + leftover)).unlink(missing_ok=True)
    (folder / FILE).chmod(0o444)
    folder.chmod(0o555)
    folder.parent.chmod(0o755)
    code = f"""
import os
from memory.errors import StoreReadOnly
from memory.stores.log import Log
from memory.stores.sql import Store
from memory.stores.sync import sync
from memory.stores.verify import verify
if os.getuid() == 0:
    os.setuid(65534)
try:
    Store.open({str(folder)!r})
except StoreReadOnly as error:
    print("refused:", error)
with Store.open({str(folder)!r}, readonly=True) as store:
    print(sync(store).skipped, store.sql("SELECT count(*) FROM turns").rows, verify(store).ok)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    folder.chmod(0o755)
    shutil.rmtree(folder.parent)
    if "No module named" in done.stderr or ("Permission denied" in done.stderr and str(folder) not in done.stderr):
        pytest.skip("the other user cannot read Python itself")
    assert "refused: cannot write in" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "the store was opened read-only [(160,)] True", done.stderr


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="users and permissions of POSIX")
def test_a_folder_that_may_not_be_entered_is_told(tmp_path: Path):
    code = f"""
import os
from memory.stores.sql import Store
if os.getuid() == 0:
    os.setuid(65534)
Store.open({str(tmp_path / "locked" / "store")!r})
"""
    (tmp_path / "locked").mkdir(mode=0o700)
    (tmp_path / "locked").chmod(0o000)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    (tmp_path / "locked").chmod(0o700)
    assert "StoreReadOnly: cannot use" in done.stderr


def test_a_store_opened_read_only_writes_nothing(filled: Path):
    with Store.open(filled.parent, readonly=True) as store:
        with pytest.raises(StoreReadOnly):
            open_hand(store, LIVE).step("no")
        with pytest.raises(StoreReadOnly):
            store.delete("ana", "trip")
        assert store.sql("SELECT count(*) FROM turns").rows == [(160,)]
    assert not (filled.parent / LOG_FILE).exists()


def test_there_is_nothing_to_read_where_no_store_is(folder: Path):
    with pytest.raises(NotFound, match="workbench import"):
        Store.open(folder, readonly=True)
    assert not folder.exists()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path):
    (tmp_path / "store").write_text("I am a file")
    with pytest.raises(StoreReadOnly, match="no folder"):
        Store.open(tmp_path / "store")


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p"])
def test_a_network_file_system_is_refused(kind: str):
    mounts = [("/", "ext4"), ("/home", "ext4"), ("/home/ana/share", kind)]
    missing = Path("/home/ana/share/deep/store")
    refuse_network(Path("/home/ana/store"), mounts)
    with pytest.raises(StoreOnNetwork, match=kind):
        refuse_network(Path("/"), [("/", kind)])
    refuse_network(missing, [("/", "ext4")])


def test_a_folder_name_with_signs_of_an_address_works(tmp_path: Path):
    with Store.open(tmp_path / "what? 100% #1 'quoted'") as store:
        open_hand(store, LIVE).talk(2)
        assert store.sql("SELECT count(*) FROM turns").rows == [(4,)]
        assert verify(store).ok


def test_a_backup_without_room_leaves_nothing_behind(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(StoreFull, match="a backup needs"):
        store.backup(tmp_path / "copy.sqlite")
    assert not (tmp_path / "copy.sqlite").exists()
