"""One fact as a reader looks into it: what was said, what was believed when, who changed it, which prompts held it; and
conflicts, each with its sides. Before anything is decided it is told what that would change: acts are tried on what is
known, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from memory import amend
from memory.amend import Person
from memory.errors import EngineError, NotFound
from memory.events import Body, MessageReceived
from memory.facts import BEGINNING, FOREVER, Fact, Source, in_zone
from memory.knowledge import Change, Conflict, Knowledge
from memory.language import sentences
from memory.longterm import folded
from memory.rewind import rewound
from memory.scope import OWN, Scope
from memory.show import Shown, rows, table
from memory.stores.sql import Store
from workbench.views import facts as facts_view
from workbench.views.diff import Piece, words_diff
from workbench.views.facts import BeliefRow, ChangeRow, FactRow, UseRow
from workbench.views.lanes import lane_of
from workbench.views.remembered import Remembered, remembered

QUOTES, VERSIONS, CHANGES, USES = 5, 40, 50, 5  # of one fact, at most
SHOWN = 20  # conflicts, undecided and decided
AROUND = 300  # characters before and after what was said
Decide = Callable[[Knowledge], Sequence[Body]]


@dataclass(frozen=True, slots=True)
class Quote:
    """What was said, within its sentences."""

    conversation: str  # "": in none
    turn: int  # 0: in none
    by: str
    said_at: datetime
    before: str
    words: str  # "": they are gone
    after: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What an act would do to one fact."""

    kind: str  # new, gone, back, ends, goes_on, moved, conflicted, free, important, plain
    fact: int  # 0: one that is not there yet
    text: str
    at: datetime | None = None  # ends: when; back, new, goes_on: since when

    @property
    def name(self) -> str:
        return f"f{self.fact}" if self.fact else ""


@dataclass(frozen=True, slots=True)
class Step:
    """A change of the fact, and what taking it back would do."""

    row: ChangeRow
    undo: tuple[Effect, ...]
    refused: str  # why it cannot be undone; "": it can


@dataclass(frozen=True, slots=True)
class Other:
    """Another value of the same lane."""

    fact: int
    text: str
    state: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Use:
    """A prompt that held it."""

    conversation: str
    step: int
    turn: int  # that opened the step, 0: not to be found
    at: datetime
    why: str  # it was placed: hot, match, conflict


