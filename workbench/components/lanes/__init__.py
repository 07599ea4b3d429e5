"""Facts over time as lanes: bars that can be chosen, marks where something changed, the same as a table.

Where things lie, and how rows are packed, is worked out where it is drawn: the reader may zoom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from memory.attributes import called, subject_called, value_called
from workbench.components import part
from workbench.components.timed import day, millis
from workbench.views.lanes import Bar, Lane, LanesView, Mark, Version
from workbench.words import Words, visible

_lanes = part("lanes")
AXES = ("valid", "recorded")
EDGE, AFTER = 0.05, 0.28  # of the span, before the first and after the last
STATES = ("active", "conflicted", "superseded", "retracted", "quarantined")


def lanes(
    view: LanesView, say: Words, axis: str, chosen: int | None, on_fact: Callable[[], None], key: str = "lanes"
) -> Any:
    """`fact` of the result is the one that the reader chose."""
    rows = [_lane(lane, view, axis, chosen, say) for lane in view.lanes]
    first, last = _span(view, axis)
    marks = sorted({m["kind"] for row in rows for v in row["versions"] for m in v["marks"]})
    return _lanes(
        key=key,
        data={
            "axis": axis,
            "language": {"zh": "zh-CN"}.get(say.language, "en-GB"),
            "zone": getattr(say.zone, "key", "UTC"),
            "now": [millis(view.now), say("timeline.now")],
            "cut": _cut(view, axis, say),
            "span": [millis(first), millis(last)],
            "lanes": rows,
            "legend": [
                *(["state", name, say(f"timeline.state.{name}")] for name in STATES if view.states.get(name)),
                *(["layer", name, say(f"timeline.layer.{name}")] for name in view.layers),
                *(["mark", name, say(f"timeline.mark.{name}")] for name in marks),
            ],
            "words": {name: say(f"timeline.{name}") for name in
                      ("label", "zoom_in", "zoom_out", "zoom_all", "earlier", "later", "table")},
            "heads": [say(f"timeline.head.{name}") for name in
                      ("fact", "what", "layer", "state", "from", "to", "known_from", "known_to")],
        },
        on_fact_change=on_fact,
    )  # fmt: skip


def _lane(lane: Lane, view: LanesView, axis: str, chosen: int | None, say: Words) -> dict[str, Any]:
    first = lane.versions[0]
    chinese = say.language == "zh"
    whose = say("timeline.user") if lane.subject == "user" else subject_called(lane.subject, chinese=chinese)
    return {
        "key": lane.key,
        "title": visible(called(lane.attribute, chinese=chinese) or first.text, 80),
        "sub": visible(whose, 60) if lane.attribute else say("timeline.text_only"),
        "count": len(lane.versions) + lane.older,
        "older": say("timeline.older", n=lane.older) if lane.older else "",
        "versions": [_version(v, lane, view, axis, chosen, say) for v in lane.versions],
    }


def _version(
    v: Version, lane: Lane, view: LanesView, axis: str, chosen: int | None, say: Words
) -> dict[str, Any]:  # fmt: skip
    value = visible(value_called(lane.attribute, v.value, chinese=say.language == "zh") or v.text, 120)
    label = say("timeline.not", value=value) if v.negated and v.value else value
    return {
        "fact": v.fact,
        "label": label,
        "says": _said(v, say),
        "state": v.state,
        "layer": v.layer,
        "important": v.important,
        "dim": view.asked.valid is not None and not v.holds,
        "chosen": v.fact == chosen,
        "bars": [[millis(a), millis(b), kind] for a, b, kind in _drawn(v, axis)],
        "marks": [_mark(m, axis, say) for m in v.marks],
        "cells": [list(cells) for cells in _cells(v, say)],
    }


def _drawn(v: Version, axis: str) -> Iterator[tuple[datetime | None, datetime | None, str]]:
    """Bars as (from, to, kind): on, past (known to be over), once (believed no more), never (not believed at all)."""
    if not v.bars:
        yield (v.since if axis == "valid" else v.known_at), None, "never"
    elif axis == "recorded":
        for bar in v.bars:
            yield bar.recorded_from, bar.recorded_to, "on" if bar.valid_to is None else "past"
    elif v.believed:
        for bar in v.believed:
            yield bar.valid_from, bar.valid_to, "on"
    else:
        newest = max(bar.recorded_to for bar in v.bars if bar.recorded_to)
        for bar in v.bars:
            if bar.recorded_to == newest:
                yield bar.valid_from, bar.valid_to, "once"


def _mark(m: Mark, axis: str, say: Words) -> dict[str, Any]:
    at = m.valid_at if axis == "valid" else m.recorded_at
    says = say("timeline.mark.says", mark=say(f"timeline.mark.{m.kind}"), at=say.moment(m.recorded_at))
    return {"kind": m.kind, "change": m.change, "at": millis(at), "says": says}


def _said(v: Version, say: Words) -> str:
    """For who does not see the bar, and for who points at it."""
    told = [f"{v.name} {visible(' '.join(v.text.split()), 300)}", say(f"timeline.state.{v.state}"),
            say(f"timeline.layer.{v.layer}")]  # fmt: skip
    told += [say("timeline.held", **_ends(bar, say)) for bar in v.believed]
    return " · ".join(told + ([say.reason(v.why)] if v.why else []))


def _ends(bar: Bar, say: Words) -> dict[str, str]:
    return {
        "start": day(bar.valid_from, say, say("timeline.always")),
        "end": day(bar.valid_to, say, say("timeline.open")),
    }


def _cells(v: Version, say: Words) -> Iterator[tuple[str, ...]]:
    head = (v.name, visible(v.text, 300), say(f"timeline.layer.{v.layer}"), say(f"timeline.state.{v.state}"))
    if not v.bars:
        yield (*head, day(v.since, say), "–", "–", "–")
    for bar in v.bars:
        ends = _ends(bar, say)
        known_to = say.moment(bar.recorded_to) if bar.recorded_to else say("timeline.still")
        yield (*head, ends["start"], ends["end"], say.moment(bar.recorded_from), known_to)


# ── the span ──────────────────────────────────────────────────────────────────────────────────────────


def _cut(view: LanesView, axis: str, say: Words) -> list[Any] | None:
    at = view.asked.recorded if axis == "recorded" else view.asked.valid
    return [millis(at), say("timeline.cut", at=day(at, say))] if at else None


def _span(view: LanesView, axis: str) -> tuple[datetime, datetime]:
    """What is shown at first: a birth long ago, or a silence until now, does not press the rest together."""
    bars = (bar for lane in view.lanes for v in lane.versions for bar in _drawn(v, axis))
    found = sorted(_edges(bars, axis, view)) or [view.now]
    low, high = found[len(found) // 20], found[-1 - len(found) // 20]
    first = found[0] if low - found[0] <= max(high - low, timedelta(days=30)) else low
    last = found[-1] if found[-1] - high <= max(high - first, timedelta(days=30)) else high
    if view.now > last and view.now - last <= (last - first) / 2:
        last = view.now
    room = max(last - first, timedelta(hours=2))
    return first - room * EDGE, last + room * AFTER


def _edges(
    bars: Iterable[tuple[datetime | None, datetime | None, str]], axis: str, view: LanesView
) -> Iterator[datetime]:
    for begin, end, _ in bars:
        yield from (each for each in (begin, end) if each is not None)
    at = view.asked.recorded if axis == "recorded" else view.asked.valid
    if at:
        yield min(at, view.now)
