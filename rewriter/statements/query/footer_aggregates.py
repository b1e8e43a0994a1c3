"""Aggregates that the footers of Parquet files have: no row is read, and a footer that is kept is not read again.

Whatever the footers do not state for certain is left to the engine: a column without statistics, with another type than
the declared one, or of a type whose statistics are not exact; a file that cannot be read; rows of a packed file that
share a row group with rows that the query does not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from rewriter.catalog.filters.predicates import AllOf, bind_filter
from rewriter.catalog.keys.encoding import encode_value
from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.model.objects import Column, DataFile, PartitionValues, Table
from rewriter.catalog.storage.partition_directories import in_parallel
from rewriter.errors import OperationalError
from rewriter.exec.engine import EngineQuery
from rewriter.exec.parquet_footers import FOOTERS, Chunk, Footer, RowGroup, has_bounds, has_nulls
from rewriter.gc_pause import paused
from rewriter.grammar.filters import IsNull, Not
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import Plan, TableAggregate, quote_identifier

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context

_EPOCH = datetime(1970, 1, 1)

#: A file with the values of its partition.
PartitionFile = tuple[PartitionValues, DataFile]


@dataclass(frozen=True)
class FooterQuery:
    """A query of one row that has the values of a plan's aggregates.

    ``partitions`` and ``files`` are the numbers of partitions and files of which it has the figures, ``read_files`` is
    the number of files whose footers were not kept, and ``read_bytes`` the size of these footers.
    """

    query: EngineQuery
    partitions: int
    files: int
    read_files: int
    read_bytes: int


class _UnknownError(Exception):
    """The footers do not have a value."""


def are_of_footers(plan: Plan) -> bool:
    """Tests whether footers may have the values of a plan's aggregates, by the types of the columns."""
    if not plan.aggregates or plan.uses[0].table.format.lower() != "parquet":
        return False
    return all(_is_of_footers(aggregate, plan.uses[0].table) for aggregate in plan.aggregates)


def _is_of_footers(aggregate: TableAggregate, table: Table) -> bool:
    column = aggregate.column
    if column is None:
        return True
    if column in table.partition_columns:
        return aggregate.function == "COUNT" or _is_sorted(column)
    may_have = has_nulls if aggregate.function == "COUNT" else has_bounds
    return may_have(_type_name(column))


def _type_name(column: Column) -> str:
    return column.type.lower().replace(" ", "")


def footer_query(plan: Plan, partitions: int, partition_files: Iterable[PartitionFile]) -> FooterQuery | None:
    """Returns the query for the files of the partitions that a plan reads of its table; ``None`` if the footers lack a
    value.

    Costs 3 µs for a file whose footer is kept, and about 0.2 ms for another. The first footer decides whether the
    others are read.
    """
    table = plan.uses[0].table
    try:
        return _footer_query(plan, table, partitions, partition_files)
    except (OSError, ValueError, OperationalError, _UnknownError):
        return None  # The engine reports a file that it cannot read.


def _footer_query(plan: Plan, table: Table, partitions: int, partition_files: Iterable[PartitionFile]) -> FooterQuery:
    reads = _Reads(not table.external)
    pieces: list[_Piece] = []
    single_files: list[list[PartitionFile]] = []
    parts_by_path: dict[str, list[PartitionFile]] = {}
    for partition_file in partition_files:
        file = partition_file[1]
        if file.part is not None:
            parts_by_path.setdefault(file.path, []).append(partition_file)
        elif pieces:
            single_files.append([partition_file])
        else:
            pieces.append(reads.piece([partition_file]))
            for aggregate in plan.aggregates:
                _value(aggregate, table, pieces)
    pieces += in_parallel(reads.piece, [*single_files, *parts_by_path.values()])
    with paused():
        query = _values_query(plan.aggregates, [_value(aggregate, table, pieces) for aggregate in plan.aggregates])
    files = len({piece.path for piece in pieces})
    return FooterQuery(query, partitions, files, len(reads.sizes), sum(reads.sizes))


@dataclass(frozen=True)
class _Piece:
    """Row groups of a file all of whose rows the query reads, and the numbers of these rows by partition."""

    path: str
    footer: Footer
    row_groups: Sequence[RowGroup]
    rows_by_values: Sequence[tuple[PartitionValues, int]]


class _Reads:
    """Reads footers of files that never change again, or of others, and collects the bytes of those not kept."""

    def __init__(self, is_final: bool) -> None:
        self._is_final = is_final
        self.sizes: list[int] = []

    def piece(self, files: Sequence[PartitionFile]) -> _Piece:
        """Returns the piece of one file, or of parts of one packed file."""
        path = files[0][1].path
        footer, size = FOOTERS.read(path, self._is_final)
        if size:
            self.sizes.append(size)
        if files[0][1].part is None:
            return _Piece(path, footer, footer.row_groups, [(values, footer.rows) for values, _ in files])
        rows_by_values: list[tuple[PartitionValues, int]] = []
        numbers: set[int] = set()
        for values, file in files:
            if file.part is None or file.rows is None:
                raise _UnknownError
            rows_by_values.append((values, file.rows))
            numbers.update(range(file.part.first_row_group, file.part.first_row_group + file.part.row_groups))
        if max(numbers) >= len(footer.row_groups):
            raise _UnknownError
        row_groups = [footer.row_groups[number] for number in sorted(numbers)]
        if sum([group.rows for group in row_groups]) != sum([rows for _, rows in rows_by_values]):
            raise _UnknownError  # Other partitions have rows in these row groups.
        return _Piece(path, footer, row_groups, rows_by_values)


