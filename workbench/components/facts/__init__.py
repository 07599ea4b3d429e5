"""Names and values side by side, and words as chips below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.components import part
from workbench.words import visible

_facts = part("facts")


def facts(
    pairs: Sequence[tuple[str, str]],
    key: str,
    chips: Sequence[str] = (),
    large: bool = False,
    note: str = "",
    title: str = "",
) -> Any:
    return _facts(
        key=key,
        data={
            "pairs": [[name, visible(value, 400)] for name, value in pairs],
            "chips": [visible(chip, 80) for chip in chips],
            "large": large,
            "title": visible(title, 600),
            "note": visible(note, 600),
        },
    )
