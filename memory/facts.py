"""A fact: one remembered entry, where it was said, and when it holds, in two times.

*Valid* time is the world's: from when until when it was true. *Recorded* time is ours: from when until when we
believed so. Both are half-open and in UTC; nothing is ever overwritten, so either can be asked "as of" any moment
(Snodgrass 1999; the algebra of intervals after Ervacon's bitemporal).

Words stand in the store's table of words; a fact holds their ids and, to be compared without them, digests.
Not here: what is worth keeping (extraction.py), what a new statement does to an old one (revision.py), the fold over
what happened (knowledge.py).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b

from memory.language import simplified

LAYERS = ("working", "episodic", "semantic")  # this conversation only; what happened; what holds
STATES = ("active", "conflicted", "superseded", "retracted", "quarantined", "erased")
PRIORITY = {"inference": 1, "statement": 2, "correction": 3}  # which of two that cannot both hold is believed
WEIGHTY = 0.8  # importance from which a standing fact comes into a prompt unasked
KINDS = ("fact", "preference", "decision", "task")

BEGINNING = datetime.min.replace(tzinfo=UTC)
FOREVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something in a turn that may be worth keeping, in words; `start` and `end` are the span that says so.

    Without an attribute it is text only, never replaced by rule. `single` attributes have one value at a time.
    A `correction` says that what was believed is wrong, or holds no more. `negated`: it does not (any more) hold.
    """

    text: str  # the entry, readable by itself
    start: int
    end: int
    kind: str = "fact"
    subject: str = ""  # whom or what it is about; "user" for whoever speaks
    attribute: str = ""
    value: str = ""
    negated: bool = False
    single: bool = False
    origin: str = "statement"
    layer: str = ""  # "": as its kind has it
    tags: tuple[str, ...] = ()  # topic:travel, intent:plan
    valid_from: datetime | None = None  # None: since it was said
    valid_to: datetime | None = None
    still: bool = False  # begun at `valid_from`, it holds as it is said, by these words
    importance: float = 0.5


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a model says that a candidate does to a known fact; revision.py takes it past its guard, or not."""

    action: str  # new, same, replaces, ends; of two that are alike also merges, beside
    target: int
    by: str  # the model
    text: str = ""  # merges: what says all of both


@dataclass(frozen=True, slots=True)
class Source:
    """Where it was said: a span of a turn's words."""

    conversation: str
    turn: int
    text: int  # id of the turn's words
    start: int
    end: int
    by: str  # user, assistant, tool
    said_at: datetime  # with the speaker's offset from UTC
    since: datetime | None = None  # when it began to hold, as they said; None: when they said so
    still: bool = False  # and it held as they said so

    @property
    def tells_of(self) -> tuple[datetime, ...]:
        """The moments at which it holds by these words: when it began, as it is said, or both."""
        if self.since is None:
            return (self.said_at,)
        return (self.since, self.said_at) if self.still else (self.since,)


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """`[valid_from, valid_to)` in the world."""

    valid_from: datetime
    valid_to: datetime = FOREVER

    def __contains__(self, at: datetime) -> bool:
        return self.valid_from <= at < self.valid_to

    def overlaps(self, other: Interval) -> bool:
        """Whether any moment is in both; an empty one holds none."""
        return max(self.valid_from, other.valid_from) < min(self.valid_to, other.valid_to)


@dataclass(frozen=True, slots=True)
class Belief:
    """That a fact holds in `[valid_from, valid_to)`, believed in `[recorded_from, recorded_to)`."""

    valid_from: datetime
    valid_to: datetime
    recorded_from: datetime
    recorded_to: datetime = FOREVER

    @property
    def holds(self) -> Interval:
        return Interval(self.valid_from, self.valid_to)

    def known(self, at: datetime) -> bool:
        return self.recorded_from <= at < self.recorded_to


