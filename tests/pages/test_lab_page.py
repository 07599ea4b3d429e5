"""The Policy lab: a grid at once, a cell by address, other grids, a store that asks nothing or is read only."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from memory.stores.sql import Store
from sessions.importer import import_recordings
from sessions.lab import grid, lab
from sessions.recording import RecordedTurn, Recording
from workbench import labs, state
from workbench.components import lab as parts
from workbench.labs import Working
from workbench.views.lab import GRIDS

Run = Callable[..., AppTest]
ANA = {"user": "ana", "conv": "house-move"}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parts, "AT_ONCE_S", 60.0)
    labs.forget()


def data(at: AppTest, name: str, nth: int = 0) -> dict[str, Any]:
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(f".{name}")]
    assert found, f"no {name} on the page"
    return json.loads(found[nth].json)[0]


def shown(at: AppTest) -> str:
    boxes = [*at.markdown, *at.caption, *at.warning, *at.error]
    return "\n".join([b.value for b in boxes] + [e.proto.json for e in at.get("bidi_component")])


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_small_grid_stands_there_at_once(app: Run, demo: Path, lang: str):
    at = app(demo, "lab", **ANA, lang=lang)
    assert not at.exception
    heat = data(at, "heat")
    assert [row["name"] for row in heat["rows"]] == ["fixed_5", "fixed_10", "fixed_20", "exchange_5"]
    assert [column["apart"] for column in heat["columns"]] == [False, False, False, True]
    cells = [cell for row in heat["rows"] for cell in row["cells"]]
    assert sum("★" in cell["mark"] for cell in cells) == sum(cell["chosen"] for cell in cells) == 1
    front = data(at, "front")
    assert len(front["rows"]) == len(front["dots"]) == 48
    assert str(len([d for d in front["dots"] if d["kind"] == "front"])) in front["alt"]
    told = shown(at)
    assert "n = 54" in told  # asked in all
    assert "n = 27" in told  # had to be recalled
    facts = [data(at, "facts", n) for n in range(4)]  # one cell, and what three results are worth
    worth = "nobody looked for wrong ones" if lang == "en" else "没人查过有无错误"
    assert sum(worth in json.dumps(each, ensure_ascii=False) for each in facts) == 3


def test_a_cell_and_a_metric_by_address(app: Run, demo: Path):
    at = app(demo, "lab", **ANA, metric="regret", room="8000", cell="0")
    assert not at.exception
    assert data(at, "heat")["rows"][0]["cells"][0]["sub"] == ""
    assert "fixed_5 · fifo · content · 2,000 tokens" in shown(at)


def test_by_pages_there_is_no_front_and_what_an_address_says_wrongly_is_as_at_first(app: Run, demo: Path):
    at = app(demo, "lab", **ANA, grid="pages", metric="beauty", room="x", cell="9999", over="nobody")
    assert not at.exception
    assert "no cell has a price in tokens" in shown(at)
    assert len(data(at, "heat")["rows"]) == 4


def test_nothing_asked_and_hostile_names_are_told(app: Run, tmp_path: Path):
    said = RecordedTurn(1, "user", "<script>alert(1)</script>", datetime(2026, 3, 2, tzinfo=UTC))
    with Store.open(tmp_path / "store") as store:
        import_recordings(store, [Recording("`c`", "<b>u</b>", (said,))], replay=False, remember=False)
    at = app(tmp_path / "store", "lab")
    assert not at.exception
    assert "workbench pin" in shown(at)


def test_a_store_that_is_only_read_keeps_nothing(app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(state.READONLY_VARIABLE, "1")
    with Store.open(demo, readonly=True) as store:
        talk = labs.talk(store, store.main_run("ana", "house-move"))
        run = labs.working(store, [talk], GRIDS["pages"]()[:1])
        run.wait(30)
        assert run.found().best.n == 54
        assert labs.working(store, [talk], GRIDS["pages"]()[:1]) is run


def test_a_run_that_was_stopped_goes_on(demo: Path):
    with Store.open(demo, readonly=True) as store:
        talk = labs.talk(store, store.main_run("lin", "tea-shop"))
    cells = grid(boundaries=("fixed_20", "exchange_5"), evictions=("lru",), pages=(5,))
    run = Working([talk], cells, None)
    run.start()
    run.stop()  # after the part that it is in, if it is not done by then
    run.wait(30)
    run.start()
    run.wait(30)
    assert run.found() == lab([talk], cells)
