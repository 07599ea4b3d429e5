"""The Why view: scores against the line, the gates before it, the way of the words, and what to ask first."""

from itertools import pairwise

import pytest

from memory import Engine
from memory.errors import BadMessage, NotFound
from memory.stores.sql import Store
from workbench.views.why import DEMO, Example, Scored, bins, examples, tried, why

BUDGET = ("budget 5000", "What is my moving budget?", 70)


@pytest.fixture(scope="module")
def demo(tmp_path_factory, demo_copy):
    with Store.open(demo_copy(tmp_path_factory.mktemp("why_view") / "store")) as store:
        yield store, store.main_run("ana", "house-move")


def scored(*scores: float) -> list[Scored]:
    return [Scored(f"p{n}", n, score, "", comes=False, carries=n == 1) for n, score in enumerate(scores, 1)]


def test_the_budget_left_the_window_and_one_setting_brings_it_back(demo):
    view = why(*demo, *BUDGET)
    assert view.verdict.stage == "ranked"
    assert view.verdict.remedy.settings == {"retrieve_k": 1}
    assert view.way.left.turn == 54
    assert view.way.left.cause.startswith("p2 evicted by lru")


def test_pages_are_scored_best_first_and_those_with_the_words_are_told(demo):
    (pages,) = why(*demo, "peanuts", "", 100).scores
    assert pages.of == "pages"
    assert [r.score for r in pages.rows] == sorted((r.score for r in pages.rows), reverse=True)
    assert [r.name for r in pages.carriers] == ["p2"]
    assert sum(r.comes for r in pages.rows) == 3  # recall_k
    assert all(r.comes == (r.score >= pages.line) for r in pages.rows)
    assert not pages.asked


def test_either_gate_lets_pages_come(demo):
    (pages,) = why(*demo, "peanuts", "", 100).scores
    assert {gate.name: gate.passed for gate in pages.gates} == {"min_coverage": True, "min_margin": False}
    assert not pages.shut
    (pages,) = why(*demo, "peanuts", "quantum chromodynamics lattice gauge theory", 100).scores
    assert pages.shut
    assert not any(r.comes for r in pages.rows)


@pytest.mark.parametrize("line", [None, 0.3, 1.0, 2.5])
def test_bins_hold_every_score_once_and_none_has_the_line_inside(line):
    rows = scored(0.0, 0.1, 0.3, 0.30001, 1.0, 1.0, 2.9)
    found = bins(rows, line)
    assert sum(each.count for each in found) == len(rows)
    assert all(a.high == pytest.approx(b.low) for a, b in pairwise(found))
    if line is not None:
        assert not any(each.low + 1e-6 < line < each.high - 1e-6 for each in found)
    for each in found:
        assert each.count == sum(each.low <= r.score < each.high for r in rows) or each is found[-1]
    assert [name for each in found for name in each.carriers] == ["p1"]


def test_equal_scores_are_one_bin():
    assert [each.count for each in bins(scored(0.5, 0.5)) if each.count] == [2]


def test_a_change_that_is_tried_shows_what_comes(demo):
    found = tried(*demo, *BUDGET, "retrieve_k=1")
    came = [part for part in found.parts if part.state == "came"]
    assert [(p.name, p.section, p.holds) for p in came] == [("p2", "recalled", True)]
    with pytest.raises(NotFound, match="retrieve_k=1"):
        tried(*demo, *BUDGET, "anything=1")


@pytest.mark.parametrize("whose", DEMO)
def test_each_example_of_the_demo_is_answered_and_some_are_mended(demo, whose):
    store, _ = demo
    scope = store.main_run(*whose)
    views = [why(store, scope, each.expected, each.question, each.turn) for each in examples(store, scope)]
    assert all(view.verdict.carriers for view in views)
    assert any(view.verdict.remedy for view in views)


def test_another_conversation_is_asked_about_its_users_newest_facts(tmp_path):
    with Store.open(tmp_path / "own") as own:
        engine = Engine.open(own, user="bo", conversation="trip")
        engine.say("My budget for the trip is 5,000 euros.")
        assert examples(own, engine.scope)
        assert all(isinstance(each, Example) and not each.question for each in examples(own, engine.scope))
        assert "5,000" in examples(own, engine.scope)[0].expected


def test_facts_of_a_live_run_are_scored_against_their_own_line(tmp_path):
    with Store.open(tmp_path / "own") as own:
        engine = Engine.open(own, user="bo", conversation="trip")
        engine.say("My budget for the trip is 5,000 euros. I am allergic to peanuts.")
        facts = next(
            s for s in why(own, engine.scope, "5000", "What is the budget for the trip?").scores if s.of == "facts"
        )
        assert facts.line == engine.settings.facts_coverage
        assert facts.carriers
        assert facts.carriers[0].comes == (facts.carriers[0].score >= facts.line)


def test_what_cannot_be_asked_is_told(demo):
    with pytest.raises(BadMessage):
        why(*demo, "the")
    with pytest.raises(NotFound):
        why(*demo, "budget", "", 9_999)


def test_it_shows_itself_as_text(demo):
    view = why(*demo, "<script>alert(1)</script> budget", "<img src=x> budget", 70)
    html = view._repr_html_()
    assert "<script>" not in html
    assert "<img" not in html
    assert view.to_dict()["verdict"]["stage"] == view.verdict.stage
    assert set(view.to_df()["of"]) <= {"pages", "facts"}
