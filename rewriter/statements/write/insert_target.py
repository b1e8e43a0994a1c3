"""Checks of an INSERT before any work: the number of columns and their types. Also puts the query in the table's column
order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.keys.values import hidden_column
from rewriter.errors import AnalysisError, NotSupportedError, Span
from rewriter.exec.translate.store_assignment import is_assignable
from rewriter.grammar.families.writes import if_not_exists_of
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.text.literals import string_literal
from rewriter.statements.resolve.default_values import default_sql
from rewriter.statements.resolve.locations import refuse_external_write
from rewriter.statements.resolve.partition_specs import Spec, check_names, read_spec, require_partitioned

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, PartitionValues, Table
    from rewriter.catalog.model.partition_transforms import PartitionTransform
    from rewriter.grammar.families import writes as s
    from rewriter.grammar.terms import PartitionItem


@dataclass(frozen=True)
class Target:
    """The table, partition and columns that an INSERT fills.

    ``provided`` are the columns that the query returns, in its order. ``static`` are the values of the leading
    static partition columns; a static column behind a dynamic one is in ``constants`` by its position.
    """

    table: Table
    spec: Spec
    provided: tuple[Column, ...]
    static: PartitionValues
    constants: dict[int, str | None]
    reordered: bool

    @property
    def is_static(self) -> bool:
        """Returns whether every partition column has a value: exactly one partition is written."""
        return len(self.static) == len(self.table.partition_columns)

    @property
    def dynamic(self) -> tuple[Column, ...]:
        """Returns the partition columns whose values come from the query, in the table's order."""
        return _dynamic(self.table, self.spec)

    def arranged(self, sql: str) -> str:
        """Returns the query with its columns in the order of ``Write``: data columns, then dynamic partition columns.

        Returns the query itself where it is in that order already.
        """
        if not self.reordered and not self.constants and hidden_column(self.table) is None:
            return sql
        names = {column.name.lower(): f"c{number}" for number, column in enumerate(self.provided, start=1)}
        items = [names.get(column.name.lower(), default_sql(column)) for column in self.table.columns]
        for index in range(len(self.static), len(self.table.partition_columns)):
            column = self.table.partition_columns[index]
            if column.transform is not None:
                items.append(_computed(column.transform, self.table, names))
            elif index in self.constants:
                items.append(_constant(column, self.constants[index]))
            else:
                items.append(names[column.name.lower()])
        select_list = ", ".join(names[column.name.lower()] for column in self.provided)
        # The line break ends a comment that the user's query may end with.
        return f"SELECT {', '.join(items)} FROM (\n{sql}\n) AS rw_rows({select_list})"


def _dynamic(table: Table, spec: Spec) -> tuple[Column, ...]:
    columns = enumerate(table.partition_columns)
    return tuple([column for i, column in columns if i not in spec.static and column.transform is None])


def _computed(transform: PartitionTransform, table: Table, names: Mapping[str, str]) -> str:
    """Returns the value of a hidden partition column. ``names`` are the names of the query's columns."""
    source = next(column for column in table.columns if column.name.lower() == transform.source.lower())
    return transform.value_sql(names.get(source.name.lower(), default_sql(source)), source.type)


def read_target(statement: s.Insert, table: Table) -> Target:
    """Returns the partition clause and the column list, checked against the table."""
    refuse_external_write(table, position=statement.table.span)
    if statement.partition is not None:
        require_partitioned(table, statement.table.span)
    spec = _spec(statement, table)
    static = spec.leading
    constants = {index: value for index, value in spec.static.items() if index >= len(static)}
    natural = (*table.columns, *_dynamic(table, spec))
    if statement.columns is None:
        return Target(table, spec, natural, static, constants, reordered=False)
    provided = _listed_columns(statement.columns, natural, spec, table, statement.table.span)
    return Target(table, spec, provided, static, constants, reordered=provided != natural)


