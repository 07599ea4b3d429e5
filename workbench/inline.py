"""The workbench in a notebook: `%load_ext workbench`, then `%memory`, `%%turn` and `%%conversation`.

The magics parse and delegate; what they return shows itself, and nothing is shown unasked. A mistake in the line
is a UsageError, not a traceback.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from memory.confusion import Confusion
from memory.engine import Engine, Reply
from memory.errors import EngineError
from memory.look import Window, bar_html
from memory.scope import Scope
from memory.show import Shown, many
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors
from workbench.views import bookmarks as bookmarks_view
from workbench.views import diff as diff_view
from workbench.views import evictions as evictions_view
from workbench.views import facts as facts_view
from workbench.views import graph as graph_view
from workbench.views import lanes as lanes_view
from workbench.views import retrieval as retrieval_view
from workbench.views import status as status_view
from workbench.views import turn as turn_view
from workbench.views import why as why_view
from workbench.views import window as window_view
from workbench.views.bookmarks import BookmarksView
from workbench.views.diff import DiffView
from workbench.views.evictions import EvictionsView
from workbench.views.facts import ConflictView, FactsView, FactView
from workbench.views.graph import Drawing
from workbench.views.lanes import LanesView
from workbench.views.retrieval import RetrievalView
from workbench.views.status import StatusView
from workbench.views.turn import TurnView
from workbench.views.why import WhyView
from workbench.views.window import PageView, WindowView

if TYPE_CHECKING:
    import pandas as pd

    from memory.diagnosis import Diagnosis
    from memory.reach import Bisection
    from memory.stores.erase import ErasePreview
    from sessions.counterfactual import WhatIf
    from sessions.effect import Effect
    from workbench.recorded_cell import RecordedCell
    from workbench.slider_widget import Sliders
    from workbench.tuner import Tuner
    from workbench.widget import LiveWindow

Place = Engine | tuple[Store, Scope]


def _place(where: Place) -> tuple[Store, Scope]:
    return (where.store, where.scope) if isinstance(where, Engine) else where


def window(where: Place, turn: int | None = None) -> WindowView:
    """The window of an engine, or of a (store, scope), at any turn."""
    return window_view.window(*_place(where), turn)


def live_window(
    where: Place, turn: int | None = None, *, live: bool = True, lang: str = "en"
) -> LiveWindow | WindowView:  # fmt: skip
    """The window as a widget with a turn scrubber; the view alone where there are no widgets.

    At the newest turn it moves on while the engine talks, in this kernel or another process; not with `live=False`.
    """
    try:
        from workbench.widget import LiveWindow as Widget
    except ImportError as error:
        _only_without_widgets(error)
        return window(where, turn)
    return Widget(*_place(where), turn, live=live, lang=lang)


def sliders(where: Place, *, lang: str = "en", **changes: Any) -> Sliders | Tuner:
    """Every setting as a slider, and what moving it would have done to the conversation so far; nothing is written.

    `.effect` is what the Tune page shows, `.changes` what is moved; `.apply()` keeps it, `.save("tuned.toml")` takes it
    along. Where there are no widgets, the same is moved by `.move(page_turns=20)`.
    """
    from workbench.tuner import Tuner as Tried

    store, scope = _place(where)
    tried = Tried(store, scope, where.change if isinstance(where, Engine) else None, **changes)
    try:
        from workbench.slider_widget import Sliders as Widget
    except ImportError as error:
        _only_without_widgets(error)
        return tried
    return Widget(tried, lang=lang)


def _only_without_widgets(error: ImportError) -> None:
    if not (error.name or "").startswith(("anywidget", "ipywidgets", "traitlets")):
        raise error


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


def tune(where: Place, **changes: Any) -> Effect:
    """What other settings would have done to the conversation so far: it is replayed, and nothing is written."""
    from workbench.tuner import Tuner as Tried

    return Tried(*_place(where)).move(**changes)


def what_if(where: Place, at_turn: int, *without: str, **changes: Any) -> WhatIf:
    """One turn's prompt with other settings, or without some facts (f3) and pages (p7)."""
    from sessions.counterfactual import what_if as built

    return built(*_place(where), at_turn, settings=changes, without=without)


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


def diff(where: Place, a: int, b: int) -> DiffView:
    """What changed between the prompts of two turns, by cause."""
    store, scope = _place(where)
    return diff_view.diff(store, scope, a, scope, b)


def evictions(where: Place, turn: int | None = None) -> EvictionsView:
    """What left up to a turn, by which score, and what each cost later."""
    return evictions_view.evictions(*_place(where), turn)


def why(where: Place, expected: str, question: str = "", turn: int | None = None) -> WhyView:
    """Why the model did not have these words, and the smallest change that would bring them back."""
    return why_view.why(*_place(where), expected, question, turn)


