"""Old values in prompts: marked, followed or unmarked, and when the new one took over."""

import pytest

from memory import naming
from memory.amend import Person, end
from memory.assertions import assert_no_unmarked_versions
from memory.errors import NotFound
from memory.exposure import FOLLOWED, MARKED, UNMARKED, stale_exposure
from memory.facts import Candidate
from tests.memory.test_why import chat


def seen(engine, turn=None):
    return stale_exposure(engine.store, engine.scope, turn)


def told_by_hand(engine, words):
    """From outside of the conversation: none of its turns says so."""
    engine.memory.write(words)


def test_nothing_superseded_is_nothing_exposed(opened):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    engine.say("What is my budget for the trip?")
    found = seen(engine)
    assert (found.steps, found.at_risk, found.exposures, found.update_lag) == (2, 0, (), None)
    assert "no value was superseded" in repr(found)


def test_an_old_turn_that_a_later_one_corrects_is_followed_and_no_alarm(opened):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    engine.say("My budget for the trip is 8,000 euros.")
    engine.say("What about the budget?")
    found = seen(engine)
    (each,) = found.exposures
    assert (each.turn, each.fact, each.newer, each.where, each.page, each.how) == (5, 1, (2,), "page", 1, FOLLOWED)
    assert each.beside
    assert (found.exposed, found.unmarked, found.alarms) == (1, 0, ())
    (fact,) = found.facts
    assert (fact.said, fact.says, fact.told_at, fact.took_over, fact.lag_turns) == (
        "5,000 euros", "8,000 euros", 3, 5, 2,
    )  # fmt: skip
    assert_no_unmarked_versions(engine)


def test_the_message_that_tells_the_new_value_meets_no_old_one_yet(opened):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    engine.say("My budget for the trip is 8,000 euros.")
    assert (seen(engine).at_risk, seen(engine).exposures) == (0, ())


def test_an_old_turn_below_a_line_with_the_new_value_is_the_alarm(opened):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    told_by_hand(engine, "My budget for the trip is 8,000 euros.")
    engine.say("What is my budget for the trip?")
    (each,) = seen(engine).alarms
    assert (each.turn, each.how, each.beside, each.page) == (3, UNMARKED, True, 1)
    assert str(each) == "turn 3: f1 on p1, unmarked, beside f2"
    with pytest.raises(AssertionError, match=r"turn 3: f1 on p1, unmarked, beside f2"):
        assert_no_unmarked_versions(engine)
    assert_no_unmarked_versions(engine, at_turn=1)
    with pytest.raises(AssertionError, match="5,000 euros"):
        assert_no_unmarked_versions((engine.store, engine.scope), at_turn=4)
    assert seen(engine).facts[0].lag_turns is None
    assert "0 of 1 new values took over" in repr(seen(engine))


def test_an_old_turn_alone_is_unmarked_and_no_alarm(opened):
    engine = opened(facts_tokens=0)
    engine.say("My budget for the trip is 5,000 euros.")
    told_by_hand(engine, "My budget for the trip is 8,000 euros.")
    engine.say("What is my budget for the trip?")
    (each,) = seen(engine).exposures
    assert (each.how, each.beside, each.alarming) == (UNMARKED, False, False)


def test_a_recalled_page_is_dated_and_so_marked(opened):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    chat(engine)
    told_by_hand(engine, "My budget for the trip is 8,000 euros.")
    assert not seen(engine).exposures
    engine.recall("p1")
    engine.say("What did I say first?")
    recalled = [e for e in seen(engine).exposures if e.where == "recalled"]
    assert [(e.page, e.how, e.fact) for e in recalled] == [(1, MARKED, 1)]
    assert seen(engine).unmarked == 0


def test_a_bookmark_that_names_the_old_value_is_told_as_one(opened):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    chat(engine)
    naming.give(engine.pager, engine.state.pages[1], ("budget", "5,000 euros"), "user", 2.0)
    engine.pager.commit()
    told_by_hand(engine, "My budget for the trip is 8,000 euros.")
    engine.say("Where were we?")
    last = [e for e in seen(engine).exposures if e.turn == engine.state.user_turn]
    assert [(e.where, e.page, e.how) for e in last] == [("bookmark", 1, MARKED)]