def _value(aggregate: TableAggregate, table: Table, pieces: Sequence[_Piece]) -> Value:
    """Returns the value of an aggregate as a parameter. Raises ``_UnknownError``."""
    column = aggregate.column
    if column is None:
        return sum([group.rows for piece in pieces for group in piece.row_groups])
    if column in table.partition_columns:
        return _partition_value(aggregate, column, table.partition_columns.index(column), pieces)
    chunks = [rows_and_chunk for piece in pieces for rows_and_chunk in _chunks(piece, column)]
    if aggregate.function == "COUNT":
        return sum([rows - _known(chunk.nulls) for rows, chunk in chunks])
    with_values = [chunk for rows, chunk in chunks if chunk.nulls != rows]
    if not with_values:
        return None
    if aggregate.function == "MIN":
        return _text(_type_name(column), min([_known(chunk.least) for chunk in with_values]))
    return _text(_type_name(column), max([_known(chunk.greatest) for chunk in with_values]))


def _known(value: int | None) -> int:
    if value is None:
        raise _UnknownError
    return value


def _chunks(piece: _Piece, column: Column) -> list[tuple[int, Chunk]]:
    """Returns the rows and the chunk of a column in each row group that has rows. The column is NULL in files that
    lack it.
    """
    types = piece.footer.types
    name = column.stored_name.lower()
    groups = [group for group in piece.row_groups if group.rows]
    if name not in types:
        return [(group.rows, Chunk(nulls=group.rows)) for group in groups]
    if types[name] != _type_name(column):
        raise _UnknownError
    index = list(types).index(name)
    return [(group.rows, group.chunks[index]) for group in groups]


def _partition_value(aggregate: TableAggregate, column: Column, index: int, pieces: Sequence[_Piece]) -> Value:
    values = [
        (value, rows)
        for piece in pieces
        for partition_values, rows in piece.rows_by_values
        if rows and (value := partition_values[index]) is not None
    ]
    if aggregate.function == "COUNT":
        return sum([rows for _, rows in values])
    choose = min if aggregate.function == "MIN" else max
    return choose({value for value, _ in values}, key=lambda value: encode_value(column.type, value), default=None)


def _text(type_name: str, value: int) -> Value:
    """Returns a value of a footer so that a cast to its type returns it."""
    if type_name == "date":
        return date.fromordinal(_EPOCH.toordinal() + value).isoformat()
    if type_name == "timestamp":
        return (_EPOCH + timedelta(microseconds=value)).isoformat(sep=" ", timespec="microseconds")
    if type_name.startswith("decimal"):
        scale = int(type_name.rstrip(")").rpartition(",")[2])
        return f"{Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -scale)):f}"
    return value


# Aggregates that the catalog computes: no file is listed or opened, and no partition is enumerated.

#: The types of partition columns whose keys sort exactly as an engine sorts the values.
_SORTED_TYPES = frozenset(("string", "date", "tinyint", "smallint", "int", "bigint"))

Value = int | str | None


def computed_query(plan: Plan, context: Context) -> EngineQuery | None:
    """Returns a query of one row that has the values of a plan's aggregates; ``None`` if the catalog lacks them because
    it does not list the files, because the rows of a file were not counted, or because the database cannot test the
    filter.
    """
    if not plan.aggregates:
        return None
    (use,) = plan.uses
    table = use.table
    is_listed = not table.external and not is_discovered(table)
    if not is_listed or not all(_is_of_keys(aggregate, table) for aggregate in plan.aggregates):
        return None
    rows = context.snapshot.lookup(table, use.wanted).row_total()
    if rows is None:
        return None
    values: list[Value] = []
    for aggregate in plan.aggregates:
        value: Value = rows
        if aggregate.column is not None:
            not_null = bind_filter(Not(IsNull(aggregate.column.name)), table.partition_columns)
            wanted = not_null if use.wanted is None else AllOf((use.wanted, not_null))
            lookup = context.snapshot.lookup(table, wanted)
            if aggregate.function == "COUNT":
                value = lookup.row_total()
                if value is None:
                    return None
            else:
                key = lookup.edge_key(last=aggregate.function == "MAX")
                if key is None and lookup.row_total() != 0:
                    return None
                value = None if key is None else lookup.values_of(key)[0]
        values.append(value)
    return _values_query(plan.aggregates, values)


def _values_query(aggregates: Sequence[TableAggregate], values: Sequence[Value]) -> EngineQuery:
    """Returns a query of one row that has these values, with the names and types of the aggregates."""
    items = [
        f"CAST(:value_{number} AS {_aggregate_type(aggregate)}) AS {quote_identifier(aggregate.name)}"
        for number, aggregate in enumerate(aggregates)
    ]
    parameters = {f"value_{number}": value for number, value in enumerate(values)}
    return EngineQuery(f"SELECT {', '.join(items)}", (), parameters)


def _aggregate_type(aggregate: TableAggregate) -> str:
    return "BIGINT" if aggregate.function == "COUNT" or aggregate.column is None else aggregate.column.type


def _is_of_keys(aggregate: TableAggregate, table: Table) -> bool:
    """Tests whether the keys of partitions and their numbers of rows are enough."""
    column = aggregate.column
    if column is None:
        return True
    if aggregate.function == "COUNT":
        return column in table.partition_columns
    return column in table.partition_columns[:1] and _is_sorted(column)


def _is_sorted(column: Column) -> bool:
    return column.type.lower() in _SORTED_TYPES
