"""Two conversations of our own, one English, one Chinese, long enough that pages leave, are missed and come back."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from memory.engine import resolved
from memory.scope import RECORDED, Scope
from memory.settings import Settings
from memory.stores.sql import Store
from sessions.importer import ImportReport, Progress, import_recordings, kept_replay
from sessions.readers import read

SCOPES = {
    "house_move.jsonl": Scope("ana", "house-move", RECORDED),
    "tea_shop.jsonl": Scope("lin", "tea-shop", RECORDED),
}


def demo_files() -> list[Path]:
    return [Path(str(files(__name__) / name)) for name in SCOPES]


def load_demo(store: Store, progress: Progress | None = None, settings: Settings | None = None) -> ImportReport | None:
    """Import and replay both; None if they are there already, which is seen from two heads and costs no reading."""
    wanted = resolved(settings or Settings())
    missing = [path for path in demo_files() if kept_replay(store, SCOPES[path.name], wanted) is None]
    if not missing:
        return None
    found = [recording for path in missing for recording in read(path)]
    return import_recordings(store, found, settings=wanted, progress=progress)