def diagnose(where: Place, symptom: str, turn: int | None = None, lang: str = "en") -> Diagnosis:
    """What may be the cause of a symptom, by ordered checks of the log; `lang`: en or zh."""
    from memory.diagnosis import diagnose as diagnosed
    from workbench.findings import worded
    from workbench.words import Words, language_of

    found = diagnosed(*_place(where), symptom, turn=turn)
    return worded(found, Words(language_of(lang))) if lang != "en" else found


def bisect(where: Place, expected: str) -> Bisection:
    """The turns at which these words entered and left the prompts, each with its cause."""
    from memory.reach import bisect as found

    return found(*_place(where), expected)


def status(where: Place) -> StatusView:
    """How the memory of a conversation stands now."""
    return status_view.status(*_place(where))


def sql(where: Place | Store, query: str) -> pd.DataFrame:
    """DuckDB over the documented views of a store's log; `%memory views` lists them. Raises BadQuery."""
    return (where if isinstance(where, Store) else _place(where)[0]).sql(query).to_df()


def views() -> pd.DataFrame:
    """The views that may be asked, with their columns."""
    import pandas as pd

    from memory.stores.log import VIEWS

    rows = [(view, column, meaning) for view, columns in VIEWS.items() for column, meaning in columns.items()]
    return pd.DataFrame(rows, columns=["view", "column", "meaning"])


# ── magics ────────────────────────────────────────────────────────────────────────────────────────────


USAGE = """\
%memory                 how the memory of the conversation stands
%memory window 40       the window at turn 40; the newest without a number
%memory turn 12         the step of turn 12, whole
%memory page 3          page p3, with when and why it came and left
%memory diff 11 12      what changed between the prompts of two turns, by cause
%memory evictions       what left, by which score, and what each cost later
%memory bookmarks       the cloud of bookmarks, and what came of each; `confusion` which are mistaken for each other
%memory ask "…"         which page would answer, with every score and why the others would not come
%memory facts           what is remembered about the user; `%memory fact f3` one of them whole; `conflicts`
%memory lanes           facts over time; `%memory graph` how they hang together
%memory tune page_turns=20 …    what other settings would have done, replayed; `sliders` to move them by hand
%memory recall p3 …     bring pages back by hand
%memory why "…"         why the model did not have these words, and what would bring them back
%memory bisect "…"      the turn at which they entered the prompts, and the one at which they left
%memory diagnose …      what may be the cause of a symptom, by ordered checks
%memory sql select …    a DataFrame from the log; `%memory views` says what may be asked
%memory open            the workbench in a frame: `wb = workbench.launch(engine)` keeps its handle
%%turn                  say the cell's words, get the reply, and the window after it
%%conversation trip …   what the cell says to models through LiteLLM becomes a conversation: user=ana replay=off …"""


def _engine_of(where: Place) -> Engine:
    if not isinstance(where, Engine):
        raise UsageError(NO_ENGINE)
    return where


def _words(rest: str) -> str:
    return rest.strip().strip("\"'“”")


def _turns(rest: str) -> list[int]:
    numbers = [_number(part, "turn") for part in rest.split()]
    if len(numbers) != 2:
        raise UsageError("which two turns? %memory diff 11 12")
    return numbers


def _one(rest: str) -> int | None:
    return _number(rest, "turn") if rest else None


def _recall(where: Place, rest: str) -> Any:
    engine = _engine_of(where)
    engine.recall(*shlex.split(rest))
    return engine.window


def _assigned(rest: str) -> dict[str, Any]:
    from workbench.assigned import assigned

    return assigned(shlex.split(rest))


def _tune(where: Place, rest: str) -> Any:
    changes = _assigned(rest)
    if not changes:
        raise UsageError("which settings? %memory tune page_turns=20 recall_k=5, or %memory sliders")
    return tune(where, **changes)


def _open(where: Place) -> Any:
    from workbench.launched import launch

    return launch(where).view()


NO_ENGINE = (
    "these magics work on a variable named engine: "
    'engine = Engine.open("store", user="ana", conversation="trip"), or on wb = workbench.launch("store")'
)
VERBS: dict[str, Callable[[Place, str], Any]] = {
    "status": lambda where, rest: status(where),
    "window": lambda where, rest: window(where, _one(rest)),
    "turn": lambda where, rest: turn(where, _number(rest, "turn")),
    "page": lambda where, rest: page(where, _number(rest.removeprefix("p"), "page")),
    "diff": lambda where, rest: diff(where, *_turns(rest)),
    "evictions": lambda where, rest: evictions(where, _one(rest)),
    "bookmarks": lambda where, rest: bookmarks(where, _one(rest)),
    "confusion": lambda where, rest: confusion(where, _one(rest)),
    "ask": lambda where, rest: ask(where, _words(rest)),
    "facts": lambda where, rest: facts(where),
    "fact": lambda where, rest: fact(where, _number(rest.removeprefix("f"), "fact")),
    "conflicts": lambda where, rest: conflicts(where),
    "lanes": lambda where, rest: lanes(where, words=_words(rest)),
    "graph": lambda where, rest: graph(where),
    "tune": _tune,
    "sliders": lambda where, rest: sliders(where, **_assigned(rest)),
    "recall": _recall,
    "why": lambda where, rest: why(where, _words(rest)),
    "bisect": lambda where, rest: bisect(where, _words(rest)),
    "diagnose": lambda where, rest: diagnose(where, _words(rest)),
    "sql": lambda where, rest: sql(where, rest),
    "views": lambda where, rest: views(),
    "open": lambda where, rest: _open(where),
}


