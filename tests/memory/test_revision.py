from datetime import datetime, timedelta
from math import inf

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.errors import BadMessage
from memory.facts import Candidate, Fact, Interval, key_of
from memory.revision import Writer, excludes, revise
from tests.memory.facts_by_hand import Mind, day


@pytest.fixture
def mind() -> Mind:
    return Mind()


# ── one value at a time ───────────────────────────────────────────────────────────────────────────────


def test_a_newer_value_replaces_the_older_which_stays_in_history(mind):
    mind.says(1, "5000")
    told = mind.says(5, "8000")
    assert (told.verdict, told.others) == ("superseded", (1,))
    assert mind.history() == [(1, 5, "5000"), (5, inf, "8000")]
    assert (mind.k.facts[1].state, mind.k.facts[2].state) == ("superseded", "active")
    assert mind.k.changes[2].old == (1,)


def test_the_same_again_is_one_more_source_and_changes_nothing_else(mind):
    mind.says(1, "5000")
    before = mind.k.facts[1]
    assert mind.says(4, "5000").verdict == "known"
    assert len(mind.k.facts) == 1
    assert [s.said_at for s in mind.k.facts[1].sources] == [day(1), day(4)]
    assert mind.k.facts[1].beliefs == before.beliefs


def test_the_same_turn_read_twice_leaves_no_record_at_all(mind):
    mind.says(1, "5000", turn=7)
    version = mind.k.version
    assert mind.says(1, "5000", turn=7).verdict == "known"
    assert mind.k.version == version


def test_a_late_old_statement_slots_into_history_without_becoming_current(mind):
    mind.says(9, "8000")
    assert mind.says(3, "5000").verdict == "slotted"
    assert mind.history() == [(3, 9, "5000"), (9, inf, "8000")]


def test_a_late_statement_that_somebody_unsaid_later_does_not_become_current(mind):
    """5000 on day 1 and again on day 9; that it was 8000 on day 4 arrives last."""
    mind.says(1, "5000")
    mind.says(9, "5000")
    mind.says(4, "8000")
    assert mind.history() == [(1, 4, "5000"), (4, 9, "8000"), (9, inf, "5000")]


def test_what_is_known_held_earlier_than_we_knew(mind):
    mind.says(9, "5000")
    mind.says(3, "5000")
    assert mind.history() == [(3, inf, "5000")]
    assert len(mind.k.facts) == 1


def test_a_late_repetition_takes_its_time_from_the_value_between(mind):
    mind.says(8, "5000")
    mind.says(2, "8000")
    mind.says(5, "5000")
    assert mind.history() == [(2, 5, "8000"), (5, inf, "5000")]


statements = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from("ABC")), min_size=1, max_size=6, unique_by=lambda each: each[0]
)


def in_order(said: list[tuple[int, str]]) -> list[tuple[float, float, str]]:
    """Each value holds from when it was said until another one was."""
    found: list[tuple[float, float, str]] = []
    for at, value in sorted(said):
        if found and found[-1][2] == value:
            continue
        if found:
            found[-1] = (found[-1][0], at, found[-1][2])
        found.append((at, inf, value))
    return found


@given(statements.flatmap(st.permutations))
@example([(5, "A"), (3, "B"), (1, "A")])
@example([(1, "A"), (4, "A"), (2, "B")])
@example([(8, "A"), (2, "B"), (5, "A")])
def test_dated_statements_give_the_same_history_in_whatever_order_they_arrive(said):
    mind = Mind()
    for at, value in said:
        mind.says(at, value)
    assert mind.history() == in_order(said)


@given(statements.flatmap(st.permutations))
def test_so_do_statements_that_tell_of_another_day_than_they_are_made_on(said):
    mind = Mind()
    for n, (at, value) in enumerate(said):
        mind.says(40 + n, value, valid_from=day(at))
    assert mind.history() == in_order(said)


def test_who_moved_last_week_lives_there_now_whatever_was_said_since(mind):
    """Lyon on day 1; on day 5: "I moved to Paris", three days before Lyon was said."""
    mind.says(1, "Lyon", attribute="home city")
    told = mind.says(5, "Paris", attribute="home city", valid_from=day(-2), still=True)
    assert (told.verdict, told.others) == ("superseded", (1,))
    assert mind.history("home city") == [(-2, inf, "Paris")]
    assert mind.k.facts[1].state == "superseded"


