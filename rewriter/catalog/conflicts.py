"""Who may commit: a write is refused where a commit that its transaction did not see wrote the same keys.

The first to commit wins. Two INTOs commute; OVERWRITE, ADD, DROP, moves and the range that an OVERWRITE wipes are
exclusive: they meet every other write of their keys.

What a commit wrote is told to later ones by its rows of partitions: each is exclusive, unless the commit recorded that
it was an INTO's. Only what leaves no row of its own, and the keys of INTOs, is recorded beside them: a million added
partitions record nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from rewriter.catalog import schema
from rewriter.catalog.bulk import insert_rows
from rewriter.catalog.keys import KeyRange, merged
from rewriter.catalog.models import Table
from rewriter.errors import ConflictError


@dataclass
class Claims:
    """The keys that the changes of one commit write in one table.

    ``ranges`` and ``rows`` are exclusive; ``rows`` are keys of which the commit makes rows, unless it leaves what is
    there as it is. ``shared`` are the keys of INTOs.
    """

    ranges: list[KeyRange] = field(default_factory=list)
    rows: list[bytes] = field(default_factory=list)
    shared: list[bytes] = field(default_factory=list)


def check(connection: sa.Connection, table: Table, claims: Claims, seen: int, own: int) -> None:
    """Raises ``ConflictError`` where a commit between ``seen`` and ``own`` wrote keys that the claims may not share.

    Two statements, whose answers have the size of what these commits wrote.
    """
    others = _written_between(connection, table, seen, own)
    if not others:
        return
    alone = [*claims.ranges, *map(KeyRange.of_key, claims.rows)]
    exclusive, every = merged(alone), merged([*alone, *map(KeyRange.of_key, claims.shared)])
    for other, others_exclusive in others:
        if _meets(every if others_exclusive else exclusive, other):
            raise ConflictError(
                f"another transaction has written the same partitions of '{table.name}' since this one began",
                object=table.name,
                hint="run the statement again",
            )


def record(connection: sa.Connection, table: Table, claims: Claims, own: int) -> None:
    """Keeps what this commit wrote, and its rows of partitions do not tell, for those that have not seen it."""
    shared = set(claims.shared)
    both = (key for key in claims.rows if key in shared)
    entries = [(one, True) for one in (*claims.ranges, *map(KeyRange.of_key, both))] + [
        (KeyRange.of_key(key), False) for key in shared
    ]
    columns = ("start_key", "end_key", "exclusive", "table_id", "commit_seq")
    rows = [(keys.start, keys.end, exclusive, table.id, own) for keys, exclusive in entries]
    insert_rows(connection, schema.claimed_ranges.insert(), columns, rows)


def _written_between(connection: sa.Connection, table: Table, seen: int, own: int) -> Sequence[tuple[KeyRange, bool]]:
    """What the commits between wrote, and whether exclusively. What an INTO wrote may be told twice."""
    recorded, row = schema.claimed_ranges.c, schema.partitions.c
    told = connection.execute(
        sa.select(recorded.commit_seq, recorded.start_key, recorded.end_key, recorded.exclusive).where(
            recorded.table_id == table.id, recorded.commit_seq > seen, recorded.commit_seq < own
        )
    ).all()
    rows = connection.execute(
        sa.select(row.commit_seq, row.key).where(row.table_id == table.id, row.commit_seq > seen, row.commit_seq < own)
    )
    shared = {(commit, start) for commit, start, _, exclusive in told if not exclusive}
    return [(KeyRange(start, end), exclusive) for _, start, end, exclusive in told] + [
        (KeyRange.of_key(key), True) for commit, key in rows if (commit, key) not in shared
    ]


def _meets(ranges: Sequence[KeyRange], other: KeyRange) -> bool:
    """Whether one of the sorted, disjoint ranges overlaps the other one. O(log n)."""
    at = bisect_right(ranges, other.start, key=lambda r: r.start)
    return any(r.overlaps(other) for r in ranges[max(at - 1, 0) : at + 1])
