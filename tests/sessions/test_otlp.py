"""Traces into conversations: each message becomes one turn, however often an app resends it, by any convention."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import RecordingError
from memory.resent import name_by
from memory.stores.sql import Store
from sessions.importer import import_recordings, weaver
from sessions.readers import guess, read
from sessions.readers.source import Source
from sessions.recording import Recording, Skipped
from sessions.spans import Span, of_request
from sessions.threads import addresses_of, woven

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "formats"
SECOND = 1_000_000_000
BEGIN = 1_767_225_600 * SECOND  # 2026-01-01


def value(it: Any) -> dict[str, Any]:
    if isinstance(it, str):
        return {"stringValue": it}
    return {"doubleValue": it} if isinstance(it, float) else {"intValue": str(it)}


def span(n: int, attributes: dict[str, Any], *, trace: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{n:016x}",
        "name": "chat",
        "startTimeUnixNano": str(BEGIN + 10 * n * SECOND),
        "endTimeUnixNano": str(BEGIN + (10 * n + 5) * SECOND),
        "attributes": [{"key": key, "value": value(it)} for key, it in attributes.items()],
        **more,
    }


def parts(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def talk(*texts: str) -> list[dict[str, Any]]:
    return [parts("assistant" if i % 2 else "user", text) for i, text in enumerate(texts)]


def chat(n: int, *texts: str, conversation: str = "c", system: str = "", **more: Any) -> dict[str, Any]:
    """A call with all but the last of these texts, which is the reply."""
    *sent, reply = talk(*texts)
    if system:
        sent = [parts("system", system), *sent]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": conversation,
        "gen_ai.input.messages": json.dumps(sent),
        "gen_ai.output.messages": json.dumps([reply]),
    }
    return span(n, attributes | more.pop("attributes", {}), **more)


def request(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def found(raw: bytes) -> list[Recording | Skipped]:
    return list(read(raw))


def only(raw: bytes) -> Recording:
    (one,) = [each for each in read(raw) if isinstance(each, Recording)]
    return one


def told(recording: Recording) -> list[str]:
    return [turn.text for turn in recording.turns]


# ── a history that is resent ──────────────────────────────────────────────────────────────────────────

CHAT = [chat(1, "hi", "hello"), chat(2, "hi", "hello", "how?", "so"), chat(3, "hi", "hello", "how?", "so", "ok", "bye")]


def test_a_history_that_is_resent_is_looked_through_for_secrets_once():
    seen: Counter[str] = Counter()

    def watched(text: str) -> tuple[str, dict[str, int]]:
        seen[text] += 1
        return text, {}

    spans = [each for each in of_request(json.loads(request(*CHAT))) if isinstance(each, Span)]
    (recording,) = [each for each in woven(spans, by=watched) if isinstance(each, Recording)]
    assert told(recording) == ["hi", "hello", "how?", "so", "ok", "bye"]
    assert max(seen.values()) == 1


@given(st.permutations(CHAT), st.lists(st.sampled_from(CHAT)))
@settings(max_examples=15, deadline=None)
def test_a_resent_history_becomes_no_turn_twice(order: Sequence[dict[str, Any]], again: Sequence[dict[str, Any]]):
    recording = only(request(*order, *again))
    assert told(recording) == ["hi", "hello", "how?", "so", "ok", "bye"]
    assert [turn.said_at.second for turn in recording.turns] == [10, 15, 20, 25, 30, 35]


def test_an_edit_is_a_conversation_of_its_own():
    first, edited = found(request(*CHAT, chat(4, "hi", "hello", "why?", "because")))
    assert told(first) == ["hi", "hello", "how?", "so", "ok", "bye"]
    assert (edited.conversation, told(edited)) == ("c~2", ["hi", "hello", "why?", "because"])
    assert "shares its first 2 turns" in edited.notes[0]


def test_oldest_messages_that_an_app_cut_away_are_not_missed():
    cut = chat(4, "ok", "bye", "still there?", "yes")
    assert told(only(request(*CHAT, cut))) == ["hi", "hello", "how?", "so", "ok", "bye", "still there?", "yes"]


def test_messages_that_come_without_their_history_follow_each_other():
    recording = only(request(chat(1, "hi", "hello"), chat(2, "how?", "so"), chat(3, "hi", "again?")))
    assert told(recording) == ["hi", "hello", "how?", "so", "hi", "again?"]
    assert any("without their history" in note for note in recording.notes)


def test_a_helper_with_instructions_of_its_own_does_not_join_in():
    main, helper = found(request(*CHAT, chat(4, "Name this talk", "Greetings", system="You name talks.")))
    assert (len(main.turns), told(helper)) == (6, ["Name this talk", "Greetings"])
    assert helper.system == "You name talks."


def test_a_span_around_a_span_says_nothing_new():
    outer = chat(1, "hi", "hello")
    inner = chat(2, "hi", "hello", parentSpanId=outer["spanId"])
    assert told(only(request(outer, inner))) == ["hi", "hello"]


def test_an_agents_span_speaks_only_where_no_models_does():
    agent = {"openinference.span.kind": "AGENT", "input.value": "hi", "output.value": "hello", "session.id": "c"}
    assert told(only(request(span(1, agent)))) == ["hi", "hello"]
    assert told(only(request(span(1, agent), chat(2, "hi", "let me see")))) == ["hi", "let me see"]


# ── the conventions ───────────────────────────────────────────────────────────────────────────────────


def event(name: str, **attributes: str) -> dict[str, Any]:
    return {"name": name, "attributes": [{"key": key, "value": value(it)} for key, it in attributes.items()]}


LLM = {"openinference.span.kind": "LLM"}
SPELLINGS = {
    "openinference": span(1, LLM | {
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "brief",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": "rain?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "k",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"in": "Lyon"}',
    }),
    "openllmetry": span(1, {
        "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "brief",
        "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": '[{"type": "text", "text": "rain?"}]',
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.tool_calls.0.id": "k",
        "gen_ai.completion.0.tool_calls.0.name": "weather",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"in": "Lyon"}',
    }),
    "messages": span(1, {
        "gen_ai.operation.name": "chat",
        "gen_ai.system_instructions": '[{"type": "text", "content": "brief"}]',
        "gen_ai.input.messages": json.dumps([parts("user", "rain?")]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "finish_reason": "tool_call", "parts": [
            {"type": "tool_call", "id": "k", "name": "weather", "arguments": {"in": "Lyon"}}]}]),
    }),
    "events": span(1, {"gen_ai.operation.name": "chat"}, events=[
        event("gen_ai.system.message", content="brief"),
        event("gen_ai.user.message", content="rain?"),
        event("gen_ai.choice", message=json.dumps({"tool_calls": [
            {"id": "k", "type": "function", "function": {"name": "weather", "arguments": '{"in": "Lyon"}'}}]})),
    ]),
    "one event": span(1, {"gen_ai.operation.name": "chat"}, events=[
        event("gen_ai.content.prompt", **{"gen_ai.prompt": json.dumps(
            [{"role": "system", "content": "brief"}, {"role": "user", "content": "rain?"}])}),
        event("gen_ai.content.completion", **{"gen_ai.completion": json.dumps([{"role": "assistant", "tool_calls": [
            {"id": "k", "function": {"name": "weather", "arguments": '{"in": "Lyon"}'}}]}])}),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_says_the_same(name: str):
    recording = only(request(SPELLINGS[name]))
    (call,) = recording.turns[1].calls
    assert (recording.system, told(recording)) == ("brief", ["rain?", ""])
    assert (call.id, call.name, call.arguments) == ("k", "weather", '{"in": "Lyon"}')
    assert recording.conversation == name_by("rain?")


def untold(n: int, *texts: str, **more: Any) -> dict[str, Any]:
    """A call of a trace of its own that names no conversation, as a client's instrumentation writes it."""
    *sent, reply = talk(*texts)
    messages = {"gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": json.dumps([reply])}
    return span(n, {"gen_ai.operation.name": "chat", **messages}, trace=n, **more)


