from dataclasses import replace

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.bookmarks import BOOKMARKS, BY_MODEL, parse_page_ref
from memory.errors import BadMessage, StaleAppend, UnknownName
from memory.events import StepFinished
from memory.journal import MemoryJournal
from memory.pager import Pager, Said
from memory.recalls import Request
from memory.settings import Settings
from tests.memory.conftest import START, Step, drive, driven, pager_of, rebuilt, steps, text_of

TINY = Settings.of(window_tokens=1_500, reply_tokens=100, boundary="fixed_4")
CHATTER = [Step(40, answer=60) for _ in range(12)]


def kinds(pager, kind):
    return [event.body for event in pager.journal.events if event.kind == kind]


@pytest.fixture
def talked():
    """Twelve steps on a small window: the first pages left. Each message has a number of its own."""
    pager = pager_of(TINY)
    for n in range(12):
        pager.receive(Said(f"The code of drawer {n} is {7_000 + n}. {text_of(35, seed=n)}"))
        pager.commit()
        pager.plan()
        pager.prompt()
        pager.reply(Said(f"Noted for {n}. {text_of(50, seed=n)}", "assistant"))
        pager.settle()
        pager.commit()
    assert len(pager.state.evicted) >= 3
    return pager


# ── nothing is lost ───────────────────────────────────────────────────────────────────────────────────


@hypothesis.settings(max_examples=10)
@given(each=steps(most_tokens=1_000, most=6), policy=st.sampled_from(["lru", "lfu"]))
def test_every_turn_is_on_a_page_and_every_page_that_left_has_its_bookmark_written(each, policy):
    pager = driven(each, Settings.of(window_tokens=1_600, reply_tokens=100, eviction=policy))
    words = pager.journal.words
    for number in range(1, pager.state.turn + 1):
        [*pages] = pager.state.pages_of(number)
        said = "".join(t.words(words) for p in pages for t in p.turns if t.number == number)
        assert said == words(next(t.text for p in pages for t in p.turns if t.number == number))
    for page in pager.state.evicted:
        assert parse_page_ref(words(page.bookmark.stub)) == (page.number, page.number)


def test_every_turn_is_found_by_recall(talked):
    for n in range(12):
        page = talked.state.page_of(2 * n + 1)
        record = talked.recall(Request(question=f"What is the code of drawer {7_000 + n}?", evidence=(2 * n + 1,)))
        assert record.right or page.number in talked.state.resident
        talked.refresh()


@pytest.mark.parametrize("name", BOOKMARKS)
def test_every_generator_leaves_a_bookmark_that_names_its_page(name):
    settings = TINY.but(bookmarks=name, stub_tokens=16)
    pager = driven([Step(40, chinese=n % 2 == 0, answer=40) for n in range(14)], settings, generator=None)
    words = pager.journal.words
    closed = [p for p in pager.state.pages.values() if p.closed]
    assert pager.state.evicted
    for page in closed:
        mark = page.bookmark
        keywords = words(mark.keywords).split(",") if mark.keywords else []
        assert len(keywords) in (0, 2, 3, 4, 5)
        assert parse_page_ref(words(mark.stub)) == (page.number, page.number)
        assert mark.tokens <= 16
        assert mark.origin == BY_MODEL.get(name, name)  # a rule stands in until the model is asked
        assert "\n" not in words(mark.stub) + words(mark.description)


def test_a_draft_that_was_dropped_leaves_nothing_behind(talked):
    """Others may commit as many events as the dropped draft held: equal versions are no equal states."""
    journal = talked.journal
    talked.receive(Said("A secret plan about giraffes."))
    assert talked.recall(Request(question="giraffes")).came == ()
    dropped = talked.state
    other = Pager(journal, generator=lambda words, corpus: ())
    while other.state.version < dropped.version:
        other.add(StepFinished({}))
    other.commit()
    assert other.state.version == dropped.version
    talked.refresh()
    assert talked.state == other.state
    assert talked.find("giraffes", 3, by="user").hits == ()


def test_a_stale_draft_is_refused_in_memory_as_in_a_store(talked):
    other = Pager(talked.journal)
    other.mark(1)
    other.commit()
    talked.mark(2)
    with pytest.raises(StaleAppend, match="read it again, then write"):
        talked.commit()
    talked.refresh()
    talked.mark(2)
    talked.commit()
    assert rebuilt(talked) == talked.state


