"""A page that came back in part is shown as that: in the turn's trace, in the terminal, in the page's history."""

from dataclasses import replace

import pytest

from memory import Engine
from tests.memory.conftest import Model, calling, first, text_of
from workbench import terminal
from workbench.views.turn import turn
from workbench.views.window import page


@pytest.fixture
def narrowed(tmp_path):
    """p1 left a wide window; in the narrow one it has no room whole."""
    settings = {"window_tokens": 8_000, "reply_tokens": 100, "boundary": "fixed_10", "remember": "off"}
    with Engine.open(tmp_path, user="ana", conversation="trip", chat=Model(), **settings) as engine:
        for n in range(25):
            engine.say(f"The code of drawer {n} is {7_000 + n}. {text_of(100, seed=n)}")
        engine.change(window_tokens=1_300)
        yield engine


def test_the_turn_says_which_turns_of_a_page_came(narrowed, capsys):
    engine = narrowed
    asks = calling({"page_ids": ["p1"], "question": "What is the code of drawer 3?"})
    engine.caller = replace(engine.caller, chat=Model(first(asks)))
    engine.say("What is the code of drawer 3?")
    [recall] = turn(engine.store, engine.scope, engine.state.user_turn).recalls
    [(number, start, end)] = recall.parts
    assert number == 1
    assert start <= 7 <= end
    assert (start, end) != (1, 10)
    assert recall.arrived == f"p1 (turns {start}-{end} of it)"
    assert recall.arrived in repr(recall)
    assert recall.arrived in recall._html()
    terminal.turn(turn(engine.store, engine.scope, engine.state.user_turn))
    assert f"came {recall.arrived}" in " ".join(capsys.readouterr().out.split())
    rows = [row for row in page(engine.store, engine.scope, 1).history if row.kind == "in_part"]
    assert [row.values["turns"] for row in rows] == [f"{start}-{end}"]
