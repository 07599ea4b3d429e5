"""Long-term memory of one user: write, query, update. Usable beside any framework; an engine has it as `engine.memory`.

>>> memory = LongTerm.open("store", user="ana")                       # doctest: +SKIP
>>> memory.write("My budget is 8,000 euros.")                         # doctest: +SKIP
>>> memory.query("What is the budget?")                               # doctest: +SKIP
>>> memory.update(3, "9,000 euros")                                   # doctest: +SKIP

Decisions are made by pure functions (extraction.py, revision.py, amend.py) on what is known, and committed only if
nobody else wrote meanwhile; else they are made anew on what is known then. Nothing is lost silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from memory import amend, facts
from memory.amend import Person
from memory.attributes import attribute_of
from memory.errors import BadMessage, NotFound, StaleAppend, UnknownName
from memory.events import Body, Event
from memory.fact_events import Outcome, RememberingSwitched, TurnRemembered
from memory.facts import Belief, Candidate, Fact, Interval, Proposal, Source, digest
from memory.finder import VectorSource
from memory.journal import Clock, utc_now
from memory.knowledge import Change, Conflict, Knowledge, apply
from memory.recollect import FactFinder, Recollection, recollect
from memory.redaction import Redact, clean
from memory.revision import Revision, Writer, revise
from memory.scope import OWN, Scope
from memory.settings import Settings
from memory.show import Shown, small, table, text
from memory.stores.journal import SqlJournal
from memory.stores.sql import Store
from memory.turns import Turn

if TYPE_CHECKING:
    from memory.graph import Graph
    from memory.walk import Walk

RACES = 5  # with other writers, at a commit; then they wait
RULES = "rules"
OFF = "remembering is switched off"

Decide = Callable[[Knowledge], Sequence[Body]]


@dataclass(frozen=True, slots=True)
class Heard:
    """A turn as extraction reads it."""

    conversation: str
    turn: int
    text: int  # id of its words
    words: str
    role: str
    speaker: str
    said_at: datetime
    before: str = ""  # the words that it answers


class LongTerm(Shown):
    def __init__(
        self,
        store: Store,
        user: str,
        conversation: str = "",
        *,
        settings: Settings | None = None,
        clock: Clock = utc_now,
        redactor: Redact | None = None,
        vectors: VectorSource | None = None,
    ) -> None:
        self.store, self.user, self.conversation = store, user, conversation
        self.scope = Scope.own(user)
        self.settings = settings or Settings()
        self.clock, self._redactor, self._vectors = clock, redactor or store.redactor, vectors
        self._journal: SqlJournal | None = None
        self._finder: FactFinder | None = None
        self._graph: Graph | None = None
        self._generation = self._graph_of = -1
        self._owns_store = False

    @classmethod
    def open(
        cls, store: Store | str | Path | None = None, *, user: str, conversation: str = "",
        settings: Settings | None = None, clock: Clock | None = None,
    ) -> LongTerm:  # fmt: skip
        """What is remembered about `user`. With a conversation also its working facts, which no other may read."""
        opened = store if isinstance(store, Store) else Store.open(store)
        memory = cls(opened, user, conversation, settings=settings, clock=clock or opened.clock)
        memory._owns_store = opened is not store
        return memory

    def close(self) -> None:
        if self._owns_store:
            self.store.close()

    # ── what is known ─────────────────────────────────────────────────────────────────────────────────

    @property
    def knowledge(self) -> Knowledge:
        """The fold of everything committed so far, by anybody."""
        if self._journal is None and self.store.stream(self.scope) is None:
            return Knowledge()
        found: Knowledge = self.journal.load()
        return found

    @property
    def journal(self) -> SqlJournal:
        if self._journal is None:
            readonly = self.store.readonly
            self._journal = self.store.journal(self.scope) if readonly else self.store.open_stream(self.scope)
        return self._journal

    @property
    def finder(self) -> FactFinder:
        """Kept as long as no words were taken from the store."""
        generation = self.journal.generation
        if self._finder is None or generation != self._generation:
            self._finder, self._generation = FactFinder(self.words, self._vectors), generation
        return self._finder

    def words(self, number: int) -> str:
        return self.journal.words(number) if number else ""

    def fact(self, number: int | str) -> Fact:
        """Raises NotFound, also for another conversation's working fact."""
        return self._mine(self.knowledge, number)

    def _mine(self, k: Knowledge, number: int | str) -> Fact:
        found = amend.fact_of(k, fact_number(number))
        if found.layer == "working" and found.conversation != self.conversation:
            raise NotFound(f"{found.name} is a working fact of another conversation")
        return found

    def _ours(self, k: Knowledge, numbers: Iterable[int | str]) -> list[int]:
        found = list(dict.fromkeys(self._mine(k, number).id for number in numbers))
        if not found:
            raise BadMessage("say which facts: their numbers, or names such as f3")
        return found

    def text(self, fact: Fact | int) -> str:
        return self.words((fact if isinstance(fact, Fact) else self.fact(fact)).text)

    def quotes(self, fact: Fact | int) -> list[tuple[Source, str]]:
        """Where it was said, with the very words."""
        found = fact if isinstance(fact, Fact) else self.fact(fact)
        return [(s, self._said(s)[s.start : s.end]) for s in found.sources]

    def _said(self, source: Source) -> str:
        scope = self.scope if source.conversation in ("", OWN) else Scope(self.user, source.conversation)
        return self.store.words(scope, [source.text]).get(source.text, "")

    # ── write ─────────────────────────────────────────────────────────────────────────────────────────

    def write(
        self, said: str | Candidate, *, at: datetime | None = None, role: str = "user", speaker: str = ""
    ) -> list[Outcome]:
        """Remember what `said` holds that is worth keeping; a Candidate is taken as it is.

        Returns what became of each, also of what was not kept.
        """
        words = said.text if isinstance(said, Candidate) else said
        if not _text("said", words).strip():
            raise BadMessage("there is nothing to remember in an empty text")
        _moments(at=at)
        kept = self.redacted(words)
        found = None if isinstance(said, str) else [said]

        def decide(k: Knowledge) -> list[Body]:
            heard = Heard(self.conversation or OWN, 0, self.journal.said(kept), kept, role, speaker, at or self.clock())
            return self._ledger(k, heard, found, k.version)

        return _outcomes(self.commit(decide))

    def add(self, candidate: Candidate, source: Source | None, *, by: str) -> Outcome:
        """One candidate that somebody else drew; without a source, or one that says so, it is quarantined."""

        def decide(k: Knowledge) -> list[Body]:
            writer = Writer(self.conversation or OWN, k.version, by, self.clock())
            turn = source.turn if source else 0
            if not k.on:
                made = Revision((), Outcome("none", OFF))
            else:
                near = self.finder.near(k, candidate)
                made = revise(k, candidate, source, writer, self.journal.write, lambda _: near)
            line = TurnRemembered(
                writer.conversation, turn, by, (made.outcome,), k.version, writer.at, whole=False
            )  # the turn is looked at for the rest that it holds all the same
            return [*made.bodies, line]

        return _outcomes(self.commit(decide))[0]

    def learn(self, heard: Iterable[Heard], seen: int) -> list[Outcome]:
        """What turns of a conversation hold; `seen` is the version of the user's stream that they had read.

        A turn that was looked at before is not looked at again.
        """
        turns = list(heard)
        if not turns:
            return []

        def decide(k: Knowledge) -> list[Body]:
            bodies: list[Body] = []
            for each in turns:
                if each.turn > k.learned.get(each.conversation, 0):
                    fresh = self._ledger(k, each, None, seen)
                    k = folded(k, fresh)
                    bodies += fresh
            return bodies

        return _outcomes(self.commit(decide, durable=False, read=False))

    def learn_drawn(
        self, turns: Sequence[Heard], drawn: Mapping[int, Sequence[tuple[Candidate, Proposal | None]]],
        refused: Sequence[tuple[str, str]], *, by: str, seen: int,
    ) -> list[Outcome]:  # fmt: skip
        """What a model drew from turns, by turn; `refused` are rows of its answer that were not taken, and why."""

        def decide(k: Knowledge) -> list[Body]:
            bodies: list[Body] = []
            waiting = [t for t in turns if t.turn > k.learned.get(t.conversation, 0)]
            for each in waiting:
                fresh = self._ledger(k, each, [c for c, _ in drawn.get(each.turn, ())], seen, by,
                                     [p for _, p in drawn.get(each.turn, ())])  # fmt: skip
                k = folded(k, fresh)
                bodies += fresh
            if refused and waiting:
                said = self.journal.said
                outcomes = tuple(Outcome("refused", why, text=said(self.redacted(row))) for why, row in refused)
                last = waiting[-1]
                bodies.append(TurnRemembered(last.conversation, last.turn, by, outcomes, seen, self.clock()))
            return bodies

        return _outcomes(self.commit(decide))

    def note_unread(self, heard: Heard, *, by: str, reason: str, raw: str, seen: int) -> None:
        """A model's answer could not be read: its words stay to be looked at, and rules read the turn."""

        def decide(k: Knowledge) -> list[Body]:
            text_id = self.journal.said(self.redacted(raw)) if raw else 0
            line = (Outcome("failed", self.redacted(reason)),)
            return [TurnRemembered(heard.conversation, heard.turn, by, line, seen, self.clock(), text_id, whole=False)]

        self.commit(decide)

    def begin_anew(self, conversation: str) -> int:
        """Another conversation has this name now: its turns are looked at from the first one. Returns 0."""

        def decide(k: Knowledge) -> list[Body]:
            line = Outcome("none", "the conversation began anew")
            return [TurnRemembered(conversation, 0, RULES, (line,), k.version, self.clock(), anew=True)]

        self.commit(decide, durable=False)
        return 0

    def pass_over(self, conversation: str, turn: int) -> None:
        """Turns up to this one were said while nothing was to be remembered: nobody looks at them later."""

        def decide(k: Knowledge) -> list[Body]:
            if turn <= k.learned.get(conversation, 0):
                return []
            return [TurnRemembered(conversation, turn, RULES, (Outcome("none", OFF),), k.version, self.clock())]

        self.commit(decide)

    def _ledger(
        self, k: Knowledge, heard: Heard, found: Sequence[Candidate] | None, seen: int, by: str = RULES,
        proposals: Sequence[Proposal | None] = (),
    ) -> list[Body]:  # fmt: skip
        """The records of one turn: what it changed, and one line for everything it held."""
        reason, now = "", self.clock()
        if not k.on:
            found, reason = (), OFF
        elif found is None:
            from memory.extraction import candidates  # some two hundred patterns, compiled where they are used

            found, reason = candidates(
                heard.words, role=heard.role, speaker=heard.speaker, said_at=heard.said_at, before=heard.before
            )
        writer = Writer(heard.conversation, seen, by, now)
        bodies: list[Body] = []
        outcomes: list[Outcome] = []
        for candidate, proposal in zip_longest(found, proposals):
            source = Source(
                heard.conversation, heard.turn, heard.text, candidate.start, candidate.end, heard.role, heard.said_at
            )
            near = self.finder.near(k, candidate) if not candidate.attribute else ()
            made = revise(k, candidate, source, writer, self.journal.write, lambda _, near=near: near, proposal)  # type: ignore[misc]
            bodies += made.bodies
            outcomes.append(made.outcome)
            k = folded(k, made.bodies)
        if not outcomes:
            outcomes = [Outcome("none", reason or "no fact")]
        return [*bodies, TurnRemembered(heard.conversation, heard.turn, by, tuple(outcomes), seen, now)]

    def commit(self, decide: Decide, *, durable: bool = True, read: bool = True) -> Sequence[Body]:
        """Append what `decide` makes of what is known; made anew where somebody else wrote meanwhile.

        Without `read` the first try takes what was known last: for whoever looked a moment ago, and cannot fail on it.
        """
        self.journal.durable = durable
        for attempt in range(RACES):
            with suppress(StaleAppend):
                return self._decided(decide, read=read or attempt > 0)
        with self.journal.alone():  # others write all the while: now they wait
            return self._decided(decide, read=True)

    def _decided(self, decide: Decide, *, read: bool) -> Sequence[Body]:
        before: Knowledge = self.journal.load() if read else self.journal.last_known()
        done = False
        try:
            bodies = decide(before)
            self.journal.commit(bodies, 0, folded(before, bodies))
            done = True
            return bodies
        finally:
            if not done:
                self._finder = None  # it may hold facts of this draft

    def _change(self, decide: Decide) -> Change:
        bodies = self.commit(decide)
        return self.knowledge.changes[next(b.change for b in bodies if hasattr(b, "change"))]

    # ── query ─────────────────────────────────────────────────────────────────────────────────────────

    def query(
        self, question: str, k: int = 5, *, valid: datetime | None = None, recorded: datetime | None = None,
        layers: Collection[str] = (),
    ) -> Recollection:  # fmt: skip
        """The facts that answer a question, as of now or of any moment in either time, and why not the others.

        Raises BadMessage for a moment without its offset from UTC, UnknownName for a layer that is none.
        """
        _moments(valid=valid, recorded=recorded)
        layers = (layers,) if isinstance(layers, str) else layers
        for layer in layers:
            if layer not in facts.LAYERS:
                raise UnknownName("layer", layer, facts.LAYERS)
        return recollect(
            self.finder, self.knowledge, _text("question", question), max(0, k), self.settings,
            now=self.clock(), conversation=self.conversation or None, valid=valid, recorded=recorded, layers=layers,
            meaning=True,
        )  # fmt: skip

    @property
    def graph(self) -> Graph:
        """What is known as a graph, with this conversation's pages. Kept as long as no words were taken away."""
        from memory.graph import Graph

        scope = Scope(self.user, self.conversation) if self.conversation else self.scope
        generation = self.store.generation()
        if self._graph is None or generation != self._graph_of:
            marks = lambda number: self.store.words(scope, [number]).get(number, "")  # noqa: E731 - one look-up
            self._graph, self._graph_of = Graph(self.words, self._said, marks), generation
        begun = bool(self.conversation and self.store.streams(self.user, self.conversation))
        state = self.store.state(self.store.main_run(self.user, self.conversation)) if begun else None
        return self._graph.take(self.knowledge, state, self.conversation)

    def walk(
        self, question: str, k: int = 5, *, valid: datetime | None = None, recorded: datetime | None = None,
        hops: int = 2, neighbours: int = 2,
    ) -> Walk:  # fmt: skip
        """The facts that answer a question over several steps, each with the path that led to it."""
        _moments(valid=valid, recorded=recorded)
        _text("question", question)
        from memory.walk import walk

        return walk(
            self.graph, self.finder, question, k, self.settings, now=self.clock(),
            conversation=self.conversation or None, valid=valid, recorded=recorded, hops=hops, neighbours=neighbours,
        )  # fmt: skip

    def facts(self, *, all_states: bool = False) -> list[Fact]:
        """What is remembered now, the newest first; with `all_states` also what is over, retracted or quarantined."""
        k = self.knowledge
        found = k.readable(self.conversation or None)
        if not all_states:
            now = self.clock()
            found = [f for f in found if f.lasts(now)]
        return sorted(found, key=lambda f: -f.id)

    def as_of(self, valid: datetime, recorded: datetime | None = None) -> list[Fact]:
        """What was true at `valid`, as we knew it at `recorded` (None: now)."""
        _moments(valid=valid, recorded=recorded)
        return facts.as_of(self.knowledge.readable(self.conversation or None), valid, recorded)

    def history(self, subject: str, attribute: str, recorded: datetime | None = None) -> list[tuple[Interval, Fact]]:
        """How the truth changed: the values of one attribute in order of when they held.

        >>> memory.history("user", "budget")                          # doctest: +SKIP
        """
        _moments(recorded=recorded)
        key = self._key(subject, attribute)
        return facts.history(self._keyed(key), key, recorded)

    def evolution(self, subject: str, attribute: str) -> list[tuple[Belief, Fact]]:
        """How our knowledge changed: everything ever believed of one attribute, in order of when we believed it."""
        key = self._key(subject, attribute)
        return facts.evolution(self._keyed(key), key)

    def _key(self, subject: str, attribute: str) -> str:
        """By the very name, or else by what it is another word for: 预算 is kept as budget."""
        key = digest(_text("subject", subject), _text("attribute", attribute))
        return key if key in self.knowledge.by_key else digest(subject, attribute_of(attribute))

    def _keyed(self, key: str) -> list[Fact]:
        return [f for f in self.knowledge.readable(self.conversation or None) if f.key == key]

    @property
    def conflicts(self) -> list[Conflict]:
        return self.knowledge.open_conflicts

    def ledger(self, conversation: str = "", turn: int | None = None) -> list[TurnRemembered]:
        """What was stored of which turn, what was not, and why."""
        if self.store.stream(self.scope) is None:
            return []
        records = (e.body for e in self.store.events(self.scope, kinds=[TurnRemembered.__name__]))
        wanted = conversation or self.conversation
        return [
            r for r in records
            if isinstance(r, TurnRemembered)
            and (not wanted or r.conversation == wanted) and (turn is None or r.turn == turn)
        ]  # fmt: skip

    # ── update ────────────────────────────────────────────────────────────────────────────────────────

    def update(
        self, fact: int | str, value: str, *, since: datetime | None = None, seen: int | None = None, by: str = "user"
    ) -> Change:
        """Another value for a fact, 3 or "f3". Without `since` the old one was wrong all along; else it changed then.

        `seen` is the version that whoever decides had looked at: StaleFact if the fact changed since.
        """
        number = fact_number(fact)
        _moments(since=since)
        value = self.redacted(_text("value", value)).strip()
        if not value:
            raise BadMessage(f"a value in place of f{number}'s is needed; to take it back use retract or forget")

        def decide(k: Knowledge) -> list[Body]:
            old = self._mine(k, number)
            was = self.words(old.text)
            old_value = self.words(old.value)
            entry = was.replace(old_value, value) if old_value and old_value in was else value
            text_id, now = self.journal.said(value), self.clock()
            source = Source(self.conversation or OWN, 0, text_id, 0, len(value), "user", now)
            who, write = Person(by, now, seen), self.journal.write
            return amend.correct(k, number, value if old.key else "", entry, who, write, source, since=since)

        return self._change(decide)

    def forget(self, *numbers: int | str, seen: int | None = None, by: str = "user") -> Change:
        """They hold no more from now on, and stay in history. To take the words themselves away: erase."""
        return self._change(lambda k: amend.end(k, self._ours(k, numbers), self._person(by, seen)))

    def retract(
        self, *numbers: int | str, why: str = "it was never so", seen: int | None = None, by: str = "user"
    ) -> Change:
        return self._change(lambda k: amend.retract(k, self._ours(k, numbers), self._person(by, seen), why))

    def release(self, number: int | str, *, seen: int | None = None, by: str = "user") -> Change:
        """Believe what was quarantined, or retracted."""
        return self._change(lambda k: amend.release(k, self._mine(k, number).id, self._person(by, seen)))

    def mark(self, number: int | str, importance: float = 1.0, *, by: str = "user") -> Change:
        return self._change(lambda k: amend.weigh(k, self._mine(k, number).id, self._person(by), importance=importance))

    def settle(
        self, conflict: int, winner: int = 0, *, seen: int | None = None, by: str = "user", why: str = ""
    ) -> Change:
        """One side of a conflict holds; 0: they all do. A model's name begins with `model:`."""
        told = self.redacted(why)
        return self._change(lambda k: amend.settle(k, conflict, self._person(by, seen), winner, told))

    def undo(self, change: int, *, by: str = "user") -> Change:
        """Raises UndoRefused, naming what builds on it."""
        undone = self._change(lambda k: amend.undo(k, change, self._person(by)))
        if (pruned := self.knowledge.changes[change].pruned) is not None:
            from memory.sleep import give_back

            give_back(self, pruned)
        return undone

    def switch(self, *, on: bool, by: str = "user") -> None:
        """Whether anything is remembered from here on."""
        self.commit(lambda k: [RememberingSwitched(on, by, self.clock())] if k.on != on else [])

    def redacted(self, words: str) -> str:
        """As they may be kept: without secrets, fit for the store."""
        return self._redactor(clean(words))[0]

    def _person(self, name: str, seen: int | None = None) -> Person:
        return Person(name, self.clock(), seen)

    # ── showing itself ────────────────────────────────────────────────────────────────────────────────

    def __repr__(self) -> str:
        k = self.knowledge
        conflicts = f", {len(k.open_conflicts)} conflicts" if k.open_conflicts else ""
        return f"<LongTerm of {self.user}: {len(self.facts())} facts hold, {len(k.facts)} in all{conflicts}>"

    def _html(self) -> str:
        rows = [
            [f.name, small(self.text(f), 120), f.layer, f.since_when.date(), f.state, len(f.sources)]
            for f in self.facts()
        ]
        return f"<code>{text(repr(self))}</code>" + table(["fact", "what", "layer", "since", "state", "said"], rows)


