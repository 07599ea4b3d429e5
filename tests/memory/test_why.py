"""Why was it not recalled? The stage at which it fell, and a change that was seen to help."""

import pytest

from memory.carriers import STAGES
from memory.case import events_of_step
from memory.errors import BadMessage, NotFound
from memory.expected import looked_for
from memory.facts import Candidate
from memory.reach import holding, words_of
from memory.steps import Step, places
from memory.why import why

CHATTER = (
    "the weather is fine today, and some more words about rivers and museums fill the window with nothing much" * 3
)


def chat(engine, count=12):
    for i in range(count):
        engine.say(f"Let us talk of drawer {i}: it has {1_000 + i} pins; {CHATTER}.")


def asked(engine, expected, question="", turn=None):
    return why(engine.store, engine.scope, expected, question, turn)


def read_by_the_model(engine, expected):
    """Whether the last step's prompts hold the words."""
    version = engine.store.require(engine.scope).version
    step = Step(engine.state.step, events_of_step(engine.store, engine.scope, version, engine.state.step))
    return bool(places(step, holding(looked_for(expected), words_of(engine.store, engine.scope).__getitem__)))


@pytest.fixture
def trip(opened):
    """A budget and an allergy, then so much talk that they have left the window."""
    engine = opened(min_coverage=0.2)
    engine.say("My budget for the trip is 5,000 euros. The blue suitcase stands in locker 77.")
    engine.say("I am allergic to peanuts.")
    chat(engine)
    return engine


# ── each stage ────────────────────────────────────────────────────────────────────────────────────────


def test_what_was_never_said_was_never_written_and_nothing_is_tried(trip):
    verdict = asked(trip, "moon landing")
    assert (verdict.stage, verdict.remedies) == ("written", ())
    assert "never written" in repr(verdict)


def test_the_nearest_turn_says_what_it_lacks(trip):
    verdict = asked(trip, "blue suitcase locker 88")
    assert verdict.stage == "written"
    assert "turn 1 comes nearest and lacks 88" in verdict.stage_of("written").evidence[0].says


def test_what_was_said_later_is_told_as_later(trip):
    trip.say("The red umbrella hangs in the hall.")
    said = trip.state.user_turn
    verdict = asked(trip, "red umbrella hall", turn=5)
    assert verdict.stage == "written"
    assert f"first said later, at turn {said}" in verdict.line


def test_what_was_said_in_another_conversation_names_it_and_no_other_users(opened, trip):
    other = opened(conversation="work")
    other.say("The green stapler lies under the piano.")
    stranger = opened(user="bob", conversation="secret")
    stranger.say("The green stapler lies under the piano, says the canary.")
    verdict = asked(trip, "green stapler piano")
    says = [e.says for e in verdict.stage_of("written").evidence]
    assert any("'work'" in each for each in says)
    assert "secret" not in str(verdict.to_dict())
    assert "canary" not in str(verdict.to_dict())


def test_the_ledger_tells_what_was_made_of_the_turn(trip):
    says = [e.says for e in asked(trip, "allergic peanuts").stage_of("written").evidence]
    assert any("read by rules" in each and "stored f" in each for each in says)
    says = [e.says for e in asked(trip, "drawer 3 pins").stage_of("written").evidence]
    assert any("none, no fact" in each for each in says)


def test_a_page_that_nobody_asked_for_would_come_by_a_search(trip):
    verdict = asked(trip, "blue suitcase locker 77", "Where does the blue suitcase stand, in which locker?")
    assert verdict.stage == "ranked"
    assert "nobody asked" in verdict.says
    assert verdict.remedy.change == "retrieve_k=1"


def test_a_page_below_the_threshold_says_by_how_much(trip):
    trip.change(retrieve_k=1, min_coverage=0.9)
    question = "Which locker number was it again that I told you about, for the big old bag?"
    verdict = asked(trip, "blue suitcase locker 77", question)
    assert verdict.stage == "ranked"
    assert "below the threshold by 0." in repr(verdict)
    lower = next(r for r in verdict.remedies if r.change.startswith("min_coverage="))
    assert lower.works
    assert 0 < float(lower.change.partition("=")[2]) < 0.9


def test_a_page_of_a_lower_rank_needs_a_larger_k(trip):
    trip.change(retrieve_k=1)
    verdict = asked(trip, "drawer 1 pins", "How many pins has drawer 4, is it 1,004?")
    assert verdict.stage == "ranked"
    assert verdict.remedy.change.startswith("retrieve_k=")


def test_a_fact_of_a_lower_rank_or_below_the_threshold(trip):
    trip.change(facts_coverage=0.9)
    verdict = asked(trip, "peanuts", "Is there any allergy to bread, butter or peanuts?")
    assert verdict.stage == "ranked"
    assert any(r.works and r.change.startswith("facts_coverage=0.") for r in verdict.remedies)
    trip.change(facts_coverage=0.1, facts_k=1)
    verdict = asked(trip, "peanuts", "Does my budget of 5,000 euros for the trip pay for peanuts?")
    assert verdict.stage == "ranked"
    assert any(r.works and r.change == "facts_k=2" for r in verdict.remedies)


def test_a_fact_without_room_needs_more_tokens(trip):
    trip.change(facts_tokens=85)
    entry = (
        "The dentist is Dr. Osterholz, whose practice lies in the old town between the river, a museum and a bank."
    )
    trip.memory.write(Candidate(entry, 0, len(entry)))
    verdict = asked(trip, "dentist Osterholz", "Who is the dentist in the old town?")
    assert verdict.stage == "budget"
    assert verdict.remedy.change.startswith("facts_tokens=")


