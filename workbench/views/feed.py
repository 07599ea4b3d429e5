"""Events as rows of a feed: a kind, a tone and the values its sentence needs. The sentences are in words.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memory.events import (
    BookmarkMade,
    ConversationBranched,
    ConversationStarted,
    Event,
    FactsPlaced,
    GuestLeft,
    MemoryWorkFailed,
    MessageReceived,
    MessageReplied,
    ModelCalled,
    ModelFailed,
    OperationRefused,
    PageClosed,
    PageEvicted,
    PagePagedIn,
    PagesRecalled,
    PagesRetrieved,
    PageSummarised,
    PagesUsed,
    PromptAssembled,
    SettingsChanged,
    StepAbandoned,
    StepFinished,
    StubsArranged,
    TextRedacted,
    TurnMarked,
)
from memory.pages import PART, Bookmark
from memory.show import small
from workbench.views.rows import FeedRow

Texts = Mapping[int, str]
Stubs = Mapping[int, Bookmark]  # by page, as far as known
Told = tuple[str, str, int, int, dict[str, Any]]  # kind, tone, page, turn, values

SNIPPET = 140


def text_ids(events: Iterable[Event]) -> set[int]:
    """The words that these events' rows will show."""
    ids: set[int] = set()
    for event in events:
        body = event.body
        if isinstance(body, MessageReceived | MessageReplied):
            ids.add(body.turn.text)
        elif isinstance(body, BookmarkMade):
            ids |= {body.bookmark.stub, body.bookmark.description, body.bookmark.keywords}
        elif isinstance(body, PageSummarised):
            ids.add(body.gist.text)
        elif isinstance(body, PagesRecalled):
            ids |= {body.question, *(part.text for part in body.opened)}
        elif isinstance(body, PagesRetrieved):
            ids.add(body.question)
        elif isinstance(body, ConversationStarted):
            ids.add(body.title)
    return ids - {0}


def feed_rows(events: Iterable[Event], texts: Texts, stubs: Stubs) -> list[FeedRow]:
    """In the order of the events; kinds that only carry state are left out."""
    rows = []
    for event in events:
        tell = _TELL.get(type(event.body))
        if tell is None:
            continue
        kind, tone, page, turn, values = tell(event.body, texts, stubs)
        rows.append(FeedRow(event.seq, event.at, event.step, kind, tone, page, turn, values))
    return rows


def _stub(page: int, texts: Texts, stubs: Stubs) -> str:
    bookmark = stubs.get(page)
    return texts.get(bookmark.stub, f"[p{page}]") if bookmark else f"[p{page}]"


def _names(pages: Iterable[int]) -> str:
    return ", ".join(f"p{n}" for n in pages)


def _said(b: MessageReceived | MessageReplied, texts: Texts, stubs: Stubs) -> Told:
    kind = "said" if isinstance(b, MessageReceived) else "replied"
    words = small(b.turn.words(lambda i: texts.get(i, "")), SNIPPET)
    values = {"turn": b.turn.number, "speaker": b.turn.name, "text": words, "tokens": b.turn.tokens}
    return kind, "turn", 0, b.turn.number, values


def _evicted(b: PageEvicted, texts: Texts, stubs: Stubs) -> Told:
    values = {"page": f"p{b.page}", "stub": _stub(b.page, texts, stubs), "freed": b.freed_tokens, "policy": b.policy,
              "score": b.score, "cause": b.cause}  # fmt: skip
    return "evicted", "evict", b.page, 0, values


def _recalled(b: PagesRecalled, texts: Texts, stubs: Stubs) -> Told:
    asked = ", ".join(b.asked) or ", ".join(f"{first}-{last}" for first, last in b.turns)
    values = {"by": b.by, "asked": asked, "came": _names(b.came), "resident": _names(b.resident), "right": b.right,
              "question": small(texts.get(b.question, ""), SNIPPET), "refused": len(b.refused)}  # fmt: skip
    return "recalled" if b.came or b.resident else "refused", "recall", b.came[0] if b.came else 0, 0, values


