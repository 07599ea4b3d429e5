"""How often a question finds its page in the window or by a recall: LoCoMo's labels, our paging, no model.

`paper`: k = 5 pages, fixed_10, LRU (arXiv 2604.12376, withdrawn), every question after the last turn, so that all
pages compete. "Right" is any page with evidence of the question; a recall is taken to fire whenever none is resident.
The weights of the ranker are chosen on nine conversations and used on the tenth. Figures carry their n; none is judged.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from memory.bookmarks import BOOKMARKS, Generator, askable
from memory.exchanges import Line, exchanges
from memory.models.embedding import named
from memory.pages import Page
from memory.retrieval import Compared, Index, Weighing, fusion
from sessions.askable_bench import asked_words, fitted
from sessions.bench import talk as made_up
from sessions.lab_results import RESAMPLES, Result, result
from sessions.paging import (
    CONTENT,
    END,
    MESSAGELESS,
    ORACLE,
    SPREAD,
    Cell,
    Outcome,
    Probe,
    Ranks,
    Talk,
    by_content,
    by_stubs,
    indexed,
    paged,
    promised,
    simulated,
    spread,
    stubs_of,
    talk,
    words_of,
    worth_of,
)
from sessions.retrieval_bench import WEIGHTS, Cache, read_talks
from sessions.retrieval_bench import Talk as Labelled

Say = Callable[[str], None]

PAPER = Cell(boundary="fixed_10", eviction="lru", pages=5)
SAMPLE, SEED = 80, 7  # questions of the paper's size
BUDGETS = (2_000, 4_000, 8_000)
PAGE_KINDS = ("fixed_5", "fixed_10", "fixed_20", "exchange_5")
PLAIN = ("fifo", "lru", "lfu")
MODELLESS = tuple(name for name in BOOKMARKS if not name.startswith("llm"))


@dataclass(frozen=True)
class Laid:
    """A conversation on pages of one kind, indexed."""

    talk: Talk
    pages: list[Page]
    index: Index


def paging_figures(locomo: Path, vectors: Path | None = None, progress: Say | None = None) -> dict[str, Any]:
    """`paper`, `equal_tokens`, `eviction_gap_closed`, `bookmark_hit_at_1`.

    `vectors` is a file that keeps the vectors between runs. Raises RecordingError for a file that is no LoCoMo.
    """
    say = progress or (lambda line: None)
    known = read_talks(locomo)
    raw = [_talk(each, n, each.evidence) for n, each in enumerate(known)]
    corrected = [_talk(each, n, each.corrected) for n, each in enumerate(known)]
    cache = Cache(named(), vectors, say)
    cache.embed((p.question for each in raw for p in each.probes), question=True)
    laid = {}
    for kind in PAGE_KINDS:
        say(f"{kind}: exchanges …")
        laid[kind] = [_laid(each, kind, cache) for each in raw]
    cache.save()
    say("weights, leaving one conversation out …")
    weights = _held_out(laid["fixed_10"], cache)
    say("the paper's protocol …")
    paper = _paper(laid["fixed_10"], raw, weights, cache)
    right = _paper(laid["fixed_10"], corrected, weights, cache)
    late = _paper(laid["fixed_10"], [spread(each) for each in raw], weights, cache, SPREAD)
    say("equal budgets …")
    return {
        "paper": {**paper, "corrected": right, "spread": late, "weights": [(w.vectors, w.mean) for w in weights]},
        "equal_tokens": _equal(laid, raw, weights, cache),
        "eviction_gap_closed": {"locomo": gaps(laid["fixed_10"]), "forward": gaps(forward())},
        "bookmark_hit_at_1": _bookmarks(laid["fixed_10"]),
    }


def paging_rows(figures: dict[str, Any]) -> list[list[object]]:
    """For a table: figure, value, n."""
    rows: list[list[object]] = []
    paper = figures["paper"]
    for name, part in (("", paper), (", corrected labels", paper["corrected"]), (", asked on the way", paper["spread"]),
                       (f", {SAMPLE} by seed", paper["sample"])):  # fmt: skip
        value = f"one page {part['end_to_end_1']:.3f}, three {part['end_to_end_3']:.3f}"
        rows.append([f"paper's protocol{name}", f"{value}, first page {part['precision']:.3f}", part["n"]])
    for cell in figures["equal_tokens"]:
        value = f"one page {cell['end_to_end_1']:.3f}, three {cell['end_to_end_3']:.3f}"
        whole = "" if cell["parts"] else ", whole pages"
        rows.append([f"{cell['budget']:,} tokens, {cell['boundary']}, {cell['eviction']}{whole}", value, cell["n"]])
    for name, found in figures["eviction_gap_closed"].items():
        for room, gap in found.items():
            for policy, closed in gap["closed"].items():
                rows.append([f"gap to the oracle closed, {name}, {room}, {policy}", f"{closed:+.3f}", gap["n"]])
    for name, value in figures["bookmark_hit_at_1"]["generators"].items():
        rows.append([f"right page by stubs alone, {name}", f"{value:.3f}", figures["bookmark_hit_at_1"]["n"]])
    return rows


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────────


def _talk(known: Labelled, n: int, labels: Sequence[frozenset[int]]) -> Talk:
    asked = zip(known.questions, known.categories, labels, strict=True)
    probes = tuple(Probe(question, category, turns, len(known.lines)) for question, category, turns in asked)
    return talk(f"locomo {n}", known.lines, probes)


def _laid(each: Talk, kind: str, cache: Cache) -> Laid:
    pages, lines = paged(each, kind), {line.turn: line for line in each.lines}
    index = indexed(each, pages)
    spoken = [(page.number, e) for page in pages for e in exchanges([lines[t.number] for t in page.turns])]
    cache.embed(e.text for _, e in spoken)
    for number, e in spoken:
        index.put(number, e.turn, cache.passage(e.text), e.part)
    return Laid(each, pages, index)


def _held_out(laid: Sequence[Laid], cache: Cache) -> list[Weighing]:
    """By conversation: the weights that bring most of the other nine's questions home, first and among three."""
    home = np.zeros((len(laid), len(WEIGHTS)))
    for n, each in enumerate(laid):
        page_of = {t.number: p.number for p in each.pages for t in p.turns}
        for probe in each.talk.probes:
            seen = Compared(each.index, probe.question, cache.question(probe.question))
            gold = {page_of[turn] for turn in probe.evidence}
            for at, (vectors, mean) in enumerate(WEIGHTS):
                totals = fusion(seen, Weighing(vectors=vectors, mean=mean)).totals
                best = seen.pages[np.lexsort((-seen.pages, -totals))[:3]].tolist()
                home[n, at] += (best[0] in gold) + bool(gold & set(best))
    return [Weighing(vectors=WEIGHTS[at][0], mean=WEIGHTS[at][1]) for at in (home.sum(axis=0) - home).argmax(axis=1)]


