"""A step that failed and was answered when it was tried again; how long a call took to begin."""

import json
from dataclasses import replace

import pytest

from memory import Engine
from memory.calling import Wanted
from memory.errors import ModelError
from memory.events import ModelCalled
from memory.pager import Said
from tests.memory.conftest import Model
from tests.workbench.conftest import run
from workbench.views.turn import turn
from workbench.views.window import window


def fails(messages):
    raise ModelError("the key is wrong")


@pytest.fixture
def answered(tmp_path):
    """What failed first came again, and was answered."""
    with Engine.open(tmp_path, user="ana", conversation="trip", chat=Model(fails), llm="openai/test") as engine:
        wanted = Wanted("openai/test", tries=1)
        with pytest.raises(ModelError):
            engine.take([Said("Hi")], wanted, after=0)
        assert turn(engine.store, engine.scope, 1).state == "abandoned"
        assert window(engine.store, engine.scope).failed
        engine.caller = replace(engine.caller, chat=Model("Hello"))
        engine.take([], wanted, after=1)
        yield engine


def test_a_step_that_was_answered_when_it_was_tried_again_is_finished_everywhere(answered):
    view = turn(answered.store, answered.scope, 1)
    assert (view.state, view.why) == ("finished", "")
    assert [call.finish for call in view.calls] == ["failed", "stop"]
    assert not window(answered.store, answered.scope).failed
    (step,) = json.loads(run("sql", "select state, reason from steps", "--store", answered.store.path, "--json"))
    assert step == {"state": "finished", "reason": None}


def test_a_call_says_how_long_it_took_to_begin(answered):
    called = next(e.body for e in answered.store.events(answered.scope) if isinstance(e.body, ModelCalled))
    assert turn(answered.store, answered.scope, 1).calls[1].first_ms == called.first_ms
