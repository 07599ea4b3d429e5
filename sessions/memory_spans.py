"""What an engine's memory did, as OpenTelemetry spans of the app that has it: off unless somebody calls `emit`.

    tracer, emitted = opentelemetry.trace.get_tracer("my app"), 0
    print(engine.say("What is my budget?"))
    emitted = emit(engine.store, engine.scope, tracer, after=emitted)     # after the reply: it reads the log

A recall is `search_memory`, and so are the facts that go into a prompt; a bookmark is `update_memory`; an eviction
has no name in the conventions and is `evict_memory`. Numbers and reasons go along, no words of a conversation. The
tracer is the app's own, of opentelemetry-api; nothing here needs that library. Not here: conversations as traces
(otlp_export.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Protocol

from memory.events import Body, BookmarkMade, FactsPlaced, PageEvicted, PagesRecalled
from memory.scope import Scope
from memory.stores.sql import Store
from sessions import otel_names as names
from sessions.spans import EPOCH

KINDS = tuple(kind.__name__ for kind in (PagesRecalled, PageEvicted, BookmarkMade, FactsPlaced))


class Opened(Protocol):
    """Of a span, all that is needed of it."""

    def end(self, end_time: int | None = None) -> None: ...


class Tracer(Protocol):
    """What opentelemetry's tracers have."""

    def start_span(self, name: str, *, attributes: Any = None, start_time: int | None = None) -> Opened: ...


def emit(store: Store, scope: Scope, tracer: Tracer, *, after: int = 0) -> int:
    """One span for each memory operation of this run behind version `after`; returns the version it came to."""
    upto = store.require(scope).version
    about = {names.CONVERSATION: scope.conversation, names.USER: scope.user, names.MEMORY_STORE: store.path.name}
    for event in store.events(scope, after=after, upto=upto, kinds=KINDS):
        at = _nanoseconds(event.at)
        for name, said in _spans(event.body):
            attributes = {**about, names.OPERATION: name, names.STEP: event.step, **said}
            tracer.start_span(name, attributes=attributes, start_time=at).end(end_time=at)
    return upto


def _spans(body: Body) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(body, PagesRecalled):
        found = (*body.resident, *body.came)
        yield names.SEARCH_MEMORY, {names.MEMORY_COUNT: len(found), names.PAGE: list(found), names.REASON: body.by}
    elif isinstance(body, PageEvicted):
        yield names.EVICT, {
            names.MEMORY_RECORD: f"p{body.page}", names.REASON: body.cause, names.TOKENS: body.freed_tokens,
        }  # fmt: skip
    elif isinstance(body, BookmarkMade):
        yield names.UPDATE_MEMORY, {names.MEMORY_RECORD: f"p{body.page}"}
    elif isinstance(body, FactsPlaced):
        placed = sum(not fact.dropped for fact in body.facts)
        yield names.SEARCH_MEMORY, {names.MEMORY_COUNT: placed, names.TOKENS: body.tokens, names.REASON: "facts"}


def _nanoseconds(at: datetime) -> int:
    since = at - EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000
