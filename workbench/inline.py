"""The workbench in a notebook: `%load_ext workbench`, then `%memory` and `%%turn`.

The magics parse and delegate; what they return shows itself, and nothing is shown unasked. A mistake in the line
is a UsageError, not a traceback.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from memory.confusion import Confusion
from memory.engine import Engine, Reply
from memory.errors import EngineError
from memory.scope import Scope
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors
from workbench.views import bookmarks as bookmarks_view
from workbench.views import facts as facts_view
from workbench.views import graph as graph_view
from workbench.views import lanes as lanes_view
from workbench.views import retrieval as retrieval_view
from workbench.views import turn as turn_view
from workbench.views import window as window_view
from workbench.views.bookmarks import BookmarksView
from workbench.views.facts import ConflictView, FactsView, FactView
from workbench.views.graph import Drawing
from workbench.views.lanes import LanesView
from workbench.views.retrieval import RetrievalView
from workbench.views.turn import TurnView
from workbench.views.window import PageView, WindowView

if TYPE_CHECKING:
    from memory.stores.erase import ErasePreview

Place = Engine | tuple[Store, Scope]


def _place(where: Place) -> tuple[Store, Scope]:
    return (where.store, where.scope) if isinstance(where, Engine) else where


def window(where: Place, turn: int | None = None) -> WindowView:
    """The window of an engine, or of a (store, scope), at any turn."""
    return window_view.window(*_place(where), turn)


def turn(where: Place, number: int, round_: int | None = None) -> TurnView:
    """The full trace of the step that holds this turn."""
    return turn_view.turn(*_place(where), number, round_)


def page(where: Place, number: int, at_turn: int | None = None) -> PageView:
    """One page: its words, and when and why it came and left."""
    return window_view.page(*_place(where), number, at_turn)


def bookmarks(where: Place, at_turn: int | None = None) -> BookmarksView:
    """The bookmarks as a cloud: what came of each, who made it, what the model reads of it."""
    return bookmarks_view.bookmarks(*_place(where), at_turn)


def confusion(where: Place, at_turn: int | None = None) -> Confusion:
    """Which bookmarks are confused with each other, predicted from the pages' own sentences."""
    return bookmarks_view.confused(*_place(where), at_turn)


def ask(where: Place, question: str, at_turn: int = 0) -> RetrievalView:
    """Which page would answer, among all as of a turn (0: now): each score, and why the others would not come."""
    store, scope = _place(where)
    return retrieval_view.ask(store, scope, question, turn=at_turn, vectors=StoredVectors(store))


def facts(where: Place, **wanted: Any) -> FactsView:
    """What is remembered about the user: layer=, state=, tag=, valid=, recorded= as in views/facts.py."""
    store, scope = _place(where)
    return facts_view.facts(store, scope.user, **{"conversation": scope.conversation, **wanted})


def fact(where: Place, number: int) -> FactView:
    """One fact whole: where it was said, what was believed when, who changed it, which prompts held it."""
    store, scope = _place(where)
    return facts_view.fact(store, scope.user, number, conversation=scope.conversation)


def lanes(where: Place, **wanted: Any) -> LanesView:
    """Facts over time: layer=, state=, words=, and as of a moment, valid=, recorded=, as in views/lanes.py."""
    store, scope = _place(where)
    return lanes_view.lanes(store, scope, lanes_view.Asked(**wanted))


def conflicts(where: Place) -> tuple[ConflictView, ...]:
    """What is undecided about the user, each with its sides and their words."""
    store, scope = _place(where)
    return facts_view.conflicts(store, scope.user)


def graph(where: Place, **wanted: Any) -> Drawing:
    """What is remembered as a graph, with the run's pages: kinds=, find=, centre=, depth= as in views/graph.py."""
    store, scope = _place(where)
    return graph_view.draw(graph_view.graph(store, scope), **wanted)


def erase(where: Place, *topics: str, facts: Sequence[int] = ()) -> ErasePreview:
    """What would go if the user's words about these topics were erased; `.carry_out()` does it, without undo."""
    from memory.stores.erase import erase as previewed

    store, scope = _place(where)
    return previewed(store, scope.user, *topics, facts=facts)


USAGE = """\
%memory                 the window now
%memory window 40       the window at turn 40
%memory turn 12         the step of turn 12, whole
%memory page 3          page p3, with when and why it came and left
%memory bookmarks       the cloud of bookmarks, and what came of each
%memory ask "…"         which page would answer, with every score and why the others would not come
%memory facts           what is remembered about the user; `%memory fact f3` one of them whole
%memory recall p3 …     bring pages back by hand
%memory why "…"         why the model did not have these words, and what would bring them back
%memory bisect "…"      the turn at which they entered the prompts, and the one at which they left
%memory sql select …    a DataFrame from the log; `%memory views` says what may be asked
%%turn                  say the cell's words, get the reply"""


@magics_class
class WorkbenchMagics(Magics):
    """They work on the engine that the notebook calls `engine`."""

    @property
    def engine(self) -> Engine:
        found = self.shell.user_ns.get("engine") if self.shell else None
        if not isinstance(found, Engine):
            raise UsageError(
                "these magics work on a variable named engine: "
                'engine = Engine.open("store", user="ana", conversation="trip")'
            )
        return found

    @line_magic
    def memory(self, line: str) -> Any:
        """Look at the engine's memory; `%memory help` lists what can be asked."""
        verb, _, rest = line.strip().partition(" ")
        try:
            return self._look(verb or "window", rest.strip())
        except (EngineError, ValueError) as error:
            raise UsageError(str(error)) from error

    def _look(self, verb: str, rest: str) -> Any:
        if verb == "help":
            print(USAGE)  # noqa: T201 - help is for reading
            return None
        if verb in ("window", "bookmarks"):
            at_turn = _number(rest, "turn") if rest else None
            return window(self.engine, at_turn) if verb == "window" else bookmarks(self.engine, at_turn)
        if verb == "turn":
            return turn(self.engine, _number(rest, "turn"))
        if verb == "page":
            return page(self.engine, _number(rest.removeprefix("p"), "page"))
        if verb == "ask":
            return ask(self.engine, rest.strip().strip("\"'"))
        if verb == "why":
            return self.engine.why(rest.strip().strip("\"'"))
        if verb == "bisect":
            return self.engine.bisect(rest.strip().strip("\"'"))
        if verb == "facts":
            return facts(self.engine)
        if verb == "fact":
            return fact(self.engine, _number(rest.removeprefix("f"), "fact"))
        if verb == "recall":
            self.engine.recall(*shlex.split(rest))
            return self.engine.window
        if verb in ("sql", "views"):
            return _sql(self.engine.store, rest) if verb == "sql" else _views()
        raise UsageError(f"%memory has no {verb!r}\n{USAGE}")

    @cell_magic
    def turn(self, line: str, cell: str) -> Reply:
        """Say the cell's words; the reply shows its pages, tokens and cost."""
        try:
            return self.engine.say(cell.strip())
        except EngineError as error:
            raise UsageError(f"{type(error).__name__}: {error}") from error


def _number(text: str, what: str) -> int:
    if not text.isdigit():
        raise UsageError(f"which {what}? a number, not {text!r}")
    return int(text)


def _sql(store: Store, query: str) -> Any:
    from memory.stores.log import Log

    return Log(store).query(query).to_df()


def _views() -> Any:
    import pandas as pd

    from memory.stores.log import VIEWS

    rows = [(view, column, meaning) for view, columns in VIEWS.items() for column, meaning in columns.items()]
    return pd.DataFrame(rows, columns=["view", "column", "meaning"])
