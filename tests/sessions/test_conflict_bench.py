"""Conflicts measured: the figures' shape on made-up data, floors on FactConsolidation itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memory.errors import RecordingError
from memory.graph import Graph
from sessions.conflict_bench import conflict_figures, conflict_rows, factconsolidation_figures, facts_in, feed
from workbench.cli import app

DATA = Path(__file__).parents[2].parent / "shared" / "data"
FACTS = (
    "The author of Hamlet is Francis Bacon.",
    "Francis Bacon was born in the city of London.",
    "The chief executive officer of Apple Inc. is Tim Cook.",
    "The author of Hamlet is William Shakespeare.",
    "William Shakespeare was born in the city of Stratford.",
    "Francis Bacon is a citizen of England.",
)
ASKED = {
    "sh": {"Who is the author of Hamlet?": "William Shakespeare", "Who is the CEO of Apple Inc.?": "Tim Cook"},
    "mh": {"Where was the author of Hamlet born?": "Stratford", "Who is the director of Hamlet?": "Nobody"},
}


def listed(facts: tuple[str, ...] = FACTS) -> str:
    return "\n".join(["Here is a list of facts:", *(f"{n}. {fact}" for n, fact in enumerate(facts))])


def row(hops: str, size: str) -> dict[str, Any]:
    asked = ASKED[hops]
    return {
        "context": listed(),
        "questions": list(asked),
        "answers": [[answer] for answer in asked.values()],
        "metadata": {"source": f"factconsolidation_{hops}_{size}"},
    }


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """A folder with FactConsolidation alone."""
    folder = tmp_path / "factconsolidation"
    folder.mkdir()
    rows = [row(hops, size) for hops in ("sh", "mh") for size in ("6k", "32k")]
    (folder / "conflict_resolution_6k_32k.json").write_text(json.dumps(rows), "utf-8")
    return tmp_path


def test_every_figure_has_its_n(made_up: Path) -> None:
    figures = conflict_figures(made_up)
    found = figures["factconsolidation"]["6k"]
    assert (found["single_hop"], found["multi_hop"], found["n"], found["facts"]) == (1.0, 0.5, 2, 6)
    assert [found["held_out"], figures["factconsolidation"]["32k"]["held_out"]] == [False, True]
    assert figures["wrongly_retired"] == {"value": 0.0, "n": 10, "retired": 2, "across": 0}
    assert figures["missing"] == ["beam", "memorybank"]
    assert all(len(each) == 3 for each in conflict_rows(figures))


def test_what_fails_is_said_with_the_way_that_was_gone(made_up: Path) -> None:
    fails = conflict_figures(made_up)["factconsolidation"]["6k"]["fails"]
    assert fails["single_hop"] == {}
    assert fails["multi_hop"]["no fact that holds has the answer for its value"] == 1
    assert fails["multi_hop"]["examples"][0]["question"] == "Who is the director of Hamlet?"


def test_the_newest_of_two_values_is_held_and_the_older_kept() -> None:
    fed = feed(facts_in(listed()))
    assert (fed.turns, fed.unread, fed.retired, fed.across) == (6, 0, 1, 0)
    authors = [f for f in fed.known.facts.values() if fed.journal.words(f.attribute) == "author"]
    assert [(fed.journal.words(f.value), f.state) for f in authors] == [
        ("Francis Bacon", "superseded"),
        ("William Shakespeare", "active"),
    ]


def test_a_sentence_with_a_firm_in_it_is_one_sentence() -> None:
    fed = feed([(0, "The chief executive officer of NeXT Computer, Inc. is Steve Jobs."),
                (1, "Martin Luther King Jr. was born in the city of Atlanta.")])  # fmt: skip
    assert [fed.journal.words(f.subject) for f in fed.known.facts.values()] == [
        "NeXT Computer, Inc.",
        "Martin Luther King Jr.",
    ]


def test_a_fact_that_only_mentions_somebody_retires_nothing_of_theirs() -> None:
    fed = feed([(0, "Ana Lima is employed by Acme Works."), (1, "The director of Acme Works is Ana Lima."),
                (2, "Ana Lima is a citizen of Brazil.")])  # fmt: skip
    assert (fed.retired, len(fed.known.current)) == (0, 3)


def test_a_folder_without_any_of_the_data_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="holds none of factconsolidation, beam, memorybank"):
        conflict_figures(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "[1]", '[{"metadata": {}}]'])
def test_a_file_that_is_no_factconsolidation_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "odd.json"
    file.write_text(text, "utf-8")
    with pytest.raises(RecordingError, match=r"odd\.json is no FactConsolidation"):
        factconsolidation_figures(file)


def test_the_command_prints_one_document(made_up: Path) -> None:
    told = CliRunner().invoke(app, ["bench", "conflicts", "--data", str(made_up), "--no-replies", "--json"])
    assert told.exit_code == 0, told.output
    assert set(json.loads(told.stdout)) == {"missing", "factconsolidation", "wrongly_retired"}


# ── the data themselves ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(not (DATA / "factconsolidation").is_dir(), reason="FactConsolidation is not here")
def test_the_newest_value_wins_over_one_relation_and_over_several() -> None:
    figures = factconsolidation_figures(DATA / "factconsolidation" / "conflict_resolution_6k_32k.json")
    small, large = (figures["factconsolidation"][size] for size in ("6k", "32k"))
    assert small["single_hop"] >= 0.98
    assert large["single_hop"] >= 0.95
    assert small["multi_hop"] >= 0.80
    assert large["multi_hop"] >= 0.60
    assert small["unread"] == large["unread"] == 0
    assert figures["wrongly_retired"]["across"] == 0
    assert figures["wrongly_retired"]["retired"] > 900


@pytest.mark.skipif(not (DATA / "factconsolidation").is_dir(), reason="FactConsolidation is not here")
def test_thousands_of_claims_are_linked_without_being_linked_to_everything() -> None:
    rows = json.loads((DATA / "factconsolidation" / "conflict_resolution_6k_32k.json").read_text("utf-8"))
    fed = feed(facts_in(rows[0]["context"]))
    graph = Graph(fed.journal.words).take(fed.known)
    assert graph.warning == ""
    assert 0 < graph.density < 0.02
