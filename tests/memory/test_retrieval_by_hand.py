"""The ranker against itself written out turn by turn, in floating point of double width: the same pages come, for the
same reasons with the same figures, in English and Chinese, while the talk grows and many ask at once."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import lexical
from memory.language import is_cjk, terms
from memory.lexical import AROUND, K1, TIMELY, B
from memory.nearest import Vectors
from memory.retrieval import Index, Ranking, Weighing

WORDS = ("tea", "lake", "violin", "yesterday", "Ana", "画画", "旅行", "预算", "昨天", "8,000", "Where", "?")
EXACT = 1e-3


@dataclass
class ByHand:
    """Every turn as (page, terms, text); a vector a page and turn."""

    turns: list[tuple[int, tuple[str, ...], str]] = field(default_factory=list)
    vectors: list[tuple[int, np.ndarray]] = field(default_factory=list)

    @property
    def pages(self) -> list[int]:
        return sorted({page for page, _, _ in self.turns})

    def lent(self, values: list[float], unit: int) -> float:
        page, total = self.turns[unit][0], values[unit]
        for away, weight in AROUND.items():
            other = unit + away
            if 0 <= other < len(values) and self.turns[other][0] == page:
                total += weight * values[other]
        return total

    def times(self, term: str, unit: int) -> int:
        """A single Chinese character stands for every pair that holds it."""
        own = self.turns[unit][1]
        known = {t for _, all_, _ in self.turns for t in all_}
        pairs = (
            {t for t in known if len(t) == 2 and is_cjk(t) and term in t} if len(term) == 1 and is_cjk(term) else set()
        )
        return sum(t == term or t in pairs for t in own)

    def words(self, question: str) -> tuple[list[float], float]:
        """BM25 by turn, and the share of the question's rarity that the best turn covers."""
        asked, units = list(dict.fromkeys(terms(question))), range(len(self.turns))
        lengths = [float(len(own)) for _, own, _ in self.turns]
        lengths = [self.lent(lengths, unit) for unit in units]
        mean = max(sum(lengths) / len(lengths), 1)
        idf, adds = {}, {}
        for term in asked:
            times = [float(self.times(term, unit)) for unit in units]
            holders = max(len({self.turns[unit][0] for unit in units if times[unit]}), 0.5)
            idf[term] = math.log(1 + (len(self.pages) - holders + 0.5) / (holders + 0.5))
            had = [self.lent(times, unit) for unit in units]
            norm = [K1 * (1 - B + B * lengths[unit] / mean) for unit in units]
            adds[term] = [(K1 + 1) * idf[term] * had[u] / (had[u] + norm[u]) for u in units]
        total = [sum(adds[term][unit] for term in asked) for unit in units]
        if asked and lexical._ASKS_WHEN.search(question):
            tells = [bool(lexical._TELLS_WHEN.search(text)) for _, _, text in self.turns]
            total = [score * (1 + TIMELY * told) for score, told in zip(total, tells, strict=True)]
        best = max(units, key=lambda unit: (round(total[unit], 6), -unit))
        covered = sum(idf[term] for term in asked if adds[term][best] > 0) / max(sum(idf.values()), 1e-9)
        return total, covered if asked else 0.0

    def ranked(self, question: str, vector: np.ndarray) -> tuple[dict[int, float], float, float]:
        """The score of each page, the coverage by words, and the margin of vectors."""
        total, coverage = self.words(question)
        by_words = {
            page: max(t for t, turn in zip(total, self.turns, strict=True) if turn[0] == page) for page in self.pages
        }
        cosines = [(page, float(own @ vector)) for page, own in self.vectors]
        near = {page: max(c for p, c in cosines if p == page) for page in {p for p, _ in cosines}}
        mean = sum(c for _, c in cosines) / len(cosines)
        margin = (max(near.values()) - mean) / max(1 - mean, 1e-6) if len(cosines) > 1 else 0.0
        words_z, near_z = _z(by_words), _z(near)
        mean_z = _z({page: float(np.mean([c for p, c in cosines if p == page])) for page in near})
        score = {
            page: words_z[page] + 0.6 * near_z.get(page, words_z[page]) + 0.2 * mean_z.get(page, words_z[page])
            for page in self.pages
        }
        return score, coverage, margin


def _z(values: dict[int, float]) -> dict[int, float]:
    mean = sum(values.values()) / len(values)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values.values()) / len(values))
    return {page: (v - mean) / spread if spread > 1e-6 else 0.0 for page, v in values.items()}


def grow(index: Index, hand: ByHand, page: int, text: str, vector: list[int] | None) -> None:
    turn = len(hand.turns) + 1
    index.add(page, turn, text)
    hand.turns.append((page, terms(text), text))
    if vector is not None:
        unit = np.array(vector, dtype=np.float64) / math.sqrt(sum(n * n for n in vector))
        index.put(page, turn, unit)
        hand.vectors.append((page, unit.astype(np.float32).astype(np.float64)))


