"""ATIF: an agent's trajectory, one JSON document a session, steps by the user, the agent and the system.

A step's observation is the result of its tool calls: a turn of the tool each. Reasoning, metrics and what else a step
says stay in the turn's `extra`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import PurePath
from typing import Any

from sessions.readers.parts import Made, beyond_words, call, each_of, moment, rest, text_of
from sessions.readers.source import Source
from sessions.recording import Draft, Skipped, words_of

ROLES = {"user": "user", "agent": "assistant", "system": "system"}


def looks_like(source: Source) -> bool:
    return any(isinstance(each.get("steps"), list) and "agent" in each for each in source.head)


def read(source: Source, user: str | None = None) -> Iterator[Made]:
    yield from each_of(source, partial(_trajectory, stem=PurePath(source.name).stem, user=user or "user"))


def _trajectory(raw: Any, where: str, stem: str, user: str) -> Iterator[Made]:
    name = text_of(raw.get("session_id")) or f"{stem}-{where}"
    steps = raw.get("steps")
    if not isinstance(steps, list):
        yield Skipped(f"session {name}", "it has no steps", str(raw)[:60])
        return
    draft = Draft("atif", name, user)
    draft.extra = rest(raw, "steps", "session_id")
    draft.versions = True
    for place, step in enumerate(steps, 1):
        at = f"step {place}"
        try:
            _step(draft, step, at)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            draft.skip(at, f"no step: {type(error).__name__} {error}", str(step))
    yield draft.finish()


def _step(draft: Draft, step: Mapping[str, Any], where: str) -> None:
    source = text_of(step.get("source"))
    role, message = ROLES.get(source, source), step.get("message")
    words = words_of(message)
    at = moment(step.get("timestamp"), draft.note)
    calls = [
        call(each.get("tool_call_id") or f"{where}, call {n}", each.get("function_name"), each.get("arguments"))
        for n, each in enumerate(step.get("tool_calls") or (), 1)
    ]
    observation = step.get("observation") or {}
    left = rest(step, "source", "message", "tool_calls", "observation", *(["timestamp"] if at else []))
    if beyond := beyond_words(message):
        left["message"] = beyond
    if more := rest(observation, "results"):
        left["observation"] = more
    if role == "system" and not draft.turns and not draft.system and not calls:
        draft.system = words
        draft.extra["system"] = left
        return
    draft.turn(where, role, words, at, where, calls=calls, extra=left)
    for n, result in enumerate(observation.get("results") or (), 1):
        place, content = f"{where}, result {n}", result.get("content")
        more = rest(result, "source_call_id", "content")
        if beyond := beyond_words(content):
            more["content"] = beyond
        answers = text_of(result.get("source_call_id"))
        draft.turn(place, "tool", words_of(content), at, place, answers=answers, extra=more)
