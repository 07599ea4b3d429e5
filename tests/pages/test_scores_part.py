"""The scorecard, the bill, thumbs and pins, on the pages that have them: what a reader does is kept and undone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from memory.stores.sql import Store
from sessions.blind import choices
from sessions.questions import file_of, read
from sessions.scores import SCORES, ratings
from workbench import asking, state
from workbench.words import Words

Run = Callable[..., AppTest]
ANA = {"user": "ana", "conv": "house-move", "lang": "en"}


def grid(at: AppTest, label: str) -> dict[str, Any]:
    """What the grid of this label was given."""
    given = [json.loads(e.proto.json)[0] for e in at.get("bidi_component") if e.proto.component_name.endswith(".grid")]
    return next(each for each in given if each["label"] == label)


def drawn(at: AppTest, name: str) -> list[dict[str, Any]]:
    """What the parts of this name were given."""
    parts = (e.proto for e in at.get("bidi_component"))
    return [json.loads(each.json)[0] for each in parts if each.component_name.endswith(f".{name}")]


def button(at: AppTest, key: str) -> Any:
    return next(each for each in at.button if each.key and each.key.startswith(key))


@pytest.fixture
def own(demo: Path, tmp_path: Path) -> Path:
    """A copy of the demo that a test may change."""
    return Path(shutil.copytree(demo, tmp_path / "own"))


def test_the_scorecard_has_every_score_and_opens_what_counts_against_one(app: Run, demo: Path):
    at = app(demo, "overview", score="precision", **ANA)
    assert not at.exception
    rows = grid(at, "Scorecard")["rows"]
    assert [row["key"] for row in rows] == list(SCORES)
    undefined = next(row for row in rows if row["key"] == "ratings")
    assert [cell["text"] for cell in undefined["cells"]][1:4] == ["–", "not measured", "–"]
    against = grid(at, "Against")["rows"]
    assert against
    worth = [dict(each["pairs"]) for each in drawn(at, "facts")]
    assert any("of 90 steps have one" in each.get("labels", "") for each in worth)
    assert all(row["href"].startswith("turn?turn=") for row in against)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_profiles_and_a_wrong_one(app: Run, demo: Path, lang: str):
    at = app(demo, "overview", profile="support", user="lin", conv="tea-shop", lang=lang)
    assert not at.exception
    at = app(demo, "overview", profile="odd", user="lin", conv="tea-shop", lang=lang)
    assert not at.exception
    assert any("odd" in each.value for each in (*at.markdown, *at.error, *at.text, *at.caption, *at.warning))


def test_the_bill_stands_on_the_evictions_page(app: Run, demo: Path):
    at = app(demo, "evictions", **ANA)
    assert not at.exception
    assert any("would have lacked" in dict(each["pairs"]).get("not measured", "") for each in drawn(at, "facts"))
    assert grid(at, "What it cost to carry")["rows"]


def test_a_reply_is_rated_and_the_rating_taken_back(app: Run, own: Path):
    at = app(own, "turn", turn="2", **ANA)
    button(at, "rate_1_").click().run()
    with Store.open(own, readonly=True) as store:
        scope = store.main_run("ana", "house-move")
        assert ratings(store, scope) == {2: 1}
    button(at, "rate_1_").click().run()
    with Store.open(own, readonly=True) as store:
        assert ratings(store, scope) == {}


def test_a_question_is_pinned_and_taken_out_on_the_why_page(app: Run, own: Path):
    at = app(own, "why", expect="peanut", q="What am I allergic to?", **ANA)
    button(at, "pin_question").click().run()
    with Store.open(own, readonly=True) as store:
        (kept,) = read(file_of(store))
        assert (kept.question, kept.expect) == ("What am I allergic to?", ("peanut",))
    button(at, "pin_question").click().run()
    with Store.open(own, readonly=True) as store:
        assert read(file_of(store)) == ()


def test_a_store_for_reading_offers_no_act(app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch):
    at = app(demo, "turn", turn="2", **ANA)
    monkeypatch.setenv(state.READONLY_VARIABLE, "1")
    state.forget()
    at.run()
    assert button(at, "rate_1_").disabled


def test_a_long_run_is_counted_when_somebody_asks(app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workbench.components.scores.UNASKED", 10)
    at = app(demo, "evictions", **ANA)
    with pytest.raises(StopIteration):
        grid(at, "What it cost to carry")
    button(at, "count_bill").click().run()
    assert grid(at, "What it cost to carry")["rows"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_two_replies_stand_without_names_until_one_is_chosen(
    app: Run, own: Path, monkeypatch: pytest.MonkeyPatch, lang: str
):
    monkeypatch.setattr(asking, "AT_ONCE_S", 60.0)
    at = app(own, "overview", **{**ANA, "lang": lang})
    at.toggle(key="blind_open").set_value(True).run()
    at.text_input(key="blind_question").set_value("What is my moving budget?").run()
    assert not at.exception
    assert not drawn(at, "replies")  # nobody was asked yet
    at.button(key="blind_model_ask").click().run()
    assert not at.exception
    (shown,) = drawn(at, "replies")
    assert [side["title"] for side in shown["sides"]] in (["Reply 1", "Reply 2"], ["回复 1", "回复 2"])
    with Store.open(own, readonly=True) as store:
        scope = store.main_run("ana", "house-move")
        assert not choices(store, scope)
    at.button(key="blind_2").click().run()
    assert not at.exception
    with Store.open(own, readonly=True) as store:
        (kept,) = choices(store, scope)
        texts = store.words(scope)
    second = "".join(text for _, text in shown["sides"][1]["pieces"])
    assert texts[kept.memory if kept.chosen == "memory" else kept.plain] == second
    assert at.text_input(key="blind_question").value == ""
    row = next(row for row in grid(at, Words(lang)("scores.title"))["rows"] if row["key"] == "preferred")
    assert row["cells"][3]["text"] == "1"


def test_a_store_that_is_only_read_asks_nobody(app: Run, demo: Path, monkeypatch: pytest.MonkeyPatch):
    at = app(demo, "overview", **ANA)
    assert not at.toggle(key="blind_open").disabled
    monkeypatch.setenv(state.READONLY_VARIABLE, "1")
    state.forget()
    assert at.run().toggle(key="blind_open").disabled
