"""The window of a turn: the one that was asked for, as its model read it, with the marks that were made since."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory import Engine
from memory.errors import NotFound
from memory.models.chat import Answer
from memory.scope import RECORDED, Scope
from memory.stores.sql import Store
from sessions.importer import import_recordings
from sessions.recording import RecordedTurn, Recording
from workbench.views.window import WindowView, window

ANSWER = Answer("I see.", (), 1, 1, None, "stop", "test", 1.0)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Five steps of two turns each; the pages hold four."""
    with Store.open(tmp_path / "store") as store:
        chat = lambda *a, **k: ANSWER
        with Engine.open(store, user="ana", conversation="trip", chat=chat, boundary="fixed_4") as opened:
            for n in range(1, 6):
                opened.say(f"message {n}")
            yield opened


def seen(engine: Engine, turn: int | None = None) -> WindowView:
    return window(engine.store, engine.scope, turn)


def marked(view: WindowView) -> list[int]:
    return [row.turn for row in view.chat if row.marked]


def test_the_turn_is_the_one_that_was_asked_for(engine: Engine):
    for turn in range(1, 11):
        view = seen(engine, turn)
        assert (view.turn, view.turns, view.step) == (turn, 10, (turn + 1) // 2)
        assert f"turn {turn} of 10" in repr(view)
    assert seen(engine) == seen(engine, 10)


def test_the_chat_ends_with_the_turn_that_was_asked_for(engine: Engine):
    for turn in range(1, 11):
        assert [row.turn for row in seen(engine, turn).chat] == list(range(1, turn + 1))


def test_the_window_of_a_message_and_of_its_reply_is_the_same(engine: Engine):
    message, reply = seen(engine, 7), seen(engine, 8)
    assert (message.segments, message.pages, message.metrics) == (reply.segments, reply.pages, reply.metrics)


def test_a_mark_made_after_the_last_prompt_is_there_at_the_newest_turn(engine: Engine):
    engine.mark(10)  # the reply: it came after the prompt
    engine.mark(3)
    view = seen(engine)
    assert marked(view) == [3, 10]
    assert [page.name for page in view.pages if page.marked] == ["p1", "p3"]
    engine.mark(10, important=False)
    assert marked(seen(engine)) == [3]
    assert [page.name for page in seen(engine).pages if page.marked] == ["p1"]


def test_a_past_turn_has_the_marks_made_before_the_next_step(engine: Engine):
    engine.mark(2)
    engine.say("message 6")
    engine.mark(4)
    assert marked(seen(engine, 10)) == [2]
    assert marked(seen(engine, 8)) == []
    assert marked(seen(engine)) == [2, 4]


def test_a_mark_is_not_what_the_model_read(engine: Engine):
    before = seen(engine)
    engine.mark(10)
    after = seen(engine)
    assert (after.used, after.segments, after.stubs) == (before.used, before.segments, before.stubs)


def test_a_turn_that_is_not_there_says_which_are(engine: Engine):
    for turn in (0, 11):
        with pytest.raises(NotFound, match="turns go from 1 to 10"):
            seen(engine, turn)


def test_a_bare_recording_has_no_window_and_says_so(tmp_path: Path):
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    said = (RecordedTurn(1, "user", "Where is Ana?", noon), RecordedTurn(2, "assistant", "In Porto.", noon))
    with Store.open(tmp_path / "store") as store:
        import_recordings(store, [Recording("trip", "ana", said)], replay=False)
        view = window(store, Scope("ana", "trip", RECORDED))
    assert f"{view.used:,} tokens, recorded without a window" in repr(view)
    assert "of 0 tokens" not in view._repr_html_()
    assert "watermark" not in view._repr_html_()
