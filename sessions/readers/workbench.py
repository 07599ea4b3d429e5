"""Our own format: JSON lines, UTF-8; version 1. `write` and `read` are each other's inverse.

A header opens a conversation, then comes one line a turn (one message by one speaker), then labelled questions:

    {"format": "memory-workbench", "version": 1, "conversation": "kyoto-trip", "title": "A spring trip to Kyoto",
     "language": "en", "user": "ana", "system": "You are a helpful travel assistant."}
    {"turn": 1, "role": "user", "speaker": "Ana", "text": "…", "said_at": "2026-03-02T09:14:00+01:00"}
    {"question": "…", "answer": "…", "evidence": [12], "category": "single"}

Each stands on one line. `turn` counts from 1, `role` is user, assistant, tool or system, `said_at` is ISO 8601 with
its offset. A user's turn may have `"evidence": [12, 13]`, the earlier turns that hold the answer (a label: no model
sees it), and `"important": true`. An assistant's may have `"recalls": [{"turns": [[11, 20]], "question": "…"}]`, what
was asked back before the answer as first and last turns, and `"calls": [{"id": "c1", "name": "weather", "arguments":
{…}}]`; the tool's turn then has `"answers": "c1"`. A question without evidence was never said. `"extra": {…}` of a
header or a turn is what an imported file says beyond that. `"model_calls": [{"request": "r1", "llm": "…",
"prompt_tokens": 812, "completion_tokens": 64, "cost_usd": 0.002, "ms": 930.5}]` are the calls of models that were made
when this turn stood last; one that failed has `"error"` and `"message"`. Several conversations may follow each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from memory.errors import RecordingError
from sessions.readers.source import Source
from sessions.recording import (
    Draft,
    ModelCall,
    Question,
    RecordedCall,
    RecordedTurn,
    Recording,
    Skipped,
    parsed_time,
    words_of,
)

FORMAT, VERSION = "memory-workbench", 1
_BREAK = re.compile(r"\r\n|\n|\r")  # not str.splitlines: U+2028 may stand in a text


def looks_like(source: Source) -> bool:
    return f'"{FORMAT}"' in source.text[:4_000]


def read(source: Source, user: str | None = None) -> Iterator[Recording | Skipped]:
    """`user` overrides whose conversations these are."""
    if f'"{FORMAT}"' not in source.text:
        raise RecordingError(f'{source.name} has no header line with "format": "{FORMAT}"')
    draft: Draft | None = None
    lost = _Lost()
    for number, line in enumerate(_BREAK.split(source.text), 1):
        line = line.lstrip("\ufeff").strip()
        if not line:
            continue
        where = f"line {number}"
        values = _parsed(line)
        if _opens(line, values):
            yield from _closed(draft, lost)
            draft, lost = None, _Lost()
            try:
                draft = _header(values, user)
            except ValueError as error:
                yield Skipped(where, f"a header that cannot be read: {error}; its turns are skipped", line[:60])
        elif draft is None:
            lost.add(where, line)
        else:
            _take(draft, values, where, line)
    yield from _closed(draft, lost)


class _Lost:
    """Lines that follow no header: one report for all."""

    def __init__(self) -> None:
        self.count, self.first, self.start = 0, "", ""

    def add(self, where: str, line: str) -> None:
        if not self.count:
            self.first, self.start = where, line[:60]
        self.count += 1


def _closed(draft: Draft | None, lost: _Lost) -> Iterator[Recording | Skipped]:
    if lost.count:
        yield Skipped(lost.first, f"{lost.count} lines that follow no readable header", lost.start)
    if draft is not None:
        yield draft.finish()


def _parsed(line: str) -> dict[str, Any] | str:
    """The line's object, or why it is none."""
    try:
        values = json.loads(line)
    except ValueError as error:
        return f"not JSON ({error})"
    except RecursionError:
        return "not JSON that can be read (nested too deep)"
    return values if isinstance(values, dict) else f"a line is a JSON object, not {type(values).__name__}"


def _opens(line: str, values: dict[str, Any] | str) -> bool:
    """A broken header opens a conversation too: what follows must not join the one before."""
    return "format" in values if isinstance(values, dict) else f'"{FORMAT}"' in line


def _header(values: dict[str, Any] | str, user: str | None) -> Draft:
    if isinstance(values, str):
        raise ValueError(values)
    if values["format"] != FORMAT:
        raise ValueError(f"its format is {values['format']!r}")
    if not isinstance(version := values.get("version", VERSION), int) or version > VERSION:
        raise ValueError(f"it is version {version!r}; this program reads up to {VERSION}")
    conversation = _text(values, "conversation")
    if not conversation.strip():
        raise ValueError("it names no conversation")
    owner = user or _text(values, "user")
    draft = Draft(
        "workbench", conversation, owner or "user", title=_text(values, "title"),
        language=_text(values, "language"), system=_text(values, "system"),
    )  # fmt: skip
    draft.extra = dict(values.get("extra") or {})
    if not owner:
        draft.note("the header names no user; taken as 'user'")
    return draft


