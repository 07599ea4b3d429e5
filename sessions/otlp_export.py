"""A recording as OpenTelemetry's traces, in OTLP's JSON: for Phoenix, Langfuse and whatever else reads GenAI spans.

One trace a conversation, one `chat` span a reply, with the messages since the reply before and what the call of a
model that made it took; a span for each other call, as one that failed, and a `search_memory` span for what was asked
back. What no convention has a name for stands beside each message under `memory_workbench`, so that
readers/otlp.py makes the same recording of it. Not here: what was decided about the window (memory_spans.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from memory.scope import Scope
from memory.stores.sql import Store
from sessions import otel_names as names
from sessions.recording import ModelCall, RecordedRecall, RecordedTurn, Recording
from sessions.spans import EPOCH
from sessions.transcript import recording_of, redacted

LAST = 2**63 - 1  # nanoseconds since 1970: what every reader takes
INTERNAL, CLIENT = 1, 3  # kinds of spans
ERROR = 2  # of a status


def otlp(recordings: Iterable[Recording]) -> dict[str, Any]:
    """An OTLP request with the spans of these conversations.

    >>> otlp([recording])["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"]      # doctest: +SKIP
    'chat'
    """
    spans = [span for recording in recordings for span in _spans(recording)]
    scope = {"scope": {"name": names.OURS}, "spans": spans}
    return {"resourceSpans": [{"resource": {"attributes": _pairs({names.SERVICE: names.OURS})}, "scopeSpans": [scope]}]}


def write(store: Store, scopes: Sequence[Scope], words: Callable[[str], str]) -> str:
    """The runs as one JSON document; `words` takes out of a text what must not leave."""

    def cleared(scope: Scope) -> Recording:
        kept = redacted(recording_of(store, scope), lambda text: (words(text), {}))
        return replace(kept, user=words(kept.user), conversation=words(kept.conversation))

    return json.dumps(otlp(map(cleared, scopes)), ensure_ascii=False)


def _spans(recording: Recording) -> Iterator[dict[str, Any]]:
    about = {names.CONVERSATION: recording.conversation, names.USER: recording.user}
    digest = hashlib.blake2b(f"{recording.user}\0{recording.conversation}".encode(), digest_size=20).digest()
    now = 0  # a span is not before the one before, whatever the clocks of a recording said
    for first, *rest in _groups(recording.turns):
        turns = [first, *rest]
        made, others = _calls(turns)
        before, began = now, max(now, _nanoseconds(turns[0].said_at))
        now = max(began, _nanoseconds(turns[-1].said_at))
        base = {"traceId": digest[:16].hex(), "kind": CLIENT, "status": {}, **_lasted(began, now)}
        said = about | _said(turns)
        timed = _lasted(_start(before, now, made), now) if made and made.ms else {}
        said |= _took(made) if made else {}
        if first.number == 1:
            said |= _opening(recording)
        if turns[-1].number == len(recording.turns) and recording.questions:
            said[names.QUESTIONS] = _json([asdict(question) for question in recording.questions])
        outer = _id(digest, first.number, 0)
        yield base | timed | {"spanId": outer, "name": names.CHAT, "attributes": _pairs(said)}
        recalls = [recall for turn in turns for recall in turn.recalls]
        for place, recall in enumerate(recalls, 1):
            attributes = _pairs(about | _asked(recall, turns[-1].number))
            inside = {"spanId": _id(digest, first.number, place), "parentSpanId": outer}
            yield base | inside | {"kind": INTERNAL, "name": names.SEARCH_MEMORY, "attributes": attributes}
        for place, call in enumerate(others, len(recalls) + 1):
            took = {names.OPERATION: names.CHAT, names.STEP: turns[-1].number, **_took(call)}
            status = {"code": ERROR, "message": call.message} if call.error else {}
            yield base | _lasted(_start(before, now, call), now) | {
                "spanId": _id(digest, first.number, place), "parentSpanId": outer, "name": names.CHAT,
                "status": status, "attributes": _pairs(about | took),
            }  # fmt: skip


def _groups(turns: Sequence[RecordedTurn]) -> Iterator[list[RecordedTurn]]:
    """Up to each reply; what nobody answered stands last."""
    group: list[RecordedTurn] = []
    for turn in turns:
        group.append(turn)
        if turn.role == "assistant":
            yield group
            group = []
    if group:
        yield group


def _calls(turns: Sequence[RecordedTurn]) -> tuple[ModelCall | None, list[ModelCall]]:
    """The call that made the reply, the last one that did not fail; and the others."""
    calls = [call for turn in turns for call in turn.model_calls]
    answered = [i for i, call in enumerate(calls) if not call.error] if turns[-1].role == "assistant" else []
    return (calls.pop(answered[-1]) if answered else None), calls


def _took(call: ModelCall) -> dict[str, Any]:
    """What it took by the conventions' names; its request stands beside the message, in the turn's mark."""
    found = {
        names.REQUEST_MODEL: call.llm, names.INPUT_TOKENS: call.prompt_tokens or "",
        names.OUTPUT_TOKENS: call.completion_tokens or "", names.ERROR: call.error,
        names.FINISH: [call.finish] if call.finish else "",
        names.FIRST_CHUNK_S: call.first_ms / 1000 if call.first_ms else "",
    }  # fmt: skip
    return found if call.cost_usd is None else found | {names.COSTS[0]: float(call.cost_usd)}


def _start(earliest: int, end: int, call: ModelCall) -> int:
    """Nanoseconds: of a call that ended at `end`."""
    return max(earliest, end - round(call.ms * 1_000_000))


def _lasted(start: int, end: int) -> dict[str, str]:
    return {"startTimeUnixNano": str(start), "endTimeUnixNano": str(end)}


def _id(digest: bytes, turn: int, place: int) -> str:
    """In the order of the turns, for those that have one time."""
    return (digest[16:19] + (turn * 256 + min(place, 255) + 1).to_bytes(5)).hex()


def _nanoseconds(at: datetime) -> int:
    since = at - EPOCH
    return min(LAST, max(0, ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000))


def _opening(recording: Recording) -> dict[str, Any]:
    found = {names.TITLE: recording.title, names.LANGUAGE: recording.language}
    if recording.system:
        found[names.SYSTEM_INSTRUCTIONS] = _json([{"type": "text", "content": recording.system}])
    return found


def _said(turns: Sequence[RecordedTurn]) -> dict[str, Any]:
    replied = turns[-1].role == "assistant"
    inputs, outputs = (turns[:-1], turns[-1:]) if replied else (turns, ())
    said = {names.OPERATION: names.CHAT, names.STEP: turns[0].number}
    if inputs:
        said[names.INPUT_MESSAGES] = _json([_message(turn) for turn in inputs])
    if outputs:
        finish = "tool_call" if turns[-1].calls else "stop"
        said[names.OUTPUT_MESSAGES] = _json([{**_message(turn), "finish_reason": finish} for turn in outputs])
    return said


def _message(turn: RecordedTurn) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if turn.role == "tool" and turn.answers:
        parts.append({"type": "tool_call_response", "id": turn.answers, "response": turn.text})
    elif turn.text:
        parts.append({"type": "text", "content": turn.text})
    parts += [{"type": "tool_call", "id": c.id, "name": c.name, "arguments": c.arguments} for c in turn.calls]
    mark: dict[str, Any] = {"turn": turn.number, "said_at": turn.said_at.isoformat()}
    if turn.answers:
        mark["answers"] = turn.answers
    if turn.important:
        mark["important"] = True
    if turn.evidence:
        mark["evidence"] = turn.evidence
    if turn.recalls:
        mark["recalls"] = [{"turns": recall.turns, "question": recall.question} for recall in turn.recalls]
    if turn.model_calls:
        mark["model_calls"] = [call.told() for call in turn.model_calls]
    speaker = {"name": turn.speaker} if turn.speaker else {}
    return {"role": turn.role, **speaker, "parts": parts, names.OURS: mark}


def _asked(recall: RecordedRecall, turn: int) -> dict[str, Any]:
    return {
        names.OPERATION: names.SEARCH_MEMORY, names.STEP: turn, names.MEMORY_QUERY: recall.question,
        names.MEMORY_COUNT: len(recall.turns), names.MEMORY_RECORDS: _json([list(span) for span in recall.turns]),
    }  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items() if value != ""]


def _value(value: int | float | str | list[str]) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(each) for each in value]}}
    if isinstance(value, str):
        return {"stringValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}
