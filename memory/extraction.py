"""What of a turn is worth keeping, by rule, in English and Chinese: facts, preferences, decisions, progress.

A cheap look first, then forms, sentence by sentence. Kept is what somebody states about themselves, about a person they
name, or plainly about the world. Never kept: what the assistant or the system said, what was put into the prompt,
questions, what is only supposed, other people's quoted words, courtesies, passing states. An empty result has a reason.

It guesses nothing: what no form covers is not kept, and a language model (drawing.py) may see more. What a new
statement does to an old one is decided elsewhere (revision.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from memory import phrases_chinese, phrases_english
from memory.attributes import EPISODIC, USER, attribute_of, entry, is_single, known_noun, mostly_chinese, topic_of
from memory.errors import BadMessage
from memory.extraction_chinese import find_chinese
from memory.extraction_english import Found, find_english, read_as
from memory.facts import Candidate
from memory.language import as_written, is_cjk, sentences, simplified
from memory.relations import relation_in
from memory.saidtime import MONTHS, holds_in, holds_still, times_in
from memory.tokens import clip, count
from memory.topic import FILLER

READ = 20_000  # characters of a turn; what lies beyond is a paste
SENTENCE = 400  # characters; a longer one is a paste
ENTRY_TOKENS = 100
QUOTED_TOKENS = 70

# Whatever the engine, or a paste of its answers, put between marks: each is as long as before once it is blanked.
_INJECTED = re.compile(
    r"<(recalled|tool_result|known|facts|memory|system|bookmarks)\b[^>]{0,200}>.*?(?:</\1\s*>|\Z)|```.*?(?:```|\Z)"
    r"|^\s*>[^\n]*|^[ \t]*\[p\d+(?:-p\d+)?(?::[^\]\n]*)?\]"
    r"|\b(?:You|I) said(?: \([^)\n]{0,80}\))?: [^\n]*|^[ \t]*Noted: [^\n]*|I do not find that in what I can see[^\n]*"
    r"|[你我]说过(?:（[^）\n]{0,80}）)?：[^\n]*|^[ \t]*记下了：[^\n]*"
    r"|^[ \t]*(?:assistant|system|AI|助手|系统)\s*[:：][^\n]*",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\b(?:says?|said|wrote|writes?|texted|replied|told me|asked|answered|reads?|quote)[:,]? ?[“\"][^”\"\n]{1,300}[”\"]"
    r"|[“\"][^”\"\n]{1,300}[”\"],? (?:(?:he|she|they|[A-Z]\w+) (?:said|says|wrote|asked|replied)|said)"
    r"|[说问写道喊][：:，,]?[“「\"][^”」\"\n]{1,300}[”」\"]",
)
_ERASED = re.compile(rf"(?<![A-Za-z\d]){FILLER}{{2,}}(?![A-Za-z\d])")  # a sentence was here
_SCREEN = re.compile(
    r"[<>`\[]|__|[Ss]aid|oted:|find that|说过|记下|assistant|system|AI|助手|系统|[“\"「]", re.IGNORECASE
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|went|got|bought|accepted|\w{3,}ed|signed|began|left|took|since|ago|last)\b|了|过|去年|昨"
)
# "remember, you got this": said to cheer somebody up, not to be kept
_ADVICE = re.compile(
    r"\s*(?:[,–—-]|(?:that |to )?(?:you|your|they|how|why|what|when|take care"
    r"|every|enjoy|have fun|be|staying|being|just|\w+,? just|life(?:['’]s| is)?"
    r"|it['’]s (?:about|all|ok|okay|always|never|not about)|anything is|nothing is impossible)\b"
    r"|to (?!.*\b(?:me|my|i|us|our)\b))",
    re.IGNORECASE,
)
_ENGLISH_TOO = re.compile(r"\b(?:I|[Mm]y)\b")
_KEEP = re.compile("[记重]|忘了|忘记|[Rr]emember|forget|mind|[Nn]ote|know|[Ww]rite")
_DATES = ("date", "day", "deadline", "appointment", "birthday", "report", "time", "opening")
_SETTLED = frozenset(
    {"home city", "employer", "job", "work city", "marital status", "spouse", "owns", "educated at", "pet"}
)
_STATE = re.compile(
    r"\b(?:I['’]?m|I am|I feel|I['’]ve been)\b|[我].{0,3}(?:累|困|饿|难过|开心|高兴|郁闷|烦|头疼|紧张)", re.IGNORECASE
)


def candidates(
    text: str, *, role: str, speaker: str, said_at: datetime, before: str = ""
) -> tuple[list[Candidate], str]:
    """What the turn states that is worth keeping, in order of the text, and why nothing is.

    `before` is the assistant's turn before, for answers such as "8000" to a question. Raises BadMessage for a
    `said_at` without a zone.

    >>> found, _ = candidates("I moved to Lyon last year.", role="user", speaker="Ana",
    ...                       said_at=datetime.fromisoformat("2026-03-02T09:00+01:00"))
    >>> [(c.subject, c.attribute, c.value, c.valid_from.isoformat()) for c in found]
    [('user', 'home city', 'Lyon', '2024-12-31T23:00:00+00:00')]
    """
    if said_at.tzinfo is None:
        raise BadMessage(f"said_at {said_at.isoformat()} has no zone; give an aware time, such as {said_at}+00:00")
    if role not in ("user", "tool"):
        return [], "by the assistant" if role == "assistant" else f"from the {role}"
    if not text.strip():
        return [], "no words"
    own = own_words(text[:READ])
    if not own.strip():
        return [], "injected text"
    read = simplified(own) if is_cjk(own) else read_as(own)
    if role == "tool":
        found, reason = _plain_statements(read)
        return _as_written(found, read, own), reason
    if _small_talk(read):
        return [], "small talk"
    found, reason = _drawn(read, speaker, said_at, simplified(before))
    found = _as_written(found, read, own)
    if len(text) > READ:
        reason = f"only the first {READ:,} of {len(text):,} characters were read"
    return _distinct(found), reason if len(text) > READ or not found else ""


def own_words(text: str) -> str:
    """The text with what was put into it, quotes somebody or was erased blanked: as long as before, so that spans stay.

    >>> own_words('ok <recalled page="p3">I am Bob</recalled> I am Ana').split()
    ['ok', 'I', 'am', 'Ana']
    """
    if not _SCREEN.search(text):
        return text
    for marks in (_INJECTED, _QUOTED, _ERASED):
        text = marks.sub(lambda m: "\n" + " " * (len(m[0]) - 2) + "\n" if len(m[0]) > 1 else " ", text)
    return text


def _as_written(found: list[Candidate], read: str, own: str) -> list[Candidate]:
    """In the speaker's own words, where the forms read them in other letters of the same number."""
    if read == own:
        return found
    return [_in_own_letters(each, read, own) for each in found]


