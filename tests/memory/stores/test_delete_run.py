"""A kept run leaves with the words that it alone mentions; everything else stays, to the byte."""

from pathlib import Path

import pytest

from memory import Engine
from memory.errors import StoreError
from memory.models.chat import Answer
from memory.scope import Scope
from memory.stores.sql import FILE, Store

SMALL = {"window_tokens": 1_500, "reply_tokens": 100, "boundary": "fixed_4", "remember": "off"}


def answer(text: str):
    return lambda llm, *a, **k: Answer(text, (), 1, 1, None, "stop", llm, 1.0)


@pytest.fixture
def store(tmp_path: Path):
    """A live run, and a branch of it in which a model said a word of its own."""
    with Store.open(tmp_path / "store") as opened:
        with Engine.open(opened, user="ana", conversation="trip", chat=answer("Noted."), **SMALL) as engine:
            engine.say("Lisbon in June, with the piano.")
        live = opened.require(Scope("ana", "trip"))
        opened.open_stream(live.scope.at("fork-x"), live, "asked again")
        with Engine.open(
            opened, user="ana", conversation="trip", run="fork-x", chat=answer("Zanzibar!"), **SMALL
        ) as engine:
            engine.say("And where to next?")
        yield opened


def test_its_records_and_its_own_words_go_and_the_rest_stays(store: Store):
    live, fork = Scope("ana", "trip"), Scope("ana", "trip", "fork-x")
    before = store.events(live), [row for row in store.words(live).values() if "Lisbon" in row]
    assert "Zanzibar!" in store.words(fork).values()
    assert store.delete_run(fork) > 0
    assert store.stream(fork) is None
    assert (store.events(live), [row for row in store.words(live).values() if "Lisbon" in row]) == before
    assert store.check() == []
    raw = b"".join(path.read_bytes() for path in store.path.glob(f"{FILE}*"))
    assert b"Zanzibar" not in raw


def test_what_others_need_is_not_deleted(store: Store):
    with pytest.raises(StoreError, match="no replay and no fork"):
        store.delete_run(Scope("ana", "trip"))
    fork = store.require(Scope("ana", "trip", "fork-x"))
    store.open_stream(fork.scope.at("fork-y"), fork, "again")
    with pytest.raises(StoreError, match="fork-y goes on from fork-x"):
        store.delete_run(fork.scope)


def test_a_fork_is_not_shown_unasked_and_nothing_live_begins_with_it(store: Store):
    assert store.main_run("ana", "trip").run == "live"
    with Store.open(store.path.parent / "other") as other:
        other.open_stream(Scope("bo", "talk", "recorded"))
        other.open_stream(Scope("bo", "talk", "fork-1"))
        assert other.main_run("bo", "talk").run == "recorded"
        with Engine.open(other, user="bo", conversation="talk", **SMALL) as engine:
            assert other.require(engine.scope).parent is None
