"""Names, literals, parameters and casts, for the allow-list of ``expressions``."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from rewriter.errors import NotSupportedError
from rewriter.exec.sql_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTEGERS,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    SqlType,
    decimal,
    parse_type,
)
from rewriter.exec.translate.allowlist_entries import CONSTRUCTS
from rewriter.exec.translate.casts import (
    assigned_literal,
    cast_entry,
    cast_of_bytes,
    plain_cast,
    string_literal,
    timestamp_sql,
)
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Translation, Typed, functions, quoted
from rewriter.exec.translate.extraction import field
from rewriter.exec.translate.grouping_sets import ALL_KEYS, GROUPING_ID_COLUMN
from rewriter.timeline.time_bounds import check_literal
from rewriter.timeline.timestamp_casts import has_zone

_TYPES = {
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ,
    exp.DType.TEXT: STRING,
}
_PARAMETER_TYPES: tuple[tuple[type, SqlType], ...] = (
    (bool, BOOLEAN),
    (int, INT),
    (float, DOUBLE),
    (str, STRING),
    (dt.date, DATE),
)
_DUCKDB_OF = {BOOLEAN: "BOOLEAN", INT: "INTEGER", BIGINT: "BIGINT", DOUBLE: "DOUBLE", STRING: "VARCHAR", DATE: "DATE"}


def is_grouping_column(node: exp.Expr, scope: Scope) -> bool:
    """Tests whether a node is ``grouping__id``, and no column has this name."""
    is_column = isinstance(node, exp.Column) and not node.args.get("table")
    return is_column and node.name.lower() == GROUPING_ID_COLUMN and not scope.find(node.name, None)


def _column(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "table", "db", "catalog")
    assert isinstance(node, exp.Column)
    names = [part.name for part in node.parts]
    matches, fields = scope.find_path(names)
    name, qualifier = names[-1], names[-2] if len(names) > 1 else None
    if is_grouping_column(node, scope):
        return Typed(plain_cast(ALL_KEYS, BIGINT), BIGINT, "grouping_id()")
    if not matches and len(names) > 2:
        e.refuse(node, f"The name {e.text.shown(node)} of more than two parts")
    if not matches:
        available = sorted({column.name for source in scope.sources for column in source.columns})
        e.text.wrong(
            f"A column with the name {quoted(name, qualifier)} cannot be resolved. "
            f"The columns are {', '.join(available) or 'none'}.",
            "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", node, name,
        )  # fmt: skip
    if len(matches) > 1:
        e.text.wrong(
            f"The name {quoted(name, qualifier)} is ambiguous: {len(matches)} columns have it.",
            "AMBIGUOUS_REFERENCE", "42704", node, name,
        )  # fmt: skip
    if matches[0].type is None:
        e.refuse(node, f"The type {matches[0].type_name} of the column {matches[0].name}")
    value = matches[0].typed(names[len(names) - len(fields) - 1])
    for field_name in fields:
        value = field(e, value, field_name, node)
    return value


#: A number as Spark and DuckDB read it; sqlglot reads ``1.5e``, too.
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def _literal(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    if node.args.get("is_string"):
        value = e.text.string(node)
        e.construct("'string', \"string\", r'raw'")
        return Typed(string_literal(value), STRING, value, text=value)
    return number(e, str(node.this), node)


def _adjacent(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``'a' 'b'``, which is one string. sqlglot has no other use of its class: calls keep their names."""
    e.construct("'string', \"string\", r'raw'")
    first, *others = node.expressions
    if not isinstance(first, exp.Literal):
        e.refuse(node)
    value = e.text.strings_from(first, len(others) + 1)
    return Typed(string_literal(value), STRING, value, text=value)


def number(e: Expressions, digits: str, node: exp.Expr) -> Typed:
    """Translates a literal number: INT, BIGINT or DECIMAL by its size, DOUBLE with an exponent."""
    if not _NUMBER.fullmatch(digits):
        e.refuse(node, f"The number {digits}")
    if "e" in digits.lower():
        e.construct("1e3 (DOUBLE)")
        _check_range(e, digits, DOUBLE, node)
        return Typed(plain_cast(string_literal(digits), DOUBLE), DOUBLE, _float_name(digits))
    if digits.isdigit() and int(digits) < 2**63:
        value = int(digits)
        type_ = INT if value < 2**31 else BIGINT
        e.construct("whole number (INT, BIGINT)")
        return Typed(plain_cast(str(value), type_), type_, str(value), digits=value)
    return _decimal(e, Decimal(digits), node)


#: The greatest values of FLOAT and DOUBLE. Spark compares the digits of a literal with them, without rounding.
_GREATEST = {"float": Decimal("3.4028234663852886E+38"), "double": Decimal("1.7976931348623157E+308")}


