"""Work on the memory by a language model: whom cooperative eviction keeps, and what closed pages are named by.

A model is asked outside of every transaction and, but for eviction, outside of the step; its answer is taken only
where what it was asked about is unchanged. Every call, and every answer that cannot be used, is in the log. When it
is asked is not decided here: deferred.py does, after the reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memory import naming, templates
from memory.bookmarks import BY_MODEL
from memory.calling import Caller, Failure, called, note_failure
from memory.cooperative import Decision, Summary, decide
from memory.events import MemoryWorkFailed
from memory.gist import Told, summarise
from memory.keywords import Ask, Improved, Outcome, Unreadable, improve_bookmarks
from memory.models.chat import OFFLINE, Answer
from memory.pager import Pager
from memory.pages import Page
from memory.redaction import clean
from memory.retrieval import Ranking
from memory.secondlook import second_look
from memory.serving import is_due
from memory.settings import Settings, by_task

WORK_TOKENS = 800  # of an answer about the memory
ESCALATED = 0.7  # importance from which the chat model itself names a page: a change, "remember", a mark

Asked = list[Answer | Failure]


def memory_llm(settings: Settings, task: str = "") -> str:
    """Who does this work on the memory; "": nobody, for the embedded responder draws no conclusions."""
    named = by_task(settings.memory_llm)
    llm = named.get(task) or named.get("") or settings.llm
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
    llm = memory_llm(s, "eviction")
    if not llm:
        return Decision(fallback="no model is set for memory work")
    summaries = [Summary(p.number, f"{p.first}-{p.last}", naming.summary(pager, p)) for p in pages]
    decision = decide(summaries, message, asking(caller, s, llm, asked, tries=1), s.cooperative_asks)
    log_asked(pager, "eviction", llm, asked)
    if decision.raw:
        note_unreadable(pager, "eviction", tuple(p.number for p in pages), llm, decision.fallback, decision.raw)
    return decision


# ── retrieval ─────────────────────────────────────────────────────────────────────────────────────────


def look_again(pager: Pager, caller: Caller, ranking: Ranking, question: str, k: int) -> Ranking:
    """What the model makes of the best pages, as the setting asks; the draft is not written meanwhile."""
    s, asked = pager.state.settings, Asked()
    llm = memory_llm(s, "retrieval")
    ask = asking(caller, s, llm, asked, tries=1) if llm else None
    pages = pager.state.pages
    looked = second_look(ranking, question, k, s.second_look, lambda n: naming.summary(pager, pages[n]), ask)
    log_asked(pager, "retrieval", llm, asked)
    if looked.raw:
        note_unreadable(pager, "retrieval", looked.offered, llm, looked.fallback, looked.raw)
    return looked.ranking


# ── bookmarks ─────────────────────────────────────────────────────────────────────────────────────────


def wants_summary(page: Page, settings: Settings) -> bool:
    """Whether a model is still to be asked for this page's summary: a rule's stands there, or none yet."""
    asks = settings.summaries == "llm" or (settings.summaries == "auto" and names_one(settings, "summary"))
    by_rule = page.gist is None or page.gist.origin == "extract"
    return page.closed and by_rule and asks and bool(memory_llm(settings, "summary"))


def names_one(settings: Settings, task: str) -> bool:
    """Whether the setting names a model for this task, so that the chat model need not do it."""
    named = by_task(settings.memory_llm)
    return bool(named.get(task) or named.get(""))


def wants_bookmark(page: Page, settings: Settings) -> bool:
    """Whether a model is still to be asked for this page's keywords: a rule's stand there, or none yet."""
    if not page.closed or settings.bookmarks not in BY_MODEL or not namer(page, settings):
        return False
    return page.bookmark is None or is_due(page, settings.bookmarks)


def namer(page: Page, settings: Settings) -> str:
    """The chat model itself at turning points, if there is a cheaper one for the rest."""
    chat = settings.llm
    return chat if page.importance >= ESCALATED and chat != OFFLINE else memory_llm(settings, "bookmark")


def keywords_of(
    pager: Pager, pages: Sequence[Page], others: Mapping[int, str], caller: Caller, asked: Asked, *, tries: int
) -> list[Outcome]:
    """The model's keywords for these pages, which have one namer. Raises ModelError.

    `others`: the lines of other pages, to be told apart from.
    """
    s = pager.state.settings
    ask = asking(caller, s, namer(pages[0], s), asked, tries=tries)
    template = templates.named(s.bookmark_template).with_key(s.bookmark_key)
    words = [naming.spoken(pager, page) for page in pages]
    return improve_bookmarks(words, ask, template, batch=s.bookmarks == "llm_batch", others=others)


def improve(pager: Pager, old: Page, outcome: Improved) -> bool:
    """Put the model's keywords in place of the rule's, if the page is still what it was asked about."""
    page = pager.state.pages.get(old.number)
    if page is None or page.turns != old.turns or not wants_bookmark(page, pager.state.settings):
        return False
    naming.give(pager, page, outcome.keywords, pager.state.settings.bookmarks)
    return True


# ── summaries ─────────────────────────────────────────────────────────────────────────────────────────


def summary_of(pager: Pager, page: Page, caller: Caller, asked: Asked, *, tries: int) -> Told | Unreadable:
    """The model's summary of this page. Raises ModelError."""
    s = pager.state.settings
    return summarise(naming.spoken(pager, page), asking(caller, s, memory_llm(s, "summary"), asked, tries=tries))


def put_summary(pager: Pager, old: Page, told: Told) -> bool:
    """Put the model's summary in place of the rule's, if the page is still what it was asked about."""
    page = pager.state.pages.get(old.number)
    if page is None or page.turns != old.turns or not wants_summary(page, pager.state.settings):
        return False
    naming.summarise_as(pager, page, told.text, "llm")
    return True