def _paged_in(b: PagePagedIn, texts: Texts, stubs: Stubs) -> Told:
    values = {"page": f"p{b.page}", "tokens": b.tokens, "thrash": b.thrash, "stub": _stub(b.page, texts, stubs)}
    if b.level == PART:
        return "in_part", "recall", b.page, 0, values | {"turns": f"{b.part[0]}-{b.part[1]}"}
    return ("thrash" if b.thrash else "fault"), "recall", b.page, 0, values


def _left(b: GuestLeft, texts: Texts, stubs: Stubs) -> Told:
    return ("left_used" if b.used else "left_unused"), "quiet", b.page, 0, {"page": f"p{b.page}"}


def _closed(b: PageClosed, texts: Texts, stubs: Stubs) -> Told:
    values = {"page": f"p{b.page}", "rule": b.rule, "importance": b.importance, "why": b.why_important}
    return "closed", "quiet", b.page, 0, values


def _bookmark(b: BookmarkMade, texts: Texts, stubs: Stubs) -> Told:
    stub = texts.get(b.bookmark.stub, "")
    return "bookmark", "bookmark", b.page, 0, {"page": f"p{b.page}", "stub": stub, "origin": b.bookmark.origin}


def _summary(b: PageSummarised, texts: Texts, stubs: Stubs) -> Told:
    said = small(texts.get(b.gist.text, ""), SNIPPET)
    return "summary", "quiet", b.page, 0, {"page": f"p{b.page}", "text": said, "origin": b.gist.origin}


def _used(b: PagesUsed, texts: Texts, stubs: Stubs) -> Told:
    return "used", "quiet", b.pages[0].page if b.pages else 0, 0, {"pages": _names(c.page for c in b.pages)}


def _folded(b: StubsArranged, texts: Texts, stubs: Stubs) -> Told:
    values = {"shown": len(b.shown), "ranges": len(b.ranges), "tokens": b.tokens, "budget": b.budget_tokens}
    return "folded", "bookmark", 0, 0, values


def _assembled(b: PromptAssembled, texts: Texts, stubs: Stubs) -> Told:
    return "assembled", "quiet", 0, 0, {"tokens": b.tokens, "messages": len(b.messages), "round": b.round}


def _called(b: ModelCalled, texts: Texts, stubs: Stubs) -> Told:
    values = {"llm": b.llm, "prompt": b.prompt_tokens, "completion": b.completion_tokens, "ms": b.ms,
              "cost": b.cost_usd, "calls": len(b.calls)}  # fmt: skip
    return "called", "model", 0, 0, values


def _failed(b: ModelFailed, texts: Texts, stubs: Stubs) -> Told:
    return "failed", "error", 0, 0, {"llm": b.llm, "error": b.error, "message": b.message}


def _refused(b: OperationRefused, texts: Texts, stubs: Stubs) -> Told:
    return "not_done", "error", 0, 0, {"operation": b.operation, "reason": b.reason}


def _work_failed(b: MemoryWorkFailed, texts: Texts, stubs: Stubs) -> Told:
    values = {"task": b.task, "pages": _names(b.pages), "llm": b.llm, "reason": b.reason}
    return "work_failed", "error", b.pages[0] if b.pages else 0, 0, values


def _retrieved(b: PagesRetrieved, texts: Texts, stubs: Stubs) -> Told:
    values = {"by": b.by, "question": small(texts.get(b.question, ""), SNIPPET), "chosen": _names(b.chosen),
              "strategy": b.strategy, "note": b.note}  # fmt: skip
    return "retrieved", "quiet", b.chosen[0] if b.chosen else 0, 0, values


def _known(b: FactsPlaced, texts: Texts, stubs: Stubs) -> Told:
    came = ", ".join(f"f{f.fact}" for f in b.facts if not f.stage)
    left = sum(1 for f in b.facts if f.stage)
    return "known", "bookmark", 0, 0, {"facts": came, "tokens": b.tokens, "left": left}


