"""What is held is kept alive while it is held, and not a beat longer."""

import multiprocessing
import threading
import time

import pytest

from memory.stores.heart import beating


def beats_of(seconds, every_s):
    beats = []
    with beating(lambda: beats.append(time.monotonic()), every_s):
        time.sleep(seconds)
    return beats


def test_it_beats_while_it_is_held_and_never_after():
    beats = beats_of(0.5, 0.05)
    assert len(beats) >= 3
    known = len(beats)
    time.sleep(0.2)
    assert len(beats) == known


def test_what_is_over_soon_has_no_beat():
    assert beats_of(0.01, 5.0) == []


def test_one_beats_on_while_another_ends():
    mine = []
    with beating(lambda: mine.append(1), 0.05):
        beats_of(0.1, 0.05)
        known = len(mine)
        time.sleep(0.3)
        assert len(mine) > known


def test_a_block_waits_for_the_beat_under_way():
    """Else a late beat could hold for nobody what was just given back."""
    begun, ended = threading.Event(), []

    def slow():
        begun.set()
        time.sleep(0.2)
        ended.append(1)

    with beating(slow, 0.05):
        assert begun.wait(5)
    assert ended == [1]


def test_one_thread_serves_all():
    with beating(lambda: None, 5.0), beating(lambda: None, 5.0):
        assert sum(thread.name == "heart" for thread in threading.enumerate()) == 1


def _beats_in_a_fork(sent):
    sent.send(len(beats_of(0.5, 0.05)))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # from Python 3.12 on it warns of what is tested here
def test_a_fork_has_a_heart_of_its_own():
    with beating(lambda: None, 0.05):
        receiving, sending = multiprocessing.Pipe()
        child = multiprocessing.get_context("fork").Process(target=_beats_in_a_fork, args=(sending,))
        child.start()
        assert receiving.poll(20)
        assert receiving.recv() >= 3
        child.join()
