"""The window as a bar: tokens by section against the budget, with both watermarks; a page's stretch selects it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.charts import axis, stretches
from workbench.components import part
from workbench.views.window import WindowView
from workbench.words import Words

_bar = part("token_bar")


def token_bar(view: WindowView, say: Words, selected: int | None, on_page: Callable[[], None], key: str = "bar") -> Any:
    """Returns a result whose `page` is the number that was clicked, else None."""
    layout = stretches(view)
    segments = [
        {
            "id": stretch.id,
            "section": stretch.section,
            "page": stretch.page,
            "width": stretch.width,
            "label": say(f"section.{stretch.section}") if not stretch.page else f"p{stretch.page}",
            "title": say(
                "bar.title", name=_name(stretch.page, stretch.section, say), tokens=stretch.tokens, share=stretch.share
            ),
        }
        for stretch in layout
    ]
    legend = [
        {"section": s, "name": say(f"section.{s}"), "tokens": say.number(tokens)}
        for s, tokens in _totals(layout).items()
    ]
    marks = [
        {"kind": "low", "at": view.low * 100, "label": say("bar.low", share=view.low)},
        {"kind": "high", "at": view.high * 100, "label": say("bar.high", share=view.high)},
    ]
    return _bar(
        key=key,
        data={
            "segments": segments,
            "legend": legend,
            "marks": marks if view.budget else [],
            "axis": [{"at": at * 100, "text": say.short(tokens)} for at, tokens in axis(view.budget)],
            "selected": selected,
            "label": say("bar.label", used=view.used, budget=view.budget),
        },
        on_page_change=on_page,
    )


def _name(page: int, section: str, say: Words) -> str:
    return f"p{page} · {say(f'section.{section}')}" if page else say(f"section.{section}")


def _totals(layout: list[Any]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for stretch in layout:
        totals[stretch.section] = totals.get(stretch.section, 0) + stretch.tokens
    return totals