def test_calls_that_name_no_conversation_are_of_the_one_that_began_with_their_first_message():
    texts = ("hi", "hello", "how?", "so", "why?", "because")
    recording = only(request(*(untold(n, *texts[: 2 * n]) for n in (1, 2, 3))))
    assert (recording.conversation, told(recording)) == (name_by("hi"), list(texts))


def test_two_talks_that_begin_alike_and_name_no_conversation_stand_beside_each_other():
    calls = (untold(1, "hi", "hello"), untold(2, "hi", "hello", "how?", "so"), untold(3, "hi", "hello", "why?", "ah"))
    one, two = (each for each in read(request(*calls)) if isinstance(each, Recording))
    assert [told(one), told(two)] == [["hi", "hello", "how?", "so"], ["hi", "hello", "why?", "ah"]]


def test_a_trace_in_which_nobody_says_anything_is_called_by_its_id():
    call = untold(1, "hi", "hello", status={"code": 2, "message": "no"})
    call["attributes"] = [each for each in call["attributes"] if each["key"] == "gen_ai.operation.name"]
    address = addresses_of([each for each in of_request(json.loads(request(call))) if isinstance(each, Span)])
    assert [each.conversation for each in address.values()] == [f"trace {1:032x}"]


def test_a_users_json_stays_their_words():
    attributes = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": '{"a": 1}'}
    assert told(only(request(span(1, attributes)))) == ['{"a": 1}']


