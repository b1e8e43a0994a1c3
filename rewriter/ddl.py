"""Tables and their partitions: CREATE and DROP TABLE, ALTER TABLE … ADD and DROP PARTITION.

Each statement is one catalog transaction; none starts an engine or opens a data file.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from rewriter.catalog.binding import declared_period
from rewriter.catalog.changes import AddPartitions, CreateObject, DropObject, DropPartitions, PartitionWrite
from rewriter.catalog.keys import KeyRange, merged
from rewriter.catalog.lookup import Lookup
from rewriter.catalog.models import WRITE_ID_LEVEL, Column, Table
from rewriter.catalog.values import check_partition_column, partition_name
from rewriter.context import Context, single
from rewriter.errors import AnalysisError, Error, IntegrityError, NotSupportedError, ParseError, Span
from rewriter.grammar import statements as s
from rewriter.grammar.filters import Filter, span_of
from rewriter.properties import checked
from rewriter.result import Result
from rewriter.specs import check_unique, read_dropped, read_full, require_partitioned, spec_text

FORMATS = ("parquet", "csv", "json", "orc")

_REFUSED_TYPES = ("void", "variant", "timestamp_ntz")
_PLAIN_NAME = re.compile(r"\w+")


def create_table(statement: s.CreateTable, context: Context) -> Result:
    """CREATE [EXTERNAL] TABLE. Raises Spark's conditions for columns that do not fit together."""
    name = plain_name(statement.table, "table")
    columns, partition_columns = _columns(statement)
    file_format = _format(statement)
    try:
        declared_period(dict(statement.properties))
    except Error as error:
        raise error.at(statement.table.span) from None
    if _taken(statement.table, statement.if_not_exists, context):
        return Result("CREATE TABLE")
    with context.catalog.begin(context.snapshot) as transaction:
        table_id = transaction.allocate_id()
        table = Table(
            id=table_id,
            name=name,
            columns=columns,
            partition_columns=partition_columns,
            format=file_format,
            location=_location(statement, context.catalog.warehouse, f"{name}-{table_id}"),
            external=statement.external,
            comment=statement.comment,
        )
        given = zip(statement.properties, statement.property_spans, strict=True)
        table = replace(table, properties=checked(given, table, context))
        transaction.commit([CreateObject(table)])
    return Result("CREATE TABLE")


def plain_name(name: s.Name, kind: str) -> str:
    """The name of a new object of a kind; ``AnalysisError`` INVALID_SCHEMA_OR_RELATION_NAME unless it is plain."""
    plain = single(name)
    if _PLAIN_NAME.fullmatch(plain):
        return plain
    raise AnalysisError(
        f"'{plain}' is no name for a {kind}.",
        condition="INVALID_SCHEMA_OR_RELATION_NAME",
        sqlstate="42602",
        position=name.span,
        object=plain,
        hint="Use letters, digits and underscores.",
    )


def drop_table(statement: s.DropTable, context: Context) -> Result:
    """DROP TABLE. Files stay: those of a managed table until VACUUM, those of an external one are their owner's."""
    name = single(statement.table)
    if statement.if_exists and context.snapshot.named(name) is None:
        return Result("DROP TABLE")
    table = context.table(statement.table)
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([DropObject(table)])
        except Error as error:
            raise error.at(statement.table.span) from None
    return Result("DROP TABLE")


def add_partitions(statement: s.AddPartitions, context: Context) -> Result:
    """ALTER TABLE … ADD PARTITION: all or none. A managed table's partitions begin empty."""
    table = context.table(statement.table)
    require_partitioned(table, statement.table.span)
    writes = tuple(
        PartitionWrite(read_full(table, one.spec), location=_partition_location(table, one))
        for one in statement.partitions
    )
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([AddPartitions(table, writes, statement.if_not_exists)])
        except Error as error:
            raise error.at(_spec_span(statement.partitions[0].spec, statement.table.span)) from None
    return Result("ALTER TABLE ADD PARTITION")


