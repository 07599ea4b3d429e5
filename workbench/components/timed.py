"""Days in the reader's zone and in the address, and in words what an act would do to facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as clock_time
from typing import Any
from urllib.parse import urlencode

from workbench.views.story import Effect, Quote
from workbench.words import Words, visible

DAYS = 3  # changes on no more days than that are told apart by the second
STOPS = 400  # on a slider; more are thinned out evenly
TICK = timedelta(microseconds=1)
Link = Callable[..., Mapping[str, str]]


def day(at: datetime | None, say: Words, none: str = "–") -> str:
    if at is None:
        return none
    return day_of(at.astimezone(say.zone), say)


def day_of(when: date, say: Words) -> str:
    """The day as the reader writes it, in whatever zone it is given."""
    return say("timeline.day", year=when.year, month=say(f"month.{when.month}"), day=when.day)


def millis(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp() * 1000)


# ── moments in the address ────────────────────────────────────────────────────────────────────────────


def moment_of(text: str, zone: tzinfo) -> datetime:
    """The end of a day of the reader's, or of a second. Raises ValueError.

    >>> moment_of("2026-04-14", UTC).isoformat(), moment_of("2026-04-14T10:21:33", UTC).isoformat()
    ('2026-04-14T23:59:59.999999+00:00', '2026-04-14T10:21:33.999999+00:00')
    """
    if len(text) == len("2026-04-14"):
        after = date.fromisoformat(text) + timedelta(days=1)
        return (datetime.combine(after, clock_time(), zone)).astimezone(UTC) - TICK
    found = datetime.fromisoformat(text)
    end = found.replace(microsecond=0, tzinfo=found.tzinfo or zone)
    return end.astimezone(UTC) + timedelta(seconds=1) - TICK


def stops(moments: Sequence[datetime], say: Words) -> list[tuple[str, str]]:
    """Where a slider over these moments stands still: as in the address, and in words."""
    local = [at.astimezone(say.zone) for at in moments]
    days = list(dict.fromkeys(at.date() for at in local))
    if len(days) > DAYS:
        first = [datetime.combine(each, clock_time(12), say.zone) for each in days]
        return _thinned([(at.date().isoformat(), day(at, say)) for at in first])
    seconds = dict.fromkeys(at.replace(microsecond=0, tzinfo=None) for at in local)
    told = [at.replace(tzinfo=say.zone) for at in seconds]
    return _thinned([(at.replace(tzinfo=None).isoformat(), f"{day(at, say)}, {say.clock(at)}") for at in told])


def _thinned(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return found if len(found) <= STOPS else [found[i * (len(found) - 1) // (STOPS - 1)] for i in range(STOPS)]


# ── in words ──────────────────────────────────────────────────────────────────────────────────────────


def effects(found: Iterable[Effect], say: Words) -> list[str]:
    """One sentence a fact."""
    return [
        say(
            f"timeline.effect.{e.kind}", name=e.name, text=visible(" ".join(e.text.split()), 120),
            at=day(e.at, say, say("timeline.always")),
        )
        for e in found
    ]  # fmt: skip


def quote(found: Quote, index: int, say: Words, link: Link) -> dict[str, Any]:
    """A quotation with the address of its turn."""
    query = link(conv=found.conversation, turn=found.turn, page=None) if found.turn else {}
    where = say("timeline.turn", turn=found.turn) if found.turn else say("timeline.no_turn")
    return {
        "key": f"{index}.{found.conversation}.{found.turn}",
        "parts": [visible(part, 600) for part in (found.before, found.words, found.after)],
        "gone": "" if found.words else say("timeline.gone"),
        "where": where,
        "meta": " · ".join(
            [say.term("role", found.by), say.moment(found.said_at), *filter(None, [visible(found.conversation, 60)])]
        ),
        "href": f"turn?{urlencode(query)}" if found.turn else "",
    }
