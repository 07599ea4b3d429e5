"""The Policy lab: a grid at once, a cell by address, other grids, a store that asks nothing or is read only."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from memory.settings import Settings
from memory.stores.sql import Store
from sessions.baselines import baselines
from sessions.importer import import_recordings
from sessions.lab import grid, lab
from sessions.recording import RecordedTurn, Recording
from workbench import labs, simpler, state
from workbench.background import Background, Making
from workbench.components import lab as parts
from workbench.labs import Working
from workbench.views.lab import GRIDS

Run = Callable[..., AppTest]
begin = Making.start
ANA = {"user": "ana", "conv": "house-move"}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parts, "AT_ONCE_S", 60.0)
    monkeypatch.setattr(simpler, "AT_ONCE_S", 60.0)
    labs.forget()
    simpler.forget()


def data(at: AppTest, name: str, nth: int = 0) -> dict[str, Any]:
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(f".{name}")]
    assert found, f"no {name} on the page"
    return json.loads(found[nth].json)[0]


def shown(at: AppTest) -> str:
    boxes = [*at.markdown, *at.caption, *at.warning, *at.error]
    drawn = (json.dumps(json.loads(e.proto.json), ensure_ascii=False) for e in at.get("bidi_component"))
    return "\n".join([*(b.value for b in boxes), *drawn])


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
        assert run.made().best.n == 54
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
    assert run.made() == lab([talk], cells)


# ── simpler memories ──────────────────────────────────────────────────────────────────────────────────


def lease(path: Path, evidence: tuple[int, ...]) -> Path:
    """The lease is told of first and asked for last, when a window of 1,500 tokens has long lost it."""
    lines = ["The lease lies under the staircase.", "Noted, under the staircase."]
    for n in range(20):
        lines += [f"{n}. " + "The garden needs water and the fence needs paint before summer. " * 6, f"Noted, {n}."]
    lines += ["Where does the lease lie?", "Under the staircase."]
    turns = [
        RecordedTurn(n, "user" if n % 2 else "assistant", text, datetime(2026, 3, 2, 9, n, tzinfo=UTC),
                     evidence=evidence if "Where" in text else ())
        for n, text in enumerate(lines, 1)
    ]  # fmt: skip
    with Store.open(path) as store:
        settings = Settings.of(window_tokens=1_600, reply_tokens=100, page_turns=4)
        import_recordings(store, [Recording("c", "ana", tuple(turns))], settings=settings, remember=False)
    return path


def rows(at: AppTest, key: str) -> dict[str, list[str]]:
    (found,) = [e.proto for e in at.get("bidi_component") if e.proto.id.endswith(f"-{key}")]
    told = json.loads(found.json)[0]["rows"]
    return {row["key"]: [cell["text"] for cell in row["cells"]] if "cells" in row else [row["value"]] for row in told}


@pytest.mark.parametrize(("lang", "none"), [("en", "the store has no vectors"), ("zh", "存储里没有向量")])
def test_simpler_memories_stand_beside_ours_when_they_are_asked_for(app: Run, tmp_path: Path, lang: str, none: str):
    at = app(lease(tmp_path / "store", (1,)), "lab", lang=lang)
    assert not at.exception
    assert '"simpler_tokens"' not in shown(at)
    at.button(key="simpler_begin").click().run()
    assert not at.exception
    table = rows(at, "simpler")
    assert [table[name][2] for name in ("full history", "sliding window", "BM25", "ours")] == [
        "1 / 1", "0 / 1", "1 / 1", "1 / 1"]  # fmt: skip
    assert table["vectors"][1:] == ["–"] * 6
    assert none in shown(at)
    assert rows(at, "simpler_evidence")["sliding window"] == ["0 / 1"]
    assert table["ours"][6] == "$0.00"  # the embedded responder costs nothing
    at.number_input[0].set_value(100.0).run()
    assert at.query_params["price"] in ("100", ["100"])
    steps = int(table["BM25"][3])
    read = float(rows(at, "simpler_tokens")["BM25"][0].replace(",", "")) * steps
    assert float(rows(at, "simpler")["BM25"][6].removeprefix("$")) == pytest.approx(read * 100 / 1e6, abs=0.006)


def test_without_labels_no_memory_is_said_to_hold_anything(app: Run, tmp_path: Path):
    at = app(lease(tmp_path / "store", ()), "lab", simpler="1", price="<b>")
    assert not at.exception
    assert "workbench pin" in shown(at)  # the grid has no question; what is read needs none
    assert rows(at, "simpler")["ours"][2] == "–"
    assert "cannot be told" in shown(at)


def test_what_was_stopped_is_begun_anew_from_the_page(app: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def stopping(*_: object, say: Callable[[str], None], **__: object) -> None:
        made[0].stop()
        say("BM25 …")

    made = [Background("x")]
    monkeypatch.setattr(simpler, "baselines", stopping)
    monkeypatch.setattr(Making, "start", lambda self: (made.__setitem__(0, self), begin(self)))
    at = app(lease(tmp_path / "store", (1,)), "lab", simpler="1")
    assert not at.exception
    assert "nothing of it is kept" in shown(at)
    monkeypatch.setattr(simpler, "baselines", baselines)
    at.button(key="simpler_again").click().run()
    assert rows(at, "simpler")["BM25"][2] == "1 / 1"
