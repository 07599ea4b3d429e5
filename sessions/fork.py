"""A model asked again from some turn on: with other settings, another model, an edited fact. A run of its own, beside.

The user's later messages are the recorded ones, at their recorded times; the replies are new, so what follows may not
fit them any more. That is the difference to a replay, whose replies are the recorded ones and which costs nothing.
Nothing is written but the branch: facts are read as the original step read them, from an edited copy if one is
wanted, and none is learnt, changed or forgotten. Each step is committed; the same call again goes on where it stopped.

Not here: the application's own tools. Their recorded results answer calls that the new model did not make, so a step
gets the message alone; `Estimate.tool_steps` says how many did more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from memory import known, tokens
from memory.calling import Complete
from memory.engine import Engine, Reply, resolved
from memory.errors import BadSetting, NotFound, RecordingError
from memory.events import FactsPlaced, MessageReceived, StepFinished
from memory.facts import Fact
from memory.knowledge import Knowledge
from memory.models.chat import complete, price_of
from memory.recollect import FactFinder
from memory.remembering import Remembering
from memory.scope import FORK, RECORDED, Scope
from memory.settings import Settings
from memory.show import Shown, rows
from memory.state import changed
from memory.stores.sql import Store
from sessions.recording import RecordedTurn
from sessions.replay import replay
from sessions.transcript import recording_of, steps_of

Facts = Mapping[int, str]  # by the fact's number: what it says in this fork; "": it is not there


@dataclass(frozen=True)
class Estimate(Shown):
    """What a fork would take, by a replay under its settings: the replies are taken to be as long as the recorded."""

    llm: str
    turn: int  # the first message that is asked again
    steps: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None  # None: LiteLLM's table has no price for this model
    tool_steps: int = 0  # in which the recorded assistant used the application's tools, which a fork has not

    @property
    def summary(self) -> str:
        cost = "LiteLLM knows no price for it" if self.cost_usd is None else f"about ${self.cost_usd:.4f}"
        tools = f"; in {self.tool_steps} of them tools were used, which a fork has not" if self.tool_steps else ""
        return (
            f"{self.steps} messages from turn {self.turn} on, about {self.calls} calls of {self.llm}: "
            f"{self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out, {cost}{tools}"
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __repr__(self) -> str:
        return f"<Estimate: {self.summary}>"

    def _html(self) -> str:
        return rows("A fork would take", {name.replace("_", " "): value for name, value in self.to_dict().items()})


class Forking(Shown):
    """A fork before, while and after it is made: `estimate` it, take its `steps()`, stop where you like.

    `settings` are taken whole; without them those of the original at that turn, with `llm` and `changes`. `facts` are
    edited in a copy that this fork alone reads. Raises NotFound, BadSetting, RecordingError.
    """

    def __init__(
        self,
        store: Store,
        source: Scope,
        turn: int,
        *,
        llm: str = "",
        settings: Settings | None = None,
        facts: Facts | None = None,
        chat: Complete = complete,
        options: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> None:
        self.store, self.parent, self.facts = store, store.require(source), dict(facts or {})
        if source.run == RECORDED:
            raise RecordingError(f"{source} holds no decisions to go on from: fork a run of it that does, a replay say")
        self._asked = _asked(recording_of(store, source).turns, turn)
        self.turn = self._asked[0][0].number
        self.after = _before(store, source, self.turn)
        base = settings or store.state(source, self.after).settings
        self.settings = resolved(base.but(**changes, **({"llm": llm} if llm else {})))
        self._read = _read(store, source)
        self._check_facts()
        self.scope = source.at(self._name())
        self._chat, self._options = chat, options

    def _check_facts(self) -> None:
        k = self.store.knowledge(self.parent.scope.user, max(self._read.values(), default=0))
        for number, text in self.facts.items():
            if number not in k.facts:
                raise NotFound(f"no fact f{number} was read by {self.parent.scope} from turn {self.turn} on")
            if len(text) > 2_000:
                raise BadSetting(f"f{number} would have {len(text):,} characters; a fact has at most 2,000")

    def _name(self) -> str:
        """The same for the same fork, so that it is found again."""
        parts = [self.parent.scope.run, self.after, self.settings.hash, *sorted(self.facts.items())]
        return f"{FORK}t{self.turn}-{hashlib.blake2b(repr(parts).encode(), digest_size=4).hexdigest()}"

    @property
    def steps_in_all(self) -> int:
        return len(self._asked)

    @property
    def done(self) -> int:
        """Steps that were answered, also by an earlier call."""
        if self.store.stream(self.scope) is None:
            return 0
        return len(self.store.events(self.scope, after=self.after, kinds=(StepFinished.__name__,)))

    @property
    def placed(self) -> dict[int, str]:
        """Facts that stood in the original's prompts from this turn on, and what they said then: these to edit."""
        scope = self.parent.scope
        bodies = [e.body for e in self.store.events(scope, after=self.after, kinds=(FactsPlaced.__name__,))]
        numbers = sorted({f.fact for b in bodies if isinstance(b, FactsPlaced) for f in b.facts if not f.stage})
        k = self.store.knowledge(scope.user, max(self._read.values(), default=0))
        words = self.store.words(Scope.own(scope.user))
        said = {n: words.get(k.facts[n].text, "") for n in numbers if n in k.facts and k.facts[n].state != "erased"}
        return {n: text for n, text in said.items() if text.strip()}

    @property
    def estimate(self) -> Estimate:
        """Of what is not done yet."""
        left = self._asked[self.done :]
        first = left[0][0].number if left else self.turn
        recording = recording_of(self.store, self.parent.scope)
        run = replay(recording, self.settings)
        again = [step for step in run.steps if left and step.first_turn >= first]
        said = [t for turns in left for t in turns if t.role == "assistant"]
        reading = sum(sum(step.prompts) for step in again)
        writing = sum(tokens.count(t.text) for t in said)
        return Estimate(
            llm=self.settings.llm, turn=first, steps=len(left), calls=sum(len(step.prompts) for step in again),
            prompt_tokens=reading, completion_tokens=writing, cost_usd=price_of(self.settings.llm, reading, writing),
            tool_steps=sum(any(t.calls or t.role == "tool" for t in turns) for turns in left),
        )  # fmt: skip

    def steps(self) -> Iterator[Reply]:
        """Ask what is not answered yet, one message after the other; each answer is safe when it comes out.

        Raises a ModelError as the engine does; the message that it failed at is said again when the fork goes on.
        """
        left = self._asked[self.done :]
        if not left:
            return
        told = f", {', '.join(f'f{n}' for n in sorted(self.facts))} edited" if self.facts else ""
        self.store.open_stream(self.scope, self.parent, f"asked again from turn {self.turn} on{told}", self.after)
        now: list[datetime] = [left[0][0].said_at]
        with Engine.open(
            self.store, user=self.scope.user, conversation=self.scope.conversation, run=self.scope.run,
            settings=self.settings, chat=self._chat, options=self._options, background=False,
        ) as engine:  # fmt: skip
            engine.pager.clock = lambda: now[0]
            engine.remembering = reading = _AsItWasRead(self.store, self.scope, engine.pager)
            reading.edited = self.facts
            for turns in left:
                now[0], reading.version = turns[0].said_at, self._read.get(turns[0].number, 0)
                yield engine.say(turns[0].text, important=turns[0].important)

    def __repr__(self) -> str:
        return (
            f"<Fork {self.scope} of {self.parent.scope.run} from turn {self.turn} on, asking {self.settings.llm}: "
            f"{self.done} of {self.steps_in_all} messages answered>"
        )

    def _html(self) -> str:
        figures = {"of": self.parent.scope.run, "from turn": self.turn, "model": self.settings.llm,
                   "answered": f"{self.done} of {self.steps_in_all}", "settings": self.settings.hash}  # fmt: skip
        return rows(f"Fork {self.scope.run}", figures)


