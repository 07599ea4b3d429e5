"""The shape of a conversation follows from how far back its demands reach, and no policy is praised for noise."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.errors import UnknownName
from memory.exchanges import Line
from sessions.paging import Probe, talk
from sessions.topology import FORWARD, MIXED, REVISITS, UNKNOWN, Tried, topology

START = datetime(2026, 1, 5, tzinfo=UTC)


def conversation(demands: list[tuple[int, int]], turns: int = 60, words: str = "some words that say nothing at all"):
    """`demands`: the message that needs a turn, and that turn."""
    lines = tuple(Line(n, "user" if n % 2 else "assistant", f"{words} {n}", "", START + timedelta(minutes=n))
                  for n in range(1, turns + 1))  # fmt: skip
    return talk("c", lines, tuple(Probe("", "message", frozenset({to}), at - 1) for at, to in demands))


NEAR = [(n, n - 3) for n in range(11, 51, 4)]
FAR = [(n, 1) for n in range(41, 60, 2)]


@pytest.mark.parametrize(
    ("demands", "kind"), [(NEAR, FORWARD), (FAR, REVISITS), (NEAR + FAR[:6], MIXED), (NEAR[:2], UNKNOWN)]
)
def test_demands_that_reach_past_the_window_make_the_shape(demands, kind):
    found = topology(conversation(demands), budget=300)
    assert found.kind == kind
    assert "n = " in found.honesty.to_dict()["questions"]


def test_a_distance_is_what_was_said_in_between():
    (first, *_) = topology(conversation(NEAR), budget=300).revisits
    assert (first.turn, first.to, first.distance) == (11, 8, 3)
    between = [t.tokens for t in conversation([(11, 8)]).turns if 8 < t.number < 11]
    assert first.tokens == sum(between)


def test_the_policy_that_keeps_what_is_asked_for_again_is_recommended_where_it_is_told_apart():
    found = topology(conversation([(n, 1) for n in range(5, 60, 2)]), budget=700, current="fifo")
    assert found.policy != "fifo"
    best = {t.policy: t for t in found.tried}[found.policy]
    assert best.low > 0
    assert found.policy in found.reason
    assert "oracle" not in {t.policy for t in found.tried}


def test_where_nothing_is_told_apart_the_one_in_force_stays():
    found = topology(conversation(NEAR), budget=300, current="hyperbolic")
    assert not any(t.low > 0 for t in found.tried)
    assert found.policy == "hyperbolic"
    assert "not told apart" in found.reason
    assert not Tried("lru", 3, 9, -0.1, 0.1).is_told_apart


def test_questions_after_the_last_turn_are_no_demands_and_words_tell_instead():
    lines = [
        f"The {w} is here" for w in ("zebra", "violin", "anchor", "teapot", "canyon", "walnut", "kettle", "puzzle")
    ]
    spoken = tuple(Line(n, "user", text, "", START + timedelta(minutes=n)) for n, text in enumerate(lines * 2, 1))
    found = topology(talk("c", spoken, (Probe("?", "single", frozenset({1}), 16),)), budget=8_000)
    assert (found.by, found.kind, found.tried) == ("words", FORWARD, ())
    assert {r.distance for r in found.revisits} == {8}
    assert found.policy == "lru"


def test_a_policy_that_the_lab_cannot_run_is_an_error():
    with pytest.raises(UnknownName):
        topology(conversation(NEAR), current="cooperative")
