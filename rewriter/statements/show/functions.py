"""SHOW FUNCTIONS and DESCRIBE FUNCTION, of SQL functions and of the package's list of Spark's functions. Neither starts
an engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import CATALOG, Function, full_name, parts_of, short_name
from rewriter.errors import AnalysisError
from rewriter.exec.spark_functions import function_groups, similar_function
from rewriter.grammar.families import functions as s
from rewriter.grammar.unparse import quote
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.named_objects import fits_pattern

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context

#: The schemas in which Spark finds its own functions.
_BUILTIN = (("builtin",), ("system", "builtin"))


@runs(s.ShowFunctions, in_transaction=True, without_warehouse=True)
def show_functions(statement: s.ShowFunctions, context: Context) -> Result:
    """Returns rows of (function): the temporary functions, those of the database of IN, by default the current one, and
    without USER those of Spark, which come in Spark's order if there are no others. SYSTEM leaves all others out.

    Raises SCHEMA_NOT_FOUND for the database of IN.
    """
    database = context.snapshot.current if statement.database is None else context.database(statement.database).name
    own: list[tuple[str, str]] = []
    if not statement.system:
        own += [(key, key) for key in context.temporaries.views.functions]
        stored = [function for function in context.snapshot.functions(database) if function.sql is not None]
        own += [(short_name(function.name).lower(), _full_name(function)) for function in stored]
    names = [*own, *([] if statement.user else [(name, name) for name in function_groups()])]
    fitting = [full for name, full in names if statement.like is None or fits_pattern(statement.like, name)]
    rows: list[Row] = [(name,) for name in (sorted(fitting) if own else fitting)]
    return listing("SHOW FUNCTIONS", strings("function"), rows)


def _full_name(function: Function) -> str:
    return f"{CATALOG}.{'.'.join(parts_of(function.name))}".lower()


@runs(s.DescribeFunction, in_transaction=True, without_warehouse=True)
def describe_function(statement: s.DescribeFunction, context: Context) -> Result:
    """Returns rows of (function_desc): the name, Spark's group, and whether the session's engine runs it.

    EXTENDED adds the forms that DuckDB runs. Raises ``AnalysisError`` UNRESOLVED_ROUTINE 42883.
    """
    *schema, last = (part.lower() for part in statement.function.parts)
    function = _sql_function(schema, last, context)
    if function is not None:
        lines = list(_described(function, statement.extended))
        return listing("DESCRIBE FUNCTION", strings("function_desc"), [(line,) for line in lines])
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


def _sql_function(schema: Sequence[str], name: str, context: Context) -> Function | None:
    own = context.temporaries.views.functions.get(name)
    if not schema and name in function_groups():
        return None
    if own is not None and (not schema or tuple(schema) in (("session",), ("system", "session"))):
        return own
    if len(schema) == 2 and schema[0] == CATALOG:
        schema = schema[1:]
    database = schema[0] if schema else context.snapshot.current
    function = context.snapshot.find_function(full_name(database, name)) if len(schema) < 2 else None
    return function if function is not None and function.sql is not None else None


def _described(function: Function, extended: bool) -> Iterator[str]:
    """Yields the lines by which Spark describes a SQL function, without those about its session."""
    body = function.sql
    assert body is not None
    width = 15 if extended else 10
    names = max((len(parameter.name) for parameter in body.parameters), default=0)
    types = max((len(parameter.type) for parameter in body.parameters), default=0)

    def line(title: str, text: str) -> str:
        return f"{title:<{width}}{text}"

    yield line("Function:", function.name if function.id == 0 else _full_name(function))
    yield line("Type:", "TABLE" if body.is_table else "SCALAR")
    inputs = []
    for parameter in body.parameters:
        parts = [f"{parameter.name:<{names}}", f"{parameter.type.upper():<{types}}"]
        if extended:
            parts += [] if parameter.default is None else [f"DEFAULT {parameter.default}"]
            parts += [] if parameter.comment is None else [quote(parameter.comment)]
        inputs.append(" ".join(parts))
    for index, text in enumerate(inputs or ["()"]):
        yield line("" if index else "Input:", text)
    names = max((len(column.name) for column in body.columns or ()), default=0)
    types = max((len(column.type) for column in body.columns or ()), default=0)
    outputs = [] if body.is_table else [body.returns.upper()]
    for column in body.columns or ():
        comment = f" {quote(column.comment)}" if extended and column.comment is not None else ""
        outputs.append(f"{column.name:<{names}} {column.type.upper():<{types}}{comment}")
    for index, text in enumerate(outputs):
        yield line("" if index else "Returns:", text)
    if extended:
        if body.comment is not None:
            yield line("Comment:", body.comment)
        yield line("Body:", body.expression)


def _on_engine(name: str, extended: bool, context: Context) -> list[str]:
    if context.engine_name != "duckdb":
        return ["Engine: spark runs it"]
    from rewriter.exec.translate.function_support import forms_on_duckdb, runs_on_duckdb

    if not runs_on_duckdb(name):
        return ["Engine: duckdb refuses it; use the engine spark"]
    forms = forms_on_duckdb(name) if extended else ()
    return ["Engine: duckdb runs it", *(f"Form: {form}" for form in forms)]
