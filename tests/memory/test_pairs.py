"""Two entries that may be one: what a model may say of them, and what the guard lets through."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import amend
from memory.amend import Person
from memory.facts import Candidate, Proposal, Source
from memory.keywords import Unreadable
from memory.pairs import VERDICTS, Judged, Pair, Verdict, alike, judge, schema
from memory.revision import Revision, Writer, revise
from tests.memory.facts_by_hand import Mind, day

CAT = Pair("n1", "f1", "The cat Miso sleeps on the sofa", "2026-03-02", "The cat Miso sleeps in a box", "2026-03-05")
BOTH = "The cat Miso sleeps on the sofa and in a box"


def judged(*answers: str, pairs=(CAT,)) -> Judged | Unreadable:
    left = list(answers)
    told = judge(pairs, lambda prompt, shape: left.pop(0))
    assert not left
    return told


def verdicts(*rows: dict) -> str:
    return json.dumps({"verdicts": list(rows)})


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({"verdict": "same"}, Verdict("same")),
        ({"verdict": "replaces", "text": "unasked"}, Verdict("replaces")),
        ({"verdict": "both", "text": ""}, Verdict("beside")),
        ({"verdict": "merge", "text": BOTH}, Verdict("merges", BOTH)),
    ],
)
def test_each_verdict_is_taken_as_what_it_proposes(row, verdict):
    assert judged(verdicts({"pair": "n1", **row})) == Judged({"n1": verdict})


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"pair": "n7", "verdict": "same"}, "no pair 'n7' was offered; offered were: n1"),
        ({"pair": 1, "verdict": "same"}, "no pair 1 was offered"),
        ({"verdict": "same"}, "no pair None was offered"),
        ({"pair": "n1", "verdict": "delete"}, "there is no verdict 'delete'"),
        ({"pair": "n1"}, "there is no verdict None"),
        ({"pair": "n1", "verdict": "merge"}, "there are none"),
        ({"pair": "n1", "verdict": "merge", "text": "The user wants to be called Nono"}, "no source says 'nono'"),
        ({"pair": "n1", "verdict": "merge", "text": "The cat Miso never sleeps on the sofa or in a box"}, "not used"),
    ],
)
def test_a_row_that_cannot_be_taken_is_refused_alone_with_its_words(row, reason):
    other = Pair("n2", "f2", "likes tea in the morning", "2026-03-02", "likes tea at night", "2026-03-05")
    told = judged(
        verdicts(row, {"pair": "n2", "verdict": "both"}), pairs=(CAT, other) if "n7" not in str(row) else (CAT,)
    )
    [refused, *_] = told.refused
    assert reason in refused.reason
    assert json.loads(refused.row) == row
    assert "n1" not in told.verdicts


def test_words_for_both_must_keep_every_name_number_and_denial():
    pair = Pair(
        "n1", "f1", "The trip to Porto costs 900 euros", "2026-03-02", "The trip to Porto is in May", "2026-03-05"
    )
    told = judged(verdicts({"pair": "n1", "verdict": "merge", "text": "The trip to Porto is in May"}), pairs=(pair,))
    assert "they lose number '900'" in told.refused[0].reason
    pair = Pair("n1", "f1", "likes hiking", "2026-03-02", "likes hiking in the Alps", "2026-03-05", value=True)
    told = judged(verdicts({"pair": "n1", "verdict": "merge", "text": "likes hiking in the Alps"}), pairs=(pair,))
    assert "values of a list" in told.refused[0].reason


def test_the_first_verdict_on_a_pair_counts():
    told = judged(verdicts({"pair": "n1", "verdict": "same"}, {"pair": "n1", "verdict": "replaces"}))
    assert told.verdicts == {"n1": Verdict("same")}
    assert told.refused[0].reason == "the pair has a verdict already"


def test_the_answer_may_stand_in_a_fence_after_a_thought_and_among_braces():
    raw = (
        "<think>{n1?}</think>About {cats}: ```json\n" + '{"verdicts": [{"pair": "n1", "verdict": "same",},]}' + "\n```"
    )
    assert judged(raw) == Judged({"n1": Verdict("same")})


def test_what_cannot_be_read_is_asked_for_once_more_and_then_kept():
    assert judged("No.", verdicts({"pair": "n1", "verdict": "both"})) == Judged({"n1": Verdict("beside")})
    told = judged("No.", '{"verdicts": [')
    assert isinstance(told, Unreadable)
    assert told.raw == '{"verdicts": ['


def test_nothing_is_asked_where_nothing_is_in_doubt():
    assert judge((), lambda *_: pytest.fail("asked")) == Judged({})


def test_a_strict_schema_names_the_pairs():
    row = schema((CAT,))["properties"]["verdicts"]["items"]
    assert row["properties"]["pair"]["enum"] == ["n1"]
    assert row["properties"]["verdict"]["enum"] == list(VERDICTS)
    assert row["required"] == list(row["properties"])


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["n1", *VERDICTS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["pair", "verdict", "text"]), inner),
    max_leaves=8,
)


@given(st.lists(anything, max_size=4))
def test_whatever_a_model_sends_no_pair_but_those_offered_gets_a_verdict(rows):
    told = judge((CAT,), lambda *_: json.dumps({"verdicts": rows}))
    assert set(told.verdicts) <= {"n1"}
    assert len(told.verdicts) + len(told.refused) == len(rows)


@pytest.mark.parametrize(
    ("one", "other", "are"),
    [
        ("hiking", "hiking in the Alps", True),
        ("sushi", "jazz", False),
        ("爬山", "周末爬山", True),
        ("爬山", "咖啡", False),
    ],
)
def test_values_are_alike_that_share_half_of_the_shorter_ones_words(one, other, are):
    assert alike(one, other) is are


# ── past the guard ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def mind() -> Mind:
    return Mind()


def proposed(
    mind: Mind, action: str, target: int, text: str, n: float = 5, seen: int | None = None, **fields
) -> Revision:
    said = Source("a", 9, 9, 0, len(text), "user", day(n))
    writer = Writer("a", mind.k.version if seen is None else seen, "gpt", mind.now)
    proposal = Proposal(action, target, "gpt", fields.pop("both", ""))
    candidate = Candidate(text, 0, len(text), subject="user", **fields)
    made = revise(mind.k, candidate, said, writer, mind.write, mind.near, proposal)
    mind.take(made.bodies)
    return made


def told(mind: Mind, text: str, n: float = 1) -> None:
    mind.hear(Candidate(text, 0, len(text), subject="user"), day(n))


def standing(mind: Mind) -> dict[int, tuple]:
    return {n: (f.believed, f.state, f.sources) for n, f in mind.k.facts.items() if f.believed}


@pytest.mark.parametrize(
    ("action", "verdict", "holding"),
    [
        ("same", "known", ["The cat Miso sleeps on the sofa"]),
        ("replaces", "superseded", ["The cat Miso sleeps in a box"]),
        ("merges", "merged", [BOTH]),
        ("beside", "kept_both", ["The cat Miso sleeps on the sofa", "The cat Miso sleeps in a box"]),
    ],
)
def test_a_verdict_is_applied_recorded_with_the_model_and_undone(mind, action, verdict, holding):
    told(mind, "The cat Miso sleeps on the sofa")
    before = standing(mind)
    made = proposed(mind, action, 1, "The cat Miso sleeps in a box", both=BOTH)
    assert made.outcome.verdict == verdict
    assert [mind.words[f.text] for f in mind.k.current] == holding
    change = mind.k.changes[len(mind.k.changes)]
    assert change.decided_by == "model:gpt"
    assert 1 in change.old
    mind.take(amend.undo(mind.k, change.number, Person("user", mind.now)))
    assert standing(mind) == before


@pytest.mark.parametrize("action", ["same", "replaces", "merges", "ends", "beside"])
def test_no_verdict_reaches_a_fact_of_another_attribute_or_a_single_value(mind, action):
    mind.says(1, "5000")
    mind.says(1, "Lyon", attribute="home city")
    before = mind.k.facts[2]
    proposed(mind, action, 2, "The user's budget is 8000.", attribute="budget", value="8000", single=True, both=BOTH)
    assert mind.k.facts[2] == before  # which is about something else
    assert mind.current() == ["8000"]  # as rules have it
    assert mind.k.changes[len(mind.k.changes)].decided_by == "rule:single_value"


@pytest.mark.parametrize("action", ["same", "replaces", "merges", "ends", "beside"])
@pytest.mark.parametrize("target", [0, 2, 99, -1])
def test_a_verdict_on_a_fact_that_is_not_there_is_none_and_no_other_is_guessed(mind, action, target):
    told(mind, "The cat Miso sleeps on the sofa")
    before = standing(mind)
    made = proposed(mind, action, target, "Rent is due on Friday", both=BOTH)
    assert (made.outcome.verdict, made.outcome.others) == ("stored", ())
    assert {n: standing(mind)[n] for n in before} == before


def test_of_two_values_of_a_list_one_may_take_the_others_place(mind):
    mind.likes(1, "hiking")
    made = proposed(mind, "replaces", 1, "likes hiking in the Alps", attribute="likes", value="hiking in the Alps")
    assert made.outcome.verdict == "superseded"
    assert mind.current("likes") == ["hiking in the Alps"]


def test_a_value_that_is_known_is_known_whatever_a_model_says(mind):
    mind.likes(1, "hiking")
    mind.likes(2, "jazz")
    made = proposed(mind, "replaces", 1, "likes jazz", attribute="likes", value="jazz")
    assert made.outcome.verdict == "known"
    assert set(mind.current("likes")) == {"hiking", "jazz"}


def test_what_held_before_never_takes_the_place_of_what_held_since(mind):
    told(mind, "The cat Miso sleeps in a box", n=5)
    made = proposed(mind, "replaces", 1, "The cat Miso sleeps on the sofa", n=1)
    assert made.outcome.verdict == "stored"
    assert len(mind.k.current) == 2


def test_a_verdict_on_what_changed_meanwhile_is_none(mind):
    told(mind, "The cat Miso sleeps on the sofa")
    seen = mind.k.version
    mind.take(amend.weigh(mind.k, 1, Person("user", mind.now), importance=1.0))
    made = proposed(mind, "replaces", 1, "The cat Miso sleeps in a box", seen=seen)
    assert made.outcome.verdict == "stored"
    assert len(mind.k.current) == 2
