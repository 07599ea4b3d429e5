"""Where the reader is, in the address: whose memory, which conversation and run of it, which turn, which page.

The address is the only place that keeps it, so every page can be linked to; it is read once in each run, and
carried along from page to page. Views are kept by the version of what they show, never by time.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Protocol, TypeVar

import streamlit as st

from memory.earlier import EarlierQuestions
from memory.earlier import earlier as earlier_questions
from memory.errors import EngineError, NotFound, StoreReadOnly
from memory.events import TurnMarked
from memory.language import zipf
from memory.scope import LIVE, RECORDED, Scope
from memory.settings import Settings
from memory.stores import census
from memory.stores.census import Counted
from memory.stores.sql import Store, Stream, default_path
from memory.stores.vector_source import StoredVectors
from memory.tokens import count
from memory.trial import Trial
from workbench import access, components
from workbench.background import Kept, Making
from workbench.review_link import Reviewer
from workbench.steering import STEERED_VARIABLE, STEERING, moved
from workbench.views import diff as diff_view
from workbench.views import evictions as evictions_view
from workbench.views import overview as overview_view
from workbench.views import retrieval as retrieval_view
from workbench.views import review as review_view
from workbench.views import seek as seek_view
from workbench.views import turn as turn_view
from workbench.views import why as why_view
from workbench.views import window as window_view
from workbench.views.conversations import ConversationRow, conversations
from workbench.views.diff import DiffView
from workbench.views.evictions import EvictionsView
from workbench.views.overview import ConversationFigures, OverviewView, UserRow
from workbench.views.retrieval import RetrievalView
from workbench.views.review import ReviewView
from workbench.views.rows import ChatRow
from workbench.views.seek import SeekView
from workbench.views.turn import TurnView
from workbench.views.why import WhyView
from workbench.views.window import PageView, WindowView
from workbench.words import LANGUAGES, Words, language_of, zone_of

STORE_VARIABLE = "MEMORY_WORKBENCH_STORE"
READONLY_VARIABLE = "MEMORY_WORKBENCH_READONLY"
PUSH_VARIABLE = "MEMORY_WORKBENCH_PUSH"  # set where /events is served
OF_GRAPH = ("node", "kinds", "depth", "since", "until", "holding", "behind")
OVER_TIME = ("axis", "valid", "recorded", "layer", "state", "find", "lanes", "fact", "beside")  # of the timeline
OF_STORE = ("seek", "who", "sort", "from", "symptom", "score", "profile")  # of the overview: in no other page's address
OF_REPLAY = ("base", "set", "fork")  # the settings of a replay and what they are changes of; a fork's own
OF_TURN = ("if",)  # what this step's prompt is built otherwise with
OF_DIFF = ("layout",)
OF_CLOUD = ("came", "made", "holds", "order")  # which bookmarks are shown: outcomes, origin, words, their order
OF_LAB = ("over", "grid", "by", "room", "metric", "cell", "simpler", "price")  # of the policy lab
KEYS = (
    *OVER_TIME,
    *OF_STORE,
    *OF_REPLAY,
    *OF_LAB,
    *OF_TURN,
    *OF_DIFF,
    *OF_CLOUD,
    "user",
    "conv",
    "run",
    "turn",
    "page",
    "bookmark",
    "a",
    "b",
    "vs",
    "q",
    "expect",
    "try",
    *OF_GRAPH,
    "lang",
)
ASKED = ("q", "expect", "try")  # of the Why page: in no other's address, and there again when one comes back
OWN_KEYS = {
    **dict.fromkeys(ASKED, "why"),
    **dict.fromkeys(OF_STORE, "overview"),
    **dict.fromkeys(OF_REPLAY, "replay"),
    **dict.fromkeys(OF_LAB, "lab"),
    **dict.fromkeys(OF_TURN, "turn"),
    **dict.fromkeys(OF_DIFF, "diff"),
    **dict.fromkeys(OF_CLOUD, "bookmarks"),
}
SELDOM = (20_000, 10, 100)  # objects, and collections of the younger, until the collector looks again
KEPT = "_place"  # the last address, for the next page
SHOWN_PAGE = "_shown_page"
LED = "_led"  # session: the page and place that a part asked to be led to
TOLD = "_told"  # session: what the notebook was told last
LISTED = "_listed"  # session: what the sidebar lists
AFRESH = "_afresh"  # session: the sidebar was drawn in this very run
V = TypeVar("V")


class Chosen(Protocol):
    """The two sides of a diff."""

    @property
    def a(self) -> int: ...
    @property
    def b(self) -> int: ...
    @property
    def run_a(self) -> str: ...


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
    generation: int  # of the store's words
    youngest: int  # the id of the last stream that was begun in the store
    own: Stream | None  # what is remembered about the user

    @property
    def scope(self) -> Scope:
        return self.stream.scope

    @property
    def own_version(self) -> int:
        return self.own.version if self.own else 0

    @property
    def shown(self) -> dict[int, int]:
        """The streams that pages are made of, by their ids, with the versions they are at."""
        return {stream.id: stream.version for stream in (self.stream, self.own) if stream}

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
        if told := {key: value for key, value in added.items() if OWN_KEYS.get(key, page) == page}:
            address.update(told)
    session[SHOWN_PAGE], session[KEPT] = page, here


def go(**changes: str | int | None) -> None:
    """Change the address; None takes a part out of it. At once: each change of it is a step of the browser's Back."""
    address = st.query_params.to_dict()
    kept, there = (_changed(old, changes) for old in (st.session_state.get(KEPT, {}), address))
    if there != address:
        st.query_params.from_dict(there)
    st.session_state[KEPT] = kept


