"""The words that an event mentions, under other ids: for a run that moves into a store, and to compare two runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import orjson

from memory.events import (
    Body,
    BookmarkMade,
    ConversationStarted,
    Event,
    ExtraKept,
    FactsPlaced,
    MemoryWorkFailed,
    MessageReceived,
    MessageReplied,
    ModelCalled,
    ModelFailed,
    PagesRecalled,
    PagesRetrieved,
    PageSummarised,
    PromptAssembled,
    QuestionLabelled,
    RangeStub,
    RepliesCompared,
    StubsArranged,
    TextRedacted,
    encode,
)
from memory.turns import Call, Turn, Words

New = Callable[[int], int]  # an id to the other one


def retext(body: Body, new: New) -> Body:
    """The same record with every text id replaced; 0, which means none, stays."""
    change = _CHANGES.get(type(body))
    return change(body, lambda i: new(i) if i else 0) if change else body


def digests(events: Iterable[Event], words: Words) -> list[str]:
    """One an event, over what it says and not over ids, times or its place in a log."""
    known: dict[int, int] = {}

    def by_content(text: int) -> int:
        if text not in known:
            known[text] = int.from_bytes(hashlib.blake2b(words(text).encode(), digest_size=7).digest())
        return known[text]

    return [
        hashlib.blake2b(f"{e.step} {e.kind} {encode(retext(e.body, by_content))}".encode(), digest_size=12).hexdigest()
        for e in events
    ]


# ── one function per kind that mentions words ─────────────────────────────────────────────────────────


def _turn(turn: Turn, new: New) -> Turn:
    return replace(turn, text=new(turn.text), calls=_calls(turn.calls, new))


def _calls(calls: Iterable[Call], new: New) -> tuple[Call, ...]:
    return tuple(replace(call, arguments=new(call.arguments)) for call in calls)


def _ranges(ranges: Iterable[RangeStub], new: New) -> tuple[RangeStub, ...]:
    return tuple(replace(stub, text=new(stub.text)) for stub in ranges)


def _said(body: Any, new: New) -> Body:
    return replace(body, turn=_turn(body.turn, new))  # type: ignore[no-any-return]


def _started(body: ConversationStarted, new: New) -> Body:
    return replace(body, title=new(body.title), system=new(body.system))


def _bookmarked(body: BookmarkMade, new: New) -> Body:
    mark = body.bookmark
    renewed = replace(mark, stub=new(mark.stub), keywords=new(mark.keywords), description=new(mark.description))
    return replace(body, bookmark=renewed)


def _assembled(body: PromptAssembled, new: New) -> Body:
    """The hash covers the ids (prompt.Prompt.hash), so it is taken anew."""
    rows = tuple(
        [role, section, page, size, answers, [[i, name, new(words)] for i, name, words in calls], *map(new, parts)]
        for role, section, page, size, answers, calls, *parts in body.messages
    )
    return replace(body, messages=rows, hash=hashlib.blake2b(orjson.dumps(rows), digest_size=8).hexdigest())


def _called(body: ModelCalled, new: New) -> Body:
    return replace(body, reply=new(body.reply), calls=_calls(body.calls, new))


def _recalled(body: PagesRecalled, new: New) -> Body:
    return replace(body, question=new(body.question), opened=_ranges(body.opened, new))


_CHANGES: dict[type[Body], Callable[[Any, New], Body]] = {
    ConversationStarted: _started,
    MessageReceived: _said,
    MessageReplied: _said,
    TextRedacted: lambda body, new: replace(body, text=new(body.text)),
    ExtraKept: lambda body, new: replace(body, text=new(body.text)),
    QuestionLabelled: lambda body, new: replace(body, question=new(body.question), answer=new(body.answer)),
    RepliesCompared: lambda body, new: replace(
        body, question=new(body.question), memory=new(body.memory), plain=new(body.plain)
    ),
    BookmarkMade: _bookmarked,
    FactsPlaced: lambda body, new: replace(body, parts=tuple(map(new, body.parts))),
    PageSummarised: lambda body, new: replace(body, gist=replace(body.gist, text=new(body.gist.text))),
    StubsArranged: lambda body, new: replace(body, ranges=_ranges(body.ranges, new)),
    PagesRecalled: _recalled,
    PromptAssembled: _assembled,
    ModelCalled: _called,
    ModelFailed: lambda body, new: replace(body, partial=new(body.partial)),
    PagesRetrieved: lambda body, new: replace(body, question=new(body.question)),
    MemoryWorkFailed: lambda body, new: replace(body, raw=new(body.raw)),
}
