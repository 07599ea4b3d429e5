"""What a newcomer asks of the demo store, answered from the pages alone, in five actions at most."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

ANA = {"user": "ana", "conv": "house-move"}
SOON = 120_000
ENOUGH = 5


@dataclass
class Newcomer:
    """Somebody at the first page; each click and each field filled in is an action."""

    page: Page
    actions: int = 0

    def _act(self, deed: Callable[[], object]) -> None:
        self.actions += 1
        assert self.actions <= ENOUGH
        deed()
        self.page.wait_for_timeout(300)
        self.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')

    def opens(self, name: str, title: str | re.Pattern[str]) -> None:
        self._act(self.page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click)
        expect(self.page.get_by_role("heading", level=1)).to_have_text(title, timeout=SOON)

    def clicks(self, what: Locator) -> None:
        self._act(what.first.click)

    def fills(self, what: Locator, words: str) -> None:
        self._act(lambda: (what.fill(words), what.press("Enter")))

    def reads(self, what: Locator, words: str | re.Pattern[str]) -> None:
        expect(what.filter(has_text=words).first).to_be_visible(timeout=SOON)


@pytest.fixture
def newcomer(server, visit) -> Newcomer:
    return Newcomer(visit(server, **ANA))


def test_what_was_in_the_prompt_at_turn_90(newcomer: Newcomer):
    page = newcomer.page
    newcomer.opens("Turn", re.compile("Trace of step"))
    newcomer.fills(page.get_by_role("spinbutton", name="Go to turn"), "90")
    expect(page).to_have_url(re.compile("turn=90"), timeout=SOON)
    newcomer.reads(page.get_by_role("heading"), "What the model read")
    for section in ("system", "bookmarks", "recalled", "resident", "growing"):
        newcomer.reads(page.get_by_text(section, exact=True), section)
    newcomer.clicks(page.locator("summary").filter(has_text="recalled"))
    newcomer.reads(page.locator("details[open]"), "<recalled page=\"p2\"")


def test_why_page_3_left_and_what_that_cost(newcomer: Newcomer):
    page = newcomer.page
    newcomer.opens("Evictions", "What left, and what it cost")
    row = page.get_by_role("row").filter(has_text="[p3:")
    newcomer.reads(row, re.compile(r"LRU: score \d+ among \d+ candidates"))
    newcomer.reads(row, re.compile(r"[\d,]+ tokens.*wanted again at step \d+ for .*brought back \d+ time"))
    newcomer.clicks(row.get_by_role("button"))
    newcomer.clicks(page.get_by_role("tab", name="When it came and left, and why"))
    newcomer.reads(page.get_by_role("tabpanel"), "above the high watermark")


def test_why_the_assistant_forgot_the_budget(newcomer: Newcomer):
    page = newcomer.page
    newcomer.opens("Why not recalled", "Why was it not recalled?")
    newcomer.clicks(page.get_by_role("button", name=re.compile("What is my moving budget")))
    newcomer.reads(page.get_by_role("status"), "p2 did not come: it had left the window and nobody asked for it")
    newcomer.reads(page.get_by_role("status"), "smallest change that brings it back: retrieve_k=1")


def test_what_changed_between_turns_89_and_90_and_why(newcomer: Newcomer):
    page = newcomer.page
    newcomer.opens("Prompt diff", "What changed in the prompt")
    newcomer.fills(page.get_by_role("spinbutton", name="From turn"), "89")
    newcomer.fills(page.get_by_role("spinbutton", name="To turn"), "90")
    causes = page.get_by_role("list", name="What changed in the prompt").get_by_role("listitem")
    newcomer.reads(causes, "p2 was recalled by “moving budget”")
    newcomer.reads(causes, re.compile("Said since.*what's my moving budget"))


def test_what_is_believed_about_the_city_now_and_was_believed_before(newcomer: Newcomer):
    page = newcomer.page
    newcomer.opens("Timeline", "Facts over time")
    city = page.get_by_role("listitem").filter(has_text="home city")
    newcomer.reads(city, "Hamburg")
    before = page.get_by_role("button", name="The change before · Believed on")
    newcomer.clicks(before)
    newcomer.clicks(before)  # past the day on which the move was learnt
    expect(page).to_have_url(re.compile("recorded=2026-04"), timeout=SOON)
    newcomer.reads(city, "Berlin")
    expect(city.filter(has_text="Hamburg")).to_have_count(0, timeout=SOON)
