"""Paging policies side by side on recorded conversations, at equal token budgets; or, as an option, at k pages.

A cell is one choice: boundary, eviction, what a recall goes by, budget. A conversation is cut into pages, they come
and leave as under demand paging, and each labelled question is asked once of what is resident then. What is not
resident is recalled: the pages outside are ranked for the question, and the first that fit come for that question
alone (arXiv 2604.12376, withdrawn). No model is asked; whether one would recall at all is not measured here, nor is
what it would answer. The engine itself is replayed by replay.py: this is its paging alone, so that a grid of hundreds
of cells takes seconds. Words are as rare as in the whole conversation, pages that come later do not compete. Only a
cell whose stubs a model names needs one: who asks for it passes `ask`.

    cells = grid(boundaries=("fixed_10", "fixed_20"), evictions=("lru", "oracle"), budgets=(2_000, 4_000))
    print(lab([talk_of(recording)], cells).best.cell.name)
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, partial
from importlib import import_module
from itertools import accumulate, product
from multiprocessing import get_context
from os import getpid
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory import bookmarks, boundaries, show, templates, tokens
from memory.errors import BadSetting, RecordingError, UnknownName
from memory.eviction import EVICTION, NONE, Figures, Score, belady, promising, ranked
from memory.exchanges import Line
from memory.keywords import Ask, Improved, improve_bookmarks
from memory.lexical import TextIndex
from memory.pages import Page
from memory.retrieval import Compared, Index, Weighing, fusion
from memory.settings import Settings
from memory.show import Shown
from memory.turns import MESSAGE_TOKENS, Turn
from sessions.honesty import MODEL, OWN, SHIPPED, Honesty
from sessions.questions import Pinned
from sessions.recording import Recording
from sessions.thresholds import LABEL, PINNED, RECALL, posed

Ranks = Callable[[int], Sequence[int]]  # by question, from 0: pages, the best first
Stubs = Mapping[int, str]  # by page
Progress = Callable[[int, int], None]  # parts that are done, of how many

DECIDES = (
    "memory.boundaries",
    "memory.eviction",
    "memory.bookmarks",
    "memory.retrieval",
    "memory.lexical",
    "memory.language",
    "memory.tokens",
    "sessions.lab",
)  # what a kept cell was worked out by
ORACLE = "oracle"
CONTENT = "content"  # a recall by what stands on the pages
PAGES_SHARE = 0.85  # of a token budget; the stubs have the rest, as in the engine
RECALLS = (1, 3, 5)
MESSAGELESS = tuple(name for name in EVICTION if name not in ("relevance", "cooperative"))  # these need a message
MODELLESS = tuple(name for name in bookmarks.BOOKMARKS if name not in bookmarks.BY_MODEL)
BATCH = 5  # pages a model names at once
MESSAGE, ASKED_BACK = "message", "recall"  # categories of what is asked on the way
END, SPREAD = "end", "spread"
RESAMPLES = 500


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One choice. `budget` is tokens for pages and stubs; with `pages` so many pages are resident instead.

    Raises UnknownName, BadSetting for one that cannot be.
    """

    boundary: str = "fixed_10"
    eviction: str = "lru"
    recall: str = CONTENT  # or the name of a bookmark generator: its stubs alone
    budget: int = 4_000
    pages: int = 0
    asked: str = END  # all after the last turn; or spread: each at a turn drawn by seed, after its evidence
    template: str = ""  # what a model looks for, where it makes the stubs

    def __post_init__(self) -> None:
        if self.eviction not in (*MESSAGELESS, ORACLE):
            raise UnknownName("eviction policy of the lab", self.eviction, (*MESSAGELESS, ORACLE))
        if self.recall not in (CONTENT, *bookmarks.BOOKMARKS):
            raise UnknownName("way to recall", self.recall, (CONTENT, *bookmarks.BOOKMARKS))
        if self.asked not in (END, SPREAD):
            raise UnknownName("time to ask", self.asked, (END, SPREAD))
        if (self.recall in bookmarks.BY_MODEL) != bool(self.template):
            raise BadSetting(f"{self.recall!r} {'needs a' if not self.template else 'takes no'} bookmark template")
        if self.template:
            templates.named(self.template)
        if self.pages < 0 or (not self.pages and self.budget < 100):
            raise BadSetting(f"a cell needs a budget of 100 tokens or some pages, not {self.budget} and {self.pages}")

    @property
    def name(self) -> str:
        room = f"{self.pages} pages" if self.pages else f"{self.budget:,} tokens"
        recall = f"{self.recall} ({self.template})" if self.template else self.recall
        return f"{self.boundary} · {self.eviction} · {recall} · {room}"


