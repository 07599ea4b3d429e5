"""The Replay page: any turn under other settings, beside the recorded run, which stays as it is."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from memory.engine import resolved
from memory.scope import Scope
from memory.stores.sql import Store
from sessions.fork import fork
from workbench import replaying

Run = Callable[..., AppTest]
ANA = {"user": "ana", "conv": "house-move"}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch):
    """However busy the machine is, a replay is awaited; and none is left from another test's store."""
    monkeypatch.setattr(replaying, "AT_ONCE_S", 60.0)
    replaying.forget()


@pytest.fixture
def own(demo: Path, tmp_path: Path) -> Path:
    return shutil.copytree(demo, tmp_path / "own")


def given(at: AppTest, key: str) -> dict:
    """What the component with this name was given."""
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(f".{key}")]
    return json.loads(found[0].json)[0]


def grids(at: AppTest) -> list[dict]:
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(".grid")]
    return [json.loads(one.json)[0] for one in found]


def figures(at: AppTest) -> dict[str, list[str]]:
    return {row["key"]: [cell["text"] for cell in row["cells"]] for row in grids(at)[0]["rows"]}


def chips(at: AppTest) -> list[str]:
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(".facts")]
    return json.loads(found[0].json)[0]["chips"]


def runs_of(path: Path) -> dict[str, int]:
    with Store.open(path, readonly=True) as store:
        return {s.scope.run: s.version for s in store.streams("ana", "house-move")}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_under_the_same_settings_it_is_the_recorded_run(app: Run, demo: Path, lang: str):
    at = app(demo, "replay", **ANA, turn="100", lang=lang)
    assert not at.exception
    assert given(at, "scrubber")["turn"] == given(at, "player")["turn"] == 100
    assert chips(at) == []
    assert all(moved == "0" and there == here for _, there, here, moved in figures(at).values())


def test_other_settings_come_by_the_address_and_change_the_figures(app: Run, demo: Path):
    at = app(demo, "replay", **ANA, turn="150", set="eviction=lfu;window_tokens=4000")
    assert not at.exception
    assert {"eviction: lru → lfu", "window_tokens: 8000 → 4000"} == set(chips(at))
    _, there, here, _ = figures(at)["evictions"]
    assert int(here) > int(there)
    assert at.selectbox(key="replay_eviction_lfu").value == "lfu"


def test_a_widget_changes_the_address(app: Run, demo: Path):
    at = app(demo, "replay", **ANA, turn="60")
    at.number_input(key="replay_page_turns_10").set_value(20).run()
    assert not at.exception
    assert at.query_params["set"] in ("page_turns=20", ["page_turns=20"])
    assert "page_turns: 10 → 20" in chips(at)


def test_one_that_was_stopped_is_shown_as_far_as_it_came_and_goes_on(app: Run, demo: Path):
    with Store.open(demo, readonly=True) as store:
        scope = store.main_run("ana", "house-move")
        settings = resolved(store.state(scope).settings.but(eviction="lfu"))
        playing = replaying.playing(store, replaying.source_of(store, scope), settings)
        playing.stop()
        playing.wait(60)
    assert not playing.is_done
    at = app(demo, "replay", **ANA, set="eviction=lfu")
    assert not at.exception
    assert given(at, "scrubber")["turn"] == playing.turn < 191
    at.button(key="replay_resume").click().run()
    assert not at.exception
    assert not any(button.key == "replay_resume" for button in at.button)
    assert given(at, "scrubber")["turn"] == 191


@pytest.mark.parametrize("wrong", ["eviction=lur", "page_turns=x", "nothing", "page_turns=0", "colour=<b>red</b>"])
def test_settings_that_cannot_be_are_told_with_a_way_back(app: Run, demo: Path, wrong: str):
    at = app(demo, "replay", **ANA, set=wrong)
    assert not at.exception
    at.button(key="replay_reset").click().run()
    assert not at.exception
    assert "set" not in at.query_params
    assert figures(at)


def test_a_run_is_kept_listed_compared_and_deleted_and_the_recorded_one_stays(app: Run, own: Path):
    before = runs_of(own)
    at = app(own, "replay", **ANA, set="eviction=lfu")
    assert runs_of(own) == before  # looking writes nothing
    at.button(key="replay_keep").click().run()
    assert not at.exception
    (new,) = runs_of(own).keys() - before.keys()
    assert {run: version for run, version in runs_of(own).items() if run != new} == before
    lines = {row["key"]: row for row in grids(at)[1]["rows"]}
    assert lines.keys() == runs_of(own).keys()
    assert "eviction: lru → lfu" in lines[new]["cells"][2]["text"]
    assert lines["recorded"]["cells"][-1]["text"] == ""  # no button
    compared = {row["key"]: [c["text"] for c in row["cells"]] for row in grids(at)[2]["rows"]}
    assert compared["turns"][1:] == ["191", "191", "0"]
    with Store.open(own) as store:
        store.delete_run(Scope("ana", "house-move", new))
    assert runs_of(own) == before


def test_a_store_for_reading_only_is_walked_and_keeps_nothing(app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch):
    at = app(demo, "replay", **ANA, set="eviction=lfu")
    monkeypatch.setenv("MEMORY_WORKBENCH_READONLY", "1")
    at.run()
    assert not at.exception
    assert at.button(key="replay_keep").disabled
    assert all(column["key"] != "act" for column in grids(at)[1]["columns"])


def test_a_preset_is_a_beginning(app: Run, demo: Path):
    at = app(demo, "replay", **ANA, turn="60", base="writing")
    assert not at.exception
    assert at.selectbox(key="replay_base_writing").value == "writing"
    assert any(chip.startswith("guest_steps: 1 → ") for chip in chips(at))


def test_a_fork_is_called_one_on_every_page_and_in_the_list(app: Run, own: Path):
    with Store.open(own) as store:
        fork(store, store.main_run("ana", "house-move"), 189)
    at = app(own, "replay", **ANA)
    lines = {row["key"]: row for row in grids(at)[1]["rows"]}
    (name,) = [run for run in lines if run.startswith("fork-")]
    assert [lines[name]["cells"][1][part] for part in ("text", "tone")] == ["fork", "warn"]
    assert lines[name]["cells"][1]["sub"].startswith("from turn 18")
    assert not any("A fork" in box.value for box in at.info)
    at = app(own, "live", **ANA, run=name)
    assert not at.exception
    assert any("A fork" in box.value for box in at.info)


def test_the_bare_recording_is_replayed_under_the_defaults(app: Run, demo: Path):
    at = app(demo, "replay", **ANA, run="recorded", turn="120")
    assert not at.exception
    assert figures(at)["evictions"][1] == "–"
