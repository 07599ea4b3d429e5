"""Vectors of texts: made once, by one embedder, kept over a kill, and gone with the words that they stand for."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from store_by_hand import SCRIPT, Hand, open_hand

from memory.errors import ModelError, ModelUnreachable, OtherEmbedder, StaleAppend, StoreDamaged, StoreReadOnly
from memory.models.embedding import named
from memory.scope import Scope
from memory.stores import embedded as cache
from memory.stores.embedded import embedded, maker, prune, put, reindex, vectors_of, wanted_texts
from memory.stores.files import CACHE_FILE
from memory.stores.sql import Store

LIVE = Scope("ana", "trip")
HASH = named("hash")
TEXTS = ["peanuts", "花生过敏", "", "peanuts and \0 NUL", "\N{GRINNING FACE}" * 3_000]


class Counting:
    """An embedder of so many numbers that counts what it is given and may break after some."""

    def __init__(self, identity: str = "counting-1", dims: int = 4, says: bool = True, breaks_after: int = 10**9):
        self.name, self.identity, self.made = identity.partition("-")[0], identity, dims
        self.dims = dims if says else 0
        self.seen: list[str] = []
        self.breaks_after = breaks_after

    def passages(self, texts: Sequence[str]) -> np.ndarray:
        if len(self.seen) + len(texts) > self.breaks_after:
            raise ModelUnreachable("nobody answers")
        self.seen += texts
        made = np.array([[len(t) + 1, *([1] * (self.made - 1))] for t in texts], np.float32).reshape(-1, self.made)
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        return -self.passages(texts)


def test_what_was_put_comes_back_to_the_last_bit_and_the_rest_is_none(store: Store):
    assert vectors_of(store, HASH, TEXTS) == [None] * 5
    assert maker(store) is None
    made = HASH.passages(TEXTS)
    assert put(store, HASH, TEXTS, made) == 5
    assert put(store, HASH, TEXTS, made) == 0
    *found, missing = vectors_of(store, HASH, [*TEXTS, "walnuts"])
    assert missing is None
    assert all((a == b).all() and a.dtype == np.float32 for a, b in zip(found, made, strict=True))
    assert maker(store).identity == HASH.identity


def test_a_question_and_a_passage_of_the_same_words_are_two_vectors(store: Store):
    counting = Counting()
    passage = embedded(store, counting, ["who?"])
    question = embedded(store, counting, ["who?"], question=True)
    assert (passage == -question).all()
    assert counting.seen == ["who?", "who?"]


def test_no_text_is_embedded_twice(store: Store):
    counting = Counting()
    first = embedded(store, counting, ["a", "bb", "a"])
    again = embedded(store, counting, ["bb", "a", "ccc"])
    assert counting.seen == ["a", "bb", "ccc"]
    assert first.shape == again.shape == (3, 4)
    assert (first[0] == again[1]).all()
    assert embedded(store, counting, []).shape == (0, 4)


def test_the_file_holds_no_word(store: Store, folder: Path):
    embedded(store, HASH, ["CANARY-55"], question=True)
    assert not any(b"CANARY" in f.read_bytes() for f in folder.glob(f"{CACHE_FILE}*"))


# ── another embedder ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ask", [vectors_of, embedded])
def test_another_embedder_is_told_so_and_gets_no_empty_answer(store: Store, ask):
    embedded(store, HASH, ["peanuts"])
    for other in (Counting(), Counting("hash-512-3", 512)):
        with pytest.raises(OtherEmbedder, match=rf"of hash-512-2, not of {other.identity}.*reindex --embedder"):
            ask(store, other, ["peanuts"])
    with pytest.raises(OtherEmbedder):
        put(store, Counting(), ["x"], Counting().passages(["x"]))


def test_the_same_name_with_another_number_of_dimensions_is_refused(store: Store):
    embedded(store, Counting(dims=4), ["peanuts"])
    with pytest.raises(OtherEmbedder, match="4 numbers before and makes some of 6"):
        embedded(store, Counting(dims=6, says=False), ["walnuts"])


@pytest.mark.parametrize("shape", [(2, 4), (1,), (1, 2, 2)])
def test_vectors_of_another_shape_are_refused(store: Store, shape: tuple[int, ...]):
    with pytest.raises(ModelError, match="shape"):
        put(store, Counting(), ["one text"], np.zeros(shape, np.float32))


# ── reindex ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("says", [True, False])
def test_reindex_makes_what_is_missing_and_only_that(store: Store, hand: Hand, says: bool):
    hand.talk(12)
    counting = Counting(says=says)
    wanted = wanted_texts(store)
    done = reindex(store, counting)
    assert (done.texts, done.known, done.made) == (len(wanted), 0, len(wanted))
    assert len(counting.seen) == len(wanted)
    hand.talk(2)
    more = reindex(store, counting)
    assert more.known == done.texts
    assert 0 < more.made == len(counting.seen) - done.made
    assert reindex(store, counting).made == 0


def test_reindex_says_how_far_it_is(store: Store, hand: Hand):
    hand.talk(30)
    seen = []

    def progress(things, label):
        for n, thing in enumerate(things):
            seen.append((label, n))
            yield thing

    reindex(store, Counting(), progress)
    assert [n for _, n in seen] == list(range(len(seen)))
    assert len(seen) > 1


def test_a_model_that_breaks_in_the_middle_keeps_what_it_made(store: Store, hand: Hand):
    hand.talk(40)
    with pytest.raises(ModelUnreachable):
        reindex(store, Counting(breaks_after=70))
    counting = Counting()
    done = reindex(store, counting)
    assert done.known == 64 == done.texts - len(counting.seen)


def test_a_kill_in_the_middle_costs_one_batch(store: Store, hand: Hand):
    hand.talk(40)
    code = f"""
