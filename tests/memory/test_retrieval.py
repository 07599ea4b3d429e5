"""The one ranker: rules that every strategy keeps, what fusion adds, and a reason for every page that did not come."""

from __future__ import annotations

from dataclasses import replace
from time import thread_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import UnknownName
from memory.events import Candidate, PagesRetrieved, decode, encode
from memory.exchanges import Line, exchanges
from memory.models.embedding import Embedder, named
from memory.retrieval import RETRIEVAL, Compared, Index, Ranking, Verdict, Weighing, words

HASH = named("hash")
OPEN = Weighing(min_coverage=0, min_margin=-1)

TALK = {
    1: ["We painted the old fence together", "It took the whole afternoon"],
    2: ["I'm allergic to peanuts", "Then we skip the peanut sauce"],
    3: ["The budget is 8,000 dollars", "Not 9,000?"],
    4: ["今天玩成语接龙游戏", "我用GPT模型写攻略"],
    5: ["My cat is called Biscuit", "What a sweet name for a cat"],
}
MARKS = {1: "fence,painting", 2: "allergy,peanut", 3: "budget,8000", 4: "成语接龙,攻略", 5: "cat,Biscuit"}


def index_of(talk: dict[int, list[str]], embedder: Embedder | None = HASH, with_vectors: int = 99) -> Index:
    """Two turns a page; vectors for the first pages only, if so wanted."""
    index, turn = Index(), 0
    for page, texts in talk.items():
        lines = [Line(turn + n, ("user", "assistant")[(n - 1) % 2], text) for n, text in enumerate(texts, 1)]
        turn += len(texts)
        for line in lines:
            index.add(page, line.turn, line.text, line.label)
        if embedder and page <= with_vectors:
            for each in exchanges(lines):
                index.put(page, each.turn, embedder.passages([each.text])[0], each.part)
    return index


def talked(**options: object) -> Index:
    index = index_of(TALK, **options)  # type: ignore[arg-type]
    for page, keywords in MARKS.items():
        index.bookmark(page, keywords)
    return index


def ask(index: Index, question: str, k: int = 3, **options: object) -> Ranking:
    return index.rank(question, HASH.queries([question])[0], k, **options)  # type: ignore[arg-type]


# ── every strategy ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=RETRIEVAL)
def strategy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(("question", "page"), [("What about peanuts?", 2), ("Biscuit the cat", 5), ("成语接龙", 4)])
def test_the_right_page_comes_first(strategy: str, question: str, page: int) -> None:
    assert ask(talked(), question, strategy=strategy).pages[:1] == (page,)


def test_a_ranking_accounts_for_every_page(strategy: str) -> None:
    ranking = ask(talked(), "peanuts or a cat", k=1, strategy=strategy, weighing=OPEN)
    assert sorted(hit.page for hit in (*ranking.hits, *ranking.misses)) == [1, 2, 3, 4, 5]
    assert len(ranking.hits) == 1
    assert ranking.strategy == strategy
    for hit in (*ranking.hits, *ranking.misses):
        assert len(hit.raw) == len(hit.shares) == len(ranking.channels)
        assert sum(hit.shares) == pytest.approx(hit.score, abs=1e-3)
    assert not any(hit.stage or hit.dropped for hit in ranking.hits)
    assert all(miss.stage in ranking.stages and miss.dropped for miss in ranking.misses)
    left = list(ranking.stages.values())
    assert left == sorted(left, reverse=True)
    assert left[-1] == 1


def test_only_candidates_come(strategy: str) -> None:
    ranking = ask(talked(), "peanuts, cat", strategy=strategy, among={1, 3, 77}, weighing=OPEN)
    assert {hit.page for hit in (*ranking.hits, *ranking.misses)} <= {1, 3}
    assert ranking.stages["scope"] == 2


@pytest.mark.parametrize("question", ["", "?!…", "\ud800\0", "zebra xylophone quartz"])
def test_a_question_that_fits_nothing_brings_nothing_and_says_why(strategy: str, question: str) -> None:
    ranking = ask(talked(), question, strategy=strategy)
    assert ranking.pages == ()
    assert ranking.note


def test_an_empty_index_answers(strategy: str) -> None:
    ranking = ask(Index(), "anything", strategy=strategy)
    assert (ranking.hits, ranking.misses) == ((), ())
    assert ranking.note


def test_of_equal_pages_the_newest_comes_first(strategy: str) -> None:
    texts = ["pottery class clay", "fine"]
    index = index_of({1: ["tea", "no"], 2: texts, 3: ["rain", "yes"], 4: texts})
    for page in (2, 4):
        index.bookmark(page, "pottery")
    ranking = ask(index, "pottery class", k=2, strategy=strategy, weighing=replace(OPEN, duplicate=2))
    assert ranking.pages == (4, 2)


