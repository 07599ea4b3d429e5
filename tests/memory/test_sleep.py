"""Sleep time over a store: previewed, applied by row, undone, and nothing written meanwhile is lost."""

import json
import threading
from datetime import timedelta

import pytest

from memory import Engine
from memory.consolidation import Rules
from memory.errors import ModelTimeout, NotFound, StaleFact
from memory.events import FactsPlaced, PlacedFact
from memory.fact_events import TextRefused
from memory.facts import Candidate
from memory.longterm import LongTerm
from memory.scope import Scope
from memory.sleep import Sleep
from memory.stores.care import begin_wipe
from memory.stores.erase import erase
from memory.stores.sql import Store
from tests.memory.conftest import START


class Clock:
    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now


@pytest.fixture
def time():
    return Clock()


@pytest.fixture
def store(tmp_path, time):
    with Store.open(tmp_path / "store", clock=time) as opened:
        yield opened


@pytest.fixture
def memory(store, time):
    return LongTerm.open(store, user="ana", conversation="trip", clock=time)


def said(memory, *texts, **more):
    for text in texts:
        memory.write(Candidate(text, 0, len(text), **{"layer": "episodic", **more}))


def words(memory):
    return {memory.text(fact) for fact in memory.facts()}


WALKS = ["Ana walked to the old mill and the bridge by the river", "Ana walked to the old mill quickly by the river"]
FILMS = ["Ana saw Alien in room 12", "Ana watched Brazil with Mia", "A ticket for Casablanca was 9 euros"]


def answering(text):
    return lambda prompt, shape: json.dumps({"text": text}, ensure_ascii=False)


# ── previewed, applied, undone ────────────────────────────────────────────────────────────────────────


def test_a_preview_writes_nothing(memory):
    said(memory, *WALKS)
    before = memory.knowledge.version
    assert [row.kind for row in Sleep(memory).preview().rows] == ["merge"]
    assert memory.knowledge.version == before


def test_rows_are_applied_one_by_one_and_undone(memory):
    said(memory, *WALKS)
    said(memory, *FILMS, importance=0.2)
    sleep = Sleep(memory, Rules(capacity=3))
    preview = sleep.preview()
    before = words(memory)
    merge = next(row for row in preview.rows if row.kind == "merge")
    done = sleep.apply(preview, [merge.number])
    assert len(done.changes) == 1
    assert words(memory) == {merge.after[0], *FILMS}
    sleep.undo(done.changes[0])
    assert words(memory) == before
    assert [c.number for c in sleep.changes()] == list(done.changes)


def test_a_row_that_is_not_there_is_named(memory):
    with pytest.raises(NotFound, match="no row 4; this preview has 0"):
        Sleep(memory).apply(Sleep(memory).preview(), [4])


def test_what_was_applied_is_in_the_log_and_folds_to_the_same(memory, store):
    said(memory, *WALKS)
    said(memory, *FILMS)
    sleep = Sleep(memory, Rules(capacity=2))
    sleep.apply(sleep.preview())
    assert store.knowledge("ana") == memory.knowledge
    assert memory.knowledge.slept.applied
    with Store.open(store.path, clock=store.clock) as other:
        assert other.knowledge("ana") == memory.knowledge


# ── written meanwhile ─────────────────────────────────────────────────────────────────────────────────


def test_what_is_written_while_a_slow_model_thinks_stays(memory, store, time):
    """odysseus #1940: the snapshot of before the call was written back."""
    said(memory, *WALKS)
    asked, go_on = threading.Event(), threading.Event()

    def slow(prompt, shape):
        asked.set()
        assert go_on.wait(20)
        return json.dumps({"text": "Ana walked quickly to the old mill and the bridge by the river"})

    made = []
    sleeping = Sleep(LongTerm.open(store, user="ana", clock=time), ask=slow, by="slow-model")
    thread = threading.Thread(target=lambda: made.append(sleeping.apply(sleeping.preview())), daemon=False)
    thread.start()
    assert asked.wait(20)
    said(memory, "Ana bought a tent")
    memory.mark(1, 0.9)
    go_on.set()
    thread.join(30)
    [done] = made
    assert "Ana bought a tent" in words(memory)
    assert set(WALKS) <= words(memory)
    assert memory.knowledge.facts[1].importance == 0.9
    assert [(row.kind, row.why) for row in done.skipped] == [("merge", "f1 was changed meanwhile by change 4 (mark)")]


