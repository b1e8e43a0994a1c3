"""LIMIT and OFFSET: whole numbers, and sums, differences and products of them."""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.translate.expressions import Expressions

_LARGEST = 2**31 - 1


def limits(e: Expressions, node: exp.Expr) -> str:
    """Translates LIMIT and OFFSET of a query."""
    sql = ""
    for key in ("limit", "offset"):
        clause = node.args.get(key)
        if clause is None:
            continue
        e.allow_only(clause, "expression")
        e.construct(key.upper())
        value = clause.expression
        if key == "limit" and isinstance(value, exp.Var) and value.name.upper() == "ALL":
            continue
        number = _number(e, value, key.upper())
        if number < 0:
            e.text.wrong(
                f"The operand of {key.upper()} is negative: {e.text.shown(value)}.",
                "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE",
                "42K0E",
                value,
            )
        sql += f" {key.upper()} {number}"
    return sql


def _number(e: Expressions, node: exp.Expr, clause: str) -> int:
    """Returns the value of a constant expression. Raises Spark's error for a column, and for another type."""
    number: int | None = None
    if isinstance(node, exp.Placeholder):
        value = e.parameters.get(str(node.this))
        number = value if isinstance(value, int) and not isinstance(value, bool) else None
    elif isinstance(node, exp.Literal) and str(node.this).isdigit() and not node.args.get("is_string"):
        number = int(str(node.this))
    elif isinstance(node, exp.Paren):
        return _number(e, node.this, clause)
    elif isinstance(node, exp.Neg):
        number = -_number(e, node.this, clause)
    elif isinstance(node, exp.Add | exp.Sub | exp.Mul):
        left, right = _number(e, node.this, clause), _number(e, node.expression, clause)
        number = left + right if isinstance(node, exp.Add) else left - right
        number = left * right if isinstance(node, exp.Mul) else number
        if abs(number) > _LARGEST:
            e.text.wrong(f"{e.text.shown(node)} is too large for an INT.", "ARITHMETIC_OVERFLOW", "22003", node)
    if number is not None and abs(number) <= _LARGEST:
        return number
    if number is not None or isinstance(node, exp.Literal | exp.Boolean | exp.Null):
        e.text.wrong(
            f"{clause} needs a whole number (INT): {e.text.shown(node)}.",
            "INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE",
            "42K0E",
            node,
        )
    if node.find(exp.Column, exp.Query) is not None:
        e.text.wrong(
            f"{clause} needs a constant: {e.text.shown(node)}.",
            "INVALID_LIMIT_LIKE_EXPRESSION.IS_UNFOLDABLE",
            "42K0E",
            node,
        )
    return e.refuse(node, f"{clause} {e.text.shown(node)}")
