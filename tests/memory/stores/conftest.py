"""Fixtures of the store's tests: real files in a folder of their own, real processes."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for store_by_hand, which is a program, too

from store_by_hand import SCRIPT, Hand, open_hand

from memory.scope import Scope
from memory.stores.sql import Store

Spawn = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with Store.open(folder) as opened:
        yield opened


@pytest.fixture
def scope() -> Scope:
    return Scope("ana", "trip")


@pytest.fixture
def hand(store: Store, scope: Scope) -> Hand:
    return open_hand(store, scope)


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start `store_by_hand.py` with these arguments; whatever still runs at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, str(SCRIPT), *map(str, arguments)]
        pipe = subprocess.PIPE
        running.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()
