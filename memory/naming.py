"""What stays behind of a page: its bookmark, by rule, by a model or by a person, and its summary.

Works on a pager's state; which keywords a rule makes of a page's words is bookmarks.py's, a summary gist.py's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memory import gist, tokens
from memory.bookmarks import BY_MODEL, ENDLESS, LONGEST_CHOSEN, MOST, PageWords, describe, made, stands, stub, tidy
from memory.errors import BadMessage, NotFound
from memory.events import BookmarkMade, Event, PageSummarised
from memory.pages import Bookmark, Gist, Page
from memory.redaction import clean

if TYPE_CHECKING:
    from memory.pager import Pager

CHOSEN = "model"  # origin of a bookmark that the model made by itself, in the conversation
EDITED = "edited"  # of one whose keywords or weight a person set
MARKED_WEIGHT = 2.0
HEAVIEST = 10.0  # weight of a bookmark that a person set


# ── bookmarks ─────────────────────────────────────────────────────────────────────────────────────────


def bookmark(pager: Pager, page: Page) -> None:
    """Make the page's bookmark from its words; a marked page's weighs double and is the user's own."""
    corpus = pager.corpus
    page_words = PageWords(page.number, pager.texts(page))
    corpus.add(page_words)
    marked = [turn for turn in page.turns if pager.counts_as_marked(turn)]
    source = PageWords(page.number, tuple(t.words(pager.journal.words) for t in marked)) if marked else page_words
    make = pager.strategies.keywords
    keywords = made(make, source, corpus) or made(make, page_words, corpus)
    origin = "user" if marked else _origin(pager)
    give(pager, page, keywords, origin, MARKED_WEIGHT if marked else 1.0)


def give(pager: Pager, page: Page, keywords: Sequence[str], origin: str, weight: float = 1.0) -> None:
    """Give the page these keywords; none leave a bare `[p7]`."""
    text = stub(page.number, keywords, pager.state.settings.stub_tokens)
    write = pager.journal.write
    pager.shelve(page.number, ",".join(keywords))
    pager.add(
        BookmarkMade(
            page.number,
            Bookmark(
                stub=write(text),
                keywords=write(",".join(keywords)) if keywords else 0,
                description=write(_described(pager, page)),
                tokens=tokens.count(text),
                origin=origin,
                weight=weight,
                made_at=pager.state.step,
            ),
        )
    )


def keywords_of(pager: Pager, page: Page) -> tuple[str, ...]:
    """Those of its bookmark; () without any."""
    held = page.bookmark.keywords if page.bookmark else 0
    return tuple(pager.journal.words(held).split(",")) if held else ()


def edit(pager: Pager, number: int, keywords: Sequence[str] | None = None, weight: float | None = None) -> Bookmark:
    """What a person says that a page is remembered by; what is None stays. No rule and no model replaces it.

    No keywords at all leave a bare `[p7]`. Raises BadMessage for what would not stand in the stub as it was given.
    """
    page = _page(pager, number)
    wanted = keywords_of(pager, page) if keywords is None else _fit(pager, page, keywords)
    held = page.bookmark.weight if page.bookmark else 1.0
    heavy = held if weight is None else weight
    if not 0 <= heavy <= HEAVIEST:
        raise BadMessage(f"a bookmark weighs 0 to {HEAVIEST:g}, and {heavy!r} is not between them")
    give(pager, page, wanted, EDITED, float(heavy))
    return _made(pager, number)


def restore(pager: Pager, number: int, before: Bookmark | None) -> Bookmark:
    """The bookmark that a page had before a person edited it; a rule's where it had none."""
    page = _page(pager, number)
    if before is None:
        bookmark(pager, page)
    else:
        pager.shelve(number, pager.journal.words(before.keywords) if before.keywords else "")
        pager.add(BookmarkMade(number, before))
    return _made(pager, number)


def _page(pager: Pager, number: int) -> Page:
    if number not in pager.state.pages:
        raise NotFound(f"no page p{number}; pages go from p1 to p{len(pager.state.pages)}")
    return pager.state.pages[number]


def _made(pager: Pager, number: int) -> Bookmark:
    mark = pager.state.pages[number].bookmark
    assert mark is not None  # made a moment ago
    return mark


def _fit(pager: Pager, page: Page, keywords: Sequence[str]) -> tuple[str, ...]:
    """The keywords without secrets, each as it will stand in the stub."""
    kept = [pager.redactor(clean(keyword))[0] for keyword in keywords]
    for keyword in kept:
        if not tidy([keyword]):
            raise BadMessage(f"{keyword!r} is no keyword: it needs a word, and at most {LONGEST_CHOSEN} characters")
    wanted = tidy(kept, most=len(kept))
    if len(wanted) > MOST:
        raise BadMessage(f"{len(wanted)} keywords are too many for {page.name}: a bookmark holds {MOST}")
    most = pager.state.settings.stub_tokens
    if not stands(page.number, wanted, most):
        whole = stub(page.number, wanted, ENDLESS)
        raise BadMessage(f"{whole} has {tokens.count(whole)} tokens, and a stub may have {most}: take fewer words")
    return wanted


def _described(pager: Pager, page: Page) -> str:
    """A sentence of the user's own, if there is one: what an assistant says of it comes second."""
    own = [turn.words(pager.journal.words) for turn in page.turns if turn.role == "user"]
    return describe(own) or describe(pager.texts(page))


def _origin(pager: Pager) -> str:
    name = pager.state.settings.bookmarks
    return "custom" if pager.generator is not None else BY_MODEL.get(name, name)


def before_edit(events: Iterable[Event], page: int) -> Bookmark | None:
    """The bookmark that a page had before a person edited it last; None where it had none.

    An edit that was taken back counts no more. Raises BadMessage where there is none to take back.
    """
    kept: list[Bookmark] = []
    for event in events:
        if isinstance(event.body, BookmarkMade) and event.body.page == page:
            mark = event.body.bookmark
            if len(kept) > 1 and mark == kept[-2] and kept[-1].origin == EDITED:
                kept.pop()
            else:
                kept.append(mark)
    if not kept or kept[-1].origin != EDITED:
        raise BadMessage(f"nobody edited the bookmark of p{page}: there is nothing to take back")
    return kept[-2] if len(kept) > 1 else None


# ── summaries ─────────────────────────────────────────────────────────────────────────────────────────


def summary(pager: Pager, page: Page) -> str:
    """The page in a line: its summary, else its most telling sentence; and its keywords."""
    words = pager.journal.words
    if page.gist is not None:
        told = " ".join(words(page.gist.text).split())
    else:
        told = words(page.bookmark.description) if page.bookmark else _described(pager, page)
    keywords = keywords_of(pager, page)
    return f"{told} [{','.join(keywords)}]" if keywords else told


def summarised(pager: Pager, page: Page) -> Page:
    """With its summary, made by rule if it has none."""
    if page.gist is None:
        turns = [(turn.role == "user", turn.words(pager.journal.words)) for turn in page.turns]
        summarise_as(pager, page, gist.extract(turns, keywords_of(pager, page)), "extract")
    return pager.state.pages[page.number]


def summarise_as(pager: Pager, page: Page, text: str, origin: str) -> None:
    """Give the page this summary."""
    said = pager.journal.write(text)
    pager.add(PageSummarised(page.number, Gist(said, tokens.count(text), origin, pager.state.step)))


def spoken(pager: Pager, page: Page) -> PageWords:
    """The page's words, a text a turn, who says it in front."""
    return PageWords(page.number, tuple(f"{t.name}: {t.words(pager.journal.words)}" for t in page.turns))
