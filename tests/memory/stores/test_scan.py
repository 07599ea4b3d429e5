"""The proof of an erase reads every byte, and holds nothing open for longer than it must."""

import os
from pathlib import Path

from memory.stores.scan import _KEPT, _read


def test_a_database_that_was_deleted_is_not_held_open_for_ever(tmp_path: Path):
    for n in range(3):
        file = tmp_path / f"{n}.sqlite3"
        file.write_bytes(b"peanut")
        assert b"".join(_read(file)) == b"peanut"
        file.unlink()
    kept = [os.fstat(each) for each in _KEPT.values()]
    assert sum(not each.st_nlink for each in kept) == 1  # the last one, until the next is read
