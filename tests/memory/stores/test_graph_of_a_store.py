"""The graph of a user in a store: of this user alone, as every other read path has it, and without erased words."""

from __future__ import annotations

import pytest

from memory.longterm import LongTerm
from memory.stores.erase import erase
from memory.stores.sql import Store

CANARY = "Zanzibar"


@pytest.fixture
def memory(store: Store) -> LongTerm:
    told = LongTerm(store, "ana", "trip")
    told.write("My sister Ann lives in Rome.")
    told.write("My budget is 5000 euros.")
    return told


def labels(memory: LongTerm) -> list[str]:
    return [node["label"] for node in memory.graph.to_dict()["nodes"]]


def test_a_walk_of_one_user_never_meets_another_one_s_facts(store: Store, memory: LongTerm) -> None:
    other = LongTerm(store, "bo", "trip")
    for n in range(3):
        other.write(f"My sister Ann lives in {CANARY}.")
        memory.write(f"My rent is {900 + n} euros.")
    for question in ("Where does my sister live?", f"Tell me about {CANARY}", "Who lives where?"):
        walked = memory.walk(question, 50)
        assert not any(CANARY in memory.text(step.fact) + step.path for step in (*walked.steps, *walked.dropped))
    assert not any(CANARY in label for label in labels(memory))
    answer = other.walk("Where does my sister live?").answer
    assert answer is not None
    assert other.words(answer.value) == CANARY


def test_after_a_correction_every_read_path_says_the_new_value_and_only_the_named_fact_changed(
    memory: LongTerm,
) -> None:
    question = "What is my budget?"
    old = memory.walk(question).answer
    assert old is not None
    before = dict(memory.knowledge.facts)
    change = memory.update(old.id, "8000 euros")
    k = memory.knowledge
    assert {n for n, fact in k.facts.items() if before.get(n) != fact} == {old.id, change.new}
    answers = [memory.walk(question).answer, memory.query(question).found[0], memory.facts()[0]]
    assert [memory.words(fact.value) for fact in answers if fact] == ["8000 euros"] * 3
    current = {f.name for f in k.current}
    says = {n["label"] for n in memory.graph.to_dict()["nodes"] if n["id"] in current}
    assert any("8000" in label for label in says)
    assert not any("5000" in label for label in says)


def test_erased_words_are_in_no_node_and_no_walk_finds_them(store: Store, memory: LongTerm) -> None:
    assert any("Rome" in label for label in labels(memory))
    erase(store, "ana", "Rome").carry_out()
    assert not any("Rome" in label for label in labels(memory))
    assert memory.walk("Tell me about Rome").steps == ()


def test_an_empty_store_has_an_empty_graph_and_a_walk_that_says_so(store: Store) -> None:
    memory = LongTerm(store, "nobody")
    assert memory.graph.counts() == {}
    assert memory.walk("What is my budget?").note == "nothing that is remembered answers it"
