"""Old values before the model's eyes: in which prompts a superseded one still stood, and when the new one took over.

One value is *superseded* at a step if it held before, does not at that step's message, and another value of the same
thing, told before, does. A text that says two values of the thing tells of the change, and shows no old one.

An old value in a prompt is *marked* where the prompt itself says that it is of the past: a line among the facts that
names its end or what it is in dispute with, a recalled page, which stands between marks with the date of each turn,
or a bookmark, which stands in the list of pages that left. It is *followed* where a later message of the same prompt
says the new value: who reads the chat to its end knows. Else it is *unmarked*: plain words, with nothing after them
that says otherwise. Unmarked with the new value beside it (a line among the facts, a recalled page above) is what the
alarm is for: two versions of one fact, and the older one is read last.

Asked of prompts as the log has them. Whether a model minded is not known here, only whether its reply says the old
value and not the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from re import compile as pattern
from statistics import median
from typing import Any, NamedTuple

from memory import show
from memory.events import PromptAssembled
from memory.facts import Fact
from memory.knowledge import Knowledge
from memory.language import terms
from memory.prompt import Message
from memory.reach import read, words_of
from memory.revision import excludes
from memory.scope import Scope
from memory.show import Shown
from memory.steps import READ, Step
from memory.stores.sql import Store
from memory.turns import Words

MARKED, FOLLOWED, UNMARKED = "marked", "followed", "unmarked"
WHERE = {"facts": "facts", "stubs": "bookmark", "recalled": "recalled"}  # sections; others: page
_ASIDE = pattern(r"[(（][^()（）]*[)）]")  # the day that a value was resolved to: nobody said so
FIGURES = 3  # digits that tell an amount from a day
SAID_TO_END = (", until ", ", undecided against ")  # as known.py words it


@dataclass(frozen=True, slots=True)
class Exposure:
    """One old value in the prompts of one step."""

    step: int
    turn: int  # of the step's message
    fact: int  # the old version
    newer: tuple[int, ...]  # those that hold
    where: str  # facts, page, recalled, bookmark
    page: int  # 0: none
    how: str  # marked, followed, unmarked
    beside: bool  # a version that holds stands in the same prompt

    @property
    def alarming(self) -> bool:
        """Two versions of one fact stand in one prompt, and nothing says which holds."""
        return self.how == UNMARKED and self.beside

    def __str__(self) -> str:
        place = f"p{self.page}" if self.page else "the facts"
        place += " (bookmark)" if self.where == "bookmark" else " (recalled)" if self.where == "recalled" else ""
        newer = ", ".join(f"f{n}" for n in self.newer)
        return (
            f"turn {self.turn}: f{self.fact} on {place}, {self.how}, {'beside' if self.beside else 'without'} {newer}"
        )


@dataclass(frozen=True, slots=True)
class Superseded:
    """One value that was replaced, and what came of it in the prompts since."""

    fact: int
    said: str  # the old value
    newer: int
    says: str  # the new value
    told_at: int  # turn of this conversation that told the new one; 0: it was told elsewhere
    steps: int  # with prompts since then
    exposed: int  # of these, whose prompts held the old value
    unmarked: int  # of these, unmarked
    beside: int  # of these, with the new one in the same prompt
    replied: tuple[int, ...]  # turns of messages whose reply says the old value and not the new
    took_over: int  # first turn of a message whose prompt had the new value and no unmarked old one; 0: none yet
    lag_turns: int | None  # from the first prompt that could have had it; None: it did not take over yet


@dataclass(frozen=True)
class StaleExposure(Shown):
    scope: Scope
    steps: int  # that had a prompt
    at_risk: int  # of these, with any value superseded before
    facts: tuple[Superseded, ...]
    exposures: tuple[Exposure, ...]

    def _steps(self, *hows: str, alarming: bool = False) -> int:
        return len({e.step for e in self.exposures if (not hows or e.how in hows) and (e.alarming or not alarming)})

    @property
    def exposed(self) -> int:
        """Steps in whose prompts an old value stood, marked or not."""
        return self._steps()

    @property
    def unmarked(self) -> int:
        return self._steps(UNMARKED)

    @property
    def followed(self) -> int:
        return self._steps(FOLLOWED)

    @property
    def alarms(self) -> tuple[Exposure, ...]:
        return tuple(e for e in self.exposures if e.alarming)

    @property
    def exposed_ratio(self) -> float:
        return self.exposed / self.steps if self.steps else 0.0

    @property
    def unmarked_ratio(self) -> float:
        return self.unmarked / self.steps if self.steps else 0.0

    @property
    def update_lag(self) -> float | None:
        """Turns until new values took over, the median; None: none was told, or none took over."""
        lags = [f.lag_turns for f in self.facts if f.lag_turns is not None]
        return median(lags) if lags else None

    @property
    def line(self) -> str:
        if not self.facts:
            return f"no value was superseded in {self.steps} steps"
        share = f"old values stood in the prompts of {self.exposed} of {self.steps} steps ({self.exposed_ratio:.0%})"
        told = f"{share}: {self.unmarked} unmarked, {self._steps(alarming=True)} of them beside the new one"
        over = sum(f.lag_turns is not None for f in self.facts)
        lag = f", after {self.update_lag:g} turns (median)" if self.update_lag is not None else ""
        return f"{told}; {over} of {len(self.facts)} new values took over{lag}"

    def __repr__(self) -> str:
        return f"<StaleExposure of {self.scope}: {self.line}>"

    def _html(self) -> str:
        head = ["old", "new", "told at turn", "exposed", "unmarked", "beside", "took over at"]
        body = [[f"f{f.fact} {f.said}", f"f{f.newer} {f.says}", f.told_at or "elsewhere", f"{f.exposed}/{f.steps}",
                 f.unmarked, f.beside, f.took_over or "not yet"] for f in self.facts]  # fmt: skip
        return show.rows(self.line, {"of": self.scope}) + show.table(head, body)

    def to_dict(self) -> dict[str, Any]:
        figures = {"exposed": self.exposed, "unmarked": self.unmarked, "followed": self.followed,
                   "exposed_ratio": self.exposed_ratio, "unmarked_ratio": self.unmarked_ratio,
                   "alarms": len(self.alarms), "update_lag": self.update_lag}  # fmt: skip
        return {**asdict(self), "scope": str(self.scope), "line": self.line, **figures}

    def to_df(self) -> Any:
        """One row an old value in a step's prompts."""
        import pandas as pd

        return pd.DataFrame([asdict(e) for e in self.exposures])


