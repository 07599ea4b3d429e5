"""What tests of the core share: turns to page, conversations to drive a pager by, and a function as the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from hypothesis import strategies as st

from memory import Engine
from memory.bookmarks import Corpus, PageWords
from memory.errors import BudgetTooSmall
from memory.journal import MemoryJournal
from memory.models.chat import Answer, ToolCall
from memory.models.embedding import named as embedder
from memory.pager import Pager, Said
from memory.prompt import Prompt
from memory.recalls import Request
from memory.settings import Settings
from memory.state import State, fold
from memory.tokens import count
from memory.turns import CALL_TOKENS, MESSAGE_TOKENS, Turn

START = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)


def clock() -> Callable[[], datetime]:
    """A clock that moves on by a minute each time it is read."""
    now = [START]

    def tick() -> datetime:
        now[0] += timedelta(minutes=1)
        return now[0]

    return tick


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────────


def turn(number: int, role: str = "user", tokens: int = 10, *, minutes: float = 0, **rest: Any) -> Turn:
    return Turn(number, role, number, tokens, START + timedelta(minutes=minutes or number), **rest)


def turns(most_tokens: int = 80) -> st.SearchStrategy[list[Turn]]:
    """Turns of two speakers with gaps of up to five hours."""
    said = st.tuples(st.integers(1, most_tokens), st.integers(0, 300), st.sampled_from(("user", "assistant")))

    def told(each: list[tuple[int, int, str]]) -> list[Turn]:
        minutes, spoken = 0, []
        for i, (tokens, gap, role) in enumerate(each, 1):
            minutes += gap
            spoken.append(Turn(i, role, i, tokens, START + timedelta(minutes=minutes)))
        return spoken

    return st.lists(said, max_size=60).map(told)


WORDS = [
    "budget",
    "flight",
    "allergy",
    "peanut",
    "Lisbon",
    "hotel",
    "museum",
    "ticket",
    "garden",
    "piano",
    "invoice",
    "4711",
    "river",
    "camera",
    "Tuesday",
]
HAN = "预算是八千元我们下周去里斯本看海住在老城区的酒店里吃了花生过敏不能再吃钢琴课改到星期二下午三点"


def text_of(tokens: int, chinese: bool = False, seed: int = 0) -> str:
    """About so many tokens of words; the same for the same seed."""
    if chinese:
        return "".join(HAN[(seed + i * 7) % len(HAN)] for i in range(max(1, tokens)))
    return " ".join(WORDS[(seed + i * (1 + seed % 5)) % len(WORDS)] for i in range(max(1, tokens)))


# ── a conversation that drives a pager ────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Step:
    """What happens in one step: a message, tool exchanges, a recall, an answer."""

    size: int
    chinese: bool = False
    hours: float = 0.0  # since the step before
    tools: tuple[tuple[int, int], ...] = ()  # one a call: tokens of its result (0: none comes), tokens of its arguments
    recall: tuple[int, ...] = ()  # pages, counted from the newest
    question: bool = False
    answer: int = 20
    marked: bool = False


def steps(most_tokens: int = 3_000, least: int = 1, most: int = 8) -> st.SearchStrategy[list[Step]]:
    small = st.integers(1, 60)
    size = st.one_of(small, small, st.integers(1, most_tokens))
    step = st.builds(
        Step,
        size=size,
        chinese=st.booleans(),
        hours=st.sampled_from((0.0, 0.1, 7.0)),
        tools=st.one_of(
            st.just(()), st.lists(st.tuples(st.integers(0, 400), st.integers(1, 200)), max_size=3).map(tuple)
        ),
        recall=st.lists(st.integers(0, 9), max_size=3).map(tuple),
        question=st.booleans(),
        answer=small,
        marked=st.booleans(),
    )
    return st.lists(step, min_size=least, max_size=most)


Watch = Callable[[Pager, Prompt], None]


def plain(words: PageWords, corpus: Corpus) -> tuple[str, ...]:
    """A bookmark generator that costs nothing."""
    return (f"page {words.page}", f"{len(words.texts)} turns")


def meaning(text: str) -> Any:
    """The vector of a message by hashed words."""
    return embedder("hash").queries([text])[0]


def pager_of(settings: Settings, *, system: str = "", **own: Any) -> Pager:
    """A pager over a conversation in memory that has just begun."""
    tick = clock()
    own.setdefault("generator", plain)
    own.setdefault("meaning", meaning)
    pager = Pager(MemoryJournal(clock=tick), clock=tick, **own)
    pager.start(settings, system=system)
    pager.commit()
    return pager


def drive(pager: Pager, each: Iterable[Step], watch: Watch = lambda pager, prompt: None) -> None:
    """Take the steps in the engine's order; `watch` sees each prompt. The steps' hours are said_at's."""
    at = START
    for seed, step in enumerate(each):
        at += timedelta(hours=step.hours, minutes=1)
        text = text_of(step.size, step.chinese, seed)
        pager.receive(Said(text, said_at=at, important=step.marked))
        pager.commit()
        pager.plan(text)
        watch(pager, pager.prompt())
        use_tools(pager, step, at, seed)
        if step.recall or step.question:
            newest = len(pager.state.pages)
            names = tuple(f"p{newest - back}" for back in step.recall if newest > back)
            pager.recall(Request(names, text_of(3, step.chinese, seed) if step.question else "", call=f"r{seed}"))
            watch(pager, pager.prompt(1))
        pager.reply(Said(text_of(step.answer, step.chinese, seed + 1), "assistant", at))
        pager.settle(text_of(step.answer, step.chinese, seed + 1))
        pager.commit()


