"""Tables and their partitions: CREATE and DROP TABLE, ALTER TABLE … ADD and DROP PARTITION.

Each statement is one catalog transaction; none starts an engine or opens a data file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from rewriter.catalog.binding import declared_period
from rewriter.catalog.changes import AddPartitions, Change, CreateObject, DropObject, DropPartitions, PartitionWrite
from rewriter.catalog.codec import kind_of
from rewriter.catalog.keys import KeyRange, merged
from rewriter.catalog.lookup import Lookup
from rewriter.catalog.models import WRITE_ID_LEVEL, Column, Cube, Fact, Namespace, Table, View
from rewriter.catalog.names import DEFAULT_DATABASE, parts_of, seen_from
from rewriter.catalog.partition_paths import is_discovered, not_registered, partition_path
from rewriter.catalog.temporary import stored_name
from rewriter.catalog.values import LONGEST_NAME, check_partition_column, partition_name
from rewriter.context import Context, single
from rewriter.errors import AnalysisError, Error, IntegrityError, NotSupportedError, ParseError, Span
from rewriter.grammar import statements as s
from rewriter.grammar.filters import Filter, span_of
from rewriter.properties import checked
from rewriter.result import Result
from rewriter.specs import check_unique, full_key, named_values, read_dropped, read_full, require_partitioned, spec_text
from rewriter.temporaries import folder_of
from rewriter.transactions import not_in_transaction

FORMATS = ("parquet", "csv", "json", "orc")

_REFUSED_TYPES = ("void", "variant", "timestamp_ntz")
#: In bytes: the name of a table's directory has its id, too.
_LONGEST_TABLE = 200
#: What tables, views and databases may be called.
PLAIN_NAME = re.compile(r"\w+")


def create_table(statement: s.CreateTable, context: Context) -> Result:
    """CREATE [OR REPLACE] [TEMPORARY] [EXTERNAL] TABLE. Raises Spark's conditions for columns that do not fit together.

    A LOCATION makes the table external, as in Spark. OR REPLACE ends the table of that name in the same transaction.
    """
    columns, partition_columns = _columns(statement)
    place = Place.of(statement, context)
    if place.is_there and statement.if_not_exists:
        return Result("CREATE TABLE")
    with context.begin() as transaction:
        try:
            table = place.table(transaction.allocate_id(), columns, partition_columns)
            transaction.commit([*place.replaced, CreateObject(table)])
        except Error as error:
            raise error.at(statement.table.span) from None
    return Result("CREATE TABLE")


@dataclass(frozen=True)
class Place:
    """Where a new table goes: its name, format and location, and what has the name already."""

    statement: s.CreateTable | s.CreateTableAs | s.CreateTableLike
    context: Context
    name: str
    format: str
    existing: Table | View | Cube | Fact | Namespace | None
    comment: str | None

    @classmethod
    def of(
        cls,
        statement: s.CreateTable | s.CreateTableAs | s.CreateTableLike,
        context: Context,
        like: Table | None = None,
    ) -> Place:
        """Checks all that is not about columns. ``like`` gives format and comment where the statement gives none.

        Raises TABLE_OR_VIEW_ALREADY_EXISTS unless IF NOT EXISTS or OR REPLACE, EXPECT_TABLE_NOT_VIEW where OR REPLACE
        meets what is no table, ``NotSupportedError`` and ``ParseError`` for formats and locations that are not ours.
        """
        name = plain_name(statement.table, "table")
        if statement.temporary:
            if len(statement.table.parts) > 1:
                raise ParseError(
                    "A temporary table is in no database.",
                    position=statement.table.span,
                    object=name,
                    hint=f"Write CREATE TEMPORARY TABLE {statement.table.last}.",
                )
            name = statement.table.last
            if context.transaction is not None:
                raise not_in_transaction(f"The temporary table {name} is the session's", name).at(statement.table.span)
        format_ = like.format if like is not None and statement.format is None else _format(statement)
        try:
            declared_period(dict(statement.properties))
        except Error as error:
            raise error.at(statement.table.span) from None
        if statement.external and statement.location is None:
            raise ParseError(
                "CREATE EXTERNAL TABLE needs a LOCATION.",
                position=statement.table.span,
                object=statement.table.last,
                hint="Add LOCATION 'directory', or leave EXTERNAL out.",
            )
        if len(name.encode("utf-8")) > _LONGEST_TABLE:
            raise AnalysisError(
                f"The name of the table {name[:40]}… is too long: a directory bears it.",
                condition="INVALID_SCHEMA_OR_RELATION_NAME",
                sqlstate="42602",
                position=statement.table.span,
                object=name,
                hint=f"Choose a name of at most {_LONGEST_TABLE} bytes.",
            )
        existing = context.snapshot.temporary(name) if statement.temporary else context.snapshot.named(name)
        replaces = not isinstance(statement, s.CreateTableLike) and statement.or_replace
        if existing is not None and replaces and not isinstance(existing, Table):
            raise AnalysisError(
                f"The {kind_of(existing)} {existing.name} cannot be replaced by a table.",
                condition="EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE",
                sqlstate="42809",
                position=statement.table.span,
                object=existing.name,
                hint="Choose a different name, or drop it first.",
            )
        if existing is not None and not replaces and not statement.if_not_exists:
            raise already_exists(statement.table)
        fact = context.snapshot.fact_using(existing.name) if existing is not None and replaces else None
        if fact is not None:
            raise IntegrityError(
                f"The table {name} cannot be replaced: it is used by the fact {fact.name}.",
                condition="TABLE_IN_USE",
                position=statement.table.span,
                object=name,
                hint=f"DROP FACT {fact.name} first, or choose a different name.",
            )
        comment = like.comment if like is not None else None
        if not isinstance(statement, s.CreateTableLike):
            comment = statement.comment
        return cls(statement, context, name, format_, existing, comment)

    @property
    def is_there(self) -> bool:
        """Whether something has the name, which IF NOT EXISTS tolerates and OR REPLACE replaces."""
        return self.existing is not None

    @property
    def replaced(self) -> tuple[Change, ...]:
        """What ends the table that is replaced."""
        return () if self.existing is None else (DropObject(self.existing),)

    def table(self, id: int, columns: tuple[Column, ...], partition_columns: tuple[Column, ...]) -> Table:
        """The new table under its id, with its properties checked."""
        statement, warehouse, name = self.statement, self.context.catalog.warehouse, self.name
        if statement.temporary:
            session = self.context.temporaries.start(self.context.catalog)
            location = str(folder_of(self.context.catalog, session).absolute() / f"{name}-{id}")
            name = stored_name(name, session)
        else:
            try:
                location = default_location(name, id, self.context)
            except Error as error:
                raise error.at(statement.table.span) from None
        if statement.location is not None:
            location = absolute(statement.location, warehouse, statement.table)
        table = Table(
            id=id,
            name=name,
            columns=columns,
            partition_columns=partition_columns,
            format=self.format,
            location=location,
            external=statement.location is not None,
            comment=self.comment,
        )
        given = zip(statement.properties, statement.property_spans, strict=True)
        return replace(table, properties=checked(given, table, self.context))


def default_location(name: str, table_id: int, context: Context) -> str:
    """Where a managed table lies: an absolute directory of its own, below that of its database.

    ``name`` is the catalog's. Raises ``AnalysisError`` SCHEMA_NOT_FOUND.
    """
    database, short = parts_of(name)
    warehouse = context.catalog.warehouse.absolute()
    there = context.snapshot.database(database).location
    parent = Path(there) if there else warehouse if database == DEFAULT_DATABASE else warehouse / f"{database}.db"
    return str(parent / f"{short}-{table_id}")


def plain_name(name: s.Name, kind: str) -> str:
    """The name of a new object of a kind; ``AnalysisError`` INVALID_SCHEMA_OR_RELATION_NAME unless it is plain."""
    plain = single(name)
    if PLAIN_NAME.fullmatch(name.last):
        return plain
    raise AnalysisError(
        f"'{name.last}' is no name for a {kind}.",
        condition="INVALID_SCHEMA_OR_RELATION_NAME",
        sqlstate="42602",
        position=name.span,
        object=name.last,
        hint="Use letters, digits and underscores.",
    )


def drop_table(statement: s.DropTable, context: Context) -> Result:
    """DROP TABLE. Files stay: those of a managed table until VACUUM, those of an external one are their owner's."""
    if statement.if_exists and context.named(statement.table) is None:
        return Result("DROP TABLE")
    table = context.table(statement.table)
    with context.begin() as transaction:
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
        PartitionWrite(named_values(table, one.spec), location=_partition_location(table, one))
        for one in statement.partitions
    )
    with context.begin() as transaction:
        try:
            transaction.commit([AddPartitions(table, writes, statement.if_not_exists)])
        except Error as error:
            raise error.at(_faulty(error, statement, writes, table, context)) from None
    return Result("ALTER TABLE ADD PARTITION")


