"""Asking the graph: seeds, a walk that the kind of question steers, a rank, variety, and the path as the reason.

A question that spells a chain out is answered by it (chains.py). Otherwise the claims nearest to the question and the
bookmarks that share its words are where the walk begins; it goes a few steps to a few neighbours each. What is over
is not walked, unless a time is asked about. Nothing is near: nothing is walked, and an empty answer says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from memory.asked import asked_weights
from memory.asking import COMPARISON, CONCLUSION, PLAIN, THEN, Mention, kind_of, matter, mentions_in, named
from memory.attributes import KIN, USER
from memory.chains import HOPS as CHAIN_HOPS
from memory.chains import Chain, chains
from memory.errors import BadSetting
from memory.facts import Fact
from memory.graph import BELONGS, CAUSAL, NEGATES, REFERENCE, TEMPORAL, TOPICAL, UPDATES, Edge, Graph, entity_key
from memory.language import terms
from memory.recollect import FactFinder, recollect, standing
from memory.settings import Settings
from memory.show import Shown, small, table, text

HOPS, NEIGHBOURS = 2, 2  # of the walk: steps from a seed, claims that each step goes to
SEEDS = 3
TWIN = 0.8  # share of words from which two claims say the same
ENTRY = 0.5  # of what is asked, that a bookmark must hold to be an entry

PREFER = {  # how gladly a question of this kind goes along an edge of that kind
    CONCLUSION: {CAUSAL: 1.0, TOPICAL: 0.9, REFERENCE: 0.5, BELONGS: 0.4, UPDATES: 0.4, NEGATES: 0.4, TEMPORAL: 0.2},
    THEN: {TEMPORAL: 1.0, UPDATES: 0.8, NEGATES: 0.8, CAUSAL: 0.7, REFERENCE: 0.4, BELONGS: 0.4, TOPICAL: 0.2},
    COMPARISON: {BELONGS: 1.0, REFERENCE: 0.8, TOPICAL: 0.5, CAUSAL: 0.3, UPDATES: 0.3, NEGATES: 0.3, TEMPORAL: 0.1},
    PLAIN: {REFERENCE: 1.0, BELONGS: 0.6, TOPICAL: 0.6, CAUSAL: 0.6, UPDATES: 0.3, NEGATES: 0.3, TEMPORAL: 0.2},
}
SIMILARITY, RANK, FRESH, IMPORTANT, CHAINED, PAIRED = 1.0, 0.3, 0.1, 0.2, 1.0, 0.4  # what a claim's score is made of
ANSWERS = 2.0  # of a chain's end; its other claims count less, the farther from the end
LEAST = 0.08  # preference × weight × likeness from which an edge is taken at all
FAR = 0.6  # of a claim's likeness to the question and its rank, per step from the seed
_USER = entity_key(USER)


@dataclass(frozen=True, slots=True)
class Step:
    """A claim that the walk came to, and how."""

    fact: Fact
    score: float
    path: str  # f3 -author-> Ann -place of birth-> f9
    hops: int  # steps from the seed; 0: a seed
    shares: tuple[tuple[str, float], ...] = ()  # of the score
    dropped: str = ""


@dataclass(frozen=True)
class Walk(Shown):
    """Claims, best first; `answer` is the end of the chain that the question spells out, None if it spells none."""

    question: str
    kind: str
    steps: tuple[Step, ...]
    dropped: tuple[Step, ...] = ()
    answer: Fact | None = None
    note: str = ""

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(step.fact for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "kind": self.kind,
            "answer": self.answer.name if self.answer else None,
            "steps": [_told(step) for step in self.steps],
            "dropped": [_told(step) for step in self.dropped],
            "note": self.note,
        }

    def __repr__(self) -> str:
        return f"<Walk ({self.kind}): {', '.join(s.path for s in self.steps) or self.note}>"

    def _html(self) -> str:
        rows = [[s.fact.name, f"{s.score:.2f}", s.hops, s.path] for s in self.steps]
        head = f"<p>{text(small(self.question, 120))} <i>{text(self.kind)}</i> {text(self.note)}</p>"
        return head + table(["fact", "score", "hops", "because"], rows)


def _told(step: Step) -> dict[str, Any]:
    told = {"fact": step.fact.name, "score": step.score, "path": step.path, "hops": step.hops}
    return told | {"shares": dict(step.shares)} | ({"dropped": step.dropped} if step.dropped else {})


def walk(
    graph: Graph, finder: FactFinder, question: str, most: int, settings: Settings, *, now: datetime | None = None,
    conversation: str | None = None, valid: datetime | None = None, recorded: datetime | None = None,
    hops: int = HOPS, neighbours: int = NEIGHBOURS, chain_hops: int = CHAIN_HOPS,
) -> Walk:  # fmt: skip
    """The claims of `graph` that answer `question`: those that hold at `now` (None: whose end nobody knows).

    Or, as `recollect` has it, those of `valid` time as known at `recorded`. Raises BadSetting for fewer than no steps.
    """
    if min(hops, neighbours, chain_hops) < 0 or most < 1:
        asked = f"most={most}, hops={hops}, neighbours={neighbours}, chain_hops={chain_hops}"
        raise BadSetting(f"a walk takes at least one answer and no fewer steps than 0, not {asked}")
    k = graph.known
    among = {f.id for f in standing(k, conversation, valid, recorded, (), k.facts, now)}
    walker = _Walker(graph, finder, question, among, hops, neighbours)
    compares = walker.kind == COMPARISON and len(walker.sides()) > 1
    spelled = [] if compares else chains(graph, question, among, hops=chain_hops, most=1)
    found = recollect(
        finder, k, walker.matter, SEEDS, settings, now=now, conversation=conversation, valid=valid, recorded=recorded
    )
    for chain in spelled:
        walker.along(chain)
    for number, path in (*((f.id, f.name) for f in found.found), *walker.entries(), *walker.compared()):
        walker.start(number, path)
    if not walker.reached:
        return Walk(question, walker.kind, (), note="nothing that is remembered answers it")
    walker.spread()
    kept, dropped = _varied(graph, walker.ranked(), most)
    answer = k.facts[spelled[0].facts[-1]] if spelled else None
    return Walk(question, walker.kind, kept, dropped, answer)


@dataclass(frozen=True, slots=True)
class _Reached:
    path: str
    hops: int
    chained: float = 0.0


class _Walker:
    """One question on its way over the graph."""

    def __init__(
        self, graph: Graph, finder: FactFinder, question: str, among: Collection[int], hops: int, neighbours: int
    ) -> None:
        self.graph, self.question, self.among, self.hops, self.neighbours = graph, question, among, hops, neighbours
        self.kind = kind_of(question)
        self.matter = matter(question)
        covered = finder.coverage(graph.known, self.matter)
        self.likeness = {number: sum(shares.values()) for number, shares in covered.items() if number in among}
        self.reached: dict[int, _Reached] = {}
        self.seeds: list[str] = []
        self.paired: set[int] = set()

    # ── where it begins ───────────────────────────────────────────────────────────────────────────────

    def along(self, chain: Chain) -> None:
        """The chain's claims, the last first: it answers, the others say how."""
        for left in range(len(chain.facts)):
            way = chain.facts[: len(chain.facts) - left]
            self.reached.setdefault(
                way[-1], _Reached(self._way(way), len(way) - 1, 1 / (1 + 0.25 * left) if left else ANSWERS)
            )
        self.seeds += [f"f{n}" for n in chain.facts]

    def _way(self, numbers: Sequence[int]) -> str:
        words, facts = self.graph.words, [self.graph.known.facts[n] for n in numbers]
        told = facts[0].name
        for before, fact in pairwise(facts):
            told += f" -{words(before.attribute)}-> {words(before.value)} -{words(fact.attribute)}-> {fact.name}"
        return told

    def start(self, number: int, path: str) -> None:
        if number in self.among and number not in self.reached:
            self.reached[number] = _Reached(path, 0)
        if number in self.among:
            self.seeds.append(f"f{number}")

    def entries(self) -> Iterator[tuple[int, str]]:
        """Claims made on pages whose bookmark holds what is asked."""
        asked = asked_weights(self.matter)
        total = sum(asked.values())
        for node in self.graph.nodes.values():
            if node.kind != "bookmark" or not total:
                continue
            held = set(terms(self.graph.mark(node.text)))
            if sum(w for term, w in asked.items() if term in held) >= ENTRY * total:
                self.seeds.append(node.id)
                for number in self._said_on(f"p{node.number}"):
                    yield number, f"{node.id} -> p{node.number} -> f{number}"

    def _said_on(self, page: str) -> list[int]:
        edges = self.graph.by_node.get(page, ())
        return [int(e.source[1:]) for e in edges if e.target == page and e.source.startswith("f")]

    def compared(self) -> Iterator[tuple[int, str]]:
        """Of a comparison, what is known of both sides; what both have of one kind counts more."""
        sides = self.sides() if self.kind == COMPARISON else []
        words, facts = self.graph.words, self.graph.known.facts
        held = [{words(facts[n].attribute): n for n in self._about(key)} for key in sides]
        for key, own in zip(sides, held, strict=True):
            for attribute, number in own.items():
                if sum(attribute in other for other in held) > 1:
                    self.paired.add(number)
                    yield number, f"{self.graph.name('e:' + key)} -{attribute}-> f{number}"

    def sides(self) -> list[str]:
        """Entities that the question names and something is known of; "my sister" is whoever she is."""
        graph = self.graph
        kin = [
            Mention(graph.value_of.get(fact, ""), cue.start, cue.end)
            for fact in self._about(_USER)
            if (word := graph.words(graph.known.facts[fact].attribute)) in KIN
            for cue in named(word, self.question)
        ]
        known = [m for m in (*mentions_in(self.question), *kin) if m.key != _USER and self._about(m.key)]
        kept: dict[str, tuple[int, int]] = {}
        for m in sorted(known, key=lambda m: m.start - m.end):
            if not any(a < m.end and m.start < b for a, b in kept.values()):
                kept.setdefault(m.key, (m.start, m.end))
        return list(kept)

    def _about(self, key: str) -> list[int]:
        return [n for n in self.graph.subjects.get(key, ()) if n in self.among]

    # ── where it goes ─────────────────────────────────────────────────────────────────────────────────

    def spread(self) -> None:
        """From every seed to its best neighbours, and from these to theirs."""
        front = [n for n, r in self.reached.items()]
        for hop in range(1, self.hops + 1):
            come: list[int] = []
            for number in front:
                for other, path in self._best(number):
                    if other not in self.reached:
                        self.reached[other] = _Reached(f"{self.reached[number].path}{path}", hop)
                        come.append(other)
            front = come

    def _best(self, number: int) -> list[tuple[int, str]]:
        """The neighbours that the question goes to from here."""
        prefer = PREFER[self.kind]
        best: dict[int, tuple[float, str]] = {}
        for other, kind, weight, path in self._neighbours(number):
            score = prefer[kind] * weight * (0.2 + self.likeness.get(other, 0.0))
            if other in self.among and other != number and score > best.get(other, (LEAST, ""))[0]:
                best[other] = (score, path)
        ordered = sorted(best.items(), key=lambda each: (-each[1][0], -each[0]))
        return [(other, path) for other, (_, path) in ordered[: self.neighbours]]

    def _neighbours(self, number: int) -> Iterator[tuple[int, str, float, str]]:
        """Claims one step away: through the value, through the subject, or by an edge of their own."""
        graph = self.graph
        fact = graph.known.facts[number]
        if value := graph.value_of.get(number):
            said = f" -{graph.words(fact.attribute)}-> {graph.words(fact.value)}"
            yield from self._through(value, said, REFERENCE, graph.subjects, "-{}->")
            yield from self._through(value, said, REFERENCE, graph.values, "<-{}-")
        if subject := graph.subject_of.get(number):
            said = f" -of-> {graph.words(fact.subject)}"
            yield from self._through(subject, said, BELONGS, graph.subjects, "-{}->")
            yield from self._through(subject, said, REFERENCE, graph.values, "<-{}-")
        for edge in graph.by_node.get(fact.name, ()):
            yield from self._by_edge(fact, edge)

    def _through(
        self, entity: str, said: str, kind: str, facts: dict[str, list[int]], arrow: str
    ) -> Iterator[tuple[int, str, float, str]]:
        """Claims that share the entity; of one that everything is about each weighs little."""
        found = facts.get(entity, ())
        weight = 1.0 / (1 + len(found)) ** 0.5
        for other in found:
            attribute = self.graph.words(self.graph.known.facts[other].attribute)
            yield other, kind, weight, f"{said} {arrow.format(attribute)} f{other}"

    def _by_edge(self, fact: Fact, edge: Edge) -> Iterator[tuple[int, str, float, str]]:
        ahead = edge.source == fact.name
        other = edge.target if ahead else edge.source
        if other.startswith("f"):
            path = f" -{edge.kind}-> {other}" if ahead else f" <-{edge.kind}- {other}"
            yield int(other[1:]), edge.kind, edge.weight, path
        elif other.startswith("p"):
            said = self._said_on(other)
            for number in said:
                yield number, REFERENCE, edge.weight / (1 + len(said)), f" -> {other} -> f{number}"

    # ── what comes of it ──────────────────────────────────────────────────────────────────────────────

    def ranked(self) -> list[Step]:
        """By likeness to the question, place in the graph, freshness and importance."""
        facts = {n: self.graph.known.facts[n] for n in self.reached}
        ranks = self.graph.pagerank(self.seeds, self.among)
        by_age = sorted(facts, key=lambda n: (facts[n].since, n))
        fresh = {n: (place + 1) / len(by_age) for place, n in enumerate(by_age)}
        steps = []
        for number, reached in self.reached.items():
            near = FAR**reached.hops if not reached.chained else 1.0
            shares = {
                "likeness": SIMILARITY * near * self.likeness.get(number, 0.0),
                "rank": RANK * near * ranks.get(f"f{number}", 0.0),
                "fresh": FRESH * fresh[number],
                "important": IMPORTANT * facts[number].importance,
                "chain": CHAINED * reached.chained,
                "pair": PAIRED * (number in self.paired),
            }
            told = tuple((name, round(share, 4)) for name, share in shares.items() if share)
            steps.append(Step(facts[number], round(sum(shares.values()), 4), reached.path, reached.hops, told))
        return sorted(steps, key=lambda s: (-s.score, -s.fact.id))


def _varied(graph: Graph, steps: list[Step], most: int) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The best, without those that say what a better one says."""
    kept: list[Step] = []
    dropped: list[Step] = []
    for step in steps:
        if twin := next((k for k in kept if _alike(graph, k.fact, step.fact) >= TWIN), None):
            dropped.append(_without(step, f"it says what {twin.fact.name} says"))
        elif len(kept) == most:
            dropped.append(_without(step, f"only the best {most} come"))
        else:
            kept.append(step)
    return tuple(kept), tuple(dropped)


def _alike(graph: Graph, a: Fact, b: Fact) -> float:
    """Shared words of all words; different values of one relation are no twins."""
    if a.key and b.key and a.value_key != b.value_key:
        return 0.0
    mine, theirs = graph.terms[a.id], graph.terms[b.id]
    return len(mine & theirs) / max(1, len(mine | theirs))


def _without(step: Step, why: str) -> Step:
    return Step(step.fact, step.score, step.path, step.hops, step.shares, why)
