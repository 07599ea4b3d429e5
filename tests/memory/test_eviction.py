from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count, pairwise

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import UnknownName
from memory.events import PageEvicted
from memory.eviction import (
    EVICTION,
    Score,
    belady,
    fifo,
    importance,
    lfu,
    lru,
    named,
    promising,
    ranked,
    recency_frequency,
    relevance,
)
from memory.pager import Said
from memory.pages import HALF_LIFE_STEPS, Page
from memory.settings import Settings
from memory.window import fill, pinned
from tests.memory.conftest import Step, drive, driven, pager_of, steps, text_of, turn


def faults(demands: Sequence[int], frames: int, score: Score) -> int:
    """Pages of one size under demand paging, one reference a step: the textbook's setting."""
    resident: dict[int, Page] = {}
    found = 0
    for step, number in enumerate(demands, 1):
        page = resident.get(number)
        if page is None:
            found += 1
            if len(resident) == frames:
                del resident[ranked(list(resident.values()), score, step)[0][1].number]
            page = Page(number, (turn(number),), loaded_at=step)
        resident[number] = replace(page, used_at=step, hits=page.hits + 1, heat=page.heat_at(step) + 1)
    return found


def oracle(demands: Sequence[int]) -> Score:
    asked: dict[int, list[int]] = {}
    for step, number in enumerate(demands, 1):
        asked.setdefault(number, []).append(step)
    return belady(asked)


# Silberschatz, Galvin and Gagne, Operating System Concepts, 10.4: three frames.
TEXTBOOK = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1]


@pytest.mark.parametrize(("score", "expected"), [(fifo, 15), (lru, 12), (oracle(TEXTBOOK), 9)])
def test_the_textbook_reference_string(score, expected):
    assert faults(TEXTBOOK, 3, score) == expected


@pytest.mark.parametrize(("frames", "expected"), [(3, 9), (4, 10)])
def test_beladys_anomaly_of_fifo(frames, expected):
    """Belady, Nelson and Shedler 1969: with a fourth frame, first-in first-out faults more."""
    assert faults([1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5], frames, fifo) == expected


def test_the_least_frequently_used_leaves_and_the_older_of_equals():
    assert faults([1, 1, 2, 3, 1, 2], 2, lfu) == 4  # 3 takes the place of 2, and 2 that of 3
    pages = [Page(2, (turn(2),), hits=1), Page(1, (turn(1),), hits=1), Page(3, (turn(3),), hits=0)]
    assert [p.number for _, p in ranked(pages, lfu, 1)] == [3, 1, 2]


def test_uses_fade_by_half_in_twenty_steps():
    page = Page(1, heat=2.0, used_at=10)
    assert recency_frequency(page, 10) == 2.0
    assert recency_frequency(page, 10 + HALF_LIFE_STEPS) == 1.0
    assert recency_frequency(page, 5) == 2.0  # never hotter than it was


def test_the_important_stays_and_among_equals_the_warmer():
    cold, warm = Page(1, importance=0.5, heat=0.1), Page(2, importance=0.5, heat=0.9)
    marked = Page(3, importance=1.0, heat=0.0)
    assert [p.number for _, p in ranked([marked, warm, cold], importance, 0)] == [1, 2, 3]


def test_what_has_nothing_to_do_with_the_message_leaves_first_and_among_equals_the_least_recently_used():
    pages = [Page(n, (turn(n),), used_at=n) for n in (1, 2, 3, 4)]
    score = lambda page, now: relevance(page, now, {1: 1.0, 3: 0.2})
    assert [p.number for _, p in ranked(pages, score, 9)] == [2, 4, 3, 1]
    assert [p.number for _, p in ranked(pages, relevance, 9)] == [1, 2, 3, 4]


def test_what_promises_nothing_leaves_midway_between_the_first_in_and_the_least_recently_used():
    pages = [Page(1, loaded_at=1, used_at=9), Page(2, loaded_at=2, used_at=4), Page(3, loaded_at=8, used_at=8)]
    assert [p.number for _, p in ranked(pages, promising, 9)] == [2, 1, 3]
    score = lambda page, now: promising(page, now, {2: 4.0, 1: 4.0})
    assert [p.number for _, p in ranked(pages, score, 9)] == [3, 2, 1]