def dropped(statement: s.DropPartitions, context: Context) -> tuple[tuple[tuple[Filter, ...], Lookup], ...]:
    """Each spec of ALTER TABLE … DROP PARTITION, and the partitions that satisfy it."""
    table = context.table(statement.table)
    require_partitioned(table, statement.table.span)
    return tuple((spec, context.snapshot.lookup(table, read_dropped(table, spec))) for spec in statement.specs)


def drop_partitions(statement: s.DropPartitions, context: Context) -> Result:
    """ALTER TABLE … DROP PARTITION: every partition that satisfies one of the specs, which may be partial.

    Raises PARTITIONS_NOT_FOUND 428FT where a spec matches nothing, unless IF EXISTS. Files stay. A write that comes in
    between conflicts where it falls into the stretches of keys that were searched.
    """
    keys: set[bytes] = set()
    ranges: list[KeyRange] = []
    for spec, lookup in dropped(statement, context):
        table = lookup.table
        found = list(lookup.found_keys())
        ranges += lookup.ranges
        if not found and not statement.if_exists:
            raise AnalysisError(
                f"The partition(s) {spec_text(spec)} cannot be found in the table {table.name}.",
                condition="PARTITIONS_NOT_FOUND",
                sqlstate="428FT",
                position=Span(span_of(spec[0]).start, span_of(spec[-1]).end),
                object=table.name,
                hint=f"SHOW PARTITIONS {table.name} lists them; DROP IF EXISTS tolerates their absence.",
            )
        keys.update(found)
    if keys:
        with context.catalog.begin(context.snapshot) as transaction:
            transaction.commit([DropPartitions(table, tuple(sorted(keys)), merged(ranges))])
    return Result("ALTER TABLE DROP PARTITION")


def _taken(name: s.Name, if_not_exists: bool, context: Context) -> bool:
    found = context.snapshot.named(single(name))
    if found is None:
        return False
    if if_not_exists:
        return True
    raise already_exists(name)


def already_exists(name: s.Name) -> IntegrityError:
    """The error for a name that a table, view, cube or fact has already."""
    return IntegrityError(
        f"Cannot create {name.last} because it already exists.",
        condition="TABLE_OR_VIEW_ALREADY_EXISTS",
        sqlstate="42P07",
        position=name.span,
        object=name.last,
        hint="Choose a different name, drop the existing object, or add IF NOT EXISTS.",
    )


