"""What is remembered as a graph: entities, events, claims, pages, bookmarks, and typed edges between them.

A projection of what is known (knowledge.py) and, where it is given, of one conversation's pages. It is built as facts
come, and says the same however often it was asked in between. How a question walks over it is walk.py's.

Only what is talked about often is an entity: the subject of a claim, or a value that two claims share; all else stays
text. A claim belongs to its subject and refers to its value, so two claims about one entity are linked through it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Any

from memory.facts import Fact, Source, digest
from memory.knowledge import Change, Knowledge
from memory.language import terms
from memory.show import Shown, small, table, text
from memory.state import State
from memory.turns import Words

if TYPE_CHECKING:
    import igraph

ENTITY, EVENT, CLAIM, PAGE, BOOKMARK = "entity", "event", "claim", "page", "bookmark"
TEMPORAL, TOPICAL, CAUSAL, REFERENCE, UPDATES, NEGATES, BELONGS = (
    "temporal", "topical", "causal", "reference", "updates", "negates", "belongs-to",
)  # fmt: skip
WEIGHTS = {TEMPORAL: 0.5, TOPICAL: 0.6, CAUSAL: 1.0, REFERENCE: 0.8, UPDATES: 0.5, NEGATES: 0.5, BELONGS: 1.0}

SIMILAR = 0.4  # weighted overlap of words from which two claims are about one topic
TOPICAL_MOST = 4  # links of a new claim to earlier ones, the most alike
DENSE = 0.25  # of all pairs of claims; with more, similarity tells nothing apart
DENSE_FROM = 12  # claims
DAMPING = 0.85  # of PageRank

Said = Callable[[Source], str]  # the words of the turn that a source points into


@dataclass(frozen=True, slots=True)
class Node:
    id: str  # f12, e:9f…, p3, b3
    kind: str
    text: int = 0  # id of its words
    number: int = 0  # of the fact or page


@dataclass(frozen=True, slots=True)
class Edge:
    """From the later, the narrower or the cause; `relation` is the id of an attribute's words."""

    source: str
    target: str
    kind: str
    weight: float  # 0..1
    relation: int = 0


def entity_key(words: str) -> str:
    """Digest of a name: case, width, blanks and a leading article aside.

    >>> entity_key("The Witcher") == entity_key("witcher")
    True
    """
    return digest(_ARTICLE.sub("", words.strip()))


_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_SAID = re.compile(r"\s*(?:\(said [\d-]+\)|（[\d-]+说）)[.。]?$")


