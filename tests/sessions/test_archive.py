"""An archive or a folder is read file by file; what would fill the memory, or leads out of it, is refused in words."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from memory.errors import RecordingError
from sessions.readers import read
from sessions.readers.archive import Limits, members
from sessions.readers.source import Source
from sessions.recording import Recording, Skipped


def zipped(files: dict[str, Any]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes | str) else json.dumps(content))
    return raw.getvalue()


def talk(name: str) -> dict[str, Any]:
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}}
    return {"conversation_id": name, "title": name, "mapping": {"a": {"message": message}}, "current_node": "a"}


def names(raw: bytes | Path) -> list[str]:
    return [one.conversation if isinstance(one, Recording) else one.reason for one in read(raw)]


def test_shards_come_in_the_order_of_the_manifest_and_one_that_is_missing_is_named():
    shards = ["conversations-001.json", "conversations-000.json", "conversations-002.json"]
    manifest = {"logical_files": {"conversations.json": {"files": shards}}}
    files = {"conversations-000.json": [talk("b")], "conversations-001.json": [talk("a")], "user.json": {"id": 1}}
    lost, *found, aside = names(zipped({"export_manifest.json": manifest, "chat.html": "<p>", **files}))
    assert found == ["a", "b"]
    assert "names it, and it is not in the archive" in lost
    assert all(name in aside for name in ("user.json", "chat.html"))


def test_without_a_manifest_numbers_count_as_numbers():
    assert names(zipped({f"part-{n}.json": [talk(f"c{n}")] for n in (10, 2, 1)})) == ["c1", "c2", "c10"]


def test_a_broken_file_in_an_archive_stops_no_other():
    skipped, good = read(zipped({"a.json": "[{", "b.json": [talk("b")]}), format="chatgpt")
    assert isinstance(skipped, Skipped)
    assert isinstance(good, Recording)


@pytest.mark.parametrize("name", ["../up.json", "/etc/up.json", "C:\\up.json", "a/../../up.json", "..\\up.json"])
def test_a_path_that_leads_out_of_the_archive_is_not_read(name: str):
    assert names(zipped({name: [talk("a")]})) == ["its path leads out of the archive: not read"]


def test_an_archive_made_to_fill_the_memory_is_refused_before_it_is_read():
    with pytest.raises(RecordingError, match=r"zeros\.json unpacks to 12,000,000 bytes from .* more than 300 times"):
        read(zipped({"zeros.json": b"0" * 12_000_000}))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(files=1), "holds 2 files; up to 1 are read"),
        (Limits(bytes=10), "unpacks to .* bytes; up to 10 are read"),
        (Limits(file_bytes=10), r"a\.json unpacks to .* bytes; up to 10 are read"),
    ],
)
def test_each_limit_says_what_was_found_and_what_is_allowed(limits: Limits, said: str):
    with pytest.raises(RecordingError, match=said):
        members(Source("x.zip", zipped({"a.json": [talk("a")], "b.json": [talk("b")]})), limits)


def test_an_archive_that_is_cut_off_is_an_error_in_words():
    with pytest.raises(RecordingError, match="no ZIP archive that can be read"):
        read(zipped({"a.json": [talk("a")]})[:-30])


def test_a_file_that_was_damaged_on_the_way_is_skipped_with_its_reason():
    raw = bytearray(zipped({"a.json": [talk("a")], "b.json": [talk("b")]}))
    raw[45] ^= 0xFF
    skipped, good = names(bytes(raw))
    assert "cannot be unpacked" in skipped
    assert good == "b"


def test_a_folder_is_read_file_by_file_and_archives_in_it_are_opened(tmp_path: Path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "x.json").write_text(json.dumps([talk("x")]), encoding="utf-16")
    (tmp_path / "a.zip").write_bytes(zipped({"conversations.json": [talk("z")]}))
    (tmp_path / "notes.txt").write_text("hello")
    assert names(tmp_path) == ["z", "x", "no conversation in a format that is known here: notes.txt"]
