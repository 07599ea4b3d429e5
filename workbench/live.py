"""What moves: following a store that others write to, saying a message, marking one, recalling a page by hand.

A message is said in a thread of its own: the reader may walk on, or close the tab, and the step still ends well.
The model part of the engine takes seconds to load: that happens in the background as soon as there is a box to say
something in, and the page has been drawn.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import streamlit as st

from memory import errors
from memory.errors import EngineError
from memory.events import PagesRecalled
from memory.models.offline import OFFLINE
from memory.scope import LIVE, Scope
from memory.stores.sql import Store
from workbench import state
from workbench.components import notice
from workbench.components.chat import chat, waiting
from workbench.components.follow import follow
from workbench.components.heading import Badge
from workbench.state import Place
from workbench.views.turn import TurnView
from workbench.views.window import WindowView
from workbench.words import Words, escaped, visible

if TYPE_CHECKING:
    from sessions.replayed import Replayed

WINDOW = "window"  # the fragment that follows
LOOK_S = 1.0  # without a push: how often the last seq is compared
TYPE_S = 0.5  # how often a reply under way is drawn
PAINT_S = 2.0  # after a page was sent: the browser has drawn it, and asked for what else it needs


# ── a page ────────────────────────────────────────────────────────────────────────────────────────────

Draw = Callable[[Place, Words], None]


def page(
    *, turns: bool = False, nothing: Callable[[Words], None] = notice.empty
) -> Callable[[Draw], Callable[[], None]]:
    """Makes a page of what it draws at a place: a fragment that follows the store, and tells an error of ours.

    `nothing` is drawn where the store holds no conversation; with `turns`, a run without any is told apart.
    """

    def made(draw: Draw) -> Callable[[], None]:
        @st.fragment(key=WINDOW)
        def drawn() -> None:
            say = state.words()
            begin()
            with state.told():
                here = state.place()
                if not state.is_listed(here):
                    st.rerun()
                if here is None:
                    nothing(say)
                    followed(here)
                elif turns and not here.stream.turns:
                    notice.quiet(say("trace.none"), say("trace.none.says"))
                else:
                    draw(here, say)
                    followed(here)

        return drawn

    return made


# ── what is new ───────────────────────────────────────────────────────────────────────────────────────


def followed(here: Place | None) -> None:
    """Draw the window's fragment again when its conversation moved on; nothing runs until then.

    A run that is new in the store may be the one to show now: the sidebar, which lists it, is drawn again too.
    """
    shown = here.shown if here else {}
    if os.environ.get(state.PUSH_VARIABLE):
        follow(shown, state.known_to_all(here))
    else:
        _look(shown, state.known_to_all(here))


@st.fragment(run_every=LOOK_S)
def _look(shown: dict[int, int], newest: int) -> None:
    """For a plain `streamlit run`, which has no route to push on."""
    streams = state.open_store().streams(own=True)
    if any(s.id > newest or s.version != shown.get(s.id, s.version) for s in streams):
        st.rerun()


# ── saying ────────────────────────────────────────────────────────────────────────────────────────────


CUT = "the step ended unexpectedly; see the server's output"


@dataclass(slots=True)
class Utterance:
    """A message under way, and what came of it."""

    text: str
    before: int  # version of the stream when it was said
    reply: str = ""
    done: bool = False
    # What stands here until the step ended well: a fault of ours prints itself where the server runs.
    error: EngineError | None = field(default_factory=lambda: EngineError(CUT))

    def hear(self, piece: str) -> None:
        self.reply += piece


_UNDER_WAY: dict[tuple[str, str, str], Utterance] = {}  # and what ended, until somebody looks at it
MOST_ENDED = 100


def _key(store: Store, user: str, conversation: str) -> tuple[str, str, str]:
    return str(store.path), user, conversation


def utterance(user: str, conversation: str) -> Utterance | None:
    return _UNDER_WAY.get(_key(state.open_store(), user, conversation))


def say_aloud(text: str, user: str, conversation: str) -> None:
    """Begin a step in a thread of its own; a second message waits for the first one's end."""
    store = state.open_store()
    now = utterance(user, conversation)
    if now is not None and not now.done:
        return
    stream = store.stream(Scope(user, conversation, LIVE))
    said = Utterance(text, stream.version if stream else 0)
    for old in [key for key, each in [*_UNDER_WAY.items()] if each.done][:-MOST_ENDED]:
        _UNDER_WAY.pop(old, None)
    _UNDER_WAY[_key(store, user, conversation)] = said
    threading.Thread(target=_speak, args=(said, store, user, conversation), name="workbench-step", daemon=True).start()


