"""A graph as pyvis has it: where each node stands, what vis-network draws, and one HTML page that needs nothing else.

The only file that knows pyvis. Neither which nodes are shown (views/graph.py) nor how a click is answered.

Raw pages of pyvis fetch Bootstrap and vis-network from elsewhere, and run what stands in a title as soon as one holds
"href". So no node is given a title, everything that points outside is taken out of pyvis' page, its own copy of
vis-network stands in it, and a policy forbids the page to fetch anything.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.util import find_spec
from math import cos, sin, sqrt
from pathlib import Path
from random import Random
from typing import Any, Protocol

Places = dict[str, tuple[float, float]]  # by node, in pixels of a drawing that is not scaled

UNIT = 110.0  # pixels: about the length of an edge
WORK = 3e8  # pairs of nodes that are moved apart, in all rounds: about a second and a half
FEW, MANY = 40, 300  # rounds of a layout
SETTLE, LEAST = 60, 20  # rounds for what came new among nodes that stay
PULL = 0.12  # towards the middle, beside an edge's 1
NEW = 0.5  # share of nodes from which everything is laid out anew
TURN = 2.399963  # the golden angle

# A shape as well as a colour a kind: nobody has to tell colours apart.
SHAPES = {"entity": "dot", "event": "diamond", "claim": "square", "page": "hexagon", "bookmark": "triangle"}
COLOURS = {"entity": "#2563eb", "event": "#d97706", "claim": "#0d9488", "page": "#64748b", "bookmark": "#8b5cf6"}
DASHES: dict[str, list[int]] = {"temporal": [2, 6], "topical": [1, 4], "updates": [8, 5], "negates": [8, 3, 2, 3]}
WIDTHS = {"causal": 2.5, "negates": 2.0, "updates": 2.0}
ARROWS = ("causal", "temporal", "updates", "negates")
CHOSEN = "#e11d48"  # border of the node that was clicked, or is pointed at
CANVAS = (860.0, 520.0)  # pixels that a drawing has to fit into, about
NAMED, UNNAMED = 12.0, 6.0  # pixels of a label at first sight; smaller than `drawThreshold` is drawn with zoom only
NAMES, TRIED = 60, 300  # labels at first sight, and nodes that may have one
STRONG = {
    "causal": "#d97706",
    "negates": "#e11d48",
    "updates": "#2563eb",
}  # the others are as faint as the page's lines


class Point(Protocol):
    """What a node brings: frozen values of views/graph.py do."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def rank(self) -> float: ...
    @property
    def over(self) -> bool: ...


