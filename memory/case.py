"""A case to be diagnosed: words that were expected, a step, and everything that was known then. Read from a store.

The step is one of the log, with its prompts; or, for a question that nobody put there, one that is rehearsed as of a
turn. Who may have carried the words there, and where each fell, is carriers.py's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from memory.errors import NotFound
from memory.events import Event, PagesRecalled
from memory.expected import Expected
from memory.fact_events import TurnRemembered
from memory.finder import Finder, VectorSource
from memory.knowledge import Knowledge
from memory.pager import Said
from memory.reach import words_of
from memory.recalls import Request
from memory.recollect import FactFinder
from memory.rehearsal import Rehearsal
from memory.scope import LIVE, Scope
from memory.state import State
from memory.steps import Step
from memory.stores.sql import Store

BY_TURNS = ("recorded", "label")  # recalls that a recording brings: wanted are turns, whatever the pages


@dataclass(frozen=True)
class Case:
    store: Store = field(repr=False)
    scope: Scope
    expected: Expected
    question: str  # the message of the step
    turn: int  # of the message; for a rehearsed step the last one before it
    recorded: Step | None = field(repr=False)  # None: the step is rehearsed
    before: State = field(repr=False)  # the message
    knowledge: Knowledge = field(repr=False)  # as the step read it, or would have
    now: datetime
    texts: Mapping[int, str] = field(repr=False)
    vectors: VectorSource | None = field(repr=False)
    recalls: tuple[Request, ...] = ()
    finder: Finder | None = field(default=None, repr=False)  # of `before`, where many cases share it
    facts: FactFinder | None = field(default=None, repr=False)  # of `knowledge`, likewise

    def words(self, text: int) -> str:
        return self.texts[text]

    @property
    def off(self) -> str:
        """Why no facts come into the prompts of this run; "" if they do."""
        s = self.before.settings
        if self.scope.run != LIVE:
            return f"the run {self.scope.run!r} is no live one: experiments and replays read no facts"
        if s.remember == "off":
            return "remember is off"
        return "" if s.facts_tokens else "facts_tokens is 0: no facts come into prompts"

    @cached_property
    def rehearsal(self) -> Rehearsal:
        message = None if self.recorded is None else self.recorded.message
        text_id = message.text if message else 0
        said = Said(self.question, said_at=self.now, text_id=text_id)
        return Rehearsal(
            self.before, said, self.words, now=self.now, conversation=self.scope.conversation, vectors=self.vectors,
            knowledge=self.knowledge if self.scope.run == LIVE else None, recalls=self.recalls,
            finder=self.finder, facts=self.facts,
        )  # fmt: skip

    @cached_property
    def step(self) -> Step:
        return self.recorded or self.rehearsal.run().step


def open_case(
    store: Store, scope: Scope, expected: Expected, question: str, turn: int | None, vectors: VectorSource | None
) -> Case:
    """Raises NotFound for a turn that is not there, and where nothing was said yet."""
    version = store.version_at(scope, turn) if turn else store.require(scope).version
    after = store.state(scope, version)
    if not after.turn:
        raise NotFound(f"nothing was said in {scope} yet")
    events = events_of_step(store, scope, version, after.step)
    step, texts = Step(after.step, events), words_of(store, scope)
    own = texts[step.message.text] if step.message else ""
    asked = question.strip() or own or expected.words
    past = turn is not None and after.turn < store.require(scope).turns
    k = _knowledge(store, scope, step) if past else store.knowledge(scope.user)
    now = events[-1].at if past else store.clock()
    case = Case(store, scope, expected, asked, after.turn, None, after, k, now, texts, vectors)
    if asked != own or not step.prompts:
        return case
    return replace(
        case, turn=step.turn, recorded=step, before=store.state(scope, events[0].version - 1), now=step.at,
        knowledge=_knowledge(store, scope, step), recalls=_recalls(step, texts),
    )  # fmt: skip


def events_of_step(store: Store, scope: Scope, version: int, step: int) -> list[Event]:
    """Its records up to and with `version`, its last one."""
    width = 256
    while True:
        found = store.events(scope, after=max(0, version - width), upto=version)
        if version <= width or found[0].step < step:
            return [event for event in found if event.step == step]
        width *= 8


def _knowledge(store: Store, scope: Scope, step: Step) -> Knowledge:
    """What the step read of the user's memory; where it read nothing, what was known of the turns before it."""
    if step.placed is not None:
        return store.knowledge(scope.user, step.placed.user_version)
    own = Scope.own(scope.user)
    if store.stream(own) is None:
        return Knowledge()
    version = 0
    for event in store.events(own, kinds=[TurnRemembered.__name__]):
        body = event.body
        mine = isinstance(body, TurnRemembered) and body.conversation == scope.conversation
        if isinstance(body, TurnRemembered) and (body.turn < step.turn if mine else event.at <= step.at):
            version = event.version
    return store.knowledge(scope.user, version)


def _recalls(step: Step, texts: Mapping[int, str]) -> tuple[Request, ...]:
    return tuple(
        Request(
            pages=() if b.by in BY_TURNS else b.asked, question=texts.get(b.question, ""),
            turns=b.turns if b.by in BY_TURNS else (), call=b.call, by=b.by,
        )
        for b in step.all(PagesRecalled)
    )  # fmt: skip
