"""`workbench memory …` as a person uses it: look, correct, forget, undo, erase; errors are one line."""

import io
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.engine import Engine
from memory.facts import Candidate
from memory.longterm import Heard, LongTerm
from memory.scope import Scope
from memory.stores.sql import Store
from tests.workbench.conftest import run

AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)
SAID = ("My budget is 5000 euros.", "I live in Lyon.", "I am allergic to peanuts.")


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("memory") / "store"
    memory = LongTerm.open(place, user="ana", conversation="trip")
    for words in SAID:
        memory.write(words, at=AT)
    memory.write(Candidate("Booking the hotel", 0, 17, kind="task", layer="working"))
    LongTerm(memory.store, "bo").write("I am allergic to peanuts.", at=AT)
    memory.close()
    return place


@pytest.fixture
def place(told: Path, tmp_path: Path) -> Path:
    return shutil.copytree(told, tmp_path / "store")


def memory(*args: object, at: Path, ok: bool = True) -> str:
    return run("memory", *args, "--user", "ana", "--store", at, ok=ok)


def asked(*args: object, at: Path):
    return json.loads(memory(*args, "--json", at=at))


def test_the_list_names_facts_and_what_it_leaves_out(told: Path):
    shown = memory("list", at=told)
    assert "f1" in shown
    assert "budget is 5000 euros" in shown
    assert "hotel" not in shown
    assert "1 working facts of conversations" in shown
    assert "hotel" in memory("list", "-c", "trip", at=told)


def test_the_list_is_filtered_by_layer_state_tag_and_time(told: Path):
    assert [r["name"] for r in asked("list", "--tag", "topic:money", at=told)["rows"]] == ["f1"]
    assert asked("list", "--state", "retracted", at=told)["rows"] == []
    assert asked("list", "--layer", "episodic", at=told)["rows"] == []
    assert asked("list", "--valid", "2020-01-01", at=told)["rows"] == []
    assert len(asked("list", "--valid", "2026-06-01", at=told)["rows"]) == 3
    assert "no state named 'gone'" in memory("list", "--state", "gone", at=told, ok=False)
    assert "has no offset" in memory("list", "--valid", "2026-03-02T09:00", at=told, ok=False)


def test_a_fact_is_shown_with_its_words_and_both_times(told: Path):
    shown = memory("show", "f1", at=told)
    assert "My budget is 5000 euros" in shown
    assert "believed from" in shown
    view = asked("show", "f1", at=told)
    assert view["sources"][0]["quote"] == "My budget is 5000 euros"
    assert view["sources"][0]["conversation"] == "trip"
    assert "no fact f99" in memory("show", "f99", at=told, ok=False)
    assert "working fact" in memory("show", "f4", at=told, ok=False)
    assert "named f3, not 'budget'" in memory("show", "budget", at=told, ok=False)


def test_search_says_why_not_the_others(told: Path):
    found = asked("search", "what is my budget?", at=told)["rows"]
    assert (found[0]["fact"], found[0]["dropped"]) == ("f1", "")


def test_correct_history_undo(place: Path):
    assert "8000 euros" in memory("correct", "f1", "8000 euros", at=place)
    assert [r["value"] for r in asked("history", "budget", at=place)] == ["8000 euros"]
    assert [r["value"] for r in asked("history", "f1", "--knowledge", at=place)] == ["5000 euros", "8000 euros"]
    number = asked("changes", at=place)[0]["change"]
    memory("undo", number, at=place)
    assert [r["value"] for r in asked("history", "budget", at=place)] == ["5000 euros"]
    assert "was undone" in memory("undo", number, at=place, ok=False)


def test_a_correction_with_a_date_keeps_what_was_true_before(place: Path):
    memory("correct", "f1", "8000 euros", "--since", "2026-06-01", at=place)
    assert [(r["value"], r["valid_to"] is None) for r in asked("history", "budget", at=place)] == [
        ("5000 euros", False), ("8000 euros", True),
    ]  # fmt: skip


def test_two_who_correct_the_same_fact_do_not_overwrite_each_other(place: Path):
    seen = asked("show", "f1", at=place)["version"]
    memory("correct", "f1", "8000 euros", "--seen", seen, at=place)
    told = memory("correct", "f1", "9000 euros", "--seen", seen, at=place, ok=False)
    assert "was changed meanwhile" in told


def test_a_bare_figure_keeps_the_unit(place: Path):
    memory("correct", "f1", "8,500", at=place)
    assert [r["value"] for r in asked("history", "budget", at=place)] == ["8,500 euros"]
    memory("correct", asked("history", "budget", at=place)[0]["fact"], "8500 dollars", at=place)
    assert [r["value"] for r in asked("history", "budget", at=place)] == ["8500 dollars"]


