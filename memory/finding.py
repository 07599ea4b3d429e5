"""What one check of a diagnosis found: a measure with its numerator and denominator, and what it was compared with.

What it says is a code and values; SAYS words the codes in English. Whoever speaks another language words them anew
(workbench/findings.py). Not here: what is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

OK, SUSPECT, NOT_MEASURED = "ok", "suspect", "not measured"
FEWEST = 5  # things counted, below which a share says nothing
TOLD = 6  # pieces of evidence

SAYS: Mapping[str, str] = {
    "no live run": "the run '{run}' is no live one: replays and experiments read no facts",
    "facts paused": "no facts come into prompts: remembering is paused",
    "facts off": "no facts come into prompts: remember is off",
    "facts no room": "no facts come into prompts: facts_tokens is 0",
    "facts reach": "prompts with a fact, by its line or its own turn, of those that facts were considered for",
    "remembering off": "remembering is switched off",
    "not looked at": "{behind} of {of} messages were not looked at yet, the last that was is turn {last}",
    "unread answers": "answers of the extracting model that could not be read",
    "history asked": "steps with pages outside of the window in which one was asked for",
    "recalls empty": "recalls that brought no page",
    "recalls unlabelled": "no recall of this run has a label to be judged by",
    "recalls right": "labelled recalls that brought the evidence",
    "searches refused": "searches that chose no page",
    "facts cut": "facts that were wanted and had no room",
    "pages cut": "recalled pages that had no room",
    "words alone": "pages are found by words alone: {why}",
    "vectors bad": "texts without a sound vector of their own (missing, of a wrong size, no unit, twins)",
    "conflicts open": "{open} of {of} conflicts are undecided",
    "two hold": "{pairs} pairs of facts hold that cannot both",
    "old beside new": "prompts with an old value, unmarked, beside the new one",
    "old on page": "prompts with an old value on a page and no new one",
    "old as fact": "prompts with an old value as a fact",
    "old in bookmark": "prompts with an old value in a bookmark alone",
    "none superseded": "no value was superseded in this run",
    "old in reply": "replies that say an old value and not the new one",
    "facts changed": "replies whose facts were changed meanwhile",
    "updates stuck": "statements left in conflict, quarantined or refused",
    "not taken over": "new values that did not take over",
    "taken over": "new values took over after {lag} turns (median of {of}), {open} not yet",
    "no clock": "no step of this run has times: a replay knows no clock",
    "overhead": "memory takes {ms} ms a step (median), most in {stage}",
    "overhead nowhere": "memory takes {ms} ms a step (median), most in no stage",
    "model time": "nine in ten replies come within {s} s of the model",
    "no model": "no model was called in this run",
    "calls": "{mean} calls of the model a reply",
    "calls failed": "calls of a model that failed, {s} s of waiting after them",
    "work before": "milliseconds of steps that a model spent on memory work",
    "section": "tokens of prompts in the section {section}",
    "recalled unused": "recalled pages that left without use",
    "thrash": "pages back within {steps} steps of leaving",
    "work tokens": "tokens that went into work on the memory",
    "sent again": "tokens of prompts sent again after a recall",
    "prices": "calls without a known price, the others cost ${usd}",
    "keywords shared": "keywords that stand on more than one bookmark",
    "bare": "bookmarks that are a bare name",
    "unknown names": "pages asked for by a name that none has",
    "folded": "pages outside that no bookmark of their own names",
    "work failed": "pieces of memory work that failed",
    "no budget": "the window has no budget (window_tokens=0)",
    "above the mark": "prompts of more than {tokens} tokens",
    "unasked": "facts placed for their weight alone",
    "told twice": "facts that repeat another one's words",
    "no turn looked at": "no turn was looked at for facts",
    "facts kept": "{facts} facts were kept of {turns} turns",
    "few steps": "{steps} steps are too few for a trend; {enough} would do",
    "prompt grows": "tokens of a prompt went from {before} to {after} tokens (medians of a quarter of the steps)",
    "time grows": "milliseconds for memory a step went from {before} to {after} ms (medians of a quarter of the steps)",
    "few turns": "{turns} turns are too few",
    "log grows": "{bytes} bytes of records for {turns} turns",
    "facts history": "facts that are history",
    "jobs wait": "{waiting} of {of} jobs wait or failed",
    "no process": "the log does not hold what a process takes",
}
SHARE, FEW = "share", "few"  # how what is said ends


@dataclass(frozen=True, slots=True)
class Said:
    """A code of SAYS and what stands in its gaps; figures come as they are to be read."""

    code: str
    values: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return SAYS[self.code].format(**dict(self.values))


def said(code: str, **values: object) -> Said:
    """
    >>> str(said("few turns", turns=3))
    '3 turns are too few'
    """
    return Said(code, tuple((name, str(value)) for name, value in values.items()))


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    verdict: str  # ok, suspect, not measured
    says: str  # what was measured, in a sentence
    value: float | None = None  # part / whole, or in its own unit
    unit: str = "share"
    part: float | None = None
    whole: float | None = None
    n: int = 0  # things looked at
    limit: float | None = None  # it is suspect beyond
    limit_from: str = ""  # where that comes from
    evidence: tuple[str, ...] = ()  # turns, pages, facts by name
    remedy: str = ""  # the smallest change: a setting, or a command
    said: Said | None = None  # what `says` is made of; None: words of somebody else's
    ends: str = ""  # share, few: what is added to it

    @property
    def suspect(self) -> bool:
        return self.verdict == SUSPECT

    @property
    def compared(self) -> str:
        """`3/51 = 0.06 share, n=51, limit 0.05 (ours)`"""
        return self.compared_as("limit")

    def compared_as(self, word: str) -> str:
        """The same with another word for the limit."""
        if self.value is None:
            return ""
        counted = f"{self.part:g}/{self.whole:g} = " if self.part is not None and self.whole is not None else ""
        limit = f", {word} {self.limit:g} ({self.limit_from})" if self.limit is not None else ""
        return f"{counted}{self.value:.3g} {self.unit}, n={self.n}{limit}"

    def to_dict(self) -> dict[str, Any]:
        made = asdict(self)
        del made["said"], made["ends"]
        told = self.said or Said("")
        return {**made, "code": told.code, "values": dict(told.values)}


def share(
    name: str, says: Said | str, part: float, whole: float, limit: float, limit_from: str, *,
    evidence: Iterable[str] = (), remedy: str = "", fewest: int = FEWEST, least: bool = False,
) -> Finding:  # fmt: skip
    """`part` of `whole`, suspect above the limit (`least`: below it); of fewer than `fewest` nothing is said."""
    if whole < max(1, fewest):
        told = f"{says}: only {whole:g}, of which no share can be told"
        return Finding(name, NOT_MEASURED, told, n=int(whole), said=_coded(says), ends=FEW)
    value = part / whole
    bad = value < limit if least else value > limit
    return Finding(
        name, SUSPECT if bad else OK, f"{says}: {part:g} of {whole:g} ({value:.0%})", value, "share", part, whole,
        int(whole), limit, limit_from, tuple(evidence)[:TOLD], remedy if bad else "", _coded(says), SHARE,
    )  # fmt: skip


def figure(
    name: str, says: Said | str, value: float, unit: str, n: int, limit: float, limit_from: str, *,
    evidence: Iterable[str] = (), remedy: str = "",
) -> Finding:  # fmt: skip
    """A number in its own unit, suspect above the limit."""
    bad = value > limit
    return Finding(
        name, SUSPECT if bad else OK, str(says), value, unit, None, None, n, limit, limit_from, tuple(evidence)[:TOLD],
        remedy if bad else "", _coded(says),
    )  # fmt: skip


def unmeasured(name: str, says: Said | str, *, n: int = 0, remedy: str = "") -> Finding:
    return Finding(name, NOT_MEASURED, str(says), n=n, remedy=remedy, said=_coded(says))


def _coded(says: Said | str) -> Said | None:
    return says if isinstance(says, Said) else None
