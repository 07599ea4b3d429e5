"""Assertions that a user's own tests make of a memory: true ones pass, false ones say why."""

from pathlib import Path

import pytest

from memory import Engine
from memory.assertions import assert_not_in_prompt, assert_recalled
from memory.models.chat import Answer


@pytest.fixture
def engine(tmp_path: Path):
    def answer(*_: object, **__: object) -> Answer:
        return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)

    settings = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200, "remember": "off"}
    with Engine.open(tmp_path, user="ana", conversation="c", chat=answer, **settings) as opened:
        opened.say("My budget is 8,000 euros.")
        for n in range(9):
            opened.say(f"{n}. " + "The garden needs water and the fence needs paint before summer. " * 10)
        yield opened


def test_what_stands_in_the_prompt_is_recalled(engine: Engine):
    assert assert_recalled(engine, "garden water").in_prompt
    assert assert_recalled(engine, "budget 8000", at_turn=3).in_prompt


def test_what_left_is_not_and_the_message_says_where_it_fell(engine: Engine):
    with pytest.raises(AssertionError, match=r"was not recalled: p1 .*bring it back") as told:
        assert_recalled(engine, "budget 8000")
    assert "ranked" in str(told.value)


def test_the_opposite_holds_where_the_other_fails(engine: Engine):
    assert not assert_not_in_prompt(engine, "budget 8000").in_prompt
    with pytest.raises(AssertionError, match="stands in the prompt"):
        assert_not_in_prompt(engine, "garden water")


def test_a_store_and_a_scope_do_as_well(engine: Engine):
    assert assert_recalled((engine.store, engine.scope), "budget 8000", at_turn=3).in_prompt
