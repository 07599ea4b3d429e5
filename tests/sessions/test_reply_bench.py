"""Replies with memory and without it, over a conversation of six turns: the figures as they are counted by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from sessions.importer import import_recordings
from sessions.questions import CROSS, UPDATE, Pinned
from sessions.recording import RecordedTurn, Recording
from sessions.reply_bench import Told, asked_last, reply_figures, reply_rows

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
SAID = ("I am allergic to peanuts.", "Noted.", "My budget is 5,000 euros.", "Good.", "My budget is 8,000 euros now.",
        "I see.")  # fmt: skip
QUESTIONS = (
    Pinned("What am I allergic to?", "ana", "talk", CROSS, ("peanuts",)),
    Pinned("What is my budget?", "ana", "talk", UPDATE, ("8000",), ("5000",)),
    Pinned("What is my shoe size?", "ana", "talk", CROSS, ("forty-one",)),
)


def load(store, settings):
    turns = tuple(
        RecordedTurn(n, "assistant" if n % 2 == 0 else "user", text, START + timedelta(minutes=n))
        for n, text in enumerate(SAID, 1)
    )
    import_recordings(store, [Recording("talk", "ana", turns)], settings=settings, as_heard=True)


@pytest.fixture(scope="module")
def figures():
    return reply_figures(load=load, questions=QUESTIONS)


def test_where_nothing_else_stands_in_the_window_only_memory_answers(figures):
    assert figures["apart"] == {"with": 0.6667, "without": 0.0, "n": 3}


def test_what_stands_in_the_window_is_answered_without_memory_as_well(figures):
    assert (figures["with"], figures["without"], figures["n"]) == (0.6667, 0.6667, 3)
    assert [each["question"] for each in figures["fails"]] == ["What is my shoe size?"]
    assert [row[1:] for row in reply_rows(figures)] == [["0.67", 3], ["0.67", 3], ["0.67", 3], ["0.00", 3]]


@pytest.mark.parametrize(
    ("reply", "right", "stale"),
    [
        ("It is 8,000 euros.", True, False),
        ("You said: “5,000, then 8000”.", True, False),
        ("It is 5,000 euros.", False, True),
        ("I do not find that.", False, False),
    ],
)
def test_a_reply_is_right_by_the_words_of_the_value_in_any_spelling_of_a_number(reply, right, stale):
    told = Told(QUESTIONS[1], reply)
    assert (told.right, told.stale) == (right, stale)


def test_each_question_is_asked_once_and_only_after_the_last_turn():
    earlier = Pinned("What is my budget?", "ana", "talk", UPDATE, ("5000",), turn=3)
    unknown = Pinned("What is the capital of Peru?", "ana", "talk", "irrelevant")
    assert asked_last([*QUESTIONS, QUESTIONS[0], earlier, unknown]) == list(QUESTIONS)
