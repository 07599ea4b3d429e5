"""The full trace of one step: what came in, what was considered, what the model read and said, what it cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeVar

from memory import show
from memory.errors import NotFound
from memory.events import (
    BookmarkMade,
    Event,
    ExtraKept,
    FactsPlaced,
    MessageReceived,
    MessageReplied,
    ModelCalled,
    ModelFailed,
    PageEvicted,
    PagePagedIn,
    PagesRecalled,
    PagesRetrieved,
    PagesUsed,
    PromptAssembled,
    StepAbandoned,
    StepFinished,
    TextRedacted,
)
from memory.pages import PART
from memory.prompt import Message
from memory.scope import RECORDED, Scope
from memory.show import Shown
from memory.state import State
from memory.stores.sql import Store
from memory.turns import Call
from workbench.views.feed import feed_rows, text_ids
from workbench.views.known import KeptRow, OldValueRow, PlacedRow, kept, old_values, placed
from workbench.views.retrieval import CandidateRow, RetrievalView, candidate, retrieval, stub
from workbench.views.rows import ChatRow, FeedRow

T = TypeVar("T")
FILED_KINDS = tuple(kind.__name__ for kind in (ExtraKept, MessageReceived, MessageReplied))


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One message of a prompt."""

    section: str  # system, facts, stubs, recalled, resident, new, exchange
    role: str
    page: int  # 0: none
    tokens: int
    text: str
    calls: tuple[str, ...]  # `recall({"page_ids": ["p3"]})`


@dataclass(frozen=True, slots=True)
class EvictionRow:
    page: int
    stub: str
    policy: str
    score: float
    runner_up: int
    runner_up_score: float
    freed_tokens: int
    used_tokens: int
    limit_tokens: int
    cause: str
    candidates: tuple[CandidateRow, ...]


@dataclass(frozen=True)
class RecallView(Shown):
    """One recall: what was asked for, what came, what was refused, and every candidate."""

    by: str
    asked: tuple[str, ...]
    question: str
    turns: tuple[tuple[int, int], ...]
    resident: tuple[int, ...]
    came: tuple[int, ...]
    refused: tuple[tuple[str, str], ...]
    opened: tuple[str, ...]
    right: bool | None
    note: str
    retrieval: RetrievalView | None  # of its question, where there was one to compare
    thrash: tuple[int, ...]
    parts: tuple[tuple[int, int, int], ...] = ()  # pages of which a part came, with its first and last turn

    @property
    def arrived(self) -> str:
        """`p3, p7 (turns 25-30 of it)`."""
        part = {page: f" (turns {first}-{last} of it)" for page, first, last in self.parts}
        return ", ".join(f"p{n}{part.get(n, '')}" for n in self.came) or "nothing"

    def __repr__(self) -> str:
        came = self.arrived
        return f"<Recall by {self.by}: asked {', '.join(self.asked) or repr(self.question)}, came {came}>"

    def _html(self) -> str:
        asked = ", ".join(self.asked) or ", ".join(f"turns {a}-{b}" for a, b in self.turns)
        verdict = {True: " · right", False: " · wrong", None: ""}[self.right]
        came = self.arrived
        there = f" · in the window already: {', '.join(f'p{n}' for n in self.resident)}" if self.resident else ""
        html = f"<div style='margin-top:.5rem'><b>recall</b> by {show.text(self.by)}: {show.text(asked)}"
        html += f" {show.text(self.question)} → came: {came}{there}{verdict} {show.text(self.note)}</div>"
        refused = [[ref, reason] for ref, reason in self.refused]
        html += show.table(["refused", "why"], refused) if refused else ""
        return html + (self.retrieval._html() if self.retrieval else "")


@dataclass(frozen=True, slots=True)
class CallRow:
    round: int
    llm: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    ms: float
    finish: str
    text: str
    calls: tuple[str, ...]
    error: str
    first_ms: float = 0.0  # until the first piece of its stream; 0: not streamed, or not measured


@dataclass(frozen=True, slots=True)
class FiledRow:
    """What the file of an imported turn says beside its words: other versions, thoughts, that program's own fields."""

    turn: int  # 0: of the conversation
    text: str  # JSON, indented; what is left of it as it is, where a topic was erased from it


