"""Which pages answer a question: the one ranker, and for every page that did not come, why.

Two channels compare the question with a page: its words (lexical.py) and the vectors of its exchanges (exchanges.py).
Each one's best value a page, and the mean of a page's exchanges, are brought to one scale over the pages of this
question (z-scores) and weighed. Before that a threshold in each channel's own unit asks whether the conversation knows
anything of the question at all; if both say no, nothing comes. A strategy is a function from what was compared to a
verdict; RETRIEVAL names them.

An index holds one conversation and grows. It makes no vectors, reads no store, and knows no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memory.errors import UnknownName
from memory.language import is_cjk, terms
from memory.lexical import Layout, Scores, TextIndex, best_places
from memory.nearest import Floats, Held, Ints, Vectors
from memory.shelf import Shelf
from memory.together import Together

T = TypeVar("T")
Flags = NDArray[np.bool_]

MISSES = 50
BY_BOOKMARK = 5  # pages that bookmarks_first looks into


class _once(Generic[T]):  # noqa: N801 - a decorator
    """functools.cached_property without its lock, one for all instances until Python 3.12: questions would queue."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, asked: None, owner: type) -> _once[T]: ...
    @overload
    def __get__(self, asked: object, owner: type) -> T: ...
    def __get__(self, asked: Any, owner: type) -> Any:
        if asked is None:
            return self
        made = asked.__dict__[self._make.__name__] = self._make(asked)
        return made


@dataclass(frozen=True, slots=True)
class Weighing:
    """What counts how much. The defaults are measured on LoCoMo, n = 1,982; see notebooks/LOG.md."""

    words: float = 1.0
    vectors: float = 0.6
    mean: float = 1 / 3  # the mean of all exchanges of a page, beside its nearest; a share of what vectors count
    recency: float = 0.0  # the newest page gets as much, the oldest nothing
    use: float = 0.0  # times what `used` says of a page
    min_coverage: float = 0.3  # share of the question's idf mass that the best page's best turn matches
    min_margin: float = 0.3  # share of the way from the mean cosine to 1 that the best exchange makes
    min_margin_across: float = 0.16  # the same where question and exchange are of two scripts, and words say nothing
    duplicate: float = 0.8  # Jaccard overlap of two pages' words from which the lower one is dropped


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was ranked; `raw` and `shares` are by channel, in the order of `Ranking.channels`."""

    page: int
    turn: int  # where in the page the score comes from
    score: float
    raw: tuple[float, ...]  # each in the channel's own unit; 0: nothing known
    shares: tuple[float, ...]  # what each channel adds to the score
    terms: tuple[tuple[str, float], ...] = ()  # of one that came: what each matched word adds to its raw `words`
    stage: str = ""  # that dropped it: scope, threshold, match, duplicate, rank
    dropped: str = ""  # the reason in a sentence, with its numbers; "" for one that came


@dataclass(frozen=True, slots=True)
class Ranking:
    strategy: str
    channels: tuple[str, ...]
    hits: tuple[Hit, ...] = ()  # best first, at most k
    misses: tuple[Hit, ...] = ()  # the next best, at most 50
    stages: Mapping[str, int] = field(default_factory=dict)  # pages left after each stage, in order
    thresholds: Mapping[str, float] = field(default_factory=dict)  # what decided, and what it was compared with
    note: str = ""  # why nothing came, what was fallen back to

    @property
    def pages(self) -> tuple[int, ...]:
        return tuple(hit.page for hit in self.hits)


@dataclass(frozen=True, slots=True)
class TurnHit:
    page: int
    turn: int
    score: float  # comparable within one ranking only


@dataclass(frozen=True)
class Channel:
    name: str
    raw: Floats  # by page; NaN where nothing is known
    shares: Floats  # by page: what it adds to the score


@dataclass(frozen=True)
class Verdict:
    """What a strategy says: the channels' shares, who cannot come at all, and whether anybody may."""

    channels: tuple[Channel, ...]
    out: Flags  # by page
    out_because: str
    thresholds: Mapping[str, float]
    refused: str = ""  # why nobody comes
    note: str = ""

    @property
    def totals(self) -> Floats:
        """The score, by page."""
        total: Floats = np.sum([channel.shares for channel in self.channels], axis=0)
        return total


