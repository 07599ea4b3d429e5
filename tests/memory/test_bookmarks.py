"""Keywords, stubs and what a model may write to name a page."""

from __future__ import annotations

import unicodedata
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.bookmarks import (
    BOOKMARKS,
    BY_MODEL,
    STUB_TOKENS,
    Corpus,
    Generator,
    PageWords,
    describe,
    named,
    parse_page_ref,
    range_stub,
    rarity,
    stub,
    tidy,
)
from memory.errors import UnknownName
from memory.tokens import count

any_text = st.text(st.characters(codec=None), max_size=60)
mixed_text = st.text(alphabet="abc ABC 12,.:[]\n'我们玩游戏成语しりガ끝말\u202e\u200d\ud800", max_size=60)
all_generators = pytest.mark.parametrize("generate", BOOKMARKS.values(), ids=BOOKMARKS)

ALLERGY = (
    "Hi Dana! How are you today?",
    "I'm allergic to peanuts, so the Thai restaurant on Baker Street is out.",
    "Thanks for telling me. What about the budget?",
    "The budget is $8,000 for the wedding on 7 May 2023.",
)
CHINESE = (
    "你好，我最近在读《百年孤独》这本小说。",
    "好的，谢谢你告诉我！",
    "我对花生过敏，预算是8000元，想去厦门旅游。",
    "厦门的鼓浪屿很漂亮，用GPT模型做攻略吧。",
)


def corpus_of(*pages: tuple[str, ...]) -> Corpus:
    corpus = Corpus()
    for page, texts in enumerate(pages, 1):
        corpus.add(PageWords(page, texts))
    return corpus


def keywords(generate: Generator, *texts: str) -> tuple[str, ...]:
    return generate(PageWords(1, texts), corpus_of(texts))


# Every generator


@all_generators
@settings(max_examples=50, deadline=None)  # the first Chinese text loads a dictionary
@given(texts=st.lists(st.one_of(any_text, mixed_text), max_size=5))
def test_a_generator_gives_two_to_five_clean_keywords_or_none(generate: Generator, texts: list[str]) -> None:
    found = keywords(generate, *texts)
    assert found == keywords(generate, *texts)
    assert not found or 2 <= len(found) <= 5
    assert len({word.casefold() for word in found}) == len(found)
    assert all(word == word.strip() and word and is_clean(word) for word in found)


@all_generators
@pytest.mark.parametrize("texts", [ALLERGY, CHINESE], ids=["english", "chinese"])
def test_a_generator_finds_keywords_in_a_page_with_content(generate: Generator, texts: tuple[str, ...]) -> None:
    assert 2 <= len(keywords(generate, *texts)) <= 5


@all_generators
@pytest.mark.parametrize(
    "texts",
    [
        (),
        ("",),
        ("Hi!", "Hello, how are you?", "I'm good, thanks!", "Bye"),
        ("你好！", "早上好", "谢谢", "好的，再见"),
        ("?!…", "🎉🎉", "\0\ud800"),
    ],
)
def test_a_page_of_small_talk_gets_no_keywords(generate: Generator, texts: tuple[str, ...]) -> None:
    assert keywords(generate, *texts) == ()


@all_generators
def test_what_stands_in_place_of_a_secret_is_no_keyword(generate: Generator) -> None:
    said = "My key is [api key removed], I am [customer number removed], allergic to peanuts since Leeds, 7 May 2023."
    found = keywords(generate, said)
    assert found
    assert not any(word in keyword for keyword in found for word in ("removed", "api", "customer"))


@all_generators
def test_a_generator_works_before_and_after_its_page_is_counted(generate: Generator) -> None:
    page = PageWords(1, ALLERGY)
    assert generate(page, Corpus()) == generate(page, corpus_of(ALLERGY))


# Each one


def test_heuristic_takes_names_numbers_and_dates_of_the_opening() -> None:
    assert keywords(BOOKMARKS["heuristic"], *ALLERGY) == ("Dana", "Thai", "Baker Street", "8000", "7 May 2023")
    assert keywords(BOOKMARKS["heuristic"], "Hm.", "Hm.", "Hm.", "Hm.", "Paris and Rome") == ()
    assert keywords(BOOKMARKS["heuristic"], *CHINESE)[:3] == ("百年孤独", "8000元", "GPT")


