"""Langfuse: traces as its page saves them, `{"trace": …, "observations": […]}`, one or several.

A generation is a call of a model; its messages become turns as an app's own traces do (threads.py), so a history that
each call resends is told once. Traces of one session are one conversation, whichever file each stands in. The traces
and their observations, but for those messages, stay in the conversation's `extra`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from memory.errors import RecordingError
from sessions import otel_names as names
from sessions.readers.parts import Made, Told, each_of, moment, rest, text_of
from sessions.readers.source import Source
from sessions.recording import Recording, Skipped, json_of
from sessions.spans import Span
from sessions.threads import Weave, woven

Message = dict[str, Any]
LANGCHAIN = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def looks_like(source: Source) -> bool:
    return any(isinstance(each.get("trace"), dict) and "observations" in each for each in source.head)


def read(*sources: Source, user: str | None = None, weave: Weave = woven) -> Iterator[Made]:
    """`user` overrides whose conversations these are."""
    sessions: dict[str, list[Told]] = defaultdict(list)
    for told in _traces(sources, user):
        if isinstance(told, Skipped):
            yield told
        elif told.conversation:
            sessions[told.conversation].append(told)
        else:
            yield from _conversation([told], weave)
    for several in sessions.values():
        yield from _conversation(several, weave)


def _traces(sources: Sequence[Source], user: str | None) -> Iterator[Told | Skipped]:
    for source in sources:
        try:
            yield from each_of(source, partial(_trace, user=user))
        except RecordingError as error:
            if len(sources) == 1:
                raise
            yield Skipped(source.name, str(error))


def _trace(raw: Any, where: str, user: str | None) -> Iterator[Told | Skipped]:
    trace, observations = raw["trace"], raw.get("observations") or raw["trace"].get("observations") or []
    owner, session = user or text_of(trace.get("userId")), text_of(trace.get("sessionId"))
    shared = {"session.id": session or text_of(trace.get("id")), names.USER: owner or "user"}
    notes: list[str] = []
    calls = [each for each in observations if each.get("type") == "GENERATION"]
    spans = tuple(_span(each, shared, notes.append) for each in calls)
    extra = {"trace": rest(trace, "observations"), "observations": [_bare(each) for each in observations]}
    if calls:
        yield Told(session, spans, extra, tuple(notes))
    else:
        yield Skipped(f"trace {trace.get('id')}", "it holds no generation: no model was called in it")


def _conversation(traces: Sequence[Told], weave: Weave) -> Iterator[Made]:
    """What the traces tell together; the first of its threads has what else they say."""
    notes = [note for told in traces for note in told.notes]
    extra = traces[0].extra if len(traces) == 1 else {"traces": [told.extra for told in traces]}
    kept = json_of(extra, notes.append)
    for one in weave(span for told in traces for span in told.spans):
        if isinstance(one, Recording):
            one, kept = replace(one, format="langfuse", versions=True, extra=kept, notes=(*notes, *one.notes)), ""
        yield one


def _bare(observation: Mapping[str, Any]) -> dict[str, Any]:
    taken = ("input", "output") if observation.get("type") == "GENERATION" else ()
    return rest(observation, *taken)


def _span(raw: Mapping[str, Any], shared: Mapping[str, str], note: Any) -> Span:
    said, replied = _messages(raw.get("input")), _messages(raw.get("output"), "assistant")
    used = raw.get("usageDetails") or {}
    counted = {names.INPUT_TOKENS: used.get("input"), names.OUTPUT_TOKENS: used.get("output")}
    attributes: dict[str, Any] = {**shared, names.OPERATION: "chat", **rest(counted)}
    told = text_of((raw.get("modelParameters") or {}).get("instructions"))  # OpenAI's responses keep them apart
    if told and said and all(each["role"] != "system" for each in said):
        said.insert(0, {"role": "system", "content": told})
    if said:
        attributes[names.INPUT_MESSAGES] = json.dumps(said, ensure_ascii=False)
    if replied:
        attributes[names.OUTPUT_MESSAGES] = json.dumps(replied, ensure_ascii=False)
    return Span(
        trace=text_of(raw.get("traceId")), id=text_of(raw.get("id")), parent=text_of(raw.get("parentObservationId")),
        name=text_of(raw.get("name")), started_at=moment(raw.get("startTime"), note),
        ended_at=moment(raw.get("endTime"), note), attributes=attributes,
        failed=raw.get("level") == "ERROR", message=text_of(raw.get("statusMessage")),
    )  # fmt: skip


def _loaded(value: Any) -> Any:
    """JSON that was encoded once, twice or not at all."""
    for _ in range(3):
        if not isinstance(value, str):
            return value
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _messages(value: Any, role: str = "user") -> list[Message]:
    """What each framework calls messages, as OpenAI's chat writes them."""
    value = _loaded(value)
    if value in (None, ""):
        return []
    if isinstance(value, list):
        return [message for each in value for message in _messages(each, role)]
    if not isinstance(value, dict):
        return [{"role": role, "content": text_of(value)}]
    for key in ("messages", "contents", "output"):  # LangChain, Google ADK, OpenAI's responses
        if isinstance(value.get(key), list):
            told = text_of((value.get("config") or {}).get("system_instruction") or value.get("instructions"))
            before = [{"role": "system", "content": told}] if told and key == "contents" else []
            return before + _messages(value[key], role)
    if isinstance(value.get("content"), dict) and "parts" in value["content"]:
        return _messages(value["content"], role)
    return list(_one(value, role))


def _one(raw: Message, role: str) -> Iterator[Message]:
    sort, content = raw.get("type"), raw.get("content")
    if sort == "function_call":
        yield _asked(raw.get("call_id") or raw.get("id"), raw.get("name"), raw.get("arguments"))
    elif sort == "function_call_output":
        yield {"role": "tool", "tool_call_id": raw.get("call_id"), "content": text_of(raw.get("output"))}
    elif isinstance(raw.get("parts"), list):
        yield from _parts(raw, "assistant" if raw.get("role") == "model" else text_of(raw.get("role")) or role)
    elif raw.get("role") == "tool" and isinstance(content, dict) and content.get("type") == "function":
        return  # what a tool looks like, which nobody said
    elif "role" in raw or sort in LANGCHAIN or content is not None:
        more = (raw.get("additional_kwargs") or {}).get("tool_calls")
        calls = {"tool_calls": more} if more and not raw.get("tool_calls") else {}
        yield {"role": raw.get("role") or LANGCHAIN.get(text_of(sort), role), **rest(raw, "type", "role"), **calls}


def _parts(raw: Message, role: str) -> Iterator[Message]:
    """Google's: text, calls and results are parts of one message; calls have no ids, their names stand in."""
    words = [text_of(part.get("text")) for part in raw["parts"] if part.get("text")]
    if words:
        yield {"role": role, "content": "\n".join(words)}
    for part in raw["parts"]:
        if call := part.get("function_call"):
            yield _asked(call.get("id") or call.get("name"), call.get("name"), call.get("args"))
        if result := part.get("function_response"):
            answer = json.dumps(result.get("response"), ensure_ascii=False)
            yield {"role": "tool", "tool_call_id": result.get("id") or result.get("name"), "content": answer}


def _asked(id_: Any, name: Any, arguments: Any) -> Message:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": id_, "function": {"name": name, "arguments": text}}],
    }
