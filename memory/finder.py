"""Finding pages of the conversation that runs: an index kept in step with its state, and a search as a record.

How pages are ranked is retrieval.py's, whether they come in is the pager's. The index is a projection: made of the
state when it is first needed, dropped when another process moved on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.events import Candidate, PagesRetrieved
from memory.exchanges import Exchange, Line, exchanges
from memory.nearest import Vectors
from memory.pages import Page
from memory.retrieval import Hit, Index, Ranking, Strategy, Weighing
from memory.settings import Settings
from memory.shelf import Shelf
from memory.state import State
from memory.turns import Turn, Words

Vector = NDArray[np.float32]
NO_VECTORS = ("", 0)


class VectorSource(Protocol):
    """Where vectors come from. It may lack any of them: what has none is ranked by its words."""

    @property
    def problem(self) -> str:
        """Why there is nothing to compare; "" if there is."""

    def newest(self) -> tuple[str, int]:
        """Whose vectors these are, and a number that grows with each; cheap, for it is asked with each question."""

    def question(self, text: str) -> Vector | None:
        """The vector of a question, made now; None where that cannot be done, and `problem` says why."""

    def known(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        """Of these texts, those whose vectors exist."""


class Finder:
    def __init__(self, words: Words, vectors: VectorSource | None = None) -> None:
        self._words = words
        self._vectors = vectors
        self._closed: list[Page] = []  # whose exchanges nobody asked for yet
        self._exchanges: dict[tuple[int, int, int], Exchange] = {}
        self._without: dict[tuple[int, int, int], Exchange] = {}  # those that have no vector yet
        self._news = NO_VECTORS  # as of the last look
        self.index = Index()
        self.shelf: Shelf = self.index.shelf

    @classmethod
    def of(cls, state: State, words: Words, vectors: VectorSource | None = None) -> Finder:
        finder = cls(words, vectors)
        for page in state.pages.values():
            for turn in page.turns:
                finder.add(page.number, turn)
            if page.bookmark and page.bookmark.keywords:
                finder.shelf.put(page.number, words(page.bookmark.keywords))
            if page.closed:
                finder.close(page)
        return finder

    def add(self, page: int, turn: Turn) -> None:
        """A turn was placed on a page."""
        line = Line.of(turn, self._words)
        self.index.add(page, turn.number, line.text, line.label)

    def close(self, page: Page) -> None:
        """The page changes no more: its exchanges get their vectors when these exist."""
        self._closed.append(page)

    def matches(self, message: str) -> Counter[int]:
        return self.shelf.matches(message)

    def shares(self, text: str, among: Collection[int]) -> dict[int, float]:
        return self.index.text.shares(text, among)

    def rank(
        self, question: str, k: int, settings: Settings, *, among: Collection[int] | None = None,
        strategy: Strategy | str = "", used: Mapping[int, float] | None = None,
    ) -> Ranking:  # fmt: skip
        """The `k` best pages for the question, as the settings weigh."""
        self._take_vectors()
        return self.index.rank(
            question, self._vector(question), k,
            among=among, strategy=strategy or settings.retrieval, weighing=weighing(settings), used=used,
        )  # fmt: skip

    def turns_on(self, page: int, question: str) -> dict[int, float]:
        """How well each turn of this page answers the question, by number."""
        self._take_vectors()
        return self.index.turns_on(page, question, self._vector(question))

    def _vector(self, question: str) -> Vector | None:
        return None if self._vectors is None or not len(self.index.vectors) else self._vectors.question(question)

    def record(self, ranking: Ranking, question: int, by: str, k: int, ms: float = 0.0) -> PagesRetrieved:
        """What goes into the log; `question` is the id of its words."""
        return PagesRetrieved(
            question=question,
            by=by,
            strategy=ranking.strategy,
            embedder=self._news[0] if len(self.index.vectors) else "",
            k=k,
            chosen=ranking.pages,
            channels=ranking.channels,
            candidates=tuple(map(_candidate, (*ranking.hits, *ranking.misses))),
            stages=dict(ranking.stages),
            thresholds=dict(ranking.thresholds),
            note="; ".join(filter(None, (ranking.note, self._vectors.problem if self._vectors else ""))),
            ms=ms,
        )

    def _take_vectors(self) -> None:
        """Vectors are made after the reply: those that came since the last question join the index."""
        news = NO_VECTORS if self._vectors is None else self._vectors.newest()
        if self._vectors is None or (news == self._news and not (news[0] and self._closed)):
            return
        if news[0] != self._news[0]:  # another embedder's: what it holds cannot be compared with them
            self.index.vectors = Vectors()
            self._without = dict(self._exchanges)
        self._news = news
        if news[0]:
            self._open_closed()
            known = self._vectors.known([each.text for each in self._without.values()])
            for (page, turn, part), each in list(self._without.items()):
                if each.text in known:
                    self.index.put(page, turn, known[each.text], part)
                    del self._without[page, turn, part]

    def _open_closed(self) -> None:
        for page in self._closed:
            new = {(page.number, each.turn, each.part): each for each in of_page(page, self._words)}
            self._exchanges |= new
            self._without |= new
        self._closed.clear()


def of_page(page: Page, words: Words) -> list[Exchange]:
    """What of a closed page gets a vector each."""
    return exchanges(Line.of(turn, words) for turn in page.turns)


def weighing(settings: Settings) -> Weighing:
    return Weighing(
        words=settings.words_weight,
        vectors=settings.vectors_weight,
        recency=settings.recency_weight,
        use=settings.use_weight,
        min_coverage=settings.min_coverage,
        min_margin=settings.min_margin,
        duplicate=settings.duplicate_overlap,
    )


def _candidate(hit: Hit) -> Candidate:
    return Candidate(hit.page, hit.score, hit.dropped, hit.turn, hit.stage, hit.raw, hit.shares)
