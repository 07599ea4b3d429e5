"""A run's records, step by step: what was asked, what the model read of whom, what it said. For diagnosis, afterwards.

Pure; nothing is folded here (state.py does that), and nothing is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from memory.events import Body, Event, FactsPlaced, MessageReceived, MessageReplied, PromptAssembled
from memory.turns import Turn

B = TypeVar("B", bound=Body)

READ = ("facts", "recalled", "resident", "new", "exchange")  # sections with words that were said; no bookmarks


@dataclass(slots=True)
class Step:
    number: int
    events: list[Event] = field(default_factory=list)

    def all(self, kind: type[B]) -> list[B]:
        return [e.body for e in self.events if isinstance(e.body, kind)]

    @property
    def turns(self) -> list[Turn]:
        """Of everybody; a message that was cut, piece by piece."""
        return [e.body.turn for e in self.events if isinstance(e.body, MessageReceived | MessageReplied)]

    @property
    def at(self) -> datetime:
        return self.events[0].at

    @property
    def message(self) -> Turn | None:
        """The user's message that opened it, its first piece."""
        return next((b.turn for b in self.all(MessageReceived)), None)

    @property
    def turn(self) -> int:
        """Number of its message; 0: none."""
        return self.message.number if self.message else 0

    @property
    def last_turn(self) -> int:
        return max((turn.number for turn in self.turns), default=0)

    @property
    def replies(self) -> list[Turn]:
        """What the assistant said, the calls of tools left aside."""
        return [b.turn for b in self.all(MessageReplied) if b.turn.role == "assistant"]

    @property
    def prompts(self) -> list[PromptAssembled]:
        return self.all(PromptAssembled)

    @property
    def placed(self) -> FactsPlaced | None:
        """The facts in its prompts: the last word counts."""
        return next(reversed(self.all(FactsPlaced)), None)

    @property
    def said(self) -> set[int]:
        """Ids of the words that the step itself brought: nobody need remember those."""
        return {turn.text for turn in self.turns}


def steps(events: Iterable[Event]) -> list[Step]:
    """Those in which something was said, in order; the records before the first message belong to none."""
    found: dict[int, Step] = {}
    for event in events:
        if event.step:
            found.setdefault(event.step, Step(event.step)).events.append(event)
    return [step for step in found.values() if step.turn]


# ── where in a prompt ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Place:
    """Where words stand in a prompt: on a page, as a fact, or in what the model was told of its own calls."""

    section: str
    text: int  # id of the words
    page: int = 0
    fact: int = 0

    @property
    def name(self) -> str:
        if self.fact:
            return f"f{self.fact}"
        return f"p{self.page}" if self.page else self.section

    def __str__(self) -> str:
        return self.name if self.name == self.section else f"{self.name} ({self.section})"


def places(step: Step, holding: Callable[[int], bool]) -> list[Place]:
    """Where the words of `holding` ids stood in what the model read in this step; each place once.

    What the step itself said does not count, nor do bookmarks, which name things and tell nothing.
    """
    own = step.said
    facts = [each.fact for each in step.placed.facts if not each.stage] if step.placed else []
    found = (place for prompt in step.prompts for place in _places(prompt, holding, own, facts))
    return list(dict.fromkeys(found))


def _places(
    prompt: PromptAssembled, holding: Callable[[int], bool], own: Collection[int], facts: list[int]
) -> Iterator[Place]:
    # A row as Message.of_row reads it; hundreds of questions look through hundreds of them, and a slider waits.
    for _, section, page, _, _, _, *parts in prompt.messages:
        if section not in READ:
            continue
        for nth, part in enumerate(parts):
            if part not in own and holding(part):
                yield Place(section, part, page, _fact(section, nth, facts))


def _fact(section: str, nth: int, facts: list[int]) -> int:
    """In the section of facts each has two parts after the opening: its name and its words (known.py)."""
    place = (nth - 1) // 2
    return facts[place] if section == "facts" and 0 <= place < len(facts) else 0
