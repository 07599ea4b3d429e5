import re

import pytest

from memory.look import totals
from memory.show import bar, small, table
from tests.memory.conftest import Model, fill_up

EVIL = '<script src="https://evil.example/x.js">alert(1)</script><img src=x onerror=alert(2)>&amp;"\''


@pytest.fixture
def engine(opened):
    return opened(Model(EVIL), conversation="<b>trip</b>", title=EVIL)


def shown(thing) -> str:
    return thing._repr_html_()


def assert_harmless(html: str) -> None:
    """Words show as words: no element, attribute or address of theirs."""
    assert "<script" not in html.lower()
    assert "<img" not in html.lower()
    assert not re.search(r"<[^>]*\son\w+=", html)
    assert not re.search(r"<[^>]*(?:https?:)?//", html)
    assert not re.search(r"\b(?:src|href)\s*=", re.sub(r"&lt;.*?&gt;", "", html))
    assert html.count("<div") == html.count("</div>")
    assert html.count("<table") == html.count("</table>")


def test_what_people_and_models_say_is_never_markup(engine):
    reply = engine.say(EVIL)
    fill_up(engine)
    engine.recall(1)
    for thing in (reply, engine, engine.window):
        assert_harmless(shown(thing))
    assert "&lt;script" in shown(reply)
    assert "&lt;script" in shown(engine.window)  # the title
    assert "&lt;b&gt;trip" in shown(engine)


def test_an_engine_before_its_first_message_shows_itself(engine):
    assert_harmless(shown(engine))
    assert engine.window.to_df().empty
    assert repr(engine.window).startswith("<Window at turn 0: ")


def test_the_segments_add_up_to_what_is_used(engine):
    fill_up(engine)
    engine.recall(1)
    window = engine.window
    sections = totals(window.segments)
    assert abs(sum(sections.values()) - window.used) <= len(window.segments)
    assert sections["recalled"] > 0
    assert {s.id for s in window.segments} >= {"system", "stubs", "p1"}


def test_pages_and_stubs_name_everything_that_was_said(engine):
    fill_up(engine, 14)
    window = engine.window
    resident = {row.number for row in window.pages}
    named = {n for stub in window.stubs for n in range(stub.first, stub.last + 1)}
    assert resident | named >= set(engine.state.pages)
    assert window.gone == len(engine.state.pages) - len(resident)
    assert {row.state for row in window.pages} <= {"growing", "pinned", "resident", "guest"}


def test_a_page_says_what_it_is(engine):
    fill_up(engine)
    engine.mark(1)
    engine.recall(1)
    row = next(row for row in engine.window.pages if row.number == 1)
    assert (row.name, row.first, row.last, row.state, row.marked) == ("p1", 1, 4, "guest", True)
    assert row.faults == 1
    assert 0 <= row.heat <= 1
    assert row.stub.startswith("[p1")


def test_long_tables_say_what_they_leave_out():
    html = table(["n"], [[n] for n in range(50)])
    assert html.count("<tr>") == 31
    assert "… and 20 more" in html


def test_a_bar_of_no_budget_divides_by_nothing():
    assert "width:100.000%" in bar([("a<b", 1, "system")], 0, {})
    assert "a&lt;b" in bar([("a<b", 1, "system")], 0, {})


def test_small_is_one_line_of_at_most_so_many_characters():
    assert small("one\n two   three", 50) == "one two three"
    assert small("x" * 60, 10) == "x" * 9 + "…"
