"""The newest version of each partition of a table, dropped ones included, as a commit reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import PartitionValues, Table
from rewriter.catalog.model.proofs import Proof
from rewriter.catalog.model.stored_rows import ids_in, origins_in, properties_in, values_in
from rewriter.catalog.reading.queries import chunks
from rewriter.catalog.store import schema
from rewriter.catalog.store.partition_versions import RowState, newest_rows, state_of
from rewriter.catalog.store.range_query import MOST


@dataclass(frozen=True)
class NewestVersion:
    """The newest row of a partition; ``changed_by`` is the commit that wrote, wiped or dropped it last."""

    values: PartitionValues
    properties: Mapping[str, str]
    proof: Proof
    sources: list[int]
    state: RowState
    commit: int
    changed_by: int


def newest_versions(connection: sa.Connection, table: Table, keys: Sequence[KeyRange]) -> Iterator[NewestVersion]:
    """Yields the newest versions of the partitions with keys in disjoint ranges, unordered.

    One statement for up to ``range_query.MOST`` ranges. Reads all versions of these partitions.
    """
    row, ender = schema.partitions.c, schema.write_ids
    columns = (
        row.partition_values, row.properties, row.as_of, row.doubt, row.origins, row.sources, row.made, row.ended,
        row.commit_seq,
    )  # fmt: skip
    for chunk in chunks(keys, MOST):
        newest = newest_rows(connection, columns, chunk)
        ended_by_write = sa.and_(ender.c.object_id == table.id, ender.c.write_id == newest.c.ended)
        query = sa.select(newest, ender.c.commit_seq).join_from(newest, ender, ended_by_write, isouter=True)
        for values, properties, *proof, sources, made, ended, commit, ended_by in connection.execute(query):
            state, (as_of, doubt, origins) = state_of(made, ended), proof
            yield NewestVersion(
                values_in(values, table.name),
                properties_in(properties, table.name),
                Proof(as_of, doubt, origins_in(origins, table.name)),
                ids_in(sources, table.name),
                state,
                commit,
                changed_by=commit if state is RowState.LIVE else ended_by,
            )
