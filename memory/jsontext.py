"""JSON as language models write it: in fences, after thoughts and prose, with a comma too many.

What can be read in one way only is read; what would be a guess is an error in words. Nothing here knows what the
objects mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

_BAD_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)')
_ESCAPED = re.compile(r"(?<!\\)((?:\\\\)*)((?:\\u[0-9a-fA-F]{4})+)")
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_END_OF_THOUGHT = re.compile(r"\A.*?</(?:think|thinking|thought|reasoning)>", re.IGNORECASE | re.DOTALL)


def readable(value: Any) -> Any:
    """The same value with each text fit for JSON and UTF-8: halves of characters and NUL become U+FFFD.

    >>> readable({"content": "a\\ud83d b\\x00 \\ud83d\\ude00"})
    {'content': 'a\ufffd b\ufffd 😀'}
    """
    if isinstance(value, str):
        whole = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole.replace("\x00", "\ufffd")
    if isinstance(value, Mapping):
        return {readable(key): readable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [readable(inner) for inner in value]
    return value


def in_letters(raw: str) -> str:
    r"""JSON text with its letters as people read them: `\u9884` is six tokens where 预 is one. All else stays as it is.

    >>> in_letters(r'{"question": "\u9884\u7b97 \ud83d\ude00 \\u9884 \u0022 \ud83d"}')
    '{"question": "预算 😀 \\\\u9884 \\u0022 \\ud83d"}'
    """
    return _ESCAPED.sub(lambda m: m[1] + _letters(m[2]), raw)


def _letters(escapes: str) -> str:
    said = str(json.loads(f'"{escapes}"'))
    return said if said.isprintable() and not {'"', "\\"} & set(said) else escapes


def without_thoughts(text: str) -> str:
    """Without `<think>…</think>`, also where a template opened it or the end was cut off.

    >>> without_thoughts('<think>p3? {"a": 1}</think>{"b": 2}'), without_thoughts("hm</think> yes")
    ('{"b": 2}', ' yes')
    """
    return _END_OF_THOUGHT.sub("", _THOUGHT.sub("", text), count=1)


def object_in(raw: str, keys: Collection[str] = ()) -> tuple[dict[str, Any], str]:
    """The one JSON object in `raw`, and why there is none; with `keys`, the one that has any of them.

    Fences, prose around it, a second encoding as a string, trailing commas and bad escapes are forgiven; two
    different objects or a cut end are not, for then anything would be a guess.

    >>> object_in('```json\\n{"page_ids": ["p3",]}\\n```')
    ({'page_ids': ['p3']}, '')
    >>> object_in('{"page_ids": ["p3"')
    ({}, 'the JSON breaks off or is malformed')
    """
    found = objects_in(raw)
    if keys:
        found = [each for each in found if not each.keys().isdisjoint(keys)] or found[:1]
    if len(found) > 1 and any(other != found[0] for other in found):
        return {}, f"{len(found)} JSON objects where one belongs"
    if found:
        return found[0], ""
    if "{" in raw:
        return {}, "the JSON breaks off or is malformed"
    return {}, "there is no JSON object"


def objects_in(raw: str) -> list[dict[str, Any]]:
    """Every outermost object in `raw`, in order; read as it stands or, if that gives none, mended."""
    mended = _TRAILING_COMMA.sub(lambda m: m[1] or "", raw)
    mended = _BAD_ESCAPE.sub(lambda m: m[0] if m[1] else r"\\", mended)
    return next(([readable(each) for each in found] for text in (raw, mended) if (found := _objects(text))), [])


def _objects(text: str) -> list[dict[str, Any]]:
    """Every outermost object in the text, or in the JSON string that the text is."""
    decoder = json.JSONDecoder(strict=False)
    try:
        whole = decoder.decode(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, str):
        return _objects(whole)
    found: list[dict[str, Any]] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            if not found and not _in_prose(text, at):
                return []
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return found


def _in_prose(text: str, brace: int) -> bool:
    """`{about travel}` before the object: no key follows the brace."""
    return not re.match(r'\{\s*["}]', text[brace : brace + 200])


# An escape whose end, or whose other half, comes with the next piece; an even number of backslashes before it are text.
_CUT_ESCAPE = re.compile(
    r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3}|u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?)\Z"
)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)(\\?)', re.DOTALL)


def string_at(raw: str, at: int) -> tuple[str, bool]:
    """What the JSON string whose quote stands at `at` says so far, and whether it ended.

    >>> string_at('"the budget is \\\\u9884\\\\u7b', 0)
    ('the budget is 预', False)
    """
    found = _STRING.match(raw, at)
    if found is None:
        return "", False
    ended = raw[found.end() : found.end() + 1] == '"'
    body = found[1] + found[2]
    if not ended and (cut := _CUT_ESCAPE.search(body)):
        body = body[: cut.start(1)]
    body = _BAD_ESCAPE.sub(lambda m: m[0] if m[1] else r"\\", body)
    return str(readable(json.loads(f'"{body}"', strict=False))), ended
