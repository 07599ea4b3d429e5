"""What an English sentence says about its speaker, and about people they name: the forms applied.

The tables are in phrases_english.py. A finding is a span with a subject, an attribute and a value; sentences that ask,
suppose or quote somebody yield none. It resolves no pronouns: "she lives in Rome" is nobody's fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from memory import phrases_english as say
from memory.attributes import KIN, MANY, PETS, PREFERENCES, USER, attribute_of, is_single, kin_in, known_noun
from memory.language import ENGLISH_STOP

WORDS = 10  # of a value; more is no value but a story
DATED = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\btomorrow\b|\btonight\b|\bnext\b", re.IGNORECASE
)


class Found(NamedTuple):
    start: int  # span in the sentence
    end: int
    attribute: str
    value: str
    kind: str = "fact"
    subject: str = USER
    negated: bool = False
    corrects: bool = False
    said: str = ""  # how the entry begins, where it quotes the span instead of stating a value
    single: bool | None = None  # None: as its attribute has it
    now: bool = False  # it holds when it is said: a time in its clause is of something else


_SUBJECT = re.compile(
    r"(?P<i>[Ii](?=['’ ]|(?:m|ve) )|[Ww]e(?=['’ ]))"
    r"|(?:[Mm]y|[Oo]ur) (?P<kin>(?:older |younger |little |big |twin |elder |best |close |old )?[a-z]+(?:-in-law)?)"
    r"(?:,? (?P<name>[A-Z][\w’-]+))?,?(?=['’ ])"
    r"|(?P<who>[A-Z][\w-]+(?: [A-Z][\w-]+){0,2})(?=['’ ](?!(?:t|ll|d|re|ve)\b))"
)
_OF_OTHERS = frozenset(
    {"home city", "employer", "likes", "allergy", "age", "job", "diet", "hometown", "prefers", "eats", "drinks"}
)
_PERSONAL = re.compile(
    r"\b(?:[Ii]|[Ii](?:m|ve)|[Mm]y|[Ww]e|[Oo]ur|[Mm]e)\b|['’]s\b|s (?:in|at)\b|\bis\b|ves?\b|ates\b|kes\b"
    r"|\bbe\b|\bturn|\bstart|\bbegin|\bmore\b|\bfor\b|\bmoved\b|\brelocated\b|n['’]t\b|\bcannot\b"
)
_I_AM = re.compile(rf"(?:['’]?m| am) {say.NAME}(?=\s*(?:[.,!;:—–)-]|$)|\s+(?:and|from|by)\b)")
_TOLD = re.compile(r"\W*(?:[\w ]{1,20}[!,.] )?(?:do|did) you know(?: that)? (?=I\b|my\b)", re.IGNORECASE)
_NAMED = re.compile(rf"(?:this is|it['’]s) {say.NAME}(?: here)?(?=[.,!]|$)")
_NOT_BUT = re.compile(r"(?:not|no longer) (?P<old>[^,;]{1,40}?),? but (?:rather |now )?(?P<new>.+)", re.IGNORECASE)
_RATHER = re.compile(
    r"(?P<new>.{1,60}?),? (?:instead of|rather than|not|no longer) (?P<old>[^,.;]{1,40})", re.IGNORECASE
)
_STATIVE = re.compile(
    r"[\w ]*\b(?:feel|killing|gone|full|good|great|fine|tired|terrible|bad|better|broken|closed|open|late|right|wrong"
    r"|ready|done|over)\b",
    re.I,
)
# "in a small flat in Leeds" is Leeds; "on the third floor" is nowhere
_DWELLING = re.compile(r"(?:an?|the|my|our) (?:[a-z][\w-]* ){1,4}(?:in|near|of|outside|called) (?=[A-Z])")
_TOWN = re.compile(r"(?:the )?[A-Z\u4e00-\u9fff]")
_PLACE = re.compile(r"(?:[A-Z0-9\u4e00-\u9fff]|(?:an?|the) )")
_CORRECTABLE = re.compile(
    r"\b((?:[a-z-]+ )?(?:budget|date|day|name|age|address|number|price|rent|deposit|deadline|salary|time|birthday|email"
    r"|city|goal|height|weight|limit))\b"
)
_DETERMINER = (
    "(?:my|your|the|a|an|our|for|on|and|or|is|of|in|at|by|to|that|this|what|which|every|each|one|per|first|last|next)"
)
_OF_ANYTHING = re.compile(rf"(?:{_DETERMINER} )?(?:day|date|time|number)$")  # the day is no attribute of anybody
_LEADS_TO_CORRECTION = re.compile(r"\b(?:actually|correction|sorry|wait|no|nope)\b", re.IGNORECASE)


_PLACES = ("home city", "employer")
# "I used to work at Acme, now I'm at Globex": of the place that was left just before
_NOW_THERE = re.compile(rf"I(?:['’]?m| am)(?: now)? (?:in|at|with) {say.NAME}")


_MARK_IN_NAME = re.compile(r"(?<=[A-Z]{2})!(?=[A-Z][a-z])|(?<=\w)\.(?=(?:com|org|net|de|io|ai|co|uk|js|dev|app|tv)\b)")
_LETTERS = {"!": "ǃ", ".": "ꞏ"}  # that look like them


def read_as(text: str) -> str:
    """The text as the forms read it, of the same length: names with capitals where the writer used none at all, and
    a mark inside a name (FRITZ!Box, booking.com) as a letter.

    >>> read_as("i live in berlin, not in fear"), read_as("I own a FRITZ!Box.")
    ('i live in Berlin, not in fear', 'I own a FRITZǃBox.')
    """
    text = _MARK_IN_NAME.sub(lambda m: _LETTERS[m[0]], text)
    low = text.lower()
    if not (text == low or (text == text.upper() and " " in text.strip())) or len(low) != len(text):
        return text
    for frame in say.NAME_FOLLOWS:
        low = frame.sub(_with_capitals, low)
    low = say.KIN_NAMED.sub(lambda m: _with_capitals(m) if kin_in(m["kin"]) else m[0], low)
    return say.NAMES_ANYWHERE.sub(lambda m: m[0].capitalize(), low)


def _with_capitals(m: re.Match[str]) -> str:
    return m[0][: m.start("v") - m.start()] + _capitals(m["v"])


def _capitals(name: str) -> str:
    return " ".join(word.capitalize() for word in name.split(" "))


def find_english(sentence: str, earlier: str = "", speaker: str = "") -> tuple[list[Found], str]:
    """What the sentence states, and why nothing: "a question", "a hypothetical", "somebody else's words".

    `earlier` is what stands before it in the turn, or what was asked: where "it should be 8000" finds its noun.
    """
    if say.QUESTION_TAG.search(sentence) and sentence.rstrip().endswith("?"):
        return [], "a question"
    body = _stated(sentence)
    if not body:
        return [], "a question"
    low = body.lower()
    if _holds_any(low, _SUPPOSING) and say.HYPOTHETICAL.search(body):
        return [], "a hypothetical"
    quoted = say.REPORTED.search(body) if _holds_any(low, _REPORTING) else None
    body = body[: quoted.start()] if quoted else body
    found = list(_all(body, earlier, speaker))
    return found, "" if found or not quoted else "somebody else's words"


# A look for a few letters costs a twentieth of a search by a form.
_SUPPOSING = (
    "if ",
    "in case",
    "unless",
    "whether",
    "suppos",
    "imagin",
    "pretend",
    "wish",
    "as though",
    "hypothet",
    "say",
    "were to",
)
_REPORTING = ("sa", "th", "claim", "believe", "told", "tells", "asked", "wr", "insist", "quote", "read", "accord")
_ANSWERS = ("repl", "answer", "respon", "report", "messag", "brief", "short", "concise", "detail", "be ")
_SHOULD = ("it", "that", "this")


def _holds_any(low: str, words: tuple[str, ...]) -> bool:
    return any(map(low.__contains__, words))


def _stated(sentence: str) -> str:
    """The sentence as far as it states: up to the clause that asks."""
    bare = sentence.rstrip(" \"'”’)")
    if told := _TOLD.match(sentence):
        return sentence[: told.end()] and bare.rstrip("?")
    if not bare.endswith("?"):
        return "" if say.ASKS_PLAINLY.match(sentence[say.LEAD.match(sentence).end() :]) else sentence  # type: ignore[union-attr]
    starts = [m.end() for m in say.BREAKS.finditer(bare)]
    for start in starts:
        if say.ASKS.match(bare, start):
            head = bare[:start].rstrip(" ,;:—–(")
            return "" if say.ASKS.match(head) else re.sub(r"\s+(?:and|but|so|or)$", "", head)
    return ""


def _all(body: str, earlier: str, speaker: str) -> Iterator[Found]:
    low = body.lower()
    if _holds_any(low, _ANSWERS):
        yield from _reply_style(body)
    subject = ""
    if (
        _PERSONAL.search(body)
        or ":" in body
        or "budget" in low
        or "deadline" in low
        or low[:2] in ("no", "ca", "st", "le", "mo", "ch", "do")
    ):
        ended, left = 0, ""
        for start in _starts(body):
            found, subject = _clause(body, low, start, subject, speaker)
            if left and not found and (m := _NOW_THERE.match(body, start)):
                found = [Found(start, m.end("v"), left, m["v"].rstrip("."), corrects=True)]
            left = next((each.attribute for each in found if each.negated and each.attribute in _PLACES), left)
            corrects = _LEADS_TO_CORRECTION.search(body, ended, start) is not None
            yield from (each._replace(corrects=True) if corrects else each for each in found)
            ended = start
    yield from _appositions(body)
    if _holds_any(low, _SHOULD) and (m := say.SHOULD_BE.search(body)) and say.CORRECTS.search(body):
        yield from _corrected(body, m, earlier)


def _starts(body: str) -> Iterator[int]:
    """Where clauses begin, leading words such as "well" and "by the way" passed over."""
    seen = -1
    for start in (0, *(m.end() for m in say.BREAKS.finditer(body))):
        if start < seen:
            continue
        lead = say.LEAD.match(body, start)
        at = lead.end() if lead else start
        if at > seen and at < len(body):
            seen = at
            yield at


def _clause(body: str, low: str, start: int, carried: str, speaker: str) -> tuple[list[Found], str]:
    """What the clause says, and whom it is about; without a subject of its own it has the last one's."""
    m = _SUBJECT.match(body, start)
    subject = _subject(m, speaker) if m else ""
    if subject:
        assert m is not None
        found = list(_predicates(body, low, m.end(), start, subject, named=m["who"] is not None and subject != USER))
        if m["name"] and not _verb_like(m["name"]) and not say.DIED.match(body, m.end("name")):
            found.append(Found(start, m.end("name"), attribute_of(m["kin"]), m["name"]))
        if found and m["i"] is None:
            return found, subject
    else:
        found = []
        if carried and not m and re.search(r"(?:\b(?:and|but|or)|,) $", body[:start]):
            found = list(_predicates(body, low, start - 1, start, carried))
    if not found:
        found = list(_topics(body, start))
    if not found:
        found = list(_deeds(body, start))
    return found, (subject if found or subject == USER else "") or (carried if not m else "")


