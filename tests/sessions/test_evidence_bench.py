"""Evidence found: the figures' shape on a made-up BEAM, floors on BEAM and MemoryBank themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory.errors import RecordingError
from memory.models.embedding import named
from sessions.evidence_bench import beam_figures, memorybank_figures
from sessions.retrieval_bench import Cache

DATA = Path(__file__).parents[2].parent / "shared" / "data"
SAID = ("I keep a violin in the attic", "I never played an instrument", "The sprint ends on March 29",
        "The sprint now ends on April 19", "Tea at four, please")  # fmt: skip
PROBING: dict[str, list[dict[str, Any]]] = {
    "information_extraction": [{"question": "What do I keep in the attic?", "source_chat_ids": [0, [1]]}],
    "contradiction_resolution": [
        {
            "question": "Have I ever played an instrument such as the violin?",
            "source_chat_ids": {"first_statement": [0], "second_statement": [2]},
        }
    ],
    "knowledge_update": [
        {"question": "When does the sprint end?", "source_chat_ids": {"original_info": [4], "updated_info": [6]}}
    ],
    "abstention": [{"question": "What is my shoe size?"}],
}


@pytest.fixture
def beam(tmp_path: Path) -> Path:
    said = [[{"role": "user", "id": 2 * n, "content": words},
             {"role": "assistant", "id": 2 * n + 1, "content": "I see."}] for n, words in enumerate(SAID)]  # fmt: skip
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "chat.json").write_text(json.dumps([{"turns": said}]), "utf-8")
    (tmp_path / "1" / "probing_questions.json").write_text(json.dumps(PROBING), "utf-8")
    return tmp_path


def test_every_ability_has_its_n_and_what_cannot_be_answered_is_left_out(beam: Path) -> None:
    figures = beam_figures(beam)
    assert set(figures["abilities"]) == {"information_extraction", "contradiction_resolution", "knowledge_update"}
    assert figures["abilities"]["information_extraction"] == {
        "any_at_10": 1.0, "all_at_10": 1.0, "page_at_1": 1.0, "page_at_3": 1.0, "n": 1, "candidates": 5,
    }  # fmt: skip
    assert figures["contradiction"] == {"both_at_10": 1.0, "both_pages_at_3": 1.0, "n": 1}
    assert figures["update"]["n"] == 1


def test_vectors_are_compared_where_a_file_keeps_them(beam: Path, tmp_path: Path) -> None:
    cache = Cache(named("hash"), tmp_path / "vectors.npz", lambda line: None)
    assert beam_figures(beam, cache)["abilities"]["information_extraction"]["any_at_10"] == 1.0
    assert cache.figures["texts"] == len(SAID) + 3


def test_a_folder_without_conversations_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="holds no BEAM"):
        beam_figures(tmp_path)
    with pytest.raises(RecordingError, match="does not hold MemoryBank"):
        memorybank_figures(tmp_path)


@pytest.mark.skipif(not (DATA / "beam").is_dir(), reason="BEAM is not here")
def test_what_beam_says_twice_is_found() -> None:
    figures = beam_figures(DATA / "beam")
    assert {each["n"] for each in figures["abilities"].values()} == {8}
    assert figures["update"]["new_at_10"] == 1.0
    assert figures["contradiction"]["both_at_10"] >= 0.5
    assert figures["abilities"]["knowledge_update"]["page_at_3"] == 1.0


@pytest.mark.skipif(not (DATA / "memorybank").is_dir(), reason="MemoryBank is not here")
def test_what_memorybank_asks_is_found_in_both_languages() -> None:
    figures = memorybank_figures(DATA / "memorybank")
    assert [each["n"] + each["unanswerable"] for each in figures.values()] == [100, 100]
    assert min(each["any_at_10"] for each in figures.values()) >= 0.9
    assert min(each["page_at_3"] for each in figures.values()) >= 0.9
