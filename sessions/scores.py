"""A scorecard of one run, counted from its log: each score a raw figure with its n and a mark from 1 to 5.

Every score is a sum over steps of what was counted against what there was to count, so a trend is the same sum over
some of the steps, and each mark opens the turns that it was counted from. Where there was nothing to count the score is
undefined and has no mark; a profile then weighs the others, and says how much of its weight was measured. The limits
of the marks are ours, to start from; the figures do not depend on them.

Not here: extraction against labels (extraction_bench.py), and questions with a known answer (pinned.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from memory import show
from memory.asked import LIGHT, asked_weights
from memory.errors import BadSetting, UnknownName
from memory.events import (
    FactsPlaced,
    MessageReceived,
    ModelCalled,
    PageEvicted,
    PagePagedIn,
    PagesRecalled,
    PagesUsed,
    RepliesCompared,
    ReplyRated,
)
from memory.exposure import UNMARKED
from memory.observed import Observed, observe
from memory.prompt import Message
from memory.scope import Scope
from memory.show import Shown, small
from memory.steps import READ, Step
from memory.stores.sql import Store
from sessions.honesty import BY_HAND, LIMITS, REPLY, Honesty, of_run

ALIKE = 0.6  # of the words of two questions, both taken together: the same is asked again
RARE = 200  # earlier questions that share a word, beyond which the word tells nothing
TURNS = 20  # of a stretch of the trend


@dataclass(frozen=True, slots=True)
class Kind:
    """What a score counts; `limits`: from here on the mark is 5, 4, 3, 2."""

    of: str
    unit: str  # ratio, steps
    limits: tuple[float, float, float, float] | None  # None: neither end is better
    says: str

    def mark(self, value: float | None) -> int | None:
        if value is None or self.limits is None:
            return None
        rises = self.limits[0] > self.limits[-1]
        reached = (value >= limit if rises else value <= limit for limit in self.limits)
        return next((5 - n for n, yes in enumerate(reached) if yes), 1)


SCORES: Mapping[str, Kind] = {
    "hits": Kind("demanded turns", "ratio", (0.9, 0.75, 0.6, 0.4),
                 "turns that a label or a recall asks for and that stood in the first prompt"),
    "precision": Kind("pages brought back in labelled steps", "ratio", (0.9, 0.75, 0.6, 0.4),
                      "of these, pages that hold a labelled turn"),
    "used": Kind("pages brought back", "ratio", (0.8, 0.6, 0.4, 0.2), "of these, pages whose words the reply took up"),
    "misuse": Kind("steps with a prompt", "ratio", (0.02, 0.05, 0.1, 0.25),
                   "of these, with an old value that nothing marks, or a recall that labels call wrong"),
    "timeliness": Kind("values that were replaced", "steps", (1, 2, 4, 8),
                       "steps from a change to its first use, the mean; those not used yet count until now"),
    "overhead": Kind("prompt tokens", "ratio", (0.15, 0.3, 0.45, 0.6),
                     "of these, facts, bookmarks, pages brought back, further rounds and memory work"),
    "utilisation": Kind("prompt tokens", "ratio", None, "of these, pages brought back"),
    "explained": Kind("decisions", "ratio", (0.99, 0.95, 0.85, 0.7),
                      "evictions, recalls and facts in prompts that name their cause, and facts their source"),
    "consistency": Kind("steps after a value was replaced", "ratio", (0.99, 0.95, 0.9, 0.75),
                        "of these, where no old value stood unmarked beside the new one or was replied"),
    "redundancy": Kind("questions of the user", "ratio", (0.02, 0.05, 0.1, 0.2), "of these, asked before alike"),
    "ratings": Kind("replies that were rated", "ratio", (0.9, 0.75, 0.6, 0.4), "of these, with a thumb up"),
    "preferred": Kind("blind choices between two replies", "ratio", (0.9, 0.7, 0.55, 0.4),
                      "of these, for the reply that had the memory; a choice of neither is none"),
}  # fmt: skip
PROFILES: Mapping[str, Mapping[str, float]] = {
    "knowledge base": {"hits": 3, "precision": 2, "explained": 3, "misuse": 1, "timeliness": 1, "overhead": 1},
    "support": {"misuse": 3, "timeliness": 3, "consistency": 2, "hits": 1, "redundancy": 1, "ratings": 1},
    "companion": {
        "consistency": 3,
        "ratings": 2,
        "redundancy": 2,
        "timeliness": 2,
        "preferred": 2,
        "used": 1,
        "hits": 1,
    },
    "writing": {"consistency": 3, "hits": 2, "overhead": 2, "used": 1, "explained": 1},
}


@dataclass(frozen=True, slots=True)
class Count:
    """What one step adds to a score."""

    step: int
    turn: int  # of its message
    at: datetime
    part: float
    whole: float
    says: str = ""  # why it counts against the score; "": it does not


@dataclass(frozen=True, slots=True)
class Score:
    name: str
    value: float | None  # None: there was nothing to count
    n: int  # of `of`
    of: str
    unit: str
    mark: int | None  # 1..5
    says: str
    counts: tuple[Count, ...]

    @property
    def against(self) -> tuple[Count, ...]:
        """Steps that count against it, the newest first."""
        return tuple(count for count in reversed(self.counts) if count.says)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some of the steps: so many turns, or a day."""

    name: str  # turns 1-20, 2026-03-02
    first: int  # turn
    last: int
    values: Mapping[str, float | None]
    ns: Mapping[str, int]


