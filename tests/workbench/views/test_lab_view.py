"""The heat map says what the lab found, the oracle is no choice, and pages of unequal size have no price."""

import pytest

from memory.errors import UnknownName
from sessions.lab_results import Lab, Result
from sessions.paging import Cell, Outcome
from workbench.charts import scatter
from workbench.views.lab import GRIDS, METRICS, lab_view


def result(cell: Cell, right: int, resident: int = 0, regret: int = 0) -> Result:
    made = [Outcome("a", n < resident, False, 1 if n < right else 0, 5, (100, 300, 500), 9) for n in range(10)]
    return Result(cell, tuple(made), regret)


@pytest.fixture
def made() -> Lab:
    return Lab(
        tuple(
            result(Cell(boundary, eviction, budget=budget), right + (budget == 4_000), resident=n, regret=3 - n)
            for boundary, right in (("fixed_5", 4), ("fixed_10", 6))
            for n, eviction in enumerate(("lru", "lfu", "oracle"))
            for budget in (2_000, 4_000)
        ),
        1, 20_000, (10,),
    )  # fmt: skip


def test_rows_are_boundaries_columns_evictions_and_one_cell_is_the_best_that_can_be_had(made: Lab):
    view = lab_view(made, room=4_000)
    assert (view.boundaries, view.evictions) == (("fixed_5", "fixed_10"), ("lru", "lfu", "oracle"))
    assert [[cell.value for cell in row] for row in view.heat] == [[0.5, 0.5, 0.5], [0.7, 0.7, 0.7]]
    best = [cell for row in view.heat for cell in row if cell.is_best]
    assert [cell.result.cell.boundary for cell in best] == ["fixed_10"]
    assert best[0].result.cell.eviction != "oracle"
    assert view.chosen == best[0].index
    assert best[0].low < 0.7 < best[0].high
    assert {cell.level for row in view.heat for cell in row} == {0.0, 1.0}


def test_of_regret_less_is_better(made: Lab):
    view = lab_view(made, metric="regret", room=4_000)
    assert [cell.level for cell in view.heat[0]] == [0.0, 1.0, 1.0]
    assert all(cell.low is None for row in view.heat for cell in row)


def test_what_is_not_in_the_grid_is_taken_as_not_said(made: Lab):
    view = lab_view(made, by="telepathy", room=7, chosen=999)
    assert (view.by, view.room) == ("content", 4_000)
    assert view.cell.cell.budget == 4_000
    with pytest.raises(UnknownName):
        lab_view(made, metric="beauty")


def test_dots_are_told_apart_and_the_oracle_is_on_no_front(made: Lab):
    kinds = {kind for _, r, kind in lab_view(made).points if r.cell.eviction == "oracle"}
    assert kinds == {"oracle"}
    assert sum(kind == "front" for *_, kind in lab_view(made).points) == len(made.front)
    by_pages = Lab((result(Cell(pages=5), 4),), 1, 20_000)
    assert lab_view(by_pages).points == []


def test_it_shows_itself(made: Lab):
    view = lab_view(made)
    assert "fixed_10" in view._repr_html_()
    assert len(view.to_df()) == 12
    assert view.to_dict()["honesty"]["labels"]


def test_every_grid_can_be_made_and_every_metric_counted():
    assert {name: len(make()) for name, make in GRIDS.items()}["quick"] == 48
    assert all(callable(metric) for metric in METRICS.values())


def test_a_plot_begins_at_no_tokens_and_ends_at_full_tenths():
    plot = scatter([(1_000, 0.55), (2_000, 0.75)])
    assert plot.dots == ((50.0, 83.33), (100.0, 16.67))
    assert [value for _, value in plot.up] == [0.5, 0.6, 0.7, 0.8]
    assert plot.across[0] == (0.0, 0)
    assert plot.across[-1] == (100.0, 2_000)
    assert scatter([(1, 1.0)]).up[-1] == (0.0, 1.0)
    assert scatter([]).dots == ()
