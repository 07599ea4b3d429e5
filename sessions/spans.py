"""Spans of a trace as values, from what exporters write: OTLP's JSON and the flat list that Phoenix exports.

A span that cannot be read stops no other: it comes out as a `Skipped` with its reason. Not here: what was said in one
(span_messages.py), protobuf (otlp_wire.py, which makes OTLP's JSON of it), files (readers/otlp.py).
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memory.redaction import clean
from sessions.recording import Skipped

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DEEPEST = 40  # values within values
_HEX = re.compile(r"[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class SpanEvent:
    name: str
    at: datetime | None
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    trace: str  # hex where it was bytes
    id: str
    parent: str  # "" at the root
    name: str
    started_at: datetime | None  # aware, UTC
    ended_at: datetime | None
    attributes: Mapping[str, Any]
    events: tuple[SpanEvent, ...] = ()
    resource: Mapping[str, Any] | None = None  # who sent it
    failed: bool = False
    message: str = ""  # of its status

    def first(self, names: Sequence[str]) -> Any:
        """The value of the first of these attributes that is there; None without one."""
        return next((self.attributes[name] for name in names if self.attributes.get(name) not in (None, "")), None)


def named(span: Span, name: str, value: str) -> Span:
    """The same with this attribute."""
    return replace(span, attributes={**span.attributes, name: value})


def of_request(document: Any) -> Iterator[Span | Skipped]:
    """The spans of an OTLP request (`{"resourceSpans": [{"scopeSpans": [{"spans": […]}]}]}`).

    Raises ValueError where it is none.
    """
    if not isinstance(document, dict) or not isinstance(groups := _either(document, "resourceSpans"), list):
        raise ValueError('an OTLP request is an object with a list "resourceSpans"')
    for i, group in enumerate(groups):
        resource = _attributes(_either(group, "resource"), f"resourceSpans {i}")
        if isinstance(resource, Skipped):
            yield resource
            continue
        scopes = _either(group, "scopeSpans") or _either(group, "instrumentationLibrarySpans") or []
        for j, scope in enumerate(scopes if isinstance(scopes, list) else [scopes]):
            spans = scope.get("spans", []) if isinstance(scope, dict) else scope
            if not isinstance(spans, list):
                yield Skipped(f"resourceSpans {i}, scopeSpans {j}", "it holds no list of spans", str(spans)[:60])
                continue
            for k, raw in enumerate(spans):
                yield _read(raw, f"resourceSpans {i}, scopeSpans {j}, span {k}", resource)


def of_phoenix(spans: Sequence[Any]) -> Iterator[Span | Skipped]:
    """The spans of a flat list as Phoenix's client writes it."""
    for i, raw in enumerate(spans):
        try:
            yield _phoenix(raw)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            yield Skipped(f"span {i}", f"no span: {type(error).__name__} {error}", str(raw)[:60])


# ── OTLP ──────────────────────────────────────────────────────────────────────────────────────────────


def _either(holder: Any, name: str) -> Any:
    """By its JSON name, or by the one in the protocol's own spelling (`resource_spans`)."""
    if not isinstance(holder, dict):
        return None
    return holder.get(name, holder.get(re.sub(r"(?<!^)([A-Z])", lambda m: f"_{m[1].lower()}", name)))


def _attributes(holder: Any, where: str) -> Mapping[str, Any] | Skipped:
    try:
        return _pairs(_either(holder, "attributes"))
    except (ValueError, TypeError, KeyError) as error:
        return Skipped(where, f"its attributes cannot be read: {error}", str(holder)[:60])


def _read(raw: Any, where: str, resource: Mapping[str, Any]) -> Span | Skipped:
    try:
        return _span(raw, resource)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return Skipped(where, f"no span: {error}", str(raw)[:60])


def _span(raw: Any, resource: Mapping[str, Any]) -> Span:
    if not isinstance(raw, dict):
        raise ValueError(f"a span is an object, not {type(raw).__name__}")
    status = _either(raw, "status") or {}
    return Span(
        trace=_required(_either(raw, "traceId"), "traceId", 16),
        id=_required(_either(raw, "spanId"), "spanId", 8),
        parent=_id(_either(raw, "parentSpanId"), 8),
        name=clean(str(raw.get("name") or "")),
        started_at=_nanoseconds(_either(raw, "startTimeUnixNano")),
        ended_at=_nanoseconds(_either(raw, "endTimeUnixNano")),
        attributes=_pairs(_either(raw, "attributes")),
        events=tuple(map(_event, _either(raw, "events") or ())),
        resource=resource,
        failed=str(status.get("code", "")) in ("2", "STATUS_CODE_ERROR"),
        message=clean(str(status.get("message") or "")),
    )


