"""Settings in words: `page_turns=20` as the command takes them, `eviction=lfu;page_turns=20` in an address."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from memory.errors import BadSetting
from memory.settings import Settings, described

BETWEEN = ";"
PLAIN = " /.,=+-_:"  # characters of a value that stand in an address as they are


def assigned(sets: Iterable[str]) -> dict[str, Any]:
    """`page_turns=20` → a number where the setting is one. Raises BadSetting; what the values may be is not its.

    >>> assigned(["page_turns=20", "eviction=lfu"])
    {'page_turns': 20.0, 'eviction': 'lfu'}
    """
    kinds = {entry["name"]: entry["type"] for entry in described()}
    values: dict[str, Any] = {}
    for assignment in sets:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise BadSetting(f"settings are changed by name=value, as in --set page_turns=20, not by {assignment!r}")
        values[name.strip()] = _typed(name.strip(), value.strip(), kinds.get(name.strip(), "str"))
    return values


def _typed(name: str, value: str, kind: str) -> Any:
    if kind == "str":
        return value
    try:
        return float(value)
    except ValueError:
        raise BadSetting(f"{name} must be a number, not {value!r}") from None


def from_address(text: str) -> dict[str, Any]:
    """
    >>> from_address("eviction=lfu;page_turns=20")
    {'eviction': 'lfu', 'page_turns': 20.0}
    """
    return assigned(unquote(part) for part in text.split(BETWEEN) if part.strip())


def to_address(changes: Mapping[str, Any]) -> str:
    """
    >>> to_address({"eviction": "lfu", "page_turns": 20.0, "bookmark_key": "a;b"})
    'eviction=lfu;page_turns=20;bookmark_key=a%3Bb'
    """
    return BETWEEN.join(
        quote(f"{name}={f'{value:.12g}' if isinstance(value, int | float) else value}", safe=PLAIN)
        for name, value in changes.items()
    )


def changed_from(base: Settings, settings: Settings) -> dict[str, Any]:
    """The settings that are others than in `base`."""
    before, after = base.to_dict(), settings.to_dict()
    return {name: value for name, value in after.items() if value != before[name]}