@dataclass(frozen=True)
class TurnView(Shown):
    scope: Scope
    step: int
    turn: int  # asked for
    first_turn: int
    last_turn: int
    turns: int  # of the run
    steps: int
    state: str  # finished, running, abandoned
    why: str  # of an abandoned one
    started_at: datetime
    settings_hash: str
    messages: tuple[ChatRow, ...]  # the step's own: the user's, tools', the reply
    evidence: tuple[int, ...]  # labelled recordings: turns that hold the answer
    evictions: tuple[EvictionRow, ...]
    recalls: tuple[RecallView, ...]
    retrievals: tuple[RetrievalView, ...]  # of the message itself, and searches: those of recalls stand with them
    used: tuple[CandidateRow, ...]  # pages whose words stand in the reply
    bookmarks: tuple[tuple[int, str, str], ...]  # page, stub, origin
    calls: tuple[CallRow, ...]
    rounds: int  # assembled prompts
    prompt: tuple[PromptPart, ...]  # of the last round
    sections: dict[str, int]  # tokens by section
    prompt_tokens: int
    prompt_hash: str
    ms: dict[str, float]  # by stage
    facts: tuple[PlacedRow, ...]  # considered for the prompt
    kept: tuple[KeptRow, ...]  # what was remembered of the step's turns, and why not more
    old_values: tuple[OldValueRow, ...]  # superseded, and in the prompt all the same; the alarming first
    events: tuple[FeedRow, ...]  # everything, in order
    redacted: dict[str, Any]
    filed: tuple[FiledRow, ...] = ()  # of imported turns

    def __repr__(self) -> str:
        return (
            f"<Turn {self.turn} of {self.scope}: step {self.step} {self.state}, {self.prompt_tokens:,} tokens, "
            f"{len(self.evictions)} evictions, {len(self.recalls)} recalls>"
        )

    def _html(self) -> str:
        said = show.table(["turn", "who", "words"], [[m.turn, m.speaker, m.text] for m in self.messages])
        left = [
            [f"p{e.page}", e.stub, f"{e.freed_tokens:,}", f"{e.policy} {e.score:g}", e.cause] for e in self.evictions
        ]
        parts = [(section, tokens, section) for section, tokens in self.sections.items()]
        why = show.text(f" · {self.why}") if self.why else ""
        html = f"<b>turn {self.turn}</b> · step {self.step} · {self.state}{why}"
        html += said + f"<div style='margin:.5rem 0'>prompt: {self.prompt_tokens:,} tokens"
        html += show.bar(parts, max(self.prompt_tokens, 1), {}) + show.legend(self.sections) + "</div>"
        if left:
            html += "<b>left the window</b>" + show.table(["page", "stub", "freed", "score", "cause"], left)
        known = [[f.name, f.text, f.why, f.dropped or "in the prompt"] for f in self.facts]
        html += "<b>what is known</b>" + show.table(["fact", "what", "why", ""], known) if known else ""
        old = [[o.name, o.said, f"{o.newer} {o.says}", f"{o.where} p{o.page}" if o.page else o.where,
                f"{o.how}, beside the new one" if o.alarm else o.how] for o in self.old_values]  # fmt: skip
        html += "<b>old values</b>" + show.table(["fact", "said", "now", "where", "how"], old) if old else ""
        held = [[r.turn, r.verdict, r.name, r.text, r.reason] for r in self.kept]
        html += "<b>remembered</b>" + show.table(["turn", "", "fact", "what", "why"], held) if held else ""
        filed = [[row.turn or "conversation", show.small(row.text, 500)] for row in self.filed]
        html += "<b>in its file</b>" + show.table(["turn", "what stands beside the words"], filed) if filed else ""
        return html + "".join(each._html() for each in (*self.recalls, *self.retrievals))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """The messages of the prompt, one row each."""
        import pandas as pd

        return pd.DataFrame([asdict(part) for part in self.prompt])


# ── from the store ────────────────────────────────────────────────────────────────────────────────────


