"""What somebody does on the review page: correct, mark, forget, erase, undo, settle, pause.

Each act asks anew who is looking (`state.allow`): a link may have ended since the page was drawn, and what a browser
sends is no proof of anything. What came of it is kept for the next run to tell, in words that need no explanation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from memory.errors import BadMessage, EngineError
from workbench import state
from workbench.words import Words

if TYPE_CHECKING:
    from memory.knowledge import Change
    from memory.longterm import LongTerm
    from memory.stores.erase import ErasePreview

TOLD, ASKED, ERASED = "_review_told", "_review_erase", "_review_erased"  # of the session
WIDER = "_review_wider"  # of the session: the erase that was asked for, with all else that says the same
LONGEST = 1_000  # characters of a correction
NORMAL = 0.5  # importance


@dataclass(frozen=True, slots=True)
class Told:
    """What came of the last act."""

    text: str
    change: int = 0  # that can be undone, 0: none
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Erased:
    entries: int
    turns: int
    before: int  # places in which it stood
    left: int  # in which it still does


@dataclass(frozen=True, slots=True)
class Acts:
    """On what is remembered about `user`, as it was at `version`."""

    user: str
    version: int
    say: Words

    def fired(self, key: str) -> Callable[[], None]:
        """A callback of the component with this key."""

        def act() -> None:
            value = (st.session_state.get(key) or {}).get("act")
            if isinstance(value, Mapping):
                self.do(value)

        return act

    def do(self, asked: Mapping[str, Any]) -> None:
        """What the browser says was clicked; whatever it says, only this user's own entries are touched."""
        act, key, value = asked.get("do"), asked.get("key"), asked.get("value")
        if type(key) is not int:
            return
        match act:
            case "mark":
                important = bool(asked.get("important"))
                self._try("mark" if important else "unmark",
                          lambda: self._memory(key).mark(key, 1.0 if important else NORMAL))  # fmt: skip
            case "correct" if isinstance(value, str):
                self._try("correct", lambda: self._correct(key, value, until_now=bool(asked.get("until_now"))))
            case "forget":
                self._try("forget", lambda: self._memory(key).forget(key, seen=self.version))
            case "release":
                self._try("release", lambda: self._memory(key).release(key, seen=self.version))
            case "undo":
                self.undo(key)
            case "erase":
                self.ask_to_erase(fact=key)

    def _correct(self, fact: int, value: str, *, until_now: bool) -> Change:
        if len(value) > LONGEST:
            raise BadMessage(f"a correction has at most {LONGEST} characters, not {len(value)}")
        memory = self._memory(fact)
        return memory.update(fact, value, since=memory.clock() if until_now else None, seen=self.version)

    def undo(self, change: int) -> None:
        self._try("undo", lambda: self._memory().undo(change), once=True)

    def settle(self, conflict: int, winner: int) -> None:
        self._try("settle", lambda: self._memory().settle(conflict, winner))

    def switch(self, *, on: bool) -> None:
        def switched() -> None:
            self._memory().switch(on=on)

        self._try("resume" if on else "pause", switched)

    def _memory(self, fact: int = 0) -> LongTerm:
        """With the conversation of a fact that only one may read, for it is theirs all the same."""
        from memory.longterm import LongTerm

        store = state.open_store()
        found = store.knowledge(state.allow(self.user)).facts.get(fact)
        return LongTerm(store, self.user, found.conversation if found else "", clock=store.clock)

    def _try(self, name: str, act: Callable[[], Change | None], *, once: bool = False) -> None:
        st.session_state.pop(ERASED, None)
        try:
            change = act()
        except EngineError as error:
            st.session_state[TOLD] = self._failed(error)
            return
        st.session_state[TOLD] = Told(self.say(f"review.done.{name}"), change.number if change and not once else 0)

    def _failed(self, error: EngineError) -> Told:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        name = next((kind for kind in kinds if kind in FAILURES), "other")
        return Told(self.say(f"review.failed.{name}"), failed=True)

    # ── erasing ───────────────────────────────────────────────────────────────────────────────────────

    def ask_to_erase(self, *, fact: int = 0, words: str = "") -> None:
        """Look what would go; the page shows it and asks."""
        from memory.stores.erase import erase

        st.session_state.pop(TOLD, None)
        st.session_state.pop(ERASED, None)
        topics, facts = ([words] if words else []), ([fact] if fact else [])
        try:
            preview = erase(state.open_store(), state.allow(self.user), *topics, facts=facts)
            wider = preview.wider()
        except EngineError as error:
            st.session_state[TOLD] = self._failed(error)
            return
        st.session_state[ASKED], st.session_state[WIDER] = preview, wider

    def erase(self, preview: ErasePreview) -> None:
        """Take it out for good, and look through everything of this user's before and after."""
        from memory.stores.scan import scan

        leave()
        try:
            state.allow(preview.user)
            before = scan(preview.store, preview.user, preview.topic)
            erased = preview.carry_out(by=preview.user)
            after = scan(preview.store, preview.user, preview.topic)
        except EngineError as error:
            st.session_state[TOLD] = self._failed(error)
            return
        found = sum(before.rows.values()) + before.vectors
        left = sum(after.rows.values()) + sum(after.unexplained.values()) + after.vectors
        st.session_state[ERASED] = Erased(len(erased.facts), len(preview.turns), found, left)


FAILURES = frozenset({"StaleFact", "UndoRefused", "ConversationBusy", "NotFound", "BadMessage", "StoreReadOnly"})


def asked_to_erase(user: str) -> ErasePreview | None:
    """What was asked to be erased and is not decided yet; of another user, nothing."""
    preview: ErasePreview | None = st.session_state.get(ASKED)
    return preview if preview is not None and preview.user == user else None


def wider_than(preview: ErasePreview) -> ErasePreview | None:
    """The same erase with all else that says the same, if there is more of it."""
    wider: ErasePreview | None = st.session_state.get(WIDER)
    return wider if wider is not None and wider.user == preview.user and wider.token != preview.token else None


def widen(wider: ErasePreview) -> None:
    """Ask about this one instead."""
    st.session_state[ASKED] = wider
    st.session_state.pop(WIDER, None)


def leave() -> None:
    """Erase nothing after all."""
    for name in (ASKED, WIDER):
        st.session_state.pop(name, None)


def understood() -> None:
    """Tell no more what the last act did."""
    for name in (TOLD, ERASED):
        st.session_state.pop(name, None)
