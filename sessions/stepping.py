"""Steps of a memory of your own, told as they happen: `with workbench.step(…)`, `@workbench.remembered(…)`.

For an application that asks its model by other ways than LiteLLM, or finds by itself what the model is to know. Each
block becomes a step of the run "recorded": what was said, what was retrieved, what was replied, or why it failed. It is
written when the block ends, all or nothing, and without secrets. What cannot be written is logged and in `trouble`,
never raised into the application. Not here: drawing facts, replays (`workbench replay` makes them of what was kept).
"""

from __future__ import annotations

import inspect
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from memory import tokens
from memory.errors import BadMessage, BadSetting
from memory.journal import utc_now
from memory.models.recorder import UNREADABLE, sent_of
from memory.prompt import MARKS
from memory.redaction import clean, redact
from memory.scope import RECORDED, Scope
from memory.stores.sql import Store
from memory.turns import Turn
from sessions.recorded import TROUBLE, line_sent
from sessions.tape import Line, Outcome, Tape, fit, sections_of

SOURCE = "step"
OWN = "application"  # stands for the model where nobody names one
SILENT = "the block ended without a reply"
WHOLE = ("(?<![A-Za-z0-9])", "(?![A-Za-z0-9])")  # no "art" in "start"; Chinese has nothing between its words
_WRITING = threading.Lock()  # of several threads that tell one conversation, none has to try again

P = ParamSpec("P")
R = TypeVar("R")
Named = str | Callable[..., str]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """What the application's memory gave for a step."""

    text: str
    id: str = ""
    score: float | None = None
    query: str = ""

    def marks(self, sent: bool | None = None) -> str:
        """What is known of it beside its words, as attributes; "" for nothing.

        >>> Found("Ana likes trains.", "m7", 0.8312, "travel").marks()
        ' id="m7" score="0.8312" query="travel"'
        """
        known = {
            "id": self.id, "score": "" if self.score is None else f"{self.score:.4g}", "query": self.query,
            "sent": "no" if sent is False else "",
        }  # fmt: skip
        return "".join(f' {name}="{escape(" ".join(value.split()))}"' for name, value in known.items() if value)


