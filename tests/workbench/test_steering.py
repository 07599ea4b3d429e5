"""What a notebook and an open page tell each other, and who keeps the server alive; no server here."""

import asyncio
import subprocess
import sys
import time

import psutil
import pytest

from workbench.steering import Owner, Selection, Steering, moved, this_process


def test_what_the_reader_pointed_at_last_is_selected():
    live = moved(None, "live", {"turn": "3"})
    read = moved(live, "live", {"turn": "3", "page": "7"})
    walked = moved(read, "live", {"turn": "4", "page": "7"})
    shut = moved(walked, "live", {"turn": "4"})
    assert [each.chosen for each in (live, read, walked, shut)] == ["turn", "page", "turn", "turn"]
    assert moved(shut, "live", {}).chosen == ""
    assert moved(None, "timeline", {"turn": "4", "fact": "2"}).chosen == "fact"
    assert moved(read, "turn", {"turn": "3", "page": "7"}).chosen == "page"  # another page of the app, the same place


def heard(steering: Steering, *messages: str) -> list[bytes]:
    """What a page hears first, then of each message that the notebook sends while it listens."""

    async def listen() -> list[bytes]:
        stream = steering.listen()
        found = [await anext(stream)]
        if steering._pending is not None:
            found.append(await anext(stream))
        for message in messages:
            assert steering.go({"page": message}) == 1
            found.append(await anext(stream))
        await stream.aclose()
        return found

    return asyncio.run(listen())


def test_where_to_go_reaches_the_open_pages_or_the_first_that_opens():
    steering = Steering()
    assert heard(steering, "turn") == [b"retry: 1000\n\n", b'event: goto\ndata: {"page":"turn"}\n\n']
    assert steering.told() == {"selected": None, "open": 0}
    assert steering.go({"page": "why"}) == 0
    assert steering.go({"page": "diff"}) == 0
    assert heard(steering)[1:] == [b'event: goto\ndata: {"page":"diff"}\n\n']
    assert heard(steering)[1:] == []


def test_a_server_that_is_told_to_stop_lets_its_pages_go():
    steering = Steering()

    async def listen() -> list[bytes]:
        stream = steering.listen()
        first = await anext(stream)
        steering.close()
        return [first, *[message async for message in stream]]

    assert asyncio.run(listen()) == [b"retry: 1000\n\n"]


def test_the_selection_is_told_as_the_notebook_reads_it():
    steering = Steering()
    steering.select(Selection("turn", {"turn": "3"}, "turn"))
    assert steering.told()["selected"] == {"page": "turn", "address": {"turn": "3"}, "chosen": "turn"}


@pytest.fixture
def another():
    """A process that waits, and is reaped at the end."""
    process = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()
    process.stdin.close()


def owner_of(process: subprocess.Popen[bytes], linger_s: float) -> Owner:
    return Owner(process.pid, psutil.Process(process.pid).create_time(), linger_s)


@pytest.mark.parametrize("is_reaped", [True, False], ids=["gone", "a zombie"])
def test_an_owner_that_dies_is_waited_for_as_long_as_it_said(another, is_reaped: bool):
    quick, patient = Steering(), Steering()
    quick.join(owner_of(another, 0.0))
    patient.join(owner_of(another, 60.0))
    assert quick.is_needed(0)
    assert patient.is_needed(0)
    another.kill()
    if is_reaped:
        another.wait()
    else:
        end = time.monotonic() + 30
        while psutil.Process(another.pid).status() != psutil.STATUS_ZOMBIE and time.monotonic() < end:
            time.sleep(0.01)
    assert not quick.is_needed(1)
    assert patient.is_needed(59)
    assert not patient.is_needed(61)


def test_a_kernel_that_came_again_keeps_it_and_one_that_leaves_does_not():
    steering = Steering()
    gone = Owner(this_process().pid, 1.0, 60.0)  # its number was given to another process since
    steering.join(gone)
    assert not gone.is_there
    steering.join(this_process())
    assert steering.is_needed(0)
    assert steering.is_needed(1_000)
    assert steering.leave(this_process().pid) == 0
    steering.outlived()  # returns
