"""Named sets of settings to begin with, and settings as a file that people read, write and pass on.

A preset is a guess by the kind of conversation, no measurement: replay yours under it before you keep it. A file
holds what differs from the defaults, as TOML or JSON; one that names an unknown setting or a value out of its range
is refused, with the reason.

>>> Engine.open("store", user="ana", conversation="trip", settings=load("tuned.toml"))       # doctest: +SKIP
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memory.errors import BadSetting, UnknownName
from memory.settings import Settings, described

PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Much is said once and asked for by its words much later.
    "knowledge_base": {
        "boundary": "fixed_n+topic_shift", "eviction": "lfu", "recall_k": 5, "retrieve_k": 3, "page_ins": 6,
        "min_coverage": 0.15, "bookmark_template": "knowledge",
    },
    # One matter after another; silence ends it, and the last hours count.
    "support": {
        "bookmark_template": "support",
        "boundary": "fixed_n+idle_gap", "idle_hours": 2, "page_turns": 8, "retrieve_k": 1, "eviction": "lru",
        "facts_k": 8, "remember_turns": 1,
    },
    # Years of small talk: who people are matters more than what was said last.
    "companion": {
        "bookmark_template": "companion",
        "boundary": "fixed_n+idle_gap", "idle_hours": 8, "page_turns": 20, "facts_tokens": 800, "facts_k": 10,
        "retrieve_k": 1, "remember_turns": 2, "recency_weight": 0.2,
    },
    # Long passages that are worked on: pages stay, and what comes back stays a while.
    "writing": {
        "bookmark_template": "writing",
        "page_turns": 20, "page_tokens": 2_000, "boundary": "fixed_n+tokens", "high_watermark": 0.92,
        "low_watermark": 0.75, "guest_steps": 4, "chunk_share": 0.35, "stub_share": 0.1, "remember_turns": 3,
    },
}  # fmt: skip
KINDS = (".toml", ".json")


def preset(name: str) -> Mapping[str, Any]:
    """What it changes. Raises UnknownName."""
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return PRESETS[name]


# ── as a file ─────────────────────────────────────────────────────────────────────────────────────────


def differing(settings: Settings) -> dict[str, Any]:
    """What is other than by default."""
    return {e["name"]: v for e in described() if (v := getattr(settings, e["name"])) != e["default"]}


def as_toml(settings: Settings) -> str:
    """What differs from the defaults, each with its unit and meaning."""
    told = {e["name"]: f"{e['unit']}: {e['says']}" if e["unit"] != "name" else e["says"] for e in described()}
    lines = [f"# Settings {settings.hash} of Memory Workbench; what is not named is by default."]
    for name, value in differing(settings).items():
        lines += ["", f"# {told[name]}", f"{name} = {_toml(value)}"]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    # A JSON string is a TOML basic string, but for DEL, which only TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") if isinstance(value, str) else repr(value)


def as_json(settings: Settings) -> str:
    return json.dumps(differing(settings), indent=2, ensure_ascii=False) + "\n"


def save(settings: Settings, file: Path | str) -> Path:
    """Write it, as the file's name says. Raises BadSetting for another kind of file."""
    path = Path(file)
    made = as_json(settings) if _kind(path) == ".json" else as_toml(settings)
    path.write_text(made, encoding="utf-8", newline="\n")
    return path


def load(file: Path | str) -> Settings:
    """The settings of a file; what it does not name is by default. Raises BadSetting, UnknownName."""
    return Settings().but(**values(file))


def values(file: Path | str) -> dict[str, Any]:
    """What a file names. Raises BadSetting for one that cannot be read."""
    path = Path(file)
    kind = _kind(path)
    try:
        text = path.read_text("utf-8-sig")
        found = json.loads(text) if kind == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise BadSetting(f"{path} cannot be read as settings: {error}") from error
    if not isinstance(found, dict):
        raise BadSetting(f"{path} holds {type(found).__name__}, not settings by their names")
    return found


def _kind(path: Path) -> str:
    if path.suffix.lower() not in KINDS:
        raise BadSetting(f"settings are kept as .toml or .json, not {path.name!r}")
    return path.suffix.lower()
