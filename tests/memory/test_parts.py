"""Of a page that has no room whole, the part that answers comes back: consecutive, marked, and within the budget."""

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.events import PagePagedIn, decode, encode
from memory.pager import Said
from memory.parts import part_of
from memory.recalls import Request
from memory.serving import Served, names, told
from memory.settings import Settings
from memory.state import dump, load
from memory.window import page_in, part_in, scaled
from tests.memory.conftest import START, Step, counted, drive, driven, pager_of, rebuilt, steps, text_of, turn, turns

WIDE = Settings.of(window_tokens=8_000, reply_tokens=100, boundary="fixed_10")
NARROW = 1_100


# ── which part ────────────────────────────────────────────────────────────────────────────────────────


def spoken(*sizes):
    """A user and an assistant in turn."""
    return [turn(n, "user" if n % 2 else "assistant", size) for n, size in enumerate(sizes, 1)]


def within(tokens):
    return lambda some: sum(t.tokens for t in some) <= tokens


@pytest.mark.parametrize(
    ("scores", "room", "part"),
    [
        ({3: 2.0}, 20, (3, 4)),  # the best turn's exchange
        ({4: 2.0}, 20, (3, 4)),
        ({3: 2.0, 1: 1.0}, 40, (1, 4)),  # the better neighbour joins
        ({3: 2.0, 6: 1.0}, 40, (3, 6)),
        ({3: 2.0, 1: 1.0, 6: 0.5}, 60, (1, 6)),
        ({3: 2.0}, 10, (3, 3)),  # an exchange that is too large is cut between its turns
        ({3: 2.0}, 9, None),
        ({}, 20, (1, 2)),  # nothing tells them apart: the beginning
        ({8: 1.0}, 1_000, (1, 8)),
    ],
)
def test_the_part_lies_around_the_best_turn(scores, room, part):
    assert part_of(spoken(*[10] * 8), scores, within(room)) == part


def test_a_side_that_does_not_fit_does_not_stop_the_other():
    assert part_of(spoken(90, 90, 10, 10, 10, 10), {3: 2.0, 1: 1.0}, within(40)) == (3, 6)


def test_pieces_of_one_message_stay_together():
    cut = [turn(1, "user", 10), turn(2, "assistant", 10, pieces=2), turn(2, "assistant", 10, piece=1, pieces=2)]
    assert part_of(cut, {2: 1.0}, within(20)) == (2, 2)
    assert part_of(cut, {2: 1.0}, within(19)) is None


@given(said=turns(), scores=st.dictionaries(st.integers(1, 60), st.floats(-5, 5)), room=st.integers(1, 600))
def test_whatever_was_said_the_part_fits_holds_the_best_turn_and_could_not_be_longer(said, scores, room):
    fits = within(room)
    if not said:
        return
    part = part_of(said, scores, fits)
    best = max(said, key=lambda t: (scores.get(t.number, float("-inf")), -t.number))
    if part is None:
        assert not fits([best])
        return
    held = [t for t in said if part[0] <= t.number <= part[1]]
    assert fits(held)
    if best.number in scores:
        assert best in held
    users = [t.number for t in said if t.role == "user"]
    if part[0] in (said[0].number, *users) and (part[1] == said[-1].number or part[1] + 1 in users):  # whole exchanges
        later = [n for n in users if n > part[1]]
        after = [t for t in said if part[1] < t.number < (later[1] if len(later) > 1 else len(said) + 1)]
        assert not after or not fits([*held, *after])


# ── in a conversation ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def narrow():
    """Pages of ten turns that a wide window made; now it is narrow, and none of them has room."""
    pager = pager_of(WIDE)
    for n in range(25):
        text = f"The code of drawer {n} is {7_000 + n}. {text_of(70, seed=n)}"
        pager.receive(Said(text, said_at=START))
        pager.commit()
        pager.plan(text)
        pager.prompt()
        pager.reply(Said(f"Noted, drawer {n}. {text_of(30, seed=n)}", "assistant", START))
        pager.settle()
        pager.commit()
    pager.change_settings(pager.state.settings.but(window_tokens=NARROW))
    pager.commit()
    pager.receive(Said("And now?", said_at=START))
    pager.commit()
    pager.plan("And now?")
    assert 1 not in pager.state.resident
    assert scaled(pager.state, pager.state.pages[1].guest_tokens) > NARROW - 300
    return pager


def recalled(pager, page):
    prompt = pager.prompt(1)
    assert counted(prompt.to_chat(pager.journal.words)) <= NARROW - 100
    assert prompt.tokens <= pager.fill.used <= NARROW - 100
    return next(m.content(pager.journal.words) for m in prompt.messages if (m.section, m.page) == ("recalled", page))


def test_the_part_that_answers_comes_with_what_is_left_out_marked(narrow):
    record = narrow.recall(Request(question="What is the code of drawer 3?", evidence=(7,)))
    assert record.came == (1,)
    assert record.right is True
    page = narrow.state.pages[1]
    first, last = page.part
    assert page.guest_as == "part"
    assert first <= 7 <= last
    assert (first, last) != (page.first, page.last)
    said = recalled(narrow, 1)
    assert said.startswith(f'<recalled page="p1" turns="{first}-{last}">')
    assert "The code of drawer 3 is 7003." in said
    if first > 1:
        assert f"\n[… turns 1-{first - 1} of this page are left out]\nturn {first} ·" in said
        assert "drawer 0" not in said
    if last < 10:
        assert said.endswith(f"\n[… turns {last + 1}-10 of this page are left out]\n</recalled>")
    assert f"Of p1 (turns 1-10) turns {first}-{last} are back" in told(record, narrow.state, narrow.journal.words)


