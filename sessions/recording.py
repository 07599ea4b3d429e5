"""A conversation as a file tells it: turns, what was asked back, labelled questions, and what was put right.

A reader (readers/) fills a `Draft` line by line and takes the `Recording` out. Nothing is silent: what was left
out is in `skipped`, what was inferred is in `notes`. Not here: file formats, pages, the store.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from memory.redaction import clean
from memory.show import Shown, rows, small, table
from memory.turns import ROLES

Span = tuple[int, int]  # turn numbers, both ends included

START = 60  # characters of what was skipped that are shown
NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
APART = timedelta(seconds=1)
LONG_BYTES = 2_000  # characters of base64 above which it is no word of anybody
_BYTES = re.compile(r"(?:data:[\w.+/;=-]*,)?[A-Za-z0-9+/_=\r\n-]+")


_FIGURES: tuple[tuple[str, tuple[type, ...], str], ...] = (
    *((name, (str,), "text") for name in ("request", "llm", "finish", "error", "message")),
    *((name, (int,), "a whole number from 0") for name in ("prompt_tokens", "completion_tokens")),
    *((name, (int, float), "a number from 0") for name in ("ms", "first_ms")),
    ("cost_usd", (int, float, type(None)), "a number from 0"),
)


@dataclass(frozen=True, slots=True)
class Skipped:
    where: str  # `line 12`, `conv-26, question 38`
    reason: str
    start: str = ""  # its first characters

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}" + (f" ({self.start!r})" if self.start else "")


@dataclass(frozen=True, slots=True)
class RecordedCall:
    id: str
    name: str
    arguments: str  # JSON text


@dataclass(frozen=True, slots=True)
class RecordedRecall:
    turns: tuple[Span, ...]
    question: str = ""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """What an application's call of a model took, or why it failed."""

    request: str  # its id, by which it is known again
    llm: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None  # None: not known
    ms: float = 0.0
    first_ms: float = 0.0
    finish: str = ""
    error: str = ""  # its class; "" where it did not fail
    message: str = ""

    @classmethod
    def of(cls, values: Any) -> ModelCall:
        """Of what `told` made. Raises ValueError, or TypeError for a name that it does not have."""
        if not isinstance(values, Mapping) or not values.get("request"):
            raise ValueError("a model's call has an id, its request")
        for name, kinds, what in _FIGURES:
            value = values.get(name, "" if str in kinds else 0)
            fits = isinstance(value, kinds) and not isinstance(value, bool)
            if not fits or (isinstance(value, int | float) and not 0 <= value < 2**31):
                raise ValueError(f"{name} of a model's call must be {what}, not {value!r}")
        kept: dict[str, Any] = {name: clean(it) if isinstance(it, str) else it for name, it in values.items()}
        return cls(**kept)

    def told(self) -> dict[str, Any]:
        """As JSON has it; what says nothing is left out, and a price that is not known is no 0."""
        kept = {name: value for name, value in asdict(self).items() if value}
        return kept if self.cost_usd is None else kept | {"cost_usd": self.cost_usd}


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    number: int  # from 1, no gaps
    role: str
    text: str
    said_at: datetime  # aware
    speaker: str = ""
    calls: tuple[RecordedCall, ...] = ()
    answers: str = ""  # id of the call whose result this is
    important: bool = False
    evidence: tuple[int, ...] = ()  # a user's turn: the earlier turns that hold the answer
    recalls: tuple[RecordedRecall, ...] = ()  # an assistant's turn: what was asked back before it
    text_id: int = field(default=0, compare=False, repr=False)  # where the words come from a store
    extra: str = field(default="", repr=False)  # what its file says of it that has no field here, as JSON
    model_calls: tuple[ModelCall, ...] = ()  # made when this turn stood last, those that failed among them


@dataclass(frozen=True, slots=True)
class Question:
    """A labelled question, asked when the conversation is over; no evidence: it was never said."""

    question: str
    answer: str = ""
    evidence: tuple[int, ...] = ()
    category: str = ""