def _subject(m: re.Match[str], speaker: str) -> str:
    if m["i"]:
        return USER
    if m["kin"]:
        kin = attribute_of(m["kin"])
        return "" if kin not in KIN | PETS else m["name"] or f"user's {kin}"
    first = m["who"].split()[0]
    if first in say.NOT_SUBJECTS or first in say.NOT_NAMES or first.lower() in ENGLISH_STOP:
        return ""
    if attribute_of(m["who"]) in KIN:
        return f"user's {attribute_of(m['who'])}"  # Mum loves ceramics
    return USER if speaker and m["who"].casefold() == speaker.casefold() else m["who"]


def _verb_like(name: str) -> bool:
    return name in say.NOT_NAMES


# ── predicates ────────────────────────────────────────────────────────────────────────────────────────


def _predicates(body: str, low: str, at: int, start: int, subject: str, *, named: bool = False) -> Iterator[Found]:
    if subject == USER and (m := _I_AM.match(body, at)) and (called := _i_am(m, start)):
        yield called
        return
    for form in _forms(low):
        if (m := form.pattern.match(body, at)) and (found := list(_read(form, m, start, subject, named=named))):
            yield from found
            return


@lru_cache(maxsize=64)  # asked for each clause of a sentence
def _forms(low: str) -> tuple[say.Form, ...]:
    return tuple(form for form in say.PREDICATES if any(map(low.__contains__, form.hints)))


