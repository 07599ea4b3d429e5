"""A store's own patterns: what they fit is in no sink, however it came."""

from datetime import UTC, datetime

import pytest

from memory.engine import Engine
from memory.errors import BadSetting
from memory.longterm import LongTerm
from memory.stores.own_patterns import OWN_PATTERNS
from memory.stores.sql import Store
from sessions.importer import import_recordings
from sessions.recording import RecordedTurn, Recording
from sessions.transcript import recording_of

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / OWN_PATTERNS).write_text("order: KD-\\d{6}\n", encoding="utf-8")
    return tmp_path


def holds(folder, words: str) -> bool:
    return any(words.encode() in file.read_bytes() for file in folder.rglob("memory.sqlite*"))


def test_what_a_store_must_not_keep_is_in_no_message_fact_or_prompt(folder):
    with Store.open(folder) as store:
        engine = Engine.open(store, user="ana", conversation="shop", system="Orders look like KD-000000.")
        engine.say("My order is KD-123456, and my budget is 5,000 euros.")
        LongTerm.open(store, user="ana").write("The spare order is KD-654321.")
        assert "[order removed]" in recording_of(store, engine.scope).turns[0].text
    assert not any(holds(folder, words) for words in ("KD-123456", "KD-654321", "KD-000000"))


def test_an_import_keeps_none_of_it_and_knows_the_same_file_again(folder):
    said = tuple(RecordedTurn(n, "user", f"Order KD-{n:06d} is on its way.", AT) for n in (1, 2))
    recording = Recording("shop", "ana", said, title="KD-000077", system="Orders look like KD-000000.")
    with Store.open(folder) as store:
        assert import_recordings(store, [recording], replay=False).came_in
        assert [c.status for c in import_recordings(store, [recording], replay=False).conversations] == ["unchanged"]
    assert not holds(folder, "KD-0000")


def test_a_bad_file_is_an_error_before_anything_is_written(folder):
    (folder / OWN_PATTERNS).write_bytes("größe: (".encode("latin-1"))
    with Store.open(folder) as store, pytest.raises(BadSetting, match="not UTF-8"):
        Engine.open(store, user="ana", conversation="shop")
    (folder / OWN_PATTERNS).write_text("order: (", encoding="utf-8")
    with Store.open(folder) as store:
        with pytest.raises(BadSetting, match=r"redaction\.txt, line 1: .* no regular expression"):
            Engine.open(store, user="ana", conversation="shop")
        assert store.streams() == []
