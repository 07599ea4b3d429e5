from collections.abc import Sequence
from datetime import timedelta
from itertools import combinations

import hypothesis
import numpy as np
import pytest
from hypothesis import given

from memory.boundaries import (
    BOUNDARIES,
    TELLS,
    UNRELATED,
    any_of,
    closing_rule,
    every_exchanges,
    every_turns,
    idle_gap,
    meaning_shift,
    named,
    token_budget,
)
from memory.errors import ModelUnreachable, UnknownName
from memory.events import ModelFailed, PagePagedIn
from memory.pager import Said
from memory.pages import guest_tokens
from memory.settings import Settings
from memory.turns import Call, Turn
from memory.window import page_in
from tests.memory.conftest import Step, driven, meaning, pager_of, steps, text_of, turn, turns

MIXES = [*BOUNDARIES, *("+".join(pair) for pair in combinations(BOUNDARIES, 2)), "fixed_10+idle_6"]
CAP = 400


def words(text: int) -> str:
    return text_of(5, chinese=text % 2 == 0, seed=text)


def paged(spoken: Sequence[Turn], boundary: str, cap: int = CAP, most: int | None = None) -> list[list[Turn]]:
    s = Settings.of(boundary=boundary)
    pages: list[list[Turn]] = []
    for each in spoken:
        if not pages or closing_rule(pages[-1], each, named(s.boundary, s, meaning), cap, words, most):
            pages.append([])
        pages[-1].append(each)
    return pages


# ── contracts: every rule, every mix ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("boundary", MIXES)
@hypothesis.settings(max_examples=10)
@given(spoken=turns())
def test_every_turn_lands_on_one_page_in_order(boundary, spoken):
    pages = paged(spoken, boundary)
    assert [t for page in pages for t in page] == spoken
    assert all(pages)


@pytest.mark.parametrize("boundary", MIXES)
@hypothesis.settings(max_examples=10)
@given(spoken=turns(most_tokens=300))
def test_no_page_grows_past_the_cap(boundary, spoken):
    assert all(sum(t.tokens for t in page) <= CAP for page in paged(spoken, boundary))


@pytest.mark.parametrize("boundary", MIXES)
def test_the_rule_that_closed_a_page_is_named(boundary):
    s = Settings.of(boundary=boundary)
    known = {*BOUNDARIES, "page_cap", None}
    page = [turn(1, minutes=1)]
    after = [turn(n, "user", 30, minutes=n * 400) for n in range(2, 30)]
    assert {closing_rule(page, t, named(s.boundary, s, meaning), CAP, words) for t in after} <= known


@pytest.mark.parametrize("boundary", [*BOUNDARIES, "fixed_10+idle_6"])
@hypothesis.settings(max_examples=6)
@given(each=steps(most_tokens=1_000, most=6))
def test_the_pager_puts_every_turn_on_a_page_where_it_is_found(boundary, each):
    pager = driven(each, Settings.of(window_tokens=4_000, reply_tokens=100, boundary=boundary))
    pages = pager.state.pages.values()
    spoken = [t for page in pages for t in page.turns]
    assert [(t.number, t.piece) for t in spoken] == sorted((t.number, t.piece) for t in spoken)
    assert {t.number for t in spoken} == set(range(1, pager.state.turn + 1))
    for page in pages:
        for t in page.turns:
            assert page in pager.state.pages_of(t.number)
            assert pager.state.page_of(t.number) == pager.state.pages_of(t.number)[0]


@hypothesis.settings(max_examples=10)
@given(each=steps(most_tokens=3_000, most=3))
def test_pieces_cover_a_long_message_exactly(each):
    pager = driven(each, Settings.of(window_tokens=2_000, reply_tokens=100))
    whole: dict[int, list[Turn]] = {}
    for page in pager.state.pages.values():
        for t in page.turns:
            whole.setdefault(t.number, []).append(t)
    for pieces in whole.values():
        said = pager.journal.words(pieces[0].text)
        assert "".join(p.words(pager.journal.words) for p in pieces) == said
        assert [p.piece for p in pieces] == list(range(pieces[0].pieces))