def grid(
    *,
    boundaries: Sequence[str] = ("fixed_5", "fixed_10", "fixed_20", "exchange_5"),
    evictions: Sequence[str] = ("lru", ORACLE),
    recalls: Sequence[str] = (CONTENT,),
    templates: Sequence[str] = ("entities",),
    budgets: Sequence[int] = (2_000, 4_000, 8_000),
    pages: Sequence[int] = (),
    asked: str = END,
) -> tuple[Cell, ...]:
    """Every combination, at every budget; with `pages` so many pages instead of budgets. Templates are for stubs that
    a model makes, so they multiply nothing else."""
    rooms = [(4_000, k) for k in pages] or [(budget, 0) for budget in budgets]
    named = [(r, t) for r in recalls for t in (templates if r in bookmarks.BY_MODEL else ("",))]
    return tuple(
        Cell(boundary, eviction, recall, budget, k, asked, template)
        for boundary, (recall, template), eviction, (budget, k) in product(boundaries, named, evictions, rooms)
    )


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
        asked = [(p.question, p.category, sorted(p.evidence), p.at) for p in self.probes]
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


def talk_of(recording: Recording, pinned: Iterable[Pinned] = ()) -> Talk:
    """Labelled messages ask where they are said, questions after the last turn; `pinned` ones where they were pinned.

    Without any of these, what the model asked back is taken for a question. Raises RecordingError where nothing is
    asked that turns of it answer.
    """
    lines = tuple(Line(t.number, t.role, t.text, t.speaker, t.said_at) for t in recording.turns)
    last = lines[-1].turn
    on_the_way = posed(recording)
    probes = [_probe(p.question, MESSAGE, p.evidence, p.turn - 1) for p in on_the_way if p.by == LABEL]
    probes += [_probe(q.question, q.category, q.evidence, last) for q in recording.questions]
    probes += [_probe(q.question, PINNED, q.evidence, min(q.turn or last, last)) for q in pinned if not q.is_apart]
    if not any(p.evidence for p in probes):
        probes = [_probe(p.question, ASKED_BACK, p.evidence, p.turn - 1) for p in on_the_way if p.by == RECALL]
    kept = tuple(p for p in probes if p.evidence)
    if not kept:
        raise RecordingError(f"{recording.conversation}: no question is labelled with the turns that answer it")
    return talk(recording.conversation, lines, kept)


def talks_of_locomo(file: Path, *, corrected: bool = False) -> tuple[list[Talk], int]:
    """LoCoMo's conversations, all asked after the last turn; and how many of the labels used are known to be wrong."""
    from sessions.retrieval_bench import read_talks

    talks, wrong = [], 0
    for n, known in enumerate(read_talks(file), 1):
        labels = known.corrected if corrected else known.evidence
        wrong += sum(used != right for used, right in zip(labels, known.corrected, strict=True))
        asked = zip(known.questions, known.categories, labels, strict=True)
        probes = tuple(Probe(question, category, turns, len(known.lines)) for question, category, turns in asked)
        talks.append(talk(f"locomo {n}", known.lines, probes))
    return talks, wrong


def _probe(question: str, category: str, evidence: Iterable[int], at: int) -> Probe:
    return Probe(question, category, frozenset(turn for turn in evidence if turn <= at), at)


