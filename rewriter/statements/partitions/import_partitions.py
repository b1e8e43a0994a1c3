"""ALTER TABLE … ADD PARTITION … LOCATION of a managed table: copies the files of a directory into a new partition.

The catalog chooses the directories of managed tables, so a partition cannot refer to another one. As in LOAD DATA
nothing is converted: a file is accepted only where every reader will find in it the columns that the table declares.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rewriter.catalog.model.changes import AddPartitions, PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import DataFile, PartitionValues, Table
from rewriter.catalog.model.proofs import BY_LOAD_DATA
from rewriter.catalog.storage.data_files import FoundFile, expand
from rewriter.catalog.storage.partition_directories import is_directory
from rewriter.errors import AnalysisError, Error, OperationalError, Span
from rewriter.exec.engine import WrittenFile
from rewriter.grammar.families.partitions import PartitionLocation
from rewriter.grammar.terms import Name
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context
from rewriter.statements.resolve.location_conflicts import check_source_directory
from rewriter.statements.resolve.locations import absolute
from rewriter.statements.resolve.partition_specs import Spec, named_values
from rewriter.statements.write.insert import retried
from rewriter.statements.write.insert_target import Target
from rewriter.statements.write.load_data import check_file, copied
from rewriter.statements.write.managed_write import WriteChange, grouped, write_managed
from rewriter.uris import is_uri


@dataclass(frozen=True)
class Import:
    """A new partition, the place of its spec in the statement, and the files that are copied into it."""

    values: PartitionValues
    span: Span
    files: tuple[FoundFile, ...]


def import_partitions(
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
    return retried(lambda now: _import(table, additions, if_not_exists, now), True, context)


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
        contents |= grouped(files)
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


def _imports(table: Table, additions: Sequence[PartitionLocation], context: Context) -> list[Import]:
    """Returns the imports with their files, each checked."""
    imports = []
    for item in additions:
        span = Span(item.spec[0].span.start, item.spec[-1].span.end)
        values = named_values(table, item.spec)
        if item.location is None:
            imports.append(Import(values, span, ()))
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
        imports.append(Import(values, span, files))
    return imports


def _copied(table: Table, imported: Import, folder: str, context: Context) -> tuple[WrittenFile, ...]:
    target = Target(
        table, Spec(dict(enumerate(imported.values)), frozenset()), (), imported.values, {}, reordered=False
    )
    try:
        return copied(imported.files, target, folder, context) if imported.files else ()
    except Error as error:
        raise error.at(imported.span) from None
