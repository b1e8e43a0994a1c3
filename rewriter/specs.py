"""Partition specs: from ``(c = 'US', d)`` as typed to checked columns and canonical values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rewriter.catalog.comparands import named
from rewriter.catalog.keys import KeyRange, encode, prefix_of, successor
from rewriter.catalog.models import Column, PartitionValues, Table
from rewriter.catalog.scan_filters import AllOf, ScanFilter, bind_filter, equal
from rewriter.catalog.values import check_path, coerce
from rewriter.errors import AnalysisError, Error, ProgrammingError, Span
from rewriter.grammar.filters import (
    And,
    Between,
    Comparison,
    Filter,
    InList,
    IsNull,
    Not,
    Or,
    conjunction,
    negation,
    render_filter,
)
from rewriter.grammar.statements import ColumnDef, CubeColumn, Literal, PartitionItem


@dataclass(frozen=True)
class Spec:
    """A partition spec of a table, by position: ``static`` values, and the ``dynamic`` columns."""

    static: dict[int, str | None]
    dynamic: frozenset[int]

    @property
    def leading(self) -> PartitionValues:
        """The static values of the first columns, up to the first that is not static."""
        values: list[str | None] = []
        while len(values) in self.static:
            values.append(self.static[len(values)])
        return tuple(values)


def require_partitioned(table: Table, position: Span) -> None:
    """Raises ``AnalysisError`` where the table has no partition columns."""
    if not table.partition_columns:
        raise AnalysisError(
            f"The table {table.name} is not partitioned.",
            condition="INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY",
            sqlstate="42601",
            position=position,
            object=table.name,
            hint="Partitions belong to tables that were created with PARTITIONED BY.",
        )


def read_spec(table: Table, items: Sequence[PartitionItem]) -> Spec:
    """The spec's columns found and its values coerced. Columns may stand in any order; parsing saw to it that none
    stands twice, and that only INSERT leaves values out.

    Raises, at the item: PARTITIONS_NOT_FOUND for a column that partitions nothing, and what ``catalog.values.coerce``
    raises.
    """
    static: dict[int, str | None] = {}
    dynamic: set[int] = set()
    for item in items:
        index = _index(table, item.column, item.span)
        if item.value is None:
            dynamic.add(index)
        else:
            static[index] = value_of(table.partition_columns[index], item.value)
    return Spec(static, frozenset(dynamic))


def read_full(table: Table, items: Sequence[PartitionItem]) -> PartitionValues:
    """The values of a spec that must name every partition column."""
    static = read_spec(table, items).static
    if len(static) < len(table.partition_columns):
        position = Span(items[0].span.start, items[-1].span.end)
        raise incomplete(table, [item.column for item in items], position)
    return tuple(static[i] for i in range(len(static)))


def named_values(table: Table, items: Sequence[PartitionItem]) -> PartitionValues:
    """The values of a full spec that names a new partition; raises, at the item, where no directory can bear one."""
    values = read_full(table, items)
    check_names(table, items)
    return values


def check_names(table: Table, items: Iterable[PartitionItem]) -> None:
    """Raises what ``catalog.values.check_path`` raises, at the item whose value no directory can bear."""
    for item in items:
        if item.value is not None:
            column = table.partition_columns[_index(table, item.column, item.span)]
            try:
                check_path(column, value_of(column, item.value))
            except Error as error:
                raise error.at(item.value.span) from None


def incomplete(table: Table, named: Iterable[str], position: Span | None) -> AnalysisError:
    """The error for a spec that leaves partition columns out."""
    columns = ", ".join(column.name for column in table.partition_columns)
    return AnalysisError(
        f"The spec ({', '.join(named)}) must match the partition spec ({columns}) of the table {table.name}.",
        condition="INVALID_PARTITION_SPEC",
        sqlstate="42601",
        position=position,
        object=table.name,
        hint=f"Name all of {columns}.",
    )


def value_of(column: Column, value: Literal) -> str | None:
    """The canonical value of a literal for a partition column; errors stand at the literal."""
    try:
        return coerce(column, value.kind, value.text)
    except Error as error:
        raise error.at(value.span) from None


def read_dropped(table: Table, spec: Sequence[Filter]) -> ScanFilter:
    """The conditions of one DROP spec as a filter. Literals are partition values, read as ADD PARTITION reads them.

    ``= NULL`` is the partition without a value, ``<> NULL`` all others. Raises as ``read_spec`` does, and
    INVALID_PARTITION_SPEC where a value is NULL and the condition is none of these two.
    """
    return read_filter(table, conjunction(tuple(spec)))


def full_key(table: Table, spec: Sequence[Filter]) -> bytes | None:
    """The key of the one partition that a DROP spec can mean, as it gives each column one value; otherwise ``None``.

    It is the key that ``read_dropped`` finds. Raises as that does, where the answer is not ``None``.
    """
    types = [column.type for column in table.partition_columns]
    if len(spec) != len(types):
        return None
    values: dict[int, str | None] = {}
    for one in spec:
        if not isinstance(one, Comparison) or one.op != "=":
            return None
        index = _index(table, one.column, one.span)
        values[index] = value_of(table.partition_columns[index], one.value)
    return (
        encode(table.id, types, [values[index] for index in range(len(types))]) if len(values) == len(types) else None
    )


def read_filter(table: Table, tree: Filter) -> ScanFilter:
    """A filter whose literals are partition values, read as those of a DROP spec; raises as ``read_dropped`` does."""
    return bind_filter(_about_values(table, tree), table.partition_columns, named)


def _about_values(table: Table, one: Filter) -> Filter:
    if isinstance(one, Not):
        return negation(_about_values(table, one.operand))
    if isinstance(one, (And, Or)):
        return replace(one, operands=tuple(_about_values(table, part) for part in one.operands))
    column = table.partition_columns[_index(table, one.column, one.span)]
    if isinstance(one, Comparison):
        values: tuple[Literal, ...] = (one.value,)
        op = one.op
    elif isinstance(one, InList):
        values, op = one.values, "IN"
    elif isinstance(one, Between):
        values, op = (one.low, one.high), "BETWEEN"
    else:
        return one
    if all(value_of(column, value) is not None for value in values):
        return one
    if op in ("=", "<>"):
        return IsNull(one.column, one.span) if op == "=" else Not(IsNull(one.column, one.span))
    raise AnalysisError(
        f"Nothing compares to NULL by {op}.",
        condition="INVALID_PARTITION_SPEC",
        sqlstate="42601",
        position=one.span,
        object=column.name,
        hint="Use = NULL or <> NULL.",
    )


def read_static(table: Table, static: Mapping[int, str | None]) -> ScanFilter:
    """The partitions that have these values."""
    return AllOf(tuple(equal(index, table.partition_columns[index], value) for index, value in static.items()))


def key_range(table: Table, leading: Sequence[str | None]) -> KeyRange:
    """The keys of all partitions with these leading values."""
    start = prefix_of(table.id, [column.type for column in table.partition_columns], leading)
    return KeyRange(start, successor(start))


def spec_text(spec: Sequence[Filter]) -> str:
    """A DROP spec as Spark shows it in errors."""
    return f"PARTITION ({', '.join(map(_condition_text, spec))})"


def _condition_text(one: Filter) -> str:
    if isinstance(one, Comparison):
        return f"{one.column} {one.op} {'NULL' if one.value.kind == 'null' else one.value.text}"
    return render_filter(one)


def _index(table: Table, name: str, position: Span) -> int:
    for index, column in enumerate(table.partition_columns):
        if column.name.lower() == name.lower():
            return index
    columns = ", ".join(column.name for column in table.partition_columns)
    error: ProgrammingError = AnalysisError(
        f"The partition column {name} cannot be found in the table {table.name}.",
        condition="PARTITIONS_NOT_FOUND",
        sqlstate="428FT",
        position=position,
        object=name,
        hint=f"The partition columns are {columns}." if columns else "The table is not partitioned.",
    )
    raise error


def check_unique(columns: Iterable[ColumnDef | CubeColumn], table: Table | None = None) -> None:
    """Raises ``AnalysisError`` COLUMN_ALREADY_EXISTS, with position, where two names differ by case at most.

    Columns that come to a ``table`` must differ from those that it has, too.
    """
    seen = {column.name.lower() for column in table.all_columns} if table is not None else set()
    where = f" in the table {table.name}" if table is not None else ""
    for column in columns:
        if column.name.lower() in seen:
            raise AnalysisError(
                f"The column {column.name} already exists{where}.",
                condition="COLUMN_ALREADY_EXISTS",
                sqlstate="42711",
                position=column.span,
                object=column.name,
                hint="Choose another name; names differ by more than case.",
            )
        seen.add(column.name.lower())
