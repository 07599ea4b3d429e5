"""One bar cut in named shares: latency by stage, tokens by section. The legend below is its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.components import part

_shares = part("shares")


@dataclass(frozen=True, slots=True)
class Share:
    name: str
    label: str
    value: str  # with its unit
    amount: float


def shares(parts: Sequence[Share], label: str, key: str) -> Any:
    total = sum(part.amount for part in parts) or 1.0
    rows = [
        {"name": p.name, "label": p.label, "value": p.value, "width": 100 * p.amount / total, "hue": i}
        for i, p in enumerate(parts)
    ]
    return _shares(key=key, data={"rows": rows, "label": label})
