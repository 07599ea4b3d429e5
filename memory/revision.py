"""What a new statement does to what is remembered: the same again, another value, an end, a contradiction, news.

A structural guard comes first: only facts of the same subject and attribute can retire each other, and only where the
attribute has one value at a time or the very same value is denied. A fact that merely mentions an entity retires
nothing. Time decides by when it was true, not by when it arrived: a late old statement slots into history.

Every decision is records (fact_events.py) and one line for the write ledger. Nothing is deleted here, ever.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from memory import tokens
from memory.errors import BadMessage
from memory.events import Body
from memory.fact_events import (
    ConflictFound,
    ConflictSettled,
    FactRevised,
    FactsChanged,
    FactSourced,
    FactWritten,
    Outcome,
)
from memory.facts import (
    BEGINNING,
    FOREVER,
    PRIORITY,
    Candidate,
    Fact,
    Interval,
    Proposal,
    Source,
    in_zone,
    joined,
    key_of,
    value_digest,
    without,
)
from memory.knowledge import Conflict, Knowledge
from memory.language import is_cjk, terms
from memory.redaction import gives_secret

SAME = 0.8  # Jaccard overlap of words from which two texts say the same
AT_ONCE = timedelta(hours=1)  # apart, from which what was said later was said of what came before
TICK = timedelta.resolution
SPEAKERS = ("user", "tool")  # whose words make a fact
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
    k: Knowledge, candidate: Candidate, source: Source | None, writer: Writer, write: Write, near: Near,
    proposal: Proposal | None = None,
) -> Revision:  # fmt: skip
    """What `candidate` comes to; a model's `proposal` counts where the guard lets it.

    >>> from memory.facts import BEGINNING
    >>> source = Source("trip", 1, 7, 0, 18, "user", BEGINNING)
    >>> budget = Candidate("Budget: 5000", 0, 18, subject="user", attribute="budget", value="5000", single=True)
    >>> revise(Knowledge(), budget, source, Writer("trip", 0, "rules", BEGINNING), len, lambda c: ()).outcome.verdict
    'stored'
    """
    if gives_secret(candidate.text, candidate.attribute):
        return Revision((), Outcome("none", NO_SECRETS, start=candidate.start, end=candidate.end))
    draft = _Draft(k, candidate, source, writer, write)
    if draft.interval.valid_to <= draft.interval.valid_from:
        return draft.quarantined("it would end before it begins")
    if source is None or source.end <= source.start:
        return _unproven(draft, "no turn says so", near)
    if source.by not in SPEAKERS:
        return _unproven(draft, f"only the {source.by} said so", near)
    if proposal is not None and (proposed := _proposed(draft, proposal)) is not None:
        return proposed
    made = _by_rules(draft, near)
    return made if proposal is None else _kept_beside(draft, proposal, made)


def _by_rules(draft: _Draft, near: Near) -> Revision:
    if not draft.candidate.attribute:
        return _text_only(draft, near(draft.candidate))
    like, of_key = draft.like, draft.k.by_key.get(draft.key, ())
    same = [f for f in of_key if f.value_key == like.value_key and f.negated == like.negated and draft.may_change(f)]
    against = [f for f in of_key if excludes(f, like) and draft.may_change(f)]
    first, last = draft.anchor, draft.last_told(draft.anchor)
    if holder := next((f for f in same if any(first in i and last in i for i in f.believed)), None):
        return _known(draft, holder, against)
    return _in_time(draft, same, against)


def excludes(one: Fact, other: Fact) -> bool:
    """Whether facts of one key cannot both hold: the same value denied, or another one where there is but one.

    A denial without a value ("no pets") excludes every value.
    """
    if one.negated != other.negated:
        return one.value_key == other.value_key or (one if one.negated else other).value_key == NO_VALUE
    return one.single and other.single and not one.negated and one.value_key != other.value_key


NO_SECRETS = "a secret is no fact"
NO_VALUE = value_digest("")


def _proposed(draft: _Draft, proposal: Proposal) -> Revision | None:
    """The model's verdict, where rules have none of their own. None: the rules decide.

    Guard: two that are about different things cannot retire each other, whatever a model says, nor does what held
    before take the place of what held since; a verdict on what changed meanwhile is none.
    """
    target = draft.k.facts.get(proposal.target)
    if target is None or not draft.may_change(target) or not _left_open(draft, target):
        return None
    if target.changed_at > draft.writer.version:
        return None
    by = f"model:{proposal.by}"
    if proposal.action == "same":
        return _known(draft, target, (), by)
    if proposal.action == "merges" and proposal.text and not draft.key and not target.key:
        return _merged(draft, target, by, f"it and {target.name} tell parts of one thing", proposal.text)
    if proposal.action not in ("replaces", "ends") or not any(i.overlaps(draft.interval) for i in target.believed):
        return None
    if target.since > draft.last_told(draft.anchor):
        return None
    cause, verdict = ("end", "ended") if proposal.action == "ends" else ("supersede", "superseded")
    why = f"it {proposal.action} {target.name}, says {proposal.by}"
    draft.open(cause, by, why, old=(target.id,), new=draft.id)
    draft.add(FactWritten(draft.change, draft.fact(), (draft.interval,), draft.writer.at))
    draft.make_room(draft.interval, [target], draft.id, "ended" if cause == "end" else "replaced")
    return draft.done(verdict, why, draft.id, (target.id,))


def _left_open(draft: _Draft, target: Fact) -> bool:
    """Whether rules have no word on the two: one is text only, or both are values of a list, and not the same."""
    if not (target.key and draft.key):
        return True
    of_list = target.key == draft.key and not (target.single or draft.candidate.single)
    denied = target.negated or draft.candidate.negated
    known = (f for f in draft.k.by_key.get(draft.key, ()) if f.value_key == draft.value_key)
    return of_list and not denied and not any(draft.may_change(f) for f in known)


def _kept_beside(draft: _Draft, proposal: Proposal, made: Revision) -> Revision:
    """What rules found nothing like is kept beside the one that the model compared it with, and that is on record."""
    target = draft.k.facts.get(proposal.target)
    if proposal.action != "beside" or made.outcome.verdict != "stored" or target is None:
        return made
    why = f"it holds beside {target.name}, says {proposal.by}"
    opening = FactsChanged(draft.change, "write", f"model:{proposal.by}", draft.writer.at, why, (target.id,), draft.id)
    return Revision((opening, *made.bodies[1:]), replace(made.outcome, verdict="kept_both", reason=why))


def _unproven(draft: _Draft, reason: str, near: Near) -> Revision:
    """Kept to be looked at, and only once; what is believed already gains nothing by it."""
    if draft.key:
        known = [f for f in draft.k.by_key.get(draft.key, ()) if f.value_key == draft.value_key]
        known = [f for f in known if f.negated == draft.candidate.negated]
    else:
        mine = terms(draft.candidate.text)
        known = [f for f, words in near(draft.candidate) if _says_same(mine, terms(words))]
    for fact in known:
        if fact.believed or fact.state == "quarantined":
            return draft.done("known", f"{fact.name} says so ({fact.state}), and {reason} this time", fact.id)
    return draft.quarantined(reason)


def _when(candidate: Candidate, said_at: datetime) -> Interval:
    """In UTC. Without a begin it holds since it was said; where it was over by then, nobody knows since when it did."""
    end = _utc(candidate.valid_to) if candidate.valid_to else FOREVER
    begin = _utc(candidate.valid_from or said_at)
    return Interval(BEGINNING if candidate.valid_from is None and end <= begin else begin, end)


def _utc(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise BadMessage(f"{at.isoformat()} has no zone; give an aware time, such as {at.isoformat()}+00:00")
    return at.astimezone(UTC)


# ── the same again ────────────────────────────────────────────────────────────────────────────────────


def _known(draft: _Draft, fact: Fact, against: Sequence[Fact], by: str = "rule:same") -> Revision:
    """It says what is known: one more source; of two sides in conflict it is a word for one of them."""
    ends = draft.candidate.valid_to is not None and any(
        draft.anchor in i and draft.interval.valid_to < i.valid_to for i in fact.believed
    )
    rulings = _rulings(draft, fact)
    if draft.has_source(fact) and not ends and not rulings:
        return draft.done("known", f"{fact.name} says so, from this very turn", fact.id)
    told = f"{fact.name} says the same"
    if ends:
        told = f"it says until when {fact.name} holds"
    elif rulings:
        told = f"it says again what {fact.name} says, with the other side in view"
    draft.open("end" if ends else "resolve" if rulings else "write", by, told, old=(fact.id,), new=fact.id)
    if not draft.has_source(fact):
        draft.add(FactSourced(draft.change, fact.id, draft.spoken, draft.writer.at))
    if ends:
        left = without(fact.believed, Interval(draft.interval.valid_to))
        draft.add(FactRevised(draft.change, fact.id, left, "superseded", draft.writer.at, "it was said until when"))
    draft.add(*rulings)
    return draft.done("ended" if ends else "known", told if ends or rulings else f"{told}; one more source", fact.id)


def _rulings(draft: _Draft, winner: Fact) -> list[Body]:
    """Who says one side of a conflict again, knowing of the other, has decided it."""
    conflict = draft.k.conflict_of(winner.id)
    if conflict is None or any(_unseen(draft.k.facts[n], draft) for n in conflict.facts):
        return []
    return ruling(draft.k, conflict, winner.id, draft.change, BY_TIME, draft.writer.at)


def ruling(k: Knowledge, conflict: Conflict, winner: int, change: int, by: str, at: datetime) -> list[Body]:
    """`winner`, one of its sides, holds, and the others lose the time that it takes; 0: all of them hold."""
    records: list[Body] = [ConflictSettled(change, conflict.id, winner, by, at)]
    for side in (k.facts[n] for n in k.sides(conflict)):
        if not winner or side.id == winner:
            records.append(FactRevised(change, side.id, side.believed, "active", at))
            continue
        left = side.believed
        for interval in k.facts[winner].believed:
            left = without(left, interval)
        records.append(FactRevised(change, side.id, left, "superseded", at, f"lost to f{winner}"))
    return records


def _text_only(draft: _Draft, near: Sequence[tuple[Fact, str]]) -> Revision:
    mine = terms(draft.candidate.text)
    for fact, words in near:
        if not draft.may_change(fact):
            continue
        theirs = terms(words)
        if _says_same(mine, theirs):
            if draft.has_source(fact):
                return draft.done("known", f"{fact.name} says so, from this very turn", fact.id)
            draft.open("write", "rule:same", f"{fact.name} says the same", old=(fact.id,), new=fact.id)
            draft.add(FactSourced(draft.change, fact.id, draft.spoken, draft.writer.at))
            return draft.done("known", f"{fact.name} says the same; one more source", fact.id)
        if set(theirs) < set(mine) and not _denials(set(mine) - set(theirs)):
            return _merged(draft, fact, "rule:contains", f"it says all of {fact.name} and more")
    return draft.written("stored", "new", "write", "rule:new")


def told_by_rule(new: str, known: str) -> bool:
    """Whether rules say what becomes of two texts: they are the same, or the new one says all of the known and more."""
    mine, theirs = terms(new), terms(known)
    more = set(theirs) < set(mine) and not _denials(set(mine) - set(theirs))
    return more or _says_same(mine, theirs)


def _says_same(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Like words, and the same numbers and denials: those turn a sentence round."""
    a, b = set(mine), set(theirs)
    differ = a ^ b
    if _denials(differ) or any(c.isdigit() for w in differ for c in w):
        return False
    return len(a & b) >= SAME * len(a | b)


