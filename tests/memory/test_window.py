import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.bookmarks import parse_page_ref
from memory.boundaries import BOUNDARIES
from memory.errors import BudgetTooSmall
from memory.events import PagePagedIn, Refusal
from memory.eviction import EVICTION
from memory.pager import Said
from memory.pages import PART, PART_TOKENS
from memory.prompt import RECALL_TOOL, offers_recall
from memory.recalls import Request
from memory.settings import Settings
from memory.stubs import open_range
from memory.tokens import count
from memory.window import fill, page_in, page_room, scaled
from tests.memory.conftest import (
    START,
    Step,
    counted,
    drive,
    driven,
    fits_or_is_impossible,
    pager_of,
    steps,
    text_of,
    unsound,
    use_tools,
)

TINY = Settings.of(window_tokens=1_500, reply_tokens=100, boundary="fixed_4")
CHATTER = [Step(40, answer=60) for _ in range(12)]


def tools_of(pager):
    return [RECALL_TOOL] if offers_recall(pager.state) else []


# ── the budget, whatever is said ──────────────────────────────────────────────────────────────────────


@hypothesis.settings(max_examples=25)
@given(
    each=steps(),
    window=st.integers(600, 8_000),
    reply=st.sampled_from((100, 500)),
    high=st.sampled_from((0.85, 1.0)),
    policy=st.sampled_from(tuple(EVICTION)),
    boundary=st.sampled_from((*BOUNDARIES, "fixed_10+idle_6")),
)
def test_a_prompt_never_needs_more_than_the_window_less_the_reply(each, window, reply, high, policy, boundary):
    """And it is sound for a provider, and never larger than what the window said it would take."""

    def watch(pager, prompt):
        chat = prompt.to_chat(pager.journal.words)
        assert not unsound(chat)
        assert counted(chat, tools_of(pager)) <= window - reply
        assert prompt.tokens <= pager.fill.used <= window - reply

    settings = Settings.of(
        window_tokens=window, reply_tokens=reply, high_watermark=high, eviction=policy, boundary=boundary
    )
    assert fits_or_is_impossible(each, settings, watch) or window < 600 + 2 * reply


def test_what_must_stay_is_rounded_as_the_window_rounds_it():
    """A recalled page came in that was one token too much: closed and growing pages are rounded each."""
    each = [*[Step(1, answer=1)] * 4, Step(1, answer=37), Step(1, answer=1),
            Step(293, answer=1, tools=((241, 53),), recall=(4,))]  # fmt: skip
    settings = Settings.of(window_tokens=735, reply_tokens=100, eviction="fifo", boundary="fixed_n")

    def watch(pager, prompt):
        assert pager.fill.used <= 735 - 100

    drive(pager_of(settings), each, watch)


@hypothesis.settings(max_examples=15)
@given(each=steps(most_tokens=900))
def test_the_estimate_is_close_section_by_section(each):
    """Of the system prompt, bookmarks and recalled pages: within 2 % and a few tokens, without the safety margin."""

    def watch(pager, prompt):
        seen = fill(pager.state, pager.instructions)
        chat = prompt.to_chat(pager.journal.words)
        real = counted(chat, tools_of(pager))
        assert real <= prompt.tokens + 2
        assert prompt.tokens - real <= 4 + 0.02 * real + 40 * len(pager.state.guests) + 30 * cut_turns(pager)
        tool = 0 if tools_of(pager) else counted([], [RECALL_TOOL])
        assert seen.system - tool == prompt.sections["system"]
        assert seen.stubs == prompt.sections.get("stubs", 0)
        guests = sum(len(p.turns) for p in pager.state.guests)
        marks = PART_TOKENS * sum(p.guest_as == PART for p in pager.state.guests)  # kept for both; one may be needed
        assert 0 <= seen.recalled - prompt.sections.get("recalled", 0) <= 10 + 3 * guests + marks
        spoken = prompt.sections.get("resident", 0) + prompt.sections.get("new", 0)
        assert 0 <= seen.resident + seen.new - spoken <= 9 * cut_turns(pager)

    fits_or_is_impossible(each, TINY.but(window_tokens=2_000, count_margin=0), watch)


def cut_turns(pager) -> int:
    """Pieces in the window: each is counted with the marks of both its ends."""
    return sum(turn.pieces > 1 for page in pager.state.residents for turn in page.turns)


def test_a_tool_call_counts_with_its_arguments():
    pager = pager_of(TINY)
    pager.receive(Said("Look."))
    before = pager.fill.used
    pager.reply(Said("", "assistant", calls=(("c", "look_up", text_of(100)),)))
    assert pager.fill.used - before > 100


