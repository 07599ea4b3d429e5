"""What is remembered about one user: a fold over the records of fact_events.py, pure, like state.py's.

`Knowledge` at a version is what was believed then; two times are asked of its facts (facts.py). It decides nothing:
revision.py does, consolidation.py, and people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cached_property, reduce
from typing import Any

import orjson

from memory.errors import StoreDamaged
from memory.events import Event, read
from memory.fact_events import (
    BookmarkPruned,
    ConflictFound,
    ConflictSettled,
    Consolidated,
    FactRevised,
    FactsChanged,
    FactSourced,
    FactWeighed,
    FactWritten,
    Pruned,
    RememberingSwitched,
    Summary,
    SummaryRetired,
    SummaryWritten,
    TextErased,
    TurnRemembered,
)
from memory.facts import WEIGHTY, Fact, Interval, Source, rebelieved
from memory.state import changed

FOLD_VERSION = 1_005  # beside state.FOLD_VERSION in one table of snapshots; grows when `apply` changes its mind


@dataclass(frozen=True, slots=True)
class Touch:
    """A fact as it stood before a change, for undo."""

    fact: int
    new: bool  # it did not exist
    holds: tuple[Interval, ...] = ()
    state: str = "active"
    importance: float = 0.5
    layer: str = ""
    conversation: str = ""
    why: str = ""


@dataclass(frozen=True)
class Conflict:
    id: int
    facts: tuple[int, ...]
    why: str
    rule: str
    would_win: int
    found_at: datetime
    change: int
    settled: bool = False
    winner: int = 0
    decided_by: str = ""
    settled_at: datetime | None = None

    @property
    def name(self) -> str:
        return f"c{self.id}"


@dataclass(frozen=True)  # no slots: see state.changed
class Change:
    """Who changed what, when and why (the change record)."""

    number: int
    cause: str
    decided_by: str
    at: datetime
    why: str = ""
    old: tuple[int, ...] = ()
    new: int = 0
    undoes: int = 0
    undone_by: int = 0
    touched: tuple[Touch, ...] = ()
    conflicts: tuple[Conflict, ...] = ()  # found or settled in it, as they stood before; without facts: not there
    sources: tuple[tuple[int, Source], ...] = ()  # fact, what was added to it
    pruned: Pruned | None = None  # the bookmark that it took

    @property
    def facts(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(t.fact for t in self.touched))


@dataclass(frozen=True)
class Knowledge:
    version: int = 0  # of the user's stream
    facts: dict[int, Fact] = field(default_factory=dict)
    changes: dict[int, Change] = field(default_factory=dict)
    conflicts: dict[int, Conflict] = field(default_factory=dict)
    learned: dict[str, int] = field(default_factory=dict)  # by conversation, its last turn that was looked at
    on: bool = True  # whether anything is remembered
    summaries: dict[int, Summary] = field(default_factory=dict)
    slept: Consolidated | None = None  # the last time that rows were applied

    @cached_property
    def by_key(self) -> Mapping[str, tuple[Fact, ...]]:
        found: dict[str, list[Fact]] = {}
        for fact in self.facts.values():
            if fact.key:
                found.setdefault(fact.key, []).append(fact)
        return {key: tuple(facts) for key, facts in found.items()}

    @cached_property
    def weighty(self) -> Mapping[int, Fact]:
        """Those that come into prompts unasked, as long as they hold."""
        return {n: f for n, f in self.facts.items() if f.importance >= WEIGHTY}

    @cached_property
    def profile(self) -> tuple[Fact, ...]:
        """The core of what is known of the user, the weightiest first: lasting, undisputed, whoever asks and whenever.

        Ranked once for these facts, and carried on by events that leave all facts as they were.
        """
        lasting = [f for f in self.weighty.values() if f.layer != "episodic" and f.state != "conflicted"]
        return tuple(sorted(lasting, key=lambda f: (-f.importance, -f.id)))

    @property
    def open_conflicts(self) -> list[Conflict]:
        return [c for c in self.conflicts.values() if not c.settled]

    @property
    def current(self) -> list[Fact]:
        """Believed to hold without a known end."""
        return [f for f in self.facts.values() if f.open and f.state in ("active", "conflicted")]

    def readable(self, conversation: str | None) -> list[Fact]:
        """Those that this conversation may see: its own working facts and no other's. None: no working facts."""
        return [f for f in self.facts.values() if f.readable_in(conversation)]

    def sides(self, conflict: Conflict) -> tuple[int, ...]:
        """Its facts, but for those whose words were erased since."""
        return tuple(n for n in conflict.facts if self.facts[n].state != "erased")

    def word_of_a_person(self, conflict: int) -> Change | None:
        """The last change in which a person decided about this conflict, one that was undone as well."""
        theirs = (c for c in self.changes.values() if any(each.id == conflict for each in c.conflicts))
        return max((c for c in theirs if is_person(c.decided_by)), key=lambda c: c.number, default=None)

    def conflict_of(self, fact: int) -> Conflict | None:
        return next((c for c in self.conflicts.values() if not c.settled and fact in c.facts), None)


