"""Operators, CASE, IN, EXISTS and subqueries, for the allow-list of ``expressions``."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.exec.casts import as_decimal, common_type, plain_cast
from rewriter.exec.constants import number
from rewriter.exec.expressions import Expressions, Scope, Translation, Typed, call, infix, narrow
from rewriter.exec.sqltypes import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MAX_PRECISION,
    TIMESTAMP,
    VOID,
    decimal,
)

_INTERVAL_UNITS = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")
_CLOCK_UNITS = ("SECOND", "MINUTE", "HOUR")
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
#: The most digits of a decimal that DuckDB keeps in 64 bits.
_SMALL_DECIMAL = 18


def _paren(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this")
    inner = e.translate(node.this, scope)
    return replace(inner, sql=f"({inner.sql})")


def _connective(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression")
    word = "AND" if isinstance(node, exp.And) else "OR"
    # A chain of hundreds (the ranges of a cover) would be as many Python frames deep.
    operands = [e.condition(part, scope) for part in node.flatten(unnest=False)]
    name = operands[0].name
    for operand in operands[1:]:
        name = infix(word, name, operand.name)
    return Typed(f"({f' {word} '.join(operand.sql for operand in operands)})", BOOLEAN, name)


def _not(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this")
    inner = e.condition(node.this, scope)
    name = None if inner.name is None else f"(NOT {inner.name})"
    if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null) and inner.name:
        name = f"{inner.name.removesuffix(' IS NULL)')} IS NOT NULL)"
    return Typed(f"(NOT {inner.sql})", BOOLEAN, name)


def _comparison(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression")
    left, right = e.translate(node.this, scope), e.translate(node.expression, scope)
    (first, second), _ = e.together([left, right], node, binary=True)
    if isinstance(node, exp.NullSafeEQ):
        return Typed(f"({first} IS NOT DISTINCT FROM {second})", BOOLEAN, infix("<=>", left.name, right.name))
    operator = _COMPARISONS[type(node)]
    name = infix("=" if operator == "<>" else operator, left.name, right.name)
    if operator == "<>" and name is not None:
        name = f"(NOT {name})"
    return Typed(f"({first} {operator} {second})", BOOLEAN, name)


def _between(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "low", "high")
    value, low, high = (e.translate(node.args[key], scope) for key in ("this", "low", "high"))
    (first, least), _ = e.together([value, low], node, binary=True)
    (second, most), _ = e.together([value, high], node, binary=True)
    name = call("between", value.name, low.name, high.name)
    return Typed(f"({first} >= {least} AND {second} <= {most})", BOOLEAN, name)


def _in(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expressions", "query")
    value = e.translate(node.this, scope)
    if node.args.get("query") is not None:
        return _in_query(e, node, value, scope)
    options = [e.translate(option, scope) for option in node.expressions]
    sqls, _ = e.together([value, *options], node, binary=True)
    listed = call("", *(option.name for option in options))
    name = None if value.name is None or listed is None else f"({value.name} IN {listed})"
    return Typed(f"({sqls[0]} IN ({', '.join(sqls[1:])}))", BOOLEAN, name)


def _in_query(e: Expressions, node: exp.Expr, value: Typed, scope: Scope) -> Typed:
    sql, types = e.subquery(node.args["query"], scope)
    common = common_type(value.type, types[0]) if len(types) == 1 else None
    if common is None:
        e.refuse(node, "IN with this subquery")
    if types[0] != common:
        sql = f"SELECT {e.cast(Typed('c0', types[0]), common, node)} FROM ({sql})"
    name = None if value.name is None else f"({value.name} IN (listquery()))"
    return Typed(f"({e.cast(value, common, node)} IN ({sql}))", BOOLEAN, name)


def _exists(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this")
    sql, _ = e.subquery(node.this, scope)
    return Typed(f"EXISTS ({sql})", BOOLEAN, "exists()")


def _scalar(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this")
    sql, types = e.subquery(node.this, scope)
    if len(types) != 1:
        e.text.wrong(
            "A subquery used as a value has one column.",
            "INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN", "42823", node,
        )  # fmt: skip
    return Typed(f"({sql})", types[0], "scalarsubquery()")


def _is(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression")
    value = e.translate(node.this, scope)
    if isinstance(node.expression, exp.Null):
        name = None if value.name is None else f"({value.name} IS NULL)"
        return Typed(f"({value.sql} IS NULL)", BOOLEAN, name)
    if isinstance(node.expression, exp.Boolean) and value.type == BOOLEAN:
        word = "TRUE" if node.expression.this else "FALSE"
        return Typed(f"({value.sql} IS {word})", BOOLEAN, infix("<=>", value.name, word.lower()))
    return e.refuse(node, "This IS")


def _case(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "ifs", "default")
    subject = e.translate(node.this, scope) if node.this is not None else None
    tests, results = [], []
    for branch in node.args["ifs"]:
        e.only(branch, "this", "true")
        if subject is None:
            tests.append(e.condition(branch.this, scope))
        else:
            option = e.translate(branch.this, scope)
            (first, second), _ = e.together([subject, option], branch.this, binary=True)
            tests.append(Typed(f"{first} = {second}", BOOLEAN, infix("=", subject.name, option.name)))
        results.append(e.translate(branch.args["true"], scope))
    if node.args.get("default") is not None:
        results.append(e.translate(node.args["default"], scope))
    sqls, type_ = e.together(results, node)
    arms = " ".join(f"WHEN {test.sql} THEN {sql}" for test, sql in zip(tests, sqls, strict=False))
    otherwise = f" ELSE {sqls[-1]}" if len(sqls) > len(tests) else ""
    return Typed(f"CASE {arms}{otherwise} END", type_, _case_name(tests, results))


def _case_name(tests: list[Typed], results: list[Typed]) -> str | None:
    if any(part.name is None for part in (*tests, *results)):
        return None
    words = [f"WHEN {test.name} THEN {result.name}" for test, result in zip(tests, results, strict=False)]
    if len(results) > len(tests):
        words.append(f"ELSE {results[-1].name}")
    return f"CASE {' '.join(words)} END"


def _if(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "true", "false")
    if node.args.get("false") is None:
        e.refuse(node, "IF without its third argument")
    test = e.condition(node.this, scope)
    branches = [e.translate(node.args[key], scope) for key in ("true", "false")]
    (first, second), type_ = e.together(branches, node)
    name = call("IF", test.name, branches[0].name, branches[1].name)
    return Typed(f"CASE WHEN {test.sql} THEN {first} ELSE {second} END", type_, None if name is None else f"({name})")


def _arithmetic(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression", "typed", "safe")
    if isinstance(node.this, exp.Interval) or isinstance(node.expression, exp.Interval):
        return _shifted(e, node, scope)
    left, right = e.translate(node.this, scope), e.translate(node.expression, scope)
    operator = _ARITHMETIC[type(node)]
    name = infix(operator, left.name, right.name)
    if left.type.is_decimal or right.type.is_decimal:
        left, right = narrow(left), narrow(right)
    if any(not value.type.is_numeric and value.type != VOID for value in (left, right)):
        e.refuse(node, f"{left.type} {operator} {right.type}")
    floating = left.type.is_floating or right.type.is_floating
    if operator in "/%":
        return replace(_divided(e, left, right, operator, floating, node), name=name)
    if (left.type.is_decimal or right.type.is_decimal) and not floating:
        return replace(_decimals(e, left, right, operator, node), name=name)
    (first, second), type_ = e.together([left, right], node)
    return Typed(plain_cast(f"{first} {operator} {second}", type_), type_, name)


def _decimals(e: Expressions, left: Typed, right: Typed, operator: str, node: exp.Expr) -> Typed:
    if VOID in (left.type, right.type):
        e.refuse(node, "Arithmetic of a decimal with NULL")
    a, b = as_decimal(left.type), as_decimal(right.type)
    first, second = e.cast(left, a, node), e.cast(right, b, node)
    if operator == "*":
        type_ = decimal(a.precision + b.precision + 1, a.scale + b.scale)
    else:
        scale = max(a.scale, b.scale)
        type_ = decimal(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)
    if type_.precision > MAX_PRECISION:
        e.refuse(node, f"A decimal of {type_.precision} digits")
    if operator != "*":
        first, second = plain_cast(first, type_), plain_cast(second, type_)
    elif type_.precision > _SMALL_DECIMAL:
        # DuckDB multiplies two small decimals in 64 bits, whatever the product needs.
        wide = max(a.precision, b.precision, _SMALL_DECIMAL + 1)
        if a.precision >= b.precision:
            first = plain_cast(first, decimal(wide, a.scale))
        else:
            second = plain_cast(second, decimal(wide, b.scale))
    return Typed(plain_cast(f"{first} {operator} {second}", type_), type_)


def _divided(e: Expressions, left: Typed, right: Typed, operator: str, floating: bool, node: exp.Expr) -> Typed:
    if not floating and (left.type.is_decimal or right.type.is_decimal):
        e.refuse(node, f"{left.type} {operator} {right.type}")
    if operator == "/" or floating:
        type_ = DOUBLE
        first, second = e.cast(left, type_, node), e.cast(right, type_, node)
    else:
        (first, second), type_ = e.together([left, right], node)
    condition = "DIVIDE_BY_ZERO" if operator == "/" else "REMAINDER_BY_ZERO"
    # NULL / 0 is NULL in Spark, x / 0 an error, for doubles, too.
    sql = (
        f"CASE WHEN {second} = 0 AND {first} IS NOT NULL THEN error('[{condition}] Division by zero.') "
        f"ELSE {first} {operator} {second} END"
    )
    return Typed(sql, type_)


def _minus(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this")
    if isinstance(node.this, exp.Literal) and not node.this.args.get("is_string"):
        value = number(e, str(node.this.this), node)
        if value.digits == 2**31:
            return Typed("CAST(-2147483648 AS INTEGER)", INT, "-2147483648", digits=-(2**31))
        digits = None if value.digits is None else -value.digits
        name = None if value.name is None else f"-{value.name}"
        return Typed(plain_cast(f"-{value.sql}", value.type), value.type, name, digits=digits)
    value = e.translate(node.this, scope)
    if not value.type.is_numeric:
        e.refuse(node, f"-({value.type})")
    # -1.5D is a literal, and is named as one.
    literal = isinstance(node.this, exp.Cast) and value.name == str(node.this.this.this)
    name = None if value.name is None else f"-{value.name}" if literal else f"(- {value.name})"
    return Typed(plain_cast(f"-({value.sql})", value.type), value.type, name)


def _shifted(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """A date or timestamp plus or minus an interval of one unit."""
    before = isinstance(node.this, exp.Interval)
    interval, other = (node.this, node.expression) if before else (node.expression, node.this)
    if isinstance(other, exp.Interval) or not isinstance(node, exp.Add | exp.Sub):
        e.refuse(node, "This arithmetic of intervals")
    if before and isinstance(node, exp.Sub):
        e.refuse(node, "An interval minus a time")
    value = e.translate(other, scope)
    amount, unit = _interval(e, interval)
    if not value.type.is_datetime:
        e.refuse(node, f"An interval and {value.type}")
    type_ = TIMESTAMP if unit in _CLOCK_UNITS else value.type
    operator = "-" if isinstance(node, exp.Sub) else "+"
    name = None
    if value.name is not None and amount >= 0 and not before and (value.type, unit) != (DATE, "DAY"):
        shown = f"{amount:02d}" if unit in _CLOCK_UNITS else str(amount)
        name = f"{value.name} {operator} INTERVAL '{shown}' {unit}"
    return Typed(plain_cast(f"{value.sql} {operator} INTERVAL ({amount}) {unit}", type_), type_, name)


def _interval(e: Expressions, node: exp.Expr) -> tuple[int, str]:
    e.only(node, "this", "unit")
    unit = str(node.args["unit"].name).upper() if isinstance(node.args.get("unit"), exp.Var) else ""
    unit = unit.removesuffix("S")
    digits = str(node.this.this) if isinstance(node.this, exp.Literal) else ""
    if unit not in _INTERVAL_UNITS or not digits.removeprefix("-").isdigit() or len(digits) > 9:
        e.refuse(node, "This interval")
    return (int(digits) * 7, "DAY") if unit == "WEEK" else (int(digits), unit)


TRANSLATIONS: dict[type[exp.Expr] | str, Translation] = {
    exp.Paren: _paren,
    exp.And: _connective,
    exp.Or: _connective,
    exp.Not: _not,
    exp.EQ: _comparison,
    exp.NEQ: _comparison,
    exp.LT: _comparison,
    exp.LTE: _comparison,
    exp.GT: _comparison,
    exp.GTE: _comparison,
    exp.NullSafeEQ: _comparison,
    exp.Between: _between,
    exp.In: _in,
    exp.Exists: _exists,
    exp.Subquery: _scalar,
    exp.Is: _is,
    exp.Case: _case,
    exp.If: _if,
    exp.Add: _arithmetic,
    exp.Sub: _arithmetic,
    exp.Mul: _arithmetic,
    exp.Div: _arithmetic,
    exp.Mod: _arithmetic,
    exp.Neg: _minus,
}
