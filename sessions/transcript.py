"""A recording as a store keeps it: the records of a run without decisions, and the recording read back from a run.

A later replay needs no file: what was asked back stands in `PagesRecalled` by "recorded", labels in
`MessageReceived.evidence` and `QuestionLabelled`. Read back, a live run is a recording too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from memory import tokens
from memory.errors import RecordingError
from memory.events import (
    Body,
    ConversationStarted,
    Event,
    ExtraKept,
    MessageReceived,
    MessageReplied,
    ModelCalled,
    ModelFailed,
    PagesRecalled,
    PromptAssembled,
    QuestionLabelled,
    StepFinished,
    TextRedacted,
    TurnMarked,
)
from memory.redaction import SECRET_NAME, Redact, clean, redact
from memory.scope import RECORDED, Scope
from memory.stores.sql import Store
from memory.turns import MESSAGE_TOKENS, Call, Turn, Words
from sessions.recording import ModelCall, Question, RecordedCall, RecordedRecall, RecordedTurn, Recording, Skipped

Said = Callable[[str], int]  # words to their new id
KINDS = tuple(
    kind.__name__
    for kind in (
        ConversationStarted,
        ExtraKept,
        MessageReceived,
        MessageReplied,
        ModelCalled,
        ModelFailed,
        PagesRecalled,
        QuestionLabelled,
        TurnMarked,
    )
)
ASKED_BACK = ("recorded", "model", "user")  # what a replay asks again; not what a label asked for


def steps_of(turns: Sequence[RecordedTurn]) -> Iterator[Sequence[RecordedTurn]]:
    """A user's turn through the turns that answer it; what stands before the first one is a step of its own."""
    starts = [i for i, turn in enumerate(turns) if turn.role == "user" or i == 0]
    for first, after in pairwise([*starts, len(turns)]):
        yield turns[first:after]


def redacted(recording: Recording, by: Redact = redact) -> Recording:
    """As a store would keep it: no secrets, no halves of characters."""

    def keep(text: str) -> str:
        return by(clean(text))[0]

    turns = tuple(
        replace(
            turn,
            text=keep(turn.text),
            speaker=keep(turn.speaker),
            calls=tuple(replace(call, arguments=keep(call.arguments)) for call in turn.calls),
            recalls=tuple(replace(recall, question=keep(recall.question)) for recall in turn.recalls),
            model_calls=tuple(replace(call, message=keep(call.message)) for call in turn.model_calls),
            extra=_without_secrets(turn.extra, by)[0],
        )
        for turn in recording.turns
    )
    questions = tuple(replace(q, question=keep(q.question), answer=keep(q.answer)) for q in recording.questions)
    title, system = keep(recording.title), keep(recording.system)
    extra = _without_secrets(recording.extra, by)[0]
    notes, skipped = tuple(map(keep, recording.notes)), tuple(as_shown(one, by) for one in recording.skipped)
    return replace(
        recording, turns=turns, questions=questions, title=title, system=system, extra=extra, notes=notes,
        skipped=skipped,
    )  # fmt: skip


def as_shown(one: Skipped, by: Redact = redact) -> Skipped:
    """As a report may show it."""
    where, reason, start = (by(clean(text))[0] for text in (one.where, one.reason, one.start))
    return Skipped(where, reason, start)


def _without_secrets(extra: str, by: Redact) -> tuple[str, Counter[str]]:
    """JSON text with each of its texts as a store would keep it: numbers are no card's, and it stays JSON.

    A text that stands under `password` is one, as it would be in a sentence.
    """
    counts: Counter[str] = Counter()

    def kept(value: Any, name: str = "") -> Any:
        if isinstance(value, str):
            text, removed = by(name + clean(value))
            counts.update(removed)
            return text.removeprefix(name)
        if isinstance(value, dict):
            return {kept(key): kept(each, f"{key}=" * bool(SECRET_NAME.search(key))) for key, each in value.items()}
        return [kept(each, name) for each in value] if isinstance(value, list) else value

    if not extra:
        return "", counts
    try:
        values = json.loads(extra)
    except ValueError:  # a topic was erased from it, and it is plain text now
        return kept(extra), counts
    return json.dumps(kept(values), ensure_ascii=False, separators=(",", ":")), counts


