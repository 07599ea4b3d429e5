"""Files of recorded conversations, one module a format. `read` finds out which, and says so in the recording.

A reader takes a `Source` and yields what it finds: a `Recording` per conversation, a `Skipped` for what belongs to
none. One that cannot be read stops no other; a file that cannot be read at all is a RecordingError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from memory.errors import RecordingError, UnknownName
from sessions.readers import chatgpt, locomo, otlp, workbench
from sessions.readers.source import Source
from sessions.recording import Recording, Skipped

Reader = Callable[..., Iterator[Recording | Skipped]]  # takes a Source, and options of its own by name

READERS: dict[str, Reader] = {
    "workbench": workbench.read,
    "locomo": locomo.read,
    "otlp": otlp.read,
    "chatgpt": chatgpt.read,
}
LOOKS_LIKE: dict[str, Callable[[Source], bool]] = {
    "workbench": workbench.looks_like,
    "locomo": locomo.looks_like,
    "otlp": otlp.looks_like,
    "chatgpt": chatgpt.looks_like,
}


def read(
    path: str | Path | bytes,
    format: str | None = None,  # noqa: A002 -- what the command line calls it too
    encoding: str | None = None,
    **options: Any,
) -> Iterator[Recording | Skipped]:
    """What a file (or its bytes) holds, conversation by conversation.

    `format` is one of READERS, None: found out from the content. `encoding` overrides what the bytes look like.
    `options` go to the reader. Raises RecordingError for a file that no reader can read, before anything is yielded.
    """
    source = Source.of(path, encoding)
    name = format or guess(source)
    if name not in READERS:
        raise UnknownName("format of recordings", name, READERS)
    return _with_notes(source, READERS[name](source, **options))


def guess(source: Source) -> str:
    """The format's name, from the content."""
    if not source.raw.strip():
        raise RecordingError(f"{source.name} is empty")
    for name, fits in LOOKS_LIKE.items():
        if fits(source):
            return name
    raise RecordingError(
        f"{source.name} is in no format that is known here; it begins with {source.text[:40]!r}. "
        f"Name the format if it is one of: {', '.join(sorted(READERS))}"
    )


def _with_notes(source: Source, found: Iterator[Recording | Skipped]) -> Iterator[Recording | Skipped]:
    for one in found:
        if isinstance(one, Recording) and source.notes:
            one = replace(one, notes=(*source.notes, *one.notes))
        yield one
