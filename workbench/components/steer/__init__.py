"""Listens for where the notebook that opened the app sends it; invisible, idle otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.components import part

_steer = part("steer")


def steer(on_goto: Callable[[], None], key: str = "steer") -> Any:
    """`goto` of the result: `{"page": "turn", "changes": {"turn": 42}}`, as the notebook said it."""
    return _steer(key=key, data={}, on_goto_change=on_goto)
