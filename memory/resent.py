"""The history that an application sends again with every call, against what is known of it: what of it is new.

Chat APIs remember nothing, so each call brings the whole conversation. The longest beginning that is known says where
it goes on; what follows is new. Where it differs from what is known in the middle, an earlier message was edited, and
what follows is a branch, from the beginning of the step that differs. Of an application that sends only its last
messages, they are found at the end of what is known.

Not here: runs, stores, the model; whoever asks brings the histories.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any, TypeVar

from memory.errors import BadMessage
from memory.jsontext import object_in
from memory.pager import Said
from memory.redaction import Redact, clean
from memory.state import State
from memory.turns import Turn, Words

SYSTEM = ("system", "developer")
Known = TypeVar("Known")
Sent = TypeVar("Sent")


@dataclass(frozen=True, slots=True)
class Key:
    """What tells two messages apart: not their times, not white space around them."""

    role: str
    text: str
    answers: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()  # id, name, arguments in one spelling; "…" where they were cut


@dataclass(frozen=True, slots=True)
class Place:
    """Where sent messages go on: `known` messages of the run stand, and those from `new` on follow."""

    run: int
    known: int
    new: int
    branches: bool = False  # the run goes on otherwise after `known`


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────


def read(messages: Sequence[Any]) -> tuple[str, tuple[Said, ...]]:
    """The application's system prompt, which stands before anything else, and the messages after it.

    Messages are dictionaries, or objects with `model_dump`, as LiteLLM and OpenAI give them. Raises BadMessage for
    what is not text: a memory of words would lose it.

    >>> read([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])[0]
    'Be brief.'
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise BadMessage(f"messages are a list of messages, not {type(messages).__name__}")
    plain = [_plain(message, nth) for nth, message in enumerate(messages)]
    first = next((i for i, m in enumerate(plain) if m.get("role") not in SYSTEM), len(plain))
    system = [_text(m.get("content"), nth) for nth, m in enumerate(plain[:first])]
    heard = [_said(m, first + nth) for nth, m in enumerate(plain[first:])]
    if heard and heard[-1] is None:
        raise BadMessage(f"message {len(plain) - 1} is empty: a message needs words")
    said = tuple(filter(None, heard))
    if not said:
        raise BadMessage("messages hold nothing that was said: add the user's message")
    if said[-1].role == "assistant":
        raise BadMessage("the last message is the assistant's: there is nothing to answer; add the user's, or a result")
    return "\n\n".join(filter(None, system)), said


def _plain(message: Any, nth: int) -> Mapping[str, Any]:
    dumped = message.model_dump() if hasattr(message, "model_dump") else message
    if not isinstance(dumped, Mapping):
        raise BadMessage(f"message {nth} is {type(message).__name__}: a message has a role and content")
    return dumped


def _said(message: Mapping[str, Any], nth: int) -> Said | None:
    """None for one that says nothing: a reply that came empty comes again with every later call."""
    role = message.get("role")
    if role in SYSTEM:
        role = "system"
    if role not in ("user", "assistant", "tool", "system"):
        raise BadMessage(f"message {nth} has the role {role!r}; roles are user, assistant, tool, system and developer")
    if message.get("function_call"):
        raise BadMessage(f"message {nth} holds a function_call; write it as tool_calls")
    calls = tuple(_call(call, nth) for call in message.get("tool_calls") or ()) if role == "assistant" else ()
    answers = str(message.get("tool_call_id") or "") if role == "tool" else ""
    if role == "tool" and not answers:
        raise BadMessage(f"message {nth} is a tool's result and names no tool_call_id")
    text = _text(message.get("content"), nth)
    if not text.strip() and not calls and not answers:
        return None
    return Said(text, role, speaker=str(message.get("name") or "") if role == "user" else "", calls=calls,
                answers=answers)  # fmt: skip


def _call(call: Any, nth: int) -> tuple[str, str, str]:
    plain = _plain(call, nth)
    function = _plain(plain.get("function") or {}, nth)
    arguments = function.get("arguments") or "{}"
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return str(plain.get("id") or ""), str(function.get("name") or ""), text


