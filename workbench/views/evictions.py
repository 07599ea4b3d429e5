"""Every eviction of a run and what it cost later: whether its page was wanted again, when, and by whom.

Judged by this run's own later recalls, up to the page's next eviction: what nobody asked for again cost nothing. The
*better choice* is the candidate that was wanted latest, or never, afterwards (Belady 1966); it needs the future, so it
is a measure and no policy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memory import show
from memory.events import Event, MessageReceived, PageEvicted, PagePagedIn, PagesRecalled
from memory.scope import Scope
from memory.show import Shown
from memory.stores.sql import Store
from workbench.views.past import records, state_at
from workbench.views.retrieval import stub

NEVER = 1 << 40  # step


@dataclass(frozen=True, slots=True)
class EvictionCost:
    """One eviction; steps and turns are of this run."""

    page: int
    stub: str
    step: int
    turn: int  # the message that it made room for
    policy: str
    score: float
    decided_by: str  # rule, age, model, fallback; "" where the policy alone did
    why: str
    cause: str
    freed_tokens: int
    runner_up: int
    runner_up_score: float
    candidates: int
    back_step: int  # first step that wanted it again before it left anew, 0: none did
    back_by: str  # model, user, recorded, label
    question: str
    faults: int  # steps that wanted it while it was out
    recalled_tokens: int  # brought back for that
    better: int  # a candidate that was wanted later, 0: there was none
    better_step: int  # when that one was wanted again, 0: never

    @property
    def regretted(self) -> bool:
        return bool(self.back_step and self.better)


@dataclass(frozen=True)
class EvictionsView(Shown):
    scope: Scope
    turns: int
    rows: tuple[EvictionCost, ...]  # the costliest first

    @property
    def freed_tokens(self) -> int:
        return sum(row.freed_tokens for row in self.rows)

    @property
    def came_back(self) -> int:
        return sum(bool(row.back_step) for row in self.rows)

    @property
    def recalled_tokens(self) -> int:
        return sum(row.recalled_tokens for row in self.rows)

    @property
    def regretted(self) -> int:
        return sum(row.regretted for row in self.rows)

    def upto(self, turn: int | None) -> EvictionsView:
        """Those up to `turn`, judged as they are here: by everything that came after."""
        if turn is None:
            return self
        return EvictionsView(self.scope, self.turns, tuple(row for row in self.rows if row.turn <= turn))

    def __repr__(self) -> str:
        return (
            f"<Evictions of {self.scope}: {len(self.rows)}, {self.came_back} wanted again, "
            f"{self.recalled_tokens:,} tokens brought back, {self.regretted} with a better choice>"
        )

    def _html(self) -> str:
        body = [
            [f"p{r.page}", r.step, f"{r.policy} {r.score:g}", f"{r.freed_tokens:,}", r.back_step or "never",
             f"{r.recalled_tokens:,}", f"p{r.better}" if r.regretted else ""]
            for r in self.rows
        ]  # fmt: skip
        head = ["page", "left at step", "score", "freed", "wanted again at", "brought back", "better choice"]
        return f"<code>{show.text(repr(self))}</code>" + show.table(head, body)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """One row an eviction."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])


KINDS = [k.__name__ for k in (PageEvicted, PagePagedIn, PagesRecalled, MessageReceived)]


def evictions(store: Store, scope: Scope, turn: int | None = None) -> EvictionsView:
    """Those up to `turn` (None: all), each judged by everything that came after it."""
    stream = store.require(scope)
    events = records(store, scope, KINDS, stream.version)
    state = state_at(store, scope, stream.version)
    asked = _asked(events)
    ids = {body.question for bodies in asked.recalls.values() for body in bodies}
    ids |= {p.bookmark.stub for p in state.pages.values() if p.bookmark}
    texts = store.words(scope, sorted(ids - {0}))
    turn_of = {e.step: e.body.turn.number for e in events if isinstance(e.body, MessageReceived)}
    left = [e for e in events if isinstance(e.body, PageEvicted)]
    again: dict[int, int] = {}  # by page: the step at which it left the next time
    rows = []
    for event in reversed(left):
        said, until = turn_of.get(event.step, 0), again.get(_page(event), NEVER)
        again[_page(event)] = event.step
        rows.append(_cost(event, until, asked, texts, said, lambda n: stub(n, state, texts)))
    rows.reverse()
    rows.sort(key=lambda row: (-row.recalled_tokens, -row.faults, row.step))
    return EvictionsView(scope, stream.turns, tuple(rows)).upto(turn)


def _page(event: Event) -> int:
    assert isinstance(event.body, PageEvicted)
    return event.body.page


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked for, and what came in, in the order of the log."""

    steps: dict[int, list[int]]  # by page, ascending: that asked for it, whether it was there or not
    came_in: dict[int, list[tuple[int, int]]]  # by page: at which step, with how many tokens
    recalls: dict[int, list[PagesRecalled]]  # by step


def _asked(events: Iterable[Event]) -> _Asked:
    found = _Asked({}, {}, {})
    for event in events:
        body = event.body
        if isinstance(body, PagesRecalled):
            found.recalls.setdefault(event.step, []).append(body)
            for page in (*body.came, *body.resident):
                found.steps.setdefault(page, []).append(event.step)
        elif isinstance(body, PagePagedIn):
            found.came_in.setdefault(body.page, []).append((event.step, body.tokens))
    return found


def _next(steps: Sequence[int], after: int) -> int:
    """The first of these steps after this one; NEVER without one."""
    at = bisect_right(steps, after)
    return steps[at] if at < len(steps) else NEVER


def _cost(
    event: Event, until: int, asked: _Asked, texts: Mapping[int, str], said: int, name: Callable[[int], str]
) -> EvictionCost:
    body = event.body
    assert isinstance(body, PageEvicted)
    wanted = asked.steps.get(body.page, [])
    own = {s for s in wanted if event.step < s <= until or s == event.step}
    back = _next(wanted, event.step - 1) if own else NEVER
    tokens = [n for step, n in asked.came_in.get(body.page, ()) if step in own]
    recall = next((b for b in asked.recalls.get(back, ()) if body.page in b.came), None)
    better, when = _better(body, event.step, back, asked.steps)
    return EvictionCost(
        page=body.page,
        stub=name(body.page),
        step=event.step,
        turn=said,
        policy=body.policy,
        score=body.score,
        decided_by=body.decided_by,
        why=body.why,
        cause=body.cause,
        freed_tokens=body.freed_tokens,
        runner_up=body.runner_up,
        runner_up_score=body.runner_up_score,
        candidates=len(body.candidates),
        back_step=0 if back == NEVER else back,
        back_by=recall.by if recall else "",
        question=texts.get(recall.question, "") if recall else "",
        faults=len(tokens),
        recalled_tokens=sum(tokens),
        better=better,
        better_step=0 if when == NEVER else when,
    )


def _better(body: PageEvicted, step: int, back: int, wanted: Mapping[int, Sequence[int]]) -> tuple[int, int]:
    """The candidate that was wanted latest after this step, if later than the one that left."""
    others = [(_next(wanted.get(c.page, ()), step), -c.page) for c in body.candidates if c.page != body.page]
    if not others or max(others)[0] <= back:
        return 0, 0
    when, page = max(others)
    return -page, when
