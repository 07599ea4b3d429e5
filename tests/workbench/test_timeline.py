"""Lanes of facts in two times: what is believed now, what was, and never a script."""

import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest

from memory.facts import FOREVER
from memory.longterm import LongTerm
from workbench.timeline import COLOURS, Bar, Lane, Timeline, svg, timeline

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def memory(tmp_path):
    now = [START]
    opened = LongTerm.open(tmp_path / "store", user="ana", conversation="trip", clock=lambda: now[0])
    opened.write("My budget is 5000 euros.")
    now[0] += 10 * DAY
    opened.write("My budget is 8000 euros now.")
    yield opened
    opened.close()


def drawn(line):
    return ET.fromstring(re.search(r"<svg.*</svg>", svg(line), re.S)[0])  # noqa: S314 - our own picture


def test_every_value_is_a_lane_in_the_order_of_when_it_held(memory):
    line = timeline(memory, "user", "budget")
    assert [lane.state for lane in line.lanes] == ["superseded", "active"]
    assert [lane.text.split()[0] for lane in line.lanes] == ["5000", "8000"]
    assert [bar.recorded_to == FOREVER for bar in line.lanes[0].bars] == [False, True]


def test_what_is_believed_now_is_solid_and_what_was_is_hatched(memory):
    fills = [rect.get("fill") for rect in drawn(timeline(memory, "user", "budget")).iter("rect") if rect.get("rx")]
    assert fills == ["url(#once)", COLOURS["superseded"], COLOURS["active"]]


def test_bars_lie_inside_and_follow_time(memory):
    [old, new] = timeline(memory, "user", "budget").lanes
    picture = drawn(timeline(memory, "user", "budget", cuts=[START + DAY]))
    rects = [r for r in picture.iter("rect") if r.get("rx")]
    starts = [float(r.get("x")) for r in rects]
    assert starts == sorted(starts)
    assert all(float(r.get("x")) + float(r.get("width")) <= 760 for r in rects)
    assert old.bars[-1].valid_to == new.bars[0].valid_from
    assert "asked as of 2026-03-03" in "".join(picture.itertext())


def test_words_are_escaped_and_nothing_runs():
    evil = '</text><script>alert(1)</script>"&'
    bar = Bar(START, FOREVER, START, FOREVER, "active")
    told = Timeline(evil, (Lane("f1", evil, "active", (bar,)),), START)._repr_html_()
    assert "<script" not in told
    assert drawn(Timeline(evil, (Lane("f1", evil, "active", (bar,)),), START)).get("aria-label").startswith(evil)


def test_nothing_known_says_so(memory):
    assert "nothing is known" in svg(timeline(memory, "user", "shoe size"))
    assert repr(timeline(memory, "user", "budget")) == "<Timeline of user budget: 2 facts>"


def test_a_single_moment_is_drawn_too():
    bar = Bar(START, START, START, FOREVER, "active")
    assert drawn(Timeline("x", (Lane("f1", "x", "active", (bar,)),), START)) is not None
