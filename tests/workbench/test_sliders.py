"""Sliders in a notebook: what is moved is replayed in a thread and shown as on the Tune page; applied and saved."""

import builtins
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench
from memory import Engine
from memory.errors import BadSetting, StoreReadOnly
from memory.settings import described
from memory.stores.sql import Store
from sessions.pinned import between
from sessions.presets import load, preset
from sessions.questions import Pinned, pin
from workbench import replaying
from workbench.components import sources
from workbench.inline import Place
from workbench.launched import Server, Workbench
from workbench.slider_widget import COLUMNS, Sliders
from workbench.tuner import Stale, Tuner


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, demo_copy: Callable[[Path], Path]) -> Iterator[Store]:
    with Store.open(demo_copy(tmp_path_factory.mktemp("sliders") / "store")) as opened:
        pin(opened, Pinned("Who plays the oboe?", "ana", "house-move", expect=("oboe",)))
        yield opened


@pytest.fixture(scope="module")
def here(store: Store) -> Place:
    return store, store.main_run("ana", "house-move")


@pytest.fixture
def sliders(here: Place) -> Iterator[Sliders]:
    made = workbench.sliders(here)
    assert isinstance(made, Sliders)
    made.wait()
    yield made
    made.wait()
    made.close()


def heard(sliders: Sliders, name: str, value: Any = None) -> None:
    sliders._heard(sliders, {"part": "dials", "name": name, "value": value}, [])


def moved(sliders: Sliders, n: int, **changes: Any) -> None:
    heard(sliders, "move", {"n": n, "changes": changes})


def dial(sliders: Sliders, name: str) -> dict[str, Any]:
    return next(each for each in sliders.parts["dials"]["dials"] if each["name"] == name)


# ── moved in the widget ───────────────────────────────────────────────────────────────────────────────


def test_every_setting_is_there_and_nothing_has_moved(sliders: Sliders):
    assert {each["name"] for each in sliders.parts["dials"]["dials"]} == {entry["name"] for entry in described()}
    assert sliders.parts["dials"]["may"] == {"apply": False, "undo": False, "reset": False}
    assert not any(column["changed"] for column in sliders.parts["strip"]["columns"])
    assert "diff" not in sliders.parts
    assert json.loads(json.dumps(sliders.parts)) == sliders.parts
    for folder in {folder for column in COLUMNS for _, folder in column}:
        assert json.dumps(sources(folder)[0], ensure_ascii=False) in str(sliders._esm)


def test_a_moved_slider_shows_which_turns_change_and_why(sliders: Sliders):
    moved(sliders, 1, high_watermark=0.7, recall_k=6)
    made = sliders.effect
    assert sliders.changes == {"high_watermark": 0.7, "recall_k": 6}
    assert sum(c["changed"] for c in sliders.parts["strip"]["columns"]) == len(made.turns) > 0
    assert "no longer in the window" in sliders.parts["why"]["note"]
    assert {c["kind"] for c in sliders.parts["diff"]["causes"]} >= {"evicted"}
    rows = {row["key"]: [c["text"] for c in row["cells"]] for row in sliders.parts["figures"]["rows"]}
    assert rows["faults"][1:3] == [str(made.before.faults), str(made.after.faults)]
    assert {"prompt_tokens", "hit_ratio"} <= rows.keys()
    assert sliders.parts["pinned"]["rows"][0]["cells"][0]["text"] == "Who plays the oboe?"
    for part, told in (("pinned_worth", made.pinned_honesty), ("worth", made.honesty)):
        assert f"n = {told.n} in 1 conversation" in json.dumps(sliders.parts[part])
    assert len(sliders.parts["questions"]["rows"]) == sum(1 for each in made.answers if each.moved) > 0
    assert sliders.parts["dials"]["heard"] == 1
    assert dial(sliders, "high_watermark")["moved"]
    heard(sliders, "turn", made.turns[3].turn)
    chosen = [c["turn"] for c in sliders.parts["strip"]["columns"] if c["chosen"]]
    assert chosen == [made.turns[3].turn]
    heard(sliders, "reset")
    sliders.wait()
    assert sliders.changes == {}


def test_dragging_queues_no_replays(sliders: Sliders, monkeypatch):
    asked: list[float] = []
    begun, go_on = threading.Event(), threading.Event()
    under = Tuner.under

    def counted(tuner: Tuner, settings: Any, *rest: Any) -> Any:
        asked.append(settings.high_watermark)
        begun.set()
        assert go_on.wait(20)
        return under(tuner, settings, *rest)

    monkeypatch.setattr(Tuner, "under", counted)
    moved(sliders, 1, high_watermark=0.8)
    assert begun.wait(20)
    for n, value in enumerate((0.79, 0.78, 0.77, 0.76), start=2):
        moved(sliders, n, high_watermark=value)
    go_on.set()
    sliders.wait()
    assert asked == [0.8, 0.76]
    assert sliders.changes == {"high_watermark": 0.76}
    assert sliders.parts["dials"]["heard"] == 5


def test_what_cannot_be_is_told_and_what_was_stays(sliders: Sliders):
    moved(sliders, 1, low_watermark=0.9)
    assert sliders.parts["dials"]["refused"]
    assert "low_watermark" in sliders.parts["dials"]["told"]
    moved(sliders, 2, window_tokens=300)  # refused by the replay: no room
    sliders.wait()
    assert sliders.parts["dials"]["refused"]
    assert sliders.changes == {}
    assert dial(sliders, "window_tokens")["value"] == 8_000
    with pytest.raises(BadSetting):
        sliders.move(low_watermark=0.9)
    moved(sliders, 3, page_turns=20)
    sliders.wait()
    assert not sliders.parts["dials"]["refused"]
    assert sliders.changes == {"page_turns": 20}


