from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import amend
from memory.amend import Person
from memory.errors import BadMessage, NotFound, StaleFact, StoreDamaged, UndoRefused
from memory.events import Event
from memory.fact_events import RememberingSwitched, TurnRemembered
from memory.facts import Fact, Source
from memory.knowledge import Knowledge, apply, dump, fold, load
from tests.memory.facts_by_hand import Mind, day

# ── anything that may happen ──────────────────────────────────────────────────────────────────────────

days = st.integers(0, 12)
Act = Callable[[Mind], None]


def person(mind: Mind) -> Person:
    return Person("user", mind.now)


def some(mind: Mind, pick: int) -> Fact:
    if not mind.k.facts:
        raise NotFound("nothing is known yet")
    return mind.k.facts[1 + pick % len(mind.k.facts)]


def said(mind: Mind, at: int, value: str, negated: bool, begin: int | None, end: int | None, by: str) -> None:
    mind.says(
        at, value, negated=negated, by=by, valid_from=None if begin is None else day(begin),
        valid_to=None if end is None else day(end),
    )  # fmt: skip


def corrected(mind: Mind, pick: int, value: str, since: int | None) -> None:
    source = Source("~", 0, mind.write(value), 0, 1, "user", mind.now)
    begin = None if since is None else day(since)
    mind.take(amend.correct(mind.k, some(mind, pick).id, value, value, person(mind), mind.write, source, since=begin))


ACTS = {
    "say": st.tuples(days, st.sampled_from("ABC"), st.booleans(), st.none() | days, st.none() | days,
                     st.sampled_from(["user", "user", "user", "assistant"])),
    "correct": st.tuples(st.integers(0, 9), st.sampled_from("ABC"), st.none() | days),
    "end": st.tuples(st.integers(0, 9), days),
    "retract": st.tuples(st.integers(0, 9)),
    "release": st.tuples(st.integers(0, 9)),
    "weigh": st.tuples(st.integers(0, 9), st.sampled_from([0.1, 0.9])),
    "undo": st.tuples(st.integers(0, 12)),
}  # fmt: skip
DISPUTES = {
    "clash": st.tuples(days, st.sampled_from("ABC"), st.sampled_from("abc")),
    "settle": st.tuples(st.integers(0, 9), st.integers(0, 3)),
}
DOES: dict[str, Callable[..., None]] = {
    "say": said,
    "correct": corrected,
    "end": lambda m, n, at: m.take(amend.end(m.k, [some(m, n).id], person(m), day(at))),
    "retract": lambda m, n: m.take(amend.retract(m.k, [some(m, n).id], person(m))),
    "release": lambda m, n: m.take(amend.release(m.k, some(m, n).id, person(m))),
    "weigh": lambda m, n, w: m.take(amend.weigh(m.k, some(m, n).id, person(m), importance=w)),
    "undo": lambda m, n: m.take(amend.undo(m.k, 1 + n % max(1, len(m.k.changes)), person(m))),
}
DOES |= {
    "clash": lambda m, at, value, where: m.says(at, value, conversation=where, seen=0),
    "settle": lambda m, n, side: m.take(amend.settle(m.k, 1 + n, person(m), winner_of(m, 1 + n, side))),
}


def winner_of(mind: Mind, conflict: int, side: int) -> int:
    sides = (0, *amend.conflict_of(mind.k, conflict).facts)
    return sides[side % len(sides)]


def any_of(kinds: dict[str, st.SearchStrategy]) -> st.SearchStrategy[list]:
    return st.lists(st.one_of(*(st.tuples(st.just(name), args) for name, args in kinds.items())), max_size=10)


acts = any_of(ACTS)
disputed = any_of(ACTS | DISPUTES)


def do(mind: Mind, act: tuple[str, tuple]) -> None:
    """What is refused changes nothing."""
    version = mind.k.version
    mind.now += timedelta(minutes=1)
    try:
        DOES[act[0]](mind, *act[1])
    except (BadMessage, NotFound, UndoRefused, StaleFact):
        assert mind.k.version == version


def happened(each: list[tuple[str, tuple]]) -> Mind:
    mind = Mind()
    for act in each:
        do(mind, act)
    return mind


def held(k: Knowledge, moments, recorded=None) -> list[list[int]]:
    return [[f.id for f in k.facts.values() if f.holds(m, recorded)] for m in moments]


MOMENTS = [day(n / 2) for n in range(26)] + [day(100), day(500)]

# ── rules ─────────────────────────────────────────────────────────────────────────────────────────────


