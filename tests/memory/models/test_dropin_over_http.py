"""A chat script that gains its memory by changing one line: LiteLLM's calls, answers, streams and errors."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from itertools import pairwise

import openai
import pytest

from memory import DropIn, Engine, Scope, Store
from memory.models.chat import litellm_ready
from memory.prompt import RECALL_TOOL
from memory.state import fold

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance is deprecated"),
]

SETTINGS = {"window_tokens": 1_500, "reply_tokens": 100, "boundary": "fixed_4", "remember": "off"}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
MODEL = "openai/test"


@pytest.fixture(autouse=True)
def nothing_follows(monkeypatch):
    """What is derived from the log has tests of its own."""
    monkeypatch.setattr("memory.engine.Following", lambda store: StringIO())  # nothing but `close`


@pytest.fixture
def engine(tmp_path, server):
    opened = Engine.open(tmp_path / "store", user="ana", conversation="trip", llm=MODEL, options=server.options,
                         background=False, timeout_s=2, **SETTINGS)  # fmt: skip
    yield opened
    opened.close()


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def texts(engine: Engine, run: str = "live") -> list[str]:
    state, words = engine.store.state(engine.scope.at(run)), engine.store.words(engine.scope)
    return [words[turn.text] for page in state.pages.values() for turn in page.turns if not turn.piece]


def kinds(engine: Engine, kind: str) -> list:
    return [e.body for e in engine.store.events(engine.scope, kinds=(kind,))]


def runs(engine: Engine) -> set[str]:
    return {stream.scope.run for stream in engine.store.streams("ana", "trip")}


# ── the loop ──────────────────────────────────────────────────────────────────────────────────────────


def chat_loop(completion, turns: int) -> list:
    """The application, as it was written for LiteLLM."""
    messages = [{"role": "system", "content": "Be brief."}]
    for i in range(turns):
        messages.append(user(f"Fact {i}: the code of drawer {i} is {1_000 + i}. " + "some more words here " * 14))
        response = completion(model=MODEL, messages=messages, temperature=0.5)
        messages.append(response.choices[0].message)
    return messages


def test_a_chat_loop_of_thirty_turns_gains_paging_by_one_line(engine, server):
    server.answers(lambda body: f"Noted, {len(body['messages'])} messages.")
    messages = chat_loop(engine.completion, 30)
    assert len(messages) == 61
    assert len(server.asked) == 30
    assert texts(engine) == [m["content"] for m in messages[1:]]
    assert engine.state.counts.evictions >= 8
    last = server.asked[-1]
    assert last["temperature"] == 0.5
    assert "max_tokens" not in last  # as the application called it
    assert last["messages"][0]["content"].startswith("Be brief.\n\n")
    assert len(last["messages"]) < 20 < len(messages)
    assert "[p1:" in str(last["messages"])
    assert runs(engine) == {"live"}
    assert fold(engine.store.events(engine.scope)) == engine.state


def test_a_history_that_began_elsewhere_is_taken_in_whole_and_only_its_end_is_answered(engine, server):
    before = [m for i in range(4) for m in (user(f"Question {i}"), {"role": "assistant", "content": f"Answer {i}"})]
    engine.completion(MODEL, [{"role": "assistant", "content": "How can I help?"}, *before, user("Now?")])
    assert len(server.asked) == 1
    assert texts(engine) == ["How can I help?", *(m["content"] for m in before), "Now?", "Hello"]
    assert engine.state.step == 5
    assert len(kinds(engine, "StepFinished")) == 5


def test_the_answer_is_litellm_s_and_counts_all_calls_that_it_took(engine, server):
    messages = chat_loop(engine.completion, 12)
    assert engine.state.evicted
    ask = '{"page_ids": ["p1"], "question": "drawer 0"}'
    server.in_turn(lambda s: s.says(calls=[("recall", ask)]), lambda s: s.says("It is 1000."))
    response = engine.completion(MODEL, [*messages, user("What is the code of drawer 0?")])
    assert isinstance(response, litellm_ready().ModelResponse)
    choice = response.choices[0]
    assert (choice.message.content, choice.message.tool_calls, choice.finish_reason) == ("It is 1000.", None, "stop")
    assert (response.usage.prompt_tokens, response.usage.completion_tokens, response.usage.total_tokens) == (22, 4, 26)
    assert response._hidden_params["memory"] == {
        "user": "ana", "conversation": "trip", "run": "live", "step": 13, "turn": 26, "recalled": [1, 4, 3],
    }  # fmt: skip


def test_the_cost_is_that_of_all_calls(engine, server):
    response = engine.completion("openai/gpt-4o-mini", [user("Hi")])
    assert response._hidden_params["response_cost"] == pytest.approx(11 * 15e-8 + 2 * 6e-7)
    assert litellm_ready().completion_cost(response) == pytest.approx(response._hidden_params["response_cost"])
    assert response.model == "gpt-4o-mini"


# ── streams, async ────────────────────────────────────────────────────────────────────────────────────


def test_a_stream_has_litellm_s_chunks(engine, server):
    server.says("Hello, Ana. How are you?")
    stream = engine.completion(MODEL, [user("Hi")], stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    assert all(isinstance(chunk, litellm_ready().ModelResponseStream) for chunk in chunks)
    assert len({chunk.id for chunk in chunks}) == 1
    said = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert "".join(filter(None, said)) == "Hello, Ana. How are you?"
    assert len([text for text in said if text]) > 1
    whole = litellm_ready().stream_chunk_builder(chunks)
    assert whole.choices[0].message.content == "Hello, Ana. How are you?"
    assert whole.choices[0].finish_reason == "stop"
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (11, 2)
    assert texts(engine) == ["Hi", "Hello, Ana. How are you?"]


def test_async_calls_and_streams_are_the_same(engine, server):
    async def talk():
        first = await engine.acompletion(model=MODEL, messages=[user("Hi")])
        server.says("Fine.")
        history = [user("Hi"), first.choices[0].message.model_dump(), user("How are you?")]
        stream = await engine.acompletion(model=MODEL, messages=history, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert in_a_loop(talk()) == "Fine."
    assert texts(engine) == ["Hi", "Hello", "How are you?", "Fine."]


def in_a_loop(work):
    """As asyncio.run, in a thread: it would drop the loop that LiteLLM made in this one, unclosed."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def test_whoever_leaves_a_stream_stops_the_model_and_goes_on_with_what_came(engine, server):
    goes_on = threading.Event()

    def act(handler, body):
        handler.stream([chunk_of("It is ")])
        goes_on.wait(5)
        handler.event(chunk_of("far."))
        handler.end_stream()

    server.plays(act)
    stream = engine.completion(MODEL, [user("Where?")], stream=True)
    part = next(stream).choices[0].delta.content
    stream.close()
    goes_on.set()
    server_then_says(server, "By the sea.")
    engine.completion(MODEL, [user("Where?"), {"role": "assistant", "content": part}, user("Shorter")])
    assert texts(engine) == ["Where?", "It is ", "Shorter", "By the sea."]
    assert kinds(engine, "StepAbandoned")[0].reason == "interrupted"
    assert runs(engine) == {"live"}


