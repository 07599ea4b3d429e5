"""The Tune page: dials by address and by hand, what moving one does, a preset, applied and taken back."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

from memory.scope import Scope
from memory.settings import Settings, described
from memory.stores.sql import Store
from sessions.presets import PRESETS, save
from sessions.questions import Pinned, pin
from workbench import state
from workbench.cli import app as command
from workbench.views.tune import GROUPS, dials, found

Run = Callable[..., AppTest]
WHO = ("--user", "ana", "--conversation", "house-move")
ANA = {"user": "ana", "conv": "house-move"}


def data(at: AppTest, name: str) -> dict[str, Any]:
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(f".{name}")]
    assert found, f"no {name} on the page"
    return json.loads(found[0].json)[0]


def rows(at: AppTest, key: str) -> list[dict[str, Any]]:
    """Of the grid with this key."""
    return json.loads(part(at, key).json)[0]["rows"]


def part(at: AppTest, key: str) -> Any:
    (found,) = [e.proto for e in at.get("bidi_component") if e.proto.id.endswith(f"-{key}")]
    return found


def shown(at: AppTest) -> str:
    boxes = [*at.markdown, *at.caption, *at.warning, *at.error, *at.text]
    return "\n".join([b.value for b in boxes] + [e.proto.json for e in at.get("bidi_component")])


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_without_a_change_every_group_has_its_dials_and_nothing_moves(app: Run, demo: Path, lang: str):
    at = app(demo, "tune", **ANA, lang=lang)
    assert not at.exception
    assert at.select_slider(key="tune_window_tokens").value == 8_000
    assert at.slider(key="tune_high_watermark").value == 0.85
    assert all(at.button(key=f"tune_preset_{name}") for name in PRESETS)
    assert at.button(key="tune_apply").disabled
    assert not any(b.key == "tune_reset" for b in at.button)
    at.text_input(key="tune_find").set_value("closes after").run()
    names = {s.key for s in at.slider} | {s.key for s in at.select_slider}
    assert {"tune_page_turns", "tune_page_exchanges"} <= names
    assert "tune_high_watermark" not in names


def test_moving_the_high_watermark_shows_which_turns_change_and_why(app: Run, demo: Path):
    at = app(demo, "tune", **ANA)
    at.slider(key="tune_high_watermark").set_value(0.7).run()
    assert not at.exception
    assert at.query_params["set"] in ("high_watermark=0.7", ["high_watermark=0.7"])
    columns = data(at, "strip")["columns"]
    assert any(c["changed"] for c in columns)
    assert not all(c["changed"] for c in columns)
    assert "no longer in the window" in shown(at)
    assert {c["kind"] for c in data(at, "diff")["causes"]} >= {"evicted"}
    at.query_params["turn"] = turn = str([c["turn"] for c in columns if c["changed"]][3])
    at.run()
    assert [c["turn"] for c in data(at, "strip")["columns"] if c["chosen"]] == [int(turn)]


def test_top_k_moves_questions_and_says_so(app: Run, demo: Path):
    at = app(demo, "tune", **ANA, set="recall_k=6")
    assert not at.exception
    assert "No prompt of this conversation changes" in shown(at)
    assert "a recall away" in shown(at)
    assert "nobody looked for wrong ones" in shown(at)  # what these questions are worth
    at.toggle(key="tune_lines_shown").set_value(True).run()
    assert not at.exception
    assert "Suggested: recall" in shown(at).replace("\\", "")
    spread, near = data(at, "histogram"), rows(at, "tune_near")
    assert spread["line"]["label"] == "recall_k = 6"
    assert {cell["kind"] for each in spread["bins"] for cell in each["cells"]} == {"carries", "miss"}
    assert all(row["cells"][-1]["text"].startswith(("recall_k=", "min_coverage=")) for row in near)


@pytest.mark.parametrize(("wanted", "says"), [("low_watermark=0.9", "low_watermark"), ("window_tokens=300", "")])
def test_what_cannot_be_is_told_and_leaves_a_way_back(app: Run, demo: Path, wanted: str, says: str):
    at = app(demo, "tune", **ANA, set=wanted)
    assert not at.exception
    assert says in shown(at)
    assert any(b.key in ("replay_reset", "tune_reset") for b in at.button)


def test_applied_taken_back_and_not_by_a_reader(app: Run, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(demo, tmp_path / "store")
    at = app(tmp_path / "store", "tune", **ANA, set="recall_k=5")
    at.button(key="tune_apply").click().run()
    assert not at.exception
    with Store.open(tmp_path / "store") as store:
        assert store.state(Scope("ana", "house-move")).settings.recall_k == 5
    at.button(key="tune_undo").click().run()
    with Store.open(tmp_path / "store") as store:
        assert store.state(Scope("ana", "house-move")).settings.recall_k == 3
    monkeypatch.setenv(state.READONLY_VARIABLE, "1")
    state.forget()
    at.run()
    assert not at.exception
    assert at.button(key="tune_apply").disabled


def test_a_question_is_pinned_on_the_page_and_told_before_and_after(app: Run, demo: Path, tmp_path: Path):
    shutil.copytree(demo, tmp_path / "store")
    with Store.open(tmp_path / "store") as store:
        pin(store, Pinned("Who plays the oboe?", "ana", "house-move", expect=("oboe",)))
    at = app(tmp_path / "store", "tune", **ANA, set="recall_k=1")
    at.text_input(key="tune_pin_question").set_value("What is the budget?")
    at.text_input(key="tune_pin_expect").set_value("budget; moving")
    next(b for b in at.button if b.form_id == "tune_pin").click().run()
    assert not at.exception
    told = {row["cells"][0]["text"]: [cell["text"] for cell in row["cells"][1:]] for row in rows(at, "tune_pins")}
    assert told["What is the budget?"] == ["won", "won", ""]
    assert told["Who plays the oboe?"] == ["lost: never said", "lost: never said", ""]  # no setting can win it
    assert "Pinned questions lost" in shown(at)
    assert "n = 2 in 1 conversation; too few" in shown(at)  # what these two are worth


def test_every_setting_has_a_dial():
    names = {entry["name"] for entry in described()}
    assert {name for group in GROUPS.values() for name in group} == names
    made = dials(Settings(), Settings.of(page_turns=20))
    assert {dial.name for dial in made} == names
    assert [dial.name for dial in found(made, group="moved")] == ["page_turns"]
    assert all(dial.value in dial.choices for dial in made if dial.kind == "name")
    assert all(dial.low <= dial.value <= dial.high for dial in made if dial.kind in ("int", "float"))


# ── the command ───────────────────────────────────────────────────────────────────────────────────────


def printed(*args: object) -> Any:
    told = CliRunner().invoke(command, [*map(str, args), "--json"])
    assert told.exit_code == 0, told.output
    return json.loads(told.output)


def test_tune_tells_what_changes_and_where_the_lines_stand(demo: Path):
    found = printed("tune", "--store", demo, *WHO, "--set", "recall_k=6")
    assert found["settings"] == {"recall_k": {"before": 3, "after": 6}}
    assert found["turns"] == []
    assert found["won"]
    assert {s["setting"] for s in found["thresholds"]["suggestions"]} == {"recall_k", "min_coverage"}


def test_a_file_of_settings_is_replayed(demo: Path, tmp_path: Path):
    wanted = Settings.of(page_turns=20, window_tokens=4_000)
    file = save(wanted, tmp_path / "s.toml")
    assert printed("replay", "--store", demo, *WHO, "--settings", file)[0]["settings"] == wanted.hash


def test_what_if_leaves_out_a_page(demo: Path):
    found = printed("what-if", 100, "--store", demo, *WHO, "--set", "high_watermark=0.4", "--set", "low_watermark=0.3")
    assert found["after_tokens"] < found["before_tokens"]
    assert found["left_out"]
    page = found["left_out"][0]["name"]
    without = printed("what-if", 100, "--store", demo, *WHO, "--without", page)
    assert without["before_tokens"] - without["after_tokens"] == found["left_out"][0]["tokens"]


def test_a_notebook_has_the_same_by_two_functions(demo: Path):
    import workbench

    with Store.open(demo, readonly=True) as store:
        here = store, store.main_run("ana", "house-move")
        made = workbench.tune(here, recall_k=6)
        assert made.won
        assert "recall_k 3 → 6" in made._repr_html_()
        assert workbench.what_if(here, 100, high_watermark=0.4, low_watermark=0.3).moved