def check(ranking: Ranking, hand: ByHand, question: str, vector: np.ndarray, k: int, weighing: Weighing) -> None:
    score, coverage, margin = hand.ranked(question, vector)
    assert ranking.thresholds["best_coverage_idf_share"] == pytest.approx(coverage, abs=EXACT)
    assert ranking.thresholds["best_margin_way_to_1"] == pytest.approx(margin, abs=EXACT)
    ranked = (*ranking.hits, *ranking.misses)
    assert {hit.page for hit in ranked} == set(hand.pages)
    for hit in ranked:
        assert hit.score == pytest.approx(score[hit.page], abs=EXACT)
        assert sum(hit.shares) == pytest.approx(hit.score, abs=EXACT)
    refused = coverage < weighing.min_coverage and margin < ranking.thresholds["min_margin_way_to_1"]
    edges = abs(coverage - weighing.min_coverage), abs(margin - ranking.thresholds["min_margin_way_to_1"])
    if min(edges) > EXACT:
        assert bool(ranking.hits) == (k > 0 and not refused and ranking.stages.get("match", 0) > 0)
    in_order = [score[hit.page] for hit in ranked if hit.stage in ("", "rank")]
    assert all(before >= after - EXACT for before, after in pairwise(in_order))


some_text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
some_vector = st.tuples(st.integers(1, 3), st.integers(-3, 3), st.integers(-3, 3)).map(list)
some_turn = st.tuples(st.booleans(), some_text, st.none() | some_vector)


@given(
    st.lists(some_turn, min_size=1, max_size=25),
    some_text | st.sampled_from(["When was the lake?", "什么时候去旅行", "画", "什么"]),
    some_vector,
    st.integers(0, 4),
    st.sampled_from([Weighing(min_coverage=0, min_margin=-1), Weighing()]),
)
def test_a_ranking_is_what_it_says(
    turns: list[tuple[bool, str, list[int] | None]], question: str, asked: list[int], k: int, weighing: Weighing
) -> None:
    index, hand = Index(), ByHand()
    vector = np.array(asked, dtype=np.float64) / math.sqrt(sum(n * n for n in asked))
    page = 1
    for nth, (turns_over, text, own) in enumerate(turns):
        page += turns_over
        grow(index, hand, page, text, own)
        if hand.vectors and nth in (3, len(turns) - 1):  # what a question kept must not outlive the next turn
            ranking = index.rank(question, vector.astype(np.float32), k, weighing=weighing)
            check(ranking, hand, question, vector, k, weighing)


@pytest.mark.parametrize(
    "texts", [("the lake is blue", "tea with Ana", "a violin"), ("我们去旅行", "预算是八千", "昨天画画")]
)
def test_many_who_ask_at_once_get_what_one_gets(texts: tuple[str, ...]) -> None:
    draw = np.random.default_rng(3)
    index = Index()
    for turn in range(1, 3_001):
        index.add(turn // 10, turn, f"{texts[turn % 3]} {turn % 97}")
        vector = draw.standard_normal(48)
        index.put(turn // 10, turn, vector / np.linalg.norm(vector))
    asked = [(f"{texts[n % 3]} {n}", index.vectors._rows[7 * n]) for n in range(64)]
    alone = [index.rank(question, vector) for question, vector in asked]
    together: dict[int, Ranking] = {}

    def client(first: int) -> None:
        for n in range(first, len(asked), 16):
            together[n] = index.rank(*asked[n])

    threads = [threading.Thread(target=client, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, one in enumerate(alone):
        assert together[n].pages == one.pages
        found = [[(hit.page, hit.turn, hit.stage) for hit in (*each.hits, *each.misses)] for each in (one, together[n])]
        assert found[0] == found[1]
        # In a product of several questions the sums run in another order: the last digit may differ.
        assert [hit.score for hit in together[n].hits] == pytest.approx([hit.score for hit in one.hits], abs=2e-4)


def test_a_turn_more_and_a_page_of_any_length() -> None:
    index, hand = Index(), ByHand()
    for page, length in enumerate((1, 50, 2, 3, 1, 40), 1):  # long and short: no even grid
        for n in range(length):
            grow(index, hand, page, f"{WORDS[n % 9]} {WORDS[(n + page) % 7]}", [1 + n % 3, page % 4 - 1, n % 2])
    for question in ("violin lake", "画画", "When was tea yesterday?"):
        vector = np.array([0.6, 0.8, 0.0])
        ranking = index.rank(question, vector.astype(np.float32), 2)
        check(ranking, hand, question, vector, 2, Weighing())


@pytest.mark.parametrize("held", [1, 15, 16, 31, 32, 33, 500])
@pytest.mark.parametrize("asked", [1, 4, 5, 16])
def test_questions_compared_at_once_are_compared_as_one(held: int, asked: int) -> None:
    draw = np.random.default_rng(held)
    vectors, rows = Vectors(), draw.standard_normal((held, 24)).astype(np.float32)
    for nth, row in enumerate(rows):
        vectors.put(nth + 1, nth + 1, 0, row)
    questions = list(draw.standard_normal((asked, 24)).astype(np.float32))
    found = vectors._multiplied(questions)
    assert len(found) == asked
    for question, cosines in zip(questions, found, strict=True):
        assert cosines.flags.c_contiguous
        assert cosines == pytest.approx(rows @ question, abs=1e-5)
