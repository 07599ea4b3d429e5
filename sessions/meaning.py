"""What messages mean, for pages that close where that shifts: as a store's embedder says, else the default one.

A replay and the lab ask here. A store's kept vectors are used and new ones kept, where it may be written; of a file
they are kept in memory. The same texts and the same embedder give the same pages. Not here: the rule (boundaries.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from memory.boundaries import Meaning, Vector
from memory.models.embedding import named
from memory.scope import Scope
from memory.settings import Settings
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors, embedder_of
from sessions.recording import Recording

KEPT = 20_000  # vectors in memory: some 30 MB


class Meanings(NamedTuple):
    by: str  # identity of the embedder
    meaning: Meaning


Means = Callable[[], Meanings]  # asked once a boundary needs it: an embedder takes a second to load


def by_default() -> Meanings:
    return Meanings(named().identity, _by_default)


def by_store(store: Store) -> Meanings:
    """Raises ModelError where the embedder of its vectors is not here."""
    return Meanings(embedder_of(store).identity, StoredVectors(store, keep=True).meaning)


def meaning_of(source: Recording | tuple[Store, Scope]) -> Meaning:
    return _by_default if isinstance(source, Recording) else StoredVectors(source[0], keep=True).meaning


def goes_by_meaning(boundary: str) -> bool:
    """Whether a boundary asks for vectors.

    >>> goes_by_meaning("meaning_shift+fixed_20"), goes_by_meaning("fixed_20")
    (True, False)
    """
    return "meaning_shift" in Settings.of(boundary=boundary).boundary.split("+")


@lru_cache(maxsize=KEPT)
def _by_default(text: str) -> Vector:
    made: Vector = named().queries([text])[0]
    return made