def _faulty(
    error: Error, statement: s.AddPartitions, writes: tuple[PartitionWrite, ...], table: Table, context: Context
) -> Span:
    """Where the partition stands that cannot be added: all of them where it is not known which."""
    specs = [one.spec for one in statement.partitions]
    # What an open transaction has changed is not looked at.
    if error.condition == "PARTITIONS_ALREADY_EXIST" and context.transaction is None:
        known = (spec for spec, one in zip(specs, writes, strict=True) if context.snapshot.partition(table, one.values))
        specs = list(islice(known, 1)) or specs
    return Span(specs[0][0].span.start, specs[-1][-1].span.end)


def dropped(statement: s.DropPartitions, context: Context) -> tuple[tuple[tuple[Filter, ...], Lookup], ...]:
    """Each spec of ALTER TABLE … DROP PARTITION, and the partitions that satisfy it."""
    table = _registered(statement, context)
    return tuple((spec, context.snapshot.lookup(table, read_dropped(table, spec))) for spec in statement.specs)


def _registered(statement: s.DropPartitions, context: Context) -> Table:
    table = context.table(statement.table)
    require_partitioned(table, statement.table.span)
    if is_discovered(table):
        raise not_registered(table).at(statement.table.span)
    return table


def drop_partitions(statement: s.DropPartitions, context: Context) -> Result:
    """ALTER TABLE … DROP PARTITION: every partition that satisfies one of the specs, which may be partial.

    Raises PARTITIONS_NOT_FOUND 428FT where a spec matches nothing, unless IF EXISTS. Files stay. A write that comes in
    between conflicts where it falls into the stretches of keys that were searched. Full specs are looked up together.
    """
    table = _registered(statement, context)
    keys: set[bytes] = set()
    ranges: list[KeyRange] = []
    for spec, (found, searched) in zip(statement.specs, _searched(statement.specs, table, context), strict=True):
        ranges += searched
        if not found and not statement.if_exists:
            seen = seen_from(context.snapshot.current, table.name)
            raise AnalysisError(
                f"The partition(s) {spec_text(spec)} cannot be found in the table {seen}.",
                condition="PARTITIONS_NOT_FOUND",
                sqlstate="428FT",
                position=Span(span_of(spec[0]).start, span_of(spec[-1]).end),
                object=table.name,
                hint=f"SHOW PARTITIONS {seen} lists them; DROP IF EXISTS tolerates their absence.",
            )
        keys.update(found)
    if keys:
        with context.begin() as transaction:
            transaction.commit([DropPartitions(table, tuple(sorted(keys)), merged(ranges))])
    return Result("ALTER TABLE DROP PARTITION")