def is_person(decider: str) -> bool:
    return decider.partition(":")[0] not in ("rule", "model")


def apply(knowledge: Knowledge, event: Event) -> Knowledge:
    change = _CHANGES.get(event.kind)
    changes = change(knowledge, event.body, event.version) if change else {}
    new = changed(knowledge, version=event.version, **changes)
    if "facts" in changes:
        held, heavy = new.__dict__.pop("by_key", None), new.__dict__.pop("weighty", None)
        new.__dict__.pop("profile", None)
        if isinstance(event.body, FactWritten | FactRevised | FactSourced | FactWeighed):
            fact = new.facts[_number(event.body)]
            if held is not None:
                new.__dict__["by_key"] = _rekeyed(held, fact)
            if heavy is not None:
                kept = {n: f for n, f in heavy.items() if n != fact.id}
                new.__dict__["weighty"] = kept | ({fact.id: fact} if fact.importance >= WEIGHTY else {})
    return new


def _number(body: FactWritten | FactRevised | FactSourced | FactWeighed) -> int:
    return body.fact.id if isinstance(body, FactWritten) else body.fact


def _rekeyed(held: Mapping[str, tuple[Fact, ...]], fact: Fact) -> Mapping[str, tuple[Fact, ...]]:
    """`by_key` with this one fact as it is now: to sort thousands anew for each is what an import would wait for."""
    if not fact.key:
        return held
    kept = held.get(fact.key, ())
    known = any(f.id == fact.id for f in kept)
    facts = tuple(fact if f.id == fact.id else f for f in kept) if known else (*kept, fact)
    return {**held, fact.key: facts}


def fold(events: Iterable[Event], knowledge: Knowledge | None = None) -> Knowledge:
    return reduce(apply, events, knowledge or Knowledge())


# ── one function per kind: the changed fields ─────────────────────────────────────────────────────────

Changes = dict[str, Any]


def _remembered(k: Knowledge, body: TurnRemembered, version: int) -> Changes:
    if not body.whole:
        return {}
    last = body.turn if body.anew else max(k.learned.get(body.conversation, 0), body.turn)
    return {"learned": {**k.learned, body.conversation: last}}


def _changed(k: Knowledge, body: FactsChanged, version: int) -> Changes:
    new = Change(body.change, body.cause, body.decided_by, body.at, body.why, body.old, body.new, body.undoes)
    changes = {**k.changes, body.change: new}
    facts: dict[int, Fact] = {}
    undoer, number, stands = body.change, body.undoes, False
    while number:  # an undo that is undone brings back what it undid, and so on down
        old = changes[number] = changed(changes[number], undone_by=0 if stands else undoer)
        undoer, number, stands = number, old.undoes, not stands
        if not number:
            facts = _resourced(k, old, version, added=not stands)
    return {"changes": changes} | ({"facts": {**k.facts, **facts}} if facts else {})