# ── messages ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["", "  ", "\n\t", "\u3000"])
def test_a_message_without_words_is_refused(talked, text):
    with pytest.raises(BadMessage, match="a message needs words"):
        talked.receive(Said(text))


@pytest.mark.parametrize("text", [None, 7, ["parts"], b"bytes"])
def test_a_message_that_is_no_text_is_refused(talked, text):
    with pytest.raises(BadMessage, match="a message is text, not"):
        talked.receive(Said(text))


def test_a_role_that_no_provider_knows_is_refused(talked):
    with pytest.raises(BadMessage, match="no role is named 'human'; it is one of: user, assistant, tool, system"):
        talked.reply(Said("hello", "human"))


def test_a_time_without_an_offset_is_refused(talked):
    with pytest.raises(BadMessage, match=r"said_at needs its offset from UTC, and 2026-03-02T09:14:00 has none"):
        talked.receive(Said("hello", said_at=START.replace(tzinfo=None)))


def test_a_call_needs_no_words_and_neither_does_its_result(talked):
    talked.reply(Said("", "assistant", calls=(("c", "look_up", "{}"),)))
    talked.reply(Said("", "tool", answers="c"))
    assert talked.state.turn == 26


@pytest.mark.parametrize(
    "text", ["a\x00b", "a\ud800b", "\ud83d\ude00", "\u202eabc", "\ufeffx", "<|endoftext|>", "𠮷" * 3_000]
)
def test_odd_characters_are_paged_like_any_other(text):
    pager = pager_of(TINY)
    pager.receive(Said(text, speaker="a\ud800"))
    pager.plan(text)
    pager.prompt()
    pager.reply(Said("Noted.", "assistant"))
    pager.settle("Noted.")
    pager.commit()
    assert rebuilt(pager) == pager.state
    assert pager.state.pages[1].turns[0].speaker == "a\ufffd"


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_mark_makes_a_heavy_bookmark_of_the_marked_words_at_once(talked):
    talked.mark(3)
    bookmark = talked.state.pages[1].bookmark
    assert (bookmark.weight, bookmark.origin) == (2.0, "user")


def test_a_mark_on_the_open_page_holds_when_it_closes():
    pager = pager_of(TINY, generator=None)
    pager.receive(Said("My passport number is in the piano."))
    pager.mark(1)
    first = pager.state.pages[1].bookmark
    assert first.weight == 2.0
    drive(pager, CHATTER[:3])
    page = pager.state.pages[1]
    assert page.closed
    assert (page.bookmark.weight, page.importance) == (2.0, 1.0)


def test_a_mark_taken_back_while_the_page_grew_leaves_a_bookmark_of_the_whole_page():
    pager = pager_of(TINY, generator=lambda words, corpus: (f"{len(words.texts)} turns", "seen"))
    pager.receive(Said("My passport is in the piano."))
    pager.mark(1)
    pager.mark(1, important=False)
    drive(pager, CHATTER[:3])
    bookmark = pager.state.pages[1].bookmark
    assert pager.journal.words(bookmark.stub) == "[p1:4 turns,seen]"
    assert bookmark.weight == 1.0


def test_a_mark_on_a_long_message_marks_all_its_pages():
    pager = pager_of(TINY)
    pager.receive(Said(text_of(1_500), important=False))
    pager.mark(1)
    pages = pager.state.pages_of(1)
    assert len(pages) > 3
    assert all(p.bookmark.weight == 2.0 for p in pages)


def test_a_turn_that_was_not_said_cannot_be_marked(talked):
    with pytest.raises(BadMessage, match="there is no turn 99 to mark; turns go from 1 to 24"):
        talked.mark(99)


# ── recall ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_named_page_comes_back(talked):
    record = talked.recall(Request(("p1",), call="c"))
    assert (record.asked, record.came, record.turns) == (("p1",), (1,), ((1, 4),))
    assert 1 in talked.state.resident
    assert talked.state.pages[1].guest_until == talked.state.step


@pytest.mark.parametrize("ref", ["p1", "1", "P1", "[p1:allergy]", " page 1 "])
def test_a_page_is_known_by_any_way_to_write_its_name(talked, ref):
    assert talked.recall(Request((ref,))).came == (1,)


