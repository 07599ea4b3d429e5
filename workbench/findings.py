"""What a diagnosis found, in the reader's language: codes and values worded by a catalogue, figures left as they are.

Nothing is measured here. A diagnosis comes out as a diagnosis, so pages, notebook and commands show it as they show
any other.
"""

from __future__ import annotations

import re
from dataclasses import replace

from memory.diagnosis import Diagnosis
from memory.finding import FEW, NOT_MEASURED, SHARE, Finding
from workbench.words import Words

_AT_TURN = re.compile(r"turn (\d+)(?:: (.*))?", re.DOTALL)
_OF = re.compile(r"([pf]\d+|(?:conflict|quarantined|refused)(?: f\d+)?), (.*)", re.DOTALL)


def worded(found: Diagnosis, say: Words) -> Diagnosis:
    """The same in this language, its headline too."""
    findings = tuple(_finding(each, say) for each in found.findings)
    said = replace(found, symptom=say.term("symptom", found.symptom), findings=findings)
    return replace(said, headline=_headline(said, say))


def _finding(each: Finding, say: Words) -> Finding:
    return replace(
        each,
        name=say.term("check", each.name),
        says=_says(each, say),
        unit=say.term("finding.unit", each.unit),
        limit_from=say.reason(each.limit_from),
        evidence=tuple(_evidence(line, say) for line in each.evidence),
        remedy=say.reason(each.remedy),
    )


def _says(each: Finding, say: Words) -> str:
    if each.said is None:
        return say.reason(each.says)
    values = {name: say.reason(value) for name, value in each.said.values}
    told = say(f"finding.{each.said.code}", **values)
    if each.ends == SHARE and each.part is not None and each.whole and each.value is not None:
        return say(
            "finding.share", says=told, part=f"{each.part:g}", whole=f"{each.whole:g}", share=f"{each.value:.0%}"
        )
    return say("finding.few", says=told, n=each.n) if each.ends == FEW else told


def _evidence(line: str, say: Words) -> str:
    """A turn, and what is said of it: turned part by part, for the parts are said elsewhere too."""
    found = _AT_TURN.fullmatch(line)
    if found is None:
        return say.reason(line)
    turn = say("turn.one", turn=found[1])
    return say("finding.at", turn=turn, says=_of(found[2], say)) if found[2] else turn


def _of(line: str, say: Words) -> str:
    """A page, a fact or an outcome, and the reason of the log for it."""
    found = _OF.fullmatch(line)
    return f"{say.reason(found[1])}, {say.reason(found[2])}" if found else say.reason(line)


def _headline(found: Diagnosis, say: Words) -> str:
    first = found.suspect
    if first is None:
        unknown = sum(each.verdict == NOT_MEASURED for each in found.findings)
        n = len(found.findings)
        told = say("finding.clear", clear=n - unknown, n=n)
        return told + (say("finding.unknown", unknown=unknown) if unknown else "")
    told = say("finding.first", name=first.name, says=first.says)
    told += say("finding.try", remedy=first.remedy) if first.remedy else ""
    return told + (say("finding.more", more=len(found.suspects) - 1) if len(found.suspects) > 1 else "")
