"""Every bookmark of a run: who made it, what became of it, what the model reads of it, and whom it is confused with.

An *outcome* is what came of asking, counted only while the page was out of the window, for within it nobody needs a
bookmark. **hit**: the page came, and it held the evidence; where no label says, the reply used its words, or a person
named it. **missed**: the evidence lay on it, something was asked back in that step, and it did not come. **ambiguous**:
it came, and what was wanted lay elsewhere. A bookmark is called after what happened most; **dead** is one that nobody
ever asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from memory import show
from memory.bookmarks import BY_MODEL
from memory.confusion import Confusion, Marked, confusion
from memory.events import (
    BookmarkMade,
    Event,
    GuestLeft,
    MessageReceived,
    PageEvicted,
    PagePagedIn,
    PagesRecalled,
    PagesUsed,
    SettingsChanged,
)
from memory.pages import Page
from memory.scope import Scope
from memory.show import Shown
from memory.state import State
from memory.stores.sql import Store
from workbench.views.past import records, state_at

HIT, MISSED, AMBIGUOUS, DEAD = "hit", "missed", "ambiguous", "dead"
OUTCOMES = (HIT, MISSED, AMBIGUOUS, DEAD)
SIGNS = {HIT: "✓", MISSED: "✕", AMBIGUOUS: "≈", DEAD: "○"}
COLOURS = {HIT: "#059669", MISSED: "#e11d48", AMBIGUOUS: "#b45309", DEAD: "#64748b"}
SORTS = ("page", "uses")
LABEL, WORDS, PERSON = "label", "words", "person"
KINDS = [
    kind.__name__
    for kind in (BookmarkMade, GuestLeft, MessageReceived, PageEvicted, PagePagedIn, PagesRecalled, PagesUsed,
                 SettingsChanged)
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Version:
    """A bookmark as it was made, or changed."""

    seq: int  # of its record
    at: datetime
    step: int
    turn: int  # the message of that step; 0: before the first
    keywords: tuple[str, ...]
    stub: str
    origin: str  # a generator's name; user: of a marked message; model, edited: chosen by one, by a person
    template: str  # of a generator that asks a model
    weight: float


@dataclass(frozen=True, slots=True)
class Use:
    seq: int  # of the record that tells it
    at: datetime
    step: int
    turn: int
    outcome: str  # hit, missed, ambiguous
    by: str  # model, user, message, recorded, label
    question: str
    why: str  # what says so: label, the reply's words, or a person


@dataclass(frozen=True, slots=True)
class BookmarkRow:
    page: int
    first: int  # turns
    last: int
    keywords: tuple[str, ...]
    stub: str
    tokens: int
    weight: float
    origin: str
    description: str  # one readable sentence of the page
    place: str  # single: it stands in the window by itself; range: folded into one; inside: the page itself is there
    as_read: str  # what the model reads of it now, exactly; "" while the page is in the window
    versions: tuple[Version, ...]  # oldest first
    uses: tuple[Use, ...]  # oldest first

    @property
    def outcome(self) -> str:
        counts = Counter(use.outcome for use in self.uses)
        return max(OUTCOMES[:-1], key=lambda name: counts[name]) if counts else DEAD  # of equal ones the better

    @property
    def edits(self) -> int:
        return len(self.versions) - 1


@dataclass(frozen=True)
class BookmarksView(Shown):
    scope: Scope
    turn: int
    turns: int
    rows: tuple[BookmarkRow, ...]  # by page
    pages: int  # of the run, with a bookmark or without

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(row.outcome for row in self.rows)

    def count(self, outcome: str) -> int:
        return self._counts[outcome]

    def of(self, page: int) -> BookmarkRow | None:
        return next((row for row in self.rows if row.page == page), None)

    @property
    def origins(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.origin for row in self.rows))

    def chosen(
        self, outcomes: Iterable[str] = (), origin: str = "", text: str = "", sort: str = "page"
    ) -> tuple[BookmarkRow, ...]:
        """Those with one of these outcomes (none: any), of this origin, that hold the text in page, words or stub."""
        wanted, sought = set(outcomes), text.casefold().strip()
        found = [
            row
            for row in self.rows
            if (not wanted or row.outcome in wanted)
            and (not origin or row.origin == origin)
            and (not sought or sought == f"p{row.page}" or sought in f"{row.stub} {row.description}".casefold())
        ]
        return tuple(sorted(found, key=lambda row: (-len(row.uses), row.page)) if sort == "uses" else found)

    def __repr__(self) -> str:
        told = ", ".join(f"{self.count(name)} {name}" for name in OUTCOMES)
        return f"<Bookmarks of {self.scope} at turn {self.turn}: {len(self.rows)} of {self.pages} pages, {told}>"

    def _html(self) -> str:
        most = max((len(row.uses) for row in self.rows), default=0) or 1
        chips = "".join(_chip(row, most) for row in self.rows)
        legend = " · ".join(f"{SIGNS[name]} {name} {self.count(name)}" for name in OUTCOMES)
        return (
            f"<code>{show.text(repr(self))}</code><div style='opacity:.7;margin:.4rem 0'>{show.text(legend)}</div>"
            f"<div style='display:flex;flex-wrap:wrap;gap:.4rem;align-items:baseline'>{chips}</div>"
        )

    def to_dict(self) -> dict[str, Any]:
        rows = [{**asdict(row), "outcome": row.outcome} for row in self.rows]
        return {**asdict(self), "rows": rows}

    def table(self) -> list[dict[str, Any]]:
        """One flat row a bookmark, for a file."""
        return [
            {"page": row.page, "first_turn": row.first, "last_turn": row.last, "keywords": ", ".join(row.keywords),
             "stub": row.stub, "tokens": row.tokens, "weight": row.weight, "origin": row.origin, "place": row.place,
             "outcome": row.outcome, **{name: sum(u.outcome == name for u in row.uses) for name in OUTCOMES[:-1]},
             "edits": row.edits}
            for row in self.rows
        ]  # fmt: skip

    def to_df(self) -> Any:
        import pandas as pd

        return pd.DataFrame(self.table())


def size(uses: int, most: int) -> float:
    """0..1: how large a bookmark stands in the cloud; its area grows with its uses."""
    return (uses / most) ** 0.5 if most else 0.0


def _chip(row: BookmarkRow, most: int) -> str:
    colour, words = COLOURS[row.outcome], " · ".join(row.keywords[:3]) or row.stub
    style = (
        f"border:1px solid {colour}66;background:{colour}1f;border-radius:1rem;padding:.1rem .6rem;"
        f"font-size:{12 + 9 * size(len(row.uses), most):.1f}px"
    )
    says = f"{row.stub}: {row.outcome}, {len(row.uses)} uses"
    return (
        f"<span title='{show.text(says)}' style='{style}'><b style='color:{colour}'>{SIGNS[row.outcome]}</b> "
        f"<small style='opacity:.65'>p{row.page}</small> {show.text(words)}</span>"
    )


# ── from the store ────────────────────────────────────────────────────────────────────────────────────


def bookmarks(store: Store, scope: Scope, turn: int | None = None) -> BookmarksView:
    """Those there are at `turn` (None: now), with what came of each up to there. Raises NotFound."""
    stream, end, state = _at(store, scope, turn)
    events = records(store, scope, KINDS, end)
    made = [e.body.bookmark for e in events if isinstance(e.body, BookmarkMade)]
    asked = {e.body.question for e in events if isinstance(e.body, PagesRecalled)}
    ids = {i for mark in made for i in (mark.stub, mark.keywords, mark.description)} | asked
    texts = store.words(scope, sorted((ids | {r.text for r in state.stubs.ranges}) - {0}))
    turn_of = {e.step: e.body.turn.number for e in events if isinstance(e.body, MessageReceived)}
    versions, uses = _versions(events, texts, turn_of), _uses(events, state, texts, turn_of)
    rows = tuple(
        _row(page, state, texts, tuple(versions.get(page.number, ())), tuple(uses.get(page.number, ())))
        for page in state.pages.values()
        if page.bookmark
    )
    return BookmarksView(scope, state.turn if turn is None else turn, stream.turns, rows, len(state.pages))


def confused(store: Store, scope: Scope, turn: int | None = None) -> Confusion:
    """Which of these bookmarks are confused with each other, as predicted from the pages' own sentences."""
    _, _, state = _at(store, scope, turn)
    pages = [page for page in state.pages.values() if page.bookmark]
    ids = {t.text for page in pages for t in page.turns} | {page.bookmark.keywords for page in pages if page.bookmark}
    texts = store.words(scope, sorted(ids - {0}))
    marked = [Marked(p.number, _keywords(p, texts), tuple(t.words(texts.__getitem__) for t in p.turns)) for p in pages]
    return confusion(marked, stub_tokens=state.settings.stub_tokens)


