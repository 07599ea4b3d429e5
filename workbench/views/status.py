"""How a conversation's memory stands now, in one small table: what `%memory` shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from memory import show
from memory.look import filled
from memory.scope import Scope
from memory.show import Shown
from memory.stores.sql import Store
from workbench.views.window import window


@dataclass(frozen=True)
class StatusView(Shown):
    scope: Scope
    title: str
    llm: str
    turns: int
    used: int  # tokens
    budget: int
    resident: int  # pages
    gone: int
    stubs: int
    faults: int
    hit_ratio: float | None  # None: nothing was asked for yet
    cost_usd: float
    facts: int  # of the user, that hold
    conflicts: int  # undecided
    store: str

    def __repr__(self) -> str:
        facts = f"{self.facts} facts, {self.conflicts} conflicts"
        return (
            f"<Status of {self.scope}: turn {self.turns}, {filled(self.used, self.budget)}, "
            f"{self.resident} pages resident, {self.gone} out, {self.faults} faults; {facts}>"
        )

    def _html(self) -> str:
        figures = {
            "model": self.llm,
            "turns": f"{self.turns:,}",
            "window": filled(self.used, self.budget),
            "pages": f"{self.resident:,} resident, {self.gone:,} out, {self.stubs:,} stubs",
            "page faults": f"{self.faults:,}" + ("" if self.hit_ratio is None else f", hit ratio {self.hit_ratio:.2f}"),
            "facts": f"{self.facts:,}, {self.conflicts:,} undecided",
            "cost": f"${self.cost_usd:.4f}",
            "store": self.store,
        }
        return show.rows(f"{self.title} · {self.scope}", figures)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """One row."""
        import pandas as pd

        return pd.DataFrame([{**self.to_dict(), "scope": str(self.scope)}])


def status(store: Store, scope: Scope) -> StatusView:
    """Of the newest turn. Raises NotFound."""
    view, known = window(store, scope), store.knowledge(scope.user)
    counts = store.state(scope).counts
    demands = counts.hits + counts.faults
    return StatusView(
        scope=scope,
        title=view.title,
        llm=view.llm,
        turns=view.turns,
        used=view.used,
        budget=view.budget,
        resident=len(view.pages),
        gone=view.gone,
        stubs=len(view.stubs),
        faults=counts.faults,
        hit_ratio=counts.hits / demands if demands else None,
        cost_usd=counts.cost_usd,
        facts=len(known.current),
        conflicts=len(known.open_conflicts),
        store=str(store.path),
    )
