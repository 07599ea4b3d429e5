"""Why was it not recalled? Every stage between saying it and reading it, with its evidence, and what would help.

Written → indexed → in scope → ranked above the threshold and among the best k → within the budget → not superseded →
in the prompt, and used. The verdict names the stage at which the best of its carriers (a page, a fact) fell, and the
smallest change that brings it back: found by trying, not by a formula (remedies.py).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from memory import show
from memory.carriers import STAGES, Carrier, carriers, facts_with, said_of
from memory.case import Case, open_case
from memory.expected import looked_for
from memory.fact_events import Outcome, TurnRemembered
from memory.facts import Fact
from memory.finder import VectorSource, of_page
from memory.reach import holding
from memory.remedies import Remedy, as_it_was, remedies
from memory.scope import LIVE, RECORDED, Scope
from memory.show import Shown, small
from memory.steps import Place, places
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors

NEAREST = 0.3  # share of the words from which a turn is named as the nearest
TOLD = 8  # pieces of evidence a stage

ASKS = {
    "written": "was it written?",
    "indexed": "is it indexed?",
    "scope": "may this step read it?",
    "ranked": "did it score above the threshold, and rank among the best?",
    "budget": "was there room?",
    "superseded": "does it still hold?",
    "prompt": "was it in the prompt, and used?",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    says: str
    name: str = ""  # p9, f24, turn 84
    turn: int = 0
    score: float | None = None
    limit: float | None = None  # that the score was compared with
    text: int = 0  # id of the words, and the span that is meant
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    passed: bool | None  # None: it did not come so far
    says: str
    evidence: tuple[Evidence, ...] = ()

    @property
    def mark(self) -> str:
        return {True: "ok", False: "NO", None: "·"}[self.passed]


@dataclass(frozen=True)
class Verdict(Shown):
    """What became of the expected words on their way into one step's prompt."""

    expected: str
    question: str
    scope: Scope
    turn: int
    rehearsed: bool  # the question was put to no model: the step is as it would have been
    stage: str  # at which it fell; "": it was in the prompt and in the reply
    says: str
    stages: tuple[Stage, ...]
    carriers: tuple[Carrier, ...] = ()
    remedies: tuple[Remedy, ...] = ()  # tried, the smallest that works first
    note: str = ""

    @property
    def in_prompt(self) -> bool:
        return self.stage in ("", "prompt")

    @property
    def remedy(self) -> Remedy | None:
        """The smallest change that would have brought it."""
        return next((r for r in self.remedies if r.works), None)

    def __repr__(self) -> str:
        return f"<Verdict on {self.expected!r}: {self.line}>"

    @property
    def line(self) -> str:
        at = f" at turn {self.turn}"
        if self.in_prompt:
            return self.says + at
        if self.remedy:
            return f"{self.says}{at}; {self.remedy.change} would bring it back"
        tried = f"; none of {len(self.remedies)} changes tried would bring it back" if self.remedies else ""
        return f"{self.says}{at}{tried}"

    def stage_of(self, name: str) -> Stage:
        return next(stage for stage in self.stages if stage.name == name)

    def rows(self) -> list[list[str]]:
        """Stage, mark, what is said of it: for a table."""
        return [[stage.name, stage.mark, stage.says] for stage in self.stages]

    def _html(self) -> str:
        head = show.rows(self.line, {"expected": self.expected, "asked": small(self.question, 90), "of": self.scope})
        made = [[s.name, s.mark, s.says + "".join(f"\n· {e.says}" for e in s.evidence)] for s in self.stages]
        tried = [[r.change, "works" if r.works else "no", r.says] for r in self.remedies]
        note = f"<div style='opacity:.65'>{show.text(self.note)}</div>" if self.note else ""
        return head + show.table(["stage", "", "what was found"], made) + show.table(["tried", "", ""], tried) + note

    def to_dict(self) -> dict[str, Any]:
        best = self.remedy
        return {**asdict(self), "scope": str(self.scope), "line": self.line, "remedy": best.change if best else None}


def why(
    store: Store,
    scope: Scope,
    expected: str,
    question: str = "",
    turn: int | None = None,
    *,
    vectors: VectorSource | None = None,
) -> Verdict:
    """Why what holds the `expected` words was not before the model when it answered.

    Of the step of `turn` (None: the last one) and its message. With another `question`: as if that had come after
    this turn. `vectors` None: the store's own. Raises BadMessage for words that say nothing, NotFound.
    """
    return judged(open_case(store, scope, looked_for(expected), question, turn, vectors or StoredVectors(store)))


def judged(case: Case) -> Verdict:
    """The same of a case that is open already."""
    return _Look(case).verdict()


