"""The pages in a real browser: what a reader does with them, while nobody and while others write."""

import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import Page, expect

from memory.scope import Scope
from memory.stores.sql import Store

pytestmark = pytest.mark.browser

ANA = {"user": "ana", "conv": "house-move"}
SOON = 120_000
WRITE = """
import sys
from memory import Engine
with Engine.open(sys.argv[1], user="ana", conversation="house-move", wait_s=120) as engine:
    for n in range(int(sys.argv[3])):
        engine.say(f"{sys.argv[2]} writes message {n}")
"""


def where(page: Page, text: str) -> None:
    expect(page.locator(".where.num")).to_contain_text(text, timeout=SOON)


def test_walking_by_keyboard(server, visit):
    page = visit(server, "live", **ANA)
    where(page, "Turn 191 of 191")
    for key, turn in [
        ("ArrowLeft", 190),
        ("ArrowLeft", 189),
        ("Shift+ArrowLeft", 179),
        ("ArrowRight", 180),
        ("Home", 1),
    ]:
        page.keyboard.press(key)
        where(page, f"Turn {turn} of 191")
        expect(page).to_have_url(re.compile(f"turn={turn}$|turn={turn}&"), timeout=SOON)
        where(page, "step")
    page.get_by_role("button", name=re.compile("newer turns")).click()
    where(page, "Turn 191 of 191")


def test_an_address_opens_the_same_turn_and_the_scope_goes_along(server, visit):
    page = visit(server, "turn", turn=100, **ANA)
    expect(page.get_by_role("heading", level=1)).to_have_text("Trace of step 46", timeout=SOON)
    page.get_by_role("link", name="Live window").click()
    where(page, "Turn 100 of 191")
    assert "turn=100" in page.url


def test_back_is_one_step_for_each_place_that_was_seen(server, visit):
    page = visit(server, "turn", **ANA, turn=90)
    turn = page.url
    page.get_by_role("link", name="Prompt diff", exact=True).click()
    expect(page).to_have_url(re.compile("/diff.*turn=90"), timeout=SOON)
    two_turns = page.url
    page.get_by_role("spinbutton", name="From turn").fill("80")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("a=80"), timeout=SOON)
    page.get_by_role("link", name="Timeline", exact=True).click()
    expect(page).to_have_url(re.compile("/timeline.*a=80"), timeout=SOON)
    for address in (f"{two_turns}&a=80", two_turns, turn):
        page.go_back()
        expect(page).to_have_url(address, timeout=SOON)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Trace of step", timeout=SOON)


def test_a_click_reads_a_page(server, visit):
    page = visit(server, "live", **ANA)
    page.get_by_role("button", name=re.compile(r"^p\d+ · resident")).first.click()
    expect(page.get_by_text("When it came and left, and why")).to_be_visible(timeout=SOON)
    assert "page=" in page.url
    page.get_by_role("button", name="✕").click()
    expect(page.get_by_text("What happened")).to_be_visible(timeout=SOON)


def test_a_stub_leads_to_its_page_and_to_the_recall(own_server, visit):
    page = visit(own_server, "live", **ANA)
    page.get_by_role("button", name=re.compile("^p3: ")).click()
    expect(page.get_by_text("What it says")).to_be_visible(timeout=SOON)


def test_saying_something_and_marking_it(own_server, visit):
    page = visit(own_server, "live", **ANA)
    box = page.get_by_placeholder(re.compile("Say something"))
    box.fill("Please remember that the piano goes to my sister.")
    box.press("Enter")
    where(page, "Turn 193 of 193")
    log = page.get_by_role("log", name="Messages").first
    expect(log).to_contain_text("the piano goes to my sister", timeout=SOON)
    page.get_by_role("button", name="Mark as important #192").click()
    expect(page.get_by_role("button", name="Marked as important: take the mark away #192")).to_be_visible(timeout=SOON)
    expect(page.get_by_role("combobox", name="Run")).to_have_value("live", timeout=SOON)
    with Store.open(own_server.store, readonly=True) as store:
        assert 192 in store.state(Scope("ana", "house-move")).marked


def test_the_page_follows_while_two_others_write(own_server, visit):
    page = visit(own_server, "live", **ANA)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(own_server.store), name, "3"], cwd="/")
        for name in ("Bo", "Cy")
    ]
    where(page, "Turn 203 of 203")  # 191 recorded, then six messages and their replies
    assert [writer.wait(240) for writer in writers] == [0, 0]
    expect(page.get_by_role("log", name="Messages").first).to_contain_text("writes message 2", timeout=SOON)


def test_a_past_turn_stays_and_tells_what_is_newer(own_server, visit):
    page = visit(own_server, "live", turn=100, **ANA)
    where(page, "Turn 100 of")
    subprocess.run([sys.executable, "-c", WRITE, str(own_server.store), "Bo", "1"], cwd="/", check=True, timeout=240)
    expect(page.get_by_role("button", name="93 newer turns →")).to_be_visible(timeout=SOON)
    where(page, "Turn 100 of 193")


def test_an_empty_store_begins_with_a_message(empty_server, visit):
    page = visit(empty_server)
    expect(page.get_by_text("Nothing is remembered yet")).to_be_visible(timeout=SOON)
    box = page.get_by_placeholder("Begin a conversation")
    box.fill("My budget is 5,000 euros.")
    box.press("Enter")
    where(page, "Turn 2 of 2")


def test_hostile_words_run_nothing(empty_server, visit):
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script> [x](javascript:alert(3)) \u202egnp"
    page = visit(empty_server)
    box = page.get_by_placeholder("Begin a conversation")
    box.fill(hostile)
    box.press("Enter")
    where(page, "Turn 2 of 2")
    expect(page.get_by_role("log", name="Messages").first).to_contain_text("<img src=x onerror=alert(1)>", timeout=SOON)


def test_an_address_that_is_sought_becomes_no_link(server, visit):
    page = visit(server, seek="http://qzxwvut.invalid www.qzxwvut.invalid", **ANA)
    expect(page.get_by_text("Nothing here bears")).to_contain_text("qzxwvut.invalid", timeout=SOON)
    expect(page.locator("a[href^='http://qzxwvut'], a[href*='www.qzxwvut']")).to_have_count(0)


@pytest.mark.parametrize(
    "path", ["", "turn", "events", "_stcore/host-config", "app/static/inter-latin-wght-normal.woff2", "?token=guess"]
)
def test_nobody_comes_in_without_the_token(server, path: str):
    assert _status(f"{server.address}{path}") == 401
    assert _status(f"{server.address}_stcore/health") == 200


def _status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def test_the_token_leaves_the_address(server, visit):
    page = visit(server, "live", **ANA)
    assert "token" not in page.url
    cookies = [c for c in page.context.cookies() if c["name"].startswith("memory_workbench")]
    assert [(c["httpOnly"], c["sameSite"]) for c in cookies] == [(True, "Strict")]


def test_an_idle_page_costs_nothing(server, visit):
    page = visit(server, "live", **ANA)
    where(page, "Turn 191 of 191")
    page.wait_for_timeout(2_000)
    before = _cpu_s(server.process.pid)
    started = time.monotonic()
    page.wait_for_timeout(6_000)
    assert (_cpu_s(server.process.pid) - before) / (time.monotonic() - started) <= 0.02


def _cpu_s(pid: int) -> float:
    import psutil

    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
