"""Work in a thread of its own: it begins once, stops between its parts, goes on, and says what ended it."""

import threading
from collections.abc import Callable

import pytest

from memory.errors import EngineError
from workbench.background import Background, Kept, Making, Stopped
from workbench.tuning import await_all

WAIT_S = 30.0


class Counting(Background):
    """Counts to `end`, a part at a time; each part waits until it may."""

    def __init__(self, end: int = 3) -> None:
        super().__init__("count")
        self.may, self.reached = threading.Semaphore(0), threading.Semaphore(0)
        self.n, self.end = 0, end
        self.fault: Exception | None = None

    def start(self) -> None:
        with self._lock:
            if not self.is_under_way and self.n < self.end:
                self._begin(self._count)

    def _count(self) -> None:
        while self.n < self.end and not self.is_told_to_stop:
            self.reached.release()
            assert self.may.acquire(timeout=WAIT_S)
            if self.fault is not None:
                raise self.fault
            self.n += 1


def counted(parts: int, end: int = 3) -> Counting:
    """One that is within the part after these."""
    made = Counting(end)
    made.start()
    for _ in range(parts):
        made.may.release()
    for _ in range(min(parts + 1, end)):
        assert made.reached.acquire(timeout=WAIT_S)
    return made


def ended(each: Counting) -> Counting:
    each.may.release(each.end)
    each.wait(WAIT_S)
    assert not each.is_under_way
    return each


def test_what_ends_well_has_no_error():
    assert Counting().error is None
    made = ended(counted(0))
    assert (made.n, made.error) == (3, None)


def test_it_is_told_to_stop_ends_after_its_part_and_goes_on_from_there():
    made = counted(1)
    made.stop()
    made.may.release()
    made.wait(WAIT_S)
    assert (made.is_under_way, made.n, made.error) == (False, 2, None)
    made.start()
    assert not made.is_told_to_stop
    assert ended(made).n == 3


def test_a_wait_ends_though_the_work_does_not():
    made = counted(0)
    made.wait(0.01)
    assert made.is_under_way
    ended(made)


def test_many_who_begin_it_at_once_begin_one_thread():
    made = Counting()
    threads = [threading.Thread(target=made.start) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(WAIT_S)
    assert sum(each.name == "workbench-count" for each in threading.enumerate()) == 1
    assert ended(made).n == 3


def test_an_error_of_ours_is_kept_and_a_new_beginning_forgets_it():
    made = counted(0)
    made.fault = EngineError("the well is dry")
    assert ended(made).error is made.fault
    made.fault = None
    made.start()
    assert ended(made).error is None


def test_a_fault_prints_itself_and_is_told_in_words(monkeypatch: pytest.MonkeyPatch):
    printed: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", printed.append)
    made = counted(0)
    made.fault = ZeroDivisionError("0")
    assert str(ended(made).error) == "the count ended unexpectedly; see the server's output"
    assert [each.exc_type for each in printed] == [ZeroDivisionError]


def test_whoever_asks_first_makes_it_and_the_longest_unasked_for_makes_room_stopped():
    kept: Kept[str, Counting] = Kept(2)
    first, second = kept.get("a", lambda: counted(0)), kept.get("b", lambda: counted(0))
    assert kept.get("a", Counting) is first
    kept.get("c", Counting)
    assert [key for key, _ in kept.newest_first()] == ["c", "a"]
    assert (first.is_told_to_stop, second.is_told_to_stop) == (False, True)
    second.may.release()
    second.wait(WAIT_S)
    assert (second.is_under_way, second.n) == (False, 1)
    kept.forget()
    assert first.is_told_to_stop
    assert not kept.newest_first()
    ended(first)


def test_what_may_not_go_is_kept_beyond_the_number():
    kept: Kept[str, Counting] = Kept(1, may_go=lambda each: not each.is_under_way)
    under_way = kept.get("a", lambda: counted(0))
    kept.get("b", Counting)
    assert [key for key, _ in kept.newest_first()] == ["b", "a"]
    ended(under_way)
    kept.get("c", Counting)
    assert [key for key, _ in kept.newest_first()] == ["c"]


def test_what_stands_for_nothing_any_more_is_made_anew():
    kept: Kept[str, Counting] = Kept(2)
    first = kept.get("a", Counting)
    assert kept.get("a", Counting, lambda each: each is first) is not first


def test_a_value_is_made_once_and_kept():
    made = Making("sum", lambda _: 3)
    with pytest.raises(EngineError, match="not begun"):
        made.made()
    made.start()
    made.wait(WAIT_S)
    made.start()
    assert (made.is_under_way, made.made(), made.is_stopped) == (False, 3, False)


def test_a_value_that_is_stopped_says_at_which_part_and_begins_anew():
    may, parts = threading.Semaphore(0), []

    def make(say: Callable[[str], None]) -> int:
        for part in "abc":
            say(part)
            parts.append(part)
            assert may.acquire(timeout=WAIT_S)
        return len(parts)

    made = Making("letters", make)
    made.start()
    made.stop()
    may.release(9)
    made.wait(WAIT_S)
    assert (made.at, parts, made.is_stopped) == ("b", ["a"], True)
    with pytest.raises(Stopped):
        made.made()
    made.start()
    made.wait(WAIT_S)
    assert (made.made(), made.is_stopped) == (4, False)


def test_whoever_waits_long_is_told_how_far_it_is_and_whoever_need_not_is_not():
    slow, done, told = Counting(2), Counting(0), []

    def tell(work: Counting) -> None:
        told.append(work.n)
        work.may.release()

    slow.start()
    await_all((done, slow), turns=10, tell=tell)
    assert not slow.is_under_way
    assert told == [0, 1]
