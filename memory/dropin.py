"""`engine.completion(…)` in place of `litellm.completion(…)`: the same call, the same answer, with a memory.

The application goes on sending its whole history; what of it is new becomes turns (resent.py), and the model reads
the window that the engine makes of them. An edit of what was said before goes on in a run of its own, beside the
first: nothing is overwritten; what is known about the user is read there, and none is learnt. Calls of the
application's own tools go back to it, those of the memory do not. Words only: images and sound are refused.

Not here: how a step goes (engine.py), LiteLLM's shapes (models/responses.py).
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from memory import resent
from memory.calling import TRIES, Complete, Wanted
from memory.engine import Engine, Reply
from memory.errors import BadMessage, BadSetting, ConversationBusy, EngineError, WentOn
from memory.events import MessageReceived, MessageReplied
from memory.models.chat import complete, protocol_of
from memory.models.responses import Given, as_litellm, ending, new_id, piece, response
from memory.pager import Said
from memory.remembering import Remembering
from memory.resent import Key, Place
from memory.scope import FORK, LIVE, Scope
from memory.settings import Settings
from memory.show import Shown, rows
from memory.stores.sql import SqlJournal, Store

EDIT = f"{FORK}edit-"  # begins the name of a run that goes on after an edit
KEPT = 64  # conversations that stay open
AGAIN = 8  # times that a history is compared anew, since others went on with the conversation meanwhile
REFUSED = {
    "functions": "pass tools",
    "function_call": "pass tool_choice",
    "logprobs": "leave it out: an answer that took several calls has none",
    "top_logprobs": "leave it out: an answer that took several calls has none",
    "audio": "leave it out: the memory keeps words alone",
    "modalities": "leave it out: the memory keeps words alone",
}


class ReaderLeft(Exception):
    """Nobody reads the stream any more: the step is given up."""


class DropIn(Shown):
    """Any number of conversations behind one `completion`.

    >>> engine = DropIn("store", user="ana", window_tokens=8_000)              # doctest: +SKIP
    >>> engine.completion(model="gpt-4o-mini", messages=messages,
    ...                   metadata={"conversation_id": "trip"})                # doctest: +SKIP

    `metadata` may name the conversation and the user (`conversation_id`, `user_id`); without, those given here hold.
    A conversation that nobody names is known by its first message. Other keywords are settings.
    """

    def __init__(
        self,
        store: Store | str | Path | None = None,
        *,
        user: str = "",
        conversation: str = "",
        options: Mapping[str, Any] | None = None,
        memory_options: Mapping[str, Any] | None = None,
        timeout_s: float = 60.0,
        wait_s: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
        chat: Complete = complete,
        background: bool = True,
        **changes: Any,
    ) -> None:
        Settings().but(**changes)  # what is wrong is told now
        self._owns_store = not isinstance(store, Store)
        self.store = store if isinstance(store, Store) else Store.open(store)
        self.user, self.conversation, self.wait_s, self.changes = user, conversation, wait_s, changes
        self._engine_options: dict[str, Any] = {
            "options": dict(options or {}), "memory_options": memory_options, "timeout_s": timeout_s,
            "wait_s": wait_s, "sleep": sleep, "chance": chance, "chat": chat, "background": background,
        }  # fmt: skip
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str], _Conversation] = {}

    @classmethod
    def over(cls, engine: Engine, wait_s: float = 120.0) -> DropIn:
        """One whose conversation, unless a call names another, is this engine's."""
        caller, scope = engine.caller, engine.scope
        made = cls(
            engine.store, user=scope.user, conversation=scope.conversation, options=caller.options,
            memory_options=caller.memory_options, timeout_s=caller.timeout_s, wait_s=wait_s, sleep=caller.sleep,
            chance=caller.chance, chat=caller.chat, **engine.settings.to_dict(),
        )  # fmt: skip
        if scope.run == LIVE:
            made._open[scope.user, scope.conversation] = _Conversation(engines={LIVE: engine}, lent=True)
        return made

    # ── LiteLLM's calls ───────────────────────────────────────────────────────────────────────────────

    def completion(self, model: str, messages: Sequence[Any], **given: Any) -> Any:
        """As `litellm.completion`: a ModelResponse, or with `stream=True` an iterator of its chunks.

        What LiteLLM takes is passed on. Refused, with BadRequestError: `n` above 1, `logprobs`, `functions`, sound.
        `max_retries` is how often a busy or unreachable model is tried again (3 unless given). Usage and cost are of
        all calls that the answer took; `response._hidden_params["memory"]` says where it stands in the store.
        Raises LiteLLM's exceptions.
        """
        call = self._call(model, messages, given)
        if not call.streams:
            with _theirs(model):
                return response(self._answer(call, None))
        events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        making = self._begin(call, events.put, streamed=True)
        return Chunks(call, making, events.get, events.get())

    async def acompletion(self, model: str, messages: Sequence[Any], **given: Any) -> Any:
        """As `litellm.acompletion`; the step runs in a thread of its own, and goes on if the caller is cancelled."""
        call = self._call(model, messages, given)
        events: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def put(event: Any) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(events.put_nowait, event)

        making = self._begin(call, put, streamed=call.streams)
        first = await events.get()
        if call.streams:
            return AsyncChunks(call, making, events.get, first)
        return response(_heard(first, model))

    def _begin(self, call: _Call, put: Callable[[Any], None], *, streamed: bool) -> _Making:
        """Make the answer in a thread: pieces of text are put, then what it came to, or what went wrong."""
        making = _Making(put)

        def work() -> None:
            heard: Any = None
            try:
                heard = self._answer(call, making.hear if streamed else None)
            except (EngineError, ReaderLeft) as error:
                heard = error
            finally:
                put(sys.exception() or heard)  # whoever waits must hear of a fault of ours, too

        threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True).start()
        return making

    def _call(self, model: str, messages: Sequence[Any], given: Mapping[str, Any]) -> _Call:
        with _theirs(model):
            return self._read(model, messages, {name: value for name, value in given.items() if value is not None})

    def _read(self, model: str, messages: Sequence[Any], given: dict[str, Any]) -> _Call:
        for name, instead in REFUSED.items():
            if given.pop(name, None):
                raise BadMessage(f"{name} goes with no answer that has a memory; {instead}")
        if given.pop("n", 1) != 1:
            raise BadMessage("a conversation with a memory goes on with one answer: leave n out, or ask n times")
        system, said = resent.read(messages)
        metadata = given.get("metadata") or {}
        user = str(metadata.get("user_id") or given.get("user") or self.user)
        if not user:
            raise BadMessage('nobody says whose memory it is: pass metadata={"user_id": …}, or user= to the engine')
        conversation = str(metadata.get("conversation_id") or self.conversation or resent.name_of(said))
        streams, stream_options = bool(given.pop("stream", False)), given.pop("stream_options", None) or {}
        retries = given.pop("num_retries", None)
        retries = given.pop("max_retries", retries)
        tools, choice = tuple(given.pop("tools", ())), given.pop("tool_choice", "auto")
        wanted = Wanted(
            llm=model,
            system=system,
            tools=() if choice == "none" else tools,
            tool_choice=choice,
            max_tokens=given.pop("max_tokens", None),
            timeout_s=_seconds(given.pop("timeout", None), given.pop("request_timeout", None)),
            tries=TRIES if retries is None else max(0, int(retries)) + 1,
            options=given,
        )
        return _Call(Scope(user, conversation), said, wanted, streams, bool(stream_options.get("include_usage")))

    # ── one answer ────────────────────────────────────────────────────────────────────────────────────

    def _answer(self, call: _Call, on_text: Callable[[str], None] | None) -> Given:
        """One after another in a conversation; where another process was faster, the history is compared again."""
        with self._held(call.scope) as held:
            for again in range(AGAIN):
                engine, new, after = self._placed(held, call)
                try:
                    reply = engine.take(new, call.wanted, after=after, on_text=on_text)
                except WentOn:
                    if again == AGAIN - 1:
                        raise
                else:
                    return _given(reply, call, engine.scope)
        raise AssertionError("unreachable")

    def _placed(self, held: _Conversation, call: _Call) -> tuple[Engine, Sequence[Said], int]:
        """The run that these messages go on with, made if they are an edit; what of them is new; after which turn."""
        live = self._engine(held, call.scope, call.wanted)
        live.rounds.check_tools(call.wanted)  # before a branch is begun
        _check_form(live, call.wanted)
        sent = [resent.key_of(each, live.pager.redactor) for each in call.said]
        runs = [live.scope]
        known = [held.keys(self.store, live.scope)]
        if resent.common(known[0], sent) < len(known[0]):
            edits = [s.scope for s in self.store.streams(call.scope.user, call.scope.conversation)]
            runs += [scope for scope in edits if scope.run.startswith(EDIT)]
            known += [held.keys(self.store, scope) for scope in runs[1:]]
        place = resent.place(known, sent)
        scope = runs[place.run]
        if place.branches:
            scope = self._branch(scope, place, sent, len(runs))
        return self._engine(held, scope, call.wanted), call.said[place.new :], place.known

    def _branch(self, parent: Scope, place: Place, sent: Sequence[Key], nth: int) -> Scope:
        """A run of its own, which leaves its parent before the step that is said otherwise."""
        turn = place.known + 1
        if turn > 1:
            after = self.store.version_at(parent, turn - 1)
        else:
            kinds = (MessageReceived.__name__, MessageReplied.__name__)
            after = self.store.events(parent, kinds=kinds)[0].version - 1
        scope = parent.at(f"{EDIT}{nth}-t{turn}")
        self.store.open_stream(scope, self.store.require(parent), f"said otherwise from turn {turn} on", after)
        return scope

    def _engine(self, held: _Conversation, scope: Scope, wanted: Wanted) -> Engine:
        found = held.engines.get(scope.run)
        if found is None:
            own = {**self.changes, "llm": wanted.llm} if scope.run == LIVE else {}  # a branch has its parent's
            found = held.engines[scope.run] = Engine.open(
                self.store, user=scope.user, conversation=scope.conversation, run=scope.run, system=wanted.system,
                **own, **self._engine_options,
            )  # fmt: skip
            if scope.run != LIVE:
                found.remembering = _Reading(self.store, scope, found.pager)
        return found

    @contextmanager
    def _held(self, scope: Scope) -> Iterator[_Conversation]:
        """The conversation, alone in this process; the engine's lease does the same among processes."""
        at = (scope.user, scope.conversation)
        with self._lock:
            held = self._open[at] = self._open.pop(at) if at in self._open else _Conversation()
            held.wanted += 1
        try:
            if not held.lock.acquire(timeout=self.wait_s):
                raise ConversationBusy(f"other calls of {scope} are running since {self.wait_s:g} s: call again later")
            try:
                yield held
            finally:
                held.lock.release()
        finally:
            with self._lock:
                held.wanted -= 1
                idle = [key for key, each in self._open.items() if not each.wanted and not each.lent]
                closing = [self._open.pop(key) for key in idle[: max(0, len(self._open) - KEPT)]]
            for each in closing:
                each.close()

    # ── the end ───────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """End the memory work in hand; close the store, unless it was given open."""
        with self._lock:
            closing, self._open = list(self._open.values()), {}
        for each in closing:
            each.close()
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> DropIn:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<DropIn over {str(self.store.path)!r}: {len(self._open)} conversations open>"

    def _html(self) -> str:
        return rows("Drop-in", {"store": str(self.store.path), "conversations open": len(self._open)})


