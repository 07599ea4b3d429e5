"""Work that is done after the reply and outlives the process: a queue in the truth.

A job is claimed under a lease by one statement, done at least once, and never queued twice: (kind, whose, key,
version) is unique. Its result commits in the transaction that ends it, only if what it was made from is unchanged;
else it is queued again. One that fails comes again later and later, and at last stands as failed with its reason. A
worker that dies gives its job back: at once where its process is seen to be gone, else when the lease runs out.

Not here: what a kind does, but for `embed`, the vectors of a closed page.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, insert, select, update

from memory.errors import EngineError, NotFound, StaleAppend, StoreError
from memory.events import BookmarkMade, PageClosed
from memory.redaction import clean
from memory.scope import Scope
from memory.show import Shown, rows
from memory.stores.embedded import BATCH, check_same, embedded, maker
from memory.stores.heart import beating
from memory.stores.lease import is_gone, this_process
from memory.stores.searchable import rows_of_page
from memory.stores.tables import EVENT, JOB, META, STREAM, event_of, from_us, to_us

if TYPE_CHECKING:
    from memory.stores.embedded import Embeds, Named
    from memory.stores.sql import Store

EMBED, BOOKMARK, SUMMARY, FACTS = "embed", "bookmark", "summary", "facts"
ONE_BY_ONE = (BOOKMARK, SUMMARY, FACTS)  # of one conversation
QUEUED, RUNNING, DONE, FAILED = "queued", "running", "done", "failed"
STATES = (QUEUED, RUNNING, DONE, FAILED)
LEASE_S = 60.0
TRIES = 6  # before it stands as failed
FIRST_S, LONGEST_S = 2.0, 600.0  # back-off: doubled from one to the other
POLL_S = 1.0
EVENTS = 20_000  # looked through for pages at once

# One that is due later than any may be, or was queued in time to come, tells of a clock that was set back. And of a
# conversation's work by a model one job runs at a time: its answer may do another, and bears on what that one is asked.
CLAIM = """
UPDATE job SET state = 'running', owner = :owner, until_us = :until, tries = tries + 1
WHERE id = (SELECT id FROM job AS wanted WHERE kind IN ({kinds}) {scope}
            AND (due_us <= :now OR queued_us > :now OR due_us > :far)
            AND (state = 'queued' OR (state = 'running' AND until_us <= :now))
            AND (kind NOT IN ({one_by_one}) OR NOT EXISTS (
                SELECT 1 FROM job AS other WHERE other.state = 'running' AND other.until_us > :now
                AND other.kind = wanted.kind AND other.user = wanted.user
                AND other.conversation = wanted.conversation AND other.run = wanted.run))
            ORDER BY due_us, id LIMIT 1)
RETURNING *"""
OF_SCOPE = "AND user = :user AND conversation = :conversation AND run = :run"
BEAT = "UPDATE job SET until_us = :until WHERE id = :id AND owner = :owner AND state = 'running'"
END = """
UPDATE job SET state = :state, due_us = :due, reason = :reason, ended_us = :ended, tries = tries - :untried, owner = ''
WHERE id = :id AND owner = :owner AND state = 'running'"""


@dataclass(frozen=True, slots=True)
class Job:
    id: int
    kind: str
    scope: Scope
    key: str
    version: str
    state: str
    tries: int  # begun so often
    due_at: datetime
    queued_at: datetime
    reason: str = ""  # why it failed the last time
    owner: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.key} of {self.scope}"

    def to_dict(self) -> dict[str, Any]:
        whose = {"user": self.scope.user, "conversation": self.scope.conversation, "run": self.scope.run}
        return {name: value for name, value in asdict(self).items() if name not in ("scope", "owner")} | whose


def _always(connection: Connection) -> bool:
    return True


def _nothing(connection: Connection) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job came to. `unchanged` is asked in the transaction that then runs `commit` and ends the job.

    `ended`: the state in which a transaction of the worker's own ended it already (`end_along`); nothing is left to do.
    """

    commit: Callable[[Connection], None] = _nothing
    unchanged: Callable[[Connection], bool] = _always
    ended: str = ""


