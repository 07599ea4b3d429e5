"""What a reader decides about facts: done in long-term memory, told when the page is drawn anew, its undo at hand.

Who decides names what they had looked at: a fact that was changed meanwhile is not changed again unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import streamlit as st

from memory.errors import EngineError
from memory.knowledge import Change
from memory.longterm import LongTerm
from workbench import state
from workbench.state import Place
from workbench.words import Words, escaped, visible

DONE = "_decided"  # session: what the last act came to


@dataclass(frozen=True, slots=True)
class Decided:
    text: str
    user: str
    change: int = 0  # that can be undone, 0: none
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Decisions:
    """Acts on what is remembered about the user of this place, each a callback."""

    here: Place
    say: Words

    @property
    def may(self) -> bool:
        return not state.open_store().readonly

    def correct(self, fact: int, value: str, since: datetime | None, seen: int) -> None:
        if value.strip():
            self._do("correct", lambda m: m.update(fact, value, since=since, seen=seen), name=f"f{fact}")

    def retract(self, fact: int, seen: int) -> None:
        self._do("retract", lambda m: m.retract(fact, seen=seen), name=f"f{fact}")

    def end(self, fact: int, seen: int) -> None:
        self._do("end", lambda m: m.forget(fact, seen=seen), name=f"f{fact}")

    def believe(self, fact: int, seen: int) -> None:
        self._do("believe", lambda m: m.release(fact, seen=seen), name=f"f{fact}")

    def weigh(self, fact: int, importance: float) -> None:
        key = "important" if importance > 0.5 else "plain"
        self._do(key, lambda m: m.mark(fact, importance), name=f"f{fact}")

    def settle(self, conflict: int, winner: int) -> None:
        key = "settled" if winner else "kept_all"
        self._do(key, lambda m: m.settle(conflict, winner), conflict=conflict, name=f"f{winner}")

    def undo(self, change: int) -> None:
        self._do("undone", lambda m: m.undo(change), change=change)

    def _do(self, key: str, act: Callable[[LongTerm], Change], **values: Any) -> None:
        scope = self.here.scope
        try:
            memory = LongTerm.open(state.open_store(), user=state.allow(scope.user), conversation=scope.conversation)
            made = act(memory)
            decided = Decided(self.say(f"timeline.done.{key}", **values), scope.user, made.number)
        except EngineError as error:
            decided = Decided(
                f"{self.say('timeline.done.failed')} {self.say.reason(str(error))}", scope.user, failed=True
            )
        st.session_state[DONE] = decided

    def told(self) -> None:
        """What the last act did, until it is dismissed, and the way back."""
        found: Decided | None = st.session_state.get(DONE)
        if found is None or found.user != self.here.scope.user:
            return
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="decided"):
            icon = ":material/error:" if found.failed else ":material/check_circle:"
            st.markdown(f"{icon} {escaped(visible(found.text, 600))}", width="stretch")
            if found.change:
                st.button(
                    self.say("timeline.undo"), icon=":material/undo:", key="undo_last", on_click=self.undo,
                    args=(found.change,), type="tertiary",
                )  # fmt: skip
            st.button("✕", key="decided_close", help=self.say("timeline.close"), type="tertiary", on_click=_dismiss)


def _dismiss() -> None:
    st.session_state.pop(DONE, None)


def fired(key: str, name: str, act: Callable[[Any], None]) -> Callable[[], None]:
    """A component's callback: `act` with what it fired, if it fired this."""

    def callback() -> None:
        value = (st.session_state.get(key) or {}).get(name)
        if value is not None:
            act(value)

    return callback