@dataclass(frozen=True)  # no slots: the fold copies facts by their dict
class Fact:
    id: int  # from 1, within one user's memory
    text: int
    key: str = ""  # digest of subject and attribute; "": text only
    value_key: str = ""
    subject: int = 0
    attribute: int = 0
    value: int = 0
    kind: str = "fact"
    layer: str = "episodic"
    conversation: str = ""  # of a working fact: the only conversation that may read it
    tags: int = 0  # id of the tags, joined by spaces
    negated: bool = False
    single: bool = False
    origin: str = "statement"
    by: str = "rules"  # who drew it: rules, a model's name, a person
    importance: float = 0.5
    tokens: int = 0
    state: str = "active"
    why: str = ""  # it is in this state
    written_in: str = ""  # conversation
    written_at: int = 0  # version of the user's stream
    changed_at: int = 0
    sources: tuple[Source, ...] = ()
    beliefs: tuple[Belief, ...] = ()

    @property
    def name(self) -> str:
        return f"f{self.id}"

    @property
    def believed(self) -> tuple[Interval, ...]:
        """Where it holds, as far as we know now; () if it is not believed at all."""
        return tuple(b.holds for b in self.beliefs if b.recorded_to == FOREVER)

    @property
    def is_believed(self) -> bool:
        return any(b.recorded_to == FOREVER for b in self.beliefs)

    @property
    def open(self) -> bool:
        """Believed to hold without a known end."""
        return any(i.valid_to == FOREVER for i in self.believed)

    def readable_in(self, conversation: str | None) -> bool:
        """A working fact is its own conversation's and nobody else's."""
        return self.layer != "working" or self.conversation == conversation

    def lasts(self, now: datetime) -> bool:
        """Believed to hold at `now`, or to begin later."""
        return any(b.recorded_to == FOREVER and b.valid_to > now for b in self.beliefs)

    @property
    def since(self) -> datetime:
        """Begin of the newest interval in which it holds, or held when it was last believed; else when it was said."""
        begins = [i.valid_from for i in self.believed or (b.holds for b in self.beliefs)]
        return max(begins or [s.said_at for s in self.sources], default=BEGINNING)

    @property
    def said_at(self) -> datetime:
        return max(s.said_at for s in self.sources) if self.sources else self.since

    @property
    def since_when(self) -> datetime:
        """The same for people: with the offset of whoever said so, and when they did where no begin is known."""
        begin = self.since
        said = min((s.said_at for s in self.sources), default=begin)
        return said if begin == BEGINNING else in_zone(begin, said)

    @property
    def dated(self) -> tuple[Belief, ...]:
        """What is and was believed of it, for people: its days are those of the place where it was said."""
        like = self.since_when
        return tuple(
            replace(b, valid_from=in_zone(b.valid_from, like), valid_to=in_zone(b.valid_to, like)) for b in self.beliefs
        )

    def holds(self, valid: datetime, recorded: datetime | None = None) -> bool:
        """Whether we believed at `recorded` (None: believe now) that it was true at `valid`."""
        return any(
            valid in b.holds and (b.known(recorded) if recorded else b.recorded_to == FOREVER) for b in self.beliefs
        )


# ── comparing without words ───────────────────────────────────────────────────────────────────────────


def digest(*words: str) -> str:
    """Sixteen hexadecimal digits, equal for words that mean the same to a key: case, width, script, blanks aside.

    >>> digest("Ana", "home city") == digest("ana ", "Home  City")
    True
    >>> digest("8,000 euros") == digest("8000 euros"), digest("壽司") == digest("寿司")
    (True, True)
    """
    plain = "\x1f".join(" ".join(_plain(w).split()) for w in words)
    return blake2b(plain.encode(), digest_size=8).hexdigest()


def _plain(word: str) -> str:
    """In one case, width and Chinese script, thousands without their commas."""
    return _THOUSANDS.sub("", simplified(unicodedata.normalize("NFKC", word)).casefold())


_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def value_digest(value: str) -> str:
    """Digest of a value, without what is done with it: who loves eating a dish and who hates it speak of one thing,
    and so do "to swim" and "swimming".

    >>> value_digest("吃川菜") == value_digest("川菜"), value_digest("eating noodles") == value_digest("noodles")
    (True, True)
    >>> value_digest("to swim in lakes") == value_digest("swimming in lakes")
    True
    """
    return digest(_TO_DO.sub(lambda m: _doing(m[1]), _DONE_WITH.sub("", value.strip())))


