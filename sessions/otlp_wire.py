"""An OTLP request in protobuf as the JSON shape of the same, so that spans.py reads one of the two.

Only the fields of a trace request, by the table below; fields that it does not name are passed over, as protobuf
wants it. Bytes that are no protobuf are a RecordingError that says where. No library does this without bringing gRPC's
or protobuf's generated code and their versions into every app that has the workbench: the wire format is a page.
Also the answers that OTLP demands (`partial`). Source: opentelemetry-proto 1.x, protobuf's encoding document.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from memory.errors import RecordingError

DEEPEST = 40  # messages within messages
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# Message: field number -> JSON name, and how it is read; a name in capitals is a message, "*" several of them.
SCHEMA: dict[str, dict[int, tuple[str, str]]] = {
    "REQUEST": {1: ("resourceSpans", "*RESOURCE_SPANS")},
    "RESOURCE_SPANS": {1: ("resource", "RESOURCE"), 2: ("scopeSpans", "*SCOPE_SPANS")},
    "RESOURCE": {1: ("attributes", "*KEY_VALUE")},
    "SCOPE_SPANS": {1: ("scope", "SCOPE"), 2: ("spans", "*SPAN")},
    "SCOPE": {1: ("name", "text"), 2: ("version", "text")},
    "SPAN": {
        1: ("traceId", "hex"), 2: ("spanId", "hex"), 4: ("parentSpanId", "hex"), 5: ("name", "text"),
        6: ("kind", "whole"), 7: ("startTimeUnixNano", "fixed"), 8: ("endTimeUnixNano", "fixed"),
        9: ("attributes", "*KEY_VALUE"), 11: ("events", "*EVENT"), 15: ("status", "STATUS"),
    },
    "EVENT": {1: ("timeUnixNano", "fixed"), 2: ("name", "text"), 3: ("attributes", "*KEY_VALUE")},
    "STATUS": {2: ("message", "text"), 3: ("code", "whole")},
    "KEY_VALUE": {1: ("key", "text"), 2: ("value", "VALUE")},
    "VALUE": {
        1: ("stringValue", "text"), 2: ("boolValue", "truth"), 3: ("intValue", "signed"), 4: ("doubleValue", "double"),
        5: ("arrayValue", "ARRAY"), 6: ("kvlistValue", "LIST"), 7: ("bytesValue", "hex"),
    },
    "ARRAY": {1: ("values", "*VALUE")},
    "LIST": {1: ("values", "*KEY_VALUE")},
}  # fmt: skip
WIRE = {"text": BYTES, "hex": BYTES, "whole": VARINT, "truth": VARINT, "signed": VARINT, "fixed": FIXED64,
        "double": FIXED64}  # fmt: skip


def request_of(raw: bytes) -> dict[str, Any]:
    """`{"resourceSpans": […]}`, as OTLP's JSON has it. Raises RecordingError for bytes that are no such request."""
    return {"resourceSpans": [], **_message(memoryview(raw), "REQUEST", 0)}


def partial(rejected: int, why: str) -> bytes:
    """The answer to a request of which `rejected` spans were refused; of none, it is empty."""
    if not rejected:
        return b""
    words = why.encode()
    inner = b"\x08" + _varint(rejected) + b"\x12" + _varint(len(words)) + words
    return b"\x0a" + _varint(len(inner)) + inner


def status(why: str) -> bytes:
    """The body of an answer that is an error (google.rpc.Status, its message alone)."""
    words = why.encode()
    return b"\x12" + _varint(len(words)) + words


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _message(raw: memoryview, name: str, depth: int) -> dict[str, Any]:
    if depth > DEEPEST:
        raise RecordingError(f"no OTLP request: messages are nested deeper than {DEEPEST}")
    fields, found = SCHEMA[name], dict[str, Any]()
    for number, wire, value in _fields(raw, name):
        if number not in fields:
            continue
        key, kind = fields[number]
        if wire != WIRE.get(kind, BYTES):
            raise RecordingError(f"no OTLP request: {key} in {name} has wire type {wire}, not {WIRE.get(kind, BYTES)}")
        if kind.startswith("*"):
            found.setdefault(key, []).append(_message(value, kind[1:], depth + 1))
        elif kind.isupper():
            found[key] = _message(value, kind, depth + 1)
        else:
            found[key] = _plain(value, kind, key)
    if name == "VALUE" and len(found) > 1:  # one of: the last one on the wire counts
        found = dict([found.popitem()])
    return found


def _plain(value: Any, kind: str, key: str) -> Any:
    if kind == "text":
        try:
            return str(value, "utf-8")
        except UnicodeDecodeError as error:
            raise RecordingError(f"no OTLP request: {key} is not UTF-8 ({error.reason})") from error
    if kind == "hex":
        return value.hex()
    if kind == "double":
        return struct.unpack("<d", value.to_bytes(8, "little"))[0]
    if kind == "signed":
        return value - (1 << 64) if value >> 63 else value
    return bool(value) if kind == "truth" else value


def _fields(raw: memoryview, name: str) -> Iterator[tuple[int, int, Any]]:
    """Field number, wire type and value, one after another."""
    place = 0
    while place < len(raw):
        tag, place = _read_varint(raw, place, name)
        number, wire = tag >> 3, tag & 7
        if not number:
            raise RecordingError(f"no OTLP request: a field of {name} has the number 0 (byte {place})")
        if wire == VARINT:
            value, place = _read_varint(raw, place, name)
            yield number, wire, value
            continue
        if wire == BYTES:
            size, place = _read_varint(raw, place, name)
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
        else:
            raise RecordingError(f"no OTLP request: a field of {name} has the wire type {wire} (byte {place})")
        if size > len(raw) - place:
            raise RecordingError(f"no OTLP request: {name} ends in the middle of a field (byte {place})")
        piece = raw[place : place + size]
        yield number, wire, piece if wire == BYTES else int.from_bytes(piece, "little")
        place += size


def _read_varint(raw: memoryview, place: int, name: str) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        if place >= len(raw):
            raise RecordingError(f"no OTLP request: {name} ends in the middle of a number (byte {place})")
        byte = raw[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            if number >> 64:
                break
            return number, place
    raise RecordingError(f"no OTLP request: a number in {name} is longer than 64 bits (byte {place})")
