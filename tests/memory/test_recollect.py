from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.fact_events import TurnRemembered
from memory.facts import FOREVER, Belief, Candidate, Fact, digest
from memory.knowledge import Knowledge
from memory.recollect import MANY, MISSES, FactFinder, choose, recollect
from memory.settings import Settings
from tests.memory.facts_by_hand import Mind, day

NOW = day(1_000)
S = Settings()


@pytest.fixture
def mind() -> Mind:
    mind = Mind()
    mind.says(1, "5000 euros")
    mind.says(2, "Lyon", attribute="home city", text="The user lives in Lyon.")
    mind.likes(3, "jazz", text="The user likes jazz.")
    mind.likes(4, "green tea", text="The user likes green tea.")
    return mind


def finder_of(mind: Mind) -> FactFinder:
    return FactFinder(lambda number: mind.words[number])


def found(mind: Mind, question: str, most: int = 5, **rest) -> list[str]:
    rest = {"now": NOW, **rest}
    got = recollect(finder_of(mind), mind.k, question, most, S, **rest)
    return [mind.words[f.value] for f in got.found]


# ── which facts answer ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the budget?", ["5000 euros"]),
        ("Where do I live?", ["Lyon"]),
        ("Do I like jazz?", ["jazz"]),
        ("What is the capital of Peru?", []),
        ("Thanks, good night!", []),
        ("?", []),
        ("", []),
    ],
)
def test_a_question_brings_what_answers_it_and_nothing_else(mind, question, expected):
    assert found(mind, question) == expected


def test_nothing_is_found_where_nothing_is_known():
    got = recollect(finder_of(Mind()), Knowledge(), "What is the budget?", 5, S, now=NOW)
    assert (got.found, got.hits, got.misses) == ((), (), ())


def test_what_was_not_found_says_by_how_much_it_missed(mind):
    got = recollect(finder_of(mind), mind.k, "A budget for flights and hotels in spring?", 1, S, now=NOW)
    assert [(h.page, h.stage) for h in got.misses] == [(1, "threshold")]
    assert "of what is asked (facts_coverage" in got.misses[0].dropped
    got = recollect(finder_of(mind), mind.k, "jazz or green tea?", 0, S, now=NOW)
    assert {h.stage for h in got.misses} == {"rank"}


def test_what_is_over_is_found_only_as_of_then(mind):
    mind.says(9, "8000 euros")
    assert found(mind, "the budget?") == ["8000 euros"]
    assert found(mind, "the budget?", valid=day(3)) == ["5000 euros"]
    assert found(mind, "the budget?", valid=day(0)) == []
    assert set(found(mind, "the budget?", recorded=mind.now)) == {"5000 euros", "8000 euros"}


def test_what_ends_later_is_found_until_then(mind):
    mind.says(9, "Paris", attribute="home city", text="The user lives in Paris.", valid_from=day(50))
    assert set(found(mind, "Where do I live?", now=day(49))) == {"Lyon", "Paris"}
    assert found(mind, "Where do I live?", now=day(50)) == ["Paris"]


def test_layers_and_conversations_are_kept_apart(mind):
    mind.says(5, "three", attribute="report", text="The report is at step three.", layer="working", conversation="a")
    assert found(mind, "the report step?", conversation="a") == ["three"]
    assert found(mind, "the report step?", conversation="b") == found(mind, "the report step?") == []
    assert found(mind, "the budget?", layers=["episodic"]) == []


def test_a_fact_is_found_by_what_people_ask_with_in_chinese(mind):
    mind.says(5, "上海", attribute="home city", text="用户住在上海。")
    mind.says(6, "小雨", attribute="name", text="用户的名字是小雨。")
    assert found(mind, "我住在哪里？") == ["上海"]
    assert found(mind, "我叫什么名字？") == ["小雨"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How much can I spend?", ["5000 euros"]),
        ("Can I afford it?", ["5000 euros"]),
        ("我能花多少钱？", ["5000 euros"]),
        ("What hobbies do I have?", ["green tea", "jazz"]),
        ("How should you answer me?", ["very detailed"]),
        ("我希望你怎么回答？", ["very detailed"]),
        ("What does the ticket cost?", []),
        ("What is the interest rate?", []),
    ],
)
def test_a_fact_is_found_by_other_words_than_its_own(mind, question, expected):
    mind.says(5, "very detailed", attribute="reply style", text="The user's reply style is very detailed.")
    assert found(mind, question) == expected


