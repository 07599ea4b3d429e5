"""Which pages come back into the window, and why the others do not: by name, by turns, by what they hold.

Works on a pager's state; what a page's content has to do with a question is retrieval.py's, whether there is room
window.py's. Every search and every recall ends in the log with what it considered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from memory import naming
from memory.bookmarks import parse_page_ref
from memory.events import PagesRecalled, RangeStub, Refusal
from memory.pages import SUMMARY, TEXT, Page, guest_tokens
from memory.retrieval import Ranking
from memory.secondlook import OFF, unseen
from memory.state import changed
from memory.stubs import open_range
from memory.window import page_in, part_in, scaled

if TYPE_CHECKING:
    from memory.pager import Pager

SHORT_TOKENS = 120  # of a page as a guest: up to here a summary saves nothing
NAMED = 0.5  # what it adds to a page's score, in deviations, that the model named it


@dataclass(frozen=True, slots=True)
class Request:
    """What a recall asks for: page names, turn ranges, a question, or several of these."""

    pages: tuple[str, ...] = ()
    question: str = ""
    turns: tuple[tuple[int, int], ...] = ()
    call: str = ""
    by: str = "model"
    evidence: tuple[int, ...] = ()
    full: bool = False  # the text, whatever the settings bring first


@dataclass(slots=True)
class _Wanted:
    """The parts of a request, taken apart."""

    pages: list[int] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)
    opened: list[RangeStub] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    note: str = ""

    def want(self, page: Page, residents: Collection[int]) -> None:
        target = self.resident if page.number in residents else self.pages
        if page.number not in target:
            target.append(page.number)


def recall(pager: Pager, request: Request, came_before: int, beside: int) -> PagesRecalled:
    """See Pager.recall."""
    question = pager.said(request.question) if request.question else 0
    wanted = _wanted(pager, request, question)
    came, refused = _bring_all(pager, wanted.pages, request, came_before, wanted.resident, beside)
    wanted.refused += refused
    if came:  # other bookmarks stand now, perhaps longer ones
        pager.arrange(request.question)
        need = 1 + scaled(pager.state, beside)
        pager.make_room(request.question, need=need, keep=[*came, *wanted.resident])
    record = PagesRecalled(
        call=request.call,
        by=request.by,
        asked=tuple(wanted.asked),
        question=question,
        turns=request.turns or _ranges(pager, [*wanted.pages, *wanted.resident]),
        resident=tuple(wanted.resident),
        came=tuple(came),
        opened=tuple(wanted.opened),
        refused=tuple(wanted.refused),
        right=_is_right(pager, request.evidence, [*came, *wanted.resident]),
        note=wanted.note,
    )
    pager.add(record)
    return record


def retrieve(pager: Pager, message: str, text_id: int) -> None:
    """Pages that the message brings back unasked."""
    request = Request(question=message, by="message")
    ranking = find(pager, message, pager.state.settings.retrieve_k, by="message", text_id=text_id)
    came, _ = _bring_all(pager, ranking.pages, request)
    if came:
        pager.arrange(message)
        pager.make_room(message, need=1, keep=came)


def find(pager: Pager, question: str, k: int, by: str, *, text_id: int = 0, everywhere: bool = False) -> Ranking:
    """See Pager.find."""
    gone = None if everywhere else [p.number for p in pager.state.evicted]
    since = pager.clock()
    ranking = pager.finder.rank(question, k, pager.state.settings, among=gone, used=_used_of_late(pager))
    ms = round((pager.clock() - since).total_seconds() * 1000, 3)
    if pager.state.settings.second_look != OFF:
        ranking = pager.look_again(ranking, question, k) if pager.look_again else unseen(ranking)
    pager.add(pager.finder.record(ranking, text_id or pager.said(question), by, k, ms))
    return ranking


# ── what is wanted ────────────────────────────────────────────────────────────────────────────────────


def _wanted(pager: Pager, request: Request, question: int) -> _Wanted:
    wanted, residents = _Wanted(), pager.state.whole
    for ref in request.pages:
        _named(pager, ref, wanted, residents)
    for first, last in request.turns:
        for page in pager.state.pages.values():
            if page.first <= last and first <= page.last:
                wanted.want(page, residents)
    if request.question and not wanted.opened and not request.turns:
        _by_content(pager, request, question, wanted, residents)
    return wanted


def _named(pager: Pager, ref: str, wanted: _Wanted, residents: Collection[int]) -> None:
    pages = pager.state.pages
    try:
        first, last = parse_page_ref(ref)
    except ValueError:
        wanted.refused.append(Refusal("?", 'not a page\'s name; use "p3" or "p3-p41"'))
        return
    name = f"p{first}" if first == last else f"p{first}-p{last}"
    wanted.asked.append(name)
    if first > len(pages) or first < 1:
        wanted.refused.append(Refusal(name, f"no such page; pages go from p1 to p{len(pages)}"))
    elif first == last:
        wanted.want(pages[first], residents)
    else:
        wanted.opened += open_range(pager.state, first, last, pager.journal.words, pager.journal.write)


def _by_content(pager: Pager, request: Request, question: int, wanted: _Wanted, residents: Collection[int]) -> None:
    """Pages whose content answers the question; a name that the model read off a bookmark is a hint.

    The best by content come first, a named one's score counting half a deviation more; names are wanted whatever
    they score, but last.
    """
    s = pager.state.settings
    ranking = find(pager, request.question, s.recall_k, by=request.by, text_id=question)
    wanted.note = ranking.note
    for page in ranking.pages:
        if len(wanted.pages) < s.recall_k or page in wanted.pages:
            wanted.want(pager.state.pages[page], residents)
    named = {int(name[1:]) for name in wanted.asked if "-" not in name}
    ranked = (*ranking.hits, *ranking.misses)
    scores = {hit.page: hit.score + (NAMED if hit.page in named else 0.0) for hit in ranked}
    wanted.pages.sort(key=lambda n: -scores.get(n, -inf))


def _used_of_late(pager: Pager) -> dict[int, float]:
    if not pager.state.settings.use_weight:
        return {}
    heats = {p.number: p.heat_at(pager.state.step) for p in pager.state.pages.values()}
    most = max(heats.values(), default=0.0)
    return {number: heat / most for number, heat in heats.items()} if most else {}


# ── what comes ────────────────────────────────────────────────────────────────────────────────────────


def _bring_all(
    pager: Pager, pages: Sequence[int], request: Request, before: int = 0, resident: Sequence[int] = (), beside: int = 0
) -> tuple[list[int], list[Refusal]]:
    """Which of these came, and why the others did not.

    Whole pages first: a part takes what room they leave, never that of a page behind it.
    """
    came: list[int] = []
    refused: dict[int, Refusal] = {}
    for part in (False, True):
        for number in [n for n in pages if n not in came]:
            keep = [*came, *resident]  # who is told to be there must not leave for the next one
            refusal = _bring(pager, number, request, before + len(came), keep, beside, part=part)
            if refusal is None:
                came.append(number)
            else:
                refused[number] = refusal
    return came, [refused[n] for n in pages if n not in came]


def _bring(
    pager: Pager, number: int, request: Request, before: int, keep: Collection[int], beside: int, *, part: bool
) -> Refusal | None:
    """Page it in, whole or the `part` that fits, or say why not."""
    s, page = pager.state.settings, pager.state.pages[number]
    if before >= s.page_ins:
        return Refusal(page.name, f"{before} pages came back in this step already; page_ins is {s.page_ins}")
    level = _level(pager, page, request)
    if level == SUMMARY:
        page = naming.summarised(pager, page)
    if part and level == TEXT:
        worth = _worth(pager, page, request)
        arrival = part_in(pager.state, pager.instructions, page, request.by, worth, keep, beside)
    else:
        arrival = page_in(pager.state, pager.instructions, page, request.by, keep, beside, level)
    if isinstance(arrival, Refusal):
        return arrival
    held = scaled(pager.state, page.guest_tokens) if page.guest_until else 0
    came = changed(page, guest_as=arrival.level, part=arrival.part)
    need = scaled(pager.state, came.guest_tokens) + scaled(pager.state, beside) - held
    pager.make_room(request.question, need=need, cause=f"makes room for {page.name}, recalled", keep=keep)
    pager.add(arrival)
    return None


def _worth(pager: Pager, page: Page, request: Request) -> dict[int, float]:
    """By turn: the turns that were asked for, else what answers the question, else the message."""
    asked = {t.number: 1.0 for t in page.turns if any(a <= t.number <= b for a, b in request.turns)}
    question = request.question or pager.about
    return asked or (pager.finder.turns_on(page.number, question) if question.strip() else {})


def _level(pager: Pager, page: Page, request: Request) -> str:
    """Its summary comes first, if the settings say so; its text if that is asked for, is short, or is asked again."""
    wants_text = request.full or request.by == "user" or page.guest_as == SUMMARY
    if pager.state.settings.recall_level != SUMMARY or wants_text:
        return TEXT
    return SUMMARY if guest_tokens(page.turns) > SHORT_TOKENS else TEXT


def _ranges(pager: Pager, pages: Iterable[int]) -> tuple[tuple[int, int], ...]:
    return tuple((pager.state.pages[n].first, pager.state.pages[n].last) for n in pages)


def _is_right(pager: Pager, evidence: Collection[int], pages: Iterable[int]) -> bool | None:
    if not evidence:
        return None
    return any(t.number in evidence for n in pages for t in pager.state.pages[n].standing)
