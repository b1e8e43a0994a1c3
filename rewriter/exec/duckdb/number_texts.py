"""DOUBLE and FLOAT as text in Java's notation, for the numbers whose digits are not those of DuckDB by proof.

Java 19 and later print the shortest digits that round to the number, two at least. Java 17 and 18 print others for
some numbers from 2^53 on (FLOAT: from 2^24 on), and for some powers of two. Both are computed; a number for which they
differ has no text that holds on every Spark, and is refused.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any

#: Powers of ten that Java 17 takes for insignificant in a whole number, by the power of two of its last digit.
_INSIGNIFICANT = (0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 9,
                  10, 10, 10, 11, 11, 11, 12, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15, 15, 16, 16, 16, 17, 17,
                  17, 18, 18, 18, 19)  # fmt: skip
_DOUBLE_BITS, _FLOAT_BITS = 53, 24
#: The least numbers, the least ones with all bits, and half the distance of the least ones as a power of two.
_LEAST = {_DOUBLE_BITS: 2.0**-1074, _FLOAT_BITS: 2.0**-149}
_LEAST_NORMAL = {_DOUBLE_BITS: 2.0**-1022, _FLOAT_BITS: 2.0**-126}
_LEAST_HALF = {_DOUBLE_BITS: -1075, _FLOAT_BITS: -150}
#: The greatest power of two of a whole number whose digits Java 17 takes from an integer.
_GREATEST_WHOLE = 62


def double_texts(column: Any) -> Any:
    """Returns the texts of a column of DOUBLE, which Arrow's chunks hold. Raises ``ValueError`` for a number that Java
    releases print differently.
    """
    return _texts(column, _double_digits)


def float_texts(column: Any) -> Any:
    """Returns the texts of a column of FLOAT, as ``double_texts``."""
    return _texts(column, _float_digits)


def double_text(value: float) -> str:
    """Returns the text of a DOUBLE, as ``double_texts``."""
    return _text(value, _double_digits)


def float_text(value: float) -> str:
    """Returns the text of a FLOAT, as ``double_texts``."""
    return _text(value, _float_digits)


def _texts(column: Any, digits_of: Any) -> Any:
    import pyarrow as pa

    values: Iterable[float | None] = (value for chunk in column.chunks for value in chunk.to_pylist())
    return pa.array([None if value is None else _text(value, digits_of) for value in values], type=pa.string())


def _text(value: float, digits_of: Any) -> str:
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    if value == 0:
        return f"{sign}0.0"
    digits, exponent = digits_of(abs(value))
    if -3 <= exponent < 7:
        whole, _, rest = f"{digits[0]}.{digits[1:]}".partition(".") if exponent == 0 else ("", "", "")
        if exponent > 0:
            whole, rest = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
        elif exponent < 0:
            whole, rest = "0", "0" * (-exponent - 1) + digits
        return f"{sign}{whole}.{rest or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _double_digits(value: float) -> tuple[str, int]:
    return _agreed(value, repr(value), _DOUBLE_BITS)


def _float_digits(value: float) -> tuple[str, int]:
    import numpy as np

    return _agreed(value, str(np.float32(value)), _FLOAT_BITS)


def _agreed(value: float, shortest: str, bits: int) -> tuple[str, int]:
    """Returns the digits of a number, and the power of ten of the first one, if Java's releases agree on them."""
    older = _older_digits(value, bits)
    newer = _split(shortest)
    is_least = value == _LEAST[bits]
    if is_least:
        newer = _split(f"{value:.1e}")
    # Two digits of a number below the normal ones may be nearer than its only one.
    if newer != older or (value < _LEAST_NORMAL[bits] and len(newer[0]) == 1 and not is_least):
        raise ValueError(
            f"[DUCKDB_UNSUPPORTED] The number {value!r} as text is not supported on DuckDB: Java 17 and later releases "
            "of Java print different digits."
        )
    return newer


def _split(text: str) -> tuple[str, int]:
    """Returns the significant digits of a number's text, and the power of ten of the first one."""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    significant = digits.lstrip("0")
    first = len(whole) - 1 - (len(digits) - len(significant)) + int(exponent or 0)
    return significant.rstrip("0"), first


def _older_digits(value: float, bits: int) -> tuple[str, int]:
    """Returns the digits of Java 17: those between the neighbours of a number, where a power of two has a narrower
    interval on both sides.
    """
    (raw,) = struct.unpack(">q", struct.pack(">d", value))
    fraction, biased = raw & ((1 << 52) - 1), raw >> 52
    whole, power = (fraction | 1 << 52, biased - 1075) if biased else (fraction, -1074)
    trailing = (whole & -whole).bit_length() - 1
    odd, shift = whole >> trailing, power + trailing
    greatest = odd.bit_length() - 1 + shift
    if shift >= 0 and greatest <= _GREATEST_WHOLE:
        return _whole_digits(odd << shift, greatest - bits - 1)
    half = max(greatest - bits, _LEAST_HALF[bits]) - (odd == 1)
    base = min(shift, half)
    number, margin, unit = odd << (shift - base), 1 << (half - base), 1
    number, margin, unit = (number << base, margin << base, 1) if base >= 0 else (number, margin, 1 << -base)
    exponent = math.floor(math.log10(value))
    if exponent >= 0:
        unit *= 10**exponent
    else:
        number, margin = number * 10**-exponent, margin * 10**-exponent
    if number < unit:
        number, margin, exponent = number * 10, margin * 10, exponent - 1
    elif number >= 10 * unit:
        unit, exponent = unit * 10, exponent + 1
    return _between_neighbours(number, margin, unit, exponent, bits == _FLOAT_BITS and value < 1 << _FLOAT_BITS)


def _between_neighbours(number: int, margin: int, unit: int, exponent: int, to_even: bool) -> tuple[str, int]:
    """Returns the digits up to the first at which the rest is near enough to a neighbour. A rest of exactly one half
    rounds to an even digit where Java computes in 64 bits (``to_even``), and down elsewhere.
    """
    digits = []
    is_first = True
    while True:
        digit, rest = divmod(number, unit)
        digits.append(digit)
        number, margin, tens = rest * 10, margin * 10, unit * 10
        is_low, is_high = number < margin, number + margin > tens
        # In scientific notation there are at least two digits.
        if (is_low or is_high) and not (is_first and not -3 <= exponent < 7):
            break
        is_first = False
    is_half = 2 * number == tens
    rises = is_high and (not is_low or 2 * number > tens or (is_half and to_even and digits[-1] % 2 == 1))
    text = str(int("".join(map(str, digits))) + rises)
    return text.rstrip("0"), exponent + len(text) - len(digits)


def _whole_digits(number: int, uncertain: int) -> tuple[str, int]:
    places = _INSIGNIFICANT[uncertain] if 1 < uncertain < len(_INSIGNIFICANT) else 0
    if places:
        number, rest = divmod(number, 10**places)
        number += rest >= 10**places >> 1
    text = str(number)
    return text.rstrip("0"), len(text) - 1 + places
