"""A page in a sentence or two: by rule its own words, by a model only what stands on it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import tokens
from memory.bookmarks import PageWords
from memory.gist import MOST_TOKENS, Told, extract, read_summary, summarise
from memory.keywords import Unreadable

TALK = [
    (True, "Hi there! Thanks. My moving budget is 5,000 euros. Nice weather today."),
    (False, "Noted. Shall we look at vans? I like long walks on the beach and other things."),
    (True, "Please remember that the piano must not get wet. See you."),
]


def test_the_sentences_that_carry_keywords_and_importance_stand_in_their_order():
    assert extract(TALK, ["moving budget", "piano"]) == (
        "My moving budget is 5,000 euros. Please remember that the piano must not get wet."
    )


def test_chinese_alike():
    said = [(True, "你好！我对花生过敏，预算是8000元。今天天气不错。"), (False, "好的，我知道了。")]
    assert extract(said, ["花生过敏", "预算"]) == "我对花生过敏，预算是8000元。"


def test_a_page_of_nothing_but_greetings_still_has_one():
    assert extract([(True, "Hi!"), (False, "Hello!")]) in ("Hi!", "Hello!")
    assert extract([]) == ""


@given(
    st.lists(st.tuples(st.booleans(), st.text(max_size=400)), max_size=6), st.lists(st.text(max_size=12), max_size=4)
)
def test_it_is_never_longer_than_it_may_be(turns, keywords):
    assert tokens.count(extract(turns, keywords)) <= MOST_TOKENS


class Asked:
    def __init__(self, *answers):
        self.answers, self.prompts = list(answers), []

    def __call__(self, prompt, shape):
        self.prompts.append(prompt)
        return self.answers.pop(0)


PAGE = PageWords(3, ("user: My moving budget is 5,000 euros.", "assistant: Noted: 5,000 euros for the move."))


def test_a_models_summary_is_taken_if_it_stays_on_the_page():
    ask = Asked(json.dumps({"summary": "Moving budget: 5000 euros."}))
    assert summarise(PAGE, ask) == Told(3, "Moving budget: 5000 euros.")
    assert "My moving budget is 5,000 euros." in ask.prompts[0]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I would say it is about money.", "there is no JSON object"),
        ('{"summary": ""}', 'there is no text "summary" in it'),
        ('{"summary": ["a"]}', 'there is no text "summary" in it'),
        ('{"summary": "The moving budget is 8,000 euros."}', "a figure in it does not stand on the page"),
        ('{"summary": "They plan a journey through Portugal by train."}', "most of its words do not stand on the page"),
    ],
)
def test_one_that_does_not_is_asked_for_once_more_and_then_kept_as_it_came(answer, why):
    assert read_summary(answer, "\n".join(PAGE.texts)) == ("", why)
    ask = Asked(answer, answer)
    assert summarise(PAGE, ask) == Unreadable((3,), why, answer)
    assert f"could not be used: {why}" in ask.prompts[1]
