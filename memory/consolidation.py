"""What "sleep time" would change: a diff of rows over what is remembered, each with what it would lose.

Nothing is changed here, and no row is more than a proposal: it names its facts, why, the words before and after, and
each detail that would vanish, checked against the sources too. No fact stands in two rows, so that any of them can be
applied in any order; each carries the versions of its facts, so that what was written meanwhile is never overwritten
(odysseus #1940). Applied rows are changes like any other, undone like any other (amend.undo).

Importance fades by half in a half-life without use, and grows with use, but by itself it never becomes so high that a
fact comes unasked, and a fact that came unasked was not used: else what is remembered would feed on itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil

from memory import amend, tokens
from memory.amend import Person
from memory.events import Body
from memory.fact_events import BookmarkPruned, FactRevised, FactsChanged, FactWritten, Pruned, SkippedRow
from memory.facts import PRIORITY, Fact, Interval, Source, joined, without
from memory.knowledge import Knowledge
from memory.language import alike
from memory.losses import Leaving, Loss, by_kind, content, details, losses, unsupported
from memory.polarity import flips
from memory.recollect import HOT
from memory.revision import Write
from memory.show import Shown, small, table, text
from memory.state import changed
from memory.summaries import Line, shorten
from memory.turns import Words

KINDS = ("doubt", "merge", "promote", "archive", "forget", "weigh", "prune", "quarantine")
CAUSE = "consolidate"
CEILING = 0.75  # below recollect.HOT: use alone makes no fact come unasked
EACH_USE = 0.1  # of the way to the ceiling
SPREAD = 0.25  # of what a fact gains by use goes to its neighbours, shared by them
LAYER_VALUE = {"semantic": 2.0, "episodic": 1.0, "working": 0.5}
FADES = {"semantic": 4.0, "episodic": 1.0, "working": 1.0}  # half-lives: what stands fades slower than what happened
HABIT = re.compile(
    r"\b(?:always|usually|every (?:day|week|month|morning|evening|year)|each (?:day|week)|never)\b"
    r"|总是|经常|每[天周月年晚]|一直|从不|从来不",
    re.IGNORECASE,
)
FAMILY = 5  # letters that stems of one family share: language.alike
NUMBERS = ("name", "number", "date")  # details by which two entries are about different things


@dataclass(frozen=True, slots=True)
class Rules:
    """Every number that consolidation obeys."""

    every_turns: int = 100  # it is due after so many …
    every_facts: int = 100  # … or so many more facts
    capacity: int = 0  # facts that may hold at once; 0: any number
    merge_overlap: float = 0.6  # Jaccard, of the words of two entries
    promote_days: int = 3  # days or conversations in which it was said
    half_life_days: float = 60.0  # of an episodic fact's importance
    least_step: float = 0.05  # a smaller change of importance is no row
    archive_days: int = 90  # without use
    archive_importance: float = 0.3  # at most
    archive_least: int = 3  # entries for one archive
    archive_tokens: int = 100
    bookmark_steps: int = 200  # since the page left


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read beside the knowledge: all of it by functions and values, for the core knows no store."""

    words: Words
    quotes: Callable[[Fact], Sequence[str]]  # the spans of the turns that it came from
    uses: Mapping[int, Sequence[datetime]] = field(default_factory=dict)  # when a prompt held it because it was asked
    neighbours: Callable[[int], Collection[int]] = lambda fact: ()
    bookmarks: Sequence[tuple[Pruned, str]] = ()  # dead ones, and their keywords


@dataclass(frozen=True, slots=True)
class Row:
    number: int  # from 1, within one consolidation
    kind: str  # one of KINDS
    facts: tuple[int, ...]  # that it changes
    seen: tuple[int, ...]  # version of the user's stream at which each of them last changed
    why: str
    before: tuple[str, ...]  # in words
    after: tuple[str, ...]
    losses: tuple[Loss, ...] = ()
    keeper: int = 0  # the fact whose form the new one takes
    importance: float = 0.0
    layer: str = ""
    by: str = "rules"
    pruned: Pruned | None = None

    @property
    def lossless(self) -> bool:
        return not self.losses


