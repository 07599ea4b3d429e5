"""Facts over time: a lane for each thing that can have a value, a bar for each value, marks where something changed.

Two times are told apart (facts.py): the world's, *valid*, and ours, *recorded*. Asked as of a recorded moment, all of
it is as it was believed then; asked as of a valid one, it says which values were true. Both together are `as_of(valid,
recorded)`. Not here: one fact whole (story.py), the picture of a notebook's lanes (workbench/timeline.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from memory.errors import UnknownName
from memory.facts import BEGINNING, FOREVER, LAYERS, STATES, WEIGHTY, Belief, Fact
from memory.knowledge import Change, Knowledge, Touch
from memory.rewind import rewound
from memory.scope import Scope
from memory.show import Shown
from memory.stores.sql import Store
from workbench import timeline
from workbench.views.remembered import remembered

LANES = 60  # on one page
VERSIONS = 40  # of one lane, the newest
HOLDS = "holds"  # beside the states: what is true at the moment that is asked for
SHOWN_STATES = tuple(state for state in STATES if state != "erased")

MARKS = {
    "supersede": "superseded", "slot": "superseded", "merge": "superseded", "consolidate": "superseded",
    "end": "ended", "forget": "ended", "correct": "corrected", "retract": "retracted", "conflict": "conflict",
    "resolve": "settled", "undo": "undone", "release": "released",
}  # fmt: skip
_OF_NEW = ("correct", "conflict")  # causes that a value is marked with from its beginning


@dataclass(frozen=True, slots=True)
class Asked:
    """What of it is wanted; "" and None leave it open."""

    layer: str = ""
    state: str = ""  # or HOLDS
    words: str = ""  # all of them must stand in an entry, its subject, attribute or value
    valid: datetime | None = None  # None: now
    recorded: datetime | None = None  # None: as believed now
    first: int = 0  # lanes before the page

    def __post_init__(self) -> None:
        if self.layer and self.layer not in LAYERS:
            raise UnknownName("layer", self.layer, LAYERS)
        if self.state and self.state not in (HOLDS, *SHOWN_STATES):
            raise UnknownName("state", self.state, (HOLDS, *SHOWN_STATES))


@dataclass(frozen=True, slots=True)
class Bar:
    """That it held in `[valid_from, valid_to)`, believed in `[recorded_from, recorded_to)`; None: no end is known."""

    valid_from: datetime | None
    valid_to: datetime | None
    recorded_from: datetime
    recorded_to: datetime | None


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened to a value: where it shows in either time."""

    kind: str  # superseded, ended, corrected, retracted, conflict, settled, undone, released
    change: int
    valid_at: datetime | None  # None: before all dates
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Version:
    """One fact: a value in its lane."""

    fact: int
    text: str
    value: str
    state: str
    layer: str
    why: str  # it is in this state
    by: str
    negated: bool
    important: bool
    holds: bool  # at the moment that is asked for
    since: datetime | None
    known_at: datetime | None  # when it was written
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]

    @property
    def name(self) -> str:
        return f"f{self.fact}"

    @property
    def believed(self) -> tuple[Bar, ...]:
        return tuple(bar for bar in self.bars if bar.recorded_to is None)


@dataclass(frozen=True, slots=True)
class Lane:
    key: str
    subject: str  # "user" for whoever speaks; "": text only
    attribute: str
    versions: tuple[Version, ...]  # the newest first
    older: int  # versions left out


@dataclass(frozen=True)
class LanesView(Shown):
    """A page of lanes, those that moved last first."""

    user: str
    asked: Asked
    now: datetime
    at: datetime  # the valid moment at which `holds` was looked at
    lanes: tuple[Lane, ...]
    count: int  # lanes that were asked for, on all pages
    facts: int  # facts in them
    holding: int  # of all facts, those that held at `at`
    states: dict[str, int]  # of all that may be seen
    layers: dict[str, int]
    working: int  # facts of other conversations, shown with those only
    conflicts: int  # open ones
    valid_moments: tuple[datetime, ...]  # at which something began or ended to hold
    recorded_moments: tuple[datetime, ...]  # at which something was changed, also after `asked.recorded`

    def __repr__(self) -> str:
        return (
            f"<Lanes of {self.user}: {len(self.lanes)} of {self.count} with {self.facts} facts, "
            f"{self.holding} hold, {self.conflicts} undecided>"
        )

    def _html(self) -> str:
        drawn = [_drawn(version) for lane in self.lanes for version in lane.versions]
        return timeline.svg(timeline.Timeline(repr(self)[1:-1], tuple(d for d in drawn if d.bars), self.now))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def rows(self) -> list[dict[str, Any]]:
        """One row a bar: what a table or a file holds."""
        return [
            {"fact": v.name, "subject": lane.subject, "attribute": lane.attribute, "value": v.value, "text": v.text,
             "state": v.state, "layer": v.layer, "holds": v.holds, **asdict(bar)}
            for lane in self.lanes for v in lane.versions for bar in v.bars
        ]  # fmt: skip

    def to_df(self) -> Any:
        """One row a bar."""
        import pandas as pd

        return pd.DataFrame(self.rows())


