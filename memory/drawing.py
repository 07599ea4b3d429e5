"""What of a conversation is worth keeping, by one structured call of a language model over its new turns.

The model is shown the turns and, by name, facts that are known ("f3"); only those it may name as targets. Each row must
quote its turn word for word: what is not found there is an inference without a span, to be quarantined, and so is a row
that turns its quote around or says what the quote does not. A row with a target that was never offered is refused alone
(mem0 #3931), an answer that cannot be read is asked for once more and then told as `Unreadable` with its raw words.

It stores nothing and decides nothing about other facts: `action` and `target` are what the model proposes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory import phrases_chinese, phrases_english
from memory.attributes import USER, attribute_of, entry, is_single, mostly_chinese, topic_of
from memory.extraction import own_words
from memory.facts import KINDS, Candidate
from memory.jsontext import object_in, without_thoughts
from memory.keywords import Ask, Unreadable
from memory.language import terms
from memory.polarity import flips
from memory.saidtime import holds_in, holds_still
from memory.tokens import clip, count

TURN_TOKENS = 1_200  # of one turn's words in the prompt
KNOWN = 40  # facts offered at the most
ENTRY_TOKENS = 100
TRIES = 2
ACTIONS = ("new", "same", "replaces", "ends")  # "same" only adds a source; "ends": it holds no more
TARGETED = ("same", "replaces", "ends")


@dataclass(frozen=True, slots=True)
class Heard:
    """A turn as the model reads it; only a person's or a tool's may be drawn from."""

    number: int
    role: str
    text: str
    said_at: datetime
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A candidate, the turn that says so, and what the model proposes to do with a known fact.

    `doubt`: why it must be quarantined ("" if nothing speaks against it); its candidate is then an inference with an
    empty span.
    """

    candidate: Candidate
    turn: int
    action: str = "new"
    target: str = ""  # f3; "" for a new fact
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that was not taken, as it came, and why; the others were."""

    reason: str
    row: str


@dataclass(frozen=True, slots=True)
class Drawing:
    drawn: tuple[Drawn, ...] = ()
    refused: tuple[Refused, ...] = ()
    raw: str = ""
    prompt: str = ""


PROMPT = """\
Which statements in these turns are worth remembering beyond this conversation: facts about the user or people they
name, preferences, decisions, progress of tasks, corrections of what was known? Never: small talk, passing moods,
questions, suppositions, other people's opinions, what the assistant said, anything not said here.
Lines marked (context) explain, but are not to be drawn from.

{turns}
{known}
For each statement one row:
- turn: its name, such as "t12"; quote: the exact words of that turn that say it
- text: one sentence that stands by itself, in the language of the turn
- kind: {kinds}
- subject: "user" or a name; attribute: a short English noun ("home city", "budget", "likes"); value
- negated: true if it says that this does not, or no more, hold
- action: "new", or about a known fact: "same", "replaces", "ends"; target: the known fact's name, or ""
Nothing worth it is an answer: {{"facts": []}}.

