"""Statements about the world: "The author of X is Y", "X was born in the city of Y", X的首都是Y.

One table: a form, the attribute it states, and whether a subject has one value at a time. The English forms were
read off FactConsolidation (MemoryAgentBench; its facts derive from MQuAKE), with the plainer wordings people use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple


class Relation(NamedTuple):
    attribute: str
    subject: str
    value: str
    single: bool


@dataclass(frozen=True, slots=True)
class Form:
    hint: str  # words without which the form cannot match
    pattern: re.Pattern[str]
    attribute: str
    single: bool = True


_WHO = r"(?P<s>[^，。；！？\s我你他她您]{1,30}?)"
_S, _O = r"(?P<s>\S[^\n]{0,98}?)", r"(?P<o>\S[^\n]{0,118}?)"
_TABLE: tuple[tuple[str, str, str, bool], ...] = (
    # form, hint, attribute, single
    (f"{_S} (?:is|was) (?:a|the) citizens? of {_O}", "citizen", "citizenship", True),
    (f"{_S} (?:is|was) married to {_O}", "married to", "spouse", True),
    (f"{_S} (?:is|was) associated with the sport of {_O}", "sport of", "sport", True),
    (f"{_S} (?:is|was) affiliated with the religion of {_O}", "religion of", "religion", True),
    (f"The author of {_S} (?:is|was) {_O}", "author of", "author", True),
    (f"{_S} (?:is|was) written by {_O}", "written by", "author", True),
    (f"{_S} was founded by {_O}", "founded by", "founder", True),
    (f"{_S} was founded in (?:the city of )?{_O}", "founded in", "founded in", True),
    (f"{_S} (?:is|was) located in the continent of {_O}", "continent", "continent", True),
    (f"{_S} (?:is|was) performed by {_O}", "performed by", "performer", True),
    (f"{_S} (?:is|was) created by {_O}", "created by", "creator", True),
    (f"{_S} (?:is|was) developed by {_O}", "developed by", "developer", True),
    (f"The capital(?: city)? of {_S} (?:is|was) {_O}", "capital", "capital", True),
    (f"{_S} is the capital(?: city)? of {_O}", "capital", "capital", True),
    (f"{_S} speaks the language of {_O}", "language of", "speaks", False),
    (f"{_S} died in (?:the city of )?{_O}", "died in", "place of death", True),
    (f"{_S} was born in (?:the city of )?{_O}", "born in", "place of birth", True),
    (f"The official language of {_S} (?:is|was) {_O}", "official language", "official language", True),
    (f"The original language of {_S} (?:is|was) {_O}", "original language", "original language", True),
    (f"{_S} was written in the language of {_O}", "language of", "original language", True),
    (f"{_S} was created in the country of {_O}", "country of", "country of origin", True),
    (f"The headquarters of {_S} (?:is|are|was|were) (?:located )?in (?:the city of )?{_O}", "headquarters",
     "headquarters", True),
    (f"The company that produced {_S} (?:is|was) {_O}", "produced", "manufacturer", True),
    (f"The (?:chief executive officer|CEO) of {_S} (?:is|was) {_O}", "of", "chief executive officer", True),
    (f"{_S} (?:is|was) famous for {_O}", "famous for", "famous for", False),
    (f"The name of the current head of the {_S} government (?:is|was) {_O}", "head of", "head of government", True),
    (f"The name of the current head of state in {_S} (?:is|was) {_O}", "head of state", "head of state", True),
    (f"The univer(?:s|)i?(?:s|)ty where {_S} was educated (?:is|was) {_O}", "educated", "educated at", True),
    (f"{_S} worked in the city of {_O}", "worked in", "work city", True),
    (f"{_S}['’]s? child (?:is|was) {_O}", "child", "child", False),
    (f"The chairperson of {_S} (?:is|was) {_O}", "chairperson", "chairperson", True),
    (f"{_S} (?:is|was) employed by {_O}", "employed by", "employer", True),
    (f"The director of {_S} (?:is|was) {_O}", "director of", "director", True),
    (f"The (?:origianl|original) broadcaster of {_S} (?:is|was) {_O}", "broadcaster", "original broadcaster", True),
    (f"{_S} plays the position of {_O}", "position of", "position", True),
    (f"The head coach of {_S} (?:is|was) {_O}", "head coach", "head coach", True),
    (f"{_S} works in the field of {_O}", "field of", "field of work", True),
    (f"The type of music that {_S} plays (?:is|was) {_O}", "type of music", "music genre", True),
    # any office or part: The Governor of Hawaii is David Ige; a name or a number must follow
    (rf"The (?P<a>[A-Za-z][\w-]*(?: [\w-]+){{0,3}}?) of {_S} (?:is|was) (?P<o>[A-Z\d][^\n]{{0,98}}?)", " of ", "",
     True),
    # Chinese
    (_WHO + r"的(?P<a>首都|作者|导演|创始人|首席执行官|主席|总统|总理|首相|校长|官方语言|总部|妻子"
     r"|丈夫|配偶|出生地|国籍|宗教信仰|主教练|制造商|开发商|省会|货币|人口|面积)(?:是|为|在|位于|改为|换成)了?(?P<o>[^，。；！？\n]{1,40})",
     "的", "", True),
    (_WHO + r"(?:出生于|出生在)(?P<o>[^，。；！？\n]{1,30})", "出生", "place of birth", True),
    (_WHO + r"(?:逝世于|去世于|死于)(?P<o>[^，。；！？\n]{1,30})", "于", "place of death", True),
    (_WHO + r"由(?P<o>[^，。；！？\n]{1,30}?)(?:创立|创建|创办)", "由", "founder", True),
    (_WHO + r"由(?P<o>[^，。；！？\n]{1,30}?)(?:开发|研发)", "由", "developer", True),
)  # fmt: skip
RELATIONS = tuple(
    Form(hint, re.compile(rf"{form}[.。]?$"), attribute, single) for form, hint, attribute, single in _TABLE
)
_CHINESE_ATTRIBUTES = {
    "首都": "capital", "省会": "capital", "作者": "author", "导演": "director", "创始人": "founder",
    "主席": "chairperson", "首席执行官": "chief executive officer",
    "总统": "president", "总理": "prime minister", "首相": "prime minister",
    "校长": "president", "官方语言": "official language", "总部": "headquarters", "妻子": "spouse", "丈夫": "spouse",
    "配偶": "spouse", "出生地": "place of birth", "国籍": "citizenship", "宗教信仰": "religion", "主教练": "head coach",
    "制造商": "manufacturer", "开发商": "developer", "货币": "currency", "人口": "population", "面积": "area",
}  # fmt: skip
_ANYTHING = re.compile(
    r" (?:is|was|are|were|of|in|by|plays|speaks|worked|works|died|child) |['’]s? child |的|于|由|出生在"
)
_NO_SUBJECT = re.compile(  # titles have capitals: The Call of Cthulhu, We Will Rock You, Paul I of Russia
    r"(?:[Ii]|[Yy]ou|[Hh]e|[Ss]he|[Ii]t|[Ww]e|[Tt]hey|[Tt]h(?:is|at|ese|ose|ere)|[Hh]ere|[Ww]ho|[Ww]hat|[Ww]hich|[Oo]ne"
    r"|(?:[Ss]ome|[Ee]very|[Aa]ny|[Nn]o)(?:one|body|thing)|(?:[Mm]y|[Yy]our|[Hh]is|[Hh]er|[Oo]ur|[Tt]heir) [a-z].*"
    r"|(?:[Tt]he|[Aa]n?|[Tt]his|[Tt]hat) [a-z].*|(?:.* )?[a-z]+,? I)$"
    r"|.*\b(?:my|you|your|we|our|me|it|he|she|they|I['’]m|I['’]ve)\b"
)
_NO_NOUN = frozenset(
    [
        "rest",
        "end",
        "point",
        "aim",
        "problem",
        "best",
        "most",
        "part",
        "one",
        "kind",
        "sort",
        "type",
        "list",
        "lot",
        "name",
        "number",
        "result",
        "purpose",
        "idea",
        "thing",
        "way",
        "side",
        "top",
        "bottom",
        "beginning",
        "start",
        "middle",
        "story",
        "reason",
        "cost",
        "price",
        "date",
        "day",
        "time",
        "half",
        "couple",
        "bunch",
        "use",
    ]
)


def relation_in(sentence: str) -> Relation | None:
    """What a sentence states about the world; None where it has no such form, or its subject is a pronoun.

    >>> relation_in("The author of Our Mutual Friend is Charles Dickens.")
    Relation(attribute='author', subject='Our Mutual Friend', value='Charles Dickens', single=True)
    """
    if len(sentence) > 240 or not _ANYTHING.search(sentence):
        return None
    for form in RELATIONS:
        if form.hint in sentence and (m := form.pattern.match(sentence)):
            return _read(form, m)
    return None


def _read(form: Form, m: re.Match[str]) -> Relation | None:
    subject, value = m["s"].strip(), m["o"].strip()
    attribute = form.attribute
    if not attribute:
        noun = m["a"].lower()
        attribute = _CHINESE_ATTRIBUTES.get(noun, noun)
        if noun.split()[-1] in _NO_NOUN or (not value[0].isupper() and value.isascii() and not value[0].isdigit()):
            return None
    if _NO_SUBJECT.match(subject):
        return None
    if attribute == "capital" and " is the capital" in m[0]:
        subject, value = value, subject
    return Relation(attribute, subject, value, form.single)
