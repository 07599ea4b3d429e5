"""A case file: some conversations with every decision in one redacted file, to be opened and replayed elsewhere.

A `.memcase` is a ZIP of `manifest.json` (what it is, what was taken out, a digest of each part), `memory.sqlite` (the
log, an excerpt of a store), `settings.json` (by run) and, where there are some, `vectors.sqlite`. It is opened
read-only, from a folder that goes with it. Whoever made it is not trusted: names, sizes and the database's schema are
looked at before anything reads it.

Not here: which words go (memory/redaction.py), which rows stay (memory/stores/excerpt.py), how a case looks as one
page (workbench/case_page.py).
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

import orjson

from memory.errors import CaseError, NotFound
from memory.events import read
from memory.redaction import Sorts
from memory.scope import RECORDED, Scope
from memory.settings import Settings
from memory.show import Shown, many, rows, table
from memory.stores import migrations
from memory.stores.care import backup
from memory.stores.excerpt import excerpt
from memory.stores.files import CACHE_FILE, FILE, of_os
from memory.stores.sql import Store
from sessions.export import clearing, new_file

if TYPE_CHECKING:
    from sessions.replay import Replay

FORMAT, VERSION = "memory-workbench case", 1
MANIFEST, SETTINGS = "manifest.json", "settings.json"
PARTS = (FILE, SETTINGS, CACHE_FILE)  # that may stand in a case beside its manifest, and nothing else
MOST_BYTES = 2_000_000_000  # of all parts, unpacked
MANIFEST_BYTES = 5_000_000
RATIO, PACKED_BYTES = 200, 65_536  # unpacked to packed, which counts as at least so much: a log packs to a tenth
CHUNK = 1 << 20


@dataclass(frozen=True)
class Manifest(Shown):
    """What a case holds, and what was taken out on the way."""

    version: int
    made_at: datetime
    made_by: str  # the program and its version
    user: str
    conversations: tuple[str, ...]
    runs: int
    turns: int
    events: int
    vectors: int
    facts: int
    facts_left_out: int  # that these conversations neither told nor read
    removed: dict[str, int]  # by sort
    personal: bool  # e-mail addresses and phone numbers stayed in
    parts: dict[str, str]  # by name, the SHA-256 of each

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def summary(self) -> str:
        """`trip of ana: 240 turns, 3 runs, 12 facts (4 left out); removed: 2 e-mail address`"""
        gone = ", ".join(f"{n} {sort}" for sort, n in self.removed.items()) or "nothing"
        facts = f"{many(self.facts, 'fact')} ({self.facts_left_out} of other conversations left out)"
        return (
            f"{', '.join(self.conversations)} of {self.user}: {many(self.turns, 'turn')}, {many(self.runs, 'run')}, "
            f"{facts}; removed: {gone}"
        )

    def __repr__(self) -> str:
        return f"<Manifest of a case, version {self.version}: {self.summary}>"

    def _html(self) -> str:
        figures = {"turns": self.turns, "runs": self.runs, "events": self.events, "vectors": self.vectors,
                   "facts": self.facts, "made by": self.made_by}  # fmt: skip
        return rows(", ".join(self.conversations), figures) + table(("taken out", "times"), self.removed.items())


# ── making one ────────────────────────────────────────────────────────────────────────────────────────


def make_case(
    store: Store,
    user: str,
    conversations: Sequence[str],
    to: str | Path,
    *,
    personal: bool = False,
    own: Sorts | None = None,
) -> Manifest:
    """Write a case file of these conversations of one user, all their runs; all of it or no file.

    `personal`: e-mail addresses and phone numbers stay in; `own`: more to take out (`redaction.own_patterns`).
    Raises NotFound, StoreError (it never overwrites).

    >>> make_case(store, "ana", ["trip"], "trip.memcase").removed                        # doctest: +SKIP
    {'e-mail address': 2}
    """
    target = Path(to).expanduser().resolve()
    by = clearing(store, [Scope(user, name) for name in conversations], personal=personal, own=own)
    with new_file(target) as part, tempfile.TemporaryDirectory(prefix="memcase-") as place:
        made, packed = Path(place) / "store", Path(place) / "packed"
        packed.mkdir()
        got = excerpt(store, made, user, conversations, by)
        turns = sum(store.require(store.main_run(user, name)).turns for name in conversations)
        backup(made / FILE, packed / FILE)
        if (made / CACHE_FILE).exists():
            backup(made / CACHE_FILE, packed / CACHE_FILE)
        with Store.open(made, readonly=True) as opened:
            (packed / SETTINGS).write_bytes(orjson.dumps(_settings(opened), option=orjson.OPT_INDENT_2))
        parts = {name: _digest(packed / name) for name in PARTS if (packed / name).exists()}
        manifest = Manifest(
            VERSION, store.clock(), f"memory-workbench {version('memory-workbench')}", got.user, got.conversations,
            got.runs, turns, got.events, got.vectors, got.facts, got.facts_left_out, got.removed, personal, parts,
        )  # fmt: skip
        _pack(part, packed, manifest)
    return manifest


def _settings(store: Store) -> dict[str, Any]:
    """By run, the settings that it ended with; a bare recording has none."""
    found = [stream.scope for stream in store.streams() if stream.scope.run != RECORDED]
    return {f"{scope.conversation}/{scope.run}": store.state(scope).settings.to_dict() for scope in found}


def _pack(to: Path, packed: Path, manifest: Manifest) -> None:
    told = orjson.dumps({"format": FORMAT, **manifest.to_dict()}, option=orjson.OPT_INDENT_2)
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as case:
        case.writestr(MANIFEST, told)
        for name in manifest.parts:
            case.write(packed / name, name)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


# ── opening one ───────────────────────────────────────────────────────────────────────────────────────


class Case(Shown):
    """An opened case file: `store` (read-only), `scope` (its first conversation's main run), `replay()`."""

    def __init__(self, file: Path, manifest: Manifest, folder: Path, store: Store) -> None:
        self.file, self.manifest, self.folder, self.store = file, manifest, folder, store

    @cached_property
    def scope(self) -> Scope:
        return self.store.main_run(self.manifest.user, self.manifest.conversations[0])

    def replay(self, **changes: Any) -> Replay:
        """The conversation again, under its own settings with `changes`: free, and the same on every machine."""
        from sessions.replay import replay

        settings = self.store.state(self.scope).settings if self.scope.run != RECORDED else Settings()
        return replay((self.store, self.scope), settings.but(**changes))

    def close(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Case:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Case {self.file.name}: {self.manifest.summary}>"

    def _html(self) -> str:
        return self.manifest._html()


def read_manifest(file: str | Path) -> Manifest:
    """What a case file says of itself. Raises CaseError for what is no case, or of a newer version."""
    with _opened(Path(file)) as case:
        return _manifest(case, Path(file))


def open_case(file: str | Path) -> Case:
    """Open a case read-only, in a folder of its own that is gone with `close()`.

    Raises CaseError where it is damaged, of a newer version, or holds anything that no case holds.
    """
    path = Path(file).expanduser()
    folder = Path(tempfile.mkdtemp(prefix="memcase-"))
    with ExitStack() as unless_opened:
        unless_opened.callback(shutil.rmtree, folder, ignore_errors=True)
        with _opened(path) as case:
            manifest = _manifest(case, path)
            for name in manifest.parts:
                _unpack(case, name, folder / name, manifest.parts[name], path)
        _plain_database(folder / FILE, path)
        opened = Case(path, manifest, folder, _store(folder))
        unless_opened.pop_all()
    return opened


def _store(folder: Path) -> Store:
    """One of an older schema is brought up to date first: the folder is ours."""
    with closing(sqlite3.connect(f"{(folder / FILE).as_uri()}?mode=ro", uri=True)) as db:
        if int(db.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0]) < len(migrations.MIGRATIONS):
            Store.open(folder).close()
    return Store.open(folder, readonly=True)


def _opened(file: Path) -> zipfile.ZipFile:
    try:
        case = zipfile.ZipFile(file)
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {file}") from error
    except zipfile.BadZipFile as error:
        raise CaseError(f"{file.name} is no case file, or only the beginning of one ({error})") from error
    except OSError as error:
        raise of_os(error, file) from error
    problem = _problem(case)
    if problem:
        case.close()
        raise CaseError(f"{file.name} is no case file that can be trusted: {problem}")
    return case


def _problem(case: zipfile.ZipFile) -> str:
    """What of the names and sizes is not as in a case; "" if nothing."""
    infos = case.infolist()
    names = [info.filename for info in infos]
    if strange := next((name for name in names if name not in (MANIFEST, *PARTS)), None):
        return f"it holds {strange[:60]!r}; a case holds {', '.join((MANIFEST, *PARTS))}"
    if len(set(names)) < len(names):
        return "it holds a part twice"
    if missing := next((name for name in (MANIFEST, FILE) if name not in names), None):
        return f"it has no {missing}"
    if any(info.flag_bits & 1 for info in infos):
        return "it is encrypted"
    for info in infos:
        most = MANIFEST_BYTES if info.filename == MANIFEST else MOST_BYTES
        if info.file_size > most or info.file_size > RATIO * max(info.compress_size, PACKED_BYTES):
            return f"{info.filename} unpacks to {info.file_size:,} bytes from {info.compress_size:,}"
    return ""


def _manifest(case: zipfile.ZipFile, file: Path) -> Manifest:
    try:
        raw = orjson.loads(case.read(MANIFEST))
        if raw["format"] != FORMAT:
            raise ValueError(f"its format is {raw['format']!r}")
        if raw["version"] > VERSION:
            raise CaseError(
                f"{file.name} is a case of version {raw['version']}; this program reads up to {VERSION}: "
                "update memory-workbench"
            )
        found = read(Manifest, {name: value for name, value in raw.items() if name != "format"}, tolerant=True)
        numbers = (found.runs, found.turns, found.events, found.vectors, found.facts, found.facts_left_out)
        if not all(type(n) is int for n in (*numbers, *found.removed.values())):
            raise ValueError("what it counts are no numbers")
        if not found.conversations or FILE not in found.parts:
            raise ValueError("it names no conversation, or no log")
        if strange := found.parts.keys() - set(PARTS):
            raise ValueError(f"it names {min(strange)!r}")
    except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, NotImplementedError) as error:
        raise CaseError(f"{file.name}: its manifest cannot be read ({type(error).__name__}: {error})") from error
    return found