def _speak(said: Utterance, store: Store, user: str, conversation: str) -> None:
    from memory.engine import Engine

    try:
        Engine.open(store, user=user, conversation=conversation, run=LIVE).say(said.text, on_text=said.hear)
        said.error = None
    except EngineError as error:
        said.error = error
    finally:
        said.done = True


def reply_under_way(here: Place, say: Words, view: WindowView) -> None:
    """The reply as it comes, or why none came; nothing when all is said."""
    said = utterance(here.row.user, here.row.conversation)
    if said is None:
        return
    if not said.done:
        is_received = bool(view.chat) and view.version > said.before and view.chat[-1].text == said.text
        st.fragment(_reply, run_every=TYPE_S)(said, say, is_received)
    elif said.error is not None:
        _no_reply(said.error, here, say)
    else:
        _forget(here.row.user, here.row.conversation)


def _reply(said: Utterance, say: Words, is_received: bool) -> None:
    if said.done:  # and the push that draws the whole has not come, or nothing was written that it could tell
        st.rerun()
    doing = say("chat.writing" if said.reply else "chat.thinking")
    waiting("" if is_received else said.text, said.reply, doing, say)


def _no_reply(error: EngineError, here: Place, say: Words) -> None:
    was_lost = isinstance(error, errors.ConversationBusy | errors.BadMessage)
    with st.container(border=True, key="no_reply"):
        st.markdown(f"**:material/error: {say('chat.failed')}** · {say('chat.lost' if was_lost else 'chat.kept')}")
        st.text(visible(str(error), 1_000))
        st.caption(say(f"chat.advice.{advice(error)}"))
        st.button(say("chat.dismiss"), key="dismiss", on_click=_forget, args=(here.row.user, here.row.conversation))


def _forget(user: str, conversation: str) -> None:
    _UNDER_WAY.pop(_key(state.open_store(), user, conversation), None)


ADVICE: tuple[tuple[type[EngineError] | tuple[type[EngineError], ...], str], ...] = (
    ((errors.ModelRefused, errors.UnknownModel), "key"),
    (errors.ModelUnreachable, "reach"),
    (errors.ModelQuota, "quota"),
    ((errors.ModelOverloaded, errors.ModelTimeout), "wait"),
    (errors.ConversationBusy, "busy"),
    ((errors.BudgetTooSmall, errors.ContextOverflow), "small"),
)


def advice(error: EngineError) -> str:
    return next((name for kind, name in ADVICE if isinstance(error, kind)), "again")


@cache
def load_model(with_litellm: bool) -> threading.Thread:
    """Once a process: load what says a message, while the reader reads; the embedded responder needs no LiteLLM."""
    # No daemon: one that is cut in the middle of an import when Python ends keeps the lock, and the end waits for ever.
    # Said aloud, for a thread inherits it from the one that makes it, and the script's may be one.
    thread = threading.Thread(target=_load, args=(with_litellm,), name="workbench-load", daemon=False)
    thread.start()
    return thread


def _load(with_litellm: bool) -> None:
    end = time.monotonic() + PAINT_S
    while time.monotonic() < end and threading.main_thread().is_alive():
        time.sleep(0.05)
    guard = _UntilTheEnd(threading.current_thread())
    sys.meta_path.insert(0, guard)
    try:
        import_module("memory.engine")
        if with_litellm:
            from memory.models.chat import load

            load()
    finally:
        sys.meta_path.remove(guard)


@dataclass(frozen=True, slots=True, eq=False)
class _UntilTheEnd:
    """A finder that finds nothing: it ends its thread, between two modules, when Python waits for that to end."""

    thread: threading.Thread

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if threading.current_thread() is self.thread and not threading.main_thread().is_alive():
            raise SystemExit


