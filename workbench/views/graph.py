"""What is remembered as a graph to look at: which nodes are shown, one of them whole, and those behind an answer.

A view of memory/graph.py's projection: as known now, with the pages of one run. More nodes than a reader can take in
are shown from one of them outwards. Where a node stands, and how it is drawn, is workbench/pyvis_graph.py's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from functools import cached_property, lru_cache
from typing import Any

from memory.errors import NotFound, UnknownName
from memory.facts import BEGINNING, Fact, Source
from memory.graph import BOOKMARK, CLAIM, ENTITY, EVENT, PAGE, Graph, Node
from memory.knowledge import Knowledge
from memory.language import is_cjk
from memory.scope import OWN, Scope
from memory.show import Shown, small, table, text
from memory.state import State
from memory.stores.sql import Store
from workbench.views import facts as facts_view
from workbench.views.facts import FactView

KINDS = (ENTITY, CLAIM, EVENT, PAGE, BOOKMARK)
HOLD = ("active", "conflicted", "")  # states of what holds; a node that is no fact has none
WHOLE = 500  # nodes; above it one node's neighbourhood is shown first
MOST = 2_000  # nodes that are drawn at all
EDGES = 6_000  # that are drawn at all, the heaviest
DEPTH = 2  # steps of that neighbourhood
EVERYTHING = 0  # in place of a depth
WALKED = 12  # claims that a walk for a typed question may bring
LABEL = 30  # characters


@dataclass(frozen=True, slots=True)
class GraphNode:
    id: str  # f12, e:9f…, p3, b3
    kind: str  # entity, claim, event, page, bookmark
    label: str  # a few words
    text: str
    rank: float  # 0..1, PageRank
    edges: int
    state: str = ""  # of a fact
    over: bool = False  # a fact that holds no more
    day: date | None = None  # since when, of a page when it began; None: always, or an entity
    number: int = 0  # of the fact or page
    turn: int = 0  # the first that says so in this conversation


@dataclass(frozen=True, slots=True)
class GraphEdge:
    id: str
    source: str
    target: str
    kind: str
    weight: float  # 0..1
    label: str  # an attribute's words


@dataclass(frozen=True)
class Drawing(Shown):
    """The part of a graph that is shown."""

    scope: Scope
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    centre: str = ""  # shown from here outwards; "": everything that fits
    depth: int = EVERYTHING
    fitting: int = 0  # nodes that the filter leaves
    all: int = 0  # nodes that there are
    reasons: dict[str, str] = field(default_factory=dict)  # by node

    @property
    def left(self) -> int:
        """Nodes that fit and are not shown."""
        return self.fitting - len(self.nodes)

    @property
    def counts(self) -> dict[str, int]:
        """Shown nodes by kind."""
        found = Counter(node.kind for node in self.nodes)
        return {kind: found[kind] for kind in KINDS if found[kind]}

    @cached_property
    def alt(self) -> str:
        """The drawing in words, for who does not see it."""
        best = sorted(self.nodes, key=lambda n: (-n.rank, n.id))[:5]
        told = ", ".join(f"{n} {kind}" for kind, n in self.counts.items()) or "nothing"
        return f"{told}; {len(self.edges)} edges; most linked: {'; '.join(small(n.label, 40) for n in best)}"

    def __repr__(self) -> str:
        about = f" around {self.centre}, {self.depth} steps" if self.centre else ""
        return f"<Drawing of {self.scope}: {len(self.nodes)} of {self.all} nodes, {len(self.edges)} edges{about}>"

    def places(self, before: Mapping[str, tuple[float, float]] | None = None) -> dict[str, tuple[float, float]]:
        from workbench.pyvis_graph import places

        return places([n.id for n in self.nodes], [(e.source, e.target) for e in self.edges], before or {})

    def page(self, before: Mapping[str, tuple[float, float]] | None = None, title: str = "") -> str:
        """One HTML page that needs nothing else."""
        from workbench.pyvis_graph import page

        return page(self.nodes, self.edges, self.places(before), title or f"Memory of {self.scope.user}", self.reasons)

    def _html(self) -> str:
        from workbench.pyvis_graph import frame

        told = f"<code>{text(repr(self))}</code>"
        return told + frame(self.page()) if self.nodes else f"{told}<p>nothing is remembered so far</p>"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """One row a node."""
        import pandas as pd

        return pd.DataFrame([asdict(node) for node in self.nodes])


@dataclass(frozen=True)
class Behind:
    """The nodes behind an answer, best first, each with the reason: of a turn's prompt, or of a walk for a question."""

    question: str
    turn: int  # 0: asked by hand
    reasons: dict[str, str]  # by node
    path: tuple[str, ...] = ()  # further nodes on the way
    note: str = ""

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.reasons, *self.path)))


