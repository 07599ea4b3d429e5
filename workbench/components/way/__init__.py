"""Where words stood in the prompts, step by step as one strip, and each time they came or left, with the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from memory.reach import Bisection, Passage
from workbench.components import part
from workbench.words import Words, visible

_way = part("way")
SHOWN = 40


def way(
    found: Bisection, step: int, steps: int, say: Words, link: Callable[..., Mapping[str, str]], key: str = "way"
) -> Any:
    """`step` is the one that is asked about, of `steps`."""
    whole = max(steps, 1)
    rows = [_row(i, passage, say, link) for i, passage in enumerate(found.passages[:SHOWN])]
    hidden = len(found.passages) - len(rows)
    return _way(
        key=key,
        data={
            "alt": say("why.way.alt", held=found.held, steps=found.steps),
            "spans": [_span(first, last, whole, say) for first, last in _spans(found, whole)],
            "at": round(100 * (step - 0.5) / whole, 2),
            "at_says": say("why.way.here", step=step),
            "first": say("why.way.step", step=1),
            "last": say("why.way.step", step=whole),
            "rows": rows,
            "more": say("why.way.more", more=hidden) if hidden else "",
        },
    )


def _spans(found: Bisection, steps: int) -> Iterator[tuple[int, int]]:
    """Steps `[first, last]` in whose prompts the words stood."""
    began = 0
    for passage in found.passages:
        if passage.entered:
            began = passage.step
        elif began:
            yield began, passage.step - 1
            began = 0
    if began:
        yield began, steps


def _span(first: int, last: int, steps: int, say: Words) -> dict[str, Any]:
    title = say("why.way.span", first=first, last=last)
    return {
        "left": round(100 * (first - 1) / steps, 2),
        "width": round(100 * (last - first + 1) / steps, 2),
        "title": title,
    }


def _row(index: int, passage: Passage, say: Words, link: Callable[..., Mapping[str, str]]) -> dict[str, Any]:
    return {
        "key": str(index),
        "entered": passage.entered,
        "turn": say("turn.one", turn=passage.turn),
        "href": f"turn?{urlencode(link(turn=passage.turn, page=None))}",
        "what": say("why.way.entered" if passage.entered else "why.way.left"),
        "where": visible(", ".join(passage.where), 120),
        "cause": visible(say.reason(passage.cause), 300),
    }
