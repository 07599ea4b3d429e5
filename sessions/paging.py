"""Demand paging of a recorded conversation, simulated: which page is there when something is asked, and which comes.

A cell is one choice: boundary, eviction, what a recall goes by, budget. A conversation is cut into pages, they come
and leave as under demand paging, and each labelled question is asked once of what is resident then. What is not
resident is recalled: the pages outside are ranked for the question, and the first that fit come for that question
alone (arXiv 2604.12376, withdrawn). No model is asked; whether one would recall at all is not measured here, nor is
what it would answer. The engine itself is replayed by replay.py: this is its paging alone, so that hundreds of cells
take seconds (lab.py). Words are as rare as in the whole conversation, pages that come later do not compete.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory import bookmarks, boundaries, templates, tokens
from memory.errors import BadSetting, RecordingError, UnknownName
from memory.eviction import EVICTION, NONE, Figures, Score, belady, promising, ranked
from memory.exchanges import Line
from memory.keywords import Ask, Improved, improve_bookmarks
from memory.lexical import TextIndex
from memory.pages import PART_TOKENS, Page, turns_between
from memory.parts import part_of
from memory.retrieval import Compared, Index, Weighing, fusion
from memory.settings import Settings
from memory.turns import MESSAGE_TOKENS, Turn
from sessions.questions import Pinned
from sessions.recording import Recording
from sessions.thresholds import LABEL, PINNED, RECALL, posed

Ranks = Callable[[int], Sequence[int]]  # by question, from 0: pages, the best first
Worth = Callable[[int, int], Mapping[int, float]]  # by question and page: how well each turn answers it
Stubs = Mapping[int, str]  # by page

ORACLE = "oracle"
CONTENT = "content"  # a recall by what stands on the pages
PAGES_SHARE = 0.85  # of a token budget; the stubs have the rest, as in the engine
RECALLS = (1, 3, 5)
MESSAGELESS = tuple(name for name in EVICTION if name not in ("relevance", "cooperative"))  # these need a message
MODELLESS = tuple(name for name in bookmarks.BOOKMARKS if name not in bookmarks.BY_MODEL)
BATCH = 5  # pages a model names at once
MESSAGE, ASKED_BACK = "message", "recall"  # categories of what is asked on the way
END, SPREAD = "end", "spread"


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
    parts: bool = True  # by content: of a page that does not fit whole the part that does comes, as in the engine

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
        whole = "" if self.parts else " · whole pages"
        return f"{self.boundary} · {self.eviction} · {recall} · {room}{whole}"


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
    fitting: int  # how many of the pages outside fit, in that order, up to five; the last of them perhaps in part
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


def paged(talk: Talk, boundary: str, meaning: boundaries.Meaning = boundaries.no_meaning) -> list[Page]:
    """The pages that a boundary makes of it; none is capped, for a budget is what the cells differ in."""
    settings = Settings.of(boundary=boundary)
    rules = boundaries.named(settings.boundary, settings, meaning)
    texts = {line.turn: line.text for line in talk.lines}
    groups: list[list[Turn]] = []
    for turn in talk.turns:
        if not groups or boundaries.closing_rule(groups[-1], turn, rules, 10**9, texts.__getitem__):
            groups.append([])
        groups[-1].append(turn)
    return [Page(n, tuple(group), sum(t.tokens for t in group), closed=True) for n, group in enumerate(groups, 1)]


# ── one cell ──────────────────────────────────────────────────────────────────────────────────────────


def simulated(
    pages: Sequence[Page], probes: Sequence[Probe], ranks: Ranks, cell: Cell, promise: Figures = NONE,
    worth: Worth | None = None,
) -> list[Outcome]:  # fmt: skip
    """Each question's outcome. Probes are in the order of `at`; `ranks` orders all pages for each of them.

    `promise`: what `promising` is told of each page (`promised`). `worth`: which part of a page comes that does not
    fit whole; None: no part does.
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
        limit = 10**9 if cell.pages else room
        part = partial(worth, nth) if worth and cell.parts else None
        outcomes.append(_asked(probes[nth], gold[nth], resident, said, ranks(nth), limit, part))
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
    room: float, worth: Callable[[int], Mapping[int, float]] | None = None,
) -> Outcome:  # fmt: skip
    pages = {p.number: p for p in said}
    outside = [n for n in order if n in pages and n not in resident]
    here = bool(gold & set(resident))
    taken = list(accumulate(pages[n].tokens for n in outside[: max(RECALLS)]))
    fitting = sum(total <= room for total in taken)
    right = [number in gold for number in outside]
    if worth and not here and fitting < len(taken):
        page, left = pages[outside[fitting]], room - (taken[fitting - 1] if fitting else 0)
        part = _part(page, left, worth(page.number))
        if part:
            right[fitting] = any(turn.number in probe.evidence for turn in part)
            taken[fitting] = int(room - left) + _tokens(part)
            fitting += 1
    place = 0 if here else next((n for n, each in enumerate(right, 1) if each), 0)
    spent = tuple(0 if here or not min(k, fitting) else taken[min(k, fitting) - 1] for k in RECALLS)
    return Outcome(probe.category, here, gold <= set(resident), place, fitting, spent, len(outside))


def _part(page: Page, room: float, worth: Mapping[int, float]) -> Sequence[Turn]:
    """The turns that come of a page that does not fit whole."""
    span = part_of(page.turns, worth, lambda turns: _tokens(turns) <= room)
    return turns_between(page.turns, span) if span else ()


def _tokens(part: Sequence[Turn]) -> int:
    return sum(turn.tokens for turn in part) + PART_TOKENS


# ── what a recall goes by ─────────────────────────────────────────────────────────────────────────────


def by_content(index: Index, probes: Sequence[Probe], weighing: Weighing, vectors: Sequence[Any] = ()) -> Ranks:
    """Pages as the engine ranks them, nothing turned away."""

    @cache
    def ranks(nth: int) -> tuple[int, ...]:
        seen = Compared(index, probes[nth].question, vectors[nth] if vectors else None)
        return _ordered(seen.pages, fusion(seen, weighing).totals)

    return ranks


def worth_of(index: Index, probes: Sequence[Probe], vectors: Sequence[Any] = ()) -> Worth:
    """How well the turns of a page answer a question, as the engine sees it."""

    def worth(nth: int, page: int) -> Mapping[int, float]:
        return index.turns_on(page, probes[nth].question, vectors[nth] if vectors else None)

    return worth


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
