"""Operators, IN, EXISTS and subqueries, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from rewriter.exec.sql_types import BOOLEAN, VOID
from rewriter.exec.translate.allowlist_entries import CONSTRUCTS, Entry
from rewriter.exec.translate.arithmetic import arithmetic, minus, whole_division, with_sign
from rewriter.exec.translate.decimal_bounds import with_decimal_literal
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Translation, Typed, call, infix
from rewriter.exec.translate.in_predicates import in_query, in_tuples
from rewriter.exec.translate.intervals import ENTRY as INTERVALS
from rewriter.exec.translate.intervals import refuse_interval, with_interval
from rewriter.planner.text.call_trees import PLUS
from rewriter.planner.text.chain_names import chain_name

_TESTS = (exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Escape, exp.RegexpLike, exp.Not)
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def _paren(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this")
    operand = e.translate(node.this, scope)
    return replace(operand, sql=f"({operand.sql})")


def _connective(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expression")
    word = "AND" if isinstance(node, exp.And) else "OR"
    # Recursion over a chain of hundreds of operands (the ranges of a cover) would need as many Python frames.
    parts = list(node.flatten(unnest=False))
    operands = [e.condition(part, scope) for part in parts]
    sql = f"({f' {word} '.join(operand.sql for operand in operands)})"
    is_long = len(parts) > _LONG_OR and isinstance(node, exp.Or)
    if is_long and any(isinstance(part.unnest(), exp.And) for part in parts) and _only_selects(node):
        sql = f"({sql} IS TRUE)"
    return Typed(sql, BOOLEAN, _chained(word, [operand.name for operand in operands]))


#: From how many operands on DuckDB must not look for a factor common to all operands of an OR: it compares each with
#: each.
_LONG_OR = 64


def _only_selects(node: exp.Expr) -> bool:
    """Tests whether a condition is part of WHERE under AND and OR alone, where NULL selects what FALSE selects."""
    ancestor = node.parent
    while isinstance(ancestor, exp.Paren | exp.And | exp.Or):
        ancestor = ancestor.parent
    return isinstance(ancestor, exp.Where)


def _chained(word: str, names: Sequence[str | None]) -> str | None:
    existing_names = [name for name in names if name is not None]
    return chain_name(word, existing_names) if len(existing_names) == len(names) else None


def _not(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this")
    operand = e.condition(node.this, scope)
    name = None if operand.name is None else f"(NOT {operand.name})"
    if isinstance(node.this, exp.Is) and e.text.is_not_null(node.this) and operand.name:
        name = f"{operand.name.removesuffix(' IS NULL)')} IS NOT NULL)"
    return Typed(f"(NOT {operand.sql})", BOOLEAN, name)


def _refuse_regrouped(e: Expressions, node: exp.Expr) -> None:
    """Refuses a comparison with an operand that, without parentheses, Spark's grammar groups differently from sqlglot:
    ``a = b IS NULL`` is ``(a = b) IS NULL`` in Spark, ``a = b < c`` is ``(a = b) < c``. Around the operand after
    ``<=>``, sqlglot puts parentheses that were not typed.
    """
    right = node.expression
    if isinstance(right, exp.Paren) and not e.text.is_typed(right):
        right = right.this
    if isinstance(node.this, _TESTS) or isinstance(right, (*_TESTS, *_COMPARISONS, exp.NullSafeEQ, exp.NullSafeNEQ)):
        e.refuse(node, f"{e.text.shown(node)} without parentheses")


def _comparison(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expression")
    _refuse_regrouped(e, node)
    left, right = e.translate(node.this, scope), e.translate(node.expression, scope)
    attributes = [isinstance(part.unnest(), exp.Column) for part in (node.this, node.expression)]
    values, operands = _padded(e, [left, right], all(attributes), node), (node.this, node.expression)
    (first, second), _ = e.cast_to_common_type(values, node, binary=True, operands=operands)
    if isinstance(node, exp.NullSafeNEQ):
        name = infix("<=>", left.name, right.name)
        return Typed(f"({first} IS DISTINCT FROM {second})", BOOLEAN, None if name is None else f"(NOT {name})")
    if isinstance(node, exp.NullSafeEQ):
        return Typed(f"({first} IS NOT DISTINCT FROM {second})", BOOLEAN, infix("<=>", left.name, right.name))
    operator = _COMPARISONS[type(node)]
    compared = f"({first} {operator} {second})"
    if bounded := with_decimal_literal(operands, (left, right), operator, compared):
        return bounded
    name = infix("=" if operator == "<>" else operator, left.name, right.name)
    if operator == "<>" and name is not None:
        name = f"(NOT {name})"
    return Typed(compared, BOOLEAN, name)


def _padded(e: Expressions, values: list[Typed], attributes: bool, node: exp.Expr) -> list[Typed]:
    """Returns the values padded for a comparison with CHAR columns: texts get trailing blanks, and so does the column
    if they are longer, because Spark pads the shorter one. If both are columns (``attributes``), only CHAR columns are
    padded.
    """
    if not any(value.char for value in values):
        return values
    texts = [value for value in values if value.char is None and value.type != VOID]
    if attributes and texts:
        return [replace(value, char=None) for value in values]
    if any(value.text is None for value in texts):
        e.refuse(node, "Comparing a CHAR column with an expression that is not a literal")
    length = max(value.char or len(value.text or "") for value in values)
    if isinstance(node, exp.In) and (length != values[0].char or len(texts) + 1 < len(values)):
        e.refuse(node, "A CHAR column IN longer texts or NULL")
    return [_padded_to(value, length) for value in values]


def _padded_to(value: Typed, length: int) -> Typed:
    if value.type == VOID:
        return value
    if value.char is None:
        return replace(value, sql=f"rpad({value.sql}, {length}, ' ')")
    return replace(value, sql=value.sql if value.char == length else f"rpad({value.sql}, {length}, ' ')", char=None)


def _between(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "low", "high")
    value, low, high = (e.translate(node.args[key], scope) for key in ("this", "low", "high"))
    lower, upper = (node.this, node.args["low"]), (node.this, node.args["high"])
    (value_sql, low_sql), _ = e.cast_to_common_type([value, low], node, binary=True, operands=lower)
    (value_for_high, high_sql), _ = e.cast_to_common_type([value, high], node, binary=True, operands=upper)
    name = call("between", value.name, low.name, high.name)
    above, below = f"{value_sql} >= {low_sql}", f"{value_for_high} <= {high_sql}"
    if bounded := with_decimal_literal(lower, (value, low), ">=", f"({above})"):
        above = bounded.sql
    if bounded := with_decimal_literal(upper, (value, high), "<=", f"({below})"):
        below = bounded.sql
    return Typed(f"({above} AND {below})", BOOLEAN, name)


def _in(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expressions", "query")
    assert isinstance(node, exp.In)
    if node.args.get("query") is not None:
        return in_query(e, node, scope)
    if isinstance(node.this, exp.Tuple) and node.expressions:
        return in_tuples(e, node, scope)
    value = e.translate(node.this, scope)
    if not node.expressions:
        e.text.wrong("IN needs at least one value.", "INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE", "42000", node)
    options = [e.translate(option, scope) for option in node.expressions]
    values, operands = _padded(e, [value, *options], False, node), (node.this, *node.expressions)
    sqls, _ = e.cast_to_common_type(values, node, binary=True, operands=operands)
    list_name = call("", *(option.name for option in options))
    name = None if value.name is None or list_name is None else f"({value.name} IN {list_name})"
    return Typed(f"({sqls[0]} IN ({', '.join(sqls[1:])}))", BOOLEAN, name)


def _exists(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this")
    sql, _, is_correlated = e.subquery(node.this, scope)
    return Typed(f"EXISTS ({sql})", BOOLEAN, None if is_correlated else "exists()")


def _scalar(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this")
    sql, types, is_correlated = e.subquery(node.this, scope)
    if len(types) != 1:
        e.text.wrong(
            "A subquery used as a value must have one column.",
            "INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN", "42823", node,
        )  # fmt: skip
    return Typed(f"({sql})", types[0], None if is_correlated else "scalarsubquery()")


def _is(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expression")
    value = e.translate(node.this, scope)
    if isinstance(node.expression, exp.Null):
        name = None if value.name is None else f"({value.name} IS NULL)"
        return Typed(f"({value.sql} IS NULL)", BOOLEAN, name)
    if isinstance(node.expression, exp.Boolean) and value.type in (BOOLEAN, VOID):
        word = "TRUE" if node.expression.this else "FALSE"
        return Typed(f"({value.sql} IS {word})", BOOLEAN, infix("<=>", value.name, word.lower()))
    return e.refuse(node, f"The test {e.text.shown(node)}")


def _plus(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``+a``, which is no other value except of a string or NULL."""
    e.allow_only(node, "this")
    return with_sign(e, node, "+", e.translate(node.this, scope))


