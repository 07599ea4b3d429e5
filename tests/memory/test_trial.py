"""A change, tried: the prompt without it and with it, and what came by it."""

import pytest

from memory.case import open_case
from memory.errors import NotFound
from memory.expected import looked_for
from memory.trial import trial
from memory.why import judged

CHATTER = "the weather is fine today, and some more words about rivers and museums fill the window" * 4
QUESTION = "Where does the blue suitcase stand, in which locker?"


@pytest.fixture
def trip(opened):
    engine = opened(min_coverage=0.2)
    engine.say("My budget for the trip is 5,000 euros. The blue suitcase stands in locker 77.")
    for i in range(12):
        engine.say(f"Let us talk of drawer {i}: it has {1_000 + i} pins; {CHATTER}.")
    return engine


def case_of(engine, expected, question=QUESTION):
    return open_case(engine.store, engine.scope, looked_for(expected), question, None, None)


def test_the_smallest_change_brings_the_page_that_holds_the_words(trip):
    case = case_of(trip, "blue suitcase locker 77")
    verdict = judged(case)
    assert verdict.remedy.settings == {"retrieve_k": 1}
    found = trial(case, verdict.carriers, verdict.remedy.change)
    came = [part for part in found.parts if part.state == "came" and part.section == "recalled"]
    assert [part.name for part in came] == [verdict.remedy.carrier]
    assert all(part.holds for part in came)
    assert found.after_tokens == sum(part.after for part in found.parts)
    assert found.before_tokens == sum(part.before for part in found.parts)


def test_the_prompt_is_what_the_engine_reads_once_the_setting_is_made(trip):
    case = case_of(trip, "blue suitcase locker 77")
    verdict = judged(case)
    found = trial(case, verdict.carriers, verdict.remedy.change)
    trip.change(**verdict.remedy.settings)
    trip.say(QUESTION)
    recalled = {part.page for part in found.parts if part.section == "recalled" and part.after}
    events = [e.body for e in trip.store.events(trip.scope, kinds=["PagePagedIn"]) if e.step == trip.state.step]
    assert {body.page for body in events} == recalled


def test_a_keyword_or_a_recall_is_no_setting(trip):
    verdict = judged(case_of(trip, "blue suitcase locker 77"))
    by_name = next(r for r in verdict.remedies if r.change.startswith("recall p"))
    assert by_name.settings == {}


def test_a_change_that_nobody_tries_is_refused_and_names_those_there_are(trip):
    case = case_of(trip, "blue suitcase locker 77")
    with pytest.raises(NotFound, match="retrieve_k=1"):
        trial(case, judged(case).carriers, "window_tokens=1")