@dataclass(frozen=True)
class Scorecard(Shown):
    scope: Scope
    turns: int
    steps: int  # with a prompt
    profile: str
    scores: tuple[Score, ...]
    trend: tuple[Stretch, ...]
    honesty: Honesty

    def score(self, name: str) -> Score:
        return next(each for each in self.scores if each.name == name)

    @property
    def measured(self) -> float:
        """0..1: the share of the profile's weight whose scores are defined."""
        weights = PROFILES[self.profile]
        return sum(weights.get(s.name, 0) for s in self.scores if s.mark) / sum(weights.values())

    @property
    def overall(self) -> float | None:
        """1..5: the marks as the profile weighs them; None where none of them is defined."""
        weighed = [(s.mark, PROFILES[self.profile].get(s.name, 0)) for s in self.scores if s.mark]
        whole = sum(weight for _, weight in weighed)
        return round(sum(mark * weight for mark, weight in weighed) / whole, 2) if whole else None

    def course(self, name: str) -> list[float]:
        """The score over the stretches in which it is defined."""
        return [value for s in self.trend if (value := s.values[name]) is not None]

    @property
    def line(self) -> str:
        if self.overall is None:
            return f"nothing of what the profile {self.profile!r} weighs could be counted"
        return f"{self.overall:.2f} of 5 as {self.profile!r}; {self.measured:.0%} of its weight was measured"

    def __repr__(self) -> str:
        return f"<Scorecard of {self.scope}: {self.line}>"

    def rows(self) -> list[list[Any]]:
        """Score, mark, figure, n, what it is: for a table."""
        return [[s.name, s.mark or "–", figure(s), f"{s.n:,} {s.of}" if s.n else "–", s.says] for s in self.scores]

    def _html(self) -> str:
        head = show.rows(self.line, {"of": self.scope, "turns": self.turns, "steps": self.steps})
        table = show.table(["score", "mark", "figure", "n", "what it is"], self.rows())
        return head + table + show.rows("What this is worth", self.honesty.to_dict())

    def to_dict(self) -> dict[str, Any]:
        def told(score: Score) -> dict[str, Any]:
            found = asdict(score)
            del found["counts"]
            return found | {"against": [count.turn for count in score.against]}

        return {"scope": str(self.scope), "turns": self.turns, "steps": self.steps, "profile": self.profile,
                "overall": self.overall, "measured": round(self.measured, 3), "scores": [told(s) for s in self.scores],
                "trend": [asdict(s) for s in self.trend], "honesty": self.honesty.to_dict()}  # fmt: skip

    def to_df(self) -> Any:
        """One row a score."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["scores"])


def figure(score: Score) -> str:
    """As it is told: 83 %, 1.5 steps, undefined."""
    if score.value is None:
        return "undefined"
    return f"{score.value:.1%}" if score.unit == "ratio" else f"{score.value:.3g} {score.unit}"


def scorecard(
    store: Store, scope: Scope, turn: int | None = None, *, profile: str = "knowledge base", every: int | str = TURNS
) -> Scorecard:
    """Of the steps up to `turn` (None: all). `every`: turns of a stretch of the trend, or "day".

    Raises UnknownName for a profile, BadSetting, NotFound where nothing was said yet.
    """
    if profile not in PROFILES:
        raise UnknownName("profile", profile, PROFILES)
    if every != "day" and (not isinstance(every, int) or every < 1):
        raise BadSetting(f"a trend is per so many turns or per day, not per {every!r}")
    seen = observe(store, scope, turn)
    counts = {name: tuple(count(seen)) for name, count in COUNTING.items()}
    scores = tuple(_score(name, counts[name]) for name in SCORES)
    trend, worth = tuple(_trend(counts, every)), of_run(seen, LIMITS, REPLY)
    return Scorecard(scope, seen.state.turn, len(seen.asked), profile, scores, trend, worth)


def _score(name: str, counts: tuple[Count, ...]) -> Score:
    kind, (value, n) = SCORES[name], _summed(counts)
    return Score(name, value, n, kind.of, kind.unit, kind.mark(value), kind.says, counts)


def _summed(counts: Iterable[Count]) -> tuple[float | None, int]:
    part = whole = 0.0
    for count in counts:
        part, whole = part + count.part, whole + count.whole
    return (part / whole if whole else None), int(whole)


def _trend(counts: Mapping[str, Sequence[Count]], every: int | str) -> Iterator[Stretch]:
    groups: dict[Any, dict[str, list[Count]]] = defaultdict(lambda: defaultdict(list))
    for name, found in counts.items():
        for count in found:
            key = count.at.date() if every == "day" else (max(count.turn, 1) - 1) // int(every)
            groups[key][name].append(count)
    for key, group in sorted(groups.items()):
        turns = [count.turn for found in group.values() for count in found]
        first, last = min(turns), max(turns)
        if every != "day":
            first, last = key * int(every) + 1, (key + 1) * int(every)
        sums = {name: _summed(group[name]) for name in SCORES}
        name = key.isoformat() if every == "day" else f"turns {first}-{last}"
        yield Stretch(name, first, last, {n: v for n, (v, _) in sums.items()}, {n: k for n, (_, k) in sums.items()})


# ── what is counted ───────────────────────────────────────────────────────────────────────────────────


def _count(step: Step, part: float, whole: float, says: str = "") -> Count:
    return Count(step.number, step.turn, step.at, part, whole, says)


def _demanded(step: Step) -> set[int]:
    """Earlier turns that the step needed."""
    evidence = {turn for b in step.all(MessageReceived) for turn in b.evidence}
    asked = {turn for b in step.all(PagesRecalled) if b.by in BY_HAND for first, last in b.turns
             for turn in range(first, min(last, step.turn - 1) + 1)}  # fmt: skip
    return {turn for turn in evidence | asked if turn < step.turn}


def _hits(seen: Observed) -> Iterator[Count]:
    text_of = {turn.number: turn.text for page in seen.state.pages.values() for turn in page.turns}
    for step in seen.asked:
        wanted = _demanded(step)
        if wanted:
            read = read_first(step)
            missed = sorted(turn for turn in wanted if text_of.get(turn) not in read)
            says = f"not in the first prompt: turn {', '.join(map(str, missed[:8]))}" if missed else ""
            yield _count(step, len(wanted) - len(missed), len(wanted), says)


def read_first(step: Step) -> set[int]:
    """Ids of the words in the step's first prompt."""
    messages = (Message.of_row(row) for row in step.prompts[0].messages)
    return {part for message in messages if message.section in READ for part in message.parts}


