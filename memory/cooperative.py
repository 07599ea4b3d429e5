"""Cooperative eviction: rules first, and the model only where they do not decide (arXiv 2604.12376 asks it always).

A page of greetings may go, one that the user marked or asked to remember must stay, an old one may go; what is left
undecided is asked of the model in one call over the pages' summaries, or as a yes or no for each. No answer that can
be used is no decision: the least recently used page leaves then, and the record says why nobody better decided.

It does not say how many pages leave (window.py does), and a page that must stay still leaves when nothing else is
left to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory.bookmarks import one_page
from memory.errors import ModelError, UnknownName
from memory.jsontext import object_in, without_thoughts
from memory.pages import Page

# Scores: the lowest leaves first. Undecided pages (eviction.UNDECIDED, 3) stand between named and kept ones.
MAY_GO, OLD, NAMED, KEPT, MUST_STAY = 0.0, 1.0, 2.0, 4.0, 5.0
MUST, MAY = 0.9, 0.1  # importance that a rule gave when the page closed; see importance.py
MOST_ASKED = 40  # pages in one call

Ask = Callable[[str, Mapping[str, Any]], str]  # a prompt and the shape of its answer; raises ModelError


@dataclass(frozen=True, slots=True)
class Verdict:
    score: float
    by: str  # rule, age, model, fallback
    why: str


@dataclass(frozen=True, slots=True)
class Summary:
    page: int
    turns: str  # 21-30
    text: str  # one line


@dataclass(frozen=True)
class Decision:
    verdicts: Mapping[int, Verdict] = field(default_factory=dict)
    fallback: str = ""  # why pages without a verdict have none
    raw: str = ""  # an answer that could not be used


def ruled(pages: Iterable[Page], turn: int, old_turns: int) -> dict[int, Verdict]:
    """What rules decide of these pages; `turn`: the number of the newest turn, `old_turns`: 0 for no rule of age."""
    return {page.number: verdict for page in pages if (verdict := _rule(page, turn, old_turns))}


def _rule(page: Page, turn: int, old_turns: int) -> Verdict | None:
    if page.importance >= MUST:
        return Verdict(MUST_STAY, "rule", page.why_important)
    if page.importance <= MAY:
        return Verdict(MAY_GO, "rule", page.why_important)
    age = turn - page.last
    if old_turns and age > old_turns:
        return Verdict(OLD, "age", f"its last turn was {age} turns ago, more than {old_turns}")
    return None


def decide(summaries: Sequence[Summary], message: str, ask: Ask, asks: str = "ranking") -> Decision:
    """The model's word on these pages, as `asks` says: one of QUESTIONS."""
    try:
        return named(asks)(summaries, message, ask)
    except ModelError as error:
        return Decision(fallback=f"the model could not be asked ({type(error).__name__})")


Question = Callable[[Sequence[Summary], str, Ask], Decision]


# ── one call for all ──────────────────────────────────────────────────────────────────────────────────

RANK = """\
A conversation is longer than its window; some of its pages must leave now. They can be called back later.
Which of these pages will be needed least to answer what comes next? Name those that may leave, the least useful
first; leave out what should stay.

{pages}

The newest message: {message}

Answer with JSON only: {{"leave": ["…"]}}"""  # no name as an example: a small model would copy it


def ranking(summaries: Sequence[Summary], message: str, ask: Ask) -> Decision:
    """One call; the pages that it names leave in its order, the others after them."""
    offered = list(summaries[:MOST_ASKED])
    names = [f"p{s.page}" for s in offered]
    lines = "\n".join(_line(s) for s in offered)
    raw = ask(RANK.format(pages=lines, message=_quoted(message)), leave_schema(names))
    order, error = read_ranking(raw, {s.page for s in offered})
    if error:
        return Decision(fallback=f"the model's answer could not be used: {error}", raw=raw)
    places = {page: place for place, page in enumerate(order)}
    return Decision(
        {s.page: _placed(places.get(s.page), len(order)) for s in offered}, "it was not asked about this page"
    )


