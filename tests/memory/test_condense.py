"""A model's shorter words are read tolerantly, asked for once more, and never taken for more than words."""

import pytest

from memory.condense import ENTRIES, TRIES, condense, read_text
from memory.keywords import Unreadable


def answering(*answers):
    """An `Ask` that gives these answers one after the other, and the prompts that it was asked."""
    left, asked = list(answers), []

    def ask(prompt, shape):
        asked.append(prompt)
        return left.pop(0)

    return ask, asked


@pytest.mark.parametrize(
    "raw",
    [
        '{"text": "Ana likes tea."}',
        '```json\n{"text": "Ana likes tea.",}\n```',
        '<think>{"text": "no"}</think> Here {about tea}: {"text": " Ana  likes tea. "}',
        '{"text": "Ana likes tea."} {"text": "Ana likes tea."}',
    ],
)
def test_the_text_is_found_however_it_is_wrapped(raw):
    assert read_text(raw, 20) == ("Ana likes tea.", "")


@pytest.mark.parametrize("raw", ["", "no", '{"text": ""}', '{"text": 3}', '{"summary": "x"}', '{"text": "broken'])
def test_what_cannot_be_read_says_why(raw):
    assert read_text(raw, 20)[1]


def test_an_answer_far_too_long_is_not_used():
    assert "tokens" in read_text('{"text": "' + "many words " * 60 + '"}', 20)[1]


def test_it_is_asked_once_more_and_told_why():
    ask, asked = answering("hm", '{"text": "Ana likes tea."}')
    assert condense(ENTRIES, ["Ana likes green tea"], 20, ask) == "Ana likes tea."
    assert "could not be used: there is no JSON object" in asked[1]


def test_then_it_is_told_with_the_raw_words():
    ask, asked = answering("hm", "well")
    made = condense(ENTRIES, ["Ana likes green tea"], 20, ask)
    assert isinstance(made, Unreadable)
    assert (made.raw, len(asked)) == ("well", TRIES)