def _resourced(k: Knowledge, change: Change, version: int, *, added: bool) -> dict[int, Fact]:
    """The facts to which a change added sources, with them again or without."""
    found: dict[int, Fact] = {}
    for number, source in change.sources:
        fact = found.get(number, k.facts[number])
        sources = (*fact.sources, source) if added else tuple(s for s in fact.sources if s != source)
        found[number] = changed(fact, sources=sources, changed_at=version)
    return found


def _written(k: Knowledge, body: FactWritten, version: int) -> Changes:
    fact = changed(body.fact, written_at=version, changed_at=version, beliefs=rebelieved((), body.holds, body.at))
    return {"facts": {**k.facts, fact.id: fact}, **_touching(k, body.change, Touch(fact.id, new=True))}


def _touch_of(fact: Fact) -> Touch:
    return Touch(
        fact.id, new=False, holds=fact.believed, state=fact.state, importance=fact.importance, layer=fact.layer,
        conversation=fact.conversation, why=fact.why,
    )  # fmt: skip


def _touching(k: Knowledge, number: int, touch: Touch, **more: Any) -> Changes:
    """The first touch of a fact within a change is how it stood before."""
    change = k.changes[number]
    known = touch.fact in change.facts
    touched = change.touched if known else (*change.touched, touch)
    return {"changes": {**k.changes, number: changed(change, touched=touched, **more)}}


def _revised(k: Knowledge, body: FactRevised, version: int) -> Changes:
    old = k.facts[body.fact]
    new = changed(
        old, beliefs=rebelieved(old.beliefs, body.holds, body.at), state=body.state, why=body.why, changed_at=version
    )
    return {"facts": {**k.facts, old.id: new}, **_touching(k, body.change, _touch_of(old))}


def _sourced(k: Knowledge, body: FactSourced, version: int) -> Changes:
    old = k.facts[body.fact]
    new = changed(old, sources=(*old.sources, body.source), changed_at=version)
    change = k.changes[body.change]
    sources = (*change.sources, (body.fact, body.source))
    return {
        "facts": {**k.facts, old.id: new},
        "changes": {**k.changes, change.number: changed(change, sources=sources)},
    }


def _weighed(k: Knowledge, body: FactWeighed, version: int) -> Changes:
    old = k.facts[body.fact]
    new = changed(old, importance=body.importance, layer=body.layer, conversation=body.conversation, changed_at=version)
    return {"facts": {**k.facts, old.id: new}, **_touching(k, body.change, _touch_of(old))}


def _found(k: Knowledge, body: ConflictFound, version: int) -> Changes:
    """A new one, or one that has more sides now."""
    found = Conflict(body.conflict, body.facts, body.why, body.rule, body.would_win, body.at, body.change)
    before = k.conflicts.get(body.conflict)
    if before is not None:
        found = changed(found, found_at=before.found_at, change=before.change)
    return _ruled(k, body.change, before or changed(found, facts=()), found)


def _settled(k: Knowledge, body: ConflictSettled, version: int) -> Changes:
    old = k.conflicts[body.conflict]
    new = changed(
        old, settled=not body.open, winner=0 if body.open else body.winner,
        decided_by="" if body.open else body.decided_by, settled_at=None if body.open else body.at,
    )  # fmt: skip
    return _ruled(k, body.change, old, new)


def _ruled(k: Knowledge, number: int, before: Conflict, after: Conflict) -> Changes:
    """How it stood before the change is kept with the change, as for facts."""
    change = k.changes[number]
    if all(each.id != before.id for each in change.conflicts):
        change = changed(change, conflicts=(*change.conflicts, before))
    return {"conflicts": {**k.conflicts, after.id: after}, "changes": {**k.changes, number: change}}


def _switched(k: Knowledge, body: RememberingSwitched, version: int) -> Changes:
    return {"on": body.on}


def _summarised(k: Knowledge, body: SummaryWritten, version: int) -> Changes:
    return {"summaries": {**k.summaries, body.summary.id: body.summary}}


