"""What of a history that is sent again is new: worked examples, and rules that hold for any two histories."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import resent
from memory.calling import arguments_of
from memory.errors import BadMessage
from memory.models.chat import ToolCall
from memory.pager import Said
from memory.redaction import redact
from memory.resent import Key, Place, at_the_end, common, place
from memory.settings import Settings
from tests.memory.conftest import pager_of


def said(*texts: str) -> list[Key]:
    """Messages of the user's and replies in turn."""
    return [Key("assistant" if i % 2 else "user", text) for i, text in enumerate(texts)]


KNOWN = said("Hi", "Hello", "And Lisbon?", "By the sea")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (said("Hi", "Hello", "And Lisbon?", "By the sea", "Thanks"), Place(0, 4, 4)),
        (said("Hi", "Hello", "And Porto?"), Place(0, 2, 2, branches=True)),
        (said("Hi", "Hello", "And Lisbon?"), Place(0, 2, 2, branches=True)),  # asked again: another reply, beside
        (said("Hi", "Hi there", "And Lisbon?"), Place(0, 0, 0, branches=True)),  # a reply that was edited
        (said("Hello?"), Place(0, 0, 0, branches=True)),
        (said("And Lisbon?", "By the sea", "Thanks"), Place(0, 4, 2)),  # only the last messages were sent
    ],
    ids=["goes on", "an edit", "asked again", "an edited reply", "another beginning", "the last messages"],
)
def test_a_history_goes_on_where_it_is_known(sent, expected):
    assert place([KNOWN], sent) == expected


def test_the_run_that_knows_most_of_it_goes_on():
    edited = said("Hi", "Hello", "And Porto?", "By the river")
    assert place([KNOWN, edited], [*edited, Key("user", "Thanks")]) == Place(1, 4, 4)
    assert place([KNOWN[:1], KNOWN], KNOWN[:3]) == Place(1, 2, 2, branches=True)


texts = st.sampled_from(("a", "b"))
histories = st.lists(st.builds(Key, st.sampled_from(("user", "assistant", "tool")), texts), max_size=6)


@given(st.lists(histories, min_size=1, max_size=3), histories.map(lambda keys: [*keys, Key("user", "new")]))
def test_nothing_sent_is_lost_and_nothing_known_is_overwritten(runs, sent):
    found = place(runs, sent)
    run = runs[found.run]
    stands = run[: found.known]
    if found.branches:
        assert stands == sent[: found.new]
        assert len(stands) < len(run)
        assert not stands or run[found.known].role == "user"  # whole steps only
    else:
        assert stands == run
        assert found.new == 0 or run[-found.new :] == sent[: found.new]
    assert common(run, sent) == max(common(each, sent) for each in runs) or not found.branches


@given(histories, histories)
def test_what_goes_on_is_found_again(known, more):
    """After `more` is answered and placed, the same with one message more goes on there."""
    whole = [*known, *more]
    assert place([whole], [*whole, Key("user", "new")]) == Place(0, len(whole), len(whole))


@given(histories, st.integers(1, 6))
def test_the_last_messages_are_found_only_with_a_reply_among_them(known, most):
    tail = known[-most:]
    found = at_the_end(known, [*tail, Key("user", "new")])
    assert found >= len(tail) if any(key.role == "assistant" for key in tail) else found == 0


# ── what a store kept of a message, and the message ───────────────────────────────────────────────────

SECRET = "my key is sk-abcdefghijklmnopqrstuvwx, half a face \ud83d"
LONG = '{"x": "' + "y " * 900 + '"}'
CALLS = (("c1", "weather", '{"b": 1,\n "a": "Lisbon"}'), ("c2", "weather", "not JSON"), ("c3", "store", LONG))