def stale_exposure(store: Store, scope: Scope, turn: int | None = None) -> StaleExposure:
    """Of the steps up to `turn` (None: all). Raises NotFound."""
    store.require(scope)
    words = words_of(store, scope)
    done = [step for step in read(store, scope) if turn is None or step.turn <= turn]
    return exposure(done, store.knowledge(scope.user), words.__getitem__, scope)


def exposure(done: Sequence[Step], k: Knowledge, words: Words, scope: Scope) -> StaleExposure:
    """Of these steps with prompts. `words` knows the conversation's and those of what is remembered."""
    versions = _Versions(k, words, scope.conversation)
    found: list[Exposure] = []
    told: dict[int, _Told] = {}
    at_risk = 0
    for step in done:
        message = step.message
        assert message is not None
        over = versions.superseded(message.said_at, step.at, step.turn) if versions.groups else {}
        at_risk += bool(over)
        if not over:
            continue
        mine = list(_of_step(step, over, versions))
        found += (each for each, _ in mine if each.where)
        for each, newer_there in mine:
            told.setdefault(each.fact, _Told(each.newer[0])).note(each, newer_there, step, versions)
    facts = tuple(_summed(number, each, versions) for number, each in sorted(told.items()))
    return StaleExposure(scope, len(done), at_risk, facts, tuple(found))


# ── which value is old at a step ──────────────────────────────────────────────────────────────────────


def versions_of_one(a: Fact, b: Fact) -> bool:
    """Whether they are of one thing and cannot both hold, as revision.py has it."""
    return a.id != b.id and bool(a.key) and a.key == b.key and excludes(a, b)


class _Said(NamedTuple):
    """What a text says, by numbers of facts."""

    told: frozenset[int]  # versions that it has
    alone: frozenset[int]  # of these, those without another version of the same thing: what says two tells of a change


NOTHING = _Said(frozenset(), frozenset())


