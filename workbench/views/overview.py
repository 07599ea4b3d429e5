"""A store at a glance: its conversations with what happened in them, its users, its files, and whether all is well.

Not a check of everything: `health` looks where a look is quick; `memory.stores.verify` reads the whole store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from shutil import disk_usage
from typing import Any

import psutil

from memory import show
from memory.errors import EngineError
from memory.knowledge import Knowledge
from memory.show import Shown
from memory.stores import census, embedded
from memory.stores.census import Counted, Part
from memory.stores.jobs import DONE, EMBED, FAILED, QUEUED, RUNNING, Job, jobs
from memory.stores.sql import Store, Stream, main_of
from memory.stores.vector_source import embedder_of
from workbench.views.conversations import ConversationRow, conversations

Counts = Callable[[Store, Sequence[Stream]], Mapping[int, Counted]]

OK, QUIET, WARN, BAD = "ok", "quiet", "warn", "bad"  # quiet: nothing to be well or ill
FAILURES = 50  # failed jobs that are named
COPIES = 1.1  # of the truth's size: what a backup needs


# ── conversations ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ConversationFigures:
    """Of the run that a page shows unasked."""

    user: str
    conversation: str
    title: str
    source: str
    run: str
    runs: int
    turns: int
    pages: int  # closed
    evictions: int
    recalls: int
    faults: int
    tokens: int  # of what was said
    running: bool
    last_at: datetime

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


SORTS: dict[str, Callable[[ConversationFigures], Any]] = {
    "title": lambda r: r.title.casefold(),
    "user": lambda r: r.user.casefold(),
    "turns": lambda r: r.turns,
    "pages": lambda r: r.pages,
    "evictions": lambda r: r.evictions,
    "recalls": lambda r: r.recalls,
    "tokens": lambda r: r.tokens,
    "last": lambda r: r.last_at,
}


@dataclass(frozen=True, slots=True)
class StoreTotals:
    path: str
    readonly: bool
    generation: int
    schema: int
    streams: int
    events: int
    seq: int


@dataclass(frozen=True)
class OverviewView(Shown):
    store: StoreTotals
    conversations: tuple[ConversationFigures, ...]  # that changed last comes first

    @property
    def users(self) -> tuple[str, ...]:
        """Whoever was there last comes first."""
        return tuple(dict.fromkeys(row.user for row in self.conversations))

    @property
    def turns(self) -> int:
        return sum(row.turns for row in self.conversations)

    def sorted_by(self, name: str, down: bool) -> tuple[ConversationFigures, ...]:
        """By a column of SORTS; equal ones stay in the order of the last change."""
        return tuple(sorted(self.conversations, key=SORTS[name], reverse=down))

    def __repr__(self) -> str:
        told = f"{len(self.conversations):,} conversations of {len(self.users):,} users, {self.turns:,} turns"
        return f"<Overview of {self.store.path!r}: {told}, {self.store.events:,} events>"

    def _html(self) -> str:
        head = ["user", "conversation", "turns", "pages", "evictions", "recalls", "tokens", "last change (UTC)"]
        body = [
            [r.user, r.title, f"{r.turns:,}", r.pages, r.evictions, r.recalls, f"{r.tokens:,}",
             f"{r.last_at:%Y-%m-%d %H:%M}"]
            for r in self.conversations
        ]  # fmt: skip
        figures = {"conversations": len(body), "users": len(self.users), "events": f"{self.store.events:,}"}
        return show.rows(self.store.path, figures) + show.table(head, body)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """One row a conversation."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.conversations])


def overview(store: Store, counts: Counts = census.counted) -> OverviewView:
    """All conversations of all users. `counts` reads each run's records; a caller may keep what it said."""
    streams = {stream.scope: stream for stream in store.streams()}
    rows = [row for row in conversations(store) if row.scope in streams]
    counted = counts(store, [streams[row.scope] for row in rows])
    whole = census.totals(store)
    told = StoreTotals(
        str(store.path), store.readonly, store.generation(), whole.schema, whole.streams, whole.events, whole.seq
    )
    return OverviewView(told, tuple(_figures(row, counted.get(streams[row.scope].id, Counted())) for row in rows))


def _figures(row: ConversationRow, n: Counted) -> ConversationFigures:
    return ConversationFigures(
        row.user, row.conversation, row.title, row.source, row.main, len(row.runs), row.turns, n.pages, n.evictions,
        n.recalls, n.faults, n.tokens, any(run.running for run in row.runs), row.last_at,
    )  # fmt: skip


def course(store: Store, user: str, conversation: str) -> tuple[int, ...]:
    """Tokens of the prompts of a conversation's main run, step by step; the recording alone has none."""
    return tuple(tokens for _, tokens in census.prompt_tokens(store, main_of(store.streams(user, conversation))))


