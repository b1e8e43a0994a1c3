"""SHOW FUNCTIONS and DESCRIBE FUNCTION, from the package's list of Spark's functions. Neither starts an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.errors import AnalysisError
from rewriter.exec.spark_functions import function_groups, similar_function
from rewriter.grammar.families import functions as s
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.named_objects import fits_pattern

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context

#: The schemas in which Spark finds its own functions.
_BUILTIN = (("builtin",), ("system", "builtin"))


@runs(s.ShowFunctions, in_transaction=True, without_warehouse=True)
def show_functions(statement: s.ShowFunctions, context: Context) -> Result:
    """Returns rows of (function), in Spark's order. USER lists none, because sessions run no function of the catalog.

    Raises SCHEMA_NOT_FOUND for the database of IN, which makes no difference otherwise.
    """
    if statement.database is not None:
        context.database(statement.database)
    names = () if statement.user else tuple(function_groups())
    rows: list[Row] = [(name,) for name in names if statement.like is None or fits_pattern(statement.like, name)]
    return listing("SHOW FUNCTIONS", strings("function"), rows)


@runs(s.DescribeFunction, in_transaction=True, without_warehouse=True)
def describe_function(statement: s.DescribeFunction, context: Context) -> Result:
    """Returns rows of (function_desc): the name, Spark's group, and whether the session's engine runs it.

    EXTENDED adds the forms that DuckDB runs. Raises ``AnalysisError`` UNRESOLVED_ROUTINE 42883.
    """
    *schema, last = (part.lower() for part in statement.function.parts)
    group = function_groups().get(last)
    if group is None or (schema and tuple(schema) not in _BUILTIN):
        near = similar_function(last)
        raise AnalysisError(
            f"There is no function {'.'.join(statement.function.parts)}.",
            condition="UNRESOLVED_ROUTINE",
            sqlstate="42883",
            position=statement.function.span,
            object=statement.function.last,
            hint=f"Did you mean {near}?" if near else "SHOW FUNCTIONS lists all.",
        )
    lines = [f"Function: {last}"]
    if group != "-":
        lines.append(f"Group: {group.removesuffix('_funcs')}")
    lines += _on_engine(last, statement.extended, context)
    return listing("DESCRIBE FUNCTION", strings("function_desc"), [(line,) for line in lines])


def _on_engine(name: str, extended: bool, context: Context) -> list[str]:
    if context.engine_name != "duckdb":
        return ["Engine: spark runs it"]
    from rewriter.exec.translate.function_support import forms_on_duckdb, runs_on_duckdb

    if not runs_on_duckdb(name):
        return ["Engine: duckdb refuses it; use the engine spark"]
    forms = forms_on_duckdb(name) if extended else ()
    return ["Engine: duckdb runs it", *(f"Form: {form}" for form in forms)]