@given(disputed)
def test_rebuilt_equals_live_from_the_log_and_from_a_snapshot_at_any_place(each):
    mind = happened(each)
    assert fold(mind.events) == mind.k
    for cut in {0, len(mind.events) // 2, len(mind.events)}:
        half = load(dump(fold(mind.events[:cut])))
        assert half == fold(mind.events[:cut])
        assert fold(mind.events[cut:], half) == mind.k


@given(acts)
def test_one_value_at_most_holds_at_any_moment_whatever_people_did(each):
    mind = happened(each)
    values = [f for f in mind.k.facts.values() if not f.negated]
    recorded = {b.recorded_from for f in values for b in f.beliefs}
    for at in recorded:
        for moment in MOMENTS:
            assert len({f.value_key for f in values if f.holds(moment, at)}) <= 1


@given(disputed)
def test_nothing_that_happens_changes_what_we_knew_before(each):
    mind, seen = Mind(), []
    for act in each:
        do(mind, act)
        seen.append((mind.now, held(mind.k, MOMENTS)))
    for recorded, expected in seen:
        assert held(mind.k, MOMENTS, recorded) == expected


@given(disputed)
def test_numbers_are_given_once_and_nothing_is_ever_taken(each):
    mind, facts, changes = Mind(), 0, 0
    for act in each:
        do(mind, act)
        assert list(mind.k.facts) == list(range(1, len(mind.k.facts) + 1))
        assert list(mind.k.changes) == list(range(1, len(mind.k.changes) + 1))
        assert len(mind.k.facts) >= facts
        assert len(mind.k.changes) >= changes
        facts, changes = len(mind.k.facts), len(mind.k.changes)


@given(disputed, any_of(ACTS | DISPUTES).filter(bool))
def test_the_undo_of_whatever_was_done_last_brings_back_what_was(each, more):
    mind = happened(each)
    before, changes = picture(mind), len(mind.k.changes)
    do(mind, more[0])
    if len(mind.k.changes) == changes:
        return
    after = picture(mind)
    mind.take(amend.undo(mind.k, len(mind.k.changes), person(mind)))
    assert picture(mind) == before
    mind.take(amend.undo(mind.k, len(mind.k.changes), person(mind)))
    assert picture(mind) == after


def picture(mind: Mind) -> tuple[dict, dict]:
    """What an undo brings back: what is believed and how it stands, and what is in dispute."""
    facts = {
        n: (f.believed, f.state, f.importance, f.layer, f.sources)
        for n, f in mind.k.facts.items()
        if f.believed or f.state != "retracted"
    }
    return facts, {c.id: c.facts for c in mind.k.open_conflicts}


@given(disputed)
def test_who_is_in_an_open_conflict_is_marked_and_nobody_else(each):
    mind = happened(each)
    sides = {n for c in mind.k.open_conflicts for n in c.facts}
    assert {f.id for f in mind.k.facts.values() if f.state == "conflicted"} == sides
    assert all(mind.k.facts[n].open for n in sides)
    assert all(len(c.facts) > 1 for c in mind.k.open_conflicts)


@given(disputed)
def test_facts_by_their_key_and_by_their_weight_are_the_facts(each):
    mind, k = Mind(), Knowledge()
    mind.k = k
    for act in each:
        _ = mind.k.by_key, mind.k.weighty, mind.k.profile  # kept from then on
        do(mind, act)
        fresh = load(dump(mind.k))
        assert {key: sorted(f.id for f in fs) for key, fs in mind.k.by_key.items()} == {
            key: sorted(f.id for f in fs) for key, fs in fresh.by_key.items()
        }
        assert all(f is mind.k.facts[f.id] for fs in mind.k.by_key.values() for f in fs)
        assert mind.k.weighty == fresh.weighty
        assert mind.k.profile == fresh.profile


# ── the ledger and the switch ─────────────────────────────────────────────────────────────────────────


def test_a_turn_is_looked_at_once_however_late_its_record_comes():
    k = Knowledge()
    for n, turn in enumerate((1, 3, 2), 1):
        k = apply(k, Event(0, n, 0, day(0), TurnRemembered("trip", turn, "rules", (), 0, day(0))))
    assert k.learned == {"trip": 3}


def test_one_thing_that_somebody_asked_to_keep_leaves_the_turn_to_be_looked_at():
    line = TurnRemembered("trip", 3, "gpt", (), 0, day(0), whole=False)
    assert apply(Knowledge(), Event(0, 1, 0, day(0), line)).learned == {}


def test_remembering_is_on_until_somebody_says_otherwise():
    off = apply(Knowledge(), Event(0, 1, 0, day(0), RememberingSwitched(False, "user", day(0))))
    assert (Knowledge().on, off.on, load(dump(off)).on) == (True, False, False)


def test_a_snapshot_that_cannot_be_read_says_so():
    with pytest.raises(StoreDamaged, match="a snapshot of facts cannot be read"):
        load(b'{"facts": [{}]}')


def test_a_conflict_survives_a_snapshot_with_what_it_was_before():
    mind = Mind()
    mind.says(5, "A", conversation="a", seen=0)
    mind.says(5.001, "B", conversation="b", seen=0)
    mind.take(amend.settle(mind.k, 1, person(mind), 2))
    kept = load(dump(mind.k))
    assert kept == mind.k
    assert kept.changes[3].conflicts == (
        replace(mind.k.conflicts[1], settled=False, winner=0, decided_by="", settled_at=None),
    )
