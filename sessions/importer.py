"""Recordings into a store: each turn once, however often the same file comes.

The bare transcript becomes the run "recorded"; then each conversation is replayed once under the current settings
and that run is kept. Words and records of up to 200 steps are written in one transaction, so an import that was cut
off goes on where it stopped when it is run again. One conversation that fails stops no other; a store that cannot be
written stops all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from memory.engine import resolved
from memory.errors import EngineError, StaleAppend, StoreError
from memory.events import Body, Event
from memory.longterm import LongTerm, heard_of
from memory.redaction import Redact
from memory.scope import RECORDED, Scope
from memory.settings import Settings
from memory.show import Shown, small, table
from memory.show import rows as box
from memory.state import apply
from memory.stores.sql import Store, Stream
from sessions.recording import ModelCall, Question, RecordedTurn, Recording, Skipped
from sessions.replay import SAVED_STEPS, replay, run_name, save
from sessions.threads import BRANCH, Weave, woven
from sessions.transcript import (
    as_shown,
    call_record,
    opening,
    question_records,
    recording_of,
    redacted,
    step_records,
    steps_of,
)

IMPORTED, UNCHANGED, GROWN, DIFFERS, FAILED = "imported", "unchanged", "grown", "differs", "failed"

LONG_NAME = 30  # characters; above, a conversation's title stands beside it

Progress = Callable[[Iterable[Any], str], Iterable[Any]]  # hands things out and shows how far it is


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one conversation."""

    user: str
    conversation: str
    title: str
    status: str  # imported, unchanged, grown, differs, failed
    turns: int  # in the file
    new_turns: int  # written now
    questions: int
    reason: str = ""  # of a status that is no success
    replay: str = ""  # the run that was kept, or that was there
    replay_failed: str = ""  # why there is none
    format: str = ""
    notes: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    redacted: Mapping[str, int] = field(default_factory=dict)  # secrets in the file, by sort: replaced, never kept
    remember: bool = True  # False: its user said that nothing of it may be remembered

    @property
    def note(self) -> str:
        """All there is to say in one line."""
        left_out = f"{len(self.skipped)} skipped, the first: {self.skipped[0]}" if self.skipped else ""
        no_replay = f"not replayed: {self.replay_failed}" if self.replay_failed else ""
        secrets = ", ".join(f"{n} × {sort}" for sort, n in self.redacted.items())
        secrets = f"replaced as secrets: {secrets}" if secrets else ""
        return "; ".join(part for part in (self.reason, no_replay, left_out, secrets, *self.notes) if part)


@dataclass(frozen=True)
class ImportReport(Shown):
    conversations: tuple[Imported, ...] = ()
    skipped: tuple[Skipped, ...] = ()  # what belongs to no conversation
    dry: bool = False  # nothing was written: what an import would do

    def count(self, status: str) -> int:
        return sum(c.status == status for c in self.conversations)

    @property
    def came_in(self) -> bool:
        """Whether anything of it is in the store now."""
        return any(c.status in (IMPORTED, UNCHANGED, GROWN) for c in self.conversations)

    @property
    def new_turns(self) -> int:
        return sum(c.new_turns for c in self.conversations)

    @property
    def summary(self) -> str:
        """`2 imported, 1 unchanged; 381 new turns; 3 skipped`"""
        statuses = Counter(c.status for c in self.conversations)
        told = ", ".join(f"{n} {status}" for status, n in statuses.items()) or "no conversation"
        left_out = len(self.skipped) + sum(len(c.skipped) for c in self.conversations)
        formats = ", ".join(sorted({c.format for c in self.conversations if c.format}))
        read_as = f" (read as {formats})" if formats else ""
        line = f"{told}{read_as}; {self.new_turns:,} new turns" + (f"; {left_out} skipped" if left_out else "")
        secrets = sum(sum(c.redacted.values()) for c in self.conversations)
        line += f"; {secrets} secrets replaced" if secrets else ""
        return f"would be: {line}; nothing was written" if self.dry else line

    def rows(self, most: int | None = None) -> list[tuple[str, str, str, str]]:
        """Conversation with its title, status, turns, note; where there are more than `most`, what went wrong first."""
        lines = [(_named(c), c.status, _grown(c), c.note) for c in self.conversations]
        lines += [(s.where, "skipped", "–", s.reason) for s in self.skipped]
        if most is None or len(lines) <= most:
            return lines
        return sorted(lines, key=lambda line: line[1] in (IMPORTED, UNCHANGED, GROWN))[:most]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "summary": self.summary}

    def __repr__(self) -> str:
        return f"<ImportReport: {self.summary}>"

    def _html(self) -> str:
        return box(self.summary, {}) + table(("conversation", "status", "turns", "note"), self.rows())


def _named(one: Imported) -> str:
    """An export's conversations are known by their titles: their names are long numbers."""
    title = small(one.title, 40)
    return f"{one.conversation} ({title})" if len(one.conversation) > LONG_NAME and title else one.conversation


