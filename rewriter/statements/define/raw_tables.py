"""RAW tables of a fact, where each row is an event: their columns, checked against the cube and the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.model.objects import View, parts_of
from rewriter.catalog.model.wider_types import is_wider
from rewriter.errors import AnalysisError, Error, Span
from rewriter.grammar.lexer import TokenKind, identifier_value, tokens
from rewriter.grammar.unparse import quote_name
from rewriter.planner.rewrite.union_arms import constructed_value, counted_measures, is_count
from rewriter.planner.scope.column_uses import ColumnUses, column_uses
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.text.query_text import QueryText
from rewriter.statements.define.cubes import not_supported
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Cube, Fact, StorageTable, Table
    from rewriter.grammar.families import facts as s
    from rewriter.planner.scope.blocks import CatalogReader

_CLOCKS = (exp.CurrentTimestamp, exp.CurrentDate)
_TIME_TYPES = ("timestamp", "date")


def raw_columns(
    clause: s.FactTable, cube: Cube, columns: tuple[str, ...] | None, table: Table, complete: tuple[str, ...]
) -> Mapping[str, str] | None:
    """Returns the expressions of a RAW clause by the cube's columns; ``None`` without the clause.

    Raises INVALID_FACT unless each column that the fact carries has an expression or a column of its name and type, or
    is a COUNT measure. ``complete`` are the partition columns that name no time.
    """
    if clause.raw is None:
        return None
    _check_clause(clause, cube, table)
    expressions = _read_expressions(clause.raw, cube, columns, table)
    _check_transform(clause, expressions, cube, table)
    stored = {c.name.lower(): c for c in table.all_columns if c in table.columns or c.name in complete}
    for name in cube.column_order:
        if name in expressions or not _is_carried(name, cube, columns):
            continue
        column_in_table = stored.get(name.lower())
        if column_in_table is None and any(c.name.lower() == name.lower() for c in table.partition_columns):
            raise _invalid(
                f"The partition column {name} of {table.name} names the time, and is no {name} of an event.",
                clause.span,
                f"Give the cube's column another name, or write how an event gives it: RAW ({quote_name(name)} AS "
                "expression).",
                name,
            )
        if column_in_table is None:
            check_counts_events(name, clause.span, cube, table)
        else:
            _check_type(name, column_in_table, clause, cube, table)
    return expressions


def _check_clause(clause: s.FactTable, cube: Cube, table: Table) -> None:
    """Raises unless a RAW table has one period and one time in its partitions, and its cube one time or UTC."""
    if len(clause.partitioned_by) > 1:
        raise not_supported(
            "RAW in a table whose partitions name several time dimensions",
            clause.span,
            f"Partition the events by {cube.times[0]} alone: each event has all of its times.",
        )
    if len(cube.times) > 1 and cube.zone != "UTC":
        raise not_supported(
            "RAW in a cube of several time dimensions with a time zone",
            clause.span,
            "Declare the cube without TIME ZONE, or with one time dimension.",
        )
    if len(clause.periods) > 1:
        raise _invalid(
            f"The RAW table {table.name} has several periods, but a row is one event.",
            clause.span,
            "Name the one period of its partitions: PERIOD HOURLY.",
        )


def transform_of_time(raw: Mapping[str, str], cube: Cube, table: Table) -> Column | None:
    """Returns the hidden partition column that is computed from the time of events; ``None`` if there is none. ``raw``
    are the expressions of the RAW clause, by columns of the cube in any case.
    """
    time = cube.times[0]
    expression = next((sql for name, sql in raw.items() if name.lower() == time.lower()), quote_name(time))
    for column in table.partition_columns:
        if column.transform is not None and _is_column(expression, column.transform.source):
            return column
    return None


def _is_column(expression: str, name: str) -> bool:
    """Tests whether an expression is the column of that name alone."""
    parts = tokens(expression)
    is_name = len(parts) == 1 and parts[0].kind in (TokenKind.WORD, TokenKind.IDENTIFIER)
    return is_name and identifier_value(parts[0]).lower() == name.lower()


def _check_transform(clause: s.FactTable, raw: Mapping[str, str], cube: Cube, table: Table) -> None:
    """Raises INVALID_FACT unless a hidden partition column that names the time is computed from the time of events, and
    the period is the one that it has on the clocks of the cube.
    """
    ((time, layout),) = clause.partitioned_by
    named = {column.column.lower() for column in layout}
    hidden = next((c for c in table.partition_columns if c.transform is not None and c.name.lower() in named), None)
    if hidden is None or hidden.transform is None:
        return
    text = f"{hidden.transform.function}({hidden.transform.source})"
    period = hidden.transform.period
    if hidden is not transform_of_time(raw, cube, table):
        raise _invalid(
            f"The partitions of {table.name} are those of {text}, and {time} of an event is another time.",
            clause.span,
            f"Write RAW ({quote_name(time)} AS {quote_name(hidden.transform.source)}), or partition the events by "
            f"{time}.",
            time,
        )
    if clause.periods != (period.name,):
        raise _invalid(
            f"The partitions of {table.name} are those of {text}, and not {' '.join(clause.periods)}.",
            clause.span,
            f"Write PERIOD {period.name}, or leave PERIOD and PARTITIONED BY out.",
            hidden.name,
        )
    if cube.zone != "UTC" and period is not UpdatePeriod.HOURLY:
        raise _invalid(
            f"{text} are periods of UTC, and the cube {cube.name} has those of {cube.zone}.",
            clause.span,
            f"Partition the events by hours({hidden.transform.source}), or by a column that has the day in "
            f"{cube.zone}.",
            hidden.name,
        )


def _read_expressions(
    raw: Iterable[s.RawColumn], cube: Cube, columns: tuple[str, ...] | None, table: Table
) -> dict[str, str]:
    """Returns the expressions that the clause states, checked, by the cube's columns."""
    names = {name.lower(): name for name in cube.column_order}
    expressions: dict[str, str] = {}
    for column in raw:
        name = names.get(column.column.lower())
        if name is None or not _is_carried(name, cube, columns):
            shown = ", ".join(c for c in cube.column_order if _is_carried(c, cube, columns))
            raise _invalid(
                f"{column.column} is not a column of the fact.", column.span, f"The columns are {shown}.", column.column
            )
        _check_expression(column, table, constructed_value(column.expression, cube, name))
        expressions[name] = column.expression
    return expressions


