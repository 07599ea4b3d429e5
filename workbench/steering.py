"""What a notebook and the pages that it opened tell each other: where the reader is, and where to go.

One `Steering` a process of the server. A page says what its reader chose; the notebook asks for it, and sends open
pages elsewhere. It also knows who needs the server (`Owner`: a notebook's kernel), so that none outlives its last one.
It holds names and numbers of an address, never words of a conversation; who may ask is the server's to decide.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson
import psutil

from workbench.listeners import AGAIN, Listeners

STEERED_VARIABLE = "MEMORY_WORKBENCH_STEERED"  # set where a notebook steers
LOOK_S = 0.5  # how often owners are looked at
CHOSEN = ("fact", "page", "bookmark", "turn")  # what a reader can point at; the first that stands in an address counts


@dataclass(frozen=True, slots=True)
class Selection:
    """Where the reader is; `chosen` is the key of what they pointed at last, "" if at nothing."""

    page: str  # live, turn, timeline, …
    address: dict[str, str]
    chosen: str = ""


def moved(before: Selection | None, page: str, address: Mapping[str, str]) -> Selection:
    """Where the reader is now, after where they were.

    >>> moved(Selection("live", {"turn": "3"}, "turn"), "live", {"turn": "3", "page": "7"}).chosen
    'page'
    """
    there = [key for key in CHOSEN if address.get(key)]
    acted = [key for key in there if before and before.address.get(key) != address[key]]
    kept = [before.chosen] if before else []
    return Selection(page, dict(address), next((key for key in (*acted, *kept, *there) if key in there), ""))


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that needs the server. A kernel that restarts is another process soon: it is waited for."""

    pid: int
    made_at: float  # its start, for a pid is given again
    linger_s: float = 0.0

    @property
    def is_there(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.made_at) < 1
            return bool(same and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False


def this_process(linger_s: float = 0.0) -> Owner:
    return Owner(os.getpid(), psutil.Process().create_time(), linger_s)


class Steering:
    def __init__(self) -> None:
        self._selection: Selection | None = None
        self._pages = Listeners()
        self._pending: bytes | None = None
        self._owners: set[Owner] = set()
        self._seen: dict[Owner, float] = {}  # when each owner was there last

    # ── the reader ────────────────────────────────────────────────────────────────────────────────────

    def select(self, selection: Selection) -> None:
        self._selection = selection

    @property
    def selection(self) -> Selection | None:
        return self._selection

    def told(self) -> dict[str, Any]:
        """The selection, and how many pages listen."""
        return {"selected": asdict(self._selection) if self._selection else None, "open": len(self._pages)}

    # ── the notebook ──────────────────────────────────────────────────────────────────────────────────

    def go(self, target: Mapping[str, Any]) -> int:
        """Send every open page there, or the first that opens; how many heard it."""
        message = b"event: goto\ndata: %s\n\n" % orjson.dumps(dict(target))
        self._pending = None if self._pages else message
        self._pages.tell(message)
        return len(self._pages)

    def listen(self) -> AsyncIterator[bytes]:
        """The stream of one page."""
        return self._pages.listen(self._greeting)

    def _greeting(self) -> Iterator[bytes]:
        yield AGAIN
        if self._pending is not None:
            waiting, self._pending = self._pending, None
            yield waiting

    def close(self) -> None:
        self._pages.close()

    # ── owners ────────────────────────────────────────────────────────────────────────────────────────

    def join(self, owner: Owner) -> None:
        self._owners = self._owners | {owner}

    def leave(self, pid: int) -> int:
        """How many owners are left."""
        self._owners = {owner for owner in self._owners if owner.pid != pid}
        return len(self._owners)

    def is_needed(self, now: float) -> bool:
        """Whether an owner is there, or has been gone for less than it is waited for; `now` in seconds."""
        self._seen = {owner: now if owner.is_there else self._seen.get(owner, now) for owner in self._owners}
        return any(owner.is_there or now - at < owner.linger_s for owner, at in self._seen.items())

    def outlived(self) -> None:
        """Blocks until nobody needs the server."""
        while self.is_needed(time.monotonic()):
            time.sleep(LOOK_S)


STEERING = Steering()  # of this process
