"""How one conversation and the long-term memory of its user meet: facts into its prompts, facts out of its turns.

Before the reply what is known is placed; after the reply, committed by then, the turns that wait are looked at, when
they are due: after so many messages, and at the latest when a page of theirs closes, so with `topic_shift` when the
topic changes. What is left at the end is looked at when the engine is closed. Which turns were is in the user's own
log, so a crash loses none: the next step looks at what was left, or `workbench work` does.
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
from memory.learning import MOST as LEARNED_AT_ONCE
from memory.longterm import OFF, LongTerm, heard_of
from memory.operations import SETTLE
from memory.pager import Pager
from memory.people import asked
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
        self._began = False  # any step, in this engine
        self._placed: dict[int, Fact] = {}  # facts in this step's prompts, as they stood then

    @property
    def on(self) -> bool:
        """Experiments and replays neither read nor write what is remembered."""
        return self.scope.run == LIVE and self.pager.state.settings.remember != "off"

    def place(self, message: str) -> None:
        """What is known goes into this step's prompts."""
        if not self.on:
            return
        self._began = True
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
        if self._waiting_before(turn) and asked(message) is not None:  # it must find what was said before it
            self._catch_up(turn)
        return handle(message, self.memory, next(heard_of([turn], self.scope.conversation, words), None))

    def learn(self) -> None:
        """Look at the turns that nobody looked at yet, if they are due."""
        if not self.on:
            return
        turns = waiting(self.pager, self._looked_at)
        if turns and self._due(turns):
            self._look_at(turns)

    def _due(self, turns: Sequence[Turn]) -> bool:
        state = self.pager.state
        if sum(turn.role == "user" for turn in turns) >= state.settings.remember_turns:
            return True
        page = state.page_of(turns[0].number)
        # What is said while nothing is to be remembered is passed over at once, else it would wait for better times.
        return (page is not None and page.closed) or not self.memory.knowledge.on

    @property
    def waits(self) -> bool:
        """Turns of this engine's steps were not due yet."""
        return self.on and self._began and bool(waiting(self.pager, self._looked_at))

    def finish(self) -> None:
        """Look at all that waits, due or not: nobody knows whether the conversation goes on."""
        if not self.on:
            return
        k = self.memory.knowledge
        self._seen, self._looked_at = k.version, k.learned.get(self.scope.conversation, 0)
        if turns := waiting(self.pager, self._looked_at):
            self._look_at(turns)

    def _look_at(self, turns: Sequence[Turn]) -> None:
        """Where a model is to look at them, queue that."""
        settings = self.pager.state.settings
        try:
            if settings.remember == "llm" and memory_llm(settings, FACTS):
                self._queue(turns)
                self._looked_at = turns[-1].number
            else:
                self._draw(turns)
            self.behind = ""
        except EngineError as error:  # the reply is safe and must be heard; the next step looks at these turns as well
            self.behind = f"{type(error).__name__}: {error}"

    def _draw(self, turns: Sequence[Turn]) -> None:
        """By rules, now."""
        last = turns[-1].number
        with_before = waiting(self.pager, max(0, self._looked_at - 1))  # what the first of them answers
        upto = [turn for turn in with_before if turn.number <= last]
        self.memory.learn(heard_of(upto, self.scope.conversation, self.pager.journal.words), self._seen)
        self._looked_at = last

    def _waiting_before(self, turn: Turn) -> list[Turn]:
        return [t for t in waiting(self.pager, self._looked_at) if t.number < turn.number]

    def _catch_up(self, turn: Turn) -> None:
        """Rules look at what waits from before this turn, which is about to be looked at, also where a model was to."""
        if turns := self._waiting_before(turn):
            self._draw(turns)

    def _queue(self, turns: Sequence[Turn]) -> None:
        """A job for as many as go into one call; whichever comes first looks at those that wait the longest."""
        last = [*turns[LEARNED_AT_ONCE - 1 : -1 : LEARNED_AT_ONCE], turns[-1]]
        lines = [(FACTS, self.scope, str(turn.number), "llm") for turn in last]
        with self.memory.store.write() as connection:
            self.queued = bool(jobs.enqueue_all(connection, lines, self.memory.store.clock())) or self.queued

    def pass_over(self) -> None:
        """What was said while the settings wanted nothing remembered is not looked at later."""
        if self.scope.run == LIVE and self.pager.state.turn:
            self.memory.pass_over(self.scope.conversation, self.pager.state.turn)

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
        self._catch_up(turn)
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
