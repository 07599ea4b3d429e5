from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadMessage
from memory.saidtime import holds_in, number, times_in

SHANGHAI, PACIFIC, BERLIN = (ZoneInfo(z) for z in ("Asia/Shanghai", "US/Pacific", "Europe/Berlin"))
MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=SHANGHAI)


def days(text, said_at=MONDAY, *, past=False):
    """The first local day of each time in the text, and the day after its last."""
    zone = said_at.tzinfo
    return [
        tuple(at.astimezone(zone).strftime("%Y-%m-%d") for at in (t.begins, t.ends))
        for t in times_in(text, said_at, past=past)
    ]


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("yesterday", "2026-03-01", "2026-03-02"),
        ("the day before yesterday", "2026-02-28", "2026-03-01"),
        ("tomorrow", "2026-03-03", "2026-03-04"),
        ("two weeks ago", "2026-02-16", "2026-02-17"),
        ("last week", "2026-02-23", "2026-03-02"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("three years ago", "2023-03-01", "2023-04-01"),
        ("next month", "2026-04-01", "2026-05-01"),
        ("since March", "2026-03-01", "2026-04-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("on 18 April", "2026-04-18", "2026-04-19"),
        ("May 5th", "2026-05-05", "2026-05-06"),
        ("on Dec 24, 2024", "2024-12-24", "2024-12-25"),
        ("2026-04-18", "2026-04-18", "2026-04-19"),
        ("since 2019", "2019-01-01", "2020-01-01"),
        ("on Friday", "2026-03-06", "2026-03-07"),
        ("next Monday", "2026-03-09", "2026-03-10"),
        ("last Friday", "2026-02-27", "2026-02-28"),
        ("昨天", "2026-03-01", "2026-03-02"),
        ("大前天", "2026-02-27", "2026-02-28"),
        ("明天", "2026-03-03", "2026-03-04"),
        ("去年", "2025-01-01", "2026-01-01"),
        ("去年十月", "2025-10-01", "2025-11-01"),
        ("上周三", "2026-02-25", "2026-02-26"),
        ("下个月", "2026-04-01", "2026-05-01"),
        ("三天前", "2026-02-27", "2026-02-28"),
        ("半年前", "2025-09-01", "2025-10-01"),
        ("三月十五日", "2026-03-15", "2026-03-16"),
        ("4月２８号", "2026-04-28", "2026-04-29"),
        ("2024年5月", "2024-05-01", "2024-06-01"),
        ("周五", "2026-03-06", "2026-03-07"),
        ("28号", "2026-02-28", "2026-03-01"),
    ],
)
def test_words_name_days_of_the_speaker(text, first, after):
    assert days(text) == [(first, after)]


NO_DAY = ["I may go", "a march of 2026 people", "for two days", "31 February", "二月三十一日", "", "8点"]


@pytest.mark.parametrize("text", NO_DAY)
def test_what_names_no_day_is_none(text):
    assert days(text) == []


def test_a_weekday_of_the_past_is_the_last_one():
    assert days("on Friday I signed", past=True) == [("2026-02-27", "2026-02-28")]
    assert days("周五签了合同", past=True) == [("2026-02-27", "2026-02-28")]


@pytest.mark.parametrize(
    ("zone", "begins"),
    [(SHANGHAI, "2026-02-28T16:00"), (PACIFIC, "2026-03-01T08:00"), (ZoneInfo("UTC"), "2026-03-01T00:00")],
)
def test_yesterday_begins_at_midnight_where_the_speaker_is(zone, begins):
    told = times_in("yesterday", datetime(2026, 3, 2, 9, 0, tzinfo=zone))[0]
    assert told.begins == datetime.fromisoformat(f"{begins}+00:00")


def test_the_day_on_which_the_clocks_change_has_23_hours():
    told = times_in("yesterday", datetime(2026, 3, 30, 9, 0, tzinfo=BERLIN))[0]
    assert (told.ends - told.begins).total_seconds() == 23 * 3600


def test_late_in_the_evening_it_is_already_tomorrow_elsewhere():
    late = datetime(2026, 3, 2, 23, 30, tzinfo=PACIFIC)
    assert days("today", late) == [("2026-03-02", "2026-03-03")]
    assert days("today", late.astimezone(SHANGHAI)) == [("2026-03-03", "2026-03-04")]


@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        ("since March", "2026-03-01", None),
        ("from 1 May until 3 June", "2026-05-01", "2026-06-04"),
        ("until 14 August", None, "2026-08-15"),
        ("before 1 May", None, "2026-05-01"),
        ("从三月起", "2026-03-01", None),
        ("从5月1日到6月3日", "2026-05-01", "2026-06-04"),
        ("5月1日之前", None, "2026-05-01"),
        ("nothing of the kind", None, None),
    ],
)
def test_words_bound_when_something_holds(text, begins, ends):
    told = holds_in(text, datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    assert tuple(at and at.date().isoformat() for at in told) == (begins, ends)


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(BadMessage, match="no zone"):
        times_in("yesterday", datetime(2026, 3, 2))  # noqa: DTZ001 - what is refused


@given(st.integers(1, 99))
def test_chinese_numbers_read_back(n):
    ones = "零一二三四五六七八九"
    word = ones[n] if n < 10 else ("" if n < 20 else ones[n // 10]) + "十" + (ones[n % 10] if n % 10 else "")
    assert number(word) == number(str(n)) == n


AGES = (datetime(1950, 1, 1), datetime(2150, 1, 1))  # noqa: DTZ001 - hypothesis adds the zones


@given(st.text(max_size=60), st.datetimes(*AGES, timezones=st.timezones()))
def test_any_words_at_any_time_are_read_without_an_error(text, said_at):
    for told in times_in(text, said_at):
        assert told.begins < told.ends
        assert 0 <= told.start < told.end <= len(text)
