"""Files of recorded conversations, one module a format. `read` finds out which, and says so in the recording.

A reader takes a `Source` and yields what it finds: a `Recording` per conversation, a `Skipped` for what belongs to
none. One that cannot be read stops no other; a file that cannot be read at all is a RecordingError. A conversation of
traces (WOVEN) goes on from file to file: their readers take all sources of a folder or an archive at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from memory.errors import RecordingError, UnknownName
from sessions.readers import atif, chatgpt, claude, claude_code, langfuse, locomo, messages, otlp, workbench
from sessions.readers.archive import files_in, is_archive, members
from sessions.readers.source import Source
from sessions.recording import Recording, Skipped
from sessions.threads import Weave, woven

NAMED = 6  # files that are named where there are many

Reader = Callable[..., Iterator[Recording | Skipped]]  # takes a Source, and options of its own by name

READERS: dict[str, Reader] = {
    "workbench": workbench.read,
    "locomo": locomo.read,
    "otlp": otlp.read,
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "claude_code": claude_code.read,
    "atif": atif.read,
    "langfuse": langfuse.read,
    "sharegpt": messages.read_sharegpt,
    "openai": messages.read_openai,
}
WOVEN = ("otlp", "langfuse")  # made of spans
LOOKS_LIKE: dict[str, Callable[[Source], bool]] = {
    "workbench": workbench.looks_like,
    "locomo": locomo.looks_like,
    "otlp": otlp.looks_like,
    "chatgpt": chatgpt.looks_like,
    "claude": claude.looks_like,
    "claude_code": claude_code.looks_like,
    "atif": atif.looks_like,
    "langfuse": langfuse.looks_like,
    "sharegpt": messages.sharegpt_looks_like,
    "openai": messages.openai_looks_like,  # last: a message with a role is in many formats
}


def read(
    path: str | Path | bytes,
    format: str | None = None,  # noqa: A002 -- what the command line calls it too
    encoding: str | None = None,
    weave: Weave = woven,
    **options: Any,
) -> Iterator[Recording | Skipped]:
    """What a file (or its bytes, or each file of a folder or a ZIP archive) holds, conversation by conversation.

    `format` is one of READERS, None: found out from the content. `encoding` overrides what the bytes look like. `weave`
    makes conversations of spans: `weaver(store)` goes on with those that a store has. `options` go to the reader.
    Raises RecordingError for a file that no reader can read, before anything is yielded; in a folder or an archive such
    a file is skipped.
    """
    if format is not None and format not in READERS:
        raise UnknownName("format of recordings", format, READERS)
    if not isinstance(path, bytes) and Path(path).expanduser().is_dir():
        return _every(files_in(Path(path).expanduser(), encoding), format, weave, options)
    source = Source.of(path, encoding)
    if is_archive(source):
        return _every(members(source), format, weave, options)
    return _read([source], format or guess(source), weave, options)


def _every(
    found: Iterator[Source | Skipped],
    format: str | None,  # noqa: A002
    weave: Weave,
    options: dict[str, Any],
) -> Iterator[Recording | Skipped]:
    """Each file on its own, traces together; those that hold no conversation are named together."""
    aside = []
    traces: dict[str, list[Source]] = defaultdict(list)
    for source in found:
        if isinstance(source, Skipped):
            yield source
            continue
        try:
            name = (format if source.raw else None) or guess(source)
        except RecordingError:
            aside.append(PurePath(source.name).name)
            continue
        if name in WOVEN:
            traces[name].append(source)
        else:
            yield from _read_or_skipped([source], name, weave, options)
    for name, sources in traces.items():
        yield from _read_or_skipped(sources, name, weave, options)
    if aside:
        more = f" and {len(aside) - NAMED} more" if len(aside) > NAMED else ""
        reason = f"no conversation in a format that is known here: {', '.join(aside[:NAMED])}{more}"
        yield Skipped(f"{len(aside)} other file{'s' * (len(aside) > 1)}", reason)


def _read_or_skipped(
    sources: Sequence[Source], name: str, weave: Weave, options: dict[str, Any]
) -> Iterator[Recording | Skipped]:
    try:
        yield from _read(sources, name, weave, options)
    except RecordingError as error:
        yield Skipped(sources[0].name, str(error))


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


def _read(sources: Sequence[Source], name: str, weave: Weave, options: dict[str, Any]) -> Iterator[Recording | Skipped]:
    weaving = {"weave": weave} if name in WOVEN else {}
    for one in READERS[name](*sources, **weaving, **options):
        notes = dict.fromkeys(note for source in sources for note in source.notes)
        if isinstance(one, Recording) and notes:
            one = replace(one, notes=(*notes, *one.notes))
        yield one
