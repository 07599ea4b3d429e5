"""What a window shows of itself: segments of its token bar, rows of its pages and of the stubs left behind.

Read from a state and its words; the same rows serve an engine in a notebook and the pages of the workbench.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from memory import show
from memory.pages import Page
from memory.show import Shown
from memory.state import State
from memory.turns import Words
from memory.window import Fill, pinned, scaled


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the token bar."""

    id: str  # "system", "stubs", "p12" (a page), "new"
    section: str  # system, facts, stubs, recalled, resident, new, reply
    label: str
    tokens: int


@dataclass(frozen=True, slots=True)
class PageRow:
    """One page, in the window or out of it."""

    number: int
    name: str  # p12
    title: str  # one readable sentence of it
    first: int  # turns
    last: int
    tokens: int
    state: str  # growing, pinned, resident, guest (recalled for this step), gone
    heat: float  # 0..1, recency and frequency of use
    hits: int
    faults: int
    importance: float
    marked: bool  # a message on it is marked as important
    stub: str  # "[p12:…]", "" before it has one
    origin: str  # of the bookmark
    loaded_at: int  # step
    used_at: int  # step
    left_at: int  # step, 0: never left


@dataclass(frozen=True, slots=True)
class StubRow:
    """What stands in the window for one page that left, or for a range of them."""

    name: str  # p3 or p3-p41
    first: int  # pages
    last: int
    keywords: tuple[str, ...]
    text: str
    tokens: int
    weight: float  # 0 for a range
    origin: str


@dataclass(frozen=True)
class Window(Shown):
    """The window of an engine, now."""

    title: str
    turn: int
    budget: int
    used: int
    low: float
    high: float
    segments: tuple[Segment, ...]
    pages: tuple[PageRow, ...]  # in the window
    gone: int  # pages out of it
    stubs: tuple[StubRow, ...]

    def __repr__(self) -> str:
        return (
            f"<Window at turn {self.turn}: {filled(self.used, self.budget)}, {len(self.pages)} pages resident, "
            f"{self.gone} out, {len(self.stubs)} stubs>"
        )

    def _html(self) -> str:
        return window_html(self.title, self.turn, self)

    def to_df(self) -> Any:
        """The pages in the window, one row each."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.pages])

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def window_now(state: State, now: Fill, words: Words) -> Window:
    return Window(
        title=words(state.title) if state.title else "",
        turn=state.turn,
        budget=now.budget,
        used=now.used,
        low=state.settings.low_watermark,
        high=state.settings.high_watermark,
        segments=tuple(segments(state, now)),
        pages=tuple(page_row(p, state, words) for p in state.residents),
        gone=len(state.pages) - len(state.resident),
        stubs=tuple(stub_rows(state, words)),
    )


def window_html(title: str, turn: object, seen: Any) -> str:
    """The token bar, the resident pages, the stubs; `seen` has what `Window` has."""
    resident = [[p.name, f"{p.first}-{p.last}", f"{p.tokens:,}", p.state, p.title or "…"] for p in seen.pages]
    stubs = " ".join(f"<code>{show.text(s.text)}</code>" for s in seen.stubs[:60])
    return (
        f"<b>{show.text(title or 'window')}</b> · turn {turn} · {filled(seen.used, seen.budget)}"
        + bar_html(seen)
        + show.table(["page", "turns", "tokens", "state", "about"], resident)
        + (f"<div style='margin-top:.5rem;line-height:2'>{stubs}</div>" if stubs else "")
    )


def bar_html(seen: Any) -> str:
    """The token bar and its legend; `seen` as for `window_html`."""
    parts = [(segment.label, segment.tokens, segment.section) for segment in seen.segments]
    marks = {"low watermark": seen.low, "high watermark": seen.high} if seen.budget else {}
    bar = show.bar(parts, seen.budget or seen.used or 1, marks)
    return bar + f"<div style='margin:.4rem 0'>{show.legend(totals(seen.segments))}</div>"


def filled(used: int, budget: int) -> str:
    """
    >>> filled(439, 8_000), filled(439, 0)
    ('439 of 8,000 tokens', '439 tokens, recorded without a window')
    """
    return f"{used:,} of {budget:,} tokens" if budget else f"{used:,} tokens, recorded without a window"


def totals(parts: Iterable[Segment]) -> dict[str, int]:
    """Tokens by section, in order of appearance."""
    by_section: dict[str, int] = {}
    for part in parts:
        by_section[part.section] = by_section.get(part.section, 0) + part.tokens
    return by_section


def segments(state: State, now: Fill) -> list[Segment]:
    parts = [
        Segment("system", "system", "system", now.system),
        Segment("facts", "facts", "facts", now.facts),
        Segment("stubs", "stubs", "stubs", now.stubs),
    ]
    parts += [Segment(p.name, "recalled", p.name, scaled(state, p.guest_tokens)) for p in state.guests]
    parts += [
        Segment(p.name, "resident" if p.closed else "new", p.name, scaled(state, p.tokens))
        for p in state.residents
        if not p.guest_until
    ]
    return [part for part in parts if part.tokens]


def page_row(page: Page, state: State, words: Words) -> PageRow:
    mark = page.bookmark
    heat = page.heat_at(state.step)
    return PageRow(
        number=page.number,
        name=page.name,
        title=words(mark.description) if mark else "",
        first=page.first,
        last=page.last,
        tokens=page.tokens,
        state=page_state(page, state),
        heat=heat / (1 + heat),
        hits=page.hits,
        faults=page.faults,
        importance=page.importance,
        marked=any(t.important or t.number in state.marked for t in page.turns),
        stub=words(mark.stub) if mark else "",
        origin=mark.origin if mark else "",
        loaded_at=page.loaded_at,
        used_at=page.used_at,
        left_at=page.left_at,
    )


def page_state(page: Page, state: State) -> str:
    if page.number not in state.resident:
        return "gone"
    if page.guest_until:
        return "guest"
    if not page.closed:
        return "growing"
    return "pinned" if page.number in pinned(state) else "resident"


def stub_rows(state: State, words: Words) -> list[StubRow]:
    rows = []
    for number in state.stubs.shown:
        page = state.pages[number]
        if page.bookmark:
            mark = page.bookmark
            keywords = tuple(k for k in words(mark.keywords).split(",")) if mark.keywords else ()
            rows.append(
                StubRow(page.name, number, number, keywords, words(mark.stub), mark.tokens, mark.weight, mark.origin)
            )
    for part in state.stubs.ranges:
        text = words(part.text)
        keywords = tuple(text.partition(":")[2].rstrip("]").split(",")) if ":" in text else ()
        name = f"p{part.first}-p{part.last}"
        rows.append(StubRow(name, part.first, part.last, keywords, text, part.tokens, 0.0, "range"))
    return sorted(rows, key=lambda r: (r.first, r.last))
