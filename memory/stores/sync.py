"""One place feeds everything that is derived from the truth, under one cross-process lock.

Run it as often as you like, from any process: each run appends what is missing, and nothing twice.
"""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

from memory.errors import StoreError
from memory.stores.files import derived_lock

if TYPE_CHECKING:
    from memory.stores.log import Drained
    from memory.stores.sql import Store

logger = logging.getLogger(__name__)

LOOK_S = 0.1  # how soon the end of the program is seen


def sync(store: Store, wait_s: float = 0.0) -> Drained:
    """Bring what is derived up to date. Where another process is at it after `wait_s` seconds, leave it to that."""
    from memory.stores.log import Drained, drain  # loads duckdb

    if store.readonly:
        return Drained(skipped="the store was opened read-only")
    with derived_lock(store.path, wait_s) as ours:
        return drain(store) if ours else Drained(skipped="another process is at it, or the folder is read-only")


class Following:
    """Syncs a store in the background, `every_s` seconds at most, while something was written.

    >>> with Following(store):       # doctest: +SKIP
    ...     engine.say("hello")
    """

    def __init__(self, store: Store, every_s: float = 2.0) -> None:
        self.store = store
        self._every_s = every_s
        self._seq = -1
        self._stop = threading.Event()
        # No daemon: one that is inside DuckDB when Python ends takes the process down. It ends by itself instead.
        self._thread = threading.Thread(target=self._run, name="sync")
        self._thread.start()

    def close(self) -> None:
        """Once more, so that the file holds what was written last."""
        self._stop.set()
        self._thread.join()
        self._once()

    def __enter__(self) -> Following:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self) -> None:
        due = time.monotonic() + self._every_s
        while not self._stop.wait(min(LOOK_S, self._every_s)) and threading.main_thread().is_alive():
            if time.monotonic() >= due:
                self._once()
                due = time.monotonic() + self._every_s

    def _once(self) -> None:
        try:
            seq = self.store.last_seq()
            if seq != self._seq and not sync(self.store).skipped:
                self._seq = seq
        except StoreError as error:  # the next step meets it and tells it; this thread has nobody to tell
            logger.warning("what is derived in %s does not follow: %s", self.store.path, error)
