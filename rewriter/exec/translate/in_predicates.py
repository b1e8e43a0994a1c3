"""IN (SELECT …), and IN of tuples.

Outside conditions, Spark returns FALSE in place of NULL: it tests whether a row of the subquery is equal, and, for
NOT IN, whether a row is not unequal. Before that it may simplify the expression around the predicate. So the places
are listed in which the result is certain.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewriter.exec.sql_types import BOOLEAN, VOID, SqlType
from rewriter.exec.translate.casts import wider_type
from rewriter.exec.translate.expressions import Expressions, Scope, Typed, call

_PLACES = "IN (SELECT …) as an operand of another expression than AND, OR, NOT, CASE and IF"


def in_query(e: Expressions, node: exp.In, scope: Scope) -> Typed:
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
        # Of each row: is it equal, or, for NOT IN, is it not unequal?
        test = "({0} = {1}) IS NOT FALSE" if negated else "{0} = {1}"
        row = ", ".join(f"{right} AS k{number}" for number, right in enumerate(rights))
        tests = " AND ".join(test.format(left, f"k{number}") for number, left in enumerate(lefts))
        return Typed(f"EXISTS (SELECT 1 FROM (SELECT {row} FROM ({sql})) WHERE {tests})", BOOLEAN, name)
    if types[0] != targets[0]:
        sql = f"SELECT {rights[0]} FROM ({sql})"
    predicate = f"({lefts[0]} IN ({sql}))"
    if not only_true:
        predicate = f"coalesce({predicate}, {'true' if negated else 'false'})"
    return Typed(predicate, BOOLEAN, name)


def _target(e: Expressions, value: Typed, type_: SqlType, node: exp.Expr) -> SqlType:
    target = wider_type(value.type, type_)
    if target is None or value.type.element is not None or type_.element is not None:
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


def in_tuples(e: Expressions, node: exp.In, scope: Scope) -> Typed:
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
