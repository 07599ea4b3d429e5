"""What says how good a memory is, as commands: exit codes for CI, one JSON document each."""

import json
from pathlib import Path

import pytest

from memory import Engine
from memory.models.chat import Answer
from memory.stores.sql import Store
from sessions.blind import choices
from tests.workbench.conftest import run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def answer(*_: object, **__: object) -> Answer:
        return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)

    path = tmp_path_factory.mktemp("quality") / "store"
    settings = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200}
    with Engine.open(path, user="ana", conversation="c", chat=answer, **settings) as engine:
        engine.say("The blue folder with the lease lies under the staircase.")
        for n in range(9):
            engine.say(f"{n}. " + "The garden needs water and the fence needs paint before summer. " * 10)
    return path


def test_a_pinned_question_that_is_lost_after_it_was_won_fails(place: Path):
    asked = ("Where is the blue folder with the rental contract?", "--expect", "folder staircase", "--store", place)
    name = json.loads(run("pin", *asked, "--json"))["name"]
    assert json.loads(run("check", "--store", place, "--json"))["won"] == 1
    sets = ("min_coverage=1", "min_margin=1", "window_tokens=2000", "page_turns=2", "reply_tokens=200")
    strict = [word for each in sets for word in ("--set", each)]
    told = run("check", "--store", place, *strict, ok=False)
    assert "LOST, was won" in told
    assert json.loads(run("unpin", name, "--store", place, "--json"))[0]["question"] == asked[0]
    assert "0 of 0" in run("check", "--store", place)


def test_the_questions_that_ship_are_asked_of_the_demo_wherever_it_is_loaded(tmp_path: Path):
    asked = json.loads(run("check", "demo", "--store", tmp_path / "empty", "--json"))
    assert (asked["n"], asked["regressions"]) == (81, [])
    assert asked["won"] >= 64


def test_a_file_that_is_not_there_is_an_error(place: Path):
    assert "there is no file" in run("check", "nowhere.jsonl", "--store", place, ok=False)


def test_scores_and_bill_are_one_document_each(place: Path):
    card = json.loads(run("score", "--profile", "support", "--store", place, "--json"))
    assert (card["profile"], card["steps"]) == ("support", 10)
    assert card["honesty"]["weights"].startswith("nothing was tuned")
    assert "what the scores are worth" in run("score", "--store", place)
    assert "what the bill is worth" in run("bill", "--store", place)
    assert json.loads(run("bill", "--price", "1", "--store", place, "--json"))["cost_usd"] > 0
    assert "choose one of" in run("score", "--profile", "odd", "--store", place, ok=False)


def test_baselines_set_simpler_memories_beside_ours(place: Path):
    run("reindex", "--embedder", "hash", "--store", place)  # questions are asked by vectors that cost nothing
    told = json.loads(run("baselines", "--store", place, "--price", "2", "--set", "window_tokens=1200", "--json"))
    rows = {row["name"]: row for row in told["rows"]}
    assert {"full history", "sliding window", "BM25", "ours"} <= set(rows)
    assert told["budget"] == 1_200 - 200
    assert rows["sliding window"]["tokens"] < rows["full history"]["tokens"]
    assert all(row["over"] == 0 for name, row in rows.items() if name != "full history")
    assert rows["ours"]["cost_usd"] == pytest.approx(rows["ours"]["tokens"] * 2 / 1_000_000)


def test_a_comparison_names_the_two_only_after_the_choice_and_keeps_it(place: Path):
    asked = ("compare", "Where is the blue folder with the lease?", "--store", place)
    told = json.loads(run(*asked, "--choice", 2, "--json"))
    assert {told["first"], told["second"]} == {"memory", "plain"}
    assert told["chosen"] == told["second"]
    assert "staircase" in told["replies"][[told["first"], told["second"]].index("memory")]
    shown = run(*asked, "--choice", 0)
    assert shown.index("reply") < shown.index("you chose neither")
    with Store.open(place, readonly=True) as store:
        kept = [each.chosen for each in choices(store, store.main_run("ana", "c"))]
    assert kept == [told["chosen"], "neither"]
    assert "choose 1 or 2" in run(*asked, "--choice", 7, ok=False)


def test_what_asking_twice_may_take_is_said_before_and_nobody_is_asked_at_a_price_unasked(place: Path):
    asked = ("--store", place, "--llm", "no-such-company/x")
    for command in (("compare", "Where is the lease?", "--choice", 0), ("what-if", 19, "--ask")):
        assert "--yes says that no-such-company/x may be called" in run(*command, *asked, "--json", ok=False)
    told = json.loads(run("what-if", 19, "--set", "high_watermark=0.4", "--set", "low_watermark=0.3", "--ask",
                          "--llm", "workbench/offline", "--store", place, "--json"))  # fmt: skip
    assert len(told["replies"]) == 2