def test_a_near_duplicate_of_a_better_page_is_dropped(strategy: str) -> None:
    index = index_of(
        {1: ["pottery class with clay", "fine"], 2: ["pottery class, with clay", "Fine!"], 3: ["tea", "no"]}
    )
    for page in (1, 2):
        index.bookmark(page, "pottery")
    ranking = ask(index, "pottery class", k=2, strategy=strategy, weighing=OPEN)
    assert 2 in ranking.pages
    assert 1 not in ranking.pages
    (twin,) = (miss for miss in ranking.misses if miss.stage == "duplicate")
    assert twin.dropped == "it shares 1.00 of its words with p2, which stands higher (duplicate 0.8)"


def test_a_ranking_is_what_the_log_keeps(strategy: str) -> None:
    ranking = ask(talked(with_vectors=2), "peanuts", strategy=strategy)
    candidates = tuple(
        Candidate(hit.page, hit.score, hit.dropped, hit.turn, hit.stage, hit.raw, hit.shares)
        for hit in (*ranking.hits, *ranking.misses)
    )
    record = PagesRetrieved(
        1, "message", ranking.strategy, HASH.identity, 3, ranking.pages, ranking.channels, candidates,
        dict(ranking.stages), dict(ranking.thresholds), ranking.note, 1.0,
    )  # fmt: skip
    assert decode("PagesRetrieved", encode(record)) == (record, {})


some_talk = st.lists(st.lists(st.text("ab cd我们玩", max_size=12), min_size=1, max_size=4), max_size=5)


@given(
    some_talk, st.text("ab cd我们玩", max_size=12), st.integers(0, 4), st.integers(0, 5), st.sampled_from([*RETRIEVAL])
)
def test_any_talk_is_ranked(talk: list[list[str]], question: str, k: int, with_vectors: int, strategy: str) -> None:
    index = index_of(dict(enumerate(talk, 1)), with_vectors=with_vectors)
    ranking = ask(index, question, k, strategy=strategy)
    ranked = [hit.page for hit in (*ranking.hits, *ranking.misses)]
    assert len(ranking.hits) <= k
    assert sorted(ranked) == list(range(1, len(talk) + 1))
    assert all(np.isfinite((hit.score, *hit.raw, *hit.shares)).all() for hit in (*ranking.hits, *ranking.misses))
    assert [hit.score for hit in ranking.hits] == sorted((hit.score for hit in ranking.hits), reverse=True)


# ── names and functions ───────────────────────────────────────────────────────────────────────────────


def test_a_strategy_may_be_a_function_of_your_own() -> None:
    def only_the_first(seen: Compared, weighing: Weighing) -> Verdict:
        verdict = words(seen, weighing)
        return replace(verdict, out=seen.pages != 1, out_because="it is not the first", refused="")

    ranking = ask(talked(), "peanuts", strategy=only_the_first)
    assert (ranking.strategy, ranking.pages) == ("only_the_first", (1,))
    assert {miss.dropped for miss in ranking.misses} == {"it is not the first"}


def test_an_unknown_strategy_is_named_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="no retrieval strategy named 'bm25'; choose one of: bookmarks_first, fusion"):
        ask(talked(), "peanuts", strategy="bm25")


# ── words and vectors together ────────────────────────────────────────────────────────────────────────


def tiny(vectors: dict[int, list[float]], texts: tuple[str, ...] = ("tea", "rain", "snow", "wind")) -> Index:
    """One turn a page, with vectors made by hand."""
    index = Index()
    for page, text in enumerate(texts, 1):
        index.add(page, page, text)
        if page in vectors:
            index.put(page, page, vectors[page])
    return index


NEAR = np.array([1, 0, 0], dtype=np.float32)
SPREAD = {1: [0.0, 1, 0], 2: [0.0, 0, 1], 3: [0.6, 0.8, 0], 4: [0.95, 0, 0.312]}


def test_meaning_alone_brings_a_page_whose_words_are_others() -> None:
    ranking = tiny(SPREAD).rank("天气怎么样", NEAR, k=1)
    assert (ranking.pages, ranking.hits[0].turn) == ((4,), 4)
    assert ranking.thresholds["best_coverage_idf_share"] == 0
    assert ranking.thresholds["best_margin_way_to_1"] == pytest.approx((0.95 - 1.55 / 4) / (1 - 1.55 / 4), abs=1e-3)


def test_it_comes_only_if_it_stands_out() -> None:
    level = {page: [0.9, 0.436, 0] for page in SPREAD}
    ranking = tiny(level).rank("天气怎么样", NEAR)
    assert ranking.pages == ()
    assert ranking.note == (
        "the best page covers 0.00 of the question's words (min_coverage 0.3), "
        "and the nearest exchange stands out by 0.00 (min_margin 0.16)"
    )
    assert {miss.stage for miss in ranking.misses} == {"threshold"}
    assert ranking.stages == {"all": 4, "scope": 4, "threshold": 0}


def test_across_scripts_words_say_nothing_so_less_is_enough() -> None:
    some = {1: [0.0, 1, 0], 2: [0.0, 0, 1], 3: [0.0, 0.8, 0.6], 4: [0.3, 0, 0.954]}
    assert tiny(some).rank("天气怎么样", NEAR, k=1).pages == (4,)
    ranking = tiny(some).rank("Which weather?", NEAR, k=1)
    assert (ranking.pages, ranking.thresholds["min_margin_way_to_1"]) == ((), 0.3)