# ── users ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class UserRow:
    user: str
    conversations: int
    turns: int
    facts: int  # that hold
    conflicts: int  # undecided
    quarantined: int
    remembering: bool
    last_at: datetime

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def user_row(view: OverviewView, user: str, k: Knowledge) -> UserRow:
    own = [row for row in view.conversations if row.user == user]
    states = [fact.state for fact in k.facts.values()]
    return UserRow(
        user, len(own), sum(row.turns for row in own), sum(state in ("active", "conflicted") for state in states),
        len(k.open_conflicts), states.count("quarantined"), k.on, max(row.last_at for row in own),
    )  # fmt: skip


# ── health ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Look:
    """One thing that was looked at; its sentence is `health.<name>.<tone>` of the catalogue, filled with `values`."""

    name: str  # log, index, vectors, queue, disk, backups
    tone: str  # ok, quiet, warn, bad
    values: dict[str, Any]
    command: str = ""  # of ours, that mends it


@dataclass(frozen=True, slots=True)
class ProcessFigures:
    rss_bytes: int
    cpu_ratio: float  # of one core, since the last look
    threads: int
    since: float  # seconds since 1970


@dataclass(frozen=True)
class HealthView(Shown):
    looks: tuple[Look, ...]
    parts: tuple[Part, ...]
    failed: tuple[Job, ...]  # at most FAILURES
    process: ProcessFigures
    free_bytes: int

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)

    @property
    def tone(self) -> str:
        """The worst of all looks."""
        return max((look.tone for look in self.looks), key=(OK, QUIET, WARN, BAD).index, default=QUIET)

    def __repr__(self) -> str:
        told = ", ".join(f"{look.name} {look.tone}" for look in self.looks)
        return f"<Health: {told}; {self.bytes:,} bytes, {self.free_bytes:,} free>"

    def _html(self) -> str:
        body = [[look.name, look.tone, ", ".join(f"{k} {v}" for k, v in look.values.items()), look.command]
                for look in self.looks]  # fmt: skip
        files = [[part.name, f"{part.bytes:,}", "derived" if part.derived else "kept"] for part in self.parts]
        return show.table(["looked at", "", "found", "mended by"], body) + show.table(["file", "bytes", ""], files)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def health(store: Store) -> HealthView:
    """A quick look; the word of the whole is `verify`."""
    files = census.parts(store)
    waiting = census.queue(store)
    usage = disk_usage(store.path)
    truth = next((part.bytes for part in files if not part.derived), 0)
    looks = (
        _log(store),
        _index(store),
        _vectors(store, waiting),
        _queue(waiting),
        Look("disk", OK if usage.free > COPIES * truth else WARN, {"free": usage.free, "need": int(COPIES * truth)}),
        _backups(store),
    )
    return HealthView(looks, tuple(files), tuple(jobs(store, state=FAILED)[:FAILURES]), _process(), usage.free)


def _log(store: Store) -> Look:
    gaps = census.gaps(store)
    whole = census.totals(store)
    values = {"runs": whole.streams, "events": whole.events, "gaps": gaps}
    return Look("log", BAD if gaps else OK, values, "workbench verify" if gaps else "")


def _index(store: Store) -> Look:
    at, last = census.indexed(store), store.last_seq()
    if at is None:
        return Look("index", QUIET, {"behind": last})  # the first search feeds it
    return Look("index", OK if at >= last else QUIET, {"behind": max(0, last - at)})


def _vectors(store: Store, waiting: Mapping[tuple[str, str], int]) -> Look:
    """Whether there are any, whether their embedder is here, whether making some failed."""
    failed, queued = waiting.get((EMBED, FAILED), 0), waiting.get((EMBED, QUEUED), 0)
    try:
        made_by = embedded.maker(store)
        if made_by is None:
            return Look("vectors", QUIET, {"queued": queued}, "workbench reindex")
        values = {"embedder": made_by.name, "vectors": embedded.last(store), "queued": queued, "failed": failed}
        embedder_of(store)
    except EngineError as error:
        return Look("vectors", BAD, {"why": str(error)}, "workbench reindex")
    return Look("vectors", WARN if failed else OK, values, "workbench reindex" if failed else "")


def _queue(waiting: Mapping[tuple[str, str], int]) -> Look:
    by_state = {
        state: sum(n for (_, s), n in waiting.items() if s == state) for state in (QUEUED, RUNNING, FAILED, DONE)
    }
    tone = WARN if by_state[FAILED] else OK if by_state[QUEUED] or by_state[RUNNING] or by_state[DONE] else QUIET
    return Look("queue", tone, by_state, "workbench work" if by_state[QUEUED] else "")


def _backups(store: Store) -> Look:
    copies = store.copies()
    if not copies:
        return Look("backups", QUIET, {}, "workbench backup FILE")
    return Look("backups", OK, {"copies": len(copies), "at": max(copy.stat().st_mtime for copy in copies)})


_SELF = psutil.Process()  # kept: CPU is told since the last look
_ASKING = threading.Lock()


def _process() -> ProcessFigures:
    with _ASKING:
        return ProcessFigures(
            _SELF.memory_info().rss, _SELF.cpu_percent(None) / 100, _SELF.num_threads(), _SELF.create_time()
        )
