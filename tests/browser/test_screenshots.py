"""Pictures of every page, light and dark, in both languages: `make screenshots` leaves them in artifacts/."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page

from workbench.app import NAVIGATION

pytestmark = [pytest.mark.browser, pytest.mark.screenshots]

OUT = Path(__file__).resolve().parents[2] / "artifacts" / "screenshots"
SCENES = {
    "overview": ("", {}),
    "live": ("live", {}),
    "live_past": ("live", {"turn": 78, "page": 3}),
    "turn": ("turn", {}),
    "diff": ("diff", {"a": 89, "b": 90}),
    "evictions": ("evictions", {}),
    "bookmarks": ("bookmarks", {"bookmark": 3}),
    "timeline": ("timeline", {"fact": 3}),
    "graph": ("graph", {"node": "f3"}),
    "why": ("why", {"expect": "budget", "turn": 70}),
    "review": ("review", {}),
    "tune": ("tune", {"set": "high_watermark=0.7"}),
    "lab": ("lab", {}),
    "replay": ("replay", {"turn": 120, "set": "eviction=lfu;window_tokens=5000"}),
}
WHO = {"en": {"user": "ana", "conv": "house-move"}, "zh": {"user": "lin", "conv": "tea-shop"}}
TURNS = {"en": {"turn": 98}, "zh": {"turn": 137}}  # steps in which pages left and came back
LOCALES = {"en": "en-US", "zh": "zh-CN"}


def whole(page: Page, path: Path) -> None:
    """The page at its full height: it scrolls inside, so the window grows until nothing is hidden."""
    for _ in range(2):
        page.wait_for_timeout(1_200)
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": 1440, "height": int(height)})
    page.wait_for_timeout(600)
    page.screenshot(path=path)


def test_every_page_has_a_picture():
    assert {entry.name for group in NAVIGATION.values() for entry in group} <= SCENES.keys()


@pytest.mark.parametrize("lang", WHO)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("scene", SCENES)
def test_picture(server, visit, scene: str, scheme: str, lang: str):
    path, query = SCENES[scene]
    page = visit(
        server,
        path,
        scheme=scheme,
        locale=LOCALES[lang],
        **WHO[lang],
        **query,
        **(TURNS[lang] if scene == "turn" else {}),
    )
    OUT.mkdir(parents=True, exist_ok=True)
    whole(page, OUT / f"{scene}_{scheme}_{lang}.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_picture_of_an_empty_store(empty_server, visit, scheme: str):
    page = visit(empty_server, scheme=scheme)
    OUT.mkdir(parents=True, exist_ok=True)
    whole(page, OUT / f"empty_{scheme}_en.png")


def test_picture_of_a_wrong_address(server, visit):
    page = visit(server, **WHO["en"], turn=9999)
    whole(page, OUT / "missing_light_en.png")


def test_picture_of_a_damaged_store(empty_server, visit):
    shutil.rmtree(empty_server.store, ignore_errors=True)
    empty_server.store.mkdir()
    (empty_server.store / "memory.sqlite").write_bytes(b"this is no store" * 64)
    page = visit(empty_server)
    whole(page, OUT / "damaged_light_en.png")