def _denials(words: Collection[str]) -> bool:
    """Pairs of characters too: 不吃 is 吃 denied."""
    return any(w in _NOT or (is_cjk(w) and _NOT_CHINESE & set(w) and w not in _HARMLESS) for w in words)


_NOT = frozenset(["not", "never", "no", "without", "nobody", "nothing", "none", "stop", "quit", "hate", "dislik"])
_NOT_CHINESE = frozenset("不没無无非别未")
_HARMLESS = frozenset(["特别", "别的", "别人", "区别", "分别", "级别", "性别", "非常", "未来", "不错", "不仅", "不但"])


def _merged(draft: _Draft, old: Fact, by: str, why: str, text: str = "") -> Revision:
    """The new text, or a third, says all that the old one did, and more."""
    draft.open("merge", by, why, old=(old.id,), new=draft.id)
    if text:
        draft.candidate = replace(draft.candidate, text=text)
    fact = draft.fact(sources=(*old.sources, draft.spoken), importance=max(old.importance, draft.candidate.importance))
    draft.add(FactWritten(draft.change, fact, old.believed, draft.writer.at))
    draft.add(FactRevised(draft.change, old.id, (), "superseded", draft.writer.at, f"merged into f{draft.id}"))
    return draft.done("merged", why, draft.id, (old.id,))