# ── into records ──────────────────────────────────────────────────────────────────────────────────────


def opening(recording: Recording, said: Said, by: Redact = redact) -> list[Body]:
    """`by` takes the secrets out of what `recording`'s words become in the store; so below."""
    bodies = _Bodies(said, by)
    bodies.records.append(
        ConversationStarted(
            title=bodies.text(recording.title),
            system=bodies.text(recording.system),
            system_tokens=tokens.count(by(clean(recording.system))[0]),
            language=recording.language,
            source=recording.format or "recording",
        )
    )
    bodies.beyond(0, recording.extra)
    return bodies.records


def step_records(turns: Sequence[RecordedTurn], said: Said, by: Redact = redact) -> list[Body]:
    bodies = _Bodies(said, by)
    for turn in turns:
        for recall in turn.recalls:
            bodies.records.append(_recall(recall, bodies))
        said_turn = _turn(turn, bodies)
        if turn.role == "user":
            bodies.records.append(MessageReceived(said_turn, turn.evidence))
        else:
            bodies.records.append(MessageReplied(said_turn))
        bodies.beyond(turn.number, turn.extra)
        bodies.records += map(call_record, turn.model_calls)
    return [*bodies.records, StepFinished({})]


def call_record(call: ModelCall) -> Body:
    """Of a call that an application made; its words are its turns', so it has none of its own."""
    if call.error:
        return ModelFailed(0, call.llm, call.error, call.message, request=call.request, ms=call.ms)
    return ModelCalled(
        0, call.llm, call.prompt_tokens, call.completion_tokens, call.cost_usd, call.ms, call.finish, 0,
        request=call.request, first_ms=call.first_ms,
    )  # fmt: skip


def _call_of(body: ModelCalled | ModelFailed) -> ModelCall:
    if isinstance(body, ModelFailed):
        return ModelCall(body.request, body.llm, ms=body.ms, error=body.error, message=body.message)
    return ModelCall(
        body.request, body.llm, body.prompt_tokens, body.completion_tokens, body.cost_usd, body.ms, body.first_ms,
        body.finish,
    )  # fmt: skip


def question_records(questions: Iterable[Question], said: Said, by: Redact = redact) -> list[Body]:
    bodies = _Bodies(said, by)
    for q in questions:
        record = QuestionLabelled(bodies.text(q.question), bodies.text(q.answer), q.evidence, q.category)
        bodies.records.append(record)
    return bodies.records


@dataclass(slots=True)
class _Bodies:
    """Records on their way in; secrets leave the words before these get their id."""

    said: Said
    by: Redact
    records: list[Body] = field(default_factory=list)

    def text(self, words: str) -> int:
        if not words:
            return 0
        kept, removed = self.by(clean(words))
        text_id = self.said(kept)
        if removed:
            self.records.append(TextRedacted(text_id, removed))
        return text_id

    def beyond(self, turn: int, extra: str) -> None:
        if not extra:
            return
        kept, removed = _without_secrets(extra, self.by)
        text_id = self.said(kept)
        if removed:
            self.records.append(TextRedacted(text_id, dict(removed)))
        self.records.append(ExtraKept(turn, text_id))


def _turn(turn: RecordedTurn, bodies: _Bodies) -> Turn:
    """Whole, however long: pieces and pages are decisions, and a recording holds none."""
    kept = bodies.by(clean(turn.text))[0]
    return Turn(
        number=turn.number,
        role=turn.role,
        text=bodies.text(turn.text) or bodies.said(""),
        tokens=tokens.count(kept) + MESSAGE_TOKENS,
        said_at=turn.said_at,
        speaker=turn.speaker,
        calls=tuple(Call(c.id, c.name, bodies.text(c.arguments)) for c in turn.calls),
        answers=turn.answers,
        important=turn.important,
    )


def _recall(recall: RecordedRecall, bodies: _Bodies) -> PagesRecalled:
    return PagesRecalled(
        call="", by="recorded", asked=(), question=bodies.text(recall.question), turns=recall.turns,
        resident=(), came=(), opened=(), refused=(),
    )  # fmt: skip