# ── what a call is ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Call:
    scope: Scope
    said: tuple[Said, ...]
    wanted: Wanted
    streams: bool
    usage: bool  # the stream ends with what it used


@dataclass(slots=True)
class _Conversation:
    engines: dict[str, Engine] = field(default_factory=dict)  # by run
    lent: bool = False  # its engine is somebody else's, who closes it
    wanted: int = 0  # calls that run or wait
    lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[str, tuple[SqlJournal, int, list[Key]]] = field(default_factory=dict)

    def keys(self, store: Store, scope: Scope) -> list[Key]:
        """What a run holds, as it is compared; read on from where it was read last."""
        journal, version, keys = self._known.get(scope.run) or (store.journal(scope), -1, [])
        state = journal.load()
        if state.version != version:
            keys = resent.keys_of(state, journal.words)
        self._known[scope.run] = journal, state.version, keys
        return keys

    def close(self) -> None:
        for run, engine in self.engines.items():
            if not (self.lent and run == LIVE):
                engine.close()


class _Reading(Remembering):
    """Long-term memory in a branch: read, never written, for what is learnt names turns of the live run."""

    def place(self, message: str) -> None:
        self.memory.settings = self.pager.state.settings
        if self.pager.state.settings.remember != "off":
            self.put(self.memory.knowledge, message, here=False)


