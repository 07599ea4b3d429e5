"""Whether the store agrees with itself: file, logs, heads, snapshots, words, and what is derived.

`verify` changes nothing. `rebuild` makes all that is derived anew; afterwards `verify` finds nothing, unless the
truth itself is damaged, which only a backup can mend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select, text, update

from memory.errors import StoreDamaged, StoreError, StoreLocked, StoreReadOnly
from memory.events import (
    Body,
    BookmarkMade,
    ConversationStarted,
    Event,
    ExtraKept,
    MemoryWorkFailed,
    MessageReceived,
    MessageReplied,
    ModelCalled,
    ModelFailed,
    PagesRecalled,
    PagesRetrieved,
    PageSummarised,
    PromptAssembled,
    QuestionLabelled,
    RepliesCompared,
    StubsArranged,
    TextRedacted,
)
from memory.fact_events import FactWritten, SummaryWritten, TextRefused, TurnRemembered
from memory.show import Shown, rows, table
from memory.stores.files import CACHE_FILE, INDEX_FOLDER, LOG_FILE, derived_lock, drop_derived
from memory.stores.folds import CONVERSATION, Fold, fold_for
from memory.stores.journal import save_snapshot
from memory.stores.tables import EVENT, SNAPSHOT, STREAM, TEXT, Stream
from memory.turns import Turn

if TYPE_CHECKING:
    from memory.stores.sql import Store


LOCK_S = 5.0


@dataclass(frozen=True)
class Verification(Shown):
    """What was counted, and everything that contradicts itself."""

    path: str
    faults: tuple[str, ...]
    streams: int
    events: int
    words: int
    snapshots: int
    derived_events: int  # fewer than `events`: the file is behind, which is no fault
    derived_words: int
    index_rows: dict[str, int] = field(default_factory=dict)  # in vectors.lance, by table
    vectors: dict[str, Any] = field(default_factory=dict)  # embedder, wanted, there, missing, other, changed

    @property
    def ok(self) -> bool:
        return not self.faults

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}

    def __repr__(self) -> str:
        told = "no fault" if self.ok else f"{len(self.faults)} faults, the first: {self.faults[0]}"
        return f"<Verification of {self.path!r}: {self.events:,} events in {self.streams:,} runs, {told}>"

    def _html(self) -> str:
        counted = {
            "runs": self.streams,
            "events": self.events,
            "words": self.words,
            "snapshots": self.snapshots,
            f"events in {LOG_FILE}": self.derived_events,
            f"words in {LOG_FILE}": self.derived_words,
            **{f"{name} in {INDEX_FOLDER}": n for name, n in self.index_rows.items()},
            **{f"vectors: {name}": n for name, n in self.vectors.items()},
        }
        box = rows("No fault found." if self.ok else f"{len(self.faults)} faults", counted)
        return box if self.ok else box + table(["fault"], [[fault] for fault in self.faults])


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What was made anew from the log."""

    streams: int
    snapshots: int
    events: int  # in events.duckdb
    words: int
    rows: int  # in vectors.lance

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def verify(store: Store) -> Verification:
    """Check everything against everything. Reads the whole store; a fault is told, never raised."""
    from memory.stores.log import compare  # loads duckdb

    faults = check(store)
    derived_events, derived_words, differences = compare(store)
    index_rows, vectors, strange = _compare_index(store)
    sampled, unhealthy = _vectors_of_texts(store)
    vectors = {**vectors, **sampled}
    return Verification(
        path=str(store.path),
        faults=(*faults, *differences, *strange, *unhealthy),
        **{name: _count(store, name) for name in ("streams", "events", "words", "snapshots")},
        derived_events=derived_events,
        derived_words=derived_words,
        index_rows=index_rows,
        vectors=vectors,
    )


def _compare_index(store: Store) -> tuple[dict[str, int], dict[str, Any], list[str]]:
    if not (store.path / INDEX_FOLDER).exists():
        return {}, {}, []  # and lancedb stays unloaded
    from memory.stores import vectors

    try:
        with derived_lock(store.path, LOCK_S):  # nobody writes it meanwhile, or it cannot be written at all
            index_rows, health, faults = vectors.compare(store)
    except StoreError as error:  # the truth cannot be read, which `check` has told, or the cache of vectors
        return {}, {}, [str(error)]
    return index_rows, {**asdict(health), "missing": health.missing}, faults


