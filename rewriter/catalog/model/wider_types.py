"""Column types that hold every value of a narrower type exactly, as a rollup's sums of INT values in BIGINT.

Types are in Spark's spelling in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

INTEGERS = ("tinyint", "smallint", "int", "bigint")
#: The digits that Spark adds to the precision of a decimal in the type of its sum, and the most that a decimal has.
_SUM_DIGITS, _MAX_DIGITS = 10, 38
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def is_wider(wide: str, narrow: str) -> bool:
    """Tests whether a type of the same kind holds every value of another one, and more values: a longer integer, DOUBLE
    for FLOAT, a decimal of more digits with the same scale.
    """
    if wide == narrow:
        return False
    if wide in INTEGERS and narrow in INTEGERS:
        return INTEGERS.index(wide) > INTEGERS.index(narrow)
    digits, other_digits = decimal_digits(wide), decimal_digits(narrow)
    if digits is not None and other_digits is not None:
        return digits[1] == other_digits[1] and digits[0] > other_digits[0]
    return (wide, narrow) == ("double", "float")


def widest(types: Iterable[str]) -> str:
    """Returns the type that holds the values of all types, which are of one kind."""
    first, *others = types
    for type_ in others:
        first = type_ if is_wider(type_, first) else first
    return first


def decimal_digits(type_: str) -> tuple[int, int] | None:
    """Returns the precision and the scale of a decimal type; ``None`` for all others."""
    match = _DECIMAL.fullmatch(type_)
    return None if match is None else (int(match[1]), int(match[2]))


def decimal_sum(precision: int, scale: int) -> str:
    """Returns the type of SUM over a decimal of that precision and scale."""
    return f"decimal({min(precision + _SUM_DIGITS, _MAX_DIGITS)},{scale})"