def use_tools(pager: Pager, step: Step, at: datetime, seed: int) -> None:
    """One message with parallel calls, then the results that come; then room is made again, as in a replay."""
    if not step.tools:
        return
    calls = tuple((f"c{nth}", "look_up", text_of(size, seed=seed)) for nth, (_, size) in enumerate(step.tools))
    pager.reply(Said("", "assistant", at, calls=calls))
    for nth, (size, _) in enumerate(step.tools):
        if size:
            pager.reply(Said(text_of(size, step.chinese, seed), "tool", at, answers=f"c{nth}"))
    pager.plan()


def driven(each: Iterable[Step], settings: Settings, **own: Any) -> Pager:
    pager = pager_of(settings, **own)
    drive(pager, each)
    return pager


def rebuilt(pager: Pager) -> State:
    return fold(pager.journal.events)


# ── what a provider counts and refuses ────────────────────────────────────────────────────────────────


def counted(messages: Sequence[dict[str, Any]], tools: Sequence[Any] = ()) -> int:
    """Tokens of a chat as a provider would count them."""
    total = count(json.dumps(list(tools))) if tools else 0
    for message in messages:
        total += count(message["content"] or "") + MESSAGE_TOKENS
        for call in message.get("tool_calls", ()):
            total += CALL_TOKENS + count(call["function"]["name"]) + count(call["function"]["arguments"])
    return total


def unsound(messages: Sequence[dict[str, Any]]) -> list[str]:
    """What a provider answers 400 to: half a tool exchange, an empty message, a role that it does not know."""
    faults, waiting = [], []
    for i, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                faults.append(f"{i}: a result of {message.get('tool_call_id')!r}, which was not called just before")
            else:
                waiting.remove(message["tool_call_id"])
            continue
        faults += [f"{i}: {call!r} has no result" for call in waiting]
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        if "tool_call_id" in message or message["role"] not in ("system", "user", "assistant"):
            faults.append(f"{i}: a {message['role']} message with {sorted(message)}")
        if not message["content"] and not waiting:
            faults.append(f"{i}: an empty message")
    return faults + [f"the end: {call!r} has no result" for call in waiting]


# ── a function as the model ───────────────────────────────────────────────────────────────────────────

Turnwise = Callable[[list[dict[str, Any]]], "str | Answer"]


class Model:
    """Called as `memory.models.chat.complete` is; keeps what it was sent. `act` sees the messages and answers."""

    def __init__(self, act: Turnwise | str = "Noted.", ratio: float = 1.0) -> None:
        self.act = (lambda messages: act) if isinstance(act, str) else act
        self.ratio = ratio  # of its count to ours
        self.seen: list[list[dict[str, Any]]] = []
        self.sizes: list[int] = []  # tokens, as it counts
        self.choices: list[str] = []

    def __call__(
        self,
        llm: str,
        messages: list[dict[str, Any]],
        *,
        tools: Sequence[Any] = (),
        tool_choice: str = "auto",
        timeout_s: float = 60,
        max_tokens: int | None = None,
        on_text: Callable[[str], None] | None = None,
        options: Any = None,
    ) -> Answer:
        self.seen.append(messages)
        self.choices.append(tool_choice)
        self.sizes.append(round(counted(messages, tools) * self.ratio))
        said = self.act(messages)
        if isinstance(said, str):
            said = Answer(said, (), 0, count(said), 0.0, "stop", llm, 1.0)
        if on_text and said.text:
            on_text(said.text)
        return replace(said, prompt_tokens=self.sizes[-1], llm=llm)


def calling(*calls: ToolCall | dict[str, Any], text: str = "") -> Answer:
    """An answer that asks for tools; a dictionary is what `recall` is asked."""
    asked = tuple(c if isinstance(c, ToolCall) else ToolCall(f"call_{i}", "recall", c) for i, c in enumerate(calls))
    return Answer(text, asked, 0, 5, 0.0, "tool_calls", "test", 1.0)


def first(*answers: str | Answer, then: str | Answer = "Noted.") -> Turnwise:
    """These answers one after another, then always the same."""
    left = list(answers)
    return lambda messages: left.pop(0) if left else then


SMALL = {"window_tokens": 1_500, "reply_tokens": 100, "boundary": "fixed_4", "retry_s": 0}


@pytest.fixture
def opened(tmp_path):
    """Engines on one store; closed at the end."""
    engines: list[Engine] = []

    def open_engine(act: Any = "Noted.", *, conversation: str = "trip", user: str = "ana", **rest: Any) -> Engine:
        model = act if isinstance(act, Model) else Model(act)
        engine = Engine.open(tmp_path / "store", user=user, conversation=conversation, chat=model, **{**SMALL, **rest})
        engine._following = StringIO()  # nothing but `close`: what is derived from the log has tests of its own
        engines.append(engine)
        return engine

    yield open_engine
    for engine in engines:
        engine.close()


def fill_up(engine: Engine, messages: int = 14, size: int = 60) -> None:
    """Say so much that pages leave."""
    for i in range(messages):
        engine.say(f"Fact {i}: the code of drawer {i} is {1_000 + i}. {text_of(size, seed=i)}")


def fits_or_is_impossible(each: Iterable[Step], settings: Settings, watch: Watch, **own: Any) -> bool:
    """Drive a pager; False where the settings leave no room for a message at all."""
    try:
        drive(pager_of(settings, **own), each, watch)
    except BudgetTooSmall:
        return False
    return True