Strategy = Callable[["Compared", Weighing], Verdict]


@dataclass(frozen=True)
class Compared:
    """A question against every page of an index. Arrays are by page, ascending."""

    index: Index
    question: str
    vector: Floats | None
    among: Collection[int] | None = None  # pages that may come; thresholds ask the best of these

    @_once
    def layout(self) -> Layout:
        return self.index.text.layout

    @property
    def pages(self) -> Ints:
        return self.layout.numbers

    @_once
    def inside(self) -> Flags:
        """By page: whether it may come."""
        if self.among is None:
            return np.ones(len(self.pages), dtype=np.bool_)
        return np.isin(self.pages, np.fromiter(self.among, dtype=np.int64, count=len(self.among)))

    @_once
    def scores(self) -> Scores:
        return self.index.text.scores(self.question)

    @_once
    def words(self) -> Floats:
        """BM25 of the page's best turn."""
        return self.layout.spans.highest(self.scores.total)

    @_once
    def cosines(self) -> Floats:
        """By exchange; none without vectors on either side."""
        return self.index.vectors.cosines(self.vector)

    @_once
    def by_page(self) -> Floats:
        """The cosines in the order of `Vectors.layout`."""
        order = self.index.vectors.layout.order
        return self.cosines if order is None or not len(self.cosines) else self.cosines[order]

    @_once
    def closeness(self) -> Floats:
        """Cosine of the page's best exchange; NaN where it has no vector."""
        return self._known(self.index.vectors.layout.spans.highest)

    @_once
    def likeness(self) -> Floats:
        """Mean cosine of all exchanges of the page; NaN where it has no vector."""
        return self._known(self.index.vectors.layout.spans.means)

    def _known(self, of_page: Callable[[Floats], Floats]) -> Floats:
        found = np.full(len(self.pages), np.nan, dtype=np.float32)
        if len(self.cosines):
            found[self.index.near] = of_page(self.by_page)
        return found

    @_once
    def coverage(self) -> float:
        """0..1: how much of the question's rare words the best turn has that may come."""
        if not self.inside.any() or not self.scores.asked:
            return 0.0
        best = np.where(self.inside, self.words, np.float32(-1)).argmax()
        return self.scores.coverage(int(self.layout.spans.places(self.scores.total, np.array([best]))[0]))

    @_once
    def margin(self) -> float:
        """0..1: how far the best exchange that may come is on the way from the mean of all to 1; 0 if it is alone.

        No absolute cosine: those of e5 lie between .75 and .9, those of others around 0.
        """
        near = self.closeness[self.inside] if len(self.cosines) > 1 else np.zeros(0, dtype=np.float32)
        best = np.fmax.reduce(near, initial=-np.inf)  # passes over NaN
        if best == -np.inf:
            return 0.0
        mean = float(self.cosines.mean())
        return (float(best) - mean) / max(1 - mean, 1e-6)

    @_once
    def across(self) -> bool:
        """Whether the best exchange is written in another script than the question: a translation shares no words."""
        if not len(self.cosines):
            return False
        nearest = int(self.index.vectors.pages[self.cosines.argmax()])
        return is_cjk(self.question) != self.index.text.is_cjk(nearest)

    def stands_out(self, weighing: Weighing) -> bool:
        return self.margin >= _least(self, weighing)

    @property
    def lacking(self) -> int:
        """Pages without any vector."""
        return int(np.isnan(self.closeness).sum())

    def first_turns(self, places: Ints) -> Ints:
        """Of the pages at these places: the first turn of the nearest exchange; 0: it has none."""
        found = np.zeros(len(places), dtype=np.int64)
        if len(self.cosines):
            held = self.index.vectors.layout
            at = np.minimum(np.searchsorted(held.numbers, self.pages[places]), len(held.numbers) - 1)
            known = held.numbers[at] == self.pages[places]
            best = held.spans.places(self.by_page, at[known])
            found[known] = self.index.vectors.turns[best if held.order is None else held.order[best]]
        return found


# ── strategies ────────────────────────────────────────────────────────────────────────────────────────


