"""Memory work by a model as jobs: queued in the transaction in which a page closes, done after the reply.

So a crash loses none of it, and no reply waits for it. The engine has a thread for the jobs of its conversation while
there are any; `Engine.work` and `workbench work` do them as well. An answer commits with the end of its job, or not
at all: nobody asks twice for what is written. A model that cannot be reached is asked again later and later; what
cannot be read, or will not get better, stands as failed with its reason, and what a rule made stays.

What is asked, and how an answer is read, is in work.py; the queue in stores/jobs.py.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory import naming
from memory.calling import TRIES, Caller
from memory.errors import ConversationBusy, EngineError, ModelError
from memory.events import Body, PageClosed, TurnMarked
from memory.keywords import Improved, Unreadable
from memory.learning import MOST as LEARNED_AT_ONCE
from memory.learning import learn_by_model
from memory.longterm import LongTerm, heard_of
from memory.models.backoff import is_worth_another_try
from memory.pager import Pager
from memory.pages import Page
from memory.remembering import Remembering, waiting
from memory.scope import LIVE, Scope
from memory.settings import Settings
from memory.state import State
from memory.stores import jobs
from memory.stores.jobs import BOOKMARK, DONE, FACTS, FAILED, SUMMARY, Job, Outcome
from memory.stores.lease import leased
from memory.work import (
    Asked,
    asking,
    improve,
    keywords_of,
    log_asked,
    memory_llm,
    namer,
    note_unreadable,
    put_summary,
    summary_of,
    wants_bookmark,
    wants_summary,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from memory.stores.journal import SqlJournal
    from memory.stores.sql import Store

logger = logging.getLogger(__name__)

WAIT_S = 60.0  # for a step of the conversation to end, before an answer is written
UNREADABLE = "the model's answer could not be used"
BATCH = 20  # pages in one call
LOOK_S = 0.1  # how soon the end of the program is seen


@dataclass(frozen=True)
class Worked:
    """What memory work came to: page numbers."""

    improved: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()  # what the rule made stays
    changed: tuple[int, ...] = ()  # meanwhile, so that the answer no longer fits
    again: tuple[int, ...] = ()  # the model could not be reached; it is asked again later


@dataclass(slots=True)
class _Did:
    improved: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    again: list[int] = field(default_factory=list)

    @property
    def pages(self) -> int:
        return sum(map(len, (self.improved, self.failed, self.changed, self.again)))

    @property
    def worked(self) -> Worked:
        return Worked(*(tuple(sorted(set(pages))) for pages in (self.improved, self.failed, self.changed, self.again)))


# ── what is queued ────────────────────────────────────────────────────────────────────────────────────

Wants = Callable[[Page, Settings], bool]
KINDS: dict[str, Wants] = {BOOKMARK: wants_bookmark, SUMMARY: wants_summary}  # about a page
ALL = (*KINDS, FACTS)


def wanted(bodies: Sequence[Body], after: State) -> list[tuple[str, str, str]]:
    """Jobs that these records give rise to, as (kind, page, version); `after` is their fold.

    A page that closes is to be done, and one whose mark was taken back, for it has a rule's bookmark again.
    """
    pages: dict[int, Page] = {}
    for body in bodies:
        if isinstance(body, PageClosed):
            pages[body.page] = after.pages[body.page]
        elif isinstance(body, TurnMarked) and not body.important:
            pages |= {page.number: page for page in after.pages_of(body.turn)}
    return [_job(kind, page, after) for page in pages.values() for kind in KINDS if KINDS[kind](page, after.settings)]


def _job(kind: str, page: Page, state: State) -> tuple[str, str, str]:
    return kind, str(page.number), f"{_maker(kind, state.settings)}@{state.version}"


def _maker(kind: str, settings: Settings) -> str:
    return {BOOKMARK: settings.bookmarks, SUMMARY: "llm"}[kind]


def queueing(
    store: Store, scope: Scope, queued: Callable[[], None]
) -> Callable[[Connection, Sequence[Body], State], None]:
    """What a journal writes along with its records: their jobs. `queued` hears that there are any."""

    def along(connection: Connection, bodies: Sequence[Body], after: State) -> None:
        if found := wanted(bodies, after):
            jobs.enqueue_all(connection, ((kind, scope, key, version) for kind, key, version in found), store.clock())
            queued()

    return along


def queue_left(store: Store, scope: Scope, state: State) -> None:
    """Pages that nobody queued: closed under other settings, say. Where a model failed once, the rule's stays."""
    left = [(kind, p) for kind, wants in KINDS.items() for p in state.pages.values() if wants(p, state.settings)]
    if not left:
        return
    open_jobs = (job for job in jobs.of_run(store, scope) if job.state != DONE)
    known = {(job.kind, job.key, job.version.partition("@")[0]) for job in open_jobs}
    new = [(k, p) for k, p in left if (k, str(p.number), _maker(k, state.settings)) not in known]
    with store.write() as connection:
        lines = (_job(kind, page, state) for kind, page in new)
        jobs.enqueue_all(connection, ((kind, scope, key, version) for kind, key, version in lines), store.clock())


