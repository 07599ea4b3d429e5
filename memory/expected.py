"""Words that somebody expects to be remembered, and whether a text holds them.

A text holds them if it has every word that asks for something: "the", "is" and their like do not. Words count by
their stem, in English and Chinese, and 8,000 is 8000. It compares words, no meaning: a paraphrase is not found.

>>> looked_for("budget 8000").held("Then let us raise the budget to 8,000 euros.")
True
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from memory.asked import LIGHT, asked_weights
from memory.errors import BadMessage
from memory.language import alike, sentences, terms

NUMBER = 4.5  # what a number weighs that questions take apart: 5,000


@dataclass(frozen=True)
class Expected:
    words: str
    weights: Mapping[str, float]  # of its terms, the rarer in the language the heavier; they sum to 1

    def held(self, text: str) -> bool:
        return not self.lacks(text)

    def lacks(self, text: str) -> list[str]:
        """Its terms that the text does not have."""
        there = frozenset(terms(text))
        return [term for term in self.weights if term not in there and not _kin(term, there)]

    def share(self, text: str) -> float:
        """0..1: how much of it the text has."""
        return 1.0 - sum(self.weights[term] for term in self.lacks(text))

    def span(self, text: str) -> tuple[int, int]:
        """The sentences `[start, end)` that have it, as few as one where one has all; (0, 0) if none has any."""
        shares = [(self.share(text[start:end]), -start, end) for start, end in sentences(text)]
        if not shares or max(shares)[0] <= 0:
            return 0, 0
        share, start, end = max(shares)
        if share >= 0.999:
            return -start, end
        some = [(-start, end) for share, start, end in shares if share > 0]
        return some[0][0], some[-1][1]


def _kin(term: str, there: Collection[str]) -> bool:
    return term.isascii() and term.isalpha() and any(alike(term, other) for other in there)


def looked_for(words: str) -> Expected:
    """Raises BadMessage where there is no word to look for."""
    weights = asked_weights(words)
    found = {term: weights.get(term, NUMBER if any(map(str.isdigit, term)) else 0.0) for term in terms(words)}
    asked = {term: weight for term, weight in found.items() if weight > LIGHT} or dict.fromkeys(found, 1.0)
    if not asked:
        raise BadMessage(f"give words that a right answer would hold, as in 'budget 8000'; {words!r} has none")
    total = sum(asked.values())
    return Expected(words, {term: weight / total for term, weight in asked.items()})
