"""OTLP over HTTP on the workbench's port: what an app's exporter sends to `/v1/traces` becomes conversations.

JSON and protobuf, plain or gzip, answered as OTLP demands: what was refused is counted and said, malformed bytes are
400 with the reason, too many are 413, a store that cannot be written is 503 and sent again by the exporter. Words are
in the store when the answer goes out, but for spans that wait up to a few seconds for the name of their conversation
(arriving.py); replays follow when it is quiet. Who may send is the server's to decide.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import zlib
from pathlib import Path
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from memory.engine import resolved
from memory.errors import EngineError, RecordingError
from memory.scope import RECORDED, Scope
from memory.settings import Settings
from memory.stores.sql import Store
from sessions.arriving import QUIET_S, Arriving
from sessions.importer import FAILED, Imported, import_recordings, kept_replay, weaver
from sessions.otlp_wire import partial, request_of, status
from sessions.recording import Skipped
from sessions.replay import replay, save
from sessions.spans import Span, of_request

PATH = "v1/traces"
JSON, PROTOBUF = "application/json", "application/x-protobuf"
MOST_BYTES = 16 << 20  # as sent
MOST_UNPACKED = 64 << 20
SHARE = 10  # replays are made again after so many times what they took


class Refused(EngineError):
    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


class Receiver:
    def __init__(self, store: Path, *, readonly: bool = False) -> None:
        self._path, self._readonly = store, readonly
        self._arriving = Arriving()
        self._grown: dict[Scope, None] = {}  # whose replay is to be brought up to date
        self._writing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def receive(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if self._readonly:
                raise Refused(403, "this workbench is open read-only: nothing is written")
            if kind not in (JSON, PROTOBUF):
                raise Refused(415, f"traces come as {PROTOBUF} or {JSON}, not as {kind or 'nothing that says so'}")
            body, encoding = await _body(request), request.headers.get("content-encoding", "")
            spans, skipped = await asyncio.to_thread(lambda: spans_in(unpacked(body, encoding), kind))
            async with self._writing:
                ready = self._arriving.take(spans, time.monotonic())
                failed = await asyncio.to_thread(self._write, ready)
        except Refused as error:
            return _answer(kind, error.code, status(str(error)), {"message": str(error)})
        except EngineError as error:  # the store's own trouble: the exporter sends it again
            return _answer(kind, 503, status(str(error)), {"message": str(error)})
        self._follow()
        why = "; ".join([*map(str, skipped[:3]), *failed[:3]])
        told = {"partialSuccess": {"rejectedSpans": str(len(skipped)), "errorMessage": why}} if why else {}
        return _answer(kind, 200, partial(len(skipped), why), told)

    async def close(self) -> None:
        """Writes what still waits."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        async with self._writing:
            if late := self._arriving.due(float("inf")):
                await asyncio.to_thread(self._write, late)

    # ── into the store ────────────────────────────────────────────────────────────────────────────────

    def _write(self, spans: list[Span]) -> list[str]:
        """What could not be kept, and why."""
        if not spans:
            return []
        with Store.open(self._path) as store:
            report = import_recordings(store, weaver(store)(spans), replay=False)
        self._grown |= {Scope(c.user, c.conversation, RECORDED): None for c in report.conversations if c.new_turns}
        return [_failure(c) for c in report.conversations if c.status == FAILED]

    def _follow(self) -> None:
        if (self._grown or len(self._arriving)) and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._later())

    async def _later(self) -> None:
        """Until nothing waits: late spans are written, replays brought up to date."""
        took = 0.0
        while self._grown or len(self._arriving):
            await asyncio.sleep(max(QUIET_S if not self._grown else 1.0, SHARE * took))
            async with self._writing:
                with contextlib.suppress(EngineError):  # what could not be written is gone on with by the next
                    await asyncio.to_thread(self._write, self._arriving.due(time.monotonic()))
            began = time.process_time()
            grown, self._grown = list(self._grown), {}
            await asyncio.to_thread(self._replay, grown)
            took = time.process_time() - began

    def _replay(self, scopes: list[Scope]) -> None:
        """Each conversation's replay under the settings that imports have, gone on with."""
        settings = resolved(Settings())
        with Store.open(self._path) as store:
            for scope in scopes:
                with contextlib.suppress(EngineError):  # one that cannot be replayed is there as it was recorded
                    if kept_replay(store, scope, settings) is None:
                        save(store, scope, replay((store, scope), settings))


def _failure(one: Imported) -> str:
    return f"conversation {one.conversation}: {one.reason}"


# ── a request's body, and its answer ──────────────────────────────────────────────────────────────────


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise Refused(413, f"a request has at most {MOST_BYTES >> 20} MB; send smaller batches")
        parts.append(part)
    return b"".join(parts)


def unpacked(raw: bytes, encoding: str) -> bytes:
    """The bytes behind a content encoding. Raises Refused for another one, for what it is not, or for too much."""
    if encoding.lower() in ("", "identity"):
        return raw
    if encoding.lower() != "gzip":
        raise Refused(415, f"the content encoding is gzip or none, not {encoding[:40]!r}")
    inflating = zlib.decompressobj(wbits=31)
    try:
        whole = inflating.decompress(raw, MOST_UNPACKED)
    except zlib.error as error:
        raise Refused(400, f"no gzip: {error}") from error
    if inflating.unconsumed_tail:
        raise Refused(413, f"a request has at most {MOST_UNPACKED >> 20} MB unpacked; send smaller batches")
    if not inflating.eof:
        raise Refused(400, "no gzip: it ends too early")
    return whole


def spans_in(raw: bytes, kind: str) -> tuple[list[Span], list[Skipped]]:
    """The spans of a request, and those that cannot be read. Raises Refused for what is no request."""
    try:
        found = list(of_request(request_of(raw) if kind == PROTOBUF else orjson.loads(raw)))
    except (RecordingError, ValueError) as error:  # orjson's error is a ValueError
        raise Refused(400, str(error)) from error
    return [each for each in found if isinstance(each, Span)], [each for each in found if isinstance(each, Skipped)]


def _answer(kind: str, code: int, wire: bytes, told: dict[str, Any]) -> Response:
    """In the encoding that was asked in."""
    if kind == PROTOBUF:
        return Response(wire, code, media_type=PROTOBUF)
    return Response(orjson.dumps(told), code, media_type=JSON)
