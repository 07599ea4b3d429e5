"""Does what the model asked of its memory, and says in words what came of it.

Every operation ends in the log: a recall and a search with what they considered, a bookmark as any other, and what
is not done as a refusal with its reason. The words that go back to the model are plain sentences; nothing is paged
in by a search, and nothing is remembered beyond the conversation here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memory import naming
from memory.bookmarks import BY_MODEL, MOST, parse_page_ref, tidy
from memory.errors import NotFound, StaleFact
from memory.events import OperationRefused, PagesRecalled, Undecided
from memory.naming import CHOSEN, EDITED
from memory.operations import (
    BOTH,
    SETTLE,
    Forget,
    MakeBookmark,
    Malformed,
    Operation,
    Recall,
    Remember,
    SearchMemory,
    Settle,
)
from memory.pager import Pager
from memory.pages import PART, SUMMARY, Page
from memory.recalls import Request
from memory.state import State

FOUND = 5  # pages that a search names
LINE = 120  # characters of the words that it shows of each
NO_LONG_TERM = "long-term memory is not switched on in this engine"


@dataclass(slots=True)
class Served:
    """What was done in a step so far."""

    recalled: list[int] = field(default_factory=list)  # pages that came back
    opened: list[str] = field(default_factory=list)  # names of stubs that a range was opened to
    settled: list[int] = field(default_factory=list)  # conflicts


def serve(operation: Operation, pager: Pager, served: Served, beside: int = 0) -> str:
    """Do it, and what the model reads of it. `beside`: tokens of this step's calls and results so far."""
    match operation:
        case Recall():
            request = Request(operation.pages, operation.question, call=operation.call, full=operation.full)
            record = pager.recall(request, came_before=len(served.recalled), beside=beside)
            served.recalled += record.came
            served.opened += [_name(part.first, part.last) for part in record.opened]
            return told(record, pager.state, pager.journal.words)
        case SearchMemory():
            return _search(operation, pager)
        case MakeBookmark():
            return _bookmark(operation, pager)
        case Remember():
            return _long_term(pager, operation.call, "remember", operation.text)
        case Forget():
            return _long_term(pager, operation.call, "forget", operation.what)
        case Settle():
            return _settle(operation, pager, served)
        case Malformed():
            pager.add(OperationRefused(operation.call, operation.operation, operation.reason))
            return operation.told


def needs_no_answer(operations: Sequence[Operation]) -> bool:
    """Whether the model, if it said its reply beside them, has nothing to learn from what became of these."""
    return all(isinstance(operation, MakeBookmark | Settle) for operation in operations)


def _long_term(pager: Pager, call: str, operation: str, said: str) -> str:
    act = pager.keep if operation == "remember" else pager.drop
    if act is None or pager.state.settings.remember == "off":
        return refuse(pager, call, operation, NO_LONG_TERM)
    return act(said)


def _settle(operation: Settle, pager: Pager, served: Served) -> str:
    if pager.rule is None or pager.state.settings.remember == "off":
        return refuse(pager, operation.call, SETTLE, NO_LONG_TERM)
    conflict, winner = _numbered("c", operation.conflict), _numbered("f", operation.keep)
    if conflict is None:
        return refuse(pager, operation.call, SETTLE, 'not a conflict\'s name; use "c3"')
    if winner is None and operation.keep.casefold() != BOTH:
        return refuse(pager, operation.call, SETTLE, 'not a fact\'s name; use "f12", or "both"')
    try:
        told = pager.rule(conflict, winner or 0, operation.why)
    except (NotFound, StaleFact) as error:
        return refuse(pager, operation.call, SETTLE, str(error))
    served.settled.append(conflict)
    return told


def _numbered(letter: str, name: str) -> int | None:
    found = re.fullmatch(rf"{letter}([1-9]\d{{0,8}})", name.strip(" \"'[]()").casefold(), re.ASCII)
    return int(found[1]) if found else None


def undecided(state: State, served: Served) -> tuple[Undecided, ...]:
    """What the model may still settle in this step."""
    return tuple(each for each in state.undecided if each.conflict not in served.settled)


def refuse(pager: Pager, call: str, operation: str, reason: str) -> str:
    pager.add(OperationRefused(call, operation, reason))
    return f"not done: {reason}"


