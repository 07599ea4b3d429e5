"""Where the messages that an application sends stand in what is known of its conversation.

Chat APIs keep nothing, so an application sends its history again with each call: whole, or what its own window leaves
of it. What is new are the messages after the latest one that is known. Nothing is read or written here.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from memory.resent import beginning

Kind = Literal["goes on", "late", "edited", "apart"]


@dataclass(frozen=True, slots=True)
class Place:
    """`goes on`: what was said so far was sent, or its end; `late`: all that was sent and its reply are known;
    `edited`: it begins as known and then differs; `apart`: nothing of it is known."""

    kind: Kind
    new: int  # index of the first sent message that is not known
    shared: int  # messages that say so: of the end of what is known, or of its beginning


def place(known: Sequence[Hashable], sent: Sequence[Hashable], reply: Hashable | None = None) -> Place:
    """
    >>> place(["hi", "hello"], ["hi", "hello", "how are you?"])
    Place(kind='goes on', new=2, shared=2)
    >>> place(["hi", "hello", "bye", "see you"], ["bye", "see you", "again!"])  # the application's window moved on
    Place(kind='goes on', new=2, shared=2)
    >>> place(["hi", "hello", "bye", "see you"], ["hi", "hello", "wait"])
    Place(kind='edited', new=2, shared=2)
    """
    began = beginning(known, sent)
    if began == len(sent) and reply is not None and len(known) > began and known[began] == reply:
        return Place("late", began, began)
    shared, end = _overlap(known, sent)
    if shared:
        return Place("goes on", end, shared)
    return Place("edited" if began else "apart", began, began)


def _overlap(known: Sequence[Hashable], sent: Sequence[Hashable]) -> tuple[int, int]:
    """The longest end of what is known that stands in what was sent, and where it ends there; the latest of equals."""
    # Anywhere, unlike memory/resent.py: an application puts a summary of its own in front of what its window leaves,
    # and what is taken for known wrongly costs a record here, not an answer.
    best = (0, 0)
    for end in range(len(sent), 0, -1):
        most = min(end, len(known))
        if most <= best[0]:
            break
        back = (i for i in range(1, most + 1) if sent[end - i] != known[-i])
        shared = next(back, most + 1) - 1
        if shared > best[0]:
            best = (shared, end)
    return best
