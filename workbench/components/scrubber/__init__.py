"""Walk through the turns: a slider, buttons, a field for a number, keys with their legend. The newest is followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.components import part
from workbench.words import Words

WORDS = ("label", "first", "previous", "next", "last", "ten", "go")
_scrubber = part("scrubber")


def scrubber(
    turn: int, turns: int, step: int, steps: int, say: Words, on_turn: Callable[[], None], key: str = "scrubber"
) -> Any:
    """`turn` of the result is where the reader went."""
    return _scrubber(
        key=key,
        data={
            "turn": turn,
            "turns": turns,
            "where": say("scrubber.where", turn="{turn}", turns=say.number(turns)),
            "step": say("scrubber.step", step=step, steps=steps),
            "newer": say("scrubber.newer", newer=turns - turn) if turn < turns else "",
            "live": say("scrubber.live"),
            "words": {name: say(f"scrubber.{name}") for name in WORDS},
        },
        on_turn_change=on_turn,
    )
