"""A model's second look: it may drop, reorder, or say that none helps; whatever else it says changes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from memory.engine import Engine
from memory.errors import ModelError, UnknownName
from memory.jsontext import object_in
from memory.models.chat import Answer
from memory.retrieval import Index, Ranking, Weighing
from memory.secondlook import OFFERED, SECOND_LOOKS, Ask, Looked, second_look
from memory.work import look_again

QUESTION = "Which pottery class?"
QUESTION_OF = "The question: Which code has drawer 7001?"


def ranking(k: int = 2, pages: int = 5) -> Ranking:
    index = Index()
    for page in range(1, pages + 1):
        index.add(page, page, f"pottery class {'clay ' * page} number{page} {'wheel' if page == 1 else 'oven' * page}")
    return index.rank(QUESTION, k=k, strategy="words", weighing=Weighing(min_coverage=0))


def look(found: Ranking, how: str, answer: object, k: int = 2) -> tuple[Looked, list[str]]:
    """What becomes of the ranking, and what the model was asked."""
    prompts: list[str] = []

    def ask(prompt: str, shape: Mapping[str, Any]) -> str:
        prompts.append(prompt)
        assert list(shape["properties"]) == shape["required"]
        if isinstance(answer, ModelError):
            raise answer
        return answer if isinstance(answer, str) else json.dumps(answer)

    return second_look(found, QUESTION, k, how, lambda page: f"line\nof {page}", ask), prompts


def test_the_model_is_shown_a_line_of_each_of_the_best() -> None:
    found = ranking(pages=20)
    looked, (prompt,) = look(found, "filter", {"help": []})
    assert looked.offered == tuple(hit.page for hit in (*found.hits, *found.misses))[:OFFERED]
    assert all(f"p{page}: line of {page}\n" in prompt for page in looked.offered)
    assert prompt.count(": line of") == OFFERED
    assert QUESTION in prompt


def test_the_filter_lets_those_come_that_help_and_says_why_not_the_others() -> None:
    found = ranking()
    first, second, third, *_ = (hit.page for hit in (*found.hits, *found.misses))
    looked, _ = look(found, "filter", {"help": [f"p{third}", f"p{first}"]})
    assert looked.ranking.pages == (third, first)
    assert all(not hit.stage and not hit.dropped for hit in looked.ranking.hits)
    (lost,) = (hit for hit in looked.ranking.misses if hit.page == second)
    assert (lost.stage, lost.dropped) == ("model", "the model says that it does not help")
    assert looked.ranking.strategy == "words+filter"
    assert looked.ranking.stages == {**found.stages, "rank": 5, "model": 2}


def test_none_helps_is_an_answer() -> None:
    looked, _ = look(ranking(), "filter", 'I think that none does. {"help": []}')
    assert (looked.ranking.pages, looked.fallback) == ((), "")
    assert looked.ranking.note == "of 5 pages the model was shown, none helps"


def test_the_re_ranker_orders_and_loses_none() -> None:
    found = ranking()
    pages = [hit.page for hit in (*found.hits, *found.misses)]
    looked, _ = look(found, "rerank", {"order": [f"p{pages[4]}", f"p{pages[1]}"]})
    assert looked.ranking.pages == (pages[4], pages[1])
    assert [hit.page for hit in looked.ranking.misses] == [pages[0], pages[2], pages[3]]
    assert looked.ranking.misses[0].dropped == "the model put it at 3 of 5"
    short, _ = look(found, "rerank", {"order": [f"p{pages[3]}"]})
    assert short.ranking.pages == (pages[3], pages[0])


@pytest.mark.parametrize("how", [name for name in SECOND_LOOKS if name != "none"])
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("certainly! p1", "the model's answer could not be used: there is no JSON object"),
        ('{"help": ["p1"', "the model's answer could not be used: the JSON breaks off or is malformed"),
        ({"pages": [1]}, "the model's answer could not be used: there is no list"),
        ({"help": ["p77"], "order": ["p77"]}, "the model's answer could not be used: it names none of the pages"),
        (ModelError("busy"), "the model could not be asked (ModelError)"),
    ],
)
def test_an_answer_that_cannot_be_used_changes_nothing_and_is_told(how: str, answer: object, why: str) -> None:
    found = ranking()
    looked, prompts = look(found, how, answer)
    assert len(prompts) == 1  # a reply waits: nobody is asked twice
    assert looked.fallback.startswith(why)
    assert looked.ranking == replace(found, note=f"{looked.fallback}: as ranked")
    assert looked.raw == (answer if isinstance(answer, str) else "" if isinstance(answer, ModelError) else looked.raw)


def test_without_a_model_nothing_changes_and_it_is_told() -> None:
    found = ranking()
    looked = second_look(found, QUESTION, 2, "filter", str, None)
    assert looked.ranking == replace(found, note="no model was asked for a second look: as ranked")


def never(prompt: str, shape: Mapping[str, Any]) -> str:
    raise AssertionError("nobody is to be asked")


def test_nobody_is_asked_where_it_is_off_or_nothing_was_found() -> None:
    found, ask = ranking(), never
    assert second_look(found, QUESTION, 2, "none", str, ask) == Looked(found)
    nothing = Index().rank(QUESTION)
    assert second_look(nothing, QUESTION, 2, "filter", str, ask) == Looked(nothing)


def test_an_unknown_look_is_named_with_the_known_ones() -> None:
    asks: Ask = never
    with pytest.raises(UnknownName, match="no second look named 'twice'; choose one of: filter, none, rerank"):
        second_look(ranking(), QUESTION, 2, "twice", str, asks)


def test_the_prompt_holds_no_name_to_copy() -> None:
    _, (prompt,) = look(ranking(), "filter", {"help": []})
    assert object_in(prompt)[0] == {"help": ["…"]}


# ── in a conversation ─────────────────────────────────────────────────────────────────────────────────


def searches(engine: Engine) -> list[Any]:
    events = engine.store.events(engine.scope, kinds=["PagesRetrieved"])
    return [event.body for event in events]


@pytest.fixture
def asked_again(opened: Any) -> Any:
    """An engine whose model of memory work says what it is told to, and what the model was sent."""
    sent: list[str] = []

    def make(answer: str, **settings: object) -> tuple[Engine, list[str]]:
        def chat(llm: str, messages: list[dict[str, Any]], **rest: Any) -> Answer:
            says = "Noted."
            if llm == "openai/small":
                sent.append(messages[-1]["content"])
                says = answer
            return Answer(says, (), 5, 5, 0.0, "stop", llm, 1.0)

        engine = opened(llm="openai/large", memory_llm="retrieval=openai/small", retrieve_k=2, **settings)
        engine.caller = replace(engine.caller, chat=chat)
        engine.pager.look_again = lambda *ranking: look_again(engine.pager, engine.caller, *ranking)
        for n in range(14):
            engine.say(f"The code of drawer {7_000 + n} is {n}. " + "It is raining and we talk about it. " * 12)
        return engine, sent

    return make


def test_what_the_model_leaves_out_is_in_the_log(asked_again: Any) -> None:
    engine, sent = asked_again('{"help": []}', second_look="filter")
    engine.say("Which code has drawer 7001?")
    assert QUESTION_OF in sent[-1]
    found = searches(engine)[-1]
    assert (found.strategy, found.chosen) == ("fusion+filter", ())
    assert "none helps" in found.note
    assert {each.stage for each in found.candidates} >= {"model"}
    calls = [event.body for event in engine.store.events(engine.scope, kinds=["ModelCalled"])]
    assert [call.llm for call in calls if call.task == "retrieval"].count("openai/small") == len(sent)


def test_an_unreadable_answer_is_in_the_log_and_the_pages_come(asked_again: Any) -> None:
    engine, _ = asked_again("sure!", second_look="rerank")
    engine.say("Which code has drawer 7001?")
    found = searches(engine)[-1]
    assert found.chosen
    assert found.note.startswith("the model's answer could not be used: there is no JSON object: as ranked")
    failed = [event.body for event in engine.store.events(engine.scope, kinds=["MemoryWorkFailed"])]
    assert {each.task for each in failed} == {"retrieval"}


def test_the_embedded_responder_is_not_asked_and_the_log_says_so(opened: Any) -> None:
    engine = opened(llm="workbench/offline", retrieve_k=2, second_look="filter")
    engine.pager.look_again = lambda *ranking: look_again(engine.pager, engine.caller, *ranking)
    for n in range(14):
        engine.say(f"The code of drawer {7_000 + n} is {n}. " + "It is raining and we talk about it. " * 12)
    engine.say("Which code has drawer 7001?")
    found = searches(engine)[-1]
    assert found.chosen
    assert found.note.startswith("no model was asked for a second look: as ranked")


def test_where_nobody_can_be_asked_pages_come_as_ranked(opened: Any) -> None:
    engine = opened(llm="workbench/offline", retrieve_k=2, second_look="rerank")
    engine.pager.look_again = None  # as in a replay
    for n in range(14):
        engine.say(f"The code of drawer {7_000 + n} is {n}. " + "It is raining and we talk about it. " * 12)
    engine.say("Which code has drawer 7001?")
    assert searches(engine)[-1].note.startswith("no model was asked for a second look: as ranked")