def _unpack(case: zipfile.ZipFile, name: str, to: Path, digest: str, file: Path) -> None:
    """At most as many bytes as were announced, and exactly those whose digest the manifest names."""
    try:
        with case.open(name) as packed, to.open("wb") as out:
            found = _copied(packed, out, case.getinfo(name).file_size)
    except (KeyError, zipfile.BadZipFile, EOFError, NotImplementedError, ValueError) as error:
        raise CaseError(f"{file.name} is damaged: {name} cannot be unpacked ({error})") from error
    except OSError as error:
        raise of_os(error, to) from error
    if found != digest:
        raise CaseError(f"{file.name} is damaged: {name} is not what was put in; get the file again")


def _copied(packed: IO[bytes], out: IO[bytes], most: int) -> str:
    sha, read = hashlib.sha256(), 0
    while chunk := packed.read(CHUNK):
        read += len(chunk)
        if read > most:
            raise ValueError("it is larger than it says")
        sha.update(chunk)
        out.write(chunk)
    return sha.hexdigest()


def _plain_database(database: Path, file: Path) -> None:
    """Tables and their indexes, whole: triggers and views of somebody else's making would run in our name."""
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as db:
            kinds = {kind for (kind,) in db.execute("SELECT type FROM sqlite_master")}
            sound = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        raise CaseError(f"{file.name} is damaged: its log cannot be read ({error})") from error
    if strange := kinds - {"table", "index"}:
        raise CaseError(f"{file.name} is no case file that can be trusted: its log has a {min(strange)}")
    if sound != "ok":
        raise CaseError(f"{file.name} is damaged: {sound}")
