"""What stays in the window in place of a page: a few keywords, and the stub that carries them.

A generator reads one page and what the other pages hold, and returns 2-5 keywords, or none: "nothing here is worth
a keyword" is an answer. No model is asked here (keywords.py asks one, later). Stubs follow the paging preprint (arXiv
2604.12376, withdrawn), which found that short stubs beat rich ones: a rich one looks sufficient and stops the recall.

Measured on LoCoMo, pages of ten turns: how often the page named first by the keywords alone is the right one (BM25
over stubs of at most 24 tokens, n = 1,982). `rarity` .35 when it knows all pages and .33 when each page sees only
those before it; `askable` .51 and .48; `tfidf` .31 and .26; `hybrid` .18; `random` .10; `heuristic` .08.
"""

from __future__ import annotations

import random as chance
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from math import exp, fsum, log
from typing import NamedTuple

from memory import askable as asking
from memory.errors import UnknownName
from memory.language import CHINESE_STOP, ENGLISH_STOP, clauses, is_cjk, sentences, terms, zipf
from memory.tokens import count

STUB_TOKENS = 24
ENDLESS = 100_000  # tokens of a stub that nothing cuts
FEWEST, MOST = 2, 5  # keywords of any generator
MOST_PHRASES = 4  # of `rarity`
DESCRIPTION = 120  # characters

# Words that fill talk in any conversation, and say when without saying what.
_CHATTER = """
able absolutely ago amazing anything awesome big bit bye cool cute day days definitely easy enough everyone
everything exactly excited exciting fantastic feel feeling feels felt glad gonna good goodbye gotta great guy
guys haha happy hello help helped helping helps hmm hopefully incredible keep keeps kind knew know knows last
lately little lol look looking looks love loved loving luck made make makes making maybe month months morning
need needed needs never new next nice night no not okay one others people please pretty question really recently
saw see seeing seen share shared shares sharing soon sorry sound sounds start started starting starts stuff
super sure take takes taking thank thanks thing things think thinking thinks thought three thx time times today
together tomorrow tonight took totally tried tries try trying two unfortunately using wanna want wanted wants
way ways week weeks wonderful wow yay year years yep yesterday yup
一下 不客气 不错 东西 事情 今天 今晚 介绍 但是 你好 保持 再见 分享 加油 可能 听说 告诉 哈哈
哈哈哈 喜欢 嗯嗯 回答 太好了 好像 好吃 好好 好的 好看 完全 对不起 尝试 希望 帮助 应该 建议
开心 当时 很多 您好 想要 想起 感到 感觉 感谢 挺好 据我所知 推荐 方式 方法 方面 早上 早上好
明天 昨天 晚上 晚安 最近 有意思 有时候 有点 有趣 朋友 没事 没关系 没有 没问题 特别 看来 看看
真是 真的 知道 确实 祝你 祝您 第一 终于 经常 考虑 能够 自己 觉得 觉的 记得 试试 请问 谢谢
起来 这是 这款 进行 通常 问题 需要 非常 非常感谢 高兴
"""
CHATTER = frozenset(_CHATTER.split())
_NOISE = CHATTER | ENGLISH_STOP | CHINESE_STOP

# What the weight of a word is made of, found on LoCoMo; see `_weights`.
SUPPOSED_PAGES = 20  # pages of general language that stand behind a conversation before it has pages of its own
PAGE_WORDS = 300
RARE_ENOUGH = 0.03  # share of pages; below it general rarity tells nothing about what will be asked
RARER = 0.03  # for each power of ten below zipf 5
TOO_COMMON = 5.75  # zipf, times per billion words as a power of ten: "call", "until", 工作
EVERYWHERE = 0.6  # share of the other pages; the names of the two speakers, the theme of the whole conversation
ON_MANY, FEW_PAGES = 0.35, 10  # the same for `askable`: such a share of the others, were there ten more of them
REPEATS = 6  # a word said more often on a page gains nothing further
LONGEST = 24  # characters of a word
LONGEST_CHOSEN = 40  # characters of a keyword that a model or a person chose

