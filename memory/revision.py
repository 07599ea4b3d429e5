"""What a new statement does to what is remembered: the same again, another value, an end, a contradiction, news.

A structural guard comes first: only facts of the same subject and attribute can retire each other, and only where the
attribute has one value at a time or the very same value is denied. A fact that merely mentions an entity retires
nothing. Time decides by when it was true, not by when it arrived: a late old statement slots into history.

Every decision is records (fact_events.py) and one line for the write ledger. Nothing is deleted here, ever.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from memory import tokens
from memory.events import Body
from memory.fact_events import ConflictFound, FactRevised, FactsChanged, FactSourced, FactWritten, Outcome
from memory.facts import FOREVER, PRIORITY, Candidate, Fact, Interval, Source, digest, key_of, without
from memory.knowledge import Knowledge
from memory.language import terms

SAME = 0.8  # Jaccard overlap of words from which two texts say the same
LAYER = {"fact": "semantic", "preference": "semantic", "decision": "episodic", "task": "working"}
BY_TIME, BY_VALUE, BY_PRIORITY = "rule:newest", "rule:single_value", "rule:priority"

Write = Callable[[str], int]  # words to their id
Near = Callable[[Candidate], Sequence[tuple[Fact, str]]]  # text-only facts with like words, and their words


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, and what they had read when they did."""

    conversation: str
    version: int  # of the user's stream
    by: str  # rules, a model's name, a person
    at: datetime  # now


@dataclass(frozen=True, slots=True)
class Revision:
    bodies: tuple[Body, ...]
    outcome: Outcome


def revise(
    k: Knowledge, candidate: Candidate, source: Source | None, writer: Writer, write: Write, near: Near
) -> Revision:
    """What `candidate` comes to.

    >>> from memory.facts import BEGINNING
    >>> source = Source("trip", 1, 7, 0, 18, "user", BEGINNING)
    >>> budget = Candidate("Budget: 5000", 0, 18, subject="user", attribute="budget", value="5000", single=True)
    >>> revise(Knowledge(), budget, source, Writer("trip", 0, "rules", BEGINNING), len, lambda c: ()).outcome.verdict
    'stored'
    """
    draft = _Draft(k, candidate, source, writer, write)
    if source is None or source.end <= source.start:
        return draft.quarantined("no turn says so")
    if source.by == "assistant":
        return draft.quarantined("only the assistant said so")
    if not candidate.attribute:
        return _text_only(draft, near(candidate))
    rivals = [f for f in k.by_key.get(draft.key, ()) if f.believed and _same_scope(f, draft)]
    same = [f for f in rivals if f.value_key == draft.value_key]
    if known := next((f for f in same if f.negated == candidate.negated and draft.meets(f)), None):
        return _known(draft, known, rivals)
    opposite = [f for f in same if f.negated != candidate.negated]
    if candidate.negated and not candidate.value:
        opposite = [f for f in rivals if not f.negated]
    if candidate.single and not candidate.negated:
        opposite += [f for f in rivals if f.value_key != draft.value_key and not f.negated]
    return _against(draft, opposite)


def _same_scope(fact: Fact, draft: _Draft) -> bool:
    return fact.layer != "working" or fact.conversation == draft.writer.conversation


# ── the same again ────────────────────────────────────────────────────────────────────────────────────


def _known(draft: _Draft, fact: Fact, rivals: Iterable[Fact]) -> Revision:
    """It says what is known: one more source, and where it was true earlier than we knew, an earlier begin."""
    earlier = _earlier_begin(draft, fact, rivals)
    if not earlier and draft.has_source(fact):
        return draft.done("known", f"{fact.name} says so, from this very turn", fact.id)
    draft.open("write", "rule:same", f"{fact.name} says the same", old=(fact.id,), new=fact.id)
    if not draft.has_source(fact):
        draft.add(FactSourced(draft.change, fact.id, draft.spoken, draft.writer.at))
    if earlier:
        draft.add(FactRevised(draft.change, fact.id, earlier, fact.state, draft.writer.at, fact.why))
    return draft.done("known", f"{fact.name} says the same; one more source", fact.id)


def _earlier_begin(draft: _Draft, fact: Fact, rivals: Iterable[Fact]) -> tuple[Interval, ...]:
    """The fact's intervals, the first that lies after this statement begun with it; () where nothing changes."""
    begin = draft.interval.valid_from
    if any(begin in i for i in fact.believed):
        return ()
    after = [i for i in sorted(fact.believed) if i.valid_from > begin]
    if not after:
        return ()
    gap = Interval(begin, after[0].valid_from)
    if any(f.id != fact.id and any(i.overlaps(gap) for i in f.believed) for f in rivals):
        return ()
    others = [i for i in fact.believed if i != after[0]]
    return tuple(sorted([Interval(begin, after[0].valid_to), *others]))


