"""A conversation of an application with a memory of its own, written as it happens: the run "recorded".

Turns, the prompt that the application really sent, what each call cost or why it failed. No page is made and nothing
leaves: a replay of the run shows what this engine's paging would have done. Secrets leave before anything is written.

Not here: where the words come from (recorded.py for LiteLLM, stepping.py for functions of your own).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory import tokens
from memory.errors import EngineError, StaleAppend
from memory.events import (
    ConversationStarted,
    MessageReceived,
    MessageReplied,
    ModelCalled,
    ModelFailed,
    PromptAssembled,
    StepAbandoned,
    StepFinished,
)
from memory.jsontext import readable
from memory.longterm import LongTerm, heard_of
from memory.pager import Pager
from memory.prompt import Message, Prompt, call_tokens
from memory.redaction import clean
from memory.scope import Scope
from memory.settings import Settings
from memory.show import small
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors
from memory.turns import MESSAGE_TOKENS, Call, Turn, Words
from sessions.recording import Recording
from sessions.replay import replay, save
from sessions.transcript import recording_of

TITLE = 60  # characters of the first words


@dataclass(frozen=True, slots=True)
class Line:
    """A message on its way in, as it was sent."""

    role: str  # user, assistant, tool, system
    text: str
    calls: tuple[tuple[str, str, str], ...] = ()  # id, name, arguments as JSON text
    answers: str = ""
    speaker: str = ""
    section: str = ""  # of the prompt, where it is no turn: facts, recalled, resident
    counted: int = -1  # its tokens, where its words do not say: of a part of a message, of what was not sent

    def key(self, without_secrets: Callable[[str], str]) -> Hashable:
        """What tells it from another, also where it was sent again with spaces around it or calls written anew."""
        return self.role, without_secrets(self.text).strip(), tuple(name for _, name, _ in self.calls), self.answers

    @property
    def tokens(self) -> int:
        if self.counted >= 0:
            return self.counted
        calling = sum(call_tokens(name, arguments, tokens.count) for _, name, arguments in self.calls)
        return tokens.count(self.text) + MESSAGE_TOKENS + calling


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call to a model ended."""

    llm: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    ms: float = 0.0
    first_ms: float = 0.0
    finish: str = ""
    request: str = ""
    error: str = ""
    message: str = ""


