"""The workbench in a notebook: magics, their completion, SQL with the pages' numbers, objects that show themselves."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import workbench
from memory import Engine
from memory.errors import BadQuery
from memory.models.chat import Answer
from memory.show import Shown
from memory.stores.sql import Store
from workbench import places
from workbench.inline import USAGE, VERBS, WorkbenchMagics, completed
from workbench.launched import Server, Workbench

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> [p1:fake]"
SAID = [
    "My budget for the house is 5,000 euros. " * 9,
    "My sister Ann lives in Rome and paints bridges. " * 9,
    f"Please keep this: {HOSTILE} " * 6,
    "My budget for the house is 8,000 euros now. " * 9,
    "The ferry to Naples leaves at nine from the old harbour. " * 9,
    "We count trams and lighthouses, and the harbour is foggy. " * 9,
]


def answer(*_: object, **__: object) -> Answer:
    return Answer("All right.", (), 7, 3, 0.25, "stop", "x", 1.0)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    path = tmp_path_factory.mktemp("inline") / "store"
    with Store.open(path) as store:  # an engine that closes makes vectors, which nobody asks for here
        opened = Engine.open(
            store, user="ana", conversation="trip", chat=answer, window_tokens=1_000, reply_tokens=100, page_turns=2
        )
        for words in SAID:
            opened.say(words)
        opened.recall("p1")
        opened.say("What is my budget?")
        yield opened


@pytest.fixture
def magics(engine: Engine) -> WorkbenchMagics:
    made = WorkbenchMagics(None)
    made.shell = SimpleNamespace(user_ns={"engine": engine})
    return made


# ── magics ────────────────────────────────────────────────────────────────────────────────────────────


def test_memory_alone_says_how_it_stands(magics: WorkbenchMagics, engine: Engine):
    status = magics.memory("")
    assert (status.turns, status.budget, status.cost_usd) == (14, 1_000, 1.75)
    assert status.used == workbench.window(engine).used
    assert repr(status).startswith("<Status of ana/trip/live: turn 14")


LINES = {
    "window 4": "<Window of ana/trip/live at turn 4",
    "turn 4": "<Turn 4",
    "page p1": "<Page p1",
    "diff 12 14": "<Diff of turn 12 (live) and turn 14",
    "evictions": "<Evictions",
    "why “budget”": "<Why 'budget'",
    "bisect budget": "<",
    "diagnose slow": "<",
    "ask what is my budget?": "<",
    "lanes budget": "<",
    "confusion": "<",
    "graph": "<",
    "tune page_turns=4": "<Effect on trip of page_turns 2 → 4",
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_asks_for_an_object(magics: WorkbenchMagics, line: str):
    assert repr(magics.memory(line)).startswith(LINES[line])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("turn twelve", "which turn"),
        ("turn 99", "turn"),
        ("diff 11", "which two turns"),
        ("dream", "has no 'dream'"),
        ("sql select nothing from nowhere", "The views are: "),
        ("sql drop table event", "SELECT"),
        ("diagnose boredom", "choose one of"),
        ("tune", "which settings"),
        ("tune page_turns=many", "must be a number"),
    ],
)
def test_a_mistake_is_told_in_a_line(magics: WorkbenchMagics, line: str, says: str):
    with pytest.raises(UsageError, match=says):
        magics.memory(line)


def test_without_an_engine_it_says_what_is_missing_and_a_workbench_will_do(engine: Engine):
    magics = WorkbenchMagics(None)
    magics.shell = SimpleNamespace(user_ns={})
    with pytest.raises(UsageError, match="a variable named engine"):
        magics.memory("")
    opened = Workbench(Server(1, 2, "t"), engine.store.path, engine.store, engine.scope)
    magics.shell.user_ns["wb"] = opened
    assert magics.memory("turn 3").turn == 3
    with pytest.raises(UsageError, match="a variable named engine"):
        magics.turn("", "A looker says nothing.")


def test_a_cell_is_said_and_shows_the_reply_and_the_window_after_it(magics: WorkbenchMagics):
    told = magics.turn("", "  Hello.\n")
    assert str(told) == "All right."
    assert repr(told).startswith("<Reply to step")
    assert (told.window.turn, told.window.used) == (told.reply.turn, magics.place.window.used)
    html = told._repr_html_()
    assert html.index("All right.") < html.index("recalled") < html.index("in the window, ") < html.index("</i>system")


def test_help_names_every_verb_and_stands_behind_the_question_mark():
    assert {verb for verb in VERBS if not re.search(rf"\b{verb}\b", USAGE)} <= {"status"}
    assert USAGE in WorkbenchMagics.memory.__doc__


def test_tab_completes_verbs_and_what_may_follow(engine: Engine):
    shell = InteractiveShell()
    workbench.load_ipython_extension(shell)
    shell.user_ns["engine"] = engine

    def after(line: str) -> list[str]:
        with provisionalcompleter():
            found = list(shell.Completer.completions(line, len(line)))
        return [each.text for each in found]

    assert {"turn", "tune"} == set(after("%memory tu"))
    assert "page_turns=" in after("%memory tune page_t")
    assert {"why", "window"} <= set(after("%memory w"))
    assert {"p1", "p2"} <= set(after("%memory page p"))
    assert "evictions" in after("%memory sql select * from ev")
    assert "slow" in after("%memory diagnose sl")
    del shell.user_ns["engine"]
    asked = SimpleNamespace(text_until_cursor="%memory page p", symbol="p")
    assert completed(shell, asked) == []


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────────


NUMBERS: dict[str, tuple[str, str]] = {
    "turns": ("select count(*) from turns where run = 'live'", "live.turns"),
    "prompt tokens": ("select tokens from prompts order by step desc, round desc limit 1", "turn.prompt_tokens"),
    "evictions": ("select count(*) from evictions", "evictions.rows"),
    "freed": ("select sum(freed_tokens) from evictions", "evictions.freed"),
    "cost": ("select sum(cost_usd) from llm_calls", "live.cost"),
    "calls": ("select count(*) from llm_calls", "status.steps"),
    "bookmarks": ("select count(distinct page) from bookmarks", "bookmarks.rows"),
    "facts": ("select count(*) from facts where state = 'active'", "timeline.active"),
    "versions": ("select count(distinct fact) from fact_versions", "timeline.versions"),
    "conflicts": ("select count(*) from conflicts where not settled", "status.conflicts"),
    "retrievals": ("select count(*) from retrievals", "log.retrievals"),
    "events": ("select count(*) from events where run = 'live'", "live.version"),
}


def on_the_pages(engine: Engine) -> dict[str, float]:
    """The figures as the pages show them."""
    at = {"user": "ana", "conv": "trip"}
    seen = {
        name: places.shown(engine.store, name, at) for name in ("live", "turn", "evictions", "bookmarks", "timeline")
    }
    figures = {metric.name: metric.value for metric in seen["live"].metrics}
    status = workbench.status(engine)
    steps = [workbench.turn(engine, turn) for turn in range(1, seen["live"].turns + 1, 2)]
    return {
        "live.turns": seen["live"].turns,
        "live.cost": figures["cost"],
        "live.version": seen["live"].version,
        "turn.prompt_tokens": seen["turn"].prompt_tokens,
        "evictions.rows": len(seen["evictions"].rows),
        "evictions.freed": sum(row.freed_tokens for row in seen["evictions"].rows),
        "status.steps": sum(len(step.calls) for step in steps),
        "bookmarks.rows": len(seen["bookmarks"].rows),
        "timeline.active": workbench.facts(engine).states["active"],
        "timeline.versions": sum(workbench.facts(engine).states.values()),
        "status.conflicts": status.conflicts,
        "log.retrievals": sum(
            len(step.retrievals) + sum(1 for recall in step.recalls if recall.retrieval) for step in steps
        ),
    }


def test_sql_says_what_the_pages_say(engine: Engine):
    pages = on_the_pages(engine)
    asked = {name: workbench.sql(engine, query).iloc[0, 0] for name, (query, _) in NUMBERS.items()}
    assert asked == {name: pages[figure] for name, (_, figure) in NUMBERS.items()}
    assert asked["evictions"] > 0
    assert asked["facts"] > 0


def test_a_handle_asks_as_well_and_takes_up_what_was_said_since(engine: Engine):
    wb = Workbench(Server(1, 2, "t"), engine.store.path, engine.store, engine.scope)
    before = wb.sql("select count(*) n from turns").n[0]
    engine.say("One more.")
    assert wb.sql("select count(*) n from turns").n[0] == before + 2
    with pytest.raises(BadQuery):
        wb.sql("delete from turns")


# ── how they show themselves ──────────────────────────────────────────────────────────────────────────


class Seen(HTMLParser):
    """What a browser would make of it: elements, and what they would fetch or run."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.fetched: list[tuple[str, str | None]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.fetched += [(tag, f"{k}={v}") for k, v in attrs if k in ("src", "href", "data") or k.startswith("on")]


