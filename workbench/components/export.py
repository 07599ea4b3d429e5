"""Any table as a file, made when somebody asks for it: CSV, Parquet, JSON, and a drawing as one HTML page.

`export(rows, name, say)` is a small button; nothing is written while it stands there. A cell of a CSV never becomes a
formula in the program that opens it: words that begin as one get an apostrophe before them (OWASP, "CSV injection").
Parquet and JSON hold the words as they are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, is_dataclass
from datetime import date, datetime
from functools import partial
from html import escape
from typing import Any

import orjson
import streamlit as st

from workbench.words import Words

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # full width ones are read the same
PLAIN = str | int | float | bool | datetime | date | None
PAGE = (
    '<!doctype html><html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    "<title>{title}</title></head><body>{body}</body></html>"
)


def export(rows: Any, name: str, say: Words, *, key: str = "", drawing: Any = None) -> None:
    """A button that offers `rows` as files called `name`.

    `rows`: mappings, frozen values or a data frame; or a function that makes them, called in a thread of its own when a
    file is asked for (it may ask the store, it may not draw). `drawing`: a figure of plotly, a view that shows itself
    in notebooks, or HTML; or a function that makes it. `key` tells two exports of one name on a page apart.
    """
    kinds: dict[str, tuple[str, Callable[[], bytes]]] = {
        "csv": ("text/csv", lambda: as_csv(records(rows))),
        "parquet": ("application/vnd.apache.parquet", lambda: as_parquet(records(rows))),
        "json": ("application/json", lambda: as_json(records(rows))),
    }
    if drawing is not None:
        kinds["html"] = ("text/html", partial(as_html, drawing, name))
    own = f"export_{key or name}"
    with (
        st.popover(say("export"), icon=":material/download:", type="tertiary", help=say("export.says"), key=own),
        st.container(horizontal=True, gap="small"),
    ):
        for kind, (mime, made) in kinds.items():
            st.download_button(
                say(f"export.{kind}"), made, file_name(name, kind), mime, key=f"{own}_{kind}", on_click="ignore",
                help=say(f"export.{kind}.says"),
            )  # fmt: skip


def file_name(name: str, kind: str) -> str:
    """
    >>> file_name("turns of ana/trip", "csv")
    'turns-of-ana-trip.csv'
    """
    return (re.sub(r"[^\w]+", "-", name).strip("-")[:80] or "table") + f".{kind}"


def records(rows: Any) -> list[dict[str, Any]]:
    """One dictionary a row, of mappings, frozen values or a data frame; missing cells of a frame are None."""
    found = rows() if callable(rows) else rows
    if hasattr(found, "to_dict") and hasattr(found, "columns"):  # a data frame; pandas stays unloaded without one
        return list(found.astype(object).where(found.notna(), None).to_dict("records"))
    return [asdict(row) if is_dataclass(row) and not isinstance(row, type) else dict(row) for row in found]


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────


def as_csv(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """UTF-8 with a mark at its beginning, without which a spreadsheet reads Chinese as something else."""
    lines = list(rows)
    columns = _columns(lines)
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([_harmless(column) for column in columns])
    writer.writerows([_cell(line.get(column)) for column in columns] for line in lines)
    return out.getvalue().encode("utf-8-sig", "backslashreplace")


def as_json(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return orjson.dumps(list(rows), option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=_other)


def as_parquet(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """A column whose cells are of no one type becomes text, each cell as JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = list(rows)
    columns = {str(name): _column([line.get(name) for line in lines]) for name in _columns(lines)}
    out = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), out, compression="zstd")
    return bytes(out.getvalue())


def as_html(drawing: Any, title: str) -> bytes:
    """One page that needs nothing else: a figure carries the code that draws it."""
    made = drawing() if callable(drawing) else drawing
    if hasattr(made, "to_plotly_json"):
        return str(made.to_html(include_plotlyjs=True, full_html=True)).encode()
    body = made if isinstance(made, str) else made._repr_html_()
    return PAGE.format(title=escape(title), body=body).encode("utf-8", "backslashreplace")


def _columns(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """Of all rows, in the order in which they first appear."""
    return list(dict.fromkeys(name for line in lines for name in line))


def _harmless(value: str) -> str:
    """
    >>> _harmless("=1+1"), _harmless("a=b")
    ("'=1+1", 'a=b')
    """
    return f"'{value}" if value.startswith(FORMULA) or value.lstrip().startswith(FORMULA) else value


def _cell(value: Any) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bool | int | float):
        return value
    return _harmless(value if isinstance(value, str) else _compact(value))


def _compact(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=_other).decode()


def _other(value: Any) -> Any:
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


def _column(values: list[Any]) -> Any:
    import pyarrow as pa

    try:
        return pa.array([list(v) if isinstance(v, tuple | set | frozenset) else v for v in values])
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([None if v is None else v if isinstance(v, str) else _compact(v) for v in values], pa.string())