def test_a_tools_span_answers_where_no_message_does():
    tool = span(
        2, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "k", "gen_ai.tool.call.result": "wet"}
    )
    recording = only(request(SPELLINGS["messages"], tool))
    assert (recording.turns[2].text, recording.turns[2].answers) == ("wet", "k")


def test_tokens_cost_failures_and_what_has_no_place_are_told():
    more = {"gen_ai.usage.input_tokens": 12, "llm.cost.total": 0.25, "http.route": "/x"}
    failed = span(2, {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c", "error.type": "timeout"})
    recording = only(request(chat(1, "hi", "hello", attributes=more), failed))
    assert "2 calls of models: 12 tokens in, 0 out, 0.2500 US dollars" in recording.notes
    assert any("http.route (1)" in note for note in recording.notes)
    assert "timeout" in recording.skipped[0].reason


def test_the_conversation_is_named_by_a_parent_and_a_secret_stays_out():
    key = "sk-" + "a1" * 20
    root = span(1, {"session.id": "s", "user.id": "ana"})
    child = chat(2, f"my key is {key}", "noted", parentSpanId=root["spanId"])
    child["attributes"] = [pair for pair in child["attributes"] if pair["key"] != "gen_ai.conversation.id"]
    recording = only(request(root, child))
    assert (recording.user, recording.conversation) == ("ana", "s")
    assert "sk-" not in recording.turns[0].text


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_second_import_changes_nothing_and_a_grown_file_brings_what_is_new(tmp_path):
    with Store.open(tmp_path) as store:
        shorter, longer = request(*CHAT[:2]), request(*CHAT)
        reports = [import_recordings(store, read(raw), replay=False) for raw in (shorter, shorter, longer)]
    assert [[(c.status, c.new_turns) for c in report.conversations] for report in reports] == [
        [("imported", 4)], [("unchanged", 0)], [("grown", 2)],
    ]  # fmt: skip


def test_a_conversation_goes_on_from_file_to_file(tmp_path: Path):
    """In a folder in the order of their time; one by one where the store has what came before."""
    folder = tmp_path / "traces"
    folder.mkdir()
    for name, one in zip("cab", CHAT, strict=True):
        (folder / f"{name}.json").write_bytes(request(one))
    (together,) = read(folder)
    assert told(together) == ["hi", "hello", "how?", "so", "ok", "bye"]
    assert [turn.said_at for turn in together.turns] == [turn.said_at for turn in only(request(*CHAT)).turns]
    with Store.open(tmp_path / "store") as store:
        for expected in (["imported", "grown", "grown"], ["unchanged"] * 3):
            reading = (read(folder / f"{name}.json", weave=weaver(store, old=True)) for name in "cab")
            assert [import_recordings(store, one, replay=False).conversations[0].status for one in reading] == expected
        assert [stream.turns for stream in store.streams()] == [6]


def test_one_request_a_line_is_one_talk_and_a_broken_line_is_counted():
    raw = b"\n".join([request(CHAT[0]), b'{"resourceSpans": [', request(CHAT[2])])
    skipped, recording = found(raw)
    assert (skipped.where, told(recording)[-1]) == ("line 2", "bye")


@pytest.mark.parametrize("indent", [None, 1])
def test_of_a_document_that_breaks_off_the_spans_before_the_break_stay(indent: int | None):
    whole = json.dumps(json.loads(request(*CHAT)), indent=indent)
    for share in (0.75, 0.9, 0.99):
        skipped, recording = found(whole[: int(len(whole) * share)].encode())
        assert told(recording) == ["hi", "hello", "how?", "so"]
        assert isinstance(skipped, Skipped)
        assert "the file breaks off inside it" in skipped.reason


def test_phoenix_spans_are_read_nested_or_flat():
    message = {"llm": {"input_messages": [{"message": {"role": "user", "content": "hi"}}]}, "session": {"id": "s"}}
    flat = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "hi",
        "session.id": "s",
    }
    for attributes in (message, flat):
        one = {"name": "m", "context": {"trace_id": "t", "span_id": "1"}, "span_kind": "LLM", "attributes": attributes}
        raw = json.dumps([one, {"context": 3}]).encode()
        skipped, recording = found(raw)
        assert (skipped.where, recording.conversation, told(recording)) == ("item 2", "s", ["hi"])
        assert guess(Source.of(raw)) == "otlp"


@pytest.mark.parametrize("bad", [
    {"spanId": "00"}, {"traceId": ""}, {"startTimeUnixNano": "soon"}, {"attributes": [{"value": 1}]}, {"attributes": 3},
    {"startTimeUnixNano": "9" * 30}, {"attributes": [{"key": "a", "value": {"intValue": "x"}}]}, {"status": 4},
])  # fmt: skip
def test_a_span_that_cannot_be_read_stops_no_other(bad: dict[str, Any]):
    skipped, recording = found(request({**chat(9, "a", "b"), **bad}, CHAT[0]))
    assert (skipped.where, told(recording)) == ("resourceSpans 0, scopeSpans 0, span 0", ["hi", "hello"])


@pytest.mark.parametrize("raw", [b'{"resourceSpans": 3}', b'{"resourceSpans": ['])
def test_a_file_without_a_span_says_why(raw: bytes):
    with pytest.raises(RecordingError, match="holds no span"):
        found(raw)


needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"the samples are not part of the project: {DATA}")


@needs_data
def test_odd_spans_are_read_as_far_as_they_go():
    first, second = found((DATA / "odd_cases/otlp_genai_generated.json").read_bytes())
    assert [turn.role for turn in first.turns] == ["user", "assistant", "tool"]
    assert first.turns[2].text == '{"t": "nan"}'
    assert told(second) == ["hi", "index gap: 1 is missing"]
    assert "1 numbers of messages that are missing left out" in second.notes


@needs_data
def test_phoenix_own_example_is_one_talk_without_a_turn_twice():
    recording = only((DATA / "otel_openinference/phoenix_pxi_turn_trace.json").read_bytes())
    ids = [call.id for turn in recording.turns for call in turn.calls]
    assert (len(recording.turns), len(ids)) == (26, len(set(ids)))
    assert [turn.answers for turn in recording.turns if turn.role == "tool"] == ids