def fusion(seen: Compared, weighing: Weighing) -> Verdict:
    """Words, the nearest exchange and the mean of all. A page without a vector counts with its words in all three;
    without any vector words decide."""
    if not len(seen.cosines):
        alone = words(seen, weighing)
        why = "the question has no vector" if seen.vector is None else "no page has a vector"
        return Verdict(
            alone.channels, alone.out, alone.out_because, alone.thresholds, alone.refused, f"{why}: ranked by words"
        )
    by_words = _z(seen.words)
    lacks = np.isnan(seen.closeness)

    def channel(name: str, raw: Floats, weight: float) -> Channel:
        return Channel(name, raw, (weight * np.where(lacks, by_words, _z(raw))).astype(np.float32))

    channels = (
        Channel("words", seen.words, weighing.words * by_words),
        channel("vectors", seen.closeness, weighing.vectors),
        channel("mean", seen.likeness, weighing.vectors * weighing.mean),
    )
    silent = lacks & (seen.words <= 0)
    limits = {**_coverage(seen, weighing), **_margin(seen, weighing)}
    refused = ""
    if seen.coverage < weighing.min_coverage and not seen.stands_out(weighing):
        refused = f"{_says_coverage(seen, weighing)}, and {_says_margin(seen, weighing)}"
    note = f"{seen.lacking} of {len(seen.pages)} pages have no vector yet: ranked by words" if lacks.any() else ""
    return Verdict(channels, silent, "it holds no word of the question and has no vector", limits, refused, note)


def words(seen: Compared, weighing: Weighing) -> Verdict:
    """BM25 alone."""
    channel = Channel("words", seen.words, weighing.words * seen.words)
    refused = ""
    if not seen.scores.asked:
        refused = "the question has no searchable words"
    elif not (seen.words > 0).any():
        refused = "no page holds a word of the question"
    elif seen.coverage < weighing.min_coverage:
        refused = _says_coverage(seen, weighing)
    none = "it holds no word of the question"
    return Verdict((channel,), seen.words <= 0, none, _coverage(seen, weighing), refused)


def vectors(seen: Compared, weighing: Weighing) -> Verdict:
    """The nearest exchange alone."""
    near = seen.closeness
    channel = Channel("vectors", near, weighing.vectors * np.nan_to_num(near, nan=0.0))
    refused = ""
    if not len(seen.cosines):
        refused = "the question has no vector" if seen.vector is None else "no page has a vector"
    elif not seen.stands_out(weighing):
        refused = _says_margin(seen, weighing)
    return Verdict((channel,), np.isnan(near), "it has no vector", _margin(seen, weighing), refused)


def bookmarks_first(seen: Compared, weighing: Weighing) -> Verdict:
    """The five pages whose bookmark fits best, then the nearest of them: as one who sees only the window would."""
    fits = seen.index.bookmark_fit(seen.question, seen.pages)
    order = np.lexsort((-seen.pages, -fits))[:BY_BOOKMARK]
    out = np.ones(len(seen.pages), dtype=np.bool_)
    out[order] = fits[order] <= 0
    near = seen.closeness
    shares = np.where(np.isnan(near), 0, weighing.vectors * near)
    weight = 1e-3 if len(seen.cosines) else weighing.words  # where vectors decide, the bookmark only breaks ties
    channels = (Channel("bookmark", fits, weight * fits), Channel("vectors", near, shares.astype(np.float32)))
    refused = "" if (fits > 0).any() else "no bookmark holds a word of the question"
    note = "" if len(seen.cosines) else "no vectors to compare: ranked by bookmark alone"
    return Verdict(channels, out, f"its bookmark is not among the {BY_BOOKMARK} that fit best", {}, refused, note)


RETRIEVAL: dict[str, Strategy] = {
    "fusion": fusion, "words": words, "vectors": vectors, "bookmarks_first": bookmarks_first,
}  # fmt: skip


def strategy_of(strategy: str | Strategy) -> Strategy:
    """The function of this name, or the function itself."""
    if not isinstance(strategy, str):
        return strategy
    if strategy not in RETRIEVAL:
        raise UnknownName("retrieval strategy", strategy, RETRIEVAL)
    return RETRIEVAL[strategy]


def _z(values: Floats) -> Floats:
    """How many deviations above the mean of the pages that have a value."""
    lacks = np.isnan(values)
    known = values[~lacks] if lacks.any() else values
    mean: Floats = known.mean(keepdims=True) if len(known) else np.zeros(1, dtype=np.float32)
    spread = float(known.std(mean=mean)) if len(known) else 0.0
    if spread < 1e-6:
        return np.where(lacks, values, np.float32(0))
    scaled: Floats = (values - mean) / np.float32(spread)
    return scaled


