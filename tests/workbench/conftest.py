"""The command, as a person runs it."""

import contextlib
import io
import sys

import pytest

from workbench.cli import main


def run(*args: object, ok: bool = True) -> str:
    """Standard output of `workbench …`; with what it says on standard error if it is to fail."""
    out, err = io.StringIO(), io.StringIO()
    argv, sys.argv = sys.argv, ["workbench", *map(str, args)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = argv
    assert (ended.value.code in (None, 0)) == ok, out.getvalue() + err.getvalue()
    return out.getvalue() if ok else out.getvalue() + err.getvalue()
