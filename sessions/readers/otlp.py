"""Traces of an app's calls of models: OTLP as JSON, one document or one a line, and the spans that Phoenix exports.

GenAI, OpenInference and OpenLLMetry attributes are read alike. Spans of one conversation are laid out in the order of
their time; what an app resends becomes no turn twice. What has no place in a recording is counted and named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from memory.errors import RecordingError
from sessions.otel_names import USER
from sessions.readers.source import Source
from sessions.recording import Recording, Skipped
from sessions.spans import Span, named, of_phoenix, of_request
from sessions.threads import woven

_BEGINS = re.compile(r'"(?:resourceSpans|resource_spans)"\s*:')
_SPACE = re.compile(r"[\s\ufeff]*")
_PHOENIX = re.compile(r'"(?:trace_id|span_id)"\s*:')


def looks_like(source: Source) -> bool:
    start = source.text[:20_000]
    return bool(_BEGINS.search(start)) or bool('"context"' in start and _PHOENIX.search(start))


def read(source: Source, user: str | None = None) -> Iterator[Recording | Skipped]:
    """`user` overrides whose conversations these are.

    Raises RecordingError where no part of it is JSON of either shape.
    """
    spans: list[Span] = []
    skipped: list[Skipped] = []
    documents = _documents(source.text)
    for where, document in documents:
        try:
            for found in [document] if isinstance(document, Skipped) else _spans(document):
                if isinstance(found, Span):
                    spans.append(found)
                else:
                    skipped.append(found)
        except ValueError as error:
            skipped.append(Skipped(where, str(error), str(document)[:60]))
    if not spans and skipped:
        raise RecordingError(f"{source.name} holds no span that can be read; {skipped[0]}")
    yield from skipped
    if user:
        spans = [named(span, USER, user) for span in spans]
    yield from woven(spans)


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
    """One document after another, however they are set apart; lines that are no JSON are passed over, and counted."""
    decoder = json.JSONDecoder()
    place, line = 0, 1
    lost: list[tuple[str, str, str]] = []  # where, why, its first characters
    while (start := _SPACE.match(text, place).end()) < len(text):  # type: ignore[union-attr]
        line += text.count("\n", place, start)
        try:
            document, place = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            lost.append((f"line {line}", f"not JSON ({type(error).__name__}: {error})", text[start : start + 60]))
            place = len(text) if (end := text.find("\n", start)) < 0 else end
        else:
            yield f"line {line}", document
        line += text.count("\n", start, place)
    if lost:
        where, why, begins = lost[0]
        more = f"; {len(lost) - 1} more lines are none either" if len(lost) > 1 else ""
        yield where, Skipped(where, why + more, begins)
