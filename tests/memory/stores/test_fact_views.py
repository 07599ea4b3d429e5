"""What SQL says of long-term memory is what the fold says."""

import random
from contextlib import suppress

import pytest

from memory.errors import EngineError
from memory.facts import BEGINNING, FOREVER, Candidate
from memory.longterm import LongTerm
from memory.stores.erase import erase
from memory.stores.sql import Store

SAID = [
    "My budget is 5000 euros.",
    "My budget is 8000 euros.",
    "I live in Lyon.",
    "I moved to Paris in 2020.",
    "I like tea.",
    "I don't like tea any more.",
    "Nice weather today!",
    "I am allergic to peanuts.",
]


@pytest.fixture
def memory(store: Store) -> LongTerm:
    """A life: things said, said again, corrected, marked, forgotten, undone, erased; a conflict; a working fact."""
    memory, dice = LongTerm(store, "ana", "trip"), random.Random(3)
    LongTerm(store, "bo").write("I am allergic to peanuts.")
    memory.write(Candidate("Booking the hotel", 0, 17, kind="task", layer="working"))
    for _ in range(40):
        numbers = [f.id for f in memory.facts()] or [1]
        dice.choice([
            lambda: memory.write(dice.choice(SAID)),
            lambda: memory.write(dice.choice(SAID)),
            lambda: memory.update(dice.choice(numbers), f"{dice.randrange(9)}000 euros"),  # noqa: B023 - called at once
            lambda: memory.mark(dice.choice(numbers), dice.random()),  # noqa: B023
            lambda: memory.forget(dice.choice(numbers)),  # noqa: B023
            lambda: undo(memory, dice),
        ])()  # fmt: skip
    erase(store, "ana", "tea").carry_out()
    memory.write("I live in Rome.")
    return memory


def undo(memory: LongTerm, dice: random.Random) -> None:
    with suppress(EngineError):  # something builds on it
        memory.undo(dice.choice(list(memory.knowledge.changes)))


def known(moment, beginning=BEGINNING, end=FOREVER):
    return None if moment in (beginning, end) else moment


def test_a_fact_stands_there_as_it_is_believed_now(store: Store, memory: LongTerm):
    rows = store.sql("SELECT fact, text, state, layer, conversation, importance, believed, sources, negated FROM facts "
                     "WHERE \"user\" = 'ana' ORDER BY fact").rows  # fmt: skip
    assert rows == [
        (f.id, memory.words(f.text), f.state, f.layer, f.conversation or None, f.importance, bool(f.believed),
         len(f.sources), f.negated)
        for f in memory.knowledge.facts.values()
    ]  # fmt: skip


def test_every_belief_has_its_row_in_both_times(store: Store, memory: LongTerm):
    rows = store.sql("SELECT fact, valid_from, valid_to, recorded_from, recorded_to FROM fact_versions "
                     "WHERE \"user\" = 'ana'").rows  # fmt: skip
    expected = [
        (f.id, known(b.valid_from), known(b.valid_to), b.recorded_from, known(b.recorded_to))
        for f in memory.knowledge.facts.values()
        for b in f.beliefs
    ]
    # What began and ended to be believed in one and the same moment is no belief to the fold.
    assert set(expected) == {row for row in rows if row[3] != row[4]}


def test_changes_and_who_took_them_back(store: Store, memory: LongTerm):
    rows = store.sql("SELECT change, cause, decided_by, why, undone_by FROM changes "
                     "WHERE \"user\" = 'ana' ORDER BY change").rows  # fmt: skip
    changes = memory.knowledge.changes.values()
    assert rows == [(c.number, c.cause, c.decided_by, c.why or None, c.undone_by or None) for c in changes]


def test_the_ledger_has_a_row_for_everything_that_was_looked_at(store: Store, memory: LongTerm):
    rows = store.sql("SELECT verdict, reason, fact FROM ledger WHERE \"user\" = 'ana' ORDER BY version").rows
    told = [(o.verdict, o.reason, o.fact or None) for r in memory.ledger() for o in r.outcomes]
    assert sorted(rows, key=repr) == sorted(told, key=repr)
    assert ("none", "no fact", None) in [(v, r, f) for v, r, f in rows] or "small talk" in repr(rows)


def test_a_users_rows_are_theirs(store: Store, memory: LongTerm):
    (text,) = store.sql("SELECT text FROM facts WHERE \"user\" = 'bo'").rows[0]
    assert text.startswith("The user is allergic to peanuts")
    assert {u for (u,) in store.sql('SELECT DISTINCT "user" FROM facts').rows} == {"ana", "bo"}


def test_what_was_erased_has_no_words_there_either(store: Store, memory: LongTerm):
    texts = [t for (t,) in store.sql("SELECT text FROM facts WHERE \"user\" = 'ana' AND state = 'erased'").rows]
    assert texts
    assert all(set(t) == {"_"} for t in texts)
