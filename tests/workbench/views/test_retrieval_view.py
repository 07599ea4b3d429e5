"""Any question of any past turn: who would come, and what dropped each of the others."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory.errors import BadMessage, NotFound, UnknownName
from memory.models.embedding import named
from memory.settings import Settings
from memory.stores.embedded import reindex
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors
from sessions.importer import import_recordings
from sessions.recording import RecordedTurn, Recording
from workbench import terminal
from workbench.views.retrieval import MOST, ask

START = datetime(2026, 3, 1, tzinfo=UTC)
TALK = [
    "I am allergic to peanuts.", "I will keep it in mind.",
    "The budget of the trip is 8,000 euros.", "Noted, 8,000 euros.",
    "My sister plays the cello in Porto.", "How lovely.",
    "我对花生过敏。", "记下了。",
]  # fmt: skip


@pytest.fixture
def told(tmp_path):
    """Four pages of two turns in a store; the newest ones stand in the window."""
    turns = tuple(
        RecordedTurn(n, "user" if n % 2 else "assistant", text, START + timedelta(minutes=n))
        for n, text in enumerate(TALK, 1)
    )
    with Store.open(tmp_path / "store") as store:
        pages_of_two = Settings.of(boundary="fixed_2")
        import_recordings(store, [Recording("trip", "ana", turns)], settings=pages_of_two, replay=True)
        yield store, store.main_run("ana", "trip")


def test_the_page_that_answers_comes_and_every_other_says_why_not(told):
    view = ask(*told, "What is the budget of the trip?", k=1)
    assert view.chosen == (2,)
    assert view.candidates[0].dropped == ""
    assert all(c.dropped and c.stage for c in view.candidates[1:])
    assert view.stages["all"] == 4


def test_the_parts_add_up_to_the_score(told):
    for c in ask(*told, "What is the budget of the trip?").candidates:
        assert c.score == pytest.approx(sum(c.shares), abs=1e-3)


def test_a_question_about_something_else_brings_nothing_and_says_what_was_missing(told):
    view = ask(*told, "Who conducted the opera in Vienna?")
    assert view.chosen == ()
    assert view.thresholds["best_coverage_idf_share"] < view.thresholds["min_coverage_idf_share"]
    assert view.note.startswith("no page holds a word of the question")


def test_a_past_turn_knows_nothing_of_later_ones(told):
    assert ask(*told, "What is the budget of the trip?", turn=2).stages["all"] == 1
    assert ask(*told, "What is the budget of the trip?", turn=2).chosen == ()


def test_asking_leaves_no_trace(told):
    store, scope = told
    before = store.last_seq()
    ask(store, scope, "What is the budget of the trip?")
    assert store.last_seq() == before


def test_with_vectors_there_are_three_channels_and_the_embedder_has_a_name(told):
    store, scope = told
    assert StoredVectors(store).newest() == ("", 0)
    reindex(store, named("hash"))
    view = ask(store, scope, "What is the budget of the trip?", vectors=StoredVectors(store))
    assert view.channels == ("words", "vectors", "mean")
    assert view.embedder == named("hash").identity
    assert view.chosen[0] == 2


def test_what_cannot_be_asked_is_told(told):
    with pytest.raises(BadMessage, match="no words"):
        ask(*told, "  ")
    with pytest.raises(NotFound, match="no turn 99"):
        ask(*told, "budget", turn=99)
    with pytest.raises(UnknownName, match="fusion"):
        ask(*told, "budget", strategy="magic")


def test_a_terminal_and_a_notebook_show_every_candidate_with_its_reason(told, capsys):
    view = ask(*told, "What is the budget of the trip?", k=1)
    many = replace(view, candidates=tuple(
        replace(view.candidates[-1], page=n, dropped=f"rank {n} > k=1") for n in range(1, MOST + 6)
    ))  # fmt: skip
    terminal.retrieval(many)
    told, html = capsys.readouterr().out, many._repr_html_()
    for n in range(1, MOST + 6):
        assert f"rank {n} >" in told
        assert f"rank {n} &gt;" in html
    assert html.count("<details>") == 1
    assert "<details>" not in view._repr_html_()


def test_it_shows_itself_as_text(told):
    view = ask(*told, "<script>alert(1)</script> budget of the trip")
    assert "<script>" not in view._repr_html_()
    assert view.to_df()["page"].iloc[0] == view.candidates[0].page
    assert repr(view).startswith("<Retrieval of")