class _Versions:
    """A user's facts that have several versions, and which texts say which of them. Each text is read once."""

    def __init__(self, k: Knowledge, words: Words, conversation: str) -> None:
        self.known, self.words, self.conversation = k.facts, words, conversation
        self.groups = [g for facts in k.by_key.values() if len(g := self._told(facts)) > 1]
        self._group_of = {fact.id: group for group in self.groups for fact in group}
        self._texts: dict[int, _Said] = {}
        self._first: dict[int, int] = {}
        self._by_text: dict[int, set[int]] = {}  # id of a turn's words -> versions whose source it is
        self._by_term: dict[str, set[int]] = {}  # one word of a value -> versions
        self._telling: dict[int, frozenset[str]] = {}
        self._about: dict[int, frozenset[str]] = {}
        for fact in (fact for group in self.groups for fact in group):
            self._note(fact)

    def _told(self, facts: Iterable[Fact]) -> list[Fact]:
        """Those that somebody said and that this conversation may read."""
        return [f for f in facts if f.sources and f.readable_in(self.conversation) and f.state != "erased"]

    def _note(self, fact: Fact) -> None:
        """Where it was said here, and by which words it is known elsewhere; an amount by its figures: 5,000 EUR."""
        here = [s for s in fact.sources if s.conversation == self.conversation]
        self._first[fact.id] = min((s.turn for s in here), default=0)
        for source in here:
            self._by_text.setdefault(source.text, set()).add(fact.id)
        value = frozenset(terms(_ASIDE.sub(" ", self.value(fact.id))))
        figures = frozenset(term for term in value if term.isdigit() and len(term) >= FIGURES)
        self._telling[fact.id] = figures or value
        self._about[fact.id] = frozenset(terms(self.words(fact.attribute))) if fact.attribute else frozenset()
        if value:
            self._by_term.setdefault(max(figures or value, key=lambda t: (len(t), t)), set()).add(fact.id)

    def superseded(self, said_at: datetime, at: datetime, turn: int) -> dict[int, tuple[int, ...]]:
        """Old versions at a message, each with those that hold then; a message knows what was told before it."""
        found: dict[int, tuple[int, ...]] = {}
        for group in self.groups:
            told = [fact for fact in group if self._was_told(fact, at, turn)]
            holding = [fact for fact in told if fact.holds(said_at)]
            for old in (fact for fact in told if fact not in holding):
                newer = tuple(f.id for f in holding if versions_of_one(old, f))
                if newer:
                    found[old.id] = newer
        return found

    def _was_told(self, fact: Fact, at: datetime, turn: int) -> bool:
        here = self.told_at(fact.id)
        return here < turn if here else any(belief.recorded_from <= at for belief in fact.beliefs)

    def told_at(self, number: int) -> int:
        """First turn of this conversation that says so; 0: none does."""
        return self._first[number]

    def value(self, number: int) -> str:
        fact = self.known[number]
        return self.words(fact.value or fact.text)

    def said(self, text: int) -> _Said:
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = self._read(text)
        return found

    def _read(self, text: int) -> _Said:
        there = frozenset(terms(self.words(text)))
        near = {number for term in there & self._by_term.keys() for number in self._by_term[term]}
        told = {number for number in near if self._is_in(there, number)} | self._by_text.get(text, set())
        alone = (number for number in told if not self._with_another(number, told))
        return _Said(frozenset(told), frozenset(alone)) if told else NOTHING

    def _is_in(self, there: frozenset[str], number: int) -> bool:
        about = self._about[number]
        return self._telling[number] <= there and (not about or bool(about & there))

    def _with_another(self, number: int, told: Iterable[int]) -> bool:
        """East Berlin says Berlin as well, and is no second value."""
        fact, mine = self.known[number], self._telling[number]
        same = (n for n in told if n != number and not self._telling[n] < mine)
        return any(versions_of_one(fact, self.known[n]) for n in same)


# ── where it stands ───────────────────────────────────────────────────────────────────────────────────


class _Spot(NamedTuple):
    """One text in a prompt."""

    place: int  # of its message
    section: str
    page: int
    text: int
    said: _Said
    fact: int  # whose line it is, in the section of facts
    head: int  # id of what stands before that line


NOWHERE, QUOTED = -2, -1  # where a newer version stands last: not at all, in a line or a quotation; else a place


