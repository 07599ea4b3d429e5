"""A recorded conversation run again under other settings: in memory, free, the same each time.

The same `Pager` as in the live engine takes the recorded messages; replies and recalls are the recorded ones, so no
model is asked and nothing is substituted. What was asked back is known as ranges of turns and means the same under
other pages. A *demand* is a turn that a step needs: what the recording asked back, and its labelled evidence. It is a
hit if all of it is resident when the model would read, else a fault; `hits + faults == demands`, counted in turns,
each once a step. Labelled questions are probes: asked after the last turn of the state as it is, one by one, which
changes nothing, and counted apart.

Not here: asking a model again, comparing many settings, and what a replay costs in money.
"""

from __future__ import annotations

import gc
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import count
from typing import Any

from memory import eviction as policies
from memory import tokens
from memory.engine import resolved
from memory.errors import BadSetting, NotFound, RecordingError
from memory.events import Event, Refusal
from memory.journal import MemoryJournal
from memory.pager import Pager, Said
from memory.pages import SUMMARY, Page
from memory.prompt import instruction_tokens
from memory.recalls import Request
from memory.scope import Scope
from memory.settings import Settings
from memory.show import Shown, columns, rows, table
from memory.state import Counts, State, apply
from memory.stores.sql import Store
from memory.window import page_in, part_in
from sessions.meaning import meaning_of
from sessions.recording import NO_TIME, Question, RecordedTurn, Recording
from sessions.texts import digests, retext
from sessions.transcript import recording_of, redacted, steps_of

FIRST_NEW = 1 << 40  # ids of words that the replay itself makes; a store's are below
SAVED_STEPS = 200  # in one transaction

Policy = str | policies.Score
Demands = Mapping[int, Sequence[int]]  # by turn: the steps, ascending, that ask for it
Source = Recording | tuple[Store, Scope]


@dataclass(frozen=True, slots=True)
class Step:
    """What one step came to; counts are of this step alone."""

    number: int
    first_turn: int
    last_turn: int
    prompts: tuple[int, ...]  # tokens of each prompt: one more wherever a recall brought something
    demands: int  # turns
    hits: int
    evictions: int
    recalled_tokens: int
    state: State = field(repr=False)  # at its end
    planned: State | None = field(default=None, repr=False)  # room was made, nothing asked back; None: no user's turn

    @property
    def faults(self) -> int:
        return self.demands - self.hits


@dataclass(frozen=True, slots=True)
class Probe:
    """A labelled question, asked of the last state."""

    question: str
    category: str
    demands: int  # turns
    hits: int
    recalled_tokens: int  # of the pages that it would bring back
    refused: int = 0  # pages that would not fit, or are more than may come in a step

    @property
    def faults(self) -> int:
        return self.demands - self.hits