def box(here: Place | None, say: Words) -> None:
    """Say something, to the live run, which goes on from whatever run is shown."""
    if state.open_store().readonly:
        return
    if os.environ.get(state.PUSH_VARIABLE):  # our own server: it runs for long, and its process is ours to fill
        load_model(here is not None and state.settings_now(here)["llm"] != OFFLINE)
    user, conversation = (here.row.user, here.row.conversation) if here else FIRST
    now = utterance(user, conversation)
    text = st.chat_input(_placeholder(here, say), key="say", disabled=now is not None and not now.done)
    if text:
        say_aloud(text, user, conversation)
        state.go(user=user, conv=conversation, run=None, turn=None)
        st.rerun()
    if here is None and now is not None:
        st.fragment(_begun, run_every=TYPE_S)(now, user, conversation)


FIRST = ("me", "first-conversation")  # what an empty store begins with


def _begun(said: Utterance, user: str, conversation: str) -> None:
    """In an empty store: until the first message is in it."""
    if said.done or state.open_store().stream(Scope(user, conversation, LIVE)):
        st.rerun()


def _placeholder(here: Place | None, say: Words) -> str:
    if here is None:
        return say("empty.begin")
    if here.scope.run != LIVE:
        return say("live.ask.replay")
    return say("live.ask", llm=state.window(here).llm)


def transcript(view: WindowView | TurnView, here: Place, say: Words) -> None:
    """A run without decisions: its words, and where to find some."""
    st.info(say("no_decisions"), icon=":material/info:")
    with st.container(border=True):
        chat(view.chat if isinstance(view, WindowView) else view.messages, say, at_end=False)
    box(here, say)


# ── the head ──────────────────────────────────────────────────────────────────────────────────────────


def badges(view: WindowView, here: Place, say: Words) -> list[Badge]:
    found = [
        Badge(say("live.newest"), "check", say("live.newest.says"))
        if here.is_newest
        else Badge(say("live.past"), "turn", say("live.past.says"))
    ]
    if view.running:
        found.append(Badge(say("live.running"), "recall"))
    if view.failed:
        found.append(Badge(say("live.failed", why=say.reason(view.failed)), "error", view.failed))
    return [*found, Badge(view.llm, "model", say("live.llm"))]


# ── acts ──────────────────────────────────────────────────────────────────────────────────────────────


Fired = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Acts:
    """What a reader can do on a page, as callbacks of its parts."""

    here: Place
    say: Words

    @property
    def may_write(self) -> bool:
        return self.here.has_decisions and not state.open_store().readonly

    @property
    def may_recall(self) -> bool:
        return self.may_write and self.here.is_newest

    def walk(self, key: str) -> Fired:
        return on(key, "turn", lambda turn: state.go(turn=None if turn >= self.here.stream.turns else turn))

    def read(self, key: str) -> Fired:
        return on(key, "page", lambda page: state.go(page=None if page == self.here.page else page))

    def close(self) -> None:
        state.go(page=None)

    def mark(self, key: str) -> Fired | None:
        if not self.may_write:
            return None
        return on(key, "mark", lambda fired: mark(self.here, fired["turn"], fired["important"], self.say))

    def recall(self, key: str) -> Fired:
        return on(key, "recall", lambda name: recall(self.here, name, self.say))


def on(key: str, name: str, act: Callable[[Any], None]) -> Fired:
    """A component's callback: `act` with what it fired, if it fired this."""

    def fired() -> None:
        value = (st.session_state.get(key) or {}).get(name)
        if value is not None:
            act(value)

    return fired


def mark(here: Place, turn: int, important: bool, say: Words) -> None:
    from memory.engine import Engine

    scope = here.scope
    with _toasted(say):
        Engine.open(state.open_store(), user=scope.user, conversation=scope.conversation, run=scope.run).mark(
            turn, important
        )
        note(say("done.marked" if important else "done.unmarked", turn=turn), "star")


