"""`memory consolidate` previews, applies by row and says what would be lost; `memory summaries` leads to pages."""

import json

import pytest
import typer
from typer.testing import CliRunner

from memory.errors import NotFound
from memory.facts import Candidate
from memory.longterm import LongTerm
from memory.pager import Pager, Said
from memory.scope import Scope
from memory.settings import Settings
from memory.stores.sql import Store
from workbench.sleep_cli import mount

WALKS = ["Ana walked to the old mill and the stone bridge by the river", "Ana walked to the old mill fast by the river"]

app = typer.Typer()
mount(app)


@pytest.fixture
def place(tmp_path):
    memory = LongTerm.open(tmp_path / "store", user="ana", conversation="trip")
    for text in WALKS:
        memory.write(Candidate(text, 0, len(text), layer="episodic"))
    memory.close()
    return str(tmp_path / "store")


def run(*words):
    done = CliRunner().invoke(app, list(words), catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def told(*words):
    return json.loads(run(*words, "--json"))


def test_a_preview_says_what_each_row_would_lose_and_changes_nothing(place):
    printed = run("consolidate", "-u", "ana", "--store", place)
    assert "words 'fast' of f2" in printed
    assert "nothing was changed" in printed
    [row] = told("consolidate", "-u", "ana", "--store", place)["rows"]
    assert (row["kind"], row["facts"]) == ("merge", ["f1", "f2"])
    assert row["losses"] == [{"fact": "f2", "kind": "words", "what": "fast", "where": "text"}]


def test_rows_are_applied_by_number_by_kind_or_only_without_a_loss(place):
    assert told("consolidate", "-u", "ana", "--store", place, "--apply", "--lossless")["changes"] == []
    assert told("consolidate", "-u", "ana", "--store", place, "--apply", "--kind", "forget")["changes"] == []
    done = told("consolidate", "-u", "ana", "--store", place, "--apply", "--row", "1")
    memory = LongTerm.open(place, user="ana", conversation="trip")
    assert [memory.text(f) for f in memory.facts()] == [WALKS[0]]
    memory.undo(done["changes"][0])
    assert {memory.text(f) for f in memory.facts()} == set(WALKS)
    memory.close()


def test_a_row_or_kind_that_is_not_there_is_named(place):
    with pytest.raises(NotFound, match="no row 7; this preview has 1"):
        run("consolidate", "-u", "ana", "--store", place, "--row", "7")
    with pytest.raises(NotFound, match="choose one of: doubt, merge"):
        run("consolidate", "-u", "ana", "--store", place, "--kind", "meld")


def test_nothing_is_done_before_it_is_due(place):
    assert told("consolidate", "-u", "ana", "--store", place, "--apply", "--if-due") == {"due": "", "rows": []}
    assert told("consolidate", "-u", "ana", "--store", place, "--capacity", "1")["due"] == "2 facts hold, more than 1"


def test_an_empty_memory_has_nothing_to_do(tmp_path):
    assert told("consolidate", "-u", "nobody", "--store", str(tmp_path / "new"))["rows"] == []


def test_summaries_are_made_shown_and_found_with_their_pages(tmp_path):
    place = str(tmp_path / "store")
    with Store.open(place) as store:
        pager = Pager(store.open_stream(Scope("ana", "trip")), clock=store.clock)
        pager.start(Settings())
        for n in range(5):
            pager.receive(Said(f"The hotel in Lisbon has {n + 3} rooms near the river, and costs {90 + n} euros."))
            pager.reply(Said("Noted.", role="assistant"))
        pager.commit()
    lines = told("summaries", "-u", "ana", "-c", "trip", "--store", place, "--make")
    assert [(line["level"], line["turns"]) for line in lines] == [("chapter", "1-10"), ("turns", "1-10")]
    [found] = told("summaries", "-u", "ana", "-c", "trip", "--store", place, "What does the hotel in Lisbon cost?")
    assert "p1" in found["pages"].split()
    assert "Lisbon" in run("summaries", "-u", "ana", "-c", "trip", "--store", place)
