"""Two prompts put to one model for a page: looked at first, asked when the reader says so, each in a thread of its own.

Not here: what the prompts are (sessions/twice.py), and any drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from sessions.twice import Twice
from workbench.background import Kept, Making

KEPT = 12
AT_ONCE_S = 1.0  # so long a page waits for an estimate or a reply before it says that one is made


class Question(Making[Twice]):
    """`made()` says what it may take, `cost_usd` for how much; `replies` are there once somebody began them."""

    def __init__(self, make: Callable[[], Twice]) -> None:
        super().__init__("estimate", lambda _: self._priced(make()))
        self.cost_usd: float | None = None
        self.replies: Making[tuple[str, str]] = Making("question", lambda say: self.made().replies(say=say))
        self.is_begun = False

    def _priced(self, made: Twice) -> Twice:
        self.cost_usd = made.cost_usd  # LiteLLM's table takes seconds to load
        return made

    def ask(self) -> None:
        self.is_begun = True
        self.replies.start()

    def stop(self) -> None:
        super().stop()
        self.replies.stop()


_QUESTIONS: Kept[Hashable, Question] = Kept(KEPT)


def question(key: Hashable, make: Callable[[], Twice]) -> Question:
    """The one of this key, looked at by whoever asks for it first; `key` says all that `make` depends on."""

    def begun() -> Question:
        made = Question(make)
        made.start()
        return made

    return _QUESTIONS.get(key, begun)


def forget() -> None:
    """Drop all of them, and stop those under way."""
    _QUESTIONS.forget()
