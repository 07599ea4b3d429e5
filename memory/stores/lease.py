"""One step at a time per conversation: a row with an owner, an end and a fence.

Others wait, then get ConversationBusy. The owner's heartbeat moves the end on; whoever finds it passed takes the
lease over with the next fence, and the late owner's commit is refused (journal.py checks it in the transaction).

An owner's name tells its process: where that is seen to be gone, nobody waits for the end. And clocks jump: a
lease that did not move while we watched it for its whole length has no living owner, whatever end the row names;
so a clock set back an hour holds nobody up for an hour.
"""

from __future__ import annotations

import os
import platform
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from sqlalchemy import insert, select, update

from memory.errors import ConversationBusy, StaleAppend, StoreError
from memory.stores.files import raw
from memory.stores.heart import beating
from memory.stores.tables import GIVE_BACK, LEASE, STREAM, from_us, to_us

if TYPE_CHECKING:
    from memory.stores.journal import SqlJournal
    from memory.stores.sql import Store

TTL_S = 15.0
POLL_S = 0.02

TAKE_FREE = """
UPDATE lease SET owner = :owner, fence = fence + 1, until_us = :until
WHERE stream = :stream AND until_us <= :now RETURNING fence"""
# One that was given back is nobody's: a late beat must not hold it again.
BEAT = """
UPDATE lease SET until_us = :until
WHERE stream = :stream AND owner = :owner AND fence = :fence AND until_us > 0"""

Held = tuple[int, int]  # fence, end: what a heartbeat changes


@contextmanager
def leased(journal: SqlJournal, wait_s: float = 30.0, ttl_s: float = TTL_S) -> Iterator[None]:
    """Hold the conversation for one step. Raises ConversationBusy after `wait_s` seconds."""
    owner = f"{this_process()}/{uuid.uuid4().hex}"
    fence = _wait_for(journal, owner, wait_s, ttl_s)
    journal.lease = (owner, fence)
    try:
        with beating(partial(_beat, journal, owner, fence, ttl_s), ttl_s / 3):
            yield
    finally:
        if journal.lease is not None:  # else the step's last commit gave it back
            journal.lease = None
            with suppress(StoreError), journal.store.write(durable=False) as connection:  # it runs out by itself, too
                connection.exec_driver_sql(GIVE_BACK, {"stream": journal.stream.id, "owner": owner, "fence": fence})


def is_held(store: Store, stream: int) -> bool:
    """Whether somebody may be in the middle of a step of this run."""
    with store.read() as connection:
        held = connection.execute(select(LEASE.c.until_us, LEASE.c.owner).where(LEASE.c.stream == stream)).first()
    return held is not None and held.until_us > to_us(store.clock()) and not is_gone(held.owner)


@cache
def _machine() -> str:
    """Names the space in which a process number means something: two containers have two."""
    space = Path("/proc/self/ns/pid")
    return f"{platform.node()}:{space.readlink() if space.is_symlink() else ''}"


def this_process() -> str:
    """This process: its machine, its number, and since when, for numbers are given again. Not cached: it may fork."""
    return f"{_machine()}/{os.getpid()}/{psutil.Process().create_time():.2f}"


def is_gone(owner: str) -> bool:
    """Whether the owner's process is known to have ended; of another machine's, nothing is known."""
    machine, _, rest = owner.rpartition("/")[0].partition("/")
    number, _, since = rest.partition("/")
    if machine != _machine() or not number.isdigit():
        return False
    try:
        return f"{psutil.Process(int(number)).create_time():.2f}" != since
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False


def _wait_for(journal: SqlJournal, owner: str, wait_s: float, ttl_s: float) -> int:
    began = time.monotonic()
    seen: Held | None = None
    seen_at = began
    if fence := _take_free(journal, owner, ttl_s):
        return fence
    while True:
        watched = seen if time.monotonic() - seen_at > ttl_s else None
        taken = _take(journal, owner, ttl_s, dead=watched)
        if isinstance(taken, int):
            return taken
        if taken != seen:
            seen, seen_at = taken, time.monotonic()
        if time.monotonic() - began >= wait_s:
            raise ConversationBusy(_busy(journal, wait_s))
        time.sleep(POLL_S)


def _take_free(journal: SqlJournal, owner: str, ttl_s: float) -> int:
    """The new fence, if the lease was given back or ran out; else 0. In one statement: nearly every step comes by."""
    now = journal.store.clock()
    values = {"stream": journal.stream.id, "owner": owner, "now": to_us(now)}
    values["until"] = to_us(now + timedelta(seconds=ttl_s))
    with journal.store.write(durable=False) as connection:
        taken = raw(connection).execute(TAKE_FREE, values).fetchall()  # all, else its statement stays open
        if taken:
            journal.look(connection)
        return int(taken[0][0]) if taken else 0


def _take(journal: SqlJournal, owner: str, ttl_s: float, dead: Held | None) -> int | Held:
    """The new fence; or, while somebody else holds the lease, what they hold. `dead`: it did not move for long."""
    stream, now = journal.stream.id, journal.store.clock()
    until = to_us(now + timedelta(seconds=ttl_s))
    row = select(LEASE.c.fence, LEASE.c.until_us, LEASE.c.owner).where(LEASE.c.stream == stream)
    with journal.store.read() as connection:  # waiting takes no write lock
        held = connection.execute(row).first()
    if held is not None and _may_live(held, to_us(now), dead):
        return held.fence, held.until_us
    with journal.store.write(durable=False) as connection:
        again = connection.execute(row).first()
        if again is None:
            if connection.scalar(select(STREAM.c.id).where(STREAM.c.id == stream)) is None:
                raise StaleAppend(f"{journal.scope} was deleted meanwhile; open it again to begin it anew")
            connection.execute(insert(LEASE), [{"stream": stream, "owner": owner, "fence": 1, "until_us": until}])
            return 1
        if held is None or tuple(again) != tuple(held):  # another one was faster
            return again.fence, again.until_us
        fence = int(again.fence) + 1
        mine = update(LEASE).where(LEASE.c.stream == stream)
        connection.execute(mine.values(owner=owner, fence=fence, until_us=until))
        return fence


def _may_live(held: Any, now_us: int, dead: Held | None) -> bool:
    return held.until_us > now_us and (held.fence, held.until_us) != dead and not is_gone(held.owner)


def _beat(journal: SqlJournal, owner: str, fence: int, ttl_s: float) -> None:
    until = to_us(journal.store.clock() + timedelta(seconds=ttl_s))
    values = {"until": until, "stream": journal.stream.id, "owner": owner, "fence": fence}
    with suppress(StoreError), journal.store.write(durable=False) as connection:
        connection.exec_driver_sql(BEAT, values)  # the step's own commit meets the same fault, and tells it


def _busy(journal: SqlJournal, wait_s: float) -> str:
    with journal.store.read() as connection:
        until = connection.scalar(select(LEASE.c.until_us).where(LEASE.c.stream == journal.stream.id))
    ends = f"; its lease runs until {from_us(until):%H:%M:%S} UTC" if until else ""
    return f"another step of {journal.scope} is running since {wait_s:g} s{ends}: wait for it, then say it again"
