"""ANALYZE: counts rows, and what the columns of a table or of its partitions hold, and keeps it in the catalog.

It reads data and writes figures. No content changes, so no rollup is outdated, no cover changes and no writer meets a
conflict. All that one statement found is one commit; what was written meanwhile is left out of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rewriter.catalog.changes import AlterTable, Change, Counted, NoteStatistics
from rewriter.catalog.models import Column, DataFile, Partition, Table
from rewriter.catalog.names import database_of
from rewriter.catalog.partition_paths import is_discovered, not_registered
from rewriter.catalog.statistics import ColumnStatistics, Statistics, statistics_in
from rewriter.catalog.temporary import session_of
from rewriter.catalog.values import canonical
from rewriter.context import Context
from rewriter.errors import Error, NotSupportedError, OperationalError, Span
from rewriter.exec.engine import EngineQuery, Relation, ScanFile
from rewriter.grammar import statements as s
from rewriter.grammar.render import quote_name
from rewriter.known import content_of, content_text, contents_of, files_of, partitions_of, statistics_for
from rewriter.lookups import column_named, not_found
from rewriter.result import Result
from rewriter.specs import read_spec, read_static, require_partitioned

_TEXT = ("string", "varchar", "char", "binary")
_FLOATING = ("float", "double")
#: The bytes of a value, as Spark counts them.
_SIZES = {
    "boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "bigint": 8, "float": 4, "double": 8, "date": 4,
    "timestamp": 8, "decimal": 8,
}  # fmt: skip
_WIDE_DECIMAL = 16


@dataclass(frozen=True)
class _Found:
    """What was counted of a partition, or of the table."""

    rows: int
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)


def analyze_table(statement: s.AnalyzeTable, context: Context) -> Result:
    """ANALYZE TABLE. Without PARTITION the figures of columns are the table's, with it those of each partition.

    NOSCAN reads no data: of a managed table it only sees that all files are there. Raises PARTITIONS_NOT_FOUND 428FT
    where values were given and no partition has them, COLUMN_NOT_FOUND 42703, UNSUPPORTED_FEATURE.
    ANALYZE_UNSUPPORTED_COLUMN_TYPE 0A000, MANAGED_FILE_CHANGED, and what the engine raises.
    """
    table = context.table(statement.table)
    columns = _columns(statement, table)
    if is_discovered(table):
        raise not_registered(table).at(statement.table.span)
    try:
        if statement.partition is None:
            _commit(_table_changes(table, columns, statement.noscan, context), context)
        else:
            partitions = _named(table, statement.partition, context)
            _commit(_partition_changes(table, partitions, columns, statement.noscan, context), context)
    except Error as error:
        raise error.at(statement.table.span) from None
    return Result("ANALYZE TABLE")


def analyze_tables(statement: s.AnalyzeTables, context: Context) -> Result:
    """ANALYZE TABLES: every table of a database as ANALYZE TABLE does, all of it in one commit, or none.

    Temporary tables are in no database.
    """
    database = context.database(statement.database).name
    changes: list[Change] = []
    for table in context.snapshot.tables():
        if is_discovered(table) or session_of(table.name) is not None or database_of(table.name) != database:
            continue
        try:
            changes += _table_changes(table, None, statement.noscan, context)
        except Error as error:
            error.message = f"{table.name}: {error.message}"
            raise error.at(statement.span) from None
    _commit(changes, context)
    return Result("ANALYZE TABLES")


def _commit(changes: Sequence[Change], context: Context) -> None:
    if changes:
        with context.catalog.begin(context.snapshot) as transaction:
            transaction.commit(changes)


def _columns(statement: s.AnalyzeTable, table: Table) -> tuple[Column, ...] | None:
    if statement.columns is None:
        return None
    named = [(column_named(table.all_columns, name), name.span) for name in statement.columns]
    chosen = named or [(column, statement.table.span) for column in table.all_columns]
    for column, span in chosen:
        _refuse_type(column, table, span)
    return tuple(column for column, _ in chosen)


def _refuse_type(column: Column, table: Table, span: Span) -> None:
    if _kind(column) not in (*_TEXT, *_SIZES):
        raise NotSupportedError(
            f"ANALYZE TABLE … FOR COLUMNS does not count the type {column.type.upper()} of the column {column.name} "
            f"of the table {table.name}.",
            condition="UNSUPPORTED_FEATURE.ANALYZE_UNSUPPORTED_COLUMN_TYPE",
            sqlstate="0A000",
            position=span,
            object=column.name,
            hint="Name the other columns: FOR COLUMNS a, b.",
        )


def _kind(column: Column) -> str:
    return re.split(r"[(<]", column.type, maxsplit=1)[0]


def _named(table: Table, items: Sequence[s.PartitionItem], context: Context) -> tuple[Partition, ...]:
    """The partitions that agree with the values of a spec, whose other columns stand for any."""
    require_partitioned(table, items[0].span)
    static = read_spec(table, items).static
    found = partitions_of(table, read_static(table, static), context)
    if static and not found:
        raise not_found(table, items)
    return found


def _table_changes(
    table: Table, columns: Sequence[Column] | None, noscan: bool, context: Context
) -> list[NoteStatistics | AlterTable]:
    """What ANALYZE of a whole table changes: figures of columns are the table's own."""
    content, partitions = content_of(table, None, context), partitions_of(table, None, context)
    files = files_of(table, partitions, context)
    changes: list[NoteStatistics | AlterTable] = []
    found: _Found | None = None
    if columns is not None:
        found = _counted(table, partitions, files, columns, context)
    elif table.partition_columns or not table.external:
        noted = _partition_changes(table, partitions, None, noscan, context, files)
        changes += noted
        if not noscan and table.external:
            found = _Found(sum(_rows_in(one) for change in noted for one in change.partitions))
    elif not noscan:
        found = _counted(table, partitions, files, (), context)
    if columns is not None or table.external:
        number, size = _amount(files.values())
        new = _statistics(content, found, number, size)
        stored = statistics_in(table.properties)
        kept = statistics_for(stored, new)
        if kept != stored:
            changes.append(AlterTable(table, kept.to_property()))
    return changes


