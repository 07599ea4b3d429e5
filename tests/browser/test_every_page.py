"""Each page in Chromium, light and dark: it opens without a fault, legible, in the reader's language."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from workbench.app import NAVIGATION

pytestmark = pytest.mark.browser

ANA = {"user": "ana", "conv": "house-move"}
LIN = {"user": "lin", "conv": "tea-shop"}
SOON = 120_000
FAINT = Path(__file__).with_name("faint.js").read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", [entry.name for group in NAVIGATION.values() for entry in group])
def test_a_page_opens_without_a_fault(server, visit, path: str, scheme: str):
    page = visit(server, path, scheme=scheme, turn=100, **ANA)
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"\w"), timeout=SOON)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=SOON)
    expect(page.locator("[data-testid=stException]")).to_have_count(0)
    assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is (scheme == "dark")
    assert page.evaluate(FAINT) == {}


def test_an_opened_popover_is_legible_in_the_dark(server, visit):
    page = visit(server, scheme="dark", **ANA)
    page.get_by_role("button", name="Export").first.click()
    expect(page.get_by_role("button", name="CSV")).to_be_visible(timeout=SOON)
    assert page.evaluate(FAINT) == {}


def test_the_browsers_language_is_spoken_and_can_be_changed(server, visit):
    page = visit(server, "live", locale="zh-CN", **LIN)
    expect(page.get_by_role("heading", level=1)).to_have_text("实时窗口", timeout=SOON)
    links = page.get_by_test_id("stSidebarNavLink")
    assert links.count() == sum(map(len, NAVIGATION.values()))  # none is hidden
    page.get_by_text("English", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Live window", timeout=SOON)
    assert "lang=en" in page.url
