"""Answers and errors in LiteLLM's shapes, for an application that was written for it.

The counts are those of all calls that an answer took; an error is of the class that LiteLLM would have raised, so
that the application's `except` holds. Nothing is called here.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from memory.errors import (
    BadMessage,
    BadSetting,
    BudgetTooSmall,
    ContextOverflow,
    ConversationBusy,
    EngineError,
    ModelOverloaded,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    ToolsRefused,
    UnknownModel,
    UnknownName,
)
from memory.models.chat import ToolCall, litellm_ready


@dataclass(frozen=True, slots=True)
class Given:
    """What an answer came to."""

    llm: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    memory: Mapping[str, Any] = field(default_factory=dict)  # where it stands: user, conversation, run, step, turn

    @property
    def name(self) -> str:
        """Of the model, as answers of LiteLLM name it."""
        return self.llm.partition("/")[2] or self.llm

    @property
    def reason(self) -> str:
        return "tool_calls" if self.calls else self.finish

    @property
    def hidden(self) -> dict[str, Any]:
        return {"response_cost": self.cost_usd, "custom_llm_provider": self.provider, "memory": dict(self.memory)}

    @property
    def provider(self) -> str:
        return self.llm.partition("/")[0] if "/" in self.llm else ""


def new_id() -> str:
    return f"chatcmpl-{uuid.uuid4()}"


def response(given: Given) -> Any:
    """A `litellm.ModelResponse`; `_hidden_params` hold the cost of all calls, and where it stands in the store."""
    litellm = litellm_ready()
    calls = [_call(call) for call in given.calls] or None
    message = litellm.Message(content=given.text or (None if calls else ""), role="assistant", tool_calls=calls)
    choice = litellm.Choices(finish_reason=given.reason, index=0, message=message)
    made = litellm.ModelResponse(id=new_id(), model=given.name, choices=[choice], usage=_usage(given))
    made._hidden_params = {**(getattr(made, "_hidden_params", None) or {}), **given.hidden}
    return made


def piece(text: str, llm: str, answer: str, *, first: bool = False) -> Any:
    """A chunk of a stream with so much of the text; `answer` is the id of the whole."""
    return _chunk(Given(llm, ""), answer, {"content": text, **({"role": "assistant"} if first else {})})


def ending(given: Given, answer: str, *, usage: bool) -> Iterator[Any]:
    """The chunks after the text: calls of tools, how it ended, and, where that is asked for, what it used."""
    if given.calls:
        calls = [{**_call(call), "index": nth} for nth, call in enumerate(given.calls)]
        yield _chunk(given, answer, {"tool_calls": calls})
    yield _chunk(given, answer, {}, ends=given.reason)
    if usage:
        last = _chunk(given, answer, {})
        last.choices = []
        last.usage = _usage(given)
        yield last


def _chunk(given: Given, answer: str, delta: Mapping[str, Any], ends: str | None = None) -> Any:
    from litellm.types.utils import Delta, ModelResponseStream, StreamingChoices

    choice = StreamingChoices(finish_reason=ends, index=0, delta=Delta(**delta))
    made = ModelResponseStream(id=answer, model=given.name, choices=[choice])
    made._hidden_params = {**(getattr(made, "_hidden_params", None) or {}), **given.hidden}
    return made


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw or "{}"}}


def _usage(given: Given) -> Any:
    return litellm_ready().Usage(
        prompt_tokens=given.prompt_tokens,
        completion_tokens=given.completion_tokens,
        total_tokens=given.prompt_tokens + given.completion_tokens,
    )


# ── errors ────────────────────────────────────────────────────────────────────────────────────────────

# By ours, the first that fits; LiteLLM's own class goes first but for a prompt that is too long, which it often
# does not tell from any other refused call.
_CLASSES: Sequence[tuple[type[EngineError], str]] = (
    (ToolsRefused, "BadRequestError"),
    (ContextOverflow, "ContextWindowExceededError"),
    (BudgetTooSmall, "ContextWindowExceededError"),
    (ModelOverloaded, "RateLimitError"),
    (ConversationBusy, "RateLimitError"),
    (ModelRefused, "AuthenticationError"),
    (ModelTimeout, "Timeout"),
    (ModelUnreachable, "APIConnectionError"),
    (UnknownModel, "BadRequestError"),
    (BadMessage, "BadRequestError"),
    (BadSetting, "BadRequestError"),
    (UnknownName, "BadRequestError"),
    (EngineError, "InternalServerError"),
)


def as_litellm(error: EngineError, llm: str) -> Exception:
    """The exception that LiteLLM raises for this kind of trouble, with our words."""
    known = litellm_ready().exceptions
    ours = getattr(known, next(name for kind, name in _CLASSES if isinstance(error, kind)))
    theirs = None if isinstance(error, ContextOverflow) else getattr(known, getattr(error, "theirs", "") or "-", None)
    where = {"message": str(error), "model": llm, "llm_provider": llm.partition("/")[0] if "/" in llm else ""}
    for kind in filter(None, (theirs, ours)):
        made = partial(kind, **where)
        if "status_code" in inspect.signature(kind).parameters and kind is known.APIError:
            made = partial(made, status_code=getattr(error, "status", 0) or 500)
        try:
            inspect.signature(kind).bind(**made.keywords)
        except TypeError:  # one that is made of something else than words
            continue
        return made()  # type: ignore[no-any-return]
    return error
