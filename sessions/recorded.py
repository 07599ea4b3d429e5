"""Records what an application says to its models: `litellm.callbacks.append(workbench.recorder(store))`.

Calls become conversations in the store: turns, the prompts that were sent, tokens, cost, latency, errors. All of it
happens on a thread of its own, behind a queue that drops and counts rather than keep the application waiting; nothing
is raised into it. What was recorded, dropped or could not be read is in `status`.

`metadata={"conversation_id": …, "user_id": …}` says whose call it is. Without a name a call belongs to the
conversation whose history it sends again (resending.py), else it begins one.
"""

from __future__ import annotations

import atexit
import hashlib
import queue
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any
from uuid import uuid4

from memory.engine import resolved
from memory.errors import EngineError
from memory.models.chat import litellm_ready
from memory.models.recorder import (
    FAILED,
    UNREADABLE,
    CallMade,
    Ear,
    Sent,
    ask_nobody,
    callback_class,
    install,
    is_installed,
    rehearse,
    uninstall,
)
from memory.redaction import clean
from memory.scope import RECORDED, Scope
from memory.settings import Settings
from memory.show import Shown, many, rows, table
from memory.stores.sql import Store
from memory.turns import Turn
from sessions.recording import words_of
from sessions.resending import Place, place
from sessions.tape import Line, Outcome, Tape, fit

SOURCE = "litellm"
APP = "app"  # whose conversations they are, where nobody says
UNNAMED = "chat-"  # begins the names of conversations that the application does not name
BRANCH = "~"  # between a conversation's name and the number of one that goes on from an edit
ROLES = {"developer": "system", "function": "tool"}  # other names for ours
OPEN = 100  # conversations whose turns are kept in memory, and how far back an unnamed one is looked for
SURE = 2  # messages of an unnamed conversation's end that say that a call belongs to it
MOST_UNDER_WAY = 10_000  # calls whose end is waited for
QUIET_S = 2.0  # without a call, before replays are brought up to date
SHARE = 20  # a replay is made again after a silence of so many times what it took
TROUBLE = (EngineError, OSError, *UNREADABLE)


@dataclass(frozen=True)
class Status(Shown):
    """What became of the calls so far."""

    installed: bool  # LiteLLM tells us about calls
    recorded: int  # in the store
    failed_calls: int  # of those: calls that the provider failed
    waiting: int  # ended, and not yet in the store
    under_way: int  # begun (the newest 10,000), no end heard of: they run, or nobody read their stream to the end
    repeated: int  # heard of before
    dropped: int  # the queue was full
    lost: int  # could not be read or written: `trouble` says why
    passed_over: dict[str, int]  # no chats, or an engine's own
    conversations: int
    unnamed: int  # of those: found by the history that was sent again
    branched: int  # of those: begun by an edit of what was said before
    trouble: tuple[str, ...] = ()  # the newest reasons

    @property
    def summary(self) -> str:
        """`12 calls in 2 conversations; 1 dropped`"""
        told = [f"{many(self.recorded, 'call')} in {many(self.conversations, 'conversation')}"]
        told += [f"{n} {what}" for what, n in self._said.items() if n]
        told += [f"{n} passed over ({why})" for why, n in self.passed_over.items()]
        told += [] if self.installed else ["not in litellm.callbacks: nothing more is heard"]
        return "; ".join(told)

    @property
    def _said(self) -> dict[str, int]:
        return {
            "failed by their provider": self.failed_calls, "waiting": self.waiting, "under way": self.under_way,
            "heard of twice": self.repeated, "dropped": self.dropped, "lost": self.lost,
            "conversations found by their history, for the calls do not name them in metadata": self.unnamed,
            "begun by an edit": self.branched,
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "summary": self.summary}

    def __repr__(self) -> str:
        return f"<Recorder: {self.summary}>"

    def _html(self) -> str:
        return rows("Recorder", {"so far": self.summary}) + table(("what went wrong",), [(t,) for t in self.trouble])


