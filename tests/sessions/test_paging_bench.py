import json
from functools import partial

import pytest
from typer.testing import CliRunner

from memory.models.embedding import named
from sessions import paging_bench
from sessions.paging_bench import forward, gaps
from workbench.cli import app

THINGS = ("violin", "canoe", "peanut", "lantern", "compass", "teapot", "hammock", "glacier", "orchid", "anvil")


def said_of(name: str, things: tuple[str, ...]) -> dict[str, object]:
    """A LoCoMo conversation of one sitting: a thing in every other turn, and a question for each."""
    turns = [{"dia_id": f"D1:{n}", "speaker": ("Ana", "Ben")[n % 2], "text": f"The {each} is in the attic."}
             for n, each in enumerate((thing for thing in things for _ in range(2)), 1)]  # fmt: skip
    asked = [{"question": f"Where is the {thing}?", "answer": "attic", "category": 4, "evidence": [f"D1:{2 * n + 1}"]}
             for n, thing in enumerate(things)]  # fmt: skip
    talk = {"speaker_a": "Ana", "speaker_b": "Ben", "session_1_date_time": "1:56 pm on 1 May, 2023", "session_1": turns}
    return {"sample_id": name, "conversation": talk, "qa": asked}


def test_the_command_prints_every_figure_with_its_n(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paging_bench, "named", lambda: named("hash"))
    monkeypatch.setattr(paging_bench, "SAMPLE", 8)
    monkeypatch.setattr(paging_bench, "forward", partial(forward, conversations=1, pages=12))
    file = tmp_path / "locomo10.json"
    file.write_text(json.dumps([said_of("a", THINGS), said_of("b", THINGS[::-1])]), "utf-8")
    told = CliRunner().invoke(app, ["bench", "paging", "--locomo", str(file), "--json"])
    assert told.exit_code == 0, told.output
    found = json.loads(told.output)
    assert found.keys() == {"paper", "equal_tokens", "eviction_gap_closed", "bookmark_hit_at_1"}
    assert found["paper"].keys() >= {"end_to_end_1", "end_to_end_3", "precision", "n"}
    assert (found["paper"]["n"], found["paper"]["corrected"]["n"], found["paper"]["sample"]["n"]) == (20, 20, 8)
    assert {cell["budget"] for cell in found["equal_tokens"]} == {2_000, 4_000, 8_000}
    assert all(cell["n"] == 20 for cell in found["equal_tokens"])
    assert all(room["n"] for set_ in found["eviction_gap_closed"].values() for room in set_.values())
    assert found["bookmark_hit_at_1"]["n"] == 20


def test_the_made_up_talk_moves_forward_and_asks_of_nothing_unsaid():
    (made,) = forward(conversations=1, pages=12)
    probes = made.talk.probes
    assert all(max(p.evidence) <= p.at for p in probes)
    assert sum(p.at - max(p.evidence) <= 40 for p in probes) > len(probes) / 2


def test_of_the_gap_nothing_is_closed_by_the_best_plain_policy_and_all_by_the_oracle():
    found = gaps(forward(conversations=1, pages=12))["k = 5"]
    hits = found["hits"]
    best, gap = max(hits[p] for p in ("fifo", "lru", "lfu")), hits["oracle"]
    assert best <= gap
    assert all(abs(closed - (hits[p] - best) / (gap - best)) < 1e-3 for p, closed in found["closed"].items())
