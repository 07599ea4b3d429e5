"""LanceDB beside the log: exactly what the truth says, whatever died when, and nobody finds another user's words."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from store_by_hand import SCRIPT, Hand, open_hand

from memory.errors import BadQuery, NotFound, OtherEmbedder, StoreDamaged, StoreError, UnknownName
from memory.events import PagesRetrieved
from memory.models.embedding import named
from memory.scope import Scope
from memory.stores import vectors
from memory.stores.embedded import put, reindex, wanted_texts
from memory.stores.files import INDEX_FOLDER, INDEX_MARK
from memory.stores.searchable import TABLES, rows_of
from memory.stores.sql import Store
from memory.stores.sync import Following, sync
from memory.stores.vectors import feed, is_behind, questions_like, search
from memory.stores.verify import rebuild, verify

LIVE = Scope("ana", "trip")
HASH = named("hash")


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Two users who say the same, a long run, a branch in the middle of a page; all vectors made."""
    with Store.open(tmp_path_factory.mktemp("talked") / "store") as store:
        hand = open_hand(store, LIVE, seed=5)
        hand.talk(40)
        hand.receive_in_pieces("a very long message on llamas " * 200, 3_000)
        hand.answer("that was long")
        branch = Hand(store.open_stream(LIVE.at("fork"), store.require(LIVE), "what if"), seed=6)
        branch.talk(12, about="volcanoes")
        open_hand(store, Scope("bo", "trip"), seed=7).talk(10)
        hand.talk(5, about="成语接龙游戏")
        reindex(store, HASH)
        sync(store)
        yield store


def held(store: Store, table: str) -> list[dict]:
    opened = vectors._connect(store.path).open_table(table)
    return opened.search().limit(100_000).to_list()


def question(words: str) -> np.ndarray:
    return HASH.queries([words])[0]


# ── the rows ──────────────────────────────────────────────────────────────────────────────────────────


def test_every_turn_page_bookmark_retrieval_and_eviction_has_its_row(talked: Store):
    counts = {name: len(held(talked, name)) for name in TABLES}
    asked = "SELECT {} FROM {}"
    for table, view, what in (
        ("pages", "pages", "count(*) FILTER (WHERE rule IS NOT NULL)"),
        ("retrievals", "retrievals", "count(*)"),
        ("evictions", "evictions", "count(*)"),
    ):
        assert talked.sql(asked.format(what, view)).rows == [(counts[table],)]
    turns = {(r["user"], r["run"], r["turn"]): r["text"] for r in held(talked, "turns") if r["text"] is not None}
    view = talked.sql('SELECT "user", run, turn, text FROM turns').rows
    assert turns == {(user, run, turn): words for user, run, turn, words in view}
    assert len(view) == len({(u, r, t) for u, r, t, _ in view})


def test_rows_carry_whose_they_are_and_their_place_in_the_log(talked: Store):
    row = next(r for r in held(talked, "retrievals") if r["user"] == "bo")
    event = next(e for e in talked.events(Scope("bo", "trip")) if e.seq == row["seq"])
    assert isinstance(event.body, PagesRetrieved)
    assert row["chosen"] == [*event.body.chosen]
    assert (row["conversation"], row["run"], row["version"]) == ("trip", "live", event.version)
    assert row["happened_at"] == event.at
    assert (row["embedder"], len(row["vector"])) == (HASH.identity, HASH.dims)


def test_an_exchange_has_one_vector_on_the_row_of_its_first_turn(talked: Store):
    rows = [r for r in held(talked, "turns") if r["user"] == "bo"]
    asked = [r for r in rows if r["role"] == "user"]
    assert all(r["vector"] is not None and r["last_turn"] >= r["turn"] for r in asked)
    assert any(r["vector"] is None for r in rows if r["role"] == "assistant")


def test_a_long_message_has_a_vector_for_each_part_and_its_words_once(talked: Store):
    rows = [r for r in held(talked, "turns") if r["turn"] == 81 and r["run"] == "live"]
    assert len(rows) >= 3
    assert [r["text"] is not None for r in rows].count(True) == 1
    assert len(search(talked, user="ana", text="llamas", run="live")) == 1