def _changed(old: Mapping[str, str], changes: Mapping[str, str | int | None]) -> dict[str, str]:
    added = {key: str(value) for key, value in changes.items() if value is not None}
    return {key: value for key, value in old.items() if key not in changes} | added


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


def door(page: str, label: str, icon: str, /, **changes: str | int | None) -> None:
    """A link to another page at this place, or at one that differs by these changes."""
    path = pages_folder() / f"{page}.py"
    st.page_link(path, label=label, icon=f":material/{icon}:", query_params=link(**changes))


def lead(page: str, **place: str | int) -> None:
    """Go to this place on another page, when the page is drawn next: a callback may not. Nothing else is kept."""
    language = {"lang": st.query_params["lang"]} if "lang" in st.query_params else {}
    query = {key: str(value) for key, value in place.items()} | language
    st.session_state[LED] = page, query


def led() -> None:
    """Before a page draws anything: off to where the last act leads."""
    if (wanted := st.session_state.pop(LED, None)) is not None:
        page, query = wanted
        st.session_state[KEPT] = query
        st.switch_page(pages_folder() / f"{page}.py", query_params=query)


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


_opening = threading.Lock()


def _opened(path: str, readonly: bool) -> Store:
    with _opening:
        return _open(path, readonly)


@lru_cache(maxsize=4)
def _open(path: str, readonly: bool) -> Store:
    try:
        return Store.open(path, readonly=readonly)
    except StoreReadOnly:
        return Store.open(path, readonly=True)


def reviewer() -> Reviewer | None:
    """Who reviews their own memory; None is a developer. Raises LinkRefused, as all that shows a user's words does."""
    return access.reviewer(store_path())


def whose() -> str | None:
    """Whose memory is reviewed: a reviewer's own, whatever the address says; None in a store without anybody."""
    mine = reviewer()
    if mine is not None:
        return mine.user
    here = place()
    return here.row.user if here else None


def still(user: str) -> Callable[[], None]:
    """A check, for later and without a session, that whoever looks may still have what is this user's."""
    allow(user)
    return access.still(store_path())


def allow(user: str) -> str:
    """The user, if whoever looks may see and change what is theirs. Raises LinkRefused, or Missing."""
    mine = reviewer()
    if mine is not None and user != mine.user:
        raise Missing("user", [mine.user], name=user)
    return user