Does = Callable[["Store", Job], Outcome]  # raises an EngineError where it cannot be done


@dataclass(frozen=True)
class Worked(Shown):
    """What a worker did."""

    done: int = 0
    again: int = 0  # queued again: it failed and will be tried later, or what it was made from changed meanwhile
    failed: int = 0  # for good
    waiting: int = 0  # queued still, for a later time

    def to_dict(self) -> dict[str, int]:
        return asdict(self)

    def __repr__(self) -> str:
        told = ", ".join(f"{n:,} {name}" for name, n in self.to_dict().items())
        return f"<Worked: {told}>"

    def _html(self) -> str:
        return rows("Jobs", self.to_dict())


# ── the queue ─────────────────────────────────────────────────────────────────────────────────────────


def enqueue(store: Store, kind: str, scope: Scope, key: str, version: str = "", *, delay_s: float = 0.0) -> bool:
    """Queue a job; False if this one was queued before, whatever became of it."""
    with store.write() as connection:
        return bool(enqueue_all(connection, [(kind, scope, key, version)], store.clock(), delay_s))


def enqueue_all(
    connection: Connection, wanted: Iterable[tuple[str, Scope, str, str]], now: datetime, delay_s: float = 0.0
) -> int:
    """Several, (kind, scope, key, version) each, in the caller's transaction. Returns how many are new."""
    assert delay_s <= LONGEST_S, f"a job is queued for at most {LONGEST_S:g} s ahead"
    due = to_us(now + timedelta(seconds=delay_s))
    lines = [
        {"kind": kind, "user": scope.user, "conversation": scope.conversation, "run": scope.run, "key": key,
         "version": version, "state": QUEUED, "tries": 0, "due_us": due, "owner": "", "until_us": 0, "reason": "",
         "queued_us": to_us(now), "ended_us": 0}
        for kind, scope, key, version in wanted
    ]  # fmt: skip
    query = insert(JOB).prefix_with("OR IGNORE")
    return sum(connection.execute(query, [line]).rowcount for line in lines)


def claim(
    store: Store, kinds: Iterable[str], *, owner: str = "", lease_s: float = LEASE_S, scope: Scope | None = None
) -> Job | None:
    """The job that is due for longest, now yours for `lease_s` seconds; None if there is none. `scope`: of this run."""
    names = list(kinds)
    if not names:
        return None
    _give_back(store)
    now = store.clock()
    named = {f"kind{n}": name for n, name in enumerate(names)}
    values = {"owner": owner or f"{this_process()}/{uuid.uuid4().hex}", "now": to_us(now),
              "until": to_us(now + timedelta(seconds=lease_s)), "far": to_us(now + timedelta(seconds=LONGEST_S)),
              **named, **(_of(scope) if scope else {})}  # fmt: skip
    sql = CLAIM.format(
        kinds=", ".join(f":{n}" for n in named),
        scope=OF_SCOPE if scope else "",
        one_by_one=", ".join(f"'{kind}'" for kind in ONE_BY_ONE),
    )
    with store.write(durable=False) as connection:
        row = connection.exec_driver_sql(sql, values).first()
    if row is None:
        return None
    job = _job(row)
    if job.tries > TRIES:  # each time its worker ended in the middle
        _end(store, job, FAILED, f"its worker ended {TRIES} times in the middle of it")
        return claim(store, names, owner=owner, lease_s=lease_s, scope=scope)
    return job


def _of(scope: Scope) -> dict[str, str]:
    return {"user": scope.user, "conversation": scope.conversation, "run": scope.run}


def done(store: Store, job: Job, outcome: Outcome | None = None) -> bool:
    """End a job with what it came to. False: what it was made from changed meanwhile, so it is queued again.

    Raises StaleAppend where the lease ran out and somebody else has the job; nothing is then written.
    """
    came = outcome or Outcome()
    with store.write() as connection:
        if not came.unchanged(connection):
            _write_end(connection, store, job, QUEUED, "what it was made from changed meanwhile", untried=1)
            return False
        _write_end(connection, store, job, DONE, "")
        came.commit(connection)
    return True