class _Look:
    """One case, stage by stage."""

    def __init__(self, case: Case) -> None:
        self.case = case

    @cached_property
    def carriers(self) -> list[Carrier]:
        return carriers(self.case)

    @cached_property
    def places(self) -> list[Place]:
        case = self.case
        if case.recorded is None:
            done = case.rehearsal.run()
            return places(done.step, holding(case.expected, done.words))
        return places(case.step, holding(case.expected, case.words))

    @cached_property
    def fell(self) -> str:
        """The stage at which the best carrier fell; "" if the words were read and said again."""
        if self.places or any(c.stage == "prompt" for c in self.carriers):
            return "" if self._reply_has_it() or self.case.recorded is None else "prompt"
        return self.carriers[0].stage if self.carriers else "written"

    def _reply_has_it(self) -> bool:
        return any(self.case.expected.held(turn.words(self.case.words)) for turn in self.case.step.replies)

    def verdict(self) -> Verdict:
        case, missing = self.case, bool(self.carriers) and self.fell not in ("", "prompt")
        tried = tuple(remedies(case, self.carriers[:TOLD])) if missing else ()
        newer = missing and case.recorded is not None and as_it_was(case)
        note = "rehearsed now it is there: vectors or words are newer than the step" if newer else ""
        stages = tuple(self._stage(name) for name in STAGES)
        return Verdict(
            case.expected.words, case.question, case.scope, case.turn, case.recorded is None, self.fell,
            self._headline(), stages, tuple(self.carriers), tried, note,
        )  # fmt: skip

    def _headline(self) -> str:
        if self.fell in ("", "prompt"):
            where = ", ".join(dict.fromkeys(map(str, self.places))) or self.carriers[0].why
            used = "" if self.case.recorded is None else (", and the reply has it" if not self.fell else ", and unused")
            return f"in the prompt: {where}{used}"
        if not self.carriers:
            return self._unwritten()
        best = self.carriers[0]
        return {
            "scope": f"{best.name} may not be read here: {best.why}",
            "ranked": _ranked(best),
            "budget": f"{best.name} was cut: {best.why}",
            "superseded": f"{best.name} holds no more: {best.why}",
        }[best.stage]

    # ── the stages ────────────────────────────────────────────────────────────────────────────────────

    def _stage(self, name: str) -> Stage:
        place, fell = STAGES.index(name), STAGES.index(self.fell) if self.fell else len(STAGES)
        passed = None if place > fell else place < fell
        says, evidence = getattr(self, f"_{name}")()
        return Stage(name, passed, says, tuple(evidence)[:TOLD])

    def _written(self) -> tuple[str, list[Evidence]]:
        turns = [c for c in self.carriers if c.page]
        facts = [c for c in self.carriers if c.fact]
        if not self.carriers:
            return self._unwritten(), self._elsewhere()
        last = max(turns, key=lambda c: c.turn, default=None)
        told = [f"last said at turn {last.turn}, on {last.name}, by the {last.by}"] if last else []
        told += [f"remembered as {', '.join(c.name for c in facts)}"] if facts else ["no fact was made of it"]
        return "; ".join(told), [*self._ledger(), *map(_said, self.carriers)]

    def _ledger(self) -> list[Evidence]:
        """What was made of the last turn in which the user said so: the extractor's input and output."""
        said = [c for c in self.carriers if c.page and c.by == "user"]
        if not said:
            return []
        last = max(said, key=lambda c: c.turn)
        case = self.case
        records = case.store.ledger(case.scope.user, case.scope.conversation, last.turn, last.turn)
        name = f"turn {last.turn}"
        if not records:
            return [Evidence(f"{name} was not looked at for facts (remember={case.before.settings.remember})", name)]
        lines = [(record, outcome) for record in records for outcome in record.outcomes]
        facts = {c.fact for c in self.carriers if c.fact}
        mine = [each for each in lines if each[1].fact in facts] or [each for each in lines if _meets(each[1], last)]
        mine = mine or lines
        return [_kept(name, last, record, outcome) for record, outcome in mine]

    def _unwritten(self) -> str:
        told, case = "never written: no turn before it and no fact holds these words", self.case
        turns = (turn for page in case.store.state(case.scope).pages.values() for turn in page.turns)
        said = (turn.number for turn in turns if case.expected.held(turn.words(case.words)))
        later = next((number for number in said if number > case.turn), 0)
        return f"{told}; first said later, at turn {later}" if later else told

    def _elsewhere(self) -> list[Evidence]:
        """The nearest turn here, and where else this user said so: pages belong to one conversation."""
        case = self.case
        turns = [turn for page in case.before.pages.values() for turn in page.turns]
        scored = [(case.expected.share(turn.words(case.words)), turn) for turn in turns]
        share, nearest = max(scored, key=lambda each: (each[0], each[1].number), default=(0.0, None))
        found = []
        if nearest is not None and share >= NEAREST:
            said = nearest.words(case.words)
            lacks, (start, end) = ", ".join(case.expected.lacks(said)), case.expected.span(said)
            name, quoted = f"turn {nearest.number}", small(said[start:end], 120)
            told = f"{name} comes nearest and lacks {lacks}: “{quoted}”"
            found.append(Evidence(told, name, nearest.number, round(share, 3), 1.0, nearest.text, start, end))
        return found + self._other_conversations()

    def _other_conversations(self) -> list[Evidence]:
        case, found = self.case, []
        for name in dict.fromkeys(s.scope.conversation for s in case.store.streams(case.scope.user)):
            if name == case.scope.conversation:
                continue
            scope = case.store.main_run(case.scope.user, name)
            words, state = case.store.words(scope), case.store.state(scope)
            turns = [t for p in state.pages.values() for t in p.turns if case.expected.held(t.words(words.__getitem__))]
            if turns:
                told = f"said at turn {turns[-1].number} of {name!r}: turns stay where they were said, only facts cross"
                found.append(Evidence(told, name, turns[-1].number))
        return found

    def _indexed(self) -> tuple[str, list[Evidence]]:
        case = self.case
        pages = [case.before.pages[c.page] for c in self.carriers if c.page][:TOLD]
        if not self.carriers:
            return "", []
        found, lacking = [], 0
        for page in pages:
            texts = [each.text for each in of_page(page, case.words)] if page.closed else []
            there = len(case.vectors.known(texts)) if texts and case.vectors else 0
            lacking += bool(texts) and there < len(set(texts))
            told = f"closed by {page.boundary}" if page.closed else "still grows: no vectors yet"
            vectors = f", {there} of {len(set(texts))} exchanges have a vector" if texts else ""
            found.append(Evidence(f"{page.name} {told}{vectors}; its words are indexed", page.name, page.last))
        says = "words are indexed as they come"
        return says + (f"; {lacking} of {len(pages)} pages lack vectors" if lacking else ""), found

    def _scope(self) -> tuple[str, list[Evidence]]:
        case = self.case
        if not self.carriers:
            return "", []
        run = {LIVE: "the live run", RECORDED: "a recording: it decides about no pages"}.get(
            case.scope.run, "a replay: it reads no facts and writes none"
        )
        out = [c for c in self.carriers if c.stage == "scope"]
        return f"{case.scope}: {run}", [Evidence(f"{c.name}: {c.why}", c.name, c.turn) for c in out]

    def _ranked(self) -> tuple[str, list[Evidence]]:
        met = [c for c in self.carriers if c.stage == "ranked"]
        limit = self.case.before.settings
        found = [
            Evidence(
                f"{c.name}: {c.why}", c.name, c.turn, c.score or None,
                limit.facts_coverage if c.fact else limit.min_coverage,
            )
            for c in met
        ]  # fmt: skip
        s = limit
        told = f"pages: recall_k={s.recall_k}, retrieve_k={s.retrieve_k}, min_coverage={s.min_coverage:g}, "
        told += f"min_margin={s.min_margin:g}; facts: facts_k={s.facts_k}, facts_coverage={s.facts_coverage:g}"
        return told, found

    def _budget(self) -> tuple[str, list[Evidence]]:
        s = self.case.before.settings
        cut = [Evidence(f"{c.name}: {c.why}", c.name, c.turn) for c in self.carriers if c.stage == "budget"]
        return f"page_ins={s.page_ins}, facts_tokens={s.facts_tokens}, window_tokens={s.window_tokens}", cut

    def _superseded(self) -> tuple[str, list[Evidence]]:
        """Facts that hold these words and are over; also where pages still carry them."""
        case = self.case
        facts = facts_with(case)
        over = [fact for fact in facts if not fact.lasts(case.now)]
        return f"{len(over)} of {len(facts)} facts with these words hold no more", [self._over(fact) for fact in over]

    def _over(self, fact: Fact) -> Evidence:
        return Evidence(f"{fact.name} ({small(said_of(self.case, fact), 80)}) {fact.state}: {fact.why}", fact.name)

    def _prompt(self) -> tuple[str, list[Evidence]]:
        case = self.case
        found = [Evidence(f"it stands at {place}", place.name, 0, text=place.text) for place in self.places]
        if self.fell not in ("", "prompt"):
            return f"none of {len(case.step.prompts)} prompts holds it", found
        if case.recorded is None:
            return "the prompt would hold it; no model was asked", found
        shares = [case.expected.share(turn.words(case.words)) for turn in case.step.replies]
        return f"the reply has {max(shares, default=0.0):.0%} of the words", found


def _ranked(best: Carrier) -> str:
    if best.below:
        return f"{best.name} is below the threshold by {best.below:.2g}"
    return f"{best.name} did not come: {best.why.partition('; ')[0]}"


def _said(c: Carrier) -> Evidence:
    where = f"turn {c.turn}, {c.by}" if c.page else "fact"
    told = f"{c.name} ({where}): “{small(c.said, 120)}”"
    return Evidence(told, c.name, c.turn, text=c.text, start=c.start, end=c.end)


def _meets(outcome: Outcome, carrier: Carrier) -> bool:
    return outcome.start < carrier.end and carrier.start < outcome.end


def _kept(name: str, carrier: Carrier, record: TurnRemembered, outcome: Outcome) -> Evidence:
    span = f" from characters {outcome.start}-{outcome.end}" if outcome.end else ""
    fact = f" f{outcome.fact}" if outcome.fact else ""
    told = f"{name}, read by {record.extractor}{span}: {outcome.verdict}{fact}, {outcome.reason}"
    return Evidence(told, name, carrier.turn, text=carrier.text, start=outcome.start, end=outcome.end)