def _rows_in(counted: Counted) -> int:
    stored = statistics_in(counted.properties)
    return stored.rows or 0 if stored is not None else 0


def _partition_changes(
    table: Table,
    partitions: Sequence[Partition],
    columns: Sequence[Column] | None,
    noscan: bool,
    context: Context,
    files: Mapping[bytes, Sequence[DataFile]] | None = None,
) -> list[NoteStatistics]:
    """What ANALYZE changes of partitions: those whose figures were right already are left alone."""
    stored = contents_of(table, partitions, context)
    contents: dict[bytes, str] = {}
    if table.external:
        contents = {one.key: content_of(table, one, context) for one in partitions}
    elif columns is not None:
        contents = {key: content_text((one,)) for key, one in stored.items()}
    files = files_of(table, partitions, context) if files is None else files
    if noscan and not table.external:
        _check_files(table, files)
        return []
    found = {} if noscan else _counted_apart(table, partitions, files, columns or (), context)
    counted: list[Counted] = []
    for partition in partitions:
        one = found.get(partition.key)
        properties: dict[str, str] = {}
        if partition.key in contents:
            number, size = _amount([files[partition.key]])
            new = _statistics(contents[partition.key], one, number, size)
            properties = statistics_for(statistics_in(partition.properties), new).to_property()
        rows = None if one is None or table.external or one.rows == partition.rows else one.rows
        if rows is not None or properties:
            counted.append(Counted(partition.key, stored[partition.key].commit, rows, properties))
    return [NoteStatistics(table, tuple(counted))] if counted else []


def _statistics(content: str, found: _Found | None, files: int, size: int) -> Statistics:
    return Statistics(content, None if found is None else found.rows, files, size, found.columns if found else {})


def _amount(files: Iterable[Sequence[DataFile]]) -> tuple[int, int]:
    """How many files and bytes."""
    sizes = [file.bytes for some in files for file in some]
    return len(sizes), sum(sizes)


def _check_files(table: Table, files: Mapping[bytes, Sequence[DataFile]]) -> None:
    """Sees that the files of a managed table are as they were written. Reads no data."""
    for file in (file for some in files.values() for file in some):
        try:
            size = os.stat(file.path).st_size
        except OSError as error:
            size, reason = -1, error.strerror or "it cannot be read"
        if size != file.bytes:
            what = f"has {size} bytes, and was written with {file.bytes}" if size >= 0 else f"cannot be read: {reason}"
            raise OperationalError(
                f"The file {file.path} of the managed table {table.name} {what}.",
                condition="MANAGED_FILE_CHANGED",
                object=table.name,
                hint="Somebody has changed or removed it from outside; write its partition anew.",
            )