def fact_number(name: int | str) -> int:
    """Of a fact that somebody names: 3 or "f3". Raises BadMessage."""
    found = re.fullmatch(r"[fF]?(\d{1,9})", name.strip(), re.ASCII) if isinstance(name, str) else None
    if isinstance(name, int) and not isinstance(name, bool):
        return name
    if found is None:
        raise BadMessage(f"{name!r} names no fact; write 3, or f3")
    return int(found[1])


def _text(what: str, given: object) -> str:
    if not isinstance(given, str):
        raise BadMessage(f"`{what}` is text, and {given!r} is {type(given).__name__}")
    return given


def _moments(**given: object) -> None:
    """A time without its offset is nobody's; what the machine's own zone would make of it is a guess (BR-34)."""
    for name, at in given.items():
        if at is not None and not isinstance(at, datetime):
            raise BadMessage(f"`{name}` is a time with its offset from UTC, and {at!r} is {type(at).__name__}")
        if isinstance(at, datetime) and at.tzinfo is None:
            raise BadMessage(f"`{name}` needs its offset from UTC, and {at.isoformat()} has none")


def heard_of(turns: Iterable[Turn], conversation: str, words: Callable[[int], str]) -> Iterator[Heard]:
    """The turns as extraction reads them: whole messages, each with the one that it answers."""
    before = ""
    for turn in turns:
        if turn.piece:
            continue
        said = words(turn.text)
        yield Heard(conversation, turn.number, turn.text, said, turn.role, turn.speaker, turn.said_at, before)
        before = said


def folded(k: Knowledge, bodies: Iterable[Body]) -> Knowledge:
    """What would be known after these records."""
    for body in bodies:
        k = apply(k, Event(0, k.version + 1, 0, facts.BEGINNING, body))
    return k


def _outcomes(bodies: Iterable[Body]) -> list[Outcome]:
    return [outcome for body in bodies if isinstance(body, TurnRemembered) for outcome in body.outcomes]
