"""Spans into conversations: an app resends the history with each call, and only what is new becomes a turn.

A call's messages are laid against what is known of its conversation: its longest known prefix is left out. One that
goes on otherwise after a shared beginning (an edit, another reply) is a thread of its own, `NAME~2`; so is one with
other instructions and nothing in common (a helper's own talk). One that sends the newest message alone, or cuts the
oldest away, goes on where its conversation stood. The same span again says nothing new: its reply, at its time, is
there. A trace that names no conversation belongs to the one that began with its first message.
Not here: what a span says (span_messages.py); the store.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from memory.redaction import Redact, redact
from memory.resent import beginning, name_by
from sessions import otel_names as names
from sessions.recording import Draft, ModelCall, RecordedTurn, Recording, Skipped, parsed_time
from sessions.span_messages import (
    Message,
    Said,
    failure,
    figures,
    foreign,
    is_agent,
    is_model,
    is_tool,
    loaded,
    model_call,
    said,
    tool_result,
    without_secrets,
)
from sessions.spans import EPOCH, Span

FORMAT = "otlp"
BRANCH = "~"  # between a conversation's name and the number of one that goes on otherwise
NAMED = 8  # names in a note
REMEMBERED = 4_096  # texts without their secrets
SOMEBODY = "user"
Known = Callable[[str, str], Sequence[Recording]]  # by user and conversation: its threads that a store has
Weave = Callable[[Iterable[Span]], Iterator[Recording | Skipped]]


@dataclass(frozen=True, slots=True)
class Address:
    user: str
    conversation: str


@dataclass(frozen=True, slots=True)
class Placed:
    message: Message
    at: datetime | None


@dataclass(slots=True)
class Thread:
    name: str
    turns: list[Placed] = field(default_factory=list)
    system: str = ""
    before: Recording | None = None  # as a store has it
    is_bare: bool = False  # its calls come without their history
    notes: list[str] = field(default_factory=list)
    model_calls: dict[int, list[ModelCall]] = field(default_factory=lambda: defaultdict(list))  # by the turn before
    _said: dict[Hashable, list[int]] = field(default_factory=lambda: defaultdict(list))  # indexes of turns, by key …
    _n_read: int = 0  # … of the first ones

    def saying(self, message: Message) -> Iterator[tuple[int, Placed]]:
        """Its turns that say this, each with its index."""
        for i in range(self._n_read, len(self.turns)):  # a turn that stands there stays as it is
            self._said[self.turns[i].message.key].append(i)
        self._n_read = len(self.turns)
        return ((i, self.turns[i]) for i in self._said.get(message.key, ()))

    def shared(self, messages: Sequence[Message]) -> int:
        """How many of its first messages these begin with."""
        return beginning(self.turns, messages, lambda placed, message: placed.message.key == message.key)

    def cut(self, messages: Sequence[Message]) -> int:
        """Behind which of these messages it ends, where they hold its end but not its beginning; 0 if they do not."""
        # Two that agree are enough: keys hold the ids of calls. resending.py counts all that agree, and leaves it to
        # whoever asks, who chooses among conversations, how many are.
        if len(self.turns) < 2:
            return 0
        last, before = self.turns[-1].message.key, self.turns[-2].message.key
        for i in range(len(messages) - 1, -1, -1):
            if messages[i].key == last and (i == 0 or messages[i - 1].key == before):
                return i + 1 if i or messages[0].role == "assistant" else 0
        return 0

    def add(self, messages: Iterable[Message], at: datetime | None) -> None:
        self.turns.extend(Placed(message, at) for message in messages)


class Talk:
    """One conversation while its spans are laid out."""

    def __init__(self, address: Address, known: Sequence[Recording], by: Redact) -> None:
        self.address = address
        self._by = lru_cache(maxsize=REMEMBERED)(by)  # for each call brings the history along
        self.threads = [_thread(recording) for recording in known]
        self._sizes = {thread.name: len(thread.turns) for thread in self.threads}
        self._requests = {c.request for t in self.threads for calls in t.model_calls.values() for c in calls}
        self._paid: set[str] = set()  # threads with a call of a model that is new
        self.left_out: Counter[str] = Counter()
        self.foreign: Counter[str] = Counter()
        self.skipped: list[tuple[str, str]] = []
        self.calls = self.tokens_in = self.tokens_out = self.bare = 0
        self.cost_usd = 0.0
        self.title = self.language = ""
        self.questions: list[Any] = []

    def take(self, span: Span, words: Said) -> None:
        """What a model's span says, where it is new."""
        words = without_secrets(words, self._by)
        self.left_out += words.left_out
        self._count(span)
        call = model_call(span, replied=bool(words.outputs))
        if call is not None:
            call = replace(call, message=self._by(call.message)[0])
        if not words.inputs and not words.outputs:
            thread = self.threads[0] if self.threads else self._opened([])
            self._pay(thread, len(thread.turns), call)
            return
        at, after = _times(span)
        if any(m.mark for m in (*words.inputs, *words.outputs)):
            self._take_ours(span, words)
        elif (there := self._there(words, at, after)) is not None:
            self._pay(*there, call, again=True)
        elif not (is_agent(span) and self._is_covered(words, at, after)):
            told, replied = [*words.inputs, *words.outputs], bool(words.outputs)
            thread, new = self._where(words)
            thread.system = thread.system or words.system
            thread.add(new, at)
            place = len(thread.turns)
            thread.add(words.outputs, after)
            again = not new and not words.outputs and thread.shared(told) == len(told)
            self._pay(thread, len(told) - replied if again else place, call, again=again and replied)

    def _pay(self, thread: Thread, place: int, call: ModelCall | None, *, again: bool = False) -> None:
        """`again`: of words that were told before; with the same figures, or none, it is a span around that call."""
        if call is None or call.request in self._requests:
            return
        told = thread.model_calls[place]
        taken = (call.prompt_tokens, call.completion_tokens)
        if again and any(taken in ((0, 0), (one.prompt_tokens, one.completion_tokens)) for one in told):
            return
        told.append(call)
        self._requests.add(call.request)
        self._paid.add(thread.name)

    def _count(self, span: Span) -> None:
        self.foreign.update(foreign(span))
        tokens_in, tokens_out, cost = figures(span)
        self.calls += 1
        self.tokens_in, self.tokens_out = self.tokens_in + tokens_in, self.tokens_out + tokens_out
        self.cost_usd += cost
        if why := failure(span):
            self.skipped.append((f"span {span.id}", f"{span.name!r} failed: {self._by(why)[0]}"))
        for name in ("title", "language"):
            value = span.attributes.get(f"{names.OURS}.{name}")
            setattr(self, name, value if isinstance(value, str) else getattr(self, name))

    def _there(self, words: Said, at: datetime | None, after: datetime | None) -> tuple[Thread, int] | None:
        """Behind which turn this very span asked, if it was laid out before: what it brought last stands there."""
        last, when = (words.outputs[-1], after) if words.outputs else (words.inputs[-1], at)
        places = (
            (thread, i + (not words.outputs)) for thread in self.threads for i, placed in thread.saying(last)
            if placed.at == when
        )  # fmt: skip
        return None if when is None else next(places, None)

    def _is_covered(self, words: Said, at: datetime | None, after: datetime | None) -> bool:
        """Whether calls of models told before what an agent's span around them tells."""
        if at is None or after is None:
            return False
        last = (words.outputs or words.inputs)[-1]
        return any(
            placed.at is not None and at <= placed.at <= after
            for thread in self.threads for _, placed in thread.saying(last)
        )  # fmt: skip

    def _where(self, words: Said) -> tuple[Thread, list[Message]]:
        """The thread that these go on with, and what of the input is new there."""
        inputs, whole = words.inputs, [*words.inputs, *words.outputs]
        if not self.threads:
            return self._opened([]), inputs
        best = max(self.threads, key=lambda thread: thread.shared(whole))
        n = best.shared(whole)
        if n == len(whole):
            words.outputs = []  # a wrapper's span around another one, or a call that was told before
            return best, []
        if n == len(best.turns):
            return best, self._rest(words, n)
        for thread in reversed(self.threads):
            if (n_cut := thread.cut(inputs)) > 0:
                if (older := n_cut - thread.shared(inputs)) and inputs[0].key != thread.turns[0].message.key:
                    self.left_out["messages at the head of a call whose oldest were cut"] += max(0, older - 2)
                return thread, inputs[n_cut:]
        bare = all(message.role != "assistant" for message in inputs)
        main = self.threads[0]
        if bare and words.system in ("", main.system) and (not n or main.is_bare):
            main.is_bare = True
            self.bare += 1
            return main, inputs
        return self._opened(best.turns[:n]), self._rest(words, n)

    def _rest(self, words: Said, n: int) -> list[Message]:
        words.outputs = words.outputs[max(0, n - len(words.inputs)) :]
        return words.inputs[n:]

    def _opened(self, shared: Sequence[Placed]) -> Thread:
        count = len(self.threads)
        name = f"{self.address.conversation}{BRANCH}{count + 1}" if count else self.address.conversation
        thread = Thread(name, list(shared))
        if count:
            thread.notes.append(
                f"it shares its first {len(shared)} turns with another and then goes on otherwise" if shared
                else "the same conversation by its name, with other instructions and nothing in common"
            )  # fmt: skip
        self.threads.append(thread)
        return thread

    def _take_ours(self, span: Span, words: Said) -> None:
        """What we exported says itself which turn is which."""
        thread = self.threads[0] if self.threads else self._opened([])
        thread.system = thread.system or words.system
        for message in (*words.inputs, *words.outputs):
            mark = message.mark or {}
            if mark.get("turn") == len(thread.turns) + 1:
                at = parsed_time(mark.get("said_at"), thread.notes.append)
                thread.turns.append(Placed(message, at))
            elif not isinstance(mark.get("turn"), int) or mark["turn"] > len(thread.turns):
                where = f"span {span.id}"
                self.skipped.append((where, f"turn {mark.get('turn')} does not follow turn {len(thread.turns)}"))
                continue
            self._take_our_calls(thread, span, mark)
        asked = loaded(span.attributes.get(names.QUESTIONS))
        self.questions = asked if isinstance(asked, list) else self.questions

    def _take_our_calls(self, thread: Thread, span: Span, mark: Mapping[str, Any]) -> None:
        """As they were, by their own ids; the span's figures are these again, for others."""
        told = mark.get("model_calls")
        for values in told if isinstance(told, list) else ():
            try:
                call = ModelCall.of(values)
            except (TypeError, ValueError) as error:
                self.skipped.append((f"span {span.id}", str(error)))
            else:
                self._pay(thread, mark["turn"], replace(call, message=self._by(call.message)[0]))

    def answered(self, span: Span) -> None:
        """A tool's result, where the call that it answers stands last and no call of a model brought it."""
        self.foreign.update(foreign(span))
        if why := failure(span):
            self.skipped.append((f"span {span.id}", f"{span.name!r} failed: {self._by(why)[0]}"))
        result = tool_result(span)
        for thread in self.threads if result is not None else ():
            behind = len(thread.turns)
            while behind and thread.turns[behind - 1].message.role == "tool":
                behind -= 1
            there = {placed.message.key for placed in thread.turns[behind:]}
            asked = thread.turns[behind - 1].message.calls if behind else ()
            if result is not None and result.key not in there and any(call.id == result.answers for call in asked):
                thread.add([replace(result, text=self._by(result.text)[0])], _times(span)[1])
                return

    # ── out ───────────────────────────────────────────────────────────────────────────────────────────

    def recordings(self, *, old: bool) -> Iterator[Recording | Skipped]:
        """Each thread that has something new, whole; with `old` the others too."""
        for thread in self.threads:
            if old or len(thread.turns) != self._sizes.get(thread.name) or thread.name in self._paid:
                yield self._recording(thread)

    def _recording(self, thread: Thread) -> Recording | Skipped:
        before = thread.before
        draft = Draft(
            before.format if before else FORMAT, thread.name, self.address.user,
            title=before.title if before else self.title,
            language=before.language if before else self.language,
            system=before.system if before else thread.system,
        )  # fmt: skip
        for number, placed in enumerate(thread.turns, 1):
            message, mark = placed.message, placed.message.mark or {}
            draft.turn(
                number, message.role, message.text, placed.at, f"turn {number}",
                speaker=message.speaker, calls=message.calls, answers=message.answers,
                important=mark.get("important") is True,
                evidence=mark.get("evidence") or (), recalls=_recalls(mark),
                model_calls=[*(thread.model_calls[0] if number == 1 else ()), *thread.model_calls[number]],
            )  # fmt: skip
        for place, asked in enumerate(self.questions):
            draft.ask(
                f"question {place}", str(asked.get("question", "")), str(asked.get("answer", "")),
                asked.get("evidence") or (), str(asked.get("category", "")),
            )  # fmt: skip
        self._told(draft, thread)
        return draft.finish()

    def _told(self, draft: Draft, thread: Thread) -> None:
        for where, why in self.skipped if thread is self.threads[0] else ():
            draft.skip(where, why)
        for note in thread.notes:
            draft.note(note)
        if thread is not self.threads[0]:
            return
        cost = f", {self.cost_usd:.4f} US dollars" if self.cost_usd else ""
        draft.note(f"{self.calls:,} calls of models: {self.tokens_in:,} tokens in, {self.tokens_out:,} out{cost}")
        if self.bare:
            draft.note(f"{self.bare} calls came without their history: taken in the order of their time")
        for what, n in self.left_out.items():
            draft.note(f"{n} {what} left out")
        if self.foreign:
            most = ", ".join(f"{name} ({n})" for name, n in self.foreign.most_common(NAMED))
            more = ", …" if len(self.foreign) > NAMED else ""
            draft.note(f"{self.foreign.total()} attributes have no place in a recording: {most}{more}")


