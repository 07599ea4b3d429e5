"""Erased words are gone from every table and every byte, for this user only, whatever happens in between."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from store_by_hand import Hand, open_hand

from memory.errors import BadMessage, ConversationBusy, NotFound, StaleFact, StoreLocked, UndoRefused
from memory.events import BookmarkMade, ModelFailed, OperationRefused
from memory.fact_events import FactWritten, TextErased
from memory.facts import BEGINNING, Candidate, Source
from memory.longterm import LongTerm
from memory.models.embedding import named
from memory.pages import Bookmark
from memory.revision import Writer, revise
from memory.scope import Scope
from memory.stores import care, embedded
from memory.stores.erase import erase
from memory.stores.files import BACKUPS
from memory.stores.jobs import enqueue, jobs
from memory.stores.lease import leased
from memory.stores.scan import scan
from memory.stores.sql import Store
from memory.stores.sync import sync
from memory.stores.verify import verify
from memory.topic import Topic

ANA, BO = Scope("ana", "trip"), Scope("bo", "trip")
PEANUT = Topic.of("peanut")
SAID = "Hello there. I am allergic to peanuts. My budget is 8000 euros."


def said(hand: Hand, *messages: str) -> None:
    if not hand.state.version:
        hand.start("a flight without peanuts")
    for message in messages:
        hand.step(message, "Noted: no peanuts. Anything else?")


def files_with(folder: Path, words: str) -> list[str]:
    found = (f for f in folder.rglob("*") if f.is_file() and words.encode() in f.read_bytes().lower())
    return sorted(str(f.relative_to(folder)) for f in found)


@pytest.fixture
def ana(store: Store) -> LongTerm:
    """Who said something about peanuts, in a conversation and outside of it; and so did Bo."""
    for scope in (ANA, BO):
        said(open_hand(store, scope), SAID, "And where do we eat?")
        LongTerm(store, scope.user).write(SAID)
    return LongTerm(store, "ana")


# ── what goes ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_same_scan_finds_the_words_before_and_nothing_after(store: Store, folder: Path, ana: LongTerm):
    sync(store)
    before = scan(store, "ana", PEANUT)
    places = " ".join([*before.rows, *before.unexplained])
    assert all(name in places for name in ("memory.sqlite", "events.duckdb", "vectors.lance"))
    assert not before.clean
    erase(store, "ana", "peanut").carry_out()
    after = scan(store, "ana", PEANUT)
    assert after.clean, after
    assert after.others, "Bo's words are there still"
    assert verify(store).ok


def test_where_nobody_else_said_it_no_byte_of_it_is_left(store: Store, folder: Path):
    said(open_hand(store, ANA), SAID)
    LongTerm(store, "ana").write(SAID)
    sync(store)
    assert files_with(folder, "peanut")
    erase(store, "ana", "peanut").carry_out()
    assert files_with(folder, "peanut") == []
    assert files_with(folder, "8000 euros"), "what was said beside it stays"


def test_another_user_with_the_very_same_words_loses_nothing(store: Store, ana: LongTerm):
    bo = LongTerm(store, "bo")
    before = (store.words(BO), store.events(BO), bo.knowledge)
    erase(store, "ana", "peanut").carry_out()
    assert (store.words(BO), store.events(BO), bo.knowledge) == before


def test_sentences_go_and_the_rest_of_a_message_stays_with_its_spans(store: Store, ana: LongTerm):
    budget = next(f for f in ana.facts() if "budget" in ana.text(f))
    erase(store, "ana", "peanut").carry_out()
    turn = store.state(ANA).pages[1].turns[0]
    assert store.words(ANA)[turn.text] == "Hello there. _________________________ My budget is 8000 euros."
    assert ana.quotes(budget.id)[0][1].startswith("My budget is 8000")


def test_a_fact_that_is_erased_is_believed_no_more_and_keeps_no_digest(store: Store, ana: LongTerm):
    fact = next(f for f in ana.facts() if "peanut" in ana.text(f))
    assert fact.value_key
    assert erase(store, "ana", "peanut").carry_out().facts == (fact.id,)
    after = ana.fact(fact.id)
    assert (after.state, after.open, after.key, after.value_key) == ("erased", False, "", "")
    written = [e.body.fact for e in store.events(ana.scope) if isinstance(e.body, FactWritten)]
    assert [(f.key, f.value_key) for f in written if f.id == fact.id] == [("", "")]
    assert ana.query("peanuts").found == ()
    assert set(ana.text(after)) == {"_"}


def test_sentences_that_say_the_fact_and_do_not_name_it_go_too(store: Store):
    hand = open_hand(store, ANA)
    said(hand, "They make me ill and I cannot breathe.", "I told you: They make me ill and I cannot breathe.")
    ana = LongTerm(store, "ana", "trip")
    turn = hand.state.pages[1].turns[0]
    source = ana_source(turn.text, 0, 39)
    ana.add(Candidate("Ana is allergic to peanuts", 0, 39), source, by="rules")
    erase(store, "ana", "peanut").carry_out()
    assert "breathe" not in repr(store.words(ANA))


def ana_source(text: int, start: int, end: int):
    return Source("trip", 1, text, start, end, "user", BEGINNING)


def test_facts_can_be_erased_by_number(store: Store, ana: LongTerm):
    fact = next(f for f in ana.facts() if "budget" in ana.text(f))
    preview = erase(store, "ana", facts=[fact.id])
    assert preview.facts == (fact.id,)
    preview.carry_out()
    assert ana.fact(fact.id).state == "erased"
    assert "8000" not in repr(store.words(ana.scope))
    assert "peanuts" in repr(store.words(ana.scope)), "what else was said stays"


def test_bookmarks_lose_what_no_longer_stands_on_their_page(store: Store):
    hand = open_hand(store, ANA)
    said(hand, "I am allergic to peanuts and it itches.", "We fly to Lisbon.")
    write = hand.journal.write
    mark = Bookmark(
        write("[p1:itching,peanut,lisbon]"), write("itching,peanut,lisbon"), write("Ana itches."), 9, "hand"
    )
    hand.add(BookmarkMade(1, mark))
    hand.commit()
    erase(store, "ana", "peanut").carry_out()
    words = store.words(ANA)
    assert (words[mark.stub], words[mark.keywords], words[mark.description]) == ("[p1:lisbon]", "lisbon", "_" * 11)


def test_words_in_records_themselves_go_and_the_fold_stays_the_same(store: Store, hand: Hand):
    hand.start()
    hand.add(OperationRefused("c1", "recall", "there is no page named peanut"))
    hand.add(ModelFailed(0, "m", "ModelError", "cannot say peanut"))
    hand.commit()
    state = store.state(ANA)
    assert erase(store, "ana", "peanut").carry_out().records == 2
    assert "peanut" not in repr(store.events(ANA))
    assert store.state(ANA) == state


def test_vectors_of_erased_texts_are_taken_out(store: Store):
    hand = open_hand(store, ANA)
    said(hand, *(f"I am allergic to peanuts, {n}" for n in range(4)))
    embedded.reindex(store, named("hash"))
    kept = len(embedded.kept_hashes(store))
    assert scan(store, "ana", PEANUT).vectors
    erased = erase(store, "ana", "peanut").carry_out()
    assert 0 < erased.vectors <= kept
    assert scan(store, "ana", PEANUT).vectors == 0


# ── before and after ──────────────────────────────────────────────────────────────────────────────────


def test_without_a_filter_nothing_is_erased(store: Store, ana: LongTerm):
    with pytest.raises(BadMessage, match="say what to erase"):
        erase(store, "ana")
    assert ana.facts()


def test_a_preview_changes_nothing_and_names_what_goes_and_what_stays(store: Store, ana: LongTerm):
    said(open_hand(store, Scope("ana", "peanut-trip")), "a peanutty taste")
    seq, words = store.last_seq(), store.words(ANA)
    preview = erase(store, "ana", "peanut")
    assert (store.last_seq(), store.words(ANA)) == (seq, words)
    assert ("trip", 1) in preview.turns
    assert "allergic to peanuts" in preview.told[0]
    assert preview.beside == ("peanutty",)
    assert preview.names == ("peanut-trip",)
    assert preview.forms == {"peanuts": preview.forms["peanuts"]}


def test_what_changed_since_the_preview_must_be_looked_at_again(store: Store, ana: LongTerm):
    preview = erase(store, "ana", "peanut")
    ana.write("I hate peanuts.")
    with pytest.raises(StaleFact, match="look at it again"):
        preview.carry_out()
    assert "hate peanuts" in repr(store.words(ana.scope))


def test_nothing_to_erase_is_said(store: Store, ana: LongTerm):
    preview = erase(store, "ana", "walrus")
    assert preview.empty
    with pytest.raises(NotFound, match="nothing to erase"):
        preview.carry_out()


def test_while_a_reply_is_being_made_nothing_is_erased(store: Store, ana: LongTerm):
    preview, journal = erase(store, "ana", "peanut"), store.journal(ANA)
    with leased(journal), pytest.raises(ConversationBusy, match="trip"):
        preview.carry_out()
    assert preview.carry_out().texts


def test_there_is_no_undo(store: Store, ana: LongTerm):
    fact = next(f for f in ana.facts() if "peanut" in ana.text(f))
    change = ana.mark(fact.id)
    erase(store, "ana", "peanut").carry_out()
    with pytest.raises(UndoRefused, match="were erased"):
        ana.undo(change.number)
    for again in (ana.release, ana.mark, ana.forget, ana.retract):
        with pytest.raises(NotFound, match="nothing is left"):
            again(fact.id)


def test_the_record_of_it_holds_no_word_of_the_topic(store: Store, ana: LongTerm):
    erase(store, "ana", "peanut").carry_out(by="ana")
    record = store.events(ana.scope)[-1].body
    assert isinstance(record, TextErased)
    assert (record.by, len(record.facts)) == ("ana", 1)
    assert "peanut" not in repr(record)


def test_one_side_of_a_conflict_that_is_erased_ends_it(store: Store):
    here, there = LongTerm(store, "ana", "here"), LongTerm(store, "ana", "there")
    one = Candidate("The report is on Monday", 0, 5, subject="user", attribute="report", value="Monday", single=True)
    two = Candidate("The report is on Tuesday", 0, 5, subject="user", attribute="report", value="Tuesday", single=True)
    seen = here.knowledge.version
    here.add(one, ana_source(here.journal.said("x"), 0, 5), by="rules")
    there.commit(lambda k: at_once(there, k, two, seen))
    assert [c.facts for c in here.conflicts] == [(1, 2)]
    erase(store, "ana", "Tuesday").carry_out()
    assert here.conflicts == []
    assert here.fact(1).state == "active"


def at_once(memory: LongTerm, k, candidate: Candidate, seen: int):
    source = ana_source(memory.journal.said("y"), 0, 5)
    writer = Writer(memory.conversation, seen, "rules", BEGINNING)
    return revise(k, candidate, source, writer, memory.journal.write, lambda _: ()).bodies


# ── other processes, crashes, copies ──────────────────────────────────────────────────────────────────


def test_other_processes_drop_what_they_know(store: Store, folder: Path, ana: LongTerm):
    with Store.open(folder) as other:
        memory, hand = LongTerm(other, "ana"), open_hand(other, ANA)
        assert memory.query("peanuts").found
        assert "peanuts" in repr([hand.journal.words(t.text) for t in hand.state.pages[1].turns])
        assert other.sql("SELECT count(*) FROM turns WHERE text LIKE '%peanut%' AND \"user\" = 'ana'").rows[0][0]
        erase(store, "ana", "peanut").carry_out()
        assert memory.query("peanuts").found == ()
        hand.refresh()
        assert "peanuts" not in repr([hand.journal.words(t.text) for t in hand.state.pages[1].turns])
        assert other.sql("SELECT count(*) FROM turns WHERE text LIKE '%peanut%' AND \"user\" = 'ana'").rows == [(0,)]


def test_work_in_hand_is_refused_and_done_again(store: Store, ana: LongTerm):
    enqueue(store, "bookmark", ANA, "1")
    with store.write() as truth:
        truth.exec_driver_sql("UPDATE job SET state = 'running', owner = 'w', until_us = 9e15, reason = 'no peanut'")
    erase(store, "ana", "peanut").carry_out()
    assert [(j.state, j.owner, j.reason) for j in jobs(store)] == [("queued", "", "_________")]


def test_a_crash_after_the_transaction_is_taken_up_at_the_next_opening(folder: Path, monkeypatch):
    with Store.open(folder) as store:
        said(open_hand(store, ANA), SAID)
        sync(store)

        def dies(*_args):
            raise KeyboardInterrupt

        monkeypatch.setattr("memory.stores.erase._finish", dies)
        with pytest.raises(KeyboardInterrupt):
            erase(store, "ana", "peanut").carry_out()
    assert files_with(folder, "peanut")
    with Store.open(folder) as store:
        assert files_with(folder, "peanut") == []
        assert verify(store).ok


def test_a_reader_that_holds_the_log_open_is_told_of_and_the_rest_is_done_later(
    store: Store, folder: Path, monkeypatch
):
    said(open_hand(store, ANA), SAID)
    monkeypatch.setattr(care.wipe, "__defaults__", (0.2,))
    with closing(sqlite3.connect(store.file)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM text").fetchone()
        with pytest.raises(StoreLocked, match="open the store again"):
            erase(store, "ana", "peanut").carry_out()
    assert "peanuts" not in repr(store.words(ANA))
    Store.open(folder).close()
    assert files_with(folder, "peanut") == []


def test_backups_are_cleaned_where_they_were_written_and_copies_are_left(store: Store, folder: Path, ana: LongTerm):
    said(open_hand(store, Scope("ana", "old")), "peanuts again")
    store.backup(folder / BACKUPS / "before-schema-9.sqlite")
    beside, outside = store.backup(folder / "mine.db"), store.backup(folder.parent / "mine.copy")
    copied = Path(shutil.copy(outside, folder.parent / "copied.sqlite"))
    (folder / BACKUPS / "notes.sqlite").write_text("no database")
    store.delete("ana", "old")
    preview = erase(store, "ana", "peanut")
    backups = (str(outside), "backups/before-schema-9.sqlite", "mine.db")
    assert sorted(preview.backups) == sorted(preview.carry_out().backups) == sorted(backups)
    for each in (outside, beside, folder / BACKUPS / "before-schema-9.sqlite"):
        with closing(sqlite3.connect(each)) as copy:
            said_by = copy.execute("SELECT DISTINCT user FROM text WHERE content LIKE '%peanut%'").fetchall()
            assert said_by == [("bo",)]
            assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert b"peanut" in copied.read_bytes()
    assert scan(store, "ana", preview.topic).clean


def test_a_backup_out_of_reach_is_named_and_left(store: Store, folder: Path, ana: LongTerm, tmp_path: Path):
    gone, used = store.backup(tmp_path / "usb" / "a.sqlite"), store.backup(tmp_path / "clone" / "memory.sqlite")
    gone.unlink()
    with Store.open(used.parent):
        pass
    preview = erase(store, "ana", "peanut")
    assert preview.lost == (str(used), str(gone))
    assert preview.carry_out().backups == ()
    assert b"peanut" in used.read_bytes()
    assert scan(store, "ana", preview.topic).clean


def test_a_backup_of_another_store_is_none_of_ours(store: Store, folder: Path, ana: LongTerm, tmp_path: Path):
    with Store.open(tmp_path / "other") as other:
        LongTerm(other, "ana").write("I am allergic to peanuts.")
        theirs = other.backup(folder / BACKUPS / "theirs.sqlite")
    before = theirs.read_bytes()
    assert erase(store, "ana", "peanut").carry_out().backups == ()
    assert theirs.read_bytes() == before


def test_a_restored_cleaned_backup_is_a_sound_store(store: Store, folder: Path, ana: LongTerm, tmp_path: Path):
    copy = store.backup(folder / BACKUPS / "one.sqlite")
    erase(store, "ana", "peanut").carry_out()
    place = tmp_path / "restored"
    place.mkdir()
    copy.rename(place / "memory.sqlite")
    with Store.open(place) as restored:
        assert restored.check() == []


def test_snapshots_are_made_anew(store: Store, hand: Hand, monkeypatch):
    monkeypatch.setattr("memory.stores.folds.SNAPSHOT_STEPS", 5)
    hand.talk(12, about="peanuts")
    with store.read() as truth:
        assert truth.exec_driver_sql("SELECT count(*) FROM snapshot").scalar() == 2
    erase(store, "ana", "peanut").carry_out()
    with store.read() as truth:
        assert truth.exec_driver_sql("SELECT count(*) FROM snapshot").scalar() == 2
    assert verify(store).ok


def test_what_is_said_afterwards_is_remembered_again(store: Store, ana: LongTerm):
    erase(store, "ana", "peanut").carry_out()
    ana.write("I am allergic to peanuts.")
    assert "allergic to peanuts" in ana.text(ana.query("peanuts").found[0])


def test_erasing_twice_finds_nothing_the_second_time(store: Store, ana: LongTerm):
    erase(store, "ana", "peanut").carry_out()
    assert erase(store, "ana", "peanut").empty


def test_knowledge_that_is_kept_at_hand_follows_other_stores_and_forgets_what_was_erased(store: Store, ana: LongTerm):
    before = store.knowledge("ana")
    with Store.open(store.path) as other:
        LongTerm(other, "ana").write("I like ginger.")
        assert len(store.knowledge("ana").facts) == len(before.facts) + 1
        erase(other, "ana", "peanut").carry_out()
        fresh = other.knowledge("ana")
    assert store.knowledge("ana") == fresh
    assert store.knowledge("ana", before.version).version == before.version


def test_what_was_known_before_an_erase_comes_from_the_log_and_not_from_what_was_at_hand(store: Store, ana: LongTerm):
    before = store.knowledge("ana")
    with Store.open(store.path) as other:
        erase(other, "ana", "peanut").carry_out()
        then = other.knowledge("ana", before.version)
    assert store.knowledge("ana", before.version) == then != before


def test_the_fold_of_an_erase_is_the_same_live_and_rebuilt(store: Store, ana: LongTerm):
    erase(store, "ana", "peanut").carry_out()
    assert ana.knowledge == store.knowledge("ana")


# ── what else says the same ───────────────────────────────────────────────────────────────────────────


def test_an_entry_by_number_tells_where_else_its_value_is_said_and_the_wider_one_takes_it(store: Store):
    memory = LongTerm(store, "ana")
    memory.write("I am allergic to peanuts.")
    said(open_hand(store, ANA), "Are there peanuts on the plane?", "And where do we eat?")
    (fact,) = memory.facts()
    narrow = erase(store, "ana", facts=[fact.id])
    wide = narrow.wider()
    assert wide is not None
    assert (len(wide.turns) - len(narrow.turns), wide.facts) == (3, (fact.id,))  # asked once, answered twice
    assert wide.wider() is None
    wide.carry_out()
    assert scan(store, "ana", Topic.of("peanuts")).clean


@pytest.mark.parametrize("told", ["My budget is 8000 euros.", "Jule is 40 years old."])
def test_nothing_wider_where_nothing_else_says_it_or_a_small_number_would_be_all_that_is_the_same(
    store: Store, told: str
):
    memory = LongTerm(store, "ana")
    memory.write(told)
    said(open_hand(store, ANA), "The parcel has 40 kilos.")
    assert [erase(store, "ana", facts=[f.id]).wider() for f in memory.facts()] == [None]