class Tape:
    """One conversation. Not for several threads at once; several processes may write the same one.

    `write` raises StaleAppend where another process was faster: `catch_up`, look again at what is new, write again.
    """

    def __init__(self, store: Store, scope: Scope, *, source: str) -> None:
        self.store, self.scope, self.source = store, scope, source
        meaning = StoredVectors(store, keep=True).meaning
        self.pager = Pager(store.open_stream(scope), clock=store.clock, redactor=store.redactor, meaning=meaning)
        self.keys: list[Hashable] = []
        self.requests: set[str] = set()
        self._turns: list[Turn] = []
        self._version = -1
        self._ms = 0.0
        self._memory: LongTerm | None = None
        self.replayed = 0  # turns of the newest replay
        self.catch_up()

    def catch_up(self) -> None:
        """What this conversation holds by now, whoever wrote it."""
        self.pager.refresh()
        if self.pager.state.version == self._version:
            return
        words = self.store.words(self.scope)
        self._turns = [t for page in self.pager.state.pages.values() for t in page.turns if not t.piece]
        self.keys = [line_of(turn, words.__getitem__).key(str) for turn in self._turns]
        calls = self.store.events(self.scope, kinds=(ModelCalled.__name__, ModelFailed.__name__))
        self.requests = {e.body.request for e in calls} - {""}  # type: ignore[attr-defined]
        self._version = self.pager.state.version

    @property
    def turns(self) -> int:
        return len(self._turns)

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────

    def write(
        self,
        sent: Sequence[Line],
        new: int,
        reply: Line | None,
        outcome: Outcome | None,
        began_at: datetime,
        ended_at: datetime,
        *,
        shared: int = 0,
        title: str = "",
        heard: Line | None = None,
        prompt: Sequence[Line] | None = None,
        gave_up: str = "",
    ) -> list[Turn]:
        """One call, all or nothing: what was sent, of which messages from `new` on are new turns, and what came.

        The `shared` messages before `new` are the last turns that are known; `heard` is a reply that is known, of a
        call that is told late. `prompt` is what the model read, in parts, where `sent` holds no more than the turns;
        `gave_up` says why no reply is to come. Returns the new turns.
        """
        before = len(self._turns)
        self._begin(sent, title)
        ids = self._known_ids(sent, new, shared)
        for at in range(new, len(sent)):
            if sent[at].role != "system" and not sent[at].section:
                ids[at] = self._take(sent[at], began_at)
        if outcome is not None:
            if prompt is None:
                self._prompt(sent, ids)
            else:
                self._prompt(prompt, self._ids_in(prompt, {sent[at]: text for at, text in ids.items()}))
            self._call(outcome, reply or heard)
        if reply is not None:
            self._take(reply, ended_at)
        self._end(reply, outcome)
        if gave_up:
            self._close_open(self.without_secrets(gave_up))
        self.pager.commit()
        self._version = self.pager.state.version
        fresh = self._turns[before:]
        lines = (*_spoken(sent[new:]), *([reply] if reply else ()))
        self.keys += [line.key(self.without_secrets) for line in lines]
        if outcome is not None and outcome.request:
            self.requests.add(outcome.request)
        return fresh

    def _begin(self, sent: Sequence[Line], title: str) -> None:
        if self.pager.state.version:
            return
        said = self.pager.said
        system = next((line.text for line in sent if line.role == "system"), "")
        first = next((line.text for line in sent if line.role == "user"), self.scope.conversation)
        words = title or small(self.without_secrets(first), TITLE)
        self.pager.add(
            ConversationStarted(
                title=said(words), system=said(system) if system else 0, system_tokens=tokens.count(system),
                source=self.source,
            )
        )  # fmt: skip

    def _known_ids(self, sent: Sequence[Line], new: int, shared: int) -> dict[int, int]:
        """By place in what was sent, the text id of a turn that is known."""
        known = self._turns[len(self._turns) - shared :] if shared else []
        places = [at for at in range(new) if sent[at].role != "system" and not sent[at].section][-shared:]
        return {at: turn.text for at, turn in zip(places, known, strict=False)} if shared else {}

    def _take(self, line: Line, at: datetime) -> int:
        pager = self.pager
        if line.role == "user":
            self._close_open("nothing was answered")
        calls = tuple(Call(i, name, pager.said(arguments)) for i, name, arguments in line.calls)
        turn = Turn(
            number=pager.state.turn + 1, role=line.role, text=pager.said(line.text), tokens=line.tokens, said_at=at,
            speaker=line.speaker, calls=calls, answers=line.answers if line.role == "tool" else "",
        )  # fmt: skip
        pager.add(MessageReceived(turn) if line.role == "user" else MessageReplied(turn))
        self._turns.append(turn)
        return turn.text

    def _close_open(self, why: str) -> None:
        if not self.pager.state.open_step:
            return
        answered = bool(self._turns) and self._turns[-1].role == "assistant" and not self._turns[-1].calls
        self.pager.add(StepFinished({}) if answered else StepAbandoned(why))
        self._ms = 0.0

    def _ids_in(self, prompt: Sequence[Line], taken: dict[Line, int]) -> dict[int, int]:
        """By place in the prompt, the text id of a turn that it repeats: each word is kept once."""
        known = dict(zip(self.keys, (turn.text for turn in self._turns), strict=False))
        known |= {line.key(self.without_secrets): text for line, text in taken.items()}
        places = {at: known.get(line.key(self.without_secrets)) for at, line in enumerate(prompt)}
        return {at: text for at, text in places.items() if text is not None}

    def _prompt(self, sent: Sequence[Line], ids: dict[int, int]) -> None:
        messages = []
        for at, section in enumerate(sections_of(sent)):
            line = sent[at]
            text = ids.get(at) or self.pager.journal.write(self.without_secrets(line.text))
            calls = tuple(
                Call(i, name, self.pager.journal.write(self.without_secrets(arguments)))
                for i, name, arguments in line.calls
            )
            messages.append(Message(line.role, section, (text,), line.tokens, answers=line.answers, calls=calls))
        prompt = Prompt(tuple(messages))
        self.pager.add(PromptAssembled(0, prompt.rows, prompt.sections, prompt.tokens, prompt.hash))

    def without_secrets(self, text: str) -> str:
        """As the store keeps it."""
        return self.pager.redactor(clean(text))[0]

    def _call(self, o: Outcome, reply: Line | None) -> None:
        said = self.pager.said
        if o.error:
            words = self.without_secrets(o.message)
            self.pager.add(ModelFailed(0, o.llm, o.error, words, request=o.request, ms=o.ms))
            return
        text, calls = (reply.text, reply.calls) if reply else ("", ())
        self.pager.add(
            ModelCalled(
                round=0, llm=o.llm, prompt_tokens=o.prompt_tokens, completion_tokens=o.completion_tokens,
                cost_usd=o.cost_usd, ms=o.ms, finish=o.finish, reply=said(text) if text else 0,
                calls=tuple(Call(i, name, said(arguments)) for i, name, arguments in calls),
                request=o.request, first_ms=o.first_ms,
            )
        )  # fmt: skip

    def _end(self, reply: Line | None, outcome: Outcome | None) -> None:
        """A step ends with a reply that asks for nothing more; one that failed stays open for another try."""
        self._ms += outcome.ms if outcome else 0.0
        if reply is not None and not reply.calls and self.pager.state.open_step:
            self.pager.add(StepFinished({"model": round(self._ms, 3)} if self._ms else {}))
            self._ms = 0.0

    def give_up(self, why: str) -> None:
        """No more is to come: a step without its reply ends as one."""
        self.pager.refresh()
        if self.pager.state.open_step:
            self._close_open(why)
            self.pager.commit()
            self._version = self.pager.state.version

    def attempt(self, write: Callable[[], list[Turn]], tries: int = 5) -> list[Turn]:
        """`write`, again where another process was faster, after a look at what it wrote."""
        for left in range(tries - 1, -1, -1):
            try:
                return write()
            except EngineError as error:
                self._version = -1
                self.catch_up()  # the draft is dropped
                if not left or not isinstance(error, StaleAppend):
                    raise
        raise AssertionError("the last try returns or raises")

    # ── what follows from it ──────────────────────────────────────────────────────────────────────────

    def remember(self, turns: Sequence[Turn]) -> None:
        """Look at new turns for facts about the user, as the engine does after a reply."""
        if not turns:
            return
        if self._memory is None:
            self._memory = LongTerm(self.store, self.scope.user, self.scope.conversation)
        first = turns[0].number
        before = [turn for turn in self._turns if turn.number == first - 1]
        heard = heard_of([*before, *turns], self.scope.conversation, self.pager.journal.words)
        self._memory.learn(list(heard), self._memory.knowledge.version)

    def replay(self, settings: Settings) -> Scope | None:
        """What paging under these settings would have done, kept as a run; None where nothing new is whole."""
        recording = whole_steps(recording_of(self.store, self.scope))
        if len(recording.turns) <= self.replayed:
            return None
        kept = save(self.store, self.scope, replay(recording, settings))
        self.replayed = len(recording.turns)
        return kept


