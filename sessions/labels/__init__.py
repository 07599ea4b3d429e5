"""Labels made by hand, by reading: what of a conversation is worth keeping, and which exchange answers a question.

`extraction.jsonl` is read by extraction_bench.py. `memorybank_evidence.jsonl` names, for each of MemoryBank's 100
English and 100 Chinese probing questions, the exchanges (day, and place within the day from 0; a message and its reply)
that hold the answer. How they were made stands in README.md beside them. MemoryBank's words are not part of this
package.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

EVIDENCE = Path(__file__).with_name("memorybank_evidence.jsonl")


@dataclass(frozen=True, slots=True)
class Evidence:
    language: str  # en, zh
    user: str  # as the data names them, without blanks around
    question: int  # its place among the user's questions, from 0
    exchanges: tuple[tuple[str, int], ...]  # (day, place within it); (): the data does not hold the answer


def read_evidence(path: Path = EVIDENCE) -> list[Evidence]:
    """In the order of the data's files, English after Chinese."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    places = [(row, tuple((each["day"], each["turn"]) for each in row["evidence"])) for row in rows]
    return [Evidence(row["language"], row["user"], row["question"], found) for row, found in places]
