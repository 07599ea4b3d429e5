"""How a model is called: by which function, with whose key, how often again; and what of it stands in the log.

It does not know what is asked: engine.py calls for replies, work.py for work on the memory.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memory.errors import ContextOverflow, ModelCut, ModelError
from memory.events import ModelCalled, ModelFailed
from memory.models.backoff import Backoff, persistent
from memory.models.chat import Answer, ToolCall, complete
from memory.settings import Settings, by_task
from memory.turns import Call

if TYPE_CHECKING:
    from memory.pager import Pager

Complete = Callable[..., Answer]
TRIES = 4  # at one answer; where the reply waits for memory work, one


@dataclass(frozen=True, slots=True)
class Failure:
    error: ModelError
    attempt: int
    again_in_s: float | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an application asks of one step beside its messages. Nothing of it but `llm` and `system` is stored."""

    llm: str
    system: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()  # its own: their calls go back to it
    tool_choice: Any = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)  # for LiteLLM, over those of the engine
    max_tokens: int | None = None  # of the reply; None: the model's own limit
    timeout_s: float | None = None
    tries: int = TRIES

    @property
    def names(self) -> frozenset[str]:
        """Of its tools."""
        return frozenset(str((tool.get("function") or {}).get("name")) for tool in self.tools)

    @property
    def beside(self) -> str:
        """Its tools as they go with every prompt, to be counted."""
        return json.dumps(self.tools, ensure_ascii=False, default=str) if self.tools else ""


@dataclass(frozen=True, slots=True)
class Caller:
    """`options` go to the chat model and are never stored; `memory_options` to the model that `memory_llm` names."""

    chat: Complete = complete
    options: Mapping[str, Any] = field(default_factory=dict)
    memory_options: Mapping[str, Any] | None = None
    timeout_s: float = 60.0
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def tried(
        self, call: Callable[[], Answer], failed: Callable[[Failure], None], retry_s: float, tries: int = TRIES
    ) -> Answer:
        """The answer at the latest try; each failure is told before anybody waits. Raises the last ModelError."""
        told = lambda *failure: failed(Failure(*failure))  # noqa: E731 - shorter than its types
        return persistent(call, Backoff(retry_s, tries), told, sleep=self.sleep, chance=self.chance)

    def options_of(self, llm: str, settings: Settings) -> Mapping[str, Any]:
        """A key goes to the provider that it was given for, and to no other."""
        if llm == settings.llm:
            return self.options
        named = by_task(settings.memory_llm)
        theirs = {provider_of(named[""])} if "" in named else {provider_of(name) for name in named.values()}
        if self.memory_options is not None and theirs <= {provider_of(llm)}:  # of several, nobody says whose they are
            return self.memory_options
        provider = provider_of(llm)
        return self.options if provider and provider == provider_of(settings.llm) else {}


def provider_of(llm: str) -> str:
    """The part of its name before the first "/"; "" for a name without one."""
    return llm.partition("/")[0] if "/" in llm else ""


def called(pager: Pager, answer: Answer, round_: int, *, task: str = "reply", protocol: str = "") -> ModelCalled:
    """The record of an answer, its words written down."""
    said = pager.said
    return ModelCalled(
        round=round_,
        llm=answer.llm,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        cost_usd=answer.cost_usd,
        ms=answer.ms,
        finish=answer.finish_reason,
        reply=said(answer.text) if answer.text else 0,
        calls=tuple(Call(c.id, c.name, said(c.raw or arguments_of(c))) for c in answer.calls),
        task=task,
        protocol=protocol,
    )


def note_failure(pager: Pager, round_: int, llm: str, failure: Failure, task: str = "reply") -> None:
    """Record it, and commit: whoever waits for the next try is no reason that nobody sees it."""
    error = failure.error
    partial = error.partial if isinstance(error, ModelCut) else ""
    asked, limit = (error.prompt_tokens, error.limit_tokens) if isinstance(error, ContextOverflow) else (0, 0)
    pager.add(
        ModelFailed(
            round=round_,
            llm=llm,
            error=type(error).__name__,
            message=pager.without_secrets(str(error)),  # some providers repeat the key
            partial=pager.said(partial) if partial else 0,
            task=task,
            attempt=failure.attempt,
            again_in_s=None if failure.again_in_s is None else round(failure.again_in_s, 3),
            prompt_tokens=asked,
            limit_tokens=limit,
        )
    )
    pager.commit()


def arguments_of(call: ToolCall) -> str:
    """As the model reads them again: always an object, for some providers refuse anything else."""
    return json.dumps(call.arguments, ensure_ascii=False)