def test_arguments_too_long_for_a_page_stand_cut_and_are_still_json():
    pager = pager_of(TINY)
    pager.receive(Said("Write the file."))
    pager.reply(Said("", "assistant", calls=(("c", "write", '{"text": "' + text_of(2_000) + '"}'),)))
    pager.reply(Said("done", "tool", answers="c"))
    chat = pager.prompt().to_chat(pager.journal.words)
    [call] = chat[-2]["tool_calls"]
    assert call["function"]["arguments"].startswith('{"cut": "')
    assert counted(chat) <= TINY.window_tokens - TINY.reply_tokens


# ── what cannot fit ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("window", [600, 1_500, 8_000])
@pytest.mark.parametrize("chinese", [False, True])
def test_a_message_longer_than_the_window_gets_its_step_with_its_end_in_the_prompt(window, chinese):
    text = text_of(3 * window, chinese) + " The question at the end?"
    pager = pager_of(Settings.of(window_tokens=window, reply_tokens=100))
    pager.receive(Said(text))
    pager.plan(text)
    prompt = pager.prompt()
    last = prompt.to_chat(pager.journal.words)[-1]
    assert last["role"] == "user"
    assert last["content"].endswith("The question at the end?")
    assert last["content"].startswith("[… the beginning of this message is on an earlier page]")
    assert prompt.tokens <= window - 100
    assert pager.state.stubs.tokens


def test_the_users_last_message_never_leaves_whatever_the_policy_says():
    """Its page closed within the step: tools were called, and their results fill the window."""
    asked = []

    def watch(pager, prompt):
        said = {t.number for page in pager.state.residents if not page.guest_until for t in page.turns}
        asked.append(pager.state.user_turn in said)

    def newest_first(page, now):
        return -page.number

    pager = pager_of(TINY.but(boundary="fixed_2"), eviction_policy=newest_first)
    results = ((300, 10), (300, 10))
    drive(pager, [*CHATTER, Step(60, tools=results), Step(60, tools=results), Step(5, question=True)], watch)
    pager.receive(Said("What is it?"))
    pager.commit()
    use_tools(pager, Step(1, tools=results), START, 1)
    use_tools(pager, Step(1, tools=results), START, 2)
    watch(pager, pager.prompt())
    assert pager.state.counts.evictions
    assert pager.state.page_of(pager.state.user_turn).closed
    assert all(asked)


def test_a_system_prompt_that_leaves_no_room_is_told_with_the_figures():
    pager = pager_of(TINY, system=text_of(1_400))
    pager.receive(Said("Hello?"))
    with pytest.raises(
        BudgetTooSmall,
        match=r"system prompt and instructions \(\d{4} tokens\).*the window holds 1500: raise window_tokens",
    ):
        pager.plan("Hello?")


def test_the_window_takes_what_a_smaller_window_leaves_behind():
    """Settings change between steps; the page that grows is then larger than the new window allows."""
    pager = driven([Step(300, answer=300)] * 2, Settings.of(window_tokens=8_000, reply_tokens=100, boundary="fixed_50"))
    pager.change_settings(pager.state.settings.but(window_tokens=1_200))
    drive(pager, [Step(20)], lambda pager, prompt: None)
    assert pager.fill.used <= 1_100


def test_two_largest_pages_fit_beside_everything_that_stays():
    for ratio_margin in (0.0, 0.5):
        pager = pager_of(TINY.but(count_margin=ratio_margin), system=text_of(100))
        room = page_room(pager.state, pager.instructions)
        s = pager.state.settings
        held = fill(pager.state, pager.instructions)
        assert (
            2 * scaled(pager.state, room) + held.system + scaled(pager.state, s.stub_budget + 16)
            <= s.window_tokens - s.reply_tokens
        )


# ── bookmarks in the window ───────────────────────────────────────────────────────────────────────────


def hidden(pager) -> list[int]:
    return [p.number for p in pager.state.evicted if p.number not in pager.state.stubs.shown]


@pytest.fixture(scope="module")
def thousand():
    """A conversation of which a thousand pages left."""
    pager = pager_of(Settings.of(window_tokens=2_000, reply_tokens=100, boundary="fixed_1"))
    for n in range(1_030):
        pager.receive(Said(f"The code of drawer {n} is {7_000 + n}, and the key lies beside it."))
    pager.plan("drawer")
    pager.commit()
    assert len(pager.state.evicted) >= 1_000
    return pager


def test_bookmarks_keep_to_their_budget(thousand):
    stubs = thousand.state.stubs
    assert stubs.tokens <= stubs.budget_tokens == thousand.state.settings.stub_budget
    lines = thousand.prompt().to_chat(thousand.journal.words)[1]["content"].splitlines()
    assert len(lines) == 1 + len(stubs.shown) + len(stubs.ranges)
    assert count("\n".join(lines[1:])) <= stubs.tokens


