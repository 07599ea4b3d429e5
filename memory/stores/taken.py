"""How a record is taken apart into one narrow table, once, when it arrives: the tables under the views.

Not here: which tables there are (views.py, fact_views.py), feeding them (log.py).
"""

# ruff: noqa: S608 # SQL is put together from the constants of views.py and fact_views.py alone

from __future__ import annotations

from dataclasses import dataclass

COMMON = "seq BIGINT, stream INTEGER, version INTEGER, step INTEGER, happened_at TIMESTAMPTZ, inherited BOOLEAN"


@dataclass(frozen=True, slots=True)
class Taken:
    """One table: of which kinds it is made, how their body is read, and its columns as (type, expression)."""

    table: str
    kinds: tuple[str, ...]
    shape: str  # JSON; the body is then `b` in the expressions
    columns: dict[str, tuple[str, str]]
    each: str = ""  # a list in the body, one row for each of its items, which is then `i`
    source: str = "batch"  # the events that just arrived
    words: tuple[tuple[str, str], ...] = ()  # name and id of texts, which are then `name.content`

    @property
    def create(self) -> str:
        own = "".join(f', "{name}" {kind}' for name, (kind, _) in self.columns.items())
        return f"CREATE TABLE raw.{self.table} ({COMMON}{own});\n"

    @property
    def insert(self) -> str:
        """Of the events that just arrived; a body that cannot be read gives NULLs, `verify` names it."""
        kinds = ", ".join(f"'{kind}'" for kind in self.kinds)
        own = "".join(f', {expression} AS "{name}"' for name, (_, expression) in self.columns.items())
        joined = f", unnest({self.each}) AS each(i)" if self.each else ""
        place = {key: key if key.startswith("i.") else f"took.b.{key}" for _, key in self.words}
        joined += "".join(f" LEFT JOIN raw.word {name} ON {name}.id = {place[key]}" for name, key in self.words)
        return (
            f"INSERT INTO raw.{self.table} BY NAME SELECT seq, stream, version, step, happened_at, "
            f"false AS inherited{own} FROM (SELECT *, TRY(from_json(body, '{self.shape}')) AS b FROM {self.source} "
            f"WHERE kind IN ({kinds})) AS took{joined}"
        )
