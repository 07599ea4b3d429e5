"""The JSON values of a file, one after the other, also where the file is broken: lines, lists, several documents.

Of a list each element comes on its own, so a long export is never decoded as a whole. An element that cannot be read
is named and passed over; one that the file breaks off in is closed after its last whole value, and says so. Nothing
here knows what the values mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from memory.jsontext import objects_in
from sessions.recording import Skipped

PROBED = 10  # lines that are tried to find out whether each is a document

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[\s\ufeff]*")
_BETWEEN = re.compile(r"[\s\ufeff,]*")  # a comma too many, or too few, costs nothing
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\n|\r|\Z)")  # not str.splitlines: U+2028 may stand in a text
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\],]', re.DOTALL)
_STRAY = re.compile(r"[^,\]\r\n]*")
_CLOSES = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Document:
    where: str  # `line 12`, `item 3`
    value: Any
    group: int = 1  # elements of one list, and lines of one file, belong together
    cut: str = ""  # what the file breaks off in; "" where the value is whole


def documents(text: str) -> Iterator[Document | Skipped]:
    """
    >>> [found.value for found in documents('[{"a": 1}, {"a": 2},] {"b": [3, {"c": 4}, {"d"')]
    [{'a': 1}, {'a': 2}, {'b': [3, {'c': 4}, {}]}]
    """
    return _by_line(text) if _is_lines(text) else _whole(text)


def _is_lines(text: str) -> bool:
    """Whether an object stands on a line of its own; a list does not count, for its elements may."""
    probed = [line for line in islice(_lines(text), PROBED) if line[1]]
    if not probed or probed[0][1].startswith("["):
        return False
    return any(line.startswith("{") and _parses(line) for _, line in probed)


def _parses(line: str) -> bool:
    try:
        _DECODER.decode(line)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at, number = 0, 0
    while at < len(text):
        found = _LINE.match(text, at)
        assert found is not None  # it matches the empty line
        number, at = number + 1, max(found.end(), at + 1)
        yield number, found[1].strip(" \t\ufeff")


def _by_line(text: str) -> Iterator[Document | Skipped]:
    for number, line in _lines(text):
        at = 0
        while at < len(line):
            found, at = _element(line, at, f"line {number}", 1)
            yield found
            at = _end_of(_BETWEEN, line, at)


def _whole(text: str) -> Iterator[Document | Skipped]:
    at, group = _end_of(_SPACE, text, 0), 0
    while at < len(text):
        group += 1
        if text[at] == "[":
            at = yield from _items(text, at + 1, group)
        else:
            found, at = _element(text, at, f"document {group}", group)
            yield found
        at = _end_of(_BETWEEN, text, at)


def _items(text: str, at: int, group: int) -> Generator[Document | Skipped, None, int]:
    place, cut = 0, False
    while (at := _end_of(_BETWEEN, text, at)) < len(text):
        if text[at] == "]":
            return at + 1
        place += 1
        found, at = _element(text, at, f"item {place}" if group == 1 else f"document {group}, item {place}", group)
        cut = isinstance(found, Skipped) or bool(found.cut)
        yield found
    if not cut:
        yield Skipped("the end of the file", "the list is not closed: what came after is not in the file")
    return at


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _element(text: str, at: int, where: str, group: int) -> tuple[Document | Skipped, int]:
    """The value at `at`, or why there is none, and where the next may begin."""
    try:
        value, end = _DECODER.raw_decode(text, at)
        return Document(where, value, group), end
    except RecursionError:
        reason = "nested too deep to be read"
    except ValueError as error:
        reason = f"not JSON ({getattr(error, 'msg', error)})"
    start = text[at : at + 60]
    if text[at] not in _CLOSES:
        return Skipped(where, reason, start), max(_end_of(_STRAY, text, at), at + 1)
    end = _closed_at(text, at)
    if end < 0:
        value, used = _mended(text, at)
        if value:
            return Document(where, value, group, text[used : used + 60] or "its end"), len(text)
        return Skipped(where, "the file breaks off inside it", start), len(text)
    mended = objects_in(text[at:end]) if reason.startswith("not JSON") else []
    return (Document(where, mended[0], group) if len(mended) == 1 else Skipped(where, reason, start)), end


def _closed_at(text: str, at: int) -> int:
    """Where the value that opens at `at` is closed; -1: nowhere."""
    depth = 0
    for found in _TOKEN.finditer(text, at):
        piece = found[0]
        if piece == '"':
            return -1
        depth += (piece in "{[") - (piece in "}]")
        if not depth:
            return found.end()
    return -1


def _mended(text: str, at: int) -> tuple[Any, int]:
    """The value without its cut end, closed after its last whole part, and how far that reaches; None: nothing."""
    open_now: list[str] = []
    good = at
    for found in _TOKEN.finditer(text, at):
        piece = found[0]
        if piece == '"':
            break
        if piece in _CLOSES:
            open_now.append(_CLOSES[piece])
        elif piece in ("}", "]"):
            if not open_now or open_now[-1] != piece:
                break
            open_now.pop()
        elif piece != ",":
            continue
        good = found.start() if piece == "," else found.end()
    try:
        return _DECODER.decode(text[at:good] + "".join(reversed(open_now))), good
    except (ValueError, RecursionError):
        return None, at
