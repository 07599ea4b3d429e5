"""Chains of claims that a question spells out: "the country of citizenship of the spouse of the author of …".

From whomever the question names, along claims whose relation it words, each value the subject of the next. The best
chain words most of the question with the fewest claims of which it says nothing. Only claims that hold are followed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from memory.asking import STRONG, Cue, Mention, answers_with, asked_for, cues_in, fits, in_table, mentions_in, named
from memory.graph import Graph

HOPS = 4  # claims in a chain
MANY = 2  # values of one relation that are followed, the newest first
SILENT = 1  # claims of a chain of which the question says nothing
STARTS = 8  # names in a question that chains start from

NAMED = 0.04  # a character of the name that the chain starts from
UNSAID = -0.3  # a claim of which the question says nothing
UNASKED = -0.35  # a wording of the question that the chain leaves out
KIND = 0.5  # the last value is of the kind that is asked for
LENGTH = -0.1  # a claim
ENOUGH = 0.6  # score from which a chain is an answer


@dataclass(frozen=True, slots=True)
class Chain:
    """Facts, each about the value of the one before; the value of the last answers."""

    start: str  # entity that the question names
    facts: tuple[int, ...]
    score: float


def chains(graph: Graph, question: str, among: Collection[int], *, hops: int = HOPS, most: int = 3) -> list[Chain]:
    """The best chains over facts of `among`, the best first; none where the question spells out nothing."""
    seeker = _Seeker(graph, question, among, hops)
    found: dict[tuple[int, ...], Chain] = {}
    for mention in _starts(graph, question):
        for facts, cues in seeker.paths(mention.key):
            score = seeker.score(mention, facts, cues)
            if score >= ENOUGH and (facts not in found or score > found[facts].score):
                found[facts] = Chain(mention.key, facts, round(score, 4))
    best = sorted(found.values(), key=lambda c: (-c.score, len(c.facts), [-f for f in c.facts]))
    return best[:most]


def _starts(graph: Graph, question: str) -> list[Mention]:
    """Names of subjects in the question, the longest first; none that lies within a longer one."""
    known = [m for m in mentions_in(question) if m.key in graph.subjects]
    longest = sorted(dict.fromkeys(known), key=lambda m: (m.start - m.end, m.start))
    kept: list[Mention] = []
    for each in longest:
        if not any(k.start <= each.start and each.end <= k.end and k.key != each.key for k in kept):
            kept.append(each)
    return kept[:STARTS]


Path = tuple[tuple[int, ...], tuple[Cue | None, ...]]


class _Seeker:
    """The wordings of one question, and the claims that may be followed."""

    def __init__(self, graph: Graph, question: str, among: Collection[int], hops: int) -> None:
        self.graph, self.question, self.among, self.hops = graph, question, among, hops
        self.asked = asked_for(question)
        self.cues = cues_in(question)
        self._by_attribute: dict[str, tuple[Cue, ...]] = {}

    def paths(self, start: str) -> Iterator[Path]:
        yield from self._from(start, (), (), frozenset([start]))

    def _from(
        self, entity: str, facts: tuple[int, ...], cues: tuple[Cue | None, ...], seen: frozenset[str]
    ) -> Iterator[Path]:
        if len(facts) == self.hops:
            return
        silent = sum(cue is None for cue in cues)
        for fact, attribute in self._claims(entity):
            value = self.graph.value_of.get(fact, "")
            choices: list[Cue | None] = [c for c in self.wordings(attribute) if _free(c, cues)]
            if silent < SILENT:
                choices.append(None)
            for cue in choices:
                path = (*facts, fact), (*cues, cue)
                if cue:  # a question words what it wants to know
                    yield path
                if value and value not in seen:
                    yield from self._from(value, *path, seen | {value})

    def _claims(self, entity: str) -> Iterator[tuple[int, str]]:
        """Claims about it that hold, of each relation the newest."""
        taken: dict[str, int] = {}
        for number in reversed(self.graph.subjects.get(entity, ())):
            fact = self.graph.known.facts[number]
            attribute = self.graph.words(fact.attribute)
            if number in self.among and not fact.negated and taken.get(attribute, 0) < MANY:
                taken[attribute] = taken.get(attribute, 0) + 1
                yield number, attribute

    def wordings(self, attribute: str) -> tuple[Cue, ...]:
        """Where the question asks for it."""
        found = self._by_attribute.get(attribute)
        if found is None:
            own = tuple(c for c in self.cues if c.attribute == attribute)
            found = own if in_table(attribute) else (*own, *named(attribute, self.question))
            self._by_attribute[attribute] = found
        return found

    def score(self, mention: Mention, facts: tuple[int, ...], cues: tuple[Cue | None, ...]) -> float:
        said = [cue for cue in cues if cue]
        if not any(cue.weight >= STRONG for cue in said) or self._kind(facts[-1]) < 0:
            return 0.0  # who is asked for is no city
        total = NAMED * (mention.end - mention.start) + LENGTH * len(facts)
        total += sum(cue.weight if cue else UNSAID for cue in cues)
        left = self._left(mention, said)
        if cues[-1] and any(_beyond(mention, cues[-1], each) for each in left):
            return 0.0
        total += UNASKED * len(left)
        return total + KIND * self._kind(facts[-1])

    def _kind(self, last: int) -> int:
        """1: the fact's value is of the kind that is asked for; -1: it is not; 0: nobody can tell."""
        answers = answers_with(self.graph.words(self.graph.known.facts[last].attribute))
        return fits(self.asked, answers) if self.asked and answers else 0

    def _left(self, mention: Mention, said: list[Cue]) -> set[tuple[int, int]]:
        """Wordings that name a relation, outside the name and of what the chain uses."""
        taken = [(c.start, c.end) for c in said] + [(mention.start, mention.end)]
        return {
            (c.start, c.end)
            for c in self.cues
            if c.weight >= STRONG and not any(a < c.end and c.start < b for a, b in taken)
        }


def _free(cue: Cue, used: Collection[Cue | None]) -> bool:
    return not any(other and other.start < cue.end and cue.start < other.end for other in used)


def _beyond(mention: Mention, last: Cue, left: tuple[int, int]) -> bool:
    """Whether a wording stands on the far side of the last one, seen from the name: it asks for more."""
    if last.end <= mention.start:
        return left[1] <= last.start
    return left[0] >= last.end
