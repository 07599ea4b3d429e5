"""The commands for what is done after the replies: vectors, jobs, and the checks of what is derived."""

import json

import pytest

from memory import Engine
from memory.models.embedding import named
from memory.stores.sql import Store
from memory.stores.vectors import search
from sessions.demo import demo_files
from tests.workbench.conftest import run


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with the English demo, which nobody has embedded yet."""
    place = tmp_path_factory.mktemp("cli") / "store"
    run("import", next(p for p in demo_files() if "house" in p.name), "--store", place)
    return place


def test_work_embeds_the_closed_pages_and_reindex_the_rest(store):
    assert json.loads(run("jobs", "--store", store, "--json")) == []
    worked = json.loads(run("work", "--store", store, "--embedder", "hash", "--json"))
    assert worked["done"] > 5
    assert (worked["failed"], worked["waiting"]) == (0, 0)
    assert json.loads(run("work", "--store", store, "--json"))["done"] == 0
    listed = json.loads(run("jobs", "--store", store, "--json"))
    assert len(listed) == worked["done"]
    assert {job["state"] for job in listed} == {"done"}
    made = json.loads(run("reindex", "--store", store, "--json"))
    assert made["embedder"] == "hash-512-2"
    assert made["known"] > made["made"] > 0
    assert "0 vectors made" in run("reindex", "--store", store)
    with Store.open(store) as opened:
        user = opened.streams()[0].scope.user
        question = named("hash").queries(["what's my moving budget?"])[0]
        assert any("budget" in row["text"] for row in search(opened, user=user, vector=question, k=5))


def test_work_looks_at_the_turns_that_a_program_left_waiting(tmp_path):
    with Store.open(tmp_path / "store") as opened:
        Engine.open(opened, user="ana", conversation="trip", remember_turns=5).say("My budget is 5,000 euros.")
    where = ("-u", "ana", "--store", tmp_path / "store")
    assert "not yet" in run("memory", "ledger", *where)
    run("work", "--store", tmp_path / "store", "--embedder", "hash")
    assert "not yet" not in run("memory", "ledger", *where)
    assert "5,000 euros" in run("memory", "list", *where)


def test_verify_and_rebuild_count_what_can_be_searched(store):
    run("reindex", "--store", store, "--embedder", "hash")
    before = json.loads(run("verify", "--store", store, "--json"))
    assert before["ok"]
    assert before["vectors"]["missing"] == 0
    made = json.loads(run("rebuild", "--store", store, "--json"))
    assert made["rows"] >= sum(before["index_rows"].values()) > 200
    assert json.loads(run("verify", "--store", store, "--json")) == before


def test_another_embedder_is_told_what_to_do(store):
    run("reindex", "--store", store, "--embedder", "hash")
    said = run("work", "--store", store, "--embedder", "some/model", ok=False)
    assert "`workbench reindex --embedder some/model`" in said


def test_a_job_that_does_not_exist_is_no_job_to_retry(store):
    assert "no failed job has the number 4711" in run("jobs", "--store", store, "--retry", 4711, ok=False)
