"""The workbench's views as parts of your own Streamlit app, each a function that draws one and returns it.

    from workbench import st as memory
    memory.window(engine)                          # or: memory.window((store, Scope("ana", "trip")), turn=90)

They only show: nothing is written, no address is read or changed, and the page is laid out by whoever calls them.
`source` is an engine, or a store with a scope; `lang` is en or zh, the browser's own without it; two of the same kind
on one page need two `key`s.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from memory.scope import Scope
from memory.stores.sql import Store
from workbench import state
from workbench.components import compare, costs
from workbench.components.chat import chat
from workbench.components.cloud import cloud
from workbench.components.diff import diff as drawn_diff
from workbench.components.facts import facts
from workbench.components.feed import feed
from workbench.components.figures import figures
from workbench.components.lanes import lanes as drawn_lanes
from workbench.components.network import network, placed
from workbench.components.page_list import page_list
from workbench.components.prompt import prompt
from workbench.components.stages import stages
from workbench.components.stubs import stubs
from workbench.components.token_bar import token_bar
from workbench.views import bookmarks as bookmarks_view
from workbench.views import diff as diff_view
from workbench.views import evictions as evictions_view
from workbench.views import graph as graph_view
from workbench.views import lanes as lanes_view
from workbench.views import turn as turn_view
from workbench.views import why as why_view
from workbench.views import window as window_view
from workbench.words import Words, language_of, zone_of

if TYPE_CHECKING:
    from memory.engine import Engine
    from workbench.views.bookmarks import BookmarksView
    from workbench.views.diff import DiffView
    from workbench.views.evictions import EvictionsView
    from workbench.views.graph import GraphView
    from workbench.views.lanes import LanesView
    from workbench.views.turn import TurnView
    from workbench.views.why import WhyView
    from workbench.views.window import WindowView

    Source = Engine | tuple[Store, Scope]

V = TypeVar("V")


def window(source: Source, turn: int | None = None, *, lang: str = "", key: str = "window") -> WindowView:
    """What the model sees at `turn` (None: now), what left, and what stayed behind. Raises NotFound."""
    say, view = _words(lang), _seen(source, window_view.window, turn)
    figures(view.metrics, say, key=f"{key}_figures")
    with st.container(border=True):
        token_bar(view, say, None, _nothing, key=f"{key}_bar")
    left, right = st.columns([1.25, 1], gap="medium")
    with left.container(border=True, height="stretch"):
        page_list(view.pages, say, None, _nothing, key=f"{key}_pages")
    with right.container(border=True, height="stretch"):
        feed(view.feed, say, key=f"{key}_feed")
    with st.container(border=True):
        stubs(view.stubs, say, None, _nothing, _nothing, may_recall=False, key=f"{key}_stubs")
    return view


def turn(source: Source, turn: int, *, lang: str = "", key: str = "turn") -> TurnView:
    """The step of one turn: what was said, what happened, and the prompt that the model read. Raises NotFound."""
    say, view = _words(lang), _seen(source, turn_view.turn, turn)
    left, right = st.columns(2, gap="medium")
    with left.container(border=True, height="stretch"):
        chat(view.messages, say, key=f"{key}_chat", at_end=False)
    with right.container(border=True, height="stretch"):
        feed(view.events, say, key=f"{key}_feed")
    with st.container(border=True):
        prompt(view.prompt, say, key=f"{key}_prompt")
    return view


def diff(source: Source, a: int, b: int, *, lang: str = "", layout: str = "unified", key: str = "diff") -> DiffView:
    """What changed between the prompts of two turns, by cause. `layout`: unified, beside or changes."""
    say, view = _words(lang), _seen(source, _difference, a, b)
    facts(compare.figures(view, say), key=f"{key}_figures", large=True)
    with st.container(border=True):
        drawn_diff(view, say, key=key, layout=layout)
    return view


def evictions(source: Source, turn: int | None = None, *, lang: str = "", key: str = "evictions") -> EvictionsView:
    """What left up to `turn`, by which score, and what each cost later."""
    say, view = _words(lang), _seen(source, evictions_view.evictions, turn)
    facts(costs.figures(view, say), key=f"{key}_figures", large=True)
    with st.container(border=True):
        costs.head(view, say)
        costs.table(view, say, _nothing, key=key)
    return view


def timeline(source: Source, *, axis: str = "valid", lang: str = "", key: str = "timeline") -> LanesView:
    """What is remembered about the user, over `valid` or `recorded` time."""
    say, view = _words(lang), _seen(source, lanes_view.lanes)
    with st.container(border=True):
        drawn_lanes(view, say, axis, None, _nothing, key=key)
    return view


def bookmarks(source: Source, turn: int | None = None, *, lang: str = "", key: str = "bookmarks") -> BookmarksView:
    """What stays behind of the pages, and what came of each."""
    say, view = _words(lang), _seen(source, bookmarks_view.bookmarks, turn)
    with st.container(border=True):
        cloud(view.rows, max((len(row.uses) for row in view.rows), default=0), say, None, _nothing, key=key)
    return view


def graph(source: Source, *, centre: str = "", lang: str = "", key: str = "graph") -> GraphView:
    """What is known of the user, as a graph; a neighbourhood of `centre` where it is large."""
    say, view = _words(lang), _seen(source, graph_view.graph)
    drawing = graph_view.draw(view, centre=centre)
    with st.container(border=True):
        network(drawing, placed(drawing), centre, repr(view), say, _nothing, key=key)
    return view


def why(
    source: Source, expected: str, question: str = "", turn: int | None = None, *, lang: str = "", key: str = "why"
) -> WhyView:
    """Why the model did not have these words, stage by stage, and the smallest change that would bring them back."""
    say, view = _words(lang), _seen(source, why_view.why, expected, question, turn)
    with st.container(border=True):
        st.text(view.verdict.says)
        stages(view.verdict, say, lambda **changes: {}, _nothing, key=key)
    return view


# ── how ───────────────────────────────────────────────────────────────────────────────────────────────


def _seen(source: Source, make: Callable[..., V], *args: Hashable) -> V:
    """The view, kept until what it shows changes: an app runs its script at every click."""
    store, scope = source if isinstance(source, tuple) else (source.store, source.scope)
    return state.seen(make, store, scope, *args)


def _difference(store: Store, scope: Scope, a: int, b: int) -> DiffView:
    return diff_view.diff(store, scope, a, scope, b)


def _words(lang: str) -> Words:
    return Words(lang or language_of(st.context.locale), zone_of(st.context.timezone))


def _nothing() -> None:
    """What a click does here."""
