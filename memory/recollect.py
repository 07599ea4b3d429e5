"""Which facts belong into a prompt, and why not the others: the one ranker of pages (retrieval.py) over facts.

A user's hot facts (their name, how they want to be answered, what they marked) come unasked; others come where the
message asks for them. A fact whose own turn stands in the window is not said twice. Open conflicts come as pairs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memory.events import PlacedFact
from memory.facts import Candidate, Fact
from memory.finder import VectorSource, weighing
from memory.knowledge import Knowledge
from memory.language import UNKNOWN, alike, is_cjk, terms, zipf
from memory.retrieval import Hit, Index, Ranking, Vectors
from memory.settings import Settings
from memory.turns import Words

HOT = 0.8  # importance from which a standing fact comes unasked
HOT_MOST = 12  # facts
LINE_TOKENS = 14  # a fact's name, its date and the marks around it
MISSES = 50
NEAR_SHARE = 0.5  # of the words, for two texts to be compared as perhaps the same

Label = Callable[[Fact], str]


class FactFinder:
    """The index of one user's facts, kept in step with what is known. A projection: dropped when words are erased."""

    def __init__(self, words: Words, vectors: VectorSource | None = None) -> None:
        self._words = words
        self._vectors = vectors
        self._index = Index()
        self._seen = 0  # facts
        self._terms: dict[int, frozenset[str]] = {}
        self._holders: dict[str, set[int]] = {}
        self._without: dict[int, str] = {}  # facts whose vectors are not there yet
        self._news: tuple[str, int] = ("", 0)

    def take(self, k: Knowledge) -> None:
        """Facts that came since the last look."""
        for number in range(self._seen + 1, len(k.facts) + 1):
            fact = k.facts[number]
            text = self._words(fact.text)
            topic = " ".join(self._words(i) for i in (fact.attribute, fact.tags) if i)
            asked = ASKED_BY.get(self._words(fact.attribute), "") if fact.attribute else ""
            self._index.add(number, number, text, f"{topic} {asked} ")
            self._terms[number] = frozenset(terms(f"{text} {topic} {asked}"))
            for term in self._terms[number]:
                self._holders.setdefault(term, set()).add(number)
            self._without[number] = text
        self._seen = max(self._seen, len(k.facts))

    def near(self, k: Knowledge, candidate: Candidate) -> list[tuple[Fact, str]]:
        """Text-only facts that share half of their words with it, the nearest first."""
        self.take(k)
        mine = frozenset(terms(candidate.text))
        shared: dict[int, int] = {}
        for term in mine:
            for number in self._holders.get(term, ()):
                shared[number] = shared.get(number, 0) + 1
        near = [
            (n / len(mine | self._terms[number]), number)
            for number, n in shared.items()
            if not k.facts[number].key and n >= NEAR_SHARE * min(len(mine), len(self._terms[number]))
        ]
        return [(k.facts[number], self._words(k.facts[number].text)) for _, number in sorted(near, reverse=True)]

    def rank(self, k: Knowledge, question: str, most: int, settings: Settings, among: Collection[int]) -> Ranking:
        """All that shares anything with the question, the best first: `covers` says which answer it."""
        self.take(k)
        settings = settings.but(min_coverage=0, min_margin=0)
        self._take_vectors(k)
        vector = None if self._vectors is None or not len(self._index.vectors) else self._vectors.question(question)
        return self._index.rank(question, vector, most, among=among, weighing=weighing(settings))

    def covers(self, question: str, fact: int) -> float:
        """0..1: how much of what the question asks stands in the fact, by how rare its words are in the language.

        Not by how rare they are among these facts: of three facts about a budget each would say that it is common.
        """
        weights = asked_weights(question)
        held = self._terms[fact]
        total = sum(weights.values())
        return sum(w for term, w in weights.items() if any(alike(term, t) for t in held)) / total if total else 0.0

    def _take_vectors(self, k: Knowledge) -> None:
        if self._vectors is None:
            return
        news = self._vectors.newest()
        if news == self._news or not news[0]:
            return
        if news[0] != self._news[0] and self._news[0]:  # another embedder's cannot be compared with them
            self._index.vectors = Vectors()
            self._without = {n: self._words(f.text) for n, f in k.facts.items() if n <= self._seen}
        self._news = news
        known = self._vectors.known(list(self._without.values()))
        for number, text in list(self._without.items()):
            if text in known:
                self._index.put(number, number, known[text])
                del self._without[number]


COMMON = 7.0  # zipf of "the": such a word asks for nothing
LIGHT = 0.3  # what it counts all the same, and so does a pair of characters that is no word
_FUNCTION = frozenset("我你您他她它的了吗呢吧啊么什是哪谁几多少在有和")
_GENERIC = frozenset(
    terms("tell know remember recall say said please now again still exactly actually currently anything")
)

# How people ask for what an attribute holds, where they do not name it.
ASKED_BY = {
    "home city": "live lives living reside home 住 哪里 城市",
    "name": "called name 叫 名字",
    "age": "old 多大 几岁 岁数",
    "birthday": "born birthday 出生 生日",
    "job": "work living profession do 做什么 工作 职业",
    "employer": "work company employer job 公司 工作",
    "likes": "enjoy enjoys love loves favourite favorite like 喜欢 爱好 爱吃",
    "allergy": "allergic allergy allergies eat avoid 过敏 忌口",
    "diet": "eat food diet vegetarian 吃 饮食",
    "moving day": "move moving date when 搬家",
    "phone number": "call reach phone 电话 联系",
}


