"""Conversations as lists of messages with roles: OpenAI's JSONL (chat, fine-tuning, batches) and ShareGPT's JSON.

A line or element with `messages` (or `conversations`) is a conversation; messages that stand bare make one together.
Such files have no times and mostly no ids: a conversation is named after its id, else its file and its place in it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from memory.errors import RecordingError
from sessions.readers.documents import Document, documents
from sessions.readers.parts import Made, beyond_words, call, guarded, moment, rest, text_of
from sessions.readers.source import Source
from sessions.recording import Draft, RecordedCall, Skipped, words_of

ROLES = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
    "gpt": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant", "model": "assistant",
    "tool": "tool", "function": "tool", "observation": "tool", "function_call": "assistant",
}  # fmt: skip
IDS = ("conversation_id", "id", "custom_id", "session_id")
TIMES = ("timestamp", "created_at", "create_time", "time")


def openai_looks_like(source: Source) -> bool:
    return any(_listed(each) is not None or "role" in each for each in source.head)


def sharegpt_looks_like(source: Source) -> bool:
    return any(
        isinstance(each.get("conversations"), list) or ("messages" in each and "images" in each) or "from" in each
        for each in source.head
    )


def read_openai(source: Source, user: str | None = None) -> Iterator[Made]:
    yield from _read(source, "openai", user or "user")


def read_sharegpt(source: Source, user: str | None = None) -> Iterator[Made]:
    yield from _read(source, "sharegpt", user or "user")


def _read(source: Source, name: str, user: str) -> Iterator[Made]:
    stem, place, names = PurePath(source.name).stem, 0, Counter[str]()
    bare: list[Document] = []  # messages that stand alone, of one list or one file of lines
    lost: list[Skipped] = []

    def conversation(raw: Any, where: str) -> Iterator[Made]:
        listed = _listed(raw)
        if listed is None:
            yield Skipped(where, "it has no messages", str(raw)[:60])
            return
        own = next((text_of(raw[key]) for key in IDS if isinstance(raw, dict) and raw.get(key) not in (None, "")), "")
        names[own] += bool(own)
        draft = Draft(name, own or f"{stem}-{place}", user)
        if own and names[own] > 1:
            draft.conversation = f"{own}-{names[own]}"
            draft.note(f"its file names several conversations {own!r}; this is number {names[own]}")
        _fill(draft, raw if isinstance(raw, dict) else {}, listed)
        yield draft.finish()

    for found in documents(source.text):
        if bare and not (isinstance(found, Document) and _is_message(found.value) and found.group == bare[-1].group):
            if isinstance(found, Skipped):
                lost.append(found)
                continue
            place += 1
            yield from guarded(_together(bare), conversation)
            bare = []
        if isinstance(found, Skipped):
            lost.append(found)
        elif _is_message(found.value):
            bare.append(found)
        else:
            place += 1
            yield from guarded(found, conversation)
    if bare:
        place += 1
        yield from guarded(_together(bare), conversation)
    if lost and not place:
        raise RecordingError(f"{source.name} holds nothing that can be read; {lost[0]}")
    yield from lost


def _together(bare: Sequence[Document]) -> Document:
    return Document(bare[0].where, {"messages": [each.value for each in bare]}, bare[0].group, bare[-1].cut)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and _listed(value) is None and bool({"role", "from", "content"} & set(value))


def _listed(raw: Any) -> list[Any] | None:
    """The messages of a conversation, wherever its file keeps them; None: it is none."""
    if isinstance(raw, list):
        return raw
    if not isinstance(raw, dict):
        return None
    for key in ("messages", "conversations", "conversation"):
        if isinstance(raw.get(key), list):
            return list(raw[key])
    body = raw.get("body")
    if isinstance(body, dict) and isinstance(body.get("messages"), list):
        return list(body["messages"])
    answered = (raw.get("response") or {}).get("body") if isinstance(raw.get("response"), dict) else None
    choices = answered.get("choices") if isinstance(answered, dict) else None
    if isinstance(choices, list):
        return [each["message"] for each in choices[:1] if isinstance(each, dict) and "message" in each]
    return None


def _fill(draft: Draft, raw: Mapping[str, Any], messages: Sequence[Any]) -> None:
    draft.extra = rest(raw, "messages", "conversations", "conversation", "system")
    if isinstance(body := draft.extra.get("body"), dict):
        draft.extra["body"] = rest(body, "messages")
    draft.system, draft.title = text_of(raw.get("system")), text_of(raw.get("title"))
    draft.began = next((at for key in TIMES if (at := moment(raw.get(key), draft.note))), None)
    waiting: list[str] = []  # ids of calls that were not answered yet
    for place, message in enumerate(messages, 1):
        where = f"message {place}"
        try:
            _message(draft, message, where, waiting)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            draft.skip(where, f"no message: {type(error).__name__} {error}", str(message))
    if draft.system and not draft.turns:  # instructions alone: they are all that was said
        draft.turn("system", "system", draft.system, draft.began, "message 1", extra=draft.extra.pop("system", None))
        draft.system = ""


def _message(draft: Draft, message: Mapping[str, Any], where: str, waiting: list[str]) -> None:
    written = text_of(message.get("role") or message.get("from"))
    said = written.strip().lower()
    role = ROLES.get(said, said)
    content = message.get("content", message.get("value"))
    words, calls, answers = _words(content), _calls(message, where), ""
    beyond = _beyond(content)
    if said == "function_call":
        words, calls = "", [_called(content, f"{where}, call 1")]
    for part in beyond:
        if part.get("type") == "tool_call":
            calls.append(_called(part.get("value", part), f"{where}, call {len(calls) + 1}"))
    if role == "system" and not draft.turns and not draft.system:
        draft.system = words
        left = rest(message, "role", "from", "content", "value") | ({"content": beyond} if beyond else {})
        if left:
            draft.extra["system"] = left
        return
    if role == "tool":
        answers = text_of(message.get("tool_call_id"))
        answers = answers or (waiting.pop(0) if waiting else "")
    left = rest(message, "role", "from", "content", "value", "tool_calls", "function_call", "tool_call_id", "name")
    if said not in ("user", "assistant", "tool", "system", "human", "gpt") or said != written:
        left["role"] = written
    if beyond:
        left["content"] = beyond
    at = next((at for key in TIMES if (at := moment(message.get(key), draft.note))), None)
    speaker = text_of(message.get("name"))
    if draft.turn(where, role, words, at, where, speaker=speaker, calls=calls, answers=answers, extra=left):
        waiting += [each.id for each in calls]
        if answers in waiting:
            waiting.remove(answers)


def _words(content: Any) -> str:
    """Text parts; LLaMA-Factory says `value` for `text`. A refusal is what was said."""
    if not isinstance(content, list):
        return words_of(content)
    parts = []
    for part in content:
        sort = part.get("type") if isinstance(part, dict) else None
        if sort in ("text", "refusal"):
            parts.append(text_of(part.get("text") or part.get("value") or part.get("refusal")))
        elif sort not in ("reasoning", "tool_call"):
            parts.append(words_of(part))
    return "\n".join(part for part in parts if part)


def _beyond(content: Any) -> list[Any]:
    return [
        part for part in beyond_words(content) if not (part.get("type") == "text" and set(part) <= {"type", "value"})
    ]


def _calls(message: Mapping[str, Any], where: str) -> list[RecordedCall]:
    made = [_one_call(each, f"{where}, call {n}") for n, each in enumerate(message.get("tool_calls") or (), 1)]
    if message.get("function_call"):
        made.append(_one_call({"function": message["function_call"]}, f"{where}, call {len(made) + 1}"))
    return made


def _one_call(raw: Mapping[str, Any], id_: str) -> RecordedCall:
    function = raw.get("function") or raw
    return call(raw.get("id") or id_, function.get("name"), function.get("arguments"))


def _called(value: Any, id_: str) -> RecordedCall:
    """A call written as JSON text: `{"name": …, "arguments": {…}}`; what cannot be read is kept as it was written."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return call(id_, "", value)
    return _one_call(value, id_) if isinstance(value, dict) else call(id_, "", value)
