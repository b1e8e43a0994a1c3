"""Generators, which make rows of an array or a map: in LATERAL VIEW, and in a SELECT list."""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.sql_types import INT, STRING, VOID, SqlType
from rewriter.exec.translate.casts import field_sql, plain_cast, struct_sql
from rewriter.exec.translate.expressions import Expressions, Scope, Source, SourceColumn, Typed, functions
from rewriter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Generated:
    """The relation that a generator makes from a row, its columns, and whether a row without elements makes a row."""

    sql: str
    source: Source
    is_outer: bool


def is_generator(e: Expressions, node: exp.Expr) -> bool:
    """Tests whether a node is a call of EXPLODE or the like, perhaps with names for its columns."""
    call_node = node.this if isinstance(node, exp.Alias | exp.Aliases) else node
    return e.text.called(call_node) in FUNCTIONS


def generated(e: Expressions, node: exp.Expr, scope: Scope, alias: str) -> Generated:
    """Returns the relation ``alias`` that a call makes from a row. Its columns have the names that an item of a SELECT
    list gives them.
    """
    call_node = node.this if isinstance(node, exp.Alias | exp.Aliases) else node
    function = str(e.text.called(call_node))
    entry = FUNCTIONS[function].entry
    if entry is not None:
        e.entries.add(entry)
    columns, items = _generator(e, function, call_node, scope)
    if isinstance(node, exp.Alias | exp.Aliases):
        names = [node.alias] if isinstance(node, exp.Alias) else [name.name for name in node.expressions]
        if len(names) != len(columns):
            e.text.wrong(
                f"{len(names)} names are given to {len(columns)} columns.",
                "UDTF_ALIAS_NUMBER_MISMATCH", "42802", node,
            )  # fmt: skip
        columns = [(name, type_, sql) for name, (_, type_, sql) in zip(names, columns, strict=True)]
    selected = ", ".join(f"{sql} AS c{number}" for number, (_, _, sql) in enumerate(columns))
    source_columns = [
        SourceColumn(name, f"{alias}.c{number}", type_) for number, (name, type_, _) in enumerate(columns)
    ]
    sql = f"LATERAL (SELECT {selected} FROM (SELECT {items})) AS {alias}"
    return Generated(sql, Source(None, tuple(source_columns)), function.endswith("_outer"))


#: The columns of a generator, each with its SQL.
_Columns = list[tuple[str, SqlType, str]]


def _generator(e: Expressions, function: str, node: exp.Expr, scope: Scope) -> tuple[_Columns, str]:
    """Returns the columns of a call, over the items that it selects, and these."""
    if function == "json_tuple":
        return _json_tuple(e, node, scope)
    if function == "stack":
        return _stack(e, node, scope)
    (argument,) = e.arguments(node, 1)
    columns, rows = _columns(e, function, e.translate(argument, scope), node)
    if not function.startswith("pos"):
        return columns, f"unnest({rows}) AS e"
    items = f"unnest({rows}) AS e, CAST(generate_subscripts({rows}, 1) - 1 AS INTEGER) AS o"
    return [("pos", INT, "o"), *columns], items


def _json_tuple(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[_Columns, str]:
    values = [e.translate(part, scope) for part in e.arguments(node, 2, _MOST_FIELDS)]
    if any(value.type != STRING for value in values):
        e.text.wrong("The arguments of JSON_TUPLE are strings.", "DATATYPE_MISMATCH.NON_STRING_TYPE", "42K09", node)
    text, *names = (value.sql for value in values)
    columns = [(f"c{number}", STRING, f"e[{number + 1}]") for number in range(len(names))]
    return columns, f"rw_json_tuple({text}, [{', '.join(names)}]) AS e"


def _stack(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[_Columns, str]:
    """Translates ``stack(n, x, …)``, which makes n rows of its values. The last row may lack values, which are NULL."""
    first, *parts = e.arguments(node, 2, _MOST_FIELDS)
    row_count = e.translate(first, scope).digits
    if row_count is None or not 0 < row_count <= _MOST_FIELDS:
        e.refuse(node, f"STACK of {e.text.shown(first)} rows")
    values = [e.translate(part, scope) for part in parts]
    width = -(-len(values) // row_count)
    types = []
    for column in range(width):
        column_types = {value.type: value.type for value in values[column::width] if value.type.name != "void"}
        if len(column_types) > 1:
            e.text.wrong(
                f"The values of the column {column} of STACK have several types: "
                f"{', '.join(type_.shown for type_ in column_types)}.",
                "DATATYPE_MISMATCH.STACK_COLUMN_DIFF_TYPES", "42K09", node,
            )  # fmt: skip
        types.append(next(iter(column_types), VOID))
    rows = []
    for row in range(row_count):
        sqls = [value.sql for value in values[row * width : (row + 1) * width]]
        sqls += ["NULL"] * (width - len(sqls))
        rows.append(struct_sql([(f"c{n}", plain_cast(sql, types[n])) for n, sql in enumerate(sqls)]))
    columns = [(f"col{n}", type_, field_sql("e", f"c{n}")) for n, type_ in enumerate(types)]
    return columns, f"unnest([{', '.join(rows)}]) AS e"


def _columns(e: Expressions, function: str, value: Typed, node: exp.Expr) -> tuple[_Columns, str]:
    """Returns the columns of a generator, each with its SQL over the element ``e``, and the array of the elements."""
    element = value.type.element
    if function.startswith("inline"):
        if element is None or element.name != "struct":
            e.refuse(node, f"INLINE of {value.type}")
        # DuckDB makes columns of structs by itself, but none of a NULL.
        return [(name, type_, field_sql("e", name)) for name, type_ in element.parts], value.sql
    if value.type.name == "map":
        return [(name, type_, field_sql("e", name)) for name, type_ in value.type.parts], f"map_entries({value.sql})"
    if element is None:
        if value.type.name == "void":
            e.refuse(node, "NULL as an array")
        e.text.wrong(
            f"{e.text.shown(node)} takes an ARRAY or a MAP, but not {value.type.shown}.",
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", node,
        )  # fmt: skip
    return [("col", element, "e")], value.sql


def _nested_generator(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return e.text.wrong(
        f"{e.text.shown(node)} is a part of an expression.",
        "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS", "42K0E", node,
        hint="Make it an item of the SELECT list, or write LATERAL VIEW explode(…) v AS x.",
    )  # fmt: skip


#: The most fields of JSON_TUPLE, as of other calls.
_MOST_FIELDS = 1000
_BESIDE = "beside aggregates and windows; two of them in a SELECT list"
FUNCTIONS = functions(
    "Arrays, maps and structs",
    ("explode(array|map)", _nested_generator, _BESIDE),
    ("explode_outer(array|map)", _nested_generator, _BESIDE),
    ("posexplode(array|map)", _nested_generator, _BESIDE),
    ("posexplode_outer(array|map)", _nested_generator, _BESIDE),
    ("inline(array of structs)", _nested_generator, _BESIDE),
    ("inline_outer(array of structs)", _nested_generator, _BESIDE),
    ("stack(n, x, …)", _nested_generator, f"{_BESIDE}; a number of rows that is not a literal up to 1,000"),
    (
        "json_tuple(s, 'key', …)",
        _nested_generator,
        f"{_BESIDE}; numbers that Java 17 and later releases print differently and lone surrogates, when they occur",
    ),
)
