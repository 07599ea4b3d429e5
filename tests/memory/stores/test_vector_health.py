"""A vector is there, of the right size, sound, of its own text, and told from its neighbours; else it is counted."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from store_by_hand import Hand, open_hand

from memory.errors import NotFound
from memory.models.embedding import named
from memory.scope import Scope
from memory.stores.embedded import put, reindex, wanted_texts
from memory.stores.files import CACHE_FILE
from memory.stores.searchable import digest
from memory.stores.sql import Store
from memory.stores.vector_health import SAMPLE, vector_health
from memory.stores.verify import verify

LIVE = Scope("ana", "trip")
HASH = named("hash")


@pytest.fixture
def told(store: Store) -> Store:
    """A conversation with a vector for each text that wants one."""
    hand: Hand = open_hand(store, LIVE)
    hand.talk(24)
    reindex(store, HASH)
    return store


def texts(store: Store) -> list[str]:
    return [text for text, question in wanted_texts(store).values() if not question]


def write(store: Store, text: str, numbers: bytes) -> None:
    with closing(sqlite3.connect(store.path / CACHE_FILE)) as db, db:
        changed = db.execute("UPDATE vector SET numbers = ? WHERE hash = ?", (numbers, digest(text))).rowcount
    assert changed == 1


def test_vectors_of_their_texts_have_no_fault(told: Store):
    found = vector_health(told)
    assert (found.faults, found.missing, found.twins, found.mismatched) == ((), 0, (), 0)
    assert found.sampled == SAMPLE
    assert found.wanted == found.there > 3
    assert verify(told).vectors["embedded again"] == found.sampled


def test_a_vector_of_another_text_is_found_and_verify_says_so(told: Store):
    first = texts(told)[0]
    write(told, first, HASH.passages(["something else altogether, of rivers"])[0].tobytes())
    found = vector_health(told, sample=1_000)
    assert (found.mismatched, found.sampled) == (1, found.there)
    assert first.startswith(found.examples[0].rstrip("…")[:20])
    assert any("embedded again are not of their text" in fault for fault in found.faults)


def test_a_sample_is_taken_evenly_and_told(told: Store):
    assert vector_health(told, sample=2).sampled == 2
    none = vector_health(told, sample=0)
    assert none.sampled == 0
    assert "workbench verify" in none.note


def test_two_texts_under_one_vector_are_twins(told: Store):
    first, second, *_ = texts(told)
    write(told, first, HASH.passages([second])[0].tobytes())
    found = vector_health(told, sample=0)
    assert found.twin_texts == 2
    assert {*found.twins[0]} == {first, second}


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        (np.ones(3, np.float32), "wrong_size"),
        (np.full(HASH.dims, np.nan, np.float32), "unsound"),
        (np.full(HASH.dims, 1, np.float32), "unsound"),
        (np.zeros(HASH.dims, np.float32), "empty"),
    ],
)
def test_what_is_no_vector_of_unit_length_is_counted_and_is_a_fault(told: Store, numbers: np.ndarray, kind: str):
    write(told, texts(told)[0], numbers.tobytes())
    found = vector_health(told)
    counts = {name: getattr(found, name) for name in ("wrong_size", "unsound", "empty")}
    assert counts == {"wrong_size": 0, "unsound": 0, "empty": 0, kind: 1}
    assert [fault for fault in verify(told).faults if fault.startswith(f"{CACHE_FILE}: 1 of")]


def test_missing_ones_are_counted_and_are_no_fault(store: Store):
    hand = open_hand(store, LIVE)
    hand.talk(12)
    assert vector_health(store).note == "no vector was made yet"
    put(store, HASH, texts(store)[:1], HASH.passages(texts(store)[:1]))
    found = vector_health(store)
    assert (found.there, found.missing, found.faults) == (1, found.wanted - 1, ())


def test_of_one_run_alone(told: Store):
    other = open_hand(told, Scope("bob", "work"))
    other.talk(6, about="rivers")
    assert vector_health(told, LIVE).missing == 0
    assert vector_health(told, Scope("bob", "work")).missing > 0
    with pytest.raises(NotFound):
        vector_health(told, Scope("ana", "nowhere"))


def test_an_embedder_that_is_not_here_or_far_away_is_not_asked(store: Store):
    hand = open_hand(store, LIVE)
    hand.talk(6)

    class Remote:
        name, identity, dims = "openai/far-away", "openai/far-away", 4

    put(store, Remote(), texts(store), np.eye(4, dtype=np.float32)[[0] * len(texts(store))])  # type: ignore[arg-type]
    found = vector_health(store)
    assert found.sampled == 0
    assert "no text was embedded again" in found.note


def test_a_cache_that_cannot_be_read_is_told(told: Store):
    (told.path / CACHE_FILE).write_bytes(b"no database at all" * 100)
    assert "damaged" in vector_health(told).note
