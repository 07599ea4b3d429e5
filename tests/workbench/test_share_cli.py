"""`workbench export` and `redact`, as a person runs them."""

import json

import pytest

from sessions.readers import read
from tests.workbench.conftest import run

CONVERSATION = "house-move"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, demo_copy):
    return demo_copy(tmp_path_factory.mktemp("share") / "store")


def test_a_conversation_goes_into_a_file_that_reads_back(folder, tmp_path):
    told = json.loads(run("export", tmp_path / "a.jsonl", "--store", folder, "--all", "--json"))
    assert told["conversations"] == len(list(read(tmp_path / "a.jsonl"))) == 2
    assert "nothing is overwritten" in run("export", tmp_path / "a.jsonl", "--store", folder, "--all", ok=False)


def test_a_preview_of_a_file_says_where_and_writes_nothing(tmp_path):
    file, patterns = tmp_path / "notes.txt", tmp_path / "patterns.txt"
    file.write_text("hello\nana@example.org has KD-123456\n", encoding="utf-8")
    patterns.write_text("order: KD-\\d{6}\n", encoding="utf-8")
    told = json.loads(run("redact", "--preview", file, "--patterns", patterns, "--json"))
    assert told["counts"] == {"order": 1, "e-mail address": 1}
    assert {place["where"] for place in told["places"]} == {"line 2"}
    assert "nothing would be taken out" in run("redact", "--preview", file, "--personal")


def test_a_preview_of_a_conversation_looks_through_its_turns(folder):
    told = json.loads(run("redact", "--store", folder, "--conversation", CONVERSATION, "--json"))
    assert set(told) == {"counts", "places"}
    assert "say what to look through" in run("redact", "--store", folder, ok=False)


def test_a_case_is_made_and_says_what_it_holds(folder, tmp_path):
    file = tmp_path / "move.memcase"
    made = json.loads(run("case", "make", file, "--store", folder, "-c", CONVERSATION, "--json"))
    assert (made["conversations"], made["removed"].keys()) == ([CONVERSATION], {"phone number"})
    assert CONVERSATION in run("case", "show", file)
    assert "nothing is overwritten" in run("case", "make", file, "--store", folder, "-c", CONVERSATION, ok=False)
    assert "no case file" in run("open", folder / "memory.sqlite", ok=False)
