"""The store's vectors, as an engine and a view ask for them: those that exist, and the question's made now.

The store knows which embedder made its vectors (embedded.py); that one embeds questions too. Where it is not here any
more, or is another one by the same name, nothing is compared: pages are ranked by words, and the reason stands in the
record of each retrieval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memory.errors import ModelError, OtherEmbedder
from memory.models.embedding import Embedder, named
from memory.stores.embedded import Maker, embedded, maker, vectors_of
from memory.stores.sql import Store

Vector = NDArray[np.float32]


class StoredVectors:
    """A `memory.finder.VectorSource` over a store. `problem` says why there are no vectors to compare, if so.

    The embedder is loaded with the first question: whoever asks none pays nothing.
    """

    def __init__(self, store: Store, made_by: Maker) -> None:
        self.identity = made_by.identity
        self.problem = ""
        self._store = store
        self._name = made_by.name
        self._embedder: Embedder | None = None

    def question(self, text: str) -> Vector | None:
        try:
            made: Vector = embedded(self._store, self._loaded(), [text], question=True)[0]
        except (ModelError, OtherEmbedder) as error:  # an embedder that is away costs the vectors, not the step
            self.problem = f"{self.identity} cannot be used: {error}"
            return None
        self.problem = ""
        return made

    def known(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        try:
            found = zip(texts, vectors_of(self._store, self._loaded(), texts), strict=True)
        except (ModelError, OtherEmbedder) as error:
            self.problem = f"{self.identity} cannot be used: {error}"
            return {}
        return {text: vector for text, vector in found if vector is not None}

    def _loaded(self) -> Embedder:
        if self._embedder is None:
            self._embedder = named(self._name)
        return self._embedder


def vectors_in(store: Store) -> StoredVectors | None:
    """The vectors of this store; None while it has none (`workbench reindex` makes them)."""
    made_by = maker(store)
    return None if made_by is None else StoredVectors(store, made_by)
