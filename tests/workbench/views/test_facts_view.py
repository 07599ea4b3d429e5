"""Facts as views: what holds, one fact whole, conflicts, the ledger; escaped, complete, of one user only."""

from datetime import UTC, datetime, timedelta

import pytest

from memory import Engine
from memory.errors import NotFound, UnknownName
from memory.events import Event, FactsPlaced, PlacedFact
from memory.facts import Candidate
from memory.longterm import LongTerm
from memory.scope import Scope
from memory.state import apply
from memory.stores.sql import Store
from workbench.timeline import timeline
from workbench.views.facts import changes, conflicts, fact, facts, ledger
from workbench.views.known import kept
from workbench.views.lanes import lanes

AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def ana(store: Store) -> LongTerm:
    memory = LongTerm(store, "ana", "trip")
    memory.write("My budget is 5000 euros. I live in Lyon.", at=AT)
    return memory


def place(store: Store, *numbers: int) -> None:
    journal = store.open_stream(Scope("ana", "trip"))
    state = journal.load()
    body = FactsPlaced(1, (), 0, tuple(PlacedFact(n, "match") for n in numbers))
    journal.commit([body], 3, apply(state, Event(0, state.version + 1, 3, AT, body)))


def test_what_holds_is_listed_the_newest_first(store: Store, ana: LongTerm):
    view = facts(store, "ana")
    assert [r.name for r in view] == ["f2", "f1"]
    assert (view.rows[1].attribute, view.rows[1].value, view.rows[1].said) == ("budget", "5000 euros", 1)
    assert view.states == {"active": 2}


def test_as_of_a_moment_in_either_time(store: Store, ana: LongTerm):
    before = store.clock()
    ana.update(1, "8000 euros", since=AT + timedelta(days=9))
    assert {r.value for r in facts(store, "ana", valid=AT + timedelta(days=1))} == {"5000 euros", "Lyon"}
    assert {r.value for r in facts(store, "ana", valid=AT + timedelta(days=10))} == {"8000 euros", "Lyon"}
    assert {r.value for r in facts(store, "ana", valid=AT + timedelta(days=10), recorded=before)} == {
        "5000 euros",
        "Lyon",
    }


def test_working_facts_are_shown_with_their_conversation_only(store: Store, ana: LongTerm):
    ana.write(Candidate("Booking the hotel", 0, 17, kind="task", layer="working"))
    assert [r.name for r in facts(store, "ana")] == ["f2", "f1"]
    assert facts(store, "ana").working == 1
    assert [r.name for r in facts(store, "ana", conversation="trip")] == ["f3", "f2", "f1"]
    assert facts(store, "ana", conversation="work").working == 1
    with pytest.raises(NotFound, match="working fact"):
        fact(store, "ana", 3)
    assert fact(store, "ana", 3, conversation="trip").row.layer == "working"


def test_a_layer_or_state_that_is_none_is_named(store: Store, ana: LongTerm):
    with pytest.raises(UnknownName, match="no layer named 'deep'"):
        facts(store, "ana", layer="deep")
    with pytest.raises(UnknownName, match="no state named 'gone'"):
        facts(store, "ana", state="gone")


def test_one_fact_whole(store: Store, ana: LongTerm):
    place(store, 1)
    ana.mark(1)
    view = fact(store, "ana", 1)
    assert view.sources[0].quote == "My budget is 5000 euros"
    assert [c.cause for c in view.changes] == ["write", "mark"]
    assert (view.uses[0].conversation, view.uses[0].step, view.uses[0].why) == ("trip", 3, "match")
    assert view.row.used == "trip, step 3"
    assert view.beliefs[0].valid_to is None


@pytest.mark.parametrize(("offset", "began"), [("+01:00", "2025-01-01"), ("-08:00", "2025-01-01")])
def test_days_are_told_as_they_were_where_it_was_said(store: Store, offset: str, began: str):
    """Last year began an hour before midnight in UTC, or eight hours after it."""
    memory = LongTerm(store, "ana", "trip")
    memory.write("I moved to Lyon last year.", at=datetime.fromisoformat(f"2026-03-02T09:14{offset}"))
    lane = lanes(store, Scope("ana", "trip")).lanes[0]
    drawn = timeline(memory, "user", "home city").lanes[0]
    told = [each.valid_from for each in (fact(store, "ana", 1).beliefs[0], lane.versions[0].bars[0], drawn.bars[0])]
    assert {f"{at:%Y-%m-%d %H:%M}" for at in told} == {f"{began} 00:00"}
    assert fact(store, "ana", 1).beliefs[0].valid_to is None


def test_another_user_has_another_f1(store: Store, ana: LongTerm):
    LongTerm(store, "bo").write("I live in Rome.", at=AT)
    assert "Rome" in fact(store, "bo", 1).row.text
    assert "Rome" not in repr(facts(store, "ana").rows)
    with pytest.raises(NotFound, match="no fact f1"):
        fact(store, "cy", 1)


def test_an_empty_memory_is_an_empty_view(store: Store):
    view = facts(store, "nobody")
    assert (len(view), view.note) == (0, "nothing is remembered so far")
    assert (conflicts(store, "nobody"), changes(store, "nobody"), ledger(store, "nobody")) == ((), (), ())


def test_the_ledger_tells_what_became_of_each_turn(store: Store, ana: LongTerm):
    ana.write("Nice weather!")
    assert [(r.verdict, r.fact) for r in ledger(store, "ana")] == [("stored", "f1"), ("stored", "f2"), ("none", "")]


def test_the_ledger_tells_what_waits_and_what_for(store: Store):
    engine = Engine.open(store, user="ana", conversation="trip", remember_turns=3)
    engine.say("My budget is 5000 euros.")
    why = "looked at after 3 messages, when its page closes, or at the end"
    waits = [("trip", n, "waiting", why, None) for n in (1, 2)]
    assert [(r.conversation, r.turn, r.verdict, r.reason, r.at) for r in ledger(store, "ana")] == waits
    assert ledger(store, "ana", conversation="other") == ledger(store, "ana", turn=3) == ()
    assert [(r.turn, r.verdict, r.reason) for r in kept(store, engine.scope, 2, 2)] == [(2, "waiting", why)]
    engine.close()
    assert {r.verdict for r in ledger(store, "ana")} == {"stored", "none"}
    assert [r.verdict for r in kept(store, engine.scope, 2, 2)] == ["none"]


def test_views_show_themselves_and_run_nothing(store: Store, ana: LongTerm):
    ana.write(Candidate("<script>alert(1)</script> & co", 0, 9))
    for view in (facts(store, "ana"), fact(store, "ana", 3)):
        html = view._repr_html_()
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
    assert repr(facts(store, "ana")) == "<FactsView of ana: 3 shown; 3 active>"