class Line(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def label(self) -> str: ...


# ── where each node stands ────────────────────────────────────────────────────────────────────────────

_drawing = threading.Lock()


def places(nodes: Sequence[str], edges: Iterable[tuple[str, str]], before: Mapping[str, tuple[float, float]]) -> Places:
    """Fruchterman-Reingold, the same for the same graph. What stood somewhere `before` stays there.

    Only where more is new than stays everything is laid out anew, beginning with where it was.
    """
    if not nodes:
        return {}
    index = {node: i for i, node in enumerate(nodes)}
    pairs = [(index[a], index[b]) for a, b in edges if a in index and b in index and a != b]
    stays = {node for node in nodes if node in before}
    if len(stays) == len(index):
        return {node: before[node] for node in nodes}
    start = _start(nodes, pairs, {node: before[node] for node in stays})
    kept = stays if len(stays) >= NEW * len(nodes) else set()
    if not kept:
        rounds = int(min(MANY, max(FEW, WORK / len(nodes) ** 2)))
        found = _moved(len(nodes), pairs, start, rounds)
    else:
        rounds = int(min(SETTLE, max(LEAST, WORK / 3 / len(nodes) ** 2)))
        found = _moved(len(nodes), pairs, start, rounds, [node in kept for node in nodes])
    laid = {node: (round(x * UNIT, 1), round(y * UNIT, 1)) for node, (x, y) in zip(nodes, found, strict=True)}
    return laid | {node: before[node] for node in kept}


def _start(nodes: Sequence[str], pairs: Iterable[tuple[int, int]], before: Places) -> list[tuple[float, float]]:
    """Where it was; what is new beside a neighbour that was there, else outside, on a spiral."""
    beside: dict[int, int] = {}
    for a, b in pairs:
        for new, old in ((a, b), (b, a)):
            if nodes[new] not in before and nodes[old] in before:
                beside.setdefault(new, old)
    wide = max((sqrt(x * x + y * y) for x, y in before.values()), default=0.0) / UNIT
    found = []
    for i, node in enumerate(nodes):
        away = (cos(i * TURN), sin(i * TURN))
        if node in before:
            x, y = before[node]
            found.append((x / UNIT, y / UNIT))
        elif i in beside:
            x, y = before[nodes[beside[i]]]
            found.append((x / UNIT + away[0], y / UNIT + away[1]))
        else:
            far = wide + sqrt(i + 1.0)
            found.append((far * away[0], far * away[1]))
    return found


def _moved(
    n: int, pairs: list[tuple[int, int]], start: list[tuple[float, float]], rounds: int, fixed: Sequence[bool] = ()
) -> list[tuple[float, float]]:
    import random

    import igraph

    bounds: dict[str, list[float]] = {}
    if any(fixed):
        for axis, name in enumerate("xy"):
            bounds[f"min{name}"] = [p[axis] if f else -1e6 for p, f in zip(start, fixed, strict=True)]
            bounds[f"max{name}"] = [p[axis] if f else 1e6 for p, f in zip(start, fixed, strict=True)]
    # One more node pulls gently at all the others: without it a chain of pages reaches out far from everything else.
    drawn = igraph.Graph(n=n + 1, edges=[*pairs, *((n, i) for i in range(n))])
    weights = [1.0] * len(pairs) + [PULL] * n
    for bound in bounds.values():
        bound.append(0.0)
    with _drawing:  # igraph has one generator for the whole process
        igraph.set_random_number_generator(Random(1))
        try:
            laid = drawn.layout_fruchterman_reingold(
                niter=rounds, seed=[*start, (0.0, 0.0)], weights=weights, grid=False, **bounds
            )
        finally:
            igraph.set_random_number_generator(random)
    return [(float(x), float(y)) for x, y in laid.coords[:n]]


# ── what vis-network draws ────────────────────────────────────────────────────────────────────────────


def network(
    nodes: Sequence[Point], edges: Sequence[Line], where: Mapping[str, tuple[float, float]], chosen: str = ""
) -> Any:
    """A pyvis Network without physics. Its nodes say `text`, not `title`: see above."""
    from pyvis.network import Network

    # Directed, or it drops all but one of the edges between two nodes.
    net = Network(height="100%", width="100%", cdn_resources="local", directed=True)
    scale = _scale(where.values())
    named = set(_named(nodes, where, scale, chosen))
    for node in nodes:
        x, y = where[node.id]
        colour = COLOURS[node.kind]
        fill = "rgba(127,127,127,0.12)" if node.over else colour  # hollow: it holds no more
        lit = {"background": fill, "border": CHOSEN}
        net.add_node(
            node.id, label=node.label or node.id, shape=SHAPES[node.kind], x=x, y=y, kind=node.kind, says=node.text,
            color={"background": fill, "border": colour, "highlight": lit, "hover": lit},
            size=round((4 + 10 * sqrt(node.rank)) / scale, 1), borderWidth=round(1.5 / scale, 1),
            borderWidthSelected=round(2.5 / scale, 1),
            shapeProperties={"borderDashes": [4, 3] if node.over else False},
            font={"size": round((NAMED if node.id in named else UNNAMED) / scale, 1)},
        )  # fmt: skip
    for edge in edges:
        stroke = {"color": STRONG[edge.kind], "opacity": 0.9} if edge.kind in STRONG else {"opacity": 0.55}
        net.add_edge(
            edge.source, edge.target, id=edge.id, kind=edge.kind, says=edge.label, color=stroke,
            width=round(WIDTHS.get(edge.kind, 1.0) / scale, 1), dashes=DASHES.get(edge.kind, False),
            arrows={"to": {"enabled": edge.kind in ARROWS, "scaleFactor": 0.5}},
        )  # fmt: skip
    net.options = OPTIONS
    return net


def _scale(points: Collection[tuple[float, float]]) -> float:
    """0..1: how much smaller the drawing must be to fit its canvas. Sizes grow by as much, and read the same."""
    xs, ys = [x for x, _ in points] or [0.0], [y for _, y in points] or [0.0]
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    return min(1.0, CANVAS[0] / (wide or 1.0), CANVAS[1] / (high or 1.0))


def _named(
    nodes: Iterable[Point], where: Mapping[str, tuple[float, float]], scale: float, chosen: str
) -> Iterator[str]:
    """Nodes whose labels find room below them at first sight, the heaviest first; the others' come with zoom."""
    spots = {node: (x * scale, y * scale) for node, (x, y) in where.items()}
    taken: list[tuple[float, float, float, float]] = []
    for node in sorted(nodes, key=lambda n: (n.id != chosen, -n.rank, n.id))[:TRIED]:
        x, y = spots[node.id]
        wide = sum(1.0 if ord(c) > 0x2E7F else 0.55 for c in node.label) * NAMED / 2 + 3
        box = (x - wide, y + 6, x + wide, y + 8 + NAMED * 1.6)
        others = (at for other, at in spots.items() if other != node.id)
        is_free = not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)
        if node.id == chosen or (is_free and not any(box[0] < a < box[2] and box[1] < b < box[3] for a, b in others)):
            taken.append(box)
            yield node.id
        if len(taken) == NAMES:
            return


