"""A second try at a model, where it is worth one: it is busy, not reached, or late.

A wrong key, a used-up quota or a prompt that is too long stay what they are however often one asks. Nobody is
mute: each failure is told to the caller, who logs it, before anything waits.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from memory.errors import ModelCut, ModelError, ModelOverloaded, ModelQuota, ModelTimeout, ModelUnreachable

T = TypeVar("T")
Told = Callable[[ModelError, int, float | None], None]  # the error, which try it was, seconds to the next or None


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits 0.5-1, 1-2, 2-4 … seconds, or as long as the provider asks; no try begins after `total_s`."""

    total_s: float = 90.0
    tries: int = 4
    first_s: float = 1.0
    longest_s: float = 20.0

    def wait_s(self, tried: int, error: ModelError, spent_s: float, chance: float) -> float | None:
        """Seconds until the next try, None to give up. `chance`: 0..1, so that many clients do not come at once."""
        if tried >= self.tries or not is_worth_another_try(error):
            return None
        if error.retry_after_s is None:
            wait = min(self.longest_s, self.first_s * 2 ** (tried - 1)) * (1 + chance) / 2
        else:
            wait = error.retry_after_s + chance * self.first_s / 4
        return wait if spent_s + wait < self.total_s else None


def is_worth_another_try(error: ModelError) -> bool:
    if isinstance(error, ModelCut):
        return not error.partial  # else the reader has its beginning, and would get it twice
    return isinstance(error, ModelOverloaded | ModelUnreachable | ModelTimeout) and not isinstance(error, ModelQuota)


def persistent(
    call: Callable[[], T],
    backoff: Backoff,
    told: Told,
    *,
    sleep: Callable[[float], None] = time.sleep,
    chance: Callable[[], float] = random.random,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """What `call` returns, at the latest try; every ModelError goes to `told` first, the last one is raised."""
    tried, began, waited = 0, clock(), 0.0
    while True:
        tried += 1
        try:
            return call()
        except ModelError as error:
            wait = backoff.wait_s(tried, error, max(waited, clock() - began), chance())
            told(error, tried, wait)
            if wait is None:
                raise
        sleep(wait)
        waited += wait
