import asyncio
import json
import os
import queue
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import pytest

from memory.errors import (
    ContextOverflow,
    ModelAnswerEmpty,
    ModelCut,
    ModelError,
    ModelOverloaded,
    ModelQuota,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    ToolsRefused,
    UnknownModel,
)
from memory.models.chat import OFFLINE, arguments_in, complete, litellm_ready, protocol_of, readable, window_of

# litellm ignores these warnings itself, but pytest sets the filters anew for each test.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance is deprecated"),
]

LLM = "openai/test"
RECALL = {
    "type": "function",
    "function": {
        "name": "recall",
        "description": "bring pages back",
        "parameters": {
            "type": "object",
            "properties": {"page_ids": {"type": "array", "items": {"type": "string"}}},
        },
    },
}


def ask(server, text="Hi", **given):
    options = {**server.options, **given.pop("options", {})}
    return complete(given.pop("llm", LLM), [{"role": "user", "content": text}], options=options, **given)


def run(code):
    """In a process of its own, whose environment names nothing of LiteLLM's, whatever this one has loaded."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LITELLM")}
    command = [sys.executable, "-W", "ignore", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def test_importing_chat_and_asking_the_default_window_loads_no_litellm():
    code = "import sys; from memory.models.chat import *; print(window_of(OFFLINE), 'litellm' in sys.modules)"
    done = run(code)
    assert (done.stdout.strip(), done.stderr) == ("8000 False", "")


def test_litellm_is_imported_and_called_without_a_network():
    """By a recorder too, which leaves it else as the application has it."""
    code = """
import os, socket
tried = []  # litellm goes on where it is refused
def refuse(*args, **given):
    tried.append(args)
    raise AssertionError(f"network: {args}")
socket.getaddrinfo = socket.socket.connect = refuse
from memory.models.recorder import Ear, callback_class
callback_class(Ear)
tried += [name for name in ("LITELLM_LOG", "LITELLM_MODE") if name in os.environ]
from memory.models.chat import OFFLINE, litellm_ready, window_of
said = litellm_ready().completion(model=OFFLINE, messages=[{"role": "user", "content": "thanks"}])
print(said.choices[0].message.content, window_of("ollama/llama3"), *tried)
"""
    done = run(code)
    assert done.stdout.strip() == "You are welcome. 8192", done.stderr


def test_the_default_answers_without_litellm_for_its_import_takes_seconds():
    code = """
