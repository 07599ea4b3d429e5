"""What the readers of other programs' files share: each conversation on its own, times in every unit, what is left.

What a file says of a message and a turn has no field for is its `extra`: whatever the reader did not take.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Any, TypeVar

from memory.errors import RecordingError
from sessions.readers.documents import Document, documents
from sessions.readers.source import Source
from sessions.recording import Draft, RecordedCall, Recording, Skipped
from sessions.spans import Span

Made = Recording | Skipped
FIRST, LAST = 1990, 2200  # years in which somebody may have talked to a model
UNITS = (1, 1_000, 1_000_000, 1_000_000_000)  # seconds, milliseconds, microseconds, nanoseconds
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Told:
    """What one document tells of a conversation that others may go on with."""

    conversation: str  # "" where it stands alone
    spans: tuple[Span, ...]
    extra: Mapping[str, Any]
    notes: tuple[str, ...] = ()


One = TypeVar("One", Recording, Told)


def each_of(source: Source, make: Callable[[Any, str], Iterator[One | Skipped]]) -> Iterator[One | Skipped]:
    """What `make` finds in each document; one that is built otherwise than expected stops no other.

    Raises RecordingError where no part of the file is JSON.
    """
    lost: list[Skipped] | None = []  # before the first document
    for found in documents(source.text):
        if isinstance(found, Document):
            yield from lost or ()
            lost = None
            yield from guarded(found, make)
        elif lost is None:
            yield found
        else:
            lost.append(found)
    if lost:
        raise RecordingError(f"{source.name} holds nothing that can be read; {lost[0]}")


@dataclass(frozen=True, slots=True)
class Export:
    """Where a program keeps what each of its conversations has: names of fields; of several, the first that says it."""

    format: str
    messages: str
    kind: type  # of messages
    names: tuple[str, ...]
    titles: tuple[str, ...]
    began: str


def conversations(
    source: Source, user: str | None, export: Export, fill: Callable[[Draft, Any], None]
) -> Iterator[Made]:
    """Each document as one conversation, whose messages `fill` reads into its draft; one without any is skipped."""
    stem = PurePath(source.name).stem

    def one(raw: Any, where: str) -> Iterator[Made]:
        name, title = _first(raw, export.names) or f"{stem}-{where}", _first(raw, export.titles)
        if not isinstance(raw.get(export.messages), export.kind):
            yield Skipped(f"conversation {name}", f"it has no messages: `{export.messages}` is missing", title[:60])
            return
        draft = Draft(export.format, name, user or "user", title=title)
        draft.extra = rest(raw, export.messages, export.names[0], export.titles[0])
        draft.versions, draft.began = True, moment(raw.get(export.began), draft.note)
        fill(draft, raw)
        yield draft.finish()

    yield from each_of(source, one)


def _first(raw: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((text_of(raw[name]) for name in names if raw.get(name)), "")


def guarded(found: Document, make: Callable[[Any, str], Iterator[One | Skipped]]) -> Iterator[One | Skipped]:
    try:
        made = list(make(found.value, found.where))
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError) as error:
        start = str(found.value)[:60] if not isinstance(error, RecursionError) else ""
        yield Skipped(found.where, f"no conversation: {type(error).__name__} {error}", start)
        return
    for one in made:
        yield _cut(one, found.cut) if found.cut and not isinstance(one, Skipped) else one


def _cut(one: One, off: str) -> One:
    return replace(one, notes=(*one.notes, f"the file breaks off inside it; not read: {off!r}"))


def moment(value: object, note: Callable[[str], None]) -> datetime | None:
    """A time: ISO 8601, or seconds, milli-, micro- or nanoseconds since 1970, as a number or as text.

    None, with a note, for anything else, and for a year in which nobody can have talked.

    >>> moment("1700000002.5", print) == moment(1700000002500, print) == moment("2023-11-14T22:13:22.5Z", print)
    True
    """
    if value is None or value == "" or isinstance(value, bool):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return _iso(str(value), note)
    for unit in UNITS if math.isfinite(number) else ():
        try:
            at = _BEGINNING + timedelta(microseconds=round(number / unit * 1_000_000))
        except OverflowError:
            continue
        if FIRST <= at.year < LAST:
            return at
    note(f"{str(value)[:40]!r} is no time; it was inferred")
    return None


def _iso(text: str, note: Callable[[str], None]) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or not FIRST <= at.year < LAST:
        note(f"{text[:40]!r} is no time; it was inferred")
        return None
    return at


def rest(raw: Mapping[str, Any], *taken: str) -> dict[str, Any]:
    """What was not taken of it and says anything.

    >>> rest({"role": "user", "weight": 0, "name": None, "parts": []}, "role")
    {'weight': 0}
    """
    return {str(key): value for key, value in raw.items() if key not in taken and value not in (None, "", [], {})}


def beyond_words(content: Any) -> list[Any]:
    """The parts of a message that are more than their text."""
    parts = content if isinstance(content, list) else [content] if isinstance(content, dict) else []
    plain = {"type", "text"}
    return [part for part in parts if isinstance(part, dict) and (set(rest(part)) - plain or "text" not in part)]


def call(id_: object, name: object, arguments: object) -> RecordedCall:
    """Arguments stay as they were written where they are text, JSON or not."""
    values = {} if arguments is None else arguments
    text = values if isinstance(values, str) else json.dumps(values, ensure_ascii=False)
    return RecordedCall(str(id_ or ""), str(name or ""), text)


def some(count: int, what: str) -> str:
    """`1 message`, `3 messages`"""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def text_of(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