# ── and back ──────────────────────────────────────────────────────────────────────────────────────────


def recording_of(store: Store, scope: Scope) -> Recording:
    """The recording that a run amounts to, each turn with its text id; of an imported conversation, the import.

    Raises NotFound if there is neither the run nor a recording, RecordingError for a turn that names no text.
    """
    if store.stream(scope) is None and store.stream(scope.at(RECORDED)) is not None:
        scope = scope.at(RECORDED)
    back = read_back(store.events(scope, kinds=KINDS), store.words(scope).__getitem__, scope)
    last = store.newest(store.require(scope), PromptAssembled.__name__, 1)
    return replace(back, told_tokens=last[0].body.told_tokens) if last else back  # type: ignore[attr-defined]


def read_back(events: Iterable[Event], words: Words, scope: Scope) -> Recording:
    back = _Back(words)
    for event in events:
        back.take(event.body, event.step)
    turns = [
        replace(
            turn,
            important=back.marks.get(turn.number, turn.important),
            model_calls=tuple(back.model_calls.get(turn.number, ())),
            extra=back.extras.get(turn.number, ""),
        )
        for turn in back.turns
    ]
    return Recording(
        scope.conversation, scope.user, tuple(turns), back.title, back.language, back.system,
        tuple(back.questions), back.source, extra=back.extras.get(0, ""),
    )  # fmt: skip


@dataclass(slots=True)
class _Back:
    words: Words
    turns: list[RecordedTurn] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    recalls: list[RecordedRecall] = field(default_factory=list)  # asked back, not yet answered
    marks: dict[int, bool] = field(default_factory=dict)
    extras: dict[int, str] = field(default_factory=dict)  # by turn, 0: of the conversation
    model_calls: dict[int, list[ModelCall]] = field(default_factory=dict)  # by turn
    ends: dict[int, int] = field(default_factory=dict)  # by step its last turn so far
    title: str = ""
    system: str = ""
    language: str = ""
    source: str = ""

    def take(self, body: Body, step: int) -> None:
        if isinstance(body, MessageReceived | MessageReplied):
            self._turn(body)
            self.ends[step] = body.turn.number
        elif isinstance(body, ModelCalled | ModelFailed):
            if body.request and self.turns:  # an application's own; one told late stands at the end of its step
                self.model_calls.setdefault(self.ends.get(step, self.turns[-1].number), []).append(_call_of(body))
        elif isinstance(body, PagesRecalled):
            if body.by in ASKED_BACK and body.turns:
                self.recalls.append(RecordedRecall(body.turns, self._text(body.question)))
        elif isinstance(body, QuestionLabelled):
            question, answer = self._text(body.question), self._text(body.answer)
            self.questions.append(Question(question, answer, body.evidence, body.category))
        elif isinstance(body, TurnMarked):
            self.marks[body.turn] = body.important
        elif isinstance(body, ExtraKept):
            self.extras[body.turn] = self._text(body.text)
        elif isinstance(body, ConversationStarted):
            self.title, self.system = self._text(body.title), self._text(body.system)
            self.language, self.source = body.language, body.source

    def _text(self, text: int) -> str:
        return self.words(text) if text else ""

    def _turn(self, body: MessageReceived | MessageReplied) -> None:
        turn = body.turn
        calls = tuple(RecordedCall(c.id, c.name, self._text(c.arguments)) for c in turn.calls)
        if turn.piece:  # the first one brought the whole text, the last one brings the calls
            self.turns[-1] = replace(self.turns[-1], calls=self.turns[-1].calls + calls)
            return
        if not turn.text:  # no engine writes it; of such a turn nothing but silence could be replayed
            raise RecordingError(f"turn {turn.number} names no text: its id is 0, and ids begin at 1")
        recalls: tuple[RecordedRecall, ...] = ()
        if turn.role == "assistant":
            recalls, self.recalls = tuple(self.recalls), []
        self.turns.append(
            RecordedTurn(
                turn.number, turn.role, self.words(turn.text), turn.said_at, turn.speaker,
                calls, turn.answers, turn.important,
                body.evidence if isinstance(body, MessageReceived) else (), recalls, turn.text,
            )
        )  # fmt: skip