def test_facts_that_are_switched_off_are_out_of_scope(trip):
    trip.change(facts_tokens=0, min_coverage=1, min_margin=1)
    verdict = asked(trip, "peanuts", "May I eat peanuts?")
    facts = next(c for c in verdict.carriers if c.fact)
    assert facts.stage == "scope"
    assert any(r.works and r.change.startswith("facts_tokens=") for r in verdict.remedies)


def test_a_superseded_fact_names_the_change_and_its_undo(trip):
    trip.memory.write("My budget for the trip is 8,000 euros.")
    trip.change(min_coverage=1, min_margin=1)
    verdict = asked(trip, "budget 5000 euros", "What is the budget for the trip?")
    assert verdict.stage == "superseded"
    assert "replaced by" in verdict.says
    undo = next(r for r in verdict.remedies if r.change.startswith("undo of change"))
    assert undo.works


def test_an_undo_that_is_refused_names_what_depends_on_it(trip):
    trip.memory.write("My budget for the trip is 8,000 euros.")
    trip.memory.write("My budget for the trip is 9,000 euros.")
    verdict = asked(trip, "budget 5000 euros", "What is the budget for the trip?")
    undo = next(r for r in verdict.remedies if r.change.startswith("undo of change"))
    assert not undo.works
    assert "undo those first" in undo.says


def test_another_conversations_working_fact_may_not_be_read(opened, trip):
    other = opened(conversation="work")
    other.memory.write(Candidate("The report draft is on page 12.", 0, 31, kind="task", layer="working"))
    verdict = asked(trip, "report draft page 12", "Where am I with the report draft?")
    assert verdict.stage == "scope"
    assert "'work'" in verdict.says
    assert any(r.works and "semantic layer" in r.change for r in verdict.remedies)


def test_what_stood_in_the_prompt_was_used_or_not(opened):
    mute = opened("I would not know.", conversation="mute")
    mute.say("My budget for the trip is 5,000 euros.")
    mute.say("What is the budget?")
    verdict = asked(mute, "budget 5000")
    assert (verdict.stage, verdict.in_prompt) == ("prompt", True)
    assert "unused" in repr(verdict)
    frank = opened("Your budget is 5,000 euros.", conversation="frank")
    frank.say("My budget for the trip is 5,000 euros.")
    frank.say("What is the budget?")
    verdict = asked(frank, "budget 5000")
    assert verdict.stage == ""
    assert all(stage.passed for stage in verdict.stages)


# ── what is promised of every verdict ─────────────────────────────────────────────────────────────────


def test_the_stages_stop_at_the_first_that_failed_and_list_all(trip):
    for expected in ("moon landing", "drawer 3 pins", "peanuts"):
        verdict = asked(trip, expected, "What about my allergies and drawers?")
        assert [stage.name for stage in verdict.stages] == list(STAGES)
        marks = [stage.passed for stage in verdict.stages]
        if verdict.stage:
            place = STAGES.index(verdict.stage)
            assert marks == [True] * place + [False] + [None] * (len(STAGES) - place - 1)


@pytest.mark.parametrize(
    ("settings", "expected", "question"),
    [
        ({}, "blue suitcase locker 77", "Where does the blue suitcase stand, in which locker?"),
        ({"retrieve_k": 1}, "drawer 1 pins", "How many pins has drawer 4, is it 1,004?"),
        ({"retrieve_k": 1, "min_coverage": 0.9}, "locker 77", "Which locker was it again, for the big old bag?"),
        ({"facts_coverage": 0.9, "min_coverage": 1}, "peanuts", "Any allergy to bread, butter or peanuts?"),
    ],
)
def test_what_the_verdict_names_does_bring_it_back(trip, settings, expected, question):
    trip.change(**settings)
    setting = next(r for r in asked(trip, expected, question).remedies if r.works and "=" in r.change)
    changes = dict(each.split("=") for each in setting.change.split(", "))
    trip.say(question)
    before = read_by_the_model(trip, expected)
    trip.change(**{name: float(value) for name, value in changes.items()})
    trip.say(question)
    assert (before, read_by_the_model(trip, expected)) == (False, True)


def test_a_recorded_step_and_the_same_question_rehearsed_agree(trip):
    question = "Where does the blue suitcase stand, in which locker?"
    ahead = asked(trip, "blue suitcase locker 77", question)
    trip.say(question)
    after = asked(trip, "blue suitcase locker 77")
    assert (ahead.rehearsed, after.rehearsed) == (True, False)
    assert (ahead.stage, ahead.remedy.change) == (after.stage, after.remedy.change)


def test_nothing_is_written(trip):
    before = trip.store.last_seq()
    asked(trip, "blue suitcase locker 77", "Where is it?")
    assert trip.store.last_seq() == before


def test_a_verdict_shows_text_only(trip):
    trip.say("The <script>alert(1)</script> suitcase is <b>yellow</b>.")
    verdict = asked(trip, "script yellow suitcase", "<img src=x>")
    html = verdict._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;" in html


def test_bad_questions_are_refused(trip, opened):
    with pytest.raises(BadMessage):
        asked(trip, " … ")
    with pytest.raises(NotFound):
        asked(trip, "budget", turn=9_999)
    with pytest.raises(NotFound, match="nothing was said"):
        asked(opened(conversation="new"), "budget 8000")


def test_in_chinese(opened):
    engine = opened(conversation="shop")
    engine.say("我的预算是八千元。")
    engine.say("我对花生过敏。")
    for i in range(12):
        engine.say(
            f"我们来聊第{i}个抽屉，{'里面有很多回形针，今天天气不错，河边的博物馆也开门了，' * 4}"
        )
    engine.say("我对什么过敏？")
    assert asked(engine, "花生过敏").in_prompt
    verdict = asked(engine, "花生过敏", "茶点里可以放花生吗？")
    assert verdict.stage == "ranked"
    assert verdict.remedy is not None
