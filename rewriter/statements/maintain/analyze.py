"""ANALYZE: counts rows and the values in the columns of a table or of its partitions, and stores the statistics.

It reads data and writes statistics. No content changes, so no rollup is outdated, no cover changes and no writer
meets a conflict. All statistics of one statement are one commit; partitions that were written meanwhile are left
out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from rewriter.catalog.filesystems.reading import stored_size
from rewriter.catalog.keys.paths import is_discovered, not_registered
from rewriter.catalog.keys.values import canonical
from rewriter.catalog.model.changes import AlterTable, Change, Counted, NoteStatistics
from rewriter.catalog.model.column_statistics import ColumnStatistics, Statistics, statistics_in
from rewriter.catalog.model.objects import Column, DataFile, Partition, Table, database_of
from rewriter.catalog.model.temporary_views import session_of
from rewriter.errors import Error, NotSupportedError, OperationalError, Span
from rewriter.exec.engine import EngineQuery, Relation, scan_file, table_relation
from rewriter.grammar.families import maintenance as s
from rewriter.grammar.unparse import quote_name
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.progress import Progress
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.named_objects import column_named, not_found
from rewriter.statements.resolve.partition_specs import read_spec, read_static, require_partitioned
from rewriter.statements.show.content_statistics import (
    content_of,
    content_text,
    contents_of,
    files_of,
    partitions_of,
    statistics_for,
)

if TYPE_CHECKING:
    from rewriter.grammar.terms import PartitionItem
    from rewriter.runtime.statement_context import Context

_TEXT = ("string", "varchar", "char", "binary")
_FLOATING = ("float", "double")
#: The bytes of a value, as Spark counts them.
_SIZES = {
    "boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "bigint": 8, "float": 4, "double": 8, "date": 4,
    "timestamp": 8, "decimal": 8,
}  # fmt: skip
_WIDE_DECIMAL = 16


@dataclass(frozen=True)
class _Counts:
    """The counts of a partition, or of the table."""

    rows: int
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)


@runs(s.AnalyzeTable, writes=lambda statement: (statement.table,))
def analyze_table(statement: s.AnalyzeTable, context: Context) -> Result:
    """ANALYZE TABLE. Without PARTITION the column statistics are the table's, with it each partition's.

    NOSCAN reads no data: for a managed table it only checks that all files exist. Raises PARTITIONS_NOT_FOUND 428FT
    where values were given and no partition has them, COLUMN_NOT_FOUND 42703, UNSUPPORTED_FEATURE.
    ANALYZE_UNSUPPORTED_COLUMN_TYPE 0A000, MANAGED_FILE_CHANGED, and the errors of the engine.
    """
    table = context.table(statement.table)
    columns = _columns(statement, table)
    if is_discovered(table):
        raise not_registered(table).at(statement.table.span)
    try:
        changes: Sequence[Change]
        with context.progress.within(Progress("analyzing", subject=table.name)):
            if statement.partition is None:
                changes = _table_changes(table, columns, statement.noscan, context)
            else:
                partitions = _named_partitions(table, statement.partition, context)
                changes = _partition_changes(table, partitions, columns, statement.noscan, context)
        _commit(changes, context)
    except Error as error:
        raise error.at(statement.table.span) from None
    return Result("ANALYZE TABLE")


@runs(s.AnalyzeTables)
def analyze_tables(statement: s.AnalyzeTables, context: Context) -> Result:
    """ANALYZE TABLES: analyzes every table of a database as ANALYZE TABLE does, in one commit, or none.

    Temporary tables are in no database.
    """
    database = context.database(statement.database).name
    changes: list[Change] = []
    tables = [
        table
        for table in context.snapshot.tables()
        if not is_discovered(table) and session_of(table.name) is None and database_of(table.name) == database
    ]
    for number, table in enumerate(tables):
        try:
            with context.progress.within(Progress("analyzing", number, len(tables), "tables", subject=table.name)):
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
    named_columns = [(column_named(table.all_columns, name), name.span) for name in statement.columns]
    columns_with_spans = named_columns or [(column, statement.table.span) for column in table.all_columns]
    for column, span in columns_with_spans:
        _refuse_type(column, table, span)
    return tuple(column for column, _ in columns_with_spans)


def _refuse_type(column: Column, table: Table, span: Span) -> None:
    if _kind(column) not in (*_TEXT, *_SIZES):
        raise NotSupportedError(
            f"ANALYZE TABLE … FOR COLUMNS does not support the type {column.type.upper()} of the column {column.name} "
            f"of the table {table.name}.",
            condition="UNSUPPORTED_FEATURE.ANALYZE_UNSUPPORTED_COLUMN_TYPE",
            sqlstate="0A000",
            position=span,
            object=column.name,
            hint="Name the other columns: FOR COLUMNS a, b.",
        )


def _kind(column: Column) -> str:
    return re.split(r"[(<]", column.type, maxsplit=1)[0]


def _named_partitions(table: Table, items: Sequence[PartitionItem], context: Context) -> tuple[Partition, ...]:
    """Returns the partitions that match the values of a spec. Columns that the spec leaves out match any value."""
    require_partitioned(table, items[0].span)
    static = read_spec(table, items).static
    partitions = partitions_of(table, read_static(table, static), context)
    if static and not partitions:
        raise not_found(table, items)
    return partitions


def _table_changes(
    table: Table, columns: Sequence[Column] | None, noscan: bool, context: Context
) -> list[NoteStatistics | AlterTable]:
    """Returns the changes of ANALYZE for a whole table: column statistics are the table's own."""
    content, partitions = content_of(table, None, context), partitions_of(table, None, context)
    files = files_of(table, partitions, context.snapshot)
    changes: list[NoteStatistics | AlterTable] = []
    counts: _Counts | None = None
    if columns is not None:
        counts = _counted(table, partitions, files, columns, context)
    elif table.partition_columns or not table.external:
        noted = _partition_changes(table, partitions, None, noscan, context, files)
        changes += noted
        if not noscan and table.external:
            counts = _Counts(sum(_rows_in(counted) for change in noted for counted in change.partitions))
    elif not noscan:
        counts = _counted(table, partitions, files, (), context)
    if columns is not None or table.external:
        number, size = _amount(files.values())
        new = _statistics(content, counts, number, size)
        stored = statistics_in(table.properties)
        kept_statistics = statistics_for(stored, new)
        if kept_statistics != stored:
            changes.append(AlterTable(table, kept_statistics.to_property()))
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
    """Returns the changes of ANALYZE for partitions. Partitions whose statistics were right already are left alone."""
    stored = contents_of(table, partitions, context.snapshot)
    contents: dict[bytes, str] = {}
    if table.external:
        contents = {partition.key: content_of(table, partition, context) for partition in partitions}
    elif columns is not None:
        contents = {key: content_text((content,)) for key, content in stored.items()}
    files = files_of(table, partitions, context.snapshot) if files is None else files
    if noscan and not table.external:
        _check_files(table, files)
        return []
    counts = {} if noscan else _counted_per_partition(table, partitions, files, columns or (), context)
    counted: list[Counted] = []
    for partition in partitions:
        partition_counts = counts.get(partition.key)
        properties: dict[str, str] = {}
        if partition.key in contents:
            number, size = _amount([files[partition.key]])
            new = _statistics(contents[partition.key], partition_counts, number, size)
            properties = statistics_for(statistics_in(partition.properties), new).to_property()
        rows = (
            None
            if partition_counts is None or table.external or partition_counts.rows == partition.rows
            else partition_counts.rows
        )
        if rows is not None or properties:
            counted.append(Counted(partition.key, stored[partition.key].commit, rows, properties))
    return [NoteStatistics(table, tuple(counted))] if counted else []