@pytest.mark.parametrize("most", [1, 7, 60])
def test_rows_do_not_depend_on_how_the_log_came_in_batches(talked: Store, most: int):
    """One event at a time, or all of a run at once."""
    whole = {(r.table, r.values["id"]): r for s in talked.streams() for r in rows_of(talked, s)}
    upto, made = talked.last_seq(), {}
    with talked.read() as truth:
        for after in range(0, upto, most):
            for row in vectors.rows_between(truth, after, min(after + most, upto)):
                made[row.table, row.values["id"]] = row
    assert made == whole


# ── following ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_sync_takes_up_what_is_missing_and_nothing_twice(store: Store, hand: Hand):
    hand.talk(12)
    first = sync(store)
    assert first.rows > 24
    assert not is_behind(store)
    assert sync(store).rows == 0
    hand.talk(1)
    assert is_behind(store)
    assert 0 < sync(store).rows < 12
    assert verify(store).faults == ()
    assert verify(store).index_rows["turns"] >= 26


def test_small_batches_come_to_the_same(store: Store, hand: Hand, monkeypatch: pytest.MonkeyPatch):
    hand.talk(15)
    reindex(store, HASH)
    while feed(store, 9).more:
        pass
    assert verify(store).faults == ()
    assert verify(store).vectors["missing"] == 0


@pytest.mark.parametrize("vectors_first", [True, False])
def test_vectors_come_before_or_after_their_rows(store: Store, hand: Hand, vectors_first: bool):
    hand.talk(12)
    if not vectors_first:
        sync(store)
        assert verify(store).vectors["there"] == 0
    reindex(store, HASH)
    sync(store)
    found = verify(store)
    assert (found.ok, found.vectors["missing"]) == (True, 0)
    assert found.vectors["wanted"] == found.vectors["there"] > 12


def test_a_vector_that_comes_late_reaches_the_rows_that_wait_for_it(store: Store, hand: Hand):
    hand.talk(8)
    reindex(store, HASH)
    sync(store)
    hand.talk(4, about="camels")
    sync(store)
    assert verify(store).vectors["missing"] > 0
    texts = [text for text, asks in wanted_texts(store).values() if not asks]
    put(store, HASH, texts, HASH.passages(texts))
    assert is_behind(store)
    assert sync(store).vectors > 0
    best = search(store, user="ana", vector=HASH.passages(["user: message 9 of the user about camels"])[0], k=1)
    assert "camels" in best[0]["text"]


def test_a_process_killed_between_lance_and_the_mark_leaves_nothing_twice(store: Store, hand: Hand):
    hand.talk(20)
    reindex(store, HASH)
    code = f"""
import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})
import os
from memory.stores import vectors
from memory.stores.files import derived_lock
from memory.stores.sql import Store
at, real = int(sys.argv[1]), vectors._write_mark
def dies(folder, mark):
    global at
    at -= 1
    if at == 0:
        os._exit(9)
    real(folder, mark)
vectors._write_mark = dies
store = Store.open({str(store.path)!r})
while vectors.feed(store, 40).more:
    pass
"""
    for at in (2, 3, 2):  # the first mark is that of the empty folder
        done = subprocess.run([sys.executable, "-c", code, str(at)], timeout=60, check=False, capture_output=True)
        assert done.returncode == 9, done.stderr
    hand.talk(1)
    sync(store)
    ids = [(name, row["id"]) for name in TABLES for row in held(store, name)]
    assert len(ids) == len(set(ids))
    assert verify(store).faults == ()


def test_a_mark_put_back_makes_the_batch_come_again_and_nothing_twice(store: Store, hand: Hand):
    hand.talk(5)
    sync(store)
    mark = (store.path / INDEX_FOLDER / INDEX_MARK).read_bytes()
    hand.talk(12)
    sync(store)
    before = {name: len(held(store, name)) for name in TABLES}
    (store.path / INDEX_FOLDER / INDEX_MARK).write_bytes(mark)
    assert sync(store).rows > 24
    assert {name: len(held(store, name)) for name in TABLES} == before
    assert verify(store).faults == ()