@dataclass(frozen=True)
class GraphView(Shown):
    """Everything that may be shown."""

    scope: Scope
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    warning: str = ""

    @cached_property
    def by_id(self) -> dict[str, GraphNode]:
        return {node.id: node for node in self.nodes}

    @cached_property
    def touching(self) -> dict[str, list[GraphEdge]]:
        found: dict[str, list[GraphEdge]] = {}
        for edge in self.edges:
            for end in dict.fromkeys((edge.source, edge.target)):
                found.setdefault(end, []).append(edge)
        return found

    @property
    def days(self) -> tuple[date, date] | None:
        found = [node.day for node in self.nodes if node.day]
        return (min(found), max(found)) if found else None

    def other(self, edge: GraphEdge, node: str) -> GraphNode:
        return self.by_id[edge.target if edge.source == node else edge.source]

    def __repr__(self) -> str:
        return f"<GraphView of {self.scope}: {len(self.nodes)} nodes, {len(self.edges)} edges>"

    def _html(self) -> str:
        return draw(self)._html()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """One row a node."""
        import pandas as pd

        return pd.DataFrame([asdict(node) for node in self.nodes])


# ── from the store ────────────────────────────────────────────────────────────────────────────────────


def graph(store: Store, scope: Scope) -> GraphView:
    """What is known of the scope's user, and the run's pages. Working facts of other conversations are not there."""
    made, k, state = _graph(store, scope)
    hidden = {f.name for f in k.facts.values() if not f.readable_in(scope.conversation)}
    seen = {key for f in k.readable(scope.conversation) for key in (made.subject_of.get(f.id), made.value_of.get(f.id))}
    kept = {
        n.id: n for n in made.nodes.values() if n.id not in hidden and not (n.kind == ENTITY and n.id[2:] not in seen)
    }
    edges = tuple(_edges(made, kept))
    degree = Counter(end for e in edges for end in (e.source, e.target))
    ranks, now = made.pagerank(), store.clock()
    nodes = tuple(_node(made, n, k, state, ranks, degree[n.id], scope, now) for n in kept.values())
    return GraphView(scope, nodes, edges, made.warning)


def _graph(store: Store, scope: Scope) -> tuple[Graph, Knowledge, State]:
    """Kept until the run, what is known about its user, or the store's words change."""
    stream, own = store.require(scope), store.stream(Scope.own(scope.user))
    return _made(store, scope, stream.version, own.version if own else 0, store.generation())


@lru_cache(maxsize=4)
def _made(
    store: Store, scope: Scope, version: int, own_version: int, generation: int
) -> tuple[Graph, Knowledge, State]:
    k, state = store.knowledge(scope.user, own_version), store.state(scope, version)
    ids = {i for f in k.facts.values() for i in (f.text, f.subject, f.attribute, f.value, f.tags)}
    words = store.words(Scope.own(scope.user), sorted(ids - {0}))
    stubs = {p.bookmark.keywords for p in state.pages.values() if p.bookmark}
    marks = store.words(scope, sorted(stubs - {0}))
    made = Graph(lambda i: words.get(i, ""), _said(store, scope.user, k.facts.values()), lambda i: marks.get(i, ""))
    return made.take(k, state, scope.conversation), k, state


