"""A page that a notebook opened: it tells where its reader is, and goes where it is sent."""

import pytest

from workbench import app as router
from workbench import state
from workbench.steering import STEERED_VARIABLE, STEERING


@pytest.fixture
def steered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STEERED_VARIABLE, "1")
    monkeypatch.setattr(STEERING, "_selection", None)


def test_it_tells_where_its_reader_is_and_goes_where_it_is_sent(steered, demo, app):
    at = app(demo, "live", user="ana", conv="house-move", turn="40")
    assert STEERING.selection.page == "live"
    assert STEERING.selection.address.items() >= {"user": "ana", "conv": "house-move", "turn": "40"}.items()
    assert STEERING.selection.chosen == "turn"
    at.session_state[router.SENT] = {"page": "", "changes": {"page": 3}}
    at.run()
    assert (STEERING.selection.page, STEERING.selection.chosen) == ("live", "page")
    assert STEERING.selection.address["turn"] == "40"
    at.session_state[router.SENT] = {"page": "turn", "changes": {"turn": 42}}
    at.run()
    assert not at.exception
    assert (STEERING.selection.page, STEERING.selection.address["turn"]) == ("turn", "42")
    assert at.session_state[state.SHOWN_PAGE] == "turn"


def test_without_a_notebook_nothing_is_told(demo, app, monkeypatch):
    monkeypatch.delenv(STEERED_VARIABLE, raising=False)
    monkeypatch.setattr(STEERING, "_selection", None)
    app(demo, "overview")
    assert STEERING.selection is None
