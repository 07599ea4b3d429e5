"""The curve sums what each memory read and had, and measures it against the full history."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.errors import RecordingError
from sessions.baselines import baselines
from sessions.baselines_bench import curve, curve_rows
from sessions.recording import Question, RecordedTurn, Recording

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def talk(name: str, turns: int) -> Recording:
    lines = [f"The {name} folder lies under the staircase.", "Noted."]
    lines += ["The garden needs water before summer. " * 8, "Noted."] * turns
    said = [RecordedTurn(n, "user" if n % 2 else "assistant", text, START + timedelta(minutes=n))
            for n, text in enumerate(lines, 1)]  # fmt: skip
    return Recording(name, "ana", tuple(said), questions=(Question(f"Where is the {name} folder?", "", (1,)),))


def test_two_conversations_are_summed_and_the_full_history_is_the_measure():
    recordings = [talk("blue", 3), talk("green", 10)]
    found = curve(recordings, [1_000])
    rows = found["budgets"]["1000"]
    single = [baselines(each).row("full history") for each in recordings]
    assert found["n"] == 2
    assert rows["full history"]["tokens_ratio"] == 1.0
    assert rows["full history"]["tokens_per_step"] == pytest.approx(
        sum(row.tokens for row in single) / sum(row.steps for row in single), abs=0.1
    )
    assert (rows["full history"]["evidence"], rows["full history"]["evidence_ratio"]) == (2, 1.0)
    assert rows["sliding window"]["tokens_ratio"] < 1.0
    assert rows["sliding window"]["evidence"] <= 1  # the longer one has lost it
    assert rows["BM25"]["evidence"] == 2
    assert "vectors" not in rows  # none were given
    assert len(curve_rows(found)) == len(rows)


def test_without_a_conversation_there_is_no_curve():
    with pytest.raises(RecordingError):
        curve([])
