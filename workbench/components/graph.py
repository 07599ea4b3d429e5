"""The graph page's parts: what its address asks for, the filter, the drawing, the chosen node, lists for keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date

import streamlit as st

from memory.attributes import called, subject_called
from memory.errors import NotFound
from memory.graph import ENTITY
from memory.scope import Scope
from memory.show import small
from memory.stores.sql import Store
from workbench import state
from workbench.components.export import export
from workbench.components.facts import facts
from workbench.components.heading import Badge
from workbench.components.network import network, placed
from workbench.components.node_list import Row, node_list
from workbench.components.story import decided
from workbench.components.timed import day, day_of
from workbench.state import Missing, Place
from workbench.views import graph as graph_view
from workbench.views.facts import SourceRow
from workbench.views.graph import EVERYTHING, KINDS, Behind, Drawing, GraphEdge, GraphNode, GraphView, NodeView
from workbench.words import Words, escaped, visible

DEPTHS = (1, 2, 3, 4, EVERYTHING)
BEHINDS = ("turn", "question")  # beside "", all that is remembered
LISTED = 200  # rows of a list
SOURCES, TURNS, CHANGES = 6, 12, 8  # of one node


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the address asks for, beside the scope."""

    kinds: tuple[str, ...]
    find: str
    since: date | None
    until: date | None
    depth: int | None  # None: as the size asks
    node: str  # or an edge, with > in it
    behind: str
    question: str
    holding: bool


def chosen() -> Chosen:
    """Raises Missing for what is no such thing."""
    address = st.query_params
    named = address.get("kinds", "")
    kinds = tuple(named.split(",")) if named else KINDS
    for kind in kinds:
        if kind not in KINDS:
            raise Missing("kinds", KINDS, name=kind)
    behind = address.get("behind", "")
    if behind and behind not in BEHINDS:
        raise Missing("behind", BEHINDS, name=behind)
    return Chosen(
        kinds, address.get("find", ""), _day("since"), _day("until"), _depth(), address.get("node", ""), behind,
        address.get("q", ""), address.get("holding", "") == "1",
    )  # fmt: skip


def _depth() -> int | None:
    given = st.query_params.get("depth", "")
    if given and given not in map(str, DEPTHS):
        raise Missing("depth", [str(d) for d in DEPTHS], name=given)
    return int(given) if given else None


def _day(key: str) -> date | None:
    given = st.query_params.get(key, "")
    try:
        return date.fromisoformat(given) if given else None
    except ValueError as error:
        raise Missing("day", name=given) from error


# ── views ─────────────────────────────────────────────────────────────────────────────────────────────


def whole(here: Place, say: Words) -> GraphView:
    """Kept until something changes; what holds *now* is looked at once an hour."""
    hour = state.open_store().clock().replace(minute=0, second=0, microsecond=0)
    return state.view(_whole, here, (hour, say.language))


def _whole(store: Store, scope: Scope, asked: tuple[object, str]) -> GraphView:
    return in_language(graph_view.graph(store, scope), asked[1])


def in_language(view: GraphView, language: str) -> GraphView:
    """With what our own vocabulary names called as the reader calls it: whose something is, and what."""
    if language != "zh":
        return view
    nodes = tuple(_called(node) for node in view.nodes)
    edges = tuple(replace(edge, label=called(edge.label, chinese=True)) for edge in view.edges)
    return replace(view, nodes=nodes, edges=edges)


def _called(node: GraphNode) -> GraphNode:
    name = subject_called(node.text, chinese=True) if node.kind == ENTITY else node.text
    return node if name == node.text else replace(node, text=name, label=small(name, graph_view.LABEL))


def behind(here: Place, want: Chosen) -> Behind | None:
    if want.behind == "turn":
        return state.view(graph_view.behind, here, here.at)
    if want.behind == "question" and want.question.strip():
        return state.view(graph_view.asked, here, want.question)
    return None


