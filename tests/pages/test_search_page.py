"""Search over everything, from the start page and from the field beside every other one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from memory import Engine
from memory.stores.sql import Store

Run = Callable[..., AppTest]
HOSTILE = '<img src=x onerror=alert(1)> "budget" \u202e[x](javascript:alert(1))'


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("search") / "store"
    with Store.open(path) as store:
        Engine.open(store, user="ana", conversation="trip").say("My budget is 5,000 euros.")
        Engine.open(store, user="lin", conversation="茶馆").say(f"我的预算是二十万。{HOSTILE}")
    return path


def sections(at: AppTest) -> dict[str, Any]:
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(".hits")]
    return {each["key"]: each["rows"] for each in json.loads(found[0].json)[0]["sections"]} if found else {}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_found_leads_to_where_it_stands(app: Run, told: Path, lang: str):
    at = app(told, "overview", seek="budget", lang=lang)
    assert not at.exception
    rows = sections(at)
    assert rows["turn"][0]["href"] == f"turn?user=ana&conv=trip&turn=1&lang={lang}"
    assert rows["turn"][0]["words"][1] == "budget"
    assert rows["fact"][0]["href"].startswith("timeline?user=ana&fact=")
    assert not any(e.proto.component_name.endswith(".cards") for e in at.get("bidi_component"))


def test_hostile_words_are_found_as_text(app: Run, told: Path):
    at = app(told, "overview", seek=HOSTILE, who="lin")
    assert not at.exception
    words = "".join(sections(at)["turn"][0]["words"])
    assert "<img src=x onerror=alert(1)>" in words
    assert "\u202e" not in words
    assert not any("<img" in text.value for text in at.markdown)


def test_nothing_found_is_said_and_an_unknown_user_is_told_with_those_that_are(app: Run, told: Path):
    assert any("zebra" in text.value for text in app(told, "overview", seek="zebra").caption)
    at = app(told, "overview", seek="budget", who="nobody")
    assert not at.exception
    assert any("ana, lin" in text.value for text in at.text)


def test_the_field_beside_a_page_leads_to_the_answer_and_it_closes_again(app: Run, told: Path):
    at = app(told, "live", user="ana", conv="trip")
    at.text_input(key="seek_aside").set_value(" 预算 ").run()
    assert not at.exception
    assert sections(at)["turn"][0]["href"].startswith("turn?user=lin")
    at.button(key="seek_close").click().run()
    assert not at.exception
    assert sections(at) == {}
    assert "seek" not in at.query_params
