"""One prompt built otherwise on the Turn page: asked for by a button, told by the address, and nothing is written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from memory.stores.sql import Store
from sessions.counterfactual import what_if
from workbench import asking

Run = Callable[..., AppTest]
ANA = {"user": "ana", "conv": "house-move", "turn": "120"}


def rows(at: AppTest, key: str) -> list[dict[str, Any]]:
    (found,) = [e.proto for e in at.get("bidi_component") if e.proto.id.endswith(f"-{key}")]
    return json.loads(found.json)[0]["rows"]


def test_a_smaller_budget_takes_parts_out_and_each_part_says_what_it_costs(app: Run, demo: Path):
    with Store.open(demo, readonly=True) as store:
        before = store.last_seq()
    at = app(demo, "turn", **ANA, lang="zh")
    assert not at.exception
    at.button(key="whatif_begin").click().run()
    left_out = rows(at, "whatif_left_out")
    assert left_out
    costs = [int(row["cells"][2]["text"].replace(",", "")) for row in left_out]
    assert costs == sorted(costs, reverse=True)
    at.number_input[0].set_value(4_000)
    next(b for b in at.button if b.form_id).click().run()
    assert not at.exception
    assert at.query_params["if"] in ("window_tokens=4000", ["window_tokens=4000"])
    assert any(int(row["cells"][4]["text"].replace(",", "")) == 0 for row in rows(at, "whatif_moved"))
    with Store.open(demo, readonly=True) as store:
        assert store.last_seq() == before


def test_what_cannot_be_built_is_told_with_a_way_back(app: Run, demo: Path):
    at = app(demo, "turn", **ANA, **{"if": "-f999999"})
    assert "f999999" in at.warning[0].value
    at.query_params["if"] = "<script>=1"
    at.run()
    assert not at.exception
    assert at.warning
    at.button(key="whatif_reset").click().run()
    assert not at.exception
    assert rows(at, "whatif_left_out")


def told(at: AppTest) -> str:
    boxes = [*at.markdown, *at.caption, *at.warning]
    return "\n".join([*(b.value for b in boxes), *(e.proto.json for e in at.get("bidi_component"))])


def sides(at: AppTest) -> list[dict[str, Any]]:
    (found,) = [e.proto for e in at.get("bidi_component") if e.proto.id.endswith("-whatif_replies")]
    return json.loads(found.json)[0]["sides"]


def test_a_model_is_asked_both_prompts_after_its_cost_is_shown(app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(asking, "AT_ONCE_S", 60.0)
    asking.forget()
    at = app(demo, "turn", **ANA, **{"if": "window_tokens=3000"})
    assert "whatif_model_takes" not in told(at)
    at.toggle(key="whatif_ask_120").set_value(True).run()
    assert not at.exception
    assert '["Calls", "2"]' in told(at)
    assert '["Cost, at most", "$0"]' in told(at)  # the embedded responder
    assert not [e for e in at.get("bidi_component") if e.proto.id.endswith("-whatif_replies")]
    at.button(key="whatif_model_ask").click().run()
    assert not at.exception
    one, other = sides(at)
    assert (one["title"], other["title"]) == ("Before", "After")
    words = "".join(text for _, text in one["pieces"])
    assert "".join(text for kind, text in one["pieces"] if kind == "same") == "".join(
        text for kind, text in other["pieces"] if kind == "same"
    )
    assert {kind for kind, _ in one["pieces"]} <= {"same", "gone"}
    with Store.open(demo, readonly=True) as store:
        made = what_if(store, store.main_run("ana", "house-move"), 120, settings={"window_tokens": 3_000})
    assert words == made.asked().replies[0]


def test_a_model_that_cannot_be_asked_says_why(app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(asking, "AT_ONCE_S", 60.0)
    asking.forget()
    at = app(demo, "turn", **ANA, lang="zh", **{"if": "window_tokens=3000"})
    at.toggle(key="whatif_ask_120").set_value(True).run()
    at.text_input(key="whatif_llm").set_value("no-such-company/<b>x</b>").run()
    assert not at.exception
    at.button(key="whatif_model_ask").click().run()
    assert not at.exception
    assert at.warning
    assert at.button(key="whatif_model_ask")  # it may be asked again