def drawing(view: GraphView, want: Chosen, why: Behind | None) -> Drawing:
    centre = want.node if ">" not in want.node else ""
    return graph_view.draw(
        view, kinds=want.kinds, find=want.find, since=want.since, until=want.until, holding=want.holding,
        centre=centre, depth=want.depth, behind=why,
    )  # fmt: skip


def badges(view: GraphView, say: Words) -> list[Badge]:
    found = [Badge(say("graph.size", nodes=len(view.nodes), edges=len(view.edges)), "quiet")]
    return [*found, Badge(say("graph.dense"), "mark", view.warning)] if view.warning else found


# ── what is shown ─────────────────────────────────────────────────────────────────────────────────────


def filters(view: GraphView, want: Chosen, shown: Drawing, say: Words) -> None:
    """Each widget is another one for each value of the address: so the address alone says what is shown."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        _kinds(want, say)
        _depths(want, shown, say)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        _find(want, say)
        _days(view, want, say)
        widget = f"graph_holding_{want.holding}"
        st.toggle(
            say("graph.holding"), value=want.holding, key=widget, help=say("graph.holding.says"),
            on_change=lambda: state.go(holding="1" if st.session_state[widget] else None),
        )  # fmt: skip


def _kinds(want: Chosen, say: Words) -> None:
    widget = f"graph_kinds_{','.join(want.kinds)}_{say.language}"

    def changed() -> None:
        kinds = [k for k in KINDS if k in st.session_state[widget]]
        state.go(kinds=",".join(kinds) if kinds and len(kinds) < len(KINDS) else None)

    st.pills(
        say("graph.kinds"), list(KINDS), selection_mode="multi", default=list(want.kinds), key=widget,
        format_func=lambda kind: say(f"graph.kinds.{kind}"), on_change=changed, width="content",
    )  # fmt: skip


def _depths(want: Chosen, shown: Drawing, say: Words) -> None:
    widget = f"graph_depth_{shown.depth}_{say.language}"

    def changed() -> None:
        state.go(depth=st.session_state[widget])

    names = {d: say("graph.depth.all") if d == EVERYTHING else say("graph.depth.steps", steps=d) for d in DEPTHS}
    st.select_slider(
        say("graph.depth"), list(DEPTHS), value=shown.depth, key=widget, format_func=names.__getitem__,
        help=say("graph.depth.says", whole=graph_view.WHOLE, most=graph_view.MOST), on_change=changed, width=300,
    )  # fmt: skip


def _find(want: Chosen, say: Words) -> None:
    widget = f"graph_find_{want.find}"
    st.text_input(
        say("graph.find"), value=want.find, key=widget, max_chars=200, icon=":material/search:",
        placeholder=say("graph.find.placeholder"), on_change=lambda: state.go(find=st.session_state[widget] or None),
        width=300,
    )  # fmt: skip


def _days(view: GraphView, want: Chosen, say: Words) -> None:
    for key, given in (("since", want.since), ("until", want.until)):
        widget = f"graph_{key}_{given}"
        st.date_input(
            say(f"graph.{key}"), value=given, key=widget, format="YYYY-MM-DD", width=150, disabled=view.days is None,
            min_value=date(1, 1, 1), max_value=date(9999, 12, 31), on_change=_dated(key, widget),
        )  # fmt: skip


def _dated(key: str, widget: str) -> Callable[[], None]:
    def changed() -> None:
        picked = st.session_state[widget]
        state.go(**{key: picked.isoformat() if picked else None})

    return changed


def whose(here: Place, want: Chosen, say: Words) -> None:
    """All that is remembered, what stands behind the shown turn's answer, or behind an answer to any question."""
    widget = f"graph_behind_{want.behind}_{here.at}_{say.language}"
    names = {
        "": say("graph.behind.all"), "turn": say("graph.behind.turn", turn=here.at),
        "question": say("graph.behind.question"),
    }  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.segmented_control(
            say("graph.behind"), list(names), default=want.behind, key=widget, format_func=names.__getitem__,
            help=say("graph.behind.says"), on_change=lambda: state.go(behind=st.session_state[widget] or None),
        )  # fmt: skip
        if want.behind == "question":
            asks = f"graph_asks_{want.question}"
            st.text_input(
                say("graph.question"), value=want.question, key=asks, max_chars=2_000,
                placeholder=say("graph.question.placeholder"),
                on_change=lambda: state.go(q=st.session_state[asks] or None),
            )  # fmt: skip
        if want.behind == "turn":
            st.number_input(
                say("graph.turn"), 1, here.stream.turns, here.at, key=f"graph_turn_{here.at}", width=130,
                on_change=lambda: state.go(turn=int(st.session_state[f"graph_turn_{here.at}"])),
            )  # fmt: skip