import sys
from memory.models.chat import OFFLINE, complete, prompt_price, protocol_of
whole, streamed = (complete(OFFLINE, [{"role": "user", "content": "thanks"}], on_text=on) for on in (None, len))
print(whole.text, streamed.text, whole.cost_usd, prompt_price(OFFLINE), protocol_of(OFFLINE)[0])
print({"litellm", "openai", "httpx"} & sys.modules.keys())
"""
    done = run(code)
    assert done.stdout.split("\n")[:2] == ["You are welcome. You are welcome. 0.0 0.0 tools", "set()"], done.stderr


def test_through_litellm_the_default_says_and_asks_for_the_same():
    stubs = {"role": "system", "content": "Pages:\n[p3:hotel,lisbon]"}
    for question, tools in (("What is my budget?", ()), ("Which hotel did I book in Lisbon?", [RECALL])):
        direct = offline(question, before=[stubs], tools=tools)
        messages = [stubs, *TALK, {"role": "user", "content": question}]
        through = litellm_ready().completion(model=OFFLINE, messages=messages, tools=list(tools) or None)
        (choice,) = through.choices
        assert (choice.message.content or "", choice.finish_reason) == (direct.text, direct.finish_reason)
        assert (through.usage.prompt_tokens, through.usage.completion_tokens) == (
            direct.prompt_tokens,
            direct.completion_tokens,
        )
        assert [(c.id, c.function.arguments) for c in choice.message.tool_calls or ()] == [
            (c.id, c.raw) for c in direct.calls
        ]


# An answer


def test_an_answer_has_text_usage_and_no_made_up_price(server):
    answer = ask(server)
    assert (answer.text, answer.calls, answer.finish_reason, answer.llm) == ("Hello", (), "stop", LLM)
    assert (answer.prompt_tokens, answer.completion_tokens) == (11, 2)
    assert answer.cost_usd is None
    assert answer.ms > 0


def test_a_known_price_is_counted(server):
    answer = ask(server, llm="openai/gpt-4o-mini")
    assert answer.cost_usd == pytest.approx(11 * 0.15e-6 + 2 * 0.60e-6)


def test_a_stream_says_the_same_as_the_whole_answer(server):
    server.says("Grüße, 你好 😀", calls=[("recall", '{"page_ids": ["p3", "p4"]}'), ("recall", '{"page_ids": ["p9"]}')])
    whole, heard = ask(server), []
    streamed = ask(server, on_text=heard.append)
    assert len(heard) > 1
    assert "".join(heard) == streamed.text == whole.text
    assert streamed.calls == whole.calls
    assert (streamed.prompt_tokens, streamed.completion_tokens) == (11, 2)
    assert streamed.finish_reason == whole.finish_reason == "tool_calls"


def test_usage_is_counted_here_where_the_provider_is_silent(server):
    server.says("Hello there", usage=None)
    answer = ask(server, "Hi", on_text=lambda text: None)
    assert (answer.prompt_tokens > 0, answer.completion_tokens) == (True, 2)


def test_tools_are_sent_as_they_are_and_calls_come_back_as_values(server):
    server.says(calls=[("recall", '{"page_ids": ["p3"], "question": "预算"}')])
    (call,) = ask(server, tools=[RECALL], tool_choice="required").calls
    assert (call.id, call.name, call.arguments) == (
        "call_0",
        "recall",
        {"page_ids": ["p3"], "question": "预算"},
    )
    assert (call.error, call.raw) == ("", '{"page_ids": ["p3"], "question": "预算"}')
    assert server.asked[0]["tools"] == [RECALL]
    assert server.asked[0]["tool_choice"] == "required"


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # of the client, which expects text
def test_arguments_that_come_as_an_object_are_kept_as_people_read_them(server):
    server.says(calls=[("recall", {"question": "预算"})])
    (call,) = ask(server, tools=[RECALL]).calls
    assert (call.arguments, call.error) == ({"question": "预算"}, "")
    assert "预算" in call.raw


def test_what_is_not_asked_for_is_not_sent(server):
    ask(server, options={"temperature": 0.25}, max_tokens=7)
    sent = server.asked[0]
    assert (sent["temperature"], sent["max_tokens"]) == (0.25, 7)
    assert not {"tools", "tool_choice", "timeout", "max_retries"} & set(sent)


def test_a_conversation_with_tool_messages_goes_out_whole(server):
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "recall", "arguments": '{"page_ids": ["p3"]}'},
    }
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What budget?"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "8000"},
    ]
    complete(LLM, messages, options=server.options)
    sent = server.asked[0]["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool"]
    assert sent[2]["tool_calls"] == [call]


SHAPE = {"type": "object", "properties": {"reply": {"type": "string"}}, "required": ["reply"]}


def test_a_schema_goes_out_as_the_format_of_the_answer(server):
    server.says('{"reply": "Hi"}')
    assert ask(server, schema=SHAPE).text == '{"reply": "Hi"}'
    sent = server.asked[0]["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["schema"] == SHAPE
    assert "drop_params" not in server.asked[0]


# How it is asked for memory operations


@pytest.mark.parametrize(
    ("llm", "asked", "protocol", "why"),
    [
        ("gpt-4o-mini", "auto", "tools", "says that it calls functions"),
        ("openai/my-own", "auto", "tools", "does not know it"),
        ("ollama/llama3", "auto", "schema", "does not say that it calls functions"),
        ("ollama_chat/my-own:1b", "auto", "schema", "it runs locally"),
        ("ollama/llama3", "tools", "tools", "the setting says so"),
        ("gpt-4o-mini", "schema", "schema", "the setting says so"),
        (OFFLINE, "schema", "tools", "fills no schema"),
    ],
)
def test_the_protocol_is_chosen_by_model_with_the_reason(llm, asked, protocol, why):
    chosen, because = protocol_of(llm, asked)
    assert chosen == protocol
    assert why in because


# Hostile text


def test_half_characters_and_nul_never_leave(server):
    ask(server, "a\ud83d b\x00 \udc00c \ud83d\ude00 </recalled> {x} %s")
    assert server.asked[0]["messages"][0]["content"] == "a\ufffd b\ufffd \ufffdc 😀 </recalled> {x} %s"


def test_half_characters_from_the_model_do_not_come_in(server):
    server.says("ok \ud83d", calls=[("recall", '{"question": "\\ud83d x"}')])
    answer = ask(server)
    assert answer.text == "ok \ufffd"
    assert answer.calls[0].arguments == {"question": "\ufffd x"}


def test_a_character_split_between_two_pieces_arrives_whole(server):
    server.streams(["fine \ud83d", "\ude00!", " \ud83d"])
    heard = []
    assert ask(server, on_text=heard.append).text == "fine 😀! \ufffd" == "".join(heard)


def test_readable_leaves_numbers_and_shapes_alone():
    assert readable({"a": [1, None, ("b\x00", 2.5)]}) == {"a": [1, None, ["b\ufffd", 2.5]]}


# Tool arguments


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ("", {}),
        ('{"page_ids": ["p3"]}', {"page_ids": ["p3"]}),
        ('```json\n{"page_ids": ["p3"]}\n```', {"page_ids": ["p3"]}),
        ('{"page_ids": ["p3",],}', {"page_ids": ["p3"]}),
        ('"{\\"page_ids\\": [\\"p3\\"]}"', {"page_ids": ["p3"]}),
        ('Based on {about travel}, here: {"page_ids": ["p3"]}', {"page_ids": ["p3"]}),
        ('{"question": "a {brace} inside, and a , } too"}', {"question": "a {brace} inside, and a , } too"}),
        ('{"question": "C:\\temp \\u00e4 \\d \\uZZ"}', {"question": "C:\temp ä \\d \\uZZ"}),
        ('{"question": "two\nlines"}', {"question": "two\nlines"}),
        ('{"a": 1} {"a": 1}', {"a": 1}),
        ('{"page_ids": []}</tool_call>', {"page_ids": []}),
    ],
)
def test_arguments_are_read_tolerantly(raw, arguments):
    assert arguments_in(raw) == (arguments, "")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ('{"page_ids": ["p3"', "breaks off or is malformed"),
        ('{"outer": {"inner": 1}, "cut": ', "breaks off or is malformed"),
        ('{"a": 1} {"a": 2}', "2 JSON objects where one belongs"),
        ('["p3"]', "no JSON object"),
        ("p3", "no JSON object"),
        ('{"a":' * 100_000, "breaks off or is malformed"),
    ],
)
def test_arguments_that_would_be_a_guess_are_refused_with_the_reason(raw, why):
    arguments, error = arguments_in(raw)
    assert arguments == {}
    assert why in error


def test_a_malformed_call_is_an_answer_with_its_error_and_the_raw_text(server):
    server.says("One moment.", calls=[("recall", '{"page_ids": ["p3"'), ("", "{}")])
    answer = ask(server)
    assert answer.text == "One moment."
    assert answer.calls[0].raw == '{"page_ids": ["p3"'
    assert answer.calls[0].error == "the JSON breaks off or is malformed"
    assert answer.calls[1].error == "the call names no tool"


# Trouble


TROUBLE = {
    "wrong key": (lambda s: s.fails(401, "Incorrect API key provided: sk-abcd1234efgh", "invalid_api_key"),
                  ModelRefused, "openai/test refused the call: check the option api_key"),
    "not allowed": (lambda s: s.fails(403, "Country not supported"), ModelRefused, "what it may do"),
    "rate limit": (lambda s: s.fails(429, "Rate limit reached"), ModelOverloaded, "wait and ask again"),
    "quota": (lambda s: s.fails(429, "You exceeded your current quota", "insufficient_quota"),
              ModelQuota, "check the plan and the billing"),
    "unpaid": (lambda s: s.fails(402, "Insufficient Balance"), ModelQuota, "check the plan and the"),
    "busy": (lambda s: s.fails(503, "The model is overloaded"), ModelOverloaded, "wait and ask again"),
    "broken": (lambda s: s.fails(500, "The server had an error"), ModelError, "failed; ask again later (500"),
    "bad gateway": (lambda s: s.sends(502, "<html>bad gateway</html>"),
                    ModelUnreachable, "at http://127.0.0.1:"),
    "too long": (lambda s: s.fails(400, "This model's maximum context length is 8192 tokens."),
                 ContextOverflow, "use a smaller window"),
    "too long for llama.cpp": (lambda s: s.fails(400, "the request exceeds the available context size"),
                               ContextOverflow, "use a smaller window"),
    "no tools": (lambda s: s.fails(400, "registry.ollama.ai/library/gemma:2b does not support tools"),
                 ToolsRefused, "set protocol to schema"),
    "no tools at vLLM": (lambda s: s.fails(400, '"auto" tool choice requires --enable-auto-tool-choice to be set'),
                         ToolsRefused, "takes no tools"),
    "no tools at a router": (lambda s: s.fails(404, "No endpoints found that support tool use."),
                             ToolsRefused, "no tools"),
    "no tools at llama.cpp": (lambda s: s.fails(500, "tools param requires --jinja flag"), ToolsRefused, "no tools"),
    "no function calls": (lambda s: s.fails(400, "`tool calling` is not supported with this model"),
                          ToolsRefused, "no tools"),
    "bad request": (lambda s: s.fails(400, "temperature must be at most 2"), ModelError, "must be at most 2"),
    "no such model": (lambda s: s.fails(404, "The model `test` does not exist", "model_not_found"),
                      UnknownModel, "check the model's name"),
    "no answer": (lambda s: s.says("late", after_s=1.5), ModelTimeout, "no answer within 0.5 s"),
    "hung up": (lambda s: s.hangs_up(), ModelUnreachable, "check the address"),
}  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("order", "error", "says"), TROUBLE.values(), ids=TROUBLE)
def test_trouble_is_named_with_the_model_and_what_would_be_right(server, order, error, says, streamed):
    order(server)
    with pytest.raises(error) as caught:
        ask(server, timeout_s=0.5, on_text=(lambda text: None) if streamed else None)
    message = str(caught.value)
    assert type(caught.value) is error
    assert LLM in message
    assert says in message
    assert "sk-" not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert len(server.asked) == 1  # nothing is tried twice


@pytest.mark.parametrize(
    ("header", "low", "high"),
    [("7", 7, 7), ("0.5", 0.5, 0.5), ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0), ("soon", None, None), ("", None, None)],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_how_long_the_provider_asks_to_wait_comes_with_the_error(server, header, low, high, streamed):
    server.fails(429, "Rate limit reached", headers={"retry-after": header})
    with pytest.raises(ModelOverloaded) as caught:
        ask(server, on_text=(lambda text: None) if streamed else None)
    wait = caught.value.retry_after_s
    assert (wait is None) if low is None else (low <= wait <= high)


def test_a_date_to_come_again_at_is_so_many_seconds_away(server):
    server.fails(503, "overloaded", headers={"retry-after": formatdate(time.time() + 40, usegmt=True)})
    with pytest.raises(ModelOverloaded) as caught:
        ask(server)
    assert 35 < caught.value.retry_after_s <= 40


@pytest.mark.parametrize(
    ("message", "asked", "limit"),
    [
        ("This model's maximum context length is 8,192 tokens. However, your messages resulted in 9000 tokens.",
         9000, 8192),
        ("This model's maximum context length is 2048 tokens. However, you requested 2500 tokens "
         "(2000 in the messages, 500 in the completion).", 2000, 2048),
        ("request (1234 tokens) exceeds the available context size (512 tokens), try increasing it", 1234, 512),
        ("prompt is too long: 208310 tokens > 200000 maximum", 208310, 200000),
        ("the request exceeds the available context size", 0, 0),
    ],
)  # fmt: skip
def test_by_how_much_a_prompt_is_too_long_comes_with_the_error(server, message, asked, limit):
    server.fails(400, message)
    with pytest.raises(ContextOverflow) as caught:
        ask(server)
    assert (caught.value.prompt_tokens, caught.value.limit_tokens) == (asked, limit)


def test_a_login_page_is_no_answer(server):
    server.sends(200, "<html>log in</html>")
    with pytest.raises(ModelUnreachable, match="check api_base") as caught:
        ask(server)
    assert f"a web page came at {server.options['api_base']}" in str(caught.value)
    with pytest.raises(ModelAnswerEmpty):  # as a stream it holds no events
        ask(server, on_text=lambda text: None)


def test_a_key_never_shows_even_where_the_provider_repeats_it(server, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "hunter2-hunter2")
    server.fails(400, "bad header: Bearer abcdefgh; key my-private-key, hunter2-hunter2, AIzaSyA1234567890")
    with pytest.raises(ModelError) as caught:
        ask(server, options={"api_key": "my-private-key"})
    for secret in ("abcdefgh", "my-private-key", "hunter2", "AIzaSy"):
        assert secret not in str(caught.value)


@pytest.mark.parametrize(
    ("llm", "variables"),
    [("gpt-4o-mini", "set OPENAI_API_KEY"), ("anthropic/claude-3-haiku-20240307", "set ANTHROPIC_API_KEY"),
     ("gemini/gemini-2.0-flash", "set GOOGLE_API_KEY or GEMINI_API_KEY")],
)  # fmt: skip
def test_without_a_key_the_variable_is_named(llm, variables, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelRefused, match=f"{llm} refused the call: there is no key; {variables}"):
        complete(llm, [{"role": "user", "content": "Hi"}], timeout_s=5)


def test_nobody_at_the_address_is_unreachable_and_the_address_shows_no_password(server):
    with pytest.raises(ModelUnreachable, match=r"cannot be reached at http://127\.0\.0\.1:9/v1; check") as caught:
        ask(server, options={"api_base": "http://ana:hunter2@127.0.0.1:9/v1?x=y"}, timeout_s=5)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("llm", ["no-such-model", "nobody/x", ""])
def test_a_name_without_a_provider_is_unknown(llm):
    with pytest.raises(
        UnknownModel, match="provider/model, for example gpt-4o-mini, ollama/llama3 or workbench/offline"
    ):
        complete(llm, [{"role": "user", "content": "Hi"}])


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("order", "says"),
    [
        (lambda s: s.has_no_choices(), "neither text nor a tool call came"),
        (lambda s: s.says(None), "neither text nor a tool call came"),
        (lambda s: s.says("  \n"), "neither text nor a tool call came"),
        (lambda s: s.says("", ends="length"), "allow more max_tokens"),
        (lambda s: s.says("", ends="content_filter"), "content filter"),
    ],
)
def test_an_empty_answer_is_an_error(server, order, says, streamed):
    order(server)
    with pytest.raises(ModelAnswerEmpty, match=says):
        ask(server, on_text=(lambda text: None) if streamed else None)


@pytest.mark.parametrize("how", ["hangs up", "ends early", "reports an error", "falls silent"])
def test_a_broken_stream_keeps_what_came(server, how):
    server.breaks_off("The budget 预算 is", how)
    heard = []
    with pytest.raises(ModelCut, match="openai/test broke off after 16 characters; ask again") as caught:
        ask(server, on_text=heard.append, timeout_s=0.5)
    assert caught.value.partial == "The budget 预算 is" == "".join(heard)


def test_a_stream_that_breaks_before_any_text_is_explained_by_its_cause(server):
    server.breaks_off("", "falls silent")
    with pytest.raises(ModelTimeout):
        ask(server, on_text=lambda text: None, timeout_s=0.5)


def test_an_error_of_the_reader_passes_through(server):
    def stop(text):
        raise KeyError(text)

    with pytest.raises(KeyError):
        ask(server, on_text=stop)


# The window


@pytest.mark.parametrize(
    ("llm", "tokens"),
    [(OFFLINE, 8_000), ("gpt-4o-mini", 128_000), ("openai/gpt-4o-mini", 128_000), ("ollama/llama3", 8_192),
     ("openai/test", None), ("nobody/gpt-4o-mini", None), ("", None)],
)  # fmt: skip
def test_the_window_comes_from_the_local_table(llm, tokens):
    assert window_of(llm) == tokens


# The embedded default, through LiteLLM


TALK = [
    {"role": "user", "content": "My budget is 8,000 euros. 我对花生过敏。"},
    {"role": "assistant", "content": "Noted."},
]


def offline(question, *, on_text=None, tools=(), before=(), **given):
    messages = [*before, *TALK, {"role": "user", "content": question}]
    return complete(OFFLINE, messages, tools=tools, on_text=on_text, **given)


def test_the_default_answers_for_free_and_counts_its_tokens():
    answer = offline("What is my budget?")
    assert answer.text == "You said: “My budget is 8,000 euros”."
    assert answer.cost_usd == 0
    assert answer.prompt_tokens > answer.completion_tokens > 5
    assert answer.finish_reason == "stop"


@pytest.mark.parametrize("question", ["What is my budget?", "我对什么过敏？", "who are you?"])
def test_the_default_streams_what_it_says(question):
    heard = []
    whole, streamed = offline(question), offline(question, on_text=heard.append)
    assert "".join(heard) == streamed.text == whole.text
    assert len(heard) > 1
    assert (streamed.prompt_tokens, streamed.completion_tokens) == (
        whole.prompt_tokens,
        whole.completion_tokens,
    )


@pytest.mark.parametrize("on_text", [None, lambda text: None], ids=["whole", "streamed"])
def test_the_default_calls_recall_through_the_same_protocol(on_text):
    stubs = {"role": "system", "content": "Pages:\n[p3:hotel,lisbon]"}
    answer = offline("Which hotel did I book in Lisbon?", before=[stubs], tools=[RECALL], on_text=on_text)
    (call,) = answer.calls
    assert (call.name, call.error) == ("recall", "")
    assert call.arguments == {"page_ids": ["p3"], "question": "Which hotel did I book in Lisbon?"}
    assert answer.finish_reason == "tool_calls"
    assert answer.text == ""


def test_the_default_has_the_async_calls_of_a_provider():
    litellm = litellm_ready()
    call = {"model": OFFLINE, "messages": [*TALK, {"role": "user", "content": "What is my budget?"}]}

    async def both():
        whole = await litellm.acompletion(**call)
        stream = await litellm.acompletion(**call, stream=True)
        return whole, "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    with ThreadPoolExecutor(1) as pool:  # a loop that litellm left in this thread stays where it is
        whole, streamed = pool.submit(asyncio.run, both()).result(timeout=30)
    assert whole.choices[0].message.content == streamed == "You said: “My budget is 8,000 euros”."


def test_the_default_fills_no_schema_and_says_so():
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    with pytest.raises(ModelError, match="fills no json_schema; set a language model"):
        offline("Rank the pages.", options={"response_format": schema})


def test_callbacks_of_litellm_see_the_default_once_a_call(monkeypatch):
    seen = queue.Queue()

    def note(kwargs, response_obj, start_time, end_time):
        seen.put(kwargs["standard_logging_object"]["total_tokens"])

    monkeypatch.setattr(litellm_ready(), "success_callback", [note])
    whole = offline("thanks")
    for stream in (False, True):
        messages = [*TALK, {"role": "user", "content": "thanks"}]
        said = litellm_ready().completion(model=OFFLINE, messages=messages, stream=stream)
        assert not stream or list(said)
    assert {seen.get(timeout=10) for _ in range(2)} == {whole.prompt_tokens + whole.completion_tokens}
    assert seen.empty()


def test_what_a_model_reads_is_not_escaped(server):
    ask(server, "预算")
    assert json.dumps(server.asked[0], ensure_ascii=False).count("预算") == 1
