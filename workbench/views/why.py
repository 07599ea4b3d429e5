"""Why something was not recalled, with what a verdict leaves out: the scores around the line, and the way of the words.

The verdict is memory/why.py's, a change that is tried memory/trial.py's; this adds how every page and fact was scored
against where the line was, when the words came into the prompts and left them, and what to ask first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from typing import Any

from memory import show
from memory.carriers import Carrier, carriers, fact_ranking, full_ranking
from memory.case import Case, open_case
from memory.events import PagesRetrieved
from memory.expected import looked_for
from memory.finder import VectorSource
from memory.reach import Bisection, bisect
from memory.scope import Scope
from memory.show import Shown, small
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors
from memory.trial import Trial, trial
from memory.why import TOLD, Verdict, judged
from workbench.views.retrieval import stub

BINS = 24
MOST = 200  # rows of the table under a histogram
SUGGESTED = 4


@dataclass(frozen=True, slots=True)
class Scored:
    """A page or a fact against the question."""

    name: str
    page: int  # 0: a fact
    score: float
    says: str  # its bookmark, its words
    comes: bool  # it would, under the settings of the step
    carries: bool  # the expected words


@dataclass(frozen=True, slots=True)
class Bin:
    """Scores in `[low, high)`; the last holds its end, too."""

    low: float
    high: float
    count: int
    carriers: tuple[str, ...]  # names of those in it that have the words
    comes: int  # how many of it would come


@dataclass(frozen=True, slots=True)
class Gate:
    """A limit that the best of all must reach before anything comes; either gate is enough."""

    name: str  # of the setting
    best: float
    least: float

    @property
    def passed(self) -> bool:
        return self.best >= self.least


@dataclass(frozen=True)
class Scores:
    of: str  # pages, facts
    rows: tuple[Scored, ...]  # best first, at most MOST
    bins: tuple[Bin, ...]
    count: int  # of all
    line: float | None  # from here on they come; None: all do
    setting: str  # that draws it: recall_k=3
    gates: tuple[Gate, ...] = ()
    asked: bool = True  # somebody did ask in this step; else it is what a recall would have found

    @property
    def shut(self) -> bool:
        """Both gates said no: nothing came, whatever its score."""
        return bool(self.gates) and not any(gate.passed for gate in self.gates)

    @property
    def carriers(self) -> tuple[Scored, ...]:
        return tuple(row for row in self.rows if row.carries)


@dataclass(frozen=True)
class WhyView(Shown):
    verdict: Verdict
    way: Bisection
    scores: tuple[Scores, ...]
    settings: dict[str, Any] = field(repr=False)  # of the step

    def __repr__(self) -> str:
        return f"<Why {self.verdict.expected!r}: {self.verdict.line}>"

    def _html(self) -> str:
        head = ["", "score", "what it says", "comes", "has the words"]
        tables = (
            f"<div><b>{s.of}</b>, {show.text(s.setting)}</div>"
            + show.table(head, [[r.name, f"{r.score:.3g}", small(r.says, 80), "yes" if r.comes else "no",
                                 "yes" if r.carries else ""] for r in s.rows], most=10)
            for s in self.scores
        )  # fmt: skip
        return self.verdict._html() + "".join(tables) + self.way._html()

    def to_dict(self) -> dict[str, Any]:
        return {"verdict": self.verdict.to_dict(), "way": self.way.to_dict(), "settings": self.settings,
                "scores": [asdict(s) for s in self.scores]}  # fmt: skip

    def to_df(self) -> Any:
        """One row a page or fact that was scored."""
        import pandas as pd

        return pd.DataFrame([{"of": s.of, **asdict(row)} for s in self.scores for row in s.rows])


def why(
    store: Store,
    scope: Scope,
    expected: str,
    question: str = "",
    turn: int | None = None,
    *,
    vectors: VectorSource | None = None,
) -> WhyView:
    """As memory.why: raises BadMessage for words that say nothing, NotFound."""
    case = _case(store, scope, expected, question, turn, vectors)
    verdict = judged(case)
    found = (_pages(case, verdict.carriers), _facts(case, verdict.carriers))
    scores = tuple(each for each in found if each is not None)
    return WhyView(verdict, bisect(store, scope, expected), scores, case.before.settings.to_dict())


def tried(
    store: Store,
    scope: Scope,
    expected: str,
    question: str,
    turn: int | None,
    change: str,
    *,
    vectors: VectorSource | None = None,
) -> Trial:
    """What the prompt would have been with this change. Raises NotFound for one that is not tried here."""
    case = _case(store, scope, expected, question, turn, vectors)
    return trial(case, carriers(case)[:TOLD], change)


def _case(
    store: Store, scope: Scope, expected: str, question: str, turn: int | None, vectors: VectorSource | None
) -> Case:
    return open_case(store, scope, looked_for(expected), question, turn, vectors or StoredVectors(store))


# ── scores ────────────────────────────────────────────────────────────────────────────────────────────


def _pages(case: Case, found: Sequence[Carrier]) -> Scores | None:
    """All that had left the window, ranked now by the ranker of the step; None where none had."""
    gated = full_ranking(case)
    free = full_ranking(case, min_coverage=0.0, min_margin=0.0, duplicate_overlap=1.0)
    if gated is None or free is None:
        return None
    settings, limits = case.before.settings, gated.thresholds
    pairs = (("min_coverage", "min_coverage_idf_share", "best_coverage_idf_share"),
             ("min_margin", "min_margin_way_to_1", "best_margin_way_to_1"))  # fmt: skip
    gates = tuple(Gate(name, limits[best], limits[least]) for name, least, best in pairs if best in limits)
    name = "retrieve_k" if settings.retrieve_k and not case.recalls else "recall_k"
    k = getattr(settings, name)
    shut = bool(gates) and not any(gate.passed for gate in gates)
    have = {c.page for c in found if c.page}
    ranked = [hit for hit in (*free.hits, *free.misses) if hit.stage != "match"]
    rows = [
        Scored(f"p{hit.page}", hit.page, hit.score, stub(hit.page, case.before, case.texts), n < k and not shut,
               hit.page in have)
        for n, hit in enumerate(ranked)
    ]  # fmt: skip
    asked = bool(case.recalls or settings.retrieve_k or case.step.all(PagesRetrieved))
    return _scores("pages", rows, _between(rows, k), f"{name}={k}", gates, asked=asked)


def _facts(case: Case, found: Sequence[Carrier]) -> Scores | None:
    """Every fact by how much of the message it covers; None in a run that reads none."""
    if case.off or not case.knowledge.facts:
        return None
    settings, have = case.before.settings, {c.fact for c in found if c.fact}
    ranked = fact_ranking(case, case.knowledge)
    rows = [
        Scored(f"f{hit.page}", 0, round(hit.raw[0], 4), case.texts.get(case.knowledge.facts[hit.page].text, ""),
               hit.raw[0] >= settings.facts_coverage and n < settings.facts_k, hit.page in have)
        for n, hit in enumerate(ranked)
    ]  # fmt: skip
    rows.sort(key=lambda row: -row.score)
    limit = f"facts_coverage={settings.facts_coverage:g}, facts_k={settings.facts_k}"
    return _scores("facts", rows, settings.facts_coverage, limit)


def _between(rows: Sequence[Scored], k: int) -> float | None:
    """Half way between the last that comes and the first that does not."""
    return None if len(rows) <= k or not k else (rows[k - 1].score + rows[k].score) / 2


def _scores(
    of: str, rows: list[Scored], line: float | None, setting: str, gates: tuple[Gate, ...] = (), *, asked: bool = True
) -> Scores | None:
    if not rows:
        return None
    return Scores(of, tuple(rows[:MOST]), bins(rows, line), len(rows), line, setting, gates, asked)


def bins(rows: Sequence[Scored], line: float | None = None, most: int = BINS) -> tuple[Bin, ...]:
    """Equal steps from the lowest score, or the line, to the highest; few rows get few.

    >>> [bin.count for bin in bins([Scored("p1", 1, s, "", False, False) for s in (0.0, 0.1, 1.0)], most=2)]
    [2, 1]
    """
    values = [row.score for row in rows] + ([line] if line is not None else [])
    low, high = min(values), max(values)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    n = most if most < BINS else min(most, max(12, ceil(len(rows) * 0.8)))
    step = (high - low) / n
    if line is not None and line > low:  # a step begins at the line: no bin holds both who comes and who does not
        low = line - ceil((line - low) / step - 1e-9) * step
        n = max(1, ceil((high - low) / step - 1e-9))
    held: list[list[Scored]] = [[] for _ in range(n)]
    for row in rows:
        held[min(n - 1, int((row.score - low) / step))].append(row)
    return tuple(
        Bin(low + i * step, low + (i + 1) * step, len(each), tuple(r.name for r in each if r.carries),
            sum(r.comes for r in each))
        for i, each in enumerate(held)
    )  # fmt: skip


# ── what to ask first ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Example:
    """Something that may have been forgotten, ready to be asked."""

    expected: str
    question: str = ""
    turn: int | None = None


# Of the two demo conversations: things that a reader of them would ask for.
DEMO: dict[tuple[str, str], tuple[Example, ...]] = {
    ("ana", "house-move"): (
        Example("budget 5000", "What is my moving budget?", 70),
        Example("8000", "", 91),
        Example("Nordstern", "Which insurance do I have?", 110),
        Example("peanuts", "", 100),
    ),
    ("lin", "tea-shop"): (
        Example("预算 二十万", "总预算是多少？", 75),
        Example("三年还清", "妈妈借的钱怎么还？", 100),
        Example("三十二万", "总预算现在是多少？", 150),
    ),
}  # fmt: skip


def examples(store: Store, scope: Scope) -> tuple[Example, ...]:
    """The demo's own; for any other conversation, values of the newest facts about its user."""
    turns = store.require(scope).turns
    told = DEMO.get((scope.user, scope.conversation), ())
    if told and all((each.turn or 0) <= turns for each in told):
        return told
    known = [f for f in store.knowledge(scope.user).facts.values() if f.state == "active" and f.attribute and f.value]
    last = sorted(known, key=lambda f: -f.id)[:SUGGESTED]
    words = (
        store.words(Scope.own(scope.user), [number for f in last for number in (f.attribute, f.value)]) if last else {}
    )
    return tuple(Example(small(f"{words[f.attribute]} {words[f.value]}", 80)) for f in last)
