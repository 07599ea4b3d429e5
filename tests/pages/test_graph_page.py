"""The graph page: on an empty store, on the demo, by its address, with hostile words, and for reading only."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from memory import Engine
from memory.facts import Candidate
from memory.longterm import LongTerm
from memory.models.chat import Answer
from memory.stores.sql import Store
from workbench import state
from workbench.pyvis_graph import SHAPES, library
from workbench.server import _drawing

Run = Callable[..., AppTest]
ANA = {"user": "ana", "conv": "house-move"}


def parts(at: AppTest) -> dict[str, list[Any]]:
    """What each component of ours was given, by its name."""
    found: dict[str, list[Any]] = {}
    for e in at.get("bidi_component"):
        found.setdefault(e.proto.component_name.rpartition(".")[2], []).append(e.proto.json)
    return found


def drawn(at: AppTest) -> dict[str, Any]:
    return json.loads(parts(at)["network"][0])[0]


def shown(at: AppTest) -> str:
    boxes = [*at.markdown, *at.text, *at.caption, *at.info]
    return "\n".join([b.value for b in boxes] + [e.proto.json for e in at.get("bidi_component")])


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_demo_is_drawn_and_listed_node_by_node(app: Run, demo: Path, lang: str):
    at = app(demo, "graph", **ANA, lang=lang)
    assert not at.exception
    data = drawn(at)
    assert {n["kind"] for n in data["nodes"]} == set(SHAPES)
    assert data["options"]["physics"] == {"enabled": False}
    listed = json.loads(parts(at)["node_list"][0])[0]["rows"]
    assert {r["id"] for r in listed} == {n["id"] for n in data["nodes"]}
    assert data["alt"]
    assert at.get("download_button")


def test_nothing_is_painted_but_labels(app: Run, demo: Path):
    for node in drawn(app(demo, "graph", **ANA))["nodes"]:
        assert not {"title", "says", "image", "icon"} & node.keys()


def test_a_kind_a_word_and_a_time_of_the_address_filter(app: Run, demo: Path):
    at = app(demo, "graph", **ANA, kinds="claim,entity")
    assert {n["kind"] for n in drawn(at)["nodes"]} == {"claim", "entity"}
    at = app(demo, "graph", **ANA, find="rent")
    assert 0 < len(drawn(at)["nodes"]) < 40
    at = app(demo, "graph", **ANA, since="2100-01-01")
    assert not at.exception
    assert "network" not in parts(at)
    assert "fits these filters" in shown(at)


def test_a_node_of_the_address_is_opened_with_its_words_sources_and_edges(app: Run, demo: Path):
    at = app(demo, "graph", **ANA, node="f1")
    assert not at.exception
    assert drawn(at)["selected"] == "f1"
    told = shown(at)
    assert "The user's name is Ana." in told
    assert "belongs to" in told
    assert at.get("page_link")


@pytest.mark.parametrize("node", ["p1", "b1"])
def test_pages_and_bookmarks_are_opened_with_what_was_said(app: Run, demo: Path, node: str):
    at = app(demo, "graph", **ANA, node=node)
    assert not at.exception
    assert "#1 " in shown(at)


def test_an_edge_of_the_address_is_opened_with_both_ends(app: Run, demo: Path):
    at = app(demo, "graph", **ANA)
    edge = next(e for e in drawn(at)["edges"] if e["kind"] == "updates")
    at = app(demo, "graph", **ANA, node=edge["id"])
    assert not at.exception
    assert "updates" in shown(at)
    ends = [json.loads(p)[0]["rows"] for p in parts(at)["node_list"]]
    assert any({r["id"] for r in rows} == {edge["from"], edge["to"]} for rows in ends)


@pytest.mark.parametrize("node", ["f999", "nothing", "f1>f2:topical", "<script>alert(1)</script>"])
def test_a_node_that_is_not_there_is_said_to_be_none(app: Run, demo: Path, node: str):
    at = app(demo, "graph", **ANA, node=node)
    assert not at.exception
    assert "not in the graph" in shown(at)
    assert not any(re.search(r"(?<!\\)<script", m.value) for m in at.markdown)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"kinds": "tea"}, "no kind of node “tea”"),
        ({"depth": "9"}, "“9” is no number of steps"),
        ({"since": "soon"}, "“soon” is no day"),
        ({"behind": "me"}, "Nothing stands behind “me”"),
    ],
)
def test_a_wrong_address_says_what_there_is(app: Run, demo: Path, query: dict[str, str], says: str):
    at = app(demo, "graph", **ANA, **query)
    assert not at.exception
    assert says in shown(at).replace("\\", "")
    at.button(key="go_back").click().run()
    assert "network" in parts(at)


def test_behind_a_turn_only_what_stood_behind_it_is_drawn(app: Run, demo: Path):
    whole = {n["id"] for n in drawn(app(demo, "graph", **ANA))["nodes"]}
    at = app(demo, "graph", **ANA, behind="turn", turn="90")
    assert not at.exception
    behind = {n["id"] for n in drawn(at)["nodes"]}
    assert behind < whole


def test_behind_a_question_each_node_has_the_path_of_the_walk(app: Run, demo: Path):
    at = app(demo, "graph", **ANA, behind="question", q="What rent do I pay?")
    assert not at.exception
    rows = json.loads(parts(at)["node_list"][0])[0]["rows"]
    assert rows[0]["kind"] in ("claim", "event")
    assert rows[0]["id"] in rows[0]["meta"]
    assert not app(demo, "graph", **ANA, behind="question").exception


def test_nodes_that_stay_keep_their_place_when_others_come_and_go(app: Run, demo: Path):
    at = app(demo, "graph", **ANA)
    before = {n["id"]: (n["x"], n["y"]) for n in drawn(at)["nodes"]}
    at.query_params["kinds"] = "claim,page"
    at.run()
    after = {n["id"]: (n["x"], n["y"]) for n in drawn(at)["nodes"]}
    assert after.keys() < before.keys()
    assert after == {node: before[node] for node in after}


def test_our_server_serves_the_code_that_draws_and_no_run_of_the_page_carries_it(
    app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch
):
    at = app(demo, "graph", **ANA)
    assert "vis" in parts(at), "a plain streamlit has no route of ours: a part carries the code"
    assert drawn(at)["code"] == ""
    monkeypatch.setenv(state.PUSH_VARIABLE, "1")
    at.run()
    assert not at.exception
    assert "vis" not in parts(at)
    own = next(e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(".network"))
    assert len(own.js_content) < 20_000
    served = TestClient(Starlette(routes=[Route(f"/{drawn(at)['code']}", _drawing)])).get("/vis-network.js")
    assert (served.text, served.headers["content-type"].partition(";")[0]) == (library(), "text/javascript")


def test_for_reading_only_it_shows_the_same(app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch):
    whole = drawn(app(demo, "graph", **ANA))
    at = app(demo, "graph", **ANA)
    monkeypatch.setenv("MEMORY_WORKBENCH_READONLY", "1")
    at.run()
    assert not at.exception
    assert {n["id"] for n in drawn(at)["nodes"]} == {n["id"] for n in whole["nodes"]}


HOSTILE = "</script><img src=x onerror=alert(1)> [a](javascript:alert(1)) :red[x] $x$ \u202egnp"


def test_hostile_words_are_words_in_every_part(app: Run, tmp_path: Path):
    with Store.open(tmp_path) as store:
        answer = Answer(HOSTILE, (), 1, 1, None, "stop", "x", 1.0)
        Engine.open(store, user="ana", conversation="c", chat=lambda *a, **k: answer, page_turns=2).say(HOSTILE)
        LongTerm(store, "ana", "c").write(
            Candidate(HOSTILE, 0, 9, subject=HOSTILE, attribute=HOSTILE, value=HOSTILE, tags=("topic:x",)),
            at=datetime(2026, 3, 2, tzinfo=UTC),
        )
    names = [n["id"] for n in drawn(app(tmp_path, "graph", user="ana", conv="c"))["nodes"]]
    assert {name[0] for name in names} >= {"f", "e", "p"}
    for name in names:
        at = app(tmp_path, "graph", user="ana", conv="c", node=name)
        assert not at.exception
        assert not any("<img" in m.value or "](javascript" in m.value for m in [*at.markdown, *at.caption])
        assert "\\u202e" not in shown(at)
        assert "\u202e" not in shown(at)