def chunk_of(text: str) -> str:
    return json.dumps({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "test",
                       "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})  # fmt: skip


def server_then_says(server, text: str) -> None:
    """To the next request; the one under way stays as it was told."""
    asked = list(server.asked)
    server.says(text)
    server.asked[:] = asked


# ── the application's own tools ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("streams", [False, True])
def test_calls_of_its_own_tools_go_back_to_the_application_and_their_results_come_with_the_next_call(
    engine, server, streams
):
    server.says("Let me look.", calls=[("weather", '{"at": "Lisbon"}')])
    given = {"tools": [WEATHER], "tool_choice": "auto", "parallel_tool_calls": False}
    response = engine.completion(MODEL, [user("Is it warm?")], stream=streams, **given)
    if streams:
        response = litellm_ready().stream_chunk_builder(list(response))
    message = response.choices[0].message
    assert response.choices[0].finish_reason == "tool_calls"
    [call] = message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"at": "Lisbon"})
    assert engine.store.state(engine.scope).open_step  # it waits
    server.says("It is 21 degrees.")
    result = {"role": "tool", "tool_call_id": call.id, "content": "21"}
    last = engine.completion(MODEL, [user("Is it warm?"), message, result], **given)
    assert last.choices[0].message.content == "It is 21 degrees."
    assert [t.role for t in spoken(engine)] == ["user", "assistant", "tool", "assistant"]
    sent = server.asked[0]["messages"]
    assert [m["role"] for m in sent[-3:]] == ["user", "assistant", "tool"]
    assert server.asked[0]["tools"] == [WEATHER]
    assert server.asked[0]["parallel_tool_calls"] is False
    state = engine.store.state(engine.scope)
    assert (state.step, state.open_step, runs(engine)) == (1, False, {"live"})


def spoken(engine: Engine) -> list:
    return [turn for page in engine.store.state(engine.scope).pages.values() for turn in page.turns]


