"""What was said in a span: the messages that went to a model and came back, whichever convention it was written by.

`said(span)` looks at the newest spelling first: messages as JSON (OpenTelemetry GenAI), one event a message, indexed
attributes (OpenInference, OpenLLMetry), a plain input and output.
Not here: which of them are new (threads.py).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from memory.redaction import Redact, clean
from sessions import otel_names as names
from sessions.recording import ModelCall, RecordedCall, words_of
from sessions.spans import Span

ROLES = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
    "ai": "assistant", "model": "assistant", "tool": "tool", "function": "tool",
}  # fmt: skip
MOST = 2**31  # tokens, or dollars, beyond which a figure is none
DEEPEST = 12  # parts of an indexed attribute's name
PLAIN = ("input", "question", "query", "prompt", "content", "text", "output", "answer", "response")


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    text: str
    calls: tuple[RecordedCall, ...] = ()
    answers: str = ""
    speaker: str = ""
    mark: Mapping[str, Any] | None = None  # what our own export says of it

    @property
    def key(self) -> tuple[object, ...]:
        """By what it is known again: calls and their results by their ids, for their words are written in many ways."""
        if self.role == "tool" and self.answers:
            return ("tool", self.answers)
        ids = tuple(call.id for call in self.calls)
        if ids and all(ids):
            return (self.role, ids)
        return (self.role, self.text.strip(), tuple((call.name, call.arguments) for call in self.calls))


@dataclass(slots=True)
class Said:
    system: str = ""
    inputs: list[Message] = field(default_factory=list)
    outputs: list[Message] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)  # what has no place in a turn, counted


def said(span: Span) -> Said:
    """Everything that this span says was said; a call without messages says nothing."""
    found = Said()
    for read in (_as_json, _as_events, _as_indexed, _as_one_event, _as_values):
        inputs, outputs = read(span, found.left_out)
        if inputs or outputs:
            break
    instructions = loaded(span.attributes.get(names.SYSTEM_INSTRUCTIONS) or _detail(span, names.SYSTEM_INSTRUCTIONS))
    system = [clean(_parts(instructions, found.left_out)[0])] if instructions else []
    while inputs and inputs[0].role == "system" and inputs[0].mark is None:
        system.append(inputs.pop(0).text)
    found.system = "\n\n".join(filter(None, system))
    found.inputs = [message for message in inputs if _says(message)]
    found.outputs = [message for message in outputs if _says(message)]
    if blank := len(inputs) + len(outputs) - len(found.inputs) - len(found.outputs):
        found.left_out["messages without words"] += blank
    return found


def without_secrets(words: Said, by: Redact) -> Said:
    """As a store keeps it, so that what comes again is known again."""

    def kept(message: Message) -> Message:
        calls = tuple(replace(call, arguments=by(call.arguments)[0]) for call in message.calls)
        return replace(message, text=by(message.text)[0], calls=calls)

    return Said(by(words.system)[0], [*map(kept, words.inputs)], [*map(kept, words.outputs)], words.left_out)


def is_model(span: Span) -> bool:
    operation, kind = span.attributes.get(names.OPERATION), _kind(span)
    return operation in names.MODEL_OPERATIONS or (not operation and kind in names.MODEL_KINDS) or _holds(span)


def is_agent(span: Span) -> bool:
    return span.attributes.get(names.OPERATION) in names.AGENT_OPERATIONS or _kind(span) in names.AGENT_KINDS


def is_tool(span: Span) -> bool:
    return span.attributes.get(names.OPERATION) == names.EXECUTE_TOOL or _kind(span) in names.TOOL_KINDS


def tool_result(span: Span) -> Message | None:
    """The answer that a tool's span holds; None where it does not say to which call."""
    call, result = span.first(names.TOOL_CALL_IDS), span.first(names.TOOL_RESULTS)
    if not call or result is None:
        return None
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return Message("tool", clean(text), answers=str(call))


def _kind(span: Span) -> str:
    return str(span.first(names.KINDS) or "").lower()


