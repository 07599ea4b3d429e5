"""What is remembered about a user, as frozen values: all facts, one fact whole, conflicts, changes, the write ledger.

Used by the command, notebooks and pages alike. Working facts are shown with their conversation only, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from memory.amend import fact_of
from memory.answering import LOOK_BACK, last_uses
from memory.errors import NotFound, UnknownName
from memory.events import FactsPlaced
from memory.facts import BEGINNING, FOREVER, LAYERS, STATES, Belief, Fact, as_of, in_zone
from memory.knowledge import Change, Conflict, Knowledge
from memory.scope import LIVE, OWN, Scope
from memory.show import Shown, rows, small, table
from memory.stores.sql import Store
from workbench.views.known import WAITS, waiting

HOLD = ("active", "conflicted")
USES = 20  # prompts that are named


@dataclass(frozen=True, slots=True)
class FactRow:
    name: str  # f12
    text: str
    subject: str
    attribute: str
    value: str
    kind: str
    layer: str
    conversation: str  # of a working fact: the only one that may read it
    state: str
    why: str
    since: datetime | None  # with the offset of whoever said so; None: always, or not known
    until: datetime | None  # None: no end is known
    importance: float
    tags: tuple[str, ...]
    origin: str
    drawn_by: str
    said: int  # how often
    conflict: int  # open one, 0: none
    used: str  # conversation and step whose prompt held it last; "": none that was looked through

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class FactsView(Shown):
    """A list of facts, and what it leaves out."""

    user: str
    rows: tuple[FactRow, ...]
    states: dict[str, int]  # of all that may be seen, by state
    working: int  # facts of conversations that were not named
    on: bool  # whether anything is remembered from here on
    valid: datetime | None = None
    recorded: datetime | None = None

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """One row a fact."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.rows])

    @property
    def note(self) -> str:
        parts = [f"{n} {state}" for state, n in self.states.items() if n]
        if self.working:
            parts.append(f"{self.working} working facts of conversations, each shown with its own")
        if not self.on:
            parts.append("nothing is remembered from here on: `workbench memory resume`")
        return ", ".join(parts) or "nothing is remembered so far"

    def __repr__(self) -> str:
        return f"<FactsView of {self.user}: {len(self.rows)} shown; {self.note}>"

    def _html(self) -> str:
        shown = [[r.name, r.text, r.layer, _day(r.since), r.state, r.said, r.used] for r in self.rows]
        head = ["fact", "what", "layer", "since", "state", "said", "last used"]
        return rows(f"Remembered about {self.user}", {"": self.note}) + table(head, shown, 100)


@dataclass(frozen=True, slots=True)
class SourceRow:
    conversation: str  # "": in none
    turn: int
    by: str
    said_at: datetime
    quote: str  # "": the words are gone


@dataclass(frozen=True, slots=True)
class BeliefRow:
    """Half-open; None is an end that is not known, or the beginning of time."""

    valid_from: datetime | None
    valid_to: datetime | None
    recorded_from: datetime
    recorded_to: datetime | None


@dataclass(frozen=True, slots=True)
class ChangeRow:
    change: int
    cause: str
    decided_by: str
    at: datetime
    why: str
    old: tuple[str, ...]
    new: str
    undoes: int
    undone_by: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class UseRow:
    conversation: str
    step: int
    at: datetime
    why: str  # it was placed: hot, match, conflict