def talk(name: str, lines: tuple[Line, ...], probes: tuple[Probe, ...]) -> Talk:
    turns = tuple(
        Turn(line.turn, line.role, line.turn, tokens.count(line.text) + MESSAGE_TOKENS, line.said_at, line.speaker)
        for line in lines
        if line.said_at is not None
    )
    if len(turns) != len(lines):
        raise RecordingError(f"{name}: a turn has no time")
    return Talk(name, lines, tuple(sorted(probes, key=lambda p: p.at)), turns)


def spread(talk: Talk, seed: int = 7) -> Talk:
    """Each question at a turn drawn evenly between its last evidence and the end, in that order; what was asked on
    the way stays where it was."""
    draw = random.Random(f"{seed} {talk.name}")
    last = talk.turns[-1].number
    drawn = [replace(p, at=draw.randint(min(last, max(p.evidence) + 1), last)) if p.at == last else p
             for p in talk.probes]  # fmt: skip
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


def simulated(
    pages: Sequence[Page], probes: Sequence[Probe], ranks: Ranks, cell: Cell, promise: Figures = NONE
) -> list[Outcome]:
    """Each question's outcome. Probes are in the order of `at`; `ranks` orders all pages for each of them.

    `promise`: what `promising` is told of each page (`promised`).
    """
    gold = [_gold(pages, probe) for probe in probes]
    score = _score_of(pages, probes, cell)
    if score is promising:
        score = partial(promising, promise=promise)
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


def promised(talk: Talk, pages: Sequence[Page]) -> dict[int, float]:
    """By page, what its words promise."""
    return {each.page: bookmarks.promise(each.texts) for each in words_of(talk, pages)}


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


def stubs_of(talk: Talk, pages: Sequence[Page], generator: str | bookmarks.Generator) -> dict[int, str]:
    """The keywords of each page's stub of at most 24 tokens; each page among all the others."""
    words = words_of(talk, pages)
    corpus = bookmarks.Corpus()
    for each in words:
        corpus.add(each)
    return {each.page: _stub(each.page, bookmarks.named(generator)(each, corpus)) for each in words}


def stubs_by_model(talk: Talk, pages: Sequence[Page], cell: Cell, ask: Ask) -> dict[int, str]:
    """The same by a model. As in the engine, a rule's stub stays where no answer came that can be used."""
    words, template = words_of(talk, pages), templates.named(cell.template)
    stubs = stubs_of(talk, pages, bookmarks.BY_MODEL[cell.recall])
    is_batch = cell.recall == "llm_batch"
    for start in range(0, len(words), BATCH if is_batch else 1):
        part = words[start : start + (BATCH if is_batch else 1)]
        for made in improve_bookmarks(part, ask, template, batch=is_batch, others=stubs):
            if isinstance(made, Improved):
                stubs[made.page] = _stub(made.page, made.keywords)
    return stubs


def words_of(talk: Talk, pages: Sequence[Page]) -> list[bookmarks.PageWords]:
    """As a generator reads them."""
    texts = {line.turn: line.text for line in talk.lines}  # no names and dates in front: nor has the engine
    return [bookmarks.PageWords(p.number, tuple(texts[t.number] for t in p.turns)) for p in pages]


def _stub(page: int, keywords: Sequence[str]) -> str:
    return bookmarks.stub(page, keywords).partition(":")[2].rstrip("]")


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

    @property
    def spent(self) -> float:
        """Tokens a question: the window's room, and the first page that is recalled."""
        recalled = _mean(o.tokens[0] for o in self.outcomes)
        return recalled + (self.cell.budget if not self.cell.pages else 0)

    def split(self, recalls: int = 3) -> dict[str, int]:
        found = Counter("resident" if o.resident else "recallable" if o.right(recalls) else "lost"
                        for o in self.outcomes)  # fmt: skip
        return {name: found[name] for name in ("resident", "recallable", "lost")}

    @property
    def categories(self) -> dict[str, dict[str, Any]]:
        """By category: n, end to end with one page and the interval of that."""
        return {name: interval([o.right(1) for o in self.outcomes if o.category == name])
                for name in sorted({o.category for o in self.outcomes})}  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        recalled = [o.tokens for o in self.outcomes]
        return asdict(self.cell) | {
            "n": self.n,
            "end_to_end": {str(k): interval([o.right(k) for o in self.outcomes]) for k in RECALLS},
            "precision": None if self.precision is None else round(self.precision, 4),
            "whole": round(_share(o.whole for o in self.outcomes), 4),
            "split": self.split(), "faults": self.faults, "regret": self.regret, "spent": round(self.spent, 1),
            "recalled_tokens": {str(k): round(_mean(each[i] for each in recalled), 1) for i, k in enumerate(RECALLS)},
            "candidates": round(_mean(o.candidates for o in self.outcomes), 1),
            "by_category": self.categories,
        }  # fmt: skip


