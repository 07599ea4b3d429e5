"""The rounds of a step: the model is called, what it asks of its memory is done, it is called again.

Which protocol it asks by is settled here as well: tool calls, or a JSON schema where it cannot. What it may ask at
all is in operations.py, doing it in serving.py, how one call is made and tried again in calling.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memory import tokens
from memory.calling import TRIES, Caller, Wanted, arguments_of, called, note_failure
from memory.errors import BadMessage, ContextOverflow, RecallLoop, ToolsRefused
from memory.models.chat import OFFLINE, Answer, ToolCall, protocol_of
from memory.operations import ROOMY, SETTLE, TOOLS, Operation, Speech, of_answer, of_call, offer, offered, schema, tools
from memory.pager import Pager
from memory.prompt import MARKS, Message, call_tokens, offers_recall
from memory.redaction import clean
from memory.serving import Served, names, needs_no_answer, serve, undecided
from memory.settings import Settings
from memory.turns import MESSAGE_TOKENS, Call


class Stages:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}
        self._since = time.perf_counter()

    def done(self, stage: str) -> None:
        now = time.perf_counter()
        self.ms[stage] = round(self.ms.get(stage, 0.0) + (now - self._since) * 1000, 3)
        self._since = now


@dataclass(slots=True)
class Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    def add(self, answer: Answer) -> None:
        self.prompt_tokens += answer.prompt_tokens
        self.completion_tokens += answer.completion_tokens
        unknown = self.cost_usd is None or answer.cost_usd is None
        self.cost_usd = None if unknown else (self.cost_usd or 0.0) + (answer.cost_usd or 0.0)


@dataclass(slots=True)
class Step:
    """What one step has come to so far."""

    clock: Stages
    speech: Speech
    streamed: bool
    round: int = 0
    exchange: list[Message] = field(default_factory=list)
    served: Served = field(default_factory=Served)
    used: Usage = field(default_factory=Usage)
    cut: bool = False  # room was made for a model that took the prompt for too long
    wanted: Wanted | None = None  # of an application that keeps its own history
    handed: tuple[ToolCall, ...] = ()  # calls that go back to it
    finish: str = "stop"

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        return self.wanted.tools if self.wanted else ()

    @property
    def tool_choice(self) -> Any:
        return self.wanted.tool_choice if self.wanted else "auto"

    @property
    def names(self) -> frozenset[str]:
        """Of the application's own tools."""
        return self.wanted.names if self.wanted else frozenset()

    @property
    def is_plain(self) -> bool:
        """Whether words may be the answer, whoever gives them."""
        return self.wanted is None or not (self.wanted.tools or self.wanted.options.get("response_format"))


