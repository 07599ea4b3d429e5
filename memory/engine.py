"""The engine: one conversation, a model, a store. Says a message through, and knows what happened.

A step: take the lease → receive (safe on disk before anything else) → plan → prompt → model ⇄ recall → settle.
Each part commits; no model call runs inside a transaction. Nothing here decides about pages (pager.py does).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from memory import tokens
from memory.errors import EngineError, ModelCut, ModelError, NotFound, RecallLoop
from memory.events import ModelCalled, ModelFailed, PagesRecalled
from memory.journal import MemoryJournal
from memory.look import Window, window_now
from memory.models.chat import Answer, ToolCall, complete, window_of
from memory.pager import Pager, Request, Said
from memory.pages import Page
from memory.prompt import RECALL_TOOL, Message, call_tokens, offers_recall
from memory.redaction import clean
from memory.scope import LIVE, Scope
from memory.settings import Settings
from memory.show import Shown, rows, small, text
from memory.state import State
from memory.stores.lease import leased
from memory.stores.sql import Store, Stream
from memory.stores.sync import Following
from memory.turns import MESSAGE_TOKENS, Call, Turn
from memory.window import Fill

Complete = Callable[..., Answer]
UNKNOWN_WINDOW = 8_000  # for a model that litellm's table does not know
MOST_REFS = 20  # page names that one call may give


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
        timeout_s: float = 60.0,
        wait_s: float = 30.0,
    ) -> None:
        self.store = store
        self.scope = scope
        self.pager = pager
        self._chat, self._options = chat, dict(options or {})
        self._timeout_s, self._wait_s = timeout_s, wait_s
        self._owns_store = False
        self._following: Following | None = None

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
        timeout_s: float = 60.0,
        wait_s: float = 30.0,
        chat: Complete = complete,
        boundary: Any = None,
        eviction: Any = None,
        bookmarks: Any = None,
        **changes: Any,
    ) -> Engine:
        """Open a conversation, begun if it is new.

        `llm` is any LiteLLM name; `options` (api_base, api_key, temperature, …) go to LiteLLM and are never stored.
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
            parent = _parent(opened, scope)
            if parent is None and opened.stream(scope) is None:  # what is wrong leaves no empty conversation behind
                Pager(MemoryJournal(), **_functions(own)).start((settings or Settings()).but(**changes))
            pager = Pager(
                opened.open_stream(scope, parent, "the conversation goes on"),
                **_functions(own),
                clock=opened.clock,
            )
            engine = cls(opened, pager, scope, chat=chat, options=options, timeout_s=timeout_s, wait_s=wait_s)
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
                self.pager.change_settings(wanted)
            self.pager.commit()

    @contextmanager
    def _held(self) -> Iterator[None]:
        """The conversation is ours, and we know what others did to it."""
        journal = self.pager.journal
        with leased(journal, self._wait_s):  # type: ignore[arg-type]
            self.pager.refresh()
            yield

    # ── a step ────────────────────────────────────────────────────────────────────────────────────────

    def say(self, message: str, *, important: bool = False, on_text: Callable[[str], None] | None = None) -> Reply:
        """One step: a user's message through to the reply. `on_text` gets the reply as it streams.

        Raises ConversationBusy, BadMessage, BudgetTooSmall, RecallLoop, or a ModelError; the message itself is
        safe in all cases but the first two.
        """
        if self._following is None:
            self._following = Following(self.store)  # the analytical store follows, off the reply path
        with self._held():
            clock = _Stages()
            self._close_left_open()
            turn = self.pager.receive(Said(message, important=important))
            self.pager.commit()
            clock.done("receive")
            try:
                return self._answer(turn, clock, on_text)
            except EngineError as error:
                self._give_up(f"{type(error).__name__}: {error}")
                raise
            finally:
                if self.state.open_step:  # an interrupt, or a fault in a function of the caller's own
                    self._give_up("interrupted")

    def _close_left_open(self) -> None:
        if self.state.open_step:
            self.pager.abandon("the step before was cut off")
            self.pager.commit()

    def _give_up(self, reason: str) -> None:
        self.pager.refresh()
        if self.state.open_step:
            self.pager.abandon(clean(reason))
            self.pager.commit()

    def _answer(self, turn: Turn, clock: _Stages, on_text: Callable[[str], None] | None) -> Reply:
        self.pager.plan(self.pager.journal.words(turn.text))
        clock.done("plan")
        answer, recalled, used = self._converse(clock, on_text)
        reply = self.pager.reply(Said(answer.text, role="assistant"))
        self.pager.settle(answer.text, clock.ms)
        self.pager.commit()
        clock.done("settle")
        return Reply(
            text=self.pager.journal.words(reply.text),
            step=self.state.step,
            turn=reply.number,
            recalled=tuple(recalled),
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            cost_usd=used.cost_usd,
            ms=clock.ms,
        )

    def _converse(self, clock: _Stages, on_text: Callable[[str], None] | None) -> tuple[Answer, list[int], _Usage]:
        """Call the model; answer its recalls; call it again; at the last round without the tool."""
        recalled: list[int] = []
        exchange: list[Message] = []
        used = _Usage()
        rounds = self.state.settings.recall_rounds
        for round_ in range(rounds + 1):
            final = round_ == rounds
            answer = self._call(round_, exchange, final, clock, on_text)
            used.add(answer)
            if not answer.calls:
                return answer, recalled, used
            if final:
                break
            exchange += self._exchange(answer, recalled, sum(m.tokens for m in exchange))
            self._commit_on_the_way()
            clock.done("recall")
        raise RecallLoop(
            f"{self.state.settings.llm} asked for pages {rounds} times in one step and never answered: "
            "raise recall_rounds, lower window use so that pages stay, or take another model"
        )

    def _call(self, round_: int, exchange: Sequence[Message], final: bool, clock: _Stages, on_text: Any) -> Answer:
        prompt = self.pager.prompt(round_, exchange)
        chat = prompt.to_chat(self.pager.journal.words)
        self._commit_on_the_way()
        clock.done("assemble")
        llm = self.state.settings.llm
        needs_tool = offers_recall(self.state, exchange)
        try:
            answer = self._chat(
                llm,
                chat,
                tools=[RECALL_TOOL] if needs_tool else [],
                tool_choice="none" if final and needs_tool else "auto",
                timeout_s=self._timeout_s,
                max_tokens=self.state.settings.reply_tokens,
                on_text=on_text,
                options=self._options,
            )
        except ModelError as error:
            self._note_failure(round_, llm, error)
            raise
        clock.done("model")
        answer = _with_ids(answer, round_)
        said = self.pager.said
        self.pager.add(
            ModelCalled(
                round=round_,
                llm=answer.llm,
                prompt_tokens=answer.prompt_tokens,
                completion_tokens=answer.completion_tokens,
                cost_usd=answer.cost_usd,
                ms=answer.ms,
                finish=answer.finish_reason,
                reply=said(answer.text) if answer.text else 0,
                calls=tuple(Call(c.id, c.name, said(c.raw or _arguments(c))) for c in answer.calls),
            )
        )
        return answer

    def _note_failure(self, round_: int, llm: str, error: ModelError) -> None:
        partial = error.partial if isinstance(error, ModelCut) else ""
        kept = self.pager.said(partial) if partial else 0
        self.pager.add(ModelFailed(round_, llm, type(error).__name__, clean(str(error)), kept))
        self.pager.commit()

    def _commit_on_the_way(self) -> None:
        """Seen by everybody at once; on the disk for good with the commit that ends the step."""
        journal = self.pager.journal
        journal.durable = False  # type: ignore[attr-defined]
        try:
            self.pager.commit()
        finally:
            journal.durable = True  # type: ignore[attr-defined]

    def _exchange(self, answer: Answer, recalled: list[int], before: int) -> list[Message]:
        """The model's calls and our answers, as messages of this step only; `before`: tokens of earlier ones."""
        write, said = self.pager.journal.write, self.pager.said
        calls = tuple(Call(c.id, c.name, said(_arguments(c))) for c in answer.calls)
        size = MESSAGE_TOKENS + tokens.count(answer.text)
        size += sum(call_tokens(c.name, _arguments(c), tokens.count) for c in answer.calls)
        parts = (said(answer.text),) if answer.text else ()
        messages = [Message("assistant", "exchange", parts, size, calls=calls)]
        for call in answer.calls:
            result = self._result(call, recalled, before + sum(m.tokens for m in messages))
            messages.append(
                Message("tool", "exchange", (write(result),), tokens.count(result) + MESSAGE_TOKENS, answers=call.id)
            )
        return messages

    def _result(self, call: ToolCall, recalled: list[int], beside: int) -> str:
        if call.name != "recall":
            self.pager.refuse(call.id, 'no such tool; the only one is "recall"')
            return 'there is no such tool; the only one is "recall"'
        if call.error:
            self.pager.refuse(call.id, f"the arguments cannot be read: {call.error}")
            return f'the arguments cannot be read ({call.error}); send {{"page_ids": ["p3"], "question": "…"}}'
        refs = call.arguments.get("page_ids") or []
        refs = refs if isinstance(refs, list) else [refs]
        question = call.arguments.get("question") or ""
        request = Request(
            pages=tuple(str(ref) for ref in refs[:MOST_REFS]),
            question=clean(question if isinstance(question, str) else str(question)),
            call=call.id,
        )
        record = self.pager.recall(request, came_before=len(recalled), beside=beside)
        recalled += record.came
        return told(record, self.state, self.pager.journal.words)

    # ── people ────────────────────────────────────────────────────────────────────────────────────────

    def mark(self, turn: int, important: bool = True) -> None:
        """Mark a message as important: its page gets a bookmark of double weight, at once."""
        with self._held():
            self.pager.mark(turn, important)
            self.pager.commit()

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
                self.pager.change_settings(wanted)
                self.pager.commit()
        return self.state.settings

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
    def window(self) -> Window:
        """What stands in the window now, and what stays behind of the pages that left."""
        return window_now(self.state, self.pager.fill, self.pager.journal.words)

    def page(self, number: int) -> Page:
        if number not in self.state.pages:
            raise NotFound(f"no page p{number}; pages go from p1 to p{len(self.state.pages)}")
        return self.state.pages[number]

    def close(self) -> None:
        """Bring what is derived up to date; close the store, unless it was given open."""
        if self._following is not None:
            self._following.close()
            self._following = None
        if self._owns_store:
            self.store.close()

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


