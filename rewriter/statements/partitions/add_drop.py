"""ALTER TABLE … ADD PARTITION, DROP PARTITION and COMMIT PARTITION."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice

from rewriter.catalog.commit.directory_moves import default_directory
from rewriter.catalog.keys.paths import partition_path
from rewriter.catalog.model.changes import (
    AddPartitions,
    CommitPartitions,
    DropPartitions,
    PartitionWrite,
)
from rewriter.catalog.model.key_ranges import KeyRange, merged
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.qualified_names import seen_from
from rewriter.catalog.storage.partition_directories import is_directory
from rewriter.errors import Error, Span, partitions_not_found
from rewriter.grammar.families import partitions as s
from rewriter.grammar.filters import Filter, span_of
from rewriter.grammar.terms import Name, PartitionItem
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs
from rewriter.statements.partitions.import_partitions import import_partitions
from rewriter.statements.resolve.location_conflicts import (
    check_partition_locations,
    check_partitions_apart,
)
from rewriter.statements.resolve.locations import absolute
from rewriter.statements.resolve.partition_lookup import DroppedSpec, dropped, found_keys
from rewriter.statements.resolve.partition_specs import (
    named_values,
    read_full,
    require_partitioned,
    spec_text,
)
from rewriter.statements.resolve.text_comparisons import check_named
from rewriter.statements.write.commit_policies import has_success_files, remove_success_files_now, run_policies
from rewriter.uris import is_uri


@runs(s.AddPartitions, in_transaction=True)
def add_partitions(statement: s.AddPartitions, context: Context) -> Result:
    """ALTER TABLE … ADD PARTITION: adds all partitions or none. A managed table's partitions begin empty, or with a
    copy of the files in LOCATION.
    """
    table = context.table(statement.table)
    require_partitioned(table, statement.table.span)
    check_named(table, [item for partition in statement.partitions for item in partition.spec], context.snapshot)
    if not table.external and any(partition.location is not None for partition in statement.partitions):
        try:
            return import_partitions(table, statement.partitions, statement.if_not_exists, context)
        except Error as error:
            writes = tuple(PartitionWrite(named_values(table, item.spec)) for item in statement.partitions)
            raise error.at(_faulty(error, statement, writes, table, context)) from None
    writes = tuple(
        PartitionWrite(named_values(table, partition.spec), location=_partition_location(table, partition))
        for partition in statement.partitions
    )
    _check_places(table, list(zip(statement.partitions, writes, strict=True)), context)
    with context.begin() as transaction:
        try:
            transaction.commit([AddPartitions(table, writes, statement.if_not_exists)])
        except Error as error:
            raise error.at(_faulty(error, statement, writes, table, context)) from None
    return Result("ALTER TABLE ADD PARTITION")


def _check_places(
    table: Table, additions: Sequence[tuple[s.PartitionLocation, PartitionWrite]], context: Context
) -> None:
    if not table.external:
        return
    with_location = [(item, write) for item, write in additions if item.location is not None]
    default = {
        write.values: default_directory(table, write.values) for item, write in additions if item.location is None
    }
    try:
        if with_location:
            check_partition_locations(
                table, [(write.values, str(write.location)) for _, write in with_location], context
            )
        if default:
            check_partitions_apart(table, default, context)
    except Error as error:
        first, last = (with_location or additions)[0][0], (with_location or additions)[-1][0]
        span = Span(_spec_span(first.spec, Span(0, 0)).start, _spec_span(last.spec, Span(0, 0)).end)
        raise error.at(span) from None


def _faulty(
    error: Error, statement: s.AddPartitions, writes: tuple[PartitionWrite, ...], table: Table, context: Context
) -> Span:
    """Returns the span of the partition that cannot be added, or of all of them if that is undetermined."""
    specs = [partition.spec for partition in statement.partitions]
    # Changes of an open transaction are not looked at.
    if error.condition == "PARTITIONS_ALREADY_EXIST" and context.transaction is None:
        existing = (
            spec for spec, write in zip(specs, writes, strict=True) if context.snapshot.partition(table, write.values)
        )
        specs = list(islice(existing, 1)) or specs
    return Span(specs[0][0].span.start, specs[-1][-1].span.end)


@runs(s.DropPartitions, in_transaction=True)
def drop_partitions(statement: s.DropPartitions, context: Context) -> Result:
    """ALTER TABLE … DROP PARTITION: drops every partition that satisfies one of the specs, which may be partial.

    Raises PARTITIONS_NOT_FOUND 428FT where a spec matches nothing, unless IF EXISTS. Files stay. A concurrent write
    conflicts if it falls into the key ranges that were searched. Full specs are looked up together.
    """
    specs = dropped(statement, context)
    table = specs[0].table
    hint = "DROP IF EXISTS ignores missing partitions."
    keys, ranges = _named_keys(specs, statement.specs, None if statement.if_exists else hint, context)
    named = context.snapshot.partitions(table, [*map(KeyRange.of_key, keys)]) if has_success_files(table) else ()
    if keys:
        with context.begin() as transaction:
            transaction.commit([DropPartitions(table, keys, merged(ranges))])
        remove_success_files_now(table, [partition.values for partition in named], context)
    return Result("ALTER TABLE DROP PARTITION")


@runs(s.CommitPartitions)
def commit_partitions(statement: s.CommitPartitions, context: Context) -> Result:
    """ALTER TABLE … COMMIT PARTITION: commits the open partitions that satisfy one of the specs, whatever their
    trigger. Others of them were committed before, and stay as they are. The policies of the table follow.

    Raises PARTITIONS_NOT_FOUND 428FT where a spec matches nothing, and the errors of ``run_policies``.
    """
    specs = dropped(statement, context)
    table = specs[0].table
    keys, _ = _named_keys(specs, statement.specs, "SHOW PARTITIONS … STATUS lists open partitions.", context)
    open_keys = tuple(sorted(context.snapshot.open_keys(table).intersection(keys)))
    if open_keys:
        with context.begin() as transaction:
            transaction.commit([CommitPartitions(table, open_keys)])
    run_policies(table, context)
    return Result("ALTER TABLE COMMIT PARTITION")


def _named_keys(
    specs: Sequence[DroppedSpec], typed: Sequence[Sequence[Filter]], hint: str | None, context: Context
) -> tuple[tuple[bytes, ...], list[KeyRange]]:
    """Returns the keys of the partitions that satisfy one of the specs, and the ranges that were searched.

    A spec that matches nothing raises PARTITIONS_NOT_FOUND with the hint; with ``None`` it does not.
    """
    table = specs[0].table
    keys: set[bytes] = set()
    ranges: list[KeyRange] = []
    for spec, (spec_keys, searched) in zip(typed, found_keys(specs, context.snapshot), strict=True):
        ranges += searched
        if not spec_keys and hint is not None:
            raise partitions_not_found(
                f"The partition(s) {spec_text(spec)}",
                table.name,
                shown=seen_from(context.snapshot.current, table.name),
                position=Span(span_of(spec[0]).start, span_of(spec[-1]).end),
                hint=hint,
            )
        keys.update(spec_keys)
    return tuple(sorted(keys)), ranges


def _partition_location(table: Table, clause: s.PartitionLocation) -> str | None:
    if clause.location is None:
        return _spelled_directory(table, clause) if table.external else None
    return absolute(clause.location, table.location, Name((table.name,), _spec_span(clause.spec, Span(0, 0))))


def _spelled_directory(table: Table, clause: s.PartitionLocation) -> str | None:
    """Returns the directory that spells the values as the statement does (``2019-8-30`` for a DATE), if only that one
    exists.
    """
    typed_values = {item.column.lower(): item.value for item in clause.spec}
    texts = [typed_values[column.name.lower()] for column in table.partition_columns]
    as_typed = tuple(None if text is None or text.kind == "null" else text.text for text in texts)
    default, directory_as_typed = (
        os.path.join(table.location, partition_path(table, values))
        for values in (read_full(table, clause.spec), as_typed)
    )
    is_there = is_directory if is_uri(default) else os.path.isdir
    return (
        directory_as_typed
        if directory_as_typed != default and not is_there(default) and is_there(directory_as_typed)
        else None
    )


def _spec_span(items: tuple[PartitionItem, ...], default: Span) -> Span:
    return Span(items[0].span.start, items[-1].span.end) if items else default