def _arithmetic(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return with_interval(e, node, scope) or arithmetic(e, node, scope)


_SECTION = "Operators"
_REFUSED_TYPES = (
    "a CHAR column with an expression that is neither a literal nor a column; "
    "another test as an operand without parentheses"
)


def _operator(translation: Translation, form: str, refused: str = "") -> Allowed:
    return Allowed(translation, Entry(_SECTION, form, refused))


NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.Paren: _operator(_paren, "(x)"),
    exp.And: _operator(_connective, "a AND b"),
    exp.Or: _operator(_connective, "a OR b"),
    exp.Not: _operator(_not, "NOT a"),
    exp.EQ: _operator(_comparison, "a = b, a == b", _REFUSED_TYPES),
    exp.NEQ: _operator(_comparison, "a <> b, a != b", _REFUSED_TYPES),
    exp.LT: _operator(_comparison, "a < b", _REFUSED_TYPES),
    exp.LTE: _operator(_comparison, "a <= b", _REFUSED_TYPES),
    exp.GT: _operator(_comparison, "a > b", _REFUSED_TYPES),
    exp.GTE: _operator(_comparison, "a >= b", _REFUSED_TYPES),
    exp.NullSafeEQ: _operator(_comparison, "a <=> b", _REFUSED_TYPES),
    exp.NullSafeNEQ: _operator(_comparison, "a IS [NOT] DISTINCT FROM b", _REFUSED_TYPES),
    exp.Between: _operator(
        _between,
        "a BETWEEN b AND c",
        "a CHAR column; another test as an operand without parentheses",
    ),
    exp.In: _operator(
        _in,
        "a IN (b, …), (a, b) IN ((c, d), …), [(]a[, b)] IN (SELECT …)",
        "a subquery as an operand of another expression than AND, OR, NOT, CASE and IF, and in ORDER BY; a CHAR column "
        "with NULL, longer texts or a subquery",
    ),
    exp.Exists: _operator(_exists, "EXISTS (SELECT …)"),
    exp.Subquery: Allowed(_scalar, CONSTRUCTS["scalar subquery"]),
    exp.Is: _operator(_is, "a IS [NOT] NULL, a IS [NOT] TRUE|FALSE"),
    exp.Add: _operator(_arithmetic, "a + b", "decimals whose result needs more than 38 digits"),
    exp.Sub: _operator(_arithmetic, "a - b", "decimals whose result needs more than 38 digits"),
    exp.Mul: _operator(_arithmetic, "a * b", "decimals whose result needs more than 38 digits"),
    exp.Div: _operator(_arithmetic, "a / b", "decimals whose quotient does not fit in 38 digits"),
    exp.Mod: _operator(_arithmetic, "a % b", "decimals of more than 38 digits together"),
    exp.IntDiv: _operator(
        whole_division,
        "a DIV b",
        "DOUBLE, FLOAT; decimals of more than 38 digits together; quotients of decimals beyond BIGINT, when they occur",
    ),
    exp.Interval: Allowed(refuse_interval, INTERVALS),
    exp.Neg: _operator(minus, "-a"),
    PLUS: _operator(_plus, "+a"),
}
