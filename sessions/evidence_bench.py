"""Whether what answers a question is found, by labelled turns: BEAM's abilities, MemoryBank's probing questions.

Nothing is judged: a label names the turns that hold the answer, and a figure is the share of questions for which they
are among the first that the one ranker (memory/retrieval.py) brings. Counted are exchanges, a message with its reply,
ten of them, and pages of ten turns, three of them; `candidates` says out of how many. Words are compared, and vectors
as well where a file is given that keeps them. BEAM and MemoryBank are not part of this package.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.errors import RecordingError
from memory.exchanges import Line, exchanges
from memory.retrieval import Index, Weighing
from sessions.labels import read_evidence
from sessions.retrieval_bench import Cache

PAGE_TURNS = 10
EXCHANGES, PAGES = 10, 3  # looked at
TURNS = 40  # from which the first exchanges are taken: several turns may be of one
FILES = {"en": ("memory_bank_en.json", "probing_questions_en.jsonl"),
         "zh": ("memory_bank_cn.json", "probing_questions_cn.jsonl")}  # fmt: skip
OPEN = Weighing(min_coverage=0, min_margin=0)  # nothing is turned away
WORDS = Weighing(min_coverage=0, min_margin=0, vectors=0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the exchanges that hold its answer."""

    group: str  # BEAM's ability, MemoryBank's language
    question: str
    evidence: frozenset[int]
    first: frozenset[int] = frozenset()  # of a contradiction or update: one side, the original
    second: frozenset[int] = frozenset()  # the other side, what is new


@dataclass(frozen=True)
class Talk:
    lines: tuple[Line, ...]
    asked: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The first exchanges and pages that a question brought, each by its first turn or number."""

    asked: Asked
    exchanges: tuple[int, ...]
    pages: tuple[int, ...]
    candidates: int  # exchanges

    def has(self, wanted: Iterable[int]) -> bool:
        return any(each in self.exchanges for each in wanted)


# ── BEAM ──────────────────────────────────────────────────────────────────────────────────────────────


def beam_figures(folder: Path, cache: Cache | None = None) -> dict[str, Any]:
    """By ability: any and all of the labelled exchanges within the first ten, any page within the first three, with n.

    `contradiction`: both sides are there. `update`: what is new is there, and stands before what it replaced.
    """
    found: list[Found] = []
    for talk in _beam(folder):  # vectors of one take ten minutes to make: they are kept as soon as they are there
        made = cache.figures["texts"] if cache else 0
        found += _asked(talk, cache)
        if cache and cache.figures["texts"] > made:
            cache.save()
    abilities = {
        name: shares([each for each in found if each.asked.group == name])
        for name in dict.fromkeys(each.asked.group for each in found)
    }
    both = [f for f in found if f.asked.group == "contradiction_resolution"]
    new = [f for f in found if f.asked.group == "knowledge_update"]
    return {
        "abilities": abilities,
        "contradiction": {
            "both_at_10": _mean(f.has(f.asked.first) and f.has(f.asked.second) for f in both),
            "both_pages_at_3": _mean(_both_pages(f) for f in both),
            "n": len(both),
        },
        "update": {
            "new_at_10": _mean(f.has(f.asked.second) for f in new),
            "new_above_old": _mean(_above(f) for f in new),
            "n": len(new),
        },
    }


def _both_pages(found: Found) -> bool:
    return all(any(_page(turn) in found.pages for turn in side) for side in _sides(found.asked))


def _above(found: Found) -> bool:
    """What is new was brought, and what it replaced was not, or later."""
    place = {each: place for place, each in enumerate(found.exchanges)}
    new, old = (min((place[n] for n in side if n in place), default=len(place)) for side in _sides(found.asked))
    return new < old


def _sides(asked: Asked) -> tuple[frozenset[int], frozenset[int]]:
    return asked.second, asked.first


def _beam(folder: Path) -> Iterator[Talk]:
    files = sorted(folder.glob("*/chat.json"), key=lambda file: (len(file.parent.name), file.parent.name))
    if not files:
        raise RecordingError(f"{folder} holds no BEAM: a folder a conversation, each with chat.json, is expected")
    for file in files:
        batches = json.loads(file.read_text("utf-8"))
        said = [message for batch in batches for group in batch["turns"] for message in group]
        lines = tuple(Line(int(m["id"]) + 1, m["role"], m["content"]) for m in said)
        probing = json.loads(file.with_name("probing_questions.json").read_text("utf-8"))
        asked = (_labelled(ability, q) for ability, questions in probing.items() for q in questions)
        yield Talk(lines, tuple(each for each in asked if each.evidence))


def _labelled(ability: str, question: dict[str, Any]) -> Asked:
    held = question.get("source_chat_ids") or []
    sides = [frozenset(_turns(each)) for each in held.values()] if isinstance(held, dict) else []
    evidence = frozenset().union(*sides) if sides else frozenset(_turns(held))
    first, second = sides if len(sides) == 2 else (frozenset(), frozenset())
    return Asked(ability, question["question"], evidence, first, second)


def _turns(ids: Iterable[Any]) -> Iterator[int]:
    """The exchanges of BEAM's messages, which are numbered from 0, user and assistant in turn."""
    for each in ids:
        if isinstance(each, list):
            yield from _turns(each)
        else:
            yield _exchange(int(each) + 1)


