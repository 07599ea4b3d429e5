"""Words of a text: search terms, surface words, sentences. English and Chinese first, every script served.

Search terms are what an index and a question share: lower-case NFKC, function words out, English stemmed
(Snowball), numbers whole. Scripts without spaces give overlapping bigrams, the same at both sides, so that
成语接龙 finds 今天玩成语接龙游戏 without a dictionary; Chinese in simplified characters, so that it finds
今天玩成語接龍遊戲 as well. It is no translator, no spelling corrector and no language detector.
"""

from __future__ import annotations

import logging
import re
import unicodedata
import warnings
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from itertools import accumulate, pairwise
from math import log10
from types import ModuleType
from typing import TYPE_CHECKING

import Stemmer
from stopwordsiso import stopwords

if TYPE_CHECKING:
    import jieba

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
CJK = HAN + "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
UNSPACED = CJK + "\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u1049\u1780-\u17d3"  # and Thai, Lao, Burmese, Khmer

# Words that carry grammar, not content. Numbers and negations ("no", "not", "never", 不, 没, 三) stay in: they are
# what a correction turns on. The English list of stopwordsiso drops "computer" and "invention", hence our own.
_ENGLISH_STOP = """
a about after again all also am an and any are as at be because been before being between both but by came can
come could did do does doing done down during each else ever every for from further get gets getting got had has
have having he her here hers herself hey hi him himself his how i if in into is it its itself just let like lot
many may me might more most much must my myself of off oh ok okay on once only or other our ours ourselves out
over own really same shall she should so some such than that the their theirs them themselves then there these
they this those through to too under until up upon us very was we well went were what when where which while who
whom whose why will with would yeah yes you your yours yourself yourselves
"""
ENGLISH_STOP = frozenset(_ENGLISH_STOP.split())
_ENDING = re.compile(r"['’](?:s|ll|re|ve|d|m)?$")
_NEGATION = re.compile(r"n['’]t$|^cannot$")
_KEPT_CHINESE = frozenset("零一二三四五六七八九非无不别没") | {"不是", "不得", "不如", "不然", "不比", "不成"}
CHINESE_STOP = frozenset(word for word in stopwords("zh") if word.strip()) - _KEPT_CHINESE
PARTICLES = frozenset("的了吗呢吧啊呀嘛哦么")

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d])|\d+(?:\.\d+)+"
_TERM = re.compile(rf"[{UNSPACED}]+|{_NUMBER}|[^\W_{UNSPACED}]+(?:['’][^\W_{UNSPACED}]+)*")
_ASCII_TERM = re.compile(rf"{_NUMBER}|[a-z0-9]+(?:'[a-z]+)*")

# A sentence ends after . ! ? before a space (not after "Dr." or an initial), after 。！？ anywhere, at a line's end.
_SENTENCE_END = re.compile(
    r"[.!?…](?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bvs\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\b[A-Z]\.)"
    r"(?!(?<=\b(?:Inc|Ltd)\.)\s[a-z])(?!(?<=\b(?:Jr|Sr|Co)\.)\s[a-z])"
    r"[.!?…]{0,9}[\"'”’)\]]{0,3}(?=\s|$)|[。！？…｡][。！？…”’」』）]{0,9}|\n"
)

# Words for people: what a clause is made of. Marks, lines and addresses end a clause.
_ADDRESS = r"(?:https?://|www\.)\S+|[\w.+-]{1,64}@[\w.-]{1,255}"
_WORD = rf"(?:{_NUMBER}|[^\W_{UNSPACED}]+)(?:[-'’&.][^\W_{UNSPACED}]+)*"
_PIECE = re.compile(rf"{_ADDRESS}|([{UNSPACED}]+)|({_WORD})|[^\w\s]|[_\n]")
_POSSESSIVE = re.compile(r"['’]s?$")
_SCRIPTS = re.compile(
    rf"[{HAN}]+|[\u3041-\u309f]+|[\u30a0-\u30ff\u31f0-\u31ff]+|[\uac00-\ud7af\u1100-\u11ff\u3130-\u318f]+"
)
_KANA = re.compile("[\u3041-\u30ff]")
_HAN = re.compile(rf"[{HAN}]+")

