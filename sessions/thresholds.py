"""Where the lines of retrieval stand for one conversation's own questions, and what other lines would have done.

A question is a labelled one, or one that the model asked back, with the turns that answer it; a message of a labelled
conversation that has no label needs nothing, so whatever it brings is needless. Each is ranked once, without limits,
over the pages that had left the window when it was asked; every other top-k and cut-off is read off that ranking. The
suggested value loses least: a question missed counts one, a needless page a tenth. What to expect of it is measured
on what it was not chosen by: other conversations, or, of a single one, the question that is left out.

Not here: changing a setting, and what a model makes of the pages. Who asks by vectors passes them in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from memory import show
from memory.errors import UnknownName
from memory.finder import Finder, VectorSource
from memory.settings import Settings
from memory.show import Shown, small
from memory.state import State
from sessions.honesty import MODEL, OWN, RAW, Honesty
from sessions.recording import Recording
from sessions.replay import Replay

LABEL, QUESTION, RECALL, PINNED, NEEDLESS = "label", "question", "recall", "pinned", "needless"
WINDOW, RECALLABLE, LOST = "window", "recall", "lost"  # where the answer is
MOST_NEEDLESS = 40  # messages that need nothing, evenly spread
MOST_ASKED = 300  # questions; the last ones
RANKS, BINS = 12, 20  # of a histogram
RANKED = 25  # pages a question: the most that a recall may bring, and those that nearly came
NEEDLESS_COST = 0.1  # of a page, where a question missed costs 1
GRID = {
    "recall_k": tuple(float(k) for k in range(1, 11)),
    "min_coverage": tuple(round(n / 20, 2) for n in range(21)),
    "min_margin": tuple(round(n / 20, 2) for n in range(21)),
}


@dataclass(frozen=True, slots=True)
class Posed:
    """A question, when it is asked, and the turns that answer it."""

    question: str
    evidence: tuple[int, ...]
    turn: int = 0  # of the message that asks; 0: after the last
    by: str = LABEL


@dataclass(frozen=True, slots=True)
class Candidate:
    """A page that had left, against one question."""

    page: int
    score: float  # comparable within one question only
    relevant: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, ranked without limits."""

    posed: Posed
    conversation: str
    resident: bool  # all that answers it stands in the window
    missing: tuple[int, ...]  # pages with evidence that had left
    candidates: tuple[Candidate, ...]  # the best RANKED, without near-duplicates of a better one
    coverage: float  # of the best: what min_coverage is compared with
    margin: float | None  # the same of min_margin; None: no vectors spoke
    least_margin: float | None = None  # a lower limit that holds in its place: question and page in two scripts
    among: int = 0  # pages that had left: those that a recall chooses from

    @property
    def is_needless(self) -> bool:
        return self.posed.by == NEEDLESS

    @property
    def place(self) -> int:
        """Of the first page with evidence, from 1; 0: it is none of the best."""
        return next((n for n, each in enumerate(self.candidates, 1) if each.relevant), 0)

    def passes(self, min_coverage: float, min_margin: float) -> bool:
        """Whether the conversation is thought to know anything of it."""
        if self.coverage >= min_coverage:
            return True
        limit = min_margin if self.least_margin is None else min(min_margin, self.least_margin)
        return self.margin is not None and self.margin >= limit

    def brought(self, k: int, min_coverage: float, min_margin: float) -> tuple[Candidate, ...]:
        return self.candidates[:k] if self.passes(min_coverage, min_margin) else ()

    def outcome(self, k: int, min_coverage: float, min_margin: float) -> str:
        """Where the answer is: in the window, one recall by the question away, or lost."""
        if self.resident:
            return WINDOW
        came = {each.page for each in self.brought(k, min_coverage, min_margin)}
        return RECALLABLE if set(self.missing) <= came else LOST

    def under(self, s: Settings) -> str:
        return self.outcome(s.recall_k, s.min_coverage, s.min_margin)


@dataclass(frozen=True, slots=True)
class Point:
    """What one value would have done; questions whose answer is in the window anyway are not counted."""

    value: float
    found: int  # questions all of whose pages come
    missed: int
    pages: int  # that come, for all questions
    right: int  # pages of these with evidence
    needless: int  # pages for messages that need nothing

    @property
    def precision(self) -> float | None:
        """None where no page comes."""
        came = self.pages + self.needless
        return self.right / came if came else None

    @property
    def recall(self) -> float | None:
        """None without questions."""
        n = self.found + self.missed
        return self.found / n if n else None

    @property
    def loss(self) -> float:
        return self.missed + NEEDLESS_COST * (self.pages - self.right + self.needless)


@dataclass(frozen=True, slots=True)
class Bin:
    """Of a histogram, half-open: what lies there, told apart by whether it answers anything."""

    low: float
    high: float
    relevant: int
    other: int