# ── MemoryBank ────────────────────────────────────────────────────────────────────────────────────────


def memorybank_figures(folder: Path, cache: Cache | None = None) -> dict[str, Any]:
    """By language: the share of probing questions whose labelled exchange is found, with n.

    Questions whose answer the data does not hold are counted as `unanswerable` and left out of the shares.
    """
    figures: dict[str, Any] = {}
    for language in FILES:
        talks, left = _memorybank(folder, language)
        found = [each for talk in talks for each in _asked(talk, cache)]
        figures[language] = shares(found) | {"unanswerable": left}
    return figures


def _memorybank(folder: Path, language: str) -> tuple[list[Talk], int]:
    """A conversation a user, and how many questions have no answer in it."""
    talk, probing = (folder / name for name in FILES[language])
    try:
        people = {name.strip(): person for name, person in json.loads(talk.read_text("utf-8")).items()}
        rows = [json.loads(line) for line in probing.read_text("utf-8").splitlines() if line.strip()]
    except FileNotFoundError as error:
        raise RecordingError(f"{folder} does not hold MemoryBank: {error.filename} is missing") from error
    questions = {name.strip(): asked for row in rows for name, asked in row.items()}
    labels = [each for each in read_evidence() if each.language == language]
    talks = []
    for user in questions:
        lines, place = _days(people[user]["history"])
        own = [each for each in labels if each.user == user and each.exchanges]
        asked = (
            Asked(language, questions[user][e.question], frozenset(place[each] for each in e.exchanges)) for e in own
        )
        talks.append(Talk(lines, tuple(asked)))
    return talks, sum(not each.exchanges for each in labels)


def _days(history: dict[str, list[dict[str, str]]]) -> tuple[tuple[Line, ...], dict[tuple[str, int], int]]:
    """The lines in order, and by day and place in it the first turn of an exchange."""
    lines: list[Line] = []
    place: dict[tuple[str, int], int] = {}
    for day, said in history.items():
        at = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)
        for nth, exchange in enumerate(said):
            n = len(lines) + 1
            place[day, nth] = n
            lines += [
                Line(n, "user", exchange["query"], said_at=at),
                Line(n + 1, "assistant", exchange["response"], said_at=at),
            ]
    return tuple(lines), place


# ── asking ────────────────────────────────────────────────────────────────────────────────────────────


def shares(found: Sequence[Found]) -> dict[str, Any]:
    """`any_at_10` and `all_at_10` of the labelled exchanges, `page_at_1` and `page_at_3` of their pages, and n."""
    gold = [{_page(turn) for turn in each.asked.evidence} for each in found]
    return {
        "any_at_10": _mean(f.has(f.asked.evidence) for f in found),
        "all_at_10": _mean(f.asked.evidence <= set(f.exchanges) for f in found),
        "page_at_1": _mean(bool(g & set(f.pages[:1])) for g, f in zip(gold, found, strict=True)),
        "page_at_3": _mean(bool(g & set(f.pages)) for g, f in zip(gold, found, strict=True)),
        "n": len(found),
        "candidates": round(sum(f.candidates for f in found) / len(found)) if found else 0,
    }


def _asked(talk: Talk, cache: Cache | None) -> Iterator[Found]:
    index = _indexed(talk.lines, cache)
    weighing = OPEN if cache else WORDS
    if cache:
        cache.embed((each.question for each in talk.asked), question=True)
    for each in talk.asked:
        vector = cache.question(each.question) if cache else None
        near = dict.fromkeys(_exchange(hit.turn) for hit in index.turns(each.question, vector, TURNS))
        pages = tuple(index.rank(each.question, vector, PAGES, weighing=weighing).pages)
        yield Found(each, tuple(near)[:EXCHANGES], pages, (len(talk.lines) + 1) // 2)


def _indexed(lines: Sequence[Line], cache: Cache | None) -> Index:
    index = Index()
    for line in lines:
        index.add(_page(line.turn), line.turn, line.text, line.label)
    if cache is None:
        return index
    by_page: dict[int, list[Line]] = {}
    for line in lines:
        by_page.setdefault(_page(line.turn), []).append(line)
    made = [(page, each) for page, own in by_page.items() for each in exchanges(own)]
    cache.embed(each.text for _, each in made)
    for page, each in made:
        index.put(page, each.turn, cache.passage(each.text), each.part)
    return index


def _exchange(turn: int) -> int:
    """Its first turn: user and assistant speak in turn, the user first."""
    return turn - (turn + 1) % 2


def _page(turn: int) -> int:
    return (turn - 1) // PAGE_TURNS + 1


def _mean(values: Iterable[bool]) -> float | None:
    """None of nothing."""
    counted = list(values)
    return round(sum(counted) / len(counted), 4) if counted else None