@dataclass(frozen=True)
class Consolidation(Shown):
    """A preview. `version`: of the user's stream that it was made of."""

    version: int
    at: datetime
    rows: tuple[Row, ...]
    left: tuple[SkippedRow, ...] = ()  # that the last one could not apply
    notes: tuple[str, ...] = ()
    generation: int = 0  # of the store: another one, once words were erased

    @property
    def losses(self) -> tuple[Loss, ...]:
        return tuple(loss for row in self.rows for loss in row.losses)

    def __repr__(self) -> str:
        kinds = [f"{n} {kind}" for kind in KINDS if (n := sum(row.kind == kind for row in self.rows))]
        return f"<Consolidation: {', '.join(kinds) or 'nothing to do'}; {len(self.losses)} losses>"

    def _html(self) -> str:
        lines = [
            [row.number, row.kind, small("; ".join(row.before), 160), small("; ".join(row.after), 160), row.why,
             "; ".join(map(str, row.losses)) or "nothing"]
            for row in self.rows
        ]  # fmt: skip
        total = ", ".join(f"{n} {kind}" for kind, n in by_kind(self.losses).items())
        head = f"<code>{text(repr(self))}</code>" + (f"<div>would vanish: {text(total)}</div>" if total else "")
        return head + table(["row", "kind", "before", "after", "why", "lost"], lines)


def due(k: Knowledge, rules: Rules) -> str:
    """Why it is time; "" if it is not."""
    turns, facts = sum(k.learned.values()), len(k.current)
    then = k.slept
    if rules.capacity and facts > rules.capacity:
        return f"{facts} facts hold, more than {rules.capacity}"
    if (more := turns - (then.turns if then else 0)) >= rules.every_turns:
        return f"{more} turns since the last time"
    if (more := facts - (then.facts if then else 0)) >= rules.every_facts:
        return f"{more} more facts since the last time"
    return ""


# ── the diff ──────────────────────────────────────────────────────────────────────────────────────────


def plan(k: Knowledge, reading: Reading, now: datetime, rules: Rules = Rules()) -> Consolidation:
    """The rows that the rules propose, the weightier kinds first. No fact of an open conflict is touched."""
    draft = _Plan(k, reading, now, rules)
    for rows in (draft.doubts, draft.merges, draft.promotions, draft.archives, draft.forgotten, draft.weighed):
        draft.take(rows())
    draft.rows += [draft.pruning(*each) for each in reading.bookmarks]
    numbered = tuple(replace(row, number=n) for n, row in enumerate(draft.rows, 1))
    return Consolidation(k.version, now, numbered, k.slept.skipped if k.slept else ())


