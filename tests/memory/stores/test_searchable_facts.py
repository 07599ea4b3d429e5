"""Facts can be searched like all else, follow every change, and are nobody else's."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.facts import Candidate
from memory.longterm import LongTerm
from memory.models.embedding import named
from memory.stores import embedded, vectors
from memory.stores.erase import erase
from memory.stores.sql import Store
from memory.stores.sync import sync
from memory.stores.verify import verify

AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)


@pytest.fixture
def ana(store: Store) -> LongTerm:
    memory = LongTerm(store, "ana", "trip")
    memory.write("My budget is 5000 euros. I live in Lyon. I am allergic to peanuts.", at=AT)
    return memory


def found(store: Store, text: str, **more: str) -> Iterator[tuple[int, str, int]]:
    rows = vectors.search(store, text=text, table="facts", **({"user": "ana"} | more))  # type: ignore[arg-type]
    return ((r["fact"], r["state"], r["version"]) for r in rows)


def test_a_fact_is_found_by_its_words_with_the_version_of_its_last_change(store: Store, ana: LongTerm):
    assert list(found(store, "budget")) == [(1, "active", ana.fact(1).changed_at)]
    ana.update(1, "8000 euros")
    assert set(found(store, "budget")) == {
        (1, "retracted", ana.fact(1).changed_at),
        (4, "active", ana.fact(4).changed_at),
    }
    ana.mark(2)
    assert list(found(store, "Lyon")) == [(2, "active", ana.fact(2).changed_at)]


def test_however_the_batches_fall_the_rows_agree_with_the_truth(store: Store, ana: LongTerm):
    sync(store)
    ana.update(1, "8000 euros")
    change = ana.forget(2)
    sync(store)
    ana.undo(change.number)
    ana.write("I live in Rome.")
    sync(store)
    assert verify(store).faults == ()
    erase(store, "ana", "peanuts").carry_out()
    ana.write("I like tea.")
    sync(store)
    assert verify(store).faults == ()
    vectors.feed(store, most=2)
    assert list(found(store, "peanuts")) == []


def test_a_row_that_is_older_than_its_fact_is_told(store: Store, folder: Path, ana: LongTerm):
    sync(store)
    table = vectors._connect(folder).open_table("facts")
    table.update(where="fact = 1", values={"version": 99})
    assert "facts differ from the truth" in str(verify(store).faults)


def test_facts_are_searched_by_meaning_where_there_are_vectors(store: Store, ana: LongTerm):
    embedder = named("hash")
    embedded.reindex(store, embedder)
    sync(store)
    question = embedder.queries(["where do I live? in Lyon"])[0]
    rows = vectors.search(store, user="ana", vector=question, embedder=embedder, table="facts", k=1)
    assert rows[0]["fact"] == 2
    assert verify(store).vectors["missing"] == 0


def test_working_facts_are_found_with_their_conversation_only(store: Store, ana: LongTerm):
    ana.write(Candidate("Booking the harbour hotel", 0, 17, kind="task", layer="working"))
    assert list(found(store, "harbour hotel")) == []
    assert list(found(store, "harbour hotel", conversation="work")) == []
    assert [n for n, _, _ in found(store, "harbour hotel", conversation="trip")] == [4]
    assert [n for n, _, _ in found(store, "budget", conversation="work")] == [1], "what is the user's is found anywhere"


def test_another_user_finds_none_of_them(store: Store, ana: LongTerm):
    LongTerm(store, "bo").write("I live in Rome.", at=AT)
    assert list(found(store, "budget", user="bo")) == []
    assert [n for n, _, _ in found(store, "Rome", user="bo")] == [1]
