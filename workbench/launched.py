"""The workbench out of a notebook: `wb = workbench.launch()`, then `wb.view()`, `wb.goto(turn=42)`, `wb.selected`.

The app is a process of its own, so that it answers while the kernel computes, and it ends with the kernel: nothing of
it runs here. A note in the store's folder lets the next kernel, or the same one restarted, find it again. Not in the
kernel's own process: Streamlit keeps one runtime a process that cannot be ended and begun anew, takes `sys.argv`, the
process's settings and its environment for itself, and its pages would wait for every computing cell.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from html import escape
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import psutil

from memory.errors import BadSetting, EngineError, NotFound
from memory.scope import Scope
from memory.stores.sql import Store, default_path
from workbench import places
from workbench.steering import STEERING, Owner, this_process

if TYPE_CHECKING:
    import pandas as pd

    from memory.engine import Engine

NOTE_FILE = "workbench.json"  # beside the store's own files: where its app answers; for its owner's eyes
LINGER_S = 60.0  # a kernel that restarts is waited for
ANSWER_S = 5.0
END_S = 10.0
HOME = Path(__file__).resolve().parent.parent
CHILD = "from workbench.launched import child; child()"


class NotOpened(EngineError): ...


# ── the process ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Server:
    """Where an app answers, and how it was opened."""

    pid: int
    port: int
    token: str
    readonly: bool = False
    proxied: bool = False

    @property
    def path(self) -> str:
        return f"t/{self.token}/"

    def ask(self, what: str = "", body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Raises NotOpened where nobody answers, or somebody else does."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        try:
            method, sent = ("GET", None) if body is None else ("POST", json.dumps(body))
            connection.request(method, f"/{self.path}steering{what}", sent)
            answer = connection.getresponse()
            told = answer.read()
            if answer.status != 200:
                raise NotOpened(f"{self} answers {answer.status}: close() it and launch again")
            found = json.loads(told)
            return found if isinstance(found, dict) else {}
        except (OSError, HTTPException, ValueError) as error:
            raise NotOpened(f"the workbench on port {self.port} does not answer; launch() opens another") from error
        finally:
            connection.close()

    def serves(self, store: Path) -> bool:
        try:
            return bool(self.ask().get("store") == str(store))
        except NotOpened:
            return False

    def __repr__(self) -> str:
        return f"<Server at 127.0.0.1:{self.port}, process {self.pid}>"


def noted(store: Path) -> Server | None:
    """The app that answers for this store, whoever opened it."""
    try:
        server = Server(**json.loads((store / NOTE_FILE).read_text("utf-8")))
    except (OSError, ValueError, TypeError):  # none, or written by another version
        return None
    return server if server.serves(store) else None


def _note(store: Path, server: Server) -> None:
    """Seen whole or not at all, and by nobody else; a folder that cannot be written goes without."""
    with suppress(OSError):
        made = store / f"{NOTE_FILE}.{server.pid}"
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(server), file)
        made.replace(store / NOTE_FILE)


def _forget(store: Path, server: Server) -> None:
    with suppress(OSError, ValueError):
        if json.loads((store / NOTE_FILE).read_text("utf-8"))["token"] == server.token:
            (store / NOTE_FILE).unlink()


def started(store: Path, owner: Owner, *, port: int = 0, readonly: bool = False, proxied: bool = False) -> Server:
    """A new process that serves the store until its owners are gone. Raises NotOpened with what it said."""
    options = {"store": str(store), "port": port, "readonly": readonly, "proxied": proxied, "owner": asdict(owner)}
    apart: dict[str, Any] = {"start_new_session": True}  # what interrupts the kernel is not meant for the app
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            cwd=HOME, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, **apart,
        )  # fmt: skip
        assert process.stdin
        assert process.stdout
        told = None
        try:
            with process.stdin, process.stdout:
                process.stdin.write(json.dumps(options) + "\n")
                process.stdin.flush()
                told = process.stdout.readline()
        finally:
            if told is None:  # interrupted
                process.kill()
        if told:
            threading.Thread(target=process.wait, daemon=True, name="workbench-ended").start()  # no zombie stays
            return Server(**json.loads(told))
        process.wait(END_S)
        said.seek(0)
        lines = said.read().strip().splitlines()
        raise NotOpened(f"the workbench did not open: {lines[-1] if lines else f'exit code {process.returncode}'}")


def child() -> None:
    """The process that `started` starts: it serves until nobody needs it."""
    from workbench.server import serve

    options = json.loads(sys.stdin.readline())
    store = Path(options["store"])
    token = secrets.token_urlsafe(24)
    readonly, proxied = options["readonly"], options["proxied"]
    STEERING.join(Owner(**options["owner"]))
    found: list[Server] = []

    def ready(url: str) -> None:
        port = int(url.partition("//")[2].partition("/")[0].rpartition(":")[2])
        found.append(Server(os.getpid(), port, token, readonly, proxied))
        _note(store, found[0])
        sys.stdout.write(json.dumps(asdict(found[0])) + "\n")
        sys.stdout.flush()
        os.dup2(2, 1)  # nobody reads on

    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(0)
    )  # raised again after the server's own end: what follows is done
    threading.Thread(target=_end_in_time, daemon=True, name="workbench-owners").start()
    try:
        serve(store, options["port"], token=token, readonly=readonly, framed=True, proxied=proxied, on_ready=ready)
    finally:
        for server in found:
            _forget(store, server)


def _end_in_time() -> None:
    STEERING.outlived()
    os.kill(os.getpid(), signal.SIGTERM)
    sleep(END_S)
    os._exit(1)  # whatever it still waits for


# ── where it is shown ─────────────────────────────────────────────────────────────────────────────────


def proxy_prefix(environ: Mapping[str, str]) -> str:
    """The path below which a hub's jupyter-server-proxy reaches this machine's ports; "" without a hub."""
    return environ.get("JUPYTERHUB_SERVICE_PREFIX", "")


def may_frame(environ: Mapping[str, str], modules: Mapping[str, object]) -> bool:
    """Whether this notebook's browser can show a page of this machine in a frame.

    Not in Colab, whose browser is elsewhere; not in a remote VS Code, which forwards ports to links, not to frames;
    and where there is no notebook there is no frame.
    """
    elsewhere = "google.colab" in modules or environ.get("CODESPACES") or environ.get("VSCODE_IPC_HOOK_CLI")
    return "ipykernel" in modules and not elsewhere


@dataclass(frozen=True)
class Frame:
    """A page of the app in a frame of the notebook. Its address is good for as long as the app is open."""

    url: str
    height: int

    def __repr__(self) -> str:
        return f"<Workbench at {self.url}>"

    def _repr_html_(self) -> str:
        url = escape(self.url, quote=True)
        style = f"width:100%;height:{self.height}px;border:1px solid #8884;border-radius:10px"
        return f'<iframe src="{url}" title="Memory Workbench" style="{style}" allow="clipboard-write"></iframe>'


# ── the handle ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Moved:
    """Where `goto` sent the app, and how many of its open pages heard it; the next one to open hears what none did."""

    url: str
    open: int

    def __repr__(self) -> str:
        pages = {0: "No page is open yet; the first that opens", 1: "The open page"}.get(
            self.open, f"{self.open} pages"
        )
        return f"<{pages} goes to {self.url}>" if self.open < 2 else f"<{pages} go to {self.url}>"


class Workbench:
    """An open workbench: `view` shows it, `goto` moves it, `selected` is what its reader points at, `close` ends it."""

    def __init__(self, server: Server, path: Path, store: Store | None, scope: Scope | None, prefix: str = "") -> None:
        self._server, self._path, self._scope, self._prefix = server, path, scope, prefix
        self._store, self._is_own = store, store is None

    def __repr__(self) -> str:
        return f"<Workbench on {self._path} at {self.url}>"

    @property
    def url(self) -> str:
        """Where a browser finds it; behind a hub a path below the hub's own address."""
        if self._prefix:
            return f"{self._prefix.rstrip('/')}/proxy/{self._server.port}/{self._server.path}"
        return f"http://127.0.0.1:{self._server.port}/{self._server.path}"

    @property
    def store(self) -> Store:
        """That which was given, else the same for reading."""
        if self._store is None:
            self._store = Store.open(self._path, readonly=True)
        return self._store

    @property
    def place(self) -> tuple[Store, Scope]:
        """What it was launched for, else where its reader is, else the newest conversation. Raises NotFound."""
        told = (self._server.ask()["selected"] or {}) if self._scope is None else {}
        return self.store, self._scope or places.scope_at(self.store, told.get("address", {}))

    def view(
        self, page: str | int = "live", turn: int | None = None, height: int = 860, *, inline: bool | None = None,
        **place: Any,
    ) -> Any:  # fmt: skip
        """The app at a page and a turn, in a frame; the page's view, self-contained, where no frame can be shown.

        `page` names a page of the workbench ("timeline"), or one of memory (7 or "p7"); `place` may be user=,
        conversation=, run=, fact=, a=, b= (turns to compare), expected= and question= (why). `inline` decides by hand.
        """
        name, address = self._place(page, turn, place)
        pointed = next((key for key in ("fact", "page") if address.get(key)), "")
        here = {**self._start(), **{key: str(value) for key, value in address.items() if value is not None}}
        if not may_frame(os.environ, sys.modules) if inline is None else inline:
            return places.shown(self.store, name, here, pointed)
        return Frame(self._at(name or "live", here), height)

    def goto(self, page: str | int = "", turn: int | None = None, **place: Any) -> Moved:
        """Send the open app there: what is not named stays as it is. Arguments as in `view`. Raises NotFound."""
        name, address = self._place(page, turn, place)
        told = self._server.ask()["selected"] or {"page": "live", "address": self._start()}
        if {"user", "conv", "run"} & address.keys():  # what lies below starts anew
            address = {**dict.fromkeys(("run", "turn", "page", "fact"), None), **address}
        there = {key: value for key, value in {**told["address"], **address}.items() if value is not None}
        there = {key: str(value) for key, value in there.items()}
        self._check(there)
        heard = self._server.ask("/go", {"page": name, "changes": address})
        return Moved(self._at(name or told["page"] or "live", there), heard["open"])

    @property
    def selected(self) -> Any:
        """What the reader of the app pointed at last: a TurnView, PageView or FactView; else what their page shows.

        None while no page was opened. Each has `to_df()`.
        """
        told = self._server.ask()["selected"]
        return told and places.shown(self.store, told["page"], told["address"], told["chosen"])

    def sql(self, query: str) -> pd.DataFrame:
        """DuckDB over the documented views; `%memory views` lists them. Raises BadQuery."""
        return self.store.sql(query).to_df()

    def sliders(self, **changes: Any) -> Any:
        """Every setting as a slider, and what moving it does to the conversation at hand; as `workbench.sliders`."""
        from workbench.inline import sliders

        return sliders(self.place, **changes)

    def close(self) -> None:
        """This notebook needs it no more; it ends unless another one does."""
        with suppress(NotOpened):
            if not self._server.ask("/leave", {"pid": os.getpid()})["owners"]:
                _await_end(self._server)
        if self._store is not None and self._is_own:
            self._store.close()
            self._store = None

    # ── addresses ─────────────────────────────────────────────────────────────────────────────────────

    def _start(self) -> dict[str, str]:
        """The place that the workbench was launched for."""
        return {} if self._scope is None else {"user": self._scope.user, "conv": self._scope.conversation,
                                               "run": self._scope.run}  # fmt: skip

    def _at(self, page: str, address: Mapping[str, str]) -> str:
        return f"{self.url}{page}" + (f"?{urlencode(address)}" if address else "")

    def _place(
        self, page: str | int, turn: int | None, place: Mapping[str, Any]
    ) -> tuple[str, dict[str, str | int | None]]:
        keys = {"user": "user", "conversation": "conv", "run": "run", "fact": "fact", "a": "a", "b": "b",
                "expected": "expect", "question": "q", "lang": "lang"}  # fmt: skip
        if unknown := place.keys() - keys:
            raise BadSetting(f"no place has {', '.join(sorted(unknown))}; it may have page, turn, {', '.join(keys)}")
        address: dict[str, str | int | None] = {keys[name]: value for name, value in place.items()}
        if turn is not None:
            address["turn"] = turn
        if isinstance(page, int) or (page[:1] == "p" and page[1:].isdigit()):
            address["page"] = int(str(page).removeprefix("p"))
            page = ""
        if isinstance(address.get("fact"), str):
            address["fact"] = str(address["fact"]).removeprefix("f")
        name = str(page) or ("timeline" if "fact" in address else "")
        return (places.known_page(name) if name else ""), address

    def _check(self, address: Mapping[str, str]) -> None:
        """A place that is there."""
        if not address.keys() & {"turn", "page", "conv", "user"}:
            return
        stream = self.store.require(places.scope_at(self.store, address))
        if "turn" in address and not 1 <= int(address["turn"]) <= stream.turns:
            raise NotFound(f"no turn {address['turn']} of {stream.scope}; there are {stream.turns}")