class _Plan:
    def __init__(self, k: Knowledge, reading: Reading, now: datetime, rules: Rules) -> None:
        self.k, self.reading, self.now, self.rules = k, reading, now, rules
        disputed = {n for c in k.open_conflicts for n in c.facts}
        self.free = {f.id: f for f in k.current if f.state == "active" and f.id not in disputed}
        self.held = len(k.current)  # facts, after the rows so far
        self.rows: list[Row] = []
        self._weights = self._importances()

    def take(self, rows: Iterable[Row]) -> None:
        """A fact is in one row at the most."""
        for row in list(rows):
            for number in row.facts:
                del self.free[number]
            self.held -= {"merge": len(row.facts) - 1, "archive": len(row.facts) - 1, "forget": 1, "doubt": 1}.get(
                row.kind, 0
            )
            self.rows.append(row)

    def text(self, fact: Fact) -> str:
        return self.reading.words(fact.text)

    def leaving(self, facts: Iterable[Fact]) -> list[Leaving]:
        return [Leaving(f.id, self.text(f), tuple(self.reading.quotes(f))) for f in facts]

    def row(
        self, kind: str, facts: Sequence[Fact], why: str, after: Sequence[str], lost: tuple[Loss, ...] = (),
        **more: object,
    ) -> Row:  # fmt: skip
        ids, seen = tuple(f.id for f in facts), tuple(f.changed_at for f in facts)
        return Row(0, kind, ids, seen, why, tuple(map(self.text, facts)), tuple(after), lost, **more)  # type: ignore[arg-type]

    # ── what its own sources deny ─────────────────────────────────────────────────────────────────────

    def doubts(self) -> Iterator[Row]:
        for fact in list(self.free.values()):
            if why := turned_round(self.text(fact), self.reading.quotes(fact)):
                yield self.row("doubt", [fact], why, [], losses(self.leaving([fact]), ()))

    # ── merge ─────────────────────────────────────────────────────────────────────────────────────────

    def merges(self) -> Iterator[Row]:
        """Around the entry that says most; entries are not chained, for the ends of a chain need not be alike."""
        for group in self._groups():
            keeper, *others = group
            says = self.text(keeper)
            lost = losses(self.leaving(others), [says])
            names = ", ".join(f.name for f in others)
            yield self.row("merge", group, f"{keeper.name} says what {names} says", [says], lost, keeper=keeper.id)

    def _groups(self) -> Iterator[list[Fact]]:
        about = {f.id: frozenset(content(self.text(f))) for f in self.free.values()}
        order = sorted(self.free.values(), key=lambda f: (-len(about[f.id]), -f.id))
        near = self._near(order, about)
        placed: set[int] = set()
        for keeper in order:
            if keeper.id in placed:
                continue
            others = (f for f in near[keeper.id] if f.id not in placed)
            mine = sorted((f for f in others if self._says_so(keeper, f, about)), key=lambda f: f.id)
            if mine:
                placed |= {keeper.id, *(f.id for f in mine)}
                yield [keeper, *mine]

    def _near(self, order: Sequence[Fact], about: Mapping[int, frozenset[str]]) -> Mapping[int, list[Fact]]:
        """By fact, those after it in order that may be alike: of one key, or sharing one of their rarest words.

        Who shares the share of words that is asked for shares one of so many of the rarest; all pairs would take
        minutes for some hundred facts that all begin with the same name.
        """
        holders: dict[tuple[str, str], list[Fact]] = defaultdict(list)
        for fact in order:
            for mark in _marks(fact, about[fact.id]):
                holders[mark].append(fact)
        place = {fact.id: n for n, fact in enumerate(order)}
        found: dict[int, dict[int, Fact]] = defaultdict(dict)
        for fact in order:
            marks = sorted(_marks(fact, about[fact.id]), key=lambda mark: (len(holders[mark]), mark))
            enough = len(marks) - ceil(min(self.rules.merge_overlap, 1.0) * len(marks)) + 1
            for other in (each for mark in marks[:enough] for each in holders[mark]):
                if place[other.id] < place[fact.id]:
                    found[other.id][fact.id] = fact
        return defaultdict(list, {number: list(facts.values()) for number, facts in found.items()})

    def _says_so(self, keeper: Fact, other: Fact, about: Mapping[int, frozenset[str]]) -> bool:
        """Whether `keeper` can stand for both: the same person's, of the same names and figures, denying the same."""
        if (keeper.layer, keeper.conversation, keeper.negated, keeper.key) != (
            other.layer, other.conversation, other.negated, other.key,
        ):  # fmt: skip
            return False
        if keeper.key and keeper.value_key == other.value_key:
            return True
        if keeper.single:
            return False
        if keeper.key:  # to like hiking and to like hiking at night are two values
            return _same_words(self.reading.words(keeper.value), self.reading.words(other.value))
        a, b = about[keeper.id], about[other.id]
        shared = len(_shared(a, b))
        if shared < self.rules.merge_overlap * (len(a) + len(b) - shared) and not (len(b) > 1 and shared == len(b)):
            return False
        mine, theirs = self.text(keeper), self.text(other)
        apart = [d for d in details(theirs) if d.kind in NUMBERS and d not in details(mine)]
        return not (apart or flips(theirs, mine) or flips(mine, theirs))

    # ── promote ───────────────────────────────────────────────────────────────────────────────────────

    def promotions(self) -> Iterator[Row]:
        for fact in list(self.free.values()):
            if fact.layer != "episodic":
                continue
            days = {s.said_at.date() for s in fact.sources}
            sittings = max(len(days), len({s.conversation for s in fact.sources}))
            habit = HABIT.search(self.text(fact))
            if sittings >= self.rules.promote_days or (sittings > 1 and habit):
                why = f"it was said in {sittings} sittings" + (", as a habit" if habit else "")
                yield self.row("promote", [fact], why, [self.text(fact)], layer="semantic")

    # ── archive ───────────────────────────────────────────────────────────────────────────────────────

    def archives(self) -> Iterator[Row]:
        """Inactive detail of one conversation and month, into one entry that says most of it."""
        groups: dict[tuple[str, str], list[Fact]] = defaultdict(list)
        for fact in self.free.values():
            if self._is_inactive(fact):
                month = f"{fact.said_at:%Y-%m}"
                groups[(fact.sources[0].conversation if fact.sources else "", month)].append(fact)
        for (_, month), group in groups.items():
            if len(group) >= self.rules.archive_least:
                yield self._archive(month, sorted(group, key=lambda f: (f.said_at, f.id)))

    def _is_inactive(self, fact: Fact) -> bool:
        old = self.now - self._last(fact) >= timedelta(days=self.rules.archive_days)
        faded = self.importance(fact) <= self.rules.archive_importance
        return fact.layer == "episodic" and not fact.single and old and faded

    def _archive(self, month: str, group: list[Fact]) -> Row:
        head = f"{month}: "
        lines = [Line(f.id, "", self.text(f), f.said_at) for f in group]
        said = head + shorten(lines, self.rules.archive_tokens - tokens.count(head)).text
        why = f"not used for {self.rules.archive_days} days and of little weight"
        return self.row("archive", group, why, [said], losses(self.leaving(group), [said]), keeper=group[0].id)

    # ── forget ────────────────────────────────────────────────────────────────────────────────────────

    def forgotten(self) -> Iterator[Row]:
        """The least valuable, down to the capacity. What comes unasked stays."""
        over = self.held - self.rules.capacity if self.rules.capacity else 0
        may_go = sorted((f for f in self.free.values() if f.importance < HOT), key=lambda f: (self.value(f), f.id))
        for fact in may_go[: max(over, 0)]:
            why = f"over the capacity of {self.rules.capacity}; worth {self.value(fact):.2f}"
            yield self.row("forget", [fact], why, [], losses(self.leaving([fact]), ()))

    def value(self, fact: Fact) -> float:
        return LAYER_VALUE[fact.layer] * self.importance(fact)

    # ── weigh ─────────────────────────────────────────────────────────────────────────────────────────

    def weighed(self) -> Iterator[Row]:
        for fact in list(self.free.values()):
            new, why = self._weights[fact.id]
            if abs(new - fact.importance) >= self.rules.least_step:
                said = self.text(fact)
                yield self.row("weigh", [fact], f"{fact.importance:.2f} → {new:.2f}: {why}", [said], importance=new)

    def importance(self, fact: Fact) -> float:
        """As it would be now."""
        return self._weights[fact.id][0]

    def _last(self, fact: Fact) -> datetime:
        return max([self._since(fact), *self._uses(fact)])

    def _since(self, fact: Fact) -> datetime:
        return max(fact.said_at, self._touched.get(fact.id, fact.said_at))

    def _uses(self, fact: Fact) -> list[datetime]:
        """Since it was last said or weighed: those before are in its importance already."""
        return [at for at in self.reading.uses.get(fact.id, ()) if at > self._since(fact)]

    def _importances(self) -> dict[int, tuple[float, str]]:
        self._touched = {n: c.at for c in self.k.changes.values() for n in c.facts}
        gains = {f.id: _gain(f, len(self._uses(f))) for f in self.free.values()}
        spread: dict[int, float] = defaultdict(float)
        for number, gain in gains.items():
            if gain and (near := [n for n in self.reading.neighbours(number) if n in self.free]):
                for each in near:
                    spread[each] += SPREAD * gain / len(near)
        return {f.id: self._weighing(f, gains[f.id], spread[f.id]) for f in self.free.values()}

    def _weighing(self, fact: Fact, gain: float, spread: float) -> tuple[float, str]:
        if fact.importance >= HOT:  # a person said so, or it is who they are
            return fact.importance, ""
        told = [f"used {len(self._uses(fact))} times"] if gain else []
        told += [f"its neighbours were used (+{spread:.2f})"] if spread else []
        raised = max(fact.importance, min(CEILING, fact.importance + gain + spread))
        days = (self.now - self._last(fact)) / timedelta(days=1)
        new = raised * 0.5 ** (max(days, 0.0) / (self.rules.half_life_days * FADES[fact.layer]))
        told += [f"{days:.0f} days without use"] if days >= 1 else []
        return round(new, 4), ", ".join(told)

    # ── prune ─────────────────────────────────────────────────────────────────────────────────────────

    def pruning(self, pruned: Pruned, keywords: str) -> Row:
        name = f"p{pruned.page} of {pruned.conversation}"
        lost = tuple(Loss(0, "name", word) for word in keywords.split(",") if word)
        why = "no message matched it, and its page was never recalled"
        return Row(0, "prune", (), (), why, (f"[p{pruned.page}:{keywords}]",), (f"[p{pruned.page}]",), lost,
                   pruned=pruned, layer=name)  # fmt: skip


