"""A step and the long-term memory of its user: what was placed into its prompts, what was kept of its turns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memory.events import FactsPlaced
from memory.fact_events import TurnRemembered
from memory.knowledge import Knowledge
from memory.scope import Scope
from memory.stores.sql import Store


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
    """What was kept of these turns, what was not, and why; () where nobody looked yet."""
    records = store.ledger(scope.user, scope.conversation, first, last)
    if not records:
        return ()
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
    )


def _named(records: Iterable[TurnRemembered], k: Knowledge) -> set[int]:
    return {o.fact for r in records for o in r.outcomes if o.fact in k.facts}