def all_conversations() -> tuple[ConversationRow, ...]:
    """Of everybody; of a reviewer their own."""
    store, mine = open_store(), reviewer()
    rows = _conversations(store, store.last_seq(), store.generation())
    return tuple(row for row in rows if mine is None or row.user == mine.user)


@lru_cache(maxsize=4)
def _conversations(store: Store, seq: int, generation: int) -> tuple[ConversationRow, ...]:
    return conversations(store)


def overview() -> OverviewView:
    """Of the whole store, for a developer; each run's records are counted once a version."""
    if (mine := reviewer()) is not None:
        raise Missing("user", [mine.user], name="*")
    store = open_store()
    return _overview(store, store.last_seq(), store.generation())


@lru_cache(maxsize=4)
def _overview(store: Store, seq: int, generation: int) -> OverviewView:
    return overview_view.overview(store, _counts)


_COUNTED: dict[str, dict[int, tuple[int, Counted]]] = {}  # by store, of each of its runs: its version, what it held
MOST_STORES = 4


def _counts(store: Store, streams: Sequence[Stream]) -> dict[int, Counted]:
    """What each of the store's runs holds; only those that moved are counted, and one that is gone is kept no more."""
    path = str(store.path)
    known = _COUNTED.pop(path, {})
    found = census.counted(store, [s for s in streams if known.get(s.id, (-1, None))[0] != s.version])
    now = {s.id: (s.version, found[s.id]) if s.id in found else known[s.id] for s in streams}
    _COUNTED[path] = now
    for old in [*_COUNTED][:-MOST_STORES]:
        _COUNTED.pop(old, None)
    return {number: held for number, (_, held) in now.items()}


def users(view: OverviewView, names: Sequence[str]) -> tuple[UserRow, ...]:
    """What is remembered about these, counted."""
    store = open_store()
    versions = {s.scope.user: s.version for s in store.streams(own=True) if s.scope == Scope.own(s.scope.user)}
    return tuple(_user(store, view, name, versions.get(name, 0)) for name in names)


@lru_cache(maxsize=500)
def _user(store: Store, view: OverviewView, name: str, version: int) -> UserRow:
    return overview_view.user_row(view, name, store.knowledge(name))


def course(row: ConversationFigures) -> tuple[int, ...]:
    store = open_store()
    return _course(store, row.user, row.conversation, row.last_at, store.generation())


@lru_cache(maxsize=50)
def _course(store: Store, user: str, conversation: str, last_at: datetime, generation: int) -> tuple[int, ...]:
    return overview_view.course(store, user, conversation)


def seek(asked: str, user: str = "") -> SeekView:
    """What bears these words, of one user or of all; for a developer."""
    if (mine := reviewer()) is not None:
        raise Missing("user", [mine.user], name="*")
    store = open_store()
    return _seek(store, asked, user, store.last_seq(), store.generation())


@lru_cache(maxsize=20)
def _seek(store: Store, asked: str, user: str, seq: int, generation: int) -> SeekView:
    return seek_view.seek(store, asked, user=user, rows=_conversations(store, seq, generation))


# ── the place ─────────────────────────────────────────────────────────────────────────────────────────


def place() -> Place | None:
    """Where the address leads; None if the store holds no conversation. Raises Missing."""
    store = open_store()
    generation = store.generation()
    rows = all_conversations()
    if not rows:
        return None
    row = _conversation(rows)
    run = st.query_params.get("run") or row.main
    if run not in [r.run for r in row.runs]:
        raise Missing("run", [r.run for r in row.runs], name=run)
    streams = store.streams(own=True)
    stream = next(s for s in streams if s.scope == row.scope.at(run))
    own = next((s for s in streams if s.scope == Scope.own(row.user)), None)
    turn = _number("turn")
    if turn is not None and not 1 <= turn <= stream.turns:
        raise Missing("turn", name=turn, turns=stream.turns)
    _tell(stream.scope)
    return Place(row, stream, turn, _number("page"), generation, max(s.id for s in streams), own)


