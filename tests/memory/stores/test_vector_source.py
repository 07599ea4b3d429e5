"""An engine uses what vectors there are, whoever made them and whenever; and no step fails of them."""

import sqlite3

import pytest

from memory.engine import Engine
from memory.models.chat import Answer
from memory.models.embedding import Embedder, named
from memory.settings import Settings
from memory.stores.embedded import newest, reindex
from memory.stores.files import CACHE_FILE
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors, embedder_of

HASH = named("hash")


def at_once(llm, messages, **options):
    return Answer("Noted.", (), 0, 0, None, "stop", llm, 0.0)


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def engine(store):
    small = Settings.of(boundary="fixed_2", window_tokens=700, reply_tokens=50)
    engine = Engine.open(store, user="ana", conversation="trip", settings=small, chat=at_once)
    engine.say("I am allergic to peanuts.")
    engine.say("The budget of the trip is 8,000 euros.")
    for n in range(12):
        engine.say(f"My sister plays the cello in Porto, and on day {n} we go and see her there for a while.")
    yield engine
    engine.close()


def retrieval(engine):
    engine.recall(question="How high is the budget of the trip?")
    return [e.body for e in engine.store.events(engine.scope, kinds=["PagesRetrieved"])][-1]


def test_vectors_made_while_the_engine_runs_are_found_by_its_next_question(engine, store):
    assert retrieval(engine).embedder == ""
    reindex(store, HASH)
    found = retrieval(engine)
    assert (found.embedder, found.channels) == (HASH.identity, ("words", "vectors", "mean"))


def test_another_embedder_and_back_leaves_no_mixture(engine, store, monkeypatch):
    other = Embedder("other", "other-1", lambda texts, question: HASH.passages(texts)[:, :64] + 1e-3)
    monkeypatch.setattr("memory.stores.vector_source.named", lambda name: other if name == "other" else named(name))
    for embedder in (HASH, other, HASH):
        reindex(store, embedder)
        assert retrieval(engine).embedder == embedder.identity


def test_an_embedder_that_is_not_here_costs_the_vectors_and_not_the_step(engine, store):
    reindex(store, HASH)
    with sqlite3.connect(store.path / CACHE_FILE) as db:
        db.execute("UPDATE embedder SET identity = 'hash-of-tomorrow'")
        db.execute("UPDATE meta SET value = 'hash-of-tomorrow' WHERE key = 'embedder'")
    db.close()
    found = retrieval(engine)
    assert "reindex --embedder hash" in found.note
    assert found.chosen  # by its words


def test_a_damaged_file_of_vectors_costs_the_vectors_and_not_the_step(engine, store):
    reindex(store, HASH)
    (store.path / CACHE_FILE).write_bytes(b"no database at all" * 100)
    found = retrieval(engine)
    assert "cannot be read" in found.note
    assert found.chosen
    with Engine.open(store, user="ana", conversation="other", chat=at_once) as another:
        assert another.say("Hello.").text == "Noted."


def test_who_looks_leaves_no_vector_behind_and_an_engine_keeps_what_it_asked(engine, store):
    reindex(store, HASH)
    before = newest(store)
    StoredVectors(store).question("What nobody asked in the conversation?")
    assert newest(store) == before
    retrieval(engine)
    assert newest(store) > before


def test_without_vectors_the_default_embedder_would_make_them(store):
    assert StoredVectors(store).newest() == ("", 0)
    assert embedder_of(store) == named("")


def test_the_vector_of_a_question_is_made_once_and_nobody_changes_it(engine, store, monkeypatch):
    asked: list[str] = []

    def embeds(texts, question):
        asked.extend(texts if question else [])
        return HASH.passages(texts)

    counted = Embedder("counted", "counted-1", embeds)
    monkeypatch.setattr("memory.stores.vector_source.named", lambda name: counted if name == "counted" else named(name))
    reindex(store, counted)
    one, other = (StoredVectors(store).question("How high is the budget?") for _ in range(2))
    assert one is not None
    assert (asked, (one == other).all()) == (["How high is the budget?"], True)
    with pytest.raises(ValueError, match="read-only"):
        one[0] = 1.0
