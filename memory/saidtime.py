"""Times in words, English and Chinese: "since March", "two weeks ago", 明天, 上周三, as intervals in UTC.

A day is the speaker's: it begins at midnight in the zone of `said_at` and is told as an instant, so that "yesterday"
is the same day whatever the machine's zone. An offset alone ("+02:00") knows no change of the clocks; a zone does.
A week begins on Monday. A date without a year is the nearest; a weekday without more is the next one, or the last
where the clause tells of the past. It reads no recurring times ("every Thursday"), no hours of the day, no festivals.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from memory.errors import BadMessage

MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_COUNTS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_DIGITS = dict(zip("〇零一二三四五六七八九", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9), strict=True)) | {"两": 2, "俩": 2}
_FULL_WIDTH = str.maketrans("０１２３４５６７８９", "0123456789")  # as long as before: spans stay


@dataclass(frozen=True, slots=True)
class SaidTime:
    """Words `[start, end)` of a text that name a time, and the time `[begins, ends)` in UTC."""

    start: int
    end: int
    begins: datetime
    ends: datetime
    bound: str = ""  # "from": it begins there; "until", "before": it ends with it, before it; "": it is in there


_ANY = re.compile(
    r"\d|day\b|days?\b|night|tomorrow|morning|noon\b|evening|week|month|year|[天日年月周昨今明晚早]|星期|礼拜"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
_MONTH = r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"  # noqa: E501 - one table of names
_WEEKDAY = "|".join(DAYS)
_ENGLISH = re.compile(
    r"\b(?:(?P<bound>since|from|starting|as of|until|till|through|by|before)\s+(?:about |around )?)?"
    r"(?:(?P<on>on|in|at)\s+)?(?:the )?(?:"
    r"(?P<iso>(?:19|20)\d\d-\d\d?-\d\d?)\b"
    rf"|(?:(?:{_WEEKDAY}),? )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH.format('month1')}"
    r"(?:,? (?P<year1>(?:19|20)\d\d))?\b"
    rf"|{_MONTH.format('month2')} (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? (?P<year2>(?:19|20)\d\d))?"
    rf"|(?:(?P<which3>last|this|next) )?{_MONTH.format('month3')}(?: (?P<year3>(?:19|20)\d\d))?"
    r"|(?P<plain>the day before yesterday|day before yesterday|the day after tomorrow|day after tomorrow"
    r"|yesterday|today|tonight|tomorrow|last night|this (?:morning|afternoon|evening))\b"
    rf"|(?:(?P<which>last|past|this|next) )(?P<unit>week|month|year|{_WEEKDAY})\b"
    rf"|(?P<weekday>{_WEEKDAY})s?\b"
    rf"|(?P<ago>\d{{1,3}}|an?|{'|'.join(_COUNTS)}|a couple of) (?P<unit2>day|week|month|year)s? ago\b"
    rf"|(?P<ahead>\d{{1,3}}|an?|{'|'.join(_COUNTS)}|a couple of) (?P<unit3>day|week|month|year)s?(?: from now)?\b"
    r"|(?P<year>(?:19|20)\d\d)\b(?! ?(?:%|euros?|eur|dollars?|usd|yuan|people|km|kg|kcal|steps)))",
    re.IGNORECASE,
)
_NUMBER = r"\d{{1,{0}}}|[一二三四五六七八九十两]{{1,3}}"
_CHINESE = re.compile(
    r"(?P<bound>从|自从?|直到|到|截至)?(?:"
    r"(?:(?P<year>(?:19|20)\d\d|[一二]{1}[〇零九][〇零一二三四五六七八九]{2})年)(?:(?P<month1>"
    + _NUMBER.format(2)
    + r")月)?(?:(?P<day1>"
    + _NUMBER.format(2)
    + r")[日号])?"
    r"|(?:(?P<year2>今年|去年|前年|明年))?(?P<month2>"
    + _NUMBER.format(2)
    + r")月(?:份|(?=起|开始|以来|之前|以前)|(?P<day2>"
    + _NUMBER.format(2)
    + r")[日号])"
    r"|(?P<year3>今年|去年|前年|明年)(?P<month3>" + _NUMBER.format(2) + r")月"
    r"|(?P<plain>大前天|大后天|前天|昨天|昨晚|昨日|今天|今早|今晚|今日|明天|明早|明晚|明日|后天)"
    r"|(?P<which>上上|下下|上|这|本|下)(?:个)?(?P<unit>周|星期|礼拜|月)(?P<weekday>[一二三四五六日天1-7](?!个|[十百年]))?"
    r"|(?P<years>今年|去年|前年|明年|后年)"
    r"|(?:周|星期|礼拜)(?P<weekday2>[一二三四五六日天])"
    r"|(?P<ago>" + _NUMBER.format(3) + r"|半)(?:个)?(?P<unit2>天|周|星期|礼拜|月|年)(?P<way>之?前|以前|之?后|以后)"
    r"|(?<![\d月])(?P<day3>\d{1,2})[日号](?!楼|线|店|院|门|机|桌|房))"
    r"(?P<after>起|开始|以来|之前|以前|为止)?"
)


def times_in(text: str, said_at: datetime, *, past: bool = False) -> list[SaidTime]:
    """Every time that `text` names, in order; `past`: a weekday without more is the last one.

    Raises BadMessage for a `said_at` without a zone, for then nobody knows which day it was.
    """
    if said_at.tzinfo is None:
        raise BadMessage(f"said_at {said_at.isoformat()} has no zone; give an aware time, such as {said_at}+00:00")
    plain = text.translate(_FULL_WIDTH)
    if not _ANY.search(plain):
        return []
    found = [each for form, read in _READERS for m in form.finditer(plain) if (each := read(m, said_at, past))]
    return sorted(found, key=lambda each: each.start)


def holds_in(text: str, said_at: datetime, *, past: bool = False) -> tuple[datetime | None, datetime | None]:
    """From when until when, as `text` bounds it: "since March", "from 1 May until 3 June", 从三月起; None: not said.

    >>> holds_in("I have lived here since 1 March", datetime.fromisoformat("2026-03-02T09:00:00+08:00"))[0].isoformat()
    '2026-02-28T16:00:00+00:00'
    """
    begins: datetime | None = None
    ends: datetime | None = None
    for each in times_in(text, said_at, past=past):
        if each.bound in ("until", "before"):
            ends = ends or (each.ends if each.bound == "until" else each.begins)
        elif each.bound == "from" or not begins:
            begins = each.begins
    return (begins, ends) if begins is None or ends is None or begins < ends else (begins, None)


RECENT = timedelta(days=62)  # "last month" may begin so long ago
_PRESENT = re.compile(
    r"\b(?:now|currently|since|still|just|recently|ever|have|has|am|is|are)\b|['’](?:m|s|ve|re)\b"
    r"|现在|目前|一直|以来|起|开始|还|刚|最近"
)
_OVER = re.compile(r"\b(?:was|were|had|used to|back then)\b|曾|那时|当时|以前")


def holds_still(text: str, begins: datetime, said_at: datetime) -> bool:
    """Whether what began then holds as it is said: by its tense, or because it was lately.

    >>> at = datetime.fromisoformat("2026-03-02T09:00:00+08:00")
    >>> told = "moved last week", "moved in 2019", "have been here since 2019"
    >>> [holds_still(each, holds_in(each, at)[0], at) for each in told]
    [True, False, True]
    """
    return not _OVER.search(text) and (begins > said_at - RECENT or _PRESENT.search(text) is not None)


# ── English ───────────────────────────────────────────────────────────────────────────────────────────

_PLAIN = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0,
    "tonight": 0, "tomorrow": 1, "the day after tomorrow": 2, "day after tomorrow": 2,
    "this morning": 0, "this afternoon": 0, "this evening": 0,
    "大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "昨日": -1, "今天": 0, "今早": 0, "今晚": 0, "今日": 0,
    "明天": 1, "明早": 1, "明晚": 1, "明日": 1, "后天": 2, "大后天": 3,
}  # fmt: skip
_BOUNDS = {
    "since": "from",
    "from": "from",
    "starting": "from",
    "as of": "from",
    "从": "from",
    "自": "from",
    "自从": "from",
}
_BOUNDS |= dict.fromkeys(("until", "till", "through", "by", "到", "直到", "截至"), "until") | {"before": "before"}
_AFTER = {"起": "from", "开始": "from", "以来": "from", "之前": "before", "以前": "before", "为止": "until"}


def _english(m: re.Match[str], said_at: datetime, past: bool) -> SaidTime | None:
    today = said_at.date()
    bound = _BOUNDS.get((m["bound"] or "").lower(), "")
    days = _english_days(m, today, past and bound != "until", bool(m["bound"] or m["on"]))
    return _told(m, days, bound, said_at)


def _english_days(m: re.Match[str], today: date, past: bool, led: bool) -> tuple[date, date] | None:
    """First day, and the day after the last; `led`: by "in", "since", without which "May" and "2026" are no times."""
    if m["iso"]:
        return _day(*map(int, m["iso"].split("-")))
    if m["month1"]:
        return _dated(today, m["year1"], _month(m["month1"]), int(m["day"]))
    if m["month2"]:
        return _dated(today, m["year2"], _month(m["month2"]), int(m["day2"]))
    if m["month3"]:
        sure = led or m["year3"] or m["which3"]
        return (
            _month_of(today, m["year3"], _month(m["month3"]), m["which3"] or ("last" if past else "")) if sure else None
        )
    if m["plain"]:
        return _away(today, _PLAIN[m["plain"].lower()])
    if m["unit"]:
        return _unit_of(today, m["which"].lower(), m["unit"].lower())
    if m["weekday"]:
        return _weekday(today, DAYS.index(m["weekday"].lower()), "last" if past else "")
    if m["ago"]:
        return _counted(today, -_count(m["ago"]), m["unit2"].lower())
    if m["ahead"]:
        ahead = (m["on"] or "").lower() == "in" or "from now" in m[0]
        return _counted(today, _count(m["ahead"]), m["unit3"].lower()) if ahead and not m["bound"] else None
    return (date(int(m["year"]), 1, 1), date(int(m["year"]) + 1, 1, 1)) if led else None


def _month(word: str) -> int:
    return next(n for n, name in enumerate(MONTHS, 1) if name.startswith(word.lower()[:3]))


def _count(word: str) -> int:
    word = word.lower()
    if word.isdecimal():
        return int(word)
    return {"a": 1, "an": 1, "a couple of": 2}.get(word) or _COUNTS.index(word)


# ── Chinese ───────────────────────────────────────────────────────────────────────────────────────────

_YEARS = {"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
_WHICH = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_UNITS = {"天": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}


def _chinese(m: re.Match[str], said_at: datetime, past: bool) -> SaidTime | None:
    bound = _BOUNDS.get(m["bound"] or "", "") or _AFTER.get(m["after"] or "", "")
    days = _chinese_days(m, said_at.date(), past)
    return _told(m, days, bound, said_at)


def _chinese_days(m: re.Match[str], today: date, past: bool) -> tuple[date, date] | None:
    if m["year"]:
        year = m["year"] if m["year"].isdecimal() and m["year"].isascii() else str(_digits(m["year"]))
        if not m["month1"]:
            return date(int(year), 1, 1), date(int(year) + 1, 1, 1)
        return _in_year(int(year), m["month1"], m["day1"])
    if m["month2"] or m["month3"]:
        return _chinese_month(m, today)
    if m["plain"]:
        return _away(today, _PLAIN[m["plain"]])
    if m["unit"]:
        return _chinese_unit(m, today)
    if m["years"]:
        year = today.year + _YEARS[m["years"]]
        return date(year, 1, 1), date(year + 1, 1, 1)
    if m["weekday2"]:
        return _weekday(today, _chinese_weekday(m["weekday2"]), "last" if past else "")
    if m["ago"]:
        return _chinese_counted(m, today)
    return _day_of_month(today, int(m["day3"]))


def _chinese_month(m: re.Match[str], today: date) -> tuple[date, date] | None:
    spoken, month, day = m["year2"] or m["year3"], m["month2"] or m["month3"], m["day2"]
    if spoken:
        return _in_year(today.year + _YEARS[spoken], month, day)
    return _dated(today, None, number(month), number(day)) if day else _month_of(today, None, number(month), "")


def _chinese_unit(m: re.Match[str], today: date) -> tuple[date, date]:
    steps = _WHICH[m["which"]]
    if _UNITS[m["unit"]] == "month":
        first = _months_on(today.replace(day=1), steps)
        return first, _months_on(first, 1)
    monday = today - timedelta(today.weekday()) + timedelta(weeks=steps)
    if m["weekday"]:
        return _away(monday, _chinese_weekday(m["weekday"]))
    return monday, monday + timedelta(7)


def _chinese_counted(m: re.Match[str], today: date) -> tuple[date, date] | None:
    sign = -1 if "前" in m["way"] else 1
    if m["ago"] == "半":
        return _counted(today, 6 * sign, "month") if m["unit2"] == "年" else None
    return _counted(today, number(m["ago"]) * sign, _UNITS[m["unit2"]])


def _chinese_weekday(word: str) -> int:
    return 6 if word in "日天7" else number(word) - 1


def number(word: str) -> int:
    """A number up to 99 in digits or Chinese.

    >>> number("12"), number("十二"), number("二十三"), number("两")
    (12, 12, 23, 2)
    """
    if word.isascii():
        return int(word)
    tens, ten, ones = word.rpartition("十")
    if not ten:
        return _digits(word)
    return 10 * (_digits(tens) if tens else 1) + (_digits(ones) if ones else 0)


def _digits(word: str) -> int:
    return int("".join(str(_DIGITS[c]) for c in word if c in _DIGITS) or "0")


# ── days ──────────────────────────────────────────────────────────────────────────────────────────────


def _day(year: int, month: int, day: int) -> tuple[date, date] | None:
    try:
        return _away(date(year, month, day), 0)
    except (ValueError, OverflowError):  # 31 February
        return None


def _away(today: date, days: int) -> tuple[date, date]:
    return today + timedelta(days), today + timedelta(days + 1)


def _in_year(year: int, month: str, day: str | None) -> tuple[date, date] | None:
    if not 1 <= number(month) <= 12:
        return None
    if day:
        return _day(year, number(month), number(day))
    return date(year, number(month), 1), _months_on(date(year, number(month), 1), 1)


def _dated(today: date, year: str | None, month: int, day: int) -> tuple[date, date] | None:
    """That date of the year, or the nearest one; 29 February is looked for in three years only."""
    if year:
        return _day(int(year), month, day)
    around = [found for y in (today.year - 1, today.year, today.year + 1) if (found := _day(y, month, day))]
    return min(around, key=lambda found: abs(found[0] - today), default=None)


def _month_of(today: date, year: str | None, month: int, which: str) -> tuple[date, date] | None:
    if not 1 <= month <= 12:
        return None
    if year:
        first = date(int(year), month, 1)
    else:
        firsts = [date(today.year + n, month, 1) for n in (-1, 0, 1)]
        first = min(firsts, key=lambda each: abs(each - today))
        if which.lower() == "last":
            first = max(each for each in firsts if each <= today)
        elif which.lower() == "next":
            first = min((each for each in firsts if each > today), default=firsts[-1])
    return first, _months_on(first, 1)


def _unit_of(today: date, which: str, unit: str) -> tuple[date, date]:
    step = {"last": -1, "past": -1, "this": 0, "next": 1}[which]
    if unit == "week":
        monday = today - timedelta(today.weekday()) + timedelta(weeks=step)
        return monday, monday + timedelta(7)
    if unit == "month":
        first = _months_on(today.replace(day=1), step)
        return first, _months_on(first, 1)
    if unit == "year":
        return date(today.year + step, 1, 1), date(today.year + step + 1, 1, 1)
    return _weekday(today, DAYS.index(unit), which)


def _weekday(today: date, weekday: int, which: str) -> tuple[date, date]:
    """Last: before today. Next: of the coming week. Else the next one, today included."""
    if which in ("last", "past"):
        return _away(today, -((today.weekday() - weekday - 1) % 7 + 1))
    if which == "next":
        return _away(today, 7 - today.weekday() + weekday)
    return _away(today, (weekday - today.weekday()) % 7)


def _counted(today: date, n: int, unit: str) -> tuple[date, date] | None:
    """A day or a week: that day; months and years: that month, for nobody means the day."""
    if unit in ("day", "week"):
        return _away(today, n * (7 if unit == "week" else 1)) if abs(n) < 10_000 else None
    months = n * (12 if unit == "year" else 1)
    if not 1 < today.year + months // 12 < 9998:
        return None
    first = _months_on(today.replace(day=1), months)
    return first, _months_on(first, 1)


def _day_of_month(today: date, day: int) -> tuple[date, date] | None:
    """28号: of the month in which it is nearest."""
    months = [_months_on(today.replace(day=1), n) for n in (-1, 0, 1)]
    around = [found for m in months if (found := _day(m.year, m.month, day))]
    return min(around, key=lambda found: abs(found[0] - today), default=None)


def _months_on(first: date, months: int) -> date:
    years, month = divmod(first.month - 1 + months, 12)
    return date(first.year + years, month + 1, 1)


def _told(m: re.Match[str], days: tuple[date, date] | None, bound: str, said_at: datetime) -> SaidTime | None:
    if days is None:
        return None
    begins, ends = (datetime.combine(day, time(), said_at.tzinfo).astimezone(UTC) for day in days)
    return SaidTime(m.start(), m.end(), begins, ends, bound)


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime, bool], SaidTime | None]], ...] = (
    (_ENGLISH, _english),
    (_CHINESE, _chinese),
)
