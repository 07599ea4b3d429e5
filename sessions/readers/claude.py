"""Claude's data export: conversations.json, also a single conversation.

The words of a message stand in its `content` blocks, or in `text` where these are empty. Where messages name the one
before them, the turns are the newest path; the others are kept as `extra["versions"]` of the turn in their place.
Attached text is material and no speech: it stays in the turn's `extra`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from sessions.readers.parts import Export, Made, beyond_words, call, conversations, moment, rest, some, text_of
from sessions.readers.source import Source
from sessions.recording import Draft, RecordedCall, words_of

EXPORT = Export("claude", "chat_messages", list, ("uuid", "conversation_id"), ("name", "title"), "created_at")
ROLES = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}
FILLER = "This block is not supported on your current device yet."


def looks_like(source: Source) -> bool:
    return any(isinstance(each.get("chat_messages"), list) for each in source.head)


def read(source: Source, user: str | None = None) -> Iterator[Made]:
    yield from conversations(source, user, EXPORT, _fill)


def _fill(draft: Draft, raw: Any) -> None:
    path, versions = _path(draft, raw["chat_messages"])
    for place, message in path:
        try:
            _message(draft, message, f"message {place + 1}", versions.pop(place, []))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            draft.skip(f"message {place + 1}", f"no message: {type(error).__name__} {error}", str(message))


def _path(draft: Draft, messages: Sequence[Any]) -> tuple[list[tuple[int, Any]], dict[int, list[Any]]]:
    """The messages on the newest path, and by the place of the one in whose stead they stood, those beside it."""
    every = list(enumerate(messages))
    by_id = {m["uuid"]: place for place, m in every if isinstance(m, dict) and m.get("uuid")}
    above = {place: by_id.get(m.get("parent_message_uuid")) for place, m in every if isinstance(m, dict)}
    children: dict[int | None, list[int]] = defaultdict(list)
    for place, parent in above.items():
        children[parent].append(place)
    if not by_id or all(parent is None for parent in above.values()) or max(map(len, children.values())) < 2:
        return every, {}
    at: int | None = max(above)
    path: dict[int, None] = {}
    while at is not None and at not in path:
        path[at] = None
        at = above[at]
    taken = {above[place]: place for place in path}  # by the message before: the one that stands there now
    versions: dict[int, list[Any]] = defaultdict(list)
    for place, message in every:
        if place in path:
            continue
        seen, climbed = {place}, above.get(place)
        while climbed is not None and climbed not in path and climbed not in seen:
            seen.add(climbed)
            climbed = above.get(climbed)
        versions[taken.get(climbed, max(path))].append(message)
    draft.note(f"{some(len(every) - len(path), 'message')} of other versions (edited, answered anew) kept beside")
    return [(place, messages[place]) for place in reversed(path)], versions


def _message(draft: Draft, message: Any, where: str, versions: list[Any]) -> None:
    blocks = [each for each in message.get("content") or () if isinstance(each, dict)]
    said = "\n".join(words for block in blocks if (words := _words(block)))
    text = text_of(message.get("text"))
    words = said or ("" if text.strip() == FILLER else text)
    at = moment(message.get("created_at"), draft.note)
    sender = text_of(message.get("sender") or message.get("role"))
    calls = [_call(block, where, n) for n, block in enumerate(blocks) if block.get("type") == "tool_use"]
    left = rest(message, "sender", "role", "content", *(["created_at"] if at else []))
    if left.get("text", "") in (words, "") or FILLER in text:
        left.pop("text", None)
    if beyond := [more for block in blocks if (more := _beyond(block))]:
        left["content"] = beyond
    if versions:
        left["versions"] = versions
    ref = message.get("uuid") or where
    if draft.turn(ref, ROLES.get(sender, sender), words, at, where, calls=calls, extra=left):
        _results(draft, blocks, calls, where, at)


def _beyond(block: dict[str, Any]) -> dict[str, Any]:
    """What it says beyond the words, the call or the result that it stands for."""
    sort = block.get("type")
    if sort == "text":
        left = rest(block, "text", "type")
    elif sort == "tool_use":
        left = rest(block, "id", "name", "input", "type")
    elif sort == "tool_result" and not beyond_words(block.get("content")):
        left = rest(block, "tool_use_id", "name", "content", "type")
    else:
        return block
    return {"type": sort, **left} if left else {}


def _words(block: dict[str, Any]) -> str:
    """What it says to the other side; thoughts, calls and marks say nothing, and an unknown block leaves its place."""
    sort = block.get("type")
    if sort == "text":
        return text_of(block.get("text"))
    if sort in ("thinking", "redacted_thinking", "tool_use", "tool_result", "token_budget", "flag"):
        return ""
    return words_of(block)


def _call(block: dict[str, Any], where: str, n: int) -> RecordedCall:
    return call(block.get("id") or f"{where}, block {n + 1}", block.get("name"), block.get("input"))


def _results(
    draft: Draft, blocks: Sequence[dict[str, Any]], calls: Sequence[RecordedCall], where: str, at: Any
) -> None:
    """What tools answered within the message: a turn of the tool each."""
    waiting = list(calls)
    for n, block in enumerate(blocks):
        if block.get("type") != "tool_result":
            continue
        asked = next((c for c in waiting if c.id == block.get("tool_use_id")), waiting[0] if waiting else None)
        if asked:
            waiting.remove(asked)
        place = f"{where}, block {n + 1}"
        draft.turn(
            place, "tool", words_of(block.get("content")), at, place,
            speaker=text_of(block.get("name")), answers=asked.id if asked else "",
        )  # fmt: skip