def _text(values: dict[str, Any], name: str) -> str:
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} must be text, not {value!r}")
    return value or ""


def _take(draft: Draft, values: dict[str, Any] | str, where: str, line: str) -> None:
    if isinstance(values, str):
        draft.skip(where, values, line)
        return
    try:
        if "turn" in values or "role" in values:
            _turn(draft, values, where)
        elif "question" in values:
            question, category = _text(values, "question"), _text(values, "category")
            draft.ask(where, question, words_of(values.get("answer")), _numbers(values), category)
        else:
            draft.skip(where, "neither a header, a turn nor a question", line)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        draft.skip(where, str(error) or type(error).__name__, line)


def _turn(draft: Draft, values: dict[str, Any], where: str) -> None:
    number = values.get("turn")
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError(f"turn must be a whole number, not {number!r}")
    recalls = [(_spans(recall["turns"]), _text(recall, "question")) for recall in values.get("recalls") or ()]
    draft.turn(
        number,
        _text(values, "role"),
        words_of(values.get("text")),
        parsed_time(values.get("said_at"), draft.note),
        where,
        speaker=_text(values, "speaker"),
        calls=[_call(call) for call in values.get("calls") or ()],
        answers=_text(values, "answers"),
        important=values.get("important") is True,
        evidence=_numbers(values),
        recalls=recalls,
        model_calls=[ModelCall.of(call) for call in values.get("model_calls") or ()],
        extra=dict(values.get("extra") or {}),
    )


def _numbers(values: dict[str, Any]) -> list[int]:
    numbers = values.get("evidence") or []
    if not isinstance(numbers, list) or not all(type(n) is int for n in numbers):
        raise ValueError(f"evidence must be a list of turn numbers, not {numbers!r}")
    return numbers


def _spans(turns: Any) -> list[tuple[int, int]]:
    spans = [(first, last) for first, last in turns]
    if not all(type(n) is int for span in spans for n in span):
        raise ValueError(f"recalled turns must be pairs of turn numbers, not {turns!r}")
    return spans


def _call(call: dict[str, Any]) -> RecordedCall:
    arguments = call.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return RecordedCall(str(call["id"]), str(call["name"]), text)


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────


def write(recordings: Iterable[Recording]) -> str:
    """JSON lines that `read` turns into equal recordings."""
    lines = chain.from_iterable(_lines(recording) for recording in recordings)
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _lines(recording: Recording) -> Iterator[dict[str, Any]]:
    head = ("title", "language", "user", "system")
    yield {
        "format": FORMAT,
        "version": VERSION,
        "conversation": recording.conversation,
        **{name: value for name in head if (value := getattr(recording, name))},
        **({"extra": _extra(recording.extra)} if recording.extra else {}),
    }
    yield from map(_turn_line, recording.turns)
    yield from map(_question_line, recording.questions)


def _turn_line(turn: RecordedTurn) -> dict[str, Any]:
    line: dict[str, Any] = {"turn": turn.number, "role": turn.role}
    if turn.speaker:
        line["speaker"] = turn.speaker
    line |= {"text": turn.text, "said_at": turn.said_at.isoformat()}
    if turn.calls:
        line["calls"] = [{"id": c.id, "name": c.name, "arguments": _arguments(c.arguments)} for c in turn.calls]
    if turn.answers:
        line["answers"] = turn.answers
    if turn.evidence:
        line["evidence"] = list(turn.evidence)
    if turn.important:
        line["important"] = True
    if turn.recalls:
        line["recalls"] = [_recall_line(r.turns, r.question) for r in turn.recalls]
    if turn.model_calls:
        line["model_calls"] = [call.told() for call in turn.model_calls]
    if turn.extra:
        line["extra"] = _extra(turn.extra)
    return line


def _recall_line(spans: Iterable[tuple[int, int]], question: str) -> dict[str, Any]:
    line: dict[str, Any] = {"turns": [list(span) for span in spans]}
    return {**line, "question": question} if question else line


def _question_line(question: Question) -> dict[str, Any]:
    return {
        "question": question.question,
        "answer": question.answer,
        "evidence": list(question.evidence),
        "category": question.category,
    }


def _extra(text: str) -> dict[str, Any]:
    """As the object that it is; as text where a topic was erased from it."""
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    return values if isinstance(values, dict) else {"text": text}


def _arguments(text: str) -> Any:
    """As an object where that reads back as the same text, else as the text."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return values if isinstance(values, dict) and json.dumps(values, ensure_ascii=False) == text else text
