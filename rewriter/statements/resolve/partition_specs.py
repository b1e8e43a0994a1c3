"""Partition specs: from ``(c = 'US', d)`` as typed to checked columns and canonical values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from rewriter.catalog.filters.predicates import AllOf, ScanFilter, bind_filter, equal
from rewriter.catalog.keys.directory_moves import directory
from rewriter.catalog.keys.encoding import encode, prefix_of
from rewriter.catalog.keys.literal_bounds import partition_value_range
from rewriter.catalog.keys.paths import is_discovered, not_registered
from rewriter.catalog.keys.values import check_path, coerce, partition_name
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges, successor
from rewriter.catalog.model.objects import Column, Partition, PartitionValues, Table
from rewriter.catalog.reading.pending_changes import NOTHING
from rewriter.catalog.storage.discovered_partitions import Discovery, look_up
from rewriter.errors import AnalysisError, ConflictError, Error, ProgrammingError, Span
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
from rewriter.grammar.unparse import render_filter
from rewriter.lazy_dataclass import dataclass
from rewriter.statements.resolve.text_comparisons import comparable

if TYPE_CHECKING:
    from rewriter.catalog.reading.partition_lookup import Lookup
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.grammar.families import partitions as s
    from rewriter.grammar.families.cubes import CubeColumn
    from rewriter.grammar.terms import ColumnDef, Literal, PartitionItem
    from rewriter.runtime.statement_context import Context


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


def _read_dropped(table: Table, spec: Sequence[Filter]) -> ScanFilter:
    """Returns the conditions of one DROP spec as a filter. Literals are partition values, read as in ADD PARTITION.

    ``= NULL`` is the partition without a value, ``<> NULL`` all others. Raises as ``read_spec`` does, and
    INVALID_PARTITION_SPEC where a value is NULL and the condition is none of these two.
    """
    return read_filter(table, conjunction(tuple(spec)))


def _full_key(table: Table, spec: Sequence[Filter]) -> bytes | None:
    """Returns the key of the one partition that a DROP spec can mean if it gives each column one value; otherwise
    ``None``.

    It is the key that ``_read_dropped`` finds. Raises as that does, unless it returns ``None``.
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
    """Returns a filter whose literals are partition values, read as the values of a DROP spec; raises as
    ``_read_dropped`` does.
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
    names = {c.name.lower() for c in (*table.columns, *table.partition_columns)} if table is not None else set()
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


# The partitions that a statement names, for statements that read them and for statements that change them.


@dataclass(frozen=True)
class DroppedSpec:
    """One spec of ALTER TABLE … DROP PARTITION: a full spec names one key, any other is a filter."""

    table: Table
    conditions: tuple[Filter, ...]
    key_or_filter: bytes | ScanFilter

    def lookup(self, snapshot: Snapshot) -> Lookup:
        """Returns the look-up of its partitions. Nothing is read before it is asked."""
        if isinstance(self.key_or_filter, bytes):
            return snapshot.lookup(self.table, None, (KeyRange.of_key(self.key_or_filter),))
        return snapshot.lookup(self.table, self.key_or_filter)


def dropped(statement: s.DropPartitions | s.CommitPartitions, context: Context) -> tuple[DroppedSpec, ...]:
    """Returns the specs of ALTER TABLE … DROP PARTITION, for the statement and for EXPLAIN SCAN, or COMMIT PARTITION.

    The first spec that cannot be read raises.
    """
    table = context.table(statement.table)
    require_partitioned(table, statement.table.span)
    if is_discovered(table):
        raise not_registered(table).at(statement.table.span)
    specs = [tuple(comparable(table, condition, context.snapshot) for condition in spec) for spec in statement.specs]
    return tuple(DroppedSpec(table, spec, _full_key(table, spec) or _read_dropped(table, spec)) for spec in specs)


def found_keys(specs: Sequence[DroppedSpec], snapshot: Snapshot) -> list[tuple[list[bytes], Sequence[KeyRange]]]:
    """For each spec the keys of its partitions, and the ranges that were searched.

    All full specs together are one look-up.
    """
    full_keys = [spec.key_or_filter for spec in specs if isinstance(spec.key_or_filter, bytes)]
    table = specs[0].table
    existing_keys = (
        set(snapshot.lookup(table, None, merge_ranges(map(KeyRange.of_key, full_keys))).found_keys())
        if full_keys
        else set()
    )
    results: list[tuple[list[bytes], Sequence[KeyRange]]] = []
    for spec in specs:
        if isinstance(spec.key_or_filter, bytes):
            results.append(
                (
                    [spec.key_or_filter] if spec.key_or_filter in existing_keys else [],
                    [KeyRange.of_key(spec.key_or_filter)],
                )
            )
        else:
            lookup = spec.lookup(snapshot)
            results.append((list(lookup.found_keys()), lookup.ranges))
    return results


def check_unmoved(table: Table, partitions: Iterable[Partition], context: Context) -> None:
    """Raises ``ConflictError`` where partitions of an external table have moved since the statement's snapshot.

    Directories have no snapshots: files listed in a directory that has moved meanwhile, or was put there, are not
    the table's.
    """
    fresh, start = context.catalog.snapshot(), context.snapshot.over(NOTHING)
    if fresh.write_ids(table.id) == start.write_ids(table.id):
        return
    now = fresh.named(table.name)
    for partition in partitions:
        if start.partition(table, partition.values) is None:
            continue  # The open transaction has added it.
        current = fresh.partition(now, partition.values) if isinstance(now, Table) and now.id == table.id else None
        if current is None or not isinstance(now, Table) or directory(now, current) != directory(table, partition):
            name = partition_name(table.partition_columns, partition.values)
            raise ConflictError(
                f"the partition {name} of '{table.name}' was moved or dropped after this statement began",
                object=table.name,
                hint="Run the statement again.",
            )


def spec_span(spec: Sequence[PartitionItem]) -> Span:
    """Returns the span of the items of a spec."""
    return Span(spec[0].span.start, spec[-1].span.end)


def list_partitions(statement: s.ShowPartitions, context: Context) -> Lookup | Discovery:
    """Returns the partitions that SHOW PARTITIONS lists, before LIMIT."""
    table = context.table(statement.table)
    require_partitioned(table, statement.table.span)
    filter_ = read_static(table, read_spec(table, statement.partition or ()).static)
    if statement.where is not None:
        where = comparable(table, statement.where, context.snapshot)
        filter_ = AllOf((filter_, bind_filter(where, table.partition_columns)))
    return look_up(table, filter_, context.snapshot, statement.table.span)