def _text(content: Any, nth: int) -> str:
    """Text, or text in parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise BadMessage(f"the content of message {nth} is {type(content).__name__}: it is text, or a list of parts")
    return "\n".join(_part(part, nth) for part in content)


def _part(part: Any, nth: int) -> str:
    if isinstance(part, str):
        return part
    plain = _plain(part, nth)
    if isinstance(plain.get("text"), str) and plain.get("type", "text") in ("text", "input_text", "output_text"):
        return str(plain["text"])
    raise BadMessage(
        f"message {nth} holds a part of type {plain.get('type')!r}; the memory keeps words alone: describe it in "
        "text, or send this conversation to the model without the memory"
    )


# ── comparing ─────────────────────────────────────────────────────────────────────────────────────────


def key_of(said: Said, redactor: Redact) -> Key:
    """Of a message as it was sent: what was stored of it holds no secrets, so neither does this."""
    keep: Callable[[str], str] = lambda text: redactor(clean(text))[0]  # noqa: E731 - shorter than its types
    calls = tuple((clean(call), clean(name), _spelled(keep(arguments))) for call, name, arguments in said.calls)
    return Key(said.role, keep(said.text).strip(), clean(said.answers), calls)


def keys_of(state: State, words: Words) -> list[Key]:
    """Of every turn that a run holds, in order."""
    keys: list[Key] = []
    for turn in (turn for page in state.pages.values() for turn in page.turns):
        if turn.piece:  # the first one stands for the whole text, the last one brings the calls
            keys[-1] = Key(keys[-1].role, keys[-1].text, keys[-1].answers, keys[-1].calls + _calls(turn, words))
        else:
            keys.append(Key(turn.role, words(turn.text).strip(), turn.answers, _calls(turn, words)))
    return keys


def _calls(turn: Turn, words: Words) -> tuple[tuple[str, str, str], ...]:
    return tuple((call.id, call.name, _spelled(words(call.arguments))) for call in turn.calls)


def _spelled(arguments: str) -> str:
    """In one spelling; what cannot be read is {}, as it is stored."""
    found, _ = object_in(arguments)
    return "…" if found.keys() == {"cut"} else json.dumps(found, sort_keys=True, ensure_ascii=False)


def _same(known: Key, sent: Key) -> bool:
    if known == sent:
        return True
    if (known.role, known.text, known.answers) != (sent.role, sent.text, sent.answers):
        return False
    pairs = zip(known.calls, sent.calls, strict=False)
    return len(known.calls) == len(sent.calls) and all(a[:2] == b[:2] and a[2] in (b[2], "…") for a, b in pairs)


def common(known: Sequence[Key], sent: Sequence[Key]) -> int:
    """How many messages both begin with."""
    return beginning(known, sent, _same)


def beginning(known: Sequence[Known], sent: Sequence[Sent], same: Callable[[Known, Sent], bool] = eq) -> int:
    """How many of both, from the first on, are the same.

    >>> beginning("peanut", "pearl")
    3
    """
    pairs = enumerate(zip(known, sent, strict=False))
    return next((i for i, (a, b) in pairs if not same(a, b)), min(len(known), len(sent)))


def at_the_end(known: Sequence[Key], sent: Sequence[Key]) -> int:
    """How many of the first sent messages are the last ones known; 0 unless a reply is among them."""
    # Stricter than a recorder (sessions/resending.py) or a trace (sessions/threads.py) is: here the model answers out
    # of the run that is found, so nothing unknown may stand before what is shared, and "ok" alone is no sign.
    for n in range(min(len(known), len(sent)), 0, -1):
        if common(known[-n:], sent) == n and any(key.role == "assistant" for key in sent[:n]):
            return n
    return 0


def place(runs: Sequence[Sequence[Key]], sent: Sequence[Key]) -> Place:
    """Where `sent` goes on, among runs of a conversation, the one to prefer first.

    >>> hi, hello, bye = Key("user", "Hi"), Key("assistant", "Hello"), Key("user", "Bye")
    >>> place([[hi, hello]], [hi, hello, bye]), place([[hi, hello]], [bye])
    (Place(run=0, known=2, new=2, branches=False), Place(run=0, known=0, new=0, branches=True))
    """
    shared = [common(run, sent) for run in runs]
    best = max(range(len(runs)), key=lambda i: (shared[i], shared[i] == len(runs[i]), -i))
    if shared[best] == len(runs[best]):
        return Place(best, shared[best], shared[best])
    if not shared[best]:
        tails = [at_the_end(run, sent) for run in runs]
        longest = max(range(len(runs)), key=lambda i: (tails[i], -i))
        if tails[longest]:
            return Place(longest, len(runs[longest]), tails[longest])
    kept = _whole_steps(runs[best], shared[best])
    return Place(best, kept, kept, branches=True)


def _whole_steps(run: Sequence[Key], most: int) -> int:
    """The messages before the step that holds the one after `most`: a step begins with a user's message."""
    while most and run[most].role != "user":
        most -= 1
    return most


def name_of(said: Sequence[Said]) -> str:
    """A name for a conversation that came without one: by its first message of the user's, which comes every time."""
    return name_by(next((each.text for each in said if each.role == "user"), said[0].text))


def name_by(first: str) -> str:
    return f"chat-{hashlib.blake2b(clean(first).encode(), digest_size=6).hexdigest()}"
