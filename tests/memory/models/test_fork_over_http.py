"""A fork by the command, with a model behind real HTTP on loopback: estimated, cut by a fault, gone on with."""

import json
from pathlib import Path

import pytest

from memory import Engine
from memory.models.chat import Answer
from memory.stores.sql import Store
from tests.workbench.conftest import run

SMALL = {"window_tokens": 2_000, "reply_tokens": 100, "boundary": "fixed_4", "retry_s": 0, "remember": "off"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    said = Answer("Noted.", (), 1, 1, None, "stop", "test", 1.0)
    with (
        Store.open(tmp_path / "store") as store,
        Engine.open(store, user="ana", conversation="trip", chat=lambda *a, **k: said, **SMALL) as engine,
    ):
        for n in range(1, 4):
            engine.say(f"message {n}")
    return tmp_path / "store"


def test_a_fork_is_estimated_made_and_gone_on_with(folder: Path, server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    asked = ["fork", "--store", folder, "-c", "trip", "--turn", 3, "--llm", "openai/tiny", "--api-base",
             server.options["api_base"], "--set", "page_turns=2"]  # fmt: skip
    assert "--yes" in run(*asked, "--json", ok=False)
    assert not server.asked  # an estimate calls nobody
    server.fails(401, "no such key")
    assert "error: " in run(*asked, "--yes", ok=False)
    server.says("Aye, over HTTP.")
    told = run(*asked, "--yes")
    assert "estimated: 2 messages from turn 3 on" in told
    assert "LiteLLM knows no price" in told
    assert "2 of 2 messages answered" in told
    assert len(server.asked) == 2
    again = json.loads(run(*asked, "--yes", "--json"))
    assert (again["done_before"], again["done"], again["steps"]) == (2, 2, 2)
    assert len(server.asked) == 2  # it is done: nobody is asked
    listed = json.loads(run("runs", "--store", folder, "-c", "trip", "--json"))
    line = next(line for line in listed["runs"] if line["kind"] == "fork")
    assert (line["run"], line["parent"], line["from_turn"]) == (again["run"], "live", 3)
    assert line["differs"]["page_turns"] == [4, 2]
    table = run("runs", "--store", folder, "-c", "trip")
    assert "fork" in table
    run("runs", "--store", folder, "-c", "trip", "--delete", line["run"], "--yes")
    assert "fork-" not in run("runs", "--store", folder, "-c", "trip")
