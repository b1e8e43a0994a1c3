"""PIVOT and UNPIVOT in FROM.

Spark groups a PIVOT by all columns that neither an aggregate nor FOR names. If all aggregates are numbers or BOOLEANs,
a group without rows of a value has NULL in all columns of the value, a COUNT, too. If one of them has another type,
each aggregate runs over the rows of the value alone, so that such a COUNT is 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.errors import ParseError
from rewriter.exec.sql_types import BOOLEAN, STRING, SqlType
from rewriter.exec.translate.aggregate_calls import Aggregate, aggregate_call
from rewriter.exec.translate.aggregates import aggregate
from rewriter.exec.translate.casts import string_literal, wider_type
from rewriter.exec.translate.expressions import Expressions, Scope, Source, SourceColumn, Typed

#: The aggregates that Spark, too, runs over the rows of a value, if one of the aggregates is neither a number nor a
#: BOOLEAN. Of others it drops NULLs, or it refuses their constant arguments.
_OVER_ROWS = frozenset(
    "count sum avg mean min max min_by max_by count_if bool_and every bool_or some any stddev std stddev_samp "
    "stddev_pop variance var_samp var_pop array_agg collect_list collect_set".split()
)
#: The numbers whose text is that of the literal.
_DIGITS = re.compile(r"(0|[1-9]\d*)(\.\d+)?\Z")

_DAY = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)


@dataclass(frozen=True)
class Pivoted:
    """The relation that PIVOT or UNPIVOT makes: its SQL, and the sources that names can mean."""

    sql: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class _Value:
    """A value of IN: the condition that selects its rows, and the name of its columns."""

    test: str
    name: str


@dataclass(frozen=True)
class _Column:
    """An aggregate of PIVOT: its translation, the condition of its FILTER, and its name."""

    aggregate: Aggregate
    function: str
    test: str
    name: str | None


def pivoted(
    e: Expressions, node: exp.Pivot, sql: str, sources: Sequence[Source], new_alias: Callable[[], str]
) -> Pivoted:
    """Translates PIVOT or UNPIVOT of the relation ``sql``, the text after FROM. Raises the errors of ``translate``."""
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        position = e.text.position(alias)
        raise ParseError("Syntax error at '(': names of columns cannot follow PIVOT and UNPIVOT.", position=position)
    rule = _unpivoted if node.args.get("unpivot") else _pivoted
    return rule(e, node, sql, sources, new_alias(), None if alias is None else alias.name)


def _visible(e: Expressions, sources: Sequence[Source], node: exp.Expr) -> list[tuple[Source, SourceColumn]]:
    """Returns the columns of ``*`` with their sources."""
    pairs = [
        (source, column)
        for source in sources
        for column in source.columns
        if column.name.lower() not in source.hidden_names
    ]
    for _, column in pairs:
        if column.type is None:
            e.text.refuse(f"The type {column.type_name} of the column {column.name}", node)
    return pairs


def _used(e: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> set[str]:
    """Returns the SQL of the columns that expressions name. Refuses names that are not columns."""
    for node in nodes:
        inner = node.find(exp.Lambda, exp.Query)
        if inner is not None:
            e.text.refuse("A lambda or a subquery in PIVOT", inner, "Compute the value in a subquery of FROM.")
    columns = [column for node in nodes for column in node.find_all(exp.Column)]
    return {e.translate(column, scope).sql for column in columns if not isinstance(column.this, exp.Star)}


def _result(
    kept: Sequence[tuple[Source, SourceColumn]], made: Sequence[SourceColumn], alias: str, name: str | None
) -> tuple[Source, ...]:
    """Returns the sources of the result: the columns that it keeps, under their qualifiers, then the new ones."""
    columns = [replace(column, sql=f"{alias}.c{number}") for number, (_, column) in enumerate(kept)]
    if name is not None:
        return (Source(name, (*columns, *made)),)
    sources: list[Source] = []
    for (source, _), column in zip(kept, columns, strict=True):
        if sources and sources[-1].alias == source.alias:
            sources[-1] = replace(sources[-1], columns=(*sources[-1].columns, column))
        else:
            sources.append(Source(source.alias, (column,)))
    return (*sources, Source(None, tuple(made)))


# -- PIVOT ------------------------------------------------------------------------------------------------------------


def _pivoted(
    e: Expressions, node: exp.Pivot, sql: str, sources: Sequence[Source], alias: str, name: str | None
) -> Pivoted:
    e.allow_only(node, "expressions", "fields", "alias", "columns", "identify_pivot_strings", "prefixed_pivot_columns",
                 "pivot_column_naming", "unpivot")  # fmt: skip
    e.construct("PIVOT (f(x), … FOR column IN (value, …))")
    scope = Scope(tuple(sources))
    fields = node.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In):
        e.text.refuse("PIVOT without one FOR", node)
    aggregates = [_aggregate(e, part, scope) for part in node.expressions]
    values = _values(e, fields[0], scope)
    used = _used(e, [*node.expressions, fields[0].this], scope)
    kept = [(source, column) for source, column in _visible(e, sources, node) if column.sql not in used]
    over_rows = not all(
        column.aggregate.type.is_numeric or column.aggregate.type == BOOLEAN for column in aggregates
    )  # fmt: skip
    items, keys = [], []
    for number, (_, column) in enumerate(kept):
        e.comparable(column.typed(), node, "PIVOT beside a column")
        keys.append(column.sql)
        merged = column.type is not None and column.type.is_floating
        items.append(f"{f'({column.sql} + 0)' if merged else column.sql} AS c{number}")
    made: list[SourceColumn] = []
    for value in values:
        for part in aggregates:
            if over_rows and part.function not in _OVER_ROWS:
                e.text.refuse(
                    f"{part.function.upper()} in a PIVOT with an aggregate that is neither a number nor a BOOLEAN",
                    node,
                    "Write a PIVOT for each of them, and join the results.",
                )
            test = f"{value.test} AND {part.test}" if part.test else value.test
            aggregated = part.aggregate.sql(test)
            column_sql = aggregated if over_rows else f"CASE WHEN bool_or({value.test}) THEN {aggregated} END"
            column_name = value.name
            if len(aggregates) > 1:
                if part.name is None:
                    e.text.refuse("An aggregate of PIVOT without a name", node, "Name it: SUM(x) AS total.")
                column_name = f"{value.name}_{part.name}"
            number = len(items)
            items.append(f"{column_sql} AS c{number}")
            made.append(SourceColumn(column_name, f"{alias}.c{number}", part.aggregate.type))
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return Pivoted(f"(SELECT {', '.join(items)} FROM {sql}{grouped}) AS {alias}", _result(kept, made, alias, name))


def _aggregate(e: Expressions, node: exp.Expr, scope: Scope) -> _Column:
    name = node.alias if isinstance(node, exp.Alias) else None
    value = node.this if isinstance(node, exp.Alias) else node
    inner, test, condition_name = value, "", None
    if isinstance(value, exp.Filter):
        e.allow_only(value, "this", "expression")
        condition = e.test(value.expression.this, scope, "FILTER")
        inner, test, condition_name = value.this, condition.sql, condition.name
    call_ = aggregate_call(e, inner)
    translated = aggregate(e, inner, scope)
    if translated is None or call_ is None:
        e.text.refuse(f"{e.text.shown(value)} in PIVOT", value, "Write an aggregate, for example SUM(x).")
    named = translated.name
    if test:
        named = None if named is None or condition_name is None else f"{named} FILTER (WHERE {condition_name})"
    return _Column(translated, call_.function, test, name or named)


def _values(e: Expressions, node: exp.In, scope: Scope) -> list[_Value]:
    columns = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    targets = []
    for column in columns:
        if not isinstance(column, exp.Column) or column.args.get("table"):
            position = e.text.position(column)
            raise ParseError("Syntax error: FOR in PIVOT names a column, without its table.", position=position)
        target = e.comparable(e.translate(column, scope), column, "PIVOT")
        if target.char is not None:
            e.text.refuse("PIVOT by a CHAR column", column, "Cast the column to STRING in a subquery of FROM.")
        targets.append(target)
    return [_value(e, value, targets) for value in node.expressions]


def _value(e: Expressions, node: exp.Expr, targets: Sequence[Typed]) -> _Value:
    value = node.this if isinstance(node, exp.PivotAlias) else node
    parts = value.expressions if isinstance(value, exp.Tuple) else [value]
    if len(parts) != len(targets):
        e.text.wrong(
            f"PIVOT has {len(targets)} columns after FOR, and {len(parts)} values in {e.text.shown(value)}.",
            "PIVOT_VALUE_DATA_TYPE_MISMATCH", "42K09", value,
        )  # fmt: skip
    tests = []
    for part, target in zip(parts, targets, strict=True):
        if part.find(exp.Column) is not None or part.find(exp.Query) is not None:
            e.text.wrong(
                f"The values of PIVOT are literals, not {e.text.shown(part)}.",
                "NON_LITERAL_PIVOT_VALUES", "42K08", part,
            )  # fmt: skip
        literal = e.translate(part, Scope())
        tests.append(f"{target.sql} IS NOT DISTINCT FROM {e.cast(literal, target.type, part)}")
    if isinstance(node, exp.PivotAlias):
        name = node.args["alias"].name
    else:
        texts = [_text(e, part) for part in parts]
        name = f"{{{', '.join(texts)}}}" if isinstance(value, exp.Tuple) else texts[0]
    return _Value(f"({' AND '.join(tests)})", name)


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and bool(node.args.get("is_string"))


def _text(e: Expressions, node: exp.Expr) -> str:
    """Returns a value of PIVOT as the name of its column."""
    sign = "-" if isinstance(node, exp.Neg) else ""
    value = node.this if isinstance(node, exp.Neg) else node
    if isinstance(value, exp.Null):
        return "null"
    if isinstance(value, exp.Boolean) and not sign:
        return "true" if value.this else "false"
    if _is_text(value) and not sign:
        return e.text.string(value)
    typed = e.text.shown(value)
    if isinstance(value, exp.Cast) and not sign and value.to.this == exp.DataType.Type.DATE and _is_text(value.this):
        day = e.text.string(value.this)
        if _DAY.match(day):
            return day
    if isinstance(value, exp.Literal) and _DIGITS.match(typed) and (typed.strip("0.") or not sign):
        return sign + typed
    return e.text.refuse(f"The value {e.text.shown(node)} of PIVOT without a name", node, "Name it: … AS name.")


# -- UNPIVOT ----------------------------------------------------------------------------------------------------------


def _unpivoted(
    e: Expressions, node: exp.Pivot, sql: str, sources: Sequence[Source], alias: str, name: str | None
) -> Pivoted:
    e.allow_only(node, "expressions", "fields", "alias", "include_nulls", "unpivot")
    e.construct("UNPIVOT [INCLUDE NULLS] (value FOR name IN (column, …))")
    scope = Scope(tuple(sources))
    fields = node.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In) or len(node.expressions) != 1:
        e.text.refuse("UNPIVOT without one FOR", node)
    head = node.expressions[0]
    value_names = [part.name for part in (head.expressions if isinstance(head, exp.Tuple) else [head])]
    groups: list[list[Typed]] = []
    labels: list[str] = []
    for option in fields[0].expressions:
        value = option.this if isinstance(option, exp.PivotAlias) else option
        columns = value.expressions if isinstance(value, exp.Tuple) else [value]
        if len(columns) != len(value_names):
            e.text.wrong(
                f"UNPIVOT has {len(value_names)} columns of values, but {e.text.shown(value)} has {len(columns)}.",
                "UNPIVOT_VALUE_SIZE_MISMATCH", "428C4", value,
            )  # fmt: skip
        if not all(isinstance(column, exp.Column) for column in columns):
            position = e.text.position(value)
            raise ParseError(f"Syntax error: UNPIVOT names columns, not {e.text.shown(value)}.", position=position)
        groups.append([e.translate(column, scope) for column in columns])
        has_alias = isinstance(option, exp.PivotAlias)
        labels.append(option.args["alias"].name if has_alias else "_".join(column.name for column in columns))
    used = {value.sql for group in groups for value in group}
    kept = [(source, column) for source, column in _visible(e, sources, node) if column.sql not in used]
    items = [f"{column.sql} AS c{number}" for number, (_, column) in enumerate(kept)]
    first = len(items)
    items.append(f"unnest([{', '.join(string_literal(label) for label in labels)}]) AS c{first}")
    made = [SourceColumn(fields[0].this.name, f"{alias}.c{first}", STRING)]
    for number, (value_name, values) in enumerate(zip(value_names, zip(*groups, strict=True), strict=True), first + 1):
        type_ = _common_type(e, values, node)
        listed = ", ".join(e.cast(value, type_, node) for value in values)
        items.append(f"unnest([{listed}]) AS c{number}")
        made.append(SourceColumn(value_name, f"{alias}.c{number}", type_))
    names = [column.name.lower() for column in (*(column for _, column in kept), *made)]
    for value_name in value_names:
        if not node.args.get("include_nulls") and names.count(value_name.lower()) > 1:
            e.text.wrong(f"The name `{value_name}` is ambiguous.", "AMBIGUOUS_REFERENCE", "42704", head, value_name)
    unnested = f"SELECT {', '.join(items)} FROM {sql}"
    if not node.args.get("include_nulls"):
        present = " OR ".join(f"c{first + 1 + number} IS NOT NULL" for number in range(len(value_names)))
        unnested = f"SELECT * FROM ({unnested}) WHERE {present}"
    return Pivoted(f"({unnested}) AS {alias}", _result(kept, made, alias, name))


def _common_type(e: Expressions, values: Sequence[Typed], node: exp.Expr) -> SqlType:
    """Returns the type of a column of values. A string has no common type with others."""
    common = values[0].type
    for value in values[1:]:
        wider = wider_type(common, value.type)
        is_mixed = "string" in (common.name, value.type.name) and not {common.name, value.type.name} <= {
            "string", "void",
        }  # fmt: skip
        has_float = "float" in (common.name, value.type.name) and not (common.is_floating and value.type.is_floating)
        if common.is_numeric and value.type.is_numeric and (wider is None or has_float):
            # Of a whole number and a FLOAT, Spark makes a FLOAT here, and a DOUBLE elsewhere.
            e.text.refuse(f"UNPIVOT of {common} and {value.type}", node)
        if wider is None or is_mixed:
            e.text.wrong(
                f"The columns that UNPIVOT makes one have no common type: {common.shown} and {value.type.shown}.",
                "UNPIVOT_VALUE_DATA_TYPE_MISMATCH", "42K09", node, None, "Cast them in a subquery of FROM.",
            )  # fmt: skip
        common = wider
    return common
