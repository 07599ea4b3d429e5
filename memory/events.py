"""What happened: one frozen record per decision, past tense, with its reason.

The log of these is the truth; state is a fold over it (state.py). Kinds are a closed table: each class below,
with a version. Records hold ids of words (`turns.Turn.text` and the like), never the words.

A field that a newer program wrote and this one does not know stays in `Event.extra`, and is written back by
`encode`; a *kind* that this one does not know is an error, for state folded without it would be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from types import UnionType
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

import orjson

from memory.errors import StoreDamaged, StoreTooNew
from memory.pages import Bookmark, Gist
from memory.turns import Call, Turn

T = TypeVar("T")

KINDS: dict[str, type[Body]] = {}


@dataclass(frozen=True, slots=True)
class Body:
    """Base of every record; `version` grows when a field changes its meaning."""

    version: ClassVar[int] = 1

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # dataclass(slots=True) makes each class twice; the second, slotted one is the one to keep.
        KINDS[cls.__name__] = cls

    @property
    def kind(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, slots=True)
class Candidate:
    """One that was considered, with its score; `dropped` says why not it, "" if it was chosen."""

    page: int
    score: float
    dropped: str = ""
    turn: int = 0  # where in the page the score comes from
    stage: str = ""  # that dropped it: threshold, rank, duplicate, …
    raw: tuple[float, ...] = ()  # by channel of the retrieval, each in its own unit
    shares: tuple[float, ...] = ()  # what each channel adds to the score


@dataclass(frozen=True, slots=True)
class RangeStub:
    first: int
    last: int
    text: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Refusal:
    ref: str  # the page's name; "?" where what was asked for is no page's name
    reason: str


# ── a conversation ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ConversationStarted(Body):
    """First record of a conversation; a later one says that the application's system prompt is another."""

    title: int
    system: int  # id of the application's own system prompt, 0: none
    system_tokens: int
    language: str = ""
    source: str = "live"  # or the format it was imported from


@dataclass(frozen=True, slots=True)
class ConversationBranched(Body):
    """First record of a branch: what follows continues `parent` after its version `at_version`."""

    parent: str
    at_version: int
    cause: str


@dataclass(frozen=True, slots=True)
class SettingsChanged(Body):
    settings: dict[str, Any]
    hash: str


@dataclass(frozen=True, slots=True)
class MessageReceived(Body):
    """A user's turn (or a piece of it), safe before anything else is done; opens a step."""

    turn: Turn
    evidence: tuple[int, ...] = ()  # labelled recordings: the turns that hold the answer


@dataclass(frozen=True, slots=True)
class MessageReplied(Body):
    """A turn by the assistant or a tool."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class TurnMarked(Body):
    turn: int
    important: bool
    by: str
    importance: float = 1.0  # what its pages weigh now
    why_important: str = "marked by the user"


@dataclass(frozen=True, slots=True)
class TextRedacted(Body):
    """Secrets replaced before the words reached any sink: how many of which sort."""

    text: int
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class ExtraKept(Body):
    """What a file says of a turn that has no field here, as JSON. It changes no state."""

    turn: int  # 0: of the conversation
    text: int  # id of the JSON


@dataclass(frozen=True, slots=True)
class QuestionLabelled(Body):
    """A question that comes with a recording, to be asked of its memory when it is over. It changes no state."""

    question: int  # id of its words
    answer: int  # 0: none given
    evidence: tuple[int, ...] = ()  # turns that hold the answer; none: it was never said
    category: str = ""


@dataclass(frozen=True, slots=True)
class ReplyRated(Body):
    """What a person thinks of a reply; the last word on a turn counts. It changes no state."""

    turn: int  # of the reply
    rating: int  # 1: up, -1: down, 0: taken back
    by: str


@dataclass(frozen=True, slots=True)
class RepliesCompared(Body):
    """Two replies to one question, shown without their names, and the choice. It changes no state."""

    question: int  # id of its words
    memory: int  # id of the reply that had the memory
    plain: int  # id of the reply that had the last messages alone, in a window of the same size
    chosen: str  # memory, plain, or neither
    llm: str
    memory_tokens: int  # of its prompt
    plain_tokens: int
    by: str


# ── pages and bookmarks ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PageClosed(Body):
    page: int
    rule: str
    importance: float
    why_important: str


@dataclass(frozen=True, slots=True)
class BookmarkMade(Body):
    page: int
    bookmark: Bookmark


@dataclass(frozen=True, slots=True)
class PageSummarised(Body):
    """Its summary, made by rule when it closes, perhaps made anew by a model later."""

    page: int
    gist: Gist


@dataclass(frozen=True, slots=True)
class PageEvicted(Body):
    page: int
    policy: str
    score: float
    runner_up: int  # the page that would have left next, 0: there was none
    runner_up_score: float
    candidates: tuple[Candidate, ...]
    freed_tokens: int
    cause: str
    used_tokens: int  # before it left
    limit_tokens: int  # what was exceeded
    decided_by: str = ""  # of the cooperative policy: rule, age, model, or fallback
    why: str = ""  # of this page; with `fallback`, why nobody better decided


@dataclass(frozen=True, slots=True)
class StubsArranged(Body):
    """Which bookmarks stand in the window one by one, and which are folded into range stubs."""

    shown: tuple[int, ...]
    ranges: tuple[RangeStub, ...]
    tokens: int
    budget_tokens: int


# ── a recall ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PagesRecalled(Body):
    """One recall: what was asked and what came. A question's PagesRetrieved stands before it."""

    call: str
    by: str  # model, user; in a replay: recorded, or label where only a label asks
    asked: tuple[str, ...]
    question: int  # id of the question's words, 0: none
    turns: tuple[tuple[int, int], ...]  # the turn ranges that were wanted, so that it means something under other pages
    resident: tuple[int, ...]  # wanted and already there
    came: tuple[int, ...]
    opened: tuple[RangeStub, ...]  # ranges opened one level instead
    refused: tuple[Refusal, ...]
    right: bool | None = None  # against labels: does what is there now hold the evidence?
    note: str = ""


