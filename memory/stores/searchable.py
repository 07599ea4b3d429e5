"""What of the log can be searched, as rows: turns, pages, bookmarks, facts, retrievals, evictions, each with its text.

Made from the log alone, a batch of events at a time, with the same rows at the end however the batches fell. A row
that has something to embed says which text: a turn that of the exchange which begins with it, a bookmark its
keywords, a retrieval its question. Not here: vectors (embedded.py), the index (vectors.py).

A row's id names its place, so a row that comes again replaces the one before: a turn's when its exchange is
complete, a bookmark's when there is a better one, a fact's with the version at which it changed last (BUGS: a stale
index). A branch has rows for its own records only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, select

from memory.events import (
    Body,
    BookmarkMade,
    Event,
    MessageReceived,
    MessageReplied,
    PageClosed,
    PageEvicted,
    PagesRetrieved,
)
from memory.exchanges import Line, exchanges
from memory.fact_events import FactRevised, FactSourced, FactWeighed, FactWritten, TextErased
from memory.facts import Fact
from memory.knowledge import Knowledge, fold
from memory.stores.folds import FACTS
from memory.stores.tables import EVENT, SNAPSHOT, STREAM, TEXT, Stream, event_of, stream_of, to_us
from memory.turns import Turn, Words

if TYPE_CHECKING:
    from memory.stores.sql import Store

TABLES = ("turns", "pages", "bookmarks", "retrievals", "evictions", "facts")
MESSAGES = (MessageReceived.__name__, MessageReplied.__name__)
OF_FACTS = (FactWritten, FactRevised, FactSourced, FactWeighed, TextErased)
KINDS = (*MESSAGES, *(k.__name__ for k in (PageClosed, BookmarkMade, PagesRetrieved, PageEvicted, *OF_FACTS)))
COLUMNS = [EVENT.c[name] for name in ("seq", "stream", "version", "step", "at_us", "kind", "kind_version", "body")]
AT_ONCE = 500  # ids in one query


@dataclass(frozen=True, slots=True)
class Row:
    """One row of one table. `embeds` is the text that its vector stands for; "" where it has none."""

    table: str
    values: dict[str, Any]
    embeds: str = ""

    @property
    def hash(self) -> str:
        return digest(self.embeds, question=self.question) if self.embeds else ""

    @property
    def question(self) -> bool:
        """Some embedders read a question otherwise than what is stored."""
        return self.table == "retrievals"


def digest(text: str, *, question: bool = False) -> str:
    """Names a text and how it is embedded: 32 hexadecimal digits of blake2b."""
    return blake2b(text.encode(), digest_size=16, person=b"question" if question else b"passage").hexdigest()


# ── from the store ────────────────────────────────────────────────────────────────────────────────────


def rows_between(connection: Connection, after: int, upto: int) -> list[Row]:
    """What the events with seq in (after, upto] add or replace; all of one moment, the caller's transaction."""
    query = select(*COLUMNS).where(EVENT.c.seq > after, EVENT.c.seq <= upto, EVENT.c.kind.in_(KINDS))
    by_stream: dict[int, list[Event]] = {}
    for row in connection.execute(query.order_by(EVENT.c.seq)):
        by_stream.setdefault(row.stream, []).append(event_of(row))
    found: list[Row] = []
    for number, events in by_stream.items():
        stream = _stream(connection, number)
        if stream is None:
            continue  # deleted; the generation says so to whoever follows
        if stream.scope.is_own:
            found += _facts(connection, stream, events[0].version - 1, events[-1].version)
            continue
        page = _open_page(connection, stream, events[0].version - 1)
        words = _words(connection, page.texts | {i for e in events for i in _texts(e.body)})
        found += _rows(stream, page, events, words)
    return found


