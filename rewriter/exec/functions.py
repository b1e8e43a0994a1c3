"""Aggregates and functions of strings and numbers, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rewriter.exec.casts import plain_cast, string_literal
from rewriter.exec.expressions import Expressions, Scope, Translation, Typed, call
from rewriter.exec.patterns import java_regex, like_pattern
from rewriter.exec.sqltypes import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    VOID,
    SqlType,
    decimal,
)

#: Text that DuckDB and Java map to upper or lower case alike; other text is an error when met.
_CASED = (
    r"'[\x00-\x7f\x{a0}-\x{b4}\x{b6}-\x{de}\x{e0}-\x{fe}\x{100}-\x{12f}\x{131}-\x{148}\x{14a}-\x{17f}"
    r"\x{410}-\x{44f}\x{2000}-\x{206f}\x{3000}-\x{30ff}\x{4e00}-\x{9fff}\x{1f300}-\x{1f64f}]*'"
)


def _text(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """A string; what Spark casts to one silently (numbers, dates) is cast."""
    value = e.translate(node, scope)
    return Typed(e.cast(value, STRING, node), STRING, value.name, value.text)


def _aggregate(function: str) -> Translation:
    return lambda e, node, scope: _aggregated(function, e, node, scope, None)


def _aggregated(function: str, e: Expressions, node: exp.Expr, scope: Scope, test: Typed | None) -> Typed:
    e.only(node, "this", "big_int")
    distinct = isinstance(node.this, exp.Distinct)
    if distinct:
        e.only(node.this, "expressions")
        if len(node.this.expressions) != 1:
            e.refuse(node, f"{function.upper()}(DISTINCT …) of several columns")
    argument = node.this.expressions[0] if distinct else node.this
    word = "DISTINCT " if distinct else ""
    if isinstance(argument, exp.Star) and function == "count":
        e.only(argument)
        if distinct:
            e.refuse(node, "COUNT(DISTINCT *)")
        called, type_ = "count(*)", BIGINT
        name: str | None = "count(1)"
    else:
        value = e.translate(argument, scope)
        sql, type_ = _AGGREGATES[function](e, value, node)
        called = f"{function}({word}{sql})"
        name = call(function, None if value.name is None else word + value.name)
    if test is not None:
        called += f" FILTER (WHERE {test.sql})"
        name = f"{name} FILTER (WHERE {test.name})" if name and test.name else None
    return Typed(plain_cast(called, type_), type_, name)


def _sum(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, SqlType]:
    if value.type.is_integer:
        return value.sql, BIGINT
    if value.type.is_decimal:
        return value.sql, decimal(min(MAX_PRECISION, value.type.precision + 10), value.type.scale)
    if value.type.is_floating:
        return plain_cast(value.sql, DOUBLE), DOUBLE
    return e.refuse(node, f"SUM of {value.type}")


def _avg(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, SqlType]:
    if value.type.is_integer or value.type.is_floating:
        return plain_cast(value.sql, DOUBLE), DOUBLE
    return e.refuse(node, f"AVG of {value.type}")


def _extreme(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, SqlType]:
    if value.type == VOID:
        e.refuse(node, "MIN or MAX of NULL")
    return value.sql, value.type


_AGGREGATES: dict[str, Callable[[Expressions, Typed, exp.Expr], tuple[str, SqlType]]] = {
    "count": lambda e, value, node: (value.sql, BIGINT),
    "sum": _sum,
    "avg": _avg,
    "min": _extreme,
    "max": _extreme,
}


def _filter(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression")
    function = _FILTERED.get(type(node.this))
    if function is None:
        e.refuse(node, "FILTER here")
    return _aggregated(function, e, node.this, scope, e.condition(node.expression.this, scope))


_FILTERED: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


def _cased(function: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        e.only(node, "this")
        value = _text(e, node.this, scope)
        sql = (
            f"CASE WHEN {value.sql} IS NULL OR regexp_full_match({value.sql}, {_CASED}, 's') "
            f"THEN {function}({value.sql}) ELSE error('[DUCKDB_UNSUPPORTED] {function.upper()} of this text is not "
            f"supported on DuckDB: ' || {value.sql}) END"
        )
        return Typed(sql, STRING, call(function, value.name))

    return translate


def _trim(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "position")
    function = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
    value = _text(e, node.this, scope)
    return Typed(f"{function}({value.sql}, ' ')", STRING, call(function, value.name))


def _length(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this")
    value = _text(e, node.this, scope)
    return Typed(plain_cast(f"length({value.sql})", INT), INT, call(spelling(e, node, "length"), value.name))


def _concat(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "expressions", "safe", "this", "expression")
    parts = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    values = [_text(e, part, scope) for part in parts]
    return Typed(f"({' || '.join(v.sql for v in values)})", STRING, call("concat", *(v.name for v in values)))


def _substring(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "start", "length")
    value = _text(e, node.this, scope)
    start = _literal_int(e, node.args["start"])
    # From 0, or from the end, the two count differently.
    if start < 1:
        e.refuse(node, "SUBSTRING from a position below 1")
    if node.args.get("length") is None:
        name = _substring_name(e, value.name, str(start), "2147483647")
        return Typed(f"substring({value.sql}, {start})", STRING, name)
    length = _literal_int(e, node.args["length"])
    if length < 0:
        e.refuse(node, "SUBSTRING of a negative length")
    name = _substring_name(e, value.name, str(start), str(length))
    return Typed(f"substring({value.sql}, {start}, {length})", STRING, name)


def _substring_name(e: Expressions, *names: str | None) -> str | None:
    """sqlglot does not keep which of its names the function was called by; ``substr`` keeps its own in Spark."""
    aliased = any(token.is_word("SUBSTR", "MID") for token in e.text.tokens)
    return None if aliased else call("substring", *names)


def spelling(e: Expressions, node: exp.Expr, default: str) -> str:
    """The function's name as typed, which Spark keeps for aliases such as ``substr``."""
    if not node._meta or "start" not in node.meta:
        return default
    return e.text.text[node.meta["start"] : node.meta["end"] + 1].lower()


