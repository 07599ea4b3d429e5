import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.polarity import flips, polarity

TURNED = [
    ("The user likes spicy food.", "Please, not spicy food!"),
    ("The user hates Chinese food.", "I love Chinese food."),
    ("The user drinks coffee.", "I stopped drinking coffee."),
    ("The user is not allergic to peanuts.", "I am allergic to peanuts."),
    ("The user no longer lives in Lyon.", "I live in Lyon."),
    ("The user lives in Lyon.", "I no longer live in Lyon."),
    ("The user eats fish.", "I eat no meat, fish or eggs."),
    ("用户喜欢吃辣。", "我不能吃辣，但喜欢甜的。"),
    ("用户不喜欢甜的。", "我不能吃辣，但喜欢甜的。"),
    ("用户对花生不过敏。", "我对花生过敏。"),
    ("用户喜欢香菜。", "我讨厌香菜。"),
    ("The user wants to spend more than 250 euros.", "I don't want to spend more than 250 euros."),
    ("预算超过250元", "预算不能超过250元"),
]
FAITHFUL = [
    ("The user does not like coffee.", "I don't like coffee, but I love tea."),
    ("The user likes tea.", "I don't like coffee, but I love tea."),
    ("The budget is 8000.", "The budget is not 5000 but 8000."),
    ("The user eats fish.", "I eat no meat."),
    ("The user likes jazz.", "I can't wait to hear jazz."),
    ("The user likes jazz and blues.", "I like not only jazz but also blues."),
    ("用户喜欢甜的。", "我不能吃辣，但喜欢甜的。"),
    ("用户不吃辣。", "我不能吃辣。"),
    ("用户觉得电影不错。", "电影不错。"),
    ("Something else altogether.", "I never said that."),
    ("budget: 250 euros", "I don't want to spend more than 250 euros."),
    ("The user spends no more than 250 euros.", "My budget is 250 euros."),
    ("预算：250元", "预算不能超过250元"),
]


@pytest.mark.parametrize(("claim", "source"), TURNED)
def test_a_claim_that_turns_its_source_around_is_caught(claim, source):
    assert "the source" in flips(claim, source)


@pytest.mark.parametrize(("claim", "source"), FAITHFUL)
def test_a_faithful_claim_passes(claim, source):
    assert flips(claim, source) == ""


def test_a_list_goes_on_with_its_negation():
    assert [c.negated for c in polarity("I eat no meat, fish or eggs")] == [True, True]


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_can_be_compared(claim, source):
    assert isinstance(flips(claim, source), str)
    assert flips(claim, claim) == ""
