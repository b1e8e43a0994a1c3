"""ALTER TABLE … [PARTITION …] SET LOCATION, SET FILEFORMAT, SET SERDE and SET SERDEPROPERTIES.

Files of managed tables stay where their writes put them, and all files of a table are read in its format. So a
location changes for external tables only. A format or serde is accepted where it states how the files are read
anyway, and kept as a property. A value that would make us, or another reader of the catalog, read the files
differently is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewriter.catalog import partition_moves
from rewriter.catalog.keys.directory_moves import directory
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.changes import AlterPartitions, AlterTable, Change, PartitionAlteration
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.row_formats import SERDE_PROPERTY
from rewriter.data_formats import CSV, DATA_FORMATS, format_of_serde, known_format
from rewriter.errors import Error, NotSupportedError, Span
from rewriter.exec.formats.csv_dialects import SERDE
from rewriter.grammar.families import storage as s
from rewriter.grammar.terms import Name
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.location_conflicts import check_new_location, check_partition_locations
from rewriter.statements.resolve.locations import absolute, check_table_format
from rewriter.statements.resolve.partition_specs import read_full, require_partitioned, spec_span

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Partition, Table
    from rewriter.runtime.statement_context import Context

#: The property of a table or partition that keeps its serde.
_SERDE = "rewriter.serde"

_ALWAYS = "serialization.format"


@runs(s.SetLocation)
def set_location(statement: s.SetLocation, context: Context) -> Result:
    """Sets another directory for an external table or one of its partitions. Moves no file and looks for none.

    The existing partitions of a table stay where they are, as in Hive; new ones lie below the new location.
    """
    table, partition = _storage_owner(statement, context)
    if not table.external:
        raise NotSupportedError(
            f"{table.name} is a managed table: the catalog chooses the directories of its files.",
            position=statement.location_span,
            object=table.name,
            hint="LOCATION is for external tables. Load the files with INSERT … SELECT * FROM parquet.`directory`.",
        )
    base = context.catalog.warehouse if partition is None else table.location
    location = absolute(statement.location, base, Name((table.name,), statement.location_span))
    try:
        if partition is None:
            check_new_location(table, location, context)
        else:
            check_partition_locations(table, [(partition.values, location)], context)
    except Error as error:
        raise error.at(statement.location_span) from None
    if partition is not None:
        _commit([AlterPartitions(table, (PartitionAlteration(partition.key, location),))], statement.table, context)
        return Result("ALTER TABLE SET LOCATION")
    everything = KeyRange.of_prefix(prefix(table.id))
    partitions = context.snapshot.lookup(table, None).partitions() if table.partition_columns else ()
    kept_partitions = tuple(
        PartitionAlteration(registered.key, directory(table, registered))
        for registered in partitions
        if registered.location is None
    )
    changes: list[Change] = [
        AlterPartitions(table, kept_partitions, (everything,)),
        AlterTable(table, location=location),
    ]
    _commit(changes, statement.table, context)
    return Result("ALTER TABLE SET LOCATION")


@runs(s.SetFileFormat)
def set_file_format(statement: s.SetFileFormat, context: Context) -> Result:
    """Accepts the table's own format; another one would misread its files and is refused."""
    table, _ = _storage_owner(statement, context)
    check_table_format(statement.format, statement.format_span, table.name)
    if statement.format != table.format:
        raise _error_misread(table, statement.format, statement.format_span)
    return Result("ALTER TABLE SET FILEFORMAT")


@runs(s.SetSerde)
def set_serde(statement: s.SetSerde, context: Context) -> Result:
    """Keeps a serde and its properties beside the existing ones, where they state how the files are read anyway."""
    table, partition = _storage_owner(statement, context)
    if statement.serde is not None:
        of_serde, own_format = format_of_serde(statement.serde), known_format(table.format)
        if of_serde is None:
            raise NotSupportedError(
                f"The serde {statement.serde} is not supported.",
                condition="UNSUPPORTED_SERDE",
                sqlstate="0A000",
                position=statement.serde_span,
                object=table.name,
                hint=f"The serdes of {table.format} are {', '.join(() if own_format is None else own_format.serdes)}.",
            )
        is_other_csv = table.format == CSV.name and bool(table.file_options) and SERDE not in table.file_options
        if of_serde.name != table.format or is_other_csv:
            raise _error_misread(table, of_serde.name, statement.serde_span)
    for (key, value), span in zip(statement.properties, statement.property_spans, strict=True):
        _check_property(table, key, value, span)
    properties = {SERDE_PROPERTY + key: value for key, value in statement.properties}
    if statement.serde is not None:
        properties[_SERDE] = statement.serde
    change: Change = AlterTable(table, properties)
    if partition is not None:
        change = AlterPartitions(table, (PartitionAlteration(partition.key, properties=properties),))
    _commit([change], statement.table, context)
    return Result("ALTER TABLE SET SERDE" if statement.serde is not None else "ALTER TABLE SET SERDEPROPERTIES")


def _storage_owner(
    statement: s.SetLocation | s.SetFileFormat | s.SetSerde, context: Context
) -> tuple[Table, Partition | None]:
    """Returns the table, and the partition that a full spec names; PARTITIONS_NOT_FOUND 428FT at the spec."""
    table = context.table(statement.table)
    if statement.partition is None:
        return table, None
    require_partitioned(table, statement.table.span)
    values = read_full(table, statement.partition)
    try:
        return table, partition_moves.existing_partition(context.snapshot, table, values)
    except Error as error:
        raise error.at(spec_span(statement.partition)) from None


def _check_property(table: Table, key: str, value: str, span: Span) -> None:
    if key.lower() == _ALWAYS:
        return
    data_format = known_format(table.format)
    as_read = table.file_options or (None if data_format is None else data_format.read_as)
    if as_read is not None:
        harmless = as_read.get(key.lower()) == value
    else:
        # Properties by which columns are read by their position instead of their name.
        by_position = {name for format in DATA_FORMATS.values() for name in format.by_position}
        harmless = key.lower() not in by_position or value.lower() == "false"
    if not harmless:
        raise _error_misread(table, f"{key} = {value}", span)


def _error_misread(table: Table, file_format: str, span: Span) -> NotSupportedError:
    return NotSupportedError(
        f"The {table.format} files of {table.name} would be misread as {file_format}.",
        condition="FILES_WOULD_BE_MISREAD",
        sqlstate="0A000",
        position=span,
        object=table.name,
        hint=f"Create a table with this setting, and INSERT INTO it SELECT … FROM {table.name}.",
    )


def _commit(changes: Sequence[Change], name: Name, context: Context) -> None:
    with context.begin() as transaction:
        try:
            transaction.commit(changes)
        except Error as error:
            raise error.at(name.span) from None