@dataclass(frozen=True)
class Replay(Shown):
    recording: Recording
    settings: Settings
    steps: tuple[Step, ...]
    events: tuple[Event, ...] = field(repr=False)
    texts: Mapping[int, str] = field(repr=False)  # words that the replay made: stubs, keywords, headers
    probes: tuple[Probe, ...] = ()
    substitutions: int = 0  # recorded decisions that an offline rule had to take anew

    # ── what came out ─────────────────────────────────────────────────────────────────────────────────

    @property
    def state(self) -> State:
        return self.steps[-1].state

    @property
    def counts(self) -> Counts:
        """As the engine counts: its hits and faults are pages, those of this class are turns."""
        return self.state.counts

    @property
    def turns(self) -> int:
        return self.state.turn

    @property
    def pages(self) -> int:
        return len(self.state.pages)

    @property
    def evictions(self) -> int:
        return self.counts.evictions

    @property
    def demands(self) -> int:
        return sum(step.demands for step in self.steps)

    @property
    def hits(self) -> int:
        return sum(step.hits for step in self.steps)

    @property
    def faults(self) -> int:
        return self.demands - self.hits

    @property
    def hit_ratio(self) -> float:
        """1.0 where nothing was demanded."""
        return self.hits / self.demands if self.demands else 1.0

    @property
    def recalled_tokens(self) -> int:
        return self.counts.recalled_tokens

    @property
    def prompt_tokens(self) -> int:
        return sum(sum(step.prompts) for step in self.steps)

    @property
    def questions(self) -> int:
        return len(self.probes)

    @property
    def probe_demands(self) -> int:
        return sum(probe.demands for probe in self.probes)

    @property
    def probe_hits(self) -> int:
        return sum(probe.hits for probe in self.probes)

    @property
    def probe_faults(self) -> int:
        return self.probe_demands - self.probe_hits

    @property
    def probe_recalled_tokens(self) -> int:
        return sum(probe.recalled_tokens for probe in self.probes)

    @property
    def by_category(self) -> dict[str, dict[str, int]]:
        """Probes by category: how many (`n`), and their demands, hits, faults and recalled tokens."""
        groups: dict[str, list[Probe]] = defaultdict(list)
        for probe in self.probes:
            groups[probe.category].append(probe)
        return {
            category: {
                "n": len(group),
                "demands": sum(p.demands for p in group),
                "hits": sum(p.hits for p in group),
                "faults": sum(p.faults for p in group),
                "recalled_tokens": sum(p.recalled_tokens for p in group),
            }
            for category, group in sorted(groups.items())
        }

    @cached_property
    def event_digests(self) -> tuple[str, ...]:
        """One an event, over what it says: a saved run has the same ones."""
        return tuple(digests(self.events, self.words))

    @property
    def digest(self) -> str:
        """Names the whole run: equal runs have equal digests, whatever their text ids."""
        return hashlib.blake2b("".join(self.event_digests).encode(), digest_size=8).hexdigest()

    def words(self, text: int) -> str:
        """The words behind an id of its events."""
        found = self.texts.get(text, self._recorded.get(text))
        if found is None:
            raise NotFound(f"no text with id {text} in this replay of {self.recording.conversation!r}")
        return found

    @cached_property
    def _recorded(self) -> dict[int, str]:
        return {turn.text_id: turn.text for turn in self.recording.turns}

    # ── how it shows itself ───────────────────────────────────────────────────────────────────────────

    def to_dict(self) -> dict[str, Any]:
        """The figures; no words, no events."""
        counts = self.counts
        return {
            "conversation": self.recording.conversation,
            "user": self.recording.user,
            "settings": self.settings.hash,
            "turns": self.turns,
            "steps": self.state.step,
            "pages": self.pages,
            "evictions": self.evictions,
            "demands": self.demands,
            "hits": self.hits,
            "faults": self.faults,
            "hit_ratio": round(self.hit_ratio, 4),
            "recalls": counts.recalls,
            "recalled_pages": counts.faults,
            "recalled_tokens": self.recalled_tokens,
            "right": counts.right,
            "wrong": counts.wrong,
            "refused": counts.refused,
            "thrash": counts.thrash,
            "prompt_tokens": self.prompt_tokens,
            "probes": len(self.probes),
            "probe_demands": self.probe_demands,
            "probe_hits": self.probe_hits,
            "probe_faults": self.probe_faults,
            "probe_recalled_tokens": self.probe_recalled_tokens,
            "by_category": self.by_category,
            "substitutions": self.substitutions,
            "digest": self.digest,
        }

    def to_df(self) -> Any:
        """A pandas DataFrame, one row a step."""
        import pandas as pd

        lines = [
            {
                "step": s.number,
                "first_turn": s.first_turn,
                "last_turn": s.last_turn,
                "prompts": len(s.prompts),
                "prompt_tokens": sum(s.prompts),
                "demands": s.demands,
                "hits": s.hits,
                "faults": s.faults,
                "evictions": s.evictions,
                "recalled_tokens": s.recalled_tokens,
                "pages": len(s.state.pages),
                "resident": len(s.state.resident),
            }
            for s in self.steps
        ]
        return pd.DataFrame(lines)

    def __repr__(self) -> str:
        return (
            f"<Replay of {self.recording.conversation}: {self.turns} turns on {self.pages} pages, "
            f"{self.evictions} evictions, {self.faults} faults of {self.demands} demanded turns, "
            f"{self.recalled_tokens:,} tokens recalled, settings {self.settings.hash}>"
        )

    def _chart(self) -> str:
        """Tokens of each step's largest prompt, against the watermarks."""
        s = self.settings
        marks = {"high watermark": s.high_tokens, "low watermark": s.low_tokens}
        read = [max(step.prompts, default=0) for step in self.steps]
        return columns(read, s.window_tokens, marks, f"tokens read in each of {len(read)} steps")

    def _html(self) -> str:
        counts = self.counts
        figures = {
            "turns": self.turns, "pages": self.pages, "evictions": self.evictions, "demanded turns": self.demands,
            "faults": self.faults, "hit ratio": f"{self.hit_ratio:.2f}", "recalled": f"{self.recalled_tokens:,} tokens",
            "right/wrong recalls": f"{counts.right}/{counts.wrong}", "thrash": counts.thrash,
            "prompts": f"{self.prompt_tokens:,} tokens", "settings": self.settings.hash,
        }  # fmt: skip
        head = rows(f"Replay of {self.recording.title or self.recording.conversation}", figures) + self._chart()
        if not self.probes:
            return head
        lines = [(name, *group.values()) for name, group in self.by_category.items()]
        return head + table(("questions after the last turn", "n", "demanded turns", "hits", "faults", "tokens"), lines)


