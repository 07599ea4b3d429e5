"""The geometry: a bar is always full, an axis has round numbers, a course stays in its box."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from workbench.charts import axis, spark, stretches
from workbench.views.rows import Segment


class View:
    """As much of a window as a bar needs."""

    def __init__(self, segments: list[Segment], budget: int, reply: int):
        self.segments, self.budget, self.reply_reserve = tuple(segments), budget, reply
        self.used = sum(s.tokens for s in segments)


@given(some.lists(some.integers(1, 9_000), max_size=60), some.integers(0, 20_000), some.integers(0, 2_000))
def test_the_bar_is_always_full(sizes: list[int], budget: int, reply: int):
    segments = [Segment(f"p{i}", "resident", f"p{i}", n) for i, n in enumerate(sizes, 1)]
    bar = stretches(View(segments, budget, reply))
    assert not bar or sum(s.width for s in bar) == pytest.approx(100)
    assert sum(s.tokens for s in bar if s.section == "resident") == sum(sizes)


def test_a_thousand_slivers_are_one_stretch():
    segments = [Segment(f"p{i}", "resident", f"p{i}", 100) for i in range(1, 1001)]
    bar = stretches(View(segments, 1_000_000, 500))
    assert [s.section for s in bar] == ["resident", "free", "reply"]


@given(some.integers(1, 2_000_000))
def test_an_axis_is_short_and_ends_with_the_budget(budget: int):
    ticks = axis(budget)
    assert ticks[-1] == (1.0, budget)
    assert len(ticks) <= 11
    assert [at for at, _ in ticks] == sorted(at for at, _ in ticks)


@given(some.lists(some.floats(-1e9, 1e9), max_size=50), some.booleans())
def test_a_course_stays_in_its_box(values: list[float], bars: bool):
    heights = [float(y) for y in re.findall(r"[ V](-?[\d.]+)", spark(values, bars=bars)["line"])]
    assert all(0 <= y <= 30 for y in heights)