@dataclass(frozen=True, slots=True)
class Suggestion:
    setting: str
    now: float
    value: float
    missed: int  # questions of `n` that it misses, each conversation or question judged by a value chosen without it
    needless: int  # pages, likewise
    n: int
    held_out: str  # conversation, question


@dataclass(frozen=True)
class Thresholds(Shown):
    """Of one or several conversations, under the settings that they were replayed with."""

    settings: Settings
    asked: tuple[Asked, ...]
    curves: dict[str, tuple[Point, ...]] = field(repr=False)
    suggestions: tuple[Suggestion, ...]
    honesty: Honesty
    left_out: int = 0  # questions, for there were too many

    @property
    def open(self) -> tuple[Asked, ...]:
        """Questions whose answer had left the window: those that the lines decide."""
        return tuple(each for each in self.asked if each.missing and not each.is_needless)

    @property
    def needless(self) -> tuple[Asked, ...]:
        return tuple(each for each in self.asked if each.is_needless)

    @property
    def near_misses(self) -> tuple[Asked, ...]:
        """Questions that are lost and would be found with up to three pages more, or a slightly lower limit."""
        s, found = self.settings, []
        for each in self.open:
            lower = max(0.0, s.min_coverage - 0.1), max(0.0, s.min_margin - 0.1)
            if each.under(s) == LOST and each.outcome(s.recall_k + 3, *lower) != LOST:
                found.append(each)
        return tuple(found)

    def nearly(self, asked: Asked) -> dict[str, float]:
        """The smallest change of a line that would bring a near miss: one of top-k first, then one of a limit."""
        s = self.settings
        for k in range(s.recall_k + 1, s.recall_k + 4):
            if asked.outcome(k, s.min_coverage, s.min_margin) != LOST:
                return {"recall_k": k}
        lower = max(0.0, s.min_coverage - 0.1)
        if asked.outcome(s.recall_k, lower, s.min_margin) != LOST:
            return {"min_coverage": math.floor(100 * max(lower, min(asked.coverage, s.min_coverage))) / 100}
        if asked.outcome(s.recall_k, s.min_coverage, max(0.0, s.min_margin - 0.1)) != LOST:
            return {"min_margin": round(max(0.0, s.min_margin - 0.1), 2)}
        return {}

    def histogram(self, setting: str) -> tuple[Bin, ...]:
        """Of `recall_k` by rank, from 1: pages that answer a question, and others. Of a limit by what it is compared
        with, for the best page: questions whose answer had left, and messages that need nothing. Raises UnknownName.
        """
        if setting not in GRID:
            raise UnknownName("line of retrieval", setting, GRID)
        if setting == "recall_k":
            ranked = [(n, c.relevant) for each in self.asked for n, c in enumerate(each.candidates[:RANKS], 1)
                      if each.missing or each.is_needless]  # fmt: skip
            return tuple(
                Bin(n - 0.5, n + 0.5, ranked.count((n, True)), ranked.count((n, False))) for n in range(1, RANKS + 1)
            )
        found = [(each.coverage if setting == "min_coverage" else each.margin, not each.is_needless)
                 for each in self.asked if each.missing or each.is_needless]  # fmt: skip
        placed = [(min(BINS - 1, max(0, int(value * BINS + 1e-9))), is_open) for value, is_open in found
                  if value is not None]  # fmt: skip
        return tuple(
            Bin(n / BINS, (n + 1) / BINS, placed.count((n, True)), placed.count((n, False))) for n in range(BINS)
        )

    def now(self, setting: str) -> Point:
        return point(self.asked, self.settings, setting, float(getattr(self.settings, setting)))

    def __repr__(self) -> str:
        at = self.now("recall_k")
        return (
            f"<Thresholds over {len(self.open)} questions that had left the window: {at.found} found, {at.missed} "
            f"missed, {at.needless} needless pages for {len(self.needless)} messages that need none>"
        )

    def _html(self) -> str:
        head = ["", "value", "found", "missed", "precision", "recall", "needless pages"]
        rows = [
            [name, f"{p.value:g}", p.found, p.missed, _share(p.precision), _share(p.recall), p.needless]
            for name, curve in self.curves.items() for p in curve
        ]  # fmt: skip
        told = {
            s.setting: f"{s.now:g} → {s.value:g}, to miss {s.missed} of {s.n} (left out: {s.held_out})"
            for s in self.suggestions
        }
        return show.rows(repr(self), told | self.honesty.to_dict()) + show.table(head, rows, 60)

    def to_dict(self) -> dict[str, Any]:
        return {
            "settings": self.settings.hash, "questions": len(self.open), "messages_without_need": len(self.needless),
            "honesty": self.honesty.to_dict(), "left_out": self.left_out,
            "suggestions": [asdict(s) for s in self.suggestions],
            "curves": {name: [{**asdict(p), "precision": p.precision, "recall": p.recall} for p in curve]
                       for name, curve in self.curves.items()},
        }  # fmt: skip

    def to_df(self) -> Any:
        """One row a value of a setting."""
        import pandas as pd

        return pd.DataFrame(
            [{"setting": name, **asdict(p), "precision": p.precision, "recall": p.recall}
             for name, curve in self.curves.items() for p in curve]
        )  # fmt: skip

    def questions(self) -> list[dict[str, Any]]:
        """One row a question: for a table or a file."""
        return [
            {"question": small(e.posed.question, 160), "turn": e.posed.turn, "by": e.posed.by,
             "evidence": list(e.posed.evidence), "outcome": e.under(self.settings), "place": e.place,
             "coverage": e.coverage, "margin": e.margin}
            for e in self.asked if not e.is_needless
        ]  # fmt: skip


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