@dataclass(frozen=True, slots=True)
class PagesRetrieved(Body):
    """A question compared with the pages: what each channel said of whom, and what dropped the losers."""

    question: int  # id of its words
    by: str  # message (each step's own), search_memory; else whoever recalls
    strategy: str
    embedder: str  # "": by words only
    k: int  # the most that are chosen
    chosen: tuple[int, ...]  # pages, best first
    channels: tuple[str, ...]  # what `raw` and `shares` of a candidate stand for, in order
    candidates: tuple[Candidate, ...]  # the chosen, then the next 50, best first
    stages: dict[str, int]  # pages left after each stage, in order
    thresholds: dict[str, float]  # what decided, by name; the unit is in the name
    note: str = ""  # why nothing was chosen, what was fallen back to
    ms: float = 0.0  # the question's vector and the ranking; 0 in a replay, which knows no clock


@dataclass(frozen=True, slots=True)
class PagePagedIn(Body):
    page: int
    by: str
    tokens: int
    thrash: bool
    until: int  # last step it stays
    level: str = "text"  # what of it came: text, summary, or part
    part: tuple[int, int] = (0, 0)  # first and last turn that came, of a part


@dataclass(frozen=True, slots=True)
class PagesUsed(Body):
    """Pages whose words stand in the reply, with the share of the reply they cover."""

    pages: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class GuestLeft(Body):
    page: int
    used: bool


# ── what is known ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PlacedFact:
    """A fact that was considered for a prompt; `dropped` says why it does not stand there."""

    fact: int
    why: str  # hot, match, conflict
    score: float = 0.0
    tokens: int = 0
    stage: str = ""  # that dropped it: threshold, rank, duplicate, window, budget
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class Undecided:
    """A conflict whose sides all stand in the prompt, and which the model may settle."""

    conflict: int
    facts: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"c{self.conflict}"


@dataclass(frozen=True, slots=True)
class FactsPlaced(Body):
    """What of the user's long-term memory goes into the prompts from here on."""

    user_version: int  # of the user's stream that was read
    parts: tuple[int, ...]  # ids of words, joined: the section as it stands in the prompt; () for none
    tokens: int  # of the words, and of what goes beside the prompt for the undecided
    facts: tuple[PlacedFact, ...]  # those placed, then those that were not
    note: str = ""
    undecided: tuple[Undecided, ...] = ()


# ── a step ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PromptAssembled(Body):
    """`messages` are rows [role, section, page, tokens, answers, calls, *text ids]; see prompt.Message."""

    round: int
    messages: tuple[Any, ...]
    sections: dict[str, int]  # tokens by section
    tokens: int
    hash: str
    told_tokens: int = 0  # kept free for the instructions, and for the tools or the schema that they tell about


@dataclass(frozen=True, slots=True)
class ModelCalled(Body):
    round: int
    llm: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    ms: float
    finish: str
    reply: int  # id of the raw reply's words
    calls: tuple[Call, ...] = ()
    task: str = "reply"  # or memory work: eviction, bookmark
    protocol: str = ""  # how it was offered memory operations: tools, schema; "": not at all
    request: str = ""  # id of an application's own call that was recorded; "": the engine made it
    first_ms: float = 0.0  # until the first piece of its stream; 0: not streamed, or not measured


@dataclass(frozen=True, slots=True)
class ModelFailed(Body):
    round: int
    llm: str
    error: str  # class
    message: str
    partial: int = 0  # id of what came before it broke
    task: str = "reply"
    attempt: int = 1
    again_in_s: float | None = None  # until the same is tried again; None: it is not
    prompt_tokens: int = 0  # of a prompt that was too long, as the provider counted it; 0: it did not say
    limit_tokens: int = 0  # what it takes; 0: it did not say
    request: str = ""  # id of an application's own call that was recorded; "": the engine made it
    ms: float = 0.0  # until it failed; 0: not measured