def check_counts_events(name: str, at: Span, cube: Cube, table: Table) -> None:
    """Raises INVALID_FACT unless a column that the table does not have is a COUNT measure of events, or of the values
    of one measure.
    """
    counted = counted_measures(cube, name)
    if len(counted) > 1:
        raise _invalid(
            f"{name} counts the values of {' and '.join(m.name for m in counted)}, which may be NULL apart.",
            at,
            f"Write what an event counts: RAW ({quote_name(name)} AS expression), or give each measure its own count.",
            name,
        )
    if not is_count(cube, name):
        raise _invalid(
            f"The RAW table {table.name} has no column {name}.",
            at,
            f"Write how an event gives it: RAW ({quote_name(name)} AS expression).",
            name,
        )


def _check_type(name: str, column: Column, clause: s.FactTable, cube: Cube, table: Table) -> None:
    """Raises INVALID_FACT unless a column of the table has the type that the cube declares for ``name``."""
    measures = {measure.name: measure.type for measure in cube.measures}
    types = {c.name: c.type for c in cube.dimensions} | measures
    expected = _TIME_TYPES if name in cube.times else (types[name],)
    # An integer or a decimal of an event may be narrower: its value becomes one of the cube's type.
    is_narrower = name in measures and is_wider(types[name], column.type)
    if column.type not in expected and (not is_narrower or column.type == "float"):
        declared, wanted = column.type.upper(), expected[0].upper()
        raise _invalid(
            f"{column.name} is {declared} in {table.name}, but {wanted} in {cube.name}.",
            clause.span,
            f"Convert it: RAW ({quote_name(name)} AS CAST({quote_name(column.name)} AS {wanted})).",
            name,
        )


def check_raw_periods(fact: Fact, at: Span) -> None:
    """Raises INVALID_FACT unless the RAW tables of a fact have one period, and rollups consist of whole ones."""
    raw_tables = [table for table in fact.tables if table.raw is not None]
    if not raw_tables:
        return
    base = next(iter(raw_tables[0].layouts))
    for table in fact.tables:
        for period in table.layouts:
            if table.raw is not None and period is not base:
                raise _invalid(
                    f"The RAW tables {raw_tables[0].table} and {table.table} have partitions of {base.name} and "
                    f"{period.name}.",
                    at,
                    "Store the events of a fact in partitions of one period.",
                )
            if table.raw is None and not base.nests_in(period):
                raise _invalid(
                    f"{table.table} is {period.name}, and the RAW table {raw_tables[0].table} is {base.name}: a rollup "
                    "consists of whole partitions of events.",
                    at,
                    f"Store periods in which {base.name} ones nest, or partition the events by a shorter period.",
                )


def check_raw_siblings(fact: Fact, siblings: Iterable[Fact], at: Span) -> None:
    """Raises INVALID_FACT if the cube would have events, and rows of a shorter period than the period of their
    partitions: the time of an event is exact, and the time of such a row is the start of its period.
    """
    for sibling in siblings:
        for raw, other in ((fact, sibling), (sibling, fact)):
            if raw.is_raw and not other.is_raw and other.base_period < raw.base_period:
                raise _invalid(
                    f"The base period of the fact {other.name} is {other.base_period.name}, and the events of "
                    f"{raw.name} are in {raw.base_period.name} partitions.",
                    at,
                    "Partition the events by a period that is not longer, or use another cube.",
                )


def _is_carried(name: str, cube: Cube, columns: tuple[str, ...] | None) -> bool:
    return columns is None or name in columns or name == cube.times[0]


