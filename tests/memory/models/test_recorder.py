"""What LiteLLM tells about calls over real HTTP, in all its modes, becomes conversations."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

from memory.events import ModelCalled, ModelFailed
from memory.models.chat import complete, litellm_ready
from memory.scope import RECORDED, Scope
from memory.stores.sql import Store
from sessions.recorded import recorder
from sessions.transcript import recording_of
from workbench.cli import app

KEY = "sk-proj-" + "Zz9Y" * 8


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def litellm():
    return litellm_ready()


def asked(server, conversation: str, *messages: str, **more):
    roles = ("user", "assistant")
    history = [{"role": roles[n % 2], "content": text} for n, text in enumerate(messages)]
    metadata = {"conversation_id": conversation, "user_id": "ana"}
    return {"model": "openai/test", "messages": history, "metadata": metadata, "max_retries": 0,
            **server.options, "api_key": KEY, "extra_headers": {"x-secret": KEY}, **more}  # fmt: skip


def turns(store: Store, conversation: str) -> list[str]:
    return [t.text for t in recording_of(store, Scope("ana", conversation, RECORDED)).turns]


def log(store: Store, conversation: str, kind: type) -> list:
    return [e.body for e in store.events(Scope("ana", conversation, RECORDED), kinds=(kind.__name__,))]


def test_every_mode_is_recorded_once_and_no_key_is_kept(server, store, litellm):
    async def awaited() -> None:
        await litellm.acompletion(**asked(server, "async", "Hello."))
        async for _ in await litellm.acompletion(**asked(server, "async stream", "Hello."), stream=True):
            pass
        await litellm.close_litellm_async_clients()  # its sockets belong to this loop

    with recorder(store, replay=False) as heard:
        litellm.completion(**asked(server, "sync", "Hello."))
        list(litellm.completion(**asked(server, "stream", "Hello."), stream=True))
        with ThreadPoolExecutor(1) as pool:  # in this thread it would drop the loop that LiteLLM made in it, unclosed
            pool.submit(asyncio.run, awaited()).result()
        assert heard.flush()
        status = heard.status
        modes = ("sync", "stream", "async", "async stream")
        assert {mode: turns(store, mode) for mode in modes} == {m: ["Hello.", "Hello"] for m in modes}
        assert (status.recorded, status.lost, status.under_way) == (4, 0, 0)
        first = {mode: log(store, mode, ModelCalled)[0] for mode in modes}
        assert {(c.llm, c.cost_usd) for c in first.values()} == {("openai/test", None)}
        assert first["sync"].prompt_tokens == first["async"].prompt_tokens == 11
        assert all(c.prompt_tokens for c in first.values())  # counted here where a stream does not say
        assert {mode: c.first_ms > 0 for mode, c in first.items()} == {m: "stream" in m for m in modes}
        assert all(c.ms > 0 for c in first.values())
        assert KEY.encode() not in b"".join(p.read_bytes() for p in store.path.rglob("*") if p.is_file())


def test_messages_are_as_they_were_when_the_call_began(server, store, litellm):
    """Chat loops append to the list that they sent while LiteLLM still tells its end on another thread."""
    with recorder(store, replay=False) as heard:
        call = asked(server, "trip", "Hello.")
        for n in range(3):
            litellm.completion(**call)
            call["messages"] += [{"role": "assistant", "content": "Hello"}, {"role": "user", "content": f"And {n}?"}]
        heard.flush()
        assert turns(store, "trip") == ["Hello.", "Hello", "And 0?", "Hello", "And 1?", "Hello"]


def test_errors_cuts_and_tool_calls(server, store, litellm):
    with recorder(store, replay=False) as heard:
        server.fails(429, f"slow down, {KEY}")
        with pytest.raises(litellm.RateLimitError):
            litellm.completion(**asked(server, "failed", "Hello."))
        server.breaks_off("half an ans", "hangs up")
        with pytest.raises(litellm.exceptions.MidStreamFallbackError):
            list(litellm.completion(**asked(server, "cut", "Hello."), stream=True))
        server.says(None, calls=[("weather", '{"city": "Kyoto"}')])
        list(litellm.completion(**asked(server, "tools", "How warm?"), stream=True))
        heard.flush()
        failed = log(store, "failed", ModelFailed)[0]
        assert failed.error == "RateLimitError"
        assert "slow down" in failed.message
        assert KEY not in failed.message
        assert len(log(store, "cut", ModelFailed)) == 1
        call = recording_of(store, Scope("ana", "tools", RECORDED)).turns[1].calls[0]
        assert (call.name, call.arguments) == ("weather", '{"city": "Kyoto"}')
        assert heard.status.failed_calls == 2


def test_a_stream_that_nobody_read_to_the_end_is_told_as_under_way(server, store, litellm):
    with recorder(store, replay=False) as heard:
        stream = litellm.completion(**asked(server, "trip", "Hello."), stream=True)
        next(stream)
        stream.close()
        assert not heard.flush(0.1)
        assert heard.status.under_way == 1
        assert "1 under way" in heard.status.summary
        heard.close(0.1)


def test_streams_that_nobody_ever_reads_to_the_end_are_not_kept_for_ever(store, monkeypatch):
    monkeypatch.setattr("sessions.recorded.MOST_UNDER_WAY", 3)
    with recorder(store, replay=False) as heard:
        for number in range(10):
            heard.began(f"call-{number}")
        assert heard.status.under_way == 3
        for number in range(10):
            heard.lost(f"call-{number}", "no end")
        assert heard.status.under_way == 0


def test_an_engine_in_the_same_process_is_not_recorded_twice(server, store, litellm):
    with recorder(store, replay=False) as heard:
        complete("openai/test", [{"role": "user", "content": "Hello."}], options=server.options)
        litellm.completion(**asked(server, "trip", "Hello."))
        heard.flush()
        assert heard.status.passed_over == {"an engine's own call, which is in its log": 1}
        assert [s.scope.conversation for s in store.streams()] == ["trip"]


def test_the_self_test_says_whether_events_arrive_and_keeps_nothing(store, litellm):
    alone = recorder(store, replay=False)
    assert not alone.self_test()
    assert "litellm.callbacks.append" in alone.self_test().why
    with alone:
        assert alone.self_test()
        assert alone.status.recorded == 0
    assert store.streams() == []
    assert alone not in litellm.callbacks
    assert alone not in litellm.success_callback


def test_the_command_says_whether_each_kind_of_call_arrives(litellm):
    told = CliRunner().invoke(app, ["recorder-test"])
    assert told.exit_code == 0
    assert [line.split("  ")[0] for line in told.output.splitlines()] == [
        "answered", "streamed", "async", "async stream", "failed",
    ]  # fmt: skip
    assert "not" not in told.output
