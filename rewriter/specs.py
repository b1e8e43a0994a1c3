"""Partition specs: from ``(c = 'US', d)`` as typed to checked columns and canonical values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rewriter.catalog.keys import KeyRange, encode_value, prefix_of, successor
from rewriter.catalog.models import Column, Partition, PartitionValues, Table
from rewriter.catalog.values import coerce
from rewriter.errors import AnalysisError, Error, ProgrammingError, Span
from rewriter.grammar.statements import ColumnDef, CubeColumn, Literal, PartitionCondition, PartitionItem


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


@dataclass(frozen=True)
class Condition:
    """``column op value`` on the column at ``index``. Values compare by their key bytes, which order as they do."""

    index: int
    op: str
    value: str | None
    key: bytes

    def holds(self, column: Column, value: str | None) -> bool:
        """Whether a partition value satisfies it. NULL satisfies ``= NULL`` only; ``<> NULL`` is what is not NULL."""
        if self.value is None or value is None:
            if self.value is None:
                return (value is None) == (self.op == "=")
            return False
        key = encode_value(column.type, value)
        return {
            "=": key == self.key,
            "<>": key != self.key,
            "<": key < self.key,
            "<=": key <= self.key,
            ">": key > self.key,
            ">=": key >= self.key,
        }[self.op]


def read_conditions(table: Table, conditions: Sequence[PartitionCondition]) -> tuple[Condition, ...]:
    """The conditions of one DROP spec, checked. Raises as ``read_spec`` does, and for ``<`` and its kin with NULL."""
    found = []
    for condition in conditions:
        index = _index(table, condition.column, condition.span)
        column = table.partition_columns[index]
        value = value_of(column, condition.value)
        if value is None and condition.op not in ("=", "<>"):
            raise AnalysisError(
                f"Nothing compares to NULL by {condition.op}.",
                condition="INVALID_PARTITION_SPEC",
                sqlstate="42601",
                position=condition.span,
                object=column.name,
                hint="Use = NULL or <> NULL.",
            )
        found.append(Condition(index, condition.op, value, encode_value(column.type, value)))
    return tuple(found)


def matches(table: Table, conditions: Sequence[Condition], partition: Partition) -> bool:
    """Whether all conditions hold for the partition."""
    columns = table.partition_columns
    return all(one.holds(columns[one.index], partition.values[one.index]) for one in conditions)


def key_range(table: Table, leading: Sequence[str | None]) -> KeyRange:
    """The keys of all partitions with these leading values."""
    start = prefix_of(table.id, [column.type for column in table.partition_columns], leading)
    return KeyRange(start, successor(start))


def leading_values(conditions: Sequence[Condition]) -> PartitionValues:
    """The values that equalities fix on the first columns."""
    fixed = {one.index: one.value for one in conditions if one.op == "="}
    return Spec(fixed, frozenset()).leading


def spec_text(table: Table, conditions: Sequence[PartitionCondition]) -> str:
    """A DROP spec as Spark shows it in errors."""
    shown = (f"{one.column} {one.op} {'NULL' if one.value.kind == 'null' else one.value.text}" for one in conditions)
    return f"PARTITION ({', '.join(shown)})"


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


def check_unique(columns: Iterable[ColumnDef | CubeColumn]) -> None:
    """Raises ``AnalysisError`` COLUMN_ALREADY_EXISTS, with position, where two names differ by case at most."""
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise AnalysisError(
                f"The column {column.name} already exists.",
                condition="COLUMN_ALREADY_EXISTS",
                sqlstate="42711",
                position=column.span,
                object=column.name,
                hint="Choose another name; names differ by more than case.",
            )
        seen.add(column.name.lower())
