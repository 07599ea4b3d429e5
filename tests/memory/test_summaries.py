"""A summary of every ten turns says what matters in words that were said, and leads back to the pages."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.fact_events import Summary
from memory.language import sentences
from memory.pages import Page
from memory.settings import Settings
from memory.summaries import (
    EVERY,
    MOST_TOKENS,
    Leaf,
    Line,
    SummaryFinder,
    chapter_text,
    chapters,
    pages_of,
    shorten,
    waiting,
)
from memory.tokens import count
from tests.memory.conftest import START, turn

PLANS = [
    "Hello!",
    "Hi, how can I help you?",
    "We are planning a trip to Lisbon. It will be fun.",
    "Nice! When do you want to go?",
    "We decided on 3 June, with a budget of 8,000 euros. My sister Mia comes along.",
    "Noted.",
    "Mia is allergic to peanuts, so no hotel breakfast without a list.",
    "I will keep that in mind.",
    "Thanks!",
    "You're welcome.",
]


def lines(words, *, day=0, first=1, names=("ana", "Assistant")):
    roles = ("user", "assistant")
    return [
        Line(first + i, names[i % 2], said, START + timedelta(days=day, minutes=i), roles[i % 2])
        for i, said in enumerate(words)
    ]


def summary(number, first, last, *, turns=(), level=0, of=(), day="2026-03-02", retired=""):
    return Summary(number, "trip", level, first, last, turns or (first,), of, day, number, 9, "rules", START, retired)


# ── which turns ───────────────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 200))
def test_every_whole_ten_is_summarised_once(turns):
    spans = waiting(turns, [])
    assert [turn for a, b in spans for turn in range(a, b + 1)] == list(range(1, turns // EVERY * EVERY + 1))
    known = [summary(n, *span) for n, span in enumerate(spans, 1)]
    assert waiting(turns, known) == []
    assert waiting(turns, [replace(s, retired="gone") for s in known]) == spans


# ── by rule ───────────────────────────────────────────────────────────────────────────────────────────


def test_decisions_numbers_names_and_denials_come_first():
    made = shorten(lines(PLANS), 40)
    assert "3 June" in made.text
    assert "8,000" in made.text
    assert 5 in made.turns
    assert all(small_talk not in made.text for small_talk in ("Hello", "Thanks", "Noted", "help you"))


def test_chinese_is_shortened_as_well():
    said = ["你好", "你好！", "我们决定六月三日去里斯本，预算八千欧元。", "好的", "妹妹对花生过敏，不能吃花生酱。"]
    made = shorten(lines(said))
    assert "八千欧元" in made.text
    assert "花生" in made.text
    assert "你好" not in made.text


WORDS = st.sampled_from([*PLANS, "预算八千元。", "ok", "", "x" * 900, "No. Never 12 of them, not on Monday!"])


@given(st.lists(WORDS, max_size=10), st.integers(24, 80))
def test_it_is_extracted_fits_and_names_its_turns(said, most):
    told = lines(said)
    made = shorten(told, most)
    assert count(made.text) <= most + 4  # the sum of parts may differ from the whole
    assert set(made.turns) <= {line.turn for line in told}
    assert bool(made.text) == bool(made.turns)
    for line in told:
        if line.turn in made.turns and "…" not in made.text:
            assert any(line.words[a:b] in made.text for a, b in sentences(line.words))


def test_small_talk_has_no_summary():
    assert shorten(lines(["Hello!", "Hi", "Thanks!", "ok"])).turns == ()


def test_a_long_sentence_is_cut_and_marked():
    made = shorten(lines(["The contract lists " + ", ".join(f"item {n} at {n} euros" for n in range(60))]))
    assert made.text.endswith("…")
    assert count(made.text) <= MOST_TOKENS + 2


# ── chapters ──────────────────────────────────────────────────────────────────────────────────────────


def leaf(number, said, day):
    first = (number - 1) * EVERY + 1
    told = tuple(lines(said, first=first, day=day))
    turns = tuple(line.turn for line in told)
    made = summary(number, first, first + EVERY - 1, turns=turns, day=told[0].said_at.date().isoformat())
    return Leaf(made, told)


TRAVEL = ["The hotel in Lisbon costs 120 euros.", "The Lisbon hotel has a garden.", "We booked the hotel."]
MORE_TRAVEL = ["The Lisbon hotel moved our booking to June.", "The hotel garden is closed."]
PIANO = ["My piano teacher Olga plays Chopin.", "Chopin nocturnes are hard on an old piano."]


def test_a_chapter_is_one_day_and_one_topic():
    made = chapters([leaf(1, TRAVEL, 0), leaf(2, MORE_TRAVEL, 0), leaf(3, PIANO, 0), leaf(4, PIANO, 1)])
    assert [chapter.of for chapter in made] == [(1, 2), (3,), (4,)]


def test_a_chapter_says_its_day_its_topic_and_the_turns_it_tells_of():
    [chapter] = chapters([leaf(1, TRAVEL, 0), leaf(2, MORE_TRAVEL, 0)])
    made = chapter_text(chapter)
    assert made.text.startswith("2026-03-02, ")
    assert chapter.topic.lower() in made.text.lower()
    assert set(made.turns) <= {1, 2, 3, 11, 12}
    assert made.turns
    assert count(made.text) <= MOST_TOKENS + 4


def test_earlier_chapters_do_not_change_when_turns_come():
    leaves = [leaf(1, TRAVEL, 0), leaf(2, MORE_TRAVEL, 0), leaf(3, PIANO, 1), leaf(4, PIANO, 1)]
    for n in range(1, len(leaves)):
        before, after = [c.of for c in chapters(leaves[:n])], [c.of for c in chapters(leaves)]
        assert before[:-1] == after[: len(before) - 1]


# ── from summary to pages ─────────────────────────────────────────────────────────────────────────────


def test_the_pages_whose_words_stand_in_it_come_first():
    pages = [Page(n, tuple(turn(t) for t in range(first, first + 5))) for n, first in enumerate((1, 6, 11, 16), 1)]
    assert pages_of(summary(1, 1, 10, turns=(7,)), pages) == (2, 1)
    assert pages_of(summary(2, 11, 20, turns=(12, 18)), pages) == (3, 4)
    assert pages_of(summary(3, 30, 40), pages) == ()


@pytest.fixture
def finder():
    texts = {
        1: "ana: The hotel in Lisbon costs 120 euros.",
        2: "ana: Olga plays Chopin.",
        3: "2026-03-02, hotel: Lisbon hotel",
    }
    made = SummaryFinder(texts.__getitem__)
    made.take([summary(1, 1, 10), summary(2, 11, 20), summary(3, 1, 10, level=1, of=(1,))])
    return made


def test_a_question_finds_the_summary_and_not_its_chapter_as_well(finder):
    assert [s.id for s in finder.find("What does the Lisbon hotel cost?", 3, Settings())] == [1]


def test_a_retired_summary_is_not_found(finder):
    finder.take([summary(2, 11, 20, retired="its words were erased")])
    assert finder.find("Which teacher plays Chopin?", 3, Settings()) == []


def test_an_irrelevant_question_finds_none(finder):
    assert finder.find("quantum chromodynamics", 3, Settings()) == []
