"""What an application says to models through LiteLLM, as frozen values: one for each call that ended.

LiteLLM tells a callback when a call begins and how it ends; here that becomes a `CallMade` without a key, a header or
an address in it. Nothing is decided and nothing is written here (sessions/recorded.py does that). An event that cannot
be read is told to the ear as lost: LiteLLM would only log it.
"""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import uuid4

from memory.models.chat import OWN_CALLS, litellm_imported, litellm_ready, provider_errors
from memory.models.chat import _said as words_of_provider
from memory.models.offline import text_of
from memory.tokens import count

CHAT_CALLS = frozenset(("completion", "acompletion"))
NAMES = ("conversation_id", "session_id", "thread_id")  # in `metadata`, the first one that is there counts
USERS = ("user_id", "trace_user_id")
FAILED = "failed"  # the kind of rehearsed call that its provider fails
SELF_TEST = "workbench_self_test"
WITHHELD = "redacted-by-litellm"
MOST_BEGUN = 2_000  # calls under way whose messages are kept
UNREADABLE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class Sent:
    """One message as the application sent it; `content` is text or parts, as they were."""

    role: str
    content: Any
    calls: tuple[tuple[str, str, str], ...] = ()  # id, name, arguments as JSON text
    answers: str = ""  # id of the call whose result this is
    name: str = ""


@dataclass(frozen=True, slots=True)
class CallMade:
    """One call to a model that ended, well or not."""

    id: str
    llm: str
    sent: tuple[Sent, ...]
    reply: Sent | None  # None: it failed before anything came
    began_at: datetime
    ended_at: datetime
    prompt_tokens: int = 0  # as the provider counts; our own count where it does not say
    completion_tokens: int = 0
    cost_usd: float | None = None  # None: the price is not known
    first_ms: float = 0.0  # until the first piece of a stream; 0: it was no stream
    finish: str = ""
    error: str = ""  # class of what went wrong
    message: str = ""  # and its words, without keys
    conversation: str = ""  # as the application names it; "": it does not
    user: str = ""
    note: str = ""

    @property
    def ms(self) -> float:
        return round((self.ended_at - self.began_at).total_seconds() * 1000, 1)


class Ear:
    """What hears the calls: say what to do with each. All of it must return at once, and raise nothing."""

    def began(self, call_id: str) -> None:
        """A call has begun; its end comes later, or never, where nobody read its stream to the end."""

    def made(self, call: CallMade) -> None:
        """A call ended."""

    def passed_over(self, call_id: str, why: str) -> None:
        """A call that is no conversation, or an engine's own."""

    def lost(self, call_id: str, why: str) -> None:
        """A call whose event could not be read."""

    def tested(self, token: str) -> None:
        """The event of a self-test arrived."""


@cache
def callback_class(ear: type[Ear]) -> type[Ear]:
    """This ear as a class whose objects `litellm.callbacks` takes."""
    litellm_imported()  # what follows imports it whole, and would ask the network for prices
    from litellm.integrations.custom_logger import CustomLogger

    return type(ear.__name__, (ear, _Hooks, CustomLogger), {"__doc__": ear.__doc__, "__module__": ear.__module__})


