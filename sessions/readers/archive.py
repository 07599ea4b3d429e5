"""ZIP archives and folders as the files in them, each read like a file of its own.

Nothing is unpacked to the disk, so a path in an archive is a name and no place. What would fill the memory is refused
before anything is read, with what was found and what is allowed.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from memory.errors import RecordingError
from sessions.readers.source import Source
from sessions.recording import Skipped

READABLE = (".json", ".jsonl", ".ndjson")
MANIFEST, CONVERSATIONS = "export_manifest.json", "conversations.json"  # of ChatGPT: which shard comes after which
_NUMBERS = re.compile(r"(\d+)")
_PLACE = re.compile(r"^([A-Za-z]:|[/\\])|(^|[/\\])\.\.([/\\]|$)")


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may hold."""

    files: int = 20_000
    file_bytes: int = 2 * 1024**3
    bytes: int = 4 * 1024**3  # of all together
    ratio: int = 300  # of a file's size to what it is packed to; above 10 MB
    from_bytes: int = 10_000_000


LIMITS = Limits()


def is_archive(source: Source) -> bool:
    return source.raw.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def members(source: Source, limits: Limits = LIMITS) -> Iterator[Source | Skipped]:
    """The readable files in order, and a word on what is none. Raises RecordingError before anything is read."""
    try:
        archive = zipfile.ZipFile(BytesIO(source.raw))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise RecordingError(f"{source.name} is no ZIP archive that can be read: {error}; export it again") from error
    files = [each for each in archive.infolist() if not each.is_dir()]
    _check(source.name, files, limits)
    return _members(source, archive, files)


def _check(name: str, files: Sequence[zipfile.ZipInfo], limits: Limits) -> None:
    if len(files) > limits.files:
        raise RecordingError(f"{name} holds {len(files):,} files; up to {limits.files:,} are read: take it apart")
    total = sum(each.file_size for each in files)
    if total > limits.bytes:
        raise RecordingError(f"{name} unpacks to {total:,} bytes; up to {limits.bytes:,} are read: take it apart")
    for each in files:
        if each.file_size > limits.file_bytes:
            raise RecordingError(
                f"{name}: {each.filename} unpacks to {each.file_size:,} bytes; up to {limits.file_bytes:,} are read"
            )
        if each.file_size > limits.from_bytes and each.file_size > limits.ratio * max(each.compress_size, 1):
            raise RecordingError(
                f"{name}: {each.filename} unpacks to {each.file_size:,} bytes from {each.compress_size:,}; more than "
                f"{limits.ratio} times is taken for one made to fill the memory: unpack it yourself if it is none"
            )


def _members(source: Source, archive: zipfile.ZipFile, files: list[zipfile.ZipInfo]) -> Iterator[Source | Skipped]:
    order, lost = _manifest(archive, files)
    for each in lost:
        yield Skipped(f"{source.name}/{each}", f"{MANIFEST} names it, and it is not in the archive")
    for info in sorted(files, key=lambda each: (order.get(each.filename, len(order)), _natural(each.filename))):
        where = f"{source.name}/{info.filename}"
        if _PLACE.search(info.filename):
            yield Skipped(where, "its path leads out of the archive: not read")
        elif not _readable(info.filename):
            yield Source(where, b"")
        else:
            try:
                yield Source(where, archive.read(info), source.encoding)
            except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError) as error:
                yield Skipped(where, f"it cannot be unpacked: {error}")  # RuntimeError: it has a password


def _manifest(archive: zipfile.ZipFile, files: Sequence[zipfile.ZipInfo]) -> tuple[dict[str, int], list[str]]:
    """Where each shard stands, and those that are named and not there."""
    found = next((each for each in files if PurePosixPath(each.filename).name == MANIFEST), None)
    if found is None:
        return {}, []
    try:
        named: Any = json.loads(archive.read(found))["logical_files"][CONVERSATIONS]["files"]
        names = [each if isinstance(each, str) else each.get("name") or each["path"] for each in named]
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return {}, []  # the names' own order will do
    folder = PurePosixPath(found.filename).parent
    paths = [str(folder / name) for name in names]
    there = {each.filename for each in files}
    return {path: place for place, path in enumerate(paths)}, [path for path in paths if path not in there]


def _natural(name: str) -> list[tuple[int, str]]:
    """`part-2` before `part-10`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBERS.split(name)]


def _readable(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix.lower() in READABLE and not path.name.startswith(".") and "__MACOSX" not in path.parts


def files_in(folder: Path, encoding: str | None) -> Iterator[Source | Skipped]:
    """The files of a folder and those below it, archives among them opened; a link is not followed."""
    for path in sorted(
        (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()), key=lambda p: _natural(str(p))
    ):
        where = str(path.relative_to(folder))
        try:
            if path.suffix.lower() == ".zip":
                yield from members(Source.of(path, encoding))
            else:
                yield Source(where, Source.of(path, encoding).raw if _readable(where) else b"", encoding)
        except RecordingError as error:
            yield Skipped(where, str(error))