class Rounds:
    """One conversation's calls of its chat model. Its own part of a step ends with the words of the reply."""

    def __init__(self, pager: Pager, caller: Callable[[], Caller]) -> None:
        self.pager = pager
        self._caller = caller
        self._offered_for: Settings | None = None
        self._offered_beside = ""  # the application's own tools
        self._protocol = ("", "")

    @property
    def protocol(self) -> tuple[str, str]:
        """How the chat model asks for pages, `tools` or `schema`, and why so."""
        s = self.pager.state.settings
        return self._protocol if s == self._offered_for else protocol_of(s.llm, s.protocol)

    def take_up_offer(self, beside: str = "") -> None:
        """What the model may ask of its memory, and by which protocol, follows the settings.

        `beside`: the application's own tools; where there are any, the memory is asked by tools as well.
        """
        s = self.pager.state.settings
        if s == self._offered_for and beside == self._offered_beside:
            return
        self._offered_beside = beside
        by_tools = ("tools", "the application has tools of its own")
        self._agree_on(*(by_tools if beside else protocol_of(s.llm, s.protocol)))
        self._offered_for = s

    def _agree_on(self, protocol: str, why: str) -> None:
        s = self.pager.state.settings
        self._protocol = (protocol, why)
        real, roomy = s.llm != OFFLINE, protocol == "tools" and s.window_tokens >= ROOMY
        told = offer(protocol, offered(s.operations, real=real, roomy=roomy), s.recall_level)
        self.pager.offers(replace(told, application=self._offered_beside))

    def check_tools(self, wanted: Wanted) -> None:
        """Raises BadMessage where the application's tools and the memory's own share a name."""
        s = self.pager.state.settings
        mine = offered(s.operations, real=wanted.llm != OFFLINE, roomy=s.window_tokens >= ROOMY)
        if shared := wanted.names & set(mine):
            raise BadMessage(
                f"the application's tool {min(shared)!r} is named as one of the memory's own: rename it, or take that "
                f"name out of the setting operations ({'+'.join(mine)})"
            )

    def go_through(self, step: Step) -> None:
        """Call the model; do what it asks of its memory; call it again; at the last round it may ask no more."""
        rounds = self.pager.state.settings.recall_rounds
        for step.round in range(rounds + 1):
            answer = self._call(step, final=step.round == rounds)
            step.used.add(answer)
            step.finish = answer.finish_reason or "stop"
            if not answer.calls:
                return
            theirs = tuple(call for call in answer.calls if call.name in step.names)
            answer = replace(answer, calls=tuple(call for call in answer.calls if call not in theirs))
            operations = [of_call(c.id, c.name, c.arguments, c.error) for c in answer.calls]
            if theirs and (step.round == rounds or needs_no_answer(operations)):
                for operation in operations:
                    serve(operation, self.pager, step.served)
                step.handed = theirs
                return
            if step.round == rounds:
                break
            # Calls of the application's beside a recall are left out: the model makes them, or others, with the page.
            step.exchange += self._exchange(answer, operations, step)
            if step.speech.text and needs_no_answer(operations):
                step.finish = "stop"
                return
            commit(self.pager, durable=False)
            step.clock.done("recall")
        raise RecallLoop(
            f"{self.pager.state.settings.llm} asked for pages {rounds} times in one step and never answered: "
            "raise recall_rounds, lower window use so that pages stay, or take another model"
        )

    def _call(self, step: Step, *, final: bool) -> Answer:
        """The model's answer; what it refuses the prompt for is mended once: its length, or the tools beside it."""
        while True:
            try:
                return self._call_once(step, final=final)
            except ContextOverflow as error:
                if step.cut or not self.pager.cut_down(error.limit_tokens, sum(m.tokens for m in step.exchange)):
                    raise
                step.cut = True
            except ToolsRefused:
                if self._protocol[0] != "tools" or self.pager.state.settings.protocol != "auto" or step.names:
                    raise
                self._agree_on("schema", "it refused tools")

    def _call_once(self, step: Step, *, final: bool) -> Answer:
        prompt = self.pager.prompt(step.round, step.exchange)
        chat = prompt.to_chat(self.pager.journal.words)
        commit(self.pager, durable=False)
        step.clock.done("assemble")
        llm, form = self.pager.state.settings.llm, self._form(step, final=final)
        as_json = "schema" in form
        step.speech.begin(as_json=as_json)
        wanted, caller = step.wanted, self._caller()
        answer = caller.tried(
            lambda: caller.chat(
                llm,
                chat,
                **form,
                timeout_s=(wanted and wanted.timeout_s) or caller.timeout_s,
                max_tokens=wanted.max_tokens if wanted else self.pager.state.settings.reply_tokens,
                on_text=step.speech.piece if step.streamed else None,
                options={**caller.options, **wanted.options} if wanted else caller.options,
            ),
            lambda failure: note_failure(self.pager, step.round, llm, failure),
            self.pager.state.settings.retry_s,
            wanted.tries if wanted else TRIES,
        )
        step.speech.end(answer.text)
        step.clock.done("model")
        answer = _taken_apart(answer, step.round) if as_json else _with_ids(answer, step.round)
        protocol = self._protocol[0] if form["tools"] or as_json else ""
        self.pager.add(called(self.pager, answer, step.round, protocol=protocol))
        return answer

    def _form(self, step: Step, *, final: bool) -> dict[str, Any]:
        """How the model may ask of its memory this time, as the arguments of a call."""
        told, recalls = self.pager.offer, offers_recall(self.pager.state, step.exchange)
        settles = undecided(self.pager.state, step.served)
        if told.protocol == "schema" and (recalls or settles):
            known = [] if final else names(self.pager, step.served)
            return {
                "tools": [],
                "tool_choice": "auto",
                "schema": schema(known, told.operations, () if final else settles),
            }
        beside = tools(told.operations, told.level) if recalls else []
        beside += [TOOLS[SETTLE]] if self.pager.state.undecided else []
        if step.names:  # the last round is for the application's own, and for words
            return {"tools": [*step.tools, *([] if final else beside)], "tool_choice": step.tool_choice}
        return {"tools": beside, "tool_choice": "none" if beside and final else "auto"}

    def _exchange(self, answer: Answer, operations: Sequence[Operation], step: Step) -> list[Message]:
        """The model's calls and our answers, as messages of this step only."""
        if self.pager.offer.protocol == "schema":
            return self._exchange_in_words(answer, operations, step)
        said = self.pager.said  # results too: they may quote the user
        calls = tuple(Call(c.id, c.name, said(arguments_of(c))) for c in answer.calls)
        size = MESSAGE_TOKENS + tokens.count(answer.text)
        size += sum(call_tokens(c.name, arguments_of(c), tokens.count) for c in answer.calls)
        parts = (said(answer.text),) if answer.text else ()
        messages = [Message("assistant", "exchange", parts, size, calls=calls)]
        for operation in operations:
            beside = sum(m.tokens for m in (*step.exchange, *messages))
            result = serve(operation, self.pager, step.served, beside)
            size = tokens.count(result) + MESSAGE_TOKENS
            messages.append(Message("tool", "exchange", (said(result),), size, answers=operation.call))
        return messages

    def _exchange_in_words(self, answer: Answer, operations: Sequence[Operation], step: Step) -> list[Message]:
        """As an answer and what became of it between marks, for a model that knows no tools."""
        size = MESSAGE_TOKENS + tokens.count(answer.text)
        asked = Message("assistant", "exchange", (self.pager.said(answer.text),), size)
        results: list[str] = []
        for operation in operations:
            beside = sum(m.tokens for m in (*step.exchange, asked)) + sum(map(tokens.count, results))
            results.append(serve(operation, self.pager, step.served, beside))
        words = f"<tool_result>\n{MARKS.sub('‹', chr(10).join(results))}\n</tool_result>"
        # By the user, for that is the only role that every model's template takes at this place.
        return [asked, Message("user", "exchange", (self.pager.said(words),), tokens.count(words) + MESSAGE_TOKENS)]


