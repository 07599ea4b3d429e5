"""A step and the long-term memory of its user: what was placed into its prompts, what was kept of its turns.

And which old values stood there. That is worked out when somebody looks, from the log: no reply waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.events import Event, FactsPlaced
from memory.exposure import exposure
from memory.fact_events import TurnRemembered
from memory.knowledge import Knowledge
from memory.prompt import Message
from memory.scope import LIVE, Scope
from memory.steps import steps
from memory.stores.jobs import FACTS
from memory.stores.sql import Store
from memory.work import memory_llm

WAITS = "waiting"  # a verdict to come


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A fact that was considered for the prompt."""

    name: str  # f12
    text: str
    since: str  # a day
    why: str  # hot, match, conflict
    score: float
    tokens: int
    stage: str  # that dropped it; "": it stands in the prompt
    dropped: str


@dataclass(frozen=True, slots=True)
class KeptRow:
    """One line of the write ledger."""

    turn: int
    verdict: str
    reason: str
    name: str  # of the fact, "" where there is none
    text: str


@dataclass(frozen=True, slots=True)
class OldValueRow:
    """A value that was superseded before the step and stood in its prompts all the same."""

    name: str  # f7
    said: str  # the old value
    newer: str  # f24
    says: str  # the one that holds
    where: str  # facts, page, recalled, bookmark
    page: int  # 0: none
    how: str  # marked, followed, unmarked: see memory/exposure.py
    alarm: bool  # unmarked, beside the new one


def old_values(store: Store, scope: Scope, events: Sequence[Event]) -> tuple[OldValueRow, ...]:
    """Of one step's events; facts as they are known now. The alarming first."""
    found = [step for step in steps(events) if step.prompts][:1]
    if not found or store.stream(Scope.own(scope.user)) is None:
        return ()
    ids = {part for p in found[0].prompts for row in p.messages for part in Message.of_row(row).parts}
    ids |= {turn.text for turn in found[0].turns}
    words = {**store.words(scope, sorted(ids)), **store.words(Scope.own(scope.user))}
    seen = exposure(found, store.knowledge(scope.user), words.__getitem__, scope)
    said = {each.fact: each for each in seen.facts}
    rows = [
        OldValueRow(
            name=f"f{e.fact}",
            said=said[e.fact].said,
            newer=f"f{said[e.fact].newer}",
            says=said[e.fact].says,
            where=e.where,
            page=e.page,
            how=e.how,
            alarm=e.alarming,
        )
        for e in seen.exposures
    ]
    return tuple(sorted(rows, key=lambda row: not row.alarm))


def placed(store: Store, scope: Scope, records: Iterable[FactsPlaced]) -> tuple[PlacedRow, ...]:
    """Of the step's last placing; facts as they were known then."""
    bodies = list(records)
    if not bodies:
        return ()
    k = store.knowledge(scope.user, bodies[-1].user_version)
    known = [each for each in bodies[-1].facts if each.fact in k.facts]
    words = store.words(Scope.own(scope.user), [k.facts[each.fact].text for each in known])
    return tuple(
        PlacedRow(
            name=f"f{each.fact}",
            text=words.get(k.facts[each.fact].text, ""),
            since=k.facts[each.fact].since.date().isoformat(),
            why=each.why,
            score=each.score,
            tokens=each.tokens,
            stage=each.stage,
            dropped=each.dropped,
        )
        for each in known
    )


def kept(store: Store, scope: Scope, first: int, last: int) -> tuple[KeptRow, ...]:
    """What was kept of these turns, what was not, and why, or what they wait for; () where nobody will look."""
    records = store.ledger(scope.user, scope.conversation, first, last)
    waits = waiting(store, scope)
    late = tuple(KeptRow(n, WAITS, waits.why, "", "") for n in waits.turns if first <= n <= last)
    if not records:
        return late
    k = store.knowledge(scope.user)
    texts = {o.text for r in records for o in r.outcomes} | {k.facts[n].text for n in _named(records, k)}
    words = store.words(Scope.own(scope.user), sorted(texts - {0}))
    return tuple(
        KeptRow(
            turn=record.turn,
            verdict=outcome.verdict,
            reason=outcome.reason,
            name=f"f{outcome.fact}" if outcome.fact else "",
            text=words.get(k.facts[outcome.fact].text if outcome.fact in k.facts else outcome.text, ""),
        )
        for record in records
        for outcome in record.outcomes
    ) + late


@dataclass(frozen=True, slots=True)
class Waiting:
    """Turns that nobody looked at yet, and what for they wait."""

    turns: range
    why: str = ""


def waiting(store: Store, scope: Scope) -> Waiting:
    """What of a conversation is still to be looked at for facts."""
    stream, k = store.stream(scope), store.knowledge(scope.user)
    last = k.learned.get(scope.conversation, 0)
    if scope.run != LIVE or stream is None or stream.turns <= last:
        return Waiting(range(0))
    settings = store.state(scope).settings
    if settings.remember == "off":
        return Waiting(range(0))
    by_model = settings.remember == "llm" and memory_llm(settings, FACTS)
    due = f"looked at after {settings.remember_turns} messages, when its page closes, or at the end"
    return Waiting(range(last + 1, stream.turns + 1), "a model looks at it after the reply" if by_model else due)


def _named(records: Iterable[TurnRemembered], k: Knowledge) -> set[int]:
    return {o.fact for r in records for o in r.outcomes if o.fact in k.facts}
