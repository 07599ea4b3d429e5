"""One call to a language model, by its LiteLLM name; what goes wrong comes back in words.

Not here: retries (backoff.py), what a prompt says, what a tool does.
litellm takes seconds to import, so it is imported in the functions that need it. As a library it sends no
telemetry; its price table is read from its own package.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from types import MappingProxyType, SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from memory.errors import (
    ContextOverflow,
    ModelAnswerEmpty,
    ModelCut,
    ModelError,
    ModelOverloaded,
    ModelQuota,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    ToolsRefused,
    UnknownModel,
)
from memory.jsontext import in_letters, object_in, readable
from memory.models import offline
from memory.models.offline import OFFLINE
from memory.tokens import count

__all__ = ["OFFLINE", "Answer", "ToolCall", "complete", "load", "protocol_of", "readable", "window_of"]

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
OWN_CALLS = "workbench-"  # begins the ids of the calls that are made here


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model asks for. Arguments that cannot be read are {}, and `error` says why."""

    id: str
    name: str
    arguments: dict[str, Any]
    error: str = ""
    raw: str = ""  # the arguments as the model wrote them


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    calls: tuple[ToolCall, ...]
    prompt_tokens: int  # as the provider counts; our own count where it does not say
    completion_tokens: int
    cost_usd: float | None  # None: the price is not known
    finish_reason: str  # stop, tool_calls, length, content_filter
    llm: str
    ms: float


def complete(
    llm: str,
    messages: list[dict[str, Any]],
    *,
    tools: Sequence[dict[str, Any]] = (),
    tool_choice: str = "auto",
    schema: Mapping[str, Any] | None = None,
    timeout_s: float = 60,
    max_tokens: int | None = None,
    on_text: Callable[[str], None] | None = None,
    options: Mapping[str, Any] = NO_OPTIONS,
) -> Answer:
    """The model's answer to `messages`; with `on_text` its text arrives there piece by piece as well.

    `options` go to LiteLLM as they are (api_base, api_key, temperature, …). `schema` asks for a JSON object of that
    shape; where the provider knows no such thing it is left out, so the messages must tell the shape as well.
    `timeout_s` is how long to wait for the answer, in a stream for its next piece. Nothing is tried twice. Raises a
    ModelError whose class is the kind of trouble; an answer that breaks off in the middle is ModelCut and carries
    what came.
    """
    request: dict[str, Any] = {
        **options,
        "model": llm,
        "messages": readable(messages),
        "timeout": timeout_s,
        "max_retries": 0,  # litellm would also retry a 401
        "litellm_call_id": f"{OWN_CALLS}{uuid4()}",  # a recorder of the same process leaves it to the engine's log
    }
    if max_tokens is not None:
        request["max_tokens"] = max_tokens
    if tools:
        request["tools"] = readable(list(tools))
        if tool_choice != "auto":  # the default everywhere; some providers refuse the word
            request["tool_choice"] = tool_choice
    if schema is not None:
        shape = {"name": "answer", "strict": True, "schema": readable(schema)}
        request |= {"response_format": {"type": "json_schema", "json_schema": shape}, "drop_params": True}
    started = time.perf_counter()
    if llm == OFFLINE:
        heard = _embedded(request, on_text)
    else:
        heard = _streamed(request, on_text) if on_text else _whole(request)
    ms = (time.perf_counter() - started) * 1000
    text = readable(heard.text)
    calls = tuple(_tool_call(*call) for call in heard.calls)
    if not text.strip() and not calls:
        raise ModelAnswerEmpty(_why_empty(llm, heard.finish_reason))
    prompt_tokens, completion_tokens = _used(heard, request)
    return Answer(
        text=text,
        calls=calls,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cost_usd=_cost_usd(llm, prompt_tokens, completion_tokens, heard.usage),
        finish_reason=heard.finish_reason,
        llm=llm,
        ms=round(ms, 1),
    )