def _coverage(seen: Compared, weighing: Weighing) -> dict[str, float]:
    return {"min_coverage_idf_share": weighing.min_coverage, "best_coverage_idf_share": round(seen.coverage, 4)}


def _least(seen: Compared, weighing: Weighing) -> float:
    return min(weighing.min_margin, weighing.min_margin_across) if seen.across else weighing.min_margin


def _margin(seen: Compared, weighing: Weighing) -> dict[str, float]:
    return {"min_margin_way_to_1": _least(seen, weighing), "best_margin_way_to_1": round(seen.margin, 4)}


def _says_coverage(seen: Compared, weighing: Weighing) -> str:
    return f"the best page covers {seen.coverage:.2f} of the question's words (min_coverage {weighing.min_coverage:g})"


def _says_margin(seen: Compared, weighing: Weighing) -> str:
    return f"the nearest exchange stands out by {seen.margin:.2f} (min_margin {_least(seen, weighing):g})"


# ── the index ─────────────────────────────────────────────────────────────────────────────────────────


class Index:
    """One conversation, to be asked.

    >>> index = Index()
    >>> index.add(1, 1, "I'm allergic to peanuts")
    >>> index.add(2, 2, "The budget is 8,000 dollars")
    >>> index.rank("Am I allergic to anything?").pages
    (1,)
    """

    def __init__(self) -> None:
        self.text = TextIndex()
        self.vectors = Vectors()
        self.shelf = Shelf()
        self._near: tuple[Layout, Held, Ints] | None = None
        self._rankings: Together[Callable[[], Ranking], Ranking] = Together(lambda asked: [rank() for rank in asked], 1)

    def __len__(self) -> int:
        """Turns indexed."""
        return len(self.text)

    def __repr__(self) -> str:
        return f"<Index of {len(self.text)} turns, {len(self.vectors)} vectors>"

    def add(self, page: int, turn: int, text: str, label: str = "") -> None:
        """Index a turn's words; in order, see TextIndex.add."""
        self.text.add(page, turn, text, label)

    def put(self, page: int, turn: int, vector: ArrayLike, part: int = 0) -> None:
        """The unit vector of the exchange that begins with `turn`; another for the same one takes its place.

        Raises ValueError for a page that has no words here, or a vector of another length than those before.
        """
        if not self.text.knows(page):
            raise ValueError(f"page {page} has no turns in the index; add them before their vectors")
        self.vectors.put(page, turn, part, vector)

    @property
    def near(self) -> Ints:
        """Where the pages with a vector stand among all pages."""
        text, held = self.text.layout, self.vectors.layout
        if self._near is None or self._near[0] is not text or self._near[1] is not held:
            self._near = text, held, np.searchsorted(text.numbers, held.numbers)
        return self._near[2]

    def bookmark(self, page: int, keywords: str) -> None:
        """What its bookmark says now; "" takes it away."""
        self.shelf.put(page, keywords)

    def bookmark_fit(self, question: str, pages: Ints) -> Floats:
        """The idf of the question's terms on each page's bookmark, summed."""
        fits = self.shelf.fits(terms(question))
        found = np.zeros(len(pages), dtype=np.float32)
        held = [page for page in fits if self.text.knows(page)]
        found[np.searchsorted(pages, held)] = [fits[page] for page in held]
        return found

    def rank(
        self,
        question: str,
        vector: Floats | None = None,
        k: int = 3,
        *,
        among: Collection[int] | None = None,
        strategy: str | Strategy = "fusion",
        weighing: Weighing = Weighing(),
        used: Mapping[int, float] | None = None,
    ) -> Ranking:
        """The `k` best pages, out of `among` if given, and the next 50 with what dropped them.

        `vector` is the question's, of the embedder that made the others. `used` says by page, 0..1, how much it was
        used of late; it counts with `weighing.use`. Of equal pages the newest comes first.
        """
        judge, seen = strategy_of(strategy), Compared(self, question, vector, among)
        name = strategy if isinstance(strategy, str) else getattr(strategy, "__name__", "own")

        def ranking() -> Ranking:
            verdict = judge(seen, weighing)
            channels = (*verdict.channels, *_habits(seen.pages, weighing, used or {}))
            return _Cut(seen, verdict, channels, weighing, name).ranking(k)

        _ = seen.cosines  # before it takes its turn: these are compared with other questions' at once
        return self._rankings(ranking)

    def turns(self, question: str, vector: Floats | None = None, k: int = 10) -> tuple[TurnHit, ...]:
        """The `k` turns that answer it best, whatever the pages; none where no word and no vector fits."""
        seen = Compared(self, question, vector)
        scores = _turn_scores(seen)
        best = np.lexsort((-np.arange(len(scores)), -scores))[:k]
        pages, turns = seen.layout.pages[best].tolist(), seen.layout.turns[best].tolist()
        return tuple(TurnHit(*each) for each in zip(pages, turns, scores[best].tolist(), strict=True))

    def turns_on(self, page: int, question: str, vector: Floats | None = None) -> dict[int, float]:
        """How well each turn of this page answers it, by number."""
        return turn_scores(Compared(self, question, vector), page)


