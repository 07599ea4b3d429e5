"""Memory work by a model: queued with the page's closing, done after the reply, lost by nobody."""

import json
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from itertools import count

import pytest
from sqlalchemy import text

from memory import Store, deferred
from memory.calling import Caller
from memory.errors import ModelRefused, ModelUnreachable
from memory.scope import Scope
from memory.stores import jobs as queue
from memory.stores.jobs import jobs, retry, work
from memory.stores.sync import sync
from memory.stores.verify import verify
from tests.memory.conftest import Model, fill_up, text_of

TRIP = Scope("ana", "trip")
REAL = {"llm": "openai/test", "bookmarks": "llm"}


class Namer:
    """Answers questions about keywords, one after another, and says "Noted." to anything else."""

    def __init__(self, *answers, delay_s=0.0):
        self.asked, self.delay_s = [], delay_s
        self.held_up = threading.Lock()  # as long as somebody holds it, no answer comes
        self._answers = iter(answers or (json.dumps({"keywords": [f"key {n}", "drawer"]}) for n in count(1)))
        self._reply = Model()
        self._lock = threading.Lock()

    def __call__(self, llm, messages, *, schema=None, **rest):
        if "keywords stay in" not in str(messages[0]["content"]):
            return self._reply(llm, messages, **rest)
        with self._lock:
            self.asked.append(messages[0]["content"])
            answer = next(self._answers)
        time.sleep(self.delay_s)
        assert self.held_up.acquire(timeout=20), "who holds this up waits for it"
        self.held_up.release()
        if isinstance(answer, Exception):
            raise answer
        rest = {name: value for name, value in rest.items() if name != "tools"}
        return Model(answer)(llm, messages, **rest)


@pytest.fixture
def named(opened):
    """Opens an engine whose model names pages as told; its own thread does not work unless it is asked to."""

    def open_engine(*answers, delay_s=0.0, **given):
        namer = Namer(*answers, delay_s=delay_s)
        engine = opened(**{"background": False, **REAL, **given})
        engine.caller = Caller(namer, sleep=lambda seconds: None)
        return engine, namer

    return open_engine


def states(store, kind="bookmark"):
    return {job.key: job.state for job in jobs(store) if job.kind == kind}


def origins(engine):
    engine.pager.refresh()
    return {p.number: p.bookmark.origin for p in engine.state.pages.values() if p.bookmark}


def do_all(store, namer, **rest):
    return work(store, deferred.does(store, Caller(namer)), **rest)


def until(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    assert true()


# ── queued ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_that_closes_queues_its_job_in_the_same_transaction(named):
    engine, namer = named()
    fill_up(engine, 5)
    assert states(engine.store) == {"1": "queued", "2": "queued"}
    assert namer.asked == []
    with sqlite3.connect(engine.store.file) as db:
        db.execute("CREATE TRIGGER no BEFORE INSERT ON job BEGIN SELECT RAISE(ABORT, 'no jobs today'); END")
    closed = sum(p.closed for p in engine.state.pages.values())
    with pytest.raises(Exception, match="no jobs today"):
        fill_up(engine, 3)
    engine.pager.refresh()
    assert sum(p.closed for p in engine.store.state(TRIP).pages.values()) == closed  # neither without the other


@pytest.mark.parametrize("given", [{"bookmarks": "rarity"}, {"llm": "workbench/offline"}])
def test_nothing_is_queued_where_rules_do_or_no_model_is_there(named, given):
    engine, _ = named(**given)
    fill_up(engine, 8)
    assert jobs(engine.store) == []


def test_what_is_queued_outlives_the_program(tmp_path):
    """It is killed right after its last reply, with the model still to be asked."""
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(sys.path[0])!r}); sys.path.insert(0, ".")
from memory import Engine
from tests.memory.conftest import SMALL, Model, fill_up
engine = Engine.open({str(tmp_path / "store")!r}, user="ana", conversation="trip", chat=Model(), background=False,
                     llm="openai/test", bookmarks="llm", **SMALL)
fill_up(engine, 7)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == -9
    with Store.open(tmp_path / "store") as store:
        assert set(states(store).values()) == {"queued"}
        assert do_all(store, Namer()).done == 3
        named_now = {p.number: p.bookmark.origin for p in store.state(TRIP).pages.values() if p.closed}
        assert named_now == {1: "llm", 2: "llm", 3: "llm"}
        sync(store)  # it may have been killed while it made the index
        assert verify(store).ok


# ── done after the reply ──────────────────────────────────────────────────────────────────────────────


def test_no_reply_waits_for_memory_work_and_it_comes_by_itself(named):
    engine, namer = named(background=True)
    with namer.held_up:
        fill_up(engine, 7)  # three pages closed meanwhile
        assert set(origins(engine).values()) == {"rarity"}
    until(lambda: set(states(engine.store).values()) == {"done"})
    assert origins(engine) == {1: "llm", 2: "llm", 3: "llm"}
    assert len(namer.asked) == 3
    assert engine.say("Still here?").text == "Noted."
    assert not engine.store.events(TRIP, kinds=["StepAbandoned"])


