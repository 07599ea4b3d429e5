"""The workbench's own server: Streamlit behind a token, and one push of what is new for all open pages.

`serve` blocks until it is told to stop. The token stands in the address once and then in a cookie, so that no
other program of this machine's other users, and no web page, reads what is remembered. It is no login: whoever
has the address has the store. Whoever has a review link (review_link.py) has one user's page of it and nothing else;
a review-only server has no other door.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from html import escape
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from types import FrameType
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode

import orjson
import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.file_util import get_static_dir

from memory.errors import BadSetting, EngineError, StoreError
from memory.journal import utc_now
from memory.stores.sql import Store, default_path
from workbench.access import DEVELOPER_HEADER, GATE_VARIABLE, ONLY_VARIABLE, REVIEWER_HEADER
from workbench.app import NAVIGATION
from workbench.listeners import AGAIN, Listeners
from workbench.pyvis_graph import CODE_PATH, library
from workbench.receiver import PATH as TRACES
from workbench.receiver import Receiver
from workbench.review_link import PARAMETER, LinkRefused, Reviewer, key_of, opened
from workbench.state import PUSH_VARIABLE, READONLY_VARIABLE, STORE_VARIABLE, warm
from workbench.steering import STEERED_VARIABLE, STEERING, Owner, Steering
from workbench.words import Words, language_of

APP = Path(__file__).with_name("app.py")
COOKIE = "memory_workbench"
REVIEW_COOKIE = "memory_workbench_review"
OPEN_PATH = "/_stcore/health"
LOOK_S = 0.4  # how often the store is looked at while a page is open
MISSING_S = 2.0  # how often a store that cannot be read is tried again


class PortTaken(EngineError): ...


# ── who may come in ───────────────────────────────────────────────────────────────────────────────────


class TokenGate:
    """Lets nobody in without a token: pages, files, uploads and the websocket alike.

    The first address carries it; the answer sets a cookie that scripts cannot read and leads to the same
    address without it. The way there is relative, so it holds behind a proxy that adds a prefix. `token` is the
    developer's, "" where there is none; a reviewer's is read against the store's key each time. Who came in is
    written into headers that nobody else can set, for access.py.
    """

    def __init__(self, app: ASGIApp, token: str, store: Path, secret: str) -> None:
        self.app = app
        self._token, self._store, self._secret = token.encode(), store, secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or scope["path"] == OPEN_PATH:
            await self.app(scope, receive, send)
        elif self._is_developer(scope):
            await self.app(_known(scope, DEVELOPER_HEADER, self._secret), receive, send)
        elif (token := self._reviews(scope)) is not None and _may_review(scope):
            await self.app(_known(scope, REVIEWER_HEADER, token), receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4401})
        else:
            await self._answer(scope, token is not None)(scope, receive, send)

    def _is_ours(self, token: str) -> bool:
        return bool(self._token) and hmac.compare_digest(token.encode(), self._token)

    def _is_developer(self, scope: Scope) -> bool:
        """By the cookie; an exporter of traces, which keeps none, by a header, and for its own path alone."""
        if self._is_ours(_cookie(scope, COOKIE)):
            return True
        return scope["type"] == "http" and scope["path"] == f"/{TRACES}" and self._is_ours(_bearer(scope))

    def _reviewer(self, token: str) -> Reviewer:
        return opened(token, key_of(self._store), now=utc_now())

    def _reviews(self, scope: Scope) -> str | None:
        """The token of whoever has come in as a reviewer before; None while another one stands in the address."""
        token = _cookie(scope, REVIEW_COOKIE)
        if not token or (scope["type"] == "http" and PARAMETER in _query(scope)):
            return None
        with suppress(EngineError):
            self._reviewer(token)
            return token
        return None

    def _answer(self, scope: Scope, is_reviewer: bool) -> Response:
        query = _query(scope)
        if self._is_ours(query.get("token", "")):
            return _entered(scope, "token", COOKIE, self._token.decode(), samesite="strict")
        if is_reviewer and scope["path"] in DOCUMENTS:  # another page: there is none but theirs
            return Response(status_code=303, headers={"location": "./", "cache-control": "no-store"})
        if is_reviewer:
            return Response("403: not part of a review\n", 403, media_type="text/plain", headers=PRIVATE)
        if scope["path"] == f"/{TRACES}":
            says = "401: traces come with the token of the address: `authorization: Bearer …`\n"
            return Response(says, 401, media_type="text/plain", headers=PRIVATE)
        if PARAMETER not in query and self._token:
            says = "401: open the whole address that `workbench open` printed; it ends with ?token=…\n"
            return Response(says, 401, media_type="text/plain", headers=PRIVATE)
        try:
            if not (token := query.get(PARAMETER, "") or _cookie(scope, REVIEW_COOKIE)):
                raise LinkRefused("needed", "there is no token")
            until = self._reviewer(token).until
        except EngineError as error:  # or the store's key cannot be read
            why = error.why if isinstance(error, LinkRefused) else "broken"
            return HTMLResponse(_refusal(why, Words(_language(scope))), 401, headers=PRIVATE)
        left = max(1, int((until - utc_now()).total_seconds()))
        # Lax: the link is followed out of a letter or a chat, and what is followed from there has no strict cookie.
        return _entered(scope, PARAMETER, REVIEW_COOKIE, token, samesite="lax", max_age=left)


DOCUMENTS = frozenset({"/", *(f"/{entry.name}" for group in NAVIGATION.values() for entry in group)})
STREAMED = {"cache-control": "no-store", "x-accel-buffering": "no"}
PRIVATE = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
# What a reviewer's page is made of. Not among them: /events, which tells of all users, uploads, metrics, the agent's
# interface, and whatever a later version of Streamlit may serve.
REVIEW_PATHS = frozenset({"/", "/_stcore/stream", "/_stcore/host-config", "/favicon.png"})
REVIEW_FOLDERS = ("/static/", "/app/static/", "/media/", "/component/", "/_stcore/bidi-components/")


def _may_review(scope: Scope) -> bool:
    path = scope["path"]
    return path in REVIEW_PATHS or (path.startswith(REVIEW_FOLDERS) and ".." not in path)


def _known(scope: Scope, name: str, value: str) -> Scope:
    """The request with who it is, and without what it says of that itself."""
    ours = {DEVELOPER_HEADER.encode(), REVIEWER_HEADER.encode()}
    headers = [(key, said) for key, said in scope["headers"] if key.lower() not in ours]
    return {**scope, "headers": [*headers, (name.encode(), value.encode())]}


def _query(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))


def _cookie(scope: Scope, name: str) -> str:
    raw = dict(scope["headers"]).get(b"cookie", b"").decode("latin-1")
    with suppress(CookieError):
        found = SimpleCookie(raw).get(_cookie_name(scope, name))
        return found.value if found else ""
    return ""


def _bearer(scope: Scope) -> str:
    said: str = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    kind, _, token = said.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _cookie_name(scope: Scope, name: str) -> str:
    """Cookies know no port; two workbenches on one machine do."""
    return f"{name}_{scope['server'][1]}"


def _entered(
    scope: Scope, parameter: str, cookie: str, token: str, *, samesite: Literal["lax", "strict"],
    max_age: int | None = None,
) -> Response:  # fmt: skip
    """To the same address without the token, which is in a cookie now."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    rest = urlencode([(name, value) for name, value in query if name != parameter])
    target = (scope["path"].rsplit("/", 1)[-1] or "./") + (f"?{rest}" if rest else "")
    response = Response(status_code=303, headers={"location": target, **PRIVATE})
    name = _cookie_name(scope, cookie)
    response.set_cookie(name, token, httponly=True, samesite=samesite, path="/", max_age=max_age)
    return response