@dataclass(frozen=True)
class Lab(Shown):
    """A grid of cells over conversations."""

    results: tuple[Result, ...]
    conversations: int
    corpus_tokens: int  # of all pages, a conversation on average
    sizes: tuple[int, ...] = ()  # questions of each conversation, in the order of the outcomes
    labels: str = OWN
    wrong_labels: int | None = None
    tuned: str = SHIPPED

    def __repr__(self) -> str:
        best = self.best
        return (f"<Lab of {len(self.results)} cells over {self.conversations} conversations, n = {best.n}: best "
                f"{best.end_to_end():.3f} with one page, {best.cell.name}>")  # fmt: skip

    @property
    def real(self) -> tuple[Result, ...]:
        """Without the oracle, which knows what will be asked; with it where there is nothing else."""
        return tuple(r for r in self.results if r.cell.eviction != ORACLE) or self.results

    @property
    def best(self) -> Result:
        return max(self.real, key=Result.end_to_end)

    @property
    def front(self) -> tuple[Result, ...]:
        """Cells than which none has more questions right with one page at as few tokens for pages and recall."""
        front: list[Result] = []
        for each in sorted(self.real, key=lambda r: (r.spent, -r.end_to_end())):
            if not front or each.end_to_end() > front[-1].end_to_end():
                front.append(each)
        return tuple(front)

    @property
    def held_out(self) -> dict[str, Any] | None:
        """The best cell chosen on all conversations but one, on that one, for each in turn; None of a single one."""
        if len(self.sizes) < 2:
            return None
        ends = list(accumulate(self.sizes))
        right: list[bool] = []
        chosen: Counter[str] = Counter()
        for start, end in zip((0, *ends), ends, strict=False):
            best = max(self.real, key=lambda r: sum(o.right(1) for o in (*r.outcomes[:start], *r.outcomes[end:])))
            chosen[best.cell.name] += 1
            right += [o.right(1) for o in best.outcomes[start:end]]
        return interval(right) | {"chosen": dict(chosen)}

    @property
    def honesty(self) -> Honesty:
        """What a figure of this lab is worth."""
        budgets = [r.cell.budget for r in self.results if not r.cell.pages] or [0]
        candidates = _mean(o.candidates for r in self.results for o in r.outcomes)
        return Honesty(self.best.n, self.conversations, max(RECALLS), candidates, (min(budgets), max(budgets)),
                       self.corpus_tokens, self.labels, self.wrong_labels, self.tuned)  # fmt: skip

    HEAD = ("cell", "n", "right with 1", "interval", "with 3", "with 5", "first page", "resident", "recallable", "lost",
            "recalled tokens", "regret")  # fmt: skip

    def lines(self, results: Sequence[Result] | None = None) -> list[list[Any]]:
        """For a table, as HEAD names them; of all cells, or of these."""
        return [_line(r) for r in (self.results if results is None else results)]

    def _html(self) -> str:
        return show.rows("policy lab", self.honesty.to_dict()) + show.table(self.HEAD, self.lines())

    def to_dict(self) -> dict[str, Any]:
        return {"honesty": self.honesty.to_dict(), "best": self.best.cell.name, "held_out": self.held_out,
                "front": [r.cell.name for r in self.front],
                "cells": [r.to_dict() for r in self.results]}  # fmt: skip

    def to_df(self) -> Any:
        """One row a cell."""
        import pandas as pd

        return pd.DataFrame([dict(zip(self.HEAD, line, strict=True)) for line in self.lines()])


