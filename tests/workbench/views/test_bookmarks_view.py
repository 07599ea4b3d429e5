"""What came of each bookmark, who made it and changed it, and what the model reads of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from memory import Engine
from memory.models.chat import Answer
from memory.pager import Pager, Said
from memory.recalls import Request
from memory.scope import LIVE, Scope
from memory.settings import Settings
from memory.stores.lease import leased
from memory.stores.sql import Store
from workbench.views.bookmarks import OUTCOMES, bookmarks, confused, size

SUBJECTS = ["garden", "violin", "harbour", "glacier", "pottery", "comet", "bakery", "falcon", "tram", "orchard"]


def text(n: int) -> str:
    word = SUBJECTS[n % len(SUBJECTS)]
    return f"The {word} is old. Everyone knows the {word} well. My {word} needs care before the summer comes. " * 8


def answer(*_: object, **__: object) -> Answer:
    return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)


@pytest.fixture
def engine(tmp_path: Path):
    settings = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200}
    with Engine.open(tmp_path, user="ana", conversation="c", chat=answer, **settings) as opened:
        for n in range(9):
            opened.say(text(n))
        yield opened


def test_a_bookmark_that_nobody_asked_for_is_dead(engine: Engine):
    view = bookmarks(engine.store, engine.scope)
    assert view.rows
    assert {row.outcome for row in view.rows} == {"dead"}
    assert sum(view.count(name) for name in OUTCOMES) == len(view.rows)


def test_a_page_that_a_person_called_back_is_a_hit(engine: Engine):
    engine.recall("p1")
    engine.say("And now?")
    row = bookmarks(engine.store, engine.scope).of(1)
    assert row.outcome == "hit"
    assert [(use.outcome, use.by, use.why) for use in row.uses] == [("hit", "user", "person")]


def labelled(store: Store, evidence: tuple[int, ...], recall: tuple[str, ...]) -> None:
    """A run in which a question with this evidence calls these pages back."""
    scope = Scope("ana", "labelled", LIVE)
    journal = store.open_stream(scope)
    with leased(journal):
        pager = Pager(journal)
        pager.start(Settings(window_tokens=2_000, page_turns=2, reply_tokens=200))
        for n in range(9):
            pager.receive(Said(text(n)))
            pager.plan(text(n))
            pager.reply(Said("All right.", role="assistant"))
            pager.settle("All right.")
            pager.commit()
        pager.receive(Said("What was it?", evidence=evidence))
        pager.plan("What was it?")
        pager.recall(Request(recall, by="recorded", evidence=evidence))
        pager.settle()
        pager.commit()


@pytest.mark.parametrize(
    ("evidence", "recall", "came_of_it"),
    [
        ((1,), ("p1",), {1: "hit"}),
        ((1,), ("p2",), {1: "missed", 2: "ambiguous"}),
        ((1, 3), ("p1",), {1: "hit", 2: "missed"}),
        ((17,), ("p1",), {1: "ambiguous"}),  # its page is in the window: no bookmark is needed for it
    ],
)
def test_labels_say_what_came_of_it(tmp_path: Path, evidence, recall, came_of_it):
    with Store.open(tmp_path) as store:
        labelled(store, evidence, recall)
        view = bookmarks(store, Scope("ana", "labelled", LIVE))
    assert {row.page: row.outcome for row in view.rows if row.uses} == came_of_it
    assert {use.why for row in view.rows for use in row.uses} == {"label"}


def test_who_made_it_and_who_changed_it_stands_in_its_history(engine: Engine):
    engine.bookmark(1, ["mine"], weight=3)
    engine.undo_bookmark(1)
    row = bookmarks(engine.store, engine.scope).of(1)
    assert [version.origin for version in row.versions] == ["rarity", "edited", "rarity"]
    assert row.versions[1].keywords == ("mine",)
    assert row.versions[1].weight == 3.0
    assert row.edits == 2
    assert row.versions[0].turn > 0


def test_what_the_model_reads_is_the_stub_the_range_or_nothing_while_the_page_is_there(engine: Engine):
    view = bookmarks(engine.store, engine.scope)
    for row in view.rows:
        if row.page in engine.state.resident:
            assert (row.place, row.as_read) == ("inside", "")
        else:
            assert row.place in ("single", "range")
            assert row.as_read == row.stub if row.place == "single" else "-p" in row.as_read
    assert {"inside", "single"} <= {row.place for row in view.rows}


def test_a_past_turn_shows_what_there_was(engine: Engine):
    then = bookmarks(engine.store, engine.scope, 6)
    now = bookmarks(engine.store, engine.scope)
    assert len(then.rows) < len(now.rows)
    assert then.turn == 6


def test_bookmarks_are_found_by_outcome_origin_page_and_words_and_put_in_order(engine: Engine):
    engine.bookmark(2, ["zeppelin"])
    engine.recall("p3")
    engine.say("And now?")
    view = bookmarks(engine.store, engine.scope)
    assert [row.page for row in view.chosen(origin="edited")] == [2]
    assert [row.page for row in view.chosen(text="ZEPP")] == [2]
    assert [row.page for row in view.chosen(text="p1")] == [1]
    assert [row.page for row in view.chosen(["hit"])] == [3]
    assert view.chosen(["hit"], origin="edited") == ()
    assert view.chosen(sort="uses")[0].page == 3
    assert [row.page for row in view.chosen()] == sorted(row.page for row in view.rows)


def test_pages_are_asked_for_with_their_own_sentences(engine: Engine):
    found = confused(engine.store, engine.scope)
    assert {each.page for each in found.outlooks} == {row.page for row in bookmarks(engine.store, engine.scope).rows}
    engine.bookmark(1, ["zeppelin"])
    without = confused(engine.store, engine.scope).of(1)
    engine.bookmark(1, ["garden"])
    with_it = confused(engine.store, engine.scope).of(1)
    assert without.found == 0 < with_it.found


def test_a_notebook_shows_the_cloud_and_runs_nothing(engine: Engine):
    engine.bookmark(1, ["<img src=x>"])
    html = bookmarks(engine.store, engine.scope)._repr_html_()
    assert "&lt;img src=x&gt;" in html
    assert "<img" not in html
    assert "hit 0" in html


def test_as_a_table_and_as_plain_values(engine: Engine):
    view = bookmarks(engine.store, engine.scope)
    assert list(view.to_df()["page"]) == [row.page for row in view.rows]
    assert view.to_dict()["rows"][0]["outcome"] == "dead"
    assert replace(view, rows=()).chosen() == ()


def test_a_bookmark_grows_with_its_uses():
    assert [size(n, 4) for n in (0, 1, 4)] == [0.0, 0.5, 1.0]
    assert size(0, 0) == 0.0
