"""The page of a turn tells which old values stood in its prompts, the alarming first."""

from memory import Engine
from memory.stores.sql import Store
from tests.memory.conftest import SMALL, Model
from workbench.views.turn import turn


def test_an_old_value_beside_the_new_one_stands_on_the_turns_page(tmp_path):
    with (
        Store.open(tmp_path / "store") as store,
        Engine.open(store, user="ana", conversation="trip", chat=Model("ok"), **SMALL) as engine,
    ):
        engine.say("My name is Mia. My budget for the trip is 5,000 euros.")
        engine.say("My name is Maria.")
        engine.memory.write("My budget for the trip is 8,000 euros.")
        engine.say("What is my budget for the trip?")
        seen = turn(store, engine.scope, 5)
        name, budget = sorted(seen.old_values, key=lambda row: row.alarm)
        assert seen.old_values[0] == budget
        assert (budget.said, budget.says, budget.how, budget.where, budget.page) == (
            "5,000 euros", "8,000 euros", "unmarked", "page", 1,
        )  # fmt: skip
        assert (name.said, name.how, name.alarm) == ("Mia", "followed", False)
        assert "unmarked, beside the new one" in seen._repr_html_()
        assert turn(store, engine.scope, 1).old_values == ()
        assert seen.to_dict()["old_values"][0]["name"] == budget.name
