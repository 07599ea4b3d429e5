"""The benchmark of the pages runs them all, and says how many runs its figures come from."""

import gc
import os

import pytest

from workbench import pages_bench
from workbench.app import NAVIGATION
from workbench.pages_bench import page_figures, page_rows
from workbench.state import STORE_VARIABLE, pages_folder


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


def test_every_file_in_pages_stands_in_the_navigation_and_so_in_the_benchmark():
    files = {file.stem for file in pages_folder().glob("*.py")} - {"__init__"}
    assert set(pages_bench._names()) == files


class Says:
    def __init__(self, value: str) -> None:
        self.value = value


class Shows:
    """A page that shows progress for so many runs, by a bar or in words."""

    exception = ()

    def __init__(self, runs: int, *, in_words: bool = False) -> None:
        self.left, self.in_words = runs, in_words

    def get(self, kind: str) -> list[str]:
        assert kind == "progress"
        return [] if self.in_words else [kind] * self.left

    @property
    def markdown(self) -> list[Says]:
        return [Says(":material/hourglass_top: working …")] * self.left if self.in_words else [Says("A page")]

    def run(self) -> None:
        self.left -= 1


@pytest.mark.parametrize("in_words", [False, True])
def test_what_a_page_shows_the_progress_of_is_awaited_and_timed_apart(monkeypatch: pytest.MonkeyPatch, in_words: bool):
    monkeypatch.setattr(pages_bench, "LOOK_S", 0.01)
    shown = Shows(3, in_words=in_words)
    assert pages_bench._awaited(shown) >= 0.03
    assert shown.left == 0
    assert pages_bench._awaited(Shows(0)) == 0.0
