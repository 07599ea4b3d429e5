"""Who passes the server's gate, and what the app behind it is told of them."""

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from memory.errors import BadSetting
from memory.journal import utc_now
from workbench.access import DEVELOPER_HEADER, REVIEWER_HEADER
from workbench.review_link import PARAMETER, make_key, renew, sign
from workbench.server import TokenGate, serve

LAUNCH = "the-launch-token"
SECRET = "of-this-process"
CLOSED = [
    "/events",
    "/vis-network.js",
    "/_stcore/metrics",
    "/_stcore/agent/interact",
    "/_stcore/upload_file/a/b",
    "/static/../events",
]
PAGE = ["/", "/_stcore/stream", "/_stcore/host-config", "/static/js/index.js", "/app/static/logo.svg", "/media/a.json"]
ELSEWHERE = ["/turn", "/review", "/evictions", "/live"]


async def told(request: Request) -> JSONResponse:
    """An app that shows everybody everything: who it was told is there, and where."""
    who = {name: request.headers.getlist(name) for name in (DEVELOPER_HEADER, REVIEWER_HEADER)}
    return JSONResponse({"path": request.url.path, **who})


async def stream(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_json(websocket.headers.getlist(REVIEWER_HEADER))
    await websocket.close()


def gated(store: Path, launch: str = LAUNCH) -> TestClient:
    app = Starlette(routes=[WebSocketRoute("/_stcore/stream", stream), Route("/{path:path}", told)])
    return TestClient(TokenGate(app, launch, store, SECRET), follow_redirects=False)


def token(store: Path, user: str = "ana", **more: float) -> str:
    return sign(user, make_key(store), now=utc_now(), **more)


def entered(store: Path, launch: str = LAUNCH) -> tuple[TestClient, str]:
    """A browser that followed a review link."""
    client, mine = gated(store, launch), token(store)
    assert client.get(f"/?{PARAMETER}={mine}&lang=zh").status_code == 303
    return client, mine


@pytest.mark.parametrize("path", ["/", "/turn", "/events", "/_stcore/metrics", "/media/a.json"])
@pytest.mark.parametrize("launch", [LAUNCH, ""])
def test_without_a_token_nothing_is_served(tmp_path: Path, path: str, launch: str):
    assert gated(tmp_path, launch).get(path).status_code == 401


def test_a_link_leads_to_the_page_without_its_token_and_into_a_cookie_no_script_reads(tmp_path: Path):
    client, mine = gated(tmp_path), token(tmp_path)
    answer = client.get(f"/?{PARAMETER}={mine}&lang=zh")
    assert answer.headers["location"] == "./?lang=zh"
    assert {"httponly", "samesite=lax"} <= set(answer.headers["set-cookie"].lower().split("; "))
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert client.get("/").json() == {"path": "/", DEVELOPER_HEADER: [], REVIEWER_HEADER: [mine]}


@pytest.mark.parametrize("launch", [LAUNCH, ""])
@pytest.mark.parametrize("path", CLOSED)
def test_a_reviewer_has_nothing_but_the_parts_of_their_page(tmp_path: Path, path: str, launch: str):
    client, _ = entered(tmp_path, launch)
    assert client.request("GET", f"http://testserver{path}").status_code in (303, 403)
    assert all(client.get(each).status_code == 200 for each in PAGE)
    assert all(client.get(each).headers["location"] == "./" for each in ELSEWHERE)


def test_what_a_browser_says_of_itself_is_not_passed_on(tmp_path: Path):
    client, mine = entered(tmp_path)
    forged = {DEVELOPER_HEADER: SECRET, REVIEWER_HEADER: token(tmp_path, "lin")}
    assert client.get("/", headers=forged).json() == {"path": "/", DEVELOPER_HEADER: [], REVIEWER_HEADER: [mine]}
    assert gated(tmp_path).get("/", headers=forged).status_code == 401


def test_the_websocket_is_told_who_came_in_and_stays_closed_to_everybody_else(tmp_path: Path):
    client, mine = entered(tmp_path)
    with client.websocket_connect("/_stcore/stream", headers={REVIEWER_HEADER: "x"}) as socket:
        assert socket.receive_json() == [mine]
    with pytest.raises(WebSocketDisconnect), gated(tmp_path).websocket_connect("/_stcore/stream"):
        pass


def test_a_developer_is_told_apart_and_may_try_a_link(tmp_path: Path):
    client = gated(tmp_path)
    assert client.get(f"/?token={LAUNCH}").status_code == 303
    known = client.get(f"/events?{PARAMETER}={token(tmp_path)}").json()
    assert known[DEVELOPER_HEADER] == [SECRET]
    assert known[REVIEWER_HEADER] == []


def test_a_review_only_server_has_no_developer(tmp_path: Path):
    for said in ("", LAUNCH, "x"):
        client = gated(tmp_path, "")
        assert client.get(f"/?token={said}").status_code == 401
        assert client.get("/", headers={"cookie": f"memory_workbench_80={said}"}).status_code == 401


def test_another_link_in_the_address_counts_and_a_bad_one_is_told(tmp_path: Path):
    client, _ = entered(tmp_path)
    assert client.get(f"/?{PARAMETER}=x").status_code == 401
    other = token(tmp_path, "lin")
    assert client.get(f"/?{PARAMETER}={other}").status_code == 303
    assert client.get("/").json()[REVIEWER_HEADER] == [other]


def test_links_that_were_ended_or_have_expired_let_nobody_in_any_more(tmp_path: Path):
    client, _ = entered(tmp_path, "")
    renew(tmp_path)
    gone = client.get("/", headers={"accept-language": "zh-CN,zh;q=0.9"})
    assert gone.status_code == 401
    assert "这个链接不属于这里" in gone.text
    past = sign("ana", make_key(tmp_path), now=utc_now().replace(year=2020))
    late = gated(tmp_path, "").get(f"/?{PARAMETER}={past}")
    assert late.status_code == 401
    assert "This link has expired" in late.text


def test_a_key_that_others_may_read_is_the_hosts_trouble_and_says_nothing_of_it(tmp_path: Path):
    mine = token(tmp_path)
    (tmp_path / "review.key").chmod(0o644)
    answer = gated(tmp_path, "").get(f"/?{PARAMETER}={mine}")
    assert answer.status_code == 401
    assert str(tmp_path) not in answer.text


def test_a_frame_cannot_be_review_only(tmp_path: Path):
    with pytest.raises(BadSetting, match="frame"):
        serve(tmp_path, framed=True, review_only=True)
