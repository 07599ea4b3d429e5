"""What a topic is, in words: where a text speaks of it, and what is left of the text without those sentences.

A topic is phrases, matched whatever their case, width, Chinese script, plural or thousands marks; a word is never
found inside another one (`cat` is not in `category`), but Chinese, which has no blanks, is found wherever it stands.
Nothing is understood here: what tells of a topic without naming it is not found.

Whole sentences go, for what is said about a thing gives it away as well; each is filled up to the same length, so
that every span of the text stays where it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from unicodedata import normalize

from memory.errors import BadMessage
from memory.language import UNSPACED, in_both_scripts, sentences, terms

FILLER = "_"  # no search term, no keyword, two tokens for sixty of them, and one byte as most of what it replaces
LEAST = 2  # characters of a phrase in letters; one would be in every text

_LETTER = rf"[^\W_{UNSPACED}]"
_WORDS = re.compile(rf"[{UNSPACED}]+|\d[\d,.]*\d|{_LETTER}+|[^\w\s]|_")
_JSON_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_STUB = re.compile(r"\[(p\d+(?:-p\d+)?)(?::([^\]\n]*))?\]")
_FULL_WIDTH = {chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)}

Span = tuple[int, int]  # in characters, half-open
Drop = Callable[[str], bool]


@dataclass(frozen=True)
class Topic:
    """Phrases that stand for one thing, as `budget`, `预算`."""

    phrases: tuple[str, ...]

    @classmethod
    def of(cls, *phrases: str) -> Topic:
        """Raises BadMessage for none, and for one that would be found nearly everywhere."""
        known = tuple(dict.fromkeys(" ".join(normalize("NFKC", p).split()) for p in phrases))
        if not known:
            raise BadMessage("a topic needs a word or more, such as 'peanut'")
        for phrase in known:
            if not is_topic(phrase):
                raise BadMessage(f"{phrase!r} says too little to tell what it is about; give a word such as 'peanut'")
        return cls(known)

    def __str__(self) -> str:
        return ", ".join(self.phrases)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_phrase, self.phrases)), re.IGNORECASE)

    def within(self, text: str) -> list[Span]:
        """Where the text names it.

        >>> Topic.of("peanut").within("Peanuts, no peanutty taste")
        [(0, 7)]
        """
        return [found.span() for found in self._pattern.finditer(text)]

    def __contains__(self, text: str) -> bool:
        return bool(self._pattern.search(text)) or ("\\u" in text and bool(self._pattern.search(unescaped(text))))

    def forms(self, texts: Iterable[str]) -> dict[str, int]:
        """How it is written in them, and how often: what a person should see before they agree to lose it."""
        found: dict[str, int] = {}
        for text in texts:
            for start, end in self.within(text):
                form = text[start:end].casefold()
                found[form] = found.get(form, 0) + 1
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def is_topic(phrase: str) -> bool:
    """Whether a phrase tells what it is about; one that does not would be found nearly everywhere."""
    return bool(terms(phrase)) and (len(phrase) >= LEAST or bool(re.search(f"[{UNSPACED}]", phrase)))


def _phrase(phrase: str) -> str:
    """A pattern of its words, each in its forms, with blanks and hyphens between them as they come."""
    parts = _WORDS.findall(phrase)
    return r"[\s\-_]*".join(f"(?:{_word(part)})" for part in parts)


def _word(word: str) -> str:
    if word[0].isdigit():
        digits = [c for c in word if c.isdigit() or c == "."]
        return rf"(?<!\d)(?<!\d[,.]){'[, ]?'.join(map(_either, digits))}(?!\d)(?![,.]\d)"
    letters = "".join(map(_either, word))
    if not re.fullmatch(f"{_LETTER}+", word):
        return letters
    ending = r"(?:['’]?s['’]?|es)?"
    if word[-1] in "yY" and len(word) > 3:
        letters, ending = "".join(map(_either, word[:-1])), r"(?:y(?:['’]s)?|ies)"
    return rf"(?<!{_LETTER}){letters}{ending}(?!{_LETTER})"


def _either(character: str) -> str:
    """The character, or the same one as wide as a Chinese one, or in the other Chinese script."""
    forms = in_both_scripts(character) + _FULL_WIDTH.get(character, "")
    return f"[{re.escape(forms)}]" if len(forms) > 1 else re.escape(character)


def unescaped(text: str) -> str:
    """With `\\u82b1` as the character that it stands for: models write Chinese so."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