def test_a_skipped_row_is_told_by_the_next_preview(memory):
    said(memory, *WALKS)
    sleep = Sleep(memory)
    preview = sleep.preview()
    memory.mark(2, 0.9)
    assert sleep.apply(preview).changes == ()
    again = sleep.preview()
    assert [row.facts for row in again.left] == [preview.rows[0].facts]
    assert [row.kind for row in again.rows] == ["merge"]


def test_other_rows_are_applied_all_the_same(memory):
    said(memory, *WALKS)
    said(memory, *FILMS, importance=0.2)
    sleep = Sleep(memory, Rules(capacity=3))
    preview = sleep.preview()
    memory.mark(2, 0.9)
    done = sleep.apply(preview)
    assert [row.kind for row in done.skipped] == ["merge"]
    assert done.changes


def test_two_at_once_apply_a_row_once(memory, store, time):
    said(memory, *WALKS)
    one, two = Sleep(memory), Sleep(LongTerm.open(store, user="ana", clock=time))
    first, second = one.preview(), two.preview()
    assert len(one.apply(first).changes) == 1
    assert two.apply(second).changes == ()


def test_a_preview_from_before_an_erasure_is_refused(memory, store):
    said(memory, *WALKS)
    sleep = Sleep(memory)
    preview = sleep.preview()
    with store.write() as connection:
        begin_wipe(connection)
    with pytest.raises(StaleFact, match="words were erased"):
        sleep.apply(preview)


# ── by a model ────────────────────────────────────────────────────────────────────────────────────────


MADE_UP = ["用户希望被叫做诺诺", "Ana wants to be called Nono", "Ana never walked to the mill"]


@pytest.mark.parametrize("made_up", MADE_UP)
def test_what_a_model_made_up_is_quarantined(memory, made_up):
    """openhanako #2465: a batch consolidation invented a name, which was then believed for ever."""
    said(memory, *WALKS)
    sleep = Sleep(memory, ask=answering(made_up), by="a-model")
    preview = sleep.preview()
    assert [(row.kind, row.by) for row in preview.rows] == [("quarantine", "a-model")]
    sleep.apply(preview)
    assert words(memory) == set(WALKS)
    [kept] = [f for f in memory.facts(all_states=True) if f.state == "quarantined"]
    assert memory.text(kept) == made_up
    assert kept not in memory.query(made_up).found


def test_an_answer_that_cannot_be_read_leaves_the_rule_s_row_and_a_note(memory):
    said(memory, *WALKS)
    preview = Sleep(memory, ask=lambda prompt, shape: "hm", by="a-model").preview()
    assert [(row.kind, row.by) for row in preview.rows] == [("merge", "rules")]
    assert preview.notes == ("row 1: the model's answer could not be used: there is no JSON object",)


def test_a_model_that_cannot_be_reached_is_an_error_and_nothing_is_written(memory):
    said(memory, *WALKS)

    def unreachable(prompt, shape):
        raise ModelTimeout("no answer in 60 s")

    before = memory.knowledge.version
    with pytest.raises(ModelTimeout):
        Sleep(memory, ask=unreachable).preview()
    assert memory.knowledge.version == before


