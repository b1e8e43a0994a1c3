"""Operators, IN, EXISTS and subqueries, for the allow-list of ``expressions``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from rewriter.exec.sql_types import BOOLEAN, STRING, VOID, SqlType
from rewriter.exec.translate.allowlist_entries import CONSTRUCTS, Entry
from rewriter.exec.translate.arithmetic import arithmetic, minus, whole_division, with_sign
from rewriter.exec.translate.casts import wider_type
from rewriter.exec.translate.expressions import (
    Allowed,
    Expressions,
    Scope,
    Translation,
    Typed,
    as_no_literal,
    call,
    infix,
)
from rewriter.exec.translate.intervals import ENTRY as INTERVALS
from rewriter.exec.translate.intervals import interval_value, with_interval
from rewriter.exec.translate.lambdas import FUNCTIONS as LAMBDA_FUNCTIONS
from rewriter.planner.text.literals import LARGEST, MIRRORED, rounded_bound
from rewriter.planner.text.sqlglot_trees import PLUS, chain_name

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
    if bounded := _with_decimal_literal(operands, (left, right), operator, compared):
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
    # Spark reads the value once, for both comparisons. So a literal there is no literal beside the bounds.
    first = as_no_literal(value)
    (value_sql, low_sql), _ = e.cast_to_common_type([first, low], node, binary=True, operands=lower)
    (value_for_high, high_sql), _ = e.cast_to_common_type([first, high], node, binary=True, operands=upper)
    name = call("between", value.name, low.name, high.name)
    above, below = f"{value_sql} >= {low_sql}", f"{value_for_high} <= {high_sql}"
    if bounded := _with_decimal_literal(lower, (value, low), ">=", f"({above})"):
        above = bounded.sql
    if bounded := _with_decimal_literal(upper, (value, high), "<=", f"({below})"):
        below = bounded.sql
    return Typed(f"({above} AND {below})", BOOLEAN, name)


def _in(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expressions", "query")
    assert isinstance(node, exp.In)
    if node.args.get("query") is not None:
        return _in_query(e, node, scope)
    if isinstance(node.this, exp.Tuple) and node.expressions:
        return _in_tuples(e, node, scope)
    value = e.translate(node.this, scope)
    if not node.expressions:
        e.text.wrong("IN needs at least one value.", "INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE", "42000", node)
    whole_numbers = _whole_numbers(node.expressions) if value.type.is_integer else None
    if whole_numbers is not None:
        # Integers of any width compare by their values. Lists may be long, and casts of each number are slow.
        e.construct("whole number (INT, BIGINT)")
        name = None if value.name is None else f"({value.name} IN {call('', *whole_numbers)})"
        return Typed(f"({value.sql} IN ({', '.join(whole_numbers)}))", BOOLEAN, name)
    options = [e.translate(option, scope) for option in node.expressions]
    list_name = call("", *(option.name for option in options))
    name = None if value.name is None or list_name is None else f"({value.name} IN {list_name})"
    if value.type == STRING and value.char is None and all(option.text is not None for option in options):
        return Typed(f"({value.sql} IN ({', '.join([option.sql for option in options])}))", BOOLEAN, name)
    # Literals are as narrow as their digits beside operators alone.
    values = [as_no_literal(part) for part in _padded(e, [value, *options], False, node)]
    operands = (node.this, *node.expressions)
    sqls, _ = e.cast_to_common_type(values, node, binary=True, operands=operands)
    return Typed(f"({sqls[0]} IN ({', '.join(sqls[1:])}))", BOOLEAN, name)


def _whole_numbers(options: Sequence[exp.Expr]) -> list[str] | None:
    """Returns the digits of a list of literals of INT and BIGINT; ``None`` for another list."""
    digits = [str(option.this) for option in options if type(option) is exp.Literal and not option.is_string]
    if len(digits) < len(options) or not all(text.isascii() and text.isdigit() and len(text) < 20 for text in digits):
        return None
    numbers = [int(text) for text in digits]
    return list(map(str, numbers)) if max(numbers) <= LARGEST else None


def _exists(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    if node.args.get("expression") is not None:
        of_array = LAMBDA_FUNCTIONS["exists"]
        e.entries.update(entry for entry in (of_array.entry,) if entry is not None)
        return of_array.translation(e, node, scope)
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
    exp.Add: _operator(_arithmetic, "a + b"),
    exp.Sub: _operator(_arithmetic, "a - b"),
    exp.Mul: _operator(_arithmetic, "a * b"),
    exp.Div: _operator(_arithmetic, "a / b"),
    exp.Mod: _operator(_arithmetic, "a % b", "quotients of decimals of more than 39 digits, when they occur"),
    exp.IntDiv: _operator(
        whole_division,
        "a DIV b",
        "DOUBLE, FLOAT; quotients of decimals beyond BIGINT, when they occur",
    ),
    exp.Interval: Allowed(interval_value, INTERVALS),
    exp.Neg: _operator(minus, "-a"),
    PLUS: _operator(_plus, "+a"),
}


# IN (SELECT …), and IN of tuples.
#
# Outside conditions, Spark returns FALSE in place of NULL: it tests whether a row of the subquery is equal, and, for
# NOT IN, whether a row is not unequal. Before that it may simplify the expression around the predicate. So the places
# are listed in which the result is certain.

_PLACES = "IN (SELECT …) as an operand of another expression than AND, OR, NOT, CASE and IF"


def _in_query(e: Expressions, node: exp.In, scope: Scope) -> Typed:
    """Translates ``a IN (SELECT …)`` and ``(a, b) IN (SELECT …)``."""
    is_tuple = isinstance(node.this, exp.Tuple)
    operands = list(node.this.expressions) if is_tuple else [node.this]
    values = [e.translate(operand, scope) for operand in operands]
    negated, only_true = _place(e, node)
    sql, types, is_correlated = e.subquery(node.args["query"], scope)
    if len(types) != len(values):
        e.text.wrong(
            f"IN compares {len(values)} values with a subquery of {len(types)} columns.",
            "DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH", "42K09", node,
        )  # fmt: skip
    if any(value.char for value in values) or any(type_.padded for type_ in types):
        e.refuse(node, "IN (SELECT …) of a CHAR column")
    targets = [_target(e, value, type_, node) for value, type_ in zip(values, types, strict=True)]
    lefts = [e.cast(value, target, node) for value, target in zip(values, targets, strict=True)]
    columns = [Typed(f"c{number}", type_) for number, type_ in enumerate(types)]
    rights = [e.cast(column, target, node) for column, target in zip(columns, targets, strict=True)]
    name = _tuple_name(operands, values, "'") if is_tuple else values[0].name
    name = None if name is None or is_correlated else f"({name} IN (listquery()))"
    if is_tuple:
        if only_true and node.find_ancestor(exp.Join, exp.Query, exp.Where) is node.find_ancestor(exp.Join):
            e.refuse(node, "IN (SELECT …) of several columns in ON")
        return Typed(_has_equal_row(lefts, rights, sql, negated), BOOLEAN, name)
    if types[0] != targets[0]:
        sql = f"SELECT {rights[0]} FROM ({sql})"
    predicate = f"({lefts[0]} IN ({sql}))"
    if not only_true:
        predicate = f"coalesce({predicate}, {'true' if negated else 'false'})"
    return Typed(predicate, BOOLEAN, name)


def _has_equal_row(lefts: Sequence[str], rights: Sequence[str], sql: str, negated: bool) -> str:
    """Returns the test whether a row of a query is equal to several values, or, for NOT IN, is not unequal."""
    test = "({0} = {1}) IS NOT FALSE" if negated else "{0} = {1}"
    row = ", ".join(f"{right} AS k{number}" for number, right in enumerate(rights))
    tests = " AND ".join(test.format(left, f"k{number}") for number, left in enumerate(lefts))
    return f"EXISTS (SELECT 1 FROM (SELECT {row} FROM ({sql})) WHERE {tests})"


def _target(e: Expressions, value: Typed, type_: SqlType, node: exp.Expr) -> SqlType:
    target = wider_type(value.type, type_)
    if target is None or value.type.is_nested or type_.is_nested:
        e.refuse(node, f"IN (SELECT …) of {value.type} and {type_}")
    return target


def _place(e: Expressions, node: exp.In) -> tuple[bool, bool]:
    """Returns whether NOT precedes the predicate, and whether it is one of the conditions of a clause, where FALSE and
    NULL are the same. Refuses the other places, except those whose values are certain.
    """
    top, negated = _above(node, exp.Paren), False
    if isinstance(top.parent, exp.Not):
        top, negated = _above(top.parent, exp.Paren), True
    top = _above(top, exp.Paren, exp.And, exp.Or)
    parent = top.parent
    is_condition = isinstance(parent, exp.Where | exp.Having | exp.Qualify | exp.Join)
    is_test = isinstance(parent, exp.If) and parent.this is top
    if isinstance(parent, exp.Anonymous):
        is_test = e.text.called(parent) == "if" and parent.expressions[0] is top
    is_item = isinstance(parent, exp.Select | exp.Group | exp.Alias)
    if not (is_condition or is_test or is_item):
        e.text.refuse(_PLACES, node, "Write it in CASE WHEN … THEN … END.")
    if not is_condition and (clause := _key_of(node)) is not None:
        hint = "Select it as a column in a subquery of FROM, and name the column here."
        e.text.refuse(f"IN (SELECT …) in a key of {clause}", node, hint)
    # Spark may find that one of two opposites is true.
    parts = list(top.walk(prune=lambda part: isinstance(part, exp.Query)))
    signs = {isinstance(_above(part, exp.Paren).parent, exp.Not) for part in parts if _has_query(part)}
    if len(signs) > 1 and any(isinstance(part, exp.Or) for part in parts):
        hint = "Write the conditions in CASE WHEN … THEN … END."
        e.text.refuse("IN (SELECT …) and NOT IN (SELECT …) under one OR", node, hint)
    if is_item and _has_constant_null(e, node):
        hint = "Write it in CASE WHEN … THEN … END."
        e.text.refuse("IN (SELECT …) as a value in a query with a NULL that is a constant", node, hint)
    return negated, is_condition


def _key_of(node: exp.Expr) -> str | None:
    """Returns the clause of whose keys a node is a part, other than GROUP BY."""
    while node.parent is not None and not isinstance(node, exp.Query):
        if isinstance(node.parent, exp.Window) and node is not node.parent.this:
            return "a window"
        if isinstance(node, exp.Order | exp.Sort | exp.Cluster | exp.Distribute):
            return "ORDER BY"
        node = node.parent
    return None


def _has_constant_null(e: Expressions, node: exp.In) -> bool:
    """Tests whether an operand may be a constant NULL: Spark returns NULL for it, not FALSE. Such constants come from
    any subquery of FROM, or from an outer join with an empty VALUES.
    """
    root = node.root()
    if any(_is_null(e, part) for part in node.this.walk()):
        return True
    if root.find(exp.Values) is not None and any(join.side for join in root.find_all(exp.Join)):
        return True
    own = node.find_ancestor(exp.Select)
    inner = {id(select) for select in node.args["query"].find_all(exp.Select)}
    selects = (select for select in root.find_all(exp.Select) if select is not own and id(select) not in inner)
    items = (item for select in selects for item in select.expressions)
    return any(
        item.find(exp.Column, exp.Star) is None and any(_is_null(e, part) for part in item.walk()) for item in items
    )


def _is_null(e: Expressions, node: exp.Expr) -> bool:
    """Tests whether a node is NULL, or may be NULL although none of its arguments is."""
    if isinstance(node, exp.Placeholder):
        return e.parameters.get(str(node.this)) is None
    return isinstance(node, exp.Null | exp.TryCast | exp.Case) or e.text.called(node) in _NULLING


_NULLING = ("nullif", "if", "element_at", "nullifzero", "date_trunc", "trunc", "next_day", "elt")


def _above(node: exp.Expr, *kinds: type[exp.Expr]) -> exp.Expr:
    """Returns the outermost node of these kinds around a node, or the node itself."""
    while isinstance(node.parent, kinds):
        node = node.parent
    return node


def _has_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.In) and node.args.get("query") is not None


def _in_tuples(e: Expressions, node: exp.In, scope: Scope) -> Typed:
    """Translates ``(a, b) IN ((1, 2), …)``. As Spark compares structs, a NULL in a tuple is equal to NULL."""
    operands = node.this.expressions
    values = [e.comparable(e.translate(operand, scope), operand, "IN of tuples") for operand in operands]
    names = [_tuple_name(operands, values, "")]
    tests = []
    for option in node.expressions:
        parts = option.expressions if isinstance(option, exp.Tuple) else [option]
        if len(parts) != len(values):
            _refuse_types(e, option, values, [e.translate(part, scope) for part in parts])
        others = [e.translate(part, scope) for part in parts]
        if not all(isinstance(operand, exp.Column) for operand in operands):
            e.refuse(node, "IN of a tuple of other values than columns")
        if any(VOID in (value.type, other.type) for value, other in zip(values, others, strict=True)):
            e.refuse(node, "IN of tuples with NULL")
        if any(value.type != other.type for value, other in zip(values, others, strict=True)):
            _refuse_types(e, option, values, others)
        if any(value.char for value in (*values, *others)):
            e.refuse(node, "IN of tuples with a CHAR column")
        pairs = zip(values, others, strict=True)
        tests.append(" AND ".join(f"{value.sql} IS NOT DISTINCT FROM {other.sql}" for value, other in pairs))
        names.append(_tuple_name(parts, others, ""))
    listed = call("", *names[1:])
    name = None if names[0] is None or listed is None else f"({names[0]} IN {listed})"
    return Typed(f"({' OR '.join(f'({test})' for test in tests)})", BOOLEAN, name)


def _refuse_types(e: Expressions, node: exp.Expr, values: Sequence[Typed], others: Sequence[Typed]) -> None:
    shown = [", ".join(value.type.shown for value in side) for side in (values, others)]
    e.text.wrong(
        f"IN compares tuples of the same types, not ({shown[0]}) with ({shown[1]}).",
        "DATATYPE_MISMATCH.DATA_DIFF_TYPES", "42K09", node, None,
        "Write a literal of the type (10L for BIGINT), or CAST(… AS …).",
    )  # fmt: skip


def _tuple_name(nodes: Sequence[exp.Expr], values: Sequence[Typed], quote: str) -> str | None:
    """Returns Spark's name of a tuple: ``named_struct('a', a, '_1', 1)``, or ``named_struct(a, a, col2, 1)`` if
    ``quote`` is empty.
    """
    parts: list[str | None] = []
    for number, (node, value) in enumerate(zip(nodes, values, strict=True), 1):
        field = node.name if isinstance(node, exp.Column) else f"col{number}" if quote == "" else f"_{number - 1}"
        parts += [f"{quote}{field}{quote}", value.name]
    return call("named_struct", *parts)


# Comparisons of an integer with a decimal literal, which Spark turns into comparisons of integers.
#
# Spark rounds the literal: ``i < 1.5`` is ``i < 2``, which its column's name shows. A literal beyond BIGINT makes the
# comparison TRUE or FALSE, also where the integer is NULL.

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _with_decimal_literal(
    nodes: tuple[exp.Expr, exp.Expr], values: tuple[Typed, Typed], operator: str, sql: str
) -> Typed | None:
    """Returns the comparison ``sql`` as Spark shows and evaluates it, or None if it is not of an integer with a decimal
    literal by ``<``, ``<=``, ``>`` or ``>=``.
    """
    if operator not in MIRRORED:
        return None
    bounds = [_decimal_literal(node, value) for node, value in zip(nodes, values, strict=True)]
    for integer, literal in ((0, 1), (1, 0)):
        bound = bounds[literal]
        if bound is None or not values[integer].type.is_integer:
            continue
        # The operator with the integer on its left.
        seen = operator if integer == 0 else MIRRORED[operator]
        holds = rounded_bound(bound, seen)
        if not isinstance(holds, bool):
            names = [value.name for value in values]
            names[literal] = str(holds)
            return Typed(sql, BOOLEAN, infix(operator, *names))
        # The comparison stays, so that an aggregate in it makes a query of one row.
        return Typed(f"({sql} OR TRUE)" if holds else f"({sql} AND FALSE)", BOOLEAN, str(holds).lower())
    return None


def _decimal_literal(node: exp.Expr, value: Typed) -> Decimal | None:
    is_column = isinstance(node.unnest(), exp.Column)
    if is_column or not value.type.is_decimal or value.name is None or not _NUMBER.fullmatch(value.name):
        return None
    return Decimal(value.name)