def _ranks(laid: Laid, probes: Sequence[Probe], weighing: Weighing, cache: Cache) -> Ranks:
    return by_content(laid.index, probes, weighing, [cache.question(p.question) for p in probes])


def _paper(
    laid: Sequence[Laid], talks: Sequence[Talk], weights: Sequence[Weighing], cache: Cache, asked: str = END
) -> dict[str, Any]:
    cell = replace(PAPER, asked=asked)
    outcomes: list[Outcome] = []
    for each, asks, weighing in zip(laid, talks, weights, strict=True):
        outcomes += simulated(each.pages, asks.probes, _ranks(each, asks.probes, weighing, cache), cell)
    few = random.Random(SEED).sample(outcomes, min(SAMPLE, len(outcomes)))
    return {**_told(Result(cell, tuple(outcomes))), "sample": _told(Result(cell, tuple(few)))}


def _told(found: Result) -> dict[str, Any]:
    told = found.to_dict()
    return {
        "end_to_end_1": told["end_to_end"]["1"]["value"], "end_to_end_3": told["end_to_end"]["3"]["value"],
        "precision": told["precision"], "n": found.n, "n_not_resident": found.faults, "whole_resident": told["whole"],
        "interval_1": [told["end_to_end"]["1"]["low"], told["end_to_end"]["1"]["high"]],
        "candidates": told["candidates"], "recalled_tokens": told["recalled_tokens"],
        "by_category": told["by_category"],
    }  # fmt: skip


def _equal(
    laid: dict[str, list[Laid]], talks: Sequence[Talk], weights: Sequence[Weighing], cache: Cache
) -> list[dict[str, Any]]:
    """Every kind of page under LRU and the oracle; the weights are those that fixed_10 chose. Under LRU with whole
    pages alone as well, where `parts` is false."""
    found = []
    for kind, every in laid.items():
        ranks = [_ranks(a, b.probes, w, cache) for a, b, w in zip(every, talks, weights, strict=True)]
        asked = [[cache.question(p.question) for p in b.probes] for b in talks]
        worths = [worth_of(a.index, b.probes, v) for a, b, v in zip(every, talks, asked, strict=True)]
        for budget in BUDGETS:
            by = {}
            for eviction, parts in (("lru", True), ("lru", False), (ORACLE, True)):
                cell = Cell(kind, eviction, CONTENT, budget, parts=parts)
                by[cell] = [
                    outcome
                    for laid_out, each, r, w in zip(every, talks, ranks, worths, strict=True)
                    for outcome in simulated(laid_out.pages, each.probes, r, cell, worth=w)
                ]
            for cell, outcomes in by.items():
                one = result(cell, outcomes, by[Cell(kind, ORACLE, CONTENT, budget)])
                told = {"budget": budget, "boundary": kind, "eviction": cell.eviction, "parts": cell.parts,
                        "regret": one.regret}  # fmt: skip
                found.append(told | {k: v for k, v in _told(one).items() if k != "by_category"})
    return found