def test_rarity_names_what_the_page_is_about() -> None:
    assert keywords(rarity, *ALLERGY) == ("budget", "Thai restaurant", "Baker Street", "8000")
    assert any("厦门" in phrase for phrase in keywords(rarity, *CHINESE))


def test_hybrid_puts_what_no_other_page_says_before_the_names_of_the_opening() -> None:
    other = (
        "Hi Dana! The Thai restaurant on Baker Street again.",
        "The budget is $8,000.",
        "Marzipan for the wedding?",
    )
    page = (*ALLERGY, "And the orchestra plays.", "The orchestra, yes.")
    found = BOOKMARKS["hybrid"](PageWords(1, page), corpus_of(page, other))
    assert found[0] == "orchestra plays"
    assert {"Dana", "Thai"} <= set(found)


@pytest.mark.parametrize("name", ["llm", "llm_batch"])
def test_until_a_model_was_asked_a_rule_makes_the_bookmark(name: str) -> None:
    assert keywords(BOOKMARKS[name], *ALLERGY) == keywords(rarity, *ALLERGY)
    assert BY_MODEL[name] == "rarity"


@pytest.mark.parametrize(
    ("chosen", "fewest", "kept"),
    [
        (["Lisbon", "lisbon", " Lisbon "], 1, ("Lisbon",)),
        (["a,b", "[p3:x]", "new\nline"], 1, ("a b", "p3 x", "new line")),
        (["x" * 99, "", "  ", ",,"], 1, ()),
        (["one"], 2, ()),
        (list("abcdefg"), 1, tuple("abcde")),
    ],
)
def test_keywords_that_somebody_chose_are_made_fit_for_a_stub(
    chosen: list[str], fewest: int, kept: tuple[str, ...]
) -> None:
    assert tidy(chosen, fewest) == kept


def test_words_of_every_page_tell_no_page_apart() -> None:
    pages = [
        (f"Caroline, {topic} again? {topic.title()}!", f"Yes Melanie, {topic} and {other}.")
        for topic, other in [("pottery", "clay"), ("camping", "tents"), ("violins", "bows"), ("soccer", "goals")]
    ]
    corpus = corpus_of(*pages)
    for page, texts in enumerate(pages, 1):
        assert not {"Caroline", "Melanie"} & set(rarity(PageWords(page, texts), corpus))


def test_the_speaker_in_front_of_a_turn_is_no_keyword() -> None:
    found = keywords(
        rarity, "Zelda: I bought a canoe.", "Quentin: A wooden canoe?", "Zelda: Quentin, a kayak.", "Quentin: Oh"
    )
    assert found
    assert not {"Zelda", "Quentin"} & set(" ".join(found).split())


def test_no_keyword_lies_in_another() -> None:
    found = keywords(
        rarity, "The support group met. A support group for parents. Support helps. Pottery class on Monday."
    )
    assert sum("support" in phrase.lower() for phrase in found) == 1


def test_random_depends_on_the_page_alone() -> None:
    corpus = corpus_of(ALLERGY)
    first, again, other = (BOOKMARKS["random"](PageWords(page, ALLERGY), corpus) for page in (1, 1, 2))
    assert first == again != other


def test_a_generator_goes_by_name_or_as_itself() -> None:
    assert named("rarity") is named(rarity) is rarity
    with pytest.raises(UnknownName, match="no bookmark generator named 'rarety'; choose one of: askable, heuristic"):
        named("rarety")


# Corpus


def test_the_corpus_counts_pages_and_a_page_once() -> None:
    corpus = corpus_of(("Peanuts!",), ("peanuts and peanuts",), ("budget",))
    assert (len(corpus), corpus.df("peanut"), corpus.df("budget"), corpus.df("Goat"), corpus.df("the")) == (
        3,
        2,
        1,
        0,
        0,
    )
    assert corpus.df("peanuts", besides=1) == 1
    corpus.add(PageWords(3, ("budget", "and peanuts")))
    corpus.add(PageWords(3, ("only peanuts now",)))
    assert (len(corpus), corpus.df("peanuts"), corpus.df("budget")) == (3, 3, 0)
    assert (corpus.others(3), corpus.others(4)) == (2, 3)