def test_what_another_process_wrote_and_fed_is_found(folder: Path, spawn):
    with Store.open(folder) as store:
        open_hand(store, LIVE).talk(1)
        assert len(search(store, user="ana", text="peanuts")) == 2
        assert spawn("write", folder, "ana", "work", 3).wait(timeout=60) == 0
        assert spawn("sync", folder, 1).wait(timeout=60) == 0
        assert not is_behind(store)
        assert {r["conversation"] for r in search(store, user="ana", text="work yes")} == {"work"}


def test_a_background_follower_feeds_both(store: Store, hand: Hand):
    with Following(store, every_s=0.05, index_every_s=0):
        hand.talk(3)
        deadline = time.monotonic() + 30
        while not (store.path / INDEX_FOLDER / INDEX_MARK).exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        hand.talk(2)
    assert not is_behind(store)
    assert verify(store).index_rows["turns"] == 10


def test_many_small_files_are_put_in_order(store: Store, hand: Hand, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vectors, "FRAGMENTS", 5)
    for _ in range(8):
        hand.talk(1)
        sync(store)
    stats = vectors._connect(store.path).open_table("turns").stats()
    assert stats["fragment_stats"]["num_fragments"] <= 6
    assert verify(store).faults == ()


# ── searching ─────────────────────────────────────────────────────────────────────────────────────────


def test_text_is_found_in_two_languages(talked: Store):
    assert "llamas" in search(talked, user="ana", text="llama")[0]["text"]
    chinese = search(talked, user="ana", text="成语接龙")
    assert {r["run"] for r in chinese} == {"live"}
    assert all("成语接龙" in r["text"] for r in chinese)
    scores = [r["score"] for r in chinese]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("words", ["成語接龍", "成语接龙", "遊戲"])
def test_chinese_is_found_in_either_script(tmp_path, words: str):
    with Store.open(tmp_path / "store") as store:
        hand = open_hand(store, LIVE)
        for said in ("今天玩成语接龙游戏", "今天玩成語接龍遊戲", "明天去游泳"):
            hand.step(said)
        both = {"今天玩成语接龙游戏", "今天玩成語接龍遊戲"}
        assert {r["text"] for r in search(store, user="ana", text=words)} == both
        assert len(search(store, user="ana", text=words, k=1)) == 1


@pytest.mark.parametrize("words", ["", "the", "zebra", "\"'(AND* :~^", "…"])
def test_what_matches_nothing_brings_nothing(talked: Store, words: str):
    if words:
        assert search(talked, user="ana", text=words) == []
    else:
        with pytest.raises(BadQuery, match="either a text or a vector"):
            search(talked, user="ana", text=words)


def test_vectors_find_by_likeness(talked: Store):
    near = search(talked, user="ana", vector=question("message about volcanoes"), embedder=HASH, k=3)
    assert all("volcanoes" in r["text"] for r in near)
    assert near[0]["score"] >= near[-1]["score"] > 0.2


def test_what_stands_late_in_a_long_message_is_found_with_the_whole_of_it(store: Store, hand: Hand):
    hand.talk(3)
    hand.receive_in_pieces("of llamas and alpacas " * 150 + "a marmot whistled " * 90, 3_000)
    hand.answer("I see")
    reindex(store, HASH)
    near = search(store, user="ana", vector=question("the marmot whistled"), k=1)[0]
    assert (near["turn"], near["part"] > 0) == (7, True)
    assert near["text"].startswith("of llamas")


def test_a_page_is_as_near_as_its_nearest_exchange(talked: Store):
    pages = search(talked, user="ana", vector=question("reply about volcanoes"), table="pages", k=3)
    assert all("volcanoes" in page["text"] for page in pages)
    assert all(page["first_turn"] <= page["turn"] <= page["last_turn"] for page in pages)


def test_runs_of_one_conversation_show_what_they_share_once(store: Store):
    for run in ("recorded", "replay-1", "replay-2"):
        open_hand(store, LIVE.at(run), seed=1).talk(8)
    found = search(store, user="ana", text="message peanuts", k=5)
    assert len(found) == 5 == len({r["turn"] for r in found})
    assert {r["run"] for r in search(store, user="ana", text="peanuts", run="replay-2")} == {"replay-2"}


