"""A page's keywords from a language model: page by page, or for all pages that closed at once.

The model is asked after the reply, never before it; a bookmark that a rule made stands until its answer comes, and
stays where none comes that can be used (one retry, then `Unreadable` keeps the raw words). A keyword of which no word
stands on the page is not used: small models give back what the prompt says, or what other pages hold. "No" is an
answer: such a page leaves a bare `[p7]`. Many pages at once share no keyword: one that two got stays with the first.

Generators and templates follow arXiv 2604.12376, a preprint withdrawn since, which reports .69 of synthetic probes
answered for all at once against .66 page by page and .72 for its heuristic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.bookmarks import FEWEST, MOST, PageWords, one_page, tidy
from memory.jsontext import object_in, objects_in, without_thoughts
from memory.language import terms
from memory.templates import Template
from memory.tokens import clip

PAGE_TOKENS = 1_200  # of a page's words in a prompt
BATCH_TOKENS = 6_000  # of all pages together
OTHERS = 20  # lines on other pages
TRIES = 2

Ask = Callable[[str, Mapping[str, Any]], str]  # a prompt and the shape of its answer; raises ModelError


@dataclass(frozen=True, slots=True)
class Improved:
    page: int
    keywords: tuple[str, ...]  # none: nothing on this page is worth one


@dataclass(frozen=True, slots=True)
class Unreadable:
    pages: tuple[int, ...]
    reason: str
    raw: str


Outcome = Improved | Unreadable


def improve_bookmarks(
    pages: Sequence[PageWords],
    ask: Ask,
    template: Template,
    *,
    batch: bool = False,
    others: Mapping[int, str] | None = None,
) -> list[Outcome]:
    """The model's keywords for these pages. `others`: the keywords of other pages, to be told apart from."""
    if not pages:
        return []
    if batch:
        return _all_at_once(pages, ask, template)
    known = dict(others or {})
    return [_one(page, ask, template, {n: words for n, words in known.items() if n != page.page}) for page in pages]


# ── page by page ──────────────────────────────────────────────────────────────────────────────────────

ONE = """\
A page of a conversation leaves the model's window; keywords stay in its place, by which it is found again.
Choose {fewest} to {most} short keywords, in the page's own language and words: {looks_for}.
Specific beats general; use no word that fits other pages too. If nothing on it is worth finding again, answer
{{"keywords": []}}.
{others}
The page:
{page}

Answer with JSON only: {{"keywords": ["…", "…"]}}"""
_KEYWORDS = {"type": "array", "items": {"type": "string"}, "maxItems": MOST}
ONE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"keywords": _KEYWORDS},
    "required": ["keywords"],
    "additionalProperties": False,
}


def _one(page: PageWords, ask: Ask, template: Template, others: Mapping[int, str]) -> Outcome:
    lines = "\n".join(f"p{n}: {words}" for n, words in list(others.items())[-OTHERS:] if words)
    prompt = ONE.format(
        fewest=FEWEST,
        most=MOST,
        looks_for=template.looks_for,
        others=f"\nOther pages are known by:\n{lines}\n" if lines else "",
        page=_words(page, PAGE_TOKENS),
    )
    raw, error = "", ""
    for _ in range(TRIES):
        raw = ask(f"{prompt}{_again(error)}", ONE_SCHEMA)
        keywords, error = read_keywords(raw)
        if not error:
            keywords, error = _grounded(page, keywords)
        if not error:
            return Improved(page.page, keywords)
    return Unreadable((page.page,), error, raw)


def read_keywords(raw: str) -> tuple[tuple[str, ...], str]:
    """The keywords, and why there are none to be read; () without an error is a no.

    >>> read_keywords('{thinking aloud} {"keywords": ["peanut allergy", "Lisbon",]}')
    (('peanut allergy', 'Lisbon'), '')
    >>> read_keywords('{"keywords": []}')
    ((), '')
    """
    found, error = object_in(without_thoughts(raw), ("keywords",))
    return ((), error) if error else _chosen(found)


