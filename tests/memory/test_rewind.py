"""Going back to what was known at a moment gives what the log up to that moment gives."""

from datetime import timedelta

from hypothesis import given

from memory import amend
from memory.amend import Person
from memory.knowledge import Knowledge
from memory.rewind import rewound
from tests.memory.facts_by_hand import Mind, day
from tests.memory.test_knowledge import disputed, do


def told(k: Knowledge) -> tuple:
    """All of it that a moment can ask for."""
    facts = {
        n: (f.state, f.why, f.importance, f.layer, f.conversation, f.beliefs, set(f.sources))
        for n, f in k.facts.items()
    }
    return facts, k.changes, k.conflicts


@given(disputed)
def test_back_at_any_moment_is_what_was_known_then(each):
    mind, then = Mind(), []
    for act in each:
        do(mind, act)
        then.append((mind.now, mind.k))
    for at, known in then:
        assert told(rewound(mind.k, at)) == told(known)


def test_before_the_first_word_nothing_was_known():
    mind = Mind()
    mind.says(1, "5000")
    assert told(rewound(mind.k, day(0))) == ({}, {}, {})
    assert rewound(mind.k, mind.now) is mind.k


def test_a_correction_is_not_known_before_it_was_made():
    mind = Mind()
    mind.says(1, "5000")
    before = mind.now
    mind.now += timedelta(days=3)
    mind.take(amend.retract(mind.k, [1], Person("user", mind.now)))
    assert mind.k.facts[1].state == "retracted"
    back = rewound(mind.k, before).facts[1]
    assert (back.state, back.is_believed, back.why) == ("active", True, "")
