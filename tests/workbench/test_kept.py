"""What the process of the pages keeps by what it was given has an end."""

from pathlib import Path
from queue import SimpleQueue

import pytest

from memory import Engine
from memory.scope import LIVE, Scope
from memory.stores.sql import Store
from workbench import live, state


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The store of the pages."""
    monkeypatch.setenv(state.STORE_VARIABLE, str(tmp_path / "store"))
    state.forget()
    return state.open_store()


def test_what_a_run_holds_is_kept_no_longer_than_the_run(opened: Store):
    for name in ("trip", "dinner"):
        Engine.open(opened, user="ana", conversation=name).say("Hello.")
    assert {figures.turns for figures in state.overview().conversations} == {2}
    (held,) = state._COUNTED.values()
    assert len(held) == 2
    opened.delete("ana", "trip")
    assert [figures.conversation for figures in state.overview().conversations] == ["dinner"]
    (held,) = state._COUNTED.values()
    assert len(held) == 1


def test_a_run_that_did_not_move_is_not_counted_again(opened: Store, monkeypatch: pytest.MonkeyPatch):
    engines = {name: Engine.open(opened, user="ana", conversation=name) for name in ("trip", "dinner")}
    for engine in engines.values():
        engine.say("Hello.")
    state.overview()
    counted, again = state.census.counted, []
    monkeypatch.setattr(state.census, "counted", lambda store, runs: again.extend(runs) or counted(store, runs))
    engines["trip"].say("Hello again.")
    assert {row.conversation: row.turns for row in state.overview().conversations} == {"trip": 4, "dinner": 2}
    assert [run.scope for run in again] == [Scope("ana", "trip", LIVE)]


def test_messages_that_ended_and_nobody_looks_at_make_room(opened: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live, "_UNDER_WAY", {})
    monkeypatch.setattr(live, "MOST_ENDED", 2)
    ended: SimpleQueue[bool] = SimpleQueue()

    def speak(said: live.Utterance, *_: object) -> None:
        said.done = said.text != "A long one."
        ended.put(True)

    monkeypatch.setattr(live, "_speak", speak)
    for name, text in [("first", "A long one."), *((f"trip-{n}", "Hello.") for n in range(5))]:
        live.say_aloud(text, "ana", name)
        ended.get(timeout=60)
    kept = [conversation for _, _, conversation in live._UNDER_WAY]
    assert kept == ["first", "trip-2", "trip-3", "trip-4"]