@dataclass(frozen=True)
class SelfTest(Shown):
    arrives: bool
    why: str
    ms: float = 0.0

    def __bool__(self) -> bool:
        return self.arrives

    def __repr__(self) -> str:
        return f"<Self-test: {self.why}>"

    def _html(self) -> str:
        return rows("Self-test", {"events arrive": "yes" if self.arrives else "no", "why": self.why})


@dataclass(slots=True)
class _Counts:
    accepted: int = 0  # into the queue
    done: int = 0
    recorded: int = 0
    failed_calls: int = 0
    repeated: int = 0
    dropped: int = 0
    lost: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    conversations: set[Scope] = field(default_factory=set)
    unnamed: set[Scope] = field(default_factory=set)
    branched: set[Scope] = field(default_factory=set)
    trouble: deque[str] = field(default_factory=partial(deque, maxlen=5))


class Recorder(Ear, Shown):
    """
    >>> recorder = workbench.recorder("store")                             # doctest: +SKIP
    >>> litellm.callbacks.append(recorder)                                 # doctest: +SKIP
    >>> recorder.self_test()                                               # doctest: +SKIP
    <Self-test: events arrive, in 5 ms>
    >>> recorder.flush(), recorder.status                                  # doctest: +SKIP
    """

    def __init__(
        self,
        store: Store | str | Path | None = None,
        *,
        user: str = APP,
        conversation: str = "",
        title: str = "",
        remember: bool = True,
        replay: bool = True,
        settings: Settings | None = None,
        waiting: int = 1_000,
        **changes: Any,
    ) -> None:
        super().__init__()
        self.store = store if isinstance(store, Store) else Store.open(store)
        self._owns_store = self.store is not store
        self.user, self.conversation, self.title = user, conversation, title
        self._remember = remember
        self._settings = resolved((settings or Settings()).but(**changes)) if replay else None
        self._queue: queue.Queue[CallMade | None] = queue.Queue(waiting)
        self._counts, self._changed = _Counts(), threading.Condition()
        self._under_way: dict[str, None] = {}  # in the order in which they began
        self._heard: set[str] = set()  # tokens of self-tests
        self._tapes: OrderedDict[Scope, Tape] = OrderedDict()
        self._stale: dict[Scope, Tape] = {}  # their replay is behind
        self._unnamed_loaded: set[str] = set()
        self._took_s = 0.0
        self._worker: threading.Thread | None = None
        self._inline = self._closed = False
        self._writing = threading.Lock()
        self._key = lru_cache(8_192)(self._key_of)
        atexit.register(self._at_exit)

    # ── what LiteLLM tells, on threads of the application ─────────────────────────────────────────────

    def began(self, call_id: str) -> None:
        with self._changed:
            self._under_way[call_id] = None
            if len(self._under_way) > MOST_UNDER_WAY:
                del self._under_way[next(iter(self._under_way))]

    def made(self, call: CallMade) -> None:
        """Put it into the queue; where that is full it is dropped, and counted."""
        self._ended(call.id)
        with self._changed:
            self._counts.accepted += 1
        if self._inline:
            self._handle(call)
            self._bring_replays()
            return
        try:
            self._queue.put_nowait(call)
        except queue.Full:
            with self._changed:
                self._counts.accepted -= 1
                self._counts.dropped += 1
            return
        self._wake()

    def passed_over(self, call_id: str, why: str) -> None:
        with self._changed:
            self._counts.passed_over[why] += 1

    def lost(self, call_id: str, why: str) -> None:
        self._ended(call_id)
        self._note_lost(why)

    def tested(self, token: str) -> None:
        with self._changed:
            self._heard.add(token)
            self._changed.notify_all()

    def _ended(self, call_id: str) -> None:
        with self._changed:
            self._under_way.pop(call_id, None)
            self._changed.notify_all()

    def _note_lost(self, why: str) -> None:
        with self._changed:
            self._counts.lost += 1
            self._counts.trouble.append(clean(self.store.redactor(clean(why))[0]))

    # ── on its own thread ─────────────────────────────────────────────────────────────────────────────

    def _wake(self) -> None:
        """A thread does not outlive a fork, nor an error that nobody foresaw."""
        with self._changed:
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._work, name="workbench recorder", daemon=True)
                self._worker.start()

    def _work(self) -> None:
        while True:
            quiet_s = max(QUIET_S, SHARE * self._took_s) if self._stale else None
            try:
                call = self._queue.get(timeout=quiet_s)
            except queue.Empty:
                self._bring_replays()
                continue
            if call is None:
                return
            self._handle(call)

    def _handle(self, call: CallMade) -> None:
        try:
            with self._writing:
                self._record(call)
        except TROUBLE as error:
            self._note_lost(f"{type(error).__name__}: {error}")
        finally:
            with self._changed:
                self._counts.done += 1
                self._changed.notify_all()

    def _bring_replays(self) -> None:
        """Up to date, one conversation after the other; what fails is told and not tried again."""
        with self._writing:
            began = time.perf_counter()
            while self._stale and self._settings is not None:
                _, tape = self._stale.popitem()
                try:
                    tape.replay(self._settings)
                except TROUBLE as error:
                    self._note_lost(f"no replay of {tape.scope.conversation}: {type(error).__name__}: {error}")
            self._took_s = time.perf_counter() - began

    # ── one call ──────────────────────────────────────────────────────────────────────────────────────

    def _record(self, call: CallMade) -> None:
        user = fit(call.user) or self.user
        named = fit(call.conversation) or self.conversation
        sent = [line for each in call.sent if (line := line_sent(each)) is not None]
        if not any(line.role != "system" for line in sent):
            raise ValueError(f"call {call.id} sent no message")
        reply = line_sent(call.reply) if call.reply else None
        tapes = list(self._of(user, named))
        if any(call.id in tape.requests for tape in tapes):
            with self._changed:
                self._counts.repeated += 1
            return
        tape, at = self._placed(tapes, named, sent, reply)
        if tape is None:
            tape = self._new(user, named, call, branches=bool(named and tapes))
            at = Place("apart", 0, 0)
        self._written(tape, at, call, sent, reply, named)

    def _written(
        self, tape: Tape, at: Place, call: CallMade, sent: Sequence[Line], reply: Line | None, named: str
    ) -> None:
        def write() -> list[Turn]:
            found = at if not tape.turns else self._place(tape, sent, reply)
            late, spoken = found.kind == "late", [i for i, line in enumerate(sent) if line.role != "system"]
            new = spoken[found.new] if found.new < len(spoken) else len(sent)
            return tape.write(
                sent, new, None if late else reply, _outcome(call, reply), call.began_at, call.ended_at,
                shared=found.shared if found.kind == "goes on" else 0, title=self.title if named else "",
                heard=reply if late else None,
            )  # fmt: skip

        fresh = tape.attempt(write)
        with self._changed:
            self._counts.recorded += 1
            self._counts.failed_calls += bool(call.error)
            self._counts.conversations.add(tape.scope)
            if call.note:
                self._counts.trouble.append(call.note)
        if self._settings is not None:
            self._stale[tape.scope] = tape
        if self._remember:
            tape.remember(fresh)

    def _placed(
        self, tapes: Sequence[Tape], named: str, sent: Sequence[Line], reply: Line | None
    ) -> tuple[Tape | None, Place]:
        """The conversation that a call goes on with. None: it begins one, be it by an edit of an earlier one."""
        found = [(tape, self._place(tape, sent, reply)) for tape in tapes]
        on = [(tape, at) for tape, at in found if at.kind == "goes on" and (named or _is_sure(tape, at))]
        late = [(tape, at) for tape, at in found if at.kind == "late"]
        if on:
            return max(on, key=lambda pair: pair[1].shared)
        if late:
            return late[0]
        if named and found and not any(at.kind == "edited" for _, at in found):
            return found[0]  # the application keeps its history elsewhere: each message it sends is new
        return None, Place("apart", 0, 0)

    def _place(self, tape: Tape, sent: Sequence[Line], reply: Line | None) -> Place:
        keys = [self._key(line) for line in sent if line.role != "system"]
        return place(tape.keys, keys, self._key(reply) if reply else None)

    def _key_of(self, line: Line) -> Any:
        return line.key(lambda text: self.store.redactor(clean(text))[0])

    # ── conversations ─────────────────────────────────────────────────────────────────────────────────

    def _of(self, user: str, named: str) -> Iterator[Tape]:
        """The conversations that a call may belong to, the newest first: of this name and its branches, or unnamed."""
        if named:
            scopes = [s.scope for s in self.store.streams(user) if _is_of(s.scope, named)]
        else:
            if user not in self._unnamed_loaded:
                self._unnamed_loaded.add(user)
                kept = [s.scope for s in self.store.streams(user) if _is_unnamed(s.scope)]
                for scope in reversed(kept[:OPEN]):
                    self._tape(scope)
            scopes = [s for s in reversed(self._tapes) if s.user == user and _is_unnamed(s)]
        for scope in scopes:
            tape = self._tape(scope)
            if named:
                tape.catch_up()
            yield tape

    def _tape(self, scope: Scope) -> Tape:
        tape = self._tapes.get(scope) or Tape(self.store, scope, source=SOURCE)
        self._tapes[scope] = tape
        self._tapes.move_to_end(scope)
        while len(self._tapes) > OPEN:
            self._tapes.popitem(last=False)
        return tape

    def _new(self, user: str, named: str, call: CallMade, *, branches: bool) -> Tape:
        if not named:
            name = UNNAMED + hashlib.blake2b(call.id.encode(), digest_size=4).hexdigest()
        else:
            known = {s.scope.conversation for s in self.store.streams(user)}
            names = (named, *(f"{named}{BRANCH}{n}" for n in range(2, len(known) + 3)))
            name = next(name for name in names if name not in known) if branches else named
        scope = Scope(user, name, RECORDED)
        with self._changed:
            self._counts.unnamed |= set() if named else {scope}
            self._counts.branched |= {scope} if branches else set()
        return self._tape(scope)

    # ── for whoever uses it ───────────────────────────────────────────────────────────────────────────

    @property
    def status(self) -> Status:
        """What became of the calls so far."""
        with self._changed:
            c = self._counts
            return Status(
                installed=is_installed(self), recorded=c.recorded, failed_calls=c.failed_calls,
                waiting=c.accepted - c.done, under_way=len(self._under_way), repeated=c.repeated, dropped=c.dropped,
                lost=c.lost, passed_over=dict(c.passed_over), conversations=len(c.conversations),
                unnamed=len(c.unnamed), branched=len(c.branched), trouble=tuple(c.trouble),
            )  # fmt: skip

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The recordings that the calls so far went into, by name."""
        with self._changed:
            return tuple(sorted(self._counts.conversations, key=lambda scope: (scope.user, scope.conversation)))

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Wait until all calls that began before now are in the store, and replays are up to date; whether they are.

        A call whose stream nobody read to the end never ends: it counts in `status.under_way`, and False comes back.
        """
        until = time.monotonic() + timeout_s
        with self._changed:
            begun = set(self._under_way)
            whole = self._changed.wait_for(lambda: begun.isdisjoint(self._under_way), timeout_s)
            accepted = self._counts.accepted
            whole &= self._changed.wait_for(lambda: self._counts.done >= accepted, max(0.0, until - time.monotonic()))
        self._bring_replays()
        return whole

    def self_test(self, timeout_s: float = 5.0) -> SelfTest:
        """Whether LiteLLM's events arrive here: by one call that LiteLLM answers itself, and that is not kept."""
        if not is_installed(self):
            return SelfTest(
                arrives=False, why="LiteLLM does not know this recorder: litellm.callbacks.append(recorder)"
            )
        token, began = uuid4().hex, time.perf_counter()
        ask_nobody(token)
        with self._changed:
            arrives = self._changed.wait_for(lambda: token in self._heard, timeout_s)
            self._heard.discard(token)
        ms = round((time.perf_counter() - began) * 1000, 1)
        if not arrives:
            return SelfTest(
                arrives=False, why=f"no event within {timeout_s:g} s; LITELLM_LOG=DEBUG shows what LiteLLM does", ms=ms
            )
        return SelfTest(arrives=True, why=f"events arrive, in {ms:.0f} ms", ms=ms)

    def close(self, timeout_s: float = 5.0) -> None:
        """Take in what is waiting, end open steps, stop; LiteLLM tells us nothing more."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self._at_exit)
        self.flush(timeout_s)
        uninstall(self)
        if self._worker is not None and self._worker.is_alive():
            self._queue.put(None)
            self._worker.join(5.0)
        for tape in self._tapes.values():
            tape.give_up("the recording ended before a reply came")
        if self._owns_store:
            self.store.close()

    def _at_exit(self) -> None:
        """LiteLLM tells the last calls of an event loop after this: they are written on its own thread."""
        self.flush(5.0)
        self._inline = True

    def __enter__(self) -> Recorder:
        """Installed in `litellm.callbacks` as long as the block lasts."""
        install(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Recorder into {self.store.path}: {self.status.summary}>"

    def _html(self) -> str:
        return self.status._html()


def recorder(store: Store | str | Path | None = None, **wanted: Any) -> Recorder:
    """A callback for LiteLLM that records an application's calls into a store.

    >>> litellm.callbacks.append(workbench.recorder("store"))              # doctest: +SKIP

    `user`, `conversation`, `title` serve calls whose `metadata` names none; `remember=False` draws no facts from
    what users say; `replay=False` keeps no replay; `settings` and settings by their names are those of the replay,
    which shows what paging would have done; `waiting` is the length of the queue. Raises StoreError, BadSetting.
    """
    return callback_class(Recorder)(store, **wanted)  # type: ignore[call-arg, return-value]


def rehearsed(timeout_s: float = 10.0) -> dict[str, bool]:
    """Whether a call of each kind arrives whole in a store, which is thrown away afterwards; LiteLLM answers itself."""
    litellm_ready()
    with TemporaryDirectory() as folder, recorder(folder, replay=False, remember=False) as ear:
        conversations = rehearse()
        ear.flush(timeout_s)
        kept = {s.scope.conversation: s.turns for s in ear.store.streams(APP)}
    return {kind: kept.get(name, 0) == (1 if kind == FAILED else 2) for kind, name in conversations.items()}


# ── from LiteLLM's words to ours ──────────────────────────────────────────────────────────────────────


def line_sent(sent: Sent) -> Line | None:
    """None for a message that says nothing."""
    text, role = fit(words_of(sent.content)), ROLES.get(sent.role, sent.role)
    calls = tuple((fit(i), fit(name), fit(arguments)) for i, name, arguments in sent.calls)
    if not text.strip() and not calls and not sent.answers:
        return None
    if role not in ("user", "assistant", "tool", "system"):
        raise ValueError(f"no role is named {sent.role!r}")
    return Line(role, text, calls, fit(sent.answers) if role == "tool" else "", fit(sent.name))


def _outcome(call: CallMade, reply: Line | None) -> Outcome:
    error = call.error or ("" if reply else "NoAnswer")
    return Outcome(
        fit(call.llm), call.prompt_tokens, call.completion_tokens, call.cost_usd, call.ms, call.first_ms,
        call.finish, call.id, error, fit(call.message) or ("" if reply else "the answer was empty"),
    )  # fmt: skip


def _is_of(scope: Scope, named: str) -> bool:
    head, _, number = scope.conversation.rpartition(BRANCH)
    own = scope.conversation == named or (head == named and number.isdigit())
    return own and scope.run == RECORDED


def _is_unnamed(scope: Scope) -> bool:
    return scope.conversation.startswith(UNNAMED) and scope.run == RECORDED


def _is_sure(tape: Tape, at: Place) -> bool:
    """All that was said was sent again, or enough of its end."""
    return at.shared >= min(SURE, tape.turns)
