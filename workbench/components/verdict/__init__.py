"""The answer in a line, and of what it is the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.components import part
from workbench.words import visible

_verdict = part("verdict")


def verdict(tone: str, title: str, says: str, pairs: Sequence[tuple[str, str]], key: str = "verdict") -> Any:
    """`tone`: ok, warn, no."""
    shown = [[name, visible(value, 300)] for name, value in pairs]
    return _verdict(
        key=key, data={"tone": tone, "title": visible(title, 400), "says": visible(says, 400), "pairs": shown}
    )