def test_a_replay_that_is_wanted_no_more_is_stopped_and_goes_on_when_it_is(here: Place):
    replaying.forget()
    tuner = Tuner(*here)
    with pytest.raises(Stale):
        tuner.under(tuner.base.but(page_turns=7), lambda: True)
    assert tuner.move(page_turns=7).after.pages > tuner.effect.before.pages


def test_a_replay_that_is_still_stopping_goes_on_when_it_is_wanted_again(store: Store, here: Place):
    replaying.forget()
    source = replaying.source_of(store, here[1])
    playing = replaying.playing(store, source, Tuner(*here).base.but(page_turns=6))
    playing.stop()
    playing.start()
    playing.wait(60)
    assert playing.is_done


# ── kept ──────────────────────────────────────────────────────────────────────────────────────────────


def test_applied_to_the_live_engine_taken_back_and_taken_along(tmp_path: Path):
    with Store.open(tmp_path / "store") as store:
        engine = Engine.open(store, user="ana", conversation="trip", remember="off", window_tokens=2_000)
        for n in range(4):
            engine.say(f"Day {n}: we walk to the harbour. " * 20)
        made = workbench.sliders(engine)
        assert isinstance(made, Sliders)
        made.wait()
        heard(made, "preset", "support")
        made.wait()
        wanted = preset("support")
        assert {name: made.changes.get(name, getattr(made.settings, name)) for name in wanted} == wanted
        assert made.parts["dials"]["may"]["apply"]
        heard(made, "apply")
        assert {name: getattr(engine.settings, name) for name in wanted} == wanted  # the same engine talks on with it
        assert made.parts["dials"]["may"] == {"apply": False, "undo": True, "reset": True}
        assert load(made.save(tmp_path / "tuned.toml")) == made.settings
        assert made.parts["dials"]["files"]["settings.toml"] == (tmp_path / "tuned.toml").read_text("utf-8")
        heard(made, "undo")
        assert engine.settings == made.tuner.base
        engine.say("One more day.")
        assert made.move(page_turns=4).steps == 5  # the conversation as it is now
        made.close()


def test_a_reader_applies_nothing(store: Store):
    with Store.open(store.path, readonly=True) as reader:
        made = workbench.sliders((reader, reader.main_run("ana", "house-move")), recall_k=6)
        assert isinstance(made, Sliders)
        made.wait()
        assert not made.parts["dials"]["may"]["apply"]
        with pytest.raises(StoreReadOnly):
            made.apply()
        made.close()


# ── where there are no widgets ────────────────────────────────────────────────────────────────────────


def test_without_widgets_the_same_by_hand_and_as_html(here: Place, sliders: Sliders, monkeypatch):
    def without(name: str, *rest: object) -> object:
        if name == "workbench.slider_widget":
            raise ImportError("No module named 'anywidget'", name="anywidget")
        return real(name, *rest)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without)
    tuner = workbench.sliders(here, recall_k=6)
    monkeypatch.undo()
    assert isinstance(tuner, Tuner)
    assert repr(tuner) == "<Tuner of ana/house-move: recall_k 3 → 6>"
    html = tuner._repr_html_()
    assert "recall_k 3 → 6" in html
    assert "<summary>eviction</summary>" in html
    assert 'aria-label="Tokens of 90 prompts under these settings"' in html
    assert "high_watermark 6,800" in html
    assert "<script" not in html
    assert tuner.to_dict()["changes"] == {"recall_k": 6}
    assert set(tuner.to_df()["setting"]) == {entry["name"] for entry in described()}
    sliders.move(recall_k=6)
    shown, _ = sliders._repr_mimebundle_()
    assert shown["text/html"] == html
    assert "application/vnd.jupyter.widget-view+json" in shown


def test_a_handle_and_a_magic_have_them_too(here: Place):
    store, scope = here
    made = Workbench(Server(1, 2, "t"), store.path, store, scope).sliders(recall_k=6)
    assert made.changes == {"recall_k": 6}
    assert made.effect == workbench.tune(here, recall_k=6)
    made.close()


def test_a_pinned_question_is_asked_again_once_more_is_known(tmp_path: Path):
    """The replays are the same ones; a question asked aside is answered by facts, which changed."""
    with Engine.open(tmp_path / "store", user="ana", conversation="trip") as engine:
        engine.say("The weather is fine today.")
        pin(engine.store, Pinned("What is my budget?", "ana", "trip", "cross", expect=("budget 8000",)))
        tuner = Tuner(engine.store, engine.scope)
        (before,) = tuner.effect.pinned
        with Engine.open(tmp_path / "store", user="ana", conversation="other") as other:
            other.say("My budget is 8,000 euros.")
        (after,) = tuner.effect.pinned
    assert (before.after.won, after.after.won) == (False, True)


def test_pinned_questions_asked_replay_by_replay_are_told_as_those_asked_of_both(store: Store, here: Place):
    tuner = Tuner(*here)
    for change in ({"recall_k": 6}, {"high_watermark": 0.7}):
        made = tuner.move(**change)
        assert made.pinned == between(store, *made.replays)
