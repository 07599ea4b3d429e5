"""Paging policies side by side on recorded conversations, at equal token budgets; or, as an option, at k pages.

Every cell of a grid over every conversation: worked out once, kept by what it was made of, in as many processes as
asked for. Only a cell whose stubs a model names needs one: who asks for it passes `ask`. Not here: what happens in a
cell (paging.py), and what it came to (lab_results.py).

    cells = grid(boundaries=("fixed_10", "fixed_20"), evictions=("lru", "oracle"), budgets=(2_000, 4_000))
    print(lab([talk_of(recording)], cells).best.cell.name)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from importlib import import_module
from itertools import product
from multiprocessing import get_context
from os import getpid
from pathlib import Path
from typing import Any

from memory import bookmarks, boundaries
from memory.errors import BadSetting, RecordingError
from memory.eviction import NONE, promising
from memory.keywords import Ask
from memory.pages import Page
from memory.retrieval import Index, Weighing
from memory.settings import Settings
from sessions.honesty import MODEL, OWN
from sessions.lab_results import Lab, mean, result
from sessions.meaning import Meanings, Means, by_default, goes_by_meaning
from sessions.paging import (
    ASKED_BACK,
    CONTENT,
    END,
    ORACLE,
    SPREAD,
    Cell,
    Outcome,
    Probe,
    Ranks,
    Stubs,
    Talk,
    by_content,
    by_stubs,
    indexed,
    paged,
    promised,
    simulated,
    spread,
    stubs_by_model,
    stubs_of,
    worth_of,
)

Progress = Callable[[int, int], None]  # parts that are done, of how many

DECIDES = (
    "memory.boundaries",
    "memory.eviction",
    "memory.bookmarks",
    "memory.retrieval",
    "memory.lexical",
    "memory.language",
    "memory.parts",
    "memory.tokens",
    "sessions.paging",
    "sessions.lab",
)  # what a kept cell was worked out by


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


def lab(
    talks: Sequence[Talk],
    cells: Iterable[Cell],
    folder: Path | None = None,
    workers: int = 1,
    *,
    ask: Ask | None = None,
    llm: str = "",
    progress: Progress = lambda done, of: None,
    meaning: Means = by_default,
    labels: str = "",
    wrong_labels: int | None = None,
) -> Lab:
    """Every cell over every conversation, by words alone.

    What `folder` holds is not worked out again; each part is kept as it is done, so a run that was cut off goes on.
    `workers` are processes; `ask` asks the model `llm` for the cells whose stubs one makes; `meaning` embeds messages
    where a boundary goes by it: by_store(store) by the vectors that a store keeps. Raises UnknownName for a
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
    means = meaning() if any(map(goes_by_meaning, of_kind)) else None
    jobs = [
        _job(_Job(n, each, tuple(kind), folder, llm), means if goes_by_meaning(boundary) else None)
        for n, each in enumerate(talks) for boundary, kind in of_kind.items()
    ]  # fmt: skip
    found: dict[Cell, dict[int, list[Outcome]]] = {cell: {} for cell in needed}
    for done, (job, outcomes) in enumerate(_worked(jobs, workers, ask), 1):
        for cell, made in outcomes.items():
            found[cell][job.number] = made
        progress(done, len(jobs))
    every = {cell: tuple(o for n in range(len(talks)) for o in by[n]) for cell, by in found.items()}
    results = tuple(result(cell, every[cell], every[replace(cell, eviction=ORACLE)]) for cell in wanted)
    by_model = all(p.category == ASKED_BACK for each in talks for p in each.probes)
    return Lab(
        results, len(talks), round(mean(sum(t.tokens for t in each.turns) for each in talks)),
        tuple(len(each.probes) for each in talks), labels or (MODEL if by_model else OWN), wrong_labels,
    )  # fmt: skip


@dataclass(frozen=True)
class _Job:
    """One conversation on pages of one kind."""

    number: int
    talk: Talk
    cells: tuple[Cell, ...]
    folder: Path | None
    llm: str
    by: str = ""  # whose vectors say where its pages close
    cut: tuple[Page, ...] = ()  # the pages, where a process has no embedder to make them by

    @property
    def pages(self) -> Sequence[Page]:
        return self.cut or paged(self.talk, self.cells[0].boundary)

    @property
    def place(self) -> Path | None:
        """The file that keeps what came of it."""
        kind = hashlib.sha256(f"{self.cells[0].boundary} {_code()}{self.by}".encode()).hexdigest()[:12]
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


def _job(job: _Job, means: Meanings | None) -> _Job:
    """With pages that only vectors tell where to cut, if any are lacking."""
    if means is None:
        return job
    named = replace(job, by=means.by)
    if not named.lacking():
        return named
    return replace(named, cut=tuple(paged(job.talk, job.cells[0].boundary, means.meaning)))


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
    pages = job.pages if wanted else []
    return {name: stubs_by_model(job.talk, pages, cell, ask) for name, cell in wanted.items() if ask}


def _done(job: _Job, by_model: Mapping[tuple[str, str], Stubs]) -> dict[Cell, list[Outcome]]:
    kept, lacking = job.kept(), job.lacking()
    if lacking:
        pages = job.pages
        index = indexed(job.talk, pages)
        for asked in dict.fromkeys(cell.asked for cell in lacking):
            probes = (spread(job.talk) if asked == SPREAD else job.talk).probes
            by: dict[tuple[str, str], Ranks] = {}
            for cell in (c for c in lacking if c.asked == asked):
                name = (cell.recall, cell.template)
                if name not in by:
                    stubs = by_model.get(name)
                    by[name] = by_stubs(stubs, probes) if stubs else _ranks(job.talk, pages, probes, cell.recall, index)
                told = promised(job.talk, pages) if cell.eviction == promising.__name__ else NONE
                worth = worth_of(index, probes) if cell.recall == CONTENT else None
                made = simulated(pages, probes, by[name], cell, told, worth)
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


def _ranks(talk: Talk, pages: Sequence[Page], probes: Sequence[Probe], recall: str, index: Index) -> Ranks:
    if recall == CONTENT:
        return by_content(index, probes, Weighing())
    return by_stubs(stubs_of(talk, pages, recall), probes)


def _outcome(kept: Sequence[Any]) -> Outcome:
    return Outcome(**dict(zip((f.name for f in fields(Outcome)), kept, strict=True)) | {"tokens": tuple(kept[5])})