class Step:
    """
    >>> with step("store", user="ana", conversation="trip") as told:       # doctest: +SKIP
    ...     told.said("What is my budget?")
    ...     told.retrieved([("m7", "The budget is 5,000 euros.", 0.83)], query="budget")
    ...     told.replied("5,000 euros.")
    >>> told                                                               # doctest: +SKIP
    <Step of ana/trip/recorded: turns 1-2>
    """

    def __init__(
        self, store: Store | str | Path | None, user: str, conversation: str, title: str = "", llm: str = OWN
    ) -> None:
        try:
            self.scope = Scope(user, conversation, RECORDED)
        except BadSetting as error:
            raise BadMessage(str(error)) from error
        self.trouble = ""  # why nothing of it was kept
        self.turns: tuple[int, ...] = ()  # their numbers, once they are kept
        self._store, self._title, self._llm = store, title, llm
        self._clock = store.clock if isinstance(store, Store) else utc_now
        self._said: Line | None = None
        self._reply: Line | None = None
        self._found: list[Found] = []
        self._prompt: list[Line] | None = None
        self._used: dict[str, Any] = {}
        self._began_at = self._clock()
        self._ended_at: datetime | None = None
        self._is_open: bool | None = None  # None: not yet

    def __repr__(self) -> str:
        kept = f"turns {self.turns[0]}-{self.turns[-1]}" if self.turns else self.trouble or "not ended"
        return f"<Step of {self.scope}: {kept}>"

    # ── what the application tells ────────────────────────────────────────────────────────────────────

    def said(self, text: str) -> None:
        """The user's message. Raises BadMessage for a second one: that begins a step of its own."""
        self._check(self._said is None, "said() twice: a second message begins another step")
        told = _text(text, "said")
        self._check(bool(told.strip()), "said() takes words; this text is empty")
        self._said = Line("user", told)
        self._began_at = self._clock()

    def retrieved(self, found: Iterable[str | tuple[str, str, float | None]], query: str = "") -> None:
        """What the memory gave, best first: texts, or (id, text, score); empty texts are passed over."""
        self._check(not isinstance(found, str), "retrieved() takes a list of texts, not one text")
        self._found += [one for each in found if (one := _found(each, fit(query))).text.strip()]

    def prompt(self, messages: Sequence[Any]) -> None:
        """The messages as the model gets them, mappings with role and content; the last one told counts.

        What was retrieved is shown apart wherever its words stand in them, and as not sent where they do not.
        Without this, the prompt is shown as what was retrieved and the message.
        """
        self._check(not isinstance(messages, str), "prompt() takes a list of messages, not a text")
        try:
            self._prompt = [line for each in messages if (line := line_sent(sent_of(each))) is not None]
        except UNREADABLE as error:
            raise BadMessage(f"prompt() takes messages with role and content: {error}") from error

    def replied(
        self, text: str, *, llm: str = "", prompt_tokens: int = 0, completion_tokens: int = 0,
        cost_usd: float | None = None,
    ) -> None:  # fmt: skip
        """The reply, and by whom and at what cost where that is known. Raises BadMessage for a second one.

        An empty one is none: the step ends without a reply.
        """
        self._check(self._ended_at is None, "replied() twice: a step has one reply")
        told = _text(text, "replied")
        self._reply = Line("assistant", told) if told.strip() else None
        self._used = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "cost_usd": cost_usd}
        self._llm = fit(llm) or self._llm
        self._ended_at = self._clock()

    def _check(self, right: bool, wrong: str) -> None:
        if not self._is_open:
            raise BadMessage("a step is told within its block: `with workbench.step(…) as step:`")
        if not right:
            raise BadMessage(wrong)

    # ── the block ─────────────────────────────────────────────────────────────────────────────────────

    def __enter__(self) -> Step:
        if self._is_open is not None:
            raise BadMessage("a step is one block: make another with workbench.step(…)")
        self._is_open = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._is_open = False
        if self._said is not None:
            self._keep(self._said, error)
        elif error is None:
            raise BadMessage("nothing was said in this step: call step.said(…) within its block")
        else:
            self._lost(f"{type(error).__name__} before anything was said")

    def _keep(self, said: Line, error: BaseException | None) -> None:
        try:
            with _WRITING, _opened(self._store) as store:
                self.turns = tuple(turn.number for turn in self._written(store, said, error))
        except TROUBLE as problem:
            self._lost(f"{type(problem).__name__}: {problem}")

    def _lost(self, why: str) -> None:
        self.trouble = redact(clean(why))[0]
        logger.warning("a step of %s was not recorded: %s", self.scope, self.trouble)

    def _written(self, store: Store, said: Line, error: BaseException | None) -> list[Turn]:
        prompt = parts_of(self._prompt, self._found, said.text) if self._prompt else [*map(_alone, self._found), said]
        system = [line for line in prompt if line.role == "system" and line.section == "system"][:1]
        ended_at = self._ended_at or self._clock()
        outcome = Outcome(
            self._llm, **self._used, ms=(ended_at - self._began_at).total_seconds() * 1000,
            error=_class_of(error, self._reply), message=fit(str(error)) if error else SILENT,
        )  # fmt: skip
        why = f"the application failed: {type(error).__name__}" if error else "" if self._reply else SILENT
        tape = Tape(store, self.scope, source=SOURCE)
        return tape.attempt(
            lambda: tape.write(
                [*system, said], 0, self._reply, outcome, self._began_at, ended_at,
                title=self._title, prompt=prompt, gave_up=why,
            )
        )  # fmt: skip


def _class_of(error: BaseException | None, reply: Line | None) -> str:
    return type(error).__name__ if error else "" if reply else "NoReply"


@contextmanager
def _opened(store: Store | str | Path | None) -> Iterator[Store]:
    """One that is open stays so."""
    if isinstance(store, Store):
        yield store
        return
    with Store.open(store) as opened:
        yield opened


# ── the prompt ────────────────────────────────────────────────────────────────────────────────────────


def parts_of(prompt: Sequence[Line], found: Sequence[Found], said: str = "") -> list[Line]:
    """The messages of a prompt, apart where words that were retrieved stand in them; then what is known of those.

    What was said is never taken for what was retrieved, though a memory may find it as well.

    >>> for part in parts_of([Line("user", "Known: Ana likes trains. How?")], [Found("Ana likes trains.", "m7")]):
    ...     print(part.section, repr(part.text))
    new 'Known:'
    recalled ' Ana likes trains. '
    new 'How?'
    recalled '<recalled id="m7"/>'
    """
    texts = sorted({each.text for each in found}, key=len, reverse=True)
    where = re.compile(rf"(\s*{WHOLE[0]}(?:{'|'.join(map(re.escape, texts))}){WHOLE[1]}\s*)") if texts else None
    parts = []
    for line, section in zip(prompt, sections_of(prompt), strict=True):
        own = section == "new" and line.text.strip() == said.strip()
        parts += _parts(replace(line, section=section), None if own else where)
    sent = "\n".join(part.text for part in parts if part.section == "recalled")
    return [*parts, *(note for each in found if (note := _note(each, each.text in sent)) is not None)]