def test_what_was_said_before_it_arrives_after_it_and_changes_nothing(mind):
    mind.says(5, "Paris", attribute="home city", valid_from=day(-2), still=True)
    told = mind.says(1, "Lyon", attribute="home city")
    assert (told.verdict, told.reason) == ("slotted", "f1 held by then already, it was said later")
    assert mind.history("home city") == [(-2, inf, "Paris")]


def test_who_moved_long_ago_may_have_moved_on(mind):
    mind.says(1, "Lyon", attribute="home city")
    mind.says(5, "Paris", attribute="home city", valid_from=day(-900))
    assert mind.history("home city") == [(-900, 1, "Paris"), (1, inf, "Lyon")]


spans = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 5), st.sampled_from("ABCD")),
    min_size=1, max_size=5, unique_by=lambda each: each[0],
).flatmap(st.permutations)  # fmt: skip


@given(spans)
@example([(1, 0, "A"), (5, 4, "B"), (3, 0, "C")])
def test_newer_words_win_all_of_the_time_that_they_speak_of_in_whatever_order_they_arrive(said):
    """Each says on a day what has held for so many days: of every moment the newest word on it decides."""
    mind = Mind()
    for at, days, value in said:
        begin = day(at - days - 0.5) if days else None
        mind.says(at, value, valid_from=begin, still=days > 0)
    told = {}
    for at, days, value in sorted(said):
        span = (at - days - 0.5 if days else at, at)
        told = {m: v for m, v in told.items() if not span[0] <= m <= span[1]} | dict.fromkeys(span, value)
    assert mind.history() == in_order(sorted(told.items()))


@given(
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=6, unique_by=lambda each: each[0])
    .flatmap(st.permutations)
)  # fmt: skip
def test_so_do_likes_and_dislikes_of_one_thing(said):
    mind = Mind()
    for at, denied in said:
        mind.likes(at, "tea", not_=denied)
    assert mind.history("likes") == in_order([(at, "-tea" if denied else "tea") for at, denied in said])


# ── until when ────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_said_to_end_ends_at_that_very_instant(mind):
    mind.says(1, "Lyon", attribute="home city", valid_to=day(30))
    mind.says(2, "Paris", attribute="home city", valid_from=day(30))
    assert mind.history("home city") == [(1, 30, "Lyon"), (30, inf, "Paris")]
    assert {f.state for f in mind.k.facts.values()} == {"active"}


def test_until_when_of_something_known_ends_it_then(mind):
    mind.says(1, "Lyon", attribute="home city")
    assert mind.says(5, "Lyon", attribute="home city", valid_to=day(30)).verdict == "ended"
    assert mind.history("home city") == [(1, 30, "Lyon")]


def test_what_was_over_when_it_was_said_began_nobody_knows_when(mind):
    mind.says(9, "Lyon", attribute="home city", valid_to=day(2))
    mind.says(9.5, "Paris", attribute="home city")
    assert mind.history("home city") == [(-inf, 2, "Lyon"), (9.5, inf, "Paris")]


def test_what_would_end_before_it_begins_is_set_apart(mind):
    told = mind.says(9, "Lyon", valid_from=day(5), valid_to=day(5))
    assert (told.verdict, told.reason) == ("quarantined", "it would end before it begins")
    assert mind.history() == []


def test_a_stay_in_the_past_leaves_what_is_current_alone(mind):
    mind.says(1, "Lyon", attribute="home city")
    mind.says(9, "Rome", attribute="home city", valid_from=day(3), valid_to=day(4))
    assert mind.history("home city") == [(1, 3, "Lyon"), (3, 4, "Rome"), (4, inf, "Lyon")]
    assert mind.k.facts[1].state == "active"


