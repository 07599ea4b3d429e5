"""Two sliders over time: what was true on a day, and what was believed on a day. Each stops where something changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.components import part
from workbench.words import Words

_as_of = part("as_of")


def as_of(
    stops: Mapping[str, Sequence[tuple[str, str]]], chosen: Mapping[str, str],
    named: Mapping[str, str], say: Words, on_moment: Callable[[], None], key: str = "as_of",
) -> Any:  # fmt: skip
    """`stops` by axis: a moment as the address has it, and in words; `chosen` and, in words, `named`: "" for now.

    `moment` of the result is [axis, moment].
    """
    return _as_of(
        key=key,
        data={
            "axes": [
                _axis(axis, found, chosen.get(axis, ""), named.get(axis, ""), say) for axis, found in stops.items()
            ],
            "words": {name: say(f"timeline.slider.{name}") for name in ("previous", "next", "now")},
        },
        on_moment_change=on_moment,
    )


def _axis(axis: str, found: Sequence[tuple[str, str]], chosen: str, own: str, say: Words) -> dict[str, Any]:
    places = [name for name, _ in found]
    at = len(places) if not chosen else max((i for i, name in enumerate(places) if name <= chosen), default=-1)
    off = bool(chosen) and chosen not in places  # between two stops, or before them all
    return {
        "name": axis,
        "label": say(f"timeline.slider.{axis}"),
        "says": say(f"timeline.slider.{axis}.says"),
        "stops": [list(each) for each in found],
        "at": max(at, 0) if chosen else at,
        "own": own if off else "",
        "now": say(f"timeline.slider.{axis}.now"),
    }
