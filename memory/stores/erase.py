"""Erasing: what one user said about a topic goes, wherever its words stand, and stays gone. There is no undo.

Three steps. A *preview* names what would go and what stays. `carry_out` takes it out of the truth in one transaction:
sentences are blanked, bookmarks lose their keywords, facts their digests; one record says so without a word of it
(`TextErased`). Then nothing of the bytes stays: free pages, write-ahead log, derived stores, vectors. A crash after
the transaction is taken up when the store is next opened (`care.wipe`).

Sentences go, not whole rows: the rest of a long message stays useful, and spans, tokens and pages stay where they
were. Other users' rows are never touched, whatever words stand in them. Backups that the program made, in the store's
folder or elsewhere, are cleaned first: if it ends there, the words stand in the truth, and the next try finds them.
Exports, and backups that were moved since, are out of reach: the preview says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection, delete, insert, select, text, update

from memory.amend import fact_of
from memory.errors import BadMessage, ConversationBusy, NotFound, StaleAppend, StaleFact
from memory.events import BookmarkMade, Event, encode
from memory.fact_events import TextErased
from memory.facts import Fact
from memory.knowledge import Knowledge, apply
from memory.language import sentences, terms
from memory.pages import Page
from memory.scope import Scope
from memory.show import Shown, small, table
from memory.show import rows as box
from memory.stores import care, embedded, lines
from memory.stores.files import INDEX_FOLDER, LOG_FILE
from memory.stores.folds import fold_for
from memory.stores.lease import is_gone
from memory.stores.tables import EVENT, JOB, LEASE, SNAPSHOT, STREAM, TEXT, Stream, event_of, generation_of, to_us
from memory.topic import Topic, beside, filled, gone, is_topic, keywords_without, without

if TYPE_CHECKING:
    from memory.stores.sql import Store

TRIES = 20  # while others write
SMALL_NUMBER = re.compile(r"\W*\d{1,2}\W*")
TELLING = 3  # search terms from which a sentence is looked for elsewhere, word by word
# Fields of records that hold words of people or models; all others hold ids, figures and names of ours.
FREE = frozenset(
    {"asked", "bookmark_key", "message", "note", "operation", "reason", "ref", "retired", "speaker", "title", "why",
     "why_important"}
)  # fmt: skip
DIGESTS = ("key", "value_key")


@dataclass(frozen=True)
class ErasePreview(Shown):
    """What an erase would take, and what it leaves. Looking at it changes nothing; `carry_out` does it."""

    user: str
    topic: Topic  # with it sentences go that name it; for facts by number: their own words
    facts: tuple[int, ...]
    told: tuple[str, ...]  # the facts in words, in the same order
    forms: dict[str, int]  # how the topic is written, and how often
    texts: int
    turns: tuple[tuple[str, int], ...]  # conversation and number, each once
    bookmarks: int
    records: int
    beside: tuple[str, ...]  # words that only begin or end like it; they stay
    names: tuple[str, ...]  # of conversations, that hold it; they stay
    backups: tuple[str, ...]  # to be cleaned: in the store's folder, or where they were written
    lost: tuple[str, ...]  # backups that are not there now, are in use as a store, or cannot be written to; they stay
    token: str  # of exactly this
    asked: tuple[tuple[str, ...], tuple[int, ...]]  # phrases, and facts by number
    store: Store = field(repr=False, compare=False)

    @property
    def empty(self) -> bool:
        return not (self.facts or self.texts or self.records)

    def carry_out(self, *, by: str = "user") -> Erased:
        """Do it. Raises StaleFact if something else would go by now, ConversationBusy while a reply is being made."""
        if self.empty:
            raise NotFound(f"nothing of {self.user}'s says {str(self.topic)!r}: there is nothing to erase")
        return _carry_out(self, by)

    def wider(self) -> ErasePreview | None:
        """For facts by number: with them all else that says their values. None where nothing else does.

        Its `topic` names the values; what it takes beyond this preview is the difference between the two.
        """
        phrases, numbers = self.asked
        values = () if phrases else _values(self.store, self.user, numbers)
        found = erase(self.store, self.user, *values, facts=numbers) if values else None
        return found if found is not None and found.token != self.token else None

    def to_dict(self) -> dict[str, Any]:
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("topic", "asked", "store")}
        return own | {"topic": list(self.topic.phrases), "facts": [f"f{n}" for n in self.facts]}

    def __repr__(self) -> str:
        return f"<ErasePreview of {small(str(self.topic), 60)!r} for {self.user}: {self.summary}>"

    @property
    def summary(self) -> str:
        return (
            f"{len(self.facts)} facts, {self.texts} texts ({len(self.turns)} turns), {self.bookmarks} bookmarks, "
            f"{self.records} records"
        )

    def _html(self) -> str:
        head = box(f"To be erased for good: {self.topic}", {"facts": len(self.facts), "texts": self.texts,
                   "turns": len(self.turns), "bookmarks": self.bookmarks, "records": self.records})  # fmt: skip
        named = zip(self.facts, self.told, strict=True)
        stays = [["a word that only contains it", w] for w in self.beside]
        stays += [["a conversation's name", n] for n in self.names] + [["a backup out of reach", n] for n in self.lost]
        stays += [["exports, and copies that somebody made", "as they are"]]
        return head + table(["fact", "what"], [[f"f{n}", w] for n, w in named]) + table(["stays", ""], stays)


@dataclass(frozen=True, slots=True)
class Erased:
    """What went. No word of it is kept, not even here."""

    facts: tuple[int, ...]
    texts: int
    records: int
    bookmarks: int
    vectors: int  # taken out of the cache
    backups: tuple[str, ...]  # that were cleaned
    generation: int  # of the store from now on

    def to_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"facts": [f"f{n}" for n in self.facts]}


def erase(store: Store, user: str, *topics: str, facts: Sequence[int] = ()) -> ErasePreview:
    """What would go if this user's words about the topics, or these facts, were erased; several phrases are one topic.

    Raises BadMessage without any filter: nothing erases all there is by an oversight.
    """
    if not topics and not facts:
        raise BadMessage("say what to erase: a topic such as 'peanut', or facts such as f3")
    known = store.knowledge(user)
    with store.read() as truth:
        plan = _plan(store, truth, user, known, topics, facts)
    return plan.preview(store)


def _values(store: Store, user: str, numbers: Sequence[int]) -> tuple[str, ...]:
    """What these facts say of something, in words that tell a topic: a name, a thing, a sum; no mere 40."""
    known, words = store.knowledge(user), store.words(Scope.own(user))
    said = (words.get(fact_of(known, n).value, "") for n in numbers)
    return tuple(dict.fromkeys(each for each in said if is_topic(each) and not SMALL_NUMBER.fullmatch(each)))


# ── what would go ─────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Plan:
    """Rows as they would be. Made in the transaction that writes them, or in one that only looks."""

    user: str
    asked: tuple[tuple[str, ...], tuple[int, ...]]
    topic: Topic
    wide: Topic  # with whole sentences that say the facts and do not name it
    facts: tuple[Fact, ...]
    before: Mapping[int, str]  # all of the user's texts
    texts: dict[int, str] = field(default_factory=dict)  # those that change
    records: dict[int, str] = field(default_factory=dict)
    jobs: dict[int, str] = field(default_factory=dict)  # reasons
    turns: tuple[tuple[str, int], ...] = ()
    bookmarks: int = 0
    names: tuple[str, ...] = ()

    def preview(self, store: Store) -> ErasePreview:
        changed_ones = [self.before[i] for i in self.texts]
        return ErasePreview(
            self.user, self.topic, tuple(f.id for f in self.facts),
            tuple(small(self.before.get(f.text, ""), 160) for f in self.facts),
            self.topic.forms(changed_ones), len(self.texts), self.turns, self.bookmarks, len(self.records),
            tuple(sorted(beside(self.topic, self.before.values()))), self.names,
            tuple(store.name_of(p) for p in _reached(store)), tuple(map(str, store.lost_copies())), self.token,
            self.asked, store,
        )  # fmt: skip

    @property
    def token(self) -> str:
        told = [sorted(self.texts.items()), sorted(self.records.items()), [f.id for f in self.facts]]
        return blake2b(orjson.dumps(told), digest_size=16).hexdigest()


def _plan(
    store: Store, truth: Connection, user: str, known: Knowledge, topics: Sequence[str], numbers: Sequence[int]
) -> _Plan:
    found = truth.execute(select(TEXT.c.id, TEXT.c.content).where(TEXT.c.user == user))
    before = {row.id: row.content for row in found}
    named = Topic.of(*topics) if topics else None
    facts = _facts(known, before, named, numbers)
    spans = _quoted(facts)
    topic = _topic(topics, [known.facts[f.id] for f in facts if f.id in numbers], before)
    wide = _with_sentences(topic, spans, before)
    plan = _Plan(user, (tuple(topics), tuple(numbers)), topic, wide, tuple(facts), before)
    plan.texts = _new_texts(before, wide, spans, known, facts)
    _pages(store, truth, plan, topic)
    plan.texts = {i: content for i, content in sorted(plan.texts.items()) if content != before.get(i, "")}
    plan.records = _new_records(truth, user, topic, {f.id for f in facts})
    plan.jobs = _new_reasons(truth, user, topic)
    plan.names = tuple(sorted({s.scope.conversation for s in store.streams(user) if s.scope.conversation in topic}))
    return plan


def _facts(known: Knowledge, words: Mapping[int, str], topic: Topic | None, numbers: Sequence[int]) -> list[Fact]:
    """Those named by number, and those with the topic in their words."""
    wanted = {fact_of(known, n).id for n in numbers}
    for fact in known.facts.values():
        own = (words.get(i, "") for i in _words_of(fact) if i)
        if topic is not None and any(each in topic for each in own):
            wanted.add(fact.id)
    return [known.facts[n] for n in sorted(wanted) if known.facts[n].state != "erased"]


def _quoted(facts: Iterable[Fact]) -> dict[int, list[tuple[int, int]]]:
    """By text, the spans that say these facts."""
    spans: dict[int, list[tuple[int, int]]] = {}
    for fact in facts:
        for source in fact.sources:
            spans.setdefault(source.text, []).append((source.start, max(source.end, source.start + 1)))
    return spans


def _topic(topics: Sequence[str], by_number: Sequence[Fact], words: Mapping[int, str]) -> Topic:
    own = [words.get(fact.text, "") for fact in by_number]
    return Topic.of(*topics, *(text_ for text_ in own if terms(text_)))


def _with_sentences(topic: Topic, spans: Mapping[int, Sequence[tuple[int, int]]], words: Mapping[int, str]) -> Topic:
    """The topic, and whole sentences that say the facts without naming it: they may stand in copies of a turn."""
    said = (
        words[i][start:end]
        for i, quotes in spans.items()
        for start, end in sentences(words.get(i, ""))
        if any(a < end and start < b for a, b in quotes)
    )
    return Topic.of(*topic.phrases, *(each for each in said if each not in topic and len(terms(each)) >= TELLING))


def _new_texts(
    before: Mapping[int, str], topic: Topic, spans: Mapping[int, Sequence[tuple[int, int]]], known: Knowledge,
    facts: Sequence[Fact],
) -> dict[int, str]:  # fmt: skip
    new = {i: without(content, topic, spans.get(i, ())) for i, content in before.items()}
    mine = {f.id for f in facts}
    shared = {i for f in known.facts.values() if f.id not in mine for i in _words_of(f)}
    for i in {i for f in facts for i in (f.text, *set(_words_of(f)) - shared)} - {0}:  # whole, however they word it
        new[i] = filled(before.get(i, ""), [(0, len(before.get(i, "")))])
    return {i: content for i, content in new.items() if content != before.get(i)}


def _words_of(fact: Fact) -> tuple[int, ...]:
    return (fact.text, fact.value, fact.attribute, fact.subject, fact.tags)


# ── pages, whose bookmarks are made of their words ────────────────────────────────────────────────────


def _pages(store: Store, truth: Connection, plan: _Plan, topic: Topic) -> None:
    """Bookmarks of touched pages keep what still stands on the page; range stubs lose the same keywords."""
    touched: set[int] = set()
    turns: dict[tuple[str, int], None] = {}
    dropped: set[str] = set()
    for stream in store.streams(plan.user):
        made = _bookmarks(truth, stream)
        for page in store.fold_of(stream).pages.values():
            mine = [t for t in page.turns if t.text in plan.texts]
            turns |= dict.fromkeys((stream.scope.conversation, t.number) for t in mine)
            lost = _lost(page, plan) if mine else frozenset()
            for body in made.get(page.number, ()):
                touched |= _rewrite(plan, body, _drops(topic, lost), dropped)
    for i, content in plan.before.items():
        if content.startswith("[p") and "-p" in content:
            plan.texts[i] = keywords_without(plan.texts.get(i, content), dropped.__contains__)
    plan.turns, plan.bookmarks = tuple(turns), len(touched)


def _bookmarks(truth: Connection, stream: Stream) -> dict[int, list[BookmarkMade]]:
    """By page, every bookmark that it ever had in this run."""
    columns = [EVENT.c[n] for n in ("seq", "version", "step", "at_us", "kind", "kind_version", "body")]
    mine = select(*columns).where(EVENT.c.stream == stream.id, EVENT.c.kind == BookmarkMade.__name__)
    found: dict[int, list[BookmarkMade]] = {}
    for body in (event_of(row).body for row in truth.execute(mine)):
        assert isinstance(body, BookmarkMade)
        found.setdefault(body.page, []).append(body)
    return found


def _lost(page: Page, plan: _Plan) -> frozenset[str]:
    before = [plan.before.get(t.text, "") for t in page.turns]
    return gone(before, [plan.texts.get(t.text, plan.before.get(t.text, "")) for t in page.turns])


def _drops(topic: Topic, lost: frozenset[str]) -> Callable[[str], bool]:
    return lambda words: words in topic or not lost.isdisjoint(terms(words))


def _rewrite(plan: _Plan, body: BookmarkMade, drop: Callable[[str], bool], dropped: set[str]) -> set[int]:
    """Ids of the words that changed."""
    mark, changed = body.bookmark, set()
    for i in (mark.keywords, mark.stub):
        content = plan.before.get(i, "")
        left = keywords_without(content, drop)
        if left != content:
            dropped |= {k for k in plan.before.get(mark.keywords, "").split(",") if drop(k)}
            changed.add(i)
        plan.texts[i] = left
    told = plan.before.get(mark.description, "")
    spans = [(a, b) for a, b in sentences(told) if drop(told[a:b])]
    if spans:
        changed.add(mark.description)
        plan.texts[mark.description] = filled(told, spans)
    plan.texts.pop(0, None)
    return {mark.stub} if changed else set()


# ── records and jobs ──────────────────────────────────────────────────────────────────────────────────


def _new_records(truth: Connection, user: str, topic: Topic, facts: set[int]) -> dict[int, str]:
    """Records that hold words themselves, and those of erased facts without their digests."""
    new: dict[int, str] = {}
    for row in truth.execute(select(EVENT.c.seq, EVENT.c.kind, EVENT.c.body).where(EVENT.c.user == user)):
        written = row.kind == "FactWritten"
        if not written and row.body not in topic:
            continue
        body = orjson.loads(row.body)
        after = _freed(body, topic)
        if written and after["fact"]["id"] in facts:
            after = {**after, "fact": {**after["fact"], **dict.fromkeys(DIGESTS, "")}}
        if after != body:
            new[row.seq] = orjson.dumps(after).decode()
    return new


def _freed(value: Any, topic: Topic, *, free: bool = False) -> Any:
    """The same, its free texts without the topic."""
    if isinstance(value, str):
        return without(value, topic) if free else value
    if isinstance(value, list):
        return [_freed(each, topic, free=free) for each in value]
    if isinstance(value, dict):
        return {name: _freed(each, topic, free=name in FREE) for name, each in value.items()}
    return value


def _new_reasons(truth: Connection, user: str, topic: Topic) -> dict[int, str]:
    found = truth.execute(select(JOB.c.id, JOB.c.reason).where(JOB.c.user == user))
    return {row.id: without(row.reason, topic) for row in found if row.reason in topic}


# ── carried out ───────────────────────────────────────────────────────────────────────────────────────


def _carry_out(preview: ErasePreview, by: str) -> Erased:
    store, user, (topics, numbers) = preview.store, preview.user, preview.asked
    store.open_stream(Scope.own(user))
    cleaned: list[str] = []
    for _ in range(TRIES):
        mark, known = _mark(store), store.knowledge(user)
        with store.read() as looking:
            plan = _plan(store, looking, user, known, topics, numbers)
        if plan.token != preview.token:
            raise StaleFact("something else would go by now than the preview showed: look at it again, then confirm")
        cleaned += [store.name_of(p) for p in _reached(store) if _clean_copy(p, plan)]
        with store.write() as truth:
            if mark == _mark(store):  # and stays so, for nobody else writes until this is over
                _refuse_steps(truth, user, to_us(store.clock()))
                _write(truth, plan, user)
                _append(truth, store.require(Scope.own(user)), known, _record(plan, by, store.clock()))
                care.begin_wipe(truth)
                break
    else:
        raise StaleAppend("others wrote all the while: try again when they are done")
    lines.take_out(store.path, lambda raw, words: raw["user"] == user and without(words, plan.wide) != words)
    return _finish(store, plan, cleaned)


def _mark(store: Store) -> tuple[int, ...]:
    """Another one means that somebody wrote."""
    with store.read() as truth:
        counted = "SELECT max(seq), (SELECT max(rev) FROM text), (SELECT max(id) FROM stream) FROM event"
        return (generation_of(truth), *(int(n or 0) for n in truth.exec_driver_sql(counted).one()))


def _reached(store: Store) -> list[Path]:
    lost = store.lost_copies()
    return [file for file in store.copies() if file not in lost]


def _clean_copy(file: Path, plan: _Plan) -> bool:
    return care.clean_copy(file, plan.user, plan.texts, plan.records, lambda words: without(words, plan.wide))


def _record(plan: _Plan, by: str, at: datetime) -> TextErased:
    return TextErased(tuple(plan.texts), tuple(plan.records), tuple(f.id for f in plan.facts), by, at)


def _refuse_steps(truth: Connection, user: str, now_us: int) -> None:
    """A step in the making holds words in its hands, and would write them after us."""
    mine = select(STREAM.c.conversation, LEASE.c.owner).where(
        STREAM.c.user == user, LEASE.c.stream == STREAM.c.id, LEASE.c.until_us > now_us
    )
    busy = [row.conversation for row in truth.execute(mine) if not is_gone(row.owner)]
    if busy:
        raise ConversationBusy(f"a reply is being made in {busy[0]!r}: erase when it is finished")


def _write(truth: Connection, plan: _Plan, user: str) -> None:
    mine = {"whose": user}
    for sql, rows in (
        ("UPDATE text SET content = :new WHERE id = :id AND user = :whose", plan.texts),
        ("UPDATE event SET body = :new WHERE seq = :id AND user = :whose", plan.records),
        ("UPDATE job SET reason = :new WHERE id = :id AND user = :whose", plan.jobs),
    ):
        if rows:
            truth.execute(text(sql), [mine | {"id": i, "new": content} for i, content in rows.items()])
    own = select(STREAM.c.id).where(STREAM.c.user == user)
    truth.execute(delete(SNAPSHOT).where(SNAPSHOT.c.stream.in_(own)))
    # Work in hand was made from what stood there: its result is refused, and it is done again.
    running = (JOB.c.user == user, JOB.c.state == "running")
    truth.execute(update(JOB).where(*running).values(state="queued", owner="", until_us=0))


def _append(truth: Connection, stream: Stream, known: Knowledge, body: TextErased) -> None:
    version, now_us = stream.version + 1, to_us(body.at)
    after = apply(known, Event(0, version, 0, body.at, body))
    row = {"stream": stream.id, "version": version, "user": stream.scope.user,
           "conversation": stream.scope.conversation, "step": 0, "turn": None, "kind": body.kind,
           "kind_version": body.version, "at_us": now_us, "body": encode(body)}  # fmt: skip
    truth.execute(insert(EVENT), [row])
    head = fold_for(stream.scope).head(after) | {"last_us": now_us}
    truth.execute(update(STREAM).where(STREAM.c.id == stream.id).values(**head))


def _finish(store: Store, plan: _Plan, cleaned: Sequence[str]) -> Erased:
    """Everything that is made of the words: snapshots, free bytes, derived stores, vectors."""
    from memory.stores.verify import remake_head

    had = {name: (store.path / name).exists() for name in (LOG_FILE, INDEX_FOLDER)}
    for stream in store.streams(plan.user, own=True):
        remake_head(store, stream)
    care.wipe(store.file)
    vectors = embedded.prune(store)
    if any(had.values()):
        from memory.stores.sync import sync

        sync(store, wait_s=30, index=had[INDEX_FOLDER])
    return Erased(
        tuple(f.id for f in plan.facts), len(plan.texts), len(plan.records), plan.bookmarks, vectors,
        tuple(dict.fromkeys(cleaned)), store.generation(),
    )  # fmt: skip