@dataclass(frozen=True)
class Story(Shown):
    row: FactRow
    version: int  # of the user's stream, for whoever decides
    quotes: tuple[Quote, ...]  # the newest first
    said: int  # how often, also where it is not quoted
    beliefs: tuple[BeliefRow, ...]
    steps: tuple[Step, ...]  # the newest first
    uses: tuple[Use, ...]  # the newest first
    others: tuple[Other, ...]  # of its lane, the newest first
    recorded: datetime | None  # as it was believed then; None: now

    @property
    def fact(self) -> int:
        return int(self.row.name[1:])

    @property
    def is_believed(self) -> bool:
        return any(b.recorded_to is None for b in self.beliefs)

    @property
    def is_open(self) -> bool:
        """Believed to go on: what can be ended, or have another value in its place."""
        return any(b.recorded_to is None and b.valid_to is None for b in self.beliefs)

    def __repr__(self) -> str:
        return f"<Story of {self.row.name}: {self.row.text!r}, {self.row.state}, {len(self.steps)} changes>"

    def _html(self) -> str:
        figures = {"state": self.row.state, "layer": self.row.layer, "why": self.row.why or "–"}
        said = [[q.conversation or "–", q.turn or "–", f"{q.before}{q.words}{q.after}"] for q in self.quotes]
        steps = [[s.row.change, s.row.cause, s.row.decided_by, s.row.why, s.refused or "yes"] for s in self.steps]
        return (
            rows(f"{self.row.name}: {self.row.text}", figures)
            + table(["conversation", "turn", "words"], said)
            + table(["change", "cause", "by", "why", "can be undone"], steps)
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Side:
    fact: int
    text: str
    state: str
    layer: str
    since: datetime | None
    quotes: tuple[Quote, ...]
    keeping: tuple[Effect, ...]  # what it would do to choose this one

    @property
    def name(self) -> str:
        return f"f{self.fact}"


@dataclass(frozen=True, slots=True)
class Dispute:
    """Facts that cannot all hold."""

    number: int
    sides: tuple[Side, ...]
    why: str
    rule: str  # that would decide
    would_win: int  # by it
    found_at: datetime
    both: tuple[Effect, ...]  # what it would do to keep all
    settled_at: datetime | None  # None: it is open
    winner: int  # 0 with `settled_at`: all hold
    decided_by: str
    change: int  # that settled it, 0: none that can be named
    refused: str  # why that cannot be undone
    reason: str = ""  # that a model gave for it


@dataclass(frozen=True)
class Inbox(Shown):
    """Conflicts: the undecided ones, the newest first, and those that were decided."""

    open: tuple[Dispute, ...]
    settled: tuple[Dispute, ...]
    more_open: int  # left out
    more_settled: int

    def __repr__(self) -> str:
        return f"<Inbox: {len(self.open) + self.more_open} open, {len(self.settled) + self.more_settled} settled>"

    def _html(self) -> str:
        lines = [
            [d.number, " / ".join(f"{s.name} {s.text}" for s in d.sides), d.rule, d.decided_by or "nobody yet"]
            for d in (*self.open, *self.settled)
        ]
        return f"<code>{repr(self)[1:-1]}</code>" + table(["conflict", "sides", "rule", "decided by"], lines)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


# ── one fact ──────────────────────────────────────────────────────────────────────────────────────────


def story(store: Store, scope: Scope, number: int, recorded: datetime | None = None) -> Story:
    """Raises NotFound, also for another conversation's working fact, and for what was not known at `recorded`."""
    read = remembered(store, scope.user)
    whole = facts_view.fact(store, scope.user, number, conversation=scope.conversation, k=read.k)
    k = rewound(read.k, recorded) if recorded else read.k
    if number not in k.facts:
        raise NotFound(f"f{number} was not known yet at {recorded:%Y-%m-%d %H:%M}")
    fact, mine = k.facts[number], {c.change for c in whole.changes}
    steps = [_step(read, k, k.changes[n], store.clock(), recorded) for n in sorted(mine & set(k.changes))[-CHANGES:]]
    return Story(
        row=replace(whole.row, state=fact.state, why=fact.why, layer=fact.layer, importance=fact.importance),
        version=whole.version,
        quotes=_quotes(store, scope.user, fact),
        said=len(fact.sources),
        beliefs=tuple(
            BeliefRow(_known(b.valid_from), _known(b.valid_to), b.recorded_from, _known(b.recorded_to))
            for b in fact.beliefs
        ),
        steps=tuple(reversed(steps)),
        uses=tuple(_uses(store, scope, [use for use in whole.uses if recorded is None or use.at <= recorded][:USES])),
        others=tuple(_others(read, k, fact, scope)),
        recorded=recorded,
    )


def compared(store: Store, scope: Scope, before: int, after: int) -> tuple[Piece, ...]:
    """The words of one value against another's."""
    read = remembered(store, scope.user)
    return tuple(words_diff(read.text(before), read.text(after)))


def _step(read: Remembered, k: Knowledge, change: Change, now: datetime, recorded: datetime | None) -> Step:
    row = ChangeRow(
        change.number, change.cause, change.decided_by, change.at, change.why, tuple(f"f{n}" for n in change.old),
        f"f{change.new}" if change.new else "", change.undoes, change.undone_by,
    )  # fmt: skip
    if recorded is not None:
        return Step(row, (), "")
    effects, refused = _tried(read, lambda k: amend.undo(k, change.number, Person("user", now)))
    return Step(row, effects, refused)


def _others(read: Remembered, k: Knowledge, fact: Fact, scope: Scope) -> Iterator[Other]:
    own = k.by_key.get(fact.key, ()) if fact.key else ()
    readable = [f for f in own if f.readable_in(scope.conversation or None) and f.state != "erased"]
    beside = [f for f in readable if f.id != fact.id and lane_of(f) == lane_of(fact)]
    for each in sorted(beside, key=lambda f: (f.since, f.id), reverse=True)[:VERSIONS]:
        yield Other(each.id, read.text(each), each.state, _known(each.since_when))


def _uses(store: Store, scope: Scope, found: Sequence[UseRow]) -> Iterator[Use]:
    turns = {name: _turns(store, store.main_run(scope.user, name)) for name in {use.conversation for use in found}}
    for use in found:
        yield Use(use.conversation, use.step, turns[use.conversation].get(use.step, 0), use.at, use.why)


def _turns(store: Store, scope: Scope) -> dict[int, int]:
    """By step the message that opened it."""
    found: dict[int, int] = {}
    for event in store.events(scope, kinds=[MessageReceived.__name__]):
        if isinstance(event.body, MessageReceived):
            found.setdefault(event.step, event.body.turn.number)
    return found


def _quotes(store: Store, user: str, fact: Fact) -> tuple[Quote, ...]:
    newest = sorted(fact.sources, key=lambda s: s.said_at, reverse=True)[:QUOTES]
    return tuple(_quote(store, user, source) for source in newest)


def _quote(store: Store, user: str, s: Source) -> Quote:
    own = s.conversation in ("", OWN)
    scope = Scope.own(user) if own else Scope(user, s.conversation)
    text = store.words(scope, [s.text]).get(s.text, "")
    around = [(a, b) for a, b in sentences(text) if a < max(s.end, s.start + 1) and s.start < b]
    first, last = (min(around[0][0], s.start), max(around[-1][1], s.end)) if around else (s.start, s.end)
    before, after = text[first : s.start], text[s.end : last]
    return Quote(
        "" if own else s.conversation, 0 if own else s.turn, s.by, s.said_at, before[-AROUND:].lstrip(),
        text[s.start : s.end], after[:AROUND].rstrip(),
    )  # fmt: skip


# ── conflicts ─────────────────────────────────────────────────────────────────────────────────────────


def inbox(store: Store, scope: Scope, recorded: datetime | None = None) -> Inbox:
    """Those of which this conversation may see every side. As they stood at `recorded` nothing can be decided."""
    read, now = remembered(store, scope.user), store.clock()
    k = rewound(read.k, recorded) if recorded else read.k
    seen = [c for c in reversed(k.conflicts.values()) if _readable(k, c, scope)]
    open_ones = [c for c in seen if not c.settled]
    settled = sorted((c for c in seen if c.settled), key=lambda c: c.settled_at or c.found_at, reverse=True)

    def told(found: Conflict) -> Dispute:
        return _dispute(store, scope, read, k, found, None if recorded else now)

    return Inbox(
        tuple(map(told, open_ones[:SHOWN])), tuple(map(told, settled[:SHOWN])),
        max(0, len(open_ones) - SHOWN), max(0, len(settled) - SHOWN),
    )  # fmt: skip


def _readable(k: Knowledge, conflict: Conflict, scope: Scope) -> bool:
    sides = [k.facts[n] for n in conflict.facts]
    return all(f.readable_in(scope.conversation or None) and f.state != "erased" for f in sides)


def _dispute(
    store: Store, scope: Scope, read: Remembered, k: Knowledge, found: Conflict, now: datetime | None
) -> Dispute:
    """`now` None: it is looked at from later, and nothing can be done."""

    def choosing(winner: int) -> tuple[Effect, ...]:
        if now is None or found.settled:
            return ()
        return _tried(read, lambda k: amend.settle(k, found.id, Person("user", now), winner))[0]

    change = max((c.number for c in k.changes.values() if found.settled and _ruled(c, found)), default=0)
    refused = ""
    if change and now is not None:
        refused = _tried(read, lambda k: amend.undo(k, change, Person("user", now)))[1]
    return Dispute(
        number=found.id,
        sides=tuple(_side(store, scope, read, k.facts[n], choosing(n)) for n in found.facts),
        why=found.why,
        rule=found.rule,
        would_win=found.would_win,
        found_at=found.found_at,
        both=choosing(0),
        settled_at=found.settled_at if found.settled else None,
        winner=found.winner,
        decided_by=found.decided_by,
        change=change,
        refused=refused,
        reason=k.changes[change].why if change and found.decided_by.startswith("model:") else "",
    )


def _ruled(change: Change, conflict: Conflict) -> bool:
    return not change.undone_by and any(c.id == conflict.id and not c.settled and c.facts for c in change.conflicts)


def _side(store: Store, scope: Scope, read: Remembered, fact: Fact, keeping: tuple[Effect, ...]) -> Side:
    quotes = _quotes(store, scope.user, fact)
    return Side(fact.id, read.text(fact), fact.state, fact.layer, _known(fact.since_when), quotes, keeping)


# ── what an act would do ──────────────────────────────────────────────────────────────────────────────


def retracting(store: Store, scope: Scope, number: int) -> tuple[Effect, ...]:
    who = Person("user", store.clock())
    return _tried(remembered(store, scope.user), lambda k: amend.retract(k, [number], who))[0]


def ending(store: Store, scope: Scope, number: int) -> tuple[Effect, ...]:
    who = Person("user", store.clock())
    return _tried(remembered(store, scope.user), lambda k: amend.end(k, [number], who))[0]


def correcting(
    store: Store, scope: Scope, number: int, value: str, since: datetime | None = None
) -> tuple[Effect, ...]:
    """With another value: `since` None says that the old one was wrong all along."""
    who = Person("user", store.clock())
    return _tried(
        remembered(store, scope.user),
        lambda k: amend.correct(k, number, value, value, who, lambda words: 0, since=since),
        new=value,
    )[0]


def _tried(read: Remembered, decide: Decide, new: str = "") -> tuple[tuple[Effect, ...], str]:
    """What would change, or why it is refused. `new` is the text of a fact that would be written."""
    try:
        after = folded(read.k, decide(read.k))
    except EngineError as error:
        return (), str(error)
    touched = [n for n, f in after.facts.items() if read.k.facts.get(n) is not f]
    return tuple(e for n in touched for e in _effects(read, read.k.facts.get(n), after.facts[n], new)), ""


def _effects(read: Remembered, old: Fact | None, fact: Fact, new: str) -> Iterator[Effect]:
    """What became of one fact."""
    text = read.text(fact) or new
    if old is None:
        yield Effect("new", 0, text, _known(fact.since_when))
        return
    kind, at = _moved(old, fact)
    if kind:
        yield Effect(kind, fact.id, text, at)
    elif old.state != fact.state and "conflicted" in (old.state, fact.state):
        yield Effect("conflicted" if fact.state == "conflicted" else "free", fact.id, text)
    if old.importance != fact.importance:
        yield Effect("important" if fact.importance > old.importance else "plain", fact.id, text)


def _moved(old: Fact, fact: Fact) -> tuple[str, datetime | None]:
    """How the time in which it is believed to hold changed; "" if it did not."""
    before, after = old.believed, fact.believed
    if before == after:
        return "", None
    if not after:
        return "gone", None
    if not before:
        return "back", _known(fact.since_when)
    if old.open != fact.open:
        end = max(i.valid_to for i in after)
        return ("goes_on", _known(fact.since_when)) if fact.open else ("ends", _known(in_zone(end, fact.since_when)))
    return "moved", _known(fact.since_when)


def _known(at: datetime) -> datetime | None:
    return None if at in (BEGINNING, FOREVER) else at
