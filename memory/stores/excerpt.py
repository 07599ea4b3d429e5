"""Some conversations of one user as a store of their own: for somebody else's eyes, so nothing else is in it.

Rows keep their numbers, so what is said of the one holds of the other. Every text goes through a `Redact`, and so
does every word inside a record. Of what is remembered about the user, facts stay that these conversations told or
read; of the others only that there was one: no word, no digest of a word, no name of another conversation.

Not here: jobs, leases and snapshots; a copy of everything is a backup (care.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection, insert, select, update

from memory.errors import NotFound, StoreError
from memory.events import Event, FactsPlaced
from memory.fact_events import (
    ConflictFound,
    FactRevised,
    FactsChanged,
    FactSourced,
    FactWeighed,
    FactWritten,
    SummaryWritten,
    TextRefused,
    TurnRemembered,
)
from memory.facts import digest
from memory.redaction import Redact, clean, counted
from memory.scope import OWN, Scope
from memory.stores import embedded
from memory.stores.tables import EVENT, META, STREAM, TEXT

if TYPE_CHECKING:
    from memory.stores.sql import Store, Stream

ELSEWHERE = "(another conversation)"  # in place of its name, and of its words
NAMES = ("conversation", "written_in")  # fields that hold the name of one
REASONS = ("why", "reason")  # fields in which a person may have written
AS_THEY_ARE = ("hash", "id", "answers")  # no words


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What went into it, and what was taken out."""

    user: str  # as it stands in the excerpt
    conversations: tuple[str, ...]
    runs: int
    events: int
    texts: int
    vectors: int
    removed: dict[str, int]  # by sort
    facts: int  # with their words
    facts_left_out: int  # of other conversations


def excerpt(store: Store, folder: Path, user: str, conversations: Sequence[str], by: Redact) -> Excerpt:
    """Make a store of these conversations, all their runs, in an empty folder.

    Raises NotFound for a conversation that is not there, StoreError where two would have one name.
    """
    from memory.stores.sql import Store as Opened
    from memory.stores.verify import rebuild_heads

    wanted = tuple(dict.fromkeys(conversations))
    renamed = {name: by(name)[0] for name in wanted}
    if len(set(renamed.values())) < len(wanted):
        raise StoreError(f"without addresses in them, two of {', '.join(wanted)} have one name: take one at a time")
    for name in wanted:
        if not store.streams(user, name):
            raise NotFound(f"no conversation {name!r} of user {user!r} in {store.path}")
    with store.read() as truth, Opened.open(folder, clock=store.clock) as made:
        part = _Part(store, user, wanted, by)
        with made.write() as copy:
            part.into(truth, copy)
        rebuild_heads(made)
        return Excerpt(
            by(user)[0], tuple(renamed.values()), len(part.streams), part.events, part.texts, _vectors(store, made),
            counted(part.counts), len(part.ours.facts), part.ours.left_out,
        )  # fmt: skip


@dataclass(slots=True)
class _Ours:
    """What of the user's own stream these conversations told or read."""

    facts: set[int] = field(default_factory=set)
    changes: set[int] = field(default_factory=set)
    texts: set[int] = field(default_factory=set)
    left_out: int = 0