class _Hooks:
    """LiteLLM calls these by keyword; under other names the events vanish."""

    began: Callable[[str], None]
    made: Callable[[CallMade], None]
    passed_over: Callable[[str, str], None]
    lost: Callable[[str, str], None]
    tested: Callable[[str], None]

    def __init__(self) -> None:
        super().__init__()
        self._sent: OrderedDict[str, tuple[Sent, ...]] = OrderedDict()

    def log_pre_api_call(self, model: str, messages: Any, kwargs: Mapping[str, Any]) -> None:
        """Still on the caller's thread: its list of messages may be another one when the end is told."""
        call_id = str(kwargs.get("litellm_call_id") or "")
        if why := _why_not(kwargs):
            if call_id:
                self.passed_over(call_id, why)
            return
        try:
            self._sent[call_id] = tuple(map(sent_of, messages or ()))
        except UNREADABLE as error:
            self.lost(call_id, _told(error))
            return
        while len(self._sent) > MOST_BEGUN:
            self._sent.popitem(last=False)
        if not _test_of(kwargs):
            self.began(call_id)

    def log_success_event(self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        self._end_heard(kwargs, response_obj, start_time, end_time)

    def log_failure_event(self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        self._end_heard(kwargs, None, start_time, end_time)

    async def async_log_success_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self._end_heard(kwargs, response_obj, start_time, end_time)

    async def async_log_failure_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self._end_heard(kwargs, None, start_time, end_time)

    def _end_heard(self, kwargs: Mapping[str, Any], response: Any, start: Any, end: Any) -> None:
        call_id = str(kwargs.get("litellm_call_id") or uuid4())
        sent = self._sent.pop(call_id, None)
        if _why_not(kwargs):
            return  # told when it began
        try:
            if token := _test_of(kwargs):
                self.tested(token)
                return
            made = _made(call_id, kwargs, response, start, end, sent)
        except UNREADABLE as error:
            self.lost(call_id, _told(error))
            return
        if any(s.content == WITHHELD for s in (*made.sent, *([made.reply] if made.reply else []))):
            self.lost(call_id, "litellm.turn_off_message_logging withholds the words")
        else:
            self.made(made)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _why_not(kwargs: Mapping[str, Any]) -> str:
    """Why a call is not recorded; "" if it is."""
    kind = str(kwargs.get("call_type") or "")
    if str(kwargs.get("litellm_call_id") or "").startswith(OWN_CALLS):
        return "an engine's own call, which is in its log"
    return "" if kind in CHAT_CALLS else f"no chat: {kind or 'unknown'}"


def _metadata(kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    parameters = kwargs.get("litellm_params") or {}
    found = parameters.get("metadata") or parameters.get("litellm_metadata")
    return found if isinstance(found, Mapping) else {}


def _test_of(kwargs: Mapping[str, Any]) -> str:
    return str(_metadata(kwargs).get(SELF_TEST) or "")


def _first(named: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((str(named[name]) for name in names if named.get(name)), "")


def _made(
    call_id: str, kwargs: Mapping[str, Any], response: Any, start: Any, end: Any, sent: tuple[Sent, ...] | None
) -> CallMade:
    named, error = _metadata(kwargs), kwargs.get("exception")
    if sent is None:  # it began before we listened
        sent = tuple(map(sent_of, kwargs.get("messages") or ()))
    choices = list(getattr(response, "choices", None) or ())
    reply = sent_of(choices[0].message) if choices else None
    first = kwargs.get("completion_start_time") if kwargs.get("stream") else None
    prompt, completion = _used(response, sent, reply)
    began, ended = _aware(start), _aware(end)
    return CallMade(
        id=call_id,
        llm=_llm(kwargs),
        sent=sent,
        reply=reply,
        began_at=began,
        ended_at=ended,
        prompt_tokens=prompt if reply else 0,
        completion_tokens=completion,
        cost_usd=_cost(kwargs) if reply else None,
        first_ms=round((_aware(first) - began).total_seconds() * 1000, 1) if first else 0.0,
        finish=str(choices[0].finish_reason or "") if choices else "",
        error="" if reply else type(error).__name__ if error else "NoAnswer",
        message="" if reply else _why_failed(kwargs, error),
        conversation=_first(named, NAMES),
        user=_first(named, USERS) or str(kwargs.get("user") or ""),
        note=f"{len(choices)} answers were asked for; the first is kept" if len(choices) > 1 else "",
    )


def _aware(at: Any) -> datetime:
    """LiteLLM's times are local and do not say so."""
    return at.astimezone(UTC) if isinstance(at, datetime) else datetime.now(UTC)


def _llm(kwargs: Mapping[str, Any]) -> str:
    model, provider = str(kwargs.get("model") or "unknown"), str(kwargs.get("custom_llm_provider") or "")
    return model if not provider or model.startswith(f"{provider}/") else f"{provider}/{model}"


def _cost(kwargs: Mapping[str, Any]) -> float | None:
    """0.0 is a price only where LiteLLM's table has one."""
    cost, model, llm = kwargs.get("response_cost"), str(kwargs.get("model") or ""), _llm(kwargs)
    table = litellm_imported().model_cost
    known = model in table or llm in table or bool(kwargs.get("cache_hit"))
    return float(cost) if cost is not None and (cost or known) else None


def _used(response: Any, sent: Sequence[Sent], reply: Sent | None) -> tuple[int, int]:
    usage = getattr(response, "usage", None)
    prompt = int(getattr(usage, "prompt_tokens", 0) or 0)
    completion = int(getattr(usage, "completion_tokens", 0) or 0)
    prompt = prompt or sum(count(text_of({"content": s.content})) + 4 for s in sent)
    return prompt, completion or (count(text_of({"content": reply.content})) if reply else 0)


def _why_failed(kwargs: Mapping[str, Any], error: Any) -> str:
    if not isinstance(error, Exception):
        return "it ended without an answer"
    parameters = kwargs.get("litellm_params") or {}
    return words_of_provider(error, {**parameters, "api_key": kwargs.get("api_key") or parameters.get("api_key")})


def _of(thing: Any, name: str) -> Any:
    """A part of a message, which is a dictionary, or an object as LiteLLM's answers hold it."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def sent_of(message: Any) -> Sent:
    """A message as chat APIs have it, a mapping or an object. Raises one of UNREADABLE."""
    content = _of(message, "content")
    parts = [dict(p) if isinstance(p, Mapping) else p for p in content] if isinstance(content, list) else content
    calls = tuple(map(_call, _of(message, "tool_calls") or ()))
    role, answers, name = (str(_of(message, part) or "") for part in ("role", "tool_call_id", "name"))
    return Sent(role or "assistant", parts, calls, answers, name)


def _call(call: Any) -> tuple[str, str, str]:
    function = _of(call, "function")
    return str(_of(call, "id") or ""), str(_of(function, "name") or ""), str(_of(function, "arguments") or "")


# ── whether it hears ──────────────────────────────────────────────────────────────────────────────────


def is_installed(ear: object) -> bool:
    """Whether LiteLLM tells it about calls."""
    return "litellm" in sys.modules and any(found is ear for found in litellm_imported().callbacks)


def install(ear: object) -> None:
    if not is_installed(ear):
        litellm_imported().callbacks.append(ear)


def uninstall(ear: object) -> None:
    """LiteLLM copies its callbacks into a list for each kind of event: it is taken out of them all."""
    if "litellm" not in sys.modules:  # to import it takes seconds
        return
    litellm = litellm_imported()
    for name in ("callbacks", "input_callback", "success_callback", "failure_callback", "_async_input_callback",
                 "_async_success_callback", "_async_failure_callback"):  # fmt: skip
        listed = getattr(litellm, name)
        listed[:] = [found for found in listed if found is not ear]


def ask_nobody(token: str, words: str = "Do you hear this?") -> None:
    """One call that LiteLLM answers itself: no network, no key, and the callbacks are told as of any other."""
    litellm_imported().completion(**_nobody(words, token))


def rehearse() -> dict[str, str]:
    """A call of each kind, answered by LiteLLM itself, each a conversation of its own: by kind, the id it names."""
    litellm = litellm_ready()
    kinds = ("answered", "streamed", "async", "async stream", FAILED)
    ids = {kind: f"rehearsal {kind}" for kind in kinds}
    litellm.completion(**_nobody("answered", conversation=ids["answered"]))
    list(litellm.completion(**_nobody("streamed", conversation=ids["streamed"]), stream=True))

    async def awaited() -> None:
        await litellm.acompletion(**_nobody("async", conversation=ids["async"]))
        async for _ in await litellm.acompletion(**_nobody("stream", conversation=ids["async stream"]), stream=True):
            pass

    with ThreadPoolExecutor(1) as pool:  # where a loop runs, as in a notebook, no other may
        pool.submit(asyncio.run, awaited()).result()
    refused = _nobody(FAILED, conversation=ids[FAILED]) | {"mock_response": ValueError("nobody is there")}
    with suppress(*provider_errors()):
        litellm.completion(**refused)
    return ids


def _nobody(words: str, token: str = "", conversation: str = "") -> dict[str, Any]:
    named = {SELF_TEST: token} if token else {"conversation_id": conversation}
    return {"model": "openai/nobody", "messages": [{"role": "user", "content": words}], "mock_response": "I do.",
            "api_key": "none", "metadata": named, "max_retries": 0}  # fmt: skip