def _precision(seen: Observed) -> Iterator[Count]:
    for step in seen.asked:
        evidence = {turn for b in step.all(MessageReceived) for turn in b.evidence}
        came = dict.fromkeys(b.page for b in step.all(PagePagedIn))
        if evidence and came:
            wrong = [page for page in came if not evidence & {turn.number for turn in seen.state.pages[page].turns}]
            yield _count(step, len(came) - len(wrong), len(came), _pages(wrong, "without a labelled turn"))


def _used(seen: Observed) -> Iterator[Count]:
    for step in seen.asked:
        came = dict.fromkeys(b.page for b in step.all(PagePagedIn))
        used = {candidate.page for b in step.all(PagesUsed) for candidate in b.pages}
        unused = [page for page in came if page not in used]
        if came:
            yield _count(step, len(came) - len(unused), len(came), _pages(unused, "not taken up"))


def _pages(numbers: Sequence[int], why: str) -> str:
    return f"{', '.join(f'p{n}' for n in numbers)}: {why}" if numbers else ""


def _misuse(seen: Observed) -> Iterator[Count]:
    old = {e.step: f"f{e.fact}, an old value, unmarked" for e in seen.stale.exposures if e.how == UNMARKED}
    for step in seen.asked:
        wrong = any(b.right is False for b in step.all(PagesRecalled))
        says = old.get(step.number, "") or ("the recall brought no labelled turn" if wrong else "")
        yield _count(step, bool(says), 1, says)


def _timeliness(seen: Observed) -> Iterator[Count]:
    by_turn = sorted(seen.asked, key=lambda step: step.turn)
    for fact in seen.stale.facts:
        over = fact.took_over if fact.lag_turns is not None else 0
        since = over - (fact.lag_turns or 0) if over else fact.told_at
        waited = [step for step in by_turn if since < step.turn and (not over or step.turn <= over)]
        if waited:
            late = f"f{fact.newer} took over after {len(waited)} steps" if over else f"f{fact.newer} did not take over"
            yield _count(waited[0], len(waited), 1, late if len(waited) > 1 or not over else "")


