"""Simpler memories on one transcript: what each may read follows from what it is."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.settings import Settings
from sessions.baselines import MEMORIES, baselines
from sessions.recording import Question, RecordedTurn, Recording

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
SMALL = Settings.of(window_tokens=1_600, reply_tokens=100, page_turns=4, facts_tokens=0)


def recording() -> Recording:
    """The lease is told of first, and asked for when much else was said."""
    lines = ["The lease lies in the blue folder under the staircase.", "Noted, under the staircase."]
    for n in range(20):
        lines += [f"{n}. " + "The garden needs water and the fence needs paint before summer. " * 6, f"Noted, {n}."]
    lines += ["Where is the blue folder with the lease?", "Under the staircase."]
    turns = [
        RecordedTurn(n, "user" if n % 2 else "assistant", text, START + timedelta(minutes=n),
                     evidence=(1,) if "Where" in text else ())
        for n, text in enumerate(lines, 1)
    ]  # fmt: skip
    asked = (Question("Where does the lease lie?", "…", (1,)), Question("Never said?", "", ()))
    return Recording("c", "ana", tuple(turns), "Lease", "en", "Be brief.", asked)


@pytest.fixture(scope="module")
def found():
    return baselines(recording(), SMALL, usd_per_million=2.0)


def test_full_history_reads_everything_and_does_not_fit(found):
    full = found.row("full history")
    assert full.tokens == max(row.tokens for row in found.rows)
    assert full.over > 0
    assert (full.evidence, full.labelled) == (2, 2)


def test_all_others_keep_to_the_budget(found):
    for row in found.rows:
        assert row.name == "full history" or row.over == 0, row.name


def test_a_window_forgets_and_what_searches_finds(found):
    assert found.row("sliding window").evidence == 0
    assert found.row("summary").evidence == 0  # a summary is no evidence
    assert found.row("BM25").evidence == 2
    assert found.row("ours").evidence == 2
    assert found.row("ours").tokens < found.row("full history").tokens


def test_without_vectors_those_that_need_them_are_not_measured(found):
    for name in ("vectors", "window + vectors"):
        assert (found.row(name).evidence, found.row(name).evidence_ratio, found.row(name).steps) == (None, None, 0)
        assert found.row(name).note == "no vectors"


class Broken:
    """Vectors of a store whose embedder is not here."""

    problem = ""

    def newest(self) -> tuple[str, int]:
        return "other", 3

    def question(self, text: str) -> None:
        self.problem = "other cannot be used"

    def known(self, texts: object) -> dict[str, object]:
        return {}


class Missing(Broken):
    def newest(self) -> tuple[str, int]:
        return "", 0


@pytest.mark.parametrize(("source", "note"), [(Missing(), "no vectors"), (Broken(), "other cannot be used")])
def test_vectors_that_are_not_there_are_told_and_measure_nothing(source, note: str):
    row = baselines(recording(), SMALL, vectors=source).row("vectors")
    assert (row.evidence, row.note) == (None, note)


def test_another_price_changes_the_money_alone(found):
    dearer = found.at(20.0)
    assert dearer.row("BM25").cost_usd == pytest.approx(10 * found.row("BM25").cost_usd)
    assert dearer.row("vectors") == found.row("vectors")
    assert dearer.at(2.0) == found


def test_money_is_tokens_at_the_price_and_nothing_without_one(found):
    row = found.row("ours")
    assert row.cost_usd == pytest.approx(row.tokens * 2.0 / 1_000_000)
    assert found.row("vectors").cost_usd is None


def test_the_evidence_says_what_it_is_worth(found):
    assert (found.honesty.n, found.honesty.context_tokens) == (2, (1_500, 1_500))
    assert found.to_dict()["honesty"]["questions"].startswith("n = 2 in 1 conversation, too few")


def test_it_shows_itself(found):
    assert [row.name for row in found.rows] == [*MEMORIES, "ours"]
    assert "reads" in repr(found)
    assert "<script" not in found._repr_html_()
    assert len(found.to_df()) == len(found.rows)
