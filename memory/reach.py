"""How far words got: when they came into the prompts and left them (bisect), and whom a fact reached (blast radius).

Asked of the prompts in the log, word for word. What a model made of a prompt is not known here; only whether its reply
says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memory import amend, show
from memory.errors import BadMessage
from memory.events import (
    FactsPlaced,
    GuestLeft,
    MessageReceived,
    MessageReplied,
    PageEvicted,
    PagePagedIn,
    PromptAssembled,
)
from memory.expected import Expected, looked_for
from memory.facts import Fact
from memory.knowledge import Knowledge
from memory.scope import Scope
from memory.show import Shown, small
from memory.steps import Place, Step, places, steps
from memory.stores.sql import Store

KINDS = [kind.__name__ for kind in (FactsPlaced, GuestLeft, MessageReceived, MessageReplied, PageEvicted, PagePagedIn,
                                    PromptAssembled)]  # fmt: skip


def read(store: Store, scope: Scope) -> list[Step]:
    """The steps of a run that had a prompt."""
    return [step for step in steps(store.events(scope, kinds=KINDS)) if step.prompts]


def words_of(store: Store, scope: Scope) -> dict[int, str]:
    """The conversation's words, and those of what is remembered about its user."""
    return {**store.words(scope), **store.words(Scope.own(scope.user))}


def holding(expected: Expected, words: Callable[[int], str]) -> Callable[[int], bool]:
    """Whether the words behind an id hold what is expected; each text is read once."""
    seen: dict[int, bool] = {}

    def holds(text: int) -> bool:
        if text not in seen:
            seen[text] = expected.held(words(text))
        return seen[text]

    return holds


# ── bisect ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Passage:
    """The words came into the prompts with a step, or were gone with it."""

    step: int
    turn: int  # of the step's message
    entered: bool
    where: tuple[str, ...]  # they stand now, or stood before: p9 (resident), f24 (facts)
    cause: str


@dataclass(frozen=True)
class Bisection(Shown):
    expected: str
    scope: Scope
    said: int  # turn that said so first; 0: none
    passages: tuple[Passage, ...]
    held: int  # steps in whose prompts they stood
    steps: int

    @property
    def entered(self) -> Passage | None:
        """The first time they came."""
        return next((p for p in self.passages if p.entered), None)

    @property
    def left(self) -> Passage | None:
        """The first time they were gone."""
        return next((p for p in self.passages if not p.entered), None)

    @property
    def stands(self) -> bool:
        """In the prompts of the last step."""
        return bool(self.passages) and self.passages[-1].entered

    @property
    def line(self) -> str:
        if self.entered is None:
            said = f"said at turn {self.said} and never read again" if self.said else "never said"
            return f"in none of {self.steps} steps' prompts: {said}"
        told = [f"entered at turn {self.entered.turn} ({self.entered.cause})"]
        told += [f"left at turn {self.left.turn} ({self.left.cause})"] if self.left else ["never left"]
        return ", ".join([*told, f"in the prompts of {self.held} of {self.steps} steps"])

    def __repr__(self) -> str:
        return f"<Bisection of {self.expected!r}: {self.line}>"

    def _html(self) -> str:
        head = show.rows(self.line, {"expected": self.expected, "of": self.scope})
        made = [[p.turn, "entered" if p.entered else "left", ", ".join(p.where), p.cause] for p in self.passages]
        return head + show.table(["turn", "", "where", "cause"], made)

    def to_df(self) -> Any:
        """Each time they came or were gone, one row each."""
        import pandas as pd

        return pd.DataFrame([asdict(p) for p in self.passages])

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "scope": str(self.scope), "line": self.line}


def bisect(store: Store, scope: Scope, expected: str) -> Bisection:
    """Step by step, when prompts began and ceased to hold the expected words, and the event that did it.

    A right value's `left`, a wrong one's `entered` is what one looks for. Raises BadMessage, NotFound.
    """
    words, looked = words_of(store, scope).__getitem__, looked_for(expected)
    holds = holding(looked, words)
    done = read(store, scope)
    numbers = {turn.text: turn.number for step in done for turn in step.turns}
    said = next((turn.number for step in done for turn in step.turns if holds(turn.text)), 0)
    passages: list[Passage] = []
    held, before = 0, list[Place]()
    for nth, step in enumerate(done):
        now = places(step, holds)
        held += bool(now)
        if bool(now) != bool(before):
            last = done[nth - 1] if nth else None
            cause = _entering(step, last, now[0], numbers) if now else _leaving(store, scope, step, last, before[-1])
            where = tuple(dict.fromkeys(map(str, now or before)))
            passages.append(Passage(step.number, step.turn, bool(now), where, cause))
        before = now
    return Bisection(expected, scope, said, tuple(passages), held, len(done))


def _entering(step: Step, last: Step | None, place: Place, numbers: Mapping[int, int]) -> str:
    if place.fact and step.placed:
        mine = next(each for each in step.placed.facts if each.fact == place.fact)
        return f"{place.name} placed: {mine.why}, score {mine.score:g}"
    came = [*(last.all(PagePagedIn) if last else ()), *step.all(PagePagedIn)]  # by hand: after the step before
    paged = [b for b in came if b.page == place.page]
    if paged and place.section == "recalled":
        return f"{place.name} came back, by {paged[-1].by}"
    number = numbers.get(place.text)
    return f"said at turn {number}" if number else f"it stands at {place}"


