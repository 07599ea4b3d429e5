"""How one conversation and the long-term memory of its user meet: facts into its prompts, facts out of its turns.

Before the reply what is known is placed; after the reply, committed by then, its turns are looked at. Which turns were
is in the user's own log, so a crash in between loses none: the next step looks at what was left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory import amend, known, tokens
from memory.answering import handle
from memory.errors import EngineError, NotFound, StaleFact
from memory.fact_events import Outcome
from memory.facts import Candidate, Fact, Source
from memory.knowledge import Knowledge
from memory.language import sentences, terms
from memory.longterm import OFF, LongTerm, heard_of
from memory.operations import SETTLE
from memory.pager import Pager
from memory.polarity import flips
from memory.scope import LIVE, Scope
from memory.stores import jobs
from memory.stores.jobs import FACTS
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors
from memory.tokens import clip
from memory.turns import Turn
from memory.work import memory_llm

SUPPORT = 0.5  # of a text's terms that the user's own words must hold, else nobody said so
FORGOTTEN = 5  # facts that the model may end at once
REASON_TOKENS = 60  # of the reason why it decides a conflict


class Remembering:
    def __init__(self, store: Store, scope: Scope, pager: Pager) -> None:
        self.scope, self.pager = scope, pager
        self.memory = LongTerm(
            store, scope.user, scope.conversation, settings=pager.state.settings, clock=pager.clock,
            redactor=pager.redactor, vectors=StoredVectors(store, keep=True),
        )  # fmt: skip
        self.queued = False  # a model is to look at turns, since the engine last looked
        self.behind = ""  # why turns of the last step still wait to be looked at
        self._seen = 0  # version of the user's stream that this step read
        self._looked_at = 0  # last turn of this conversation that was looked at before it
        self._placed: dict[int, Fact] = {}  # facts in this step's prompts, as they stood then

    @property
    def on(self) -> bool:
        """Experiments and replays neither read nor write what is remembered."""
        return self.scope.run == LIVE and self.pager.state.settings.remember != "off"

    def place(self, message: str) -> None:
        """What is known goes into this step's prompts."""
        if not self.on:
            return
        memory, pager = self.memory, self.pager
        memory.settings = pager.state.settings
        k = memory.knowledge
        self._seen, self._looked_at, self._placed = k.version, k.learned.get(self.scope.conversation, 0), {}
        if self._looked_at >= pager.state.user_turn:  # which nobody can have looked at yet
            self._looked_at = memory.begin_anew(self.scope.conversation)
        self.put(k, message, settled_by=pager.offer.protocol if SETTLE in pager.offer.operations else "")

    def put(self, k: Knowledge, message: str, settled_by: str = "", *, here: bool = True) -> None:
        """What of this is about the message goes into its prompts; `settled_by`: how the model may settle conflicts.

        Not what turns in the window say, unless the turns that facts name are not those `here`.
        """
        if not k.facts:
            return
        memory, pager = self.memory, self.pager
        words, write = pager.journal.words, pager.journal.write
        placed = known.place(
            pager.state,
            pager.fill,
            k,
            memory.finder,
            words,
            write,
            message,
            self.scope.conversation if here else "",
            tokens.count,
            pager.clock(),
            settled_by=settled_by,
        )
        if placed is not None:
            pager.add(placed)
            self._placed = {each.fact: k.facts[each.fact] for each in placed.facts if not each.stage}

    def stale(self) -> tuple[int, ...]:
        """Facts in this step's prompts that somebody changed since they were placed."""
        if not self._placed:
            return ()
        now = self.memory.knowledge.facts
        return tuple(n for n, then in self._placed.items() if _standing(now[n]) != _standing(then))

    def answer(self, message: str, turn: Turn) -> str | None:
        """The reply to a message that asks something of the memory itself, which is done; None for any other."""
        if not self.on:
            return None
        words = self.pager.journal.words
        return handle(message, self.memory, next(heard_of([turn], self.scope.conversation, words), None))

    def learn(self) -> None:
        """Look at the turns that nobody looked at yet; where a model is to look at them, queue that."""
        if not self.on:
            return
        settings = self.pager.state.settings
        turns = waiting(self.pager, self._looked_at)
        if sum(turn.role == "user" for turn in turns) < settings.remember_turns:
            return
        try:
            if settings.remember == "llm" and memory_llm(settings, FACTS):
                self._queue(turns[-1])
                return
            with_before = waiting(self.pager, max(0, self._looked_at - 1))  # what the first of them answers
            self.memory.learn(heard_of(with_before, self.scope.conversation, self.pager.journal.words), self._seen)
            self.behind = ""
        except EngineError as error:  # the reply is safe and must be heard; the next step looks at these turns as well
            self.behind = f"{type(error).__name__}: {error}"

    def _queue(self, last: Turn) -> None:
        """One job a turn; whichever comes first looks at all that wait."""
        with self.memory.store.write() as connection:
            line = (FACTS, self.scope, str(last.number), "llm")
            self.queued = bool(jobs.enqueue_all(connection, [line], self.memory.store.clock())) or self.queued

    # ── what the model asks for ───────────────────────────────────────────────────────────────────────

    def keep(self, text: str) -> str:
        """The model wants this remembered: believed if the user's own words of this step say so, else quarantined.

        Where a rule reads these words, what it makes of them is kept: it can be replaced later, a text cannot.
        """
        turn = self._last_said()
        source = self._support(text, turn) if turn else None
        if turn and source and (read := self._read(turn, source)):
            return _told(read)
        start, end = (source.start, source.end) if source else (0, 0)
        candidate = Candidate(text, start, end, origin="inference", importance=0.6)
        return _told([self.memory.add(candidate, source, by=self.pager.state.settings.llm)])

    def _read(self, turn: Turn, source: Source) -> list[Outcome]:
        """What rules draw from this part of the turn, which is then looked at."""
        if self.pager.state.settings.remember != "rules":
            return []
        state = self.pager.state
        turns = [t for n in (turn.number - 1, turn.number) for p in state.pages_of(n) for t in p.turns if t.number == n]
        *_, heard = heard_of(turns, self.scope.conversation, self.pager.journal.words)
        outcomes = self.memory.learn([heard], self._seen)
        return [o for o in outcomes if o.fact and o.start < source.end and source.start < o.end]

    def drop(self, what: str) -> str:
        """The model wants something forgotten: what clearly matches holds no more; nothing is erased."""
        found: tuple[Fact, ...] = self.memory.query(what, FORGOTTEN).found
        if not found:
            return f"nothing is remembered about {what!r}"
        change = self.memory.forget(*(f.id for f in found), by=self._model)
        self._no_news(f.id for f in found)
        return f"{', '.join(f.name for f in found)} hold no more (change {change.number}; it can be undone)"

    def rule(self, conflict: int, winner: int, why: str) -> str:
        """The model's word on what its prompt says is undecided. Raises NotFound and StaleFact."""
        k = self.memory.knowledge
        found = amend.conflict_of(k, conflict)
        if not k.on:
            raise StaleFact(OFF)
        if not found.settled and all(each.conflict != conflict for each in self.pager.state.undecided):
            raise NotFound(f"conflict {conflict} does not stand in this prompt as one that you may settle")
        told = clip(" ".join(why.split()), REASON_TOKENS)
        change = self.memory.settle(conflict, winner, seen=self._seen, by=self._model, why=told)
        self._no_news(found.facts)
        held = f"f{winner} holds" if winner else "they all hold"
        return f"{found.name} is settled: {held} (change {change.number}; it can be undone)"

    @property
    def _model(self) -> str:
        """As the decider of a change."""
        return f"model:{self.pager.state.settings.llm}"

    def _no_news(self, changed: Iterable[int]) -> None:
        """What the model itself changed is not news to it."""
        now = self.memory.knowledge.facts
        self._placed |= {n: now[n] for n in changed if n in self._placed}

    def _last_said(self) -> Turn | None:
        state = self.pager.state
        return next((t for p in state.pages_of(state.user_turn) for t in p.turns if t.number == state.user_turn), None)

    def _support(self, text: str, turn: Turn) -> Source | None:
        said = self.pager.journal.words(turn.text)
        wanted = set(terms(text))
        spans = [(len(wanted & set(terms(said[a:b]))), a, b) for a, b in sentences(said)]
        if not wanted or not spans or max(spans)[0] < SUPPORT * len(wanted):
            return None
        _, start, end = max(spans)
        if flips(text, said[start:end]):
            return None
        return Source(self.scope.conversation, turn.number, turn.text, start, end, turn.role, turn.said_at)


def _standing(fact: Fact) -> tuple[object, ...]:
    """What of it a reply may rest on; one more source changes nothing."""
    return fact.beliefs, fact.state


def _told(outcomes: Sequence[Outcome]) -> str:
    return "; ".join(f"{o.verdict}: {o.reason}" + (f" (f{o.fact})" if o.fact else "") for o in outcomes)


def waiting(pager: Pager, after: int) -> list[Turn]:
    """The turns of the conversation after this one."""
    state = pager.state
    first = state.page_of(after + 1)
    numbers = range(first.number, len(state.pages) + 1) if first else range(0)
    return [t for n in numbers for t in state.pages[n].turns if t.number > after]