def test_what_was_stored_is_known_again():
    """Without its secrets, in pieces, with arguments in another spelling, cut or unreadable."""
    pager = pager_of(Settings.of(window_tokens=1_500, reply_tokens=100))
    sent = [
        Said(SECRET),
        Said("", "assistant", calls=CALLS),
        Said("Sunny", "tool", answers="c1"),
        Said("a long story " * 400),
        Said(" Noted.\n", "assistant"),
    ]
    for each in sent:
        stored = replace(each, calls=tuple((i, n, "{}" if a == "not JSON" else a) for i, n, a in each.calls))
        (pager.receive if each.role == "user" else pager.reply)(stored)
    assert any(turn.pieces > 1 for page in pager.state.pages.values() for turn in page.turns)
    known = resent.keys_of(pager.state, pager.journal.words)
    assert common(known, [resent.key_of(each, redact) for each in sent]) == len(sent) == len(known)
    other = replace(sent[1], calls=(("c1", "weather", '{"a": "Porto", "b": 1}'), *CALLS[1:]))
    assert common(known, [resent.key_of(each, redact) for each in (sent[0], other)]) == 1


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────


def test_messages_are_read_as_chat_apis_write_them():
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"at": "Lisbon"}'}}
    parts = [{"type": "text", "text": "Is it"}, {"type": "text", "text": "warm?"}]
    system, messages = resent.read(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "name": "Ana", "content": parts},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": ""},
            {"role": "developer", "content": "In Celsius."},
        ]
    )
    assert system == "Be brief.\n\nBe kind."
    assert messages == (
        Said("Is it\nwarm?", speaker="Ana"),
        Said("", "assistant", calls=(("c1", "weather", '{"at": "Lisbon"}'),)),
        Said("", "tool", answers="c1"),
        Said("In Celsius.", "system"),
    )


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ("Hi", "a list of messages, not str"),
        ([], "hold nothing that was said"),
        ([{"role": "system", "content": "Be brief."}], "hold nothing that was said"),
        ([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "He"}], "the last message is the"),
        ([{"role": "robot", "content": "Hi"}], "the role 'robot'"),
        ([{"role": "user", "content": " "}], "message 0 is empty"),
        ([{"role": "tool", "content": "Sunny"}], "names no tool_call_id"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], "a part of type 'image_url'"),
        ([{"role": "user", "content": 7}], "message 0 is int"),
        (["Hi"], "message 0 is str"),
    ],
)
def test_what_is_no_history_of_words_is_refused(messages, says):
    with pytest.raises(BadMessage, match=says):
        resent.read(messages)


@pytest.mark.parametrize("empty", [None, "", " \n", []])
def test_a_message_without_words_is_passed_over_wherever_it_stands_but_last(empty):
    """A reply that once came empty would end the conversation for ever, for every later call brings it again."""
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    asked = {"role": "user", "content": "How are you?"}
    for at, role in enumerate(("user", "assistant", "system")):
        holed = [*said[:at], {"role": role, "content": empty}, *said[at:], asked]
        assert resent.read(holed)[1] == resent.read([*said, asked])[1]
    assert resent.read([*said, {"role": "assistant"}, asked])[1] == resent.read([*said, asked])[1]
    with pytest.raises(BadMessage, match="message 2 is empty"):
        resent.read([*said, {"role": "user", "content": empty}])


def test_a_conversation_without_a_name_is_known_by_its_first_message():
    one, other = [Said("Hi"), Said("Hello", "assistant")], [Said("Ho")]
    assert resent.name_of(one) == resent.name_of(one[:1]) != resent.name_of(other)


def test_arguments_that_come_as_an_object_are_kept_as_people_read_them():
    """Escaped, Chinese takes six times the tokens."""
    asked = {"id": "c1", "function": {"name": "recall", "arguments": {"question": "花生过敏"}}}
    history = [{"role": "user", "content": "我对什么过敏？"}, {"role": "assistant", "tool_calls": [asked]},
               {"role": "tool", "tool_call_id": "c1", "content": "花生"}]  # fmt: skip
    _, (_, said, _) = resent.read(history)
    assert said.calls == (("c1", "recall", '{"question": "花生过敏"}'),)


def test_what_the_model_asked_goes_back_to_it_unescaped():
    assert arguments_of(ToolCall("c1", "recall", {"question": "花生过敏"})) == '{"question": "花生过敏"}'