def _spec(statement: s.Insert, table: Table) -> Spec:
    """Returns the PARTITION clause. Partition columns that it does not name are dynamic."""
    if statement.partition is None:
        return Spec({}, frozenset(range(len(table.partition_columns))))
    named_spec = read_spec(table, statement.partition)
    check_names(table, statement.partition, named_spec.static)
    _refuse_hidden(statement.partition, table)
    spec = Spec(named_spec.static, frozenset(range(len(table.partition_columns))) - set(named_spec.static))
    span = Span(statement.partition[0].span.start, statement.partition[-1].span.end)
    if statement.if_not_exists and spec.dynamic:
        raise if_not_exists_of(table.partition_columns[min(spec.dynamic)].name, span)
    order = {column.name.lower(): i for i, column in enumerate(table.partition_columns)}
    dynamic = [order[item.column.lower()] for item in statement.partition if item.value is None]
    if dynamic != sorted(dynamic):
        columns = ", ".join(table.partition_columns[i].name for i in sorted(dynamic))
        raise AnalysisError(
            "Dynamic partition columns must be in the table's order, because the query returns them by position.",
            condition="INVALID_PARTITION_SPEC",
            sqlstate="42601",
            position=span,
            object=table.name,
            hint=f"Write {columns}, and return them from the query in that order.",
        )
    return spec


def _refuse_hidden(items: Sequence[PartitionItem], table: Table) -> None:
    """Refuses a PARTITION clause that names a hidden column, whose value every write computes."""
    hidden = {column.name.lower(): column for column in table.partition_columns if column.transform is not None}
    for item in items:
        column = hidden.get(item.column.lower())
        if column is not None and column.transform is not None:
            raise NotSupportedError(
                f"PARTITION cannot give {column.name} a value: it is computed from {column.transform.source}.",
                position=item.span,
                object=column.name,
                hint=f"Leave {column.name} out: each row goes into the partition of its {column.transform.source}.",
            )


def _listed_columns(
    names: Sequence[str], natural: Sequence[Column], spec: Spec, table: Table, position: Span
) -> tuple[Column, ...]:
    """Returns the columns of a column list. It may omit data columns (they get their DEFAULT), but no dynamic partition
    column.
    """
    by_name = {column.name.lower(): column for column in natural}
    static = {table.partition_columns[i].name.lower() for i in spec.static}
    columns: list[Column] = []
    for name in names:
        column = by_name.get(name.lower())
        if column is None and name.lower() in static:
            raise _static_twice(name, "it is also in the column list", position)
        if column is None:
            raise AnalysisError(
                f"The table {table.name} has no column {name}.",
                condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
                sqlstate="42703",
                position=position,
                object=name,
                hint=f"The columns are {', '.join(column.name for column in natural)}.",
            )
        if column in columns:
            raise AnalysisError(
                f"The column {name} occurs twice in the column list.",
                condition="COLUMN_ALREADY_EXISTS",
                sqlstate="42711",
                position=position,
                object=name,
                hint="Name each column once.",
            )
        columns.append(column)
    partitioning = {column.name for column in table.partition_columns}
    lacking = [column.name for column in natural if column.name in partitioning and column not in columns]
    if lacking:
        raise AnalysisError(
            f"The column list leaves out the partition column {lacking[0]}.",
            condition="INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS",
            sqlstate="21S01",
            position=position,
            object=lacking[0],
            hint=f"Add {', '.join(lacking)} to the list, or give it a value in PARTITION (…).",
        )
    return tuple(columns)


def _static_twice(name: str, place_text: str, position: Span) -> AnalysisError:
    return AnalysisError(
        f"PARTITION gives the static partition column {name} a value, and {place_text}.",
        condition="STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST",
        sqlstate="42713",
        position=position,
        object=name,
        hint="Its value comes from PARTITION (…): omit it here.",
    )


