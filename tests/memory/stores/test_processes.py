"""Several processes, killed ones among them: nothing acknowledged is lost, nobody waits for the dead."""

import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from store_by_hand import Hand, first_line, open_hand

from memory.errors import ConversationBusy, StaleAppend, StoreClosed
from memory.events import GuestLeft, StepAbandoned, StepFinished
from memory.journal import utc_now
from memory.scope import Scope
from memory.stores.lease import is_gone, leased
from memory.stores.scan import _blocks
from memory.stores.sql import Store
from memory.stores.verify import verify

LIVE = Scope("ana", "trip")
KILLS = int(os.environ.get("WORKBENCH_KILLS", "10"))

log = logging.getLogger(__name__)


def said_in(store: Store) -> set[str]:
    return {words for s in store.streams() for words in store.words(s.scope).values()}


def test_many_writers_and_readers_lose_nothing(folder: Path, spawn):
    """Two write conversations of their own, two take turns in one; all begin with a folder that is not there."""
    writers = [spawn("write", folder, "ana", c, 12) for c in ("one", "two", "both", "both")]
    acknowledged = first_line(writers[0])  # from here on the store exists
    readers = [spawn("read", folder, 2) for _ in range(2)]
    outputs = [process.communicate(timeout=60) for process in (*writers, *readers)]
    assert [errors for _, errors in outputs] == [""] * 6
    told = {line for out, _ in outputs for line in out.splitlines()} | {acknowledged.strip()}
    with Store.open(folder) as store:
        assert len(told) == 48
        assert told <= said_in(store)
        assert {s.scope.conversation: s.steps for s in store.streams()} == {"one": 12, "two": 12, "both": 24}
        assert verify(store).ok
        assert not any(e.kind == "StepAbandoned" for s in store.streams() for e in store.events(s.scope))


def test_opening_a_new_store_at_once_makes_one_store(folder: Path, spawn):
    outputs = [p.communicate(timeout=60) for p in [spawn("opened", folder, 5) for _ in range(4)]]
    assert [errors for _, errors in outputs] == [""] * 4


def test_a_killed_writer_loses_nothing_it_acknowledged(folder: Path, spawn):
    """`make soak` makes a long run of it, by WORKBENCH_KILLS=200."""
    told: list[str] = []
    killed = 0
    for first in range(0, KILLS, 5):
        writers = [spawn("write", folder, "ana", f"c{n % 3}", 1_000) for n in range(5)]
        told += [first_line(process) for process in writers[:3]]
        for n, process in enumerate(writers):
            time.sleep(0.013 * ((first + n) % 7))
            process.kill()
        for process in writers:
            told += process.communicate()[0].splitlines()
            killed += process.returncode == -signal.SIGKILL
    acknowledged = {line.strip() for line in told if re.fullmatch(r"ana c\d \d+ \d+\n?", line)}
    with Store.open(folder, clock=lambda: utc_now() + timedelta(minutes=5)) as store:  # no lease lives that long
        lost = acknowledged - said_in(store)
        log.info("%d writers killed, %d steps acknowledged, %d lost", killed, len(acknowledged), len(lost))
        assert killed >= KILLS
        assert len(acknowledged) >= KILLS // 2
        assert lost == set()
        assert not any(s.open_step for s in store.streams())
        assert verify(store).faults == ()


def test_a_step_that_a_crash_cut_off_is_closed_at_the_next_opening(folder: Path):
    with Store.open(folder) as store:
        hand = open_hand(store, LIVE, seed=3)
        hand.talk(20)
        hand.receive("and then the lights went out")
        hand._recall()
        hand.commit()
        guests = len(hand.state.guests)
        assert guests
    with Store.open(folder) as store:
        events = store.events(LIVE)
        assert isinstance(events[-1].body, StepAbandoned)
        assert [e.kind for e in events[-1 - guests : -1]] == [GuestLeft.__name__] * guests
        assert not store.state(LIVE).guests
        assert verify(store).ok
    with Store.open(folder) as store:
        assert len(store.events(LIVE)) == len(events)


def test_opening_while_another_process_is_in_a_step_does_not_abandon_it(folder: Path, spawn):
    process = spawn("hold", folder, "ana", "trip")
    assert process.stdout.readline() == "holding\n"
    with Store.open(folder) as store:
        assert store.require(LIVE).open_step
        with (
            pytest.raises(ConversationBusy, match=r"ana/trip/live is running since 0\.1 s"),
            leased(store.journal(LIVE), wait_s=0.1),
        ):
            pass
    _, errors = process.communicate(timeout=20)
    assert errors == ""
    with Store.open(folder) as store:
        assert isinstance(store.events(LIVE)[-1].body, StepFinished)


