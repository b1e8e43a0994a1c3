"""The columns of a cube in a table that is declared RAW, where each row is an event: SQL over the table's columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from rewriter.catalog.model.json_codec import damaged
from rewriter.catalog.model.objects import Aggregate, Cube, Measure, Table
from rewriter.grammar.lexer import tokens
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.called_code import called_code, what_it_does


def raw_expression(expressions: Mapping[str, str], table: Table, cube: Cube, name: str) -> str:
    """Returns a column of the cube for one event, with the cube's type.

    It is the expression that the fact declares for it, or the table's column of its name. A COUNT measure without
    either is 1; one that counts the values of other measures is 1 where these are not NULL. The table has been checked
    against the cube (``define.raw_tables``). Raises ``OperationalError`` DAMAGED_CATALOG for an expression that runs
    code: CREATE FACT refuses it, so another program wrote it into the catalog.
    """
    type_name = _type_name(cube, name)
    expression = next((sql for column, sql in expressions.items() if column.lower() == name.lower()), None)
    if expression is not None:
        problem = _problem(expression)
        if problem is not None:
            raise damaged(f"the column '{name}' of the table '{table.name}' in a fact", name, f"it {problem}")
        return f"CAST({expression} AS {type_name})"
    stored_column = next((column for column in table.all_columns if column.name.lower() == name.lower()), None)
    if stored_column is not None:
        column_name = quote_identifier(stored_column.name)
        is_same = stored_column.type.upper() == type_name
        return column_name if is_same else f"CAST({column_name} AS {type_name})"
    counted = counted_measures(cube, name)
    if not counted:
        return f"CAST(1 AS {type_name})"
    values = [raw_expression(expressions, table, cube, measure.name) for measure in counted]
    are_absent = " OR ".join(f"{value} IS NULL" for value in values)
    return f"CAST(CASE WHEN {are_absent} THEN 0 ELSE 1 END AS {type_name})"


@lru_cache(maxsize=1024)
def _problem(expression: str) -> str | None:
    code = called_code(tokens(expression))
    return None if code is None else what_it_does(code)


def has_own_values(expressions: Mapping[str, str], table: Table, name: str) -> bool:
    """Tests whether a column of the cube is an expression of the fact or a column of the table. A COUNT measure without
    either is never NULL.
    """
    columns = {*map(str.lower, expressions), *(column.name.lower() for column in table.all_columns)}
    return name.lower() in columns


def counted_measures(cube: Cube, name: str) -> list[Measure]:
    """Returns the measures that may be NULL and whose values a COUNT measure counts; none if it counts events."""
    return [
        measure
        for measure in cube.measures
        if measure.counted_by is not None and measure.counted_by.lower() == name.lower() and not measure.not_null
    ]


def is_count(cube: Cube, name: str) -> bool:
    """Tests whether a column of the cube is a COUNT measure."""
    return any(m.name.lower() == name.lower() and m.aggregate is Aggregate.COUNT for m in cube.measures)


def _type_name(cube: Cube, name: str) -> str:
    types = {column.name.lower(): column.type for column in cube.dimensions}
    types |= {measure.name.lower(): measure.type for measure in cube.measures}
    return types.get(name.lower(), "timestamp").upper()
