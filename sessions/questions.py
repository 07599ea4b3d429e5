"""Questions pinned onto a conversation, as a readable file: what a right prompt must hold, and what it must not.

JSON lines, the first one a header with the version; a line a question. The store's own file stands beside its
database; any other may be named, as the one that ships with the demo. Not here: asking them (pinned.py).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from filelock import FileLock

from memory.errors import BadMessage, BadSetting, NotFound, RecordingError, StoreReadOnly, UnknownName
from memory.expected import looked_for
from memory.stores.lines import QUESTIONS
from memory.stores.sql import Store

FORMAT, VERSION = "memory-workbench questions", 1
RECALL, CROSS, IRRELEVANT, UPDATE = "recall", "cross", "irrelevant", "update"
KINDS = {
    RECALL: "what was said comes back, in the same conversation",
    CROSS: "what was said in one conversation is there in another one, which is new",
    IRRELEVANT: "a question that has nothing to do with the past brings nothing back",
    UPDATE: "the newest value stands in the prompt, and no old one as if it still held",
}
MOST = 2_000  # characters of a question


@dataclass(frozen=True, slots=True)
class Pinned:
    """One question. Each text of `expect` must be held by one part of the prompt (memory/expected.py says how).

    `never`: words that nothing in the prompt may say; of an update, the old values. Without `expect`, all turns of
    `evidence` must stand there, unless the question is irrelevant.
    """

    question: str
    user: str
    conversation: str
    kind: str = RECALL
    expect: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    evidence: tuple[int, ...] = ()  # turns of the conversation that say so
    turn: int = 0  # asked after this one; 0: after the last
    apart: bool = False  # asked in a new conversation of the user's; always, where the kind is cross

    @property
    def name(self) -> str:
        """Names the question without a word of it; the same question pinned twice has one name."""
        said = [self.user, self.conversation, self.kind, self.turn, self.is_apart, self.question, *self.expect]
        return "q" + hashlib.blake2b(json.dumps(said, ensure_ascii=False).encode(), digest_size=4).hexdigest()

    @property
    def is_apart(self) -> bool:
        return self.apart or self.kind == CROSS

    def to_dict(self) -> dict[str, Any]:
        """What differs from the defaults."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default}


def checked(asked: Pinned) -> Pinned:
    """The same. Raises BadMessage, BadSetting, UnknownName for one that cannot be won or lost."""
    if not asked.question.strip() or len(asked.question) > MOST:
        raise BadMessage(f"a pinned question has 1 to {MOST:,} characters, not {len(asked.question.strip()):,}")
    if asked.kind not in KINDS:
        raise UnknownName("kind of pinned question", asked.kind, KINDS)
    for words in (*asked.expect, *asked.never):
        looked_for(words)
    if asked.turn < 0 or any(turn < 1 for turn in asked.evidence):
        raise BadSetting(f"turns are numbered from 1; this names turn {min((asked.turn, *asked.evidence))}")
    if asked.kind == IRRELEVANT and (asked.expect or asked.evidence):
        raise BadSetting("an irrelevant question is to bring nothing: leave expect and evidence out")
    if asked.kind != IRRELEVANT and not asked.expect and (asked.is_apart or not asked.evidence):
        raise BadSetting("say what is expected, as 'budget 8000'; turns alone do only in the same conversation")
    if asked.kind == UPDATE and not asked.never:
        raise BadSetting("an update needs the old value in never, as '5000'")
    return asked


# ── the file ──────────────────────────────────────────────────────────────────────────────────────────


def file_of(store: Store) -> Path:
    """Where the questions of a store are kept."""
    return store.path / QUESTIONS


def read(file: Path) -> tuple[Pinned, ...]:
    """All of them, in the order of the file; none where there is no file. Raises RecordingError with the line."""
    if not file.exists():
        return ()
    try:
        return tuple(_read(file))
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"{file} cannot be read: {error}") from error


def _read(file: Path) -> Iterator[Pinned]:
    with file.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                raw = _line(file, number, line)
                if "format" in raw:
                    _known(file, raw)
                else:
                    yield _question(file, number, raw)