def _searched(
    specs: Sequence[Sequence[Filter]], table: Table, context: Context
) -> list[tuple[list[bytes], Sequence[KeyRange]]]:
    """For each DROP spec the keys found, and where they were looked for. All full specs together are one look-up."""
    lookup = context.snapshot.lookup
    # One after the other: the first that cannot be read is told.
    read = [full_key(table, spec) or lookup(table, read_dropped(table, spec)) for spec in specs]
    keys = [one for one in read if isinstance(one, bytes)]
    there = set(lookup(table, None, merged(map(KeyRange.of_key, keys))).found_keys()) if keys else set()
    return [
        ([one] if one in there else [], [KeyRange.of_key(one)])
        if isinstance(one, bytes)
        else (list(one.found_keys()), one.ranges)
        for one in read
    ]


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
    """Data and partition columns. ``(dt STRING)`` adds a column, ``(dt)`` refers to a declared one; both may mix."""
    added = [one for one in statement.partitioned_by if one.type is not None]
    check_unique((*statement.columns, *added))
    declared = {column.name.lower(): column for column in statement.columns}
    names = ", ".join(column.name for column in statement.columns)
    hint = f"The columns are {names}. To add a partition column, give it a type."
    partitioning = [
        one if one.type else referred(one, declared, statement.table, hint) for one in statement.partitioned_by
    ]
    return split_columns(statement.table, statement.columns, partitioning, statement.partitioned_by)


