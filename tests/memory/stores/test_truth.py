"""The log, the words, the fold: what goes in comes out, at every version, for its own user only."""

import sqlite3
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_by_hand import START, Hand, open_hand

from memory.errors import NotFound, StaleAppend, StoreDamaged, StoreError, StoreTooNew
from memory.events import ConversationBranched, StepFinished, TurnMarked, decode, encode
from memory.scope import Scope
from memory.state import fold
from memory.stores import folds as folds_module
from memory.stores.sql import Store
from memory.stores.verify import folded, verify, words_of

LIVE = Scope("ana", "trip")


def repr_short(words: str) -> str:
    return ascii(words[:12])


def altered(store: Store, sql: str, *values: object) -> None:
    """Change the truth behind the store's back."""
    with sqlite3.connect(store.file) as connection:
        connection.execute(sql, values)
    connection.close()


def test_what_was_committed_comes_back_equal(store: Store, hand: Hand):
    hand.start()
    hand.receive("a message")
    hand.add(StepFinished({"plan": 1.25}))
    committed = hand.commit()
    again = store.events(LIVE)
    assert again[-1:] == committed
    assert [e.version for e in again] == [1, 2, 3, 4]
    assert [e.seq for e in again] == sorted(e.seq for e in again)


def test_live_state_equals_the_fold_of_the_log(store: Store, hand: Hand):
    hand.talk(40)
    assert store.state(LIVE) == hand.state == fold(store.events(LIVE))


def test_unknown_fields_survive(store: Store, hand: Hand):
    hand.start()
    altered(store, "UPDATE event SET body = json_set(body, '$.mood', 'glad') WHERE version = 1")
    event = store.events(LIVE)[0]
    assert event.extra == {"mood": "glad"}
    assert decode(event.kind, encode(event.body, event.extra))[1] == {"mood": "glad"}


@pytest.mark.parametrize("change", ["kind = 'DreamDreamt'", "kind_version = 99"])
def test_a_record_of_a_newer_program_is_refused(store: Store, hand: Hand, change: str):
    hand.start()
    altered(store, f"UPDATE event SET {change} WHERE version = 1")
    with pytest.raises(StoreTooNew, match="update"):
        store.events(LIVE)
    assert not verify(store).ok


def test_a_record_that_cannot_be_read_is_named(store: Store, hand: Hand):
    hand.start()
    altered(store, "UPDATE event SET body = '{\"turn\":' WHERE version = 1")
    with pytest.raises(StoreDamaged, match="ConversationStarted"):
        store.state(LIVE, 1)


def test_an_append_after_another_is_refused_and_writes_nothing(store: Store, hand: Hand):
    hand.talk(3)
    late = open_hand(store, LIVE)
    hand.talk(1)
    before = store.last_seq()
    late.add(TurnMarked(1, important=True, by="user"))
    with pytest.raises(StaleAppend, match="is at version"):
        late.commit()
    assert store.last_seq() == before
    late.refresh()
    late.add(TurnMarked(1, important=True, by="user"))
    late.commit()


def test_words_of_a_refused_append_are_not_written_with_the_next(store: Store, hand: Hand):
    hand.start()
    late = open_hand(store, LIVE)
    hand.talk(1)
    with pytest.raises(StaleAppend):
        late.receive("these words were never acknowledged")
    late.refresh()
    late.step("but these were")
    assert "these words were never acknowledged" not in store.words(LIVE).values()
    assert "but these were" in store.words(LIVE).values()


def test_words_written_twice_get_one_id_and_said_twice_get_two(hand: Hand):
    journal = hand.journal
    assert journal.write("the same") == journal.write("the same")
    assert journal.said("the same") != journal.said("the same")


@pytest.mark.parametrize(
    "words",
    ["nul \0 inside", "\u202eright to left\u202c", "x" * 1_000_000, "今天玩成语接龙 🙂", "\r\n\t"],
    ids=repr_short,
)
def test_hostile_words_come_back_unchanged(store: Store, hand: Hand, words: str):
    hand.start()
    hand.receive(words)
    assert store.words(LIVE, [hand.state.pages[1].turns[0].text]) == {hand.state.pages[1].turns[0].text: words}
    assert open_hand(store, LIVE).journal.words(hand.state.pages[1].turns[0].text) == words
    assert store.sql("SELECT text FROM turns").rows == [(words,)]


def test_half_a_surrogate_is_stored_as_a_replacement(store: Store, hand: Hand):
    hand.start()
    hand.receive("broken \ud83d half")
    assert "broken \ufffd half" in store.words(LIVE).values()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_state_at_a_version_is_the_fold_of_the_log_so_far(long_talk: Store, data: st.DataObject):
    scope = data.draw(st.sampled_from([s.scope for s in long_talk.streams()]))
    events = long_talk.events(scope)
    version = data.draw(st.integers(0, len(events)))
    assert long_talk.state(scope, version) == fold(events[:version])
    assert long_talk.events(scope, upto=version) == events[:version]


