"""Keys: each page lists its own, none twice, and what they press is what the pages call it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import workbench
from workbench.app import NAVIGATION
from workbench.components.keyboard import ACCEPTING, REJECTING, UNDO, WALKED, keys

PAGES = [entry.name if not entry.is_default else "" for group in NAVIGATION.values() for entry in group]
ROOT = Path(workbench.__file__).parent


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_a_legend_a_search_and_no_key_twice(page: str):
    caps = [key.caps for key in keys(page)]
    assert {"?", "/"} <= set(caps)
    assert len(caps) == len(set(caps))


def test_what_a_key_presses_is_a_key_that_some_page_gives_away():
    code = "".join(file.read_text() for file in [*ROOT.rglob("*.py"), *(ROOT.parent / "pages").glob("*.py")])
    for find in (*ACCEPTING, *REJECTING, *UNDO.finds):
        for name in re.findall(r"\.st-key-(\w+)", find):
            assert f'key="{name}"' in code, name


@pytest.mark.parametrize("page", WALKED)
def test_a_page_without_a_slider_walks_by_itself(app: Callable[..., AppTest], demo: Path, page: str):
    at = app(demo, page, user="ana", conv="house-move", turn="90")
    head = next(json.loads(e.proto.json)[0] for e in at.get("bidi_component") if "heading" in e.proto.component_name)
    assert head["legend"]["walks"]
    assert [key["caps"] for key in head["legend"]["keys"]][:3] == ["← →", "⇧← ⇧→", "Home End"]