class Graph(Shown):
    """`take` what is known, then ask.

    `words` are those of facts, `marks` those of bookmarks where they stand elsewhere. `said` is needed for causal
    edges alone: the connective stands in the turn.
    """

    def __init__(
        self, words: Words, said: Said | None = None, marks: Words | None = None, *, similar: float = SIMILAR
    ) -> None:
        self.words, self._said, self.similar = words, said, similar
        self.mark = cache(marks or words)
        self.known = Knowledge()
        self.conversation = ""
        self.subjects: dict[str, list[int]] = {}  # by entity, the facts about it
        self.values: dict[str, list[int]] = {}  # by entity, the facts whose value it is
        self.subject_of: dict[int, str] = {}  # by fact
        self.value_of: dict[int, str] = {}
        self.names: dict[str, int] = {}  # by entity, the id of its words
        self.terms: dict[int, frozenset[str]] = {}
        self.topical: dict[int, list[tuple[float, int]]] = {}  # by fact, how alike which earlier ones are
        self.causal: list[tuple[int, int]] = []  # cause, effect
        self._holders: dict[str, list[int]] = {}
        self._last: dict[int, tuple[int, Source]] = {}  # by turn's words, the last claim drawn from them
        self._alike = 0  # pairs of claims
        self._state: State | None = None

    # ── taking ────────────────────────────────────────────────────────────────────────────────────────

    def take(self, k: Knowledge, state: State | None = None, conversation: str = "") -> Graph:
        """What came since the last time. `state` is of the conversation whose pages are nodes as well."""
        if k is not self.known or state is not self._state or conversation != self.conversation:
            for name in ("nodes", "edges", "by_node", "_drawn"):
                self.__dict__.pop(name, None)
        for number in range(len(self.terms) + 1, len(k.facts) + 1):
            self._add(k.facts[number])
        self.known, self._state, self.conversation = k, state, conversation
        return self

    def _add(self, fact: Fact) -> None:
        if fact.state == "erased":
            self.terms[fact.id] = frozenset()
            return
        if fact.key:
            self._link(fact.id, fact.subject, self.subjects, self.subject_of)
            if fact.value:
                self._link(fact.id, fact.value, self.values, self.value_of)
        self._compare(fact)
        if fact.sources and self._said is not None:
            self._explain(fact.id, fact.sources[0])

    def _link(self, fact: int, name: int, entities: dict[str, list[int]], of: dict[int, str]) -> None:
        key = entity_key(self.words(name))
        self.names.setdefault(key, name)
        entities.setdefault(key, []).append(fact)
        of[fact] = key

    def _compare(self, fact: Fact) -> None:
        """Topical links to earlier claims that are alike."""
        topic = " ".join(self.words(i) for i in (fact.attribute, fact.tags) if i)
        mine = frozenset(terms(f"{_SAID.sub('', self.words(fact.text))} {topic.replace(':', ' ')}"))
        near = sorted(self._near(mine), reverse=True)
        self._alike += len(near)
        self.topical[fact.id] = near[:TOPICAL_MOST]
        self.terms[fact.id] = mine
        for term in mine:
            self._holders.setdefault(term, []).append(fact.id)

    def _near(self, mine: frozenset[str]) -> Iterator[tuple[float, int]]:
        """Earlier claims whose words overlap by `similar` or more, each word as heavy as it is rare.

        Texts that overlap so much share one of the rarest words of the new one: only those are looked up.
        """
        weights = {term: self._rarity(term) for term in mine}
        total = left = sum(weights.values())
        seen: set[int] = set()
        for term in sorted(mine, key=lambda t: (-weights[t], t)):
            if left < self.similar * total:
                break
            left -= weights[term]
            seen.update(self._holders.get(term, ()))
        for other in seen:
            theirs = self.terms[other]
            both = sum(weights[t] for t in mine & theirs)
            share = both / (total + sum(self._rarity(t) for t in theirs - mine))
            if share >= self.similar:
                yield round(share, 4), other

    def _rarity(self, term: str) -> float:
        return log(1 + (1 + len(self.terms)) / (1 + len(self._holders.get(term, ()))))

    def _explain(self, fact: int, source: Source) -> None:
        """Claims of one turn with a connective between them: one is why the other."""
        last = self._last.get(source.text)
        self._last[source.text] = (fact, source)
        if last is None or self._said is None:
            return
        (a, first), (b, second) = sorted((last, (fact, source)), key=lambda each: (each[1].start, each[0]))
        because = explains(self._said(source), first, second)
        if because:
            self.causal.append((a, b) if because > 0 else (b, a))

    # ── the graph ─────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """By id: f12, e:9f…, p3, b3; of working facts those of this conversation, and what they alone name."""
        read = [
            f for f in self.known.facts.values() if f.state != "erased" and f.readable_in(self.conversation or None)
        ]
        claims = [Node(f.name, EVENT if f.layer == "episodic" else CLAIM, f.text, f.id) for f in read]
        named = {of.get(f.id, "") for f in read for of in (self.subject_of, self.value_of)}
        entities = [
            Node(f"e:{key}", ENTITY, name) for key, name in self.names.items() if key in named and self.is_entity(key)
        ]
        pages = self._state.pages.values() if self._state else ()
        marks = [(p.number, p.bookmark.keywords) for p in pages if p.bookmark and p.bookmark.keywords]
        return {
            node.id: node
            for node in (
                *claims, *entities,
                *(Node(f"p{p.number}", PAGE, 0, p.number) for p in pages),
                *(Node(f"b{page}", BOOKMARK, keywords, page) for page, keywords in marks),
            )
        }  # fmt: skip

    def is_entity(self, key: str) -> bool:
        """Whether it is talked about: the subject of a claim, or a value that two share."""
        return key in self.subjects or len(self.values.get(key, ())) > 1

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        found = (
            *self._of_entities(), *self._of_claims(), *_by_change(self.known.changes.values()), *self._of_events(),
            *self._of_pages(),
        )  # fmt: skip
        return tuple(e for e in found if e.source in self.nodes and e.target in self.nodes)

    def _of_entities(self) -> Iterator[Edge]:
        for fact, key in self.subject_of.items():
            yield Edge(f"f{fact}", f"e:{key}", BELONGS, WEIGHTS[BELONGS], self.known.facts[fact].attribute)
        for fact, key in self.value_of.items():
            if self.is_entity(key):
                yield Edge(f"f{fact}", f"e:{key}", REFERENCE, WEIGHTS[REFERENCE], self.known.facts[fact].attribute)

    def _of_claims(self) -> Iterator[Edge]:
        for fact, near in self.topical.items():
            yield from (Edge(f"f{fact}", f"f{other}", TOPICAL, share) for share, other in near)
        for cause, effect in dict.fromkeys(self.causal):
            yield Edge(f"f{cause}", f"f{effect}", CAUSAL, WEIGHTS[CAUSAL])

    def _of_events(self) -> Iterator[Edge]:
        """What happened, each to the next."""
        events = sorted((f.since, f.id) for f in self.known.facts.values() if f.layer == "episodic" and f.beliefs)
        for (_, a), (_, b) in pairwise(events):
            yield Edge(f"f{b}", f"f{a}", TEMPORAL, WEIGHTS[TEMPORAL])

    def _of_pages(self) -> Iterator[Edge]:
        """Pages follow each other, hold what was said on them, and have a bookmark that names entities."""
        state = self._state
        if state is None:
            return
        for page in state.pages.values():
            if page.number > 1:
                yield Edge(f"p{page.number}", f"p{page.number - 1}", TEMPORAL, WEIGHTS[TEMPORAL])
            if page.bookmark and page.bookmark.keywords:
                yield Edge(f"b{page.number}", f"p{page.number}", BELONGS, WEIGHTS[BELONGS])
                yield from self._of_bookmark(page.number, self.mark(page.bookmark.keywords))
        for fact in self.known.facts.values():
            for number in dict.fromkeys(s.turn for s in fact.sources if s.conversation == self.conversation):
                if (held := state.page_of(number)) is not None:
                    yield Edge(f"f{fact.id}", f"p{held.number}", REFERENCE, WEIGHTS[REFERENCE])

    def _of_bookmark(self, page: int, keywords: str) -> Iterator[Edge]:
        for keyword in keywords.split(","):
            if self.is_entity(key := entity_key(keyword)):
                yield Edge(f"b{page}", f"e:{key}", REFERENCE, WEIGHTS[REFERENCE])

    @cached_property
    def by_node(self) -> Mapping[str, tuple[Edge, ...]]:
        """Edges that touch a node, in either direction."""
        found: dict[str, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.source, []).append(edge)
            found.setdefault(edge.target, []).append(edge)
        return {node: tuple(edges) for node, edges in found.items()}

    def name(self, node: str) -> str:
        """What a reader calls it: the entity's words, else its id."""
        return self.words(self.names[node[2:]]) if node.startswith("e:") else node

    # ── weighing ──────────────────────────────────────────────────────────────────────────────────────

    def pagerank(self, seeds: Collection[str] = (), among: Collection[int] | None = None) -> dict[str, float]:
        """By node, 0..1 with the highest 1: how often a walker is there who starts at `seeds`, or anywhere.

        `among` are the facts that may be walked. Edges are walked in both directions, as often as they weigh.
        """
        drawn, places = self._drawn
        out = {f.name for f in self.known.facts.values() if f.id not in among} if among is not None else ()
        walked = [node for node in places if node not in out]
        if not walked:
            return {}
        kept = drawn.induced_subgraph([places[node] for node in walked]) if out else drawn
        start = set(seeds) & set(walked)
        reset = [float(node in start) for node in walked] if start else None
        # ARPACK, to six places: as igraph's default has it, which takes twenty times as long from a few seeds.
        scores = kept.personalized_pagerank(
            damping=DAMPING, reset=reset, weights="weight", directed=False, implementation="arpack"
        )
        top = max(scores) or 1.0
        return dict.fromkeys(out, 0.0) | {n: round(max(0.0, s / top), 6) for n, s in zip(walked, scores, strict=True)}

    @cached_property
    def _drawn(self) -> tuple[igraph.Graph, dict[str, int]]:
        import igraph  # 0.2 s, where a question walks

        places = {node: place for place, node in enumerate(self.nodes)}
        pairs = [(places[e.source], places[e.target]) for e in self.edges]
        drawn = igraph.Graph(n=len(places), edges=pairs, directed=False)
        drawn.es["weight"] = [e.weight for e in self.edges]
        return drawn, places

    @property
    def density(self) -> float:
        """0..1: of all pairs of claims, those that are alike."""
        claims = len(self.terms)
        return self._alike / (claims * (claims - 1) / 2) if claims > 1 else 0.0

    @property
    def warning(self) -> str:
        """Where everything is linked to everything, similarity tells nothing apart; "" otherwise."""
        claims = len(self.terms)
        if claims < DENSE_FROM or self.density <= DENSE:
            return ""
        pairs = claims * (claims - 1) // 2
        return (
            f"{self._alike:,} of {pairs:,} pairs of claims are alike: topical links tell nothing apart; "
            f"raise `similar` above {self.similar:g}, or consolidate"
        )

    # ── showing itself ────────────────────────────────────────────────────────────────────────────────

    def counts(self) -> dict[str, int]:
        """How many nodes and edges of each kind."""
        kinds = [n.kind for n in self.nodes.values()] + [e.kind for e in self.edges]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}

    def to_dict(self) -> dict[str, Any]:
        nodes = [asdict(n) | {"label": self._label(n)} for n in self.nodes.values()]
        edges = [asdict(e) | {"label": self.words(e.relation) if e.relation else ""} for e in self.edges]
        return {"nodes": nodes, "edges": edges, "density": round(self.density, 4), "warning": self.warning}

    def _label(self, node: Node) -> str:
        if not node.text:
            return node.id
        return self.mark(node.text) if node.kind == BOOKMARK else self.words(node.text)

    def __repr__(self) -> str:
        told = ", ".join(f"{n} {kind}" for kind, n in self.counts().items())
        return f"<Graph: {told or 'empty'}>"

    def _html(self) -> str:
        ranks = self.pagerank()
        best = sorted(self.nodes.values(), key=lambda n: (-ranks.get(n.id, 0.0), n.id))[:12]
        rows = [
            [n.kind, small(self._label(n), 80), len(self.by_node.get(n.id, ())), f"{ranks[n.id]:.2f}"] for n in best
        ]
        told = f"<p>{text(self.warning)}</p>" if self.warning else ""
        return f"<code>{text(repr(self))}</code>{told}" + table(["kind", "what", "edges", "rank"], rows)


