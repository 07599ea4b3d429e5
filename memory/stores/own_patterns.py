"""A store's own patterns of what must not be kept: `redaction.txt` in its folder, one `name: pattern` a line.

They are applied with those of redaction.py, before any sink, to whatever comes in from then on; what is there already
stays (`workbench memory erase` takes words out).
"""

from __future__ import annotations

from pathlib import Path

from memory.errors import BadSetting, NotFound
from memory.redaction import SECRETS, Redact, Sorts, own_patterns, redact, redactor
from memory.stores.files import of_os

OWN_PATTERNS = "redaction.txt"


def patterns_in(file: Path) -> Sorts:
    """The patterns of a file. Raises BadSetting for a bad one, NotFound or StoreError where it cannot be read."""
    try:
        return own_patterns(file.read_text("utf-8"), file.name)
    except UnicodeDecodeError as error:
        raise BadSetting(f"{file} is not UTF-8 ({error.reason} at byte {error.start}): save it as UTF-8") from error
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {file} with patterns") from error
    except OSError as error:
        raise of_os(error, file) from error


def patterns_of(folder: Path) -> Sorts:
    """A store's own patterns; none without the file."""
    file = folder / OWN_PATTERNS
    return patterns_in(file) if file.exists() else {}


def redactor_of(folder: Path) -> Redact:
    """What keeps secrets out of the store in this folder: the built-in patterns, then its own."""
    own = patterns_of(folder)
    return redactor(SECRETS, own) if own else redact