OPTIONS: dict[str, Any] = {
    "physics": {"enabled": False},
    "layout": {"improvedLayout": False},
    "interaction": {"hover": True, "hideEdgesOnDrag": True, "multiselect": False, "selectConnectedEdges": True},
    "nodes": {
        "font": {"strokeWidth": 4},
        "scaling": {"label": {"enabled": False, "drawThreshold": 7}},
        "chosen": True,
    },
    "edges": {"smooth": False, "selectionWidth": 1.5, "hoverWidth": 0.5},
}


def drawn(
    nodes: Sequence[Point], edges: Sequence[Line], where: Mapping[str, tuple[float, float]], chosen: str = ""
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """Nodes, edges and options as vis-network takes them."""
    net = network(nodes, edges, where, chosen)
    made_nodes, made_edges, *_ = net.get_network_data()
    return made_nodes, made_edges, OPTIONS


CODE_PATH = "vis-network.js"  # beside the pages, where our own server serves


@cache
def library() -> str:
    """vis-network's code, as it comes in pyvis' package: it defines the global `vis`."""
    spec = find_spec("pyvis")
    if spec is None or spec.origin is None:
        raise ImportError("pyvis is not installed; install memory-workbench again")
    found = Path(spec.origin).parent / "templates" / "lib" / "vis-9.1.2" / "vis-network.min.js"
    return found.read_text(encoding="utf-8")


# ── one page that needs nothing else ──────────────────────────────────────────────────────────────────

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
_OUTSIDE = re.compile(r"<link\b[^>]*>|<script\b[^>]*\bsrc\s*=[^>]*>\s*</script>|<!--.*?-->", re.DOTALL)
_HEADING = re.compile(r"<center>\s*<h1>.*?</h1>\s*</center>", re.DOTALL)
_STEERS_HTML = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def page(
    nodes: Sequence[Point], edges: Sequence[Line], where: Mapping[str, tuple[float, float]], title: str,
    reasons: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """pyvis' own page, made harmless and whole: works without a network, light and dark, and has a table beside it."""
    made: str = network(nodes, edges, where).generate_html()
    plain = _HEADING.sub("", _OUTSIDE.sub("", made))
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>{_shown(title)}</title><script>{library()}</script><style>{STYLE}</style>"
    )
    with_head = plain.replace("<head>", f"<head>{head}", 1)
    body = f"<body><h1>{_shown(title)}</h1>{_legend({n.kind for n in nodes})}"
    with_body = with_head.replace("<body>", body, 1)
    after = f'<p id="said" role="status"></p>{_table(nodes, edges, reasons or {})}<script>{SCRIPT}</script></body>'
    start, _, end = with_body.rpartition("</body>")
    return f"<!doctype html>{start}{after}{end}"


def frame(html: str, height: int = 560) -> str:
    """The page in a notebook's cell: a frame of its own, that may run its script and reach nothing around it."""
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{escape(html, quote=True)}" title="graph" '
        f'style="width:100%;height:{height}px;border:1px solid #8885;border-radius:8px"></iframe>'
    )