def _placed(place: int | None, named_pages: int) -> Verdict:
    if place is None:
        return Verdict(KEPT, "model", "the model would keep it")
    return Verdict(NAMED + place / (named_pages + 1), "model", f"number {place + 1} of {named_pages} that may leave")


def leave_schema(names: Sequence[str]) -> dict[str, Any]:
    leave = {"type": "array", "items": {"type": "string", "enum": list(names)}, "maxItems": len(names)}
    return {"type": "object", "properties": {"leave": leave}, "required": ["leave"], "additionalProperties": False}


def read_ranking(raw: str, offered: Collection[int]) -> tuple[list[int], str]:
    """The pages in order, and why there are none; a name that was not offered is passed over, never guessed at.

    >>> read_ranking('```json\\n{"leave": ["p3", "p99", "[p1:hotel]"],}```', {1, 2, 3})
    ([3, 1], '')
    """
    found, error = object_in(without_thoughts(raw), ("leave",))
    if error:
        return [], error
    if not isinstance(found.get("leave"), list):
        return [], 'there is no list "leave" in it'
    pages = [page for page in map(one_page, found["leave"]) if page in offered]
    if not pages:
        return [], "it names none of the pages that were offered"
    return list(dict.fromkeys(pages)), ""


# ── one call each ─────────────────────────────────────────────────────────────────────────────────────

YES_OR_NO = """\
A conversation is longer than its window; a page may leave it now and be called back later.

{page}

The newest message: {message}

Will this page be needed to answer what comes next? Answer with JSON only: {{"leave": true}} or {{"leave": false}}."""
_VERDICT = {
    "type": "object",
    "properties": {"leave": {"type": "boolean"}},
    "required": ["leave"],
    "additionalProperties": False,
}


def verdicts(summaries: Sequence[Summary], message: str, ask: Ask) -> Decision:
    """A yes or no for each page; an answer that says neither leaves that page undecided."""
    decided: dict[int, Verdict] = {}
    unread, raw = "", ""
    for summary in summaries[:MOST_ASKED]:
        answer = ask(YES_OR_NO.format(page=_line(summary), message=_quoted(message)), _VERDICT)
        leave = read_verdict(answer)
        if leave is None:
            unread, raw = "the model's answer says neither yes nor no", raw or answer
        elif leave:
            decided[summary.page] = Verdict(NAMED, "model", "the model lets it go")
        else:
            decided[summary.page] = Verdict(KEPT, "model", "the model would keep it")
    return Decision(decided, unread or "it was not asked about this page", raw)


def read_verdict(raw: str) -> bool | None:
    found, error = object_in(without_thoughts(raw), ("leave",))
    leave = found.get("leave") if not error else None
    if isinstance(leave, str):
        leave = {"true": True, "yes": True, "false": False, "no": False}.get(leave.strip().lower())
    return leave if isinstance(leave, bool) else None


QUESTIONS: dict[str, Question] = {f.__name__: f for f in (ranking, verdicts)}


def named(question: str) -> Question:
    if question not in QUESTIONS:
        raise UnknownName("question of cooperative eviction", question, QUESTIONS)
    return QUESTIONS[question]


def scores(verdicts: Mapping[int, Verdict]) -> dict[int, float]:
    return {page: verdict.score for page, verdict in verdicts.items()}


def reason(page: int, verdicts: Mapping[int, Verdict], fallback: str) -> tuple[str, str]:
    """Who decided that this page leaves, and why."""
    verdict = verdicts.get(page)
    if verdict is None:
        return "fallback", f"{fallback or 'nobody was asked'}: the least recently used leaves"
    return verdict.by, verdict.why


def _line(summary: Summary) -> str:
    return f"p{summary.page} (turns {summary.turns}): {summary.text or 'nothing to tell'}"


def _quoted(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= 300 else line[:299] + "…"