def turn(store: Store, scope: Scope, number: int, round_: int | None = None) -> TurnView:
    """The step that holds turn `number`, its prompt as of `round_` (the last one without it).

    Raises NotFound for a run, a turn or a round that is not there.
    """
    stream = store.require(scope)
    end = store.version_at(scope, number)
    state = store.state(scope, end)
    events = _step_events(store, scope, state, end)
    prompts = _bodies(events, PromptAssembled)
    if round_ is not None and not 0 <= round_ < len(prompts):
        raise NotFound(f"step {state.step} has no prompt {round_}; it has {len(prompts)}, counted from 0")
    shown = prompts[round_ if round_ is not None else -1] if prompts else None
    messages = [Message.of_row(row) for row in shown.messages] if shown else []
    texts = store.words(scope, sorted(_ids(events, messages, state)))
    done = _bodies(events, StepFinished)
    gone = _bodies(events, StepAbandoned)
    said = [e.body.turn for e in events if isinstance(e.body, MessageReceived | MessageReplied)]
    first, last = min((t.number for t in said), default=number), max((t.number for t in said), default=number)
    return TurnView(
        scope=scope,
        step=state.step,
        turn=number,
        first_turn=first,
        last_turn=last,
        turns=stream.turns,
        steps=stream.steps,
        state="finished" if done else "abandoned" if gone else "running",
        why=gone[0].reason if gone and not done else "",  # given up, then answered by trying again
        started_at=events[0].at,
        settings_hash=state.settings.hash,
        messages=tuple(_messages(events, state, texts)),
        evidence=next((b.evidence for b in _bodies(events, MessageReceived)), ()),
        evictions=tuple(_eviction(b, state, texts) for b in _bodies(events, PageEvicted)),
        recalls=tuple(_recalls(events, state, texts)),
        retrievals=tuple(
            retrieval(b, state, texts) for b in _bodies(events, PagesRetrieved) if b.by in ("message", "search_memory")
        ),
        used=tuple(candidate(c, state, texts) for b in _bodies(events, PagesUsed) for c in b.pages),
        bookmarks=tuple(
            (b.page, texts.get(b.bookmark.stub, ""), b.bookmark.origin) for b in _bodies(events, BookmarkMade)
        ),
        calls=tuple(_calls(events, texts)),
        rounds=len(prompts),
        prompt=tuple(_part(m, texts) for m in messages),
        sections=dict(shown.sections) if shown else {},
        prompt_tokens=shown.tokens if shown else 0,
        prompt_hash=shown.hash if shown else "",
        ms=dict(done[0].ms) if done else {},
        facts=placed(store, scope, _bodies(events, FactsPlaced)),
        kept=kept(store, scope, first, last),
        old_values=old_values(store, scope, events),
        events=tuple(feed_rows(events, texts, {p.number: p.bookmark for p in state.pages.values() if p.bookmark})),
        redacted={k: v for b in _bodies(events, TextRedacted) for k, v in b.counts.items()},
        filed=_filed(store, scope.at(RECORDED), _whole(events, texts)),
    )


def _bodies(events: Iterable[Event], kind: type[T]) -> list[T]:
    return [e.body for e in events if isinstance(e.body, kind)]


def _whole(events: Iterable[Event], texts: Mapping[int, str]) -> dict[int, str]:
    """The words of each turn."""
    said = [e.body.turn for e in events if isinstance(e.body, MessageReceived | MessageReplied)]
    return {turn.number: texts.get(turn.text, "") for turn in said if not turn.piece}


def _filed(store: Store, recorded: Scope, said: Mapping[int, str]) -> tuple[FiledRow, ...]:
    """Of the turns that a recording of this conversation has in the same words; with its first one, the whole's."""
    stream = store.stream(recorded)
    if stream is None or not said or min(said) > stream.turns:
        return ()
    first, last = min(said), min(max(said), stream.turns)
    after = store.version_at(recorded, first - 1) if first > 1 else 0
    events = store.events(recorded, after=after, upto=store.version_at(recorded, last), kinds=FILED_KINDS)
    extras = {b.turn: b.text for b in _bodies(events, ExtraKept)}
    if not extras:
        return ()
    texts = store.words(recorded, sorted({*extras.values(), *text_ids(events)} - {0}))
    there = {turn: words for turn, words in _whole(events, texts).items() if said.get(turn) == words}
    return tuple(
        FiledRow(turn, _indented(texts[text]))
        for turn, text in extras.items()
        if texts.get(text) and (turn in there or (not turn and there))
    )


def _indented(extra: str) -> str:
    try:
        return json.dumps(json.loads(extra), ensure_ascii=False, indent=2)
    except ValueError:  # a topic was erased from it, and it is plain text now
        return extra


def _step_events(store: Store, scope: Scope, state: State, end: int) -> list[Event]:
    """The events of the step that ends at version `end`; a page that closed for its message included."""
    before = store.version_at(scope, state.user_turn - 1) if state.user_turn > 1 else 0
    return [e for e in store.events(scope, after=before, upto=end) if e.step == state.step or e.version == end]


def _ids(events: Sequence[Event], messages: Sequence[Message], state: State) -> set[int]:
    ids = text_ids(events) | {part for m in messages for part in m.parts}
    ids |= {c.arguments for m in messages for c in m.calls}
    ids |= {p.bookmark.stub for p in state.pages.values() if p.bookmark}
    for event in events:
        body = event.body
        if isinstance(body, ModelCalled):
            ids |= {body.reply, *(c.arguments for c in body.calls)}
        elif isinstance(body, ModelFailed):
            ids.add(body.partial)
        elif isinstance(body, MessageReceived | MessageReplied):
            ids |= {c.arguments for c in body.turn.calls}
    return ids - {0}


