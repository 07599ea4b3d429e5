"""Which pages their bookmarks confuse: by hand, by rule, and the keyword that tells two apart."""


import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.bookmarks import MOST, STUB_TOKENS, stub
from memory.confusion import Confusion, Marked, confusion, with_keyword

LISBON = "The trip goes to Lisbon by train. The night train leaves for Lisbon at nine. The trip costs little."
OSLO = "The trip goes to Oslo by ferry. The old ferry leaves for Oslo at noon. The trip costs much."
DENTIST = "The dentist looked at the tooth. The dentist will pull that tooth on Monday."


def page(number: int, keywords: str, *texts: str) -> Marked:
    return Marked(number, tuple(filter(None, keywords.split(","))), texts)


def test_a_bookmark_of_its_own_words_finds_every_sentence_that_says_one():
    found = confusion([page(1, "Lisbon", LISBON), page(2, "dentist,tooth", DENTIST)])
    assert found.of(2).hit_ratio == 1.0
    assert [(o.page, o.sentences, o.found, o.silent) for o in found.outlooks] == [(1, 3, 2, 1), (2, 2, 2, 0)]
    assert found.pairs == ()


def test_a_word_that_two_bookmarks_share_is_won_by_the_newer_page():
    found = confusion([page(1, "trip", LISBON), page(2, "trip", OSLO)])
    assert found.of(1).taken == ((2, 2),)
    assert (found.of(2).found, found.of(2).taken) == (1, ())
    (pair,) = found.pairs
    assert (pair.page, pair.other, pair.lost, pair.back, pair.shared) == (1, 2, 2, 0, ("trip",))


def test_the_sentence_that_a_keyword_was_taken_from_proves_nothing():
    once = page(1, "zeppelin", "We saw a zeppelin over town. The market was full of people.")
    assert confusion([once]).of(1).found == 0
    twice = page(1, "zeppelin", "We saw a zeppelin over town. The zeppelin was full of people.")
    assert confusion([twice]).of(1).found == 2


def test_the_keyword_that_is_suggested_stands_on_no_line_of_the_other_page_and_its_effect_is_what_comes_of_it():
    pages = [page(1, "trip", LISBON), page(2, "trip", OSLO)]
    before = confusion(pages)
    told = before.pairs[0].suggestion
    assert told is not None
    assert told.keyword.lower() in LISBON.lower()
    assert told.keyword.lower() not in OSLO.lower()
    after = confusion([Marked(1, told.keywords, (LISBON,)), pages[1]])
    assert (told.before, told.after) == (before.of(1).hit_ratio, after.of(1).hit_ratio)
    assert (told.all_before, told.all_after) == (before.hit_ratio, after.hit_ratio)
    assert told.after > told.before


def test_two_pages_that_say_the_same_get_no_suggestion():
    found = confusion([page(1, "trip", LISBON), page(2, "trip", LISBON)])
    assert found.pairs[0].lost
    assert found.pairs[0].suggestion is None


def test_chinese_pages_are_told_apart_as_well():
    one = "旅行坐火车去里斯本。夜里的火车九点开往里斯本。"
    two = "旅行坐渡轮去奥斯陆。中午的渡轮开往奥斯陆。"
    found = confusion([page(1, "旅行", one), page(2, "旅行", two)])
    assert found.sentences == 4
    better = confusion([page(1, "里斯本,火车", one), page(2, "奥斯陆,渡轮", two)])
    assert better.hit_ratio == 1.0 > found.hit_ratio


def test_a_keyword_more_takes_the_place_of_the_last_where_the_stub_is_full():
    assert with_keyword(3, ("a1", "b2"), "new") == (("a1", "b2", "new"), ())
    full = ("one", "two", "three", "four", "five")
    kept, dropped = with_keyword(3, full, "new")
    assert (len(kept), kept[-1], dropped) == (MOST, "new", ("five",))
    long = ("extraordinarily long-winded keyword", "another incomprehensible characterisation")
    kept, dropped = with_keyword(3, long, "new", 12)
    assert "new" in stub(3, kept, 12)
    assert dropped


def test_only_the_newest_are_compared_where_there_are_too_many_and_it_is_said():
    pages = [page(n, f"word{n}", f"It is word{n} again and again. Once more word{n} was said.") for n in range(1, 9)]
    found = confusion(pages, at_once=5)
    assert [each.page for each in found.outlooks] == [4, 5, 6, 7, 8]
    assert found.left_out == 3


def test_nothing_to_ask_is_no_fault():
    empty = confusion([])
    assert (empty.hit_ratio, empty.taken_ratio, empty.pairs) == (0.0, 0.0, ())
    quiet = confusion([page(1, "", "ok"), page(2, "word", "")])
    assert [each.hit_ratio for each in quiet.outlooks] == [0.0, 0.0]


WORDS = st.lists(
    st.sampled_from(["anna", "boat", "cat", "dune", "egg", "fig", "gnu", "hat", "ink", "jam"]), min_size=3, max_size=8
)
PAGES = st.lists(st.tuples(st.lists(WORDS, min_size=1, max_size=4), WORDS), min_size=1, max_size=6)


def made(pages: list[tuple[list[list[str]], list[str]]]) -> Confusion:
    return confusion([
        Marked(n, tuple(dict.fromkeys(keywords))[:4], (". ".join(map(" ".join, said)) + ".",))
        for n, (said, keywords) in enumerate(pages, 1)
    ])  # fmt: skip


@given(PAGES)
def test_every_sentence_is_found_taken_or_silent_and_the_same_pages_give_the_same(pages):
    one, two = made(pages), made(pages)
    assert one == two
    for each in one.outlooks:
        assert each.sentences == each.found + each.silent + sum(n for _, n in each.taken)
        assert 0 <= each.hit_ratio <= 1
    for pair in one.pairs:
        assert (pair.page, pair.lost) >= (0, pair.back)
        assert pair.suggestion is None or pair.suggestion.after > pair.suggestion.before


def test_of_sixty_pages_every_sentence_is_asked():
    texts = [[f"Turn {t} of page {n} tells of topic{(n * t) % 37} and thing{n}. Then thing{n} moved to place{t}."
              for t in range(10)] for n in range(1, 61)]  # fmt: skip
    pages = [page(n, f"thing{n},topic{n % 37}", *said) for n, said in enumerate(texts, 1)]
    assert confusion(pages).sentences == 1_200


@pytest.mark.parametrize("keywords", [("trip",), ("trip", "Lisbon"), ()])
def test_what_a_page_would_have_fits_its_stub(keywords):
    kept, _ = with_keyword(1, keywords, "night train")
    assert "night train" in stub(1, kept, STUB_TOKENS)