Generator = Callable[["PageWords", "Corpus"], tuple[str, ...]]
Key = str  # a word as pages are compared by it: stemmed, lower case; "" for a word that is no keyword


@dataclass(frozen=True, slots=True)
class PageWords:
    page: int
    texts: tuple[str, ...]  # one per turn


class Corpus:
    """On how many pages of the conversation so far each word occurs. Adding a page again replaces it."""

    def __init__(self) -> None:
        self._pages: dict[int, frozenset[Key]] = {}
        self._frequency: Counter[Key] = Counter()
        self.history = b""  # names what was added, in order

    def __len__(self) -> int:
        return len(self._pages)

    def __repr__(self) -> str:
        return f"<Corpus of {len(self)} pages, {len(self._frequency)} words>"

    def add(self, words: PageWords) -> None:
        keys = frozenset(word.key for word in _said_words(words))
        old = self._pages.get(words.page, frozenset())
        self._frequency.update(keys - old)
        self._frequency.subtract(old - keys)
        self._pages[words.page] = keys
        self.history = blake2b(_name(words), key=self.history, digest_size=16).digest()

    def df(self, word: str, besides: int | None = None) -> int:
        """Pages that hold `word`; page `besides` does not count."""
        known = _word(word)
        return self.key_df(known.key, besides) if known else 0

    def key_df(self, key: Key, besides: int | None = None) -> int:
        own = besides is not None and key in self._pages.get(besides, ())
        return self._frequency[key] - own

    def others(self, page: int) -> int:
        """How many pages there are; `page` does not count."""
        return len(self._pages) - (page in self._pages)


def heuristic(words: PageWords, corpus: Corpus) -> tuple[str, ...]:
    """Dates, quoted titles, numbers and capitalised words of the first four turns (the preprint's)."""
    opening = PageWords(words.page, words.texts[:4])
    found = [_unpadded(match[0]) for text in _said(opening) for match in _STRIKING.finditer(text)]
    found.extend(word.text for word in _said_words(opening) if word.alone and word.chinese)
    return _keywords(found, MOST)


def tfidf(words: PageWords, corpus: Corpus) -> tuple[str, ...]:
    """Single words that are frequent here and rare on the other pages."""
    said = _said_words(words)
    singles = {word.key: word for word in said if word.alone}
    times = Counter(word.key for word in said)
    pages = corpus.others(words.page) + 2

    def weight(key: Key) -> float:
        return times[key] * log(pages / (corpus.key_df(key, words.page) + 1))

    ranked = sorted(singles, key=lambda key: -weight(key))  # stable: the first said wins a tie
    return _keywords((singles[key].text for key in ranked), MOST)


def rarity(words: PageWords, corpus: Corpus) -> tuple[str, ...]:
    """Phrases that are frequent here, rare on the other pages and not too common in the language."""
    ranked = _ranked(words, corpus)
    return _keywords(_apart(ranked), MOST_PHRASES) or _keywords(_single(ranked), MOST_PHRASES)


def telling(words: PageWords, corpus: Corpus, most: int) -> tuple[str, ...]:
    """More of the phrases that `rarity` chooses from, best first, clean; they may overlap."""
    return tuple(dict.fromkeys(clean for phrase in _ranked(words, corpus) if (clean := _clean(phrase.text))))[:most]


def _ranked(words: PageWords, corpus: Corpus) -> list[_Phrase]:
    weights = _weights(words, corpus)
    scored = [(score, p) for p in _phrases(words) if (score := _score(p.keys, weights)) > 0]
    scored.sort(key=lambda each: -each[0])  # stable: the first said wins a tie
    return [phrase for _, phrase in scored]


def random(words: PageWords, corpus: Corpus) -> tuple[str, ...]:
    """The baseline: any words of the page, the same ones each time."""
    singles = sorted({word.text for word in _said_words(words) if word.alone})
    chance.Random(words.page).shuffle(singles)
    return _keywords(singles, MOST_PHRASES)


