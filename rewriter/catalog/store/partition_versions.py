"""The newest row of a partition, and what a row records that has ended.

Each commit that changes a partition ends its row and inserts the next. The newest row of a key is the one with the
highest ``row_id``, as commits run one after the other. Write ids would not tell: a lower one may commit later.

A row that ended in the version that made it is a tombstone: no reader ever saw it. It records that the content was
removed without retention: by an OVERWRITE of its period, by a drop while a stream filled it, or because the partition
has another name now. Any other ended row that is the newest of its key records a drop.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.store import range_query, schema


class RowState(Enum):
    """The state of a partition, by the newest row of its key."""

    LIVE = auto()
    DROPPED = auto()
    WIPED = auto()


def state_of(made: int, ended: int) -> RowState:
    """Returns what a row says that these write ids made and ended, if it is the newest of its key.

    >>> state_of(made=3, ended=schema.NEVER), state_of(made=3, ended=5), state_of(made=5, ended=tombstone_end(5))
    (<RowState.LIVE: 1>, <RowState.DROPPED: 2>, <RowState.WIPED: 3>)
    """
    if ended == schema.NEVER:
        return RowState.LIVE
    return RowState.WIPED if ended == tombstone_end(made) else RowState.DROPPED


def tombstone_end(made: int) -> int:
    """Returns the ``ended`` of a tombstone that a write makes."""
    return made


def newest_rows(
    connection: sa.Connection, columns: Sequence[sa.Column[Any]], ranges: Sequence[KeyRange]
) -> sa.Subquery:
    """Returns ``columns`` of the newest row of each key in the disjoint ranges, live or not, unordered.

    ``columns`` are some of ``schema.partitions``; ``ranges`` are at most ``range_query.MOST``. Reads all versions of
    the keys, and no more of them than the index has.
    """
    row = schema.partitions.c
    versions = range_query.search(connection, row.key, (row.key, row.row_id), (), ranges).subquery()
    newest = sa.select(sa.func.max(versions.c.row_id)).group_by(versions.c.key)
    return sa.select(*columns).where(row.row_id.in_(newest)).subquery("newest")