@dataclass(frozen=True)
class Told(Shown):
    """What a cell that talks shows."""

    reply: Reply
    window: Window  # after it

    def __str__(self) -> str:
        return self.reply.text

    def __repr__(self) -> str:
        return repr(self.reply)

    def _html(self) -> str:
        w = self.window
        said = f"{many(len(w.pages), 'page')} in the window, {w.gone} out, {many(len(w.stubs), 'stub')}"
        return self.reply._html() + f"<div style='margin-top:.6rem'>{said}</div>" + bar_html(w)


@magics_class
class WorkbenchMagics(Magics):
    """They work on the engine that the notebook calls `engine`, else on the workbench that it calls `wb`."""

    @property
    def place(self) -> Place:
        found = self._found()
        if found is None:
            raise UsageError(NO_ENGINE)
        return found

    def _found(self) -> Place | None:
        names = self.shell.user_ns if self.shell else {}
        for found in (names.get("engine"), names.get("wb")):
            if isinstance(found, Engine):
                return found
            # a Workbench, whose file is not loaded for this
            if found is not None and hasattr(found, "goto") and hasattr(found, "place"):
                place: Place = found.place
                return place
        return None

    @line_magic
    def memory(self, line: str) -> Any:
        verb, _, rest = line.strip().partition(" ")
        if verb == "help":
            print(USAGE)  # noqa: T201 - help is for reading
            return None
        if verb and verb not in VERBS:
            raise UsageError(f"%memory has no {verb!r}\n{USAGE}")
        try:
            return VERBS[verb or "status"](self.place, rest.strip())
        except (EngineError, ValueError) as error:
            raise UsageError(str(error)) from error

    memory.__doc__ = f"Look at a conversation's memory.\n\n{USAGE}"

    @cell_magic
    def turn(self, line: str, cell: str) -> Told:
        """Say the cell's words to `engine`: its reply, which pages came back for it, and the window after it."""
        engine = _engine_of(self.place)
        try:
            return Told(engine.say(cell.strip()), engine.window)
        except EngineError as error:
            raise UsageError(f"{type(error).__name__}: {error}") from error

    @cell_magic
    def conversation(self, line: str, cell: str) -> RecordedCell:
        """Record the cell's LiteLLM calls: `%%conversation trip user=ana window_tokens=2000 replay=off`.

        They go into the store of `engine` or `wb`, else into `store=…` or the default one. Other keys are `title`,
        `remember=off` (no facts from what is said), and the settings of the replay, which shows what paging would
        have done. Calls that name a conversation in their `metadata` keep that name.
        """
        from workbench.recorded_cell import record

        where = self._found()
        try:
            return record(self.shell, line, cell, _place(where) if where else None)
        except (EngineError, ValueError) as error:
            raise UsageError(str(error)) from error


def completed(shell: Any, event: Any) -> list[str]:
    """What may follow after `%memory`: its verbs, then pages, facts, symptoms, or views."""
    before = event.text_until_cursor.split()[1:]
    if event.symbol and before:
        before.pop()
    if not before:
        return [*VERBS, "help"]
    try:
        return _after(before[0], WorkbenchMagics(shell).place)
    except (UsageError, EngineError):  # a completion has nowhere to complain
        return []


def _after(verb: str, where: Place) -> list[str]:
    store, scope = _place(where)
    if verb in ("page", "recall"):
        return [f"p{number}" for number in store.state(scope).pages]
    if verb == "fact":
        return [f"f{number}" for number in store.knowledge(scope.user).facts]
    if verb in ("tune", "sliders"):
        from memory.settings import described

        return [f"{entry['name']}=" for entry in described()]
    if verb == "diagnose":
        from memory.diagnosis import SYMPTOMS

        return list(SYMPTOMS)
    if verb == "sql":
        from memory.stores.log import VIEWS

        return ["select", "from", "where", *VIEWS]
    return []


def _number(text: str, what: str) -> int:
    if not text.isdigit():
        raise UsageError(f"which {what}? a number, not {text!r}")
    return int(text)
