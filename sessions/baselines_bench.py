"""What simpler memories read, against the full history, and what they lose: the curve over budgets.

The figures are those of baselines.py, summed over conversations: tokens a step as a share of the full history, and the
share of labelled messages and questions all of whose evidence stands in the prompt. Without vectors the memories that
need them are left out. No model is asked, so what it would answer is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memory.errors import RecordingError
from memory.settings import Settings
from sessions.baselines import Baseline, baselines
from sessions.demo import demo_files
from sessions.readers import read
from sessions.recording import Recording

Say = Callable[[str], None]

BUDGETS = (4_000, 8_000, 16_000)  # of the window; a prompt has that less what the reply is to have
FULL = "full history"


def curve(
    recordings: Sequence[Recording], budgets: Sequence[int] = BUDGETS, say: Say = lambda _: None
) -> dict[str, Any]:
    """`budgets` by window, of each memory what it read and had; `n` labelled messages and questions.

    Raises RecordingError without a conversation.
    """
    if not recordings:
        raise RecordingError("the curve needs a conversation")
    told: dict[str, dict[str, Any]] = {}
    for budget in budgets:
        settings = Settings.of(window_tokens=budget)
        rows: dict[str, list[Baseline]] = {}
        for each in recordings:
            say(f"{budget:,} tokens, {each.conversation} …")
            for row in baselines(each, settings).rows:
                rows.setdefault(row.name, []).append(row)
        told[str(budget)] = _summed(rows)
    n = next(iter(told.values()))[FULL]["n"]
    return {"conversations": [each.conversation for each in recordings], "n": n, "budgets": told}


def curve_of(file: Path | None, budgets: Sequence[int] = BUDGETS, say: Say = lambda _: None) -> dict[str, Any]:
    """The same over the recordings of a file; over the demo's without one."""
    files = demo_files() if file is None else [file]
    return curve([each for path in files for each in read(path) if isinstance(each, Recording)], budgets, say)


def curve_rows(found: Mapping[str, Any]) -> list[list[object]]:
    """For a table: window, memory, tokens a step, of the full history, evidence, n."""
    return [
        [f"{int(budget):,}", name, f"{row['tokens_per_step']:,.0f}", f"{row['tokens_ratio']:.2f}",
         f"{row['evidence_ratio']:.3f}", row["n"]]
        for budget, rows in found["budgets"].items()
        for name, row in rows.items()
    ]  # fmt: skip


def _summed(rows: Mapping[str, Sequence[Baseline]]) -> dict[str, dict[str, Any]]:
    made = {name: _sum(each) for name, each in rows.items() if all(row.evidence is not None for row in each)}
    full = made[FULL]["tokens_per_step"] or 1.0
    return {name: {**row, "tokens_ratio": round(row["tokens_per_step"] / full, 4)} for name, row in made.items()}


def _sum(rows: Sequence[Baseline]) -> dict[str, Any]:
    steps, labelled = sum(row.steps for row in rows), sum(row.labelled for row in rows)
    had = sum(row.evidence or 0 for row in rows)
    return {
        "tokens_per_step": round(sum(row.tokens for row in rows) / max(1, steps), 1),
        "evidence": had, "n": labelled, "evidence_ratio": round(had / max(1, labelled), 4),
        "steps": steps, "over": sum(row.over for row in rows), "calls": sum(row.calls for row in rows),
    }  # fmt: skip