def _parts(line: Line, where: re.Pattern[str] | None) -> list[Line]:
    """The parts count as much as the whole does."""
    pieces = where.split(line.text) if where else [line.text]
    if len(pieces) == 1:
        return [line]
    parts = [
        replace(line, text=piece, section="recalled" if at % 2 else line.section, counted=tokens.count(piece), calls=())
        for at, piece in enumerate(pieces)
        if piece
    ]
    rest = max(0, line.tokens - sum(part.tokens for part in parts))
    return [replace(parts[0], calls=line.calls, counted=parts[0].tokens + rest), *parts[1:]]


def _note(found: Found, sent: bool) -> Line | None:
    """What is known of it beside its words, and the words where they were not sent: no tokens of the prompt."""
    marks = found.marks(sent)
    if not marks:
        return None
    text = f"<recalled{marks}/>" if sent else f"<recalled{marks}>\n{MARKS.sub('‹', found.text)}\n</recalled>"
    return Line("system", text, section="recalled", counted=0)


def _alone(found: Found) -> Line:
    """As a message of its own, which counts its words."""
    marks = found.marks()
    text = f"<recalled{marks}>\n{MARKS.sub('‹', found.text)}\n</recalled>" if marks else found.text
    return Line("system", text, section="recalled", counted=Line("system", found.text).tokens)


def _found(each: Any, query: str) -> Found:
    if isinstance(each, str):
        return Found(fit(each), query=query)
    try:
        name, text, score = each
        return Found(_text(text, "retrieved"), fit(str(name)), None if score is None else float(score), query)
    except (TypeError, ValueError) as error:
        if isinstance(error, BadMessage):
            raise
        raise BadMessage(f"retrieved() takes texts or (id, text, score), not {type(each).__name__}") from error


def _text(text: Any, told: str) -> str:
    if not isinstance(text, str):
        raise BadMessage(f"{told}() takes a text, not {type(text).__name__}")
    return fit(text)


# ── for whoever uses it ───────────────────────────────────────────────────────────────────────────────


def step(store: Store | str | Path | None = None, *, user: str, conversation: str, title: str = "") -> Step:
    """One step of an application with a memory of its own, to be told within a `with` block.

    `said` once, `replied` once, `retrieved` and `prompt` where there is something to tell. An exception in the block is
    recorded as a failed step and goes on. `store` is a store, its folder (opened for each step, some milliseconds), or
    None for the usual one. Raises BadMessage for wrong use, and nothing else.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with step(folder, user="ana", conversation="trip") as told:
    ...         told.said("What is my budget?")
    ...         told.retrieved(["The budget is 5,000 euros."], query="budget")
    ...         told.replied("5,000 euros.")
    >>> told
    <Step of ana/trip/recorded: turns 1-2>
    """
    return Step(store, user, conversation, title)


def remembered(
    store: Store | str | Path | None = None, *, user: Named, conversation: Named, title: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function `reply = f(message)`, or an async one, whose calls are recorded as steps.

    What was said is its argument `message`, else its first. `user` and `conversation` may be functions of the same
    arguments. A function with a parameter `step` gets the step, to tell what was retrieved. Raises BadMessage for a
    message or a reply that is no text; a reply of None is a step without one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     @remembered(folder, user="ana", conversation=lambda message, chat: chat)
    ...     def answer(message, chat):
    ...         return f"I hear: {message}"
    ...     answer("Hello.", "trip")
    'I hear: Hello.'
    """

    def around(function: Callable[P, R]) -> Callable[P, R]:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise BadMessage("remembered takes a function that returns its reply; for one that yields use step")
        signature = inspect.signature(function)
        message, gets_step = _message_of(signature), "step" in signature.parameters

        def begun(args: Any, kwargs: Any) -> Step:
            user_, conversation_ = (n(*args, **kwargs) if callable(n) else n for n in (user, conversation))
            return Step(store, user_, conversation_, title, getattr(function, "__name__", OWN))

        def told(one: Step, args: Any, kwargs: Any) -> dict[str, Any]:
            given = {**kwargs, "step": one} if gets_step else kwargs
            bound = signature.bind(*args, **given)
            bound.apply_defaults()
            one.said(bound.arguments[message])
            return given

        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
                with begun(args, kwargs) as one:
                    return _heard(one, await function(*args, **told(one, args, kwargs)))

            return cast("Callable[P, R]", awaited)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            with begun(args, kwargs) as one:
                return _heard(one, function(*args, **told(one, args, kwargs)))

        return called

    return around


def _message_of(signature: inspect.Signature) -> str:
    """The name of the parameter that holds what was said."""
    names = [name for name in signature.parameters if name not in ("self", "cls", "step")]
    if not names:
        raise BadMessage("remembered takes a function of the message: it has no parameter for one")
    return "message" if "message" in names else names[0]


def _heard(one: Step, reply: R) -> R:
    if reply is not None and one._ended_at is None:  # it may have told more itself
        one.replied(cast("str", reply))
    return reply