def _overhead(seen: Observed) -> Iterator[Count]:
    for step in seen.asked:
        first, *further = step.prompts
        own = sum(first.sections.get(name, 0) for name in ("facts", "stubs", "recalled"))
        rounds = sum(prompt.tokens for prompt in further)
        work = sum(b.prompt_tokens + b.completion_tokens for b in step.all(ModelCalled) if b.task != "reply")
        yield _count(step, own + rounds + work, first.tokens + rounds + work)


def _utilisation(seen: Observed) -> Iterator[Count]:
    for step in seen.asked:
        came = sum(prompt.sections.get("recalled", 0) for prompt in step.prompts)
        yield _count(step, came, sum(prompt.tokens for prompt in step.prompts))


def _explained(seen: Observed) -> Iterator[Count]:
    for step in seen.asked:
        told = [(f"the eviction of p{b.page}", bool(b.cause and (b.candidates or b.decided_by)))
                for b in step.all(PageEvicted)]  # fmt: skip
        told += [("a recall", bool(b.asked or b.question or b.turns)) for b in step.all(PagesRecalled)]
        told += [(f"f{fact.fact}", bool(fact.why) and _has_source(seen, fact.fact))
                 for b in step.all(FactsPlaced) for fact in b.facts if not fact.stage]  # fmt: skip
        dark = [name for name, yes in told if not yes]
        if told:
            yield _count(step, len(told) - len(dark), len(told), f"no cause or source: {dark[0]}" if dark else "")


def _has_source(seen: Observed, number: int) -> bool:
    fact = seen.knowledge.facts.get(number)
    return fact is not None and bool(fact.sources)


def _consistency(seen: Observed) -> Iterator[Count]:
    if not seen.stale.facts:
        return
    since = min(fact.told_at for fact in seen.stale.facts)
    alarms = {e.step: f"f{e.fact} unmarked beside f{e.newer[0]}" for e in seen.stale.alarms}
    replied = {turn: f"the reply says the old f{fact.fact}" for fact in seen.stale.facts for turn in fact.replied}
    for step in seen.asked:
        if step.turn > since:
            says = alarms.get(step.number, "") or replied.get(step.turn, "")
            yield _count(step, not says, 1, says)


def _redundancy(seen: Observed) -> Iterator[Count]:
    """Questions asked again; two are alike by the words that ask for something."""
    known: list[tuple[frozenset[str], int]] = []
    having: dict[str, list[int]] = defaultdict(list)
    for step in seen.steps:
        message = step.message
        said = seen.words.get(message.text, "") if message else ""
        if "?" not in said and "？" not in said:
            continue
        words = frozenset(word for word, weight in asked_weights(said).items() if weight > LIGHT)
        shared = Counter(nth for word in words if len(having[word]) <= RARE for nth in having[word])
        before = next((known[nth][1] for nth, both in shared.most_common(5)
                       if both / len(words | known[nth][0]) >= ALIKE), 0)  # fmt: skip
        yield _count(step, bool(before), 1, f"asked before, at turn {before}: {small(said, 60)}" if before else "")
        for word in words:
            having[word].append(len(known))
        known.append((words, step.turn))


def _ratings(seen: Observed) -> Iterator[Count]:
    last = ratings(seen.store, seen.scope, seen.version)
    for step in seen.steps:
        for turn in step.replies:
            if rating := last.get(turn.number, 0):
                yield _count(step, rating > 0, 1, "" if rating > 0 else f"turn {turn.number}: thumb down")


def _preferred(seen: Observed) -> Iterator[Count]:
    for event in seen.store.events(seen.scope, upto=seen.version, kinds=(RepliesCompared.__name__,)):
        body = event.body
        if isinstance(body, RepliesCompared) and body.chosen != "neither":
            is_ours, turn = body.chosen == "memory", max(seen.turn_of.get(event.step, 0), 1)
            yield Count(event.step, turn, event.at, is_ours, 1, "" if is_ours else "the plain window's was chosen")


def ratings(store: Store, scope: Scope, upto: int | None = None) -> dict[int, int]:
    """By turn of a reply: 1 or -1; what was taken back is not there."""
    last: dict[int, int] = {}
    for event in store.events(scope, upto=upto, kinds=(ReplyRated.__name__,)):
        if isinstance(event.body, ReplyRated):
            last[event.body.turn] = event.body.rating
    return {turn: rating for turn, rating in last.items() if rating}


COUNTING: Mapping[str, Callable[[Observed], Iterator[Count]]] = {
    "hits": _hits,
    "precision": _precision,
    "used": _used,
    "misuse": _misuse,
    "timeliness": _timeliness,
    "overhead": _overhead,
    "utilisation": _utilisation,
    "explained": _explained,
    "consistency": _consistency,
    "redundancy": _redundancy,
    "ratings": _ratings,
    "preferred": _preferred,
}