# ── another value, or a denial ────────────────────────────────────────────────────────────────────────


def _in_time(draft: _Draft, same: Sequence[Fact], against: Sequence[Fact]) -> Revision:
    """By when it was true: it holds until another value is next told of, and what held before it ends with it."""
    touched = _overlapping(against, draft.interval)
    if at_once := [f for f in touched if _unseen(f, draft) and _close(f, draft)]:
        return _conflict(draft, at_once, touched, "written at the same moment by two that did not see each other")
    if unsure := _inferred(draft, touched):
        return _conflict(draft, unsure, touched, "an inference contradicts what was said")
    if corrected := next((f for f in touched if _corrects(f, draft)), None):
        return _too_late(draft, BY_PRIORITY, f"{corrected.name}, a correction made later, says otherwise")
    if newer := next((f for f in touched if _held_by_newer_words(f, draft)), None):
        return _too_late(draft, BY_TIME, f"{newer.name} held by then already, it was said later")
    begin = draft.interval.valid_from
    mine = Interval(begin, min([draft.interval.valid_to, *(at for f in touched for at in _told_of(f, draft))]))
    ended = _overlapping(touched, mine)
    if later := next((f for f in same if _goes_on(f, mine)), None):
        again = [f for f in _overlapping(same, mine) if f is not later]  # the same in another period, now one with it
        return _extended(draft, later, mine, [*ended, *again])
    return _new_value(draft, mine, ended)