def window_of(llm: str) -> int | None:
    """How many tokens the model reads, from litellm's local table; None if it is not there."""
    if llm == OFFLINE:
        return offline.WINDOW_TOKENS
    tokens = _entry(llm).get("max_input_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else None


# How it is asked for memory operations

# They serve small models, which fail at tool calls and manage a schema; their servers are not asked here.
LOCAL_RUNNERS = frozenset(("ollama", "ollama_chat", "llamafile", "lm_studio", "xinference", "docker_model_runner"))


def protocol_of(llm: str, asked: str = "auto") -> tuple[str, str]:
    """`tools` or `schema` for this model, and why: as asked, or by litellm's local table."""
    if llm == OFFLINE:
        return "tools", "the embedded responder calls tools and fills no schema"
    if asked != "auto":
        return asked, "the setting says so"
    entry = _entry(llm)
    if entry.get("supports_function_calling"):
        return "tools", "LiteLLM's table says that it calls functions"
    if entry:
        return "schema", "LiteLLM's table does not say that it calls functions"
    if llm.partition("/")[0] in LOCAL_RUNNERS:
        return "schema", "LiteLLM's table does not know it, and it runs locally"
    return "tools", "LiteLLM's table does not know it; most servers take tools"


# The call itself


@dataclass(slots=True)
class _Heard:
    """What came back, before it is judged."""

    text: str = ""
    calls: list[list[str]] = field(default_factory=list)  # id, name, arguments
    finish_reason: str = ""
    usage: Any = None


def load() -> None:
    """Import litellm and what its first call imports (7 s of CPU) now: by a call of the embedded responder."""
    request = {"model": OFFLINE, "messages": [{"role": "user", "content": "Hello."}]}
    _streamed(request, lambda piece: None)


def litellm_imported() -> Any:
    """litellm without network at import, and else as the application has it, whose own it may be."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    return litellm


def litellm_ready() -> Any:
    """litellm without network at import, without its own log lines, and with the embedded model."""
    os.environ.setdefault("LITELLM_LOG", "ERROR")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # DEV loads the nearest .env into this process
    litellm = litellm_imported()
    litellm.suppress_debug_info = True
    litellm.disable_hf_tokenizer_download = True  # else it stalls for 24 s without a network
    offline.register()
    return litellm


def _embedded(request: Mapping[str, Any], on_text: Callable[[str], None] | None) -> _Heard:
    """The responder of this process, without LiteLLM, whose import would cost the first message seconds."""
    response, usage = offline.answered(request["messages"], request)
    heard = _Heard(text=response.text, finish_reason="stop", usage=SimpleNamespace(**usage))
    if response.recall:
        call = offline.call_of(response.recall, request["messages"])
        heard.calls = [[call["id"], call["function"]["name"], call["function"]["arguments"]]]
        heard.finish_reason = "tool_calls"
    if on_text:
        for piece in offline.pieces(response.text):
            on_text(piece)
    return heard


def _whole(request: Mapping[str, Any]) -> _Heard:
    litellm = litellm_ready()
    try:
        response = litellm.completion(**{**request, "stream": False})
    except provider_errors() as error:
        raise explained(error, request) from None  # the cause may quote the key
    heard = _Heard(usage=getattr(response, "usage", None))
    for choice in response.choices[:1]:
        heard.text = choice.message.content or ""
        heard.finish_reason = choice.finish_reason or ""
        heard.calls = [
            [c.id or "", c.function.name or "", _as_text(c.function.arguments)] for c in choice.message.tool_calls or ()
        ]
    return heard


def _streamed(request: Mapping[str, Any], on_text: Callable[[str], None]) -> _Heard:
    heard = _Heard()
    half = ""  # the first half of a character whose second half comes with the next piece
    for chunk in _chunks(request, heard):
        heard.usage = getattr(chunk, "usage", None) or heard.usage
        for choice in chunk.choices[:1]:
            heard.finish_reason = choice.finish_reason or heard.finish_reason
            _add_calls(heard.calls, choice.delta.tool_calls or ())
            text = half + (choice.delta.content or "")
            half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
            if text := text.removesuffix(half):
                heard.text += text
                on_text(readable(text))
    if half:
        heard.text += half
        on_text(readable(half))
    return heard


def _chunks(request: Mapping[str, Any], heard: _Heard) -> Iterator[Any]:
    """Only the stream's own errors are explained; those of the reader pass through and close the stream."""
    litellm = litellm_ready()
    stream = None
    try:
        stream = litellm.completion(**{**request, "stream": True, "stream_options": {"include_usage": True}})
        yield from stream
    except provider_errors() as error:
        if not heard.text and not heard.calls:
            raise explained(error, request) from None
        partial = readable(heard.text)
        message = f"{request['model']} broke off after {len(partial)} characters; ask again, or keep what came"
        cut = ModelCut(f"{message} ({_said(error, request)})", partial)
        raise _as_theirs(cut, error) from None
    finally:
        if stream is not None:
            stream.close()


def _add_calls(calls: list[list[str]], deltas: Sequence[Any]) -> None:
    """A tool call arrives in pieces: the index says which; id and name come once, arguments in bits."""
    for delta in deltas:
        index = delta.index or 0
        while len(calls) <= index:
            calls.append(["", "", ""])
        call = calls[index]
        call[0] = delta.id or call[0]
        call[1] = delta.function.name or call[1]
        call[2] += _as_text(delta.function.arguments)


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)


