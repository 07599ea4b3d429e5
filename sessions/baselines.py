"""The same transcript with simpler memories beside ours, at the same budget: what each reads, and what it has.

Full history, a sliding window, a window with what the message finds by vectors, a window with summaries of what left,
BM25 and vectors alone, and our pager. No model is asked: a summary is made by rule (memory/gist.py), and a labelled
message or question counts as answered where all its evidence stands in the prompt. For ours the prompts are those of
the replay; evidence is what one recall by the message's own words brings, as for the others, not what a label names.

`budget`: what a prompt may hold, which full history alone does not keep to. What a model makes of a prompt, and the
time that it takes, are not known here; `cpu_ms` is the time that putting the prompts together took in this run.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from memory import show, tokens
from memory.exchanges import Line, exchanges
from memory.finder import VectorSource
from memory.gist import extract
from memory.pager import Said
from memory.recalls import Request
from memory.rehearsal import Asked, Rehearsal
from memory.retrieval import Index, Weighing
from memory.settings import Settings
from memory.show import Shown
from memory.state import State
from memory.steps import places
from memory.turns import MESSAGE_TOKENS
from sessions.honesty import OWN, RAW, Honesty
from sessions.recording import RecordedTurn, Recording
from sessions.replay import Replay, Source, replay
from sessions.transcript import steps_of

OPEN = Weighing(min_coverage=0, min_margin=0)  # a baseline turns nothing away
SUMMARY_TURNS = 10
RECENT = 0.6  # of the budget, for a window that shares it with what is found: our low watermark
BESIDE_SUMMARIES = 0.85  # the same, for one that shares it with summaries: what our bookmarks leave
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Baseline:
    """One memory over the whole transcript."""

    name: str
    steps: int
    tokens: int  # of all prompts
    calls: int  # of a model, for replies and, for summaries, between them
    over: int  # steps whose prompt does not fit the budget
    evidence: int | None  # labelled messages and questions whose evidence stood in the prompt; None: not measured
    labelled: int
    cost_usd: float | None  # of the prompts, at the given price; None: none was given
    cpu_ms: float  # a step
    note: str = ""

    @property
    def tokens_per_step(self) -> float:
        return self.tokens / self.steps if self.steps else 0.0

    @property
    def evidence_ratio(self) -> float | None:
        return None if self.evidence is None or not self.labelled else self.evidence / self.labelled


@dataclass(frozen=True)
class Baselines(Shown):
    conversation: str
    turns: int
    budget: int  # tokens
    settings: str  # hash of ours
    rows: tuple[Baseline, ...]
    honesty: Honesty

    def row(self, name: str) -> Baseline:
        return next(each for each in self.rows if each.name == name)

    def at(self, usd_per_million: float) -> Baselines:
        """The same at another price of a million prompt tokens."""
        return replace(self, rows=tuple(row if row.evidence is None else _priced(row, usd_per_million)
                                        for row in self.rows))  # fmt: skip

    def __repr__(self) -> str:
        ours = self.row("ours")
        full = self.row("full history")
        saved = 1 - ours.tokens / full.tokens if full.tokens else 0.0
        had = "" if ours.evidence is None else f", evidence in {ours.evidence} of {ours.labelled} labelled prompts"
        return f"<Baselines of {self.conversation}: ours reads {saved:.0%} less than the full history{had}>"

    def lines(self) -> list[list[Any]]:
        """Memory, tokens a step, calls, over the budget, evidence, cost, time: for a table."""
        return [
            [r.name, f"{r.tokens_per_step:,.0f}", r.calls, r.over,
             "–" if r.evidence is None else f"{r.evidence}/{r.labelled}",
             "–" if r.cost_usd is None else f"{r.cost_usd:.4f}", f"{r.cpu_ms:.1f}", r.note]
            for r in self.rows
        ]  # fmt: skip

    HEAD = ("memory", "tokens a step", "calls", "over budget", "evidence", "USD", "CPU ms a step", "")

    def _html(self) -> str:
        figures = {"turns": self.turns, "budget": f"{self.budget:,} tokens", "settings": self.settings}
        return show.rows(self.conversation, figures | self.honesty.to_dict()) + show.table(self.HEAD, self.lines())

    def to_dict(self) -> dict[str, Any]:
        rows = [asdict(r) | {"tokens_per_step": round(r.tokens_per_step, 1), "evidence_ratio": r.evidence_ratio}
                for r in self.rows]  # fmt: skip
        return {"conversation": self.conversation, "turns": self.turns, "budget": self.budget,
                "settings": self.settings, "honesty": self.honesty.to_dict(), "rows": rows}  # fmt: skip

    def to_df(self) -> Any:
        """One row a memory."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["rows"])


