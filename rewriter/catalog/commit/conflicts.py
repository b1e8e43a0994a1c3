"""Conflicts: a write is refused if a commit that its transaction did not see wrote the same keys.

The first commit wins. Two INTOs commute. OVERWRITE, ADD, DROP, moves and the range that an OVERWRITE wipes are
exclusive: they conflict with every other write of their keys.

The partition rows of a commit tell later commits what it wrote. Each row is exclusive, unless the commit recorded it
as an INTO's. Only changes without a row of their own, and the keys of INTOs, are recorded separately: a million added
partitions record nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.store import schema
from rewriter.catalog.store.prepared_statements import fetch, insert_rows, once
from rewriter.errors import ConflictError
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Table

_INSERT = schema.claimed_ranges.insert()


@dataclass
class Claims:
    """The keys that the changes of one commit write in one table.

    ``ranges`` and ``rows`` are exclusive. ``rows`` are keys for which the commit makes rows, unless it leaves the
    existing rows as they are. ``shared_keys`` are the keys of INTOs.
    """

    ranges: list[KeyRange] = field(default_factory=list)
    rows: list[bytes] = field(default_factory=list)
    shared_keys: list[bytes] = field(default_factory=list)


def check(connection: sa.Connection, table: Table, claims: Claims, snapshot_sequence: int, commit: int) -> None:
    """Raises ``ConflictError`` if a commit between the snapshot and ``commit`` wrote keys that the claims may not
    share.

    Runs two statements, whose results are as large as the writes of these commits.
    """
    other_writes = _concurrent_writes(connection, table, snapshot_sequence, commit)
    if not other_writes:
        return
    exclusive_ranges = [*claims.ranges, *map(KeyRange.of_key, claims.rows)]
    exclusive, all_keys = (
        merge_ranges(exclusive_ranges),
        merge_ranges([*exclusive_ranges, *map(KeyRange.of_key, claims.shared_keys)]),
    )
    for keys, is_exclusive in other_writes:
        if _overlaps_any(all_keys if is_exclusive else exclusive, keys):
            raise ConflictError(
                f"another transaction wrote the same partitions of '{table.name}' after this one began",
                object=table.name,
                hint="Run the statement again.",
            )


def record(connection: sa.Connection, table: Table, claims: Claims, commit: int) -> None:
    """Records the writes that the commit's partition rows do not show, for transactions that have not seen it."""
    shared_keys = set(claims.shared_keys)
    written_and_shared = (key for key in claims.rows if key in shared_keys)
    exclusive = (*claims.ranges, *map(KeyRange.of_key, written_and_shared))
    columns = ("start_key", "end_key", "exclusive", "table_id", "commit_seq")
    rows = [(keys.start, keys.end, True, table.id, commit) for keys in exclusive]
    # The range of one key, as ``KeyRange.of_key`` returns it: an INTO may have many.
    rows += [(key, key + b"\x00", False, table.id, commit) for key in shared_keys]
    insert_rows(connection, _INSERT, columns, rows)


def _concurrent_writes(
    connection: sa.Connection, table: Table, snapshot_sequence: int, before: int
) -> Sequence[tuple[KeyRange, bool]]:
    """Returns the keys that the commits in between wrote, and whether each is exclusive. INTO keys may occur twice."""
    parameters = {"table": table.id, "seen": snapshot_sequence, "own": before}
    recorded = fetch(connection, _recorded(connection.dialect), **parameters)
    rows = fetch(connection, _written_rows(connection.dialect), **parameters)
    shared_writes = {(commit, start) for commit, start, _, exclusive in recorded if not exclusive}
    return [(KeyRange(start, end), exclusive) for _, start, end, exclusive in recorded] + [
        (KeyRange.of_key(key), True) for commit, key in rows if (commit, key) not in shared_writes
    ]


@once
def _recorded() -> sa.Select[Any]:
    recorded = schema.claimed_ranges.c
    columns = (recorded.commit_seq, recorded.start_key, recorded.end_key, recorded.exclusive)
    return sa.select(*columns).where(*_concurrent(recorded.table_id, recorded.commit_seq))


@once
def _written_rows() -> sa.Select[Any]:
    row = schema.partitions.c
    return sa.select(row.commit_seq, row.key).where(*_concurrent(row.table_id, row.commit_seq))


def _concurrent(table: sa.Column[int], commit: sa.Column[int]) -> tuple[sa.ColumnElement[bool], ...]:
    parameters = {name: sa.bindparam(name, 0, sa.BigInteger) for name in ("table", "seen", "own")}
    return table == parameters["table"], commit > parameters["seen"], commit < parameters["own"]


def _overlaps_any(ranges: Sequence[KeyRange], other: KeyRange) -> bool:
    """Returns True if one of the sorted, disjoint ranges overlaps ``other``. O(log n)."""
    position = bisect_right(ranges, other.start, key=lambda key_range: key_range.start)
    return any(key_range.overlaps(other) for key_range in ranges[max(position - 1, 0) : position + 1])