def test_a_text_that_says_both_tells_of_the_change(opened):
    engine = opened("Then your budget goes from 5,000 euros to 8,000 euros.")
    engine.say("I plan a trip.")
    told_by_hand(engine, "My budget for the trip is 5,000 euros.")
    told_by_hand(engine, "My budget for the trip is 8,000 euros.")
    engine.say("So what about it?")
    assert seen(engine).at_risk == 1
    assert seen(engine).exposures == ()


def test_a_reply_that_says_the_old_value_again_is_counted_and_stands_there_as_one(opened):
    engine = opened(lambda messages: "Your budget is 5,000 EUR." if "old" in messages[-1]["content"] else "Noted.")
    engine.say("I plan a trip.")
    told_by_hand(engine, "My budget for the trip is 5,000 euros.")
    told_by_hand(engine, "My budget for the trip is 8,000 euros.")
    engine.say("What was it, the old one?")
    engine.say("Go on.")
    (fact,) = seen(engine).facts
    assert fact.replied == (3,)
    assert [(e.turn, e.how) for e in seen(engine).exposures] == [(5, UNMARKED)]


def test_both_sides_of_what_is_denied_are_versions_and_two_tastes_are_none(opened):
    engine = opened()
    engine.say("I like jazz.")
    engine.say("I like tea.")
    engine.say("And?")
    assert seen(engine).facts == ()
    engine.say("I don't like jazz any more.")
    engine.say("And now?")
    (fact,) = seen(engine).facts
    assert (fact.said, fact.newer != fact.fact) == ("jazz", True)
    engine.say("I have a dog.")
    engine.say("I have no pets any more.")
    engine.say("And now?")
    assert all(f.said != "tea" for f in seen(engine).facts)


def test_what_was_retracted_with_nothing_in_its_place_is_not_superseded(opened):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    engine.memory.commit(lambda k: end(k, [1], Person("user", engine.store.clock())))
    engine.say("And now?")
    assert seen(engine).at_risk == 0


def test_another_conversations_working_facts_count_nowhere(opened):
    engine, other = opened(), opened(conversation="work")
    for value in ("page 12", "page 14"):
        text = f"The draft is on {value}."
        other.memory.write(Candidate(text, 0, len(text), subject="draft", attribute="place", value=value, single=True,
                                     layer="working"))  # fmt: skip
    engine.say("Where is the draft?")
    assert seen(engine).facts == ()


def test_strangers_are_no_versions_of_mine(opened):
    engine, bob = opened(), opened(user="bob")
    engine.say("My budget for the trip is 5,000 euros.")
    bob.say("My budget for the trip is 8,000 euros.")
    engine.say("What is it?")
    assert seen(engine).at_risk == 0


def test_in_chinese(opened):
    engine = opened()
    engine.say("我的预算是五千元。")
    told_by_hand(engine, "我的预算是八千元。")
    engine.say("我的预算是多少？")
    (each,) = seen(engine).alarms
    assert (each.fact, each.how) == (1, UNMARKED)


def test_it_shows_text_only_and_refuses_what_is_not_there(opened):
    engine = opened()
    engine.say("My name is <b>Ana</b>.")
    engine.say("My name is <i>Anna</i>.")
    engine.say("Hm.")
    html = seen(engine)._repr_html_()
    assert "<b>Ana" not in html
    with pytest.raises(NotFound):
        stale_exposure(engine.store, engine.scope.at("replay-x"))
    assert seen(engine, 1).steps == 1
    assert seen(engine).to_dict()["scope"] == str(engine.scope)
    assert len(seen(engine).to_df()) == len(seen(engine).exposures)


def test_nothing_is_written(opened):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    before = engine.store.last_seq()
    seen(engine)
    assert engine.store.last_seq() == before
