"""Operations of bits, for the allow-list of ``expressions``."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, INT, TINYINT, VOID
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import common_type, plain_cast
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Translation, Typed, call, functions, infix

#: The operators from the one that binds most, as in Spark. sqlglot reads all of them from left to right.
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.BitwiseAnd: "&",
    exp.BitwiseXor: "^",
    exp.BitwiseOr: "|",
}
_BINDING = {"<<": 3, ">>": 3, "&": 2, "^": 1, "|": 0}


def _integer(e: Expressions, node: exp.Expr, value: Typed, what: str) -> Typed:
    if not value.type.is_integer and value.type != VOID:
        e.refuse(node, f"{what} of {value.type}")
    return value


def _chain(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``a | b & c``, whose operators are grouped by how much they bind."""
    operators: list[str] = []
    operands = []
    while type(node) in _OPERATORS:
        e.allow_only(node, "this", "expression")
        e.entries.add(_ENTRY)
        operators.append(_OPERATORS[type(node)])
        operands.append(node.expression)
        last, node = node, node.this
    operands.append(node)
    if isinstance(node, exp.DPipe):
        # Spark reads ``a || b & c`` as typed, and ``a & b || c`` as ``a & (b || c)``.
        e.refuse(last, f"{e.text.shown(last)} without parentheses")
    values = [e.translate(operand, scope) for operand in reversed(operands)]
    return _grouped(e, last, values, operators[::-1])


def _grouped(e: Expressions, node: exp.Expr, values: list[Typed], operators: list[str]) -> Typed:
    """Combines operands, at the operator that binds least and is the last of its kind first."""
    if not operators:
        return values[0]
    place = min(range(len(operators)), key=lambda index: (_BINDING[operators[index]], -index))
    left = _grouped(e, node, values[: place + 1], operators[:place])
    right = _grouped(e, node, values[place + 1 :], operators[place + 1 :])
    operator = operators[place]
    name = infix(operator, left.name, right.name)
    if operator in ("<<", ">>"):
        return replace(_shifted(e, node, left, right, operator), name=name)
    return replace(_combined(e, node, left, right, operator), name=name)


def _combined(e: Expressions, node: exp.Expr, left: Typed, right: Typed, operator: str) -> Typed:
    for value in (left, right):
        _integer(e, node, value, operator)
    type_ = common_type(left.type, right.type)
    if type_ is None or type_ == VOID:
        e.refuse(node, f"{left.type} {operator} {right.type}")
    first, second = plain_cast(left.sql, type_), plain_cast(right.sql, type_)
    sql = f"xor({first}, {second})" if operator == "^" else f"({first} {operator} {second})"
    return Typed(plain_cast(sql, type_), type_)


def _shifted(e: Expressions, node: exp.Expr, value: Typed, distance: Typed, operator: str) -> Typed:
    """Shifts an INT or BIGINT. As in Java, only the lowest bits of the distance count, and upper bits are lost."""
    _integer(e, node, value, operator), _integer(e, node, distance, operator)
    if distance.type == BIGINT:
        e.refuse(node, f"{operator} by {distance.type}")
    type_, bits = (BIGINT, 64) if value.type == BIGINT else (INT, 32)
    number = plain_cast(value.sql, type_)
    places = f"({plain_cast(distance.sql, INT)} & {bits - 1})"
    if operator == ">>":
        return Typed(plain_cast(f"{number} >> {places}", type_), type_)
    sql = f"CAST({number} AS HUGEINT)"
    if operator == "<<":
        sql = f"{sql} * (CAST(1 AS HUGEINT) << {places})"
    else:
        sql = f"(CASE WHEN {number} < 0 THEN {sql} + {2**bits} ELSE {sql} END >> {places})"
    return Typed(plain_cast(f"rw_wrapped_{bits}({sql})", type_), type_)


def _shift(operator: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value, distance = (e.translate(argument, scope) for argument in e.arguments(node, 2))
        shifted = _shifted(e, node, value, distance, operator)
        return replace(shifted, name=call(str(e.text.called(node)), value.name, distance.name))

    return translate


def _not(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this")
    value = e.translate(node.this, scope)
    if not value.type.is_integer:
        e.refuse(node, f"~ of {value.type}")
    name = None if value.name is None else f"~{value.name}"
    return Typed(plain_cast(f"(~({value.sql}))", value.type), value.type, name)


def _bit_count(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _integer(e, node, e.translate(e.arguments(node, 1)[0], scope), "BIT_COUNT")
    return Typed(plain_cast(f"bit_count({plain_cast(value.sql, BIGINT)})", INT), INT, call("bit_count", value.name))


def _getbit(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, place = (e.translate(argument, scope) for argument in e.arguments(node, 2))
    bits = 64 if value.type == BIGINT else 32
    if not value.type.is_integer or place.digits is None or not 0 <= place.digits < bits:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}, or of a place that is not a literal,")
    sql = f"(({plain_cast(value.sql, BIGINT)} >> {place.digits}) & 1)"
    return Typed(plain_cast(sql, TINYINT), TINYINT, call(str(e.text.called(node)), value.name, place.name))


_SECTION = "Operators"
_ENTRY = Entry(_SECTION, "a & b, a | b, a ^ b, a << n, a >> n", "other than integers; a || without parentheses")
NODES: dict[type[exp.Expr] | str, Allowed] = {
    **dict.fromkeys(_OPERATORS, Allowed(_chain, _ENTRY)),
    exp.BitwiseNot: Allowed(_not, Entry(_SECTION, "~a", "other than integers")),
}
FUNCTIONS = functions(
    "Numbers",
    ("shiftleft(a, n)", _shift("<<"), "other than integers"),
    ("shiftright(a, n)", _shift(">>"), "other than integers"),
    ("shiftrightunsigned(a, n)", _shift(">>>"), "other than integers"),
    ("bit_count(a)", _bit_count, "BOOLEAN"),
    ("getbit(a, n)", _getbit, "a place that is not a literal"),
    ("bit_get(a, n)", _getbit, "a place that is not a literal"),
)
