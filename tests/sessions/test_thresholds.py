"""The lines of retrieval, as rules: what other values would have done is what a replay under them does."""

import pytest

from memory.errors import UnknownName
from memory.settings import Settings
from sessions.replay import identified, replay
from sessions.thresholds import LOST, NEEDLESS, Asked, Candidate, Posed, ask, point, posed, suggested, thresholds


def one(*relevant: bool, coverage: float = 0.5, margin: float | None = None, by: str = "label", of: str = "a") -> Asked:
    pages = tuple(Candidate(n, 1.0 / n, each) for n, each in enumerate(relevant, 1))
    missing = tuple(c.page for c in pages if c.relevant)
    return Asked(Posed("?", (1,), 9, by), of, False, missing, pages, coverage, margin)


@pytest.fixture(scope="module")
def replayed(talk, small):
    return replay(identified(talk()), small)


@pytest.fixture(scope="module")
def found(replayed):
    return ask(replayed)


def test_a_question_is_found_where_all_its_pages_come():
    each = one(False, True, True)
    assert [each.outcome(k, 0.2, 0.3) for k in (1, 2, 3)] == [LOST, LOST, "recall"]
    assert each.place == 2


def test_either_limit_lets_a_question_in():
    assert one(True, coverage=0.1, margin=0.4).passes(0.2, 0.3)
    assert one(True, coverage=0.3, margin=0.1).passes(0.2, 0.3)
    assert not one(True, coverage=0.1, margin=0.1).passes(0.2, 0.3)
    assert not one(True, coverage=0.1).passes(0.2, 0.0)  # no vectors spoke


def test_counts_by_hand():
    asked = [one(True, False, False), one(False, True, False), one(False, False, coverage=0.9, by=NEEDLESS)]
    at = point(asked, Settings(), "recall_k", 1.0)
    assert (at.found, at.missed, at.pages, at.right, at.needless) == (1, 1, 2, 1, 1)
    assert at.precision == pytest.approx(1 / 3)
    assert at.recall == 0.5
    assert at.loss == pytest.approx(1 + 0.1 * (1 + 1))


def test_a_histogram_counts_what_answers_and_what_does_not(replayed):
    asked = [one(True, False), one(False, True, coverage=0.99), one(False, coverage=0.0, by=NEEDLESS)]
    found = thresholds(replayed, asked=asked)
    ranks = found.histogram("recall_k")
    assert [(b.low, b.relevant, b.other) for b in ranks[:3]] == [(0.5, 1, 2), (1.5, 1, 1), (2.5, 0, 0)]
    shares = {b.low: (b.relevant, b.other) for b in found.histogram("min_coverage") if b.relevant + b.other}
    assert shares == {0.0: (0, 1), 0.5: (1, 0), 0.95: (1, 0)}
    with pytest.raises(UnknownName):
        found.histogram("page_turns")


def test_a_near_miss_says_the_smallest_change_that_brings_it(replayed):
    s = replayed.settings
    deep = one(*[False] * (s.recall_k + 1), True, coverage=1.0)
    faint = one(True, coverage=s.min_coverage - 0.05)
    found = thresholds(replayed, asked=[deep, faint])
    assert found.near_misses == (deep, faint)
    assert found.nearly(deep) == {"recall_k": s.recall_k + 2}
    (limit,) = found.nearly(faint).values()
    assert faint.outcome(s.recall_k, limit, s.min_margin) == "recall"


def test_a_suggestion_is_chosen_by_the_others_and_says_what_it_misses():
    asked = [one(True, coverage=0.3 + n / 100) for n in range(4)]
    asked += [one(False, coverage=0.1, by=NEEDLESS) for _ in range(4)]
    made = suggested(asked, Settings.of(min_coverage=0.6), "min_coverage")
    assert made is not None
    assert 0.1 < made.value <= 0.3
    assert (made.missed, made.n, made.held_out) == (0, 4, "question")


def test_of_several_conversations_one_is_left_out():
    asked = [one(True, coverage=c, of=name) for name, c in [("a", 0.4), ("a", 0.4), ("b", 0.1), ("b", 0.1)]]
    asked += [one(False, coverage=0.2, by=NEEDLESS, of=name) for name in "aabb" for _ in range(9)]
    made = suggested(asked, Settings.of(min_coverage=0.2), "min_coverage")
    assert made is not None
    assert made.held_out == "conversation"
    assert made.missed == 2  # those of b, by the line that a alone would draw


def test_messages_that_need_nothing_are_no_questions_of_what_it_is_worth(replayed, found):
    made = thresholds(replayed, asked=found)
    assert made.honesty.n == sum(not each.is_needless for each in found) < len(found)
    assert 0 < made.honesty.candidates <= replayed.pages
    assert made.honesty.to_dict()["questions"] in made._repr_html_()


def test_too_few_questions_suggest_nothing():
    assert suggested([one(True), one(True)], Settings(), "recall_k") is None
    with pytest.raises(UnknownName):
        point([], Settings(), "page_turns", 3)


@pytest.mark.parametrize("change", [{"recall_k": 1}, {"recall_k": 6}, {"min_coverage": 0.5}])
def test_a_value_read_off_is_what_asking_under_it_says(replayed, talk, small, found, change):
    other = ask(replay(identified(talk()), small.but(**change)))
    wanted = small.but(**change)
    assert [each.under(wanted) for each in found] == [each.under(wanted) for each in other]


def test_nothing_of_the_future_is_asked(replayed, found):
    for each in found:
        if each.posed.turn:
            last = max((page.last for page in replayed.state.pages.values()
                        if page.number in {c.page for c in each.candidates}), default=0)  # fmt: skip
            assert last < each.posed.turn


def test_recall_never_falls_with_k_and_never_rises_with_a_limit(found, small):
    ks = [point(found, small, "recall_k", float(k)).found for k in range(1, 11)]
    limits = [point(found, small, "min_coverage", n / 10).found for n in range(11)]
    assert ks == sorted(ks)
    assert limits == sorted(limits, reverse=True)


def test_the_whole_shows_itself(replayed, found, small):
    made = thresholds(replayed, asked=found)
    assert {"recall_k", "min_coverage"} == set(made.curves)  # no vectors, no margin
    assert made.now("recall_k").value == small.recall_k
    assert "<table" in made._repr_html_()
    assert len(made.questions()) == sum(p.by != NEEDLESS for p in posed(replayed.recording))
    assert made.to_dict()["questions"] == len(made.open)
