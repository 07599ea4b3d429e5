import pytest

from memory.errors import BadSetting
from memory.facts import Candidate
from memory.pages import Bookmark, Page, PageTable
from memory.recollect import recollect
from memory.settings import Settings
from memory.state import State
from tests.memory.conftest import turn
from tests.memory.facts_by_hand import day
from tests.memory.graph_by_hand import Told

DICKENS = (
    "The author of Our Mutual Friend is Charles Dickens.",
    "Charles Dickens was born in the city of Portsmouth.",
    "The capital of France is Paris.",
)


def test_two_steps_find_what_a_search_for_the_question_s_words_does_not():
    told = Told("The author of Sidereus Nuncius is Galileo Galilei.", "Galileo Galilei died in the city of Arcetri.")
    question = "In what place did the writer of Sidereus Nuncius breathe his last?"
    found = recollect(told.finder, told.k, question, 5, Settings())
    assert 2 not in {f.id for f in found.found}
    walked = told.walk(question)
    assert walked.answer == told.k.facts[2]
    assert walked.facts[0] == walked.answer


def test_the_path_is_the_reason():
    first, second = Told(*DICKENS).walk("Where was the author of Our Mutual Friend born?").steps[:2]
    assert first.path == "f1 -author-> Charles Dickens -place of birth-> f2"
    assert second.path == "f1"


def test_the_score_is_the_sum_of_what_it_says_it_is_made_of():
    for step in Told(*DICKENS).walk("Where was the author of Our Mutual Friend born?").steps:
        assert step.score == pytest.approx(sum(share for _, share in step.shares), abs=1e-3)


@pytest.mark.parametrize("question", ["How do I bake bread?", "Is my car red?", "今天天气怎么样？", "", "?"])
def test_a_question_about_nothing_that_is_known_walks_nowhere_and_says_so(question):
    walked = Told(*DICKENS).walk(question)
    assert walked.steps == ()
    assert walked.note == "nothing that is remembered answers it"


# ── the kind of question steers ───────────────────────────────────────────────────────────────────────


def test_why_goes_along_causes():
    told = Told("I moved to Lyon because I work at Acme.", "I like jazz.", "My budget is 8000 euros.")
    walked = told.walk("Why did I move to Lyon?")
    assert walked.kind == "conclusion"
    job = next(f for f in told.k.facts.values() if told.words[f.attribute] == "employer")
    reason = next(step for step in walked.steps if step.fact == job)
    assert reason.path == "f1 <-causal- f2"


def test_what_happened_then_goes_along_time():
    told = Told("I decided to sell the car.", "I like jazz.", "I decided to buy a bike.")
    walked = told.walk("What happened then with the car?")
    assert walked.kind == "then"
    assert "f1 <-temporal- f3" in {step.path for step in walked.steps}


def test_a_comparison_brings_what_is_known_of_both_sides():
    told = Told("My sister Ann lives in Rome.", "My brother Tom lives in Berlin.", "I live in Lyon.")
    walked = told.walk("Compare where my sister and my brother live", 2)
    assert {told.words[f.value] for f in walked.facts} == {"Rome", "Berlin"}


# ── bounds ────────────────────────────────────────────────────────────────────────────────────────────


def hub() -> Told:
    """Twenty people who work at the one place that the question is about."""
    names = [f"{a}{b}" for a in ("Ann", "Bob", "Cy", "Dee") for b in ("ley", "man", "ton", "well", "wick")]
    return Told("The headquarters of Acme Works is located in the city of Lyon.",
                *(f"{name} is employed by Acme Works." for name in names))  # fmt: skip


@pytest.mark.parametrize(("hops", "neighbours"), [(0, 2), (1, 2), (2, 1), (2, 2), (2, 0)])
def test_a_walk_goes_no_farther_and_no_wider_than_it_may(hops, neighbours):
    walked = hub().walk("Which city is the headquarters of Acme Works in?", 50, hops=hops, neighbours=neighbours)
    seeds = [s for s in walked.steps if s.hops == 0]
    assert all(s.hops <= hops for s in walked.steps)
    assert len(walked.steps) <= len(seeds) * sum(neighbours**n for n in range(hops + 1))


@pytest.mark.parametrize("how", [{"hops": -1}, {"neighbours": -1}, {"most": 0}])
def test_a_walk_of_fewer_than_no_steps_is_refused_with_the_number(how):
    with pytest.raises(BadSetting, match=str(next(iter(how.values())))):
        Told(*DICKENS).walk("Who wrote Our Mutual Friend?", **how)


# ── what is walked ────────────────────────────────────────────────────────────────────────────────────


def test_what_is_over_is_not_walked_unless_its_time_is_asked_about():
    told = Told("I live in Paris.", "I live in Lyon.", "The capital of France is Paris.")
    question = "Which city do I live in?"
    assert [f.id for f in told.walk(question).facts][:1] == [2]
    assert 1 not in {f.id for f in told.walk(question, 50).facts}
    then = told.walk(question, 50, valid=day(1.5))
    assert then.answer == told.k.facts[1]
    assert 2 not in {f.id for f in then.facts}


def test_another_conversation_s_working_fact_is_never_walked():
    told = Told(*DICKENS)
    draft = Candidate("The draft about Charles Dickens is half done", 0, 20, subject="Charles Dickens",
                      attribute="progress", value="half done", layer="working")  # fmt: skip
    told.hear(draft, day(9), conversation="a")
    told.graph.take(told.k)
    question = "Tell me about Charles Dickens"
    assert 4 in {f.id for f in told.walk(question, 50, conversation="a").facts}
    assert 4 not in {f.id for f in told.walk(question, 50, conversation="b").facts}
    assert 4 not in {f.id for f in told.walk(question, 50).facts}


def test_bookmarks_are_entries():
    told = Told(*DICKENS, "I like jazz.")
    mark = told.write("concert,saxophone")
    first = Page(1, (turn(1), turn(2), turn(3)), closed=True)
    second = Page(2, (turn(4),), bookmark=Bookmark(mark, mark, 0, 4, "rarity"))
    told.paged(State(pages=PageTable.of([first, second])), "a")
    walked = told.walk("Which saxophone concert was it?")
    assert [step.path for step in walked.steps][:1] == ["b2 -> p2 -> f4"]


def test_what_says_the_same_comes_once_and_the_others_say_why_they_do_not():
    told = Told()
    for n, words in enumerate(
        ("The blue house by the sea is for sale again", "The blue house by the sea is for sale"), 1
    ):
        told.hear(Candidate(words, 0, 20), day(n))
    told.graph.take(told.k)
    assert len(told.k.facts) == 1 or len(told.walk("Is the blue house by the sea for sale?").steps) == 1


def test_a_walk_shows_itself_escaped_and_in_a_line():
    walked = Told("The author of <b>Bold</b> is Charles Dickens.").walk("Who is the author of <b>Bold</b>?")
    assert "<b>" not in walked._repr_html_()
    assert repr(walked) == "<Walk (plain): f1>"
    assert walked.to_dict()["answer"] == "f1"
