"""The recall funnel narrows: each stage is a part of the one before, and each step that is lost is named."""

from dataclasses import replace

import pytest

from memory.errors import NotFound
from memory.events import Event, PagePagedIn, PagesRecalled
from memory.observed import Observed
from memory.pages import PART, Page, PageTable
from memory.scope import Scope
from memory.state import State
from memory.steps import Step
from sessions.funnel import STAGES, Asked, Funnel, _asked, funnel
from tests.memory.conftest import START, turn


@pytest.fixture(scope="module")
def english(demo_store) -> Funnel:
    return funnel(demo_store, demo_store.main_run("ana", "house-move"))


def test_each_stage_is_a_part_of_the_one_before(english: Funnel):
    counts = list(english.counts.values())
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == len(english.asked) > 20
    assert counts[0] - sum(english.lost.values()) == counts[-1]
    assert english.labelled <= english.steps


def test_what_was_missing_is_an_earlier_turn_and_a_right_page_holds_it(english: Funnel, demo_store):
    state = demo_store.state(english.scope)
    for each in english.asked:
        assert all(turn < each.turn for turn in each.missing)
        held = {t.number for page in each.came for t in state.pages[page].turns}  # no page came in part here
        assert bool(held & set(each.missing)) == (STAGES.index(each.stage) >= STAGES.index("right"))


def test_earlier_steps_alone_are_counted_up_to_a_turn(english: Funnel, demo_store):
    half = funnel(demo_store, english.scope, 100)
    assert set(half.asked) == {each for each in english.asked if each.turn <= 100}


def test_it_says_what_it_is_worth(english: Funnel):
    told = english.to_dict()
    assert f"n = {len(english.asked)} in 1 conversation" in told["honesty"]["questions"]
    assert told["honesty"]["weights"] == "nothing was tuned"
    assert len(told["asked"]) == len(english.asked)
    assert "house-move" in english._repr_html_()


def test_counts_by_hand():
    asked = tuple(Asked(n, (1,), (), stage) for n, stage in enumerate(("should", "right", "used", "recalled"), 2))
    made = Funnel(Scope("u", "c"), 9, 5, 0, asked, 3, 100, 200)
    assert made.counts == {"should": 4, "recalled": 3, "right": 2, "used": 1}
    assert made.lost == {"recalled": 1, "right": 1, "used": 1}


def test_a_run_that_is_not_there_is_an_error(demo_store):
    with pytest.raises(NotFound):
        funnel(demo_store, Scope("ana", "nowhere"))


@pytest.mark.parametrize(("part", "stage"), [((1, 4), "recalled"), ((3, 6), "right")])
def test_a_part_is_right_only_if_the_missing_turn_is_in_it(part, stage):
    state = State(pages=PageTable.of([Page(1, tuple(turn(n) for n in range(1, 9)))]))
    seen = Observed(None, Scope("u", "c"), 9, state, ())
    came = PagePagedIn(1, "model", 40, thrash=False, until=5, level=PART, part=part)
    record = PagesRecalled("", "model", ("p1",), 0, (), (), (1,), (), ())
    step = Step(5, [Event(n, n, 5, START, body) for n, body in enumerate((came, record), 1)])
    assert _asked(step, (5,), seen).stage == stage
    whole = replace(came, level="text", part=(0, 0))  # and once more, whole
    assert _asked(Step(5, [*step.events, Event(3, 3, 5, START, whole)]), (5,), seen).stage == "right"