def _literal_int(e: Expressions, node: exp.Expr) -> int:
    sign = 1
    if isinstance(node, exp.Neg):
        sign, node = -1, node.this
    if not isinstance(node, exp.Literal) or node.args.get("is_string") or not str(node.this).isdigit():
        e.refuse(node, "An argument that is no literal integer")
    return sign * int(str(node.this))


def _replace(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression", "replacement")
    value, search = _text(e, node.this, scope), _text(e, node.expression, scope)
    if not search.text or node.args.get("replacement") is None:
        e.refuse(node, "REPLACE of what is no string literal")
    other = _text(e, node.args["replacement"], scope)
    name = call("replace", value.name, search.name, other.name)
    return Typed(f"replace({value.sql}, {search.sql}, {other.sql})", STRING, name)


def _like(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression", "negate")
    value, pattern = _text(e, node.this, scope), e.translate(node.expression, scope)
    if pattern.text is None or not like_pattern(pattern.text):
        e.refuse(node, "This LIKE pattern")
    sql = f"({value.sql} LIKE {pattern.sql} ESCAPE '\\')"
    name = None if value.name is None else f"{value.name} LIKE {pattern.text}"
    if node.args.get("negate"):
        return Typed(f"(NOT {sql})", BOOLEAN, None if name is None else f"(NOT {name})")
    return Typed(sql, BOOLEAN, name)


def _rlike(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression")
    value, pattern = _text(e, node.this, scope), e.translate(node.expression, scope)
    regex = java_regex(pattern.text) if pattern.text is not None else None
    if regex is None:
        e.refuse(node, "This regular expression")
    name = call("RLIKE", value.name, pattern.text)
    return Typed(f"regexp_matches({value.sql}, {string_literal(regex)})", BOOLEAN, name)


def _coalesce(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expressions")
    values = [e.translate(part, scope) for part in (node.this, *node.expressions)]
    sqls, type_ = e.together(values, node)
    name = call(spelling(e, node, "coalesce"), *(value.name for value in values))
    return Typed(f"coalesce({', '.join(sqls)})", type_, name)


def _nullif(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression")
    value, other = e.translate(node.this, scope), e.translate(node.expression, scope)
    (first, second), _ = e.together([value, other], node, binary=True)
    sql = f"CASE WHEN {first} = {second} THEN NULL ELSE {value.sql} END"
    return Typed(plain_cast(sql, value.type), value.type, call("nullif", value.name, other.name))


def _abs(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this")
    value = e.translate(node.this, scope)
    if not value.type.is_numeric:
        e.refuse(node, f"ABS of {value.type}")
    return Typed(plain_cast(f"abs({value.sql})", value.type), value.type, call("abs", value.name))


def _round(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this")
    value = e.translate(node.this, scope)
    if value.type.is_integer:
        return Typed(value.sql, value.type, call("round", value.name, "0"))
    if value.type != DOUBLE:
        e.refuse(node, f"ROUND of {value.type}")
    return Typed(f"round({value.sql})", DOUBLE, call("round", value.name, "0"))


def _to_integer(function: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        e.only(node, "this")
        value = e.translate(node.this, scope)
        if not value.type.is_integer and value.type != DOUBLE:
            e.refuse(node, f"{function.upper()} of {value.type}")
        typed = spelling(e, node, function)
        name = call(typed if typed == "ceiling" else function.upper(), value.name)
        return Typed(plain_cast(f"{function}({plain_cast(value.sql, DOUBLE)})", BIGINT)
                     if value.type == DOUBLE else plain_cast(value.sql, BIGINT), BIGINT, name)  # fmt: skip

    return translate


def _null_test(negated: bool) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        if len(node.expressions) != 1:
            e.refuse(node)
        value = e.translate(node.expressions[0], scope)
        word = "IS NOT NULL" if negated else "IS NULL"
        name = None if value.name is None else f"({value.name} {word})"
        return Typed(f"({value.sql} {word})", BOOLEAN, name)

    return translate


def _starts_with(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression")
    value, prefix = _text(e, node.this, scope), _text(e, node.expression, scope)
    return Typed(f"starts_with({value.sql}, {prefix.sql})", BOOLEAN, call("startswith", value.name, prefix.name))


TRANSLATIONS: dict[type[exp.Expr] | str, Translation] = {
    **{kind: _aggregate(function) for kind, function in _FILTERED.items()},
    exp.Filter: _filter,
    exp.Upper: _cased("upper"),
    exp.Lower: _cased("lower"),
    exp.Trim: _trim,
    exp.Length: _length,
    exp.Concat: _concat,
    exp.DPipe: _concat,
    exp.Substring: _substring,
    exp.Replace: _replace,
    exp.Like: _like,
    exp.RegexpLike: _rlike,
    exp.StartsWith: _starts_with,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Abs: _abs,
    exp.Round: _round,
    exp.Floor: _to_integer("floor"),
    exp.Ceil: _to_integer("ceil"),
    "isnull": _null_test(False),
    "isnotnull": _null_test(True),
}
