"""JupyterLab in Chromium: the app in a frame of a notebook, moved by it, and what its reader points at in its hands."""

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, Locator, Page, expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        find_spec("jupyterlab") is None, reason="JupyterLab is not installed: it comes with the dev extra"
    ),
]
SOON = 120_000
OWN = """\
import tempfile
from memory import Engine
own = Engine.open(tempfile.mkdtemp(), user="ana", conversation="own", remember="off")
own.say("Hello.")
workbench.live_window(own)"""
CELLS = [
    "%load_ext workbench\nimport workbench\nwb = workbench.launch({store!r}, readonly=True)",
    "wb.view('live', turn=100, height=900, user='ana', conversation='house-move')",
    "wb.goto('turn', turn=42)",
    "print('selected', repr(wb.selected))",
    "workbench.live_window(wb.place, 40)",
    "%memory turn 12",
    "wb.sliders()",
    OWN,
    "own.say('And now?')\nNone",
    "wb.close()",
]


PREFIX = "/user/ana/"  # what a hub gives the server of its user


def notebook(sources: list[str], store: Path) -> str:
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "outputs": [], "execution_count": None,
         "source": source.replace("{store!r}", repr(str(store)))}
        for n, source in enumerate(sources)
    ]  # fmt: skip
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps({"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def lab(demo: Path, tmp_path: Path) -> Iterator[str]:
    with jupyterlab(tmp_path, notebook(CELLS, demo)) as address:
        yield address


@pytest.fixture
def hub(demo: Path, tmp_path: Path) -> Iterator[str]:
    """As a JupyterHub begins it: below a prefix, with jupyter-server-proxy, the only way to the kernel's ports."""
    sources = [*CELLS[:4], CELLS[-1]]
    with jupyterlab(
        tmp_path, notebook(sources, demo), f"--ServerApp.base_url={PREFIX}",
        "--ServerApp.jpserver_extensions=jupyter_server_proxy=True", JUPYTERHUB_SERVICE_PREFIX=PREFIX,
    ) as address:  # fmt: skip
        yield address


@contextmanager
def jupyterlab(tmp_path: Path, journey: str, *more: str, **environ: str) -> Iterator[str]:
    """The address of a notebook in a JupyterLab of its own; `localhost`, so another site than the app's."""
    (tmp_path / "journey.ipynb").write_text(journey)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port, token = free.getsockname()[1], secrets.token_hex(8)
    options = ["--no-browser", "--allow-root", "--ServerApp.ip=localhost",
               f"--ServerApp.port={port}", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={tmp_path}",
               "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.news_url=",
               "--LabApp.extension_manager=readonly", "--ServerApp.terminals_enabled=False", *more]  # fmt: skip
    own = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR",
                                                   "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR")}  # fmt: skip
    process = subprocess.Popen([sys.executable, "-m", "jupyterlab", *options], env={**os.environ, **own, **environ},
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    home = f"http://localhost:{port}{environ.get('JUPYTERHUB_SERVICE_PREFIX', '').rstrip('/')}"
    end = time.monotonic() + 90
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"{home}/api?token={token}", timeout=2)
            break
        except OSError:
            assert process.poll() is None, "JupyterLab did not start"
            time.sleep(0.2)
    yield f"{home}/lab/tree/journey.ipynb?token={token}"
    process.terminate()
    process.wait(30)


def opened(page: Page, address: str) -> None:
    page.goto(address)
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    # What is run before the kernel is connected is lost; the notebook's own indicator says idle from the start.
    page.locator(".jp-StatusBar-Left").get_by_text("Idle").wait_for()


def run(page: Page, number: int) -> Locator:
    """Run one cell; its outputs, once it has ended."""
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(number)
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(cell.locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]"), timeout=SOON)
    return cell.locator(".jp-OutputArea")


def heading(app: FrameLocator, text: str) -> None:
    expect(app.get_by_role("heading", level=1)).to_have_text(re.compile(text), timeout=SOON)


