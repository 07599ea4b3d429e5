"""What the model read, section by section; each opens to its messages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from workbench.components import part
from workbench.views.turn import PromptPart
from workbench.words import Words, visible

_prompt = part("prompt")
SHOWN = 40_000  # characters of one message


def prompt(parts: Sequence[PromptPart], say: Words, key: str, opened: Sequence[str] = ("new", "exchange")) -> Any:
    total = sum(p.tokens for p in parts) or 1
    sections = [
        _section(i, name, list(group), total, say, name in opened) for i, (name, group) in enumerate(_runs(parts))
    ]
    return _prompt(key=key, data={"sections": sections, "empty": say("prompt.empty")})


def _runs(parts: Sequence[PromptPart]) -> list[tuple[str, list[PromptPart]]]:
    return [(name, list(group)) for name, group in groupby(parts, key=lambda p: p.section)]


def _section(index: int, name: str, parts: list[PromptPart], total: int, say: Words, is_open: bool) -> dict[str, Any]:
    tokens = sum(p.tokens for p in parts)
    return {
        "key": f"{index}.{name}",
        "name": name,
        "label": say(f"section.{name}"),
        "tokens": say("tokens", tokens=tokens),
        "share": round(100 * tokens / total, 1),
        "share_label": say.amount(tokens / total, "ratio"),
        "count": say("prompt.messages", messages=len(parts)),
        "open": is_open,
        "parts": [_part(p, say) for p in parts],
    }


def _part(row: PromptPart, say: Words) -> dict[str, Any]:
    return {
        "role": say.term("role", row.role),
        "page": f"p{row.page}" if row.page else "",
        "tokens": say("tokens", tokens=row.tokens),
        "text": visible(row.text, SHOWN),
        "calls": [visible(call, 2_000) for call in row.calls],
    }
