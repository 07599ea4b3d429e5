"""A server as a process of its own, a Chromium, and a new page for each test that allows no fault to pass."""

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from memory.facts import Candidate
from memory.longterm import LongTerm
from memory.stores.sql import Store

TOKEN = "a-token-for-tests"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
SERVE = (
    "import sys; from workbench.server import serve;"
    "serve(sys.argv[1], token=sys.argv[2], on_ready=lambda url: print(url, flush=True))"
)
WAIT_MS = 120_000  # a busy machine is no fault


@dataclass(frozen=True)
class Server:
    address: str  # http://127.0.0.1:8123/
    store: Path
    process: subprocess.Popen[str]

    def at(self, path: str = "", **query: object) -> str:
        return f"{self.address}{path}?" + "&".join(f"{k}={v}" for k, v in {"token": TOKEN, **query}.items())


def started(store: Path) -> Server:
    command = [sys.executable, "-c", SERVE, str(store), TOKEN]
    process = subprocess.Popen(command, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    address = process.stdout.readline().partition("?")[0]
    assert address.startswith("http://127.0.0.1:"), "the server did not start"
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if urllib.request.urlopen(f"{address}_stcore/health", timeout=2).status == 200:
                break
        except OSError:
            time.sleep(0.1)
    return Server(address, store, process)


def stopped(server: Server) -> int:
    server.process.terminate()
    code = server.process.wait(20)
    server.process.stdout.close()
    return code


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, demo_copy: Callable[[Path], Path]) -> Path:
    return demo_copy(tmp_path_factory.mktemp("demo") / "store")


@pytest.fixture(scope="session")
def server(demo: Path) -> Iterator[Server]:
    """On the demo, for tests that change nothing."""
    found = started(demo)
    yield found
    assert stopped(found) in (0, -15)


@pytest.fixture
def own_server(demo: Path, tmp_path: Path) -> Iterator[Server]:
    """On a copy of the demo, for tests that write."""
    shutil.copytree(demo, tmp_path / "store")
    found = started(tmp_path / "store")
    yield found
    assert stopped(found) in (0, -15)


@pytest.fixture(scope="module")
def shared_server(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """On one copy for the tests of a file that write, each about something of its own; two facts cannot both hold."""
    path = tmp_path_factory.mktemp("shared") / "store"
    shutil.copytree(demo, path)
    with Store.open(path) as store:
        text = "The user's rent is 990 euros."
        heard = Candidate(
            text, 0, len(text), subject="user", attribute="rent", value="990 euros", single=True, origin="inference"
        )
        LongTerm.open(store, user="ana", conversation="house-move").write(heard)
    found = started(path)
    yield found
    assert stopped(found) in (0, -15)


@pytest.fixture
def empty_server(tmp_path: Path) -> Iterator[Server]:
    found = started(tmp_path / "empty")
    yield found
    assert stopped(found) in (0, -15)


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as found:
        yield found


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """The system's Chromium if there is one, else the one that `playwright install chromium` fetched."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("CHROMIUM") or next((p for p in map(shutil.which, names) if p), None)
    found = playwright.chromium.launch(executable_path=path, args=FLAGS)
    yield found
    found.close()


class Faults(list[str]):
    """What went wrong in a page, in its own words."""

    def watch(self, page: Page, home: str) -> None:
        page.on("pageerror", lambda error: self.append(f"page error: {error}"))
        page.on("console", lambda said: self.append(f"console: {said.text}") if said.type == "error" else None)
        page.on("response", lambda r: self.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        page.on("dialog", lambda dialog: (self.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda r: self._outside(r.url, home))
        page.on("requestfailed", lambda r: self._failed(r.url, r.failure))

    def _outside(self, url: str, home: str) -> None:
        if not url.startswith((home, home.replace("http", "ws", 1), "data:", "blob:")):
            self.append(f"outside: {url}")

    def _failed(self, url: str, why: str | None) -> None:
        # A page that closes, or rests in the background, lets go of its stream; that is no failure.
        if not url.endswith("/events"):
            self.append(f"failed: {url} {why}")


Visit = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Open a page of a server in a context of its own; at the end nothing may have gone wrong in it."""
    contexts, faults = [], Faults()

    def open_(server: Server, path: str = "", *, scheme: str = "light", locale: str = "en-US", **query: object) -> Page:
        context = browser.new_context(
            viewport={"width": 1440, "height": 1000}, color_scheme=scheme, locale=locale, timezone_id="Europe/Berlin"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        faults.watch(page, server.address)
        page.goto(server.at(path, **query), timeout=WAIT_MS)
        settle(page)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert faults == []


def settle(page: Page) -> None:
    """Wait until the script has ended and its parts are drawn."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.locator("h1, h4").first.wait_for()
