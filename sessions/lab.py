"""Paging policies side by side on recorded conversations, at equal token budgets; or, as an option, at k pages.

A cell is one choice: boundary, eviction, what a recall goes by, budget. A conversation is cut into pages, they come
and leave as under demand paging, and each labelled question is asked once of what is resident then. What is not
resident is recalled: the pages outside are ranked for the question, and the first that fit come for that question
alone (arXiv 2604.12376, withdrawn). No model is asked; whether one would recall at all is not measured here, nor is
what it would answer. The engine itself is replayed by replay.py: this is its paging alone, so that a grid of hundreds
of cells takes seconds. Words are as rare as in the whole conversation, pages that come later do not compete.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory import bookmarks, boundaries, show, tokens
from memory.errors import BadSetting, RecordingError, UnknownName
from memory.eviction import EVICTION, Score, belady, ranked
from memory.exchanges import Line
from memory.lexical import TextIndex
from memory.pages import Page
from memory.retrieval import Compared, Index, Weighing, fusion
from memory.settings import Settings
from memory.show import Shown
from memory.turns import MESSAGE_TOKENS, Turn
from sessions.recording import Recording

Ranks = Callable[[int], Sequence[int]]  # by question, from 0: pages, the best first

VERSION = 1  # of the simulation: a cell kept by another one is worked out again
ORACLE = "oracle"
CONTENT = "content"  # a recall by what stands on the pages
PAGES_SHARE = 0.85  # of a token budget; the stubs have the rest, as in the engine
RECALLS = (1, 3, 5)
MESSAGELESS = tuple(name for name in EVICTION if name not in ("relevance", "cooperative"))  # these need a message
END, SPREAD = "end", "spread"
RESAMPLES = 500


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One choice. `budget` is tokens for pages and stubs; with `pages` so many pages are resident instead."""

    boundary: str = "fixed_10"
    eviction: str = "lru"
    recall: str = CONTENT  # or the name of a bookmark generator: its stubs alone
    budget: int = 4_000
    pages: int = 0
    asked: str = END  # all after the last turn; or spread: each at a turn drawn by seed, after its evidence

    def __post_init__(self) -> None:
        if self.eviction not in (*MESSAGELESS, ORACLE):
            raise UnknownName("eviction policy of the lab", self.eviction, (*MESSAGELESS, ORACLE))
        if self.recall not in (CONTENT, *bookmarks.BOOKMARKS):
            raise UnknownName("way to recall", self.recall, (CONTENT, *bookmarks.BOOKMARKS))
        if self.asked not in (END, SPREAD):
            raise UnknownName("time to ask", self.asked, (END, SPREAD))
        if self.pages < 0 or (not self.pages and self.budget < 100):
            raise BadSetting(f"a cell needs a budget of 100 tokens or some pages, not {self.budget} and {self.pages}")

    @property
    def name(self) -> str:
        room = f"{self.pages} pages" if self.pages else f"{self.budget:,} tokens"
        return f"{self.boundary} · {self.eviction} · {self.recall} · {room}"


@dataclass(frozen=True, slots=True)
class Probe:
    """A labelled question of a conversation."""

    question: str
    category: str
    evidence: frozenset[int]  # turns
    at: int  # turns said when it is asked