def _i_am(m: re.Match[str], start: int) -> Found | None:
    name = m["v"].rstrip(".")
    if name in say.NATIONALITIES:
        return Found(start, m.end("v"), "country", name)
    if name.split()[0] in say.NOT_NAMES or (name.isupper() and len(name) > 1):
        return None
    return Found(start, m.end("v"), "name", name)


def _read(form: say.Form, m: re.Match[str], start: int, subject: str, *, named: bool) -> Iterator[Found]:
    groups = m.groupdict()
    attribute = form.attribute or attribute_of(groups.get("a") or "")
    if groups.get("for") and attribute == "budget":
        attribute = _pot(groups["for"])
    if attribute == "name" and subject.startswith("user's "):
        subject, attribute = USER, subject.removeprefix("user's ")  # my teacher is called Inês
    if not attribute or (named and (attribute not in _OF_OTHERS or _plural_verb(m))):
        return
    denied = groups.get("neg") or groups.get("neg2") or _NO_LONGER.search(m["v"])
    negated = form.negated != bool(denied)
    corrects = bool(say.CORRECTS.search(m[0]))
    for value, end in _values(m["v"], attribute, form.check):
        yield Found(
            start, m.start("v") + end, attribute, value, form.kind, subject, negated, corrects, now=form.now
        )
    if groups.get("old"):
        yield Found(
            start, m.end("old"), attribute, groups["old"].strip(), form.kind, subject, not negated, corrects=True
        )


