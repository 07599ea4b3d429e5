"""Who could have carried the expected words into a prompt, pages and facts, and at which stage each of them fell.

What the log says of the step counts; where nobody asked for a page, it is ranked now, by the same finder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memory.case import Case
from memory.events import Candidate, PageEvicted, PagePagedIn, PagesRecalled, PagesRetrieved, PlacedFact
from memory.facts import Fact
from memory.knowledge import Change, Knowledge
from memory.pages import PART, SUMMARY, Page
from memory.recollect import recollect
from memory.retrieval import Hit, Ranking
from memory.turns import Turn

# What must go right, in this order.
STAGES = ("written", "indexed", "scope", "ranked", "budget", "superseded", "prompt")


@dataclass(frozen=True, slots=True)
class Carrier:
    name: str  # p9, f24
    turn: int  # the last one that says so; 0: none of this conversation
    said: str  # the very words
    stage: str = "prompt"  # at which it fell; prompt: it got there
    why: str = ""
    page: int = 0
    fact: int = 0
    by: str = ""  # of a page: who says so
    score: float = 0.0
    rank: int = 0  # among all that were compared; 0: it was not
    of: int = 0
    below: float = 0.0  # by so much it missed the threshold
    change: int = 0  # of the user's memory that took a fact away
    text: int = 0  # id of the words
    start: int = 0
    end: int = 0


def carriers(case: Case) -> list[Carrier]:
    """Those of the furthest stage first, then the newest."""
    found = [*_pages(case), *_facts(case)]
    return sorted(found, key=lambda c: (-STAGES.index(c.stage), -c.turn, c.name))


# ── pages ─────────────────────────────────────────────────────────────────────────────────────────────


def turns_with(case: Case) -> list[tuple[Page, Turn]]:
    """Turns before the step that hold the words; a message that was cut, by the piece that has them."""
    found: list[tuple[Page, Turn]] = []
    for page in case.before.pages.values():
        found += [(page, turn) for turn in page.turns if case.expected.held(turn.words(case.words))]
    return found


def _pages(case: Case) -> Iterator[Carrier]:
    by_page: dict[int, tuple[Page, Turn]] = {page.number: (page, turn) for page, turn in turns_with(case)}
    own_words_first = {page.number: (page, turn) for page, turn in turns_with(case) if turn.role == "user"}
    asked = _Asked(case) if by_page else None
    for page, turn in {**by_page, **own_words_first}.values():
        said = turn.words(case.words)
        start, end = case.expected.span(said)
        made = Carrier(
            page.name, turn.number, said[start:end], page=page.number, by=turn.role, text=turn.text,
            start=turn.start + start, end=turn.start + end,
        )  # fmt: skip
        assert asked is not None
        yield asked.judged(made, page)


def _left_out(came: PagePagedIn, turn: int) -> str:
    """Why this turn of a page that came back did not; "" if it did."""
    first, last = came.part
    if came.level == PART and not first <= turn <= last:
        return f"only turns {first}-{last} of it came back: the whole page had no room"
    return "only its summary came back, without these words" if came.level == SUMMARY else ""


class _Asked:
    """What the step asked of the pages that had left the window, and what it heard."""

    def __init__(self, case: Case) -> None:
        self.case, self.step = case, case.step
        self.searches = self.step.all(PagesRetrieved)
        self.recalls = self.step.all(PagesRecalled)
        self.came = {b.page: b for b in self.step.all(PagePagedIn)}

    def judged(self, carrier: Carrier, page: Page) -> Carrier:
        number = page.number
        if number in self.case.before.resident and number not in _left(self.case):
            return carrier
        if number in self.came:
            missing = _left_out(self.came[number], carrier.turn)
            return replace(carrier, stage="budget", why=missing) if missing else carrier
        refused = [r.reason for b in self.recalls for r in b.refused if r.ref == page.name]
        if refused:
            return replace(carrier, stage="budget", why=refused[-1])
        for search in reversed(self.searches):
            return self._by_search(carrier, search)
        return self._unasked(carrier)

    def _by_search(self, carrier: Carrier, search: PagesRetrieved) -> Carrier:
        numbers = [c.page for c in search.candidates]
        of = search.stages.get("scope", len(numbers))
        if carrier.page in search.chosen:
            most = self.case.before.settings.page_ins
            told = f"it was chosen and did not come: no room, or more than page_ins={most} in this step"
            return replace(carrier, stage="budget", why=told)
        if carrier.page not in numbers:
            return replace(carrier, stage="ranked", why=f"it was not among the nearest {len(numbers)} of {of}", of=of)
        found = search.candidates[numbers.index(carrier.page)]
        rank = numbers.index(carrier.page) + 1
        return _fell(carrier, found, rank, of, search.thresholds)

    def _unasked(self, carrier: Carrier) -> Carrier:
        ranking = full_ranking(self.case)
        if ranking is None:
            return replace(carrier, stage="ranked", why="nobody asked for it")
        ranked = [*ranking.hits, *ranking.misses]
        hit = next((hit for hit in ranked if hit.page == carrier.page), None)
        s = self.case.before.settings
        told = f"it had left the window and nobody asked for it (retrieve_k={s.retrieve_k})"
        if hit is None:
            return replace(carrier, stage="ranked", why=told)
        rank, of = ranked.index(hit) + 1, len(ranked)
        if hit.dropped:
            made = _fell(carrier, _candidate(hit), rank, of, dict(ranking.thresholds))
            return replace(made, why=f"{told}; a recall with its message would not bring it: {hit.dropped}")
        come = "would bring it" if rank <= s.recall_k else f"would not bring it, for {s.recall_k} come (recall_k)"
        told = f"{told}; a recall with its message ranks it {rank} of {of} and {come}"
        return replace(carrier, stage="ranked", why=told, score=hit.score, rank=rank, of=of)


def _left(case: Case) -> set[int]:
    """Pages that left in the step itself, to make room."""
    return {b.page for b in case.step.all(PageEvicted)}


def gone(case: Case) -> list[int]:
    """Pages that were not in the window when the step asked."""
    stayed = set(case.before.resident) - _left(case)
    return [number for number in case.before.pages if number not in stayed]


def full_ranking(case: Case, **settings: float) -> Ranking | None:
    """All that had left the window against the message, ranked now; None where none had."""
    among = gone(case)
    if not among:
        return None
    rehearsal = case.rehearsal
    return rehearsal.finder.rank(rehearsal.message, len(among), case.before.settings.but(**settings), among=among)


def _candidate(hit: Hit) -> Candidate:
    return Candidate(hit.page, hit.score, hit.dropped, hit.turn, hit.stage, hit.raw, hit.shares)


def _fell(carrier: Carrier, found: Candidate, rank: int, of: int, thresholds: dict[str, float]) -> Carrier:
    below = missed(thresholds) if found.stage == "threshold" else 0.0
    return replace(
        carrier, stage="ranked", why=found.dropped or "it was not chosen", score=found.score,
        rank=0 if found.stage == "threshold" else rank, of=of, below=below,
    )  # fmt: skip


def missed(thresholds: dict[str, float]) -> float:
    """By how much the question missed the nearer of the two limits; either would have done."""
    pairs = (("min_coverage_idf_share", "best_coverage_idf_share"), ("min_margin_way_to_1", "best_margin_way_to_1"))
    gaps = [thresholds[least] - thresholds[best] for least, best in pairs if best in thresholds]
    return round(max(0.0, min(gaps, default=0.0)), 4)


# ── facts ─────────────────────────────────────────────────────────────────────────────────────────────


def facts_with(case: Case, k: Knowledge | None = None) -> list[Fact]:
    """Facts whose words hold what is expected: the entry, with its attribute and value."""
    known = (k or case.knowledge).facts.values()
    return [fact for fact in known if case.expected.held(said_of(case, fact))]


def said_of(case: Case, fact: Fact) -> str:
    parts = (case.texts.get(number, "") for number in (fact.text, fact.attribute, fact.value) if number)
    return " · ".join(filter(None, parts))


def _facts(case: Case) -> Iterator[Carrier]:
    placed = {each.fact: each for each in case.step.placed.facts} if case.step.placed else {}
    for fact in facts_with(case):
        mine = [s for s in fact.sources if s.conversation == case.scope.conversation]
        last = max(mine, key=lambda s: s.turn, default=None)
        made = Carrier(
            fact.name, last.turn if last else 0, case.texts.get(fact.text, ""), fact=fact.id, text=fact.text,
            start=last.start if last else 0, end=last.end if last else 0,
        )  # fmt: skip
        yield _judged(case, made, fact, placed.get(fact.id))


def _judged(case: Case, carrier: Carrier, fact: Fact, placed: PlacedFact | None) -> Carrier:
    if case.off:
        return replace(carrier, stage="scope", why=case.off)
    if not fact.readable_in(case.scope.conversation):
        return replace(carrier, stage="scope", why=f"a working fact of {fact.conversation!r}, which no other may read")
    if not fact.lasts(case.now):
        change = changed_by(case.knowledge, fact)
        told = f"{fact.state}: {fact.why}" if fact.why else fact.state
        by = f" (change {change.number}, {change.cause} by {change.decided_by})" if change else ""
        return replace(carrier, stage="superseded", why=told + by, change=change.number if change else 0)
    if placed is None:
        return _unplaced(case, carrier, fact)
    if not placed.stage:
        return replace(carrier, score=placed.score)
    if placed.stage == "window":
        return replace(carrier, why=placed.dropped, score=placed.score)
    if placed.stage == "budget":
        return replace(carrier, stage="budget", why=placed.dropped, score=placed.score)
    return _by_score(case, replace(carrier, stage="ranked", why=placed.dropped, score=placed.score))


def _unplaced(case: Case, carrier: Carrier, fact: Fact) -> Carrier:
    share = sum(case.rehearsal.facts.coverage(case.knowledge, case.question).get(fact.id, {}).values())
    told = "it shares no word with the message" if not share else "it was not considered"
    return _by_score(case, replace(carrier, stage="ranked", why=told))


def _by_score(case: Case, carrier: Carrier) -> Carrier:
    """Its rank and how far it is below the threshold, by ranking all facts now."""
    ranked = fact_ranking(case, case.knowledge)
    place = next((n for n, hit in enumerate(ranked, 1) if hit.page == carrier.fact), 0)
    if not place:
        return replace(carrier, of=len(ranked))
    hit = ranked[place - 1]
    gap = case.before.settings.facts_coverage - hit.raw[0]
    return replace(carrier, score=hit.score, rank=place, of=len(ranked), below=round(max(0.0, gap), 4))


def fact_ranking(case: Case, k: Knowledge) -> list[Hit]:
    """Every fact that has anything of the message, best first."""
    s = case.before.settings
    found = recollect(
        case.rehearsal.facts, k, case.question, len(k.facts), s.but(facts_coverage=0), now=case.now,
        conversation=case.scope.conversation,
    )  # fmt: skip
    return list(found.hits)


def changed_by(k: Knowledge, fact: Fact) -> Change | None:
    """The last standing change that took it away."""
    standing = [c for c in k.changes.values() if not c.undone_by]
    took = (c for c in standing if any(t.fact == fact.id and not t.new for t in c.touched))
    return max(took, key=lambda c: c.number, default=None)