def _in_own_letters(each: Candidate, read: str, own: str) -> Candidate:
    def written(words: str) -> str:
        return as_written(words, read, own, each.start)

    text = each.text
    for part in (*_PARTS.findall(text), each.value, each.subject):
        text = text.replace(part, written(part)) if part else text
    return replace(each, text=text, value=written(each.value), subject=written(each.subject))


_PARTS = re.compile(r"^[^“]+(?=[.。]$)|(?<=“)[^”…]+")


def _small_talk(text: str) -> bool:
    if len(text) > 120:
        return False
    return bool(phrases_english.SMALL_TALK.match(text) or phrases_chinese.SMALL_TALK.match(text))


def _plain_statements(text: str) -> tuple[list[Candidate], str]:
    """What a tool's result states plainly about the world."""
    found = [c for start, end in _sentences(text) if (c := _about_the_world(text, start, end, 0.5))]
    return _distinct(found), "" if found else "no plain statement in the tool's result"


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    return ((start, end) for start, end in sentences(text) if end - start <= SENTENCE)


# ── sentence by sentence ──────────────────────────────────────────────────────────────────────────────


def _drawn(text: str, speaker: str, said_at: datetime, before: str) -> tuple[list[Candidate], str]:
    found: list[Candidate] = []
    reasons: list[str] = []
    whose, asked_to_keep = USER, False
    for start, end in _sentences(text):
        sentence = text[start:end]
        chinese = is_cjk(sentence) and mostly_chinese(sentence)
        earlier = f"{before[-300:]} {text[max(0, start - 300) : start]}"
        if chinese:
            seen, reason, whose = find_chinese(sentence, earlier, whose)
            if not reason and _ENGLISH_TOO.search(sentence):
                seen += find_english(sentence, earlier, speaker)[0]
        else:
            seen, reason = find_english(sentence, earlier, speaker)
            if not reason and "我" in sentence:  # 我叫Ana, I am allergic to 花生
                seen += find_chinese(sentence, earlier)[0]
        keep, asked_to_keep = _asked_to_keep(sentence, chinese=chinese, before=asked_to_keep)
        weight = 1.0 if keep else 0.0
        new = [_candidate(each, text, start, said_at, weight, chinese=chinese) for each in seen]
        if not new and reason != "a question" and (world := _about_the_world(text, start, end, weight or 0.5)):
            new = [world]
        if keep and not new and not reason and (kept := _kept_words(text, start, end, chinese=chinese)):
            new, asked_to_keep = [kept], False
        found += new
        reasons.append(reason)
    if not found and before and (answer := _answer(text, before, said_at)):
        found = [answer]
    return found, _reason(text, reasons)


