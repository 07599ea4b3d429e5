"""What people do to what is remembered: correct, end, retract, mark, release, settle a conflict, undo.

Each is a change that can be undone by a later one; where a still later change built on it, undo is refused and names
what depends. Nothing is taken from the log here: that alone is erasing (stores/erase.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from memory import tokens
from memory.errors import BadMessage, NotFound, StaleFact, UndoRefused
from memory.events import Body
from memory.fact_events import (
    ConflictFound,
    ConflictSettled,
    FactRevised,
    FactsChanged,
    FactSourced,
    FactWeighed,
    FactWritten,
)
from memory.facts import FOREVER, LAYERS, Fact, Interval, Source, in_zone, value_digest, without
from memory.knowledge import Change, Conflict, Knowledge, is_person
from memory.revision import Write, closing, excludes, making_room, ruling
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
    """Another value for a fact. Without `since` the old one was wrong all along; with it, it changed then.

    Of a fact that is over only its own time is given the other value: what came after it stays.
    Raises BadMessage for a change at a time when the fact held no more.
    """
    old, change, new_id = _unchanged(k, number, who), len(k.changes) + 1, len(k.facts) + 1
    still = [i for i in old.believed if i.valid_to == FOREVER]
    held = [*old.believed, *still][-1] if old.believed else Interval(old.since)
    begin = since.astimezone(UTC) if since else held.valid_from
    if begin >= held.valid_to:
        ended = in_zone(held.valid_to, since or old.said_at).date()
        raise BadMessage(f"{old.name} is over since {ended}: another value from {begin.date()} on is the next fact's")
    mine = Interval(begin, held.valid_to)
    new = changed(
        old, id=new_id, text=write(text), value=write(value) if value else 0,
        value_key=value_digest(value) if old.key else "", origin="correction", by=who.name, tokens=tokens.count(text),
        state="active", why="", sources=(source,) if source else old.sources, beliefs=(),
        importance=max(old.importance, 0.7), written_in="",
    )  # fmt: skip
    if source and since is None and old.believed and old.key and old.value_key == new.value_key:
        return _confirmed(k, old, source, who, change)
    left = without(old.believed, mine)
    why = f"corrected: f{new_id} in its place from {in_zone(begin, since or old.said_at).date()} on"
    conflict = k.conflict_of(old.id)
    sides = [n for n in k.sides(conflict) if n != old.id] if conflict else []
    others = [f for f in rivals(k, new, mine) if f.id not in (old.id, *sides)]
    return [
        FactsChanged(change, "correct", who.name, who.at, why, (old.id,), new_id),
        FactWritten(change, new, (mine,), who.at),
        FactRevised(change, old.id, left, "superseded" if left else "retracted", who.at, why),
        *([ConflictSettled(change, conflict.id, new_id, who.name, who.at)] if conflict else []),
        *_cut(k, sides, mine, change, new_id, who, "settled by"),
        *making_room(k, mine, others, new_id, change, who.name, who.at, "corrected by"),
    ]


def _confirmed(k: Knowledge, fact: Fact, source: Source, who: Person, change: int) -> list[Body]:
    """The value that it has already, said once more."""
    conflict = k.conflict_of(fact.id)
    return [
        FactsChanged(change, "correct", who.name, who.at, f"{who.name} confirms it", (fact.id,), fact.id),
        FactSourced(change, fact.id, source, who.at),
        *(ruling(k, conflict, fact.id, change, who.name, who.at) if conflict else []),
    ]


def rivals(k: Knowledge, fact: Fact, holds: Interval) -> list[Fact]:
    """Those that cannot hold where `fact` does."""
    mine = fact.conversation if fact.layer == "working" else None
    return [
        f for f in k.by_key.get(fact.key, ())
        if f.id != fact.id and excludes(fact, f) and any(i.overlaps(holds) for i in f.believed)
        and (f.conversation if f.layer == "working" else None) == mine
    ]  # fmt: skip


def _cut(
    k: Knowledge, numbers: Iterable[int], mine: Interval, change: int, winner: int, who: Person, told: str
) -> list[Body]:
    """They lose this time, and are over."""
    lost = ((n, without(k.facts[n].believed, mine)) for n in numbers)
    return [FactRevised(change, n, left, "superseded", who.at, f"{told} f{winner}") for n, left in lost]


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
    return records + closing(k, {f.id for f in facts}, 0, change, who.name, who.at)


def retract(k: Knowledge, numbers: Sequence[int], who: Person, why: str = "it was never so") -> list[Body]:
    """They never held."""
    facts = [_unchanged(k, n, who) for n in numbers]
    change = len(k.changes) + 1
    opening = FactsChanged(change, "retract", who.name, who.at, why, tuple(f.id for f in facts))
    gone = [FactRevised(change, f.id, (), "retracted", who.at, why) for f in facts]
    return [opening, *gone, *closing(k, {f.id for f in facts}, 0, change, who.name, who.at)]


def release(k: Knowledge, number: int, who: Person, source: Source | None = None) -> list[Body]:
    """A person vouches for what was quarantined, or takes back a retraction: it holds since it was said.

    What cannot hold beside it makes room. One that is believed already stays as it is.
    """
    fact = _unchanged(k, number, who)
    change = len(k.changes) + 1
    records: list[Body] = [
        FactsChanged(change, "release", who.name, who.at, f"{who.name} vouches for it", (number,), number)
    ]
    if source is not None:
        records.append(FactSourced(change, number, source, who.at))
    if fact.believed:
        return records
    mine = Interval(fact.since.astimezone(UTC) if fact.sources or fact.beliefs else who.at)
    return [
        *records, FactRevised(change, number, (mine,), "active", who.at),
        *making_room(k, mine, rivals(k, fact, mine), number, change, who.name, who.at, "replaced"),
    ]  # fmt: skip


def weigh(
    k: Knowledge, number: int, who: Person, *, importance: float | None = None, layer: str = "", conversation: str = "",
    cause: str = "mark", why: str = "",
) -> list[Body]:  # fmt: skip
    """Another importance (0..1) or layer. Raises BadMessage for a weight outside, NotFound for a layer that is none."""
    fact = _unchanged(k, number, who)
    if importance is not None and not 0 <= importance <= 1:
        raise BadMessage(f"a fact weighs 0 to 1, and {importance!r} is not between them")
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

    The others lose the time that the winner takes; what they held before it stays. A model decides nothing of which
    a person decided before, were it by an undo.
    """
    conflict = conflict_of(k, number)
    if conflict.settled:
        raise StaleFact(f"conflict {number} was settled by {conflict.decided_by}: undo that first")
    person = None if is_person(who.name) else k.word_of_a_person(number)
    if person is not None:
        raise StaleFact(f"{person.decided_by} decided about conflict {number} in change {person.number}, not a model")
    left = k.sides(conflict)
    if winner and winner not in left:
        sides = ", ".join(f"f{n}" for n in left)
        raise NotFound(f"f{winner} is no side of conflict {number}; its sides are {sides}")
    for side in left:
        _unchanged(k, side, who)
    change = len(k.changes) + 1
    told = why or (f"f{winner} holds" if winner else "both hold")
    opening = FactsChanged(change, "resolve", who.name, who.at, told, conflict.facts, winner)
    return [opening, *ruling(k, conflict, winner, change, who.name, who.at)]