@pytest.mark.parametrize("share", [0.02, 0.05, 0.15])
@pytest.mark.parametrize("stub_tokens", [8, 24, 64])
def test_a_budget_for_next_to_nothing_still_names_all_pages(share, stub_tokens):
    settings = Settings.of(
        window_tokens=1_200, reply_tokens=100, boundary="fixed_2", stub_share=share, stub_tokens=stub_tokens
    )
    pager = driven([Step(20, answer=40)] * 30, settings)
    pager.plan("anything")
    stubs = pager.state.stubs
    assert stubs.tokens <= stubs.budget_tokens
    covered = {n for r in stubs.ranges for n in range(r.first, r.last + 1)} | set(stubs.shown)
    assert {p.number for p in pager.state.evicted} <= covered


def test_ranges_cover_exactly_the_hidden_pages(thousand):
    gone = {p.number for p in thousand.state.evicted}
    covered = [n for r in thousand.state.stubs.ranges for n in range(r.first, r.last + 1) if n in gone]
    assert covered == hidden(thousand)
    assert not set(covered) & set(thousand.state.stubs.shown)


def test_opening_ranges_step_by_step_reaches_every_page_within_the_rounds(thousand):
    write, words, state = thousand.journal.write, thousand.journal.words, thousand.state
    reached: dict[int, int] = {}

    def walk(first: int, last: int, depth: int) -> None:
        for part in open_range(state, first, last, words, write):
            assert parse_page_ref(words(part.text)) == (part.first, part.last)
            if part.first == part.last:
                reached[part.first] = depth
            else:
                assert (part.first, part.last) != (first, last)
                walk(part.first, part.last, depth + 1)

    for part in state.stubs.ranges:
        walk(part.first, part.last, 2)
    assert set(hidden(thousand)) <= set(reached)
    assert max(reached.values()) <= state.settings.recall_rounds  # one more round brings the page


def test_a_bookmark_that_matches_the_message_stands_by_itself(thousand):
    thousand.plan("what about page 7?")
    assert 7 in thousand.state.stubs.shown


def test_every_page_that_left_is_named_between_steps_as_well():
    """A guest's bookmark is back as soon as it leaves, not with the next message."""
    pager = driven([*CHATTER, Step(20, recall=(5, 4))], TINY)
    assert pager.state.counts.faults
    named = set(pager.state.stubs.shown) | {n for r in pager.state.stubs.ranges for n in range(r.first, r.last + 1)}
    assert {p.number for p in pager.state.evicted} <= named


def test_what_is_arranged_already_is_not_recorded_again():
    pager = driven(CHATTER, TINY)
    pager.plan("the same")
    before = pager.state.version
    pager.plan("the same")
    assert pager.state.version == before


# ── coming back ───────────────────────────────────────────────────────────────────────────────────────


def test_a_page_that_can_never_fit_is_refused_with_both_figures():
    pager = driven([Step(600, answer=600)] * 4, Settings.of(window_tokens=8_000, reply_tokens=100, boundary="fixed_2"))
    pager.change_settings(pager.state.settings.but(window_tokens=1_000))
    drive(pager, [Step(20)])
    refusal = page_in(pager.state, pager.instructions, pager.state.pages[1], "model")
    assert isinstance(refusal, Refusal)
    assert refusal.ref == "p1"
    assert refusal.reason.startswith("needs ")
    assert refusal.reason.endswith(" can be made free")


@pytest.mark.parametrize(("guest_steps", "until"), [(1, 0), (3, 2)])
def test_a_guest_stays_for_the_steps_that_the_settings_say(guest_steps, until):
    pager = driven(CHATTER, TINY.but(guest_steps=guest_steps))
    arrival = page_in(pager.state, pager.instructions, pager.state.pages[1], "model")
    assert isinstance(arrival, PagePagedIn)
    assert arrival.until == pager.state.step + until


def test_a_page_that_is_back_soon_after_it_left_is_thrash():
    pager = driven(CHATTER, TINY.but(thrash_steps=1))
    recent = max(pager.state.evicted, key=lambda p: p.left_at)
    old = min(pager.state.evicted, key=lambda p: p.left_at)
    assert page_in(pager.state, pager.instructions, recent, "model").thrash == (pager.state.step - recent.left_at <= 1)
    assert not page_in(pager.state, pager.instructions, old, "model").thrash


def test_a_model_that_counts_more_makes_the_window_smaller():
    pager = driven(CHATTER[:2], TINY)
    assert scaled(pager.state, 1_000) == 1_030
    pager.recall(Request(("p1",)))  # resident: nothing comes
    assert pager.state.counts.hits == 1