def _check_range(e: Expressions, digits: str, target: SqlType, node: exp.Expr) -> None:
    if Decimal(digits) > _GREATEST[target.name]:
        e.text.wrong(
            f"The number {digits} does not fit in {target.shown}.",
            "INVALID_NUMERIC_LITERAL_RANGE", "22003", node, digits,
        )  # fmt: skip


#: Between these, all releases of Java show the same digits of a double.
_LEAST_NAMED, _MOST_NAMED = 1e-300, 2**53


def _float_name(digits: str) -> str | None:
    """Returns a double in Java's notation: ``1.0E10`` from 10 million on. ``None`` where Java's releases differ."""
    value = float(digits)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return str(value)
    if not _LEAST_NAMED < abs(value) < _MOST_NAMED:
        return None
    decimal_value = Decimal(str(value))
    shown = "".join(map(str, decimal_value.normalize().as_tuple().digits))
    return f"{shown[0]}.{shown[1:] or '0'}E{decimal_value.adjusted()}"


def _decimal(e: Expressions, value: Decimal, node: exp.Expr) -> Typed:
    e.construct("1.5, 1.5BD (DECIMAL)")
    type_ = decimal_type(value)
    if type_ is None:
        e.refuse(node, f"The number {value}")
    # Java writes a small number with an exponent, by the rule of Python.
    name = str(value) if type_.scale else f"{value:f}"
    return Typed(plain_cast(string_literal(f"{value:f}"), type_), type_, name)