def woven(
    spans: Iterable[Span], known: Known = lambda user, conversation: (), by: Redact = redact, *, old: bool = False
) -> Iterator[Recording | Skipped]:
    """The conversations that these spans tell, in the order of their first span; then what tells of none.

    `known`: what is there already; a conversation without anything new comes with `old` alone. `by`: takes secrets out.
    """
    once = {(span.trace, span.id): span for span in spans}
    ordered = sorted(once.values(), key=_when)
    talks: dict[Address, Talk] = {}
    addresses = addresses_of(ordered)
    with_words = _told_by_models(ordered)
    silent: Counter[str] = Counter()
    tools: list[tuple[Talk, Span]] = []
    for span in ordered:
        address = addresses[span.trace, span.id]
        speaks = is_model(span) or (is_agent(span) and span.trace not in with_words)
        is_ours = names.STEP in span.attributes  # what it tells without words, a message tells too
        failed = is_model(span) and not is_ours and failure(span)
        words = said(span) if speaks or failed else Said()
        if not (is_tool(span) or (speaks and _has_words(words)) or failed):
            silent[span.name or "a span without a name"] += not is_agent(span) and not is_ours
            continue
        talk = talks.setdefault(address, Talk(address, known(address.user, address.conversation), by))
        if is_tool(span):
            tools.append((talk, span))
        else:
            talk.take(span, words)
    for talk, span in tools:
        talk.answered(span)
    for talk in talks.values():
        yield from talk.recordings(old=old)
    if silent := +silent:
        most = ", ".join(f"{name!r} ({n})" for name, n in silent.most_common(NAMED))
        yield Skipped("spans", f"{silent.total()} spans hold no message of a conversation: {most}")


