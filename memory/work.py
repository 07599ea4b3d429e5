"""Work on the memory by a language model: whom cooperative eviction keeps, and what closed pages are named by.

A model is asked outside of every transaction and, but for eviction, outside of the step; its answer is taken only
where what it was asked about is unchanged. Every call, and every answer that cannot be used, is in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from memory import templates
from memory.bookmarks import PageWords
from memory.calling import TRIES, Caller, Failure, called, note_failure
from memory.cooperative import Decision, Summary, decide
from memory.errors import ModelError
from memory.events import MemoryWorkFailed
from memory.keywords import Ask, Improved, Outcome, Unreadable, improve_bookmarks
from memory.models.chat import OFFLINE, Answer
from memory.pager import Pager
from memory.pages import Page
from memory.redaction import clean
from memory.serving import is_due
from memory.settings import Settings

WORK_TOKENS = 800  # of an answer about the memory
ESCALATED = 0.7  # importance from which the chat model itself names a page: a change, "remember", a mark

Held = Callable[[], AbstractContextManager[None]]
Asked = list[Answer | Failure]


@dataclass(frozen=True)
class Worked:
    """What memory work came to: page numbers."""

    improved: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()  # the rule-made bookmark stays
    changed: tuple[int, ...] = ()  # meanwhile, so that the answer no longer fits


def memory_llm(settings: Settings) -> str:
    """Who does memory work; "": nobody, for the embedded responder draws no conclusions."""
    llm = settings.memory_llm or settings.llm
    return "" if llm == OFFLINE else llm


def asking(caller: Caller, settings: Settings, llm: str, asked: Asked, *, tries: int) -> Ask:
    """A function that asks `llm` about the memory; what happens is kept in `asked`, for the log."""

    def ask(prompt: str, shape: Mapping[str, Any]) -> str:
        answer = caller.tried(
            lambda: caller.chat(
                llm,
                [{"role": "user", "content": prompt}],
                tools=[],
                tool_choice="auto",
                schema=shape,
                timeout_s=caller.timeout_s,
                max_tokens=WORK_TOKENS,
                on_text=None,
                options=caller.options_of(llm, settings),
            ),
            asked.append,
            settings.retry_s,
            tries,
        )
        asked.append(answer)
        return answer.text

    return ask


def log_asked(pager: Pager, task: str, llm: str, asked: Sequence[Answer | Failure]) -> None:
    for each in asked:
        if isinstance(each, Answer):
            pager.add(called(pager, each, 0, task=task))
        else:
            note_failure(pager, 0, llm, each, task)


def note_unreadable(pager: Pager, task: str, pages: tuple[int, ...], llm: str, reason: str, raw: str = "") -> None:
    pager.add(MemoryWorkFailed(task, pages, llm, clean(reason), pager.said(raw) if raw else 0))


# ── eviction ──────────────────────────────────────────────────────────────────────────────────────────


def consult(pager: Pager, caller: Caller, pages: Sequence[Page], message: str) -> Decision:
    """Whom cooperative eviction would keep, by the model; the draft is not written meanwhile."""
    s, asked = pager.state.settings, Asked()
    llm = memory_llm(s)
    if not llm:
        return Decision(fallback="no model is set for memory work")
    summaries = [Summary(p.number, f"{p.first}-{p.last}", pager.summary(p)) for p in pages]
    decision = decide(summaries, message, asking(caller, s, llm, asked, tries=1), s.cooperative_asks)
    log_asked(pager, "eviction", llm, asked)
    if decision.raw:
        note_unreadable(pager, "eviction", tuple(p.number for p in pages), llm, decision.fallback, decision.raw)
    return decision


# ── bookmarks ─────────────────────────────────────────────────────────────────────────────────────────


def work(pager: Pager, caller: Caller, held: Held, failed_before: Callable[[str], set[int]], most: int) -> Worked:
    """A model's keywords for up to `most` closed pages that have a rule's; see Engine.work."""
    with held():
        due = due_pages(pager, failed_before)[:most]
        words = {page.number: pager.spoken(page) for page in due}
        others = {p.number: pager.summary(p) for p in pager.state.pages.values() if p.closed and p.bookmark}
        settings = pager.state.settings
    improved: list[int] = []
    failed: list[int] = []
    changed: list[int] = []
    for llm in dict.fromkeys(namer(page, settings) for page in due):
        mine = [page for page in due if namer(page, settings) == llm]
        asked = Asked()
        ask = asking(caller, settings, llm, asked, tries=TRIES)
        outcomes = keywords_of([words[p.number] for p in mine], others, settings, ask)
        with held():
            log_asked(pager, "bookmark", llm, asked)
            for outcome in outcomes:
                if isinstance(outcome, Unreadable):
                    note_unreadable(pager, "bookmark", outcome.pages, llm, outcome.reason, outcome.raw)
                    failed += outcome.pages
                else:
                    old = next(p for p in mine if p.number == outcome.page)
                    (improved if improve(pager, old, outcome) else changed).append(outcome.page)
            pager.commit()
    return Worked(tuple(improved), tuple(failed), tuple(changed))


def due_pages(pager: Pager, failed_before: Callable[[str], set[int]]) -> list[Page]:
    """Closed pages that a model is still to be asked about; where it failed once, the rule's keywords stay."""
    settings = pager.state.settings
    due = [page for page in pager.state.pages.values() if is_due(page, settings.bookmarks)]
    if not due or not memory_llm(settings):
        return []
    failed = failed_before("bookmark")
    return [page for page in due if page.number not in failed]


def namer(page: Page, settings: Settings) -> str:
    """The chat model itself at turning points, if there is a cheaper one for the rest."""
    chat = settings.llm
    return chat if page.importance >= ESCALATED and chat != OFFLINE else memory_llm(settings)


def keywords_of(pages: list[PageWords], others: Mapping[int, str], s: Settings, ask: Ask) -> list[Outcome]:
    template = templates.named(s.bookmark_template).with_key(s.bookmark_key)
    if s.bookmarks == "llm_batch":
        return or_failed(pages, lambda some: improve_bookmarks(some, ask, template, batch=True))
    outcomes: list[Outcome] = []
    for page in pages:
        outcomes += or_failed([page], lambda some: improve_bookmarks(some, ask, template, others=others))
    return outcomes


def or_failed(pages: list[PageWords], improve: Callable[[list[PageWords]], list[Outcome]]) -> list[Outcome]:
    """What came of it; a model that could not be asked leaves these pages as they are, and the others alone."""
    try:
        return improve(pages)
    except ModelError as error:
        return [Unreadable(tuple(p.page for p in pages), f"{type(error).__name__}: {error}", "")]


def improve(pager: Pager, old: Page, outcome: Improved) -> bool:
    """Put the model's keywords in place of the rule's, if the page is still what it was asked about."""
    page = pager.state.pages.get(old.number)
    if page is None or page.turns != old.turns or not is_due(page, pager.state.settings.bookmarks):
        return False
    pager.bookmark_as(page, outcome.keywords, pager.state.settings.bookmarks)
    return True