def _language(scope: Scope) -> str:
    said = dict(scope["headers"]).get(b"accept-language", b"").decode("latin-1")
    return language_of(_query(scope).get("lang", "") or said.partition(",")[0])


def _refusal(why: str, say: Words) -> str:
    """A page for whoever has no link, or one that is good no more."""
    title, says = say(f"review.link.{why}"), say(f"review.link.{why}.says")
    return f"""<!doctype html><html lang="{say.language}"><meta charset="utf-8"><title>Memory Workbench</title>
<meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><style>
:root {{ color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif; }}
body {{ display: grid; place-items: center; min-height: 90vh; margin: 0; padding: 24px; box-sizing: border-box; }}
main {{ max-width: 29rem; border: 1px solid #8885; border-radius: 14px; padding: 26px 30px; }}
h1 {{ font-size: 1.2rem; margin: 0 0 .5rem; letter-spacing: -.01em; }} p {{ margin: 0; opacity: .8; }}
</style><main><h1>{escape(title)}</h1><p>{escape(says)}</p></main></html>"""


# ── what is new ───────────────────────────────────────────────────────────────────────────────────────


class Pulse:
    """Tells every open page which conversation moved on: one look at the store for all, none while nobody listens.

    An event is `{"seq": 812, "versions": {"3": 211}}`: the newest seq, and streams with the version they are at
    now; all of them in a listener's first event, afterwards those that moved.
    """

    def __init__(self, store: Path) -> None:
        self._path = store
        self._listeners = Listeners()
        self._task: asyncio.Task[None] | None = None
        self._seq = -1
        self._versions: dict[int, int] = {}

    async def stream(self, request: Request) -> Response:
        events = self._listeners.listen(self._greeting)
        return StreamingResponse(events, media_type="text/event-stream", headers=STREAMED)

    def _greeting(self) -> list[bytes]:
        """Everything as it is now, where that is known; else the first look tells it."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        elif self._seq >= 0:
            return [self._event(self._versions), AGAIN]
        return [AGAIN]

    async def _watch(self) -> None:
        """Until nobody listens: look, and tell when something was committed."""
        while self._listeners and not self._listeners.is_closed:
            try:
                store = Store.open(self._path, readonly=True)
            except EngineError:  # not made yet, or damaged: the page itself says so
                await asyncio.sleep(MISSING_S)
                continue
            with store, suppress(StoreError):
                await self._follow(store)
        self._seq, self._versions = -1, {}

    async def _follow(self, store: Store) -> None:
        watch, seen = store.watcher(), -1
        while self._listeners and not self._listeners.is_closed:
            now = watch()
            if now != seen:
                seen = now
                self._look(store)
            await asyncio.sleep(LOOK_S)

    def _look(self, store: Store) -> None:
        seq = store.last_seq()
        versions = {stream.id: stream.version for stream in store.streams(own=True)}
        moved = {key: version for key, version in versions.items() if self._versions.get(key) != version}
        if seq != self._seq or moved:
            self._seq, self._versions = seq, versions
            self._listeners.tell(self._event(moved))

    def _event(self, versions: dict[int, int]) -> bytes:
        body = orjson.dumps({"seq": self._seq, "versions": versions}, option=orjson.OPT_NON_STR_KEYS)
        return b"id: %d\ndata: %s\n\n" % (self._seq, body)

    def close(self) -> None:
        self._listeners.close()


@asynccontextmanager
async def _ending(*streams: Pulse | Steering) -> AsyncIterator[None]:
    """Close the streams as soon as the process is told to stop, then do what was to be done then."""

    def close() -> None:
        for stream in streams:
            stream.close()

    if threading.current_thread() is not threading.main_thread():
        yield
        close()
        return
    loop = asyncio.get_running_loop()
    before: dict[int, Any] = {}

    def stop(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(close)
        if callable(before[number]):
            before[number](number, frame)

    number: int
    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        close()
        for number, handler in before.items():
            signal.signal(number, handler)


# ── the notebook that opened it ───────────────────────────────────────────────────────────────────────


def _steered(prefix: str, store: Path, readonly: bool) -> list[Route]:
    """For whoever knows the secret path, so for the notebook and its pages: where the reader is, where to go."""

    async def told(request: Request) -> Response:
        return _json({"store": str(store), "readonly": readonly, **STEERING.told()})

    async def go(request: Request) -> Response:
        return _json({"open": STEERING.go(orjson.loads(await request.body()))})

    async def join(request: Request) -> Response:
        STEERING.join(Owner(**orjson.loads(await request.body())))
        return _json({})

    async def leave(request: Request) -> Response:
        return _json({"owners": STEERING.leave(orjson.loads(await request.body())["pid"])})

    async def stream(request: Request) -> Response:
        return StreamingResponse(STEERING.listen(), media_type="text/event-stream", headers=STREAMED)

    post = ["POST"]
    return [
        Route(f"{prefix}/steering", told),
        Route(f"{prefix}/steering/stream", stream),
        Route(f"{prefix}/steering/go", go, methods=post),
        Route(f"{prefix}/steering/join", join, methods=post),
        Route(f"{prefix}/steering/leave", leave, methods=post),
    ]


def _json(told: dict[str, Any]) -> Response:
    return Response(orjson.dumps(told), media_type="application/json", headers=PRIVATE)


# ── the server ────────────────────────────────────────────────────────────────────────────────────────


def make_app(store: Path, token: str, *, base: str = "", on_ready: Callable[[str], None] | None = None) -> st.App:
    """The ASGI app. With `base` (a secret path) there is no gate: for frames, where browsers keep cookies out."""
    pulse = Pulse(store)
    receiver = Receiver(store, readonly=bool(os.environ.get(READONLY_VARIABLE)))

    @asynccontextmanager
    async def lifespan(app: st.App) -> AsyncIterator[dict[str, Any]]:
        asyncio.get_running_loop().run_in_executor(None, warm)
        async with _ending(pulse, STEERING):
            if on_ready is not None:
                on_ready(_address(base, token))
            yield {}
            await receiver.close()

    secret = "" if base else secrets.token_urlsafe(24)
    os.environ[GATE_VARIABLE] = secret
    gate = [] if base else [Middleware(TokenGate, token=token, store=store, secret=secret)]
    prefix = f"/{base}" if base else ""
    entries = [entry for group in NAVIGATION.values() for entry in group]
    pages = [Route(f"{prefix}/{entry.name}", _start if entry.is_default else _document) for entry in entries]
    routes = [Route(f"{prefix}/events", pulse.stream), Route(f"{prefix}/", _document), *pages]
    routes.append(Route(f"{prefix}/{CODE_PATH}", _drawing))
    routes.append(Route(f"{prefix}/{TRACES}", receiver.receive, methods=["POST"]))
    if base:
        routes += _steered(prefix, store, bool(os.environ.get(READONLY_VARIABLE)))
    return st.App(APP, middleware=gate, routes=routes, lifespan=lifespan)


# Without this, Streamlit's script guesses how deep in the address it is, by asking for files that are not there.
ROOT_SCRIPT = '<script>window.__streamlit = { BACKEND_BASE_URL: new URL(".", location.href).href };</script>'


@cache
def _html() -> str:
    """Streamlit's document with our name, and with something to see until its scripts have come."""
    html = Path(get_static_dir(), "index.html").read_text("utf-8")
    static = APP.parent / "static"
    splash = (
        (static / "splash.html").read_text("utf-8").replace("<!-- logo -->", (static / "logo.svg").read_text("utf-8"))
    )
    for old, new in (
        ("<head>", f"<head>{ROOT_SCRIPT}"),
        ("<title>Streamlit</title>", "<title>Memory Workbench</title>"),
        ('<div id="root"></div>', f'<div id="root">{splash}</div>'),
    ):
        html = html.replace(old, new, 1)
    return html