def _overlapping(facts: Iterable[Fact], mine: Interval) -> list[Fact]:
    return [f for f in facts if any(i.overlaps(mine) for i in f.believed)]


def _told_of(fact: Fact, draft: _Draft) -> Iterator[datetime]:
    """Moments after the draft's begin at which somebody says that it holds; of what was said before, after its end."""
    believed, begin = fact.believed, draft.interval.valid_from
    last = draft.last_told(begin)
    yield from (i.valid_from for i in believed if i.valid_from > last)
    for source in fact.sources:
        since = begin if source.said_at > draft.spoken.said_at else last
        told = (at.astimezone(UTC) for at in source.tells_of)
        yield from (at for at in told if at > since and any(at in i for i in believed))


def _goes_on(fact: Fact, mine: Interval) -> bool:
    return any(mine.valid_from < i.valid_from <= mine.valid_to or mine.overlaps(i) for i in fact.believed)


def _unseen(fact: Fact, draft: _Draft) -> bool:
    return fact.written_at > draft.writer.version and fact.written_in != draft.writer.conversation


def _close(fact: Fact, draft: _Draft) -> bool:
    """What was said long before or after is in order by its time, whoever saw it."""
    return any(abs(s.said_at - draft.spoken.said_at) <= AT_ONCE for s in fact.sources)


def _inferred(draft: _Draft, rivals: Sequence[Fact]) -> list[Fact]:
    """What stands against an inference, of whichever side it is; a later statement simply replaces it."""
    if draft.candidate.origin == "inference":
        return [f for f in rivals if PRIORITY[f.origin] > PRIORITY["inference"]]
    begin = draft.interval.valid_from
    return [f for f in rivals if f.origin == "inference" and f.since > begin]


def _corrects(fact: Fact, draft: _Draft) -> bool:
    """Whether a correction that was made after this was said says otherwise of that time."""
    newer = any(s.said_at > draft.spoken.said_at for s in fact.sources)
    stronger = PRIORITY[fact.origin] > PRIORITY[draft.candidate.origin]
    return newer and stronger and any(draft.interval.valid_from in i for i in fact.believed)


def _held_by_newer_words(fact: Fact, draft: _Draft) -> bool:
    """Whether somebody said after this was said that the other one held already, and still."""
    begin = draft.interval.valid_from
    spans = (s.tells_of for s in fact.sources if s.still and s.said_at > draft.spoken.said_at)
    return any(told[0] <= begin <= told[-1] for told in spans) and any(begin in i for i in fact.believed)