def _await_end(server: Server) -> None:
    with suppress(psutil.Error):
        psutil.Process(server.pid).wait(END_S)


# ── launch ────────────────────────────────────────────────────────────────────────────────────────────


def launch(
    where: str | Path | Store | Engine | tuple[Store, Scope] | None = None,
    *,
    readonly: bool = False,
    port: int = 0,
    proxy: str | None = None,
    quiet: bool = False,
) -> Workbench:
    """Open the workbench on a store, and print its address; one that is open on that store is used again.

    `where` is a store's folder, a store, an engine or (store, scope): the two last are where it opens. `proxy` is the
    path below which jupyter-server-proxy answers ("/" without a hub; a hub's own is found), "" for none. It ends with
    this process, or a minute after a kernel that does not come back. Raises NotOpened, StoreError, BadSetting.
    """
    path, store, scope = _where(where)
    if store is None:
        Store.open(path, readonly=readonly).close()  # an error about the store belongs here, not in a page
    prefix = proxy_prefix(os.environ) if proxy is None else proxy
    owner = this_process(LINGER_S if _in_kernel() else 0.0)
    server = noted(path)
    if server is None:
        server = started(path, owner, port=port, readonly=readonly, proxied=bool(prefix))
    elif (server.readonly, server.proxied) != (readonly, bool(prefix)):
        raise BadSetting(
            f"a workbench is open on {path} with readonly={server.readonly}, "
            f"{'behind' if server.proxied else 'without'} a proxy: close() that one first"
        )
    server.ask("/join", asdict(owner))
    if not owner.linger_s:
        atexit.register(_leave, server)
    opened = Workbench(server, path, store, scope, prefix)
    if not quiet:
        print(f"Memory Workbench is open at {opened.url}")  # noqa: T201 - said once, and asked for
    return opened


def _where(where: Any) -> tuple[Path, Store | None, Scope | None]:
    if isinstance(where, tuple):
        return where[0].path, *where
    if isinstance(where, Store):
        return where.path, where, None
    if hasattr(where, "store") and hasattr(where, "scope"):  # an engine, without loading what engines are made of
        return where.store.path, where.store, where.scope
    return (Path(where).expanduser().resolve() if where else default_path()), None, None


def _in_kernel() -> bool:
    app = sys.modules.get("ipykernel.kernelapp")
    return app is not None and bool(app.IPKernelApp.initialized())


def _leave(server: Server) -> None:
    with suppress(NotOpened):
        server.ask("/leave", {"pid": os.getpid()})
