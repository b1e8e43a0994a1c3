"""Random expressions over decimals of many precisions and scales, with values at the bounds of their types."""

from __future__ import annotations

import random
from decimal import Context, Decimal

import pyarrow as pa

#: Types that need adjusting together, and the types of money.
TYPES = (
    (38, 0), (38, 2), (38, 6), (38, 10), (38, 18), (38, 32), (38, 38), (35, 34), (30, 20), (28, 4), (25, 2), (20, 0),
    (19, 19), (18, 9), (17, 2), (15, 2), (10, 2), (9, 9), (5, 5), (3, 1), (1, 0),
)  # fmt: skip
#: Columns of integers beside those of the decimals.
INTEGERS = {"i": "int", "b": "bigint"}
_LITERALS = ("0", "1", "2", "7", "-3", "100", "0.5", "1.5", "0.000001", "100.00", "-0.3", "3.14159265358979323846")
_EXACT = Context(prec=100)


def name_of(precision: int, scale: int) -> str:
    """Returns the name of the column of that type."""
    return f"d{precision}_{scale}"


def value(generator: random.Random, precision: int, scale: int) -> Decimal | None:
    """Returns a value of a decimal type: often one at its bounds, one of few digits, or one that ends in half."""
    greatest = 10**precision - 1
    kind = generator.randrange(10)
    if kind == 0:
        return None
    if kind == 1:
        digits = generator.choice((0, 0, 1, greatest, greatest - 1, 10 ** (precision - 1)))
    elif kind == 2:
        # A half of a place, and what is beside it.
        place = generator.randrange(1, precision + 1)
        digits = 5 * 10 ** (place - 1) + generator.choice((-1, 0, 1)) + 10**place * generator.randrange(100)
    elif kind == 3:
        # The greatest digits of a shorter number.
        digits = 10 ** generator.randrange(1, precision + 1) - 1
    elif kind == 4:
        # A number near 1.
        digits = 10**scale + generator.randrange(-3, 4)
    else:
        digits = generator.randrange(10 ** generator.randrange(1, precision + 1))
    digits = min(digits, greatest) * generator.choice((1, 1, -1))
    return Decimal(digits).scaleb(-scale, _EXACT)


def table(generator: random.Random, count: int) -> pa.Table:
    """Returns rows of such values, numbered by ``id``, with a column of groups ``g``."""
    integers = [None, 0, 1, -1, 2, 7, 10, -(2**31), 2**31 - 1, 100]
    columns: dict[str, pa.Array] = {
        "id": pa.array(range(count), pa.int32()),
        "g": pa.array([generator.randrange(3) for _ in range(count)], pa.int32()),
        "i": pa.array([generator.choice(integers) for _ in range(count)], pa.int32()),
        "b": pa.array([generator.choice([*integers, -(2**63), 2**63 - 1, 10**12]) for _ in range(count)], pa.int64()),
    }
    for precision, scale in TYPES:
        values = [value(generator, precision, scale) for _ in range(count)]
        columns[name_of(precision, scale)] = pa.array(values, pa.decimal128(precision, scale))
    return pa.table(columns)


def expression(generator: random.Random, depth: int) -> str:
    """Returns an expression of a number, with at most ``depth`` operations within each other."""
    if depth == 0 or generator.random() < 0.1:
        return _operand(generator)

    def part() -> str:
        return expression(generator, depth - 1)

    kind = generator.randrange(16)
    if kind < 8:
        return f"({part()} {generator.choice('+-**//%')} {part()})"
    if kind == 8:
        return f"(- {part()})" if generator.random() < 0.5 else f"abs({part()})"
    if kind == 9:
        precision, scale = generator.choice(TYPES)
        return f"CAST({part()} AS DECIMAL({precision},{scale}))"
    if kind == 10:
        word = generator.choice(("coalesce", "greatest", "least", "ifnull", "nullif"))
        return f"{word}({part()}, {part()})"
    if kind == 11:
        return f"CASE WHEN {condition(generator, depth - 1)} THEN {part()} ELSE {part()} END"
    if kind == 12:
        word = generator.choice(("round", "bround", "floor", "ceil"))
        return f"{word}({part()}, {generator.choice((0, 1, 2, 6, 10, -1, -3))})"
    if kind == 13:
        word = generator.choice(("try_add", "try_subtract", "try_multiply", "try_divide", "try_mod"))
        return f"{word}({part()}, {part()})"
    if kind == 14:
        return f"{generator.choice(('pmod', 'mod'))}({part()}, {part()})"
    return f"({part()} div {part()})"


def _operand(generator: random.Random) -> str:
    kind = generator.randrange(12)
    if kind == 0:
        return generator.choice(list(INTEGERS))
    if kind == 1:
        return generator.choice(_LITERALS)
    column = name_of(*generator.choice(TYPES))
    if kind == 2:
        precision = generator.randrange(1, 39)
        return f"CAST({column} AS DECIMAL({precision},{generator.randrange(precision + 1)}))"
    return column


def condition(generator: random.Random, depth: int) -> str:
    """Returns a condition that compares such expressions."""
    first, second = expression(generator, depth), expression(generator, depth)
    kind = generator.randrange(6)
    if kind == 0:
        return f"({first} BETWEEN {second} AND {expression(generator, depth)})"
    if kind == 1:
        return f"({first} IN ({second}, {expression(generator, depth)}))"
    return f"({first} {generator.choice(('=', '<>', '<', '<=', '>', '>=', '<=>'))} {second})"
