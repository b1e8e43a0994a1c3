"""ALTER TABLE … ADD PARTITION, DROP PARTITION and COMMIT PARTITION."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from rewriter.catalog.keys.paths import default_directory, partition_path
from rewriter.catalog.keys.values import files_of_others, hidden_column
from rewriter.catalog.model.changes import (
    AddPartitions,
    CommitPartitions,
    DropPartitions,
    PartitionWrite,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.model.objects import DataFile, PartitionValues, Table, seen_from
from rewriter.catalog.model.proofs import BY_LOAD_DATA
from rewriter.catalog.storage.data_files import FoundFile, expand
from rewriter.catalog.storage.partition_directories import is_directory
from rewriter.errors import AnalysisError, Error, OperationalError, Span, partitions_not_found
from rewriter.grammar.families import partitions as s
from rewriter.grammar.filters import Filter, span_of
from rewriter.grammar.terms import Name, PartitionItem
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.location_conflicts import (
    check_partition_locations,
    check_partitions_apart,
    check_source_directory,
)
from rewriter.statements.resolve.locations import absolute
from rewriter.statements.resolve.partition_specs import (
    DroppedSpec,
    Spec,
    dropped,
    found_keys,
    named_values,
    read_full,
    require_partitioned,
    spec_text,
)
from rewriter.statements.resolve.text_comparisons import check_named
from rewriter.statements.write.commit_policies import has_success_files, remove_success_files_now, run_policies
from rewriter.statements.write.insert import retry_on_conflict
from rewriter.statements.write.insert_target import Target
from rewriter.statements.write.load_data import check_file, copy_loaded_files
from rewriter.statements.write.managed_write import WriteChange, group_files, write_managed
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.exec.engine import WrittenFile
    from rewriter.grammar.families.partitions import PartitionLocation
    from rewriter.runtime.statement_context import Context


@runs(s.AddPartitions, in_transaction=True)
def add_partitions(statement: s.AddPartitions, context: Context) -> Result:
    """ALTER TABLE … ADD PARTITION: adds all partitions or none. A managed table's partitions begin empty, or with a
    copy of the files in LOCATION.
    """
    table = context.table(statement.table)
    require_partitioned(table, statement.table.span)
    check_named(table, [item for partition in statement.partitions for item in partition.spec], context.snapshot)
    hidden = hidden_column(table)
    with_location = next((partition for partition in statement.partitions if partition.location is not None), None)
    if hidden is not None and with_location is not None:
        raise files_of_others(table, hidden).at(_spec_span(with_location.spec, statement.table.span))
    if not table.external and with_location is not None:
        try:
            return _import_partitions(table, statement.partitions, statement.if_not_exists, context)
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
            transaction.commit([DropPartitions(table, keys, merge_ranges(ranges))])
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


# ALTER TABLE … ADD PARTITION … LOCATION of a managed table: copies the files of a directory into a new partition.
#
# The catalog chooses the directories of managed tables, so a partition cannot refer to another one. As in LOAD DATA
# nothing is converted: a file is accepted only where every reader will find in it the columns that the table
# declares.


@dataclass(frozen=True)
class _Import:
    """A new partition, the place of its spec in the statement, and the files that are copied into it."""

    values: PartitionValues
    span: Span
    files: tuple[FoundFile, ...]


def _import_partitions(
    table: Table, additions: Sequence[PartitionLocation], if_not_exists: bool, context: Context
) -> Result:
    """Adds partitions of a managed table, each with a copy of the files in its LOCATION, all of them or none.

    Partitions that exist are an error, or are left as they are (IF NOT EXISTS). Raises PARTITIONS_ALREADY_EXIST,
    PATH_NOT_FOUND 42K03, UNSAFE_LOCATION for directories of managed tables, and the errors of LOAD DATA. A statement
    that is explained copies nothing.
    """
    if context.rehearsed is not None:
        _add(table, [imported.values for imported in _imports(table, additions, context)], if_not_exists, context)
        return Result("ALTER TABLE ADD PARTITION")
    return retry_on_conflict(lambda now: _import(table, additions, if_not_exists, now), True, context)


def _import(table: Table, additions: Sequence[PartitionLocation], if_not_exists: bool, context: Context) -> Result:
    _add(table, [named_values(table, item.spec) for item in additions], if_not_exists, replace(context, rehearsed=[]))
    existing = {item for item in additions if context.snapshot.partition(table, named_values(table, item.spec))}
    imports = _imports(table, [item for item in additions if item not in existing], context)
    if not imports:
        return Result("ALTER TABLE ADD PARTITION")
    by_values = {imported.values: imported for imported in imports}
    if len(by_values) < len(imports):
        raise AnalysisError(
            "The statement names a partition twice.",
            condition="INVALID_PARTITION_SPEC",
            sqlstate="42601",
            position=Span(imports[0].span.start, imports[-1].span.end),
            object=table.name,
            hint="Name each partition once, with one LOCATION; LOAD DATA adds files to a partition.",
        )

    def fill(folder: str) -> tuple[WrittenFile, ...]:
        return tuple(file for imported in by_values.values() for file in _copied(table, imported, folder, context))

    def changes(write_id: int, files: Sequence[WrittenFile]) -> list[WriteChange]:
        contents: dict[PartitionValues, tuple[DataFile, ...]] = dict.fromkeys(by_values, ())
        contents |= group_files(files)
        writes = tuple(PartitionWrite(values, partition_files) for values, partition_files in contents.items())
        return [WritePartitions(table, write_id, writes, overwrite=True, if_not_exists=True, doubt=BY_LOAD_DATA)]

    write_managed(table, fill, changes, (), context)
    copies = sum(len(imported.files) for imported in by_values.values())
    amount = "1 file was" if copies == 1 else f"{copies} files were"
    warning = f"{amount} copied into {table.name}: a managed table does not read files where they are."
    return Result("ALTER TABLE ADD PARTITION", warnings=(warning,) if copies else ())


def _add(table: Table, values: Sequence[PartitionValues], if_not_exists: bool, context: Context) -> None:
    """Rehearses ADD PARTITION without locations, which raises the errors about existing partitions."""
    with context.begin() as transaction:
        transaction.commit([AddPartitions(table, tuple(map(PartitionWrite, values)), if_not_exists)])


def _imports(table: Table, additions: Sequence[PartitionLocation], context: Context) -> list[_Import]:
    """Returns the imports with their files, each checked."""
    imports = []
    for item in additions:
        span = Span(item.spec[0].span.start, item.spec[-1].span.end)
        values = named_values(table, item.spec)
        if item.location is None:
            imports.append(_Import(values, span, ()))
            continue
        location = absolute(item.location, context.catalog.warehouse, Name((table.name,), span))
        try:
            if not (is_directory(location) if is_uri(location) else os.path.isdir(location)):
                raise OperationalError(
                    f"The directory {location} does not exist.",
                    condition="PATH_NOT_FOUND",
                    sqlstate="42K03",
                    object=location,
                    hint="Name the directory of the files; relative paths start at the warehouse.",
                )
            check_source_directory(location, context)
            files = expand(location)
            for file in files:
                check_file(table, file.path, file.path)
        except Error as error:
            raise error.at(span) from None
        imports.append(_Import(values, span, files))
    return imports


def _copied(table: Table, imported: _Import, folder: str, context: Context) -> tuple[WrittenFile, ...]:
    target = Target(
        table, Spec(dict(enumerate(imported.values)), frozenset()), (), imported.values, {}, reordered=False
    )
    try:
        return copy_loaded_files(imported.files, target, folder, context) if imported.files else ()
    except Error as error:
        raise error.at(imported.span) from None
