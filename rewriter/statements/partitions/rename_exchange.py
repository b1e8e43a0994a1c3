"""ALTER TABLE … PARTITION … RENAME, EXCHANGE PARTITION and TOUCH, and TRUNCATE TABLE.

Each is one catalog transaction. None opens a data file, unless events move into a RAW table, whose times are checked,
or rows into a table of a fact with measures that are declared NOT NULL.
``catalog.partition_moves`` decides the new places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewriter.catalog import partition_moves
from rewriter.catalog.keys.paths import is_discovered, not_registered
from rewriter.catalog.model.changes import TruncatePartitions
from rewriter.catalog.model.key_ranges import merge_ranges
from rewriter.catalog.model.objects import PartitionValues, Table, seen_from
from rewriter.catalog.storage.discovered_partitions import look_up
from rewriter.errors import AnalysisError, Error, NotSupportedError, partitions_not_found
from rewriter.grammar.families import partitions as s
from rewriter.grammar.unparse import partition_text
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.query.not_null_measures import check_moved_not_null
from rewriter.statements.resolve.location_conflicts import check_partition_locations
from rewriter.statements.resolve.partition_specs import (
    read_full,
    read_spec,
    read_static,
    require_partitioned,
    spec_span,
)
from rewriter.statements.resolve.text_comparisons import check_named
from rewriter.statements.write.commit_policies import remove_success_files_now
from rewriter.statements.write.event_times import check_moved

if TYPE_CHECKING:
    from rewriter.grammar.terms import Name, PartitionItem
    from rewriter.runtime.statement_context import Context


@runs(s.RenamePartition, in_transaction=True)
def rename_partition(statement: s.RenamePartition, context: Context) -> Result:
    """ALTER TABLE … PARTITION … RENAME TO PARTITION …: both specs are full; everything that belongs to the partition
    follows.

    Raises PARTITIONS_NOT_FOUND and PARTITIONS_ALREADY_EXIST, both 428FT, at the spec concerned; the same name
    already exists. Raises TIME_OUTSIDE_PARTITION for events of another time than the new name's.
    """
    table = context.table(statement.table)
    _require_transactional(table, statement.table, context)
    require_partitioned(table, statement.table.span)
    old, new = read_full(table, statement.partition), read_full(table, statement.to)
    check_named(table, statement.to, context.snapshot)
    try:
        partition = partition_moves.existing_partition(context.snapshot, table, old)
    except Error as error:
        raise error.at(spec_span(statement.partition)) from None
    try:
        partition_moves.check_absent(context.snapshot, table, new)
        check_moved(table, [(partition, new)], table, context)
        partition_moves.rename(context.begin, _begin_note(context), context.snapshot, table, old, new)
    except Error as error:
        raise error.at(spec_span(statement.to)) from None
    remove_success_files_now(table, [old], context)
    return Result("ALTER TABLE RENAME PARTITION")


@runs(s.ExchangePartitions, in_transaction=True)
def exchange_partitions(statement: s.ExchangePartitions, context: Context) -> Result:
    """ALTER TABLE t EXCHANGE PARTITION … WITH TABLE u: moves the partitions below each spec from ``u`` to ``t``.

    A spec names the leading partition columns. Raises the errors of ``partition_moves.exchange``, at the spec or table
    concerned, TIME_OUTSIDE_PARTITION for events of another time than their partition's, and NOT_NULL_ASSERT_VIOLATION
    for NULL in a measure that is declared NOT NULL.
    """
    target, source = context.table(statement.table), context.table(statement.source)
    _require_transactional(target, statement.table, context)
    require_partitioned(target, statement.table.span)
    if is_discovered(target):
        raise not_registered(target).at(statement.table.span)
    try:
        partition_moves.check_alike(target, source)
        _check_same_cluster(target, source, context)
    except Error as error:
        raise error.at(statement.source.span) from None
    prefixes = [_prefix(source, spec) for spec in statement.partitions]
    moved: list[PartitionValues] = []
    for spec, leading in zip(statement.partitions, prefixes, strict=True):
        try:
            exchanged = partition_moves.exchanged_partitions(context.snapshot, target, source, leading)
            # Partitions without a location of their own go where the target has its partitions.
            kept_locations = [
                (partition.values, partition.location) for partition in exchanged if partition.location is not None
            ]
            if source.external and kept_locations:
                check_partition_locations(target, kept_locations, context, source)
            as_exchanged = [(partition, partition.values) for partition in exchanged]
            check_moved(source, as_exchanged, target, context)
            check_moved_not_null(source, as_exchanged, target, context)
            moved += [partition.values for partition in exchanged]
        except Error as error:
            raise error.at(spec_span(spec)) from None
    try:
        partition_moves.exchange(context.begin, _begin_note(context), context.snapshot, target, source, prefixes)
    except Error as error:
        raise error.at(statement.table.span) from None
    remove_success_files_now(source, moved, context)
    return Result("ALTER TABLE EXCHANGE PARTITION")


def _check_same_cluster(target: Table, source: Table, context: Context) -> None:
    """Raises ``NotSupportedError`` EXCHANGE_BETWEEN_CLUSTERS if the tables have different primary clusters."""
    primaries = [context.clusters.primary_of(table) for table in (source, target)]
    if (primaries[0] or "").lower() == (primaries[1] or "").lower():
        return
    raise NotSupportedError(
        f"{source.name} is on {primaries[0]} and {target.name} on {primaries[1]}, but a partition is on the primary "
        "cluster of its table.",
        condition="EXCHANGE_BETWEEN_CLUSTERS",
        object=source.name,
        hint=f"REPLICATE TABLE {source.name} TO CLUSTER {primaries[1]}, then INSERT INTO {target.name} … SELECT ….",
    )


@runs(s.Truncate, in_transaction=True)
def truncate(statement: s.Truncate, context: Context) -> Result:
    """TRUNCATE TABLE: the partitions that have the spec's values stay, without rows.

    A column that the spec names without a value has any value. As in Spark, only a spec of all columns must name a
    partition: PARTITIONS_NOT_FOUND 428FT.

    A concurrent write conflicts if it falls into the key ranges that were searched.
    """
    table = context.table(statement.table)
    if table.external:
        raise NotSupportedError(
            f"The files of the external table {table.name} belong to the user: TRUNCATE does not delete them.",
            condition="TRUNCATE_EXTERNAL_TABLE",
            sqlstate="0A000",
            position=statement.table.span,
            object=table.name,
            hint="ALTER TABLE … DROP PARTITION (…) removes partitions from the table and keeps their files.",
        )
    static: dict[int, str | None] = {}
    if statement.partition is not None:
        require_partitioned(table, statement.table.span)
        static = read_spec(table, statement.partition).static
    lookup = context.snapshot.lookup(table, read_static(table, static) if static else None)
    partitions = tuple(lookup.partitions())
    if not partitions and statement.partition is not None and len(static) == len(table.partition_columns):
        raise partitions_not_found(
            f"The partition(s) {partition_text(statement.partition)}",
            table.name,
            shown=seen_from(context.snapshot.current, table.name),
            position=spec_span(statement.partition),
        )
    keys_with_files = tuple(partition.key for partition in partitions if partition.files)
    if keys_with_files:
        with context.begin() as transaction:
            try:
                transaction.commit([TruncatePartitions(table, keys_with_files, merge_ranges(lookup.ranges))])
            except Error as error:
                raise error.at(statement.table.span) from None
    return Result("TRUNCATE TABLE")


@runs(s.Touch, in_transaction=True)
def touch(statement: s.Touch, context: Context) -> Result:
    """ALTER TABLE … TOUCH: changes nothing. Raises PARTITIONS_NOT_FOUND 428FT if no partition has the spec's values."""
    table = context.table(statement.table)
    if statement.partition is not None:
        require_partitioned(table, statement.table.span)
        filter_ = read_static(table, read_spec(table, statement.partition).static)
        if not look_up(table, filter_, context.snapshot, statement.table.span).count():
            raise partitions_not_found(
                f"The partition(s) {partition_text(statement.partition)}",
                table.name,
                shown=seen_from(context.snapshot.current, table.name),
                position=spec_span(statement.partition),
            )
    return Result("ALTER TABLE TOUCH")


def _require_transactional(table: Table, name: Name, context: Context) -> None:
    try:
        context.require_transactional(table)
    except Error as error:
        raise error.at(name.span) from None


def _prefix(table: Table, items: Sequence[PartitionItem]) -> PartitionValues:
    """Returns the values of a spec that names leading partition columns only.

    A spec that leaves out a column before one that it names is INVALID_PARTITION_SPEC.
    """
    spec = read_spec(table, items)
    if len(spec.leading) == len(spec.static):
        return spec.leading
    names = [column.name for column in table.partition_columns]
    raise AnalysisError(
        f"The spec ({', '.join(item.column for item in items)}) leaves out {names[len(spec.leading)]}, "
        "which precedes the columns that it names.",
        condition="INVALID_PARTITION_SPEC",
        sqlstate="42601",
        position=spec_span(items),
        object=table.name,
        hint=f"Name leading partition columns of ({', '.join(names)}): all partitions below them move.",
    )


def _begin_note(context: Context) -> partition_moves.Begin | None:
    return context.catalog.begin if context.rehearsed is None else None
