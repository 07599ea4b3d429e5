"""One prompt built otherwise on the Turn page: asked for by a button, told by the address, and nothing is written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from memory.stores.sql import Store

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
