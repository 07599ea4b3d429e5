"""How near each exchange of one conversation is to a question: its vectors, compared all at once.

Questions that come together are compared in one pass, for reading the vectors is what takes the time. What shares a
vector is in exchanges.py, who makes one in models/embedding.py, what nearness is worth in retrieval.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memory.lexical import Spans
from memory.together import Together

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Held:
    """Which vectors are of which page, as long as none comes. Places are those of `Vectors.cosines`."""

    order: Ints | None  # places page by page; None: they are so already
    spans: Spans  # a page's vectors, in that order
    numbers: Ints  # pages with a vector, ascending


TOGETHER = 16  # questions compared in one pass
# For a large product BLAS starts threads, which with so few columns is no faster and twice the work. A dot product for
# each pair, or from so many questions on a product for each block, starts none. Room is a power of two: whole blocks.
MANY = 5
BLOCK = 32


class Vectors:
    """One unit vector an exchange, named by (page, first turn, part). Room grows by doubling."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, int, int], int] = {}
        self._layout: Held | None = None
        self._products = Together(self._multiplied, TOGETHER)
        self._keys = np.zeros((0, 2), dtype=np.int64)
        self._rows = np.zeros((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def pages(self) -> Ints:
        return self._keys[: len(self), 0]

    @property
    def turns(self) -> Ints:
        """The first turn of each exchange."""
        return self._keys[: len(self), 1]

    @property
    def layout(self) -> Held:
        if self._layout is None:
            pages, order = self.pages, None
            if (np.diff(pages) < 0).any():
                order = np.argsort(pages, kind="stable")
                pages = pages[order]
            spans = Spans(pages)
            self._layout = Held(order, spans, pages[spans.firsts])
        return self._layout

    def put(self, page: int, turn: int, part: int, vector: ArrayLike) -> None:
        row = np.asarray(vector, dtype=np.float32)
        if not len(self) and row.ndim == 1:
            self._rows = np.zeros((16, len(row)), dtype=np.float32)
            self._keys = np.zeros((16, 2), dtype=np.int64)
        self._check(row)
        place = self._places.setdefault((page, turn, part), len(self))
        if place == len(self) - 1:
            self._layout = None
        if place == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._keys = np.concatenate([self._keys, np.zeros_like(self._keys)])
        self._rows[place], self._keys[place] = row, (page, turn)

    def cosines(self, vector: Floats | None) -> Floats:
        if vector is None or not len(self):
            return np.zeros(0, dtype=np.float32)
        row = np.asarray(vector, dtype=np.float32)
        self._check(row)
        return self._products(row)

    def _multiplied(self, asked: Sequence[Floats]) -> Sequence[Floats]:
        """One pass over the vectors for all of these: reading them is what takes the time."""
        held = len(self)
        if len(asked) < MANY or held < BLOCK:
            found = np.vecdot(self._rows[:held, None], np.stack(asked))
        else:
            blocks = -(-held // BLOCK)
            rows = self._rows[: blocks * BLOCK].reshape(blocks, BLOCK, -1)
            found = (rows @ np.stack(asked, axis=1)).reshape(blocks * BLOCK, -1)[:held]
        return list(np.ascontiguousarray(found.T))

    def _check(self, row: Floats) -> None:
        if row.shape != self._rows.shape[1:]:
            raise ValueError(
                f"a vector of shape {row.shape} does not fit vectors of {self._rows.shape[1]} numbers: another "
                "embedder made it; embed all of them with one"
            )