# Tool arguments, read tolerantly


def _tool_call(call_id: str, name: str, raw: str) -> ToolCall:
    arguments, error = arguments_in(raw)
    if not name.strip():
        error = error or "the call names no tool"
    return ToolCall(call_id, readable(name.strip()), arguments, error, readable(in_letters(raw)))


def arguments_in(raw: str) -> tuple[dict[str, Any], str]:
    """The arguments of a call, and why they cannot be read; none at all are {}."""
    return object_in(raw) if raw.strip() else ({}, "")


# Tokens and money


def _used(heard: _Heard, request: Mapping[str, Any]) -> tuple[int, int]:
    prompt = getattr(heard.usage, "prompt_tokens", 0) or 0
    completion = getattr(heard.usage, "completion_tokens", 0) or 0
    if not prompt:
        prompt = sum(count(offline.text_of(m)) + offline.MESSAGE_TOKENS for m in request["messages"])
        prompt += count(json.dumps(request.get("tools", ""), ensure_ascii=False))
    if not completion:
        completion = count(heard.text) + sum(count(name) + count(raw) for _, name, raw in heard.calls)
    return prompt, completion


def _entry(llm: str) -> Mapping[str, Any]:
    """The model's row in litellm's table, {} if there is none; litellm's own look-up may ask a server."""
    if llm == OFFLINE:
        return offline.ENTRY
    table = litellm_ready().model_cost
    provider, _, name = llm.partition("/")
    row = table.get(llm)
    if row is None and table.get(name, {}).get("litellm_provider") == provider:
        row = table[name]
    return row or {}


def prompt_price(llm: str) -> float | None:
    """Dollars a token of a prompt; None where litellm's table has no price."""
    price = _entry(llm).get("input_cost_per_token")
    return None if price is None else float(price)