@dataclass(frozen=True, slots=True)
class Listed:
    """What the sidebar lists, and what of it is chosen."""

    youngest: int = 0  # the id of the last stream that was begun in the store
    scope: Scope | None = None
    titles: frozenset[tuple[str, str]] = frozenset()
    runs: frozenset[str] = frozenset()


def listing(here: Place | None) -> None:
    """The sidebar is being drawn with this place."""
    st.session_state[LISTED], st.session_state[AFRESH] = _listed(here), True


def is_listed(here: Place | None) -> bool:
    """Whether the sidebar still fits the place that a page's fragment is drawn with.

    A run may begin between the sidebar and the page of one script run: then the page is drawn first, and follows.
    """
    is_afresh = st.session_state.pop(AFRESH, False)
    return is_afresh or LISTED not in st.session_state or st.session_state[LISTED] == _listed(here)


def known_to_all(here: Place | None) -> int:
    """The youngest stream that the page and the sidebar both know of."""
    listed = st.session_state.get(LISTED)
    youngest = here.youngest if here else 0
    return youngest if listed is None else min(youngest, listed.youngest)


def _listed(here: Place | None) -> Listed:
    if here is None:
        return Listed()
    titles = frozenset((row.conversation, row.title) for row in all_conversations() if row.user == here.row.user)
    return Listed(here.youngest, here.scope, titles, frozenset(run.run for run in here.row.runs))


def _tell(scope: Scope) -> None:
    """Tell the notebook that opened the app where its reader is, once for each move."""
    session = st.session_state
    if not os.environ.get(STEERED_VARIABLE) or access.KEPT_TOKEN in session:
        return
    address = link(user=scope.user, conv=scope.conversation, run=scope.run)
    now = moved(session.get(TOLD), session.get(SHOWN_PAGE, ""), address)
    if session.get(TOLD) != now:
        session[TOLD] = now
        STEERING.select(now)


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


def view(make: Callable[..., V], here: Place, *args: Hashable) -> V:
    """`make(store, scope, *args)`, kept until this conversation, its user's memory or the store's words change."""
    versions = (here.stream.version, here.own_version, here.generation)
    kept: V = _view(make, open_store(), here.scope, args, versions)
    return kept


def seen(make: Callable[..., V], store: Store, scope: Scope, *args: Hashable) -> V:
    """The same for whoever has no address. Raises NotFound."""
    own = store.stream(Scope.own(scope.user))
    versions = (store.require(scope).version, own.version if own else 0, store.generation())
    kept: V = _view(make, store, scope, args, versions)
    return kept


_COMING: Kept[Hashable, Making[Any]] = Kept(8)


def coming(make: Callable[..., V], here: Place, *args: Hashable) -> Making[V]:
    """The same made in a thread of its own, for what takes longer than a page may: perhaps still under way."""
    store, scope, versions = open_store(), here.scope, (here.stream.version, here.own_version, here.generation)

    def begun() -> Making[V]:
        making: Making[V] = Making(make.__name__, lambda _: _view(make, store, scope, args, versions))
        making.start()
        return making

    def failed(old: Making[V]) -> bool:
        return not old.is_under_way and old.error is not None

    return _COMING.get((make, str(store.path), scope, args, versions), begun, failed)


@lru_cache(maxsize=100)
def _view(
    make: Callable[..., V], store: Store, scope: Scope, args: tuple[Hashable, ...], versions: tuple[int, ...]
) -> V:
    return make(store, scope, *args)


def window(here: Place) -> WindowView:
    return _window(open_store(), here.scope, here.stream.version, here.generation, here.at)


def page(here: Place) -> PageView | None:
    """The page that the address names; None where it was not begun yet at the shown turn."""
    if here.page is None:
        return None
    try:
        return _page(open_store(), here.scope, here.stream.version, here.generation, here.at, here.page)
    except NotFound as error:
        newest = window(replace(here, turn=None))
        if here.page <= len(newest.pages) + newest.gone and here.page:
            return None
        raise Missing("page", name=here.page) from error


