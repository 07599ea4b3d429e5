"""Facts in two times as a picture: one lane a value, when it held against when we believed so. One SVG, no script.

Every word is escaped; colours take the page's own text colour, so that light and dark both work. A lane's bar spans
valid time; what is believed now is solid, what was believed once and is no more is hatched and says when that ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape

from memory.facts import BEGINNING, FOREVER, Fact
from memory.longterm import LongTerm
from memory.show import Shown, small

WIDE, LEFT, RIGHT = 760, 190, 20  # pixels; left of the lanes stand their names
LANE, BAR, TOP = 34, 16, 26
LABEL = 26  # characters of a lane's name
MARGIN = 0.06  # of the span, after the newest moment, for what has no end
COLOURS = {
    "active": "#3b82f6", "conflicted": "#f59e0b", "superseded": "#94a3b8", "retracted": "#e5484d",
    "quarantined": "#a855f7",
}  # fmt: skip
TICKS = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """A belief: from when until when it was so, and from when until when we believed it."""

    valid_from: datetime
    valid_to: datetime  # FOREVER: without a known end
    recorded_from: datetime
    recorded_to: datetime  # FOREVER: believed now
    state: str


@dataclass(frozen=True, slots=True)
class Lane:
    name: str  # f3
    text: str
    state: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Timeline(Shown):
    """Lanes in order of when they began to hold; `now` is where the line stands."""

    title: str
    lanes: tuple[Lane, ...]
    now: datetime
    cuts: tuple[datetime, ...] = ()  # moments that whoever asked looked at

    def __repr__(self) -> str:
        return f"<Timeline of {self.title}: {len(self.lanes)} facts>"

    def _html(self) -> str:
        return svg(self)


def timeline(
    memory: LongTerm, subject: str = "", attribute: str = "", *, facts: Sequence[Fact] = (),
    cuts: Sequence[datetime] = (),
) -> Timeline:  # fmt: skip
    """Everything ever believed of one attribute, or of these `facts`, as lanes."""
    chosen = list(facts) or list(dict.fromkeys(fact for _, fact in memory.evolution(subject, attribute)))
    lanes = [lane_of(fact, memory.words(fact.value) or memory.text(fact)) for fact in chosen]
    lanes = sorted((lane for lane in lanes if lane.bars), key=lambda lane: min(b.valid_from for b in lane.bars))
    title = " ".join(filter(None, (subject, attribute))) or f"{len(lanes)} facts"
    return Timeline(title, tuple(lanes), memory.clock(), tuple(cuts))


def lane_of(fact: Fact, text: str) -> Lane:
    bars = tuple(Bar(b.valid_from, b.valid_to, b.recorded_from, b.recorded_to, fact.state) for b in fact.dated)
    return Lane(fact.name, text, fact.state, bars)


# ── drawn ─────────────────────────────────────────────────────────────────────────────────────────────


def svg(line: Timeline) -> str:
    """The picture, with its words for a screen reader."""
    if not line.lanes:
        return f"<div>{escape(line.title)}: nothing is known</div>"
    first, last = _span(line)
    high = TOP + LANE * len(line.lanes) + 34
    body = [*_axis(first, last, high), *(_lane(i, lane, first, last) for i, lane in enumerate(line.lanes))]
    body += [_mark(_x(at, first, last), high, f"asked as of {at:%Y-%m-%d}", "end", "4 3") for at in line.cuts]
    body.append(_mark(_x(line.now, first, last), high, "now", "start", "1 0"))
    says = escape(f"{line.title}: {'; '.join(map(_said, line.lanes))}", quote=True)
    return (
        f'<svg role="img" aria-label="{says}" viewBox="0 0 {WIDE} {high}" fill="currentColor" '
        f'style="width:100%;max-width:{WIDE}px;font:12px system-ui,sans-serif">{_HATCH}{"".join(body)}</svg>{_LEGEND}'
    )


_HATCH = (
    '<defs><pattern id="once" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" fill="#8882"/><rect width="2" height="6" fill="#888a"/></pattern></defs>'
)
_LEGEND = (
    '<div style="font-size:12px;opacity:.75">solid: believed now · hatched: believed once, no longer · '
    "an arrow: no known end</div>"
)


def _span(line: Timeline) -> tuple[datetime, datetime]:
    """From the earliest moment to a little after the latest one that has a date."""
    bars = [bar for lane in line.lanes for bar in lane.bars]
    edges = [edge for b in bars for edge in (b.valid_from, b.valid_to)]
    known = [edge for edge in edges if edge not in (BEGINNING, FOREVER)] + [line.now, *line.cuts]
    first, last = min(known), max(known)
    room = max((last - first) * MARGIN, timedelta(hours=1))
    return first - room, last + room


def _x(at: datetime, first: datetime, last: datetime) -> float:
    inside = min(max(at, first), last)
    return LEFT + (WIDE - LEFT - RIGHT) * ((inside - first) / (last - first))


def _axis(first: datetime, last: datetime, high: int) -> list[str]:
    found = []
    for i in range(TICKS):
        at = first + (last - first) * ((i + 0.5) / TICKS)
        x = _x(at, first, last)
        found.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{high - 30}" stroke="currentColor" opacity=".12"/>'
            f'<text x="{x:.1f}" y="{high - 16}" text-anchor="middle" font-size="11" opacity=".7">{at:%Y-%m-%d}</text>'
        )
    return found


def _lane(place: int, lane: Lane, first: datetime, last: datetime) -> str:
    y = TOP + LANE * place
    name = small(f"{lane.name} {lane.text}", LABEL)
    label = (
        f'<text x="0" y="{y + BAR - 3}">{escape(name)}<title>{escape(lane.text)}</title></text>'
        f'<text x="0" y="{y + BAR + 9}" font-size="10" opacity=".65">{escape(lane.state)}</text>'
    )
    return label + "".join(_bar(bar, y, first, last) for bar in sorted(lane.bars, key=lambda b: b.recorded_to))


def _bar(bar: Bar, y: int, first: datetime, last: datetime) -> str:
    """What is believed now covers what was."""
    x1, x2 = _x(bar.valid_from, first, last), _x(bar.valid_to, first, last)
    now = bar.recorded_to == FOREVER
    fill = COLOURS.get(bar.state, "#94a3b8") if now else "url(#once)"
    edge = "" if now else ' stroke="#888" stroke-dasharray="3 2"'
    arrow = f'<path d="M{x2:.1f} {y + 1}l8 {BAR / 2 - 1}l-8 {BAR / 2 - 1}z" fill="{fill}"/>'
    return (
        f'<g><title>{escape(_told(bar))}</title><rect x="{x1:.1f}" y="{y}" width="{max(x2 - x1, 2):.1f}" '
        f'height="{BAR}" rx="3" fill="{fill}"{edge}/>{arrow if bar.valid_to == FOREVER else ""}</g>'
    )


def _mark(x: float, high: int, name: str, anchor: str, dashes: str) -> str:
    """A moment across all lanes; `anchor` keeps two names apart."""
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{high - 30}" stroke="#e5484d" stroke-width="1.5" '
        f'stroke-dasharray="{dashes}"/><text x="{x + (3 if anchor == "start" else 0):.1f}" y="{TOP - 12}" '
        f'text-anchor="{anchor}" font-size="10">{escape(name)}</text>'
    )


def _told(bar: Bar) -> str:
    until = "on" if bar.valid_to == FOREVER else f"until {bar.valid_to:%Y-%m-%d}"
    believed = "and still" if bar.recorded_to == FOREVER else f"until {bar.recorded_to:%Y-%m-%d}"
    return f"true from {bar.valid_from:%Y-%m-%d} {until}; believed from {bar.recorded_from:%Y-%m-%d} {believed}"


def _said(lane: Lane) -> str:
    now = [bar for bar in lane.bars if bar.recorded_to == FOREVER]
    return f"{lane.name} {lane.text}, {', '.join(map(_told, now)) if now else lane.state}"
