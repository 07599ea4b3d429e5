"""A page in a sentence or two: what its summary is made of, by rule, and how a model is asked for one.

By rule nothing is said that was not said: sentences are taken from the page as they are, those that hold its keywords
and what makes it important. A model's summary is taken only if it stays on the page: of its words that tell something
(names, figures, rare words) most must stand there, and no figure that does not.

Not here: the chain of summaries over many turns (summaries.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from memory import tokens
from memory.bookmarks import PageWords
from memory.importance import CHANGE, FIGURE, MAY_GO, MUST_STAY
from memory.jsontext import object_in, without_thoughts
from memory.keywords import PAGE_TOKENS, TRIES, Ask, Unreadable
from memory.language import sentences, terms

MOST_TOKENS = 40
SENTENCES = 2
WORTH_SAYING = 1.5  # weight from which a second sentence is taken that adds no keyword
GROUNDED = 0.6  # of a model's terms that stand on the page, at the least
MAKERS = {
    "auto": "a model where memory_llm names one, else extract",
    "extract": "one or two sentences of the page",
    "llm": "the model of memory work",
}

# ── by rule ───────────────────────────────────────────────────────────────────────────────────────────


def extract(turns: Sequence[tuple[bool, str]], keywords: Sequence[str] = (), most: int = MOST_TOKENS) -> str:
    """The one or two sentences that carry the keywords and what is important, in order; at most `most` tokens.

    `turns`: whether the user said it, and the words.

    >>> extract([(True, "Hello! My budget is 5,000 euros. It rains."), (False, "Noted.")], ["budget"])
    'My budget is 5,000 euros.'
    """
    return _extract(tuple(turns), tuple(keywords), most)


@lru_cache(maxsize=2_048)  # the same pages close again while settings are tried
def _extract(turns: tuple[tuple[bool, str], ...], keywords: tuple[str, ...], most: int) -> str:
    lines = [(own, " ".join(text[a:b].split())) for own, text in turns for a, b in sentences(text)]
    wanted = [frozenset(terms(keyword)) for keyword in keywords]
    held = [frozenset(n for n, each in enumerate(wanted) if each and each <= set(terms(line))) for _, line in lines]
    sizes = [tokens.count(line) for _, line in lines]
    chosen: list[int] = []
    room = most
    while len(chosen) < SENTENCES:
        told = frozenset[int]().union(*(held[i] for i in chosen))
        fits = [i for i in range(len(lines)) if i not in chosen and sizes[i] <= room]
        left = fits if fits or chosen else range(len(lines))  # where none fits, the best is cut
        scores = {i: _weight(*lines[i], len(held[i] - told)) for i in left}
        best = max(left, key=lambda i: (scores[i], -i), default=-1)
        if best < 0 or (chosen and not held[best] - told and scores[best] < WORTH_SAYING):
            break
        chosen.append(best)
        room -= sizes[best] + 1
    text = " ".join(lines[i][1] for i in sorted(chosen))
    return text if tokens.count(text) <= most else tokens.clip(text, most - 1).rstrip() + "…"


def _weight(own: bool, line: str, keywords: int) -> float:
    """Keywords that nothing told yet, a request to remember, a change, figures; the user's words before others'."""
    told = 2.0 * keywords + 3.0 * bool(MUST_STAY.search(line)) + 1.5 * bool(CHANGE.search(line))
    return told + 0.5 * bool(FIGURE.search(line)) + 0.4 * own - 4.0 * bool(MAY_GO.match(line)) - _is_question(line)


def _is_question(line: str) -> float:
    return 0.5 if line.rstrip().endswith(("?", "？")) else 0.0


# ── by a model ────────────────────────────────────────────────────────────────────────────────────────

PROMPT = """\
A page of a conversation leaves the model's window; a summary stays, by which one knows whether to read it again.
Say in one or two short sentences, at most 30 words, in the page's own language, what it holds: names, figures,
decisions, changes. Add nothing that is not on it.

The page:
{page}

Answer with JSON only: {{"summary": "…"}}"""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Told:
    page: int
    text: str


def summarise(page: PageWords, ask: Ask) -> Told | Unreadable:
    """The model's summary of this page; one retry, then the raw words are kept. Raises ModelError."""
    words = "\n".join(page.texts)
    prompt = PROMPT.format(page=tokens.clip(words, PAGE_TOKENS))
    raw, error = "", ""
    for _ in range(TRIES):
        again = f"\n\nYour last answer could not be used: {error}. Answer with the JSON object alone." if error else ""
        raw = ask(prompt + again, SCHEMA)
        text, error = read_summary(raw, words)
        if not error:
            return Told(page.page, text)
    return Unreadable((page.page,), error, raw)


def read_summary(raw: str, page: str) -> tuple[str, str]:
    """The summary, and why it is not taken.

    >>> read_summary('{"summary": "Budget: 5,000 euros."}', "user: My budget is 5,000 euros.")
    ('Budget: 5,000 euros.', '')
    """
    found, error = object_in(without_thoughts(raw), ("summary",))
    if error:
        return "", error
    text = _text(found)
    if not text:
        return "", 'there is no text "summary" in it'
    said, told = set(terms(page)), terms(text)
    strange = [figure for figure in _figures(text) if figure not in _figures(page)]
    if strange:
        return "", "a figure in it does not stand on the page"
    if told and sum(term in said for term in told) < GROUNDED * len(told):
        return "", "most of its words do not stand on the page"
    return text if tokens.count(text) <= MOST_TOKENS else tokens.clip(text, MOST_TOKENS - 1).rstrip() + "…", ""


def _text(found: Mapping[str, Any]) -> str:
    told = found.get("summary")
    return " ".join(told.split()) if isinstance(told, str) else ""


def _figures(text: str) -> set[str]:
    return {found.replace(",", "") for found in re.findall(r"\d+(?:[.,]\d+)*", text)}
