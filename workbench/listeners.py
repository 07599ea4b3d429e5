"""Open pages that listen to the server (server-sent events): what is told to all of them, and how each connection ends.

Not here: what is told, and who may listen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable

BEAT_S = 15.0  # a comment at least so often, so that a dead connection is noticed
AGAIN = b"retry: 1000\n\n"  # a browser that lost the connection is back after a second


class Listeners:
    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[bytes | None]] = set()
        self.is_closed = False

    def __len__(self) -> int:
        return len(self._queues)

    def tell(self, message: bytes) -> None:
        self._put(message)

    async def listen(self, greeting: Callable[[], Iterable[bytes]]) -> AsyncIterator[bytes]:
        """The stream of one page; `greeting` is asked for once it is counted as a listener."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._queues.add(queue)
        try:
            for message in greeting():
                yield message
            while not self.is_closed:
                try:
                    told = await asyncio.wait_for(queue.get(), BEAT_S)
                except TimeoutError:
                    told = b": still here\n\n"
                if told is None:
                    return
                yield told
        finally:
            self._queues.discard(queue)

    def close(self) -> None:
        """End every connection: a server that is told to stop waits for them."""
        self.is_closed = True
        self._put(None)

    def _put(self, message: bytes | None) -> None:
        for queue in self._queues:
            queue.put_nowait(message)