_NO_LONGER = re.compile(r" no longer\W*$", re.IGNORECASE)  # "I live in Leeds no longer"


def _plural_verb(m: re.Match[str]) -> bool:
    """ "Cats love fish": a name takes "loves"."""
    return (
        re.match(r" (?:[a-z]+ly )?(?:love|like|enjoy|hate|prefer|live|work|eat|drink|dislike|are)\b", m[0]) is not None
    )


def _pot(what: str) -> str:
    """ "for furniture": the furniture budget; the move's is the moving budget."""
    what = re.sub(r"^(?:the|my|our|a|an|new|whole|entire) ", "", what.strip().lower())
    what = re.split(r" (?:and then|this|next|in|per|a|each) ", f"{what} ")[0].strip()
    return attribute_of(f"{what} budget") if what not in ("it", "this", "that", "total", "monthly") else "budget"


# ── "my X is Y" ───────────────────────────────────────────────────────────────────────────────────────


def _topics(body: str, start: int) -> Iterator[Found]:
    if m := say.CALL_ME.match(body, start):
        yield Found(start, m.end(), "nickname", m["v"])
        return
    if m := say.PUT_ASIDE.match(body, start):
        yield Found(start, m.end(), _pot(m["for"]), m["v"].strip())
        return
    for pattern in (say.MADE, say.TOPIC, say.CHANGED, say.REFUSED, say.BARE_TOPIC):
        if (m := pattern.match(body, start)) and (found := _TOPIC_READERS[pattern](m)):
            yield from found
            return


def _owned(m: re.Match[str]) -> list[Found]:
    """my budget is 8000; my sister's name is Mia; my sister's birthday is 3 May; my brother is called Tom."""
    noun, part = _ANNOUNCED.sub("", m["a"]), m["b"]
    noun = "likes" if _SOME_FAVOURITE.fullmatch(noun) else noun
    if part and attribute_of(noun) not in KIN | PETS:
        noun, part = f"{noun}'s {part}", ""  # my driver's license
    pot = _BUDGET_FOR.fullmatch(noun)
    attribute, subject = _pot(pot[1]) if pot else attribute_of(noun), USER
    if noun.lower().endswith("ones"):
        return []
    if part and part != "name":
        subject, attribute = f"user's {attribute}", attribute_of(part)
    elif attribute in KIN | PETS and not (
        part or re.search(r"called|named", m[0][: m.start("v") - m.start()]) or _capital(m["v"])
    ):
        return []
    if noun == "likes" and not _solid(m["v"]):
        return []
    if len(noun.split()) > 4 or re.search(r"\b(?:and|of you|that|which|who|is|i)\b", noun, re.IGNORECASE):
        return []
    return _stated_value(m, subject, attribute, known=known_noun(noun) or bool(part))


