"""The Why page: asked by address, by example and by hand; a change tried, made and taken back; hostile words."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from memory import Engine
from memory.models.chat import Answer
from memory.scope import Scope
from memory.stores.sql import Store

Run = Callable[..., AppTest]
ANA = {"user": "ana", "conv": "house-move"}
BUDGET = {**ANA, "turn": "70", "expect": "budget 5000", "q": "What is my moving budget?"}


def data(at: AppTest, name: str) -> dict[str, Any]:
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(f".{name}")]
    assert found, f"no {name} on the page"
    return json.loads(found[0].json)[0]


def parts(at: AppTest) -> set[str]:
    return {e.proto.component_name.rpartition(".")[2] for e in at.get("bidi_component")}


def shown(at: AppTest) -> str:
    boxes = [*at.markdown, *at.text, *at.caption, *at.code, *at.error, *at.warning, *at.info]
    return "\n".join([b.value for b in boxes] + [e.proto.json for e in at.get("bidi_component")])


@pytest.fixture
def own(demo: Path, tmp_path: Path) -> Path:
    shutil.copytree(demo, tmp_path / "store")
    return tmp_path / "store"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_stage_the_scores_and_the_way_are_there(app: Run, demo: Path, lang: str):
    at = app(demo, "why", **BUDGET, lang=lang)
    assert not at.exception
    assert {"verdict", "stages", "histogram", "way", "table"} <= parts(at)
    marks = {row["name"]: row["mark"] for row in data(at, "stages")["rows"]}
    assert marks == {"written": "ok", "indexed": "ok", "scope": "ok", "ranked": "no", "budget": "none",
                     "superseded": "none", "prompt": "none"}  # fmt: skip
    assert data(at, "verdict")["tone"] == "no"
    assert ("没有来" in data(at, "verdict")["title"]) == (lang == "zh")


def test_evidence_leads_to_its_page_and_its_turn_with_the_scope(app: Run, demo: Path):
    at = app(demo, "why", **BUDGET)
    evidence = [each for row in data(at, "stages")["rows"] for each in row["evidence"]]
    assert any(each["page"] == 2 for each in evidence)
    links = [each["href"] for each in evidence if each["href"]]
    assert all("user=ana" in link and "conv=house-move" in link for link in links)
    assert any("turn=13" in link for link in links)


def test_the_line_stands_in_the_histogram_and_in_its_table(app: Run, demo: Path):
    at = app(demo, "why", **ANA, turn="100", expect="peanuts")
    chart = data(at, "histogram")
    assert 0 < chart["line"]["left"] < 100
    assert [mark["label"] for mark in chart["marks"]] == ["p2"]
    assert sum(len(each["cells"]) for each in chart["bins"]) == len(chart["rows"])
    assert "p2" in chart["alt"]
    assert [row["name"] for row in chart["rows"] if row["carries"]] == ["p2"]


def test_an_example_answers_with_one_click(app: Run, demo: Path):
    at = app(demo, "why", **ANA)
    assert "verdict" not in parts(at)
    at.button(key="why_example_0").click().run()
    assert not at.exception
    assert "p2 did not come" in data(at, "verdict")["title"]
    assert at.query_params["turn"] in ("70", ["70"])


def test_words_are_asked_by_hand(app: Run, demo: Path):
    at = app(demo, "why", **ANA, turn="100")
    at.text_input(key="why_expect_").set_value("peanuts").run()
    assert data(at, "verdict")["title"].startswith("p2 did not come")
    at = app(demo, "why", **ANA, turn="100", expect="the")
    assert not at.exception
    assert "no word to look for" in shown(at).replace("\\", "")


def test_a_change_is_tried_made_and_taken_back(app: Run, own: Path):
    at = app(own, "why", **BUDGET)
    at.button(key="why_try").click().run()
    assert not at.exception
    rows = {row["name"]: row for row in data(at, "trial")["rows"]}
    assert (rows["p2"]["state"], rows["p2"]["holds"]) == ("came", True)
    at.button(key="why_apply").click().run()
    assert not at.exception
    live = Scope("ana", "house-move")
    with Store.open(own, readonly=True) as store:
        assert store.state(live).settings.retrieve_k == 1
    at.button(key="why_undo").click().run()
    with Store.open(own, readonly=True) as store:
        assert store.state(live).settings.retrieve_k == 0


def test_a_read_only_store_is_diagnosed_and_not_changed(app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch):
    at = app(demo, "why", **BUDGET, **{"try": "retrieve_k=1"})
    monkeypatch.setenv("MEMORY_WORKBENCH_READONLY", "1")
    at.run()
    assert not at.exception
    assert at.button(key="why_apply").disabled


def test_a_change_that_nobody_tried_is_passed_over(app: Run, demo: Path):
    at = app(demo, "why", **BUDGET, **{"try": "<b>window</b>"})
    assert not at.exception
    assert "trial" not in parts(at)


def test_what_stood_before_the_model_is_no_fault_of_memory(app: Run, demo: Path):
    at = app(demo, "why", **ANA, turn="91", expect="8000")
    assert data(at, "verdict")["tone"] == "warn"
    assert "Memory did its part" in data(at, "verdict")["says"]


def test_questions_like_it_are_told_once_they_are_wanted(app: Run, own: Path):
    at = app(own, "why", **BUDGET)
    before = len([e for e in at.get("bidi_component") if e.proto.component_name.endswith(".table")])
    at.toggle(key="why_like_shown").set_value(True).run()
    assert not at.exception
    tables = [
        json.loads(e.proto.json)[0] for e in at.get("bidi_component") if e.proto.component_name.endswith(".table")
    ]
    assert len(tables) == before + 1
    assert any("moving budget" in row["stub"] for row in tables[-1]["rows"])


def test_the_bare_recording_says_that_it_has_no_decisions(app: Run, demo: Path):
    at = app(demo, "why", **BUDGET, run="recorded")
    assert not at.exception
    assert "no decisions" in shown(at)


@pytest.mark.parametrize("page", ["live", "turn", "evictions"])
def test_other_pages_have_a_door_to_it(app: Run, demo: Path, page: str):
    at = app(demo, page, **ANA, turn="60")
    assert not at.exception
    links = [e.proto for e in at.get("page_link")]
    assert any(link.page.endswith("why") and "turn=60" in link.query_string for link in links)


HOSTILE = "<script>alert(1)</script> \u202egnp \x1b[31m [x](javascript:alert(1)) $x$ zebra"


def test_hostile_words_show_as_text(app: Run, tmp_path: Path):
    answer = Answer(f"I heard: {HOSTILE}", (), 1, 1, None, "stop", "x", 1.0)
    with Store.open(tmp_path) as store:
        engine = Engine.open(
            store, user="ana", conversation="c", chat=lambda *a, **k: answer, window_tokens=2_000, page_turns=2
        )
        for _ in range(4):
            engine.say(HOSTILE)
    at = app(tmp_path, "why", expect=HOSTILE, q=HOSTILE)
    assert not at.exception
    text = shown(at)
    assert "verdict" in parts(at)
    for sign in ("\x1b", "\\u001b", "\u202e", "\\u202e"):
        assert sign not in text
    assert not any("<script" in m.value for m in at.markdown)
