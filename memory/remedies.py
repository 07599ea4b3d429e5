"""What would have brought the words into the prompt: each change is tried by rehearsing the step with it.

Where to begin is worked out from scores and ranks; whether it helps is seen, never computed. Sizes order them: of a
setting, the share of its range that it moves; what a person would have to do counts a quarter and more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from math import floor
from typing import Any

from memory import amend
from memory.amend import Person
from memory.carriers import Carrier, fact_ranking, full_ranking, missed
from memory.case import Case
from memory.errors import BudgetTooSmall, NotFound, UndoRefused, UnknownName
from memory.events import Body
from memory.facts import Fact
from memory.knowledge import Knowledge
from memory.longterm import folded
from memory.reach import holding
from memory.recalls import Request
from memory.rehearsal import AS_IT_WAS, Changed
from memory.settings import Settings
from memory.steps import places

BY_NAME, KEYWORD, BY_PERSON = 0.25, 0.3, 0.5  # sizes of what no setting does
MOST_TRIED = 24
ROOMIER = (1.25, 1.5, 2.0, 4.0)  # windows
RANGES = {f.name: f.metadata["high"] - f.metadata["low"] for f in fields(Settings) if "low" in f.metadata}


@dataclass(frozen=True, slots=True)
class Remedy:
    change: str  # recall_k=4; recall p9 by name; undo of change 24
    size: float
    works: bool
    says: str  # where the words then stand, or why it does not help
    carrier: str = ""  # whom it helps
    settings: Mapping[str, Any] = field(default_factory=dict)  # where it is nothing but settings


@dataclass(frozen=True)
class _Try:
    change: str
    size: float
    changed: Changed
    carrier: str
    refused: str = ""  # why it cannot even be tried
    stubs: bool = False  # a bookmark that says so is enough


def remedies(case: Case, found: Iterable[Carrier]) -> list[Remedy]:
    """What was tried, the smallest first that works, then what does not."""
    tried = [_tried(case, each) for each in _all(case, found)[:MOST_TRIED]]
    return sorted(tried, key=lambda r: (not r.works, r.size))


def changed_by_name(case: Case, found: Iterable[Carrier], change: str) -> Changed:
    """What a remedy of this name changes; raises NotFound where nothing of that name is tried."""
    known = {each.change: each for each in _all(case, found)[:MOST_TRIED] if not each.refused}
    if change not in known:
        raise NotFound(f"no change {change!r} is tried here; there is: {', '.join(known) or 'none'}")
    return known[change].changed


def _all(case: Case, found: Iterable[Carrier]) -> list[_Try]:
    """The smallest first."""
    tries: dict[str, _Try] = {}
    for carrier in found:
        for each in _tries(case, carrier):
            if each.change:
                tries.setdefault(each.change, each)
    return sorted(tries.values(), key=lambda t: t.size)


def as_it_was(case: Case) -> bool:
    """Whether the step, rehearsed with nothing changed, has the words: the log says no, so something is newer now."""
    return _tried(case, _Try("", 0.0, AS_IT_WAS, "")).works


def _tried(case: Case, each: _Try) -> Remedy:
    if each.refused:
        return Remedy(each.change, each.size, works=False, says=each.refused, carrier=each.carrier)
    try:
        done = case.rehearsal.run(each.changed)
    except (BudgetTooSmall, UnknownName) as error:
        return Remedy(each.change, each.size, works=False, says=str(error), carrier=each.carrier)
    holds = holding(case.expected, done.words)
    stood = places(done.step, holds)
    told = ", ".join(dict.fromkeys(map(str, stood)))
    if not stood and each.stubs:
        told = _stub(done.step.prompts[-1].messages, holds)
    if not stood and case.recorded is not None and each.carrier.startswith("f"):
        told = told or _by_its_turn(each, done.step.placed)
    alone = not (each.changed.recalls or each.changed.keywords or each.changed.knowledge)
    settings = dict(each.changed.settings) if alone else {}
    return Remedy(each.change, each.size, bool(told), told or "the prompt would not hold it", each.carrier, settings)


def _stub(messages: Iterable[Any], holds: Callable[[int], bool]) -> str:
    """Where the bookmark stands in the prompt."""
    stubs = [part for row in messages if row[1] == "stubs" for part in row[6:]]
    return "its bookmark would say so" if any(map(holds, stubs)) else ""


def _by_its_turn(each: _Try, placed: Any) -> str:
    """A fact that needs no line of its own, for its turn stands in the window."""
    mine = [p for p in placed.facts if f"f{p.fact}" == each.carrier] if placed else []
    return "its own turn stands in the window" if mine and mine[0].stage == "window" else ""


# ── what to try ───────────────────────────────────────────────────────────────────────────────────────


def _tries(case: Case, carrier: Carrier) -> Iterator[_Try]:
    yield from (_for_page if carrier.page else _for_fact)(case, carrier)


def _set(case: Case, carrier: Carrier, changes: Mapping[str, Any], knowledge: Knowledge | None = None) -> _Try:
    s = case.before.settings
    names = {name: value for name, value in changes.items() if getattr(s, name) != value}
    size = sum(_moved(s, name, value) for name, value in names.items())
    told = ", ".join(f"{name}={value}" for name, value in names.items())
    return _Try(told, round(size, 4), Changed(settings=names, knowledge=knowledge), carrier.name)


def _moved(s: Settings, name: str, value: Any) -> float:
    return abs(float(value) - float(getattr(s, name))) / RANGES[name] if name in RANGES else 0.2


def lowered(limit: float) -> float:
    """Just below, to two places: what a person would set.

    >>> lowered(0.1634)
    0.16
    """
    return max(0.0, floor(limit * 100 + 1e-6) / 100)


def _for_page(case: Case, carrier: Carrier) -> Iterator[_Try]:
    if carrier.stage == "ranked":
        yield from _by_rank(case, carrier)
    if carrier.stage == "budget":
        yield from _by_room(case, carrier)
    by_name = Changed(recalls=(Request((carrier.name,), by="user"),))
    yield _Try(f"recall {carrier.name} by name", BY_NAME, by_name, carrier.name)
    keywords = (case.expected.words, *_keywords(case, carrier.page))
    told = f"keyword {case.expected.words!r} on {carrier.name}"
    yield _Try(told, KEYWORD, Changed(keywords=(carrier.page, keywords)), carrier.name, stubs=True)


def _keywords(case: Case, page: int) -> tuple[str, ...]:
    mark = case.before.pages[page].bookmark
    return tuple(case.words(mark.keywords).split(",")) if mark and mark.keywords else ()


def _by_rank(case: Case, carrier: Carrier) -> Iterator[_Try]:
    """More pages, lower limits, or both; for a recall that was made, else for a search that each message makes."""
    s = case.before.settings
    name = "recall_k" if any(r.question for r in case.recalls) else "retrieve_k"
    free = full_ranking(case, min_coverage=0.0, min_margin=0.0)
    ranked = [hit.page for hit in free.hits] if free else []
    if free and carrier.page not in ranked:  # a better one says nearly the same
        both = full_ranking(case, min_coverage=0.0, min_margin=0.0, duplicate_overlap=1.0)
        ranked = [hit.page for hit in both.hits] if both else []
        if carrier.page in ranked:
            yield _set(case, carrier, {"duplicate_overlap": 1.0, name: ranked.index(carrier.page) + 1})
        return
    place = ranked.index(carrier.page) + 1 if carrier.page in ranked else 0
    if not place or free is None:
        return
    wanted = {name: max(place, getattr(s, name))} | ({"page_ins": place} if place > s.page_ins else {})
    yield _set(case, carrier, wanted)
    if missed(dict(free.thresholds) | {"min_coverage_idf_share": s.min_coverage}) > 0 or carrier.below:
        for limit, best in (("min_coverage", "best_coverage_idf_share"), ("min_margin", "best_margin_way_to_1")):
            if best in free.thresholds:
                least = min(lowered(free.thresholds[best]), getattr(s, limit))
                yield _set(case, carrier, {limit: least})
                yield _set(case, carrier, {limit: least, **wanted})


def _by_room(case: Case, carrier: Carrier) -> Iterator[_Try]:
    s = case.before.settings
    for more in range(1, 6):
        yield _set(case, carrier, {"page_ins": s.page_ins + more})
    yield _set(case, carrier, {"recall_level": "text"})
    yield from (_set(case, carrier, {"window_tokens": int(s.window_tokens * by)}) for by in ROOMIER)


def _for_fact(case: Case, carrier: Carrier) -> Iterator[_Try]:
    s, k = case.before.settings, case.knowledge
    if carrier.stage == "scope":
        yield from _by_scope(case, carrier)
    elif carrier.stage == "ranked":
        yield from _by_score(case, carrier, k)
    elif carrier.stage == "budget":
        more = (50, 100, 200, 400, 800)
        yield from (_set(case, carrier, {"facts_tokens": s.facts_tokens + each}) for each in more)
        yield from (_set(case, carrier, {"window_tokens": int(s.window_tokens * by)}) for by in ROOMIER)
    elif carrier.stage == "superseded":
        yield from _by_person(case, carrier, k.facts[carrier.fact])


def _by_score(case: Case, carrier: Carrier, k: Knowledge, size: float = 0.0, act: str = "") -> Iterator[_Try]:
    """More facts, a lower limit, or both; after an `act` of a person, if there is one."""
    s = case.before.settings
    ranked = fact_ranking(case, k)
    place = next((n for n, hit in enumerate(ranked, 1) if hit.page == carrier.fact), 0)
    share = ranked[place - 1].raw[0] if place else 0.0
    wanted: list[dict[str, Any]] = [{"facts_k": max(place, s.facts_k)}] if place else []
    if place and share < s.facts_coverage:
        low = {"facts_coverage": lowered(share)}
        wanted = [low, low | {"facts_k": max(place, s.facts_k)}]
    for changes in wanted:
        each = _set(case, carrier, changes, k if act else None)
        if each.change:
            yield replace(each, change=f"{act}, {each.change}" if act else each.change, size=each.size + size)


def _by_scope(case: Case, carrier: Carrier) -> Iterator[_Try]:
    s, fact = case.before.settings, case.knowledge.facts[carrier.fact]
    if s.remember == "off":
        yield _set(case, carrier, {"remember": "rules"})
    elif not s.facts_tokens:
        yield _set(case, carrier, {"facts_tokens": Settings().facts_tokens})
    elif not fact.readable_in(case.scope.conversation):
        bodies = amend.weigh(case.knowledge, fact.id, _somebody(case), layer="semantic")
        yield _act(case, carrier, f"{fact.name} into the semantic layer", bodies)


def _by_person(case: Case, carrier: Carrier, fact: Fact) -> Iterator[_Try]:
    """What was taken away is believed again."""
    k, who = case.knowledge, _somebody(case)
    if carrier.change:
        told = f"undo of change {carrier.change}"
        try:
            bodies = amend.undo(k, carrier.change, who)
        except UndoRefused as error:
            yield _Try(told, BY_PERSON, AS_IT_WAS, carrier.name, refused=str(error))
        else:
            yield from _with_score(case, carrier, told, bodies)
    if fact.state in ("quarantined", "retracted", "superseded"):
        yield from _with_score(case, carrier, f"release of {fact.name}", amend.release(k, fact.id, who))


def _with_score(case: Case, carrier: Carrier, told: str, bodies: list[Body]) -> Iterator[_Try]:
    act = _act(case, carrier, told, bodies)
    yield act
    if act.changed.knowledge is not None:
        yield from _by_score(case, carrier, act.changed.knowledge, act.size, told)


def _act(case: Case, carrier: Carrier, told: str, bodies: list[Body]) -> _Try:
    size = BY_PERSON if told.startswith("undo") else BY_PERSON + 0.1
    return _Try(told, size, Changed(knowledge=folded(case.knowledge, bodies)), carrier.name)


def _somebody(case: Case) -> Person:
    return Person("user", case.now)