def _said(store: Store, user: str, facts: Iterable[Fact]) -> Callable[[Source], str]:
    """The words of turns, read at once: a graph asks for those of which several facts were drawn."""
    first = [f.sources[0] for f in facts if f.sources]
    often = Counter((s.conversation, s.text) for s in first)
    wanted: dict[str, set[int]] = {}
    for (conversation, number), n in often.items():
        if n > 1:
            wanted.setdefault(conversation, set()).add(number)
    found: dict[tuple[str, int], str] = {}
    for conversation, ids in wanted.items():
        own = conversation in ("", OWN)
        scope = Scope.own(user) if own else Scope(user, conversation)
        found |= {(conversation, i): said for i, said in store.words(scope, sorted(ids)).items()}
    return lambda source: found.get((source.conversation, source.text), "")


def _node(
    made: Graph, node: Node, k: Knowledge, state: State, ranks: Mapping[str, float], edges: int, scope: Scope,
    now: datetime,
) -> GraphNode:  # fmt: skip
    rank = ranks.get(node.id, 0.0)
    if node.kind in (CLAIM, EVENT):
        fact = k.facts[node.number]
        said = made.words(node.text)
        is_short = is_cjk(said) or not (fact.attribute and fact.value)
        told = said if is_short else f"{made.words(fact.attribute)}: {made.words(fact.value)}"
        over = fact.state not in HOLD or not fact.lasts(now)
        since = None if fact.since == BEGINNING else fact.since_when.date()
        turn = next((s.turn for s in fact.sources if s.conversation == scope.conversation), 0)
        return GraphNode(
            node.id, node.kind, small(told, LABEL), said, rank, edges, fact.state, over, since, node.number, turn
        )
    if node.kind == ENTITY:
        name = made.words(node.text)
        return GraphNode(node.id, ENTITY, small(name, LABEL), name, rank, edges)
    page = state.pages[node.number]
    began = page.turns[0].said_at.date() if page.turns else None
    first = page.turns[0].number if page.turns else 0
    marked = made.mark(page.bookmark.keywords) if page.bookmark and page.bookmark.keywords else ""
    keywords = marked.replace(",", ", ")
    label = small(keywords, LABEL) if node.kind == BOOKMARK else node.id
    told = f"[{node.id}] {keywords}".strip() if node.kind == PAGE else keywords
    return GraphNode(node.id, node.kind, label or node.id, told, rank, edges, day=began, number=node.number, turn=first)


def _edges(made: Graph, kept: Collection[str]) -> Iterator[GraphEdge]:
    seen: set[str] = set()
    for e in made.edges:
        name = f"{e.source}>{e.target}:{e.kind}"
        if e.source in kept and e.target in kept and name not in seen:
            seen.add(name)
            yield GraphEdge(name, e.source, e.target, e.kind, e.weight, made.words(e.relation) if e.relation else "")


# ── what is shown of it ───────────────────────────────────────────────────────────────────────────────