# ── asking ────────────────────────────────────────────────────────────────────────────────────────────


def posed(recording: Recording) -> tuple[Posed, ...]:
    """What is asked in a recording, in order; of a labelled one also messages that need nothing."""
    found: list[Posed] = []
    needless: list[Posed] = []
    said = ""
    at = 0
    for turn in recording.turns:
        if turn.role == "user":
            said, at = turn.text, turn.number
            (found if turn.evidence else needless).append(
                Posed(turn.text, turn.evidence, turn.number, LABEL if turn.evidence else NEEDLESS)
            )
        for recall in turn.recalls:
            wanted = tuple(n for first, last in recall.turns for n in range(first, last + 1))
            if at and wanted and not any(p.turn == at for p in found):
                found.append(Posed(recall.question or said, wanted, at, RECALL))
                needless = [p for p in needless if p.turn != at]
    labelled = [Posed(q.question, q.evidence, 0, QUESTION) for q in recording.questions]
    found += [p for p in labelled if p.evidence]
    needless += [replace(p, by=NEEDLESS) for p in labelled if not p.evidence]
    has_labels = any(p.by in (LABEL, QUESTION) for p in found)
    return (*found, *_spread(needless)) if has_labels else tuple(found)


def _spread(all_: Sequence[Posed]) -> list[Posed]:
    """At most MOST_NEEDLESS of them, from the first to the last."""
    if len(all_) <= MOST_NEEDLESS:
        return list(all_)
    return [all_[round(n * (len(all_) - 1) / (MOST_NEEDLESS - 1))] for n in range(MOST_NEEDLESS)]


def ask(
    replayed: Replay, questions: Iterable[Posed] | None = None, vectors: VectorSource | None = None
) -> tuple[Asked, ...]:
    """Each question against the pages that had left when it was asked; of more than MOST_ASKED the last ones.

    `questions` None: those of the recording itself. Messages of the future are not in the index then.
    """
    wanted = list(posed(replayed.recording) if questions is None else questions)[-MOST_ASKED:]
    desk = _Desk(replayed, vectors)
    last = replayed.turns
    return tuple(desk.ask(each) for each in sorted(wanted, key=lambda p: p.turn or last + 1))


class _Desk:
    """One index that grows with the conversation."""

    def __init__(self, replayed: Replay, vectors: VectorSource | None) -> None:
        self._replay = replayed
        self._finder = Finder(replayed.words, vectors)
        self._has_vectors = vectors is not None
        self._settings = replayed.settings.but(min_coverage=0.0, min_margin=0.0)
        self._turns = [(page, turn) for page in replayed.state.pages.values() for turn in page.turns]
        self._put = self._closed = self._shelved = 0
        self._steps = {turn: step for step in replayed.steps for turn in range(step.first_turn, step.last_turn + 1)}

    def ask(self, each: Posed) -> Asked:
        state = self._state(each)
        self._grow(state, each.turn or self._replay.turns)
        holders = {p.number for turn in each.evidence for p in state.pages_of(turn)}
        gone = {page.number for page in state.evicted}
        missing = tuple(sorted(holders & gone))
        ranking = self._finder.rank(each.question, RANKED, self._settings, among=gone)
        limits = ranking.thresholds
        margin = limits.get("best_margin_way_to_1") if self._has_vectors else None
        return Asked(
            posed=each,
            conversation=self._replay.recording.conversation,
            resident=bool(holders) and not missing,
            missing=missing,
            candidates=tuple(Candidate(hit.page, hit.score, hit.page in holders) for hit in ranking.hits),
            coverage=limits.get("best_coverage_idf_share", 1.0 if ranking.hits else 0.0),
            margin=margin,
            among=len(gone),
        )

    def _state(self, each: Posed) -> State:
        """As it was when the model read the message: of its step, without what its own recalls brought."""
        step = self._steps.get(each.turn)
        return self._replay.state if step is None else step.planned or step.state

    def _grow(self, state: State, turn: int) -> None:
        while self._put < len(self._turns) and self._turns[self._put][1].number <= turn:
            page, said = self._turns[self._put]
            self._finder.add(page.number, said)
            self._put += 1
        closed = [page for page in state.pages.values() if page.closed and page.number > self._closed]
        for page in closed:
            self._finder.close(page)
            self._closed = page.number
            if page.bookmark and page.bookmark.keywords:
                self._finder.shelf.put(page.number, self._replay.words(page.bookmark.keywords))