def _columns(statement: s.CreateTable) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Data and partition columns. ``(dt STRING)`` adds a column, ``(dt)`` refers to one; they do not mix."""
    declared = {column.name.lower(): column for column in statement.columns}
    check_unique(statement.columns)
    added = [one for one in statement.partitioned_by if one.type is not None]
    if added and len(added) < len(statement.partitioned_by):
        raise ParseError(
            "PARTITIONED BY mixes new columns with names of declared ones.",
            position=statement.partitioned_by[0].span,
            hint="Give all partition columns a type, or none.",
        )
    if added:
        check_unique((*statement.columns, *added))
        data, partitioning = list(statement.columns), added
    else:
        check_unique(statement.partitioned_by)
        partitioning = [_referred(one, declared, statement) for one in statement.partitioned_by]
        names = {one.name.lower() for one in partitioning}
        data = [one for one in statement.columns if one.name.lower() not in names]
    if not data:
        raise _no_data_columns(statement)
    partition_columns = tuple(_column(one) for one in partitioning)
    for column, definition in zip(partition_columns, partitioning, strict=True):
        try:
            check_partition_column(column)
        except Error as error:
            error.object = column.name
            raise error.at(definition.span) from None
    return tuple(_column(one) for one in data), partition_columns


def _no_data_columns(statement: s.CreateTable) -> Error:
    if not statement.partitioned_by:
        return AnalysisError(
            f"The table {statement.table.last} has no columns.",
            position=statement.table.span,
            hint="Declare them: CREATE TABLE t (a STRING, b INT).",
        )
    return AnalysisError(
        "Cannot use all columns for partition columns.",
        condition="ALL_PARTITION_COLUMNS_NOT_ALLOWED",
        sqlstate="KD005",
        position=Span(statement.partitioned_by[0].span.start, statement.partitioned_by[-1].span.end),
        object=statement.table.last,
        hint="Keep at least one column out of PARTITIONED BY.",
    )


def _referred(one: s.ColumnDef, declared: dict[str, s.ColumnDef], statement: s.CreateTable) -> s.ColumnDef:
    column = declared.get(one.name.lower())
    if column is not None:
        return column
    names = ", ".join(column.name for column in statement.columns)
    raise AnalysisError(
        f"The partition column {one.name} is not defined in the table {statement.table.last}.",
        condition="COLUMN_NOT_DEFINED_IN_TABLE",
        sqlstate="42703",
        position=one.span,
        object=one.name,
        hint=f"The columns are {names}. To add a partition column, give it a type.",
    )


def _column(definition: s.ColumnDef) -> Column:
    assert definition.type is not None
    if definition.name.lower() == WRITE_ID_LEVEL:
        raise AnalysisError(
            f"The name {WRITE_ID_LEVEL} is reserved: directories of writes carry it.",
            condition="RESERVED_COLUMN_NAME",
            position=definition.span,
            object=definition.name,
            hint="Choose another name.",
        )
    refused = next((t for t in _REFUSED_TYPES if re.search(rf"\b{t}\b", definition.type)), None)
    if refused:
        raise NotSupportedError(
            f"A column of the type {refused} is not supported.",
            condition="UNSUPPORTED_DATATYPE",
            position=definition.span,
            object=definition.name,
            hint="Use TIMESTAMP, which is an instant in UTC." if refused == "timestamp_ntz" else "Use STRING.",
        )
    return Column(definition.name, definition.type, definition.comment)


def _format(statement: s.CreateTable) -> str:
    file_format = (statement.format or "parquet").lower()
    if file_format in FORMATS:
        return file_format
    raise NotSupportedError(
        f"The format {statement.format} is not supported.",
        position=statement.table.span,
        object=statement.table.last,
        hint=f"Use one of {', '.join(FORMATS)}.",
    )


def _location(statement: s.CreateTable, warehouse: Path, default: str) -> str:
    """The table's absolute directory. A managed table's is ours; an external one needs one."""
    if statement.external:
        if statement.location is None:
            raise ParseError(
                "CREATE EXTERNAL TABLE needs a LOCATION.",
                position=statement.table.span,
                object=statement.table.last,
                hint="Add LOCATION 'directory', or leave EXTERNAL out.",
            )
        return absolute(statement.location, warehouse, statement.table)
    if statement.location is not None:
        raise NotSupportedError(
            "A managed table lies in the warehouse; LOCATION is for external tables.",
            position=statement.table.span,
            object=statement.table.last,
            hint="Write CREATE EXTERNAL TABLE, or leave LOCATION out.",
        )
    return str(warehouse.absolute() / default)


def absolute(location: str, base: str | Path, name: s.Name) -> str:
    """A location as an absolute path; relative ones lie below ``base``."""
    if location.startswith("file:"):
        location = "/" + location.removeprefix("file:").lstrip("/")
    if "://" in location or not location or "\0" in location:
        raise NotSupportedError(
            f"The location '{location}' is no local directory.",
            position=name.span,
            object=name.last,
            hint="Use a path of this machine's file system.",
        )
    return os.path.normpath(os.path.join(os.path.abspath(base), location))


def _partition_location(table: Table, one: s.PartitionLocation) -> str | None:
    if one.location is None:
        return None
    span = _spec_span(one.spec, Span(0, 0))
    if not table.external:
        raise NotSupportedError(
            f"{table.name} is a managed table: its partitions lie where their writes put them.",
            position=span,
            object=partition_name(table.partition_columns, read_full(table, one.spec)),
            hint="LOCATION is for external tables. Load the files with INSERT … SELECT * FROM parquet.`directory`.",
        )
    return absolute(one.location, table.location, s.Name((table.name,), span))


def _spec_span(items: tuple[s.PartitionItem, ...], otherwise: Span) -> Span:
    return Span(items[0].span.start, items[-1].span.end) if items else otherwise
