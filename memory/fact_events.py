"""What happened to a user's long-term memory: records of the user's own stream, like those in events.py.

Every record that changes a fact carries the number of its *change*, opened by a `FactsChanged` that says who decided
and why; undo names a change. Times are in the record, for the fold knows no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory.events import Body
from memory.facts import Fact, Interval, Source
from memory.pages import Bookmark


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one candidate, or of a turn that had none."""

    verdict: str  # stored, known, superseded, merged, kept_both, conflict, slotted, ended, quarantined, refused, none
    reason: str
    fact: int = 0  # the one that was written, or that knew it
    others: tuple[int, ...] = ()  # facts that changed with it
    text: int = 0  # id of the candidate's words, where it became no fact
    start: int = 0  # its span in the turn
    end: int = 0


@dataclass(frozen=True, slots=True)
class TurnRemembered(Body):
    """The write ledger: one record a turn, also where nothing was worth keeping."""

    conversation: str
    turn: int
    extractor: str  # rules, or the model's name
    outcomes: tuple[Outcome, ...]
    read_version: int  # of this stream, when the turn's step read it
    at: datetime
    raw: int = 0  # id of the model's answer, kept where it could not be read
    whole: bool = True  # the turn was looked at for all it holds; else one thing of it was kept, as somebody asked
    anew: bool = False  # the conversation is another one under a name used before: it is looked at from `turn` on


@dataclass(frozen=True, slots=True)
class FactsChanged(Body):
    """Opens a change: the records after it with its number belong to it."""

    change: int
    cause: str  # write, supersede, slot, merge, end, conflict, resolve, correct, forget, mark, undo, consolidate, …
    decided_by: str  # rule:single_value, model:gpt-4o-mini, user, …
    at: datetime
    why: str = ""  # in words of ours, never the user's; in those of whoever settled a conflict
    old: tuple[int, ...] = ()  # facts before …
    new: int = 0  # … and the one after, 0: none
    undoes: int = 0


@dataclass(frozen=True, slots=True)
class FactWritten(Body):
    change: int
    fact: Fact  # without beliefs
    holds: tuple[Interval, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class FactRevised(Body):
    """From now on it is believed to hold in exactly these intervals; none: it is not believed."""

    change: int
    fact: int
    holds: tuple[Interval, ...]
    state: str
    at: datetime
    why: str = ""


@dataclass(frozen=True, slots=True)
class FactSourced(Body):
    """It was said again."""

    change: int
    fact: int
    source: Source
    at: datetime


@dataclass(frozen=True, slots=True)
class FactWeighed(Body):
    change: int
    fact: int
    importance: float
    layer: str
    at: datetime
    conversation: str = ""  # of a working fact


@dataclass(frozen=True, slots=True)
class ConflictFound(Body):
    """Facts that cannot all hold, and what the rule would do."""

    change: int
    conflict: int
    facts: tuple[int, ...]
    why: str
    rule: str  # that would decide
    would_win: int  # by it
    at: datetime


@dataclass(frozen=True, slots=True)
class ConflictSettled(Body):
    """`winner` 0: all of them hold. `open`: it is open again, by an undo."""

    change: int
    conflict: int
    winner: int
    decided_by: str
    at: datetime
    open: bool = False


@dataclass(frozen=True, slots=True)
class RememberingSwitched(Body):
    """The user wants nothing remembered from here on, or again."""

    on: bool
    by: str
    at: datetime


# ── summaries and consolidation ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Summary:
    id: int  # from 1, within one user's memory
    conversation: str
    level: int  # 0: of turns; 1: a chapter
    first: int  # turn …
    last: int  # … to turn, both included
    turns: tuple[int, ...]  # whose words stand in it
    of: tuple[int, ...]  # a chapter: the summaries under it
    day: str  # 2026-03-02, where its first turn was said
    text: int  # id of its words
    tokens: int
    by: str  # rules, or a model's name
    made_at: datetime
    retired: str = ""  # why it stands no more

    @property
    def name(self) -> str:
        return f"s{self.id}"


@dataclass(frozen=True, slots=True)
class SummaryWritten(Body):
    summary: Summary


@dataclass(frozen=True, slots=True)
class SummaryRetired(Body):
    summary: int
    why: str
    at: datetime


@dataclass(frozen=True, slots=True)
class TextRefused(Body):
    """What a model wrote in place of entries or turns, and no source says so; what was there stays."""

    task: str  # summary, merge, archive
    by: str
    reason: str
    raw: int  # id of its words, 0: none
    at: datetime
    conversation: str = ""
    turns: tuple[int, ...] = ()
    facts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pruned:
    """The bookmark that a page had before it was pruned; ids of words are of its conversation."""

    conversation: str
    page: int
    bookmark: Bookmark


@dataclass(frozen=True, slots=True)
class BookmarkPruned(Body):
    """A change took a dead bookmark; the page itself stays, with a bare name in the window."""

    change: int
    pruned: Pruned
    at: datetime


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """A row of a consolidation that was not applied, for what it was about had changed."""

    kind: str
    facts: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Consolidated(Body):
    """Rows of a previewed consolidation were applied; `turns` and `facts` say how much there was then."""

    applied: int
    skipped: tuple[SkippedRow, ...]
    turns: int  # that were looked at for facts, in all conversations
    facts: int  # that hold
    at: datetime


@dataclass(frozen=True, slots=True)
class TextErased(Body):
    """Words were taken out for good, here and wherever else they stood; nothing brings them back.

    The one record that comes with a change to what is written already: it says what changed, and no word of it.
    """

    texts: tuple[int, ...]  # ids, blank now or shortened
    records: tuple[int, ...]  # seq of those that held words themselves
    facts: tuple[int, ...]  # of which nothing is left
    by: str
    at: datetime
