"""The engine: one conversation, a model, a store. Says a message through, and knows what happened.

A step: take the lease → receive (safe on disk before anything else) → plan → prompt → model ⇄ memory → settle.
Each part commits; no model call runs inside a transaction, and every one that fails is in the log. Nothing here
decides about pages (pager.py does), nor what a model may ask (operations.py).
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from memory import naming, work
from memory.bookmarks import parse_page_ref
from memory.calling import Caller, Complete, Wanted, arguments_of
from memory.deferred import ALL, Worked, Worker, queue_left, queueing
from memory.errors import BadMessage, EngineError, NotFound, WentOn
from memory.events import BookmarkMade, PagesRecalled, RepliesCompared
from memory.journal import MemoryJournal
from memory.longterm import LongTerm
from memory.look import Window, window_now
from memory.models.chat import ToolCall, complete, window_of
from memory.operations import Speech
from memory.pager import Pager, Said
from memory.pages import Bookmark, Page
from memory.recalls import Request
from memory.redaction import clean
from memory.remembering import Remembering
from memory.rounds import Rounds, Stages, Step, commit
from memory.scope import LIVE, RECORDED, Scope, is_fork
from memory.settings import Settings
from memory.show import Shown, rows, small, text
from memory.state import State
from memory.stores import jobs
from memory.stores.lease import leased
from memory.stores.sql import Store, Stream
from memory.stores.sync import Following
from memory.stores.vector_source import StoredVectors
from memory.turns import Turn
from memory.window import Fill

if TYPE_CHECKING:
    from memory.diagnosis import Diagnosis
    from memory.dropin import DropIn
    from memory.reach import Bisection, BlastRadius
    from memory.why import Verdict

logger = logging.getLogger(__name__)

UNKNOWN_WINDOW = 8_000  # for a model that litellm's table does not know


@dataclass(frozen=True)
class Reply(Shown):
    """What came back from one step."""

    text: str
    step: int
    turn: int  # the reply's own number
    recalled: tuple[int, ...]  # pages that came back
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    ms: Mapping[str, float]  # by stage
    stale_facts: tuple[int, ...] = ()  # it may rest on: they were changed while the model answered
    calls: tuple[ToolCall, ...] = ()  # of the application's own tools: the step waits for their results
    finish: str = "stop"  # why the model ended, as it says

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        pages = ", ".join(f"p{n}" for n in self.recalled) or "none"
        return f"<Reply to step {self.step}: {small(self.text, 60)!r}, recalled {pages}, {self.prompt_tokens:,} tokens>"

    def _html(self) -> str:
        cost = "unknown price" if self.cost_usd is None else f"${self.cost_usd:.4f}"
        pages = ", ".join(f"p{n}" for n in self.recalled) or "none"
        return rows(
            self.text,
            {"turn": self.turn, "recalled": pages, "prompt": f"{self.prompt_tokens:,} tokens",
             "reply": f"{self.completion_tokens:,} tokens", "cost": cost},
        )  # fmt: skip


class Engine(Shown):
    """
    >>> engine = Engine.open("store", user="ana", conversation="trip")     # doctest: +SKIP
    >>> reply = engine.say("My budget is 5,000 euros.")                    # doctest: +SKIP
    >>> engine.window                                                      # doctest: +SKIP
    """

    def __init__(
        self,
        store: Store,
        pager: Pager,
        scope: Scope,
        *,
        chat: Complete = complete,
        options: Mapping[str, Any] | None = None,
        memory_options: Mapping[str, Any] | None = None,
        timeout_s: float = 60.0,
        wait_s: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
        background: bool = True,
    ) -> None:
        self.store = store
        self.scope = scope
        self.pager = pager
        own = None if memory_options is None else dict(memory_options)
        self.caller = Caller(chat, dict(options or {}), own, timeout_s, sleep, chance)
        self.rounds = Rounds(pager, lambda: self.caller)
        self.remembering = Remembering(store, scope, pager)
        if scope.run == LIVE:
            pager.keep, pager.drop = self.remembering.keep, self.remembering.drop
            pager.rule = self.remembering.rule
        pager.consult = lambda pages, message: work.consult(self.pager, self.caller, pages, message)
        self._wait_s = wait_s
        self._owns_store = False
        self._following: Following | None = None
        self._background, self._queued = background, False
        self._worker = Worker(store, scope, lambda: self.caller)
        journal: Any = pager.journal
        journal.along = queueing(store, scope, self._note_queued)

    @classmethod
    def open(
        cls,
        store: Store | str | Path | None = None,
        *,
        user: str,
        conversation: str,
        run: str = LIVE,
        llm: str | None = None,
        settings: Settings | None = None,
        system: str = "",
        title: str = "",
        options: Mapping[str, Any] | None = None,
        memory_options: Mapping[str, Any] | None = None,
        timeout_s: float = 60.0,
        wait_s: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
        chat: Complete = complete,
        background: bool = True,
        boundary: Any = None,
        eviction: Any = None,
        bookmarks: Any = None,
        **changes: Any,
    ) -> Engine:
        """Open a conversation, begun if it is new.

        `llm` is any LiteLLM name; `options` (api_base, api_key, temperature, …) go to LiteLLM and are never stored.
        `memory_options` are those of the setting `memory_llm`; without them `options` serve it too where both models
        have the same provider, for a key goes to nobody else.
        `background`: what memory work the settings ask of a model is done by a thread of this engine after the
        replies; else by `work()` or `workbench work`, which find it queued in the store.
        `boundary`, `eviction`, `bookmarks` take a registered name or a function; other keywords are settings.
        A conversation that was imported or replayed goes on as a branch of its newest run.
        """
        own = {"boundary": boundary, "eviction": eviction, "bookmarks": bookmarks}
        changes |= {k: v for k, v in own.items() if isinstance(v, str)} | ({"llm": llm} if llm else {})
        scope = Scope(user, conversation, run)
        with ExitStack() as undo:
            opened = store if isinstance(store, Store) else Store.open(store)
            if opened is not store:
                undo.callback(opened.close)
            parent, redactor = _parent(opened, scope), opened.redactor
            if parent is None and opened.stream(scope) is None:  # what is wrong leaves no empty conversation behind
                Pager(MemoryJournal(), **_functions(own)).start((settings or Settings()).but(**changes))
            vectors = StoredVectors(opened, keep=True)
            pager = Pager(
                opened.open_stream(scope, parent, "the conversation goes on"), **_functions(own),
                clock=opened.clock, redactor=redactor, vectors=vectors, meaning=vectors.meaning,
            )  # fmt: skip
            engine = cls(
                opened, pager, scope, chat=chat, options=options, memory_options=memory_options,
                timeout_s=timeout_s, wait_s=wait_s, sleep=sleep, chance=chance, background=background,
            )  # fmt: skip
            engine._owns_store = opened is not store
            engine._begin(settings, changes, system, title)
            undo.pop_all()
        return engine

    def _begin(self, settings: Settings | None, changes: dict[str, Any], system: str, title: str) -> None:
        new = not self.state.version
        wanted = (settings or (Settings() if new else self.state.settings)).but(**changes)
        wanted = resolved(wanted)
        if not new and wanted == self.state.settings:
            _ = self.pager.strategies  # what the run was made with may not be known here
            return
        with self._held():
            if not self.state.version:
                self.pager.start(wanted, title, system)
            elif wanted != self.state.settings:
                self._change_settings(wanted)
            self.pager.commit()

    @contextmanager
    def _held(self, wait_s: float | None = None) -> Iterator[None]:
        """The conversation is ours, and we know what others did to it."""
        journal = self.pager.journal
        wait_s = self._wait_s if wait_s is None else wait_s
        with self.store.keeping(), leased(journal, wait_s):  # type: ignore[arg-type]
            self.pager.refresh()
            yield

    # ── a step ────────────────────────────────────────────────────────────────────────────────────────

    def say(self, message: str, *, important: bool = False, on_text: Callable[[str], None] | None = None) -> Reply:
        """One step: a user's message through to the reply. `on_text` gets the reply as it streams.

        Raises ConversationBusy, BadMessage, BudgetTooSmall, RecallLoop, or a ModelError; the message itself is
        safe in all cases but the first two.
        """
        with self._accompanied():
            return self._step(message, important, on_text)

    def take(
        self, new: Sequence[Said], wanted: Wanted, *, after: int, on_text: Callable[[str], None] | None = None
    ) -> Reply:
        """One step of an application that keeps its own history: `new` of it follows turn `after`, and is answered.

        What was answered elsewhere becomes turns without asking anybody; without any `new`, the last message is
        answered (again, where that failed). A reply with `calls` of the application's own tools leaves the step open:
        their results are the next `new`. Raises as `say` does, and WentOn if the conversation went on meanwhile.
        """
        with self._accompanied(), self._held():
            if self.state.turn != after:
                raise WentOn(f"{self.scope} is at turn {self.state.turn}, not {after}: read it again, then go on")
            step = Step(Stages(), Speech(on_text), streamed=on_text is not None, wanted=wanted)
            self._adopt(wanted)
            if not new or new[0].role == "user":
                self._close_left_open()
            turn = self._take_in(new)
            self.pager.commit()
            step.clock.done("receive")
            return self._answered(turn, step)

    def completion(self, model: str, messages: Sequence[Any], **given: Any) -> Any:
        """`litellm.completion` with this engine's memory: the same arguments, answers, streams and exceptions.

        The messages are the whole history, as a chat loop sends it; `metadata={"conversation_id": …}` names another
        conversation than this engine's. See dropin.py.

        >>> engine.completion(model="gpt-4o-mini", messages=messages)      # doctest: +SKIP
        """
        return self._dropin.completion(model, messages, **given)

    async def acompletion(self, model: str, messages: Sequence[Any], **given: Any) -> Any:
        """`litellm.acompletion`, as `completion` is."""
        return await self._dropin.acompletion(model, messages, **given)

    @cached_property
    def _dropin(self) -> DropIn:
        from memory.dropin import DropIn

        return DropIn.over(self)

    @contextmanager
    def _accompanied(self) -> Iterator[None]:
        """What goes along with a step: the analytical store follows, off the reply path; memory work comes after."""
        if self._following is None:
            self._following = Following(self.store)
            self._queued = jobs.next_due(self.store, ALL, self.scope) is not None
        try:
            yield
        finally:
            if self._queued and self._background:
                self._queued = False
                self._worker.wake()

    def _note_queued(self) -> None:
        self._queued = True

    def _step(self, message: str, important: bool, on_text: Callable[[str], None] | None) -> Reply:
        with self._held():
            step = Step(Stages(), Speech(on_text), streamed=on_text is not None)
            self.rounds.take_up_offer()
            self._close_left_open()
            turn = self.pager.receive(Said(message, important=important))
            self.pager.commit()
            step.clock.done("receive")
            return self._answered(turn, step)

    def _answered(self, turn: Turn, step: Step) -> Reply:
        """The reply; or the step is given up, and that is in the log."""
        try:
            return self._answer(turn, step)
        except EngineError as error:
            self._give_up(f"{type(error).__name__}: {error}")
            raise
        finally:
            if self.state.open_step and not step.handed:  # an interrupt, or a fault in a function of the caller's own
                self._give_up("interrupted")

    def _adopt(self, wanted: Wanted) -> None:
        """The application's model, system prompt and tools, from this step on."""
        s = self.state.settings
        if wanted.llm != s.llm:
            is_own = s.window_tokens == (window_of(s.llm) or UNKNOWN_WINDOW)
            self.pager.change_settings(resolved(s.but(llm=wanted.llm, **({"window_tokens": 0} if is_own else {}))))
        self.pager.instruct(wanted.system)
        self.rounds.take_up_offer(wanted.beside)
        self.rounds.check_tools(wanted)

    def _take_in(self, new: Sequence[Said]) -> Turn:
        """Each as a turn; the last message of the user's is to be answered, those before it are done."""
        for said in new:
            if said.role == "user":
                if self.state.open_step:
                    self.pager.settle()
                commit(self.pager, durable=False)  # records of one commit are of one step
                self.pager.receive(said)
            else:
                self.pager.reply(said)
        number = self.state.user_turn
        if not number:
            raise BadMessage("there is no message of the user's to answer")
        found = (t for page in self.state.pages_of(number) for t in page.turns if t.number == number)
        return next(found)

    def _close_left_open(self) -> None:
        if self.state.open_step:
            self.pager.abandon("the step before was cut off")
            self.pager.commit()

    def _give_up(self, reason: str) -> None:
        self.pager.refresh()
        if self.state.open_step:
            self.pager.abandon(clean(reason))
            self.pager.commit()

    def _answer(self, turn: Turn, step: Step) -> Reply:
        message = self.pager.journal.words(turn.text)
        self.pager.plan(message, turn.text)
        self.remembering.place(message)
        step.clock.done("plan")
        told = self.remembering.answer(message, turn) if step.is_plain and turn.number == self.state.turn else None
        if told is None:
            self.rounds.go_through(step)
        else:  # a word to the memory itself: it is done, and no model is asked
            step.speech.begin(as_json=False)
            step.speech.end(told)
        handed = tuple((call.id, call.name, arguments_of(call)) for call in step.handed)
        reply = self.pager.reply(Said(step.speech.text, role="assistant", calls=handed))
        stale_facts = self.remembering.stale() if told is None else ()
        if not step.handed:
            self.pager.settle(step.speech.text, step.clock.ms, stale_facts)
        commit(self.pager, last=True)
        step.clock.done("settle")
        if not step.handed:
            self.remembering.learn()
            self._queued = self._queued or self.remembering.queued
            self.remembering.queued = False
        return Reply(
            text=step.speech.text if step.wanted else self.pager.journal.words(reply.text),
            step=self.state.step,
            turn=reply.number,
            recalled=tuple(dict.fromkeys(step.served.recalled)),
            prompt_tokens=step.used.prompt_tokens,
            completion_tokens=step.used.completion_tokens,
            cost_usd=step.used.cost_usd,
            ms=step.clock.ms,
            stale_facts=stale_facts,
            calls=step.handed,
            finish=step.finish,
        )

    # ── memory work by a model ────────────────────────────────────────────────────────────────────────

    @property
    def protocol(self) -> tuple[str, str]:
        """How the chat model asks for pages, `tools` or `schema`, and why so."""
        return self.rounds.protocol

    @property
    def memory_llm(self) -> str:
        """Who does memory work; "": nobody, for the embedded responder draws no conclusions."""
        return work.memory_llm(self.settings)

    def work(self, most: int = 20) -> Worked:
        """Do now what would be done after the replies: a model's keywords for up to `most` closed pages.

        Pages that closed under other settings are done as well; one where the model failed for good is not, until
        its job is queued again. The conversation is held to write, not while the model is asked.
        """
        with self._held():
            queue_left(self.store, self.scope, self.state)
            self.remembering.finish()
        worked = self._worker.now(most)
        self.pager.refresh()
        return worked

    # ── people ────────────────────────────────────────────────────────────────────────────────────────

    def mark(self, turn: int, important: bool = True) -> None:
        """Mark a message as important: its page gets a bookmark of double weight, at once."""
        with self._held():
            self.pager.mark(turn, important)
            self.pager.commit()

    def rate(self, turn: int, rating: int) -> None:
        """What a person thinks of a reply: 1 (up), -1 (down), or 0, which takes it back."""
        with self._held():
            self.pager.rate(turn, rating)
            self.pager.commit()

    def compared(
        self, question: str, memory: str, plain: str, chosen: str, llm: str, tokens: tuple[int, int], by: str = "user"
    ) -> None:
        """Keep which of two replies somebody chose without their names (sessions/blind.py). It changes no state."""
        with self._held():
            said = self.pager.said
            body = RepliesCompared(said(question), said(memory), said(plain), chosen, llm, *tokens, by)
            self.pager.add(body)
            self.pager.commit()

    def bookmark(
        self, page: str | int, keywords: Sequence[str] | None = None, *, weight: float | None = None
    ) -> Bookmark:
        """What a page is remembered by from the next prompt on, in your own words; what is not given stays.

        >>> engine.bookmark("p3", ["peanut", "allergy"], weight=2)         # doctest: +SKIP
        """
        with self._held():
            mark = naming.edit(self.pager, _number(page), keywords, weight)
            self.pager.commit()
            return mark

    def undo_bookmark(self, page: str | int) -> Bookmark:
        """Take the last edit of a page's bookmark back, and the one before it when asked again."""
        with self._held():
            number = self.page(_number(page)).number
            events = self.store.events(self.scope, kinds=(BookmarkMade.__name__,))
            mark = naming.restore(self.pager, number, naming.before_edit(events, number))
            self.pager.commit()
            return mark

    def recall(self, *pages: str | int, question: str = "") -> PagesRecalled:
        """Bring pages back by hand, for the next step."""
        with self._held():
            record = self.pager.recall(Request(tuple(str(p) for p in pages), question, by="user"))
            self.pager.commit()
            return record

    def change(self, **changes: Any) -> Settings:
        """Other settings from the next step on."""
        with self._held():
            wanted = resolved(self.state.settings.but(**changes))
            if wanted != self.state.settings:
                self._change_settings(wanted)
                self.pager.commit()
        return self.state.settings

    def _change_settings(self, wanted: Settings) -> None:
        """What was said under the old ones is remembered by them, or not."""
        if self.settings.remember == "off" != wanted.remember:
            self.remembering.pass_over()
        if wanted.remember == "off":
            self.remembering.finish()
        self.pager.change_settings(wanted)

    # ── what is there ─────────────────────────────────────────────────────────────────────────────────

    @property
    def state(self) -> State:
        return self.pager.state

    @property
    def settings(self) -> Settings:
        return self.state.settings

    @property
    def fill(self) -> Fill:
        return self.pager.fill

    @property
    def memory(self) -> LongTerm:
        """What is remembered about the user, across conversations."""
        return self.remembering.memory

    def why(self, expected: str, question: str = "", turn: int | None = None) -> Verdict:
        """Why the model did not have these words, and the smallest change that would bring them back.

        >>> engine.why("budget 8000")                                      # doctest: +SKIP
        """
        from memory.why import why

        return why(self.store, self.scope, expected, question, turn)

    def diagnose(self, symptom: str, turn: int | None = None) -> Diagnosis:
        """What may be the cause of a symptom, by ordered checks of the log.

        >>> engine.diagnose("keeps the old value")                         # doctest: +SKIP
        """
        from memory.diagnosis import diagnose

        return diagnose(self.store, self.scope, symptom, turn=turn)

    def bisect(self, expected: str) -> Bisection:
        """The turns at which these words entered and left the prompts, each with its cause."""
        from memory.reach import bisect

        return bisect(self.store, self.scope, expected)

    def blast_radius(self, fact: int) -> BlastRadius:
        """Every prompt and reply that a fact reached, in any conversation of the user."""
        from memory.reach import blast_radius

        return blast_radius(self.store, self.scope.user, fact)

    @property
    def window(self) -> Window:
        """What stands in the window now, and what stays behind of the pages that left."""
        return window_now(self.state, self.pager.fill, self.pager.journal.words)

    def page(self, number: int) -> Page:
        if number not in self.state.pages:
            raise NotFound(f"no page p{number}; pages go from p1 to p{len(self.state.pages)}")
        return self.state.pages[number]

    def close(self) -> None:
        """Look at the turns that wait; end the memory work in hand, bring what is derived up to date.

        The store is closed, unless it was given open.
        """
        if "_dropin" in self.__dict__:
            self._dropin.close()
        self._finish()
        self._worker.close()
        if self._following is not None:
            self._following.close()
            self._following = None
        if self._owns_store:
            self.store.close()

    def _finish(self) -> None:
        """Where others have the conversation, or the store takes nothing, the turns wait for the next who comes."""
        if not self.remembering.waits or self.store.stream(self.scope) is None:  # deleted meanwhile
            return
        try:
            with self._held(wait_s=0):
                self.remembering.finish()
        except EngineError as error:
            logger.warning("turns of %s wait to be looked at: %s", self.scope, error)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _html(self) -> str:
        return f"<code>{text(repr(self))}</code>" + self.window._html()

    def __repr__(self) -> str:
        s = self.state
        pages = f"{len(s.pages)} pages, {len(s.resident)} resident"
        return f"<Engine {self.scope}: {s.turn} turns on {pages}, {s.settings.llm}>"


def resolved(settings: Settings) -> Settings:
    """With the model's own window where the settings leave it open."""
    if settings.window_tokens:
        return settings
    return settings.but(window_tokens=window_of(settings.llm) or UNKNOWN_WINDOW)


def _number(page: str | int) -> int:
    """Of a page that somebody named: 3 or "p3". Raises BadMessage for a range, or what is no page's name."""
    try:
        first, last = parse_page_ref(page)
    except ValueError as error:
        raise BadMessage(str(error)) from None
    if first != last:
        raise BadMessage(f"{page!r} is a range; a bookmark is one page's, such as p{first}")
    return first


def _functions(own: Mapping[str, Any]) -> dict[str, Any]:
    """The strategies that are functions, as the pager takes them; names go into the settings."""
    known = {"boundary": "boundary", "eviction": "eviction_policy", "bookmarks": "generator"}
    return {known[name]: value for name, value in own.items() if callable(value)}


def _parent(store: Store, scope: Scope) -> Stream | None:
    """The run that a new live run continues, if there is any with decisions in it; a fork is nobody's beginning."""
    runs = [s for s in store.streams(scope.user, scope.conversation) if s.scope.run not in (scope.run, RECORDED)]
    return next((s for s in runs if not is_fork(s.scope.run)), None)