def lab(
    talks: Sequence[Talk],
    cells: Iterable[Cell],
    folder: Path | None = None,
    workers: int = 1,
    *,
    ask: Ask | None = None,
    llm: str = "",
    progress: Progress = lambda done, of: None,
    labels: str = "",
    wrong_labels: int | None = None,
) -> Lab:
    """Every cell over every conversation, by words alone.

    What `folder` holds is not worked out again; each part is kept as it is done, so a run that was cut off goes on.
    `workers` are processes; `ask` asks the model `llm` for the cells whose stubs one makes. Raises UnknownName for a
    boundary that is not there, RecordingError without a conversation, BadSetting for a cell that needs a model where
    none is given.
    """
    wanted = tuple(dict.fromkeys(cells))
    if not talks or not wanted:
        raise RecordingError("the lab needs a conversation with labelled questions, and a cell")
    for boundary in dict.fromkeys(cell.boundary for cell in wanted):
        boundaries.named((settings := Settings.of(boundary=boundary)).boundary, settings)
    needed = tuple(dict.fromkeys((*wanted, *(replace(c, eviction=ORACLE) for c in wanted))))
    of_kind: dict[str, list[Cell]] = {}
    for cell in needed:
        of_kind.setdefault(cell.boundary, []).append(cell)
    jobs = [_Job(n, each, tuple(kind), folder, llm) for n, each in enumerate(talks) for kind in of_kind.values()]
    found: dict[Cell, dict[int, list[Outcome]]] = {cell: {} for cell in needed}
    for done, (job, outcomes) in enumerate(_worked(jobs, workers, ask), 1):
        for cell, made in outcomes.items():
            found[cell][job.number] = made
        progress(done, len(jobs))
    every = {cell: tuple(o for n in range(len(talks)) for o in by[n]) for cell, by in found.items()}
    results = tuple(result(cell, every[cell], every[replace(cell, eviction=ORACLE)]) for cell in wanted)
    by_model = all(p.category == ASKED_BACK for each in talks for p in each.probes)
    return Lab(
        results, len(talks), round(_mean(sum(t.tokens for t in each.turns) for each in talks)),
        tuple(len(each.probes) for each in talks), labels or (MODEL if by_model else OWN), wrong_labels,
    )  # fmt: skip


def result(cell: Cell, outcomes: Sequence[Outcome], oracle: Sequence[Outcome]) -> Result:
    regret = sum(o.resident for o in oracle) - sum(o.resident for o in outcomes)
    return Result(cell, tuple(outcomes), regret)


@dataclass(frozen=True)
class _Job:
    """One conversation on pages of one kind."""

    number: int
    talk: Talk
    cells: tuple[Cell, ...]
    folder: Path | None
    llm: str

    @property
    def place(self) -> Path | None:
        """The file that keeps what came of it."""
        kind = hashlib.sha256(f"{self.cells[0].boundary} {_code()}".encode()).hexdigest()[:12]
        return self.folder / f"{self.talk.digest}-{kind}.json" if self.folder else None

    def key(self, cell: Cell) -> str:
        return json.dumps([asdict(cell), self.llm if cell.template else ""], sort_keys=True)

    def kept(self) -> dict[str, Any]:
        if not self.place or not self.place.exists():
            return {}
        try:
            return dict(json.loads(self.place.read_text("utf-8")))
        except ValueError as error:
            raise RecordingError(f"{self.place} holds no results of the lab ({error}); delete it") from None

    def lacking(self) -> tuple[Cell, ...]:
        kept = self.kept()
        return tuple(cell for cell in self.cells if self.key(cell) not in kept)


@cache
def _code() -> str:
    """Names what the cells are worked out by: what another version kept is worked out again."""
    sources = [Path(str(import_module(name).__file__)).read_bytes() for name in DECIDES]
    return hashlib.sha256(b"".join(sources)).hexdigest()