def test_what_came_is_in_the_log_and_the_log_folds_to_the_same(narrow):
    narrow.recall(Request(question="What is the code of drawer 3?"))
    narrow.commit()
    arrived = next(e.body for e in reversed(narrow.journal.events) if isinstance(e.body, PagePagedIn))
    page = narrow.state.pages[1]
    assert (arrived.level, arrived.part) == ("part", page.part)
    assert arrived.tokens == sum(t.tokens for t in page.standing) < page.tokens
    assert rebuilt(narrow) == narrow.state == load(dump(narrow.state))


def test_it_is_right_only_if_the_labelled_turn_is_in_the_part(narrow):
    record = narrow.recall(Request(("p1",), question="What is the code of drawer 0?", evidence=(9,)))
    assert record.came[0] == 1
    assert narrow.state.pages[1].part[1] < 9
    assert record.right is False


def test_turns_that_are_asked_for_come_whatever_else_the_page_says(narrow):
    narrow.recall(Request(turns=((9, 9),), question="What is the code of drawer 0?"))
    first, last = narrow.state.pages[1].part
    assert first <= 9 <= last


def test_another_question_brings_another_part_in_its_place_and_the_same_brings_nothing(narrow):
    narrow.recall(Request(("p1",), question="What is the code of drawer 0?"))
    assert narrow.state.pages[1].part[0] == 1
    again = narrow.recall(Request(("p1",), question="What is the code of drawer 0?"))
    assert again.came == ()
    assert again.refused[0].reason.startswith("needs ")
    assert narrow.recall(Request(("p1",), question="What is the code of drawer 4?")).came == (1,)
    assert narrow.state.pages[1].part[1] == 10
    assert recalled(narrow, 1).count("<recalled") == 1


def test_a_page_that_is_there_in_part_may_be_asked_for_and_is_gone_whole_after_the_step(narrow):
    narrow.recall(Request(("p1",), question="What is the code of drawer 0?"))
    assert "p1" in names(narrow, Served())
    assert 1 not in narrow.state.whole
    narrow.settle("7000.")
    page = narrow.state.pages[1]
    assert (page.guest_as, page.part, page.guest_until) == ("", (0, 0), 0)
    assert len(page.standing) == 10


def test_a_page_that_fits_comes_whole():
    pager = driven([Step(40, answer=60) for _ in range(12)], Settings.of(window_tokens=1_500, boundary="fixed_4"))
    pager.recall(Request(("p1",)))
    assert pager.state.pages[1].guest_as == "text"


def test_whole_pages_come_first_and_a_part_takes_the_room_they_leave():
    sizes = [*[120] * 4, *[20] * 4, *[60] * 12]
    pager = driven([Step(n, answer=n) for n in sizes], WIDE.but(boundary="fixed_4"))
    pager.change_settings(WIDE.but(window_tokens=1_000))
    pager.receive(Said("And now?", said_at=START))
    pager.plan("And now?")
    assert {1, 3}.isdisjoint(pager.state.resident)
    assert pager.recall(Request(("p1", "p3"))).came == (3, 1)
    big, small = pager.state.pages[1], pager.state.pages[3]
    assert (big.guest_as, small.guest_as) == ("part", "text")


def test_nothing_comes_where_not_even_one_turn_fits(narrow):
    big = narrow.state.pages[1]
    beside = NARROW  # the calls of this step have taken all room
    assert narrow.recall(Request(("p1",), question="drawer 3"), beside=beside).came == ()
    refusal = part_in(narrow.state, narrow.instructions, big, "model", {7: 1.0}, beside=beside)
    assert refusal == page_in(narrow.state, narrow.instructions, big, "model", beside=beside)


def test_an_older_log_knows_no_parts_and_is_read():
    body = PagePagedIn(3, "model", 120, thrash=False, until=4)
    old = encode(body).replace(',"part":[0,0]', "")
    assert "part" not in old
    assert decode("PagePagedIn", old) == (body, {})


@hypothesis.settings(max_examples=25)
@given(each=steps(most_tokens=600, least=3), window=st.integers(700, 2_000), asked=st.integers(0, 9))
def test_a_part_never_takes_more_than_the_window_and_loses_no_turn(each, window, asked):
    pager = driven(each, WIDE)
    pager.change_settings(WIDE.but(window_tokens=window, page_ins=5))
    said = [t.number for page in pager.state.pages.values() for t in page.turns]

    def watch(pager, prompt):
        assert counted(prompt.to_chat(pager.journal.words)) <= window - 100
        assert prompt.tokens <= pager.fill.used <= window - 100

    drive(pager, [Step(20, recall=(asked, asked + 1, asked + 2), question=True)], watch)
    held = [t.number for page in pager.state.pages.values() for t in page.turns]
    assert held[: len(said)] == said
    assert not pager.state.guests
    assert rebuilt(pager) == pager.state
