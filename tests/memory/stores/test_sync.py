"""The derived stores follow in the background, and never stand in the way of the program's end."""

import subprocess
import sys
import threading
import time

from memory.engine import Engine
from memory.models.chat import Answer
from memory.models.embedding import named
from memory.settings import Settings
from memory.stores.embedded import reindex
from memory.stores.sql import Store
from memory.stores.sync import Following
from memory.stores.vector_source import StoredVectors

NEVER_CLOSED = """
import sys
from memory.engine import Engine
from memory.models.chat import Answer
from memory.stores import sync

sync.Following.__init__.__defaults__ = (0.01, 0.0)  # so that the end meets it at work
at_once = lambda llm, messages, **options: Answer("Noted.", (), 0, 0, None, "stop", llm, 0.0)
engine = Engine.open(sys.argv[1], user="ana", conversation="trip", chat=at_once)
for n in range(8):
    engine.say(f"Message {n} of a program that never closes its engine.")
"""


def test_a_program_that_never_closes_its_engine_ends_well(tmp_path):
    for n in range(2):
        folder = tmp_path / str(n)
        command = [sys.executable, "-W", "ignore", "-c", NEVER_CLOSED, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        with Store.open(folder) as store:
            assert store.streams()[0].steps == 8


def at_once(llm, messages, **options):
    return Answer("Noted.", (), 0, 0, None, "stop", llm, 0.0)


def test_pages_that_close_get_their_vectors_in_the_background_once_the_store_has_an_embedder(tmp_path):
    with Store.open(tmp_path / "store") as store:
        pages_of_two = Settings.of(boundary="fixed_2")
        engine = Engine.open(store, user="ana", conversation="trip", chat=at_once, settings=pages_of_two)
        engine.say("I am allergic to peanuts.")
        engine.close()
        reindex(store, named("hash"))
        engine = Engine.open(store, user="ana", conversation="trip", chat=at_once)
        with Following(store, every_s=0.02):
            engine.say("The budget of the trip is 8,000 euros.")
            engine.say("Thank you.")
            source, text = StoredVectors(store), "user: The budget of the trip is 8,000 euros.\nassistant: Noted."
            deadline = time.monotonic() + 20
            while text not in source.known([text]) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert text in source.known([text])
        engine.recall(question="What is the budget of the trip?")
        [found] = [e.body for e in store.events(engine.scope, kinds=["PagesRetrieved"])]
        assert found.embedder == named("hash").identity
        engine.close()


def test_it_is_no_daemon_whoever_made_it(store: Store):
    """A daemon is cut where it is: in the middle of an import it takes the lock with it, and the end never comes."""
    made: list[Following] = []
    maker = threading.Thread(target=lambda: made.append(Following(store)), daemon=True)
    maker.start()
    maker.join()
    with made[0] as following:
        assert not following._thread.daemon
