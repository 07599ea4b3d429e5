"""`%%conversation name key=value`: what a cell says to models through LiteLLM becomes a conversation, and is shown.

Not here: how calls become conversations (sessions/recorded.py), the magic's name and its help (inline.py).
"""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

from memory import look, show
from memory.engine import resolved
from memory.errors import BadSetting
from memory.scope import LIVE, Scope
from memory.settings import Settings
from memory.show import Shown
from memory.stores.sql import Store, main_of
from sessions.recorded import recorder
from workbench.assigned import assigned
from workbench.views.window import WindowView, window

NAMED = ("store", "user", "title")
SWITCHES = {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}
SWITCHED = ("remember", "replay")
WORDS = 160  # characters of a message
AWAITS = (
    "a cell that awaits cannot be recorded by a magic: append workbench.recorder(store, conversation=…) to "
    "litellm.callbacks in a cell before it"
)


@dataclass(frozen=True)
class RecordedCell(Shown):
    """What became of a cell's calls: each conversation as it stands now, its end and its window."""

    summary: str
    trouble: tuple[str, ...]
    store: Path
    windows: tuple[WindowView, ...]  # of the replay that shows what paging would have done; of the recording without

    def __repr__(self) -> str:
        return f"<Recorded: {'; '.join([self.summary, *(f'{w.scope}, {w.turns} turns' for w in self.windows)])}>"

    def _html(self) -> str:
        told = show.rows("Recorded", {"of this cell": self.summary})
        return told + show.table(("what went wrong",), [(t,) for t in self.trouble]) + "".join(map(_seen, self.windows))

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "store": str(self.store)}


def record(shell: Any, line: str, cell: str, where: tuple[Store, Scope] | None) -> RecordedCell:
    """Run the cell while LiteLLM tells of its calls, which go into the store and to the user of `where`.

    Without it they go into the default store, as an app's; `store=` and `user=` say otherwise. Raises UsageError where
    the cell fails, after its traceback and with what was recorded until then; EngineError for what the line asks.
    """
    name, wanted = asked(line)
    if shell.should_run_async(cell, transformed_cell=shell.transform_cell(cell)):
        raise UsageError(AWAITS)
    with ExitStack() as stack:
        if where is not None and "store" not in wanted:
            store, wanted = where[0], {"user": where[1].user, **wanted}
        else:
            store = stack.enter_context(Store.open(wanted.get("store")))
        made = recorder(store, conversation=name, **{key: value for key, value in wanted.items() if key != "store"})
        with made:
            ran = shell.run_cell(cell)
        status = replace(made.status, installed=True)  # that it hears no more now is meant
        found = RecordedCell(
            status.summary, status.trouble, store.path, tuple(_window(store, scope) for scope in made.scopes)
        )
    error = ran.error_before_exec or ran.error_in_exec
    if error is not None:
        raise UsageError(f"the cell ended with {type(error).__name__}; until then: {found.summary}")
    return found


def asked(line: str) -> tuple[str, dict[str, Any]]:
    """
    >>> asked('"My trip" user=ana replay=off window_tokens=2000')
    ('My trip', {'user': 'ana', 'replay': False, 'window_tokens': 2000.0})
    """
    name, *pairs = shlex.split(line) or [""]
    if not name or "=" in name:
        raise BadSetting("which conversation? %%conversation trip user=ana window_tokens=2000")
    given = dict(pair.split("=", 1) for pair in pairs if pair.split("=", 1)[0] in (*NAMED, *SWITCHED) and "=" in pair)
    changes = assigned(pair for pair in pairs if pair.split("=", 1)[0] not in given)
    resolved(Settings().but(**changes))  # what is wrong is told before anything is run
    named: dict[str, Any] = {key: _switch(key, value) if key in SWITCHED else value for key, value in given.items()}
    return name, named | changes


def _switch(key: str, value: str) -> bool:
    if value.lower() not in SWITCHES:
        raise BadSetting(f"{key} is on or off here, not {value!r}")
    return SWITCHES[value.lower()]


def _window(store: Store, recording: Scope) -> WindowView:
    """Of the newest replay, else of the recording; a live run of the same name is another talk."""
    runs = [s for s in store.streams(recording.user, recording.conversation) if s.scope.run != LIVE]
    return window(store, main_of(runs).scope)


def _seen(view: WindowView) -> str:
    """The end of what was said, and the window; a recording alone has none."""
    said = [[row.turn, row.speaker or row.role, show.small(row.text, WORDS)] for row in view.chat]
    head = f"<b>{show.text(view.scope.conversation)}</b> · {view.turns} turns"
    newest = look.window_html(view.title, f"{view.turn} of {view.turns}", view) if view.budget else head
    return f"<div style='margin-top:.8rem'>{show.table(('turn', 'who', 'said'), said)}{newest}</div>"