def commit(pager: Pager, *, durable: bool = True, last: bool = False) -> None:
    """One on the way is seen by everybody at once, and on the disk for good with the next that is `durable`.

    The `last` of a step gives its lease back as well.
    """
    journal: Any = pager.journal
    journal.durable, journal.last = durable, last
    try:
        pager.commit()
    finally:
        journal.durable, journal.last = True, False


def _with_ids(answer: Answer, round_: int) -> Answer:
    """Each call with an id of its own: some models give none, or one for all."""
    calls: list[ToolCall] = []
    for nth, call in enumerate(answer.calls):
        call_id = clean(call.id)
        taken = not call_id or len(call_id) > 200 or any(call_id == other.id for other in calls)
        calls.append(replace(call, id=f"call_{round_}_{nth}" if taken else call_id, name=clean(call.name)))
    return replace(answer, calls=tuple(calls))


def _taken_apart(answer: Answer, round_: int) -> Answer:
    """An answer under the schema with what it asks as calls; one that cannot be read asks for a better one."""
    spoken = of_answer(answer.text)
    if spoken.error:
        return replace(answer, calls=(ToolCall(f"op_{round_}_0", "reply", {}, spoken.error),))
    calls = [ToolCall(f"op_{round_}_{n}", name, arguments) for n, (name, arguments) in enumerate(spoken.calls)]
    return replace(answer, calls=tuple(calls))
