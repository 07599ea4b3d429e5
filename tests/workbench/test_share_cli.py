"""`workbench export`, `redact` and `case`, as a person runs them."""

import json

import pytest

from memory.engine import Engine
from memory.stores.sql import Store
from sessions.readers import read
from tests.workbench.conftest import run

CONVERSATION = "house-move"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("share") / "store"
    with Store.open(place) as store:
        for name in (CONVERSATION, "other"):
            Engine.open(store, user="ana", conversation=name).say("My number is +49 30 1234567.")
    return place


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
    assert told["counts"]["phone number"] >= 1
    assert told["places"][0]["where"] == "turn 1"
    assert "say what to look through" in run("redact", "--store", folder, ok=False)


def test_a_case_is_made_and_says_what_it_holds(folder, tmp_path):
    file = tmp_path / "move.memcase"
    made = json.loads(run("case", "make", file, "--store", folder, "-c", CONVERSATION, "--json"))
    assert (made["conversations"], made["removed"].keys()) == ([CONVERSATION], {"phone number"})
    assert CONVERSATION in run("case", "show", file)
    assert "nothing is overwritten" in run("case", "make", file, "--store", folder, "-c", CONVERSATION, ok=False)
    (tmp_path / "log.memcase").write_bytes((folder / "memory.sqlite").read_bytes()[:5_000])
    assert "no case file" in run("open", tmp_path / "log.memcase", ok=False)
    assert "as html" in run("case", "html", tmp_path / "move.html", "--case", file)