def test_words_alone_bring_it_too() -> None:
    level = {page: [0.9, 0.436, 0] for page in SPREAD}
    assert tiny(level).rank("rain", NEAR, k=1).pages == (2,)


def test_a_page_without_a_vector_yet_is_ranked_by_its_words() -> None:
    ranking = tiny({1: [0.0, 1, 0], 3: [0.6, 0.8, 0]}).rank("wind", NEAR, k=1)
    assert ranking.pages == (4,)
    assert ranking.note == "2 of 4 pages have no vector yet: ranked by words"


def test_without_vectors_words_decide_and_it_says_so() -> None:
    assert tiny({}).rank("wind", NEAR).note == "no page has a vector: ranked by words"
    ranking = tiny(SPREAD).rank("wind", None)
    assert (ranking.pages, ranking.note) == ((4,), "the question has no vector: ranked by words")
    assert ranking.channels == ("words",)


def test_a_rank_says_by_how_much_it_was_missed() -> None:
    ranking = tiny(SPREAD).rank("rain", NEAR, k=1)
    (first, *rest) = ranking.misses
    assert first.stage == "rank"
    assert first.dropped == f"rank 2 > k=1: {ranking.hits[0].score - first.score:.2f} below the last that came"
    assert [miss.dropped.split(" >")[0] for miss in rest] == ["rank 3", "rank 4"]


def test_recency_and_use_weigh_in_when_asked_to() -> None:
    index = tiny({}, ("green tea", "green rain", "green snow", "wind"))
    assert index.rank("green", k=1, weighing=OPEN).pages == (3,)  # equal: the newest
    ranking = index.rank("green", k=1, weighing=replace(OPEN, use=5.0), used={1: 1.0})
    assert (ranking.pages, ranking.channels) == ((1,), ("words", "use"))
    ranking = index.rank("wind rain", k=1, weighing=replace(OPEN, recency=9.0))
    assert (ranking.pages, ranking.channels[-1], ranking.hits[0].raw[-1]) == ((4,), "recency", 1.0)


def test_bookmarks_change_and_go() -> None:
    index = talked()
    index.bookmark(2, "shellfish")
    assert ask(index, "shellfish", k=1, strategy="bookmarks_first").pages == (2,)
    index.bookmark(2, "")
    assert ask(index, "shellfish", strategy="bookmarks_first").note == "no bookmark holds a word of the question"


# ── vectors ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_vector_for_the_same_exchange_takes_its_place() -> None:
    index = tiny(SPREAD)
    index.put(1, 1, [1.0, 0, 0])
    assert len(index.vectors) == 4
    assert index.rank("天气", NEAR, k=1).pages == (1,)


def test_vectors_may_come_in_any_order() -> None:
    late, early = index_of(TALK, None), index_of(TALK)
    turn = {page: 2 * page - 1 for page in TALK}
    for page in reversed(TALK):
        lines = [Line(turn[page], "user", TALK[page][0]), Line(turn[page] + 1, "assistant", TALK[page][1])]
        late.put(page, turn[page], HASH.passages([exchanges(lines)[0].text])[0])
    for question in ("peanuts", "cat", "成语"):
        assert ask(late, question) == ask(early, question)
        vector = HASH.queries([question])[0]
        assert late.turns(question, vector) == early.turns(question, vector)


def test_vectors_of_another_embedder_are_refused() -> None:
    index = tiny(SPREAD)
    for act in (lambda: index.put(1, 1, [1.0, 0]), lambda: index.rank("tea", np.zeros(2, dtype=np.float32))):
        with pytest.raises(ValueError, match=r"shape \(2,\) does not fit vectors of 3 numbers: another embedder"):
            act()
    with pytest.raises(ValueError, match="page 9 has no turns in the index; add them before their vectors"):
        index.put(9, 9, [1.0, 0, 0])


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────────


def test_turns_are_found_and_answers_come_before_questions() -> None:
    index = index_of({1: ["Any news of the cat?", "The cat is called Biscuit"], 2: ["tea", "fine"]})
    found = index.turns("What is the cat called?", HASH.queries(["What is the cat called?"])[0], k=2)
    assert [(hit.page, hit.turn) for hit in found] == [(1, 2), (1, 1)]


def test_no_turns_no_hits() -> None:
    assert Index().turns("anything") == ()


# ── speed ─────────────────────────────────────────────────────────────────────────────────────────────


def test_twenty_thousand_turns() -> None:
    draw = np.random.default_rng(1)
    names = [a + b for a in ("ka", "lo", "mi", "ne", "su", "ta", "vo", "ra") for b in ("bird", "tree", "lake", "moon")]
    index = Index()
    vectors = draw.standard_normal((10_000, 64)).astype(np.float32)
    for turn in range(20_000):
        index.add(turn // 10, turn, " ".join(draw.choice(names, 12)))
        if turn % 2 == 0:
            index.put(turn // 10, turn, vectors[turn // 2])
    started = thread_time()
    for turn in range(20):
        index.rank(" ".join(draw.choice(names, 6)), vectors[turn])
    assert (thread_time() - started) / 20 < 0.1  # 0.008 on a quiet machine