def _text_only(draft: _Draft, near: Sequence[tuple[Fact, str]]) -> Revision:
    mine = terms(draft.candidate.text)
    for fact, words in near:
        if not fact.believed or not _same_scope(fact, draft):
            continue
        theirs = terms(words)
        if _says_same(mine, theirs):
            if draft.has_source(fact):
                return draft.done("known", f"{fact.name} says so, from this very turn", fact.id)
            draft.open("write", "rule:same", f"{fact.name} says the same", old=(fact.id,), new=fact.id)
            draft.add(FactSourced(draft.change, fact.id, draft.spoken, draft.writer.at))
            return draft.done("known", f"{fact.name} says the same; one more source", fact.id)
        if set(theirs) < set(mine) and not _told(set(mine) - set(theirs)) & {"not"}:
            return _merged(draft, fact)
    return draft.written("stored", "new", "write", "rule:new")


def _says_same(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Like words, and the same numbers and denials: those turn a sentence round."""
    a, b = set(mine), set(theirs)
    return len(a & b) >= SAME * len(a | b) and not _told(a ^ b)


def _told(words: Collection[str]) -> set[str]:
    return {w for w in words if w in ("not", "never", "no") or any(c.isdigit() for c in w) or w in _DENIALS}


_DENIALS = frozenset(["不", "没", "无", "非", "别", "不是", "没有", "不再", "不要", "不能", "不会"])


def _merged(draft: _Draft, old: Fact) -> Revision:
    """The new text says all that the old one did, and more."""
    draft.open("merge", "rule:contains", f"it says all of {old.name} and more", old=(old.id,), new=draft.id)
    fact = draft.fact(sources=(*old.sources, draft.spoken))
    draft.add(FactWritten(draft.change, fact, old.believed, draft.writer.at))
    draft.add(FactRevised(draft.change, old.id, (), "superseded", draft.writer.at, f"merged into f{draft.id}"))
    return draft.done("merged", f"it says all of {old.name} and more", draft.id, (old.id,))


# ── another value, or a denial ────────────────────────────────────────────────────────────────────────


def _against(draft: _Draft, rivals: Sequence[Fact]) -> Revision:
    """`rivals` cannot hold at the same time as the new one."""
    touched = [f for f in rivals if any(i.overlaps(draft.interval) for i in f.believed)]
    if not touched:
        return draft.written("stored", "new", "write", "rule:new")
    if at_once := [f for f in touched if _unseen(f, draft)]:
        return _conflict(draft, at_once, "written at the same moment by two that did not see each other")
    stronger = [f for f in touched if PRIORITY[f.origin] > PRIORITY[draft.candidate.origin]]
    if stronger and draft.candidate.origin == "inference":
        return _conflict(draft, stronger, "an inference contradicts what was said")
    return _in_order(draft, touched)


def _unseen(fact: Fact, draft: _Draft) -> bool:
    return fact.written_at > draft.writer.version and fact.written_in != draft.writer.conversation


def _conflict(draft: _Draft, rivals: Sequence[Fact], why: str) -> Revision:
    """All are kept and marked until a rule, a model or a person decides."""
    draft.open("conflict", "rule:guard", why, old=tuple(f.id for f in rivals), new=draft.id)
    draft.add(FactWritten(draft.change, draft.fact(state="conflicted", why=why), (draft.interval,), draft.writer.at))
    for each in rivals:
        draft.add(FactRevised(draft.change, each.id, each.believed, "conflicted", draft.writer.at, why))
    fact, rule = _by_rule(draft, rivals)
    ids = (*(f.id for f in rivals), draft.id)
    number = len(draft.k.conflicts) + 1
    draft.add(ConflictFound(draft.change, number, ids, why, rule, fact, draft.writer.at))
    return draft.done("conflict", why, draft.id, tuple(f.id for f in rivals))


def _by_rule(draft: _Draft, rivals: Sequence[Fact]) -> tuple[int, str]:
    """Who would win: a correction before a statement before an inference; then whoever spoke last."""
    mine = (PRIORITY[draft.candidate.origin], draft.interval.valid_from, draft.id)
    best = max([mine, *((PRIORITY[f.origin], f.since, f.id) for f in rivals)])
    priorities = {PRIORITY[f.origin] for f in rivals} | {mine[0]}
    return best[2], BY_PRIORITY if len(priorities) > 1 else BY_TIME


def _in_order(draft: _Draft, rivals: Sequence[Fact]) -> Revision:
    """By when it was true: the new one holds until the next value begins, and ends those that began before it."""
    begin = draft.interval.valid_from
    later = [i.valid_from for f in rivals for i in f.believed if i.valid_from > begin]
    end = min([draft.interval.valid_to, *later])
    mine = Interval(begin, end)
    ended = [f for f in rivals if any(i.overlaps(mine) for i in f.believed)]
    current = end == draft.interval.valid_to
    verb, done = ("ends", "ended") if draft.candidate.negated else ("replaces", "replaced")
    names = ", ".join(f.name for f in ended)
    why = f"it {verb} {names} from {begin.date()} on" if names else "it held before what is known now"
    cause = ("end" if draft.candidate.negated else "supersede") if ended else "slot"
    draft.open(cause, BY_VALUE if not draft.candidate.negated else "rule:denied", why,
               old=tuple(f.id for f in ended), new=draft.id)  # fmt: skip
    own = draft.fact(state="active" if current else "superseded")
    draft.add(FactWritten(draft.change, own, (mine,), draft.writer.at))
    for each in ended:
        left = without(each.believed, mine)
        still = any(i.valid_to == FOREVER for i in left)
        state, told = (each.state, each.why) if still else ("superseded", f"{done} by f{draft.id}")
        draft.add(FactRevised(draft.change, each.id, left, state, draft.writer.at, told))
    verdict = {"end": "ended", "supersede": "superseded", "slot": "slotted"}[cause]
    return draft.done(verdict, why, draft.id, tuple(f.id for f in ended))


# ── the records under way ─────────────────────────────────────────────────────────────────────────────


class _Draft:
    """One candidate with what it will become, and the records so far."""

    def __init__(self, k: Knowledge, candidate: Candidate, source: Source | None, writer: Writer, write: Write) -> None:
        self.k, self.candidate, self.source, self.writer, self._write = k, candidate, source, writer, write
        self.id = len(k.facts) + 1
        self.change = len(k.changes) + 1
        self.key = key_of(candidate)
        self.value_key = digest(candidate.value) if candidate.attribute else ""
        said_at = source.said_at.astimezone(UTC) if source else writer.at
        begin = candidate.valid_from or said_at
        self.interval = Interval(begin, max(candidate.valid_to or FOREVER, begin))
        self._bodies: list[Body] = []

    @property
    def spoken(self) -> Source:
        assert self.source is not None
        return self.source

    def meets(self, fact: Fact) -> bool:
        """Whether the fact is believed at any time of this one, or later than it."""
        return any(i.overlaps(self.interval) for i in fact.believed)

    def has_source(self, fact: Fact) -> bool:
        here = (self.spoken.conversation, self.spoken.turn)
        return any((s.conversation, s.turn) == here for s in fact.sources)

    def fact(self, **more: object) -> Fact:
        c, write = self.candidate, self._write
        layer = c.layer or LAYER.get(c.kind, "episodic")
        values: dict[str, object] = {
            "id": self.id,
            "text": write(c.text),
            "key": self.key,
            "value_key": self.value_key,
            "subject": write(c.subject) if c.subject else 0,
            "attribute": write(c.attribute) if c.attribute else 0,
            "value": write(c.value) if c.value else 0,
            "kind": c.kind,
            "layer": layer,
            "conversation": self.writer.conversation if layer == "working" else "",
            "tags": write(" ".join(c.tags)) if c.tags else 0,
            "negated": c.negated,
            "single": c.single,
            "origin": c.origin,
            "by": self.writer.by,
            "importance": c.importance,
            "tokens": tokens.count(c.text),
            "written_in": self.writer.conversation,
            "sources": (self.source,) if self.source else (),
        }
        return Fact(**(values | more))  # type: ignore[arg-type]

    def open(self, cause: str, by: str, why: str, old: tuple[int, ...] = (), new: int = 0) -> None:
        self.add(FactsChanged(self.change, cause, by, self.writer.at, why, old, new))

    def add(self, body: Body) -> None:
        self._bodies.append(body)

    def written(self, verdict: str, reason: str, cause: str, by: str) -> Revision:
        self.open(cause, by, reason, new=self.id)
        self.add(FactWritten(self.change, self.fact(), (self.interval,), self.writer.at))
        return self.done(verdict, reason, self.id)

    def quarantined(self, reason: str) -> Revision:
        """Kept to be looked at, not believed."""
        self.open("quarantine", "rule:source", reason, new=self.id)
        fact = self.fact(state="quarantined", why=reason)
        self.add(FactWritten(self.change, fact, (), self.writer.at))
        return self.done("quarantined", reason, self.id)

    def done(self, verdict: str, reason: str, fact: int = 0, others: tuple[int, ...] = ()) -> Revision:
        span = (self.source.start, self.source.end) if self.source else (0, 0)
        return Revision(tuple(self._bodies), Outcome(verdict, reason, fact, others, 0, *span))