def moved(page: Page, sliders: Locator) -> None:
    """One slider moved by its keys: which prompts change and why; and what is typed is no command to the notebook."""
    expect(sliders.locator("[data-part=told]")).to_contain_text("0 of 90", timeout=SOON)
    cells = page.locator(".jp-Notebook .jp-CodeCell").count()
    find = sliders.get_by_role("searchbox")
    find.click()
    page.keyboard.type("ddb above it pages leave")
    find.fill("above it pages leave")
    dial = sliders.locator("label.dial", has_text="high_watermark")
    dial.get_by_role("slider").focus()
    for _ in range(15):
        page.keyboard.press("ArrowLeft")
    expect(dial.locator("output")).to_contain_text("0.7 ")
    expect(sliders.locator("[data-part=told]")).to_contain_text("53 of 90", timeout=SOON)
    expect(sliders.locator("[data-part=why]")).to_contain_text("no longer in the window")
    expect(sliders.locator("[data-part=diff]")).to_contain_text("above the high watermark (70%)")
    assert sliders.locator("[data-part=strip] button.changed").count() == 53
    assert page.locator(".jp-Notebook .jp-CodeCell").count() == cells


@pytest.mark.skipif(
    find_spec("jupyter_server_proxy") is None,
    reason="jupyter-server-proxy is not installed: it comes with the dev extra",
)
def test_behind_a_hub_the_app_is_framed_moved_and_read_through_the_proxy(hub: str, browser: Browser):
    page = browser.new_context(viewport={"width": 1500, "height": 1100}).new_page()
    page.set_default_timeout(SOON)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    opened(page, hub)
    expect(run(page, 0)).to_contain_text(re.compile(rf"Memory Workbench is open at {PREFIX}proxy/\d+/t/"))
    app = run(page, 1).frame_locator('iframe[title="Memory Workbench"]')
    expect(app.locator(".where.num")).to_contain_text("Turn 100 of 191", timeout=SOON)
    expect(run(page, 2)).to_contain_text("The open page goes to")
    expect(app.locator(".where.num")).to_contain_text("Turn 42 of 191", timeout=SOON)
    expect(run(page, 3)).to_contain_text("selected <Turn 42 of ana/house-move")
    below = re.compile(rf"(?:https?|ws)://localhost:\d+{PREFIX}|data:|blob:")
    assert [url for url in asked if not below.match(url)] == []
    assert any(url.startswith("ws") and f"{PREFIX}proxy/" in url for url in asked)
    run(page, 4)
    page.context.close()


def test_a_notebook_opens_the_app_moves_it_and_holds_what_is_selected(lab: str, browser: Browser):
    context = browser.new_context(viewport={"width": 1500, "height": 1100})
    page = context.new_page()
    page.set_default_timeout(SOON)
    outside: list[str] = []
    ours = re.compile(r"(https?|ws)://(localhost|127\.0\.0\.1):|data:|blob:")
    page.on("request", lambda request: None if ours.match(request.url) else outside.append(request.url))
    opened(page, lab)

    expect(run(page, 0)).to_contain_text(re.compile(r"Memory Workbench is open at http://127\.0\.0\.1:\d+/t/"))
    shown = run(page, 1)
    app = shown.frame_locator('iframe[title="Memory Workbench"]')
    heading(app, "Live window")
    expect(app.locator(".where.num")).to_contain_text("Turn 100 of 191", timeout=SOON)

    expect(run(page, 2)).to_contain_text("The open page goes to")
    heading(app, "Trace of step")
    expect(app.locator(".where.num")).to_contain_text("Turn 42 of 191", timeout=SOON)
    app.get_by_role("button", name="previous").first.click()
    expect(app.locator(".where.num")).to_contain_text("Turn 41 of 191", timeout=SOON)
    expect(app.locator('[data-testid="stApp"][data-test-script-state="notRunning"]')).to_be_visible(timeout=SOON)
    expect(run(page, 3)).to_contain_text("selected <Turn 41 of ana/house-move")

    widget = run(page, 4)
    expect(widget.locator(".where.num")).to_contain_text("Turn 40 of 191", timeout=SOON)
    widget.get_by_role("button", name="previous").click()
    expect(widget.locator(".where.num")).to_contain_text("Turn 39 of 191", timeout=SOON)
    expect(widget.locator("[data-part=token_bar] .seg").first).to_be_visible(timeout=SOON)
    expect(run(page, 5)).to_contain_text("turn 12 · step")
    moved(page, run(page, 6))
    followed = run(page, 7)
    expect(followed.locator(".where.num")).to_contain_text("Turn 2 of 2", timeout=SOON)
    run(page, 8)
    expect(followed.locator(".where.num")).to_contain_text("Turn 4 of 4", timeout=SOON)
    run(page, 9)
    context.close()
    assert outside == []
