"""The Bookmarks page: the cloud, one bookmark, edits and their undo, where nothing can be changed, hostile words."""

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from memory import Engine
from memory.confusion import Confusion
from memory.errors import StoreDamaged
from memory.models.chat import Answer
from memory.stores.sql import Store
from workbench import state, tuning
from workbench.views import bookmarks as views
from workbench.views.bookmarks import bookmarks, confused

Run = Callable[..., AppTest]
ANA = {"user": "ana", "conv": "house-move"}
LONG = "The garden needs water and the fence needs paint before the summer comes. " * 9


def data(at: AppTest, name: str) -> dict[str, Any]:
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(f".{name}")]
    assert found, f"no {name} on the page"
    return json.loads(found[0].json)[0]


def shown(at: AppTest) -> str:
    boxes = [*at.markdown, *at.text, *at.caption, *at.code, *at.error, *at.warning, *at.info]
    return "\n".join([b.value for b in boxes] + [e.proto.json for e in at.get("bidi_component")])


def answer(*_: object, **__: object) -> Answer:
    return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)


@pytest.fixture
def live_store(tmp_path: Path) -> Path:
    """A live run of nine long messages."""
    small = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200}
    with Engine.open(tmp_path / "store", user="ana", conversation="c", chat=answer, **small) as engine:
        for n in range(9):
            engine.say(f"{n}. {LONG}")
    return tmp_path / "store"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_cloud_holds_a_button_for_each_bookmark_with_a_sign(app: Run, demo: Path, lang: str):
    at = app(demo, "bookmarks", **ANA, lang=lang)
    assert not at.exception
    rows = data(at, "cloud")["rows"]
    with Store.open(demo, readonly=True) as store:
        run = next(s.scope for s in store.streams("ana", "house-move") if s.scope.run.startswith("replay"))
        view = bookmarks(store, run)
    assert [row["page"] for row in rows] == [row.page for row in view.rows]
    assert {row["sign"] for row in rows} == {"✓", "≈", "○"}
    assert max(rows, key=lambda row: row["size"])["page"] == max(view.rows, key=lambda row: len(row.uses)).page
    assert ("书签" in shown(at)) == (lang == "zh")


def test_confused_pages_stand_in_a_table_with_the_keyword_that_helps(app: Run, demo: Path):
    at = app(demo, "bookmarks", **ANA)
    rows = data(at, "table")["rows"]
    assert rows[0]["stub"] == "p4 → p3"
    assert rows[0]["turn"] == "22 cubic metres"
    assert "→" in rows[0]["why"]


def test_the_cloud_of_a_long_conversation_does_not_wait_for_the_map(
    app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch
):
    asked = threading.Event()

    def slow(*args: Any) -> Confusion:
        assert asked.wait(60)
        return confused(*args)

    monkeypatch.setattr(tuning, "LONG", 10)
    monkeypatch.setattr(views, "confused", slow)
    at = app(demo, "bookmarks", **ANA, bookmark="4")
    assert not at.exception
    assert data(at, "cloud")["rows"]
    assert shown(at).count("Asking every page for its own sentences") == 2  # in the map's place and the bookmark's
    assert not any("taken by" in caption.value for caption in at.caption)
    asked.set()
    coming = state._COMING.newest_first()[0][1]
    coming.wait(60)
    at.run()
    assert "Asking every page" not in shown(at)
    assert data(at, "table")["rows"][0]["stub"] == "p4 → p3"
    assert "taken by p3" in shown(at)


def test_a_map_that_could_not_be_made_is_told_and_made_anew_by_the_next_look(
    app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: Any) -> Confusion:
        raise StoreDamaged("the map cannot be read")

    monkeypatch.setattr(views, "confused", broken)
    at = app(demo, "bookmarks", **ANA)
    assert not at.exception
    assert "the map cannot be read" in shown(at)
    first = state._COMING.newest_first()[0][1]
    at.run()
    assert state._COMING.newest_first()[0][1] is not first


def test_the_address_opens_a_bookmark_with_its_stub_its_history_and_its_page(app: Run, demo: Path):
    at = app(demo, "bookmarks", **ANA, bookmark="4")
    assert not at.exception
    assert data(at, "cloud")["selected"] == 4
    assert any(code.value.startswith("[p4:10 m²") for code in at.code)
    assert "cellar room" in data(at, "feed")["rows"][0]["text"]
    assert {"chat", "feed", "facts"} <= {e.proto.component_name.rpartition(".")[2] for e in at.get("bidi_component")}
    assert "taken by p3 ×10" in shown(at).replace("\\", "")


@pytest.mark.parametrize("page", ["99", "x", "-1"])
def test_a_bookmark_that_is_not_there_is_no_fault(app: Run, demo: Path, page: str):
    at = app(demo, "bookmarks", **ANA, bookmark=page)
    assert not at.exception
    assert ("p99 has no bookmark" in shown(at)) == (page == "99")