def _statistics(content: str, counts: _Counts | None, files: int, size: int) -> Statistics:
    return Statistics(content, None if counts is None else counts.rows, files, size, counts.columns if counts else {})


def _amount(files: Iterable[Sequence[DataFile]]) -> tuple[int, int]:
    """Returns the number of files and bytes."""
    sizes = [file.bytes for partition_files in files for file in partition_files]
    return len(sizes), sum(sizes)


def _check_files(table: Table, files: Mapping[bytes, Sequence[DataFile]]) -> None:
    """Raises unless the files of a managed table are as they were written. Reads no data."""
    for file in (file for partition_files in files.values() for file in partition_files):
        try:
            size = stored_size(file.path)
        except OSError as error:
            size, reason = -1, error.strerror or "it cannot be read"
        if size != file.file_bytes:
            problem = (
                f"has {size} bytes, but was written with {file.file_bytes}"
                if size >= 0
                else f"cannot be read: {reason}"
            )
            raise OperationalError(
                f"The file {file.path} of the managed table {table.name} {problem}.",
                condition="MANAGED_FILE_CHANGED",
                object=table.name,
                hint="Another program changed or removed the file; rewrite its partition.",
            )


def _counted(
    table: Table,
    partitions: Sequence[Partition],
    files: Mapping[bytes, Sequence[DataFile]],
    columns: Sequence[Column],
    context: Context,
) -> _Counts:
    """Returns the counts of all these partitions together."""
    scanned = [scan_file(file, partition.values) for partition in partitions for file in files[partition.key]]
    if not scanned:
        return _Counts(0, {column.stored_name.lower(): _figures(column, 0, [0, 0, None, None]) for column in columns})
    name = f"rw_{next(context.serial)}_analyzed"
    relation = table_relation(name, table, tuple(scanned))
    (row,) = _answers(f"SELECT {_items(columns)} FROM {name}", relation, context)
    return _read_counts(row, columns)