Answer with JSON only: {{"facts": [{{"turn": "t1", "quote": "…", "text": "…", "kind": "fact", "subject": "user", \
"attribute": "…", "value": "…", "negated": false, "action": "new", "target": ""}}]}}"""


def schema(turns: Sequence[str], known: Sequence[str]) -> dict[str, Any]:
    """The shape of an answer: turns and facts by the names that were offered."""
    text = {"type": "string"}
    row = {
        "turn": {"type": "string", "enum": list(turns)},
        "quote": text,
        "text": text,
        "kind": {"type": "string", "enum": list(KINDS)},
        "subject": text,
        "attribute": text,
        "value": text,
        "negated": {"type": "boolean"},
        "action": {"type": "string", "enum": list(ACTIONS)},
        "target": {"type": "string", "enum": ["", *known]},
    }
    rows = {"type": "object", "properties": row, "required": list(row), "additionalProperties": False}
    facts = {"type": "array", "items": rows}
    return {"type": "object", "properties": {"facts": facts}, "required": ["facts"], "additionalProperties": False}


def draw(turns: Sequence[Heard], known: Mapping[str, str], ask: Ask) -> Drawing | Unreadable:
    """What the model finds worth keeping in the turns; `known` maps names of facts to their text.

    One call, or two where the first answer cannot be read; none where no turn is a person's or a tool's.
    """
    sources = {
        f"t{turn.number}": turn for turn in turns if turn.role in ("user", "tool") and own_words(turn.text).strip()
    }
    if not sources:
        return Drawing()
    offered = dict(list(known.items())[-KNOWN:])
    prompt = _prompt(turns, sources, offered)
    raw, error = "", ""
    for _ in range(TRIES):
        again = f"\n\nYour last answer could not be used: {error}. Answer with the JSON object alone." if error else ""
        raw = ask(f"{prompt}{again}", schema(list(sources), list(offered)))
        rows, error = read_rows(raw)
        if not error:
            return _taken(rows, sources, offered, raw, prompt)
    return Unreadable(tuple(turn.number for turn in sources.values()), error, raw)


def _prompt(turns: Sequence[Heard], sources: Mapping[str, Heard], offered: Mapping[str, str]) -> str:
    lines = "\n".join(_line(turn, f"t{turn.number}" in sources) for turn in turns if turn.role != "system")
    facts = "\n".join(f"{name}: {' '.join(text.split())}" for name, text in offered.items())
    return PROMPT.format(turns=lines, known=f"\nKnown already:\n{facts}\n" if facts else "", kinds=", ".join(KINDS))


def _line(turn: Heard, source: bool) -> str:
    words = own_words(turn.text) if source else turn.text
    kept = clip(" ".join(words.split()), TURN_TOKENS if source else TURN_TOKENS // 4)
    mark = "" if source else " (context)"
    return f"t{turn.number} · {turn.said_at.date().isoformat()} · {turn.speaker or turn.role}{mark}: {kept}"


def read_rows(raw: str, key: str = "facts") -> tuple[list[Any], str]:
    """The rows of an answer under this key, and why it cannot be read; no rows without an error is a no.

    >>> read_rows('Based on {about travel}, here: ```json {"facts": [{"turn": "t1",}]} ```')
    ([{'turn': 't1'}], '')
    >>> read_rows('{"facts": [{"turn": "t1"')
    ([], 'the JSON breaks off or is malformed')
    """
    found, error = object_in(without_thoughts(raw), (key,))
    if error:
        return [], error
    if key not in found:
        return [], f'there is no "{key}" in it'
    rows = found[key]
    if rows is None:
        return [], ""
    return (rows, "") if isinstance(rows, list) else ([], f'"{key}" is no list')


def _taken(
    rows: Sequence[Any], sources: Mapping[str, Heard], offered: Mapping[str, str], raw: str, prompt: str
) -> Drawing:
    drawn: list[Drawn] = []
    refused: list[Refused] = []
    for row in rows:
        taken = _row(row, sources, offered) if isinstance(row, dict) else "it is no object"
        if isinstance(taken, str):
            refused.append(Refused(taken, json.dumps(row, ensure_ascii=False)))
        else:
            drawn.append(taken)
    return Drawing(tuple(drawn), tuple(refused), raw, prompt)


# ── one row ───────────────────────────────────────────────────────────────────────────────────────────


def _row(row: Mapping[str, Any], sources: Mapping[str, Heard], offered: Mapping[str, str]) -> Drawn | str:
    """The row as a proposal, or why it is refused."""
    action = _word(row, "action") or "new"
    if action not in ACTIONS:
        return f"there is no action {action!r}; choose one of: {', '.join(ACTIONS)}"
    target, why = _target(row, action, offered)
    if why:
        return why
    if not _word(row, "text") and not _word(row, "value"):
        return "it says nothing: neither a text nor a value"
    found = _quoted(_word(row, "quote"), _word(row, "turn"), sources)
    if found is None:
        turn = sources.get(_word(row, "turn"), next(iter(sources.values())))
        if action == "ends":
            return f"{target} cannot end without words that say so; the quote stands in no turn"
        return Drawn(_candidate(row, turn, 0, 0), turn.number, action, target, "its quote stands in no turn")
    turn, start, end = found
    candidate = _candidate(row, turn, start, end)
    doubt = _doubt(candidate, turn.text[start:end])
    if doubt:
        candidate = _candidate(row, turn, 0, 0)
    return Drawn(candidate, turn.number, action, target, doubt)


def _word(row: Mapping[str, Any], key: str) -> str:
    """A text or a number as text; null, lists and the like as ""."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).strip()