def _reason(text: str, reasons: list[str]) -> str:
    told = [reason for reason in reasons if reason]
    if told and len(told) == len(reasons):
        return told[0]
    if not reasons:
        return "pasted text only"
    if len(text) < 200 and _STATE.search(text):
        return "a passing state"
    return told[0] if told and len(reasons) - len(told) == 0 else "no fact"


def _asked_to_keep(sentence: str, *, chinese: bool, before: bool) -> tuple[bool, bool]:
    """Whether this sentence is to be remembered, and whether it only announces that the next one is."""
    if not _KEEP.search(sentence):
        return before, False
    pattern = phrases_chinese.REMEMBER if chinese else phrases_english.REMEMBER
    m = pattern.search(sentence)
    if (
        m is None
        or re.search(r"[?？]\s*$", sentence)
        or re.search(r"\b(?:I|you|can['’]t|do you|will) $", sentence[: m.start() + 1])
    ):
        return before, False
    says = re.sub(r"\W", "", m["rest"]) or re.sub(r"\W", "", sentence[: m.start()])
    announces = len(says) < (4 if chinese else 8)
    return True, announces


def _kept_words(text: str, start: int, end: int, *, chinese: bool) -> Candidate | None:
    """What somebody asks to remember, in their own words, where no form reads it."""
    sentence = text[start:end]
    m = (phrases_chinese.REMEMBER if chinese else phrases_english.REMEMBER).search(sentence)
    rest = m["rest"].strip(" :：,，.。!！") if m else sentence
    if _ADVICE.match(m["rest"]) if m else False:
        return None
    rest = re.sub(r"^that ", "", rest)
    words = rest if len(rest) >= (4 if chinese else 8) else sentence
    if len(words) < (4 if chinese else 8) or re.search(r"[?？]\s*$", sentence):
        return None
    at = text.index(words, start) if words in sentence else start
    said = "用户要求记住" if chinese else "The user asked to remember"
    return _quoting(said, text, at, at + len(words), chinese=chinese, kind="fact", importance=1.0)


def _about_the_world(text: str, start: int, end: int, importance: float) -> Candidate | None:
    sentence = text[start:end]
    lead = re.match(
        r"(?:\d{1,6}[.)] |[-*•] )?(?:(?:please )?remember(?: that)?[:,]? |actually,? |in fact,? |now,? )*",
        sentence,
        re.I,
    )
    offset = lead.end() if lead else 0
    bare = sentence[offset:]
    relation = relation_in(bare[:1].upper() + bare[1:] if bare.startswith("the ") else bare)
    if relation is None:
        return None
    topics = (topic,) if (topic := topic_of(relation.attribute)) else ()
    return Candidate(
        text=_fitting(sentence[offset:], "", chinese=is_cjk(relation.subject)),
        start=start + offset,
        end=end,
        subject=relation.subject,
        attribute=relation.attribute,
        value=relation.value,
        single=relation.single,
        origin="correction" if offset and re.search("actually|in fact", sentence[:offset], re.I) else "statement",
        layer="semantic",
        tags=(*(f"topic:{t}" for t in topics), "topic:world"),
        importance=importance,
    )


# ── an answer to what was asked ───────────────────────────────────────────────────────────────────────