# ── each rule by an example ───────────────────────────────────────────────────────────────────────────


def test_every_turns():
    spoken = [turn(n) for n in range(1, 8)]
    assert [len(p) for p in paged(spoken, "fixed_3", cap=10_000)] == [3, 3, 1]


def test_every_exchanges_counts_what_the_user_begins():
    roles = ["user", "assistant", "assistant", "user", "assistant", "user", "assistant"]
    spoken = [turn(n, role) for n, role in enumerate(roles, 1)]
    assert [len(p) for p in paged(spoken, "exchange_1", cap=10_000)] == [3, 2, 2]
    assert [len(p) for p in paged(spoken, "exchange_2", cap=10_000)] == [5, 2]


def test_a_token_budget_closes_before_it_is_passed_and_not_when_it_is_met():
    closes = token_budget(30)
    assert not closes([turn(1), turn(2)], turn(3), words)
    assert closes([turn(1), turn(2)], turn(3, tokens=11), words)


def test_an_idle_gap_closes_when_it_is_reached():
    closes = idle_gap(timedelta(hours=6))
    assert not closes([turn(1, minutes=1)], turn(2, minutes=360), words)
    assert closes([turn(1, minutes=1)], turn(2, minutes=361), words)
    assert not closes([turn(1, minutes=600)], turn(2, minutes=1), words)  # a clock that was set back is no silence


def test_a_topic_shift_needs_words_on_both_sides():
    texts = {
        1: "the hotel in Lisbon has a garden",
        2: "is the hotel garden in Lisbon open",
        3: "my piano invoice",
        4: "的",
    }
    closes = named("topic_shift", Settings())[0][1]
    assert not closes([turn(1)], turn(2), texts.__getitem__)
    assert closes([turn(1), turn(2)], turn(3), texts.__getitem__)
    assert not closes([turn(1)], turn(4), texts.__getitem__)


TALK = {
    1: "the hotel in Lisbon has a garden",
    2: "is the hotel garden in Lisbon open",
    3: "my piano invoice",
    4: "…",
}


def test_a_shift_of_meaning_is_told_by_vectors_and_needs_some_on_both_sides():
    closes = meaning_shift(meaning, 0.3)
    assert not closes([turn(1)], turn(2), TALK.__getitem__)
    assert closes([turn(1), turn(2)], turn(3), TALK.__getitem__)
    assert not closes([turn(1)], turn(4), TALK.__getitem__)
    assert not closes([turn(4)], turn(1), TALK.__getitem__)
    assert not closes([], turn(3), TALK.__getitem__)


def test_a_shift_of_meaning_goes_by_what_the_user_says_and_embeds_each_message_once():
    asked = []

    def counted(text):
        asked.append(text)
        return meaning(text)

    closes = meaning_shift(counted, 0.3, back=2)
    page = [turn(1), turn(3, "assistant")]
    assert not closes(page, turn(3, "assistant"), TALK.__getitem__)
    assert asked == []
    assert not closes(page, turn(2), TALK.__getitem__)
    assert closes([turn(1), turn(2)], turn(3), TALK.__getitem__)
    assert sorted(asked) == sorted([TALK[1], TALK[2], TALK[3], *UNRELATED[False]])


def test_the_nearest_message_counts_not_the_mean_of_all():
    closes = meaning_shift(meaning, 0.3)
    texts = {**TALK, 5: "four oranges", 6: "blue chairs", 7: "a red bicycle"}
    assert not closes([turn(1), turn(5), turn(6), turn(7)], turn(2), texts.__getitem__)
    assert meaning_shift(meaning, 0.3, back=3)([turn(1), turn(5), turn(6), turn(7)], turn(2), texts.__getitem__)


