from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import amend
from memory.amend import Person
from memory.errors import BadMessage, NotFound, StaleFact, UndoRefused
from memory.fact_events import TextErased
from memory.facts import Source
from tests.memory.facts_by_hand import Mind, day


@pytest.fixture
def mind() -> Mind:
    return Mind()


def ana(mind: Mind, seen: int | None = None) -> Person:
    return Person("user", mind.now, seen)


def said(mind: Mind, words: str) -> Source:
    return Source("~", 0, mind.write(words), 0, len(words), "user", mind.now)


def correct(mind: Mind, number: int, value: str, *, since=None, seen: int | None = None) -> None:
    who, source = ana(mind, seen), said(mind, value)
    mind.take(amend.correct(mind.k, number, value, value, who, mind.write, source, since=since))


def undo(mind: Mind, change: int = 0) -> None:
    mind.take(amend.undo(mind.k, change or len(mind.k.changes), ana(mind)))


def standing(mind: Mind) -> dict[int, tuple]:
    """What an undo must bring back."""
    return {
        n: (f.believed, f.state, f.why, f.importance, f.layer, f.conversation, f.sources)
        for n, f in mind.k.facts.items()
        if f.state != "retracted" or f.beliefs
    }


def both_sides(mind: Mind) -> None:
    mind.says(0, "5000")
    seen = mind.k.version
    mind.says(5, "8000", conversation="a", seen=seen)
    mind.says(5.001, "9000", conversation="b", seen=seen)


# ── correct ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_correction_says_that_the_old_value_was_wrong_all_along(mind):
    mind.says(1, "5000")
    correct(mind, 1, "8000")
    assert mind.history() == [(1, inf, "8000")]
    assert (mind.k.facts[1].state, mind.k.facts[2].origin) == ("retracted", "correction")
    assert mind.k.facts[1].holds(day(2), recorded=day(100) + (mind.now - day(100)) / 10)  # we did believe it


def test_a_correction_since_a_day_says_that_it_changed_then(mind):
    mind.says(1, "5000")
    correct(mind, 1, "8000", since=day(4))
    assert mind.history() == [(1, 4, "5000"), (4, inf, "8000")]
    assert mind.k.facts[1].state == "superseded"


def test_the_value_that_it_has_already_is_confirmed_not_doubled(mind):
    mind.says(1, "5000")
    correct(mind, 1, "5000")
    assert list(mind.k.facts) == [1]
    assert len(mind.k.facts[1].sources) == 2
    undo(mind)
    assert len(mind.k.facts[1].sources) == 1


def test_a_correction_that_reaches_back_takes_that_time_from_every_other_value(mind):
    mind.says(1, "5000")
    mind.says(5, "8000")
    correct(mind, 2, "9000", since=day(3))
    assert mind.history() == [(1, 3, "5000"), (3, inf, "9000")]


def test_to_correct_what_was_followed_by_another_value_leaves_that_one_alone(mind):
    mind.says(1, "5000")
    mind.says(5, "8000")
    correct(mind, 1, "6000")
    assert mind.history() == [(1, 5, "6000"), (5, inf, "8000")]
    undo(mind)
    assert mind.history() == [(1, 5, "5000"), (5, inf, "8000")]
    correct(mind, 1, "6000", since=day(3))
    assert mind.history() == [(1, 3, "5000"), (3, 5, "6000"), (5, inf, "8000")]


def test_what_is_over_does_not_change_afterwards(mind):
    mind.says(1, "5000")
    mind.says(5, "8000")
    with pytest.raises(BadMessage, match="f1 is over since"):
        correct(mind, 1, "6000", since=day(7))
    assert mind.history() == [(1, 5, "5000"), (5, inf, "8000")]


def test_to_correct_what_was_taken_back_makes_room_for_itself(mind):
    mind.says(1, "5000")
    mind.take(amend.retract(mind.k, [1], ana(mind)))
    mind.says(5, "8000")
    correct(mind, 1, "6000")
    assert mind.history() == [(1, inf, "6000")]


def test_a_statement_from_before_a_correction_that_arrives_after_it_does_not_undo_it(mind):
    mind.says(1, "5000")
    correct(mind, 1, "8000")
    told = mind.says(4, "6000")
    assert "a correction made later, says otherwise" in told.reason
    assert mind.history() == [(1, inf, "8000")]
    assert mind.k.facts[3].state == "superseded"


def test_what_is_said_after_a_correction_counts(mind):
    mind.says(1, "5000")
    correct(mind, 1, "8000")
    mind.says(200, "6000")
    assert mind.current() == ["6000"]