def lanes(store: Store, scope: Scope, asked: Asked = Asked()) -> LanesView:
    """What this conversation may know of its user, as lanes."""
    read, now = remembered(store, scope.user), store.clock()
    k = rewound(read.k, asked.recorded) if asked.recorded else read.k
    at, words = asked.valid or asked.recorded or now, read.words
    seen = [f for f in k.readable(scope.conversation or None) if f.state != "erased"]
    found = _matching(_by_lane(seen), asked, at, words)
    page = found[asked.first : asked.first + LANES]
    changes = _changes(k, {f.id for _, facts in page for f in facts})
    return LanesView(
        user=scope.user,
        asked=asked,
        now=now,
        at=at,
        lanes=tuple(_lane(key, facts, words, changes, at) for key, facts in page),
        count=len(found),
        facts=sum(len(facts) for _, facts in found),
        holding=sum(f.holds(at) for f in seen),
        states=_counted(SHOWN_STATES, (f.state for f in seen)),
        layers=_counted(LAYERS, (f.layer for f in seen)),
        working=sum(not f.readable_in(scope.conversation or None) for f in k.facts.values()),
        conflicts=len(k.open_conflicts),
        valid_moments=_moments(edge for f in seen for i in f.believed for edge in (i.valid_from, i.valid_to)),
        recorded_moments=_moments(c.at for c in read.k.changes.values()),
    )


# ── which ─────────────────────────────────────────────────────────────────────────────────────────────


def lane_of(fact: Fact) -> str:
    """Facts of one lane answer one question; a working fact only beside its conversation's own."""
    own = f"{fact.conversation}~" if fact.layer == "working" else ""
    return own + (fact.key or fact.name)


def _by_lane(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        found.setdefault(lane_of(fact), []).append(fact)
    return found


def _matching(
    by_lane: Mapping[str, list[Fact]], asked: Asked, at: datetime, words: Mapping[int, str]
) -> list[tuple[str, list[Fact]]]:
    """Whole lanes of which at least one value is what is asked for; those that moved last first."""
    wanted = asked.words.casefold().split()
    found = [
        (key, facts)
        for key, facts in by_lane.items()
        if any(_fits(fact, asked, at) and _holds_words(fact, wanted, words) for fact in facts)
    ]
    return sorted(found, key=lambda each: max(map(_moved, each[1])), reverse=True)


def _fits(fact: Fact, asked: Asked, at: datetime) -> bool:
    if asked.layer and fact.layer != asked.layer:
        return False
    return not asked.state or (fact.holds(at) if asked.state == HOLDS else fact.state == asked.state)


def _holds_words(fact: Fact, wanted: Sequence[str], words: Mapping[int, str]) -> bool:
    if not wanted:
        return True
    own = " ".join(words.get(i, "") for i in (fact.text, fact.subject, fact.attribute, fact.value)).casefold()
    return fact.name in wanted or all(word in own for word in wanted)


def _moved(fact: Fact) -> tuple[datetime, int]:
    """When we last changed our mind about it."""
    edges = [e for b in fact.beliefs for e in (b.recorded_from, b.recorded_to) if e != FOREVER]
    return max(edges, default=fact.said_at), fact.id


# ── made of facts ─────────────────────────────────────────────────────────────────────────────────────


def _lane(
    key: str, facts: Sequence[Fact], words: Mapping[int, str], changes: Mapping[int, Sequence[tuple[Change, Touch]]],
    at: datetime,
) -> Lane:  # fmt: skip
    newest = sorted(facts, key=lambda f: (f.since, f.id), reverse=True)
    first = newest[0]
    versions = tuple(_version(f, words, changes.get(f.id, ()), at) for f in newest[:VERSIONS])
    subject, attribute = words.get(first.subject, ""), words.get(first.attribute, "")
    return Lane(key, subject if first.key else "", attribute, versions, max(0, len(facts) - VERSIONS))


def _version(f: Fact, words: Mapping[int, str], changes: Sequence[tuple[Change, Touch]], at: datetime) -> Version:
    return Version(
        fact=f.id,
        text=words.get(f.text, ""),
        value=words.get(f.value, ""),
        state=f.state,
        layer=f.layer,
        why=f.why,
        by=f.by,
        negated=f.negated,
        important=f.importance >= WEIGHTY,
        holds=f.holds(at),
        since=_known(f.since_when),
        known_at=next((c.at for c, touch in changes if touch.new), None),
        bars=tuple(map(_bar, f.dated)),
        marks=tuple(
            Mark(MARKS[c.cause], c.number, _known(_where(f, touch)), c.at)
            for c, touch in changes
            if c.cause in MARKS and not c.undone_by and (not touch.new or c.cause in _OF_NEW)
        ),
    )


def _bar(b: Belief) -> Bar:
    return Bar(_known(b.valid_from), _known(b.valid_to), b.recorded_from, _known(b.recorded_to))


def _where(f: Fact, touch: Touch) -> datetime:
    """In the world's time: where it ended, if it did; else where it began."""
    end = max((i.valid_to for i in f.believed), default=FOREVER)
    return f.since if touch.new or end == FOREVER else end


def _changes(k: Knowledge, wanted: set[int]) -> dict[int, list[tuple[Change, Touch]]]:
    """By fact what happened to it, in order."""
    found: dict[int, list[tuple[Change, Touch]]] = {}
    for change in k.changes.values():
        for touch in change.touched:
            if touch.fact in wanted:
                found.setdefault(touch.fact, []).append((change, touch))
    return found


def _counted(names: Sequence[str], found: Iterable[str]) -> dict[str, int]:
    counts = Counter(found)
    return {name: counts[name] for name in names if counts[name]}


def _moments(found: Iterable[datetime]) -> tuple[datetime, ...]:
    return tuple(sorted({at for at in found if at not in (BEGINNING, FOREVER)}))


def _known(at: datetime) -> datetime | None:
    return None if at in (BEGINNING, FOREVER) else at


def _drawn(v: Version) -> timeline.Lane:
    state = v.state
    bars = [
        timeline.Bar(b.valid_from or BEGINNING, b.valid_to or FOREVER, b.recorded_from, b.recorded_to or FOREVER, state)
        for b in v.bars
    ]
    return timeline.Lane(v.name, v.value or v.text, v.state, tuple(bars))