def rate(here: Place, turn: int, rating: int, say: Words) -> None:
    """What the reader thinks of a reply; 0 takes it back."""
    from memory.engine import Engine

    scope = here.scope
    with _toasted(say):
        Engine.open(state.open_store(), user=scope.user, conversation=scope.conversation, run=scope.run).rate(
            turn, rating
        )
        note(say("rate.done" if rating else "rate.undone", turn=turn), "thumbs_up_down")


def recall(here: Place, name: str, say: Words) -> None:
    from memory.engine import Engine

    scope = here.scope
    with _toasted(say):
        engine = Engine.open(state.open_store(), user=scope.user, conversation=scope.conversation, run=scope.run)
        record = engine.recall(name)
        words = engine.pager.journal.words
        note(_told(record, say, [words(part.text) for part in record.opened]), "history")


def bookmark(here: Place, page: int, keywords: Sequence[str] | None, weight: float | None, say: Words) -> None:
    """What a page is remembered by from the next prompt on; None stays."""
    from memory.engine import Engine

    scope = here.scope
    with _toasted(say):
        engine = Engine.open(state.open_store(), user=scope.user, conversation=scope.conversation, run=scope.run)
        mark = engine.bookmark(page, keywords, weight=weight)
        note(say("done.bookmark", stub=engine.pager.journal.words(mark.stub)), "bookmark")


def undo_bookmark(here: Place, page: int, say: Words) -> None:
    from memory.engine import Engine

    scope = here.scope
    with _toasted(say):
        engine = Engine.open(state.open_store(), user=scope.user, conversation=scope.conversation, run=scope.run)
        mark = engine.undo_bookmark(page)
        note(say("done.bookmark_undone", stub=engine.pager.journal.words(mark.stub)), "undo")


def change(here: Place, settings: dict[str, Any], say: Words) -> None:
    """Other settings for the conversation's live run, from its next step on."""
    from memory.engine import Engine

    with _toasted(say):
        Engine.open(state.open_store(), user=here.scope.user, conversation=here.scope.conversation).change(**settings)
        told = ", ".join(f"{name}={value}" for name, value in settings.items())
        note(say("done.changed", settings=told), "tune")
    state.go(run=here.scope.run)  # a live run may have begun: the reader stays with this one


def may_keep() -> bool:
    return not state.open_store().readonly


def keep_replay(here: Place, played: Replayed, say: Words) -> None:
    """Write a replay down as a run of its own; the run that it was made of stays as it is."""
    from sessions.replay import save

    with _toasted(say):
        kept = save(state.open_store(), here.scope, played.replay)
        note(say("replay.kept", run=kept.run), "save")
        state.go(run=here.scope.run)  # the newest replay is shown unasked, and would be compared with itself


def delete_run(here: Place, run: str, say: Words) -> None:
    with _toasted(say):
        removed = state.open_store().delete_run(here.scope.at(run))
        note(say("replay.deleted", run=run, events=removed), "delete")
        if run == here.scope.run:
            state.go(run=None, turn=None)


def _told(record: PagesRecalled, say: Words, opened: list[str]) -> str:
    if record.came:
        return say("done.recalled", pages=", ".join(f"p{n}" for n in record.came))
    if opened:
        return say("done.opened", ranges=visible(" ".join(opened), 300))
    if record.resident:
        return say("done.resident", pages=", ".join(f"p{n}" for n in record.resident))
    return say("done.refused", reason="; ".join(say.reason(r.reason) for r in record.refused) or "—")


NOTES = "_notes"  # session: what acts have to tell; a callback of a fragment may not draw


def note(text: str, icon: str) -> None:
    """What an act has to tell, shown when the page is drawn next."""
    st.session_state.setdefault(NOTES, []).append((escaped(text), f":material/{icon}:"))


def begin() -> None:
    """First thing in a page's fragment: go where the last acts lead, and tell what they did."""
    state.led()
    for text, icon in st.session_state.pop(NOTES, []):
        st.toast(text, icon=icon)


@contextmanager
def _toasted(say: Words) -> Iterator[None]:
    """An act that fails says so, and the page stays as it is."""
    try:
        yield
    except EngineError as error:
        note(f"{say('error.other')}: {visible(str(error), 300)}", "error")