def test_a_question_in_one_language_finds_a_fact_in_the_other_by_what_it_is_about(mind):
    mind.says(5, "成都", attribute="home city", text="用户住在成都。")
    mind.says(6, "团子", attribute="cat", single=False, text="用户的猫是团子。")
    mind.says(7, "a nurse", attribute="job", text="The user's job: a nurse.")
    assert found(mind, "Where do I live?") == ["成都"]
    assert found(mind, "What is my cat called?") == ["团子"]
    assert found(mind, "我的工作是什么？") == ["a nurse"]
    assert found(mind, "What do I do for a living?") == ["a nurse"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("我的猫叫什么名字？", "团子"),
        ("我妹妹叫什么名字？", "林月"),
        ("我平时喝什么？", "绿茶"),
        ("茶馆定在哪天开业？", "7月4日"),
        ("我叫什么名字？", "林晓"),
    ],
)
def test_chinese_asks_with_single_characters_and_around_the_name_of_a_thing(question, expected):
    mind = Mind()
    mind.says(1, "林晓", attribute="name", text="用户的名字是林晓。")
    mind.says(2, "团子", attribute="cat", single=False, text="用户的猫是团子。")
    mind.says(3, "林月", attribute="sister", single=False, text="用户的姐妹是林月。")
    mind.says(4, "绿茶", attribute="drinks", single=False, text="用户喝绿茶。")
    mind.says(5, "7月4日", attribute="opening date", text="用户的开业日期是7月4日。")
    assert found(mind, question)[0] == expected


words = st.lists(
    st.sampled_from(["alpha", "bravo", "carrot", "delta", "echo", "foxtrot", "gamma", "hotel"]), min_size=1, max_size=4
)


