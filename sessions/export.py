"""Conversations as files for other programs: our JSON lines, OpenAI's messages, Parquet, OTLP.

What is written is shared, so e-mail addresses and phone numbers are taken out of it unless somebody wants them in;
secrets are out of the store already and are looked for again. What went is counted. Our JSON lines read back as the
same recording (readers/workbench.py). Not here: a case file, which holds the decisions as well (cases.py).
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from memory.errors import NotFound, StoreError, UnknownName
from memory.redaction import SECRETS, SHARED, Redact, Sorts, clean, phones_of, redactor
from memory.scope import RECORDED, Scope
from memory.show import Shown, many, rows
from memory.stores.files import of_os
from memory.stores.own_patterns import patterns_of
from memory.stores.sql import Store
from sessions.readers import workbench
from sessions.recording import RecordedTurn, Recording
from sessions.transcript import recording_of, redacted

SPEAKER = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what OpenAI takes for the name of who speaks


@dataclass(frozen=True)
class Exported(Shown):
    """What went into a file, and what was taken out on the way."""

    to: str
    format: str
    conversations: int
    turns: int
    bytes: int
    removed: dict[str, int]  # by sort

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def summary(self) -> str:
        """`2 conversations, 381 turns as jsonl, 82,113 bytes; removed: 2 e-mail address`"""
        gone = ", ".join(f"{n} {sort}" for sort, n in self.removed.items()) or "nothing"
        told = f"{many(self.conversations, 'conversation')}, {many(self.turns, 'turn')} as {self.format}"
        return f"{told}, {self.bytes:,} bytes; removed: {gone}"

    def __repr__(self) -> str:
        return f"<Exported {self.to}: {self.summary}>"

    def _html(self) -> str:
        return rows(self.to, {k: v for k, v in self.to_dict().items() if k != "to"})


class Clearing:
    """Takes out what must not go along, and counts it: called with a text like any `Redact`."""

    def __init__(self, by: Redact) -> None:
        self._by = by
        self.removed: Counter[str] = Counter()

    def __call__(self, text: str) -> tuple[str, dict[str, int]]:
        kept, counts = self._by(clean(text))
        self.removed.update(counts)
        return kept, counts

    def words(self, text: str) -> str:
        return self(text)[0]


def clearing(store: Store, scopes: Iterable[Scope], *, personal: bool = False, own: Sorts | None = None) -> Clearing:
    """For these conversations, to leave their store: secrets, own patterns, and unless `personal` mail and phone."""
    shared: Sorts = {}
    if not personal:
        texts = (text for scope in scopes for text in store.words(scope).values())
        shared = {**SHARED, "phone number": phones_of(texts)}
    return Clearing(redactor(SECRETS, patterns_of(store.path), own or {}, shared))


def export(
    store: Store,
    scopes: Sequence[Scope],
    to: str | Path,
    format: str = "jsonl",  # noqa: A002 -- what the command line calls it too
    *,
    personal: bool = False,
    own: Sorts | None = None,
    view: str = "turns",
) -> Exported:
    """Write these runs to a file that does not exist yet; all of it or no file.

    `personal`: e-mail addresses and phone numbers stay in; `own`: more to take out; `view`: of Parquet, one of
    `workbench sql --views`. Raises UnknownName for a format, NotFound for a run, StoreError for the file.

    >>> export(store, [Scope("ana", "trip")], "trip.jsonl").summary                      # doctest: +SKIP
    '1 conversations, 240 turns as jsonl, 51,020 bytes; removed: nothing'
    """
    if format not in FORMATS:
        raise UnknownName("format of exports", format, FORMATS)
    if not scopes:
        raise NotFound("there is no conversation to export")
    target = Path(to).expanduser().resolve()
    by, turns = clearing(store, scopes, personal=personal, own=own), sum(store.require(scope).turns for scope in scopes)
    with new_file(target) as part:
        FORMATS[format](store, scopes, part, by, view)
    return Exported(str(target), format, len(scopes), turns, target.stat().st_size, dict(by.removed))


class new_file:  # noqa: N801 - a context
    """A file beside the target, which becomes it at the end of the block and is gone after an error."""

    def __init__(self, target: Path) -> None:
        self.target, self.part = target, target.with_name(f".{target.name}.{os.getpid()}.part")

    def __enter__(self) -> Path:
        if self.target.exists():
            raise StoreError(f"{self.target} exists; nothing is overwritten: give another name")
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise of_os(error, self.target.parent) from error
        return self.part

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        try:
            if kind is None:
                os.link(self.part, self.target)  # fails where a file of this name came meanwhile
        except FileExistsError as taken:
            raise StoreError(f"{self.target} exists; nothing is overwritten: give another name") from taken
        except OSError as other:
            raise of_os(other, self.target.parent) from other
        finally:
            self.part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise of_os(error, self.target.parent) from error


# ── the formats ───────────────────────────────────────────────────────────────────────────────────────


def cleared(recording: Recording, by: Clearing) -> Recording:
    """A recording as it may leave: its words, and the names of whose it is."""
    kept = redacted(recording, by)
    return replace(kept, user=by.words(kept.user), conversation=by.words(kept.conversation))


def _recordings(store: Store, scopes: Iterable[Scope], by: Clearing) -> Iterator[tuple[Scope, Recording]]:
    for scope in scopes:
        yield scope, cleared(recording_of(store, scope), by)


def jsonl(recordings: Iterable[tuple[Recording, dict[str, Any]]]) -> Iterator[str]:
    """Our own lines; what stands beside a recording goes into its header, which readers may pass over."""
    for recording, more in recordings:
        head, _, rest = workbench.write([recording]).partition("\n")
        yield json.dumps(json.loads(head) | more, ensure_ascii=False) + "\n"
        yield rest


def openai_messages(recording: Recording) -> dict[str, Any]:
    """`{"messages": […]}` as OpenAI's chat and its fine-tuning take them: one line of a file for a conversation."""
    system = [{"role": "system", "content": recording.system}] if recording.system else []
    return {"messages": [*system, *map(_message, recording.turns)]}