def _too_late(draft: _Draft, by: str, why: str) -> Revision:
    draft.open("slot", by, why, new=draft.id)
    draft.add(FactWritten(draft.change, draft.fact(state="superseded", why=why), (), draft.writer.at))
    return draft.done("slotted", why, draft.id)


def _conflict(draft: _Draft, rivals: Sequence[Fact], touched: Sequence[Fact], why: str) -> Revision:
    """All are kept and marked until a rule, a model or a person decides. Who joins a conflict makes it larger."""
    sides = {f.id: f for f in rivals}
    joined = [c for c in draft.k.open_conflicts if sides.keys() & set(c.facts)]
    sides |= {n: draft.k.facts[n] for c in joined for n in draft.k.sides(c)}
    everyone = sorted(sides.values(), key=lambda f: f.id)
    ids = tuple(f.id for f in everyone)
    draft.open("conflict", "rule:guard", why, old=ids, new=draft.id)
    draft.add(FactWritten(draft.change, draft.fact(state="conflicted", why=why), (draft.interval,), draft.writer.at))
    draft.make_room(draft.interval, [f for f in touched if f.id not in sides], draft.id, "replaced")
    for each in everyone:
        if each.state != "conflicted":
            draft.add(FactRevised(draft.change, each.id, each.believed, "conflicted", draft.writer.at, why))
    winner, rule = _by_rule(draft, everyone)
    number = joined[0].id if joined else len(draft.k.conflicts) + 1
    draft.add(ConflictFound(draft.change, number, (*ids, draft.id), why, rule, winner, draft.writer.at))
    for other in joined[1:]:
        draft.add(ConflictSettled(draft.change, other.id, 0, f"rule:joined with conflict {number}", draft.writer.at))
    return draft.done("conflict", why, draft.id, ids)


def _by_rule(draft: _Draft, rivals: Sequence[Fact]) -> tuple[int, str]:
    """Who would win: a correction before a statement before an inference; then whoever spoke last."""
    mine = (PRIORITY[draft.candidate.origin], draft.interval.valid_from, draft.id)
    best = max([mine, *((PRIORITY[f.origin], f.since, f.id) for f in rivals)])
    priorities = {PRIORITY[f.origin] for f in rivals} | {mine[0]}
    return best[2], BY_PRIORITY if len(priorities) > 1 else BY_TIME


def _extended(draft: _Draft, fact: Fact, mine: Interval, ended: Sequence[Fact]) -> Revision:
    """What is known held earlier than we knew; what held there instead makes room."""
    why = f"{fact.name} held from {draft.day(mine.valid_from)} on already"
    by = BY_VALUE if ended else "rule:same"
    draft.open("slot", by, why, old=(fact.id, *(f.id for f in ended)), new=fact.id)
    if not draft.has_source(fact):
        draft.add(FactSourced(draft.change, fact.id, draft.spoken, draft.writer.at))
    holds = joined([*fact.believed, mine])
    draft.add(FactRevised(draft.change, fact.id, holds, fact.state, draft.writer.at, fact.why))
    draft.make_room(mine, ended, fact.id, "replaced")
    return draft.done("slotted" if ended else "known", why, fact.id, tuple(f.id for f in ended))


def _new_value(draft: _Draft, mine: Interval, ended: Sequence[Fact]) -> Revision:
    if not ended and mine == draft.interval:
        return draft.written("stored", "new", "write", "rule:new")
    current = mine.valid_to == draft.interval.valid_to
    verb, done = ("ends", "ended") if draft.candidate.negated else ("replaces", "replaced")
    names = ", ".join(f.name for f in ended)
    why = f"it {verb} {names} from {draft.day(mine.valid_from)} on" if names else "it held before what is known now"
    cause = ("end" if draft.candidate.negated else "supersede") if ended else "slot"
    by = "rule:denied" if draft.candidate.negated else BY_VALUE
    draft.open(cause, by, why, old=tuple(f.id for f in ended), new=draft.id)
    own = draft.fact(state="active" if current else "superseded")
    draft.add(FactWritten(draft.change, own, (mine,), draft.writer.at))
    draft.make_room(mine, ended, draft.id, done)
    verdict = {"end": "ended", "supersede": "superseded", "slot": "slotted"}[cause]
    return draft.done(verdict, why, draft.id, tuple(f.id for f in ended))


