"""State is a fold over the log: `apply(state, event) -> state`, pure, for live engine, replay and as-of alike.

A page is *resident* when its turns stand in the window: it never left, or it is a guest that a recall brought
back. Everything else about the window (what is used, which stub stands where) is computed from this state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from functools import reduce
from operator import attrgetter
from typing import Any, TypeVar

import orjson

from memory.errors import StoreDamaged
from memory.events import (
    BookmarkMade,
    ConversationStarted,
    Event,
    FactsPlaced,
    GuestLeft,
    MessageReceived,
    MessageReplied,
    ModelCalled,
    ModelFailed,
    OperationRefused,
    PageClosed,
    PageEvicted,
    PagePagedIn,
    PagesRecalled,
    PageSummarised,
    PagesUsed,
    PromptAssembled,
    SettingsChanged,
    StepAbandoned,
    StepFinished,
    StubsArranged,
    TurnMarked,
    Undecided,
    read,
)
from memory.pages import PART, SUMMARY, Bookmark, Gist, Page, PageTable
from memory.settings import Settings
from memory.turns import Call, Turn

T = TypeVar("T")

FOLD_VERSION = 8  # grows whenever `apply` changes its mind: older snapshots are then ignored


@dataclass(frozen=True)  # no slots: see `changed`
class Counts:
    """Since the conversation began."""

    evictions: int = 0
    evicted_tokens: int = 0
    recalls: int = 0
    faults: int = 0  # wanted and not resident
    hits: int = 0  # wanted and resident
    thrash: int = 0
    refused: int = 0
    recalled_tokens: int = 0
    guests_used: int = 0
    guests_unused: int = 0
    right: int = 0
    wrong: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    calls: int = 0
    abandoned: int = 0


@dataclass(frozen=True)
class State:
    version: int = 0  # of the stream
    settings: Settings = field(default_factory=Settings)
    title: int = 0
    system: int = 0  # id of the application's system prompt
    system_tokens: int = 0
    language: str = ""
    source: str = ""
    step: int = 0  # the step under way, or the last one
    open_step: bool = False
    turn: int = 0  # number of the last turn
    user_turn: int = 0  # number of the last turn by the user: it is pinned
    pages: PageTable = field(default_factory=PageTable)
    resident: tuple[int, ...] = ()  # page numbers, ascending; guests included
    stubs: StubsArranged = field(default_factory=lambda: StubsArranged((), (), 0, 0))
    marked: tuple[int, ...] = ()  # turns
    known: tuple[int, ...] = ()  # words of what is known about the user, as this step's prompts say it
    known_tokens: int = 0
    known_version: int = 0  # of the user's stream, as this step read it
    undecided: tuple[Undecided, ...] = ()  # conflicts among it that the model may settle
    count_ratio: float = 1.0  # what the model counted / what we counted
    prompt_estimate: int = 0  # of the last assembled prompt
    told_tokens: int = 0  # that it kept free for the instructions and what they tell about; 0: there was none yet
    counts: Counts = field(default_factory=Counts)

    @property
    def open_page(self) -> Page | None:
        """The page that still grows; None before the first turn and right after a page closed."""
        last = self.pages.get(len(self.pages))
        return None if last is None or last.closed else last

    @property
    def residents(self) -> list[Page]:
        return self.pages.those(self.resident)

    @property
    def guests(self) -> list[Page]:
        return [p for p in self.residents if p.guest_until]

    @property
    def whole(self) -> set[int]:
        """Pages that stand in the window word for word; a guest may be there by its summary or a part alone."""
        return {page.number for page in self.residents if page.guest_as not in (SUMMARY, PART)}

    @property
    def evicted(self) -> list[Page]:
        inside = set(self.resident)
        return [p for p in self.pages.values() if p.number not in inside]

    def page_of(self, turn: int) -> Page | None:
        """The page that holds this turn (its first piece)."""
        low, high = 1, len(self.pages)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.pages[middle].last < turn else (low, middle)
        page = self.pages.get(low)
        return page if page and page.first <= turn <= page.last else None

    def pages_of(self, turn: int) -> list[Page]:
        """All pages that hold it: several where a long message was cut."""
        found: list[Page] = []
        page = self.page_of(turn)
        while page and page.first <= turn:
            found.append(page)
            page = self.pages.get(page.number + 1)
        return found


def changed(record: T, **changes: Any) -> T:
    """`dataclasses.replace` without its checks: what every event does to these records, in a tenth of the time."""
    new = object.__new__(type(record))
    new.__dict__.update(record.__dict__, **changes)
    return new


def apply(state: State, event: Event) -> State:
    """The state after one more event; events of no consequence for it only move the version."""
    change = _CHANGES.get(event.kind)
    changes = change(state, event.body, event.step) if change else {}
    return changed(state, version=event.version, **changes)


def fold(events: Iterable[Event], state: State | None = None) -> State:
    return reduce(apply, events, state or State())


# ── one function per kind that changes the state: the changed fields ──────────────────────────────────

Changes = dict[str, Any]


def _started(state: State, body: ConversationStarted, step: int) -> Changes:
    return {
        "title": body.title,
        "system": body.system,
        "system_tokens": body.system_tokens,
        "language": body.language,
        "source": body.source,
    }


def _settings(state: State, body: SettingsChanged, step: int) -> Changes:
    return {"settings": Settings.stored(body.settings)}


def _received(state: State, body: MessageReceived, step: int) -> Changes:
    placed_anew = {"known": (), "known_tokens": 0, "undecided": ()}  # for this message
    known = {} if body.turn.piece else placed_anew
    return {"step": step, "open_step": True, "user_turn": body.turn.number, **known, **_placed(state, body.turn, step)}


def _replied(state: State, body: MessageReplied, step: int) -> Changes:
    return _placed(state, body.turn, step)


def _placed(state: State, turn: Turn, step: int) -> Changes:
    """A turn goes to the open page, or begins the next one."""
    page = state.open_page or Page(len(state.pages) + 1, loaded_at=step, used_at=step)
    grown = changed(
        page, turns=(*page.turns, turn), tokens=page.tokens + turn.tokens, used_at=step, heat=page.heat_at(step)
    )
    if not page.turns:
        return {"turn": turn.number, **_with(state, grown), "resident": (*state.resident, grown.number)}
    return {"turn": turn.number, **_with(state, grown)}


def _with(state: State, *pages: Page) -> Changes:
    return {"pages": state.pages.put(*pages)}


def _closed(state: State, body: PageClosed, step: int) -> Changes:
    return _with(
        state,
        changed(
            state.pages[body.page],
            closed=True,
            boundary=body.rule,
            importance=body.importance,
            why_important=body.why_important,
        ),
    )


def _bookmarked(state: State, body: BookmarkMade, step: int) -> Changes:
    return _with(state, changed(state.pages[body.page], bookmark=body.bookmark))


def _summarised(state: State, body: PageSummarised, step: int) -> Changes:
    return _with(state, changed(state.pages[body.page], gist=body.gist))


def _evicted(state: State, body: PageEvicted, step: int) -> Changes:
    counts = changed(
        state.counts,
        evictions=state.counts.evictions + 1,
        evicted_tokens=state.counts.evicted_tokens + body.freed_tokens,
    )
    return {"counts": counts, **_left(state, body.page, step)}


def _left(state: State, number: int, step: int) -> Changes:
    page = changed(state.pages[number], left_at=step, guest_until=0, guest_as="", part=(0, 0))
    return {**_with(state, page), "resident": tuple(n for n in state.resident if n != number)}


def _arranged(state: State, body: StubsArranged, step: int) -> Changes:
    return {"stubs": body}


def _recalled(state: State, body: PagesRecalled, step: int) -> Changes:
    c = state.counts
    counts = changed(
        c,
        recalls=c.recalls + 1,
        hits=c.hits + len(body.resident),
        refused=c.refused + len(body.refused),
        right=c.right + (body.right is True),
        wrong=c.wrong + (body.right is False),
    )
    return {"counts": counts, **_with(state, *(_used(state.pages[n], step) for n in body.resident))}


def _used(page: Page, step: int) -> Page:
    return changed(page, hits=page.hits + 1, heat=page.heat_at(step) + 1, used_at=step)


def _paged_in(state: State, body: PagePagedIn, step: int) -> Changes:
    c = state.counts
    counts = changed(
        c,
        faults=c.faults + 1,
        thrash=c.thrash + body.thrash,
        recalled_tokens=c.recalled_tokens + body.tokens,
    )
    page = _used(state.pages[body.page], step)
    page = changed(page, faults=page.faults + 1, guest_until=body.until, guest_as=body.level, part=body.part)
    return {"counts": counts, **_with(state, page), "resident": tuple(sorted({*state.resident, body.page}))}


def _pages_used(state: State, body: PagesUsed, step: int) -> Changes:
    return _with(state, *(_used(state.pages[c.page], step) for c in body.pages))


def _guest_left(state: State, body: GuestLeft, step: int) -> Changes:
    c = state.counts
    counts = changed(c, guests_used=c.guests_used + body.used, guests_unused=c.guests_unused + (not body.used))
    return {"counts": counts, **_left(state, body.page, step)}


def _marked(state: State, body: TurnMarked, step: int) -> Changes:
    others = tuple(n for n in state.marked if n != body.turn)
    marked = tuple(sorted((*others, body.turn))) if body.important else others
    return {"marked": marked, **_with(state, *(_weighed(page, body) for page in state.pages_of(body.turn)))}


def _weighed(page: Page, body: TurnMarked) -> Page:
    """A mark that is taken back is gone, also where the message came with it."""
    if not body.important:
        turns = tuple(replace(t, important=False) if t.number == body.turn else t for t in page.turns)
        page = changed(page, turns=turns)
    return changed(page, importance=body.importance, why_important=body.why_important) if page.closed else page


def _facts_placed(state: State, body: FactsPlaced, step: int) -> Changes:
    return {
        "known": body.parts,
        "known_tokens": body.tokens,
        "known_version": body.user_version,
        "undecided": body.undecided,
    }


def _assembled(state: State, body: PromptAssembled, step: int) -> Changes:
    return {"prompt_estimate": body.tokens, "told_tokens": body.told_tokens}


def _called(state: State, body: ModelCalled, step: int) -> Changes:
    c = state.counts
    counts = changed(
        c,
        prompt_tokens=c.prompt_tokens + body.prompt_tokens,
        completion_tokens=c.completion_tokens + body.completion_tokens,
        cost_usd=c.cost_usd + (body.cost_usd or 0.0),
        calls=c.calls + 1,
    )
    if body.task != "reply" or not body.prompt_tokens or not state.prompt_estimate:
        return {"counts": counts}
    seen = min(2.0, max(0.5, body.prompt_tokens / state.prompt_estimate))
    # The fuller the prompt, the more it tells, and the less time is left to learn it.
    weight = min(1.0, max(0.3, state.prompt_estimate / max(1, state.settings.window_tokens)))
    return {"counts": counts, "count_ratio": (1 - weight) * state.count_ratio + weight * seen}


def _failed(state: State, body: ModelFailed, step: int) -> Changes:
    """A provider that refuses a prompt as too long tells how it counts, and is believed at once."""
    if body.task != "reply" or not body.prompt_tokens or not state.prompt_estimate:
        return {}
    return {"count_ratio": min(2.0, max(state.count_ratio, body.prompt_tokens / state.prompt_estimate))}


def _operation_refused(state: State, body: OperationRefused, step: int) -> Changes:
    return {"counts": changed(state.counts, refused=state.counts.refused + 1)}


def _finished(state: State, body: StepFinished, step: int) -> Changes:
    return {"open_step": False}


def _abandoned(state: State, body: StepAbandoned, step: int) -> Changes:
    return {"open_step": False, "counts": changed(state.counts, abandoned=state.counts.abandoned + 1)}


_CHANGES: dict[str, Any] = {
    cls.__name__: change
    for cls, change in (
        (ConversationStarted, _started),
        (SettingsChanged, _settings),
        (MessageReceived, _received),
        (MessageReplied, _replied),
        (TurnMarked, _marked),
        (PageClosed, _closed),
        (BookmarkMade, _bookmarked),
        (PageSummarised, _summarised),
        (PageEvicted, _evicted),
        (StubsArranged, _arranged),
        (PagesRecalled, _recalled),
        (PagePagedIn, _paged_in),
        (PagesUsed, _pages_used),
        (GuestLeft, _guest_left),
        (FactsPlaced, _facts_placed),
        (PromptAssembled, _assembled),
        (ModelCalled, _called),
        (ModelFailed, _failed),
        (OperationRefused, _operation_refused),
        (StepFinished, _finished),
        (StepAbandoned, _abandoned),
    )
}


# ── snapshots ─────────────────────────────────────────────────────────────────────────────────────────


def dump(state: State) -> bytes:
    """The state as JSON bytes; `load` gives back an equal one.

    Turns are rows without names: there are thousands of them, and reading them is what takes the time.
    """
    values = {name: getattr(state, name) for name in _STATE}
    values["settings"] = asdict(state.settings)
    values["pages"] = [_page_row(page) for page in state.pages.values()]
    return orjson.dumps(values)


def load(raw: bytes) -> State:
    try:
        values = orjson.loads(raw)
        values["settings"] = Settings.stored(values["settings"])
        values["pages"] = PageTable.of(map(_page, values["pages"]))
        values["stubs"] = read(StubsArranged, values["stubs"])
        values["counts"] = read(Counts, values["counts"])
        values["undecided"] = tuple(read(Undecided, each) for each in values["undecided"])
        for name in ("resident", "marked", "known"):
            values[name] = tuple(values[name])
        return State(**values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreDamaged(f"a snapshot cannot be read: {error}") from error


_STATE = tuple(f.name for f in fields(State))
_PAGE = tuple(f.name for f in fields(Page))
_MARK = _PAGE.index("bookmark")
_GIST = _PAGE.index("gist")
_TURNS = _PAGE.index("turns")
_PART = _PAGE.index("part")
_TURN = tuple(f.name for f in fields(Turn))
_SAID_AT, _CALLS = _TURN.index("said_at"), _TURN.index("calls")
_turn_values, _page_values = attrgetter(*_TURN), attrgetter(*_PAGE)


def _page_row(page: Page) -> list[Any]:
    row = list(_page_values(page))
    row[_TURNS] = [list(_turn_values(turn)) for turn in page.turns]
    return row


def _page(row: list[Any]) -> Page:
    row[_TURNS] = tuple(map(_turn, row[_TURNS]))
    if row[_MARK] is not None:
        row[_MARK] = read(Bookmark, row[_MARK])
    if row[_GIST] is not None:
        row[_GIST] = read(Gist, row[_GIST])
    row[_PART] = tuple(row[_PART])
    return Page(*row)


def _turn(row: list[Any]) -> Turn:
    row[_SAID_AT] = datetime.fromisoformat(row[_SAID_AT])
    row[_CALLS] = tuple(read(Call, call) for call in row[_CALLS])
    return Turn(*row)