def _worked(jobs: Sequence[_Job], workers: int, ask: Ask | None) -> Iterator[tuple[_Job, dict[Cell, list[Outcome]]]]:
    """In any order. A model is asked by this process alone."""
    if workers < 2 or len(jobs) < 2:
        yield from ((job, _done(job, _by_model(job, ask))) for job in jobs)
        return
    with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(_done, job, _by_model(job, ask)): job for job in jobs}
        for each in as_completed(waiting):
            yield waiting[each], each.result()


def _by_model(job: _Job, ask: Ask | None) -> dict[tuple[str, str], Stubs]:
    """The stubs that a model makes for what is lacking, by generator and template."""
    wanted = {(c.recall, c.template): c for c in job.lacking() if c.template}
    if wanted and ask is None:
        raise BadSetting("stubs of llm and llm_batch are made by a model, and none is named")
    pages = paged(job.talk, job.cells[0].boundary) if wanted else []
    return {name: stubs_by_model(job.talk, pages, cell, ask) for name, cell in wanted.items() if ask}


def _done(job: _Job, by_model: Mapping[tuple[str, str], Stubs]) -> dict[Cell, list[Outcome]]:
    kept, lacking = job.kept(), job.lacking()
    if lacking:
        pages = paged(job.talk, job.cells[0].boundary)
        for asked in dict.fromkeys(cell.asked for cell in lacking):
            probes = (spread(job.talk) if asked == SPREAD else job.talk).probes
            by: dict[tuple[str, str], Ranks] = {}
            for cell in (c for c in lacking if c.asked == asked):
                name = (cell.recall, cell.template)
                if name not in by:
                    stubs = by_model.get(name)
                    by[name] = by_stubs(stubs, probes) if stubs else _ranks(job.talk, pages, probes, cell.recall)
                told = promised(job.talk, pages) if cell.eviction == promising.__name__ else NONE
                made = simulated(pages, probes, by[name], cell, told)
                kept[job.key(cell)] = [[getattr(o, f.name) for f in fields(Outcome)] for o in made]
        _keep(job.place, kept)
    return {cell: [_outcome(o) for o in kept[job.key(cell)]] for cell in job.cells}


def _keep(place: Path | None, kept: Mapping[str, Any]) -> None:
    """Whole or not at all, also where two runs write at once."""
    if place is None:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_suffix(f".{getpid()}.draft")
    draft.write_text(json.dumps(kept), "utf-8")
    draft.replace(place)


def _ranks(talk: Talk, pages: Sequence[Page], probes: Sequence[Probe], recall: str) -> Ranks:
    if recall == CONTENT:
        return by_content(indexed(talk, pages), probes, Weighing())
    return by_stubs(stubs_of(talk, pages, recall), probes)


def _outcome(kept: Sequence[Any]) -> Outcome:
    return Outcome(**dict(zip((f.name for f in fields(Outcome)), kept, strict=True)) | {"tokens": tuple(kept[5])})


def _line(r: Result) -> list[Any]:
    told = interval([o.right(1) for o in r.outcomes])
    return [
        r.cell.name, r.n, f"{r.end_to_end():.3f}", f"{told['low']:.2f} to {told['high']:.2f}",
        f"{r.end_to_end(3):.3f}", f"{r.end_to_end(5):.3f}", "–" if r.precision is None else f"{r.precision:.3f}",
        *r.split().values(), round(_mean(o.tokens[0] for o in r.outcomes)), r.regret,
    ]  # fmt: skip


def _share(values: Iterable[bool]) -> float:
    return _mean(map(float, values))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def interval(values: Sequence[bool]) -> dict[str, Any]:
    """Share, n, and where 95 of 100 bootstrap samples of the questions lie."""
    right = np.random.default_rng(1).binomial(len(values), _share(values), RESAMPLES) / len(values)
    low, high = np.quantile(right, [0.025, 0.975])
    return {"value": round(_share(values), 4), "low": round(float(low), 4), "high": round(float(high), 4),
            "n": len(values)}  # fmt: skip
