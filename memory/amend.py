"""What people do to what is remembered: correct, end, retract, mark, release, settle a conflict, undo.

Each is a change that can be undone by a later one; where a still later change built on it, undo is refused and names
what depends. Nothing is taken from the log here: that alone is erasing (stores/erase.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory import tokens
from memory.errors import NotFound, StaleFact, UndoRefused
from memory.events import Body
from memory.fact_events import ConflictSettled, FactRevised, FactsChanged, FactSourced, FactWeighed, FactWritten
from memory.facts import FOREVER, LAYERS, Fact, Interval, Source, digest, without
from memory.knowledge import Change, Conflict, Knowledge
from memory.revision import Write
from memory.state import changed


@dataclass(frozen=True, slots=True)
class Person:
    """Who decides, and when; `seen` is the version of the user's stream that they looked at, None: the newest."""

    name: str
    at: datetime
    seen: int | None = None


def fact_of(k: Knowledge, number: int) -> Fact:
    if number not in k.facts:
        known = f"f1 to f{len(k.facts)}" if k.facts else "none so far"
        raise NotFound(f"no fact f{number}; there are {known}")
    return k.facts[number]


def _unchanged(k: Knowledge, number: int, who: Person) -> Fact:
    """The fact, if nobody changed it since `who` looked."""
    fact = fact_of(k, number)
    if fact.state == "erased":
        raise NotFound(f"{fact.name} was erased: nothing is left of it")
    if who.seen is not None and fact.changed_at > who.seen:
        last = max((c for c in k.changes.values() if number in c.facts), key=lambda c: c.number, default=None)
        told = f" by {last.decided_by} ({last.cause}: {last.why})" if last else ""
        raise StaleFact(f"{fact.name} was changed meanwhile{told}: look again, then decide")
    return fact


def correct(
    k: Knowledge, number: int, value: str, text: str, who: Person, write: Write, source: Source | None = None,
    *, since: datetime | None = None,
) -> list[Body]:  # fmt: skip
    """Another value for a fact. Without `since` the old one was wrong all along; with it, it changed then."""
    old, change, new_id = _unchanged(k, number, who), len(k.changes) + 1, len(k.facts) + 1
    now_open = [i for i in old.believed if i.valid_to == FOREVER] or [Interval(old.since)]
    begin = since or now_open[-1].valid_from
    mine = Interval(begin, now_open[-1].valid_to)
    left = without(old.believed, mine)
    why = f"corrected: f{new_id} in its place from {begin.date()} on"
    new = changed(
        old, id=new_id, text=write(text), value=write(value) if value else 0,
        value_key=digest(value) if old.key else "", origin="correction", by=who.name, tokens=tokens.count(text),
        state="active", why="", sources=(source,) if source else old.sources, beliefs=(),
        importance=max(old.importance, 0.7),
    )  # fmt: skip
    state = "superseded" if left else "retracted"
    return [
        FactsChanged(change, "correct", who.name, who.at, why, (old.id,), new_id),
        FactWritten(change, new, (mine,), who.at),
        FactRevised(change, old.id, left, state, who.at, why),
        *_settling(k, change, old.id, new_id, who),
    ]


def _settling(k: Knowledge, change: int, old: int, winner: int, who: Person) -> list[Body]:
    """A person's word on one side of a conflict ends it; the other sides are superseded."""
    conflict = k.conflict_of(old)
    if conflict is None:
        return []
    others = [k.facts[n] for n in conflict.facts if n != old]
    return [
        ConflictSettled(change, conflict.id, winner, who.name, who.at),
        *(FactRevised(change, f.id, (), "superseded", who.at, f"settled by f{winner}") for f in others),
    ]


def end(k: Knowledge, numbers: Sequence[int], who: Person, at: datetime | None = None) -> list[Body]:
    """They hold no more from `at` (None: now) on, and stay in history: forgetting a topic for what comes."""
    facts = [_unchanged(k, n, who) for n in numbers]
    change, since = len(k.changes) + 1, at or who.at
    records: list[Body] = [
        FactsChanged(change, "forget", who.name, who.at, f"ended by {who.name}", tuple(f.id for f in facts))
    ]
    for fact in facts:
        left = without(fact.believed, Interval(since))
        records.append(FactRevised(change, fact.id, left, "superseded", who.at, f"ended by {who.name}"))
    return records


def retract(k: Knowledge, numbers: Sequence[int], who: Person, why: str = "it was never so") -> list[Body]:
    """They never held."""
    facts = [_unchanged(k, n, who) for n in numbers]
    change = len(k.changes) + 1
    opening = FactsChanged(change, "retract", who.name, who.at, why, tuple(f.id for f in facts))
    return [opening, *(FactRevised(change, f.id, (), "retracted", who.at, why) for f in facts)]


