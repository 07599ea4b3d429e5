"""Forks from the page: what one would take, and those under way, each in a thread of its own.

Nothing is asked before `start`: `look` works out what a fork would take, without a model. Each answer is in the store
when it is counted here; one that was stopped, or failed, goes on where it stopped. Not here: what a fork is
(sessions/fork.py), and any drawing.
"""

from __future__ import annotations

from memory.stores.sql import Store
from sessions.fork import Estimate, Forking
from workbench.background import Background, Kept

KEPT = 24  # of this process; those under way are never dropped
AT_ONCE_S = 1.0  # so long a page waits for an estimate before it says that one is made


class Asking(Background):
    """One fork: estimated, and, once somebody said so, asked for; perhaps stopped, gone on with, done.

    `is_under_way`: on the estimate, or on the fork; what stops it keeps the answer that it waits for.
    """

    def __init__(self, made: Forking) -> None:
        super().__init__("fork")
        self.made = made
        self.done, self.steps = made.done, made.steps_in_all
        self.estimate: Estimate | None = None
        self.cost_usd: float | None = 0.0  # of what was asked here; None: some of it has no known price
        self.is_begun = False

    @property
    def is_done(self) -> bool:
        return self.done >= self.steps

    def look(self) -> None:
        """Work out what it would take; no model is asked."""
        with self._lock:
            if self.estimate is None and self.error is None and not self.is_under_way:
                self._begin(self._estimate)

    def start(self) -> None:
        """Ask the model, or go on; nothing where it runs or is done."""
        with self._lock:
            if not self.is_under_way and not self.is_done:
                self.is_begun = True
                self._begin(self._ask)

    def _estimate(self) -> None:
        self.estimate = self.made.estimate

    def _ask(self) -> None:
        for reply in self.made.steps():
            self.done += 1
            paid = reply.cost_usd
            self.cost_usd = None if paid is None or self.cost_usd is None else self.cost_usd + paid
            if self.is_told_to_stop:
                break


_ASKING: Kept[tuple[str, str, str, str], Asking] = Kept(KEPT, may_go=lambda each: not each.is_under_way)


def asking(made: Forking) -> Asking:
    """The one of this fork, whoever asked for it first; its estimate is being made."""
    scope = made.scope
    key = (str(made.store.path), scope.user, scope.conversation, scope.run)
    found = _ASKING.get(key, lambda: Asking(made), _is_gone)
    found.look()
    return found


def _is_gone(asked: Asking) -> bool:
    """Its run was deleted since: what was answered is to be asked again."""
    return not asked.is_under_way and asked.made.done < asked.done


def begun(store: Store, user: str, conversation: str) -> list[Asking]:
    """Of this conversation, those that were started here and not put aside; the newest first."""
    of = (str(store.path), user, conversation)
    return [each for key, each in _ASKING.newest_first() if key[:3] == of and each.is_begun]


def put_aside(asked: Asking) -> None:
    """Tell of it no more; its run stays in the store."""
    asked.is_begun = False


def forget() -> None:
    """Drop all of them, and stop those under way."""
    _ASKING.forget()
