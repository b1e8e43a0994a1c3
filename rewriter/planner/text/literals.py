"""Values as Spark SQL literals. The only place where a value becomes text of a query."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import format_instant


def string_literal(value: str) -> str:
    """Returns ``value`` as a Spark string literal that also sqlglot reads alike: quotes and backslashes escaped by a
    backslash.
    """
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def timestamp_literal(instant: int) -> str:
    """Returns an instant (microseconds UTC) as ``TIMESTAMP '2013-01-29 06:00:00'``; the session's zone is UTC."""
    seconds, micros = divmod(instant, 1_000_000)
    day = UpdatePeriod.DAILY.floor(instant)
    clock = seconds - day // 1_000_000
    text = f"{format_instant(day)} {clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
    return f"TIMESTAMP '{text}.{micros:06d}'" if micros else f"TIMESTAMP '{text}'"


def date_literal(instant: int) -> str:
    """Returns the day that begins at ``instant`` as ``DATE '2013-01-29'``."""
    return f"DATE '{format_instant(UpdatePeriod.DAILY.floor(instant))}'"


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
