"""Both pages on an empty store, on the demo, on stores that cannot be read, and with hostile words."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from memory import Engine
from memory.models.chat import Answer
from memory.stores.sql import FILE, Store
from workbench.app import NAVIGATION

PAGES = ["live", "turn"]  # those with a scrubber and a page to read
ALL = [entry.name for group in NAVIGATION.values() for entry in group]
Run = Callable[..., AppTest]


def data(at: AppTest, name: str) -> dict[str, Any]:
    """What a component of ours was given."""
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(f".{name}")]
    assert found, f"no {name} on the page"
    return json.loads(found[0].json)[0]


def parts(at: AppTest) -> set[str]:
    return {e.proto.component_name.rpartition(".")[2] for e in at.get("bidi_component")}


def shown(at: AppTest) -> str:
    """Every text of the page, also inside components."""
    boxes = [*at.markdown, *at.text, *at.caption, *at.code, *at.error, *at.warning, *at.info]
    return "\n".join([b.value for b in boxes] + [e.proto.json for e in at.get("bidi_component")])


# ── the demo ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_page_shows_the_demo(app: Run, demo: Path, page: str, lang: str):
    at = app(demo, page, user="ana", conv="house-move", turn="100", lang=lang)
    assert not at.exception
    assert data(at, "scrubber")["turn"] == 100
    assert at.query_params["turn"] in ("100", ["100"])


def test_the_live_window_has_all_its_parts(app: Run, demo: Path):
    at = app(demo, user="ana", conv="house-move")
    assert {"heading", "scrubber", "figures", "token_bar", "page_list", "feed", "stubs", "chat"} <= parts(at)
    bar = data(at, "token_bar")
    assert sum(s["width"] for s in bar["segments"]) == pytest.approx(100)
    assert {m["kind"] for m in bar["marks"]} == {"low", "high"}


def test_the_trace_has_all_its_parts(app: Run, demo: Path):
    at = app(demo, "turn", user="ana", conv="house-move", turn="100")
    assert {"heading", "scrubber", "facts", "chat", "feed", "prompt"} <= parts(at)
    assert next(s["name"] for s in data(at, "prompt")["sections"]) == "system"


def test_the_trace_shows_what_is_known_and_what_was_kept(app: Run, demo: Path):
    at = app(demo, "turn", user="ana", conv="house-move", turn="1")
    assert not at.exception
    assert "replaces" in shown(app(demo, "turn", user="ana", conv="house-move", turn="79")) or "stored" in shown(at)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_diff_groups_changes_by_cause(app: Run, demo: Path, lang: str):
    at = app(demo, "diff", user="ana", conv="house-move", a="89", b="90", lang=lang)
    assert not at.exception
    causes = {cause["kind"]: cause for cause in data(at, "diff")["causes"]}
    assert "moving budget" in causes["recalled"]["title"]
    assert {change["section"] for change in causes["said"]["changes"]} == {"new"}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_eviction_says_what_it_cost(app: Run, demo: Path, lang: str):
    at = app(demo, "evictions", user="ana", conv="house-move", lang=lang)
    assert not at.exception
    rows = data(at, "table")["rows"]
    assert rows
    assert any(not row["chosen"] for row in rows)
    assert all("lru" in row["why"].lower() for row in rows)


def test_the_layout_of_a_diff_is_in_its_address(app: Run, demo: Path):
    ana = {"user": "ana", "conv": "house-move", "a": "89", "b": "90"}
    assert data(app(demo, "diff", **ana), "diff")["layout"] == "changes"
    at = app(demo, "diff", **ana, layout="beside")
    assert data(at, "diff")["layout"] == "beside"
    at.button_group(key="diff_layout_beside_en").set_value("unified").run()
    assert (data(at, "diff")["layout"], at.query_params["layout"]) == ("unified", "unified")
    assert not app(demo, "diff", **ana, layout="sideways").exception


def test_the_diff_of_turns_that_are_not_there_takes_the_nearest(app: Run, demo: Path):
    at = app(demo, "diff", user="ana", conv="house-move", a="0", b="99999")
    assert not at.exception
    assert data(at, "diff")["causes"]


def test_any_question_can_be_asked_of_a_turn_and_every_page_says_why_it_would_not_come(app: Run, demo: Path):
    at = app(demo, "turn", user="ana", conv="house-move", turn="100")
    at.text_input(key="ask").set_value("What was the budget for the move?").run()
    assert not at.exception
    parts_shown = [e.proto for e in at.get("bidi_component")]
    tables = [json.loads(p.json)[0] for p in parts_shown if p.component_name.endswith(".table")]
    considered = next(t for t in tables if any("words" in row["parts"] for row in t["rows"]))
    assert any(row["chosen"] for row in considered["rows"])
    assert all(row["why"] for row in considered["rows"])


def test_the_scope_goes_along_to_the_next_page(app: Run, demo: Path):
    at = app(demo, user="ana", conv="house-move", turn="60")
    at.switch_page("../pages/turn.py").run()
    assert data(at, "scrubber")["turn"] == 60
    assert data(at, "heading")["subtitle"] == "Moving house: Berlin to Hamburg"


def test_a_page_is_read_by_its_address(app: Run, demo: Path):
    at = app(demo, user="ana", conv="house-move", page="3")
    names = [json.loads(e.proto.json)[0].get("pairs") for e in at.get("bidi_component")]
    assert any(pairs and pairs[0] == ["Turns", "21–30"] for pairs in names)


def test_the_bare_recording_says_that_it_has_no_decisions(app: Run, demo: Path):
    at = app(demo, user="ana", conv="house-move", run="recorded")
    assert not at.exception
    assert "no decisions" in shown(at)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"user": "nobody"}, "no user “nobody”"),
        ({"user": "ana", "conv": "nowhere"}, "house-move"),
        ({"user": "ana", "conv": "house-move", "run": "none"}, "no run “none”"),
        ({"user": "ana", "conv": "house-move", "turn": "9999"}, "turns 1 to"),
        ({"user": "ana", "conv": "house-move", "turn": "x"}, "a turn is a number"),
        ({"user": "ana", "conv": "house-move", "page": "999"}, "no page 999"),
    ],
)
def test_a_wrong_address_says_what_there_is(app: Run, demo: Path, page: str, query: dict[str, str], says: str):
    at = app(demo, page, **query)
    assert not at.exception
    assert says in shown(at).replace("\\", "")


# ── nothing there, or not to be had ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", ALL)
def test_an_empty_store_says_what_to_do(app: Run, tmp_path: Path, page: str):
    at = app(tmp_path / "new", page)
    assert not at.exception
    assert "workbench open --demo" in shown(at)


@pytest.mark.parametrize("page", ALL)
def test_a_damaged_store_says_so(app: Run, tmp_path: Path, page: str):
    (tmp_path / FILE).write_bytes(b"this is no store" * 100)
    at = app(tmp_path, page)
    assert not at.exception
    assert "damaged" in shown(at)


def test_a_store_of_a_newer_version_says_so(app: Run, tmp_path: Path):
    Store.open(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("INSERT INTO migration SELECT number + 100, name, applied_us FROM migration LIMIT 1")
    connection.close()
    at = app(tmp_path)
    assert not at.exception
    assert "newer version" in shown(at)


def test_a_read_only_workbench_offers_no_box(app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch):
    at = app(demo, user="ana", conv="house-move")
    assert at.chat_input
    monkeypatch.setenv("MEMORY_WORKBENCH_READONLY", "1")
    at.run()
    assert not at.exception
    assert not at.chat_input
    assert data(at, "chat")["may_mark"] is False


# ── hostile words ─────────────────────────────────────────────────────────────────────────────────────

HOSTILE = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)> [a](javascript:alert(1)) :red[x] $x$"
    " safe \u202egnp.exe\u202c \u2066isolate\u2069 \x1b[31mred\x1b[0m \x07bell"
    "\n\n# head\n\n- item ![p](http://example.com/x.png) href",
    "long": "endless " * 131_072,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_words_show_as_text(app: Run, tmp_path: Path, name: str):
    words = HOSTILE[name]
    answer = Answer(f"I heard: {words}", (), 1, 1, None, "stop", "x", 1.0)
    small = {"window_tokens": 2_000, "page_turns": 2} if name != "long" else {"window_tokens": 4_000_000}
    with Store.open(tmp_path) as store:
        engine = Engine.open(
            store, user="ana", conversation="c", title=words[:150], chat=lambda *a, **k: answer, **small
        )
        for _ in range(4 if name != "long" else 1):
            engine.say(words)
    for page in ALL:
        at = app(tmp_path, page)
        assert not at.exception
        text = shown(at)
        assert len(text) < 2_000_000
        assert "\x1b" not in text
        assert "\\u001b" not in text
        assert "\u202e" not in text
        assert "\\u202e" not in text
        assert not any("<script" in m.value for m in at.markdown)
