"""`workbench.launch()`: one server a store, found again, seen by its notebook alone, ended with the last."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import psutil
import pytest

import workbench
from memory import Engine
from memory.errors import BadSetting, NotFound, StoreError, UnknownName
from memory.models.chat import Answer
from memory.scope import Scope
from memory.stores.sql import Store
from workbench import launched, places
from workbench.app import NAVIGATION
from workbench.launched import NOTE_FILE, Frame, NotOpened, Server, Workbench
from workbench.views.facts import FactView
from workbench.views.turn import TurnView
from workbench.views.window import PageView, WindowView

SCOPE = Scope("ana", "trip")


def answer(*_: object, **__: object) -> Answer:
    return Answer("Noted.", (), 1, 1, 0.0, "stop", "x", 1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("launched") / "store"
    with Store.open(path) as store:  # an engine that closes makes vectors, which nobody asks for here
        engine = Engine.open(
            store, user="ana", conversation="trip", window_tokens=900, reply_tokens=100, page_turns=4, chat=answer
        )
        for n in range(6):
            engine.say(f"My budget is {n},000 euros, and the harbour of Lyon has {n} lighthouses made of stone.")
    return path


@pytest.fixture(scope="module")
def wb(folder: Path) -> Iterator[Workbench]:
    opened = workbench.launch(folder, quiet=True)
    yield opened
    opened.close()


def status(server: Server, path: str, method: str = "GET") -> int:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request(method, path)
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def test_it_prints_one_line_and_a_second_call_finds_the_first(wb: Workbench, folder: Path, capsys):
    again = workbench.launch(folder)
    assert capsys.readouterr().out == f"Memory Workbench is open at {wb.url}\n"
    assert again.url == wb.url
    assert wb.url.startswith("http://127.0.0.1:")
    assert stat.S_IMODE((folder / NOTE_FILE).stat().st_mode) == 0o600
    assert launched.noted(folder).pid == wb._server.pid != os.getpid()
    with pytest.raises(BadSetting, match=r"readonly=False.*close\(\) that one first"):
        workbench.launch(folder, readonly=True)


def test_only_who_knows_the_secret_path_is_answered(wb: Workbench):
    server = wb._server
    assert status(server, f"/{server.path}") == 200
    assert status(server, f"/{server.path}steering") == 200
    for path in ("/", "/steering", "/events", "/t/wrong/steering", "/t/wrong/live"):
        assert status(server, path) == 404
    assert status(server, "/t/wrong/steering/go", "POST") in (404, 405)
    with pytest.raises(NotOpened):
        Server(server.pid, server.port, "wrong").ask()


def test_a_note_that_leads_nowhere_is_no_server(tmp_path: Path, wb: Workbench):
    assert launched.noted(tmp_path) is None
    (tmp_path / NOTE_FILE).write_text("half a no")
    assert launched.noted(tmp_path) is None
    (tmp_path / NOTE_FILE).write_text(json.dumps({"pid": 1, "port": 9, "token": "gone"}))
    assert launched.noted(tmp_path) is None
    (tmp_path / NOTE_FILE).write_text(json.dumps({"pid": 1, "port": wb._server.port, "token": wb._server.token}))
    assert launched.noted(tmp_path) is None  # it serves another store


def test_goto_checks_the_place_before_it_sends_anybody_there(wb: Workbench):
    assert wb.selected is None
    sent = wb.goto(turn=3, page="turn")
    assert (sent.open, sent.url) == (0, f"{wb.url}turn?turn=3")
    with pytest.raises(NotFound, match="no turn 99"):
        wb.goto(turn=99)
    with pytest.raises(UnknownName, match=r"no page named 'tunr'; choose one of: .*turn"):
        wb.goto("tunr")
    with pytest.raises(BadSetting, match="no place has colour"):
        wb.goto(colour="red")
    with pytest.raises(NotFound, match="no conversation dinner"):
        wb.goto(conversation="dinner")


def test_a_view_is_a_frame_and_where_none_can_be_shown_the_object_itself(wb: Workbench, folder: Path):
    with Store.open(folder, readonly=True) as store:
        here = workbench.launch((store, SCOPE), quiet=True)
        framed = here.view("turn", turn=3, height=500, inline=False)
        assert framed == Frame(f"{wb.url}turn?user=ana&conv=trip&run=live&turn=3", 500)
        assert framed._repr_html_().startswith('<iframe src="http://127.0.0.1:')
        assert "height:500px" in framed._repr_html_()
        shown = here.view(turn=3)  # no kernel runs here
        assert isinstance(shown, WindowView)
        assert shown.turn == 3
        assert isinstance(here.view("p1"), PageView)
        assert isinstance(here.view("turn", turn=3), TurnView)
        assert isinstance(here.view(fact="f1"), FactView)


def test_what_is_selected_is_that_object(folder: Path):
    at = {"user": "ana", "conv": "trip", "run": "live", "turn": "4", "page": "1", "fact": "1"}
    with Store.open(folder, readonly=True) as store:
        found = [places.shown(store, "live", at, chosen) for chosen in ("turn", "page", "fact", "")]
        assert [type(each) for each in found] == [TurnView, PageView, FactView, WindowView]
        assert [found[0].turn, found[1].row.number, found[2].row.name, found[3].turn] == [4, 1, "f1", 4]
        for group in NAVIGATION.values():
            for entry in group:
                shown = places.shown(store, entry.name, {})
                assert shown._repr_html_()
                assert shown.to_df() is not None
        assert places.shown(store, "diff", {"a": "3", "b": "5"}).a.turn == 3
    assert {entry.name for group in NAVIGATION.values() for entry in group} <= set(places.page_names())


@pytest.mark.parametrize(
    ("environ", "modules", "is_framed"),
    [
        ({}, {"ipykernel"}, True),
        ({"JUPYTERHUB_SERVICE_PREFIX": "/user/ana/"}, {"ipykernel"}, True),
        ({}, set(), False),  # a terminal
        ({}, {"ipykernel", "google.colab"}, False),
        ({"CODESPACES": "true"}, {"ipykernel"}, False),
        ({"VSCODE_PID": "7"}, {"ipykernel"}, True),  # VS Code on this machine
        ({"VSCODE_IPC_HOOK_CLI": "/run/vscode.sock"}, {"ipykernel"}, False),  # … and on another
    ],
)
def test_where_a_frame_can_be_shown(environ, modules, is_framed: bool):
    assert launched.may_frame(environ, dict.fromkeys(modules)) is is_framed


def test_behind_a_hub_the_address_lies_below_the_hubs(tmp_path: Path):
    prefix = launched.proxy_prefix({"JUPYTERHUB_SERVICE_PREFIX": "/user/ana/"})
    behind = Workbench(Server(7, 8123, "secret", proxied=True), tmp_path, None, None, prefix)
    assert behind.url == "/user/ana/proxy/8123/t/secret/"
    assert Workbench(Server(7, 8123, "secret"), tmp_path, None, None, "/").url == "/proxy/8123/t/secret/"
    assert launched.proxy_prefix({}) == ""


def test_a_store_that_cannot_be_opened_is_told_before_anything_starts(tmp_path: Path):
    (tmp_path / "memory.sqlite").write_bytes(b"no store at all" * 100)
    with pytest.raises(StoreError):
        workbench.launch(tmp_path)


def test_importing_it_loads_no_server_and_no_store():
    code = "import sys, workbench; print({'streamlit', 'sqlalchemy', 'IPython', 'litellm'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=launched.HOME)
    assert done.stdout == "set()\n"


def test_it_ends_with_the_last_that_needs_it(wb: Workbench, folder: Path):
    """The last test of this file: another process needs it too, and is killed."""
    other = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    wb._server.ask("/join", {"pid": other.pid, "made_at": psutil.Process(other.pid).create_time(), "linger_s": 0})
    wb.close()
    assert wb._server.serves(folder)
    other.send_signal(signal.SIGKILL)
    other.wait()
    other.stdin.close()
    launched._await_end(wb._server)
    assert not psutil.pid_exists(wb._server.pid)
    assert not (folder / NOTE_FILE).exists()
