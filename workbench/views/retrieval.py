"""One question against the pages: what each channel said of whom, and what dropped the losers.

From the log for what happened; computed anew, and logged nowhere, for a question that somebody asks of a past turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memory import show
from memory.errors import BadMessage
from memory.events import Candidate, PagesRetrieved
from memory.finder import Finder, VectorSource
from memory.scope import Scope
from memory.show import Shown
from memory.state import State
from memory.stores.sql import Store

MOST = 10  # candidates that a notebook shows at once; the others unfold


@dataclass(frozen=True, slots=True)
class CandidateRow:
    page: int
    score: float
    dropped: str  # "" if it was chosen
    turn: int  # where in the page the score comes from
    stub: str
    stage: str = ""  # that dropped it
    raw: tuple[float, ...] = ()  # by channel, each in its own unit
    shares: tuple[float, ...] = ()  # what each adds to the score


@dataclass(frozen=True)
class RetrievalView(Shown):
    by: str
    question: str
    strategy: str
    embedder: str  # "": by words only
    k: int
    chosen: tuple[int, ...]
    channels: tuple[str, ...]
    candidates: tuple[CandidateRow, ...]  # the chosen, then the nearest misses
    stages: dict[str, int]  # pages left after each
    thresholds: dict[str, float]
    note: str
    ms: float

    def __repr__(self) -> str:
        chosen = ", ".join(f"p{n}" for n in self.chosen) or "nothing"
        return f"<Retrieval of {self.question!r} by {self.strategy}: {chosen} of {self.stages.get('scope', 0)} pages>"

    @property
    def counted(self) -> str:
        """`all 41 → scope 33 → threshold 33 → rank 3`"""
        return " → ".join(f"{stage} {pages}" for stage, pages in self.stages.items())

    @property
    def limits(self) -> str:
        return ", ".join(f"{name} {value:g}" for name, value in self.thresholds.items())

    def rows(self) -> tuple[list[str], list[list[Any]]]:
        """A table: its head, and a row a candidate, the best first."""
        head = ["page", "score", *self.channels, "turn", "stub", "why not"]
        made = [
            [f"p{c.page}", f"{c.score:.2f}", *_figures(c, len(self.channels)), c.turn, c.stub, c.dropped or "chosen"]
            for c in self.candidates
        ]
        return head, made

    def _html(self) -> str:
        words = show.text(f"{self.strategy}{f' with {self.embedder}' if self.embedder else ', by words'}")
        html = f"<div style='margin-top:.5rem'><b>retrieval</b> by {words}: {show.text(self.question)}"
        html += f"<div>{show.text(self.counted)} · {show.text(self.limits)} {show.text(self.note)}</div></div>"
        head, made = self.rows()
        html += show.table(head, made[:MOST])
        if others := made[MOST:]:
            table = show.table(head, others, most=len(others))
            html += f"<details><summary>{len(others)} more candidates</summary>{table}</details>"
        return html

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """A row a candidate; raw and share of each channel as columns."""
        import pandas as pd

        return pd.DataFrame([_flat(c, self.channels) for c in self.candidates])


def retrieval(b: PagesRetrieved, state: State, texts: Mapping[int, str]) -> RetrievalView:
    """A record of the log, in words. `texts` holds the question's and the stubs'."""
    return RetrievalView(
        by=b.by,
        question=texts.get(b.question, ""),
        strategy=b.strategy,
        embedder=b.embedder,
        k=b.k,
        chosen=b.chosen,
        channels=b.channels,
        candidates=tuple(candidate(c, state, texts) for c in b.candidates),
        stages=dict(b.stages),
        thresholds=dict(b.thresholds),
        note=b.note,
        ms=b.ms,
    )


def candidate(c: Candidate, state: State, texts: Mapping[int, str]) -> CandidateRow:
    return CandidateRow(c.page, c.score, c.dropped, c.turn, stub(c.page, state, texts), c.stage, c.raw, c.shares)


def stub(page: int, state: State, texts: Mapping[int, str]) -> str:
    mark = state.pages[page].bookmark if page in state.pages else None
    return texts.get(mark.stub, "") if mark else f"[p{page}]"


def ask(
    store: Store,
    scope: Scope,
    question: str,
    *,
    turn: int = 0,
    k: int = 0,
    strategy: str = "",
    vectors: VectorSource | None = None,
) -> RetrievalView:
    """What the question would have found among all pages as of a turn; 0: now. `k`: 0 takes the settings' own.

    Raises BadMessage for a question without words, NotFound for a turn that is not there.
    """
    if not question.strip():
        raise BadMessage("ask something: the question has no words")
    state = store.state(scope, store.version_at(scope, turn) if turn else None)
    texts = store.words(scope)
    finder = Finder.of(state, texts.__getitem__, vectors)
    k = k or state.settings.recall_k
    ranking = finder.rank(question, k, state.settings, strategy=strategy)
    return retrieval(finder.record(ranking, -1, "user", k), state, {**texts, -1: question})


def _figures(c: CandidateRow, channels: int) -> list[str]:
    """`7.1 (+2.30)`: the raw value, and what it adds."""
    pairs = list(zip(c.raw, c.shares, strict=False))
    return [f"{raw:g} ({share:+.2f})" for raw, share in pairs] or [""] * channels


def _flat(c: CandidateRow, channels: tuple[str, ...]) -> dict[str, Any]:
    flat: dict[str, Any] = {"page": c.page, "score": c.score, "turn": c.turn, "stub": c.stub}
    for channel, raw, share in zip(channels, c.raw, c.shares, strict=False):
        flat |= {f"{channel}_raw": raw, f"{channel}_share": share}
    return flat | {"stage": c.stage, "dropped": c.dropped}
