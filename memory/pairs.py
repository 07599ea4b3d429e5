"""What becomes of two entries that may say the same, by a model: one call for all doubtful pairs of a job.

A pair is doubtful where the rules of revision.py find like words and can say neither "the same" nor "it says more";
which those are is said here, and nothing is stored. The pairs are within the guard already: of one subject, and of one
attribute if they have any. The verdict counts where revision.py lets it. Words that a model gives for both count only
if both say so and nothing of either is lost; a row that names no offered pair is refused alone. An answer that cannot
be read is asked for once more and then told as `Unreadable`, with its raw words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.consolidation import doubtful
from memory.drawing import Refused, read_rows
from memory.keywords import Ask, Unreadable
from memory.language import terms
from memory.losses import Leaving, losses

MOST = 20  # pairs in one call
TRIES = 2
LIKE = 0.5  # of the shorter one's words, for two values to be perhaps the same
VERDICTS = {"same": "same", "replaces": "replaces", "merge": "merges", "both": "beside"}  # as they are proposed


@dataclass(frozen=True, slots=True)
class Pair:
    """An entry that is known and one that was said now, each with its day."""

    name: str  # n1
    fact: str  # f12
    old: str
    since: str
    new: str
    said: str
    value: bool = False  # both are values of one attribute that holds many: there is no sentence for both


@dataclass(frozen=True, slots=True)
class Verdict:
    action: str  # same, replaces, merges, beside
    text: str = ""  # that says all of both


@dataclass(frozen=True, slots=True)
class Judged:
    verdicts: Mapping[str, Verdict]  # by the name of the pair; one without any is left to the rules
    refused: tuple[Refused, ...] = ()


PROMPT = """\
Entries about a user that are known, each with one that was said later and is like it. What becomes of the two?
- same: they say the same thing
- replaces: the later one holds in place of the known one
- merge: they tell parts of one thing; "text" is one sentence with all that both say, and nothing else
- both: they are about different things, or hold beside each other

{pairs}

Answer with JSON only: {{"verdicts": [{{"pair": "n1", "verdict": "both", "text": ""}}]}}"""


def alike(known: str, new: str) -> bool:
    """Whether two values share so many words that they may be one.

    >>> alike("hiking in the Alps", "hiking"), alike("sushi", "jazz")
    (True, False)
    """
    a, b = set(terms(known)), set(terms(new))
    return len(a & b) >= max(1.0, LIKE * min(len(a), len(b)))


def schema(pairs: Sequence[Pair]) -> dict[str, Any]:
    row = {
        "pair": {"type": "string", "enum": [pair.name for pair in pairs]},
        "verdict": {"type": "string", "enum": list(VERDICTS)},
        "text": {"type": "string"},
    }
    rows = {"type": "object", "properties": row, "required": list(row), "additionalProperties": False}
    told = {"verdicts": {"type": "array", "items": rows}}
    return {"type": "object", "properties": told, "required": ["verdicts"], "additionalProperties": False}


def judge(pairs: Sequence[Pair], ask: Ask) -> Judged | Unreadable:
    """The model's word on each pair; one call, or two where the first answer cannot be read."""
    if not pairs:
        return Judged({})
    lines = "\n".join(
        f"{p.name} · {p.fact} ({p.since}): {_line(p.old)}\n   later ({p.said}): {_line(p.new)}" for p in pairs
    )
    prompt, raw, error = PROMPT.format(pairs=lines), "", ""
    for _ in range(TRIES):
        again = f"\n\nYour last answer could not be used: {error}. Answer with the JSON object alone." if error else ""
        raw = ask(f"{prompt}{again}", schema(pairs))
        rows, error = read_rows(raw, "verdicts")
        if not error:
            return _taken(rows, {pair.name: pair for pair in pairs})
    return Unreadable((), error, raw)


def _line(text: str) -> str:
    return " ".join(text.split())


def _taken(rows: Sequence[Any], offered: Mapping[str, Pair]) -> Judged:
    verdicts: dict[str, Verdict] = {}
    refused: list[Refused] = []
    for row in rows:
        name = str(row.get("pair")) if isinstance(row, dict) else ""
        taken = "the pair has a verdict already" if name in verdicts else _row(row, offered)
        if isinstance(taken, str):
            refused.append(Refused(taken, json.dumps(row, ensure_ascii=False)))
        else:
            verdicts[name] = taken
    return Judged(verdicts, tuple(refused))


def _row(row: Any, offered: Mapping[str, Pair]) -> Verdict | str:
    if not isinstance(row, dict):
        return "it is no object"
    pair, verdict = offered.get(str(row.get("pair"))), str(row.get("verdict"))
    if pair is None:
        return f"no pair {row.get('pair')!r} was offered; offered were: {', '.join(offered)}"
    if verdict not in VERDICTS:
        return f"there is no verdict {row.get('verdict')!r}; choose one of: {', '.join(VERDICTS)}"
    if verdict != "merge":
        return Verdict(VERDICTS[verdict])
    given = row.get("text")
    text = _line(given) if isinstance(given, str) else ""
    why = _unfit(text, pair)
    return f"its words for {pair.fact} and the later one are not used: {why}" if why else Verdict("merges", text)


def _unfit(text: str, pair: Pair) -> str:
    """Why a sentence cannot stand for both."""
    if pair.value:
        return "they are values of a list, which holds both"
    if not text:
        return "there are none"
    if why := doubtful(text, [pair.old, pair.new]):
        return why
    lost = [loss for loss in losses([Leaving(0, pair.old), Leaving(0, pair.new)], [text]) if loss.kind != "words"]
    return f"they lose {lost[0].kind} {lost[0].what!r}" if lost else ""
