import dataclasses
from datetime import datetime, timedelta, timezone
from typing import get_type_hints

import hypothesis
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import StoreDamaged, StoreTooNew
from memory.events import KINDS, Body, MessageReceived, PagesRecalled, SettingsChanged, decode, encode
from memory.settings import Settings
from memory.turns import Turn


def records(kind: type[Body]) -> st.SearchStrategy[Body]:
    """Any record of a kind, by the types of its fields."""
    anything = st.recursive(
        st.integers(-(2**50), 2**50) | st.text(max_size=20) | st.booleans(), lambda inner: st.lists(inner, max_size=3)
    )
    own = {}
    for name, hint in get_type_hints(kind).items():
        if name == "version":
            continue
        if hint is float:
            own[name] = st.floats(allow_nan=False, allow_infinity=False)
        elif hint == dict[str, object] or name == "settings":
            own[name] = st.just(Settings().to_dict())
        elif name == "messages":
            own[name] = st.lists(st.lists(anything, max_size=4), max_size=3).map(tuple)
    st.register_type_strategy(datetime, st.datetimes(timezones=st.just(timezone(timedelta(hours=8)))))
    st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
    st.register_type_strategy(int, st.integers(0, 2**50))
    st.register_type_strategy(str, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
    return st.builds(kind, **own)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@hypothesis.settings(max_examples=5)
@given(data=st.data())
def test_every_record_is_read_as_it_was_written(kind, data):
    record = data.draw(records(kind))
    assert decode(kind.__name__, encode(record)) == (record, {})


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@hypothesis.settings(max_examples=5)
@given(data=st.data())
def test_a_field_of_a_newer_program_survives(kind, data):
    record = data.draw(records(kind))
    written = {**orjson.loads(encode(record)), "mood": {"calm": [1, 2]}}
    found, extra = decode(kind.__name__, orjson.dumps(written))
    assert found == record
    assert extra == {"mood": {"calm": [1, 2]}}
    assert orjson.loads(encode(found, extra)) == written


SAID = MessageReceived(Turn(1, "user", 7, 9, datetime(2026, 3, 2, tzinfo=timezone(timedelta(hours=1)))))


def test_a_field_inside_a_field_survives_as_well():
    written = orjson.loads(encode(SAID))
    written["turn"]["mood"] = "calm"
    found, extra = decode("MessageReceived", orjson.dumps(written))
    assert found == SAID
    assert orjson.loads(encode(found, extra)) == written


def test_a_field_inside_a_list_of_records_survives_as_well():
    record = PagesRecalled("c", "model", (), 0, (), (), (), (), ())
    written = {**orjson.loads(encode(record)), "refused": [{"ref": "p1", "reason": "no", "tone": "kind"}]}
    found, extra = decode("PagesRecalled", orjson.dumps(written))
    assert found.refused[0].ref == "p1"
    assert orjson.loads(encode(found, extra)) == written


def test_an_unknown_kind_and_a_newer_version_ask_for_an_update():
    with pytest.raises(StoreTooNew, match="an event of kind 'PageDreamt', which this version does not know; update it"):
        decode("PageDreamt", "{}")
    with pytest.raises(StoreTooNew, match="MessageReceived in version 2; this version knows up to 1"):
        decode("MessageReceived", encode(SAID), 2)


@pytest.mark.parametrize(
    "body", ["", "[]", "{", '{"turn": 5}', '{"turn": {}}', "{}", '{"turn": {"said_at": "yesterday"}}']
)
def test_a_damaged_record_is_told_with_its_kind(body):
    with pytest.raises(StoreDamaged, match="an event of kind MessageReceived cannot be read"):
        decode("MessageReceived", body)


def test_a_field_that_was_left_out_takes_its_default():
    written = orjson.loads(encode(SAID))
    for name in ("speaker", "piece", "pieces", "calls", "answers", "important"):
        del written["turn"][name]
    assert decode("MessageReceived", orjson.dumps(written))[0] == SAID


def test_records_are_written_with_real_characters():
    assert "\\u" not in encode(SettingsChanged({"llm": "模型"}, "预算"))


def test_records_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SAID.evidence = (1,)