def _message(turn: RecordedTurn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if turn.role == "tool":
        return {**message, "tool_call_id": turn.answers}
    if turn.speaker != turn.role and SPEAKER.fullmatch(turn.speaker):
        message["name"] = turn.speaker
    if turn.calls:
        made = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in turn.calls]  # fmt: skip
        message |= {"content": turn.text or None, "tool_calls": made}
    return message


def _jsonl(store: Store, scopes: Sequence[Scope], to: Path, by: Clearing, view: str) -> None:
    found = ((recording, _beside(store, scope)) for scope, recording in _recordings(store, scopes, by))
    _write_lines(to, jsonl(found))


def _beside(store: Store, scope: Scope) -> dict[str, Any]:
    if scope.run == RECORDED:
        return {"run": scope.run}
    return {"run": scope.run, "settings": store.state(scope).settings.to_dict()}


def _openai(store: Store, scopes: Sequence[Scope], to: Path, by: Clearing, view: str) -> None:
    lines = (openai_messages(recording) for _, recording in _recordings(store, scopes, by))
    _write_lines(to, (json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def _write_lines(to: Path, lines: Iterable[str]) -> None:
    with to.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)


def _parquet(store: Store, scopes: Sequence[Scope], to: Path, by: Clearing, view: str) -> None:
    from memory.stores.log import VIEWS, Log

    named = [name for name, columns in VIEWS.items() if {"user", "conversation", "run"} <= columns.keys()]
    if view not in named:
        raise UnknownName("view of conversations", view, named)
    mine = " OR ".join('("user" = ? AND conversation = ? AND run = ?)' for _ in scopes)
    values = [value for s in scopes for value in (s.user, s.conversation, s.run)]
    Log(store).parquet(f"SELECT * FROM {view} WHERE {mine}", values, to, by.words)  # noqa: S608 - a known name


def _otlp(store: Store, scopes: Sequence[Scope], to: Path, by: Clearing, view: str) -> None:
    from sessions import otlp_export

    _write_lines(to, [otlp_export.write(store, scopes, by.words)])


Write = Callable[[Store, Sequence[Scope], Path, Clearing, str], None]
FORMATS: dict[str, Write] = {"jsonl": _jsonl, "openai": _openai, "parquet": _parquet, "otlp": _otlp}