def test_nobody_waits_for_an_owner_whose_process_is_gone(folder: Path, spawn):
    process = spawn("hold", folder, "ana", "trip")
    process.stdout.readline()
    process.kill()
    process.wait()
    with Store.open(folder) as store, leased(store.journal(LIVE), wait_s=0):
        assert not store.require(LIVE).open_step
        assert isinstance(store.events(LIVE)[-1].body, StepAbandoned)


def test_of_an_owner_on_another_machine_nothing_is_known():
    assert not is_gone("elsewhere:pid:[4026531836]/1/0.00/7f3a")
    assert not is_gone("a name of another form")


def test_a_lease_outlives_its_length_while_its_owner_lives(store: Store, hand: Hand):
    with leased(hand.journal, ttl_s=0.3):
        time.sleep(0.8)
        with pytest.raises(ConversationBusy), leased(store.journal(LIVE), wait_s=0, ttl_s=0.3):
            pass
    with leased(store.journal(LIVE), wait_s=0):
        pass


def test_a_late_owner_cannot_commit_after_it_was_taken_over(store: Store, hand: Hand):
    hand.talk(1)
    with leased(hand.journal, ttl_s=60):
        later = Store.open(store.path, clock=lambda: utc_now() + timedelta(minutes=2))
        with later, leased(later.journal(LIVE)), pytest.raises(StaleAppend, match="took ana/trip/live over"):
            hand.receive("too late")
    assert "too late" not in said_in(store)


def test_a_clock_set_back_holds_nobody_up(store: Store, hand: Hand):
    """The row says that the lease runs for another hour; its owner is dead, and nothing moves it on."""
    hand.start()
    ahead = Store.open(store.path, clock=lambda: utc_now() + timedelta(hours=1))
    left = leased(ahead.journal(LIVE), ttl_s=1_000)
    left.__enter__()
    began = time.monotonic()
    with leased(store.journal(LIVE), wait_s=10, ttl_s=0.4):
        assert 0.4 <= time.monotonic() - began < 8
    left.__exit__(None, None, None)
    ahead.close()


def test_threads_of_one_process_take_turns(store: Store):
    open_hand(store, LIVE).start()

    def write(n: int) -> None:
        hand = open_hand(store, LIVE, n)
        for _ in range(5):
            with leased(hand.journal):
                hand.refresh()
                hand.step(f"from thread {n}")

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.require(LIVE).steps == 20
    assert verify(store).ok


def test_a_watcher_sees_that_somebody_else_committed(store: Store, hand: Hand):
    watch = store.watcher()
    before = watch()
    assert watch() == before
    hand.start()
    assert watch() != before


WATCHED = """
import sys, threading
from memory.errors import StoreClosed
from memory.stores.sql import Store

def look(watch, ended):
    try:
        while True:
            watch()
    except StoreClosed:
        ended.append(1)

ended = []
for _ in range(40):
    store = Store.open(sys.argv[1])
    watches = [store.watcher() for _ in range(4)]
    threads = [threading.Thread(target=look, args=(watch, ended)) for watch in watches]
    for thread in threads:
        thread.start()
    store.close()
    for thread in threads:
        thread.join()
print(len(ended))
"""


def test_a_store_that_is_closed_while_another_thread_watches_it_ends_the_watching_not_the_process(folder: Path):
    Store.open(folder).close()
    command = [sys.executable, "-c", WATCHED, folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "160\n", "")


def test_a_watcher_that_was_closed_says_so(store: Store):
    watch, other = store.watcher(), store.watcher()
    watch.close()
    watch.close()
    with pytest.raises(StoreClosed, match="was closed"):
        watch()
    assert other() > 0


@pytest.mark.parametrize("readonly", [True, False])
def test_a_store_opened_twice_in_a_process_keeps_its_log_when_another_process_leaves(folder: Path, spawn, readonly):
    """A descriptor of our own on the file, once closed, drops this process's locks: the other deletes the live log."""
    with Store.open(folder) as store:
        hand = open_hand(store, Scope("ana", "trip"))
        hand.talk(1)
        with Store.open(folder, readonly=readonly):
            assert spawn("opened", folder, 1).wait(60) == 0
            hand.talk(1)
            assert spawn("opened", folder, 1).wait(60) == 0
        said = hand.state.turn
    with Store.open(folder) as again:
        assert again.state(Scope("ana", "trip")).turn == said


def test_a_scan_of_the_files_takes_no_lock_away(folder: Path, spawn):
    with Store.open(folder) as store:
        hand = open_hand(store, Scope("ana", "trip"))
        hand.talk(1)
        assert sum(len(block) for file in folder.glob("*.sqlite*") for _, block in _blocks(file, 4))
        assert spawn("opened", folder, 1).wait(60) == 0
        hand.talk(1)
        assert spawn("opened", folder, 1).wait(60) == 0
        said = hand.state.turn
    with Store.open(folder) as again:
        assert again.state(Scope("ana", "trip")).turn == said
