"""The bytes of a file of recordings, and its text: UTF-8 first, a byte order mark respected, else a named guess."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from memory.errors import RecordingError
from sessions.readers.documents import PROBED, Document, documents

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Source:
    name: str
    raw: bytes
    encoding: str | None = None  # as the caller says; None: from the bytes

    @classmethod
    def of(cls, path: str | Path | bytes, encoding: str | None = None) -> Source:
        if encoding is not None:
            _check_known(encoding)
        if isinstance(path, bytes):
            return cls("the given bytes", path, encoding)
        try:
            return cls(Path(path).name, Path(path).expanduser().read_bytes(), encoding)
        except OSError as error:
            raise RecordingError(f"cannot read {path}: {error.strerror}") from error

    @cached_property
    def text(self) -> str:
        return self._decoded[0]

    @cached_property
    def head(self) -> list[dict[str, Any]]:
        """The first objects in it, to see what format they are."""
        found = islice(documents(self.text), PROBED)
        return [one.value for one in found if isinstance(one, Document) and isinstance(one.value, dict)]

    @property
    def notes(self) -> tuple[str, ...]:
        return self._decoded[1]

    @cached_property
    def _decoded(self) -> tuple[str, tuple[str, ...]]:
        if self.encoding is not None:
            return self._strictly(self.encoding), ()
        marked = next((name for mark, name in MARKS if self.raw.startswith(mark)), None)
        if marked is not None:
            return self._strictly(marked), ()
        try:
            return self.raw.decode("utf-8"), ()
        except UnicodeDecodeError as error:
            guessed = fallback(self.raw)
            note = f"not UTF-8 (byte {error.start}): read as {guessed}; if that is wrong, name its encoding"
            return self.raw.decode(guessed, "replace"), (note,)

    def _strictly(self, encoding: str) -> str:
        try:
            return self.raw.decode(encoding).removeprefix("\ufeff")
        except UnicodeError as error:
            raise RecordingError(f"{self.name} is not {encoding}: {error}; name its encoding") from error


def fallback(raw: bytes) -> str:
    """gb18030 or cp1252: in Chinese text high bytes come in pairs, in Western text they stand alone."""
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", raw)]
    paired = sum(n for n in runs if n > 1)
    try:
        raw.decode("gb18030")
    except UnicodeDecodeError:
        return "cp1252"
    return "gb18030" if paired > sum(runs) / 2 else "cp1252"


def _check_known(encoding: str) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise RecordingError(f"no encoding named {encoding!r}; common ones: utf-8, utf-16, gb18030, cp1252") from None