# ── what is left ──────────────────────────────────────────────────────────────────────────────────────


def without(text: str, topic: Topic | None, also: Collection[Span] = ()) -> str:
    """As long as before, without the sentences that name the topic or meet one of the spans `also`.

    In JSON the strings go, and it stays JSON; of a stub such as `[p3:allergy,peanut]` only its keyword goes.

    >>> without("Hi. I cannot eat peanuts. Bye.", Topic.of("peanut"))
    'Hi. _____________________ Bye.'
    >>> without('{"q": "any peanut", "k": 3}', Topic.of("peanut"))
    '{"q": "__________", "k": 3}'
    """
    named = topic is not None and text in topic
    if not named and not also:
        return text
    if stub := _STUB.fullmatch(text):
        return stub_without(stub, lambda keyword: topic is not None and keyword in topic)
    spans = list(_units(text, topic)) if topic is not None and named else []
    spans += [unit for unit in _around(text) if any(a < unit[1] and unit[0] < b for a, b in also)]
    return filled(text, spans)


def filled(text: str, spans: Iterable[Span]) -> str:
    """The spans blanked; line ends inside them stay, for words were never lost by a blank line."""
    characters = list(text)
    for start, end in spans:
        characters[start:end] = [c if c == "\n" else FILLER for c in characters[start:end]]
    return "".join(characters)


def _units(text: str, topic: Topic) -> Iterator[Span]:
    """The smallest wholes that hold the topic: strings of JSON, else sentences, else all of it."""
    if text.lstrip()[:1] in ("{", "[") and '"' in text:
        strings = [found.span(1) for found in _JSON_STRING.finditer(text) if found[1] in topic]
        if strings and filled(text, strings) not in topic:
            yield from strings
            return
    units = [span for span in sentences(text) if text[slice(*span)] in topic]
    if filled(text, units) in topic:  # it goes over the end of a sentence
        units = [(0, len(text))]
    yield from units


def _around(text: str) -> list[Span]:
    return sentences(text) or [(0, len(text))]


def stub_without(stub: re.Match[str], drop: Drop) -> str:
    kept = [keyword for keyword in (stub[2] or "").split(",") if keyword and not drop(keyword)]
    return f"[{stub[1]}:{','.join(kept)}]" if kept else f"[{stub[1]}]"


def keywords_without(text: str, drop: Drop) -> str:
    """Comma-separated keywords, or a stub, without those to drop."""
    if stub := _STUB.fullmatch(text):
        return stub_without(stub, drop)
    return ",".join(keyword for keyword in text.split(",") if keyword and not drop(keyword))


def gone(before: Sequence[str], after: Sequence[str]) -> frozenset[str]:
    """Search terms that stood in the texts before and stand nowhere in them after."""
    had = {term for text in before for term in terms(text)}
    return frozenset(had.difference(*(terms(text) for text in after)))


def beside(topic: Topic, texts: Iterable[str]) -> set[str]:
    """Longer words that only contain one of the topic's, as `peanutty` does: they stay, and whoever asks is told."""
    short = [p.casefold() for p in topic.phrases if " " not in p]
    found: set[str] = set()
    for content in texts:
        plain = content.casefold()
        if any(p in plain for p in short):
            rest = filled(plain, topic.within(plain))
            found |= {w for w in rest.split() if any(p in w for p in short)}
    return {w.strip(".,;:!?\"'()[]{}") for w in found}
