"""Partition specs: from ``(c = 'US', d)`` as typed to checked columns and canonical values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from rewriter.catalog.filters.predicates import AllOf, ScanFilter, bind_filter, equal
from rewriter.catalog.keys.encoding import encode, prefix_of
from rewriter.catalog.keys.literal_bounds import partition_value_range
from rewriter.catalog.keys.values import check_path, coerce
from rewriter.catalog.model.key_ranges import KeyRange, successor
from rewriter.catalog.model.objects import Column, PartitionValues, Table
from rewriter.errors import AnalysisError, Error, ProgrammingError, Span
from rewriter.grammar.families.cubes import CubeColumn
from rewriter.grammar.filters import (
    And,
    Between,
    Comparison,
    Filter,
    InList,
    IsNull,
    Like,
    Not,
    Or,
    conjunction,
    negation,
)
from rewriter.grammar.terms import ColumnDef, Literal, PartitionItem
from rewriter.grammar.unparse import render_filter


@dataclass(frozen=True)
class Spec:
    """A partition spec of a table, by position: ``static`` values, and the ``dynamic`` columns."""

    static: dict[int, str | None]
    dynamic: frozenset[int]

    @property
    def leading(self) -> PartitionValues:
        """Returns the static values of the first columns, up to the first that is not static."""
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
            hint="Only tables created with PARTITIONED BY have partitions.",
        )


def read_spec(table: Table, items: Sequence[PartitionItem]) -> Spec:
    """Returns the spec with its columns resolved and its values coerced. Columns may be in any order.

    The parser has checked that none is named twice, and that only INSERT leaves values out. Raises, at the item:
    PARTITIONS_NOT_FOUND for a column that is not a partition column, and the errors of ``catalog.keys.values.coerce``.
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
    """Returns the values of a spec that must name every partition column."""
    static = read_spec(table, items).static
    if len(static) < len(table.partition_columns):
        position = Span(items[0].span.start, items[-1].span.end)
        raise incomplete(table, [item.column for item in items], position)
    return tuple(static[i] for i in range(len(static)))


def named_values(table: Table, items: Sequence[PartitionItem]) -> PartitionValues:
    """Returns the values of a full spec that names a new partition; raises, at the item, where no directory can bear
    one.
    """
    values = read_full(table, items)
    check_names(table, items, dict(enumerate(values)))
    return values


def check_names(table: Table, items: Iterable[PartitionItem], static: Mapping[int, str | None]) -> None:
    """Raises the errors of ``catalog.keys.values.check_path``, at the item whose value no directory can bear.

    ``static`` are the canonical values of the items by the position of their column, as in ``Spec``.
    """
    for item in items:
        if item.value is not None:
            index = _index(table, item.column, item.span)
            try:
                check_path(table.partition_columns[index], static[index])
            except Error as error:
                raise error.at(item.value.span) from None


def incomplete(table: Table, given_columns: Iterable[str], position: Span | None) -> AnalysisError:
    """Returns the error for a spec that leaves partition columns out."""
    columns = ", ".join(column.name for column in table.partition_columns)
    return AnalysisError(
        f"The spec ({', '.join(given_columns)}) must match the partition spec ({columns}) of the table {table.name}.",
        condition="INVALID_PARTITION_SPEC",
        sqlstate="42601",
        position=position,
        object=table.name,
        hint=f"Name all of {columns}.",
    )


def value_of(column: Column, value: Literal) -> str | None:
    """Returns the canonical value of a literal for a partition column; errors are placed at the literal."""
    try:
        return coerce(column, value.kind, value.text)
    except Error as error:
        raise error.at(value.span) from None


def read_dropped(table: Table, spec: Sequence[Filter]) -> ScanFilter:
    """Returns the conditions of one DROP spec as a filter. Literals are partition values, read as in ADD PARTITION.

    ``= NULL`` is the partition without a value, ``<> NULL`` all others. Raises as ``read_spec`` does, and
    INVALID_PARTITION_SPEC where a value is NULL and the condition is none of these two.
    """
    return read_filter(table, conjunction(tuple(spec)))


