"""What it cost to carry each page and each fact in the prompts of a run, against how often it was used.

A page's words in a prompt cost their tokens, in every round again. A page is *used* where the reply took up its words
(`PagesUsed`), a fact where the reply has its value. Money is the share of what the calls of that step cost as the log
has it, or a given price. What is used seldom may still be worth its place: the figures say what it cost, no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from memory import show
from memory.errors import BadMessage
from memory.events import ModelCalled, PagesUsed
from memory.expected import Expected, looked_for
from memory.observed import Observed, observe
from memory.prompt import Message
from memory.scope import Scope
from memory.show import Shown, small
from memory.steps import Step
from memory.stores.sql import Store
from sessions.honesty import NOTHING, WORTH, Honesty, of_run

CARRIED = ("resident", "recalled")
MILLION = 1_000_000
SORTS = ("waste", "tokens", "prompts", "used", "name")


@dataclass(frozen=True, slots=True)
class Line:
    name: str  # p9, f24
    page: int
    fact: int
    says: str  # its bookmark, its words
    prompts: int  # that carried it, each round counted
    steps: int
    tokens: int  # over all prompts
    used: int  # steps whose reply took it up
    waste: int  # tokens in the steps whose reply did not
    cost_usd: float | None  # None: no price is known
    last: int  # turn of the last step that carried it

    @property
    def tokens_per_use(self) -> float | None:
        return self.tokens / self.used if self.used else None


@dataclass(frozen=True)
class Bill(Shown):
    scope: Scope
    steps: int  # with a prompt
    prompt_tokens: int
    lines: tuple[Line, ...]  # the most wasted first
    honesty: Honesty

    @property
    def tokens(self) -> int:
        return sum(line.tokens for line in self.lines)

    @property
    def waste(self) -> int:
        return sum(line.waste for line in self.lines)

    @property
    def cost_usd(self) -> float | None:
        known = [line.cost_usd for line in self.lines if line.cost_usd is not None]
        return sum(known) if known else None

    def __repr__(self) -> str:
        share = self.tokens / self.prompt_tokens if self.prompt_tokens else 0.0
        return (
            f"<Bill of {self.scope}: {self.tokens:,} tokens carried ({share:.0%} of all prompts), "
            f"{self.waste:,} of them in steps that did not use them>"
        )

    def rows(self) -> list[list[Any]]:
        """Name, words, prompts, tokens, used, waste, money: for a table."""
        return [[line.name, small(line.says, 60), line.prompts, f"{line.tokens:,}", line.used, f"{line.waste:,}",
                 "–" if line.cost_usd is None else f"{line.cost_usd:.4f}"] for line in self.lines]  # fmt: skip

    HEAD = ("what", "", "prompts", "tokens", "used", "unused tokens", "USD")

    def _html(self) -> str:
        worth = show.rows("What this is worth", self.honesty.to_dict())
        return f"<code>{show.text(repr(self))}</code>" + show.table(self.HEAD, self.rows()) + worth

    def to_dict(self) -> dict[str, Any]:
        return {"scope": str(self.scope), "steps": self.steps, "prompt_tokens": self.prompt_tokens,
                "tokens": self.tokens, "waste": self.waste, "cost_usd": self.cost_usd,
                "honesty": self.honesty.to_dict(),
                "lines": [asdict(line) | {"tokens_per_use": line.tokens_per_use} for line in self.lines]}  # fmt: skip

    def to_df(self) -> Any:
        """One row a page or fact."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["lines"])


@dataclass
class _Sum:
    prompts: int = 0
    steps: int = 0
    tokens: int = 0
    used: int = 0
    waste: int = 0
    cost: float = 0.0
    priced: bool = False
    last: int = 0


