"""Sleep time: what is done with what is remembered when nobody waits for a reply.

Summaries of what was said, and consolidation: previewed as a diff (consolidation.py), applied as a whole or row by
row, undone by the number of its change. A model is asked while a preview is made, never inside a transaction, and a
preview may be as old as it likes: rows whose facts changed since are skipped, told, and found again the next time.

>>> sleep = Sleep(LongTerm.open("store", user="ana"))                 # doctest: +SKIP
>>> plan = sleep.preview()                                            # doctest: +SKIP
>>> sleep.apply(plan, [1, 3])                                         # doctest: +SKIP
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import NamedTuple

from memory import pruning, tokens
from memory.amend import Person
from memory.condense import ENTRIES, TURNS, condense
from memory.consolidation import (
    CAUSE,
    Consolidation,
    Reading,
    Row,
    Rules,
    carried_out,
    doubtful,
    due,
    plan,
    reworded,
    stale,
)
from memory.errors import NotFound, StaleFact
from memory.events import Body, BookmarkMade, FactsPlaced, PagesRetrieved
from memory.fact_events import (
    Consolidated,
    FactsChanged,
    Pruned,
    SkippedRow,
    Summary,
    SummaryRetired,
    SummaryWritten,
    TextRefused,
)
from memory.keywords import Ask, Unreadable
from memory.knowledge import Change, Knowledge
from memory.longterm import RULES, LongTerm, folded
from memory.pager import Pager
from memory.scope import LIVE, Scope
from memory.show import Shown, table, text
from memory.state import State
from memory.stores.lease import leased
from memory.summaries import (
    MOST_TOKENS,
    Chapter,
    Extract,
    Leaf,
    Line,
    SummaryFinder,
    chapter_text,
    chapters,
    pages_of,
    shorten,
    waiting,
)

WAIT_S = 30.0  # for a step of a conversation to end, before its bookmark is taken or given back
SPREADS = ("topical", "causal")  # along these edges of the graph goes a part of what use adds to a fact
REWORDED = ("merge", "archive")  # rows that a model may word


@dataclass(frozen=True)
class Applied(Shown):
    """What came of a preview: the changes that it made, and the rows that did not fit any more."""

    changes: tuple[int, ...]
    skipped: tuple[SkippedRow, ...]

    def __repr__(self) -> str:
        skipped = "; ".join(f"{row.kind}: {row.why}" for row in self.skipped)
        return f"<Applied: {len(self.changes)} changes{f'; skipped {skipped}' if skipped else ''}>"

    def _html(self) -> str:
        rows = [[row.kind, " ".join(f"f{n}" for n in row.facts), row.why] for row in self.skipped]
        numbers = ", ".join(map(str, self.changes)) or "none"
        return f"changes: {text(numbers)}" + table(["skipped", "facts", "why"], rows)


@dataclass(frozen=True, slots=True)
class FoundBySummary:
    """A summary that answers a question, and the pages that hold its turns."""

    summary: Summary
    words: str
    pages: tuple[int, ...]


class _Told(NamedTuple):
    """The summary of some turns, whose words it is in, and why a model's was refused."""

    extract: Extract
    by: str
    refused: str = ""
    raw: str = ""


