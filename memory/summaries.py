"""The chain of summaries over a conversation: one of every ten turns, chapters by day and topic above them.

By rule a summary is extracted: the sentences that carry the rarest words which others take up, numbers, names and
decisions, as they were said, at most sixty tokens. A model's is taken only where its turns say so (condense.py).
Each names its turns; a question finds summaries, and they lead to the pages. Nothing here is remembered as a fact.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from memory.bookmarks import CHATTER, Corpus, PageWords, rarity
from memory.fact_events import Summary
from memory.finder import weighing
from memory.importance import CHANGE, MAY_GO, MUST_STAY
from memory.language import CHINESE_STOP, ENGLISH_STOP, is_cjk, sentences, surface_words, terms, zipf
from memory.losses import details
from memory.pages import Page
from memory.retrieval import Index
from memory.tokens import clip, count

if TYPE_CHECKING:
    from memory.settings import Settings

EVERY = 10  # turns
MOST_TOKENS = 60
CHAPTER = 10  # summaries in one at the most
TOPIC_WORDS = 2  # phrases
SAME_TOPIC = 0.05  # of the telling words of ten turns, that the ten before them held
LEAST_TOKENS = 8  # for a clipped sentence to be worth its place
LENGTH = 0.9  # power of a sentence's tokens that it must be worth; 1: nothing speaks for a long one

DECIDED = re.compile(
    r"\b(?:decid\w+|let['’]?s go with|we['’]?ll go with|agreed|settled on|booked|chose|will take|going with|signed"
    r"|confirmed)\b"
    r"|决定|就定|定了|选了|订了|预订|确认|同意|就这么",
    re.IGNORECASE,
)
SHARE = {"assistant": 0.5, "tool": 0.5}  # what a person says counts whole: the rest can be asked for again
TELLING = 4.5  # zipf below which a word tells a topic
_OPEN = re.compile(r"[\w”’\"')）》」]$")  # a sentence that lacks its mark
COMMON = 6.5  # zipf above which a word tells nothing


class Line(NamedTuple):
    """A turn as a summary reads it."""

    turn: int
    name: str
    words: str
    said_at: datetime
    role: str = "user"


class Extract(NamedTuple):
    text: str
    turns: tuple[int, ...]


# ── which turns ───────────────────────────────────────────────────────────────────────────────────────


def waiting(turns: int, known: Iterable[Summary], every: int = EVERY) -> list[tuple[int, int]]:
    """First and last turn of what has no summary yet: whole runs of `every` turns only.

    >>> waiting(34, [])
    [(1, 10), (11, 20), (21, 30)]
    """
    done = {(s.first, s.last) for s in known if s.level == 0 and not s.retired}
    spans = ((first, first + every - 1) for first in range(1, turns - every + 2, every))
    return [span for span in spans if span not in done]


# ── by rule ───────────────────────────────────────────────────────────────────────────────────────────


class _Sentence(NamedTuple):
    place: int
    turn: int
    name: str
    text: str
    weights: dict[str, float]  # of its words
    extra: float  # for numbers, names, decisions
    share: float  # by who says it
    tokens: int


def shorten(lines: Sequence[Line], most: int = MOST_TOKENS) -> Extract:
    """The sentences that say most of these turns, in their order, each speaker named once; () turns for small talk.

    >>> at = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
    >>> said = ["Hello!", "Hi, how can I help?", "We decided on Lisbon, and the budget is 8,000 euros."]
    >>> shorten([Line(n, "ana", words, at) for n, words in enumerate(said, 1)]).text
    'ana: We decided on Lisbon, and the budget is 8,000 euros.'
    """
    told = [s for s in _sentences(lines) if s.extra or s.weights]
    shared = Counter(word for s in told for word in s.weights)
    chosen: list[_Sentence] = []
    covered: set[str] = set()
    left = most
    while told:
        best = max(told, key=lambda s: (_worth(s, shared, covered), -s.place))
        told.remove(best)
        if _worth(best, shared, covered) <= 0:
            break
        fitting = best if best.tokens <= left else None if chosen else _clipped(best, left)
        if fitting is not None:
            chosen.append(fitting)
            covered |= fitting.weights.keys()
            left -= fitting.tokens
    chosen.sort(key=lambda s: s.place)
    return Extract(_joined(chosen), tuple(dict.fromkeys(s.turn for s in chosen)))


def _sentences(lines: Iterable[Line]) -> Iterator[_Sentence]:
    place = 0
    for line in lines:
        for start, end in sentences(line.words):
            text = " ".join(line.words[start:end].split())
            if MAY_GO.match(text):
                continue
            if _OPEN.search(text):
                text += "。" if is_cjk(text[-1]) else "."
            place += 1
            tokens = count(f"{line.name}: {text}")
            share = SHARE.get(line.role, 1.0)
            yield _Sentence(place, line.turn, line.name, text, _weights(text), _extra(text), share, tokens)


@lru_cache(maxsize=4_096)
def _weights(text: str) -> dict[str, float]:
    """Its words, each by how rare it is in its language."""
    found: dict[str, float] = {}
    for word in surface_words(text):
        plain = word.lower()
        if plain in ENGLISH_STOP or plain in CHATTER or plain in CHINESE_STOP or not word[0].isalnum():
            continue
        key = plain if is_cjk(plain) else " ".join(terms(plain))
        weight = COMMON - zipf(plain)
        if key and weight > 0:
            found[key] = weight
    return found


def _extra(text: str) -> float:
    """What a sentence is worth beside its words; a question tells nothing by itself."""
    figures = sum(1 for d in details(text) if d.kind in ("number", "date", "name", "denial"))
    marks = 6.0 * bool(DECIDED.search(text) or MUST_STAY.search(text)) + 4.0 * bool(CHANGE.search(text))
    asked = text.rstrip().endswith(("?", "？"))
    return (2.0 * min(figures, 4) + marks) * (0.3 if asked else 1.0)


def _worth(sentence: _Sentence, shared: Counter[str], covered: set[str]) -> float:
    """News only, by rarity, double where another sentence takes it up; long ones must say more."""
    fresh = sum(w * (2.0 if shared[word] > 1 else 1.0) for word, w in sentence.weights.items() if word not in covered)
    if not fresh:
        return 0.0
    return float(sentence.share * (fresh + sentence.extra) / max(sentence.tokens, LEAST_TOKENS) ** LENGTH)


def _clipped(sentence: _Sentence, room: int) -> _Sentence | None:
    """The beginning of a sentence that is too long by itself."""
    inner = room - count(f"{sentence.name}: ") - 2
    if inner < LEAST_TOKENS:
        return None
    return sentence._replace(text=clip(sentence.text, inner).rstrip() + "…", tokens=room)


def _joined(chosen: Sequence[_Sentence]) -> str:
    parts = []
    for name, said in groupby(chosen, key=lambda s: s.name):
        text = " ".join(s.text for s in said)
        parts.append(f"{name}: {text}" if name else text)
    return " ".join(parts)


# ── chapters ──────────────────────────────────────────────────────────────────────────────────────────


class Leaf(NamedTuple):
    """A summary of turns as chapters read it: with all of its turns' words."""

    summary: Summary
    lines: tuple[Line, ...]

    @property
    def told(self) -> tuple[Line, ...]:
        """The turns whose words stand in the summary."""
        return tuple(line for line in self.lines if line.turn in self.summary.turns)