def test_intervals_are_in_utc_and_a_source_keeps_its_speakers_offset(mind):
    said = datetime.fromisoformat("2026-03-03T01:30:00+08:00")
    mind.hear(Candidate("Budget: 5000", 0, 12, attribute="budget", value="5000", single=True), said)
    fact = mind.k.facts[1]
    assert fact.sources[0].said_at.isoformat() == "2026-03-03T01:30:00+08:00"
    assert [b.valid_from.isoformat() for b in fact.beliefs] == ["2026-03-02T17:30:00+00:00"]
    mind.hear(Candidate("Budget: 8000", 0, 12, attribute="budget", value="8000", single=True), said + timedelta(days=1))
    assert "from 2026-03-04 on" in mind.k.changes[2].why  # their day, not the machine's nor UTC's


def test_order_goes_by_the_instant_not_by_the_clock_on_the_wall(mind):
    """01:30 when the clocks go back comes twice; the second one is later."""
    first = datetime.fromisoformat("2026-10-25T02:30:00+02:00")
    second = datetime.fromisoformat("2026-10-25T02:10:00+01:00")
    for value, said in (("second", second), ("first", first)):
        text = f"Budget: {value}"
        mind.hear(Candidate(text, 0, 9, subject="user", attribute="budget", value=value, single=True), said)
    assert mind.current() == ["second"]


def test_a_time_without_a_zone_is_refused(mind):
    with pytest.raises(BadMessage, match="has no zone"):
        mind.says(1, "5000", valid_from=day(1).replace(tzinfo=None))


# ── the guard ─────────────────────────────────────────────────────────────────────────────────────────


def test_what_has_many_values_keeps_them_all(mind):
    mind.likes(1, "tea")
    mind.likes(2, "jazz")
    assert mind.current("likes") == ["tea", "jazz"]


def test_to_deny_one_of_many_ends_that_one_alone(mind):
    mind.likes(1, "tea")
    mind.likes(2, "jazz")
    assert mind.likes(5, "tea", not_=True).verdict == "ended"
    assert mind.current("likes") == ["jazz", "-tea"]


def test_to_deny_them_all_ends_them_all_and_a_new_one_ends_the_denial(mind):
    mind.says(1, "Rex", attribute="pet", single=False)
    mind.says(2, "Tom", attribute="pet", single=False)
    mind.says(5, "", attribute="pet", single=False, negated=True)
    assert mind.current("pet") == ["-"]
    mind.says(9, "Kiki", attribute="pet", single=False)
    assert mind.current("pet") == ["Kiki"]


def test_to_deny_a_value_that_is_not_held_ends_nothing(mind):
    mind.says(1, "Lyon", attribute="home city")
    mind.says(2, "Paris", attribute="home city", negated=True)
    assert mind.current("home city") == ["Lyon", "-Paris"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["ana", "bob"]), st.sampled_from(["city", "likes"]), st.sampled_from("xyz"),
                  st.booleans(), st.integers(0, 9)),
        max_size=8,
    )
)  # fmt: skip
def test_a_statement_changes_facts_of_its_own_subject_and_attribute_alone(said):
    mind = Mind()
    for subject, attribute, value, negated, at in said:
        before = dict(mind.k.facts)
        text = f"{subject} {attribute} {value}"
        single = attribute == "city"
        mind.hear(
            Candidate(text, 0, len(text), subject=subject, attribute=attribute, value=value, negated=negated,
                      single=single), day(at),
        )  # fmt: skip
        changed = {n for n, f in before.items() if mind.k.facts[n] != f}
        wanted = Candidate("", 0, 0, subject=subject, attribute=attribute)
        assert {mind.k.facts[n].key for n in changed} <= {key_of(wanted)}


def test_values_exclude_each_other_where_there_is_but_one():
    def fact(value: str, *, negated: bool = False, single: bool = True) -> Fact:
        return Fact(1, 1, "k", value, negated=negated, single=single)

    assert excludes(fact("a"), fact("b"))
    assert excludes(fact("a"), fact("a", negated=True))
    assert not excludes(fact("a"), fact("b", negated=True))
    assert not excludes(fact("a", negated=True), fact("b", negated=True))
    assert not excludes(fact("a", single=False), fact("b", single=False))


# ── working facts ─────────────────────────────────────────────────────────────────────────────────────