def test_questions_like_this_one_come_with_what_they_found(talked: Store):
    for embedder in (HASH, None):
        like = questions_like(talked, "what of page 3?", user="ana", embedder=embedder, k=2)
        assert "page" in like[0]["text"]
        assert len(like[0]["chosen"]) == 1
    assert questions_like(talked, question("what of page 3?"), user="ana", k=1)[0]["text"] == "what of page 3?"
    assert questions_like(talked, "", user="ana") == []


def test_a_search_sees_what_was_just_written(store: Store, hand: Hand):
    hand.talk(2)
    assert search(store, user="ana", text="xylophone") == []
    hand.step("I play the xylophone")
    assert search(store, user="ana", text="xylophone")[0]["turn"] == 5


def test_an_empty_store_finds_nothing(store: Store):
    for table in TABLES:
        assert search(store, user="ana", text="peanuts", table=table) == []
    assert search(store, user="ana", vector=question("peanuts")) == []


USERS = ["ana", "bo", "o'brien", "x' OR '1'='1", 'q"uote', "Ana", "an", "ana ", "用户", "%", "a\\'b"]


def test_nobody_finds_another_users_rows(store: Store):
    canaries = {user: f"canary{n}x" for n, user in enumerate(USERS)}
    for user, canary in canaries.items():
        open_hand(store, Scope(user, "trip"), seed=2).talk(9, about=f"peanuts {canary}")
    reindex(store, HASH)
    sync(store)
    for user, canary in canaries.items():
        found = [
            row for table in ("turns", "pages", "bookmarks", "retrievals")
            for row in (
                search(store, user=user, text="peanuts page message", table=table, k=500)
                + search(store, user=user, vector=question("peanuts"), table=table, k=500)
            )
        ]  # fmt: skip
        assert {row["user"] for row in found} == {user}
        assert sum(canary in repr(row) for row in found) > 20
        assert not any(other in repr(row) for other in set(canaries.values()) - {canary} for row in found)
    assert search(store, user="nobody", text="peanuts") == []


@pytest.mark.parametrize(
    ("ask", "error", "told"),
    [
        ({"text": "x", "user": ""}, BadQuery, "needs a user"),
        ({"text": "x", "table": "wishes"}, UnknownName, "no table named 'wishes'"),
        ({"text": "x", "k": 0}, BadQuery, "at least 1"),
        ({"text": "x", "vector": [1.0]}, BadQuery, "either"),
        ({"vector": [[1.0]]}, BadQuery, "shape"),
        ({"vector": [float("nan")] * 512}, BadQuery, "finite"),
        ({"vector": [1.0] * 384}, OtherEmbedder, "have 512 numbers .*this one has 384"),
        ({"vector": [1.0] * 512, "table": "evictions"}, BadQuery, "by text"),
    ],
)
def test_a_bad_search_says_what_is_wrong(talked: Store, ask: dict, error: type, told: str):
    with pytest.raises(error, match=told):
        search(talked, **{"user": "ana", **ask})


def test_vectors_of_another_embedder_are_refused_and_made_anew(store: Store, hand: Hand):
    hand.talk(8)
    with pytest.raises(OtherEmbedder, match="no vectors yet"):
        search(store, user="ana", vector=question("x"))
    reindex(store, HASH)
    other = Small()
    with pytest.raises(OtherEmbedder, match=r"of hash-512-2, not of small-1.*reindex --embedder small"):
        search(store, user="ana", vector=np.zeros(512), embedder=other)
    reindex(store, other)
    assert sync(store).rebuilt == "the vectors are of small-1 now"
    assert len(search(store, user="ana", vector=other.queries(["message 3"])[0], embedder=other)) == 10
    assert verify(store).vectors["embedder"] == "small-1"
    assert verify(store).ok


class Small:
    """Three numbers a text."""

    name, identity, dims = "small", "small-1", 3

    def passages(self, texts):
        made = np.array([[len(t), t.count("a") + 1, t.count("e")] for t in texts], np.float32).reshape(-1, 3)
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    queries = passages


# ── deletion, damage, rebuild ─────────────────────────────────────────────────────────────────────────


