"""The partitions that a statement names, for statements that read them and for those that change them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rewriter.catalog.commit.directory_moves import directory
from rewriter.catalog.filters.predicates import AllOf, ScanFilter, bind_filter
from rewriter.catalog.keys.paths import is_discovered, not_registered
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.key_ranges import KeyRange, merged
from rewriter.catalog.model.objects import (
    Partition,
    Table,
)
from rewriter.catalog.reading.partition_lookup import Lookup
from rewriter.catalog.reading.pending_changes import NOTHING
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.catalog.storage.discovered_partitions import Discovery, look_up
from rewriter.errors import ConflictError, Span
from rewriter.grammar.families import partitions as s
from rewriter.grammar.filters import Filter
from rewriter.grammar.terms import PartitionItem
from rewriter.runtime.statement_context import Context
from rewriter.statements.resolve.partition_specs import (
    full_key,
    read_dropped,
    read_spec,
    read_static,
    require_partitioned,
)
from rewriter.statements.resolve.text_comparisons import comparable


@dataclass(frozen=True)
class DroppedSpec:
    """One spec of ALTER TABLE … DROP PARTITION: a full spec names one key, any other is a filter."""

    table: Table
    conditions: tuple[Filter, ...]
    key_or_filter: bytes | ScanFilter

    def lookup(self, snapshot: Snapshot) -> Lookup:
        """Returns the look-up of its partitions. Nothing is read before it is asked."""
        if isinstance(self.key_or_filter, bytes):
            return snapshot.lookup(self.table, None, (KeyRange.of_key(self.key_or_filter),))
        return snapshot.lookup(self.table, self.key_or_filter)


def dropped(statement: s.DropPartitions | s.CommitPartitions, context: Context) -> tuple[DroppedSpec, ...]:
    """Returns the specs of ALTER TABLE … DROP PARTITION, for the statement and for EXPLAIN SCAN, or COMMIT PARTITION.

    The first spec that cannot be read raises.
    """
    table = context.table(statement.table)
    require_partitioned(table, statement.table.span)
    if is_discovered(table):
        raise not_registered(table).at(statement.table.span)
    specs = [tuple(comparable(table, condition, context.snapshot) for condition in spec) for spec in statement.specs]
    return tuple(DroppedSpec(table, spec, full_key(table, spec) or read_dropped(table, spec)) for spec in specs)


def found_keys(specs: Sequence[DroppedSpec], snapshot: Snapshot) -> list[tuple[list[bytes], Sequence[KeyRange]]]:
    """For each spec the keys of its partitions, and the ranges that were searched.

    All full specs together are one look-up.
    """
    full_keys = [spec.key_or_filter for spec in specs if isinstance(spec.key_or_filter, bytes)]
    table = specs[0].table
    existing_keys = (
        set(snapshot.lookup(table, None, merged(map(KeyRange.of_key, full_keys))).found_keys()) if full_keys else set()
    )
    results: list[tuple[list[bytes], Sequence[KeyRange]]] = []
    for spec in specs:
        if isinstance(spec.key_or_filter, bytes):
            results.append(
                (
                    [spec.key_or_filter] if spec.key_or_filter in existing_keys else [],
                    [KeyRange.of_key(spec.key_or_filter)],
                )
            )
        else:
            lookup = spec.lookup(snapshot)
            results.append((list(lookup.found_keys()), lookup.ranges))
    return results


def check_unmoved(table: Table, partitions: Iterable[Partition], context: Context) -> None:
    """Raises ``ConflictError`` where partitions of an external table have moved since the statement's snapshot.

    Directories have no snapshots: files listed in a directory that has moved meanwhile, or was put there, are not
    the table's.
    """
    fresh, start = context.catalog.snapshot(), context.snapshot.over(NOTHING)
    if fresh.write_ids(table.id) == start.write_ids(table.id):
        return
    now = fresh.named(table.name)
    for partition in partitions:
        if start.partition(table, partition.values) is None:
            continue  # The open transaction has added it.
        current = fresh.partition(now, partition.values) if isinstance(now, Table) and now.id == table.id else None
        if current is None or not isinstance(now, Table) or directory(now, current) != directory(table, partition):
            name = partition_name(table.partition_columns, partition.values)
            raise ConflictError(
                f"the partition {name} of '{table.name}' was moved or dropped after this statement began",
                object=table.name,
                hint="Run the statement again.",
            )


def spec_span(spec: Sequence[PartitionItem]) -> Span:
    """Returns the span of the items of a spec."""
    return Span(spec[0].span.start, spec[-1].span.end)


def listed(statement: s.ShowPartitions, context: Context) -> Lookup | Discovery:
    """Returns the partitions that SHOW PARTITIONS lists, before LIMIT."""
    table = context.table(statement.table)
    require_partitioned(table, statement.table.span)
    filter_ = read_static(table, read_spec(table, statement.partition or ()).static)
    if statement.where is not None:
        where = comparable(table, statement.where, context.snapshot)
        filter_ = AllOf((filter_, bind_filter(where, table.partition_columns)))
    return look_up(table, filter_, context.snapshot, statement.table.span)
