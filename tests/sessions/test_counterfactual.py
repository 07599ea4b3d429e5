"""One turn's prompt with something otherwise, as rules."""

from pathlib import Path

import pytest

from memory import Engine
from memory.errors import BadSetting, NotFound
from memory.models.chat import Answer
from memory.scope import Scope
from memory.settings import Settings
from memory.stores.sql import Store
from sessions.counterfactual import what_if

ANA = Scope("ana", "trip")


def noted(llm: str, messages: object, **asked: object) -> Answer:
    return Answer("Noted.", (), 10, 1, 0.0, "stop", llm, 1.0)


SMALL = Settings.of(window_tokens=1_500, reply_tokens=100, page_turns=4, page_tokens=120)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory):
    """A live conversation in which pages left, and a fact is known from another one."""
    path: Path = tmp_path_factory.mktemp("what_if") / "store"
    with Store.open(path) as store:
        home = Engine.open(store, user="ana", conversation="home", settings=SMALL, background=False, chat=noted)
        home.say("My budget for the trip is 5,000 euros.")
        engine = Engine.open(store, user="ana", conversation="trip", settings=SMALL, background=False, chat=noted)
        for n in range(9):
            engine.say(f"Stop {n}: the museum of the town number {n * 37} opens at {n + 8}, and the train leaves then.")
        engine.say("What is my budget?")
        yield store


@pytest.fixture(scope="module")
def last(told) -> int:
    return told.require(ANA).turns - 1


def test_with_nothing_changed_nothing_moves(told, last):
    made = what_if(told, ANA, last)
    assert made.moved == ()
    assert made.before_tokens == made.after_tokens
    assert made.table


def test_a_smaller_window_holds_fewer_pages(told, last):
    made = what_if(told, ANA, last, settings={"high_watermark": 0.25, "low_watermark": 0.15})
    assert made.after_tokens < made.before_tokens
    assert {p.state for p in made.moved} & {"left", "changed"}


def test_without_a_page_its_tokens_are_saved_and_the_rest_stands(told, last):
    page = next(row for row in what_if(told, ANA, last).table if row.section == "resident")
    made = what_if(told, ANA, last, without=[page.name])
    gone = [p for p in made.moved if p.name == page.name]
    assert [(p.before, p.after) for p in gone] == [(page.tokens, 0)]
    assert made.before_tokens - made.after_tokens == page.tokens
    assert all(p.name == page.name for p in made.moved)


def test_without_a_fact_no_prompt_says_it(told, last):
    rows = [row for row in what_if(told, ANA, last).table if row.section == "facts"]
    assert any("5,000" in row.says for row in rows)
    name = next(row.name for row in rows if "5,000" in row.says)
    made = what_if(told, ANA, last, without=[name])
    assert name in {p.name for p in made.moved if p.state == "left"}
    assert ["5,000" in str(chat) for chat in made.messages] == [True, False]


def test_both_prompts_are_answered_where_a_model_is_given(told, last):
    made = what_if(told, ANA, last, settings={"facts_tokens": 0}, answers=lambda chat: f"{len(chat)} messages")
    assert made.replies == tuple(f"{len(chat)} messages" for chat in made.messages)
    assert made.messages[0] != made.messages[1]


def test_two_replies_are_told_apart_by_their_words(told, last):
    said = iter(["Your budget is 5,000 euros.", "Your budget is not known to me."])
    made = what_if(told, ANA, last, settings={"facts_tokens": 0}, answers=lambda _: next(said))
    assert made.reply_moves == [("5,000 euros.", "not known to me.")]
    assert ">not known to me.</td>" in made._repr_html_()
    said = iter(["预算五千欧元。", "预算八千欧元。"])
    assert what_if(told, ANA, last, answers=lambda _: next(said)).reply_moves == [("五", "八")]
    assert what_if(told, ANA, last).reply_moves == []


def test_what_is_not_there_is_told(told, last):
    with pytest.raises(NotFound, match="p99"):
        what_if(told, ANA, last, without=["p99"])
    with pytest.raises(BadSetting, match="f3 or p7"):
        what_if(told, ANA, last, without=["budget"])
    with pytest.raises(NotFound):
        what_if(told, ANA, 999)


def test_it_shows_itself(told, last):
    made = what_if(told, ANA, last, settings={"page_ins": 1.0})
    assert "<table" in made._repr_html_()
    assert made.to_dict()["changes"] == ["page_ins=1"]
    assert len(made.to_df()) == len(made.table)
