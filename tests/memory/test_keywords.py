"""A model's keywords: read tolerantly, asked for once more, never guessed, never lost."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.bookmarks import PageWords
from memory.errors import ModelTimeout
from memory.keywords import OTHERS, Improved, Unreadable, all_schema, improve_bookmarks, read_keywords, read_pages
from memory.templates import named
from memory.tokens import count

ENTITIES = named("entities")
PAGES = [
    PageWords(1, ("user: About topic 1: one hotel in Lisbon, a.", "assistant: Noted.")),
    PageWords(2, ("user: About topic 2: two budgets, b, Lisbon.", "assistant: Noted.")),
    PageWords(3, ("user: About topic 3: three pianos, c.", "assistant: Noted.")),
]


class Asked:
    """Gives these answers in turn; keeps what it was asked."""

    def __init__(self, *answers):
        self.left = list(answers)
        self.prompts, self.shapes = [], []

    def __call__(self, prompt, shape):
        self.prompts.append(prompt)
        self.shapes.append(shape)
        return self.left.pop(0)


@pytest.mark.parametrize(
    ("raw", "keywords"),
    [
        ('{"keywords": ["peanut allergy", "Lisbon"]}', ("peanut allergy", "Lisbon")),
        ('```json\n{"keywords": ["a b", "c",],}\n```', ("a b", "c")),
        ("<think>{maybe}</think>{\"keywords\": [\"a\"]}", ("a",)),
        ('About {the trip}: {"keywords": ["里斯本", "预算 8000"]}', ("里斯本", "预算 8000")),
        ('{"keywords": "peanut, Lisbon"}', ("peanut", "Lisbon")),
        ('{"keywords": ["Lisbon", "lisbon", " Lisbon "]}', ("Lisbon",)),
        ('{"keywords": ["[p3:x]", "a,b"]}', ("p3 x", "a b")),
        ('{"keywords": [8000, "x"]}', ("8000", "x")),
        ('{"keywords": ["a","b","c","d","e","f"]}', ("a", "b", "c", "d", "e")),
        ('{"keywords": []}', ()),
        ('{"keywords": "none"}', ()),
        ('{"keywords": null}', ()),
    ],
)  # fmt: skip
def test_an_answer_is_read_tolerantly_and_no_is_one(raw, keywords):
    assert read_keywords(raw) == (keywords, "")


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ("", "there is no JSON object"),
        ("peanut, Lisbon", "there is no JSON object"),
        ('{"keywords": ["half', "breaks off"),
        ('{"words": ["a"]}', 'there is no "keywords"'),
        ('{"keywords": {"a": 1}}', "no list of words"),
        ('{"keywords": [["a"]]}', "no list of words"),
        ('{"keywords": ["%s"]}' % ("x" * 99), "none of its keywords fits"),
        ('{"keywords": ["a"]} {"keywords": ["b"]}', "2 JSON objects"),
    ],
)
def test_what_would_be_a_guess_is_an_error(raw, error):
    keywords, why = read_keywords(raw)
    assert keywords == ()
    assert error in why


def test_each_page_is_asked_about_with_what_the_others_are_known_by():
    ask = Asked('{"keywords": ["one"]}', '{"keywords": []}')
    outcomes = improve_bookmarks(PAGES[:2], ask, ENTITIES, others={1: "old one", 2: "old two", 9: "nine"})
    assert outcomes == [Improved(1, ("one",)), Improved(2, ())]
    first, second = ask.prompts
    assert "p9: nine" in first
    assert "p2: old two" in first
    assert "p1:" not in first
    assert "p2:" not in second
    assert "user: About topic 1: one hotel" in first
    assert ENTITIES.looks_for in first


def test_a_prompt_stays_short_whatever_the_page_and_the_conversation():
    long = PageWords(1, ("word and number 7, " * 9_000,))
    ask = Asked('{"keywords": ["word"]}')
    improve_bookmarks([long], ask, ENTITIES, others={n: f"page {n}" for n in range(2, 900)})
    assert count(ask.prompts[0]) < 1_700
    assert ask.prompts[0].count("\np") == OTHERS


def test_one_retry_tells_what_was_wrong_and_what_still_cannot_be_read_is_kept():
    ask = Asked("I think not.", '{"keywords": ["half', '{"keywords": ["two"]}')
    outcomes = improve_bookmarks(PAGES[:2], ask, ENTITIES)
    assert outcomes == [
        Unreadable((1,), "the JSON breaks off or is malformed", '{"keywords": ["half'),
        Improved(2, ("two",)),
    ]
    assert "could not be used: there is no JSON object" in ask.prompts[1]


def pages(**keywords):
    return json.dumps({"pages": [{"page": name, "keywords": words} for name, words in keywords.items()]})


def test_all_at_once_is_one_call_and_no_keyword_is_shared():
    ask = Asked(pages(p1=["Lisbon", "hotel"], p2=["lisbon", "budget"], p3=[]))
    outcomes = improve_bookmarks(PAGES, ask, ENTITIES, batch=True)
    assert outcomes == [Improved(1, ("Lisbon", "hotel")), Improved(2, ("budget",)), Improved(3, ())]
    assert len(ask.prompts) == 1
    assert ask.shapes == [all_schema(["p1", "p2", "p3"])]


def test_pages_that_the_answer_leaves_out_or_that_were_not_offered():
    raw = pages(p1=["Lisbon"], p77=["ghost"])
    ask = Asked(raw, pages(p3=["three pianos"]))
    outcomes = improve_bookmarks(PAGES, ask, ENTITIES, batch=True)
    assert outcomes == [
        Improved(1, ("Lisbon",)),
        Improved(3, ("three pianos",)),
        Unreadable((2,), "it leaves pages out", pages(p3=["three pianos"])),
    ]
    assert ask.shapes[1] == all_schema(["p2", "p3"])
    assert "About topic 1" not in ask.prompts[1]


def test_a_keyword_of_which_no_word_stands_on_the_page_is_not_used():
    """A small model gives back the words of the prompt, or of another page."""
    ask = Asked('{"keywords": ["peanut allergy", "Hotels"]}', '{"keywords": ["peanut"]}', '{"keywords": ["Porto"]}')
    assert improve_bookmarks(PAGES[:2], ask, ENTITIES) == [
        Improved(1, ("Hotels",)),
        Unreadable((2,), "no word of its keywords stands on the page", '{"keywords": ["Porto"]}'),
    ]
    chinese = [PageWords(1, ("user: 我对花生过敏，预算8000元",))]
    assert improve_bookmarks(chinese, Asked('{"keywords": ["花生过敏", "里斯本"]}'), ENTITIES) == [
        Improved(1, ("花生过敏",))
    ]


def test_a_page_whose_keywords_are_all_another_pages_keeps_the_rules():
    raw = pages(p1=["Lisbon"], p2=["lisbon"], p3=[])
    assert improve_bookmarks(PAGES, Asked(raw), ENTITIES, batch=True) == [
        Improved(1, ("Lisbon",)),
        Improved(3, ()),
        Unreadable((2,), "all of its keywords are another page's as well", raw),
    ]


def test_all_at_once_is_asked_once_more_too():
    ask = Asked("nonsense", pages(p1=["hotel"], p2=["budgets"], p3=["pianos"]))
    assert [type(o) for o in improve_bookmarks(PAGES, ask, ENTITIES, batch=True)] == [Improved] * 3
    never = improve_bookmarks(PAGES, Asked("nonsense", "again"), ENTITIES, batch=True)
    assert never == [Unreadable((1, 2, 3), "there is no JSON object", "again")]


@pytest.mark.parametrize(
    "raw",
    [
        '[{"page": "p1", "keywords": ["a"]}, {"page": 2, "keywords": "b, c"}]',
        'Here: {"pages": [{"page": "[p1:x]", "keywords": ["a"]}, {"page": "page 2", "keywords": ["b", "c"]}]} Done.',
        '{"page": "p1", "keywords": ["a"]}\n{"page": "p2", "keywords": ["b", "c"]}',
    ],
)
def test_a_list_of_pages_is_read_tolerantly(raw):
    assert read_pages(raw, [1, 2]) == ({1: ("a",), 2: ("b", "c")}, "")


def test_nothing_to_ask_asks_nothing_and_a_model_in_trouble_is_no_answer():
    assert improve_bookmarks([], Asked(), ENTITIES) == []

    def late(prompt, shape):
        raise ModelTimeout("late")

    with pytest.raises(ModelTimeout):
        improve_bookmarks(PAGES, late, ENTITIES)


@given(
    st.text(st.characters(codec=None), max_size=80) | st.text(st.sampled_from('{}[]":,pages keyword 1\\'), max_size=60)
)
def test_whatever_comes_is_read_or_refused(raw):
    keywords, error = read_keywords(raw)
    assert not (keywords and error)
    found, error = read_pages(raw, [1, 2])
    assert set(found) <= {1, 2}
    assert bool(found) != bool(error)