# ── other lines ───────────────────────────────────────────────────────────────────────────────────────


def point(asked: Iterable[Asked], s: Settings, setting: str, value: float) -> Point:
    """What `value` of `setting` would have done, the others as they are. Raises UnknownName."""
    if setting not in GRID:
        raise UnknownName("line of retrieval", setting, GRID)
    lines = {"recall_k": float(s.recall_k), "min_coverage": s.min_coverage, "min_margin": s.min_margin, setting: value}
    found = missed = pages = right = needless = 0
    for each in asked:
        came = each.brought(int(lines["recall_k"]), lines["min_coverage"], lines["min_margin"])
        if each.is_needless:
            needless += len(came)
        elif each.missing:
            pages += len(came)
            right += sum(c.relevant for c in came)
            is_found = set(each.missing) <= {c.page for c in came}
            found, missed = found + is_found, missed + (not is_found)
    return Point(value, found, missed, pages, right, needless)


def suggested(asked: Sequence[Asked], s: Settings, setting: str) -> Suggestion | None:
    """The value that loses least, of equal ones the nearest to what it is now, and what to expect of it.

    None where fewer than three questions had left the window: there is nothing to choose by.
    """
    n = sum(bool(each.missing) and not each.is_needless for each in asked)
    if n < 3:
        return None
    now = float(getattr(s, setting))
    values = sorted({*GRID[setting], now}, key=lambda v: (abs(v - now), v))
    several = len({each.conversation for each in asked}) > 1
    groups: dict[Any, list[Asked]] = {}
    for i, each in enumerate(asked):
        groups.setdefault(each.conversation if several else i, []).append(each)
    points = {name: [point(group, s, setting, v) for v in values] for name, group in groups.items()}
    sums = [sum(points[name][i].loss for name in groups) for i in range(len(values))]

    def least(losses: Sequence[float]) -> int:
        return min(range(len(values)), key=lambda i: round(losses[i], 6))

    held = [points[name][least([sums[i] - points[name][i].loss for i in range(len(values))])] for name in groups]
    return Suggestion(
        setting, now, values[least(sums)], sum(p.missed for p in held), sum(p.needless for p in held), n,
        "conversation" if several else "question",
    )  # fmt: skip


def thresholds(
    replays: Replay | Sequence[Replay], questions: Iterable[Posed] | None = None,
    vectors: VectorSource | None = None, asked: Sequence[Asked] | None = None,
) -> Thresholds:  # fmt: skip
    """The lines over one replay, or over several of one setting. `asked`: what `ask` made of them before."""
    all_ = [replays] if isinstance(replays, Replay) else list(replays)
    given = None if questions is None else tuple(questions)
    found = tuple(asked) if asked is not None else tuple(e for each in all_ for e in ask(each, given, vectors))
    s = all_[0].settings
    with_vectors = any(each.margin is not None for each in found)
    names = [name for name in GRID if with_vectors or name != "min_margin"]
    curves = {name: tuple(point(found, s, name, v) for v in GRID[name]) for name in names}
    made = (suggested(found, s, name) for name in names)
    total = sum(len(posed(each.recording)) for each in all_) if given is None else len(given)
    suggestions = tuple(each for each in made if each)
    return Thresholds(s, found, curves, suggestions, worth(found, all_), max(0, total - len(found)))


def worth(asked: Sequence[Asked], replays: Sequence[Replay]) -> Honesty:
    """What figures over these questions are worth; messages that need nothing are no questions."""
    own = [each for each in asked if not each.is_needless]
    s = replays[0].settings
    corpus = [sum(page.tokens for page in each.state.pages.values()) for each in replays]
    by_hand = RAW if any(each.recording.format == "locomo" for each in replays) else OWN
    labels = MODEL if own and all(each.posed.by == RECALL for each in own) else by_hand
    return Honesty(
        len(own), len({each.conversation for each in own}), s.recall_k,
        sum(each.among for each in own) / max(1, len(own)), (s.window_tokens, s.window_tokens),
        round(sum(corpus) / len(corpus)), labels,
    )  # fmt: skip
