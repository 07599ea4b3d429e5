"""A replay in memory answers as the run does that it is saved as."""

from collections.abc import Callable

import pytest

from memory.errors import NotFound
from memory.scope import RECORDED, Scope
from memory.settings import Settings
from memory.state import fold
from memory.stores.sql import Store
from sessions.importer import import_recordings
from sessions.recording import Recording
from sessions.replay import Running, replay, save
from sessions.replayed import Replayed
from workbench.views.window import page, window

TALK = Scope("ana", "talk", RECORDED)
SEEN = ("title", "turn", "turns", "step", "steps", "used", "free", "segments", "pages", "gone", "stubs", "metrics",
        "settings")  # fmt: skip


@pytest.fixture
def played(store: Store, talk: Callable[..., Recording], small: Settings) -> Replayed:
    import_recordings(store, [talk()], replay=False, remember=False)
    return Replayed(replay((store, TALK), small))


def test_every_turn_shows_what_the_saved_run_shows(store: Store, played: Replayed):
    scope = save(store, TALK, played.replay)
    assert scope == played.scope
    assert store.require(scope).version == played.require(scope).version
    for turn in range(1, played.replay.turns + 1, 5):
        assert store.version_at(scope, turn) == played.version_at(scope, turn)
        ours, theirs = window(played, scope, turn), window(store, scope, turn)
        assert [getattr(ours, name) for name in SEEN] == [getattr(theirs, name) for name in SEEN]
        assert [row.text for row in ours.chat] == [row.text for row in theirs.chat]
        assert [(row.step, row.kind) for row in ours.feed] == [(row.step, row.kind) for row in theirs.feed]
    assert page(played, scope, 2).row == page(store, scope, 2).row


def test_a_state_in_between_is_the_fold_up_to_there(played: Replayed):
    events = played.replay.events
    for version in (1, 2, 17, len(events) // 2, len(events)):
        assert played.state(played.scope, version) == fold(events[:version])


def test_what_is_not_there_is_said(played: Replayed):
    with pytest.raises(NotFound, match="turns go from 1 to"):
        played.version_at(played.scope, 9_999)
    with pytest.raises(NotFound, match="this replay is"):
        played.require(TALK)
    assert played.words(played.scope, [999_999]) == {}


def test_one_that_was_stopped_is_read_up_to_there(talk: Callable[..., Recording], small: Settings):
    running = Running(talk(), small)
    steps = running.steps()
    next(steps), next(steps)
    played = Replayed(running.result())
    assert 1 < played.replay.turns < 96
    assert window(played, played.scope).turns == played.replay.turns