def test_a_replay_says_why_nothing_can_be_changed(app: Run, demo: Path):
    at = app(demo, "bookmarks", **ANA, bookmark="4")
    assert at.button(key="bookmark_save").disabled
    assert "A replay keeps what its rules made" in shown(at).replace("\\", "")


def test_filters_narrow_the_cloud(app: Run, demo: Path):
    at = app(demo, "bookmarks", **ANA)
    field(at, "text_input", "bookmark_holds").set_value("peanut").run()
    assert [row["page"] for row in data(at, "cloud")["rows"]] == [2]
    assert at.query_params["holds"] == "peanut"
    field(at, "text_input", "bookmark_holds").set_value("nothing like it").run()
    assert data(at, "cloud")["rows"] == []
    assert not at.exception


def test_an_address_opens_with_its_filters_and_wrong_ones_are_named(app: Run, demo: Path):
    at = app(demo, "bookmarks", **ANA, came="hit,dead", order="uses", made="rarity")
    rows = data(at, "cloud")["rows"]
    assert rows
    assert {row["outcome"] for row in rows} <= {"hit", "dead"}
    assert len(rows) < len(data(app(demo, "bookmarks", **ANA), "cloud")["rows"])
    for key in ("came", "order", "made"):
        assert "nonsense" in shown(app(demo, "bookmarks", **ANA, **{key: "nonsense"}))


def field(at: AppTest, kind: str, start: str) -> Any:
    return next(each for each in getattr(at, kind) if (each.key or "").startswith(start))


def test_keywords_are_changed_and_taken_back(app: Run, live_store: Path):
    at = app(live_store, "bookmarks", bookmark="1")
    before = field(at, "text_input", "bookmark_words_1").value
    field(at, "text_input", "bookmark_words_1").set_value("green fence, June")
    field(at, "number_input", "bookmark_weight_1").set_value(2.5)
    at.button(key="bookmark_save").click().run()
    assert not at.exception
    assert any("p1:green fence" in toast.value.replace("\\", "") for toast in at.toast)
    with Engine.open(live_store, user="ana", conversation="c") as engine:
        mark = engine.page(1).bookmark
        assert (engine.pager.journal.words(mark.stub), mark.weight) == ("[p1:green fence,June]", 2.5)
    at.button(key="bookmark_undo").click().run()
    assert not at.exception
    assert field(at, "text_input", "bookmark_words_1").value == before
    assert "bookmark_undo" not in {button.key for button in at.button}


def test_what_would_not_fit_is_told_and_changes_nothing(app: Run, live_store: Path):
    at = app(live_store, "bookmarks", bookmark="1")
    field(at, "text_input", "bookmark_words_1").set_value("a1,b2,c3,d4,e5,f6")
    at.button(key="bookmark_save").click().run()
    assert not at.exception
    assert any("too many" in toast.value for toast in at.toast)
    with Engine.open(live_store, user="ana", conversation="c") as engine:
        assert engine.page(1).bookmark.origin == "rarity"


def test_a_past_turn_and_a_store_for_reading_change_nothing(
    app: Run, live_store: Path, monkeypatch: pytest.MonkeyPatch
):
    at = app(live_store, "bookmarks", bookmark="1", turn="14")
    assert at.button(key="bookmark_save").disabled
    assert "past turn" in shown(at)
    at = app(live_store, "bookmarks", bookmark="1")
    assert not at.button(key="bookmark_save").disabled
    monkeypatch.setenv("MEMORY_WORKBENCH_READONLY", "1")
    at.run()
    assert at.button(key="bookmark_save").disabled
    assert "reading only" in shown(at)


def test_a_recording_has_no_bookmarks_and_says_so(app: Run, demo: Path):
    at = app(demo, "bookmarks", **ANA, run="recorded")
    assert not at.exception
    assert "no decisions" in shown(at)


def test_a_conversation_without_a_closed_page_says_so(app: Run, tmp_path: Path):
    with Engine.open(tmp_path, user="ana", conversation="c", chat=answer) as engine:
        engine.say("Hello.")
    at = app(tmp_path, "bookmarks")
    assert not at.exception
    assert "No bookmark yet" in shown(at)


def test_hostile_keywords_are_text(app: Run, live_store: Path, tmp_path: Path):
    shutil.copytree(live_store, tmp_path / "copy")
    with Engine.open(tmp_path / "copy", user="ana", conversation="c") as engine:
        engine.bookmark(1, ["<img src=x> [a](b)", "\u202egnp"])
    at = app(tmp_path / "copy", "bookmarks", bookmark="1")
    assert not at.exception
    assert "\u202e" not in shown(at)
    assert not any("<img" in m.value for m in at.markdown)
