"""One command from an export to its conversations; a dry run first, if wanted."""

import json

import pytest

from tests.sessions.test_archive import talk, zipped
from tests.workbench.conftest import run


@pytest.fixture
def export(tmp_path):
    file = tmp_path / "export.zip"
    file.write_bytes(zipped({"conversations.json": [talk("c1"), {"conversation_id": "c2"}]}))
    return file


def test_a_dry_run_says_what_would_come_in_and_makes_no_store(export, tmp_path):
    said = run("import", export, "--store", tmp_path / "store", "--dry-run")
    assert "would be: 1 imported (read as chatgpt); 1 new turns; 1 skipped; nothing was written" in said
    assert not (tmp_path / "store").exists()


def test_an_export_comes_in_by_one_command_and_twice_changes_nothing(export, tmp_path):
    first = json.loads(run("import", export, "--store", tmp_path / "store", "--json"))
    assert [c["status"] for c in first[0]["conversations"]] == ["imported"]
    again = run("import", export, "--store", tmp_path / "store", "--dry-run")
    assert "would be: 1 unchanged" in again


def test_a_store_that_may_not_change_takes_no_export(export, tmp_path):
    said = run("open", export, "--readonly", "--store", tmp_path / "store", ok=False)
    assert "--readonly changes nothing: import without it" in said