def about(why: Behind | None, want: Chosen, say: Words) -> None:
    """What the shown nodes stand behind."""
    if why is None:
        if want.behind == "question":
            st.caption(say("graph.question.none"))
        return
    facts([], key="graph_about", title=why.question, note=say.reason(why.note) if why.note else "")


def notes(shown: Drawing, view: GraphView, say: Words) -> None:
    if not shown.nodes:
        st.info(say("graph.none.fits" if view.nodes else "graph.none"), icon=":material/info:")
        return
    if shown.centre:
        name = view.by_id[shown.centre].label
        st.caption(say("graph.around", node=name, depth=shown.depth, shown=len(shown.nodes), fitting=shown.fitting))
    elif shown.left:
        st.caption(say("graph.capped", shown=len(shown.nodes), fitting=shown.fitting))
    if len(shown.edges) >= graph_view.EDGES:
        st.caption(say("graph.capped.edges", edges=graph_view.EDGES))


def draw(shown: Drawing, want: Chosen, say: Words) -> None:
    where = placed(shown)
    network(shown, where, want.node, alt(shown, say), say, open_of("network"))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.caption(say("graph.legend"))
        whole_page(shown, where, say)


def alt(shown: Drawing, say: Words) -> str:
    """The drawing in words."""
    counts = say("graph.comma").join(f"{n} {say(f'graph.kind.{kind}')}" for kind, n in shown.counts.items())
    best = sorted(shown.nodes, key=lambda n: (-n.rank, n.id))[:5]
    return say("graph.alt", counts=counts, edges=len(shown.edges), best="; ".join(visible(n.label, 40) for n in best))


def open_of(key: str) -> Callable[[], None]:
    """A component's callback: the node or edge that was chosen goes into the address; "" and the same one leave it."""

    def fired() -> None:
        name = (st.session_state.get(key) or {}).get("node")
        if name is not None:
            state.go(node=name if name and name != st.query_params.get("node") else None)

    return fired


# ── one of them ───────────────────────────────────────────────────────────────────────────────────────


def panel(here: Place, view: GraphView, want: Chosen, why: Behind | None, say: Words) -> None:
    try:
        if ">" in want.node:
            _edge(view, want.node, say)
        else:
            _node(state.view(_one, here, (*view_of(here), say.language), want.node), here, why, say)
    except NotFound:
        _head(escaped(visible(want.node, 40)), say)
        st.info(say("graph.gone.node"), icon=":material/info:")


def view_of(here: Place) -> tuple[int, int]:
    return (here.stream.version, here.own_version)


def _one(store: Store, scope: Scope, versions: tuple[int, int, str], name: str) -> NodeView:
    return graph_view.node(store, in_language(graph_view.graph(store, scope), versions[-1]), name)


def _head(title: str, say: Words) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"##### {title}")
        st.button(
            "✕", help=say("graph.close"), key="graph_close", type="tertiary", on_click=lambda: state.go(node=None)
        )


