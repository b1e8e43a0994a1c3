"""Comparisons of an integer with a decimal literal, which Spark rounds: ``i < 1.5`` is ``i < 2``."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

SMALLEST, LARGEST = -(2**63), 2**63 - 1
#: The operators that Spark changes so, each with the one that has the operands in the other order.
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def rounded_bound(bound: Decimal, operator: str) -> int | bool:
    """Returns the integer for which ``i operator bound`` is the same; for a literal beyond BIGINT the value of the
    comparison, which Spark puts in its place.
    """
    if SMALLEST <= bound <= LARGEST:
        return int(bound.to_integral_value(ROUND_FLOOR if operator in (">", "<=") else ROUND_CEILING))
    return (bound > LARGEST) == (operator in ("<", "<="))
