"""`workbench why` and `bisect`: on a demo conversation, the cause and the smallest change."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from workbench.cli import app


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, demo_copy) -> Path:
    return demo_copy(tmp_path_factory.mktemp("why") / "store")


def ask(demo: Path, *words: str) -> str:
    told = CliRunner().invoke(app, [*words, "--store", str(demo), "-u", "ana", "-c", "house-move"])
    assert told.exit_code == 0, told.output
    return told.output


def test_why_names_the_stage_and_a_change_that_was_tried(demo: Path):
    found = json.loads(ask(demo, "why", "peanuts", "--turn", "100", "--json"))
    assert found["stage"] == "ranked"
    assert found["remedy"]
    assert any(remedy["works"] for remedy in found["remedies"])
    assert found["remedy"] in ask(demo, "why", "peanuts", "--turn", "100")


def test_it_is_there_among_the_commands_for_what_is_remembered_as_well(demo: Path):
    assert ask(demo, "memory", "why", "peanuts", "--turn", "100") == ask(demo, "why", "peanuts", "--turn", "100")


def test_what_was_never_said_is_told_as_that(demo: Path):
    assert "never written" in ask(demo, "why", "a zebra in the cellar")


def test_bisect_names_the_turns_and_the_eviction(demo: Path):
    told = ask(demo, "bisect", "5,000")
    assert "entered at turn" in told
    assert "evicted by lru" in told


def test_words_that_say_nothing_are_refused(demo: Path):
    told = CliRunner().invoke(app, ["why", "the", "--store", str(demo), "-u", "ana", "-c", "house-move"])
    assert told.exit_code == 1


def test_ask_like_tells_earlier_questions_and_what_each_brought(demo: Path):
    found = json.loads(ask(demo, "ask", "what is my moving budget?", "--like", "-k", "2", "--json"))
    assert len(found["rows"]) == 2
    assert all(row["came"] for row in found["rows"])
    told = ask(demo, "ask", "what is my moving budget?", "--like", "-k", "2")
    assert "moving budget" in told.partition("question")[2]
    assert "by meaning" in told


def test_diagnose_goes_through_the_checks_and_names_the_first_suspect(demo: Path):
    found = json.loads(ask(demo, "diagnose", "keeps the old value", "--json"))
    suspects = [each for each in found["findings"] if each["verdict"] == "suspect"]
    assert found["says"].startswith(suspects[0]["name"])
    assert all(each["evidence"] for each in suspects)
    told = ask(demo, "diagnose", "keeps the old value", "--turn", "60")
    assert "messages looked at for facts" in told


def test_an_unknown_symptom_lists_all(demo: Path):
    told = CliRunner().invoke(app, ["diagnose", "hungry", "--store", str(demo), "-u", "ana", "-c", "house-move"])
    assert told.exit_code == 1
    assert "contradicts itself, costly" in str(told.exception)
