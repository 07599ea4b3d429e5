"""A page: consecutive turns that close together, leave together and come back together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from memory.turns import MESSAGE_TOKENS, Turn

GUEST_TOKENS = 22 + MESSAGE_TOKENS  # the frame around a recalled page
GUEST_TURN_TOKENS = 13  # `turn 21 · assistant · 2026-03-02:`, in place of a message's own frame
GIST_TOKENS = 24 + MESSAGE_TOKENS  # the frame around a page's summary
PART_TOKENS = 40  # the marks of what is left out before and after a part
TEXT, SUMMARY, PART = "text", "summary", "part"  # what of a page comes back
NAME_LENGTH = 24  # characters of a speaker's name in it
HALF_LIFE_STEPS = 20  # after so many steps without use a page's heat has halved


def guest_tokens(turns: Iterable[Turn]) -> int:
    """What a page with these turns takes when it is recalled."""
    return GUEST_TOKENS + sum(t.tokens + GUEST_TURN_TOKENS + len(t.speaker[:NAME_LENGTH].encode()) // 3 for t in turns)


def turns_between(turns: Iterable[Turn], part: tuple[int, int]) -> tuple[Turn, ...]:
    """Those of a part, given by its first and last turn."""
    return tuple(turn for turn in turns if part[0] <= turn.number <= part[1])


@dataclass(frozen=True, slots=True)
class Bookmark:
    """What stays in the window in place of a page that left."""

    stub: int  # id of the text `[p3:allergy,peanut,budget]`
    keywords: int  # id of the comma-separated keywords; 0: none, a bare `[p7]`
    description: int  # id of one readable sentence
    tokens: int  # of the stub
    origin: str  # the generator's name; user: of a marked message; model, edited: chosen by one, by a person
    weight: float = 1.0
    made_at: int = 0  # step


@dataclass(frozen=True, slots=True)
class Gist:
    """A page in a sentence or two."""

    text: int  # id of the words
    tokens: int
    origin: str  # extract, or llm
    made_at: int = 0  # step


@dataclass(frozen=True)  # no slots: the fold copies pages by their dict (state.changed)
class Page:
    """Steps are the page's clock: `loaded_at`, `used_at` and `left_at` are step numbers."""

    number: int  # from 1, within the conversation
    turns: tuple[Turn, ...] = ()
    tokens: int = 0
    closed: bool = False
    boundary: str = ""  # the rule that closed it
    importance: float = 0.5  # 0..1
    why_important: str = ""
    bookmark: Bookmark | None = None
    loaded_at: int = 0
    used_at: int = 0
    hits: int = 0  # accesses since it was begun
    heat: float = 1.0  # recency and frequency in one number, as of `used_at`
    left_at: int = 0  # step of the last eviction; 0: never
    faults: int = 0
    guest_until: int = 0  # last step it stays as a recalled guest; 0: no guest
    guest_as: str = ""  # what of it came back: text, summary, or part
    gist: Gist | None = None
    part: tuple[int, int] = (0, 0)  # first and last turn of the part that came back

    @property
    def guest_tokens(self) -> int:
        """What it takes as the guest that it is."""
        if self.guest_as == SUMMARY and self.gist:
            return GIST_TOKENS + self.gist.tokens
        return guest_tokens(self.standing) + (PART_TOKENS if self.guest_as == PART else 0)

    @property
    def standing(self) -> tuple[Turn, ...]:
        """The turns that stand in the window where it does, word for word or in its summary: all, but of a part."""
        return turns_between(self.turns, self.part) if self.guest_as == PART else self.turns

    @property
    def first(self) -> int:
        return self.turns[0].number

    @property
    def last(self) -> int:
        return self.turns[-1].number

    @property
    def name(self) -> str:
        return f"p{self.number}"

    def heat_at(self, step: int) -> float:
        return float(self.heat * 0.5 ** (max(0, step - self.used_at) / HALF_LIFE_STEPS))


CHUNK = 32  # pages that a change copies


class PageTable:
    """The pages of a conversation by number, from 1 without gaps; never changed, `put` makes another one.

    Two tables share the chunks in which they do not differ: an event costs the same after ten thousand pages as after
    ten, and whoever looks for what changed passes over whole chunks.

    >>> table = PageTable.of([Page(1), Page(2)])
    >>> len(table), table[2].name, 3 in table
    (2, 'p2', False)
    >>> table.put(Page(2, tokens=9))[2].tokens, table[2].tokens
    (9, 0)
    """

    __slots__ = ("_length", "chunks")

    def __init__(self, chunks: tuple[tuple[Page, ...], ...] = (), length: int = 0) -> None:
        self.chunks = chunks  # all but the last are full
        self._length = length

    @classmethod
    def of(cls, pages: Iterable[Page]) -> PageTable:
        return cls().put(*pages)

    def put(self, *pages: Page) -> PageTable:
        """With these in place of those with their numbers, or at the end. Raises ValueError where one is left out."""
        chunks, length = list(self.chunks), self._length
        for page in pages:
            place, within = divmod(page.number - 1, CHUNK)
            if not 0 < page.number <= length + 1:
                raise ValueError(f"page {page.number} cannot follow page {length}")
            if place == len(chunks):
                chunks.append((page,))
            else:
                old = chunks[place]
                chunks[place] = (*old[:within], page, *old[within + 1 :])
            length = max(length, page.number)
        return PageTable(tuple(chunks), length)

    def __getitem__(self, number: int) -> Page:
        if 0 < number <= self._length:
            return self.chunks[(number - 1) // CHUNK][(number - 1) % CHUNK]
        raise KeyError(number)

    def get(self, number: int) -> Page | None:
        return self[number] if 0 < number <= self._length else None

    def those(self, numbers: Iterable[int]) -> list[Page]:
        """The pages with these numbers, which are in the table: many at once, for each step asks several times."""
        chunks = self.chunks
        return [chunks[(n - 1) // CHUNK][(n - 1) % CHUNK] for n in numbers]

    def __len__(self) -> int:
        return self._length

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and 0 < number <= self._length

    def __iter__(self) -> Iterator[int]:
        return iter(range(1, self._length + 1))

    def values(self) -> list[Page]:
        return list(chain.from_iterable(self.chunks))

    def __eq__(self, other: object) -> bool:
        return self.chunks == other.chunks if isinstance(other, PageTable) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.chunks)

    def __repr__(self) -> str:
        return f"PageTable.of([{', '.join(map(repr, self.values()))}])"
