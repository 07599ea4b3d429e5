"""A run's log, read once for a diagnosis: its steps with what happened in each, and what is asked of it on demand.

Read only. What the figures mean is checks.py's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sqlalchemy import text

from memory.errors import NotFound
from memory.events import (
    FactsPlaced,
    MemoryWorkFailed,
    MessageReceived,
    MessageReplied,
    ModelCalled,
    ModelFailed,
    PageEvicted,
    PagePagedIn,
    PagesRecalled,
    PagesRetrieved,
    PagesUsed,
    PromptAssembled,
    StepFinished,
)
from memory.exposure import StaleExposure, exposure
from memory.fact_events import TurnRemembered
from memory.knowledge import Knowledge
from memory.reach import words_of
from memory.scope import Scope
from memory.settings import Settings
from memory.state import State
from memory.steps import Step, steps
from memory.stores.jobs import Job, of_run
from memory.stores.sql import Store
from memory.stores.vector_health import VectorHealth, vector_health

KINDS = [kind.__name__ for kind in (
    FactsPlaced, MemoryWorkFailed, MessageReceived, MessageReplied, ModelCalled, ModelFailed, PageEvicted, PagePagedIn,
    PagesRecalled, PagesRetrieved, PagesUsed, PromptAssembled, StepFinished,
)]  # fmt: skip
BYTES = "SELECT coalesce(sum(length(body)), 0) FROM event WHERE stream = :stream AND version <= :version"


@dataclass(frozen=True)
class Observed:
    """What there is to be checked: everything up to `version` of a run."""

    store: Store = field(repr=False)
    scope: Scope
    version: int
    state: State = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)  # those in which something was said

    @property
    def settings(self) -> Settings:
        return self.state.settings

    @cached_property
    def asked(self) -> list[Step]:
        """Steps that had a prompt."""
        return [step for step in self.steps if step.prompts]

    @cached_property
    def turn_of(self) -> Mapping[int, int]:
        """By step the turn of its message."""
        return {step.number: step.turn for step in self.steps}

    @cached_property
    def words(self) -> Mapping[int, str]:
        return words_of(self.store, self.scope)

    @cached_property
    def knowledge(self) -> Knowledge:
        """What is remembered about the user now."""
        return self.store.knowledge(self.scope.user)

    @cached_property
    def stale(self) -> StaleExposure:
        return exposure(self.asked, self.knowledge, self.words.__getitem__, self.scope)

    @cached_property
    def ledger(self) -> list[TurnRemembered]:
        return self.store.ledger(self.scope.user, self.scope.conversation, 1, self.state.turn)

    @cached_property
    def jobs(self) -> list[Job]:
        return of_run(self.store, self.scope)

    @cached_property
    def vectors(self) -> VectorHealth:
        """Of this run and its user's facts; nothing is embedded for it."""
        return vector_health(self.store, self.scope, sample=0)

    @cached_property
    def log_bytes(self) -> int:
        """Of the records of this run, without words."""
        with self.store.read() as connection:
            values: dict[str, Any] = {"stream": self.store.require(self.scope).id, "version": self.version}
            return int(connection.execute(text(BYTES), values).scalar_one())


def observe(store: Store, scope: Scope, turn: int | None = None) -> Observed:
    """Of the steps up to that of `turn` (None: all). Raises NotFound."""
    version = store.version_at(scope, turn) if turn else store.require(scope).version
    state = store.state(scope, version)
    if not state.turn:
        raise NotFound(f"nothing was said in {scope} yet")
    events = store.events(scope, upto=version, kinds=KINDS)
    return Observed(store, scope, version, state, tuple(steps(events)))
