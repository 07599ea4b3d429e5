"""A case file holds the chosen conversation whole, nothing of anybody else, and is opened with care."""

import json
import shutil
import sqlite3
import zipfile
from hashlib import sha256

import numpy as np
import pytest

from memory.engine import Engine
from memory.errors import CaseError, NotFound, StoreError, StoreReadOnly
from memory.models.embedding import named
from memory.redaction import own_patterns
from memory.scope import Scope
from memory.stores import embedded
from memory.stores.excerpt import ELSEWHERE
from memory.stores.sql import Store
from sessions.cases import MANIFEST, make_case, open_case, read_manifest
from sessions.replay import replay

SMALL = {"window_tokens": 2_000, "reply_tokens": 100, "page_turns": 2}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("cases") / "store") as opened:
        trip = Engine.open(opened, user="ana", conversation="trip", **SMALL)
        for line in ("My budget for the trip is 5,000 euros.", "Write to ana@example.org, order KD-123456.", "Thanks!"):
            trip.say(line)
        lawyer = Engine.open(opened, user="ana", conversation="lawyer-smith", **SMALL)
        lawyer.say("My blood type is zero negative, and my budget is 9,000 euros.")
        reached = Engine.open(opened, user="ana", conversation="reached", bookmarks="rarity", **SMALL)
        for line in ("Call my sister on +49 30 1234567 about the harbour.", "Thanks!", "Again, thanks!"):
            reached.say(line)
        other = Engine.open(opened, user="bert", conversation="trip", **SMALL)
        other.say("My favourite color is ultramarine.")
        embedded.reindex(opened, named("hash"))
        yield opened


@pytest.fixture(scope="module")
def file(store, tmp_path_factory):
    place = tmp_path_factory.mktemp("case") / "trip.memcase"
    make_case(store, "ana", ["trip"], place, own=own_patterns("order: KD-\\d{6}"))
    return place


@pytest.fixture
def case(file):
    with open_case(file) as opened:
        yield opened


def bytes_of(case) -> bytes:
    return b"".join(each.read_bytes() for each in case.folder.rglob("*") if each.is_file())


def test_it_holds_the_conversation_whole_with_every_decision(store, case):
    scope = Scope("ana", "trip")
    assert case.scope == scope
    assert [e.kind for e in case.store.events(scope)] == [e.kind for e in store.events(scope)]
    assert [e.seq for e in case.store.events(scope)] == [e.seq for e in store.events(scope)]
    assert case.store.state(scope).settings == store.state(scope).settings
    assert case.store.check() == []


def test_nothing_of_other_users_and_conversations_is_in_it(case):
    raw = bytes_of(case)
    for words in ("bert", "ultramarine", "lawyer-smith", "blood", "zero negative", "9,000"):
        assert words.encode() not in raw
    assert {s.scope.conversation for s in case.store.streams()} == {"trip"}


def test_what_was_taken_out_is_in_no_byte_and_counted(case):
    raw = bytes_of(case)
    assert not any(words in raw for words in (b"ana@example", b"KD-123456"))
    assert case.manifest.removed.keys() == {"e-mail address", "order"}


def test_a_number_s_digits_are_in_no_byte_either_where_a_bookmark_has_them_without_its_sign(store, tmp_path):
    assert any("49 30 1234567" in text and "+" not in text for text in store.words(Scope("ana", "reached")).values())
    make_case(store, "ana", ["reached"], tmp_path / "reached.memcase")
    with open_case(tmp_path / "reached.memcase") as opened:
        assert b"1234567" not in bytes_of(opened)


def test_facts_that_it_told_keep_their_words_and_others_only_their_number(store, case):
    known = case.store.knowledge("ana")
    assert known.facts.keys() == store.knowledge("ana").facts.keys()
    words = case.store.words(Scope("ana", "trip"), [fact.text for fact in known.facts.values()])
    told = {words[fact.text] for fact in known.facts.values()}
    assert any("5,000" in each for each in told)
    assert ELSEWHERE in told
    left = [fact for fact in known.facts.values() if words[fact.text] == ELSEWHERE]
    assert len(left) == case.manifest.facts_left_out
    assert {(fact.key, fact.value_key, fact.written_in) for fact in left} == {("", "", ELSEWHERE)}


