"""An import brings each turn in once, says what became of it, and can be repeated at any time."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from memory.errors import StoreFull
from memory.events import MessageReceived, PagesRecalled, QuestionLabelled
from memory.scope import RECORDED, Scope
from memory.settings import Settings
from memory.state import fold
from memory.stores.sql import Store
from sessions.demo import demo_files, load_demo
from sessions.importer import import_recordings
from sessions.readers import read
from sessions.recording import RecordedTurn, Recording, Skipped
from sessions.replay import replay, run_name
from sessions.transcript import recording_of

Talk = Callable[..., Recording]


def everything(store: Store) -> list[tuple[object, ...]]:
    """All rows that an import may write."""
    with store.read() as connection:
        return [
            tuple(row)
            for table in ("stream", "event", "text", "snapshot")
            for row in connection.exec_driver_sql(f"SELECT * FROM {table} ORDER BY 1, 2")
        ]


def test_an_import_brings_every_turn_and_one_replay(store: Store, talk: Talk, small: Settings):
    report = import_recordings(store, [talk()], settings=small)
    (one,) = report.conversations
    assert (one.status, one.turns, one.new_turns, one.questions) == ("imported", 96, 96, 2)
    assert one.replay == run_name(small)
    assert report.came_in
    assert {s.scope.run: s.turns for s in store.streams("ana", "talk")} == {RECORDED: 96, run_name(small): 96}
    assert store.check() == []


def test_without_replay_only_the_transcript_comes_in(store: Store, talk: Talk):
    import_recordings(store, [talk()], replay=False)
    assert [s.scope.run for s in store.streams()] == [RECORDED]


def test_what_comes_back_from_the_store_is_what_went_in(store: Store, talk: Talk, demos: dict[str, Recording]):
    for one in (talk(), *demos.values()):
        import_recordings(store, [one], replay=False)
        assert recording_of(store, Scope(one.user, one.conversation, RECORDED)) == one


def test_the_transcript_holds_labels_recalls_and_questions_and_no_decision(store: Store, talk: Talk):
    one = talk()
    import_recordings(store, [one], replay=False)
    scope = Scope("ana", "talk", RECORDED)
    bodies = [e.body for e in store.events(scope)]
    kinds = {body.kind for body in bodies}
    assert kinds == {"ConversationStarted", "MessageReceived", "MessageReplied", "PagesRecalled", "QuestionLabelled",
                     "StepFinished"}  # fmt: skip
    assert sum(len(b.evidence) for b in bodies if isinstance(b, MessageReceived)) == sum(
        len(t.evidence) for t in one.turns
    )
    assert {b.by for b in bodies if isinstance(b, PagesRecalled)} == {"recorded"}
    assert [b.category for b in bodies if isinstance(b, QuestionLabelled)] == ["single", "absent"]
    state = store.state(scope)
    assert state == fold(store.events(scope))
    assert not state.open_step


def test_importing_twice_changes_nothing(store: Store, talk: Talk, small: Settings):
    import_recordings(store, [talk()], settings=small)
    before = everything(store)
    report = import_recordings(store, [talk()], settings=small)
    assert [c.status for c in report.conversations] == ["unchanged"]
    assert report.came_in
    assert everything(store) == before


def test_other_settings_add_a_run_and_change_no_other(store: Store, talk: Talk, small: Settings):
    import_recordings(store, [talk()], settings=small)
    before = store.events(Scope("ana", "talk", run_name(small)))
    import_recordings(store, [talk()], settings=small.but(eviction="fifo"))
    assert len(store.streams("ana", "talk")) == 3
    assert store.events(Scope("ana", "talk", run_name(small))) == before


@pytest.mark.parametrize("first", [1, 2, 30, 47, 95])
def test_a_longer_export_adds_its_new_turns_only(store: Store, talk: Talk, small: Settings, first: int):
    whole = talk()
    import_recordings(store, [replace(whole, turns=whole.turns[:first], questions=())], settings=small)
    kept = store.events(Scope("ana", "talk", RECORDED))
    (one,) = import_recordings(store, [whole], settings=small).conversations
    assert (one.status, one.new_turns) == ("grown", 96 - first)
    scope = Scope("ana", "talk", RECORDED)
    assert store.events(scope)[: len(kept)] == kept
    assert recording_of(store, scope) == whole
    assert store.stream(scope.at(one.replay)).turns == 96
    assert store.check() == []


def test_a_replay_goes_on_where_the_shorter_recording_ended(store: Store, talk: Talk, small: Settings):
    whole = talk()
    cut = next(t.number for t in whole.turns[40:] if t.role == "user") - 1
    import_recordings(store, [replace(whole, turns=whole.turns[:cut])], settings=small)
    import_recordings(store, [whole], settings=small)
    scope = Scope("ana", "talk", run_name(small))
    assert len(store.streams("ana", "talk")) == 2
    assert store.stream(scope).turns == 96
    assert fold(store.events(scope)).counts == replay(whole, small).counts


def test_a_shorter_export_changes_nothing_and_says_so(store: Store, talk: Talk):
    whole = talk()
    import_recordings(store, [whole], replay=False)
    before = everything(store)
    (one,) = import_recordings(store, [replace(whole, turns=whole.turns[:50])], replay=False).conversations
    assert one.status == "unchanged"
    assert "the store holds 96 turns" in one.note
    assert everything(store) == before


CHANGES: dict[str, Callable[[RecordedTurn], RecordedTurn]] = {
    "text": lambda turn: replace(turn, text="something else"),
    "role": lambda turn: replace(turn, role="system"),
    "said_at": lambda turn: replace(turn, said_at=turn.said_at.replace(year=2001)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_one_that_differs_is_refused_and_named(store: Store, talk: Talk, what: str):
    whole = talk()
    import_recordings(store, [whole], replay=False)
    before = everything(store)
    turns = list(whole.turns)
    turns[40] = CHANGES[what](turns[40])
    (one,) = import_recordings(store, [replace(whole, turns=tuple(turns))]).conversations
    assert one.status == "differs"
    assert f"turn 41 differs in its {what}" in one.reason
    assert "'talk-2'" in one.reason
    assert everything(store) == before
    renamed = replace(whole, turns=tuple(turns)).named("talk-2")
    assert import_recordings(store, [renamed], replay=False).conversations[0].status == "imported"


def test_other_labels_keep_those_in_the_store_and_say_so(store: Store, talk: Talk):
    whole = talk()
    import_recordings(store, [whole], replay=False)
    other = replace(whole, questions=tuple(replace(q, category="x") for q in whole.questions))
    (one,) = import_recordings(store, [other], replay=False).conversations
    assert one.status == "unchanged"
    assert "labelled questions differ" in one.note


def test_one_that_fails_stops_no_other(store: Store, talk: Talk, small: Settings):
    nameless = replace(talk(), user=" ")
    report = import_recordings(store, [nameless, Skipped("line 3", "broken", "{"), talk()], settings=small)
    assert [c.status for c in report.conversations] == ["failed", "imported"]
    assert "a scope needs a user" in report.conversations[0].reason
    assert report.skipped[0].where == "line 3"
    assert [row[1] for row in report.rows()] == ["failed", "imported", "skipped"]
    assert "1 failed, 1 imported" in report.summary


def test_a_replay_that_fails_keeps_the_transcript(store: Store, talk: Talk):
    tiny = Settings.of(window_tokens=300, reply_tokens=200)
    (one,) = import_recordings(store, [talk()], settings=tiny).conversations
    assert one.status == "imported"
    assert "window" in one.replay_failed
    assert [s.scope.run for s in store.streams()] == [RECORDED]


def test_nothing_readable_means_nothing_came_in(store: Store):
    assert not import_recordings(store, [Skipped("line 1", "broken")]).came_in
    assert not import_recordings(store, []).came_in


@pytest.mark.parametrize("allowed", [1, 2, 3])
def test_an_import_cut_off_in_the_middle_is_finished_by_the_next(
    store: Store, talk: Talk, monkeypatch: pytest.MonkeyPatch, allowed: int
):
    whole = talk(1_500)
    import_batch, left = _append(), [allowed]

    def append(journal: object, *args: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise StoreFull("no space left")
        return import_batch(journal, *args)

    monkeypatch.setattr("memory.stores.journal.SqlJournal.append", append)
    with pytest.raises(StoreFull):
        import_recordings(store, [whole], replay=False)
    left[0] = 1_000
    assert 0 < store.streams()[0].turns < 1_500
    (one,) = import_recordings(store, [whole], replay=False).conversations
    assert one.status == "grown"
    assert recording_of(store, Scope("ana", "talk", RECORDED)) == whole
    assert store.check() == []


def _append() -> Callable[..., object]:
    from memory.stores.journal import SqlJournal

    return SqlJournal.append


def test_secrets_are_taken_out_before_anything_is_written_and_a_second_import_still_changes_nothing(
    store: Store, talk: Talk, small: Settings
):
    key = "sk-" + "a" * 40
    whole = talk()
    turns = (*whole.turns[:2], replace(whole.turns[2], text=f"My key is {key}."), *whole.turns[3:])
    import_recordings(store, [replace(whole, turns=turns)], settings=small)
    before = everything(store)
    assert key not in str(before)
    (one,) = import_recordings(store, [replace(whole, turns=turns)], settings=small).conversations
    assert one.status == "unchanged"
    assert everything(store) == before


def test_what_a_report_shows_of_a_file_holds_no_secret(store: Store, talk: Talk):
    key = "sk-" + "a" * 40
    lost = Skipped("line 3", f"no JSON: {key}", key)
    report = import_recordings(store, [replace(talk(), notes=(key,), skipped=(lost,)), lost], replay=False)
    assert key not in str(report.to_dict()) + repr(report) + report._repr_html_()
    assert report.skipped == (Skipped("line 3", "no JSON: [api key removed]", "[api key removed]"),)


def test_two_people_with_one_conversation_name_stay_apart(store: Store, talk: Talk):
    import_recordings(store, [talk(), replace(talk(24), user="ben")], replay=False)
    assert {s.scope.user: s.turns for s in store.streams()} == {"ana": 96, "ben": 24}


def test_the_demo_loads_once(store: Store):
    report = load_demo(store)
    assert [c.status for c in report.conversations] == ["imported", "imported"]
    before = everything(store)
    assert load_demo(store) is None
    for path in demo_files():
        assert import_recordings(store, read(path)).conversations[0].status == "unchanged"
    assert everything(store) == before


def test_a_report_shows_itself(store: Store, talk: Talk):
    report = import_recordings(store, [replace(talk(), title="<b>bold</b>")], replay=False)
    assert repr(report) == "<ImportReport: 1 imported (read as workbench); 96 new turns>"
    assert report.to_dict()["conversations"][0]["status"] == "imported"
    assert "<b>" not in report._repr_html_()