# Stubs and page references


def is_clean(keyword: str) -> bool:
    return not any(c in ",[]:" or (c != " " and unicodedata.category(c)[0] in "CZ") for c in keyword)


def test_worked_stubs() -> None:
    assert stub(3, ["allergy", "peanut", "budget"]) == "[p3:allergy,peanut,budget]"
    assert stub(7, []) == "[p7]"
    assert range_stub(3, 41, ("wedding", "成语接龙"))[0] == "[p3-p41:wedding,成语接龙]"
    assert stub(3, ["a\u202eb", "x:[y],z\n", "8,000", " "]) == "[p3:a b,x y z,8000]"
    assert stub(3, ["one", "two", "three"], max_tokens=6) == "[p3:one]"
    assert stub(3, ["one", "two"], max_tokens=1) == "[p3]"


@given(st.integers(0, 99_999), st.lists(any_text, max_size=6))
def test_any_text_gives_a_short_clean_stub_that_names_its_page(page: int, words: list[str]) -> None:
    text = stub(page, words)
    assert count(text) <= STUB_TOKENS
    assert parse_page_ref(text) == (page, page)
    assert all(is_clean(keyword) for keyword in text[1:-1].partition(":")[2].split(","))


@given(st.integers(0, 9_999), st.integers(0, 9_999), st.lists(any_text, max_size=4))
def test_a_range_stub_names_its_pages(first: int, more: int, words: list[str]) -> None:
    text, tokens = range_stub(first, first + more, words)
    assert tokens == count(text)  # counted in parts, and yet exactly
    assert count(text) <= STUB_TOKENS
    assert parse_page_ref(text) == (first, first + more)


@pytest.mark.parametrize(
    "text", [3, "3", "p3", "P3", " p3 ", "[p3]", "[p3", "[p3:allergy]", "[p3: a,b]", "page 3", "[p3：过敏]"]
)
def test_one_page_is_named_in_many_ways(text: str | int) -> None:
    assert parse_page_ref(text) == (3, 3)


@pytest.mark.parametrize("text", ["p3-p41", "p3–41", "3-41", "[p3-p41: a,b]", "[p3-p41:…]", "P3 — P41"])
def test_a_range_is_named_in_many_ways(text: str) -> None:
    assert parse_page_ref(text) == (3, 41)


@pytest.mark.parametrize("text", ["", "allergy", "p", "-3", "p3,p4", "3.5", True, "9" * 5_000])
def test_what_names_no_page_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(ValueError, match="write p3 for one page, p3-p41 for a range"):
        parse_page_ref(text)


def test_a_range_that_runs_backwards_is_refused() -> None:
    with pytest.raises(ValueError, match="write p3-p41"):
        parse_page_ref("p41-p3")


# Descriptions


def test_a_description_is_the_most_telling_sentence() -> None:
    assert describe(ALLERGY) == "I'm allergic to peanuts, so the Thai restaurant on Baker Street is out."
    assert "厦门" in describe(CHINESE)
    assert describe(()) == describe(("", " \n")) == ""


@settings(deadline=None)
@given(st.lists(any_text, max_size=5))
def test_a_description_is_one_short_line(texts: list[str]) -> None:
    line = describe(texts)
    assert len(line) <= 120
    assert line == " ".join(line.split())
    assert all(unicodedata.category(c)[0] != "C" for c in line)


def test_a_page_is_read_in_milliseconds() -> None:
    pages = [
        tuple(
            f"We painted fence number {n} on day {t}, and Caroline told me about her adoption plans for the summer, "
            "the pottery class, a violin concert and the wooden canoe on the lake"
            for t in range(10)
        )
        for n in range(20)
    ]
    corpus = corpus_of(*pages[:5])
    rarity(PageWords(1, pages[0]), corpus)
    started = thread_time()
    for page, texts in enumerate(pages[5:], 6):
        rarity(PageWords(page, texts), corpus)
    assert (thread_time() - started) / 15 < 0.02  # 0.002 on a quiet machine
