"""Which bookmarks are dead: of no use for long, and nobody's choice; what stays is the page's bare name."""

from dataclasses import replace

import pytest

from memory.naming import CHOSEN
from memory.pages import Bookmark, Page, PageTable
from memory.pruning import MARKED, ORIGIN, bare, dead
from memory.state import State
from memory.turns import Turn
from tests.memory.conftest import START

GONE = Page(
    1, (Turn(1, "user", 1, 10, START),), closed=True, left_at=10,
    bookmark=Bookmark(stub=1, keywords=2, description=3, tokens=9, origin="rarity"),
)  # fmt: skip
WORDS = {1: "[p1:river,piano]", 2: "river,piano"}.__getitem__


def found(page: Page, *, step: int = 110, resident: tuple[int, ...] = (), hit: bool = False) -> list[int]:
    state = State(step=step, pages=PageTable.of([page]), resident=resident)
    return [pruned.page for pruned, _ in dead(state, "trip", WORDS, 100, lambda number: hit)]


def marked(**changed: object) -> Page:
    assert GONE.bookmark
    return replace(GONE, bookmark=replace(GONE.bookmark, **changed))


def test_a_page_that_left_long_ago_and_was_never_wanted_has_a_dead_bookmark():
    state = State(step=110, pages=PageTable.of([GONE]))
    ((pruned, keywords),) = dead(state, "trip", WORDS, 100, lambda number: False)
    assert (pruned.conversation, pruned.page, pruned.bookmark, keywords) == ("trip", 1, GONE.bookmark, "river,piano")


@pytest.mark.parametrize(
    ("page", "how"),
    [
        (GONE, {"step": 109}),  # not long enough
        (GONE, {"resident": (1,)}),  # it is back
        (GONE, {"hit": True}),  # a search found it
        (replace(GONE, faults=1), {}),
        (replace(GONE, left_at=0), {}),
        (replace(GONE, importance=MARKED), {}),
        (replace(GONE, bookmark=None), {}),
        (marked(keywords=0), {}),
        (marked(origin="user"), {}),
        (marked(origin=CHOSEN), {}),
        (marked(origin=ORIGIN), {}),
    ],
)
def test_whatever_speaks_for_it_keeps_it(page: Page, how: dict):
    assert found(page, **how) == []


def test_what_stays_is_the_bare_name_and_costs_less():
    assert GONE.bookmark
    written: list[str] = []
    kept = bare(1, GONE.bookmark, lambda text: written.append(text) or 7, step=110)
    assert written == ["[p1]"]
    assert (kept.stub, kept.keywords, kept.description, kept.origin, kept.made_at) == (7, 0, 3, ORIGIN, 110)
    assert kept.tokens < GONE.bookmark.tokens
    assert found(replace(GONE, bookmark=kept)) == []