def _told_by_models(spans: Sequence[Span]) -> set[str]:
    """The traces with an agent's span in which a model's own span has words."""
    asked = {span.trace for span in spans if is_agent(span)}
    own = (span for span in spans if span.trace in asked and is_model(span) and not is_agent(span))
    return {span.trace for span in own if _has_words(said(span))}


def _has_words(words: Said) -> bool:
    return bool(words.inputs or words.outputs)


def addresses_of(spans: Sequence[Span]) -> dict[tuple[str, str], Address]:
    """Whose conversation each span belongs to: as it, its parents or its trace say; else by how the trace begins."""
    by_id = {(span.trace, span.id): span for span in spans}
    traces: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        traces[span.trace].append(span)
    shared = {trace: (_only(group, names.CONVERSATIONS), _only(group, names.USERS)) for trace, group in traces.items()}
    begun = {trace: begun_by(group) or f"trace {trace}" for trace, group in traces.items() if not shared[trace][0]}
    found: dict[tuple[str, str], Address] = {}
    for key, span in by_id.items():
        conversation = _inherited(span, by_id, names.CONVERSATIONS) or shared[span.trace][0] or begun[span.trace]
        user = _inherited(span, by_id, names.USERS) or shared[span.trace][1] or SOMEBODY
        found[key] = Address(user, conversation)
    return found