def trace(here: Place, round_: int | None = None) -> TurnView:
    return _trace(open_store(), here.scope, here.stream.version, here.generation, here.at, round_)


def review(user: str) -> ReviewView:
    """What is remembered about a user; anew when that changed, a conversation of theirs did, or a day began."""
    store = open_store()
    return _review(store, user, remembered_at(user), store.clock().date().toordinal())


def remembered_at(user: str) -> tuple[int, ...]:
    """Another one when anything of this user's was written, or words were taken from the store."""
    store = open_store()
    streams = store.streams(allow(user), own=True)
    return (store.generation(), *(n for s in streams for n in (s.id, s.version)))


@lru_cache(maxsize=20)
def _review(store: Store, user: str, at: tuple[int, ...], day: int) -> ReviewView:
    return review_view.review(store, user)


def evictions(here: Place) -> EvictionsView:
    """All up to the shown turn; every turn's are of one reading of the run."""
    return view(evictions_view.evictions, here).upto(here.turn)


def difference(here: Place, chosen: Chosen) -> DiffView:
    """Turn `a` of the other run, or of this one, against turn `b` of this one."""
    other = open_store().require(here.scope.at(chosen.run_a))
    versions = (here.stream.version, other.version)
    return _difference(open_store(), other.scope, chosen.a, here.scope, chosen.b, versions, here.generation)


@lru_cache(maxsize=50)
def _difference(
    store: Store, a: Scope, turn_a: int, b: Scope, turn_b: int, versions: tuple[int, int], generation: int
) -> DiffView:
    return diff_view.diff(store, a, turn_a, b, turn_b)


def asked(here: Place, question: str) -> RetrievalView:
    """What the question would find as of the turn that is shown."""
    store = open_store()
    key = (here.scope, here.stream.version, here.generation, here.at, question)
    return _asked(store, *key, StoredVectors(store).newest())


@lru_cache(maxsize=50)
def _asked(
    store: Store, scope: Scope, version: int, generation: int, turn: int, question: str, vectors: tuple[str, int]
) -> RetrievalView:
    return retrieval_view.ask(store, scope, question, turn=turn, vectors=StoredVectors(store))


def why(here: Place, expected: str, question: str) -> WhyView:
    """Why these words were not before the model at the turn that is shown."""
    store = open_store()
    versions = (here.stream.version, here.own_version, here.generation)
    return _why(store, here.scope, versions, here.turn, expected, question, StoredVectors(store).newest())


@lru_cache(maxsize=50)
def _why(
    store: Store, scope: Scope, versions: tuple[int, ...], turn: int | None, expected: str, question: str,
    vectors: tuple[str, int],
) -> WhyView:  # fmt: skip
    return why_view.why(store, scope, expected, question, turn)


def tried(here: Place, expected: str, question: str, change: str) -> Trial:
    """What that step's prompt would have been with a change."""
    store = open_store()
    versions = (here.stream.version, here.own_version, here.generation)
    return _tried(store, here.scope, versions, here.turn, (expected, question), change, StoredVectors(store).newest())


@lru_cache(maxsize=50)
def _tried(
    store: Store, scope: Scope, versions: tuple[int, ...], turn: int | None, asked: tuple[str, str], change: str,
    vectors: tuple[str, int],
) -> Trial:  # fmt: skip
    return why_view.tried(store, scope, *asked, turn, change)


def why_examples(here: Place) -> tuple[why_view.Example, ...]:
    return view(why_view.examples, here)


def earlier(here: Place, question: str) -> EarlierQuestions:
    """Questions of this user like that one, of all conversations."""
    store = open_store()
    return _earlier(store, here.row.user, question, store.last_seq(), here.generation, StoredVectors(store).newest())


@lru_cache(maxsize=20)
def _earlier(
    store: Store, user: str, question: str, seq: int, generation: int, vectors: tuple[str, int]
) -> EarlierQuestions:
    return earlier_questions(store, user, question)