def _messages(events: Sequence[Event], state: State, texts: Mapping[int, str]) -> list[ChatRow]:
    came = tuple(n for b in _bodies(events, PagesRecalled) for n in b.came)
    rows: dict[int, ChatRow] = {}
    for said in [e.body.turn for e in events if isinstance(e.body, MessageReceived | MessageReplied)]:
        page = state.page_of(said.number)
        before = rows.get(said.number)
        calls = "".join(f"\n→ {c}" for c in _call_texts(said.calls, texts)) if not before else ""
        rows[said.number] = ChatRow(
            turn=said.number,
            role=said.role,
            speaker=said.name,
            text=texts.get(said.text, "") + calls,
            said_at=said.said_at,
            page=page.number if page else 0,
            resident=bool(page and page.number in state.resident),
            marked=said.important or said.number in state.marked,
            tokens=said.tokens + (before.tokens if before else 0),
            recalled=came if said.role == "assistant" else (),
        )
    return list(rows.values())


def _eviction(b: PageEvicted, state: State, texts: Mapping[int, str]) -> EvictionRow:
    return EvictionRow(
        page=b.page,
        stub=stub(b.page, state, texts),
        policy=b.policy,
        score=b.score,
        runner_up=b.runner_up,
        runner_up_score=b.runner_up_score,
        freed_tokens=b.freed_tokens,
        used_tokens=b.used_tokens,
        limit_tokens=b.limit_tokens,
        cause=b.cause,
        candidates=tuple(candidate(c, state, texts) for c in b.candidates),
    )


def _recalls(events: Sequence[Event], state: State, texts: Mapping[int, str]) -> list[RecallView]:
    thrash = {b.page for b in _bodies(events, PagePagedIn) if b.thrash}
    parts = _parts(events)
    found = {b.question: retrieval(b, state, texts) for b in _bodies(events, PagesRetrieved)}
    return [
        RecallView(
            by=b.by,
            asked=b.asked,
            question=texts.get(b.question, ""),
            turns=b.turns,
            resident=b.resident,
            came=b.came,
            refused=tuple((r.ref, r.reason) for r in b.refused),
            opened=tuple(texts.get(part.text, "") for part in b.opened),
            right=b.right,
            note=b.note,
            retrieval=found.get(b.question) if b.question else None,
            thrash=tuple(n for n in b.came if n in thrash),
            parts=tuple((n, *parts[event.seq, n]) for n in b.came if (event.seq, n) in parts),
        )
        for event in events
        if isinstance(b := event.body, PagesRecalled)
    ]


def _parts(events: Sequence[Event]) -> dict[tuple[int, int], tuple[int, int]]:
    """By recall and page, first and last turn of the part that came; arrivals stand before their recall."""
    came: dict[int, PagePagedIn] = {}
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for event in events:
        body = event.body
        if isinstance(body, PagePagedIn):
            came[body.page] = body
        elif isinstance(body, PagesRecalled):
            found |= {(event.seq, n): came[n].part for n in body.came if n in came and came[n].level == PART}
            came = {}
    return found


def _call_texts(calls: Iterable[Call], texts: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(f"{c.name}({texts.get(c.arguments, '')})" for c in calls)


def _calls(events: Sequence[Event], texts: Mapping[int, str]) -> list[CallRow]:
    rows = []
    for event in events:
        b = event.body
        if isinstance(b, ModelCalled):
            calls = _call_texts(b.calls, texts)
            text = texts.get(b.reply, "")
            tokens = (b.prompt_tokens, b.completion_tokens)
            rows.append(CallRow(b.round, b.llm, *tokens, b.cost_usd, b.ms, b.finish, text, calls, "", b.first_ms))
        elif isinstance(b, ModelFailed):
            text = texts.get(b.partial, "")
            told = f"{b.error}: {b.message}"
            rows.append(CallRow(b.round, b.llm, b.prompt_tokens, 0, None, b.ms, "failed", text, (), told))
    return rows


def _part(message: Message, texts: Mapping[int, str]) -> PromptPart:
    words = "".join(texts.get(part, "") for part in message.parts)
    calls = _call_texts(message.calls, texts)
    return PromptPart(message.section, message.role, message.page, message.tokens, words, calls)