def _at(store: Store, scope: Scope, turn: int | None) -> tuple[Any, int, State]:
    stream = store.require(scope)
    end = stream.version if turn is None or turn == stream.turns else store.version_at(scope, turn)
    return stream, end, state_at(store, scope, end)


def _keywords(page: Page, texts: Mapping[int, str]) -> tuple[str, ...]:
    held = texts.get(page.bookmark.keywords, "") if page.bookmark else ""
    return tuple(word for word in held.split(",") if word)


def _row(
    page: Page, state: State, texts: Mapping[int, str], versions: tuple[Version, ...], uses: tuple[Use, ...]
) -> BookmarkRow:
    mark = page.bookmark
    assert mark is not None
    place, read = _read(page.number, state, mark.stub)
    return BookmarkRow(
        page=page.number,
        first=page.first,
        last=page.last,
        keywords=_keywords(page, texts),
        stub=texts.get(mark.stub, ""),
        tokens=mark.tokens,
        weight=mark.weight,
        origin=mark.origin,
        description=texts.get(mark.description, ""),
        place=place,
        as_read=texts.get(read, ""),
        versions=versions,
        uses=uses,
    )


def _read(number: int, state: State, stub: int) -> tuple[str, int]:
    """How the bookmark stands before the model, and the id of the words that do."""
    if number in state.resident:
        return "inside", 0
    folded = next((r for r in state.stubs.ranges if r.first <= number <= r.last), None)
    if folded is not None and number not in state.stubs.shown:
        return "range", folded.text
    return "single", stub