# ── running it ────────────────────────────────────────────────────────────────────────────────────────


def replay(
    source: Source,
    settings: Settings | None = None,
    *,
    eviction: Policy | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Replay:
    """Run a recording, or a conversation of a store, from its first turn to its last.

    `eviction`: a registered policy, a function of your own, or one of ORACLES, the references that know what will
    be demanded; by default the settings' own. Raises BudgetTooSmall where a message cannot fit the window.
    """
    running = Running(source, settings, eviction=eviction)
    with _uncollected():
        for step in running.steps():
            if on_step is not None:
                on_step(step)
    return running.result()


@contextmanager
def _uncollected() -> Iterator[None]:
    """A replay makes hundreds of thousands of values and no cycle: looking for cycles took a fifth of its time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Running:
    """A replay under way: take `steps()` one by one, stop where you like, and ask for the `result()` so far."""

    def __init__(self, source: Source, settings: Settings | None = None, *, eviction: Policy | None = None) -> None:
        self.recording = identified(source)
        if not self.recording.turns:
            raise RecordingError(f"{self.recording.conversation} has no turn to replay")
        self.settings, score = _with_policy(resolved(settings or Settings()), eviction, self.recording)
        self._journal = _Journal(self.recording)
        self._done: list[Step] = []
        # The words were redacted when they were read; doing it again would add records to one kind of source only.
        self.pager = Pager(
            self._journal, eviction_policy=score, clock=self._journal.now, redactor=_as_it_is,
            meaning=meaning_of(source),
        )  # fmt: skip
        if self.recording.told_tokens:  # the same room as where it was recorded
            self.pager.instructions = self.recording.told_tokens

    def steps(self) -> Iterator[Step]:
        """The steps not run yet, each run when it is asked for."""
        if not self._done:
            r = self.recording
            self.pager.start(self.settings, r.title, r.system, r.language, source=r.format or "recording")
        for turns in list(steps_of(self.recording.turns))[len(self._done) :]:
            step = _StepRun(self.pager, self._journal, turns).run()
            self._done.append(step)
            yield step

    def result(self) -> Replay:
        """What was replayed so far; questions are asked once the last turn is in."""
        if not self._done:
            raise NotFound("nothing was replayed yet")
        state = self._done[-1].state
        over = state.turn == self.recording.turns[-1].number
        probes = [probed(state, question) for question in self.recording.questions] if over else []
        events, texts = tuple(self._journal.events), {**self._journal.texts}
        return Replay(self.recording, self.settings, tuple(self._done), events, texts, tuple(probes))


def _as_it_is(text: str) -> tuple[str, dict[str, int]]:
    return text, {}


def identified(source: Source) -> Recording:
    """The recording with an id for each turn's words: the store's, else their number. Replays of it start sooner."""
    if not isinstance(source, Recording):
        return recording_of(*source)
    if all(turn.text_id for turn in source.turns):  # of a store, or of a replay before
        return source
    clean = redacted(source)
    return replace(clean, turns=tuple(replace(turn, text_id=turn.number) for turn in clean.turns))


def _with_policy(
    settings: Settings, policy: Policy | None, recording: Recording
) -> tuple[Settings, policies.Score | None]:
    """The settings name the policy, so that the run's hash tells it apart; a function comes beside them."""
    if callable(policy):
        return settings.but(eviction=getattr(policy, "__name__", "custom")), policy
    wanted = settings.but(eviction=policy) if policy else settings
    oracle = ORACLES.get(wanted.eviction)
    return wanted, oracle(demanded_at(recording)) if oracle else None


def foresight(demands: Demands) -> policies.Score:
    """The oracle for guests: evict the page with the fewest demands to come for its size.

    Belady's MIN supposes that a missed page comes back to stay. Here it is a guest and leaves again, so each demand to
    come is a fault once its page left, and MIN can lose to plain LFU.
    """

    def score(page: Page, now: int) -> float:
        steps = (step for turn in page.turns for step in demands.get(turn.number, ()))
        return sum(step > now for step in steps) / max(1, page.tokens)

    return score


ORACLES: dict[str, Callable[[Demands], policies.Score]] = {"belady": policies.belady, "foresight": foresight}


def demanded_at(recording: Recording) -> dict[int, list[int]]:
    """The steps that ask for each turn, for the oracles; probes come after the last.

    One later than the step itself: victims are chosen before its recall, so to them it still lies ahead.
    """
    demands: dict[int, list[int]] = defaultdict(list)
    number = 0
    for turns in steps_of(recording.turns):
        number += turns[0].role == "user"
        asked = {turn for t in turns for recall in t.recalls for turn in _flat(recall.turns)}
        for turn in asked.union(*(t.evidence for t in turns)):
            demands[turn].append(number + 1)
    for turn in [turn for question in recording.questions for turn in question.evidence]:
        demands[turn].append(number + 2)
    return dict(demands)


def _flat(spans: Iterable[tuple[int, int]]) -> Iterator[int]:
    for first, last in spans:
        yield from range(first, last + 1)


class _Journal(MemoryJournal):
    """Events in memory, stamped with the recording's own time; recorded words keep the ids that they have."""

    def __init__(self, recording: Recording) -> None:
        self.at = recording.turns[0].said_at
        super().__init__(
            known={turn.text_id: turn.text for turn in recording.turns}, clock=self.now, first_id=FIRST_NEW
        )

    def now(self) -> datetime:
        return self.at


@dataclass(slots=True)
class _StepRun:
    """One step in the engine's order: receive → plan → prompt → (recall → prompt) → reply → settle."""

    pager: Pager
    journal: _Journal
    turns: Sequence[RecordedTurn]
    prompts: list[int] = field(default_factory=list)
    asked: set[int] = field(default_factory=set)  # turns demanded so far, each once
    hits: int = 0
    came: int = 0  # pages
    planned: State | None = None

    def run(self) -> Step:
        before = self.pager.state.counts
        self.journal.at = self.turns[0].said_at
        for turn in self.turns:
            self._take(turn)
        self._demand(())  # labels count, even of a message that nobody answered
        spoken = [t.text for t in self.turns if t.role == "assistant"]
        self.pager.settle(spoken[-1] if spoken else "")
        self.pager.commit()
        state = self.pager.state
        return Step(
            number=state.step,
            first_turn=self.turns[0].number,
            last_turn=self.turns[-1].number,
            prompts=tuple(self.prompts),
            demands=len(self.asked),
            hits=self.hits,
            evictions=state.counts.evictions - before.evictions,
            recalled_tokens=state.counts.recalled_tokens - before.recalled_tokens,
            state=state,
            planned=self.planned,
        )

    def _take(self, turn: RecordedTurn) -> None:
        said = Said(
            turn.text, turn.role, turn.said_at, turn.speaker, tuple((c.id, c.name, c.arguments) for c in turn.calls),
            turn.answers, turn.important, turn.evidence, turn.text_id,
        )  # fmt: skip
        if turn.role == "user":
            self.pager.plan(turn.text, self.pager.receive(said).text)
            self.planned = self.pager.state
            return
        if turn.role == "assistant" and self.pager.state.open_step:
            self._answer(turn)
        self.pager.reply(said)

    def _answer(self, turn: RecordedTurn) -> None:
        """The model reads, asks back as recorded, and reads again if anything came."""
        state = self.pager.state
        if state.turn != state.user_turn and self.pager.fill.free < 0:  # tool results came in since
            self.pager.plan()  # what was recalled stays if it can
        self._prompt()
        if turn.recalls:
            self._demand([t for recall in turn.recalls for t in _flat(recall.turns)])
            came = [self._recall(recall.turns, recall.question, "recorded") for recall in turn.recalls]
        else:
            came = [self._ask_for_labels()]
        if any(came):
            self._prompt()

    def _prompt(self) -> None:
        self.prompts.append(self.pager.prompt(len(self.prompts)).tokens)

    def _ask_for_labels(self) -> bool:
        """A label that no recorded recall asks for is a demand as well: by rule, its turns are brought back."""
        new = [t for t in self._evidence if t not in self.asked]
        self._demand(())
        if not new or any(t.recalls for t in self.turns):
            return False
        return self._recall(_spans(new), "", "label")

    @property
    def _evidence(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(n for turn in self.turns for n in turn.evidence))

    def _demand(self, turns: Iterable[int]) -> None:
        """Count these turns and the step's labels, before anything is brought back for them."""
        state = self.pager.state
        new = {*turns, *self._evidence} - self.asked
        self.asked |= new
        self.hits += sum(is_resident(state, turn) for turn in new)

    def _recall(self, spans: tuple[tuple[int, int], ...], question: str, by: str) -> bool:
        evidence = self._evidence if by == "recorded" else ()
        record = self.pager.recall(Request(question=question, turns=spans, by=by, evidence=evidence), self.came)
        self.came += len(record.came)
        return bool(record.came)


def _spans(turns: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """
    >>> _spans([7, 3, 4])
    ((3, 4), (7, 7))
    """
    spans: list[tuple[int, int]] = []
    for turn in sorted(turns):
        if spans and spans[-1][1] == turn - 1:
            spans[-1] = (spans[-1][0], turn)
        else:
            spans.append((turn, turn))
    return tuple(spans)


def is_resident(state: State, turn: int) -> bool:
    return all(page.number in state.resident and _holds(page, turn) for page in state.pages_of(turn))


def _holds(page: Page, turn: int) -> bool:
    """Whether the turn stands there word for word where the page does."""
    return page.guest_as != SUMMARY and any(each.number == turn for each in page.standing)


def probed(state: State, question: Question) -> Probe:
    """Ask a labelled question of a state: what is missing comes back as for a recall, and is gone again."""
    holders = (page for turn in question.evidence for page in state.pages_of(turn))
    missing = {page.number: page for page in holders if page.number not in state.whole}
    instructions, after = state.told_tokens or instruction_tokens(tokens.count), state
    came = refused = 0
    wanted = dict.fromkeys(question.evidence, 1.0)
    for page in missing.values():
        arrival = page_in(after, instructions, page, "probe")
        if isinstance(arrival, Refusal):
            arrival = part_in(after, instructions, page, "probe", wanted)
        if isinstance(arrival, Refusal) or came >= state.settings.page_ins:
            refused += 1
        else:
            came += 1
            after = apply(after, Event(0, after.version + 1, state.step, NO_TIME, arrival))
    hits = sum(is_resident(state, turn) for turn in question.evidence)
    recalled = after.counts.recalled_tokens - state.counts.recalled_tokens
    return Probe(question.question, question.category, len(question.evidence), hits, recalled, refused)


# ── keeping it ────────────────────────────────────────────────────────────────────────────────────────


def run_name(settings: Settings) -> str:
    return f"replay-{settings.hash}"


def save(store: Store, scope: Scope, replayed: Replay) -> Scope:
    """Keep a replay as a run of its conversation, and return that run's scope; nothing else is touched.

    Saving twice changes nothing; one that was cut short, or ran when the recording was shorter, is continued. Where
    a run of this name holds something else, the new one is kept beside it as `…-2`. Raises RecordingError if the
    store holds another conversation, BadSetting for an oracle's run.
    """
    if replayed.settings.eviction in ORACLES:
        raise BadSetting("an oracle knows what comes: no conversation can go on from its run; compare it in memory")
    recorded = _recorded_ids(recording_of(store, scope), replayed)
    at, have = _place(store, scope, replayed)
    missing = replayed.events[have:]
    if not missing:
        return at
    journal = store.open_stream(at)
    new_ids: dict[int, int] = dict(recorded)

    def kept(text: int) -> int:
        if text not in new_ids:
            new_ids[text] = journal.said(replayed.words(text))
        return new_ids[text]

    state = journal.load()
    for batch in _batches(missing):
        records = [(event.step, retext(event.body, kept)) for event in batch]
        for event, (_, body) in zip(batch, records, strict=True):
            state = apply(state, replace(event, body=body))
        journal.append(records, state)
    return at


def _recorded_ids(kept: Recording, replayed: Replay) -> dict[int, int]:
    """Text ids of the replay's turns to those of the store."""
    ids = {}
    theirs = {turn.number: turn for turn in kept.turns}
    for turn in replayed.recording.turns[: replayed.turns]:
        other = theirs.get(turn.number)
        if other is None or other.text != turn.text:
            raise RecordingError(
                f"turn {turn.number} of {kept.conversation!r} in the store is not the one that was replayed: "
                "import the recording first, then replay it from the store"
            )
        ids[turn.text_id] = other.text_id
    return ids


def _place(store: Store, scope: Scope, replayed: Replay) -> tuple[Scope, int]:
    """The run to write to, and how many of the events it has already."""
    name = run_name(replayed.settings)
    for n in count(1):
        at = scope.at(name if n == 1 else f"{name}-{n}")
        if store.stream(at) is None:
            return at, 0
        have = digests(store.events(at), store.words(at).__getitem__)
        if tuple(have) == replayed.event_digests[: len(have)]:
            return at, len(have)
    raise AssertionError("count() ends")


def _batches(events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """Whole steps, cut where the live engine keeps a snapshot."""
    start = 0
    for i, event in enumerate(events, 1):
        last_of_step = i == len(events) or events[i].step != event.step
        if last_of_step and (i == len(events) or (event.step and event.step % SAVED_STEPS == 0)):
            yield events[start:i]
            start = i