def release(k: Knowledge, number: int, who: Person, source: Source | None = None) -> list[Body]:
    """A person vouches for what was quarantined, or takes back a retraction: it holds since it was said."""
    fact = _unchanged(k, number, who)
    change = len(k.changes) + 1
    holds = (Interval(fact.said_at if fact.sources or fact.beliefs else who.at),)
    records: list[Body] = [
        FactsChanged(change, "release", who.name, who.at, f"{who.name} vouches for it", (number,), number)
    ]
    if source is not None:
        records.append(FactSourced(change, number, source, who.at))
    return [*records, FactRevised(change, number, holds, "active", who.at)]


def weigh(
    k: Knowledge, number: int, who: Person, *, importance: float | None = None, layer: str = "", conversation: str = "",
    cause: str = "mark", why: str = "",
) -> list[Body]:  # fmt: skip
    """Another importance (0..1) or layer."""
    fact = _unchanged(k, number, who)
    if layer and layer not in LAYERS:
        raise NotFound(f"no layer named {layer!r}; choose one of: {', '.join(LAYERS)}")
    change = len(k.changes) + 1
    new_layer = layer or fact.layer
    weight = fact.importance if importance is None else importance
    own = (conversation or fact.conversation) if new_layer == "working" else ""
    return [
        FactsChanged(change, cause, who.name, who.at, why or f"{cause} by {who.name}", (number,), number),
        FactWeighed(change, number, weight, new_layer, who.at, own),
    ]


def conflict_of(k: Knowledge, number: int) -> Conflict:
    if number not in k.conflicts:
        raise NotFound(f"no conflict {number}; there are {len(k.conflicts)}")
    return k.conflicts[number]


def settle(k: Knowledge, number: int, who: Person, winner: int = 0, why: str = "") -> list[Body]:
    """`winner` holds and the others do not; 0: they all hold, there is no contradiction.

    The others lose the time that the winner takes; what they held before it stays.
    """
    conflict = conflict_of(k, number)
    if conflict.settled:
        raise StaleFact(f"conflict {number} was settled by {conflict.decided_by}: undo change that first")
    if winner and winner not in conflict.facts:
        sides = ", ".join(f"f{n}" for n in conflict.facts)
        raise NotFound(f"f{winner} is no side of conflict {number}; its sides are {sides}")
    change = len(k.changes) + 1
    told = why or (f"f{winner} holds" if winner else "both hold")
    records: list[Body] = [
        FactsChanged(change, "resolve", who.name, who.at, told, conflict.facts, winner),
        ConflictSettled(change, number, winner, who.name, who.at),
    ]
    for side in (k.facts[n] for n in conflict.facts):
        if not winner or side.id == winner:
            records.append(FactRevised(change, side.id, side.believed, "active", who.at))
        else:
            left = side.believed
            for interval in k.facts[winner].believed:
                left = without(left, interval)
            records.append(FactRevised(change, side.id, left, "superseded", who.at, f"lost to f{winner}"))
    return records


# ── undo ──────────────────────────────────────────────────────────────────────────────────────────────


def dependents(k: Knowledge, change: Change) -> list[Change]:
    """Later changes, not undone themselves, that touched what this one touched."""
    mine = set(change.facts)
    later = (c for c in k.changes.values() if c.number > change.number and not c.undone_by and c.cause != "undo")
    return [c for c in later if mine & set(c.facts) or (change.conflict and c.conflict == change.conflict)]


def undo(k: Knowledge, number: int, who: Person) -> list[Body]:
    """Everything that the change touched is as it was before it. Raises UndoRefused."""
    change = k.changes.get(number)
    if change is None:
        raise NotFound(f"no change {number}; there are {len(k.changes)}")
    if change.undone_by:
        raise UndoRefused(f"change {number} was undone by change {change.undone_by} already")
    if erased := [f"f{n}" for n in change.facts if k.facts[n].state == "erased"]:
        raise UndoRefused(f"change {number} cannot be undone: the words of {', '.join(erased)} were erased")
    if later := dependents(k, change):
        named = ", ".join(f"{c.number} ({c.cause}: {c.why})" for c in later)
        raise UndoRefused(f"change {number} cannot be undone, for later ones build on it: {named}; undo those first")
    mine = len(k.changes) + 1
    records: list[Body] = [
        FactsChanged(
            mine, "undo", who.name, who.at, f"undo of change {number} ({change.cause})", change.facts, 0, number
        )
    ]
    for touch in change.touched:
        fact = k.facts[touch.fact]
        if touch.new:
            records.append(FactRevised(mine, fact.id, (), "retracted", who.at, f"undone with change {number}"))
            continue
        records.append(FactRevised(mine, fact.id, touch.holds, touch.state, who.at, touch.why))
        if (fact.importance, fact.layer) != (touch.importance, touch.layer):
            records.append(FactWeighed(mine, fact.id, touch.importance, touch.layer, who.at, touch.conversation))
    if change.conflict and (conflict := k.conflicts.get(change.conflict)):
        opened_here = conflict.change == number
        records.append(ConflictSettled(mine, conflict.id, 0, who.name, who.at, open=not opened_here))
    return records
