"""One step at a time per conversation: a row with an owner, an end and a fence.

Others wait, then get ConversationBusy. The owner's heartbeat moves the end on; whoever finds it passed takes the
lease over with the next fence, and the late owner's commit is refused (sql.py checks it in the transaction).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from sqlalchemy import insert, select, update

from memory.errors import ConversationBusy, StoreError
from memory.stores.sql import SqlJournal, from_us, new_owner, to_us
from memory.stores.tables import LeaseRow

TTL_S = 15.0
POLL_S = 0.02


@contextmanager
def leased(journal: SqlJournal, wait_s: float = 30.0, ttl_s: float = TTL_S) -> Iterator[None]:
    """Hold the conversation for one step. Raises ConversationBusy after `wait_s` seconds."""
    owner, deadline = new_owner(), time.monotonic() + wait_s
    fence = _take(journal, owner, ttl_s)
    while fence is None:
        if time.monotonic() >= deadline:
            raise ConversationBusy(_busy(journal, wait_s))
        time.sleep(POLL_S)
        fence = _take(journal, owner, ttl_s)
    journal.lease = (owner, fence)
    stop = threading.Event()
    beat = threading.Thread(target=_beat, args=(journal, owner, fence, ttl_s, stop), daemon=True, name="lease")
    beat.start()
    try:
        yield
    finally:
        stop.set()
        journal.lease = None
        _move(journal, owner, fence, 0.0)


def _take(journal: SqlJournal, owner: str, ttl_s: float) -> int | None:
    """The new fence, or None while somebody else holds the lease."""
    stream, now = journal.stream.id, journal.store.clock()
    until = to_us(now + timedelta(seconds=ttl_s))
    with journal.store.write(durable=False) as connection:
        held = connection.execute(
            select(LeaseRow.fence, LeaseRow.until_us).where(LeaseRow.stream == stream)  # type: ignore[call-overload]
        ).first()
        if held is None:
            row = {"stream": stream, "owner": owner, "fence": 1, "until_us": until}
            connection.execute(insert(LeaseRow), [row])
            return 1
        if held.until_us > to_us(now):
            return None
        fence = int(held.fence) + 1
        mine = update(LeaseRow).where(LeaseRow.stream == stream)  # type: ignore[arg-type]
        connection.execute(mine.values(owner=owner, fence=fence, until_us=until))
        return fence


def _move(journal: SqlJournal, owner: str, fence: int, ttl_s: float) -> None:
    """Move the lease's end, if it is still ours; 0 gives it back."""
    until = to_us(journal.store.clock() + timedelta(seconds=ttl_s)) if ttl_s else 0
    mine = (LeaseRow.stream == journal.stream.id, LeaseRow.owner == owner, LeaseRow.fence == fence)
    with journal.store.write(durable=False) as connection:
        connection.execute(update(LeaseRow).where(*mine).values(until_us=until))  # type: ignore[arg-type]


def _beat(journal: SqlJournal, owner: str, fence: int, ttl_s: float, stop: threading.Event) -> None:
    while not stop.wait(ttl_s / 3):
        try:
            _move(journal, owner, fence, ttl_s)
        except StoreError:
            return  # the step's own commit meets the same fault and tells it; the lease just runs out


def _busy(journal: SqlJournal, wait_s: float) -> str:
    with journal.store.read() as connection:
        until = connection.scalar(select(LeaseRow.until_us).where(LeaseRow.stream == journal.stream.id))  # type: ignore[arg-type]
    ends = f"; its lease runs until {from_us(until):%H:%M:%S} UTC" if until else ""
    return f"another step of {journal.scope} is running since {wait_s:g} s{ends}: wait for it, then say it again"