def _retired(k: Knowledge, body: SummaryRetired, version: int) -> Changes:
    old = k.summaries[body.summary]
    return {"summaries": {**k.summaries, old.id: replace(old, retired=body.why)}}


def _pruned(k: Knowledge, body: BookmarkPruned, version: int) -> Changes:
    return {"changes": {**k.changes, body.change: changed(k.changes[body.change], pruned=body.pruned)}}


def _consolidated(k: Knowledge, body: Consolidated, version: int) -> Changes:
    return {"slept": body}


def _erased(k: Knowledge, body: TextErased, version: int) -> Changes:
    """Facts without words are believed no more; who stood against them in a conflict stands alone.

    Summaries that held the words stand no more, and can be made anew of what is left.
    """
    facts, conflicts = dict(k.facts), dict(k.conflicts)
    for number in body.facts:
        old = facts[number]
        beliefs = rebelieved(old.beliefs, (), body.at)
        facts[number] = changed(old, beliefs=beliefs, state="erased", why="", key="", value_key="", changed_at=version)
    for each in k.open_conflicts:
        left = [n for n in each.facts if facts[n].state != "erased"]
        if len(left) < len(each.facts) and len(left) < 2:
            settled = {"settled": True, "winner": sum(left), "decided_by": body.by, "settled_at": body.at}
            conflicts[each.id] = changed(each, **settled)
            facts |= {n: changed(facts[n], state="active", why="", changed_at=version) for n in left}
    gone = [s for s in k.summaries.values() if s.text in body.texts and not s.retired]
    summaries = k.summaries | {s.id: replace(s, retired="its words were erased") for s in gone}
    return {"facts": facts, "conflicts": conflicts, "summaries": summaries}


_CHANGES: dict[str, Callable[[Knowledge, Any, int], Changes]] = {
    cls.__name__: change
    for cls, change in (
        (TurnRemembered, _remembered),
        (FactsChanged, _changed),
        (FactWritten, _written),
        (FactRevised, _revised),
        (FactSourced, _sourced),
        (FactWeighed, _weighed),
        (ConflictFound, _found),
        (ConflictSettled, _settled),
        (RememberingSwitched, _switched),
        (TextErased, _erased),
        (SummaryWritten, _summarised),
        (SummaryRetired, _retired),
        (BookmarkPruned, _pruned),
        (Consolidated, _consolidated),
    )
}  # fmt: skip


# ── snapshots ─────────────────────────────────────────────────────────────────────────────────────────


def dump(knowledge: Knowledge) -> bytes:
    """As JSON bytes; `load` gives back an equal one."""
    values = {f.name: getattr(knowledge, f.name) for f in fields(Knowledge)}
    for name in ("facts", "changes", "conflicts", "summaries"):
        values[name] = list(values[name].values())
    return orjson.dumps(values, option=orjson.OPT_PASSTHROUGH_DATACLASS, default=_fields)


def _fields(value: Any) -> Any:
    """What is worked out from a value (`cached_property`) is no part of it."""
    return {f.name: getattr(value, f.name) for f in fields(value)}


def load(raw: bytes) -> Knowledge:
    try:
        values = orjson.loads(raw)
        values["facts"] = {f.id: f for f in (read(Fact, v) for v in values["facts"])}
        values["changes"] = {c.number: c for c in map(_change, values["changes"])}
        values["conflicts"] = {c.id: c for c in (read(Conflict, v) for v in values["conflicts"])}
        values["summaries"] = {s.id: s for s in (read(Summary, v) for v in values["summaries"])}
        values["slept"] = read(Consolidated, values["slept"]) if values["slept"] else None
        return Knowledge(**values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreDamaged(f"a snapshot of facts cannot be read: {error}") from error


def _change(values: dict[str, Any]) -> Change:
    sources = tuple((fact, read(Source, source)) for fact, source in values.pop("sources"))
    return replace(read(Change, values | {"sources": ()}), sources=sources)