def test_a_correction_of_one_side_ends_the_conflict_and_the_others_keep_their_past(mind):
    both_sides(mind)
    correct(mind, 2, "7000", since=day(8))
    assert mind.k.conflicts[1].settled
    assert mind.current() == ["7000"]
    assert (0, 5, "5000") in mind.history()
    assert {f.state for f in mind.k.facts.values()} == {"superseded", "active"}


# ── end, retract, release, weigh ──────────────────────────────────────────────────────────────────────


def test_what_is_forgotten_holds_no_more_from_now_on_and_stays_in_history(mind):
    mind.likes(1, "tea")
    mind.likes(2, "jazz")
    mind.take(amend.end(mind.k, [1, 2], ana(mind), day(9)))
    assert mind.history("likes") == [(1, 9, "tea"), (2, 9, "jazz")]
    undo(mind)
    assert mind.current("likes") == ["tea", "jazz"]


def test_what_is_retracted_never_held_but_was_believed(mind):
    mind.says(1, "5000")
    mind.take(amend.retract(mind.k, [1], ana(mind)))
    assert mind.history() == []
    assert mind.k.facts[1].beliefs


def test_what_was_set_apart_is_believed_once_a_person_vouches_for_it(mind):
    mind.says(1, "8000")
    mind.says(5, "5000", by="assistant")
    assert mind.current() == ["8000"]
    mind.take(amend.release(mind.k, 2, ana(mind)))
    assert mind.history() == [(1, 5, "8000"), (5, inf, "5000")]  # and not both


def test_to_vouch_for_what_is_believed_changes_nothing_of_it(mind):
    mind.says(1, "5000")
    mind.says(5, "8000")
    before = standing(mind)
    mind.take(amend.release(mind.k, 1, ana(mind)))
    assert standing(mind) == before


def test_a_weight_a_layer_and_whose_it_is_come_back(mind):
    mind.says(1, "5000", layer="working", conversation="a")
    before = standing(mind)
    mind.take(amend.weigh(mind.k, 1, ana(mind), importance=1.0, layer="semantic"))
    assert (mind.k.facts[1].importance, mind.k.facts[1].layer, mind.k.facts[1].conversation) == (1.0, "semantic", "")
    undo(mind)
    assert standing(mind) == before


def test_no_layer_by_that_name(mind):
    mind.says(1, "5000")
    with pytest.raises(NotFound, match="no layer named 'deep'; choose one of: working, episodic, semantic"):
        amend.weigh(mind.k, 1, ana(mind), layer="deep")


def test_no_fact_by_that_number(mind):
    with pytest.raises(NotFound, match="no fact f3; there are none so far"):
        amend.retract(mind.k, [3], ana(mind))


def test_whoever_decides_on_what_changed_meanwhile_is_told_what_did(mind):
    mind.says(1, "5000")
    seen = mind.k.version
    mind.says(5, "8000")
    with pytest.raises(StaleFact, match=r"f1 was changed meanwhile by rule:single_value \(supersede: it replaces f1"):
        correct(mind, 1, "6000", seen=seen)
    correct(mind, 2, "6000", seen=mind.k.version)


# ── conflicts ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_winner_holds_and_the_other_keeps_what_the_winner_does_not_take(mind):
    both_sides(mind)
    mind.take(amend.settle(mind.k, 1, ana(mind), 3))
    assert mind.current() == ["9000"]
    assert mind.history() == [(0, 5, "5000"), (5, 5.001, "8000"), (5.001, inf, "9000")]
    assert (mind.k.facts[2].state, mind.k.facts[2].why) == ("superseded", "lost to f3")


def test_nobody_wins_where_there_was_no_contradiction(mind):
    both_sides(mind)
    mind.take(amend.settle(mind.k, 1, ana(mind)))
    assert set(mind.current()) == {"8000", "9000"}
    assert {mind.k.facts[n].state for n in (2, 3)} == {"active"}
    assert not mind.k.open_conflicts


def test_a_side_that_is_none_is_refused_naming_the_sides(mind):
    both_sides(mind)
    with pytest.raises(NotFound, match="f1 is no side of conflict 1; its sides are f2, f3"):
        amend.settle(mind.k, 1, ana(mind), 1)


def test_what_is_settled_is_settled_once(mind):
    both_sides(mind)
    mind.take(amend.settle(mind.k, 1, ana(mind), 3))
    with pytest.raises(StaleFact, match="conflict 1 was settled by user"):
        amend.settle(mind.k, 1, ana(mind), 2)


@pytest.mark.parametrize("way", ["end", "retract"])
def test_where_one_side_is_gone_the_other_stands(mind, way):
    both_sides(mind)
    before = standing(mind), mind.k.conflicts[1]
    mind.take(getattr(amend, way)(mind.k, [2], ana(mind)))
    assert (mind.k.conflicts[1].settled, mind.k.conflicts[1].winner) == (True, 3)
    assert mind.k.facts[3].state == "active"
    undo(mind)
    assert (standing(mind), mind.k.conflicts[1]) == before