def _versions(
    events: Iterable[Event], texts: Mapping[int, str], turn_of: Mapping[int, int]
) -> dict[int, list[Version]]:
    found: dict[int, list[Version]] = {}
    template = ""
    for event in events:
        if isinstance(event.body, SettingsChanged):
            template = str(event.body.settings.get("bookmark_template", ""))
        elif isinstance(event.body, BookmarkMade):
            mark = event.body.bookmark
            words = tuple(word for word in texts.get(mark.keywords, "").split(",") if word)
            found.setdefault(event.body.page, []).append(
                Version(
                    event.seq, event.at, event.step, turn_of.get(event.step, 0), words, texts.get(mark.stub, ""),
                    mark.origin, template if mark.origin in BY_MODEL else "", mark.weight,
                )
            )  # fmt: skip
    return found


# ── what came of each ─────────────────────────────────────────────────────────────────────────────────


def _uses(
    events: Sequence[Event], state: State, texts: Mapping[int, str], turn_of: Mapping[int, int]
) -> dict[int, list[Use]]:
    page_of: dict[int, set[int]] = {}
    for page in state.pages.values():
        for turn in page.turns:
            page_of.setdefault(turn.number, set()).add(page.number)
    found: dict[int, list[Use]] = {}
    out: set[int] = set()  # pages that are out of the window as the step begins
    for step in _steps(events, page_of, texts):
        for number, (outcome, event, by, question, why) in step.outcomes(out).items():
            use = Use(event.seq, event.at, event.step, turn_of.get(event.step, 0), outcome, by, question, why)
            found.setdefault(number, []).append(use)
        out = (out | step.gone) - (step.came.keys() - step.gone)
    return found


_Told = tuple[str, Event, str, str, str]  # outcome, the record that tells it, by whom, the question, why


@dataclass(frozen=True, slots=True)
class _Step:
    """What one step asked back, and what came."""

    evidence: set[int]  # pages that hold what was wanted, where labels say
    recalls: list[tuple[Event, PagesRecalled]]
    came: dict[int, tuple[Event, str]]  # by page: its record, and who asked
    used: set[int]  # pages whose words the reply used
    gone: set[int]  # pages that left in this step, also again as guests
    texts: Mapping[int, str]

    def outcomes(self, out: set[int]) -> dict[int, _Told]:
        questions = {page: self.texts.get(b.question, "") for _, b in self.recalls for page in b.came}
        told: dict[int, _Told] = {}
        for page, (event, by) in self.came.items():
            good = page in self.evidence if self.evidence else page in self.used or by == "user"
            why = LABEL if self.evidence else PERSON if by == "user" else WORDS
            told[page] = (HIT if good else AMBIGUOUS, event, by, questions.get(page, ""), why)
        for page in sorted((self.evidence & out) - self.came.keys()) if self.recalls else ():
            event, body = self.recalls[0]
            told[page] = (MISSED, event, body.by, self.texts.get(body.question, ""), LABEL)
        return told


def _steps(events: Iterable[Event], page_of: Mapping[int, set[int]], texts: Mapping[int, str]) -> list[_Step]:
    steps: dict[int, _Step] = {}
    for event in events:
        step = steps.setdefault(event.step, _Step(set(), [], {}, set(), set(), texts))
        match event.body:
            case MessageReceived(evidence=turns):
                step.evidence.update(number for turn in turns for number in page_of.get(turn, ()))
            case PagesRecalled() as body:
                step.recalls.append((event, body))
            case PagePagedIn(page=number, by=by):
                step.came[number] = (event, by)
            case PagesUsed(pages=pages):
                step.used.update(each.page for each in pages)
            case PageEvicted(page=number) | GuestLeft(page=number):
                step.gone.add(number)
    return list(steps.values())
