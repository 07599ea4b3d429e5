"""What a user is shown of their memory: everything of theirs, in the second person, and nothing of anybody else's."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import Engine
from memory.facts import Candidate
from memory.longterm import LongTerm
from memory.models.chat import Answer
from memory.stores.erase import erase
from memory.stores.sql import Store
from workbench.views.review import addressed, everything, review

NOTED = Answer("Noted.", (), 1, 1, None, "stop", "x", 1.0)


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path) as opened:
        yield opened


def written(store: Store, *said: str, user: str = "ana") -> LongTerm:
    memory = LongTerm.open(store, user=user)
    for each in said:
        memory.write(each)
    return memory


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ("The user's rent is 780 euros.", "Your rent is 780 euros."),
        ("The user is allergic to peanuts.", "You are allergic to peanuts."),
        ("The user does not drink coffee.", "You do not drink coffee."),
        ("The user watches birds.", "You watch birds."),
        ("The user has a cold.", "You have a cold."),
        ("The user decided: “I go”.", "You decided: “I go”."),
        ("用户的预算是八千。", "你的预算是八千。"),
        ("Jule is 40 years old.", "Jule is 40 years old."),
    ],
)
def test_an_entry_speaks_to_the_one_it_is_about(stored: str, told: str):
    assert addressed(stored) == told


@given(st.text())
def test_what_is_not_about_the_user_is_left_as_it_is(text: str):
    assert addressed(f"Jule {text}") == f"Jule {text}"


def test_entries_stand_where_somebody_would_look_for_them(store: Store):
    written(store, "My name is Ana.", "My sister is called Jule.", "I like jazz.", "My moving day is 28 April 2026.",
            "Please keep your answers brief.")  # fmt: skip
    found = {group: [e.text for e in entries] for group, entries in review(store, "ana").grouped}
    assert list(found) == ["about", "people", "likes", "plans", "answers"]
    assert found["about"] == ["Your name is Ana."]
    assert "jazz" in found["likes"][0]


def test_what_was_forgotten_is_shown_as_used_no_more_and_what_was_erased_not_at_all(store: Store):
    memory = written(store, "My name is Ana.", "I like jazz.", "I am allergic to peanuts.")
    jazz, nuts = (next(f for f in memory.facts() if w in memory.text(f)) for w in ("jazz", "peanuts"))
    memory.forget(jazz.id)
    erase(store, "ana", facts=[nuts.id]).carry_out()
    seen = review(store, "ana")
    assert [e.text for e in seen.past] == ["You like jazz."]
    assert seen.erased == 1
    assert "peanuts" not in str(seen.to_dict())
    assert seen.entry(nuts.id) is None


def test_an_entry_says_which_sentence_it_is_from_and_when_it_was_last_used(store: Store):
    engine = Engine.open(store, user="ana", conversation="c", title="Spring", chat=lambda *a, **k: NOTED)
    engine.say("Hello there. My budget is 5,000 euros, all in all. What now?")
    (entry,) = review(store, "ana").entries
    assert entry.said is not None
    assert (entry.said.words, entry.said.by, entry.said.conversation) == (
        "My budget is 5,000 euros, all in all.", "user", "Spring",
    )  # fmt: skip
    assert entry.used_at is None  # it stands in the window itself
    other = Engine.open(store, user="ana", conversation="d", title="Summer", chat=lambda *a, **k: NOTED)
    other.say("What is my budget?")
    (entry,) = review(store, "ana").entries
    assert entry.used_in == "Summer"
    assert entry.used_at is not None


def test_what_only_one_conversation_may_use_is_shown_too_and_says_so(store: Store):
    memory = LongTerm.open(store, user="ana", conversation="c")
    memory.write(Candidate("The user is in a hurry.", 0, 5, layer="working"))
    (entry,) = review(store, "ana").entries
    assert (entry.group, entry.only_in) == ("here", "c")


def test_a_search_wants_all_words_in_the_entry_or_its_sentence(store: Store):
    written(store, "My budget is 5,000 euros.", "I like jazz.")
    seen = review(store, "ana")
    assert [e.text for e in seen.matching("BUDGET euros").entries] == ["Your budget is 5,000 euros."]
    assert seen.matching("budget jazz").entries == ()
    assert seen.matching("  ") is seen


def test_a_change_tells_before_and_after_and_who_decided(store: Store):
    memory = written(store, "My budget is 5,000 euros.")
    memory.update(1, "8,000 euros", since=datetime(2026, 3, 2, tzinfo=UTC))
    newest = review(store, "ana").changes[0]
    assert (newest.before, newest.after, newest.by) == (
        ("Your budget is 5,000 euros.",), "Your budget is 8,000 euros.", "you",
    )  # fmt: skip
    memory.undo(newest.number)
    undo, corrected, *_ = review(store, "ana").changes
    assert undo.undoes == corrected.number
    assert corrected.undone


def test_what_is_taken_away_is_all_of_theirs_and_nothing_of_others(store: Store):
    for user in ("ana", "lin"):
        engine = Engine.open(store, user=user, conversation=f"c-{user}", chat=lambda *a, **k: NOTED)
        engine.say(f"My boss is {user.upper()}SECRET.")
    found = everything(store, "ana")
    assert [t["by"] for c in found["conversations"] for t in c["turns"]] == ["user", "assistant"]
    assert "ANASECRET" in str(found)
    assert "LINSECRET" not in str(found)