def _marks(fact: Fact, about: Collection[str]) -> set[tuple[str, str]]:
    """By which alike facts are found: their key, or their words in a form that those of one family share."""
    if fact.key:
        return {("key", fact.key)}
    return {("word", word[:FAMILY] if word.isascii() else word) for word in about}


def _shared(a: Collection[str], b: Collection[str]) -> set[str]:
    """Those of `b` that `a` has as well, in some form."""
    return {t for t in b if t in a or any(t[:FAMILY] == other[:FAMILY] and alike(t, other) for other in a)}


def _same_words(mine: str, theirs: str) -> bool:
    a, b = set(content(mine)), set(content(theirs))
    return bool(a) and _shared(a, b) == b and _shared(b, a) == a


def _gain(fact: Fact, uses: int) -> float:
    return max(0.0, CEILING - fact.importance) * (1 - (1 - EACH_USE) ** uses)


def turned_round(claim: str, quotes: Sequence[str]) -> str:
    """Why every one of its sources says the opposite; "" if one does not."""
    reasons = [flips(claim, quote) for quote in quotes]
    return reasons[0] if reasons and all(reasons) else ""


# ── another's words ───────────────────────────────────────────────────────────────────────────────────


def reworded(k: Knowledge, row: Row, said: str, by: str, reading: Reading) -> Row:
    """The row with a model's words in place of the rule's, if the sources say so; else those words in quarantine.

    They take nobody's place then: the row that holds them changes no fact.
    """
    facts = [k.facts[n] for n in row.facts]
    quotes = [quote for fact in facts for quote in reading.quotes(fact)]
    spoken = [*quotes, *row.before]
    if why := doubtful(said, spoken):
        return Row(row.number, "quarantine", (), (), why, row.before, (said,), by=by)
    leaving = [Leaving(f.id, reading.words(f.text), tuple(reading.quotes(f))) for f in facts]
    return replace(row, after=(said,), by=by, losses=losses(leaving, [said]))


