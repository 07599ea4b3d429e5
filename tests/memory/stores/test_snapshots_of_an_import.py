"""Many steps appended at once: a snapshot that falls into the middle of them is the fold of the log up to there."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from store_by_hand import open_hand

from memory.events import Body, Event
from memory.scope import Scope
from memory.state import State, fold, load
from memory.stores import folds as folds_module
from memory.stores.sql import Store
from memory.stores.tables import SNAPSHOT

SPACING = 5
STEPS = 43
SPOKEN = Scope("ana", "spoken")

Records = list[tuple[int, Body]]


@pytest.fixture
def close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots every five steps instead of every 200."""
    monkeypatch.setattr(folds_module, "SNAPSHOT_STEPS", SPACING)


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    with Store.open(tmp_path_factory.mktemp("spoken") / "store") as store:
        open_hand(store, SPOKEN, seed=5).talk(STEPS)
        return store.events(SPOKEN)


def imported(folder: Path, events: list[Event], cuts: list[int]) -> tuple[Store, Scope]:
    """The same records in a conversation of its own, in as many appends as the cuts make; the caller closes."""
    store, scope = Store.open(folder), Scope("ana", "imported")
    journal = store.open_stream(scope)
    journal.load()
    for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
        journal.append([(e.step, e.body) for e in events[start:end]], fold(events[:end]))
    return store, scope


def snapshots(store: Store, scope: Scope) -> dict[int, State]:
    """By version."""
    query = select(SNAPSHOT.c.version, SNAPSHOT.c.state).where(SNAPSHOT.c.stream == store.require(scope).id)
    with store.read() as connection:
        return {row.version: load(row.state) for row in connection.execute(query)}


def test_one_append_leaves_a_snapshot_at_every_due_step_and_each_is_the_fold(
    close: None, tmp_path: Path, spoken: list[Event]
):
    store, scope = imported(tmp_path, spoken, [])
    with store:
        found = snapshots(store, scope)
        assert sorted({state.step for state in found.values()}) == list(range(SPACING, STEPS, SPACING))
        assert all(state == fold(spoken[:version]) for version, state in found.items())
        assert all(0 < version < len(spoken) for version in found)


def test_any_version_of_it_is_the_fold_of_the_log_so_far(close: None, tmp_path: Path, spoken: list[Event]):
    store, scope = imported(tmp_path, spoken, [])
    with store:
        for version in {near for at in snapshots(store, scope) for near in (at - 1, at, at + 1)}:
            assert store.state(scope, version) == fold(spoken[:version])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_wherever_the_appends_are_cut_also_inside_a_step(
    close: None, tmp_path_factory: pytest.TempPathFactory, spoken: list[Event], data: st.DataObject
):
    cuts = sorted(data.draw(st.sets(st.integers(1, len(spoken) - 1), max_size=4)))
    store, scope = imported(tmp_path_factory.mktemp("cut"), spoken, cuts)
    with store:
        assert [(e.step, e.body) for e in store.events(scope)] == [(e.step, e.body) for e in spoken]
        found = snapshots(store, scope)
        assert all(state == fold(spoken[:version]) for version, state in found.items())
        version = data.draw(st.integers(0, len(spoken)))
        assert store.state(scope, version) == fold(spoken[:version])


def test_an_import_as_it_is_used_keeps_a_snapshot_every_two_hundred_steps(tmp_path: Path):
    with Store.open(tmp_path) as store:
        from sessions.bench import talk
        from sessions.importer import import_recordings

        import_recordings(store, [talk(900)], replay=True)
        scope = store.main_run("bench", "talk-900")
        events, found = store.events(scope), snapshots(store, scope)
        assert {state.step for state in found.values()} >= {200, 400}
        assert all(state == fold(events[:version]) for version, state in found.items())
