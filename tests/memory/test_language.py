"""Terms for search, words for keywords, sentences: English, Chinese, Japanese, Korean."""

from __future__ import annotations

import subprocess
import sys
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.language import (
    READINGS,
    TRADITIONAL_IN_GB2312,
    _in_gb2312,
    _simplified_map,
    in_other_script,
    is_cjk,
    sentences,
    simplified,
    surface_words,
    terms,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天玩成语接龙游戏", ["今天", "天玩", "玩成", "成语", "语接", "接龙", "龙游", "游戏"]),
        ("成语接龙", ["成语", "语接", "接龙"]),
        ("今天玩成語接龍遊戲", ["今天", "天玩", "玩成", "成语", "语接", "接龙", "龙游", "游戏"]),
        ("預算，頭髮", ["预算", "头发"]),
        ("しりとり", ["しり", "りと", "とり"]),
        ("끝말잇기", ["끝말", "말잇", "잇기"]),
        ("猫", ["猫"]),
        ("GPT模型", ["gpt", "模型"]),
        ("a 猫 b", ["猫", "b"]),
        ("你来了吗", ["你来", "来了"]),
        ("Budgets of 8,000", ["budget", "8000"]),
        ("budget: 8000", ["budget", "8000"]),
        ("Ｂｕｄｇｅｔ ８０００", ["budget", "8000"]),
        ("3.14 and 1,234,567.5", ["3.14", "1234567.5"]),
        ("not spicy, no peanuts", ["not", "spici", "no", "peanut"]),
        ("I don't; I can't; I cannot", ["not", "not", "not"]),
        ("Caroline's dogs' bowls", ["carolin", "dog", "bowl"]),
        ("The computer is an invention", ["comput", "invent"]),
    ],
)
def test_worked_terms(text: str, expected: list[str]) -> None:
    assert list(terms(text)) == expected


@pytest.mark.parametrize("text", ["", " \n", "?!…", "the of and", "的", "我们", "\ud800\0", "🎉"])
def test_a_text_without_terms_gives_none(text: str) -> None:
    assert terms(text) == ()


@given(st.text(st.characters(codec=None), max_size=200))
def test_terms_are_short_and_without_blanks_or_marks(text: str) -> None:
    assert all(term and not any(c.isspace() or c in ",:[]" for c in term) for term in terms(text))


@given(st.text(max_size=100))
def test_case_makes_no_difference(text: str) -> None:
    if text.upper().lower() == text.lower():  # not so for ß and a few others
        assert terms(text.upper()) == terms(text.lower())


@given(st.text(st.sampled_from("我的預算是八千元頭髮後裡麵週裏臺灣乾淨，。a1"), max_size=30))
def test_both_chinese_scripts_have_the_same_terms(text: str) -> None:
    assert terms(text) == terms(simplified(text))


@given(st.text(st.sampled_from("我的预算是八千元头发后里面周台湾干净預髮，。a1"), max_size=30))
def test_the_other_script_is_the_same_text(text: str) -> None:
    others = in_other_script(text)
    assert all(simplified(each) == simplified(text) != "" for each in others)
    assert text not in others
    assert len(set(others)) == len(others) <= READINGS + 1


def test_what_gb2312_has_of_the_other_script_is_told_apart_from_the_rest() -> None:
    table = {chr(code): plain for code, plain in _simplified_map().items() if chr(code) != plain}
    assert {c for c in table if _in_gb2312(c)} == TRADITIONAL_IN_GB2312
    assert simplified("後") == "后"


def test_six_hundred_turns_are_read_in_a_moment() -> None:
    turn = "We painted the old wooden fence together, and Caroline told me about her adoption plans for the summer "
    turns = [f"{turn} number {n} and {n * 7} of them, which cost 8,000 dollars" for n in range(600)]
    terms(turns[0])
    started = thread_time()
    for each in turns:
        terms(each)
    assert thread_time() - started < 0.2  # 0.03 on a quiet machine


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Caroline's well-being: 8,000 steps", ["Caroline", "well-being", "8,000", "steps"]),
        ("今天玩成语接龙游戏", ["今天", "玩", "成语", "接龙", "游戏"]),
        ("我用Gel-Kayano26跑步", ["我用", "Gel-Kayano26", "跑步"]),
        ("東京タワーで", ["東京", "タワー", "で"]),
        ("繁體中文測試", ["繁體中文", "測試"]),
        ("see https://a.b/c?d=e or mail a.b@c.org now", ["see", "or", "mail", "now"]),
        ("", []),
    ],
)
def test_worked_surface_words(text: str, expected: list[str]) -> None:
    assert surface_words(text) == expected


@given(st.text(alphabet="ab1,.'-@ \n。我们今天玩游戏しりガ잇", max_size=60))
def test_surface_words_are_parts_of_the_text_in_order(text: str) -> None:
    at = 0
    for word in surface_words(text):
        at = text.index(word, at) + len(word)


def test_chinese_words_leave_no_file_behind(tmp_path: object) -> None:
    code = (
        "import os, tempfile; tempfile.tempdir = os.environ['WHERE']\n"
        "from memory.language import surface_words\n"
        "assert len(surface_words('今天玩成语接龙游戏')) == 5\n"
        "assert not os.listdir(os.environ['WHERE'])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env={"WHERE": str(tmp_path), "PATH": ""}, capture_output=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi there! Dr. Smith paid $3.50. Fine?  Yes...", ["Hi there!", "Dr. Smith paid $3.50.", "Fine?", "Yes..."]),
        ("你好。今天好吗？“是的！”他说。", ["你好。", "今天好吗？", "“是的！”", "他说。"]),
        ("one line\nanother line", ["one line", "another line"]),
        ("no end", ["no end"]),
        (" \n ", []),
    ],
)
def test_worked_sentences(text: str, expected: list[str]) -> None:
    assert [text[a:b] for a, b in sentences(text)] == expected


@given(st.text(alphabet="aB.!?。！ \n”)", max_size=80))
def test_sentences_are_in_order_and_miss_only_blanks(text: str) -> None:
    edges = [0, *(edge for span in sentences(text) for edge in span), len(text)]
    assert edges == sorted(edges)
    assert all(not text[a:b].strip() for a, b in zip(edges[::2], edges[1::2], strict=True))


@pytest.mark.parametrize(
    ("text", "expected"), [("猫", True), ("しり", True), ("잇", True), ("cat, é", False), ("", False)]
)
def test_is_cjk(text: str, expected: bool) -> None:
    assert is_cjk(text) is expected
