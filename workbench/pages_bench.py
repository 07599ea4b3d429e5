"""How long a page takes on a large store: whole runs of its script, without a browser. Reports; judges nothing.

The store is made up (sessions/bench.py): conversations of one user, one fact in every so many turns; one of them is
shown. `first` is the first run of a page, when none of its views is kept; `walk` are runs at other turns, as a reader
who walks has them. The process has begun as the server does (`state.warm`). A page that waits for a replay shows how
far that is: its first run is measured so, the walk when the replay is there; the replay's own time stands apart.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from memory.scope import FACTS, RECORDED
from memory.settings import Settings
from memory.stores.sql import Store
from memory.stores.sync import sync
from sessions.bench import talk
from sessions.importer import import_recordings
from workbench import app, labs, replaying, state, tuning
from workbench.state import STORE_VARIABLE

TURNS = 100_000  # of the whole store
CONVERSATIONS = 10
WALKS = 5  # runs of each page at other turns
SLOWEST_S = 120
LOOK_S = 0.5
COMING = ":material/hourglass"  # stands before what a page is not done with

Say = Callable[[str], None]


def page_figures(
    turns: int = TURNS, walks: int = WALKS, progress: Say | None = None, *, conversations: int = CONVERSATIONS
) -> dict[str, Any]:
    """By page `first_ms` and `walk_ms` (the median of n), and what the store holds; `turns` are of all together."""
    say = progress or (lambda line: None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        say(f"a store with {turns:,} turns in {conversations} conversations …")
        each = turns // conversations
        with Store.open(path) as store:
            for seed in range(conversations):
                one = replace(talk(each, seed), conversation=f"talk-{seed + 1}")
                import_recordings(store, [one], settings=Settings.of(window_tokens=8_000), replay=True)
            sync(store)
            holds = _holds(store)
        return {"pages": pages_of(path, each, walks, say), "store": holds}


def pages_of(store: Path, turns: int, walks: int, say: Say) -> dict[str, Any]:
    """Of a store that is there; `turns` are those of the conversation that is shown."""
    with _shown(store):
        return {name: _of_page(name, turns, walks, say) for name in _names()}


def page_rows(figures: dict[str, Any]) -> list[list[object]]:
    """For a table: page, first run, another turn, n, and how long what it shows the progress of took."""
    return [
        [name, f"{each['first_ms']:,.0f} ms", f"{each['walk_ms']:,.0f} ms", each["n"],
         f"{each['awaited_s']:,.1f} s" if each["awaited_s"] else "–"]
        for name, each in figures["pages"].items()
    ]  # fmt: skip


def _holds(store: Store) -> dict[str, int]:
    streams = [each for each in store.streams() if each.scope.run not in (RECORDED, FACTS)]
    facts = len(store.knowledge(streams[0].scope.user).facts)
    pages = sum(len(store.state(each.scope).pages) for each in streams)
    turns = sum(each.turns for each in streams)
    return {"turns": turns, "conversations": len(streams), "events": store.last_seq(), "facts": facts, "pages": pages}


@contextmanager
def _shown(store: Path) -> Iterator[None]:
    """The pages show this store meanwhile: they take it from the environment."""
    before, often = os.environ.get(STORE_VARIABLE), gc.get_threshold()
    os.environ[STORE_VARIABLE] = str(store)
    try:
        state.warm()
        yield
    finally:
        gc.set_threshold(*often)
        gc.unfreeze()
        state.forget()
        if before is None:
            del os.environ[STORE_VARIABLE]
        else:
            os.environ[STORE_VARIABLE] = before


def _names() -> list[str]:
    return [entry.name for group in app.NAVIGATION.values() for entry in group]


def _of_page(name: str, turns: int, walks: int, say: Say) -> dict[str, Any]:
    from streamlit.testing.v1 import AppTest

    say(f"the page {name} …")
    for each in (state, replaying, labs, tuning):
        each.forget()
    at = AppTest.from_file(app.__file__, default_timeout=SLOWEST_S)
    at.query_params["turn"] = str(turns)
    at.run()  # the start page: what every page needs is loaded by it
    at.switch_page(str(state.pages_folder() / f"{name}.py"))
    first = _run(at)
    awaited = _awaited(at)
    others = []
    for step in range(1, walks + 1):
        at.query_params["turn"] = str(max(1, turns - step * turns // (walks + 2)))
        others.append(_run(at))
    return {
        "first_ms": round(first, 1), "walk_ms": round(median(others), 1), "n": walks, "awaited_s": round(awaited, 1),
    }  # fmt: skip


def _awaited(at: Any) -> float:
    """Seconds until what the page shows the progress of is there; 0 where it shows none."""
    began = time.perf_counter()
    if not _is_coming(at):
        return 0.0
    while _is_coming(at):
        time.sleep(LOOK_S)
        _run(at)
    return time.perf_counter() - began


def _is_coming(at: Any) -> bool:
    return bool(at.get("progress")) or any(COMING in each.value for each in at.markdown)


def _run(at: Any) -> float:
    began = time.perf_counter()
    at.run()
    took = (time.perf_counter() - began) * 1000
    if at.exception:
        raise RuntimeError(f"the page raised {at.exception[0].message}")
    return took
