"""One change, tried: what would have stood in the prompt without it and with it, page by page and fact by fact.

Both are rehearsed, so that they differ by the change alone. Which changes there are is remedies.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from memory.carriers import Carrier
from memory.case import Case
from memory.errors import BudgetTooSmall, UnknownName
from memory.prompt import Message
from memory.reach import holding
from memory.rehearsal import AS_IT_WAS, Rehearsed
from memory.remedies import changed_by_name
from memory.steps import places

Key = tuple[str, int, int]  # section, page, fact


@dataclass(frozen=True, slots=True)
class Part:
    """A page, a fact or a section of the prompt; tokens without and with the change, 0: it does not stand there."""

    section: str
    page: int
    fact: int
    before: int
    after: int
    holds: bool  # the expected words stand here, in either prompt

    @property
    def name(self) -> str:
        return f"p{self.page}" if self.page else f"f{self.fact}" if self.fact else self.section

    @property
    def state(self) -> str:
        """came, left, changed or same."""
        if not self.before:
            return "came"
        return "left" if not self.after else "same" if self.before == self.after else "changed"


@dataclass(frozen=True, slots=True)
class Trial:
    change: str
    parts: tuple[Part, ...]  # in the order of the prompt, those that left at the end
    before_tokens: int
    after_tokens: int
    refused: str = ""  # why the step could not have been with it

    @property
    def moved(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.state != "same")


def trial(case: Case, found: Iterable[Carrier], change: str) -> Trial:
    """Raises NotFound for a change that remedies.py does not try here."""
    changed = changed_by_name(case, found, change)
    before = case.rehearsal.run(AS_IT_WAS)
    try:
        after = case.rehearsal.run(changed)
    except (BudgetTooSmall, UnknownName) as error:
        tokens = prompt_tokens(before)
        return Trial(change, (), tokens, tokens, str(error))
    old, new = dict(parts_of(before)), dict(parts_of(after))
    held = _holders(case, before) | _holders(case, after)
    parts = tuple(Part(*key, old.get(key, 0), new.get(key, 0), key in held) for key in {**new, **old})
    return Trial(change, parts, prompt_tokens(before), prompt_tokens(after))


def prompt_tokens(done: Rehearsed) -> int:
    """Of the last prompt."""
    return done.step.prompts[-1].tokens


def parts_of(done: Rehearsed) -> Iterator[tuple[Key, int]]:
    """Tokens of the last prompt; the section of facts, fact by fact."""
    found: dict[Key, int] = {}
    for row in done.step.prompts[-1].messages:
        message = Message.of_row(row)
        if message.section != "facts":
            key = (message.section, message.page, 0)
            found[key] = found.get(key, 0) + message.tokens
        elif done.step.placed:
            found |= {("facts", 0, p.fact): max(p.tokens, 1) for p in done.step.placed.facts if not p.stage}
    yield from found.items()


def _holders(case: Case, done: Rehearsed) -> set[Key]:
    holds: Callable[[int], bool] = holding(case.expected, done.words)
    return {(place.section, place.page, place.fact) for place in places(done.step, holds)}
