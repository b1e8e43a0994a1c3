"""INSERT's checks before any work: how many columns, which types; and the query in the table's column order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.catalog.models import Column, PartitionValues, Table
from rewriter.errors import AnalysisError, NotSupportedError, Span
from rewriter.grammar import statements as s
from rewriter.planner.literals import string_literal
from rewriter.specs import Spec, incomplete, read_spec, require_partitioned


@dataclass(frozen=True)
class Target:
    """What an INSERT fills.

    ``provided`` are the columns that the query answers, in its order. ``static`` are the values of the leading static
    partition columns; a static column behind a dynamic one stands in ``constants`` by its position.
    """

    table: Table
    spec: Spec
    provided: tuple[Column, ...]
    static: PartitionValues
    constants: dict[int, str | None]
    reordered: bool

    @property
    def is_static(self) -> bool:
        """Whether every partition column has a value: exactly one partition is written."""
        return len(self.static) == len(self.table.partition_columns)

    def arranged(self, sql: str) -> str:
        """The query with its columns in the order of ``Write``: data columns, then dynamic partition columns.

        The query itself where it is in that order already.
        """
        if not self.reordered and not self.constants:
            return sql
        names = {column.name.lower(): f"c{number}" for number, column in enumerate(self.provided, start=1)}
        items = [names.get(column.name.lower(), f"CAST(NULL AS {column.type})") for column in self.table.columns]
        for index in range(len(self.static), len(self.table.partition_columns)):
            column = self.table.partition_columns[index]
            items.append(
                _constant(column, self.constants[index]) if index in self.constants else names[column.name.lower()]
            )
        inner = ", ".join(names[column.name.lower()] for column in self.provided)
        # The line break ends a comment that the user's query may end with.
        return f"SELECT {', '.join(items)} FROM (\n{sql}\n) AS rw_rows({inner})"


def read_target(statement: s.Insert, table: Table) -> Target:
    """Partition clause and column list, checked against the table."""
    if statement.partition is not None:
        require_partitioned(table, statement.table.span)
    spec = _spec(statement, table)
    static = spec.leading
    constants = {index: value for index, value in spec.static.items() if index >= len(static)}
    dynamic = [column for i, column in enumerate(table.partition_columns) if i not in spec.static]
    natural = (*table.columns, *dynamic)
    if statement.columns is None:
        return Target(table, spec, natural, static, constants, reordered=False)
    provided = _listed(statement.columns, natural, spec, table, statement.table.span)
    return Target(table, spec, provided, static, constants, reordered=provided != natural)


def _spec(statement: s.Insert, table: Table) -> Spec:
    if statement.partition is None:
        return Spec({}, frozenset(range(len(table.partition_columns))))
    spec = read_spec(table, statement.partition)
    span = Span(statement.partition[0].span.start, statement.partition[-1].span.end)
    if len(spec.static) + len(spec.dynamic) < len(table.partition_columns):
        raise incomplete(table, [item.column for item in statement.partition], span)
    order = {column.name.lower(): i for i, column in enumerate(table.partition_columns)}
    dynamic = [order[item.column.lower()] for item in statement.partition if item.value is None]
    if dynamic != sorted(dynamic):
        columns = ", ".join(table.partition_columns[i].name for i in sorted(dynamic))
        raise AnalysisError(
            "Dynamic partition columns must stand in the table's order, because the query answers them by position.",
            condition="INVALID_PARTITION_SPEC",
            sqlstate="42601",
            position=span,
            object=table.name,
            hint=f"Write {columns}, and let the query answer them in that order.",
        )
    return spec


def _listed(
    names: Sequence[str], natural: Sequence[Column], spec: Spec, table: Table, position: Span
) -> tuple[Column, ...]:
    """The columns of a column list. Data columns may be left out (they are NULL), dynamic partition columns may not."""
    known = {column.name.lower(): column for column in natural}
    static = {table.partition_columns[i].name.lower() for i in spec.static}
    found: list[Column] = []
    for name in names:
        column = known.get(name.lower())
        if column is None and name.lower() in static:
            raise AnalysisError(
                f"The static partition column {name} stands in the column list, too.",
                condition="STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST",
                sqlstate="42713",
                position=position,
                object=name,
                hint="Its value comes from PARTITION (…): leave it out of the list.",
            )
        if column is None:
            raise AnalysisError(
                f"The table {table.name} has no column {name}.",
                condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
                sqlstate="42703",
                position=position,
                object=name,
                hint=f"The columns are {', '.join(one.name for one in natural)}.",
            )
        if column in found:
            raise AnalysisError(
                f"The column {name} stands twice in the column list.",
                condition="COLUMN_ALREADY_EXISTS",
                sqlstate="42711",
                position=position,
                object=name,
                hint="Name each column once.",
            )
        found.append(column)
    partitioning = {column.name for column in table.partition_columns}
    lacking = [column.name for column in natural if column.name in partitioning and column not in found]
    if lacking:
        raise AnalysisError(
            f"The column list leaves out the partition column {lacking[0]}.",
            condition="INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS",
            sqlstate="21S01",
            position=position,
            object=lacking[0],
            hint=f"Add {', '.join(lacking)} to the list, or give it a value in PARTITION (…).",
        )
    return tuple(found)


def check_columns(target: Target, found: Sequence[Column], position: Span) -> None:
    """The query answers as many columns as it must, of types that an INSERT casts (Spark's ANSI store assignment)."""
    wanted = target.provided
    if len(found) != len(wanted):
        fewer = len(found) < len(wanted)
        raise AnalysisError(
            f"Cannot write to {target.table.name}: the query answers {len(found)} columns where {len(wanted)} are "
            f"needed ({', '.join(column.name for column in wanted)}).",
            condition="INSERT_COLUMN_ARITY_MISMATCH."
            + ("NOT_ENOUGH_DATA_COLUMNS" if fewer else "TOO_MANY_DATA_COLUMNS"),
            sqlstate="21S01",
            position=position,
            object=target.table.name,
            hint="Add the missing columns to the query." if fewer else "Take the surplus columns out of the query.",
        )
    for column, given in zip(wanted, found, strict=True):
        if not _assignable(given.type, column.type):
            raise AnalysisError(
                f"Cannot write to {target.table.name}: a {given.type.upper()} is not safely cast to the "
                f"{column.type.upper()} of the column {column.name}.",
                condition="INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
                sqlstate="KD000",
                position=position,
                object=column.name,
                hint=f"Write CAST(… AS {column.type.upper()}) in the query.",
            )


_NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TEXT = ("string", "varchar", "char")
_INSTANT = ("date", "timestamp", "timestamp_ntz")


def _assignable(given: str, wanted: str) -> bool:
    given_kind, wanted_kind = _kind(given), _kind(wanted)
    if given_kind == "void" or given.lower() == wanted.lower():
        return True
    nested = ("array", "map", "struct")
    if given_kind in nested or wanted_kind in nested:
        return False
    if wanted_kind in _TEXT:
        return given_kind != "binary" or wanted_kind == "string"
    return any(given_kind in family and wanted_kind in family for family in (_NUMERIC, _INSTANT))


def _kind(type_name: str) -> str:
    return type_name.lower().split("(")[0].split("<")[0].strip()


def _constant(column: Column, value: str | None) -> str:
    return f"CAST({'NULL' if value is None else string_literal(value)} AS {column.type})"


def refuse_static_wipe(target: Target, position: Span) -> None:
    """Spark's static mode wipes a prefix; what is no prefix, or lies outside the catalog, it must not touch."""
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