@dataclass(frozen=True)
class Talk:
    """What the lab reads of a conversation."""

    name: str
    lines: tuple[Line, ...]
    probes: tuple[Probe, ...]
    turns: tuple[Turn, ...]  # the id of their words is their number

    @property
    def digest(self) -> str:
        """Names the words and the labels."""
        held = [(line.turn, line.role, line.speaker, line.text, str(line.said_at)) for line in self.lines]
        asked = [(p.question, p.category, sorted(p.evidence)) for p in self.probes]
        return hashlib.sha256(json.dumps([held, asked], ensure_ascii=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question in one cell."""

    category: str
    resident: bool  # a page with evidence of it was
    whole: bool  # all pages with evidence of it were
    place: int  # from 1: the first right page among those outside; 0: none was right, or it was resident
    fitting: int  # how many of the pages outside fit, in that order, up to five
    tokens: tuple[int, ...]  # recalled by one page, by up to three, by up to five
    candidates: int  # pages outside

    def right(self, recalls: int) -> bool:
        return self.resident or 0 < self.place <= min(recalls, self.fitting)


def talk_of(recording: Recording) -> Talk:
    """Raises RecordingError where no question is labelled with turns that are there."""
    lines = tuple(Line(t.number, t.role, t.text, t.speaker, t.said_at) for t in recording.turns)
    known = {line.turn for line in lines}
    probes = tuple(
        Probe(q.question, q.category, frozenset(q.evidence) & known, lines[-1].turn)
        for q in recording.questions
        if known & set(q.evidence)
    )
    if not probes:
        raise RecordingError(f"{recording.conversation}: no question is labelled with the turns that answer it")
    return talk(recording.conversation, lines, probes)


def talk(name: str, lines: tuple[Line, ...], probes: tuple[Probe, ...]) -> Talk:
    turns = tuple(
        Turn(line.turn, line.role, line.turn, tokens.count(line.text) + MESSAGE_TOKENS, line.said_at, line.speaker)
        for line in lines
        if line.said_at is not None
    )
    if len(turns) != len(lines):
        raise RecordingError(f"{name}: a turn has no time")
    return Talk(name, lines, probes, turns)


def spread(talk: Talk, seed: int = 7) -> Talk:
    """Each question at a turn drawn evenly between its last evidence and the end, in that order."""
    draw = random.Random(f"{seed} {talk.name}")
    last = talk.turns[-1].number
    drawn = [replace(p, at=draw.randint(min(last, max(p.evidence) + 1), last)) for p in talk.probes]
    return replace(talk, probes=tuple(sorted(drawn, key=lambda p: p.at)))


def paged(talk: Talk, boundary: str) -> list[Page]:
    """The pages that a boundary makes of it; none is capped, for a budget is what the cells differ in."""
    settings = Settings.of(boundary=boundary)
    rules = boundaries.named(settings.boundary, settings)
    texts = {line.turn: line.text for line in talk.lines}
    groups: list[list[Turn]] = []
    for turn in talk.turns:
        if not groups or boundaries.closing_rule(groups[-1], turn, rules, 10**9, texts.__getitem__):
            groups.append([])
        groups[-1].append(turn)
    return [Page(n, tuple(group), sum(t.tokens for t in group), closed=True) for n, group in enumerate(groups, 1)]


# ── one cell ──────────────────────────────────────────────────────────────────────────────────────────


def simulated(pages: Sequence[Page], probes: Sequence[Probe], ranks: Ranks, cell: Cell) -> list[Outcome]:
    """Each question's outcome. Probes are in the order of `at`; `ranks` orders all pages for each of them."""
    gold = [_gold(pages, probe) for probe in probes]
    score = _score_of(pages, probes, cell)
    room = PAGES_SHARE * cell.budget
    resident: dict[int, Page] = {}
    outcomes = []
    for now, (arriving, nth) in enumerate(_ticks(pages, probes), 1):
        if arriving:
            resident[arriving.number] = replace(arriving, loaded_at=now, used_at=now)
            _make_room(resident, arriving.number, score, now, cell.pages, room)
            continue
        said = [p for p in pages if p.first <= probes[nth].at]
        outcomes.append(_asked(probes[nth], gold[nth], resident, said, ranks(nth), 10**9 if cell.pages else room))
        for number in gold[nth] & set(resident):
            page = resident[number]
            resident[number] = replace(page, used_at=now, hits=page.hits + 1, heat=page.heat_at(now) + 1)
    return outcomes


def _ticks(pages: Sequence[Page], probes: Sequence[Probe]) -> Iterator[tuple[Page | None, int]]:
    """A page begins to be resident with its first turn; a question comes after the turn it is asked at."""
    nth = 0
    for page in pages:
        while nth < len(probes) and probes[nth].at < page.first:
            yield None, nth
            nth += 1
        yield page, -1
    yield from ((None, n) for n in range(nth, len(probes)))


def _gold(pages: Sequence[Page], probe: Probe) -> frozenset[int]:
    return frozenset(p.number for p in pages if any(t.number in probe.evidence for t in p.turns))


def _score_of(pages: Sequence[Page], probes: Sequence[Probe], cell: Cell) -> Score:
    if cell.eviction != ORACLE:
        return EVICTION[cell.eviction]
    demands: dict[int, list[int]] = {}
    for now, (_, nth) in enumerate(_ticks(pages, probes), 1):
        for turn in probes[nth].evidence if nth >= 0 else ():
            demands.setdefault(turn, []).append(now)
    return belady(demands)


def _make_room(resident: dict[int, Page], new: int, score: Score, now: int, frames: int, room: float) -> None:
    """The page that is being said never leaves."""
    while len(resident) > 1:
        full = len(resident) > frames if frames else sum(p.tokens for p in resident.values()) > room
        if not full:
            return
        del resident[ranked([p for p in resident.values() if p.number != new], score, now)[0][1].number]


def _asked(
    probe: Probe, gold: frozenset[int], resident: Mapping[int, Page], said: Sequence[Page], order: Sequence[int],
    room: float,
) -> Outcome:  # fmt: skip
    tokens_of = {p.number: p.tokens for p in said}
    outside = [n for n in order if n in tokens_of and n not in resident]
    here = bool(gold & set(resident))
    taken = list(accumulate(tokens_of[n] for n in outside[: max(RECALLS)]))
    fitting = sum(total <= room for total in taken)
    place = 0 if here else next((n for n, number in enumerate(outside, 1) if number in gold), 0)
    spent = tuple(0 if here or not min(k, fitting) else taken[min(k, fitting) - 1] for k in RECALLS)
    return Outcome(probe.category, here, gold <= set(resident), place, fitting, spent, len(outside))


# ── what a recall goes by ─────────────────────────────────────────────────────────────────────────────


def by_content(index: Index, probes: Sequence[Probe], weighing: Weighing, vectors: Sequence[Any] = ()) -> Ranks:
    """Pages as the engine ranks them, nothing turned away."""

    @cache
    def ranks(nth: int) -> tuple[int, ...]:
        seen = Compared(index, probes[nth].question, vectors[nth] if vectors else None)
        return _ordered(seen.pages, fusion(seen, weighing).totals)

    return ranks


def by_stubs(stubs: Mapping[int, str], probes: Sequence[Probe]) -> Ranks:
    """Pages by the words of their stubs alone, BM25."""
    index = TextIndex()
    for number, text in stubs.items():
        index.add(number, number, text)

    @cache
    def ranks(nth: int) -> tuple[int, ...]:
        totals = index.layout.spans.highest(index.scores(probes[nth].question).total)
        return _ordered(index.layout.numbers, totals)

    return ranks


def _ordered(numbers: NDArray[np.int64], totals: NDArray[Any]) -> tuple[int, ...]:
    """The best first, the newer of equals."""
    return tuple(numbers[np.lexsort((-numbers, -totals))].tolist())


def stubs_of(talk: Talk, pages: Sequence[Page], generator: str) -> dict[int, str]:
    """The keywords of each page's stub of at most 24 tokens; each page among all the others."""
    texts = {line.turn: f"{line.label}: {line.text}" if line.label else line.text for line in talk.lines}
    words = [bookmarks.PageWords(p.number, tuple(texts[t.number] for t in p.turns)) for p in pages]
    corpus = bookmarks.Corpus()
    for each in words:
        corpus.add(each)
    made = {each.page: bookmarks.named(generator)(each, corpus) for each in words}
    return {n: bookmarks.stub(n, keywords).partition(":")[2].rstrip("]") for n, keywords in made.items()}


def indexed(talk: Talk, pages: Sequence[Page]) -> Index:
    """By words alone."""
    index, lines = Index(), {line.turn: line for line in talk.lines}
    for page in pages:
        for turn in page.turns:
            line = lines[turn.number]
            index.add(page.number, line.turn, line.text, line.label)
    return index


# ── a grid ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Result:
    """What a cell came to over all conversations."""

    cell: Cell
    outcomes: tuple[Outcome, ...]
    regret: int = 0  # questions with a resident page under the oracle reference, less those here; may be negative

    @property
    def n(self) -> int:
        return len(self.outcomes)

    @property
    def faults(self) -> int:
        return sum(not o.resident for o in self.outcomes)

    def end_to_end(self, recalls: int = 1) -> float:
        """Share of the questions that have a page with evidence before them, resident or recalled."""
        return _share(o.right(recalls) for o in self.outcomes)

    @property
    def precision(self) -> float | None:
        """Of the questions without such a page, those whose first recalled page is right; None: there are none."""
        return _share(o.right(1) for o in self.outcomes if not o.resident) if self.faults else None

    def split(self, recalls: int = 3) -> dict[str, int]:
        found = Counter("resident" if o.resident else "recallable" if o.right(recalls) else "lost"
                        for o in self.outcomes)  # fmt: skip
        return {name: found[name] for name in ("resident", "recallable", "lost")}

    @property
    def categories(self) -> dict[str, dict[str, Any]]:
        """By category: n, end to end with one page and the interval of that."""
        return {name: _interval([o.right(1) for o in self.outcomes if o.category == name])
                for name in sorted({o.category for o in self.outcomes})}  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        recalled = [o.tokens for o in self.outcomes]
        return asdict(self.cell) | {
            "n": self.n,
            "end_to_end": {str(k): _interval([o.right(k) for o in self.outcomes]) for k in RECALLS},
            "precision": None if self.precision is None else round(self.precision, 4),
            "whole": round(_share(o.whole for o in self.outcomes), 4),
            "split": self.split(), "faults": self.faults, "regret": self.regret,
            "recalled_tokens": {str(k): round(_mean(each[i] for each in recalled), 1) for i, k in enumerate(RECALLS)},
            "candidates": round(_mean(o.candidates for o in self.outcomes), 1),
            "by_category": self.categories,
        }  # fmt: skip


@dataclass(frozen=True)
class Lab(Shown):
    results: tuple[Result, ...]
    conversations: int
    corpus_tokens: int  # of all pages, a conversation on average
    labels: str = "raw labels"
    weights: str = "the shipped weights, which were tuned on LoCoMo"

    def __repr__(self) -> str:
        best = self.best
        return (f"<Lab of {len(self.results)} cells over {self.conversations} conversations, n = {best.n}: best "
                f"{best.end_to_end():.3f} with one page, {best.cell.name}>")  # fmt: skip

    @property
    def best(self) -> Result:
        return max(self.results, key=Result.end_to_end)

    @property
    def front(self) -> tuple[Result, ...]:
        """Cells than which none has more questions right with one page at as few tokens for pages and recall."""
        front: list[Result] = []
        for each in sorted(self.results, key=lambda r: (_spent(r), -r.end_to_end())):
            if not front or each.end_to_end() > front[-1].end_to_end():
                front.append(each)
        return tuple(front)

    @property
    def honesty(self) -> dict[str, str]:
        """What a figure of this lab is worth."""
        candidates = _mean(o.candidates for r in self.results for o in r.outcomes)
        return {
            "questions": f"n = {self.best.n} in {self.conversations} conversations",
            "candidates": f"up to {max(RECALLS)} pages out of {candidates:.0f}",
            "context": f"budgets against {self.corpus_tokens:,} tokens of conversation",
            "labels": self.labels,
            "weights": self.weights,
            "not measured": "whether a model would recall, and what it would answer",
        }

    HEAD = ("cell", "n", "right with 1", "with 3", "first page", "resident", "recallable", "lost", "regret")

    def lines(self) -> list[list[Any]]:
        return [
            [r.cell.name, r.n, f"{r.end_to_end():.3f}", f"{r.end_to_end(3):.3f}",
             "–" if r.precision is None else f"{r.precision:.3f}", *r.split().values(), r.regret]
            for r in self.results
        ]  # fmt: skip

    def _html(self) -> str:
        return show.rows("policy lab", self.honesty) + show.table(self.HEAD, self.lines())

    def to_dict(self) -> dict[str, Any]:
        return {"honesty": self.honesty, "cells": [r.to_dict() for r in self.results],
                "front": [r.cell.name for r in self.front]}  # fmt: skip

    def to_df(self) -> Any:
        """One row a cell."""
        import pandas as pd

        return pd.DataFrame([dict(zip(self.HEAD, line, strict=True)) for line in self.lines()])


def lab(talks: Sequence[Talk], cells: Iterable[Cell], folder: Path | None = None, workers: int = 1) -> Lab:
    """Every cell over every conversation, by words alone. What `folder` holds is not worked out again.

    Raises UnknownName for a boundary that is not there, RecordingError without a conversation.
    """
    wanted = tuple(dict.fromkeys(cells))
    if not talks or not wanted:
        raise RecordingError("the lab needs a conversation with labelled questions, and a cell")
    for cell in wanted:
        Settings.of(boundary=cell.boundary)
    needed = tuple(dict.fromkeys((*wanted, *(replace(c, eviction=ORACLE) for c in wanted))))
    jobs = [(each, needed, folder) for each in talks]
    if workers > 1:
        with ProcessPoolExecutor(workers) as pool:
            found = list(pool.map(_of_talk, *zip(*jobs, strict=True)))
    else:
        found = [_of_talk(*job) for job in jobs]
    outcomes = {cell: tuple(o for each in found for o in each[cell]) for cell in needed}
    results = tuple(result(cell, outcomes[cell], outcomes[replace(cell, eviction=ORACLE)]) for cell in wanted)
    return Lab(results, len(talks), round(_mean(sum(t.tokens for t in each.turns) for each in talks)))


def result(cell: Cell, outcomes: Sequence[Outcome], oracle: Sequence[Outcome]) -> Result:
    regret = sum(o.resident for o in oracle) - sum(o.resident for o in outcomes)
    return Result(cell, tuple(outcomes), regret)


def _of_talk(talk: Talk, cells: Sequence[Cell], folder: Path | None) -> dict[Cell, list[Outcome]]:
    place = folder / f"{talk.digest}-{VERSION}.json" if folder else None
    kept = json.loads(place.read_text("utf-8")) if place and place.exists() else {}
    lacking = [cell for cell in cells if _key(cell) not in kept]
    for boundary in dict.fromkeys(cell.boundary for cell in lacking):
        pages = paged(talk, boundary)
        for asked in (END, SPREAD):
            probes = (spread(talk) if asked == SPREAD else talk).probes
            by: dict[str, Ranks] = {}
            for cell in (c for c in lacking if (c.boundary, c.asked) == (boundary, asked)):
                if cell.recall not in by:
                    by[cell.recall] = _ranks(talk, pages, probes, cell.recall)
                made = simulated(pages, probes, by[cell.recall], cell)
                kept[_key(cell)] = [[getattr(o, f.name) for f in fields(Outcome)] for o in made]
    if place and lacking:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_suffix(".draft")
        draft.write_text(json.dumps(kept), "utf-8")
        draft.replace(place)
    return {cell: [_outcome(o) for o in kept[_key(cell)]] for cell in cells}


def _ranks(talk: Talk, pages: Sequence[Page], probes: Sequence[Probe], recall: str) -> Ranks:
    if recall == CONTENT:
        return by_content(indexed(talk, pages), probes, Weighing())
    return by_stubs(stubs_of(talk, pages, recall), probes)


def _outcome(kept: Sequence[Any]) -> Outcome:
    return Outcome(**dict(zip((f.name for f in fields(Outcome)), kept, strict=True)) | {"tokens": tuple(kept[5])})


def _key(cell: Cell) -> str:
    return json.dumps(asdict(cell), sort_keys=True)


def _spent(result: Result) -> float:
    recalled = _mean(o.tokens[0] for o in result.outcomes)
    return recalled + (result.cell.budget if not result.cell.pages else 0)


def _share(values: Iterable[bool]) -> float:
    return _mean(map(float, values))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def _interval(values: Sequence[bool]) -> dict[str, Any]:
    """Share, n, and where 95 of 100 bootstrap samples of the questions lie."""
    right = np.random.default_rng(1).binomial(len(values), _share(values), RESAMPLES) / len(values)
    low, high = np.quantile(right, [0.025, 0.975])
    return {"value": round(_share(values), 4), "low": round(float(low), 4), "high": round(float(high), 4),
            "n": len(values)}  # fmt: skip