def hybrid(words: PageWords, corpus: Corpus) -> tuple[str, ...]:
    """The preprint's heuristic, and in front of it one phrase that tells the page from all others."""
    weights = _weights(words, corpus)
    own = [p for p in _phrases(words) if not any(corpus.key_df(key, words.page) for key in p.keys)]
    scored = sorted(own, key=lambda p: -_score(p.keys, weights))  # stable: the first said wins a tie
    telling = [p.text for p in scored if _score(p.keys, weights) > 0]
    return _keywords((*telling[:1], *heuristic(words, corpus), *telling[1:2]), MOST) or rarity(words, corpus)


def askable(words: PageWords, corpus: Corpus, weights: Sequence[float] = asking.WEIGHTS) -> tuple[str, ...]:
    """Runs of words that a question about the page is likely to say, as many as a stub holds (askable.py)."""
    found = asking.keywords(
        candidates(words, corpus), lambda runs: stub(words.page, runs, ENDLESS), STUB_TOKENS, weights
    )
    return _keywords(found, MOST)


def candidates(words: PageWords, corpus: Corpus) -> list[asking.Candidate]:
    """The words that `askable` chooses from, with their rarity here and in the language as `rarity` counts it."""
    others, speakers = corpus.others(words.page), _speakers(words)
    found = []
    for each in asking.told(_said(words), _key_alone):
        held = corpus.key_df(each.key, words.page)
        word = _word(next(iter(each.surfaces)))
        rarely = log((others + SUPPOSED_PAGES) / (held + SUPPOSED_PAGES * word.share)) if word else 0.0
        if rarely > 0 and held <= ON_MANY * (others + FEW_PAGES) and each.key not in speakers:
            found.append(asking.Candidate(each, rarely))
    return found


@lru_cache(maxsize=1_024)
def promise(texts: tuple[str, ...]) -> float:
    """How many of a page's words a question is likely to say, taken as rare as they are in the language.

    >>> promise(("I adopted a greyhound last week!",)) > promise(("That is terrific.",))
    True
    """
    return fsum(asking.odds(each.signs) for each in candidates(PageWords(0, texts), Corpus()))


def _key_alone(surface: str) -> Key | None:
    return word.key if (word := _word(surface)) and word.alone else None


def llm(words: PageWords, corpus: Corpus) -> tuple[str, ...]:
    """What stands until a model was asked about the page (keywords.py): the words of `rarity`."""
    return rarity(words, corpus)


def llm_batch(words: PageWords, corpus: Corpus) -> tuple[str, ...]:
    """The same, where the model is asked about all closed pages at once."""
    return rarity(words, corpus)


BOOKMARKS: dict[str, Generator] = {
    f.__name__: f for f in (heuristic, tfidf, rarity, random, hybrid, askable, llm, llm_batch)
}
BY_MODEL = {"llm": "rarity", "llm_batch": "rarity"}  # who made the first bookmark of a generator that asks a model


def named(generator: str | Generator) -> Generator:
    if callable(generator):
        return generator
    if generator not in BOOKMARKS:
        raise UnknownName("bookmark generator", generator, BOOKMARKS)
    return BOOKMARKS[generator]


def tidy(keywords: Iterable[str], fewest: int = 1, most: int = MOST) -> tuple[str, ...]:
    """Keywords that somebody else chose, fit for a stub: clean, different, short; none if fewer than `fewest` are."""
    kept: dict[str, str] = {}
    for keyword in map(_clean, keywords):
        if keyword and len(keyword) <= LONGEST_CHOSEN:
            kept.setdefault(keyword.casefold(), keyword)
    return tuple(kept.values())[:most] if len(kept) >= fewest else ()


def _name(words: PageWords) -> bytes:
    return blake2b(repr(words).encode("utf-8", "replace"), digest_size=16).digest()


_MADE: dict[tuple[Generator, bytes, bytes], tuple[str, ...]] = {}  # names of pages, not their words
MADE = 20_000  # kept


def made(generator: Generator, words: PageWords, corpus: Corpus) -> tuple[str, ...]:
    """What it makes of the page, worked out once for the same page among the same others.

    Whoever tunes a threshold replays a conversation again and again, and its pages stay the same. A generator that is
    not registered is asked each time: it may depend on more than these two.
    """
    if generator not in BOOKMARKS.values():
        return generator(words, corpus)
    key = generator, corpus.history, _name(words)
    if (known := _MADE.get(key)) is None:
        if len(_MADE) >= MADE:
            _MADE.clear()
        known = _MADE[key] = generator(words, corpus)
    return known


