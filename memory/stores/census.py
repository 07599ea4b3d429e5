"""What a store holds, counted where it lies: by run, by kind of work, by file; and how far what is derived came.

Quick, from SQLite and the folder alone: neither DuckDB nor Lance is loaded. It finds gaps in the log and nothing finer:
whether everything agrees with everything is asked of verify.py, which reads the whole store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from sqlalchemy import func, select, text

from memory.stores.files import BACKUPS, CACHE_FILE, FILE, INDEX_FOLDER, INDEX_MARK, LOG_FILE
from memory.stores.tables import EVENT, JOB, MIGRATION, STREAM

if TYPE_CHECKING:
    from memory.stores.sql import Store, Stream

AT_ONCE = 500  # runs in one query

# Of a run's own records: what a branch took over is counted where it happened.
COUNTED = """
SELECT stream,
       sum(kind = 'PageClosed') AS pages, sum(kind = 'PageEvicted') AS evictions,
       sum(kind = 'PagesRecalled') AS recalls, sum(kind = 'PagePagedIn') AS faults,
       coalesce(sum(CASE WHEN kind IN ('MessageReceived', 'MessageReplied')
                         THEN json_extract(body, '$.turn.tokens') END), 0) AS tokens
FROM event WHERE stream IN ({streams}) GROUP BY stream"""

COURSE = """
SELECT step, json_extract(body, '$.tokens') FROM event
WHERE stream = :stream AND kind = 'PromptAssembled' ORDER BY version"""

# Versions run from the one after the branch without a gap, up to what the head says.
GAPS = """
SELECT count(*) FROM (
    SELECT s.id FROM stream s LEFT JOIN event e ON e.stream = s.id
    GROUP BY s.id HAVING count(e.version) <> s.version - s.parent_version
                      OR coalesce(max(e.version), s.parent_version) <> s.version)"""


@dataclass(frozen=True, slots=True)
class Counted:
    """One run's own records."""

    pages: int = 0  # closed
    evictions: int = 0
    recalls: int = 0
    faults: int = 0
    tokens: int = 0  # of what was said


@dataclass(frozen=True, slots=True)
class Part:
    """A file or folder of the store."""

    name: str
    bytes: int
    files: int
    derived: bool  # `workbench rebuild` or `reindex` makes it anew


@dataclass(frozen=True, slots=True)
class Totals:
    streams: int
    events: int
    seq: int  # the last one
    schema: int


def counted(store: Store, streams: Iterable[Stream]) -> dict[int, Counted]:
    """By the id of the run; reads all its records once, so keep it by the run's version."""
    ids = [stream.id for stream in streams]
    found = dict.fromkeys(ids, Counted())
    names = [each.name for each in fields(Counted)]
    with store.read() as connection:
        for start in range(0, len(ids), AT_ONCE):
            part = ", ".join(str(int(i)) for i in ids[start : start + AT_ONCE])
            for row in connection.execute(text(COUNTED.format(streams=part))):
                found[row.stream] = Counted(**{name: int(getattr(row, name)) for name in names})
    return found


def prompt_tokens(store: Store, stream: Stream) -> tuple[tuple[int, int], ...]:
    """Step and tokens of its last prompt, oldest first; of the run's own steps."""
    with store.read() as connection:
        rows = connection.execute(text(COURSE), {"stream": stream.id}).all()
    return tuple({int(step): int(tokens) for step, tokens in rows}.items())


def totals(store: Store) -> Totals:
    with store.read() as connection:
        return Totals(
            streams=int(connection.scalar(select(func.count()).select_from(STREAM)) or 0),
            events=int(connection.scalar(select(func.count()).select_from(EVENT)) or 0),
            seq=int(connection.scalar(select(func.max(EVENT.c.seq))) or 0),
            schema=int(connection.scalar(select(func.max(MIGRATION.c.number))) or 0),
        )


def gaps(store: Store) -> int:
    """Runs whose records are not those that their head speaks of."""
    with store.read() as connection:
        return int(connection.scalar(text(GAPS)) or 0)


def queue(store: Store) -> dict[tuple[str, str], int]:
    """How many jobs by kind and state."""
    query = select(JOB.c.kind, JOB.c.state, func.count()).group_by(JOB.c.kind, JOB.c.state)
    with store.read() as connection:
        return {(kind, state): int(n) for kind, state, n in connection.execute(query)}


def parts(store: Store) -> list[Part]:
    """What lies in the store's folder, the truth first; bytes as the files say they are long."""
    known = {FILE: False, LOG_FILE: True, INDEX_FOLDER: True, CACHE_FILE: True, BACKUPS: False}
    found = []
    for name, derived in known.items():
        sizes = [size for path in (store.path.glob(f"{name}*")) for size in _sizes(path)]
        if sizes:
            found.append(Part(name, sum(sizes), len(sizes), derived))
    return found


def indexed(store: Store) -> int | None:
    """The last seq that `vectors.lance` took up; None: it is not there, or speaks of words that were taken away."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        mark = orjson.loads((store.path / INDEX_FOLDER / INDEX_MARK).read_bytes())
        return int(mark["seq"]) if mark["generation"] == store.generation() else None
    return None


def _sizes(path: Path) -> Iterator[int]:
    """Of the file, or of all files in the folder; one that goes meanwhile counts nothing."""
    for each in path.rglob("*") if path.is_dir() else [path]:
        with suppress(OSError):
            if each.is_file():
                yield each.stat().st_size
