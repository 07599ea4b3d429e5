"""Traces of an app's calls of models: OTLP as JSON, one document or one a line, and the spans that Phoenix exports.

GenAI, OpenInference and OpenLLMetry attributes are read alike. Spans of one conversation are laid out in the order of
their time, whichever file each stands in; what an app resends becomes no turn twice. What has no place in a recording
is counted and named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from memory.errors import RecordingError
from sessions.otel_names import USER
from sessions.readers.documents import documents
from sessions.readers.source import Source
from sessions.recording import Recording, Skipped
from sessions.spans import Span, named, of_phoenix, of_request
from sessions.threads import Weave, woven

_BEGINS = re.compile(r'"(?:resourceSpans|resource_spans)"\s*:')
_PHOENIX = re.compile(r'"(?:trace_id|span_id)"\s*:')


def looks_like(source: Source) -> bool:
    start = source.text[:20_000]
    return bool(_BEGINS.search(start)) or bool('"context"' in start and _PHOENIX.search(start))


def read(*sources: Source, user: str | None = None, weave: Weave = woven) -> Iterator[Recording | Skipped]:
    """`user` overrides whose conversations these are.

    Raises RecordingError where no part of it is JSON of either shape.
    """
    spans: list[Span] = []
    skipped: list[Skipped] = []
    for where, document in (found for source in sources for found in _documents(source.text)):
        try:
            for found in [document] if isinstance(document, Skipped) else _spans(document):
                if isinstance(found, Span):
                    spans.append(found)
                else:
                    is_alone = isinstance(document, dict) and "context" in document
                    skipped.append(replace(found, where=where) if is_alone else found)
        except ValueError as error:
            skipped.append(Skipped(where, str(error), str(document)[:60]))
    if not spans and skipped:
        raise RecordingError(f"{sources[0].name} holds no span that can be read; {skipped[0]}")
    yield from skipped
    if user:
        spans = [named(span, USER, user) for span in spans]
    yield from weave(spans)


def _spans(document: Any) -> Iterator[Span | Skipped]:
    if isinstance(document, list) and not any(isinstance(each, dict) and "resourceSpans" in each for each in document):
        return of_phoenix(document)
    if isinstance(document, dict) and "context" in document:
        return of_phoenix([document])
    if isinstance(document, list):
        return (found for each in document for found in of_request(each))
    if isinstance(document, dict) and isinstance(document.get("data"), list):  # a page of Phoenix's REST answer
        return of_phoenix(document["data"])
    return of_request(document)


def _documents(text: str) -> Iterator[tuple[str, Any]]:
    """One document after another, however they are set apart; what is no JSON is passed over, and counted.

    Of one that the file breaks off in, the last span goes: it may be half of one.
    """
    lost: list[Skipped] = []
    for found in documents(text):
        if isinstance(found, Skipped):
            lost.append(found)
        elif not found.cut:
            yield found.where, found.value
        else:
            lost.append(Skipped(found.where, "the file breaks off inside it: the last span is left out", found.cut))
            if isinstance(found.value, dict) and "context" not in found.value:
                _drop_last(found.value)
                yield found.where, found.value
    if lost:
        more = f"; {len(lost) - 1} more places hold none either" if len(lost) > 1 else ""
        yield lost[0].where, replace(lost[0], reason=lost[0].reason + more)


def _drop_last(document: Any) -> None:
    """Takes the last span out of a request that ends in it."""
    for spellings in (("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans"), ("spans",)):
        inner = next((document[name] for name in (*spellings, "data") if isinstance(document.get(name), list)), None)
        if not inner:
            return
        if inner is document.get("spans") or inner is document.get("data") or not isinstance(inner[-1], dict):
            inner.pop()
            return
        document = inner[-1]