def told(record: PagesRecalled, state: State, words: Callable[[int], str]) -> str:
    """What the model reads as the result of its recall."""
    lines = []
    for number in record.came:
        page = state.pages[number]
        turns = f"turns {page.first}-{page.last}"
        lines.append(f"{page.name} ({turns}) is back; read it between the <recalled> marks above.")
    lines += [f"p{number} is in your window already." for number in record.resident]
    lines += [words(part.text) for part in record.opened]
    lines += [f"{refusal.ref}: {refusal.reason}" for refusal in record.refused]
    return "\n".join(lines) or "No page that left the window matches."


def _arguments(call: ToolCall) -> str:
    """As the model reads them again: always an object, for some providers refuse anything else."""
    return json.dumps(call.arguments, ensure_ascii=False)


def _with_ids(answer: Answer, round_: int) -> Answer:
    """Each call with an id of its own: some models give none, or one for all."""
    calls: list[ToolCall] = []
    for nth, call in enumerate(answer.calls):
        call_id = clean(call.id)
        taken = not call_id or len(call_id) > 200 or any(call_id == other.id for other in calls)
        calls.append(replace(call, id=f"call_{round_}_{nth}" if taken else call_id, name=clean(call.name)))
    return replace(answer, calls=tuple(calls))


def _functions(own: Mapping[str, Any]) -> dict[str, Any]:
    """The strategies that are functions, as the pager takes them; names go into the settings."""
    known = {"boundary": "boundary", "eviction": "eviction_policy", "bookmarks": "generator"}
    return {known[name]: value for name, value in own.items() if callable(value)}


def _parent(store: Store, scope: Scope) -> Stream | None:
    """The run that a new live run continues, if there is any with decisions in it."""
    runs = [s for s in store.streams(scope.user, scope.conversation) if s.scope.run not in (scope.run, "recorded")]
    return runs[0] if runs else None


class _Stages:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}
        self._since = time.perf_counter()

    def done(self, stage: str) -> None:
        now = time.perf_counter()
        self.ms[stage] = round(self.ms.get(stage, 0.0) + (now - self._since) * 1000, 3)
        self._since = now


@dataclass(slots=True)
class _Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    def add(self, answer: Answer) -> None:
        self.prompt_tokens += answer.prompt_tokens
        self.completion_tokens += answer.completion_tokens
        unknown = self.cost_usd is None or answer.cost_usd is None
        self.cost_usd = None if unknown else (self.cost_usd or 0.0) + (answer.cost_usd or 0.0)
