import copy

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import StoreDamaged
from memory.events import Event, ModelCalled, PromptAssembled, SettingsChanged
from memory.pages import Page, PageTable
from memory.settings import Settings
from memory.state import State, apply, dump, fold, load
from tests.memory.conftest import START, Step, driven, pager_of, rebuilt, steps

TINY = Settings.of(window_tokens=1_600, reply_tokens=100, boundary="fixed_4")
CHATTER = [Step(40, answer=60, recall=(5 + n % 3,) if n % 3 == 0 else (), marked=n == 5) for n in range(20)]


@hypothesis.settings(max_examples=25)
@given(each=steps(most_tokens=1_000), guest_steps=st.integers(1, 3))
def test_a_state_rebuilt_from_the_log_equals_the_live_one(each, guest_steps):
    pager = driven(each, TINY.but(guest_steps=guest_steps))
    assert rebuilt(pager) == pager.state


@hypothesis.settings(max_examples=15)
@given(each=steps(most_tokens=1_000, most=5))
def test_a_state_is_the_same_after_it_was_written_down(each):
    state = driven(each, TINY).state
    assert load(dump(state)) == state
    assert dump(load(dump(state))) == dump(state)


def test_every_event_leaves_the_state_before_it_as_it_was():
    events = driven(CHATTER, TINY).journal.events
    state = State()
    for event in events:
        before, kept = state, copy.deepcopy(state)
        state = apply(state, event)
        assert before == kept
        assert state.version == before.version + 1


def test_a_snapshot_anywhere_goes_on_as_the_whole_log_does():
    events = driven(CHATTER, TINY).journal.events
    whole = fold(events)
    for cut in range(0, len(events), 7):
        assert fold(events[cut:], load(dump(fold(events[:cut])))) == whole


def test_the_invariants_of_every_state_on_the_way():
    state = State()
    for event in driven(CHATTER, TINY).journal.events:
        state = apply(state, event)
        assert list(state.resident) == sorted(set(state.resident))
        assert set(state.resident) <= set(state.pages)
        assert list(state.pages) == list(range(1, len(state.pages) + 1))
        assert all(p.closed for p in state.evicted)
        assert all(p.bookmark for p in state.evicted)
        assert all(p.tokens == sum(t.tokens for t in p.turns) for p in state.pages.values())
        assert all(p.number in state.resident for p in state.pages.values() if not p.closed)


def test_the_counts_add_up():
    pager = driven(CHATTER, TINY)
    kinds = [event.kind for event in pager.journal.events]
    counts = pager.state.counts
    assert counts.evictions == kinds.count("PageEvicted") > 0
    assert counts.faults == kinds.count("PagePagedIn") > 0
    assert counts.guests_used + counts.guests_unused == kinds.count("GuestLeft") > 0
    assert counts.recalls == kinds.count("PagesRecalled")


def test_a_damaged_snapshot_is_told():
    with pytest.raises(StoreDamaged, match="a snapshot cannot be read"):
        load(b'{"version": 1}')


def test_a_setting_of_a_newer_program_is_passed_over():
    newer = SettingsChanged({**Settings.of(page_turns=7).to_dict(), "mood": "calm"}, "0")
    assert apply(State(), Event(0, 1, 0, START, newer)).settings == Settings.of(page_turns=7)
    raw = dump(State()).replace(b'"llm"', b'"mood":"calm","llm"')
    assert load(raw) == State()


def test_a_mark_that_is_taken_back_is_gone_also_where_the_message_came_with_it():
    pager = driven([Step(20, marked=True), *CHATTER[:3]], TINY)
    assert pager.state.pages[1].turns[0].important
    pager.mark(1, important=False)
    pager.commit()
    assert not pager.state.pages[1].turns[0].important
    assert pager.state.marked == ()
    assert pager.state.pages[1].bookmark.weight == 1.0
    assert rebuilt(pager) == pager.state


# ── what the model counts ─────────────────────────────────────────────────────────────────────────────


def called(state: State, estimate: int, real: int) -> State:
    state = apply(state, Event(0, 1, 1, START, PromptAssembled(0, (), {}, estimate, "")))
    return apply(state, Event(0, 2, 1, START, ModelCalled(0, "m", real, 5, None, 1.0, "stop", 0)))


def test_a_full_prompt_teaches_the_count_at_once_and_a_small_one_little():
    state = State(settings=Settings.of(window_tokens=1_000))
    assert called(state, 900, 1_035).count_ratio == pytest.approx(1.135)
    assert called(state, 100, 115).count_ratio == pytest.approx(1.045)


@given(st.lists(st.tuples(st.integers(1, 10_000), st.integers(0, 100_000)), max_size=20))
def test_the_ratio_stays_within_its_bounds_whatever_a_provider_reports(calls):
    state = State(settings=Settings.of(window_tokens=1_000))
    for estimate, real in calls:
        state = called(state, estimate, real)
        assert 0.5 <= state.count_ratio <= 2.0


def test_a_model_that_reports_nothing_teaches_nothing():
    assert called(State(), 100, 0).count_ratio == 1.0


def test_page_of_knows_no_turn_that_was_not_said():
    state = driven(CHATTER[:2], TINY).state
    assert state.page_of(0) is None
    assert state.page_of(99) is None
    assert State().page_of(1) is None
    assert pager_of(TINY).state.pages_of(1) == []


# ── the page table ────────────────────────────────────────────────────────────────────────────────────


@given(st.lists(st.integers(1, 100), max_size=60), st.integers(0, 100))
def test_a_page_table_is_a_dict_of_pages_that_is_never_changed(puts: list[int], length: int):
    table, known = PageTable.of(Page(n) for n in range(1, length + 1)), {n: Page(n) for n in range(1, length + 1)}
    for at, number in enumerate(puts):
        number = min(number, len(known) + 1)
        before, held = table, dict(known)
        table = table.put(Page(number, tokens=at + 1))
        known[number] = Page(number, tokens=at + 1)
        assert before == PageTable.of(held.values()) != table
    assert table.values() == list(known.values()) == table.those(known)
    assert list(table) == list(known)
    assert len(table) == len(known)
    assert all(table[n] == table.get(n) == known[n] for n in known)
    assert 0 not in table
    assert table.get(len(known) + 1) is None


def test_a_page_table_has_no_gaps():
    with pytest.raises(ValueError, match="page 3 cannot follow page 1"):
        PageTable.of([Page(1), Page(3)])
    with pytest.raises(KeyError):
        PageTable.of([Page(1)])[2]
