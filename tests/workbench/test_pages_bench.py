"""The benchmark of the pages runs them all, and says how many runs its figures come from."""

import gc
import os

import pytest

from workbench import pages_bench
from workbench.app import NAVIGATION
from workbench.pages_bench import page_figures, page_rows
from workbench.state import STORE_VARIABLE


@pytest.mark.usefixtures("packages_read_once")
def test_every_page_is_measured_on_a_store_of_the_size_that_was_asked_for():
    before, often = os.environ.get(STORE_VARIABLE), gc.get_threshold()
    figures = page_figures(turns=60, walks=1, conversations=2)
    assert list(figures["pages"]) == [entry.name for group in NAVIGATION.values() for entry in group]
    assert all(each["first_ms"] > 0 and each["n"] == 1 for each in figures["pages"].values())
    assert (figures["store"]["turns"], figures["store"]["conversations"]) == (60, 2)
    assert len(page_rows(figures)) == len(figures["pages"])
    assert gc.get_threshold() == often
    assert os.environ.get(STORE_VARIABLE) == before


class Shows:
    """A page that shows progress for so many runs."""

    exception = ()

    def __init__(self, runs: int) -> None:
        self.left = runs

    def get(self, kind: str) -> list[str]:
        assert kind == "progress"
        return [kind] * self.left

    def run(self) -> None:
        self.left -= 1


def test_what_a_page_shows_the_progress_of_is_awaited_and_timed_apart(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pages_bench, "LOOK_S", 0.01)
    shown = Shows(3)
    assert pages_bench._awaited(shown) >= 0.03
    assert shown.left == 0
    assert pages_bench._awaited(Shows(0)) == 0.0
