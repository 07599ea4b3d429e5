"""What leaves as a file: made on demand, the same rows in each kind, and no cell that runs."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from memory.show import Shown, text
from workbench.components.export import as_csv, as_html, as_json, as_parquet, file_name, records

ROWS = [
    {"page": 3, "stub": "预算, budget", "score": -0.5, "at": datetime(2026, 12, 2, tzinfo=UTC), "pages": (1, 2)},
    {"page": 4, "stub": None, "score": 1.0, "at": datetime(2026, 12, 3, tzinfo=UTC), "pages": (), "late": True},
]


def read_csv(raw: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline="")))


def test_the_same_rows_stand_in_every_kind():
    table = pq.read_table(pa.BufferReader(as_parquet(ROWS))).to_pylist()
    assert [row["page"] for row in table] == [3, 4]
    assert table[0]["pages"] == [1, 2]
    assert table[1]["late"] is True
    told = json.loads(as_json(ROWS))
    assert [row["stub"] for row in told] == ["预算, budget", None]
    lines = read_csv(as_csv(ROWS))
    assert lines[0] == {"page": "3", "stub": "预算, budget", "score": "-0.5", "at": "2026-12-02T00:00:00+00:00",
                        "pages": "[1,2]", "late": ""}  # fmt: skip


@pytest.mark.parametrize(
    "words",
    ["=HYPERLINK(1)", "+1", "-1+cmd", "@SUM(A1)", "\t=1", "\r=1", " =1", "\u3000=1", "＝1"],
)
def test_words_that_a_spreadsheet_would_run_get_an_apostrophe(words: str):
    assert read_csv(as_csv([{"a": words}]))[0]["a"] == f"'{words}"
    assert json.loads(as_json([{"a": words}]))[0]["a"] == words


def test_numbers_stay_numbers_and_a_column_may_not_be_a_formula_either():
    assert as_csv([{"=a": -1}]).decode("utf-8-sig") == "'=a\r\n-1\r\n"


@given(
    st.lists(st.dictionaries(st.text("abc", min_size=1, max_size=2), st.text() | st.integers() | st.none(), min_size=1))
)
def test_no_cell_of_a_csv_is_a_formula(rows: list[dict[str, object]]):
    lines = csv.reader(io.StringIO(as_csv(rows).decode("utf-8-sig"), newline=""))
    for line in lines:
        for cell in line:
            assert cell[:1] not in "=+@\t\r" or cell[:1] == "" or cell.removeprefix("+").isdigit()
            assert cell[:1] != "-" or cell[1:].isdecimal()


def test_cells_of_no_one_type_become_text_in_parquet():
    table = pq.read_table(pa.BufferReader(as_parquet([{"a": 1}, {"a": "x"}, {"a": {"b": [1]}}])))
    assert table["a"].to_pylist() == ["1", "x", '{"b":[1]}']


def test_a_table_without_rows_is_a_file_too():
    assert as_csv([]) == b"\xef\xbb\xbf\r\n"
    assert json.loads(as_json([])) == []
    assert pq.read_table(pa.BufferReader(as_parquet([]))).num_rows == 0


def test_frozen_values_and_frames_are_tables():
    @dataclass(frozen=True)
    class Row:
        a: int

    assert records([Row(1)]) == [{"a": 1}]
    assert records(lambda: [Row(1)]) == [{"a": 1}]
    assert records(pd.DataFrame({"a": [1.0, None], "b": ["x", None]})) == [
        {"a": 1.0, "b": "x"},
        {"a": None, "b": None},
    ]


def test_a_drawing_is_one_page_that_needs_nothing_else():
    class View(Shown):
        def _html(self) -> str:
            return text("<script>alert(1)</script>")

    page = as_html(View(), "<b>").decode()
    assert "<script>" not in page
    assert "<title>&lt;b&gt;</title>" in page
    figure = as_html(lambda: go.Figure(go.Bar(y=[1, 2])), "bars").decode()
    assert 'src="http' not in figure
    assert "Plotly.newPlot" in figure


@pytest.mark.parametrize(
    ("name", "file"), [("../../etc/passwd", "etc-passwd.csv"), ("预算 轮次", "预算-轮次.csv"), ("<>", "table.csv")]
)
def test_a_file_is_named_by_what_it_holds_and_leads_nowhere(name: str, file: str):
    assert file_name(name, "csv") == file


def offered() -> None:
    import streamlit as st_

    from workbench.components.export import export
    from workbench.words import Words

    def rows() -> list[dict[str, int]]:
        st_.session_state["made"] = True
        return [{"a": 1}]

    export(rows, "rows", Words("zh"))


def test_nothing_is_made_until_it_is_asked_for():
    at = AppTest.from_function(offered).run()
    assert not at.exception
    assert [b.label for b in at.get("download_button")] == ["CSV", "Parquet", "JSON"]
    assert "made" not in at.session_state


@pytest.mark.parametrize(
    ("page", "figures"),
    [
        ("overview", {"scores"}), ("live", {"window"}), ("turn", {"turn"}), ("diff", {"diff"}),
        ("evictions", {"evictions"}), ("bookmarks", {"bookmarks", "confusion"}), ("timeline", {"lanes"}),
    ],
)  # fmt: skip
def test_every_figure_can_be_had_as_a_page(app: Callable[..., AppTest], demo: Path, page: str, figures: set[str]):
    at = app(demo, page, user="ana", conv="house-move")
    offered = {e.proto.id.partition("-export_")[2] for e in at.get("download_button")}
    assert {f"{name}_html" for name in figures} <= offered
