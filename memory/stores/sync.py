"""One place feeds everything that is derived from the truth, DuckDB and LanceDB, under one cross-process lock.

Run it as often as you like, from any process: each run appends what is missing, and nothing twice.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING

from memory.errors import EngineError, StoreError
from memory.stores.embedded import last, maker
from memory.stores.files import derived_lock

if TYPE_CHECKING:
    from memory.stores.sql import Store

logger = logging.getLogger(__name__)

LOOK_S = 0.1  # how soon the end of the program is seen
# LanceDB takes 0.1 s of CPU for a step, and 3 s to load: a program that ends sooner and closes nothing does without.
INDEX_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync did. `rebuilt`: why something was made anew; `skipped`: why something was not done."""

    events: int = 0  # into events.duckdb
    words: int = 0
    rows: int = 0  # into vectors.lance, added or replaced
    vectors: int = 0  # that rows there got later
    rebuilt: str = ""
    skipped: str = ""


def sync(store: Store, wait_s: float = 0.0, *, index: bool = True) -> Synced:
    """Bring what is derived up to date. Where another process is at it after `wait_s` seconds, leave it to that.

    DuckDB first; then LanceDB (`index`) in batches, each under the same lock, so that nobody waits long for it.
    """
    from memory.stores.log import drain  # loads duckdb

    if store.readonly:
        return Synced(skipped="the store was opened read-only")
    with derived_lock(store.path, wait_s) as ours:
        if not ours:
            return Synced(skipped=BUSY)
        drained = drain(store)
    done = Synced(drained.events, drained.words, 0, 0, drained.rebuilt, drained.skipped)
    return _with_index(store, done, wait_s) if index else done


BUSY = "another process is at it, or the folder is read-only"


def _with_index(store: Store, done: Synced, wait_s: float) -> Synced:
    from memory.stores.vectors import feed, is_behind  # loads lancedb, not under the lock

    more = is_behind(store)
    while more:
        with derived_lock(store.path, wait_s) as ours:
            if not ours:
                return replace(done, skipped=done.skipped or BUSY)
            fed = feed(store)
        done = replace(
            done, rows=done.rows + fed.rows, vectors=done.vectors + fed.vectors,
            rebuilt=done.rebuilt or fed.rebuilt, skipped=done.skipped or fed.skipped,
        )  # fmt: skip
        more = fed.more and not fed.skipped
    return done


class Following:
    """Syncs a store in the background, `every_s` seconds at most, while something was written.

    >>> with Following(store):       # doctest: +SKIP
    ...     engine.say("hello")
    """

    def __init__(self, store: Store, every_s: float = 2.0, index_every_s: float = INDEX_EVERY_S) -> None:
        self.store = store
        self._every_s = every_s
        self._index_every_s = index_every_s
        self._index_at = time.monotonic() + index_every_s
        self._seq = -1  # the last event that events.duckdb took up …
        self._indexed = (-1, -1)  # … and that vectors.lance did, with the last vector
        self._stop = threading.Event()
        # No daemon: one that is inside DuckDB when Python ends takes the process down, one in the middle of an import
        # holds it up for ever. It ends by itself instead. Said aloud, for a thread inherits it from its maker.
        self._thread = threading.Thread(target=self._run, name="sync", daemon=False)
        self._thread.start()

    def close(self) -> None:
        """Once more, so that the file holds what was written last."""
        self._stop.set()
        self._thread.join()
        self._once(index=True)

    def __enter__(self) -> Following:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self) -> None:
        due = time.monotonic() + self._every_s
        while not self._stop.wait(min(LOOK_S, self._every_s)) and not self._is_over():
            now = time.monotonic()
            if now >= due:
                self._once(index=now >= self._index_at)
                due = time.monotonic() + self._every_s
                self._embed(due)

    def _is_over(self) -> bool:
        return self._stop.is_set() or not threading.main_thread().is_alive()

    def _embed(self, until: float) -> None:
        """Pages that closed get their vectors once the store has an embedder, which is loaded when there is a job."""
        from memory.stores.jobs import EMBED, embedding, is_due, queue_embedding, work
        from memory.stores.vector_source import embedder_of

        try:
            made_by = maker(self.store)
            if made_by is None:
                return
            queue_embedding(self.store, made_by)
            if is_due(self.store, EMBED):
                does = {EMBED: embedding(embedder_of(self.store))}
                work(self.store, does, until=lambda: self._is_over() or time.monotonic() >= until)
        except EngineError as error:
            logger.warning("no vectors are made in %s: %s", self.store.path, error)

    def _once(self, *, index: bool) -> None:
        try:
            seq = self.store.last_seq()
            if seq == self._seq and not index:
                return
            if index:
                self._index_at = time.monotonic() + self._index_every_s
                now = (seq, last(self.store))
                if now != self._indexed and not sync(self.store).skipped:
                    self._seq, self._indexed = seq, now
            elif not sync(self.store, index=False).skipped:
                self._seq = seq
        except StoreError as error:  # the next step meets it and tells it; this thread has nobody to tell
            logger.warning("what is derived in %s does not follow: %s", self.store.path, error)
