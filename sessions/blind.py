"""Two replies to one question, shown without their names: one with the memory, one with the last messages alone.

Both come from the same model, with windows of the same size. The memory's prompt is rehearsed, with one recall by the
question's own words (as pinned.py does), so nothing is written until somebody chooses; the choice goes into the log
(`RepliesCompared`), and only then the names are told.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from memory import show, tokens
from memory.case import open_case
from memory.engine import Engine
from memory.errors import BadMessage, BadSetting
from memory.events import RepliesCompared
from memory.expected import looked_for
from memory.prompt import Message, Prompt
from memory.recalls import Request
from memory.scope import LIVE, Scope
from memory.show import Shown
from memory.stores.sql import Store
from memory.turns import MESSAGE_TOKENS
from sessions.twice import Ask, Twice

MEMORY, PLAIN, NEITHER = "memory", "plain", "neither"


@dataclass(frozen=True)
class Pair(Shown):
    """`replies` as they are shown; which is whose says `named`, once somebody chose."""

    question: str
    llm: str
    replies: tuple[str, str]
    is_swapped: bool = field(repr=False)  # the memory's is the second
    tokens: tuple[int, int] = field(repr=False)  # of the prompts, with memory and without

    @property
    def memory(self) -> str:
        return self.replies[1 if self.is_swapped else 0]

    @property
    def plain(self) -> str:
        return self.replies[0 if self.is_swapped else 1]

    def named(self, choice: int) -> str:
        """Whose reply the first (1) or second (2) is; 0: neither was better. Raises BadSetting."""
        if choice not in (0, 1, 2):
            raise BadSetting(f"choose 1 or 2, or 0 where neither is better, not {choice!r}")
        if choice == 0:
            return NEITHER
        return MEMORY if (choice == 2) == self.is_swapped else PLAIN

    def _html(self) -> str:
        return show.rows(self.question, {"model": self.llm}) + show.table(["1", "2"], [self.replies])


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, revealed."""

    chosen: str  # memory, plain, neither
    first: str  # whose the first reply was
    second: str
    memory_tokens: int
    plain_tokens: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def posed(store: Store, scope: Scope, question: str, *, llm: str = "") -> Twice:
    """Both prompts, the memory's first; nobody is asked. `llm`: the conversation's own without it.

    Raises BadMessage for no question, NotFound.
    """
    if not question.strip():
        raise BadMessage("ask something: the question has no words")
    from memory.stores.vector_source import StoredVectors

    case = open_case(store, scope, looked_for(question), question, None, StoredVectors(store))
    asking = (Request(question=question, by="user"),)
    case = replace(case, recorded=None, scope=scope.at(LIVE), question=question, recalls=asking)
    done = case.rehearsal.run()
    prompt = done.step.prompts[-1]
    with_memory = Prompt(tuple(Message.of_row(row) for row in prompt.messages)).to_chat(done.words)
    s = case.before.settings
    without, plain_tokens = _plain(store, scope, question, s.window_tokens - s.reply_tokens)
    return Twice(llm or s.llm, (with_memory, without), (prompt.tokens, plain_tokens), s.reply_tokens)


def shown(question: str, asked: Twice, said: tuple[str, str], *, is_swapped: bool) -> Pair:
    """Both replies without their names. `is_swapped`: a coin of the caller's."""
    return Pair(question, asked.llm, (said[1], said[0]) if is_swapped else said, is_swapped, asked.tokens)


def pair(
    store: Store, scope: Scope, question: str, *, is_swapped: bool, llm: str = "", chat: Ask | None = None
) -> Pair:
    """Ask both; nothing is written. Raises as `posed`, and what a model raises."""
    asked = posed(store, scope, question, llm=llm)
    return shown(question, asked, asked.replies(chat), is_swapped=is_swapped)


def _plain(store: Store, scope: Scope, question: str, budget: int) -> tuple[list[dict[str, Any]], int]:
    """The application's system prompt, the last messages that fit, the question."""
    from sessions.transcript import recording_of

    recording = recording_of(store, scope)
    system = [{"role": "system", "content": recording.system}] if recording.system else []
    used = tokens.count(recording.system) + tokens.count(question) + 2 * MESSAGE_TOKENS
    kept: list[dict[str, Any]] = []
    for turn in reversed(recording.turns):
        used += tokens.count(turn.text) + MESSAGE_TOKENS
        if used > budget:
            used -= tokens.count(turn.text) + MESSAGE_TOKENS
            break
        if turn.role in ("user", "assistant") and turn.text:  # a tool's result without its call is refused by models
            kept.append({"role": turn.role, "content": turn.text})
    return [*system, *reversed(kept), {"role": "user", "content": question}], used


def choose(store: Store, scope: Scope, made: Pair, choice: int, *, by: str = "user") -> Choice:
    """Record what was chosen (1, 2, or 0 for neither) in the run's log, and tell whose the replies were."""
    chosen = made.named(choice)
    engine = Engine.open(store, user=scope.user, conversation=scope.conversation, run=scope.run)
    engine.compared(made.question, made.memory, made.plain, chosen, made.llm, made.tokens, by)
    return Choice(chosen, made.named(1), made.named(2), *made.tokens)


def choices(store: Store, scope: Scope) -> list[RepliesCompared]:
    """All of a run, in order."""
    found = store.events(scope, kinds=(RepliesCompared.__name__,))
    return [event.body for event in found if isinstance(event.body, RepliesCompared)]