def _of_step(step: Step, over: Mapping[int, tuple[int, ...]], versions: _Versions) -> Iterator[tuple[Exposure, bool]]:
    """For each old version where it stood, the worst place of all prompts of the step, and whether a newer one did.

    One with `where` "" stood nowhere.
    """
    prompts, own = [list(_spots(step, prompt, versions)) for prompt in step.prompts], step.said
    for old, newer in over.items():
        last = [_newest(spots, newer) for spots in prompts]
        stood = [
            _exposure(step, spot, old, newer, at, versions.words)
            for spots, at in zip(prompts, last, strict=True)
            for spot in spots
            if (spot.fact == old if spot.section == "facts" else old in spot.said.alone and spot.text not in own)
        ]
        there = max(last, default=NOWHERE) > NOWHERE
        nowhere = Exposure(step.number, step.turn, old, newer, "", 0, MARKED, there)
        yield max(stood, key=_badness, default=nowhere), there


def _spots(step: Step, prompt: PromptAssembled, versions: _Versions) -> Iterator[_Spot]:
    """Those texts that say a version of anything."""
    facts = [each.fact for each in step.placed.facts if not each.stage] if step.placed else []
    for place, row in enumerate(prompt.messages):
        message = Message.of_row(row)
        if message.section == "facts":  # after the opening each fact has two parts, its name and its words (known.py)
            lines = zip(facts, message.parts[1::2], message.parts[2::2], strict=False)
            yield from (_Spot(place, "facts", 0, text, NOTHING, fact, head) for fact, head, text in lines)
        elif message.section in READ or message.section == "stubs":
            for part in message.parts:
                if (said := versions.said(part)) is not NOTHING:
                    yield _Spot(place, message.section, message.page, part, said, 0, 0)


def _newest(spots: Iterable[_Spot], newer: tuple[int, ...]) -> int:
    """The user's new message counts: it is read last. Bookmarks do not, which name things and tell nothing."""
    found = NOWHERE
    for spot in spots:
        if spot.section == "facts":
            there = spot.fact in newer
        else:
            there = spot.section != "stubs" and not spot.said.told.isdisjoint(newer)
        if there:
            found = max(found, QUOTED if spot.section in ("facts", "recalled") else spot.place)
    return found


def _exposure(step: Step, spot: _Spot, old: int, newer: tuple[int, ...], last: int, words: Words) -> Exposure:
    where = WHERE.get(spot.section, "page")
    page = _page_of(words(spot.text)) if where == "bookmark" else spot.page
    return Exposure(step.number, step.turn, old, newer, where, page, _how(spot, last, words), last > NOWHERE)


def _how(spot: _Spot, last: int, words: Words) -> str:
    if spot.section in ("recalled", "stubs"):
        return MARKED
    if spot.section == "facts":
        return MARKED if any(told in words(spot.head) for told in SAID_TO_END) else UNMARKED
    return FOLLOWED if last > spot.place else UNMARKED


def _badness(e: Exposure) -> tuple[bool, ...]:
    return e.alarming, e.how == UNMARKED, e.how == FOLLOWED, e.where != "bookmark"


def _page_of(stub: str) -> int:
    """Of `[p3:allergy,peanut]`, 3; of a range its first.

    >>> _page_of("[p3-p9:rivers]")
    3
    """
    digits = stub.removeprefix("[p").partition(":")[0].partition("-")[0].rstrip("]")
    return int(digits) if digits.isdigit() else 0


# ── summed up ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Told:
    """What the steps since say of one old version."""

    newer: int
    first: int = 0  # turn of the first step that could have had the new one
    steps: int = 0
    exposed: int = 0
    unmarked: int = 0
    beside: int = 0
    replied: tuple[int, ...] = ()
    took_over: int = 0

    def note(self, each: Exposure, newer_there: bool, step: Step, versions: _Versions) -> None:
        self.first = self.first or step.turn
        self.steps += 1
        self.exposed += bool(each.where)
        self.unmarked += bool(each.where) and each.how == UNMARKED
        self.beside += bool(each.where) and each.alarming
        old_replies = [t for t in step.replies if each.fact in versions.said(t.text).alone]
        if old_replies:
            self.replied = (*self.replied, step.turn)
        if not self.took_over and newer_there and not (each.where and each.how == UNMARKED):
            self.took_over = step.turn


def _summed(number: int, told: _Told, versions: _Versions) -> Superseded:
    at = versions.told_at(told.newer)
    lag = told.took_over - (at or told.first) if told.took_over else None
    return Superseded(
        number, versions.value(number), told.newer, versions.value(told.newer), at, told.steps, told.exposed,
        told.unmarked, told.beside, told.replied, told.took_over, lag,
    )  # fmt: skip
