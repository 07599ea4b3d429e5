"""What a topic matches, and what is left of a text without it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadMessage
from memory.topic import FILLER, Topic, beside, gone, keywords_without, without

NAMED = [
    ("peanut", "I hate PEANUTS"),
    ("peanut", "a peanut-free flight"),
    ("peanut", "topic:peanut"),
    ("ｐｅａｎｕｔ", "no peanuts"),
    ("peanut", "no ｐｅａｎｕｔ please"),
    ("peanut butter", "Peanut-Butter"),
    ("allergy", "my allergies"),
    ("8000", "it is 8,000 euros"),
    ("8,000", "it is 8000."),
    ("花生", "我对花生酱过敏"),
    ("寿司", "我喜歡壽司"),
    ("壽司", "我喜欢寿司"),
    ("peanut", "我对peanut过敏"),
    ("peanut", '{"q": "\\u0070eanut"}'),
    ("café", "two CAFÉS"),
    ("Ana's dog", "that is ana's dog"),
]
NOT_NAMED = [
    ("cat", "a category"),
    ("peanut", "peanutty"),
    ("8000", "18,000"),
    ("8000", "8000.50"),
    ("8000", "80000"),
    ("花生", "花是生的"),
    ("pea", "peanut"),
]


@pytest.mark.parametrize(("phrase", "text"), NAMED)
def test_a_topic_is_found_in_any_case_width_plural_or_figure(phrase, text):
    assert text in Topic.of(phrase)
    assert without(text, Topic.of(phrase)) not in Topic.of(phrase)


@pytest.mark.parametrize(("phrase", "text"), NOT_NAMED)
def test_it_is_not_found_inside_another_word_or_number(phrase, text):
    assert text not in Topic.of(phrase)
    assert without(text, Topic.of(phrase)) == text


@pytest.mark.parametrize("phrase", ["", "the", "a", "...", "x"])
def test_a_topic_that_would_be_everywhere_is_refused(phrase):
    with pytest.raises(BadMessage, match=r"too little|a word or more"):
        Topic.of(phrase)
    with pytest.raises(BadMessage, match="a word or more"):
        Topic.of()


@given(st.text(max_size=80), st.text(max_size=80), st.sampled_from(["peanut", "Peanuts", "花生", "8000"]))
def test_whatever_stands_around_it_the_topic_goes_and_the_length_stays(before, after, said):
    topic = Topic.of("peanut", "花生", "8000")
    text = f"{before} {said} {after}"
    left = without(text, topic)
    assert left not in topic
    assert len(left) == len(text)


def test_only_the_sentences_that_name_it_go():
    topic = Topic.of("peanut")
    assert without("Hi. I cannot eat peanuts! Bye.", topic) == f"Hi. {FILLER * 21} Bye."
    assert without("你好。我对花生过敏。再见。", Topic.of("花生")) == f"你好。{FILLER * 7}再见。"


def test_spans_that_are_named_take_their_sentence_with_them():
    text = "Nuts? No. I cannot eat them. Bye."
    assert without(text, None, [(12, 15)]) == f"Nuts? No. {FILLER * 18} Bye."


def test_json_stays_json():
    text = json.dumps({"page_ids": ["p3"], "question": 'the "peanut" allergy', "k": 3})
    left = json.loads(without(text, Topic.of("peanut")))
    assert (left["page_ids"], left["k"]) == (["p3"], 3)
    assert set(left["question"]) == {FILLER}


def test_a_stub_loses_its_keyword_and_stays_a_stub():
    topic = Topic.of("peanut")
    assert without("[p3:allergy,peanut,budget]", topic) == "[p3:allergy,budget]"
    assert without("[p3-p41:peanut]", topic) == "[p3-p41]"
    assert keywords_without("allergy,peanut butter,budget", lambda k: k in topic) == "allergy,budget"


def test_what_is_lost_is_what_stands_nowhere_any_more():
    before = ["I am allergic to peanuts", "the flight to Lisbon"]
    assert gone(before, ["", "the flight to Lisbon"]) == {"allerg", "peanut"}


def test_words_that_only_contain_it_are_named():
    assert beside(Topic.of("peanut"), ["peanutty, peanuts", "no nuts"]) == {"peanutty"}


def test_forms_say_what_a_person_should_see_before():
    assert Topic.of("peanut").forms(["Peanuts and a peanut", "peanuts"]) == {"peanuts": 2, "peanut": 1}