_UNSPACED = re.compile(rf"[{UNSPACED}]")
_CJK = re.compile(rf"[{CJK}]")


CACHED = 2_000  # characters; the terms of longer texts are not kept
READINGS = 2  # of characters that stand for several in the other script


def terms(text: str) -> tuple[str, ...]:
    """Search terms in order, repeats kept; () for a text without any.

    >>> terms("The GPT模型 costs 8,000 dollars, not 9.5")
    ('gpt', '模型', 'cost', '8000', 'dollar', 'not', '9.5')
    """
    return _short_terms(text) if len(text) <= CACHED else _terms(text)


@lru_cache(maxsize=8_192)  # a turn is read when it comes, when it is looked for, when a setting is tried
def _short_terms(text: str) -> tuple[str, ...]:
    return _terms(text)


def _terms(text: str) -> tuple[str, ...]:
    if text.isascii():
        return tuple(term for word in _ASCII_TERM.findall(text.lower()) if (term := _term(word)))
    found: list[str] = []
    for word in _TERM.findall(simplified(unicodedata.normalize("NFKC", text)).lower()):
        if _UNSPACED.match(word):
            found.extend(bigrams(word))
        elif term := _term(word):
            found.append(term)
    return tuple(found)


def bigrams(run: str) -> list[str]:
    """A run of an unspaced script as overlapping pairs; a single character stays itself."""
    if len(run) == 1:
        return [] if run in CHINESE_STOP else [run]
    return [a + b for a, b in pairwise(run) if a + b not in CHINESE_STOP and not (a in PARTICLES and b in PARTICLES)]


@lru_cache(maxsize=100_000)
def _term(word: str) -> str:
    if "," in word:
        return word.replace(",", "")
    if _NEGATION.search(word):
        return "not"
    word = _ENDING.sub("", word)
    return "" if word in ENGLISH_STOP else _stemmer().stemWord(word)


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english", 0)


def is_cjk(text: str) -> bool:
    """Whether any character of `text` is Chinese, Japanese or Korean."""
    return _CJK.search(text) is not None


def simplified(text: str) -> str:
    """Chinese in simplified characters, each in its place: as long as before. What is simplified already stays.

    >>> simplified("我對 GPT 感興趣")
    '我对 GPT 感兴趣'
    """
    # GB 2312 has but a few traditional characters: what else is written in it needs no table, which is slow to load.
    run = "".join(_HAN.findall(text))
    if _in_gb2312(run) and not TRADITIONAL_IN_GB2312.intersection(run):
        return text
    return text.translate(_simplified_map())


TRADITIONAL_IN_GB2312 = frozenset("捱菸摺薹於乾醣吒甯镟夥榘麴麽後徵")


def _in_gb2312(run: str) -> bool:
    try:
        run.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return True


@cache
def _simplified_map() -> dict[int, str]:
    _import_jieba()
    from wordfreq.chinese import SIMPLIFIED_MAP

    found: dict[int, str] = SIMPLIFIED_MAP
    return found


def in_both_scripts(character: str) -> str:
    """A character with all that are the same in the other Chinese script.

    >>> sorted(in_both_scripts("发")), in_both_scripts("a")
    (['发', '發', '髮'], 'a')
    """
    return _both_scripts().get(simplified(character), character) if _HAN.fullmatch(character) else character


def in_other_script(text: str) -> tuple[str, ...]:
    """A Chinese text as it may stand in the other script, the likeliest first; () where both write it alike.

    Few simplified characters stand for several traditional ones: those stay in one reading and are replaced in others.

    >>> in_other_script("預算"), in_other_script("预算"), in_other_script("头发"), in_other_script("天")
    (('预算',), ('預算',), ('頭发', '頭發', '頭髮'), ())
    """
    runs = set("".join(_HAN.findall(text)))
    if not runs:
        return ()
    if (plain := simplified(text)) != text:
        return (plain,)
    others = {c: both[1:] for c in runs if len(both := _both_scripts().get(c, c)) > 1}
    clear = {ord(c): found for c, found in others.items() if len(found) == 1}
    forms = [{ord(c): found[min(nth, len(found) - 1)] for c, found in others.items()} for nth in range(READINGS)]
    read = dict.fromkeys(text.translate(table) for table in (clear, *forms))
    return tuple(each for each in read if each != text)