_ANNOUNCED = re.compile(r" (?:has |have |was |is |just )*changed$", re.IGNORECASE)  # "my address changed: …"
# "my favourite is jazz", asked of anything: no value that the next favourite could replace
_SOME_FAVOURITE = re.compile(r"(?:all-time )?favou?rites?(?: (?:thing|one|part)s?)?", re.IGNORECASE)
_BUDGET_FOR = re.compile(r"budget for (.+)", re.IGNORECASE)


def _bare(m: re.Match[str]) -> list[Found]:
    noun = m["a"].lower()
    attribute = attribute_of(noun)
    if attribute in _SERVANTS and _capital(m["v"].split(",")[0]):
        return _stated_value(m, USER, attribute, known=True)
    if attribute in KIN | PETS | _NEEDS_OWNER:
        return []
    if pot := _BUDGET_FOR.fullmatch(noun):
        attribute = _pot(pot[1])
    elif not known_noun(noun) and not (noun.endswith(" budget") and len(noun.split()) == 2):  # the kitchen budget
        return []
    return (
        _stated_value(m, USER, attribute, known=True)
        if _solid(m["v"]) or m["be"].strip() in ("=", ":")
        else []
    )


_NEEDS_OWNER = frozenset({"likes", "home city", "job", "goal", "employer", "school", "phone number"})
_SERVANTS = frozenset({"landlord", "boss", "teacher", "vet", "doctor"})  # "landlord is Herr Behrens": whose is plain


def _stated_value(m: re.Match[str], subject: str, attribute: str, *, known: bool) -> list[Found]:
    raw, negated = m["v"].strip(), bool(m["neg"])
    raw = _ON_A_DAY.sub("", raw) if DATED.search(raw) else raw
    corrects = bool(say.CORRECTS.search(m[0])) or "chang" in m["be"]
    if m["neg"] and (both := _NOT_BUT.match(f"not {raw}")):
        raw, negated, corrects = both["new"], False, True
    elif both := _NOT_BUT.match(raw) or _RATHER.match(raw):
        raw, corrects = both["new"], True
    if say.UNSURE.search(raw[:40]) or not (known or _solid(raw)) or (not known and _STATIVE.match(raw[:40])):
        return []
    check = "liked" if attribute in ("hobby", "dream") else "noun"
    single = attribute not in MANY and (is_single(attribute) or not _plural(m["be"]))
    offset = m.start("v") + m["v"].find(raw)
    return [
        Found(
            m.start(),
            min(offset + end, m.end()),
            attribute,
            value,
            _kind(attribute),
            subject,
            negated,
            corrects,
            "",
            single,
        )
        for value, end in _values(raw, attribute, check, listed=not single and attribute.startswith("favourite"))
        if known or _solid(value)
    ]


_ON_A_DAY = re.compile(r"^(?:on|by) (?=the \d|\d|[A-Z])")  # "on 3 May"


def _plural(be: str) -> bool:
    return be.strip() in ("are", "were")


def _kind(attribute: str) -> str:
    return "preference" if attribute.startswith("favourite") or attribute in ("hobby", "likes") else "fact"


def _moved(m: re.Match[str]) -> list[Found]:
    """move the weekly report to Tuesday; change my address to …: a decision about one attribute."""
    noun = m["a"].lower()
    value = _values(m["v"], "", "noun")
    if (
        not value
        or not (known_noun(noun) or _solid(m["v"]) or DATED.search(m["v"]))
        or noun in ("mind", "it", "them", "that")
    ):
        return []
    end = m.start("v") + value[0][1]
    return [Found(m.start(), end, attribute_of(noun), value[0][0], "decision", corrects=True, single=True)]


def _made(m: re.Match[str]) -> list[Found]:
    """make the budget 9,000."""
    noun = m["a"].lower()
    if not known_noun(noun) and not noun.endswith(" budget"):
        return []
    return [Found(m.start(), m.end(), attribute_of(noun), m["v"].strip(" .,"), "decision", corrects=True, single=True)]