def _event(raw: dict[str, Any]) -> SpanEvent:
    return SpanEvent(
        str(raw.get("name") or ""), _nanoseconds(_either(raw, "timeUnixNano")), _pairs(_either(raw, "attributes"))
    )


def _required(value: Any, name: str, size: int) -> str:
    if not (found := _id(value, size)):
        raise ValueError(f"{name} must be {size} bytes in hex or base64, not all zero, and is {value!r}")
    return found


def _id(value: Any, size: int) -> str:
    """In hex, lower case; "" for none.

    >>> _id("7uGbfsPBsXU=", 8), _id("EEE19B7EC3C1B175", 8), _id("0000000000000000", 8)
    ('eee19b7ec3c1b175', 'eee19b7ec3c1b175', '')
    """
    if not value:
        return ""
    text = str(value)
    if len(text) == 2 * size and _HEX.fullmatch(text):
        return text.lower() if text.strip("0") else ""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if len(decoded) != size:
        raise ValueError(f"an id has {size} bytes in hex or base64, and one is {text[:60]!r}")
    return decoded.hex() if any(decoded) else ""


def _nanoseconds(value: Any) -> datetime | None:
    """None where it is 0 or missing. Raises ValueError for what is no time."""
    if value in (None, "", 0, "0"):
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"a time is nanoseconds since 1970 as a whole number, not {value!r}")
    try:
        return EPOCH + timedelta(microseconds=int(value) // 1000)
    except OverflowError as error:
        raise ValueError(f"a time is nanoseconds since 1970, and {value!r} is past the year 9999") from error


def _pairs(raw: Any) -> dict[str, Any]:
    if raw is None:
        return {}
    if isinstance(raw, dict):  # some exporters write them plainly
        return {str(key): value for key, value in raw.items()}
    if not isinstance(raw, list):
        raise ValueError(f"attributes are a list of keys and values, not {type(raw).__name__}")
    return {str(pair["key"]): _value(pair.get("value"), 0) for pair in raw}


def _value(raw: Any, depth: int) -> Any:
    """An AnyValue as Python has it; NaN and the infinities as their names, for nothing else can hold them."""
    if depth > DEEPEST:
        raise ValueError(f"a value is nested deeper than {DEEPEST}")
    if not isinstance(raw, dict) or not raw:
        return raw if not isinstance(raw, dict) else None
    kind, value = next(iter(raw.items()))
    kind = kind.replace("_value", "Value").replace("kvlistValue", "kvlist").replace("arrayValue", "array")
    if kind == "intValue":
        return int(value)
    if kind == "doubleValue":
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if kind == "array":
        return [_value(each, depth + 1) for each in (value or {}).get("values", [])]
    if kind == "kvlist":
        pairs = (value or {}).get("values", [])
        return {str(pair["key"]): _value(pair.get("value"), depth + 1) for pair in pairs}
    if kind in ("stringValue", "boolValue", "bytesValue"):
        return value
    raise ValueError(f"a value has one of stringValue, intValue, doubleValue, boolValue, …, not {kind!r}")


# ── Phoenix ───────────────────────────────────────────────────────────────────────────────────────────


def _phoenix(raw: dict[str, Any]) -> Span:
    context = raw["context"]
    attributes = _flat(raw.get("attributes") or {})
    if raw.get("span_kind"):
        attributes.setdefault("openinference.span.kind", raw["span_kind"])
    return Span(
        trace=str(context["trace_id"]),
        id=str(context["span_id"]),
        parent=str(raw.get("parent_id") or ""),
        name=clean(str(raw.get("name") or "")),
        started_at=_iso(raw.get("start_time")),
        ended_at=_iso(raw.get("end_time")),
        attributes=attributes,
        events=tuple(
            SpanEvent(str(each.get("name") or ""), _iso(each.get("timestamp")), _flat(each.get("attributes") or {}))
            for each in raw.get("events") or ()
        ),
        failed=raw.get("status_code") == "ERROR",
        message=clean(str(raw.get("status_message") or "")),
    )


def _iso(value: Any) -> datetime | None:
    if not value:
        return None
    at = datetime.fromisoformat(str(value))
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _flat(values: Any, prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Newer exports nest what older ones name by dots.

    >>> _flat({"llm": {"input_messages": [{"message": {"role": "user"}}]}})
    {'llm.input_messages.0.message.role': 'user'}
    """
    if depth > DEEPEST:
        raise ValueError(f"attributes are nested deeper than {DEEPEST}")
    if isinstance(values, dict):
        named = [(str(key), value) for key, value in values.items()]
    elif isinstance(values, list) and any(isinstance(value, dict) for value in values):
        named = [(str(i), value) for i, value in enumerate(values)]
    else:
        return {prefix: values}
    found: dict[str, Any] = {}
    for key, value in named:
        found |= _flat(value, f"{prefix}.{key}" if prefix else key, depth + 1)
    return found
