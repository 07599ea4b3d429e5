"""Which pages their bookmarks confuse, told before any model runs: every page is asked for with its own sentences.

A sentence of a page is a question whose answer is known. The bookmarks rank the pages for it as retrieval does by
bookmark (shelf.py); the page's own keywords count only by words that another of its sentences says as well, for the
sentence that a keyword was taken from would always find it. The share of sentences that find their page is the
*predicted hit ratio* at 1. It compares bookmarks with each other and is no forecast: most of what is said asks nothing.

Measured on LoCoMo, pages of ten turns, keywords by `rarity`: predicted .24 (n = 11,821 sentences) where labelled
questions find .32 (n = 1,982); over the 401 pages with three such questions or more the two correlate with .34.
Taking every suggestion for the 40 worst pairs of each conversation (145) raises the prediction to .25 and leaves the
labelled questions where they were, .32: a suggestion is a hint for a person who knows what will be asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from memory import show
from memory.bookmarks import MOST, STUB_TOKENS, Corpus, PageWords, stands, telling, tidy
from memory.language import sentences, terms
from memory.shelf import Shelf
from memory.show import Shown

FEWEST_TERMS = 3  # of a sentence that asks for anything
PAIRS = 12  # the worst, listed
TRIED = 12  # phrases of a page, for one that tells it from another
PAGES = 200  # compared at once; the newest

Sentence = tuple[str, ...]  # its terms, each once


@dataclass(frozen=True, slots=True)
class Marked:
    """A page and the keywords that stand for it."""

    page: int
    keywords: tuple[str, ...]
    texts: tuple[str, ...]  # one per turn


@dataclass(frozen=True, slots=True)
class Outlook:
    """What came of a page's own sentences."""

    page: int
    sentences: int
    found: int  # this page ranked first
    silent: int  # no bookmark holds a word of it
    taken: tuple[tuple[int, int], ...] = ()  # (page, sentences for which that one ranked first), most first

    @property
    def hit_ratio(self) -> float:
        """0..1, predicted; 0 without sentences."""
        return self.found / self.sentences if self.sentences else 0.0


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One more keyword for `page`, and what the prediction becomes with it."""

    page: int
    keyword: str
    keywords: tuple[str, ...]  # all that it would have
    dropped: tuple[str, ...]  # that no longer fit the stub
    before: float  # predicted hit ratio of the page, 0..1
    after: float
    all_before: float  # of all pages
    all_after: float


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pages that take sentences from each other; `page` loses the more."""

    page: int
    other: int
    lost: int  # sentences of `page` for which `other` ranked first
    back: int  # the other way round
    shared: tuple[str, ...]  # keywords of `page` that share a word with one of `other`
    suggestion: Suggestion | None = None  # None: no phrase of the page makes it better


@dataclass(frozen=True)
class Confusion(Shown):
    outlooks: tuple[Outlook, ...]  # by page
    pairs: tuple[Pair, ...]  # the worst first
    left_out: int = 0  # older pages, beyond those compared

    @property
    def sentences(self) -> int:
        return sum(each.sentences for each in self.outlooks)

    @property
    def hit_ratio(self) -> float:
        """0..1, predicted, over all sentences."""
        return _ratio(self.outlooks)

    @property
    def taken_ratio(self) -> float:
        """The share for which another page ranked first."""
        lost = sum(each.sentences - each.found - each.silent for each in self.outlooks)
        return lost / self.sentences if self.sentences else 0.0

    def of(self, page: int) -> Outlook | None:
        return next((each for each in self.outlooks if each.page == page), None)

    def __repr__(self) -> str:
        return f"<Confusion of {len(self.outlooks)} pages: predicted hit@1 {self.hit_ratio:.2f}, n={self.sentences}>"

    def _html(self) -> str:
        body = [[f"p{p.page}", f"p{p.other}", p.lost, ", ".join(p.shared), *_advice(p.suggestion)] for p in self.pairs]
        head = ["page", "loses to", "sentences", "shared", "keyword that tells them apart", "predicted hit@1"]
        return f"<code>{show.text(repr(self))}</code>" + show.table(head, body)

    def to_dict(self) -> dict[str, Any]:
        return {"hit_ratio": self.hit_ratio, "taken_ratio": self.taken_ratio, "sentences": self.sentences,
                **asdict(self)}  # fmt: skip

    def to_df(self) -> Any:
        """One row a pair."""
        import pandas as pd

        return pd.DataFrame([asdict(pair) for pair in self.pairs])


