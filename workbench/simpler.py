"""Simpler memories beside ours for a page, worked out in a thread of its own and kept; begun when a reader asks for it.

Not here: what they are (sessions/baselines.py), and any drawing.
"""

from __future__ import annotations

from collections.abc import Callable

from memory.scope import Scope
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors
from sessions.baselines import Baselines, baselines
from workbench.background import Kept, Making
from workbench.replaying import source_of

KEPT = 4
AT_ONCE_S = 1.0  # so long a page waits before it says how far it is

_BESIDE: Kept[tuple[object, ...], Making[Baselines]] = Kept(KEPT)


def beside(store: Store, scope: Scope) -> Making[Baselines]:
    """Of this conversation at the settings of the shown run: begun by whoever asks for it first."""
    source, vectors = source_of(store, scope), StoredVectors(store)
    settings = store.state(scope).settings
    key = (str(store.path), source, store.require(source).version, store.generation(), settings.hash, vectors.newest())

    def make(say: Callable[[str], None]) -> Baselines:
        return baselines((store, source), settings, vectors=vectors, say=say)

    def begun() -> Making[Baselines]:
        made = Making("comparison with simpler memories", make)
        made.start()
        return made

    return _BESIDE.get(key, begun)


def forget() -> None:
    """Drop all of them, and stop those under way."""
    _BESIDE.forget()
