"""A replay played in a real browser: turn by turn, until the reader pauses it."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
SOON = 120_000


def test_a_replay_plays_and_pauses(server, visit):
    page = visit(server, "replay", user="ana", conv="house-move", turn=100, set="eviction=lfu")
    walked = page.locator(".where.num")
    expect(walked).to_contain_text("Turn 100 of 191", timeout=SOON)
    page.get_by_role("radio", name="5×", exact=True).click()
    page.get_by_role("button", name="Play", exact=True).click()
    expect(walked).to_contain_text(re.compile("Turn 1(0[2-9]|[1-9]\\d) of 191"), timeout=SOON)
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible(timeout=SOON)
    assert re.search("turn=1\\d\\d", page.url)


def test_a_fork_is_asked_for_once_and_its_form_stays_closed(own_server, visit):
    page = visit(own_server, "replay", user="ana", conv="house-move", turn=188, fork=";")
    page.get_by_role("button", name="Make this fork…").click()
    page.get_by_role("button", name="Ask the model", exact=True).click()
    expect(page.get_by_role("link", name="Open the fork")).to_be_visible(timeout=SOON)
    expect(page.get_by_role("button", name="Ask a model again")).to_be_visible(timeout=SOON)
    assert "fork=" not in page.url