def test_what_one_conversation_works_on_changes_nothing_for_the_others(mind):
    mind.says(1, "Friday", attribute="deadline")
    mind.says(2, "Monday", attribute="deadline", layer="working", conversation="b")
    assert mind.k.facts[1].open
    assert mind.k.facts[2].open
    mind.says(3, "Tuesday", attribute="deadline", layer="working", conversation="c")
    assert mind.k.facts[2].open
    mind.says(4, "Sunday", attribute="deadline", layer="working", conversation="b")
    assert not mind.k.facts[2].open


# ── text without an attribute ─────────────────────────────────────────────────────────────────────────


def text(mind: Mind, n: float, words: str, **rest):
    return mind.hear(Candidate(words, 0, len(words)), day(n), **rest)


def test_like_words_are_the_same_entry(mind):
    text(mind, 1, "The user decided to take the train to Lisbon")
    assert text(mind, 2, "The user decided: take the train to Lisbon").verdict == "known"
    assert len(mind.k.facts[1].sources) == 2


def test_an_entry_that_says_more_takes_the_others_place_and_its_sources(mind):
    text(mind, 1, "We take the train to Lisbon")
    told = text(mind, 2, "We take the train to Lisbon at nine on platform four with Bob")
    assert (told.verdict, told.others) == ("merged", (1,))
    assert len(mind.k.facts[2].sources) == 2
    assert not mind.k.facts[1].believed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user visited Rome in May", "The user never visited Rome in May"),
        ("Send the report on Monday", "Do not send the report on Monday"),
        ("The invoice 4711 was paid", "The invoice 4712 was paid"),
        ("用户要参加周一的会议", "用户不要参加周一的会议"),
        ("The user loves Chinese food", "The user hates Chinese food"),
    ],
)
def test_a_denial_or_another_number_is_never_the_same_nor_merged(mind, one, other):
    text(mind, 1, one)
    assert text(mind, 2, other).verdict == "stored"
    assert all(f.believed for f in mind.k.facts.values())


# ── who says so ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("by", ["assistant", "system"])
def test_what_only_the_assistant_or_the_system_says_is_not_believed(mind, by):
    assert mind.says(1, "5000", by=by).verdict == "quarantined"
    assert mind.history() == []


def test_a_fact_without_words_that_say_so_is_not_believed(mind):
    candidate = Candidate("Call the user Nuonuo", 0, 0, attribute="nickname", value="Nuonuo", single=True)
    made = revise(mind.k, candidate, None, Writer("a", 0, "gpt", day(1)), mind.write, mind.near)
    assert made.outcome.verdict == "quarantined"
    assert mind.hear(candidate, day(1)).reason == "no turn says so"


def test_the_same_unproven_claim_again_is_one_entry_and_gains_nothing(mind):
    for n in range(3):
        mind.says(n, "5000", by="assistant")
        text(mind, n, "Call the user Nuonuo", by="assistant")
    assert [f.state for f in mind.k.facts.values()] == ["quarantined", "quarantined"]
    assert [len(f.sources) for f in mind.k.facts.values()] == [1, 1]


def test_what_the_assistant_repeats_of_a_belief_is_no_source_of_it(mind):
    mind.says(1, "5000")
    assert mind.says(2, "5000", by="assistant").verdict == "known"
    assert len(mind.k.facts) == len(mind.k.facts[1].sources) == 1


# ── conflicts ─────────────────────────────────────────────────────────────────────────────────────────


def test_two_that_did_not_see_each_other_are_both_kept_and_marked(mind):
    mind.says(0, "5000")
    seen = mind.k.version
    mind.says(5, "8000", conversation="a", seen=seen)
    told = mind.says(5.001, "9000", conversation="b", seen=seen)
    assert (told.verdict, told.others) == ("conflict", (2,))
    conflict = mind.k.conflicts[1]
    assert (conflict.facts, conflict.would_win, conflict.rule) == ((2, 3), 3, "rule:newest")
    assert [mind.k.facts[n].state for n in (2, 3)] == ["conflicted", "conflicted"]
    assert set(mind.current()) == {"8000", "9000"}