def doubtful(said: str, sources: Sequence[str]) -> str:
    """Why words must not be believed: no source says so, or one says the opposite and none the same (BR-11, G5)."""
    if why := unsupported(said, sources):
        return why
    return flips(said, "\n".join(sources))


# ── applied ───────────────────────────────────────────────────────────────────────────────────────────


def stale(k: Knowledge, row: Row) -> str:
    """What changed since the row was planned; "" if it can be applied."""
    for number, seen in zip(row.facts, row.seen, strict=True):
        fact = k.facts.get(number)
        if fact is None or fact.changed_at != seen:
            last = max((c for c in k.changes.values() if number in c.facts), key=lambda c: c.number, default=None)
            return f"f{number} was changed meanwhile" + (f" by change {last.number} ({last.cause})" if last else "")
    return ""


def carried_out(k: Knowledge, row: Row, who: Person, write: Write) -> list[Body]:
    """The records of one row: one change. `stale` must have been asked first."""
    if row.kind in ("weigh", "promote"):
        weight = row.importance if row.kind == "weigh" else None
        return amend.weigh(
            k, row.facts[0], who, importance=weight, layer=row.layer if row.kind == "promote" else "", cause=CAUSE,
            why=f"{row.kind}: {row.why}",
        )  # fmt: skip
    change, facts = len(k.changes) + 1, [k.facts[n] for n in row.facts]
    new = len(k.facts) + 1 if row.after and row.kind in ("merge", "archive", "quarantine") else 0
    row = replace(row, why=_LOGGED.get(row.kind, row.why))
    opening = FactsChanged(change, CAUSE, _decider(row, who), who.at, f"{row.kind}: {row.why}", row.facts, new)
    return [opening, *_ENDINGS[row.kind](k, row, facts, change, who, write)]


