"""Which facts belong into a prompt, and why not the others.

A user's hot facts (their name, how they want to be answered, what they marked) come unasked; others come where the
message asks for them. A fact whose own turn stands in the window is not said twice, unless a value that it replaced
stands there too: then which one holds is said. Open conflicts come as pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

import numpy as np

from memory.asked import NAMING, asked_by, fact_weights, holds_a_name
from memory.events import PlacedFact
from memory.facts import WEIGHTY, Candidate, Fact
from memory.finder import Vector, VectorSource
from memory.knowledge import Knowledge
from memory.language import alike, terms
from memory.retrieval import Hit
from memory.revision import excludes
from memory.settings import Settings
from memory.turns import Words

HOT_MOST = 12  # facts
LINE_TOKENS = 14  # a fact's name, its date and the marks around it
MISSES = 50
FAMILY = 5  # letters of a stem that its relatives share
MANY = 200  # facts that hold a term, from which it says little by itself
ROUNDED = 1e-4  # shares are told in four digits
HOT = WEIGHTY
NEAREST = 20  # facts
NEAR_SHARE = 0.5  # of the words, for two texts to be compared as perhaps the same

Label = Callable[[Fact], str]


class FactFinder:
    """The index of one user's facts, kept in step with what is known. A projection: dropped when words are erased.

    What each word of a question weighs comes from the language (asked.py), not from the facts: that is what sets this
    apart from the index of pages.
    """

    def __init__(self, words: Words, vectors: VectorSource | None = None) -> None:
        self._words = words
        self._vectors = vectors
        self._seen = 0  # facts
        self._terms: dict[int, frozenset[str]] = {}  # of the entry itself
        self._called: set[int] = set()  # whose value is somebody's name
        self._holders: dict[str, set[int]] = {}  # term, also of its topic and of how people ask for it -> facts
        self._text_only: dict[str, list[int]] = {}  # term -> facts without an attribute
        self._families: dict[str, set[str]] = {}  # first five letters -> terms
        self._meanings: dict[int, Vector] = {}
        self._texts: dict[int, str] = {}
        self._without: dict[int, str] = {}  # facts whose vectors are not there yet
        self._news: tuple[str, int] = ("", 0)

    def take(self, k: Knowledge) -> None:
        """Facts that came since the last look."""
        for number in range(self._seen + 1, len(k.facts) + 1):
            fact = k.facts[number]
            text = self._words(fact.text)
            attribute, tags = (self._words(i) if i else "" for i in (fact.attribute, fact.tags))
            self._terms[number] = frozenset(terms(text))
            if holds_a_name(attribute):
                self._called.add(number)
            for term in self._terms[number].union(terms(f"{tags} {asked_by(attribute)}")):
                self._holders.setdefault(term, set()).add(number)
                self._families.setdefault(term[:FAMILY], set()).add(term)
            for term in () if fact.key else self._terms[number]:
                self._text_only.setdefault(term, []).append(number)
            self._texts[number] = self._without[number] = text
        self._seen = max(self._seen, len(k.facts))

    def near(self, k: Knowledge, candidate: Candidate) -> list[tuple[Fact, str]]:
        """Text-only facts that share half of their words with it, the nearest first."""
        self.take(k)
        mine = frozenset(terms(candidate.text))
        shared: Counter[int] = Counter()
        for term in mine:
            shared.update(self._text_only.get(term, ()))
        near = [
            (n / len(mine | self._terms[number]), number)
            for number, n in shared.items()
            if n >= NEAR_SHARE * min(len(mine), len(self._terms[number]))
        ]
        best = sorted(near, reverse=True)[:NEAREST]
        return [(k.facts[number], self._words(k.facts[number].text)) for _, number in best]

    def coverage(self, k: Knowledge, question: str, least: float = 0.0) -> dict[int, dict[str, float]]:
        """For each fact that shares anything with the question: its terms and what share of the question they are.

        Facts that hold nothing but words that many hold, and cannot come to the share `least`, are left out.
        """
        self.take(k)
        weights = fact_weights(question)
        left = total = sum(weights.values())
        found: dict[int, dict[str, float]] = {}
        for term, weight in sorted(weights.items(), key=lambda each: -each[1]):
            held: Collection[int] = self._held(term)
            if len(held) > MANY and left < least * total:
                held = found.keys() & held
            for number in held:
                found.setdefault(number, {})[term] = weight / total
            left -= weight
        naming = {term: weights[term] / total for term in NAMING & weights.keys()}
        for number in found.keys() & self._called if naming else ():
            found[number] |= naming
        return found

    def _held(self, term: str) -> set[int]:
        """Facts that hold the term, or another of its family."""
        if len(term) < FAMILY or not term.isascii():
            return self._holders.get(term, set())
        family = [t for t in self._families.get(term[:FAMILY], ()) if alike(term, t)]
        return set().union(*(self._holders[t] for t in family))

    def margins(self, question: str, among: Collection[int]) -> dict[int, float]:
        """How far the question's vector stands out towards each fact's: 0 the mean of these facts, 1 the same."""
        self._take_vectors()
        known = [n for n in among if n in self._meanings]
        if self._vectors is None or len(known) < 2:
            return {}
        vector = self._vectors.question(question)
        if vector is None:
            return {}
        cosines = np.stack([self._meanings[n] for n in known]) @ vector
        mean = float(cosines.mean())
        return {n: (float(c) - mean) / max(1e-6, 1 - mean) for n, c in zip(known, cosines, strict=True)}

    def _take_vectors(self) -> None:
        if self._vectors is None:
            return
        news = self._vectors.newest()
        if news == self._news or not news[0]:
            return
        if news[0] != self._news[0]:  # another embedder's cannot be compared with them
            self._meanings, self._without = {}, dict(self._texts)
        self._news = news
        known = self._vectors.known(list(self._without.values()))
        for number, text in list(self._without.items()):
            if text in known:
                self._meanings[number] = known[text]
                del self._without[number]


@dataclass(frozen=True, slots=True)
class Recollection:
    """Facts that a question found, best first, and those that it did not, each with the reason."""

    found: tuple[Fact, ...]
    hits: tuple[Hit, ...]
    misses: tuple[Hit, ...]
    note: str = ""
    thresholds: dict[str, float] = field(default_factory=dict)


def recollect(
    finder: FactFinder, k: Knowledge, question: str, most: int, settings: Settings, *, now: datetime | None = None,
    conversation: str | None = None, valid: datetime | None = None, recorded: datetime | None = None,
    layers: Collection[str] = (), meaning: bool = False,
) -> Recollection:  # fmt: skip
    """The facts that answer `question`: those that hold or will hold at `now` (None: whose end nobody knows).

    With `valid` those of that time, as known at `recorded` (None: now); with `recorded` alone all that was known then.
    With `meaning` vectors are compared as well, which takes the time to make the question's own.
    """
    limit, least = settings.facts_coverage, settings.min_margin
    covered = finder.coverage(k, question, 0.0 if meaning else limit - ROUNDED)
    numbers = covered if not meaning else k.facts
    pool = {f.id for f in standing(k, conversation, valid, recorded, layers, numbers, now)}
    margins = finder.margins(question, pool) if meaning else {}
    shares = {n: round(sum(covered.get(n, {}).values()), 4) for n in pool if n in covered or n in margins}
    scores = {n: share + settings.vectors_weight * max(0.0, margins.get(n, 0.0)) for n, share in shares.items()}
    ranked = sorted(scores, key=lambda n: (-round(scores[n], 4), -n))
    hits: list[Hit] = []
    misses: list[Hit] = []
    for number in ranked:
        share, margin = shares[number], margins.get(number, 0.0)
        fits = share >= limit or (number in margins and margin >= least)
        if len(misses) >= MISSES and (not fits or len(hits) == most):
            continue
        hit = _hit(number, covered.get(number, {}), margin, settings)
        if not fits:
            told = f"it covers {share:.2f} of what is asked (facts_coverage {limit:g})"
            told += f", and means {margin:.2f} of the same (min_margin {least:g})" if margins else ""
            misses.append(replace(hit, stage="threshold", dropped=told))
        elif len(hits) == most:
            misses.append(replace(hit, stage="rank", dropped=f"only the best {most} come (facts_k)"))
        else:
            hits.append(hit)
    thresholds = {"facts_coverage": limit} | ({"min_margin": least} if margins else {})
    note = "" if hits else "nothing that is remembered answers it"
    found = _by_layer(k.facts[hit.page] for hit in hits)
    return Recollection(found, tuple(hits), tuple(misses[:MISSES]), note, thresholds)


def standing(
    k: Knowledge, conversation: str | None, valid: datetime | None, recorded: datetime | None, layers: Collection[str],
    numbers: Iterable[int], now: datetime | None,
) -> list[Fact]:  # fmt: skip
    """Of these facts, those that may be read here and held at the time that is asked about."""
    found = [f for n in numbers if (f := k.facts.get(n)) and f.readable_in(conversation)]
    if layers:
        found = [f for f in found if f.layer in layers]
    if valid is not None:
        return [f for f in found if f.holds(valid, recorded)]
    if recorded is not None:
        return [f for f in found if any(b.known(recorded) for b in f.beliefs)]
    return [f for f in found if (f.lasts(now) if now else f.open)]


def _hit(number: int, terms_of: Mapping[str, float], margin: float, settings: Settings) -> Hit:
    share = sum(terms_of.values())
    meant = settings.vectors_weight * max(0.0, margin)
    told = tuple(sorted(terms_of.items(), key=lambda each: -each[1]))
    return Hit(number, number, round(share + meant, 4), (round(share, 4), round(margin, 4)), (share, meant), told)


def _by_layer(found: Iterable[Fact]) -> tuple[Fact, ...]:
    """What stands comes before what happened, in the order of their scores otherwise."""
    order = {"semantic": 0, "episodic": 1, "working": 2}
    return tuple(sorted(found, key=lambda f: order[f.layer]))


# ── a prompt's facts ──────────────────────────────────────────────────────────────────────────────────


def choose(
    k: Knowledge, found: Recollection, room: int, present: Callable[[Fact], bool], conversation: str, now: datetime
) -> list[PlacedFact]:
    """The facts for the prompt, in their order, and those left out with the stage that dropped them.

    `room` tokens may be taken; `present` says whether a fact's own turn stands in the window.
    """
    wanted = [*_hot(k, conversation, now), *_matching(k, found)]
    asked = {each.fact for each in wanted}
    sides = [k.facts[n] for c in k.open_conflicts if asked & set(c.facts) for n in c.facts]
    pairs = [_side(f) for f in sides if f.believed and f.readable_in(conversation)]
    placed: list[PlacedFact] = []
    for each in _once([*pairs, *wanted]):
        fact = k.facts[each.fact]
        tokens = fact.tokens + LINE_TOKENS
        if each.why != "conflict" and present(fact) and not _replaced_stands(k, fact, present):
            placed.append(replace(each, tokens=tokens, stage="window", dropped="its own turn stands in the window"))
        elif tokens > room:
            placed.append(replace(each, tokens=tokens, stage="budget", dropped=f"{tokens} tokens; {room} are left"))
        else:
            room -= tokens
            placed.append(replace(each, tokens=tokens))
    misses = [PlacedFact(h.page, "match", h.score, stage=h.stage, dropped=h.dropped) for h in found.misses]
    known = {p.fact for p in placed}
    return [*placed, *(m for m in misses if m.fact not in known)]


def _replaced_stands(k: Knowledge, fact: Fact, present: Callable[[Fact], bool]) -> bool:
    """Whether a turn in the window says what this fact replaced."""
    others = (k.facts[f.id] for f in k.by_key.get(fact.key, ()) if f.id != fact.id) if fact.key else ()
    return any(excludes(each, fact) and present(each) for each in others)


def _hot(k: Knowledge, conversation: str, now: datetime) -> list[PlacedFact]:
    """What comes whatever is asked; what is in dispute only where it is asked about."""
    here = (f for f in k.profile if f.readable_in(conversation) and f.lasts(now))
    best = islice(here, HOT_MOST)
    return [PlacedFact(f.id, "hot", f.importance) for f in best]


def _matching(k: Knowledge, found: Recollection) -> list[PlacedFact]:
    scores = {hit.page: hit.score for hit in found.hits}
    return [PlacedFact(f.id, "match", scores[f.id]) for f in found.found]


def _side(fact: Fact) -> PlacedFact:
    return PlacedFact(fact.id, "conflict", fact.importance)


def _once(placed: Iterable[PlacedFact]) -> list[PlacedFact]:
    return list({each.fact: each for each in reversed(list(placed))}.values())[::-1]
