import pytest

from memory.asking import COMPARISON, CONCLUSION, PLAIN, THEN, asked_for, cues_in, fits, kind_of, mentions_in, named
from memory.graph import entity_key
from memory.relations import RELATIONS


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Why did we move the date?", CONCLUSION),
        ("What should I do about the rent?", CONCLUSION),
        ("我们为什么换了酒店？", CONCLUSION),
        ("What happened after that?", THEN),
        ("When did I sell the car?", THEN),
        ("然后发生了什么？", THEN),
        ("Is Lyon cheaper than Paris?", COMPARISON),
        ("What do Ann and Tom have in common?", COMPARISON),
        ("上海和北京有什么区别？", COMPARISON),
        ("What is my budget?", PLAIN),
        ("我的预算是多少？", PLAIN),
    ],
)
def test_a_question_is_of_one_kind(question, kind):
    assert kind_of(question) == kind


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Who wrote it?", "person"),
        ("In which city is the capital of it?", "city"),
        ("Which country does she come from?", "country"),
        ("Where was she born?", "place"),
        ("What language does he speak?", "language"),
        ("In which country was it made, and who is the head of government there?", "person"),
        ("法国的总统是谁？", "person"),
        ("我住在哪个城市？", "city"),
        ("Tell me about it", ""),
    ],
)
def test_the_head_of_a_question_says_what_kind_of_thing_answers(question, wanted):
    assert asked_for(question) == wanted


def test_a_place_may_be_a_city_or_a_country_and_who_makes_a_thing_may_be_a_firm():
    assert fits("place", "city") == fits("place", "country") == 1
    assert fits("person", "city") == -1
    assert fits("person", "organisation") == fits("place", "organisation") == 0


def words(question: str, attribute: str) -> list[str]:
    return [question[c.start : c.end] for c in cues_in(question) if c.attribute == attribute]


def test_a_wording_within_a_longer_one_does_not_count():
    question = "What is the official language of the country?"
    assert words(question, "official language") == ["official language"]
    assert words(question, "speaks") == []


@pytest.mark.parametrize("attribute", sorted({form.attribute for form in RELATIONS if form.attribute}))
def test_every_relation_that_extraction_knows_can_be_asked_for_by_its_name(attribute):
    question = f"What is the {attribute} of Ada?"
    assert words(question, attribute) or named(attribute, question)


def test_an_attribute_outside_the_table_is_asked_for_by_any_noun_that_names_it():
    assert [(c.start, c.end) for c in named("budget", "What is my overall budget?")] == [(11, 25)]
    assert named("sister", "我妹妹住在哪里？")
    assert not named("budget", "What is my rent?")


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ('Who is the author of "The Witcher"?', "The Witcher"),
        ("What is Rand al'Thor's creed?", "Rand al'Thor"),
        ("Where was Martin Luther King Jr. born?", "Martin Luther King Jr."),
        ("Where did Kūkai, the monk, die?", "Kūkai"),
        ("法国的首都是哪里？", "法国"),
        ("Where does my little sister live?", "user's sister"),
        ("我妹妹住在哪里？", "user's sister"),
        ("What is my budget?", "user"),
    ],
)
def test_a_question_names_whom_it_is_about(question, name):
    assert entity_key(name) in {m.key for m in mentions_in(question)}


def test_a_question_without_words_asks_for_nothing():
    assert list(mentions_in("")) == []
    assert cues_in("") == ()
    assert (asked_for(""), kind_of("")) == ("", PLAIN)