# Stubs


def stub(page: int, keywords: Sequence[str], max_tokens: int = STUB_TOKENS) -> str:
    """`[p3:allergy,peanut,budget]`, without the last keywords if they do not fit; `[p7]` without any."""
    return _stub((f"p{page}",), keywords, max_tokens)[0]


def stands(page: int, keywords: Sequence[str], max_tokens: int = STUB_TOKENS) -> bool:
    """Whether a stub of that length holds all of these keywords."""
    return stub(page, keywords, max_tokens) == stub(page, keywords, ENDLESS)


def range_stub(first: int, last: int, keywords: Sequence[str], max_tokens: int = STUB_TOKENS) -> tuple[str, int]:
    """`[p3-p41:…]`, many pages folded into one, and its tokens."""
    return _stub((f"p{first}", f"-p{last}"), keywords, max_tokens)


def _stub(pages: tuple[str, ...], keywords: Sequence[str], max_tokens: int) -> tuple[str, int]:
    kept = [clean for keyword in keywords if (clean := _clean(keyword))]
    while kept:
        if (tokens := _stub_tokens(pages, kept)) <= max_tokens:
            return f"[{''.join(pages)}:{','.join(kept)}]", tokens
        kept.pop()
    return f"[{''.join(pages)}]", _stub_tokens(pages, ())


def _stub_tokens(pages: tuple[str, ...], keywords: Sequence[str]) -> int:
    """The tokenizer cuts before a mark that follows a letter or figure, so the parts count alone; and parts come again.

    Counted whole, the ranges of a thousand pages took a tenth of a step.
    """
    if all(keyword[0].isalnum() and keyword[-1].isalnum() for keyword in keywords):
        named = [f"{':,'[n > 0]}{keyword}" for n, keyword in enumerate(keywords)]
        return sum(map(count, (f"[{pages[0]}", *pages[1:], *named, "]")))
    return count(f"[{''.join(pages)}:{','.join(keywords)}]")


_PAGE_REF = re.compile(
    r"\s*\[?\s*(?:p|page\s*)?(\d{1,9})\s*(?:[-\u2010-\u2015~]\s*p?(\d{1,9})\s*)?(?:[:：].*)?\]?\s*",
    re.IGNORECASE | re.DOTALL,
)


def parse_page_ref(text: str | int) -> tuple[int, int]:
    """First and last page, both included, of what a model wrote: 3, "p3", "[p3:allergy]", "p3-p41", "p3–41"."""
    found = _PAGE_REF.fullmatch(str(text)) if not isinstance(text, bool) else None
    if found is None:
        raise ValueError(f"{text!r} names no page; write p3 for one page, p3-p41 for a range")
    first = int(found[1])
    last = int(found[2] or first)
    if last < first:
        raise ValueError(f"{text!r} runs backwards; write p{last}-p{first}")
    return first, last


def one_page(ref: object) -> int:
    """The page that a model named; 0 where it is no single page's name."""
    try:
        first, last = parse_page_ref(ref) if isinstance(ref, str | int) else (0, 0)
    except ValueError:
        return 0
    return first if first == last else 0


def describe(texts: Sequence[str]) -> str:
    """The page's most telling sentence: the one with the most rare words. One line of at most 120 characters."""
    return max(map(_most_telling, texts), key=lambda found: found[0], default=(0.0, ""))[1]


@lru_cache(maxsize=4_096)
def _most_telling(text: str) -> tuple[float, str]:
    """Of one turn: how telling its best sentence is, and the sentence."""
    lines = [_one_line(text[a:b]) for a, b in sentences(text)]
    return max(((_telling(line), line) for line in lines), key=lambda found: found[0], default=(-1.0, ""))


def _telling(sentence: str) -> float:
    said = set(chain.from_iterable(_stretches(sentence)))
    return fsum(log(1 / word.share) for word in said)  # exact: a set has no order