def _by_change(changes: Iterable[Change]) -> Iterator[Edge]:
    """A change that put one fact in place of others; what was undone links nothing."""
    for change in changes:
        if not change.new or change.undone_by or change.undoes:
            continue
        kind = NEGATES if change.cause in ("end", "conflict") else UPDATES
        for old in change.old:
            if old != change.new:
                yield Edge(f"f{change.new}", f"f{old}", kind, WEIGHTS[kind])


# ── why ───────────────────────────────────────────────────────────────────────────────────────────────

_BECAUSE = re.compile(r"\b(?:because|since|as a result of|due to|thanks to|owing to)\b|因为|由于|毕竟", re.IGNORECASE)
_SO = re.compile(
    r"\b(?:so|therefore|thus|hence|that['’]s why|that is why|which is why|consequently|as a result)\b(?! of)"
    r"|所以|因此|于是|因而",
    re.IGNORECASE,
)
_LEAD = 24  # characters before and within a span in which its connective stands


def explains(words: str, first: Source, second: Source) -> int:
    """1: the first claim is why the second; -1: the other way; 0: nothing says so. Both spans are of `words`.

    >>> from memory.facts import BEGINNING
    >>> words = "I moved to Lyon because I work at Acme."
    >>> moved, work = (Source("", 1, 0, *span, "user", BEGINNING) for span in ((0, 15), (24, 38)))
    >>> explains(words, moved, work)
    -1
    """
    between = words[min(first.end, second.start) : min(second.start + _LEAD, second.end)]
    if _BECAUSE.search(between):
        return -1
    if _SO.search(between):
        return 1
    lead = words[max(0, first.start - _LEAD) : first.start + _LEAD]
    return 1 if _BECAUSE.search(lead) else 0
