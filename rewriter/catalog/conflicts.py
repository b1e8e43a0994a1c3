"""Who may commit: a write is refused where a commit that its transaction did not see wrote the same keys.

The first to commit wins. Two INTOs commute; OVERWRITE, ADD, DROP and the range that an OVERWRITE wipes are exclusive:
they meet every other write of their keys.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from rewriter.catalog import schema
from rewriter.catalog.bulk import insert_rows
from rewriter.catalog.keys import KeyRange, merged
from rewriter.catalog.models import Table
from rewriter.errors import ConflictError


@dataclass(frozen=True)
class Claim:
    """Keys that a change writes."""

    keys: KeyRange
    exclusive: bool

    @classmethod
    def of_key(cls, key: bytes, *, exclusive: bool) -> Claim:
        """One key: nothing lies between it and the next byte string."""
        return cls(KeyRange(key, key + b"\x00"), exclusive)


def check(connection: sa.Connection, table: Table, claims: Sequence[Claim], seen: int, own: int) -> None:
    """Raises ``ConflictError`` where a commit between ``seen`` and ``own`` wrote keys that the claims may not share."""
    row = schema.written_ranges
    others = connection.execute(
        sa.select(row.c.start_key, row.c.end_key, row.c.exclusive).where(
            row.c.table_id == table.id, row.c.commit_seq > seen, row.c.commit_seq < own
        )
    ).all()
    if not others:
        return
    every = merged(claim.keys for claim in claims)
    exclusive = merged(claim.keys for claim in claims if claim.exclusive)
    for start, end, others_exclusive in others:
        if _meets(every if others_exclusive else exclusive, KeyRange(start, end)):
            raise ConflictError(
                f"another transaction has written the same partitions of '{table.name}' since this one began",
                object=table.name,
                hint="run the statement again",
            )


def record(connection: sa.Connection, table: Table, claims: Iterable[Claim], own: int) -> None:
    """Keeps what this commit wrote for those that have not seen it."""
    columns = ("start_key", "end_key", "exclusive", "table_id", "commit_seq")
    rows = [(claim.keys.start, claim.keys.end, claim.exclusive, table.id, own) for claim in claims]
    insert_rows(connection, schema.written_ranges.insert(), columns, rows)


def _meets(ranges: Sequence[KeyRange], other: KeyRange) -> bool:
    """Whether one of the sorted, disjoint ranges overlaps the other one. O(log n)."""
    at = bisect_right(ranges, other.start, key=lambda r: r.start)
    return any(r.overlaps(other) for r in ranges[max(at - 1, 0) : at + 1])
