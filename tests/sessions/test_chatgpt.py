"""ChatGPT's export: the path its owner sees becomes turns, and nothing of the tree is lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from memory.longterm import LongTerm
from memory.stores.sql import Store
from sessions.importer import import_recordings
from sessions.readers import read
from sessions.recording import Recording, Skipped
from sessions.transcript import recording_of

FORMATS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "formats"
BEGAN = 1_700_000_000


def node(key: str, parent: str | None, role: str, words: Any, **more: Any) -> dict[str, Any]:
    content = words if isinstance(words, dict) else {"content_type": "text", "parts": [words]}
    message = {"id": key, "author": {"role": role}, "create_time": BEGAN + len(key), "content": content, **more}
    return {"id": key, "parent": parent, "children": [], "message": message}


def tree(*nodes: dict[str, Any], current: str | None = None, **more: Any) -> dict[str, Any]:
    mapping = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    mapping |= {each["id"]: each for each in nodes}
    at = current or nodes[-1]["id"]
    return {"conversation_id": "c", "title": "t", "create_time": BEGAN, "mapping": mapping, "current_node": at, **more}


def found(*conversations: Any) -> list[Recording | Skipped]:
    return list(read(json.dumps(list(conversations)).encode()))


def only(*nodes: dict[str, Any], **more: Any) -> Recording:
    (one,) = found(tree(*nodes, **more))
    assert isinstance(one, Recording), one
    return one


def kept(extra: str) -> dict[str, Any]:
    return json.loads(extra) if extra else {}


HELLO = node("u", "root", "user", "My dog is called Rex.")
NICE = node("ua", "u", "assistant", "Nice!")


@pytest.fixture(scope="module")
def odd() -> dict[str, list[Recording | Skipped]]:
    file = FORMATS / "odd_cases" / "chatgpt_odd_conversations.json"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    named: dict[str, list[Recording | Skipped]] = {}
    for one in read(file):
        name = one.conversation if isinstance(one, Recording) else one.where.removeprefix("conversation ")
        named.setdefault(name, []).append(one)
    return named


def test_the_path_to_the_current_message_is_what_was_said_and_the_rest_are_versions():
    old, answer = node("uaX", "ua", "user", "I live in Lyon."), node("uaXA", "uaX", "assistant", "Lyon it is.")
    new = node("uaY", "ua", "user", "I live in Lille.")
    read_in = only(HELLO, NICE, old, answer, new, current="uaY")
    assert [t.text for t in read_in.turns] == ["My dog is called Rex.", "Nice!", "I live in Lille."]
    versions = kept(read_in.turns[2].extra)["versions"]
    assert [v["message"]["content"]["parts"] for v in versions] == [["I live in Lyon."], ["Lyon it is."]]
    assert any("2 messages of other versions" in note for note in read_in.notes)


def test_what_no_field_of_a_turn_holds_stays_beside_it():
    more = {"metadata": {"model_slug": "m-1"}, "end_turn": True}
    read_in = only(HELLO, node("ua", "u", "assistant", "Nice!", **more), gizmo_id="g")
    assert kept(read_in.turns[1].extra) == {"id": "ua", **more}
    assert kept(read_in.extra)["gizmo_id"] == "g"


def test_thoughts_and_hidden_messages_are_no_speech():
    thought = node("ut", "u", "assistant", {"content_type": "thoughts", "thoughts": [{"content": "hm"}]})
    hidden = node("uth", "ut", "user", "secret context", weight=0)
    read_in = only(HELLO, thought, hidden, node("utha", "uth", "assistant", "Nice!"))
    assert [t.text for t in read_in.turns] == ["My dog is called Rex.", "Nice!"]
    assert set(kept(read_in.turns[1].extra)) == {"id", "reasoning", "hidden"}


def test_thoughts_that_no_turn_follows_stay_beside_the_conversation():
    read_in = only(HELLO, node("ut", "u", "assistant", {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}))
    assert kept(read_in.extra)["after"]["reasoning"][0]["content"]["thoughts"] == [{"content": "hm"}]


def test_custom_instructions_are_the_system_prompt():
    told = {"content_type": "user_editable_context", "user_profile": "I am Ana.", "user_instructions": "Be brief."}
    read_in = only(node("c", "root", "user", told), node("cu", "c", "user", "Hi"))
    assert read_in.system == "I am Ana.\n\nBe brief."
    assert [t.text for t in read_in.turns] == ["Hi"]


def test_a_message_to_a_tool_is_a_call_and_the_tool_s_message_answers_it():
    code = {"content_type": "code", "text": 'search("trains")'}
    call = node("uc", "u", "assistant", code, recipient="browser")
    result = node("ucr", "uc", "tool", {"content_type": "execution_output", "text": "3 trains"}, weight=0)
    asked, answered = only(HELLO, call, result).turns[1:]
    assert [(c.name, c.arguments) for c in asked.calls] == [("browser", 'search("trains")')]
    assert (answered.role, answered.text, answered.answers) == ("tool", "3 trains", asked.calls[0].id)


def test_metadata_may_be_missing_and_citation_marks_are_no_words():
    read_in = only(HELLO, node("ua", "u", "assistant", "Rex\ue200cite\ue202turn0search1\ue201 it is."))
    assert read_in.turns[1].text == "Rex it is."
    assert "turn0search1" in kept(read_in.turns[1].extra)["marked"]


def test_a_broken_conversation_stops_no_other_and_each_says_why():
    bad = [{"conversation_id": "no mapping"}, 7, {"mapping": {"a": {"message": {"author": 3}}}}, {"mapping": {}}]
    *skipped, good = found(*bad, tree(HELLO))
    assert all(isinstance(one, Skipped) and one.reason for one in skipped)
    assert len(skipped) == len(bad)
    assert isinstance(good, Recording)


@pytest.mark.parametrize(
    ("name", "turns", "said"),
    [
        ("edited-branch", 4, "2 messages of other"),
        ("regenerated-3x", 2, "2 messages of other"),
        ("null-bits", 1, "no title"),
        ("missing-parent", 2, "the message before its first one is missing"),
        ("missing-child-links", 2, ""),
        ("cycle", 2, "name each other"),
        ("current-node-missing", 1, "the newest end is taken"),
        ("time-mix", 5, "'253402300799' is no time"),
        ("multimodal", 2, "thoughts"),
        ("unicode", 2, ""),
    ],
)
def test_every_odd_conversation_comes_in_with_what_was_put_right(odd: Any, name: str, turns: int, said: str):
    (one,) = odd[name]
    assert len(one.turns) == turns
    assert any(said in note for note in one.notes) if said else not one.notes


def test_what_holds_no_message_is_skipped_with_its_reason(odd: Any):
    assert [str(odd[name][0].reason)[:24] for name in ("no-mapping", "empty-mapping")] == [
        "it has no messages: `map",
        "it has no turn that can ",
    ]


def test_times_in_any_unit_are_read(odd: Any):
    ms, text, iso, *_ = odd["time-mix"][0].turns
    assert [t.said_at.timestamp() for t in (ms, text)] == [1_700_000_001, 1_700_000_002.5]
    assert iso.said_at.isoformat() == "2023-11-14T22:13:23+08:00"


def test_all_odd_conversations_come_into_a_store_once_and_another_of_one_name_stands_beside(odd: Any, store: Store):
    every = [one for ones in odd.values() for one in ones]
    first = import_recordings(store, every, replay=False)
    assert first.count("failed") == first.count("differs") == 0
    assert {"dup-id", "dup-id-2"} <= {c.conversation for c in first.conversations}
    again = import_recordings(store, every, replay=False)
    assert again.count("unchanged") == len(again.conversations)
    assert again.new_turns == 0


def test_what_the_file_says_beyond_turns_comes_back_from_the_store_without_secrets(store: Store):
    key = "sk-" + "a1B2" * 8
    beyond = {"header": key, "card": 4111111111111111, "db": {"password": "hunter2hunter2", "tokens": ["a1b2c3d4e5"]}}
    read_in = only(
        HELLO, node("ua", "u", "assistant", "Nice!", metadata={**beyond, key: {"api_key": ["hunter2hunter2"]}})
    )
    report = import_recordings(store, [read_in], replay=False)
    back = recording_of(store, store.streams()[0].scope)
    metadata = kept(back.turns[1].extra)["metadata"]
    assert metadata == {
        "header": "[api key removed]",
        "card": 4111111111111111,
        "db": {"password": "[password removed]", "tokens": ["a1b2c3d4e5"]},
        "[api key removed]": {"api_key": ["[password removed]"]},
    }
    assert back.extra == read_in.extra
    assert report.conversations[0].redacted == {"api key": 2, "password": 2}


def test_a_conversation_that_its_owner_wants_forgotten_teaches_nothing(store: Store):
    words = node("u", "root", "user", "My dog is called Rex and I am allergic to peanuts.")
    remembered, forgotten = found(tree(words), tree(words, conversation_id="f", is_do_not_remember=True))
    import_recordings(store, [forgotten], replay=False)
    assert not LongTerm.open(store, user="user").facts()
    import_recordings(store, [remembered], replay=False)
    assert LongTerm.open(store, user="user").facts()


def test_an_export_that_grew_brings_only_what_is_new_and_an_edit_stands_beside(store: Store):
    import_recordings(store, [only(HELLO, NICE)], replay=False)
    more = node("uam", "ua", "user", "He is three.")
    grown = import_recordings(store, [only(HELLO, NICE, more)], replay=False)
    assert [(c.status, c.new_turns) for c in grown.conversations] == [("grown", 1)]
    edited = import_recordings(
        store, [only(HELLO, NICE, more, node("uaE", "ua", "user", "She is three."))], replay=False
    )
    (one,) = edited.conversations
    assert (one.status, one.conversation) == ("imported", "c-2")
    assert "another version of 'c'" in one.note


def test_a_dry_run_counts_and_writes_nothing(store: Store):
    report = import_recordings(store, [only(HELLO, NICE)], dry_run=True)
    assert report.summary == "would be: 1 imported (read as chatgpt); 2 new turns; nothing was written"
    assert not store.streams()


def test_a_file_that_breaks_off_brings_what_came_before():
    whole = json.dumps([tree(HELLO), tree(HELLO, NICE, node("uau", "ua", "user", "He is three."))])
    first, second, *rest = read(whole[: whole.index("He is")].encode())
    assert (len(first.turns), [t.text for t in second.turns]) == (1, ["My dog is called Rex.", "Nice!"])
    assert any("breaks off" in note for note in second.notes)
    assert not rest


def test_every_sample_is_read():
    samples = sorted((FORMATS / "chatgpt_export").glob("*.json"))
    if not samples:
        pytest.skip(f"{FORMATS} is not there")
    for file in samples:
        if file.stem == "private_use_unicode":  # in no format that ChatGPT writes
            continue
        every = list(read(file))
        assert every
        assert all(isinstance(one, Recording) and one.turns and one.format == "chatgpt" for one in every), file
