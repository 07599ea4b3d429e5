"""How a store of an older schema becomes one of this schema: a list and a decorator.

Each migration runs in one transaction together with its record; the file is backed up before the first.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, func, insert, select

from memory.stores.tables import JOB, META, MIGRATION, TABLES, Row

Migrate = Callable[[Connection], None]
MIGRATIONS: list[Migrate] = []


def migration(change: Migrate) -> Migrate:
    MIGRATIONS.append(change)
    return change


@migration
def first_schema(connection: Connection) -> None:
    Row.metadata.create_all(connection, list(TABLES.values()))
    rows = [{"key": "generation", "value": "1"}, {"key": "next_text", "value": "1"}]
    connection.execute(insert(META), rows)


@migration
def jobs(connection: Connection) -> None:
    Row.metadata.create_all(connection, [JOB])


def applied(connection: Connection) -> int:
    """The highest number applied: the store's schema version."""
    return int(connection.scalar(select(func.max(MIGRATION.c.number))) or 0)


def apply_all(connection: Connection, now_us: int) -> None:
    """Apply what is not applied yet; all of it, or with the transaction nothing."""
    done = set(connection.scalars(select(MIGRATION.c.number)))
    for number, change in enumerate(MIGRATIONS, 1):
        if number not in done:
            change(connection)
            row = {"number": number, "name": change.__name__, "applied_us": now_us}
            connection.execute(insert(MIGRATION), [row])