def test_it_brings_the_vectors_of_texts_that_are_as_they_were(store, case):
    text, question = next(iter(embedded.wanted_texts(case.store).values()))
    [ours] = embedded.vectors_of(store, named("hash"), [text], question=question)
    [theirs] = embedded.vectors_of(case.store, named("hash"), [text], question=question)
    assert np.array_equal(ours, theirs)
    assert 0 < case.manifest.vectors < len(embedded.kept_hashes(store))


def test_it_replays_as_the_store_that_it_came_from(store, case):
    settings = store.state(case.scope).settings.but(page_turns=3)
    ours, theirs = replay((store, case.scope), settings), case.replay(page_turns=3)
    assert (ours.turns, ours.pages, ours.evictions) == (theirs.turns, theirs.pages, theirs.evictions)
    with pytest.raises(StoreReadOnly):
        case.store.delete("ana", "trip")


def test_its_folder_goes_with_it(file):
    with open_case(file) as opened:
        folder = opened.folder
    assert not folder.exists()


def test_it_overwrites_nothing_and_leaves_no_half_file(store, file, tmp_path):
    with pytest.raises(StoreError, match="nothing is overwritten"):
        make_case(store, "ana", ["trip"], file)
    with pytest.raises(NotFound, match="no conversation 'nowhere' of user 'ana'"):
        make_case(store, "ana", ["nowhere"], tmp_path / "x.memcase")
    assert list(tmp_path.iterdir()) == []


# ── files by somebody else ────────────────────────────────────────────────────────────────────────────


def changed(file, to, inside=None, **told):
    """The same case with other parts, and another manifest."""
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as new:
        manifest = json.loads(old.read(MANIFEST)) | told
        kept = {name: old.read(name) for name in old.namelist()} | {MANIFEST: json.dumps(manifest).encode()}
        for name, raw in (kept | (inside or {})).items():
            if raw is not None:
                new.writestr(name, raw)
    return to


@pytest.mark.parametrize(
    ("inside", "told", "why"),
    [
        ({}, {"version": 2}, "version 2; this program reads up to 1: update"),
        ({}, {"format": "other"}, "its format is 'other'"),
        ({}, {"turns": "many"}, "manifest cannot be read"),
        ({}, {"parts": {}}, "no conversation, or no log"),
        ({"../evil.py": b"x"}, {}, r"it holds '\.\./evil\.py'"),
        ({"/etc/passwd": b"x"}, {}, "it holds '/etc/passwd'"),
        ({"memory.sqlite": None}, {}, r"it has no memory\.sqlite"),
        ({"memory.sqlite": b"SQLite format 3"}, {}, r"memory\.sqlite is not what was put in"),
        ({"settings.json": bytes(14_000_000)}, {}, "unpacks to 14,000,000 bytes"),
    ],
)
def test_a_file_that_is_no_honest_case_says_why(file, tmp_path, inside, told, why):
    made = changed(file, tmp_path / "x.memcase", inside, **told)
    with pytest.raises(CaseError, match=why):
        open_case(made)


def test_a_log_with_a_trigger_of_somebody_elses_is_not_opened(file, tmp_path):
    with open_case(file) as opened:
        shutil.copy(opened.folder / "memory.sqlite", tmp_path / "log")
        parts = dict(opened.manifest.parts)
    db = sqlite3.connect(tmp_path / "log")
    db.execute("CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM event; END")
    db.commit()
    db.close()
    raw = (tmp_path / "log").read_bytes()
    parts["memory.sqlite"] = sha256(raw).hexdigest()
    made = changed(file, tmp_path / "x.memcase", {"memory.sqlite": raw}, parts=parts)
    with pytest.raises(CaseError, match="its log has a trigger"):
        open_case(made)


@pytest.mark.parametrize("size", [0, 100, 5_000])
def test_half_a_file_is_no_case(file, tmp_path, size):
    (tmp_path / "x.memcase").write_bytes(file.read_bytes()[:size])
    with pytest.raises(CaseError, match="no case file, or only the beginning"):
        open_case(tmp_path / "x.memcase")
    with pytest.raises(NotFound, match="there is no file"):
        read_manifest(tmp_path / "none.memcase")