def _holds(span: Span) -> bool:
    """Whether it has messages, though it does not say that it is a model's."""
    if span.attributes.get(names.OPERATION) or _kind(span):
        return False
    return any(name in span.attributes for name in (names.INPUT_MESSAGES, names.OUTPUT_MESSAGES)) or any(
        name.startswith(names.READ_BELOW) for name in span.attributes
    )


def _says(message: Message) -> bool:
    return bool(message.text.strip() or message.calls or message.answers)


# ── one reader a spelling ─────────────────────────────────────────────────────────────────────────────

Found = tuple[list[Message], list[Message]]


def _as_json(span: Span, left_out: Counter[str]) -> Found:
    both = [span.attributes.get(name) or _detail(span, name) for name in (names.INPUT_MESSAGES, names.OUTPUT_MESSAGES)]
    inputs, outputs = (_messages(loaded(raw), left_out) for raw in both)
    return inputs, outputs


def _detail(span: Span, name: str) -> Any:
    return next((e.attributes[name] for e in span.events if name in e.attributes), None)


def _as_events(span: Span, left_out: Counter[str]) -> Found:
    inputs: list[Message] = []
    outputs: list[Message] = []
    for event in span.events:
        raw = {key.removeprefix("gen_ai.event."): loaded(value) for key, value in event.attributes.items()}
        content = raw.get("content")
        if event.name in names.MESSAGE_EVENTS:
            body = raw | (content if isinstance(content, dict) else {})
            inputs += _message(
                {"role": names.MESSAGE_EVENTS[event.name], "tool_call_id": raw.get("id")} | body, left_out
            )
        elif event.name == names.CHOICE_EVENT:
            message = raw.get("message", content)
            body = message if isinstance(message, dict) else {"content": message}
            calls = raw.get("tool_calls")
            outputs += _message({"role": "assistant", "tool_calls": calls} | body, left_out)
    return inputs, outputs


def _as_one_event(span: Span, left_out: Counter[str]) -> Found:
    prompt = span.attributes.get(names.PROMPT)
    completion = span.attributes.get(names.COMPLETION)
    if is_model(span):
        prompt = prompt or _detail(span, names.PROMPT)
        completion = completion or _detail(span, names.COMPLETION)
    return _spoken(prompt, "user", left_out), _spoken(completion, "assistant", left_out)


def _as_indexed(span: Span, left_out: Counter[str]) -> Found:
    pairs = ((names.INDEXED_INPUT, names.INDEXED_OUTPUT), (names.PROMPT, names.COMPLETION))
    for pair in pairs:
        inputs, outputs = (_messages(_nested(span.attributes, name, left_out), left_out, role) for name, role in zip(
            pair, ("user", "assistant"), strict=True
        ))  # fmt: skip
        if inputs or outputs:
            return inputs, outputs
    return [], []


def _as_values(span: Span, left_out: Counter[str]) -> Found:
    if not (is_model(span) or is_agent(span)):
        return [], []
    came = span.first((names.INPUT_VALUE, names.ENTITY_INPUT))
    went = span.first((names.OUTPUT_VALUE, names.ENTITY_OUTPUT))
    return _spoken(came, "user", left_out), _spoken(went, "assistant", left_out)


# ── messages as they are written ──────────────────────────────────────────────────────────────────────


def loaded(raw: Any) -> Any:
    """JSON as what it holds; other text as it is."""
    if not isinstance(raw, str) or raw.lstrip()[:1] not in ("[", "{"):
        return raw
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):  # cut off by the exporter's limit, or a text that begins so
        return raw


def _spoken(raw: Any, role: str, left_out: Counter[str]) -> list[Message]:
    """A value that holds messages, one of them, or plain words."""
    if raw in (None, ""):
        return []
    value = loaded(raw)
    if isinstance(value, dict):
        inner = value.get("messages", value.get("choices"))
        if isinstance(inner, list):
            return _messages(inner, left_out, role)
        if "role" not in value:
            plain = [value[name] for name in PLAIN if isinstance(value.get(name), str)]
            value = plain[0] if plain else raw
    if isinstance(value, list) and any(not isinstance(each, dict) for each in value):
        value = raw
    return _messages(value if isinstance(value, list) else [value], left_out, role)