def _one_line(text: str, limit: int = DESCRIPTION) -> str:
    line = " ".join(_printable(text).split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    return (cut if is_cjk(cut[-1]) else cut.rsplit(" ", 1)[0]).rstrip() + "…"


# Reading a page


class _Word(NamedTuple):
    text: str  # as it was said
    key: Key
    share: float  # of the pages of general language that would hold it
    lean: float  # 1, and a little more the rarer the word is: it decides between equals
    chinese: bool  # or Japanese, Korean: written without spaces
    alone: bool  # can be a keyword by itself; a lone Chinese character is half a word as often as not


class _Phrase(NamedTuple):
    """Words side by side, none of them noise: 1-3 English, 1-2 Chinese."""

    text: str
    keys: tuple[Key, ...]


def _weights(words: PageWords, corpus: Corpus) -> dict[Key, float]:
    """What each word of this page is worth: how often it is said here, times how rarely elsewhere.

    "Elsewhere" is the other pages and, behind them, some supposed pages of general language. With idf alone the
    first pages of a conversation get the words that every later page has too: hit@1 .23 instead of .33.
    """
    said = _said_words(words)
    times = Counter(word.key for word in said)
    others = corpus.others(words.page)
    weights = dict.fromkeys(times, 0.0)
    for word in {word.key: word for word in said}.values():
        held = corpus.key_df(word.key, words.page)
        if others < 2 or held <= EVERYWHERE * others:
            rarely = log((others + SUPPOSED_PAGES) / (held + SUPPOSED_PAGES * word.share))
            weights[word.key] = min(times[word.key], REPEATS) * rarely * word.lean
    return weights | dict.fromkeys(_speakers(words), 0.0)


def _score(keys: tuple[Key, ...], weights: Mapping[Key, float]) -> float:
    """Between sum and mean: a second word must add something, and three need not be three times as good."""
    if len(keys) == 1:
        return max(0.0, weights[keys[0]])
    parts = [weights[key] for key in keys]
    return sum(parts) / len(parts) ** 0.4 if min(parts) > 0 else 0.0


@lru_cache(maxsize=32)
def _said_words(words: PageWords) -> list[_Word]:
    return [word for text in _said(words) for stretch in _stretches(text) for word in stretch]


@lru_cache(maxsize=32)
def _phrases(words: PageWords) -> list[_Phrase]:
    """Not read along with the words: of the pages that a page is compared with, only the words are asked for."""
    return [phrase for text in _said(words) for stretch in _stretches(text) for phrase in _runs(stretch)]


@lru_cache(maxsize=4_096)
def _stretches(text: str) -> list[list[_Word]]:
    """The words of `text` between noise words and punctuation marks."""
    found: list[list[_Word]] = [[]]
    for clause in clauses(text):
        found.append([])
        for surface in clause:
            if word := _word(surface):
                found[-1].append(word)
            elif found[-1]:
                found.append([])
    return [stretch for stretch in found if stretch]


def _runs(stretch: list[_Word]) -> Iterator[_Phrase]:
    for start, first in enumerate(stretch):
        if first.alone:
            yield _Phrase(first.text, (first.key,))
        text, keys = first.text, [first.key]
        for word in stretch[start + 1 : start + (2 if first.chinese else 3)]:
            if first.chinese and not (first.alone and word.alone):
                break
            text = f"{text}{'' if word.chinese else ' '}{word.text}"
            keys.append(word.key)
            yield _Phrase(text, tuple(keys))
            if word.chinese:
                break


@lru_cache(maxsize=100_000)
def _word(surface: str) -> _Word | None:
    """None for noise: function words, chatter, the very common, single letters, overlong strings, contractions."""
    plain = surface.lower()
    chinese = is_cjk(surface)
    commonness = zipf(plain)
    common = commonness > TOO_COMMON and not surface.isdigit()
    if common or plain in _NOISE or len(surface) > LONGEST or not surface[0].isalnum() or _HALF.search(surface):
        return None
    key = plain if chinese else " ".join(terms(surface))
    share = max(RARE_ENOUGH, 1 - exp(-PAGE_WORDS * 10 ** (commonness - 9)))
    lean = 1 + RARER * max(0.0, 5 - commonness)
    return _Word(surface.replace(",", ""), key, share, lean, chinese, len(surface) > 1) if key else None


# Contractions, single letters and digits; Chinese words that begin with a pronoun or a counter: 这部 一家 我会
_HALF = re.compile(r"['’]|^\w$(?<![\u2e80-\uffff])|^[一这那我你您他她它每某几哪两][^\W\d_a-zA-Z]?$")


# What stands in place of a secret is nobody's word.
_REMOVED = re.compile(r"\[[^\W_][\w -]{0,39} removed\]")
# "Caroline: ..." in front of two turns or more
_LABEL = re.compile(r"\s*([^\s:：]{1,24}(?: [^\s:：]{1,24})?)[:：]\s")


def _labels(words: PageWords) -> set[str]:
    heads = Counter(found[1] for text in words.texts if (found := _LABEL.match(text)))
    return {head for head, times in heads.items() if times > 1}


def _speakers(words: PageWords) -> set[Key]:
    return {word.key for label in _labels(words) for part in label.split() if (word := _word(part))}


def _said(words: PageWords) -> list[str]:
    """The turns without the speaker's name in front, and without what stands in place of a secret."""
    labels, texts = _labels(words), [_REMOVED.sub(";", text) for text in words.texts]
    if not labels:
        return texts
    found = [_LABEL.match(text) for text in texts]
    return [t[m.end() :] if m and m[1] in labels else t for t, m in zip(texts, found, strict=True)]


# Keywords


def _apart(ranked: Iterable[_Phrase]) -> Iterator[str]:
    """Without those that share a word with a better one."""
    taken: set[Key] = set()
    for phrase in ranked:
        if taken.isdisjoint(phrase.keys):
            taken.update(phrase.keys)
            yield phrase.text


def _single(ranked: Iterable[_Phrase]) -> Iterator[str]:
    return (phrase.text for phrase in ranked if len(phrase.keys) == 1)


def _keywords(found: Iterable[str], most: int) -> tuple[str, ...]:
    """The first few that differ and do not lie in each other; none if there are fewer than two."""
    kept: list[str] = []
    for keyword in map(_clean, found):
        folded = keyword.casefold()
        if keyword and not any(folded in other.casefold() or other.casefold() in folded for other in kept):
            kept.append(keyword)
        if len(kept) == most:
            break
    return tuple(kept) if len(kept) >= FEWEST else ()


@lru_cache(maxsize=8_192)
def _clean(keyword: str) -> str:
    """Without what would break a stub or hide in it: its own marks, lines, control and direction characters."""
    digits = re.sub(r"(?<=\d),(?=\d)", "", keyword)
    return " ".join(_MARKS.sub(" ", _printable(digits)).split())


_MARKS = re.compile(r"[,\[\]:，：［］︐︓﹐﹕]")


def _printable(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text)


_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_LATIN = "[A-Za-z0-9\u00c0-\u024f’'&-]"
_CAPITAL = rf"[A-Z]{_LATIN}+"
_STRIKING = re.compile(
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}(?:,? \d{{4}})?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|(?:\d{{4}}年)?\d{{1,2}}月(?:\d{{1,2}}[日号])?|\d{{4}}年"
    r"|《[^《》]{1,20}》|“[^“”]{2,20}”|「[^「」]{1,20}」"
    rf"|{_CAPITAL}(?: {_CAPITAL}){{0,2}}|\d[\d,.]*\d(?:[%万元块岁])?|\d[%万元块岁]"
    rf"|(?<=[\u4e00-\u9fff])[A-Za-z]{_LATIN}+"
)


def _unpadded(found: str) -> str:
    """Without quotation marks, and without noise at the ends: "Hey Caroline" is Caroline, "I'm" nothing."""
    parts = found.strip("《》“”「」").split(" ")
    while parts and _is_noise(parts[0]):
        parts.pop(0)
    while parts and _is_noise(parts[-1]):
        parts.pop()
    return " ".join(parts)


def _is_noise(word: str) -> bool:
    return word.lower() in _NOISE or "'" in word or "’" in word
