"""Java's text of floating-point numbers, and the nearest float of a decimal text."""

from __future__ import annotations

import struct
from decimal import Decimal
from fractions import Fraction


def java_double(number: float) -> str:
    """``Double.toString``: the shortest digits that read back, plain for 1e-3 ≤ |x| < 1e7; both zeros are ``0.0``."""
    text = repr(number)
    # Java looks for two digits even if one would do, which differs for subnormal numbers: 4.9E-324.
    return _java(f"{number:.1e}" if len(Decimal(text).normalize().as_tuple().digits) == 1 else text)


def java_float(number: float) -> str:
    """``Float.toString`` of a number that is a 32-bit float."""
    for digits in range(1, 9):
        text = f"{number:.{digits}e}"
        if nearest_float(text) == number:
            return _java(text)
    raise ValueError(f"{number!r} is not a 32-bit float")


def nearest_float(text: str) -> float:
    """Returns the 32-bit float nearest to a decimal text, ties to even; infinity beyond the greatest one.

    Rounding to 64 bits first may end on the wrong side of a tie, so the neighbors are compared exactly.
    """
    try:
        bits = int.from_bytes(struct.pack(">f", abs(float(text))), "big")
    except OverflowError:
        return float("-inf") if text.lstrip().startswith("-") else float("inf")
    exact = abs(Fraction(Decimal(text))) if bits < _INFINITY else None
    if exact is not None:
        near = [candidate for candidate in (bits - 1, bits, bits + 1) if 0 <= candidate < _INFINITY]
        bits = min(near, key=lambda candidate: (abs(Fraction(_float_of(candidate)) - exact), candidate & 1))
    return -_float_of(bits) if text.lstrip().startswith("-") else _float_of(bits)


_INFINITY = 0x7F800000


def _float_of(bits: int) -> float:
    number: float = struct.unpack(">f", bits.to_bytes(4, "big"))[0]
    return number


def _java(text: str) -> str:
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    body = "".join(map(str, digits)).rstrip("0")
    if not body:
        return "0.0"
    # 0.body times ten to this power is the number.
    point = len(digits) + exponent
    if -2 <= point <= 7:
        integer, fraction = ("0", "0" * -point + body) if point <= 0 else (body[:point].ljust(point, "0"), body[point:])
        plain = f"{integer}.{fraction or '0'}"
    else:
        plain = f"{body[0]}.{body[1:] or '0'}E{point - 1}"
    return f"-{plain}" if sign else plain