def test_the_memory_s_own_tools_stand_beside_and_never_reach_the_application(engine, server):
    """Asked together, the memory is asked first; the model then calls for the rest with the page before it."""
    messages = chat_loop(engine.completion, 12)
    both = [("recall", '{"page_ids": ["p1"]}'), ("weather", "{}")]
    server.in_turn(lambda s: s.says(calls=both), lambda s: s.says(calls=both[1:]))
    response = engine.completion(MODEL, [*messages, user("Is drawer 0 warm?")], tools=[WEATHER])
    assert [c.function.name for c in response.choices[0].message.tool_calls] == ["weather"]
    assert response._hidden_params["memory"]["recalled"][0] == 1
    assert server.asked[0]["tools"] == [WEATHER, RECALL_TOOL]
    assert engine.fill.used <= engine.settings.window_tokens
    with pytest.raises(litellm_ready().BadRequestError, match="'recall' is named as one of the memory's own"):
        engine.completion(MODEL, [*messages, user("And now?")], tools=[RECALL_TOOL])
    assert runs(engine) == {"live"}


# ── another history ───────────────────────────────────────────────────────────────────────────────────


def test_an_edit_goes_on_in_a_run_of_its_own_and_nothing_is_overwritten(engine, server):
    server.answers(lambda body: f"You said: {body['messages'][-1]['content']}")
    first = [user("My budget is 5,000."), {"role": "assistant", "content": "You said: My budget is 5,000."}]
    engine.completion(MODEL, first[:1])
    engine.completion(MODEL, [*first, user("Book a hotel.")])
    before = texts(engine)
    edited = [*first, user("Book a flight.")]
    told = engine.completion(MODEL, edited)
    assert told._hidden_params["memory"]["run"] == "fork-edit-1-t3"
    edited += [told.choices[0].message, user("Thanks.")]
    assert engine.completion(MODEL, edited)._hidden_params["memory"]["run"] == "fork-edit-1-t3"
    assert texts(engine) == before
    assert texts(engine, "fork-edit-1-t3")[2::2] == ["Book a flight.", "Thanks."]
    goes_on = [*first, user("Book a hotel."), {"role": "assistant", "content": before[-1]}, user("And a car.")]
    assert engine.completion(MODEL, goes_on)._hidden_params["memory"]["run"] == "live"


def test_a_call_that_failed_is_answered_when_it_comes_again(engine, server):
    server.fails(401, "Incorrect API key provided")
    with pytest.raises(litellm_ready().AuthenticationError):
        engine.completion(MODEL, [user("Hi")])
    server.says("Hello")
    engine.completion(MODEL, [user("Hi")])
    assert texts(engine) == ["Hi", "Hello"]
    assert (engine.state.step, runs(engine)) == (1, {"live"})


def test_another_system_prompt_holds_from_then_on(engine, server):
    says = lambda text: {"role": "system", "content": text}
    engine.completion(MODEL, [says("Be brief."), user("Hi")])
    again = [says("Be kind."), user("Hi"), {"role": "assistant", "content": "Hello"}, user("And?")]
    engine.completion(MODEL, again)
    assert server.asked[-1]["messages"][0]["content"].startswith("Be kind.")
    words = engine.store.words(engine.scope)
    assert [words.get(b.system, "") for b in kinds(engine, "ConversationStarted")] == ["", "Be brief.", "Be kind."]
    assert texts(engine) == ["Hi", "Hello", "And?", "Hello"]


def test_calls_in_one_conversation_wait_for_each_other(tmp_path, server):
    """And each goes on with what it was sent: the second one does not know the first one's reply."""
    server.answers(lambda body: f"Re: {body['messages'][-1]['content']}")
    answers = {}
    with DropIn(tmp_path / "store", user="ana", options=server.options, background=False, **SETTINGS) as shared:

        def ask(n):
            answers[n] = shared.completion(MODEL, [user(f"Question {n}")], metadata={"conversation_id": "one"})

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {n: a.choices[0].message.content for n, a in answers.items()} == {
            n: f"Re: Question {n}" for n in range(4)
        }
        made = [stream.scope for stream in shared.store.streams("ana", "one")]
        assert {a._hidden_params["memory"]["run"] for a in answers.values()} == {scope.run for scope in made}
        steps = sorted(step_of(shared.store, scope) for scope in made)
        assert len(steps) == 4
        assert all(ends < begins for (_, ends), (begins, _) in pairwise(steps))
        assert shared.store.check() == []