def test_a_question_brings_the_page_whose_content_answers_it(talked):
    record = talked.recall(Request(question="What is the code of drawer 7001?", evidence=(3,)))
    assert record.came[0] == 1
    assert record.right is True
    assert talked.state.counts.right == 1


def test_a_question_leaves_a_record_of_everybody_it_was_compared_with(talked):
    gone = [page.number for page in talked.state.evicted]
    record = talked.recall(Request(question="What is the code of drawer 7001?"))
    talked.commit()
    [found] = kinds(talked, "PagesRetrieved")
    assert (found.question, found.by, found.strategy) == (record.question, "model", "fusion")
    assert found.chosen[0] == found.candidates[0].page == 1
    assert sorted(c.page for c in found.candidates) == gone
    assert found.stages["scope"] == len(gone)
    for candidate in found.candidates:
        assert len(candidate.raw) == len(candidate.shares) == len(found.channels)
        assert bool(candidate.dropped) == bool(candidate.stage) == (candidate.page not in found.chosen)


def test_what_is_said_after_a_search_is_found_by_the_next_one():
    pager = pager_of(Settings.of(window_tokens=8_000))
    pager.receive(Said("The piano tuner comes on Friday."))
    assert pager.find("When does the beekeeper come?", 1, by="user", everywhere=True).pages == ()
    pager.reply(Said("The beekeeper comes on Monday.", "assistant"))
    assert pager.find("When does the beekeeper come?", 1, by="user", everywhere=True).pages == (1,)


def test_what_a_resident_page_answers_brings_no_other_page(talked):
    newest = talked.state.resident[-1]
    record = talked.recall(Request(question=f"{talked.journal.words(talked.state.pages[newest].turns[0].text)[:40]}"))
    assert newest not in record.came


def test_a_message_brings_its_page_back_unasked_if_the_settings_say_so(talked):
    talked.change_settings(talked.state.settings.but(retrieve_k=1))
    talked.receive(Said("What is the code of drawer 7001?"))
    talked.plan("What is the code of drawer 7001?")
    assert [page.number for page in talked.state.guests] == [1]
    talked.reply(Said("7001.", "assistant"))
    talked.settle()
    talked.commit()
    [found] = kinds(talked, "PagesRetrieved")
    assert (found.by, found.chosen) == ("message", (1,))
    assert rebuilt(talked) == talked.state


def test_a_question_about_something_else_brings_nothing(talked):
    record = talked.recall(Request(question="Who wrote the opera about the flying Dutchman?", evidence=(3,)))
    assert record.came == ()
    assert record.note
    assert record.right is False
    assert talked.state.counts.wrong == 1


def test_without_a_label_a_recall_is_neither_right_nor_wrong(talked):
    assert talked.recall(Request(("p1",))).right is None


def test_a_page_that_does_not_exist_is_refused_by_name(talked):
    [refused] = talked.recall(Request(("p99",))).refused
    assert refused.ref == "p99"
    assert refused.reason == f"no such page; pages go from p1 to p{len(talked.state.pages)}"


@pytest.mark.parametrize("ref", ["", "the first", "p", "p9-p3", "-1", "p1;p2", "{}", "９" * 20])
def test_a_name_that_cannot_be_read_is_refused_and_does_not_enter_the_log(talked, ref):
    record = talked.recall(Request((ref,)))
    assert [(r.ref, r.reason) for r in record.refused] == [("?", 'not a page\'s name; use "p3" or "p3-p41"')]
    assert record.asked == ()


def test_a_page_that_is_there_is_a_hit_and_brings_nothing(talked):
    newest = talked.state.resident[-1]
    record = talked.recall(Request((f"p{newest}",)))
    assert (record.resident, record.came) == ((newest,), ())
    assert talked.state.counts.hits == 1


def test_a_range_opens_into_what_it_holds_and_brings_nothing(talked):
    record = talked.recall(Request(("p1-p99",)))
    assert [(r.first, r.last) for r in record.opened] == [(p.number, p.number) for p in talked.state.evicted]
    assert record.came == ()


def test_page_ins_of_a_step_are_capped(talked):
    pager = talked
    pager.change_settings(pager.state.settings.but(page_ins=1, window_tokens=6_000))
    record = pager.recall(Request(("p1", "p2")))
    assert record.came == (1,)
    assert [r.reason for r in record.refused] == ["1 pages came back in this step already; page_ins is 1"]
    assert pager.recall(Request(("p2",)), came_before=1).came == ()


