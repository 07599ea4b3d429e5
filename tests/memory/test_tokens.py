"""Counting and cutting by tokens: exact, offline, and never quadratic."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import tokens
from memory.errors import TokenizerMissing
from memory.tokens import clip, count, pieces

any_text = st.text(st.characters(codec=None), max_size=200)  # lone surrogates, NUL and all


@pytest.mark.parametrize(
    ("text", "expected"), [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("成语接龙", 4), ("\0", 1), ("\ud800", 1)]
)
def test_worked_counts(text: str, expected: int) -> None:
    assert count(text) == expected


def test_slicing_a_long_text_changes_no_count() -> None:
    sentence = "Hello there, we talked about 8,000 things. "
    assert count(sentence * 1_000) == len(tokens._encoder().encode_ordinary(sentence * 1_000))


def test_chinese_is_counted_as_characters_not_as_escapes() -> None:
    fact = "我对花生过敏，每个月的预算是八千元。" * 17
    assert count(fact) < len(fact) < count(fact.encode("unicode_escape").decode()) / 3


@pytest.mark.parametrize("unit", ["a", " ", "!", "\n", "\0", "中", "\ud800"], ids=repr)
def test_a_million_characters_without_a_break_stay_fast(unit: str) -> None:
    text = unit * 1_000_000
    started = thread_time()
    assert count(text) > 1_000
    assert clip(text, 50)
    assert thread_time() - started < 5


@given(any_text, st.integers(1, 20))
def test_pieces_cover_the_text_exactly(text: str, limit: int) -> None:
    spans = pieces(text, limit)
    assert "".join(text[a:b] for a, b in spans) == text
    assert all(count(text[a:b]) <= limit or b - a == 1 for a, b in spans)


@given(any_text, st.integers(0, 20))
def test_a_clip_is_a_beginning_that_fits(text: str, limit: int) -> None:
    cut = clip(text, limit)
    assert text.startswith(cut)
    assert count(cut) <= limit
    assert cut == text or count(text) > limit


@settings(max_examples=20)
@given(st.text(st.characters(codec=None), min_size=1, max_size=30), st.integers(200, 400), st.integers(1, 600))
def test_slices_of_a_long_text_keep_the_rules(unit: str, times: int, limit: int) -> None:
    text = unit * times
    spans = pieces(text, limit)
    assert [b for _, b in spans[:-1]] == [a for a, _ in spans[1:]]
    assert (spans[0][0], spans[-1][1]) == (0, len(text))
    assert all(count(text[a:b]) <= limit or b - a == 1 for a, b in spans)


def test_a_piece_ends_at_a_paragraph_a_sentence_or_a_space() -> None:
    def cut(text: str, limit: int) -> list[str]:
        return [text[a:b] for a, b in pieces(text, limit)]

    assert cut("One two three.\n\nFour five. Six seven eight.", 6)[0] == "One two three.\n\n"
    assert cut("One two three four. Five six seven eight nine.", 8)[0] == "One two three four. "
    assert cut("one two three four five six", 4)[0] == "one two three "
    assert cut("今天天气很好。我们去公园散步吧。", 8)[0] == "今天天气很好。"


def test_a_piece_of_no_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="give 1 or more"):
        pieces("text", 0)


def test_a_missing_table_is_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tokens._encoder.cache_clear()
    with pytest.raises(TokenizerMissing, match="install litellm"):
        count("a text that no other test has counted")
    tokens._encoder.cache_clear()


def test_counting_does_not_import_litellm() -> None:
    code = "import sys, memory.tokens as t; t.count('hello'); sys.exit('litellm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