def rows_of(store: Store, stream: Stream, upto: int | None = None) -> list[Row]:
    """All rows of one run, made at once; those that its events up to and with this seq make."""
    with store.read() as connection:
        query = select(*COLUMNS).where(EVENT.c.stream == stream.id, EVENT.c.kind.in_(KINDS))
        if upto is not None:
            query = query.where(EVENT.c.seq <= upto)
        events = [event_of(row) for row in connection.execute(query.order_by(EVENT.c.version))]
        if not events:
            return []
        if stream.scope.is_own:
            return list(_facts(connection, stream, 0, events[-1].version))
        page = _open_page(connection, stream, events[0].version - 1)
        words = _words(connection, page.texts | {i for e in events for i in _texts(e.body)})
    return list({(row.table, row.values["id"]): row for row in _rows(stream, page, events, words)}.values())


def rows_of_page(store: Store, stream: Stream, number: int, upto: int | None = None) -> list[Row]:
    """Those of one closed page: its turns, its bookmark, and the questions asked while it grew. [] if it is open.

    `upto`: a seq soon after it closed, where that is known; then nothing later is read.
    """
    with store.read() as connection:
        last = stream.version if upto is None else _version_at(connection, stream, upto)
        at, begin = _closing(connection, stream, number, last)
        if not at:
            return []
        query = select(*COLUMNS).where(
            EVENT.c.stream == stream.id, EVENT.c.version > begin, EVENT.c.version <= last, EVENT.c.kind.in_(KINDS)
        )
        events = [event_of(row) for row in connection.execute(query.order_by(EVENT.c.version))]
        mine = [e for e in events if e.version <= at or _is_bookmark_of(e.body, number)]
        page = _open_page(connection, stream, begin)
        words = _words(connection, page.texts | {i for e in mine for i in _texts(e.body)})
    return list({(row.table, row.values["id"]): row for row in _rows(stream, page, mine, words)}.values())


def _version_at(connection: Connection, stream: Stream, seq: int) -> int:
    query = select(func.max(EVENT.c.version)).where(EVENT.c.stream == stream.id, EVENT.c.seq == seq)
    return int(connection.scalar(query) or stream.version)


def _closing(connection: Connection, stream: Stream, number: int, last: int) -> tuple[int, int]:
    """The version that closed the page, and the one that closed the page before; 0, 0 if it is open."""
    mine = (EVENT.c.stream == stream.id, EVENT.c.version <= last, EVENT.c.kind == PageClosed.__name__)
    at = 0
    for row in connection.execute(select(*COLUMNS).where(*mine).order_by(EVENT.c.version.desc())):
        event = event_of(row)  # one after the other, backwards: what is asked for closed of late
        if at:
            return at, event.version
        if isinstance(event.body, PageClosed) and event.body.page == number:
            at = event.version
    return at, stream.parent_version if at else 0


def _is_bookmark_of(body: Body, page: int) -> bool:
    return isinstance(body, BookmarkMade) and body.page == page


def _stream(connection: Connection, number: int) -> Stream | None:
    row = connection.execute(select(STREAM).where(STREAM.c.id == number)).first()
    return None if row is None else stream_of(row)


def _words(connection: Connection, ids: Iterable[int]) -> Words:
    wanted = sorted(set(ids) - {0})
    known = {0: ""}
    for start in range(0, len(wanted), AT_ONCE):
        query = select(TEXT.c.id, TEXT.c.content).where(TEXT.c.id.in_(wanted[start : start + AT_ONCE]))
        known |= {row.id: row.content for row in connection.execute(query)}
    return lambda text: known.get(text, "")  # words that are missing are verify's to name


def _texts(body: Body) -> tuple[int, ...]:
    if isinstance(body, MessageReceived | MessageReplied):
        return (body.turn.text,)
    if isinstance(body, BookmarkMade):
        return (body.bookmark.stub, body.bookmark.keywords, body.bookmark.description)
    return (body.question,) if isinstance(body, PagesRetrieved) else ()


# ── the page that grows ───────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _OpenPage:
    """The page that grows, with the turns on it so far; `own` is false for those that a branch took over."""

    number: int = 1
    turns: list[tuple[Event, Turn, bool]] = field(default_factory=list)
    told: int = 0  # so many of the turns have their rows

    @property
    def texts(self) -> set[int]:
        return {turn.text for _, turn, _ in self.turns}

    def add(self, event: Event, *, own: bool = True) -> None:
        if isinstance(event.body, MessageReceived | MessageReplied):
            self.turns.append((event, event.body.turn, own))