@pytest.fixture(scope="module")
def long_talk(tmp_path_factory: pytest.TempPathFactory):
    """A run with several snapshots, a branch of it, and a branch of that."""
    before = folds_module.SNAPSHOT_STEPS
    folds_module.SNAPSHOT_STEPS = 10
    with Store.open(tmp_path_factory.mktemp("long") / "store") as store:
        open_hand(store, LIVE).talk(35)
        branch = Hand(store.open_stream(LIVE.at("fork"), store.require(LIVE), "what if"))
        branch.talk(13)
        Hand(store.open_stream(LIVE.at("fork-2"), store.require(LIVE.at("fork")), "what else")).talk(12)
        open_hand(store, LIVE).talk(5)
        yield store
    folds_module.SNAPSHOT_STEPS = before


def test_a_branch_goes_on_from_its_parent_and_leaves_it_alone(long_talk: Store):
    parent, branch = long_talk.events(LIVE), long_talk.events(LIVE.at("fork"))
    begin = next(e for e in branch if isinstance(e.body, ConversationBranched))
    assert branch[: begin.version - 1] == parent[: begin.version - 1]
    assert begin.body.at_version == begin.version - 1
    assert not any(isinstance(e.body, ConversationBranched) for e in parent)
    assert verify(long_talk).ok
    assert verify(long_talk).snapshots >= 4 + 1 + 1


def test_a_branch_stays_within_its_conversation(store: Store, hand: Hand):
    hand.talk(1)
    with pytest.raises(StoreError, match="stays within"):
        store.open_stream(Scope("bo", "trip"), store.require(LIVE))
    assert store.streams("bo") == []


def test_the_version_at_a_turn_ends_its_step(long_talk: Store):
    version = long_talk.version_at(LIVE, 7)
    assert fold(long_talk.events(LIVE, upto=version)).turn == 8
    assert isinstance(long_talk.events(LIVE, upto=version)[-1].body, StepFinished | TurnMarked)
    assert long_talk.version_at(LIVE.at("fork-2"), 7) == version
    with pytest.raises(NotFound, match="turns go from 1"):
        long_talk.version_at(LIVE, 9_999)


def test_the_log_decides_the_order_when_the_clock_is_set_back(folder):
    times = iter(START - timedelta(hours=n) for n in range(10_000))
    with Store.open(folder, clock=lambda: next(times)) as store:
        open_hand(store, LIVE).talk(5)
        events = store.events(LIVE)
        assert [e.version for e in events] == list(range(1, len(events) + 1))
        assert events[0].at > events[-1].at
        assert verify(store).ok


def test_two_users_never_see_each_others_words(store: Store):
    users = {"ana": "CANARY-ANA-7319", "bo": "CANARY-BO-5520"}
    for conversation in ("trip", "other"):  # the same names, so that only the user tells them apart
        for user, canary in users.items():
            open_hand(store, Scope(user, conversation)).talk(12, about=canary)
    everything = list(range(1, 2_000))
    for (user, own), (_, foreign) in [tuple(users.items()), tuple(users.items())[::-1]]:
        scope = Scope(user, "trip")
        hand = open_hand(store, scope)
        seen = [
            store.words(scope),
            store.words(scope, everything),
            store.events(scope),
            store.streams(user),
            store.state(scope),
            [hand.journal.words(i) for e in store.events(scope) for i in words_of(e.body) if i],
            store.sql('SELECT * FROM turns WHERE "user" = ?', [user]).rows,
        ]
        assert own in repr(seen)
        assert foreign not in repr(seen)
    mine = set(store.words(Scope("bo", "trip")))
    with pytest.raises(NotFound):
        open_hand(store, Scope("ana", "trip")).journal.words(min(mine))


def test_a_run_that_does_not_exist_names_those_that_do(store: Store, hand: Hand):
    hand.start()
    with pytest.raises(NotFound, match="its runs are live"):
        store.require(LIVE.at("replay-1"))
    with pytest.raises(NotFound, match="known: trip"):
        store.require(Scope("ana", "nowhere"))


def test_an_empty_store_answers_everything(store: Store):
    assert store.streams() == []
    assert store.last_seq() == 0
    assert store.check() == []
    assert verify(store).ok
    assert store.sql("SELECT * FROM turns").rows == []
    assert "0 events" in repr(store)


def test_words_of_knows_every_kind_that_mentions_words(store: Store, hand: Hand):
    hand.talk(60)
    mentioned = {i for e in store.events(LIVE) for i in words_of(e.body)} - {0}
    assert mentioned == set(store.words(LIVE))


def test_folded_names_the_record_that_speaks_of_what_never_was(hand: Hand, store: Store):
    hand.talk(8)
    events = [e for e in store.events(LIVE) if not e.kind.startswith("Message")]
    with pytest.raises(StoreDamaged, match="never was"):
        list(folded(events))