def test_what_was_said_days_apart_is_in_order_whoever_saw_it(mind):
    seen = mind.k.version
    mind.says(9, "8000", conversation="a", seen=seen)
    assert mind.says(2, "5000", conversation="b", seen=seen).verdict == "slotted"
    assert not mind.k.conflicts


def test_a_third_who_saw_neither_joins_the_conflict(mind):
    for n, (value, conversation) in enumerate(zip(("A", "B", "C"), "abc", strict=True)):
        mind.says(5 + n / 1000, value, conversation=conversation, seen=0)
    assert list(mind.k.conflicts) == [1]
    assert mind.k.conflicts[1].facts == (1, 2, 3)
    assert {f.state for f in mind.k.facts.values()} == {"conflicted"}


def test_who_speaks_later_and_saw_both_settles_it(mind):
    mind.says(5, "8000", conversation="a", seen=0)
    mind.says(5.001, "9000", conversation="b", seen=0)
    mind.says(6, "9000", conversation="a")
    assert mind.k.conflicts[1].settled
    assert mind.k.conflicts[1].winner == 2
    assert mind.current() == ["9000"]
    assert (mind.k.facts[1].state, mind.k.facts[2].state) == ("superseded", "active")


def test_a_third_value_said_later_settles_it_as_well(mind):
    mind.says(5, "8000", conversation="a", seen=0)
    mind.says(5.001, "9000", conversation="b", seen=0)
    mind.says(6, "7000", conversation="a")
    assert mind.k.conflicts[1].settled
    assert mind.current() == ["7000"]


def test_to_say_it_again_without_having_seen_the_other_settles_nothing(mind):
    mind.says(5, "8000", conversation="a", seen=0)
    mind.says(5.001, "9000", conversation="b", seen=0)
    assert mind.says(5.002, "9000", conversation="c", seen=0).verdict == "known"
    assert not mind.k.conflicts[1].settled


@pytest.mark.parametrize("late", [False, True])
def test_an_inference_against_a_statement_is_a_conflict_in_either_order(mind, late):
    said = [(1, "vegan", "statement"), (5, "vegetarian", "inference")]
    for at, value, origin in reversed(said) if late else said:
        mind.says(at, value, attribute="diet", origin=origin)
    assert len(mind.k.open_conflicts) == 1
    assert mind.k.conflicts[1].rule == "rule:priority"
    winner = mind.k.facts[mind.k.conflicts[1].would_win]
    assert mind.words[winner.value] == "vegan"


def test_a_later_statement_simply_replaces_an_inference(mind):
    mind.says(1, "vegetarian", attribute="diet", origin="inference")
    assert mind.says(5, "vegan", attribute="diet").verdict == "superseded"


# ── always ────────────────────────────────────────────────────────────────────────────────────────────


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from("AB"), st.booleans(), st.none() | st.integers(0, 9),
                  st.none() | st.integers(0, 9)),
        max_size=7,
    )
)  # fmt: skip
def test_one_value_at_most_holds_at_any_moment_of_either_time(said):
    mind = Mind()
    for at, value, negated, begin, end in said:
        mind.says(
            at, value, negated=negated, valid_from=None if begin is None else day(begin),
            valid_to=None if end is None else day(end),
        )  # fmt: skip
    beliefs = [b for f in mind.k.facts.values() for b in f.beliefs]
    for valid in {b.valid_from for b in beliefs} | {day(n / 2) for n in range(20)}:
        for recorded in {b.recorded_from for b in beliefs}:
            held = [f for f in mind.k.facts.values() if not f.negated and f.holds(valid, recorded)]
            assert len({f.value_key for f in held}) <= 1
            assert not any(
                f.negated and f.holds(valid, recorded) and f.value_key in {h.value_key for h in held}
                for f in mind.k.facts.values()
            )


def test_an_empty_interval_is_never_believed(mind):
    mind.says(1, "A")
    mind.says(1, "B")  # at the very same instant: the later word counts
    assert mind.history() == [(1, inf, "B")]
    assert all(i.valid_from < i.valid_to for f in mind.k.facts.values() for i in f.believed)
    assert Interval(day(1), day(1)) not in mind.k.facts[1].believed
