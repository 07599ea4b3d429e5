"""Words that somebody will ask for."""

import pytest

from memory.askable import KEYWORDS, SIGNS, WEIGHTS, Candidate, Told, keywords, odds, told
from memory.bookmarks import BOOKMARKS, ENDLESS, STUB_TOKENS, Corpus, PageWords, askable, candidates, stub
from memory.tokens import count

PAGE = (
    "I adopted a greyhound from the shelter last Saturday!",
    "Wow, so lovely! What is the greyhound called?",
    "Pepper. My sister drove me to Lisbon and we took the night train home.",
    "That is wonderful. Everything is quite terrific.",
)


def signs_of(texts: tuple[str, ...], key: str) -> dict[str, float]:
    (found,) = [each for each in told(texts, str.lower) if each.key == key]
    return dict(zip(SIGNS, Candidate(found, 2.0).signs, strict=True))


def test_a_weight_stands_for_the_constant_and_for_each_sign():
    assert len(WEIGHTS) == 1 + len(SIGNS)


def test_how_a_word_is_said():
    once = signs_of(PAGE, "sister")
    assert (once["often"], once["rare"], once["own"], once["fixed"], once["timed"]) == (0.0, 2.0, 1.0, 1.0, 0.0)
    twice = signs_of(PAGE, "greyhound")
    assert (twice["own"], twice["timed"], twice["asked"], twice["fixed"]) == (0.5, 0.5, 0.5, 1.0)
    assert twice["often"] == pytest.approx(0.693, abs=1e-3)
    assert (signs_of(PAGE, "lisbon")["name"], signs_of(PAGE, "pepper")["opens"]) == (1.0, 1.0)
    assert signs_of(PAGE, "wonderful")["of be"] == 1.0
    assert signs_of(("[image: a dog at 5 Main Street]",), "dog")["pictured"] == 1.0


def test_what_somebody_tells_of_his_life_is_likelier_asked_for_than_praise():
    by_key = {each.key: odds(Candidate(each, 2.0).signs) for each in told(PAGE, str.lower)}
    assert by_key["greyhound"] > by_key["sister"] > by_key["terrific"]
    assert all(0 < each < 1 for each in by_key.values())


def test_a_stub_is_filled_but_not_beyond_its_tokens():
    corpus = Corpus()
    texts = (
        "I planted tulips and beans near the shed in April.",
        "I planted carrots and roses near the pond in April.",
        "I planted lavender and leeks near the wall in April.",
        "I planted thyme and dill near the gate in April.",
    )
    found = askable(PageWords(12, texts), corpus)
    assert len(found) == KEYWORDS
    assert STUB_TOKENS - 3 <= count(stub(12, found, ENDLESS)) <= STUB_TOKENS
    words = " ".join(found).split()
    assert len(words) == len(set(words)) >= 10
    assert set(words) <= set(" ".join(texts).replace(".", "").split())


def test_what_a_shorter_stub_drops_is_the_weakest_run():
    said = [Candidate(Told(w, (n, 0), {w: None}, [(False,) * 9]), r) for n, (w, r) in enumerate(
        [("one", 1.0), ("two", 3.0), ("three", 2.0)])]  # fmt: skip
    assert keywords(said, lambda runs: ",".join(runs), 99) == ("two", "three", "one")


def test_the_cheaper_spelling_of_a_word_is_taken():
    said = [Candidate(Told("greyhound", (0, 0), {"GREYHOUNDS": None, "dogs": None}, [(False,) * 9]), 1.0)]
    assert keywords(said, lambda runs: ",".join(runs), 9) == ("dogs",)


def test_words_of_many_pages_are_no_candidates():
    pages = [PageWords(n, (f"I met Caroline, and Caroline saw {w}.",)) for n, w in enumerate(["owls", *["elks"] * 12])]
    corpus = Corpus()
    for page in pages:
        corpus.add(page)
    assert {each.told.key for each in candidates(pages[0], corpus)} == {"owl"}
    assert BOOKMARKS["askable"] is askable