class Sleep:
    """`ask`, if given, puts a question about the memory to the model `by`; without it the rules word everything."""

    def __init__(
        self, memory: LongTerm, rules: Rules | None = None, *, ask: Ask | None = None, by: str = RULES,
        neighbours: Callable[[int], Collection[int]] | None = None,
    ) -> None:  # fmt: skip
        self.memory, self.rules = memory, rules or Rules()
        self._ask, self._by = ask, by if ask else RULES
        self._neighbours = neighbours or self._in_the_graph

    # ── consolidation ─────────────────────────────────────────────────────────────────────────────────

    def due(self) -> str:
        """Why it is time for a consolidation; "" if it is not."""
        return due(self.memory.knowledge, self.rules)

    def preview(self) -> Consolidation:
        """What would be changed, and what each row would lose. Writes nothing. Raises ModelError."""
        k = self.memory.knowledge
        reading = self._reading()
        found = plan(k, reading, self.memory.clock(), self.rules)
        notes: list[str] = []
        rows = [self._reworded(k, row, reading, notes) for row in found.rows]
        generation = self.memory.store.generation()
        return Consolidation(found.version, found.at, tuple(rows), found.left, tuple(notes), generation)

    def _reading(self) -> Reading:
        memory = self.memory
        quotes = lambda fact: [quote for _, quote in memory.quotes(fact)]  # noqa: E731 - shorter than its types
        return Reading(memory.words, quotes, self.uses(), self._neighbours, list(self._dead_bookmarks()))

    def _reworded(self, k: Knowledge, row: Row, reading: Reading, notes: list[str]) -> Row:
        """A model words what a rule could only shorten; where nothing was lost the entry's own words stay."""
        if self._ask is None or row.kind not in REWORDED or row.lossless:
            return row
        said = condense(ENTRIES, row.before, self.rules.archive_tokens, self._ask)
        if isinstance(said, Unreadable):
            notes.append(f"row {row.number}: the model's answer could not be used: {said.reason}")
            return row
        return reworded(k, row, self.memory.redacted(said), self._by, reading)

    def apply(self, preview: Consolidation, rows: Collection[int] | None = None, *, by: str = "user") -> Applied:
        """Apply these rows (None: all of them), each as a change of its own.

        Raises NotFound for a row that is not there, StaleFact if words were erased since: the preview may hold them.
        """
        if preview.generation != self.memory.store.generation():
            raise StaleFact("words were erased since this preview was made, and it may hold them: make another one")
        chosen = _chosen(preview, rows)
        skipped: list[SkippedRow] = []

        def decide(k: Knowledge) -> list[Body]:
            skipped.clear()
            bodies: list[Body] = []
            who = Person(by, self.memory.clock())
            for row in chosen:
                if why := stale(k, row):
                    skipped.append(SkippedRow(row.kind, row.facts, why))
                    continue
                fresh = carried_out(k, row, who, self.memory.journal.write)
                bodies += fresh
                k = folded(k, fresh)
            turns = sum(k.learned.values())
            changes = sum(isinstance(body, FactsChanged) for body in bodies)
            return [*bodies, Consolidated(changes, tuple(skipped), turns, len(k.current), who.at)]

        bodies = self.memory.commit(decide)
        for row in chosen:
            if row.pruned is not None:
                _take(self.memory, row.pruned)
        return Applied(tuple(b.change for b in bodies if isinstance(b, FactsChanged)), tuple(skipped))

    def undo(self, change: int, *, by: str = "user") -> Change:
        """Everything that the row changed is as it was before. Raises UndoRefused, naming what builds on it."""
        return self.memory.undo(change, by=by)

    def changes(self) -> list[Change]:
        """What consolidations changed so far, the newest first."""
        return [c for c in reversed(self.memory.knowledge.changes.values()) if c.cause == CAUSE]

    def _in_the_graph(self, fact: int) -> set[int]:
        """Facts of the same topic, its causes and its effects."""
        node, near = f"f{fact}", set()
        for edge in self.memory.graph.by_node.get(node, ()):
            if edge.kind in SPREADS:
                near |= {int(end[1:]) for end in (edge.source, edge.target) if end != node}
        return near

    def uses(self) -> dict[int, list[datetime]]:
        """When a prompt held a fact because the message asked for it. One that came unasked was not used."""
        found: dict[int, list[datetime]] = defaultdict(list)
        for scope in self._conversations():
            for event in self.memory.store.events(scope, kinds=[FactsPlaced.__name__]):
                placed = event.body.facts if isinstance(event.body, FactsPlaced) else ()
                for each in placed:
                    if each.why == "match" and not each.stage:
                        found[each.fact].append(event.at)
        return dict(found)

    def _conversations(self) -> list[Scope]:
        store, user = self.memory.store, self.memory.user
        return [stream.scope for stream in store.streams(user) if stream.scope.run == LIVE]

    # ── bookmarks ─────────────────────────────────────────────────────────────────────────────────────

    def _dead_bookmarks(self) -> Iterator[tuple[Pruned, str]]:
        store = self.memory.store
        for scope in self._conversations():
            state = store.state(scope)
            if state.step < self.rules.bookmark_steps:
                continue
            found = store.events(scope, kinds=[PagesRetrieved.__name__])
            hit = {page for event in found if isinstance(event.body, PagesRetrieved) for page in event.body.chosen}
            words = store.journal(scope).words
            yield from pruning.dead(state, scope.conversation, words, self.rules.bookmark_steps, hit.__contains__)

    # ── summaries ─────────────────────────────────────────────────────────────────────────────────────

    def summarise(self, conversation: str = "") -> list[Summary]:
        """Summaries of the turns that have none yet, whole tens, and the chapters above them. Raises ModelError.

        A model's summary that its turns do not bear out is refused, on the record; the rule's stands in its place.
        """
        name = self._named(conversation)
        state = self.memory.store.state(self.memory.store.main_run(self.memory.user, name))
        known = self.summaries(name, level=0)
        spans = waiting(state.turn, known)
        first = self._first_open(name, spans, known)
        if not first or not self.memory.knowledge.on:
            return []
        lines = self._lines(name, state, first)
        said = {span: [x for x in lines if span[0] <= x.turn <= span[1]] for span in spans}
        told = {span: self._told(of_span) for span, of_span in said.items()}

        def decide(k: Knowledge) -> list[Body]:
            mine = [s for s in k.summaries.values() if s.conversation == name]
            bodies: list[Body] = []
            for span in waiting(state.turn, mine):
                if span in told:
                    fresh = self._leaf(k, name, told[span], said[span])
                    bodies += fresh
                    k = folded(k, fresh)
            return [*bodies, *self._chapters(k, name, lines)]

        bodies = self.memory.commit(decide)
        return [body.summary for body in bodies if isinstance(body, SummaryWritten)]

    def summaries(self, conversation: str = "", *, level: int | None = None) -> list[Summary]:
        """Those of a conversation that stand, in the order of its turns; chapters (level 1) before what they hold."""
        name = self._named(conversation)
        found = [
            s for s in self.memory.knowledge.summaries.values()
            if s.conversation == name and not s.retired and level in (None, s.level)
        ]  # fmt: skip
        return sorted(found, key=lambda s: (s.first, -s.level, s.last))

    def find(self, question: str, k: int = 3, conversation: str = "") -> list[FoundBySummary]:
        """From a question to summaries, and from these to the pages that hold their turns."""
        name = self._named(conversation)
        state = self.memory.store.state(self.memory.store.main_run(self.memory.user, name))
        finder = SummaryFinder(self.memory.words)
        finder.take(self.summaries(name))
        found = finder.find(question, k, self.memory.settings)
        return [FoundBySummary(s, self.memory.words(s.text), pages_of(s, state.pages.values())) for s in found]

    def _named(self, conversation: str) -> str:
        name = conversation or self.memory.conversation
        if not name:
            raise NotFound("summaries belong to a conversation: name one, or open the memory with one")
        return name

    def _first_open(self, name: str, spans: Sequence[tuple[int, int]], known: Sequence[Summary]) -> int:
        """The first turn from which chapters may change: what lies before it is done. 0: nothing is to be done."""
        standing = self.summaries(name, level=1)
        inside = {number for chapter in standing for number in chapter.of}
        opened = [first for first, _ in spans] + [s.first for s in known if s.id not in inside]
        if not opened:
            return 0
        return min([*opened, *(c.first for c in standing if c.last >= min(opened) or c is standing[-1])])

    def _lines(self, name: str, state: State, first: int) -> list[Line]:
        page = state.page_of(first)
        numbers = range(page.number, len(state.pages) + 1) if page else range(0)
        turns = [t for n in numbers for t in state.pages[n].turns if t.number >= first and not t.piece]
        scope = Scope(self.memory.user, name)
        words = self.memory.store.words(scope, [t.text for t in turns])
        return [Line(t.number, t.name, words.get(t.text, ""), t.said_at, t.role) for t in turns]

    def _told(self, lines: Sequence[Line]) -> _Told:
        rule = shorten(lines)
        if self._ask is None or not rule.turns:
            return _Told(rule, RULES)
        said = condense(TURNS, [f"{x.name}: {x.words}" for x in lines], MOST_TOKENS, self._ask)
        if isinstance(said, Unreadable):
            return _Told(rule, RULES, said.reason, said.raw)
        said = self.memory.redacted(said)
        if doubtful(said, [f"{x.name}: {x.words}" for x in lines]):
            return _Told(rule, RULES, "its turns do not bear it out", said)  # what they lack would be words of theirs
        return _Told(Extract(said, tuple(x.turn for x in lines)), self._by)

    def _leaf(self, k: Knowledge, name: str, told: _Told, lines: Sequence[Line]) -> list[Body]:
        turns = tuple(x.turn for x in lines)
        day = lines[0].said_at.date().isoformat()
        summary = self._summary(k, name, 0, (turns[0], turns[-1]), told.extract, (), day, told.by)
        if not told.refused:
            return [SummaryWritten(summary)]
        raw = self.memory.journal.said(told.raw) if told.raw else 0
        now = self.memory.clock()
        return [TextRefused("summary", self._by, told.refused, raw, now, name, turns), SummaryWritten(summary)]

    def _chapters(self, k: Knowledge, name: str, lines: Sequence[Line]) -> list[Body]:
        """Chapters over these turns that are not there yet; the last one gives way when it grew."""
        first = lines[0].turn
        mine = [s for s in k.summaries.values() if s.conversation == name and not s.retired and s.first >= first]
        leaves = [
            Leaf(s, tuple(x for x in lines if s.first <= x.turn <= s.last))
            for s in sorted((s for s in mine if s.level == 0), key=lambda s: s.first)
        ]
        wanted = {chapter.of: chapter for chapter in chapters(leaves)}
        old = {s.of: s for s in mine if s.level == 1}
        now = self.memory.clock()
        gone: list[Body] = [SummaryRetired(s.id, "its chapter grew", now) for of, s in old.items() if of not in wanted]
        ids = count(len(k.summaries) + 1)
        new = [self._chapter(k, name, c, next(ids)) for of, c in wanted.items() if of not in old]
        return [*gone, *new]

    def _chapter(self, k: Knowledge, name: str, chapter: Chapter, number: int) -> SummaryWritten:
        first, last = chapter.leaves[0].summary, chapter.leaves[-1].summary
        span = (first.first, last.last)
        made = self._summary(k, name, 1, span, chapter_text(chapter), chapter.of, first.day, RULES, number)
        return SummaryWritten(made)

    def _summary(
        self, k: Knowledge, name: str, level: int, span: tuple[int, int], extract: Extract, of: tuple[int, ...],
        day: str, by: str, number: int = 0,
    ) -> Summary:  # fmt: skip
        return Summary(
            number or len(k.summaries) + 1, name, level, *span, extract.turns, of, day,
            self.memory.journal.write(extract.text), tokens.count(extract.text), by, self.memory.clock(),
        )  # fmt: skip


