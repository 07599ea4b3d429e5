"""Every page on a large store, and on one whose log is damaged where no header tells it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from memory.settings import Settings
from memory.stores.sql import FILE, Store
from sessions.bench import talk
from sessions.importer import import_recordings
from workbench.app import NAVIGATION

TURNS = 800
PAGES = [entry.name for group in NAVIGATION.values() for entry in group]
SENT = 1_500_000  # bytes to the browser, for one page: it does not grow with the store
Run = Callable[..., AppTest]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "store"
    with Store.open(path) as store:
        import_recordings(store, [talk(TURNS)], settings=Settings.of(window_tokens=8_000), replay=True)
    return path


@pytest.mark.parametrize("page", PAGES)
def test_a_large_store_is_shown_in_part_and_the_part_is_small(app: Run, large: Path, page: str):
    at = app(large, page, turn=str(TURNS))
    assert not at.exception
    parts = [e.proto for e in at.get("bidi_component")]
    assert any(part.component_name.endswith("heading") for part in parts)
    assert sum(len(part.json) for part in parts) < SENT


@pytest.fixture(scope="module")
def unreadable(large: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record in the middle of each run is no JSON any more."""
    path = tmp_path_factory.mktemp("unreadable")
    with closing(sqlite3.connect(large / FILE)) as source, closing(sqlite3.connect(path / FILE)) as copy:
        source.backup(copy)
        copy.execute("UPDATE event SET body = substr(body, 1, 5) WHERE seq % 50 = 7")
        copy.execute("DELETE FROM snapshot")
        copy.commit()
    return path


@pytest.mark.parametrize("page", ["overview", "live", "why", "timeline"])
def test_a_record_that_cannot_be_read_is_told_and_breaks_no_page(app: Run, unreadable: Path, page: str):
    at = app(unreadable, page)
    assert not at.exception