def fork(
    store: Store, source: Scope, turn: int, *, on_step: Callable[[Reply], None] | None = None, **rest: Any
) -> Forking:
    """Make a fork, or go on with it, to its end; what it would take is `Forking(…).estimate`."""
    made = Forking(store, source, turn, **rest)
    for reply in made.steps():
        if on_step is not None:
            on_step(reply)
    return made


# ── what is asked again ───────────────────────────────────────────────────────────────────────────────


def _asked(turns: Sequence[RecordedTurn], turn: int) -> list[Sequence[RecordedTurn]]:
    """The steps from the one that holds this turn on; what was said before any message is no step."""
    if not 1 <= turn <= len(turns):
        raise NotFound(f"no turn {turn} to ask again; turns go from 1 to {len(turns)}")
    found = [step for step in steps_of(turns) if step[-1].number >= turn and step[0].role == "user"]
    if not found:
        raise NotFound(f"no message of the user's at turn {turn} or after it: there is nothing to ask again")
    return found


def _before(store: Store, scope: Scope, turn: int) -> int:
    """The version just before this message."""
    if turn > 1:
        return store.version_at(scope, turn - 1)
    first = next(e for e in store.events(scope, kinds=(MessageReceived.__name__,)))
    return first.version - 1


def _read(store: Store, scope: Scope) -> dict[int, int]:
    """By the user's turn: the version of what was known that its step read; none where it read nothing."""
    found: dict[int, int] = {}
    turn = 0
    for event in store.events(scope, kinds=(MessageReceived.__name__, FactsPlaced.__name__)):
        if isinstance(event.body, MessageReceived):
            turn = event.body.turn.number
        elif isinstance(event.body, FactsPlaced):
            found[turn] = event.body.user_version
    return found