def price_of(llm: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """What so many tokens would cost, in dollars; None where litellm's table has no price."""
    return _cost_usd(llm, prompt_tokens, completion_tokens, None)


def _cost_usd(llm: str, prompt_tokens: int, completion_tokens: int, usage: Any) -> float | None:
    if llm == OFFLINE:
        return 0.0
    if "input_cost_per_token" not in _entry(llm):
        return None
    paid = litellm_ready().cost_per_token(
        model=llm, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, usage_object=usage
    )
    return float(sum(paid))


# What went wrong, in words


def provider_errors() -> tuple[type[Exception], ...]:
    import httpx
    import openai

    return openai.OpenAIError, httpx.HTTPError


@dataclass(frozen=True, slots=True)
class _Trouble:
    error: type[ModelError]
    says: str
    statuses: frozenset[int]
    words: re.Pattern[str]


def _trouble(error: type[ModelError], says: str, words: str, *statuses: int) -> _Trouble:
    return _Trouble(error, says, frozenset(statuses), re.compile(words, re.IGNORECASE))


_NOTHING_CAME = "neither text nor a tool call came; ask again, or use another model"

# By status and words, for LiteLLM's classes do not tell: no key and connection refused are both
# InternalServerError, rate limit and used-up quota are both RateLimitError. The first that fits counts.
_TROUBLES = (
    _trouble(
        UnknownModel,
        "is not a model that LiteLLM knows a provider for; write it as provider/model, for example "
        f"gpt-4o-mini, ollama/llama3 or {OFFLINE}",
        r"LLM Provider NOT provided|Unmapped LLM provider",
    ),
    _trouble(
        ModelAnswerEmpty,
        f"gave an empty answer: {_NOTHING_CAME}",
        r"ended before a finish_reason|no 'choices'",
    ),
    _trouble(
        ToolsRefused,
        "takes no tools; set protocol to schema, which asks for pages by JSON",
        r"(?:not|n't) support (?:the )?(?:tools?|tool.?(?:use|call\w*)|function.?call\w*|parameters?: ?\[?.tools)\b"
        r"|that support tool use|(?:tools?|tool.?call\w*|function.?call\w*)[`'\"]? (?:is|are) not supported"
        r"|tools param requires|tool choice requires|enable-auto-tool-choice",
    ),
    _trouble(
        ContextOverflow,
        "takes fewer tokens than this prompt has; use a smaller window or a model with a larger one",
        r"context[ _]?(?:length|window|size)|maximum context|prompt is too long|input is too long"
        r"|exceeds? the (?:maximum|max) (?:number of )?(?:input )?tokens",
    ),
    _trouble(
        ModelQuota,
        "has no quota left for this key; check the plan and the billing",
        r"quota|billing|insufficient.?(?:balance|funds|credit)|credit balance",
        402,
    ),
    _trouble(
        ModelOverloaded,
        "is busy or limits the rate of calls; wait and ask again",
        r"rate.?limit|overloaded|too many requests",
        429, 503, 529,
    ),
    _trouble(
        ModelRefused,
        "refused the call: {key}",
        r"missing credentials|(?:missing|invalid|incorrect|no) [\w ]{0,20}(?:api.?key|credentials)"
        r"|api.?key (?:is )?(?:missing|required|invalid|not (?:valid|found|set))",
        401, 403,
    ),
    _trouble(
        ModelTimeout,
        "gave no answer within {timeout:g} s; allow more time or ask for less",
        r"timed? ?out",
        408, 504,
    ),
    _trouble(
        ModelUnreachable,
        "cannot be reached{where}; check the address and the network, and that the server runs",
        r"connection (?:error|refused|reset|aborted|failed|attempts failed)|network is unreachable"
        r"|no route to host|name or service not known|name resolution|nodename nor servname|disconnected"
        r"|peer closed|incomplete (?:chunked )?read|bad gateway|certificate verify",
        502,
    ),
    _trouble(
        UnknownModel,
        "was not found{where}; check the model's name, and api_base if it is set",
        r"model.?not.?found|model [^ ]+ (?:does not exist|not found)",
        404,
    ),
    _trouble(  # with status 200, which LiteLLM tells as 500
        ModelUnreachable,
        "did not answer: a web page came{where}, as of a login or a proxy in between; check api_base, which mostly "
        "ends in /v1, and log in where that is asked for",
        r"<!doctype html|<html|misconfigured reverse proxy",
    ),
)  # fmt: skip


def explained(error: Exception, request: Mapping[str, Any]) -> ModelError:
    """The error as one of ours: which model, what happened, what would be right; never a key."""
    return _as_theirs(_explained(error, request), error)


def _as_theirs(ours: ModelError, error: Exception) -> ModelError:
    ours.theirs, ours.status = type(error).__name__, int(getattr(error, "status_code", None) or 0)
    return ours


def _explained(error: Exception, request: Mapping[str, Any]) -> ModelError:
    llm, status = request["model"], int(getattr(error, "status_code", None) or 0)
    said = _said(error, request)
    for trouble in _TROUBLES:
        if status in trouble.statuses or trouble.words.search(said):
            says = trouble.says.format(
                key=_what_key(llm, request) if "{key}" in trouble.says else "",
                where=_where(request),
                timeout=request["timeout"],
            )
            return _with_numbers(trouble.error(f"{llm} {says} ({said})"), error, said)
    if status >= 500:
        return ModelError(f"{llm} failed; ask again later ({status}: {said})")
    return ModelError(f"{llm} does not take this call; change what it names ({status}: {said})")


_LIMIT = re.compile(r"(?:context (?:length|size|window)(?: is| of)?:? ?\(?|tokens? > ?)(\d[\d,]*)", re.IGNORECASE)
_ASKED = (
    re.compile(r"(\d[\d,]*) (?:tokens )?in the (?:messages|prompt|input)", re.IGNORECASE),
    re.compile(r"(?:resulted in|request(?:ed)?|too long:) ?\(?(\d[\d,]*)", re.IGNORECASE),
)


def _with_numbers(ours: ModelError, theirs: Exception, said: str) -> ModelError:
    """What a caller can act on: how long to wait, by how much the prompt is too long."""
    ours.retry_after_s = _retry_after_s(theirs)
    if isinstance(ours, ContextOverflow):
        ours.limit_tokens = _figure(_LIMIT, said)
        ours.prompt_tokens = next((n for form in _ASKED if (n := _figure(form, said))), 0)
    return ours


def _figure(form: re.Pattern[str], said: str) -> int:
    found = form.search(said)
    return int(found[1].replace(",", "")) if found else 0


def _retry_after_s(error: Exception) -> float | None:
    """What the Retry-After header says: seconds, or a date; None if there is none that can be read."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    said = str(headers.get("retry-after") or "").strip()
    if re.fullmatch(r"\d{1,7}(?:\.\d*)?", said):
        return float(said)
    try:
        at = parsedate_to_datetime(said)
    except ValueError:
        return None
    return max(0.0, at.timestamp() - time.time())


_CLASS_PREFIX = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?: -|:) ?)+")
_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf)[-_][\w*.-]{4,}|\bAIza[\w-]{8,}|(?<=bearer )\S+|(?<=provided: )\S+",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)


def _said(error: Exception, request: Mapping[str, Any]) -> str:
    """The provider's own words on one line: no class names, no traceback, no key."""
    words = str(getattr(error, "message", "") or error).split("\nTraceback")[0]
    words = words.split(" Original exception:")[0]
    words = _CLASS_PREFIX.sub("", " ".join(words.split()))
    for secret in _secrets(request):
        words = words.replace(secret, "[key]")
    words = _KEY.sub("[key]", readable(words))
    return (words[:300] + "…" if len(words) > 300 else words) or type(error).__name__


def _secrets(request: Mapping[str, Any]) -> list[str]:
    """What must not show: the longest first, for one may hold another. Shorter ones are words, not keys."""
    named = [*request.items(), *os.environ.items()]
    secrets = {v for name, v in named if isinstance(v, str) and len(v) >= 8 and _SECRET_NAME.search(name)}
    return sorted(secrets, key=len, reverse=True)


def _what_key(llm: str, request: Mapping[str, Any]) -> str:
    if request.get("api_key"):
        return "check the option api_key, and what it may do"
    litellm = litellm_ready()
    missing = litellm.validate_environment(model=llm)["missing_keys"]
    if missing:
        either = all(name.endswith("API_KEY") for name in missing)
        return "there is no key; set " + (" or " if either else " and ").join(missing)
    return "check the key in the environment, and what it may do"


def _where(request: Mapping[str, Any]) -> str:
    """The address without what may be secret in it."""
    if not request.get("api_base"):
        return ""
    url = urlsplit(str(request["api_base"]))
    host = url.netloc.rpartition("@")[2]
    return f" at {url.scheme}://{host}{url.path}"


def _why_empty(llm: str, finish_reason: str) -> str:
    why = {
        "length": "the limit of tokens was reached before any text came; allow more max_tokens",
        "content_filter": "the provider's content filter withheld the text; say it differently",
    }.get(finish_reason, _NOTHING_CAME)
    return f"{llm} gave an empty answer: {why}"
