"""What a docstring shows is what comes out."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHOWN = sorted(
    str(file.relative_to(ROOT))
    for top in ("memory", "sessions", "workbench")
    for file in (ROOT / top).rglob("*.py")
    if ">>> " in file.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("file", SHOWN)
def test_the_examples_of_a_docstring_are_true(file):
    module = import_module(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    assert not doctest.testmod(module).failed
