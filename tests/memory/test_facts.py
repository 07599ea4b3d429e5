import itertools
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.facts import (
    BEGINNING,
    FOREVER,
    Belief,
    Fact,
    Interval,
    Source,
    as_of,
    digest,
    evolution,
    history,
    joined,
    rebelieved,
    without,
)

DAY0 = datetime(2026, 3, 2, 9, tzinfo=UTC)


def at(days: float) -> datetime:
    return DAY0 + timedelta(days=days)


def held(start: float, end: float | None = None) -> Interval:
    return Interval(at(start), FOREVER if end is None else at(end))


def fact(number: int, *beliefs: Belief, value: str = "") -> Fact:
    return Fact(number, number, key="k", value_key=digest(value or str(number)), beliefs=beliefs)


spans = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda t: held(min(t), max(t)))
moments = [at(n / 2) for n in range(42)]


# ── intervals are half-open ───────────────────────────────────────────────────────────────────────────


def test_an_interval_holds_its_first_moment_and_not_its_last():
    lyon = held(1, 3)
    assert [at(n) in lyon for n in (0.5, 1, 2, 3)] == [False, True, True, False]


def test_of_two_that_meet_exactly_one_holds_at_the_very_instant():
    lyon, paris = held(1, 3), held(3)
    assert not lyon.overlaps(paris)
    assert [(at(3) in lyon), (at(3) in paris)] == [False, True]


def test_an_empty_interval_holds_at_no_moment_and_overlaps_nothing():
    empty = held(2, 2)
    assert at(2) not in empty
    assert not empty.overlaps(held(1, 3))
    assert without([held(1, 3)], empty) == (held(1, 3),)


@given(spans, spans)
def test_to_overlap_is_to_share_a_moment(one, other):
    shared = max(one.valid_from, other.valid_from)
    assert one.overlaps(other) == (shared in one and shared in other) == other.overlaps(one)


@given(st.lists(spans, max_size=6), spans)
def test_what_is_left_without_a_cut_holds_everywhere_else(intervals, cut):
    left = without(intervals, cut)
    for moment in moments:
        assert any(moment in i for i in left) == (any(moment in i for i in intervals) and moment not in cut)


@given(st.lists(spans, max_size=6))
def test_joined_intervals_hold_where_any_did_and_never_touch(intervals):
    whole = joined(intervals)
    for moment in moments:
        assert any(moment in i for i in whole) == any(moment in i for i in intervals)
    assert all(a.valid_to < b.valid_from for a, b in itertools.pairwise(whole))


def test_an_interval_is_the_same_in_whatever_zone_it_is_told():
    shanghai = timezone(timedelta(hours=8))
    assert Interval(at(1).astimezone(shanghai), at(3).astimezone(shanghai)) == held(1, 3)
    assert at(1).astimezone(shanghai) in held(1, 3)


# ── two times ─────────────────────────────────────────────────────────────────────────────────────────


def test_what_was_believed_stays_known_as_believed_then():
    beliefs = rebelieved((), [held(0)], at(0))
    beliefs = rebelieved(beliefs, [held(0, 5)], at(6))
    budget = fact(1, *beliefs)
    assert budget.holds(at(7), recorded=at(5))  # then we thought that it still held
    assert not budget.holds(at(7))
    assert budget.holds(at(4))
    assert budget.holds(at(4), recorded=at(5))


@given(st.lists(st.lists(spans, max_size=3), min_size=1, max_size=6))
def test_believing_something_else_changes_nothing_of_what_was_believed_before(steps):
    beliefs: tuple[Belief, ...] = ()
    seen: list[tuple[datetime, list[bool]]] = []
    for n, holds in enumerate(steps):
        beliefs = rebelieved(beliefs, holds, at(100 + n))
        seen.append((at(100 + n), [any(m in i for i in holds) for m in moments]))
        for recorded, expected in seen:
            assert [fact(1, *beliefs).holds(m, recorded) for m in moments] == expected


@given(st.lists(spans, max_size=3))
def test_believing_the_same_again_changes_nothing(holds):
    once = rebelieved((), holds, at(100))
    assert rebelieved(once, holds, at(101)) == once


def test_history_is_how_the_truth_changed_and_evolution_how_our_knowledge_did():
    lyon = fact(1, Belief(at(0), FOREVER, at(0), at(9)), Belief(at(0), at(4), at(9)))
    paris = fact(2, Belief(at(4), FOREVER, at(9)))
    facts = [paris, lyon]
    assert [(i, f.id) for i, f in history(facts, "k")] == [(held(0, 4), 1), (held(4), 2)]
    assert [(i, f.id) for i, f in history(facts, "k", recorded=at(8))] == [(held(0), 1)]
    assert [(b.recorded_from, b.holds, f.id) for b, f in evolution(facts, "k")] == [
        (at(0), held(0), 1),
        (at(9), held(0, 4), 1),
        (at(9), held(4), 2),
    ]
    assert [f.id for f in as_of(facts, at(5), at(8))] == [1]
    assert [f.id for f in as_of(facts, at(5))] == [2]
    assert as_of(facts, at(-1)) == []


def test_the_moment_of_recording_belongs_to_what_is_believed_from_then_on():
    lyon = fact(1, Belief(at(0), FOREVER, at(0), at(9)), Belief(at(0), at(4), at(9)))
    assert lyon.holds(at(5), recorded=at(9) - timedelta.resolution)
    assert not lyon.holds(at(5), recorded=at(9))


# ── what lasts, since when ────────────────────────────────────────────────────────────────────────────


def test_what_ends_later_or_begins_later_still_counts_today():
    until_april = fact(1, Belief(at(0), at(30), at(0)))
    from_april = fact(2, Belief(at(30), FOREVER, at(0)))
    assert until_april.lasts(at(1))
    assert from_april.lasts(at(1))
    assert not until_april.lasts(at(30))
    assert from_april.lasts(at(30))
    assert not until_april.open
    assert not fact(3).lasts(at(1))


def test_a_begin_is_told_as_the_day_it_was_where_it_was_said():
    shanghai = datetime.fromisoformat("2026-03-03T01:30:00+08:00")
    source = Source("trip", 1, 1, 0, 9, "user", shanghai)
    said = Fact(1, 1, sources=(source,), beliefs=(Belief(shanghai.astimezone(UTC), FOREVER, at(0)),))
    assert said.since.date().isoformat() == "2026-03-02"  # in UTC
    assert said.since_when.date().isoformat() == "2026-03-03"
    unknown = Fact(2, 1, sources=(source,), beliefs=(Belief(BEGINNING, at(0), at(0)),))
    assert unknown.since_when == shanghai  # nobody knows since when: the day it was said


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ana", "ana "), ("Home  City", "home city"), ("ＧＰＴ", "gpt"), ("STRASSE", "straße")],
)
def test_a_key_is_the_same_for_words_that_differ_in_case_width_or_blanks(one, other):
    assert digest(one, "x") == digest(other, "x")


def test_a_key_knows_where_the_subject_ends():
    assert digest("a b", "c") != digest("a", "b c")