# ── undo ──────────────────────────────────────────────────────────────────────────────────────────────


def dependents(k: Knowledge, change: Change) -> list[Change]:
    """Later changes that stand and touched what this one touched, or said again what it wrote.

    A later change that was undone does not stand, nor does its undo: together they left things as they were.
    """
    mine, wrote = set(change.facts), {t.fact for t in change.touched if t.new}
    ruled = {c.id for c in change.conflicts}
    later = [c for c in k.changes.values() if c.number > change.number and not c.undone_by]
    return [
        c for c in later
        if c.undoes <= change.number
        and (mine & set(c.facts) or wrote & {n for n, _ in c.sources} or ruled & {each.id for each in c.conflicts})
    ]  # fmt: skip


def _in_the_way(k: Knowledge, change: Change) -> list[Change]:
    """Changes that wrote what cannot hold beside what this one took away."""
    back = [(k.facts[t.fact], i) for t in change.touched if t.state != "conflicted" for i in t.holds]
    new = {f.id for fact, interval in back for f in rivals(k, fact, interval) if f.id not in change.facts}
    return [c for c in k.changes.values() if c.number > change.number and new & {t.fact for t in c.touched if t.new}]


def undo(k: Knowledge, number: int, who: Person) -> list[Body]:
    """Everything that the change touched is as it was before it. Raises UndoRefused."""
    change = k.changes.get(number)
    if change is None:
        raise NotFound(f"no change {number}; there are {len(k.changes)}")
    if change.undone_by:
        raise UndoRefused(f"change {number} was undone by change {change.undone_by} already")
    if erased := [f"f{n}" for n in change.facts if k.facts[n].state == "erased"]:
        raise UndoRefused(f"change {number} cannot be undone: the words of {', '.join(erased)} were erased")
    if later := dependents(k, change) or _in_the_way(k, change):
        named = ", ".join(f"{c.number} ({c.cause}: {c.why})" for c in later)
        raise UndoRefused(f"change {number} cannot be undone, for later ones build on it: {named}; undo those first")
    mine = len(k.changes) + 1
    told = f"undo of change {number} ({change.cause})"
    records: list[Body] = [FactsChanged(mine, "undo", who.name, who.at, told, change.facts, 0, number)]
    for touch in change.touched:
        fact = k.facts[touch.fact]
        if touch.new:
            records.append(FactRevised(mine, fact.id, (), "retracted", who.at, f"undone with change {number}"))
            continue
        records.append(FactRevised(mine, fact.id, touch.holds, touch.state, who.at, touch.why))
        now, then = ((x.importance, x.layer, x.conversation) for x in (fact, touch))
        if now != then:
            records.append(FactWeighed(mine, fact.id, touch.importance, touch.layer, who.at, touch.conversation))
    for before in change.conflicts:
        records += _reopened(k.conflicts[before.id], before, mine, who)
    return records


def _reopened(now: Conflict, before: Conflict, change: int, who: Person) -> list[Body]:
    """The conflict as it stood before; one that was not there is settled, and nobody won."""
    records: list[Body] = []
    if before.facts and now.facts != before.facts:
        found = ConflictFound(change, before.id, before.facts, before.why, before.rule, before.would_win, who.at)
        records.append(found)
    if before.settled or not before.facts:
        by = before.decided_by or who.name
        return [*records, ConflictSettled(change, before.id, before.winner, by, who.at)]
    return [*records, ConflictSettled(change, before.id, 0, who.name, who.at, open=True)]
