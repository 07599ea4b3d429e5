"""When words came into the prompts and left them, and whom a fact reached."""

import pytest

from memory.errors import BadMessage, NotFound
from memory.reach import bisect, blast_radius

CHATTER = (
    "the weather is fine today, and some more words about rivers and museums fill the window with nothing much" * 3
)


def chat(engine, count=12):
    for i in range(count):
        engine.say(f"Let us talk of drawer {i}: {CHATTER}.")


@pytest.fixture
def trip(opened):
    engine = opened()
    engine.say("The blue suitcase stands in locker 77.")
    chat(engine)
    return engine


def test_a_right_turn_enters_with_the_next_step_and_leaves_when_its_page_is_evicted(trip):
    found = bisect(trip.store, trip.scope, "suitcase locker 77")
    assert found.said == 1
    assert (found.entered.turn, found.entered.cause) == (3, "said at turn 1")
    assert "p1 evicted by lru" in found.left.cause
    assert not found.stands
    assert found.held < found.steps == 13


def test_it_comes_back_for_a_recall_and_leaves_with_it(trip):
    trip.recall("p1")
    trip.say("So where is it?")
    trip.say("And what else?")
    trip.say("And now?")
    causes = [p.cause for p in bisect(trip.store, trip.scope, "suitcase locker 77").passages]
    assert "p1 came back, by user" in causes
    assert "p1 had come back for a step, and left" in causes


def test_an_old_value_leaves_when_a_new_one_supersedes_it(trip):
    trip.memory.write("My budget for the trip is 5,000 euros.")
    trip.say("What is my budget for the trip?")
    trip.memory.write("My budget for the trip is 8,000 euros.")
    trip.say("What is my budget for the trip now?")
    old, new = (bisect(trip.store, trip.scope, words) for words in ("budget 5000 euros", "budget 8000 euros"))
    assert "placed" in old.entered.cause
    assert "superseded" in old.left.cause
    assert new.stands
    assert new.entered.step == old.left.step


def test_what_was_never_read_again_says_so(trip):
    trip.say("The red umbrella hangs in the hall.")
    assert "said at turn" in bisect(trip.store, trip.scope, "red umbrella").line
    assert "never said" in bisect(trip.store, trip.scope, "zeppelin").line
    with pytest.raises(BadMessage):
        bisect(trip.store, trip.scope, "?")


def test_a_blast_radius_names_every_prompt_of_every_conversation(opened):
    first = opened(lambda messages: "Your budget is 5,000 euros." if len(messages) > 3 else "Noted.")
    first.say("My budget for the trip is 5,000 euros.")
    first.say("What is my budget for the trip?")
    other = opened(conversation="work")
    other.say("What is my budget for the trip?")
    other.say("Tell me of rivers.")
    stranger = opened(user="bob")
    stranger.say("My budget for the trip is 5,000 euros.")
    stranger.say("What is my budget for the trip?")
    found = blast_radius(first.store, "ana", 1)
    assert [(r.conversation, r.turn) for r in found.reached] == [("trip", 3), ("work", 1)]
    assert found.reached[0].how == ("turn 1 on p1 (new)",)
    assert found.reached[1].how == ("f1",)
    assert [r.conversation for r in found.replies] == ["trip"]


def test_what_came_of_it_is_named(trip):
    trip.memory.write("My budget for the trip is 5,000 euros.")
    trip.memory.write("My budget for the trip is 8,000 euros.")
    assert blast_radius(trip.store, "ana", 1).derived == ("f2 (supersede)",)
    with pytest.raises(NotFound, match="f1 to f2"):
        blast_radius(trip.store, "ana", 9)


def test_they_show_text_only(trip):
    trip.say("The <script>alert(1)</script> suitcase.")
    trip.say("And now?")
    assert "<script" not in bisect(trip.store, trip.scope, "script suitcase")._repr_html_()
    trip.memory.write("My name is <b>Ana</b>.")
    assert "<b>Ana" not in blast_radius(trip.store, "ana", 1)._repr_html_()
