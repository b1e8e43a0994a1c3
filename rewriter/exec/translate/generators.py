"""Generators, which make rows of an array or a map: in LATERAL VIEW, and in a SELECT list."""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.sql_types import INT, SqlType
from rewriter.exec.translate.casts import field_sql
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
    (argument,) = e.arguments(call_node, 1)
    value = e.translate(argument, scope)
    entry = FUNCTIONS[function].entry
    if entry is not None:
        e.entries.add(entry)
    columns, rows = _columns(e, function, value, call_node)
    if function.startswith("pos"):
        columns = [("pos", INT, "o"), *columns]
    if isinstance(node, exp.Alias | exp.Aliases):
        names = [node.alias] if isinstance(node, exp.Alias) else [name.name for name in node.expressions]
        if len(names) != len(columns):
            e.text.wrong(
                f"{len(names)} names are given to {len(columns)} columns.",
                "UDTF_ALIAS_NUMBER_MISMATCH", "42802", node,
            )  # fmt: skip
        columns = [(name, type_, sql) for name, (_, type_, sql) in zip(names, columns, strict=True)]
    items = f"unnest({rows}) AS e"
    if function.startswith("pos"):
        items += f", CAST(generate_subscripts({rows}, 1) - 1 AS INTEGER) AS o"
    selected = ", ".join(f"{sql} AS c{number}" for number, (_, _, sql) in enumerate(columns))
    source_columns = [
        SourceColumn(name, f"{alias}.c{number}", type_) for number, (name, type_, _) in enumerate(columns)
    ]
    sql = f"LATERAL (SELECT {selected} FROM (SELECT {items})) AS {alias}"
    return Generated(sql, Source(None, tuple(source_columns)), function.endswith("_outer"))


def _columns(e: Expressions, function: str, value: Typed, node: exp.Expr) -> tuple[list[tuple[str, SqlType, str]], str]:
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


_BESIDE = "beside aggregates and windows; two of them in a SELECT list"
FUNCTIONS = functions(
    "Arrays, maps and structs",
    ("explode(array|map)", _nested_generator, _BESIDE),
    ("explode_outer(array|map)", _nested_generator, _BESIDE),
    ("posexplode(array|map)", _nested_generator, _BESIDE),
    ("posexplode_outer(array|map)", _nested_generator, _BESIDE),
    ("inline(array of structs)", _nested_generator, _BESIDE),
    ("inline_outer(array of structs)", _nested_generator, _BESIDE),
)
