"""Play a replay: a button that plays and pauses, one that takes a step, and how many turns go by in a second.

The slider, the arrows and the jumps are the scrubber's. A tick asks for the next turn once the one before it is drawn,
so a slow page plays slower and never piles up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.components import part
from workbench.words import Words

_player = part("player")
SPEEDS = (1, 2, 5, 10, 25)  # turns a second


def player(turn: int, turns: int, says: str, say: Words, on_turn: Callable[[], None], key: str = "player") -> Any:
    """Fires `turn`; `says` is what stands beside it."""
    return _player(
        key=key,
        data={
            "turn": turn,
            "turns": turns,
            "says": says,
            "speeds": [{"value": n, "label": say("replay.speed", turns=n)} for n in SPEEDS],
            "words": {name: say(f"replay.{name}") for name in ("play", "pause", "step", "speed.label", "again")},
        },
        on_turn_change=on_turn,
    )