@dataclass(frozen=True, slots=True)
class OperationRefused(Body):
    """Something that the model asked of its memory and that was not done; the model is told as well."""

    call: str
    operation: str  # recall, search_memory, remember, settle, …; reply: an answer that cannot be read; else "?"
    reason: str


@dataclass(frozen=True, slots=True)
class MemoryWorkFailed(Body):
    """Work on the memory that a model was asked for and that came to nothing; what a rule made instead stays."""

    task: str  # eviction, bookmark
    pages: tuple[int, ...]
    llm: str
    reason: str
    raw: int = 0  # id of the words that could not be used; 0: none came


@dataclass(frozen=True, slots=True)
class StepFinished(Body):
    ms: dict[str, float]  # by stage
    stale_facts: tuple[int, ...] = ()  # stood in its prompts, and were changed while the model answered


@dataclass(frozen=True, slots=True)
class StepAbandoned(Body):
    reason: str


# ── the envelope ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Event:
    seq: int  # place in the store's log; 0: not stored
    version: int  # place in its stream, from 1
    step: int
    at: datetime
    body: Body
    extra: Mapping[str, Any] = field(default_factory=dict)  # unknown fields, kept

    @property
    def kind(self) -> str:
        return self.body.kind


def encode(body: Body, extra: Mapping[str, Any] | None = None) -> str:
    """The record as JSON text, real characters, no escapes."""
    text = orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS)
    if extra:
        text = orjson.dumps({**orjson.loads(text), **extra})
    return text.decode()


def decode(kind: str, body: str | bytes, kind_version: int = 1) -> tuple[Body, dict[str, Any]]:
    """The record, and the fields of it that this program does not know."""
    cls = KINDS.get(kind)
    if cls is None:
        raise StoreTooNew(f"the log holds an event of kind {kind!r}, which this version does not know; update it")
    if kind_version > cls.version:
        raise StoreTooNew(
            f"the log holds {kind} in version {kind_version}; this version knows up to {cls.version}; update it"
        )
    try:
        raw = orjson.loads(body)
        try:
            return read(cls, raw), {}
        except _UnknownField:
            return _with_unknown(cls, raw)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreDamaged(f"an event of kind {kind} cannot be read: {error}; body {str(body)[:120]!r}") from error


class _UnknownField(KeyError):
    """A record, or one inside it, has a field that this program does not know."""


def _with_unknown(cls: type[Body], raw: Mapping[str, Any]) -> tuple[Body, dict[str, Any]]:
    readers = _readers(cls)
    extra = {name: value for name, value in raw.items() if name not in readers}
    known = {}
    for name in (name for name in raw if name in readers):
        try:
            known[name] = readers[name](raw[name])
        except _UnknownField:  # somewhere inside: the whole value is kept, for that is what `encode` writes back
            known[name], extra[name] = _readers(cls, tolerant=True)[name](raw[name]), raw[name]
    return cls(**known), extra


_Reader = Callable[[Any], Any]
_READERS: dict[tuple[type, bool], dict[str, _Reader]] = {}
_UNLIKE: dict[type, tuple[str, ...]] = {}  # by class its fields that are something else than their JSON value: few


def _readers(cls: type, *, tolerant: bool = False) -> dict[str, _Reader]:
    known = _READERS.get((cls, tolerant))
    if known is None:
        hints = get_type_hints(cls)
        known = {f.name: _reader(hints[f.name], tolerant) for f in fields(cls)}
        _UNLIKE[cls] = tuple(name for name, reader in known.items() if reader is not _same)
        _READERS[cls, tolerant] = known
    return known


def _same(value: Any) -> Any:
    return value


def _reader(hint: Any, tolerant: bool) -> _Reader:
    """How a JSON value becomes a value of this type."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (UnionType, Union):
        inner = _reader(next(a for a in args if a is not type(None)), tolerant)
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        inner = _reader(args[0], tolerant)
        if inner is _same:
            return tuple
        return lambda values: tuple(inner(v) for v in values)
    if hint is datetime:
        return datetime.fromisoformat
    if hint is float:
        return float
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        return lambda value: read(hint, value, tolerant=tolerant)
    return _same


def read(cls: type[T], raw: Mapping[str, Any], *, tolerant: bool = False) -> T:
    """A frozen record of `cls` from its JSON form; fields left out take their defaults."""
    readers = _readers(cls, tolerant=tolerant)
    if not raw.keys() <= readers.keys():
        if not tolerant:
            raise _UnknownField(f"{cls.__name__} has no field {min(raw.keys() - readers.keys())}")
        raw = {name: value for name, value in raw.items() if name in readers}
    known = dict(raw)
    for name in _UNLIKE[cls]:
        if name in known:
            known[name] = readers[name](known[name])
    return cls(**known)