def _check_expression(column: s.RawColumn, table: Table, value: str | None) -> None:
    """Raises, at the expression, unless it is a deterministic function of the columns of one row of the table.

    ``value`` is that function where the expression is the sketch or the bitmap of it.
    """
    checked = column.expression if value is None else value
    start = column.expression_span.start + column.expression.rindex(checked)
    text = QueryText(f"SELECT {checked}", start - len("SELECT "))
    try:
        tree = text.tree
    except Error as error:
        raise error.at(column.expression_span) from None
    items = tree.expressions if isinstance(tree, exp.Select) else []
    others = [key for key, value in tree.args.items() if value and key not in ("expressions", "kind")]
    if len(items) != 1 or others or isinstance(items[0], exp.Alias | exp.Star):
        raise _invalid(
            f"{column.expression} is not one expression.",
            column.expression_span,
            f"Write {column.column} AS expression, over the columns of {table.name}."
            if value is None
            else "Write one value. The precision of a sketch is that of the measure: THETA_UNION PRECISION 12.",
            column.column,
        )
    names = {c.name.lower() for c in table.all_columns}
    for node in items[0].walk():
        if isinstance(node, exp.Column) and (node.table or node.name.lower() not in names):
            raise AnalysisError(
                f"The column {node.sql()} of the expression of {column.column} is not in {table.name}.",
                condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
                sqlstate="42703",
                position=column.expression_span,
                object=node.name,
                hint=f"The columns are {', '.join(c.name for c in table.all_columns)}.",
            )
        is_of_row = is_scalar(node) and not isinstance(node, (*_CLOCKS, exp.Placeholder, exp.Parameter, exp.Star))
        if not is_of_row:
            raise _invalid(
                f"The expression of {column.column} is not a deterministic function of one row's columns.",
                column.expression_span,
                "Use scalar functions; no aggregates, subqueries, windows, parameters, random values or the clock.",
                column.column,
            )


def _invalid(message: str, at: Span, hint: str, named: str | None = None) -> AnalysisError:
    return AnalysisError(message, condition="INVALID_FACT", position=at, object=named, hint=hint)


# RENAME and DROP COLUMN of a RAW table: its cube keeps its columns, and the fact says how an event gives them.


def reads_column(
    fact: Fact, stored: StorageTable, table: Table, cube: Cube, column: str, reader: CatalogReader
) -> bool:
    """Tests whether a fact may read a column of its RAW table: by an expression, or as a column of its cube."""
    raw = stored.raw or {}
    expressions = {name.lower() for name in raw}
    is_own = column.lower() in _carried(fact, stored, cube) - expressions
    return is_own or any(_uses(sql, table, column, None, reader) != ColumnUses(reads=True) for sql in raw.values())


def renamed_expressions(
    fact: Fact, stored: StorageTable, table: Table, cube: Cube, change: tuple[str, str], reader: CatalogReader
) -> Mapping[str, str] | str:
    """Returns the expressions of a RAW table after a change of a column's name, the old and the new one; or why it is
    not certain that they have the values that they had.
    """
    old, new = change
    expressions: dict[str, str] = {}
    for name, sql in (stored.raw or {}).items():
        uses = _uses(sql, table, old, new, reader)
        reason = uses.doubt or uses.obstacle or ("reads all columns with *" if uses.shows_all else None)
        if reason is not None:
            return f"the expression of {name}, {sql}, {reason}"
        changed = _of_query(uses.with_name(_query_of(sql, table), new), table)
        own = next((column for column in table.columns if column.name.lower() == old.lower()), None)
        is_own = changed == quote_name(new) and name.lower() == new.lower()
        # A column of the name and type of the cube's needs no expression. A count without one is of the events.
        if is_count(cube, name) or not (is_own and own is not None and own.type == _type_of(cube, name)):
            expressions[name] = changed
    given = {name.lower() for name in expressions}
    for name in cube.column_order:
        if name.lower() == old.lower() and name.lower() in _carried(fact, stored, cube) - given:
            expressions[name] = quote_name(new)
    return expressions


def _carried(fact: Fact, stored: StorageTable, cube: Cube) -> frozenset[str]:
    return cube.columns_in(fact.columns_of(stored)) | {time.lower() for time in cube.times}


def _type_of(cube: Cube, name: str) -> str:
    types = {column.name.lower(): column.type for column in cube.dimensions}
    types |= {measure.name.lower(): measure.type for measure in cube.measures}
    return types.get(name.lower(), "timestamp")


def _uses(sql: str, table: Table, column: str, new_name: str | None, reader: CatalogReader) -> ColumnUses:
    view = View(0, "", _query_of(sql, table))
    return column_uses(view, {table.name.lower()}, column, new_name, reader)


def _query_of(sql: str, table: Table) -> str:
    return f"SELECT ({sql}){_source(table)}"


def _of_query(query: str, table: Table) -> str:
    return query.removeprefix("SELECT (").removesuffix(f"){_source(table)}")


def _source(table: Table) -> str:
    return f" AS rw_value FROM {'.'.join(map(quote_name, parts_of(table.name)))}"