def end_along(connection: Connection, store: Store, job: Job, state: str = DONE, reason: str = "") -> None:
    """End a job in the transaction that writes its result; then return `Outcome(ended=state)`.

    Raises StaleAppend where somebody else has the job by now; the transaction must then write nothing.
    """
    _write_end(connection, store, job, state, reason)


def fail_along(connection: Connection, store: Store, job: Job, keys: Iterable[int], reason: str) -> None:
    """Jobs of the same kind and run that wait stand as failed too, for this one's answer was about these as well."""
    mine = (JOB.c[name] == value for name, value in _of(job.scope).items())
    waiting = update(JOB).where(JOB.c.state == QUEUED, JOB.c.kind == job.kind, JOB.c.key.in_(map(str, keys)), *mine)
    connection.execute(waiting.values(state=FAILED, reason=_kept(store, reason), ended_us=to_us(store.clock())))


def failed(store: Store, job: Job, reason: str, *, for_good: bool = False) -> bool:
    """It did not work. True if it is tried again, later each time; False: it stands as failed now."""
    again = not for_good and job.tries < TRIES
    wait_s = min(FIRST_S * 2 ** (job.tries - 1), LONGEST_S)
    _end(store, job, QUEUED if again else FAILED, reason, delay_s=wait_s if again else 0.0)
    return again


def jobs(store: Store, *, user: str | None = None, state: str | None = None) -> list[Job]:
    """The queue, what is due first at the top; what is done last."""
    query = select(JOB)
    if user is not None:
        query = query.where(JOB.c.user == user)
    if state is not None:
        query = query.where(JOB.c.state == state)
    with store.read() as connection:
        found = [_job(row) for row in connection.execute(query.order_by(JOB.c.due_us, JOB.c.id))]
    return sorted(found, key=lambda job: (RUNNING, QUEUED, FAILED, DONE).index(job.state))


def of_run(store: Store, scope: Scope) -> list[Job]:
    """All jobs of one run, in the order in which they were queued."""
    mine = (JOB.c[name] == value for name, value in _of(scope).items())
    with store.read() as connection:
        return [_job(row) for row in connection.execute(select(JOB).where(*mine).order_by(JOB.c.id))]


def is_due(store: Store, kind: str) -> bool:
    """Whether a worker would find one of this kind now; costs a small query."""
    with store.read() as connection:
        mine = (JOB.c.kind == kind, JOB.c.state.in_((QUEUED, RUNNING)), JOB.c.due_us <= to_us(store.clock()))
        return connection.scalar(select(JOB.c.id).where(*mine).limit(1)) is not None


def next_due(store: Store, kinds: Iterable[str], scope: Scope) -> datetime | None:
    """When the next queued job of this run is due, perhaps long since; None: there is none."""
    mine = (JOB.c[name] == value for name, value in _of(scope).items())
    query = select(func.min(JOB.c.due_us)).where(JOB.c.state == QUEUED, JOB.c.kind.in_(list(kinds)), *mine)
    with store.read() as connection:
        due = connection.scalar(query)
    return None if due is None else from_us(due)


def hurry(store: Store, kinds: Iterable[str], scope: Scope) -> None:
    """What is queued of this run and waits for its next try is due now."""
    mine = (JOB.c[name] == value for name, value in _of(scope).items())
    late = update(JOB).where(JOB.c.state == QUEUED, JOB.c.kind.in_(list(kinds)), *mine)
    with store.write(durable=False) as connection:
        connection.execute(late.where(JOB.c.due_us > (now := to_us(store.clock()))).values(due_us=now))


def retry(store: Store, job: int) -> None:
    """Queue a job again that stands as failed. Raises NotFound if none such has this number."""
    now = to_us(store.clock())
    mine = update(JOB).where(JOB.c.id == job, JOB.c.state == FAILED)
    with store.write() as connection:
        if not connection.execute(mine.values(state=QUEUED, tries=0, due_us=now)).rowcount:
            raise NotFound(f"no failed job has the number {job}; `workbench jobs` lists them")