def _grown(one: Imported) -> str:
    return f"{one.turns:,} (+{one.new_turns:,})" if one.status == GROWN else f"{one.turns:,}"


def import_recordings(
    store: Store,
    recordings: Iterable[Recording | Skipped],
    *,
    settings: Settings | None = None,
    replay: bool = True,
    remember: bool = True,
    as_heard: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Bring recordings in, replay each once under `settings`, and say what became of each.

    `remember`: what their users said is looked at for facts; `as_heard`: those are recorded as if we had been there,
    at the time each turn was said, and not now.

    The same recording again changes nothing; a longer one adds its new turns; one that differs from what is there
    is refused, or stands beside it under another name if it is a version of it (`Recording.versions`). `dry_run`:
    says what would become of each, and writes nothing. Raises StoreError where the store itself cannot be written,
    RecordingError for an unreadable file.
    """
    wanted = resolved(settings or Settings())
    each = progress or _silently
    done: list[Imported] = []
    skipped: list[Skipped] = []
    for found in each(recordings, "importing"):
        if isinstance(found, Skipped):
            skipped.append(as_shown(found, store.redactor))
        else:
            done.append(_import(store, found, dry_run))
    if dry_run:
        return ImportReport(tuple(done), tuple(skipped), dry=True)
    if remember and wanted.remember == "rules":
        for one in each([one for one in done if one.remember and one.status in (IMPORTED, GROWN)], "remembering"):
            _learn(store, one, as_heard=as_heard)
    if replay:
        done = [_replayed(store, one, wanted) for one in each(done, "replaying")]
    return ImportReport(tuple(done), tuple(skipped))


def _silently(things: Iterable[Any], label: str) -> Iterable[Any]:
    return things


# ── one conversation ──────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Change:
    """What an import would write, and why not where it writes nothing."""

    status: str
    turns: Sequence[RecordedTurn] = ()
    questions: Sequence[Question] = ()
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    late: Sequence[tuple[int, ModelCall]] = ()  # by step, calls of models for turns that are there


def _import(store: Store, recording: Recording, dry_run: bool) -> Imported:
    counts: Counter[str] = Counter()

    def counting(text: str) -> tuple[str, dict[str, int]]:
        kept, removed = store.redactor(text)
        counts.update(removed)
        return kept, removed

    recording = redacted(recording, counting)
    try:
        scope = Scope(recording.user, recording.conversation, RECORDED)
        change = _change(store, scope, recording)
        if change.status == DIFFERS and recording.versions:
            recording, change = _as_version(store, recording, change)
            scope = Scope(recording.user, recording.conversation, RECORDED)
        if not dry_run:
            _write(store, scope, recording, change)
    except EngineError as error:
        if isinstance(error, StoreError) and not isinstance(error, StaleAppend):
            raise  # the store's own trouble is everybody's
        change = _Change(FAILED, reason=str(error))
    return Imported(
        recording.user, recording.conversation, recording.title, change.status, len(recording.turns), len(change.turns),
        len(recording.questions), change.reason, format=recording.format, notes=(*recording.notes, *change.notes),
        skipped=recording.skipped, redacted=dict(counts), remember=recording.remember,
    )  # fmt: skip


def _as_version(store: Store, recording: Recording, differing: _Change) -> tuple[Recording, _Change]:
    """Under the first name with a number that is free, or that has this very version."""
    for number in count(2):
        named = recording.named(f"{recording.conversation}-{number}")
        change = _change(store, Scope(named.user, named.conversation, RECORDED), named)
        if change.status != DIFFERS:
            break
    said = differing.reason.split(";")[0]
    change.notes.append(f"another version of {recording.conversation!r} ({said}): it stands beside it")
    return named, change


def _change(store: Store, scope: Scope, recording: Recording) -> _Change:
    stream = store.stream(scope)
    if stream is None or not stream.version:
        return _Change(IMPORTED, recording.turns, recording.questions)
    kept = recording_of(store, scope)
    for ours, theirs in zip(recording.turns, kept.turns, strict=False):
        if said := _difference(ours, theirs):
            other = f"{recording.conversation}-2"
            return _Change(
                DIFFERS,
                reason=f"turn {ours.number} {said}; nothing was written. To keep both, import it under another "
                f"name: recording.named({other!r})",
            )
    return _addition(kept, recording)


def _addition(kept: Recording, recording: Recording) -> _Change:
    notes = []
    if len(kept.turns) > len(recording.turns):
        notes.append(f"the store holds {len(kept.turns)} turns of it, this file the first {len(recording.turns)}")
    known = len(kept.questions)
    questions = recording.questions[known:]
    if kept.questions != recording.questions[:known]:
        questions = ()
        notes.append("its labelled questions differ from those in the store, which were kept")
    there = {call.request for turn in kept.turns for call in turn.model_calls}
    late: list[tuple[int, ModelCall]] = []
    turns: list[RecordedTurn] = []
    step = 0
    for turn in recording.turns:
        step += turn.role == "user"
        calls = tuple(call for call in turn.model_calls if call.request not in there)
        if turn.number > len(kept.turns):
            turns.append(replace(turn, model_calls=calls))
        else:
            late += [(step, call) for call in calls]
    grown = turns or questions or late
    return _Change(GROWN if grown else UNCHANGED, turns, questions, notes=notes, late=late)


def _difference(ours: RecordedTurn, theirs: RecordedTurn) -> str:
    """In what two turns of the same number differ; "" if in nothing that matters."""
    for name in ("role", "text", "said_at", "calls", "answers"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if mine != other:
            return f"differs in its {name}: {_shown(mine)} here, {_shown(other)} in the store"
    return ""


def _shown(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else repr(small(str(value), 60))


def _write(store: Store, scope: Scope, recording: Recording, change: _Change) -> None:
    if not change.turns and not change.questions and not change.late:
        return
    journal = store.open_stream(scope)
    state = journal.load()
    batch: list[tuple[int, Body]] = []
    written = _Written(journal.said, store.redactor)
    for step, bodies in _records(recording, change, state.step, not state.version, written):
        for body in bodies:
            batch.append((step, body))
            state = apply(state, Event(0, state.version + 1, step, store.clock(), body))
        if step and step % SAVED_STEPS == 0:
            journal.append(batch, state)
            batch = []
    journal.append(batch, state)


class _Written(NamedTuple):
    """How words come into the store: each under its id, and without secrets."""

    said: Callable[[str], int]
    by: Redact


def _records(
    recording: Recording, change: _Change, step: int, new: bool, written: _Written
) -> Iterator[tuple[int, list[Body]]]:
    """The records of one step after the other. They are made when asked for: their words go with their batch."""
    if new:
        yield 0, opening(recording, *written)
    for told, call in change.late:
        yield told, [call_record(call)]
    for turns in steps_of(change.turns) if change.turns else ():
        step += turns[0].role == "user"
        yield step, step_records(turns, *written)
    if change.questions:
        yield step, question_records(change.questions, *written)


# ── what is remembered of it ──────────────────────────────────────────────────────────────────────────


def _learn(store: Store, one: Imported, *, as_heard: bool) -> None:
    """Turns that were looked at before are not looked at again, so an import that was cut off goes on."""
    scope = Scope(one.user, one.conversation, RECORDED)
    state, words = store.state(scope), store.words(scope)
    turns = [turn for page in state.pages.values() for turn in page.turns]
    heard = list(heard_of(turns, one.conversation, words.__getitem__))
    now = [store.clock()]
    memory = LongTerm(store, one.user, one.conversation, clock=lambda: now[0])
    if not as_heard:
        memory.learn(heard, memory.knowledge.version)
        return
    for each in heard:  # one commit a turn: each is recorded at its own time
        now[0] = each.said_at.astimezone(UTC)
        memory.learn([each], memory.knowledge.version)


# ── its replay ────────────────────────────────────────────────────────────────────────────────────────


def _replayed(store: Store, one: Imported, settings: Settings) -> Imported:
    if one.status in (DIFFERS, FAILED):
        return one
    scope = Scope(one.user, one.conversation, RECORDED)
    kept = kept_replay(store, scope, settings)
    if kept is not None:
        return replace(one, replay=kept.scope.run)
    try:
        return replace(one, replay=save(store, scope, replay((store, scope), settings)).run)
    except EngineError as error:
        if isinstance(error, StoreError) and not isinstance(error, StaleAppend):
            raise
        return replace(one, replay_failed=str(error))


def kept_replay(store: Store, scope: Scope, settings: Settings) -> Stream | None:
    """A whole replay of this conversation under these settings, if the store holds one: known from its head alone."""
    streams = {s.scope.run: s for s in store.streams(scope.user, scope.conversation)}
    recorded, name = streams.get(RECORDED), run_name(settings)
    whole = [s for run, s in streams.items() if run == name or run.startswith(f"{name}-")]
    return next((s for s in whole if recorded and s.turns == recorded.turns), None)


# ── traces ────────────────────────────────────────────────────────────────────────────────────────────


def weaver(store: Store, *, old: bool = False) -> Weave:
    """Makes conversations of spans, and goes on with those that the store has; `old`: also where nothing is new."""
    return partial(woven, known=partial(threads_of, store), by=store.redactor, old=old)


def threads_of(store: Store, user: str, conversation: str) -> list[Recording]:
    """The conversation as it is recorded, and those that went on otherwise (`NAME~2`), in the order of their number."""
    ours = re.compile(re.escape(conversation + BRANCH) + r"(\d{1,6})|" + re.escape(conversation))
    found = {
        int(match[1] or 1): stream.scope
        for stream in store.streams(user)
        if stream.scope.run == RECORDED and (match := ours.fullmatch(stream.scope.conversation))
    }
    return [recording_of(store, found[number]) for number in sorted(found)] if 1 in found else []
