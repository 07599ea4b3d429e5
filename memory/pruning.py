"""Bookmarks that were of no use: which are dead, taking them, giving them back.

The page stays, with its bare name in the window, and is found by its words as before. A marked page's bookmark, one
that a person or the model chose, and one that a message matched are never dead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from memory.bookmarks import stub
from memory.fact_events import Pruned
from memory.naming import CHOSEN, EDITED
from memory.pages import Bookmark, Page
from memory.state import State
from memory.tokens import count
from memory.turns import Words

ORIGIN = "pruned"  # of the bare bookmark that stays
KEPT = ("user", CHOSEN, EDITED, ORIGIN)
MARKED = 0.9  # importance of a page that somebody asked to remember


def dead(
    state: State, conversation: str, words: Words, steps: int, hit: Callable[[int], bool]
) -> Iterator[tuple[Pruned, str]]:
    """Bookmarks of pages that left `steps` steps ago or more and were never wanted since, with their keywords.

    `hit`: whether a search ever found the page.
    """
    for page in state.pages.values():
        bookmark = page.bookmark
        if bookmark is None or not bookmark.keywords or bookmark.origin in KEPT or page.importance >= MARKED:
            continue
        if _never_wanted(page, state, steps) and not hit(page.number):
            yield Pruned(conversation, page.number, bookmark), words(bookmark.keywords)


def _never_wanted(page: Page, state: State, steps: int) -> bool:
    gone = page.left_at and page.number not in state.resident
    return bool(gone) and state.step - page.left_at >= steps and not page.faults


def bare(page: int, old: Bookmark, write: Callable[[str], int], step: int) -> Bookmark:
    """What stays: the page's name."""
    text = stub(page, ())
    return Bookmark(write(text), 0, old.description, count(text), ORIGIN, made_at=step)
