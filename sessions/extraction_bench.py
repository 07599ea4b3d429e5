"""How much of what people say the rules keep, and how much of what they keep is worth it: against labels by hand.

The labels (`labels/extraction.jsonl`) were made by reading before the rules were tuned: all of both demo conversations
and of MemoryBank's thirty, what somebody would want to find again. Of MemoryBank the users marked `held_out` were not
looked at while tuning; the demo conversations were read before the rules were written. MemoryBank's words are not part
of this package: `data` is the folder that holds them. A figure is a share and carries its n; nothing is judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.errors import RecordingError
from memory.extraction import candidates
from memory.facts import Candidate
from memory.language import terms

LABELS = Path(__file__).with_name("labels") / "extraction.jsonl"
DEMO = Path(__file__).with_name("demo")
FILES = {"en": "memory_bank_en.json", "zh": "memory_bank_cn.json"}
KEPT = ("fact", "preference", "decision", "task")  # what rules are for; events and notes are counted apart


@dataclass(frozen=True, slots=True)
class Label:
    source: str  # memorybank, or the demo conversation
    language: str
    user: str
    day: str  # of MemoryBank; "" in a demo conversation
    turn: int  # its number; within MemoryBank's day, from 0
    kind: str  # fact, preference, decision, task; event: what happened; note: worth a search, nothing to hold
    attributes: tuple[str, ...]  # any of them is right; (): any at all
    value: str
    negated: bool = False
    held_out: bool = False

    @property
    def place(self) -> tuple[str, str, str, int]:
        return self.source, self.user, self.day, self.turn

    @property
    def group(self) -> str:
        if self.source != "memorybank":
            return f"{self.source} {self.language}"
        return f"memorybank {self.language} {'held out' if self.held_out else 'tuned on'}"


@dataclass(frozen=True, slots=True)
class Said:
    place: tuple[str, str, str, int]
    text: str
    before: str
    said_at: datetime


def extraction_figures(data: Path | None = None) -> dict[str, Any]:
    """By group: `precision` and `recall` with their n, recall by kind, and turns; MemoryBank only with its `data`.

    Raises RecordingError for a folder that does not hold MemoryBank.
    """
    labels = read_labels()
    said = [*_demo(), *(_memorybank(data / "memorybank" if (data / "memorybank").is_dir() else data) if data else ())]
    groups: dict[str, list[Said]] = {}
    of_user = {(label.source, label.user): label.group for label in labels}
    for each in said:
        groups.setdefault(of_user[each.place[:2]], []).append(each)
    return {group: _figures(turns, [x for x in labels if x.group == group]) for group, turns in groups.items()}


def extraction_rows(figures: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Group, precision, recall, recall by kind: each with its n."""
    return [
        (
            group,
            f"{f['precision']['ratio']:.2f} of {f['precision']['n']}",
            f"{f['recall']['ratio']:.2f} of {f['recall']['n']}",
            ", ".join(f"{kind} {r['ratio']:.2f} of {r['n']}" for kind, r in f["recall_by_kind"].items()),
        )
        for group, f in figures.items()
    ]


def read_labels(path: Path = LABELS) -> list[Label]:
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [Label(**{"day": "", **row, "attributes": tuple(row["attributes"])}) for row in rows]


def matches(label: Label, drawn: Candidate, text: str) -> bool:
    """Whether the candidate says what the label says: an attribute of its, its value, and its sign."""
    if label.attributes and drawn.attribute not in label.attributes:
        return False
    if label.negated != drawn.negated and (label.negated or label.attributes):
        return False
    told = drawn.value if label.attributes and drawn.value else f"{drawn.value} {text[drawn.start : drawn.end]}"
    wanted, told = label.value.casefold(), told.casefold()
    if wanted in told or (len(drawn.value) > 1 and drawn.value.casefold() in wanted):
        return True
    asked = set(terms(wanted))
    return bool(asked) and len(asked & set(terms(told))) >= 0.5 * len(asked)


def _figures(turns: Sequence[Said], labels: Sequence[Label]) -> dict[str, Any]:
    by_place: dict[tuple[str, str, str, int], list[Label]] = {}
    for label in labels:
        by_place.setdefault(label.place, []).append(label)
    found: set[int] = set()
    right = drawn = 0
    for each in turns:
        here = by_place.get(each.place, [])
        for candidate in _drawn(each):
            hits = [label for label in here if matches(label, candidate, each.text)]
            found |= {id(label) for label in hits}
            right, drawn = right + bool(hits), drawn + 1
    kinds = {kind: [x for x in labels if x.kind == kind] for kind in dict.fromkeys(label.kind for label in labels)}
    wanted = [label for label in labels if label.kind in KEPT]
    return {
        "precision": _share(right, drawn),
        "recall": _share(sum(id(x) in found for x in wanted), len(wanted)),
        "recall_by_kind": {k: _share(sum(id(x) in found for x in xs), len(xs)) for k, xs in kinds.items()},
        "turns": len(turns),
    }


def _share(part: int, n: int) -> dict[str, Any]:
    return {"ratio": round(part / n, 3) if n else 0.0, "n": n}


def _drawn(said: Said) -> list[Candidate]:
    return candidates(said.text, role="user", speaker=said.place[1], said_at=said.said_at, before=said.before)[0]


def _demo() -> Iterator[Said]:
    for name, user in (("house_move", "ana"), ("tea_shop", "lin")):
        before = ""
        for line in (DEMO / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row.get("role") == "user":
                said_at = datetime.fromisoformat(row["said_at"])
                yield Said((name, user, "", row["turn"]), row["text"], before, said_at)
            elif row.get("role") == "assistant":
                before = row.get("text") or ""


def _memorybank(folder: Path) -> Iterator[Said]:
    for language, name in FILES.items():
        path = folder / name
        if not path.is_file():
            raise RecordingError(f"{path} is not there; give the folder with {' and '.join(FILES.values())}")
        for user, told in json.loads(path.read_text(encoding="utf-8")).items():
            yield from _conversation(user.strip(), told, language)


def _conversation(user: str, told: Mapping[str, Any], language: str) -> Iterator[Said]:
    for day, turns in told["history"].items():
        before = ""
        for number, turn in enumerate(turns):
            said_at = datetime.fromisoformat(f"{day}T12:00:00").replace(tzinfo=UTC)
            yield Said(("memorybank", user, day, number), turn["query"], before, said_at)
            before = turn["response"]
