import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.settings import Settings
from memory.stores.sql import Store
from sessions.demo import demo_files
from sessions.readers import read
from sessions.recording import Question, RecordedCall, RecordedRecall, RecordedTurn, Recording

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
LOCOMO = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "locomo"
TOPICS = ["the budget of the trip", "the red bicycle", "a peanut allergy", "the piano lesson", "the train to Kyoto"]


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory, demo_copy: Callable[[Path], Path]):
    """Both demo conversations as `workbench open --demo` makes them; tests of it change nothing."""
    with Store.open(demo_copy(tmp_path_factory.mktemp("demo") / "store")) as opened:
        yield opened


@pytest.fixture(scope="session")
def demos() -> dict[str, Recording]:
    found = [one for path in demo_files() for one in read(path)]
    return {one.conversation: one for one in found}


@pytest.fixture(scope="session")
def locomo() -> list[Recording]:
    file = LOCOMO / "locomo10.json"
    if not file.exists():
        pytest.skip(f"LoCoMo may not be distributed, and {file} is not there")
    return list(read(file))


@pytest.fixture(scope="session")
def small() -> Settings:
    """A window that a few pages fill."""
    return Settings.of(window_tokens=2_200, reply_tokens=100, page_turns=6, page_tokens=150)


def line(number: int, role: str, text: str, **more: object) -> RecordedTurn:
    at = START + timedelta(minutes=number) + timedelta(hours=8) * (number // 20)
    return RecordedTurn(number, role, text, at, **more)


def said(number: int) -> str:
    topic = TOPICS[number // 12 % len(TOPICS)]
    return f"Message {number} is about {topic}: figure {number * 37 % 101}, and some more words to give it a length."


@pytest.fixture(scope="session")
def talk() -> Callable[..., Recording]:
    """A conversation with everything in it: tool calls, recalls right and wrong, labels, two user's turns in a row."""

    def make(turns: int = 96, words: Callable[[int], str] = said) -> Recording:
        lines = [line(1, "assistant", "Welcome! What is on your mind?")]
        for n in range(2, turns + 1):
            before = lines[-1]
            if before.calls:
                lines += [line(n, "tool", f"result of call {n}", speaker="look_up", answers=before.calls[0].id)]
            elif before.role == "tool" or (before.role == "user" and n % 11):
                lines += [line(n, "assistant", words(n), **_of_assistant(n))]
            else:
                lines += [line(n, "user", words(n), evidence=(n // 3,) if n % 8 == 0 else (), important=n == 20)]
        questions = [Question("What was it?", "That.", (3, 50), "single"), Question("Never said?", "", (), "absent")]
        return Recording("talk", "ana", tuple(lines), "A talk", "en", "Be brief.", tuple(questions), "workbench")

    return make


def _of_assistant(n: int) -> dict[str, object]:
    if n % 13 == 0:
        return {"calls": (RecordedCall(f"c{n}", "look_up", json.dumps({"n": n})),)}
    if n % 9 == 0:
        return {"recalls": (RecordedRecall(((max(1, n // 3 - 1), n // 3),), f"what was said of {n}"),)}
    return {}