def _vectors_of_texts(store: Store) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Vectors against their texts, a sample of them embedded again; nothing where none was made."""
    if not (store.path / CACHE_FILE).exists():
        return {}, ()
    from memory.stores.vector_health import vector_health

    found = vector_health(store)
    told = {"embedded again": found.sampled, "of another text": found.mismatched, "twins": found.twin_texts}
    return told | ({"note": found.note} if found.note else {}), found.faults


def _count(store: Store, name: str) -> int:
    """-1: the file does not even let itself be counted; `check` has told why."""
    counted = {"streams": STREAM, "events": EVENT, "words": TEXT, "snapshots": SNAPSHOT}[name]
    try:
        with store.read() as connection:
            return int(connection.scalar(select(func.count()).select_from(counted)) or 0)
    except StoreError:
        return -1


# ── the truth ─────────────────────────────────────────────────────────────────────────────────────────

# Rows that belong to nobody, or to another one than their run says.
STRAYS = {
    "events of no run": "SELECT count(*) FROM event WHERE stream NOT IN (SELECT id FROM stream)",
    "events of another user or conversation than their run": (
        "SELECT count(*) FROM event e JOIN stream s ON s.id = e.stream "
        'WHERE e."user" <> s."user" OR e.conversation <> s.conversation'
    ),
    "words of a conversation that does not exist": (
        "SELECT count(*) FROM text t WHERE NOT EXISTS "
        '(SELECT 1 FROM stream s WHERE s."user" = t."user" AND s.conversation = t.conversation)'
    ),
    "jobs of a conversation that does not exist": (
        "SELECT count(*) FROM job j WHERE NOT EXISTS "
        '(SELECT 1 FROM stream s WHERE s."user" = j."user" AND s.conversation = j.conversation)'
    ),
}


def check(store: Store) -> list[str]:
    """Everything in the truth that contradicts itself."""
    try:
        with store.read() as connection:
            said = connection.execute(text("PRAGMA integrity_check")).scalars()
            faults = [f"file: {line}" for line in said if line != "ok"]
            for what, count in STRAYS.items():
                if n := connection.scalar(text(count)):
                    faults.append(f"{n} {what}")
        streams = store.streams(own=True)
    except StoreError as error:
        return [f"file: {error}"]
    for stream in streams:
        faults += [f"{stream.scope}: {fault}" for fault in _check_stream(store, stream)]
    return faults


def _check_stream(store: Store, stream: Stream) -> Iterator[str]:
    try:
        events = store.events_of(stream, 0, stream.version)
        snapshots = dict(_snapshots(store, stream))
        versions = [e.version for e in events]
        if versions != list(range(1, stream.version + 1)):
            missing = next(i for i in range(1, stream.version + 1) if versions[i - 1 : i] != [i])
            yield f"version {missing} of {stream.version} is missing in the log"
            return
        folding = fold_for(stream.scope)
        state = folding.empty()
        for state in folded(events, folding):
            kept = snapshots.pop(state.version, state)
            if kept != state:
                yield f"the snapshot at version {state.version} differs from the log; run `workbench rebuild`"
        for version in snapshots:
            yield f"a snapshot at version {version}, which the log has not; run `workbench rebuild`"
        yield from _check_head(stream, state)
        yield from _check_words(store, stream, events)
    except StoreError as error:
        yield str(error)


def _check_head(stream: Stream, state: Any) -> Iterator[str]:
    told = fold_for(stream.scope).head(state)
    head = {name: getattr(stream, name) for name in told}
    if head != told:
        yield f"its head says {head}, the log says {told}; run `workbench rebuild`"


def _check_words(store: Store, stream: Stream, events: Iterable[Event]) -> Iterator[str]:
    wanted = {i for event in events for i in words_of(event.body)} - {0}
    lost = wanted - store.words(stream.scope).keys()
    lost -= store.words(stream.scope, sorted(lost)).keys()  # those of what is remembered about the user
    if lost:
        yield f"{len(lost)} texts that its log mentions are missing, the first is {min(lost)}"


def _snapshots(store: Store, stream: Stream) -> Iterator[tuple[int, Any]]:
    folding = fold_for(stream.scope)
    query = select(SNAPSHOT.c.version, SNAPSHOT.c.state).where(
        SNAPSHOT.c.stream == stream.id, SNAPSHOT.c.fold_version == folding.version
    )
    with store.read() as connection:
        kept = connection.execute(query).all()
    for version, raw in kept:
        yield version, folding.load(raw)


def folded(events: Iterable[Event], folding: Fold = CONVERSATION) -> Iterator[Any]:
    """The state after each event. Raises StoreDamaged where one speaks of what never was."""
    state = folding.empty()
    for event in events:
        try:
            state = folding.apply(state, event)
        except KeyError as error:
            raise StoreDamaged(f"version {event.version}, {event.kind}, speaks of {error}, which never was") from error
        yield state


def words_of(body: Body) -> Iterable[int]:
    """The ids of all words that a record mentions; 0 stands for none."""
    mentions = _MENTIONS.get(type(body))
    return mentions(body) if mentions else ()


def _turn(body: MessageReceived | MessageReplied) -> Iterable[int]:
    turn: Turn = body.turn
    return (turn.text, *(call.arguments for call in turn.calls))


def _prompt(body: PromptAssembled) -> Iterable[int]:
    for _, _, _, _, _, calls, *parts in body.messages:
        yield from parts
        yield from (arguments for _, _, arguments in calls)


_MENTIONS: dict[type[Body], Callable[[Any], Iterable[int]]] = {
    ConversationStarted: lambda b: (b.title, b.system),
    MessageReceived: _turn,
    MessageReplied: _turn,
    TextRedacted: lambda b: (b.text,),
    BookmarkMade: lambda b: (b.bookmark.stub, b.bookmark.keywords, b.bookmark.description),
    PageSummarised: lambda b: (b.gist.text,),
    StubsArranged: lambda b: (r.text for r in b.ranges),
    PagesRecalled: lambda b: (b.question, *(r.text for r in b.opened)),
    PagesRetrieved: lambda b: (b.question,),
    QuestionLabelled: lambda b: (b.question, b.answer),
    ExtraKept: lambda b: (b.text,),
    RepliesCompared: lambda b: (b.question, b.memory, b.plain),
    PromptAssembled: _prompt,
    ModelCalled: lambda b: (b.reply, *(c.arguments for c in b.calls)),
    ModelFailed: lambda b: (b.partial,),
    MemoryWorkFailed: lambda b: (b.raw,),
    FactWritten: lambda b: (b.fact.text, b.fact.subject, b.fact.attribute, b.fact.value, b.fact.tags),
    TurnRemembered: lambda b: (b.raw, *(o.text for o in b.outcomes)),
    SummaryWritten: lambda b: (b.summary.text,),
    TextRefused: lambda b: (b.raw,),
}


# ── made anew ─────────────────────────────────────────────────────────────────────────────────────────


def rebuild(store: Store, wait_s: float = 30.0) -> Rebuilt:
    """Drop heads, snapshots, `events.duckdb` and `vectors.lance`, and make them from the log.

    Vectors themselves are kept: `workbench reindex` makes those that are missing.
    """
    from memory.stores.log import drain  # loads duckdb
    from memory.stores.vectors import feed  # loads lancedb

    if store.readonly:
        raise StoreReadOnly(f"{store.path} was opened read-only; open it writable to rebuild it")
    streams = store.streams(own=True)
    snapshots = sum(remake_head(store, stream) for stream in streams)
    with derived_lock(store.path, wait_s) as ours:
        if not ours:
            raise StoreLocked(f"another process writes {LOG_FILE} for more than {wait_s:g} s; try again")
        drop_derived(store.path)
        drained = drain(store)
        fed = [feed(store)]
        while fed[-1].more and not fed[-1].skipped:
            fed.append(feed(store))
    for file, skipped in ((LOG_FILE, drained.skipped), (INDEX_FOLDER, fed[-1].skipped)):
        if skipped:
            raise StoreError(f"{file} could not be made: {skipped}")
    return Rebuilt(len(streams), snapshots, drained.events, drained.words, sum(each.rows for each in fed))


def rebuild_heads(store: Store) -> int:
    """Make heads and snapshots from the log again. Returns how many runs."""
    streams = store.streams(own=True)
    for stream in streams:
        remake_head(store, stream)
    return len(streams)


def remake_head(store: Store, stream: Stream) -> int:
    """Head and snapshots of one run from its log. Returns how many snapshots were made."""
    folding = fold_for(stream.scope)
    while True:
        before, kept = folding.empty(), []
        for state in folded(store.events_of(stream), folding):
            if state.version > stream.parent_version and folding.is_due(before, state):
                kept.append((state.version, folding.dump(state)))
            before = state
        with store.write() as connection:
            own = EVENT.c.stream == stream.id
            last = connection.scalar(select(func.max(EVENT.c.version)).where(own)) or stream.parent_version
            if last != before.version:
                continue  # somebody wrote meanwhile
            connection.execute(delete(SNAPSHOT).where(SNAPSHOT.c.stream == stream.id))
            connection.execute(update(STREAM).where(STREAM.c.id == stream.id).values(**folding.head(before)))
            for version, raw in kept:
                save_snapshot(connection, stream.id, version, folding.version, raw)
            return len(kept)