def _shown(text: str) -> str:
    return escape(_STEERS_HTML.sub("�", text), quote=True)


def _legend(kinds: Collection[str]) -> str:
    signs = {"entity": "●", "event": "◆", "claim": "■", "page": "⬢", "bookmark": "▲"}
    parts = [
        f'<span><b style="color:{COLOURS[kind]}" aria-hidden="true">{signs[kind]}</b> {kind}</span>'
        for kind in SHAPES
        if kind in kinds
    ]
    return f'<p class="legend">{"".join(parts)}<span>hollow: holds no more</span></p>'


def _table(nodes: Sequence[Point], edges: Sequence[Line], reasons: Mapping[str, str]) -> str:
    rows = "".join(
        f"<tr><td>{_shown(n.id)}</td><td>{_shown(n.kind)}</td><td>{_shown(n.text)}</td>"
        f"<td>{_shown(reasons.get(n.id, ''))}</td></tr>"
        for n in nodes
    )
    lines = "".join(
        f"<tr><td>{_shown(e.source)}</td><td>{_shown(e.kind)}</td><td>{_shown(e.target)}</td>"
        f"<td>{_shown(e.label)}</td></tr>"
        for e in edges
    )
    return (
        f"<details><summary>{len(nodes):,} nodes, {len(edges):,} edges as a table</summary>"
        f"<table><thead><tr><th>node</th><th>kind</th><th>text</th><th>because</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
        f"<table><thead><tr><th>from</th><th>kind</th><th>to</th><th>relation</th></tr></thead>"
        f"<tbody>{lines}</tbody></table></details>"
    )


STYLE = """
:root { color-scheme: light dark; --ink: #1f2937; --paper: #fff; --line: #d7dbe2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e7eb; --paper: #12161d; --line: #323a46; } }
html, body { margin: 0; background: var(--paper); color: var(--ink); font: 14px/1.5 system-ui, sans-serif; }
body { padding: 14px 18px; box-sizing: border-box; }
h1 { font-size: 16px; margin: 0 0 4px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 0 0 10px; opacity: .8; font-size: 13px; }
.card { height: 68vh; min-height: 320px; }
.card #mynetwork { width: 100% !important; height: 100% !important; float: none !important; box-sizing: border-box;
  background: var(--paper) !important; border: 1px solid var(--line) !important; border-radius: 8px; overflow: hidden; }
#said { min-height: 3em; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
table { border-collapse: collapse; margin: 10px 0; width: 100%; font-size: 13px; }
th, td { text-align: left; vertical-align: top; padding: 3px 12px 3px 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; unicode-bidi: plaintext; }
"""

# Text reaches the page as textContent alone.
SCRIPT = """
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = () => {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    network.setOptions({
      nodes: { font: { color: of("--ink"), strokeColor: of("--paper") } },
      edges: { color: { color: dark.matches ? "#8b95a5" : "#94a3b8", inherit: false } },
    });
  };
  paint();
  dark.addEventListener("change", paint);
  const said = document.getElementById("said");
  network.on("select", (at) => {
    const node = at.nodes.length ? nodes.get(at.nodes[0]) : null;
    const edge = !node && at.edges.length ? edges.get(at.edges[0]) : null;
    said.textContent = node ? `${node.id} (${node.kind}): ${node.says}`
      : edge ? `${edge.from} \\u2192 ${edge.to} (${edge.kind}) ${edge.says || ""}` : "";
  });
  network.fit({ animation: false });
})();
"""