def _open_page(connection: Connection, stream: Stream, version: int) -> _OpenPage:
    """As it stood after this version of the run: every turn on it has its row, every complete exchange too."""
    page = _taken_over(connection, stream) if stream.parent is not None else _OpenPage()
    mine = EVENT.c.stream == stream.id
    closed = select(*COLUMNS).where(mine, EVENT.c.version <= version, EVENT.c.kind == PageClosed.__name__)
    last = connection.execute(closed.order_by(EVENT.c.version.desc()).limit(1)).first()
    begin = 0
    if last is not None:
        event = event_of(last)
        assert isinstance(event.body, PageClosed)
        page, begin = _OpenPage(event.body.page + 1), event.version
    said = select(*COLUMNS).where(mine, EVENT.c.version > begin, EVENT.c.version <= version, EVENT.c.kind.in_(MESSAGES))
    for row in connection.execute(said.order_by(EVENT.c.version)):
        page.add(event_of(row))
    page.told = len(page.turns)
    return page


def _taken_over(connection: Connection, stream: Stream) -> _OpenPage:
    """The page that a branch goes on with."""
    parent = _stream(connection, stream.parent or 0)
    if parent is None:
        return _OpenPage()
    page = _open_page(connection, parent, stream.parent_version)
    return _OpenPage(page.number, [(event, turn, False) for event, turn, _ in page.turns], page.told)


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────


def _rows(stream: Stream, page: _OpenPage, events: Sequence[Event], words: Words) -> Iterator[Row]:
    for event in events:
        page.add(event)
        if isinstance(event.body, PageClosed):
            yield from _turns(stream, page, words, closed=True)
            yield _page(stream, page, event, event.body, words)
            page = _OpenPage(event.body.page + 1)
        elif make := _MAKE.get(type(event.body)):
            yield make(stream, event, event.body, words)
    yield from _turns(stream, page, words, closed=False)


def _row(table: str, stream: Stream, event: Event, place: str, embeds: str = "", **values: Any) -> Row:
    own = {"id": f"{stream.id}:{place}", "seq": event.seq, "user": stream.scope.user,
           "conversation": stream.scope.conversation, "run": stream.scope.run, "stream": stream.id,
           "step": event.step, "happened_at": to_us(event.at)}  # fmt: skip
    return Row(table, own | values, embeds)


def _turns(stream: Stream, page: _OpenPage, words: Words, *, closed: bool) -> Iterator[Row]:
    """One row a turn, on the page of its first piece, and one for what else a vector begins with.

    Rows are made of what is new since `told`: turns, and exchanges that were not complete then.
    """
    lines = [Line.of(turn, words) for _, turn, _ in page.turns]
    before = {(each.turn, each.part) for each in exchanges(lines[: page.told], closed=False)}
    made = {(each.turn, each.part): each for each in exchanges(lines, closed=closed)}
    begun = {turn.number: (event, turn, own) for event, turn, own in reversed(page.turns)}
    fresh = {turn.number for _, turn, _ in page.turns[page.told :]}
    page.told = len(page.turns)
    places = {(number, 0) for number in fresh} | (made.keys() - before)
    for number, part in sorted(places):
        event, turn, own = begun[number]
        each = made.get((number, part))
        whole = part == 0 and turn.piece == 0
        if own and (whole or each is not None):
            yield _row(
                "turns", stream, event, f"{page.number}:{number}:{part}", each.text if each else "", turn=number,
                page=page.number, part=part, last_turn=each.last if each else number, role=turn.role,
                speaker=turn.speaker, said_at=to_us(turn.said_at), text=words(turn.text) if whole else None,
            )  # fmt: skip


def _page(stream: Stream, page: _OpenPage, event: Event, body: PageClosed, words: Words) -> Row:
    said = [turn for _, turn, _ in page.turns]
    return _row(
        "pages", stream, event, str(body.page), page=body.page, first_turn=said[0].number if said else 0,
        last_turn=said[-1].number if said else 0, rule=body.rule, importance=body.importance,
        text="\n".join(Line.of(turn, words).labelled for turn in said),
    )  # fmt: skip


