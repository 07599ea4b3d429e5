"""What a person says that a page is remembered by: it stands in the next prompt, it stays, it can be taken back."""

from pathlib import Path

import pytest

from memory import Engine
from memory.errors import BadMessage, NotFound
from memory.models.chat import Answer
from memory.naming import EDITED
from memory.operations import MakeBookmark
from memory.pages import Bookmark
from memory.scope import LIVE
from memory.serving import Served, serve
from memory.stores.sql import Store
from memory.stores.verify import verify

LONG = "The garden needs water and the fence needs paint before the summer comes. " * 9


class Model:
    """Answers, and keeps what it read last."""

    def __init__(self) -> None:
        self.read = ""

    def __call__(self, llm: str, messages: list[dict[str, str]], **_: object) -> Answer:
        self.read = "\n".join(str(m.get("content", "")) for m in messages)
        return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def engine(tmp_path: Path, model: Model):
    settings = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200}
    with Engine.open(tmp_path, user="ana", conversation="c", chat=model, **settings) as opened:
        for n in range(9):
            opened.say(f"{n}. {LONG}")
        yield opened


def words(engine: Engine, mark: Bookmark) -> tuple[str, str]:
    said = engine.pager.journal.words
    return said(mark.stub), said(mark.keywords) if mark.keywords else ""


def test_the_next_prompt_holds_the_new_stub_and_not_the_old(engine: Engine, model: Model):
    old, _ = words(engine, engine.page(1).bookmark)
    mark = engine.bookmark("p1", ["green fence", "June"])
    assert words(engine, mark) == ("[p1:green fence,June]", "green fence,June")
    assert mark.origin == EDITED
    engine.say("And now?")
    assert "[p1:green fence,June]" in model.read
    assert old not in model.read


def test_a_question_finds_the_page_by_a_word_that_a_person_gave_it(engine: Engine):
    engine.bookmark(1, ["zeppelin"])
    assert engine.pager.finder.matches("Where was the zeppelin?") == {1: 1}
    with Engine.open(engine.store, user="ana", conversation="c") as other:
        assert other.pager.finder.matches("Where was the zeppelin?") == {1: 1}


def test_what_is_not_given_stays(engine: Engine):
    _, before = words(engine, engine.page(2).bookmark)
    heavier = engine.bookmark(2, weight=3)
    assert (heavier.weight, words(engine, heavier)[1]) == (3.0, before)
    renamed = engine.bookmark(2, ["paint"])
    assert (renamed.weight, words(engine, renamed)[1]) == (3.0, "paint")


def test_no_keywords_leave_the_bare_name(engine: Engine):
    assert words(engine, engine.bookmark(1, [])) == ("[p1]", "")


def test_edits_are_taken_back_one_by_one(engine: Engine):
    first = engine.page(1).bookmark
    engine.bookmark(1, ["one"])
    second = engine.bookmark(1, ["two"], weight=4)
    assert words(engine, second)[0] == "[p1:two]"
    assert words(engine, engine.undo_bookmark(1))[0] == "[p1:one]"
    assert engine.undo_bookmark("p1") == first
    with pytest.raises(BadMessage, match="nothing to take back"):
        engine.undo_bookmark(1)
    assert engine.pager.finder.matches("two one") == {}


def test_an_edit_after_one_that_was_taken_back_leads_back_to_what_stood_before(engine: Engine):
    first = engine.page(1).bookmark
    engine.bookmark(1, ["one"])
    engine.undo_bookmark(1)
    engine.bookmark(1, ["three"])
    assert engine.undo_bookmark(1) == first


def test_neither_the_model_nor_a_mark_replaces_it(engine: Engine):
    engine.bookmark(1, ["mine"])
    told = serve(MakeBookmark("c1", "p1", ("theirs",)), engine.pager, Served(), 0)
    assert "the user's own" in told
    engine.mark(1)
    marked = engine.page(1).bookmark
    assert (words(engine, marked)[1], marked.weight) == ("mine", 2.0)
    engine.mark(1, False)
    assert words(engine, engine.page(1).bookmark)[1] == "mine"


def test_a_page_that_still_grows_keeps_it_when_it_closes(engine: Engine):
    last = engine.state.open_page.number
    engine.bookmark(last, ["mine"])
    for n in range(4):
        engine.say(f"more {n}. {LONG}")
    assert engine.page(last).closed
    assert words(engine, engine.page(last).bookmark)[1] == "mine"


@pytest.mark.parametrize(
    ("keywords", "says"),
    [
        (["x" * 41], "no keyword"),
        (["  ,[]: "], "no keyword"),
        (list("abcdef"), "too many"),
        ([f"incomprehensibility {n} characterisation" for n in range(5)], "a stub may have 24"),
    ],
)
def test_what_would_not_stand_in_the_stub_is_refused_and_nothing_changes(engine: Engine, keywords, says):
    before, version = engine.page(1).bookmark, engine.state.version
    with pytest.raises(BadMessage, match=says):
        engine.bookmark(1, keywords)
    assert (engine.page(1).bookmark, engine.state.version) == (before, version)


@pytest.mark.parametrize("weight", [-0.1, 10.5, float("nan")])
def test_a_weight_out_of_range_is_refused(engine: Engine, weight: float):
    with pytest.raises(BadMessage, match="weighs 0 to 10"):
        engine.bookmark(1, weight=weight)


def test_a_page_is_named_as_everywhere(engine: Engine):
    assert engine.bookmark("[p1:x]", ["a1"]) == engine.page(1).bookmark
    with pytest.raises(NotFound, match="no page p99"):
        engine.bookmark(99, ["x"])
    with pytest.raises(NotFound, match="no page p99"):
        engine.undo_bookmark(99)
    with pytest.raises(BadMessage, match="is a range"):
        engine.bookmark("p1-p3", ["x"])
    with pytest.raises(BadMessage, match="names no page"):
        engine.bookmark("the first", ["x"])


def test_secrets_and_marks_never_reach_a_stub(engine: Engine):
    said, _ = words(engine, engine.bookmark(1, ["a]b[p2:c", "line\nbreak"]))
    assert said == "[p1:a b p2 c,line break]"
    key = "sk-" + "a1B2" * 8
    assert key not in words(engine, engine.bookmark(1, [key]))[0]


def test_the_log_stays_whole(engine: Engine, tmp_path: Path):
    engine.bookmark(1, ["one"], weight=2)
    engine.undo_bookmark(1)
    engine.say("And now?")
    engine.close()
    with Store.open(tmp_path) as store:
        assert verify(store).ok
        assert [s.scope.run for s in store.streams("ana", "c")] == [LIVE]
