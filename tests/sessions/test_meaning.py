"""Pages that close where the meaning shifts: live, replayed, in the lab, always by the same vectors."""

import sqlite3

import pytest

from memory.boundaries import UNRELATED
from memory.engine import Engine
from memory.exchanges import Line
from memory.models.embedding import named
from memory.stores.embedded import put
from memory.stores.files import CACHE_FILE
from memory.stores.sql import Store
from sessions.lab import grid, lab
from sessions.meaning import Meanings, by_store
from sessions.paging import Probe, paged
from sessions.paging import talk as read
from sessions.replay import replay

HASH = named("hash")


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store") as opened:
        yield opened


TALK = ("the hotel in Lisbon", "the hotel garden in Lisbon", "my piano invoice", "the piano invoice again")


def vectors_in(store) -> int:
    with sqlite3.connect(store.path / CACHE_FILE) as db:
        return int(db.execute("SELECT count(*) FROM vector").fetchone()[0])


def shifting(store):
    put(store, HASH, ["a first text"], HASH.passages(["a first text"]))
    return Engine.open(store, user="ana", conversation="shifts", boundary="meaning_shift", background=False)


def test_a_named_shift_of_meaning_goes_by_the_stores_embedder_and_a_replay_by_the_kept_vectors(store):
    with shifting(store) as engine:
        for text in TALK:
            engine.say(text)
        pages = [(p.first, p.last, p.boundary) for p in engine.state.pages.values()]
    assert pages == [(1, 4, "meaning_shift"), (5, 8, "")]
    assert vectors_in(store) == 1 + len(TALK) + len(UNRELATED[False])  # each message once, no reply
    again = replay((store, engine.scope), engine.state.settings)
    assert [(p.first, p.last, p.boundary) for p in again.state.pages.values()] == pages
    assert again.digest == replay((store, engine.scope), engine.state.settings).digest
    assert vectors_in(store) == 1 + len(TALK) + len(UNRELATED[False])


def test_a_replay_under_that_boundary_keeps_what_it_had_to_make(store):
    with shifting(store) as engine:
        engine.change(boundary="fixed_n")
        for text in TALK:
            engine.say(text)
    made = [[p.first for p in replay((store, engine.scope), engine.state.settings.but(boundary="meaning_shift"))
             .state.pages.values()] for _ in range(2)]  # fmt: skip
    assert made == [[1, 5]] * 2
    assert vectors_in(store) == 1 + len(TALK) + len(UNRELATED[False])


def test_a_message_is_answered_where_the_stores_embedder_is_not_here_and_the_step_says_so(store):
    with shifting(store) as engine:
        engine.say(TALK[0])
        with sqlite3.connect(store.path / CACHE_FILE) as db:
            db.execute("UPDATE embedder SET identity = 'hash-of-tomorrow'")
            db.execute("UPDATE meta SET value = 'hash-of-tomorrow' WHERE key = 'embedder'")
        engine.say(TALK[2])
        (failed,) = [e for e in store.events(engine.scope) if e.kind == "ModelFailed"]
    assert (failed.step, failed.body.task, failed.body.llm) == (2, "boundary", "embedder")
    assert "reindex --embedder hash" in failed.body.message
    assert [(p.first, p.last) for p in engine.state.pages.values()] == [(1, 4)]


def test_the_lab_pages_by_the_stores_vectors_and_keeps_its_cells_by_their_embedder(store, tmp_path):
    with shifting(store) as engine:
        for text in TALK:
            engine.say(text)
    lines = tuple(Line(t.number, t.role, t.words(store.words(engine.scope).__getitem__), "", t.said_at)
                  for p in engine.state.pages.values() for t in p.turns)  # fmt: skip
    talk = read("shifts", lines, (Probe("Which piano?", "one", frozenset({5}), 8),))
    cells = grid(boundaries=("meaning_shift",), evictions=("lru",), budgets=(400,))
    assert [p.first for p in paged(talk, "meaning_shift", by_store(store).meaning)] == [1, 5]
    found = lab([talk], cells, tmp_path / "lab", meaning=lambda: by_store(store))
    assert lab([talk], cells, tmp_path / "lab", meaning=lambda: by_store(store)).to_dict() == found.to_dict()
    assert len(list((tmp_path / "lab").iterdir())) == 1
    lab([talk], cells, tmp_path / "lab", meaning=lambda: Meanings("another", by_store(store).meaning))
    assert len(list((tmp_path / "lab").iterdir())) == 2
    assert vectors_in(store) == 1 + len(TALK) + len(UNRELATED[False])