def _target(row: Mapping[str, Any], action: str, offered: Mapping[str, str]) -> tuple[str, str]:
    given = row.get("target")
    if action not in TARGETED:
        return "", ""
    if isinstance(given, str) and given.strip() in offered:
        return given.strip(), ""
    names = ", ".join(offered) or "none"
    return "", f"no fact {given!r} was offered to be {action!r}; offered were: {names}"


def _quoted(quote: str, name: str, sources: Mapping[str, Heard]) -> tuple[Heard, int, int] | None:
    """Where the words stand: in the turn that is named, else in the only one that holds them."""
    if not re.search(r"\w", quote):
        return None
    words = re.compile(r"\s+".join(map(re.escape, quote.strip(" \"“”'").split())))
    places = {key: m for key, turn in sources.items() if (m := words.search(own_words(turn.text)))}
    if name in places:
        key = name
    elif len(places) == 1:
        key = next(iter(places))
    else:
        return None
    return sources[key], places[key].start(), places[key].end()


def _doubt(candidate: Candidate, quote: str) -> str:
    """Why the quote does not carry the row."""
    if why := flips(candidate.text, quote):
        return why
    claim = f"{'not ' if candidate.negated else ''}{candidate.value}"
    if candidate.value and (why := flips(claim, quote)):
        return why
    said = set(terms(quote))
    if (
        candidate.value
        and said.isdisjoint(terms(candidate.value))
        and candidate.value.casefold() not in quote.casefold()
    ):
        return f"its quote does not say {candidate.value!r}"
    return ""


def _candidate(row: Mapping[str, Any], turn: Heard, start: int, end: int) -> Candidate:
    quote = turn.text[start:end]
    chinese = mostly_chinese(_word(row, "text") or turn.text)
    kind = _word(row, "kind") if _word(row, "kind") in KINDS else "fact"
    subject = _subject(_word(row, "subject"), turn)
    attribute, value = attribute_of(_word(row, "attribute")), _word(row, "value")
    negated = row.get("negated") is True or str(row.get("negated")).lower() == "true"
    corrects = (phrases_chinese if chinese else phrases_english).CORRECTS.search(quote) is not None
    begins, ends = holds_in(quote, turn.said_at) if quote and not negated else (None, None)
    topic = topic_of(attribute)
    return Candidate(
        text=_text(row, subject, attribute, value, negated=negated, chinese=chinese),
        start=start,
        end=end,
        kind=kind,
        subject=subject,
        attribute=attribute if value or negated else "",
        value=value,
        negated=negated,
        single=bool(attribute) and is_single(attribute),
        origin="inference" if not quote else "correction" if corrects else "statement",
        layer={"decision": "episodic", "task": "working"}.get(kind, "semantic"),
        tags=(*((f"topic:{topic}",) if topic else ()), f"intent:{'correct' if corrects else 'state'}"),
        valid_from=begins,
        valid_to=ends,
        still=begins is not None and ends is None and holds_still(quote, begins, turn.said_at),
        importance=0.6,
    )


def _subject(given: str, turn: Heard) -> str:
    """The speaker by any name is the user."""
    own = {"", "user", "the user", "i", "me", "speaker", "用户", "我", turn.speaker.casefold()}
    return USER if given.casefold() in own else given


def _text(
    row: Mapping[str, Any], subject: str, attribute: str, value: str, *, negated: bool, chinese: bool
) -> str:
    text = " ".join(_word(row, "text").split())
    if not text:
        return entry(subject, attribute or "note", value, negated=negated, chinese=chinese)
    return text if count(text) <= ENTRY_TOKENS else f"{clip(text, ENTRY_TOKENS - 2)}…"