def split_columns(
    table: s.Name,
    columns: Sequence[s.ColumnDef],
    partitioning: Sequence[s.ColumnDef],
    places: Sequence[s.ColumnDef],
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Data columns, those that partition nothing, and partition columns, checked. ``places`` are where these are named.

    Raises COLUMN_ALREADY_EXISTS, ALL_PARTITION_COLUMNS_NOT_ALLOWED, INVALID_PARTITION_COLUMN_DATA_TYPE, and
    ``NotSupportedError`` for types that no column has.
    """
    check_unique(places)
    names = {one.name.lower() for one in partitioning}
    data = [one for one in columns if one.name.lower() not in names]
    if not data:
        raise _no_data_columns(table, places)
    partition_columns = tuple(new_column(one) for one in partitioning)
    for column, definition in zip(partition_columns, places, strict=True):
        try:
            check_partition_column(column)
            _check_level(column)
        except Error as error:
            error.object = column.name
            raise error.at(definition.span) from None
    return tuple(new_column(one) for one in data), partition_columns


def _check_level(column: Column) -> None:
    if len(partition_name((column,), (None,)).encode("utf-8")) > LONGEST_NAME:
        raise AnalysisError(
            f"The name of the partition column {column.name[:40]}… is too long: directories bear it.",
            condition="PARTITION_COLUMN_NAME_TOO_LONG",
            hint=f"The name of a directory, column=value, has at most {LONGEST_NAME} bytes: choose a shorter name.",
        )


def _no_data_columns(table: s.Name, partitioned_by: Sequence[s.ColumnDef]) -> Error:
    if not partitioned_by:
        return AnalysisError(
            f"The table {table.last} has no columns.",
            position=table.span,
            hint="Declare them: CREATE TABLE t (a STRING, b INT).",
        )
    return AnalysisError(
        "Cannot use all columns for partition columns.",
        condition="ALL_PARTITION_COLUMNS_NOT_ALLOWED",
        sqlstate="KD005",
        position=Span(partitioned_by[0].span.start, partitioned_by[-1].span.end),
        object=table.last,
        hint="Keep at least one column out of PARTITIONED BY.",
    )


def referred(one: s.ColumnDef, known: Mapping[str, s.ColumnDef], table: s.Name, hint: str) -> s.ColumnDef:
    """What PARTITIONED BY refers to among columns by name in lower case; COLUMN_NOT_DEFINED_IN_TABLE, with the hint."""
    column = known.get(one.name.lower())
    if column is not None:
        return column
    raise AnalysisError(
        f"The partition column {one.name} is not defined in the table {table.last}.",
        condition="COLUMN_NOT_DEFINED_IN_TABLE",
        sqlstate="42703",
        position=one.span,
        object=one.name,
        hint=hint,
    )


def new_column(definition: s.ColumnDef) -> Column:
    """A column as it is declared. Raises for the reserved name and for types that no column of ours has."""
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
            sqlstate="0A000",
            position=definition.span,
            object=definition.name,
            hint="Use TIMESTAMP, which is an instant in UTC." if refused == "timestamp_ntz" else "Use STRING.",
        )
    return Column(definition.name, definition.type, definition.comment)


def _format(statement: s.CreateTable | s.CreateTableAs | s.CreateTableLike) -> str:
    file_format = (statement.format or "parquet").lower()
    if file_format in FORMATS:
        return file_format
    raise NotSupportedError(
        f"The format {statement.format} is not supported.",
        position=statement.format_span or statement.table.span,
        object=statement.table.last,
        hint=f"Use one of {', '.join(FORMATS)}.",
    )


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
        return _spelled_directory(table, one) if table.external else None
    span = _spec_span(one.spec, Span(0, 0))
    if not table.external:
        raise NotSupportedError(
            f"{table.name} is a managed table: its partitions lie where their writes put them.",
            position=span,
            object=partition_name(table.partition_columns, read_full(table, one.spec)),
            hint="LOCATION is for external tables. Load the files with INSERT … SELECT * FROM parquet.`directory`.",
        )
    return absolute(one.location, table.location, s.Name((table.name,), span))


def _spelled_directory(table: Table, one: s.PartitionLocation) -> str | None:
    """The directory that spells the values as the statement does (``2019-8-30`` for a DATE), if only that is there."""
    typed = {item.column.lower(): item.value for item in one.spec}
    texts = [typed[column.name.lower()] for column in table.partition_columns]
    as_typed = tuple(None if text is None or text.kind == "null" else text.text for text in texts)
    default, spelled = (
        os.path.join(table.location, partition_path(table, values)) for values in (read_full(table, one.spec), as_typed)
    )
    return spelled if not os.path.isdir(default) and os.path.isdir(spelled) and spelled != default else None


def _spec_span(items: tuple[s.PartitionItem, ...], otherwise: Span) -> Span:
    return Span(items[0].span.start, items[-1].span.end) if items else otherwise
