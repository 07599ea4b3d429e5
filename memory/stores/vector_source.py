"""The store's vectors, as an engine and a view ask for them: those that exist, and the question's made now.

The store knows which embedder made its vectors (embedded.py); that one embeds questions too. Where it is not here any
more, or is another one by the same name, nothing is compared: pages are ranked by words, and the reason stands in the
record of each retrieval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memory.errors import EngineError, ModelError
from memory.models.embedding import Embedder, named
from memory.stores.embedded import embedded, maker, vectors_of
from memory.stores.sql import Store

Vector = NDArray[np.float32]


class StoredVectors:
    """A `memory.finder.VectorSource` over a store. `problem` says why there are no vectors to compare, if so."""

    def __init__(self, store: Store, embedder: Embedder | None, identity: str, problem: str = "") -> None:
        self.identity = identity
        self.problem = problem
        self._store = store
        self._embedder = embedder

    def question(self, text: str) -> Vector | None:
        if self._embedder is None:
            return None
        try:
            made: Vector = embedded(self._store, self._embedder, [text], question=True)[0]
        except ModelError as error:  # a server of embeddings that is away costs the vectors, not the step
            self.problem = f"{self.identity}: {error}"
            return None
        self.problem = ""
        return made

    def known(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        if self._embedder is None:
            return {}
        found = zip(texts, vectors_of(self._store, self._embedder, texts), strict=True)
        return {text: vector for text, vector in found if vector is not None}


def vectors_in(store: Store) -> StoredVectors | None:
    """The vectors of this store; None while it has none (`workbench reindex` makes them)."""
    made_by = maker(store)
    if made_by is None:
        return None
    try:
        embedder = named(made_by.name)
    except EngineError as error:
        return StoredVectors(store, None, made_by.identity, f"{made_by.identity} cannot be used: {error}")
    if embedder.identity != made_by.identity:
        why = f"vectors were made by {made_by.identity}, and {made_by.name} is {embedder.identity} now: run reindex"
        return StoredVectors(store, None, made_by.identity, why)
    return StoredVectors(store, embedder, made_by.identity)