def test_nearness_counts_from_what_the_embedder_calls_unrelated():
    """An embedder whose vectors all lean one way finds the same shifts."""

    def squeezed(text):
        lean = np.concatenate([0.5 * meaning(text), [np.sqrt(0.75) if meaning(text).any() else 0]])
        return lean.astype(np.float32)

    def shifts(by):
        return [meaning_shift(by, 0.3)([turn(a)], turn(b), TALK.__getitem__) for a, b in ((1, 2), (1, 3), (2, 3))]

    assert shifts(meaning) == shifts(squeezed) == [False, True, True]


def test_only_the_beginning_of_a_long_message_is_embedded():
    asked = []
    closes = meaning_shift(lambda text: asked.append(text) or meaning(text), 0.3)
    closes([turn(1)], turn(2), {1: "hotel " * 900, 2: "garden " * 900}.__getitem__)
    assert max(map(len, asked)) == TELLS


def test_a_shift_of_meaning_closes_pages_of_a_conversation_under_its_name():
    pager = pager_of(Settings.of(window_tokens=4_000, boundary="meaning_shift"))
    for text in ("the hotel in Lisbon", "the hotel garden in Lisbon", "my piano invoice", "the piano invoice again"):
        pager.receive(Said(text))
        pager.commit()
        pager.settle()
        pager.commit()
    assert [(p.first, p.last) for p in pager.state.pages.values()] == [(1, 2), (3, 4)]
    assert pager.state.pages[1].boundary == "meaning_shift"


@pytest.mark.parametrize("own", [{"meaning": None}, {"meaning": "down"}], ids=["no embedder", "one that fails"])
def test_where_no_vector_can_be_had_no_page_closes_and_the_step_says_why(own):
    asked = []

    def down(text):
        asked.append(text)
        raise ModelUnreachable("nobody answers at 127.0.0.1:9")

    pager = pager_of(Settings.of(window_tokens=4_000, boundary="meaning_shift"), meaning=own["meaning"] and down)
    for text in ("the hotel in Lisbon", "my piano invoice"):
        pager.receive(Said(text))
        pager.commit()
        pager.settle()
        pager.commit()
    assert [(p.first, p.last) for p in pager.state.pages.values()] == [(1, 2)]
    (failed,) = [e for e in pager.journal.events if isinstance(e.body, ModelFailed)]
    assert (failed.step, failed.body.task) == (2, "boundary")
    assert failed.body.message == (
        "nobody answers at 127.0.0.1:9" if own["meaning"]
        else "the boundary meaning_shift needs an embedder, and there is none here; use topic_shift"
    )  # fmt: skip
    assert len(asked) == bool(own["meaning"])  # not again for the messages before it


def test_mixed_rules_close_at_the_first():
    closes = any_of(every_turns(5), every_exchanges(1))
    assert closes([turn(1)], turn(2, "user"), words)
    assert not closes([turn(1)], turn(2, "assistant"), words)
    assert closes([turn(1)], turn(6, "assistant"), words)


def test_a_function_of_your_own_is_a_boundary_under_its_name():
    def after_questions(page, turn, words):
        return page[-1].number % 2 == 0

    pager = driven([Step(5, answer=5) for _ in range(4)], Settings.of(window_tokens=4_000), boundary=after_questions)
    assert [len(p.turns) for p in pager.state.pages.values()] == [2, 2, 2, 2]
    assert pager.state.pages[1].boundary == "after_questions"


def test_an_unknown_rule_lists_the_known_ones():
    with pytest.raises(
        UnknownName, match=r"no boundary named 'weekly'; choose one of: exchanges, fixed_n, idle_gap, meaning_shift, t"
    ):
        named("fixed_n+weekly", Settings())


# ── tool calls ────────────────────────────────────────────────────────────────────────────────────────


