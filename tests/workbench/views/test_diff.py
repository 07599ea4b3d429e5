"""Two prompts: every change has a cause from the log, words differ by word, Chinese by character."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import Engine
from memory.errors import NotFound
from memory.models.chat import Answer
from memory.scope import Scope
from memory.stores.sql import Store
from workbench.views.diff import diff, told, words_diff


def answer(*_: object, **__: object) -> Answer:
    return Answer("All right.", (), 1, 1, 0.01, "stop", "x", 1.0)


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path) as opened:
        yield opened


def talk(store: Store, *messages: str, **settings: object) -> Engine:
    small = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200} | settings
    engine = Engine.open(store, user="ana", conversation="c", chat=answer, **small)
    for message in messages:
        engine.say(message)
    return engine


LONG = "The garden needs water and the fence needs paint before the summer comes. " * 9


def test_what_was_said_since_is_one_cause(store: Store):
    engine = talk(store, "I like tea.", "And cake.")
    view = diff(store, engine.scope, 1, engine.scope, 3)
    assert [told(cause) for cause in view.causes] == ["said since"]
    assert [c.after for c in view.causes[0].changes] == ["All right.", "And cake."]
    assert view.causes[0].tokens == view.b.tokens - view.a.tokens


def test_a_page_that_left_is_named_with_policy_and_score(store: Store):
    engine = talk(store, *[f"{n}. {LONG}" for n in range(9)])
    view = diff(store, engine.scope, 1, engine.scope, 17)
    evicted = [cause for cause in view.causes if cause.kind == "evicted"]
    assert evicted
    assert told(evicted[0]).startswith("p1 left: lru ")
    assert all(change.kind in ("gone", "new") for cause in evicted for change in cause.changes)


def test_the_same_turn_is_no_change(store: Store):
    engine = talk(store, "I like tea.")
    view = diff(store, engine.scope, 1, engine.scope, 2)
    assert view.changes == 0
    assert view.same > 0


def test_a_corrected_fact_is_told_as_that(store: Store):
    engine = talk(store, "My budget is 5000 euros.")
    other = Engine.open(store, user="ana", conversation="other", chat=answer, window_tokens=4_000)
    other.say("What is my budget?")
    engine.memory.update(1, "8000 euros")
    other.say("And what is my budget now?")
    view = diff(store, other.scope, 1, other.scope, 3)
    changed = [told(cause) for cause in view.causes if cause.kind == "fact_changed"]
    assert changed
    assert "f1" in changed[0]
    assert "correct" in changed[0]


def test_a_newer_value_is_told_by_the_fact_that_it_took_the_place_of(store: Store):
    engine = Engine.open(store, user="ana", conversation="c", chat=answer, window_tokens=4_000)
    for said in ("My budget is 5,000 euros.", "What is it?", "My budget is 8,000 euros now.", "What is my budget?"):
        engine.say(said)
    view = diff(store, engine.scope, 4, engine.scope, 8)
    asked = [told(cause) for cause in view.causes if any(change.section == "facts" for change in cause.changes)]
    assert any(line.startswith("f2: supersedes, it replaces f1") for line in asked), asked


def test_the_fact_that_was_superseded_names_the_one_that_took_its_place(store: Store):
    engine = talk(store, "My budget is 5000 euros.")
    other = Engine.open(store, user="ana", conversation="other", chat=answer, window_tokens=4_000)
    other.say("What is my budget?")
    engine.say("My budget is 8000 euros now.")
    other.say("And what is my budget now?")
    view = diff(store, other.scope, 1, other.scope, 3)
    superseded = [dict(cause.values) for cause in view.causes if cause.kind == "fact_superseded"]
    assert [(values["fact"], values["by"]) for values in superseded] == [("f1", "f2")]


def test_two_conversations_cannot_be_compared(store: Store):
    engine = talk(store, "I like tea.")
    with pytest.raises(NotFound, match="one conversation"):
        diff(store, engine.scope, 1, Scope("bo", "c"), 1)


def test_a_recording_has_no_prompt(store: Store, demo_recorded: Scope):
    with pytest.raises(NotFound, match="has no prompt"):
        diff(store, demo_recorded, 1, demo_recorded, 3)


@pytest.fixture
def demo_recorded(store: Store) -> Scope:
    from sessions.bench import talk as made_up
    from sessions.importer import import_recordings
    from sessions.recording import Recording

    recording: Recording = made_up(6)
    import_recordings(store, [recording], replay=False)
    return Scope("bench", recording.conversation, "recorded")


@given(st.text(max_size=60), st.text(max_size=60))
def test_both_texts_can_be_read_back_from_their_difference(before: str, after: str):
    pieces = list(words_diff(before, after))
    assert "".join(p.text for p in pieces if p.kind != "new") == before
    assert "".join(p.text for p in pieces if p.kind != "gone") == after


def test_chinese_differs_by_character():
    pieces = list(words_diff("我在柏林工作", "我在汉堡工作"))
    assert [(p.kind, p.text) for p in pieces] == [
        ("same", "我在"), ("gone", "柏林"), ("new", "汉堡"), ("same", "工作"),
    ]  # fmt: skip
