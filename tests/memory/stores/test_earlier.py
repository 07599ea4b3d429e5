"""Questions like this one, asked before: what each found and brought, and nobody else's."""

import pytest
from store_by_hand import Hand, open_hand

from memory.earlier import earlier
from memory.errors import BadMessage, BadSetting, NotFound
from memory.events import Candidate, PagePagedIn, PagesUsed, StepFinished
from memory.models.embedding import named
from memory.scope import Scope
from memory.stores.embedded import reindex
from memory.stores.sql import Store


def brings(hand: Hand, words: str, page: int, *, used: bool) -> None:
    """A step without a search of its own that brings a page back, as a recording's recall does."""
    hand.receive(words)
    hand.add(PagePagedIn(page, "recorded", 30, False, hand.state.step))
    if used:
        hand.add(PagesUsed((Candidate(page, 0.9),)))
    hand.add(StepFinished({}))
    hand.commit()


@pytest.fixture
def trip(store):
    """Long enough that searches were logged, then two messages that brought a page without one."""
    hand = open_hand(store, Scope("ana", "trip"), seed=5)
    hand.talk(30)
    brings(hand, "How large was the budget for the zeppelin?", 1, used=True)
    brings(hand, "Which budget did the zeppelin have in May?", 2, used=False)
    return store


def test_a_search_is_told_with_what_it_found_and_what_came_in(trip):
    found = earlier(trip, "ana", "what of page 3?")
    best = found.rows[0]
    assert best.question.startswith("what of page")
    assert (best.kind, best.by) == ("search", "message")
    assert len(best.found) == 1
    assert best.outcome in {"used", "unused", "found"}
    step = [e.body for e in trip.events(Scope("ana", "trip")) if e.step == best.step]
    assert best.came == tuple(dict.fromkeys(b.page for b in step if isinstance(b, PagePagedIn)))


def test_a_message_that_brought_a_page_says_whether_the_reply_used_it(trip):
    rows = {r.question: r for r in earlier(trip, "ana", "the budget of the zeppelin").rows if r.kind == "message"}
    taken = rows["How large was the budget for the zeppelin?"]
    left = rows["Which budget did the zeppelin have in May?"]
    assert (taken.came, taken.used, taken.outcome) == ((1,), (1,), "used")
    assert (left.came, left.used, left.outcome) == ((2,), (), "unused")


def test_without_an_embedder_words_are_compared_and_it_says_so(trip):
    by_words = earlier(trip, "ana", "the budget of the zeppelin")
    assert by_words.embedder == ""
    assert "no vectors" in by_words.compared
    reindex(trip, named("hash"))
    by_meaning = earlier(trip, "ana", "the budget of the zeppelin")
    assert by_meaning.embedder == named("hash").identity
    assert by_meaning.note == ""
    assert all(-1 <= row.score <= 1.001 for row in by_meaning.rows)


@pytest.mark.parametrize("embedded", [False, True])
def test_another_users_questions_never_come(trip, embedded):
    others = {"bo": "canary1", "Ana": "canary2", "x' OR '1'='1": "canary3"}
    for user, canary in others.items():
        other = open_hand(trip, Scope(user, "trip"), seed=5)
        other.talk(12, about=f"{canary} and the zeppelin")
        brings(other, f"What is {canary}, and the budget of the zeppelin?", 1, used=True)
    if embedded:
        reindex(trip, named("hash"))
    for user, own in {"ana": "peanuts", **others}.items():
        said = " ".join(r.question for r in earlier(trip, user, "canary1 canary2 canary3 budget zeppelin", k=50).rows)
        assert "zeppelin" in said
        assert not [canary for canary in others.values() if canary in said and canary != own]


def test_a_conversation_can_be_named_and_each_moment_comes_once(trip):
    brings_to = open_hand(trip, Scope("ana", "work"), seed=1)
    brings_to.talk(12)
    brings(brings_to, "And the budget for the zeppelin at work?", 1, used=True)
    rows = earlier(trip, "ana", "budget zeppelin", k=50).rows
    assert {r.conversation for r in rows} == {"trip", "work"}
    assert len({(r.conversation, r.turn) for r in rows}) == len(rows)
    assert {r.conversation for r in earlier(trip, "ana", "budget zeppelin", conversation="work").rows} == {"work"}
    assert len(earlier(trip, "ana", "budget zeppelin", k=1).rows) == 1


def test_what_cannot_be_asked_is_told(trip):
    with pytest.raises(BadMessage, match="no words"):
        earlier(trip, "ana", "  ")
    with pytest.raises(BadSetting, match="at least 1"):
        earlier(trip, "ana", "budget", k=0)
    with Store.open(trip.path, readonly=True) as only, pytest.raises(NotFound, match="workbench rebuild"):
        earlier(only, "ana", "budget")


def test_it_shows_itself_as_text(trip):
    found = earlier(trip, "ana", "<script>alert(1)</script> zeppelin")
    assert "<script>" not in found._repr_html_()
    assert found.to_dict()["compared"] == found.compared
    assert set(found.to_df()["kind"]) <= {"search", "message"}
