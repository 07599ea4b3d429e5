"""An OpenAI-compatible server on loopback that answers as it is told: real HTTP, faults to order."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from inspect import iscoroutinefunction
from socket import SHUT_RDWR
from typing import Any

import pytest

Act = Callable[["Handler", dict[str, Any]], None]
NONE: Mapping[str, str] = {}
USAGE = {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}


class Handler(BaseHTTPRequestHandler):
    """One POST: note what was asked, then do what the server was told."""

    protocol_version = "HTTP/1.1"
    server: OpenAIServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        try:
            self.server.act(self, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client gave up, as a test of timeouts wants

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def send(
        self, status: int, content: str, kind: str = "application/json", headers: Mapping[str, str] = NONE
    ) -> None:
        raw = content.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def stream(self, events: Iterable[str]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            self.event(event)

    def event(self, content: str) -> None:
        raw = f"data: {content}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.flush()

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        self.connection.shutdown(SHUT_RDWR)
        self.close_connection = True


class OpenAIServer(ThreadingHTTPServer):
    """Tell it what to do next with one of the verbs; `asked` holds the bodies it got since."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.says("Hello")

    @property
    def options(self) -> dict[str, str]:
        return {"api_base": f"http://127.0.0.1:{self.server_port}/v1", "api_key": "test"}

    def plays(self, act: Act) -> None:
        self.act = act
        self.asked.clear()

    def says(
        self,
        text: str | None = None,
        *,
        calls: Iterable[tuple[str, str]] = (),
        ends: str = "",
        usage: Mapping[str, int] | None = USAGE,
        after_s: float = 0,
    ) -> None:
        """Text and tool calls (name, arguments as JSON text); in pieces if a stream is asked for."""
        made = [_call(i, name, arguments) for i, (name, arguments) in enumerate(calls)]
        ends = ends or ("tool_calls" if made else "stop")

        def act(handler: Handler, body: dict[str, Any]) -> None:
            time.sleep(after_s)
            if body.get("stream"):
                handler.stream(_events(text or "", made, ends, usage if body.get("stream_options") else None))
                handler.end_stream()
            else:
                message = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
                choice = {"index": 0, "finish_reason": ends, "message": message}
                handler.send(200, _completion([choice], usage))

        self.plays(act)

    def fails(self, status: int, message: str, code: str = "", headers: Mapping[str, str] = NONE) -> None:
        error = {"error": {"message": message, "type": code or "error", "code": code or None}}
        self.plays(lambda handler, body: handler.send(status, json.dumps(error), headers=headers))

    def in_turn(self, *orders: Callable[[OpenAIServer], None]) -> None:
        """One order a request, each given by its verb; the last one stays."""
        acts: list[Act] = []
        for order in orders:
            order(self)
            acts.append(self.act)
        left = iter(acts[:-1])
        self.plays(lambda handler, body: next(left, acts[-1])(handler, body))

    def answers(self, think: Callable[[dict[str, Any]], str]) -> None:
        """To each request what `think` says about its body."""

        def act(handler: Handler, body: dict[str, Any]) -> None:
            asked = list(self.asked)
            self.says(think(body))
            answer, self.act = self.act, act
            self.asked[:] = asked
            answer(handler, body)

        self.plays(act)

    def sends(self, status: int, content: str) -> None:
        """Something that is no JSON, as a proxy in between does."""
        self.plays(lambda handler, body: handler.send(status, content, "text/html"))

    def streams(self, pieces: Iterable[str]) -> None:
        """Just these pieces of text, as they are."""
        events = [*(_chunk({"content": piece}) for piece in pieces), _chunk({}, "stop"), "[DONE]"]

        def act(handler: Handler, body: dict[str, Any]) -> None:
            handler.stream(events)
            handler.end_stream()

        self.plays(act)

    def has_no_choices(self) -> None:
        """A 200 with `choices: []`."""

        def act(handler: Handler, body: dict[str, Any]) -> None:
            if body.get("stream"):
                handler.stream([_completion([], None, "chat.completion.chunk"), "[DONE]"])
                handler.end_stream()
            else:
                handler.send(200, _completion([], USAGE))

        self.plays(act)

    def hangs_up(self) -> None:
        self.plays(lambda handler, body: handler.hang_up())

    def breaks_off(self, text: str, how: str) -> None:
        """A stream that says `text`; then it hangs up, ends early, reports an error, or falls silent."""

        def act(handler: Handler, body: dict[str, Any]) -> None:
            handler.stream(_chunk({"content": piece}) for piece in _pieces(text))
            if how == "hangs up":
                handler.hang_up()
            elif how == "falls silent":
                time.sleep(2)
            elif how == "reports an error":
                handler.event(json.dumps({"error": {"message": "the worker crashed", "type": "server_error"}}))
                handler.end_stream()
            else:
                handler.end_stream()

        self.plays(act)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is no news."""


def _call(index: int, name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _events(text: str, calls: list[dict[str, Any]], ends: str, usage: Mapping[str, int] | None) -> Iterator[str]:
    for piece in _pieces(text):
        yield _chunk({"content": piece})
    for i, call in enumerate(calls):
        named = {**call["function"], "arguments": ""}
        yield _chunk({"tool_calls": [{**call, "index": i, "function": named}]})
        for piece in _pieces(call["function"]["arguments"]):
            yield _chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
    yield _chunk({}, ends)
    if usage:
        yield _completion([], usage, "chat.completion.chunk")
    yield "[DONE]"


def _pieces(text: str) -> list[str]:
    size = max(1, -(-len(text) // 3))
    return [text[i : i + size] for i in range(0, len(text), size)]


def _completion(choices: list[Any], usage: Mapping[str, int] | None, kind: str = "chat.completion") -> str:
    body = {"id": "x", "object": kind, "created": 1, "model": "test", "choices": choices}
    return json.dumps({**body, "usage": usage} if usage else body)


def _chunk(delta: dict[str, Any], ends: str | None = None) -> str:
    return _completion([{"index": 0, "delta": delta, "finish_reason": ends}], None, "chat.completion.chunk")


@pytest.fixture(scope="session")
def running_server() -> Iterator[OpenAIServer]:
    server = OpenAIServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
    if "litellm" in sys.modules:  # it keeps connections open for the next call
        for client in sys.modules["litellm"].in_memory_llm_clients_cache.cache_dict.values():
            if not iscoroutinefunction(client.close):
                client.close()


@pytest.fixture
def server(running_server: OpenAIServer) -> OpenAIServer:
    running_server.says("Hello")
    return running_server