def _chosen(found: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """A list, or words with commas between; nothing at all and "none" are a no. One alone is kept."""
    if "keywords" not in found:
        return (), 'there is no "keywords" in it'
    given = found["keywords"]
    if isinstance(given, str):
        given = [] if given.strip().lower() in ("no", "none", "n/a", "-") else given.split(",")
    if given is None:
        return (), ""
    if not isinstance(given, list) or not all(isinstance(word, str | int | float) for word in given):
        return (), '"keywords" is no list of words'
    keywords = tidy(map(str, given))
    if given and not keywords and any(str(word).strip() for word in given):
        return (), "none of its keywords fits a bookmark"
    return keywords, ""


# ── all at once ───────────────────────────────────────────────────────────────────────────────────────

ALL = """\
Pages of a conversation leave the model's window; keywords stay in their place, by which they are found again.
For each page choose {fewest} to {most} short keywords, in its own language and words: {looks_for}.
No two pages may share a keyword: choose what tells each page from the others. If nothing on a page is worth finding
again, give it an empty list.

{pages}

Answer with JSON only, one entry for each page:
{{"pages": [{form}]}}"""


def all_schema(names: Sequence[str]) -> dict[str, Any]:
    page = {
        "type": "object",
        "properties": {"page": {"type": "string", "enum": list(names)}, "keywords": _KEYWORDS},
        "required": ["page", "keywords"],
        "additionalProperties": False,
    }
    pages = {"type": "array", "items": page, "minItems": len(names), "maxItems": len(names)}
    return {"type": "object", "properties": {"pages": pages}, "required": ["pages"], "additionalProperties": False}


def _all_at_once(pages: Sequence[PageWords], ask: Ask, template: Template) -> list[Outcome]:
    """Pages that the first answer leaves out, or gives what cannot be used, are asked about once more."""
    left = {page.page: page for page in pages}
    found: dict[int, tuple[str, ...]] = {}
    raw, error = "", ""
    for _ in range(TRIES):
        prompt = _about_all(list(left.values()), template)
        raw = ask(f"{prompt}{_again(error)}", all_schema([f"p{number}" for number in left]))
        read, error = read_pages(raw, list(left))
        for number, keywords in read.items():
            kept, why = _grounded(left[number], keywords)
            error = error or why
            if not why:
                found[number] = kept
        left = {number: page for number, page in left.items() if number not in found}
        if not left:
            break
        error = error or "it leaves pages out"
    apart = _apart(found)
    shared = tuple(page for page, keywords in apart.items() if found[page] and not keywords)
    told: list[Outcome] = [Improved(page, keywords) for page, keywords in apart.items() if page not in shared]
    if shared:
        told.append(Unreadable(shared, "all of its keywords are another page's as well", raw))
    if left:
        told.append(Unreadable(tuple(left), error, raw))
    return told


def _about_all(pages: Sequence[PageWords], template: Template) -> str:
    most = min(PAGE_TOKENS, BATCH_TOKENS // len(pages))
    return ALL.format(
        fewest=FEWEST,
        most=MOST,
        looks_for=template.looks_for,
        pages="\n\n".join(f"Page p{page.page}:\n{_words(page, most)}" for page in pages),
        form=", ".join(f'{{"page": "p{page.page}", "keywords": ["…", "…"]}}' for page in pages),
    )


def read_pages(raw: str, offered: Sequence[int]) -> tuple[dict[int, tuple[str, ...]], str]:
    """Keywords by page, and why nothing can be read; a page that was not offered is passed over, never guessed at."""
    objects = objects_in(without_thoughts(raw))
    listed = [each["pages"] for each in objects if isinstance(each.get("pages"), list)]
    rows = listed[0] if listed else [each for each in objects if "page" in each]
    if len(listed) > 1 and any(other != listed[0] for other in listed):
        return {}, f"{len(listed)} lists of pages where one belongs"
    if not rows:
        return {}, object_in(raw)[1] or 'there is no list "pages" in it'
    found: dict[int, tuple[str, ...]] = {}
    for row in rows:
        page = one_page(row.get("page")) if isinstance(row, dict) else 0
        if page in offered and page not in found:
            keywords, error = _chosen(row)
            if not error:
                found[page] = keywords
    return found, "" if found else "it names none of the pages that were offered, or no keywords for them"


def _apart(found: Mapping[int, tuple[str, ...]]) -> dict[int, tuple[str, ...]]:
    """Without the keywords that an earlier page has already."""
    taken: set[str] = set()
    apart = {}
    for page, keywords in found.items():
        apart[page] = tuple(word for word in keywords if word.casefold() not in taken)
        taken |= {word.casefold() for word in keywords}
    return apart


# ── both ──────────────────────────────────────────────────────────────────────────────────────────────


def _grounded(page: PageWords, keywords: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Those of which a word stands on the page, and why there are none."""
    said = {term for text in page.texts for term in terms(text)}
    kept = tuple(keyword for keyword in keywords if not said.isdisjoint(terms(keyword)))
    return kept, "no word of its keywords stands on the page" if keywords and not kept else ""


def _again(error: str) -> str:
    """What a second question says about the first answer."""
    if not error:
        return ""
    return f"\n\nYour last answer could not be used: {error}. Answer with the JSON object alone."


def _words(page: PageWords, most: int) -> str:
    text = "\n".join(page.texts)
    kept = clip(text, most)
    return kept if kept == text else f"{kept}…"