def objects(engine: Engine) -> dict[str, Any]:
    at = {"user": "ana", "conv": "trip"}
    found = {page: places.shown(engine.store, page, at) for page in places.PAGES}
    found |= {
        "why": workbench.why(engine, "budget"),
        "page": workbench.page(engine, 1),
        "facts": workbench.facts(engine),
        "fact": workbench.fact(engine, 1),
        "ask": workbench.ask(engine, "What is my budget?"),
        "status": workbench.status(engine),
        "confusion": workbench.confusion(engine),
        "diagnosis": workbench.diagnose(engine, "slow"),
        "bisection": workbench.bisect(engine, "budget"),
        "engine window": engine.window,
    }
    return found


def test_every_object_shows_itself_and_runs_nothing(engine: Engine):
    for name, shown in objects(engine).items():
        html = shown._repr_html_()
        seen = Seen(html)
        assert isinstance(shown, Shown), name
        assert "\n" not in repr(shown), name
        assert len(repr(shown)) < 400, name
        assert len(html) < 120_000 or name == "graph", (name, len(html))  # a frame of its own, with the code that draws
        assert "script" not in seen.tags, name
        assert "img" not in seen.tags, name
        assert seen.fetched == [], name
        assert "://" not in re.sub(r"http://www\.w3\.org/\S+", "", html) or name == "graph", name
        # Both themes: no text on a ground of its own, and no ground of one theme.
        assert not re.search(r"background(-color)?:\s*(#fff(fff)?\b|white|#000(000)?\b|black)", html) or name == "graph"
        assert shown.to_dict(), name
        assert shown.to_df() is not None, name