def asked_weights(question: str) -> dict[str, float]:
    """What a question asks for: its terms, the rarer in the language the heavier."""
    weights: dict[str, float] = {}
    for word in _WORD.findall(question.casefold()):
        for term in terms(word):
            if term in _GENERIC or (is_cjk(term) and _FUNCTION & set(term)):
                continue
            known = zipf(term if is_cjk(term) else word)
            no_word = is_cjk(term) and known == UNKNOWN
            weights[term] = LIGHT if no_word else max(LIGHT, COMMON - known)
    return weights


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Recollection:
    """Facts that a question found, best first, and those that it did not, each with the reason."""

    found: tuple[Fact, ...]
    hits: tuple[Hit, ...]
    misses: tuple[Hit, ...]
    note: str = ""
    thresholds: dict[str, float] = field(default_factory=dict)


def recollect(
    finder: FactFinder, k: Knowledge, question: str, most: int, settings: Settings, *, conversation: str | None = None,
    valid: datetime | None = None, recorded: datetime | None = None, layers: Collection[str] = (),
) -> Recollection:  # fmt: skip
    """The facts that answer `question`; those of `valid` time, as known at `recorded` (None: now)."""
    pool = [f for f in k.readable(conversation) if not layers or f.layer in layers]
    if valid is None and recorded is None:
        pool = [f for f in pool if f.open and f.state in ("active", "conflicted")]
    elif valid is not None:
        pool = [f for f in pool if f.holds(valid, recorded)]
    else:
        pool = [f for f in pool if any(b.known(recorded) for b in f.beliefs)]  # type: ignore[arg-type]
    ranking = finder.rank(k, question, len(pool), settings, {f.id for f in pool})
    hits: list[Hit] = []
    misses: list[Hit] = []
    for hit in ranking.hits:
        share = finder.covers(question, hit.page)
        if share < settings.facts_coverage:
            told = f"it covers {share:.2f} of what is asked (facts_coverage {settings.facts_coverage:g})"
            misses.append(replace(hit, stage="threshold", dropped=told))
        elif len(hits) == most:
            misses.append(replace(hit, stage="rank", dropped=f"only the best {most} come (facts_k)"))
        else:
            hits.append(hit)
    note = ranking.note if hits or not misses else "nothing that is remembered answers it"
    found = tuple(k.facts[hit.page] for hit in hits)
    thresholds = {**ranking.thresholds, "facts_coverage": settings.facts_coverage}
    left = (*misses, *ranking.misses)[:MISSES]
    return Recollection(_by_layer(found), tuple(hits), left, note, thresholds)


def _by_layer(found: Iterable[Fact]) -> tuple[Fact, ...]:
    """What stands comes before what happened, in the order of their scores otherwise."""
    order = {"semantic": 0, "episodic": 1, "working": 2}
    return tuple(sorted(found, key=lambda f: order[f.layer]))


# ── a prompt's facts ──────────────────────────────────────────────────────────────────────────────────


def choose(
    k: Knowledge, found: Recollection, room: int, present: Callable[[Fact], bool], conversation: str
) -> list[PlacedFact]:
    """The facts for the prompt, in their order, and those left out with the stage that dropped them.

    `room` tokens may be taken; `present` says whether a fact's own turn stands in the window.
    """
    wanted = [*_hot(k, conversation), *_matching(k, found)]
    pairs = [_side(k, n) for c in k.open_conflicts for n in c.facts if _touches(c.facts, wanted)]
    placed: list[PlacedFact] = []
    for each in _once([*pairs, *wanted]):
        fact = k.facts[each.fact]
        tokens = fact.tokens + LINE_TOKENS
        if each.why != "conflict" and present(fact):
            placed.append(replace(each, tokens=tokens, stage="window", dropped="its own turn stands in the window"))
        elif tokens > room:
            placed.append(replace(each, tokens=tokens, stage="budget", dropped=f"{tokens} tokens; {room} are left"))
        else:
            room -= tokens
            placed.append(replace(each, tokens=tokens))
    misses = [PlacedFact(h.page, "match", h.score, stage=h.stage, dropped=h.dropped) for h in found.misses]
    known = {p.fact for p in placed}
    return [*placed, *(m for m in misses if m.fact not in known)]


def _hot(k: Knowledge, conversation: str) -> list[PlacedFact]:
    standing = [
        f for f in k.readable(conversation)
        if f.open and f.state == "active" and f.importance >= HOT and f.layer != "episodic"
    ]  # fmt: skip
    best = sorted(standing, key=lambda f: (-f.importance, -f.id))[:HOT_MOST]
    return [PlacedFact(f.id, "hot", f.importance) for f in best]


def _matching(k: Knowledge, found: Recollection) -> list[PlacedFact]:
    scores = {hit.page: hit.score for hit in found.hits}
    return [PlacedFact(f.id, "match", scores[f.id]) for f in found.found]


def _touches(facts: Sequence[int], wanted: Sequence[PlacedFact]) -> bool:
    return any(each.fact in facts for each in wanted)


def _side(k: Knowledge, fact: int) -> PlacedFact:
    return PlacedFact(fact, "conflict", k.facts[fact].importance)


def _once(placed: Iterable[PlacedFact]) -> list[PlacedFact]:
    return list({each.fact: each for each in reversed(list(placed))}.values())[::-1]