def _finished(b: StepFinished, texts: Texts, stubs: Stubs) -> Told:
    return "finished", "quiet", 0, 0, {"ms": sum(b.ms.values())}


def _abandoned(b: StepAbandoned, texts: Texts, stubs: Stubs) -> Told:
    return "abandoned", "error", 0, 0, {"reason": b.reason}


def _marked(b: TurnMarked, texts: Texts, stubs: Stubs) -> Told:
    return ("marked" if b.important else "unmarked"), "mark", 0, b.turn, {"turn": b.turn, "by": b.by}


def _redacted(b: TextRedacted, texts: Texts, stubs: Stubs) -> Told:
    return "redacted", "error", 0, 0, {"counts": ", ".join(f"{n} × {sort}" for sort, n in b.counts.items())}


def _settings(b: SettingsChanged, texts: Texts, stubs: Stubs) -> Told:
    return "settings", "quiet", 0, 0, {"hash": b.hash, "llm": b.settings.get("llm", "")}


def _started(b: ConversationStarted, texts: Texts, stubs: Stubs) -> Told:
    return "started", "quiet", 0, 0, {"title": texts.get(b.title, ""), "source": b.source}


def _branched(b: ConversationBranched, texts: Texts, stubs: Stubs) -> Told:
    return "branched", "quiet", 0, 0, {"parent": b.parent, "version": b.at_version, "cause": b.cause}


_TELL: dict[type, Callable[[Any, Texts, Stubs], Told]] = {
    MessageReceived: _said,
    MessageReplied: _said,
    PageEvicted: _evicted,
    PagesRecalled: _recalled,
    PagePagedIn: _paged_in,
    GuestLeft: _left,
    PageClosed: _closed,
    BookmarkMade: _bookmark,
    PageSummarised: _summary,
    PagesUsed: _used,
    StubsArranged: _folded,
    PromptAssembled: _assembled,
    ModelCalled: _called,
    ModelFailed: _failed,
    OperationRefused: _refused,
    MemoryWorkFailed: _work_failed,
    PagesRetrieved: _retrieved,
    FactsPlaced: _known,
    StepFinished: _finished,
    StepAbandoned: _abandoned,
    TurnMarked: _marked,
    TextRedacted: _redacted,
    SettingsChanged: _settings,
    ConversationStarted: _started,
    ConversationBranched: _branched,
}

# kind → names of its values: what a sentence of the catalogue may mention
KINDS: dict[str, tuple[str, ...]] = {
    "said": ("turn", "speaker", "text", "tokens"),
    "replied": ("turn", "speaker", "text", "tokens"),
    "evicted": ("page", "stub", "freed", "policy", "score", "cause"),
    "recalled": ("by", "asked", "came", "resident", "question", "refused", "right"),
    "refused": ("by", "asked", "came", "resident", "question", "refused", "right"),
    "fault": ("page", "tokens", "thrash", "stub"),
    "thrash": ("page", "tokens", "thrash", "stub"),
    "in_part": ("page", "tokens", "thrash", "stub", "turns"),
    "left_used": ("page",),
    "left_unused": ("page",),
    "closed": ("page", "rule", "importance", "why"),
    "bookmark": ("page", "stub", "origin"),
    "used": ("pages",),
    "folded": ("shown", "ranges", "tokens", "budget"),
    "assembled": ("tokens", "messages", "round"),
    "called": ("llm", "prompt", "completion", "ms", "cost", "calls"),
    "failed": ("llm", "error", "message"),
    "not_done": ("operation", "reason"),
    "work_failed": ("task", "pages", "llm", "reason"),
    "retrieved": ("by", "question", "chosen", "strategy", "note"),
    "known": ("facts", "tokens", "left"),
    "finished": ("ms",),
    "abandoned": ("reason",),
    "marked": ("turn", "by"),
    "unmarked": ("turn", "by"),
    "redacted": ("counts",),
    "settings": ("hash", "llm"),
    "started": ("title", "source"),
    "branched": ("parent", "version", "cause"),
}