_LOGGED = {  # a record holds no word of the user's: words live in one place, where they can be erased
    "doubt": "its sources say the opposite",
    "quarantine": "no source says so",
}


def _decider(row: Row, who: Person) -> str:
    return who.name if row.by == "rules" else f"{who.name}, in the words of {row.by}"


def _in_one(k: Knowledge, row: Row, facts: list[Fact], change: int, who: Person, write: Write) -> list[Body]:
    """Another entry in their place, with all of their sources and wherever any of them held."""
    new_id, said = len(k.facts) + 1, row.after[0]
    keeper = k.facts[row.keeper]
    form = keeper if row.kind == "merge" else changed(
        keeper, key="", value_key="", subject=0, attribute=0, value=0, tags=0, single=False, kind="fact"
    )  # fmt: skip
    new = changed(
        form, id=new_id, text=write(said), sources=_all_sources(facts), tokens=tokens.count(said), state="active",
        why="", beliefs=(), importance=max(f.importance for f in facts),
        origin=max((f.origin for f in facts), key=PRIORITY.__getitem__), by=row.by if row.by != "rules" else keeper.by,
    )  # fmt: skip
    done = {"merge": "merged into", "archive": "archived in"}[row.kind]
    return [
        FactWritten(change, new, joined(i for f in facts for i in f.believed), who.at),
        *(FactRevised(change, f.id, (), "superseded", who.at, f"{done} f{new_id}") for f in facts),
    ]


def _all_sources(facts: Iterable[Fact]) -> tuple[Source, ...]:
    return tuple(sorted(dict.fromkeys(s for f in facts for s in f.sources), key=lambda s: (s.said_at, s.turn, s.start)))


def _ended(k: Knowledge, row: Row, facts: list[Fact], change: int, who: Person, write: Write) -> list[Body]:
    """It holds no more from now on, and stays in history."""
    fact = facts[0]
    left = without(fact.believed, Interval(who.at))
    return [FactRevised(change, fact.id, left, "superseded", who.at, f"forgotten: {row.why}")]


def _doubted(k: Knowledge, row: Row, facts: list[Fact], change: int, who: Person, write: Write) -> list[Body]:
    return [FactRevised(change, facts[0].id, (), "quarantined", who.at, row.why)]


def _set_apart(k: Knowledge, row: Row, facts: list[Fact], change: int, who: Person, write: Write) -> list[Body]:
    said = row.after[0]
    fact = Fact(
        len(k.facts) + 1, write(said), origin="inference", by=row.by, state="quarantined", why=row.why,
        tokens=tokens.count(said), written_in="",
    )  # fmt: skip
    return [FactWritten(change, fact, (), who.at)]


def _bare(k: Knowledge, row: Row, facts: list[Fact], change: int, who: Person, write: Write) -> list[Body]:
    assert row.pruned is not None
    return [BookmarkPruned(change, row.pruned, who.at)]


_ENDINGS: Mapping[str, Callable[[Knowledge, Row, list[Fact], int, Person, Write], list[Body]]] = {
    "merge": _in_one,
    "archive": _in_one,
    "forget": _ended,
    "doubt": _doubted,
    "quarantine": _set_apart,
    "prune": _bare,
}
