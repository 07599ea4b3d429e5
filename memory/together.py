"""Callers who come while a call runs are answered together by the next one, in the order in which they came.

Many threads ask one index. Each of them alone would read all of its vectors from memory, and all at once would fight
for the interpreter: so one works, the others sleep. Nothing is kept from one call to the next; with one caller it is
a plain call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Together(Generic[Q, A]):
    """
    >>> Together(lambda numbers: [n * n for n in numbers], most=16)(3)
    9
    """

    def __init__(self, answer: Callable[[Sequence[Q]], Sequence[A]], most: int) -> None:
        """`answer`: from at most so many questions to as many answers; 1: callers take turns."""
        self._answer = answer
        self._most = most
        self._lock = threading.Lock()
        self._waiting: list[_Caller[Q, A]] = []
        self._busy = False

    def __call__(self, question: Q) -> A:
        """What `answer` says of this question. Its error is whose turn it was; who was asked with it asks again."""
        me: _Caller[Q, A] = _Caller(question)
        with self._lock:
            self._waiting.append(me)
            waits, self._busy = self._busy, True
        if waits:
            me.called.wait()
        while not me.answers:
            self._lead(me)
        return me.answers[0]

    def _lead(self, me: _Caller[Q, A]) -> None:
        with self._lock:
            others = [each for each in self._waiting if each is not me]
            some, self._waiting = [me, *others[: self._most - 1]], others[self._most - 1 :]
        try:
            for each, answer in zip(some, self._answer([each.question for each in some]), strict=True):
                each.answers.append(answer)
        finally:
            with self._lock:
                self._waiting = [each for each in some[1:] if not each.answers] + self._waiting
                following = self._waiting[:1]
                self._busy = bool(following)
            for each in [each for each in some[1:] if each.answers] + following:
                each.called.set()


class _Caller(Generic[Q, A]):
    def __init__(self, question: Q) -> None:
        self.question = question
        self.answers: list[A] = []  # none yet, or one
        self.called = threading.Event()  # the answer is there, or it is its turn to lead
