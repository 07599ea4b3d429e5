import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.importance import weigh


@pytest.mark.parametrize(
    ("texts", "weight", "why"),
    [
        (["Please remember: I am allergic to peanuts.", "Noted."], 0.9, "asked to remember: 'Please remember'"),
        (["记住，我对花生过敏"], 0.9, "asked to remember: '记住'"),
        (["Hi!", "Hello", "Thanks so much", "好的。"], 0.1, "greetings and thanks only"),
        (["The budget is not 5000 but 8000."], 0.7, "changes something said before"),
        (["预算改成八千"], 0.7, "changes something said before"),
        (["Rooms 12, 14 and 15 on 3/4."], 0.6, "4 figures in 1 turns"),
        (["I like the sea."], 0.5, "no rule applies"),
        (["hello there, my budget is small"], 0.5, "no rule applies"),
    ],
)
def test_rules(texts, weight, why):
    assert weigh(texts) == (weight, why)


def test_a_mark_beats_every_rule():
    assert weigh(["hi"], marked=True) == (1.0, "marked by the user")


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5), st.booleans())
def test_any_page_gets_a_weight_with_a_reason(texts, marked):
    weight, why = weigh(texts, marked)
    assert 0 <= weight <= 1
    assert why