def step_of(store: Store, scope: Scope) -> tuple[int, int]:
    """Where the only step of a run stands in the log."""
    [begins] = store.events(scope, kinds=("MessageReceived",))
    [ends] = store.events(scope, kinds=("StepFinished",))
    return begins.seq, ends.seq


def test_in_a_branch_what_is_known_is_read_and_none_is_learnt(tmp_path, server):
    whose = {"metadata": {"conversation_id": "trip"}}
    own = {**SETTINGS, "remember": "rules"}
    with DropIn(tmp_path / "store", user="ana", options=server.options, background=False, **own) as memory:
        told = user("My budget is 5,000 euros.")
        memory.completion(MODEL, [told], **whose)
        memory.completion(MODEL, [told, {"role": "assistant", "content": "Hello"}, user("Hi")], **whose)
        before = memory.store.knowledge("ana")
        edited = [told, {"role": "assistant", "content": "Hello"}, user("I live in Lisbon. What is my budget?")]
        assert memory.completion(MODEL, edited, **whose)._hidden_params["memory"]["run"].startswith("fork-edit-")
        assert "<known>" in str(server.asked[-1]["messages"])
        assert memory.store.knowledge("ana") == before


def test_metadata_names_the_conversation_and_the_user(tmp_path, server):
    with DropIn(tmp_path / "store", options=server.options, background=False, **SETTINGS) as shared:
        named = shared.completion(MODEL, [user("Hi")], metadata={"conversation_id": "trip", "user_id": "bo"})
        assert list(named._hidden_params["memory"].values())[:3] == ["bo", "trip", "live"]
        unnamed = [shared.completion(MODEL, [user("Hi")], user="ana") for _ in range(2)]
        [first, again] = [a._hidden_params["memory"] for a in unnamed]
        assert first["conversation"] == again["conversation"]
        assert first["conversation"].startswith("chat-")
        with pytest.raises(litellm_ready().BadRequestError, match="whose memory it is"):
            shared.completion(MODEL, [user("Hi")])


# ── what goes wrong ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("order", "name"),
    [
        (lambda s: s.fails(401, "Incorrect API key provided"), "AuthenticationError"),
        (lambda s: s.fails(429, "Rate limit reached"), "RateLimitError"),
        (lambda s: s.fails(400, "maximum context length is 10 tokens"), "ContextWindowExceededError"),
        (lambda s: s.fails(404, "The model test does not exist"), "NotFoundError"),
        (lambda s: s.fails(400, "temperature must be below 2"), "BadRequestError"),
        (lambda s: s.fails(500, "the worker crashed"), "InternalServerError"),
        (lambda s: s.says("Late", after_s=0.4), "Timeout"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("streams", [False, True])
def test_errors_are_of_the_class_that_the_application_catches(engine, server, order, name, streams):
    order(server)
    with pytest.raises(getattr(litellm_ready(), name)) as caught:
        engine.completion(MODEL, [user("Hi")], max_retries=0, timeout=0.2, stream=streams)
    assert engine.settings.llm in str(caught.value)
    assert texts(engine) == ["Hi"]  # it is safe


def test_a_stream_that_breaks_off_raises_where_it_breaks(engine, server):
    server.breaks_off("It is far away", "hangs up")
    stream = engine.completion(MODEL, [user("Where?")], stream=True)
    heard = []
    with pytest.raises(openai.APIError):  # of which all of LiteLLM's are
        heard += [chunk.choices[0].delta.content for chunk in stream]
    assert kinds(engine, "ModelFailed")[-1].error == "ModelCut"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"n": 2}, "leave n out"),
        ({"logprobs": True}, "logprobs goes with no answer"),
        ({"functions": [{}]}, "pass tools"),
        ({"timeout": "soon"}, "a number of seconds"),
        ({"response_format": {"type": "json_object"}, "model": "ollama/tiny"}, "set protocol to tools"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "keeps words alone"),
    ],
)
def test_what_a_memory_cannot_do_is_refused_before_anything_happens(engine, server, given, says):
    with pytest.raises(litellm_ready().BadRequestError, match=says):
        engine.completion(**{"model": MODEL, "messages": [user("Hi")], **given})
    assert texts(engine) == []
    assert server.asked == []


def test_stop_and_response_format_are_passed_on(engine, server):
    form = {"type": "json_object"}
    engine.completion(MODEL, [user("As JSON: hi")], stop=["END"], response_format=form, max_tokens=7, seed=1)
    [asked] = server.asked
    assert (asked["stop"], asked["response_format"], asked["max_tokens"], asked["seed"]) == (["END"], form, 7, 1)
