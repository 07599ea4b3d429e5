import json
from collections import Counter
from pathlib import Path

import pytest

from memory.errors import RecordingError
from sessions.extraction_bench import DEMO, KEPT, extraction_figures, extraction_rows, read_labels

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "memorybank"


def test_there_are_labels_of_both_languages_and_each_is_whole():
    labels = read_labels()
    assert {label.kind for label in labels} == {*KEPT, "event", "note"}
    assert all(label.value for label in labels)
    kept = Counter(label.language for label in labels if label.kind in KEPT)
    assert min(kept["en"], kept["zh"]) >= 60
    assert {label.language for label in labels if label.held_out} == {"en", "zh"}


@pytest.mark.parametrize("name", ["house_move", "tea_shop"])
def test_labels_of_the_demo_name_turns_of_the_user(name):
    rows = map(json.loads, (DEMO / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    users = {row["turn"] for row in rows if row.get("role") == "user"}
    assert {label.turn for label in read_labels() if label.source == name} <= users


def test_the_demo_conversations_are_read_as_well_as_before():
    figures = extraction_figures()
    assert set(figures) == {"house_move en", "tea_shop zh"}
    assert all(f["precision"]["ratio"] >= 0.9 and f["recall"]["ratio"] >= 0.45 for f in figures.values())
    assert len(extraction_rows(figures)) == 2


def test_a_folder_without_memorybank_is_refused(tmp_path):
    with pytest.raises(RecordingError, match=r"memory_bank_en\.json"):
        extraction_figures(tmp_path)


@pytest.mark.skipif(not DATA.is_dir(), reason="MemoryBank is not part of the repository")
def test_what_was_held_out_is_read_nearly_as_well():
    figures = extraction_figures(DATA)
    for language in ("en", "zh"):
        held_out = figures[f"memorybank {language} held out"]
        assert held_out["precision"]["ratio"] >= 0.8
        assert held_out["recall"]["ratio"] >= 0.8