def decimal_type(value: Decimal) -> SqlType | None:
    """Returns the type of a literal decimal; ``None`` if it has too many digits for any."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(exponent, 0), scale)
    return decimal(precision, scale) if precision <= MAX_PRECISION else None


def _boolean(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = "true" if node.this else "false"
    return Typed(value, BOOLEAN, value)


def _null(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return Typed("NULL", VOID, "NULL")


def _parameter(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this")
    name = str(node.this or "")
    if name not in e.parameters:
        e.text.wrong(f"The placeholder :{name} has no value.", "UNBOUND_SQL_PARAMETER", "42P02", node, name)
    value = e.parameters[name]
    if value is None:
        return Typed("NULL", VOID, "NULL")
    if isinstance(value, dt.datetime):
        zoned = value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
        sql = timestamp_sql(zoned.replace(tzinfo=None))
        return Typed(sql, TIMESTAMP, sql)
    if isinstance(value, Decimal):
        return _decimal(e, value, node)
    type_ = _parameter_type(e, value, node)
    e.used_parameters[name] = value
    return Typed(
        f"CAST(${name} AS {_DUCKDB_OF[type_]})",
        type_,
        _name_of_value(value),
        text=value if isinstance(value, str) else None,
        digits=value if isinstance(value, int) and not isinstance(value, bool) else None,
    )


def _parameter_type(e: Expressions, value: object, node: exp.Expr) -> SqlType:
    for kind, type_ in _PARAMETER_TYPES:
        if isinstance(value, kind):
            exceeds_int = type_ == INT and isinstance(value, int) and not -(2**31) <= value < 2**31
            return BIGINT if exceeds_int else type_
    return e.refuse(node, f"A parameter of the type {type(value).__name__}")


def _name_of_value(value: object) -> str | None:
    """Returns a parameter's value as Spark shows it in a column's name."""
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, bool):
        return str(value).lower()
    return None if isinstance(value, float) and "e" in str(value) else str(value)


def _cast(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "to", "safe", "requires_string")
    target = _target(e, node.args["to"])
    operand = node.this
    if isinstance(operand, exp.Literal):
        return _cast_literal(e, node, operand, target)
    value = e.translate(operand, scope)
    tolerant = bool(node.args.get("safe"))
    name = None
    if target.is_nested:
        name = value.name
    elif value.name is not None:
        name = f"{'TRY_CAST' if tolerant else 'CAST'}({value.name} AS {str(target).upper()})"
    return Typed(_converted(e, value, target, node, tolerant), target, name)


def _converted(e: Expressions, value: Typed, target: SqlType, node: exp.Expr, tolerant: bool) -> str:
    """Returns the SQL of a typed cast."""
    sql = cast_of_bytes(value.sql, value.type, target)
    entry = cast_entry(value.type, target, tolerant)
    if sql is None or entry is None:
        return e.cast(value, target, node, tolerant)
    e.entries.add(entry)
    return sql


def _cast_literal(e: Expressions, node: exp.Expr, literal: exp.Expr, target: SqlType) -> Typed:
    """``CAST('…' AS …)``, ``DATE '…'`` and ``1L`` are the same tree."""
    spelling = e.typed_text(literal)
    tolerant = bool(node.args.get("safe"))
    name_template = f"{'TRY_CAST' if tolerant else 'CAST'}({{}} AS {str(target).upper()})"
    if literal.args.get("is_string") and target.is_decimal and not spelling:
        return _decimal(e, Decimal(str(literal.this)), node)  # 1.5BD is the cast of a string that was not typed.
    if literal.args.get("is_string"):
        value = _literal(e, literal, Scope())
        if target.is_datetime and type(node) is exp.Cast and not e.typed_text(node):
            e.construct(f"{str(target).upper()} '…'")
            sql = _instant(e, value.text or "", target, node)
            return Typed(sql, target, sql.replace("TIMESTAMP", target.shown))
        sql = _converted(e, value, target, node, tolerant)
        if target in (TIMESTAMP, TIMESTAMP_NTZ) and value.text is not None and has_zone(value.text):
            sql = assigned_literal(value.text, target) or sql  # All forms of zones, of which DuckDB's cast reads a few.
        return Typed(sql, target, name_template.format(value.name))
    value = number(e, str(literal.this), literal)
    if not has_suffix(spelling):
        name = None if value.name is None else name_template.format(value.name)
        if target.name == "float" and "e" not in spelling:
            # The digits are rounded once, while other numbers may lie between two floats.
            return Typed(plain_cast(string_literal(str(literal.this)), target), target, name)
        return Typed(e.cast(value, target, node, tolerant), target, name)
    e.construct("1L, 1S, 1Y, 1.5D, 1.5F")
    if target.is_floating:
        _check_range(e, str(literal.this), target, node)
        return Typed(plain_cast(string_literal(str(literal.this)), target), target, _float_name(str(literal.this)))
    digits = str(literal.this)
    negative = isinstance(node.parent, exp.Neg)
    if target.is_integer and int(digits) >= LEAST[target.name] + negative:
        e.text.wrong(
            f"The number {'-' * negative}{digits} does not fit in {target.shown}.",
            "INVALID_NUMERIC_LITERAL_RANGE", "22003", node, digits,
        )  # fmt: skip
    # Beside a decimal, Spark takes a TINYINT as any value of that type.
    suffixed = value.digits if target.is_integer and target != TINYINT else None
    return Typed(e.cast(value, target, node), target, value.name, suffixed=suffixed)


#: The least values of the types of literals with a suffix, without their sign.
LEAST = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}


def has_suffix(spelling: str) -> bool:
    """Tests whether a literal number was typed with a letter for its type, as in ``1L``."""
    return spelling[-1:].isalpha()


def _instant(e: Expressions, text: str, target: SqlType, node: exp.Expr) -> str:
    check_literal(text, target.name.upper(), e.text.position(node))
    sql = assigned_literal(text, target)
    if sql is None:
        e.refuse(node, f"The literal {e.text.shown(node)}")
    return sql


def _target(e: Expressions, node: exp.Expr) -> SqlType:
    type_ = _TYPES.get(node.this) if not node.expressions else None
    try:
        return type_ or parse_type(node.sql(dialect="spark")).plain
    except NotSupportedError:
        return e.text.refuse(f"The type {node.sql(dialect='spark')}", node)


def _typed_call(target: SqlType) -> Translation:
    """``double(x)`` is ``CAST(x AS double)``, except for the column's name, which is the name of ``x``."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        (argument,) = e.arguments(node, 1)
        value = e.translate(argument, scope)
        if target.name == "float" and isinstance(argument, exp.Literal) and not argument.args.get("is_string"):
            # The digits are rounded once, as in CAST.
            return replace(_cast_literal(e, node, argument, target), name=value.name)
        return Typed(e.cast(value, target, node), target, value.name)

    return translate


NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.Column: Allowed(_column, CONSTRUCTS["column"]),
    exp.Literal: Allowed(_literal, None),
    exp.Concat: Allowed(_adjacent, None),
    exp.Boolean: Allowed(_boolean, CONSTRUCTS["TRUE, FALSE"]),
    exp.Null: Allowed(_null, CONSTRUCTS["NULL"]),
    exp.Placeholder: Allowed(_parameter, CONSTRUCTS[":parameter"]),
    exp.Cast: Allowed(_cast, None),
    exp.TryCast: Allowed(_cast, None),
}
FUNCTIONS = functions(
    "Casts",
    *(
        (f"{name}(x)", _typed_call(SqlType(name)), "values that CAST refuses")
        for name in ("boolean", *INTEGERS, "float", "double", "string", "date", "timestamp")
    ),
    ("decimal(x)", _typed_call(decimal(10, 0)), "values that CAST AS DECIMAL(10,0) refuses"),
)
