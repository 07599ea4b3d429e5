"""The start page: conversations to open, sorted and paged by the address; health, and jobs that are tried again."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from memory.diagnosis import SYMPTOMS
from memory.scope import Scope
from memory.stores.jobs import FAILED, claim, enqueue, failed, jobs
from memory.stores.sql import Store
from sessions.importer import import_recordings
from sessions.recording import RecordedTurn, Recording

Run = Callable[..., AppTest]
NOON = datetime(2026, 12, 2, 12, tzinfo=UTC)
HELLO = RecordedTurn(1, "user", "Hello", NOON)


def given(at: AppTest, name: str, label: str = "") -> dict[str, Any]:
    """What our component was given; of several, the one with this label."""
    every = [json.loads(e.proto.json)[0] for e in at.get("bidi_component") if e.proto.component_name.endswith(name)]
    return next(each for each in every if label in ("", each.get("label")))


@pytest.mark.parametrize(("lang", "listed"), [("en", "Conversations"), ("zh", "对话")])
def test_it_begins_with_the_conversations_and_doors_into_them(app: Run, demo: Path, lang: str, listed: str):
    at = app(demo, "overview", lang=lang)
    assert not at.exception
    cards = given(at, ".cards")["cards"]
    assert {card["title"] for card in cards} == {"Moving house: Berlin to Hamburg", "开一家茶馆"}
    assert all(card["shape"]["line"] for card in cards)
    assert [door[0] for door in cards[0]["doors"]] == ["live", "turn", "why"]
    assert all(f"lang={lang}" in door[2] for card in cards for door in card["doors"])
    rows = given(at, ".grid", listed)["rows"]
    assert {row["href"].split("&")[0] for row in rows} == {"live?user=ana", "live?user=lin"}


def test_the_address_says_by_what_the_list_is_sorted(app: Run, demo: Path):
    up = given(app(demo, "overview", sort="tokens"), ".grid", "Conversations")
    down = given(app(demo, "overview", sort="-tokens"), ".grid", "Conversations")
    assert [row["key"] for row in up["rows"]] == [row["key"] for row in down["rows"]][::-1]
    assert next(c["sorted"] for c in up["columns"] if c["key"] == "tokens") == "up"


@pytest.mark.parametrize("query", [{"sort": "x"}, {"sort": "-"}, {"from": "-1"}, {"from": "9999"}, {"from": "x" * 99}])
def test_an_address_that_says_nothing_shows_the_first_rows(app: Run, demo: Path, query: dict[str, str]):
    at = app(demo, "overview", **query)
    assert not at.exception
    assert len(given(at, ".grid", "Conversations")["rows"]) == 2


def test_of_many_conversations_a_screenful_is_sent(app: Run, tmp_path: Path):
    with Store.open(tmp_path) as store:
        many = [Recording(f"c{n:02}", "ana", (HELLO, RecordedTurn(2, "assistant", "Hi", NOON))) for n in range(45)]
        import_recordings(store, many, replay=False)
    first = given(app(tmp_path, "overview", sort="title"), ".grid", "Conversations")
    assert (len(first["rows"]), first["pager"]["after"], first["pager"]["before"]) == (20, 20, -1)
    last = given(app(tmp_path, "overview", sort="title", **{"from": "40"}), ".grid", "Conversations")
    assert [row["cells"][0]["text"] for row in last["rows"]] == [f"c{n}" for n in range(40, 45)]
    assert (last["pager"]["after"], last["pager"]["before"]) == (-1, 20)


def test_the_full_check_is_made_when_it_is_asked_for(app: Run, demo: Path):
    at = app(demo, "overview")
    assert not at.success
    at.button(key="verify").click().run()
    assert not at.exception
    assert "No fault" in at.success[0].value


def test_a_failed_job_stands_there_with_its_reason_and_only_a_writer_may_try_it_again(
    app: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with Store.open(tmp_path) as store:
        import_recordings(store, [Recording("c", "ana", (HELLO,))], replay=False)
        enqueue(store, "test", Scope("ana", "c", "recorded"), "1")
        failed(store, claim(store, ["test"]), "<b>no key</b>", for_good=True)
        assert jobs(store, state=FAILED)
    at = app(tmp_path, "overview")
    shown = given(at, ".grid", "Jobs that failed")
    assert shown["rows"][0]["cells"][1]["text"] == "<b>no key</b>"
    assert shown["columns"][-1]["kind"] == "act"
    offered = {b.proto.id.partition("export_")[2] for b in at.get("download_button")}
    assert {"failed_csv", "health_csv"} <= offered
    monkeypatch.setenv("MEMORY_WORKBENCH_READONLY", "1")
    at.run()
    assert not at.exception
    assert given(at, ".grid", "Jobs that failed")["columns"][-1]["kind"] == "text"


@pytest.mark.parametrize(("symptom", "lang"), [*((name, "en") for name in SYMPTOMS), ("slow", "zh")])
def test_every_symptom_has_its_checks_with_figures(app: Run, demo: Path, symptom: str, lang: str):
    at = app(demo, "overview", user="ana", conv="house-move", symptom=symptom, lang=lang)
    assert not at.exception
    tables = [json.loads(e.proto.json)[0] for e in at.get("bidi_component") if e.proto.component_name.endswith("grid")]
    checks = next(t for t in tables if [c["key"] for c in t["columns"]] == ["name", "says", "try"])
    assert len(checks["rows"]) == len(SYMPTOMS[symptom])
    assert all(row["cells"][0]["tone"] in ("ok", "warn", "quiet") for row in checks["rows"])


def test_a_symptom_that_is_not_known_is_told_with_those_that_are(app: Run, demo: Path):
    at = app(demo, "overview", user="ana", conv="house-move", symptom="grumpy")
    assert not at.exception
    assert any("keeps the old value" in text.value for text in at.text)