def told(record: PagesRecalled, state: State, words: Callable[[int], str]) -> str:
    """What the model reads as the result of its recall."""
    lines = []
    for number in record.came:
        page = state.pages[number]
        turns = f"turns {page.first}-{page.last}"
        if page.guest_as == SUMMARY:
            lines.append(
                f"{page.name} ({turns}) is back as a summary, between the <summary> marks above; "
                f"recall {page.name} again to read it whole."
            )
        elif page.guest_as == PART:
            first, last = page.part
            lines.append(
                f"Of {page.name} ({turns}) turns {first}-{last} are back, between the <recalled> marks above; "
                f"the whole page has no room."
            )
        else:
            lines.append(f"{page.name} ({turns}) is back; read it between the <recalled> marks above.")
    lines += [f"p{number} is in your window already." for number in record.resident]
    lines += [words(part.text) for part in record.opened]
    lines += [f"{refusal.ref}: {refusal.reason}" for refusal in record.refused]
    return "\n".join(lines) or "No page that left the window matches."


def names(pager: Pager, served: Served) -> list[str]:
    """The pages and ranges that the model can know of and does not see: those of the stubs in its prompt."""
    stubs = pager.state.stubs
    shown = [_name(n, n) for n in stubs.shown] + [_name(part.first, part.last) for part in stubs.ranges]
    short = [page.name for page in pager.state.guests if page.guest_as in (SUMMARY, PART)]
    here = {f"p{n}" for n in pager.state.whole}
    return [name for name in dict.fromkeys([*short, *shown, *served.opened]) if name not in here]


def _name(first: int, last: int) -> str:
    return f"p{first}" if first == last else f"p{first}-p{last}"


# ── search ────────────────────────────────────────────────────────────────────────────────────────────


def _search(operation: SearchMemory, pager: Pager) -> str:
    found = pager.find(operation.query, FOUND, by="search_memory", everywhere=True)
    return "\n".join(_line(pager, hit.page, hit.turn) for hit in found.hits) or f"Nothing found: {found.note}."


def _line(pager: Pager, number: int, turn: int) -> str:
    """`p3 (turns 21-30, not in your window), turn 24: My budget is…`"""
    page = pager.state.pages[number]
    where = "in your window" if number in pager.state.resident else "not in your window"
    said = next((t.words(pager.journal.words) for t in page.turns if t.number == turn), "")
    line = " ".join(said.split())
    line = line if len(line) <= LINE else f"{line[: LINE - 1]}…"
    return f"{page.name} (turns {page.first}-{page.last}, {where}), turn {turn}: {line}"


# ── bookmark ──────────────────────────────────────────────────────────────────────────────────────────


def _bookmark(operation: MakeBookmark, pager: Pager) -> str:
    page, problem = _place(operation.place, pager.state)
    keywords = tidy(operation.keywords, most=MOST)
    if page is not None and page.bookmark is not None and page.bookmark.origin in ("user", EDITED):
        problem = f"{page.name} has a bookmark of the user's own"
    elif page is not None and not keywords:
        problem = "none of these keywords fits a bookmark; take a few short words"
    if problem or page is None:
        return refuse(pager, operation.call, "bookmark", problem)
    naming.give(pager, page, keywords, CHOSEN)
    bookmark = pager.state.pages[page.number].bookmark
    return f"bookmarked: {pager.journal.words(bookmark.stub)}" if bookmark else ""


def _place(place: str, state: State) -> tuple[Page | None, str]:
    """The page that is meant, or what is wrong with the name of it."""
    turn = place.lower().removeprefix("turn").strip() if place.lower().startswith("turn") else ""
    if turn.isdecimal():
        pages = state.pages_of(int(turn[:9]))
        return (pages[0], "") if pages else (None, f"there is no such turn; turns go from 1 to {state.turn}")
    try:
        first, last = parse_page_ref(place)
    except ValueError:
        return None, 'not a page\'s name; use "p3", or "turn 12"'
    if first != last:
        return None, "one page at a time"
    page = state.pages.get(first)
    return (page, "") if page else (None, f"no such page; pages go from p1 to p{len(state.pages)}")


def is_due(page: Page, generator: str) -> bool:
    """Whether a model is still to be asked for this page's keywords: a rule's stand there."""
    first = BY_MODEL.get(generator)
    return first is not None and page.closed and page.bookmark is not None and page.bookmark.origin == first
