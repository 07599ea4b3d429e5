"""The example of an endpoint, asked over HTTP by clients that know nothing of a memory."""

from __future__ import annotations

import importlib.util
import threading
from io import StringIO
from pathlib import Path

import openai
import pytest
import uvicorn

from memory import DropIn
from memory.models.chat import litellm_ready

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "openai_endpoint.py"
MODEL = "workbench/offline"

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance is deprecated"),
]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    """The memory behind it, and its address."""
    spec = importlib.util.spec_from_file_location("openai_endpoint", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with (
        pytest.MonkeyPatch.context() as patched,
        DropIn(tmp_path_factory.mktemp("endpoint") / "store", user="me", window_tokens=2_000) as memory,
    ):
        patched.setattr("memory.engine.Following", lambda store: StringIO())  # nothing but `close`
        config = uvicorn.Config(example.app(memory, MODEL), port=0, ws="none", lifespan="off", log_level="error")
        running = uvicorn.Server(config)
        listening = config.bind_socket()
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield memory, f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        running.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture
def client(endpoint):
    with openai.OpenAI(base_url=endpoint[1], api_key="none", max_retries=0) as opened:
        yield opened


def turns(memory: DropIn, user: str, conversation: str) -> int:
    return next(s.turns for s in memory.store.streams(user, conversation) if s.scope.run == "live")


def test_openai_s_client_has_a_conversation_whole_and_as_a_stream(endpoint, client):
    whose = {"user": "ana", "extra_headers": {"X-Conversation-Id": "trip"}}
    messages = [{"role": "user", "content": "My budget is 5,000 euros."}]
    first = client.chat.completions.create(model="any", messages=messages, **whose)
    assert first.choices[0].finish_reason == "stop"
    assert first.usage.total_tokens == first.usage.prompt_tokens + first.usage.completion_tokens > 0
    messages += [first.choices[0].message, {"role": "user", "content": "What is my budget?"}]
    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = list(client.chat.completions.create(model="any", messages=messages, **whose, **options))
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert "5,000 euros" in said
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage.completion_tokens > 0
    assert turns(endpoint[0], "ana", "trip") == 4


def test_litellm_s_client_is_served_as_well(endpoint):
    memory, address = endpoint
    response = litellm_ready().completion(
        model="openai/any", api_base=address, api_key="none", messages=[{"role": "user", "content": "I am Bo."}],
        extra_body={"metadata": {"conversation_id": "hello", "user_id": "bo"}},
    )  # fmt: skip
    assert response.choices[0].message.content.startswith("Noted")
    assert turns(memory, "bo", "hello") == 2


def test_what_is_refused_comes_as_the_client_s_own_error(client):
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]
    with pytest.raises(openai.BadRequestError, match="keeps words alone"):
        client.chat.completions.create(model="any", messages=image)
    with pytest.raises(openai.BadRequestError, match="leave n out"):
        client.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hi"}], n=2)


def test_a_client_chooses_neither_the_model_nor_where_its_keys_go(endpoint, client):
    """What goes to LiteLLM is named; an address in the request would get the server's key."""
    elsewhere = {"api_base": "http://127.0.0.1:9/v1", "api_key": "stolen", "mock_response": "mine"}
    told = client.chat.completions.create(
        model="openai/other", messages=[{"role": "user", "content": "I like tea."}], extra_body=elsewhere
    )
    assert told.model == "offline"
    assert told.choices[0].message.content == "Noted: I like tea"
    assert [model.id for model in client.models.list()] == [MODEL]
