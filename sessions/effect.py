"""What a change of settings does to a conversation: two replays of it side by side, step by step.

A turn changed if the last prompt of its step says something else; why is told by what stands in one prompt only. Where
an answer is, before and after, is asked as in thresholds.py: in the window, a recall by the question away, or lost.
Pure over the two replays: nothing is written, no model is asked. In a replay recalls are the recorded ones, so what
only moves recalls by content (top-k, cut-offs) shows in the questions, not in the prompts.

>>> effect(replay(recording), replay(recording, Settings.of(page_turns=20)))       # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from memory import show
from memory.errors import BadSetting
from memory.events import PromptAssembled
from memory.finder import VectorSource
from memory.settings import Settings, described
from memory.show import Shown, small
from sessions.honesty import Honesty
from sessions.pinned import Moved, Outcome
from sessions.pinned import worth as pinned_worth
from sessions.replay import Policy, Replay, Source, Step, identified, replay
from sessions.thresholds import LOST, NEEDLESS, Asked, Posed, ask, posed, worth

ORDER = {LOST: 0, "recall": 1, "window": 2}  # from worst to best
CAUSES = {
    "left": "messages that are no longer in the window",
    "stays": "messages that stay in the window",
    "recalled": "recalled pages that come",
    "not_recalled": "recalled pages that do not come",
    "stubs": "other bookmarks",
    "told": "other instructions",
}

# Whom a replay never asks: what only these read changes nothing in it.
NOT_SHOWN = frozenset({
    "llm", "memory_llm", "protocol", "operations", "retry_s", "old_turns", "cooperative_asks", "bookmark_template",
    "bookmark_key", "recall_level", "summaries", "second_look", "remember", "remember_turns", "facts_tokens", "facts_k",
    "facts_coverage", "recall_rounds",
})  # fmt: skip
# What shows in the questions, since recorded recalls name their turns.
BY_QUESTION = frozenset({"recall_k", "min_coverage", "min_margin", "words_weight", "vectors_weight", "recency_weight",
                         "use_weight", "duplicate_overlap", "retrieval"})  # fmt: skip


def shows(setting: str) -> str:
    """Where a replay shows what a setting does: `prompts`, `questions`, or "": nowhere, a model would have to be asked.

    >>> shows("page_turns"), shows("recall_k"), shows("llm")
    ('prompts', 'questions', '')
    """
    if setting not in {entry["name"] for entry in described()}:
        raise BadSetting(f"there is no setting {setting!r}")
    return "" if setting in NOT_SHOWN else "questions" if setting in BY_QUESTION else "prompts"


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one replay."""

    prompt_tokens: int  # of all prompts
    largest: int  # prompt, tokens
    pages: int
    evictions: int
    demands: int  # turns
    faults: int
    recalled_tokens: int
    thrash: int
    cost_usd: float | None  # of the prompts read; None: no price is known

    @property
    def hit_ratio(self) -> float:
        return 1 - self.faults / self.demands if self.demands else 1.0


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of a change; `kind` names a sentence of CAUSES."""

    kind: str
    parts: int  # messages, pages
    tokens: int


@dataclass(frozen=True, slots=True)
class TurnEffect:
    """One step whose prompt is another one."""

    step: int
    turn: int  # its first
    last_turn: int
    before: int  # tokens of its last prompt
    after: int
    faults: int  # more than before; less than 0: fewer
    evictions: int
    why: tuple[Cause, ...]  # the heaviest first

    @property
    def says(self) -> str:
        return ", ".join(f"{m.parts} {CAUSES[m.kind]} ({m.tokens:,} tokens)" for m in self.why)


@dataclass(frozen=True, slots=True)
class Answer:
    """Where the answer to a question is: window, recall, lost."""

    posed: Posed
    before: str
    after: str

    @property
    def moved(self) -> int:
        """1: better, -1: worse."""
        a, b = ORDER[self.before], ORDER[self.after]
        return (b > a) - (b < a)

    @property
    def won(self) -> bool:
        return self.before == LOST != self.after

    @property
    def lost(self) -> bool:
        return self.after == LOST != self.before


@dataclass(frozen=True)
class Effect(Shown):
    conversation: str
    user: str
    settings: tuple[Settings, Settings] = field(repr=False)
    before: Figures
    after: Figures
    steps: int
    turns: tuple[TurnEffect, ...]  # those that changed, in order
    answers: tuple[Answer, ...]
    honesty: Honesty  # of the answers, under the new settings
    replays: tuple[Replay, Replay] = field(repr=False, compare=False)
    pinned: tuple[Moved, ...] = ()  # questions pinned onto the conversation, asked in both

    @property
    def pinned_honesty(self) -> Honesty:
        return pinned_worth(self.pinned, self.replays[1])

    @property
    def changed(self) -> dict[str, tuple[Any, Any]]:
        """The settings in which the two differ."""
        a, b = (s.to_dict() for s in self.settings)
        return {name: (a[name], b[name]) for name in a if a[name] != b[name]}

    @property
    def won(self) -> tuple[Answer, ...]:
        return tuple(each for each in self.answers if each.won)

    @property
    def lost(self) -> tuple[Answer, ...]:
        return tuple(each for each in self.answers if each.lost)

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {a} → {b}" for name, (a, b) in self.changed.items()) or "nothing changed"
        moved = self.after.prompt_tokens - self.before.prompt_tokens
        return (
            f"<Effect on {self.conversation} of {told}: {len(self.turns)} of {self.steps} prompts, "
            f"{self.after.faults - self.before.faults:+} faults, {moved:+,} tokens, "
            f"{len(self.won)} of {len(self.answers)} questions won, {len(self.lost)} lost{self._pins()}>"
        )

    def _pins(self) -> str:
        if not self.pinned:
            return ""
        won, lost = (sum(getattr(each, name) for each in self.pinned) for name in ("is_won", "is_lost"))
        return f"; of {len(self.pinned)} pinned ones {won} won, {lost} lost"

    def pinned_rows(self) -> list[list[str]]:
        """Question, before, after: for a table; those that moved come first."""
        order = sorted(self.pinned, key=lambda each: not (each.is_won or each.is_lost))
        return [[small(each.asked.question, 90), *map(_outcome, (each.before, each.after))] for each in order]

    def figures(self) -> list[tuple[str, float | None, float | None]]:
        """Name, before, after."""
        a, b = asdict(self.before), asdict(self.after)
        return [(name, a[name], b[name]) for name in a] + [("hit_ratio", self.before.hit_ratio, self.after.hit_ratio)]

    def _html(self) -> str:
        rows = [[name.replace("_", " "), _told(a), _told(b), _told(None if a is None or b is None else b - a)]
                for name, a, b in self.figures()]  # fmt: skip
        steps = [[f"{t.turn}–{t.last_turn}", f"{t.before:,}", f"{t.after:,}", t.says] for t in self.turns]
        moved = [[small(a.posed.question, 90), a.posed.turn or "end", a.before, a.after]
                 for a in self.answers if a.moved]  # fmt: skip
        return (
            show.rows(repr(self), self.honesty.to_dict() if self.answers else {})
            + show.table(["", "before", "after", "by"], rows)
            + show.table(["question", "turn", "before", "after"], moved, 12)
            + show.table(["pinned question", "before", "after"], self.pinned_rows(), 12)
            + (show.rows("what the pinned ones are worth", self.pinned_honesty.to_dict()) if self.pinned else "")
            + show.table(["turns", "before", "after", "why"], steps, 12)
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {
            "conversation": self.conversation,
            "user": self.user,
            "settings": {name: {"before": a, "after": b} for name, (a, b) in self.changed.items()},
            "figures": {name: {"before": a, "after": b} for name, a, b in self.figures()},
            "steps": self.steps,
            "turns": [{**asdict(t), "says": t.says} for t in self.turns],
            "questions": len(self.answers),
            "honesty": self.honesty.to_dict(),
            "won": [asdict(a) for a in self.won],
            "lost": [asdict(a) for a in self.lost],
            "pinned_honesty": self.pinned_honesty.to_dict() if self.pinned else {},
            "pinned": [
                {
                    "name": p.asked.name,
                    "question": p.asked.question,
                    "before": asdict(p.before),
                    "after": asdict(p.after),
                }
                for p in self.pinned
            ],
        }

    def to_df(self) -> Any:
        """One row a step whose prompt changed."""
        import pandas as pd

        return pd.DataFrame([{**asdict(t), "why": t.says} for t in self.turns])


def _outcome(each: Outcome) -> str:
    return "won" if each.won else f"lost, {each.stage}: {each.says}"


def _told(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


# ── comparing ─────────────────────────────────────────────────────────────────────────────────────────


def effect(
    before: Replay, after: Replay, *, price: float | None = None, asked: tuple[Sequence[Asked], Sequence[Asked]] | None
    = None, questions: Sequence[Posed] | None = None, vectors: VectorSource | None = None,
    pinned: tuple[Moved, ...] = (),
) -> Effect:  # fmt: skip
    """Compare two replays of one recording; raises BadSetting for two conversations.

    `price`: dollars a token of a prompt. `asked`: the questions as `ask` ranked them in each replay, where that was
    done before; else `questions`, or the recording's own, are asked now. `pinned`: what `between` made of them.
    """
    if before.recording.conversation != after.recording.conversation or len(before.steps) != len(after.steps):
        raise BadSetting(
            f"an effect is of one conversation; these replays are of {before.recording.conversation!r} "
            f"({len(before.steps)} steps) and {after.recording.conversation!r} ({len(after.steps)})"
        )
    own = [p for p in posed(before.recording) if p.by != NEEDLESS] if questions is None else questions
    a, b = asked or (ask(before, own, vectors), ask(after, own, vectors))
    answers = tuple(
        Answer(x.posed, x.under(before.settings), y.under(after.settings)) for x, y in zip(a, b, strict=True)
    )
    return Effect(
        before.recording.conversation, before.recording.user, (before.settings, after.settings),
        figures(before, price), figures(after, price), len(before.steps), tuple(_turns(before, after)), answers,
        worth(b, [after]), (before, after), pinned,
    )  # fmt: skip


def compared(
    source: Source, before: Settings, after: Settings, *, eviction: Policy | None = None, price: float | None = None,
    vectors: VectorSource | None = None,
) -> Effect:  # fmt: skip
    """Replay a recording, or a conversation of a store, under both, and compare."""
    recording = identified(source)
    return effect(replay(recording, before), replay(recording, after, eviction=eviction), price=price, vectors=vectors)


def figures(replayed: Replay, price: float | None = None) -> Figures:
    counts = replayed.counts
    return Figures(
        prompt_tokens=replayed.prompt_tokens,
        largest=max((tokens for step in replayed.steps for tokens in step.prompts), default=0),
        pages=replayed.pages,
        evictions=replayed.evictions,
        demands=replayed.demands,
        faults=replayed.faults,
        recalled_tokens=replayed.recalled_tokens,
        thrash=counts.thrash,
        cost_usd=None if price is None else replayed.prompt_tokens * price,
    )


Part = tuple[str, str, tuple[int | str, ...]]  # section, role, words: a page's number changes with the boundaries
WHERE = {section: section for section in ("stubs", "system", "facts", "recalled")}  # all else was said


def _turns(before: Replay, after: Replay) -> Iterator[TurnEffect]:
    if before is after:
        return
    one, other = prompts_of(before), prompts_of(after)
    for a, b in zip(before.steps, after.steps, strict=True):
        x, y = _parts(one.get(a.number), before), _parts(other.get(b.number), after)
        if x != y:
            yield _turn(a, b, x, y)


def prompts_of(replayed: Replay) -> dict[int, PromptAssembled]:
    """The last prompt of each step that has one."""
    return {e.step: e.body for e in replayed.events if isinstance(e.body, PromptAssembled)}


def _parts(prompt: PromptAssembled | None, replayed: Replay) -> dict[Part, int]:
    """What the model reads, with its tokens; words that the replay made are compared as words."""
    found: dict[Part, int] = {}
    made = replayed.texts
    # A row as Message.of_row reads it; hundreds of prompts have tens of thousands of them, and a slider waits.
    for role, section, _, tokens, _, _, *words in prompt.messages if prompt else ():
        part = WHERE.get(section, "said"), role, tuple([made.get(each, each) for each in words])
        found[part] = found.get(part, 0) + tokens
    return found


def _turn(a: Step, b: Step, x: Mapping[Part, int], y: Mapping[Part, int]) -> TurnEffect:
    gone, new = {k: v for k, v in x.items() if k not in y}, {k: v for k, v in y.items() if k not in x}
    moved = [
        _moved("left", gone, "said"), _moved("stays", new, "said"), _moved("recalled", new, "recalled"),
        _moved("not_recalled", gone, "recalled"), _moved("stubs", new or gone, "stubs"),
        _moved("told", new or gone, "system"),
    ]  # fmt: skip
    why = tuple(sorted((m for m in moved if m.parts), key=lambda m: -m.tokens))
    return TurnEffect(
        a.number, a.first_turn, a.last_turn, _last(a), _last(b), b.faults - a.faults, b.evictions - a.evictions, why
    )


def _moved(kind: str, parts: Mapping[Part, int], where: str) -> Cause:
    held = [tokens for part, tokens in parts.items() if part[0] == where]
    return Cause(kind, len(held), sum(held))


def _last(step: Step) -> int:
    return step.prompts[-1] if step.prompts else 0
