"""The derived stores follow in the background, and never stand in the way of the program's end."""

import subprocess
import sys

from memory.stores.sql import Store

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
    for n in range(3):
        folder = tmp_path / str(n)
        command = [sys.executable, "-W", "ignore", "-c", NEVER_CLOSED, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        with Store.open(folder) as store:
            assert store.streams()[0].steps == 8