def _counted(
    table: Table,
    partitions: Sequence[Partition],
    files: Mapping[bytes, Sequence[DataFile]],
    columns: Sequence[Column],
    context: Context,
) -> _Found:
    """What all these partitions hold together."""
    scanned = [ScanFile(file.path, one.values, file.bytes) for one in partitions for file in files[one.key]]
    if not scanned:
        return _Found(0, {column.name.lower(): _figures(column, 0, [0, 0, None, None]) for column in columns})
    name = f"rw_{next(context.serial)}_analyzed"
    relation = Relation(name, table.format, table.columns, table.partition_columns, tuple(scanned))
    (row,) = _answers(f"SELECT {_items(columns)} FROM {name}", relation, context)
    return _read(row, columns)


def _counted_apart(
    table: Table,
    partitions: Sequence[Partition],
    files: Mapping[bytes, Sequence[DataFile]],
    columns: Sequence[Column],
    context: Context,
) -> dict[bytes, _Found]:
    """What each partition holds, by key. One query, in which a further column tells the partitions apart."""
    nothing = _Found(0, {column.name.lower(): _figures(column, 0, [0, 0, None, None]) for column in columns})
    found = {partition.key: nothing for partition in partitions}
    # Values that nobody asks for need not be joined to the files.
    asked = [place for place, column in enumerate(table.partition_columns) if column in columns]
    scanned = [
        ScanFile(file.path, (*(one.values[place] for place in asked), str(number)), file.bytes)
        for number, one in enumerate(partitions)
        for file in files[one.key]
    ]
    if not scanned:
        return found
    taken = {column.name.lower() for column in table.all_columns}
    number = next(name for name in (f"rw_number_{i}" for i in range(len(taken) + 1)) if name not in taken)
    name = f"rw_{next(context.serial)}_analyzed"
    places = (*(table.partition_columns[place] for place in asked), Column(number, "int"))
    relation = Relation(name, table.format, table.columns, places, tuple(scanned))
    sql = f"SELECT {_items(columns)}, {number} AS place FROM {name} GROUP BY {number}"
    for *row, place in _answers(sql, relation, context):
        assert isinstance(place, int)
        found[partitions[place].key] = _read(row, columns)
    return found


def _answers(sql: str, relation: Relation, context: Context) -> list[list[int | str | float | None]]:
    reader = context.engine().execute(EngineQuery(sql, (relation,)))
    try:
        return [list(row.values()) for row in reader.read_all().to_pylist()]
    finally:
        reader.close()


def _items(columns: Sequence[Column]) -> str:
    """COUNT(*), and four aggregates of each column: values, different values, and least and greatest or lengths."""
    items = ["COUNT(*)"]
    for column in columns:
        name, kind = quote_name(column.name), _kind(column)
        items += [f"COUNT({name})", f"COUNT(DISTINCT {name})"]
        if kind in _TEXT:
            items += [f"SUM(LENGTH({name}))", f"MAX(LENGTH({name}))"]
        elif kind in _FLOATING:
            items += [f"MIN({name})", f"MAX({name})"]
        else:
            items += [f"CAST(MIN({name}) AS STRING)", f"CAST(MAX({name}) AS STRING)"]
    return ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))


def _read(row: Sequence[int | str | float | None], columns: Sequence[Column]) -> _Found:
    rows, *rest = row
    assert isinstance(rows, int)
    figures = {
        column.name.lower(): _figures(column, rows, rest[4 * number : 4 * number + 4])
        for number, column in enumerate(columns)
    }
    return _Found(rows, figures)


def _figures(column: Column, rows: int, found: Sequence[int | str | float | None]) -> ColumnStatistics:
    values, distinct, low, high = found
    assert isinstance(values, int)
    assert isinstance(distinct, int)
    kind = _kind(column)
    if kind in _TEXT:
        total, longest = low, high
        assert total is None or isinstance(total, int)
        assert longest is None or isinstance(longest, int)
        average = None if total is None else -(-total // values)
        return ColumnStatistics(column.type, rows - values, distinct, None, None, average, longest)
    size = _SIZES[kind]
    precision = re.match(r"decimal\((\d+)", column.type)
    if precision is not None and int(precision[1]) > 18:
        size = _WIDE_DECIMAL
    least, greatest = _text(column, low), _text(column, high)
    return ColumnStatistics(column.type, rows - values, distinct, least, greatest, size, size)


def _text(column: Column, value: int | str | float | None) -> str | None:
    return canonical(column, repr(value)) if isinstance(value, float) else None if value is None else str(value)