def _check_form(engine: Engine, wanted: Wanted) -> None:
    """A model that asks its memory by a schema has no place for another one."""
    by, why = protocol_of(wanted.llm, engine.settings.protocol)
    if wanted.options.get("response_format") and not wanted.tools and by == "schema":
        raise BadSetting(
            f"response_format cannot go with the protocol schema, by which {wanted.llm} asks for pages "
            f"({why}): set protocol to tools"
        )


def _seconds(*given: Any) -> float | None:
    found = next((each for each in given if each is not None), None)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or found <= 0:
        raise BadMessage(f"timeout is a number of seconds, not {found!r}")
    return float(found)


def _given(reply: Reply, call: _Call, scope: Scope) -> Given:
    where = {"user": scope.user, "conversation": scope.conversation, "run": scope.run, "step": reply.step,
             "turn": reply.turn, "recalled": list(reply.recalled)}  # fmt: skip
    return Given(
        llm=call.wanted.llm, text=reply.text, calls=reply.calls, finish=reply.finish,
        prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens, cost_usd=reply.cost_usd,
        memory=where,
    )  # fmt: skip


@contextmanager
def _theirs(llm: str) -> Iterator[None]:
    try:
        yield
    except EngineError as error:
        raise as_litellm(error, llm) from error


