"""A user's memory without a store: records go through their written form, words into a list. For tests of the core."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memory.events import Body, Event, decode, encode
from memory.fact_events import Outcome
from memory.facts import BEGINNING, FOREVER, Candidate, Fact, Source, digest, history
from memory.knowledge import Knowledge, apply
from memory.language import terms
from memory.revision import Writer, revise

DAY0 = datetime(2026, 3, 2, 9, tzinfo=UTC)
BUDGET = ("user", "budget")


def day(n: float) -> datetime:
    return DAY0 + timedelta(days=n)


def number(at: datetime) -> float:
    """Days since the first; the ends of time as infinities."""
    if at in (BEGINNING, FOREVER):
        return float("-inf") if at == BEGINNING else float("inf")
    return (at - DAY0) / timedelta(days=1)


class Mind:
    def __init__(self) -> None:
        self.k = Knowledge()
        self.events: list[Event] = []
        self.words: list[str] = [""]
        self.now = day(100)
        self._turn = 0

    def write(self, words: str) -> int:
        self.words.append(words)
        return len(self.words) - 1

    def take(self, bodies: Sequence[Body]) -> None:
        for body in bodies:
            self.now += timedelta(minutes=1)
            kept, extra = decode(body.kind, encode(body))
            assert kept == body
            assert not extra
            event = Event(0, self.k.version + 1, 0, self.now, kept)
            self.events.append(event)
            self.k = apply(self.k, event)

    def hear(
        self, candidate: Candidate, said_at: datetime, *, by: str = "user", conversation: str = "a", turn: int = 0,
        seen: int | None = None,
    ) -> Outcome:  # fmt: skip
        self._turn += 1
        turn = turn or self._turn
        source = Source(conversation, turn, turn, candidate.start, candidate.end, by, said_at)
        writer = Writer(conversation, self.k.version if seen is None else seen, "rules", self.now)
        made = revise(self.k, candidate, source, writer, self.write, self.near)
        self.take(made.bodies)
        return made.outcome

    def near(self, candidate: Candidate) -> list[tuple[Fact, str]]:
        mine = set(terms(candidate.text))
        found = [(f, self.words[f.text]) for f in self.k.facts.values() if not f.key]
        return [each for each in found if mine & set(terms(each[1]))]

    def says(self, n: float, value: str, *, attribute: str = "budget", **rest: Any) -> Outcome:
        """On day `n` the user says that their budget (an attribute with one value) is `value`."""
        told = {name: rest.pop(name) for name in list(rest) if name in Candidate.__dataclass_fields__}
        text = told.pop("text", f"The user's {attribute} is {value}.")
        fields = {"subject": "user", "attribute": attribute, "value": value, "single": True, **told}
        return self.hear(Candidate(text, 0, len(text), **fields), day(n), **rest)

    def likes(self, n: float, value: str, *, not_: bool = False, **rest: Any) -> Outcome:
        """An attribute with many values."""
        return self.says(n, value, attribute="likes", single=False, negated=not_, **rest)

    def history(self, attribute: str = "budget") -> list[tuple[float, float, str]]:
        """[(from day, to day, value)], neighbours of one value joined; a denied value has a minus before it."""
        found: list[tuple[float, float, str]] = []
        for interval, fact in history(self.k.facts.values(), digest("user", attribute)):
            value = ("-" if fact.negated else "") + self.words[fact.value]
            begin, end = number(interval.valid_from), number(interval.valid_to)
            if found and found[-1][1:] == (begin, value):
                begin = found.pop()[0]
            found.append((begin, end, value))
        return found

    def current(self, attribute: str = "budget") -> list[str]:
        return [value for _, end, value in self.history(attribute) if end == float("inf")]
