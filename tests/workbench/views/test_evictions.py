"""What each eviction cost, judged by what was asked for afterwards."""

from pathlib import Path

import pytest

from memory import Engine
from memory.models.chat import Answer
from workbench.views.evictions import evictions

LONG = "The garden needs water and the fence needs paint before the summer comes. " * 9


def answer(*_: object, **__: object) -> Answer:
    return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)


@pytest.fixture
def engine(tmp_path: Path):
    settings = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200}
    with Engine.open(tmp_path, user="ana", conversation="c", chat=answer, **settings) as opened:
        for n in range(9):
            opened.say(f"{n}. {LONG}")
        yield opened


def test_a_page_that_nobody_wanted_again_cost_nothing(engine: Engine):
    rows = evictions(engine.store, engine.scope).rows
    assert rows
    assert all((row.back_step, row.recalled_tokens, row.better) == (0, 0, 0) for row in rows)


def test_a_recall_is_what_the_eviction_before_it_cost(engine: Engine):
    engine.recall("p1")
    engine.say("And now?")
    first = evictions(engine.store, engine.scope).rows[0]
    assert (first.page, first.faults, first.back_by) == (1, 1, "user")
    assert first.recalled_tokens > 100
    assert first.better > 1  # another one that was there and is not wanted to this day
    assert first.better_step == 0
    assert first.regretted


def test_the_costliest_stand_first_and_a_past_turn_shows_those_up_to_it(engine: Engine):
    engine.recall("p2")
    engine.say("And now?")
    whole = evictions(engine.store, engine.scope)
    assert [row.recalled_tokens for row in whole.rows] == sorted((r.recalled_tokens for r in whole.rows), reverse=True)
    turns = sorted({row.turn for row in whole.rows})
    assert evictions(engine.store, engine.scope, turn=turns[0] - 1).rows == ()
    assert {row.turn for row in evictions(engine.store, engine.scope, turn=turns[0]).rows} == {turns[0]}


def test_each_is_told_with_policy_score_and_freed_tokens(engine: Engine):
    for row in evictions(engine.store, engine.scope).rows:
        assert row.policy == "lru"
        assert row.freed_tokens > 0
        assert row.stub.startswith(f"[p{row.page}")
