"""Questions in a file: read as written, refused with the reason, pinned and taken out again; erased like all words."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memory import Engine
from memory.errors import BadMessage, BadSetting, NotFound, RecordingError, StoreReadOnly, UnknownName
from memory.models.chat import Answer
from memory.stores.erase import erase
from memory.stores.scan import scan
from memory.stores.sql import Store
from memory.topic import Topic
from sessions.questions import CROSS, IRRELEVANT, UPDATE, Pinned, checked, file_of, pin, read, unpin, write

BUDGET = Pinned("What is my budget?", "ana", "trip", expect=("budget 8000",), evidence=(1,))
CAPITAL = Pinned("What is the capital of Mongolia?", "ana", "trip", IRRELEVANT)


@pytest.fixture
def trip(tmp_path: Path):
    """A conversation of two turns."""

    def answer(*_: object, **__: object) -> Answer:
        return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)

    with Engine.open(tmp_path / "store", user="ana", conversation="trip", chat=answer, window_tokens=2_000) as engine:
        engine.say("My budget is 8,000 euros.")
        yield engine.store


def test_what_is_written_is_read(tmp_path: Path):
    asked = [BUDGET, CAPITAL, Pinned("预算是多少？", "lin", "茶", UPDATE, ("三十二万",), ("二十万",), (85,), 90, True)]
    write(tmp_path / "q.jsonl", asked)
    assert read(tmp_path / "q.jsonl") == tuple(asked)
    assert "预算是多少" in (tmp_path / "q.jsonl").read_text("utf-8")  # readable, no escapes
    assert read(tmp_path / "none.jsonl") == ()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2: no JSON"),
        ("[1]", "line 2: a question is an object"),
        ('{"question": "q", "user": "u", "conversation": "c", "expect": "budget"}', "expect cannot be 'budget'"),
        ('{"question": "q", "user": "u", "conversation": "c", "turn": true}', "turn cannot be 'True'"),
        ('{"question": "q", "user": "u", "conversation": "c", "colour": "red"}', "no field 'colour'"),
        ('{"question": "q", "user": "u"}', "conversation"),
        ('{"format": "memory-workbench questions", "version": 99}', "knows up to 1"),
        ('{"format": "something", "version": 1}', "holds 'something'"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: str, told: str):
    file = tmp_path / "q.jsonl"
    file.write_text(f'{{"format": "memory-workbench questions", "version": 1}}\n{line}\n')
    with pytest.raises(RecordingError, match=told):
        read(file)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"question": " "}, BadMessage),
        ({"kind": "odd"}, UnknownName),
        ({"expect": ("…",)}, BadMessage),
        ({"expect": (), "evidence": ()}, BadSetting),
        ({"kind": CROSS, "expect": ()}, BadSetting),
        ({"kind": IRRELEVANT}, BadSetting),
        ({"kind": UPDATE}, BadSetting),
        ({"evidence": (0,)}, BadSetting),
        ({"turn": -1}, BadSetting),
    ],
)
def test_a_question_that_cannot_be_won_or_lost_is_refused(fields, error):
    with pytest.raises(error):
        checked(replace(BUDGET, **fields))


def test_pinned_twice_is_pinned_once_and_taken_out_is_gone(trip: Store):
    assert pin(trip, BUDGET) == pin(trip, BUDGET)
    pin(trip, CAPITAL)
    assert read(file_of(trip)) == (BUDGET, CAPITAL)
    assert unpin(trip, BUDGET.name) == (BUDGET,)
    assert read(file_of(trip)) == (CAPITAL,)
    with pytest.raises(NotFound, match=BUDGET.name):
        unpin(trip, BUDGET.name)


def test_a_turn_that_is_not_there_and_a_store_for_reading_are_refused(trip: Store):
    with pytest.raises(NotFound, match="no turn 7"):
        pin(trip, Pinned("q?", "ana", "trip", evidence=(7,)))
    with pytest.raises(NotFound):
        pin(trip, Pinned("q?", "ana", "elsewhere", expect=("budget",)))
    with Store.open(trip.path, readonly=True) as other, pytest.raises(StoreReadOnly):
        pin(other, BUDGET)


def test_erased_words_leave_the_questions_of_that_user_alone(trip: Store):
    pin(trip, BUDGET)
    pin(trip, CAPITAL)
    theirs = {"question": "My budget?", "user": "ben", "conversation": "x", "expect": ["budget"]}
    with file_of(trip).open("a") as file:
        file.write(json.dumps(theirs) + "\n")
    erase(trip, "ana", "budget").carry_out()
    assert [each.user for each in read(file_of(trip))] == ["ana", "ben"]
    assert read(file_of(trip))[0] == CAPITAL
    assert not scan(trip, "ana", Topic.of("8,000 euros")).rows


def test_a_deleted_conversation_takes_its_questions_along(trip: Store):
    pin(trip, BUDGET)
    trip.delete("ana", "trip")
    assert read(file_of(trip)) == ()