def settings_of(here: Place) -> Settings:
    """Those that the shown run ended with."""
    return _settings_of(open_store(), here.scope, here.stream.version)


@lru_cache(maxsize=50)
def _settings_of(store: Store, scope: Scope, version: int) -> Settings:
    return store.state(scope, version).settings


def settings_now(here: Place) -> dict[str, Any]:
    """Those of the next step: of the live run if there is one, else of the run that it would go on from."""
    store, live = open_store(), here.scope.at(LIVE)
    return store.state(live if store.stream(live) else here.scope).settings.to_dict()


def with_marks(rows: Sequence[ChatRow], here: Place) -> Sequence[ChatRow]:
    """The messages with the marks of now: a view shows those of its step."""
    now = _marks(open_store(), here.scope, here.stream.version, here.generation)
    return [replace(row, marked=now.get(row.turn, row.marked)) for row in rows]


@lru_cache(maxsize=200)
def _window(store: Store, scope: Scope, version: int, generation: int, turn: int) -> WindowView:
    return window_view.window(store, scope, turn or None)


@lru_cache(maxsize=50)
def _page(store: Store, scope: Scope, version: int, generation: int, turn: int, number: int) -> PageView:
    return window_view.page(store, scope, number, turn or None)


@lru_cache(maxsize=100)
def _trace(store: Store, scope: Scope, version: int, generation: int, turn: int, round_: int | None) -> TurnView:
    return turn_view.turn(store, scope, turn, round_)


@lru_cache(maxsize=20)
def _marks(store: Store, scope: Scope, version: int, generation: int) -> dict[int, bool]:
    """Turns that were ever marked by somebody: whether they are now."""
    marks: dict[int, bool] = {}
    for event in store.events(scope, upto=version, kinds=(TurnMarked.__name__,)):
        if isinstance(event.body, TurnMarked):
            marks[event.body.turn] = event.body.important
    return marks


def warm() -> None:
    """Load what pages need, what the first one does before all, while its scripts are on their way to the browser.

    Then what is in memory is there to stay, and the collector looks less often for cycles among what comes: a page
    reads tens of thousands of frozen values and a replay millions, with none. Looking took a fourth of a page's time.
    """
    for part in iter_modules(components.__path__, "workbench.components."):
        import_module(part.name)
    with suppress(EngineError):  # the page will tell it
        store = open_store()
        rows = _conversations(store, store.last_seq(), store.generation())
        if rows:
            stream = store.require(rows[0].scope)
            _window(store, stream.scope, stream.version, store.generation(), stream.turns)
    zipf("word")  # reads its list of words, and the next one its tokens
    count("word")
    import_module("pyvis.network")
    gc.freeze()
    gc.set_threshold(*SELDOM)


def ahead(here: Place, view: WindowView | TurnView) -> None:
    """Compute the neighbouring steps' views while the reader looks at this one: the next key finds them ready."""
    threading.Thread(target=_look_ahead, args=(here, isinstance(view, WindowView)), daemon=True).start()


def _look_ahead(here: Place, is_window: bool) -> None:
    for turn in (here.at - 1, here.at + 1):
        if 1 <= turn <= here.stream.turns:
            with suppress(EngineError):
                there = replace(here, turn=turn)
                window(there) if is_window else trace(there)


def forget() -> None:
    """Drop everything that is kept, stores too."""
    for kept in (_open, _conversations, _window, _page, _trace, _asked, _marks, _difference, _view, _review,
                 _why, _tried, _earlier, _overview, _user, _course, _seek, _settings_of):  # fmt: skip
        kept.cache_clear()
    _COMING.forget()
    _COUNTED.clear()


# ── what cannot be shown ──────────────────────────────────────────────────────────────────────────────


@contextmanager
def told() -> Iterator[None]:
    """An error of ours becomes a panel that says what to do; anything else is a fault and stays one."""
    try:
        yield
    except EngineError as error:
        from workbench.components.notice import trouble

        trouble(error, words())