def draw(
    view: GraphView, *, kinds: Collection[str] = KINDS, find: str = "", since: date | None = None,
    until: date | None = None, holding: bool = False, centre: str = "", depth: int | None = None,
    behind: Behind | None = None,
) -> Drawing:  # fmt: skip
    """What fits the filter: whole up to 500 nodes, above that what lies within `depth` steps of `centre`.

    `since` and `until` are days, both included. Without a centre the node of the highest rank is it; `depth` 0 is
    everything, up to 2,000 nodes. With `behind` only the nodes behind an answer. Raises UnknownName for a kind.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise UnknownName("kind of node", kind, KINDS)
    among = _behind(view, behind) if behind else None
    fitting = {
        n.id
        for n in view.nodes
        if n.kind in kinds and (among is None or n.id in among) and not (holding and n.over) and _when(n, since, until)
    }
    fitting = _found(view, fitting, find)
    if since or until:
        fitting = {i for i in fitting if view.by_id[i].kind != ENTITY or _linked(view, i, fitting)}
    asked = centre if centre in fitting else ""
    if depth is None:
        depth = EVERYTHING if len(fitting) <= WHOLE else DEPTH
    about = ""
    if depth == EVERYTHING:
        shown = set(sorted(fitting, key=lambda i: (i != asked, -view.by_id[i].rank, i))[:MOST])
    else:
        about = asked or min(fitting, key=lambda i: (-view.by_id[i].rank, i), default="")
        shown = set(_around(view, fitting, about, depth)) if about else set()
    edges = [e for e in view.edges if e.source in shown and e.target in shown]
    if len(edges) > EDGES:
        edges = sorted(edges, key=lambda e: (-e.weight, e.id))[:EDGES]
    return Drawing(
        view.scope, tuple(n for n in view.nodes if n.id in shown), tuple(edges), about, depth, len(fitting),
        len(view.nodes), dict(behind.reasons) if behind else {},
    )  # fmt: skip


def _when(node: GraphNode, since: date | None, until: date | None) -> bool:
    """Of a time that is not known: only where no time is asked about. Entities follow their claims."""
    if node.kind == ENTITY or not (since or until):
        return True
    return node.day is not None and (since is None or since <= node.day) and (until is None or node.day <= until)


def _found(view: GraphView, fitting: set[str], find: str) -> set[str]:
    """Nodes with all of the words in them, and what is one step away, so that a find has its surroundings."""
    words = find.casefold().split()
    if not words:
        return fitting
    hits = {i for i in fitting if all(w in f"{view.by_id[i].text} {i}".casefold() for w in words)}
    return hits | {end for i in hits for e in view.touching.get(i, ()) for end in (e.source, e.target)} & fitting


def _linked(view: GraphView, node: str, fitting: Collection[str]) -> bool:
    return any(view.other(e, node).id in fitting for e in view.touching.get(node, ()))


def _around(view: GraphView, fitting: Collection[str], centre: str, depth: int) -> list[str]:
    """Nodes within so many steps, the nearest first, then those of the highest rank; never more than `WHOLE`."""
    found, front = [centre], [centre]
    seen = {centre}
    for _ in range(depth):
        near = {view.other(e, i).id for i in front for e in view.touching.get(i, ())} & set(fitting) - seen
        front = sorted(near, key=lambda i: (-view.by_id[i].rank, i))[: WHOLE - len(found)]
        found += front
        seen.update(front)
        if len(found) >= WHOLE:
            break
    return found


def _behind(view: GraphView, behind: Behind) -> set[str]:
    """Its nodes, and the entities that link them: those of two, or of the only one."""
    own = {i for i in behind.nodes if i in view.by_id}
    ends = Counter(
        end for i in own for end in {view.other(e, i).id for e in view.touching.get(i, ())} if end.startswith("e:")
    )
    return own | {end for end, n in ends.items() if n > 1 or len(own) < 3}


# ── behind an answer ──────────────────────────────────────────────────────────────────────────────────


def behind(store: Store, scope: Scope, turn: int) -> Behind:
    """The facts that stood in the prompt of this turn's step and the pages that came back for it, each with why.

    Where the walk over the graph comes to a fact as well, its path is told. Raises NotFound for a turn that is not.
    """
    from workbench.views.turn import turn as step

    seen = step(store, scope, turn)
    question = next((m.text for m in seen.messages if m.role == "user"), "")
    paths = {s.fact.name: s.path for s in _walk(store, scope, question).steps} if question else {}
    reasons = {
        row.name: _told(f"in the prompt: {row.why}", paths.get(row.name, "")) for row in seen.facts if not row.stage
    }
    for recall in seen.recalls:
        by = f"recalled by {recall.by}" + (f": {small(recall.question, 80)}" if recall.question else "")
        reasons |= {f"p{n}": by for n in (*recall.came, *recall.resident)}
    named = {name for path in (paths.get(r, "") for r in reasons) for name in _NAMES.findall(path)}
    marks = {f"b{i[1:]}" for i in reasons if i.startswith("p")}
    note = "" if reasons else "nothing that is remembered stood in this prompt, and no page came back for it"
    return Behind(question, turn, reasons, tuple(sorted(named | marks)), note)


_NAMES = re.compile(r"(?<![\w:])[fpb]\d+\b")


def _told(why: str, path: str) -> str:
    return f"{why} · {path}" if path else why


def asked(store: Store, scope: Scope, question: str) -> Behind:
    """Where a walk for any question goes: the claims that answer it, each with the path as the reason."""
    walked = _walk(store, scope, question)
    named = {name for s in walked.steps for name in _NAMES.findall(s.path)}
    return Behind(question, 0, {s.fact.name: s.path for s in walked.steps}, tuple(sorted(named)), walked.note)


def _walk(store: Store, scope: Scope, question: str) -> Any:
    from memory.recollect import FactFinder
    from memory.walk import walk

    made, _, state = _graph(store, scope)
    finder = FactFinder(made.words)
    return walk(
        made, finder, question, WALKED, state.settings, now=store.clock(), conversation=scope.conversation
    )  # fmt: skip


# ── one node, or one edge ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class NodeView(Shown):
    """One node whole."""

    node: GraphNode
    edges: tuple[tuple[GraphEdge, GraphNode], ...]  # with the other end, the heaviest first
    fact: FactView | None = None
    said: tuple[tuple[int, str, str], ...] = ()  # of a page: turn, speaker, words

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __repr__(self) -> str:
        return f"<NodeView {self.node.id}: {self.node.kind} {small(self.node.text, 60)!r}, {len(self.edges)} edges>"

    def _html(self) -> str:
        body = [[e.kind, e.label, other.id, small(other.text, 100)] for e, other in self.edges]
        whole = self.fact._html() if self.fact else f"<p>{text(self.node.text)}</p>"
        return f"<b>{text(self.node.id)}</b>{whole}" + table(["edge", "relation", "node", "text"], body)


def node(store: Store, view: GraphView, name: str) -> NodeView:
    """Raises NotFound."""
    found = view.by_id.get(name)
    if found is None:
        raise NotFound(f"no node {name!r} in this graph: it holds f1, p1, b1 and names of entities")
    edges = sorted(view.touching.get(name, ()), key=lambda e: (-e.weight, e.id))
    pairs = tuple((e, view.other(e, name)) for e in edges)
    scope = view.scope
    if found.kind in (CLAIM, EVENT):
        fact = facts_view.fact(store, scope.user, found.number, conversation=scope.conversation)
        return NodeView(found, pairs, fact)
    if found.kind == ENTITY:
        return NodeView(found, pairs)
    turns = store.state(scope).pages[found.number].turns
    words = store.words(scope, sorted({t.text for t in turns}))
    said = tuple((t.number, t.speaker or t.role, t.words(lambda i: words.get(i, ""))) for t in turns)
    return NodeView(found, pairs, None, said)


def edge(view: GraphView, name: str) -> tuple[GraphNode, GraphNode, tuple[GraphEdge, ...]]:
    """Both ends, and all edges between them. Raises NotFound."""
    first, _, rest = name.partition(">")
    second = rest.rpartition(":")[0] or rest
    found = tuple(e for e in view.touching.get(first, ()) if second in (e.source, e.target) and first != second)
    if not found:
        raise NotFound(f"no edge {name!r} in this graph")
    return view.by_id[first], view.by_id[second], found


def rows(drawing: Drawing) -> list[dict[str, Any]]:
    """Nodes for a file."""
    return [asdict(n) | {"because": drawing.reasons.get(n.id, "")} for n in drawing.nodes]


def lines(drawing: Drawing) -> list[dict[str, Any]]:
    """Edges for a file, each with the words of its ends."""
    said = {n.id: n.text for n in drawing.nodes}
    return [asdict(e) | {"source_text": said[e.source], "target_text": said[e.target]} for e in drawing.edges]
