"""`workbench bookmarks`: listed, edited, taken back; a replay's are not changed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memory import Engine
from memory.errors import BadMessage, NotFound
from memory.models.chat import Answer
from memory.pager import Pager, Said
from memory.scope import Scope
from memory.settings import Settings
from memory.stores.lease import leased
from memory.stores.sql import Store
from workbench.cli import app

LONG = "The garden needs water and the fence needs paint before the summer comes. " * 9


def answer(*_: object, **__: object) -> Answer:
    return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)


@pytest.fixture
def place(tmp_path: Path) -> str:
    small = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200}
    with Engine.open(tmp_path / "store", user="ana", conversation="c", chat=answer, **small) as engine:
        for n in range(6):
            engine.say(f"{n}. {LONG}")
    return str(tmp_path / "store")


def run(place: str, *words: str, which: tuple[str, ...] = ("-u", "ana", "-c", "c")) -> str:
    line = ["bookmarks", *words, *which, "--store", place]
    done = CliRunner().invoke(app, line, catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_a_bookmark_is_set_listed_and_taken_back(place: str):
    before = json.loads(run(place, "list", "--json"))["rows"][0]["stub"]
    assert "[p1:green fence,June], weight 2" in run(place, "set", "p1", "green fence", "June", "--weight", "2")
    listed = run(place, "list")
    assert "[p1:green fence,June]" in listed
    assert "edited" in listed
    assert "○ dead" in listed
    assert json.loads(run(place, "undo", "p1", "--json"))["stub"] == before


def test_the_only_conversation_need_not_be_named(place: str):
    assert run(place, "list", which=()) == run(place, "list")
    assert "[p1:green fence], weight" in run(place, "set", "p1", "green fence", which=())
    with Engine.open(place, user="ben", conversation="d", chat=answer) as engine:
        engine.say("Hello.")
    with pytest.raises(NotFound, match="say which conversation: --user ben --conversation d, --user ana"):
        run(place, "list", which=())


def test_the_weight_alone_is_set_and_keywords_are_taken_away(place: str):
    before = json.loads(run(place, "list", "--json"))["rows"][1]["stub"]
    assert json.loads(run(place, "set", "p2", "--weight", "3", "--json")) == {"stub": before, "weight": 3.0}
    assert json.loads(run(place, "set", "p2", "--bare", "--json"))["stub"] == "[p2]"


def test_what_says_nothing_or_two_things_is_refused(place: str):
    for words in (["set", "p1"], ["set", "p1", "x", "--bare"]):
        with pytest.raises(BadMessage, match="say the keywords"):
            run(place, *words)
    with pytest.raises(BadMessage, match="nothing to take back"):
        run(place, "undo", "p1")


def test_confusion_is_told_with_its_figures(place: str):
    found = json.loads(run(place, "confusion", "--json"))
    assert found["sentences"] > 0
    assert f"n={found['sentences']}" in run(place, "confusion")


def test_a_replay_keeps_what_its_rules_made(tmp_path: Path):
    scope = Scope("ana", "c", "replay-1")
    with Store.open(tmp_path) as store:
        journal = store.open_stream(scope)
        with leased(journal):
            pager = Pager(journal)
            pager.start(Settings(window_tokens=2_000))
            pager.receive(Said("Hello."))
            pager.commit()
    assert "nothing" in run(str(tmp_path), "list")
    with pytest.raises(NotFound, match="no live run"):
        run(str(tmp_path), "set", "p1", "mine")