@given(st.lists(words, min_size=1, max_size=12), words, st.floats(0.1, 0.9))
def test_looking_at_common_words_last_loses_no_answer(texts, question, limit):
    mind = Mind()
    for n, each in enumerate(texts):
        mind.likes(n, f"{n} {' '.join(each)}")
    settings = S.but(facts_coverage=limit)
    asked = " ".join(question)
    whole = recollect(finder_of(mind), mind.k, asked, 50, settings, now=NOW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memory.recollect.MANY", 0)
        pruned = recollect(finder_of(mind), mind.k, asked, 50, settings, now=NOW)
    assert pruned.hits == whole.hits


def test_among_thousands_only_the_nearest_misses_are_told():
    mind, k = Mind(), Knowledge()
    for n in range(1, MANY + 101):
        text = mind.write(f"The user likes thing number {n}")
        fact = Fact(n, text, "k", digest(str(n)), beliefs=(Belief(day(0), FOREVER, day(0)),))
        k.facts[n] = fact
    got = recollect(finder_of(mind), k, "What number is the thing called zebra?", 5, S, now=NOW)
    assert len(got.hits) <= 5
    assert len(got.misses) <= MISSES


def test_an_index_grows_with_what_is_known(mind):
    finder = finder_of(mind)
    assert recollect(finder, mind.k, "my piano teacher?", 5, S, now=NOW).found == ()
    mind.says(9, "Bob", attribute="piano teacher", text="The user's piano teacher is Bob.")
    assert [f.id for f in recollect(finder, mind.k, "my piano teacher?", 5, S, now=NOW).found] == [5]


def test_near_are_texts_without_attribute_that_share_half_of_their_words():
    mind = Mind()
    for n, words in enumerate(("Take the train to Lisbon", "Take the bus to Lisbon", "Buy a blue piano")):
        mind.hear(Candidate(words, 0, len(words)), day(n))
    mind.says(5, "the train to Lisbon", attribute="plan")
    near = finder_of(mind).near(mind.k, Candidate("Take the train to Lisbon today", 0, 1))
    assert [words for _, words in near] == ["Take the train to Lisbon", "Take the bus to Lisbon"]


# ── which stand in the prompt ─────────────────────────────────────────────────────────────────────────


def chosen(mind: Mind, question: str, room: int = 1_000, present=lambda fact: False, conversation: str = "a"):
    got = recollect(finder_of(mind), mind.k, question, 5, S, now=NOW, conversation=conversation)
    return choose(mind.k, got, room, present, conversation, NOW)


def test_what_matches_is_placed_and_what_does_not_says_where_it_was_dropped(mind):
    placed = chosen(mind, "Is there jazz on green boats in Vienna?")
    assert [(p.fact, p.why, p.stage) for p in placed] == [(3, "match", "threshold"), (4, "match", "threshold")]
    assert [(p.fact, p.why, p.stage) for p in chosen(mind, "Do I like jazz?")] == [(3, "match", "")]


def test_weighty_facts_come_unasked_until_they_are_over(mind):
    mind.says(5, "Mia", attribute="name", importance=0.9)
    assert [(p.fact, p.why) for p in chosen(mind, "Good morning")] == [(5, "hot")]
    mind.says(6, "Maria", attribute="name", importance=0.9)
    assert [p.fact for p in chosen(mind, "Good morning")] == [6]
    mind.says(7, "Zoe", attribute="name", importance=0.9, layer="episodic")
    assert [p.fact for p in chosen(mind, "Good morning")] == []  # what happened comes only when it is asked for


def test_the_core_facts_are_ranked_once_as_long_as_no_fact_changes(mind):
    mind.says(5, "Mia", attribute="name", importance=0.9)
    assert "profile" not in mind.k.__dict__
    chosen(mind, "Good morning")
    ranked = mind.k.__dict__["profile"]
    chosen(mind, "Do I like jazz?", conversation="b")
    assert mind.k.profile is ranked
    mind.take([TurnRemembered("a", 99, "rules", (), 0, day(7))])  # of which no fact came
    assert mind.k.profile is ranked
    mind.says(6, "Maria", attribute="name", importance=0.9)
    assert mind.k.profile is not ranked


def test_what_stands_in_the_window_or_has_no_room_is_left_out_with_its_reason(mind):
    assert [p.stage for p in chosen(mind, "Do I like jazz?", present=lambda fact: fact.id == 3)][:1] == ["window"]
    (first, *_) = chosen(mind, "Do I like jazz?", room=5)
    assert (first.stage, first.dropped) == ("budget", f"{first.tokens} tokens; 5 are left")


def test_what_holds_is_said_again_where_what_it_replaced_stands_in_the_window_too(mind):
    """Leeds in one turn, Bradford in another: who reads both is told which is true."""
    mind.says(9, "8000 euros")
    both, newer_alone = (lambda fact: True), (lambda fact: fact.id == 5)
    assert [(p.fact, p.stage) for p in chosen(mind, "What is the budget?", present=both)][:1] == [(5, "")]
    assert [(p.fact, p.stage) for p in chosen(mind, "What is the budget?", present=newer_alone)][:1] == [(5, "window")]
    liked = [p for p in chosen(mind, "Do I like jazz?", present=both) if p.fact == 3]
    assert [p.stage for p in liked] == ["window"]  # other likes take nothing from it


def in_dispute(mind: Mind, **rest) -> None:
    mind.says(20, "Monday", attribute="weekly report", conversation="a", seen=0, **rest)
    mind.says(20.001, "Tuesday", attribute="weekly report", conversation="b", seen=0)


def test_a_conflict_comes_as_a_pair_also_where_one_side_alone_matches_or_stands_in_the_window(mind):
    in_dispute(mind)
    for present in (lambda fact: False, lambda fact: True):
        placed = [p for p in chosen(mind, "Is the weekly report on Monday?", present=present) if not p.stage]
        assert [(p.fact, p.why) for p in placed] == [(5, "conflict"), (6, "conflict")]
    assert [p.fact for p in chosen(mind, "Good morning")] == []


def test_a_conflict_does_not_come_unasked_however_weighty(mind):
    in_dispute(mind, importance=1.0)
    assert [p.fact for p in chosen(mind, "Good morning") if not p.stage] == []


def test_a_side_of_another_conversations_work_is_no_side_here(mind):
    in_dispute(mind)
    fact = mind.k.facts[5]
    mind.k = replace(mind.k, facts={**mind.k.facts, 5: replace(fact, layer="working", conversation="a")})
    assert [p.fact for p in chosen(mind, "the weekly report?", conversation="b") if not p.stage] == [6]
