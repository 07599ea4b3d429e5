from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.facts import Candidate, Source, digest
from memory.graph import BELONGS, CAUSAL, NEGATES, REFERENCE, TEMPORAL, TOPICAL, UPDATES, Graph, entity_key
from memory.knowledge import fold
from memory.pages import Bookmark, Page, PageTable
from memory.state import State
from tests.memory.conftest import turn
from tests.memory.facts_by_hand import Mind, day
from tests.memory.graph_by_hand import Told

DICKENS = (
    "The author of Our Mutual Friend is Charles Dickens.",
    "Charles Dickens was born in the city of Portsmouth.",
)

# ── nodes ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_value_of_one_claim_is_the_entity_that_another_is_about():
    told = Told(*DICKENS)
    assert ("f1", "Charles Dickens") in told.edges(REFERENCE)
    assert ("f2", "Charles Dickens") in told.edges(BELONGS)


@pytest.mark.parametrize("name", ["the witcher", "The Witcher", "Witcher", "Ｗitcher", "  witcher "])
def test_a_name_is_one_entity_however_it_is_written(name):
    assert entity_key(name) == entity_key("witcher") == digest("witcher")


def test_only_what_is_talked_about_often_is_an_entity():
    told = Told(*DICKENS)
    assert "Portsmouth" not in {told.graph.name(n.id) for n in told.graph.nodes.values() if n.kind == "entity"}
    told.tell("Isambard Kingdom Brunel was born in the city of Portsmouth.")
    assert "Portsmouth" in {told.graph.name(n.id) for n in told.graph.nodes.values() if n.kind == "entity"}


def test_what_happened_is_an_event_and_what_holds_a_claim():
    told = Told("My budget is 8000 euros.", "I decided to take the smaller flat.")
    assert [told.graph.nodes[f.name].kind for f in told.k.facts.values()] == ["claim", "event"]


def test_pages_hold_what_was_said_on_them_and_bookmarks_name_entities():
    mind = Told(*DICKENS)
    mark = mind.write("charles dickens,portsmouth")
    first = Page(1, (turn(1), turn(2)), closed=True, bookmark=Bookmark(mark, mark, 0, 4, "rarity"))
    mind.paged(State(pages=PageTable.of([first, Page(2, (turn(3),))])), "a")
    assert ("p2", "p1") in mind.edges(TEMPORAL)
    assert {("f1", "p1"), ("f2", "p1")} <= mind.edges(REFERENCE)
    assert ("b1", "p1") in mind.edges(BELONGS)
    assert ("b1", "Charles Dickens") in mind.edges(REFERENCE)


# ── edges ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_value_updates_the_old_and_a_denial_negates_it():
    told = Told("My budget is 5000 euros.", "My budget is 8000 euros.", "I like jazz.", "I do not like jazz any more.")
    assert told.edges(UPDATES) == {("f2", "f1")}
    assert told.edges(NEGATES) == {("f4", "f3")}


@pytest.mark.parametrize(
    ("said", "cause", "effect"),
    [
        ("I moved to Lyon because I work at Acme.", "employer", "home city"),
        ("My budget is 8000 euros, so I live in Lyon.", "budget", "home city"),
        ("我住在上海，因为我在腾讯工作。", "employer", "home city"),
    ],
)
def test_a_connective_between_two_claims_of_a_turn_says_which_is_why_the_other(said, cause, effect):
    told = Told(said)
    by = {told.words[f.attribute]: f.name for f in told.k.facts.values()}
    assert told.edges(CAUSAL) == {(by[cause], by[effect])}


def test_claims_of_one_turn_without_a_connective_explain_nothing():
    assert not Told("I live in Lyon. My budget is 8000 euros.").edges(CAUSAL)


def test_events_follow_each_other_by_when_they_were():
    told = Told("I decided to sell the car.", "I decided to buy a bike.", "I decided to take the train.")
    assert told.edges(TEMPORAL) == {("f2", "f1"), ("f3", "f2")}