def exchange(before: int, parallel: int) -> list[Turn]:
    """`before` turns, one message with parallel calls, their results, and two turns."""
    spoken = [turn(n, "user" if n % 2 else "assistant") for n in range(1, before + 1)]
    calls = tuple(Call(f"c{n}", "look_up", 1) for n in range(parallel))
    spoken.append(turn(len(spoken) + 1, "assistant", calls=calls))
    spoken += [turn(before + 2 + n, "tool", answers=f"c{n}") for n in range(parallel)]
    return [*spoken, turn(before + parallel + 2), turn(before + parallel + 3, "assistant")]


@pytest.mark.parametrize(
    "boundary", ["fixed_1", "fixed_3", "fixed_1+tokens_50", "exchange_1", "topic_shift", "idle_0.1"]
)
@pytest.mark.parametrize("parallel", [1, 2, 5])
@pytest.mark.parametrize("before", range(8))
def test_a_call_and_its_results_never_part_wherever_the_cut_falls(boundary, parallel, before):
    pages = paged(exchange(before, parallel), boundary, cap=50, most=1_000)
    calling = next(p for p in pages if any(t.calls for t in p))
    assert sum(t.role == "tool" for t in calling) == parallel
    assert len(pages) > 1 or before + parallel < 4


def test_the_wait_for_a_result_ends_when_the_user_speaks():
    lost = turn(1, "assistant", calls=(Call("c", "look_up", 1),))
    assert closing_rule([lost], turn(2, "user"), [("fixed_n", every_turns(1))], CAP, words) == "fixed_n"
    assert closing_rule([lost], turn(2, "assistant"), [("fixed_n", every_turns(1))], CAP, words) is None


def test_a_call_that_nobody_answers_does_not_hold_its_page_open_for_ever():
    """Nobody speaks but the assistant: the page still closes while it fits in the window."""
    lost = turn(1, "assistant", calls=(Call("c", "look_up", 1),))
    pages = paged([lost, *(turn(n, "assistant") for n in range(2, 100))], "fixed_4", cap=100, most=300)
    assert len(pages) > 2
    assert all(guest_tokens(p) <= 300 for p in pages)


def test_results_too_large_for_any_window_are_not_held_together():
    """Six results of a fifth of the window each: together they could never stand in it."""
    pager = pager_of(Settings.of(window_tokens=2_000, reply_tokens=100, boundary="fixed_20"))
    pager.receive(Said("Compare the six offers."))
    pager.reply(Said("", "assistant", calls=tuple((f"c{n}", "offer", "{}") for n in range(6))))
    for n in range(6):
        pager.reply(Said(text_of(380, seed=n), "tool", answers=f"c{n}"))
    pager.plan()
    assert pager.fill.free >= 0
    assert len(pager.state.pages) > 1


def test_a_long_message_that_calls_a_tool_keeps_its_results_beside_the_call():
    pager = pager_of(Settings.of(window_tokens=4_000, reply_tokens=100, boundary="fixed_1"))
    pager.receive(Said("Look it up."))
    pager.reply(Said(text_of(1_500), "assistant", calls=(("c1", "look_up", "{}"),)))
    pager.reply(Said("Found it.", "tool", answers="c1"))
    page = next(p for p in pager.state.pages.values() if any(t.calls for t in p.turns))
    assert [t.role for t in page.turns] == ["assistant", "tool"]


# ── what must come back ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("window", [1_200, 2_000])
@pytest.mark.parametrize("boundary", ["fixed_200", "tokens_800"])
def test_a_page_of_many_short_turns_can_still_be_recalled(window, boundary):
    """A recalled turn takes a header; a page of two hundred `ok` would need more than the window holds."""
    pager = driven([Step(1, answer=1)] * 90, Settings.of(window_tokens=window, reply_tokens=100, boundary=boundary))
    for gone in pager.state.evicted:
        assert isinstance(page_in(pager.state, pager.instructions, gone, "model"), PagePagedIn)
