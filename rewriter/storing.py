"""ALTER TABLE … [PARTITION …] SET LOCATION, SET FILEFORMAT, SET SERDE and SET SERDEPROPERTIES.

Files of managed tables lie where their writes put them, and all files of a table are read in its format. So a location
changes for external tables only; a format or serde is accepted where it says what is done anyway, and kept as a
property. What would make us, or another reader of the catalog, read the files otherwise is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog import moves
from rewriter.catalog.changes import AlterPartitions, AlterTable, Change, PartitionAlteration
from rewriter.catalog.directories import directory
from rewriter.catalog.keys import KeyRange, prefix
from rewriter.catalog.models import Partition, Table
from rewriter.context import Context
from rewriter.ddl import FORMATS, absolute
from rewriter.errors import Error, NotSupportedError, Span
from rewriter.grammar import statements as s
from rewriter.moving import spec_span
from rewriter.result import Result
from rewriter.specs import read_full, require_partitioned

#: The property of a table or partition that keeps its serde, and what those of SERDEPROPERTIES begin with.
SERDE = "rewriter.serde"
SERDE_PROPERTY = "rewriter.serdeproperties."

_SERDES = {
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe": "parquet",
    "parquet.hive.serde.ParquetHiveSerDe": "parquet",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde": "orc",
    "org.apache.hadoop.hive.serde2.OpenCSVSerde": "csv",
    "org.apache.hadoop.hive.serde2.JsonSerDe": "json",
    "org.apache.hive.hcatalog.data.JsonSerDe": "json",
    "org.openx.data.jsonserde.JsonSerDe": "json",
}
#: What columnar files are read by besides their names, in Hive: a value that says otherwise than we do is refused.
_BY_POSITION = ("parquet.column.index.access", "orc.force.positional.evolution", "orc.column.index.access")
#: What says of text files that they are as we read them.
_AS_TEXT_IS_READ = {
    "csv": {
        "field.delim": ",", "separatorchar": ",", "delimiter": ",", "sep": ",", "quotechar": '"', "quote": '"',
        "header": "true", "skip.header.line.count": "1",
    },
    "json": {},
}  # fmt: skip
_ALWAYS = "serialization.format"


def set_location(statement: s.SetLocation, context: Context) -> Result:
    """Another directory for an external table or one of its partitions. No file moves, none is looked for.

    The partitions that a table has stay where they are, as in Hive; those that come lie below the new location.
    """
    table, partition = _place(statement, context)
    if not table.external:
        raise NotSupportedError(
            f"{table.name} is a managed table: its files lie where their writes put them.",
            position=statement.location_span,
            object=table.name,
            hint="LOCATION is for external tables. Load the files with INSERT … SELECT * FROM parquet.`directory`.",
        )
    base = context.catalog.warehouse if partition is None else table.location
    location = absolute(statement.location, base, s.Name((table.name,), statement.location_span))
    if partition is not None:
        _commit([AlterPartitions(table, (PartitionAlteration(partition.key, location),))], statement.table, context)
        return Result("ALTER TABLE SET LOCATION")
    everything = KeyRange.of_prefix(prefix(table.id))
    found = context.snapshot.lookup(table, None).partitions() if table.partition_columns else ()
    kept = tuple(PartitionAlteration(one.key, directory(table, one)) for one in found if one.location is None)
    changes: list[Change] = [AlterPartitions(table, kept, (everything,)), AlterTable(table, location=location)]
    _commit(changes, statement.table, context)
    return Result("ALTER TABLE SET LOCATION")


def set_file_format(statement: s.SetFileFormat, context: Context) -> Result:
    """Accepts the format that the table has; another one would misread its files and is refused."""
    table, _ = _place(statement, context)
    if statement.format not in FORMATS:
        raise NotSupportedError(
            f"The format {statement.format} is not supported.",
            position=statement.format_span,
            object=table.name,
            hint=f"Use one of {', '.join(FORMATS)}.",
        )
    if statement.format != table.format:
        raise _misread(table, statement.format, statement.format_span)
    return Result("ALTER TABLE SET FILEFORMAT")


def set_serde(statement: s.SetSerde, context: Context) -> Result:
    """Keeps a serde and its properties beside those that are there, where they say how the files are read anyway."""
    table, partition = _place(statement, context)
    if statement.serde is not None:
        format = _SERDES.get(statement.serde)
        if format is None:
            raise NotSupportedError(
                f"The serde {statement.serde} is not known.",
                condition="UNSUPPORTED_SERDE",
                sqlstate="0A000",
                position=statement.serde_span,
                object=table.name,
                hint=f"Those of {table.format} are {', '.join(n for n, f in _SERDES.items() if f == table.format)}.",
            )
        if format != table.format:
            raise _misread(table, format, statement.serde_span)
    for (key, value), span in zip(statement.properties, statement.property_spans, strict=True):
        _check_property(table, key, value, span)
    found = {SERDE_PROPERTY + key: value for key, value in statement.properties}
    if statement.serde is not None:
        found[SERDE] = statement.serde
    change: Change = AlterTable(table, found)
    if partition is not None:
        change = AlterPartitions(table, (PartitionAlteration(partition.key, properties=found),))
    _commit([change], statement.table, context)
    return Result("ALTER TABLE SET SERDE" if statement.serde is not None else "ALTER TABLE SET SERDEPROPERTIES")


def _place(statement: s.SetLocation | s.SetFileFormat | s.SetSerde, context: Context) -> tuple[Table, Partition | None]:
    """The table, and the partition that a full spec names; PARTITIONS_NOT_FOUND 428FT at the spec."""
    table = context.table(statement.table)
    if statement.partition is None:
        return table, None
    require_partitioned(table, statement.table.span)
    values = read_full(table, statement.partition)
    try:
        return table, moves.existing(context.snapshot, table, values)
    except Error as error:
        raise error.at(spec_span(statement.partition)) from None


def _check_property(table: Table, key: str, value: str, span: Span) -> None:
    if key.lower() == _ALWAYS:
        return
    as_read = _AS_TEXT_IS_READ.get(table.format)
    if as_read is not None:
        harmless = as_read.get(key.lower()) == value
    else:
        harmless = key.lower() not in _BY_POSITION or value.lower() == "false"
    if not harmless:
        raise _misread(table, f"{key} = {value}", span)


def _misread(table: Table, wanted: str, span: Span) -> NotSupportedError:
    return NotSupportedError(
        f"The {table.format} files of {table.name} would be misread as {wanted}.",
        condition="FILES_WOULD_BE_MISREAD",
        sqlstate="0A000",
        position=span,
        object=table.name,
        hint=f"Make a table that is so, and INSERT INTO it SELECT … FROM {table.name}.",
    )


def _commit(changes: Sequence[Change], name: s.Name, context: Context) -> None:
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit(changes)
        except Error as error:
            raise error.at(name.span) from None