def test_the_pager_tells_what_the_words_of_a_page_promise():
    """What somebody tells of his life outstays newer talk that says nothing."""
    pager = pager_of(Settings.of(window_tokens=1_600, reply_tokens=100, boundary="fixed_2", eviction="promising"))
    told = "I adopted a greyhound last Saturday. My sister drove me to Lisbon, and our violin teacher met us there."
    outstayed = set()
    for n in range(14):
        pager.receive(Said(told if n == 1 else f"That is quite terrific and wonderful. {'Nice! ' * 20}"))
        pager.commit()
        pager.plan("And then?")
        pager.reply(Said("Oh. " * 30, "assistant"))
        pager.settle()
        pager.commit()
        outstayed |= {page.number for page in pager.state.evicted if 2 in pager.state.resident}
    assert {1, 3} <= outstayed


def test_the_pager_tells_what_a_page_has_to_do_with_the_message():
    """By the words of its turns: the page that the message is about stays, though it is the oldest."""
    pager = pager_of(Settings.of(window_tokens=1_600, reply_tokens=100, boundary="fixed_2", eviction="relevance"))
    said = ["The zeppelin lands in Porto.", *(f"Fact {n}. {text_of(70, seed=n)}" for n in range(30))]
    for n, message in enumerate(said):
        pager.receive(Said(message))
        pager.commit()
        pager.plan(f"{message} And when does the zeppelin land?")
        pager.reply(Said(text_of(10, seed=n), "assistant"))
        pager.settle()
        pager.commit()
    assert len(pager.state.evicted) > 3
    assert 1 in pager.state.resident


@given(st.lists(st.integers(0, 6), max_size=60), st.integers(1, 5))
def test_the_oracle_never_faults_more_than_any_policy_on_pages_of_one_size(demands, frames):
    best = faults(demands, frames, oracle(demands))
    assert all(best <= faults(demands, frames, score) for score in EVICTION.values())


@given(st.lists(st.integers(0, 6), max_size=60), st.integers(1, 5))
def test_with_one_more_frame_lru_never_faults_more(demands, frames):
    """The inclusion property of stack algorithms (Mattson et al. 1970)."""
    assert faults(demands, frames + 1, lru) <= faults(demands, frames, lru)


def test_an_unknown_policy_lists_the_known_ones():
    with pytest.raises(
        UnknownName, match="no eviction policy named 'lur'; choose one of: cooperative, fifo, hyperbolic"
    ):
        named("lur")


# ── contracts: every registered policy, at work ───────────────────────────────────────────────────────

newest_first: Score = lambda page, now: -page.number
POLICIES: Mapping[str, Score] = {**EVICTION, "newest_first": newest_first, "all_equal": lambda page, now: 0.0}
CHATTER = [Step(40, answer=60, recall=(5 + n % 3,) if n % 3 == 0 else ()) for n in range(24)]


def rounds(pager) -> list[list[PageEvicted]]:
    """Evictions of one decision: what left for one cause, one after another."""
    grouped: list[list[PageEvicted]] = []
    previous = None
    for event in pager.journal.events:
        if not isinstance(event.body, PageEvicted):
            previous = previous if event.kind == "BookmarkMade" else None
            continue
        body = event.body
        if previous is None or (body.cause, body.limit_tokens) != (previous.cause, previous.limit_tokens):
            grouped.append([])
        grouped[-1].append(body)
        previous = body
    return grouped


def watched(score: Score, check: Callable) -> object:
    settings = Settings.of(window_tokens=1_600, reply_tokens=100, boundary="fixed_4")
    pager = pager_of(settings, eviction_policy=score)
    drive(pager, CHATTER, check)
    return pager


@pytest.mark.parametrize("score", POLICIES.values(), ids=POLICIES)
def test_pages_leave_down_to_the_low_watermark_or_only_pinned_ones_are_left(score):
    settings = Settings.of(window_tokens=1_600, reply_tokens=100, boundary="fixed_4")
    pager = pager_of(settings, eviction_policy=score)
    left = count()
    plan = pager.plan

    def planned(message: str = "") -> None:
        before = pager.state
        was = pager.fill.used + pager.fill.reply
        plan(message)
        now = pager.fill.used + pager.fill.reply
        if before.counts.evictions == pager.state.counts.evictions:
            return
        next(left)
        assert was > settings.high_tokens or before.stubs != pager.state.stubs
        guests = {p.number for p in pager.state.guests}
        assert now <= settings.low_tokens or set(pager.state.resident) <= pinned(pager.state) | guests

    pager.plan = planned
    drive(pager, CHATTER)
    assert next(left) > 1


