"""A fork from the Replay page: told what it takes before a model is asked, made in the background, called a fork."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from memory import Engine
from memory.models.offline import OFFLINE
from memory.scope import Scope
from memory.stores.sql import Store
from workbench import forking, replaying, state
from workbench.components.forks import Wanted, address, cost, wanted
from workbench.words import Words

Run = Callable[..., AppTest]
ANA = {"user": "ana", "conv": "trip", "run": "live"}
KNOWN = "My budget is 5,000 euros."
SAID = ["Hello there.", "We leave in June.", "What does my budget allow?", "Thanks."]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch):
    """However busy the machine is, an estimate is awaited; and none is left from another test's store."""
    monkeypatch.setattr(replaying, "AT_ONCE_S", 60.0)
    monkeypatch.setattr(forking, "AT_ONCE_S", 60.0)
    replaying.forget()
    forking.forget()


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fork") / "store"
    with Store.open(path) as store:
        for conversation, messages in (("before", [KNOWN]), ("trip", SAID)):
            with Engine.open(store, user="ana", conversation=conversation, llm=OFFLINE, window_tokens=2_000) as engine:
                for message in messages:
                    engine.say(message)
    return path


@pytest.fixture
def trip(made_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made_once, tmp_path / "store")


def given(at: AppTest, key: str) -> list[dict]:
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(f".{key}")]
    return [json.loads(one.json)[0] for one in found]


def chips(at: AppTest) -> list[str]:
    return [chip for each in given(at, "facts") for chip in each["chips"]]


def forks_in(path: Path) -> list[str]:
    with Store.open(path, readonly=True) as store:
        return [s.scope.run for s in store.streams("ana", "trip") if s.scope.run.startswith("fork-")]


def keys(at: AppTest) -> set[str]:
    return {button.key for button in at.button}


@pytest.mark.parametrize("text", ["llm=gpt-4o-mini;f3=Nine; or ten;-f4", ";", "-f1", "f2=a=b"])
def test_what_is_asked_for_stands_in_the_address(text: str):
    asked = wanted(text.replace("; or", "%3B or"))
    assert wanted(address(asked.llm, asked.edits)) == asked
    assert wanted("") == Wanted("", ())


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_is_made_after_its_cost_was_shown_and_agreed_to(app: Run, trip: Path, lang: str):
    at = app(trip, "replay", **ANA, turn="5", lang=lang, fork="f1=The budget is 9,999 euros")
    assert not at.exception
    assert "f1: The budget is 9,999 euros" in chips(at)
    shown = [value for each in given(at, "facts") for _, value in each["pairs"]]
    assert shown[0] == "2"
    assert shown[-1] == "$0"
    at.button(key="fork_ask").click().run()
    assert any(OFFLINE in m.value and "$0" in m.value.replace("\\", "") for m in at.markdown)
    assert forks_in(trip) == []
    at.button(key="fork_now").click().run()
    (asked,) = forking.begun(state.open_store(), "ana", "trip")
    asked.wait(60)
    at.run()
    assert not at.exception
    assert forks_in(trip) == [asked.made.scope.run]
    assert (asked.done, asked.error, asked.cost_usd) == (2, None, 0.0)
    assert at.query_params["run"] in ("live", ["live"])
    (line,) = [row for grid in given(at, "grid") for row in grid["rows"] if row["key"] == asked.made.scope.run]
    assert line["cells"][1]["tone"] == "warn"
    at.button(key=f"fork_aside_{asked.made.scope.run}").click().run()
    assert forking.begun(state.open_store(), "ana", "trip") == []


def test_an_edit_and_a_model_go_into_the_address_and_nothing_is_asked(app: Run, trip: Path):
    at = app(trip, "replay", **ANA, turn="5", fork=";")
    at.selectbox(key="fork_fact").set_value(1).run()
    next(box for box in at.text_input if (box.key or "").startswith("fork_words_1_")).set_value("").run()
    at.text_input(key="fork_llm_").set_value(OFFLINE).run()
    assert not at.exception
    asked = f"llm={OFFLINE};-f1"
    assert at.query_params["fork"] in (asked, [asked])
    assert any(chip.startswith("without f1: ") and "5,000" in chip for chip in chips(at))
    at.button(key="fork_ask").click().run()
    at.button(key="fork_not").click().run()
    assert "fork_now" not in keys(at)
    assert forks_in(trip) == []


def test_a_price_that_nobody_knows_is_not_called_free():
    say = Words("en")
    assert [cost(usd, say) for usd in (None, 0.0, 0.01234)] == ["price unknown", "$0", "$0.0123"]


@pytest.mark.parametrize("wrong", ["<b>red</b>", "f77=x"])
def test_what_cannot_be_is_told_with_a_way_back(app: Run, trip: Path, wrong: str):
    at = app(trip, "replay", **ANA, turn="5", fork=wrong)
    assert not at.exception
    assert "fork_ask" not in keys(at)
    at.button(key="fork_reset").click().run()
    assert "fork_ask" in keys(at)


def test_in_a_read_only_store_it_is_told_and_cannot_be_made(app: Run, trip: Path, monkeypatch: pytest.MonkeyPatch):
    at = app(trip, "replay", **ANA, turn="5", fork=";")
    monkeypatch.setenv(state.READONLY_VARIABLE, "1")
    forking.forget()
    at.run()
    assert not at.exception
    assert at.button(key="fork_ask").disabled


def test_a_failure_is_kept_and_it_goes_on_from_there(trip: Path):
    with Store.open(trip) as store:
        made = forking.Forking(store, Scope("ana", "trip"), 5)
        asked = forking.asking(made)
        asked.wait(60)
        assert asked.estimate is not None
        assert forking.begun(store, "ana", "trip") == []
        asked.stop()
        asked.start()
        asked.wait(60)
        assert asked.is_done
        assert forking.begun(store, "ana", "trip") == [asked]
        store.delete_run(made.scope)
        assert forking.asking(made) is not asked
        forking.forget()
