"""Figures with their course over the last steps: one card each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.charts import spark
from workbench.components import part
from workbench.views.rows import Metric
from workbench.words import Words

_figures = part("figures")
BARS = {"evictions", "faults", "hit_ratio", "cost"}  # counted anew in each step; the others are levels


def figures(metrics: Sequence[Metric], say: Words, key: str = "figures") -> Any:
    """The cost has a card only where there was any."""
    return _figures(
        key=key,
        data={
            "cards": [_card(metric, say) for metric in metrics if metric.name != "cost" or metric.value],
            "label": say("figures.label"),
        },
    )


def _card(metric: Metric, say: Words) -> dict[str, Any]:
    is_bar = metric.name in BARS
    shape = spark(metric.trend, bars=is_bar)
    course = ", ".join(say.amount(value, _course_unit(metric)) for value in metric.trend[-8:])
    return {
        "name": metric.name,
        "label": say(f"metric.{metric.name}"),
        "title": say(f"metric.{metric.name}.says"),
        "value": say.amount(metric.value, metric.unit),
        "change": _change(metric, say, is_bar),
        "tone": _tone(metric),
        "direction": _direction(metric.change),
        "bars": is_bar,
        "shape": shape,
        "course": say("figures.course", course=course) if metric.trend else "",
    }


def _course_unit(metric: Metric) -> str:
    return "count" if metric.name == "hit_ratio" else metric.unit


def _change(metric: Metric, say: Words, is_bar: bool) -> str:
    if metric.change is None or not metric.change:
        return ""
    amount = say.amount(abs(metric.change), metric.unit)
    if is_bar:
        return say("figures.this_step", amount=f"+{amount}")
    return f"{'+' if metric.change > 0 else '−'}{amount}"


def _direction(change: float | None) -> str:
    return "flat" if not change else "up" if change > 0 else "down"


def _tone(metric: Metric) -> str:
    if metric.better == "neither" or not metric.change:
        return "plain"
    return "good" if (metric.change > 0) == (metric.better == "up") else "bad"
