"""What of a page is searched together: a turn as a line of words, and exchanges, which get one vector each.

An exchange is a user's turn with what follows up to the reply that ends it; it never reaches over its page. It is
complete as soon as that reply has come, so vectors can be made while the page is still open, and what is complete
never changes. One vector an exchange finds the turn among ten for .62 of LoCoMo's questions where one a page would
not (notebooks/LOG.md). Not here: vectors, words in an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from memory.language import is_cjk
from memory.turns import Turn, Words

LONGEST = 2_000  # characters; an embedder reads 512 tokens at once, and a longer text is an average of many things
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One turn, or a piece of it, in words."""

    turn: int
    role: str
    text: str
    speaker: str = ""
    said_at: datetime | None = None
    calls: bool = False  # it asks for tools: the reply is still to come

    @classmethod
    def of(cls, turn: Turn, words: Words) -> Line:
        return cls(turn.number, turn.role, turn.words(words), turn.speaker, turn.said_at, bool(turn.calls))

    @property
    def labelled(self) -> str:
        """As an embedder reads it: who, then what."""
        return f"{self.speaker or self.role}: {self.text}"

    @property
    def label(self) -> str:
        """What a text index finds beside the words: "in May" and "what did Ana say" look for a date and a name.

        >>> Line(1, "user", "I painted that lake", "Ana", datetime(2023, 5, 8)).label
        'Ana 8 May 2023: '
        """
        date, at = "", self.said_at
        if at is not None:
            chinese = is_cjk(self.text)
            date = f"{at.year}年{at.month}月{at.day}日" if chinese else f"{at.day} {_MONTHS[at.month - 1]} {at.year}"
        label = " ".join(part for part in (self.speaker, date) if part)
        return f"{label}: " if label else ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one vector stands for; (turn, part) names it within its page."""

    turn: int  # the first
    last: int
    text: str
    part: int = 0  # of a long turn that goes on, from 0


def exchanges(lines: Iterable[Line], *, closed: bool = True) -> list[Exchange]:
    """The exchanges of one page, in order; of an open page only the complete ones.

    >>> talk = [Line(1, "user", "Tea?"), Line(2, "assistant", "Please."), Line(3, "user", "Milk?")]
    >>> [each.text for each in exchanges(talk, closed=False)]
    ['user: Tea?\\nassistant: Please.']
    """
    found: list[Exchange] = []
    group: list[Line] = []
    for line in lines:
        if group and line.role == "user" and line.turn != group[-1].turn:  # not the next piece of a cut message
            found.extend(_cut(group))
            group = []
        group.append(line)
        if line.role == "assistant" and not line.calls:
            found.extend(_cut(group))
            group = []
    if group and closed:
        found.extend(_cut(group))
    return found


def _cut(group: list[Line]) -> Iterator[Exchange]:
    """One exchange, or several of a text that is too long, each with a label of its own."""
    text, first, last, part = "", group[0].turn, group[0].turn, 0
    for line in group:
        label = line.labelled.removesuffix(line.text)
        for piece in _pieces(line.text):
            if text and len(text) + len(label) + len(piece) >= LONGEST:
                yield Exchange(first, last, text, part)
                part = part + 1 if first == line.turn else 0
                text, first = "", line.turn
            text, last = f"{text}\n{label}{piece}" if text else label + piece, line.turn
    yield Exchange(first, last, text, part)


def _pieces(text: str) -> Iterator[str]:
    """At most LONGEST characters each, cut at a blank or a line's end where there is one in the last third."""
    while len(text) > LONGEST:
        cut = max(text.rfind(mark, LONGEST * 2 // 3, LONGEST) for mark in ("\n", " ", "。")) + 1 or LONGEST
        yield text[:cut]
        text = text[cut:]
    yield text