# ── use ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_fact_is_used_where_a_message_asked_for_it_not_where_it_came_unasked(memory, store, time):
    said(memory, "Ana saw Alien", "Ana saw Brazil", "Ana saw Casablanca")
    with Engine.open(store, user="ana", conversation="trip") as engine:
        left_out = PlacedFact(3, "match", stage="budget", dropped="no room")
        engine.pager.add(FactsPlaced(1, (), 0, (PlacedFact(1, "match"), PlacedFact(2, "hot"), left_out)))
        engine.pager.commit()
    assert {n: len(at) for n, at in Sleep(memory).uses().items()} == {1: 1}


def test_use_spreads_along_the_graph_to_what_is_of_the_same_topic(memory, store, time):
    said(memory, "Ana collects old maps of Lisbon", "The old maps of Lisbon hang in Ana's study", "Olga plays Chopin")
    with Engine.open(store, user="ana", conversation="trip", remember="off") as engine:
        for n in range(1, 40):
            time.now += timedelta(minutes=n)
            engine.pager.add(FactsPlaced(1, (), 0, (PlacedFact(1, "match"),)))
            engine.pager.commit()
    rows = {row.facts[0]: row for row in Sleep(memory, Rules(least_step=0.001)).preview().rows if row.kind == "weigh"}
    assert rows[1].importance > rows[2].importance > 0.5
    assert "neighbours" in rows[2].why
    assert 3 not in rows or rows[3].importance < 0.5


# ── summaries ─────────────────────────────────────────────────────────────────────────────────────────

TALK = [
    "We are planning a trip to Lisbon in June.",
    "The budget for Lisbon is 8,000 euros.",
    "My sister Mia is allergic to peanuts.",
    "We decided on the hotel near the river.",
    "The flight leaves on 3 June at 9:30.",
    "Mia wants to see the tile museum.",
    "My piano teacher Olga plays Chopin on Mondays.",
    "The old piano needs tuning, 120 euros.",
    "Olga moved the lesson to Tuesday.",
    "I practise a Chopin nocturne.",
    "Thanks, that is all.",
]


@pytest.fixture
def talked(store, time):
    """Twenty-two turns."""
    with Engine.open(store, user="ana", conversation="trip", remember="off") as engine:
        for message in TALK:
            time.now += timedelta(minutes=3)
            engine.say(message)
    return store


def test_every_ten_turns_have_a_summary_and_stand_in_a_chapter(talked, memory):
    sleep = Sleep(memory)
    made = sleep.summarise()
    assert [(s.first, s.last) for s in made if s.level == 0] == [(1, 10), (11, 20)]
    chapters = sleep.summaries(level=1)
    assert [n for chapter in chapters for n in chapter.of] == [1, 2]
    assert "8,000" in memory.words(made[0].text)
    assert sleep.summarise() == []


def test_a_conversation_that_was_imported_is_summarised_and_found_as_one_that_was_held_here(tmp_path, demo_copy):
    with Store.open(demo_copy(tmp_path / "demo")) as store:
        move = Sleep(LongTerm.open(store, user="ana", conversation="house-move"))
        written = move.summarise()
        assert min(s.first for s in written if not s.level) == 1
        assert move.find("the budget for the move")[0].pages
        assert "page" in move.memory.graph.counts()


def test_a_chapter_that_grew_gives_way_to_a_longer_one(talked, memory, time):
    sleep = Sleep(memory)
    sleep.summarise()
    with Engine.open(talked, user="ana", conversation="trip") as engine:
        for _ in range(4):
            engine.say("Olga and the Chopin nocturne on the old piano, and Mia in Lisbon with the hotel by the river.")
    sleep.summarise()
    standing = [n for chapter in sleep.summaries(level=1) for n in chapter.of]
    assert standing == [s.id for s in sleep.summaries(level=0)]
    assert len(standing) == 3
    assert talked.knowledge("ana") == memory.knowledge


def test_a_question_finds_a_summary_and_its_pages(talked, memory):
    sleep = Sleep(memory)
    sleep.summarise()
    [found, *_] = sleep.find("What is the budget for Lisbon?")
    state = talked.state(Scope("ana", "trip"))
    turns = {t.number for page in found.pages for t in state.pages[page].turns}
    assert 3 in turns
    assert sleep.find("quantum chromodynamics") == []


