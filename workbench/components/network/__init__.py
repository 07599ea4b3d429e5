"""A graph, drawn by vis-network: nodes stand where Python put them; a click names a node or an edge.

vis-network's code comes out of pyvis' package: our own server serves it beside the pages; under a plain `streamlit run`
a part of its own carries it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import streamlit as st

from workbench import pyvis_graph
from workbench.components import HTML, part
from workbench.state import PUSH_VARIABLE
from workbench.views.graph import Drawing
from workbench.words import Words, visible

_network = part("network")
PLACES = "_graph_places"  # session: where each node stood, by the run it is of
KEPT = 5_000  # places of one run
LOADED = "\nglobalThis.dispatchEvent(new Event('memory-workbench-vis'));\nexport default function () {}\n"


@cache
def _library() -> Any:
    """The code once in a page: a module is run again for each mount, and must not make a second one."""
    code = f"if (!globalThis.vis?.Network) {{\n{pyvis_graph.library()}\n}}\n{LOADED}"
    return st.components.v2.component("memory_workbench.vis", html=HTML, css="", js=code)


def placed(drawing: Drawing) -> dict[str, tuple[float, float]]:
    """Where each node stands; what stood there before, in this session, stays."""
    kept = st.session_state.setdefault(PLACES, {}).setdefault(str(drawing.scope), {})
    found = drawing.places(kept)
    if len(kept) + len(found) > KEPT:
        kept.clear()
    kept.update(found)
    return found


def network(
    drawing: Drawing, where: Mapping[str, tuple[float, float]], selected: str, alt: str, say: Words,
    on_node: Callable[[], None], key: str = "network",
) -> Any:  # fmt: skip
    """`node` of the result is the node or edge that was clicked; "" is the paper between them."""
    is_served = bool(os.environ.get(PUSH_VARIABLE))
    if not is_served:
        _library()(key=f"{key}_vis")
    nodes, edges, options = pyvis_graph.drawn(drawing.nodes, drawing.edges, where, selected)
    for each in nodes:
        each["label"] = visible(each["label"], 60)
        each.pop("says")
    for each in edges:
        each.pop("says")
    return _network(
        key=key,
        data={
            "nodes": nodes,
            "edges": edges,
            "options": options,
            "selected": selected,
            "code": pyvis_graph.CODE_PATH if is_served else "",
            "about": f"{drawing.scope} {drawing.centre} {drawing.depth} {sorted(drawing.counts.items())}",
            "alt": visible(alt, 1_000),
            "words": {name: say(f"graph.{name}") for name in ("nearer", "farther", "fit", "drawing")},
        },
        on_node_change=on_node,
    )