@cache
def _both_scripts() -> dict[str, str]:
    found: dict[str, str] = {}
    for code, plain in _simplified_map().items():
        found[plain] = found.get(plain, plain) + chr(code)
    return found


def as_written(words: str, read: str, text: str, start: int = 0) -> str:
    """`words` of `read` as they stand in `text`, of which it is a reading of the same length; where not, unchanged."""
    at = read.find(words, start) if words else -1
    return text[at : at + len(words)] if at >= 0 else words


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans `[start, end)` of the sentences, English or Chinese, without the blanks around them."""
    cuts = [0, *(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]
    return [span for a, b in pairwise(cuts) if (span := _trimmed(text, a, b))]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    inner = text[start:end].strip()
    if not inner:
        return None
    start = text.index(inner, start, end)
    return start, start + len(inner)


def surface_words(text: str) -> list[str]:
    """Words as written, for keywords: case kept, no stemming, Chinese cut by jieba, function words still in.

    >>> surface_words("Caroline's well-being: 8,000 steps")
    ['Caroline', 'well-being', '8,000', 'steps']
    """
    return [word for clause in clauses(text) for word in clause]


def clauses(text: str) -> list[list[str]]:
    """The surface words between punctuation marks: a phrase never reaches over one. No clause is empty."""
    found: list[list[str]] = [[]]
    for run, word in _PIECE.findall(text):
        if word:
            found[-1].append(_POSSESSIVE.sub("", word) if "'" in word or "’" in word else word)
        elif run:
            found[-1].extend(_cut(run))
        elif found[-1]:
            found.append([])
    return found if found[-1] else found[:-1]


def _cut(run: str) -> list[str]:
    """An unspaced run as words: Chinese by dictionary, others where the script changes. Kana means Japanese."""
    parts = _SCRIPTS.findall(run) or [run]
    if _KANA.search(run):
        return parts
    return [word for part in parts for word in (_cut_han(part) if _HAN.match(part) else (part,))]


@lru_cache(maxsize=20_000)
def _cut_han(run: str) -> tuple[str, ...]:
    """jieba knows simplified characters only: it cuts those, and the words are read off the original."""
    simplified = _simplify()(run)
    ends = accumulate(map(len, _jieba().cut(simplified if len(simplified) == len(run) else run)))
    return tuple(run[start:end] for start, end in pairwise([0, *ends]))


@cache
def _simplify() -> Callable[[str], str]:
    _import_jieba()
    from wordfreq.chinese import simplify_chinese

    return simplify_chinese


@cache
def _jieba() -> jieba.Tokenizer:
    """Loaded at the first Chinese text, which takes seconds. `initialize` would write a cache to a shared folder."""
    tokenizer = _import_jieba().Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


def _import_jieba() -> ModuleType:
    with warnings.catch_warnings():  # its source has invalid escapes, reported when it is first compiled
        warnings.simplefilter("ignore")
        found = import_module("jieba")
    logging.getLogger("jieba").setLevel(logging.WARNING)
    return found


def alike(a: str, b: str) -> bool:
    """The same stem, or stems of one family: `allerg` (allergic) and `allergi` (allergy)."""
    if a == b:
        return True
    short, long = sorted((a, b), key=len)
    return len(short) >= 5 and len(long) - len(short) <= 3 and long.startswith(short) and short.isascii()


UNKNOWN = 2.5  # zipf of a word that no list holds: a name, a product, a slip of the pen


def zipf(word: str) -> float:
    """How common a word is in its language: times per billion words, as a power of ten; 7 is "the"."""
    frequency = _frequencies("zh" if is_cjk(word) else "en").get(word)
    return log10(frequency) + 9 if frequency else UNKNOWN


@cache
def _frequencies(language: str) -> dict[str, float]:
    """Read directly: wordfreq's own look-up tokenises each word anew."""
    from wordfreq import get_frequency_dict

    return get_frequency_dict(language)