def named_target(target: Target, query_columns: Sequence[Column], position: Span) -> Target:
    """Returns the target of INSERT … BY NAME: the query's columns fill the columns of the same names.

    Data columns that the query does not return get their DEFAULT. Raises ``AnalysisError``, as Spark does, for more
    columns than the table takes, a name twice, a name that the table does not have, and a partition column without a
    value.
    """
    natural = {column.name.lower(): column for column in target.provided}
    static = {target.table.partition_columns[index].name.lower() for index in target.spec.static}
    names = [column.name for column in query_columns]
    repeated_name = next(
        (name for number, name in enumerate(names) if name.lower() in map(str.lower, names[:number])), None
    )
    unknown_names = [name for name in names if name.lower() not in natural]
    lacking = [c.name for c in target.dynamic if c.name.lower() not in map(str.lower, names)]
    if any(name.lower() in static for name in unknown_names):
        name = next(name for name in unknown_names if name.lower() in static)
        raise _static_twice(name, "the query also returns it", position)
    if len(query_columns) > len(natural):
        raise _arity(target, len(query_columns), position)
    if repeated_name is not None:
        raise _incompatible(
            target,
            "AMBIGUOUS_COLUMN_NAME",
            f"the query returns the column {repeated_name} twice",
            repeated_name,
            position,
        )
    if unknown_names:
        columns = ", ".join(column.name for column in target.provided)
        reason = f"it has no column {', '.join(unknown_names)}. Its columns are {columns}"
        raise _incompatible(target, "EXTRA_COLUMNS", reason, unknown_names[0], position)
    if lacking:
        reason = f"the query does not return the partition column {lacking[0]}"
        raise _incompatible(target, "CANNOT_FIND_DATA", reason, lacking[0], position)
    provided = tuple(natural[name.lower()] for name in names)
    return replace(target, provided=provided, reordered=provided != target.provided)


def _incompatible(target: Target, kind: str, reason: str, name: str, position: Span) -> AnalysisError:
    return AnalysisError(
        f"Cannot write to {target.table.name} by name: {reason}.",
        condition=f"INCOMPATIBLE_DATA_FOR_TABLE.{kind}",
        sqlstate="KD000",
        position=position,
        object=name,
        hint="Give the query's columns the table's names: SELECT … AS name. Omit BY NAME to match by position.",
    )


def _arity(target: Target, returned: int, position: Span) -> AnalysisError:
    needed_columns = target.provided
    fewer = returned < len(needed_columns)
    columns = target.table.partition_columns
    values = [f"{columns[index].name} = {value or 'NULL'}" for index, value in sorted(target.spec.static.items())]
    static = f"; PARTITION gives {', '.join(values)}" if values else ""
    direction = "NOT_ENOUGH_DATA_COLUMNS" if fewer else "TOO_MANY_DATA_COLUMNS"
    return AnalysisError(
        f"Cannot write to {target.table.name}: the query returns {returned} columns, but {len(needed_columns)} "
        f"are needed ({', '.join(column.name for column in needed_columns)}{static}).",
        condition="INSERT_PARTITION_COLUMN_ARITY_MISMATCH" if values else f"INSERT_COLUMN_ARITY_MISMATCH.{direction}",
        sqlstate="21S01",
        position=position,
        object=target.table.name,
        hint="Add the missing columns to the query." if fewer else "Remove the surplus columns from the query.",
    )


def check_columns(target: Target, query_columns: Sequence[Column], position: Span) -> None:
    """Raises unless the query returns as many columns as needed, of types that an INSERT casts (Spark's ANSI store
    assignment).
    """
    needed_columns = target.provided
    if len(query_columns) != len(needed_columns):
        raise _arity(target, len(query_columns), position)
    for column, query_column in zip(needed_columns, query_columns, strict=True):
        if not is_assignable(query_column.type, column.type):
            raise AnalysisError(
                f"Cannot write to {target.table.name}: a {query_column.type.upper()} cannot be safely cast to "
                f"the {column.type.upper()} of the column {column.name}.",
                condition="INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
                sqlstate="KD000",
                position=position,
                object=column.name,
                hint=f"Write CAST(… AS {column.type.upper()}) in the query.",
            )


def _constant(column: Column, value: str | None) -> str:
    return f"CAST({'NULL' if value is None else string_literal(value)} AS {column.type})"


def refuse_static_wipe(target: Target, position: Span) -> None:
    """Refuses Spark's static mode, which wipes a prefix, where the static columns are no prefix or the table is
    external.
    """
    if target.constants:
        raise NotSupportedError(
            "The static overwrite mode needs the static partition columns first.",
            position=position,
            object=target.table.name,
            hint="SET rewriter.partition_overwrite_mode = dynamic, or give the leading columns values.",
        )
    if target.table.external and not target.is_static:
        raise NotSupportedError(
            f"The static overwrite mode would delete unwritten partitions of the external table {target.table.name}.",
            position=position,
            object=target.table.name,
            hint="SET rewriter.partition_overwrite_mode = dynamic, or drop the partitions first.",
        )