def _habits(pages: Ints, weighing: Weighing, used: Mapping[int, float]) -> list[Channel]:
    made = []
    if weighing.recency:
        age = np.linspace(0, 1, len(pages), dtype=np.float32)
        made.append(Channel("recency", age, weighing.recency * age))
    if weighing.use:
        use = np.array([used.get(page, 0.0) for page in pages.tolist()], dtype=np.float32)
        made.append(Channel("use", use, weighing.use * use))
    return made


class _Told(NamedTuple):
    """A page by its place, and what dropped it."""

    place: int
    stage: str = ""
    dropped: str = ""


@dataclass(frozen=True)
class _Cut:
    """From a verdict to who comes: scope, threshold, match, duplicates, rank."""

    seen: Compared
    verdict: Verdict
    channels: tuple[Channel, ...]
    weighing: Weighing
    name: str

    @_once
    def totals(self) -> Floats:
        total: Floats = np.sum([channel.shares for channel in self.channels], axis=0)
        return total

    def ranking(self, k: int) -> Ranking:
        pages, inside = self.seen.pages, self.seen.inside
        matched = inside & ~self.verdict.out
        stages = {"all": len(pages), "scope": int(inside.sum())}
        if refused := self.verdict.refused:
            misses = [_Told(place, "threshold", refused) for place in self._order(inside, MISSES)]
            return self._result([], misses, {**stages, "threshold": 0}, refused)
        stages |= {"threshold": stages["scope"], "match": int(matched.sum())}
        chosen, misses, twins = self._chosen(self._order(matched, k + MISSES), k)
        if left := MISSES - len(misses):
            out = self._order(inside & self.verdict.out, left)
            misses += [_Told(place, "match", self.verdict.out_because) for place in out]
        stages |= {"duplicate": stages["match"] - twins, "rank": len(chosen)}
        nothing = "" if matched.any() else "no candidate page fits the question"
        return self._result(chosen, misses, stages, nothing)

    def _order(self, mask: Flags, most: int) -> list[int]:
        """Places of pages, best first, of equal ones the newest."""
        best: list[int] = best_places(self.totals, mask, most).tolist()
        return best

    def _chosen(self, order: list[int], k: int) -> tuple[list[_Told], list[_Told], int]:
        """The best `k` without near-duplicates of a better one, the next, and how many duplicates were met."""
        chosen: list[_Told] = []
        misses: list[_Told] = []
        below: list[float] = []
        twins = 0
        for rank, place in enumerate(order, 1):
            if len(chosen) == k:
                below = below or self._below(chosen, order)
                reason = f"rank {rank - twins} > k={k}: {below[rank - 1]:.2f} below the last that came"
                misses.append(_Told(place, "rank", reason))
            elif twin := self._twin(place, chosen):
                twins += 1
                misses.append(_Told(place, "duplicate", twin))
            else:
                chosen.append(_Told(place))
            if len(misses) == MISSES:
                break
        return chosen, misses, twins

    def _below(self, chosen: list[_Told], order: list[int]) -> list[float]:
        """How far each of these stands below the last that came; 0 where none could come."""
        last = self.totals[chosen[-1].place] if chosen else self.totals[order]
        below: list[float] = (last - self.totals[order]).tolist()
        return below

    def _twin(self, place: int, chosen: list[_Told]) -> str:
        page, text = int(self.seen.pages[place]), self.seen.index.text
        for other in (int(self.seen.pages[each.place]) for each in chosen):
            if (overlap := text.overlap(page, other)) >= self.weighing.duplicate:
                limit = f"duplicate {self.weighing.duplicate:g}"
                return f"it shares {overlap:.2f} of its words with p{other}, which stands higher ({limit})"
        return ""

    def _hits(self, told: list[_Told]) -> tuple[Hit, ...]:
        """The pages at these places, whole; only of them, for there may be tens of thousands."""
        seen, places = self.seen, np.array([each.place for each in told], dtype=np.int64)
        units = seen.layout.spans.places(seen.scores.total, places)
        by_words = seen.scores.total[units] > 0
        turns = seen.layout.turns[units]
        if not by_words.all():
            nearest = seen.first_turns(places)
            turns = np.where(by_words | (nearest == 0), turns, nearest)
        came = [nth for nth, each in enumerate(told) if not each.stage]
        matched = dict(zip(came, seen.scores.matched(units[came]), strict=True))
        return tuple(
            map(
                Hit,
                seen.pages[places].tolist(),
                turns.tolist(),
                self.totals[places].astype(np.float64).round(4).tolist(),
                _rounded([channel.raw[places] for channel in self.channels]),
                _rounded([channel.shares[places] for channel in self.channels]),
                [matched.get(nth, ()) for nth in range(len(told))],
                [each.stage for each in told],
                [each.dropped for each in told],
            )
        )

    def _result(self, chosen: list[_Told], misses: list[_Told], stages: dict[str, int], nothing: str) -> Ranking:
        note = "; ".join(part for part in (nothing, self.verdict.note) if part)
        names = tuple(channel.name for channel in self.channels)
        hits = self._hits(chosen + misses)
        best, others = hits[: len(chosen)], hits[len(chosen) :]
        return Ranking(self.name, names, best, others, stages, self.verdict.thresholds, note)


