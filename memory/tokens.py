"""Tokens counted, and text cut by tokens: `o200k_base`, offline.

Every budget of the engine is in these tokens. They are the fair counter for Chinese (16 where cl100k takes 27),
and an estimate for a model with another tokenizer; what a provider reports as used is not known here.

tiktoken would download its table. litellm ships it, so litellm's folder serves as tiktoken's cache; litellm itself
is not imported (that takes seconds), and nothing here goes to the network.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import tiktoken

from memory.errors import TokenizerMissing

SLICE = 2_000  # characters; in a longer run without spaces tiktoken slows down, in a longer blank its stack overflows
CACHED = 400  # characters; the counts of longer texts are not kept

_TABLE = "fb374d419588a4632f3f557e76b4b70aebbca790"  # tiktoken's name for the file: sha1 of the o200k_base address
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE_BEFORE_WORD = re.compile(r"\s(?=\S)")
_BREAKS = (  # where a piece ends best, the first kind found wins
    re.compile(r"\n\s*\n\s*"),
    re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？…][”’」』）]*\s*|\n\s*"),
    re.compile(r"\s+|[，、；：]"),
)


def count(text: str) -> int:
    """Tokens of `text`; `<|endoftext|>` and its like are plain text, NUL and lone surrogates count as well."""
    return _count_short(text) if len(text) <= CACHED else sum(map(len, _encoded(text)))


def clip(text: str, tokens: int) -> str:
    """The beginning of `text` that takes at most `tokens`, in whole characters; all of it if it fits."""
    finished = 0  # characters
    room = tokens
    for ids in _encoded(text):
        ends = _ends(ids[: room + 1])
        if len(ids) > room:
            finished += ends[room - 1] if room > 0 else 0
            return _shortened(text, finished, tokens)
        finished, room = finished + ends[-1], room - len(ids)
    return text


def pieces(text: str, tokens: int) -> list[tuple[int, int]]:
    """Spans `[start, end)` that cover `text` exactly and in order, each of at most `tokens`.

    A span ends after a paragraph, else a sentence, else a space or a clause, where one lies in its second half.
    A single character that takes more than `tokens` by itself is a span of its own.
    """
    if tokens < 1:
        raise ValueError(f"a piece of {tokens} tokens holds nothing; give 1 or more")
    ends = _all_ends(text)
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = _piece_end(text, start, ends, tokens)
        spans.append((start, end))
        start = end
    return spans


@lru_cache(maxsize=8_192)
def _count_short(text: str) -> int:
    return len(_encoder().encode_ordinary(text)) if text.isascii() else sum(map(len, _encoded(text)))


@cache
def _encoder() -> tiktoken.Encoding:
    folder = Path(os.environ.get("TIKTOKEN_CACHE_DIR") or _litellm_folder())
    if not (folder / _TABLE).is_file():
        raise TokenizerMissing(
            f"no tokenizer table {_TABLE} (o200k_base) in {folder}; install litellm, which ships it, "
            "or set TIKTOKEN_CACHE_DIR to a folder that holds it"
        )
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    return tiktoken.get_encoding("o200k_base")


def _litellm_folder() -> Path:
    spec = find_spec("litellm")
    if spec is None or spec.origin is None:
        raise TokenizerMissing(
            "litellm is not installed, and its package holds the tokenizer's table; "
            "install litellm, or set TIKTOKEN_CACHE_DIR to a folder that holds the table of o200k_base"
        )
    return Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"


def _encoded(text: str) -> Iterator[list[int]]:
    """Token ids, slice by slice. One id or more for each slice; character positions are those of `text`."""
    encoder = _encoder()
    # One for one, so that offsets hold: tiktoken's own repair would join two halves into one character.
    clean = text if text.isascii() else _SURROGATE.sub("\ufffd", text)
    for start, end in _slices(clean):
        yield encoder.encode_ordinary(clean[start:end])


def _slices(text: str) -> Iterator[tuple[int, int]]:
    """Cut before a space that begins a word, where the tokenizer cuts too: the count stays exact."""
    start = 0
    while len(text) - start > SLICE:
        end = start + SLICE
        spaces = [m.start() for m in _SPACE_BEFORE_WORD.finditer(text, end - SLICE // 4, end)]
        end = spaces[-1] if spaces else end
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def _ends(ids: list[int]) -> list[int]:
    """Characters finished after each token. A character's bytes may spread over several tokens."""
    parts = _encoder().decode_tokens_bytes(ids)
    ends: list[int] = []
    begun = 0
    for part, following in zip(parts, [*parts[1:], b""], strict=True):
        begun += len(part) if part.isascii() else sum(byte & 0xC0 != 0x80 for byte in part)
        ends.append(begun - (following[:1] >= b"\x80" and following[0] & 0xC0 == 0x80))
    return ends


def _all_ends(text: str) -> list[int]:
    ends: list[int] = []
    for ids in _encoded(text):
        before = ends[-1] if ends else 0
        ends.extend(before + end for end in _ends(ids))
    return ends


def _piece_end(text: str, start: int, ends: list[int], tokens: int) -> int:
    first = bisect_right(ends, start)
    if first + tokens >= len(ends) and count(text[start:]) <= tokens:
        return len(text)
    reach = ends[min(first + tokens, len(ends)) - 1]
    end = _best_break(text, start, reach)
    if count(text[start:end]) <= tokens:
        return end
    return start + max(1, len(_shortened(text[start:], end - start, tokens)))


def _best_break(text: str, start: int, reach: int) -> int:
    half = (start + reach + 1) // 2
    for kind in _BREAKS:
        if found := [m.end() for m in kind.finditer(text, half, reach)]:
            return found[-1]
    return max(reach, start + 1)


def _shortened(text: str, length: int, tokens: int) -> str:
    """A cut changes how the last word is encoded, rarely to more tokens: step back until it fits."""
    while length > 0 and count(text[:length]) > tokens:
        length -= 1
    return text[:length]
