"""Conversations as files for others: whole, readable again, and without what is nobody else's business."""

import json
from datetime import UTC, datetime, timedelta

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import StoreError, UnknownName
from memory.redaction import SECRETS, SHARED, redactor
from memory.scope import RECORDED, Scope
from memory.stores.sql import Store
from sessions.export import Clearing, cleared, export, jsonl, openai_messages
from sessions.importer import import_recordings
from sessions.readers import read
from sessions.recording import RecordedCall, RecordedRecall, RecordedTurn, Recording
from sessions.transcript import recording_of

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
TALK = Recording(
    "talk", "ana",
    (
        RecordedTurn(1, "user", "Write to ana@example.org or call +49 30 1234567.", AT, "Ana", important=True),
        RecordedTurn(2, "assistant", "", AT, calls=(RecordedCall("c1", "send", '{"to": "ana@example.org"}'),)),
        RecordedTurn(3, "tool", "sent\u2028to you", AT, "send", answers="c1"),
        RecordedTurn(4, "assistant", "Done. 你好", AT, recalls=(RecordedRecall(((1, 2),), "the address"),)),
    ),
    "A talk", "en", "Be brief.",
)  # fmt: skip
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip)
short = st.sampled_from(["", "Ana", "阿娜", "a b"])


@st.composite
def recordings(draw):
    turns = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        role = draw(st.sampled_from(["user", "assistant"]))
        calls = draw(st.lists(st.builds(RecordedCall, st.just(f"c{number}"), st.just("look"), words), max_size=1))
        turns.append(
            RecordedTurn(
                number, role, draw(words), AT + timedelta(minutes=number), draw(short),
                tuple(calls) if role == "assistant" else (), important=draw(st.booleans()),
                evidence=(1,) if number > 1 and role == "user" and draw(st.booleans()) else (),
            )
        )  # fmt: skip
    return Recording("c", "u", tuple(turns), draw(words), draw(st.sampled_from(["", "en"])), draw(short))


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(recordings())
def test_our_lines_read_back_as_the_same_recording(recording):
    raw = "".join(jsonl([(recording, {"run": "live", "settings": {"page_turns": 10}})])).encode()
    assert list(read(raw)) == [recording]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("export") / "store") as opened:
        import_recordings(opened, [TALK, TALK.named("other")], replay=False)
        yield opened


SCOPE = Scope("ana", "talk", RECORDED)


def test_what_is_shared_has_no_address_and_says_how_many_went(store, tmp_path):
    done = export(store, [SCOPE], tmp_path / "talk.jsonl")
    text = (tmp_path / "talk.jsonl").read_text("utf-8")
    assert not any(each in text for each in ("ana@example.org", "1234567"))
    assert done.removed == {"e-mail address": 2, "phone number": 1}
    [back] = read(tmp_path / "talk.jsonl")
    assert back == cleared(recording_of(store, SCOPE), Clearing(redactor(SECRETS, SHARED)))


def test_with_personal_it_is_the_very_recording(store, tmp_path):
    done = export(store, [SCOPE], tmp_path / "talk.jsonl", personal=True)
    assert (list(read(tmp_path / "talk.jsonl")), done.removed) == ([recording_of(store, SCOPE)], {})


def test_openai_gets_messages_with_their_calls():
    system, user, call, tool, reply = openai_messages(TALK)["messages"]
    assert (system, user["name"]) == ({"role": "system", "content": "Be brief."}, "Ana")
    assert call["content"] is None
    assert call["tool_calls"][0]["function"] == {"name": "send", "arguments": '{"to": "ana@example.org"}'}
    assert tool == {"role": "tool", "content": "sent\u2028to you", "tool_call_id": "c1"}
    assert reply == {"role": "assistant", "content": "Done. 你好"}


def test_every_conversation_is_one_line_for_openai(store, tmp_path):
    export(store, [SCOPE, Scope("ana", "other", RECORDED)], tmp_path / "talks.jsonl", "openai")
    lines = (tmp_path / "talks.jsonl").read_text("utf-8").split("\n")
    assert [len(json.loads(line)["messages"]) for line in lines if line] == [5, 5]


def test_parquet_holds_the_view_as_it_is_but_for_what_is_personal(store, tmp_path):
    export(store, [SCOPE], tmp_path / "turns.parquet", "parquet")
    found = pq.read_table(tmp_path / "turns.parquet")
    ours = store.sql("SELECT * FROM turns WHERE conversation = 'talk' ORDER BY turn")
    assert found.column_names == list(ours.columns)
    assert found["said_at"].to_pylist() == [row["said_at"] for row in ours.dicts()]
    assert found["text"].to_pylist()[0] == "Write to [e-mail address removed] or call [phone number removed]."
    assert set(found["conversation"].to_pylist()) == {"talk"}


def test_an_export_overwrites_nothing_and_leaves_no_half_file(store, tmp_path):
    there = tmp_path / "there.jsonl"
    there.write_text("mine")
    with pytest.raises(StoreError, match="nothing is overwritten"):
        export(store, [SCOPE], there)
    with pytest.raises(UnknownName, match="jsonl, openai"):
        export(store, [SCOPE], tmp_path / "x.csv", "csv")
    with pytest.raises(UnknownName, match="view of conversations"):
        export(store, [SCOPE], tmp_path / "x.parquet", "parquet", view="nothing")
    assert [file.name for file in tmp_path.iterdir()] == ["there.jsonl"]
    assert there.read_text() == "mine"