import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})
import os
from memory.models.embedding import named
from memory.stores import embedded
from memory.stores.sql import Store
real, calls = embedded._made, []
def dies(*arguments):
    calls.append(1)
    if len(calls) == 3:
        os._exit(9)
    return real(*arguments)
embedded._made = dies
embedded.reindex(Store.open({str(store.path)!r}), named("hash"))
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False, capture_output=True)
    assert done.returncode == 9, done.stderr
    again = reindex(store, HASH)
    assert again.known == 2 * cache.BATCH
    assert again.made == again.texts - again.known


def test_reindex_by_another_embedder_makes_it_the_stores_and_back_costs_nothing(store: Store, hand: Hand):
    hand.talk(6)
    counting = Counting()
    reindex(store, counting)
    reindex(store, HASH)
    assert maker(store).identity == HASH.identity
    with pytest.raises(OtherEmbedder):
        vectors_of(store, counting, ["x"])
    made = len(counting.seen)
    assert reindex(store, counting).made == 0 == len(counting.seen) - made
    assert maker(store).identity == counting.identity


def test_an_empty_store_is_reindexed_at_once(store: Store):
    assert repr(reindex(store, HASH)) == "<Reindexed: 0 vectors made by hash-512-2, 0 were there>"


# ── deletion, damage, reading only ────────────────────────────────────────────────────────────────────


def test_vectors_go_with_the_words_that_nothing_else_needs(store: Store, folder: Path):
    open_hand(store, LIVE).talk(8, about="camels")
    open_hand(store, Scope("bo", "trip")).talk(8, about="walnuts")
    reindex(store, HASH)
    gone = next(text for text, _ in wanted_texts(store).values() if "camels" in text)
    kept = next(text for text, _ in wanted_texts(store).values() if "walnuts" in text)
    numbers = HASH.passages([gone])[0].tobytes()
    assert any(numbers in f.read_bytes() for f in folder.glob(f"{CACHE_FILE}*"))
    store.delete("ana", "trip")
    assert [v is None for v in vectors_of(store, HASH, [gone, kept])] == [True, False]
    assert not any(numbers in f.read_bytes() for f in folder.glob(f"{CACHE_FILE}*"))
    assert reindex(store, HASH).made == 0


def test_a_deletion_that_a_crash_cut_off_takes_the_vectors_at_the_next_opening(store: Store, hand: Hand, folder: Path):
    from memory.stores import care

    hand.talk(4)
    reindex(store, HASH)
    with store.write() as connection:
        care.delete_conversation(connection, "ana", "trip")
    store.close()
    with Store.open(folder) as again, sqlite3.connect(folder / CACHE_FILE) as raw:
        assert raw.execute("SELECT count(*) FROM vector").fetchone() == (0,)
        assert prune(again) == 0
    raw.close()


def test_vectors_of_words_that_were_deleted_meanwhile_are_not_kept(store: Store, hand: Hand):
    hand.talk(2)
    before = store.generation()
    store.delete("ana", "trip")
    with pytest.raises(StaleAppend, match="deleted meanwhile"):
        put(store, HASH, ["peanuts"], HASH.passages(["peanuts"]), generation=before)


@pytest.mark.parametrize("damage", ["garbage", "cut"])
def test_a_damaged_file_is_named_and_reindex_makes_it_anew(
    store: Store, hand: Hand, damage: str, caplog: pytest.LogCaptureFixture
):
    hand.talk(30)
    reindex(store, HASH)
    file = store.path / CACHE_FILE
    with sqlite3.connect(file) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    if damage == "garbage":
        file.write_bytes(b"no database at all" * 1_000)
        with pytest.raises(StoreDamaged, match="run `workbench reindex`"):
            vectors_of(store, HASH, ["x"])
    else:
        os.truncate(file, file.stat().st_size // 8192 * 4096)
    done = reindex(store, HASH)
    assert done.made == done.texts
    assert "made anew" in caplog.text


def test_a_store_that_is_only_read_embeds_and_keeps_nothing(store: Store, folder: Path):
    embedded(store, HASH, ["peanuts"])
    with Store.open(folder, readonly=True) as reader:
        assert embedded(reader, HASH, ["peanuts", "walnuts"]).shape == (2, 512)
        assert vectors_of(reader, HASH, ["walnuts"]) == [None]
        with pytest.raises(StoreReadOnly):
            put(reader, HASH, ["walnuts"], HASH.passages(["walnuts"]))