def _leaving(store: Store, scope: Scope, step: Step, last: Step | None, place: Place) -> str:
    """What took the last place where it stood."""
    if place.fact:
        return _unplaced(store, scope, step, place.fact)
    for b in (*step.all(PageEvicted), *(last.all(PageEvicted) if last else ())):
        if b.page == place.page:
            return f"{place.name} evicted by {b.policy}: {b.cause}"
    if last and any(b.page == place.page for b in last.all(GuestLeft)):
        return f"{place.name} had come back for a step, and left"
    return f"{place} is not there any more"


def _unplaced(store: Store, scope: Scope, step: Step, number: int) -> str:
    placed = {each.fact: each for each in step.placed.facts} if step.placed else {}
    if number in placed:
        return f"f{number} not placed: {placed[number].dropped}"
    if step.placed is not None:
        fact = store.knowledge(scope.user, step.placed.user_version).facts[number]
        if not fact.lasts(step.at):
            return f"f{number} {fact.state}: {fact.why}"
    return f"f{number} not placed: nothing asked for it"


# ── blast radius ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Reached:
    """A step whose prompt had the fact, or a turn that says it."""

    conversation: str
    run: str
    step: int
    turn: int  # of the message
    reply: int  # turn of the reply; 0: there is none
    how: tuple[str, ...]  # fact f24; turn 84 on p9 (resident)
    in_reply: bool  # the reply has its words


@dataclass(frozen=True)
class BlastRadius(Shown):
    fact: str
    text: str
    state: str
    reached: tuple[Reached, ...]
    derived: tuple[str, ...]  # facts that came of it, summaries that stand on its turns

    @property
    def replies(self) -> list[Reached]:
        """Those whose reply says it."""
        return [each for each in self.reached if each.in_reply]

    @property
    def conversations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.conversation for each in self.reached))

    def __repr__(self) -> str:
        where = f"{len(self.reached)} prompts of {len(self.conversations)} conversations"
        return f"<BlastRadius of {self.fact}: {where}, {len(self.replies)} replies, {len(self.derived)} derived>"

    def _html(self) -> str:
        figures = {"state": self.state, "prompts": len(self.reached), "replies": len(self.replies),
                   "derived": ", ".join(self.derived) or "none"}  # fmt: skip
        made = [[r.conversation, r.run, r.turn, ", ".join(r.how), f"turn {r.reply}" if r.in_reply else ""]
                for r in self.reached]  # fmt: skip
        head = show.rows(f"{self.fact}: {self.text}", figures)
        return head + show.table(["conversation", "run", "turn", "how", "in the reply of"], made)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def blast_radius(store: Store, user: str, fact: int) -> BlastRadius:
    """Every prompt, of all conversations and runs of this user, that a fact or its turns stood in, and every reply.

    Raises NotFound.
    """
    k = store.knowledge(user)
    found = amend.fact_of(k, fact)
    own = store.words(Scope.own(user))
    value = own.get(found.value, "") if found.value else ""
    expected = _expected(value or own.get(found.text, ""))
    reached: list[Reached] = []
    for stream in reversed(store.streams(user)):
        sources = {s.text: s.turn for s in found.sources if s.conversation == stream.scope.conversation}
        reached += _reached(store, stream.scope, fact, sources, expected)
    return BlastRadius(found.name, own.get(found.text, ""), found.state, tuple(reached), _derived(k, found))


def _expected(words: str) -> Expected | None:
    """None for words that say nothing, as after an erase."""
    try:
        return looked_for(words)
    except BadMessage:
        return None


def _reached(
    store: Store, scope: Scope, fact: int, sources: Mapping[int, int], expected: Expected | None
) -> Iterator[Reached]:
    replies: dict[int, str] = {}
    done = read(store, scope)
    hits = [(step, how) for step in done if (how := _how(step, fact, sources))]
    if hits:
        replies = store.words(scope, [turn.text for step, _ in hits for turn in step.replies])
    for step, how in hits:
        said = [turn for turn in step.replies if expected and expected.held(turn.words(replies.__getitem__))]
        number = (said or step.replies)[-1].number if step.replies else 0
        yield Reached(scope.conversation, scope.run, step.number, step.turn, number, tuple(how), bool(said))


def _how(step: Step, fact: int, sources: Mapping[int, int]) -> Sequence[str]:
    how = [f"turn {sources[p.text]} on {p}" for p in places(step, sources.__contains__)]
    if step.placed and any(each.fact == fact and not each.stage for each in step.placed.facts):
        how.insert(0, f"f{fact}")
    return list(dict.fromkeys(how))


def _derived(k: Knowledge, fact: Fact) -> tuple[str, ...]:
    """Facts that a change made of it, and summaries with its turns."""
    changes = [c for c in k.changes.values() if fact.id in c.old and c.new not in (0, fact.id) and not c.undone_by]
    turns = {(s.conversation, s.turn) for s in fact.sources}
    summaries = [
        s for s in k.summaries.values() if not s.retired and any((s.conversation, turn) in turns for turn in s.turns)
    ]
    named = [f"f{c.new} ({small(c.cause, 20)})" for c in changes]
    return tuple(dict.fromkeys([*named, *(s.name for s in summaries)]))