def _refused(m: re.Match[str]) -> list[Found]:
    """no weekly report any more: it does not hold, whatever it was set to."""
    noun = m["a"].strip().lower()
    return [Found(m.start(), m.end(), attribute_of(noun), "", "decision", negated=True, corrects=True, single=True)]


_TOPIC_READERS = {say.MADE: _made, say.TOPIC: _owned, say.CHANGED: _moved, say.REFUSED: _refused, say.BARE_TOPIC: _bare}


def _solid(value: str) -> bool:
    """A number, a date, a name or a quotation: what a fact of an unknown noun must be."""
    head = re.sub(r"^(?:an?|the|called|named|about|around) ", "", value.strip())
    return bool(re.match(r"[\"“'‘$€£¥]?(?:\d|[A-Z])", head) and not re.match(r"I\b", head))


def _capital(value: str) -> bool:
    head = value.split(maxsplit=1)[0] if value.split() else ""
    return head[:1].isupper() and head.strip(".,") not in say.NOT_NAMES and len(value.split()) <= 3


# ── what was done, decided, is still to do ────────────────────────────────────────────────────────────


def _deeds(body: str, start: int) -> Iterator[Found]:
    if (m := say.DONE.match(body, start)) and (value := _values(m["v"], "", "noun")):
        end = m.start("v") + value[0][1]
        yield Found(start, end, "progress", "finished", "task", _thing(value[0][0]), said="Finished")
    elif (m := say.TO_DO.match(body, start)) and (value := _values(m["v"], "", "noun")):
        yield Found(
            start, m.start("v") + value[0][1], "progress", "open", "task", _thing(value[0][0]), said="Still to do"
        )
    elif (m := say.STARTS.match(body, start)) and DATED.search(m["v"]) and (value := _values(m["v"], "", "date")):
        which = "start" if m["verb"][0].lower() in "sb" else "end"
        yield Found(start, m.start("v") + value[0][1], f"{m['a'].strip().lower()} {which} date", value[0][0])
    elif m := say.NO_MORE.match(body, start):
        drinks = re.search(r"coffee|tea|alcohol|beer|wine|soda|milk|juice|cola", m["v"], re.IGNORECASE)
        yield Found(start, m.end(), "drinks" if drinks else "eats", m["v"], "preference", negated=True, corrects=True)
    elif "birthday" in body and (m := say.BIRTHDAY.search(body)):
        yield Found(m.start(), m.end(), "birthday", "today")
    elif (m := say.DUE.match(body, start)) and DATED.search(m["v"]):
        yield Found(start, m.end(), "deadline", m["v"].strip(), "task", _thing(m["s"]))
    elif (m := say.DECIDED.match(body, start)) and len(m[0].split()) > 2 and not say.UNSURE.search(m[0]):
        yield Found(start, m.end(), "", "", "decision", said="decided")


def _thing(words: str) -> str:
    return re.sub(r"^(?:the|my|our|an?) ", "", words.strip().lower())


def _reply_style(body: str) -> Iterator[Found]:
    """brief replies, please; one style at a time, whatever the words."""
    m = say.REPLY_STYLE.search(body)
    if m is None or not (say.WANTS_STYLE.search(body) or m.start() == 0):
        return
    words = (m["v"] or m["v2"]).lower()
    if re.search(r"\b(?:no|not|don['’]t|stop|without|no more)\b[\w ]{0,12}$", body[: m.start()].lower()):
        return
    value = next((s for key, s in _STYLES if key in words), words)
    yield Found(m.start(), m.end(), "reply style", value, "preference", corrects=bool(say.CORRECTS.search(body)))


_STYLES = (
    ("detail", "very detailed"), ("thorough", "very detailed"), ("long", "very detailed"), ("brief", "brief"),
    ("short", "brief"), ("concise", "brief"), ("terse", "brief"), ("informal", "informal"), ("formal", "formal"),
)  # fmt: skip


def _appositions(body: str) -> Iterator[Found]:
    """my sister Mia, our cat Miso: named by the way."""
    for m in say.APPOSITION.finditer(body):
        kin = attribute_of(m["k"])
        first = m["v"].split()[0]
        if kin in KIN | PETS and first not in say.NOT_NAMES | say.NOT_SUBJECTS:
            died = say.DIED.match(body, m.end()) is not None and kin in PETS
            yield Found(m.start(), m.end(), kin, m["v"], negated=died, corrects=died)