def confusion(
    pages: Sequence[Marked], most: int = PAIRS, stub_tokens: int = STUB_TOKENS, at_once: int = PAGES
) -> Confusion:
    """The outlook of each page and the `most` worst pairs, each with the keyword that helps best.

    >>> pages = [
    ...     Marked(1, ("Lisbon",), ("The trip goes to Lisbon by night train. The train to Lisbon is booked.",)),
    ...     Marked(2, ("trip",), ("The trip goes to Oslo by ferry at noon. The ferry to Oslo is full.",)),
    ... ]
    >>> [(each.page, each.found, each.sentences) for each in confusion(pages).outlooks]
    [(1, 1, 2), (2, 0, 2)]
    """
    kept = sorted(pages, key=lambda each: each.page)[-at_once:]
    tried = _Tried(kept, stub_tokens)
    outlooks = tuple(tried.outlook(each.page) for each in kept)
    pairs = tuple(tried.told(pair, outlooks) for pair in tried.pairs(outlooks)[:most])
    return Confusion(outlooks, pairs, len(pages) - len(kept))


def with_keyword(
    page: int, keywords: Sequence[str], new: str, stub_tokens: int = STUB_TOKENS
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keywords with one more, and those that had to go for it, the last ones, so that all stand in the stub."""
    kept = list(keywords)[: MOST - 1]
    while kept and not stands(page, [*kept, new], stub_tokens):
        kept.pop()
    return (*kept, new), tuple(keywords)[len(kept) :]


@dataclass
class _Tried:
    """The pages under comparison; a keyword is tried by putting it on the shelf, and taken down again."""

    pages: Sequence[Marked]
    stub_tokens: int
    shelf: Shelf = field(default_factory=Shelf)
    corpus: Corpus = field(default_factory=Corpus)
    said: dict[int, list[Sentence]] = field(default_factory=dict)  # by page
    often: dict[int, Counter[str]] = field(default_factory=dict)  # by page: in how many of its sentences a term stands
    firsts: dict[int, list[int]] = field(default_factory=dict)  # by page: who ranks first for each of its sentences

    @property
    def every(self) -> set[str]:
        return {term for said in self.said.values() for sentence in said for term in sentence}

    def __post_init__(self) -> None:
        self.by_page = {each.page: each for each in self.pages}
        for each in self.pages:
            said = [tuple(dict.fromkeys(terms(line))) for line in _sentences(each.texts)]
            self.often[each.page] = Counter(term for sentence in said for term in sentence)
            self.said[each.page] = [sentence for sentence in said if len(sentence) >= FEWEST_TERMS]
            self.shelf.put(each.page, ",".join(each.keywords))
            self.corpus.add(PageWords(each.page, each.texts))
        for number, sentences_ in self.said.items():
            self.firsts[number] = [self.first(number, sentence) for sentence in sentences_]

    def first(self, page: int, sentence: Sentence) -> int:
        """The page that ranks first for a sentence of `page`, of equal ones the newest; 0: none holds a word of it."""
        fits = self.shelf.fits(sentence)
        if page in fits:
            once = [term for term in sentence if self.often[page][term] < 2]
            fits[page] -= sum(self.shelf.idf(term) for term in once if page in self.shelf.holders(term))
        best = max(fits, key=lambda number: (round(fits[number], 9), number), default=0)
        return best if best and fits[best] > 1e-9 else 0

    def outlook(self, page: int, changed: frozenset[str] = frozenset()) -> Outlook:
        """As it was; with `changed` terms on the shelf, asked again with the sentences that say one."""
        known = zip(self.said[page], self.firsts[page], strict=True)
        firsts = Counter(old if changed.isdisjoint(sentence) else self.first(page, sentence) for sentence, old in known)
        others = sorted(((n, lost) for n, lost in firsts.items() if n not in (0, page)), key=lambda o: (-o[1], o[0]))
        return Outlook(page, len(self.said[page]), firsts[page], firsts[0], tuple(others))

    def pairs(self, outlooks: Iterable[Outlook]) -> list[Pair]:
        lost = {(each.page, other): n for each in outlooks for other, n in each.taken}
        worst = {}
        for (page, other), n in lost.items():
            back = lost.get((other, page), 0)
            if (n, page) >= (back, other):  # each pair once, from the side that loses more
                worst[page, other] = Pair(page, other, n, back, ())
        return sorted(worst.values(), key=lambda p: (-p.lost - p.back, -p.lost, p.page, p.other))

    def _shared(self, page: int, other: int) -> tuple[str, ...]:
        others = set(terms(",".join(self.by_page[other].keywords)))
        return tuple(keyword for keyword in self.by_page[page].keywords if not others.isdisjoint(terms(keyword)))

    def told(self, pair: Pair, outlooks: Sequence[Outlook]) -> Pair:
        """With what the two share and what tells them apart: asked of the few that are shown."""
        return replace(pair, shared=self._shared(pair.page, pair.other), suggestion=self._suggestion(pair, outlooks))

    def _suggestion(self, pair: Pair, outlooks: Sequence[Outlook]) -> Suggestion | None:
        """The phrase of the page, with no word of the other page, with which most of its sentences find it."""
        own, elsewhere = self.by_page[pair.page], self.often[pair.other]
        before = next(each for each in outlooks if each.page == pair.page)
        best, most = None, before.found
        for phrase in telling(PageWords(own.page, own.texts), self.corpus, TRIED):
            if not any(term in elsewhere for term in terms(phrase)) and phrase not in own.keywords and tidy([phrase]):
                keywords, dropped = with_keyword(own.page, own.keywords, phrase, self.stub_tokens)
                self.shelf.put(own.page, ",".join(keywords))
                if (found := self.outlook(own.page, self._changed(own, keywords)).found) > most:
                    best, most = (phrase, keywords, dropped), found
        self.shelf.put(own.page, ",".join(own.keywords))
        return self._worked_out(best, before, outlooks) if best else None

    def _changed(self, page: Marked, keywords: Sequence[str]) -> frozenset[str]:
        """Terms whose weight is another with these keywords: those gone, those new; all where the page had none."""
        old = terms(",".join(page.keywords))
        return frozenset(old) ^ frozenset(terms(",".join(keywords))) if old else frozenset(self.every)

    def _worked_out(
        self, found: tuple[str, tuple[str, ...], tuple[str, ...]], before: Outlook, outlooks: Sequence[Outlook]
    ) -> Suggestion:
        """With what it does to all pages: a word that helps one may take sentences from another."""
        phrase, keywords, dropped = found
        self.shelf.put(before.page, ",".join(keywords))
        changed = self._changed(self.by_page[before.page], keywords)
        after = [self.outlook(each.page, changed) for each in outlooks]
        own = next(each for each in after if each.page == before.page)
        self.shelf.put(before.page, ",".join(self.by_page[before.page].keywords))
        return Suggestion(
            before.page, phrase, keywords, dropped, before.hit_ratio, own.hit_ratio, _ratio(outlooks), _ratio(after)
        )


def _advice(told: Suggestion | None) -> tuple[str, str]:
    return (told.keyword, f"{told.before:.2f} → {told.after:.2f}") if told else ("", "")


def _ratio(outlooks: Iterable[Outlook]) -> float:
    known = list(outlooks)
    asked = sum(each.sentences for each in known)
    return sum(each.found for each in known) / asked if asked else 0.0


def _sentences(texts: Iterable[str]) -> Iterable[str]:
    return (text[start:end] for text in texts for start, end in sentences(text))
