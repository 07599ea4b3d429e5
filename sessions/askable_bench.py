"""Where the weights of `askable` come from (memory/askable.py): which words of a page its labelled questions say.

A logistic regression over all words of all pages, Newton's method; no model, nothing kept of the words themselves.
It chooses no keywords: paging_bench.py asks how well those that come of it find the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memory.bookmarks import Corpus, PageWords, candidates
from memory.language import terms

Floats = NDArray[np.float64]

PENALTY = 3.0  # on the squares of the weights, of signs brought to one scale
STEPS = 30


def asked_words(
    pages: Sequence[PageWords], questions: Sequence[tuple[str, frozenset[int]]]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Of one conversation: the signs of each word of each page, and whether a question about that page says it.

    `questions` are each with the pages that answer it.
    """
    corpus = Corpus()
    asked: Mapping[int, set[str]] = {page.page: set() for page in pages}
    for page in pages:
        corpus.add(page)
    for question, about in questions:
        for number in about:
            asked[number].update(terms(question))
    found = [(page.page, each) for page in pages for each in candidates(page, corpus)]
    said = [set(each.told.key.split()) <= asked[number] for number, each in found]
    return np.array([each.signs for _, each in found]), np.array(said, dtype=np.bool_)


def fitted(parts: Sequence[tuple[Floats, NDArray[np.bool_]]]) -> tuple[float, ...]:
    """The weights, in front the constant, from conversations as `asked_words` reads them."""
    signs, said = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]).astype(float)
    middle, scale = signs.mean(axis=0), signs.std(axis=0) + 1e-9
    rows = np.column_stack([np.ones(len(signs)), (signs - middle) / scale])
    penalty = np.diag([0.0, *[PENALTY] * len(middle)])
    weights = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        odds = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (odds - said) + penalty @ weights
        bend = (rows * (odds * (1 - odds))[:, None]).T @ rows + penalty
        step = np.linalg.solve(bend, slope)
        weights -= step
        if np.abs(step).max() < 1e-9:
            break
    own = weights[1:] / scale
    return (float(weights[0] - own @ middle), *own.tolist())
