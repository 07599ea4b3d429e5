"""A conversation as a file from the page: made when asked for, what went out told, gone once the store moved on."""

import io
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from memory.journal import utc_now
from memory.stores.sql import Store
from sessions.importer import import_recordings
from sessions.recording import RecordedTurn, Recording
from tests.pages.conftest import APP
from workbench import state
from workbench.components.take import TAKEN
from workbench.review_link import make_key, sign

Run = Callable[..., AppTest]
NOON = datetime(2026, 12, 2, 12, tzinfo=UTC)
SAID = (
    RecordedTurn(1, "user", "Write to <b>bo</b> at bo@example.org, please", NOON),
    RecordedTurn(2, "assistant", "Done", NOON),
)


@pytest.fixture
def trip(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "store") as store:
        import_recordings(store, [Recording("trip", "ana", SAID)], replay=False)
    return tmp_path / "store"


def taken(at: AppTest) -> Any:
    return at.session_state[TAKEN][1]


def test_each_file_is_made_when_asked_for_without_what_must_not_go(app: Run, trip: Path):
    at = app(trip, user="ana", conv="trip")
    assert not at.exception
    assert TAKEN not in at.session_state
    at.button(key="take_memcase").click().run()
    assert not at.exception
    case = taken(at)
    assert case.removed == {"e-mail address": 1}
    with zipfile.ZipFile(io.BytesIO(case.made)) as opened:
        assert "memory.sqlite" in opened.namelist()
        assert all(b"bo@example.org" not in opened.read(name) for name in opened.namelist())
    assert "Taken out: 1 × e-mail address." in [caption.value for caption in at.caption]
    at.button(key="take_html").click().run()
    page = taken(at).made.decode()
    assert "<script" not in page
    assert "&lt;b&gt;bo&lt;/b&gt;" in page
    assert "bo@example.org" not in page


def test_a_file_of_what_the_store_no_longer_says_is_not_offered(app: Run, trip: Path):
    at = app(trip, user="ana", conv="trip", lang="zh")
    at.button(key="take_html").click().run()
    assert "已移除：1 × 电子邮箱。" in [caption.value for caption in at.caption]
    more = RecordedTurn(3, "user", "And call", NOON)
    with Store.open(trip) as store:
        import_recordings(store, [Recording("trip", "ana", (*SAID, more))], replay=False)
    at.run()
    assert not at.exception
    assert not [caption for caption in at.caption if caption.value.startswith("已移除")]


def test_a_reviewer_is_offered_no_file(app: Run, trip: Path):
    at = app(trip, user="ana", conv="trip")
    assert "take_html" in {button.key for button in at.button}
    token = sign("ana", make_key(trip), now=utc_now())
    at = app(trip, "overview", user="ana", conv="trip", review=token)
    assert not at.exception
    assert not {button.key for button in at.button} & {"take_html", "take_memcase"}
    with pytest.raises(ValueError, match="live"):  # there is no such page for them
        at.switch_page("../pages/live.py").run()


def test_a_read_only_store_is_taken_along_as_well(app: Run, trip: Path, monkeypatch: pytest.MonkeyPatch):
    app(trip, user="ana", conv="trip")
    monkeypatch.setenv(state.READONLY_VARIABLE, "1")
    state.forget()
    at = AppTest.from_file(str(APP), default_timeout=60)
    at.query_params.update({"user": "ana", "conv": "trip"})
    at.run().switch_page("../pages/live.py").run()
    assert state.open_store().readonly
    at.button(key="take_memcase").click().run()
    assert not at.exception
    assert taken(at).turns == 2
