import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.chains import HOPS, chains
from tests.memory.facts_by_hand import day
from tests.memory.graph_by_hand import Told

WORLD = (
    "The author of Our Mutual Friend is Charles Dickens.",
    "Charles Dickens is married to Catherine Hogarth.",
    "Catherine Hogarth is a citizen of France.",
    "The capital of France is Paris.",
    "Charles Dickens was born in the city of Portsmouth.",
)


@pytest.fixture(scope="module")
def told() -> Told:
    return Told(*WORLD)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who is the author of Our Mutual Friend?", "Charles Dickens"),
        ("Who wrote Our Mutual Friend?", "Charles Dickens"),
        ("Where was the author of Our Mutual Friend born?", "Portsmouth"),
        ("Which country is the wife of the author of Our Mutual Friend a citizen of?", "France"),
        (
            "What is the capital of the country of citizenship of the spouse of the author of Our Mutual Friend?",
            "Paris",
        ),
    ],
)
def test_a_question_is_answered_over_as_many_claims_as_it_spells_out(told, question, answer):
    assert told.answer(question) == answer


def test_the_newest_value_is_followed_and_the_old_one_never():
    told = Told(*WORLD, "The author of Our Mutual Friend is Charles Darwin.", "Charles Darwin was born in Shrewsbury.")
    assert told.answer("Where was the author of Our Mutual Friend born?") == "Shrewsbury"


def test_asked_as_of_another_time_the_value_of_that_time_is_followed():
    told = Told(*WORLD, "The author of Our Mutual Friend is Charles Darwin.", "Charles Darwin was born in Shrewsbury.")
    assert told.answer("Where was the author of Our Mutual Friend born?", at=day(5.5)) == "Portsmouth"


@pytest.mark.parametrize(
    ("said", "question", "answer"),
    [
        (("My sister Ann works at Acme.",), "Where does my sister work?", "Acme"),
        (("My brother Tom lives in Berlin.",), "Which city does my brother live in?", "Berlin"),
        (("My budget is 8000 euros.",), "What is my overall budget?", "8000 euros"),
        (("法国的首都是巴黎。",), "法国的首都是哪里？", "巴黎"),
        (("红楼梦的作者是曹雪芹。", "曹雪芹出生于南京。"), "红楼梦的作者出生在哪里？", "南京"),
    ],
)
def test_what_people_say_of_themselves_is_followed_as_well_in_both_languages(said, question, answer):
    assert Told(*said).answer(question) == answer


@pytest.mark.parametrize(
    "question",
    [
        "Who is the mayor of the city in which Charles Dickens was born?",  # a city is no person
        "Who is the author of Bleak House?",  # never said
        "What does Charles Dickens eat?",
        "How do I bake bread?",
        "",
    ],
)
def test_what_was_never_said_has_no_answer(told, question):
    assert told.answer(question) == ""


def test_what_was_denied_is_not_followed():
    told = Told("My brother Tom lives in Berlin.", "My brother Tom does not live in Berlin any more.")
    assert told.answer("Which city does my brother live in?") == ""


def test_a_chain_never_goes_round_and_ends():
    told = Told("Ann Lee is married to Bob Ray.", "Bob Ray is married to Ann Lee.")
    question = "Who is the spouse of the spouse of the spouse of the spouse of Ann Lee?"
    found = chains(told.graph, question, {1, 2}, most=9)
    assert found
    assert all(len(set(chain.facts)) == len(chain.facts) <= HOPS for chain in found)


@given(st.integers(0, HOPS))
def test_no_chain_is_longer_than_it_may_be(hops):
    told = Told(*WORLD)
    question = "What is the capital of the country of citizenship of the spouse of the author of Our Mutual Friend?"
    found = chains(told.graph, question, set(told.k.facts), hops=hops, most=20)
    assert all(1 <= len(chain.facts) <= hops for chain in found)
