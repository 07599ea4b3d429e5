"""The geometry of what is drawn: stretches of the token bar, its axis, the course of a figure. Knows no page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor

from workbench.views.rows import Segment
from workbench.views.window import WindowView

WIDTH, HEIGHT = 100.0, 30.0  # the box that a course is drawn in
FINEST = 0.25  # per cent of the bar: neighbours narrower than this are drawn as one
STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of the bar; `page` 0 where it is no single page."""

    id: str
    section: str
    page: int
    tokens: int
    share: float  # of the budget, 0..1
    width: float  # per cent of the bar, which is wider than the budget when more is used


def stretches(view: WindowView) -> list[Stretch]:
    """The segments in order, then what is free, then what is kept for the reply; widths add up to 100."""
    whole = max(view.budget, view.used + view.reply_reserve, 1)
    budget = max(view.budget, 1)
    found = [
        Stretch(part.id, part.section, _page(part), part.tokens, part.tokens / budget, 100 * part.tokens / whole)
        for part in _merged(view.segments, whole)
    ]
    free = max(0, whole - sum(part.tokens for part in view.segments) - view.reply_reserve)
    for name, tokens in (("free", free), ("reply", view.reply_reserve)):
        if tokens:
            found.append(Stretch(name, name, 0, tokens, tokens / budget, 100 * tokens / whole))
    return found


def _page(part: Segment) -> int:
    return int(part.id[1:]) if part.id[:1] == "p" and part.id[1:].isdigit() else 0


def _merged(segments: Sequence[Segment], whole: int) -> list[Segment]:
    """Runs of slivers become one stretch: a thousand pages in a large window stay one readable bar."""
    merged: list[Segment] = []
    for (section, is_thin), group in groupby(segments, key=lambda s: (s.section, 100 * s.tokens / whole < FINEST)):
        run = list(group)
        if is_thin and len(run) > 1:
            label = f"{run[0].label}-{run[-1].label}"
            merged.append(Segment(f"{section}:{label}", section, label, sum(s.tokens for s in run)))
        else:
            merged += run
    return merged


def axis(budget: int, most: int = 9) -> list[tuple[float, int]]:
    """Round token counts and where they stand, 0..1; the budget itself is the last.

    >>> axis(4000, most=5)
    [(0.0, 0), (0.25, 1000), (0.5, 2000), (0.75, 3000), (1.0, 4000)]
    """
    if budget <= 0:
        return []
    step = _round_step(budget / (most - 1))
    ticks = [n for n in range(0, budget, step) if budget - n > 0.6 * step]
    return [(n / budget, n) for n in ticks] + [(1.0, budget)]


def _round_step(least: float) -> int:
    power = 1
    while power * 10 < least:
        power *= 10
    return max(1, int(next(power * step for step in STEPS if power * step >= least)))


@dataclass(frozen=True, slots=True)
class Plot:
    """Points in a box of 100 by 100, from the top left; ticks with where they stand, 0..100."""

    dots: tuple[tuple[float, float], ...]
    across: tuple[tuple[float, int], ...]  # tokens
    up: tuple[tuple[float, float], ...]  # a ratio


def scatter(points: Sequence[tuple[float, float]]) -> Plot:
    """Tokens to the right from 0 to a round number, ratios upwards: from the tenth below the least to the tenth above
    the most.

    >>> scatter([(1000, 0.55), (2000, 0.75)]).dots
    ((50.0, 83.33), (100.0, 16.67))
    >>> scatter([(1000, 0.55), (10_063, 0.75)]).across[-1]
    (100.0, 12500)
    """
    if not points:
        return Plot((), (), ())
    most = max(1, ceil(max(x for x, _ in points)))
    step = _round_step(most / 5)
    most = step * ceil(most / step)
    low, high = floor(10 * min(y for _, y in points) + 1e-9), ceil(10 * max(y for _, y in points) - 1e-9)
    low = min(low, 9)
    high = max(high, low + 1)

    def height(tenths: float) -> float:
        return round(100 - 100 * (tenths - low) / (high - low), 2)

    dots = tuple((round(100 * x / most, 2), height(10 * y)) for x, y in points)
    across = tuple((round(100 * share, 2), n) for share, n in axis(most, most=6))
    return Plot(dots, across, tuple((height(n), n / 10) for n in range(low, high + 1)))


def spark(values: Sequence[float], *, bars: bool = False) -> dict[str, str]:
    """SVG paths of a course in a box of 100 by 30: a line with the area below it, or bars."""
    if not values:
        return {"line": "", "area": ""}
    low, high = min(0.0, *values) if bars else min(values), max(values)
    span = (high - low) or 1.0

    def y(value: float) -> float:
        return HEIGHT - 3 - (HEIGHT - 6) * (value - low) / span

    if bars:
        return {"line": _bars([HEIGHT - 1 - (HEIGHT - 4) * (v - low) / span for v in values]), "area": ""}
    step = WIDTH / max(1, len(values) - 1)
    heights = [y(value) if high > low else HEIGHT / 2 for value in values]
    if len(heights) == 1:
        heights *= 2
        step = WIDTH
    line = "M" + "L".join(f"{i * step:.2f} {h:.2f}" for i, h in enumerate(heights))
    return {"line": line, "area": f"{line}V{HEIGHT:g}H0Z"}


def _bars(tops: Sequence[float]) -> str:
    step = WIDTH / len(tops)
    width = min(step * 0.6, 3.0)
    return "".join(
        f"M{i * step + (step - width) / 2:.2f} {HEIGHT:g}V{top:.2f}h{width:.2f}V{HEIGHT:g}Z"
        for i, top in enumerate(tops)
        if top < HEIGHT - 1.5
    )