# ── a model's word on a conflict ──────────────────────────────────────────────────────────────────────


def model(mind: Mind, seen: int | None = None) -> Person:
    return Person("model:gpt-4o-mini", mind.now, seen)


def test_a_models_word_decides_with_its_reason_and_is_undone_like_any_change(mind):
    both_sides(mind)
    before = standing(mind), mind.k.conflicts[1]
    mind.take(amend.settle(mind.k, 1, model(mind), 3, "it was said to be the new one"))
    change = mind.k.changes[len(mind.k.changes)]
    assert (change.decided_by, change.why) == ("model:gpt-4o-mini", "it was said to be the new one")
    assert (mind.k.conflicts[1].winner, mind.k.conflicts[1].decided_by) == (3, "model:gpt-4o-mini")
    undo(mind)
    assert (standing(mind), mind.k.conflicts[1]) == before


def test_what_a_person_decided_or_took_back_no_model_decides(mind):
    both_sides(mind)
    mind.take(amend.settle(mind.k, 1, model(mind), 3))
    undo(mind)
    with pytest.raises(StaleFact, match="user decided about conflict 1 in change 5, not a model"):
        amend.settle(mind.k, 1, model(mind), 3)
    mind.take(amend.settle(mind.k, 1, ana(mind), 2))
    with pytest.raises(StaleFact, match="conflict 1 was settled by user"):
        amend.settle(mind.k, 1, model(mind), 3)


def test_who_rules_on_sides_that_changed_since_is_told_so(mind):
    both_sides(mind)
    seen = mind.k.version
    mind.says(5.002, "7000", conversation="c", seen=0)
    with pytest.raises(StaleFact, match="f4 was changed meanwhile"):
        amend.settle(mind.k, 1, model(mind, seen), 3)
    mind.take(amend.settle(mind.k, 1, model(mind, mind.k.version), 3))


acts = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["user", "model:a", "model:b"]), st.sampled_from([0, 2, 3])),
        st.tuples(st.just("undo"), st.sampled_from(["user", "boss"])),
    ),
    max_size=7,
)


@given(acts)
def test_once_a_person_decided_about_a_conflict_it_stands_as_persons_left_it(acts):
    """Whatever models say in between: the conflict is what it would be without their later words."""
    mind = Mind()
    both_sides(mind)
    left = None
    for who, what in acts:
        try:
            if who == "undo":
                mind.take(amend.undo(mind.k, len(mind.k.changes), Person(what, mind.now)))
            else:
                mind.take(amend.settle(mind.k, 1, Person(who, mind.now), what))
        except (StaleFact, UndoRefused):
            continue
        if not who.startswith("model") and (who != "undo" or mind.k.changes[len(mind.k.changes)].undoes > 3):
            left = mind.k.conflicts[1], standing(mind)
        elif left is not None:
            raise AssertionError(f"{who} decided after a person did")
    if left is not None:
        assert (mind.k.conflicts[1], standing(mind)) == left


def test_a_side_whose_words_were_erased_wins_nothing_and_comes_back_by_no_ruling(mind):
    both_sides(mind)
    mind.says(5.002, "7000", conversation="c", seen=0)
    mind.take([TextErased((mind.k.facts[2].text,), (), (2,), "user", mind.now)])
    with pytest.raises(NotFound, match="f2 is no side of conflict 1; its sides are f3, f4"):
        amend.settle(mind.k, 1, ana(mind), 2)
    mind.says(5.003, "6000", conversation="d", seen=0)  # one more joins
    assert mind.k.facts[2].state == "erased"
    mind.take(amend.end(mind.k, [3, 5], ana(mind)))  # of the three that are left one stands
    assert (mind.k.conflicts[1].settled, mind.k.conflicts[1].winner) == (True, 4)
    assert [mind.k.facts[n].state for n in (2, 4)] == ["erased", "active"]


# ── undo ──────────────────────────────────────────────────────────────────────────────────────────────