_ASKED = (
    (re.compile(r"what(?:['’]s| is) your (?P<a>[a-z -]{2,30})\?\W*$|your (?P<b>[a-z -]{2,30})\?\W*$", re.I), ""),
    (re.compile(r"(?:where do you live|which city (?:do you live|are you) in)\?\W*$", re.I), "home city"),
    (re.compile(r"how old are you\?\W*$", re.I), "age"),
    (re.compile(r"(?:what should i call you|may i (?:ask|know) your name)\?\W*$", re.I), "name"),
    (re.compile(r"where do you work\?\W*$", re.I), "employer"),
    (
        re.compile(
            r"(?:你|您)的(?P<a>[\u4e00-\u9fff]{1,8}?)(?:是|大概|大约|叫)*(?:什么|多少|哪.{0,3}|几号)?[呢呀]?[？?]\W*$"
        ),
        "",
    ),
    (re.compile(r"(?:你|您)(?:现在)?住在?哪.{0,4}[？?]\W*$"), "home city"),
    (re.compile(r"(?:你|您)(?:今年)?(?:多大|几岁).{0,2}[？?]\W*$"), "age"),
    (re.compile(r"(?:怎么称呼|叫什么名字?).{0,3}[？?]\W*$"), "name"),
)
_BARE_ANSWER = re.compile(
    r"\W*(?:(?:yes|yeah|sure|well|it['’]s|it is|no|about|around|i['’]m|in|at"
    r"|是的?|好的?|嗯|对|大概|大约|叫|我叫|在)[,，.。 ]*)*"
    r"(?P<v>[^.,!?;。，！？；\n]{1,40})[.!。！\s]*$",
    re.IGNORECASE,
)


def _answer(text: str, before: str, said_at: datetime) -> Candidate | None:
    """ "8000", to "What is your budget?" """
    if len(text) > 60 or not (m := _BARE_ANSWER.match(text)):
        return None
    value = m["v"].strip()
    for asked, attribute in _ASKED:
        if not (q := asked.search(before[-200:])):
            continue
        noun = next((g for g in q.groups() if g), "") if q.groups() else ""
        attribute = attribute or _attribute(noun)
        if attribute and len(value.split()) <= 5 and (value[0].isdigit() or value[0].isupper() or is_cjk(value[0])):
            chinese = is_cjk(text)
            found = Found(m.start("v"), m.end("v"), attribute, value)
            return _candidate(found, text, 0, said_at, 0.0, chinese=chinese or is_cjk(before))
    return None


def _attribute(noun: str) -> str:
    return attribute_of(noun) if known_noun(noun) else ""


# ── a candidate ───────────────────────────────────────────────────────────────────────────────────────

_IMPORTANCE = {"fact": 0.6, "preference": 0.55, "decision": 0.6, "task": 0.4}
_LAYERS = {"decision": "episodic", "task": "working"}


def _candidate(
    found: Found, text: str, offset: int, said_at: datetime, importance: float, *, chinese: bool
) -> Candidate:
    start, end = offset + found.start, offset + found.end
    if found.said:
        return _deed(found, text, start, end, importance, chinese=chinese)
    if found.value.lower() in ("today", "今天") and found.attribute == "birthday":
        found = found._replace(value=_day_of(said_at, chinese=chinese))
    single = is_single(found.attribute) if found.single is None else found.single
    begins, ends, still = _holds(found, text, start, end, said_at)
    intent = "correct" if found.corrects else {"preference": "prefer", "decision": "decide"}.get(found.kind, "state")
    topic = topic_of(found.attribute)
    layer = "episodic" if found.attribute in EPISODIC else "semantic" if found.value and found.kind != "task" else ""
    return Candidate(
        text=_worded(found, text[start:end], said_at, chinese=chinese),
        start=start,
        end=end,
        kind=found.kind,
        subject=found.subject,
        attribute=found.attribute,
        value=found.value,
        negated=found.negated,
        single=single,
        origin="correction" if found.corrects else "statement",
        layer=layer or _LAYERS.get(found.kind, "semantic"),
        tags=(*((f"topic:{topic}",) if topic else ()), f"intent:{intent}"),
        valid_from=begins,
        valid_to=ends,
        still=still,
        importance=importance or min(1.0, _IMPORTANCE[found.kind] + (0.1 if found.corrects else 0.0)),
    )


