"""Which text holds the words that somebody expects."""

import pytest

from memory.errors import BadMessage
from memory.expected import looked_for


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("budget 8000", "Then let us raise the budget to 8,000 euros."),
        ("the budget is 8,000", "Budget: 8000"),
        ("peanut allergy", "I am allergic to peanuts."),
        ("预算8000", "预算提高到 8,000 元"),
        ("花生过敏", "我对花生过敏，别忘了"),
        ("9.5 km", "the longest run was 9.5 km"),
    ],
)
def test_words_are_found_by_their_stems_and_numbers(expected, text):
    assert looked_for(expected).held(text)


@pytest.mark.parametrize(
    ("expected", "text", "lacks"),
    [
        ("budget 8000", "The budget is 5,000 euros.", ["8000"]),
        ("5,000 euros", "5 of 000 euros", ["5000"]),
        ("花生过敏", "我爱吃花生", ["过敏"]),
    ],
)
def test_one_word_that_lacks_is_told(expected, text, lacks):
    looked = looked_for(expected)
    assert not looked.held(text)
    assert set(lacks) <= set(looked.lacks(text))
    assert looked.share(text) < 1


def test_the_span_is_the_sentence_that_says_so():
    text = "Good morning. My budget is 8,000 euros. It rains."
    start, end = looked_for("budget 8000").span(text)
    assert text[start:end] == "My budget is 8,000 euros."
    both = "The budget changed. It is 8,000 now. It rains."
    start, end = looked_for("budget 8000").span(both)
    assert both[start:end] == "The budget changed. It is 8,000 now."


@pytest.mark.parametrize("words", ["", "  ", "?!", "…"])
def test_words_that_say_nothing_are_refused(words):
    with pytest.raises(BadMessage, match="budget 8000"):
        looked_for(words)
