"""What carrying a page or a fact cost: tokens of prompts, counted in every round, against replies that used it."""

import pytest

from memory import Engine
from memory.errors import NotFound
from memory.models.chat import Answer
from memory.prompt import Message
from memory.scope import Scope
from memory.stores.sql import Store
from sessions.bill import bill
from sessions.importer import import_recordings


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory):
    replies = iter(["Noted.", "You need 8,000 euros for it.", "Fine.", "Fine."])

    def answer(*_: object, **__: object) -> Answer:
        return Answer(next(replies), (), 100, 10, 0.5, "stop", "x", 1.0)

    place = tmp_path_factory.mktemp("bill") / "store"
    with Engine.open(place, user="ana", conversation="c", chat=answer, window_tokens=4_000) as opened:
        opened.say("My budget is 8,000 euros.")
    with Engine.open(place, user="ana", conversation="d", chat=answer, window_tokens=4_000) as opened:
        for said in ("What is my budget?", "What is my budget again?", "Thank you."):
            opened.say(said)
        yield opened


def test_a_fact_costs_its_tokens_wherever_it_stands_and_is_used_where_the_reply_has_its_value(engine: Engine):
    found = bill(engine.store, engine.scope)
    (fact,) = [line for line in found.lines if line.fact]
    assert "8,000" in fact.says
    assert (fact.steps >= 2, fact.used, fact.tokens > fact.waste > 0) == (True, 1, True)
    assert fact.tokens_per_use == fact.tokens


def test_a_page_costs_what_the_prompts_say(store: Store, talk, small):
    import_recordings(store, [talk()], settings=small)
    scope = store.main_run("ana", "talk")
    read = [Message.of_row(row) for event in store.events(scope, kinds=["PromptAssembled"])
            for row in event.body.messages]  # fmt: skip
    carried = sum(message.tokens for message in read if message.page and message.section in ("resident", "recalled"))
    assert bill(store, scope).tokens == carried > 0


def test_money_is_shared_by_tokens_or_follows_the_price(engine: Engine):
    assert 0 < (bill(engine.store, engine.scope).cost_usd or 0) < 1.5  # of three calls at 0.5
    priced = bill(engine.store, engine.scope, usd_per_million=1_000_000)
    assert priced.cost_usd == pytest.approx(priced.tokens)


def test_what_it_is_worth_stands_beside_it(engine: Engine):
    found = bill(engine.store, engine.scope)
    told = found.honesty.to_dict()
    assert told["steps"].startswith("n = 3 in 1 conversation")
    assert told["not measured"].startswith("what a reply would have lacked")
    assert found.to_dict()["honesty"] == told
    assert told["not measured"] in found._repr_html_()


def test_the_most_wasted_comes_first(engine: Engine):
    waste = [line.waste for line in bill(engine.store, engine.scope).lines]
    assert waste == sorted(waste, reverse=True)


def test_a_conversation_that_is_not_there_is_an_error(engine: Engine):
    with pytest.raises(NotFound):
        bill(engine.store, Scope("ana", "nowhere"))