def _chosen(preview: Consolidation, rows: Collection[int] | None) -> list[Row]:
    if rows is None:
        return list(preview.rows)
    known = {row.number: row for row in preview.rows}
    if unknown := sorted(set(rows) - known.keys()):
        raise NotFound(f"no row {unknown[0]}; this preview has {len(known)}")
    return [known[number] for number in dict.fromkeys(rows)]


# ── bookmarks of conversations ────────────────────────────────────────────────────────────────────────


def _take(memory: LongTerm, pruned: Pruned) -> None:
    """Unless it is another one by now."""
    with _held(memory, pruned.conversation) as pager:
        page = pager.state.pages[pruned.page]
        if page.bookmark == pruned.bookmark:
            bare = pruning.bare(page.number, pruned.bookmark, pager.journal.write, pager.state.step)
            pager.add(BookmarkMade(page.number, bare))
            pager.commit()


def give_back(memory: LongTerm, pruned: Pruned) -> None:
    """The bookmark that was taken; not where the page got another one since."""
    with _held(memory, pruned.conversation) as pager:
        bookmark = pager.state.pages[pruned.page].bookmark
        if bookmark is not None and bookmark.origin == pruning.ORIGIN:
            pager.add(BookmarkMade(pruned.page, pruned.bookmark))
            pager.commit()


@contextmanager
def _held(memory: LongTerm, conversation: str) -> Iterator[Pager]:
    journal = memory.store.journal(Scope(memory.user, conversation))
    with leased(journal, WAIT_S):
        yield Pager(journal, clock=memory.clock)
