"""Values as Spark SQL literals. The only place where a value becomes text of a query."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from rewriter.errors import NotSupportedError
from rewriter.timeline.civil import DAY, SECOND, civil_from_days


def string_literal(value: str) -> str:
    """Returns ``value`` as a Spark string literal that also sqlglot reads alike: quotes and backslashes escaped by a
    backslash.
    """
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def timestamp_literal(instant: int) -> str:
    """Returns an instant (microseconds UTC) as a literal; the session's zone is UTC.

    >>> timestamp_literal(6 * 3_600 * SECOND)
    "TIMESTAMP '1970-01-01 06:00:00'"
    """
    seconds, micros = divmod(instant % DAY, SECOND)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"TIMESTAMP '{_date(instant)} {clock}.{micros:06d}'" if micros else f"TIMESTAMP '{_date(instant)} {clock}'"


def date_literal(instant: int) -> str:
    """Returns the day that begins at ``instant`` as ``DATE '2013-01-29'``."""
    return f"DATE '{_date(instant)}'"


def _date(instant: int) -> str:
    return "{:04d}-{:02d}-{:02d}".format(*civil_from_days(instant // DAY))


# Values of a type: as an expression of exactly that type, and as Spark prints them in names of columns.

_SUFFIXES = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L"}
_LEAST = {"int": -(2**31), "bigint": -(2**63)}


def typed_literal(type_: str, value: object) -> str:
    """Returns a value as an expression of exactly a type, which is one operand wherever it stands. A timestamp has the
    zone UTC.

    Raises ``NotSupportedError`` for the types that have no literals.

    >>> typed_literal("int", -5), typed_literal("decimal(5,2)", Decimal("1.50"))
    ('(-5)', "CAST('1.50' AS decimal(5,2))")
    """
    match value:
        case None if type_ == "void":
            return "NULL"
        case None if _has_literals(type_):
            return f"CAST(NULL AS {type_})"
        case bool() if type_ == "boolean":
            return "TRUE" if value else "FALSE"
        case int() if type_ in _LEAST:
            if value == _LEAST[type_]:
                return f"CAST('{value}' AS {type_})"
            digits = f"{abs(value)}{_SUFFIXES[type_]}"
            return f"(-{digits})" if value < 0 else digits
        case int() if type_ in _SUFFIXES:
            return f"CAST({value} AS {type_})"
        case float() if type_ in ("double", "float"):
            return f"CAST('{_java_double(value)}' AS {type_})"
        case Decimal() if type_.startswith("decimal"):
            return f"CAST('{value:f}' AS {type_})"
        case str() if type_ == "string":
            return string_literal(value)
        case bytes() if type_ == "binary":
            return f"X'{value.hex().upper()}'"
        case datetime() if type_ == "timestamp":
            return f"TIMESTAMP '{_clock(value)}Z'"
        case datetime() if type_ == "timestamp_ntz":
            return f"TIMESTAMP_NTZ '{_clock(value)}'"
        case date() if type_ == "date":
            return f"DATE '{value.isoformat()}'"
    raise NotSupportedError(
        f"A session variable of the type {type_.upper()} is not supported.",
        hint="Use a number, BOOLEAN, STRING, BINARY, DATE or TIMESTAMP.",
    )


def literal_name(type_: str, value: object) -> str:
    """Returns a value as Spark prints its literal in the name of a column.

    >>> literal_name("smallint", -6), literal_name("decimal(5,2)", Decimal("1.50"))
    ('-6S', '1.50BD')
    """
    match value:
        case None:
            return f"CAST(NULL AS {type_.upper()})"
        case bool():
            return str(value).lower()
        case int():
            return f"{value}{_SUFFIXES[type_]}"
        case float() if type_ == "float" or not math.isfinite(value):
            return f"CAST('{_java_double(value)}' AS {type_.upper()})"
        case float():
            return f"{_java_double(value)}D"
        case Decimal():
            return f"{value:f}BD"
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case datetime():
            return f"{type_.upper()} '{_clock(value)}'"
    return typed_literal(type_, value)


def _has_literals(type_: str) -> bool:
    scalars = ("boolean", "double", "float", "string", "binary", "timestamp", "timestamp_ntz", "date", *_SUFFIXES)
    return type_ in scalars or type_.startswith("decimal(")


def _java_double(value: float) -> str:
    """Returns a number as Java prints it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, _ = Decimal(repr(value)).as_tuple()
    figures = "".join(map(str, digits)).rstrip("0")
    exponent = Decimal(repr(value)).adjusted()
    return f"{'-' * sign}{figures[0]}.{figures[1:] or '0'}E{exponent}"


def _clock(value: datetime) -> str:
    """Returns a time on the clock of UTC, as Spark prints it."""
    plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    text = plain.isoformat(" ", "microseconds")
    return text.rstrip("0").rstrip(".") if plain.microsecond else text[:-7]


# Comparisons of an integer with a decimal literal, which Spark rounds: ``i < 1.5`` is ``i < 2``.

_SMALLEST, LARGEST = -(2**63), 2**63 - 1
#: The operators that Spark changes so, each with the one that has the operands in the other order.
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def rounded_bound(bound: Decimal, operator: str) -> int | bool:
    """Returns the integer for which ``i operator bound`` is the same; for a literal beyond BIGINT the value of the
    comparison, which Spark puts in its place.
    """
    if _SMALLEST <= bound <= LARGEST:
        return int(bound.to_integral_value(ROUND_FLOOR if operator in (">", "<=") else ROUND_CEILING))
    return (bound > LARGEST) == (operator in ("<", "<="))
