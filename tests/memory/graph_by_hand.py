"""A memory that was told sentences, its graph and its index, without a store. For tests of the graph and its walk."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from memory.chains import chains
from memory.extraction import candidates
from memory.facts import Source
from memory.graph import Graph
from memory.recollect import FactFinder, standing
from memory.settings import Settings
from memory.state import State
from memory.walk import Walk, walk
from tests.memory.facts_by_hand import Mind, day


class Told(Mind):
    """Each sentence a turn of its own, a day after the one before."""

    def __init__(self, *sentences: str) -> None:
        super().__init__()
        self.said: dict[int, str] = {}
        self.graph = Graph(self.words.__getitem__, self.spoken)
        self.finder = FactFinder(self.words.__getitem__)
        self.tell(*sentences)

    def spoken(self, source: Source) -> str:
        return self.said[source.text]

    def tell(self, *sentences: str) -> Told:
        for said in sentences:
            turn = len(self.said) + 1
            self.said[turn] = said
            found, why = candidates(said, role="user", speaker="", said_at=day(turn))
            assert found, f"{said!r} holds nothing: {why}"
            for each in found:
                self.hear(each, day(turn), turn=turn)
        self.graph.take(self.k)
        return self

    def paged(self, state: State, conversation: str) -> Told:
        self.graph.take(self.k, state, conversation)
        return self

    def walk(self, question: str, most: int = 5, **how: Any) -> Walk:
        return walk(self.graph, self.finder, question, most, Settings(), **how)

    def answer(self, question: str, at: datetime | None = None) -> str:
        """The value at the end of the best chain; "" where the question spells none out."""
        among = {f.id for f in standing(self.k, None, at, None, (), self.k.facts, None)}
        best = chains(self.graph, question, among, most=1)
        return self.words[self.k.facts[best[0].facts[-1]].value] if best else ""

    def text(self, number: int) -> str:
        return self.words[self.k.facts[number].text]

    def edges(self, kind: str) -> set[tuple[str, str]]:
        name = partial(self.graph.name)
        return {(name(e.source), name(e.target)) for e in self.graph.edges if e.kind == kind}
