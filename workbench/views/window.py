"""The live window at any turn: what is in it, what left, what stays behind, what happened.

One view for the page, the notebook, the command line and the tests. A past turn is shown as the model read it:
as of the last prompt of its step. Marks are no part of what it read: they are those at the end of the step, and
of whatever was done before the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from memory import show, tokens
from memory.errors import NotFound
from memory.events import (
    Event,
    ModelCalled,
    PageEvicted,
    PagePagedIn,
    PagesRecalled,
    PromptAssembled,
    StepAbandoned,
    StepFinished,
)
from memory.look import filled, page_row, segments, stub_rows, window_html
from memory.pages import Page
from memory.prompt import instruction_tokens
from memory.scope import Scope
from memory.show import Shown
from memory.state import State, fold
from memory.stores.sql import Stream
from memory.turns import Turn
from memory.window import fill
from workbench.views.feed import feed_rows, text_ids
from workbench.views.past import Past
from workbench.views.rows import ChatRow, FeedRow, Metric, PageRow, Segment, StubRow

TREND_STEPS = 24
CHAT_TURNS = 40
FEED_ROWS = 80


@dataclass(frozen=True)
class WindowView(Shown):
    scope: Scope
    title: str
    language: str
    turn: int  # asked for; the window is that of its step
    turns: int  # of the run
    step: int
    steps: int
    version: int  # of the stream: what a cache is keyed by
    running: bool  # a step is under way now
    failed: str  # why the shown step was abandoned, "" if it was not
    llm: str
    budget: int
    high: float  # shares of the budget
    low: float
    used: int
    free: int
    reply_reserve: int
    stub_budget: int
    segments: tuple[Segment, ...]
    pages: tuple[PageRow, ...]  # in the window, by number
    gone: int  # how many pages are out of it
    stubs: tuple[StubRow, ...]
    metrics: tuple[Metric, ...]
    feed: tuple[FeedRow, ...]  # newest first
    chat: tuple[ChatRow, ...]  # the last messages up to the shown turn, oldest first
    settings: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        stubs = f"{len(self.stubs)} stubs" if self.stubs else "no stubs"
        return (
            f"<Window of {self.scope} at turn {self.turn} of {self.turns}: {filled(self.used, self.budget)}, "
            f"{len(self.pages)} pages resident, {self.gone} out, {stubs}>"
        )

    def _html(self) -> str:
        return window_html(self.title, f"{self.turn} of {self.turns}", self)

    def to_df(self) -> Any:
        """The pages in the window, one row each."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.pages])

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class PageView(Shown):
    """One page, read: its turns, when and why it came and left, each time."""

    scope: Scope
    row: PageRow
    boundary: str  # why it closed
    why_important: str
    keywords: tuple[str, ...]
    summary: str  # "" while the page grows
    turns: tuple[ChatRow, ...]
    history: tuple[FeedRow, ...]  # oldest first: closed, bookmark, evicted, recalled, left

    def __repr__(self) -> str:
        r = self.row
        return f"<Page {r.name}: turns {r.first}-{r.last}, {r.tokens:,} tokens, {r.state}>"

    def _html(self) -> str:
        r = self.row
        turns = [[row.turn, row.speaker, show.small(row.text, 160)] for row in self.turns]
        history = [[f"step {row.step}", row.kind.replace("_", " "), _said_of(row)] for row in self.history]
        return (
            f"<b>{r.name}</b> {show.text(r.stub)} · turns {r.first}-{r.last} · {r.tokens:,} tokens · {r.state}"
            + (f"<div>{show.text(self.summary)}</div>" if self.summary else "")
            + show.table(["turn", "who", "words"], turns)
            + "<div style='margin-top:.5rem'><b>when it came and left</b></div>"
            + show.table(["when", "what", "why"], history)
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """Its messages, one row each."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.turns])


def _said_of(row: FeedRow) -> str:
    return ", ".join(f"{k} {v}" for k, v in row.values.items() if k != "page" and v not in ("", None))


# ── from the store ────────────────────────────────────────────────────────────────────────────────────


def window(store: Past, scope: Scope, turn: int | None = None) -> WindowView:
    """The window at `turn`; at the newest one without it. Raises NotFound for a run or turn that is not there."""
    stream = store.require(scope)
    shown = stream.turns if turn is None else turn
    end = stream.version if shown == stream.turns else store.version_at(scope, shown)
    since = store.version_at(scope, shown - 2 * TREND_STEPS) if shown > 2 * TREND_STEPS else 0
    recent = store.events(scope, after=since, upto=end)
    step = recent[-1].step if recent else 0
    as_read = max((e.version for e in recent if e.step == step and isinstance(e.body, PromptAssembled)), default=end)
    running = stream.open_step and shown == stream.turns
    state = store.state(scope, end if running else as_read)
    after = fold([e for e in recent if e.version > state.version], state)
    return _view(store, stream, shown, state, after, recent, running)


def page(store: Past, scope: Scope, number: int, turn: int | None = None) -> PageView:
    """One page as it is at `turn`, with the whole history of its coming and going up to there."""
    stream = store.require(scope)
    end = stream.version if turn is None or turn == stream.turns else store.version_at(scope, turn)
    state = store.state(scope, end)
    if number not in state.pages:
        raise NotFound(f"no page p{number} at turn {state.turn}; pages go from p1 to p{len(state.pages)}")
    found = state.pages[number]
    events = [e for e in store.events(scope, upto=end, kinds=PAGE_KINDS) if _concerns(e, number)]
    ids = text_ids(events) | {t.text for t in found.turns} | _bookmark_ids([found])
    ids |= {found.gist.text} if found.gist else set()
    texts = store.words(scope, sorted(ids))
    bookmarks = {number: found.bookmark} if found.bookmark else {}
    keywords = texts.get(found.bookmark.keywords, "") if found.bookmark else ""
    return PageView(
        scope=scope,
        row=page_row(found, state, lambda i: texts.get(i, "")),
        boundary=found.boundary,
        why_important=found.why_important,
        keywords=tuple(k for k in keywords.split(",") if k),
        summary=texts.get(found.gist.text, "") if found.gist else "",
        turns=tuple(_chat_rows([(t, found) for t in found.turns], state, state, texts, {})),
        history=tuple(feed_rows(events, texts, bookmarks)),
    )


PAGE_KINDS = (
    "PageClosed", "BookmarkMade", "PageSummarised", "PageEvicted", "PagePagedIn", "PagesRecalled", "PagesUsed",
    "GuestLeft",
)  # fmt: skip


def _concerns(event: Event, number: int) -> bool:
    body: Any = event.body
    if isinstance(body, PagesRecalled):
        return number in body.came or number in body.resident
    if hasattr(body, "pages"):
        return any(c.page == number for c in body.pages)
    return bool(body.page == number)


def _view(
    store: Past, stream: Stream, turn: int, state: State, after: State, recent: Sequence[Event], running: bool
) -> WindowView:
    """`state` is what the model read, `after` the end of the step."""
    scope, s = stream.scope, state.settings
    feed_events = [e for e in recent if e.step > after.step - TREND_STEPS][-400:]
    chat_turns = _last_turns(after, turn, CHAT_TURNS)
    ids = text_ids(feed_events) | {t.text for t, _ in chat_turns} | {state.title}
    ids |= _bookmark_ids(list(state.pages.values())) | {r.text for r in state.stubs.ranges}
    texts = store.words(scope, sorted(ids - {0}))
    now = fill(state, state.told_tokens or instruction_tokens(tokens.count))

    def words(text: int) -> str:
        return texts.get(text, "")

    bookmarks = {p.number: p.bookmark for p in state.pages.values() if p.bookmark}
    endings = [e.body for e in recent if e.step == after.step and isinstance(e.body, StepAbandoned | StepFinished)]
    failed = endings[-1].reason if endings and isinstance(endings[-1], StepAbandoned) else ""
    return WindowView(
        scope=scope,
        title=texts.get(state.title, "") or scope.conversation,
        language=state.language,
        turn=turn,
        turns=stream.turns,
        step=after.step,
        steps=stream.steps,
        version=stream.version,
        running=running,
        failed=failed,
        llm=s.llm,
        budget=s.window_tokens,
        high=s.high_watermark,
        low=s.low_watermark,
        used=now.used,
        free=now.free,
        reply_reserve=now.reply,
        stub_budget=s.stub_budget,
        segments=tuple(segments(state, now)),
        pages=tuple(
            replace(page_row(p, state, words), marked=_is_marked(after.pages[p.number], after)) for p in state.residents
        ),
        gone=len(state.pages) - len(state.resident),
        stubs=tuple(stub_rows(state, words)),
        metrics=tuple(_metrics(recent, after)),
        feed=tuple(reversed(feed_rows(feed_events, texts, bookmarks)[-FEED_ROWS:])),
        chat=tuple(_chat_rows(chat_turns, state, after, texts, _came_by_step(recent))),
        settings=s.to_dict(),
    )


def _bookmark_ids(pages: Sequence[Page]) -> set[int]:
    return {i for p in pages if p.bookmark for i in (p.bookmark.stub, p.bookmark.keywords, p.bookmark.description)} - {
        0
    }


# ── messages ──────────────────────────────────────────────────────────────────────────────────────────


def _is_marked(page: Page, state: State) -> bool:
    return any(turn.important or turn.number in state.marked for turn in page.turns)


def _last_turns(state: State, upto: int, most: int) -> list[tuple[Turn, Page]]:
    """The last ones up to and with turn `upto`, oldest first."""
    found: list[tuple[Turn, Page]] = []
    for number in range(len(state.pages), 0, -1):
        page = state.pages[number]
        found[:0] = [(turn, page) for turn in page.turns if turn.number <= upto]
        if len(found) >= most:
            break
    return found[-most:]


def _came_by_step(events: Sequence[Event]) -> dict[int, tuple[int, ...]]:
    came: dict[int, tuple[int, ...]] = {}
    steps: dict[int, int] = {}
    for event in events:
        if isinstance(event.body, PagesRecalled):
            came[event.step] = (*came.get(event.step, ()), *event.body.came)
        turn = getattr(event.body, "turn", None)
        if isinstance(turn, Turn) and turn.role == "assistant":
            steps[turn.number] = event.step
    return {turn: came[step] for turn, step in steps.items() if step in came}


def _chat_rows(
    turns: Sequence[tuple[Turn, Page]],
    state: State,
    after: State,
    texts: Mapping[int, str],
    came: Mapping[int, tuple[int, ...]],
) -> list[ChatRow]:
    """Pieces of one message become one row; it is resident if its last piece is in `state`, marked as of `after`."""
    rows: dict[int, ChatRow] = {}
    for turn, page in turns:
        before = rows.get(turn.number)
        rows[turn.number] = ChatRow(
            turn=turn.number,
            role=turn.role,
            speaker=turn.name,
            text=texts.get(turn.text, ""),
            said_at=turn.said_at,
            page=page.number,
            resident=page.number in state.resident or page.number not in state.pages,
            marked=turn.important or turn.number in after.marked,
            tokens=turn.tokens + (before.tokens if before else 0),
            recalled=came.get(turn.number, ()),
        )
    return list(rows.values())


# ── figures ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _StepFigures:
    tokens: float = 0
    pages: float = 0
    evictions: float = 0
    came: float = 0
    hits: float = 0
    recalled_tokens: float = 0
    cost: float = 0

    @property
    def utilisation(self) -> float:
        return self.recalled_tokens / self.tokens if self.tokens else 0.0


def _figures(events: Sequence[Event]) -> list[_StepFigures]:
    """One entry a step, oldest first."""
    by_step: dict[int, _StepFigures] = {}
    for event in events:
        body = event.body
        if event.step < 1:
            continue
        step = by_step.setdefault(event.step, _StepFigures())
        if isinstance(body, PromptAssembled):
            step.tokens = body.tokens
            step.pages = len({row[2] for row in body.messages if row[2]})
            step.recalled_tokens = body.sections.get("recalled", 0)
        elif isinstance(body, PageEvicted):
            step.evictions += 1
        elif isinstance(body, PagePagedIn):
            step.came += 1
        elif isinstance(body, PagesRecalled):
            step.hits += len(body.resident)
        elif isinstance(body, ModelCalled):
            step.cost += body.cost_usd or 0.0
    return [by_step[n] for n in sorted(by_step)]


def _metrics(events: Sequence[Event], state: State) -> list[Metric]:
    steps = _figures(events)[-TREND_STEPS:]
    c = state.counts

    def course(name: str) -> tuple[float, ...]:
        return tuple(float(getattr(step, name)) for step in steps)

    def last_change(values: tuple[float, ...]) -> float | None:
        return values[-1] - values[-2] if len(values) > 1 else None

    used, pages, paged = course("tokens"), course("pages"), course("utilisation")
    demands = c.hits + c.faults
    return [
        Metric("tokens", used[-1] if used else 0.0, "tokens", last_change(used), used, "neither"),
        Metric("pages", pages[-1] if pages else 0.0, "pages", last_change(pages), pages, "neither"),
        Metric(
            "evictions", c.evictions, "count", course("evictions")[-1] if steps else None, course("evictions"), "down"
        ),
        Metric("faults", c.faults, "count", course("came")[-1] if steps else None, course("came"), "down"),
        Metric("hit_ratio", c.hits / demands if demands else 0.0, "ratio", None, course("hits"), "up"),
        Metric("utilisation", paged[-1] if paged else 0.0, "ratio", last_change(paged), paged, "neither"),
        Metric("cost", c.cost_usd, "usd", course("cost")[-1] if steps else None, course("cost"), "down"),
    ]
