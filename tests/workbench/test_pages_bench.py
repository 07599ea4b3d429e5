"""The benchmark of the pages runs them all, and says how many runs its figures come from."""

import os

import pytest

from workbench.app import NAVIGATION
from workbench.pages_bench import page_figures, page_rows
from workbench.state import STORE_VARIABLE


@pytest.mark.usefixtures("packages_read_once")
def test_every_page_is_measured_on_a_store_of_the_size_that_was_asked_for():
    before = os.environ.get(STORE_VARIABLE)
    figures = page_figures(turns=60, walks=1, conversations=2)
    assert list(figures["pages"]) == [entry.name for group in NAVIGATION.values() for entry in group]
    assert all(each["first_ms"] > 0 and each["n"] == 1 for each in figures["pages"].values())
    assert (figures["store"]["turns"], figures["store"]["conversations"]) == (60, 2)
    assert len(page_rows(figures)) == len(figures["pages"])
    assert os.environ.get(STORE_VARIABLE) == before