def _end(store: Store, job: Job, state: str, reason: str, *, delay_s: float = 0.0, untried: int = 0) -> None:
    with store.write() as connection:
        _write_end(connection, store, job, state, reason, delay_s=delay_s, untried=untried)


def _write_end(
    connection: Connection, store: Store, job: Job, state: str, reason: str, *, delay_s: float = 0.0, untried: int = 0
) -> None:
    now = store.clock()
    ended = connection.exec_driver_sql(END, {
        "state": state, "due": to_us(now + timedelta(seconds=delay_s)), "reason": _kept(store, reason),
        "untried": untried, "ended": to_us(now) if state in (DONE, FAILED) else 0, "id": job.id, "owner": job.owner,
    })  # fmt: skip
    if not ended.rowcount:
        raise StaleAppend(f"{job} was taken over by another worker, or deleted; nothing was written")


def _kept(store: Store, reason: str) -> str:
    """What a provider says of a failure may repeat the key."""
    return store.redactor(clean(reason))[0]


def _give_back(store: Store) -> None:
    """Jobs whose worker's process is seen to be gone are due at once."""
    with store.read() as connection:
        running = connection.execute(select(JOB.c.id, JOB.c.owner).where(JOB.c.state == RUNNING, JOB.c.until_us > 0))
        dead = [(row.id, row.owner) for row in running if is_gone(row.owner)]
    for number, owner in dead:
        with store.write(durable=False) as connection:
            connection.exec_driver_sql(BEAT, {"until": 0, "id": number, "owner": owner})


def _job(row: Any) -> Job:
    scope = Scope(row.user, row.conversation, row.run)
    return Job(row.id, row.kind, scope, row.key, row.version, row.state, row.tries, from_us(row.due_us),
               from_us(row.queued_us), row.reason, row.owner)  # fmt: skip


# ── a worker ──────────────────────────────────────────────────────────────────────────────────────────


def work(
    store: Store,
    does: Mapping[str, Does],
    *,
    limit: int | None = None,
    follow: bool = False,
    until: Callable[[], bool] = lambda: False,
    told: Callable[[Job, str], None] = lambda job, state: None,
    queue: Callable[[Store], object] | None = None,
    lease_s: float = LEASE_S,
    scope: Scope | None = None,
) -> Worked:
    """Do what is due, until nothing is, or `limit` jobs were begun, or `until()`. `follow`: wait for more.

    `does` says how, by kind; other kinds, and with a `scope` other runs, are left to other workers. `queue(store)`
    may queue jobs before each look. `told` hears of each job that ended, with its state now.
    """
    sums = Worked()
    begun = 0
    while not until() and (limit is None or begun < limit):
        if queue is not None:
            queue(store)
        job = claim(store, does, lease_s=lease_s, scope=scope)
        if job is None:
            if not follow:
                break
            time.sleep(POLL_S)
            continue
        begun += 1
        state = _run(store, job, does[job.kind], lease_s)
        name = {DONE: "done", FAILED: "failed"}.get(state, "again")
        sums = replace(sums, **{name: getattr(sums, name) + 1})
        told(job, state)
    left = (job for job in jobs(store, state=QUEUED) if job.kind in does and scope in (None, job.scope))
    return replace(sums, waiting=sum(1 for _ in left))


def _run(store: Store, job: Job, do: Does, lease_s: float) -> str:
    """Returns the job's state now."""
    ended = False
    try:
        with beating(partial(_beat, store, job, lease_s), lease_s / 3):
            outcome = do(store, job)
        state = outcome.ended or (DONE if done(store, job, outcome) else QUEUED)
        ended = True
    except StaleAppend:  # deleted or changed under it, or no longer ours
        with suppress(StaleAppend):
            _end(store, job, QUEUED, "what it was made from changed meanwhile", untried=1)
        state, ended = QUEUED, True
    except EngineError as error:
        state, ended = _after(store, job, error), True
    finally:
        if not ended:  # interrupted: somebody else goes on at once
            with suppress(StoreError):
                _end(store, job, QUEUED, job.reason, untried=1)
    return state