def _document(request: Request) -> Response:
    """The one document of all pages: every page lies directly below the root."""
    return HTMLResponse(_html(), headers={"cache-control": "no-cache", "referrer-policy": "no-referrer"})


def _start(request: Request) -> Response:
    """The start page lies at the root, and is found by its name as well."""
    query = f"?{request.url.query}" if request.url.query else ""
    return Response(status_code=307, headers={"location": f"./{query}"})


def _drawing(request: Request) -> Response:
    """The code that draws graphs, half a megabyte: a browser asks for it once an hour, and not with each change."""
    return Response(library(), media_type="text/javascript", headers={"cache-control": "private, max-age=3600"})


def _address(base: str, token: str) -> str:
    from streamlit import config

    root = f"http://127.0.0.1:{config.get_option('server.port')}/"
    if base or not token:
        return f"{root}{base}/" if base else root
    return f"{root}?token={token}"


def serve(
    store_path: str | Path | None = None,
    port: int = 0,
    *,
    token: str | None = None,
    readonly: bool = False,
    framed: bool = False,
    proxied: bool = False,
    review_only: bool = False,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the workbench on this machine until SIGINT or SIGTERM.

    `port` 0 takes a free one. `on_ready` gets the whole address as soon as it answers. `framed` puts the token into the
    path instead of a cookie, for a notebook's frame; `proxied`: it is reached below another address, whose name nobody
    here knows, and the secret path alone keeps strangers out. `review_only`: nothing is shown without a review link,
    and nobody sees more than their own page. Raises PortTaken, or BadSetting where a frame is to be review-only.
    """
    if review_only and framed:
        raise BadSetting("a frame has its secret in its path: it cannot be review-only")
    if proxied and not framed:
        raise BadSetting("behind a proxy the secret is in the path: framed=True")
    store = Path(store_path).expanduser().resolve() if store_path else default_path()
    token = "" if review_only else token or secrets.token_urlsafe(24)
    _check_port(port)
    os.environ[STORE_VARIABLE] = str(store)
    os.environ[PUSH_VARIABLE] = "1"
    os.environ[READONLY_VARIABLE] = "1" if readonly else ""
    os.environ[ONLY_VARIABLE] = "1" if review_only else ""
    os.environ[STEERED_VARIABLE] = "1" if framed else ""
    sys.argv = [str(APP)]  # the settings beside the script are looked for from here
    base = f"t/{token}" if framed else ""
    make_app(store, token, base=base, on_ready=on_ready).run(
        config={
            "server.port": port,
            "server.address": "127.0.0.1",
            "server.headless": True,
            "server.fileWatcherType": "none",
            "server.allowedHosts": ["*"] if proxied else ["127.0.0.1", "localhost"],
            "server.enableCORS": not proxied,
            "server.enableXsrfProtection": not proxied,
            "server.baseUrlPath": base,
            "browser.gatherUsageStats": False,
            "logger.hideWelcomeMessage": True,
            "logger.level": "warning",
        }
    )


def _check_port(port: int) -> None:
    if not port:
        return
    with socket.socket() as probe:
        if os.name != "nt":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise PortTaken(
                f"port {port} cannot be used ({error.strerror}); give another, or none for a free one"
            ) from error
