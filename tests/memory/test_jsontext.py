"""JSON as language models write it: read where there is one reading, refused where there are two."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.jsontext import object_in, objects_in, readable, string_at, without_thoughts

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ('Based on {about travel}, here: {"keywords": ["a"]}', {"keywords": ["a"]}),
        ('<think>perhaps {"keywords": ["b"]}</think>{"keywords": ["a"]}', {"keywords": ["a"]}),
        ('thoughts without a beginning {"x": 1} </think> {"keywords": ["a"]}', {"keywords": ["a"]}),
        ('{"note": 1} and {"keywords": ["a"]}', {"keywords": ["a"]}),
        ('```json\n{"keywords": ["a",],}\n```', {"keywords": ["a"]}),
        ('{"keywords": ["\\u9884\\u7b97", "\\ud83d"]}', {"keywords": ["预算", "\ufffd"]}),
        ('{"keywords": ["bad \\u12 escape"]}', {"keywords": ["bad \\u12 escape"]}),
    ],
)
def test_the_object_with_the_key_is_found(raw, found):
    assert object_in(without_thoughts(raw), ("keywords",)) == (found, "")


def test_two_different_objects_with_the_key_are_a_guess():
    assert object_in('{"keywords": ["a"]} {"keywords": ["b"]}', ("keywords",))[1] == "2 JSON objects where one belongs"


def test_every_outermost_object_is_found_in_order():
    assert objects_in('[{"a": {"b": 1}}, {"c": 2}]') == [{"a": {"b": 1}}, {"c": 2}]


def test_a_thought_that_never_ends_leaves_nothing():
    assert without_thoughts("<think>on and on") == ""
    assert without_thoughts("a < b and <thin> air") == "a < b and <thin> air"


@given(texts, st.booleans())
def test_a_string_is_read_as_json_reads_it(said, ascii_only):
    raw = json.dumps(said, ensure_ascii=ascii_only)
    assert string_at(raw, 0) == (readable(said), True)


@given(texts, st.booleans())
def test_a_string_cut_anywhere_says_a_beginning_of_it(said, ascii_only):
    raw = json.dumps(said, ensure_ascii=ascii_only)
    seen = ""
    for end in range(1, len(raw)):
        now, ended = string_at(raw[:end], 0)
        assert not ended
        assert now.startswith(seen)
        assert readable(said).startswith(now)
        seen = now
    assert len(readable(said)) - len(seen) <= 1


def test_what_is_no_string_says_nothing():
    assert string_at("[1]", 0) == ("", False)
