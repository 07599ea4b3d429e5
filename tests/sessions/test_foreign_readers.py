"""Other programs' files, one section a format: what was said becomes turns, the rest stays beside them."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from memory.errors import RecordingError
from memory.stores.sql import Store
from sessions.importer import import_recordings, weaver
from sessions.readers import READERS, read
from sessions.readers.documents import Document, documents
from sessions.recording import Recording, Skipped

FORMATS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "formats"
FOREIGN = ("atif", "chatgpt", "claude", "claude_code", "langfuse", "openai", "sharegpt")
AT = "2026-01-01T10:00:0{}Z"


def lines(*objects: Any) -> bytes:
    return "\n".join(each if isinstance(each, str) else json.dumps(each) for each in objects).encode()


def only(raw: Any) -> Recording:
    (one,) = read(raw if isinstance(raw, bytes) else json.dumps(raw).encode())
    assert isinstance(one, Recording), one
    return one


def said(one: Recording) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in one.turns]


def kept(extra: str) -> dict[str, Any]:
    return json.loads(extra) if extra else {}


def sample(*path: str) -> Path:
    file = FORMATS.joinpath(*path)
    if not file.exists():
        pytest.skip(f"{file} is not there")
    return file


# ── documents in a file ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('[{"a": 1}, {"a": 2},]', [{"a": 1}, {"a": 2}]),
        ('[{"a": 1}][{"a": 2}]\n{"a": 3}', [{"a": 1}, {"a": 2}, {"a": 3}]),
        ('{"a": 1}\r\n\r\n\ufeff{"a": "\u2028"}\r{"a": 3}', [{"a": 1}, {"a": "\u2028"}, {"a": 3}]),
        ('{\n "a": 1\n}\n{\n "a": 2\n}', [{"a": 1}, {"a": 2}]),
        ('{"a": [1, {"b": "x"}, {"c": "cut he', [{"a": [1, {"b": "x"}, {}]}]),
        ('[{"a": 1}, {"b" 2}, {"c": 3}]', [{"a": 1}, {"c": 3}]),
        ('{"a": 1}\nnone at all\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        ('{"a": 1}{"a": 2}', [{"a": 1}, {"a": 2}]),
        ("", []),
        ("[]", []),
    ],
)
def test_every_value_that_can_be_read_is(text: str, values: list[Any]):
    assert [found.value for found in documents(text) if isinstance(found, Document)] == values


@pytest.mark.parametrize("text", ['[{"a": 1}', '{"a": 1}\nnone', '[{"a" 1}]', "[" * 100_000, '{"a'])
def test_what_cannot_be_read_is_named(text: str):
    assert any(isinstance(found, Skipped) or found.cut for found in documents(text))


def test_the_end_that_is_missing_is_said():
    assert [found.cut for found in documents('{"a": 1, "b": "half a wo')] == [', "b": "half a wo']


# ── Claude's export ───────────────────────────────────────────────────────────────────────────────────


def claude(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"uuid": "c", "name": "", "created_at": AT.format(0), "chat_messages": list(messages)}


def message(key: str, sender: str, text: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    above = {"parent_message_uuid": parent} if parent else {}
    return {"uuid": key, "sender": sender, "text": text, "created_at": AT.format(1), **above, **more}


def test_claude_s_words_stand_in_the_blocks_or_in_the_text():
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"}]
    one = only([claude(message("a", "human", "Hi"), message("b", "assistant", "", content=blocks))])
    assert said(one) == [("user", "Hi"), ("assistant", "Hello")]
    assert kept(one.turns[1].extra)["content"] == [{"type": "thinking", "thinking": "hm"}]


def test_claude_s_tools_are_calls_and_turns_and_an_unknown_block_keeps_its_place():
    blocks = [
        {"type": "tool_use", "name": "search", "input": {"q": "x"}},
        {"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "found"}]},
        {"type": "new_thing", "what": 1},
    ]
    asked, answered = only([claude(message("b", "assistant", "", content=blocks))]).turns
    assert (asked.calls[0].name, answered.text, answered.answers) == ("search", "found", asked.calls[0].id)
    assert asked.text.startswith("[new_thing ")
    assert kept(asked.extra)["content"] == [{"type": "new_thing", "what": 1}]


def test_claude_s_attached_text_is_no_speech():
    one = only([claude(message("a", "human", "Hi", attachments=[{"extracted_content": "a book"}]))])
    assert said(one) == [("user", "Hi")]
    assert kept(one.turns[0].extra)["attachments"] == [{"extracted_content": "a book"}]


def test_claude_s_branches_are_versions():
    root = "00000000-0000-4000-8000-000000000000"
    one = only([claude(
        message("a", "human", "Hi", root), message("b", "assistant", "old", "a"), message("c", "assistant", "new", "a"),
    )])  # fmt: skip
    assert said(one) == [("user", "Hi"), ("assistant", "new")]
    assert [v["text"] for v in kept(one.turns[1].extra)["versions"]] == ["old"]


def test_claude_s_odd_messages_stop_no_other():
    good, bad = message("a", "human", "Hi"), message("b", "assistant", "Hello")
    bad["created_at"] = "2025-02-30T00:00:00Z"
    one = only([claude(good, bad, message("b", "human", "again"), 7)])  # type: ignore[arg-type]
    assert said(one) == [("user", "Hi"), ("assistant", "Hello")]
    assert any("'2025-02-30T00:00:00Z' is no time" in note for note in one.notes)
    assert kept(one.turns[1].extra)["created_at"] == "2025-02-30T00:00:00Z"
    assert len(one.skipped) == 2


# ── messages with roles ───────────────────────────────────────────────────────────────────────────────


def test_one_line_is_one_conversation_and_the_first_system_message_its_system_prompt():
    told = {"role": "system", "content": "Be brief."}
    one, two = read(lines(*[{"messages": [told, {"role": "user", "content": f"Hi {n}"}]} for n in (1, 2)]))
    assert (one.system, said(one), one.conversation) == ("Be brief.", [("user", "Hi 1")], "the given bytes-1")
    assert two.conversation == "the given bytes-2"


def test_bare_messages_make_one_conversation():
    raw = lines({"role": "user", "content": "Hi"}, "none", {"role": "assistant", "content": "Hello"})
    one, lost = read(raw)
    assert said(one) == [("user", "Hi"), ("assistant", "Hello")]
    assert lost.where == "line 2"


def test_calls_and_results_find_each_other_with_and_without_ids():
    tools = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{bad json"}}]
    one = only(lines({"messages": [
        {"role": "assistant", "content": None, "tool_calls": tools},
        {"role": "tool", "tool_call_id": "c1", "content": "r1"},
        {"role": "assistant", "function_call": {"name": "g", "arguments": "{}"}},
        {"role": "function", "name": "g", "content": "r2"},
    ]}))  # fmt: skip
    first, r1, second, r2 = one.turns
    assert (first.calls[0].arguments, r1.answers) == ("{bad json", "c1")
    assert r2.answers == second.calls[0].id


def test_a_batch_s_requests_and_answers_are_conversations():
    asked = {
        "custom_id": "q1",
        "method": "POST",
        "body": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    }
    choices = [{"message": {"role": "assistant", "content": "Hello"}}]
    answered = {"custom_id": "q2", "response": {"body": {"choices": choices}}}
    one, two = read(lines(asked, answered), format="openai")
    assert (one.conversation, said(one)) == ("q1", [("user", "Hi")])
    assert kept(one.extra)["body"] == {"model": "m"}
    assert said(two) == [("assistant", "Hello")]


def test_sharegpt_s_speakers_and_calls():
    turns = [
        ("human", "Hi"),
        ("function_call", '{"name": "f", "arguments": {"a": 1}}'),
        ("observation", "r"),
        ("gpt", "Yes"),
    ]
    one = only([{"id": "x", "tools": "[]", "conversations": [{"from": who, "value": words} for who, words in turns]}])
    assert said(one) == [("user", "Hi"), ("assistant", ""), ("tool", "r"), ("assistant", "Yes")]
    (call,) = one.turns[1].calls
    assert (one.format, call.name, call.arguments, one.turns[2].answers) == ("sharegpt", "f", '{"a": 1}', call.id)


def test_an_id_that_comes_again_is_another_conversation():
    talk = {"id": "x", "conversations": [{"from": "human", "value": "Hi"}]}
    assert [one.conversation for one in read(json.dumps([talk, talk]).encode())] == ["x", "x-2"]


def test_parts_keep_their_order_and_what_is_no_text_stays_beside():
    parts = [
        {"type": "text", "value": "Who?"},
        {"type": "image_url", "value": "a.jpg"},
        {"type": "refusal", "refusal": "no"},
    ]
    (turn,) = only(lines({"messages": [{"role": "user", "content": parts}]})).turns
    assert turn.text.startswith("Who?\n[image_url ")
    assert turn.text.endswith("\nno")
    assert {"type": "image_url", "value": "a.jpg"} in kept(turn.extra)["content"]


def test_of_a_picture_s_bytes_only_size_and_hash_are_kept():
    url = "data:image/png;base64," + "iVBORw0K" * 400
    one = only(lines({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]}))
    assert kept(one.turns[0].extra)["content"][0]["image_url"]["url"].startswith(f"[{len(url)} characters, ")
    assert any("size and a hash" in note for note in one.notes)


def test_every_line_of_odd_messages_comes_in_or_is_named():
    found = list(read(sample("odd_cases", "openai_messages_odd.jsonl")))
    assert len(found) == 11
    assert [one.where for one in found if isinstance(one, Skipped)] == [
        "conversation openai_messages_odd-10", "conversation openai_messages_odd-11",
    ]  # fmt: skip
    assert "not ''" in found[9].reason
    assert said(found[5])[0][1].startswith("part list\n[input_audio ")


def test_mixed_line_ends_a_mark_in_the_middle_and_a_line_that_is_no_json():
    one, lost = read(sample("odd_cases", "jsonl_mixed_newlines.jsonl"))
    assert [turn.text for turn in one.turns] == [
        "lf", "crlf", "contains \u2028 separator", "bom mid file", "last line no newline",
    ]  # fmt: skip
    assert lost.where == "line 6"


# ── Claude Code ───────────────────────────────────────────────────────────────────────────────────────


def event(key: str, who: str, content: Any, second: int = 0, **more: Any) -> dict[str, Any]:
    spoken = {"role": who, "content": content, **({"id": more.pop("reply")} if "reply" in more else {})}
    return {"type": who, "uuid": key, "sessionId": "s", "timestamp": AT.format(second), "message": spoken, **more}


def test_lines_of_one_reply_are_one_turn_and_a_result_is_the_tool_s():
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "a.py", "is_error": False}
    one = only(lines(
        event("1", "user", "List it."),
        event("2", "assistant", [{"type": "text", "text": "Looking."}], 1, reply="m"),
        event("3", "assistant", [use], 2, reply="m"),
        event("4", "user", [result], 3),
    ))  # fmt: skip
    assert said(one) == [("user", "List it."), ("assistant", "Looking."), ("tool", "a.py")]
    assert (one.turns[1].calls[0].id, one.turns[2].answers) == ("t1", "t1")
    assert kept(one.turns[2].extra)["is_error"] is False


def test_material_in_the_user_s_place_and_helpers_are_no_speech_and_stay_beside():
    one = only(lines(
        event("1", "user", "<command-name>/status</command-name>"),
        event("2", "assistant", "of a helper", 1, isSidechain=True),
        event("3", "user", "Hello", 2),
        event("4", "user", "<system-reminder>x</system-reminder>", 3),
    ))  # fmt: skip
    assert said(one) == [("user", "Hello")]
    assert {"material", "helpers"} <= set(kept(one.turns[0].extra))
    assert "material" in kept(one.extra)["after"]


def test_a_history_that_repeats_itself_is_told_once():
    hello, again = event("1", "user", "Hello"), event("9", "user", "Hello")
    one = only(lines({"type": "summary", "summary": "A talk"}, hello, hello, again, event("2", "assistant", "Hi", 1)))
    assert said(one) == [("user", "Hello"), ("assistant", "Hi")]
    assert (one.title, one.skipped) == ("A talk", ())


def test_a_file_of_several_sessions_is_several_conversations():
    found = list(read(sample("claude_code_jsonl", "claude-normalization-main.jsonl")))
    assert [(one.conversation, len(one.turns)) for one in found] == [
        ("claude-normalization-main", 5), ("claude-normalization-other", 2),
    ]  # fmt: skip
    assert "says otherwise" in found[0].skipped[0].reason


# ── ATIF ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_step_s_observation_is_a_turn_of_each_tool():
    step = {
        "step_id": 2, "source": "agent", "message": "Looking.", "reasoning_content": "hm", "metrics": {"cost_usd": 1},
        "tool_calls": [{"tool_call_id": "t", "function_name": "f", "arguments": {"a": 1}}],
        "observation": {"results": [{"source_call_id": "t", "content": "r", "subagent": ["x"]}]},
    }  # fmt: skip
    asked = {"step_id": 1, "source": "user", "message": "Hi"}
    one = only({"schema_version": "ATIF-v1.4", "session_id": "s", "agent": {"name": "a"}, "steps": [asked, step, 7]})
    assert said(one) == [("user", "Hi"), ("assistant", "Looking."), ("tool", "r")]
    assert one.turns[2].answers == one.turns[1].calls[0].id == "t"
    assert kept(one.turns[1].extra) == {"step_id": 2, "reasoning_content": "hm", "metrics": {"cost_usd": 1}}
    assert kept(one.turns[2].extra) == {"subagent": ["x"]}
    assert one.skipped[0].where == "step 3"


# ── Langfuse ──────────────────────────────────────────────────────────────────────────────────────────


def generation(key: str, second: int, said: Any, replied: Any) -> dict[str, Any]:
    return {
        "id": key, "traceId": "t", "type": "GENERATION", "name": "llm", "startTime": AT.format(second),
        "endTime": AT.format(second + 1), "input": said, "output": replied, "usageDetails": {"input": 7, "output": 3},
    }  # fmt: skip


def test_a_history_that_each_call_resends_is_told_once_and_json_may_be_encoded_twice():
    hi, hello, more = ({"role": r, "content": c} for r, c in (("user", "Hi"), ("assistant", "Hello"), ("user", "More")))
    done = json.dumps(json.dumps({"role": "assistant", "content": "Done"}))
    calls = [
        generation("a", 1, [hi], hello),
        generation("b", 3, [hi, hello, more], done),
        generation("n", 5, None, None),
    ]
    trace = {"trace": {"id": "t", "sessionId": None, "userId": "ana"}, "observations": calls}
    one, silent = read(json.dumps(trace).encode())
    assert "hold no message" in silent.reason
    assert said(one) == [("user", "Hi"), ("assistant", "Hello"), ("user", "More"), ("assistant", "Done")]
    assert (one.user, one.conversation, one.format) == ("ana", "t", "langfuse")
    assert [each["usageDetails"] for each in kept(one.extra)["observations"]] == [{"input": 7, "output": 3}] * 3


def in_session(key: str, *calls: dict[str, Any], session: str | None = "s") -> dict[str, Any]:
    return {"trace": {"id": key, "sessionId": session, "userId": "ana"}, "observations": [*calls]}


HI, HELLO, MORE, DONE, LAST, BYE = (
    {"role": role, "content": text}
    for role, text in zip(["user", "assistant"] * 3, ["Hi", "Hello", "More", "Done", "Last", "Bye"], strict=True)
)
SESSION = [
    in_session("t1", generation("a", 1, [HI], HELLO)),
    in_session("t2", generation("b", 3, [HI, HELLO, MORE], DONE)),
    in_session("t3", generation("c", 5, [LAST], BYE)),  # an app that sends the newest message alone
]
WHOLE = ["Hi", "Hello", "More", "Done", "Last", "Bye"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)], ids=["oldest first", "newest first"])
def test_traces_of_one_session_are_one_conversation_in_one_file_and_in_several(order, tmp_path: Path):
    traces = [SESSION[i] for i in order]
    (tmp_path / "files").mkdir()
    for number, trace in enumerate(traces):
        (tmp_path / "files" / f"{number}.json").write_text(json.dumps(trace))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as packed:
        for number, trace in enumerate(traces):
            packed.writestr(f"{number}.json", json.dumps(trace))
    for one in (only(traces), only(lines(*traces)), *read(tmp_path / "files"), *read(tmp_path / "all.zip")):
        assert (one.user, one.conversation, [turn.text for turn in one.turns]) == ("ana", "s", WHOLE)
        assert [turn.said_at.second for turn in one.turns] == [1, 2, 3, 4, 5, 6]
        assert [told["trace"]["id"] for told in kept(one.extra)["traces"]] == [trace["trace"]["id"] for trace in traces]


def test_a_session_s_next_file_goes_on_with_the_conversation_that_the_store_has(store: Store):
    for n, expected in enumerate(["imported", "grown", "grown"]):
        for status in (expected, "unchanged"):
            reading = read(json.dumps(SESSION[n]).encode(), weave=weaver(store, old=True))
            (one,) = import_recordings(store, reading, replay=False, remember=False).conversations
            assert (one.conversation, one.status) == ("s", status)
    assert [stream.turns for stream in store.streams()] == [6]


def test_a_file_of_traces_that_breaks_off_and_one_that_is_none_stop_no_other(tmp_path: Path):
    (tmp_path / "1.json").write_text(json.dumps(SESSION[0])[:-1])
    (tmp_path / "2.json").write_text(json.dumps(SESSION[1]))
    (tmp_path / "3.json").write_text("no JSON")
    none, one = read(tmp_path, format="langfuse")
    assert "3.json holds nothing that can be read" in none.reason
    assert [turn.text for turn in one.turns] == WHOLE[:4]
    assert any("breaks off" in note for note in one.notes)


# ── all of them ───────────────────────────────────────────────────────────────────────────────────────


def test_every_format_is_known_by_its_content():
    assert set(FOREIGN) <= set(READERS)


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("atif_trajectory", "atif"), ("claude_export", "claude"), ("claude_code_jsonl", "claude_code"),
        ("langfuse_export", "langfuse"), ("openai_jsonl", "openai"), ("sharegpt", "sharegpt"),
    ],
)  # fmt: skip
def test_every_sample_is_read_as_what_it_is(folder: str, name: str):
    files = [each for each in sorted(sample(folder).iterdir()) if each.suffix in (".json", ".jsonl")]
    for file in files:
        found = list(read(file))
        assert found, file
        assert {one.format for one in found if isinstance(one, Recording)} == {name}, file


@pytest.mark.parametrize("folder", ["atif_trajectory", "claude_export", "claude_code_jsonl", "langfuse_export"])
def test_a_second_import_changes_nothing(folder: str, store: Store):
    for _ in range(2):
        report = import_recordings(store, read(sample(folder)), replay=False, remember=False)
    assert report.new_turns == 0
    assert report.count("unchanged") == len(report.conversations) > 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bom_utf8.json", "My dog is called Rex."),
        ("gb18030_no_bom.json", "我住在上海，养了一只猫。"),
        ("trailing_comma.json", "hi"),
        ("truncated.json", "My dog is called Rex."),
        ("chatgpt_lone_surrogate.json", "broken \ufffd text \ufffd end"),
    ],
)
def test_odd_bytes_are_read(name: str, words: str):
    assert next(read(sample("odd_cases", name))).turns[0].text == words


@pytest.mark.parametrize("name", ["empty.json", "empty_array.json", "null.json"])
def test_a_file_that_holds_nothing_is_an_error_in_words(name: str):
    with pytest.raises(RecordingError, match=r"is empty|in no format that is known"):
        read(sample("odd_cases", name))


def test_utf_16_is_read_like_utf_8():
    raw = [{"role": "user", "content": "你好"}]
    assert said(only(json.dumps(raw, ensure_ascii=False).encode("utf-16"))) == [("user", "你好")]
