"""A fork asks a model again and is a run of its own: nothing that was recorded, and no fact, is changed by it."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from memory import Engine
from memory.errors import ModelError, ModelRefused, NotFound, RecordingError
from memory.events import ConversationBranched, FactsPlaced, MessageReceived
from memory.models.chat import Answer
from memory.scope import Scope
from memory.stores.sql import Store
from sessions.fork import Forking, fork
from sessions.replay import replay
from workbench.views.replay import runs

LIVE = Scope("ana", "trip")
KNOWN = "My budget is 5,000 euros."
SAID = ["Hello there.", "We leave in June.", "What does my budget allow?", "Is my budget enough for two?", "Thanks."]
SMALL = {"window_tokens": 2_000, "reply_tokens": 100, "boundary": "fixed_4", "retry_s": 0}


class Model:
    """Keeps what it was sent, and answers with its own name."""

    def __init__(self, name: str = "Aye.") -> None:
        self.name, self.seen = name, []

    def __call__(self, llm: str, messages: list[dict[str, Any]], **rest: Any) -> Answer:
        self.seen.append("\n".join(str(m["content"]) for m in messages))
        return Answer(self.name, (), 100, 10, 0.25, "stop", llm, 1.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        with Engine.open(opened, user="ana", conversation="before", chat=Model("Noted."), **SMALL) as engine:
            engine.say(KNOWN)
        with Engine.open(opened, user="ana", conversation="trip", chat=Model("Noted."), **SMALL) as engine:
            for message in SAID:
                engine.say(message)
        yield opened


def everything(store: Store) -> list[Any]:
    """What is in the store but for forks."""
    streams = [s for s in store.streams(own=True) if not s.scope.run.startswith("fork-")]
    return [(s.scope, s.version, store.events_of(s)) for s in streams]


def said(store: Store, scope: Scope) -> list[str]:
    words = store.words(scope)
    return [words[t.text] for page in store.state(scope).pages.values() for t in page.turns]


def test_it_begins_before_the_turn_and_nothing_else_is_changed(store: Store):
    before = everything(store)
    model = Model()
    made = fork(store, LIVE, 6, llm="other/model", chat=model)  # the reply to the third message
    assert everything(store) == before
    assert (made.turn, made.done, len(model.seen)) == (5, 3, 3)
    told = said(store, made.scope)
    assert told[:4] == said(store, LIVE)[:4]
    assert told[4:] == [SAID[2], "Aye.", SAID[3], "Aye.", SAID[4], "Aye."]
    assert store.state(made.scope).settings.llm == "other/model"
    assert store.check() == []


def test_the_messages_keep_their_recorded_times(store: Store):
    made = fork(store, LIVE, 5, chat=Model())
    times = [
        {e.body.turn.number: e.body.turn.said_at for e in store.events(scope) if isinstance(e.body, MessageReceived)}
        for scope in (LIVE, made.scope)
    ]
    assert times[0] == times[1]


def test_it_reads_the_facts_that_the_original_read_and_writes_none(store: Store):
    model = Model()
    made = fork(store, LIVE, 5, chat=model, remember="rules")
    versions = [
        [e.body.user_version for e in store.events(scope) if isinstance(e.body, FactsPlaced)]
        for scope in (LIVE, made.scope)
    ]
    assert versions[0] == versions[1] != []
    assert store.knowledge("ana").learned["trip"] == 10  # the live run's turns alone


@pytest.mark.parametrize(
    ("facts", "there", "absent"),
    [({}, "5,000", "9,999"), ({1: "The user's budget is 9,999 euros"}, "9,999", "5,000"), ({1: ""}, "budget", "5,000")],
    ids=["as it was", "edited", "left out"],
)
def test_an_edited_fact_is_in_its_copy_alone(store: Store, facts: dict[int, str], there: str, absent: str):
    before = everything(store)
    model = Model()
    fork(store, LIVE, 5, chat=model, facts=facts)
    assert there in model.seen[0]
    assert absent not in model.seen[0]
    assert everything(store) == before


def test_a_fact_that_nobody_read_cannot_be_edited(store: Store):
    with pytest.raises(NotFound, match="no fact f77"):
        Forking(store, LIVE, 5, facts={77: "x"})


def test_stopped_it_goes_on_where_it_stopped(store: Store):
    first = Forking(store, LIVE, 3, chat=Model("One."))
    assert [reply.text for reply in islice(first.steps(), 2)] == ["One.", "One."]
    again = Forking(store, LIVE, 3, chat=Model("Two."))
    assert (again.scope, again.done, again.steps_in_all, again.estimate.steps) == (first.scope, 2, 4, 2)
    assert [reply.text for reply in again.steps()] == ["Two.", "Two."]
    assert list(Forking(store, LIVE, 3, chat=Model("Three.")).steps()) == []
    assert Forking(store, LIVE, 3, chat=Model(), page_turns=2).scope != first.scope


def test_a_failure_is_told_and_the_message_is_said_again(store: Store):
    def refuses(*args: Any, **rest: Any) -> Answer:
        raise ModelRefused("no key")

    with pytest.raises(ModelError, match="no key"):
        fork(store, LIVE, 7, chat=refuses)
    made = fork(store, LIVE, 7, chat=Model())
    assert made.done == made.steps_in_all == 2


def test_what_it_would_take_is_said_first(store: Store):
    one = Forking(store, LIVE, 5, llm="gpt-4o-mini")
    found, again = one.estimate, replay((store, LIVE), one.settings)
    assert (found.turn, found.steps, found.calls) == (5, 3, sum(len(s.prompts) for s in again.steps[2:]))
    assert found.prompt_tokens == sum(sum(s.prompts) for s in again.steps[2:])
    assert found.cost_usd is not None
    assert 0 < found.cost_usd < 0.01
    unknown = Forking(store, LIVE, 5, llm="nobody/knows").estimate
    assert unknown.cost_usd is None
    assert "no price" in unknown.summary
    assert store.stream(one.scope) is None  # to ask costs nothing and leaves nothing


def test_it_is_listed_with_where_it_came_from_and_is_no_replay(store: Store):
    made = fork(store, LIVE, 5, chat=Model(), page_turns=2)
    line = runs(store, LIVE).of(made.scope.run)
    assert (line.kind, line.parent, line.from_turn) == ("fork", "live", 5)
    assert line.differs == {"page_turns": (4, 2)}
    assert line.cost_usd == pytest.approx(0.75)  # its own three calls, and none of the five before
    begin = next(e.body for e in store.events(made.scope) if isinstance(e.body, ConversationBranched))
    assert begin.cause == "asked again from turn 5 on"


def test_where_nothing_can_be_asked_again_it_says_so(store: Store):
    with pytest.raises(NotFound, match="turns go from 1 to 10"):
        Forking(store, LIVE, 11)
    store.open_stream(LIVE.at("recorded"))
    with pytest.raises(RecordingError, match="no decisions"):
        Forking(store, LIVE.at("recorded"), 1)


def test_the_first_message_can_be_asked_again(store: Store):
    made = fork(store, LIVE, 1, chat=Model())
    assert said(store, made.scope) == [w for m in SAID for w in (m, "Aye.")]