def test_how_far_a_fact_got(tmp_path: Path):
    with Engine.open(tmp_path / "store", user="ana", conversation="trip") as engine:
        engine.say("My budget is 5000 euros.")
        engine.say("What is my budget?")
    found = asked("reach", "f1", at=tmp_path / "store")
    assert [(r["turn"], r["in_reply"]) for r in found["reached"]] == [(3, True)]
    told = memory("reach", "f1", at=tmp_path / "store")
    assert "turn 1 on p1" in told
    memory("correct", "f1", "8000", at=tmp_path / "store")
    assert "made of it: f2 (correct)" in memory("reach", "f1", at=tmp_path / "store")
    assert "it stood in no prompt yet" in memory("reach", "f2", at=tmp_path / "store")
    assert "no fact f9" in memory("reach", "f9", at=tmp_path / "store", ok=False)


def test_forget_by_name_and_by_topic(place: Path):
    assert "Lyon" in memory("forget", "f2", at=place)
    memory("forget", "my budget", "--yes", at=place)
    assert [r["name"] for r in asked("list", at=place)["rows"]] == ["f3"]
    assert "nothing to forget" in memory("forget", "dragons", at=place, ok=False)
    assert "say what to forget" in memory("forget", at=place, ok=False)


def test_mark_pause_resume_ledger(place: Path):
    memory("mark", "f2", "--importance", "0.9", at=place)
    assert asked("show", "f2", at=place)["row"]["importance"] == 0.9
    memory("pause", at=place)
    assert "resume" in memory("list", at=place)
    memory("resume", at=place)
    assert [r["verdict"] for r in asked("ledger", at=place)] == ["stored"] * 4


def test_conflicts_show_both_sides_and_are_settled(place: Path):
    with Store.open(place) as store:
        one, two = LongTerm(store, "ana", "here"), LongTerm(store, "ana", "there")
        seen = one.knowledge.version
        one.write("My rent is 900 euros.", at=AT)
        words = "My rent is 950 euros."
        two.learn([Heard("there", 1, two.journal.said(words), words, "user", "ana", AT)], seen)
    shown = memory("conflicts", at=place)
    assert "900 euros" in shown
    assert "950 euros" in shown
    (conflict,) = asked("conflicts", at=place)
    side = conflict["sides"][1]["row"]["name"]
    memory("settle", conflict["number"], side, at=place)
    assert asked("conflicts", at=place) == []
    assert asked("conflicts", "--all", at=place)[0]["winner"] == side


def test_erase_shows_then_takes_and_proves_it(place: Path):
    told = asked("erase", "peanut", "--verify", at=place)
    assert told["preview"]["facts"] == ["f3"]
    assert "erased" not in told, "with --json it only shows, unless --yes is given"
    assert told["before"]["clean"] is False
    done = asked("erase", "peanut", "--verify", "--yes", at=place)
    assert (done["before"]["clean"], done["after"]["clean"]) == (False, True)
    assert done["after"]["others"], "Bo's words stay"
    assert asked("list", "--state", "erased", at=place)["rows"][0]["name"] == "f3"
    assert "nothing of ana's says 'peanut'" in memory("erase", "peanut", at=place)
    assert "say what to erase" in memory("erase", at=place, ok=False)


def test_erase_prints_what_goes_and_what_stays(place: Path):
    shown = memory("erase", "Lyon", "--verify", "--yes", at=place)
    assert "to be erased: 1 facts" in shown
    assert "written as: lyon" in shown
    assert "stays: exports" in shown
    assert "after: nothing found" in shown


@pytest.mark.parametrize("answer", ["n\n", "", "what?\n"])
def test_without_a_yes_nothing_is_erased(place: Path, answer: str, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    memory("erase", "Lyon", at=place, ok=False)
    assert len(asked("list", at=place)["rows"]) == 3


@pytest.mark.parametrize(("how", "became", "left"), [("erase", "erased", 0), ("end", "ended", 0), ("keep", "kept", 3)])
def test_deleting_a_conversation_says_what_it_told_and_takes_it_along_if_asked(place: Path, how, became, left):
    with Store.open(place) as store:
        store.open_stream(Scope("ana", "trip"))
    told = json.loads(run("delete", "trip", "-u", "ana", "--store", place, "--facts", how, "--yes", "--json"))
    assert told["facts"] == ["f1", "f2", "f3", "f4"]
    assert told["facts_were"].startswith(became)
    assert len(asked("list", at=place)["rows"]) == left
    assert b"peanuts" in (place / "memory.sqlite").read_bytes(), "of Bo"


def test_deleting_with_a_word_that_is_none_deletes_nothing(place: Path):
    with Store.open(place) as store:
        store.open_stream(Scope("ana", "trip"))
    said = run("delete", "trip", "-u", "ana", "--store", place, "--facts", "drop", "--yes", ok=False)
    assert "choose one of: end, erase, keep" in said
    with Store.open(place) as store:
        assert store.streams("ana", "trip")