class _Part:
    def __init__(self, store: Store, user: str, conversations: Collection[str], by: Redact) -> None:
        self.user, self.conversations, self._by = user, conversations, by
        self.streams = [s for name in conversations for s in store.streams(user, name)]
        self.own = store.stream(Scope.own(user))
        self._store = store
        self.events = self.texts = 0
        self.counts: list[dict[str, int]] = []
        self.ours = self._ours()

    def clear(self, text: str) -> str:
        kept, removed = self._by(clean(text))
        if removed:
            self.counts.append(removed)
        return kept

    # ── what is ours ──────────────────────────────────────────────────────────────────────────────────

    def _ours(self) -> _Ours:
        from memory.stores.verify import words_of

        ours = _Ours()
        for stream in self.streams:
            for event in self._store.events_of(stream, after=stream.parent_version):
                ours.texts.update(words_of(event.body))
                if isinstance(event.body, FactsPlaced):
                    ours.facts.update(each.fact for each in event.body.facts if not each.dropped)
        if self.own is None:
            return ours
        own = list(self._store.events_of(self.own))
        written = [e.body.fact for e in own if isinstance(e.body, FactWritten)]
        ours.facts |= {f.id for f in written if any(s.conversation in self.conversations for s in f.sources)}
        ours.facts |= {f.id for f in written if f.written_in in self.conversations}
        ours.facts |= {e.body.fact for e in own if isinstance(e.body, FactSourced) and self._told(e.body.source)}
        ours.facts &= {f.id for f in written}
        ours.left_out = len(written) - len(ours.facts)
        ours.changes = {getattr(e.body, "change", 0) for e in own if self._touches(e, ours.facts)}
        for event in own:
            if self.is_ours(event, ours):
                ours.texts.update(words_of(event.body))
        return ours

    def _told(self, named: Any) -> bool:
        return named.conversation in self.conversations

    def _touches(self, event: Event, facts: Collection[int]) -> bool:
        body = event.body
        if isinstance(body, FactWritten):
            return body.fact.id in facts
        return isinstance(body, FactRevised | FactSourced | FactWeighed) and body.fact in facts

    def is_ours(self, event: Event, ours: _Ours) -> bool:
        """Whether a record of the user's stream may keep its words."""
        body = event.body
        if isinstance(body, TurnRemembered | TextRefused):
            return self._told(body)
        if isinstance(body, SummaryWritten):
            return self._told(body.summary)
        if isinstance(body, FactsChanged):
            return body.change in ours.changes
        if isinstance(body, ConflictFound):
            return ours.facts.issuperset(body.facts)
        return self._touches(event, ours.facts)

    # ── into the other store ──────────────────────────────────────────────────────────────────────────

    def into(self, truth: Connection, copy: Connection) -> None:
        last = self._copy_texts(truth, copy)
        copy.execute(update(META).where(META.c.key == "next_text").values(value=str(last + 1)))
        for stream in sorted((*self.streams, *([self.own] if self.own else [])), key=lambda s: s.id):
            self._copy_stream(truth, copy, stream)

    def _copy_texts(self, truth: Connection, copy: Connection) -> int:
        mine = (TEXT.c.user == self.user, TEXT.c.conversation.in_([*self.conversations, OWN]))
        last = 0
        for row in truth.execute(select(TEXT).where(*mine).order_by(TEXT.c.rev)):
            values = dict(row._mapping)
            theirs = row.conversation == OWN and row.id not in self.ours.texts
            values["content"] = ELSEWHERE if theirs and row.content else self.clear(row.content)
            copy.execute(insert(TEXT), [self._named(values)])
            last, self.texts = max(last, row.id), self.texts + (not theirs)
        return last

    def _copy_stream(self, truth: Connection, copy: Connection, stream: Stream) -> None:
        head = truth.execute(select(STREAM).where(STREAM.c.id == stream.id)).one()
        copy.execute(insert(STREAM), [self._named(dict(head._mapping))])
        facts = self._facts_changed(truth) if stream.scope.is_own else {}
        rows = truth.execute(select(EVENT).where(EVENT.c.stream == stream.id).order_by(EVENT.c.version))
        decoded: Iterator[Event] = iter(self._store.events_of(stream, after=stream.parent_version))
        for row, event in zip(rows, decoded, strict=True):
            values = dict(row._mapping)
            values["body"] = self._body(row.body, event, facts) if stream.scope.is_own else self._spoken(row.body)
            copy.execute(insert(EVENT), [self._named(values)])
            self.events += 1

    def _named(self, values: dict[str, Any]) -> dict[str, Any]:
        conversation = values["conversation"]
        named = conversation if conversation == OWN else self._by(conversation)[0]
        return {**values, "user": self._by(self.user)[0], "conversation": named}

    def _spoken(self, body: str) -> str:
        """A record of a conversation, without what has to go of the few words that stand in records themselves."""
        if "\\" not in body and not self._by(body)[1]:
            return body
        return orjson.dumps(_leaves(orjson.loads(body), lambda key, text: self._leaf(key, text))).decode()

    def _leaf(self, key: str, text: str) -> str:
        return text if key in AS_THEY_ARE else self.clear(text)

    def _body(self, body: str, event: Event, digests: dict[int, tuple[str, str]]) -> str:
        """A record of the user's stream: of other conversations no name, no reason and no digest."""
        ours = self.is_ours(event, self.ours)

        def leaf(key: str, text: str) -> str:
            if key in NAMES and text not in ("", *self.conversations):
                return ELSEWHERE
            return "" if key in REASONS and not ours and text else self._leaf(key, text)

        raw = _leaves(orjson.loads(body), leaf)
        if isinstance(event.body, FactWritten) and event.body.fact.id in digests:
            raw["fact"]["key"], raw["fact"]["value_key"] = digests[event.body.fact.id]
        return orjson.dumps(raw).decode()

    def _facts_changed(self, truth: Connection) -> dict[int, tuple[str, str]]:
        """New digests for facts whose words are not in the excerpt as they were: one could be guessed by the old."""
        assert self.own is not None
        found = {}
        for event in self._store.events_of(self.own):
            if isinstance(event.body, FactWritten):
                fact = event.body.fact
                if fact.id not in self.ours.facts:
                    found[fact.id] = ("", "")
                elif fact.key:
                    ids = [fact.subject, fact.attribute, fact.value]
                    found_words = truth.execute(select(TEXT.c.id, TEXT.c.content).where(TEXT.c.id.in_(ids)))
                    old: dict[int, str] = {row.id: row.content for row in found_words}
                    new = {i: self._by(words)[0] for i, words in old.items()}
                    if new != old:
                        subject, attribute, value = (new.get(i, "") for i in ids)
                        found[fact.id] = (digest(subject, attribute), digest(value))
        return found


def _leaves(value: Any, change: Callable[[str, str], str], key: str = "") -> Any:
    """The same JSON with every text in it, given with the name of its field, as `change` has it."""
    if isinstance(value, str):
        return change(key, value)
    if isinstance(value, list):
        return [_leaves(each, change, key) for each in value]
    return {k: _leaves(each, change, k) for k, each in value.items()} if isinstance(value, dict) else value


def _vectors(store: Store, made: Store) -> int:
    """Those of texts that are in the excerpt as they were; another text has another hash, and no vector."""
    maker = embedded.maker(store)
    if maker is None:
        return 0
    wanted = list(embedded.wanted_texts(made))
    found = embedded.by_hash(store, maker, wanted)
    if not found:
        return 0
    import numpy as np

    return embedded.adopt(made, maker.identity, maker.name, list(found), np.stack(list(found.values())))
