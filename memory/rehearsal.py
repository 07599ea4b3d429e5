"""A step once more, in memory, with something changed: what would the model have read?

The same pager, ranker and placing of facts as the engine's run on the state before the step; nothing is written, and
no model is called. Recalls that the model made are made again as recorded. What it would have asked for besides,
nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory import known, naming, tokens
from memory.finder import Finder, Vector, VectorSource
from memory.journal import MemoryJournal
from memory.knowledge import Knowledge
from memory.pager import Pager, Said
from memory.recalls import Request
from memory.recollect import FactFinder
from memory.state import State
from memory.steps import Step
from memory.turns import Words


@dataclass(frozen=True)
class Changed:
    """What is otherwise than it was."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    knowledge: Knowledge | None = None
    recalls: tuple[Request, ...] = ()  # before those that were recorded
    keywords: tuple[int, tuple[str, ...]] | None = None  # a page's bookmark says this


AS_IT_WAS = Changed()


@dataclass(frozen=True)
class Rehearsed:
    """The step as it went: its records, among them the prompts, and the words that these mention."""

    step: Step
    words: Words = field(repr=False)


class Rehearsal:
    """The message is received once; each `run` is a step from there."""

    def __init__(
        self,
        before: State,
        message: Said,
        words: Words,
        *,
        now: datetime,
        conversation: str = "",
        vectors: VectorSource | None = None,
        knowledge: Knowledge | None = None,
        recalls: Sequence[Request] = (),
        finder: Finder | None = None,
        facts: FactFinder | None = None,
    ) -> None:
        """`words` are those of the conversation and of facts; `knowledge` None: no facts come, as in a replay.

        `finder` of the state before, `facts` of what is known: whoever rehearses many messages there makes them once.
        """
        self.knowledge, self.conversation, self.now = knowledge, conversation, now
        self.vectors = None if vectors is None else Asked(vectors)
        self.facts = facts or FactFinder(words)
        self._recalls = tuple(recalls)
        journal = MemoryJournal(before, words, lambda: now)
        meaning = None if self.vectors is None else self.vectors.question
        pager = Pager(journal, clock=lambda: now, vectors=self.vectors, meaning=meaning, track_use=False)
        pager.receive(message)
        self._received = pager.commit()
        self.state = pager.state
        self.finder = finder or pager.finder
        self._journal = journal

    @property
    def message(self) -> str:
        return self._journal.words(self._text)

    @property
    def _text(self) -> int:
        return self.state.pages_of(self.state.user_turn)[0].turns[-1].text

    def run(self, changed: Changed = AS_IT_WAS) -> Rehearsed:
        """Raises BudgetTooSmall where the changed settings leave no room, UnknownName for names nobody knows."""
        journal = MemoryJournal(self.state, self._journal.words, lambda: self.now, first_id=1 << 41)
        pager = _Trial(journal, self.finder, clock=lambda: self.now, vectors=self.vectors, track_use=False)
        if changed.settings:
            pager.change_settings(pager.state.settings.but(**changed.settings))
        if changed.keywords:
            number, keywords = changed.keywords
            naming.give(pager, pager.state.pages[number], keywords, "user", 2.0)
        pager.plan(self.message, self._text)
        self._place(pager, changed.knowledge or self.knowledge)
        pager.prompt()
        for nth, request in enumerate((*changed.recalls, *self._recalls), 1):
            pager.recall(request, came_before=len(pager.state.guests))
            pager.prompt(nth)
        events = [*self._received, *pager.commit()]
        return Rehearsed(Step(self.state.step, events), journal.words)

    def _place(self, pager: Pager, k: Knowledge | None) -> None:
        if k is None or pager.state.settings.remember == "off":
            return
        words, write = pager.journal.words, pager.journal.write
        placed = known.place(
            pager.state, pager.fill, k, self.facts, words, write, self.message, self.conversation, tokens.count,
            self.now,
        )  # fmt: skip
        if placed is not None:
            pager.add(placed)


class _Trial(Pager):
    """With the index that the rehearsal made once: to make it takes longer than the step."""

    def __init__(self, journal: MemoryJournal, finder: Finder, **rest: Any) -> None:
        super().__init__(journal, **rest)
        self._finder = finder


class Asked:
    """A VectorSource whose vectors of questions are made once."""

    def __init__(self, source: VectorSource) -> None:
        self._source = source
        self._questions: dict[str, Vector | None] = {}

    @property
    def problem(self) -> str:
        return self._source.problem

    def newest(self) -> tuple[str, int]:
        return self._source.newest()

    def question(self, text: str) -> Vector | None:
        if text not in self._questions:
            self._questions[text] = self._source.question(text)
        return self._questions[text]

    def known(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        return self._source.known(texts)
