"""Protobuf by hand: what is a request reads as its JSON does, what is none says so, and nothing else happens."""

import struct
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import RecordingError
from sessions.otlp_wire import SCHEMA, partial, request_of, status
from sessions.spans import Span, of_request

# ── the other direction, for these tests alone ────────────────────────────────────────────────────────


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number: int, kind: str, value: Any) -> bytes:
    if kind in ("whole", "truth", "signed"):
        return varint(number << 3) + varint(int(value))
    if kind in ("fixed", "double"):
        return varint(number << 3 | 1) + struct.pack("<d" if kind == "double" else "<Q", value)
    raw = bytes.fromhex(value) if kind == "hex" else value.encode() if kind == "text" else wire(kind, value)
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def wire(name: str, values: dict[str, Any]) -> bytes:
    numbers = {key: (number, kind) for number, (key, kind) in SCHEMA[name].items()}
    out = b""
    for key, value in values.items():
        number, kind = numbers[key]
        for each in value if kind.startswith("*") else [value]:
            out += field(number, kind.removeprefix("*"), each)
    return out


# ── both directions ─────────────────────────────────────────────────────────────────────────────────

plain = (
    st.builds(lambda v: {"stringValue": v}, st.text())
    | st.builds(lambda v: {"boolValue": v}, st.booleans())
    | st.builds(lambda v: {"intValue": v}, st.integers(-(2**63), 2**63 - 1))
    | st.builds(lambda v: {"doubleValue": v}, st.floats(allow_nan=False))
)
values = st.recursive(
    plain,
    lambda inner: (
        st.builds(lambda v: {"arrayValue": {"values": v}}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(
            lambda v: {"kvlistValue": {"values": [{"key": k, "value": it} for k, it in v.items()]}},
            st.dictionaries(st.text(), inner, min_size=1, max_size=3),
        )
    ),
    max_leaves=5,
)
span = st.fixed_dictionaries(
    {
        "traceId": st.binary(min_size=16, max_size=16).map(bytes.hex),
        "spanId": st.binary(min_size=8, max_size=8).map(bytes.hex),
        "name": st.text(),
        "startTimeUnixNano": st.integers(0, 2**62),
        "attributes": st.lists(st.fixed_dictionaries({"key": st.text(), "value": values}), min_size=1, max_size=3),
        "status": st.just({"message": "no", "code": 2}),
    }
)


@given(st.lists(span, min_size=1, max_size=2))
@settings(max_examples=40, deadline=None)
def test_a_request_reads_as_its_json(spans: list[dict[str, Any]]):
    said = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    assert request_of(wire("REQUEST", said)) == said


@given(st.binary(max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_a_request_or_an_error_that_says_so(raw: bytes):
    with suppress(RecordingError):  # and no other
        list(of_request(request_of(raw)))


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_request_with_a_byte_changed_or_cut_is_one_or_an_error(data: st.DataObject):
    attributes = [{"key": "a", "value": {"arrayValue": {"values": [{"intValue": -1}, {"stringValue": "b"}]}}}]
    one = {"traceId": "11" * 16, "spanId": "22" * 8, "name": "x", "startTimeUnixNano": 5, "attributes": attributes}
    raw = bytearray(wire("REQUEST", {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with suppress(RecordingError):
        list(of_request(request_of(bytes(raw[: data.draw(st.integers(1, len(raw)))]))))


def test_a_field_that_nobody_knows_is_passed_over():
    unknown = varint(99 << 3) + varint(1) + varint(98 << 3 | 2) + varint(3) + b"abc" + varint(97 << 3 | 5) + b"1234"
    raw = unknown + wire("REQUEST", {"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "22" * 8}]}]}]})
    assert request_of(raw) == {"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "22" * 8}]}]}]}


@pytest.mark.parametrize(("raw", "why"), [
    (b"\x0a\x05ab", "middle of a field"), (b"\x80", "middle of a number"), (b"\xff" * 10 + b"\x01", "64 bits"),
    (b"\x00", "number 0"), (b"\x0b", "wire type 3"), (b"\x08\x01", "resourceSpans in REQUEST has wire type 0"),
])  # fmt: skip
def test_what_is_wrong_is_said(raw: bytes, why: str):
    with pytest.raises(RecordingError, match=why):
        request_of(raw)


def test_values_within_values_end_somewhere():
    value = {"intValue": 1}
    for _ in range(60):
        value = {"arrayValue": {"values": [value]}}
    raw = wire("SPAN", {"attributes": [{"key": "a", "value": value}]})
    for number in (2, 2, 1):
        raw = varint(number << 3 | 2) + varint(len(raw)) + raw
    with pytest.raises(RecordingError, match="deeper"):
        request_of(raw)


def test_the_answers_are_protobuf_too():
    assert partial(0, "") == b""
    assert partial(300, "no") == b"\x0a\x07\x08\xac\x02\x12\x02no"
    assert status("no") == b"\x12\x02no"


def test_a_whole_span_comes_out():
    one = {"traceId": "11" * 16, "spanId": "22" * 8, "name": "x", "startTimeUnixNano": 10**18}
    (found,) = of_request(request_of(wire("REQUEST", {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]})))
    assert isinstance(found, Span)
    assert (found.id, found.started_at.year if found.started_at else 0) == ("22" * 8, 2001)
