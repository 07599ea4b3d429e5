"""Which words the bookmarks of a conversation hold. A projection of the state; it decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import chain
from math import log

from memory.language import terms


class Shelf:
    """`put` each bookmark as it is made.

    >>> shelf = Shelf()
    >>> shelf.put(3, "allergy,peanut")
    >>> shelf.matches("Which allergies do I have?")
    Counter({3: 1})
    """

    def __init__(self) -> None:
        self._pages: dict[str, set[int]] = {}  # by term
        self._terms: dict[int, frozenset[str]] = {}  # by page

    def __len__(self) -> int:
        """Pages with a bookmark that says something."""
        return len(self._terms)

    def put(self, page: int, keywords: str) -> None:
        """`keywords` are comma-separated, "" for a bare stub; they replace those that the page had."""
        for term in self._terms.pop(page, ()):
            self._pages[term].discard(page)
        if found := frozenset(terms(keywords)):
            self._terms[page] = found
            for term in found:
                self._pages.setdefault(term, set()).add(page)

    def holders(self, term: str) -> Collection[int]:
        """Pages whose bookmark has the term."""
        return self._pages.get(term, ())

    def matches(self, message: str) -> Counter[int]:
        """By page, how many different words its bookmark shares with the message; pages with none left out."""
        return Counter(chain.from_iterable(self.holders(term) for term in set(terms(message))))

    def idf(self, term: str) -> float:
        """How much a bookmark's holding it tells: the fewer others do, the more. 0 where none does."""
        holders = self.holders(term)
        return log(1 + len(self) / len(holders)) if holders else 0.0

    def fits(self, asked: Iterable[str]) -> dict[int, float]:
        """By page, the idf of these terms on its bookmark, summed; pages that hold none left out."""
        found: dict[int, float] = {}
        for term in dict.fromkeys(asked):
            if holders := self.holders(term):
                idf = self.idf(term)
                for page in holders:
                    found[page] = found.get(page, 0.0) + idf
        return found
