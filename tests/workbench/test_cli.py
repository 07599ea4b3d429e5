"""The command as a person uses it: what it prints, what it says when something is wrong, how it ends."""

import json

import pytest

from sessions.demo import demo_files
from tests.workbench.conftest import run


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with the English demo, brought in by the command itself."""
    place = tmp_path_factory.mktemp("cli") / "store"
    english = next(p for p in demo_files() if "house" in p.name)
    reports = json.loads(run("import", english, "--store", place, "--json"))
    assert reports[0]["conversations"][0]["status"] == "imported"
    return place


def test_importing_twice_changes_nothing(store):
    before = run("sql", "select max(seq) from events", "--store", store, "--csv")
    english = next(p for p in demo_files() if "house" in p.name)
    again = json.loads(run("import", english, "--store", store, "--json"))
    assert again[0]["conversations"][0]["status"] == "unchanged"
    assert run("sql", "select max(seq) from events", "--store", store, "--csv") == before


def test_a_turn_is_followed_from_the_message_to_the_recall(store):
    shown = run("show", 90, "--store", store)
    assert "what's my moving budget" in shown.replace("\n", " ")
    assert "came p2, wrong" in shown
    page = run("show", "--page", 2, "--store", store)
    assert "evicted" in page
    assert "recalled" in page


def test_show_gives_the_same_as_the_view_in_json(store):
    view = json.loads(run("show", 90, "--store", store, "--json"))
    assert view["step"] == 42
    assert view["recalls"][0]["right"] is False
    assert view["prompt_tokens"] == sum(view["sections"].values())


def test_replay_prints_its_figures_and_is_the_same_each_time(store):
    first, second = (json.loads(run("replay", "--store", store, "--json")) for _ in range(2))
    assert first == second
    one = first[0]
    assert one["hits"] + one["faults"] == one["demands"]
    assert (one["right"], one["wrong"]) == (20, 6)


def test_verify_and_rebuild(store):
    assert "no fault" in run("verify", "--store", store)
    (store / "events.duckdb").write_bytes(b"no database")
    assert "no fault" not in run("verify", "--store", store, ok=False)
    run("rebuild", "--store", store)
    assert "no fault" in run("verify", "--store", store)


def test_settings_are_listed_and_changed(store):
    listed = {row["name"]: row for row in json.loads(run("settings", "--json"))}
    assert listed["eviction"]["value"] == "lru"
    run("settings", "-c", "house-move", "--store", store, "--set", "eviction=lfu", "--set", "boundary=fixed_20")
    now = {r["name"]: r["value"] for r in json.loads(run("settings", "-c", "house-move", "--store", store, "--json"))}
    assert (now["eviction"], now["page_turns"]) == ("lfu", 20)


def test_backup_and_delete(store, tmp_path):
    run("backup", tmp_path / "kept.sqlite", "--store", store)
    assert "never overwrites" in run("backup", tmp_path / "kept.sqlite", "--store", store, ok=False)
    other = tmp_path / "other"
    run("import", demo_files()[0], "--store", other, "--no-replay")
    told = json.loads(run("show", "--store", other, "--json"))[0]
    removed = json.loads(run("delete", told["conversation"], "-u", told["user"], "--yes", "--store", other, "--json"))
    assert removed["removed_events"] > 300
    assert removed["copies"] == []
    assert json.loads(run("show", "--store", other, "--json")) == []


def test_delete_names_the_backups_that_keep_what_they_hold(tmp_path):
    kept = tmp_path / "store" / "backups" / "before.sqlite"
    run("import", *demo_files(), "--store", tmp_path / "store", "--no-replay")
    run("backup", kept, "--store", tmp_path / "store")
    told = run("delete", "house-move", "-u", "ana", "--yes", "--store", tmp_path / "store")
    assert "may still hold it" in told
    assert str(kept) in told
    told = json.loads(run("delete", "tea-shop", "-u", "lin", "--yes", "--store", tmp_path / "store", "--json"))
    assert told["copies"] == [str(kept)]
    assert kept.exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["show", "900"], "turns go from 1 to 191"),
        (["replay", "--set", "eviction=lur"], "no eviction policy named 'lur'; choose one of: cooperative, fifo"),
        (["replay", "--set", "page_turns=many"], "page_turns must be a number, not 'many'"),
        (["replay", "--set", "page_turns"], "as in --set page_turns=20"),
        (["replay", "-c", "nowhere"], "no conversation 'nowhere'"),
        (["sql", "select * from nowhere"], "nowhere"),
        (["sql", "drop table event"], "SELECT"),
        (["show", "1", "-c", "nowhere"], "ana/house-move"),
        (["delete", "nowhere", "--user", "ana", "--yes"], "house-move"),
    ],
)
def test_a_mistake_is_one_clear_line(store, args, says):
    told = run(*args, "--store", store, ok=False)
    assert says in told.replace("\n", " ")
    assert "error: " in told


def test_a_folder_that_is_no_store(tmp_path):
    (tmp_path / "memory.sqlite").write_bytes(b"something else entirely")
    assert "no SQLite file" in run("verify", "--store", tmp_path, ok=False)
    assert "there is no store" in run("show", "--store", tmp_path / "empty", ok=False)


def test_escape_sequences_of_a_message_do_not_reach_the_terminal(tmp_path):
    lines = [
        {"format": "memory-workbench", "version": 1, "conversation": "odd", "user": "eve", "title": "\x1b[31mred"},
        {"turn": 1, "role": "user", "text": "\x1b]0;owned\x07 \u202ereversed", "said_at": "2026-01-01T10:00:00+00:00"},
    ]
    (tmp_path / "odd.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    run("import", tmp_path / "odd.jsonl", "--store", tmp_path / "store")
    for args in (["show"], ["show", "1", "--prompt"], ["sql", "select text from turns"]):
        shown = run(*args, "--store", tmp_path / "store")
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