_SHOUTED = re.compile(r"[A-Z]{4,}(?: [A-Z]+)*!")  # "it's INTENSE" puts nothing right


def _corrected(body: str, m: re.Match[str], earlier: str) -> Iterator[Found]:
    """it should be 8000: of the noun that was spoken of last."""
    value = _values(m["v"], "", "noun")
    nouns = [n for n in _CORRECTABLE.findall(f"{earlier} {body[: m.start()]}".lower()) if not _OF_ANYTHING.match(n)]
    if not value or not _solid(m["v"]) or _SHOUTED.match(body, m.start("v")):
        return
    if not nouns:  # of what is not said
        yield Found(m.start(), m.start("v") + value[0][1], "", "", corrects=True, said="The user corrected")
        return
    attribute = attribute_of(re.sub(rf"^{_DETERMINER} ", "", nouns[-1]))
    yield Found(m.start(), m.start("v") + value[0][1], attribute, value[0][0], corrects=True, single=True)


# ── values ────────────────────────────────────────────────────────────────────────────────────────────


def _values(raw: str, attribute: str, check: str, *, listed: bool = False) -> list[tuple[str, int]]:
    """The value, or the values of a list, each with its end in `raw`; [] where it is none."""
    if attribute not in MANY and not listed:
        town = _DWELLING.match(raw) if attribute == "home city" else None
        end = _cut(raw, check)
        value = _unquoted(raw[town.end() if town else 0 : end])
        if attribute == "home city" and check == "place" and not _TOWN.match(value):
            return []
        return [(value, end)] if _fits(value, check) else []
    found: list[tuple[str, int]] = []
    at = 0
    if check in ("liked", "eaten") and _SPREAD.match(raw):
        end = _cut(_joined(raw), check)  # "near beaches, mountains and lakes" is one
        value = _bare_value(raw[:end], check)
        return [(value, end)] if _fits(value, check) else []
    for piece, begins in _pieces(raw):
        end = _cut(_joined(piece), check)
        value = _bare_value(piece[:end], check)
        if say.NOT_LIKED.match(piece.strip()) or (at and (say.NOT_A_PIECE.match(piece) or len(value.split()) > 5)):
            break
        if not _fits(value, check) or (attribute in PREFERENCES and _POINTS.search(value)):
            break
        if at and attribute == "owns" and not _OWN_PIECE.match(piece):
            break
        if found and found[0][0].startswith("to ") and not value.startswith("to "):
            value = f"to {value}"  # "to read, swim and cook"
        found.append((value, begins + end))
        at = begins + 1
        if end < len(piece.rstrip(" .")) or len(value.removeprefix("to ").split()) > 4:
            break
    return found


# "a safe, inviting place", "new and powerful models": what is not done with goes on after the mark
_UNFINISHED = re.compile(
    r"(?:\b(?:an?|more|something|very|so) [\w-]+"
    r"|\b(?:new|old|hot|big|small|good|fresh|warm|cold|long|short|fun)(?<!for good))$"
)
# what "I like to" goes on with after a mark: "read, swim and cook", where "create poems and stories" is one deed
_DEED = re.compile(
    r"(?:to|read|write|draw|paint|sing|dance|swim|run|jog|walk|hike|climb|ski|surf|sail|cycle|ride|cook|bake|grill|eat|drink"
    r"|travel|visit|explore|camp|garden|knit|sew|play|watch|listen|go|take|make|meet|talk|chat|sleep|study|learn|work)\b"
)
# "holding them", "escaping to that world": of what, the sentence itself does not say
_POINTS = re.compile(r"\b(?:it|them|him|this|these|those)\b|\b(?:\w+ing|to|in|on|at|of|with|for|about) that\b")
_OWN_PIECE = re.compile(r"(?:an?|the|my|some|another|two|three|four|five|\d+) ")
_SPREAD = re.compile(r"\w+ing (?:near|in|at|on|along|around|by|with) ", re.IGNORECASE)


def _pieces(raw: str) -> Iterator[tuple[str, int]]:
    at, deeds = 0, raw.startswith("to ")
    for m in say.LIST.finditer(raw):
        if _goes_on(raw, at, m, deeds=deeds):
            continue
        yield raw[at : m.start()], at
        at = m.end()
    yield raw[at:], at