def _node(one: NodeView, here: Place, why: Behind | None, say: Words) -> None:
    node = one.node
    name = "" if node.id.startswith("e:") else f" · {node.id}"
    _head(f":material/{ICONS[node.kind]}: {say(f'graph.kind.{node.kind}')}{name}", say)
    pairs = [(say("graph.rank"), say.score(node.rank)), (say("graph.edges"), say.number(node.edges))]
    if node.state:
        pairs.insert(0, (say("graph.state"), say(f"timeline.state.{node.state}")))
    if node.day:
        pairs.insert(0, (say("graph.since.day"), day_of(node.day, say)))
    reason = reason_of(why.reasons[node.id], say) if why and node.id in why.reasons else ""
    facts(pairs, key="graph_node", title=node.text or node.label, note=reason)
    if one.fact:
        _fact(one, here, say)
    for turn, speaker, said in one.said[:TURNS]:
        facts([], key=f"graph_turn_of_{turn}_{hash(said)}", note=f"#{turn} {visible(speaker, 40)}: {said}")
    if one.said:
        state.door("live", say("graph.open.page", page=f"p{node.number}"), "auto_stories", page=node.number, turn=None)
    _between(one, say)


ICONS = {"entity": "circle", "event": "bolt", "claim": "lightbulb", "page": "auto_stories", "bookmark": "bookmark"}


def _fact(one: NodeView, here: Place, say: Words) -> None:
    assert one.fact
    state.door("timeline", say("graph.open.story"), "timeline", fact=one.node.number)
    st.markdown(f"**{say('graph.sources')}** :gray-badge[{len(one.fact.sources)}]")
    for i, source in enumerate(one.fact.sources[:SOURCES]):
        _source(source, i, here, say)
    st.markdown(f"**{say('graph.versions')}**")
    lines = []
    for b in one.fact.beliefs:
        moments = (b.valid_from, b.valid_to, b.recorded_from, b.recorded_to)
        since, until, first, last = (day(at, say, none="…") for at in moments)
        lines.append(say("graph.version", since=since, until=until, first=first, last=last))
    changes = [
        say(
            "graph.change",
            change=c.change,
            cause=say.term("timeline.cause", c.cause),
            by=decided(c.decided_by, say),
            at=say.moment(c.at),
        )
        for c in one.fact.changes[-CHANGES:]
    ]
    st.caption("  \n".join(escaped(line) for line in (*lines, *changes)))


def _source(source: SourceRow, index: int, here: Place, say: Words) -> None:
    note = say("graph.said", by=say.term("role", source.by), at=say.moment(source.said_at))
    facts([], key=f"graph_source_{index}", title=f"“{source.quote}”" if source.quote else say("graph.gone"), note=note)
    if source.turn:
        ours = source.conversation == here.row.conversation
        there = {} if ours else {"conv": source.conversation, "run": None}
        label = say("graph.open.turn", turn=source.turn) if ours else say(
            "graph.open.turn.of", turn=source.turn, conversation=source.conversation
        )  # fmt: skip
        state.door("turn", label, "account_tree", turn=source.turn, page=None, node=None, **there)


def _between(one: NodeView, say: Words) -> None:
    st.markdown(f"**{say('graph.edges')}** :gray-badge[{len(one.edges)}]")
    rows = [
        Row(other.id, other.kind, other.text or other.label, e.label, _towards(e, one.node.id, say), other.over)
        for e, other in one.edges[:LISTED]
    ]
    if rows:
        node_list(rows, say("graph.edges"), "", open_of("graph_around"), "graph_around")
    if len(one.edges) > LISTED:
        st.caption(say("graph.listed", shown=LISTED, all=len(one.edges)))


def _towards(e: GraphEdge, node: str, say: Words) -> str:
    kind = say(f"graph.edge.{e.kind}")
    return f"{kind} →" if e.source == node else f"← {kind}"


