"""What is wrong, by symptom: ordered checks over a run's log, each with its figures, the first suspect named first.

A symptom is what a person sees ("keeps the old value"); its checks go in the order in which people would look, from
what is simplest and most often the cause. They read the log alone and change nothing: what a remedy would do is tried
with `why` for one answer, or by a replay. Of a single thing that was not recalled, why.py says more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory import checks as c
from memory import show
from memory.checks import Check
from memory.errors import UnknownName
from memory.finding import NOT_MEASURED, OK, SUSPECT, Finding
from memory.observed import observe
from memory.scope import Scope
from memory.show import Shown
from memory.stores.sql import Store

SYMPTOMS: Mapping[str, tuple[Check, ...]] = {
    "ignores history": (
        c.turns_learned, c.facts_reach_prompts, c.history_is_asked_for, c.searches_pass, c.recalls_bring,
        c.recalls_are_right, c.facts_have_room, c.pages_have_room, c.vectors_there,
    ),
    "contradicts itself": (
        c.conflicts_open, c.two_values_hold, c.versions_side_by_side, c.old_value_as_fact, c.stale_replies,
        c.replies_with_old_value,
    ),
    "keeps the old value": (
        c.turns_learned, c.updates_take, c.old_value_as_fact, c.versions_side_by_side, c.old_value_alone,
        c.old_value_in_bookmarks, c.update_lag, c.stale_replies, c.replies_with_old_value,
    ),
    "slow": (
        c.model_time, c.rounds, c.waits, c.overhead, c.work_in_step, c.prompt_growth, c.overhead_growth,
    ),
    "costly": (
        c.extra_rounds_tokens, c.recalled_unused, c.thrash, c.work_tokens, c.recalled_share, c.facts_share,
        c.stubs_share, c.instructions_share, c.waits, c.prices,
    ),
    "poor bookmarks": (
        c.keywords_shared, c.bare_bookmarks, c.folded_bookmarks, c.names_known, c.recalls_are_right, c.recalls_bring,
        c.work_failed, c.vectors_there,
    ),
    "bloat": (
        c.window_full, c.stubs_share, c.facts_share, c.unasked_facts, c.repeated_facts, c.facts_kept,
        c.recalled_unused, c.instructions_share,
    ),
    "growth": (
        c.prompt_growth, c.overhead_growth, c.log_growth, c.facts_growth, c.facts_kept, c.work_waits,
        c.process_memory,
    ),
}  # fmt: skip
MARKS = {OK: "ok", SUSPECT: "SUSPECT", NOT_MEASURED: "·"}


@dataclass(frozen=True)
class Diagnosis(Shown):
    """What the checks of one symptom found, in their order."""

    symptom: str
    scope: Scope
    turn: int  # the last one that was looked at
    steps: int
    findings: tuple[Finding, ...]
    headline: str = ""  # `says` in another language

    @property
    def suspects(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.suspect)

    @property
    def suspect(self) -> Finding | None:
        """The first one: where to begin."""
        return next(iter(self.suspects), None)

    @property
    def says(self) -> str:
        """The first suspect in a sentence; where none is, how many checks were clear and how many could not tell."""
        if self.headline:
            return self.headline
        unknown = sum(f.verdict == NOT_MEASURED for f in self.findings)
        aside = f" ({unknown} could not be measured)" if unknown else ""
        first = self.suspect
        if first is None:
            return f"nothing suspect in {len(self.findings) - unknown} of {len(self.findings)} checks{aside}"
        more = f"; {len(self.suspects) - 1} more suspects" if len(self.suspects) > 1 else ""
        remedy = f"; try {first.remedy}" if first.remedy else ""
        return f"{first.name}: {first.says}{remedy}{more}"

    def finding(self, name: str) -> Finding:
        return next(f for f in self.findings if f.name == name)

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.symptom!r}, {self.scope}: {self.says}>"

    def rows(self) -> list[list[str]]:
        """Check, verdict, what was measured, compared with what, remedy: for a table."""
        return [[f.name, MARKS[f.verdict], f.says, f.compared, f.remedy] for f in self.findings]

    def _html(self) -> str:
        head = show.rows(self.says, {"symptom": self.symptom, "of": self.scope, "steps": self.steps})
        body = [[f.name, MARKS[f.verdict], f.says + "".join(f"\n· {e}" for e in f.evidence), f.compared, f.remedy]
                for f in self.findings]  # fmt: skip
        return head + show.table(["check", "", "what was measured", "compared", "try"], body)

    def to_dict(self) -> dict[str, Any]:
        return {
            "symptom": self.symptom, "scope": str(self.scope), "turn": self.turn, "steps": self.steps,
            "says": self.says, "findings": [f.to_dict() for f in self.findings],
        }  # fmt: skip

    def to_df(self) -> Any:
        """One row a check."""
        import pandas as pd

        return pd.DataFrame([f.to_dict() for f in self.findings])


def diagnose(store: Store, scope: Scope, symptom: str, *, turn: int | None = None) -> Diagnosis:
    """The checks of a symptom, over the steps up to `turn` (None: all). Raises UnknownName, NotFound."""
    asked = " ".join(symptom.casefold().split())
    if asked not in SYMPTOMS:
        raise UnknownName("symptom", symptom, SYMPTOMS)
    seen = observe(store, scope, turn)
    findings: Sequence[Finding] = [check(seen) for check in SYMPTOMS[asked]]
    return Diagnosis(asked, scope, seen.state.turn, len(seen.steps), tuple(findings))