_TO_DO = re.compile(r"^to ([a-z]+)", re.IGNORECASE)
_SHORT_VERB = re.compile(r"[^aeiou]*[aeiouy][bdfgklmnprtvz]")  # its last letter is doubled: swim, run, get


def _doing(verb: str) -> str:
    """
    >>> [_doing(verb) for verb in ("swim", "read", "hike", "see", "play", "lie")]
    ['swimming', 'reading', 'hiking', 'seeing', 'playing', 'lying']
    """
    verb = verb.lower()
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1]}ing" if _SHORT_VERB.fullmatch(verb) else f"{verb}ing"


_DONE_WITH = re.compile(r"^(?:(?:to )?(?:eat|drink)(?:ing)?\s+(?=\w{3})|[吃喝](?=[^\W\d_]{2}))", re.IGNORECASE)


def key_of(candidate: Candidate) -> str:
    return digest(candidate.subject, candidate.attribute) if candidate.attribute else ""


def in_zone(at: datetime, like: datetime) -> datetime:
    """The same moment with another one's offset; the ends of time stay in UTC."""
    return at if at in (BEGINNING, FOREVER) else at.astimezone(like.tzinfo)


# ── intervals ─────────────────────────────────────────────────────────────────────────────────────────


def without(intervals: Iterable[Interval], cut: Interval) -> tuple[Interval, ...]:
    """What is left of them outside of `cut`."""
    return tuple(_parts(intervals, cut))


def _parts(intervals: Iterable[Interval], cut: Interval) -> Iterator[Interval]:
    for each in intervals:
        if not each.overlaps(cut):
            yield each
            continue
        if each.valid_from < cut.valid_from:
            yield Interval(each.valid_from, cut.valid_from)
        if cut.valid_to < each.valid_to:
            yield Interval(cut.valid_to, each.valid_to)


def joined(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """Those that overlap or touch as one, in order."""
    found: list[Interval] = []
    for each in sorted(intervals):
        if found and each.valid_from <= found[-1].valid_to:
            found[-1] = Interval(found[-1].valid_from, max(found[-1].valid_to, each.valid_to))
        else:
            found.append(each)
    return tuple(found)


def rebelieved(beliefs: Sequence[Belief], holds: Sequence[Interval], at: datetime) -> tuple[Belief, ...]:
    """From `at` on exactly these intervals are believed; what was believed before stays known as that."""
    kept: list[Belief] = []
    open_ones = set(holds)
    for belief in beliefs:
        if belief.recorded_to != FOREVER:
            kept.append(belief)
        elif belief.holds in open_ones:
            open_ones.discard(belief.holds)
            kept.append(belief)
        elif belief.recorded_from < at:
            kept.append(Belief(belief.valid_from, belief.valid_to, belief.recorded_from, at))
    return (*kept, *(Belief(i.valid_from, i.valid_to, at) for i in sorted(open_ones)))


# ── asking ────────────────────────────────────────────────────────────────────────────────────────────


def as_of(facts: Iterable[Fact], valid: datetime, recorded: datetime | None = None) -> list[Fact]:
    """What was true at `valid`, as we knew it at `recorded` (None: as we know it now)."""
    return [fact for fact in facts if fact.holds(valid, recorded)]


def history(facts: Iterable[Fact], key: str, recorded: datetime | None = None) -> list[tuple[Interval, Fact]]:
    """How the truth changed, as known at `recorded`: values of one key in order of valid time."""
    found = [
        (b.holds, fact)
        for fact in facts
        if fact.key == key
        for b in fact.beliefs
        if (b.known(recorded) if recorded else b.recorded_to == FOREVER)
    ]
    return sorted(found, key=lambda each: (each[0], each[1].id))


def evolution(facts: Iterable[Fact], key: str) -> list[tuple[Belief, Fact]]:
    """How our knowledge changed: everything ever believed of one key, in order of recorded time."""
    found = [(belief, fact) for fact in facts if fact.key == key for belief in fact.beliefs]
    return sorted(found, key=lambda each: (each[0].recorded_from, each[0].valid_from, each[1].id))
