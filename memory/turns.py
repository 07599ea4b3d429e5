"""A turn: one message by one speaker.

A turn holds the id of its words, not the words: they live once, in the store's text table. A message longer
than a piece may be is kept whole as text and lies in the pages as several pieces, each a span of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

ROLES = ("user", "assistant", "tool", "system")
MESSAGE_TOKENS = 4  # what a chat format adds to each message, beside its words
CALL_TOKENS = 8  # and to each tool call, beside its name and arguments

Words = Callable[[int], str]  # the text behind an id


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that an assistant's turn makes; `arguments` is the id of their JSON text."""

    id: str
    name: str
    arguments: int


@dataclass(frozen=True, slots=True)
class Turn:
    number: int  # from 1, within the conversation
    role: str  # one of ROLES
    text: int  # id of the words
    tokens: int  # of this piece as it stands in the window: its frame, marks of a cut and calls included
    said_at: datetime  # aware; the speaker's own offset is kept
    speaker: str = ""
    piece: int = 0  # which piece of a cut message, from 0
    pieces: int = 1
    start: int = 0  # span of this piece in the text, in characters, half-open
    end: int = -1  # -1: to the end
    calls: tuple[Call, ...] = ()
    answers: str = ""  # id of the call whose result this is
    important: bool = False

    def words(self, words: Words) -> str:
        text = words(self.text)
        return text if self.end < 0 and not self.start else text[self.start : self.end if self.end >= 0 else None]

    @property
    def name(self) -> str:
        return self.speaker or self.role


class Spoken(Protocol):
    @property
    def role(self) -> str: ...
    @property
    def calls(self) -> tuple[Call, ...]: ...
    @property
    def answers(self) -> str: ...


def results(spoken: Sequence[Spoken]) -> dict[int, list[int | None]]:
    """Where the result of each call stands, by the place of the message that makes the calls; None: nowhere.

    A result belongs to the last call with its id before it; ids are used again in long conversations.
    """
    found: dict[int, list[int | None]] = {}
    waiting: dict[str, tuple[int, int]] = {}
    for place, message in enumerate(spoken):
        if message.role == "tool" and message.answers in waiting:
            caller, nth = waiting.pop(message.answers)
            found[caller][nth] = place
        if message.calls:
            found[place] = [None] * len(message.calls)
            waiting.update({call.id: (place, nth) for nth, call in enumerate(message.calls)})
    return found