CHANGES = {
    "supersede": lambda m: m.says(9, "A"),
    "slot": lambda m: m.says(0.5, "A"),
    "extend": lambda m: m.says(0.5, "5000"),
    "again": lambda m: m.says(3, "5000"),
    "deny": lambda m: m.says(9, "8000", negated=True),
    "bound": lambda m: m.says(9, "8000", valid_to=day(20)),
    "conflict": lambda m: m.says(5.001, "A", conversation="b", seen=0),
    "quarantine": lambda m: m.says(9, "A", by="assistant"),
    "correct": lambda m: correct(m, 2, "A"),
    "confirm": lambda m: correct(m, 2, "8000"),
    "end": lambda m: m.take(amend.end(m.k, [1, 2], ana(m))),
    "retract": lambda m: m.take(amend.retract(m.k, [2], ana(m))),
    "weigh": lambda m: m.take(amend.weigh(m.k, 2, ana(m), importance=0.9)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_undo_brings_back_exactly_what_was_and_its_own_undo_what_came(mind, change):
    mind.says(1, "5000", conversation="a")
    mind.says(5, "8000", conversation="a")
    before, facts, conflicts = standing(mind), set(mind.k.facts), set(mind.k.conflicts)
    change(mind)
    after, ruled = standing(mind), {n: (c.settled, c.winner, c.facts) for n, c in mind.k.conflicts.items()}
    number = len(mind.k.changes)
    for _ in range(2):
        undo(mind, number)
        now = standing(mind)
        assert {n: now[n] for n in facts} == before
        assert not any(f.believed for n, f in mind.k.facts.items() if n not in facts)
        assert all(c.settled for n, c in mind.k.conflicts.items() if n not in conflicts)
        assert mind.k.changes[number].undone_by == len(mind.k.changes)
        undo(mind)  # of the undo
        now = standing(mind)
        assert now == after
        assert {n: (c.settled, c.winner, c.facts) for n, c in mind.k.conflicts.items()} == ruled
        assert not mind.k.changes[number].undone_by


def test_a_settlement_that_is_undone_opens_the_conflict_again_and_back(mind):
    both_sides(mind)
    opened = standing(mind)
    mind.take(amend.settle(mind.k, 1, ana(mind), 3))
    settled, ruled = standing(mind), mind.k.conflicts[1]
    undo(mind)
    assert [c.id for c in mind.k.open_conflicts] == [1]
    assert standing(mind) == opened
    undo(mind)
    assert standing(mind) == settled
    assert (mind.k.conflicts[1].settled, mind.k.conflicts[1].winner) == (True, ruled.winner)


def test_who_joined_a_conflict_leaves_it_by_an_undo(mind):
    for n, (value, conversation) in enumerate(zip(("A", "B", "C"), "abc", strict=True)):
        if n == 2:
            before = standing(mind), mind.k.conflicts[1].facts
        mind.says(5 + n / 1000, value, conversation=conversation, seen=0)
    undo(mind)
    assert mind.k.conflicts[1].facts == before[1]
    assert {n: standing(mind)[n] for n in before[0]} == before[0]
    assert not mind.k.conflicts[1].settled


def test_undo_is_refused_where_later_changes_build_on_it_and_names_them(mind):
    mind.says(1, "5000")
    mind.says(5, "8000")
    mind.says(9, "9000")
    with pytest.raises(
        UndoRefused, match=r"later ones build on it: 2 \(supersede: it replaces f1 from 2026-03-07 on\)"
    ):
        amend.undo(mind.k, 1, ana(mind))
    undo(mind, 3)
    undo(mind, 2)
    undo(mind, 1)
    assert mind.history() == []


def test_what_was_said_again_since_is_not_undone(mind):
    mind.says(1, "5000")
    mind.says(4, "5000")
    with pytest.raises(UndoRefused, match=r"2 \(write: f1 says the same\)"):
        amend.undo(mind.k, 1, ana(mind))


def test_a_weight_may_be_undone_though_it_was_said_again_since(mind):
    mind.says(1, "5000")
    mind.take(amend.weigh(mind.k, 1, ana(mind), importance=0.9))
    mind.says(4, "5000")
    undo(mind, 2)
    assert mind.k.facts[1].importance == 0.5


def test_an_undo_is_not_undone_past_another_one_that_builds_on_it(mind):
    mind.says(1, "5000")
    mind.says(5, "8000")
    undo(mind, 2)
    undo(mind, 1)
    with pytest.raises(UndoRefused, match=r"4 \(undo: undo of change 1 \(write\)\)"):
        amend.undo(mind.k, 3, ana(mind))


def test_undo_never_brings_back_a_value_beside_the_one_that_came_since(mind):
    mind.says(1, "5000")
    mind.take(amend.retract(mind.k, [1], ana(mind)))
    mind.says(5, "8000")
    with pytest.raises(UndoRefused, match="change 2 cannot be undone, for later ones build on it: 3"):
        amend.undo(mind.k, 2, ana(mind))
    assert mind.current() == ["8000"]


def test_what_is_undone_is_undone_once(mind):
    mind.says(1, "5000")
    undo(mind, 1)
    with pytest.raises(UndoRefused, match="change 1 was undone by change 2 already"):
        amend.undo(mind.k, 1, ana(mind))
    with pytest.raises(NotFound, match="no change 9; there are 2"):
        amend.undo(mind.k, 9, ana(mind))