def look_at_what_waits(store: Store) -> None:
    """Turns that nobody looked at for facts, for they were not due and their engine was never closed.

    Those of a conversation that somebody has in hand are left to them.
    """
    for stream in store.streams():
        scope = stream.scope
        if scope.run != LIVE or store.knowledge(scope.user).learned.get(scope.conversation, 0) >= stream.turns:
            continue
        pager = Pager(store.journal(scope), clock=store.clock, redactor=store.redactor)
        with suppress(ConversationBusy), leased(pager.journal, 0):  # type: ignore[arg-type]
            pager.refresh()
            remembering = Remembering(store, scope, pager)
            remembering.finish()
            if remembering.behind:
                logger.warning("turns of %s wait to be looked at: %s", scope, remembering.behind)


# ── how it is done ────────────────────────────────────────────────────────────────────────────────────


class _Doing:
    """Does the jobs of any run of a store, each with a pager of its own; not shared between threads."""

    def __init__(self, store: Store, caller: Caller, tries: int, most: int, did: _Did) -> None:
        self._store, self._caller, self._tries, self._most, self.did = store, caller, tries, most, did
        self._pagers: dict[Scope, Pager] = {}

    def _pager(self, scope: Scope) -> Pager:
        if scope not in self._pagers:
            self._pagers = {scope: Pager(self._store.journal(scope), clock=self._store.clock)}  # one state is enough
        pager = self._pagers[scope]
        pager.refresh()
        return pager

    def bookmark(self, store: Store, job: Job) -> Outcome:
        """A model's keywords for the page; with `llm_batch`, for all that wait, in one call."""
        pager, number = self._pager(job.scope), int(job.key)
        settings, asked = pager.state.settings, Asked()
        page = pager.state.pages.get(number)
        if page is None or not wants_bookmark(page, settings):
            return Outcome()  # done with another page, by a person, or no longer wanted
        llm = namer(page, settings)
        mine = [page]
        if settings.bookmarks == "llm_batch":
            mine = [p for p in self._waiting(job, pager) if namer(p, settings) == llm][: self._most]
        others = {p.number: naming.summary(pager, p) for p in pager.state.pages.values() if p.closed and p.bookmark}
        try:
            outcomes = keywords_of(pager, mine, others, self._caller, asked, tries=self._tries)
        except ModelError as error:
            return self._not_answered(job, pager, [p.number for p in mine], llm, asked, error)
        unread: dict[int, str] = {}
        with _held(pager):
            log_asked(pager, BOOKMARK, llm, asked)
            for outcome in outcomes:
                if isinstance(outcome, Unreadable):
                    note_unreadable(pager, BOOKMARK, outcome.pages, llm, outcome.reason, outcome.raw)
                    unread |= dict.fromkeys(outcome.pages, f"{UNREADABLE}: {outcome.reason}")
                else:
                    self._take(pager, mine, outcome)
            self.did.failed += unread
            return self._commit(pager, job, unread)

    def summary(self, store: Store, job: Job) -> Outcome:
        """A model's summary of the page, in place of the extract."""
        pager, number = self._pager(job.scope), int(job.key)
        settings, asked = pager.state.settings, Asked()
        page = pager.state.pages.get(number)
        if page is None or not wants_summary(page, settings):
            return Outcome()
        llm = memory_llm(settings, SUMMARY)
        try:
            told = summary_of(pager, page, self._caller, asked, tries=self._tries)
        except ModelError as error:
            return self._not_answered(job, pager, [number], llm, asked, error)
        with _held(pager):
            log_asked(pager, SUMMARY, llm, asked)
            if isinstance(told, Unreadable):
                note_unreadable(pager, SUMMARY, told.pages, llm, told.reason, told.raw)
                self.did.failed.append(number)
                return self._commit(pager, job, {number: f"{UNREADABLE}: {told.reason}"})
            (self.did.improved if put_summary(pager, page, told) else self.did.changed).append(number)
            return self._commit(pager, job, {})

    def facts(self, store: Store, job: Job) -> Outcome:
        """What the turns hold that nobody looked at yet; rules look at them where the model's answer is unreadable."""
        pager, asked = self._pager(job.scope), Asked()
        settings, scope = pager.state.settings, job.scope
        llm = memory_llm(settings, FACTS)
        memory = LongTerm(store, scope.user, scope.conversation, settings=settings, clock=store.clock)
        turns = list(waiting(pager, memory.knowledge.learned.get(scope.conversation, 0)))[:LEARNED_AT_ONCE]
        if not turns or settings.remember != "llm":
            return Outcome()
        heard = list(heard_of(turns, scope.conversation, pager.journal.words))
        if not llm:  # another model is set by now
            memory.learn(heard, memory.knowledge.version)
            return Outcome()
        try:
            failed = learn_by_model(memory, heard, asking(self._caller, settings, llm, asked, tries=self._tries), llm)
        except ModelError as error:
            if job.tries >= jobs.TRIES or not is_worth_another_try(error):
                memory.note_unread(heard[-1], by=llm, reason=str(error), raw="", seen=memory.knowledge.version)
                memory.learn(heard, memory.knowledge.version)  # no turn is left out
            return self._not_answered(job, pager, [], llm, asked, error)
        with _held(pager):
            log_asked(pager, FACTS, llm, asked)
            key = int(job.key)
            return self._commit(pager, job, {key: f"{UNREADABLE}: {failed}"} if failed else {})

    def _waiting(self, job: Job, pager: Pager) -> list[Page]:
        """The job's page, then all that wait for the same."""
        keys = {j.key for j in jobs.of_run(self._store, job.scope) if j.kind == job.kind and j.state == jobs.QUEUED}
        pages = (pager.state.pages.get(int(key)) for key in [job.key, *sorted(keys - {job.key}, key=int)])
        return [page for page in pages if page and wants_bookmark(page, pager.state.settings)]

    def _take(self, pager: Pager, pages: Sequence[Page], outcome: Improved) -> None:
        old = next(page for page in pages if page.number == outcome.page)
        (self.did.improved if improve(pager, old, outcome) else self.did.changed).append(outcome.page)

    def _not_answered(
        self, job: Job, pager: Pager, pages: list[int], llm: str, asked: Asked, error: ModelError
    ) -> Outcome:
        """In the log, whatever comes of it; raised where it is worth another try, else the job ends as failed."""
        last = job.tries >= jobs.TRIES or not is_worth_another_try(error)
        reason = f"{type(error).__name__}: {error}"
        with _held(pager):
            log_asked(pager, job.kind, llm, asked)
            if last:
                note_unreadable(pager, job.kind, (int(job.key),), llm, reason)
                self.did.failed.append(int(job.key))
                return self._commit(pager, job, {int(job.key): reason})
            pager.commit()
        self.did.again += pages
        raise error

    def _commit(self, pager: Pager, job: Job, failed: Mapping[int, str]) -> Outcome:
        """What came of it and the end of its job, both or none. `failed`: pages, and why."""
        journal: SqlJournal = pager.journal  # type: ignore[assignment]
        state = FAILED if int(job.key) in failed else DONE

        def ends(connection: Connection, bodies: Sequence[Body], after: State) -> None:
            jobs.end_along(connection, self._store, job, state, failed.get(int(job.key), ""))
            for page, reason in failed.items():
                jobs.fail_along(connection, self._store, job, [page], reason)

        journal.along = ends
        try:
            pager.commit()
        finally:
            journal.along = None
        return Outcome(ended=state)