def _messages(raw: Any, left_out: Counter[str], role: str = "") -> list[Message]:
    if raw is None or raw == "":
        return []
    if isinstance(raw, str) and role == "":
        left_out["messages that are not whole JSON"] += 1
        return []
    found: list[Message] = []
    for each in raw if isinstance(raw, list) else [raw]:
        found += _message(each if isinstance(each, dict) else {"content": each}, left_out, role)
    return found


def _message(raw: dict[str, Any], left_out: Counter[str], role: str = "") -> list[Message]:
    """One message; several where it answers several calls."""
    inner = raw.get(names.MESSAGE)
    raw = inner if isinstance(inner, dict) else raw  # OpenInference, and a choice
    if (content := raw.get("content")) is None and "finish_reason" in raw and not raw.get("parts"):
        left_out["answers without content"] += not raw.get("tool_calls")
    spoken = str(raw.get("role") or role or "").lower()
    if spoken not in ROLES:
        left_out[f"messages of the role {spoken[:20]!r}"] += 1
        return []
    parts = raw.get("parts", raw.get("contents", content))
    text, calls, answers = _parts(_listed_parts(parts), left_out)
    calls += [_call(each) for each in raw.get("tool_calls") or () if isinstance(each, dict)]
    mark, answered = raw.get(names.OURS), str(raw.get("tool_call_id") or "")
    mark = mark if isinstance(mark, dict) else None
    if mark is not None:
        words = answers[0][1] if answers else text
        answered = str(mark.get("answers") or "")
        return [Message(ROLES[spoken], clean(words), tuple(calls), clean(answered), str(raw.get("name") or ""), mark)]
    speaker = clean(str(raw.get("name") or "")) if ROLES[spoken] != "tool" else ""
    if answers and not answered:
        told = [Message("tool", clean(words), answers=call) for call, words in answers]
        rest = [Message(ROLES[spoken], clean(text), tuple(calls), "", speaker)] if text or calls else []
        return told + rest
    answered = answered if ROLES[spoken] == "tool" else ""
    return [Message(ROLES[spoken], clean(text), tuple(calls), answered, speaker)]


def _listed_parts(parts: Any) -> Any:
    """A list of parts that was written as text; whatever else is text stays it, also where it happens to be JSON."""
    found = loaded(parts) if isinstance(parts, str) else parts
    is_parts = isinstance(found, list) and found and all(isinstance(p, dict) and "type" in p for p in found)
    return found if is_parts or not isinstance(parts, str) else parts


def _parts(parts: Any, left_out: Counter[str]) -> tuple[str, list[RecordedCall], list[tuple[str, str]]]:
    """Its words, its calls, and the results that it brings as (call, words)."""
    if parts is None or isinstance(parts, str):
        return parts or "", [], []
    texts: list[str] = []
    calls: list[RecordedCall] = []
    answers: list[tuple[str, str]] = []
    for part in parts if isinstance(parts, list) else [parts]:
        part = part.get(names.MESSAGE_CONTENT, part) if isinstance(part, dict) else part
        kind = str(part.get("type") or "") if isinstance(part, dict) else ""
        if kind in ("tool_call", "tool_use"):
            calls.append(_call(part))
        elif kind in ("tool_call_response", "tool_result"):
            words = part.get("response", part.get("result", part.get("content")))
            answers.append((str(part.get("id") or part.get("tool_use_id") or ""), _words(words)))
        elif kind in ("reasoning", "thinking"):
            left_out["parts of reasoning"] += 1
        elif kind in ("", "text") and isinstance(part, dict) and isinstance(part.get("content"), str):
            texts.append(part["content"])
        else:
            texts.append(words_of(part))
    return "\n".join(texts), calls, answers


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _call(raw: Any) -> RecordedCall:
    raw = raw.get(names.TOOL_CALL, raw)
    function = raw.get("function")
    body = function if isinstance(function, dict) else raw
    arguments = body.get("arguments", body.get("input"))
    empty = arguments is None or (arguments == "" and raw.get("type") != "tool_call")
    text = "{}" if empty else _words(arguments)
    return RecordedCall(clean(str(raw.get("id") or "")), clean(str(body.get("name") or "")), clean(text))