class _AsItWasRead(Remembering):
    """Long-term memory in a fork: what the original step read, or an edited copy of it. It only reads."""

    version = 0  # of the user's own stream, as this step is to read it; 0: it reads nothing
    edited: Facts = {}  # noqa: RUF012 - replaced, never changed

    def __init__(self, store: Store, scope: Scope, pager: Any) -> None:
        super().__init__(store, scope, pager)
        self._finder = FactFinder(pager.journal.words)

    def place(self, message: str) -> None:
        pager = self.pager
        if not self.version or pager.state.settings.remember == "off":
            return
        k = self._copy()
        placed = known.place(
            pager.state, pager.fill, k, self._finder, pager.journal.words, pager.journal.write, message,
            self.scope.conversation, tokens.count, pager.clock(),
        )  # fmt: skip
        if placed is not None:
            pager.add(placed)

    def _copy(self) -> Knowledge:
        """Numbers stay; what was erased since is in no copy."""
        k = self.memory.store.knowledge(self.scope.user, self.version)
        now = self.memory.knowledge.facts
        erased = {n for n in k.facts if now[n].state == "erased"}
        edits = dict.fromkeys(erased, "") | {
            n: text for n, text in self.edited.items() if n in k.facts and n not in erased
        }
        facts = k.facts | {n: self._with(k.facts[n], text) if text else _gone(k.facts[n]) for n, text in edits.items()}
        conflicts = {
            n: c for n, c in k.conflicts.items() if not edits.keys() & set(c.facts)
        }  # others are settled by it
        return Knowledge(k.version, facts, k.changes, conflicts, k.learned, k.on, k.summaries, k.slept)

    def _with(self, fact: Fact, text: str) -> Fact:
        return changed(fact, text=self.pager.journal.write(text), tokens=tokens.count(text))


def _gone(fact: Fact) -> Fact:
    return changed(fact, state="retracted", beliefs=())
