"""Where the reader is, in the address: whose memory, which conversation and run of it, which turn, which page.

The address is the only place that keeps it, so every page can be linked to; it is read once in each run, and
carried along from page to page. Views are kept by the version of what they show, never by time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import streamlit as st

from memory.errors import EngineError, NotFound, StoreReadOnly
from memory.scope import RECORDED, Scope
from memory.stores.sql import Store, Stream, default_path
from workbench.views import turn as turn_view
from workbench.views import window as window_view
from workbench.views.conversations import ConversationRow, conversations
from workbench.views.rows import ChatRow
from workbench.views.turn import TurnView
from workbench.views.window import PageView, WindowView
from workbench.words import LANGUAGES, Words, language_of, zone_of

STORE_VARIABLE = "MEMORY_WORKBENCH_STORE"
READONLY_VARIABLE = "MEMORY_WORKBENCH_READONLY"
PUSH_VARIABLE = "MEMORY_WORKBENCH_PUSH"  # set where /events is served
KEYS = ("user", "conv", "run", "turn", "page", "lang")
KEPT = "_place"  # the last address, for the next page
SHOWN_PAGE = "_shown_page"


class Missing(EngineError):
    """The address names something that is not there; `known` is what is."""

    def __init__(self, what: str, known: Sequence[str] = (), **values: Any) -> None:
        super().__init__(f"no {what}: {values}")
        self.what, self.known, self.values = what, tuple(known), values


@dataclass(frozen=True, slots=True)
class Place:
    """What the page shows; `turn` None follows the newest."""

    row: ConversationRow
    stream: Stream
    turn: int | None
    page: int | None

    @property
    def scope(self) -> Scope:
        return self.stream.scope

    @property
    def at(self) -> int:
        return self.stream.turns if self.turn is None else self.turn

    @property
    def is_newest(self) -> bool:
        return self.turn is None

    @property
    def has_decisions(self) -> bool:
        return self.scope.run != RECORDED


# ── the address ───────────────────────────────────────────────────────────────────────────────────────


def arrive(page: str) -> None:
    """Called once by the router: a reader who comes from another page of ours keeps the scope."""
    session, address = st.session_state, st.query_params
    here = {key: address[key] for key in KEYS if key in address}
    if session.get(SHOWN_PAGE) not in (None, page):
        kept = session.get(KEPT, {})
        added = {key: value for key, value in kept.items() if key not in here}
        here |= added
        for key, value in added.items():
            address[key] = value
    session[SHOWN_PAGE], session[KEPT] = page, here


def go(**changes: str | int | None) -> None:
    """Change the address; None takes a part out of it."""
    kept = dict(st.session_state.get(KEPT, {}))
    for key, value in changes.items():
        if value is None:
            kept.pop(key, None)
            st.query_params.pop(key, None)
        else:
            kept[key] = st.query_params[key] = str(value)
    st.session_state[KEPT] = kept


def link(**changes: str | int | None) -> dict[str, str]:
    """The query of an address that differs from this one by these changes."""
    here: dict[str, Any] = {key: st.query_params[key] for key in KEYS if key in st.query_params}
    return {key: str(value) for key, value in (here | changes).items() if value is not None}


def pages_folder() -> Path:
    """Where the pages lie; they are run by path and never imported."""
    spec = find_spec("pages")
    if spec is None or spec.origin is None:
        raise ImportError("the workbench's pages are not installed; install memory-workbench again")
    return Path(spec.origin).parent


def door(page: str, label: str, icon: str) -> None:
    """A link to another page at this place."""
    path = pages_folder() / f"{page}.py"
    st.page_link(path, label=label, icon=f":material/{icon}:", query_params=link())


def words() -> Words:
    asked = st.query_params.get("lang", "")
    language = asked if asked in LANGUAGES else language_of(st.context.locale)
    return Words(language, zone_of(st.context.timezone))


# ── the store ─────────────────────────────────────────────────────────────────────────────────────────


def store_path() -> Path:
    named = os.environ.get(STORE_VARIABLE)
    return Path(named) if named else default_path()


def open_store() -> Store:
    """The store of this process; for reading only where that is asked for, or its folder cannot be written."""
    return _opened(str(store_path()), bool(os.environ.get(READONLY_VARIABLE)))


@st.cache_resource(show_spinner=False)
def _opened(path: str, readonly: bool) -> Store:
    try:
        return Store.open(path, readonly=readonly)
    except StoreReadOnly:
        return Store.open(path, readonly=True)


def all_conversations() -> tuple[ConversationRow, ...]:
    store = open_store()
    return _conversations(store, str(store.path), store.last_seq(), store.generation())


@st.cache_resource(max_entries=4, show_spinner=False)
def _conversations(_store: Store, path: str, seq: int, generation: int) -> tuple[ConversationRow, ...]:
    return conversations(_store)


# ── the place ─────────────────────────────────────────────────────────────────────────────────────────


def place() -> Place | None:
    """Where the address leads; None if the store holds no conversation. Raises Missing."""
    rows = all_conversations()
    if not rows:
        return None
    row = _conversation(rows)
    run = st.query_params.get("run") or row.main
    if run not in [r.run for r in row.runs]:
        raise Missing("run", [r.run for r in row.runs], name=run)
    stream = open_store().require(row.scope.at(run))
    turn = _number("turn")
    if turn is not None and not 1 <= turn <= stream.turns:
        raise Missing("turn", name=turn, turns=stream.turns)
    return Place(row, stream, turn, _number("page"))


def _conversation(rows: Sequence[ConversationRow]) -> ConversationRow:
    user = st.query_params.get("user") or rows[0].user
    own = [row for row in rows if row.user == user]
    if not own:
        raise Missing("user", sorted({row.user for row in rows}), name=user)
    name = st.query_params.get("conv") or own[0].conversation
    found = [row for row in own if row.conversation == name]
    if not found:
        raise Missing("conversation", [row.conversation for row in own], name=name, user=user)
    return found[0]


def _number(key: str) -> int | None:
    text = st.query_params.get(key, "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Missing(f"{key}_number", name=text)
    return int(text)


# ── views, kept by the version of what they show ──────────────────────────────────────────────────────


def window(here: Place) -> WindowView:
    store = open_store()
    return _window(store, *_key(store, here), here.at)


def page(here: Place) -> PageView | None:
    """The page that the address names; None where it was not begun yet at the shown turn."""
    if here.page is None:
        return None
    store = open_store()
    try:
        return _page(store, *_key(store, here), here.at, here.page)
    except NotFound as error:
        newest = window(replace(here, turn=None))
        if here.page <= len(newest.pages) + newest.gone and here.page:
            return None
        raise Missing("page", name=here.page) from error


def trace(here: Place, round_: int | None = None) -> TurnView:
    store = open_store()
    return _trace(store, *_key(store, here), here.at, round_)


def marked(here: Place) -> frozenset[int]:
    """Turns that are marked now, whichever turn is shown."""
    store = open_store()
    return _marked(store, *_key(store, here))


def with_marks(rows: Sequence[ChatRow], here: Place) -> list[ChatRow]:
    now = marked(here)
    return [replace(row, marked=row.marked or row.turn in now) for row in rows]


def _key(store: Store, here: Place) -> tuple[str, Scope, int, int]:
    return str(store.path), here.scope, here.stream.version, store.generation()


_hash_scope: dict[str | type[Any], Callable[[Any], Any]] = {Scope: str}


@st.cache_resource(max_entries=200, show_spinner=False, hash_funcs=_hash_scope)
def _window(_store: Store, path: str, scope: Scope, version: int, generation: int, turn: int) -> WindowView:
    return window_view.window(_store, scope, turn or None)


@st.cache_resource(max_entries=50, show_spinner=False, hash_funcs=_hash_scope)
def _page(_store: Store, path: str, scope: Scope, version: int, generation: int, turn: int, number: int) -> PageView:
    return window_view.page(_store, scope, number, turn or None)


@st.cache_resource(max_entries=100, show_spinner=False, hash_funcs=_hash_scope)
def _trace(
    _store: Store, path: str, scope: Scope, version: int, generation: int, turn: int, round_: int | None
) -> TurnView:
    return turn_view.turn(_store, scope, turn, round_)


@st.cache_resource(max_entries=20, show_spinner=False, hash_funcs=_hash_scope)
def _marked(_store: Store, path: str, scope: Scope, version: int, generation: int) -> frozenset[int]:
    return frozenset(_store.state(scope, version).marked)


# ── what cannot be shown ──────────────────────────────────────────────────────────────────────────────


@contextmanager
def told() -> Iterator[None]:
    """An error of ours becomes a panel that says what to do; anything else is a fault and stays one."""
    try:
        yield
    except EngineError as error:
        from workbench.components.notice import trouble

        trouble(error, words())