def test_closing_an_engine_waits_for_the_job_in_hand_and_begins_no_other(named):
    engine, namer = named(delay_s=0.3, background=True)
    fill_up(engine, 7)
    until(lambda: namer.asked)
    engine.close()
    begun = len(namer.asked)
    with Store.open(engine.store.path) as store:
        assert sorted(states(store).values()) == ["done"] * begun + ["queued"] * (3 - begun)


def test_what_an_engine_left_is_taken_up_by_the_next_one(named, opened):
    engine, _ = named()
    fill_up(engine, 5)
    after = opened(background=True)
    after.caller = Caller(Namer())
    after._following = None
    after.say("Back again.")
    until(lambda: set(states(after.store).values()) == {"done"})


def test_pages_that_closed_under_other_settings_are_done_when_it_is_asked_for(named):
    engine, _ = named(bookmarks="rarity")
    fill_up(engine, 5)
    engine.change(bookmarks="llm")
    assert states(engine.store) == {}
    assert engine.work().improved == (1, 2)
    assert engine.work() == deferred.Worked()


# ── failing ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_model_that_is_away_is_asked_again_later_and_at_last_it_stands_as_failed(named):
    engine, namer = named(*[ModelUnreachable("nobody answers")] * 99)
    fill_up(engine, 3)
    before = origins(engine)
    for tries in range(1, queue.TRIES + 1):
        assert jobs(engine.store)[0].tries == tries - 1
        do_all(engine.store, namer)
        queue.hurry(engine.store, ["bookmark"], TRIP)
    (job,) = jobs(engine.store)
    assert (job.state, job.reason) == ("failed", "ModelUnreachable: nobody answers")
    assert len(namer.asked) == queue.TRIES
    assert origins(engine) == before
    kinds = [e.kind for e in engine.store.events(TRIP, kinds=["ModelFailed", "MemoryWorkFailed"])]
    assert kinds == ["ModelFailed"] * queue.TRIES + ["MemoryWorkFailed"]
    assert engine.work() == deferred.Worked()  # not asked for ever …
    retry(engine.store, job.id)
    assert do_all(engine.store, Namer()).done == 1  # … but when a person says so
    assert origins(engine) == {1: "llm"}


def test_what_will_not_get_better_fails_at_once(named):
    engine, namer = named(ModelRefused("the key is wrong"))
    fill_up(engine, 3)
    assert do_all(engine.store, namer).failed == 1
    assert "the key is wrong" in jobs(engine.store)[0].reason
    assert len(namer.asked) == 1


def test_an_answer_that_cannot_be_read_stands_as_failed_with_its_reason(named):
    engine, namer = named("no idea", "still none")
    fill_up(engine, 3)
    assert do_all(engine.store, namer).failed == 1
    assert jobs(engine.store)[0].reason == "the model's answer could not be used: there is no JSON object"


# ── nothing twice, nothing by halves ──────────────────────────────────────────────────────────────────


def test_an_answer_about_a_page_that_a_person_marked_meanwhile_is_not_taken(named):
    engine, _ = named()
    fill_up(engine, 3)

    def marking(llm, messages, **rest):
        engine.mark(1)
        return Model('{"keywords": ["drawer"]}')(llm, messages)

    assert do_all(engine.store, marking).done == 1
    assert origins(engine) == {1: "user"}
    engine.mark(1, important=False)  # a rule's bookmark again: the model is to be asked again
    assert [job.state for job in jobs(engine.store)] == ["queued", "done"]
    do_all(engine.store, Namer())
    assert origins(engine) == {1: "llm"}


def test_an_answer_commits_with_the_end_of_its_job_or_not_at_all(named, monkeypatch):
    engine, namer = named()
    fill_up(engine, 3)

    @contextmanager
    def deaf():  # whoever ends a job dies in the middle of it
        with monkeypatch.context() as patch:
            patch.setattr(queue, "END", "SELECT no_such_column FROM job")
            yield

    before = engine.store.state(TRIP).version
    with deaf(), pytest.raises(Exception, match="no_such_column"):
        do_all(engine.store, namer)
    assert engine.store.state(TRIP).version == before
    assert origins(engine) == {1: "rarity"}
    with engine.store.write() as connection:
        connection.execute(text("UPDATE job SET until_us = 0"))
    assert do_all(engine.store, namer).done == 1
    assert verify(engine.store).ok