def test_a_deleted_conversation_leaves_no_byte(store: Store, folder: Path):
    open_hand(store, LIVE).talk(12, about="CANARY-9041")
    open_hand(store, Scope("bo", "trip")).talk(12, about="KEPT")
    reindex(store, HASH)
    sync(store)
    assert search(store, user="ana", text="CANARY-9041")
    store.delete("ana", "trip")
    assert not (folder / INDEX_FOLDER).exists()
    assert search(store, user="ana", text="CANARY-9041") == []
    assert search(store, user="ana", vector=question("CANARY-9041")) == []
    assert len(search(store, user="bo", text="KEPT", k=99)) == 24
    assert verify(store).ok
    assert verify(store).vectors["missing"] == 0
    files = [f for f in folder.rglob("*") if f.is_file()]
    assert not any(b"CANARY-9041" in f.read_bytes() for f in files)


def test_another_process_never_serves_what_was_deleted(store: Store, folder: Path):
    open_hand(store, LIVE).talk(3, about="CANARY-1")
    open_hand(store, Scope("bo", "trip")).talk(3)
    sync(store)
    saved = folder.parent / "saved"
    shutil.copytree(folder / INDEX_FOLDER, saved)
    store.delete("ana", "trip")
    shutil.copytree(saved, folder / INDEX_FOLDER)
    with Store.open(folder, readonly=True) as reader, pytest.raises(StoreError, match="older than a deletion"):
        search(reader, user="ana", text="CANARY-1")
    assert sync(store).rebuilt == "words were taken away"
    assert search(store, user="ana", text="CANARY-1") == []


def test_a_readonly_store_without_an_index_says_how_to_get_one(store: Store, hand: Hand, folder: Path):
    hand.talk(1)
    with Store.open(folder, readonly=True) as reader:
        with pytest.raises(NotFound, match="run `workbench rebuild`"):
            search(reader, user="ana", text="peanuts")
        sync(store)
        assert search(reader, user="ana", text="peanuts")


def test_rebuild_makes_it_anew_from_the_log(store: Store, hand: Hand):
    hand.talk(14)
    reindex(store, HASH)
    sync(store)
    before = {name: sorted(held(store, name), key=lambda r: r["id"]) for name in TABLES}
    assert rebuild(store).rows >= sum(map(len, before.values()))
    assert {name: sorted(held(store, name), key=lambda r: r["id"]) for name in TABLES} == before
    assert verify(store).ok


@pytest.mark.parametrize("part", ["data", "_versions", "_indices", INDEX_MARK, "all"])
def test_a_damaged_folder_is_told_and_rebuild_heals_it(store: Store, hand: Hand, part: str):
    hand.talk(10)
    reindex(store, HASH)
    sync(store)
    files = [f for f in (store.path / INDEX_FOLDER).rglob("*") if f.is_file() and (part == "all" or part in f.parts)]
    assert files
    for file in files:
        file.write_bytes(b"garbage")
    for ask in ({"text": "peanuts"}, {"vector": question("peanuts")}):
        try:
            assert search(store, user="ana", **ask)  # made anew, or not touched by the damage
        except StoreDamaged as error:
            assert "run `workbench rebuild`" in str(error)  # noqa: PT017 - both ends are right
    if part == "data":
        assert any("run `workbench rebuild`" in fault for fault in verify(store).faults)
    rebuild(store)
    assert verify(store).ok
    assert search(store, user="ana", text="peanuts")


def test_verify_names_rows_and_vectors_that_differ(store: Store, hand: Hand):
    hand.talk(12)
    reindex(store, HASH)
    sync(store)
    db = vectors._connect(store.path)
    db.open_table("turns").update("turn = 3", values={"text": "something else"})
    db.open_table("evictions").delete("true")
    turned = np.roll(HASH.passages(["x y z"])[0], 1).tolist()
    db.open_table("retrievals").update("true", values={"vector": turned})
    faults = " ".join(verify(store).faults)
    assert "turns differ from the truth" in faults
    assert "evictions differ from the truth (0 rows there" in faults
    assert "vectors are not those of vectors.sqlite" in faults


def test_reading_the_store_loads_no_lancedb(store: Store, hand: Hand):
    hand.talk(2)
    code = f"""
import sys
from memory.engine import Engine
from memory.stores import embedded, jobs, sync, verify
from memory.stores.sql import Store
with Store.open({str(store.path)!r}, readonly=True) as store:
    store.sql("SELECT count(*) FROM turns"), store.streams(), verify.verify(store), sync.sync(store)
print("lancedb" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"
