"""The query log: what queries over cubes needed, and which tables they read. Counted, without values of their texts.

It is opt-in (``rewriter.query_log``) and belongs to no snapshot: rows change in place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import field

import sqlalchemy as sa

from rewriter.catalog.store import schema
from rewriter.lazy_dataclass import dataclass

#: The most entries that the log keeps. Those that were used last stay.
_MOST_ENTRIES = 10_000
#: A table and the name of a period.
TablePeriod = tuple[int, str]


@dataclass
class LoggedReads:
    """The numbers of queries that have read a period of a table and of their partitions, and the time of the last."""

    queries: int = 0
    partitions: int = 0
    last_at: float = 0.0


@dataclass
class LoggedNeed:
    """One entry: queries over a cube with one text, without its literals, and one need, as JSON (``RollupNeed``).

    Times are seconds since 1970, on the clocks of the processes that ran the queries.
    """

    cube_id: int
    text: str
    need: str
    queries: int = 0
    first_at: float = float("inf")
    last_at: float = 0.0
    reads: dict[TablePeriod, LoggedReads] = field(default_factory=dict)

    @property
    def entry_id(self) -> str:
        """The hash of what makes the entry."""
        return hashlib.sha256(f"{self.cube_id}\n{self.need}\n{self.text}".encode()).hexdigest()

    def add(self, other: LoggedNeed) -> None:
        """Adds the queries of another entry with the same key."""
        self.queries += other.queries
        self.first_at, self.last_at = min(self.first_at, other.first_at), max(self.last_at, other.last_at)
        for key, reads in other.reads.items():
            own = self.reads.setdefault(key, LoggedReads())
            own.queries += reads.queries
            own.partitions += reads.partitions
            own.last_at = max(own.last_at, reads.last_at)


def add_logged(connection: sa.Connection, entries: Iterable[LoggedNeed], most: int = _MOST_ENTRIES) -> None:
    """Adds queries to the log, and removes the entries that were used least recently if there are more than ``most``.

    The connection is the only writer. Three statements, and one for each entry.
    """
    row = schema.query_log
    new = {entry.entry_id: entry for entry in entries}
    stored = {entry.entry_id: entry for entry in _entries(connection, row.c.entry_id.in_(list(new)))}
    for entry_id, entry in new.items():
        if entry_id in stored:
            stored[entry_id].add(entry)
            changed = sa.update(row).where(row.c.entry_id == entry_id)
            connection.execute(changed.values(_values(stored[entry_id])))
        else:
            connection.execute(row.insert().values(entry_id=entry_id, **_values(entry)))
    excess = (connection.execute(sa.select(sa.func.count()).select_from(row)).scalar() or 0) - most
    if excess > 0:
        oldest = sa.select(row.c.entry_id).order_by(row.c.last_at, row.c.entry_id).limit(excess)
        connection.execute(sa.delete(row).where(row.c.entry_id.in_(oldest.scalar_subquery())))


def logged_needs(connection: sa.Connection, cube_id: int) -> tuple[LoggedNeed, ...]:
    """Returns the entries of a cube, the most frequent first. One statement."""
    entries = _entries(connection, schema.query_log.c.cube_id == cube_id)
    return tuple(sorted(entries, key=lambda entry: (-entry.queries, entry.entry_id)))


def _entries(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> Sequence[LoggedNeed]:
    row = schema.query_log.c
    columns = (row.cube_id, row.text, row.need, row.queries, row.first_at, row.last_at, row.reads)
    return [
        LoggedNeed(cube_id, text, need, queries, first_at, last_at, _reads(reads))
        for cube_id, text, need, queries, first_at, last_at, reads in connection.execute(
            sa.select(*columns).where(condition)
        )
    ]


def _reads(text: str) -> dict[TablePeriod, LoggedReads]:
    return {
        (table_id, period): LoggedReads(queries, partitions, last_at)
        for table_id, period, queries, partitions, last_at in json.loads(text)
    }


def _values(entry: LoggedNeed) -> dict[str, object]:
    reads = [
        [table_id, period, reads.queries, reads.partitions, reads.last_at]
        for (table_id, period), reads in sorted(entry.reads.items())
    ]
    return {
        "cube_id": entry.cube_id,
        "text": entry.text,
        "need": entry.need,
        "queries": entry.queries,
        "first_at": entry.first_at,
        "last_at": entry.last_at,
        "reads": json.dumps(reads, separators=(",", ":")),
    }
