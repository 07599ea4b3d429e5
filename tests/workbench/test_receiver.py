"""What an app's exporter sends to the workbench's port: kept before it is answered, and answered as OTLP demands."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from memory.resent import name_by
from memory.scope import RECORDED, Scope
from memory.stores.sql import Store
from sessions.transcript import recording_of
from workbench import receiver
from workbench.receiver import PATH, Receiver
from workbench.server import TokenGate

BEGIN = 1_767_225_600_000_000_000
PROTOBUF = "application/x-protobuf"


def span(n: int, conversation: str | None, *texts: str, **more: Any) -> dict[str, Any]:
    """A call with these messages, the last of them the reply."""
    named = {"gen_ai.conversation.id": conversation} if conversation else {}
    said = [
        {"role": ("user", "assistant")[i % 2], "parts": [{"type": "text", "content": t}]} for i, t in enumerate(texts)
    ]
    messages = {"gen_ai.input.messages": json.dumps(said[:-1]), "gen_ai.output.messages": json.dumps(said[-1:])}
    attributes = {"gen_ai.operation.name": "chat", **named, **(messages if texts else {})}
    return {
        "traceId": f"{1:032x}", "spanId": f"{n:016x}", "name": "chat", "startTimeUnixNano": str(BEGIN + n * 10**10),
        "endTimeUnixNano": str(BEGIN + n * 10**10 + 1), **more,
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }  # fmt: skip


def request(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    received = Receiver(tmp_path)
    with TestClient(Starlette(routes=[Route(f"/{PATH}", received.receive, methods=["POST"])])) as made:
        yield made
        assert made.portal is not None
        made.portal.call(received.close)


def send(client: TestClient, body: bytes, kind: str = "application/json", **headers: str) -> Any:
    return client.post(f"/{PATH}", content=body, headers={"content-type": kind, **headers})


def told(path: Path, conversation: str = "c") -> list[str]:
    with Store.open(path, readonly=True) as store:
        return [turn.text for turn in recording_of(store, Scope("user", conversation, RECORDED)).turns]


def test_a_conversation_grows_as_its_calls_arrive_and_a_batch_sent_again_changes_nothing(client, tmp_path):
    first, second = span(1, "c", "hi", "hello"), span(2, "c", "hi", "hello", "how?", "so")
    assert send(client, request(first)).json() == {}
    assert told(tmp_path) == ["hi", "hello"]
    for body in (request(second), request(first, second)):
        assert send(client, gzip.compress(body), **{"content-encoding": "gzip"}).status_code == 200
        assert told(tmp_path) == ["hi", "hello", "how?", "so"]


def test_a_call_waits_for_the_parent_that_names_its_conversation(client, tmp_path):
    child, root = span(2, None, "hi", "hello", parentSpanId=f"{1:016x}"), span(1, "c")
    assert send(client, request(child)).status_code == 200
    assert not list(tmp_path.iterdir())
    send(client, request(root))
    assert told(tmp_path) == ["hi", "hello"]


def test_what_waits_is_written_at_the_end(tmp_path):
    received = Receiver(tmp_path)
    with TestClient(Starlette(routes=[Route(f"/{PATH}", received.receive, methods=["POST"])])) as client:
        send(client, request(span(2, None, "hi", "hello", parentSpanId=f"{1:016x}")))
        assert client.portal is not None
        client.portal.call(received.close)
    assert told(tmp_path, name_by("hi")) == ["hi", "hello"]


def test_a_refused_span_is_counted_and_stops_no_other(client, tmp_path):
    answer = send(client, request(span(1, "c", "hi", "hello"), {"spanId": "x"})).json()
    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    assert "traceId" in answer["partialSuccess"]["errorMessage"]
    assert told(tmp_path) == ["hi", "hello"]


@pytest.mark.parametrize(("body", "kind", "headers", "code"), [
    (b"{", "application/json", {}, 400), (b"[]", "application/json", {}, 400), (b"\x0a\x05ab", PROTOBUF, {}, 400),
    (b"x", "application/json", {"content-encoding": "gzip"}, 400),
    (gzip.compress(b"{}", mtime=0)[:-4], "application/json", {"content-encoding": "gzip"}, 400),
    (b"{}", "text/plain", {}, 415), (b"{}", "application/json", {"content-encoding": "br"}, 415),
])  # fmt: skip
def test_what_is_no_request_is_refused_with_the_reason(client, body, kind, headers, code):
    answer = send(client, body, kind, **headers)
    assert answer.status_code == code
    assert answer.content
    assert answer.headers["content-type"] == (kind if kind == PROTOBUF else "application/json")


def test_too_much_is_refused_packed_or_not(client, monkeypatch):
    monkeypatch.setattr(receiver, "MOST_BYTES", 1000)
    monkeypatch.setattr(receiver, "MOST_UNPACKED", 2000)
    assert send(client, b" " * 1001).status_code == 413
    assert send(client, gzip.compress(b" " * 9000), **{"content-encoding": "gzip"}).status_code == 413


def test_an_empty_protobuf_request_is_none_too_few(client):
    answer = send(client, b"", PROTOBUF)
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, b"", PROTOBUF)


def test_a_store_that_is_open_read_only_takes_nothing(tmp_path):
    route = Route(f"/{PATH}", Receiver(tmp_path, readonly=True).receive, methods=["POST"])
    assert send(TestClient(Starlette(routes=[route])), request()).status_code == 403


def test_nobody_sends_without_the_token_and_the_token_in_a_header_opens_nothing_else(tmp_path):
    routes = [Route(f"/{PATH}", Receiver(tmp_path).receive, methods=["POST"])]
    client = TestClient(TokenGate(Starlette(routes=routes), "t0ken", tmp_path, "secret"))
    bearer = {"authorization": "Bearer t0ken"}
    assert send(client, request()).status_code == 401
    assert send(client, request(), authorization="Bearer other").status_code == 401
    assert send(client, request(), **bearer).status_code == 200
    assert client.get("/events", headers=bearer).status_code == 401


def test_an_edit_that_arrives_later_goes_on_beside(client, tmp_path):
    send(client, request(span(1, "c", "hi", "hello"), span(2, "c", "hi", "hello", "how?", "so")))
    send(client, request(span(3, "c", "hi", "hello", "why?", "because")))
    send(client, request(span(4, "c", "hi", "hello", "why?", "because", "ok", "bye")))
    assert told(tmp_path) == ["hi", "hello", "how?", "so"]
    assert told(tmp_path, "c~2") == ["hi", "hello", "why?", "because", "ok", "bye"]