def gaps(laid: Sequence[Laid]) -> dict[str, dict[str, Any]]:
    """By room: what each policy closes of the gap between the best plain one and the oracle, questions asked on the
    way; recalled pages leave again, so that residency is eviction's work alone."""
    found = {}
    for name, cell in {"k = 5": Cell(pages=5), **{f"{b:,} tokens": Cell(budget=b) for b in BUDGETS}}.items():
        hits = dict.fromkeys((*MESSAGELESS, ORACLE), 0)
        n = 0
        for each in laid:
            late = spread(each.talk) if each.talk.probes[0].at == each.talk.turns[-1].number else each.talk
            n += len(late.probes)
            told = promised(each.talk, each.pages)
            for policy in hits:
                own = replace(cell, eviction=policy, asked=SPREAD)
                made = simulated(each.pages, late.probes, lambda nth: (), own, told)
                hits[policy] += sum(o.resident for o in made)
        best = max(hits[policy] for policy in PLAIN)
        gap = hits[ORACLE] - best
        closed = {p: round((hits[p] - best) / gap, 4) if gap else 0.0 for p in MESSAGELESS if p not in PLAIN}
        found[name] = {"n": n, "hits": hits, "closed": closed}
    return found


def forward(conversations: int = 4, pages: int = 60, seed: int = 11) -> list[Laid]:
    """Made up, moving forward: three questions a page about what was said lately, one in seven about one old page."""
    found = []
    for n in range(conversations):
        draw = random.Random(f"{seed} {n}")
        lines = tuple(Line(t.number, t.role, t.text, "", t.said_at) for t in made_up(pages * 10, seed + n).turns)
        probes, themes = [], [draw.randrange(1, 100) for _ in range(3)]
        for at in range(10, pages * 10 + 1, 4):
            lag = min(at - 1, int(draw.expovariate(1 / 25)))
            old = [theme for theme in themes if theme < at]
            turn = draw.choice(old) if old and draw.random() < 1 / 7 else at - lag
            probes.append(Probe("", "made up", frozenset({turn}), at))
        each = talk(f"forward {n}", lines, tuple(probes))
        found.append(Laid(each, paged(each, "fixed_10"), Index()))
    return found


def _bookmarks(laid: Sequence[Laid]) -> dict[str, Any]:
    """How often the page that the stubs alone name first is right, every page known to the generator.

    `askable` has the weights of the other nine conversations each time; as it ships, with those of all: `in_sample`.
    """
    found = {name: [hit for each in laid for hit in _stub_hits(each, BOOKMARKS[name])] for name in MODELLESS}
    shipped, found["askable"] = found["askable"], askable_held_out(laid)
    generators = {name: round(float(np.mean(hits)), 4) for name, hits in found.items()}
    best, n = max(generators, key=generators.__getitem__), len(shipped)
    drawn = np.random.default_rng(1).binomial(n, generators[best], RESAMPLES) / n
    interval = [round(float(each), 4) for each in np.quantile(drawn, [0.025, 0.975])]
    return {"value": generators[best], "generator": best, "interval": interval, "n": n, "generators": generators,
            "in_sample": {"askable": round(float(np.mean(shipped)), 4)}}  # fmt: skip


def askable_held_out(laid: Sequence[Laid]) -> list[bool]:
    """By question: whether the stubs of `askable` name its page first, with the weights that the others teach."""
    parts = [asked_words(words_of(each.talk, each.pages), _about(each)) for each in laid]
    weights = [fitted(parts[:n] + parts[n + 1 :]) for n in range(len(parts))]
    return [
        hit for each, own in zip(laid, weights, strict=True) for hit in _stub_hits(each, partial(askable, weights=own))
    ]


def _about(each: Laid) -> list[tuple[str, frozenset[int]]]:
    """Its questions, with the pages that answer them."""
    page_of = {t.number: p.number for p in each.pages for t in p.turns}
    return [(probe.question, frozenset(page_of[turn] for turn in probe.evidence)) for probe in each.talk.probes]


def _stub_hits(each: Laid, generator: Generator) -> list[bool]:
    order = by_stubs(stubs_of(each.talk, each.pages, generator), each.talk.probes)
    return [order(nth)[0] in gold for nth, (_, gold) in enumerate(_about(each))]