def _nested(attributes: Mapping[str, Any], prefix: str, left_out: Counter[str]) -> list[Any]:
    """`prefix.0.message.role` and its like as what they name; a missing index is passed over.

    >>> _nested({"m.0.role": "user", "m.2.role": "tool"}, "m", Counter())
    [{'role': 'user'}, {'role': 'tool'}]
    """
    tree: dict[str, Any] = {}
    for name, value in attributes.items():
        if not name.startswith(f"{prefix}."):
            continue
        *path, last = name.removeprefix(f"{prefix}.").split(".")
        if len(path) >= DEEPEST:
            left_out["attributes with too long a name"] += 1
            continue
        place = tree
        for step in path:
            below = place.setdefault(step, {})
            place = below if isinstance(below, dict) else place.setdefault(f"{step}.", {})
        place[last] = value
    found = _listed(tree)
    if not isinstance(found, list):
        return []
    if missing := max(map(int, tree), default=-1) + 1 - len(found):
        left_out["numbers of messages that are missing"] += missing
    return found


def _listed(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if tree and all(key.isdecimal() and len(key) < 10 for key in tree):
        return [_listed(tree[key]) for key in sorted(tree, key=int)]
    return {key: _listed(value) for key, value in tree.items()}


def foreign(span: Span) -> Iterator[str]:
    """Names of attributes that say nothing a recording has room for."""
    for name in span.attributes:
        if name not in names.READ_WITH and not name.startswith(names.READ_BELOW):
            yield name


def figures(span: Span) -> tuple[int, int, float]:
    """Tokens that went in and came out, and what it cost in US dollars; 0 where it does not say."""
    tokens = [_number(span.first(which)) for which in (names.PROMPT_TOKENS, names.COMPLETION_TOKENS)]
    return int(tokens[0]), int(tokens[1]), _number(span.first(names.COSTS))


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if 0 <= number < MOST else 0.0


def failure(span: Span) -> str:
    """Why it failed, in the words that it has for it; "" where it did not."""
    return ": ".join(filter(None, _failed(span)))


def _failed(span: Span) -> tuple[str, str]:
    """The kind of its failure, and why; nothing where it did not fail."""
    for event in span.events:
        if event.name == names.EXCEPTION_EVENT:
            kind, why = (event.attributes.get(n) for n in (names.EXCEPTION_TYPE, names.EXCEPTION_MESSAGE))
            return clean(str(kind or "")), clean(str(why or ("" if kind else "an exception")))
    kind = span.attributes.get(names.ERROR)
    if span.failed or kind:
        return clean(str(kind or "")), clean(span.message or ("" if kind else "it failed, without a reason"))
    return "", ""


def model_call(span: Span, *, replied: bool) -> ModelCall | None:
    """What this call of a model took; None where it says neither the model nor any figure. A reply is no failure."""
    tokens_in, tokens_out, _ = figures(span)
    llm, cost = clean(str(span.first(names.MODELS) or "")), span.first(names.COSTS)
    request, (kind, why) = f"{span.trace}-{span.id}", _failed(span)
    took = (span.ended_at - span.started_at).total_seconds() if span.started_at and span.ended_at else 0.0
    if (kind or why) and not replied:
        return ModelCall(request, llm, ms=max(0.0, took * 1000), error=kind or "Error", message=why)
    if not (llm or tokens_in or tokens_out or cost is not None):
        return None
    finish = loaded(span.attributes.get(names.FINISH) or "")
    return ModelCall(
        request, llm, tokens_in, tokens_out, None if cost is None else _number(cost), max(0.0, took * 1000),
        _first_ms(span), clean(", ".join(map(str, finish)) if isinstance(finish, list) else str(finish)),
    )  # fmt: skip


def _first_ms(span: Span) -> float:
    """Until the first piece of its stream; 0 where it does not say."""
    if (seconds := _number(span.attributes.get(names.FIRST_CHUNK_S))) > 0:
        return seconds * 1000
    came = (event.at for event in span.events if event.name in names.FIRST_CHUNK_EVENTS and event.at)
    first = min(came, default=None)
    return max(0.0, (first - span.started_at).total_seconds() * 1000) if first and span.started_at else 0.0