def test_a_page_that_is_told_to_be_there_does_not_leave_for_the_next_one():
    """p4 makes room by evicting; the resident page that the same recall names must stay."""
    pager = driven([Step(60, answer=80) for _ in range(11)], TINY, eviction_policy=lambda page, now: -page.number)
    resident = max(n for n in pager.state.resident if pager.state.pages[n].closed)  # who would leave first
    gone, before = [p.number for p in pager.state.evicted][-2:], pager.state.counts.evictions
    record = pager.recall(Request((f"p{resident}", *(f"p{n}" for n in gone))))
    assert record.resident == (resident,)
    assert record.came
    assert pager.state.counts.evictions > before
    assert resident in pager.state.resident


def test_recalls_never_take_more_than_the_window(talked):
    record = talked.recall(Request(tuple(f"p{n}" for n in range(1, len(talked.state.pages) + 1))))
    assert record.refused
    assert all("can be made free" in r.reason or "page_ins" in r.reason for r in record.refused)
    assert talked.fill.free >= 0


def test_guests_leave_at_the_end_of_the_step_and_thrash_is_counted(talked):
    recent = max(talked.state.evicted, key=lambda p: p.left_at)
    talked.receive(Said("What was it?"))
    talked.plan()
    talked.recall(Request((recent.name,)))
    assert talked.state.counts.thrash == 1
    talked.settle("I do not know.")
    assert recent.number not in talked.state.resident
    assert talked.state.counts.guests_unused == 1


def test_a_guest_whose_words_stand_in_the_reply_was_used(talked):
    talked.receive(Said("What was the first code?"))
    talked.plan()
    talked.recall(Request(("p1",)))
    reply = f"The code of drawer 1 is 7001. {text_of(35, seed=1)}"
    talked.settle(reply)
    assert talked.state.counts.guests_used == 1


def test_a_guest_stays_for_more_steps_where_the_settings_say_so(talked):
    talked.change_settings(talked.state.settings.but(guest_steps=2))
    for there in (True, False):
        talked.receive(Said("Well?"))
        talked.plan()
        if there:
            talked.recall(Request(("p1",)))
        talked.prompt()
        talked.settle()
        assert (1 in talked.state.resident) is there


def test_recalled_words_never_become_a_turn(talked):
    before = talked.state.turn
    talked.receive(Said("What was it?"))
    talked.plan()
    talked.recall(Request(("p1",)))
    talked.prompt()
    talked.reply(Said("That one.", "assistant"))
    talked.settle("That one.")
    talked.commit()
    assert talked.state.turn == before + 2
    spoken = [t.words(talked.journal.words) for p in talked.state.pages.values() for t in p.turns]
    assert not any("<recalled" in words for words in spoken)


# ── settings ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("change", [{"eviction": "lur"}, {"boundary": "weekly"}, {"bookmarks": "poetry"}])
def test_an_unknown_name_changes_nothing(change):
    pager = pager_of(TINY, generator=None)
    before = pager.state
    with pytest.raises(UnknownName, match="choose one of"):
        pager.change_settings(before.settings.but(**change))
    assert pager.state is before


def test_a_run_whose_policy_only_its_maker_had_can_be_opened_and_changed():
    """A replay with the oracle names it in its settings; whoever continues the run names another."""
    journal = MemoryJournal(driven(CHATTER[:2], TINY).state)
    state = journal.load()
    foreign = replace(state, settings=TINY.but(eviction="belady"))
    pager = Pager(MemoryJournal(foreign, known=lambda text: "words"))
    with pytest.raises(UnknownName, match="no eviction policy named 'belady'"):
        pager.receive(Said("hello"))
    pager.refresh()
    pager.change_settings(TINY)
    pager.receive(Said("hello"))


# ── abandoned ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_abandoned_step_keeps_what_was_said_and_sends_guests_away(talked):
    talked.receive(Said("Where is it?"))
    talked.plan()
    talked.recall(Request(("p1",)))
    talked.abandon("the model is gone")
    talked.commit()
    assert not talked.state.open_step
    assert not talked.state.guests
    assert talked.state.turn == 25
    assert rebuilt(talked) == talked.state
