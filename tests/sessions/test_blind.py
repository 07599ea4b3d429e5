"""A blind choice: two replies by one model, nothing kept before somebody chose, and both named afterwards."""

from typing import Any

import pytest

from memory import Engine
from memory.errors import BadMessage, BadSetting
from memory.models.chat import Answer
from sessions.blind import choices, choose, pair
from sessions.scores import scorecard


def echo(_: str, messages: list[dict[str, Any]]) -> Answer:
    """Says whether it read of the staircase."""
    read = "\n".join(str(message["content"]) for message in messages)
    told = "Under the staircase." if "staircase" in read else "I do not know."
    return Answer(told, (), 1, 1, None, "stop", "x", 1.0)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory):
    """What was said first has left the window."""

    def answer(*_: object, **__: object) -> Answer:
        return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)

    place = tmp_path_factory.mktemp("blind") / "store"
    settings = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200}
    with Engine.open(place, user="ana", conversation="c", chat=answer, **settings) as opened:
        opened.say("The blue folder with the lease lies under the staircase.")
        for n in range(16):
            opened.say(f"{n}. " + "The garden needs water and the fence needs paint before summer. " * 10)
        yield opened


@pytest.mark.parametrize("is_swapped", [False, True])
def test_the_memory_knows_what_the_window_lost_and_is_named_afterwards(engine: Engine, is_swapped: bool):
    shown = pair(
        engine.store, engine.scope, "Where is the blue folder with the lease?", is_swapped=is_swapped, chat=echo
    )
    assert (shown.memory, shown.plain) == ("Under the staircase.", "I do not know.")
    assert shown.replies.index(shown.memory) == is_swapped
    assert [shown.named(n) for n in (0, 1 + is_swapped, 2 - is_swapped)] == ["neither", "memory", "plain"]
    assert "memory" not in repr(shown)
    assert max(shown.tokens) <= 2_000


def test_nothing_is_kept_before_the_choice(engine: Engine):
    before = engine.store.require(engine.scope).version
    shown = pair(engine.store, engine.scope, "Where is the blue folder?", is_swapped=True, chat=echo)
    assert engine.store.require(engine.scope).version == before
    with pytest.raises(BadSetting, match="1 or 2"):
        choose(engine.store, engine.scope, shown, 3)
    for choice in (1, 2, 2, 0):
        made = choose(engine.store, engine.scope, shown, choice)
    assert (made.chosen, made.first, made.second) == ("neither", "plain", "memory")
    assert [each.chosen for each in choices(engine.store, engine.scope)] == ["plain", "memory", "memory", "neither"]
    score = scorecard(engine.store, engine.scope).score("preferred")
    assert (round(score.value or 0, 3), score.n) == (0.667, 3)


def test_a_question_has_words(engine: Engine):
    with pytest.raises(BadMessage):
        pair(engine.store, engine.scope, " ", is_swapped=False, chat=echo)