@dataclass(frozen=True)
class Recording(Shown):
    conversation: str
    user: str
    turns: tuple[RecordedTurn, ...]
    title: str = ""
    language: str = ""
    system: str = ""  # the application's system prompt
    questions: tuple[Question, ...] = ()
    format: str = field(default="", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    skipped: tuple[Skipped, ...] = field(default=(), compare=False)
    told_tokens: int = field(default=0, compare=False)  # of the instructions that its model read; 0: not known
    extra: str = field(default="", repr=False)  # what its file says of the conversation that has no field here, as JSON
    remember: bool = field(default=True, compare=False)  # False: its user said that nothing of it may be remembered
    versions: bool = field(default=False, compare=False)  # where another of its name is in the store, it stands beside

    def named(self, conversation: str) -> Recording:
        """The same under another name."""
        return replace(self, conversation=conversation)

    def __repr__(self) -> str:
        left_out = f", {len(self.skipped)} skipped" if self.skipped else ""
        questions = f", {len(self.questions)} questions" if self.questions else ""
        return f"<Recording {self.conversation!r} of {self.user}: {len(self.turns)} turns{questions}{left_out}>"

    def _html(self) -> str:
        figures = {"user": self.user, "turns": len(self.turns), "questions": len(self.questions), "format": self.format,
                   "skipped": len(self.skipped)}  # fmt: skip
        lines = [(t.number, t.speaker or t.role, small(t.text, 120)) for t in self.turns]
        head = rows(self.title or self.conversation, figures)
        return (
            head
            + table(("turn", "who", "words"), lines, most=12)
            + table(("what was put right or left out",), [(n,) for n in (*self.notes, *map(str, self.skipped))])
        )


@dataclass(slots=True)
class _Line:
    """A turn as its file names it: `ref` is its name there, and so are those in `evidence` and `recalls`."""

    ref: Hashable
    where: str
    turn: RecordedTurn
    timed: bool
    evidence: Sequence[Hashable]
    recalls: Sequence[tuple[Sequence[tuple[Any, Any]], str]]


class Draft:
    """A recording while it is read: turns get numbers without gaps, references follow them, times are put right."""

    def __init__(
        self, source_format: str, conversation: str, user: str, *, title: str = "", language: str = "", system: str = ""
    ) -> None:
        self.format, self.conversation, self.user = source_format, clean(conversation), clean(user)
        self.title, self.language, self.system = clean(title), language, clean(system)
        self.notes: list[str] = []
        self.skipped: list[Skipped] = []
        self.extra: dict[str, Any] = {}
        self.remember, self.versions = True, False
        self.began: datetime | None = None  # where no turn has a time: when its file says that it began
        self._lines: list[_Line] = []
        self._numbers: dict[Hashable, int] = {}
        self._asked: list[tuple[str, Question, Sequence[Hashable]]] = []

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def skip(self, where: str, reason: str, start: str = "") -> None:
        self.skipped.append(Skipped(where, reason, clean(start[:START])))

    def turn(
        self,
        ref: Hashable,
        role: str,
        text: str,
        said_at: datetime | None,
        where: str,
        *,
        speaker: str = "",
        calls: Iterable[RecordedCall] = (),
        answers: str = "",
        important: bool = False,
        evidence: Sequence[Hashable] = (),
        recalls: Sequence[tuple[Sequence[tuple[Any, Any]], str]] = (),
        model_calls: Iterable[ModelCall] = (),
        extra: Mapping[str, Any] | None = None,
    ) -> bool:
        """One more turn, and whether it is one: skipped if it says nothing, has no known role, or its name is taken."""
        calls, text = tuple(calls), clean(text)
        if role not in ROLES:
            self.skip(where, f"a role is one of {', '.join(ROLES)}, not {role!r}", text)
        elif not text.strip() and not calls and not answers:
            self.skip(where, "it has no words")
        elif ref in self._numbers:
            self.skip(where, f"a turn {ref} was there before", text)
        else:
            number = self._numbers[ref] = len(self._lines) + 1
            at = said_at or NO_TIME
            if at.tzinfo is None:
                at = at.replace(tzinfo=UTC)
                self.note("times come without their offset from UTC; taken as UTC")
            turn = RecordedTurn(
                number, role, text, at, clean(speaker), calls, answers, important,
                model_calls=tuple(model_calls), extra=json_of(extra, self.note),
            )  # fmt: skip
            self._lines.append(_Line(ref, where, turn, said_at is not None, evidence, recalls))
            return True
        return False

    @property
    def turns(self) -> int:
        return len(self._lines)

    def ask(self, where: str, question: str, answer: str, evidence: Sequence[Hashable], category: str) -> None:
        if question.strip():
            asked = Question(clean(question), clean(answer), (), clean(category))
            self._asked.append((where, asked, evidence))
        else:
            self.skip(where, "the question has no words")

    def finish(self) -> Recording | Skipped:
        if not self._lines:
            why = f"; {self.skipped[0]}" if self.skipped else ""
            return Skipped(f"conversation {self.conversation}", f"it has no turn that can be read{why}")
        self._infer_times()
        turns = [self._resolved(line) for line in self._lines]
        late = [b.number for a, b in pairwise(turns) if b.said_at < a.said_at]
        if late:
            self.note(f"{_turns(late)} dated before the turn before; kept as recorded")
        questions = [
            replace(q, evidence=self._numbered(evidence, len(turns) + 1, where)) for where, q, evidence in self._asked
        ]
        return Recording(
            self.conversation, self.user, tuple(turns), self._title(turns), self.language, self.system,
            tuple(questions), self.format, tuple(self.notes), tuple(self.skipped),
            extra=json_of(self.extra, self.note), remember=self.remember, versions=self.versions,
        )  # fmt: skip

    def _title(self, turns: Sequence[RecordedTurn]) -> str:
        if self.title:
            return self.title
        self.note("it has no title; its first words stand in")
        return small(next((t.text for t in turns if t.role == "user"), turns[0].text), 60)

    def _infer_times(self) -> None:
        """A missing time is a second after the turn before, so the same file always reads the same."""
        missing = [line.turn.number for line in self._lines if not line.timed]
        if not missing:
            return
        first = next((i for i, line in enumerate(self._lines) if line.timed), 0)
        begin = self._lines[first].turn.said_at - APART * first
        if self.began and len(missing) == len(self._lines):
            begin = self.began
        for i, line in enumerate(self._lines):
            if not line.timed:
                before = self._lines[i - 1].turn.said_at if i else begin - APART
                line.turn = replace(line.turn, said_at=before + APART)
        self.note(f"{_turns(missing)} without a time; taken a second after the turn before")

    def _resolved(self, line: _Line) -> RecordedTurn:
        turn = line.turn
        if not line.evidence and not line.recalls:
            return turn
        recalls = [self._recall(spans, question, turn.number, line.where) for spans, question in line.recalls]
        evidence = self._numbered(line.evidence, turn.number, line.where)
        return replace(turn, evidence=evidence, recalls=tuple(r for r in recalls if r.turns))

    def _numbered(self, refs: Sequence[Hashable], before: int, where: str) -> tuple[int, ...]:
        """Numbers of the turns by these names, each once; others are left out, and that is noted."""
        numbers = []
        for ref in refs:
            number = self._numbers.get(ref)
            if number is None or number >= before:
                why = "does not exist" if number is None else "comes later"
                self.skip(where, f"its label names turn {ref}, which {why}")
            elif number not in numbers:
                numbers.append(number)
        return tuple(numbers)

    def _recall(self, spans: Sequence[tuple[Any, Any]], question: str, before: int, where: str) -> RecordedRecall:
        kept = []
        for first, last in spans:
            inside = [n for ref, n in self._numbers.items() if first <= ref <= last and n < before]
            if inside:
                kept.append((min(inside), max(inside)))
            else:
                self.skip(where, f"its recall of turns {first}-{last} names no earlier turn")
        return RecordedRecall(tuple(kept), clean(question))


def _turns(numbers: Sequence[int]) -> str:
    """`turn 5 is`, `3 turns (the first: turn 5) are`"""
    if len(numbers) == 1:
        return f"turn {numbers[0]} is"
    return f"{len(numbers)} turns (the first: turn {numbers[0]}) are"


# ── what readers share ────────────────────────────────────────────────────────────────────────────────


def parsed_time(value: object, note: Callable[[str], None]) -> datetime | None:
    """An ISO 8601 time; None, with a note, for anything else."""
    if value is None or value == "":
        return None
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        note(f"{str(value)[:40]!r} is no ISO 8601 time; it was inferred")
        return None


def json_of(extra: Mapping[str, Any] | None, note: Callable[[str], None]) -> str:
    """As JSON text, "" where there is nothing; of long binary content the size and a hash stay, and that is noted."""
    if not extra:
        return ""
    bare = _without_bytes(extra)
    if bare != extra:
        note("of pictures and other binary content only the size and a hash are kept")
    return clean(json.dumps(bare, ensure_ascii=False, separators=(",", ":")))


def _without_bytes(value: Any) -> Any:
    if isinstance(value, str):
        if len(value) > LONG_BYTES and _BYTES.fullmatch(value):
            return f"[{len(value)} characters, {hashlib.blake2b(value.encode(), digest_size=8).hexdigest()}]"
        return value
    if isinstance(value, Mapping):
        return {str(key): _without_bytes(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_bytes(each) for each in value]
    return value


def words_of(content: object) -> str:
    """The text of a message: its text parts joined, a placeholder with a hash for each other part.

    >>> words_of(["Look:", {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0"}}])
    'Look:\\n[image_url c73b059a]'
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        text = content.get("text")
        return text if isinstance(text, str) else _placeholder(content)
    if isinstance(content, list):
        return "\n".join(part for each in content if (part := words_of(each)))
    return str(content)


def _placeholder(part: dict[str, Any]) -> str:
    raw = json.dumps(part, sort_keys=True, ensure_ascii=True).encode()
    return f"[{part.get('type') or 'part'} {hashlib.blake2b(raw, digest_size=4).hexdigest()}]"
