"""Rules decide first, the model what is left, and who decided is in the record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.cooperative import (
    KEPT,
    MAY_GO,
    MOST_ASKED,
    MUST_STAY,
    NAMED,
    OLD,
    QUESTIONS,
    Decision,
    Summary,
    Verdict,
    decide,
    named,
    read_ranking,
    read_verdict,
    reason,
    ruled,
)
from memory.errors import ModelTimeout, UnknownName
from memory.events import PageEvicted
from memory.eviction import UNDECIDED
from memory.pager import Said
from memory.pages import Page
from memory.settings import Settings
from tests.memory.conftest import pager_of, text_of, turn

SUMMARIES = [Summary(n, f"{2 * n - 1}-{2 * n}", f"about {n}") for n in (1, 2, 3)]


def page(number, importance=0.5, last=0):
    return Page(number, (turn(last or number),), closed=True, importance=importance, why_important="because")


def test_the_order_of_who_leaves_first():
    assert MAY_GO < OLD < NAMED < NAMED + 1 <= UNDECIDED < KEPT < MUST_STAY


def test_rules_say_who_must_stay_and_who_may_go():
    pages = [page(1, 0.9), page(2, 0.1), page(3), page(4, 1.0, last=4)]
    assert ruled(pages, 100, 0) == {
        1: Verdict(MUST_STAY, "rule", "because"),
        2: Verdict(MAY_GO, "rule", "because"),
        4: Verdict(MUST_STAY, "rule", "because"),
    }


@pytest.mark.parametrize(("old_turns", "decided"), [(0, set()), (50, {1}), (98, {1}), (99, set()), (10, {1, 2})])
def test_a_page_may_go_once_it_is_older_than_the_setting(old_turns, decided):
    verdicts = ruled([page(1), page(2, last=70)], 100, old_turns)
    assert set(verdicts) == decided
    assert all(v.by == "age" and "turns ago" in v.why for v in verdicts.values())


# ── what the model says ───────────────────────────────────────────────────────────────────────────────


def test_one_call_ranks_all_and_who_is_not_named_is_kept():
    prompts = []

    def ask(prompt, shape):
        prompts.append(prompt)
        assert shape["properties"]["leave"]["items"]["enum"] == ["p1", "p2", "p3"]
        return '{"leave": ["p3", "p1"]}'

    decision = decide(SUMMARIES, "What about Lisbon?", ask)
    assert len(prompts) == 1
    assert "p2 (turns 3-4): about 2" in prompts[0]
    assert "What about Lisbon?" in prompts[0]
    order = sorted(decision.verdicts, key=lambda n: decision.verdicts[n].score)
    assert order == [3, 1, 2]
    assert {v.by for v in decision.verdicts.values()} == {"model"}
    assert decision.raw == ""


@pytest.mark.parametrize(
    ("raw", "order"),
    [
        ('{"leave": ["p3", "p3", "p1"]}', [3, 1]),
        ('{"leave": ["p3", "p99", null, {"a": 1}, "p1-p2"]}', [3]),
        ('{"leave": [3, "page 1"]}', [3, 1]),
        ('<think>{no}</think>```json\n{"leave": ["p2",]}\n```', [2]),
    ],
)
def test_only_pages_that_were_offered_count(raw, order):
    assert read_ranking(raw, {1, 2, 3}) == (order, "")


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ("p3 first, then p1", "there is no JSON object"),
        ('{"leave": ["p3"', "breaks off"),
        ('{"leave": "p3"}', 'no list "leave"'),
        ('{"leave": []}', "none of the pages"),
        ('{"leave": ["p99"]}', "none of the pages"),
    ],
)
def test_an_answer_that_cannot_be_used_decides_nothing_and_is_kept(raw, error):
    decision = decide(SUMMARIES, "", lambda prompt, shape: raw)
    assert decision.verdicts == {}
    assert error in decision.fallback
    assert decision.raw == raw
    by, why = reason(1, decision.verdicts, decision.fallback)
    assert by == "fallback"
    assert why.endswith("the least recently used leaves")


def test_a_yes_or_no_each():
    answers = {1: '{"leave": true}', 2: '{"leave": "no"}', 3: "well"}
    asked = []

    def ask(prompt, shape):
        number = next(n for n in answers if f"p{n} (turns" in prompt)
        asked.append(number)
        return answers[number]

    decision = decide(SUMMARIES, "", ask, "verdicts")
    assert asked == [1, 2, 3]
    assert {n: v.score for n, v in decision.verdicts.items()} == {1: NAMED, 2: KEPT}
    assert "neither yes nor no" in decision.fallback
    assert decision.raw == "well"


@pytest.mark.parametrize(
    ("raw", "verdict"), [('{"leave": false}', False), ('{"leave": "Yes"}', True), ('{"leave": 1}', None), ("yes", None)]
)
def test_a_verdict_is_a_yes_a_no_or_nothing(raw, verdict):
    assert read_verdict(raw) is verdict


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_model_that_cannot_be_asked_decides_nothing(question):
    def ask(prompt, shape):
        raise ModelTimeout("late")

    assert decide(SUMMARIES, "", ask, question) == Decision(fallback="the model could not be asked (ModelTimeout)")


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_call_is_about_so_many_pages_at_the_most(question):
    many = [Summary(n, "1-2", "x") for n in range(1, 200)]
    calls = []

    def ask(prompt, shape):
        calls.append(prompt)
        return '{"leave": ["p1"]}' if question == "ranking" else '{"leave": true}'

    assert len(decide(many, "", ask, question).verdicts) == MOST_ASKED
    assert sum(prompt.count("(turns") for prompt in calls) == MOST_ASKED


@pytest.mark.parametrize("question", QUESTIONS)
@given(
    raw=st.text(st.characters(codec=None), max_size=60) | st.text(st.sampled_from('{}[]":,leav p123true'), max_size=40)
)
def test_whatever_comes_decides_about_offered_pages_only(question, raw):
    decision = decide(SUMMARIES, "x", lambda prompt, shape: raw, question)
    assert set(decision.verdicts) <= {1, 2, 3}
    assert decision.verdicts or decision.fallback


def test_an_unknown_question_is_named():
    with pytest.raises(UnknownName, match="no question of cooperative eviction named 'vote'; choose one of: ranking"):
        named("vote")
    with pytest.raises(UnknownName):
        pager_of(Settings.of(cooperative_asks="vote"))


# ── at work ───────────────────────────────────────────────────────────────────────────────────────────

SETTINGS = Settings.of(window_tokens=1_600, reply_tokens=100, boundary="fixed_4", eviction="cooperative")


def talk(pager, messages):
    for n, message in enumerate(messages):
        pager.receive(Said(message))
        pager.commit()
        pager.plan(message)
        pager.prompt()
        pager.reply(Said(text_of(60, seed=n), "assistant"))
        pager.settle()
        pager.commit()


def evictions(pager):
    return [e.body for e in pager.journal.events if isinstance(e.body, PageEvicted)]


FACTS = [f"Fact {n}: {text_of(60, seed=n)}" for n in range(16)]
GREETINGS = ["Hello!", "Thanks!"]


def test_without_a_model_the_rules_decide_and_the_rest_falls_back():
    pager = pager_of(SETTINGS.but(old_turns=0))
    talk(pager, ["Please remember: I am allergic to peanuts.", *FACTS])
    left = evictions(pager)
    assert left
    assert 1 in pager.state.resident
    assert {e.decided_by for e in left} == {"fallback"}
    assert left[0].page == 2
    assert left[0].why == "no model decides here: the least recently used leaves"


def test_an_old_page_goes_unasked():
    asked = []
    pager = pager_of(SETTINGS.but(old_turns=6))
    pager.consult = lambda pages, message: asked.append([p.number for p in pages]) or Decision(fallback="said nothing")
    talk(pager, FACTS)
    left = evictions(pager)
    assert left[0].decided_by == "age"
    assert "more than 6" in left[0].why
    assert all(1 not in pages for pages in asked)


def test_the_model_is_asked_only_where_rules_do_not_find_enough():
    asked = []

    def consult(pages, message):
        asked.append((len(pages), message))
        return Decision({p.number: Verdict(NAMED, "model", "the model lets it go") for p in pages})

    pager = pager_of(SETTINGS.but(old_turns=0))
    pager.consult = consult
    talk(pager, FACTS)
    left = evictions(pager)
    assert {e.decided_by for e in left} == {"model"}
    assert asked
    assert len(asked) < len(FACTS)
    assert all(message.startswith("Fact") for _, message in asked)


def test_it_is_never_asked_under_another_policy():
    pager = pager_of(SETTINGS.but(eviction="lru"))
    pager.consult = lambda pages, message: pytest.fail("asked")
    talk(pager, FACTS)
    assert {e.decided_by for e in evictions(pager)} == {""}