@dataclass
class _Clerk:
    seen: Observed
    price: float | None
    sums: dict[tuple[int, int], _Sum] = field(default_factory=lambda: defaultdict(_Sum))
    _values: dict[int, Expected | None] = field(default_factory=dict)

    def note(self, step: Step) -> None:
        carried: dict[tuple[int, int], tuple[int, int]] = {}
        for prompt in step.prompts:
            own: dict[tuple[int, int], int] = defaultdict(int)
            for key, size in _parts(prompt.messages, step):
                own[key] += size
            for key, size in own.items():
                tokens, prompts = carried.get(key, (0, 0))
                carried[key] = tokens + size, prompts + 1
        used, cost = self._used(step), self._cost(step)
        read = sum(prompt.tokens for prompt in step.prompts) or 1
        for key, (size, prompts) in carried.items():
            line = self.sums[key]
            line.prompts, line.steps, line.tokens = line.prompts + prompts, line.steps + 1, line.tokens + size
            is_used = used(key)
            line.used, line.waste = line.used + is_used, line.waste + (0 if is_used else size)
            line.last = step.turn
            if cost is not None:
                line.cost, line.priced = line.cost + cost * size / read, True

    def _cost(self, step: Step) -> float | None:
        """Of the step's prompts; None where no call of it has a price."""
        if self.price is not None:
            return sum(prompt.tokens for prompt in step.prompts) * self.price / MILLION
        costs = [b.cost_usd for b in step.all(ModelCalled) if b.task == "reply" and b.cost_usd is not None]
        return sum(costs) if costs else None

    def _used(self, step: Step) -> Callable[[tuple[int, int]], bool]:
        pages = {candidate.page for b in step.all(PagesUsed) for candidate in b.pages}
        replies = [turn.words(self.seen.words.__getitem__) for turn in step.replies]

        def used(key: tuple[int, int]) -> bool:
            page, fact = key
            if page:
                return page in pages
            value = self._value(fact)
            return value is not None and any(value.held(reply) for reply in replies)

        return used

    def _value(self, number: int) -> Expected | None:
        if number not in self._values:
            fact = self.seen.knowledge.facts.get(number)
            words = self.seen.words.get(fact.value or fact.text, "") if fact else ""
            try:
                self._values[number] = looked_for(words)
            except BadMessage:  # erased, or it says nothing
                self._values[number] = None
        return self._values[number]

    def line(self, key: tuple[int, int], sums: _Sum) -> Line:
        page, fact = key
        return Line(
            f"p{page}" if page else f"f{fact}", page, fact, self._says(page, fact), sums.prompts, sums.steps,
            sums.tokens, sums.used, sums.waste, round(sums.cost, 6) if sums.priced else None, sums.last,
        )  # fmt: skip

    def _says(self, page: int, number: int) -> str:
        if page:
            mark = self.seen.state.pages[page].bookmark
            return self.seen.words.get(mark.stub, "") if mark else ""
        fact = self.seen.knowledge.facts.get(number)
        return self.seen.words.get(fact.text, "") if fact else ""


def _parts(messages: tuple[Any, ...], step: Step) -> Iterator[tuple[tuple[int, int], int]]:
    """Pages and facts of a prompt, with their tokens."""
    for row in messages:
        message = Message.of_row(row)
        if message.section in CARRIED and message.page:
            yield (message.page, 0), message.tokens
        elif message.section == "facts" and step.placed is not None:
            yield from (((0, placed.fact), placed.tokens) for placed in step.placed.facts if not placed.stage)


def bill(store: Store, scope: Scope, turn: int | None = None, *, usd_per_million: float | None = None) -> Bill:
    """Of the steps up to `turn` (None: all). `usd_per_million`: of prompt tokens, in place of what the log says.

    Raises NotFound where nothing was said yet.
    """
    seen = observe(store, scope, turn)
    clerk = _Clerk(seen, usd_per_million)
    for step in seen.asked:
        clerk.note(step)
    lines = [clerk.line(key, sums) for key, sums in clerk.sums.items()]
    lines.sort(key=lambda line: (-line.waste, -line.tokens, line.name))
    read = sum(prompt.tokens for step in seen.asked for prompt in step.prompts)
    return Bill(scope, len(seen.asked), read, tuple(lines), of_run(seen, NOTHING, WORTH))
