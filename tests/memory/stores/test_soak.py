"""Whole engines of several processes on one store, as long as WORKBENCH_SOAK_S says: nothing lost, nothing mixed."""

import logging
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from store_by_hand import first_line, open_hand

from memory.scope import Scope
from memory.stores.sql import Store
from memory.stores.sync import sync
from memory.stores.verify import verify

SECONDS = float(os.environ.get("WORKBENCH_SOAK_S", "3"))
LIVE = Scope("ana", "trip")
CANARY = re.compile(r"canary-(\w+?)-\d+-\d+")

log = logging.getLogger(__name__)

WRITES = """
import sys, time
from memory import Engine
path, user, mine, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
end, n = time.monotonic() + seconds, 0
with Engine.open(path, user=user, conversation="trip", window_tokens=900, reply_tokens=100, boundary="fixed_4",
                 retrieve_k=1, wait_s=120) as engine:
    while time.monotonic() < end or n < 2:
        n += 1
        secret = f"canary-{user}-{mine}-{n}"
        engine.say(f"The code of drawer {n} is {secret}; what was the code of drawer {n // 2}? " + "and so on " * 20)
        print(secret, flush=True)
"""
READS = """
import re, sys, time
from memory.stores.sql import Store
from memory.stores.vectors import search
path, seconds = sys.argv[1], float(sys.argv[2])
end, looks = time.monotonic() + seconds, 0
with Store.open(path, readonly=True) as store:
    while time.monotonic() < end or looks < 2:
        looks += 1
        for user in sorted({s.scope.user for s in store.streams()}):
            seen = list(store.words(store.streams(user)[0].scope).values())
            seen += [str(row) for row in store.sql("SELECT text FROM turns WHERE user = ?", [user]).rows]
            seen += [str(row) for row in search(store, user=user, text="code of drawer", k=20)]
            others = {found for text in seen for found in re.findall(r"canary-(\\w+?)-\\d+-\\d+", text)} - {user}
            assert not others, (user, others)
print(looks)
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)], stdout=pipe, stderr=pipe, text=True
    )


@pytest.mark.skipif("WORKBENCH_SOAK_S" not in os.environ, reason="a long one: make soak")
def test_four_writers_and_two_readers_lose_nothing_and_mix_nothing_up(folder: Path):
    """Two write conversations of users of their own, two take turns in one. `make soak` takes minutes for it."""
    writers = [start(WRITES, folder, user, n, SECONDS) for n, user in enumerate(("ana", "bo", "cy", "cy"))]
    told = [first_line(writers[0]).strip()]
    with Store.open(folder) as store:
        sync(store, wait_s=60)  # from here on there is something to search
    readers = [start(READS, folder, SECONDS) for _ in range(2)]
    outputs = [process.communicate(timeout=SECONDS + 240) for process in (*writers, *readers)]
    assert [errors[-2_000:] for _, errors in outputs] == [""] * 6
    told += [line for out, _ in outputs[:4] for line in out.split()]
    with Store.open(folder) as store:
        sync(store, wait_s=60)
        for user in ("ana", "bo", "cy"):
            words = store.words(Scope(user, "trip")).values()
            kept = {found[0] for text in words for found in CANARY.finditer(text)}
            assert {t for t in told if t.startswith(f"canary-{user}-")} <= kept
            assert {CANARY.match(found)[1] for found in kept} == {user}
            assert not store.events(Scope(user, "trip"), kinds=["StepAbandoned"])
        found = verify(store)
        assert found.ok, found
    looks = [int(out) for out, _ in outputs[4:]]
    log.info("%d steps acknowledged in %g s, %s looks of readers, none lost or mixed", len(told), SECONDS, looks)
    assert len(told) == len(set(told)) >= 8


SLOW = """
import sys, time
from memory import Engine
from memory.models.chat import Answer
def chat(llm, messages, **rest):
    print("asked", flush=True)
    time.sleep(1.5)
    return Answer("Noted.", (), 10, 2, 0.0, "stop", llm, 1.0)
with Engine.open(sys.argv[1], user="ana", conversation="trip", chat=chat) as engine:
    print(engine.say("What was it?").text, flush=True)
"""


def test_a_person_who_corrects_while_a_step_runs_waits_for_it_and_loses_nothing(folder: Path):
    from memory import Engine

    small = {"window_tokens": 900, "reply_tokens": 100, "boundary": "fixed_4"}
    with Engine.open(folder, user="ana", conversation="trip", **small) as engine:
        for n in range(8):
            engine.say(f"The code of drawer {n} is {n + 1_000}. " + "and so on " * 25)
        gone = engine.state.evicted[0].name
        step = start(SLOW, folder)
        assert step.stdout.readline() == "asked\n"
        engine.mark(1)
        engine.recall(gone)
        engine.change(guest_steps=3)
        out, errors = step.communicate(timeout=60)
        assert (out, errors) == ("Noted.\n", "")
        kinds = [e.kind for e in engine.store.events(engine.scope)][-12:]
        after = kinds[kinds.index("StepFinished") + 1 :]
        assert {"TurnMarked", "PagesRecalled", "SettingsChanged"} <= set(after)  # all after the step, none inside it
        assert not engine.store.events(engine.scope, kinds=["StepAbandoned"])
        assert engine.state.marked == (1,)
        assert engine.say("And now?").text
        assert verify(engine.store).ok


FULL = """
import resource, signal, sys
from memory.errors import StoreError
from memory.stores.sql import Store
from memory.stores.sync import sync
import lancedb, duckdb
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Store.open(sys.argv[1]) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    try:
        done = sync(store)
        print("skipped" if done.skipped else "done", done)
    except StoreError as error:
        print("told", type(error).__name__, error)
"""


@pytest.mark.parametrize("most", [2_000, 20_000])
def test_a_disk_that_fills_while_what_is_derived_is_written_costs_nothing(folder: Path, most: int):
    """No file may grow past `most` bytes: the write breaks off in the middle, and the next sync makes it good."""
    with Store.open(folder) as store:
        hand = open_hand(store, LIVE)
        hand.talk(12)
        sync(store)
        hand.talk(30)
        broken = start(FULL, folder, most)
        out, errors = broken.communicate(timeout=120)
        assert broken.returncode == 0, errors  # what it could not write is told, and no more than that
        assert out.startswith(("told", "skipped")), out
        assert verify(store).faults == ()
        sync(store, wait_s=30)
        assert verify(store).ok
        assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