# ── streams ───────────────────────────────────────────────────────────────────────────────────────────


class _Making:
    """An answer under way in a thread, and whether anybody still reads it."""

    def __init__(self, put: Callable[[Any], None]) -> None:
        self._put = put
        self.left = False

    def hear(self, text: str) -> None:
        if self.left:
            raise ReaderLeft
        self._put(text)


def _heard(event: Any, llm: str) -> Any:
    if isinstance(event, EngineError):
        raise as_litellm(event, llm) from event
    if isinstance(event, BaseException):
        raise event
    return event


class _Stream:
    """What both kinds of streams share. An error before the first piece is raised by the call, as LiteLLM does."""

    def __init__(self, call: _Call, making: _Making, get: Callable[[], Any], first: Any) -> None:
        self._making, self._get, self._llm = making, get, call.wanted.llm
        self._usage, self._id = call.usage, new_id()
        self._ready: deque[Any] = deque()
        self._spoken = self._ended = False
        self._take(first)

    def _take(self, event: Any) -> None:
        """The chunks of a piece of text, or of the end."""
        self._ended = not isinstance(event, str)
        if isinstance(_heard(event, self._llm), Given):
            self._ready += ending(event, self._id, usage=self._usage)
        else:
            self._ready.append(piece(event, self._llm, self._id, first=not self._spoken))
            self._spoken = True

    def _leave(self) -> None:
        self._making.left = True

    def __del__(self) -> None:
        self._leave()


class Chunks(_Stream):
    """A stream of an answer.

    Whoever closes it, or lets it go, before its end stops the model; what came counts only if it comes back in the
    history.
    """

    def __iter__(self) -> Chunks:
        return self

    def __next__(self) -> Any:
        if not self._ready and not self._ended:
            self._take(self._get())
        if not self._ready:
            raise StopIteration
        return self._ready.popleft()

    def close(self) -> None:
        self._leave()


class AsyncChunks(_Stream):
    """The same, to be read by `async for`."""

    def __aiter__(self) -> AsyncChunks:
        return self

    async def __anext__(self) -> Any:
        if not self._ready and not self._ended:
            self._take(await self._get())
        if not self._ready:
            raise StopAsyncIteration
        return self._ready.popleft()

    async def aclose(self) -> None:
        self._leave()
