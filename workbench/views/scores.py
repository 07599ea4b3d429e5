"""How good a memory was, as a page shows it: the scorecard of a run, and what came of its pinned questions last time.

The figures are sessions/scores.py's and sessions/pinned.py's; nothing is asked here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memory import show
from memory.scope import Scope
from memory.show import Shown
from memory.stores.sql import Store
from sessions.bill import Bill
from sessions.bill import bill as made
from sessions.pinned import won_last
from sessions.questions import Pinned, file_of, of_conversation, read
from sessions.scores import Score, Scorecard, scorecard

SHOWN = 50  # turns that a score opens, and rows of a bill


@dataclass(frozen=True)
class ScoresView(Shown):
    card: Scorecard
    pinned: tuple[Pinned, ...]  # onto this conversation
    won: dict[str, bool]  # by name, in the last run; those that were not asked yet are not there

    @property
    def asked(self) -> int:
        return sum(each.name in self.won for each in self.pinned)

    @property
    def held(self) -> int:
        """Pinned questions that were won."""
        return sum(self.won.get(each.name, False) for each in self.pinned)

    def against(self, name: str) -> list[dict[str, Any]]:
        """What a score opens: the turns that count against it, the newest first."""
        return [{"turn": c.turn, "says": c.says, "at": c.at} for c in self.card.score(name).against]

    def course(self, score: Score) -> str:
        """Its trend in words: what a drawing of it shows."""
        told = ((s.name, s.values[score.name], s.ns[score.name]) for s in self.card.trend)
        return "; ".join(f"{name}: {value:.3g} (n={n})" for name, value, n in told if value is not None)

    def __repr__(self) -> str:
        return f"<Scores of {self.card.scope}: {self.card.line}; {self.held} of {self.asked} pinned questions won>"

    def _html(self) -> str:
        marks = {True: "won", False: "lost", None: "–"}
        pins = [[each.kind, each.question, marks[self.won.get(each.name)]] for each in self.pinned]
        return self.card._html() + show.table(["kind", "pinned", ""], pins)

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.card.to_dict(),
            "pinned": [{"name": p.name, **p.to_dict()} for p in self.pinned],
            "won": self.won,
        }

    def to_df(self) -> Any:
        """One row a score."""
        return self.card.to_df()


def scores(store: Store, scope: Scope, profile: str = "knowledge base", turn: int | None = None) -> ScoresView:
    """Of the steps up to `turn` (None: all). Raises UnknownName, NotFound, RecordingError for a damaged file."""
    file = file_of(store)
    mine = tuple(of_conversation(read(file), scope.user, scope.conversation))
    last = won_last(file)
    card = scorecard(store, scope, turn, profile=profile)
    return ScoresView(card, mine, {each.name: last[each.name] for each in mine if each.name in last})


def bill(store: Store, scope: Scope, turn: int | None = None) -> Bill:
    return made(store, scope, turn)