@contextmanager
def _held(pager: Pager) -> Iterator[None]:
    with leased(pager.journal, WAIT_S):  # type: ignore[arg-type]
        pager.refresh()
        yield


def does(
    store: Store, caller: Caller | None = None, *, tries: int = 1, most: int = BATCH, did: _Did | None = None
) -> dict[str, jobs.Does]:
    """How these jobs are done, by kind, for `stores.jobs.work`; not shared between threads.

    `caller`: how models are called; by default with the keys of the environment. `most`: pages in one call.
    """
    doing = _Doing(store, caller or Caller(), tries, most, did or _Did())
    return {BOOKMARK: doing.bookmark, SUMMARY: doing.summary, FACTS: doing.facts}


# ── the thread of an engine ───────────────────────────────────────────────────────────────────────────


class Worker:
    """Does what is queued of one run: in a thread that lives while there is something, or now."""

    def __init__(self, store: Store, scope: Scope, caller: Callable[[], Caller]) -> None:
        self._store, self._scope, self._caller = store, scope, caller
        self._at_work = threading.Lock()  # one job at a time
        self._state = threading.Lock()
        self._thread: threading.Thread | None = None
        self._more = False
        self._closed = threading.Event()

    def wake(self) -> None:
        """There may be something to do."""
        with self._state:
            self._more = True
            if self._thread is None and not self._closed.is_set():
                # No daemon: see sync.Following. It ends with its job when the program does.
                self._thread = threading.Thread(target=self._run, name="memory work", daemon=False)
                self._thread.start()

    def now(self, most: int) -> Worked:
        """Do what is queued of up to `most` pages in this thread, those too that wait for another try."""
        did = _Did()
        with self._at_work:
            jobs.hurry(self._store, ALL, self._scope)
            doing = does(self._store, self._caller(), tries=TRIES, most=min(most, BATCH), did=did)
            jobs.work(self._store, doing, until=lambda: did.pages >= most, scope=self._scope)
        return did.worked

    def close(self) -> None:
        """Begin no other job, and wait for the one in hand."""
        self._closed.set()
        with self._state:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        doing = does(self._store, self._caller())
        while self._takes_up():
            try:
                with self._at_work:
                    jobs.work(self._store, doing, until=self._is_over, scope=self._scope)
                self._rest()
            except EngineError as error:  # it stays queued; the next step meets the same fault, and tells it
                logger.warning("memory work of %s waits: %s", self._scope, error)

    def _takes_up(self) -> bool:
        with self._state:
            if self._more and not self._is_over():
                self._more = False
                return True
            self._thread = None
            return False

    def _rest(self) -> None:
        """Until the next try is due, if there is one."""
        due = jobs.next_due(self._store, ALL, self._scope)
        if due is None:
            return
        wait_s = max(jobs.POLL_S, (due - self._store.clock()).total_seconds())  # due, and not ours: another is at it
        until = time.monotonic() + min(wait_s, jobs.LONGEST_S)
        while not self._more and not self._closed.wait(LOOK_S) and not self._is_over():
            if time.monotonic() >= until:
                self._more = True

    def _is_over(self) -> bool:
        return self._closed.is_set() or not threading.main_thread().is_alive()