def whole_steps(recording: Recording) -> Recording:
    """Without a last step that still waits for its reply: a replay of it could not be continued."""
    ends = (i for i in range(len(recording.turns), 0, -1) if _ends_a_step(recording, i))
    return replace(recording, turns=recording.turns[: next(ends, 0)])


def _ends_a_step(recording: Recording, at: int) -> bool:
    last = recording.turns[at - 1]
    return last.role == "assistant" and not last.calls


def _spoken(sent: Iterable[Line]) -> list[Line]:
    """Those that are turns."""
    return [line for line in sent if line.role != "system" and not line.section]


def sections_of(sent: Sequence[Line]) -> list[str]:
    """Of each message its section of the prompt: its own, or by where it stands to the user's last."""
    asked = max((at for at, line in enumerate(sent) if line.role == "user" and not line.section), default=-1)
    return [line.section or _section(line, at, asked) for at, line in enumerate(sent)]


def _section(line: Line, at: int, asked: int) -> str:
    if line.role == "system":
        return "system"
    if at == asked:
        return "new"
    return "exchange" if at > asked >= 0 else "resident"


def line_of(turn: Turn, words: Words) -> Line:
    """A turn that is known, as a message that was sent."""
    calls = tuple((call.id, call.name, words(call.arguments)) for call in turn.calls)
    return Line(turn.role, words(turn.text), calls, turn.answers, turn.speaker)


def fit(text: str) -> str:
    """Words as a store takes them."""
    return clean(readable(text))
