"""Facts over time: lanes, what holds as of a moment in either time, filters, pages; one fact's story; conflicts."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.errors import NotFound, UnknownName
from memory.facts import Candidate
from memory.longterm import LongTerm
from memory.scope import Scope
from memory.stores.sql import Store
from workbench.views import lanes as lanes_view
from workbench.views import story as story_view
from workbench.views.lanes import HOLDS, Asked, lanes
from workbench.views.remembered import remembered
from workbench.views.story import inbox, story

AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)
ANA = Scope("ana", "trip")


class Clock:
    """Moved by hand."""

    def __init__(self) -> None:
        self.now = AT

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path, clock: Clock):
    with Store.open(tmp_path / "store", clock=clock) as opened:
        yield opened


@pytest.fixture
def ana(store: Store) -> LongTerm:
    """Two values of one thing, and one of another."""
    memory = LongTerm(store, "ana", "trip", clock=store.clock)
    memory.write("My budget is 5000 euros. I live in Lyon.", at=AT)
    return memory


def later(clock: Clock, days: float) -> datetime:
    clock.now = AT + timedelta(days=days)
    return clock.now


def inferred(ana: LongTerm, value: str) -> None:
    """An inference against what was said: a conflict."""
    text = f"The user's budget is {value}."
    ana.write(
        Candidate(text, 0, len(text), subject="user", attribute="budget", value=value, single=True, origin="inference")
    )


def lane(view: lanes_view.LanesView, attribute: str) -> lanes_view.Lane:
    return next(each for each in view.lanes if each.attribute == attribute)


# ── lanes ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_lane_holds_the_values_of_one_thing_the_newest_first(store: Store, ana: LongTerm, clock: Clock):
    later(clock, 9)
    ana.write("My budget is 8000 euros.", at=clock.now)
    found = lanes(store, ANA)
    assert [(each.attribute, len(each.versions)) for each in found.lanes] == [("budget", 2), ("home city", 1)]
    new, old = lane(found, "budget").versions
    assert (new.value, old.value) == ("8000 euros", "5000 euros")
    assert (new.holds, old.holds) == (True, False)
    assert [m.kind for m in old.marks] == ["superseded"]
    assert old.marks[0].valid_at == old.believed[0].valid_to == new.believed[0].valid_from


def test_as_of_a_recorded_moment_all_of_it_is_as_it_was_believed_then(store: Store, ana: LongTerm, clock: Clock):
    before = lanes(store, ANA)
    moment = clock.now
    later(clock, 9)
    ana.write("My budget is 8000 euros.", at=clock.now)
    inferred(ana, "9000 euros")
    ana.retract(2)
    back = lanes(store, ANA, Asked(recorded=moment))
    assert {v.name: v.state for each in back.lanes for v in each.versions} == {"f1": "active", "f2": "active"}
    assert back.lanes == before.lanes
    assert back.conflicts == 0
    assert len(back.recorded_moments) > len(before.recorded_moments)


def test_as_of_a_valid_moment_it_says_what_was_true(store: Store, ana: LongTerm, clock: Clock):
    later(clock, 9)
    ana.write("My budget is 8000 euros.", at=clock.now)
    for days, value in ((1, "5000 euros"), (10, "8000 euros")):
        found = lanes(store, ANA, Asked(valid=AT + timedelta(days=days)))
        assert [v.value for v in lane(found, "budget").versions if v.holds] == [value]
    assert lanes(store, ANA, Asked(valid=AT - timedelta(days=1))).holding == 0


@pytest.mark.parametrize("days", [0.5, 9.5])
@pytest.mark.parametrize("known", [0.5, 20])
def test_both_moments_together_are_as_of(store: Store, ana: LongTerm, clock: Clock, days: float, known: float):
    later(clock, 9)
    ana.write("My budget is 8000 euros.", at=clock.now)
    later(clock, 20)
    valid, recorded = AT + timedelta(days=days), AT + timedelta(days=known)
    found = lanes(store, ANA, Asked(valid=valid, recorded=recorded))
    holding = {v.fact for each in found.lanes for v in each.versions if v.holds}
    assert holding == {f.id for f in ana.as_of(valid, recorded)}
    assert found.holding == len(holding)


def test_filters_keep_whole_lanes_in_which_something_fits(store: Store, ana: LongTerm, clock: Clock):
    later(clock, 9)
    ana.write("My budget is 8000 euros.", at=clock.now)
    assert [each.attribute for each in lanes(store, ANA, Asked(state="superseded")).lanes] == ["budget"]
    assert len(lanes(store, ANA, Asked(state="superseded")).lanes[0].versions) == 2
    assert [each.attribute for each in lanes(store, ANA, Asked(words="LYON")).lanes] == ["home city"]
    assert lanes(store, ANA, Asked(words="lyon budget")).lanes == ()
    assert lanes(store, ANA, Asked(layer="episodic")).count == 0
    assert lanes(store, ANA, Asked(state=HOLDS)).count == 2
    with pytest.raises(UnknownName, match="superceded"):
        Asked(state="superceded")


def test_pages_say_how_many_there_are(store: Store, ana: LongTerm, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lanes_view, "LANES", 1)
    one, two = lanes(store, ANA), lanes(store, ANA, Asked(first=1))
    assert (one.count, len(one.lanes), len(two.lanes)) == (2, 1, 1)
    assert one.lanes != two.lanes


def test_working_facts_of_another_conversation_stay_there(store: Store, ana: LongTerm):
    ana.write(Candidate("Booking the hotel", 0, 17, kind="task", layer="working"))
    assert lanes(store, ANA).lanes[0].versions[0].text == "Booking the hotel"
    other = lanes(store, Scope("ana", "work"))
    assert (other.working, len(other.lanes)) == (1, 2)
    with pytest.raises(NotFound):
        story(store, Scope("ana", "work"), 3)


def test_what_was_erased_is_nowhere(store: Store, ana: LongTerm):
    from memory.stores.erase import erase

    moment = store.clock()
    erase(store, "ana", facts=[2]).carry_out()
    for asked in (Asked(), Asked(recorded=moment)):
        assert [v.name for each in lanes(store, ANA, asked).lanes for v in each.versions] == ["f1"]
    assert "Lyon" not in lanes(store, ANA)._repr_html_()


def test_a_store_without_facts_has_no_lanes(store: Store):
    assert lanes(store, ANA).lanes == ()
    assert "nothing is known" in lanes(store, ANA)._repr_html_()


def test_a_view_shows_itself_and_becomes_a_table(store: Store, ana: LongTerm):
    ana.write(Candidate("<script>x</script>", 0, 18))
    found = lanes(store, ANA)
    assert "<script>x" not in found._repr_html_()
    assert list(found.to_df()["fact"]) == [row["fact"] for row in found.rows()]
    assert found.to_dict()["count"] == 3


# ── one fact ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_story_quotes_the_words_within_their_sentence(store: Store, ana: LongTerm):
    said = story(store, ANA, 2).quotes[0]
    assert (said.before, said.words + said.after) == ("", "I live in Lyon.")
    assert not said.turn


def test_a_story_names_what_taking_a_change_back_would_do_and_why_it_is_refused(
    store: Store, ana: LongTerm, clock: Clock
):
    later(clock, 9)
    ana.write("My budget is 8000 euros.", at=clock.now)
    newest, first = story(store, ANA, 1).steps
    assert [(e.kind, e.name) for e in newest.undo] == [("goes_on", "f1"), ("gone", "f3")]
    assert newest.refused == ""
    assert "undo those first" in first.refused
    assert [o.text for o in story(store, ANA, 1).others] == ["The user's budget is 8000 euros."]


def test_a_story_as_of_a_moment_ends_there(store: Store, ana: LongTerm, clock: Clock):
    moment = clock.now
    later(clock, 9)
    ana.write("My budget is 8000 euros.", at=clock.now)
    then = story(store, ANA, 1, moment)
    assert (then.row.state, len(then.steps), then.others) == ("active", 1, ())
    assert story(store, ANA, 1).row.state == "superseded"
    with pytest.raises(NotFound, match="not known yet"):
        story(store, ANA, 3, moment)


def test_what_an_act_would_do_is_what_it_does(store: Store, ana: LongTerm, clock: Clock):
    later(clock, 9)
    told = story_view.correcting(store, ANA, 1, "7000 euros")
    assert [(e.kind, e.name) for e in told] == [("gone", "f1"), ("new", "")]
    assert [e.kind for e in story_view.correcting(store, ANA, 1, "7000 euros", clock.now)] == ["ends", "new"]
    assert [(e.kind, e.name) for e in story_view.retracting(store, ANA, 2)] == [("gone", "f2")]
    assert [(e.kind, e.name) for e in story_view.ending(store, ANA, 2)] == [("ends", "f2")]
    ana.retract(2)
    assert not story(store, ANA, 2).is_believed


def test_two_values_are_compared_by_word(store: Store, ana: LongTerm, clock: Clock):
    later(clock, 9)
    ana.write("My budget is 8000 euros.", at=clock.now)
    kinds = [(p.kind, p.text) for p in story_view.compared(store, ANA, 1, 3)]
    assert ("gone", "5000") in kinds
    assert ("new", "8000") in kinds


# ── conflicts ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_conflict_shows_both_sides_and_what_each_choice_would_do(store: Store, ana: LongTerm, clock: Clock):
    later(clock, 9)
    inferred(ana, "9000 euros")
    (open_one,) = inbox(store, ANA).open
    assert [s.name for s in open_one.sides] == ["f1", "f3"]
    assert open_one.would_win == 1
    assert [(e.kind, e.name) for e in open_one.sides[0].keeping] == [("free", "f1"), ("gone", "f3")]
    assert [(e.kind, e.name) for e in open_one.sides[1].keeping] == [("ends", "f1"), ("free", "f3")]
    assert [(e.kind, e.name) for e in open_one.both] == [("free", "f1"), ("free", "f3")]


def test_a_settled_conflict_says_by_whom_and_can_be_opened_again(store: Store, ana: LongTerm, clock: Clock):
    inferred(ana, "9000 euros")
    moment = later(clock, 3)
    ana.settle(1, 1)
    found = inbox(store, ANA)
    assert not found.open
    (done,) = found.settled
    assert (done.winner, done.decided_by, done.refused) == (1, "user", "")
    assert inbox(store, ANA, moment).open[0].both == ()
    ana.undo(done.change)
    assert len(inbox(store, ANA).open) == 1


def test_a_conflict_of_another_conversations_working_facts_is_not_shown(store: Store):
    for where in ("trip", "work"):
        memory = LongTerm(store, "ana", where)
        text = f"The draft is {where}."
        for origin in ("statement", "inference"):
            memory.write(
                Candidate(f"{text} {origin}", 0, len(text), subject="user", attribute="draft", value=where + origin,
                          single=True, layer="working", origin=origin)
            )  # fmt: skip
    assert [s.text for d in inbox(store, ANA).open for s in d.sides] == [
        "The draft is trip. statement",
        "The draft is trip. inference",
    ]


# ── read once ─────────────────────────────────────────────────────────────────────────────────────────


def test_what_was_written_since_is_read_on_top_of_what_was_read(store: Store, ana: LongTerm, clock: Clock):
    first = remembered(store, "ana")
    assert remembered(store, "ana") is first
    later(clock, 9)
    ana.write("My budget is 8000 euros.", at=clock.now)
    second = remembered(store, "ana")
    assert second.k == store.knowledge("ana")
    assert second.k.facts[2] is first.k.facts[2]
    assert second.text(3) == "The user's budget is 8000 euros."


def test_after_words_were_taken_away_all_is_read_anew(store: Store, ana: LongTerm):
    from memory.stores.erase import erase

    assert any("Lyon" in words for words in remembered(store, "ana").words.values())
    erase(store, "ana", facts=[2]).carry_out()
    assert remembered(store, "ana").k == store.knowledge("ana")
    assert not any("Lyon" in words for words in remembered(store, "ana").words.values())


def test_a_user_without_facts_has_none(store: Store, ana: LongTerm):
    assert remembered(store, "ben").k.facts == {}
    assert remembered(store, "ana").k.facts
