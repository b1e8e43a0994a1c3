"""Values as Spark SQL literals. The only place where a value becomes text of a query."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

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