def full_key(table: Table, spec: Sequence[Filter]) -> bytes | None:
    """Returns the key of the one partition that a DROP spec can mean if it gives each column one value; otherwise
    ``None``.

    It is the key that ``read_dropped`` finds. Raises as that does, unless it returns ``None``.
    """
    types = [column.type for column in table.partition_columns]
    if len(spec) != len(types):
        return None
    values: dict[int, str | None] = {}
    for condition in spec:
        if not isinstance(condition, Comparison) or condition.op != "=":
            return None
        index = _index(table, condition.column, condition.span)
        values[index] = value_of(table.partition_columns[index], condition.value)
    return (
        encode(table.id, types, [values[index] for index in range(len(types))]) if len(values) == len(types) else None
    )


def read_filter(table: Table, tree: Filter) -> ScanFilter:
    """Returns a filter whose literals are partition values, read as those of a DROP spec; raises as ``read_dropped``
    does.
    """
    return bind_filter(_about_values(table, tree), table.partition_columns, partition_value_range)


def _about_values(table: Table, condition: Filter) -> Filter:
    if isinstance(condition, Not):
        return negation(_about_values(table, condition.operand))
    if isinstance(condition, (And, Or)):
        return replace(condition, operands=tuple(_about_values(table, part) for part in condition.operands))
    column = table.partition_columns[_index(table, condition.column, condition.span)]
    if isinstance(condition, Comparison):
        values: tuple[Literal, ...] = (condition.value,)
        op = condition.op
    elif isinstance(condition, InList):
        values, op = condition.values, "IN"
    elif isinstance(condition, Between):
        values, op = (condition.low, condition.high), "BETWEEN"
    elif isinstance(condition, Like | IsNull):
        return condition
    else:
        assert_never(condition)
    if all(value_of(column, value) is not None for value in values):
        return condition
    if op in ("=", "<>"):
        return IsNull(condition.column, condition.span) if op == "=" else Not(IsNull(condition.column, condition.span))
    raise AnalysisError(
        f"NULL cannot be compared with {op}.",
        condition="INVALID_PARTITION_SPEC",
        sqlstate="42601",
        position=condition.span,
        object=column.name,
        hint="Use = NULL or <> NULL.",
    )


def read_static(table: Table, static: Mapping[int, str | None]) -> ScanFilter:
    """Returns a filter for the partitions that have these values."""
    return AllOf(tuple(equal(index, table.partition_columns[index], value) for index, value in static.items()))


def key_range(table: Table, leading: Sequence[str | None]) -> KeyRange:
    """Returns the range of the keys of all partitions with these leading values."""
    start = prefix_of(table.id, [column.type for column in table.partition_columns], leading)
    return KeyRange(start, successor(start))


def spec_text(spec: Sequence[Filter]) -> str:
    """Returns a DROP spec as Spark shows it in errors."""
    return f"PARTITION ({', '.join(map(_condition_text, spec))})"


def _condition_text(condition: Filter) -> str:
    if isinstance(condition, Comparison):
        return f"{condition.column} {condition.op} {'NULL' if condition.value.kind == 'null' else condition.value.text}"
    return render_filter(condition)


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

    Columns that are added to a ``table`` must differ from its own, too.
    """
    names = {column.name.lower() for column in table.all_columns} if table is not None else set()
    table_text = f" in the table {table.name}" if table is not None else ""
    for column in columns:
        if column.name.lower() in names:
            raise AnalysisError(
                f"The column {column.name} already exists{table_text}.",
                condition="COLUMN_ALREADY_EXISTS",
                sqlstate="42711",
                position=column.span,
                object=column.name,
                hint="Choose another name; names are not case-sensitive.",
            )
        names.add(column.name.lower())