def _bookmark(stream: Stream, event: Event, body: BookmarkMade, words: Words) -> Row:
    made = body.bookmark
    keywords, description = words(made.keywords), words(made.description)
    text = ". ".join(part for part in (keywords.replace(",", ", "), description) if part)
    return _row(
        "bookmarks", stream, event, str(body.page), text, page=body.page, keywords=keywords, stub=words(made.stub),
        origin=made.origin, weight=made.weight, text=text,
    )  # fmt: skip


def _retrieval(stream: Stream, event: Event, body: PagesRetrieved, words: Words) -> Row:
    question = words(body.question)
    return _row(
        "retrievals", stream, event, str(event.version), question, version=event.version, asked_by=body.by,
        strategy=body.strategy, chosen=list(body.chosen), considered=len(body.candidates), note=body.note,
        text=question,
    )  # fmt: skip


def _eviction(stream: Stream, event: Event, body: PageEvicted, words: Words) -> Row:
    return _row(
        "evictions", stream, event, str(event.version), version=event.version, page=body.page, policy=body.policy,
        score=body.score, freed_tokens=body.freed_tokens, decided_by=body.decided_by,
        text=": ".join(part for part in (body.cause, body.why) if part),
    )  # fmt: skip


_MAKE: dict[type[Body], Callable[[Stream, Event, Any, Words], Row]] = {
    BookmarkMade: _bookmark,
    PagesRetrieved: _retrieval,
    PageEvicted: _eviction,
}


# ── facts ─────────────────────────────────────────────────────────────────────────────────────────────


def _facts(connection: Connection, stream: Stream, after: int, upto: int) -> Iterator[Row]:
    """One row for each fact that changed at a version in (after, upto], as it stands then."""
    known = _known(connection, stream, upto)
    changed = [f for f in known.facts.values() if f.changed_at > after]
    words = _words(connection, {i for f in changed for i in (f.text, f.attribute, f.value)})
    query = select(EVENT.c.version, EVENT.c.seq, EVENT.c.at_us).where(
        EVENT.c.stream == stream.id, EVENT.c.version > after, EVENT.c.version <= upto
    )
    places = {row.version: (row.seq, row.at_us) for row in connection.execute(query)}
    for fact in changed:
        seq, at_us = places[fact.changed_at]
        yield _fact(stream, fact, seq, at_us, words)


def _fact(stream: Stream, fact: Fact, seq: int, at_us: int, words: Words) -> Row:
    """An erased fact keeps its row, which holds nothing."""
    gone = fact.state == "erased"
    text, attribute, value = ("", "", "") if gone else map(words, (fact.text, fact.attribute, fact.value))
    return Row(
        "facts",
        {"id": f"{stream.id}:{fact.id}", "seq": seq, "user": stream.scope.user, "conversation": fact.conversation,
         "run": stream.scope.run, "stream": stream.id, "step": 0, "happened_at": at_us, "fact": fact.id,
         "layer": fact.layer, "state": fact.state, "kind": fact.kind, "attribute": attribute, "value": value,
         "importance": fact.importance, "believed": bool(fact.believed), "version": fact.changed_at, "text": text},
        text,
    )  # fmt: skip


def _known(connection: Connection, stream: Stream, upto: int) -> Knowledge:
    """The fold up to a version, from the nearest snapshot, all within the caller's transaction."""
    kept = select(SNAPSHOT.c.state).where(
        SNAPSHOT.c.stream == stream.id, SNAPSHOT.c.version <= upto, SNAPSHOT.c.fold_version == FACTS.version
    )
    raw = connection.scalar(kept.order_by(SNAPSHOT.c.version.desc()).limit(1))
    base: Knowledge = FACTS.load(raw) if raw is not None else Knowledge()
    query = select(*COLUMNS).where(EVENT.c.stream == stream.id, EVENT.c.version > base.version, EVENT.c.version <= upto)
    return fold((event_of(row) for row in connection.execute(query.order_by(EVENT.c.version))), base)