def _line(file: Path, number: int, line: str) -> dict[str, Any]:
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise RecordingError(f"{file}, line {number}: no JSON ({error})") from error
    if not isinstance(raw, dict):
        raise RecordingError(f"{file}, line {number}: a question is an object, not {str(raw)[:40]!r}")
    return raw


def _known(file: Path, header: Mapping[str, Any]) -> None:
    if header["format"] != FORMAT:
        raise RecordingError(f"{file} holds {header['format']!r}, not {FORMAT!r}")
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise RecordingError(f"{file} is of version {version!r}; this program knows up to {VERSION}: update it")


def _question(file: Path, number: int, raw: dict[str, Any]) -> Pinned:
    lists: dict[str, type] = {"expect": str, "never": str, "evidence": int}
    plain: dict[str, type] = {"question": str, "user": str, "conversation": str, "kind": str, "turn": int,
                              "apart": bool}  # fmt: skip
    try:
        if unknown := raw.keys() - lists.keys() - plain.keys():
            raise BadSetting(f"a question has no field {min(unknown)!r}")
        wrong = [key for key, kind in plain.items() if key in raw and type(raw[key]) is not kind]
        wrong += [key for key, kind in lists.items() if key in raw and not _all(raw[key], kind)]
        if wrong:
            raise BadSetting(f"{wrong[0]} cannot be {str(raw[wrong[0]])[:40]!r}")
        given: dict[str, Any] = {key: tuple(value) if key in lists else value for key, value in raw.items()}
        return checked(Pinned(**given))
    except (BadMessage, BadSetting, UnknownName, TypeError) as error:
        raise RecordingError(f"{file}, line {number}: {error}") from error


def _all(values: object, kind: type) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)


def write(file: Path, questions: Iterable[Pinned]) -> None:
    """The whole file anew; whoever reads meanwhile reads the old one."""
    lines = [{"format": FORMAT, "version": VERSION}, *(each.to_dict() for each in questions)]
    beside = file.with_name(f"{file.name}.{os.getpid()}.new")
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    beside.write_text(text, encoding="utf-8", newline="\n")
    beside.replace(file)


# ── pinning ───────────────────────────────────────────────────────────────────────────────────────────


def pin(store: Store, asked: Pinned) -> Pinned:
    """Keep a question; the same again changes nothing. Raises as `checked`, and NotFound for a conversation or turn."""
    checked(asked)
    _writable(store)
    turns = store.require(store.main_run(asked.user, asked.conversation)).turns
    late = [turn for turn in (asked.turn, *asked.evidence) if turn > turns]
    if late:
        raise NotFound(f"{asked.conversation!r} has turns 1 to {turns}, and no turn {late[0]}")
    file = file_of(store)
    with FileLock(f"{file}.lock"):
        known = read(file)
        if asked.name not in {each.name for each in known}:
            write(file, (*known, asked))
    return asked


def unpin(store: Store, *names: str) -> tuple[Pinned, ...]:
    """Take questions out, and return them: pinning them again undoes it. Raises NotFound for an unknown name."""
    _writable(store)
    file = file_of(store)
    with FileLock(f"{file}.lock"):
        known = read(file)
        missing = [name for name in names if name not in {each.name for each in known}]
        if missing:
            raise NotFound(f"no question named {missing[0]!r} is pinned in {file}")
        write(file, [each for each in known if each.name not in names])
    return tuple(each for each in known if each.name in names)


def of_conversation(questions: Iterable[Pinned], user: str | None, conversation: str | None) -> Sequence[Pinned]:
    """Those of a user, of a conversation; None: of all."""
    return [each for each in questions if user in (None, each.user) and conversation in (None, each.conversation)]


def _writable(store: Store) -> None:
    if store.readonly:
        raise StoreReadOnly(f"{store.path} was opened read-only: nothing can be pinned")


def rows(questions: Iterable[Pinned]) -> list[dict[str, Any]]:
    """For a table or a file: every field, and the name."""
    return [{"name": each.name, **asdict(each)} for each in questions]