def _counted_per_partition(
    table: Table,
    partitions: Sequence[Partition],
    files: Mapping[bytes, Sequence[DataFile]],
    columns: Sequence[Column],
    context: Context,
) -> dict[bytes, _Counts]:
    """Returns the counts of each partition, by key. Runs one query, in which an extra column tells the partitions
    apart.
    """
    nothing = _Counts(0, {column.stored_name.lower(): _figures(column, 0, [0, 0, None, None]) for column in columns})
    counts = {partition.key: nothing for partition in partitions}
    # Values of columns that are not analyzed need not be joined to the files.
    analyzed = [index for index, column in enumerate(table.partition_columns) if column in columns]
    scanned = [
        scan_file(file, (*(partition.values[index] for index in analyzed), str(number)))
        for number, partition in enumerate(partitions)
        for file in files[partition.key]
    ]
    if not scanned:
        return counts
    used_names = {column.name.lower() for column in table.all_columns}
    number = next(name for name in (f"rw_number_{i}" for i in range(len(used_names) + 1)) if name not in used_names)
    name = f"rw_{next(context.serial)}_analyzed"
    group_columns = (*(table.partition_columns[index] for index in analyzed), Column(number, "int"))
    relation = replace(
        table_relation(name, table, tuple(scanned)),
        partition_columns=group_columns,
        packed_columns=table.partition_columns,
    )
    sql = f"SELECT {_items(columns)}, {number} AS place FROM {name} GROUP BY {number}"
    for *row, index in _answers(sql, relation, context):
        assert isinstance(index, int)
        counts[partitions[index].key] = _read_counts(row, columns)
    return counts


def _answers(sql: str, relation: Relation, context: Context) -> list[list[int | str | float | None]]:
    reader = context.engine().execute(EngineQuery(sql, (relation,)))
    try:
        return [list(row.values()) for row in reader.read_all().to_pylist()]
    finally:
        reader.close()


def _items(columns: Sequence[Column]) -> str:
    """Returns COUNT(*) and four aggregates of each column: values, distinct values, and least and greatest value or
    lengths.
    """
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


def _read_counts(row: Sequence[int | str | float | None], columns: Sequence[Column]) -> _Counts:
    rows, *rest = row
    assert isinstance(rows, int)
    figures = {
        column.stored_name.lower(): _figures(column, rows, rest[4 * number : 4 * number + 4])
        for number, column in enumerate(columns)
    }
    return _Counts(rows, figures)


def _figures(column: Column, rows: int, figures: Sequence[int | str | float | None]) -> ColumnStatistics:
    values, distinct, low, high = figures
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
    smallest, greatest = _text(column, low), _text(column, high)
    return ColumnStatistics(column.type, rows - values, distinct, smallest, greatest, size, size)


def _text(column: Column, value: int | str | float | None) -> str | None:
    return canonical(column, repr(value)) if isinstance(value, float) else None if value is None else str(value)