def making_room(
    k: Knowledge, mine: Interval, ended: Iterable[Fact], winner: int, change: int, by: str, at: datetime, done: str
) -> list[Body]:
    """The time that `winner` takes from others; a conflict of which one side is left, or none, is settled by it."""
    records: list[Body] = []
    over: set[int] = set()
    for each in ended:
        left = without(each.believed, mine)
        if any(i.valid_to == FOREVER for i in left):
            records.append(FactRevised(change, each.id, left, each.state, at, each.why))
            continue
        over.add(each.id)
        records.append(FactRevised(change, each.id, left, "superseded", at, f"{done} by f{winner}"))
    return records + closing(k, over, winner, change, by, at)


def closing(k: Knowledge, over: Collection[int], winner: int, change: int, by: str, at: datetime) -> list[Body]:
    """Conflicts of which `over` leaves no more than one side: that one holds, or whatever took their place."""
    records: list[Body] = []
    for conflict in k.open_conflicts:
        left = [n for n in k.sides(conflict) if n not in over]
        if len(left) > 1 or not any(n in over for n in conflict.facts):
            continue
        records.append(ConflictSettled(change, conflict.id, left[0] if left else winner, by, at))
        records += (FactRevised(change, n, k.facts[n].believed, "active", at) for n in left)
    return records


# ── the records under way ─────────────────────────────────────────────────────────────────────────────


class _Draft:
    """One candidate with what it will become, and the records so far."""

    def __init__(self, k: Knowledge, candidate: Candidate, source: Source | None, writer: Writer, write: Write) -> None:
        self.k, self.candidate, self.writer, self._write = k, candidate, writer, write
        self.source = source and replace(source, since=candidate.valid_from, still=candidate.still)
        self.id = len(k.facts) + 1
        self.change = len(k.changes) + 1
        self.key = key_of(candidate)
        self.value_key = value_digest(candidate.value) if candidate.attribute else ""
        self.layer = candidate.layer or LAYER.get(candidate.kind, "episodic")
        self.interval = _when(candidate, source.said_at if source else writer.at)
        self._bodies: list[Body] = []

    @property
    def anchor(self) -> datetime:
        """A moment at which it holds by these words; where only its end was said, the last one."""
        return self.interval.valid_from if self.interval.valid_from > BEGINNING else self.interval.valid_to - TICK

    def last_told(self, begin: datetime) -> datetime:
        """The last moment of which these words speak: who moved last week lives there now, whatever was said since."""
        return max(begin, self.spoken.said_at.astimezone(UTC)) if self.candidate.still else begin

    @property
    def like(self) -> Fact:
        """As much of the fact as others are compared with."""
        c = self.candidate
        return Fact(0, 0, self.key, self.value_key, negated=c.negated, single=c.single)

    def may_change(self, fact: Fact) -> bool:
        """It is believed, and in reach: what one conversation works on changes nothing for the others."""
        if fact.layer == "working":
            return fact.conversation == self.writer.conversation and fact.is_believed
        return self.layer != "working" and fact.is_believed

    def day(self, at: datetime) -> str:
        """The speaker's own date."""
        return in_zone(at, self.spoken.said_at).date().isoformat()

    @property
    def spoken(self) -> Source:
        assert self.source is not None
        return self.source

    def has_source(self, fact: Fact) -> bool:
        """Of this very turn; what is written by hand belongs to none."""
        here = (self.spoken.conversation, self.spoken.turn, self.spoken.text)
        return any((s.conversation, s.turn, s.text) == here for s in fact.sources)

    def fact(self, **more: object) -> Fact:
        c, write = self.candidate, self._write
        values: dict[str, object] = {
            "id": self.id,
            "text": write(c.text),
            "key": self.key,
            "value_key": self.value_key,
            "subject": write(c.subject) if c.subject else 0,
            "attribute": write(c.attribute) if c.attribute else 0,
            "value": write(c.value) if c.value else 0,
            "kind": c.kind,
            "layer": self.layer,
            "conversation": self.writer.conversation if self.layer == "working" else "",
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

    def add(self, *bodies: Body) -> None:
        self._bodies += bodies

    def make_room(self, mine: Interval, ended: Iterable[Fact], winner: int, done: str) -> None:
        self.add(*making_room(self.k, mine, ended, winner, self.change, BY_TIME, self.writer.at, done))

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