def test_two_workers_never_ask_about_one_page_at_once_nor_twice(named):
    """Of one conversation only one job runs at a time; of two, both do."""
    engine, namer = named(delay_s=0.02)
    fill_up(engine, 15)
    pages = len(states(engine.store))
    stores = [Store.open(engine.store.path) for _ in range(2)]
    overlaps = []

    def noting(llm, messages, **rest):
        overlaps.append(sum(job.state == "running" for job in jobs(engine.store)))
        return namer(llm, messages, **rest)

    def run(store):
        until(lambda: bool(do_all(store, noting).waiting == 0), 30)

    threads = [threading.Thread(target=run, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.close()
    assert len(namer.asked) == len(set(namer.asked)) == pages
    assert set(overlaps) == {1}
    assert set(origins(engine).values()) <= {"llm", "rarity"}
    assert verify(engine.store).ok


def test_all_at_once_asks_once_for_all_that_wait(named):
    engine, _ = named(bookmarks="llm_batch")
    fill_up(engine, 7)
    pages = [{"page": f"p{n}", "keywords": [f"drawer {n}", f"code of {n}"]} for n in (1, 2, 3)]
    namer = Namer(json.dumps({"pages": pages}))
    assert do_all(engine.store, namer).done == 3
    assert len(namer.asked) == 1
    assert origins(engine) == {1: "llm_batch", 2: "llm_batch", 3: "llm_batch"}


def test_a_deleted_conversation_is_not_written_to(named):
    engine, _ = named()
    fill_up(engine, 3)

    def deleting(llm, messages, **rest):
        engine.store.delete("ana", "trip")
        return Model('{"keywords": ["drawer"]}')(llm, messages)

    do_all(engine.store, deleting)
    assert engine.store.streams() == []
    assert jobs(engine.store) == []
    assert verify(engine.store).ok


def test_steps_go_on_while_another_thread_works(named):
    engine, namer = named(delay_s=0.05, background=True)
    for n in range(12):
        assert engine.say(f"Drawer {n}: {text_of(60, seed=n)}").text == "Noted."
    until(lambda: set(states(engine.store).values()) == {"done"}, 20)
    assert len(namer.asked) == len(states(engine.store))
    assert verify(engine.store).ok


def test_what_all_at_once_leaves_unread_stands_as_failed_page_by_page(named):
    engine, _ = named(bookmarks="llm_batch")
    fill_up(engine, 7)
    answers = [json.dumps({"pages": [{"page": "p2", "keywords": ["drawer"]}]}), "no idea"]
    namer = Namer(*answers)
    assert do_all(engine.store, namer).failed == 1
    assert states(engine.store) == {"1": "failed", "2": "done", "3": "failed"}
    assert len(namer.asked) == 2
    assert origins(engine) == {1: "rarity", 2: "llm_batch", 3: "rarity"}


# ── summaries ─────────────────────────────────────────────────────────────────────────────────────────


def gists(engine):
    engine.pager.refresh()
    words = engine.pager.journal.words
    return {p.number: (p.gist.origin, words(p.gist.text)) for p in engine.state.pages.values() if p.gist}


@pytest.mark.parametrize(
    ("given", "queued"),
    [
        ({}, False),  # the chat model is not asked unless somebody says so
        ({"memory_llm": "openai/small"}, True),
        ({"memory_llm": "summary=openai/small"}, True),
        ({"memory_llm": "eviction=openai/small"}, False),
        ({"memory_llm": "openai/small", "summaries": "extract"}, False),
        ({"summaries": "llm"}, True),
        ({"llm": "workbench/offline", "summaries": "llm"}, False),
    ],
)
def test_a_model_is_asked_for_summaries_where_one_is_named_for_it(named, given, queued):
    engine, _ = named(**{"bookmarks": "rarity", **given})
    fill_up(engine, 3)
    assert states(engine.store, "summary") == ({"1": "queued"} if queued else {})
    assert gists(engine)[1][0] == "extract"


def test_its_summary_takes_the_place_of_the_extract_and_what_it_makes_up_does_not(named):
    engine, _ = named(bookmarks="rarity", summaries="llm")
    fill_up(engine, 5)
    answers = iter(['{"summary": "The code of drawer 0 is 1000."}', *['{"summary": "The code is 9999."}'] * 2])
    asked = []

    def chat(llm, messages, **rest):
        asked.append(messages[0]["content"])
        return Model(next(answers))(llm, messages)

    worked = do_all(engine.store, chat)
    assert (worked.done, worked.failed) == (1, 1)
    assert gists(engine)[1] == ("llm", "The code of drawer 0 is 1000.")
    assert gists(engine)[2][0] == "extract"
    assert "a figure in it does not stand on the page" in jobs(engine.store, state="failed")[0].reason
    assert "could not be used: a figure" in asked[2]
    assert verify(engine.store).ok


def test_memory_work_is_counted_apart_from_replies(named):
    engine, _ = named(bookmarks="llm")
    fill_up(engine, 5)
    replies = sum(e.body.prompt_tokens for e in engine.store.events(TRIP, kinds=["ModelCalled"]))
    do_all(engine.store, Namer())
    sync(engine.store, wait_s=20, index=False)
    asked = "SELECT sum(calls), sum(prompt_tokens), sum(work_calls), sum(work_tokens) > 0 FROM steps"
    assert engine.store.sql(asked).rows == [(5, replies, 2, True)]
    assert not [fault for fault in verify(engine.store).faults if "events.duckdb" in fault]
