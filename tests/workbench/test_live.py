"""What says a message is loaded in the background, and never stands in the way of the program's end."""

import subprocess
import sys

import pytest

ENDS = """
import atexit, sys, threading, time
from workbench import live

live.PAINT_S = {paint_s}
atexit.register(lambda: print("litellm" in sys.modules))
script = threading.Thread(target=live.load_model, args=(True,), daemon=True)  # as Streamlit's is
script.start()
script.join()
while {unless!r} and {unless!r} not in sys.modules:
    time.sleep(0.01)
"""

WAITS = """
import sys
from workbench import live

live.PAINT_S = 0
thread = live.load_model({with_litellm})
assert live.load_model({with_litellm}) is thread
thread.join()
print(sorted({{"litellm", "lancedb", "memory.engine"}} & sys.modules.keys()))
print(any(type(finder).__module__ == live.__name__ for finder in sys.meta_path))
"""


def ran(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(("with_litellm", "loaded"), [(True, ["litellm", "memory.engine"]), (False, ["memory.engine"])])
def test_the_model_part_is_loaded_once_and_leaves_nothing_behind(with_litellm: bool, loaded: list[str]):
    assert ran(WAITS.format(with_litellm=with_litellm)) == [str(loaded), "False"]


@pytest.mark.parametrize("under_way", ["litellm", "openai", "litellm.types.utils"])
def test_a_program_that_ends_in_the_middle_of_it_ends_well_and_does_not_wait_for_the_rest(under_way: str):
    assert ran(ENDS.format(paint_s=0, unless=under_way)) == ["False"]


def test_a_program_that_ends_before_the_page_is_drawn_loads_nothing():
    assert ran(ENDS.format(paint_s=60, unless="")) == ["False"]
