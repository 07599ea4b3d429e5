"""Tuning in a real browser: dials dragged, a question pinned, won and kept, and asked by a command from then on."""

import json
import re
import subprocess
import sys

import pytest
from playwright.sync_api import Page, expect

from memory.scope import Scope
from memory.stores.sql import Store

pytestmark = pytest.mark.browser

ANA = {"user": "ana", "conv": "house-move"}
SOON = 120_000
QUESTION = "What did Ana drink in the mornings in March, before she changed it?"
WON_BY = {"recall_k": 9, "page_ins": 9}


def drawn(page: Page) -> None:
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')


def drag(page: Page, setting: str, by: int) -> None:
    """The thumb of a dial, by so many pixels, as a hand does: it is let go at the end."""
    thumb = page.locator(f".st-key-tune_{setting} [data-testid=stSliderThumbValue]").locator("..")
    thumb.scroll_into_view_if_needed()
    box = thumb.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by, y, steps=8)
    page.mouse.up()
    expect(page).to_have_url(re.compile(f"{setting}%3D|{setting}="), timeout=SOON)
    drawn(page)


def workbench(store: object, *asks: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from workbench.cli import main; main()", *asks, "--store", str(store)]
    return subprocess.run(command, cwd="/", check=False, capture_output=True, text=True, timeout=240)


def test_dials_are_dragged_a_question_is_won_and_a_command_holds_it_from_then_on(own_server, visit):
    page = visit(own_server, "tune", **ANA)
    drag(page, "high_watermark", -70)
    expect(page.get_by_text("no longer in the window").first).to_be_visible(timeout=SOON)  # which turns, and why
    page.get_by_text("Recall", exact=True).first.click()
    drag(page, "recall_k", 60)
    expect(page.get_by_role("cell", name="a recall away").first).to_be_visible(timeout=SOON)
    page.get_by_text("Work it out for these settings").scroll_into_view_if_needed()
    expect(page.locator(".st-key-tune_find")).to_be_in_viewport()  # the dials stay beside what came of them
    page.get_by_role("button", name="Put all back").click()
    expect(page).not_to_have_url(re.compile("set="), timeout=SOON)
    drawn(page)

    page.get_by_role("button", name="Pin this question").click()
    page.get_by_role("textbox", name="Question").fill(QUESTION)
    page.get_by_role("textbox", name="Expected words").fill("nothing works before coffee")
    page.get_by_role("button", name="Pin this question").last.click()
    row = page.get_by_role("row", name=re.compile(re.escape(QUESTION)))
    expect(row.get_by_text("lost: not found").first).to_be_visible(timeout=SOON)
    row.get_by_role("button", name="Find what wins it").click()
    expect(page).to_have_url(re.compile("recall_k.*9.*page_ins.*9"), timeout=SOON)
    expect(row.get_by_text("won", exact=True)).to_be_visible(timeout=SOON)
    drawn(page)
    page.get_by_role("button", name="Apply to the live conversation").click()
    expect(page.get_by_text("This is in force in the live conversation.")).to_be_visible(timeout=SOON)
    with Store.open(own_server.store, readonly=True) as store:
        held = store.state(Scope("ana", "house-move")).settings
        assert {name: getattr(held, name) for name in WON_BY} == WON_BY

    asked = workbench(own_server.store, "check", "--json")
    assert (asked.returncode, json.loads(asked.stdout)["won"]) == (0, 1), asked.stderr
    back = workbench(own_server.store, "settings", "-u", "ana", "-c", "house-move", "--set", "recall_k=3")
    assert back.returncode == 0, back.stderr
    lost = workbench(own_server.store, "check")
    assert (lost.returncode, "LOST, was won" in lost.stdout) == (1, True), lost.stdout + lost.stderr