@pytest.mark.parametrize("score", POLICIES.values(), ids=POLICIES)
def test_nothing_leaves_below_the_high_watermark(score):
    pager = watched(score, lambda pager, prompt: None)
    for leaving in rounds(pager):
        assert all(e.used_tokens > (pager.state.settings.low_tokens if "watermark" in e.cause else 0) for e in leaving)
        assert leaving[0].used_tokens > leaving[0].limit_tokens


@pytest.mark.parametrize("score", POLICIES.values(), ids=POLICIES)
def test_the_last_message_and_the_open_page_never_leave(score):
    def check(pager, prompt):
        state = pager.state
        assert state.pages_of(state.user_turn)[-1].number in state.resident
        assert state.open_page is None or state.open_page.number in state.resident

    watched(score, check)


@pytest.mark.parametrize("score", POLICIES.values(), ids=POLICIES)
def test_the_runner_up_is_who_leaves_next_and_the_reason_is_in_the_record(score):
    pager = watched(score, lambda pager, prompt: None)
    for leaving in rounds(pager):
        for this, after in pairwise(leaving):
            assert (this.runner_up, this.runner_up_score) == (after.page, after.score)
        for each in leaving:
            assert each.candidates[0].page == each.page
            order = [(c.score, c.page) for c in each.candidates]
            assert order == sorted(order)


@pytest.mark.parametrize("score", POLICIES.values(), ids=POLICIES)
def test_every_page_that_left_was_written_before(score):
    pager = watched(score, lambda pager, prompt: None)
    marked: set[int] = set()
    evictions = 0
    for event in pager.journal.events:
        if event.kind == "BookmarkMade":
            marked.add(event.body.page)
        if event.kind == "PageEvicted":
            evictions += 1
            assert event.body.page in marked
    assert evictions > 3


def test_a_function_of_your_own_decides():
    pager = driven(
        CHATTER, Settings.of(window_tokens=1_600, reply_tokens=100, boundary="fixed_4"), eviction_policy=newest_first
    )
    assert 1 in pager.state.resident  # the oldest page stays for ever


def test_a_marked_page_stays_with_the_importance_policy_also_if_it_is_marked_late():
    settings = Settings.of(window_tokens=1_600, reply_tokens=100, boundary="fixed_4", eviction="importance")
    pager = pager_of(settings)
    drive(pager, CHATTER[:4])
    assert pager.state.pages[1].closed
    pager.mark(2)
    pager.commit()
    assert (pager.state.pages[1].importance, pager.state.pages[1].why_important) == (1.0, "marked by the user")
    drive(pager, CHATTER)
    assert 1 in pager.state.resident
    pager.mark(2, important=False)
    assert pager.state.pages[1].why_important != "marked by the user"
    pager.commit()
    drive(pager, CHATTER)
    assert 1 not in pager.state.resident


@hypothesis.settings(max_examples=10)
@given(each=steps(most_tokens=600))
def test_what_a_page_frees_is_what_the_window_gains(each):
    """At least: its bookmark is not made yet when the page is chosen, and taken to be as long as it may be."""
    pager = pager_of(Settings.of(window_tokens=1_600, reply_tokens=100, boundary="fixed_4"))
    evict = pager._evict

    def evicted(leaving):
        pager.arrange("")
        before = pager.fill.used
        evict(leaving)
        pager.arrange("")
        told, gained = sum(e.freed_tokens for e in leaving), before - pager.fill.used
        if pager.state.stubs.ranges or not all(e.freed_tokens for e in leaving):
            return  # bookmarks that fold take less than they did; a page smaller than its bookmark frees nothing
        assert told - 2 <= gained <= told + 26 * len(leaving)  # each figure is rounded up

    pager._evict = evicted
    drive(pager, (replace(step, tools=()) for step in each))  # half a tool exchange is mended at its own cost


def test_fill_counts_what_is_there():
    pager = driven(CHATTER[:3], Settings.of(window_tokens=1_600, reply_tokens=100, boundary="fixed_4"))
    now = fill(pager.state, 0)
    assert now.used + now.reply + now.free == now.budget