class Chapter(NamedTuple):
    leaves: tuple[Leaf, ...]

    @property
    def of(self) -> tuple[int, ...]:
        return tuple(leaf.summary.id for leaf in self.leaves)

    @property
    def topic(self) -> str:
        said = PageWords(0, tuple(line.words for leaf in self.leaves for line in leaf.told))
        return ", ".join(rarity(said, Corpus())[:TOPIC_WORDS])


def chapters(leaves: Sequence[Leaf]) -> list[Chapter]:
    """Neighbours of one day and one topic together; the last one may still grow."""
    groups: list[list[Leaf]] = []
    for leaf in leaves:
        if groups and _belongs(groups[-1], leaf):
            groups[-1].append(leaf)
        else:
            groups.append([leaf])
    return [Chapter(tuple(group)) for group in groups]


def _belongs(group: Sequence[Leaf], leaf: Leaf) -> bool:
    if len(group) >= CHAPTER or group[0].summary.day != leaf.summary.day:
        return False
    mine, theirs = _telling(leaf), _telling(group[-1])
    return len(mine & theirs) >= SAME_TOPIC * min(len(mine), len(theirs))


def _telling(leaf: Leaf) -> frozenset[str]:
    said = "\n".join(line.words for line in leaf.lines)
    return frozenset(word for word, weight in _weights(said).items() if weight >= COMMON - TELLING)


def chapter_text(chapter: Chapter, most: int = MOST_TOKENS) -> Extract:
    """Its day and topic, and what says most of the turns that its summaries told of."""
    day, topic = chapter.leaves[0].summary.day, chapter.topic
    head = f"{day}, {topic}: " if topic else f"{day}: "
    body = shorten([line for leaf in chapter.leaves for line in leaf.told], most - count(head))
    return Extract(f"{head}{body.text}".rstrip(": "), body.turns)


# ── from summary to pages ─────────────────────────────────────────────────────────────────────────────


def pages_of(summary: Summary, pages: Iterable[Page]) -> tuple[int, ...]:
    """Numbers of the pages that hold its turns: first those whose words stand in it, then the others of its span."""
    spans = [(page.number, page.first, page.last) for page in pages if page.turns]
    told = [n for n, first, last in spans if any(first <= turn <= last for turn in summary.turns)]
    rest = [n for n, first, last in spans if first <= summary.last and summary.first <= last and n not in told]
    return (*told, *rest)


class SummaryFinder:
    """An index of one conversation's summaries, kept in step. A projection: dropped when words are erased."""

    def __init__(self, words: Callable[[int], str]) -> None:
        self._words = words
        self._index = Index()
        self._known: dict[int, Summary] = {}

    def take(self, summaries: Iterable[Summary]) -> None:
        for each in sorted(summaries, key=lambda s: s.id):
            if each.id not in self._known:
                self._index.add(each.id, each.id, self._words(each.text))
            self._known[each.id] = each

    def find(self, question: str, most: int, settings: Settings) -> list[Summary]:
        """Those that answer the question, best first; a chapter stands back where one of its own was found."""
        among = {number for number, each in self._known.items() if not each.retired}
        ranking = self._index.rank(question, None, most, among=among, weighing=weighing(settings))
        found = [self._known[hit.page] for hit in ranking.hits]
        under = {each.id for each in found}
        return [each for each in found if under.isdisjoint(each.of)]