def test_claims_about_one_topic_are_linked_and_others_are_not():
    told = Told("I like green tea from Japan.", "I like black tea from Japan.", "My cat is called Minka.")
    assert ("f2", "f1") in told.edges(TOPICAL)
    assert not any("f3" in pair for pair in told.edges(TOPICAL))


def test_a_change_that_was_undone_links_nothing():
    told = Told("My budget is 5000 euros.", "My budget is 8000 euros.")
    change = next(c for c in told.k.changes.values() if c.old)
    changes = {**told.k.changes, change.number: replace(change, undone_by=9)}
    assert not told.graph.take(replace(told.k, changes=changes)).counts().get(UPDATES)


# ── a projection ──────────────────────────────────────────────────────────────────────────────────────

SENTENCES = st.lists(
    st.sampled_from(
        [
            *DICKENS, "I like green tea.", "I like black tea.", "My budget is 5000 euros.", "My budget is 8000 euros.",
            "I live in Lyon because I work at Acme.", "I decided to sell the car.", "我住在上海。",
        ]
    ),
    max_size=8,
)  # fmt: skip


@given(SENTENCES, st.integers(1, 3))
def test_a_graph_that_grew_is_the_graph_that_is_made_at_once(sentences, step):
    grown = Told()
    for start in range(0, len(sentences), step):
        grown.tell(*sentences[start : start + step])
    anew = Graph(grown.words.__getitem__, grown.spoken).take(grown.k)
    assert anew.to_dict() == grown.graph.to_dict()


@given(SENTENCES)
def test_facts_by_key_kept_along_are_those_sorted_anew(sentences):
    told = Told(*sentences)
    assert dict(told.k.by_key) == dict(fold(told.events).by_key)
    again = replace(told.k)  # nothing worked out is copied
    assert dict(again.by_key) == dict(told.k.by_key)


def test_a_fact_whose_words_were_erased_is_no_node():
    told = Told(*DICKENS)
    gone = replace(told.k.facts[2], state="erased", key="", text=0, subject=0, value=0)
    graph = Graph(told.words.__getitem__).take(replace(told.k, facts={**told.k.facts, 2: gone}))
    assert "f2" not in graph.nodes


def test_everything_that_is_linked_to_everything_is_warned_of():
    calm = Told(*DICKENS)
    assert calm.graph.warning == ""
    mind = Mind()
    for n in range(1, 15):
        mind.hear(Candidate(f"The weekly shop list has milk, bread, eggs and {n} apples", 0, 40), day(n))
    graph = Graph(mind.words.__getitem__).take(mind.k)
    assert graph.density > 0.9
    assert "91 of 91 pairs of claims are alike" in graph.warning


# ── weighing and showing ──────────────────────────────────────────────────────────────────────────────


def test_pagerank_from_a_seed_is_highest_near_it_and_nothing_beyond_what_may_be_walked():
    told = Told(*DICKENS, "The capital of France is Paris.")
    ranks = told.graph.pagerank(["f1"])
    assert ranks["f1"] > ranks["f2"] > ranks["f3"] == 0
    assert told.graph.pagerank(["f1"], among={1, 3})["f2"] == 0


def test_an_empty_graph_shows_itself():
    graph = Graph(str)
    assert repr(graph) == "<Graph: empty>"
    assert graph.to_dict() == {"nodes": [], "edges": [], "density": 0.0, "warning": ""}
    assert graph.pagerank() == {}
    assert "Graph" in graph._repr_html_()


def test_a_graph_escapes_what_it_shows():
    mind = Mind()
    mind.hear(Candidate("<script>alert(1)</script>", 0, 10), day(1))
    shown = Graph(mind.words.__getitem__).take(mind.k)._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown


def test_a_source_of_another_conversation_is_on_no_page_of_this_one():
    told = Told(*DICKENS)
    assert all(isinstance(s, Source) and s.conversation == "a" for f in told.k.facts.values() for s in f.sources)
    told.paged(State(pages=PageTable.of([Page(1, (turn(1), turn(2)))])), "b")
    assert not [e for e in told.graph.edges if e.target == "p1"]