def baselines(
    source: Source,
    settings: Settings | None = None,
    *,
    vectors: VectorSource | None = None,
    usd_per_million: float | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Baselines:
    """All of them, over a recording or a conversation of a store. Without `vectors`, or where there are none of the
    conversation, those that need them are left out.

    `usd_per_million`: the price of a million prompt tokens. Raises as `replay`.
    """
    say("replaying ours …")
    since = time.process_time()
    ours = replay(source, settings)
    spent = time.process_time() - since
    course = _Course(ours, None if vectors is None or not vectors.newest()[0] else Asked(vectors))
    rows = []
    for name, reads in MEMORIES.items():
        say(f"{name} …")
        rows.append(_row(name, reads, course, usd_per_million))
    say("evidence of ours …")
    rows.append(_ours(ours, course, spent, usd_per_million))
    return Baselines(
        ours.recording.conversation, ours.turns, course.budget, ours.settings.hash, tuple(rows), _worth(course)
    )


def _worth(course: _Course) -> Honesty:
    """Of the evidence."""
    ours = course.ours
    return Honesty(
        sum(bool(ask.evidence) for ask in course.asks), 1, ours.settings.recall_k, ours.pages,
        (course.budget, course.budget), sum(course.sizes), RAW if ours.recording.format == "locomo" else OWN,
    )  # fmt: skip


# ── the transcript, step by step ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Ask:
    """A prompt that has to be made: of a step, or of a question after the last one (`step` is past the end)."""

    step: int  # from 0
    words: str
    evidence: frozenset[int]


@dataclass(frozen=True)
class _Course:
    ours: Replay = field(repr=False)
    vectors: VectorSource | None

    @property
    def recording(self) -> Recording:
        return self.ours.recording

    @cached_property
    def steps(self) -> list[Sequence[RecordedTurn]]:
        return list(steps_of(self.recording.turns))

    @cached_property
    def sizes(self) -> list[int]:
        """Tokens of each step's turns."""
        return [sum(tokens.count(turn.text) + MESSAGE_TOKENS for turn in turns) for turns in self.steps]

    @cached_property
    def system(self) -> int:
        return tokens.count(self.recording.system)

    @property
    def budget(self) -> int:
        s = self.ours.settings
        return s.window_tokens - s.reply_tokens

    @cached_property
    def asks(self) -> list[_Ask]:
        """Every message that a model answered; then the labelled questions that have an answer."""
        found = [_Ask(n, turns[0].text, frozenset(turns[0].evidence)) for n, turns in enumerate(self.steps)
                 if turns[0].role == "user" and any(turn.role == "assistant" for turn in turns)]  # fmt: skip
        end = len(self.steps)
        return found + [_Ask(end, q.question, frozenset(q.evidence)) for q in self.recording.questions if q.evidence]

    @cached_property
    def step_of(self) -> dict[int, int]:
        return {turn.number: n for n, turns in enumerate(self.steps) for turn in turns}

    def message(self, ask: _Ask) -> int:
        """Tokens of what is always there: the system prompt and the message."""
        return self.system + tokens.count(ask.words) + MESSAGE_TOKENS

    def lines(self, n: int) -> list[Line]:
        return [Line(t.number, t.role, t.text, t.speaker, t.said_at) for t in self.steps[n]]


@dataclass(frozen=True, slots=True)
class _Prompt:
    tokens: int
    steps: frozenset[int] | range  # whose turns stand in it


Reads = Callable[["_Course"], Iterator[_Prompt]]


def _row(name: str, reads: Reads, course: _Course, price: float | None) -> Baseline:
    """One prompt an ask, in order."""
    if name in NEED_VECTORS and course.vectors is None:
        return _unmeasured(name, "no vectors")
    since = time.process_time()
    prompts = list(reads(course))
    if name in NEED_VECTORS and course.vectors is not None and course.vectors.problem:
        return _unmeasured(name, course.vectors.problem)
    spent = 1000 * (time.process_time() - since) / max(1, len(prompts))
    asked = [(ask, prompt) for ask, prompt in zip(course.asks, prompts, strict=True)]
    labelled = [(ask, prompt) for ask, prompt in asked if ask.evidence]
    there = sum(all(course.step_of[turn] in prompt.steps for turn in ask.evidence) for ask, prompt in labelled)
    live = [prompt for ask, prompt in asked if ask.step < len(course.steps)]
    read = sum(prompt.tokens for prompt in live)
    extra = len(course.recording.turns) // SUMMARY_TURNS if name == "summary" else 0
    row = Baseline(
        name, len(live), read, len(live) + extra, sum(prompt.tokens > course.budget for prompt in live), there,
        len(labelled), None, round(spent, 3), "summaries by rule; a model's would take these calls" if extra else "",
    )  # fmt: skip
    return _priced(row, price)


def _unmeasured(name: str, note: str) -> Baseline:
    return Baseline(name, 0, 0, 0, 0, None, 0, None, 0.0, note)


def _priced(row: Baseline, usd_per_million: float | None) -> Baseline:
    return replace(row, cost_usd=None if usd_per_million is None else row.tokens * usd_per_million / MILLION)


# ── the memories ──────────────────────────────────────────────────────────────────────────────────────


def _full(course: _Course) -> Iterator[_Prompt]:
    for ask in course.asks:
        yield _Prompt(course.message(ask) + sum(course.sizes[: ask.step]), range(ask.step))


def _recent(course: _Course, ask: _Ask, room: int) -> tuple[int, int]:
    """The first of the last steps that fit into `room`, and their tokens."""
    first, used = ask.step, 0
    while first > 0 and used + course.sizes[first - 1] <= room:
        first -= 1
        used += course.sizes[first]
    return first, used


def _window(course: _Course) -> Iterator[_Prompt]:
    for ask in course.asks:
        own = course.message(ask)
        first, used = _recent(course, ask, course.budget - own)
        yield _Prompt(own + used, range(first, ask.step))


def _summary(course: _Course) -> Iterator[_Prompt]:
    """What left the window is there as a sentence or two for every ten turns, the newest as far as there is room.

    A summary has no turn's words, so it is no evidence.
    """
    turns = course.recording.turns
    tens = [turns[n : n + SUMMARY_TURNS] for n in range(0, len(turns), SUMMARY_TURNS)]
    gists = [(ten[-1].number, tokens.count(extract([(t.role == "user", t.text) for t in ten]))) for ten in tens]
    for ask in course.asks:
        own = course.message(ask)
        first, used = _recent(course, ask, int(BESIDE_SUMMARIES * (course.budget - own)))
        before = course.steps[first - 1][-1].number if first else 0
        left = course.budget - own - used
        told = 0
        for _, size in reversed(gists[: bisect_left(gists, (before + 1, 0))]):
            if told + size > left:
                break
            told += size
        yield _Prompt(own + used + told, range(first, ask.step))


def _found(strategy: str, share: float) -> Reads:
    """The steps that the message finds, best first, beside the last ones within `share` of the budget."""

    def reads(course: _Course) -> Iterator[_Prompt]:
        index, known = Index(), 0
        for ask in course.asks:
            for n in range(known, ask.step):
                _index(index, course, n, with_vectors=strategy == "vectors")
            known = max(known, ask.step)
            own = course.message(ask)
            first, used = _recent(course, ask, int(share * (course.budget - own)))
            chosen = set(range(first, ask.step))
            vector = course.vectors.question(ask.words) if strategy == "vectors" and course.vectors else None
            ranked = index.rank(ask.words, vector, known, strategy=strategy, weighing=OPEN).pages if known else ()
            for page in ranked:
                size = course.sizes[page - 1]
                if page - 1 not in chosen and own + used + size <= course.budget:
                    chosen.add(page - 1)
                    used += size
            yield _Prompt(own + used, frozenset(chosen))

    return reads


def _index(index: Index, course: _Course, n: int, *, with_vectors: bool) -> None:
    lines = course.lines(n)
    for line in lines:
        index.add(n + 1, line.turn, line.text, line.label)
    if with_vectors and course.vectors is not None:
        made = exchanges(lines)
        known = course.vectors.known([each.text for each in made])
        for each in made:
            if each.text in known:
                index.put(n + 1, each.turn, known[each.text], each.part)


MEMORIES: Mapping[str, Reads] = {
    "full history": _full,
    "sliding window": _window,
    "window + vectors": _found("vectors", RECENT),
    "summary": _summary,
    "BM25": _found("words", 0.0),
    "vectors": _found("vectors", 0.0),
}
NEED_VECTORS = ("window + vectors", "vectors")


# ── ours ──────────────────────────────────────────────────────────────────────────────────────────────


def _ours(ours: Replay, course: _Course, spent: float, price: float | None) -> Baseline:
    live = [step for step in ours.steps if step.prompts]
    labelled = [ask for ask in course.asks if ask.evidence]
    there = sum(_has(ours, course, ask) for ask in labelled)
    row = Baseline(
        "ours", len(live), ours.prompt_tokens, sum(len(step.prompts) for step in live),
        sum(max(step.prompts) > course.budget for step in live), there, len(labelled), None,
        round(1000 * spent / max(1, len(live)), 3), "a recall is a second call with its prompt",
    )  # fmt: skip
    return _priced(row, price)


def _has(ours: Replay, course: _Course, ask: _Ask) -> bool:
    """Whether all evidence stands in the prompt after one recall by the message's own words."""
    if ask.step == 0:
        return False
    before: State = ours.steps[ask.step - 1].state
    words = ChainMap(dict(ours.texts), {turn.text_id: turn.text for turn in ours.recording.turns})
    rehearsal = Rehearsal(
        before, Said(ask.words, said_at=ours.recording.turns[-1].said_at), words.__getitem__,
        now=ours.recording.turns[-1].said_at, vectors=course.vectors,
        recalls=(Request(question=ask.words, by="user"),),
    )  # fmt: skip
    wanted = {turn.text: turn.number for page in before.pages.values() for turn in page.turns
              if turn.number in ask.evidence}  # fmt: skip
    step = rehearsal.run().step
    found = {wanted[place.text] for place in places(step, wanted.__contains__)}
    return found == ask.evidence
