"""People in control, in the conversation itself: what is asked is done, said, and can be undone."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from memory.answering import answer, handle, kind_of, last_uses, like
from memory.errors import NotFound
from memory.events import Event, FactsPlaced, PlacedFact
from memory.facts import Candidate
from memory.longterm import Heard, LongTerm
from memory.people import asked
from memory.scope import Scope
from memory.state import State, apply
from memory.stores.sql import Store

AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)
Place = Callable[..., None]


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def ana(store: Store) -> LongTerm:
    return LongTerm(store, "ana", "trip")


@pytest.fixture
def place(store: Store) -> Place:
    """These facts stood in the last prompt of the conversation."""

    def placed(*facts: int, user: str = "ana", conversation: str = "trip") -> None:
        journal = store.open_stream(Scope(user, conversation))
        state: State = journal.load()
        body = FactsPlaced(1, (), 0, (*(PlacedFact(f, "match") for f in facts), PlacedFact(99, "match", stage="rank")))
        journal.commit([body], 3, apply(state, Event(0, state.version + 1, 3, AT, body)))

    return placed


def values(memory: LongTerm) -> list[str]:
    return [memory.words(f.value) for f in reversed(memory.facts())]


# ── what do you remember? ─────────────────────────────────────────────────────────────────────────────


def test_what_is_remembered_is_told_with_its_name_its_words_and_its_last_use(ana: LongTerm, place: Place):
    ana.write("My budget is 5000 euros.", at=AT)
    place(1)
    reply = handle("What do you remember about me?", ana)
    assert reply
    assert "f1: The user's budget is 5000 euros" in reply
    assert "Since 2026-03-02" in reply
    assert "“My budget is 5000 euros”" in reply
    assert "Last used in trip, step 3" in reply


def test_about_one_thing_only_that_is_told(ana: LongTerm):
    ana.write("My budget is 5000 euros. I live in Lyon.", at=AT)
    reply = handle("What do you remember about my budget?", ana)
    assert reply
    assert "5000" in reply
    assert "Lyon" not in reply
    assert handle("what do you remember about dragons?", ana) == "I remember nothing about dragons."


def test_nothing_is_said_of_an_empty_memory(ana: LongTerm):
    assert handle("What do you remember?", ana) == "I remember nothing about you so far."
    assert handle("你记得什么？", ana) == "关于你，我什么都不记得。"


def test_chinese_is_answered_in_chinese(ana: LongTerm):
    ana.write("我的预算是8000元。", at=AT)
    reply = handle("你记得关于预算的什么？", ana)
    assert reply
    assert reply.startswith("我记得1条：\n- f1: 用户的预算")
    assert "8000" in reply
    assert "你说过：“我的预算是8000元" in reply


def test_a_long_memory_is_told_in_part(ana: LongTerm):
    for n in range(25):
        ana.write(Candidate(f"The drawer {n} holds code {n}", 0, 9))
    reply = handle("What do you remember?", ana)
    assert reply
    assert "25 facts" in reply
    assert "and 5 more" in reply


def test_working_facts_of_another_conversation_are_not_told(store: Store, ana: LongTerm):
    LongTerm(store, "ana", "work").write(Candidate("Merging branch 7", 0, 9, kind="task", layer="working"))
    assert handle("What do you remember?", ana) == "I remember nothing about you so far."


def test_the_last_use_is_of_the_newest_prompt_in_any_conversation(store: Store, place: Place):
    place(1, 2)
    place(2, conversation="work")
    place(1, user="bo")
    assert last_uses(store, "ana", [1, 2, 3]) == {1: ("trip", 3), 2: ("work", 3)}


# ── that is wrong ─────────────────────────────────────────────────────────────────────────────────────


def test_the_fact_that_was_just_used_is_corrected(ana: LongTerm, place: Place):
    ana.write("My budget is 5000 euros. My rent is 900 euros. I live in Lyon.", at=AT)
    ana.write("I am 31 years old.", at=AT)
    budget = next(f for f in ana.facts() if "budget" in ana.text(f))
    place(budget.id)
    ana.write(Candidate("Something else", 0, 9))
    reply = handle("That is wrong, it should be 8000.", ana)
    assert reply
    assert "The user's budget is 8000 euros" in reply
    assert "8000 euros" in values(ana)
    assert ana.fact(budget.id).state == "retracted"
    assert ana.knowledge.changes[len(ana.knowledge.changes)].cause == "correct"


def test_where_two_fit_nothing_is_changed_and_the_reply_asks(ana: LongTerm, place: Place):
    ana.write("My budget is 5000 euros. My rent is 900 euros.", at=AT)
    place(1, 2)
    before = ana.knowledge
    reply = handle("That's wrong, it should be 8000", ana)
    assert reply
    assert "Which one do you mean?" in reply
    assert "f1" in reply
    assert "f2" in reply
    assert ana.knowledge == before
    assert "Corrected: f3" in (handle("f1 should be 8000", ana) or "")


def test_what_was_said_before_tells_which_is_meant(ana: LongTerm):
    ana.write("My budget is 5000 euros. My rent is 900 euros.", at=AT)
    reply = handle("No, not 900, 950", ana)
    assert reply
    assert "rent is 950 euros" in reply


def test_a_named_attribute_tells_which_is_meant(ana: LongTerm):
    ana.write("My budget is 5000 euros. My rent is 900 euros.", at=AT)
    assert "budget is 8000 euros" in (handle("No, my budget is 8000.", ana) or "")
    assert handle("No, my salary is 8000.", ana) is None, "nothing known to correct: it is said for the first time"


def test_in_chinese_too(ana: LongTerm):
    ana.write("我的预算是5000元。", at=AT)
    assert "8000元" in (handle("不对，应该是8000", ana) or "")
    assert "9000元" in (handle("不对，我的预算是9000", ana) or "")
    assert "7000元" in (handle("不是9000，是7000", ana) or "")


def test_a_correction_of_something_else_is_left_to_the_conversation(ana: LongTerm):
    ana.write("I live in Lyon.", at=AT)
    assert handle("That is wrong, it should be 42.", ana) is None
    assert handle("No, it's 42", ana) is None
    assert values(ana) == ["Lyon"]


def test_the_same_again_is_no_correction(ana: LongTerm):
    ana.write("My budget is 5000 euros.", at=AT)
    before = ana.knowledge
    assert "says so already" in (handle("f1 should be 5000 euros", ana) or "")
    assert ana.knowledge == before


def test_a_fact_that_does_not_exist_is_said(ana: LongTerm):
    assert "no fact f9" in (handle("f9 should be 5", ana) or "")
    assert "no fact f9" in (handle("forget f9", ana) or "")


def test_a_fact_can_be_taken_back_by_its_name(ana: LongTerm):
    ana.write("My budget is 5000 euros.", at=AT)
    assert "taken back" in (handle("f1 is wrong", ana) or "")
    assert ana.facts() == []


# ── forget, remember ──────────────────────────────────────────────────────────────────────────────────


def test_forgetting_ends_a_fact_and_erases_nothing(store: Store, ana: LongTerm):
    ana.write("I am allergic to peanuts. My budget is 5000 euros.", at=AT)
    reply = handle("Please forget what I said about peanuts.", ana)
    assert reply
    assert "allergic to peanuts" in reply
    assert "workbench memory erase" in reply
    assert values(ana) == ["5000 euros"]
    assert "peanuts" in repr(store.words(ana.scope)), "the words stay until they are erased"
    ana.undo(max(ana.knowledge.changes))
    assert len(ana.facts()) == 2


def test_what_is_not_known_is_not_forgotten(ana: LongTerm):
    ana.write("My budget is 5000 euros.", at=AT)
    assert handle("Forget the milk.", ana) is None, "nobody knows whether the memory is meant"
    assert "nothing about milk" in (handle("Forget what I said about milk.", ana) or "")
    assert len(ana.facts()) == 1


def test_everything_is_not_forgotten_by_one_message(ana: LongTerm):
    ana.write("My budget is 5000 euros. I live in Lyon.", at=AT)
    assert "2 facts" in (handle("Forget everything about me.", ana) or "")
    assert len(ana.facts()) == 2


def test_forgetting_in_chinese(ana: LongTerm):
    ana.write("我对花生过敏。我的预算是5000元。", at=AT)
    assert "不再有效" in (handle("请忘掉花生过敏的事", ana) or "")
    assert values(ana) == ["5000元"]


def test_what_is_to_be_remembered_is_kept_and_weighs_much(ana: LongTerm):
    reply = handle("Remember that my flight leaves at nine on Monday.", ana)
    assert reply
    assert reply.startswith("I will remember:")
    assert "nine" in reply
    (fact,) = ana.facts()
    assert fact.importance >= 0.9


# ── who is meant, undo, pause ─────────────────────────────────────────────────────────────────────────


def test_what_is_known_of_a_person_is_told_and_of_a_thing_the_model_is_asked(ana: LongTerm):
    ana.write("My sister Kate lives in York, and I like Python.", at=AT)
    for whom in ("Kate", "my sister"):
        told = handle(f"What do you know about {whom}?", ana)
        assert told
        assert "Kate lives in York" in told
    assert handle("What do you know about Python?", ana) is None


def test_to_forget_ones_sister_is_to_forget_what_is_known_of_her_by_name(ana: LongTerm):
    ana.write("My sister Kate lives in York. My budget is 5000 euros.", at=AT)
    assert handle("Forget about my sister.", ana)
    assert values(ana) == ["5000 euros"]


def test_undo_that_takes_back_the_change_that_the_reply_told_of(ana: LongTerm):
    ana.write("My budget is 5000 euros.", at=AT)
    told = handle("Forget the budget.", ana) or ""
    heard = Heard("trip", 3, ana.journal.said("Undo that."), "Undo that.", "user", "ana", AT, before=told)
    assert values(ana) == []
    assert "f1: The user's budget is 5000 euros" in (handle("Undo that.", ana, heard) or "")
    assert values(ana) == ["5000 euros"]
    assert "cannot undo" in (handle("Undo that.", ana, heard) or "")  # it is undone already
    assert handle("Undo that.", ana) is None  # nothing was told of: it is said of something else
    assert "第" in (handle("撤销第1次更改", ana) or "")


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("In your code I would take back change 1 and keep the rest.", "Undo that."),
        ("Corrected: the loop of change 1 ends one earlier.", "Undo that."),
        ("Here is the diff.", "Undo change 1."),
        ("", "Undo change 1."),
    ],
)
def test_a_change_of_something_else_is_not_undone_in_the_memory(ana: LongTerm, before: str, said: str):
    ana.write("My budget is 5000 euros.", at=AT)
    heard = Heard("trip", 3, ana.journal.said(said), said, "user", "ana", AT, before=before)
    assert handle(said, ana, heard) is None
    assert values(ana) == ["5000 euros"]
    assert "Change 1 is undone" in (handle("Undo memory change 1.", ana) or "")


def test_each_reply_that_tells_of_a_change_is_taken_back_by_undo_that(ana: LongTerm):
    ana.write("My budget is 5000 euros. I am allergic to peanuts.", at=AT)
    for said in ("No, my budget is 8000.", "f2 is wrong.", "Forget the budget.", "忘掉 f2。"):
        before, held = handle(said, ana) or "", values(ana)
        heard = Heard("trip", 3, ana.journal.said("Undo that."), "Undo that.", "user", "ana", AT, before=before)
        assert handle("Undo that.", ana, heard), said
        assert values(ana) != held, said
        assert values(ana) == ["5000 euros", "peanuts"], said


def test_undo_does_not_tell_what_another_conversation_works_on(store: Store, ana: LongTerm):
    work = LongTerm(store, "ana", "work")
    work.write(Candidate("Merging branch 7", 0, 9, kind="task", layer="working"))
    change = work.forget(1).number
    assert handle(f"Undo memory change {change}.", ana) == f"Change {change} is undone."
    assert [work.text(f) for f in work.facts()] == ["Merging branch 7"]


def test_nothing_is_remembered_between_stop_and_resume(ana: LongTerm):
    assert "nothing new" in (handle("Stop remembering things.", ana) or "")
    ana.write("My budget is 5000 euros.", at=AT)
    assert values(ana) == []
    assert handle("恢复记忆。", ana) == "从现在起我会继续记忆。"
    ana.write("My budget is 8000 euros.", at=AT)
    assert values(ana) == ["8000 euros"]


def test_while_remembering_is_off_that_is_said(ana: LongTerm):
    ana.switch(on=False)
    assert "switched off" in (handle("Remember that my flight leaves at nine.", ana) or "")
    assert ana.facts() == []


def test_the_turn_counts_as_looked_at(ana: LongTerm):
    ana.write("My budget is 5000 euros.", at=AT)
    words = "No, my budget is 8000."
    heard = Heard("trip", 7, ana.journal.said(words), words, "user", "ana", AT)
    assert handle(words, ana, heard)
    assert ana.knowledge.learned["trip"] == 7
    assert ana.learn([heard], ana.knowledge.version) == []
    assert ana.ledger("trip")[-1].outcomes[0].reason == "a word to the memory itself: correct"
    assert handle("what time is it?", ana, heard) is None


# ── small parts ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "kind"),
    [("8,000 euros", "number"), ("Tuesday", "date"), ("9:30", "time"), ("Lyon", "text"), ("星期二", "date"),
     ("下午三点", "time"), ("八千", "number"), ("2026-03-02", "date")],
)  # fmt: skip
def test_values_of_one_kind_can_stand_for_each_other(value, kind):
    assert kind_of(value) == kind


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [("5,000 euros", "8000", "8000 euros"), ("€5000", "8000", "€8000"), ("€5000", "$80", "$80"), ("Lyon", "8", "8"),
     ("2 cats, 3 dogs", "4", "4"), ("5000元", "8000", "8000元"), ("5000 euros", "8000 dollars", "8000 dollars")],
)  # fmt: skip
def test_a_bare_figure_takes_over_what_stands_around_the_old_one(old, new, expected):
    assert like(old, new) == expected


def test_an_act_that_names_a_fact_of_another_conversation_is_refused(store: Store, ana: LongTerm):
    LongTerm(store, "ana", "work").write(Candidate("Merging branch 7", 0, 9, kind="task", layer="working"))
    with pytest.raises(NotFound):
        ana.fact(1)
    act = asked("forget f1")
    assert act
    assert "another conversation" in (answer(act, ana) or "")


# ── in odd words ──────────────────────────────────────────────────────────────────────────────────────

TOLD = "My name is Mia. I am allergic to peanuts. My budget is 5,000 euros."
TOLD_ZH = "我叫米娅。我对花生过敏。我的预算是5000元。"


@pytest.mark.parametrize(
    ("told", "said", "left"),
    [
        (TOLD, "It's 8,000, not 5,000.", ["Mia", "peanuts", "8,000 euros"]),
        (TOLD, "my budget isn't 5,000, it's 8,000", ["Mia", "peanuts", "8,000 euros"]),
        (TOLD, "Sorry, I meant 8,000 euros.", ["Mia", "peanuts", "8,000 euros"]),
        (TOLD, "thats wrong, should be 8,000", ["Mia", "peanuts", "8,000 euros"]),
        (TOLD, "change f3 to 8,000", ["Mia", "peanuts", "8,000 euros"]),
        (TOLD, "Forget that I'm allergic to peanuts, please.", ["Mia", "5,000 euros"]),
        (TOLD, "Remove the peanuts from your memory.", ["Mia", "5,000 euros"]),
        (TOLD, "forget f2 and f3", ["Mia"]),
        (TOLD, "wipe your memory", ["Mia", "peanuts", "5,000 euros"]),  # it asks for a topic
        (TOLD_ZH, "是8000，不是5000", ["米娅", "花生", "8000元"]),
        (TOLD_ZH, "我的预算不是5000元，是8000元", ["米娅", "花生", "8000元"]),
        (TOLD_ZH, "预算不对，应该是8000", ["米娅", "花生", "8000元"]),
        (TOLD_ZH, "请忘记我对花生过敏", ["米娅", "5000元"]),
        (TOLD_ZH, "别再记得花生的事", ["米娅", "5000元"]),
        (TOLD_ZH, "把f2和f3删掉", ["米娅"]),
        (TOLD_ZH, "清空你的记忆", ["米娅", "花生", "5000元"]),
    ],
)
def test_what_people_ask_in_odd_words_is_done_and_nothing_else(ana: LongTerm, told, said, left):
    ana.write(told, at=AT)
    assert handle(said, ana)
    assert values(ana) == left


@pytest.mark.parametrize(
    "said",
    ["Remove the peanuts from the recipe.", "It is hot, not cold.", "It's 12 points, not 14.", "I said no.", "删除文件",
     "是12点，不是14点"],
)  # fmt: skip
def test_what_is_said_of_something_else_reaches_no_fact(ana: LongTerm, said):
    ana.write(TOLD, at=AT)
    assert handle(said, ana) is None
    assert values(ana) == ["Mia", "peanuts", "5,000 euros"]