def begun_by(spans: Iterable[Span]) -> str:
    """A name by the first message of the user's, which each call of a chat sends again; "" where nobody says one."""
    ordered = sorted(spans, key=_when)
    speaking = [*filter(is_model, ordered), *filter(is_agent, ordered)]
    first = (m.text for span in speaking for m in said(span).inputs if m.role == "user" and m.text.strip())
    return next(map(name_by, first), "")


def _when(span: Span) -> tuple[datetime, datetime, str]:
    return span.started_at or EPOCH, span.ended_at or span.started_at or EPOCH, span.id


def _inherited(span: Span, by_id: Mapping[tuple[str, str], Span], which: Sequence[str]) -> str:
    seen: set[str] = set()
    here: Span | None = span
    while here is not None and here.id not in seen:
        if (value := here.first(which)) is not None:
            return str(value)
        seen.add(here.id)
        here = by_id.get((here.trace, here.parent))
    return ""


def _only(spans: Iterable[Span], which: Sequence[str]) -> str:
    """What all of them say that say anything; "" where they differ."""
    values = {str(value) for span in spans if (value := span.first(which)) is not None}
    return values.pop() if len(values) == 1 else ""


def _times(span: Span) -> tuple[datetime | None, datetime | None]:
    """Of what went in, and of what came out; an end before the start is none."""
    start, end = span.started_at, span.ended_at
    if start is None or end is None:
        return start or end, end or start
    return start, max(start, end)


def _thread(recording: Recording) -> Thread:
    return Thread(
        recording.conversation, [Placed(_message(turn), turn.said_at) for turn in recording.turns],
        recording.system, recording,
        model_calls=defaultdict(list, {turn.number: list(turn.model_calls) for turn in recording.turns}),
    )  # fmt: skip


def _message(turn: RecordedTurn) -> Message:
    return Message(turn.role, turn.text, turn.calls, turn.answers, turn.speaker, {"important": turn.important})


def _recalls(mark: Mapping[str, Any]) -> list[tuple[Sequence[tuple[Any, Any]], str]]:
    return [(recall["turns"], recall.get("question", "")) for recall in mark.get("recalls") or ()]
