"""How pages or facts were scored, against the line from which they come; those with the expected words are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sessions.thresholds import Bin as Between
from workbench.components import part
from workbench.views.why import Bin, Gate, Scored, Scores
from workbench.words import Words, visible

_histogram = part("histogram")
CELLS = 16  # as many are drawn one by one; more become one block
SHOWN = 60  # rows of the table
NAMED = 3  # carriers above one column


def histogram(scores: Scores, say: Words, on_page: Callable[[], None], key: str) -> Any:
    low, high = scores.bins[0].low, scores.bins[-1].high
    top = max(4, *(each.count for each in scores.bins))  # a lone page is no tower

    def place(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    line = None
    if scores.line is not None:
        line = {"left": place(scores.line), "label": say("why.line", setting=scores.setting)}
    shown = [(i, each) for i, each in enumerate(scores.bins) if each.count]
    return _histogram(
        key=key,
        data={
            "alt": _alt(scores, say),
            "bins": [_bin(i, each, top, place, say) for i, each in shown],
            "marks": [_mark(i, each, top, place) for i, each in shown if each.carriers],
            "line": line,
            "shut": scores.shut,
            "ticks": [{"left": place(v), "label": say.score(v)} for v in (low, (low + high) / 2, high)],
            "legend": [{"kind": kind, "label": say(f"why.kind.{kind}")} for kind in ("carries", "comes", "miss")],
            "gates": [_gate(each, say) for each in scores.gates],
            "more": say("why.as_table", count=min(scores.count, SHOWN), of=scores.count),
            "head": [say(f"why.column.{name}") for name in ("name", "score", "comes", "carries", "says")],
            "rows": [_row(row, say) for row in scores.rows[:SHOWN]],
        },
        on_page_change=on_page,
    )


def spread(bins: Sequence[Between], line: float | None, words: Spread, say: Words, key: str) -> Any:
    """What answers and what does not, along one line of retrieval; `line` is where it stands. Two kinds, no names."""
    low, high = bins[0].low, bins[-1].high
    top = max(4, *(each.relevant + each.other for each in bins))

    def place(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    shown = [each for each in bins if each.relevant + each.other]
    at = None if line is None else min(high, max(low, line))
    return _histogram(
        key=key,
        data={
            "alt": words.alt,
            "bins": [_both(each, top, place, words) for each in shown],
            "marks": [],
            "line": None if at is None else {"left": place(at), "label": words.line},
            "shut": words.to_the_left,
            "ticks": [{"left": place(v), "label": f"{v:g}"} for v in words.ticks],
            "legend": [{"kind": "carries", "label": words.relevant}, {"kind": "miss", "label": words.other}],
            "gates": [],
            "more": say("tune.as_table"),
            "head": [words.axis, words.relevant, words.other],
            "rows": [
                {"name": words.at(each), "page": 0, "carries": bool(each.relevant),
                 "cells": [say.number(each.relevant), say.number(each.other)]}
                for each in shown
            ],
        },
        on_page_change=lambda: None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spread:
    """What a histogram of two kinds says of itself."""

    alt: str
    axis: str
    line: str
    relevant: str
    other: str
    ticks: tuple[float, ...]
    at: Callable[[Between], str]  # of a bin
    to_the_left: bool = False  # what is right of the line does not come


def _both(each: Between, top: int, place: Callable[[float], float], words: Spread) -> dict[str, Any]:
    amounts = [("miss", each.other), ("carries", each.relevant)]
    cells = [{"key": kind, "kind": kind, "amount": n} for kind, n in amounts if n]
    title = f"{words.at(each)}: {words.relevant} {each.relevant}, {words.other} {each.other}"
    return {"key": str(each.low), "left": place(each.low), "width": place(each.high) - place(each.low),
            "height": round(88 * (each.relevant + each.other) / top, 2), "title": title, "cells": cells}  # fmt: skip


def _alt(scores: Scores, say: Words) -> str:
    have = ", ".join(f"{row.name} ({say.score(row.score)})" for row in scores.carriers[:5]) or say("why.nobody")
    return say(f"why.alt.{scores.of}", count=scores.count, setting=scores.setting, have=have)


def _bin(index: int, each: Bin, top: int, place: Callable[[float], float], say: Words) -> dict[str, Any]:
    carry = len(each.carriers)
    kinds = ["carries"] * carry + ["comes" if each.comes > carry else "miss"] * (each.count - carry)
    if len(kinds) > CELLS:
        amounts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
        cells = [{"key": kind, "kind": kind, "amount": n} for kind, n in amounts.items()]
    else:
        cells = [{"key": str(n), "kind": kind, "amount": 1} for n, kind in enumerate(kinds)]
    title = say("why.bin", low=say.score(each.low), high=say.score(each.high), count=each.count)
    return {"key": str(index), "left": place(each.low), "width": place(each.high) - place(each.low),
            "height": round(88 * each.count / top, 2), "title": title, "cells": cells}  # fmt: skip


def _mark(index: int, each: Bin, top: int, place: Callable[[float], float]) -> dict[str, Any]:
    more = f" +{len(each.carriers) - NAMED}" if len(each.carriers) > NAMED else ""
    label = " ".join(each.carriers[:NAMED]) + more
    middle = place((each.low + each.high) / 2)
    return {"key": str(index), "label": label, "left": min(97.0, max(3.0, middle)),
            "bottom": round(88 * each.count / top, 2)}  # fmt: skip


def _gate(gate: Gate, say: Words) -> dict[str, Any]:
    return {
        "name": gate.name,
        "label": say(f"why.gate.{gate.name}"),
        "best": round(100 * min(1.0, max(0.0, gate.best)), 1),
        "least": round(100 * min(1.0, gate.least), 1),
        "passed": gate.passed,
        "says": say("why.gate.says", best=gate.best, least=gate.least),
    }


def _row(row: Scored, say: Words) -> dict[str, Any]:
    yes = "✓"
    cells = [say.score(row.score), yes if row.comes else "–", yes if row.carries else "", visible(row.says, 160)]
    return {"name": row.name, "page": row.page, "carries": row.carries, "cells": cells}