def test_a_model_s_summary_is_taken_where_its_turns_say_so(talked, memory):
    text = "ana plans a trip to Lisbon with Mia, budget 8,000 euros."
    asked = []

    def ask(prompt, shape):
        asked.append(prompt)
        return json.dumps({"text": text if "8,000" in prompt else "Olga plays Chopin on the old piano."})

    made = Sleep(memory, ask=ask, by="a-model").summarise()
    assert {memory.words(s.text) for s in made if s.by == "a-model"} == {text, "Olga plays Chopin on the old piano."}
    assert len(asked) == 2


LIES = ["Mia is not allergic to peanuts.", "ana wants to be called Nono.", "The budget is 9,000 euros."]


@pytest.mark.parametrize("lie", LIES)
def test_a_model_s_summary_that_its_turns_do_not_bear_out_is_refused_on_the_record(talked, memory, store, lie):
    sleep = Sleep(memory, ask=answering(lie), by="a-model")
    made = sleep.summarise()
    assert {s.by for s in made} == {"rules"}
    refused = [e.body for e in store.events(memory.scope, kinds=[TextRefused.__name__])]
    assert [memory.words(r.raw) for r in refused] == [lie] * 2
    assert all(r.reason == "its turns do not bear it out" and r.turns for r in refused)


def test_a_summary_whose_words_were_erased_is_made_anew_of_what_is_left(talked, memory):
    sleep = Sleep(memory)
    sleep.summarise()
    before = sleep.summaries(level=0)
    assert "8,000" in memory.words(before[0].text)
    erase(talked, "ana", "8,000").carry_out()
    assert before[0].id not in {s.id for s in sleep.summaries()}
    sleep.summarise()
    after = sleep.summaries(level=0)
    assert [(s.first, s.last) for s in after] == [(1, 10), (11, 20)]
    assert after[1] == before[1]
    assert "8,000" not in "".join(memory.words(s.text) for s in sleep.summaries())
    assert sorted(n for chapter in sleep.summaries(level=1) for n in chapter.of) == sorted(s.id for s in after)
    assert talked.knowledge("ana") == memory.knowledge


def test_nobody_else_s_conversation_is_summarised(talked, store, time):
    other = LongTerm.open(store, user="bob", conversation="trip", clock=time)
    with pytest.raises(NotFound):
        Sleep(other).summarise()


def test_nothing_is_summarised_while_remembering_is_off(talked, memory):
    memory.switch(on=False)
    assert Sleep(memory).summarise() == []


# ── dead bookmarks ────────────────────────────────────────────────────────────────────────────────────


def test_a_bookmark_of_no_use_is_pruned_and_given_back(store, memory, time):
    with Engine.open(
        store, user="ana", conversation="trip", window_tokens=1200, reply_tokens=100, boundary="fixed_4",
        remember="off",
    ) as engine:  # fmt: skip
        for n in range(40):
            engine.say(f"{TALK[n % 10]} This is message number {n} of a long afternoon, and there is more to come.")
        before = {page.number: page.bookmark for page in engine.state.pages.values()}
    sleep = Sleep(memory, Rules(bookmark_steps=10))
    rows = [row for row in sleep.preview().rows if row.kind == "prune"]
    assert rows
    preview = sleep.preview()
    done = sleep.apply(preview, [rows[0].number])
    page = rows[0].pruned.page
    state = store.state(Scope("ana", "trip"))
    assert state.pages[page].bookmark.keywords == 0
    assert store.journal(Scope("ana", "trip")).words(state.pages[page].bookmark.stub) == f"[p{page}]"
    assert page not in {row.pruned.page for row in sleep.preview().rows if row.pruned}
    memory.undo(done.changes[0])
    assert store.state(Scope("ana", "trip")).pages[page].bookmark == before[page]
