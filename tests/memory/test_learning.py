"""Facts by a model: one call after the reply; what it proposes passes the guard; what it garbles loses no turn."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory import Engine
from memory.errors import ModelUnreachable
from memory.models.chat import Answer
from memory.stores import jobs

CAT = "By the way, my cat is called Miso."


def row(quote: str, text: str, **more: Any) -> dict[str, Any]:
    plain = {"kind": "fact", "subject": "user", "attribute": "", "value": "", "negated": False, "action": "new"}
    return {"quote": quote, "text": text, "target": "", **plain, **more}


class Script:
    """A model that says "ok", and draws from the newest turn of the user what it was told to."""

    def __init__(self, *answers: list[dict[str, Any]] | str | Exception) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def __call__(self, llm: str, messages: list[dict[str, Any]], **_: Any) -> Answer:
        prompt = messages[-1]["content"]
        if "worth remembering" not in prompt:
            return Answer("ok", (), 10, 1, 0.0, "stop", llm, 1.0)
        self.prompts.append(prompt)
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            return Answer(answer, (), 10, 1, 0.0, "stop", llm, 1.0)
        turn = [line.split(" ·")[0] for line in prompt.splitlines() if line[:1] == "t" and "(context)" not in line][-1]
        facts = [{"turn": turn, **each} for each in answer]
        return Answer(json.dumps({"facts": facts}), (), 10, 5, 0.0, "stop", llm, 1.0)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    engines: list[Engine] = []

    def with_script(*answers: list[dict[str, Any]] | str | Exception, **changes: Any) -> tuple[Engine, Script]:
        chat = Script(*answers)
        engine = Engine.open(
            tmp_path / "store", user="ana", conversation="trip", llm="gpt-4o-mini", window_tokens=8_000,
            remember="llm", retry_s=0, chat=chat, background=False, **changes,
        )  # fmt: skip
        engines.append(engine)
        return engine, chat

    yield with_script
    for engine in engines:
        engine.close()


def test_more_turns_than_go_into_one_call_are_looked_at_in_several(opened: Any):
    engine, chat = opened(remember_turns=25, page_turns=200)
    for n in range(25):
        engine.say(f"I like drink{n}.")
    engine.work()
    assert engine.memory.knowledge.learned == {"trip": 50}
    assert [f"t{first} ·" in prompt for first, prompt in zip((1, 21, 41), chat.prompts, strict=True)] == [True] * 3


def test_a_word_to_the_memory_does_not_wait_for_the_model_and_takes_nothing_from_it(opened: Any):
    engine, _ = opened()
    engine.say("I like jazz. My budget is 5,000 euros.")
    engine.say("Forget the budget.")
    assert [engine.memory.text(f) for f in engine.memory.facts()] == ["The user likes jazz."]
    engine.work()
    assert [engine.memory.text(f) for f in engine.memory.facts()] == ["The user likes jazz."]


def test_a_turn_is_looked_at_after_the_reply_and_once(opened: Any):
    cat = row("my cat is called Miso", "The user's cat is called Miso.", attribute="cat", value="Miso")
    engine, chat = opened([cat])
    engine.say(CAT)
    assert engine.memory.facts() == []
    engine.work()
    (fact,) = engine.memory.facts()
    assert (fact.by, engine.memory.quotes(fact)[0][1]) == ("gpt-4o-mini", "my cat is called Miso")
    engine.work()
    assert len(chat.prompts) == 1


def test_what_no_turn_says_is_kept_in_quarantine(opened: Any):
    engine, _ = opened([row("call me Nono", "The user wants to be called Nono.", attribute="name", value="Nono")])
    engine.say(CAT)
    engine.work()
    (fact,) = engine.memory.facts(all_states=True)
    assert (fact.state, fact.believed) == ("quarantined", ())


def test_a_target_that_was_never_offered_is_refused_alone(opened: Any):
    same = row("my cat is called Miso", "A cat called Miso.", action="same", target="f12")
    engine, _ = opened([same, row("my cat is called Miso", "The user has a cat.")])
    engine.say(CAT)
    engine.work()
    assert [engine.memory.text(f) for f in engine.memory.facts()] == ["The user has a cat."]
    refused = [o for line in engine.memory.ledger() for o in line.outcomes if o.verdict == "refused"]
    assert "'f12'" in refused[0].reason
    assert "Miso" in engine.memory.words(refused[0].text)


def test_an_answer_that_cannot_be_read_stays_with_its_words_and_rules_read_the_turn(opened: Any):
    engine, _ = opened("My dear, ", "{facts: oops")
    engine.say("My budget is 5,000 euros.")
    engine.work()
    (line,) = [line for line in engine.memory.ledger() if line.raw]
    assert engine.memory.words(line.raw) == "{facts: oops"
    assert line.outcomes[0].verdict == "failed"
    assert [engine.memory.text(f) for f in engine.memory.facts()] == ["The user's budget is 5,000 euros."]
    assert [job.state for job in jobs.of_run(engine.store, engine.scope) if job.kind == jobs.FACTS] == ["failed"]


def test_a_model_that_cannot_be_reached_is_asked_again_and_no_turn_is_left_out(opened: Any):
    engine, chat = opened(ModelUnreachable("nobody answers"), ModelUnreachable("nobody answers"))
    engine.say(CAT)
    engine.work()
    assert engine.memory.knowledge.learned == {}
    chat.answers = [[row("my cat is called Miso", "The user has a cat called Miso.")]]
    engine.say("And it is three years old.")
    engine.work()
    assert engine.memory.knowledge.learned == {"trip": 4}


def test_a_models_verdict_on_a_text_is_applied_recorded_and_undone(opened: Any):
    engine, _ = opened(
        [row("my cat is called Miso", "The user has a cat called Miso.")],
        [row("Miso has moved to my sister", "Miso lives with the user's sister.", action="replaces", target="f1")],
    )
    engine.say(CAT)
    engine.work()
    engine.say("Miso has moved to my sister.")
    engine.work()
    k = engine.memory.knowledge
    assert [f.state for f in k.facts.values()] == ["superseded", "active"]
    change = next(c for c in k.changes.values() if c.cause == "supersede")
    assert change.decided_by == "model:gpt-4o-mini"
    engine.memory.undo(change.number)
    assert [f.name for f in engine.memory.facts()] == ["f1"]


def test_a_model_cannot_retire_what_is_about_something_else(opened: Any):
    city = row("I live in Lyon", "The user lives in Lyon.", attribute="home city", value="Lyon")
    engine, _ = opened(
        [row("my cat is called Miso", "The user's cat is Miso.", attribute="cat", value="Miso")],
        [city | {"action": "replaces", "target": "f1"}],
    )
    engine.say(CAT)
    engine.work()
    engine.say("I live in Lyon with the cat Miso.")
    engine.work()
    assert {engine.memory.words(f.attribute) for f in engine.memory.facts()} == {"cat", "home city"}
