"""How a store of an older schema becomes one of this schema: a list and a decorator.

Each migration runs in one transaction together with its record; the file is backed up before the first.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, insert, select
from sqlmodel import SQLModel

from memory.stores.tables import MetaRow, MigrationRow

Migrate = Callable[[Connection], None]
MIGRATIONS: list[Migrate] = []


def migration(change: Migrate) -> Migrate:
    MIGRATIONS.append(change)
    return change


@migration
def first_schema(connection: Connection) -> None:
    SQLModel.metadata.create_all(connection)
    rows = [{"key": "generation", "value": "1"}, {"key": "next_text", "value": "1"}]
    connection.execute(insert(MetaRow), rows)


def pending(connection: Connection) -> list[tuple[int, Migrate]]:
    """Migrations not yet applied, with their numbers from 1."""
    done = set(connection.scalars(select(MigrationRow.number)))
    return [(n, m) for n, m in enumerate(MIGRATIONS, 1) if n not in done]


def applied(connection: Connection) -> int:
    """The highest number applied: the store's schema version."""
    return max(connection.scalars(select(MigrationRow.number)), default=0)


def apply_one(connection: Connection, number: int, change: Migrate, now_us: int) -> None:
    change(connection)
    row = {"number": number, "name": change.__name__, "applied_us": now_us}
    connection.execute(insert(MigrationRow), [row])
