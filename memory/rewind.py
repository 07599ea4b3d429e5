"""What was known at an earlier moment: the changes made since are taken back, the newest first.

Knowledge keeps with every change how things stood before it (for undo), so the past can be had of the present without
the log: a slider over recorded time costs no reading. Only facts, changes and conflicts go back; where the log was
read up to, and summaries, stay. What was erased stays erased, at every moment. It is exact where changes were recorded
in order of their times; what was recorded with an earlier time than the change before it counts by its time.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memory.facts import Belief, Fact
from memory.knowledge import Change, Knowledge, Touch
from memory.state import changed


def rewound(k: Knowledge, at: datetime) -> Knowledge:
    """What was believed at `at`, all that was recorded at this very moment included."""
    since = [c for c in k.changes.values() if c.at > at]
    if not since:
        return k
    kept = _standing(c for c in k.changes.values() if c.at <= at)
    facts, conflicts = dict(k.facts), dict(k.conflicts)
    for change in sorted(since, key=lambda c: -c.number):
        for touch in change.touched:
            _untouched(facts, touch)
        for before in change.conflicts:
            conflicts[before.id] = before
            if not before.facts:
                del conflicts[before.id]
    _resourced(facts, k, kept)
    facts = {n: changed(f, beliefs=believed_at(f.beliefs, at)) for n, f in facts.items()}
    return Knowledge(k.version, facts, kept, conflicts, k.learned, k.on, k.summaries, k.slept)


def believed_at(beliefs: Iterable[Belief], at: datetime) -> tuple[Belief, ...]:
    """Beliefs as they stood at `at`: those begun later were not there, those ended later had no end."""
    return tuple(
        b if b.recorded_to <= at else Belief(b.valid_from, b.valid_to, b.recorded_from)
        for b in beliefs
        if b.recorded_from <= at
    )


def _untouched(facts: dict[int, Fact], touch: Touch) -> None:
    if touch.new:
        del facts[touch.fact]
    elif facts[touch.fact].state != "erased":
        facts[touch.fact] = changed(
            facts[touch.fact], state=touch.state, why=touch.why, importance=touch.importance, layer=touch.layer,
            conversation=touch.conversation,
        )  # fmt: skip


def _standing(changes: Iterable[Change]) -> dict[int, Change]:
    """The changes with what had undone them by then; an undo that was undone brings back what it undid, and so on."""
    kept = {c.number: changed(c, undone_by=0) for c in changes}
    for undoer in [c for c in kept.values() if c.undoes]:
        number, stands = undoer.undoes, False
        while number in kept:
            kept[number] = changed(kept[number], undone_by=0 if stands else undoer.number)
            number, stands = kept[number].undoes, not stands
    return kept


def _resourced(facts: dict[int, Fact], k: Knowledge, kept: dict[int, Change]) -> None:
    """A source that a change added is there while the change stands."""
    for change in k.changes.values():
        for number, source in change.sources:
            if number not in facts:
                continue
            fact, stands = facts[number], change.number in kept and not kept[change.number].undone_by
            if stands and source not in fact.sources:
                facts[number] = changed(fact, sources=(*fact.sources, source))
            elif not stands and source in fact.sources:
                facts[number] = changed(fact, sources=tuple(s for s in fact.sources if s != source))