def _edge(view: GraphView, name: str, say: Words) -> None:
    first, second, found = graph_view.edge(view, name)
    _head(f":material/linear_scale: {say('graph.edge')}", say)
    for e in found:
        told = (
            f"{e.label} · {say('graph.weight', weight=e.weight)}" if e.label else say("graph.weight", weight=e.weight)
        )
        title = f"{view.by_id[e.source].label} — {say(f'graph.edge.{e.kind}')} → {view.by_id[e.target].label}"
        facts([], key=f"graph_edge_{e.kind}_{e.source == first.id}", title=title, note=told)
    rows = [Row(n.id, n.kind, n.text or n.label, _meta(n, None, say), "", n.over) for n in (first, second)]
    node_list(rows, say("graph.ends"), "", open_of("graph_ends"), "graph_ends")


def reason_of(reason: str, say: Words) -> str:
    """A reason in the reader's language; the walk's path stays as it is."""
    why, _, path = reason.partition(" · ")
    for name in ("hot", "match", "conflict"):
        if why == f"in the prompt: {name}":
            why = say("graph.why.prompt", why=say(f"known.{name}"))
    for by in ("model", "user", "recorded", "label"):
        if why == f"recalled by {by}" or why.startswith(f"recalled by {by}: "):
            asked = why.partition(": ")[2]
            why = say("recall.by", by=say.term("by", by)) + (f": {asked}" if asked else "")
    return f"{why} · {path}" if path else why


# ── lists for keys, and files ─────────────────────────────────────────────────────────────────────────


def twin(shown: Drawing, view: GraphView, want: Chosen, say: Words) -> None:
    """The drawing as lists; the word filter above searches them as well."""
    nodes, edges = st.tabs([
        say("graph.tab.nodes", nodes=len(shown.nodes)), say("graph.tab.edges", edges=len(shown.edges))
    ])  # fmt: skip
    with nodes:
        best = sorted(shown.nodes, key=lambda n: (n.id not in shown.reasons, -n.rank, n.id))
        rows = [Row(n.id, n.kind, n.text or n.label, _meta(n, shown, say), "", n.over) for n in best[:LISTED]]
        _listed(rows, len(best), want.node, say("graph.tab.nodes", nodes=len(best)), "graph_nodes", say)
        export(lambda: graph_view.rows(shown), "memory-graph-nodes", say)
    with edges:
        found = [_line(e, view, say) for e in shown.edges[:LISTED]]
        _listed(found, len(shown.edges), want.node, say("graph.tab.edges", edges=len(found)), "graph_lines", say)
        export(lambda: graph_view.lines(shown), "memory-graph-edges", say)


def whole_page(shown: Drawing, where: dict[str, tuple[float, float]], say: Words) -> None:
    """The drawing as one HTML page, with its nodes where they stand here."""
    st.download_button(
        say("graph.page"), lambda: shown.page(where).encode("utf-8", "backslashreplace"), "memory-graph.html",
        "text/html", icon=":material/download:", type="tertiary", help=say("graph.page.says"), on_click="ignore",
        key="graph_page",
    )  # fmt: skip


def _listed(rows: Sequence[Row], all_: int, selected: str, label: str, key: str, say: Words) -> None:
    if rows:
        node_list(rows, label, selected, open_of(key), key)
    if all_ > len(rows):
        st.caption(say("graph.listed", shown=len(rows), all=all_))


def _meta(node: GraphNode, shown: Drawing | None, say: Words) -> str:
    reason = reason_of(shown.reasons[node.id], say) if shown and node.id in shown.reasons else ""
    since = day_of(node.day, say) if node.day else ""
    name = "" if node.id.startswith("e:") else node.id
    return " · ".join(filter(None, (reason, name, since, say("graph.edges.n", edges=node.edges))))


def _line(e: GraphEdge, view: GraphView, say: Words) -> Row:
    a, b = view.by_id[e.source], view.by_id[e.target]
    words = f"{a.label} → {b.label}"
    return Row(e.id, a.kind, words, e.label, say(f"graph.edge.{e.kind}"), a.over)
