"""Where recalls are lost: should have recalled, did recall, got the right page, used it; of a run as it was logged.

A step should have recalled where a turn that its label names did not stand in its first prompt. Right is a page that
holds one of these turns, and of a part that came only the part; used, that the reply took up its words. A replay's
recalls are those of its recording. Not here: what would have been found (thresholds.py), and why a certain one was
not (memory/why.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memory import show
from memory.events import MessageReceived, PagePagedIn, PagesRecalled, PagesUsed
from memory.observed import Observed, observe
from memory.pages import PART, turns_between
from memory.scope import Scope
from memory.show import Shown
from memory.steps import Step
from memory.stores.sql import Store
from memory.turns import Turn
from sessions.honesty import NOTHING, OWN, REPLY, Honesty
from sessions.scores import read_first

STAGES = ("should", "recalled", "right", "used")
LABEL = "label"  # a recall that only a label asks, in a replay: nobody's decision
SAYS = {
    "should": "labelled, and not all of it stood in the first prompt",
    "recalled": "the model or a person asked for pages",
    "right": "a page that came holds it",
    "used": "the reply took up its words",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One step that should have recalled."""

    turn: int
    missing: tuple[int, ...]  # turns
    came: tuple[int, ...]  # pages
    stage: str  # the last that it reached

    @property
    def is_through(self) -> bool:
        return self.stage == STAGES[-1]


@dataclass(frozen=True)
class Funnel(Shown):
    """A run's. `labelled` steps have a label, `needless` ones recalled although nothing was missing."""

    scope: Scope
    steps: int
    labelled: int
    needless: int
    asked: tuple[Asked, ...]
    pages: int  # of the run
    window_tokens: int
    corpus_tokens: int

    @property
    def counts(self) -> dict[str, int]:
        """Steps that reached each stage."""
        at = [STAGES.index(each.stage) for each in self.asked]
        return {stage: sum(reached >= n for reached in at) for n, stage in enumerate(STAGES)}

    @property
    def lost(self) -> dict[str, int]:
        """Steps that got no further, by the stage they did not reach."""
        counts = list(self.counts.values())
        return {stage: before - now for stage, before, now in zip(STAGES[1:], counts, counts[1:], strict=False)}

    @property
    def honesty(self) -> Honesty:
        tokens = (self.window_tokens, self.window_tokens)
        k = max((len(each.came) for each in self.asked), default=0)
        return Honesty(len(self.asked), 1, k, self.pages, tokens, self.corpus_tokens, OWN, None, NOTHING, REPLY)

    def __repr__(self) -> str:
        shown = " → ".join(f"{stage} {n}" for stage, n in self.counts.items())
        return (
            f"<Funnel of {self.scope.conversation}: {shown}; {self.labelled} labelled steps, {self.needless} needless>"
        )

    HEAD = ("stage", "steps", "of those before", "what it is")

    def lines(self) -> list[list[Any]]:
        counts = self.counts
        before = [None, *counts.values()]
        return [[stage, n, "–" if not b else f"{n / b:.0%}", SAYS[stage]]
                for (stage, n), b in zip(counts.items(), before, strict=False)]  # fmt: skip

    def _html(self) -> str:
        rows = [(a.turn, ", ".join(map(str, a.missing)), ", ".join(f"p{n}" for n in a.came), a.stage)
                for a in self.asked if not a.is_through]  # fmt: skip
        return (show.rows(repr(self)[1:-1], self.honesty.to_dict()) + show.table(self.HEAD, self.lines())
                + show.table(("turn", "missing turns", "came", "reached"), rows))  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {
            "conversation": self.scope.conversation, "run": self.scope.run, "steps": self.steps,
            "labelled": self.labelled, "needless": self.needless, "counts": self.counts, "lost": self.lost,
            "asked": self.to_df().to_dict("records"), "honesty": self.honesty.to_dict(),
        }  # fmt: skip

    def to_df(self) -> Any:
        """One row a step that should have recalled."""
        import pandas as pd

        columns = ["turn", "missing", "came", "stage"]
        return pd.DataFrame([[a.turn, list(a.missing), list(a.came), a.stage] for a in self.asked], columns=columns)


def funnel(store: Store, scope: Scope, turn: int | None = None) -> Funnel:
    """Of the steps up to `turn` (None: all). Raises NotFound for a run that is not there, or has no step."""
    seen = observe(store, scope, turn)
    text_of = {t.number: t.text for page in seen.state.pages.values() for t in page.turns}
    labelled = [step for step in seen.asked if _evidence(step)]
    asked = [_asked(step, missing, seen) for step in labelled if (missing := _missing(step, text_of))]
    found = {each.turn for each in asked}
    needless = sum(step.turn not in found and any(_by_somebody(step)) for step in labelled)
    corpus = sum(page.tokens for page in seen.state.pages.values())
    return Funnel(scope, len(seen.asked), len(labelled), needless, tuple(asked), len(seen.state.pages),
                  seen.settings.window_tokens, corpus)  # fmt: skip


def _evidence(step: Step) -> set[int]:
    return {turn for b in step.all(MessageReceived) for turn in b.evidence if turn < step.turn}


def _missing(step: Step, text_of: dict[int, int]) -> tuple[int, ...]:
    """Labelled turns whose words did not stand in the step's first prompt."""
    read = read_first(step)
    return tuple(sorted(turn for turn in _evidence(step) if text_of.get(turn) not in read))


def _by_somebody(step: Step) -> Iterator[PagesRecalled]:
    return (b for b in step.all(PagesRecalled) if b.by != LABEL)


def _asked(step: Step, missing: tuple[int, ...], seen: Observed) -> Asked:
    recalls = list(_by_somebody(step))
    came = tuple(dict.fromkeys(page for b in recalls for page in (*b.came, *b.resident)))
    last = {b.page: b for b in step.all(PagePagedIn)}
    right = {page for page in came if {t.number for t in _turns(seen, page, last.get(page))} & set(missing)}
    used = {candidate.page for b in step.all(PagesUsed) for candidate in b.pages}
    reached = [True, bool(recalls), bool(right), bool(right & used)]
    return Asked(step.turn, missing, came, STAGES[reached.index(False) - 1 if False in reached else -1])


def _turns(seen: Observed, page: int, came: PagePagedIn | None) -> tuple[Turn, ...]:
    """Those that came of it, or were there."""
    turns = seen.state.pages[page].turns
    return turns_between(turns, came.part) if came and came.level == PART else turns
