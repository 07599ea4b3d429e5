"""Files with words of users that stand beside the database: what of them goes when words are erased or deleted.

JSON lines, each an object with its `user` and `conversation`; a line goes whole. What the lines mean is not known here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from memory.stores.files import of_os

QUESTIONS = "questions.jsonl"  # that are pinned onto conversations (sessions/questions.py)


def take_out(folder: Path, drop: Callable[[Mapping[str, Any], str], bool]) -> int:
    """Take out the lines that `drop` says yes to, given the object and its words. Returns how many.

    A line that cannot be read stays: nobody knows whose it is.
    """
    file = folder / QUESTIONS
    if not file.exists():
        return 0
    try:
        with FileLock(f"{file}.lock"):
            lines = file.read_text("utf-8").splitlines(keepends=True)
            kept = [line for line in lines if not _goes(line, drop)]
            if len(kept) < len(lines):
                new = file.with_name(f"{file.name}.{os.getpid()}.new")
                new.write_text("".join(kept), encoding="utf-8", newline="\n")
                new.replace(file)
            return len(lines) - len(kept)
    except OSError as error:
        raise of_os(error, folder) from error


def _goes(line: str, drop: Callable[[Mapping[str, Any], str], bool]) -> bool:
    try:
        raw = json.loads(line)
    except ValueError:
        return False
    return isinstance(raw, dict) and "user" in raw and drop(raw, "\n".join(_words(raw)))


def _words(raw: Mapping[str, Any]) -> list[str]:
    lists = [each for value in raw.values() if isinstance(value, list) for each in value]
    return [value for value in (*raw.values(), *lists) if isinstance(value, str)]