@dataclass(frozen=True)
class FactView(Shown):
    """One fact whole: where it was said, what was believed when, who changed it, which prompts held it."""

    row: FactRow
    version: int  # of the user's stream: what a correction names as seen
    sources: tuple[SourceRow, ...]
    beliefs: tuple[BeliefRow, ...]
    changes: tuple[ChangeRow, ...]
    uses: tuple[UseRow, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """What was believed of it, one row each."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.beliefs])

    def __repr__(self) -> str:
        what = small(self.row.text, 80)
        return f"<FactView {self.row.name}: {what!r}, {self.row.state}, said {len(self.sources)} times>"

    def _html(self) -> str:
        r = self.row
        figures = {"state": r.state, "why": r.why or "–", "layer": r.layer, "since": _day(r.since),
                   "importance": f"{r.importance:g}", "drawn by": r.drawn_by}  # fmt: skip
        head = rows(f"{r.name}: {r.text}", figures)
        said = [[s.conversation or "–", s.turn or "–", _day(s.said_at), s.quote] for s in self.sources]
        held = [[_day(b.valid_from), _day(b.valid_to), _minute(b.recorded_from), _minute(b.recorded_to)]
                for b in self.beliefs]  # fmt: skip
        return (
            head
            + table(["conversation", "turn", "said", "words"], said)
            + table(["true from", "until", "believed from", "until"], held)
            + table(["change", "cause", "by", "when", "why"],
                    [[c.change, c.cause, c.decided_by, _minute(c.at), c.why] for c in self.changes])
            + table(["conversation", "step", "when", "placed as"],
                    [[u.conversation, u.step, _minute(u.at), u.why] for u in self.uses])
        )  # fmt: skip


@dataclass(frozen=True)
class ConflictView(Shown):
    """Facts that cannot all hold, with the words that say so."""

    number: int
    sides: tuple[FactView, ...]
    why: str
    rule: str  # that would decide
    would_win: str  # by it
    found_at: datetime
    settled: bool
    winner: str  # "" with `settled`: all of them hold
    decided_by: str
    change: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """Its sides, one row each."""
        import pandas as pd

        return pd.DataFrame([side.row.to_dict() for side in self.sides])

    def __repr__(self) -> str:
        told = f"settled by {self.decided_by}" if self.settled else f"open; by {self.rule} {self.would_win} would hold"
        return f"<ConflictView {self.number}: {' against '.join(s.row.name for s in self.sides)}, {told}>"

    def _html(self) -> str:
        sides = [[s.row.name, s.row.text, _day(s.row.since), _quotes(s.sources)] for s in self.sides]
        decided = self.decided_by or "nobody yet"
        head = {"why": self.why, "rule": self.rule, "would hold": self.would_win, "decided by": decided}
        return rows(f"Conflict {self.number}", head) + table(["fact", "what", "since", "said"], sides)


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """What became of something that a turn held, or why there was nothing."""

    conversation: str
    turn: int
    at: datetime | None  # when it was looked at; None: not yet
    verdict: str
    reason: str
    fact: str
    text: str  # of the fact, or the words that became none
    by: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


# ── made of the store ─────────────────────────────────────────────────────────────────────────────────


def facts(
    store: Store, user: str, *, conversation: str = "", layer: str = "", state: str = "", tag: str = "",
    valid: datetime | None = None, recorded: datetime | None = None,
) -> FactsView:  # fmt: skip
    """What is remembered, the newest first: what holds now, or with `state` what is in that ("all": any state).

    `valid` and `recorded` ask as of a moment in either time. Raises UnknownName for a layer or state that is none.
    """
    _known("layer", layer, LAYERS)
    _known("state", state, (*STATES, "all"))
    k = store.knowledge(user)
    seen = k.readable(conversation or None)
    words = _words(store, user, seen)
    found = [f for f in _wanted(seen, state, valid, recorded, store.clock()) if not layer or f.layer == layer]
    found = [f for f in found if not tag or tag in words.get(f.tags, "").split()]
    found.sort(key=lambda f: -f.id)
    used = last_uses(store, user, [f.id for f in found])
    return FactsView(
        user, tuple(_row(k, f, words, used) for f in found),
        {name: n for name in STATES if (n := sum(f.state == name for f in seen))},
        len(k.facts) - len(seen), k.on, valid, recorded,
    )  # fmt: skip


def _known(what: str, name: str, names: Sequence[str]) -> None:
    if name and name not in names:
        raise UnknownName(what, name, names)


def _wanted(
    seen: list[Fact], state: str, valid: datetime | None, recorded: datetime | None, now: datetime
) -> list[Fact]:
    if valid is not None:
        return as_of(seen, valid, recorded)
    if recorded is not None:
        return [f for f in seen if any(b.known(recorded) for b in f.beliefs)]
    if state:
        return [f for f in seen if state in ("all", f.state)]
    return [f for f in seen if f.lasts(now) and f.state in HOLD]


def fact(
    store: Store, user: str, number: int, *, conversation: str = "", k: Knowledge | None = None
) -> FactView:  # fmt: skip
    """`k`: what is known, if that is at hand. Raises NotFound, also for another conversation's working fact."""
    k = store.knowledge(user) if k is None else k
    found = fact_of(k, number)
    if found.layer == "working" and found.conversation != conversation:
        raise NotFound(f"{found.name} is a working fact of one conversation: name it with `conversation`")
    return _whole(store, user, k, found, _words(store, user, [found]))


def _whole(store: Store, user: str, k: Knowledge, found: Fact, words: dict[int, str]) -> FactView:
    uses = _uses(store, user, found.id)
    used = {found.id: (uses[0].conversation, uses[0].step)} if uses else {}
    return FactView(
        _row(k, found, words, used), k.version, tuple(_sources(store, user, found)), tuple(map(_belief, found.dated)),
        tuple(_change(c) for c in k.changes.values() if found.id in (*c.facts, *(n for n, _ in c.sources))), uses,
    )  # fmt: skip


def conflicts(store: Store, user: str, *, settled: bool = False) -> tuple[ConflictView, ...]:
    """The open ones, or with `settled` all of them."""
    k = store.knowledge(user)
    wanted = [c for c in k.conflicts.values() if settled or not c.settled]
    return tuple(_conflict(store, user, k, c) for c in wanted)


def _conflict(store: Store, user: str, k: Knowledge, found: Conflict) -> ConflictView:
    sides = [k.facts[n] for n in found.facts]
    words = _words(store, user, sides)
    return ConflictView(
        found.id, tuple(_whole(store, user, k, f, words) for f in sides), found.why, found.rule,
        _name(found.would_win), found.found_at, found.settled, _name(found.winner), found.decided_by, found.change,
    )  # fmt: skip


def changes(store: Store, user: str) -> tuple[ChangeRow, ...]:
    """Who changed what, when and why; the newest first."""
    return tuple(_change(c) for c in reversed(store.knowledge(user).changes.values()))


def ledger(store: Store, user: str, *, conversation: str = "", turn: int = 0) -> tuple[LedgerRow, ...]:
    """What was kept of which turn, what was not, and why; at the end what still waits to be looked at."""
    from memory.longterm import LongTerm

    memory = LongTerm(store, user)
    records = memory.ledger(conversation, turn or None)
    k = memory.knowledge
    ids = {o.text for r in records for o in r.outcomes}
    ids |= {k.facts[o.fact].text for r in records for o in r.outcomes if o.fact in k.facts}
    words = store.words(Scope.own(user), sorted(ids - {0}))
    return tuple(
        LedgerRow(
            "" if r.conversation == OWN else r.conversation, r.turn, r.at, o.verdict, o.reason, _name(o.fact),
            words.get(k.facts[o.fact].text if o.fact in k.facts else o.text, ""), r.extractor,
        )
        for r in records
        for o in r.outcomes
    ) + _waiting(store, user, conversation, turn)  # fmt: skip


def _waiting(store: Store, user: str, conversation: str, turn: int) -> tuple[LedgerRow, ...]:
    live = [s.scope for s in store.streams(user, conversation or None) if s.scope.run == LIVE]
    late = [(scope.conversation, waiting(store, scope)) for scope in live]
    return tuple(
        LedgerRow(name, number, None, WAITS, waits.why, "", "", "")
        for name, waits in late
        for number in waits.turns
        if turn in (0, number)
    )


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────────


def _words(store: Store, user: str, found: Iterable[Fact]) -> dict[int, str]:
    ids = {i for f in found for i in (f.text, f.subject, f.attribute, f.value, f.tags)} - {0}
    return store.words(Scope.own(user), sorted(ids))


def _row(k: Knowledge, f: Fact, words: dict[int, str], used: dict[int, tuple[str, int]]) -> FactRow:
    conflict, at = k.conflict_of(f.id), used.get(f.id)
    ends = [i.valid_to for i in f.believed] or [b.valid_to for b in f.beliefs]
    return FactRow(
        f.name, words.get(f.text, ""), words.get(f.subject, ""), words.get(f.attribute, ""), words.get(f.value, ""),
        f.kind, f.layer, f.conversation, f.state, f.why, _moment(f.since_when),
        _moment(in_zone(max(ends, default=FOREVER), f.since_when)), f.importance,
        tuple(words.get(f.tags, "").split()), f.origin, f.by, len(f.sources), conflict.id if conflict else 0,
        f"{at[0]}, step {at[1]}" if at else "",
    )  # fmt: skip


def _sources(store: Store, user: str, found: Fact) -> Iterable[SourceRow]:
    for s in found.sources:
        own = s.conversation in ("", OWN)
        scope = Scope.own(user) if own else Scope(user, s.conversation)
        said = store.words(scope, [s.text]).get(s.text, "")
        yield SourceRow("" if own else s.conversation, s.turn, s.by, s.said_at, said[s.start : s.end])


def _belief(b: Belief) -> BeliefRow:
    return BeliefRow(_moment(b.valid_from), _moment(b.valid_to), b.recorded_from, _moment(b.recorded_to))


def _change(c: Change) -> ChangeRow:
    old = tuple(_name(n) for n in c.old)
    return ChangeRow(c.number, c.cause, c.decided_by, c.at, c.why, old, _name(c.new), c.undoes, c.undone_by)


def _uses(store: Store, user: str, number: int) -> tuple[UseRow, ...]:
    """Prompts that held it, the newest first, as far as the last placements of each conversation tell."""
    found = []
    for stream in store.streams(user):
        for event in store.newest(stream, FactsPlaced.__name__, LOOK_BACK):
            assert isinstance(event.body, FactsPlaced)
            found += [
                (event.seq, UseRow(stream.scope.conversation, event.step, event.at, p.why))
                for p in event.body.facts
                if p.fact == number and not p.stage
            ]
    return tuple(row for _, row in sorted(found, key=lambda each: -each[0])[:USES])


def _moment(at: datetime) -> datetime | None:
    return None if at in (BEGINNING, FOREVER) else at


def _name(number: int) -> str:
    return f"f{number}" if number else ""


def _day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}" if at else "–"


def _minute(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else "–"


def _quotes(sources: Iterable[SourceRow]) -> str:
    return "; ".join(f"“{s.quote}” ({s.conversation or '–'}, turn {s.turn})" for s in sources)
