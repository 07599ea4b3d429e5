"""How one conversation and the long-term memory of its user meet: facts into its prompts, facts out of its turns.

Before the reply what is known is placed; after the reply, committed by then, its turns are looked at. Which turns were
is in the user's own log, so a crash in between loses none: the next step looks at what was left.
"""

from __future__ import annotations

from memory import known, tokens
from memory.answering import handle
from memory.errors import StoreError
from memory.facts import Candidate, Fact, Source
from memory.language import sentences, terms
from memory.longterm import LongTerm, heard_of
from memory.pager import Pager
from memory.scope import LIVE, Scope
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors
from memory.turns import Turn

SUPPORT = 0.5  # of a text's terms that the user's own words must hold, else nobody said so
FORGOTTEN = 5  # facts that the model may end at once


class Remembering:
    def __init__(self, store: Store, scope: Scope, pager: Pager) -> None:
        self.scope, self.pager = scope, pager
        self.memory = LongTerm(
            store, scope.user, scope.conversation, settings=pager.state.settings, clock=pager.clock,
            redactor=pager.redactor, vectors=StoredVectors(store, keep=True),
        )  # fmt: skip
        self.behind = ""  # why turns of the last step still wait to be looked at
        self._seen = 0  # version of the user's stream that this step read
        self._looked_at = 0  # last turn of this conversation that was looked at before it

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
        self._seen, self._looked_at = k.version, k.learned.get(self.scope.conversation, 0)
        if not k.facts:
            return
        words, write = pager.journal.words, pager.journal.write
        placed = known.place(
            pager.state,
            pager.fill,
            k,
            memory.finder,
            words,
            write,
            message,
            self.scope.conversation,
            tokens.count,
            pager.clock(),
        )
        if placed is not None:
            pager.add(placed)

    def answer(self, message: str, turn: Turn) -> str | None:
        """The reply to a message that asks something of the memory itself, which is done; None for any other."""
        if not self.on:
            return None
        words = self.pager.journal.words
        return handle(message, self.memory, next(heard_of([turn], self.scope.conversation, words), None))

    def learn(self) -> None:
        """Look at the turns that nobody looked at yet."""
        if not self.on or self.pager.state.settings.remember != "rules":
            return
        try:
            turns = self._waiting()
            self.memory.learn(heard_of(turns, self.scope.conversation, self.pager.journal.words), self._seen)
            self.behind = ""
        except StoreError as error:  # the reply is safe and must be heard; the next step looks at these turns as well
            self.behind = f"{type(error).__name__}: {error}"

    def _waiting(self) -> list[Turn]:
        after = self._looked_at
        state = self.pager.state
        first = state.page_of(after + 1)
        numbers = range(first.number, len(state.pages) + 1) if first else range(0)
        return [t for n in numbers for t in state.pages[n].turns if t.number > after]

    # ── what the model asks for ───────────────────────────────────────────────────────────────────────

    def keep(self, text: str) -> str:
        """The model wants this remembered: believed if the user's own words of this step say so, else quarantined."""
        turn = self._last_said()
        source = self._support(text, turn) if turn else None
        start, end = (source.start, source.end) if source else (0, 0)
        candidate = Candidate(text, start, end, origin="inference", importance=0.6)
        outcome = self.memory.add(candidate, source, by=self.pager.state.settings.llm)
        return f"{outcome.verdict}: {outcome.reason} (f{outcome.fact})"

    def drop(self, what: str) -> str:
        """The model wants something forgotten: what clearly matches holds no more; nothing is erased."""
        found: tuple[Fact, ...] = self.memory.query(what, FORGOTTEN).found
        if not found:
            return f"nothing is remembered about {what!r}"
        change = self.memory.forget(*(f.id for f in found), by=self.pager.state.settings.llm)
        return f"{', '.join(f.name for f in found)} hold no more (change {change.number}; it can be undone)"

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
        return Source(self.scope.conversation, turn.number, turn.text, start, end, turn.role, turn.said_at)