def _goes_on(raw: str, at: int, m: re.Match[str], *, deeds: bool) -> bool:
    """Whether what stands after the mark belongs to the value before it, and both together are no story."""
    if say.NOT_A_PIECE.match(raw, m.end()) or m[0].strip() not in (",", "and"):
        return False
    if not (_UNFINISHED.search(raw[at : m.start()]) or (deeds and not _DEED.match(raw, m.end()))):
        return False
    following = say.LIST.search(raw, m.end())
    whole = _joined(raw[at : following.start() if following else len(raw)])
    return len(whole[: _cut(whole, "")].split()) <= WORDS


def _joined(piece: str) -> str:
    """Of the same length, without what would end a value: what is left in a piece belongs to it."""
    return piece.replace(",", " ").replace(" and ", "  &  ")


def _cut(raw: str, check: str) -> int:
    """Where the value ends: before "but", "because", "which", a mark."""
    m = say.CUTS.search(raw)
    end = m.start() if m else len(raw)
    if check in ("place", "name") and (m := say.PLACE_CUTS.search(raw[:end])):
        end = m.start()
    return end


def _unquoted(words: str) -> str:
    """Without the marks around it: a quotation that ends the value keeps both of its own."""
    bare = words.strip(" \"“”'‘’,.*-–—")
    return f'{bare}"' if bare.count('"') == 1 and '"' in words[words.find(bare) + len(bare) :] else bare


_FOR_GOOD = re.compile(r" (?:for (?:good|ever|life)|forever)$", re.IGNORECASE)


def _bare_value(value: str, check: str) -> str:
    value = _FOR_GOOD.sub("", _unquoted(value))
    for _ in range(3):
        shorter = (
            say.FILLER_HEAD.sub("", value, count=1)
            if say.FILLER_HEAD.match(value) and check in ("liked", "eaten", "")
            else value
        )
        if shorter == value:
            break
        value = shorter
    return value


def _fits(value: str, check: str) -> bool:
    if not value or len(value.split()) > WORDS or (len(value) < 2 and not value.isdigit()):
        return False
    if check in ("liked", "eaten"):
        if re.search(r"\b(?:is|are|was|were|has|have|these|this)$|\b(?:is|are) \w+$", value) or value == "to":
            return False
        return not say.NOT_LIKED.match(value) and not say.ADVERB.fullmatch(value) and not (
            check == "eaten" and _MEALS.match(value)
        )
    if check == "name":
        whose = value.endswith(("'s", "’s"))  # "at Monday's meeting"
        return value[0].isupper() and not whose and value.split(maxsplit=1)[0] not in say.NOT_NAMES
    if check == "learnt":
        return not _VAGUE.match(value) and not _NOT_LEARNT.match(value)
    if _VAGUE.match(value):
        return False
    if check == "place":
        return _PLACE.match(value) is not None
    if check == "date":
        return DATED.search(value) is not None
    return not re.match(
        r"(?:the best|the worst|great|awesome|amazing|fine|good|okay|bad"
        r"|it|that|this|them|you|me|him|her|so|not|like|going|been|very|too|just|on the way"
        r"|(?:an? )?(?:few|couple of|\d+) (?:minutes|hours|days|weeks|months|years) ago)\b",
        value,
        re.IGNORECASE,
    )


_VAGUE = re.compile(
    r"(?:(?:an?|the|my|this|our|some|many|any) )?(?:(?:new|big|small|large|certain|different|good|other) )*"
    r"(?:compan(?:y|ies)|firm|job"
    r"|place|office|project|team|skills?|things?|knowledge|something|stuff|home|work)(?: recently| lately)?$",
    re.IGNORECASE,
)
_NOT_LEARNT = re.compile(
    r"(?:that|about how|from|with|for|by|together|a (?:ton|lot)|so much|a great deal"
    r"|(?:real|really|very|pretty|super)? ?hard)\b",
    re.IGNORECASE,
)
_MEALS = re.compile(
    r"(?:breakfast|lunch|dinner|out|something|well|healthy|too|less|more|at|in|with|before|after|responsibly)\b",
    re.IGNORECASE,
)