def _rounded(channels: list[Floats]) -> list[tuple[float, ...]]:
    """By page: each channel's figure to four places, as a number that is written with four; 0 for what is not known."""
    figures = np.array(channels)
    figures[np.isnan(figures)] = 0
    return list(zip(*figures.round(4).astype(np.float64).round(4).tolist(), strict=True))


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────────

TURN_VECTORS = 1.2  # a turn's exchange against its own words
ASKING = 1.6  # a turn that ends with a question is rarely an answer
SAYING = 2.0  # a long turn says more; times the log of its length
PAGE = 0.6  # its page's own score


def turn_scores(seen: Compared, page: int) -> dict[int, float]:
    """Of the turns of one page, by number; the best piece of a turn counts."""
    own = np.flatnonzero(seen.layout.pages == page)
    found: dict[int, float] = {}
    for turn, score in zip(seen.layout.turns[own].tolist(), _turn_scores(seen)[own].tolist(), strict=True):
        found[turn] = max(score, found.get(turn, score))
    return found


def _turn_scores(seen: Compared) -> Floats:
    """By unit: its words, its exchange, its page; less for a question, more for a long turn."""
    held = seen.layout
    scores = _z(seen.scores.total) - ASKING * held.asking + SAYING * np.log1p(held.lengths)
    if len(seen.cosines):
        scores += TURN_VECTORS * np.nan_to_num(_z(_by_unit(seen)))
    places = np.searchsorted(seen.pages, held.pages)
    made: Floats = (scores + PAGE * fusion(seen, Weighing()).totals[places]).astype(np.float32)
    return made


def _by_unit(seen: Compared) -> Floats:
    """The cosine of the exchange that each unit lies in; NaN where it has no vector."""
    held = seen.index.vectors
    order = np.lexsort((held.turns, held.pages))
    known = held.pages[order] << 32 | held.turns[order]
    units = seen.layout
    place = np.searchsorted(known, units.pages << 32 | units.turns, side="right") - 1
    own = (place >= 0) & (known[place] >> 32 == units.pages)
    near: Floats = np.where(own, seen.cosines[order][place], np.float32(np.nan))
    return near