def _after(store: Store, job: Job, error: EngineError) -> str:
    try:
        return QUEUED if failed(store, job, f"{type(error).__name__}: {error}") else FAILED
    except StaleAppend:
        return QUEUED  # another worker has it


def _beat(store: Store, job: Job, lease_s: float) -> None:
    """While it runs, its lease does not run out."""
    until = to_us(store.clock() + timedelta(seconds=lease_s))
    with suppress(StoreError), store.write(durable=False) as connection:
        connection.exec_driver_sql(BEAT, {"until": until, "id": job.id, "owner": job.owner})


# ── embed: the vectors of a closed page ───────────────────────────────────────────────────────────────


def embedding(embedder: Embeds) -> Does:
    """How `embed` is done: the texts on the page, its bookmark and the questions asked meanwhile get vectors."""

    def embed(store: Store, job: Job) -> Outcome:
        stream = store.stream(job.scope)
        generation = store.generation()
        seq = int(job.version.rpartition("@")[2])  # of its closing, or its newest bookmark
        found = [] if stream is None else rows_of_page(store, stream, int(job.key), seq)
        for question in (False, True):
            texts = list(dict.fromkeys(row.embeds for row in found if row.embeds and row.question is question))
            for start in range(0, len(texts), BATCH):
                part = texts[start : start + BATCH]
                embedded(store, embedder, part, question=question, generation=generation)
        return Outcome()  # the vectors are kept already, each by its own text

    return embed


def queue_embedding(store: Store, embedder: Named) -> int:
    """Queue `embed` for each page that closed, or got another bookmark, since this was last asked. Returns how many.

    The log is what is not lost: how far it was looked through is committed with the jobs. Raises OtherEmbedder.
    """
    made_by = maker(store)
    if made_by is not None:
        check_same(made_by, embedder)
    mark, new, more = f"queued:{EMBED}:{embedder.identity}", 0, True
    while more:
        pages, at, upto, more = _pages_after(store, mark)
        if upto == at:
            break
        wanted = [(EMBED, scope, str(page), f"{embedder.identity}@{seq}") for (scope, page), seq in pages.items()]
        with store.write() as connection:
            if _marked(connection, mark) != at:
                more = True  # another worker was faster
                continue
            new += enqueue_all(connection, wanted, store.clock())
            connection.execute(insert(META).prefix_with("OR REPLACE"), [{"key": mark, "value": str(upto)}])
    return new


def _marked(connection: Connection, mark: str) -> int:
    return int(connection.scalar(select(META.c.value).where(META.c.key == mark)) or 0)


def _pages_after(store: Store, mark: str) -> tuple[dict[tuple[Scope, int], int], int, int, bool]:
    """Pages with something new to embed, each with the seq of the newest of it; from where to where; is there more."""
    columns = [EVENT.c[name] for name in ("seq", "version", "step", "at_us", "kind", "kind_version", "body")]
    kinds = (PageClosed.__name__, BookmarkMade.__name__)
    found: dict[tuple[Scope, int], int] = {}
    with store.read() as connection:
        at = _marked(connection, mark)
        top = int(connection.scalar(select(func.max(EVENT.c.seq))) or 0)
        upto = min(max(at, top), at + EVENTS)
        query = (
            select(*columns, STREAM.c.user, STREAM.c.conversation, STREAM.c.run)
            .join(STREAM, STREAM.c.id == EVENT.c.stream)
            .where(EVENT.c.seq > at, EVENT.c.seq <= upto, EVENT.c.kind.in_(kinds))
            .order_by(EVENT.c.seq)
        )
        for row in connection.execute(query):
            body = event_of(row).body
            assert isinstance(body, PageClosed | BookmarkMade)
            found[Scope(row.user, row.conversation, row.run), body.page] = row.seq
    return found, at, upto, upto < top
