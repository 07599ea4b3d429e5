"""From an address of the workbench to the object that a notebook holds: a turn, a page, a fact, or what the page shows.

The same views as the pages draw; nothing of a server or a browser. An address is that of `state.py`: `user`, `conv`,
`run`, `turn`, `page` (a page of memory), `fact`, and what single pages add.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memory.errors import NotFound, UnknownName
from memory.scope import Scope
from memory.show import Shown
from memory.stores.sql import Store
from workbench.views import bookmarks, diff, evictions, facts, graph, lanes, overview, review, turn, why, window
from workbench.views.conversations import conversations

Address = Mapping[str, str]


def scope_at(store: Store, address: Address) -> Scope:
    """Whose run an address shows: of what it leaves out the newest. Raises NotFound."""
    user, name = address.get("user"), address.get("conv")
    rows = [row for row in conversations(store, user) if name in (None, row.conversation)]
    if not rows:
        whom = f" of user {user!r}" if user else ""
        raise NotFound(f"there is no conversation {name or ''}{whom} in {store.path}")
    return rows[0].scope.at(address.get("run") or rows[0].main)


def _turn(address: Address) -> int | None:
    return int(address["turn"]) if address.get("turn") else None


def _number(address: Address, key: str, otherwise: int) -> int:
    return int(address.get(key) or otherwise)


def _diff(store: Store, scope: Scope, address: Address) -> Shown:
    last = store.require(scope).turns
    b = _number(address, "b", _number(address, "turn", last))
    a = _number(address, "a", max(1, b - 1))
    return diff.diff(store, scope.at(address.get("vs") or scope.run), a, scope, b)


def _why(store: Store, scope: Scope, address: Address) -> Shown:
    expected, question = address.get("expect", ""), address.get("q", "")
    if not expected:
        return window.window(store, scope, _turn(address))
    return why.why(store, scope, expected, question, _turn(address))


def _step(store: Store, scope: Scope, address: Address) -> Shown:
    return turn.turn(store, scope, _turn(address) or store.require(scope).turns)


def _page(key: str) -> Callable[[Store, Scope, Address], Shown]:
    return lambda store, scope, address: window.page(store, scope, int(address[key]), _turn(address))


def _fact(store: Store, scope: Scope, address: Address) -> Shown:
    return facts.fact(store, scope.user, int(address["fact"].removeprefix("f")), conversation=scope.conversation)


# What was pointed at, and what a page shows where nothing was.
CHOSEN: dict[str, Callable[[Store, Scope, Address], Shown]] = {
    "turn": _step,
    "page": _page("page"),
    "bookmark": _page("bookmark"),
    "fact": _fact,
}
PAGES: dict[str, Callable[[Store, Scope, Address], Shown]] = {
    "overview": lambda store, scope, address: overview.overview(store),
    "live": lambda store, scope, address: window.window(store, scope, _turn(address)),
    "turn": _step,
    "diff": _diff,
    "evictions": lambda store, scope, address: evictions.evictions(store, scope, _turn(address)),
    "bookmarks": lambda store, scope, address: bookmarks.bookmarks(store, scope, _turn(address)),
    "timeline": lambda store, scope, address: lanes.lanes(store, scope),
    "graph": lambda store, scope, address: graph.draw(graph.graph(store, scope)),
    "why": _why,
    "review": lambda store, scope, address: review.review(store, scope.user),
}


def shown(store: Store, page: str, address: Address, chosen: str = "") -> Any:
    """What `chosen` points at, else what the page shows; the window for a page without a view of its own."""
    if page == "overview" and not chosen:
        return overview.overview(store)
    make = CHOSEN.get(chosen) or PAGES.get(page) or PAGES["live"]
    return make(store, scope_at(store, address), address)


def page_names() -> tuple[str, ...]:
    """The pages of the workbench, as their addresses name them."""
    spec = find_spec("pages")
    found = Path(spec.origin).parent.glob("*.py") if spec and spec.origin else ()
    return tuple(sorted(path.stem for path in found if path.stem != "__init__"))


def known_page(name: str) -> str:
    if name not in page_names():
        raise UnknownName("page", name, page_names())
    return name
