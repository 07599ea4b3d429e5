"""Callers answered together: each gets its own answer, in turn, and an error leaves nobody waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import pytest

from memory.together import Together


def at_once(count: int, call: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=call, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("most", [1, 3, 16])
def test_everybody_gets_the_answer_to_the_own_question(most: int) -> None:
    asked: list[int] = []
    answers: dict[tuple[int, int], int] = {}

    def squares(numbers: Sequence[int]) -> list[int]:
        asked.append(len(numbers))
        time.sleep(0.001)
        return [n * n for n in numbers]

    together = Together(squares, most)

    def client(nth: int) -> None:
        for n in range(20):
            answers[nth, n] = together(100 * nth + n)

    at_once(16, client)
    assert answers == {(nth, n): (100 * nth + n) ** 2 for nth in range(16) for n in range(20)}
    assert sum(asked) == 320
    assert max(asked) <= most
    if most > 1:
        assert len(asked) < 320  # those who came meanwhile were answered together


def test_callers_come_one_at_a_time_in_their_order() -> None:
    order: list[int] = []
    first_runs, go_on = threading.Event(), threading.Event()

    def answer(numbers: Sequence[int]) -> Sequence[int]:
        order.extend(numbers)
        first_runs.set()
        assert go_on.wait(30)
        return numbers

    together = Together(answer, 1)
    threads = []
    for n in range(5):
        threads.append(threading.Thread(target=together, args=(n,)))
        threads[-1].start()
        assert first_runs.wait(30)
        while n and len(together._waiting) < n:
            time.sleep(0.001)
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert order == [0, 1, 2, 3, 4]


def test_an_error_leaves_nobody_waiting() -> None:
    answered: list[int] = []

    def halves(numbers: Sequence[int]) -> list[int]:
        time.sleep(0.001)
        if any(n % 2 for n in numbers):
            raise ValueError("odd")
        return [n // 2 for n in numbers]

    together = Together(halves, 4)
    odd: list[int] = []

    def client(nth: int) -> None:
        for _ in range(10):
            try:
                answered.append(together(nth))
            except ValueError:
                odd.append(nth)

    at_once(8, client)
    assert len(answered) + len(odd) == 80
    assert {n for n in range(8) if n % 2} <= set(odd)
    assert together(8) == 4
