"""What an imported file says of a turn beside its words: on its page, in its view, in the terminal; never as markup."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

from memory.engine import Engine
from memory.scope import RECORDED, Scope
from memory.stores.sql import Store
from sessions.importer import import_recordings
from sessions.recording import RecordedTurn, Recording
from workbench.cli import app as command
from workbench.components.trace import FILED
from workbench.views.turn import turn

START = datetime(2026, 3, 2, tzinfo=UTC)
HOSTILE = "<b>an older answer</b> \x1b[31m"
ANA = {"user": "ana", "conv": "trip"}
Run = Callable[..., AppTest]


@pytest.fixture
def trip(tmp_path: Path) -> Path:
    said = [("user", "Where to?", ""), ("assistant", "To Lyon.", json.dumps({"versions": [HOSTILE]})),
            ("user", "When?", json.dumps({"long": "x" * 2 * FILED}))]  # fmt: skip
    turns = tuple(
        RecordedTurn(n, role, text, START + timedelta(minutes=n), extra=extra)
        for n, (role, text, extra) in enumerate(said, 1)
    )
    with Store.open(tmp_path / "store") as store:
        import_recordings(store, [Recording("trip", "ana", turns, extra='{"gizmo":"g-7"}')])
    return tmp_path / "store"


def test_a_step_brings_what_the_file_says_of_its_turns_and_the_first_one_of_the_whole(trip: Path):
    with Store.open(trip, readonly=True) as store:
        main = store.main_run("ana", "trip")
        assert main.run != RECORDED
        assert [row.turn for row in turn(store, main, 1).filed] == [0, 2]
        assert [row.turn for row in turn(store, main, 3).filed] == [3]
        assert json.loads(turn(store, main, 2).filed[1].text) == {"versions": [HOSTILE]}
        assert turn(store, main.at(RECORDED), 1).filed == turn(store, main, 1).filed


def test_where_other_words_stand_under_its_number_nothing_of_it_is_told(trip: Path):
    with Store.open(trip) as store:
        engine = Engine.open(store, user="ana", conversation="other", llm="workbench/offline")
        engine.say("Where from?")
        turns = (RecordedTurn(1, "user", "Where to?", START, extra='{"mood":"good"}'),)
        import_recordings(store, [Recording("other", "ana", turns)], replay=False, remember=False)
        assert [row.turn for row in turn(store, Scope("ana", "other", RECORDED), 1).filed] == [1]
        assert turn(store, engine.scope, 1).filed == ()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_stands_folded_away_as_text_and_is_cut(app: Run, trip: Path, lang: str):
    at = app(trip, "turn", **ANA, turn="2", lang=lang)
    assert not at.exception
    (box,) = [
        each for each in at.expander if each.label in {"What its file says beside the words", "文件中正文之外的内容"}
    ]
    assert not box.proto.expanded
    assert "<b>an older answer</b>" in "".join(code.value for code in box.code)
    assert "gizmo" in box.code[0].value
    long = app(trip, "turn", **ANA, turn="3", lang=lang)
    (cut,) = [code.value for code in long.code if '"long"' in code.value]
    assert len(cut) < FILED + 20


def test_the_terminal_and_a_notebook_show_it_without_what_would_steer_them(trip: Path):
    shown = CliRunner().invoke(command, ["show", "2", "--store", str(trip)])
    assert shown.exit_code == 0, shown.output
    assert "beside the words of turn 2" in shown.output
    assert "an older answer" in shown.output
    assert "\x1b[31m" not in shown.output
    with Store.open(trip, readonly=True) as store:
        html = turn(store, store.main_run("ana", "trip"), 2)._repr_html_()
    assert "an older answer" in html
    assert "<b>an older" not in html