def _day_of(said_at: datetime, *, chinese: bool) -> str:
    """The day of the year: today is no date to keep."""
    if chinese:
        return f"{said_at.month}月{said_at.day}日"
    return f"{said_at.day} {MONTHS[said_at.month - 1].capitalize()}"


def _worded(found: Found, quoted: str, said_at: datetime, *, chinese: bool) -> str:
    value = found.value
    if any(word in found.attribute for word in _DATES) and value:
        value = _with_its_day(value, said_at)
    told = entry(found.subject, found.attribute, value, negated=found.negated, chinese=chinese)
    return told if count(told) <= ENTRY_TOKENS else _fitting(quoted, "", chinese=chinese)


def _with_its_day(value: str, said_at: datetime) -> str:
    """Tuesday (2026-03-10): a day that was said without its year reads right for ever."""
    days = [each for each in times_in(value, said_at) if not re.search(r"\d{4}", value[each.start : each.end])]
    if len(days) != 1 or (days[0].ends - days[0].begins).days > 1:
        return value
    return f"{value} ({days[0].begins.astimezone(said_at.tzinfo).date().isoformat()})"


def _deed(
    found: Found, text: str, start: int, end: int, importance: float, *, chinese: bool
) -> Candidate:
    said = {"decided": "The user decided", "决定": "用户决定"}.get(found.said, found.said)
    kept = _quoting(
        said,
        text,
        start,
        end,
        chinese=chinese,
        kind=found.kind,
        importance=importance or _IMPORTANCE[found.kind],
    )
    if not found.attribute:
        return replace(kept, origin="correction", tags=("intent:correct",)) if found.corrects else kept
    return Candidate(
        text=kept.text, start=start, end=end, kind=found.kind, subject=found.subject, attribute=found.attribute,
        value=found.value, single=True, layer=_LAYERS[found.kind], tags=("intent:progress",),
        importance=kept.importance,
    )  # fmt: skip


def _quoting(
    said: str, text: str, start: int, end: int, *, chinese: bool, kind: str, importance: float
) -> Candidate:
    intent = "remember" if importance == 1.0 else "decide"
    return Candidate(
        text=_fitting(text[start:end], said, chinese=chinese),
        start=start,
        end=end,
        kind=kind,
        subject=USER,
        layer=_LAYERS.get(kind, "semantic"),
        tags=(f"intent:{intent}",),
        importance=importance,
    )


def _fitting(quoted: str, said: str, *, chinese: bool) -> str:
    """The words themselves, shortened to an entry's size."""
    words = " ".join(quoted.split()).rstrip(".。")
    kept = clip(words, QUOTED_TOKENS)
    kept = kept if kept == words else f"{kept}…"
    if not said:
        return f"{kept}。" if chinese else f"{kept}."
    return f"{said}：“{kept}”。" if chinese else f"{said}: “{kept}”."


def _holds(
    found: Found, text: str, start: int, end: int, said_at: datetime
) -> tuple[datetime | None, datetime | None, bool]:
    """Since when, until when, and whether still, where its clause bounds it; a date that is the value bounds nothing"""
    if found.negated or found.now or (found.value and any(word in found.attribute for word in _DATES)):
        return None, None, False
    ahead = text[max(0, start - 30) : start]  # "Last year I moved": a time right before counts, and what follows it
    led = [each for each in times_in(ahead, said_at, past=True) if not ahead[each.end :].strip(" ,，")]
    follows = re.split(r"[.!?;。！？；\n]|, (?:and|but)\b", text[end : end + 40], maxsplit=1)[0]
    words = (ahead[led[-1].start :] if led else "") + text[start:end] + follows
    past = _PAST.search(words) is not None
    if found.attribute in _SETTLED or any(each.bound for each in times_in(words, said_at, past=past)):
        begins, ends = holds_in(words, said_at, past=past)
        return begins, ends, begins is not None and ends is None and holds_still(words, begins, said_at)
    return None, None, False


def _distinct(found: list[Candidate]) -> list[Candidate]:
    """Each statement once, in order of the text; of two for one key and value the longer span says more."""
    kept: dict[tuple[str, str, str, bool], Candidate] = {}
    for each in found:
        key = (each.subject, each.attribute, (each.value or each.text).casefold(), each.negated)
        if key not in kept or (each.origin == "correction") > (kept[key].origin == "correction"):
            kept[key] = each
    return sorted(kept.values(), key=lambda each: (each.start, each.end))
